// Microscaled contractions: packed elements decode to floats, take their group's scale, then contract (numerics.md section 4).
#include "Expansion.h"

using namespace mlir;
using namespace intent;
using namespace intent::frontend;

/// One operand: carriers `[M, G, C]` or, on the right, `[G, C, N]`; scales `[M, G]` or `[N, G]`.
struct Lowering::Scaled {
  Value carriers, scales;
  std::string format;
  bool right = false;
  ExtentAttr free, groups;
  int64_t groupSize = 0;
  unsigned perCarrier() const { return format == "e2m1" ? 2 : 1; }
};

FailureOr<std::string> Lowering::formatArgument(const Entity &entity, NodeId at, StringRef role, ArrayRef<StringRef> choices) {
  if (entity.kind == Entity::Format && llvm::is_contained(choices, entity.text)) return entity.text;
  std::string list;
  for (StringRef choice : choices)
    list += (list.empty() ? "I." : choice == choices.back() ? " or I." : ", I.") + choice.str();
  return error(at) << role << ": expected " << list << ", got " << describe(entity);
}

/// Requires `extent * factor == total`, checked at run time where it is unknown.
LogicalResult Lowering::requireMultiple(ExtentAttr extent, int64_t factor, ExtentAttr total, NodeId at, const Twine &what) {
  ExtentAttr elements = extent * known(factor);
  if (elements == total) return success();
  if ((elements - total).getConstant() || dependsOnSlice(elements) || dependsOnSlice(total))
    return error(at) << what << ": expected extent " << spell(total) << (factor == 1 ? "" : " / " + std::to_string(factor)) << ", got "
                     << spell(extent);
  checkEqual(elements, total, at, what + ": extents " + spell(elements) + " and " + spell(total));
  return success();
}

/// The scaled values `[M, K]` or `[K, N]`. A byte holds two e2m1 codes, the earlier in the low nibble; a code shifted into
/// f16's fields is its value times 2^-14, subnormals included.
Value Lowering::decodeScaled(const Scaled &x, Type element, NodeId at) {
  Expansion e{*this, at};
  Value k = e.positions(x.groups * known(x.groupSize));
  Value group = e.div(k, x.groupSize), within = e.mod(k, x.groupSize), carrier = e.div(within, x.perCarrier());
  Value all = wholeAxis(x.free, at);
  Value code = x.right ? e.extract(x.carriers, {group, carrier, all}) : e.extract(x.carriers, {all, group, carrier});
  Value scale = e.extract(x.scales, {all, group});
  ArrayRef<ExtentAttr> shape = kir::shapeOf(code.getType());
  if (x.right)
    scale = make<kir::TransposeOp>(at, tensorType(kir::elementType(scale.getType()), shape), scale, builder.getDenseI64ArrayAttr({1, 0}));
  Value value;
  if (x.format == "e2m1") {
    Value shift = repeat(e.cast(e.mul(e.mod(k, 2), 4), "u8"), shape, {x.right ? 0 : 1}, at);
    Value nibble = e.cast(e.bits(e.shr(code, shift), 15), "u16");
    Value fields = e.either(e.shl(e.bits(nibble, 8), 12), e.shl(e.bits(nibble, 7), 9));
    value = e.mul(e.cast(e.bitcast(fields, "f16"), "f32"), e.real(builder.getF32Type(), 0x1p14));
  } else {
    bool carried = isa<FloatType>(kir::elementType(code.getType()));
    value = e.cast(carried ? code : e.bitcast(code, x.format == "e4m3" ? "f8e4m3fn" : "f8e5m2"), "f32");
  }
  // e8m0 is f32's exponent field; code 0 is the subnormal 2^-127 and 255 is NaN.
  Value exponent = e.cast(scale, "u32"), normal = e.shl(exponent, 23);
  Value bits = e.select(e.compare(ComparePredicate::Eq, exponent, 0), e.constant(e.type("u32"), 0x00400000), normal);
  bits = e.select(e.compare(ComparePredicate::Eq, exponent, 255), e.constant(e.type("u32"), 0x7FC00000), bits);
  Type wide = element.isF64() ? element : Type(builder.getF32Type());
  return e.cast(e.mul(e.cast(value, wide), e.cast(e.bitcast(bits, "f32"), wide)), element);
}

/// `I.scaled_contract` and its shorthand `I.scaled_matmul`. The decoded operands have a format that holds every product of an
/// element and a scale exactly, but for what overflows f32: bf16 for e2m1's two significant bits, f32 for the subnormals of
/// the others, f64 where the accumulator has more range.
FailureOr<Entity> Lowering::lowerScaledContract(Call &call) {
  NodeId at = call.node;
  std::string operation = ("I." + call.intrinsic->path).str();
  bool general = call.intrinsic->path == "scaled_contract";
  Scaled sides[2];
  for (unsigned side = 0; side < 2; ++side) {
    Scaled &x = sides[side];
    x.right = side == 1;
    std::string name = side == 0 ? "lhs" : "rhs";
    unsigned position = 2 * side, formatAt = 4 + side, sizeAt = general ? 6 + side : 6;
    NodeId node = call.nodes[position], scaleNode = call.nodes[position + 1];
    FailureOr<std::string> format = formatArgument(call[formatAt], call.nodes[formatAt], name + "_format", {"e2m1", "e4m3", "e5m2"});
    if (failed(format)) return failure();
    x.format = *format;
    std::string sizeName = general ? name + "_group_size" : "group_size";
    FailureOr<int64_t> size = constantInt(call[sizeAt], call.nodes[sizeAt], sizeName);
    if (failed(size)) return failure();
    if (*size <= 0 || *size % x.perCarrier())
      return error(call.nodes[sizeAt]) << sizeName << ": expected a positive multiple of " << x.perCarrier() << " for I." << x.format
                                       << ", got " << *size;
    if (side == 1 && *size != sides[0].groupSize)
      return error(call.nodes[sizeAt]) << sizeName << ": expected the left operand's group size " << sides[0].groupSize << ", got "
                                       << *size;
    x.groupSize = *size;
    FailureOr<Value> carriers = asTensor(call[position], node, operation + ": " + name);
    if (failed(carriers)) return failure();
    FailureOr<Value> scales = asTensor(call[position + 1], scaleNode, operation + ": " + name + "_scale");
    if (failed(scales)) return failure();
    x.carriers = *carriers, x.scales = *scales;
    Type u8 = parseDtype(context, "u8"), element = kir::elementType(carriers->getType());
    StringRef narrow = x.format == "e4m3" ? "f8e4m3fn" : "f8e5m2";
    if (element != u8 && (x.format == "e2m1" || element != parseDtype(context, narrow)))
      return error(node) << operation << ": " << name << ": I." << x.format << " is carried in "
                         << (x.format == "e2m1" ? std::string("u8") : (narrow + " or u8").str()) << ", got " << describe(call[position]);
    if (kir::elementType(scales->getType()) != u8)
      return error(scaleNode) << operation << ": " << name << "_scale: I.e8m0 is carried in u8, got " << describe(call[position + 1]);
    ArrayRef<ExtentAttr> shape = kir::shapeOf(carriers->getType()), scaleShape = kir::shapeOf(scales->getType());
    if (shape.size() != 3)
      return error(node) << operation << ": " << name << ": expected shape " << (side == 0 ? "[M, G, C]" : "[G, C, N]") << ", got "
                         << describe(call[position]);
    if (scaleShape.size() != 2)
      return error(scaleNode) << operation << ": " << name << "_scale: expected shape " << (side == 0 ? "[M, G]" : "[N, G]") << ", got "
                              << describe(call[position + 1]);
    FailureOr<ExtentAttr> free = requireEqual(shape[side == 0 ? 0 : 2], scaleShape[0], scaleNode,
                                              operation + ": axis " + (side == 0 ? "M" : "N") + " of " + name + " and " + name + "_scale");
    if (failed(free)) return failure();
    FailureOr<ExtentAttr> groups =
        requireEqual(shape[side == 0 ? 1 : 0], scaleShape[1], scaleNode, operation + ": axis G of " + name + " and " + name + "_scale");
    if (failed(groups)) return failure();
    x.free = *free, x.groups = *groups;
    if (failed(requireMultiple(shape[side == 0 ? 2 : 1], x.perCarrier(), known(*size), node, operation + ": axis C of " + name)))
      return failure();
  }
  FailureOr<ExtentAttr> groups = requireEqual(sides[0].groups, sides[1].groups, at, operation + ": axis G of lhs and rhs");
  if (failed(groups)) return failure();
  sides[0].groups = sides[1].groups = *groups;
  if (general) {
    FailureOr<Axes> reduce = axisPairs(call[8], 3, 3, call.nodes[8], "reduce");
    if (failed(reduce)) return failure();
    if (ArrayRef<int64_t>(reduce->lhs) != ArrayRef<int64_t>{1, 2} || ArrayRef<int64_t>(reduce->rhs) != ArrayRef<int64_t>{0, 1})
      return error(call.nodes[8]) << "reduce: expected ((1, 0), (2, 1)), the groups and their carriers";
    if (call.has(9) && (call[9].kind != Entity::Tuple || !call[9].items().empty()))
      return error(call.nodes[9]) << "batch: expected (), got " << describe(call[9]) << "; loop over batches";
  }
  unsigned accAt = general ? 10 : 7;
  FailureOr<Type> acc = constantDtype(call[accAt], call.nodes[accAt]);
  if (failed(acc) || failed(requireFloat(*acc, call.nodes[accAt], operation + ": acc_dtype"))) return failure();
  bool small = sides[0].format == "e2m1" && sides[1].format == "e2m1";
  Type element = acc->isF64() ? *acc : small ? Type(builder.getBF16Type()) : Type(builder.getF32Type());
  Value lhs = decodeScaled(sides[0], element, call.nodes[0]), rhs = decodeScaled(sides[1], element, call.nodes[2]);
  return contract(lhs, rhs, {{1}, {0}}, {}, *acc, at);
}
