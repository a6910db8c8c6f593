// Buffers, and accesses written as calls: gathers, stores, scatters, bounds facts.
#include "Lowering.h"

using namespace mlir;
using namespace intent;
using namespace intent::frontend;

FailureOr<Entity> Lowering::lowerBuffer(Call &call) {
  if (pureRegions) return error(call.node) << pureRole << " has no effects; it makes a buffer";
  FailureOr<Shape> shape = shapeArgument(call[0], call.nodes[0]);
  if (failed(shape)) return failure();
  FailureOr<Type> element = constantDtype(call[1], call.nodes[1]);
  if (failed(element)) return failure();
  for (ExtentAttr extent : *shape)
    publish(extent);
  Entity buffer = Entity::ofText(Entity::View, "");
  buffer.value = make<kir::BufferOp>(call.node, kir::ViewType::get(context, *element, *shape, Access::InOut));
  ++writesTo(buffer.value.getType()); // an iteration's buffer is not the one before
  bool hasInit = call.has(2) && !call[2].isLiteral(Constant::None);
  if (hasInit && failed(writeItems(buffer, {}, call[2], call.node, call.nodes[2]))) return failure();
  return buffer;
}

/// What one index or a tuple of them, given as an argument, would be in brackets.
FailureOr<std::vector<IndexItem>> Lowering::indexItems(const Entity &index, NodeId at) {
  std::vector<Entity> parts = index.kind == Entity::Tuple ? index.items() : std::vector<Entity>{index};
  std::vector<IndexItem> items;
  for (const Entity &part : parts) {
    IndexItem item;
    item.node = at;
    item.entity = part;
    if (part.isLiteral(Constant::None)) return error(at) << "None inserts an axis in brackets only; an index argument has none";
    items.push_back(item);
  }
  return items;
}

/// Validity of exactly the result's shape.
FailureOr<Value> Lowering::validAt(const Entity &valid, Type result, const Entity &base, NodeId at, NodeId node) {
  FailureOr<Value> value = asValue(valid, node, builder.getI1Type());
  if (failed(value)) return failure();
  if (!kir::elementType(value->getType()).isInteger(1)) return error(node) << "valid: expected bools, got " << describeElements(valid);
  SmallVector<ExtentAttr> shape(kir::shapeOf(result));
  return spread(*value, isa<KirTensorType>(result) ? &shape : nullptr, describe(base), at, node);
}

FailureOr<Entity> Lowering::lowerGather(Call &call) {
  Entity source = call[0];
  NodeId at = call.node;
  if (source.kind != Entity::View) {
    FailureOr<Value> tensor = asTensor(source, call.nodes[0], "I.gather");
    if (failed(tensor)) return failure();
    source = Entity::ofValue(*tensor);
  }
  FailureOr<std::vector<IndexItem>> items = indexItems(call[1], call.nodes[1]);
  if (failed(items)) return failure();
  ArrayRef<ExtentAttr> shape = kir::shapeOf(source.value.getType());
  FailureOr<SmallVector<Value>> indices = resolveIndices(shape, source, *items, at);
  if (failed(indices)) return failure();
  Type element = kir::elementType(source.value.getType());
  if (call.has(3)) meet(call[3], element);
  FailureOr<Value> fill = asValue(call.has(3) ? call[3] : Entity::ofInt(0), call.nodes[3], element);
  if (failed(fill)) return failure();
  if (kir::elementType(fill->getType()) != element)
    return error(call.nodes[3]) << "I.gather: fill is " << describe(call[3]) << " and the source has dtype " << dtypeName(element)
                                << "; convert it with I.cast";
  if (!call.has(2) || (call[2].isLiteral(Constant::Bool) && call[2].constant->integer))
    return Entity::ofValue(readAt(source, *indices, /*asTensor=*/true, at));
  SmallVector<ExtentAttr> selected = *kir::indexedShape(shape.size(), *indices);
  bool scalar = llvm::all_of(*indices, [](Value v) { return isScalarType(v.getType()); }) && !shape.empty();
  Type type = scalar ? element : Type(tensorType(element, selected));
  FailureOr<Value> valid = validAt(call[2], type, source, at, call.nodes[2]);
  if (failed(valid)) return failure();
  bool isView = source.kind == Entity::View;
  Value value = readAt(source, *indices, /*asTensor=*/true, at, isView ? *valid : Value());
  // An invalid lane of a view reads the typed zero already.
  bool zero = !call.has(3) || (call[3].isNumber() && call[3].constant->asReal() == 0 && !std::signbit(call[3].constant->asReal()));
  if (isView && zero) return Entity::ofValue(value);
  FailureOr<Value> filled = spread(*fill, scalar ? nullptr : &selected, describe(source), at, call.nodes[3]);
  if (failed(filled)) return failure();
  return Entity::ofValue(make<kir::SelectOp>(at, type, *valid, value, *filled));
}

/// `I.store` and `I.scatter_unique`.
FailureOr<Entity> Lowering::lowerStore(Call &call) {
  FailureOr<std::vector<IndexItem>> items = indexItems(call[1], call.nodes[1]);
  bool isUnique = call.intrinsic->path == "scatter_unique";
  if (failed(items) || failed(writeItems(call[0], *items, call[2], call.nodes[0], call.nodes[2], isUnique))) return failure();
  return Entity::none();
}

FailureOr<Entity> Lowering::lowerMutableLoad(Call &call) {
  if (call[0].kind != Entity::View) return error(call.nodes[0]) << "I.mutable_load takes a view or a buffer, got " << describe(call[0]);
  FailureOr<std::vector<IndexItem>> items = indexItems(call[1], call.nodes[1]);
  if (failed(items)) return failure();
  ++writesTo(call[0].value.getType()); // it is no earlier read
  return readItems(call[0], *items, call.node);
}

FailureOr<Entity> Lowering::lowerScatterReduce(Call &call) {
  const Entity &target = call[0];
  NodeId at = call.node, combineNode = call.nodes[3];
  if (failed(requireWritable(target, call.nodes[0]))) return failure();
  FailureOr<std::vector<IndexItem>> items = indexItems(call[1], call.nodes[1]);
  if (failed(items)) return failure();
  FailureOr<SmallVector<Value>> indices = placeIndices(target, *items, at);
  if (failed(indices)) return failure();
  FailureOr<Value> value = valueAt(target, *indices, call[2], at, call.nodes[2]);
  if (failed(value)) return failure();
  Type element = kir::elementType(value->getType());
  auto scatter = make<kir::ScatterReduceOp>(at, *value, target.value, *indices);
  ++writesTo(target.value.getType());
  if (failed(fillCombine(scatter.getCombine(), Entity::ofValue(*value), element, Captures(), call[3], combineNode))) return failure();
  return Entity::none();
}

/// The fact itself is not recorded: an access is guarded or proven without it. Its operands are checked, and in checked programs the fact.
FailureOr<Entity> Lowering::lowerAssumeInBounds(Call &call) {
  const Entity &index = call[0], &view = call[1];
  if (view.kind != Entity::View && !view.isTensor())
    return error(call.nodes[1]) << "I.assume_in_bounds takes a view, a buffer or a tensor, got " << describe(view);
  ArrayRef<ExtentAttr> shape = kir::shapeOf(view.value.getType());
  int64_t rank = shape.size();
  FailureOr<int64_t> axis = constantInt(call[2], call.nodes[2], "axis");
  if (failed(axis)) return failure();
  if (*axis < -rank || *axis >= rank) return error(call.nodes[2]) << "axis " << *axis << " is out of range for rank " << rank;
  int64_t position = *axis < 0 ? *axis + rank : *axis;
  IndexItem item;
  item.node = call.nodes[0];
  item.entity = index;
  FailureOr<Value> value = indexValue(item, shape[position], position);
  if (failed(value)) return failure();
  if (request.check && index.kind == Entity::Value)
    require(*value, indexConstant(0, call.node), extentValue(shape[position], call.node), call.nodes[0], "I.assume_in_bounds: index");
  return Entity::none();
}
