// Text of expressions: precedence, launch expressions, literals.
#include "intent/Target/Emission/Expression.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Error.h"

using namespace intent;
using namespace intent::block;

namespace intent::emission {

Expression infix(const Expression &lhs, llvm::StringRef op, const Expression &rhs, Precedence precedence) {
  auto tighter = static_cast<Precedence>(static_cast<int>(precedence) + 1);
  // A comparison does not chain, so that its left side needs parentheses too; and bits stand apart, as in other languages.
  if (precedence == Precedence::Compare) tighter = Precedence::Add;
  Precedence left = precedence == Precedence::Compare ? tighter : precedence;
  return {lhs.in(left) + " " + op.str() + " " + rhs.in(tighter), precedence};
}

/// `a < b` or `a <= b`, or its negation; a constant stands behind what it bounds.
static Expression spellComparison(ExprAttr expr, bool negated, SymbolSpelling spelling, const ExpressionStyle &style) {
  static constexpr llvm::StringRef signs[] = {"<", ">=", "<=", ">"}, turned[] = {">", "<=", ">=", "<"};
  unsigned sign = 2 * (expr.getKind() == ExprKind::Le) + negated;
  ExprAttr left = expr.getOperands()[0], right = expr.getOperands()[1];
  bool isTurned = left.getConstant() && !right.getConstant();
  if (isTurned) std::swap(left, right);
  return infix(spellExpr(left, spelling, style), (isTurned ? turned : signs)[sign], spellExpr(right, spelling, style), Precedence::Compare);
}

Expression spellExpr(ExprAttr expr, SymbolSpelling spelling, const ExpressionStyle &style) {
  if (std::optional<int64_t> value = expr.getConstant()) return {std::to_string(*value), *value < 0 ? Precedence::Unary : Precedence::Atom};
  if (expr.getOperands().empty()) return {spelling(expr), Precedence::Atom};
  llvm::SmallVector<Expression, 3> operands;
  for (ExprAttr operand : expr.getOperands())
    operands.push_back(spellExpr(operand, spelling, style));
  auto call = [&](llvm::StringRef function) {
    std::string text = function.str() + "(";
    llvm::interleave(operands, [&](const Expression &e) { text += e.text; }, [&] { text += ", "; });
    return Expression{text + ")", Precedence::Atom};
  };
  switch (expr.getKind()) {
  case ExprKind::Add: return infix(operands[0], "+", operands[1], Precedence::Add);
  case ExprKind::Sub: return infix(operands[0], "-", operands[1], Precedence::Add);
  case ExprKind::Mul: return infix(operands[0], "*", operands[1], Precedence::Multiply);
  case ExprKind::FloorDiv: return infix(operands[0], "//", operands[1], Precedence::Multiply);
  case ExprKind::CeilDiv: return call(style.ceilDiv);
  case ExprKind::Mod: return infix(operands[0], "%", operands[1], Precedence::Multiply);
  case ExprKind::Min: return call("min");
  case ExprKind::Max: return call("max");
  case ExprKind::Pow2Ceil: return {style.pow2Ceil.str() + "(max(" + operands[0].text + ", 1))", Precedence::Atom};
  case ExprKind::Lt:
  case ExprKind::Le: return spellComparison(expr, /*negated=*/false, spelling, style);
  case ExprKind::Eq: return infix(operands[0], "==", operands[1], Precedence::Compare);
  case ExprKind::And: return infix(operands[0], "and", operands[1], Precedence::And);
  case ExprKind::Or: return infix(operands[0], "or", operands[1], Precedence::Or);
  case ExprKind::Not: {
    ExprAttr operand = expr.getOperands()[0];
    if (operand.getKind() == ExprKind::Le || operand.getKind() == ExprKind::Lt)
      return spellComparison(operand, /*negated=*/true, spelling, style);
    return {"not " + operands[0].in(Precedence::Not), Precedence::Not};
  }
  case ExprKind::Select:
    return {operands[1].in(Precedence::Or) + " if " + operands[0].in(Precedence::Or) + " else " + operands[2].in(Precedence::Conditional),
            Precedence::Conditional};
  default: return {"", Precedence::Atom};
  }
}

std::string pythonFloat(const llvm::APFloat &value) {
  if (value.isNaN()) return "float(\"nan\")";
  if (value.isInfinity()) return value.isNegative() ? "float(\"-inf\")" : "float(\"inf\")";
  llvm::SmallString<32> text;
  for (unsigned digits = 1;; ++digits) {
    text.clear();
    value.toString(text, digits, /*FormatMaxPadding=*/7, /*TruncateZero=*/true);
    llvm::APFloat back(value.getSemantics());
    auto status = back.convertFromString(text, llvm::APFloat::rmNearestTiesToEven);
    if (!status) llvm::consumeError(status.takeError());
    else if (back.bitwiseIsEqual(value)) break;
    if (digits == 20) break;
  }
  for (char &c : text)
    if (c == 'E') c = 'e';
  // 1.0e+30 is 1e+30.
  if (size_t at = llvm::StringRef(text).find(".0e"); at != llvm::StringRef::npos) text.erase(text.begin() + at, text.begin() + at + 2);
  if (!llvm::StringRef(text).contains('.') && !llvm::StringRef(text).contains('e')) text += ".0";
  return text.str().str();
}

std::string pythonString(llvm::StringRef text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n') result += "\\n";
    else result += c;
  }
  return result + "\"";
}

} // namespace intent::emission
