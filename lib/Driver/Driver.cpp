#include "intent/Driver/Driver.h"

#include "Pipeline.h"
#include "intent/Dialect/Kir/IR/Kir.h"
#include "intent/Target/Capabilities.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/MLIRContext.h"
#include <pthread.h>

using namespace mlir;
using namespace intent;
using namespace intent::driver;

void intent::registerDialects(DialectRegistry &registry) { registry.insert<kir::KirDialect, block::BlockDialect, scf::SCFDialect>(); }

//===- target ------------------------------------------------------------------------------------------===//

// The target of the request, or of the text that is replayed; the two may not differ.
static LogicalResult resolveRequestTarget(Compilation &c) {
  c.log.enter("target", Phase::Source);
  block::TargetAttr written = targetOf(*c.module);
  if (c.request.target) {
    const TargetRequest &asked = *c.request.target;
    FailureOr<block::TargetAttr> target = resolveTarget(UnknownLoc::get(&c.context), asked.provider, asked.arch, asked.features);
    if (failed(target)) return failure();
    c.target = *target;
    if (written && (written.getProvider() != asked.provider || written.getArch() != asked.arch)) {
      c.log.add(Status::ConfigurationError, "the text is for target '" + written.getProvider().str() + ":" + written.getArch().str() +
                                                "', the request for '" + asked.provider + ":" + asked.arch + "'");
      return failure();
    }
  }
  if (written) c.target = written;
  if (c.target || c.request.emit == Emit::Kir) return success();
  c.log.add(Status::ConfigurationError, "the request names no target");
  return failure();
}

//===- what is asked for -------------------------------------------------------------------------------===//

static LogicalResult runOneStage(Compilation &c) {
  const Stage *stage = findStage(c.request.stage);
  if (!stage) {
    c.log.add(Status::LanguageError, "request: field 'stage': unknown stage '" + llvm::json::fixUTF8(c.request.stage) + "'");
    return failure();
  }
  if (failed(resolveRequestTarget(c)) || failed(runStages(c, *stage))) return failure();
  c.result.fields["mlir"] = printModule(*c.module);
  return success();
}

// A text that already is a block program enters behind the conversion; one with configurations, behind those.
static ArrayRef<Stage> remainingBlockStages(ModuleOp module) {
  bool block = false, configured = true;
  for (auto kernel : module.getOps<block::KernelOp>()) {
    block = true;
    for (auto program : kernel.getOps<block::ProgramOp>())
      configured &= static_cast<bool>(program.getConfigurationsAttr());
  }
  if (!block) return blockStages();
  return configured ? ArrayRef<Stage>() : blockStages().drop_front();
}

static LogicalResult compile(Compilation &c) {
  if (failed(readProgram(c))) return failure();
  if (c.request.emit == Emit::Stage) return runOneStage(c);

  bool fromKir = !llvm::any_of(c.module->getOps(), [](Operation &op) { return isa<block::KernelOp>(op); });
  if (fromKir) {
    if (failed(runStages(c, kirStages()))) return failure();
    c.result.fields["kir"] = printModule(*c.module);
  }
  if (c.request.emit == Emit::Kir) return success();

  if (failed(resolveRequestTarget(c))) return failure();
  if (StringRef provider = c.target.getProvider(); providerStages(provider).empty() && provider != "host")
    return emitError(UnknownLoc::get(&c.context)) << "provider surface: this version has no programs for target '" << provider << "'";
  if (c.request.check && c.target.getProvider() != "host")
    return emitError(UnknownLoc::get(&c.context)) << "provider surface: expected target 'host' for checked programs (option check), got '"
                                                  << c.target.getProvider().getValue() << "'";
  if (failed(runStages(c, remainingBlockStages(*c.module)))) return failure();
  c.result.fields["mlir"] = printModule(*c.module);
  if (c.request.emit == Emit::Source) {
    StringRef provider = c.target.getProvider();
    if (failed(runStages(c, providerStages(provider)))) return failure();
    c.result.fields["mlir"] = printModule(*c.module);
    c.result.fields["source"] = provider == "host" ? c.result.fields["mlir"] : c.source;
  }
  c.result.fields["metadata"] = interfaceJson(c);
  return success();
}

static CompilationResult compileHere(StringRef text, const DriverOptions &options) {
  CompilationResult result;
  DiagnosticLog log;
  if (std::optional<Request> request = readRequest(text, log)) {
    DialectRegistry registry;
    registerDialects(registry);
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    context.loadAllAvailableDialects();
    auto listener = log.listen(context);
    Compilation compilation(context, *request, options, log, result);
    if (failed(compile(compilation))) log.requireReason();
  }
  result.status = log.status();
  result.fields["diagnostics"] = log.text();
  // Strings in IR text may spell any byte; what leaves is UTF-8.
  for (auto &field : result.fields)
    if (!llvm::json::isUTF8(field.second)) field.second = llvm::json::fixUTF8(field.second);
  return result;
}

//===- the thread --------------------------------------------------------------------------------------===//

// Parsers and rewrites recurse on what they are given, and a caller's thread may have little stack. The pages of this
// one are only touched as far as it is deep.
CompilationResult intent::compileRequest(StringRef request, const DriverOptions &options) {
  struct Call {
    StringRef request;
    const DriverOptions &options;
    CompilationResult result;
  } call{request, options, {}};
  auto body = [](void *data) -> void * {
    auto *call = static_cast<Call *>(data);
    call->result = compileHere(call->request, call->options);
    return nullptr;
  };
  constexpr size_t stackBytes = size_t(256) << 20;
  pthread_attr_t attributes;
  pthread_t thread;
  bool started = false;
  if (pthread_attr_init(&attributes) == 0) {
    started = pthread_attr_setstacksize(&attributes, stackBytes) == 0 && pthread_create(&thread, &attributes, body, &call) == 0;
    pthread_attr_destroy(&attributes);
  }
  if (started) pthread_join(thread, nullptr);
  else body(&call);
  return std::move(call.result);
}
