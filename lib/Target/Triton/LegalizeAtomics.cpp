// Atomic accesses in the forms that Triton has.
//
//   scatter_reduce add              -> atomic add relaxed, where Triton has that one
//   atomic max : f32                -> a loop of compare_exchange over the lanes that are still pending: Triton's own
//                                      orders the bits, and so keeps a NaN that maximum_num drops
//   scatter_reduce of any combine   -> the same loop
//   atomic load : f16               -> compare_exchange of zero by zero, which changes nothing
//   atomic release ...              -> fence, atomic: the lanes' accesses before it belong to other threads. Where a barrier
//                                      leaves their stores under way, the fence waits for those first (`triton.drain`)
//
// A compare_exchange has no mask in Triton. Inactive lanes exchange in a slot of their own of the workspace `sink`, which
// the program gets here where one of its lanes may be inactive.
#include "Legalization.h"

#include "intent/Target/Capabilities.h"
#include "intent/Target/Triton/Triton.h"

using namespace mlir;
using namespace intent;
using namespace intent::block;

namespace intent::triton {

bool hasNativeAtomic(AtomicKind kind, Type element) {
  unsigned bytes = storageBytes(element);
  bool real = isa<FloatType>(element);
  switch (kind) {
  case AtomicKind::Add: return bytes >= 4 || (bytes == 2 && real);
  case AtomicKind::Max:
  case AtomicKind::Min:
  case AtomicKind::And:
  case AtomicKind::Or:
  case AtomicKind::Xor: return bytes >= 4 && !real;
  case AtomicKind::Load:
  case AtomicKind::Store:
  case AtomicKind::Exchange: return bytes >= 4;
  }
  return false;
}

namespace {

// What an atomic kind does to what the element holds; nullopt for an exchange.
std::optional<BinaryKind> combinationOf(AtomicKind kind, Type element) {
  bool real = isa<FloatType>(element);
  switch (kind) {
  case AtomicKind::Add: return BinaryKind::Add;
  case AtomicKind::Max: return real ? BinaryKind::MaximumNum : BinaryKind::Maximum;
  case AtomicKind::Min: return real ? BinaryKind::MinimumNum : BinaryKind::Minimum;
  case AtomicKind::And: return BinaryKind::And;
  case AtomicKind::Or: return BinaryKind::Or;
  case AtomicKind::Xor: return BinaryKind::Xor;
  default: return std::nullopt;
  }
}

std::optional<AtomicKind> atomicOf(std::optional<BinaryKind> kind, Type element) {
  bool integer = !isa<FloatType>(element);
  if (kind == BinaryKind::Add) return AtomicKind::Add;
  if (!kind || !integer) return std::nullopt;
  switch (*kind) {
  case BinaryKind::Maximum:
  case BinaryKind::MaximumNum: return AtomicKind::Max;
  case BinaryKind::Minimum:
  case BinaryKind::MinimumNum: return AtomicKind::Min;
  case BinaryKind::And: return AtomicKind::And;
  case BinaryKind::Or: return AtomicKind::Or;
  case BinaryKind::Xor: return AtomicKind::Xor;
  default: return std::nullopt;
  }
}

// A second application changes nothing, so that an element that already holds the result needs no write.
bool isIdempotent(std::optional<BinaryKind> kind) {
  if (!kind) return false;
  switch (*kind) {
  case BinaryKind::Maximum:
  case BinaryKind::Minimum:
  case BinaryKind::MaximumNum:
  case BinaryKind::MinimumNum:
  case BinaryKind::And:
  case BinaryKind::Or: return true;
  default: return false;
  }
}

using Combine = llvm::function_ref<Value(OpBuilder &, Value held, Value value)>;

class AtomicLegalizer {
public:
  explicit AtomicLegalizer(ProgramOp program) : program(program), builder(program.getContext()) {}

  LogicalResult run();

private:
  void order(Operation *op, MemoryOrder order);
  LogicalResult atomic(AtomicOp op);
  LogicalResult scatter(ScatterReduceOp op);
  void reserveSink(CompareExchangeOp op);
  /// The loop; gives what each element held before. `idempotent`: a lane whose element holds the result is done.
  template <typename Op>
  Value exchangeLoop(Op op, MemoryOrder order, Combine combine, bool idempotent);
  LogicalResult checkElementwise(Region &combine);
  Value applyCombine(OpBuilder &b, Region &combine, Value held, Value value);

  Value constant(OpBuilder &b, Type element, int64_t value) {
    TypedAttr attribute = isa<FloatType>(element) ? floatConstant(element, value) : integerConstant(element, value);
    return ConstantOp::create(b, location, element, attribute);
  }
  Value spread(OpBuilder &b, Value scalar, Type like) {
    auto type = dyn_cast<FragmentType>(withElement(like, scalar.getType()));
    return type ? Value(BroadcastOp::create(b, location, type, scalar, b.getDenseI64ArrayAttr({}))) : scalar;
  }
  Value bits(OpBuilder &b, Value value) {
    Type element = elementType(value.getType());
    if (!isa<FloatType>(element)) return value;
    return BitcastOp::create(b, location, withElement(value.getType(), b.getIntegerType(element.getIntOrFloatBitWidth())), value);
  }
  Value compare(OpBuilder &b, ComparePredicate predicate, Value x, Value y) {
    return CompareOp::create(b, location, withElement(x.getType(), b.getI1Type()), predicate, bits(b, x), bits(b, y));
  }
  Value both(OpBuilder &b, Value x, Value y) { return BinaryOp::create(b, location, x.getType(), BinaryKind::And, x, y, false, false); }
  ArrayAttr allAxes(Type type) {
    SmallVector<Attribute> axes;
    for (size_t axis = 0; axis < extentsOf(type).size(); ++axis)
      axes.push_back(builder.getI64IntegerAttr(axis));
    return builder.getArrayAttr({builder.getArrayAttr(axes)});
  }

  Location named(StringRef name) { return NameLoc::get(builder.getStringAttr(name), location); }

  ProgramOp program;
  OpBuilder builder;
  Location location = builder.getUnknownLoc();
};

// The nearest operation before or after with an effect, if it is a fence.
FenceOp adjacentFence(Operation *op, bool before) {
  do
    op = before ? op->getPrevNode() : op->getNextNode();
  while (op && isPure(op));
  return dyn_cast_or_null<FenceOp>(op);
}

void AtomicLegalizer::order(Operation *op, MemoryOrder order) {
  bool release = order == MemoryOrder::Release || order == MemoryOrder::AcqRel;
  bool acquire = order == MemoryOrder::Acquire || order == MemoryOrder::AcqRel;
  if (release) {
    FenceOp fence = adjacentFence(op, true);
    builder.setInsertionPoint(op);
    if (!fence) fence = FenceOp::create(builder, location);
    TargetAttr target = targetOf(program);
    if (target && hasFeature(target, "release_needs_drain")) fence->setAttr(drainAttributeName, builder.getUnitAttr());
  }
  if (acquire && !adjacentFence(op, false)) {
    builder.setInsertionPointAfter(op);
    FenceOp::create(builder, location);
  }
}

// Whether any lane of a fragment is true: one reduction an axis.
static Value anyLane(OpBuilder &b, Location location, Value flags) {
  while (auto type = dyn_cast<FragmentType>(flags.getType())) {
    Type truth = type.getElement();
    Value identity = ConstantOp::create(b, location, truth, b.getBoolAttr(false));
    int64_t axis = type.getExtents().size() - 1;
    Type result = fragmentOrScalar(truth, type.getExtents().drop_back());
    auto reduce = ReduceOp::create(b, location, TypeRange{result}, ValueRange{flags}, ValueRange{identity}, b.getI64IntegerAttr(axis));
    ::mlir::Block &body = reduce.getCombine().emplaceBlock();
    body.addArguments({truth, truth}, {location, location});
    OpBuilder inside(&body, body.begin());
    Value either = BinaryOp::create(inside, location, truth, BinaryKind::Or, body.getArgument(0), body.getArgument(1), false, false);
    YieldOp::create(inside, location, ValueRange{either});
    flags = reduce.getResult(0);
  }
  return flags;
}

template <typename Op>
Value AtomicLegalizer::exchangeLoop(Op op, MemoryOrder order, Combine combine, bool idempotent) {
  OpBuilder &b = builder;
  b.setInsertionPoint(op);
  Value value = op.getValue();
  Type type = value.getType(), element = elementType(type);
  // A guess; the first exchange gives what the element holds. No load: the threads that share a lane could see different
  // values, and part in the loop.
  Value guess = spread(b, constant(b, element, 0), type);
  Value pending = spread(b, ConstantOp::create(b, location, b.getI1Type(), b.getBoolAttr(true)), type);
  for (auto [i, valid] : llvm::enumerate(op.getValidity())) {
    Value whole = valid;
    if (auto fragment = dyn_cast<FragmentType>(pending.getType())) {
      SmallVector<int64_t> axes;
      for (Attribute axis : cast<ArrayAttr>(op.getValidAxes()[i]))
        axes.push_back(cast<IntegerAttr>(axis).getInt());
      if (valid.getType() != fragment) whole = BroadcastOp::create(b, location, fragment, valid, b.getDenseI64ArrayAttr(axes));
    }
    pending = i ? both(b, pending, whole) : whole;
  }
  SmallVector<Type> types{type, pending.getType()};
  auto loop = scf::WhileOp::create(
      b, location, types, ValueRange{guess, pending},
      [&](OpBuilder &inside, Location, ValueRange state) {
        scf::ConditionOp::create(inside, location, anyLane(inside, location, state[1]), state);
      },
      [&](OpBuilder &inside, Location, ValueRange state) {
        Value held = state[0], active = state[1];
        auto exchange = CompareExchangeOp::create(inside, location, type, order, held, combine(inside, held, value), op.getView(),
                                                  op.getCoordinates(), ValueRange{active}, op.getCoordinateAxes(), allAxes(type));
        exchange->setLoc(named("found"));
        Value found = exchange.getOld();
        Value again = both(inside, active, compare(inside, ComparePredicate::Ne, found, held));
        if (idempotent) again = both(inside, again, compare(inside, ComparePredicate::Ne, combine(inside, found, value), found));
        Value kept = SelectOp::create(inside, location, type, active, found, held);
        kept.getDefiningOp()->setLoc(named("held"));
        again.getDefiningOp()->setLoc(named("pending"));
        scf::YieldOp::create(inside, location, ValueRange{kept, again});
        reserveSink(exchange);
      });
  return loop.getResult(0);
}

LogicalResult AtomicLegalizer::atomic(AtomicOp op) {
  Type element = elementType(op.getValue().getType());
  if (storageBytes(element) < 2) return success(); // refused by the verifier
  order(op, op.getOrder());
  if (hasNativeAtomic(op.getKind(), element)) return success();
  builder.setInsertionPoint(op);
  Value old;
  if (op.getKind() == AtomicKind::Load) {
    Value zero = spread(builder, constant(builder, element, 0), op.getValue().getType());
    auto exchange = CompareExchangeOp::create(builder, op.getLoc(), zero.getType(), op.getOrder(), zero, zero, op.getView(),
                                              op.getCoordinates(), op.getValidity(), op.getCoordinateAxes(), op.getValidAxes());
    reserveSink(exchange);
    old = exchange.getOld();
  } else {
    std::optional<BinaryKind> kind = combinationOf(op.getKind(), element);
    auto combine = [&](OpBuilder &b, Value held, Value value) -> Value {
      return kind ? Value(BinaryOp::create(b, location, value.getType(), *kind, held, value, false, false)) : value;
    };
    // A write that changes nothing still publishes what came before it.
    bool publishes = op.getOrder() == MemoryOrder::Release || op.getOrder() == MemoryOrder::AcqRel;
    old = exchangeLoop(op, op.getOrder(), combine, isIdempotent(kind) && !publishes);
  }
  op.getOld().replaceAllUsesWith(old);
  op.erase();
  return success();
}

LogicalResult AtomicLegalizer::checkElementwise(Region &combine) {
  for (Operation &op : combine.front())
    if (!isa<ConstantOp, ParamOp, UnaryOp, BinaryOp, CompareOp, FmaOp, SelectOp, CastOp, BitcastOp, YieldOp>(op))
      return op.emitError("provider surface: a combine function has '") << op.getName() << "'";
  return success();
}

// The scalar combine, applied to all lanes.
Value AtomicLegalizer::applyCombine(OpBuilder &b, Region &combine, Value held, Value value) {
  ::mlir::Block &body = combine.front();
  IRMapping mapping;
  mapping.map(body.getArgument(0), held);
  mapping.map(body.getArgument(1), value);
  auto lanes = [&](Value scalar) { return mapping.contains(scalar) ? mapping.lookup(scalar) : spread(b, scalar, value.getType()); };
  for (Operation &op : body.without_terminator()) {
    if (isa<ConstantOp, ParamOp>(op)) {
      mapping.map(op.getResult(0), spread(b, b.clone(op)->getResult(0), value.getType()));
      continue;
    }
    OperationState state(location, op.getName());
    for (Value operand : op.getOperands())
      state.addOperands(lanes(operand));
    state.addTypes(withElement(value.getType(), elementType(op.getResult(0).getType())));
    state.addAttributes(op.getDiscardableAttrDictionary().getValue());
    state.propertiesAttr = op.getPropertiesAsAttribute();
    mapping.map(op.getResult(0), b.create(state)->getResult(0));
  }
  return lanes(body.getTerminator()->getOperand(0));
}

LogicalResult AtomicLegalizer::scatter(ScatterReduceOp op) {
  Type element = elementType(op.getValue().getType());
  if (storageBytes(element) < 2) return success(); // refused by the verifier
  std::optional<BinaryKind> kind = builtinCombine(op.getCombine());
  if (std::optional<AtomicKind> atomic = atomicOf(kind, element); atomic && hasNativeAtomic(*atomic, element)) {
    builder.setInsertionPoint(op);
    AtomicOp::create(builder, op.getLoc(), op.getValue().getType(), *atomic, MemoryOrder::Relaxed, op.getValue(), op.getView(),
                     op.getCoordinates(), op.getValidity(), op.getCoordinateAxes(), op.getValidAxes());
    op.erase();
    return success();
  }
  if (failed(checkElementwise(op.getCombine()))) return failure();
  auto combine = [&](OpBuilder &b, Value held, Value value) { return applyCombine(b, op.getCombine(), held, value); };
  exchangeLoop(op, MemoryOrder::Relaxed, combine, isIdempotent(kind));
  op.erase();
  return success();
}

// A slot of eight bytes for each lane of the widest exchange that may have inactive lanes.
void AtomicLegalizer::reserveSink(CompareExchangeOp op) {
  if (op.getValidity().empty()) return;
  MLIRContext *context = program.getContext();
  ExprAttr lanes = ExprAttr::constant(context, 1);
  for (ExprAttr extent : extentsOf(op.getExpected().getType()))
    lanes = ExprAttr::apply(ExprKind::Mul, {lanes, extent});
  SmallVector<Attribute> spaces;
  if (ArrayAttr known = program.getWorkspacesAttr()) spaces.append(known.begin(), known.end());
  auto position = program->getAttrOfType<IntegerAttr>(sinkAttributeName);
  Type slot = builder.getI64Type();
  if (position) {
    ExprAttr before = cast<WorkspaceAttr>(spaces[position.getInt()]).getShape()[0];
    if (before != lanes) lanes = ExprAttr::apply(ExprKind::Max, {before, lanes});
  }
  auto sink = WorkspaceAttr::get(context, builder.getStringAttr("sink"), slot, {lanes}, false);
  if (position) spaces[position.getInt()] = sink;
  else {
    program->setAttr(sinkAttributeName, builder.getI64IntegerAttr(spaces.size()));
    spaces.push_back(sink);
    program.getBody().addArgument(ViewType::get(context, slot, 1), NameLoc::get(builder.getStringAttr("sink"), program.getLoc()));
  }
  program.setWorkspacesAttr(builder.getArrayAttr(spaces));
}

LogicalResult AtomicLegalizer::run() {
  SmallVector<Operation *> operations;
  program.walk([&](Operation *op) {
    if (isa<AtomicOp, CompareExchangeOp, ScatterReduceOp>(op)) operations.push_back(op);
  });
  for (Operation *op : operations) {
    location = op->getLoc();
    if (auto name = dyn_cast<NameLoc>(location)) location = name.getChildLoc();
    if (auto access = dyn_cast<AtomicOp>(op)) {
      if (failed(atomic(access))) return failure();
    } else if (auto access = dyn_cast<ScatterReduceOp>(op)) {
      if (failed(scatter(access))) return failure();
    } else {
      auto exchange = cast<CompareExchangeOp>(op);
      order(exchange, exchange.getOrder());
      reserveSink(exchange);
    }
  }
  return success();
}

} // namespace

LogicalResult legalizeAtomics(ProgramOp program) { return AtomicLegalizer(program).run(); }

} // namespace intent::triton
