// Optimises LLVM modules for this machine and makes their functions callable.
#ifndef INTENT_HOST_JIT_H
#define INTENT_HOST_JIT_H

#include "intent/Conversion/BlockToLlvm/BlockToLlvm.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/Error.h"

namespace intent::host {

/// frame, first instance, end of instances, arena: see HostFunction.
using NativeFunction = void (*)(const int64_t *, int64_t, int64_t, char *);

/// Native code with its memory; removed with the last reference.
class NativeCode {
public:
  explicit NativeCode(llvm::orc::ResourceTrackerSP tracker, NativeFunction entry) : entry(entry), tracker(std::move(tracker)) {}
  ~NativeCode();
  NativeFunction entry;

private:
  llvm::orc::ResourceTrackerSP tracker;
};

enum class Form { Llvm, Assembly };

/// One per process; all functions are thread-safe.
class Jit {
public:
  static llvm::Expected<Jit *> get();
  const block::CpuFacts &cpu() const { return facts; }
  /// Data layout, triple and target attributes, then LLVM's optimisation pipeline.
  llvm::Error prepare(llvm::Module &module);
  llvm::Expected<std::unique_ptr<NativeCode>> compile(std::unique_ptr<llvm::Module> module, std::unique_ptr<llvm::LLVMContext> context,
                                                      llvm::StringRef entry);
  llvm::Expected<std::string> print(llvm::Module &module, Form form);
  std::string uniqueName();

private:
  Jit() = default;
  llvm::Error initialise();
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>> machine();

  std::optional<llvm::orc::JITTargetMachineBuilder> builder;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  block::CpuFacts facts;
  std::atomic<uint64_t> names{0};
};

} // namespace intent::host

#endif
