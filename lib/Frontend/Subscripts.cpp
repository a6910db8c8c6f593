// Indexing: views, tensors, domains and tuples; reads and writes.
#include "Lowering.h"

using namespace mlir;
using namespace intent;
using namespace intent::frontend;
using kir::DomainType;

FailureOr<std::vector<IndexItem>> Lowering::evaluateIndices(NodeId slice) {
  std::vector<IndexItem> items;
  auto add = [&](NodeId id) -> LogicalResult {
    const Node &node = request.node(id);
    IndexItem item;
    item.node = id;
    if (node.kind == NodeKind::Slice) {
      if (node.fields[2].id != noNode)
        return error(node.fields[2].id) << "a slice has no step in the language; use I.domain(start, stop, step)";
      item.kind = IndexItem::All;
      for (unsigned i = 0; i < 2; ++i) {
        if (node.fields[i].id == noNode) continue;
        item.kind = IndexItem::Slice;
        FailureOr<Entity> bound = evaluate(node.fields[i].id);
        if (failed(bound)) return failure();
        (i == 0 ? item.lower : item.upper) = *bound;
      }
      items.push_back(item);
      return success();
    }
    FailureOr<Entity> entity = evaluate(id);
    if (failed(entity)) return failure();
    // A tuple held by a name indexes as if it were written out.
    std::vector<Entity> parts = entity->kind == Entity::Tuple ? entity->items() : std::vector<Entity>{*entity};
    for (const Entity &part : parts) {
      IndexItem single;
      single.node = id;
      single.entity = part;
      single.kind = part.isLiteral(Constant::None) ? IndexItem::NewAxis : IndexItem::Item;
      if (part.isLiteral(Constant::Ellipsis)) return error(id) << "'...' is not an index of the language; missing trailing indices are ':'";
      items.push_back(single);
    }
    return success();
  };
  const Node &node = request.node(slice);
  if (node.kind != NodeKind::Tuple) {
    if (failed(add(slice))) return failure();
    return items;
  }
  for (NodeId child : node.fields[0].list)
    if (failed(add(child))) return failure();
  return items;
}

FailureOr<Entity> Lowering::evaluateSubscript(NodeId id) {
  const Node &node = request.node(id);
  FailureOr<Entity> base = evaluate(node.fields[0].id);
  if (failed(base)) return failure();
  FailureOr<std::vector<IndexItem>> items = evaluateIndices(node.fields[1].id);
  if (failed(items)) return failure();
  return subscript(*base, *items, id);
}

FailureOr<Entity> Lowering::subscript(const Entity &base, ArrayRef<IndexItem> items, NodeId at) {
  if (base.kind == Entity::View || base.isTensor()) return readItems(base, items, at);
  if (base.kind == Entity::Choice && isa<KirTensorType>(base.value.getType())) {
    FailureOr<Value> value = asValue(base, at);
    if (failed(value)) return failure();
    return readItems(Entity::ofValue(*value), items, at);
  }
  if (base.kind == Entity::Domain) {
    if (items.size() != 1) return error(at) << "a domain has one axis, got " << static_cast<unsigned>(items.size()) << " indices";
    return subregion(base, items[0], at);
  }
  if (base.isProduct()) return productItem(base, items, at);
  return error(at) << describe(base) << " is not indexed";
}

FailureOr<Entity> Lowering::productItem(const Entity &base, ArrayRef<IndexItem> items, NodeId at) {
  if (base.kind == Entity::Record) return error(at) << "a record is read by attribute, as in r." << base.product->names.front();
  int64_t size = base.items().size();
  if (items.size() == 1 && items[0].kind != IndexItem::Item) {
    if (items[0].kind == IndexItem::NewAxis) return error(at) << "a tuple is indexed by a compile-time integer, got None";
    int64_t bounds[2] = {0, size};
    for (int i = 0; i < 2; ++i) {
      const Entity &bound = i == 0 ? items[0].lower : items[0].upper;
      if (bound.kind == Entity::Unbound) continue;
      FailureOr<int64_t> value = constantInt(bound, items[0].node, "tuple slice");
      if (failed(value)) return failure();
      bounds[i] = std::clamp<int64_t>(*value < 0 ? *value + size : *value, 0, size);
    }
    std::vector<Entity> part;
    for (int64_t i = bounds[0]; i < bounds[1]; ++i)
      part.push_back(base.items()[i]);
    return Entity::ofTuple(std::move(part));
  }
  if (items.size() != 1) return error(at) << "a tuple is indexed by one compile-time integer";
  FailureOr<int64_t> position = constantInt(items[0].entity, items[0].node, "tuple index");
  if (failed(position)) return failure();
  if (*position < -size || *position >= size)
    return error(items[0].node) << "tuple index " << *position << " is out of range for " << size << " items";
  return base.items()[*position < 0 ? *position + size : *position];
}

FailureOr<Entity> Lowering::subregion(const Entity &base, const IndexItem &item, NodeId at) {
  if (item.kind == IndexItem::All) return base;
  if (item.kind != IndexItem::Slice) return error(item.node) << "a domain is indexed by a slice b:e, got " << describe(item.entity);
  const Bounds &source = *base.region;
  Value bounds[2] = {source.begin, source.end};
  for (int i = 0; i < 2; ++i) {
    const Entity &bound = i == 0 ? item.lower : item.upper;
    if (bound.kind == Entity::Unbound) continue;
    FailureOr<Value> value = asIndex(bound, item.node, i == 0 ? "subregion begin" : "subregion end");
    if (failed(value)) return failure();
    bounds[i] = *value;
  }
  // Provable violations of begin <= b <= e <= end.
  auto exceeds = [&](Value small, Value large) {
    std::optional<int64_t> gap = (extentOf(large) - extentOf(small)).getConstant();
    return gap && *gap < 0;
  };
  const std::pair<Value, Value> ordered[] = {{source.begin, bounds[0]}, {bounds[0], bounds[1]}, {bounds[1], source.end}};
  for (auto [small, large] : ordered)
    if (exceeds(small, large))
      return error(at) << "subregion [" << spell(extentOf(bounds[0])) << ":" << spell(extentOf(bounds[1]))
                       << "] does not lie within its source [" << spell(extentOf(source.begin)) << ":" << spell(extentOf(source.end))
                       << "]";
  ExtentAttr extent;
  Value begin = bounds[0];
  if (extentOf(source.step).getConstant() == 1) {
    extent = extentOf(bounds[1]) - extentOf(bounds[0]);
  } else {
    // Members before a coordinate c: ceil((c - begin) / step).
    auto before = [&](Value c) -> Value {
      auto op = [&](BinaryKind kind, Value l, Value r) { return indexOp(kind, l, r, at); };
      Value reach = op(BinaryKind::Add, op(BinaryKind::Sub, c, source.begin), op(BinaryKind::Sub, source.step, indexConstant(1, at)));
      return op(BinaryKind::FloorDiv, reach, source.step);
    };
    Value first = before(bounds[0]), last = before(bounds[1]);
    extent = extentOf(last) - extentOf(first);
    Value skipped = make<kir::BinaryOp>(at, first.getType(), BinaryKind::Mul, first, source.step, false, false);
    begin = indexOp(BinaryKind::Add, source.begin, skipped, at);
  }
  Value region = unique(make<kir::SubregionOp>(at, DomainType::get(context, publish(extent)), base.value, bounds[0], bounds[1]));
  return regionEntity(region, begin, bounds[1], source.step);
}

//===- accesses ----------------------------------------------------------------------------------------===//

Value Lowering::wholeAxis(ExtentAttr extent, NodeId at) {
  Value begin = indexConstant(0, at), end = extentValue(extent, at), step = indexConstant(1, at);
  return unique(make<kir::DomainOp>(at, DomainType::get(context, publish(extent)), begin, end, step));
}

FailureOr<Value> Lowering::indexValue(const IndexItem &item, ExtentAttr extent, unsigned axis) {
  if (item.kind == IndexItem::All) return wholeAxis(extent, item.node);
  if (item.kind == IndexItem::Slice)
    return error(item.node) << "index " << axis
                            << " is a slice with bounds; an axis takes ':' or a subregion, as in rows[b:e] of rows = I.domain(...)";
  const Entity &entity = item.entity;
  if (entity.kind == Entity::Domain) return entity.value;
  if (entity.isLiteral(Constant::Int)) {
    std::optional<int64_t> size = extent.getConstant();
    if (entity.constant->integer < 0)
      return error(item.node) << "index " << axis << " is negative (" << entity.constant->spell() << "); indices count from 0";
    if (size && entity.constant->integer >= *size)
      return error(item.node) << "index " << axis << " is " << entity.constant->spell() << ", out of range for extent " << *size;
    return literalValue(*entity.constant, builder.getIndexType(), item.node);
  }
  if (entity.kind == Entity::Choice && defaultElement(entity).isInteger(64)) return asValue(entity, item.node, builder.getIndexType());
  if (entity.kind == Entity::Value) {
    Type element = kir::elementType(entity.value.getType());
    if (isa<IntegerType, IndexType>(element) && !element.isInteger(1)) return entity.value;
  }
  InFlightDiagnostic diagnostic = error(item.node);
  diagnostic << "index " << axis << ": expected an integer scalar, ':', a domain or an integer tensor, got " << describe(entity);
  if (entity.kind == Entity::Value && kir::elementType(entity.value.getType()).isInteger(1))
    diagnostic << "; select by a bool with I.select or I.mask";
  return diagnostic;
}

/// One index per axis of `shape`; tensors already have one joint shape.
FailureOr<SmallVector<Value>> Lowering::resolveIndices(ArrayRef<ExtentAttr> shape, const Entity &base, ArrayRef<IndexItem> items,
                                                       NodeId at) {
  SmallVector<Value> indices;
  std::vector<Operand> tensors;
  SmallVector<Value> tensorValues;
  for (const IndexItem &item : items) {
    if (item.kind == IndexItem::NewAxis) continue;
    if (indices.size() == shape.size())
      return error(item.node) << describe(base) << " has rank " << static_cast<unsigned>(shape.size()) << "; this index is one too many";
    FailureOr<Value> value = indexValue(item, shape[indices.size()], indices.size());
    if (failed(value)) return failure();
    if (isa<KirTensorType>(value->getType())) {
      tensors.push_back({item.entity, item.node, "index"});
      tensorValues.push_back(*value);
    }
    indices.push_back(*value);
  }
  while (indices.size() < shape.size())
    indices.push_back(wholeAxis(shape[indices.size()], at));
  if (tensors.empty()) return indices;
  FailureOr<Shape> joint = broadcastShapes(tensors, tensorValues, at);
  if (failed(joint)) return failure();
  for (Value &index : indices)
    if (isa<KirTensorType>(index.getType())) index = broadcastTo(index, *joint, at);
  return indices;
}

FailureOr<Entity> Lowering::readItems(const Entity &base, ArrayRef<IndexItem> items, NodeId at) {
  ArrayRef<ExtentAttr> source = kir::shapeOf(base.value.getType());
  Type element = kir::elementType(base.value.getType());
  bool isView = base.kind == Entity::View;
  FailureOr<SmallVector<Value>> indices = resolveIndices(source, base, items, at);
  if (failed(indices)) return failure();
  bool whole = llvm::all_of(items, [](const IndexItem &item) { return item.kind == IndexItem::All || item.kind == IndexItem::NewAxis; });
  bool newAxes = llvm::any_of(items, [](const IndexItem &item) { return item.kind == IndexItem::NewAxis; });
  FailureOr<SmallVector<ExtentAttr>> shape = kir::indexedShape(source.size(), *indices);
  if (failed(shape)) return error(at) << "internal error: indices of one shape expected";
  Value value;
  if (whole && !isView && !source.empty()) {
    value = base.value;
  } else {
    bool scalar = llvm::all_of(*indices, [](Value v) { return isScalarType(v.getType()); });
    // x[()] of a rank-zero view is a rank-zero tensor; t[()] of such a tensor is its scalar.
    bool asScalar = scalar && !(isView && source.empty()) && !(newAxes && source.empty());
    Type type = asScalar ? element : Type(tensorType(element, *shape));
    if (isView) value = unique(make<kir::ReadOp>(at, type, base.value, *indices, Value()), /*reads=*/true);
    else if (source.empty() && !asScalar) value = base.value;
    else value = make<kir::ExtractOp>(at, type, base.value, *indices);
  }
  if (!newAxes) return Entity::ofValue(value);
  // Size-one axes stand where None was written among the result's axes.
  Shape result;
  SmallVector<int64_t> axes;
  size_t next = 0, axis = 0;
  bool jointDone = false;
  auto keep = [&](size_t count) {
    for (size_t i = 0; i < count; ++i, ++next) {
      axes.push_back(result.size());
      result.push_back((*shape)[next]);
    }
  };
  for (const IndexItem &item : items) {
    if (item.kind == IndexItem::NewAxis) {
      result.push_back(known(1));
      continue;
    }
    Value index = (*indices)[axis++];
    if (isa<DomainType>(index.getType())) keep(1);
    auto tensor = dyn_cast<KirTensorType>(index.getType());
    if (tensor && !jointDone) {
      keep(tensor.getShape().size());
      jointDone = true;
    }
  }
  keep(shape->size() - next);
  return Entity::ofValue(repeat(value, result, axes, at));
}

/// The scalar of a rank-zero tensor; a scalar itself.
Value Lowering::scalarOf(Value value, NodeId at) {
  if (!isa<KirTensorType>(value.getType())) return value;
  auto repeated = value.getDefiningOp<kir::BroadcastOp>();
  if (repeated && !isa<KirTensorType>(repeated.getValue().getType())) return repeated.getValue();
  return make<kir::ExtractOp>(at, kir::elementType(value.getType()), value, ValueRange());
}

LogicalResult Lowering::writeItems(const Entity &base, ArrayRef<IndexItem> items, const Entity &value, NodeId at, NodeId valueNode) {
  if (base.kind != Entity::View)
    return error(at) << describe(base) << " is not written by index; values are immutable, and only Out and InOut views are written";
  auto type = cast<kir::ViewType>(base.value.getType());
  if (type.getAccess() == Access::In) return error(at) << "parameter '" << base.text << "' is an input (I.In) and is not written";
  if (pureRegions) return error(at) << pureRole << " has no effects; it writes '" << base.text << "'";
  for (const IndexItem &item : items)
    if (item.kind == IndexItem::NewAxis) return error(item.node) << "None inserts an axis into a value that is read; a write has none";
  FailureOr<SmallVector<Value>> indices = resolveIndices(type.getShape(), base, items, at);
  if (failed(indices)) return failure();
  FailureOr<Value> written = asValue(value, valueNode, type.getElement());
  if (failed(written)) return failure();
  Type element = kir::elementType(written->getType());
  if (element != type.getElement())
    return error(valueNode) << "view '" << base.text << "' has dtype " << dtypeName(type.getElement()) << ", the value "
                            << dtypeName(element) << "; convert it with I.cast";
  FailureOr<SmallVector<ExtentAttr>> shape = kir::indexedShape(type.getShape().size(), *indices);
  if (failed(shape)) return error(at) << "internal error: indices of one shape expected";
  ArrayRef<ExtentAttr> own = kir::shapeOf(written->getType());
  bool scalar = llvm::all_of(*indices, [](Value v) { return isScalarType(v.getType()); });
  if (scalar) {
    if (!own.empty()) return error(valueNode) << "view '" << base.text << "' takes one element here, got a value of shape " << spell(own);
    *written = scalarOf(*written, at);
  } else {
    // The value broadcasts to the index result, never the other way.
    if (own.size() > shape->size())
      return error(valueNode) << "value of shape " << spell(own) << " has more axes than the written part of '" << base.text << "', "
                              << spell(*shape);
    Shape target(*shape);
    for (size_t i = 0; i < own.size(); ++i) {
      size_t axis = shape->size() - own.size() + i;
      if (own[i].getConstant() == 1 || own[i] == target[axis]) continue;
      if (relate(own[i], target[axis]) == Relation::Different || target[axis].getConstant() == 1)
        return error(valueNode) << "value of shape " << spell(own) << " does not broadcast to the written part of '" << base.text << "', "
                                << spell(*shape) << ": extents " << spell(own[i]) << " and " << spell(target[axis]) << " of axis "
                                << static_cast<unsigned>(axis);
      checkEqual(target[axis], own[i], at, "write to '" + base.text + "': extents " + spell(target[axis]) + " and " + spell(own[i]));
    }
    *written = broadcastTo(*written, *shape, valueNode);
  }
  make<kir::WriteOp>(at, *written, base.value, *indices, /*unique=*/false);
  ++writes;
  return success();
}
