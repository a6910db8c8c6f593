// Ragged groups: subregions and index relations that offsets describe.
#include "Lowering.h"

using namespace mlir;
using namespace intent;
using namespace intent::frontend;

/// A view or tensor of integers of rank 1.
static bool isIntegerVector(const Entity &entity) {
  if (entity.kind != Entity::View && !entity.isTensor()) return false;
  Type type = entity.value.getType(), element = kir::elementType(type);
  return kir::shapeOf(type).size() == 1 && isa<IntegerType, IndexType>(element) && !element.isInteger(1);
}

FailureOr<Entity> Lowering::lowerRagged(Call &call) {
  static constexpr StringRef names[] = {"outer", "members", "offsets", "indices"};
  std::vector<Entity> parts;
  for (unsigned i = 0; i < 4; ++i) {
    if (i == 3 && (!call.has(3) || call[3].isLiteral(Constant::None))) break;
    bool fits = i < 2 ? call[i].kind == Entity::Domain : isIntegerVector(call[i]);
    if (!fits)
      return error(call.nodes[i]) << "I.ragged: " << names[i] << ": expected "
                                  << (i < 2 ? "a domain" : "a view or tensor of integers of rank 1") << ", got "
                                  << describeElements(call[i]);
    parts.push_back(call[i]);
  }
  Entity ragged = Entity::ofTuple(std::move(parts));
  ragged.kind = Entity::Ragged;
  return ragged;
}

/// Group g: members[offsets[g]:offsets[g + 1]], or what `indices` holds at those positions.
FailureOr<Entity> Lowering::ragged(const Entity &base, ArrayRef<IndexItem> items, NodeId at) {
  if (items.size() != 1 || items[0].kind != IndexItem::Item)
    return error(at) << "a ragged value is indexed by one group, an integer scalar";
  FailureOr<Value> group = asIndex(items[0].entity, items[0].node, "group");
  if (failed(group)) return failure();
  const Entity &offsets = base.items()[2];
  IndexItem range;
  range.kind = IndexItem::Slice;
  range.node = at;
  for (int64_t side = 0; side < 2; ++side) {
    IndexItem item;
    item.node = items[0].node;
    item.entity = Entity::ofValue(indexOp(BinaryKind::Add, *group, indexConstant(side, at), at));
    FailureOr<Entity> bound = readItems(offsets, item, at);
    if (failed(bound)) return failure();
    (side == 0 ? range.lower : range.upper) = *bound;
  }
  if (base.items().size() == 3) return subregion(base.items()[1], range, at);
  const Entity &indices = base.items()[3];
  ExtentAttr extent = kir::shapeOf(indices.value.getType())[0];
  Value positions = wholeAxis(extent, at);
  Entity whole = regionEntity(positions, indexConstant(0, at), extentValue(extent, at), indexConstant(1, at));
  FailureOr<Entity> part = subregion(whole, range, at);
  if (failed(part)) return failure();
  IndexItem selected;
  selected.node = at;
  selected.entity = *part;
  FailureOr<Entity> members = readItems(indices, selected, at);
  if (failed(members)) return failure();
  return castEntity(*members, builder.getIndexType(), at);
}

/// A group is its members already: a subregion, or the index tensor of mapped ones.
FailureOr<Entity> Lowering::lowerMembers(Call &call) {
  const Entity &region = call[0];
  if (region.kind == Entity::Domain) return region;
  if (region.isTensor() && kir::elementType(region.value.getType()).isIndex()) return region;
  return error(call.nodes[0]) << "I.members takes a group of I.ragged or a domain, got " << describe(region);
}
