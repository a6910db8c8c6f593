#include "intent/Dialect/Block/IR/Block.h"
#include "intent/Dialect/Kir/IR/Kir.h"
#include "intent/Target/Triton/Triton.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::registerCanonicalizer();
  mlir::registerCSE();
  intent::triton::registerTritonPasses();
  mlir::DialectRegistry registry;
  registry.insert<intent::kir::KirDialect, intent::block::BlockDialect, mlir::scf::SCFDialect>();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "intent-opt\n", registry));
}
