// Masks as sets of conjuncts: which lanes of a value are observed, and what the others hold.
#include "Plan.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace intent;
using namespace intent::block;

namespace intent::block::host {

SmallVector<unsigned, 4> compose(ArrayRef<unsigned> axes, ArrayRef<unsigned> outer) {
  SmallVector<unsigned, 4> result;
  for (unsigned axis : axes)
    result.push_back(outer[axis]);
  return result;
}

SmallVector<unsigned, 4> identityAxes(unsigned rank) { return llvm::to_vector<4>(llvm::seq(0u, rank)); }

Conjuncts mapped(const Conjuncts &conjuncts, ArrayRef<unsigned> outer) {
  Conjuncts result;
  for (const Conjunct &c : conjuncts) {
    SmallVector<unsigned, 4> axes = compose(c.axes, outer);
    result.push_back({c.base, SmallVector<unsigned, 2>(axes.begin(), axes.end())});
  }
  return result;
}

Conjuncts intersection(const Conjuncts &a, const Conjuncts &b) {
  Conjuncts result;
  for (const Conjunct &c : a)
    if (llvm::is_contained(b, c)) result.push_back(c);
  return result;
}

void unite(Conjuncts &into, const Conjuncts &from) {
  for (const Conjunct &c : from)
    if (!llvm::is_contained(into, c)) into.push_back(c);
}

bool isTransparent(Operation *op) {
  auto binary = dyn_cast<BinaryOp>(op);
  return isLazy(op) && elementType(op->getResult(0).getType()).isInteger(1) &&
         (isa<BroadcastOp, TransposeOp>(op) || (binary && binary.getKind() == BinaryKind::And));
}

Conjuncts conjunctsOf(Value mask, ArrayRef<unsigned> axes) {
  Conjuncts result, seen;
  Conjuncts work{{mask, SmallVector<unsigned, 2>(axes.begin(), axes.end())}};
  while (!work.empty()) {
    Conjunct at = work.pop_back_val();
    if (llvm::is_contained(seen, at)) continue;
    seen.push_back(at);
    Operation *op = at.base.getDefiningOp();
    if (op && isTransparent(op)) {
      Conjuncts operands;
      forEachOperand(op, at.axes, [&](Value operand, ArrayRef<unsigned> own) {
        operands.push_back({operand, SmallVector<unsigned, 2>(own.begin(), own.end())});
      });
      work.append(operands.rbegin(), operands.rend()); // the left one first
      continue;
    }
    // A constant true restricts nothing.
    if (auto constant = dyn_cast_or_null<ConstantOp>(op))
      if (auto integer = dyn_cast<IntegerAttr>(constant.getValue()); integer && integer.getValue().isOne()) continue;
    result.push_back(at);
  }
  return result;
}

Conjuncts conjunctsOf(ValueRange validity, ArrayAttr axes, ArrayRef<unsigned> outer) {
  Conjuncts all;
  for (auto [i, mask] : llvm::enumerate(validity))
    unite(all, conjunctsOf(mask, compose(axisList(axes, i), outer)));
  return all;
}

//===- lanes that nothing observes ----------------------------------------------------------------------===//

const Conjuncts &Plan::guard(Value value) {
  auto it = guards.find(value);
  if (it != guards.end()) return it->second;
  Conjuncts result = computeGuard(value);
  return guards[value] = std::move(result);
}

// Conjuncts of a user's result that lie only on axes which the operand has, in the operand's axes.
static Conjuncts restrictedTo(const Conjuncts &conjuncts, ArrayRef<unsigned> operandAxes) {
  Conjuncts result;
  for (const Conjunct &c : conjuncts) {
    SmallVector<unsigned, 2> own;
    for (unsigned axis : c.axes) {
      auto at = llvm::find(operandAxes, axis);
      if (at == operandAxes.end()) break;
      own.push_back(at - operandAxes.begin());
    }
    if (own.size() == c.axes.size()) result.push_back({c.base, own});
  }
  return result;
}

// Axes of a reduce's operand that its result keeps, in order.
static SmallVector<unsigned, 4> keptAxes(unsigned rank, unsigned reduced) {
  SmallVector<unsigned, 4> kept;
  for (unsigned axis = 0; axis < rank; ++axis)
    if (axis != reduced) kept.push_back(axis);
  return kept;
}

Conjuncts Plan::computeGuard(Value value) {
  std::optional<Conjuncts> all;
  auto meet = [&](const Conjuncts &use) { all = all ? intersection(*all, use) : use; };
  unsigned rank = extentsOf(value.getType()).size();
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    auto stored = [&](auto access, unsigned values) {
      bool value = use.getOperandNumber() < values;
      meet(value ? conjunctsOf(access.getValidity(), access.getValidAxes(), identityAxes(rank)) : Conjuncts());
    };
    if (auto store = dyn_cast<StoreOp>(user)) stored(store, 1);
    else if (auto atomic = dyn_cast<AtomicOp>(user)) stored(atomic, 1);
    else if (auto scatter = dyn_cast<ScatterReduceOp>(user)) stored(scatter, 1);
    else if (auto exchange = dyn_cast<CompareExchangeOp>(user)) stored(exchange, 2);
    else if (auto reduce = dyn_cast<ReduceOp>(user)) {
      std::optional<Conjuncts> results;
      for (Value result : reduce.getResults()) {
        const Conjuncts &own = isa<FragmentType>(result.getType()) ? guard(result) : Conjuncts();
        results = results ? intersection(*results, own) : own;
      }
      meet(mapped(*results, keptAxes(rank, reduce.getAxis())));
    } else if (auto scan = dyn_cast<ScanOp>(user)) {
      // What is observed along the axis depends on all before it.
      std::optional<Conjuncts> results;
      for (Value result : scan.getResults())
        results = results ? intersection(*results, guard(result)) : guard(result);
      llvm::erase_if(*results, [&](const Conjunct &c) { return llvm::is_contained(c.axes, scan.getAxis()); });
      meet(*results);
    } else if (auto pick = dyn_cast<PickOp>(user)) {
      meet(rank > 1 ? mapped(guard(pick.getResult()), keptAxes(rank, pick.getAxis())) : Conjuncts());
    } else if (auto contract = dyn_cast<ContractOp>(user)) {
      // The contracted axis is the last of lhs and the last but one of rhs; neither is an axis of the result.
      SmallVector<unsigned, 4> own = identityAxes(rank);
      const unsigned none = ~0u;
      unsigned operand = use.getOperandNumber();
      if (operand == 0) own[rank - 1] = none;
      if (operand == 1) own[rank - 2] = none;
      meet(restrictedTo(guard(contract.getResult()), own));
    } else if (isLazy(user) && !isa<LoadOp>(user)) {
      Conjuncts result = guard(user->getResult(0));
      SmallVector<unsigned, 4> resultAxes = identityAxes(extentsOf(user->getResult(0).getType()).size());
      if (auto select = dyn_cast<SelectOp>(user); select && use.getOperandNumber() == 1)
        unite(result, conjunctsOf(select.getCondition(), resultAxes));
      SmallVector<unsigned, 4> own = identityAxes(rank);
      forEachOperand(user, resultAxes, [&](Value operand, ArrayRef<unsigned> axes) {
        if (operand == value) own.assign(axes.begin(), axes.end());
      });
      meet(restrictedTo(result, own));
    } else meet({});
    if (all->empty()) break;
  }
  return all.value_or(Conjuncts());
}

//===- what a value holds where its mask is false ------------------------------------------------------===//

// A float constant after a widening cast, which is exact; null for other casts.
static Attribute widened(Attribute value, Type type) {
  auto from = dyn_cast_or_null<FloatAttr>(value);
  auto to = dyn_cast<FloatType>(type);
  if (!from || !to || to.getWidth() < from.getType().getIntOrFloatBitWidth()) return {};
  APFloat number = from.getValue();
  bool inexact = false;
  number.convert(to.getFloatSemantics(), APFloat::rmNearestTiesToEven, &inexact);
  return inexact ? Attribute() : FloatAttr::get(to, number);
}

static Attribute constantValue(Value value) {
  if (auto constant = value.getDefiningOp<ConstantOp>()) return constant.getValue();
  if (auto broadcast = value.getDefiningOp<BroadcastOp>()) return constantValue(broadcast.getValue());
  if (auto cast = value.getDefiningOp<CastOp>()) return widened(constantValue(cast.getValue()), elementType(cast.getType()));
  return {};
}

static bool isPositiveZero(Attribute value) {
  if (auto number = dyn_cast<FloatAttr>(value)) return number.getValue().isPosZero();
  auto integer = dyn_cast<IntegerAttr>(value);
  return integer && integer.getValue().isZero();
}

// Operations that make zero of nothing but zeros.
static bool keepsZero(Operation *op) {
  if (isa<BroadcastOp, TransposeOp, FmaOp>(op)) return true;
  auto binary = dyn_cast<BinaryOp>(op);
  return binary && intent::keepsZero(binary.getKind());
}

std::optional<MaskedConstant> Plan::maskedConstant(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !isLazy(op)) return std::nullopt;
  SmallVector<unsigned, 4> axes = identityAxes(extentsOf(value.getType()).size());
  if (auto load = dyn_cast<LoadOp>(op)) {
    Attribute fill = constantValue(load.getFill());
    Conjuncts when = conjunctsOf(load.getValidity(), load.getValidAxes(), axes);
    return fill && !when.empty() ? std::optional(MaskedConstant{fill, when}) : std::nullopt;
  }
  if (auto select = dyn_cast<SelectOp>(op)) {
    Attribute other = constantValue(select.getFalseValue());
    if (!other) return std::nullopt;
    MaskedConstant result{other, conjunctsOf(select.getCondition(), axes)};
    std::optional<MaskedConstant> inner = maskedConstant(select.getTrueValue());
    if (inner && inner->value == other) unite(result.when, inner->when);
    return result;
  }
  if (auto cast = dyn_cast<CastOp>(op)) {
    std::optional<MaskedConstant> inner = maskedConstant(cast.getValue());
    Attribute value = inner ? widened(inner->value, elementType(cast.getType())) : Attribute();
    if (!value) return std::nullopt;
    return MaskedConstant{value, inner->when};
  }
  if (keepsZero(op)) { // where all operands are zero
    std::optional<MaskedConstant> all;
    bool zeros = true;
    forEachOperand(op, axes, [&](Value operand, ArrayRef<unsigned> own) {
      std::optional<MaskedConstant> inner = maskedConstant(operand);
      zeros &= inner && isPositiveZero(inner->value);
      if (!zeros) return;
      Conjuncts when = mapped(inner->when, own);
      if (all) all->when = intersection(all->when, when);
      else all = MaskedConstant{inner->value, when};
    });
    if (zeros && all && !all->when.empty()) return all;
  }
  return std::nullopt;
}

} // namespace intent::block::host
