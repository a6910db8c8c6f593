// The pass around `materializeConfigurations`, for replay on text.
#include "intent/Target/Capabilities.h"
#include "intent/Tuning/Passes.h"
#include "intent/Tuning/Tuning.h"

using namespace mlir;
using namespace intent;

namespace intent {
#define GEN_PASS_DEF_BLOCKMATERIALIZECONFIGURATIONS
#include "intent/Tuning/Passes.h.inc"
} // namespace intent

namespace {

struct MaterializeConfigurations : intent::impl::BlockMaterializeConfigurationsBase<MaterializeConfigurations> {
  using BlockMaterializeConfigurationsBase::BlockMaterializeConfigurationsBase;

  void runOnOperation() override {
    if (failed(run())) signalPassFailure();
  }

  LogicalResult run() {
    ModuleOp module = getOperation();
    block::TargetAttr target = targetOf(module);
    if (!target) return module.emitError() << "configuration: expected a module with attribute '" << targetAttributeName << "'";
    auto tables = readTables(target.getProvider(), table, override.empty() ? std::nullopt : std::optional<std::string>(override));
    if (auto *errors = std::get_if<std::vector<TableError>>(&tables)) {
      for (const TableError &error : *errors)
        emitError(module.getLoc()) << "configuration: " << error.message;
      return failure();
    }
    for (auto kernel : module.getOps<block::KernelOp>()) {
      auto made = materializeConfigurations(kernel, std::get<TuningTables>(tables), target);
      if (failed(made)) return failure();
      if (explain)
        for (const ProgramConfigurations &configurations : *made)
          explainRows(kernel, configurations);
    }
    return success();
  }

  static void explainRows(block::KernelOp kernel, const ProgramConfigurations &configurations) {
    for (auto [row, fate] : llvm::enumerate(configurations.rows)) {
      InFlightDiagnostic remark = emitRemark(kernel.getLoc())
                                  << configurations.program << ": family '" << configurations.family << "', row " << row << ": ";
      if (fate.kind == RowFate::Kept) remark << "candidate " << fate.candidate;
      else if (fate.kind == RowFate::Merged) remark << "merged with candidate " << fate.candidate;
      else remark << "rejected by rule '" << fate.rule << "': " << fate.reason;
      if (fate.kind != RowFate::Rejected && !fate.rule.empty()) remark << ", " << fate.rule << ": " << fate.reason;
    }
  }
};

} // namespace
