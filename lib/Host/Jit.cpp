#include "Jit.h"

#include "ObjectStore.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/ExecutionEngine/Orc/CompileUtils.h"
#include "llvm/ExecutionEngine/Orc/ThreadSafeModule.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include <mutex>

using namespace llvm;

// Conversions of f16 on machines without F16C are calls into the compiler's library, which is not on any search path.
extern "C" {
_Float16 __truncsfhf2(float);
float __extendhfsf2(_Float16);
}

namespace intent::host {

NativeCode::~NativeCode() { consumeError(library.getExecutionSession().removeJITDylib(library)); }

static Listeners wanted;

void Jit::tell(Listeners listeners) { wanted = listeners; }

Expected<Jit *> Jit::get() {
  // Never destroyed: worker threads may still be in its code when the process ends.
  static Jit *instance = nullptr;
  static std::string failure;
  static std::once_flag once;
  std::call_once(once, [] {
    auto *made = new Jit;
    if (Error error = made->initialise()) failure = toString(std::move(error));
    else instance = made;
  });
  if (!instance) return createStringError(failure);
  return instance;
}

Error Jit::initialise() {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  auto detected = orc::JITTargetMachineBuilder::detectHost();
  if (!detected) return detected.takeError();
  detected->setCodeGenOptLevel(CodeGenOptLevel::Aggressive);
  builder = std::move(*detected);
  // Several threads may compile at once: each compilation has a target machine of its own, which is no shared thing.
  auto compiler = [](orc::JITTargetMachineBuilder machine) -> Expected<std::unique_ptr<orc::IRCompileLayer::IRCompiler>> {
    return std::make_unique<orc::ConcurrentIRCompiler>(std::move(machine));
  };
  auto made = orc::LLJITBuilder().setJITTargetMachineBuilder(*builder).setCompileFunctionCreator(std::move(compiler)).create();
  if (!made) return made.takeError();
  jit = std::move(*made);
  // The default reporter writes to stderr; failures come back from lookup.
  jit->getExecutionSession().setErrorReporter([](Error error) { consumeError(std::move(error)); });
  char prefix = jit->getDataLayout().getGlobalPrefix();
  facts.libmvec = false;
  // By library, never from the whole process, which may hold another LLVM.
  for (const char *library : {"libmvec.so.1", "libm.so.6", "libc.so.6"}) {
    auto generator = orc::DynamicLibrarySearchGenerator::Load(library, prefix);
    if (!generator) {
      consumeError(generator.takeError());
      continue;
    }
    facts.libmvec |= StringRef(library).starts_with("libmvec");
    jit->getMainJITDylib().addGenerator(std::move(*generator));
  }
  auto builtin = [](auto *function) { return orc::ExecutorSymbolDef(orc::ExecutorAddr::fromPtr(function), JITSymbolFlags::Exported); };
  orc::SymbolMap builtins{{jit->mangleAndIntern("__truncsfhf2"), builtin(&__truncsfhf2)},
                          {jit->mangleAndIntern("__extendhfsf2"), builtin(&__extendhfsf2)}};
  if (Error error = jit->getMainJITDylib().define(orc::absoluteSymbols(std::move(builtins)))) return error;
  StringMap<bool> features = sys::getHostCPUFeatures();
  auto has = [&](std::initializer_list<const char *> names) {
    return all_of(names, [&](const char *name) { return features.lookup(name); });
  };
  facts.fma = has({"fma"});
  listeners = wanted;
  facts.vectorBytes = has({"avx512f", "avx512dq", "avx512bw", "avx512vl"}) ? 64 : has({"avx2", "fma"}) ? 32 : 16;
  return listeners.attach(*jit);
}

Expected<std::unique_ptr<TargetMachine>> Jit::machine() {
  orc::JITTargetMachineBuilder copy = *builder;
  return copy.createTargetMachine();
}

Error Jit::prepare(Module &module) {
  auto target = machine();
  if (!target) return target.takeError();
  module.setDataLayout((*target)->createDataLayout());
  module.setTargetTriple((*target)->getTargetTriple());
  for (Function &function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("target-cpu", (*target)->getTargetCPU());
    function.addFnAttr("target-features", (*target)->getTargetFeatureString());
    function.addFnAttr("prefer-vector-width", std::to_string(facts.vectorBytes * 8));
  }
  // Nests are vectorised already; looking for more only costs time.
  PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = tuning.LoopInterleaving = tuning.LoopUnrolling = false;
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  PassBuilder passes(target->get(), tuning);
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(components);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, components, modules);
  passes.buildPerModuleDefaultPipeline(OptimizationLevel::O3).run(module, modules);
  return Error::success();
}

Expected<std::unique_ptr<MemoryBuffer>> Jit::object(Module &module, StringRef objects) {
  std::string machineText = builder->getTargetTriple().str() + " " + builder->getCPU() + " " + builder->getFeatures().getString();
  ObjectStore store(objects, module, machineText);
  if (std::unique_ptr<MemoryBuffer> known = store.load()) return known;
  if (Error error = prepare(module)) return error;
  auto target = machine();
  if (!target) return target.takeError();
  auto made = orc::SimpleCompiler(**target)(module);
  if (made) store.save(**made);
  return made;
}

Expected<std::unique_ptr<NativeCode>> Jit::compile(Module &module, StringRef entry, StringRef objects) {
  auto made = object(module, objects);
  if (!made) return made.takeError();
  auto library = jit->createJITDylib("intent_host_" + std::to_string(names++));
  if (!library) return library.takeError();
  auto code = std::make_unique<NativeCode>(*library, nullptr);
  library->addToLinkOrder(jit->getMainJITDylib());
  if (Error error = jit->addObjectFile(*library, std::move(*made))) return error;
  auto address = jit->lookup(*library, entry);
  if (!address) return address.takeError();
  code->entry = address->toPtr<NativeFunction>();
  return code;
}

Expected<std::string> Jit::print(Module &module, Form form) {
  std::string text;
  if (form == Form::Llvm) {
    raw_string_ostream os(text);
    module.print(os, nullptr);
    return text;
  }
  auto target = machine();
  if (!target) return target.takeError();
  SmallString<0> assembly;
  raw_svector_ostream os(assembly);
  legacy::PassManager passes;
  if ((*target)->addPassesToEmitFile(passes, os, nullptr, CodeGenFileType::AssemblyFile))
    return createStringError("this target prints no assembly");
  passes.run(module);
  return std::string(assembly);
}

} // namespace intent::host
