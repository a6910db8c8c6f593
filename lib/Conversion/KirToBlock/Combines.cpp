// Combine regions: what they capture, and their application to values with lanes and to the scalars of a region. One that holds
// loops is applied to values alone: an instance walks what it combines, member by member.
#include "Construct.h"

using namespace mlir;
using namespace intent::block;
using intent::kir::KirTensorType;

namespace intent::conversion {

FailureOr<Construction::Captured> Construction::capturedBy(Region &region, ValueRange captures, ArrayRef<const Index *> kept) {
  Captured captured;
  auto pull = [&](Value value) -> FailureOr<Real> {
    FailureOr<Real> real = realise({value, isa<KirTensorType>(value.getType()) ? Coordinates(kept) : Coordinates()});
    if (succeeded(real) && !real->axes.empty())
      return emitError(region.getLoc(), "shared gpu: a combine captures a value that varies over the lanes of one instance");
    return real;
  };
  for (Value value : captures) {
    FailureOr<Real> real = pull(value);
    if (failed(real)) return failure();
    captured.arguments.push_back(*real);
  }
  WalkResult walked = region.walk([&](Operation *inner) -> WalkResult {
    for (Value v : inner->getOperands())
      if (!region.isAncestor(v.getParentRegion())) {
        FailureOr<Real> real = pull(v);
        if (failed(real)) return WalkResult::interrupt();
        captured.around[v] = *real;
      }
    return WalkResult::advance();
  });
  if (walked.wasInterrupted()) return failure();
  return captured;
}

// Both sides of a choice are computed: loops in them run for the lanes of their side.
LogicalResult Construction::combineBlock(::mlir::Block &body, Combining &combining) {
  DenseMap<Value, Real> &values = combining.values;
  for (Operation &inner : body.without_terminator()) {
    Location loc = inner.getLoc();
    if (auto constantOp = dyn_cast<kir::ConstantOp>(inner)) {
      values[constantOp.getResult()] = constant(constantOp.getValue(), loc);
      continue;
    }
    if (auto extent = dyn_cast<kir::ExtentOp>(inner)) {
      FailureOr<Real> real = realiseIndex(facts.index.extent(extent.getExtent()), loc);
      if (failed(real)) return failure();
      values[extent.getResult()] = *real;
      continue;
    }
    if (auto branch = dyn_cast<kir::IfOp>(inner)) {
      Real condition = values.lookup(branch.getCondition());
      ::mlir::Block &taken = branch.getThenRegion().front(), &other = branch.getElseRegion().front();
      std::optional<Real> active = combining.active;
      if (active) combining.active = binary(BinaryKind::And, *active, condition, loc);
      if (failed(combineBlock(taken, combining))) return failure();
      if (active) combining.active = select(condition, constant(builder.getBoolAttr(false), loc), *active, loc);
      if (failed(combineBlock(other, combining))) return failure();
      combining.active = active;
      for (auto [result, a, b] :
           llvm::zip_equal(branch.getResults(), taken.getTerminator()->getOperands(), other.getTerminator()->getOperands()))
        values[result] = select(condition, values.lookup(a), values.lookup(b), loc);
      continue;
    }
    if (isa<kir::DomainOp, kir::SubregionOp, kir::SymbolOp>(inner)) continue; // what loops walk
    if (auto loop = dyn_cast<kir::ForOp>(inner)) {
      if (failed(combineFor(loop, combining))) return failure();
      continue;
    }
    if (auto loop = dyn_cast<kir::WhileOp>(inner)) {
      if (failed(combineWhile(loop, combining))) return failure();
      continue;
    }
    if (!isa<kir::UnaryOp, kir::BinaryOp, kir::CompareOp, kir::FmaOp, kir::SelectOp, kir::CastOp, kir::BitcastOp>(inner))
      return inner.emitError("shared gpu: a combine holds only scalar work");
    Reals operands;
    for (Value operand : inner.getOperands())
      operands.push_back(values.lookup(operand));
    FailureOr<Real> result = elementWise(&inner, operands);
    if (failed(result)) return failure();
    values[inner.getResult(0)] = *result;
  }
  return success();
}

// Each lane leaves for itself; the others go on.
LogicalResult Construction::combineLoop(ArrayRef<Real> inits, Combining &combining,
                                        llvm::function_ref<FailureOr<Real>(ArrayRef<Real>)> goesOn,
                                        llvm::function_ref<FailureOr<Reals>(ArrayRef<Real>)> next, Reals &results, Location loc) {
  std::optional<Real> around = combining.active;
  Reals all(inits), carried;
  all.push_back(*around);
  for (auto &value : combining.values)
    all.push_back(value.second);
  SmallVector<AxisId, 4> axes = unite(all);
  auto spread = [&](Value value) { return over(value, axes); };
  SmallVector<Value> carries;
  for (const Real &init : inits)
    carries.push_back(align(init, axes, loc));
  auto enter = [&](ArrayRef<Value> values, const Real &active) {
    carried = llvm::map_to_vector<4>(values, spread);
    combining.active = active;
  };
  auto step = [&](ArrayRef<Value> before) -> FailureOr<SmallVector<Value>> {
    Real active = *combining.active;
    FailureOr<Reals> values = next(carried);
    if (failed(values)) return failure();
    SmallVector<Value> after;
    for (auto [value, old] : llvm::zip_equal(*values, before))
      after.push_back(align(axes.empty() ? value : select(active, value, spread(old), loc), axes, loc));
    return after;
  };
  if (failed(whileAny(carries, spread(align(*around, axes, loc)), loc, enter, [&] { return goesOn(carried); }, step))) return failure();
  combining.active = around;
  results = llvm::map_to_vector<4>(carries, spread);
  return success();
}

LogicalResult Construction::combineWhile(kir::WhileOp op, Combining &combining) {
  auto run = [&](Region &region, ArrayRef<Real> carried) -> FailureOr<Reals> {
    ::mlir::Block &body = region.front();
    for (auto [argument, real] : llvm::zip_equal(body.getArguments(), carried))
      combining.values[argument] = real;
    if (failed(combineBlock(body, combining))) return failure();
    return combining.lookup(body.getTerminator()->getOperands());
  };
  Reals results;
  auto goesOn = [&](ArrayRef<Real> carried) -> FailureOr<Real> {
    FailureOr<Reals> condition = run(op.getCondition(), carried);
    if (failed(condition)) return failure();
    return condition->front();
  };
  if (failed(combineLoop(
          combining.lookup(op.getInits()), combining, goesOn, [&](ArrayRef<Real> carried) { return run(op.getBody(), carried); }, results,
          op.getLoc())))
    return failure();
  for (auto [result, real] : llvm::zip_equal(op.getResults(), results))
    combining.values[result] = real;
  return success();
}

// The first coordinate of a domain, where its coordinates end, and what lies between two.
std::array<Real, 3> Construction::combineDomain(Value domain, Combining &combining) {
  Operation *op = domain.getDefiningOp();
  Location loc = op->getLoc();
  if (auto whole = dyn_cast<kir::DomainOp>(op))
    return {combining.values.lookup(whole.getStart()), combining.values.lookup(whole.getStop()), combining.values.lookup(whole.getStep())};
  auto part = cast<kir::SubregionOp>(op);
  auto [start, stop, step] = combineDomain(part.getSource(), combining);
  Real begin = combining.values.lookup(part.getBegin()), end = combining.values.lookup(part.getEnd());
  Real before = binary(BinaryKind::Maximum, binary(BinaryKind::Sub, begin, start, loc), indexConstant(0, loc), loc);
  Real steps = binary(BinaryKind::FloorDiv, binary(BinaryKind::Add, before, binary(BinaryKind::Sub, step, indexConstant(1, loc), loc), loc),
                      step, loc);
  return {binary(BinaryKind::Add, start, binary(BinaryKind::Mul, steps, step, loc), loc), binary(BinaryKind::Minimum, stop, end, loc),
          step};
}

LogicalResult Construction::combineFor(kir::ForOp op, Combining &combining) {
  Location loc = op.getLoc();
  std::array<Real, 3> domain = combineDomain(op.getDomain(), combining);
  Reals inits{domain[0]}, results;
  llvm::append_range(inits, combining.lookup(op.getInits()));
  ::mlir::Block &body = op.getBody().front();
  auto goesOn = [&](ArrayRef<Real> carried) -> FailureOr<Real> { return compare(ComparePredicate::Lt, carried[0], domain[1], loc); };
  auto next = [&](ArrayRef<Real> carried) -> FailureOr<Reals> {
    for (auto [argument, real] : llvm::zip_equal(body.getArguments(), carried))
      combining.values[argument] = real;
    if (failed(combineBlock(body, combining))) return failure();
    Reals values{binary(BinaryKind::Add, carried[0], domain[2], loc)};
    llvm::append_range(values, combining.lookup(body.getTerminator()->getOperands()));
    return values;
  };
  if (failed(combineLoop(inits, combining, goesOn, next, results, loc))) return failure();
  for (auto [result, real] : llvm::zip_equal(op.getResults(), ArrayRef(results).drop_front()))
    combining.values[result] = real;
  return success();
}

FailureOr<Construction::Reals> Construction::combine(Region &region, Reals arguments, const Captured &captured,
                                                     std::optional<Real> taking) {
  Combining combining{captured.around, taking};
  llvm::append_range(arguments, captured.arguments);
  if (!taking && holdsLoops(region)) { // padding takes no part
    Location loc = region.getLoc();
    Real active = constant(builder.getBoolAttr(true), loc);
    for (AxisId id : unite(arguments))
      if (std::optional<Real> valid = validity(id, loc)) active = binary(BinaryKind::And, active, *valid, loc);
    if (std::optional<Real> around = activity()) active = binary(BinaryKind::And, active, *around, loc);
    combining.active = active;
  }
  ::mlir::Block &body = region.front();
  for (auto [argument, real] : llvm::zip_equal(body.getArguments(), arguments))
    combining.values[argument] = real;
  if (failed(combineBlock(body, combining))) return failure();
  return combining.lookup(body.getTerminator()->getOperands());
}

// Member by member in their order, where a region over scalars cannot say it. Values hold the identity where they have no member.
FailureOr<Construction::Reals> Construction::combineLanes(Region &region, ArrayRef<Real> values, ArrayRef<Real> identities, AxisId id,
                                                          const Captured &captured, LaneOrder order, Location loc) {
  Scope *home = current, *outer = innermost;
  bool scan = order != LaneOrder::Any, descending = order == LaneOrder::Descending;
  SmallVector<AxisId, 4> axes = unite(values, id), kept(axes);
  llvm::erase(kept, id);
  Value count = ParamOp::create(builder, loc, builder.getIndexType(), lookup(id)->lanes);
  Value zero = indexConstant(0, loc).value, one = indexConstant(1, loc).value;
  Real lanes = over(LanesOp::create(builder, loc, fragmentOrScalar(builder.getIndexType(), extents({id})), zero, one), {id});
  SmallVector<Value> carries;
  for (const Real &identity : identities)
    carries.push_back(align(identity, kept, loc));
  if (scan)
    for (const Real &identity : identities)
      carries.push_back(align(identity, axes, loc));
  auto loop = scf::ForOp::create(builder, loc, zero, count, one, carries);
  ::mlir::Block *body = loop.getBody();
  if (!body->empty()) body->back().erase();
  Scope *scope = addScope(body, loop);
  Real lane = scalar(loop.getInductionVar());
  if (descending) lane = binary(BinaryKind::Sub, binary(BinaryKind::Sub, scalar(count), scalar(one), loc), lane, loc);
  Reals arguments;
  for (Value argument : loop.getRegionIterArgs().take_front(identities.size()))
    arguments.push_back(over(argument, kept));
  for (const Real &value : values)
    arguments.push_back(picked(value, id, lane.value, loc));
  FailureOr<Reals> combined = combine(region, arguments, captured);
  if (failed(combined)) return failure();
  SmallVector<Value> yields;
  for (const Real &real : *combined)
    yields.push_back(align(real, kept, loc));
  if (scan) {
    Real here = compare(ComparePredicate::Eq, lanes, lane, loc);
    for (auto [real, before] : llvm::zip_equal(*combined, loop.getRegionIterArgs().drop_front(identities.size())))
      yields.push_back(align(select(here, real, over(before, axes), loc), axes, loc));
  }
  close(scope, yields, loc);
  current = home;
  innermost = outer;
  setInsertionPoint();
  Reals results;
  for (Value value : ArrayRef(yields).drop_front(scan ? identities.size() : 0))
    results.push_back(over(value, scan ? axes : kept));
  return results;
}

LogicalResult Construction::fillCombine(Region &into, Region &from, ArrayRef<Real> identities, const Captured &captured, Location loc) {
  ::mlir::Block &body = into.emplaceBlock();
  Reals arguments;
  for (unsigned side = 0; side < 2; ++side)
    for (const Real &identity : identities) {
      Real argument;
      argument.value = body.addArgument(identity.value.getType(), loc);
      arguments.push_back(argument);
    }
  builder.setInsertionPointToEnd(&body);
  FailureOr<Reals> combined = combine(from, arguments, captured);
  if (failed(combined)) return failure();
  YieldOp::create(builder, loc, llvm::map_to_vector(*combined, [](const Real &r) { return r.value; }));
  setInsertionPoint();
  return success();
}

void Construction::fillCombine(Region &into, BinaryKind kind, Type element, Location loc) {
  ::mlir::Block &body = into.emplaceBlock();
  Value a = body.addArgument(element, loc), b = body.addArgument(element, loc);
  builder.setInsertionPointToEnd(&body);
  Value both = BinaryOp::create(builder, loc, element, kind, a, b, false, false);
  YieldOp::create(builder, loc, ValueRange{both});
  setInsertionPoint();
}

} // namespace intent::conversion
