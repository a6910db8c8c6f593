// What checked code asks before its accesses (HostFunction).
#include "Nest.h"

#include "intent/Target/Capabilities.h"

using namespace mlir;
using namespace intent;

namespace intent::block::host {

static bool acquires(MemoryOrder order) { return order == MemoryOrder::Acquire || order == MemoryOrder::AcqRel; }
static bool releases(MemoryOrder order) { return order == MemoryOrder::Release || order == MemoryOrder::AcqRel; }

Codegen::LaneOrder Codegen::beginAccess(Operation *op, ArrayRef<int64_t> extents) {
  auto view = llvm::find_if(op->getOperands(), [](Value operand) { return isa<ViewType>(operand.getType()); });
  auto require = dyn_cast<RequireOp>(op);
  std::optional<MemoryOrder> order;
  bool reads = !isa<StoreOp, RequireOp>(op), writes = !isa<LoadOp, RequireOp>(op);
  if (auto atomic = dyn_cast<AtomicOp>(op)) {
    order = atomic.getOrder();
    reads = atomic.getKind() != AtomicKind::Store;
    writes = atomic.getKind() != AtomicKind::Load;
  }
  if (auto exchange = dyn_cast<CompareExchangeOp>(op)) order = exchange.getOrder();
  CheckedAccess access{require ? require.getWhat().str() : "",
                       require ? ~0u : cast<BlockArgument>(*view).getArgNumber(),
                       reads,
                       writes,
                       !isa<LoadOp, StoreOp, RequireOp>(op),
                       order && acquires(*order),
                       order && releases(*order),
                       op->hasAttr(unwritesAttributeName),
                       op->hasAttr(uniqueAttributeName),
                       op->getLoc(),
                       {},
                       SmallVector<int64_t, 4>(extents),
                       {}};
  if (auto walks = op->getAttrOfType<ArrayAttr>(walksAttributeName))
    for (Attribute item : walks)
      if (auto walk = dyn_cast<WalkAttr>(item))
        access.walks.push_back({walk.getLoop(), walk.getUnordered(), SmallVector<int64_t, 2>(walk.getNumbers())});
  unsigned number = accesses.size();
  accesses.push_back(access);
  accessNumbers[op] = number;
  ask(-1 - static_cast<int64_t>(number), nullptr, index(0));
  LaneOrder visits;
  auto answer = [&](unsigned i) {
    return b.CreateLoad(b.getInt64Ty(), b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), checkedCoordinates, i));
  };
  for (unsigned axis = 0; axis < extents.size(); ++axis)
    visits.emplace_back(answer(2 * axis), answer(2 * axis + 1));
  return visits;
}

void Codegen::findNeeds() {
  for (auto [op, number] : accessNumbers)
    for (const Derivation &derivation : isa<RequireOp>(op) ? SmallVector<Derivation, 4>() : derivationsOf(op))
      if (auto source = accessNumbers.find(derivation.source); source != accessNumbers.end())
        accesses[number].needs.push_back({source->second, derivation.lanes, derivation.everyPass});
}

void Codegen::announceWalk(WalkOp op) {
  if (op.getPosition()) b.CreateStore(scalar(op.getPosition()), checkedCoordinates);
  ask(checkedWalk, b.getInt1(static_cast<bool>(op.getPosition())), index(op.getNumber()));
}

LV Codegen::bitsOf(Type element, LV value) {
  LV raw = scalars.toMemory(element, value);
  return b.CreateZExt(b.CreateBitCast(raw, b.getIntNTy(raw->getType()->getPrimitiveSizeInBits())), b.getInt64Ty());
}

void Codegen::emitRequire(RequireOp op) {
  if (!checked) return;
  auto ask = [&](LV active, LV lane, llvm::function_ref<LV(Value)> get) {
    mayAccess(accessOf(op), active, lane, {get(op.getValue()), get(op.getLow()), get(op.getHigh())});
  };
  if (!isa<FragmentType>(op.getValue().getType())) {
    LV active = nullptr;
    for (Value mask : op.getValidity())
      active = active ? b.CreateAnd(active, scalar(mask)) : scalar(mask);
    beginAccess(op, {});
    return ask(active, index(0), [&](Value value) { return scalar(value); });
  }
  SmallVector<int64_t, 4> extents = constantExtents(op.getValue().getType());
  SmallVector<unsigned, 4> all = identityAxes(extents.size()), outer;
  SmallVector<Root, 3> roots{{op.getValue(), all}, {op.getLow(), all}, {op.getHigh(), all}};
  Nest nest(*this, extents, roots);
  nest.shuffle(beginAccess(op, extents));
  for (unsigned axis : all)
    if (axis != nest.innerAxis()) outer.push_back(axis);
  Conjuncts masks = conjunctsOf(op.getValidity(), op.getValidAxes(), all);
  nest.setSkippable(masks, masks);
  nest.forEach(outer, [&] { ask(nest.condition(masks), nest.lane(), [&](Value value) { return nest.evaluate(value, all); }); });
}

LV Codegen::mayAccess(unsigned access, LV active, LV lane, ArrayRef<LV> coordinates) {
  for (auto [axis, coordinate] : llvm::enumerate(coordinates))
    b.CreateStore(coordinate, b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), checkedCoordinates, axis));
  return ask(access, active, lane);
}

LV Codegen::ask(int64_t access, LV active, LV lane) {
  LV context = b.CreateIntToPtr(frameSlot(checkSlot), b.getPtrTy()), check = b.CreateIntToPtr(frameSlot(checkSlot + 1), b.getPtrTy());
  auto *type = llvm::FunctionType::get(b.getInt8Ty(), {b.getPtrTy(), b.getInt64Ty(), b.getInt8Ty(), b.getInt64Ty(), b.getPtrTy()}, false);
  LV acts = active ? b.CreateZExt(active, b.getInt8Ty()) : b.getInt8(1);
  return b.CreateIsNotNull(b.CreateCall(type, check, {context, index(access), acts, lane, checkedCoordinates}));
}

} // namespace intent::block::host
