// Triton 3.6's thread-locality pass (3.9's no longer) rewrites a reduction of a load that a loop accumulates, and asserts
// that the loop's result has one use. Where it has more, the load gets a condition that holds in every
// iteration between it and the reduction, which the pass does not look through:
//
//   scf.for %n0 = %lb to %ub { %x = load; %r = reduce(%x); yield add(%acc, %r) }
//   -> ... %c = compare lt %n0, %ub ; %r = reduce(select(%c, %x, identity)) ...
#include "Legalization.h"

using namespace mlir;
using namespace intent;
using namespace intent::block;

namespace intent::triton {

// The loop result that accumulates `reduce`, or null.
static Value accumulatedResult(ReduceOp reduce) {
  auto loop = dyn_cast<scf::ForOp>(reduce->getParentOp());
  if (!loop || reduce.getValues().size() != 1) return {};
  auto type = cast<FragmentType>(reduce.getValues()[0].getType());
  if (!isa<FloatType>(type.getElement()) || type.getExtents().size() < 2 || reduce.getAxis() + 1 != type.getExtents().size()) return {};
  if (!reduce.getValues()[0].getDefiningOp<LoadOp>() || !reduce.getResult(0).hasOneUse()) return {};
  Operation *user = *reduce.getResult(0).user_begin();
  if (user->getNumResults() != 1 || !user->getResult(0).hasOneUse()) return {};
  OpOperand &use = *user->getResult(0).use_begin();
  if (!isa<scf::YieldOp>(use.getOwner()) || use.getOwner()->getParentOp() != loop) return {};
  return loop.getResult(use.getOperandNumber());
}

void separateSharedAccumulators(ProgramOp program) {
  program.walk([](ReduceOp reduce) {
    Value result = accumulatedResult(reduce);
    // A broadcast is written once for each of its own uses.
    if (!result || (result.hasOneUse() && !isa<BroadcastOp>(*result.user_begin()))) return;
    auto loop = cast<scf::ForOp>(reduce->getParentOp());
    OpBuilder builder(reduce);
    Location location = reduce.getValues()[0].getLoc();
    if (auto name = dyn_cast<NameLoc>(location)) location = name.getChildLoc();
    Value value = reduce.getValues()[0];
    Value runs =
        CompareOp::create(builder, location, builder.getI1Type(), ComparePredicate::Lt, loop.getInductionVar(), loop.getUpperBound());
    Value identity = BroadcastOp::create(builder, location, cast<FragmentType>(value.getType()), reduce.getIdentities()[0],
                                         builder.getDenseI64ArrayAttr({}));
    reduce.getValuesMutable()[0].set(SelectOp::create(builder, location, value.getType(), runs, value, identity));
  });
}

} // namespace intent::triton
