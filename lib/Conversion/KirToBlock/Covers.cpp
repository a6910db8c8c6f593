// One assignment of covers per variant: which classes are program tiles, lanes, chunks or points, and what sizes them.
#include "Covers.h"

#include "GroupFacts.h"
#include "Groups.h"
#include "Handover.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace intent::block;

using intent::kir::ExtentAttr;
using intent::kir::ForOp;
using intent::kir::ReadOp;

namespace intent::conversion {

static int64_t feature(TargetAttr target, StringRef name, int64_t otherwise) {
  auto value = target ? dyn_cast_or_null<IntegerAttr>(target.getFeatures().get(name)) : IntegerAttr();
  return value ? value.getInt() : otherwise;
}

namespace {
/// Assigns the covers of one kernel.
class Assignment {
public:
  Assignment(Facts &facts, TargetAttr target, const KirToBlockOptions &options)
      : facts(facts), target(target), options(options), context(facts.kernel.getContext()) {}
  FailureOr<std::vector<Variant>> run();

private:
  Variant makeVariant(StringRef name, bool resident);
  Group makeGroup(const GroupFacts &g, bool resident, Variant &variant);
  void coverProgram(const GroupFacts &g, Group &group, Variant &variant);
  void coverInner(const GroupFacts &g, Group &group, bool resident, Variant &variant);
  void giveLanes(Cover &cover, AxisId id, StringRef column, Role role, int64_t low, int64_t high, Variant &variant);
  void giveCoverage(const GroupFacts &g, Cover &cover, AxisId id, Variant &variant);
  void giveSegment(Cover &cover, AxisId folded, Variant &variant);
  bool isSliced(const GroupFacts &g, AxisId id);
  bool isResident(const GroupFacts &g, AxisId id);
  void shareOut(AxisId id, Group &group, Variant &variant);
  std::string parameterName(StringRef prefix, StringRef column, AxisId id);
  void declare(Variant &variant, ParameterAttr parameter);
  LogicalResult readForced();
  LogicalResult applyForced(const GroupFacts &g, Group &group, Variant &variant);
  ExprAttr serialGuard(const GroupFacts &group);
  ExprAttr residentGuard();

  Facts &facts;
  TargetAttr target;
  const KirToBlockOptions &options;
  MLIRContext *context;
  std::vector<GroupFacts> groups;
  std::map<std::pair<std::string, AxisId>, std::string> names;
  llvm::StringSet<> used;
  llvm::StringMap<SmallVector<StringRef>> forced; // by extent name: the levels that the options ask for
};
} // namespace

//===- parameters --------------------------------------------------------------------------------------===//

std::string Assignment::parameterName(StringRef prefix, StringRef column, AxisId id) {
  auto [it, fresh] = names.try_emplace({(prefix + column).str(), id});
  if (!fresh) return it->second;
  SmallVector<StringAttr> atoms = facts.axis(id).extent.getAtoms();
  std::string stem =
      atoms.size() == 1 && llvm::all_of(atoms[0].getValue(), [](char c) { return llvm::isAlnum(c) || c == '_'; }) ? atoms[0].str() : "X";
  std::string name = (prefix + stem).str();
  for (unsigned i = 2; !used.insert(name).second; ++i)
    name = (prefix + stem + std::to_string(i)).str();
  return it->second = name;
}

void Assignment::declare(Variant &variant, ParameterAttr parameter) {
  if (!llvm::is_contained(variant.parameters, parameter)) variant.parameters.push_back(parameter);
}

void Assignment::giveLanes(Cover &cover, AxisId id, StringRef column, Role role, int64_t low, int64_t high, Variant &variant) {
  if (std::optional<int64_t> extent = facts.axis(id).extent.getConstant())
    high = std::max<int64_t>(low, std::min<int64_t>(high, llvm::PowerOf2Ceil(std::max<int64_t>(1, *extent))));
  // Groups that size one axis differently have a parameter each.
  std::string use = (column + (cover.program ? " grid " : " loop ") + Twine(low) + " " + Twine(high)).str();
  cover.parameter = parameterName("B", use, id);
  cover.lanes = ExprAttr::parameter(context, cover.parameter);
  SmallVector<int64_t> domain;
  for (int64_t v = low; v <= high; v *= 2)
    domain.push_back(v);
  Builder b(context);
  SmallVector<StringRef> affects{"extent", cover.program ? "grid" : "loop"};
  declare(variant, ParameterAttr::get(context, b.getStringAttr(cover.parameter), role, ParameterKind::Int, domain, b.getStringAttr(column),
                                      ExprAttr(), b.getStrArrayAttr(affects), StringAttr()));
}

// All members at once: a constant, or a coverage parameter that the launch binds. Matrix units take no fewer than 16.
void Assignment::giveCoverage(const GroupFacts &g, Cover &cover, AxisId id, Variant &variant) {
  int64_t least = g.contracted.empty() ? 1 : 16;
  if (std::optional<int64_t> extent = facts.axis(id).extent.getConstant()) {
    cover.lanes = ExprAttr::constant(context, llvm::PowerOf2Ceil(std::max<int64_t>(least, *extent)));
    return;
  }
  cover.parameter = parameterName("C", "", id);
  cover.lanes = ExprAttr::parameter(context, cover.parameter);
  ExprAttr lanes = ExprAttr::apply(ExprKind::Pow2Ceil, {launchExpr(facts.axis(id).extent)});
  if (least > 1) lanes = ExprAttr::apply(ExprKind::Max, {lanes, ExprAttr::constant(context, least)});
  Builder b(context);
  declare(variant, ParameterAttr::get(context, b.getStringAttr(cover.parameter), Role::Coverage, ParameterKind::Int, ArrayRef<int64_t>{},
                                      StringAttr(), lanes, b.getStrArrayAttr({"extent"}), StringAttr()));
}

// The chunk of a folded axis; positions in its slices are as many lanes.
void Assignment::giveSegment(Cover &cover, AxisId folded, Variant &variant) {
  giveLanes(cover, folded, "scan", Role::Scan, 16, 128, variant);
}

bool Assignment::isSliced(const GroupFacts &g, AxisId id) {
  return g.running.contains(id) && llvm::any_of(facts.members(id), [&](AxisId member) { return facts.axis(member).kind == Axis::Folded; });
}

// Instances take turns at the chunks of a split class.
void Assignment::shareOut(AxisId id, Group &group, Variant &variant) {
  group.split = id;
  group.programAxes.push_back(id);
  group.covers[id].program = true;
  std::string name = parameterName("WORKERS_", "traversal_workers", id);
  group.workers = ExprAttr::parameter(context, name);
  Builder b(context);
  SmallVector<int64_t> domain{1, 2, 4, 8, 16, 32, 64, 96, 108, 128, 132, 144, 160, 192, 256, 264, 304, 384, 528, 608, 768, 1056};
  declare(variant, ParameterAttr::get(context, b.getStringAttr(name), Role::Workers, ParameterKind::Int, domain,
                                      b.getStringAttr("traversal_workers"), ExprAttr(), b.getStrArrayAttr({"grid", "loop"}), StringAttr()));
}

// Classes that a resident variant holds at once: what several traversals walk, and what a loop's body needs whole.
bool Assignment::isResident(const GroupFacts &g, AxisId id) {
  if (g.split == id || llvm::is_contained(g.program, id) || g.ordered.contains(id) || g.uniform.contains(id) || isSliced(g, id) ||
      facts.sliceOwner(id))
    return false;
  if (!facts.isLaunchVisible(facts.axis(id).extent)) return false;
  if (g.complete.contains(id)) return true;
  return g.revisited.contains(id) && !g.contracted.contains(id) && !isPointExtent(facts, id);
}

//===- covers ------------------------------------------------------------------------------------------===//

void Assignment::coverProgram(const GroupFacts &g, Group &group, Variant &variant) {
  auto mayHaveLanes = [&](AxisId id) { return !g.uniform.contains(id) && !isPointExtent(facts, id); };
  // Beside lanes that the instance walks a program axis counts rows.
  auto inner = llvm::make_filter_range(g.classes, [&](AxisId id) {
    return mayHaveLanes(id) && !llvm::is_contained(g.program, id) && !g.ordered.contains(id) && !facts.sliceOwner(id);
  });
  bool innerLanes = !inner.empty();
  for (AxisId id : g.program)
    group.covers[id].program = true;
  if (g.lhsFree != ~0u) {
    bool onlyRight = !llvm::is_contained(g.program, g.lhsFree);
    for (auto [id, column] : {std::pair(g.lhsFree, "ownership_m"), std::pair(g.rhsFree, onlyRight ? "ownership_m" : "ownership_n")})
      if (llvm::is_contained(g.program, id)) giveLanes(group.covers[id], id, column, Role::Ownership, 16, 256, variant);
    size_t n = g.program.size();
    if (n >= 2 && g.program[n - 2] == g.lhsFree && g.program[n - 1] == g.rhsFree) {
      Builder b(context);
      group.swizzle = "GROUP_M";
      declare(variant, ParameterAttr::get(context, b.getStringAttr("GROUP_M"), Role::Group, ParameterKind::Int,
                                          ArrayRef<int64_t>{1, 2, 4, 8, 16, 32}, b.getStringAttr("traversal_group"), ExprAttr(),
                                          b.getStrArrayAttr({"grid"}), StringAttr()));
    }
    return;
  }
  SmallVector<AxisId> candidates; // inner to outer
  for (AxisId id : llvm::reverse(g.program))
    if (mayHaveLanes(id)) candidates.push_back(id);
  if (candidates.empty()) return;
  // The axis that walks memory densely is the inner one, wherever it stands in the program.
  auto *dense = llvm::find_if(candidates, [&](AxisId id) { return g.dense.contains(id); });
  if (dense != candidates.end()) std::rotate(candidates.begin(), dense, dense + 1);
  if (innerLanes) {
    bool columns = dense != candidates.end() && llvm::none_of(inner, [&](AxisId id) { return g.dense.contains(id); });
    if (columns) giveLanes(group.covers[candidates[0]], candidates[0], "ownership_n", Role::Ownership, 16, 4096, variant);
    else giveLanes(group.covers[candidates[0]], candidates[0], "ownership_m", Role::Ownership, 1, 64, variant);
    return;
  }
  giveLanes(group.covers[candidates[0]], candidates[0], "ownership_n", Role::Ownership, 16, 65536, variant);
  if (candidates.size() > 1) giveLanes(group.covers[candidates[1]], candidates[1], "ownership_m", Role::Ownership, 1, 256, variant);
}

void Assignment::coverInner(const GroupFacts &g, Group &group, bool resident, Variant &variant) {
  // Of the axes that one reduce or one store walks together only the innermost gets lanes.
  llvm::SetVector<AxisId> outerAxes;
  auto keepInnermost = [&](ArrayRef<AxisId> own) {
    AxisId inner = ~0u;
    for (AxisId id : own)
      if (!isPointExtent(facts, facts.find(id)) && !g.uniform.contains(facts.find(id)) &&
          (inner == ~0u || g.dense.contains(facts.find(id))))
        inner = facts.find(id);
    for (AxisId id : own)
      if (facts.find(id) != inner) outerAxes.insert(facts.find(id));
  };
  for (const Demand &demand : g.demands.order)
    if (Operation *op = demand.first.getDefiningOp(); op && isReduction(op)) keepInnermost(facts.axesOf(op));
  for (Effect *effect : g.effects)
    forEachLeaf(effect, [&](Effect *write) {
      SmallVector<AxisId> free;
      for (ArrayRef<AxisId> own : {ArrayRef<AxisId>(write->parallel), facts.axesOf(write->op)})
        for (AxisId id : own)
          if (AxisId c = facts.find(id); !llvm::is_contained(g.program, c) && !g.reduced.contains(c) && c != g.lhsFree && c != g.rhsFree)
            free.push_back(c);
      keepInnermost(free);
    });
  auto walksPoints = [&](AxisId id) {
    if (g.running.contains(id)) return g.uniform.contains(id);
    return g.ordered.contains(id) || g.uniform.contains(id) || (isPointExtent(facts, id) && !g.complete.contains(id)) ||
           (outerAxes.contains(id) && !g.complete.contains(id));
  };
  // Beside lanes that walk memory densely a chunk of another axis counts rows, not elements.
  auto besideDense = [&](AxisId id) {
    return !g.dense.contains(id) && llvm::any_of(g.classes, [&](AxisId other) {
      if (other == id || !g.dense.contains(other)) return false;
      return llvm::is_contained(g.program, other) ? static_cast<bool>(group.covers[other].lanes) : !walksPoints(other);
    });
  };
  for (AxisId id : g.classes) {
    Cover &cover = group.covers[id];
    if (cover.program) continue;
    if (g.split == id) shareOut(id, group, variant);
    if (Operation *owner = facts.sliceOwner(id)) { // as many lanes as the chunk that the slice is of
      giveSegment(cover, facts.find(facts.axesOf(owner)[0]), variant);
      cover.slice = true;
      continue;
    }
    if (isSliced(g, id)) {
      cover.loop = true;
      giveSegment(cover, id, variant);
      continue;
    }
    if (walksPoints(id)) {
      cover.loop = true;
      continue;
    }
    if (resident && isResident(g, id)) {
      giveCoverage(g, cover, id, variant);
      continue;
    }
    cover.loop = true;
    if (g.running.contains(id)) giveLanes(cover, id, "scan", Role::Scan, 1, 4096, variant);
    else if (g.contracted.contains(id)) giveLanes(cover, id, "reduction", Role::Reduction, 16, 256, variant);
    else if (id == g.rhsFree || id == g.lhsFree)
      giveLanes(cover, id, id == g.rhsFree ? "ownership_n" : "ownership_m", Role::Ownership, 16, 256, variant);
    else if (besideDense(id)) giveLanes(cover, id, "reduction_outer", Role::Reduction, 1, 64, variant);
    else giveLanes(cover, id, "reduction", Role::Reduction, 16, 65536, variant);
  }
}

Group Assignment::makeGroup(const GroupFacts &g, bool resident, Variant &variant) {
  Group group;
  group.effects = g.effects;
  group.programAxes = g.program;
  group.order = fragmentOrder(facts, g);
  coverProgram(g, group, variant);
  coverInner(g, group, resident, variant);
  return group;
}

//===- forced covers -----------------------------------------------------------------------------------===//

// "N=loop,lanes;M=program"
LogicalResult Assignment::readForced() {
  SmallVector<StringRef> items;
  StringRef(options.cover).split(items, ';', -1, /*KeepEmpty=*/false);
  for (StringRef item : items) {
    auto [name, levels] = item.split('=');
    static const StringRef legal[] = {"program", "program,lanes", "loop,lanes", "point", "lanes"};
    if (!llvm::is_contained(legal, levels))
      return facts.kernel.emitError("configuration: cover of '")
             << name << "' is '" << levels << "', expected program, 'program,lanes', 'loop,lanes', point or lanes";
    if (llvm::none_of(groups, [&](const GroupFacts &g) {
          return llvm::any_of(g.classes, [&](AxisId id) { return extentName(facts.axis(id).extent) == name; });
        }))
      return facts.kernel.emitError("configuration: no axis has the extent '") << name << "' that a cover names";
    levels.split(forced[name], ',');
  }
  return success();
}

LogicalResult Assignment::applyForced(const GroupFacts &g, Group &group, Variant &variant) {
  for (AxisId id : g.classes) {
    auto it = forced.find(extentName(facts.axis(id).extent));
    if (it == forced.end()) continue;
    auto asks = [&](StringRef level) { return llvm::is_contained(it->second, level); };
    auto illegal = [&](StringRef why) {
      return facts.kernel.emitError("configuration: cover of '") << it->first() << "' is illegal: " << why;
    };
    if (asks("program") && !llvm::is_contained(g.program, id)) return illegal("the axis has no program level");
    if (facts.sliceOwner(id)) return illegal("positions in a slice stand in the lanes of its chunk");
    if (g.split == id) return illegal("instances share the axis out");
    if (isSliced(g, id)) { // which is the cover that it has
      if (!asks("loop") || !asks("lanes")) return illegal("a fold or region scan walks it in chunks");
      continue;
    }
    if (asks("lanes") && (g.uniform.contains(id) || g.ordered.contains(id))) return illegal("control needs one position at a time");
    if (!asks("program") && it->second.size() == 1 && asks("lanes") && !facts.isLaunchVisible(facts.axis(id).extent))
      return illegal("its extent is not known at launch");
    if (g.complete.contains(id) && !(asks("lanes") && it->second.size() == 1)) return illegal("a loop carry needs all its members at once");
    Cover cover;
    cover.program = asks("program");
    cover.loop = asks("loop") || asks("point");
    if (asks("lanes")) {
      if (cover.program || cover.loop)
        giveLanes(cover, id, cover.program ? "ownership_m" : "reduction", cover.program ? Role::Ownership : Role::Reduction, 16, 256,
                  variant);
      else giveCoverage(g, cover, id, variant);
    }
    group.covers[id] = cover;
    if (!cover.program) llvm::erase(group.programAxes, id);
    group.swizzle.clear();
  }
  return success();
}

//===- variants ----------------------------------------------------------------------------------------===//

// A group that only one instance runs is legal while what it serialises fits.
ExprAttr Assignment::serialGuard(const GroupFacts &group) {
  int64_t limit = feature(target, "serial_elements", INT64_MAX);
  if (!group.program.empty() || group.split || limit >= (int64_t(1) << 40)) return {};
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
      AxisSet pulled; // wherever the result is read
      for (const Demand &child : facts.children(demand))
        llvm::append_range(pulled, facts.freeAxes(child));
      walk(facts.axesOf(op), pulled);
    }
  ExprAttr guard = ExprAttr::constant(context, 1);
  for (const std::set<AxisId> &walked : walks) {
    ExprAttr product = ExprAttr::constant(context, 1);
    for (AxisId id : walked)
      product = ExprAttr::apply(ExprKind::Mul, {product, launchExpr(facts.axis(id).extent)});
    guard = ExprAttr::apply(ExprKind::And, {guard, ExprAttr::apply(ExprKind::Le, {product, ExprAttr::constant(context, limit)})});
  }
  return guard.getConstant() == 1 ? ExprAttr() : guard;
}

// Every class with a resident cover fits, the group's other lanes aside.
ExprAttr Assignment::residentGuard() {
  int64_t limit = feature(target, "fragment_elements", 65536) / 2;
  ExprAttr guard = ExprAttr::constant(context, 1);
  for (const GroupFacts &g : groups) {
    ExprAttr product;
    for (AxisId id : g.classes) {
      if (!isResident(g, id)) continue;
      ExprAttr extent = launchExpr(facts.axis(id).extent);
      product = product ? ExprAttr::apply(ExprKind::Mul, {product, extent}) : extent;
    }
    if (product)
      guard = ExprAttr::apply(ExprKind::And, {guard, ExprAttr::apply(ExprKind::Le, {product, ExprAttr::constant(context, limit)})});
  }
  return guard;
}

Variant Assignment::makeVariant(StringRef name, bool resident) {
  Variant variant;
  variant.name = name.str();
  for (const GroupFacts &g : groups)
    variant.groups.push_back(makeGroup(g, resident, variant));
  return variant;
}

FailureOr<std::vector<Variant>> Assignment::run() {
  for (StringAttr atom : [&] {
         SmallVector<StringAttr> all;
         for (AxisId id = 0, e = facts.axisCount(); id < e; ++id)
           llvm::append_range(all, facts.axis(id).extent.getAtoms());
         return all;
       }())
    used.insert(atom.getValue());
  for (SmallVector<Effect *> &effects : formGroups(facts)) {
    GroupFacts whole = factsOf(facts, effects);
    bool edges = false;
    for (Effect *a : effects)
      for (Effect *b : effects)
        edges |= a != b && (dependsOn(facts, a, b) || haveEdge(facts, facts.accessesOf(a), facts.accessesOf(b)));
    if (serialGuard(whole)) whole.split = splitAxis(facts, whole);
    if (!whole.program.empty() || effects.size() == 1 || edges || whole.split) {
      groups.push_back(std::move(whole));
      continue;
    }
    for (Effect *effect : effects) { // apart, each may have instances of its own
      groups.push_back(factsOf(facts, effect));
      if (serialGuard(groups.back())) groups.back().split = splitAxis(facts, groups.back());
    }
  }
  if (failed(readForced())) return failure();
  bool mustBeComplete = llvm::any_of(groups, [](const GroupFacts &g) { return !g.complete.empty(); });
  ExprAttr fits = residentGuard(), serial = ExprAttr::constant(context, 1);
  for (const GroupFacts &g : groups)
    if (ExprAttr guard = serialGuard(g)) serial = ExprAttr::apply(ExprKind::And, {serial, guard});
  bool anyResident = false;
  for (const GroupFacts &g : groups)
    for (AxisId id : g.classes)
      anyResident |= isResident(g, id);
  std::vector<Variant> variants;
  if (!forced.empty()) {
    Variant variant = makeVariant("forced", mustBeComplete);
    for (auto [g, group] : llvm::zip_equal(groups, variant.groups))
      if (failed(applyForced(g, group, variant))) return failure();
    if (!serial.getConstant()) variant.guard = serial;
    variants.push_back(std::move(variant));
    return variants;
  }
  auto guarded = [&](Variant variant, ExprAttr guard) {
    if (guard.getConstant() == 0) return;
    if (!guard.getConstant()) variant.guard = guard;
    variants.push_back(std::move(variant));
  };
  if (anyResident) guarded(makeVariant("resident", true), ExprAttr::apply(ExprKind::And, {serial, fits}));
  if (!mustBeComplete && (!anyResident || fits.getConstant() != 1))
    guarded(makeVariant(anyResident ? "chunked" : "tiled", false),
            anyResident ? ExprAttr::apply(ExprKind::And, {serial, ExprAttr::apply(ExprKind::Not, {fits})}) : serial);
  if (variants.empty())
    return facts.kernel.emitError("shared gpu: no variant of this program fits the target's fragment and serial limits");
  return variants;
}

FailureOr<std::vector<Variant>> assignCovers(Facts &facts, TargetAttr target, const KirToBlockOptions &options) {
  return Assignment(facts, target, options).run();
}

} // namespace intent::conversion
