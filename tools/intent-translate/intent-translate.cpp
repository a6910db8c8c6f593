// Block programs to provider text, for tests and for reading.
#include "intent/Dialect/Block/IR/Block.h"
#include "intent/IR/Text.h"
#include "intent/Target/Triton/Triton.h"
#include "intent/Tuning/Tuning.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/SourceMgr.h"

static mlir::LogicalResult translateToTriton(const std::shared_ptr<llvm::SourceMgr> &source, llvm::raw_ostream &os,
                                             mlir::MLIRContext *context) {
  context->loadDialect<intent::block::BlockDialect, mlir::scf::SCFDialect>();
  std::string refused = intent::refuseIrText(source->getMemoryBuffer(source->getMainFileID())->getBuffer());
  if (!refused.empty()) return mlir::emitError(mlir::UnknownLoc::get(context)) << refused;
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceFile<mlir::ModuleOp>(source, context);
  if (!module || mlir::failed(intent::triton::legalizeForTriton(*module)) || mlir::failed(intent::triton::verifyForTriton(*module)))
    return mlir::failure();
  auto target = (*module)->getAttrOfType<intent::block::TargetAttr>("block.target");
  mlir::FailureOr<intent::triton::SourceText> made =
      intent::triton::serializeToTriton(*module, [&](intent::block::ProgramOp program, llvm::ArrayRef<int64_t> row) {
        return target ? intent::candidateCondition(program, row, target) : intent::block::ExprAttr();
      });
  if (mlir::failed(made)) return mlir::failure();
  os << made->text;
  return mlir::success();
}

int main(int argc, char **argv) {
  mlir::TranslateRegistration triton("block-to-triton", "legalise, verify and print as a Triton module", translateToTriton);
  return mlir::failed(mlir::mlirTranslateMain(argc, argv, "intent-translate\n"));
}
