// Structured sparsity: a compressed operand becomes the dense one, zero where nothing is stored, then contracts (numerics.md
// section 4).
#include "Expansion.h"

using namespace mlir;
using namespace intent;
using namespace intent::frontend;

/// `stored` of every `group` consecutive elements along `axis` of a dense tensor of that extent.
struct Lowering::Sparsity {
  int64_t axis = 0, group = 4, stored = 2;
  ExtentAttr extent;
};

FailureOr<Entity> Lowering::lowerSparseFormat(Call &call) {
  std::string operation = ("I." + call.intrinsic->path).str();
  FailureOr<int64_t> axis = constantInt(call[0], call.nodes[0], operation + ": compression_axis");
  if (failed(axis)) return failure();
  FailureOr<Value> extent = asIndex(call[1], call.nodes[1], operation + ": logical_extent");
  if (failed(extent)) return failure();
  int64_t group = call.intrinsic->path == "sparse.two_of_four" ? 4 : 2;
  if (std::optional<int64_t> size = extentOf(*extent).getConstant(); size && (*size < 0 || *size % group))
    return error(call.nodes[1]) << operation << ": logical_extent: expected a non-negative multiple of " << group << ", got " << *size;
  Entity format = Entity::ofTuple({Entity::ofInt(*axis), Entity::ofValue(*extent)});
  format.kind = Entity::Format;
  format.text = call.intrinsic->path.str();
  return format;
}

FailureOr<Lowering::Sparsity> Lowering::sparsityArgument(const Entity &entity, NodeId at, size_t rank) {
  if (entity.kind != Entity::Format || !entity.product)
    return error(at) << "format: expected I.sparse.two_of_four(...) or I.sparse.one_of_two(...), got " << describe(entity);
  FailureOr<int64_t> axis = axisArgument(entity.items()[0], rank, at);
  if (failed(axis)) return failure();
  bool four = entity.text == "sparse.two_of_four";
  return Sparsity{*axis, four ? 4 : 2, four ? 2 : 1, extentOf(entity.items()[1].value)};
}

/// Argument 1 says where the stored elements of a group stand: a record `first, second`, or `index` (or that tensor alone).
FailureOr<Value> Lowering::densify(Call &call, Value compressed, const Sparsity &sparsity) {
  NodeId at = call.nodes[0], metadataNode = call.nodes[1];
  std::string operation = ("I." + call.intrinsic->path).str();
  Expansion e{*this, at};
  SmallVector<StringRef> fields;
  if (sparsity.stored == 2) fields = {"first", "second"};
  else fields = {"index"};
  std::vector<Entity> places;
  const Entity &metadata = call[1];
  if (!metadata.isProduct() && fields.size() == 1) places.push_back(metadata);
  for (StringRef field : fields) {
    if (metadata.kind != Entity::Record) continue;
    auto found = llvm::find(metadata.product->names, field.str());
    if (found != metadata.product->names.end()) places.push_back(metadata.items()[found - metadata.product->names.begin()]);
  }
  if (places.size() != fields.size() || (metadata.kind == Entity::Record && metadata.items().size() != fields.size()))
    return error(metadataNode) << operation << ": metadata: expected "
                               << (fields.size() == 2 ? "a record of first, second" : "an integer tensor or a record of index") << ", got "
                               << describe(metadata);
  Shape shape(kir::shapeOf(compressed.getType()));
  if (failed(requireMultiple(shape[sparsity.axis], sparsity.group / sparsity.stored, sparsity.extent, at,
                             operation + ": axis " + Twine(sparsity.axis) + " of the compressed operand")))
    return failure();
  SmallVector<Value> positions;
  for (auto [field, place] : llvm::zip_equal(fields, places)) {
    std::string what = operation + ": metadata " + field.str();
    FailureOr<Value> tensor = asTensor(place, metadataNode, what);
    if (failed(tensor)) return failure();
    Type element = kir::elementType(tensor->getType());
    ArrayRef<ExtentAttr> own = kir::shapeOf(tensor->getType());
    if (!isa<IntegerType, IndexType>(element) || element.isInteger(1) || own.size() != shape.size())
      return error(metadataNode) << what << ": expected an integer tensor of rank " << static_cast<unsigned>(shape.size()) << ", got "
                                 << describe(place);
    for (size_t i = 0; i < shape.size(); ++i) {
      if (static_cast<int64_t>(i) == sparsity.axis) continue;
      FailureOr<ExtentAttr> common = requireEqual(shape[i], own[i], metadataNode,
                                                  what + ": axis " + Twine(static_cast<unsigned>(i)) + " and the compressed operand's");
      if (failed(common)) return failure();
      shape[i] = *common;
    }
    if (failed(requireMultiple(own[sparsity.axis], sparsity.group, sparsity.extent, metadataNode, what + ": axis " + Twine(sparsity.axis))))
      return failure();
    if (request.check) require(*tensor, indexConstant(0, at), indexConstant(sparsity.group, at), metadataNode, what);
    positions.push_back(*tensor);
  }
  if (positions.size() == 2 && request.check) {
    Value first = e.cast(positions[0], builder.getIndexType());
    Value second = relabel(e.cast(positions[1], builder.getIndexType()), kir::shapeOf(first.getType()), at);
    require(e.binary(BinaryKind::Sub, second, first), indexConstant(1, at), indexConstant(sparsity.group, at), metadataNode,
            operation + ": metadata second - first");
  }
  shape[sparsity.axis] = sparsity.extent;
  Value member = e.positions(sparsity.extent), group = e.div(member, sparsity.group);
  auto along = [&](Value tensor, Value index) {
    SmallVector<Value> indices;
    for (size_t i = 0; i < shape.size(); ++i)
      indices.push_back(static_cast<int64_t>(i) == sparsity.axis ? index : wholeAxis(shape[i], at));
    return e.extract(tensor, indices);
  };
  Value place = repeat(e.mod(member, sparsity.group), shape, {sparsity.axis}, at);
  Type element = kir::elementType(compressed.getType());
  Value dense = isa<FloatType>(element) ? e.real(element, 0) : e.constant(element, 0);
  for (int64_t i = sparsity.stored - 1; i >= 0; --i) {
    Value holds = e.compare(ComparePredicate::Eq, e.cast(along(positions[i], group), builder.getIndexType()), place);
    Value slot = sparsity.stored == 1 ? group : e.add(e.mul(group, sparsity.stored), i);
    dense = e.select(holds, along(compressed, slot), dense);
  }
  return dense;
}

FailureOr<Entity> Lowering::lowerSparseContract(Call &call) {
  Value lhs, rhs;
  Type acc;
  if (failed(contractOperands(call, 2, 6, lhs, rhs, acc))) return failure();
  size_t lhsRank = kir::shapeOf(lhs.getType()).size(), rhsRank = kir::shapeOf(rhs.getType()).size();
  FailureOr<Sparsity> sparsity = sparsityArgument(call[3], call.nodes[3], lhsRank);
  if (failed(sparsity)) return failure();
  FailureOr<Axes> reduce = axisPairs(call[4], lhsRank, rhsRank, call.nodes[4], "reduce");
  if (failed(reduce)) return failure();
  FailureOr<Axes> batch = call.has(5) ? axisPairs(call[5], lhsRank, rhsRank, call.nodes[5], "batch") : FailureOr<Axes>(Axes());
  if (failed(batch)) return failure();
  FailureOr<Value> dense = densify(call, lhs, *sparsity);
  if (failed(dense)) return failure();
  return contract(*dense, rhs, *reduce, *batch, acc, call.node);
}

/// `I.sparse_matmul`, and `I.sparse_contract_2to4`, which compresses the left operand's last axis.
FailureOr<Entity> Lowering::lowerSparseMatmul(Call &call) {
  std::string operation = ("I." + call.intrinsic->path).str();
  bool named = call.intrinsic->path == "sparse_matmul";
  Value lhs, rhs;
  Type acc;
  if (failed(contractOperands(call, 2, named ? 4 : 3, lhs, rhs, acc))) return failure();
  ArrayRef<ExtentAttr> shape = kir::shapeOf(lhs.getType());
  if (shape.size() < 2)
    return error(call.nodes[0]) << operation << ": expected a left operand of rank 2 or more, got " << describeElements(call[0]);
  Sparsity sparsity;
  if (named) {
    FailureOr<Sparsity> given = sparsityArgument(call[3], call.nodes[3], shape.size());
    if (failed(given)) return failure();
    sparsity = *given;
  } else {
    sparsity.axis = shape.size() - 1;
    sparsity.extent = shape.back() * known(2);
  }
  FailureOr<Value> dense = densify(call, lhs, sparsity);
  if (failed(dense)) return failure();
  return batched({Entity::ofValue(*dense), call.nodes[0], "left operand"}, {Entity::ofValue(rhs), call.nodes[2], "right operand"}, acc, 2,
                 2, false, false, operation, call.node);
}
