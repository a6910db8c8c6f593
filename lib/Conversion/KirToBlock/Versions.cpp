// Versions: which write a read sees, and which loops change what it sees.
#include "Facts.h"

#include "Snapshots.h"

using namespace mlir;
using namespace intent::kir;

namespace intent::conversion {

// A write of every element: each index the whole axis, nothing conditional between it and the block of the reader.
bool Facts::isWholeWrite(WriteOp write, ReadOp read) {
  for (auto [item, other, extent] : llvm::zip(write.getIndices(), read.getIndices(), shapeOf(write.getView().getType()))) {
    if (isScalarType(item.getType()) && item == other) continue;
    auto domain = dyn_cast<DomainType>(item.getType());
    if (!domain || domain.getExtent() != extent) return false;
    DomainInfo info = domainOf(item);
    if (info.start->getConstant() != 0 || info.step->getConstant() != 1) return false;
  }
  return true;
}

static bool isOrderedLoop(Operation *op) { return isa<ForOp, WhileOp>(op); }

// The innermost ordered loop around both.
static Operation *commonLoop(Operation *a, Operation *b) {
  for (Operation *loop = a->getParentOp(); loop; loop = loop->getParentOp())
    if (isOrderedLoop(loop) && loop->isProperAncestor(b)) return loop;
  return nullptr;
}

// Both select the loop's coordinate on one view axis, so that no two iterations meet.
static bool touchOwnIteration(Operation *effect, ReadOp read, Operation *loop) {
  if (!isa<ForOp>(loop)) return false;
  Value coordinate = loop->getRegion(0).front().getArgument(0);
  for (auto [a, b] : llvm::zip(indicesOf(effect), read.getIndices()))
    if (a == coordinate && b == coordinate) return true;
  return false;
}

// The reads, and the effects with results, that a value is computed from; a read that is the value of a write is followed to that
// value.
static void walkSources(Value value, const DenseMap<Operation *, WriteOp> &forwards, llvm::function_ref<void(Operation *)> visit) {
  llvm::SetVector<Value> work;
  work.insert(value);
  for (size_t i = 0; i < work.size(); ++i) {
    Operation *op = work[i].getDefiningOp();
    if (!op) {
      op = cast<BlockArgument>(work[i]).getOwner()->getParentOp();
      if (isa<KernelOp>(op)) continue;
    }
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        work.insert(operand);
      WriteOp write = isa<ReadOp>(inner) ? forwards.lookup(inner) : nullptr;
      if (write) work.insert(write.getValue());
      else if (isa<ReadOp>(inner) || isLeafEffect(inner)) visit(inner);
    });
  }
}

void Facts::findVersions() {
  SmallVector<Operation *> writes;
  SmallVector<ReadOp> reads;
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isLeafEffect(op)) writes.push_back(op);
    if (auto read = dyn_cast<ReadOp>(op)) reads.push_back(read);
  });
  DenseMap<Operation *, SmallVector<Operation *>> changedIn;
  for (ReadOp read : reads) {
    WriteOp whole;      // the last write of everything before the read
    bool parts = false; // something else may have changed elements since
    SmallVector<Operation *> changed;
    bool any = false;
    for (Operation *op : writes) {
      if (viewOf(op) != read.getView()) continue;
      any = true;
      for (Operation *loop = commonLoop(op, read); loop; loop = loop->getParentOp())
        if (isOrderedLoop(loop) && !llvm::is_contained(changed, loop)) changed.push_back(loop);
      bool before = order(op) < order(read);
      auto write = dyn_cast<WriteOp>(op);
      if (before && write && !write->hasAttr(unwritesAttributeName) && write->getBlock()->findAncestorOpInBlock(*read) &&
          isWholeWrite(write, read)) {
        whole = write;
        parts = false;
        continue;
      }
      if (before) {
        parts = true;
        continue;
      }
      // A later write is seen through a loop around both, unless each iteration writes everything first.
      for (Operation *loop = commonLoop(op, read); loop && !(whole && loop->isProperAncestor(whole)); loop = commonLoop(loop, read))
        if (!touchOwnIteration(op, read, loop)) parts = true;
    }
    changedIn[read] = changed;
    // What may lie outside is read from memory in checked code, which is asked about then.
    bool seen = !checked || llvm::all_of(read.getIndices(), [](Value item) { return isa<DomainType>(item.getType()); });
    if (whole && !parts && seen && !whole->hasAttr(keepsAttributeName)) forwards[read] = whole;
    else if (any) versionLoops[read] = changed;
  }
  // What a written value was computed from may be replaced before it is read back, and what effects give at points of theirs is
  // there only then: memory has it. An update in place of just what the value was computed from is ordered lane by lane.
  auto isGoneLater = [&](Operation *source, WriteOp write) {
    auto read = dyn_cast<ReadOp>(source);
    if (!read) return llvm::any_of(source->getResultTypes(), llvm::IsaPred<KirTensorType>);
    return llvm::any_of(writes, [&](Operation *op) {
      if (viewOf(op) != read.getView() || (order(op) < order(read) && !commonLoop(op, read))) return false;
      return op != write || !llvm::equal(write.getIndices(), read.getIndices());
    });
  };
  for (bool again = true; again;) {
    again = false;
    for (ReadOp read : reads) {
      WriteOp write = forwards.lookup(read);
      if (!write) continue;
      bool gone = false;
      walkSources(write.getValue(), forwards, [&](Operation *source) { gone |= isGoneLater(source, write); });
      if (!gone) continue;
      forwards.erase(read);
      versionLoops[read] = changedIn[read];
      again = true;
    }
  }
}

} // namespace intent::conversion
