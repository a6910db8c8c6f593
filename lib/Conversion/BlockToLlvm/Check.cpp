// What checked code asks before its accesses (HostFunction).
#include "Codegen.h"

#include "intent/Target/Capabilities.h"

using namespace mlir;
using namespace intent;

namespace intent::block::host {

static bool acquires(MemoryOrder order) { return order == MemoryOrder::Acquire || order == MemoryOrder::AcqRel; }
static bool releases(MemoryOrder order) { return order == MemoryOrder::Release || order == MemoryOrder::AcqRel; }

Codegen::LaneOrder Codegen::beginAccess(Operation *op, ArrayRef<int64_t> extents) {
  Value view = *llvm::find_if(op->getOperands(), [](Value operand) { return isa<ViewType>(operand.getType()); });
  std::optional<MemoryOrder> order;
  bool reads = !isa<StoreOp>(op), writes = !isa<LoadOp>(op);
  if (auto atomic = dyn_cast<AtomicOp>(op)) {
    order = atomic.getOrder();
    reads = atomic.getKind() != AtomicKind::Store;
    writes = atomic.getKind() != AtomicKind::Load;
  }
  if (auto exchange = dyn_cast<CompareExchangeOp>(op)) order = exchange.getOrder();
  CheckedAccess access{cast<BlockArgument>(view).getArgNumber(),
                       reads,
                       writes,
                       !isa<LoadOp, StoreOp>(op),
                       order && acquires(*order),
                       order && releases(*order),
                       op->hasAttr(unwritesAttributeName),
                       op->getLoc(),
                       SmallVector<int64_t, 4>(extents),
                       {}};
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
    for (const Derivation &derivation : derivationsOf(op))
      if (auto source = accessNumbers.find(derivation.source); source != accessNumbers.end())
        accesses[number].needs.push_back({source->second, derivation.lanes, derivation.everyPass});
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
