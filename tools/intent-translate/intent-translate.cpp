// Block programs to provider text, for tests and for reading.
#include "intent/Dialect/Block/IR/Block.h"
#include "intent/Target/Triton/Triton.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "mlir/Tools/mlir-translate/Translation.h"

int main(int argc, char **argv) {
  mlir::TranslateFromMLIRRegistration triton(
      "block-to-triton", "legalise, verify and print as a Triton module",
      [](mlir::ModuleOp module, llvm::raw_ostream &os) -> mlir::LogicalResult {
        if (mlir::failed(intent::triton::legalizeForTriton(module)) || mlir::failed(intent::triton::verifyForTriton(module)))
          return mlir::failure();
        mlir::FailureOr<intent::triton::SourceText> made = intent::triton::serializeToTriton(module);
        if (mlir::failed(made)) return mlir::failure();
        os << made->text;
        return mlir::success();
      },
      [](mlir::DialectRegistry &registry) { registry.insert<intent::block::BlockDialect, mlir::scf::SCFDialect>(); });
  return mlir::failed(mlir::mlirTranslateMain(argc, argv, "intent-translate\n"));
}
