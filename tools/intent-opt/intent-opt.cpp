#include "intent/Conversion/KirToBlock/KirToBlock.h"
#include "intent/Driver/Driver.h"
#include "intent/Target/Triton/Triton.h"
#include "intent/Tuning/Passes.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  mlir::registerPass([] { return intent::createKirToBlockPass(); });
  intent::registerTuningPasses();
  intent::triton::registerTritonPasses();
  mlir::DialectRegistry registry;
  intent::registerDialects(registry);
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "intent-opt\n", registry));
}
