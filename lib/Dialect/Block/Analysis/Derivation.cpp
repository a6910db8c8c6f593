#include "intent/Dialect/Block/Analysis/Derivation.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include <set>

using namespace mlir;
using namespace intent;
using namespace intent::block;

using Lanes = SmallVector<LaneRelation, 4>;

bool LaneRelation::holds(int64_t lane, int64_t extent, ArrayRef<int64_t> own) const {
  switch (kind) {
  case Any: return true;
  case Same: return lane == own[axis];
  case UpTo: return lane <= own[axis];
  case From: return lane >= own[axis];
  case First: return lane == 0;
  case Last: return lane == extent - 1;
  case Unknown: return false;
  }
  return false;
}

static bool isElementWise(Operation *op) { return isa<UnaryOp, BinaryOp, CompareOp, FmaOp, SelectOp, CastOp, BitcastOp, TransposeOp>(op); }

static bool readsMemory(Operation *op) { return isa<LoadOp, AtomicOp, CompareExchangeOp>(op); }

static unsigned rankOf(Value value) { return extentsOf(value.getType()).size(); }

// An axis of one lane repeats nothing.
static bool hasLanes(Type type, llvm::function_ref<bool(unsigned)> counts = [](unsigned) { return true; }) {
  for (auto [axis, extent] : llvm::enumerate(extentsOf(type)))
    if (extent.getConstant() != 1 && counts(axis)) return true;
  return false;
}

// It may have one lane alone in some configuration, which then all threads of the instance hold.
static bool mayBeScalar(Operation *op, Type type) {
  auto program = op->getParentOfType<ProgramOp>();
  return llvm::all_of(extentsOf(type), [&](ExprAttr extent) {
    if (extent.getKind() != ExprKind::Parameter) return extent.getConstant().value_or(1) == 1;
    for (auto parameter : program.getParameters().getAsRange<ParameterAttr>())
      if (parameter.getSymbol() == extent.getSymbol()) return parameter.getDomain().empty() || parameter.getDomain().front() == 1;
    return true;
  });
}

// What gives an access its lanes, its operands that are values, and the places of the others on its axes.
namespace {
struct Parts {
  Type shape;
  SmallVector<Value, 2> values;
  SmallVector<std::pair<Value, SmallVector<unsigned, 4>>, 8> aligned;
};
} // namespace

static Parts partsOf(Operation *op) {
  Parts parts;
  auto fill = [&](auto access, Type shape, ValueRange values) {
    parts.shape = shape;
    parts.values.assign(values.begin(), values.end());
    for (auto [i, coordinate] : llvm::enumerate(access.getCoordinates()))
      parts.aligned.emplace_back(coordinate, axisList(access.getCoordinateAxes(), i));
    for (auto [i, mask] : llvm::enumerate(access.getValidity()))
      parts.aligned.emplace_back(mask, axisList(access.getValidAxes(), i));
  };
  if (auto load = dyn_cast<LoadOp>(op)) fill(load, load.getType(), {});
  if (auto store = dyn_cast<StoreOp>(op)) fill(store, store.getValue().getType(), store.getValue());
  if (auto scatter = dyn_cast<ScatterReduceOp>(op)) fill(scatter, scatter.getValue().getType(), scatter.getValue());
  if (auto atomic = dyn_cast<AtomicOp>(op)) fill(atomic, atomic.getValue().getType(), atomic.getValue());
  if (auto exchange = dyn_cast<CompareExchangeOp>(op))
    fill(exchange, exchange.getExpected().getType(), {exchange.getExpected(), exchange.getDesired()});
  return parts;
}

//===- from an access to what it needs -----------------------------------------------------------------===//

namespace {
/// Walks from an access against the direction of data. `spread`: between the value and the next operation that mixes
/// lanes, an element goes to several lanes.
class Backward {
public:
  explicit Backward(Operation *access) {
    needParts(access, Lanes(), /*own=*/true, false, false);
    for (Operation *inner = access, *op = access->getParentOp(); op && !isa<GroupOp>(op); inner = op, op = op->getParentOp()) {
      if (auto branch = dyn_cast<scf::IfOp>(op)) push(branch.getCondition(), {}, true, false);
      if (auto loop = dyn_cast<scf::ForOp>(op)) needBounds(loop, false);
      if (auto loop = dyn_cast<scf::WhileOp>(op))
        push(loop.getConditionOp().getCondition(), {}, true, inner->getParentRegion() == &loop.getBefore());
    }
    while (!work.empty()) {
      Step step = work.pop_back_val();
      std::vector<LaneRelation> lanes(step.lanes.begin(), step.lanes.end());
      if (seen.insert({step.value.getAsOpaquePointer(), std::move(lanes), step.spread, step.carried}).second) visit(step);
    }
  }
  SmallVector<Derivation, 4> found;

private:
  struct Step {
    Value value;
    Lanes lanes;
    bool spread, carried;
  };
  void push(Value value, Lanes lanes, bool spread, bool carried) { work.push_back({value, std::move(lanes), spread, carried}); }

  void needBounds(scf::ForOp loop, bool carried) {
    for (Value bound : {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
      push(bound, {}, true, carried);
  }

  // `own`: the access itself, whose lanes stand for themselves.
  void needParts(Operation *op, Lanes lanes, bool own, bool spread, bool carried) {
    Parts parts = partsOf(op);
    if (own)
      for (unsigned axis = 0; axis < extentsOf(parts.shape).size(); ++axis)
        lanes.push_back({LaneRelation::Same, axis});
    for (Value value : parts.values)
      push(value, lanes, spread, carried);
    for (auto &[value, axes] : parts.aligned) {
      bool repeats = hasLanes(parts.shape, [&](unsigned axis) { return !llvm::is_contained(axes, axis); });
      push(value, llvm::map_to_vector<4>(axes, [&](unsigned axis) { return lanes[axis]; }), spread || repeats, carried);
    }
  }

  void visit(const Step &step) {
    auto [value, lanes, spread, carried] = step;
    if (auto argument = dyn_cast<BlockArgument>(value)) return visitArgument(argument, step);
    Operation *op = value.getDefiningOp();
    if (readsMemory(op)) {
      bool again = spread && isa<LoadOp>(op); // an atomic access acts once, whoever gets its result
      if (!again) found.push_back({op, lanes, carried});
      return needParts(op, lanes, false, again, carried);
    }
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      lanes.insert(lanes.begin() + reduce.getAxis(), LaneRelation());
      for (Value operand : reduce.getValues())
        push(operand, lanes, false, carried);
      for (Value identity : reduce.getIdentities())
        push(identity, {}, true, carried);
    } else if (auto scan = dyn_cast<ScanOp>(op)) {
      LaneRelation &along = lanes[scan.getAxis()];
      along = scanned(along, scan.getReverse());
      for (Value operand : scan.getValues())
        push(operand, lanes, false, carried);
      for (Value identity : scan.getIdentities())
        push(identity, {}, true, carried);
    } else if (auto pick = dyn_cast<PickOp>(op)) {
      lanes.insert(lanes.begin() + pick.getAxis(), LaneRelation{pickedLane(pick), 0});
      push(pick.getValue(), lanes, false, carried);
      push(pick.getLane(), {}, true, carried);
    } else if (auto contract = dyn_cast<ContractOp>(op)) {
      Lanes lhs(lanes), rhs(lanes);
      lhs.back() = rhs[rhs.size() - 2] = LaneRelation();
      push(contract.getLhs(), lhs, false, carried);
      push(contract.getRhs(), rhs, false, carried);
      push(contract.getAccumulator(), lanes, spread, carried);
    } else if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
      ArrayRef<int64_t> axes = broadcast.getAxes();
      bool repeats = hasLanes(broadcast.getType(), [&](unsigned axis) { return !llvm::is_contained(axes, int64_t(axis)); });
      push(broadcast.getValue(), llvm::map_to_vector<4>(axes, [&](int64_t axis) { return lanes[axis]; }), spread || repeats, carried);
    } else if (auto transpose = dyn_cast<TransposeOp>(op)) {
      Lanes own(lanes.size());
      for (auto [i, axis] : llvm::enumerate(transpose.getPermutation()))
        own[axis] = lanes[i];
      push(transpose.getValue(), own, spread, carried);
    } else if (isElementWise(op) || isa<LanesOp>(op)) {
      for (Value operand : op->getOperands()) {
        bool scalar = !rankOf(operand) && rankOf(value);
        push(operand, scalar ? Lanes() : lanes, spread || (scalar && hasLanes(value.getType())), carried);
      }
    } else visitControl(op, step);
  }

  static LaneRelation scanned(LaneRelation along, bool reverse) {
    using R = LaneRelation;
    R::Kind own = reverse ? R::From : R::UpTo;
    if (along.kind == R::Same || along.kind == own) return {own, along.axis};
    if (along.kind == R::Unknown || along.kind == (reverse ? R::Last : R::First)) return along;
    return {};
  }

  static LaneRelation::Kind pickedLane(PickOp pick) {
    ExprAttr extent = extentsOf(pick.getValue().getType())[pick.getAxis()];
    auto numberOf = [](Value value) -> ExprAttr {
      if (auto param = value.getDefiningOp<ParamOp>()) return param.getValue();
      auto constant = value.getDefiningOp<ConstantOp>();
      auto integer = constant ? dyn_cast<IntegerAttr>(constant.getValue()) : IntegerAttr();
      return integer ? ExprAttr::constant(value.getContext(), integer.getValue().getSExtValue()) : ExprAttr();
    };
    ExprAttr lane = numberOf(pick.getLane()), one = ExprAttr::constant(pick.getContext(), 1);
    if (lane && lane.getConstant() == 0) return LaneRelation::First;
    auto minus = pick.getLane().getDefiningOp<BinaryOp>();
    if (minus && minus.getKind() == BinaryKind::Sub && numberOf(minus.getLhs()) == extent && numberOf(minus.getRhs()) == one)
      return LaneRelation::Last;
    if (lane && lane.getConstant() && extent.getConstant() && *lane.getConstant() == *extent.getConstant() - 1) return LaneRelation::Last;
    return LaneRelation::Unknown;
  }

  void visitArgument(BlockArgument argument, const Step &step) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto loop = dyn_cast<scf::ForOp>(parent)) {
      if (argument == loop.getInductionVar()) return needBounds(loop, step.carried);
      unsigned i = argument.getArgNumber() - 1;
      push(loop.getInitArgs()[i], step.lanes, step.spread, step.carried);
      push(loop.getYieldedValues()[i], step.lanes, step.spread, true);
    } else if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
      unsigned i = argument.getArgNumber();
      if (argument.getOwner() == loop.getAfterBody())
        return push(loop.getConditionOp().getArgs()[i], step.lanes, step.spread, step.carried);
      push(loop.getInits()[i], step.lanes, step.spread, step.carried);
      push(loop.getYieldedValues()[i], step.lanes, step.spread, true);
    }
  }

  void visitControl(Operation *op, const Step &step) {
    unsigned i = cast<OpResult>(step.value).getResultNumber();
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      push(loop.getInitArgs()[i], step.lanes, step.spread, step.carried);
      push(loop.getYieldedValues()[i], step.lanes, step.spread, true);
      needBounds(loop, step.carried);
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      push(branch.getCondition(), {}, true, step.carried);
      for (Region *side : {&branch.getThenRegion(), &branch.getElseRegion()})
        push(side->front().getTerminator()->getOperand(i), step.lanes, step.spread, step.carried);
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      push(loop.getConditionOp().getArgs()[i], step.lanes, step.spread, true);
      push(loop.getConditionOp().getCondition(), {}, true, true);
    }
  }

  SmallVector<Step> work;
  std::set<std::tuple<void *, std::vector<LaneRelation>, bool, bool>> seen;
};
} // namespace

//===- from a read to where its elements go ------------------------------------------------------------===//

// Where a value that leaves a region through its terminator arrives.
static void receivers(OpOperand &use, SmallVectorImpl<Value> &into) {
  Operation *terminator = use.getOwner(), *parent = terminator->getParentOp();
  unsigned i = use.getOperandNumber();
  if (isa<scf::ConditionOp>(terminator)) {
    into.push_back(parent->getResult(i - 1));
    into.push_back(cast<scf::WhileOp>(parent).getAfterArguments()[i - 1]);
  } else if (auto loop = dyn_cast<scf::WhileOp>(parent)) into.push_back(loop.getBeforeArguments()[i]);
  else {
    into.push_back(parent->getResult(i));
    if (auto loop = dyn_cast<scf::ForOp>(parent)) into.push_back(loop.getRegionIterArg(i));
  }
}

// Several lanes get an element of what `source` reads, or an access that `access` does not need the one of what may be a scalar.
static bool isHandedOut(LoadOp source, Operation *access, ArrayRef<Derivation> needs) {
  auto isNeeded = [&](Operation *op) {
    return op == access || llvm::any_of(needs, [&](const Derivation &need) { return need.source == op; });
  };
  struct Step {
    Value value;
    bool mixed; // made of the elements of other lanes, too
    bool operator<(const Step &other) const {
      return std::pair(value.getAsOpaquePointer(), mixed) < std::pair(other.value.getAsOpaquePointer(), other.mixed);
    }
  };
  SmallVector<Step> work{{source.getResult(), false}};
  std::set<Step> seen;
  bool scalar = !hasLanes(source.getType()), alone = scalar || mayBeScalar(source, source.getType());
  while (!work.empty()) {
    Step step = work.pop_back_val();
    if (!seen.insert(step).second) continue;
    auto follow = [&](ValueRange values, bool mixed) {
      for (Value value : values)
        work.push_back({value, mixed});
    };
    for (OpOperand &use : step.value.getUses()) {
      Operation *user = use.getOwner();
      if (isa<scf::YieldOp>(user) || (isa<scf::ConditionOp>(user) && use.getOperandNumber())) {
        SmallVector<Value> into;
        receivers(use, into);
        follow(into, step.mixed);
        continue;
      }
      if (auto loop = dyn_cast<scf::ForOp>(user); loop && use.getOperandNumber() >= 3) {
        unsigned i = use.getOperandNumber() - 3;
        follow({loop.getRegionIterArg(i), loop.getResult(i)}, step.mixed);
        continue;
      }
      if (auto loop = dyn_cast<scf::WhileOp>(user)) {
        follow(loop.getBeforeArguments()[use.getOperandNumber()], step.mixed);
        continue;
      }
      if (Type shape = partsOf(user).shape) {
        bool repeats = scalar || rankOf(step.value) < extentsOf(shape).size();
        if (hasLanes(shape) && repeats && !step.mixed) return true;
        if (alone && !isa<LoadOp>(user) && !isNeeded(user)) return true;
        if (isa<LoadOp>(user)) follow(user->getResult(0), step.mixed);
        continue;
      }
      if (isa<BroadcastOp>(user) || isElementWise(user)) {
        Value result = user->getResult(0);
        if (hasLanes(result.getType()) && rankOf(step.value) < rankOf(result) && !step.mixed) return true;
        follow(result, step.mixed);
        continue;
      }
      if (auto contract = dyn_cast<ContractOp>(user); contract && use.getOperandNumber() == 2) follow(contract.getResult(), step.mixed);
      else if (alone && isa<ReduceOp, ScanOp>(user)) follow(user->getResults(), true);
      else if (alone) return true; // control, and operands that all lanes share
    }
  }
  return false;
}

SmallVector<Derivation, 4> intent::block::derivationsOf(Operation *access) {
  SmallVector<Derivation, 4> all = std::move(Backward(access).found), found;
  llvm::DenseMap<Operation *, bool> handedOut;
  for (const Derivation &derivation : all) {
    auto [known, fresh] = handedOut.try_emplace(derivation.source);
    auto load = dyn_cast<LoadOp>(derivation.source);
    if (fresh) known->second = load && isHandedOut(load, access, all);
    if (!known->second) found.push_back(derivation);
  }
  return found;
}
