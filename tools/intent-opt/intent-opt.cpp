#include "intent/Conversion/KirToBlock/KirToBlock.h"
#include "intent/Dialect/Block/IR/Block.h"
#include "intent/Dialect/Kir/IR/Kir.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  mlir::registerPass([] { return intent::createKirToBlockPass(); });
  mlir::DialectRegistry registry;
  registry.insert<intent::kir::KirDialect, intent::block::BlockDialect, mlir::scf::SCFDialect>();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "intent-opt\n", registry));
}
