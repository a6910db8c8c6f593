// The C boundary of the compiler: bytes in, bytes out.
#include "BuildId.h"
#include "intent-c/intent.h"
#include "intent/Driver/Driver.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Path.h"

struct intent_result {
  intent::CompilationResult result;
};

static std::string tableDirectory() {
  llvm::SmallString<128> path(intent::libraryPath());
  llvm::sys::path::remove_filename(path);
  if (path.empty()) path = ".";
  llvm::sys::path::append(path, "..", "tables");
  return std::string(path);
}

extern "C" {

uint32_t intent_abi_version(void) { return 1; }

const char *intent_build_info(void) {
  static const std::string info = "intent " INTENT_VERSION ", LLVM " LLVM_VERSION_STRING ", " + intent::libraryBuildId();
  return info.c_str();
}

intent_result *intent_compile(const char *request, size_t size) {
  static const intent::DriverOptions options{tableDirectory()};
  return new intent_result{intent::compileRequest(llvm::StringRef(request, request ? size : 0), options)};
}

int32_t intent_result_status(const intent_result *result) { return static_cast<int32_t>(result->result.status); }

const char *intent_result_field(const intent_result *result, const char *name, size_t *size) {
  auto field = result->result.fields.find(name);
  bool found = field != result->result.fields.end();
  if (size) *size = found ? field->second.size() : 0;
  return found ? field->second.c_str() : nullptr;
}

void intent_result_destroy(intent_result *result) { delete result; }
}
