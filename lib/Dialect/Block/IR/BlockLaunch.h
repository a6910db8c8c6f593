// Checks of launch arithmetic: what a call knows, and what only a bound program knows.
#ifndef INTENT_LIB_DIALECT_BLOCK_IR_BLOCKLAUNCH_H
#define INTENT_LIB_DIALECT_BLOCK_IR_BLOCKLAUNCH_H

#include "intent/Dialect/Block/IR/Block.h"

namespace intent::block {

/// Every expression of the kernel's interface and checks uses launch symbols that the interface defines, and no parameter.
mlir::LogicalResult verifyInterfaceArithmetic(KernelOp kernel);

/// The same for a program: the guard and the coverage bindings are evaluated before parameters have values; private arguments,
/// workspace extents and group sizes may use both.
mlir::LogicalResult verifyProgramArithmetic(ProgramOp program);

} // namespace intent::block

#endif
