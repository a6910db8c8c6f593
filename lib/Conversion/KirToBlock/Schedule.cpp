// The order of effects in one scope: every read sees its version.
#include "Construct.h"

#include "Groups.h"

using namespace mlir;
using namespace intent::block;

namespace intent::conversion {

bool Construction::shareOnePosition(Operation *a, Operation *b, AxisId id) { return hasOnePosition(id) || areIterations(facts, a, b, id); }

// Accesses that the order of two effects in the current scope decides about.
bool Construction::touchSame(const Access &a, const Access &b) {
  return a.view == b.view && !commute(a.op, b.op) &&
         !facts.areDisjoint(a.coordinates, b.coordinates, [&](AxisId id) { return shareOnePosition(a.op, b.op, id); });
}

// A later effect reads or replaces what an earlier one stores.
bool Construction::mustFollow(Effect *later, Effect *earlier) {
  for (const Access &write : facts.accessesOf(earlier))
    for (const Access &access : facts.accessesOf(later))
      if (write.write && touchSame(write, access) && (access.write || facts.order(access.op) > facts.order(write.op))) return true;
  return dependsOn(facts, later, earlier);
}

static bool isStore(const Effect *effect) { return isa<kir::WriteOp, kir::ScatterReduceOp, kir::RequireOp>(effect->op); }

// A reader needs what a writer replaces.
bool Construction::readsOld(Effect *reader, ArrayRef<Effect *> writers) {
  for (const Access &access : facts.accessesOf(reader))
    for (Effect *writer : writers)
      for (const Access &other : facts.accessesOf(writer))
        if (!access.write && other.write && facts.order(access.op) < facts.order(other.op) && touchSame(access, other)) return true;
  return false;
}

// One of the effects writes what a read sees, behind it or before it.
bool Construction::isWritten(const Demand &demand, ArrayRef<Effect *> effects, bool later) {
  auto read = demand.first.getDefiningOp<kir::ReadOp>();
  if (!read || !facts.isVolatile(read)) return false;
  Access access = facts.accessOf(demand);
  return llvm::any_of(effects, [&](Effect *effect) {
    return llvm::any_of(facts.accessesOf(effect), [&](const Access &other) {
      return other.write && (facts.order(access.op) < facts.order(other.op)) == later && touchSame(access, other);
    });
  });
}

// Some of the demands read what the effects replace later.
bool Construction::readsReplaced(const DemandSet &demands, ArrayRef<Effect *> effects) {
  return llvm::any_of(demands.order, [&](const Demand &demand) { return isWritten(demand, effects, /*later=*/true); });
}

// Some of the demands are results of the effects, or read what these write before.
bool Construction::needsGiven(const DemandSet &demands, ArrayRef<Effect *> effects) {
  return llvm::any_of(demands.order, [&](const Demand &demand) {
    Operation *op = demand.first.getDefiningOp();
    if (op && isEffect(op) && llvm::any_of(effects, [&](Effect *effect) { return effect->op->isAncestor(op); })) return true;
    return isWritten(demand, effects, /*later=*/false);
  });
}

LogicalResult Construction::secure(const Demand &demand, ArrayRef<Effect *> batch, ArrayRef<Effect *> remaining) {
  DemandSet seen;
  facts.reach(demand, seen);
  if (!readsReplaced(seen, batch)) return success();
  for (Scope *scope = current; scope; scope = scope->parent)
    if (scope->memo.count(demand)) return success();
  if (!needsGiven(seen, remaining) && allBound(facts.freeAxes(demand))) return success(succeeded(realise(demand)));
  if (isWritten(demand, batch, /*later=*/true)) return keepWholeRead(demand.first.getDefiningOp<kir::ReadOp>(), batch[0]);
  for (const Demand &child : facts.children(demand))
    if (failed(secure(child, batch, remaining))) return failure();
  return success();
}

// The values below an effect of the batch that read what the batch replaces and are the same in all its points: they are there
// before it. Nothing if other values read that, too.
std::optional<SmallVector<Demand>> Construction::readBefore(Effect *effect, ArrayRef<Effect *> batch) {
  SmallVector<Demand> before, stack(rootsOf(effect));
  DemandSet seen;
  while (!stack.empty()) {
    Demand demand = stack.pop_back_val();
    if (!seen.insert(demand)) continue;
    DemandSet below;
    facts.reach(demand, below);
    if (!readsReplaced(below, batch)) continue;
    if (!needsGiven(below, batch) && allBound(facts.freeAxes(demand))) {
      before.push_back(demand);
      continue;
    }
    if (isWritten(demand, batch, /*later=*/true)) return std::nullopt;
    llvm::append_range(stack, facts.children(demand));
  }
  return before;
}

// Effects of one `I.parallel` of which one uses what another gives are done iteration by iteration, as the author wrote
// them, where the parallel axes are still to be walked.
SmallVector<Effect *> Construction::iterationOf(Effect *first, ArrayRef<Effect *> remaining, SmallVector<AxisId> &walked) {
  const auto *next = llvm::find_if(first->parallel, [&](AxisId id) { return !lookup(facts.find(id)); });
  if (next == first->parallel.end()) return {};
  for (AxisId id : facts.axesOf(facts.axis(*next).op)) // the outermost loop; the others are inside of its iteration
    if (AxisId c = facts.find(id); !lookup(c) && !llvm::is_contained(walked, c)) walked.push_back(c);
  SmallVector<Effect *> together;
  for (Effect *other : remaining)
    if (llvm::is_contained(other->parallel, *next)) together.push_back(other);
  bool depends = false;
  for (Effect *a : together)
    for (Effect *b : together)
      depends |= a != b && dependsOn(facts, a, b);
  if (!depends) together.clear();
  return together;
}

// Something that is still to be performed makes what the value reads.
bool Construction::awaitsEffects(const Demand &demand) {
  SmallVector<Effect *> awaited; // what is inside a loop waits for its own effects, not for the loop
  llvm::copy_if(ahead, std::back_inserter(awaited), [&](Effect *effect) {
    auto around = entered.find(effect);
    if (around == entered.end() || around->second == current) return true;
    for (Scope *scope = current; scope; scope = scope->parent)
      if (scope == around->second) return false;
    return true;
  });
  if (awaited.empty()) return false;
  DemandSet seen;
  facts.reach(demand, seen);
  return needsGiven(seen, awaited);
}

LogicalResult Construction::emit(ArrayRef<Effect *> effects, ArrayRef<Demand> pending) {
  SmallVector<Effect *> remaining(effects);
  llvm::append_range(ahead, effects);
  while (!remaining.empty()) {
    SmallVector<Effect *> batch;
    SmallVector<AxisId> unbound;
    bool iterations = false;           // the batch is a whole iteration of an `I.parallel`
    auto gather = [&](Effect *first) { // with what one traversal can do together
      unbound.clear();
      batch = iterationOf(first, remaining, unbound);
      iterations = !batch.empty();
      if (iterations) return;
      batch = {first};
      unbound = unboundAxes(first);
      if (!first->isLeaf()) return;
      SmallVector<Effect *> skipped;
      for (Effect *other : remaining) {
        if (other == first) continue;
        bool joins = other->isLeaf() && unboundAxes(other) == unbound;
        joins &= llvm::none_of(skipped, [&](Effect *s) { return mustFollow(other, s) || mustFollow(s, other) || readsOld(s, {other}); });
        for (Effect *member : batch)
          for (auto [later, earlier] : {std::pair(other, member), std::pair(member, other)})
            if (llvm::find(effects, later) > llvm::find(effects, earlier)) joins &= inStepWith(later, earlier, unbound);
        // What is stored before an atomic access is there before the values behind that access are.
        SmallVector<Effect *> all(batch);
        all.push_back(other);
        if (!llvm::all_of(all, isStore))
          for (Effect *member : all)
            for (Effect *writer : all)
              joins &= member == writer || readBefore(member, {writer});
        // Scans in two directions are walked twice rather than kept, where nothing replaces what the second walk reads.
        bool apart = llvm::any_of(batch, [&](Effect *member) { return walkApart(other, member, unbound); });
        if (apart && !readsOld(other, batch) && llvm::none_of(batch, [&](Effect *m) { return readsOld(m, other); })) joins = false;
        (joins ? batch : skipped).push_back(other);
      }
    };
    for (Effect *first : remaining) {
      bool waits = false;
      for (Effect *other : remaining)
        waits |= other != first && llvm::find(effects, other) < llvm::find(effects, first) && mustFollow(first, other);
      batch.clear();
      if (waits) continue;
      gather(first);
      for (Effect *member : batch)
        for (Effect *other : remaining)
          waits |=
              !llvm::is_contained(batch, other) && llvm::find(effects, other) < llvm::find(effects, member) && mustFollow(member, other);
      if (waits) {
        batch.clear();
        continue;
      }
      bool early = llvm::any_of(remaining, [&](Effect *other) { return !llvm::is_contained(batch, other) && readsOld(other, batch); });
      if (!early) break;
      batch.clear();
    }
    if (batch.empty()) gather(remaining.front());
    llvm::sort(batch, [&](Effect *a, Effect *b) { return llvm::find(effects, a) < llvm::find(effects, b); });
    llvm::erase_if(remaining, [&](Effect *effect) { return llvm::is_contained(batch, effect); });
    SmallVector<Demand> waiting(pending);
    for (Effect *effect : remaining)
      for (const Demand &root : rootsOf(effect))
        waiting.push_back(root);
    SmallVector<Effect *> open(remaining);
    llvm::append_range(open, batch);
    for (const Demand &demand : waiting)
      if (failed(secure(demand, batch, open))) return failure();
    if (!iterations && batch[0]->isLeaf() && !llvm::all_of(batch, isStore))
      for (Effect *effect : batch)
        for (const Demand &demand : readBefore(effect, batch).value_or(SmallVector<Demand>()))
          if (failed(realise(demand))) return failure();
    Effect *first = batch[0];
    auto done = [&] { llvm::erase_if(ahead, [&](Effect *effect) { return llvm::is_contained(batch, effect); }); };
    if (iterations) {
      SmallVector<Demand> roots;
      for (Effect *effect : batch)
        llvm::append_range(roots, rootsOf(effect));
      if (failed(traverse({}, unbound, roots, [&] { return emit(batch, {}); }, first->op->getLoc()))) return failure();
      continue;
    }
    auto run = [&] {
      entered[first] = current;
      LogicalResult result = runLoop(first->op, first);
      entered.erase(first);
      return result;
    };
    if (first->isLeaf() ? failed(storeAll(batch, unbound)) : failed(traverse({}, unbound, rootsOf(first), run, first->op->getLoc())))
      return failure();
    done();
  }
  return success();
}

// True if scans of the two need loops of different axes or directions.
bool Construction::walkApart(Effect *a, Effect *b, ArrayRef<AxisId> unbound) {
  auto walkOf = [&](Effect *effect) -> std::optional<std::pair<AxisId, bool>> {
    SmallVector<AxisId> loops = loopsOver(unbound);
    bool descending = false;
    if (findRunning(effect->roots, loops, descending).empty()) return std::nullopt;
    return std::pair(loops.back(), descending);
  };
  auto one = walkOf(a), other = walkOf(b);
  return one && other && *one != *other;
}

SmallVector<Demand> Construction::rootsOf(Effect *effect) {
  SmallVector<Demand> roots(effect->roots);
  for (Effect *child : effect->children)
    llvm::append_range(roots, rootsOf(child));
  return roots;
}

// In one traversal all values are read before the first store, so the later effect must not read what the earlier one
// stores, and what both store they store at one position; the result of an atomic access is there at its own point.
bool Construction::inStepWith(Effect *later, Effect *earlier, ArrayRef<AxisId> unbound) {
  auto isFixed = [&](AxisId id) { return shareOnePosition(later->op, earlier->op, id); };
  for (const Access &access : facts.accessesOf(later))
    for (const Access &write : facts.accessesOf(earlier)) {
      if (!write.write || !touchSame(write, access)) continue;
      if (!access.write && facts.order(access.op) > facts.order(earlier->op)) return false;
      bool crossed = llvm::any_of(unbound, [&](AxisId id) { // a later chunk of the one would replace what the other has stored
        return !isComplete(id) && !areIterations(facts, later->op, earlier->op, id) &&
               !meetOnlyAtOnePosition(facts, access, write, id, isFixed);
      });
      if (access.write && crossed) return false;
    }
  return !dependsOn(facts, later, earlier) || !isStore(earlier);
}

} // namespace intent::conversion
