// A request (docs/request.md) through the whole driver: frontend, kernel IR, block program, provider text.
#include "Answer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  constexpr size_t most = 64 << 10; // what is longer only takes longer
  if (size > most) return -1;
  intent::fuzz::compileAndCheck(llvm::StringRef(reinterpret_cast<const char *>(data), size));
  return 0;
}
