#ifndef INTENT_TARGET_EMISSION_EXPRESSION_H
#define INTENT_TARGET_EMISSION_EXPRESSION_H

#include "intent/Dialect/Block/IR/Block.h"
#include "llvm/ADT/APFloat.h"
#include <string>

namespace intent::emission {

/// How tightly a piece of Python text binds, loosest first.
enum class Precedence { Conditional, Or, And, Not, Compare, BitOr, BitXor, BitAnd, Shift, Add, Multiply, Unary, Atom };

/// A piece of expression text and how tightly it binds.
struct Expression {
  std::string text;
  Precedence precedence = Precedence::Atom;

  /// The text, in parentheses where a context that needs `least` would split it.
  std::string in(Precedence least) const { return precedence < least ? "(" + text + ")" : text; }
};

/// `lhs op rhs` of a left-associative operator.
Expression infix(const Expression &lhs, llvm::StringRef op, const Expression &rhs, Precedence precedence);

/// The name of a launch symbol or parameter in the text.
using SymbolSpelling = llvm::function_ref<std::string(block::ExprAttr)>;

/// How an expression calls what Python has no operator for.
struct ExpressionStyle {
  llvm::StringRef ceilDiv = "triton.cdiv";
  llvm::StringRef pow2Ceil = "triton.next_power_of_2";
};

/// A launch or extent expression as Python text over integers.
Expression spellExpr(block::ExprAttr expr, SymbolSpelling spelling, const ExpressionStyle &style = {});

/// The shortest decimal text that gives exactly `value` back in its own format: `0.1`, `1e-06`,
/// `float("inf")`.
std::string pythonFloat(const llvm::APFloat &value);

/// A Python string literal.
std::string pythonString(llvm::StringRef text);

} // namespace intent::emission

#endif
