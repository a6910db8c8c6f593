// Realisation of values: scopes, index expressions, accesses, element-wise work.
#include "Construct.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace intent::block;
using intent::kir::ExtentAttr;
using intent::kir::KirTensorType;

namespace intent::conversion {

//===- scopes ------------------------------------------------------------------------------------------===//

Scope *Construction::scopeOf(const AxisSet &axes) {
  for (Scope *scope = current; scope; scope = scope->parent)
    if (!scope->parent || scope->isRoot || llvm::any_of(axes, [&](AxisId id) { return scope->bindings.count(id); })) return scope;
  return nullptr;
}

const Binding *Construction::lookup(AxisId id) {
  for (Scope *scope = current; scope; scope = scope->parent)
    if (auto it = scope->bindings.find(id); it != scope->bindings.end()) return &it->second;
  return nullptr;
}

bool Construction::isComplete(AxisId id) {
  const Binding *binding = lookup(id);
  return binding && binding->complete;
}

SmallVector<AxisId> Construction::loopsOver(ArrayRef<AxisId> classes) {
  return llvm::filter_to_vector(classes, [&](AxisId id) { return !isComplete(id); });
}

bool Construction::hasOnePosition(AxisId id) {
  const Binding *binding = lookup(facts.find(id));
  return binding && !binding->lanes;
}

bool Construction::allBound(const AxisSet &axes) {
  return llvm::all_of(axes, [&](AxisId id) { return lookup(id); });
}

// Values of an outer scope go before the operation that leads to the scope under construction.
void Construction::setInsertionPoint() {
  if (current == innermost) {
    builder.setInsertionPointToEnd(current->block);
    return;
  }
  Scope *child = innermost;
  while (child->parent != current)
    child = child->parent;
  if (child->owner) builder.setInsertionPoint(child->owner);
  else builder.setInsertionPointToEnd(child->block); // in the same block
}

//===- small builders ----------------------------------------------------------------------------------===//

Real Construction::constant(TypedAttr value, Location loc) {
  Real real;
  real.value = ConstantOp::create(builder, loc, value.getType(), value);
  if (auto integer = dyn_cast<IntegerAttr>(value)) real.allZero = integer.getValue().isZero();
  if (auto number = dyn_cast<FloatAttr>(value)) real.allZero = number.getValue().isPosZero();
  return real;
}

Real Construction::indexConstant(int64_t value, Location loc) { return constant(builder.getIndexAttr(value), loc); }

SmallVector<ExprAttr> Construction::extents(ArrayRef<AxisId> axes) {
  SmallVector<ExprAttr> result;
  for (AxisId id : axes)
    result.push_back(lookup(id)->lanes);
  return result;
}

SmallVector<AxisId, 4> Construction::unite(ArrayRef<Real> reals, std::optional<AxisId> with) {
  SmallVector<AxisId, 4> axes;
  if (with) axes.push_back(*with);
  for (const Real &real : reals)
    for (AxisId id : real.axes)
      if (!llvm::is_contained(axes, id)) axes.push_back(id);
  llvm::sort(axes, [&](AxisId a, AxisId b) { return group.rank(a) < group.rank(b); });
  return axes;
}

static SmallVector<int64_t> positionsIn(ArrayRef<AxisId> own, ArrayRef<AxisId> axes) {
  SmallVector<int64_t> positions;
  for (AxisId id : own)
    positions.push_back(llvm::find(axes, id) - axes.begin());
  return positions;
}

Value Construction::align(const Real &real, ArrayRef<AxisId> axes, Location loc) {
  if (ArrayRef(real.axes) == axes) return real.value;
  Type type = FragmentType::get(builder.getContext(), elementType(real.value.getType()), extents(axes));
  return BroadcastOp::create(builder, loc, type, real.value, positionsIn(real.axes, axes));
}

ArrayAttr Construction::alignment(ArrayRef<Real> reals, ArrayRef<AxisId> axes) {
  SmallVector<Attribute> lists;
  for (const Real &real : reals)
    lists.push_back(builder.getI64ArrayAttr(positionsIn(real.axes, axes)));
  return builder.getArrayAttr(lists);
}

SmallVector<AxisId, 4> Construction::laneAxes(const AxisSet &axes) {
  SmallVector<AxisId, 4> lanes;
  for (AxisId id : axes)
    if (const Binding *binding = lookup(id); binding && binding->lanes) lanes.push_back(id);
  llvm::sort(lanes, [&](AxisId a, AxisId b) { return group.rank(a) < group.rank(b); });
  return lanes;
}

// Zero along a class is kept by an operation that maps zeros to zero, if every operand is zero there.
static std::set<AxisId> commonZeros(ArrayRef<Real> operands, ArrayRef<AxisId> axes) {
  std::set<AxisId> zero;
  for (AxisId id : axes)
    if (llvm::all_of(operands, [&](const Real &r) { return r.isZeroAlong(id); })) zero.insert(id);
  return zero;
}

Real Construction::binary(BinaryKind kind, const Real &a, const Real &b, Location loc) {
  Real result;
  result.axes = unite({a, b});
  Value lhs = align(a, result.axes, loc), rhs = align(b, result.axes, loc);
  result.value = builder.createOrFold<BinaryOp>(loc, lhs.getType(), kind, lhs, rhs, false, false);
  if (keepsZero(kind)) result.zero = commonZeros({a, b}, result.axes);
  return result;
}

Real Construction::compare(ComparePredicate predicate, const Real &a, const Real &b, Location loc) {
  Real result;
  result.axes = unite({a, b});
  Value lhs = align(a, result.axes, loc), rhs = align(b, result.axes, loc);
  result.value = CompareOp::create(builder, loc, withElement(lhs.getType(), builder.getI1Type()), predicate, lhs, rhs);
  return result;
}

Real Construction::select(const Real &condition, const Real &a, const Real &b, Location loc) {
  Real result;
  result.axes = unite({condition, a, b});
  Value lhs = align(a, result.axes, loc), rhs = align(b, result.axes, loc);
  Value chosen = condition.axes.empty() ? condition.value : align(condition, result.axes, loc);
  result.value = SelectOp::create(builder, loc, lhs.getType(), chosen, lhs, rhs);
  result.zero = commonZeros({a, b}, result.axes);
  return result;
}

FailureOr<Real> Construction::position(AxisId id, Location loc) {
  const Binding *binding = lookup(id);
  if (!binding) return emitError(loc, "this needs a position of '") << extentName(facts.axis(id).extent) << "', of which none is at hand";
  Real real;
  real.value = binding->base;
  if (!binding->lanes) return real;
  real.axes = {id};
  Value one = indexConstant(1, loc).value;
  real.value = LanesOp::create(builder, named(id, "", loc),
                               FragmentType::get(builder.getContext(), builder.getIndexType(), {binding->lanes}), binding->base, one);
  return real;
}

// The predicate of a class's valid lanes; none where every lane is.
std::optional<Real> Construction::validity(AxisId id, Location loc) {
  const Binding *binding = lookup(id);
  if (!binding || !binding->extent) return std::nullopt;
  FailureOr<Real> at = realiseIndex(facts.index.axis(id), loc);
  AxisSet own{id};
  return inScope(scopeOf(own), [&] { return compare(ComparePredicate::Lt, *at, *binding->extent, loc); });
}

std::optional<Real> Construction::reached(AxisId id, Location loc) {
  const Binding *binding = lookup(id);
  if (!binding->extent || binding->extent->axes.empty()) return std::nullopt;
  Real base;
  base.value = binding->base;
  AxisSet own{id};
  return inScope(scopeOf(own), [&] { return compare(ComparePredicate::Lt, base, *binding->extent, loc); });
}

//===- index expressions -------------------------------------------------------------------------------===//

FailureOr<Real> Construction::realiseIndex(const Index *node, Location loc) {
  Scope *scope = scopeOf(facts.freeAxes(node));
  if (auto it = scope->indices.find(node); it != scope->indices.end()) return it->second;
  FailureOr<Real> real = inScope(scope, [&] { return computeIndex(node, loc); });
  if (succeeded(real)) scope->indices[node] = *real;
  return real;
}

FailureOr<Real> Construction::computeIndex(const Index *node, Location loc) {
  switch (node->kind) {
  case Index::Constant: return indexConstant(node->constant, loc);
  case Index::Axis: return position(facts.find(node->axis), loc);
  case Index::Leaf: {
    FailureOr<Real> real = realise({node->value, node->operands});
    if (failed(real)) return failure();
    if (elementType(real->value.getType()).isIndex()) return real;
    Real asIndex = *real; // integers of any type serve as indices
    asIndex.value = CastOp::create(builder, loc, withElement(real->value.getType(), builder.getIndexType()), real->value);
    return asIndex;
  }
  case Index::Extent: {
    StringRef atom = cast<StringAttr>(node->extent).getValue();
    if (Value value = facts.atomValue(atom)) return realise({value, {}});
    if (Operation *owner = facts.sliceOwner(atom)) { // as much of a chunk as the axis has left
      AxisId id = facts.runningClass(owner);
      FailureOr<Real> whole = extentOf(id, loc);
      if (failed(whole)) return failure();
      Real base, chunk;
      base.value = lookup(facts.passClass(owner))->base;
      chunk.value = ParamOp::create(builder, loc, builder.getIndexType(), group.covers.at(id).lanes);
      return binary(BinaryKind::Minimum, chunk, binary(BinaryKind::Sub, *whole, base, loc), loc);
    }
    ExprAttr symbol = ExprAttr::symbol(builder.getContext(), atom);
    Real real;
    real.value = program.getBody().getArgument(program.getNumPublicArguments() + (llvm::find(privates, symbol) - privates.begin()));
    return real;
  }
  case Index::Product: {
    std::optional<Real> product;
    for (const Index *factor : node->operands) {
      FailureOr<Real> real = realiseIndex(factor, loc);
      if (failed(real)) return failure();
      product = product ? binary(BinaryKind::Mul, *product, *real, loc) : *real;
    }
    return *product;
  }
  case Index::FloorDiv:
  case Index::Mod: {
    FailureOr<Real> a = realiseIndex(node->operands[0], loc), b = realiseIndex(node->operands[1], loc);
    if (failed(a) || failed(b)) return failure();
    return binary(node->kind == Index::Mod ? BinaryKind::Mod : BinaryKind::FloorDiv, *a, *b, loc);
  }
  case Index::Linear: break;
  }
  // One lane position and scalars beside it stay a progression, which accesses can read off.
  std::optional<Real> sum;
  const Index *lanes = nullptr;
  int64_t step = 0;
  SmallVector<std::pair<const Index *, int64_t>> rest;
  for (auto [term, coefficient] : llvm::zip_equal(node->operands, node->coefficients)) {
    const Binding *binding = term->kind == Index::Axis ? lookup(facts.find(term->axis)) : nullptr;
    if (binding && binding->lanes && !lanes) {
      lanes = term;
      step = coefficient;
    } else rest.emplace_back(term, coefficient);
  }
  auto addTerm = [&](const Real &real, int64_t coefficient) {
    bool subtract = sum && coefficient < 0 && coefficient != INT64_MIN;
    int64_t factor = subtract ? -coefficient : coefficient;
    Real scaled = factor == 1 ? real : binary(BinaryKind::Mul, real, indexConstant(factor, loc), loc);
    sum = sum ? binary(subtract ? BinaryKind::Sub : BinaryKind::Add, *sum, scaled, loc) : scaled;
  };
  llvm::stable_sort(rest, [](auto &a, auto &b) { return (a.second > 0) > (b.second > 0); });
  for (auto [term, coefficient] : rest) {
    FailureOr<Real> real = realiseIndex(term, loc);
    if (failed(real)) return failure();
    addTerm(*real, coefficient);
  }
  if (node->constant || !sum) {
    if (sum && node->constant < 0 && node->constant != INT64_MIN)
      sum = binary(BinaryKind::Sub, *sum, indexConstant(-node->constant, loc), loc);
    else sum = sum ? binary(BinaryKind::Add, *sum, indexConstant(node->constant, loc), loc) : indexConstant(node->constant, loc);
  }
  if (!lanes) return *sum;
  AxisId id = facts.find(lanes->axis);
  const Binding *binding = lookup(id);
  if (!sum->axes.empty()) {
    FailureOr<Real> at = realiseIndex(lanes, loc);
    if (failed(at)) return failure();
    addTerm(*at, step);
    return *sum;
  }
  Real base;
  base.value = binding->base;
  Real start = binary(BinaryKind::Add, step == 1 ? base : binary(BinaryKind::Mul, base, indexConstant(step, loc), loc), *sum, loc);
  Real result;
  result.axes = {id};
  result.value = LanesOp::create(builder, loc, FragmentType::get(builder.getContext(), builder.getIndexType(), {binding->lanes}),
                                 start.value, indexConstant(step, loc).value);
  return result;
}

//===- element-wise work -------------------------------------------------------------------------------===//

FailureOr<Real> Construction::elementWise(Operation *op, Reals operands) {
  Location loc = op->getLoc();
  Real result;
  result.axes = unite(operands);
  Type element = kir::elementType(op->getResult(0).getType());
  Type type = fragmentOrScalar(element, extents(result.axes));
  SmallVector<Value> values;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    bool scalarCondition = isa<kir::SelectOp>(op) && i == 0 && operand.axes.empty();
    values.push_back(scalarCondition ? operand.value : align(operand, result.axes, loc));
  }
  llvm::TypeSwitch<Operation *>(op)
      .Case<kir::UnaryOp>([&](kir::UnaryOp o) {
        result.value = UnaryOp::create(builder, loc, type, o.getKind(), values[0], o.getApproximate(), o.getFlushToZero());
        if (llvm::is_contained({UnaryKind::Abs, UnaryKind::Sqrt, UnaryKind::Floor, UnaryKind::Ceil, UnaryKind::Neg}, o.getKind()))
          result.zero = commonZeros(operands, result.axes);
      })
      .Case<kir::BinaryOp>([&](kir::BinaryOp o) {
        result.value = BinaryOp::create(builder, loc, type, o.getKind(), values[0], values[1], o.getApproximate(), o.getFlushToZero());
        if (keepsZero(o.getKind())) result.zero = commonZeros(operands, result.axes);
      })
      .Case<kir::CompareOp>(
          [&](kir::CompareOp o) { result.value = CompareOp::create(builder, loc, type, o.getPredicate(), values[0], values[1]); })
      .Case<kir::FmaOp>([&](kir::FmaOp) { result.value = FmaOp::create(builder, loc, type, values[0], values[1], values[2]); })
      .Case<kir::SelectOp>([&](kir::SelectOp) {
        result.value = SelectOp::create(builder, loc, type, values[0], values[1], values[2]);
        result.zero = commonZeros({operands[1], operands[2]}, result.axes);
      })
      .Case<kir::CastOp>([&](kir::CastOp) {
        result.value = CastOp::create(builder, loc, type, values[0]);
        result.zero = commonZeros(operands, result.axes);
      })
      .Case<kir::BitcastOp>([&](kir::BitcastOp) { result.value = BitcastOp::create(builder, loc, type, values[0]); });
  return result;
}

//===- demands -----------------------------------------------------------------------------------------===//

FailureOr<Real> Construction::realise(const Demand &demand) {
  Scope *scope = scopeOf(facts.freeAxes(demand));
  // Only there: an outer scope may know the value over another chunk of the same class.
  if (auto it = scope->memo.find(demand); it != scope->memo.end()) return it->second;
  FailureOr<Real> real = inScope(scope, [&] { return compute(demand); });
  if (succeeded(real)) scope->memo[demand] = *real;
  return real;
}

FailureOr<Real> Construction::compute(const Demand &demand) {
  auto [value, coordinates] = demand;
  if (handed && handed->slots.count(demand)) return finished(demand);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (isa<kir::KernelOp>(argument.getOwner()->getParentOp())) {
      Real real;
      real.value = program.getBody().getArgument(argument.getArgNumber());
      return real;
    }
    if (std::optional<Demand> source = facts.argumentDemand(argument, coordinates)) return realise(*source);
    std::optional<std::pair<Operation *, unsigned>> carry = Carries::of(argument);
    if (!carry) return realiseIndex(facts.indexOf(value, coordinates), value.getLoc());
    return elsewhere({value, facts.carryCoordinates(carry->first, carry->second)}, demand);
  }
  Operation *op = value.getDefiningOp();
  Location loc = op->getLoc();
  if (elementType(value.getType()).isIndex() || kir::elementType(value.getType()).isIndex()) {
    const Index *node = facts.indexOf(value, coordinates);
    if (node->kind != Index::Leaf || node->value != value) return realiseIndex(node, loc);
  }
  auto at = [&](Value v) { return Demand(v, isa<KirTensorType>(v.getType()) ? coordinates : Coordinates()); };
  if (auto constantOp = dyn_cast<kir::ConstantOp>(op)) return constant(constantOp.getValue(), loc);
  if (isa<kir::ReadOp>(op) || isReduction(op))
    for (Scope *scope = current; scope; scope = scope->parent)
      if (scope->keptIn.count(demand)) return elsewhere(demand, demand);
  if (auto read = dyn_cast<kir::ReadOp>(op)) {
    std::optional<Demand> stored = facts.forwarded(read, coordinates);
    if (!stored) return load(read, coordinates);
    FailureOr<Real> real = realise(*stored);
    Reals valid; // elsewhere it is a typed zero, as if it were loaded
    if (failed(real)) return failure();
    if (read.getValid()) {
      FailureOr<Real> chosen = realise(at(read.getValid()));
      if (failed(chosen)) return failure();
      valid.push_back(*chosen);
    }
    for (auto [place, extent] : facts.unproven(read, coordinates)) {
      FailureOr<Real> index = realiseIndex(place, loc);
      if (failed(index) || failed(guard(place, *index, extent, valid, loc))) return failure();
    }
    Type element = read.getView().getType().getElement();
    for (const Real &holds : valid)
      *real = select(holds, *real, constant(zeroConstant(element), loc), loc);
    return real;
  }
  if (isReduction(op)) return structured(demand);
  if (isEffect(op)) {
    SmallVector<Coordinates, 1> own{isLeafEffect(op) ? facts.ownCoordinates(op) : facts.carryCoordinates(op, *Carries(op).numberOf(value))};
    if (own[0] != coordinates) return elsewhere({value, own[0]}, demand);
    if (isLeafEffect(op) && leaveInMemory(demand)) return failure();
    return op->emitError("shared gpu: the result of this effect is needed by work that is not done in step with it");
  }
  if (facts.isRunning(demand)) return runningScan(demand);
  if (Carries::has(op)) {
    Demand own(value, facts.carryCoordinates(op, *Carries(op).numberOf(value)));
    if (own.second != coordinates) return elsewhere(own, demand);
    if (failed(runLoop(op, nullptr))) return failure();
    return current->memo.at(demand);
  }
  if (auto branch = dyn_cast<kir::IfOp>(op)) { // both sides are total: a choice of values needs no control
    unsigned i = cast<OpResult>(value).getResultNumber();
    FailureOr<Real> condition = realise({branch.getCondition(), {}});
    FailureOr<Real> taken = realise(at(branch.getThenRegion().front().getTerminator()->getOperand(i)));
    FailureOr<Real> other = realise(at(branch.getElseRegion().front().getTerminator()->getOperand(i)));
    if (failed(condition) || failed(taken) || failed(other)) return failure();
    return select(*condition, *taken, *other, loc);
  }
  if (auto join = dyn_cast<kir::JoinOp>(op)) {
    Coordinates inner(coordinates.begin(), std::prev(coordinates.end()));
    auto side = [&](Value v) { return realise({v, isa<KirTensorType>(v.getType()) ? inner : Coordinates()}); };
    if (std::optional<int64_t> which = coordinates.back()->getConstant()) return side(*which == 0 ? join.getLhs() : join.getRhs());
    FailureOr<Real> lhs = side(join.getLhs()), rhs = side(join.getRhs()), last = realiseIndex(coordinates.back(), loc);
    if (failed(lhs) || failed(rhs) || failed(last)) return failure();
    return select(compare(ComparePredicate::Eq, *last, indexConstant(0, loc), loc), *lhs, *rhs, loc);
  }
  if (isa<kir::BroadcastOp, kir::TransposeOp, kir::ReshapeOp, kir::ExtractOp>(op))
    return realise(facts.children(demand).back()); // only maps
  if (auto choice = dyn_cast<kir::SelectOp>(op); choice && isKnownToHold(choice.getCondition())) return realise(at(choice.getTrueValue()));
  if (isa<kir::UnaryOp, kir::BinaryOp, kir::CompareOp, kir::FmaOp, kir::SelectOp, kir::CastOp, kir::BitcastOp>(op)) {
    Reals operands;
    for (Value operand : op->getOperands()) {
      FailureOr<Real> real = realise(at(operand));
      if (failed(real)) return failure();
      operands.push_back(*real);
    }
    return elementWise(op, operands);
  }
  return op->emitError("shared gpu: no realisation of '") << op->getName() << "'";
}

} // namespace intent::conversion
