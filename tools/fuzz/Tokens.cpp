#include "Tokens.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include <cstring>

using namespace llvm;
using namespace intent::fuzz;

void Donors::add(StringRef text) {
  constexpr size_t most = 512;
  if (texts.size() < most) texts.push_back(text.str());
  else texts[next++ % most] = text.str();
}

size_t intent::fuzz::mutateInput(uint8_t *data, size_t size, size_t most, unsigned seed,
                                 function_ref<std::string(StringRef, const Donors &, Random &)> mutate) {
  static Donors donors;
  Random random(seed);
  StringRef text(reinterpret_cast<const char *>(data), size);
  donors.add(text);
  if (size == 0 || below(random, 32) == 0) return LLVMFuzzerMutate(data, size, most);
  std::string made = mutate(text, donors, random);
  if (made.empty() || made.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::memcpy(data, made.data(), made.size());
  return made.size();
}

namespace {

// Tokens that may stand for each other: their kind is their first character, with letters and digits taken together.
char kindOf(StringRef token) {
  char c = token.front();
  return isAlpha(c) || c == '_' ? 'a' : isDigit(c) ? '0' : isSpace(c) ? ' ' : c;
}

bool isWordCharacter(char c) { return isAlnum(c) || c == '_' || c == '.' || c == '$'; }

size_t lengthOfToken(StringRef text) {
  char c = text.front();
  size_t end = 1;
  auto skip = [&](auto matches) {
    while (end < text.size() && matches(text[end]))
      ++end;
  };
  if (isSpace(c)) skip([](char c) { return isSpace(c); });
  else if (text.starts_with("//")) skip([](char c) { return c != '\n'; });
  else if (isWordCharacter(c) || StringRef("%@^#!").contains(c)) skip(isWordCharacter);
  else if (text.starts_with("->") || text.starts_with("::")) end = 2;
  else if (c == '"') {
    while (end < text.size() && text[end] != '"' && text[end] != '\n')
      end += text[end] == '\\' ? 2 : 1;
    end = std::min(end + 1, text.size());
  }
  return end;
}

std::vector<StringRef> split(StringRef text) {
  std::vector<StringRef> tokens;
  while (!text.empty()) {
    size_t length = lengthOfToken(text);
    tokens.push_back(text.take_front(length));
    text = text.drop_front(length);
  }
  return tokens;
}

// Numbers at the edges of what types and tables hold.
constexpr StringLiteral numbers[] = {"0",   "1",    "-1",    "2",          "3",          "7",          "8",
                                     "16",  "31",   "32",    "33",         "64",         "127",        "128",
                                     "255", "1024", "65536", "2147483647", "2147483648", "4294967296", "9223372036854775807",
                                     "0.0", "-0.0", "1.5",   "1.0e38",     "0x7F800000", "0x7FC00000", "-9223372036854775808"};

class Mutation {
public:
  Mutation(StringRef text, const Donors &donors, Random &random) : donors(donors), random(random), source(text.str()) {}

  std::string run() {
    static constexpr void (Mutation::*changes[])() = {
        &Mutation::exchangeAlike, &Mutation::exchangeAlike, &Mutation::exchangeAlike, &Mutation::borrowAlike, &Mutation::borrowAlike,
        &Mutation::borrowAlike,   &Mutation::renameAll,     &Mutation::renameAll,     &Mutation::number,      &Mutation::number,
        &Mutation::deleteTokens,  &Mutation::insertToken,   &Mutation::moveSpan,      &Mutation::deleteLine,  &Mutation::repeatLine,
        &Mutation::moveLine,      &Mutation::borrowLines,   &Mutation::borrowLines};
    for (size_t count = 1 + below(random, below(random, 5) + 1); count; --count) {
      tokens = split(source);
      llvm::erase_if(places, [](size_t) { return true; });
      for (auto [i, token] : enumerate(tokens))
        if (kindOf(token) != ' ') places.push_back(i);
      if (places.empty()) return source;
      replaced.clear();
      (this->*pick(random, changes))();
      source = replaced.empty() ? join(tokens, "") : replaced;
    }
    return source;
  }

private:
  // A token of the same kind as `like`; itself if there is no other.
  StringRef alike(StringRef like, const std::vector<StringRef> &from) {
    SmallVector<StringRef> found;
    for (StringRef token : from)
      if (kindOf(token) == kindOf(like) && token != like) found.push_back(token);
    return found.empty() ? like : pick(random, found);
  }

  StringRef &anyToken() { return tokens[pick(random, places)]; }

  void exchangeAlike() {
    StringRef &token = anyToken();
    token = alike(token, tokens);
  }
  void borrowAlike() {
    StringRef &token = anyToken();
    token = alike(token, split(donors.any(random)));
  }
  // Types and names agree at several places: all are changed together.
  void renameAll() {
    StringRef token = anyToken(), other = alike(token, below(random, 2) ? tokens : split(donors.any(random)));
    for (StringRef &each : tokens)
      if (each == token) each = other;
  }
  void number() {
    SmallVector<size_t> found;
    for (size_t i : places)
      if (kindOf(tokens[i]) == '0') found.push_back(i);
    if (!found.empty()) tokens[pick(random, found)] = pick(random, numbers);
  }
  void deleteTokens() {
    size_t begin = pick(random, places), count = 1 + below(random, below(random, 8) + 1);
    tokens.erase(tokens.begin() + begin, tokens.begin() + std::min(begin + count, tokens.size()));
  }
  void insertToken() {
    std::vector<StringRef> other = split(donors.any(random));
    if (!other.empty()) tokens.insert(tokens.begin() + pick(random, places), pick(random, other));
  }
  // A bracketed span, copied or moved.
  void moveSpan() {
    SmallVector<size_t> opening;
    for (size_t i : places)
      if (StringRef("([{<").contains(tokens[i])) opening.push_back(i);
    if (opening.empty()) return;
    size_t begin = pick(random, opening), end = begin;
    for (int depth = 0; end < tokens.size(); ++end) {
      depth += StringRef("([{<").contains(tokens[end]);
      depth -= StringRef(")]}>").contains(tokens[end]);
      if (depth == 0) break;
    }
    std::vector<StringRef> span(tokens.begin() + begin, tokens.begin() + std::min(end + 1, tokens.size()));
    if (below(random, 2)) tokens.erase(tokens.begin() + begin, tokens.begin() + begin + span.size());
    tokens.insert(tokens.begin() + below(random, tokens.size() + 1), span.begin(), span.end());
  }

  SmallVector<StringRef> lines() const {
    SmallVector<StringRef> found;
    StringRef(source).split(found, '\n');
    return found;
  }
  void deleteLine() {
    auto all = lines();
    all.erase(all.begin() + below(random, all.size()));
    replaced = join(all, "\n");
  }
  void repeatLine() {
    auto all = lines();
    size_t at = below(random, all.size());
    StringRef line = all[at];
    all.insert(all.begin() + at, line);
    replaced = join(all, "\n");
  }
  void moveLine() {
    auto all = lines();
    std::swap(pick(random, all), pick(random, all));
    replaced = join(all, "\n");
  }
  // Lines of another text. Values that they name are values of this one, so that they may fit.
  void borrowLines() {
    SmallVector<StringRef> foreign, all = lines();
    donors.any(random).split(foreign, '\n');
    size_t begin = below(random, foreign.size()), count = std::min(foreign.size() - begin, 1 + below(random, 3));
    std::string taken;
    for (StringRef line : ArrayRef(foreign).slice(begin, count)) {
      bool defines = line.ltrim().starts_with("%");
      for (StringRef token : split(line)) {
        bool known = token.front() != '%' || is_contained(tokens, token) || defines;
        taken += known ? token : alike(token, tokens);
        if (token.front() == '%') defines = false;
      }
      taken += "\n";
    }
    all.insert(all.begin() + below(random, all.size() + 1), StringRef(taken).rtrim('\n'));
    replaced = join(all, "\n");
  }

  const Donors &donors;
  Random &random;
  std::string source, replaced;
  std::vector<StringRef> tokens; // of `source`
  std::vector<size_t> places;    // of tokens that are not white space
};

} // namespace

std::string intent::fuzz::mutateTokens(StringRef text, const Donors &donors, Random &random) {
  return Mutation(text, donors, random).run();
}
