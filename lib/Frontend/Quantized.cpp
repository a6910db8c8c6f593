// The block records Q4_K and Q8_K: quantisation and the exact integer dot product (numerics.md section 4).
#include "Expansion.h"

using namespace mlir;
using namespace intent;
using namespace intent::frontend;

static constexpr int64_t blockSize = 256, q4Bytes = 144, q8Bytes = 292;

/// A u8 tensor whose last axis is one record.
FailureOr<Value> Lowering::recordBytes(const Entity &entity, NodeId at, const Twine &what, int64_t bytes) {
  FailureOr<Value> tensor = asTensor(entity, at, what);
  if (failed(tensor)) return failure();
  ArrayRef<ExtentAttr> shape = kir::shapeOf(tensor->getType());
  if (kir::elementType(tensor->getType()) != parseDtype(context, "u8") || shape.size() != 2)
    return error(at) << what << ": expected a u8 tensor [G, " << bytes << "], got " << describe(entity);
  FailureOr<ExtentAttr> extent = requireEqual(known(bytes), shape[1], at, what + ": bytes of a record");
  if (failed(extent)) return failure();
  return tensor;
}

/// The scale is the inverse of the one that takes the value of largest magnitude to -127. Nothing adds to the product
/// `x * inverse` directly, so that it keeps its own rounding; comparisons with the halfway point round it to even.
FailureOr<Entity> Lowering::lowerQuantize(Call &call) {
  NodeId at = call.node;
  Expansion e{*this, at};
  if (failed(formatArgument(call[1], call.nodes[1], "format", {"quant.q8_k"}))) return failure();
  FailureOr<Value> given = asTensor(call[0], call.nodes[0], "I.quantize");
  if (failed(given)) return failure();
  Shape shape(kir::shapeOf(given->getType()));
  Type f32 = builder.getF32Type();
  if (shape.size() != 2 || kir::elementType(given->getType()) != f32)
    return error(call.nodes[0]) << "I.quantize: values: expected an f32 tensor [G, " << blockSize << "], got " << describe(call[0]);
  FailureOr<ExtentAttr> extent = requireEqual(known(blockSize), shape[1], call.nodes[0], "I.quantize: values of a record");
  if (failed(extent)) return failure();
  ExtentAttr groups = shape[0];
  shape[1] = known(blockSize);
  Value values = relabel(*given, shape, at);
  // Per record: the extreme value, the scale and its inverse.
  Value low = reduceValue("min", values, {1}, at), high = reduceValue("max", values, {1}, at);
  Value higher = e.compare(ComparePredicate::Gt, e.unary(UnaryKind::Abs, high), e.unary(UnaryKind::Abs, low));
  Value extreme = e.select(higher, high, low), zero = e.real(f32, 0);
  Value empty = e.compare(ComparePredicate::Eq, extreme, zero);
  Value inverse = e.binary(BinaryKind::Div, e.real(f32, -127), extreme);
  Value scale = e.select(empty, zero, e.binary(BinaryKind::Div, e.real(f32, 1), inverse));
  // Per value.
  auto perValue = [&](Value v) { return repeat(v, shape, {0}, at); };
  Value product = e.mul(values, perValue(inverse));
  Value clamped = e.binary(BinaryKind::MinimumNum, e.binary(BinaryKind::MaximumNum, product, e.real(f32, -128)), e.real(f32, 127));
  Value below = e.cast(e.unary(UnaryKind::Floor, clamped), "i32");
  Value halfway = e.add(e.cast(below, f32), e.real(f32, 0.5));
  Value odd = e.compare(ComparePredicate::Eq, e.bits(below, 1), 1);
  Value up = e.either(e.compare(ComparePredicate::Gt, clamped, halfway),
                      e.binary(BinaryKind::And, e.compare(ComparePredicate::Eq, clamped, halfway), odd));
  Value quantised = e.select(perValue(empty), e.constant(e.type("i32"), 0), e.add(below, e.cast(up, "i32")));
  // The record: four bytes of scale, the values, sixteen little-endian sums.
  Value sums = e.sum(make<kir::ReshapeOp>(at, tensorType(e.type("i32"), {groups, known(16), known(16)}), quantised), {2});
  Value byte = e.positions(known(q8Bytes)), all = wholeAxis(groups, at), last = indexConstant(0, at);
  Shape records{groups, known(q8Bytes)};
  auto along = [&](Value v) { return repeat(v, records, {1}, at); };
  auto within = [&](Value v, int64_t first, int64_t count) {
    Value offset = e.binary(BinaryKind::Maximum, e.sub(v, first), last);
    return e.binary(BinaryKind::Minimum, offset, count - 1);
  };
  Value eightBits = e.mul(e.cast(e.mod(byte, 4), "u32"), 8);
  Value scaleByte = e.cast(e.shr(repeat(e.bitcast(scale, "u32"), records, {0}, at), along(eightBits)), "u8");
  Value valueByte = e.cast(e.extract(quantised, {all, within(byte, 4, blockSize)}), "u8");
  Value sum = e.cast(e.extract(sums, {all, e.div(within(byte, 4 + blockSize, 32), 2)}), "u32");
  Value sumByte = e.cast(e.shr(sum, along(e.mul(e.cast(e.mod(byte, 2), "u32"), 8))), "u8");
  Value position = along(byte);
  Value rest = e.select(e.compare(ComparePredicate::Lt, position, 4 + blockSize), valueByte, sumByte);
  return Entity::ofValue(e.select(e.compare(ComparePredicate::Lt, position, 4), scaleByte, rest));
}

/// One record after another, so that the f32 sum keeps their order. Products keep their own rounding: no fused multiply-add
/// reaches through a choice.
FailureOr<Entity> Lowering::lowerQuantizedDot(Call &call) {
  NodeId at = call.node;
  Expansion e{*this, at};
  if (failed(formatArgument(call[2], call.nodes[2], "lhs_format", {"quant.q4_k"})) ||
      failed(formatArgument(call[3], call.nodes[3], "rhs_format", {"quant.q8_k"})))
    return failure();
  FailureOr<Type> acc = constantDtype(call[4], call.nodes[4]);
  if (failed(acc)) return failure();
  Type f32 = builder.getF32Type();
  if (*acc != f32) return error(call.nodes[4]) << "I.quantized_dot: acc_dtype: expected f32, got " << dtypeName(*acc);
  FailureOr<Value> lhs = recordBytes(call[0], call.nodes[0], "I.quantized_dot: lhs", q4Bytes);
  if (failed(lhs)) return failure();
  FailureOr<Value> rhs = recordBytes(call[1], call.nodes[1], "I.quantized_dot: rhs", q8Bytes);
  if (failed(rhs)) return failure();
  FailureOr<ExtentAttr> records =
      requireEqual(kir::shapeOf(lhs->getType())[0], kir::shapeOf(rhs->getType())[0], at, "I.quantized_dot: records of lhs and rhs");
  if (failed(records) || failed(enterRegion(at))) return failure();
  // Positions in a record: eight parts of 32 values, of two sums.
  Shape valuesShape{known(8), known(32)}, sumsShape{known(8), known(2)};
  Value part = e.positions(known(8));
  auto perPart = [&](Value v, ArrayRef<ExtentAttr> shape) { return repeat(v, shape, {0}, at); };
  Value element = e.add(perPart(e.mul(part, 32), valuesShape), repeat(e.positions(known(32)), valuesShape, {1}, at));
  Value nibbleByte = e.add(e.add(e.mul(e.div(element, 64), 32), e.mod(element, 32)), 16);
  Value nibbleShift = e.cast(e.mul(e.div(e.mod(element, 64), 32), 4), "u8");
  Value sumByte =
      e.add(e.add(perPart(e.mul(part, 4), sumsShape), repeat(e.mul(e.positions(known(2)), 2), sumsShape, {1}, at)), 4 + blockSize);
  Value quarter = e.mod(part, 4), early = e.compare(ComparePredicate::Lt, part, 4);
  auto loop = make<kir::ForOp>(at, TypeRange{f32}, wholeAxis(*records, at), ValueRange{e.real(f32, 0)});
  {
    OpBuilder::InsertionGuard guard(builder);
    Block &body = loop.getBody().emplaceBlock();
    Value record = body.addArgument(builder.getIndexType(), location(at)), total = body.addArgument(f32, location(at));
    builder.setInsertionPointToStart(&body);
    auto byteOf = [&](Value bytes, Value position) { return e.extract(bytes, {record, position}); };
    auto wordOf = [&](Value bytes, Value position) { // little endian
      return e.either(e.cast(byteOf(bytes, position), "u16"), e.shl(e.cast(byteOf(bytes, e.add(position, 1)), "u16"), 8));
    };
    auto field = [&](int64_t which) { // of each part, six bits: 0 the scales, 1 the minima
      Value own = byteOf(*lhs, e.add(quarter, 4 + 4 * which)), shared = byteOf(*lhs, e.add(quarter, 12));
      Value late = e.either(e.bits(e.shr(shared, 4 * which), 15), e.shl(e.shr(own, 6), 4));
      return e.cast(e.select(early, e.bits(own, 63), late), "i32");
    };
    Value weights = e.cast(e.bits(e.shr(byteOf(*lhs, nibbleByte), nibbleShift), 15), "i32");
    Value inputs = e.cast(e.bitcast(byteOf(*rhs, e.add(element, 4)), "i8"), "i32");
    Value scaled = e.sum(e.mul(perPart(field(0), valuesShape), e.mul(weights, inputs)), {0, 1});
    Value sums = e.cast(e.bitcast(wordOf(*rhs, sumByte), "i16"), "i32");
    Value shifted = e.sum(e.mul(perPart(field(1), sumsShape), sums), {0, 1});
    auto half = [&](int64_t position) { return e.bitcast(wordOf(*lhs, indexConstant(position, at)), "f16"); };
    auto rounded = [&](Value product) { // a choice stands between it and the sum; the zero's sign reaches no result
      return e.select(e.compare(ComparePredicate::Eq, product, e.real(f32, 0)), e.real(f32, 0), product);
    };
    // A half and an integer of 25 bits: their product is exact in f64.
    auto times = [&](Value l, Value r) { return rounded(e.cast(e.mul(e.cast(l, "f64"), e.cast(r, "f64")), f32)); };
    Value difference = e.binary(BinaryKind::Sub, times(half(0), scaled), times(half(2), shifted));
    Value low = e.cast(wordOf(*rhs, indexConstant(0, at)), "u32"), high = e.cast(wordOf(*rhs, indexConstant(2, at)), "u32");
    Value scale = e.bitcast(e.either(low, e.shl(high, 16)), "f32");
    Value next = e.add(total, rounded(e.mul(scale, difference)));
    make<kir::YieldOp>(at, ValueRange{next});
  }
  return Entity::ofValue(broadcastTo(loop.getResult(0), {}, at));
}
