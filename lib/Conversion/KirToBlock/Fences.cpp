// Fences: accesses of one instance that may meet in an element keep their order only behind a fence, or where the later
// one needs what the earlier one read, lane by lane.
#include "Construct.h"

#include "Groups.h"
#include "intent/Dialect/Block/Analysis/Derivation.h"

using namespace mlir;
using namespace intent::block;

namespace intent::conversion {

// Passes of the author's loops around an effect touch one element, and not in the same lane each time.
static bool meetsItself(Facts &facts, Effect *effect) {
  Access access{effect->op, viewOf(effect->op), facts.effectCoordinates(effect->op), true, effect};
  if (meetOnlyInOnePass(facts, access, access, effect->op) || commute(effect->op, effect->op) || raceByContract(effect->op, effect->op))
    return false;
  return llvm::any_of(facts.axesOf(effect), [&](AxisId id) { return !meetOnlyAtOnePosition(facts, access, access, id); });
}

// Whether an effect may touch what the instance's other accesses have touched. Reads of just its elements that it may
// follow by needing them go to `reads`; which do is known once all of them and their uses are there.
bool Construction::needsFence(Effect *effect, SmallVectorImpl<Operation *> &reads) {
  if (meetsItself(facts, effect)) return true;
  for (const Coordinates &place : facts.placesOf(effect)) {
    Coordinates at = facts.effectCoordinates(effect->op, place);
    for (Effect *other : phase)
      for (const Access &access : facts.accessesOf(other)) {
        if (access.view != viewOf(effect->op) || access.op == effect->op || commute(access.op, effect->op) ||
            raceByContract(access.op, effect->op) || facts.areDisjoint(access.coordinates, at))
          continue;
        if (access.write || access.coordinates != at) return true;
        reads.push_back(access.op);
      }
  }
  return false;
}

// Some read behind the effect, or in a later pass of a loop around it, may see what it stores.
bool Construction::isReadLater(Effect *effect) {
  Coordinates at = facts.effectCoordinates(effect->op);
  auto follows = [&](Operation *read) {
    if (facts.order(read) > facts.order(effect->op)) return true;
    for (Operation *loop = effect->op->getParentOp(); loop; loop = loop->getParentOp())
      if (isa<kir::ForOp, kir::WhileOp>(loop) && loop->isAncestor(read)) return true;
    return false;
  };
  for (Effect *other : phase)
    for (const Access &access : facts.accessesOf(other))
      if (!access.write && access.view == viewOf(effect->op) && follows(access.op) && !facts.areDisjoint(access.coordinates, at))
        return true;
  return false;
}

// Control may lead from the first operation to the second without a fence that every way passes.
static bool mayFollow(Operation *from, Operation *to) {
  for (Operation *loop = from->getParentOp(); loop && !isa<GroupOp>(loop); loop = loop->getParentOp())
    if (isa<scf::ForOp, scf::WhileOp>(loop) && loop->isAncestor(to)) return true;
  for (Operation *first = from; first && !isa<GroupOp>(first); first = first->getParentOp()) {
    Operation *last = first->getBlock()->findAncestorOpInBlock(*to);
    if (!last) continue;
    if (!first->isBeforeInBlock(last)) return false;
    for (Operation *op = first->getNextNode(); op != last; op = op->getNextNode())
      if (isa<FenceOp>(op)) return false;
    return true;
  }
  return true;
}

// What is needed includes the lane that stands at the access's own place.
static bool reachesOwnLane(const LaneRelation &relation) {
  using R = LaneRelation;
  return llvm::is_contained({R::Any, R::Same, R::UpTo, R::From}, relation.kind);
}

// The operation around `access` before which a fence separates it from `load`, as far out as there is one.
static Operation *placeBetween(LoadOp load, Operation *access) {
  for (Operation *at = load;; at = at->getParentOp())
    if (Operation *place = at->getBlock()->findAncestorOpInBlock(*access)) return place;
}

void Construction::placeFences() {
  for (const FenceSite &site : fenceSites) {
    Operation *place = nullptr; // the innermost one serves all
    for (const auto &[access, reads] : site.accesses) {
      if (reads.empty()) continue;
      SmallVector<Derivation, 4> needs = derivationsOf(access);
      for (Operation *read : reads)
        for (LoadOp load : loadsOf[read]) {
          bool needed = llvm::any_of(needs, [&](const Derivation &need) {
            return need.source == load.getOperation() && llvm::all_of(need.lanes, reachesOwnLane);
          });
          if (needed || load->use_empty() || !mayFollow(load, access)) continue;
          Operation *between = placeBetween(load, access);
          if (!place || place->isProperAncestor(between)) place = between;
        }
    }
    if (!place) continue;
    Operation *first = site.accesses.front().first;
    if (first->getBlock() == place->getBlock()) place = first;
    builder.setInsertionPoint(place);
    FenceOp::create(builder, first->getLoc());
  }
}

} // namespace intent::conversion
