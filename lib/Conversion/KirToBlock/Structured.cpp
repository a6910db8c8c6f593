// Structured operations: accumulators, reductions over lanes, contractions, and the traversals that compute them.
#include "Construct.h"

using namespace mlir;
using namespace intent::block;
using intent::kir::KirTensorType;

namespace intent::conversion {

SmallVector<AxisId> Construction::reducedClasses(Operation *op) {
  SmallVector<AxisId> classes;
  for (AxisId id : facts.axesOf(op))
    classes.push_back(facts.find(id));
  return classes;
}

//===- reductions --------------------------------------------------------------------------------------===//

FailureOr<Real> Construction::masked(const Real &value, const Real &neutral, AxisId id, Location loc) {
  if (neutral.allZero && value.isZeroAlong(id)) return value;
  std::optional<Real> valid = validity(id, loc);
  if (!valid) return value;
  return select(*valid, value, neutral, loc);
}

FailureOr<Construction::Reals> Construction::reduceLanes(kir::ReduceOp op, Reals values, ArrayRef<Real> identities, AxisId id,
                                                         const Captured &captured) {
  Location loc = op.getLoc();
  for (auto [value, identity] : llvm::zip_equal(values, identities)) {
    FailureOr<Real> whole = masked(value, identity, id, loc);
    if (failed(whole)) return failure();
    value = *whole;
  }
  if (holdsLoops(op.getCombine())) return combineLanes(op.getCombine(), values, identities, id, captured, LaneOrder::Any, loc);
  SmallVector<AxisId, 4> axes = unite(values, id);
  SmallVector<Value> operands, neutral;
  SmallVector<Type> results;
  SmallVector<AxisId, 4> kept(axes);
  llvm::erase(kept, id);
  for (auto [value, identity] : llvm::zip_equal(values, identities)) {
    operands.push_back(align(value, axes, loc));
    neutral.push_back(identity.value);
    results.push_back(fragmentOrScalar(elementType(identity.value.getType()), extents(kept)));
  }
  auto reduce = ReduceOp::create(builder, loc, results, operands, neutral, uint64_t(llvm::find(axes, id) - axes.begin()));
  if (failed(fillCombine(reduce.getCombine(), op.getCombine(), identities, captured, loc))) return failure();
  Reals reals;
  for (Value value : reduce.getResults())
    reals.push_back(over(value, kept));
  return reals;
}

FailureOr<Construction::Reals> Construction::identityReals(ValueRange identities, Location loc) {
  Reals result;
  for (Value identity : identities) {
    FailureOr<Real> real = realise({identity, {}});
    if (failed(real)) return failure();
    if (!real->axes.empty()) return emitError(loc, "shared gpu: an identity varies over the lanes of one instance");
    result.push_back(*real);
  }
  return result;
}

FailureOr<Construction::Reals> Construction::identities(const Demand &demand) {
  Operation *op = demand.first.getDefiningOp();
  if (auto reduce = dyn_cast<kir::ReduceOp>(op)) return identityReals(reduce.getIdentities(), op->getLoc());
  Type element = kir::elementType(op->getResult(0).getType());
  return Reals{constant(zeroConstant(element), op->getLoc())};
}

FailureOr<Construction::Reals> Construction::accumulate(const Demand &demand, const Reals &accumulators) {
  Operation *op = demand.first.getDefiningOp();
  if (auto contract = dyn_cast<kir::ContractOp>(op)) {
    auto [left, right] = facts.contractCoordinates(contract, demand.second);
    FailureOr<Real> lhs = realise({contract.getLhs(), left}), rhs = realise({contract.getRhs(), right});
    if (failed(lhs) || failed(rhs)) return failure();
    Real start;
    if (accumulators.empty()) {
      FailureOr<Reals> zero = identities(demand);
      if (failed(zero)) return failure();
      start = zero->front();
    } else start = accumulators[0];
    FailureOr<Real> result = multiply(contract, *lhs, *rhs, start);
    if (failed(result)) return failure();
    return Reals{*result};
  }
  auto reduce = cast<kir::ReduceOp>(op);
  Coordinates at = facts.reducedCoordinates(reduce, demand.second);
  Reals values;
  for (Value value : reduce.getValues()) {
    FailureOr<Real> real = realise({value, at});
    if (failed(real)) return failure();
    values.push_back(*real);
  }
  FailureOr<Reals> neutral = identities(demand);
  if (failed(neutral)) return failure();
  FailureOr<Captured> captured = capturedBy(reduce.getCombine(), reduce.getCaptures(), demand.second);
  if (failed(captured)) return failure();
  for (AxisId id : reducedClasses(op)) {
    if (!lookup(id)->lanes) {
      for (auto [value, identity] : llvm::zip_equal(values, *neutral)) {
        FailureOr<Real> member = masked(value, identity, id, op->getLoc());
        if (failed(member)) return failure();
        value = *member;
      }
      continue;
    }
    FailureOr<Reals> reduced = reduceLanes(reduce, values, *neutral, id, *captured);
    if (failed(reduced)) return failure();
    values = *reduced;
  }
  if (accumulators.empty()) return values;
  Reals arguments(accumulators);
  llvm::append_range(arguments, values);
  return combine(reduce.getCombine(), arguments, *captured);
}

//===- contractions ------------------------------------------------------------------------------------===//

Real Construction::transposed(const Real &value, ArrayRef<AxisId> axes, Location loc) {
  if (ArrayRef(value.axes) == axes) return value;
  SmallVector<int64_t> permutation;
  for (AxisId id : axes)
    permutation.push_back(llvm::find(value.axes, id) - value.axes.begin());
  Real result = value;
  result.axes.assign(axes.begin(), axes.end());
  Type type = FragmentType::get(builder.getContext(), elementType(value.value.getType()), extents(axes));
  result.value = TransposeOp::create(builder, loc, type, value.value, permutation);
  return result;
}

Real Construction::sumLanes(Real value, AxisId id, Location loc) {
  SmallVector<AxisId, 4> axes(value.axes);
  auto *at = llvm::find(axes, id);
  uint64_t axis = at - axes.begin();
  axes.erase(at);
  Type element = elementType(value.value.getType());
  Real zero = constant(zeroConstant(element), loc);
  auto reduce = ReduceOp::create(builder, loc, TypeRange{fragmentOrScalar(element, extents(axes))}, ValueRange{value.value},
                                 ValueRange{zero.value}, axis);
  fillCombine(reduce.getCombine(), BinaryKind::Add, element, loc);
  return over(reduce.getResult(0), axes);
}

FailureOr<Real> Construction::multiply(kir::ContractOp op, Real lhs, Real rhs, const Real &accumulator) {
  Location loc = op.getLoc();
  Type element = elementType(accumulator.value.getType());
  SmallVector<AxisId> lanes;
  for (AxisId id : reducedClasses(op))
    if (lookup(id)->lanes) lanes.push_back(id);
  auto zeroOf = [&](const Real &real) {
    Type type = elementType(real.value.getType());
    return constant(zeroConstant(type), loc);
  };
  for (AxisId k : lanes) { // what lies past the reduced range is zero in both operands
    FailureOr<Real> left = masked(lhs, zeroOf(lhs), k, loc), right = masked(rhs, zeroOf(rhs), k, loc);
    if (failed(left) || failed(right)) return failure();
    lhs = *left;
    rhs = *right;
  }
  auto freeOf = [&](const Real &real) {
    SmallVector<AxisId, 4> free(real.axes);
    for (AxisId k : lanes)
      llvm::erase(free, k);
    return free;
  };
  SmallVector<AxisId, 4> left = freeOf(lhs), right = freeOf(rhs);
  bool matrix = facts.isNative(op) && lanes.size() == 1 && left.size() == 1 && right.size() == 1 && left != right && lhs.axes.size() == 2 &&
                rhs.axes.size() == 2;
  if (matrix) {
    AxisId m = left[0], n = right[0], k = lanes[0];
    if (group.rank(n) < group.rank(m)) { // the transposed product
      std::swap(m, n);
      std::swap(lhs, rhs);
    }
    Real a = transposed(lhs, {m, k}, loc), b = transposed(rhs, {k, n}, loc), result;
    result.axes = {m, n};
    Value start = align(accumulator, result.axes, loc);
    result.value = ContractOp::create(builder, loc, start.getType(), a.value, b.value, start);
    return result;
  }
  // Products are exact in the accumulation type.
  auto widen = [&](Real real) {
    if (elementType(real.value.getType()) == element) return real;
    real.value = CastOp::create(builder, loc, withElement(real.value.getType(), element), real.value);
    return real;
  };
  lhs = widen(lhs);
  rhs = widen(rhs);
  if (lanes.empty() && isa<FloatType>(element)) {
    Real result;
    result.axes = unite({lhs, rhs, accumulator});
    Value a = align(lhs, result.axes, loc), b = align(rhs, result.axes, loc), c = align(accumulator, result.axes, loc);
    result.value = FmaOp::create(builder, loc, c.getType(), a, b, c);
    return result;
  }
  Real product = binary(BinaryKind::Mul, lhs, rhs, loc);
  for (AxisId k : lanes) {
    if (!llvm::is_contained(product.axes, k)) {
      SmallVector<AxisId, 4> axes = unite({product}, k);
      FailureOr<Real> inside = masked(product, zeroOf(product), k, loc);
      if (failed(inside)) return failure();
      product.value = align(*inside, axes, loc);
      product.axes = axes;
    }
    product = sumLanes(product, k, loc);
  }
  return binary(BinaryKind::Add, accumulator, product, loc);
}

//===- traversals --------------------------------------------------------------------------------------===//

LogicalResult Construction::traverse(ArrayRef<Demand> reductions, ArrayRef<AxisId> classes, ArrayRef<Demand> roots,
                                     llvm::function_ref<LogicalResult()> body, Location loc) {
  Scope *home = current, *outer = innermost;
  SmallVector<AxisId> loops = loopsOver(classes);
  SmallVector<Demand> all(roots);
  for (const Demand &demand : reductions)
    llvm::append_range(all, facts.children(demand));
  bool descending = false;
  std::vector<Running> running = findRunning(all, loops, descending);
  SmallVector<Reals, 0> accumulators;
  SmallVector<Value> carries;
  for (const Demand &demand : reductions) {
    Reals start;
    if (!loops.empty()) {
      FailureOr<Reals> neutral = identities(demand);
      if (failed(neutral)) return failure();
      SmallVector<AxisId, 4> lanes = laneAxes(facts.freeAxes(demand));
      for (const Real &identity : *neutral) {
        start.push_back(over(align(identity, lanes, loc), lanes));
        carries.push_back(start.back().value);
      }
    }
    accumulators.push_back(start);
  }
  SmallVector<Scope *> opened;
  for (AxisId id : loops) {
    bool innermostLoop = id == loops.back();
    if (innermostLoop && failed(startRunning(running, carries, loc))) return failure();
    FailureOr<Scope *> scope = open(id, carries, loc, innermostLoop && descending);
    if (failed(scope)) return failure();
    opened.push_back(*scope);
  }
  if (!opened.empty()) {
    size_t next = 0;
    for (Reals &start : accumulators)
      for (Real &real : start)
        real.value = carries[next++];
    bindRunning(running, ArrayRef(carries).drop_front(next));
  }
  SmallVector<Reals, 0> results;
  for (auto [demand, start] : llvm::zip_equal(reductions, accumulators)) {
    FailureOr<Reals> result = accumulate(demand, start);
    if (failed(result)) return failure();
    results.push_back(*result);
  }
  if (body && failed(body())) return failure();
  SmallVector<Value> yields;
  if (!opened.empty())
    for (auto [result, start] : llvm::zip_equal(results, accumulators))
      for (auto [real, carried] : llvm::zip_equal(result, start))
        yields.push_back(align(real, carried.axes, loc));
  for (Scope *scope : llvm::reverse(opened)) {
    size_t own = yields.size();
    bool innermostLoop = scope == opened.back();
    if (innermostLoop && failed(stepRunning(yields, loc))) return failure();
    close(scope, yields, loc);
    if (innermostLoop) finishRunning(scope, ArrayRef(yields).drop_front(own));
    yields.truncate(own);
  }
  current = home;
  innermost = outer;
  setInsertionPoint();
  size_t next = 0;
  for (auto [demand, result, start] : llvm::zip_equal(reductions, results, accumulators))
    for (auto [i, value] : llvm::enumerate(demand.first.getDefiningOp()->getResults())) {
      home->memo[{value, demand.second}] = opened.empty() ? over(result[i].value, result[i].axes) : over(yields[next++], start[i].axes);
    }
  return success();
}

// Reductions that a traversal of these classes can compute from here, one per operation and coordinates.
bool Construction::canJoin(const Demand &demand, ArrayRef<AxisId> classes, ArrayRef<Demand> chosen) {
  Operation *op = demand.first.getDefiningOp();
  if (!op || !isReduction(op) || reducedClasses(op) != classes || current->memo.count(demand)) return false;
  if (!allBound(facts.freeAxes(demand)) || scopeOf(facts.freeAxes(demand)) != current) return false;
  auto needs = [&](Effect *effect) { return facts.demandsOf(effect).seen.count(demand) != 0; };
  if ((!ahead.empty() && llvm::none_of(ahead, needs)) || awaitsEffects(demand)) return false;
  return llvm::none_of(chosen, [&](const Demand &d) { return d.first.getDefiningOp() == op && d.second == demand.second; });
}

// True if a reduction uses what a traversal around here is still computing, and so must wait for the end of that one.
bool Construction::awaitsUnderway(const Demand &demand) {
  if (underway.empty()) return false;
  DemandSet used;
  facts.reach(demand, used);
  return llvm::any_of(used.order, [&](const Demand &d) {
    return llvm::any_of(underway,
                        [&](const Demand &u) { return u.first.getDefiningOp() == d.first.getDefiningOp() && u.second == d.second; });
  });
}

FailureOr<Real> Construction::structured(const Demand &demand) {
  Operation *op = demand.first.getDefiningOp();
  SmallVector<AxisId> classes = reducedClasses(op);
  SmallVector<Demand> reductions{demand};
  if (llvm::any_of(classes, [&](AxisId id) { return !isComplete(id); }))
    for (const Demand &other : needed.order) // what the same traversal can compute
      if (canJoin(other, classes, reductions) &&
          llvm::all_of(classes, [&](AxisId id) { return facts.depth(other, id) == facts.depth(demand, id); }) && !awaitsUnderway(other))
        reductions.push_back(other);
  size_t around = underway.size();
  llvm::append_range(underway, reductions);
  LogicalResult done = traverse(reductions, classes, {}, {}, op->getLoc());
  underway.truncate(around);
  if (failed(done)) return failure();
  return current->memo.at(demand);
}

} // namespace intent::conversion
