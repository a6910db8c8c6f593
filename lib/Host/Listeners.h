// Tools outside that are told of each piece of native code.
#ifndef INTENT_HOST_LISTENERS_H
#define INTENT_HOST_LISTENERS_H

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/Error.h"

namespace intent::host {

struct Listeners {
  bool gdb = false;  ///< through the interface that debuggers watch for generated code
  bool perf = false; ///< through a jitdump file in $JITDUMPDIR, else in the home directory, for `perf inject --jit`
  bool any() const { return gdb || perf; }

  /// Names separated by commas; none if one is unknown.
  static std::optional<Listeners> parse(llvm::StringRef names);
  llvm::Error attach(llvm::orc::LLJIT &jit) const;
};

} // namespace intent::host

#endif
