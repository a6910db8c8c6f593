// The fields of a request that the driver itself reads; the program in it is the frontend's.
#ifndef INTENT_LIB_DRIVER_REQUEST_H
#define INTENT_LIB_DRIVER_REQUEST_H

#include "Diagnostics.h"
#include "intent/Json/Json.h"
#include <optional>

namespace intent::driver {

enum class Emit { Kir, Block, Source, Stage };

struct TargetRequest {
  std::string provider, arch;
  llvm::json::Object features;
};

struct Request {
  Emit emit = Emit::Source;
  std::optional<TargetRequest> target;
  bool relaxedNormalization = false, onlineReduction = true, check = false;
  std::string cover;                         // empty: the compiler chooses
  std::map<std::string, std::string> tables; // provider -> path
  std::optional<std::string> tuningConfig;
  std::optional<std::string> text; // IR instead of an author's program
  std::string stage;               // emit == Stage: the one to run
  std::vector<std::string> dump;   // stages whose output the result carries
  llvm::json::Object object;       // the whole request
};

/// Reads and checks a request; every error is in the log, and the result is empty if there was one.
std::optional<Request> readRequest(llvm::StringRef text, DiagnosticLog &log);

} // namespace intent::driver

#endif
