// IR text through the stages behind it, to provider text or to a block program for the host.
//
// A first line `// PROVIDER:ARCH [STAGE]` names the target, and the one stage to run; without it the target is the one that the text
// names, or triton:sm_90.
#include "Answer.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  constexpr size_t most = 32 << 10;
  if (size > most) return -1;
  StringRef text(reinterpret_cast<const char *>(data), size);
  json::Object request{{"schema", 1}, {"emit", "source"}, {"text", json::fixUTF8(text)}};
  StringRef line = text.split('\n').first.trim();
  bool named = line.consume_front("//");
  if (named) {
    auto [target, stage] = line.trim().split(' ');
    auto [provider, arch] = target.split(':');
    request["target"] = json::Object{{"provider", json::fixUTF8(provider)}, {"arch", json::fixUTF8(arch)}};
    if (!stage.empty()) request["emit"] = "stage", request["stage"] = json::fixUTF8(stage.trim());
  } else if (!text.contains("block.target")) {
    request["target"] = json::Object{{"provider", "triton"}, {"arch", "sm_90"}};
  }
  std::string spelled;
  raw_string_ostream(spelled) << json::Value(std::move(request));
  intent::fuzz::compileAndCheck(spelled);
  return 0;
}
