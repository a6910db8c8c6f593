// Forms the block program of a kernel: facts, one assignment of covers, one construction.
#ifndef INTENT_CONVERSION_KIRTOBLOCK_KIRTOBLOCK_H
#define INTENT_CONVERSION_KIRTOBLOCK_KIRTOBLOCK_H

#include "intent/Dialect/Block/IR/Block.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace intent {

struct KirToBlockOptions {
  /// Forced covers for tests, `"N=loop,lanes;M=program"` by extent symbol; empty leaves the choice to the compiler.
  std::string cover;
};

/// Replaces the module's `kir.kernel` by a `block.kernel` with one program per variant, for the target that the
/// module attribute `block.target` describes. Failures are located diagnostics; those of programs that are legal in
/// the language but have no legal block program start with `shared gpu: `.
mlir::LogicalResult convertKirToBlock(mlir::ModuleOp module, const KirToBlockOptions &options = {});

std::unique_ptr<mlir::Pass> createKirToBlockPass(KirToBlockOptions options = {});

} // namespace intent

#endif
