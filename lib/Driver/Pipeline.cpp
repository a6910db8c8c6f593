// Running stages: verified on exit, dumped on request, failing with their name and their input.
#include "Pipeline.h"

#include "intent/Frontend/Frontend.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace intent;
using namespace intent::driver;

std::string intent::driver::printModule(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os, OpPrintingFlags().enableDebugInfo().printNameLocAsPrefix());
  os << "\n";
  return text;
}

LogicalResult intent::driver::readProgram(Compilation &c) {
  c.log.enter("frontend", Phase::Source);
  if (c.request.text) {
    c.module = parseSourceString<ModuleOp>(*c.request.text, ParserConfig(&c.context), "<text>");
    if (!c.module) c.log.requireReason();
    return success(static_cast<bool>(c.module));
  }
  c.module = frontend::lowerToKir(c.request.object, c.context);
  if (!c.module) {
    c.log.requireReason();
    return failure();
  }
  c.log.enter("frontend", Phase::Postcondition);
  return verify(*c.module);
}

LogicalResult intent::driver::runStages(Compilation &c, ArrayRef<Stage> stages) {
  for (const Stage &stage : stages) {
    OwningOpRef<ModuleOp> input(c.module->clone());
    c.log.enter(stage.name, Phase::Rewrite);
    bool rewritten = succeeded(stage.run(c));
    if (rewritten) c.log.enter(stage.name, Phase::Postcondition);
    if (!rewritten || failed(verify(*c.module)) || !c.log.empty()) {
      c.log.requireReason();
      c.result.fields["failed_input"] = printModule(*input);
      return failure();
    }
    if (llvm::is_contained(c.request.dump, stage.name)) c.result.fields["stage:" + stage.name.str()] = printModule(*c.module);
  }
  return success();
}
