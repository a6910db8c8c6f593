// Makes every operation mean in Triton what it means in the block program. What changes operations is
// rewritten here, in the IR; the serializer only spells.
#include "Legalization.h"
#include "intent/Dialect/Block/IR/Block.h"
#include "intent/Target/Emission/NameScope.h"
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
  // Workspaces stand behind the private arguments.
  program.getBody().insertArgument(program.getNumPublicArguments() + privates.size() - 1, IndexType::get(context),
                                   NameLoc::get(StringAttr::get(context, name), program.getLoc()));
}

ExprAttr strideOf(ProgramOp program, unsigned argument, unsigned axis) {
  MLIRContext *context = program.getContext();
  unsigned publics = program.getNumPublicArguments();
  if (argument >= publics) {
    auto space = cast<WorkspaceAttr>(program.getWorkspacesAttr()[argument - publics - program.getPrivates().size()]);
    ExprAttr stride = ExprAttr::constant(context, 1);
    for (ExprAttr extent : space.getShape().drop_front(axis + 1))
      stride = ExprAttr::apply(ExprKind::Mul, {stride, extent});
    return stride;
  }
  auto view = cast<ViewArgumentAttr>(program.getInterfaceOf(argument));
  ArrayAttr declared = view.getStrides();
  if (declared && axis < declared.size())
    if (auto integer = dyn_cast<IntegerAttr>(declared[axis])) return ExprAttr::constant(context, integer.getInt());
  return ExprAttr::symbol(context, (view.getName().getValue() + ".stride." + Twine(axis)).str());
}

/// The stride of each view axis that no declaration fixes becomes a private argument: `"x.stride.0"` of a parameter, a
/// product of extents of a workspace. One of parameters alone is written in place.
static void exposeStrides(ProgramOp program) {
  for (size_t i = 0; i < program.getBody().getNumArguments(); ++i) {
    BlockArgument argument = program.getBody().getArgument(i);
    auto view = dyn_cast<ViewType>(argument.getType());
    if (!view || argument.use_empty()) continue;
    for (int64_t axis = 0; axis < view.getRank(); ++axis) {
      ExprAttr stride = strideOf(program, argument.getArgNumber(), axis);
      bool launched = false;
      stride.walkExpr([&](ExprAttr leaf) { launched |= leaf.getKind() == ExprKind::Symbol; });
      if (!launched) continue;
      std::string name = (emission::authorName(argument.getLoc()) + "_stride_" + Twine(axis)).str();
      addPrivate(program, stride, stride.getKind() == ExprKind::Symbol ? stride.getSymbol().getValue() : StringRef(name));
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

/// The condition of a while is printed before the loop and again in it: what does not vary there belongs before both, where
/// a name that stands for a constant is given once.
static void hoistFromConditions(ProgramOp program) {
  program.walk([](scf::WhileOp loop) {
    for (Operation &op : llvm::make_early_inc_range(loop.getBefore().front().without_terminator()))
      if (op.getNumRegions() == 0 && isPure(&op) &&
          llvm::none_of(op.getOperands(), [&](Value v) { return loop.getBefore().isAncestor(v.getParentRegion()); }))
        op.moveBefore(loop);
  });
}

/// A pointer of a kernel is one of its arguments; control flow that chooses a view has no form.
static LogicalResult checkViews(ProgramOp program) {
  WalkResult walked = program.walk([&](Operation *op) {
    for (Value operand : op->getOperands()) {
      auto argument = dyn_cast<BlockArgument>(operand);
      if (!isa<ViewType>(operand.getType()) || (argument && argument.getOwner()->getParentOp() == program)) continue;
      op->emitError("provider surface: expected an argument of the program as the view, got one that control flow passes on");
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

LogicalResult legalizeForTriton(ModuleOp module) {
  WalkResult walked = module.walk([](ProgramOp program) {
    if (failed(checkViews(program))) return WalkResult::interrupt();
    chooseDescriptors(program);
    if (failed(legalizeAtomics(program)) || failed(filterRows(program))) return WalkResult::interrupt();
    exposeStrides(program);
    exposeSegments(program);
    separateUnitScans(program);
    legalizeStructured(program);
    legalizeMath(program);
    hoistFromConditions(program);
    separateSharedAccumulators(program);
    separateNarrowLoads(program);
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
