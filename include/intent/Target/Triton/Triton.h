#ifndef INTENT_TARGET_TRITON_TRITON_H
#define INTENT_TARGET_TRITON_TRITON_H

#include "intent/Dialect/Block/IR/Block.h"
#include "mlir/IR/BuiltinOps.h"
#include <optional>
#include <string>
#include <vector>

namespace intent::triton {

/// Rewrites the block programs of a module so that each operation means in Triton what it means in `block`:
/// strides become private arguments, narrow floating functions evaluate in f32, negation multiplies...
/// Configuration rows that are provably illegal go; it is an error when none is left.
mlir::LogicalResult legalizeForTriton(mlir::ModuleOp module);

/// Checks a legalised module against Triton's surface and the target's features. Errors start with
/// "provider surface: " or "hardware capability: ".
mlir::LogicalResult verifyForTriton(mlir::ModuleOp module);

/// Whether some access of the program could go through a tensor descriptor.
bool hasDescriptorForm(block::ProgramOp program);

/// Why a configuration row (one value a column) cannot be compiled, or nullopt.
std::optional<std::string> rejectTritonRow(block::ProgramOp program, llvm::ArrayRef<int64_t> row);

/// From this line of a module's text on (counted from 1), what stands there comes from a line of the author's file.
struct SourceLine {
  size_t line;
  std::string file;
  unsigned author;
};
struct SourceText {
  std::string text;
  std::vector<SourceLine> lines; // ascending
};

/// The condition on a call under which a row (one value a column) is a candidate for it; null if it always is.
using RowCondition = llvm::function_ref<block::ExprAttr(block::ProgramOp program, llvm::ArrayRef<int64_t> row)>;

/// The Python module of a legalised and verified block module: one `@triton.jit` kernel a program and the
/// launch table. Nothing is returned when an operation has no text.
mlir::FailureOr<SourceText> serializeToTriton(mlir::ModuleOp module, RowCondition rowCondition);

/// Registers the passes `block-legalize-for-triton` and `block-verify-for-triton`.
void registerTritonPasses();

} // namespace intent::triton

#endif
