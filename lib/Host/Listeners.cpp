#include "Listeners.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/ExecutionEngine/Orc/Debugging/DebugInfoSupport.h"
#include "llvm/ExecutionEngine/Orc/Debugging/ELFDebugObjectPlugin.h"
#include "llvm/ExecutionEngine/Orc/Debugging/PerfSupportPlugin.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/Orc/TargetProcess/JITLoaderPerf.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cstdlib>

using namespace llvm;

namespace intent::host {

std::optional<Listeners> Listeners::parse(StringRef names) {
  Listeners result;
  SmallVector<StringRef, 2> parts;
  names.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    bool *one = StringSwitch<bool *>(part.trim()).Case("gdb", &result.gdb).Case("perf", &result.perf).Default(nullptr);
    if (!one) return std::nullopt;
    *one = true;
  }
  return result;
}

// The folder that a jitdump goes to, which the writer of it does not say anything about.
static Error checkDumpFolder() {
  SmallString<128> folder;
  if (const char *named = std::getenv("JITDUMPDIR")) folder = named;
  else if (!sys::path::home_directory(folder)) folder = ".";
  sys::path::append(folder, ".debug", "jit");
  std::error_code problem = sys::fs::create_directories(folder);
  if (!problem) problem = sys::fs::access(folder, sys::fs::AccessMode::Write);
  if (!problem) return Error::success();
  return createStringError(problem, "no jitdump can be written to '%s': %s", folder.c_str(), problem.message().c_str());
}

Error Listeners::attach(orc::LLJIT &jit) const {
  if (!any()) return Error::success();
  auto *layer = dyn_cast<orc::ObjectLinkingLayer>(&jit.getObjLinkingLayer());
  if (!layer) return createStringError("code for this machine is linked in a way that debuggers and profilers are not told of");
  orc::ExecutionSession &session = jit.getExecutionSession();
  if (gdb) {
    Error failure = Error::success();
    auto plugin = std::make_shared<orc::ELFDebugObjectPlugin>(session, /*RequireDebugSections=*/true, /*AutoRegisterCode=*/true, failure);
    if (failure) return failure;
    layer->addPlugin(std::move(plugin));
  }
  if (perf) {
    // By address: the functions are in this library, whose symbols nobody finds.
    if (Error failure = checkDumpFolder()) return failure;
    auto lines = orc::DebugInfoPreservationPlugin::Create();
    if (!lines) return lines.takeError();
    layer->addPlugin(std::move(*lines)); // the linker would leave them out
    auto address = [](auto *function) { return orc::ExecutorAddr::fromPtr(function); };
    layer->addPlugin(std::make_shared<orc::PerfSupportPlugin>(
        session.getExecutorProcessControl(), address(&llvm_orc_registerJITLoaderPerfStart), address(&llvm_orc_registerJITLoaderPerfEnd),
        address(&llvm_orc_registerJITLoaderPerfImpl), /*EmitDebugInfo=*/true, /*EmitUnwindInfo=*/true));
  }
  return Error::success();
}

} // namespace intent::host
