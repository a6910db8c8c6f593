// Structured control: loops and branches with scalars in SSA form and carried fragments in the arena.
#include "Codegen.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace intent;

namespace intent::block::host {

static bool isFragment(Value value) { return isa<FragmentType>(value.getType()); }

LogicalResult Codegen::emitBlock(::mlir::Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(emitOp(&op))) return failure();
  return success();
}

LogicalResult Codegen::emitOp(Operation *op) {
  locate(op);
  if (isLazy(op)) {
    Value value = op->getResult(0);
    if (plan->isMaterialised(value) && !plan->filledBy(value)) materialise(value);
    return success();
  }
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<ConstantOp>([&](ConstantOp constant) {
        define(constant.getResult(), scalars.constant(cast<TypedAttr>(constant.getValue())));
        return success();
      })
      .Case<LoadOp>([&](LoadOp load) { return emitScalarLoad(load), success(); })
      .Case<StoreOp>([&](StoreOp store) { return emitStore(store), success(); })
      .Case<ReduceOp>([&](ReduceOp reduce) { return emitReduce(reduce), success(); })
      .Case<ScanOp>([&](ScanOp scan) { return emitScan(scan), success(); })
      .Case<PickOp>([&](PickOp pick) { return emitPick(pick), success(); })
      .Case<AtomicOp>([&](AtomicOp atomic) { return emitAtomic(atomic), success(); })
      .Case<CompareExchangeOp>([&](CompareExchangeOp exchange) { return emitCompareExchange(exchange), success(); })
      .Case<ScatterReduceOp>([&](ScatterReduceOp scatter) { return emitScatterReduce(scatter), success(); })
      .Case<ContractOp>([&](ContractOp contract) { return emitContract(contract), success(); })
      .Case<FenceOp>([&](FenceOp) { // one thread runs an instance; loads do not move over it (Plan)
        if (checked) announceFence();
        return success();
      })
      .Case<RequireOp>([&](RequireOp require) { return emitRequire(require), success(); })
      .Case<WalkOp>([&](WalkOp walk) {
        if (checked) announceWalk(walk);
        return success();
      })
      .Case<scf::ForOp>([&](scf::ForOp loop) { return emitFor(loop); })
      .Case<scf::IfOp>([&](scf::IfOp branch) { return emitIf(branch); })
      .Case<scf::WhileOp>([&](scf::WhileOp loop) { return emitWhile(loop); })
      .Case<UnaryOp, BinaryOp, CompareOp, FmaOp, SelectOp, CastOp, BitcastOp>([&](Operation *scalarOp) {
        SmallVector<LV, 3> operands;
        for (Value operand : scalarOp->getOperands())
          operands.push_back(scalar(operand));
        define(scalarOp->getResult(0), scalars.apply(scalarOp, operands));
        return success();
      })
      .Default([](Operation *other) { return other->emitOpError("has no form on this target"); });
}

//===- carried fragments -------------------------------------------------------------------------------===//

Reads Codegen::readsOf(Value value, const Buffer &memory) const {
  Reads worst = Reads::Nothing;
  using Step = std::pair<Value, char>; // a value, and whether positions have moved on the way to it
  SmallVector<Step> work{{value, false}};
  llvm::DenseSet<Step> seen;
  while (!work.empty()) {
    Step at = work.pop_back_val();
    if (!isFragment(at.first) || !seen.insert(at).second) continue;
    if (const Buffer *buffer = bufferOf(at.first)) {
      if (buffer->pointer == memory.pointer) worst = std::max(worst, at.second ? Reads::Elsewhere : Reads::InPlace);
      continue;
    }
    Operation *op = at.first.getDefiningOp();
    if (!op || !isLazy(op)) continue;
    for (Value operand : op->getOperands())
      work.push_back({operand, at.second || isa<BroadcastOp, TransposeOp, LoadOp>(op)});
  }
  return worst;
}

void Codegen::assign(ValueRange from, ArrayRef<Buffer> into) {
  SmallVector<std::pair<Buffer, unsigned>, 2> moves; // evaluated to the side first
  SmallVector<unsigned, 4> direct;
  for (unsigned i = 0; i < from.size(); ++i) {
    if (!isFragment(from[i])) continue;
    if (const Buffer *own = bufferOf(from[i]); own && own->pointer == into[i].pointer) continue;
    bool apart = false;
    for (unsigned j = 0; j < from.size(); ++j) {
      if (!isFragment(from[j])) continue;
      Reads reads = readsOf(from[i], into[j]);
      apart |= reads == Reads::Elsewhere || (reads == Reads::InPlace && i != j);
    }
    if (!apart) {
      direct.push_back(i);
      continue;
    }
    moves.push_back({allocateFor(from[i]), i});
    evaluateInto(from[i], moves.back().first, {});
  }
  for (unsigned i : direct)
    evaluateInto(from[i], into[i], {});
  for (auto &[buffer, i] : moves)
    b.CreateMemCpy(into[i].pointer, llvm::Align(64), buffer.pointer, llvm::Align(64), buffer.bytes);
}

// One buffer per fragment among `values`; empty entries for scalars.
static SmallVector<Buffer, 4> buffersFor(Codegen &cg, ValueRange values) {
  SmallVector<Buffer, 4> buffers;
  for (Value value : values)
    buffers.push_back(isFragment(value) ? cg.allocateFor(value) : Buffer());
  return buffers;
}

static void bind(Codegen &cg, ValueRange receivers, ArrayRef<Buffer> buffers, ArrayRef<LV> scalars) {
  for (auto [i, receiver] : llvm::enumerate(receivers)) {
    if (isFragment(receiver)) cg.define(receiver, buffers[i]);
    else cg.define(receiver, scalars[i]);
  }
}

// A phi per scalar among `values` in the current block, first reached from `before`; null for fragments.
static SmallVector<LV, 4> phisFor(Codegen &cg, ValueRange values, llvm::BasicBlock *before) {
  SmallVector<LV, 4> phis;
  for (Value value : values) {
    if (isFragment(value)) {
      phis.push_back(nullptr);
      continue;
    }
    auto *phi = cg.b.CreatePHI(cg.scalars.registerType(value.getType()), 2);
    phi->addIncoming(cg.scalar(value), before);
    phis.push_back(phi);
  }
  return phis;
}

static void addIncoming(Codegen &cg, ArrayRef<LV> phis, ValueRange values) {
  for (auto [phi, value] : llvm::zip_equal(phis, values))
    if (phi) llvm::cast<llvm::PHINode>(phi)->addIncoming(cg.scalar(value), cg.b.GetInsertBlock());
}

LogicalResult Codegen::emitFor(scf::ForOp op) {
  SmallVector<Buffer, 4> carried = buffersFor(*this, op.getInitArgs());
  assign(op.getInitArgs(), carried);
  LV low = scalar(op.getLowerBound()), high = scalar(op.getUpperBound()), step = scalar(op.getStep());
  LV one = llvm::ConstantInt::get(step->getType(), 1);
  step = b.CreateSelect(b.CreateICmpSGT(step, one), step, one); // a step that is not positive must not hang the process
  auto block = [&](const char *name) { return llvm::BasicBlock::Create(context, name, function); };
  llvm::BasicBlock *before = b.GetInsertBlock(), *header = block("for"), *body = block("for.body"), *exit = block("for.exit");
  b.CreateBr(header);
  b.SetInsertPoint(header);
  auto *counter = b.CreatePHI(low->getType(), 2);
  counter->addIncoming(low, before);
  SmallVector<LV, 4> phis = phisFor(*this, op.getInitArgs(), before);
  b.CreateCondBr(b.CreateICmpSLT(counter, high), body, exit);
  b.SetInsertPoint(body);
  define(op.getInductionVar(), counter);
  bind(*this, op.getRegionIterArgs(), carried, phis);
  if (failed(emitBlock(*op.getBody()))) return failure();
  ValueRange yielded = op.getBody()->getTerminator()->getOperands();
  assign(yielded, carried);
  addIncoming(*this, phis, yielded);
  counter->addIncoming(b.CreateNSWAdd(counter, step), b.GetInsertBlock());
  b.CreateBr(header);
  b.SetInsertPoint(exit);
  bind(*this, op.getResults(), carried, phis);
  return success();
}

LogicalResult Codegen::emitIf(scf::IfOp op) {
  SmallVector<Buffer, 4> results = buffersFor(*this, op.getResults());
  auto block = [&](const char *name) { return llvm::BasicBlock::Create(context, name, function); };
  llvm::BasicBlock *yes = block("then"), *no = block("else"), *exit = block("if.exit");
  b.CreateCondBr(scalar(op.getCondition()), yes, no);
  SmallVector<llvm::BasicBlock *, 2> ends;
  SmallVector<SmallVector<LV, 4>, 2> values;
  for (auto [start, region] : {std::pair(yes, &op.getThenRegion()), std::pair(no, &op.getElseRegion())}) {
    b.SetInsertPoint(start);
    values.emplace_back();
    if (!region->empty()) {
      if (failed(emitBlock(region->front()))) return failure();
      ValueRange yielded = region->front().getTerminator()->getOperands();
      assign(yielded, results);
      for (Value value : yielded)
        values.back().push_back(isFragment(value) ? nullptr : scalar(value));
    }
    ends.push_back(b.GetInsertBlock());
    b.CreateBr(exit);
  }
  b.SetInsertPoint(exit);
  SmallVector<LV, 4> merged;
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    merged.push_back(nullptr);
    if (isFragment(result)) continue;
    auto *phi = b.CreatePHI(scalars.registerType(result.getType()), 2);
    for (unsigned side = 0; side < 2; ++side)
      phi->addIncoming(values[side][i], ends[side]);
    merged.back() = phi;
  }
  bind(*this, op.getResults(), results, merged);
  return success();
}

LogicalResult Codegen::emitWhile(scf::WhileOp op) {
  SmallVector<Buffer, 4> tested = buffersFor(*this, op.getInits()), passed = buffersFor(*this, op.getResults());
  assign(op.getInits(), tested);
  auto block = [&](const char *name) { return llvm::BasicBlock::Create(context, name, function); };
  llvm::BasicBlock *before = b.GetInsertBlock(), *header = block("while"), *body = block("while.body"), *exit = block("while.exit");
  b.CreateBr(header);
  b.SetInsertPoint(header);
  SmallVector<LV, 4> phis = phisFor(*this, op.getInits(), before);
  bind(*this, op.getBeforeArguments(), tested, phis);
  if (failed(emitBlock(*op.getBeforeBody()))) return failure();
  scf::ConditionOp condition = op.getConditionOp();
  assign(condition.getArgs(), passed);
  SmallVector<LV, 4> values;
  for (Value value : condition.getArgs())
    values.push_back(isFragment(value) ? nullptr : scalar(value));
  b.CreateCondBr(scalar(condition.getCondition()), body, exit);
  b.SetInsertPoint(body);
  bind(*this, op.getAfterArguments(), passed, values);
  if (failed(emitBlock(*op.getAfterBody()))) return failure();
  ValueRange yielded = op.getAfterBody()->getTerminator()->getOperands();
  assign(yielded, tested);
  addIncoming(*this, phis, yielded);
  b.CreateBr(header);
  b.SetInsertPoint(exit);
  bind(*this, op.getResults(), passed, values);
  return success();
}

} // namespace intent::block::host
