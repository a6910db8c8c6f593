// The native function around the groups, and what is checked before any code is generated.
#include "Codegen.h"

#include "intent/IR/Language.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/IR/Verifier.h"

using namespace mlir;
using namespace intent;

namespace intent::block::host {

Buffer Codegen::allocate(Type element, ArrayRef<int64_t> extents) {
  Buffer buffer;
  buffer.element = element;
  buffer.strides.assign(extents.size(), 1);
  int64_t count = 1;
  for (unsigned i = extents.size(); i-- > 0;) {
    buffer.strides[i] = count;
    count *= extents[i];
  }
  buffer.bytes = count * static_cast<int64_t>(storageBytes(element));
  buffer.pointer = b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), arena, arenaTop);
  arenaTop += llvm::alignTo(buffer.bytes, 64);
  highWater = std::max(highWater, arenaTop);
  return buffer;
}

// A workspace is dense: the strides of constant extents are constants.
void Codegen::describeViews(ArrayRef<ViewFacts> views) {
  facts.assign(views.begin(), views.end());
  facts.resize(program.getBody().getNumArguments());
  ArrayAttr workspaces = program.getWorkspacesAttr();
  for (unsigned i = 0, count = workspaces ? workspaces.size() : 0; i < count; ++i) {
    ArrayRef<ExprAttr> shape = cast<WorkspaceAttr>(workspaces[i]).getShape();
    ViewFacts &own = facts[facts.size() - count + i];
    own.strides.resize(shape.size());
    std::optional<int64_t> stride = 1;
    for (unsigned axis = shape.size(); axis-- > 0;) {
      own.strides[axis] = stride;
      std::optional<int64_t> extent = shape[axis].getConstant();
      int64_t product;
      if (!stride || !extent || llvm::MulOverflow(*stride, *extent, product)) stride = std::nullopt;
      else stride = product;
    }
  }
}

LV Codegen::frameSlot(unsigned slot) {
  auto *load = b.CreateLoad(b.getInt64Ty(), b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), frame, slot));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context, {}));
  return load;
}

void Codegen::emitPrologue(StringRef name) {
  auto *type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getInt64Ty(), b.getInt64Ty(), b.getPtrTy()}, false);
  function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module);
  function->setDoesNotThrow();
  for (unsigned argument : {0u, 3u})
    function->addParamAttr(argument, llvm::Attribute::NoAlias);
  function->addParamAttr(3, llvm::Attribute::getWithAlignment(context, llvm::Align(64)));
  frame = function->getArg(0);
  first = function->getArg(1);
  last = function->getArg(2);
  arena = scratch = function->getArg(3);
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
  if (debugged) debug = std::make_unique<DebugInfo>(*function, cast<KernelOp>(program->getParentOp()));
  locate(program->getParentOp());
  unsigned slot = 0, publicCount = program.getNumPublicArguments();
  int64_t numbers = 3; // of a question or an answer
  program.walk([&](Operation *op) {
    for (Type type : op->getOperandTypes())
      numbers = std::max<int64_t>(numbers, 2 * extentsOf(type).size());
    for (Type type : op->getResultTypes())
      numbers = std::max<int64_t>(numbers, 2 * extentsOf(type).size());
  });
  for (BlockArgument argument : program.getBody().getArguments()) {
    auto type = dyn_cast<ViewType>(argument.getType());
    if (!type) {
      LV bits = frameSlot(slot++);
      if (argument.getArgNumber() >= publicCount) {
        define(argument, bits);
        continue;
      }
      // A public scalar's slot holds its memory form in the low bytes.
      llvm::Type *memory = scalars.memoryType(argument.getType());
      LV raw = b.CreateTrunc(bits, b.getIntNTy(memory->getPrimitiveSizeInBits()));
      define(argument, scalars.fromMemory(argument.getType(), b.CreateBitCast(raw, memory)));
      continue;
    }
    numbers = std::max(numbers, type.getRank() + 1);
    View view;
    view.data = b.CreateIntToPtr(frameSlot(slot++), b.getPtrTy());
    for (int64_t axis = 0; axis < type.getRank(); ++axis, ++slot) {
      std::optional<int64_t> known = facts[argument.getArgNumber()].strides[axis];
      view.strides.push_back(known ? index(*known) : frameSlot(slot));
    }
    views[argument] = view;
  }
  groupSlot = checkSlot = slot;
  for (GroupOp group : program.getBody().getOps<GroupOp>())
    (void)group, ++checkSlot;
  if (checked) checkedCoordinates = b.CreateAlloca(b.getInt64Ty(), index(numbers));
}

// The linear program space: the groups' segments one after the other.
LogicalResult Codegen::emitGroups() {
  LV offset = index(0);
  for (Operation &op : program.getBody().front()) {
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      if (failed(emitOp(constant))) return failure();
      continue;
    }
    auto group = cast<GroupOp>(op);
    plan = std::make_unique<Plan>(program, group, facts, checked);
    arenaTop = 64;
    LV end = b.CreateAdd(offset, frameSlot(groupSlot++));
    LV low = b.CreateSelect(b.CreateICmpSGT(first, offset), first, offset), high = b.CreateSelect(b.CreateICmpSLT(last, end), last, end);
    auto block = [&](const char *name) { return llvm::BasicBlock::Create(context, name, function); };
    llvm::BasicBlock *before = b.GetInsertBlock(), *header = block("instances"), *body = block("instance"), *exit = block("group.exit");
    b.CreateBr(header);
    b.SetInsertPoint(header);
    auto *instance = b.CreatePHI(b.getInt64Ty(), 2);
    instance->addIncoming(low, before);
    b.CreateCondBr(b.CreateICmpSLT(instance, high), body, exit);
    b.SetInsertPoint(body);
    define(group.getBody().getArgument(0), b.CreateSub(instance, offset));
    if (failed(emitBlock(group.getBody().front()))) return failure();
    instance->addIncoming(b.CreateNSWAdd(instance, index(1)), b.GetInsertBlock());
    b.CreateBr(header);
    b.SetInsertPoint(exit);
    offset = end;
  }
  b.CreateRetVoid();
  return success();
}

LogicalResult Codegen::run(StringRef name) {
  emitPrologue(name);
  if (failed(emitGroups())) return failure();
  if (debug) debug->finish();
  return success();
}

//===- checks ------------------------------------------------------------------------------------------===//

static bool isLegal(UnaryKind kind, Type element) {
  if (isa<FloatType>(element)) return kind != UnaryKind::Not;
  return llvm::is_contained({UnaryKind::Neg, UnaryKind::Not, UnaryKind::Abs, UnaryKind::Floor, UnaryKind::Ceil}, kind);
}

static bool isLegal(BinaryKind kind, Type element) {
  bool bits = llvm::is_contained({BinaryKind::And, BinaryKind::Or, BinaryKind::Xor, BinaryKind::Shl, BinaryKind::Shr}, kind);
  if (isa<FloatType>(element)) return !bits;
  return kind != BinaryKind::Pow && kind != BinaryKind::Div;
}

// Views are arguments of the program and go nowhere else.
static LogicalResult checkViews(Operation *op, ProgramOp program) {
  for (Value operand : op->getOperands()) {
    auto argument = dyn_cast<BlockArgument>(operand);
    if (isa<ViewType>(operand.getType()) && (!isa<LoadOp, StoreOp, AtomicOp, CompareExchangeOp, ScatterReduceOp>(op) || !argument ||
                                             argument.getOwner() != &program.getBody().front()))
      return op->emitOpError("takes a view that is not an argument of the program");
  }
  for (Type type : op->getResultTypes())
    if (!isScalarType(type) && !isa<FragmentType>(type)) return op->emitOpError("gives a value of type ") << type;
  for (Region &region : op->getRegions())
    for (Type type : region.getArgumentTypes())
      if (!isScalarType(type) && !isa<FragmentType>(type)) return op->emitOpError("takes a value of type ") << type;
  return success();
}

static LogicalResult checkCombine(Region &combine) {
  for (Operation &inner : combine.front().without_terminator()) {
    bool scalar = isa<UnaryOp, BinaryOp, CompareOp, FmaOp, SelectOp, CastOp, BitcastOp, ConstantOp>(inner) &&
                  !isa<FragmentType>(inner.getResult(0).getType());
    if (!scalar) return inner.emitOpError("cannot stand in a combine region on this target");
  }
  return success();
}

static LogicalResult checkAtomic(AtomicOp atomic) {
  AtomicKind kind = atomic.getKind();
  MemoryOrder order = atomic.getOrder();
  MemoryOrder own = kind == AtomicKind::Load ? MemoryOrder::Acquire : MemoryOrder::Release;
  if ((kind == AtomicKind::Load || kind == AtomicKind::Store) && order != MemoryOrder::Relaxed && order != own)
    return atomic.emitOpError("'") << stringifyAtomicKind(kind) << "' is relaxed or " << stringifyMemoryOrder(own) << ", not "
                                   << stringifyMemoryOrder(order);
  return success();
}

static LogicalResult checkOp(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<UnaryOp>([](UnaryOp unary) -> LogicalResult {
        Type element = elementType(unary.getType());
        if (isLegal(unary.getKind(), element)) return success();
        return unary.emitOpError("'") << stringifyUnaryKind(unary.getKind()) << "' is not defined on " << element;
      })
      .Case<BinaryOp>([](BinaryOp binary) -> LogicalResult {
        Type element = elementType(binary.getType());
        if (isLegal(binary.getKind(), element)) return success();
        return binary.emitOpError("'") << stringifyBinaryKind(binary.getKind()) << "' is not defined on " << element;
      })
      .Case<ReduceOp, ScanOp, ScatterReduceOp>([](auto structured) { return checkCombine(structured.getCombine()); })
      .Case<AtomicOp>([](AtomicOp atomic) { return checkAtomic(atomic); })
      .Case<ContractOp>([](ContractOp contract) -> LogicalResult {
        Type operand = elementType(contract.getLhs().getType()), sum = elementType(contract.getResult().getType());
        if (isa<FloatType>(operand) == isa<FloatType>(sum)) return success();
        return contract.emitOpError("does not multiply ") << operand << " into " << sum;
      })
      .Case<LanesOp, LoadOp, StoreOp, FenceOp, RequireOp, WalkOp, PickOp, CompareExchangeOp, ConstantOp, CompareOp, FmaOp, SelectOp, CastOp,
            BitcastOp, BroadcastOp, TransposeOp, GroupOp, YieldOp, scf::ForOp, scf::IfOp, scf::WhileOp, scf::YieldOp, scf::ConditionOp>(
          [](Operation *) { return success(); })
      .Default([](Operation *other) { return other->emitOpError("has no form on this target"); });
}

LogicalResult validate(ProgramOp program) {
  WalkResult walked = program.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) -> WalkResult {
    return failed(checkOp(op)) || failed(checkViews(op, program)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

} // namespace intent::block::host

FailureOr<intent::block::HostFunction> intent::block::translateToLlvm(ProgramOp program, ArrayRef<ViewFacts> views, const CpuFacts &cpu,
                                                                      StringRef name, llvm::LLVMContext &context, bool checked,
                                                                      bool debug) {
  if (failed(host::validate(program))) return failure();
  HostFunction result;
  result.module = std::make_unique<llvm::Module>(name, context);
  host::Codegen codegen(program, views, cpu, *result.module, checked, debug);
  if (failed(codegen.run(name))) return failure();
  if (checked) codegen.findNeeds();
  std::string broken;
  llvm::raw_string_ostream os(broken);
  if (llvm::verifyModule(*result.module, &os)) return program.emitOpError("generated code is not well formed: ") << broken;
  result.arenaBytes = codegen.arenaBytes();
  result.accesses = std::move(codegen.accesses);
  return result;
}
