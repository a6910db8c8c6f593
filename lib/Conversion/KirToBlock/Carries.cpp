#include "Carries.h"

#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace intent::kir;

namespace intent::conversion {

ValueRange Carries::inits() const {
  return llvm::TypeSwitch<Operation *, ValueRange>(op)
      .Case<ForOp, WhileOp>([](auto o) -> ValueRange { return o.getInits(); })
      .Case<RegionFoldOp>([](RegionFoldOp o) -> ValueRange { return o.getIdentities(); })
      .Case<RegionScanOp>([](RegionScanOp o) -> ValueRange { return o.getStates(); });
}

BlockArgument Carries::argument(unsigned i) const {
  return llvm::TypeSwitch<Operation *, BlockArgument>(op)
      .Case<ForOp>([&](ForOp o) { return o.getBody().getArgument(i + 1); })
      .Case<WhileOp>([&](WhileOp o) { return o.getBody().getArgument(i); })
      .Case<RegionFoldOp>([&](RegionFoldOp o) { return o.getNext().getArgument(i); })
      .Case<RegionScanOp>([&](RegionScanOp o) { return o.getApply().getArgument(o.getIdentities().size() + i); });
}

Value Carries::next(unsigned i) const {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<ForOp, WhileOp>([&](auto o) { return o.getBody().front().getTerminator()->getOperand(i); })
      .Case<RegionFoldOp>([&](RegionFoldOp o) { return o.getNext().front().getTerminator()->getOperand(i); })
      .Case<RegionScanOp>([&](RegionScanOp o) { return o.getApply().front().getTerminator()->getOperand(i); });
}

Value Carries::result(unsigned i) const { return op->getResult(op->getNumResults() - size() + i); }

std::optional<unsigned> Carries::numberOf(Value result) const {
  unsigned number = cast<OpResult>(result).getResultNumber(), outputs = op->getNumResults() - size();
  return number < outputs ? std::nullopt : std::optional(number - outputs);
}

std::optional<std::pair<Operation *, unsigned>> Carries::of(BlockArgument argument) {
  Operation *parent = argument.getOwner()->getParentOp();
  if (!Carries::has(parent)) return std::nullopt;
  Carries loop(parent);
  for (unsigned i = 0; i < loop.size(); ++i)
    if (loop.argument(i) == argument) return std::pair(parent, i);
  return std::nullopt;
}

bool holdsEffects(Operation *op) {
  return op->walk([](Operation *inner) { return isLeafEffect(inner) ? WalkResult::interrupt() : WalkResult::advance(); }).wasInterrupted();
}

Value viewOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<WriteOp, ScatterReduceOp, AtomicOp, CompareExchangeOp, ReadOp>([](auto o) -> Value { return o.getView(); })
      .Case<RequireOp>([](RequireOp) { return Value(); });
}

ValueRange indicesOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, ValueRange>(op)
      .Case<WriteOp, ScatterReduceOp, AtomicOp, CompareExchangeOp, ReadOp>([](auto o) -> ValueRange { return o.getIndices(); })
      .Case<RequireOp>([](RequireOp) { return ValueRange(); });
}

SmallVector<Value, 2> valuesOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, SmallVector<Value, 2>>(op)
      .Case<WriteOp, ScatterReduceOp>([](auto o) { return SmallVector<Value, 2>{o.getValue()}; })
      .Case<AtomicOp>([](AtomicOp o) { return o.getValue() ? SmallVector<Value, 2>{o.getValue()} : SmallVector<Value, 2>(); })
      .Case<CompareExchangeOp>([](CompareExchangeOp o) { return SmallVector<Value, 2>{o.getExpected(), o.getDesired()}; })
      .Case<RequireOp>([](RequireOp o) { return SmallVector<Value, 2>(o->getOperands()); });
}

ArrayRef<ExtentAttr> effectShape(Operation *op) {
  if (op->getNumResults()) return shapeOf(op->getResult(0).getType());
  return shapeOf(valuesOf(op)[0].getType());
}

void forEachCaptured(Region &region, llvm::function_ref<void(Value)> visit) {
  region.walk([&](Operation *inner) {
    for (Value value : inner->getOperands())
      if (!region.isAncestor(value.getParentRegion())) visit(value);
  });
}

bool holdsLoops(Region &combine) {
  return combine.walk([](Operation *op) { return isa<ForOp, WhileOp>(op) ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

bool commute(Operation *a, Operation *b) {
  if (auto first = dyn_cast<AtomicOp>(a), second = dyn_cast<AtomicOp>(b); first && second) {
    if (first.getKind() != second.getKind()) return false;
    if (first.getKind() == AtomicKind::Load) return true;
    bool ordered = llvm::is_contained({AtomicKind::Store, AtomicKind::Exchange}, first.getKind());
    return !ordered && first.getOld().use_empty() && second.getOld().use_empty();
  }
  auto x = dyn_cast<ScatterReduceOp>(a), y = dyn_cast<ScatterReduceOp>(b);
  return x && y && OperationEquivalence::isRegionEquivalentTo(&x.getCombine(), &y.getCombine(), OperationEquivalence::IgnoreLocations);
}

bool raceByContract(Operation *a, Operation *b) {
  auto isAtomic = [](Operation *op) { return isa<AtomicOp, CompareExchangeOp>(op); };
  if (!isAtomic(a) || !isAtomic(b)) return false;
  for (auto forall = a->getParentOfType<ParallelOp>(); forall; forall = forall->getParentOfType<ParallelOp>())
    if (forall->isAncestor(b)) return true;
  return false;
}

} // namespace intent::conversion
