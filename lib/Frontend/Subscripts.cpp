// Subscripts as authors write them: items of an index, and what they select from domains and tuples.
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
  if (base.kind == Entity::Ragged) return ragged(base, items, at);
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
  bool whole = extentOf(bounds[0]) == extentOf(source.begin) && extentOf(bounds[1]) == extentOf(source.end);
  if (request.check && !whole) {
    Value last = source.end; // an empty source may start past it
    if (!isAtLeast(extentOf(last) - extentOf(source.begin), 0)) last = indexOp(BinaryKind::Maximum, source.begin, last, at);
    Value behind = indexOp(BinaryKind::Add, last, indexConstant(1, at), at);
    require(bounds[0], source.begin, behind, at, "subregion begin");
    require(bounds[1], bounds[0], behind, at, "subregion end");
  }
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
