#include "Diagnostics.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace intent;
using namespace intent::driver;
namespace json = llvm::json;

namespace {

// Texts that say which class an error belongs to. The class stands in its own field, so the prefix goes, except
// where it reads as part of the sentence.
struct Category {
  llvm::StringLiteral prefix;
  Status status;
  const char *category;
  bool keepPrefix;
};
constexpr Category categories[] = {
    {"unsupported form: ", Status::TargetError, "shared_gpu", true},
    {"shared gpu: ", Status::TargetError, "shared_gpu", false},
    {"provider surface: ", Status::TargetError, "provider_surface", false},
    {"hardware capability: ", Status::TargetError, "hardware_capability", false},
    {"lower compilation cost: ", Status::TargetError, "lower_compilation_cost", false},
    {"configuration: ", Status::ConfigurationError, nullptr, false},
    {"internal error: ", Status::InternalError, nullptr, false},
};

const char *statusName(Status status) {
  switch (status) {
  case Status::Success: return "Success";
  case Status::LanguageError: return "LanguageError";
  case Status::ConfigurationError: return "ConfigurationError";
  case Status::TargetError: return "TargetError";
  case Status::InternalError: return "InternalError";
  }
  return "InternalError";
}

// The innermost author position of a location: names are peeled, a call site means its callee, a fusion its first part
// that has one.
FileLineColRange findPosition(Location location) {
  if (auto range = dyn_cast<FileLineColRange>(location)) return range;
  if (auto name = dyn_cast<NameLoc>(location)) return findPosition(name.getChildLoc());
  if (auto call = dyn_cast<CallSiteLoc>(location)) {
    FileLineColRange callee = findPosition(call.getCallee());
    return callee ? callee : findPosition(call.getCaller());
  }
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (FileLineColRange found = findPosition(part)) return found;
  return {};
}

json::Object positioned(StringRef message, FileLineColRange at, bool withEnd) {
  json::Object object{{"message", json::fixUTF8(message)}};
  object["file"] = at ? json::Value(json::fixUTF8(at.getFilename().getValue())) : json::Value(nullptr);
  object["line"] = at ? json::Value(int64_t(at.getStartLine())) : json::Value(nullptr);
  object["column"] = at ? json::Value(int64_t(at.getStartColumn())) : json::Value(nullptr);
  if (withEnd)
    object["end_column"] = at && at.getEndLine() == at.getStartLine() && at.getEndColumn() > at.getStartColumn()
                               ? json::Value(int64_t(at.getEndColumn()))
                               : json::Value(nullptr);
  return object;
}

json::Object entry(Status status, const char *category, json::Object object, json::Array notes, json::Object details) {
  object["error"] = statusName(status);
  object["category"] = category ? json::Value(category) : json::Value(nullptr);
  object["notes"] = std::move(notes);
  object["details"] = std::move(details);
  return object;
}

} // namespace

std::unique_ptr<ScopedDiagnosticHandler> DiagnosticLog::listen(MLIRContext &context) {
  return std::make_unique<ScopedDiagnosticHandler>(&context, [this](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error) addMlir(diagnostic);
    return success();
  });
}

void DiagnosticLog::addMlir(Diagnostic &diagnostic) {
  std::string text = diagnostic.str();
  StringRef message = text;
  FileLineColRange at = findPosition(diagnostic.getLocation());
  // Only what reads a program judges it: later stages give their reasons a category, and the rest is ours.
  Status status = phase == Phase::Source ? Status::LanguageError : Status::InternalError;
  const char *category = nullptr;
  for (const Category &c : categories) {
    if (!message.starts_with(c.prefix)) continue;
    status = c.status, category = c.category;
    if (!c.keepPrefix) message = message.drop_front(c.prefix.size());
  }
  std::string internal;
  if (status == Status::InternalError) {
    internal = "stage '" + stage + "', " + (phase == Phase::Postcondition ? "postcondition: " : "rewrite: ") + message.str();
    message = internal;
  }
  // A note "detail KEY: VALUE" fills a field of the error class; other notes are for people.
  json::Array notes;
  json::Object details;
  std::string operation;
  for (Diagnostic &note : diagnostic.getNotes()) {
    std::string noteText = note.str();
    StringRef rest = noteText;
    if (rest.consume_front("detail ")) {
      auto [key, value] = rest.split(": ");
      int64_t number;
      details[json::fixUTF8(key)] = value.getAsInteger(10, number) ? json::Value(json::fixUTF8(value)) : json::Value(number);
      continue;
    }
    if (rest.starts_with("see current operation: ")) {
      // Our IR is not the author's, but a target error says which operation it is about.
      StringRef name = rest.split('"').second.split('"').first;
      if (status == Status::TargetError && !name.empty()) operation = name.str();
      continue;
    }
    notes.push_back(positioned(rest, findPosition(note.getLocation()), false));
  }
  if (!operation.empty()) details.try_emplace("operation", json::fixUTF8(operation));
  for (DiagnosticArgument &missing : diagnostic.getMetadata())
    if (missing.getKind() == DiagnosticArgument::DiagnosticArgumentKind::Attribute)
      if (auto feature = dyn_cast<StringAttr>(missing.getAsAttribute())) details["feature"] = json::fixUTF8(feature.getValue());
  if (first == Status::Success) first = status;
  entries.push_back(entry(status, category, positioned(message, at, true), std::move(notes), std::move(details)));
}

void DiagnosticLog::add(Status status, std::string message, json::Object details) {
  if (first == Status::Success) first = status;
  entries.push_back(entry(status, nullptr, positioned(message, {}, true), {}, std::move(details)));
}

void DiagnosticLog::requireReason() {
  if (entries.empty())
    add(Status::InternalError,
        "stage '" + stage + "', " + (phase == Phase::Postcondition ? "postcondition" : "rewrite") + ": failed without a reason");
}

std::string DiagnosticLog::text() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << json::Value(json::Array(entries));
  return text;
}
