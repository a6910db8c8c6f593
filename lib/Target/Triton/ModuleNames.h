// The names that a call has in a printed module: of the arguments, of the symbols, and of the functions.
#ifndef INTENT_LIB_TARGET_TRITON_MODULENAMES_H
#define INTENT_LIB_TARGET_TRITON_MODULENAMES_H

#include "intent/Dialect/Block/IR/Block.h"
#include "intent/Target/Emission/NameScope.h"
#include "llvm/ADT/StringMap.h"

namespace intent::triton {

/// The author's names apart from the module's frame (imports, builtins, tables, launch options, tile parameters) and from each other:
/// the kernels, `symbols`, the lambdas of `VARIANTS` and the launch function all have an argument and a symbol under one name.
class ModuleNames {
public:
  explicit ModuleNames(block::KernelOp kernel);

  /// The public arguments.
  llvm::ArrayRef<std::string> arguments() const { return own; }
  llvm::StringRef argument(llvm::StringRef authors) const { return own[positions.at(authors)]; }
  /// A symbol or parameter: `M` is M, `%H` is the argument H, `x.stride.0` is x_stride_m after the axis's extent.
  std::string symbol(block::ExprAttr expr) const;
  /// The `@triton.jit` function of a program.
  llvm::StringRef program(block::ProgramOp op) const { return programs.find(op)->second; }
  /// The function that launches by hand.
  llvm::StringRef launch() const { return launchName; }
  /// A variable of a function that has the arguments as parameters.
  std::string local(llvm::StringRef base) { return names.declare(base); }

private:
  mlir::ArrayAttr interface;
  llvm::StringSet<> frame;
  emission::NameScope names;
  llvm::SmallVector<std::string> own;
  llvm::StringMap<unsigned> positions;
  llvm::StringMap<std::string> symbols;
  llvm::DenseMap<mlir::Operation *, std::string> programs;
  std::string launchName;
};

} // namespace intent::triton

#endif
