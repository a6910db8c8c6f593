#ifndef INTENT_FRONTEND_FRONTEND_H
#define INTENT_FRONTEND_FRONTEND_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/JSON.h"

namespace intent::frontend {

/// Lowers the captured program of a request (docs/request.md) to one verified, canonical kernel IR module.
///
/// On error the module is null and diagnostics went to `context`: located ones (`FileLineColRange` of base name, lines and
/// columns from 1, notes at the other operands) for the author's program, unlocated ones that start with "request: " for a
/// malformed request. A legal form that the frontend does not lower yet starts with "unsupported form: ", a failure of ours
/// with "internal error: ". The KIR dialect is loaded on demand. No input ends the process.
mlir::OwningOpRef<mlir::ModuleOp> lowerToKir(const llvm::json::Object &request, mlir::MLIRContext &context);

} // namespace intent::frontend

#endif
