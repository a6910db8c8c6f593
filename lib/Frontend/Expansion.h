// Writes the element-wise expressions that packed formats, random numbers and histograms expand to.
#ifndef INTENT_FRONTEND_EXPANSION_H
#define INTENT_FRONTEND_EXPANSION_H

#include "Lowering.h"

namespace intent::frontend {

/// Operands of one operation are scalars or tensors of one shape; a scalar beside a tensor is repeated. Integers beside a
/// value are literals of its dtype.
struct Lowering::Expansion {
  Lowering &lowering;
  NodeId at;

  Type type(llvm::StringRef dtype) { return parseDtype(lowering.context, dtype); }
  Value constant(Type element, int64_t value) {
    return lowering.makeAt<kir::ConstantOp>(lowering.location(at), element, integerConstant(element, value));
  }
  Value real(Type element, double value) {
    return lowering.makeAt<kir::ConstantOp>(lowering.location(at), element, floatConstant(element, value));
  }
  /// `value` repeated to the shape of `like`.
  Value as(Value value, Value like) {
    if (!llvm::isa<KirTensorType>(like.getType()) || llvm::isa<KirTensorType>(value.getType())) return value;
    return lowering.broadcastTo(value, kir::shapeOf(like.getType()), at);
  }
  Value binary(BinaryKind kind, Value l, Value r) {
    l = as(l, r), r = as(r, l);
    return lowering.makeAt<kir::BinaryOp>(lowering.location(at), l.getType(), kind, l, r, false, false);
  }
  Value binary(BinaryKind kind, Value l, int64_t r) { return binary(kind, l, constant(kir::elementType(l.getType()), r)); }
  Value compare(ComparePredicate predicate, Value l, Value r) {
    l = as(l, r), r = as(r, l);
    Type result = kir::withElement(l.getType(), lowering.builder.getI1Type());
    return lowering.makeAt<kir::CompareOp>(lowering.location(at), result, predicate, l, r);
  }
  Value compare(ComparePredicate predicate, Value l, int64_t r) {
    return compare(predicate, l, constant(kir::elementType(l.getType()), r));
  }
  Value select(Value condition, Value a, Value b) {
    a = as(as(a, b), condition), b = as(as(b, a), condition);
    return lowering.makeAt<kir::SelectOp>(lowering.location(at), a.getType(), condition, a, b);
  }
  Value unary(UnaryKind kind, Value v) { return lowering.makeAt<kir::UnaryOp>(lowering.location(at), v.getType(), kind, v, false, false); }
  Value cast(Value v, Type element) { return *lowering.castValue(v, element, at); }
  Value cast(Value v, llvm::StringRef dtype) { return cast(v, type(dtype)); }
  Value bitcast(Value v, llvm::StringRef dtype) {
    return lowering.makeAt<kir::BitcastOp>(lowering.location(at), kir::withElement(v.getType(), type(dtype)), v);
  }

  Value add(Value l, Value r) { return binary(BinaryKind::Add, l, r); }
  Value add(Value l, int64_t r) { return binary(BinaryKind::Add, l, r); }
  Value sub(Value l, int64_t r) { return binary(BinaryKind::Sub, l, r); }
  Value mul(Value l, Value r) { return binary(BinaryKind::Mul, l, r); }
  Value mul(Value l, int64_t r) { return binary(BinaryKind::Mul, l, r); }
  Value div(Value l, int64_t r) { return binary(BinaryKind::FloorDiv, l, r); }
  Value mod(Value l, int64_t r) { return binary(BinaryKind::Mod, l, r); }
  Value shl(Value l, int64_t r) { return binary(BinaryKind::Shl, l, r); }
  Value shr(Value l, int64_t r) { return binary(BinaryKind::Shr, l, r); }
  Value shr(Value l, Value r) { return binary(BinaryKind::Shr, l, r); }
  Value bits(Value l, int64_t mask) { return binary(BinaryKind::And, l, mask); }
  Value either(Value l, Value r) { return binary(BinaryKind::Or, l, r); }
  Value exclusive(Value l, Value r) { return binary(BinaryKind::Xor, l, r); }

  /// 0, 1, ... below `extent`.
  Value positions(ExtentAttr extent) {
    Type index = lowering.builder.getIndexType();
    return lowering.makeAt<kir::IndicesOp>(lowering.location(at), lowering.tensorType(index, {extent}), lowering.wholeAxis(extent, at));
  }
  /// The elements of a tensor value at one index an axis.
  Value extract(Value tensor, llvm::ArrayRef<Value> indices) {
    Type element = kir::elementType(tensor.getType());
    bool scalar = llvm::all_of(indices, [](Value v) { return isScalarType(v.getType()); });
    Type result = element;
    if (!scalar) result = lowering.tensorType(element, *kir::indexedShape(indices.size(), indices));
    return lowering.makeAt<kir::ExtractOp>(lowering.location(at), result, tensor, indices);
  }
  Value sum(Value tensor, llvm::ArrayRef<int64_t> axes) { return lowering.reduceValue("sum", tensor, axes, at); }
};

} // namespace intent::frontend

#endif
