// One assignment of covers per variant: which classes are program tiles, lanes, chunks or points, and what sizes them.
#include "Assignment.h"

#include "Groups.h"
#include "Handover.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace intent::block;

namespace intent::conversion {

ExprAttr tilesOf(Facts &facts, const Group &group, AxisId id) {
  ExprAttr lanes = group.covers.at(id).lanes;
  if (group.ragged && id == group.ragged->members) { // each group ends in a tile of its own
    ExprAttr bound = facts.launchExpr(group.ragged->bound);
    if (!lanes) return bound;
    return ExprAttr::apply(ExprKind::Add,
                           {ExprAttr::apply(ExprKind::FloorDiv, {bound, lanes}), tilesOf(facts, group, group.ragged->groups)});
  }
  ExprAttr extent = facts.launchExpr(facts.axis(id).extent);
  if (!facts.isNonNegative(facts.index.extent(facts.axis(id).extent)))
    extent = ExprAttr::apply(ExprKind::Max, {extent, ExprAttr::constant(extent.getContext(), 0)}); // start past stop: empty
  return lanes ? ExprAttr::apply(ExprKind::CeilDiv, {extent, lanes}) : extent;
}

int64_t Assignment::feature(StringRef name, int64_t otherwise) {
  auto value = target ? dyn_cast_or_null<IntegerAttr>(target.getFeatures().get(name)) : IntegerAttr();
  return value ? value.getInt() : otherwise;
}

//===- parameters --------------------------------------------------------------------------------------===//

std::string Assignment::parameterName(StringRef prefix, StringRef column, AxisId id) {
  auto [it, fresh] = names.try_emplace({(prefix + column).str(), id});
  if (!fresh) return it->second;
  SmallVector<StringAttr> atoms = facts.axis(id).extent.getAtoms();
  std::string stem =
      atoms.size() == 1 && llvm::all_of(atoms[0].getValue(), [](char c) { return llvm::isAlnum(c) || c == '_'; }) ? atoms[0].str() : "X";
  std::string name = (prefix + stem).str();
  // A call binds the author's parameters and these by name.
  auto isAuthors = [&](StringRef candidate) {
    return llvm::any_of(llvm::seq<unsigned>(0, facts.kernel.getArgumentTypes().size()),
                        [&](unsigned i) { return facts.kernel.getParameterName(i) == candidate; });
  };
  for (unsigned i = 2; isAuthors(name) || !used.insert(name).second; ++i)
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

// Matrix units take no fewer than 16, or as many as the target says of an inner extent.
int64_t Assignment::leastLanes(const GroupFacts &g, AxisId id) {
  if (!g.contracted.contains(id)) return g.contracted.empty() ? 1 : 16;
  return std::max<int64_t>(16, feature(g.bytes.contains(id) ? "contract_minimum_k_8bit" : "contract_minimum_k", 1));
}

// All members at once: a constant, or a coverage parameter that the launch binds.
void Assignment::giveCoverage(const GroupFacts &g, Cover &cover, AxisId id, Variant &variant) {
  int64_t least = leastLanes(g, id);
  if (std::optional<int64_t> extent = facts.axis(id).extent.getConstant()) {
    cover.lanes = ExprAttr::constant(context, llvm::PowerOf2Ceil(std::max<int64_t>(least, *extent)));
    return;
  }
  cover.parameter = parameterName("C", std::to_string(least), id);
  cover.lanes = ExprAttr::parameter(context, cover.parameter);
  ExprAttr lanes = ExprAttr::apply(ExprKind::Pow2Ceil, {facts.launchExpr(facts.axis(id).extent)});
  if (least > 1) lanes = ExprAttr::apply(ExprKind::Max, {lanes, ExprAttr::constant(context, least)});
  Builder b(context);
  declare(variant, ParameterAttr::get(context, b.getStringAttr(cover.parameter), Role::Coverage, ParameterKind::Int, ArrayRef<int64_t>{},
                                      StringAttr(), lanes, b.getStrArrayAttr({"extent"}), StringAttr()));
}

// The chunk of a folded axis; positions in its slices are as many lanes.
void Assignment::giveSegment(const GroupFacts &g, Cover &cover, AxisId folded, Variant &variant) {
  giveLanes(cover, folded, "scan", Role::Scan, std::max<int64_t>(16, leastLanes(g, folded)), 128, variant);
}

// Positions that walks of different lengths follow from may be lanes of an instance, which runs as long as the longest.
bool Assignment::canShare(const GroupFacts &g, AxisId id) {
  return g.lengths.contains(id) && !g.uniform.contains(id) && g.contracted.empty() && llvm::is_contained(g.program, id);
}

bool Assignment::isSliced(const GroupFacts &g, AxisId id) {
  return g.running.contains(id) && llvm::any_of(facts.members(id), [&](AxisId member) { return facts.axis(member).kind == Axis::Folded; });
}

ExprAttr Assignment::instances(const Group &group) {
  ExprAttr product = ExprAttr::constant(context, 1);
  for (AxisId id : group.programAxes)
    product = ExprAttr::apply(ExprKind::Mul, {product, tilesOf(facts, group, id)});
  return product;
}

// Instances take turns at the chunks of a split class. Parts that have axes of their own are much to read for one instance:
// they are combined over a tree.
void Assignment::shareOut(const GroupFacts &g, AxisId id, Group &group, Variant &variant) {
  static constexpr int64_t treeFanIn = 16;
  group.split = id;
  if (llvm::any_of(g.demands.order, [&](const Demand &demand) { return isPartial(facts, demand, id) && !facts.freeAxes(demand).empty(); }))
    group.fanIn = treeFanIn;
  std::string name = parameterName("WORKERS_", "traversal_workers", id);
  group.workers = group.workerParameter = ExprAttr::parameter(context, name);
  if (!group.programAxes.empty()) // among the instances of all tiles of the other axes
    group.workers = ExprAttr::apply(ExprKind::CeilDiv,
                                    {group.workers, ExprAttr::apply(ExprKind::Max, {instances(group), ExprAttr::constant(context, 1)})});
  group.programAxes.insert(group.programAxes.begin(), id);
  group.covers[id].program = true;
  Builder b(context);
  SmallVector<int64_t> domain{1, 2, 4, 8, 16, 32, 64, 96, 108, 128, 132, 144, 160, 192, 256, 264, 304, 384, 528, 608, 768, 1056};
  declare(variant, ParameterAttr::get(context, b.getStringAttr(name), Role::Workers, ParameterKind::Int, domain,
                                      b.getStringAttr("traversal_workers"), ExprAttr(), b.getStrArrayAttr({"grid", "loop"}), StringAttr()));
}

// Classes that a resident variant holds at once: what several traversals walk, and what a loop's body needs whole.
bool Assignment::isResident(const GroupFacts &g, AxisId id) {
  if (g.split == id || llvm::is_contained(g.program, id) || g.ordered.contains(id) || g.isUniform(id) || isSliced(g, id) ||
      facts.sliceOwner(id))
    return false;
  if (!facts.isLaunchVisible(facts.axis(id).extent)) return false;
  if (g.complete.contains(id)) return true;
  return g.revisited.contains(id) && !g.contracted.contains(id) && !isPointExtent(facts, id);
}

//===- covers ------------------------------------------------------------------------------------------===//

// In checked code the author's iterations are apart, so that what two of them touch is seen as a race.
bool Assignment::isWatched(AxisId id) {
  return facts.checked && feature("warp_size", 1) == 1 &&
         llvm::any_of(facts.members(id), [&](AxisId member) { return facts.axis(member).kind == Axis::Parallel; });
}

void Assignment::coverProgram(const GroupFacts &g, Group &group, Variant &variant) {
  // Where lanes are threads, rows of different lengths share an instance instead of leaving most of it idle.
  bool share = feature("warp_size", 1) > 1;
  auto mayHaveLanes = [&](AxisId id) {
    if (isWatched(id)) return false;
    return (!g.isUniform(id) || (share && canShare(g, id))) && !isPointExtent(facts, id);
  };
  // Beside lanes that the instance walks a program axis counts rows.
  auto inner = llvm::make_filter_range(g.classes, [&](AxisId id) {
    return !g.isUniform(id) && !isPointExtent(facts, id) && !llvm::is_contained(g.program, id) && !g.ordered.contains(id) &&
           !facts.sliceOwner(id);
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
    else
      giveLanes(group.covers[candidates[0]], candidates[0], "ownership_m", Role::Ownership, 1, canShare(g, candidates[0]) ? 256 : 64,
                variant);
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
      if (!isPointExtent(facts, facts.find(id)) && !g.isUniform(facts.find(id)) && (inner == ~0u || g.dense.contains(facts.find(id))))
        inner = facts.find(id);
    for (AxisId id : own)
      if (facts.find(id) != inner) outerAxes.insert(facts.find(id));
  };
  for (const Demand &demand : g.demands.order)
    if (Operation *op = demand.first.getDefiningOp(); op && isReduction(op)) keepInnermost(facts.axesOf(op));
  for (Effect *effect : g.effects)
    forEachLeaf(effect, [&](Effect *write) {
      SmallVector<AxisId> free;
      for (AxisId c : facts.axesOf(write))
        if (!llvm::is_contained(g.program, c) && !g.reduced.contains(c) && c != g.lhsFree && c != g.rhsFree) free.push_back(c);
      keepInnermost(free);
    });
  auto variesOverLanes = [&](AxisId id) {
    return llvm::any_of(facts.freeAxes(facts.index.extent(facts.axis(id).extent)),
                        [&](AxisId other) { return llvm::is_contained(g.program, other) && group.covers[other].lanes; });
  };
  auto walksPoints = [&](AxisId id) {
    if (g.running.contains(id)) return g.isUniform(id);
    return g.ordered.contains(id) || g.isUniform(id) || (isPointExtent(facts, id) && !g.complete.contains(id)) ||
           ((isWatched(id) || outerAxes.contains(id) || g.matrices.contains(id) || g.outer.contains(id)) && !g.complete.contains(id));
  };
  // Beside lanes that walk memory densely a chunk of another axis counts rows, not elements.
  auto besideDense = [&](AxisId id) {
    return llvm::any_of(g.classes, [&](AxisId other) {
      if (other == id || !g.dense.contains(other)) return false;
      bool whole = (resident || g.complete.contains(other)) && isResident(g, other);
      if (g.dense.contains(id) && (!whole || !g.rows.contains(id) || g.rows.contains(other))) return false; // dense for itself
      return llvm::is_contained(g.program, other) ? static_cast<bool>(group.covers[other].lanes) : !walksPoints(other);
    });
  };
  for (AxisId id : g.classes) {
    Cover &cover = group.covers[id];
    if (cover.program) continue;
    if (g.split == id) shareOut(g, id, group, variant);
    if (Operation *owner = facts.sliceOwner(id)) { // as many lanes as the chunk that the slice is of
      giveSegment(g, cover, facts.find(facts.axesOf(owner)[0]), variant);
      cover.slice = true;
      continue;
    }
    if (isSliced(g, id)) {
      cover.loop = true;
      giveSegment(g, cover, id, variant);
      continue;
    }
    if (walksPoints(id)) {
      cover.loop = true;
      continue;
    }
    if ((resident || g.complete.contains(id)) && isResident(g, id)) {
      giveCoverage(g, cover, id, variant);
      continue;
    }
    cover.loop = true;
    if (g.running.contains(id)) { // where fragments are memory, rows beside dense lanes are few enough to stay near
      int64_t most = besideDense(id) && feature("warp_size", 1) == 1 ? 64 : 4096;
      giveLanes(cover, id, "scan", Role::Scan, g.contracted.contains(id) ? leastLanes(g, id) : 1, most, variant);
    } else if (g.contracted.contains(id)) giveLanes(cover, id, "reduction", Role::Reduction, leastLanes(g, id), 256, variant);
    else if (id == g.rhsFree || id == g.lhsFree)
      giveLanes(cover, id, id == g.rhsFree ? "ownership_n" : "ownership_m", Role::Ownership, 16, 256, variant);
    else if (besideDense(id)) giveLanes(cover, id, "reduction_outer", Role::Reduction, 1, 64, variant);
    else giveLanes(cover, id, "reduction", Role::Reduction, variesOverLanes(id) ? 8 : 16, 65536, variant);
  }
}

Group Assignment::makeGroup(const GroupFacts &g, bool resident, Variant &variant) {
  Group group;
  group.effects = g.effects;
  group.programAxes = g.program;
  group.order = fragmentOrder(facts, g);
  if (g.ragged && llvm::is_contained(g.program, g.ragged->members)) {
    group.ragged = g.ragged;
    group.covers[g.ragged->groups].program = true;
    Cover all;
    giveCoverage(g, all, g.ragged->groups, variant);
    group.groupLanes = all.lanes;
  }
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
    bool shared = asks("program") && canShare(g, id);
    if (asks("lanes") && ((g.isUniform(id) && !shared) || g.ordered.contains(id))) return illegal("control needs one position at a time");
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

} // namespace intent::conversion
