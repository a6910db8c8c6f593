// Axes, effects, versions and classes of a kernel.
#include "Facts.h"

#include <functional>

using namespace mlir;
using namespace intent::kir;

namespace intent::conversion {

Facts::Facts(KernelOp kernel)
    : kernel(kernel), index(kernel.getContext()), checked(kernel->getParentOfType<ModuleOp>()->hasAttr(intent::checkedAttributeName)) {}

//===- axes --------------------------------------------------------------------------------------------===//

AxisId Facts::newAxis(Axis::Kind kind, Operation *op, const Index *start, const Index *step, ExtentAttr extent) {
  AxisId id = axes.size();
  axes.push_back({kind, op, start, step, extent});
  parentOf.push_back(id);
  conflicts.emplace_back();
  return id;
}

AxisId Facts::find(AxisId id) const {
  while (parentOf[id] != id)
    id = parentOf[id];
  return id;
}

SmallVector<AxisId> Facts::members(AxisId representative) const {
  SmallVector<AxisId> result;
  for (AxisId id = 0; id < axes.size(); ++id)
    if (find(id) == representative) result.push_back(id);
  return result;
}

ArrayRef<AxisId> Facts::axesOf(Operation *op) const {
  auto it = opAxes.find(op);
  return it == opAxes.end() ? ArrayRef<AxisId>() : ArrayRef<AxisId>(it->second);
}

ArrayRef<AxisId> Facts::carryAxes(Operation *loop, unsigned i) const {
  auto it = carries.find({loop, i});
  return it == carries.end() ? ArrayRef<AxisId>() : ArrayRef<AxisId>(it->second);
}

Coordinates Facts::carryCoordinates(Operation *loop, unsigned i) {
  Coordinates at;
  for (AxisId id : carryAxes(loop, i))
    at.push_back(position(id));
  return at;
}

Coordinates Facts::ownCoordinates(Operation *op) {
  Coordinates at;
  for (AxisId id : axesOf(op))
    at.push_back(position(id));
  return at;
}

SmallVector<AxisId> Facts::loopsAround(Operation *op) const {
  SmallVector<AxisId> around;
  for (Operation *scope = op->getParentOp(); scope; scope = scope->getParentOp())
    if (isa<ParallelOp, ForOp, WhileOp>(scope))
      for (AxisId id : axesOf(scope))
        around.push_back(find(id));
  return around;
}

SmallVector<Operation *> Facts::loopsOver(Operation *access) const {
  SmallVector<Operation *> around;
  Operation *buffer = viewOf(access).getDefiningOp();
  for (Operation *scope = access->getParentOp(); scope && !(buffer && scope->isAncestor(buffer)); scope = scope->getParentOp())
    if (isa<ParallelOp, ForOp, WhileOp>(scope)) around.push_back(scope);
  return around;
}

Operation *Facts::sliceOwner(AxisId id) const {
  ExtentAttr extent = axes[id].extent;
  SmallVector<StringAttr> atoms = extent.getAtoms();
  if (atoms.size() != 1 || extent != ExtentAttr::atom(extent.getContext(), atoms[0].getValue())) return nullptr;
  return slices.lookup(atoms[0].getValue());
}

void Facts::createAxes() {
  const Index *zero = index.constant(0), *one = index.constant(1);
  slot = newAxis(Axis::Slot, kernel, zero, one, ExtentAttr::atom(index.context, "?instances"));
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    places[op] = places.size();
    if (auto symbol = dyn_cast<SymbolOp>(op)) atoms[symbol.getName()] = symbol.getValue();
    if (auto part = dyn_cast<SubregionOp>(op)) {
      ExtentAttr own = part.getType().getExtent(), source = part.getSource().getType().getExtent();
      if (own != source) cutFrom[own] = source;
    }
    SmallVector<AxisId> own;
    auto overDomain = [&](Axis::Kind kind, Value domain) {
      DomainInfo info = domainOf(domain);
      own.push_back(newAxis(kind, op, info.start, info.step, cast<DomainType>(domain.getType()).getExtent()));
    };
    auto over = [&](Axis::Kind kind, ExtentAttr extent) { own.push_back(newAxis(kind, op, zero, one, extent)); };
    auto slice = [&](StringAttr atom) {
      slices[atom.getValue()] = op;
      return ExtentAttr::atom(op->getContext(), atom.getValue());
    };
    watched |= checked && isUnordered(op);
    if (auto parallel = dyn_cast<ParallelOp>(op)) {
      for (Value domain : parallel.getDomains())
        overDomain(Axis::Parallel, domain);
    } else if (auto loop = dyn_cast<ForOp>(op)) overDomain(Axis::Ordered, loop.getDomain());
    else if (isa<BufferOp>(op)) {
      for (Operation *scope = op->getParentOp(); scope; scope = scope->getParentOp())
        if (isa<ParallelOp>(scope)) own.insert(own.begin(), opAxes[scope].begin(), opAxes[scope].end());
    } else if (isa<WhileOp>(op)) over(Axis::While, ExtentAttr::atom(op->getContext(), "?passes" + std::to_string(places[op])));
    else if (auto fold = dyn_cast<RegionFoldOp>(op)) {
      slice(fold.getSliceAttr());
      for (Axis::Kind kind : {Axis::Folded, Axis::Chunk})
        over(kind, shapeOf(fold.getSources()[0].getType())[fold.getAxis()]);
    } else if (auto scan = dyn_cast<RegionScanOp>(op)) {
      ExtentAttr part = slice(scan.getSliceAttr());
      for (Axis::Kind kind : {Axis::Folded, Axis::Chunk})
        over(kind, shapeOf(scan.getSources()[0].getType())[scan.getAxis()]);
      for (size_t i = scan.getStates().size(); i < scan.getNumResults(); ++i)
        over(Axis::Slice, part);
    } else if (auto scan = dyn_cast<ScanOp>(op)) over(Axis::Scanned, shapeOf(scan.getValues()[0].getType())[scan.getAxis()]);
    else if (isLeafEffect(op)) {
      for (ExtentAttr extent : effectShape(op))
        over(Axis::Effect, extent);
    } else if (auto reduce = dyn_cast<ReduceOp>(op)) {
      auto type = cast<KirTensorType>(reduce.getValues()[0].getType());
      for (int64_t axis : reduce.getAxes())
        over(Axis::Reduced, type.getShape()[axis]);
    } else if (auto contract = dyn_cast<ContractOp>(op)) {
      for (int64_t axis : contract.getLhsReduce())
        over(Axis::Reduced, contract.getLhs().getType().getShape()[axis]);
    }
    if (!own.empty()) opAxes[op] = own;
    if (Carries::has(op))
      for (auto [i, init] : llvm::enumerate(Carries(op).inits()))
        for (ExtentAttr extent : shapeOf(init.getType()))
          carries[{op, unsigned(i)}].push_back(newAxis(Axis::Carry, op, zero, one, extent));
  });
}

bool Facts::isNative(ContractOp op) const {
  block::TargetAttr target = targetOf(op);
  return !target || hasContraction(target, elementType(op.getLhs().getType()), elementType(op.getType()));
}

//===- effects -----------------------------------------------------------------------------------------===//

SmallVector<Condition> conditionsAround(Operation *op) {
  SmallVector<Condition> conditions;
  for (; op; op = op->getParentOp())
    if (auto branch = dyn_cast_or_null<IfOp>(op->getParentOp()))
      conditions.push_back({branch.getCondition(), op->getParentRegion() == &branch.getElseRegion()});
  std::reverse(conditions.begin(), conditions.end());
  return conditions;
}

void Facts::collectEffects(::mlir::Block &block, ArrayRef<Condition> conditions, ArrayRef<AxisId> parallel, Effect *parent,
                           bool inCondition) {
  for (Operation &op : block) {
    if (op.getNumRegions() == 0 ? !isLeafEffect(&op) : !holdsEffects(&op)) continue;
    if (auto forall = dyn_cast<ParallelOp>(op)) {
      SmallVector<AxisId> inner(parallel);
      llvm::append_range(inner, axesOf(&op));
      collectEffects(forall.getBody().front(), conditions, inner, parent, inCondition);
      continue;
    }
    if (auto branch = dyn_cast<IfOp>(op)) {
      for (bool negated : {false, true}) {
        SmallVector<Condition> inner(conditions);
        inner.push_back({branch.getCondition(), negated});
        Region &region = negated ? branch.getElseRegion() : branch.getThenRegion();
        collectEffects(region.front(), inner, parallel, parent, inCondition);
      }
      continue;
    }
    effects.push_back(std::make_unique<Effect>());
    Effect *effect = effects.back().get();
    effect->op = &op;
    effect->parent = parent;
    effect->inCondition = inCondition;
    effect->conditions.assign(conditions.begin(), conditions.end());
    effect->parallel.assign(parallel.begin(), parallel.end());
    if (parent) parent->children.push_back(effect);
    else roots.push_back(effect);
    if (auto loop = dyn_cast<ForOp>(op)) collectEffects(loop.getBody().front(), conditions, parallel, effect, false);
    if (auto loop = dyn_cast<WhileOp>(op)) {
      collectEffects(loop.getCondition().front(), conditions, parallel, effect, true);
      collectEffects(loop.getBody().front(), conditions, parallel, effect, false);
    }
  }
}

void Facts::collectRoots(Effect &effect) {
  effect.roots.clear();
  auto leaves = [&](const Index *node) { addLeaves(node, effect.roots); };
  auto pull = [&](Value value, const Coordinates &at) {
    effect.roots.emplace_back(value, isa<KirTensorType>(value.getType()) ? at : Coordinates());
  };
  for (const Condition &condition : effect.conditions)
    effect.roots.emplace_back(condition.value, Coordinates());
  for (AxisId id : effect.parallel)
    for (const Index *node : {axes[id].start, axes[id].step, index.extent(axes[id].extent)})
      leaves(node);
  if (effect.isLeaf()) {
    for (AxisId id : axesOf(effect.op))
      leaves(index.extent(axes[id].extent));
    for (const Coordinates &place : placesOf(&effect)) {
      for (const Index *node : effectCoordinates(effect.op, place))
        leaves(node);
      for (Value value : valuesOf(effect.op))
        pull(value, place);
    }
    for (Region &combine : effect.op->getRegions())
      forEachCaptured(combine, [&](Value scalar) { pull(scalar, {}); });
    return;
  }
  Carries loop(effect.op);
  for (auto [i, init] : llvm::enumerate(loop.inits())) {
    pull(init, carryCoordinates(effect.op, i));
    pull(loop.next(i), carryCoordinates(effect.op, i));
  }
  if (auto repeat = dyn_cast<WhileOp>(effect.op)) {
    pull(repeat.getCondition().front().getTerminator()->getOperand(0), {});
    return;
  }
  AxisId id = axesOf(effect.op)[0];
  for (const Index *node : {axes[id].start, axes[id].step, index.extent(axes[id].extent)})
    leaves(node);
}

const DemandSet &Facts::demandsOf(Effect *effect) {
  auto [it, fresh] = demands.try_emplace(effect);
  if (!fresh) return it->second;
  DemandSet all;
  for (const Demand &root : effect->roots)
    reach(root, all);
  for (Effect *child : effect->children)
    for (const Demand &demand : demandsOf(child).order)
      all.insert(demand);
  return demands[effect] = std::move(all);
}

ArrayRef<Access> Facts::accessesOf(Effect *effect) {
  auto [it, fresh] = accesses.try_emplace(effect);
  if (!fresh) return it->second;
  SmallVector<Access> all;
  if (effect->isLeaf() && viewOf(effect->op))
    for (const Coordinates &place : placesOf(effect))
      all.push_back({effect->op, viewOf(effect->op), effectCoordinates(effect->op, place), true, effect});
  DemandSet seen;
  for (Effect *child : effect->children) {
    llvm::append_range(all, accessesOf(child));
    for (const Demand &demand : demandsOf(child).order)
      seen.insert(demand);
  }
  for (const Demand &demand : demandsOf(effect).order)
    if (auto read = demand.first.getDefiningOp<ReadOp>(); read && !seen.seen.count(demand) && !forwarded(read, demand.second))
      all.push_back(accessOf(demand, effect));
  return accesses[effect] = std::move(all);
}

//===- classes -----------------------------------------------------------------------------------------===//

void Facts::addConflicts(ArrayRef<AxisId> together) {
  for (AxisId a : together)
    for (AxisId b : together)
      if (a != b) conflicts[a].insert(b);
}

// Axes of one domain, which one walk may serve.
bool Facts::areAlike(AxisId x, AxisId y) const {
  auto isOrdered = [&](AxisId id) { return axes[id].kind == Axis::Ordered || isPass(id); };
  return axes[x].extent == axes[y].extent && axes[x].start == axes[y].start && axes[x].step == axes[y].step && !isOrdered(x) &&
         !isOrdered(y);
}

bool Facts::unify(ArrayRef<std::pair<AxisId, AxisId>> pairs) {
  llvm::EquivalenceClasses<AxisId> merged; // what all the pairs together would make of today's classes
  for (auto [x, y] : pairs) {
    AxisId a = find(x), b = find(y);
    if (a == b) continue;
    if (!areAlike(x, y)) return false;
    merged.unionSets(a, b);
  }
  for (const auto &one : merged)
    for (AxisId c : conflicts[one->getData()])
      if (find(c) != one->getData() && merged.isEquivalent(find(c), one->getData())) return false;
  for (auto [x, y] : pairs) {
    AxisId a = find(x), b = find(y);
    if (a == b) continue;
    if (b < a) std::swap(a, b);
    parentOf[b] = a;
    conflicts[a].insert(conflicts[b].begin(), conflicts[b].end());
  }
  return true;
}

void Facts::forget() {
  childrenOf.clear();
  freeOf.clear();
  carriedOf.clear();
  depthOf.clear();
  demands.clear();
  accesses.clear();
}

// The two axes in which coordinates differ, where each walks its own at one pace and the rest is the same or has no axes.
std::optional<std::pair<AxisId, AxisId>> Facts::samePace(const Index *a, const Index *b) {
  const Index *difference = index.sub(a, b);
  if (difference->kind != Index::Linear) return std::nullopt;
  std::optional<AxisId> x, y;
  std::optional<int64_t> paceX, paceY;
  for (auto [term, coefficient] : llvm::zip_equal(difference->operands, difference->coefficients)) {
    bool varies = false;
    forEachAxis(term, [&](AxisId) { varies = true; });
    if (!varies) continue;
    if (term->kind != Index::Axis) return std::nullopt;
    bool ofA = index.coefficientOf(a, term->axis) == coefficient;
    if (ofA ? x.has_value() : y.has_value()) return std::nullopt;
    (ofA ? x : y) = term->axis;
    (ofA ? paceX : paceY) = ofA ? coefficient : static_cast<int64_t>(0 - static_cast<uint64_t>(coefficient));
  }
  return x && y && paceX == paceY ? std::optional(std::pair(*x, *y)) : std::nullopt;
}

void Facts::formClasses(ArrayRef<Effect *> of) {
  struct Touch {
    Value view;
    Coordinates at;
  };
  SmallVector<Touch> touches;
  SmallVector<std::pair<AxisId, AxisId>> carried;
  std::function<void(Effect *)> act = [&](Effect *effect) {
    SmallVector<AxisId> together(effect->parallel);
    llvm::append_range(together, axesOf(effect->op));
    addConflicts(together);
    if (effect->isLeaf() && viewOf(effect->op)) touches.push_back({viewOf(effect->op), effectCoordinates(effect->op)});
    llvm::for_each(effect->children, act);
  };
  llvm::for_each(of, act);
  // What is walked in slices is no axis of a state, which is there at once.
  SmallVector<Operation *> sliced;
  for (auto &entry : opAxes)
    if (isa<RegionFoldOp, RegionScanOp>(entry.first)) sliced.push_back(entry.first);
  for (Operation *op : sliced)
    for (Operation *other : sliced)
      for (unsigned i = 0; i < Carries(other).size(); ++i)
        for (AxisId id : carryAxes(other, i))
          addConflicts({axesOf(op)[0], id});
  DemandSet seen;
  for (Effect *root : of)
    for (const Demand &demand : demandsOf(root).order) {
      if (!seen.insert(demand)) continue;
      SmallVector<AxisId> together(llvm::to_vector(freeAxes(demand)));
      Operation *op = demand.first.getDefiningOp();
      if (op && isReduction(op)) llvm::append_range(together, axesOf(op));
      addConflicts(together);
      if (auto read = dyn_cast_or_null<ReadOp>(op); read && !forwarded(read, demand.second))
        touches.push_back({read.getView(), viewCoordinates(read.getIndices(), demand.second)});
      auto meet = [&](ArrayRef<AxisId> own, ArrayRef<const Index *> at) {
        for (auto [id, c] : llvm::zip(own, at))
          if (c->kind == Index::Axis) carried.emplace_back(id, c->axis);
      };
      if (auto argument = dyn_cast<BlockArgument>(demand.first))
        if (auto carry = Carries::of(argument)) meet(carryAxes(carry->first, carry->second), demand.second);
      if (op && Carries::has(op))
        if (std::optional<unsigned> i = Carries(op).numberOf(demand.first)) meet(carryAxes(op, *i), demand.second);
      if (op && isLeafEffect(op)) meet(axesOf(op), demand.second);
      if (auto scan = dyn_cast_or_null<ScanOp>(op)) meet(axesOf(op)[0], demand.second[scan.getAxis()]);
      if (auto scan = dyn_cast_or_null<RegionScanOp>(op); scan && !Carries(op).numberOf(demand.first)) {
        SmallVector<AxisId> apart{axesOf(op)[0]}; // its members are scanned at coordinates that do not follow them
        for (auto [axis, c] : llvm::enumerate(demand.second))
          if (axis != scan.getAxis()) llvm::append_range(apart, freeAxes(c));
        addConflicts(apart);
        meet(axesOf(op)[0], demand.second[scan.getAxis()]);
      }
    }
  for (auto pair : carried)
    unify(pair);
  for (size_t i = 0; i < touches.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      if (touches[i].view != touches[j].view) continue;
      SmallVector<std::pair<AxisId, AxisId>> pairs;
      for (auto [a, b] : llvm::zip_equal(touches[i].at, touches[j].at))
        if (std::optional<std::pair<AxisId, AxisId>> pair = a == b ? std::nullopt : samePace(a, b);
            pair && areAlike(pair->first, pair->second))
          pairs.push_back(*pair);
      unify(pairs);
    }
}

// Axes that instances could share out if an effect stood alone stay apart from those that its values are reduced along, however
// other effects walk both: a loss with its normaliser beside the gradient that is divided by it.
void Facts::keepProgramsApart() {
  if (roots.size() < 2) return;
  SmallVector<std::pair<AxisId, AxisId>> apart;
  for (Effect *root : roots) {
    SmallVector<std::pair<AxisId, AxisId>> alike; // own axes with such
    SmallVector<AxisId> own = axesOf(root), reduced;
    for (const Demand &demand : demandsOf(root).order)
      if (Operation *op = demand.first.getDefiningOp(); op && isReduction(op)) llvm::append_range(reduced, axesOf(op));
    for (AxisId e : own)
      for (AxisId r : reduced)
        if (areAlike(e, r)) alike.emplace_back(e, r);
    if (alike.empty()) continue;
    std::vector<AxisId> classes = parentOf;
    std::vector<std::set<AxisId>> known = conflicts;
    formClasses(root);
    auto isReduced = [&](AxisId e) { return llvm::any_of(reduced, [&](AxisId r) { return find(r) == find(e); }); };
    llvm::copy_if(alike, std::back_inserter(apart), [&](auto &pair) { return !isReduced(pair.first); });
    parentOf = std::move(classes);
    conflicts = std::move(known);
  }
  for (auto [e, r] : apart)
    addConflicts({e, r});
}

bool Facts::isRunning(const Demand &demand) {
  Operation *op = demand.first.getDefiningOp();
  return op && (isa<ScanOp>(op) || (isa<RegionScanOp>(op) && !Carries(op).numberOf(demand.first)));
}

static uint64_t runningAxis(Operation *op) { return isa<ScanOp>(op) ? cast<ScanOp>(op).getAxis() : cast<RegionScanOp>(op).getAxis(); }

bool Facts::isInStep(const Demand &demand) {
  Operation *op = demand.first.getDefiningOp();
  const Index *at = demand.second[runningAxis(op)];
  return at->kind == Index::Axis && find(at->axis) == runningClass(op);
}

Demand Facts::whereScanned(const Demand &demand) {
  Operation *op = demand.first.getDefiningOp();
  Demand own = demand;
  own.second[runningAxis(op)] = position(axesOf(op)[0]);
  return own;
}

// The least sets that agree with each other: a carry varies over what its start and its next value do, carries that they use
// included.
void Facts::findCarriedAxes() {
  SmallVector<Operation *> loops;
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!Carries::has(op)) return;
    loops.push_back(op);
    carriedOf[op].resize(Carries(op).size());
  });
  for (bool again = true; again;) {
    again = false;
    freeOf.clear(); // learned from sets that have grown since
    for (Operation *op : loops) {
      Carries loop(op);
      for (unsigned i = 0; i < loop.size(); ++i) {
        AxisSet all = carriedOf[op][i];
        auto add = [&](Value v) {
          for (AxisId id : freeAxes({v, isa<KirTensorType>(v.getType()) ? carryCoordinates(op, i) : Coordinates()}))
            merge(all, id);
        };
        add(loop.inits()[i]);
        add(loop.next(i));
        if (auto repeat = dyn_cast<WhileOp>(op)) { // each lane stops for itself
          add(repeat.getCondition().front().getTerminator()->getOperand(0));
          for (const Condition &condition : conditionsAround(op))
            add(condition.value);
        }
        llvm::erase(all, passClass(op));
        for (AxisId id : carryAxes(op, i))
          llvm::erase(all, find(id));
        if (all == carriedOf[op][i]) continue;
        carriedOf[op][i] = std::move(all);
        again = true;
      }
    }
  }
}

LogicalResult Facts::analyse() {
  createAxes();
  collectEffects(kernel.getBody().front(), {}, {}, nullptr, false);
  findVersions();
  findCarriedAxes();
  for (auto &effect : effects)
    collectRoots(*effect);
  keepProgramsApart();
  formClasses(roots);
  forget(); // demands speak of classes from here on
  findCarriedAxes();
  for (auto &effect : effects)
    collectRoots(*effect);
  findImages();
  findMembersInViews();
  return success();
}

} // namespace intent::conversion
