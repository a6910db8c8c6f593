// Structured operations in the forms that Triton has.
//
// A pick is a reduction over lanes of which all but one hold no bits: neither the sign of a zero nor a NaN is lost, and
// lanes that the program never defined do no harm.
//
//   block.pick %x at %p axis 1 : f32 -> reduce or of select(lanes(1) == %p, bitcast %x, 0), bitcast back
#include "Legalization.h"

using namespace mlir;
using namespace intent;
using namespace intent::block;

namespace intent::triton {

static void legalizePick(PickOp op) {
  OpBuilder builder(op);
  Location location = op.getLoc();
  // The author's name goes to the last operation.
  if (auto name = dyn_cast<NameLoc>(location)) location = name.getChildLoc();
  FragmentType type = op.getValue().getType();
  Type element = type.getElement(), bits = element;
  Value value = op.getValue();
  if (isa<FloatType>(element)) {
    bits = builder.getIntegerType(element.getIntOrFloatBitWidth());
    value = BitcastOp::create(builder, location, withElement(type, bits), value);
  }
  Type index = builder.getIndexType();
  auto constant = [&](Type type, int64_t v) -> Value { return ConstantOp::create(builder, location, type, integerConstant(type, v)); };
  ExprAttr extent = type.getExtents()[op.getAxis()];
  auto axis = FragmentType::get(builder.getContext(), index, {extent});
  Value lanes = LanesOp::create(builder, location, axis, constant(index, 0), constant(index, 1));
  Value wanted = BroadcastOp::create(builder, location, axis, op.getLane(), builder.getDenseI64ArrayAttr({}));
  Type truth = builder.getI1Type();
  Value chosen = CompareOp::create(builder, location, withElement(axis, truth), ComparePredicate::Eq, lanes, wanted);
  if (type.getExtents().size() > 1)
    chosen = BroadcastOp::create(builder, location, cast<FragmentType>(withElement(type, truth)), chosen,
                                 builder.getDenseI64ArrayAttr({static_cast<int64_t>(op.getAxis())}));
  Value zero = constant(bits, 0);
  auto whole = cast<FragmentType>(withElement(type, bits));
  Value none = BroadcastOp::create(builder, location, whole, zero, builder.getDenseI64ArrayAttr({}));
  Value alone = SelectOp::create(builder, location, whole, chosen, value, none);
  Type result = withElement(op.getResult().getType(), bits);
  auto reduce = ReduceOp::create(builder, location, TypeRange{result}, ValueRange{alone}, ValueRange{zero}, op.getAxisAttr());
  ::mlir::Block &body = reduce.getCombine().emplaceBlock();
  body.addArguments({bits, bits}, {location, location});
  OpBuilder inside(&body, body.begin());
  Value both = BinaryOp::create(inside, location, bits, BinaryKind::Or, body.getArgument(0), body.getArgument(1), false, false);
  YieldOp::create(inside, location, ValueRange{both});
  Value picked = reduce.getResult(0);
  if (bits != element) picked = BitcastOp::create(builder, location, op.getResult().getType(), picked);
  picked.getDefiningOp()->setLoc(op.getLoc());
  op.getResult().replaceAllUsesWith(picked);
  op.erase();
}

static bool isByteFloat(Type type) { return isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8; }

// Triton moves no f8 between lanes: such components travel as f32, which holds them exactly, and are f8 inside the combine.
template <typename Op>
static void widenBytes(Op op) {
  if (llvm::none_of(op.getValues(), [](Value value) { return isByteFloat(elementType(value.getType())); })) return;
  OpBuilder builder(op);
  Location location = op.getLoc();
  if (auto name = dyn_cast<NameLoc>(location)) location = name.getChildLoc();
  Type f32 = builder.getF32Type();
  ::mlir::Block &body = op.getCombine().front();
  Operation *yield = body.getTerminator();
  size_t count = op.getValues().size();
  for (size_t i = 0; i < count; ++i) {
    Value value = op.getValues()[i], result = op->getResult(i);
    Type element = elementType(value.getType());
    if (!isByteFloat(element)) continue;
    builder.setInsertionPoint(op);
    op.getValuesMutable()[i].set(CastOp::create(builder, location, withElement(value.getType(), f32), value));
    op.getIdentitiesMutable()[i].set(CastOp::create(builder, location, f32, op.getIdentities()[i]));
    for (BlockArgument argument : {body.getArgument(i), body.getArgument(count + i)}) {
      argument.setType(f32);
      builder.setInsertionPointToStart(&body);
      auto narrow = CastOp::create(builder, location, element, argument);
      argument.replaceAllUsesExcept(narrow, narrow);
    }
    builder.setInsertionPoint(yield);
    yield->setOperand(i, CastOp::create(builder, location, f32, yield->getOperand(i)));
    builder.setInsertionPointAfter(op);
    Type narrow = result.getType();
    result.setType(withElement(narrow, f32));
    auto back = CastOp::create(builder, op.getLoc(), narrow, result);
    result.replaceAllUsesExcept(back, back);
  }
}

void legalizeStructured(ProgramOp program) {
  SmallVector<Operation *> operations;
  program.walk([&](Operation *op) {
    if (isa<PickOp, ScanOp, ReduceOp>(op)) operations.push_back(op);
  });
  for (Operation *op : operations) {
    if (auto pick = dyn_cast<PickOp>(op)) legalizePick(pick);
    else if (auto scan = dyn_cast<ScanOp>(op)) widenBytes(scan);
    // A reduction of one component goes the way of the arithmetic.
    else if (auto reduce = cast<ReduceOp>(op); reduce.getValues().size() > 1) widenBytes(reduce);
  }
}

} // namespace intent::triton
