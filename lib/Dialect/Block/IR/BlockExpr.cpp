// Launch and extent expressions: folding builders, evaluation, substitution, the inline text form.
#include "BlockCondition.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace intent::block;

static ExprAttr make(MLIRContext *context, ExprKind kind, int64_t value, StringRef symbol, ArrayRef<ExprAttr> operands) {
  return ExprAttr::get(context, kind, value, StringAttr::get(context, symbol), operands);
}

ExprAttr ExprAttr::constant(MLIRContext *context, int64_t value) { return make(context, ExprKind::Constant, value, "", {}); }
ExprAttr ExprAttr::symbol(MLIRContext *context, StringRef name) { return make(context, ExprKind::Symbol, 0, name, {}); }
ExprAttr ExprAttr::parameter(MLIRContext *context, StringRef name) { return make(context, ExprKind::Parameter, 0, name, {}); }

std::optional<int64_t> ExprAttr::getConstant() const {
  if (getKind() != ExprKind::Constant) return std::nullopt;
  return getValue();
}

static unsigned arity(ExprKind kind) {
  switch (kind) {
  case ExprKind::Constant:
  case ExprKind::Symbol:
  case ExprKind::Parameter: return 0;
  case ExprKind::Pow2Ceil:
  case ExprKind::Not: return 1;
  case ExprKind::Select: return 3;
  default: return 2;
  }
}

static std::optional<int64_t> compute(ExprKind kind, ArrayRef<int64_t> v) {
  int64_t result;
  switch (kind) {
  case ExprKind::Add: return llvm::AddOverflow(v[0], v[1], result) ? std::nullopt : std::optional(result);
  case ExprKind::Sub: return llvm::SubOverflow(v[0], v[1], result) ? std::nullopt : std::optional(result);
  case ExprKind::Mul: return llvm::MulOverflow(v[0], v[1], result) ? std::nullopt : std::optional(result);
  case ExprKind::FloorDiv: return v[1] <= 0 ? std::nullopt : std::optional(llvm::divideFloorSigned(v[0], v[1]));
  case ExprKind::CeilDiv: return v[1] <= 0 ? std::nullopt : std::optional(llvm::divideCeilSigned(v[0], v[1]));
  case ExprKind::Mod: return v[1] <= 0 ? std::nullopt : std::optional(llvm::mod(v[0], v[1]));
  case ExprKind::Min: return std::min(v[0], v[1]);
  case ExprKind::Max: return std::max(v[0], v[1]);
  case ExprKind::Pow2Ceil:
    return v[0] > (int64_t(1) << 62) ? std::nullopt : std::optional(v[0] <= 1 ? 1 : static_cast<int64_t>(llvm::PowerOf2Ceil(v[0])));
  case ExprKind::Lt: return v[0] < v[1];
  case ExprKind::Le: return v[0] <= v[1];
  case ExprKind::Eq: return v[0] == v[1];
  case ExprKind::And: return v[0] && v[1];
  case ExprKind::Or: return v[0] || v[1];
  case ExprKind::Not: return !v[0];
  case ExprKind::Select: return v[0] ? v[1] : v[2];
  default: return std::nullopt;
  }
}

/// The product times `factor`, joined with the constant factor that it has; null if it has none.
static ExprAttr withFactor(ExprAttr product, int64_t factor) {
  MLIRContext *context = product.getContext();
  if (std::optional<int64_t> own = product.getConstant()) {
    int64_t joined;
    return llvm::MulOverflow(*own, factor, joined) ? ExprAttr() : ExprAttr::constant(context, joined);
  }
  if (product.getKind() != ExprKind::Mul) return {};
  ExprAttr left = product.getOperands()[0], right = product.getOperands()[1];
  bool last = right.getConstant().has_value();
  ExprAttr joined = withFactor(last ? right : left, factor);
  if (!joined) return {};
  return last ? ExprAttr::apply(ExprKind::Mul, {left, joined}) : ExprAttr::apply(ExprKind::Mul, {joined, right});
}

ExprAttr ExprAttr::apply(ExprKind kind, ArrayRef<ExprAttr> operands) {
  MLIRContext *context = operands[0].getContext();
  SmallVector<int64_t> values;
  for (ExprAttr operand : operands)
    if (std::optional<int64_t> value = operand.getConstant()) values.push_back(*value);
  if (values.size() == operands.size())
    if (std::optional<int64_t> value = compute(kind, values)) return constant(context, *value);
  auto is = [&](unsigned i, int64_t value) { return operands[i].getConstant() == value; };
  switch (kind) {
  case ExprKind::Add:
    if (is(0, 0)) return operands[1];
    if (is(1, 0)) return operands[0];
    break;
  case ExprKind::Sub:
    if (is(1, 0)) return operands[0];
    break;
  case ExprKind::Mul:
    if (is(0, 0) || is(1, 1)) return operands[0];
    if (is(1, 0) || is(0, 1)) return operands[1];
    if (std::optional<int64_t> factor = operands[1].getConstant())
      if (ExprAttr joined = withFactor(operands[0], *factor)) return joined;
    break;
  case ExprKind::FloorDiv:
  case ExprKind::CeilDiv:
    if (is(1, 1)) return operands[0];
    break;
  case ExprKind::Min:
  case ExprKind::Max:
    if (operands[0] == operands[1]) return operands[0];
    break;
  case ExprKind::Le:
  case ExprKind::Lt:
  case ExprKind::Eq:
    if (operands[0] == operands[1]) return constant(context, kind != ExprKind::Lt);
    if (std::optional<int64_t> limit = operands[1].getConstant(); limit && kind == ExprKind::Le) {
      ArrayRef<ExprAttr> bounded = operands[0].getOperands();
      // The power of two above x is at most 2000 where x is at most 1024.
      if (operands[0].getKind() == ExprKind::Pow2Ceil && *limit > 0)
        return apply(kind, {bounded[0], constant(context, llvm::bit_floor(static_cast<uint64_t>(*limit)))});
      if (operands[0].getKind() == ExprKind::Max)
        return apply(ExprKind::And, {apply(kind, {bounded[0], operands[1]}), apply(kind, {bounded[1], operands[1]})});
    }
    break;
  case ExprKind::And:
  case ExprKind::Or:
    for (unsigned i : {0, 1})
      if (std::optional<int64_t> value = operands[i].getConstant())
        return (*value != 0) == (kind == ExprKind::And) ? operands[1 - i] : constant(context, kind == ExprKind::Or);
    return simplifiedJoin(kind, operands[0], operands[1]);
  case ExprKind::Not: return simplifiedNot(operands[0]);
  case ExprKind::Select:
    if (std::optional<int64_t> condition = operands[0].getConstant()) return operands[*condition ? 1 : 2];
    break;
  default: break;
  }
  return make(context, kind, 0, "", operands);
}

void ExprAttr::walkExpr(llvm::function_ref<void(ExprAttr)> visit) const {
  visit(*this);
  for (ExprAttr operand : getOperands())
    operand.walkExpr(visit);
}

std::optional<int64_t> ExprAttr::evaluate(llvm::function_ref<std::optional<int64_t>(ExprAttr)> leaf) const {
  if (getKind() == ExprKind::Constant) return getValue();
  if (getOperands().empty()) return leaf(*this);
  SmallVector<int64_t, 3> values;
  for (ExprAttr operand : getOperands()) {
    std::optional<int64_t> value = operand.evaluate(leaf);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return compute(getKind(), values);
}

ExprAttr ExprAttr::substitute(llvm::function_ref<ExprAttr(ExprAttr)> leaf) const {
  if (getKind() == ExprKind::Constant) return *this;
  if (getOperands().empty()) {
    ExprAttr replacement = leaf(*this);
    return replacement ? replacement : *this;
  }
  SmallVector<ExprAttr, 3> operands;
  for (ExprAttr operand : getOperands())
    operands.push_back(operand.substitute(leaf));
  return apply(getKind(), operands);
}

void ExprAttr::printInline(raw_ostream &os) const {
  switch (getKind()) {
  case ExprKind::Constant: os << getValue(); return;
  case ExprKind::Symbol: os << '"' << getSymbol().getValue() << '"'; return;
  case ExprKind::Parameter: os << getSymbol().getValue(); return;
  default: break;
  }
  os << stringifyExprKind(getKind()) << "(";
  llvm::interleaveComma(getOperands(), os, [&](ExprAttr operand) { operand.printInline(os); });
  os << ")";
}

FailureOr<ExprAttr> ExprAttr::parseInline(AsmParser &parser) {
  MLIRContext *context = parser.getContext();
  SMLoc loc = parser.getCurrentLocation();
  std::string text;
  if (succeeded(parser.parseOptionalString(&text))) return symbol(context, text);
  APInt value;
  OptionalParseResult integer = parser.parseOptionalInteger(value);
  if (integer.has_value()) {
    if (failed(*integer)) return failure();
    if (value.getSignificantBits() > 64) return parser.emitError(loc, "integer does not fit 64 bits");
    return constant(context, value.getSExtValue());
  }
  StringRef keyword;
  if (parser.parseKeyword(&keyword)) return failure();
  if (failed(parser.parseOptionalLParen())) return parameter(context, keyword);
  std::optional<ExprKind> kind = symbolizeExprKind(keyword);
  if (!kind || !arity(*kind)) return parser.emitError(loc, "unknown function '") << keyword << "' in an expression";
  SmallVector<ExprAttr> operands;
  auto operand = [&]() -> ParseResult {
    FailureOr<ExprAttr> parsed = parseInline(parser);
    if (failed(parsed)) return failure();
    operands.push_back(*parsed);
    return success();
  };
  if (parser.parseCommaSeparatedList(operand) || parser.parseRParen()) return failure();
  if (operands.size() != arity(*kind))
    return parser.emitError(loc, "'") << keyword << "' takes " << arity(*kind) << " operands, got " << operands.size();
  return apply(*kind, operands);
}

Attribute ExprAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess()) return {};
  FailureOr<ExprAttr> expr = parseInline(parser);
  if (failed(expr) || parser.parseGreater()) return {};
  return *expr;
}

void ExprAttr::print(AsmPrinter &p) const {
  p << "<";
  printInline(p.getStream());
  p << ">";
}
