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

using Bound = std::optional<int64_t>;

Bound addBounds(Bound a, Bound b) {
  int64_t sum;
  return a && b && !llvm::AddOverflow(*a, *b, sum) ? Bound(sum) : std::nullopt;
}
// Of factors that are not negative.
Bound mulBounds(Bound a, Bound b) {
  int64_t product;
  return a && b && *a >= 0 && *b >= 0 && !llvm::MulOverflow(*a, *b, product) ? Bound(product) : std::nullopt;
}
Bound smaller(Bound a, Bound b) { return a && b ? Bound(std::min(*a, *b)) : std::nullopt; }
Bound larger(Bound a, Bound b) { return a && b ? Bound(std::max(*a, *b)) : a ? a : b; }

// Launch symbols are extents and strides or integer arguments; only extents are known not to be negative.
Bound lowerBoundOf(ExprAttr e) {
  ArrayRef<ExprAttr> v = e.getOperands();
  switch (e.getKind()) {
  case ExprKind::Constant: return e.getValue();
  case ExprKind::Symbol: {
    StringRef name = e.getSymbol().getValue();
    return name.starts_with("%") || name.contains('.') ? std::nullopt : Bound(0);
  }
  case ExprKind::Parameter:
  case ExprKind::Pow2Ceil: return 1;
  case ExprKind::Add: return addBounds(lowerBoundOf(v[0]), lowerBoundOf(v[1]));
  case ExprKind::Sub: return v[1].getConstant() ? addBounds(lowerBoundOf(v[0]), -*v[1].getConstant()) : std::nullopt;
  case ExprKind::Mul: return mulBounds(lowerBoundOf(v[0]), lowerBoundOf(v[1]));
  case ExprKind::Min: return smaller(lowerBoundOf(v[0]), lowerBoundOf(v[1]));
  case ExprKind::Max: return larger(lowerBoundOf(v[0]), lowerBoundOf(v[1]));
  case ExprKind::FloorDiv: return lowerBoundOf(v[0]).value_or(-1) >= 0 ? Bound(0) : std::nullopt;
  case ExprKind::CeilDiv: {
    Bound numerator = lowerBoundOf(v[0]);
    return numerator.value_or(-1) < 0 ? std::nullopt : Bound(*numerator > 0);
  }
  case ExprKind::Select: return smaller(lowerBoundOf(v[1]), lowerBoundOf(v[2]));
  default: return 0;
  }
}
bool exprNonNegative(ExprAttr e) { return lowerBoundOf(e).value_or(-1) >= 0; }

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
      return argument.getArgNumber() < publics ? ExprAttr()
                                               : absolute(cast<ExprAttr>(own.getPrivates()[argument.getArgNumber() - publics]));
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
      .Case([&](UnaryOp op) {
        return op.getKind() == UnaryKind::Neg || op.getKind() == UnaryKind::Abs ? magnitude(op.getValue()) : ExprAttr();
      })
      .Case([&](BinaryOp op) -> ExprAttr {
        Value a = op.getLhs(), b = op.getRhs();
        switch (op.getKind()) {
        case BinaryKind::Add: return both(a, b, add);
        case BinaryKind::Sub:
          // Less than what it starts from, where the result is not negative either.
          if (nonNegative(a) && nonNegative(b) && nonNegative(op)) return magnitude(a);
          return both(a, b, add);
        case BinaryKind::Mul: return both(a, b, mul);
        case BinaryKind::FloorDiv: {
          ExprAttr x = magnitude(a);
          auto divisor = b.getDefiningOp<ParamOp>();
          return x && divisor && nonNegative(a) && lowerBoundOf(divisor.getValue()).value_or(0) > 0
                     ? ExprAttr::apply(ExprKind::FloorDiv, {x, divisor.getValue()})
                     : x;
        }
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

std::optional<int64_t> IndexWidths::lowerBound(Value value) {
  auto found = lowerBounds.find(value);
  if (found != lowerBounds.end()) return found->second;
  lowerBounds[value] = std::nullopt;
  return lowerBounds[value] = computeLowerBound(value);
}

// `rows - first` where `first = p // (height * columns) * height` and p counts rows * columns instances: the
// group of a swizzle always has a row.
static bool startsAGroup(Value rows, Value first) {
  auto strip = [](Value v, BinaryKind kind) {
    auto op = v.getDefiningOp<BinaryOp>();
    return op && op.getKind() == kind ? op : BinaryOp();
  };
  auto sameValue = [](Value a, Value b) {
    if (a == b) return true;
    auto x = a.getDefiningOp<ParamOp>(), y = b.getDefiningOp<ParamOp>();
    return x && y && x.getValue() == y.getValue();
  };
  BinaryOp product = strip(first, BinaryKind::Mul);
  BinaryOp quotient = product ? strip(product.getLhs(), BinaryKind::FloorDiv) : BinaryOp();
  BinaryOp perGroup = quotient ? strip(quotient.getRhs(), BinaryKind::Mul) : BinaryOp();
  if (!perGroup || !sameValue(perGroup.getLhs(), product.getRhs())) return false;
  // The extents of the decoded space: ceil_div as (extent + b - 1) // b, or the extent itself.
  auto spell = [](Value v) -> ExprAttr {
    auto extent = [](Value v) -> ExprAttr {
      auto argument = dyn_cast<BlockArgument>(v);
      auto program = argument ? dyn_cast<ProgramOp>(argument.getOwner()->getParentOp()) : ProgramOp();
      if (!program || argument.getArgNumber() < program.getNumPublicArguments()) return {};
      return cast<ExprAttr>(program.getPrivates()[argument.getArgNumber() - program.getNumPublicArguments()]);
    };
    if (ExprAttr whole = extent(v)) return whole;
    auto division = v.getDefiningOp<BinaryOp>();
    auto block = division && division.getKind() == BinaryKind::FloorDiv ? division.getRhs().getDefiningOp<ParamOp>() : ParamOp();
    auto sum = block ? division.getLhs().getDefiningOp<BinaryOp>() : BinaryOp();
    ExprAttr base = sum && sum.getKind() == BinaryKind::Add ? extent(sum.getLhs()) : ExprAttr();
    return base ? ExprAttr::apply(ExprKind::CeilDiv, {base, block.getValue()}) : ExprAttr();
  };
  auto instance = dyn_cast<BlockArgument>(quotient.getLhs());
  auto group = instance ? dyn_cast<GroupOp>(instance.getOwner()->getParentOp()) : GroupOp();
  ExprAttr r = spell(rows), c = spell(perGroup.getRhs());
  return group && r && c && group.getSize() == ExprAttr::apply(ExprKind::Mul, {r, c});
}

std::optional<int64_t> IndexWidths::computeLowerBound(Value value) {
  if (isa<IntegerType>(elementType(value.getType())) && isUnsignedInteger(elementType(value.getType()))) return 0;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (isa<GroupOp>(parent)) return 0;
    if (auto own = dyn_cast<ProgramOp>(parent)) {
      unsigned publics = own.getNumPublicArguments();
      return argument.getArgNumber() < publics ? std::nullopt
                                               : lowerBoundOf(cast<ExprAttr>(own.getPrivates()[argument.getArgNumber() - publics]));
    }
    auto loop = dyn_cast<scf::ForOp>(parent);
    return loop && argument == loop.getInductionVar() ? lowerBound(loop.getLowerBound()) : std::nullopt;
  }
  bool index = isIndex(value);
  return llvm::TypeSwitch<Operation *, Bound>(value.getDefiningOp())
      .Case([&](ConstantOp op) {
        auto integer = dyn_cast<IntegerAttr>(op.getValue());
        return integer && integer.getValue().getSignificantBits() <= 64 ? Bound(integer.getValue().getSExtValue()) : std::nullopt;
      })
      .Case([&](ParamOp op) { return lowerBoundOf(op.getValue()); })
      .Case([&](LanesOp op) { return nonNegative(op.getStep()) ? lowerBound(op.getBase()) : std::nullopt; })
      .Case<BroadcastOp, TransposeOp>([&](auto op) { return lowerBound(op.getValue()); })
      .Case([&](CastOp op) {
        // Only where every value of the source's dtype is one of the result's: any other may wrap.
        auto width = [](Type type) { return type.isIndex() ? 64u : type.getIntOrFloatBitWidth(); };
        Type from = elementType(op.getValue().getType()), to = elementType(op.getType());
        if (!isa<IntegerType, IndexType>(from) || !isa<IntegerType, IndexType>(to)) return Bound();
        bool holds = isUnsignedInteger(from) == isUnsignedInteger(to) ? width(to) >= width(from)
                                                                      : isUnsignedInteger(from) && width(to) > width(from);
        return holds ? lowerBound(op.getValue()) : Bound();
      })
      .Case([&](SelectOp op) { return smaller(lowerBound(op.getTrueValue()), lowerBound(op.getFalseValue())); })
      .Case([&](BinaryOp op) -> Bound {
        Bound a = lowerBound(op.getLhs()), b = lowerBound(op.getRhs());
        switch (op.getKind()) {
        case BinaryKind::Add: return index ? addBounds(a, b) : std::nullopt;
        case BinaryKind::Sub: {
          if (!index) return std::nullopt;
          auto constant = op.getRhs().getDefiningOp<ConstantOp>();
          if (constant && b && *b != INT64_MIN) return addBounds(a, -*b);
          return startsAGroup(op.getLhs(), op.getRhs()) ? Bound(1) : std::nullopt;
        }
        case BinaryKind::Mul: return index ? mulBounds(a, b) : std::nullopt;
        case BinaryKind::FloorDiv: return a.value_or(-1) >= 0 && b.value_or(-1) >= 0 ? Bound(0) : std::nullopt;
        case BinaryKind::Minimum: return smaller(a, b);
        case BinaryKind::Maximum: return larger(a, b);
        case BinaryKind::And: return a.value_or(-1) >= 0 || b.value_or(-1) >= 0 ? Bound(0) : std::nullopt;
        case BinaryKind::Mod: return b.value_or(-1) >= 0 ? Bound(0) : std::nullopt;
        case BinaryKind::Shr: return a.value_or(-1) >= 0 ? Bound(0) : std::nullopt;
        default: return std::nullopt;
        }
      })
      .Default([](Operation *) { return std::nullopt; });
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
    if (auto own = dyn_cast<ProgramOp>(parent))
      return argument.getArgNumber() < own.getNumPublicArguments() ? IndexKind::Wide : IndexKind::Raw;
    if (auto loop = dyn_cast<scf::ForOp>(parent); loop && argument == loop.getInductionVar())
      return std::max({IndexKind::Raw, kind(loop.getLowerBound()), kind(loop.getUpperBound()), kind(loop.getStep())});
    return IndexKind::Wide;
  }
  Operation *op = value.getDefiningOp();
  ExprAttr bound = magnitude(value);
  if (!bound || bound.getConstant().value_or(0) > INT32_MAX) return IndexKind::Wide;
  if (isa<ConstantOp, ParamOp>(op)) return IndexKind::Literal;
  if (auto shift = dyn_cast<BinaryOp>(op); shift && shift.getKind() == BinaryKind::Shr) { // by less than 64 bits
    auto amount = shift.getRhs().getDefiningOp<ConstantOp>();
    if (!amount || cast<IntegerAttr>(amount.getValue()).getInt() > 31) return IndexKind::Wide;
  }
  if (auto cast = dyn_cast<CastOp>(op)) return isIndex(cast.getValue()) ? kind(cast.getValue()) : IndexKind::Index;
  IndexKind result = isa<LanesOp>(op) ? IndexKind::Index : IndexKind::Literal;
  for (Value operand : op->getOperands())
    if (isIndex(operand)) result = std::max(result, kind(operand));
  // Arguments have 32 bits or 64 as their values need: what two of them give may need more than either.
  auto binary = dyn_cast<BinaryOp>(op);
  bool grows = binary && llvm::is_contained({BinaryKind::Add, BinaryKind::Mul}, binary.getKind());
  bool arguments = grows && kind(binary.getLhs()) == IndexKind::Raw && kind(binary.getRhs()) == IndexKind::Raw;
  return arguments ? IndexKind::Index : result;
}

// Whether `expr` cannot be below `part`, as in `ceil_div(part, b) * b + c`: then only `expr` needs a check.
static bool reaches(ExprAttr expr, ExprAttr part) {
  if (expr == part) return true;
  ArrayRef<ExprAttr> v = expr.getOperands();
  switch (expr.getKind()) {
  case ExprKind::Add:
  case ExprKind::Max: return (exprNonNegative(v[0]) && exprNonNegative(v[1])) && (reaches(v[0], part) || reaches(v[1], part));
  case ExprKind::Mul:
    if (v[0].getKind() == ExprKind::CeilDiv && v[0].getOperands()[1] == v[1]) return reaches(v[0].getOperands()[0], part);
    return false;
  default: return false;
  }
}

SmallVector<ExprAttr> IndexWidths::conditions() {
  llvm::SetVector<ExprAttr> bounds;
  // A sum, difference or product that wraps does no harm if what it feeds is again one of these, as wide, and fits.
  auto wrapsHarmlessly = [&](Operation *user) {
    if (user->getNumResults() != 1 || kind(user->getResult(0)) == IndexKind::Wide) return false;
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
    for (Value result : op->getResults())
      check(result);
    if (auto loop = dyn_cast<scf::ForOp>(op)) check(loop.getInductionVar());
  });
  // The offsets of a workspace; the launcher knows those of the caller's views.
  if (ArrayAttr spaces = program.getWorkspacesAttr())
    for (auto space : spaces.getAsRange<WorkspaceAttr>()) {
      ExprAttr elements = ExprAttr::constant(program.getContext(), 1);
      for (ExprAttr extent : space.getShape())
        elements = mul(elements, extent);
      if (elements.getConstant().value_or(INT64_MAX) > INT32_MAX) bounds.insert(elements);
    }
  SmallVector<ExprAttr> kept;
  for (ExprAttr bound : bounds)
    if (llvm::none_of(bounds, [&](ExprAttr other) { return other != bound && reaches(other, bound); })) kept.push_back(bound);
  return kept;
}
