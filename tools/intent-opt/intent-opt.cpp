#include "intent/Driver/Driver.h"
#include "intent/Tuning/Passes.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::registerCanonicalizer();
  mlir::registerCSE();
  intent::registerTuningPasses();
  mlir::DialectRegistry registry;
  intent::registerDialects(registry);
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "intent-opt\n", registry));
}
