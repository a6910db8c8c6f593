#include "Request.h"

#include "intent/IR/Text.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using namespace intent;
using namespace intent::driver;

namespace {

constexpr size_t maxRequestBytes = 64u << 20;

class Reader {
public:
  Reader(json::Object object, DiagnosticLog &log) : log(log) { request.object = std::move(object); }

  std::optional<Request> read() {
    known(request.object, "request",
          {"schema", "emit", "files", "nodes", "functions", "entry", "constexprs", "types", "extents", "target", "options", "tables",
           "tuning_config", "text", "stage", "dump"});
    if (std::optional<int64_t> schema = request.object.getInteger("schema"); schema != 1)
      fail("field 'schema': expected 1" + got(request.object.get("schema")));
    readEmit();
    readTarget();
    readOptions();
    readTables();
    if (std::optional<std::string> path = optionalString(request.object, "tuning_config", "tuning_config")) request.tuningConfig = path;
    if (std::optional<std::string> text = optionalString(request.object, "text", "text")) {
      request.text = text;
      std::string refused = refuseIrText(*text);
      if (!refused.empty()) fail("field 'text': " + refused);
    }
    if (!log.empty()) return std::nullopt;
    return std::move(request);
  }

private:
  void fail(std::string message, Status status = Status::LanguageError) { log.add(status, "request: " + std::move(message)); }

  static std::string got(const json::Value *value) {
    if (!value) return ", but it is missing";
    std::string text;
    raw_string_ostream os(text);
    if (value->kind() == json::Value::Object || value->kind() == json::Value::Array) os << jsonKind(*value);
    else os << *value;
    if (text.size() > 60) text = text.substr(0, 60) + "...";
    return ", got " + text;
  }

  void known(const json::Object &object, StringRef what, ArrayRef<StringRef> names) {
    for (const auto &field : object)
      if (!is_contained(names, StringRef(field.first))) fail("unknown field '" + StringRef(field.first).str() + "' of the " + what.str());
  }

  std::optional<std::string> optionalString(const json::Object &object, StringRef name, StringRef label) {
    const json::Value *value = object.get(name);
    if (!value || value->kind() == json::Value::Null) return std::nullopt;
    if (std::optional<StringRef> text = value->getAsString()) return text->str();
    fail("field '" + label.str() + "': expected a string or null" + got(value));
    return std::nullopt;
  }

  const json::Object *optionalObject(StringRef name) {
    const json::Value *value = request.object.get(name);
    if (!value || value->kind() == json::Value::Null) return nullptr;
    const json::Object *object = value->getAsObject();
    if (!object) fail("field '" + name.str() + "': expected an object or null" + got(value));
    return object;
  }

  void readEmit() {
    const json::Value *value = request.object.get("emit");
    std::optional<StringRef> name = value ? value->getAsString() : std::nullopt;
    auto emit = StringSwitch<std::optional<Emit>>(name.value_or(""))
                    .Case("kir", Emit::Kir)
                    .Case("block", Emit::Block)
                    .Case("source", Emit::Source)
                    .Case("stage", Emit::Stage)
                    .Default(std::nullopt);
    if (!emit) return fail("field 'emit': expected \"kir\", \"block\", \"source\" or \"stage\"" + got(value));
    request.emit = *emit;
    std::optional<std::string> stage = optionalString(request.object, "stage", "stage");
    if (stage.has_value() != (*emit == Emit::Stage))
      return fail(stage ? "field 'stage' needs emit \"stage\"" : "emit \"stage\" needs field 'stage'");
    request.stage = stage.value_or("");
    if (*emit == Emit::Stage && !request.object.get("text")) fail("emit \"stage\" needs field 'text'");
    const json::Value *dump = request.object.get("dump");
    if (!dump || dump->kind() == json::Value::Null) return;
    const json::Array *list = dump->getAsArray();
    if (!list) return fail("field 'dump': expected a list of stage names" + got(dump));
    for (const json::Value &item : *list) {
      std::optional<StringRef> name = item.getAsString();
      if (!name) return fail("field 'dump': expected a list of stage names" + got(&item));
      request.dump.push_back(name->str());
    }
  }

  void readTarget() {
    const json::Object *target = optionalObject("target");
    if (!target) return;
    known(*target, "target", {"provider", "arch", "features"});
    TargetRequest result;
    std::optional<StringRef> provider = target->getString("provider");
    if (!provider) return fail("field 'target.provider': expected a string" + got(target->get("provider")));
    result.provider = provider->str();
    result.arch = optionalString(*target, "arch", "target.arch").value_or("");
    const json::Value *features = target->get("features");
    if (features && features->kind() != json::Value::Null) {
      if (!features->getAsObject()) return fail("field 'target.features': expected an object" + got(features));
      result.features = *features->getAsObject();
    }
    request.target = std::move(result);
  }

  void readBool(const json::Object &options, StringRef name, bool &into) {
    const json::Value *value = options.get(name);
    if (!value) return;
    if (std::optional<bool> flag = value->getAsBoolean()) into = *flag;
    else fail("field 'options." + name.str() + "': expected true or false" + got(value));
  }

  void readOptions() {
    const json::Object *options = optionalObject("options");
    if (!options) return;
    known(*options, "options", {"numerics", "online_reduction", "cover", "check"});
    if (const json::Value *numerics = options->get("numerics")) {
      std::optional<StringRef> text = numerics->getAsString();
      if (text == StringRef("relaxed_normalization")) request.relaxedNormalization = true;
      else if (text != StringRef("source"))
        fail("field 'options.numerics': expected \"source\" or \"relaxed_normalization\"" + got(numerics));
    }
    readBool(*options, "online_reduction", request.onlineReduction);
    readBool(*options, "check", request.check);
    request.cover = optionalString(*options, "cover", "options.cover").value_or("");
  }

  void readTables() {
    const json::Object *tables = optionalObject("tables");
    if (!tables) return;
    for (const auto &table : *tables) {
      StringRef provider(table.first);
      if (!is_contained({"triton", "cutile", "bangc", "host"}, provider))
        fail("unknown provider '" + provider.str() + "' in field 'tables'");
      else if (std::optional<StringRef> path = table.second.getAsString()) request.tables[provider.str()] = path->str();
      else fail("field 'tables." + provider.str() + "': expected a path" + got(&table.second));
    }
  }

  DiagnosticLog &log;
  Request request;
};

} // namespace

std::optional<Request> intent::driver::readRequest(StringRef text, DiagnosticLog &log) {
  auto parsed = parseJson(text, {maxRequestBytes, 64});
  if (auto *message = std::get_if<std::string>(&parsed)) {
    log.add(Status::LanguageError, "request: " + *message);
    return std::nullopt;
  }
  json::Object *object = std::get<json::Value>(parsed).getAsObject();
  if (!object) {
    log.add(Status::LanguageError, "request: expected an object, got " + jsonKind(std::get<json::Value>(parsed)).str());
    return std::nullopt;
  }
  return Reader(std::move(*object), log).read();
}
