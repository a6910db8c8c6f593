// Loops: their scopes; what ordered loops of the author and folds carry, over which lanes, and how long they run.
#include "Construct.h"

#include "Snapshots.h"

using namespace mlir;
using namespace intent::block;
using intent::kir::KirTensorType;
using intent::kir::WhileOp;

namespace intent::conversion {

//===- scopes of loops ---------------------------------------------------------------------------------===//

FailureOr<Real> Construction::extentOf(AxisId id, Location loc) { return realiseIndex(facts.index.extent(facts.axis(id).extent), loc); }

FailureOr<Value> Construction::extentValue(AxisId id, Location loc, bool largest) {
  FailureOr<Real> extent = extentOf(id, loc);
  if (failed(extent)) return failure();
  if (extent->axes.empty()) return extent->value;
  // Padding and lanes that take no part have no say.
  Real counted = *extent;
  int64_t neutral = largest ? 0 : INT64_MAX;
  for (AxisId lane : extent->axes)
    if (std::optional<Real> valid = validity(lane, loc)) counted = select(*valid, counted, indexConstant(neutral, loc), loc);
  if (std::optional<Real> active = activity()) counted = select(*active, counted, indexConstant(neutral, loc), loc);
  return overLanes(largest ? BinaryKind::Maximum : BinaryKind::Minimum, counted, loc).value;
}

Scope *Construction::addScope(::mlir::Block *block, Operation *owner) {
  scopes.push_back(std::make_unique<Scope>());
  Scope *scope = scopes.back().get();
  scope->parent = current;
  scope->block = block;
  scope->owner = owner;
  current = innermost = scope;
  setInsertionPoint();
  return scope;
}

FailureOr<Scope *> Construction::open(AxisId id, SmallVectorImpl<Value> &carries, Location loc, bool descending, Range range) {
  const Cover &cover = group.covers.at(id);
  FailureOr<Real> members = extentOf(id, loc);
  FailureOr<Value> extent = extentValue(id, loc);
  if (failed(members) || failed(extent)) return failure();
  Value zero = indexConstant(0, loc).value;
  Value step = cover.lanes ? ParamOp::create(builder, loc, builder.getIndexType(), cover.lanes).getResult() : indexConstant(1, loc).value;
  Value last; // the first position of the last chunk
  if (descending) {
    Real final = binary(BinaryKind::Sub, scalar(*extent), indexConstant(1, loc), loc);
    last = cover.lanes ? binary(BinaryKind::Mul, binary(BinaryKind::FloorDiv, final, scalar(step), loc), scalar(step), loc).value
                       : final.value;
  }
  Value first = range.first ? range.first : zero, stride = step, end = range.end ? range.end : *extent;
  if (id == group.split) { // every so many chunks are this instance's
    first = binary(BinaryKind::Mul, scalar(worker), scalar(step), loc).value;
    stride = binary(BinaryKind::Mul, workers, scalar(step), loc).value;
  }
  auto loop = scf::ForOp::create(builder, named(id, "", loc), first, end, stride, carries);
  ::mlir::Block *body = loop.getBody();
  if (!body->empty()) body->back().erase();
  Scope *scope = addScope(body, loop);
  loop.getInductionVar().setLoc(named(id, cover.lanes ? "0" : "", loc));
  Value base = loop.getInductionVar();
  if (descending) base = binary(BinaryKind::Sub, scalar(last), scalar(base), named(id, cover.lanes ? "0" : "", loc)).value;
  // What lies behind the end of the walk counts for no lane: it is not even read.
  Real walked = range.end && members->axes.empty() ? scalar(range.end) : *members;
  Binding &chunk = scope->bindings[id];
  chunk.base = base;
  chunk.lanes = cover.lanes;
  chunk.most = *extent;
  if (cover.lanes || !members->axes.empty()) chunk.extent = walked;
  for (AxisId member : facts.members(id)) // what starts where the chunk does
    if (facts.axis(member).kind == Axis::Folded) {
      Binding start;
      start.base = base;
      scope->bindings[facts.passClass(facts.axis(member).op)] = start;
    }
  for (AxisId other : group.order) { // positions in the chunk as a slice
    if (other == facts.slotAxis()) continue;
    Operation *owner = group.covers.at(other).slice ? facts.sliceOwner(other) : nullptr;
    if (!owner || facts.find(facts.axesOf(owner)[0]) != id) continue;
    Binding inside;
    inside.base = indexConstant(0, loc).value;
    inside.lanes = cover.lanes;
    inside.complete = true;
    scope->bindings[other] = inside;
    Value lanes = ParamOp::create(builder, loc, builder.getIndexType(), cover.lanes);
    Real left = binary(BinaryKind::Sub, walked, scalar(base), loc);
    scope->bindings[other].extent = binary(BinaryKind::Minimum, scalar(lanes), left, loc);
    scope->bindings[other].most = lanes;
  }
  carries.assign(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
  if (failed(announce(id, loc))) return failure();
  return scope;
}

void Construction::close(Scope *scope, SmallVectorImpl<Value> &values, Location loc) {
  builder.setInsertionPointToEnd(scope->block);
  scf::YieldOp::create(builder, loc, values);
  auto loop = cast<scf::ForOp>(scope->owner);
  values.assign(loop.getResults().begin(), loop.getResults().end());
  current = innermost = scope->parent;
  setInsertionPoint();
}

//===- what loops carry, and how long they run -----------------------------------------------------------===//

// The lanes of each carry, and last those of a `while`'s condition: what its start and its next value vary over, the
// carries that it uses included. Lanes of a `while` stop each for itself, so every carry uses the condition.
SmallVector<SmallVector<AxisId, 4>> Construction::carryLanes(Operation *op) {
  Carries loop(op);
  size_t count = loop.size();
  AxisId ordered = facts.passClass(op);
  SmallVector<llvm::SetVector<AxisId>> free(count + 1);
  SmallVector<llvm::SetVector<unsigned>> uses(count + 1);
  auto add = [&](const Demand &demand, unsigned i) {
    for (AxisId id : facts.freeAxes(demand))
      if (id != ordered) free[i].insert(id);
    DemandSet seen;
    facts.reach(demand, seen);
    for (const Demand &inner : seen.order)
      if (auto argument = dyn_cast<BlockArgument>(inner.first))
        if (auto carry = Carries::of(argument); carry && carry->first == op) uses[i].insert(carry->second);
  };
  auto pull = [&](Value v, unsigned i) {
    return Demand(v, isa<KirTensorType>(v.getType()) ? facts.carryCoordinates(op, i) : Coordinates());
  };
  for (unsigned i = 0; i < count; ++i) {
    add(pull(loop.inits()[i], i), i);
    add(pull(loop.next(i), i), i);
    for (AxisId id : facts.carryAxes(op, i))
      free[i].insert(facts.find(id));
  }
  if (auto repeat = dyn_cast<WhileOp>(op)) {
    add({repeat.getCondition().front().getTerminator()->getOperand(0), {}}, count);
    for (const Condition &condition : conditionsAround(op))
      add({condition.value, {}}, count);
    if (std::optional<Real> active = activity()) free[count].insert(active->axes.begin(), active->axes.end());
    for (unsigned i = 0; i < count; ++i)
      uses[i].insert(count);
  } else // a lane of another class may have had its last pass
    for (AxisId id : facts.freeAxes(facts.index.extent(facts.axis(facts.axesOf(op)[0]).extent)))
      for (unsigned i = 0; i < count; ++i)
        free[i].insert(id);
  for (size_t round = 0; round <= count; ++round)
    for (unsigned i = 0; i <= count; ++i)
      for (unsigned j : uses[i]) // a reduction over the other's own axes leaves only the rest
        for (AxisId id : free[j])
          if (i != j && (j == count || llvm::none_of(facts.carryAxes(op, j), [&](AxisId a) { return facts.find(a) == id; })))
            free[i].insert(id);
  SmallVector<SmallVector<AxisId, 4>> lanes;
  for (auto &set : free)
    lanes.push_back(laneAxes(AxisSet(set.begin(), set.end())));
  return lanes;
}

std::optional<Real> Construction::activity(Operation *inside) {
  for (Scope *scope = current; scope; scope = scope->parent)
    if (scope->active && (!inside || scope->loop->isAncestor(inside))) return scope->active; // an inner one implies those around it
  return std::nullopt;
}

// The combination of all lanes by an operation of bool or index.
Real Construction::overLanes(BinaryKind kind, Real value, Location loc) {
  Type element = elementType(value.value.getType());
  while (!value.axes.empty()) {
    SmallVector<AxisId, 4> kept(value.axes);
    kept.pop_back();
    int64_t neutral = kind == BinaryKind::Maximum ? INT64_MIN : kind == BinaryKind::Minimum ? INT64_MAX : 0;
    Real identity = constant(integerConstant(element, neutral), loc);
    auto reduce = ReduceOp::create(builder, loc, TypeRange{fragmentOrScalar(element, extents(kept))}, ValueRange{value.value},
                                   ValueRange{identity.value}, uint64_t(kept.size()));
    fillCombine(reduce.getCombine(), kind, element, loc);
    value.value = reduce.getResult(0);
    value.axes = kept;
  }
  return value;
}

// The largest or smallest value of an index over all lanes: at an end of each lane axis where it is linear in them.
FailureOr<Real> Construction::extremeOf(const Index *node, bool largest, Location loc) {
  SmallVector<std::pair<AxisId, int64_t>> lanes;
  const Index *rest = node;
  for (AxisId id : laneAxes(facts.freeAxes(node))) {
    std::optional<int64_t> pace = facts.index.coefficientOf(rest, id);
    if (!pace) {
      FailureOr<Real> all = realiseIndex(node, loc);
      if (failed(all)) return failure();
      return overLanes(largest ? BinaryKind::Maximum : BinaryKind::Minimum, *all, loc);
    }
    rest = facts.index.sub(rest, facts.index.mul(facts.index.constant(*pace), facts.index.axis(id)));
    lanes.emplace_back(id, *pace);
  }
  FailureOr<Real> sum = realiseIndex(rest, loc);
  if (failed(sum)) return failure();
  if (!sum->axes.empty()) { // a leaf varies over the lanes
    FailureOr<Real> all = realiseIndex(node, loc);
    if (failed(all)) return failure();
    return overLanes(largest ? BinaryKind::Maximum : BinaryKind::Minimum, *all, loc);
  }
  Real result = *sum;
  for (auto [id, pace] : lanes) {
    Real at, count;
    at.value = lookup(id)->base;
    if ((pace > 0) == largest) {
      count.value = ParamOp::create(builder, loc, builder.getIndexType(), lookup(id)->lanes);
      at = binary(BinaryKind::Add, at, binary(BinaryKind::Sub, count, indexConstant(1, loc), loc), loc);
    }
    result = binary(BinaryKind::Add, result, pace == 1 ? at : binary(BinaryKind::Mul, at, indexConstant(pace, loc), loc), loc);
  }
  return result;
}

bool Construction::isKnownToHold(Value condition) {
  Operation *op = condition.getDefiningOp();
  if (auto broadcast = dyn_cast_or_null<kir::BroadcastOp>(op)) return isKnownToHold(broadcast.getValue());
  if (auto both = dyn_cast_or_null<kir::BinaryOp>(op); both && both.getKind() == BinaryKind::And)
    return isKnownToHold(both.getLhs()) && isKnownToHold(both.getRhs());
  for (Scope *scope = current; op && scope; scope = scope->parent)
    if (llvm::is_contained(scope->holds, op)) return true;
  return false;
}

// Chunks in which no member counts for any lane are not walked; of the others, those in which all do come first.
FailureOr<Construction::Range> Construction::narrowed(kir::RegionFoldOp fold) {
  Range range;
  Location loc = fold.getLoc();
  AxisId id = facts.runningClass(fold);
  std::optional<Real> end, first, full;
  llvm::SmallPtrSet<Operation *, 4> open; // comparisons that this scope does not know wherever they are asked
  for (const Bound &bound : boundsOf(facts, fold, needed)) {
    if (!allBound(facts.freeAxes(bound.limit))) {
      open.insert(bound.comparison);
      continue;
    }
    if (bound.upper) {
      FailureOr<Real> least = extremeOf(bound.limit, /*largest=*/false, loc);
      if (failed(least)) return failure();
      Real behind = binary(BinaryKind::Add, *least, indexConstant(1, loc), loc);
      full = full ? binary(BinaryKind::Minimum, *full, behind, loc) : behind;
      if (bound.comparison) range.holds.push_back(bound.comparison);
    }
    FailureOr<Real> limit = extremeOf(bound.limit, bound.upper, loc);
    if (failed(limit)) return failure();
    Real one = *limit;
    if (bound.upper) {
      one = binary(BinaryKind::Add, one, indexConstant(1, loc), loc);
      end = end ? binary(BinaryKind::Minimum, *end, one, loc) : one;
    } else first = first ? binary(BinaryKind::Maximum, *first, one, loc) : one;
  }
  Real whole, least;
  if (end || !first) {
    FailureOr<Value> most = extentValue(id, loc), fewest = extentValue(id, loc, /*largest=*/false);
    if (failed(most) || failed(fewest)) return failure();
    whole.value = *most;
    least.value = *fewest;
    if (!facts.isNonNegative(facts.index.extent(facts.axis(id).extent))) // start past stop: nothing is walked
      least = binary(BinaryKind::Maximum, least, indexConstant(0, loc), loc);
  }
  if (end) range.end = binary(BinaryKind::Minimum, *end, whole, loc).value;
  llvm::erase_if(range.holds, [&](Operation *comparison) { return open.contains(comparison); });
  auto startOfChunk = [&](Real position) {
    Real chunk;
    chunk.value = ParamOp::create(builder, loc, builder.getIndexType(), group.covers.at(id).lanes);
    return binary(BinaryKind::Mul, binary(BinaryKind::FloorDiv, position, chunk, loc), chunk, loc).value;
  };
  if (first) range.first = startOfChunk(binary(BinaryKind::Maximum, *first, indexConstant(0, loc), loc));
  else if (!full) range.full = startOfChunk(least);
  else range.full = startOfChunk(binary(BinaryKind::Maximum, binary(BinaryKind::Minimum, *full, least, loc), indexConstant(0, loc), loc));
  return range;
}

FailureOr<SmallVector<Value>> Construction::nextValues(Operation *op, ArrayRef<SmallVector<AxisId, 4>> lanes,
                                                       const std::optional<Real> &active, ArrayRef<Value> before) {
  Carries loop(op);
  SmallVector<Value> values;
  for (unsigned i = 0; i < loop.size(); ++i) {
    Value next = loop.next(i);
    FailureOr<Real> real = realise({next, isa<KirTensorType>(next.getType()) ? facts.carryCoordinates(op, i) : Coordinates()});
    if (failed(real)) return failure();
    Real result = *real;
    if (active && !active->axes.empty()) { // a lane that has stopped keeps what it had
      Real old;
      old.value = before[i];
      old.axes = lanes[i];
      result = select(*active, result, old, op->getLoc());
    }
    values.push_back(align(result, lanes[i], op->getLoc()));
  }
  return values;
}

static SmallVector<Demand> pendingOf(Facts &facts, Operation *op) {
  Carries loop(op);
  SmallVector<Demand> pending;
  for (unsigned i = 0; i < loop.size(); ++i)
    pending.emplace_back(loop.next(i), isa<KirTensorType>(loop.next(i).getType()) ? facts.carryCoordinates(op, i) : Coordinates());
  return pending;
}

LogicalResult Construction::runLoop(Operation *op, Effect *effect) {
  Scope *home = current, *outer = innermost;
  Location loc = op->getLoc();
  Carries loop(op);
  SmallVector<SmallVector<AxisId, 4>> lanes = carryLanes(op);
  SmallVector<Value> carries;
  for (auto [i, init] : llvm::enumerate(loop.inits())) {
    for (AxisId id : facts.carryAxes(op, i))
      if (!lookup(facts.find(id))) {
        if (canCarry(facts, op)) {
          facts.unheld.insert(op);
          return failure();
        }
        return op->emitError("shared gpu: a loop carry's axis is bound only inside the loop");
      }
    FailureOr<Real> start = realise({init, isa<KirTensorType>(init.getType()) ? facts.carryCoordinates(op, i) : Coordinates()});
    if (failed(start)) return failure();
    carries.push_back(align(*start, lanes[i], loc));
  }
  auto bind = [&](Scope *scope, ArrayRef<Value> values) {
    for (unsigned i = 0; i < values.size(); ++i) {
      Value value = values[i];
      value.setLoc(loop.argument(i).getLoc());
      scope->memo[{loop.argument(i), facts.carryCoordinates(op, i)}] = over(value, lanes[i]);
    }
  };
  auto leave = [&] {
    current = home;
    innermost = outer;
    setInsertionPoint();
  };
  if (auto repeat = dyn_cast<WhileOp>(op)) {
    if (failed(runWhile(repeat, effect, lanes, carries, bind))) return failure();
  } else {
    Range range;
    if (auto fold = dyn_cast<kir::RegionFoldOp>(op)) {
      FailureOr<Range> narrow = narrowed(fold);
      if (failed(narrow)) return failure();
      range = *narrow;
    }
    AxisId axis = facts.find(facts.axesOf(op)[0]);
    auto walk = [&](const Range &part, bool unmasked) -> LogicalResult {
      FailureOr<Scope *> scope = open(axis, carries, loc, /*descending=*/false, part);
      if (failed(scope)) return failure();
      if (unmasked) {
        for (auto &bound : (*scope)->bindings)
          bound.second.extent.reset();
        (*scope)->holds = range.holds;
      }
      bind(*scope, carries);
      SmallVector<Value> before(carries);
      std::optional<Real> on = reached(axis, loc), around = activity();
      if (on) (*scope)->active = around ? binary(BinaryKind::And, *on, *around, loc) : *on;
      (*scope)->loop = op;
      if (effect && failed(emit(effect->children, pendingOf(facts, op)))) return failure();
      FailureOr<SmallVector<Value>> next = nextValues(op, lanes, on, before);
      if (failed(next)) return failure();
      carries.assign(next->begin(), next->end());
      close(*scope, carries, loc);
      leave();
      return success();
    };
    if (range.full) { // what needs no mask first, then the rest
      Range whole;
      whole.end = range.full;
      if (failed(walk(whole, /*unmasked=*/true))) return failure();
      range.first = range.full;
    }
    if (failed(walk(range, /*unmasked=*/false))) return failure();
  }
  for (auto [i, value] : llvm::enumerate(carries))
    home->memo[{loop.result(i), facts.carryCoordinates(op, i)}] = over(value, lanes[i]);
  return success();
}

// A lane is active while its condition has held so far.
LogicalResult Construction::whileAny(SmallVectorImpl<Value> &carries, const Real &active, Location loc,
                                     llvm::function_ref<void(ArrayRef<Value>, const Real &)> enter,
                                     llvm::function_ref<FailureOr<Real>()> goesOn,
                                     llvm::function_ref<FailureOr<SmallVector<Value>>(ArrayRef<Value>)> next) {
  Scope *home = current, *outer = innermost;
  carries.push_back(active.value);
  SmallVector<Type> types = llvm::map_to_vector(carries, [](Value v) { return v.getType(); });
  auto loop = scf::WhileOp::create(builder, loc, types, carries);
  SmallVector<Value> own; // what a region is given
  Real still = active;
  auto begin = [&](Region &region) {
    ::mlir::Block *block = builder.createBlock(&region, {}, types, SmallVector<Location>(types.size(), loc));
    addScope(block, loop);
    own.assign(block->getArguments().begin(), block->getArguments().end());
    still.value = own.pop_back_val();
    enter(own, still);
    return block;
  };
  auto leave = [&] {
    current = home;
    innermost = outer;
    setInsertionPoint();
  };
  ::mlir::Block *before = begin(loop.getBefore());
  FailureOr<Real> condition = goesOn();
  if (failed(condition)) return failure();
  Real stays = over(align(binary(BinaryKind::And, still, *condition, loc), active.axes, loc), active.axes);
  own.push_back(stays.value);
  Value any = overLanes(BinaryKind::Or, stays, loc).value;
  builder.setInsertionPointToEnd(before);
  scf::ConditionOp::create(builder, loc, any, own);
  leave();
  ::mlir::Block *body = begin(loop.getAfter());
  FailureOr<SmallVector<Value>> values = next(own);
  if (failed(values)) return failure();
  values->push_back(still.value);
  builder.setInsertionPointToEnd(body);
  scf::YieldOp::create(builder, loc, *values);
  leave();
  carries.assign(loop.getResults().begin(), std::prev(loop.getResults().end()));
  return success();
}

// The `if`s around the loop are part of its condition; padding takes no part.
LogicalResult Construction::runWhile(WhileOp op, Effect *effect, ArrayRef<SmallVector<AxisId, 4>> lanes, SmallVectorImpl<Value> &carries,
                                     llvm::function_ref<void(Scope *, ArrayRef<Value>)> bind) {
  Location loc = op.getLoc();
  FailureOr<Real> start = conjunction(conditionsAround(op), loc);
  if (failed(start)) return failure();
  if (std::optional<Real> around = activity()) start = binary(BinaryKind::And, *start, *around, loc);
  Value conditionValue = op.getCondition().front().getTerminator()->getOperand(0);
  SmallVector<AxisId, 4> axes(lanes.back());
  Real active = *start;
  for (AxisId id : axes)
    if (std::optional<Real> valid = validity(id, loc)) active = binary(BinaryKind::And, active, *valid, loc);
  active.value = align(active, axes, loc);
  active.axes = axes;
  AxisId passes = facts.passClass(op);
  SmallVector<Effect *> conditionEffects, bodyEffects;
  if (effect)
    for (Effect *child : effect->children)
      (child->inCondition ? conditionEffects : bodyEffects).push_back(child);
  auto enter = [&](ArrayRef<Value> values, const Real &still) {
    current->bindings[passes] = {};
    current->active = still;
    current->loop = op;
    bind(current, values);
  };
  auto goesOn = [&]() -> FailureOr<Real> {
    if (facts.watched) WalkOp::create(builder, loc, passes, Value());
    if (failed(emit(conditionEffects, Demand(conditionValue, Coordinates())))) return failure();
    return realise({conditionValue, {}});
  };
  auto next = [&](ArrayRef<Value> before) -> FailureOr<SmallVector<Value>> {
    if (failed(emit(bodyEffects, pendingOf(facts, op)))) return failure();
    return nextValues(op, lanes, current->active, before);
  };
  return whileAny(carries, active, loc, enter, goesOn, next);
}

} // namespace intent::conversion
