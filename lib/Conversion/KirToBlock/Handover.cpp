// Hand-over: what every instance of a split axis has combined of its own members, the last of them to arrive finishes.
#include "Handover.h"

#include "Construct.h"
#include "Groups.h"

using namespace mlir;
using namespace intent::block;
using intent::kir::KirTensorType;

namespace intent::conversion {

//===- which axis may be split -------------------------------------------------------------------------===//

bool isPartial(Facts &facts, const Demand &demand, AxisId split) {
  Operation *op = demand.first.getDefiningOp();
  return op && isReduction(op) && llvm::any_of(facts.axesOf(op), [&](AxisId id) { return facts.find(id) == split; });
}

bool hasAxis(Facts &facts, Effect *effect, AxisId split) { return llvm::is_contained(facts.axesOf(effect), split); }

// What an effect adds to its view with, where the order does not matter, nothing asks for the sum so far and zero is neutral.
static std::optional<BinaryKind> addsWith(Effect *effect) {
  static const std::pair<AtomicKind, BinaryKind> atomicKinds[] = {
      {AtomicKind::Add, BinaryKind::Add}, {AtomicKind::Or, BinaryKind::Or}, {AtomicKind::Xor, BinaryKind::Xor}};
  if (auto atomic = dyn_cast<kir::AtomicOp>(effect->op)) {
    if (atomic.getOrder() != MemoryOrder::Relaxed || (atomic.getOld() && !atomic.getOld().use_empty())) return std::nullopt;
    for (auto [kind, sum] : atomicKinds)
      if (kind == atomic.getKind()) return sum;
  }
  auto scatter = dyn_cast<kir::ScatterReduceOp>(effect->op);
  if (!scatter) return std::nullopt;
  ::mlir::Block &body = scatter.getCombine().front();
  auto sum = body.getTerminator()->getOperand(0).getDefiningOp<kir::BinaryOp>();
  if (!sum || sum->getBlock() != &body || &body.front() != sum.getOperation()) return std::nullopt;
  bool both = llvm::all_of(body.getArguments(), [&](Value side) { return llvm::is_contained(sum->getOperands(), side); });
  if (both && llvm::is_contained({BinaryKind::Add, BinaryKind::Or, BinaryKind::Xor}, sum.getKind())) return sum.getKind();
  return std::nullopt;
}

// An unconditional write of every element of its view.
static bool isWhole(Facts &facts, Effect *effect) {
  if (!isa<kir::WriteOp>(effect->op) || !effect->isLeaf() || !effect->conditions.empty()) return false;
  std::set<AxisId> seen;
  for (auto [at, extent] : llvm::zip_equal(facts.effectCoordinates(effect->op), kir::shapeOf(viewOf(effect->op).getType())))
    if (at->kind != Index::Axis || facts.axis(facts.find(at->axis)).extent != extent || !seen.insert(facts.find(at->axis)).second)
      return false;
  return facts.privateAxes(viewOf(effect->op)).empty();
}

SmallVector<Started> startedViews(Facts &facts, ArrayRef<Effect *> effects, AxisId split) {
  SmallVector<Started> found;
  for (Effect *start : effects) {
    if (hasAxis(facts, start, split) || !isWhole(facts, start)) continue;
    Value view = viewOf(start->op);
    std::optional<BinaryKind> kind;
    unsigned last = facts.order(start->op); // of what adds
    bool holds = true;
    for (Effect *other : effects) {
      std::optional<BinaryKind> sum = hasAxis(facts, other, split) ? addsWith(other) : std::nullopt;
      if (!sum || viewOf(other->op) != view) continue;
      holds &= (!kind || kind == sum) && facts.order(other->op) > facts.order(start->op);
      kind = sum;
      last = std::max(last, facts.order(other->op));
    }
    for (Effect *other : effects)
      for (const Access &access : facts.accessesOf(other))
        if (access.view == view && other != start) // what else there is sees the sums
          holds &= access.op == other->op && access.write ? hasAxis(facts, other, split) && addsWith(other).has_value()
                                                          : !hasAxis(facts, other, split) && !access.write && facts.order(access.op) > last;
    if (kind && holds) found.push_back({view, start, *kind});
  }
  return found;
}

// True if a value needs what only the last instance gives: a view that it writes before, or the result of an effect.
static bool needsFinished(Facts &facts, ArrayRef<Effect *> effects, const Demand &demand, AxisId split) {
  DemandSet seen;
  facts.reach(demand, seen);
  return llvm::any_of(seen.order, [&](const Demand &inner) {
    Operation *op = inner.first.getDefiningOp();
    if (op && isEffect(op))
      return llvm::any_of(effects, [&](Effect *effect) { return !hasAxis(facts, effect, split) && effect->op->isAncestor(op); });
    auto read = dyn_cast_if_present<kir::ReadOp>(op);
    if (!read || facts.forwarded(read, inner.second)) return false;
    return llvm::any_of(effects, [&](Effect *effect) {
      return !hasAxis(facts, effect, split) && llvm::any_of(facts.accessesOf(effect), [&](const Access &access) {
        return access.write && access.view == read.getView() && facts.order(access.op) < facts.order(read);
      });
    });
  });
}

// Each partial value is a reduction of what loads give, or a sum in a view, and is needed only by effects without the axis,
// which then stand behind everything that other instances do.
static bool maySplit(Facts &facts, const GroupFacts &g, AxisId split) {
  if (!facts.isLaunchVisible(facts.axis(split).extent)) return false;
  for (const auto *set : {&g.uniform, &g.lengths, &g.ordered, &g.running, &g.complete})
    if (set->contains(split)) return false;
  auto isSequential = [&](AxisId id) { return facts.isPass(id) || facts.axis(id).kind == Axis::Ordered; };
  SmallVector<Started> started = startedViews(facts, g.effects, split);
  bool partial = !started.empty();
  for (const Demand &demand : g.demands.order) {
    if (!isPartial(facts, demand, split)) continue;
    partial = true;
    if (facts.depth(demand, split) != 1 || llvm::any_of(facts.freeAxes(demand), isSequential)) return false;
    if (needsFinished(facts, g.effects, demand, split)) return false;
    for (AxisId id : facts.freeAxes(demand))
      if (!facts.isLaunchVisible(facts.axis(id).extent)) return false;
  }
  if (!partial) return false;
  for (Effect *effect : g.effects) {
    if (!effect->isLeaf()) return false;
    bool own = hasAxis(facts, effect, split);
    for (const Demand &root : effect->roots)
      if (own && facts.depth(root, split) != 0) return false;
  }
  for (Effect *a : g.effects)
    for (Effect *b : g.effects) {
      if (hasAxis(facts, a, split) && !hasAxis(facts, b, split) && dependsOn(facts, a, b)) return false;
      for (const Access &write : facts.accessesOf(a))
        for (const Access &other : facts.accessesOf(b)) {
          if (&write == &other || !write.write || write.view != other.view || commute(write.op, other.op) ||
              facts.areDisjoint(write.coordinates, other.coordinates) ||
              llvm::any_of(started, [&](const Started &s) { return s.view == write.view; }))
            continue;
          bool first = hasAxis(facts, a, split), second = hasAxis(facts, b, split);
          if (first && second && !meetOnlyAtOnePosition(facts, write, other, split)) return false;
          if (first != second && !(second && !other.write && facts.order(other.op) < facts.order(write.op))) return false;
        }
    }
  return true;
}

std::optional<AxisId> splitAxis(Facts &facts, const GroupFacts &g) {
  llvm::SetVector<AxisId> candidates(g.reduced);
  for (Effect *effect : g.effects)
    if (effect->isLeaf() && addsWith(effect))
      for (AxisId id : facts.axesOf(effect))
        if (!llvm::is_contained(g.program, id)) candidates.insert(id);
  std::optional<AxisId> found;
  for (AxisId id : candidates) {
    if (!maySplit(facts, g, id)) continue;
    // Best an axis that some effect has too: its work is shared out and its loads serve both.
    if (llvm::any_of(g.effects, [&](Effect *effect) { return hasAxis(facts, effect, id); })) return id;
    if (!found) found = id;
  }
  return found;
}

//===- construction ------------------------------------------------------------------------------------===//

// Each instance stores its part and draws a ticket of its cell; the last to arrive sees what all others stored before theirs,
// and goes on: to the next level of a tree with the cell's part, at the top to what finishes.
LogicalResult Construction::handOver() {
  Location loc = facts.kernel.getLoc();
  SmallVector<Effect *> shared, finishing;
  for (Effect *effect : group.effects)
    (hasAxis(facts, effect, group.split) ? shared : finishing).push_back(effect);
  SmallVector<Started> started = startedViews(facts, group.effects, group.split);
  for (const Started &s : started) {
    SmallVector<ExprAttr> shape;
    for (kir::ExtentAttr extent : kir::shapeOf(s.view.getType()))
      shape.push_back(ExprAttr::apply(ExprKind::Max, {facts.launchExpr(extent), ExprAttr::constant(builder.getContext(), 0)}));
    standIns[s.view] = workspace("sums", kir::elementType(s.view.getType()), shape, /*zeroed=*/true);
  }
  phase = shared;
  ahead = finishing; // what these need is computed along with the others'
  if (failed(emit(shared, {}))) return failure();
  phase = finishing;
  for (const Started &s : started) {
    sums[s.start] = {standIns.lookup(s.view), s.kind};
    standIns.erase(s.view);
  }
  SmallVector<Demand> partial;
  for (Effect *effect : finishing)
    for (const Demand &demand : facts.demandsOf(effect).order)
      if (isPartial(facts, demand, group.split))
        for (Value result : demand.first.getDefiningOp()->getResults())
          if (Demand part(result, demand.second); !llvm::is_contained(partial, part)) partial.push_back(part);
  Real number = scalar(worker), count = workers;
  ExprAttr numbers = group.workers, one = ExprAttr::constant(builder.getContext(), 1);
  SmallVector<Value> place; // the tile's counters
  SmallVector<ExprAttr> counters;
  for (AxisId id : group.programAxes)
    if (id != group.split) {
      place.push_back(tileOf.at(id));
      counters.push_back(tilesOf(facts, group, id));
    }
  place.emplace_back();
  counters.emplace_back();
  std::vector<Handed> levels;
  levels.reserve(2);
  SmallVector<std::pair<Scope *, scf::IfOp>> opened;
  while (true) {
    bool top = !group.fanIn || !levels.empty();
    FailureOr<AllSlots> slots = storePartials(partial, number, numbers);
    if (failed(slots)) return failure();
    Real cell = indexConstant(0, loc), first = cell, end = count;
    ExprAttr cells = one;
    if (!top) {
      Real fanIn = indexConstant(group.fanIn, loc);
      cell = binary(BinaryKind::FloorDiv, number, fanIn, loc);
      first = binary(BinaryKind::Mul, cell, fanIn, loc);
      end = binary(BinaryKind::Minimum, binary(BinaryKind::Add, first, fanIn, loc), count, loc);
      cells = ExprAttr::apply(ExprKind::CeilDiv, {numbers, ExprAttr::constant(builder.getContext(), group.fanIn)});
    }
    place.back() = cell.value;
    counters.back() = cells;
    Value counter = workspace("arrived", builder.getI32Type(), counters, /*zeroed=*/true);
    FenceOp::create(builder, loc);
    ArrayAttr none = builder.getArrayAttr({});
    ArrayAttr scalarAxes = builder.getArrayAttr(SmallVector<Attribute>(place.size(), builder.getI64ArrayAttr({})));
    Value drawn = AtomicOp::create(builder, loc, builder.getI32Type(), AtomicKind::Add, MemoryOrder::AcqRel,
                                   constant(builder.getI32IntegerAttr(1), loc).value, counter, place, ValueRange(), scalarAxes, none);
    Value ticket = CastOp::create(builder, loc, builder.getIndexType(), drawn);
    Real last = binary(BinaryKind::Sub, binary(BinaryKind::Sub, end, first, loc), indexConstant(1, loc), loc);
    auto branch = scf::IfOp::create(builder, loc, compare(ComparePredicate::Eq, scalar(ticket), last, loc).value, /*withElseRegion=*/false);
    ::mlir::Block *body = branch.thenBlock();
    if (!body->empty()) body->back().erase();
    opened.emplace_back(current, branch);
    addScope(body, branch)->isRoot = true; // nothing that an instance knows of its own members is known here
    levels.push_back({*slots, first.value, end.value});
    handed = &levels.back();
    FenceOp::create(builder, loc);
    AtomicOp::create(builder, loc, builder.getI32Type(), AtomicKind::Store, MemoryOrder::Relaxed,
                     constant(builder.getI32IntegerAttr(0), loc).value, counter, place, ValueRange(), scalarAxes, none);
    if (top) break;
    Real fanIn = indexConstant(group.fanIn, loc), filled = binary(BinaryKind::Add, count, indexConstant(group.fanIn - 1, loc), loc);
    number = cell;
    count = binary(BinaryKind::FloorDiv, filled, fanIn, loc);
    numbers = cells;
  }
  if (failed(emit(finishing, {}))) return failure();
  handed = nullptr;
  for (auto &[home, branch] : llvm::reverse(opened)) {
    builder.setInsertionPointToEnd(branch.thenBlock());
    scf::YieldOp::create(builder, loc);
    current = innermost = home;
  }
  setInsertionPoint();
  return success();
}

// What the view starts with and what has been added, whose memory is zero again afterwards.
FailureOr<Real> Construction::takeSum(Value memory, BinaryKind kind, const Real &start, const Accessed &at, Location loc) {
  Type element = cast<block::ViewType>(memory.getType()).getElement();
  FailureOr<Real> sum = loadAt(memory, element, at, loc);
  if (failed(sum)) return failure();
  Real zero = constant(zeroConstant(element), loc);
  FenceOp::create(builder, loc); // all threads that hold a sum have read it
  storeAt(memory, zero, at, loc);
  return binary(kind, start, *sum, loc);
}

FailureOr<Construction::AllSlots> Construction::storePartials(ArrayRef<Demand> partial, const Real &number, ExprAttr count) {
  AllSlots slots;
  for (const Demand &demand : partial) {
    FailureOr<Slots> stored = storePartial(demand, number, count);
    if (failed(stored)) return failure();
    slots[demand] = *stored;
  }
  return slots;
}

// Stores a part of a value in one of so many slots: [slots, the value's own axes].
FailureOr<Construction::Slots> Construction::storePartial(const Demand &demand, const Real &number, ExprAttr count) {
  Location loc = demand.first.getLoc();
  Slots slots;
  SmallVector<ExprAttr> shape{count};
  SmallVector<AxisId> unbound;
  for (AxisId id : facts.freeAxes(demand)) {
    slots.classes.push_back(id);
    shape.push_back(*workspaceExtent(id, demand));
    if (!lookup(id)) unbound.push_back(id);
  }
  slots.memory = workspace("slots", kir::elementType(demand.first.getType()), shape, /*zeroed=*/false);
  auto body = [&]() -> LogicalResult {
    FailureOr<Real> value = realise(demand);
    if (failed(value)) return failure();
    Accessed at;
    at.coordinates.push_back(number);
    for (AxisId id : slots.classes) {
      FailureOr<Real> real = realiseIndex(facts.position(id), loc);
      if (failed(real)) return failure();
      at.coordinates.push_back(*real);
    }
    finish(at, {*value}, loc);
    storeAt(slots.memory, *value, at, loc);
    return success();
  };
  if (failed(traverse({}, unbound, {demand}, body, loc))) return failure();
  return slots;
}

// Combines the slots of the cell at hand, in order.
FailureOr<Real> Construction::finished(const Demand &demand) {
  Operation *op = demand.first.getDefiningOp();
  Location loc = op->getLoc();
  AxisId slot = facts.slotAxis();
  static constexpr int64_t scalarLanes = 128; // where a slot is one element, many are read at once
  SmallVector<AxisId, 4> kept = laneAxes(facts.freeAxes(demand));
  ExprAttr lanes = kept.empty() ? ExprAttr::constant(builder.getContext(), scalarLanes) : ExprAttr();
  FailureOr<Reals> neutral = identities(demand);
  if (failed(neutral)) return failure();
  SmallVector<Value> carries;
  for (const Real &identity : *neutral)
    carries.push_back(align(identity, kept, loc));
  Scope *home = current, *outer = innermost;
  auto loop = scf::ForOp::create(builder, loc, handed->first, handed->end, indexConstant(lanes ? scalarLanes : 1, loc).value, carries);
  ::mlir::Block *body = loop.getBody();
  if (!body->empty()) body->back().erase();
  Scope *scope = addScope(body, loop);
  Binding binding;
  binding.base = loop.getInductionVar();
  binding.lanes = lanes;
  if (lanes) binding.extent = scalar(handed->end);
  scope->bindings[slot] = binding;
  Reals parts;
  for (Value result : op->getResults()) {
    auto stored = handed->slots.find({result, demand.second});
    Accessed at;
    FailureOr<Real> number = realiseIndex(facts.index.axis(slot), loc);
    if (failed(number)) return failure();
    at.coordinates.push_back(*number);
    for (AxisId id : stored->second.classes) {
      FailureOr<Real> real = realiseIndex(facts.position(id), loc);
      if (failed(real)) return failure();
      at.coordinates.push_back(*real);
    }
    finish(at, {}, loc);
    FailureOr<Real> part = loadAt(stored->second.memory, kir::elementType(result.getType()), at, loc);
    if (failed(part)) return failure();
    parts.push_back(*part);
  }
  auto carried = [&](unsigned i) { return over(loop.getRegionIterArg(i), kept); };
  Reals combined;
  if (auto reduce = dyn_cast<kir::ReduceOp>(op)) {
    FailureOr<Captured> captured = capturedBy(reduce.getCombine(), reduce.getCaptures(), demand.second);
    if (failed(captured)) return failure();
    if (lanes) {
      FailureOr<Reals> reduced = reduceLanes(reduce, parts, *neutral, slot, *captured);
      if (failed(reduced)) return failure();
      parts = *reduced;
    }
    Reals arguments;
    for (unsigned i = 0; i < parts.size(); ++i)
      arguments.push_back(carried(i));
    llvm::append_range(arguments, parts);
    FailureOr<Reals> both = combine(reduce.getCombine(), arguments, *captured);
    if (failed(both)) return failure();
    combined = *both;
  } else {
    Real part = parts[0];
    if (lanes) part = sumLanes(part, slot, loc);
    combined.push_back(binary(BinaryKind::Add, carried(0), part, loc));
  }
  SmallVector<Value> yields;
  for (const Real &real : combined)
    yields.push_back(align(real, kept, loc));
  close(scope, yields, loc);
  current = home;
  innermost = outer;
  setInsertionPoint();
  for (auto [result, value] : llvm::zip_equal(op->getResults(), yields))
    current->memo[{result, demand.second}] = over(value, kept);
  return current->memo.at(demand);
}

} // namespace intent::conversion
