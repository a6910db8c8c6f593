#ifndef INTENT_LIB_TARGET_TRITON_LEGALIZATION_H
#define INTENT_LIB_TARGET_TRITON_LEGALIZATION_H

#include "intent/Dialect/Block/IR/Block.h"

namespace intent::triton {

/// Rewrites the arithmetic of a program whose Triton counterpart rounds, flushes or promotes differently.
void legalizeMath(block::ProgramOp program);

/// Gives atomic accesses the forms that Triton has; an error on a combine that has none.
mlir::LogicalResult legalizeAtomics(block::ProgramOp program);

/// Whether Triton has that access of an element; the others become loops of compare_exchange.
bool hasNativeAtomic(AtomicKind kind, mlir::Type element);

/// On a program whose exchanges may have inactive lanes: the position among its workspaces of the one where they act.
inline constexpr llvm::StringLiteral sinkAttributeName = "triton.sink";

/// On a fence whose barrier must wait for the stores of every wave.
inline constexpr llvm::StringLiteral drainAttributeName = "triton.drain";

/// Keeps scans down axes beside which others have one lane each, in some row or call, from a defect of Triton.
void separateUnitScans(block::ProgramOp program);

/// Rewrites picks as reductions that keep the bits of one lane, carries f8 through scans and reductions as f32, and
/// passes scalars that a combine captures as components.
void legalizeStructured(block::ProgramOp program);

/// Keeps reductions that a loop accumulates, and that are read more than once after it, from a defect of Triton.
void separateSharedAccumulators(block::ProgramOp program);

/// Keeps f64 operands of contractions that come from narrow loads from a defect of Triton.
void separateNarrowLoads(block::ProgramOp program);

/// Marks the accesses that a tensor descriptor can carry and lists the descriptors; drops the parameter
/// USE_TENSOR_DESCRIPTOR where there are none.
void chooseDescriptors(block::ProgramOp program);

/// The stride of an axis of a view argument, public or workspace: a constant, `"x.stride.0"`, or a product of extents.
block::ExprAttr strideOf(block::ProgramOp program, unsigned argument, unsigned axis);

/// Drops the configuration rows that Triton or the target cannot compile; an error if none is left.
mlir::LogicalResult filterRows(block::ProgramOp program);

} // namespace intent::triton

#endif
