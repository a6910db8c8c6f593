// The conversion's table of contents: facts, covers, one construction per variant and group.
#include "intent/Conversion/KirToBlock/KirToBlock.h"

#include "Construct.h"
#include "Groups.h"
#include "Snapshots.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace intent::block;
using intent::kir::ExtentAttr;

namespace intent {
namespace conversion {
namespace {

/// Forms the block kernel of one kernel.
class Conversion {
public:
  Conversion(kir::KernelOp kernel, TargetAttr target, const KirToBlockOptions &options)
      : kernel(kernel), target(target), options(options), builder(kernel) {}

  LogicalResult run() {
    keepStages(kernel);
    formSteps(kernel);
    facts.emplace(kernel);
    if (facts->checked && failed(prepareChecked())) return failure();
    if (!facts->checked) kernel.walk([](kir::RequireOp require) { require.erase(); });
    while (true) { // each time around another value is kept in a buffer
      if (failed(analyse())) return failure();
      if (walkUnsized()) continue;
      llvm::SetVector<Value> replaced;
      if (failed(findReplaced(*facts, replaced))) return failure();
      if (keepInBuffers(replaced)) continue;
      FailureOr<std::vector<Variant>> variants = assignCovers(*facts, target, options);
      if (failed(variants)) {
        if (!carryUnheld()) return failure();
        continue;
      }
      collectPrivates();
      builder.setInsertionPoint(kernel);
      auto result = block::KernelOp::create(builder, kernel.getLoc(), kernel.getSymName(), interface(), checks(), overlaps());
      if (succeeded(construct(result, *variants))) {
        kernel.erase();
        return success();
      }
      result.erase();
      if (!keepInBuffers(facts->late) && !carryUnheld()) return failure();
    }
  }

private:
  LogicalResult analyse() {
    facts.emplace(kernel);
    return facts->analyse();
  }

  LogicalResult prepareChecked() {
    if (failed(analyse())) return failure();
    requireApart(*facts);
    if (failed(analyse())) return failure();
    keepIndexed(*facts);
    if (failed(analyse())) return failure();
    walkUnsized();
    unwriteBuffers(kernel);
    return success();
  }

  /// Each iteration of an unordered loop has buffers of its own, which the launch must be able to make.
  bool walkUnsized() {
    llvm::SetVector<Operation *> loops;
    kernel.walk([&](kir::BufferOp buffer) {
      for (auto loop = buffer->getParentOfType<kir::ParallelOp>(); loop; loop = loop->getParentOfType<kir::ParallelOp>())
        if (llvm::any_of(facts->axesOf(loop), [&](AxisId id) { return !facts->launchBound(facts->axis(id).extent, buffer); }))
          loops.insert(loop);
    });
    llvm::for_each(loops, walkInOrder);
    return !loops.empty();
  }

  bool keepInBuffers(const llvm::SetVector<Value> &values) {
    llvm::for_each(values, keepInBuffer);
    return !values.empty();
  }

  bool carryUnheld() {
    llvm::for_each(facts->unheld, carryInBuffers);
    return !facts->unheld.empty();
  }

  LogicalResult construct(block::KernelOp result, ArrayRef<Variant> variants) {
    ::mlir::Block &body = result.getBody().emplaceBlock();
    for (const Variant &variant : variants) {
      builder.setInsertionPointToEnd(&body);
      if (failed(construct(variant))) return failure();
    }
    return success();
  }

  /// Every launch-visible atom is a private argument; unused ones go again at the end.
  void collectPrivates() {
    llvm::SetVector<Attribute> symbols;
    auto add = [&](ExtentAttr extent) {
      for (StringAttr atom : extent.getAtoms())
        if (!atom.getValue().starts_with("?")) symbols.insert(ExprAttr::symbol(kernel.getContext(), atom.getValue()));
    };
    for (Type type : kernel.getArgumentTypes())
      for (ExtentAttr extent : kir::shapeOf(type))
        add(extent);
    for (AxisId id = 0; id < facts->axisCount(); ++id)
      add(facts->axis(id).extent);
    kernel.walk([&](Operation *op) {
      if (auto number = dyn_cast<kir::ExtentOp>(op)) add(number.getExtent());
      for (Type type : op->getResultTypes()) {
        if (auto domain = dyn_cast<kir::DomainType>(type)) add(domain.getExtent());
        for (ExtentAttr extent : kir::shapeOf(type))
          add(extent);
      }
    });
    privates = llvm::to_vector(symbols);
  }

  ArrayAttr interface() {
    SmallVector<Attribute> entries;
    for (unsigned i = 0; i < kernel.getNumArguments(); ++i) {
      StringAttr name = builder.getStringAttr(kernel.getParameterName(i));
      auto view = dyn_cast<kir::ViewType>(kernel.getArgumentTypes()[i]);
      if (!view) {
        entries.push_back(ScalarArgumentAttr::get(kernel.getContext(), name, kernel.getArgumentTypes()[i]));
        continue;
      }
      SmallVector<ExprAttr> shape;
      for (ExtentAttr extent : view.getShape())
        shape.push_back(facts->launchExpr(extent));
      entries.push_back(ViewArgumentAttr::get(
          kernel.getContext(), name, view.getElement(), shape, view.getAccess(), static_cast<bool>(kernel.getArgAttr(i, "kir.noalias")),
          kernel.getArgAttrOfType<StringAttr>(i, "kir.alias"), kernel.getArgAttrOfType<ArrayAttr>(i, "kir.strides")));
    }
    return builder.getArrayAttr(entries);
  }

  ArrayAttr checks() {
    SmallVector<Attribute> result;
    kernel.walk([&](kir::CheckExtentOp op) {
      if (!facts->isLaunchVisible(op.getLhs()) || !facts->isLaunchVisible(op.getRhs())) return;
      ExprAttr equal = ExprAttr::apply(ExprKind::Eq, {facts->launchExpr(op.getLhs()), facts->launchExpr(op.getRhs())});
      result.push_back(CheckAttr::get(kernel.getContext(), equal, op.getMessageAttr()));
    });
    return builder.getArrayAttr(result);
  }

  // Two views may coincide where one effect alone touches them: it then reads each element in the lane that writes it, and before.
  Overlap permission(Value a, Value b) {
    if (kir::elementType(a.getType()) != kir::elementType(b.getType()) || kir::shapeOf(a.getType()) != kir::shapeOf(b.getType()))
      return Overlap::Disjoint;
    Effect *only = nullptr;
    std::optional<Coordinates> at;
    for (Effect *effect : facts->roots)
      for (const Access &access : facts->accessesOf(effect)) {
        if (access.view != a && access.view != b) continue;
        if (!effect->isLeaf() || (only && only != effect) || (at && *at != access.coordinates)) return Overlap::Disjoint;
        if (!access.write && facts->order(access.op) > facts->order(effect->op)) return Overlap::Disjoint;
        only = effect;
        at = access.coordinates;
      }
    return only ? Overlap::Identical : Overlap::Any;
  }

  ArrayAttr overlaps() {
    SmallVector<Attribute> result;
    for (unsigned i = 0; i < kernel.getNumArguments(); ++i)
      for (unsigned j = 0; j < i; ++j) {
        auto x = dyn_cast<kir::ViewType>(kernel.getArgumentTypes()[j]), y = dyn_cast<kir::ViewType>(kernel.getArgumentTypes()[i]);
        if (!x || !y || (x.getAccess() == intent::Access::In && y.getAccess() == intent::Access::In)) continue;
        result.push_back(OverlapPermissionAttr::get(kernel.getContext(), builder.getStringAttr(kernel.getParameterName(j)),
                                                    builder.getStringAttr(kernel.getParameterName(i)),
                                                    permission(kernel.getArgument(j), kernel.getArgument(i))));
      }
    return builder.getArrayAttr(result);
  }

  LogicalResult construct(const Variant &variant) {
    SmallVector<Attribute> parameters(variant.parameters.begin(), variant.parameters.end());
    auto program = ProgramOp::create(builder, kernel.getLoc(), variant.name, variant.guard, builder.getArrayAttr(privates), ArrayAttr(),
                                     builder.getArrayAttr(parameters), ConfigurationSetAttr(), StringAttr());
    ::mlir::Block &body = program.getBody().emplaceBlock();
    for (unsigned i = 0; i < kernel.getNumArguments(); ++i) {
      Type type = kernel.getArgumentTypes()[i];
      if (auto view = dyn_cast<kir::ViewType>(type))
        type = block::ViewType::get(kernel.getContext(), view.getElement(), view.getShape().size());
      body.addArgument(type, NameLoc::get(builder.getStringAttr(kernel.getParameterName(i)), kernel.getLoc()));
    }
    for (Attribute symbol : privates) {
      std::string name = cast<ExprAttr>(symbol).getSymbol().str();
      if (name[0] == '%') name = name.substr(1) + "_extent";
      body.addArgument(builder.getIndexType(), NameLoc::get(builder.getStringAttr(name), kernel.getLoc()));
    }
    for (const Group &group : variant.groups)
      if (failed(Construction(*facts, group, program, privates).build())) return failure();
    dropUnused(program);
    return success();
  }

  /// Unused private arguments and parameters leave the program.
  void dropUnused(ProgramOp program) {
    // Pure leftovers of forwarding and alignment first.
    SmallVector<Operation *> dead;
    do {
      dead.clear();
      program.walk([&](Operation *op) {
        if (isOpTriviallyDead(op)) dead.push_back(op);
      });
      for (Operation *op : dead)
        op->erase();
    } while (!dead.empty());
    ::mlir::Block &body = program.getBody().front();
    unsigned publics = kernel.getNumArguments();
    SmallVector<Attribute> kept;
    for (unsigned i = privates.size(); i-- > 0;) {
      if (body.getArgument(publics + i).use_empty()) body.eraseArgument(publics + i);
      else kept.insert(kept.begin(), privates[i]);
    }
    program.setPrivatesAttr(builder.getArrayAttr(kept));
    llvm::StringSet<> used;
    auto note = [&](ExprAttr expr) {
      expr.walkExpr([&](ExprAttr e) {
        if (e.getKind() == ExprKind::Parameter) used.insert(e.getSymbol());
      });
    };
    if (ArrayAttr spaces = program.getWorkspacesAttr())
      for (auto space : spaces.getAsRange<WorkspaceAttr>())
        for (ExprAttr extent : space.getShape())
          note(extent);
    program.walk([&](Operation *op) {
      for (Type type : op->getResultTypes())
        for (ExprAttr extent : extentsOf(type))
          note(extent);
      if (auto param = dyn_cast<ParamOp>(op)) note(param.getValue());
      if (auto group = dyn_cast<GroupOp>(op)) note(group.getSize());
    });
    SmallVector<Attribute> parameters;
    for (auto parameter : program.getParameters().getAsRange<ParameterAttr>())
      if (used.contains(parameter.getSymbol())) parameters.push_back(parameter);
    program.setParametersAttr(builder.getArrayAttr(parameters));
  }

  kir::KernelOp kernel;
  TargetAttr target;
  const KirToBlockOptions &options;
  std::optional<Facts> facts;
  OpBuilder builder;
  SmallVector<Attribute> privates;
};

struct KirToBlockPass : PassWrapper<KirToBlockPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(KirToBlockPass)
  KirToBlockPass() = default;
  KirToBlockPass(const KirToBlockPass &other) : PassWrapper(other) {}
  explicit KirToBlockPass(const KirToBlockOptions &options) { cover = options.cover; }
  StringRef getArgument() const final { return "convert-kir-to-block"; }
  StringRef getDescription() const final { return "form the block program of a kernel for the module's block.target"; }
  void getDependentDialects(DialectRegistry &registry) const final { registry.insert<block::BlockDialect, scf::SCFDialect>(); }
  void runOnOperation() final {
    if (failed(convertKirToBlock(getOperation(), KirToBlockOptions{cover}))) signalPassFailure();
  }
  Option<std::string> cover{*this, "cover", llvm::cl::desc("forced covers by extent, such as N=loop,lanes;M=program")};
};

} // namespace
} // namespace conversion

LogicalResult convertKirToBlock(ModuleOp module, const KirToBlockOptions &options) {
  auto target = module->getAttrOfType<TargetAttr>("block.target");
  SmallVector<kir::KernelOp> kernels(module.getOps<kir::KernelOp>());
  for (kir::KernelOp kernel : kernels)
    if (failed(conversion::Conversion(kernel, target, options).run())) return failure();
  PassManager cleanup(module.getContext());
  cleanup.enableVerifier(false); // until the constants are adopted
  cleanup.addPass(createCSEPass());
  cleanup.addPass(createCanonicalizerPass());
  cleanup.addPass(createCSEPass());
  if (failed(cleanup.run(module))) return failure();
  block::adoptArithmetic(module);
  return success();
}

std::unique_ptr<Pass> createKirToBlockPass(KirToBlockOptions options) {
  return std::make_unique<conversion::KirToBlockPass>(std::move(options));
}

} // namespace intent
