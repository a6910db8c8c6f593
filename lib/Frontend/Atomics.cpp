// Atomic accesses.
#include "Lowering.h"

using namespace mlir;
using namespace intent;
using namespace intent::frontend;

/// The memory order of an access; loads acquire at most, stores release at most.
FailureOr<MemoryOrder> Lowering::orderArgument(Call &call, unsigned position, std::optional<AtomicKind> kind) {
  if (!call.has(position)) return MemoryOrder::Relaxed;
  bool load = kind == AtomicKind::Load, store = kind == AtomicKind::Store;
  StringRef expected = load ? "'relaxed' or 'acquire'" : store ? "'relaxed' or 'release'" : "'relaxed', 'acquire', 'release' or 'acq_rel'";
  std::optional<MemoryOrder> order;
  if (call[position].isLiteral(Constant::Str)) order = symbolizeMemoryOrder(call[position].constant->text);
  bool acquires = order == MemoryOrder::Acquire || order == MemoryOrder::AcqRel;
  bool releases = order == MemoryOrder::Release || order == MemoryOrder::AcqRel;
  if (!order || (load && releases) || (store && acquires))
    return error(call.nodes[position]) << "I." << call.intrinsic->path << ": order: expected " << expected << ", got "
                                       << describe(call[position]);
  return *order;
}

FailureOr<Entity> Lowering::lowerAtomic(Call &call) {
  auto kind = static_cast<AtomicKind>(call.intrinsic->kind);
  bool load = kind == AtomicKind::Load, store = kind == AtomicKind::Store;
  NodeId at = call.node;
  const Entity &target = call[0];
  if (failed(requireWritable(target, call.nodes[0], /*atomic=*/true))) return failure();
  FailureOr<MemoryOrder> order = orderArgument(call, load ? 2 : 3, kind);
  if (failed(order)) return failure();
  Type element = kir::elementType(target.value.getType());
  std::string operation = ("I." + call.intrinsic->path).str();
  bool bitwise = llvm::is_contained({AtomicKind::And, AtomicKind::Or, AtomicKind::Xor}, kind);
  if (bitwise && isa<FloatType>(element))
    return error(call.nodes[0]) << operation << " takes integers and bools, got " << dtypeName(element);
  if (llvm::is_contained({AtomicKind::Add, AtomicKind::Max, AtomicKind::Min}, kind) &&
      failed(requireArithmetic(element, call.nodes[0], operation)))
    return failure();
  FailureOr<std::vector<IndexItem>> items = indexItems(call[1], call.nodes[1]);
  if (failed(items)) return failure();
  FailureOr<SmallVector<Value>> indices = placeIndices(target, *items, at);
  if (failed(indices)) return failure();
  Value value;
  Type result;
  if (load) {
    bool scalar = llvm::all_of(*indices, [](Value v) { return isScalarType(v.getType()); });
    result = scalar ? element : Type(tensorType(element, *kir::indexedShape(indices->size(), *indices)));
  } else {
    FailureOr<Value> given = valueAt(target, *indices, call[2], at, call.nodes[2]);
    if (failed(given)) return failure();
    value = *given;
    result = store ? Type() : value.getType();
  }
  auto op = make<kir::AtomicOp>(at, result, kind, *order, target.value, *indices, value);
  ++writesTo(target.value.getType());
  return store ? Entity::none() : Entity::ofValue(op.getOld());
}

FailureOr<Entity> Lowering::lowerCompareExchange(Call &call) {
  NodeId at = call.node;
  const Entity &target = call[0];
  if (failed(requireWritable(target, call.nodes[0], /*atomic=*/true))) return failure();
  FailureOr<MemoryOrder> order = orderArgument(call, 4, std::nullopt);
  if (failed(order)) return failure();
  FailureOr<std::vector<IndexItem>> items = indexItems(call[1], call.nodes[1]);
  if (failed(items)) return failure();
  FailureOr<SmallVector<Value>> indices = placeIndices(target, *items, at);
  if (failed(indices)) return failure();
  FailureOr<Value> expected = valueAt(target, *indices, call[2], at, call.nodes[2]);
  if (failed(expected)) return failure();
  FailureOr<Value> desired = valueAt(target, *indices, call[3], at, call.nodes[3]);
  if (failed(desired)) return failure();
  Type type = expected->getType();
  auto op = make<kir::CompareExchangeOp>(at, type, kir::withElement(type, builder.getI1Type()), *order, target.value, *indices, *expected,
                                         *desired);
  ++writesTo(target.value.getType());
  Entity record = Entity::ofTuple({Entity::ofValue(op.getOld()), Entity::ofValue(op.getSuccess())});
  record.kind = Entity::Record;
  record.product = std::make_shared<const Product>(Product{record.items(), {"old_value", "success"}});
  return record;
}
