// JSON that comes from outside (requests, tables): refused before it can hurt. LLVM's reader recurses on nesting,
// keeps the last of two equal keys and turns 1e999 into infinity; this one bounds and rejects all three.
#ifndef INTENT_JSON_JSON_H
#define INTENT_JSON_JSON_H

#include "llvm/Support/JSON.h"
#include <string>
#include <variant>

namespace intent {

struct JsonLimits {
  size_t bytes = 64u << 20;
  unsigned depth = 64;
};

/// The value of a JSON text, or why it is refused: lower-case, with line and column where there is one.
std::variant<llvm::json::Value, std::string> parseJson(llvm::StringRef text, const JsonLimits &limits);

/// What kind of JSON value this is, for messages: "an object", "a string"...
llvm::StringRef jsonKind(const llvm::json::Value &value);

} // namespace intent

#endif
