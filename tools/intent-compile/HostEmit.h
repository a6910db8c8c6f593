#ifndef INTENT_TOOLS_INTENT_COMPILE_HOSTEMIT_H
#define INTENT_TOOLS_INTENT_COMPILE_HOSTEMIT_H

#include "llvm/Support/JSON.h"
#include <map>
#include <string>

/// LLVM IR ("llvm") or assembly ("asm") that the host library makes of a block program, for a call whose launch symbols
/// have these values. On failure the text is empty and `error` says why.
std::string emitHostCode(const std::string &mlir, const llvm::json::Object &metadata, const std::string &form, unsigned row,
                         const std::map<std::string, int64_t> &symbols, std::string &error);

#endif
