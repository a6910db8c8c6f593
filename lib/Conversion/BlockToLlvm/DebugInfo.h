// Places of the author in the generated code.
#ifndef INTENT_CONVERSION_BLOCKTOLLVM_DEBUGINFO_H
#define INTENT_CONVERSION_BLOCKTOLLVM_DEBUGINFO_H

#include "intent/Conversion/BlockToLlvm/BlockToLlvm.h"
#include "llvm/IR/DIBuilder.h"
#include "llvm/IR/Function.h"

namespace intent::block::host {

/// DWARF of one function: the file, line and column that each operation has from the author.
class DebugInfo {
public:
  /// `function` is the whole of a kernel.
  DebugInfo(llvm::Function &function, KernelOp kernel);
  /// Null where the operation has no place: what stands there keeps that of its surroundings.
  llvm::DILocation *placeOf(mlir::Location location);
  /// Once all code is there.
  void finish() { builder.finalize(); }

private:
  llvm::DIFile *fileOf(llvm::StringRef name);

  llvm::DIBuilder builder;
  llvm::DISubprogram *scope = nullptr;
};

} // namespace intent::block::host

#endif
