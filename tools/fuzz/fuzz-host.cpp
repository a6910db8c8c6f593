// A block program to LLVM IR, as the host library binds and translates it for a call, without running it.
#include "Answer.h"

#include "intent/Conversion/BlockToLlvm/BlockToLlvm.h"
#include "intent/IR/Text.h"
#include "intent/Target/Capabilities.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace intent;
using namespace intent::block;

// As for a call with views whose last axis is dense, and with a lane count that is not a power of two.
static void translate(KernelOp kernel, unsigned number, bool checked) {
  OwningOpRef<KernelOp> copy = kernel.clone();
  ProgramOp program = *std::next(copy->getBody().front().getOps<ProgramOp>().begin(), number);
  FailureOr<llvm::StringMap<int64_t>> values = configurationRow(program, 0);
  if (failed(values)) return;
  for (auto parameter : program.getParameters().getAsRange<ParameterAttr>())
    if (parameter.getBinding()) (*values)[parameter.getSymbol().getValue()] = 12;
  if (failed(bindParameters(program, *values))) return;
  SmallVector<ViewFacts> views;
  for (Attribute attribute : copy->getInterface()) {
    ViewFacts &facts = views.emplace_back();
    auto view = dyn_cast<ViewArgumentAttr>(attribute);
    facts.strides.resize(view ? view.getShape().size() : 0);
    if (!facts.strides.empty()) facts.strides.back() = 1;
  }
  llvm::LLVMContext context;
  (void)translateToLlvm(program, views, CpuFacts(), "kernel", context, checked);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  constexpr size_t most = 32 << 10;
  std::string text(reinterpret_cast<const char *>(data), size); // the parser looks at the zero behind it
  if (size > most || !refuseIrText(text).empty()) return -1;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<BlockDialect, scf::SCFDialect>();
  ScopedDiagnosticHandler handler(&context, [](Diagnostic &diagnostic) {
    if (llvm::StringRef(diagnostic.str()).contains("generated code is not well formed")) fuzz::fail(diagnostic.str());
    return success();
  });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
  if (!module) return 0;
  for (auto kernel : module->getOps<KernelOp>())
    for (auto [number, program] : llvm::enumerate(kernel.getBody().front().getOps<ProgramOp>()))
      translate(kernel, number, (*module)->hasAttr(checkedAttributeName));
  return 0;
}
