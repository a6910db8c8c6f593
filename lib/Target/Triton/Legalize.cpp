// Makes every operation mean in Triton what it means in the block program. What changes operations is
// rewritten here, in the IR; the serializer only spells.
#include "Legalization.h"
#include "intent/Dialect/Block/IR/Block.h"
#include "intent/Target/Triton/Triton.h"

#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace intent;
using namespace intent::block;

namespace intent::triton {

static void addPrivate(ProgramOp program, ExprAttr expr, const Twine &name) {
  SmallVector<Attribute> privates(program.getPrivates().getValue());
  if (llvm::is_contained(privates, expr)) return;
  privates.push_back(expr);
  MLIRContext *context = program.getContext();
  program.setPrivatesAttr(ArrayAttr::get(context, privates));
  program.getBody().addArgument(IndexType::get(context), NameLoc::get(StringAttr::get(context, name), program.getLoc()));
}

/// The stride of each view axis that no declaration fixes becomes a private argument `"x.stride.0"`.
static void exposeStrides(ProgramOp program) {
  for (unsigned i = 0, publics = program.getNumPublicArguments(); i < publics; ++i) {
    auto view = dyn_cast<ViewArgumentAttr>(program.getInterfaceOf(i));
    if (!view || program.getBody().getArgument(i).use_empty()) continue;
    for (size_t axis = 0; axis < view.getShape().size(); ++axis) {
      ArrayAttr declared = view.getStrides();
      if (declared && axis < declared.size() && isa<IntegerAttr>(declared[axis])) continue;
      std::string symbol = (view.getName().getValue() + ".stride." + Twine(axis)).str();
      addPrivate(program, ExprAttr::symbol(program.getContext(), symbol), symbol);
    }
  }
}

/// The first instance of each group after the first becomes a private argument.
static void exposeSegments(ProgramOp program) {
  ExprAttr start;
  for (auto [i, group] : llvm::enumerate(program.getBody().getOps<GroupOp>())) {
    if (start) addPrivate(program, start, "start_" + Twine(i));
    start = start ? ExprAttr::apply(ExprKind::Add, {start, group.getSize()}) : group.getSize();
  }
}

LogicalResult legalizeForTriton(ModuleOp module) {
  WalkResult walked = module.walk([](ProgramOp program) {
    chooseDescriptors(program);
    if (failed(filterRows(program))) return WalkResult::interrupt();
    exposeStrides(program);
    exposeSegments(program);
    legalizeMath(program);
    return WalkResult::skip();
  });
  return failure(walked.wasInterrupted());
}

namespace {
struct LegalizeForTriton : PassWrapper<LegalizeForTriton, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LegalizeForTriton)
  StringRef getArgument() const override { return "block-legalize-for-triton"; }
  StringRef getDescription() const override { return "close the differences between block operations and Triton's own"; }
  void runOnOperation() override {
    if (failed(legalizeForTriton(getOperation()))) signalPassFailure();
  }
};
struct VerifyForTriton : PassWrapper<VerifyForTriton, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(VerifyForTriton)
  StringRef getArgument() const override { return "block-verify-for-triton"; }
  StringRef getDescription() const override { return "check a legalised program against Triton's surface and the target's features"; }
  void runOnOperation() override {
    if (failed(verifyForTriton(getOperation()))) signalPassFailure();
  }
};
} // namespace

void registerTritonPasses() {
  PassRegistration<LegalizeForTriton>();
  PassRegistration<VerifyForTriton>();
}

} // namespace intent::triton
