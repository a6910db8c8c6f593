// Table files: one schema for the tables that come with the compiler and for overrides. Everything wrong with a file
// is found in one reading, each with its place.
#include "Families.h"
#include "intent/Json/Json.h"
#include "intent/Tuning/Tuning.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace intent;

//===- schema ------------------------------------------------------------------------------------------===//

// Granularities in elements, tiles or instances; every provider of the block program starts with these seven.
static constexpr int64_t maxGranularity = int64_t(1) << 30;
#define SHARED_COLUMNS                                                                                                                     \
  {"ownership_m", 1, maxGranularity}, {"ownership_n", 1, maxGranularity}, {"reduction", 1, maxGranularity},                                \
      {"reduction_outer", 1, maxGranularity}, {"scan", 1, maxGranularity}, {"traversal_workers", 1, maxGranularity}, {                     \
    "traversal_group", 1, maxGranularity                                                                                                   \
  }

static constexpr TableColumn tritonColumns[] = {
    SHARED_COLUMNS, {"NUM_WARPS", 1, 64}, {"NUM_STAGES", 1, 16}, {"NUM_CTAS", 1, 16}, {"USE_TENSOR_DESCRIPTOR", 0, 1}};
// Access form: 1 tile, 2 gather. Load policy: 1 default, 2 latency hints, 3 without TMA.
static constexpr TableColumn cutileColumns[] = {SHARED_COLUMNS,
                                                {"CUTILE_CTAS", 1, 16},
                                                {"CUTILE_WORKER_WARPS", 1, 8},
                                                {"CUTILE_OCCUPANCY", 1, 32},
                                                {"CUTILE_ACCESS_FORM", 1, 2},
                                                {"CUTILE_LOAD_POLICY", 1, 3}};
// The host backend takes no option of its own: threads and vector width follow from the machine.
static constexpr TableColumn hostColumns[] = {SHARED_COLUMNS};
#undef SHARED_COLUMNS
static constexpr TableColumn bangcColumns[] = {
    {"tile", 1, maxGranularity},        {"tile_m", 1, maxGranularity}, {"tile_n", 1, maxGranularity},     {"tile_k", 1, maxGranularity},
    {"region_tile", 1, maxGranularity}, {"tasks", 1, maxGranularity},  {"local_bytes", 1, maxGranularity}};
static constexpr StringLiteral bangcFamilies[] = {"block"};

const TableSchema *intent::findTableSchema(StringRef provider) {
  static const TableSchema schemas[] = {
      {"triton", tritonColumns, structuralFamilies()},
      {"cutile", cutileColumns, structuralFamilies()},
      {"bangc", bangcColumns, bangcFamilies},
      {"host", hostColumns, structuralFamilies()},
  };
  for (const TableSchema &schema : schemas)
    if (schema.provider == provider) return &schema;
  return nullptr;
}

std::optional<unsigned> TableSchema::columnIndex(StringRef name) const {
  for (auto [i, column] : enumerate(columns))
    if (column.name == name) return i;
  return std::nullopt;
}

//===- reading -----------------------------------------------------------------------------------------===//

namespace {

constexpr size_t maxTableBytes = 1u << 20, maxRows = 1024, maxErrors = 32;

// One file. Errors are collected; families of the wanted provider replace those of `tables`.
class FileReader {
public:
  FileReader(StringRef provider, StringRef name, TuningTables &tables, std::vector<TableError> &errors)
      : provider(provider), name(name), tables(tables), errors(errors) {}

  void read(StringRef text, bool isOverride) {
    auto parsed = parseJson(text, {maxTableBytes, 8});
    if (auto *message = std::get_if<std::string>(&parsed)) return fail(*message);
    const json::Value &value = std::get<json::Value>(parsed);
    const json::Object *file = value.getAsObject();
    if (!file) return fail("expected an object of providers, got " + jsonKind(value).str());
    if (file->empty()) return fail("expected at least one provider, got none");
    for (const auto *entry : sorted(*file)) {
      const TableSchema *schema = findTableSchema(entry->first);
      if (!schema) fail("unknown provider '" + StringRef(entry->first).str() + "': expected triton, cutile, bangc or host");
      else readProvider(*schema, entry->second);
    }
    if (!isOverride && !file->get(provider)) fail("expected rows of provider '" + provider.str() + "', got none");
  }

  void fail(const std::string &what) { report(": " + what); }

private:
  // JSON objects are hash tables; errors come in a fixed order.
  static std::vector<const json::Object::value_type *> sorted(const json::Object &object) {
    std::vector<const json::Object::value_type *> entries;
    for (const auto &entry : object)
      entries.push_back(&entry);
    llvm::sort(entries, [](auto *a, auto *b) { return StringRef(a->first) < StringRef(b->first); });
    return entries;
  }

  void readProvider(const TableSchema &schema, const json::Value &value) {
    const json::Object *families = value.getAsObject();
    if (!families) return fail("provider '" + schema.provider.str() + "': expected an object of families, got " + jsonKind(value).str());
    if (families->empty()) return fail("provider '" + schema.provider.str() + "': expected at least one family, got none");
    for (const auto *entry : sorted(*families)) {
      family = StringRef(entry->first).str();
      row.reset();
      column = "";
      if (!is_contained(schema.families, StringRef(family)))
        failFamily("unknown family of provider '" + schema.provider.str() + "': expected one of " + join(schema.families, ", "));
      else readFamily(schema, entry->second);
    }
    family.clear();
  }

  void readFamily(const TableSchema &schema, const json::Value &value) {
    const json::Array *list = value.getAsArray();
    if (!list) return failFamily("expected a list of rows, got " + jsonKind(value).str());
    if (list->empty()) return failFamily("expected at least one row, got none");
    if (list->size() > maxRows)
      return failFamily("expected at most " + std::to_string(maxRows) + " rows, got " + std::to_string(list->size()));
    TableFamily result{name.str(), {}};
    bool good = true;
    for (auto [i, item] : enumerate(*list)) {
      row = i;
      std::optional<std::vector<int64_t>> values = readRow(schema, item);
      if (values) {
        auto same = llvm::find(result.rows, *values);
        if (same != result.rows.end()) values.reset(), failFamily("repeats row " + std::to_string(same - result.rows.begin()));
      }
      good &= values.has_value();
      result.rows.push_back(values ? std::move(*values) : std::vector<int64_t>());
    }
    row.reset();
    if (good && schema.provider == provider) tables.families[family] = std::move(result);
  }

  std::optional<std::vector<int64_t>> readRow(const TableSchema &schema, const json::Value &value) {
    const json::Array *cells = value.getAsArray();
    if (!cells) {
      failFamily("expected a list of " + std::to_string(schema.columns.size()) + " integers, got " + jsonKind(value).str());
      return std::nullopt;
    }
    if (cells->size() != schema.columns.size()) {
      failFamily("expected " + std::to_string(schema.columns.size()) + " values, got " + std::to_string(cells->size()));
      return std::nullopt;
    }
    std::vector<int64_t> values;
    for (const auto &[spec, cell] : zip_equal(schema.columns, *cells)) {
      column = spec.name.str();
      std::optional<int64_t> number = cell.getAsInteger();
      if (!number || *number < spec.minimum || *number > spec.maximum) failFamily("expected " + rangeOf(spec) + ", got " + print(cell));
      else values.push_back(*number);
    }
    column = "";
    if (values.size() != schema.columns.size()) return std::nullopt;
    return values;
  }

  static std::string rangeOf(const TableColumn &column) {
    if (column.minimum == 0 && column.maximum == 1) return "0 or 1";
    return "an integer from " + std::to_string(column.minimum) + " to " + std::to_string(column.maximum);
  }

  static std::string print(const json::Value &value) {
    if (value.kind() == json::Value::Array || value.kind() == json::Value::Object) return jsonKind(value).str();
    std::string text;
    raw_string_ostream(text) << value;
    return text.size() > 60 ? text.substr(0, 60) + "..." : text;
  }

  void failFamily(const std::string &what) {
    std::string place = ": family '" + family + "'";
    if (row) place += ", row " + std::to_string(*row);
    if (!column.empty()) place += ", column '" + column + "'";
    report(place + ": " + what);
  }

  void report(const std::string &placed) {
    if (errors.size() < maxErrors) errors.push_back({name.str() + placed, name.str(), family, column, row});
  }

  StringRef provider, name;
  TuningTables &tables;
  std::vector<TableError> &errors;
  std::string family, column;
  std::optional<unsigned> row;
};

} // namespace

static std::variant<TuningTables, std::vector<TableError>> finish(TuningTables tables, std::vector<TableError> errors) {
  if (!errors.empty()) return errors;
  return tables;
}

static bool start(StringRef provider, TuningTables &tables, std::vector<TableError> &errors) {
  tables.schema = findTableSchema(provider);
  if (!tables.schema)
    errors.push_back(
        {"no table schema for provider '" + provider.str() + "': expected triton, cutile, bangc or host", "", "", "", std::nullopt});
  return tables.schema;
}

std::variant<TuningTables, std::vector<TableError>> intent::parseTables(StringRef provider, StringRef text, StringRef name,
                                                                        std::optional<StringRef> overrideText, StringRef overrideName) {
  TuningTables tables;
  std::vector<TableError> errors;
  if (!start(provider, tables, errors)) return errors;
  FileReader(provider, name, tables, errors).read(text, false);
  if (overrideText) FileReader(provider, overrideName, tables, errors).read(*overrideText, true);
  return finish(std::move(tables), std::move(errors));
}

std::variant<TuningTables, std::vector<TableError>> intent::readTables(StringRef provider, const std::string &path,
                                                                       const std::optional<std::string> &overridePath) {
  TuningTables tables;
  std::vector<TableError> errors;
  if (!start(provider, tables, errors)) return errors;
  auto readFile = [&](const std::string &path, bool isOverride) {
    FileReader reader(provider, path, tables, errors);
    // A device or pipe would never end; a table is a file of bounded size.
    sys::fs::file_status status;
    std::error_code failed = sys::fs::status(path, status);
    if (!failed && status.type() != sys::fs::file_type::regular_file) return reader.fail("cannot be read: expected a regular file");
    if (!failed && status.getSize() > maxTableBytes)
      return reader.fail("expected at most " + std::to_string(maxTableBytes) + " bytes, got " + std::to_string(status.getSize()));
    ErrorOr<std::unique_ptr<MemoryBuffer>> buffer =
        MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/true, /*IsVolatile=*/true);
    if (!buffer) return reader.fail("cannot be read: " + StringRef(buffer.getError().message()).lower());
    reader.read((*buffer)->getBuffer(), isOverride);
  };
  readFile(path, false);
  if (overridePath) readFile(*overridePath, true);
  return finish(std::move(tables), std::move(errors));
}
