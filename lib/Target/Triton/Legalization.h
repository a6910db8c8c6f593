#ifndef INTENT_LIB_TARGET_TRITON_LEGALIZATION_H
#define INTENT_LIB_TARGET_TRITON_LEGALIZATION_H

#include "intent/Dialect/Block/IR/Block.h"

namespace intent::triton {

/// Rewrites the arithmetic of a program whose Triton counterpart rounds, flushes or promotes differently.
void legalizeMath(block::ProgramOp program);

/// Marks the accesses that a tensor descriptor can carry and lists the descriptors; drops the parameter
/// USE_TENSOR_DESCRIPTOR where there are none.
void chooseDescriptors(block::ProgramOp program);

/// Drops the configuration rows that Triton or the target cannot compile; an error if none is left.
mlir::LogicalResult filterRows(block::ProgramOp program);

} // namespace intent::triton

#endif
