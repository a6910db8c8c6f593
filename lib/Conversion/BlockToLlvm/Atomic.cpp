// Atomic accesses: each active lane acts exactly once, one after the other, and what it gives back is kept in memory.
#include "Nest.h"

#include "intent/IR/Language.h"

using namespace mlir;
using namespace intent;

namespace intent::block::host {

static llvm::AtomicOrdering ordering(MemoryOrder order) {
  switch (order) {
  case MemoryOrder::Relaxed: return llvm::AtomicOrdering::Monotonic;
  case MemoryOrder::Acquire: return llvm::AtomicOrdering::Acquire;
  case MemoryOrder::Release: return llvm::AtomicOrdering::Release;
  case MemoryOrder::AcqRel: return llvm::AtomicOrdering::AcquireRelease;
  }
  return llvm::AtomicOrdering::SequentiallyConsistent;
}

// What a compare-exchange that stores nothing orders: its load alone.
static llvm::AtomicOrdering orderingOfFailure(MemoryOrder order) {
  bool acquires = order == MemoryOrder::Acquire || order == MemoryOrder::AcqRel;
  return acquires ? llvm::AtomicOrdering::Acquire : llvm::AtomicOrdering::Monotonic;
}

namespace {
/// Atomic operations on one element of a view.
class Element {
public:
  Element(Codegen &cg, Type type, LV pointer)
      : cg(cg), b(cg.b), type(type), pointer(pointer), bits(b.getIntNTy(storageBytes(type) * 8)), align(storageBytes(type)) {}

  LV load(MemoryOrder order) {
    llvm::LoadInst *load = b.CreateAlignedLoad(bits, pointer, align);
    load->setAtomic(ordering(order));
    return fromBits(load);
  }
  void store(LV value, MemoryOrder order) { b.CreateAlignedStore(toBits(value), pointer, align)->setAtomic(ordering(order)); }

  LV modify(llvm::AtomicRMWInst::BinOp operation, LV value, MemoryOrder order) {
    return fromBits(b.CreateAtomicRMW(operation, pointer, toBits(value), align, ordering(order)));
  }

  LV exchangeIf(LV expected, LV desired, MemoryOrder order) {
    LV pair = b.CreateAtomicCmpXchg(pointer, toBits(expected), toBits(desired), align, ordering(order), orderingOfFailure(order));
    return fromBits(b.CreateExtractValue(pair, 0));
  }

  /// Replaces the element by `update` of what it holds, again until nobody else has changed it in between.
  LV update(MemoryOrder order, llvm::function_ref<LV(LV)> update) {
    llvm::LoadInst *first = b.CreateAlignedLoad(bits, pointer, align);
    first->setAtomic(llvm::AtomicOrdering::Monotonic);
    auto block = [&](const char *name) { return llvm::BasicBlock::Create(cg.context, name, cg.function); };
    llvm::BasicBlock *before = b.GetInsertBlock(), *attempt = block("attempt"), *done = block("updated");
    b.CreateBr(attempt);
    b.SetInsertPoint(attempt);
    auto *held = b.CreatePHI(bits, 2);
    held->addIncoming(first, before);
    LV desired = toBits(update(fromBits(held)));
    auto *exchange = b.CreateAtomicCmpXchg(pointer, held, desired, align, ordering(order), orderingOfFailure(order));
    exchange->setWeak(true);
    held->addIncoming(b.CreateExtractValue(exchange, 0), b.GetInsertBlock());
    b.CreateCondBr(b.CreateExtractValue(exchange, 1), done, attempt);
    b.SetInsertPoint(done);
    return fromBits(held);
  }

private:
  LV toBits(LV value) { return b.CreateBitCast(cg.scalars.toMemory(type, value), bits); }
  LV fromBits(LV value) { return cg.scalars.fromMemory(type, b.CreateBitCast(value, cg.scalars.memoryType(type))); }

  Codegen &cg;
  llvm::IRBuilder<> &b;
  Type type;
  LV pointer;
  llvm::Type *bits;
  llvm::Align align;
};
} // namespace

// One instruction of the machine; bool lives in a byte of which only 0 and 1 are values.
static std::optional<llvm::AtomicRMWInst::BinOp> instructionOf(BinaryKind kind, Type type) {
  using Op = llvm::AtomicRMWInst;
  if (isa<FloatType>(type) || type.isInteger(1)) return std::nullopt;
  bool isUnsigned = isUnsignedInteger(type);
  switch (kind) {
  case BinaryKind::Add: return Op::Add;
  case BinaryKind::And: return Op::And;
  case BinaryKind::Or: return Op::Or;
  case BinaryKind::Xor: return Op::Xor;
  case BinaryKind::Maximum:
  case BinaryKind::MaximumNum: return isUnsigned ? Op::UMax : Op::Max;
  case BinaryKind::Minimum:
  case BinaryKind::MinimumNum: return isUnsigned ? Op::UMin : Op::Min;
  default: return std::nullopt;
  }
}

static BinaryKind functionOf(AtomicKind kind) {
  switch (kind) {
  case AtomicKind::Max: return BinaryKind::MaximumNum;
  case AtomicKind::Min: return BinaryKind::MinimumNum;
  case AtomicKind::And: return BinaryKind::And;
  case AtomicKind::Or: return BinaryKind::Or;
  case AtomicKind::Xor: return BinaryKind::Xor;
  default: return BinaryKind::Add;
  }
}

//===- lanes -------------------------------------------------------------------------------------------===//

// Runs `body` if `active`, which null means always.
static void guarded(Codegen &cg, LV active, llvm::function_ref<void()> body) {
  if (!active) return body();
  llvm::BasicBlock *yes = llvm::BasicBlock::Create(cg.context, "active", cg.function),
                   *after = llvm::BasicBlock::Create(cg.context, "inactive", cg.function);
  cg.b.CreateCondBr(active, yes, after);
  cg.b.SetInsertPoint(yes);
  body();
  cg.b.CreateBr(after);
  cg.b.SetInsertPoint(after);
}

// `act` gives what the element held, or null. `result` takes it if it is not null; inactive lanes give zero.
template <typename Access>
static void forEachActive(Codegen &cg, Access op, ArrayRef<Value> operands, Value result,
                          llvm::function_ref<LV(Element &, ArrayRef<LV>)> act) {
  llvm::IRBuilder<> &b = cg.b;
  Type element = op.getView().getType().getElement();
  if (!isa<FragmentType>(operands[0].getType())) {
    auto [pointer, active] = cg.scalarAddress(op);
    SmallVector<LV, 2> values;
    for (Value operand : operands)
      values.push_back(cg.scalar(operand));
    LV old = nullptr;
    llvm::BasicBlock *before = b.GetInsertBlock(), *end = nullptr;
    guarded(cg, active, [&] {
      Element target(cg, element, pointer);
      old = act(target, values);
      end = b.GetInsertBlock();
    });
    if (!result) return;
    if (active) {
      auto *merged = b.CreatePHI(old->getType(), 2);
      merged->addIncoming(llvm::Constant::getNullValue(old->getType()), before);
      merged->addIncoming(old, end);
      old = merged;
    }
    return cg.define(result, old);
  }
  SmallVector<int64_t, 4> extents = constantExtents(operands[0].getType());
  SmallVector<unsigned, 4> all = identityAxes(extents.size()), outer = identityAxes(extents.size() - 1);
  SmallVector<Root, 2> roots;
  for (Value operand : operands)
    roots.push_back({operand, all});
  Conjuncts masks = conjunctsOf(op.getValidity(), op.getValidAxes(), all);
  Buffer memory;
  if (result) {
    memory = cg.allocateFor(result);
    if (!masks.empty() || cg.checked) b.CreateMemSet(memory.pointer, b.getInt8(0), memory.bytes, llvm::Align(64));
  }
  Nest nest(cg, extents, roots);
  if (cg.checked) nest.shuffle(cg.beginAccess(op, extents));
  nest.serialise();
  nest.setSkippable(masks);
  nest.outerLoops(outer, [&] {
    SmallVector<LV, 1> none;
    nest.orderedLoop(none, [&] {
      SmallVector<LV, 2> values;
      for (Value operand : operands)
        values.push_back(nest.evaluate(operand, all));
      LV pointer = nest.pointer(op.getView(), op.getCoordinates(), op.getCoordinateAxes());
      LV active = nest.condition(masks);
      if (cg.checked) active = nest.mayAccess(op, active);
      guarded(cg, active, [&] {
        Element target(cg, element, pointer);
        LV old = act(target, values);
        if (result) nest.writeBuffer(memory, all, old);
      });
    });
  });
  if (result) cg.define(result, memory);
}

void Codegen::emitAtomic(AtomicOp op) {
  Type type = elementType(op.getValue().getType());
  AtomicKind kind = op.getKind();
  MemoryOrder order = op.getOrder();
  bool used = !op.getOld().use_empty();
  forEachActive(*this, op, {op.getValue()}, used ? op.getOld() : Value(), [&](Element &target, ArrayRef<LV> values) -> LV {
    if (kind == AtomicKind::Load) return target.load(order);
    if (kind == AtomicKind::Store && !used) return target.store(values[0], order), nullptr;
    if (kind == AtomicKind::Store || kind == AtomicKind::Exchange) return target.modify(llvm::AtomicRMWInst::Xchg, values[0], order);
    BinaryKind function = functionOf(kind);
    if (auto instruction = instructionOf(function, type)) return target.modify(*instruction, values[0], order);
    return target.update(order, [&](LV held) { return scalars.binary(function, type, held, values[0]); });
  });
}

void Codegen::emitCompareExchange(CompareExchangeOp op) {
  Value result = op.getOld().use_empty() ? Value() : op.getOld();
  forEachActive(*this, op, {op.getExpected(), op.getDesired()}, result,
                [&](Element &target, ArrayRef<LV> values) { return target.exchangeIf(values[0], values[1], op.getOrder()); });
}

void Codegen::emitScatterReduce(ScatterReduceOp op) {
  Type type = elementType(op.getValue().getType());
  std::optional<BinaryKind> builtin = builtinCombine(op.getCombine());
  auto instruction = builtin ? instructionOf(*builtin, type) : std::nullopt;
  forEachActive(*this, op, {op.getValue()}, Value(), [&](Element &target, ArrayRef<LV> values) -> LV {
    if (instruction) return target.modify(*instruction, values[0], MemoryOrder::Relaxed);
    return target.update(MemoryOrder::Relaxed, [&](LV held) {
      LV combined[] = {held};
      combine(op.getCombine(), combined, values);
      return combined[0];
    });
  });
}

} // namespace intent::block::host
