// Triton takes the widths of the loads that an operand of a contraction comes from for those of its fragment. The f64 unit has
// fragments of 64 bits only: what comes from loads below 32 passes through a sum over an axis of one, which it does not look through.
//
//   contract(cast %x : f64, %y) -> contract(reduce(broadcast(cast %x) : [BM, BK, 1]) axis 2 { add }, %y)
#include "Legalization.h"

using namespace mlir;
using namespace intent;
using namespace intent::block;

namespace intent::triton {

// Whether an element of `value` follows from one of fewer than 32 bits in memory. More may do so than Triton sees.
static bool comesFromNarrowLoad(Value value) {
  SmallVector<Value> open{value};
  llvm::DenseSet<Value> seen;
  while (!open.empty()) {
    Value next = open.pop_back_val();
    if (!seen.insert(next).second) continue;
    Operation *op = next.getDefiningOp();
    if (auto load = dyn_cast_or_null<LoadOp>(op);
        load && elementType(load.getType()).isIntOrFloat() && elementType(load.getType()).getIntOrFloatBitWidth() < 32)
      return true;
    if (auto argument = dyn_cast<BlockArgument>(next))
      if (auto loop = dyn_cast<LoopLikeOpInterface>(argument.getOwner()->getParentOp()))
        if (OpOperand *init = loop.getTiedLoopInit(argument)) open.push_back(init->get());
    if (auto branch = dyn_cast_or_null<scf::IfOp>(op))
      for (Region *region : branch.getRegions())
        open.push_back(region->front().getTerminator()->getOperand(cast<OpResult>(next).getResultNumber()));
    if (op && !isa<ContractOp, ReduceOp>(op)) open.append(op->operand_begin(), op->operand_end());
  }
  return false;
}

// The value as the sum over an axis of one behind its own.
static Value throughSum(OpBuilder &builder, Location location, Value value) {
  auto type = cast<FragmentType>(value.getType());
  size_t rank = type.getExtents().size();
  SmallVector<ExprAttr> extents(type.getExtents());
  extents.push_back(ExprAttr::constant(builder.getContext(), 1));
  auto deep = FragmentType::get(builder.getContext(), type.getElement(), extents);
  Value whole =
      BroadcastOp::create(builder, location, deep, value, builder.getDenseI64ArrayAttr(llvm::to_vector(llvm::seq<int64_t>(0, rank))));
  Value zero = ConstantOp::create(builder, location, type.getElement(), floatConstant(type.getElement(), 0.0));
  auto reduce = ReduceOp::create(builder, location, TypeRange{type}, ValueRange{whole}, ValueRange{zero}, builder.getI64IntegerAttr(rank));
  ::mlir::Block &body = reduce.getCombine().emplaceBlock();
  body.addArguments({type.getElement(), type.getElement()}, {location, location});
  OpBuilder inside(&body, body.begin());
  Value sum =
      BinaryOp::create(inside, location, type.getElement(), BinaryKind::Add, body.getArgument(0), body.getArgument(1), false, false);
  YieldOp::create(inside, location, ValueRange{sum});
  return reduce.getResult(0);
}

void separateNarrowLoads(ProgramOp program) {
  program.walk([](ContractOp op) {
    if (!elementType(op.getLhs().getType()).isF64()) return;
    OpBuilder builder(op);
    Location location = op.getLoc();
    if (auto name = dyn_cast<NameLoc>(location)) location = name.getChildLoc();
    for (auto [name, operand] : {std::pair("lhs", &op.getLhsMutable()), std::pair("rhs", &op.getRhsMutable())})
      if (comesFromNarrowLoad(operand->get()))
        operand->set(throughSum(builder, NameLoc::get(builder.getStringAttr(name), location), operand->get()));
  });
}

} // namespace intent::triton
