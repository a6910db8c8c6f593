// Groups: effects that share structured producers, edges or a traversal.
#include "Groups.h"

using namespace mlir;
using namespace intent::kir;

namespace intent::conversion {

bool dependsOn(Facts &facts, Effect *effect, Effect *earlier) {
  return llvm::any_of(facts.demandsOf(effect).order, [&](const Demand &demand) {
    Operation *op = demand.first.getDefiningOp();
    return op && isEffect(op) && earlier->op->isAncestor(op);
  });
}

static bool shareWork(Facts &facts, Effect *a, Effect *b) {
  if (isa<RequireOp>(a->op) || isa<RequireOp>(b->op)) return dependsOn(facts, a, b) || dependsOn(facts, b, a); // others form as without
  if (!a->parallel.empty() && !b->parallel.empty() && a->parallel[0] == b->parallel[0]) return true;
  const DemandSet &other = facts.demandsOf(b);
  std::set<std::pair<Operation *, Coordinates>> walks; // whichever of their results is needed
  auto isWalk = [](Operation *op) { return isReduction(op) || Carries::has(op) || isa<ScanOp>(op); };
  for (const Demand &demand : other.order)
    if (Operation *op = demand.first.getDefiningOp(); op && isWalk(op)) walks.emplace(op, demand.second);
  for (const Demand &demand : facts.demandsOf(a).order) {
    Operation *op = demand.first.getDefiningOp();
    if (op && isWalk(op) && walks.count({op, demand.second})) return true;
    auto read = dyn_cast_or_null<ReadOp>(op);
    if (read && isa<KirTensorType>(read.getResult().getType()) && other.seen.count(demand)) return true;
  }
  return dependsOn(facts, a, b) || dependsOn(facts, b, a);
}

bool haveEdge(Facts &facts, ArrayRef<Access> a, ArrayRef<Access> b) {
  for (const Access &x : a)
    for (const Access &y : b)
      if (x.view == y.view && (x.write || y.write) && !commute(x.op, y.op) && !facts.areDisjoint(x.coordinates, y.coordinates)) return true;
  return false;
}

SmallVector<SmallVector<Effect *>> formGroups(Facts &facts, ArrayRef<Effect *> effects) {
  size_t count = effects.size();
  SmallVector<ArrayRef<Access>> accesses;
  for (Effect *effect : effects)
    accesses.push_back(facts.accessesOf(effect));
  SmallVector<unsigned> leader(count);
  for (unsigned i = 0; i < count; ++i) {
    leader[i] = i;
    for (unsigned j = 0; j < i; ++j) {
      if (leader[j] == leader[i] || !(haveEdge(facts, accesses[i], accesses[j]) || shareWork(facts, effects[i], effects[j]))) continue;
      unsigned from = std::max(leader[i], leader[j]), to = std::min(leader[i], leader[j]);
      for (unsigned &l : leader)
        if (l == from) l = to;
    }
  }
  SmallVector<SmallVector<Effect *>> groups;
  for (unsigned l = 0; l < count; ++l) {
    SmallVector<Effect *> group;
    for (unsigned i = 0; i < count; ++i)
      if (leader[i] == l) group.push_back(effects[i]);
    if (!group.empty()) groups.push_back(group);
  }
  return groups;
}

void forEachLeaf(Effect *effect, llvm::function_ref<void(Effect *)> visit) {
  if (effect->isLeaf()) visit(effect);
  for (Effect *child : effect->children)
    forEachLeaf(child, visit);
}

// Equal coordinates on one view axis, each a function of this class alone.
bool meetOnlyAtOnePosition(Facts &facts, const Access &a, const Access &b, AxisId id, llvm::function_ref<bool(AxisId)> isFixed) {
  for (auto [x, y] : llvm::zip_equal(a.coordinates, b.coordinates)) {
    std::optional<int64_t> pace = x == y ? facts.index.coefficientOf(x, id) : std::nullopt;
    if (!pace) continue;
    const Index *rest = facts.index.sub(x, facts.index.mul(facts.index.constant(*pace), facts.index.axis(id)));
    bool alone = llvm::all_of(facts.freeAxes(rest), [&](AxisId other) { return other != id && isFixed(other); });
    if (alone) return true;
  }
  return false;
}

bool meetOnlyInOnePass(Facts &facts, const Access &a, const Access &b, Operation *op) {
  for (Operation *loop = op->getParentOp(); loop; loop = loop->getParentOp())
    if (isa<WhileOp>(loop) || (isa<ForOp>(loop) && !meetOnlyAtOnePosition(facts, a, b, facts.passClass(loop)))) return false;
  return true;
}

// Iterations of one `I.parallel` do not conflict, and neither do the elements of one access; but a later pass of a loop
// around them may touch what another iteration or element did in an earlier one. A buffer of an iteration is its own.
static bool apartByContract(Facts &facts, const Access &a, const Access &b, AxisId id) {
  if (llvm::any_of(facts.privateAxes(a.view), [&](AxisId axis) { return facts.find(axis) == id; })) return true;
  for (AxisId axis : a.effect->parallel) {
    Operation *forall = facts.axis(axis).op;
    if (facts.find(axis) == id && forall->isAncestor(a.op) && forall->isAncestor(b.op)) return meetOnlyInOnePass(facts, a, b, forall);
  }
  return &a == &b && meetOnlyInOnePass(facts, a, b, a.op);
}

bool areIterations(Facts &facts, Operation *a, Operation *b, AxisId id) {
  for (auto forall = a->getParentOfType<ParallelOp>(); forall; forall = forall->getParentOfType<ParallelOp>())
    if (forall->isAncestor(b) && llvm::any_of(facts.axesOf(forall), [&](AxisId axis) { return facts.find(axis) == id; })) return true;
  return false;
}

static SmallVector<SmallVector<AxisId>> leafAxes(Facts &facts, ArrayRef<Effect *> effects) {
  SmallVector<SmallVector<AxisId>> all;
  for (Effect *effect : effects)
    forEachLeaf(effect, [&](Effect *write) { all.push_back(facts.axesOf(write)); });
  return all;
}

bool isFreeIn(Facts &facts, ArrayRef<Effect *> effects, AxisId id) {
  if (!llvm::all_of(leafAxes(facts, effects), [&](auto &own) { return llvm::is_contained(own, id); })) return false;
  SmallVector<Access> accesses;
  for (Effect *effect : effects)
    llvm::append_range(accesses, facts.accessesOf(effect));
  for (const Access &a : accesses)
    for (const Access &b : accesses)
      if (a.write && a.view == b.view && !commute(a.op, b.op) && !facts.areDisjoint(a.coordinates, b.coordinates) &&
          !meetOnlyAtOnePosition(facts, a, b, id) && !meetOnlyInOnePair(facts, a, b) && !apartByContract(facts, a, b, id))
        return false;
  return true;
}

SmallVector<AxisId> programAxes(Facts &facts, ArrayRef<Effect *> effects, const llvm::SetVector<AxisId> &combined) {
  SmallVector<AxisId> result, own = leafAxes(facts, effects)[0];
  for (AxisId id : own)
    if (!llvm::is_contained(result, id) && !combined.contains(id) && facts.isLaunchVisible(facts.axis(id).extent) &&
        isFreeIn(facts, effects, id))
      result.push_back(id);
  return result;
}

} // namespace intent::conversion
