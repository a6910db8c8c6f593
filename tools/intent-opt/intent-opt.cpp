#include "intent/Conversion/KirToBlock/KirToBlock.h"
#include "intent/Driver/Driver.h"
#include "intent/IR/Text.h"
#include "intent/Target/Triton/Triton.h"
#include "intent/Tuning/Passes.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

static int fail(llvm::StringRef message) {
  llvm::errs() << "intent-opt: error: " << message << "\n";
  return 1;
}

int main(int argc, char **argv) {
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  mlir::registerPass([] { return intent::createKirToBlockPass(); });
  intent::registerTuningPasses();
  intent::triton::registerTritonPasses();
  mlir::DialectRegistry registry;
  intent::registerDialects(registry);
  auto [input, output] = mlir::registerAndParseCLIOptions(argc, argv, "intent-opt\n", registry);
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> text = mlir::openInputFile(input, &error);
  if (!text) return fail(error);
  if (std::string refused = intent::refuseIrText(text->getBuffer()); !refused.empty()) return fail(input + ": " + refused);
  std::unique_ptr<llvm::ToolOutputFile> made = mlir::openOutputFile(output, &error);
  if (!made) return fail(error);
  if (mlir::failed(mlir::MlirOptMain(made->os(), std::move(text), registry, mlir::MlirOptMainConfig::createFromCLOptions()))) return 1;
  made->keep();
  return 0;
}
