// Arithmetic whose Triton counterpart means something else:
//   neg %x : f32                -> mul %x, -1.0            (Triton's own is 0 - x and loses -0)
//   exp %x : f16                -> cast(exp(cast %x : f32)) (libdevice and math take f32 and f64)
//   div %a, %b : f16            -> cast(div(cast, cast))   (one rounding of the f32 quotient is exact)
//   maximum %a, %b : bf16       -> cast(maximum(cast, cast)) (Triton's result would be f32)
//   compare %x, 2.0 : f8       -> compare(cast %x : f32, 2.0 : f32)
//   sigmoid %x : f32            -> 1 / (1 + exp(-x))       (Triton's own is off by 28 ulp)
//   exp2 %x ftz                 -> flush(exp2(flush %x))   (a flag of one operation, not of the kernel)
//   contract into bf16          -> contract into f32, cast
//   floordiv %n, 0 : i32        -> 0                       (Triton evaluates constants itself, and divides)
//   mod %a, %b of carries       -> mod %a, select(%b == 0, 1, %b) (Triton divides the constants that loops start them with)
#include "Legalization.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace intent;
using namespace intent::block;

namespace intent::triton {

static bool isByte(Type type) { return isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8; }

/// The f8 constant that a value is in every lane.
static std::optional<APFloat> byteConstant(Value value) {
  auto constant = isByte(elementType(value.getType())) ? dyn_cast_or_null<FloatAttr>(constantEverywhere(value)) : FloatAttr();
  return constant ? std::optional(constant.getValue()) : std::nullopt;
}

namespace {
class MathLegalizer {
public:
  explicit MathLegalizer(MLIRContext *context) : builder(context) {}
  void run(Operation *op);

private:
  void unary(UnaryOp op);
  void binary(BinaryOp op);
  void compare(CompareOp op);
  void fma(FmaOp op);
  void convert(CastOp op);
  void reduce(ReduceOp op);
  void contract(ContractOp op);

  Value cast(Value value, Type element) {
    if (elementType(value.getType()) == element) return value;
    if (auto real = byteConstant(value); real && element.isF32()) return constant(real->convertToDouble(), value, element);
    return CastOp::create(builder, location, withElement(value.getType(), element), value);
  }
  Value makeUnary(UnaryKind kind, Value x, bool approximate = false) {
    return UnaryOp::create(builder, location, x.getType(), kind, x, approximate, false);
  }
  Value makeBinary(BinaryKind kind, Value a, Value b, bool approximate = false) {
    return BinaryOp::create(builder, location, a.getType(), kind, a, b, approximate, false);
  }
  /// A constant of the extents of `like`, and of its type unless `element` is given.
  Value constant(double value, Value like, Type element = {}) {
    if (!element) element = elementType(like.getType());
    TypedAttr number = isa<FloatType>(element) ? floatConstant(element, value) : integerConstant(element, int64_t(value));
    Value scalar = ConstantOp::create(builder, location, element, number);
    auto fragment = dyn_cast<FragmentType>(withElement(like.getType(), element));
    return fragment ? Value(BroadcastOp::create(builder, location, fragment, scalar, builder.getDenseI64ArrayAttr({}))) : scalar;
  }
  /// Subnormals become zeros of their sign.
  Value flush(Value x) {
    Type element = elementType(x.getType());
    double smallest = element.isF64() ? 0x1p-1022 : 0x1p-126;
    Value tiny = CompareOp::create(builder, location, withElement(x.getType(), builder.getI1Type()), ComparePredicate::Lt,
                                   makeUnary(UnaryKind::Abs, x), constant(smallest, x));
    return SelectOp::create(builder, location, x.getType(), tiny, makeBinary(BinaryKind::Mul, x, constant(0.0, x)), x);
  }
  void replace(Operation *op, Value with) {
    op->getResult(0).replaceAllUsesWith(with);
    op->erase();
  }
  void start(Operation *op) {
    builder.setInsertionPoint(op);
    // The author's name goes to the last operation of an expansion.
    location = op->getLoc();
    if (auto name = dyn_cast<NameLoc>(location)) location = name.getChildLoc();
  }
  void finish(Operation *op, Value with) {
    if (Operation *last = with.getDefiningOp(); last && isa<NameLoc>(op->getLoc()) && last->getBlock() == op->getBlock())
      last->setLoc(op->getLoc());
    replace(op, with);
  }

  OpBuilder builder;
  Location location = builder.getUnknownLoc();
};
} // namespace

static bool isNarrow(Type type) { return isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32; }

void MathLegalizer::unary(UnaryOp op) {
  Type element = elementType(op.getType());
  if (!isa<FloatType>(element)) return;
  Type f32 = builder.getF32Type();
  UnaryKind kind = op.getKind();
  bool exact = kind == UnaryKind::Neg || kind == UnaryKind::Abs;
  Value x = op.getValue();
  if (isNarrow(element) && (!exact || isByte(element))) {
    start(op);
    Value wide = cast(x, f32);
    auto inner = UnaryOp::create(builder, location, wide.getType(), kind, wide, op.getApproximate(), op.getFlushToZero());
    finish(op, cast(inner, element));
    return unary(inner);
  }
  if (op.getFlushToZero()) {
    start(op);
    Value inner = makeUnary(kind, flush(x), op.getApproximate());
    finish(op, flush(inner));
    return unary(inner.getDefiningOp<UnaryOp>());
  }
  if (kind == UnaryKind::Neg) {
    start(op);
    return finish(op, makeBinary(BinaryKind::Mul, x, constant(-1.0, x)));
  }
  if (kind == UnaryKind::Sigmoid) {
    start(op);
    Value one = constant(1.0, x);
    Value e = makeUnary(UnaryKind::Exp, makeBinary(BinaryKind::Mul, x, constant(-1.0, x)));
    finish(op, makeBinary(BinaryKind::Div, one, makeBinary(BinaryKind::Add, one, e)));
  }
}

/// What a value that a loop carries or gives is at first; null for others.
static Value startOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  Operation *op = argument ? argument.getOwner()->getParentOp() : value.getDefiningOp();
  unsigned number = argument ? argument.getArgNumber() : cast<OpResult>(value).getResultNumber();
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    if (!argument) return loop.getInits()[number];
    return number ? loop.getInits()[number - 1] : Value(); // its coordinate
  }
  auto loop = dyn_cast<scf::WhileOp>(op);
  if (!loop) return {};
  return argument && argument.getOwner() == loop.getBeforeBody() ? loop.getInits()[number] : loop.getConditionOp().getArgs()[number];
}

/// True if an analysis that takes loops to keep what they start with finds a constant.
static bool startsAsConstant(Value value, DenseMap<Value, bool> &seen) {
  auto [known, fresh] = seen.try_emplace(value, false);
  if (!fresh) return known->second;
  bool constant = false;
  if (Value start = startOf(value)) constant = startsAsConstant(start, seen);
  else if (Operation *op = value.getDefiningOp();
           isa_and_nonnull<ConstantOp, BroadcastOp, UnaryOp, BinaryOp, CompareOp, SelectOp, CastOp>(op))
    constant = llvm::all_of(op->getOperands(), [&](Value operand) { return startsAsConstant(operand, seen); });
  return seen[value] = constant;
}

void MathLegalizer::binary(BinaryOp op) {
  Type element = elementType(op.getType());
  BinaryKind kind = op.getKind();
  if (!isa<FloatType>(element)) {
    if (kind != BinaryKind::FloorDiv && kind != BinaryKind::Mod) return;
    Value divisor = op.getRhs();
    if (auto known = dyn_cast_or_null<IntegerAttr>(constantEverywhere(divisor))) {
      if (known.getValue().isZero()) replace(op, divisor);
      return;
    }
    DenseMap<Value, bool> seen;
    if (!startsAsConstant(op.getLhs(), seen) || !startsAsConstant(divisor, seen)) return;
    start(op);
    Type flags = withElement(divisor.getType(), builder.getI1Type());
    Value isZero = CompareOp::create(builder, location, flags, ComparePredicate::Eq, divisor, constant(0, divisor));
    op.getRhsMutable().assign(SelectOp::create(builder, location, divisor.getType(), isZero, constant(1, divisor), divisor));
    return;
  }
  bool extremum =
      kind == BinaryKind::Maximum || kind == BinaryKind::Minimum || kind == BinaryKind::MaximumNum || kind == BinaryKind::MinimumNum;
  bool division = llvm::is_contained({BinaryKind::Div, BinaryKind::FloorDiv, BinaryKind::Mod, BinaryKind::Pow}, kind);
  bool throughF32 = isByte(element) || (isNarrow(element) && division) || (element.isBF16() && extremum);
  if (throughF32) {
    start(op);
    Type f32 = builder.getF32Type();
    return finish(op, cast(makeBinary(kind, cast(op.getLhs(), f32), cast(op.getRhs(), f32), op.getApproximate()), element));
  }
  if (op.getFlushToZero()) {
    start(op);
    finish(op, flush(makeBinary(kind, flush(op.getLhs()), flush(op.getRhs()), op.getApproximate())));
  }
}

void MathLegalizer::compare(CompareOp op) {
  if (!isByte(elementType(op.getLhs().getType()))) return;
  start(op);
  Type f32 = builder.getF32Type();
  finish(op, CompareOp::create(builder, location, op.getType(), op.getPredicate(), cast(op.getLhs(), f32), cast(op.getRhs(), f32)));
}

void MathLegalizer::fma(FmaOp op) {
  Type element = elementType(op.getType());
  if (!isByte(element)) return;
  start(op);
  Type f32 = builder.getF32Type();
  Value wide = cast(op.getA(), f32);
  finish(op, cast(FmaOp::create(builder, location, wide.getType(), wide, cast(op.getB(), f32), cast(op.getC(), f32)), element));
}

// f8 converts from and to f32 only; bool and integers go the same way.
void MathLegalizer::convert(CastOp op) {
  Type from = elementType(op.getValue().getType()), to = elementType(op.getType()), f32 = builder.getF32Type();
  if (from == to || from == f32 || to == f32) return;
  if (!isByte(from) && !isByte(to)) return;
  start(op);
  finish(op, cast(cast(op.getValue(), f32), to));
}

// An extremum of bf16 or f8 is exact in f32.
void MathLegalizer::reduce(ReduceOp op) {
  if (op.getValues().size() != 1) return;
  Type element = elementType(op.getValues()[0].getType());
  std::optional<BinaryKind> kind = builtinCombine(op.getCombine());
  bool extremum =
      kind == BinaryKind::Maximum || kind == BinaryKind::Minimum || kind == BinaryKind::MaximumNum || kind == BinaryKind::MinimumNum;
  if (!isByte(element) && !(element.isBF16() && extremum)) return;
  start(op);
  Type f32 = builder.getF32Type();
  auto inner = ReduceOp::create(builder, location, TypeRange{withElement(op.getResult(0).getType(), f32)},
                                ValueRange{cast(op.getValues()[0], f32)}, ValueRange{cast(op.getIdentities()[0], f32)}, op.getAxisAttr());
  inner.getCombine().takeBody(op.getCombine());
  ::mlir::Block &body = inner.getCombine().front();
  if (extremum || kind == BinaryKind::Add || kind == BinaryKind::Mul) {
    for (BlockArgument argument : body.getArguments())
      argument.setType(f32);
    body.front().getResult(0).setType(f32);
  } else {
    // Any other combine keeps its own type inside.
    OpBuilder inside(&body, body.begin());
    SmallVector<Value> narrow;
    for (BlockArgument argument : body.getArguments()) {
      argument.setType(f32);
      auto back = CastOp::create(inside, location, element, argument);
      argument.replaceAllUsesExcept(back, back);
    }
    Operation *yield = body.getTerminator();
    inside.setInsertionPoint(yield);
    yield->setOperand(0, CastOp::create(inside, location, f32, yield->getOperand(0)));
  }
  finish(op, cast(inner.getResult(0), element));
}

void MathLegalizer::contract(ContractOp op) {
  Type accumulator = elementType(op.getType());
  if (!accumulator.isBF16()) return;
  start(op);
  Value wide = cast(op.getAccumulator(), builder.getF32Type());
  finish(op, cast(ContractOp::create(builder, location, wide.getType(), op.getLhs(), op.getRhs(), wide), accumulator));
}

void MathLegalizer::run(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](UnaryOp op) { unary(op); })
      .Case([&](BinaryOp op) { binary(op); })
      .Case([&](CompareOp op) { compare(op); })
      .Case([&](FmaOp op) { fma(op); })
      .Case([&](CastOp op) { convert(op); })
      .Case([&](ReduceOp op) { reduce(op); })
      .Case([&](ContractOp op) { contract(op); });
}

void legalizeMath(ProgramOp program) {
  SmallVector<Operation *> operations;
  // A reduce comes before the body that it moves and may change.
  program.walk<WalkOrder::PreOrder>([&](Operation *op) { operations.push_back(op); });
  MathLegalizer legalizer(program.getContext());
  for (Operation *op : operations)
    legalizer.run(op);
}

} // namespace intent::triton
