// Optimises LLVM modules for this machine and makes their functions callable.
#ifndef INTENT_HOST_JIT_H
#define INTENT_HOST_JIT_H

#include "Listeners.h"
#include "intent/Conversion/BlockToLlvm/BlockToLlvm.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/Error.h"

namespace intent::host {

/// frame, first instance, end of instances, arena: see HostFunction.
using NativeFunction = void (*)(const int64_t *, int64_t, int64_t, char *);

/// Native code with its memory, in a library of its own; removed with the last reference.
class NativeCode {
public:
  explicit NativeCode(llvm::orc::JITDylib &library, NativeFunction entry) : entry(entry), library(library) {}
  ~NativeCode();
  NativeFunction entry;

private:
  llvm::orc::JITDylib &library;
};

enum class Form { Llvm, Assembly };

/// One per process; all functions are thread-safe.
class Jit {
public:
  static llvm::Expected<Jit *> get();
  /// Who is told of all code from here on; before the first `get`.
  static void tell(Listeners listeners);
  /// Somebody is told: code has places of the author.
  bool isHeard() const { return listeners.any(); }
  const block::CpuFacts &cpu() const { return facts; }
  /// Data layout, triple and target attributes, then LLVM's optimisation pipeline.
  llvm::Error prepare(llvm::Module &module);
  /// Code of a module as translation made it. `objects` is a folder that keeps what was compiled for machines like this
  /// one, in files named after the module's text; empty for none. What is wrong with it only costs time.
  llvm::Expected<std::unique_ptr<NativeCode>> compile(llvm::Module &module, llvm::StringRef entry, llvm::StringRef objects);
  llvm::Expected<std::string> print(llvm::Module &module, Form form);

private:
  Jit() = default;
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> object(llvm::Module &module, llvm::StringRef objects);
  llvm::Error initialise();
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>> machine();

  std::optional<llvm::orc::JITTargetMachineBuilder> builder;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  block::CpuFacts facts;
  Listeners listeners;
  std::atomic<uint64_t> names{0};
};

} // namespace intent::host

#endif
