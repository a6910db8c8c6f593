// The stages between an author's program and provider text, in order.
#ifndef INTENT_LIB_DRIVER_PIPELINE_H
#define INTENT_LIB_DRIVER_PIPELINE_H

#include "Request.h"
#include "intent/Dialect/Block/IR/Block.h"
#include "intent/Tuning/Tuning.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace intent::driver {

/// One request on its way through the stages.
struct Compilation {
  Compilation(mlir::MLIRContext &context, const Request &request, const DriverOptions &options, DiagnosticLog &log,
              CompilationResult &result)
      : context(context), request(request), options(options), log(log), result(result) {}

  mlir::MLIRContext &context;
  const Request &request;
  const DriverOptions &options;
  DiagnosticLog &log;
  CompilationResult &result;

  mlir::OwningOpRef<mlir::ModuleOp> module;
  block::TargetAttr target;                          // null until the request's target is resolved
  std::vector<ProgramConfigurations> configurations; // what became of each table row, by program
  std::string source;                                // provider text
  llvm::json::Array lineMap;                         // source line -> author line
};

/// One step from a verified module to a verified module. Its name is the flag, the file and the dump.
struct Stage {
  llvm::StringLiteral name;
  mlir::LogicalResult (*run)(Compilation &);
};

/// Canonical kernel IR: what every target starts from.
llvm::ArrayRef<Stage> kirStages();
/// From kernel IR to a shared block program with its configurations: `target` features decide, no provider does.
llvm::ArrayRef<Stage> blockStages();
/// From a shared block program to the text of a provider; none where the block program is the product.
llvm::ArrayRef<Stage> providerStages(llvm::StringRef provider);

/// Runs stages in order, each verified on exit. On failure the log says which stage, and whether its rewrite or its
/// postcondition, and the result keeps the module that the stage was given.
mlir::LogicalResult runStages(Compilation &compilation, llvm::ArrayRef<Stage> stages);

/// The stage of that name in any list, or null.
const Stage *findStage(llvm::StringRef name);

/// Author's program or IR text to a module. Errors are the author's.
mlir::LogicalResult readProgram(Compilation &compilation);

/// The module as text with its locations.
std::string printModule(mlir::ModuleOp module);

/// `interface.json` of a block module (docs/interface.md).
std::string interfaceJson(Compilation &compilation);

} // namespace intent::driver

#endif
