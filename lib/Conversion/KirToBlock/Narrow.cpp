#include "Narrow.h"

#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace intent::kir;

namespace intent::conversion {
namespace {

bool same(std::optional<double> a, std::optional<double> b) { return a && b && *a == *b && std::signbit(*a) == std::signbit(*b); }

/// Constants that values of a region are under the assumption that one comparison is false everywhere. Each element of a
/// constant tensor is the constant.
class Assumption {
public:
  explicit Assumption(Value falsehood) : falsehood(falsehood) {}

  std::optional<double> evaluate(Value value) {
    auto [it, fresh] = known.try_emplace(value);
    if (!fresh) return it->second;
    std::optional<double> result = value == falsehood ? std::optional(0.0) : compute(value);
    return known[value] = result;
  }

private:
  std::optional<double> compute(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op) return std::nullopt;
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      if (auto number = dyn_cast<FloatAttr>(constant.getValue())) return number.getValueAsDouble();
      auto integer = cast<IntegerAttr>(constant.getValue()).getValue();
      return integer.getSignificantBits() <= 52 ? std::optional(double(integer.getSExtValue())) : std::nullopt;
    }
    if (isa<BroadcastOp, TransposeOp, ReshapeOp>(op)) return evaluate(op->getOperand(0));
    if (auto cast = dyn_cast<CastOp>(op)) { // only what every format holds
      std::optional<double> x = evaluate(cast.getValue());
      return x && (*x == 0 || *x == 1 || std::isinf(*x)) ? x : std::nullopt;
    }
    if (auto select = dyn_cast<SelectOp>(op)) {
      std::optional<double> condition = evaluate(select.getCondition());
      if (condition) return evaluate(*condition != 0 ? select.getTrueValue() : select.getFalseValue());
      std::optional<double> a = evaluate(select.getTrueValue()), b = evaluate(select.getFalseValue());
      return same(a, b) ? a : std::nullopt;
    }
    if (auto compare = dyn_cast<CompareOp>(op)) return relation(compare);
    if (auto unary = dyn_cast<UnaryOp>(op)) return function(unary);
    if (auto binary = dyn_cast<BinaryOp>(op)) return combine(binary.getKind(), binary.getLhs(), binary.getRhs());
    if (auto reduce = dyn_cast<ReduceOp>(op)) return fold(reduce, cast<OpResult>(value).getResultNumber());
    if (auto contract = dyn_cast<ContractOp>(op)) { // what excluded members multiply is not observable
      std::optional<double> a = evaluate(contract.getLhs()), b = evaluate(contract.getRhs());
      return (a && *a == 0) || (b && *b == 0) ? std::optional(0.0) : std::nullopt;
    }
    return std::nullopt;
  }

  std::optional<double> relation(CompareOp compare) {
    std::optional<double> a = evaluate(compare.getLhs()), b = evaluate(compare.getRhs());
    if (!a || !b) return std::nullopt;
    switch (compare.getPredicate()) {
    case ComparePredicate::Eq: return *a == *b;
    case ComparePredicate::Ne: return *a != *b;
    case ComparePredicate::Lt: return *a < *b;
    case ComparePredicate::Le: return *a <= *b;
    case ComparePredicate::Gt: return *a > *b;
    case ComparePredicate::Ge: return *a >= *b;
    }
    return std::nullopt;
  }

  std::optional<double> function(UnaryOp unary) {
    std::optional<double> x = evaluate(unary.getValue());
    if (!x) return std::nullopt;
    switch (unary.getKind()) {
    case UnaryKind::Neg: return isa<FloatType>(elementType(unary.getValue().getType())) ? std::optional(-*x) : std::nullopt;
    case UnaryKind::Not: return elementType(unary.getValue().getType()).isInteger(1) ? std::optional(*x == 0 ? 1.0 : 0.0) : std::nullopt;
    case UnaryKind::Exp:
    case UnaryKind::Exp2:
      if (*x == 0) return 1.0;
      return std::isinf(*x) && *x < 0 ? std::optional(0.0) : std::nullopt;
    default: return std::nullopt;
    }
  }

  std::optional<double> combine(BinaryKind kind, Value lhs, Value rhs) {
    std::optional<double> a = evaluate(lhs), b = evaluate(rhs);
    bool flag = elementType(lhs.getType()).isInteger(1);
    if (kind == BinaryKind::And && flag && ((a && *a == 0) || (b && *b == 0))) return 0.0;
    if (kind == BinaryKind::Or && flag && a && b) return *a != 0 || *b != 0;
    if (!a || !b || !isa<FloatType>(elementType(lhs.getType()))) return std::nullopt;
    return apply(kind, *a, *b);
  }

  // Results that no format rounds.
  static std::optional<double> apply(BinaryKind kind, double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return std::nullopt;
    double result;
    switch (kind) {
    case BinaryKind::Add: result = a + b; break;
    case BinaryKind::Sub: result = a - b; break;
    case BinaryKind::Mul: result = a * b; break;
    case BinaryKind::Maximum:
    case BinaryKind::MaximumNum: result = std::max(a, b); break;
    case BinaryKind::Minimum:
    case BinaryKind::MinimumNum: result = std::min(a, b); break;
    default: return std::nullopt;
    }
    bool exact = result == 0 || std::isinf(result) || result == a || result == b;
    return exact ? std::optional(result) : std::nullopt;
  }

  // A reduction of a constant whose combination with itself and with the identity it is.
  std::optional<double> fold(ReduceOp reduce, unsigned number) {
    if (reduce.getValues().size() != 1 || number != 0) return std::nullopt;
    std::optional<double> x = evaluate(reduce.getValues()[0]), identity = evaluate(reduce.getIdentities()[0]);
    ::mlir::Block &body = reduce.getCombine().front();
    auto op = dyn_cast<BinaryOp>(body.front());
    if (!x || !identity || !op || body.getTerminator()->getOperand(0) != op.getResult()) return std::nullopt;
    bool both = (op.getLhs() == body.getArgument(0) && op.getRhs() == body.getArgument(1)) ||
                (op.getLhs() == body.getArgument(1) && op.getRhs() == body.getArgument(0));
    if (!both || !isa<FloatType>(elementType(op.getLhs().getType()))) return std::nullopt;
    return same(apply(op.getKind(), *x, *x), x) && same(apply(op.getKind(), *identity, *x), x) ? x : std::nullopt;
  }

  Value falsehood;
  DenseMap<Value, std::optional<double>> known;
};

} // namespace

// With the comparison false everywhere the summary is the identity.
static bool leavesIdentity(RegionFoldOp fold, Value comparison) {
  Assumption assumed(comparison), nothing{Value()};
  OperandRange summaries = fold.getSummary().front().getTerminator()->getOperands().take_back(fold.getIdentities().size());
  for (auto [summary, identity] : llvm::zip_equal(summaries, fold.getIdentities())) {
    if (!same(assumed.evaluate(summary), nothing.evaluate(identity))) return false;
  }
  return true;
}

SmallVector<Bound> boundsOf(Facts &facts, RegionFoldOp fold, const DemandSet &demands) {
  SmallVector<Bound> bounds;
  AxisId chunk = facts.passClass(fold);
  llvm::DenseMap<Operation *, bool> proven;
  llvm::SmallPtrSet<Operation *, 4> elsewhere; // also asked where no bound says what it is
  for (const Demand &demand : demands.order) {
    auto compare = demand.first.getDefiningOp<CompareOp>();
    if (!compare || !fold.getSummary().isAncestor(compare->getParentRegion()) || !elementType(compare.getLhs().getType()).isIndex())
      continue;
    size_t before = bounds.size();
    auto find = [&] {
      auto at = [&](Value v) { return isa<KirTensorType>(v.getType()) ? demand.second : Coordinates(); };
      // position * pace + rest, compared with zero
      const Index *difference =
          facts.index.sub(facts.indexOf(compare.getLhs(), at(compare.getLhs())), facts.indexOf(compare.getRhs(), at(compare.getRhs())));
      std::optional<int64_t> pace = facts.index.coefficientOf(difference, chunk);
      if (pace != 1 && pace != -1) return;
      const Index *rest = facts.index.sub(difference, facts.index.mul(facts.index.constant(*pace), facts.index.axis(chunk)));
      std::optional<AxisId> slice; // the position in the chunk goes with the chunk
      forEachAxis(rest, [&](AxisId id) {
        if (facts.sliceOwner(id) == fold.getOperation()) slice = id;
      });
      if (!slice || facts.index.coefficientOf(rest, *slice) != pace) return;
      rest = facts.index.sub(rest, facts.index.mul(facts.index.constant(*pace), facts.index.axis(*slice)));
      if (llvm::any_of(facts.freeAxes(rest), [&](AxisId id) { return facts.isPass(id) || facts.sliceOwner(id); })) return;
      auto [it, fresh] = proven.try_emplace(compare, false);
      if (fresh) it->second = leavesIdentity(fold, compare.getResult());
      if (!it->second) return;
      const Index *limit = *pace == 1 ? facts.index.sub(facts.index.constant(0), rest) : rest; // position ? limit
      auto below = [&](bool strict) {
        bounds.push_back({strict ? facts.index.sub(limit, facts.index.constant(1)) : limit, true, compare});
      };
      auto above = [&](bool strict) {
        bounds.push_back({strict ? facts.index.add(limit, facts.index.constant(1)) : limit, false, compare});
      };
      bool mirrored = *pace == -1; // limit - position ? 0
      switch (compare.getPredicate()) {
      case ComparePredicate::Le: mirrored ? above(false) : below(false); break;
      case ComparePredicate::Lt: mirrored ? above(true) : below(true); break;
      case ComparePredicate::Ge: mirrored ? below(false) : above(false); break;
      case ComparePredicate::Gt: mirrored ? below(true) : above(true); break;
      case ComparePredicate::Eq: below(false), above(false); break;
      case ComparePredicate::Ne: break;
      }
    };
    find();
    if (bounds.size() == before) elsewhere.insert(compare);
  }
  for (Bound &bound : bounds)
    if (elsewhere.contains(bound.comparison)) bound.comparison = nullptr;
  return bounds;
}

} // namespace intent::conversion
