// Changes to text at the level of its tokens: what is left is mostly still a program.
#ifndef INTENT_TOOLS_FUZZ_TOKENS_H
#define INTENT_TOOLS_FUZZ_TOKENS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <random>
#include <string>
#include <vector>

namespace intent::fuzz {

using Random = std::minstd_rand;

inline size_t below(Random &random, size_t bound) { return bound ? random() % bound : 0; }

template <typename Range>
auto &pick(Random &random, Range &&range) {
  return range[below(random, std::size(range))];
}

/// Inputs that were mutated lately, from which others borrow.
class Donors {
public:
  void add(llvm::StringRef text);
  llvm::StringRef any(Random &random) const { return pick(random, texts); }

private:
  std::vector<std::string> texts;
  size_t next = 0;
};

/// The text with a few changes of its tokens and lines; `donors` has one text or more.
std::string mutateTokens(llvm::StringRef text, const Donors &donors, Random &random);

/// libFuzzer's step on an input of one process: `mutate` changes its text, where that has room; else, and now and then, libFuzzer
/// changes its bytes. Gives the new size.
size_t mutateInput(uint8_t *data, size_t size, size_t most, unsigned seed,
                   llvm::function_ref<std::string(llvm::StringRef, const Donors &, Random &)> mutate);

} // namespace intent::fuzz

/// libFuzzer's own mutations, of bytes and of dictionary words.
extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

#endif
