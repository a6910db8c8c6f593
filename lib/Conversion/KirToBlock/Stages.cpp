// Stages: tensors that are read at several members by each member of other tensors. A value is computed where it is used, so over
// some such steps (stencils of stencils) the work multiplies; between them a stage goes to a buffer.
#include "Snapshots.h"

#include "intent/Target/Capabilities.h"

using namespace mlir;
using namespace intent::kir;

namespace intent::conversion {

namespace {
class Stages {
public:
  explicit Stages(KernelOp kernel) {
    kernel.walk<WalkOrder::PostOrder>([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : llvm::reverse(ops)) // users come first
      for (Value result : op->getResults()) {
        places[result] = count(result);
        if (!isWork(result)) continue;
        all += places[result];
        ++size;
      }
  }

  /// Computations of all values, about, and how many there would be at one place each.
  double all = 0, size = 0;

  /// The value whose keeping saves most; null if none saves a good part.
  Value best() {
    Value found;
    double most = all / 4;
    for (Operation *op : ops)
      for (Value value : op->getResults()) {
        double at = places[value];
        if (!isWork(value) || at < severalPlaces || !canKeepEarly(value)) continue;
        double below = 0;
        llvm::SetVector<Value> seen;
        seen.insert(value);
        for (size_t i = 0; i < seen.size(); ++i) {
          Operation *source = seen[i].getDefiningOp();
          if (!source || isa<ReadOp>(source) || Carries::has(source)) continue;
          if (isWork(seen[i])) below += places[seen[i]];
          seen.insert(source->operand_begin(), source->operand_end());
        }
        if (double saved = below - below / at - at; saved > most) {
          most = saved;
          found = value;
        }
      }
    return found;
  }

private:
  static constexpr double severalPlaces = 4;

  static bool isWork(Value value) {
    return isa<UnaryOp, BinaryOp, CompareOp, FmaOp, SelectOp, CastOp, BitcastOp>(value.getDefiningOp()) &&
           isa<KirTensorType>(value.getType());
  }

  // Members of other values that read a member of this one, each with a member of its own.
  double count(Value value) {
    double own = 0, elsewhere = 0;
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (isa<ExtractOp>(user) && use.getOperandNumber() == 0) {
        elsewhere += places[user->getResult(0)];
        continue;
      }
      own = std::max(own, 1.0);
      if (isa<YieldOp>(user) && isa<IfOp>(user->getParentOp()))
        own = std::max(own, places[user->getParentOp()->getResult(use.getOperandNumber())]);
      for (Value result : user->getResults())
        if (!isEffect(user) && !Carries::has(user)) own = std::max(own, places[result]);
    }
    return std::max(own + elsewhere, 1.0);
  }

  // Before anything is known of the kernel but its types.
  static bool canKeepEarly(Value value) {
    return mayHoldEffects(value.getDefiningOp()) && llvm::all_of(shapeOf(value.getType()), [](ExtentAttr extent) {
             return llvm::none_of(extent.getAtoms(), [](StringAttr atom) { return atom.getValue().starts_with("?"); });
           });
  }

  SmallVector<Operation *> ops;
  DenseMap<Value, double> places;
};
} // namespace

void keepStages(KernelOp kernel) {
  // Where instances cannot exchange values a buffer takes its axis from the program: the lesser evil late.
  block::TargetAttr target = targetOf(kernel);
  const double tooMany = target && getIntFeature(target, "serial_elements") < unboundedSerial ? 1000 : 250;
  while (true) {
    Stages stages(kernel);
    if (stages.all < tooMany || stages.all < 4 * stages.size) return;
    Value value = stages.best();
    if (!value) return;
    keepInBuffer(value);
  }
}

} // namespace intent::conversion
