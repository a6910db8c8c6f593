// The compiler on the command line: a request or IR text in, one form of the result out.
#include "HostEmit.h"
#include "intent-c/intent.h"
#include "intent/Json/Json.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

static cl::OptionCategory category("intent-compile");
static cl::opt<std::string> input(cl::Positional, cl::desc("REQUEST.json or KERNEL.mlir (- reads standard input)"), cl::init("-"),
                                  cl::cat(category));
static cl::opt<std::string> target("target", cl::desc("host, triton:sm_90, cutile:sm_100, bangc:mtp_372..."), cl::cat(category));
static cl::opt<std::string> tuningConfig("tuning-config", cl::desc("rows that replace whole families of the default table"),
                                         cl::cat(category));
static cl::opt<std::string> emit("emit", cl::desc("kir, block, source, metadata, llvm, asm, or stage with --stage"), cl::cat(category));
static cl::opt<std::string> stage("stage", cl::desc("the one stage to run on KERNEL.mlir"), cl::cat(category));
static cl::list<std::string> dump("dump", cl::desc("print the module after this stage to standard error"), cl::CommaSeparated,
                                  cl::cat(category));
static cl::list<std::string> table("table", cl::desc("PROVIDER=PATH of a default table"), cl::cat(category));
static cl::opt<std::string> cover("force-cover", cl::desc("for tests: a legal cover, as in N=loop,lanes"), cl::cat(category));
static cl::list<std::string> symbol("symbol", cl::desc("NAME=VALUE of a launch symbol, for --emit=llvm|asm (1024 if not given)"),
                                    cl::cat(category));
static cl::opt<unsigned> row("row", cl::desc("the candidate to bind, for --emit=llvm|asm"), cl::init(0), cl::cat(category));
static cl::opt<std::string> output("o", cl::desc("output file"), cl::init("-"), cl::cat(category));

static int fail(const Twine &message, int status = 1) {
  errs() << "intent-compile: error: " << message << "\n";
  return status;
}

static std::pair<StringRef, StringRef> splitPair(StringRef text) { return text.split('='); }

// A request file stays as it is but for what the options set.
static std::variant<json::Object, std::string> makeRequest(StringRef text) {
  json::Object request;
  if (text.ltrim().starts_with("{") && !StringRef(input).ends_with(".mlir")) {
    auto parsed = intent::parseJson(text, {});
    if (auto *message = std::get_if<std::string>(&parsed)) return *message;
    request = std::move(*std::get<json::Value>(parsed).getAsObject());
  } else {
    request = json::Object{{"schema", 1}, {"text", json::fixUTF8(text)}};
  }
  if (!target.empty()) {
    auto [provider, arch] = StringRef(target).split(':');
    request["target"] = json::Object{{"provider", provider}, {"arch", arch}};
  }
  if (!tuningConfig.empty()) request["tuning_config"] = tuningConfig;
  if (!stage.empty()) request["stage"] = stage;
  if (!dump.empty()) request["dump"] = json::Array(ArrayRef<std::string>(dump));
  if (!cover.empty()) {
    json::Object *options = request.getObject("options");
    if (!options) options = request.try_emplace("options", json::Object()).first->second.getAsObject();
    if (options) (*options)["cover"] = cover;
  }
  if (!table.empty()) {
    json::Object tables;
    for (StringRef item : table)
      tables[splitPair(item).first] = splitPair(item).second;
    request["tables"] = std::move(tables);
  }
  if (!emit.empty() || !request.get("emit")) {
    StringRef wanted = emit.empty() ? (stage.empty() ? "source" : "stage") : StringRef(emit);
    if (is_contained({"metadata", "llvm", "asm"}, wanted)) wanted = "source";
    request["emit"] = wanted;
  }
  return request;
}

struct Result {
  intent_result *handle;
  ~Result() { intent_result_destroy(handle); }
  std::optional<StringRef> field(const char *name) const {
    size_t size = 0;
    const char *data = intent_result_field(handle, name, &size);
    return data ? std::optional(StringRef(data, size)) : std::nullopt;
  }
};

static void printPlace(const json::Object &entry) {
  auto file = entry.getString("file");
  auto line = entry.getInteger("line"), column = entry.getInteger("column");
  if (file && line && column) errs() << *file << ":" << *line << ":" << *column << ": ";
}

static void printDiagnostics(const Result &result) {
  Expected<json::Value> list = json::parse(result.field("diagnostics").value_or("[]"));
  if (!list) return consumeError(list.takeError());
  for (const json::Value &item : *list->getAsArray()) {
    const json::Object &entry = *item.getAsObject();
    printPlace(entry);
    errs() << entry.getString("error").value_or("error");
    if (auto category = entry.getString("category")) errs() << " (" << *category << ")";
    errs() << ": " << entry.getString("message").value_or("") << "\n";
    for (const json::Value &note : *entry.getArray("notes")) {
      errs() << "  ";
      printPlace(*note.getAsObject());
      errs() << "note: " << note.getAsObject()->getString("message").value_or("") << "\n";
    }
  }
}

static int write(StringRef text) {
  std::error_code error;
  raw_fd_ostream os(output, error, sys::fs::OF_None);
  if (error) return fail("cannot write " + output + ": " + error.message());
  os << text;
  if (!text.empty() && text.back() != '\n') os << "\n";
  os.flush();
  if (!os.has_error()) return 0;
  std::string message = os.error().message();
  os.clear_error();
  return fail("cannot write " + output + ": " + message);
}

static int writeHostCode(const Result &result) {
  Expected<json::Value> metadata = json::parse(result.field("metadata").value_or("null"));
  if (!metadata) return fail(toString(metadata.takeError()), 4);
  if (!metadata->getAsObject() || metadata->getAsObject()->getObject("target") == nullptr ||
      metadata->getAsObject()->getObject("target")->getString("provider") != "host")
    return fail("--emit=" + emit + " needs --target host");
  std::map<std::string, int64_t> symbols;
  for (StringRef item : symbol) {
    auto [name, text] = splitPair(item);
    int64_t value;
    if (text.getAsInteger(10, value)) return fail("--symbol: expected NAME=INTEGER, got '" + item + "'");
    symbols[name.str()] = value;
  }
  std::string error, text = emitHostCode(result.field("mlir")->str(), *metadata->getAsObject(), emit, row, symbols, error);
  return error.empty() ? write(text) : fail(error, 4);
}

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter([](raw_ostream &os) { os << intent_build_info() << "\n"; });
  cl::ParseCommandLineOptions(argc, argv, "Compiles an Intent request or IR text.\n");
  static constexpr StringLiteral forms[] = {"", "kir", "block", "source", "metadata", "llvm", "asm", "stage"};
  if (!is_contained(forms, StringRef(emit)))
    return fail("--emit: expected kir, block, source, metadata, llvm, asm or stage, got '" + emit + "'");

  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFileOrSTDIN(input);
  if (!buffer) return fail("cannot read " + input + ": " + buffer.getError().message());
  auto request = makeRequest((*buffer)->getBuffer());
  if (auto *message = std::get_if<std::string>(&request)) return fail("request: " + *message);
  std::string text;
  raw_string_ostream(text) << json::Value(std::move(std::get<json::Object>(request)));

  Result result{intent_compile(text.data(), text.size())};
  for (StringRef name : dump)
    if (auto module = result.field(("stage:" + name).str().c_str())) errs() << "// after " << name << "\n" << *module;
  printDiagnostics(result);
  if (int status = intent_result_status(result.handle)) return status;
  if (emit == "llvm" || emit == "asm") return writeHostCode(result);
  // Without --emit, the last form that the request led to.
  SmallVector<const char *> wanted;
  if (emit.empty()) wanted = {"source", "mlir", "kir"};
  else wanted = {emit == "block" || emit == "stage" ? "mlir" : emit.c_str()};
  for (const char *field : wanted)
    if (auto form = result.field(field)) return write(*form);
  return fail("the result has no such form", 4);
}
