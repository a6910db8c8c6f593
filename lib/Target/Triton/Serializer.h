// The state of printing one block program as a `@triton.jit` kernel.
#ifndef INTENT_LIB_TARGET_TRITON_SERIALIZER_H
#define INTENT_LIB_TARGET_TRITON_SERIALIZER_H

#include "IndexWidth.h"
#include "Legalization.h"
#include "ModuleNames.h"
#include "intent/Dialect/Block/IR/Block.h"
#include "intent/Target/Emission/Expression.h"
#include "intent/Target/Emission/TextStream.h"
#include "intent/Target/Triton/Triton.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallBitVector.h"

namespace intent::triton {

using llvm::SmallBitVector;

/// What a text is to Triton. Literal: a Python or constexpr number, which takes its dtype from the other
/// operand. Argument: an integer argument, which the JIT may have made constexpr. Scalar: a typed scalar.
/// Block: a tensor whose axes in `dense` have their full extent and whose others have extent one.
enum class Form { Literal, Argument, Scalar, Block };

struct Rendered {
  emission::Expression expression;
  Form form = Form::Scalar;
  llvm::SmallBitVector dense;
};

/// Where the axes of a value lie among the axes of the expression that it is printed in.
using Placement = llvm::SmallVector<int64_t, 4>;

/// Text that several kernels of one module share.
struct ModuleText {
  ModuleNames &names;
  llvm::MapVector<mlir::StringAttr, std::string> functions; // `@triton.jit` combines and fix-ups by name
  bool libdevice = false;
  bool descriptors = false;
  bool failed = false;
};

class KernelSerializer {
public:
  KernelSerializer(block::ProgramOp program, ModuleText &module);

  /// The kernel's text, or failure after an error on the operation that has none.
  mlir::FailureOr<std::string> run();

  IndexWidths &indexWidths() { return widths; }
  /// Where the text comes from, once it is there.
  std::vector<SourceLine> authorLines() { return std::move(lines); }

private:
  // SerializeModule.cpp: signature and groups.
  void declareArguments();
  mlir::LogicalResult emitGroup(block::GroupOp group, llvm::StringRef pid);
  // SerializeBlock.cpp: one pattern an operation.
  mlir::LogicalResult emitBlock(mlir::Block &block);
  mlir::LogicalResult emit(mlir::Operation *op);
  mlir::LogicalResult emitLoad(block::LoadOp op);
  mlir::LogicalResult emitStore(block::StoreOp op);
  llvm::SmallVector<std::string> loadArguments(block::LoadOp op, SmallBitVector &dense);
  void emitForms(llvm::ArrayRef<std::string> descriptorForm, llvm::function_ref<void()> pointerForm);
  std::string descriptorCall(mlir::Operation *op, mlir::ValueRange coordinates, llvm::StringRef method, llvm::StringRef value = "");
  mlir::LogicalResult emitLanes(block::LanesOp op);
  mlir::LogicalResult emitValue(mlir::Operation *op);
  std::optional<emission::Expression> strideText(mlir::Operation *op, mlir::BlockArgument view, unsigned axis);
  /// `wide`: offsets of 64 bits.
  Rendered pointer(mlir::Operation *op, mlir::Value view, mlir::ValueRange coordinates, mlir::ArrayAttr axes, unsigned rank,
                   bool wide = false);
  std::optional<Rendered> mask(mlir::Operation *op, mlir::ValueRange validity, mlir::ArrayAttr axes, unsigned rank);
  std::optional<Rendered> accessMask(mlir::Operation *op, mlir::ValueRange validity, mlir::ArrayAttr axes, unsigned rank);
  std::string accessPointer(Rendered address, const std::optional<Rendered> &with, mlir::Type type);
  // SerializeStructured.cpp: reductions, scans, contractions.
  mlir::LogicalResult emitReduce(block::ReduceOp op);
  mlir::LogicalResult emitScan(block::ScanOp op);
  mlir::LogicalResult emitContract(block::ContractOp op);
  std::string combineFunction(mlir::Region &combine);
  llvm::SmallVector<std::string> combinedOperands(mlir::ValueRange values);
  std::string defineAll(mlir::ValueRange results);
  // SerializeAtomics.cpp: accesses that other instances see.
  mlir::LogicalResult emitAtomic(block::AtomicOp op);
  mlir::LogicalResult emitCompareExchange(block::CompareExchangeOp op);
  mlir::LogicalResult defineAtomic(mlir::Operation *op, mlir::Value old, const std::string &callee, llvm::ArrayRef<std::string> arguments,
                                   bool cast);
  template <typename Op>
  std::string atomicPointer(Op op, mlir::Type value);
  std::string sinkPointer(mlir::Operation *op, mlir::Type type, llvm::StringRef slot);
  // SerializeScf.cpp: structured control.
  mlir::LogicalResult emitFor(mlir::scf::ForOp op);
  mlir::LogicalResult emitIf(mlir::scf::IfOp op);
  mlir::LogicalResult emitWhile(mlir::scf::WhileOp op);
  void assignAll(llvm::ArrayRef<std::string> names, mlir::ValueRange values);
  std::string carryName(mlir::Value carried, mlir::Value yielded, mlir::Value init);
  std::string carriedText(mlir::Value value);
  // SerializeValue.cpp: expressions.
  Rendered render(mlir::Value value, llvm::ArrayRef<int64_t> placement, unsigned rank);
  Rendered render(mlir::Value value);
  Rendered renderDefinition(mlir::Operation *op, llvm::ArrayRef<int64_t> placement, unsigned rank);
  Rendered renderVariable(mlir::Value value, llvm::ArrayRef<int64_t> placement, unsigned rank);
  Rendered renderBinary(block::BinaryOp op, llvm::ArrayRef<int64_t> placement, unsigned rank);
  Rendered renderUnary(block::UnaryOp op, llvm::ArrayRef<int64_t> placement, unsigned rank);
  Rendered renderCast(block::CastOp op, llvm::ArrayRef<int64_t> placement, unsigned rank);
  Rendered typed(Rendered value, mlir::Type element);
  Rendered typedAt(mlir::Value value, Rendered text, bool keepsType);
  Rendered convert(Rendered value, llvm::StringRef dtype);
  std::string fullText(mlir::Value value);
  std::string fullText(Rendered value, mlir::Type type);
  std::string shapeText(llvm::ArrayRef<block::ExprAttr> extents);
  std::string extentText(block::ExprAttr extent);
  std::string dtypeOf(mlir::Value value);
  std::string helper(llvm::StringRef name, llvm::StringRef text);
  Rendered libdevice(llvm::StringRef function, llvm::ArrayRef<Rendered> operands, mlir::Type element);
  // Statements and naming.
  bool isTransparent(mlir::Operation *op);
  bool mayInline(mlir::Operation *op);
  bool usedUpBy(mlir::Value value, mlir::Operation *point);
  void comment(mlir::Operation *op);
  void define(mlir::Value value, Rendered text);
  void define(mlir::Value value, const std::string &callee, llvm::ArrayRef<std::string> arguments, Rendered text,
              llvm::StringRef suffix = "");
  void statement(const std::string &prefix, const std::string &callee, llvm::ArrayRef<std::string> arguments, llvm::StringRef suffix = "");
  std::string nameFor(mlir::Value value);
  std::string carryTarget(mlir::Value value);
  mlir::InFlightDiagnostic unsupported(mlir::Operation *op);

  struct Variable {
    std::string name;
    Form form;
    llvm::SmallBitVector dense;
  };

  block::ProgramOp program;
  ModuleText &module;
  IndexWidths widths;
  emission::TextStream out;
  llvm::StringSet<> reserved;
  emission::NameScope names;
  llvm::DenseMap<mlir::Value, Variable> variables;
  llvm::StringMap<mlir::Value> holders; // the value that a name stands for at present
  llvm::DenseSet<mlir::Operation *> inlined;
  llvm::DenseMap<mlir::Attribute, std::string> descriptorNames;
  llvm::DenseSet<mlir::Operation *> joinedLoads;         // printed in the branch of the load before them
  llvm::DenseMap<mlir::Value, std::string> loopCarries;  // iteration argument -> its variable, while its body prints
  llvm::SmallVector<llvm::StringMap<std::string>> masks; // name by text, one map a scope
  std::optional<std::pair<std::string, unsigned>> lastPosition;
  std::vector<SourceLine> lines; // of the text so far
  size_t counted = 0, lineBreaks = 0;
};

/// `tl.float32`, ...; `INDEX` or `tl.int64` for an index.
std::string dtypeText(mlir::Type element);
/// `float32`, ... as torch names what a view holds.
std::string storageText(mlir::Type element);
/// `fp32`, ... in a kernel signature.
std::string signatureText(mlir::Type element);
/// The launch table of a kernel.
std::string launchText(block::KernelOp kernel, ModuleNames &names, llvm::ArrayRef<llvm::SmallVector<block::ExprAttr>> conditions,
                       RowCondition rowCondition);

} // namespace intent::triton

#endif
