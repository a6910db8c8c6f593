// What went wrong, in the shape of the `diagnostics` result field.
#ifndef INTENT_LIB_DRIVER_DIAGNOSTICS_H
#define INTENT_LIB_DRIVER_DIAGNOSTICS_H

#include "intent/Driver/Driver.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace intent::driver {

/// What runs while a diagnostic appears. An error without a category prefix is the author's while their program is
/// read, and ours afterwards.
enum class Phase { Source, Rewrite, Postcondition };

class DiagnosticLog {
public:
  /// Collects every error of `context` while the returned handler lives.
  std::unique_ptr<mlir::ScopedDiagnosticHandler> listen(mlir::MLIRContext &context);

  void enter(llvm::StringRef stage, Phase phase) { this->stage = stage.str(), this->phase = phase; }

  /// An error that has no place in the author's program.
  void add(Status status, std::string message, llvm::json::Object details = {});

  /// Where `stage` failed without saying why, says that.
  void requireReason();

  bool empty() const { return entries.empty(); }
  /// The class of the first error; success if there is none.
  Status status() const { return first; }
  /// The list as JSON text.
  std::string text() const;

private:
  void addMlir(mlir::Diagnostic &diagnostic);

  std::string stage;
  Phase phase = Phase::Source;
  Status first = Status::Success;
  llvm::json::Array entries;
};

} // namespace intent::driver

#endif
