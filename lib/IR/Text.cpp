#include "intent/IR/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

static constexpr size_t maxTextBytes = 32u << 20;
static constexpr unsigned maxTextNesting = 256;

// Builtin forms that no IR of ours contains, and whose parsers recurse without brackets or allocate what they are told.
static bool isForeignWord(StringRef word) {
  return StringSwitch<bool>(word)
      .Cases(
          {"affine_map", "affine_set", "dense", "dense_resource", "sparse", "tensor", "vector", "memref", "strided", "distinct", "opaque"},
          true)
      .Default(false);
}

// Where the next token begins: behind white space and comments.
static size_t skipSpace(StringRef text, size_t i) {
  while (i < text.size()) {
    if (text.substr(i).starts_with("//")) i = std::min(text.find('\n', i), text.size());
    else if (isSpace(text[i])) ++i;
    else break;
  }
  return i;
}

// `array<i64: ...>` is the one form of arrays that the IR has, with i32 and i1 in properties; the parser of others assumes a width.
static bool isKnownArray(StringRef text, size_t behind) {
  size_t i = skipSpace(text, behind);
  if (i >= text.size() || text[i] != '<') return true; // no attribute: a name, or an error of the parser
  StringRef element = text.substr(skipSpace(text, i + 1)).take_while([](char c) { return isAlnum(c) || c == '_'; });
  return element == "i64" || element == "i32" || element == "i1";
}

std::string intent::refuseIrText(StringRef text) {
  if (text.size() > maxTextBytes) return "expected at most " + std::to_string(maxTextBytes) + " bytes, got " + std::to_string(text.size());
  if (text.starts_with("ML\xefR")) return "expected text, got bytecode";
  unsigned depth = 0, line = 1;
  auto at = [&](const std::string &what) { return what + " at line " + std::to_string(line); };
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '\n') ++line;
    if (c == '"') { // a string ends at its quote or its line
      for (++i; i < text.size() && text[i] != '"' && text[i] != '\n'; ++i)
        if (text[i] == '\\') ++i;
      if (i < text.size() && text[i] == '\n') ++line;
      continue;
    }
    if (c == '/' && i + 1 < text.size() && text[i + 1] == '/') {
      while (i < text.size() && text[i] != '\n')
        ++i;
      ++line;
      continue;
    }
    if (isAlpha(c) || c == '_') {
      size_t begin = i;
      while (i + 1 < text.size() && (isAlnum(text[i + 1]) || text[i + 1] == '_'))
        ++i;
      StringRef word = text.slice(begin, i + 1);
      bool bare = begin == 0 || !StringRef(".%@^#!$").contains(text[begin - 1]);
      if (bare && word == "array" && !isKnownArray(text, i + 1)) return at("this array has no place in this IR");
      if (bare && isForeignWord(word)) return at("'" + word.str() + "' has no place in this IR");
      continue;
    }
    if (c == '(' || c == '[' || c == '{' || c == '<') {
      if (++depth > maxTextNesting) return at("nested deeper than " + std::to_string(maxTextNesting) + " levels");
    } else if (depth && (c == ')' || c == ']' || c == '}' || (c == '>' && i && text[i - 1] != '-'))) {
      --depth;
    }
  }
  return {};
}
