#include "Answer.h"

#include "intent/Driver/Driver.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

using namespace llvm;

// The tables lie beside the folder of this program, as they do beside the library's.
static std::string tableDirectory() {
  SmallString<128> path(sys::fs::getMainExecutable(nullptr, reinterpret_cast<void *>(&tableDirectory)));
  sys::path::remove_filename(path);
  sys::path::append(path, "..", "tables");
  return std::string(path);
}

void intent::fuzz::fail(const Twine &reason) {
  errs() << "fuzz: " << reason << "\n";
  std::abort();
}

void intent::fuzz::compileAndCheck(StringRef request) {
  static const DriverOptions options{tableDirectory()};
  CompilationResult result = compileRequest(request, options);
  if (result.status < Status::Success || result.status > Status::InternalError) fail("status " + Twine(static_cast<int>(result.status)));
  Expected<json::Value> diagnostics = json::parse(result.fields["diagnostics"]);
  if (!diagnostics) fail("diagnostics: " + toString(diagnostics.takeError()));
  const json::Array *list = diagnostics->getAsArray();
  if (!list || list->empty() != (result.status == Status::Success))
    fail("a status without its diagnostics: " + result.fields["diagnostics"]);
  for (const json::Value &item : *list) {
    const json::Object *entry = item.getAsObject();
    if (!entry) fail("diagnostics: " + result.fields["diagnostics"]);
    if (entry->getString("error") == StringRef("InternalError")) fail("internal error: " + entry->getString("message").value_or(""));
  }
}
