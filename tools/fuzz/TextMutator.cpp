// Mutations of IR text: as IR while it parses, of its tokens, and now and then of its bytes.
#include "IrMutation.h"

#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace intent::fuzz;

// The line that names target and stage stays in front.
static std::string mutate(StringRef text, const Donors &donors, Random &random) {
  if (below(random, 4) == 0) return mutateTokens(text, donors, random);
  StringRef header = text.starts_with("//") ? text.take_front(text.find('\n')) : "";
  std::optional<std::string> changed = mutateIr(text, donors.any(random), random);
  if (!changed) return mutateTokens(text, donors, random);
  return header.empty() ? *changed : header.str() + "\n" + *changed;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  return mutateInput(data, size, most, seed, mutate);
}
