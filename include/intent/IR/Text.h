// IR text that comes from outside: refused before a parser sees it.
#ifndef INTENT_IR_TEXT_H
#define INTENT_IR_TEXT_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace intent {

/// Why MLIR's parsers, which recurse on nesting and take some forms at their word, must not see this text; empty if they may.
/// Every reader of IR text asks first.
std::string refuseIrText(llvm::StringRef text);

} // namespace intent

#endif
