// What every fuzz target asks of an answer.
#ifndef INTENT_TOOLS_FUZZ_ANSWER_H
#define INTENT_TOOLS_FUZZ_ANSWER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

namespace intent::fuzz {

/// Ends the process: a finding.
[[noreturn]] void fail(const llvm::Twine &reason);

/// Compiles a request. Fails if the answer is none: a status or a field that the interface does not have, or an internal error,
/// which no input may get.
void compileAndCheck(llvm::StringRef request);

} // namespace intent::fuzz

#endif
