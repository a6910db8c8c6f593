// Which index values fit 32 bits, and under which launch condition.
#ifndef INTENT_LIB_TARGET_TRITON_INDEXWIDTH_H
#define INTENT_LIB_TARGET_TRITON_INDEXWIDTH_H

#include "intent/Dialect/Block/IR/Block.h"
#include "llvm/ADT/DenseMap.h"

namespace intent::triton {

/// What the text of an index value evaluates to. Literal: a Python or constexpr integer. Raw: the type of
/// an integer argument or of a loop over such. Index: the kernel's `INDEX` type. Wide: int64.
enum class IndexKind { Literal, Raw, Index, Wide };

/// Facts about the index values of one program.
class IndexWidths {
public:
  explicit IndexWidths(block::ProgramOp program) : program(program) {}

  /// A launch expression that |value| does not exceed; null where only the data tells.
  block::ExprAttr magnitude(mlir::Value value);
  /// An integer that the value is never below; nullopt where none is known.
  std::optional<int64_t> lowerBound(mlir::Value value);
  bool nonNegative(mlir::Value value) { return lowerBound(value).value_or(-1) >= 0; }
  IndexKind kind(mlir::Value value);

  /// Bounds that must all stay below 2^31 for a launch with 32-bit index arithmetic.
  llvm::SmallVector<block::ExprAttr> conditions();

private:
  block::ExprAttr computeMagnitude(mlir::Value value);
  std::optional<int64_t> computeLowerBound(mlir::Value value);
  IndexKind computeKind(mlir::Value value);

  block::ProgramOp program;
  llvm::DenseMap<mlir::Value, block::ExprAttr> magnitudes;
  llvm::DenseMap<mlir::Value, std::optional<int64_t>> lowerBounds;
  llvm::DenseMap<mlir::Value, IndexKind> kinds;
};

} // namespace intent::triton

#endif
