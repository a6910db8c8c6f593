// Index arithmetic is 64-bit in the block program. Most of it provably fits 32 bits for the launch at
// hand: bounds are launch expressions, so that the launcher checks them with the actual extents. Values
// that come from memory or from the author's scalars have no such bound and stay 64-bit.
#include "IndexWidth.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace intent;
using namespace intent::block;
using namespace intent::triton;

namespace {
ExprAttr add(ExprAttr a, ExprAttr b) { return ExprAttr::apply(ExprKind::Add, {a, b}); }
ExprAttr mul(ExprAttr a, ExprAttr b) { return ExprAttr::apply(ExprKind::Mul, {a, b}); }
ExprAttr min(ExprAttr a, ExprAttr b) { return ExprAttr::apply(ExprKind::Min, {a, b}); }

// Launch symbols are extents and strides or integer arguments; only extents are known not to be negative.
bool exprNonNegative(ExprAttr e) {
  ArrayRef<ExprAttr> v = e.getOperands();
  switch (e.getKind()) {
  case ExprKind::Constant: return e.getValue() >= 0;
  case ExprKind::Symbol: return !e.getSymbol().getValue().starts_with("%") && !e.getSymbol().getValue().contains('.');
  case ExprKind::Parameter: case ExprKind::Pow2Ceil: return true;
  case ExprKind::Add: case ExprKind::Mul: case ExprKind::Min: return exprNonNegative(v[0]) && exprNonNegative(v[1]);
  case ExprKind::Max: return exprNonNegative(v[0]) || exprNonNegative(v[1]);
  case ExprKind::FloorDiv: case ExprKind::CeilDiv: return exprNonNegative(v[0]);
  case ExprKind::Select: return exprNonNegative(v[1]) && exprNonNegative(v[2]);
  case ExprKind::Sub: return false;
  default: return true;
  }
}

ExprAttr max(ExprAttr a, ExprAttr b) {
  if (a.getConstant() == 0 && exprNonNegative(b)) return b;
  if (b.getConstant() == 0 && exprNonNegative(a)) return a;
  return ExprAttr::apply(ExprKind::Max, {a, b});
}

ExprAttr absolute(ExprAttr e) {
  if (exprNonNegative(e)) return e;
  return max(e, ExprAttr::apply(ExprKind::Sub, {ExprAttr::constant(e.getContext(), 0), e}));
}

bool isIndex(Value value) { return elementType(value.getType()).isIndex(); }

std::optional<int64_t> constantOf(Value value) {
  if (auto constant = value.getDefiningOp<ConstantOp>())
    if (auto integer = dyn_cast<IntegerAttr>(constant.getValue())) return integer.getInt();
  if (auto broadcast = value.getDefiningOp<BroadcastOp>()) return constantOf(broadcast.getValue());
  return std::nullopt;
}
} // namespace

ExprAttr IndexWidths::magnitude(Value value) {
  auto found = magnitudes.find(value);
  if (found != magnitudes.end()) return found->second;
  magnitudes[value] = {}; // a cycle through a loop has no bound
  return magnitudes[value] = computeMagnitude(value);
}

ExprAttr IndexWidths::computeMagnitude(Value value) {
  MLIRContext *context = value.getContext();
  if (!isIndex(value)) {
    auto integer = dyn_cast<IntegerType>(elementType(value.getType()));
    if (!integer || integer.getWidth() > 32) return {};
    return ExprAttr::constant(context, (int64_t(1) << (integer.getWidth() - !isUnsignedInteger(integer))) - isUnsignedInteger(integer));
  }
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto group = dyn_cast<GroupOp>(parent)) return group.getSize();
    if (auto own = dyn_cast<ProgramOp>(parent)) {
      unsigned publics = own.getNumPublicArguments();
      return argument.getArgNumber() < publics ? ExprAttr() : absolute(cast<ExprAttr>(own.getPrivates()[argument.getArgNumber() - publics]));
    }
    if (auto loop = dyn_cast<scf::ForOp>(parent); loop && argument == loop.getInductionVar()) {
      ExprAttr lower = magnitude(loop.getLowerBound()), upper = magnitude(loop.getUpperBound()), step = magnitude(loop.getStep());
      return lower && upper && step ? add(max(lower, upper), step) : ExprAttr();
    }
    return {};
  }
  auto both = [&](Value a, Value b, ExprAttr (*join)(ExprAttr, ExprAttr)) {
    ExprAttr x = magnitude(a), y = magnitude(b);
    return x && y ? join(x, y) : ExprAttr();
  };
  return llvm::TypeSwitch<Operation *, ExprAttr>(value.getDefiningOp())
      .Case([&](ConstantOp op) {
        int64_t v = cast<IntegerAttr>(op.getValue()).getInt();
        return v == INT64_MIN ? ExprAttr() : ExprAttr::constant(context, std::abs(v));
      })
      .Case([&](ParamOp op) { return absolute(op.getValue()); })
      .Case([&](LanesOp op) {
        ExprAttr base = magnitude(op.getBase()), step = magnitude(op.getStep());
        return base && step ? add(base, mul(step, op.getType().getExtents()[0])) : ExprAttr();
      })
      .Case<BroadcastOp, TransposeOp>([&](auto op) { return magnitude(op.getValue()); })
      .Case([&](CastOp op) { return isa<IntegerType>(elementType(op.getValue().getType())) ? magnitude(op.getValue()) : ExprAttr(); })
      .Case([&](SelectOp op) { return both(op.getTrueValue(), op.getFalseValue(), max); })
      .Case([&](UnaryOp op) { return op.getKind() == UnaryKind::Neg || op.getKind() == UnaryKind::Abs ? magnitude(op.getValue()) : ExprAttr(); })
      .Case([&](BinaryOp op) -> ExprAttr {
        Value a = op.getLhs(), b = op.getRhs();
        switch (op.getKind()) {
        case BinaryKind::Add: case BinaryKind::Sub: return both(a, b, add);
        case BinaryKind::Mul: return both(a, b, mul);
        case BinaryKind::FloorDiv: return magnitude(a);
        case BinaryKind::Mod: return magnitude(b);
        case BinaryKind::Minimum:
          // The smaller of two that are not negative is below either bound.
          if (nonNegative(a) && nonNegative(b)) {
            ExprAttr x = magnitude(a), y = magnitude(b);
            return x && y ? min(x, y) : x ? x : y;
          }
          return both(a, b, max);
        case BinaryKind::Maximum: return both(a, b, max);
        case BinaryKind::Shr: return magnitude(a);
        case BinaryKind::And:
          if (nonNegative(b)) return magnitude(b);
          return nonNegative(a) ? magnitude(a) : ExprAttr();
        default: return {};
        }
      })
      .Default([](Operation *) { return ExprAttr(); });
}

bool IndexWidths::nonNegative(Value value) {
  auto found = signs.find(value);
  if (found != signs.end()) return found->second;
  signs[value] = false;
  return signs[value] = computeNonNegative(value);
}

bool IndexWidths::computeNonNegative(Value value) {
  if (isa<IntegerType>(elementType(value.getType())) && isUnsignedInteger(elementType(value.getType()))) return true;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (isa<GroupOp>(parent)) return true;
    if (auto own = dyn_cast<ProgramOp>(parent)) {
      unsigned publics = own.getNumPublicArguments();
      return argument.getArgNumber() >= publics && exprNonNegative(cast<ExprAttr>(own.getPrivates()[argument.getArgNumber() - publics]));
    }
    auto loop = dyn_cast<scf::ForOp>(parent);
    return loop && argument == loop.getInductionVar() && nonNegative(loop.getLowerBound());
  }
  return llvm::TypeSwitch<Operation *, bool>(value.getDefiningOp())
      .Case([&](ConstantOp op) { return isa<IntegerAttr>(op.getValue()) && !cast<IntegerAttr>(op.getValue()).getValue().isNegative(); })
      .Case([&](ParamOp op) { return exprNonNegative(op.getValue()); })
      .Case([&](LanesOp op) { return nonNegative(op.getBase()) && nonNegative(op.getStep()); })
      .Case<BroadcastOp, TransposeOp>([&](auto op) { return nonNegative(op.getValue()); })
      .Case([&](CastOp op) {
        auto from = dyn_cast<IntegerType>(elementType(op.getValue().getType()));
        return nonNegative(op.getValue()) && (!from || from.getWidth() < 64);
      })
      .Case([&](SelectOp op) { return nonNegative(op.getTrueValue()) && nonNegative(op.getFalseValue()); })
      .Case([&](BinaryOp op) {
        bool a = nonNegative(op.getLhs()), b = nonNegative(op.getRhs());
        switch (op.getKind()) {
        case BinaryKind::Add: case BinaryKind::Mul: case BinaryKind::FloorDiv: case BinaryKind::Minimum: return isIndex(value) && a && b;
        case BinaryKind::Maximum: case BinaryKind::And: return a || b;
        case BinaryKind::Mod: return b;
        case BinaryKind::Shr: return a;
        default: return false;
        }
      })
      .Default([](Operation *) { return false; });
}

bool IndexWidths::positive(Value value) {
  if (std::optional<int64_t> constant = constantOf(value)) return *constant > 0;
  return llvm::TypeSwitch<Operation *, bool>(value.getDefiningOp())
      .Case([&](ParamOp op) { return op.getValue().getKind() == ExprKind::Parameter || op.getValue().getKind() == ExprKind::Pow2Ceil; })
      .Case([&](BroadcastOp op) { return positive(op.getValue()); })
      .Case([&](BinaryOp op) {
        switch (op.getKind()) {
        case BinaryKind::Mul: case BinaryKind::Minimum: return positive(op.getLhs()) && positive(op.getRhs());
        case BinaryKind::Maximum: return positive(op.getLhs()) || positive(op.getRhs());
        case BinaryKind::Add: return (positive(op.getLhs()) && nonNegative(op.getRhs())) || (nonNegative(op.getLhs()) && positive(op.getRhs()));
        default: return false;
        }
      })
      .Default([](Operation *) { return false; });
}

IndexKind IndexWidths::kind(Value value) {
  auto found = kinds.find(value);
  if (found != kinds.end()) return found->second;
  kinds[value] = IndexKind::Wide;
  return kinds[value] = computeKind(value);
}

IndexKind IndexWidths::computeKind(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (isa<GroupOp>(parent)) return IndexKind::Index;
    if (auto own = dyn_cast<ProgramOp>(parent)) return argument.getArgNumber() < own.getNumPublicArguments() ? IndexKind::Wide : IndexKind::Raw;
    if (auto loop = dyn_cast<scf::ForOp>(parent); loop && argument == loop.getInductionVar())
      return std::max({IndexKind::Raw, kind(loop.getLowerBound()), kind(loop.getUpperBound()), kind(loop.getStep())});
    return IndexKind::Wide;
  }
  Operation *op = value.getDefiningOp();
  if (isa<ConstantOp, ParamOp>(op)) return IndexKind::Literal;
  ExprAttr bound = magnitude(value);
  if (!bound || bound.getConstant().value_or(0) > INT32_MAX) return IndexKind::Wide;
  if (auto cast = dyn_cast<CastOp>(op)) return isIndex(cast.getValue()) ? kind(cast.getValue()) : IndexKind::Index;
  IndexKind result = isa<LanesOp>(op) ? IndexKind::Index : IndexKind::Literal;
  for (Value operand : op->getOperands())
    if (isIndex(operand)) result = std::max(result, kind(operand));
  return result;
}

// Whether `expr` cannot be below `part`, as in `ceil_div(part, b) * b + c`: then only `expr` needs a check.
static bool reaches(ExprAttr expr, ExprAttr part) {
  if (expr == part) return true;
  ArrayRef<ExprAttr> v = expr.getOperands();
  switch (expr.getKind()) {
  case ExprKind::Add: case ExprKind::Max: return (exprNonNegative(v[0]) && exprNonNegative(v[1])) && (reaches(v[0], part) || reaches(v[1], part));
  case ExprKind::Mul:
    if (v[0].getKind() == ExprKind::CeilDiv && v[0].getOperands()[1] == v[1]) return reaches(v[0].getOperands()[0], part);
    return false;
  default: return false;
  }
}

SmallVector<ExprAttr> IndexWidths::conditions() {
  llvm::SetVector<ExprAttr> bounds;
  // A sum, difference or product that wraps does no harm if what it feeds is again one of these and fits.
  auto wrapsHarmlessly = [](Operation *user) {
    if (isa<BroadcastOp, LanesOp>(user)) return true;
    auto binary = dyn_cast<BinaryOp>(user);
    return binary && (binary.getKind() == BinaryKind::Add || binary.getKind() == BinaryKind::Sub || binary.getKind() == BinaryKind::Mul);
  };
  auto check = [&](Value value) {
    if (!isIndex(value) || kind(value) == IndexKind::Literal || kind(value) == IndexKind::Wide || value.use_empty()) return;
    if (!isa<BlockArgument>(value) && llvm::all_of(value.getUsers(), wrapsHarmlessly)) return;
    if (ExprAttr bound = magnitude(value); bound && !bound.getConstant()) bounds.insert(bound);
  };
  program.walk([&](Operation *op) {
    for (Value result : op->getResults()) check(result);
    if (auto loop = dyn_cast<scf::ForOp>(op)) check(loop.getInductionVar());
  });
  SmallVector<ExprAttr> kept;
  for (ExprAttr bound : bounds)
    if (llvm::none_of(bounds, [&](ExprAttr other) { return other != bound && reaches(other, bound); })) kept.push_back(bound);
  return kept;
}
