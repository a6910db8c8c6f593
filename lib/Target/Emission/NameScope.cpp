// Names of values: the author's where a location has one, unique where they are visible.
#include "intent/Target/Emission/NameScope.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace intent::emission {

StringRef authorName(Location location) {
  if (auto name = dyn_cast<NameLoc>(location)) return name.getName().getValue();
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (StringRef name = authorName(part); !name.empty()) return name;
  if (auto call = dyn_cast<CallSiteLoc>(location)) return authorName(call.getCallee());
  return {};
}

std::optional<FileLineColLoc> authorPosition(Location location) {
  if (auto file = dyn_cast<FileLineColLoc>(location)) return file;
  if (auto name = dyn_cast<NameLoc>(location)) return authorPosition(name.getChildLoc());
  if (auto call = dyn_cast<CallSiteLoc>(location)) return authorPosition(call.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (std::optional<FileLineColLoc> file = authorPosition(part)) return file;
  return std::nullopt;
}

std::string identifierFrom(StringRef name) {
  std::string result;
  for (char c : name)
    result += llvm::isAlnum(c) || c == '_' ? c : '_';
  result.erase(0, result.find_first_not_of('_'));
  if (result.empty() || llvm::isDigit(result.front())) result.insert(0, "v");
  return result;
}

bool mentions(StringRef text, StringRef name) {
  auto inWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  for (size_t at = text.find(name); at != StringRef::npos; at = text.find(name, at + 1)) {
    bool starts = at == 0 || !inWord(text[at - 1]), ends = at + name.size() == text.size() || !inWord(text[at + name.size()]);
    if (starts && ends) return true;
  }
  return false;
}

void NameScope::push(const Taken &taken) {
  push();
  for (auto &name : taken.names)
    scopes.back().insert(name.getKey());
  for (auto &name : taken.loopVariables)
    counted.back().insert(name.getKey());
}

void NameScope::pop(Taken &taken) {
  for (auto &name : scopes.back())
    taken.names.insert(name.getKey());
  for (auto &name : counted.back())
    taken.loopVariables.insert(name.getKey());
  pop();
}

bool NameScope::isTaken(StringRef name) const {
  if (reserved.contains(name)) return true;
  return llvm::any_of(scopes, [&](const llvm::StringSet<> &scope) { return scope.contains(name); });
}

static std::string freeName(StringRef base, llvm::function_ref<bool(StringRef)> isTaken) {
  std::string stem = identifierFrom(base), name = stem;
  for (unsigned i = 1; isTaken(name); ++i)
    name = stem + "_" + std::to_string(i);
  return name;
}

std::string NameScope::declare(StringRef base) {
  std::string name = freeName(base, [&](StringRef candidate) {
    return isTaken(candidate) || llvm::any_of(counted, [&](const llvm::StringSet<> &scope) { return scope.contains(candidate); });
  });
  scopes.back().insert(name);
  return name;
}

std::string NameScope::declareLoopVariable(StringRef base, StringRef type) {
  std::string name = freeName(base, [&](StringRef candidate) {
    auto other = types.find(candidate);
    return isTaken(candidate) || (other != types.end() && other->second != type);
  });
  types[name] = type.str();
  scopes.back().insert(name);
  counted[counted.size() - 2].insert(name);
  return name;
}

const llvm::StringSet<> &pythonReservedNames() {
  static const llvm::StringSet<> names = {
      "False",  "None",     "True",  "and",    "as",      "assert", "async",  "await",       "break", "class",  "continue", "def",
      "del",    "elif",     "else",  "except", "finally", "for",    "from",   "global",      "if",    "import", "in",       "is",
      "lambda", "nonlocal", "not",   "or",     "pass",    "raise",  "return", "try",         "while", "with",   "yield",    "match",
      "case",   "print",    "range", "float",  "int",     "bool",   "str",    "len",         "min",   "max",    "abs",      "sum",
      "dict",   "list",     "tuple", "set",    "pow",     "round",  "type",   "static_range"};
  return names;
}

} // namespace intent::emission
