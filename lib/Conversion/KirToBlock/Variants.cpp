// Variants: which covers a kernel gets in which launches, by typed guards on launch-visible extents.
#include "Assignment.h"

#include "Groups.h"
#include "Handover.h"
#include "Snapshots.h"

using namespace mlir;
using namespace intent::block;

namespace intent::conversion {

// A group that only one instance runs is legal while what it serialises fits.
ExprAttr Assignment::serialGuard(const GroupFacts &group) {
  int64_t limit = feature("serial_elements", INT64_MAX);
  if (!group.program.empty() || group.split || limit >= unboundedSerial) return {};
  // What it walks at a time: the axes of each effect, and those of each structured operation with what its operands vary over.
  std::vector<std::set<AxisId>> walks;
  auto walk = [&](ArrayRef<AxisId> axes, const AxisSet &more) {
    std::set<AxisId> own;
    for (ArrayRef<AxisId> part : {axes, ArrayRef<AxisId>(more)})
      for (AxisId id : part)
        if (AxisId c = facts.find(id); !facts.isPass(c) && facts.isLaunchVisible(facts.axis(c).extent)) own.insert(c);
    auto holds = [](const std::set<AxisId> &a, const std::set<AxisId> &b) { return std::includes(a.begin(), a.end(), b.begin(), b.end()); };
    if (llvm::any_of(walks, [&](auto &known) { return holds(known, own); })) return;
    llvm::erase_if(walks, [&](auto &known) { return holds(own, known); });
    walks.push_back(own);
  };
  for (Effect *effect : group.effects)
    forEachLeaf(effect, [&](Effect *leaf) {
      AxisSet around(leaf->parallel.begin(), leaf->parallel.end());
      for (Effect *loop = leaf->parent; loop; loop = loop->parent)
        llvm::append_range(around, facts.axesOf(loop->op));
      walk(facts.axesOf(leaf->op), around);
    });
  for (const Demand &demand : group.demands.order)
    if (Operation *op = demand.first.getDefiningOp(); op && (isReduction(op) || Carries::has(op) || isa<kir::ScanOp>(op))) {
      AxisSet pulled; // wherever the result is read, of a scan where it is done
      for (const Demand &child : facts.children(facts.isRunning(demand) ? facts.whereScanned(demand) : demand))
        llvm::append_range(pulled, facts.freeAxes(child));
      walk(facts.axesOf(op), pulled);
    }
  ExprAttr guard = ExprAttr::constant(context, 1);
  for (const std::set<AxisId> &walked : walks) {
    ExprAttr product = ExprAttr::constant(context, 1);
    for (AxisId id : walked)
      product = ExprAttr::apply(ExprKind::Mul, {product, facts.launchExpr(facts.axis(id).extent)});
    guard = ExprAttr::apply(ExprKind::And, {guard, ExprAttr::apply(ExprKind::Le, {product, ExprAttr::constant(context, limit)})});
  }
  return guard.getConstant() == 1 ? ExprAttr() : guard;
}

// What one instance finishes of what the others have handed over is bounded too.
ExprAttr Assignment::finishGuard(const GroupFacts &g) {
  ExprAttr guard = ExprAttr::constant(context, 1), limit = ExprAttr::constant(context, feature("finish_elements", unboundedSerial));
  llvm::SetVector<Attribute> bounded;
  auto bound = [&](ExprAttr elements) {
    if (!elements.getConstant() && bounded.insert(elements))
      guard = ExprAttr::apply(ExprKind::And, {guard, ExprAttr::apply(ExprKind::Le, {elements, limit})});
  };
  if (!g.split || limit.getConstant() >= unboundedSerial) return guard;
  for (const Demand &demand : g.demands.order) {
    if (!isPartial(facts, demand, *g.split)) continue;
    ExprAttr elements = ExprAttr::constant(context, 1);
    for (AxisId id : facts.freeAxes(demand))
      if (!llvm::is_contained(g.program, id))
        elements = ExprAttr::apply(ExprKind::Mul, {elements, facts.launchExpr(facts.axis(id).extent)});
    bound(elements);
  }
  for (Effect *effect : g.effects)
    forEachLeaf(effect, [&](Effect *leaf) { // what it performs alone
      SmallVector<AxisId> axes = facts.axesOf(leaf);
      if (llvm::is_contained(axes, *g.split)) return;
      ExprAttr elements = ExprAttr::constant(context, 1);
      for (AxisId id : axes)
        if (!llvm::is_contained(g.program, id) && facts.isLaunchVisible(facts.axis(id).extent))
          elements = ExprAttr::apply(ExprKind::Mul, {elements, facts.launchExpr(facts.axis(id).extent)});
      bound(elements);
    });
  for (const Started &started : startedViews(facts, g.effects, *g.split)) {
    ExprAttr elements = ExprAttr::constant(context, 1);
    for (kir::ExtentAttr extent : kir::shapeOf(started.view.getType()))
      elements = ExprAttr::apply(ExprKind::Mul, {elements, facts.launchExpr(extent)});
    bound(elements);
  }
  return guard;
}

// Every class with a resident cover fits, the group's other lanes aside; `needed`: of those that have no other cover, which a
// target without limits holds whatever they are.
ExprAttr Assignment::residentGuard(bool needed) {
  int64_t limit = feature("fragment_elements", 65536) / 2;
  ExprAttr guard = ExprAttr::constant(context, 1);
  if (needed && feature("fragment_limit", INT64_MAX) >= unboundedSerial) return guard;
  for (const GroupFacts &g : groups) {
    ExprAttr product;
    for (AxisId id : g.classes) {
      if (!isResident(g, id) || (needed && !g.complete.contains(id))) continue;
      ExprAttr extent = facts.launchExpr(facts.axis(id).extent);
      product = product ? ExprAttr::apply(ExprKind::Mul, {product, extent}) : extent;
    }
    if (product)
      guard = ExprAttr::apply(ExprKind::And, {guard, ExprAttr::apply(ExprKind::Le, {product, ExprAttr::constant(context, limit)})});
  }
  return guard;
}

// A few instances with long reductions, which the others of the device can share.
ExprAttr Assignment::splitGuard(ArrayRef<GroupFacts> wide, const Variant &variant) {
  static constexpr int64_t fewTiles = 64, typicalLanes = 128, longReduction = 4096, muchWork = 1 << 20;
  ExprAttr guard = ExprAttr::constant(context, 1);
  auto number = [&](int64_t value) { return ExprAttr::constant(context, value); };
  auto require = [&](ExprAttr less, ExprAttr more) {
    guard = ExprAttr::apply(ExprKind::And, {guard, ExprAttr::apply(ExprKind::Le, {less, more})});
  };
  for (auto [g, group] : llvm::zip_equal(wide, variant.groups)) {
    if (!g.split || g.program.empty()) continue;
    ExprAttr tiles = number(1), length = facts.launchExpr(facts.axis(*g.split).extent), work = length;
    for (AxisId id : g.program) {
      const std::string &name = group.covers.at(id).parameter;
      auto lanes = llvm::find_if(variant.parameters, [&](ParameterAttr p) { return p.getSymbol() == name; });
      bool rows = lanes == variant.parameters.end() || lanes->getDomain()[0] == 1; // of which an instance has few
      ExprAttr extent = facts.launchExpr(facts.axis(id).extent);
      work = ExprAttr::apply(ExprKind::Mul, {work, extent});
      if (!rows) extent = ExprAttr::apply(ExprKind::CeilDiv, {extent, number(typicalLanes)});
      tiles = ExprAttr::apply(ExprKind::Mul, {tiles, extent});
    }
    require(tiles, number(fewTiles));
    require(number(longReduction), length);
    require(number(muchWork), work);
    guard = ExprAttr::apply(ExprKind::And, {guard, finishGuard(g)});
  }
  return guard;
}

Variant Assignment::makeVariant(StringRef name, ArrayRef<GroupFacts> groups, bool resident) {
  Variant variant;
  variant.name = name.str();
  for (const GroupFacts &g : groups)
    variant.groups.push_back(makeGroup(g, resident, variant));
  return variant;
}

// Effects that share no instances and have no order to keep may have instances apart.
std::vector<GroupFacts> Assignment::findGroups() {
  std::vector<GroupFacts> found;
  for (SmallVector<Effect *> &effects : formGroups(facts, facts.roots))
    placeTogether(effects, found);
  return found;
}

void Assignment::placeTogether(ArrayRef<Effect *> effects, std::vector<GroupFacts> &found) {
  GroupFacts whole = factsOf(facts, effects);
  bool edges = false;
  for (Effect *a : effects)
    for (Effect *b : effects)
      edges |= a != b && (dependsOn(facts, a, b) || haveEdge(facts, facts.accessesOf(a), facts.accessesOf(b)));
  if (serialGuard(whole)) whole.split = splitAxis(facts, whole);
  if (!whole.program.empty() || effects.size() == 1 || edges) return found.push_back(std::move(whole));
  if (whole.split) { // the last instance would do alone what has more elements than the parts that it combines
    SmallVector<Effect *> shared, apart;
    for (Effect *effect : effects) {
      SmallVector<AxisId> axes = facts.axesOf(effect);
      auto isOfPart = [&](AxisId id) {
        return llvm::any_of(facts.demandsOf(effect).order, [&](const Demand &demand) {
          return isPartial(facts, demand, *whole.split) && llvm::is_contained(facts.freeAxes(demand), id);
        });
      };
      bool alone = !llvm::is_contained(axes, *whole.split) && !llvm::all_of(axes, isOfPart) && !factsOf(facts, effect).program.empty();
      (alone ? apart : shared).push_back(effect);
    }
    if (shared.empty() || apart.empty()) return found.push_back(std::move(whole));
    for (ArrayRef<Effect *> part : {ArrayRef(shared), ArrayRef(apart)})
      for (SmallVector<Effect *> &sharing : formGroups(facts, part))
        placeTogether(sharing, found);
    return;
  }
  SmallVector<Effect *> rest; // one instance each: what these share is done once
  for (Effect *effect : effects) {
    GroupFacts own = factsOf(facts, effect);
    if (serialGuard(own)) own.split = splitAxis(facts, own);
    if (own.program.empty() && !own.split) rest.push_back(effect);
    else found.push_back(std::move(own));
  }
  for (SmallVector<Effect *> &sharing : formGroups(facts, rest))
    found.push_back(factsOf(facts, sharing));
}

// What many instances reduce is split over more of them where they are few.
bool Assignment::splitWide(std::vector<GroupFacts> &wide) {
  bool any = false;
  for (GroupFacts &g : wide) {
    if (g.program.empty() || g.split || feature("serial_elements", INT64_MAX) >= unboundedSerial) continue;
    g.split = splitAxis(facts, g);
    any |= g.split.has_value();
  }
  return any;
}

// Where lanes are threads, a few groups of many members are walked in tiles; null if there are none.
ExprAttr Assignment::tileRagged(std::vector<GroupFacts> &ragged) {
  static constexpr int64_t fewGroups = 1024;
  ExprAttr guard;
  for (GroupFacts &g : ragged) {
    if (!g.ragged || feature("warp_size", 1) == 1) continue;
    llvm::replace(g.program, g.ragged->groups, g.ragged->members);
    ExprAttr groups = facts.launchExpr(facts.axis(g.ragged->groups).extent);
    ExprAttr few = ExprAttr::apply(ExprKind::Le, {groups, ExprAttr::constant(context, fewGroups)});
    guard = guard ? ExprAttr::apply(ExprKind::And, {guard, few}) : few;
  }
  return guard;
}

std::vector<Variant> Assignment::chooseVariants() {
  bool mustBeComplete = llvm::any_of(groups, [](const GroupFacts &g) { return !g.complete.empty(); });
  bool anyResident = false, anyChoice = false; // held at once, and of these what might be walked in chunks instead
  for (const GroupFacts &g : groups)
    for (AxisId id : g.classes) {
      anyResident |= isResident(g, id);
      anyChoice |= isResident(g, id) && !g.complete.contains(id);
    }
  if (mustBeComplete && !anyResident) return {};
  ExprAttr always = ExprAttr::constant(context, 1), holds = residentGuard(/*needed=*/true), serial = always, rest = always;
  ExprAttr fits = anyChoice ? residentGuard(/*needed=*/false) : holds;
  for (const GroupFacts &g : groups) {
    ExprAttr alone = serialGuard(g);
    serial = ExprAttr::apply(ExprKind::And, {serial, alone ? alone : finishGuard(g)});
  }
  std::vector<Variant> variants;
  auto guarded = [&](Variant variant, ExprAttr guard) {
    guard = ExprAttr::apply(ExprKind::And, {serial, guard});
    if (guard.getConstant() == 0) return;
    if (!guard.getConstant()) variant.guard = guard;
    variants.push_back(std::move(variant));
  };
  auto addFirst = [&](Variant variant, ExprAttr guard) {
    if (anyResident) guard = ExprAttr::apply(ExprKind::And, {guard, fits});
    rest = ExprAttr::apply(ExprKind::Not, {guard});
    guarded(std::move(variant), guard);
  };
  if (std::vector<GroupFacts> wide(groups); splitWide(wide)) {
    Variant variant = makeVariant("split", wide, anyResident);
    addFirst(variant, splitGuard(wide, variant));
  } else if (ExprAttr few = tileRagged(wide)) addFirst(makeVariant("ragged", wide, anyResident), few);
  if (anyResident) guarded(makeVariant("resident", groups, true), ExprAttr::apply(ExprKind::And, {fits, rest}));
  if (!anyResident) guarded(makeVariant("tiled", groups, false), rest);
  else if (anyChoice && fits.getConstant() != 1)
    guarded(makeVariant("chunked", groups, false), ExprAttr::apply(ExprKind::And, {holds, ExprAttr::apply(ExprKind::Not, {fits})}));
  return variants;
}

// What no variant can do: an effect that one instance would have to walk alone, or an operation on what it would have to hold.
Operation *Assignment::unfitting() {
  for (const GroupFacts &g : groups) {
    if (ExprAttr guard = serialGuard(g); guard && guard.getConstant() == 0) return g.effects.front()->op;
    for (const Demand &demand : g.demands.order) {
      Operation *op = demand.first.getDefiningOp();
      if (op && llvm::any_of(facts.axesOf(op), [&](AxisId id) { return g.complete.contains(facts.find(id)); })) return op;
    }
  }
  return facts.kernel;
}

// No variant will do. Loops may carry tensors that no instance can hold: buffers carry these, where there can be some.
LogicalResult Assignment::refuse() {
  llvm::SetVector<Operation *> loops;
  for (const GroupFacts &g : groups)
    facts.kernel.walk([&](Operation *loop) {
      if (!Carries::has(loop)) return;
      for (unsigned i = 0; i < Carries(loop).size(); ++i)
        for (AxisId id : facts.carryAxes(loop, i))
          if (AxisId c = facts.find(id); g.complete.contains(c)) loops.insert(loop);
    });
  for (Operation *loop : loops)
    if (canCarry(facts, loop)) facts.unheld.insert(loop);
  if (!facts.unheld.empty()) return failure();
  Operation *at = loops.empty() ? unfitting() : loops.front();
  InFlightDiagnostic error = at->emitError("shared gpu: no variant of this program fits the target's fragment and serial limits");
  for (Operation *loop : loops)
    error.attachNote(loop->getLoc()) << "an instance would have to hold what this carries whole, or to keep it in memory; neither the "
                                        "launch nor an access of a view bounds its extent";
  return error;
}

FailureOr<std::vector<Variant>> Assignment::run() {
  for (AxisId id = 0, e = facts.axisCount(); id < e; ++id)
    for (StringAttr atom : facts.axis(id).extent.getAtoms())
      used.insert(atom.getValue());
  groups = findGroups();
  if (failed(readForced())) return failure();
  if (forced.empty()) {
    std::vector<Variant> variants = chooseVariants();
    if (variants.empty()) return refuse();
    return variants;
  }
  Variant variant = makeVariant("forced", groups, llvm::any_of(groups, [](const GroupFacts &g) { return !g.complete.empty(); }));
  ExprAttr serial = ExprAttr::constant(context, 1);
  for (auto [g, group] : llvm::zip_equal(groups, variant.groups)) {
    if (failed(applyForced(g, group, variant))) return failure();
    if (ExprAttr guard = serialGuard(g)) serial = ExprAttr::apply(ExprKind::And, {serial, guard});
  }
  if (!serial.getConstant()) variant.guard = serial;
  return std::vector<Variant>{std::move(variant)};
}

FailureOr<std::vector<Variant>> assignCovers(Facts &facts, TargetAttr target, const KirToBlockOptions &options) {
  return Assignment(facts, target, options).run();
}

} // namespace intent::conversion
