// What checked code asks before its accesses (HostFunction).
#include "Codegen.h"

using namespace mlir;
using namespace intent;

namespace intent::block::host {

static bool acquires(MemoryOrder order) { return order == MemoryOrder::Acquire || order == MemoryOrder::AcqRel; }
static bool releases(MemoryOrder order) { return order == MemoryOrder::Release || order == MemoryOrder::AcqRel; }

unsigned Codegen::beginAccess(Operation *op) {
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
                       op->getLoc()};
  unsigned number = accesses.size();
  accesses.push_back(access);
  accessNumbers[op] = number;
  ask(-1 - static_cast<int64_t>(number), nullptr);
  return number;
}

LV Codegen::mayAccess(unsigned access, LV active, ArrayRef<LV> coordinates) {
  for (auto [axis, coordinate] : llvm::enumerate(coordinates))
    b.CreateStore(coordinate, b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), checkedCoordinates, axis));
  return ask(access, active);
}

LV Codegen::ask(int64_t access, LV active) {
  LV context = b.CreateIntToPtr(frameSlot(checkSlot), b.getPtrTy()), check = b.CreateIntToPtr(frameSlot(checkSlot + 1), b.getPtrTy());
  auto *type = llvm::FunctionType::get(b.getInt8Ty(), {b.getPtrTy(), b.getInt64Ty(), b.getInt8Ty(), b.getPtrTy()}, false);
  LV lane = active ? b.CreateZExt(active, b.getInt8Ty()) : b.getInt8(1);
  return b.CreateIsNotNull(b.CreateCall(type, check, {context, index(access), lane, checkedCoordinates}));
}

} // namespace intent::block::host
