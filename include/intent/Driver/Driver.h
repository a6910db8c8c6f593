// One request in, one result out (docs/request.md): the whole compiler behind one function.
#ifndef INTENT_DRIVER_DRIVER_H
#define INTENT_DRIVER_DRIVER_H

#include "llvm/ADT/StringRef.h"
#include <map>
#include <string>

namespace mlir {
class DialectRegistry;
}

namespace intent {

/// The error classes of the host surface, in the numbering of `intent_result_status`.
enum class Status { Success = 0, LanguageError = 1, ConfigurationError = 2, TargetError = 3, InternalError = 4 };

struct DriverOptions {
  /// Where `<provider>.json` lies for a provider that the request's `tables` leave out.
  std::string tableDirectory;
};

struct CompilationResult {
  Status status = Status::Success;
  std::map<std::string, std::string> fields;
};

/// Compiles one JSON request. Every input ends in a result; calls are independent of each other and may run at once.
CompilationResult compileRequest(llvm::StringRef request, const DriverOptions &options);

/// The dialects of every IR between the author's program and provider text.
void registerDialects(mlir::DialectRegistry &registry);

} // namespace intent

#endif
