// Histograms: for each bin the count of the active values that equal it (numerics.md section 4).
#include "Expansion.h"

using namespace mlir;
using namespace intent;
using namespace intent::frontend;

FailureOr<Entity> Lowering::lowerHistogram(Call &call) {
  NodeId at = call.node;
  Expansion e{*this, at};
  FailureOr<Value> values = asTensor(call[0], call.nodes[0], "I.histogram");
  if (failed(values)) return failure();
  Type element = kir::elementType(values->getType());
  if (!isa<IntegerType, IndexType>(element) || element.isInteger(1))
    return error(call.nodes[0]) << "I.histogram: values: expected integers, got " << describeElements(call[0]);
  FailureOr<Value> count = asIndex(call[1], call.nodes[1], "I.histogram: bins");
  if (failed(count)) return failure();
  ExtentAttr bins = extentOf(*count);
  if (bins.getConstant().value_or(0) < 0)
    return error(call.nodes[1]) << "I.histogram: bins: expected a non-negative extent, got " << *bins.getConstant();
  FailureOr<Type> dtype = accDtype(call, 3, e.type("u32"));
  if (failed(dtype)) return failure();
  if (!isa<IntegerType, IndexType>(*dtype) || dtype->isInteger(1))
    return error(call.nodes[3]) << "I.histogram: count_dtype: expected an integer dtype, got " << dtypeName(*dtype);
  Entity everything = Entity::ofBool(true);
  const Entity &validity = call.has(2) ? call[2] : everything;
  FailureOr<Value> valid = asValue(validity, call.nodes[2], builder.getI1Type());
  if (failed(valid)) return failure();
  ArrayRef<ExtentAttr> shape = kir::shapeOf(values->getType()), own = kir::shapeOf(valid->getType());
  auto fits = [&](auto pair) {
    auto [a, b] = pair;
    return a.getConstant() == 1 || (b.getConstant() != 1 && relate(a, b) != Relation::Different);
  };
  if (!kir::elementType(valid->getType()).isInteger(1) || own.size() > shape.size() ||
      !llvm::all_of(llvm::zip_equal(own, shape.take_back(own.size())), fits))
    return error(call.nodes[2]) << "I.histogram: valid: expected a bool that broadcasts to " << spell(shape) << ", got "
                                << describe(validity);
  for (auto [a, b] : llvm::zip_equal(own, shape.take_back(own.size())))
    if (a != b && a.getConstant() != 1) checkEqual(b, a, at, "I.histogram: valid: extents " + spell(b) + " and " + spell(a));
  bool all = validity.isLiteral(Constant::Bool) && validity.constant->integer;
  if (request.check) {
    require(*count, indexConstant(0, at), {}, call.nodes[1], "histogram bins");
    require(*values, indexConstant(0, at), *count, call.nodes[0], "histogram value", all ? Value() : broadcastTo(*valid, shape, at));
  }
  // One axis of bins in front of those of the values.
  Shape joint{bins};
  llvm::append_range(joint, shape);
  SmallVector<int64_t> behind;
  for (size_t i = 1; i < joint.size(); ++i)
    behind.push_back(i);
  Value each = repeat(e.positions(bins), joint, {0}, at);
  // An index holds every bin, which a narrow dtype of the values may not.
  Value equal = e.compare(ComparePredicate::Eq, repeat(e.cast(*values, builder.getIndexType()), joint, behind, at), each);
  if (!all) equal = e.binary(BinaryKind::And, equal, repeat(broadcastTo(*valid, shape, at), joint, behind, at));
  Value ones = e.select(equal, e.constant(*dtype, 1), e.constant(*dtype, 0));
  if (shape.empty()) return Entity::ofValue(ones);
  return Entity::ofValue(e.sum(ones, behind));
}
