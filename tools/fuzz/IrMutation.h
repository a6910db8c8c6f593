// Changes to a program as IR: operations and operands that fit, so that most of what comes out verifies.
#ifndef INTENT_TOOLS_FUZZ_IRMUTATION_H
#define INTENT_TOOLS_FUZZ_IRMUTATION_H

#include "Tokens.h"
#include <optional>

namespace intent::fuzz {

/// The printed module of `text` after a few changes; nothing if it does not parse, or no change was found that verifies.
std::optional<std::string> mutateIr(llvm::StringRef text, llvm::StringRef donor, Random &random);

} // namespace intent::fuzz

#endif
