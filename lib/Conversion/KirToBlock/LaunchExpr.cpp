// Extents of the kernel IR as launch expressions and as names.
#include "Covers.h"

using namespace mlir;
using namespace intent::block;
using intent::kir::ExtentAttr;

namespace intent::conversion {

// Quotient and remainder as index arithmetic has them: floored, and zero where the divisor is. Launch expressions divide by
// positive numbers.
static ExprAttr quotient(ExprAttr a, ExprAttr b) {
  if (b.getConstant().value_or(0) > 0) return ExprAttr::apply(ExprKind::FloorDiv, {a, b});
  ExprAttr zero = ExprAttr::constant(a.getContext(), 0), one = ExprAttr::constant(a.getContext(), 1);
  auto divided = [&](ExprAttr x, ExprAttr y) { return ExprAttr::apply(ExprKind::FloorDiv, {x, ExprAttr::apply(ExprKind::Max, {y, one})}); };
  auto negative = [&](ExprAttr x) { return ExprAttr::apply(ExprKind::Sub, {zero, x}); };
  ExprAttr otherwise =
      ExprAttr::apply(ExprKind::Select, {ExprAttr::apply(ExprKind::Lt, {b, zero}), divided(negative(a), negative(b)), zero});
  return ExprAttr::apply(ExprKind::Select, {ExprAttr::apply(ExprKind::Lt, {zero, b}), divided(a, b), otherwise});
}

// An integer scalar: a parameter, or arithmetic that cannot wrap in its type.
ExprAttr Facts::launchExpr(Value scalar) {
  auto widthOf = [](Type type) { return isa<IndexType>(type) ? 64 : isa<IntegerType>(type) ? type.getIntOrFloatBitWidth() : 0; };
  if (auto cast = scalar.getDefiningOp<kir::CastOp>()) {
    Type from = cast.getValue().getType();
    bool keeps = widthOf(from) < widthOf(cast.getType()) || (widthOf(from) == widthOf(cast.getType()) && !from.isUnsignedInteger());
    return widthOf(from) > 1 && keeps ? launchExpr(cast.getValue()) : ExprAttr();
  }
  MLIRContext *context = kernel.getContext();
  if (!isa<IntegerType, IndexType>(scalar.getType()) || scalar.getType().isInteger(1)) return {};
  if (auto argument = dyn_cast<BlockArgument>(scalar))
    return isa<kir::KernelOp>(argument.getOwner()->getParentOp())
               ? ExprAttr::symbol(context, ("%" + kernel.getParameterName(argument.getArgNumber())).str())
               : ExprAttr();
  if (scalar.getType().isIndex())
    if (const Index *node = indexOf(scalar); node->kind != Index::Leaf || node->value != scalar) return launchExpr(node);
  if (auto constant = scalar.getDefiningOp<kir::ConstantOp>())
    return ExprAttr::constant(context, cast<IntegerAttr>(constant.getValue()).getValue().getSExtValue());
  auto op = scalar.getDefiningOp<kir::BinaryOp>();
  if (!op) return {};
  ExprAttr a = launchExpr(op.getLhs()), b = launchExpr(op.getRhs());
  if (!a || !b) return {};
  bool divides = b.getConstant().value_or(0) > 0;
  switch (op.getKind()) {
  case BinaryKind::Minimum: return ExprAttr::apply(ExprKind::Min, {a, b});
  case BinaryKind::Maximum: return ExprAttr::apply(ExprKind::Max, {a, b});
  case BinaryKind::FloorDiv: return divides ? ExprAttr::apply(ExprKind::FloorDiv, {a, b}) : ExprAttr();
  case BinaryKind::Mod: return divides ? ExprAttr::apply(ExprKind::Mod, {a, b}) : ExprAttr();
  default: return {};
  }
}

ExprAttr Facts::launchExpr(const Index *node) {
  MLIRContext *context = kernel.getContext();
  auto operand = [&](const Index *inner) { return launchExpr(inner); };
  switch (node->kind) {
  case Index::Constant: return ExprAttr::constant(context, node->constant);
  case Index::Extent: {
    auto name = cast<StringAttr>(node->extent);
    if (!name.getValue().starts_with("?")) return ExprAttr::symbol(context, name.getValue());
    Value value = atomValue(name.getValue());
    return value ? launchExpr(indexOf(value)) : ExprAttr();
  }
  case Index::Leaf: return launchExpr(node->value);
  case Index::FloorDiv:
  case Index::Mod: {
    ExprAttr a = operand(node->operands[0]), b = operand(node->operands[1]);
    if (!a || !b) return {};
    if (node->kind == Index::FloorDiv) return quotient(a, b);
    ExprAttr rest = ExprAttr::apply(ExprKind::Sub, {a, ExprAttr::apply(ExprKind::Mul, {b, quotient(a, b)})});
    ExprAttr zero = ExprAttr::constant(context, 0);
    if (b.getConstant().value_or(0) > 0) return ExprAttr::apply(ExprKind::Mod, {a, b});
    return ExprAttr::apply(ExprKind::Select, {ExprAttr::apply(ExprKind::Eq, {b, zero}), zero, rest});
  }
  case Index::Product:
  case Index::Linear: break;
  case Index::Axis: return {};
  }
  bool linear = node->kind == Index::Linear;
  ExprAttr result;
  for (auto [i, inner] : llvm::enumerate(node->operands)) {
    ExprAttr term = operand(inner);
    if (!term) return {};
    int64_t coefficient = linear ? node->coefficients[i] : 1;
    bool subtract = coefficient < 0 && coefficient != INT64_MIN;
    int64_t magnitude = subtract ? -coefficient : coefficient;
    if (magnitude != 1) term = ExprAttr::apply(ExprKind::Mul, {ExprAttr::constant(context, magnitude), term});
    if (!result) result = linear ? ExprAttr::constant(context, node->constant) : ExprAttr::constant(context, 1);
    result = ExprAttr::apply(!linear ? ExprKind::Mul : subtract ? ExprKind::Sub : ExprKind::Add, {result, term});
  }
  return result;
}

ExprAttr Facts::launchExpr(ExtentAttr extent) {
  auto [it, fresh] = launchExprs.try_emplace(extent);
  if (!fresh) return it->second;
  return launchExprs[extent] = launchExpr(index.extent(extent));
}

std::string extentName(ExtentAttr extent) {
  std::string text;
  llvm::raw_string_ostream os(text);
  extent.printInline(os);
  llvm::erase(text, '"');
  return text;
}

} // namespace intent::conversion
