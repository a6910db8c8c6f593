// Code generation for one bound program: state shared by control, sinks and loop nests.
#ifndef INTENT_CONVERSION_BLOCKTOLLVM_CODEGEN_H
#define INTENT_CONVERSION_BLOCKTOLLVM_CODEGEN_H

#include "DebugInfo.h"
#include "Plan.h"
#include "Scalars.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace intent::block::host {

/// A fragment in the arena: elements in memory form at these strides.
struct Buffer {
  mlir::Type element;
  LV pointer = nullptr;
  llvm::SmallVector<int64_t, 4> strides;
  int64_t bytes = 0;
};

/// A view argument: the address of element 0 and its strides in elements, constants where they are known.
struct View {
  LV data = nullptr;
  llvm::SmallVector<LV, 4> strides;
};

/// How evaluating a value reads some memory: not at all, only at the position evaluated, or at others too.
enum class Reads { Nothing, InPlace, Elsewhere };

class Codegen {
public:
  Codegen(ProgramOp program, llvm::ArrayRef<ViewFacts> views, const CpuFacts &cpu, llvm::Module &module, bool checked, bool debug)
      : checked(checked), debugged(debug), program(program), cpu(cpu), module(module), context(module.getContext()), b(context),
        scalars(module, b, cpu) {
    describeViews(views);
  }

  mlir::LogicalResult run(llvm::StringRef name);
  int64_t arenaBytes() const { return highWater; }
  const bool checked;  ///< single lanes, each access asked about
  const bool debugged; ///< with the author's places
  std::vector<CheckedAccess> accesses;
  /// The order in which a checked access visits its lanes, by axis: factor and offset.
  using LaneOrder = llvm::SmallVector<std::pair<LV, LV>, 4>;

  //===- checked code (Check.cpp) -----------------------------------------------------------------------===//
  /// Announces an execution of `op`, whose lanes have these extents.
  LaneOrder beginAccess(Operation *op, llvm::ArrayRef<int64_t> extents);
  /// The number that the lanes of an access that has begun ask with.
  unsigned accessOf(Operation *op) const { return accessNumbers.lookup(op); }
  /// Whether this lane may act: `active` (null: yes) and no error. A register bool.
  LV mayAccess(unsigned access, LV active, LV lane, llvm::ArrayRef<LV> coordinates);
  void announceFence() { ask(checkedFence, nullptr, index(0)); }
  void announceWalk(WalkOp op);
  void emitRequire(RequireOp op);
  /// A register value as the bits that are stored.
  LV bitsOf(mlir::Type element, LV value);
  /// Once all is generated: which reads each access needs.
  void findNeeds();

  /// What is made from here on belongs to the place of `op`.
  void locate(Operation *op) {
    if (llvm::DILocation *place = debug ? debug->placeOf(op->getLoc()) : nullptr) b.SetCurrentDebugLocation(place);
  }

  //===- control (Control.cpp) --------------------------------------------------------------------------===//
  mlir::LogicalResult emitBlock(::mlir::Block &block);
  mlir::LogicalResult emitOp(Operation *op);
  mlir::LogicalResult emitFor(mlir::scf::ForOp op);
  mlir::LogicalResult emitIf(mlir::scf::IfOp op);
  mlir::LogicalResult emitWhile(mlir::scf::WhileOp op);
  /// Moves fragments that leave a region into the memory of their receivers, all read before any is written. Scalars
  /// are not touched.
  void assign(mlir::ValueRange from, llvm::ArrayRef<Buffer> into);

  //===- sinks ------------------------------------------------------------------------------------------===//
  void emitStore(StoreOp op);
  /// Where a scalar access goes and whether it is active (null: always); an inactive one goes to scratch memory.
  template <typename Access>
  std::pair<LV, LV> scalarAddress(Access op) {
    const View &view = views[op.getView()];
    mlir::Type element = op.getView().getType().getElement();
    LV pointer = view.data, active = nullptr;
    for (auto [coordinate, stride] : llvm::zip_equal(op.getCoordinates(), view.strides))
      pointer = b.CreateGEP(scalars.memoryType(element), pointer, b.CreateMul(scalar(coordinate), stride));
    for (Value mask : op.getValidity())
      active = active ? b.CreateAnd(active, scalar(mask)) : scalar(mask);
    if (checked) {
      llvm::SmallVector<LV, 4> coordinates;
      for (Value coordinate : op.getCoordinates())
        coordinates.push_back(scalar(coordinate));
      if constexpr (std::is_same_v<Access, StoreOp>) coordinates.push_back(bitsOf(element, scalar(op.getValue())));
      beginAccess(op, {});
      active = mayAccess(accessOf(op), active, index(0), coordinates);
    }
    if (active) pointer = b.CreateSelect(active, pointer, scratch);
    return {pointer, active};
  }
  void emitScalarLoad(LoadOp op);
  void emitReduce(ReduceOp op);
  void emitContract(ContractOp op);
  void emitScan(ScanOp op);
  void emitPick(PickOp op);
  void emitAtomic(AtomicOp op);
  void emitCompareExchange(CompareExchangeOp op);
  void emitScatterReduce(ScatterReduceOp op);
  /// A combine region on register values, scalars or vectors of any width: `into` is the left operand and the result.
  void combine(mlir::Region &region, llvm::MutableArrayRef<LV> into, llvm::ArrayRef<LV> with);
  /// Evaluates a fragment into memory; lanes where a skippable conjunct is false are left as they are.
  void evaluateInto(Value value, const Buffer &buffer, const Conjuncts &skippable, const LaneOrder &order = {});
  void materialise(Value value);

  //===- values -----------------------------------------------------------------------------------------===//
  LV scalar(Value value) const { return values.lookup(value); }
  void define(Value value, LV result) { values[value] = result; }
  const Buffer *bufferOf(Value value) const {
    auto it = buffers.find(value);
    return it == buffers.end() ? nullptr : &it->second;
  }
  void define(Value value, const Buffer &buffer) { buffers[value] = buffer; }
  Buffer allocate(mlir::Type element, llvm::ArrayRef<int64_t> extents);
  Buffer allocateFor(Value value) { return allocate(elementType(value.getType()), constantExtents(value.getType())); }
  Reads readsOf(Value value, const Buffer &memory) const;
  LV index(int64_t value) { return b.getInt64(value); }
  LV dummy() const { return scratch; }

  ProgramOp program;
  llvm::SmallVector<ViewFacts, 8> facts; ///< of every argument; none of scalars
  const CpuFacts &cpu;
  llvm::Module &module;
  llvm::LLVMContext &context;
  llvm::IRBuilder<> b;
  Scalars scalars;
  std::unique_ptr<Plan> plan;
  std::unique_ptr<DebugInfo> debug;
  llvm::Function *function = nullptr;
  llvm::DenseMap<Value, View> views;

private:
  void describeViews(llvm::ArrayRef<ViewFacts> views);
  void emitPrologue(llvm::StringRef name);
  mlir::LogicalResult emitGroups();
  LV frameSlot(unsigned slot);
  LV ask(int64_t access, LV active, LV lane);

  llvm::DenseMap<Operation *, unsigned> accessNumbers;
  llvm::DenseMap<Value, LV> values;
  llvm::DenseMap<Value, Buffer> buffers;
  LV checkedCoordinates = nullptr; // memory for the coordinates of a question, or for the order of lanes
  unsigned checkSlot = 0;          // of the context; the function follows
  LV arena = nullptr, scratch = nullptr, frame = nullptr, first = nullptr, last = nullptr;
  int64_t arenaTop = 64, highWater = 64; // the first 64 bytes take the accesses of inactive scalars
  unsigned groupSlot = 0;
};

/// Reports what the generator cannot express, before it starts.
mlir::LogicalResult validate(ProgramOp program);

} // namespace intent::block::host

#endif
