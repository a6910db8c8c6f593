// What covers are chosen from: the classes of a group and what its values do with them.
#include "GroupFacts.h"

#include "Groups.h"
#include <functional>

using namespace mlir;
using intent::kir::ForOp;
using intent::kir::WhileOp;

namespace intent::conversion {

/// A constant extent up to this is walked point by point: lanes would mostly be padding.
static constexpr int64_t pointExtent = 8;

bool isPointExtent(Facts &facts, AxisId id) {
  std::optional<int64_t> extent = facts.axis(id).extent.getConstant();
  return extent && *extent <= pointExtent;
}

static void addLengths(Facts &facts, GroupFacts &group, AxisId axis) {
  if (facts.sliceOwner(axis)) return; // as long as the chunk that is being walked
  auto leaves = [&](const Index *node) {
    for (AxisId id : facts.freeAxes(node))
      group.lengths.insert(id);
  };
  leaves(facts.index.extent(facts.axis(axis).extent));
  if (facts.axis(axis).kind == Axis::Ordered)
    for (const Index *node : {facts.axis(axis).start, facts.axis(axis).step})
      leaves(node);
}

// Lane axes of contractions: the last free class of each operand that the other does not have. Whatever else the operands vary
// over has a position for each matrix.
static void findContractionLanes(Facts &facts, GroupFacts &group) {
  AxisSet lanesOfAny;
  for (const Demand &demand : group.demands.order) {
    auto contract = demand.first.getDefiningOp<kir::ContractOp>();
    if (!contract) continue;
    auto [lhs, rhs] = facts.contractCoordinates(contract, demand.second);
    AxisSet left = facts.freeAxes({contract.getLhs(), lhs}), right = facts.freeAxes({contract.getRhs(), rhs});
    auto lanes = [&](const Coordinates &at, const AxisSet &mine, const AxisSet &other) {
      AxisId found = ~0u;
      for (const Index *c : at)
        forEachAxis(c, [&](AxisId id) {
          if (llvm::is_contained(mine, id) && !llvm::is_contained(other, id) && !group.isUniform(id) && !group.ordered.contains(id) &&
              !isPointExtent(facts, id))
            found = id;
        });
      if (found != ~0u) return found;
      for (AxisId id : mine) // rows that the operand is read for, one by one
        if (!llvm::is_contained(other, id) && !group.isUniform(id) && !group.ordered.contains(id) && !isPointExtent(facts, id) &&
            llvm::is_contained(group.program, id))
          found = id;
      return found;
    };
    AxisId m = lanes(lhs, left, right), n = lanes(rhs, right, left);
    if (m == ~0u || n == ~0u) continue;
    if (group.lhsFree == ~0u) {
      group.lhsFree = m;
      group.rhsFree = n;
    }
    lanesOfAny.append({m, n});
    if (!facts.isNative(contract))
      for (AxisId id : facts.axesOf(contract))
        group.outer.insert(facts.find(id));
    for (AxisId id : facts.axesOf(contract))
      lanesOfAny.push_back(facts.find(id));
    for (const AxisSet &free : {left, right})
      group.matrices.insert(free.begin(), free.end());
  }
  for (AxisId id : lanesOfAny)
    group.matrices.remove(id);
}

// A class that a second traversal walks again: what a resident cover saves.
static void findRevisited(Facts &facts, GroupFacts &group) {
  for (AxisId id : group.classes) {
    auto deep = [&](const Demand &demand) { return llvm::is_contained(facts.freeAxes(demand), id) && facts.depth(demand, id) > 0; };
    bool again = false;
    for (Effect *effect : group.effects)
      forEachLeaf(effect, [&](Effect *write) { again |= llvm::any_of(write->roots, deep); });
    for (const Demand &demand : group.demands.order)
      if (Operation *op = demand.first.getDefiningOp(); op && (isReduction(op) || facts.isRunning(demand)))
        again |= llvm::any_of(facts.children(demand), deep);
    if (again) group.revisited.insert(id);
  }
}

// The extent along which some write has an element of its own for each member of each group.
static std::optional<kir::ExtentAttr> boundOfMembers(Facts &facts, ArrayRef<Effect *> effects, AxisId groups, AxisId members) {
  std::optional<kir::ExtentAttr> bound;
  for (Effect *effect : effects)
    forEachLeaf(effect, [&](Effect *leaf) {
      auto write = dyn_cast<kir::WriteOp>(leaf->op);
      if (!write || !leaf->conditions.empty()) return;
      SmallVector<kir::ExtentAttr> along;
      bool apart = true;
      for (auto [at, extent] : llvm::zip_equal(facts.effectCoordinates(write), kir::shapeOf(write.getView().getType()))) {
        AxisSet free = facts.freeAxes(at);
        if (!llvm::is_contained(free, groups) && !llvm::is_contained(free, members)) continue;
        along.push_back(extent);
        apart &= write.getUnique() || facts.index.coefficientOf(at, members).value_or(0) != 0; // a table might name one element twice
      }
      if (along.size() == 1 && apart && facts.isLaunchVisible(along[0])) bound = along[0];
    });
  return bound;
}

static void findRagged(Facts &facts, GroupFacts &group, const llvm::SetVector<AxisId> &combined) {
  for (AxisId id : group.classes) {
    const kir::ExtentAttr extent = facts.axis(id).extent;
    if (facts.isLaunchVisible(extent) || combined.contains(id) || group.isUniform(id) || group.ordered.contains(id)) continue;
    AxisSet over = facts.freeAxes(facts.index.extent(extent));
    if (over.size() != 1 || !llvm::is_contained(group.program, over[0]) || !isFreeIn(facts, group.effects, id)) continue;
    if (std::optional<kir::ExtentAttr> bound = boundOfMembers(facts, group.effects, over[0], id))
      group.ragged = RaggedAxis{over[0], id, *bound};
  }
}

// Carries and effects that are read at other members of their axes than their own: an instance needs those axes whole.
static void findMoved(Facts &facts, GroupFacts &group, llvm::SetVector<AxisId> &combined) {
  for (const Demand &demand : group.demands.order) {
    ArrayRef<AxisId> own;
    Operation *op = demand.first.getDefiningOp();
    if (auto argument = dyn_cast<BlockArgument>(demand.first)) {
      if (auto carry = Carries::of(argument)) own = facts.carryAxes(carry->first, carry->second);
    } else if (Carries::has(op)) {
      if (std::optional<unsigned> i = Carries(op).numberOf(demand.first)) own = facts.carryAxes(op, *i);
    } else if (isLeafEffect(op)) own = facts.axesOf(op);
    for (auto [id, at] : llvm::zip(own, demand.second))
      if (at != facts.position(id)) {
        combined.insert(facts.find(id));
        if (isa<BlockArgument>(demand.first)) group.complete.insert(facts.find(id)); // inside the loop they are all there
      }
  }
}

// A scan that is read elsewhere is walked once by one instance, not again for each tile of the axis that reads it.
static void keepScansWhole(Facts &facts, GroupFacts &group) {
  for (const Demand &demand : group.demands.order) {
    if (!facts.isRunning(demand) || facts.isInStep(demand)) continue;
    Demand own = facts.whereScanned(demand);
    llvm::erase_if(group.program, [&](AxisId id) {
      return llvm::is_contained(facts.freeAxes(demand), id) && !llvm::is_contained(facts.freeAxes(own), id);
    });
  }
}

// A fold that contracts is not done again for each tile of an axis that only its summary has.
static void keepCarriesWhole(Facts &facts, GroupFacts &group) {
  for (const Demand &demand : group.demands.order) {
    Operation *op = demand.first.getDefiningOp();
    if (!op || !isa<kir::RegionFoldOp, kir::RegionScanOp>(op)) continue;
    AxisId folded = facts.passClass(op);
    for (unsigned i = 0; i < Carries(op).size(); ++i)
      for (AxisId carry : facts.carryAxes(op, i)) {
        AxisId id = facts.find(carry);
        bool replayed = llvm::any_of(group.demands.order, [&](const Demand &inner) {
          return isa_and_nonnull<kir::ContractOp>(inner.first.getDefiningOp()) && llvm::is_contained(facts.freeAxes(inner), folded) &&
                 !llvm::is_contained(facts.freeAxes(inner), id) && !llvm::is_contained(facts.axesOf(inner.first.getDefiningOp()), id);
        });
        if (!replayed || !llvm::is_contained(group.program, id)) continue;
        llvm::erase(group.program, id);
        group.complete.insert(id);
      }
  }
  // Something of a loop is read where a carry's axis is not walked: all carries are there at once.
  for (const Demand &demand : group.demands.order) {
    Operation *op = demand.first.getDefiningOp();
    if (!op || !Carries::has(op) || isEffect(op)) continue;
    for (unsigned i = 0; i < Carries(op).size(); ++i)
      for (AxisId carry : facts.carryAxes(op, i))
        if (AxisId id = facts.find(carry); !llvm::is_contained(facts.freeAxes(demand), id)) group.complete.insert(id);
  }
  // A short axis that a walk contracts again for each chunk stands in lanes.
  static constexpr int64_t shortExtent = 256;
  for (const Demand &demand : group.demands.order)
    if (auto contract = demand.first.getDefiningOp<kir::ContractOp>())
      for (AxisId axis : facts.axesOf(contract)) {
        std::optional<int64_t> extent = facts.axis(axis).extent.getConstant();
        bool walked = llvm::any_of(facts.freeAxes(demand), [&](AxisId id) { return facts.axis(id).kind == Axis::Chunk; });
        if (extent && *extent <= shortExtent && !isPointExtent(facts, axis) && walked) group.complete.insert(facts.find(axis));
      }
}

GroupFacts factsOf(Facts &facts, ArrayRef<Effect *> effects) {
  GroupFacts group;
  group.effects.assign(effects.begin(), effects.end());
  auto addClass = [&](AxisId id) {
    if (!facts.isPass(id)) group.classes.insert(facts.find(id));
  };
  auto walks = [&](AxisId id) { // one position or chunk at a time
    addClass(id);
    if (facts.isPass(id)) return;
    addLengths(facts, group, id);
    (facts.axis(id).kind == Axis::Ordered ? group.ordered : group.running).insert(facts.find(id));
  };
  std::function<void(Effect *)> visit = [&](Effect *effect) {
    for (AxisId id : effect->parallel)
      addClass(id);
    if (effect->isLeaf()) {
      for (AxisId id : facts.axesOf(effect->op)) {
        addClass(id);
        addLengths(facts, group, id);
      }
      for (AxisId id : facts.privateAxes(viewOf(effect->op)))
        addClass(id);
      for (Region &combine : effect->op->getRegions()) // which sees one value of what it captures
        forEachCaptured(combine, [&](Value scalar) {
          for (AxisId id : facts.freeAxes({scalar, {}}))
            group.uniform.insert(id);
        });
      return;
    }
    walks(facts.axesOf(effect->op)[0]);
    for (unsigned i = 0; i < Carries(effect->op).size(); ++i)
      for (AxisId id : facts.carryAxes(effect->op, i)) {
        addClass(id);
        group.complete.insert(facts.find(id));
      }
    for (Effect *child : effect->children)
      visit(child);
  };
  for (Effect *effect : effects) {
    visit(effect);
    for (const Demand &demand : facts.demandsOf(effect).order)
      group.demands.insert(demand);
  }
  auto captured = [&](Region &combine, ValueRange captures, const Demand &demand) { // a combine sees one value of them
    llvm::SetVector<Value> all(captures.begin(), captures.end());
    forEachCaptured(combine, [&](Value scalar) { all.insert(scalar); });
    if (all.empty()) return;
    for (const Demand &child : facts.children(demand))
      if (all.contains(child.first))
        for (AxisId id : facts.freeAxes(child))
          group.uniform.insert(id);
  };
  AxisSet oneByOne;
  for (const Demand &demand : group.demands.order) {
    for (AxisId id : facts.freeAxes(demand))
      addClass(id);
    Operation *op = demand.first.getDefiningOp();
    if (!op || isEffect(op)) continue;
    if (isReduction(op))
      for (AxisId id : facts.axesOf(op)) {
        addClass(id);
        addLengths(facts, group, id);
        group.reduced.insert(facts.find(id));
        auto contract = dyn_cast<kir::ContractOp>(op);
        if (!contract) continue;
        group.contracted.insert(facts.find(id));
        Type element = kir::elementType(contract.getLhs().getType());
        if (!element.isIndex() && element.getIntOrFloatBitWidth() == 8) group.bytes.insert(facts.find(id));
      }
    auto combines = [&](Region &combine, ValueRange captures) {
      captured(combine, captures, demand);
      if (!holdsLoops(combine)) return;
      for (AxisId id : facts.axesOf(op))
        merge(oneByOne, facts.find(id));
    };
    if (auto reduce = dyn_cast<kir::ReduceOp>(op)) combines(reduce.getCombine(), reduce.getCaptures());
    if (auto scan = dyn_cast<kir::ScanOp>(op)) {
      walks(facts.axesOf(op)[0]);
      combines(scan.getCombine(), scan.getCaptures());
    }
    if (!Carries::has(op)) continue;
    walks(facts.axesOf(op)[0]);
    for (AxisId id : facts.axesOf(op).drop_front()) // positions in a slice
      addClass(id);
    // A reduction or scan over a carry's axis inside its loop needs all members at once.
    for (unsigned i = 0; i < Carries(op).size(); ++i)
      for (AxisId carry : facts.carryAxes(op, i)) {
        addClass(carry);
        AxisId ordered = facts.passClass(op);
        for (const Demand &inner : group.demands.order)
          if (Operation *o = inner.first.getDefiningOp();
              o && (isReduction(o) || isa<kir::ScanOp>(o)) && llvm::is_contained(facts.freeAxes(inner), ordered) &&
              llvm::any_of(facts.axesOf(o), [&](AxisId a) { return facts.find(a) == facts.find(carry); }))
            group.complete.insert(facts.find(carry));
      }
  }
  llvm::SetVector<AxisId> combined(group.reduced);
  combined.insert(group.running.begin(), group.running.end());
  findMoved(facts, group, combined);
  group.program = programAxes(facts, effects, combined);
  for (Effect *effect : effects)
    for (const Access &access : facts.accessesOf(effect)) {
      if (access.coordinates.empty()) continue;
      llvm::SetVector<AxisId> last;
      forEachAxis(access.coordinates.back(), [&](AxisId id) { last.insert(facts.find(id)); });
      group.dense.insert(last.begin(), last.end());
      if (last.empty()) continue;
      for (const Index *outer : ArrayRef(access.coordinates).drop_back())
        forEachAxis(outer, [&](AxisId id) {
          if (AxisId c = facts.find(id); !last.contains(c)) group.rows.insert(c);
        });
    }
  keepCarriesWhole(facts, group);
  keepScansWhole(facts, group);
  for (AxisId id : group.program)
    group.complete.remove(id);
  for (AxisId id : oneByOne)
    if (!group.complete.contains(id)) group.uniform.insert(id);
  findContractionLanes(facts, group);
  findRevisited(facts, group);
  findRagged(facts, group, combined);
  return group;
}

// Fragment axes in one order that contractions like (m < k < n), then accesses, then the program.
SmallVector<AxisId> fragmentOrder(Facts &facts, const GroupFacts &group) {
  std::map<AxisId, std::set<AxisId>> before; // before[b] holds every a < b
  auto add = [&](AxisId a, AxisId b) {
    if (a == b || before[a].count(b)) return;
    std::set<AxisId> left = before[a];
    left.insert(a);
    for (AxisId id : group.classes)
      if (id == b || before[id].count(b)) before[id].insert(left.begin(), left.end());
  };
  for (const Demand &demand : group.demands.order)
    if (auto contract = demand.first.getDefiningOp<kir::ContractOp>()) {
      auto [lhs, rhs] = facts.contractCoordinates(contract, demand.second);
      AxisSet left = facts.freeAxes({contract.getLhs(), lhs}), right = facts.freeAxes({contract.getRhs(), rhs});
      // Rows are what the program walks, whichever operand has them.
      auto programOnly = [&](const AxisSet &mine, const AxisSet &other) {
        return llvm::any_of(mine, [&](AxisId id) { return llvm::is_contained(group.program, id) && !llvm::is_contained(other, id); });
      };
      if (programOnly(right, left) && !programOnly(left, right)) std::swap(left, right);
      for (AxisId k : facts.axesOf(contract)) {
        AxisId reduced = facts.find(k);
        for (AxisId id : left)
          if (id != reduced) add(id, reduced);
        for (AxisId id : right)
          if (id != reduced && !llvm::is_contained(left, id)) add(reduced, id);
      }
    }
  for (Effect *effect : group.effects)
    for (const Access &access : facts.accessesOf(effect)) {
      SmallVector<AxisId> along;
      for (const Index *c : access.coordinates)
        forEachAxis(c, [&](AxisId id) { along.push_back(id); });
      for (size_t i = 1; i < along.size(); ++i)
        add(along[i - 1], along[i]);
    }
  SmallVector<AxisId> order(group.classes.begin(), group.classes.end());
  if (group.split) order.insert(order.begin(), facts.slotAxis());
  llvm::stable_sort(order, [&](AxisId a, AxisId b) { return before[a].size() < before[b].size(); });
  return order;
}

} // namespace intent::conversion
