// The table of contents: which stages there are, in which order, and what each one calls.
#include "Pipeline.h"

#include "intent/Conversion/KirToBlock/KirToBlock.h"
#include "intent/Dialect/Block/IR/Block.h"
#include "intent/Target/Capabilities.h"
#include "intent/Target/Triton/Triton.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace intent;
using namespace intent::driver;

// `runStages` verifies, so that a broken postcondition is told from a failed rewrite.
static LogicalResult runPasses(Compilation &c, llvm::function_ref<void(OpPassManager &)> add) {
  PassManager pm(&c.context, ModuleOp::getOperationName());
  pm.enableVerifier(false);
  add(pm);
  return pm.run(*c.module);
}

static LogicalResult simplify(Compilation &c) {
  if (failed(runPasses(c, [](OpPassManager &pm) {
        pm.addPass(createCanonicalizerPass());
        pm.addPass(createCSEPass());
      })))
    return failure();
  block::adoptArithmetic(*c.module);
  return success();
}

//===- shared block program ----------------------------------------------------------------------------===//

// Every later stage asks the module for its target, so that each replays from text.
static LogicalResult kirToBlock(Compilation &c) {
  (*c.module)->setAttr(targetAttributeName, c.target);
  if (c.request.check) (*c.module)->setAttr(checkedAttributeName, UnitAttr::get(&c.context));
  KirToBlockOptions options;
  options.cover = c.request.cover;
  return convertKirToBlock(*c.module, options);
}

// The request names the table files; a provider that it leaves out has its table beside the library.
static LogicalResult materialize(Compilation &c) {
  std::string provider = c.target.getProvider().str();
  auto named = c.request.tables.find(provider);
  std::string path = named != c.request.tables.end() ? named->second : c.options.tableDirectory + "/" + provider + ".json";
  auto tables = readTables(provider, path, c.request.tuningConfig);
  if (auto *errors = std::get_if<std::vector<TableError>>(&tables)) {
    for (const TableError &error : *errors) {
      llvm::json::Object details{{"source", llvm::json::fixUTF8(error.source)}};
      details["family"] = error.family.empty() ? llvm::json::Value(nullptr) : llvm::json::Value(llvm::json::fixUTF8(error.family));
      details["row"] = error.row ? llvm::json::Value(int64_t(*error.row)) : llvm::json::Value(nullptr);
      details["column"] = error.column.empty() ? llvm::json::Value(nullptr) : llvm::json::Value(error.column);
      c.log.add(Status::ConfigurationError, llvm::json::fixUTF8(error.message), std::move(details));
    }
    return failure();
  }
  c.configurations.clear();
  for (auto kernel : c.module->getOps<block::KernelOp>()) {
    auto made = materializeConfigurations(kernel, std::get<TuningTables>(tables), c.target);
    if (failed(made)) return failure();
    llvm::append_range(c.configurations, *made);
  }
  return success();
}

//===- Triton ------------------------------------------------------------------------------------------===//

static LogicalResult tritonLegalize(Compilation &c) { return triton::legalizeForTriton(*c.module); }
static LogicalResult tritonVerify(Compilation &c) { return triton::verifyForTriton(*c.module); }
static LogicalResult tritonSerialize(Compilation &c) {
  FailureOr<triton::SourceText> made = triton::serializeToTriton(
      *c.module, [&](block::ProgramOp program, ArrayRef<int64_t> row) { return candidateCondition(program, row, c.target); });
  if (failed(made)) return failure();
  c.source = std::move(made->text);
  for (const triton::SourceLine &line : made->lines)
    c.lineMap.push_back(
        llvm::json::Object{{"line", int64_t(line.line)}, {"file", llvm::json::fixUTF8(line.file)}, {"author_line", int64_t(line.author)}});
  return success();
}

//===- table of contents -------------------------------------------------------------------------------===//

ArrayRef<Stage> intent::driver::kirStages() {
  static const Stage stages[] = {
      {"kir-normalise", simplify},
  };
  return stages;
}

ArrayRef<Stage> intent::driver::blockStages() {
  static const Stage stages[] = {
      {"kir-to-block", kirToBlock},
      {"block-simplify", simplify},
      {"block-materialize-configurations", materialize},
  };
  return stages;
}

ArrayRef<Stage> intent::driver::providerStages(StringRef provider) {
  static const Stage triton[] = {
      {"block-legalize-for-triton", tritonLegalize},
      {"block-verify-for-triton", tritonVerify},
      {"triton-serialize", tritonSerialize},
  };
  if (provider == "triton") return triton;
  return {};
}

const Stage *intent::driver::findStage(StringRef name) {
  for (ArrayRef<Stage> list : {kirStages(), blockStages(), providerStages("triton")})
    for (const Stage &stage : list)
      if (stage.name == name) return &stage;
  return nullptr;
}
