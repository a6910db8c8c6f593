// Ordered loops of the author and folds: what they carry, over which lanes, and how long they run.
#include "Construct.h"

using namespace mlir;
using namespace intent::block;
using intent::kir::KirTensorType;
using intent::kir::WhileOp;

namespace intent::conversion {

// The lanes of each carry: what its start and its next value vary over, other carries included. Lanes of a `while` stop
// each for itself, so that every carry has those of the condition.
SmallVector<SmallVector<AxisId, 4>> Construction::carryLanes(Operation *op) {
  Carries loop(op);
  size_t count = loop.size();
  AxisId ordered = facts.passClass(op);
  SmallVector<llvm::SetVector<AxisId>> free(count);
  SmallVector<llvm::SetVector<unsigned>> uses(count);
  auto usesOf = [&](const Demand &demand, llvm::SetVector<unsigned> &into) {
    DemandSet seen;
    facts.reach(demand, seen);
    for (const Demand &inner : seen.order)
      if (auto argument = dyn_cast<BlockArgument>(inner.first))
        if (auto carry = Carries::of(argument); carry && carry->first == op) into.insert(carry->second);
  };
  auto at = [&](unsigned i) { return facts.carryCoordinates(op, i); };
  auto pull = [&](Value v, unsigned i) { return Demand(v, isa<KirTensorType>(v.getType()) ? at(i) : Coordinates()); };
  for (unsigned i = 0; i < count; ++i) {
    for (const Demand &demand : {pull(loop.inits()[i], i), pull(loop.next(i), i)})
      for (AxisId id : facts.freeAxes(demand))
        if (id != ordered) free[i].insert(id);
    for (AxisId id : facts.carryAxes(op, i))
      free[i].insert(facts.find(id));
    usesOf(pull(loop.next(i), i), uses[i]);
  }
  if (auto repeat = dyn_cast<WhileOp>(op)) {
    SmallVector<Demand> control{{repeat.getCondition().front().getTerminator()->getOperand(0), {}}};
    for (const Condition &condition : conditionsAround(op))
      control.emplace_back(condition.value, Coordinates());
    llvm::SetVector<unsigned> needed;
    llvm::SetVector<AxisId> shared;
    for (const Demand &demand : control) {
      for (AxisId id : facts.freeAxes(demand))
        if (id != ordered) shared.insert(id);
      usesOf(demand, needed);
    }
    if (std::optional<Real> active = activity(op->getLoc())) shared.insert(active->axes.begin(), active->axes.end());
    for (unsigned i = 0; i < count; ++i) {
      free[i].insert(shared.begin(), shared.end());
      uses[i].insert(needed.begin(), needed.end());
    }
  }
  for (size_t round = 0; round < count; ++round)
    for (unsigned i = 0; i < count; ++i)
      for (unsigned j : uses[i]) // a reduction over the other's own axes leaves only the rest
        for (AxisId id : free[j])
          if (i != j && llvm::none_of(facts.carryAxes(op, j), [&](AxisId a) { return facts.find(a) == id; })) free[i].insert(id);
  SmallVector<SmallVector<AxisId, 4>> lanes;
  for (auto &set : free) {
    AxisSet axes(set.begin(), set.end());
    lanes.push_back(laneAxes(axes));
  }
  return lanes;
}

std::optional<Real> Construction::activity(Location loc) {
  for (Scope *scope = current; scope; scope = scope->parent)
    if (scope->active) return scope->active; // an inner one implies those around it
  return std::nullopt;
}

Real Construction::anyLane(Real value, Location loc) {
  while (!value.axes.empty()) {
    SmallVector<AxisId, 4> kept(value.axes);
    kept.pop_back();
    Real identity = constant(builder.getBoolAttr(false), loc);
    auto reduce = ReduceOp::create(builder, loc, TypeRange{fragmentOrScalar(builder.getI1Type(), extents(kept))}, ValueRange{value.value},
                                   ValueRange{identity.value}, uint64_t(kept.size()));
    ::mlir::Block &body = reduce.getCombine().emplaceBlock();
    Value a = body.addArgument(builder.getI1Type(), loc), b = body.addArgument(builder.getI1Type(), loc);
    builder.setInsertionPointToEnd(&body);
    Value either = BinaryOp::create(builder, loc, builder.getI1Type(), BinaryKind::Or, a, b, false, false);
    YieldOp::create(builder, loc, ValueRange{either});
    setInsertionPoint();
    value.value = reduce.getResult(0);
    value.axes = kept;
  }
  return value;
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
      if (!lookup(facts.find(id))) return op->emitError("shared gpu: a loop carry's axis is bound only inside the loop");
    FailureOr<Real> start = realise({init, isa<KirTensorType>(init.getType()) ? facts.carryCoordinates(op, i) : Coordinates()});
    if (failed(start)) return failure();
    carries.push_back(align(*start, lanes[i], loc));
  }
  auto bind = [&](Scope *scope, ArrayRef<Value> values) {
    for (unsigned i = 0; i < values.size(); ++i) {
      Value value = values[i];
      Real real;
      real.value = value;
      real.axes = lanes[i];
      value.setLoc(loop.argument(i).getLoc());
      scope->memo[{loop.argument(i), facts.carryCoordinates(op, i)}] = real;
    }
  };
  SmallVector<Value> results;
  if (auto repeat = dyn_cast<WhileOp>(op)) {
    if (failed(runWhile(repeat, effect, lanes, carries, bind, results))) return failure();
  } else {
    FailureOr<Scope *> scope = open(facts.find(facts.axesOf(op)[0]), carries, loc);
    if (failed(scope)) return failure();
    bind(*scope, carries);
    if (effect && failed(emit(effect->children, pendingOf(facts, op)))) return failure();
    FailureOr<SmallVector<Value>> next = nextValues(op, lanes, std::nullopt, {});
    if (failed(next)) return failure();
    results = *next;
    close(*scope, results, loc);
  }
  current = home;
  innermost = outer;
  setInsertionPoint();
  for (auto [i, value] : llvm::enumerate(results)) {
    Real real;
    real.value = value;
    real.axes = lanes[i];
    home->memo[{loop.result(i), facts.carryCoordinates(op, i)}] = real;
  }
  return success();
}

// Runs while any lane does. A lane takes part while its condition has held so far, the `if`s around the loop included;
// padding takes no part.
LogicalResult Construction::runWhile(WhileOp op, Effect *effect, ArrayRef<SmallVector<AxisId, 4>> lanes, SmallVectorImpl<Value> &carries,
                                     llvm::function_ref<void(Scope *, ArrayRef<Value>)> bind, SmallVectorImpl<Value> &results) {
  Location loc = op.getLoc();
  FailureOr<Real> start = conjunction(conditionsAround(op), loc);
  if (failed(start)) return failure();
  if (std::optional<Real> around = activity(loc)) start = binary(BinaryKind::And, *start, *around, loc);
  Value conditionValue = op.getCondition().front().getTerminator()->getOperand(0);
  AxisSet varying;
  for (ArrayRef<AxisId> own : lanes)
    for (AxisId id : own)
      if (!llvm::is_contained(varying, id)) varying.push_back(id);
  for (AxisId id : facts.freeAxes({conditionValue, {}}))
    if (!llvm::is_contained(varying, id)) varying.push_back(id);
  llvm::append_range(varying, start->axes);
  for (unsigned i = 0; i < Carries(op).size(); ++i) // all members of a tensor carry go on together
    for (AxisId id : facts.carryAxes(op, i))
      if (!llvm::is_contained(facts.freeAxes({conditionValue, {}}), facts.find(id))) llvm::erase(varying, facts.find(id));
  llvm::sort(varying);
  varying.erase(std::unique(varying.begin(), varying.end()), varying.end());
  Real active = *start;
  for (AxisId id : laneAxes(varying))
    if (std::optional<Real> valid = validity(id, loc)) active = binary(BinaryKind::And, active, *valid, loc);
  SmallVector<AxisId, 4> axes = unite({active});
  for (AxisId id : laneAxes(varying))
    if (!llvm::is_contained(axes, id)) axes.push_back(id);
  llvm::sort(axes, [&](AxisId a, AxisId b) { return group.rank(a) < group.rank(b); });
  active.value = align(active, axes, loc);
  active.axes = axes;
  SmallVector<Value> inits(carries.begin(), carries.end());
  inits.push_back(active.value);
  SmallVector<Type> types = llvm::map_to_vector(inits, [](Value v) { return v.getType(); });
  auto loop = scf::WhileOp::create(builder, loc, types, inits);
  Scope *home = current;
  AxisId passes = facts.passClass(op);
  auto enter = [&](Region &region) {
    ::mlir::Block *block = builder.createBlock(&region, {}, types, SmallVector<Location>(types.size(), loc));
    Scope *scope = addScope(block, loop);
    scope->bindings[passes] = {};
    scope->active = active;
    scope->active->value = block->getArguments().back();
    bind(scope, SmallVector<Value>(block->getArguments().drop_back()));
    return scope;
  };
  auto leave = [&] {
    current = innermost = home;
    setInsertionPoint();
  };
  SmallVector<Effect *> conditionEffects, bodyEffects;
  if (effect)
    for (Effect *child : effect->children)
      (child->inCondition ? conditionEffects : bodyEffects).push_back(child);
  Scope *before = enter(loop.getBefore());
  if (failed(emit(conditionEffects, Demand(conditionValue, Coordinates())))) return failure();
  FailureOr<Real> condition = realise({conditionValue, {}});
  if (failed(condition)) return failure();
  Real goesOn = binary(BinaryKind::And, *before->active, *condition, loc);
  goesOn.value = align(goesOn, axes, loc);
  goesOn.axes = axes;
  SmallVector<Value> passed(before->block->getArguments().drop_back());
  passed.push_back(goesOn.value);
  Value any = anyLane(goesOn, loc).value;
  builder.setInsertionPointToEnd(before->block);
  scf::ConditionOp::create(builder, loc, any, passed);
  leave();
  Scope *body = enter(loop.getAfter());
  if (failed(emit(bodyEffects, pendingOf(facts, op)))) return failure();
  SmallVector<Value> old(body->block->getArguments().drop_back());
  FailureOr<SmallVector<Value>> next = nextValues(op, lanes, body->active, old);
  if (failed(next)) return failure();
  next->push_back(body->active->value);
  builder.setInsertionPointToEnd(body->block);
  scf::YieldOp::create(builder, loc, *next);
  leave();
  results.assign(loop.getResults().begin(), std::prev(loop.getResults().end()));
  return success();
}

} // namespace intent::conversion
