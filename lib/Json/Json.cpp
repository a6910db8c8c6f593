#include "intent/Json/Json.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>
#include <cstdlib>
#include <vector>

using namespace llvm;

namespace {

// One pass over the tokens, before the recursive reader sees the text. It checks only what that reader does not:
// depth, duplicate keys, and numbers beyond what a double holds.
class Scan {
public:
  Scan(StringRef text, unsigned depthLimit) : text(text), depthLimit(depthLimit) {}

  // Empty if nothing was found.
  std::string run() {
    while (at < text.size() && error.empty())
      step();
    return error;
  }

private:
  void step() {
    char c = text[at];
    if (c == '"') return string();
    if (c == '{' || c == '[') {
      if (levels.size() >= depthLimit) return fail("nested deeper than " + std::to_string(depthLimit) + " levels");
      levels.emplace_back(c == '{');
    } else if ((c == '}' || c == ']') && !levels.empty()) {
      levels.pop_back();
    } else if (c == '-' || (c >= '0' && c <= '9')) {
      return number();
    } else if (c == ',' && !levels.empty()) {
      levels.back().expectKey = levels.back().object;
    }
    ++at;
  }

  void string() {
    size_t begin = at++;
    while (at < text.size() && text[at] != '"')
      at += text[at] == '\\' ? 2 : 1;
    if (at >= text.size()) return; // unterminated: the reader says so
    ++at;
    if (levels.empty() || !levels.back().expectKey) return;
    levels.back().expectKey = false;
    StringRef raw = text.slice(begin + 1, at - 1);
    std::string key = raw.str();
    if (raw.contains('\\')) {
      // Escapes can spell one key in two ways.
      Expected<json::Value> decoded = json::parse(text.slice(begin, at));
      if (!decoded) return consumeError(decoded.takeError());
      key = decoded->getAsString().value_or(raw).str();
    }
    if (levels.back().keys.insert(key).second) return;
    at = begin;
    fail("duplicate key '" + key + "'");
  }

  void number() {
    size_t begin = at;
    while (at < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '+' || text[at] == '-' || text[at] == '.'))
      ++at;
    std::string token = text.slice(begin, at).str();
    bool huge = token.size() > 400 || std::isinf(std::strtod(token.c_str(), nullptr));
    if (!huge) return;
    at = begin;
    fail("number '" + token.substr(0, 32) + (token.size() > 32 ? "..." : "") + "' is not finite");
  }

  void fail(std::string what) {
    StringRef before = text.take_front(at);
    size_t line = before.count('\n') + 1, column = at - (before.rfind('\n') == StringRef::npos ? 0 : before.rfind('\n') + 1) + 1;
    error = std::move(what) + " at line " + std::to_string(line) + ", column " + std::to_string(column);
  }

  struct Level {
    explicit Level(bool object) : object(object), expectKey(object) {}
    bool object, expectKey;
    StringSet<> keys;
  };

  StringRef text;
  unsigned depthLimit;
  size_t at = 0;
  std::vector<Level> levels;
  std::string error;
};

} // namespace

std::variant<json::Value, std::string> intent::parseJson(StringRef text, const JsonLimits &limits) {
  if (text.size() > limits.bytes) return "expected at most " + std::to_string(limits.bytes) + " bytes, got " + std::to_string(text.size());
  std::string refused = Scan(text, limits.depth).run();
  if (!refused.empty()) return refused;
  Expected<json::Value> value = json::parse(text);
  if (value) return std::move(*value);
  std::string message = toString(value.takeError());
  // LLVM writes "[1:7, byte=7]: Expected ..." with columns from 0; the sentence goes first here, columns count from 1.
  StringRef rest = message;
  if (rest.consume_front("[")) {
    auto [position, sentence] = rest.split("]: ");
    auto [line, zeroBased] = position.split(',').first.split(':');
    unsigned column = 0;
    zeroBased.getAsInteger(10, column);
    std::string text = sentence.str();
    if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
    return "not JSON: " + text + " at line " + line.str() + ", column " + std::to_string(column + 1);
  }
  return "not JSON: " + message;
}

StringRef intent::jsonKind(const json::Value &value) {
  switch (value.kind()) {
  case json::Value::Null: return "null";
  case json::Value::Boolean: return "a boolean";
  case json::Value::Number: return "a number";
  case json::Value::String: return "a string";
  case json::Value::Array: return "a list";
  case json::Value::Object: return "an object";
  }
  return "nothing";
}
