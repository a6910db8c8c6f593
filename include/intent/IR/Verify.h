#ifndef INTENT_IR_VERIFY_H
#define INTENT_IR_VERIFY_H

#include "intent/IR/Language.h"
#include "mlir/IR/Operation.h"

namespace intent {

/// Verifies what element-wise functions of KIR and of block programs share: the function is defined on `element` (C1), only an
/// approximate one flushes to zero (C2), and only a function that has an approximate form is approximate (C3). Errors are
/// emitted at `op`.
llvm::LogicalResult verifyFunction(mlir::Operation *op, UnaryKind kind, mlir::Type element, bool approximate, bool flushToZero);
llvm::LogicalResult verifyFunction(mlir::Operation *op, BinaryKind kind, mlir::Type element, bool approximate, bool flushToZero);

} // namespace intent

#endif
