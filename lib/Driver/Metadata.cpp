// `interface.json`: what a launcher needs to know of a block module, in text forms that other languages read. Names in IR text may spell
// any byte; in JSON they are UTF-8.
#include "Pipeline.h"

#include "intent/Target/Capabilities.h"
#include "intent/Target/Triton/Triton.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace intent;
using namespace intent::driver;
namespace json = llvm::json;

// Expressions keep their inline text; constants are numbers.
static json::Value spell(block::ExprAttr expr) {
  if (!expr) return nullptr;
  if (std::optional<int64_t> value = expr.getConstant()) return *value;
  std::string text;
  llvm::raw_string_ostream os(text);
  expr.printInline(os);
  return json::fixUTF8(text);
}

static json::Value spell(Attribute attribute) {
  if (auto expr = dyn_cast<block::ExprAttr>(attribute)) return spell(expr);
  if (auto text = dyn_cast<StringAttr>(attribute)) return "\"" + json::fixUTF8(text.getValue()) + "\""; // a symbol
  if (auto integer = dyn_cast<IntegerAttr>(attribute)) return integer.getInt();
  if (auto boolean = dyn_cast<BoolAttr>(attribute)) return boolean.getValue();
  return nullptr;
}

static json::Value spellFeature(Attribute attribute) {
  if (auto text = dyn_cast<StringAttr>(attribute)) return json::fixUTF8(text.getValue());
  auto list = dyn_cast<ArrayAttr>(attribute);
  if (!list) {
    if (auto boolean = dyn_cast<BoolAttr>(attribute)) return boolean.getValue();
    return spell(attribute);
  }
  json::Array items;
  for (Attribute item : list)
    items.push_back(spellFeature(item));
  return items;
}

template <typename Range>
static json::Array spellAll(Range &&range) {
  json::Array list;
  for (auto item : range)
    list.push_back(spell(item));
  return list;
}

//===- public interface --------------------------------------------------------------------------------===//

// The defaults of scalars are the author's and never reach the block program; they stand in the request.
static std::map<std::string, json::Value> defaultsOf(const Request &request) {
  std::map<std::string, json::Value> defaults;
  const json::Array *functions = request.object.getArray("functions");
  std::optional<int64_t> entry = request.object.getInteger("entry");
  if (!functions || !entry || *entry < 0 || *entry >= static_cast<int64_t>(functions->size())) return defaults;
  const json::Object *function = (*functions)[*entry].getAsObject();
  const json::Array *params = function ? function->getArray("params") : nullptr;
  for (const json::Value &param : params ? *params : json::Array())
    if (const json::Object *object = param.getAsObject())
      if (auto name = object->getString("name"))
        if (const json::Value *value = object->get("default")) defaults.emplace(name->str(), *value);
  return defaults;
}

static json::Array paramsOf(block::KernelOp kernel, const Request &request) {
  std::map<std::string, json::Value> defaults = defaultsOf(request);
  json::Array params;
  for (Attribute entry : kernel.getInterface()) {
    if (auto scalar = dyn_cast<block::ScalarArgumentAttr>(entry)) {
      auto found = defaults.find(scalar.getName().str());
      params.push_back(json::Object{{"kind", "scalar"},
                                    {"name", json::fixUTF8(scalar.getName().getValue())},
                                    {"dtype", dtypeName(scalar.getElement())},
                                    {"default", found == defaults.end() ? json::Value(nullptr) : found->second}});
      continue;
    }
    auto view = cast<block::ViewArgumentAttr>(entry);
    json::Value strides = nullptr;
    if (view.getStrides()) strides = spellAll(view.getStrides());
    bool grouped = view.getAlias() && !view.getAlias().empty();
    params.push_back(json::Object{{"kind", "view"},
                                  {"name", json::fixUTF8(view.getName().getValue())},
                                  {"access", stringifyAccess(view.getAccess())},
                                  {"dtype", dtypeName(view.getElement())},
                                  {"shape", spellAll(view.getShape())},
                                  {"strides", std::move(strides)},
                                  {"noalias", view.getNoalias()},
                                  {"alias", grouped ? json::Value(json::fixUTF8(view.getAlias().getValue())) : json::Value(nullptr)}});
  }
  return params;
}

// Where each launch symbol gets its value: the first axis whose extent or stride is the bare symbol, or a scalar.
static json::Array symbolsOf(block::KernelOp kernel) {
  json::Array symbols;
  llvm::StringSet<> seen;
  auto add = [&](StringRef name, json::Object &&where) {
    if (!seen.insert(name).second) return;
    where["name"] = json::fixUTF8(name);
    symbols.push_back(std::move(where));
  };
  for (Attribute entry : kernel.getInterface()) {
    auto view = dyn_cast<block::ViewArgumentAttr>(entry);
    if (!view) {
      auto scalar = cast<block::ScalarArgumentAttr>(entry);
      if (isa<IntegerType, IndexType>(scalar.getElement()))
        add("%" + scalar.getName().str(), json::Object{{"param", json::fixUTF8(scalar.getName().getValue())}});
      continue;
    }
    for (auto [axis, extent] : llvm::enumerate(view.getShape()))
      if (extent.getKind() == block::ExprKind::Symbol)
        add(extent.getSymbol(), json::Object{{"param", json::fixUTF8(view.getName().getValue())}, {"axis", int64_t(axis)}});
    if (!view.getStrides()) continue;
    for (auto [axis, stride] : llvm::enumerate(view.getStrides()))
      if (auto symbol = dyn_cast<StringAttr>(stride))
        add(symbol, json::Object{{"param", json::fixUTF8(view.getName().getValue())}, {"stride", int64_t(axis)}});
  }
  return symbols;
}

//===- variants and candidates -------------------------------------------------------------------------===//

static json::Value predicateOf(block::ProgramOp program) {
  StringRef predicate = program.getFamily() ? familyPredicate(*program.getFamily()) : StringRef();
  return predicate.empty() ? json::Value(nullptr) : json::Value(predicate);
}

static json::Object variantOf(block::ProgramOp program) {
  json::Array groups;
  block::ExprAttr grid = block::ExprAttr::constant(program.getContext(), 0);
  for (auto group : program.getOps<block::GroupOp>()) {
    groups.push_back(spell(group.getSize()));
    grid = block::ExprAttr::apply(block::ExprKind::Add, {grid, group.getSize()});
  }
  json::Array workspaces;
  if (ArrayAttr declared = program.getWorkspacesAttr())
    for (auto space : declared.getAsRange<block::WorkspaceAttr>())
      workspaces.push_back(json::Object{{"name", json::fixUTF8(space.getName().getValue())},
                                        {"dtype", dtypeName(space.getElement())},
                                        {"shape", spellAll(space.getShape())},
                                        {"zeroed", space.getZeroed()}});
  json::Object coverage;
  for (auto parameter : program.getParameters().getAsRange<block::ParameterAttr>())
    if (parameter.getBinding()) coverage[json::fixUTF8(parameter.getSymbol().getValue())] = spell(parameter.getBinding());
  return json::Object{{"name", json::fixUTF8(program.getSymName())},
                      {"guard", spell(program.getGuardAttr())},
                      {"grid", spell(grid)},
                      {"groups", std::move(groups)},
                      {"coverage", std::move(coverage)},
                      {"family", program.getFamily() ? json::Value(json::fixUTF8(*program.getFamily())) : json::Value(nullptr)},
                      {"predicate", predicateOf(program)},
                      {"privates", spellAll(program.getPrivates().getAsRange<block::ExprAttr>())},
                      {"workspace", std::move(workspaces)}};
}

static json::Object parameterOf(block::ProgramOp program, block::ParameterAttr parameter) {
  json::Array affects;
  if (parameter.getAffects())
    for (Attribute item : parameter.getAffects())
      if (auto text = dyn_cast<StringAttr>(item)) affects.push_back(json::fixUTF8(text.getValue()));
  auto text = [](StringAttr attribute) { return attribute ? json::Value(json::fixUTF8(attribute.getValue())) : json::Value(nullptr); };
  return json::Object{{"variant", json::fixUTF8(program.getSymName())},
                      {"symbol", json::fixUTF8(parameter.getSymbol().getValue())},
                      {"role", block::stringifyRole(parameter.getRole())},
                      {"kind", block::stringifyParameterKind(parameter.getKind())},
                      {"domain", json::Array(parameter.getDomain())},
                      {"column", text(parameter.getColumn())},
                      {"binding", spell(parameter.getBinding())},
                      {"affects", std::move(affects)},
                      {"need", text(parameter.getNeed())}};
}

static void addCandidates(block::ProgramOp program, block::TargetAttr target, json::Array &candidates) {
  block::ConfigurationSetAttr set = program.getConfigurationsAttr();
  if (!set) return;
  for (auto [index, row] : llvm::enumerate(set.getRows().getAsRange<DenseI64ArrayAttr>())) {
    json::Object values;
    for (auto [column, value] : llvm::zip_equal(set.getColumns().getAsRange<StringAttr>(), row.asArrayRef()))
      values[json::fixUTF8(column.getValue())] = value;
    candidates.push_back(json::Object{{"variant", json::fixUTF8(program.getSymName())},
                                      {"index", int64_t(index)},
                                      {"values", std::move(values)},
                                      {"where", spell(candidateCondition(program, row.asArrayRef(), target))}});
  }
}

// Why the provider rejects a tuple whose values, for the columns that are left, are `row`.
static std::string providerReason(block::ProgramOp program, ArrayRef<int64_t> row, StringRef provider) {
  if (provider == "triton")
    if (std::optional<std::string> reason = triton::rejectTritonRow(program, row)) return *reason;
  return "the legalisation for " + provider.str() + " rejects this row";
}

// A provider's legalisation may drop columns and rows after the shared stages bound them. The fates follow: a row whose
// tuple is gone was rejected there, and rows that became equal are one candidate.
static void followProvider(block::ProgramOp program, ProgramConfigurations &configurations, StringRef provider) {
  block::ConfigurationSetAttr set = program.getConfigurationsAttr();
  if (!set) return;
  SmallVector<std::optional<size_t>> sources; // final column -> column at materialisation
  for (auto column : set.getColumns().getAsRange<StringAttr>()) {
    auto found = llvm::find(configurations.columns, column.getValue());
    sources.push_back(found == configurations.columns.end() ? std::nullopt : std::optional<size_t>(found - configurations.columns.begin()));
  }
  std::vector<std::optional<unsigned>> finalIndex;
  for (const std::vector<int64_t> &candidate : configurations.candidates) {
    auto matches = [&](Attribute row) {
      ArrayRef<int64_t> values = cast<DenseI64ArrayAttr>(row).asArrayRef();
      return llvm::all_of(llvm::enumerate(values),
                          [&](auto entry) { return !sources[entry.index()] || candidate[*sources[entry.index()]] == entry.value(); });
    };
    auto found = llvm::find_if(set.getRows(), matches);
    finalIndex.push_back(found == set.getRows().end() ? std::nullopt : std::optional<unsigned>(found - set.getRows().begin()));
  }
  SmallVector<bool> claimed(set.getRows().size(), false);
  for (RowFate &fate : configurations.rows) {
    if (fate.kind == RowFate::Rejected) continue;
    std::optional<unsigned> index = finalIndex[fate.candidate];
    if (!index) {
      fate.kind = RowFate::Rejected;
      fate.rule = provider.str() + "_legality";
      SmallVector<int64_t> row;
      for (std::optional<size_t> source : sources)
        row.push_back(source ? configurations.candidates[fate.candidate][*source] : 0);
      fate.reason = providerReason(program, row, provider);
      continue;
    }
    fate.candidate = *index;
    fate.kind = claimed[*index] ? RowFate::Merged : RowFate::Kept;
    claimed[*index] = true;
  }
}

static void addRows(const ProgramConfigurations &configurations, json::Array &rows) {
  static constexpr const char *kinds[] = {"kept", "merged", "rejected"};
  for (auto [index, fate] : llvm::enumerate(configurations.rows)) {
    bool rejected = fate.kind == RowFate::Rejected;
    rows.push_back(json::Object{{"variant", json::fixUTF8(configurations.program)},
                                {"family", json::fixUTF8(configurations.family)},
                                {"source", json::fixUTF8(configurations.source)},
                                {"row", int64_t(index)},
                                {"request", json::Array(fate.request)},
                                {"fate", kinds[fate.kind]},
                                {"candidate", rejected ? json::Value(nullptr) : json::Value(int64_t(fate.candidate))},
                                {"rule", fate.rule.empty() ? json::Value(nullptr) : json::Value(json::fixUTF8(fate.rule))},
                                {"reason", fate.reason.empty() ? json::Value(nullptr) : json::Value(json::fixUTF8(fate.reason))}});
  }
}

static json::Array columnsOf(StringRef provider) {
  json::Array columns;
  if (const TableSchema *schema = findTableSchema(provider))
    for (const TableColumn &column : schema->columns)
      columns.push_back(column.name);
  return columns;
}

static json::Object targetObject(block::TargetAttr target) {
  json::Object features;
  for (NamedAttribute feature : target.getFeatures())
    features[json::fixUTF8(feature.getName().getValue())] = spellFeature(feature.getValue());
  return json::Object{{"provider", json::fixUTF8(target.getProvider().getValue())},
                      {"arch", json::fixUTF8(target.getArch().getValue())},
                      {"features", std::move(features)}};
}

std::string intent::driver::interfaceJson(Compilation &c) {
  auto kernels = c.module->getOps<block::KernelOp>();
  if (kernels.empty()) return "null";
  block::KernelOp kernel = *kernels.begin();
  json::Array checks, overlaps, variants, parameters, candidates, rows;
  for (auto check : kernel.getChecks().getAsRange<block::CheckAttr>())
    checks.push_back(json::Object{{"condition", spell(check.getCondition())}, {"message", json::fixUTF8(check.getMessage().getValue())}});
  for (auto overlap : kernel.getOverlaps().getAsRange<block::OverlapPermissionAttr>())
    overlaps.push_back(json::Object{{"lhs", json::fixUTF8(overlap.getLhs().getValue())},
                                    {"rhs", json::fixUTF8(overlap.getRhs().getValue())},
                                    {"permission", block::stringifyOverlap(overlap.getPermission())}});
  for (auto program : kernel.getOps<block::ProgramOp>()) {
    variants.push_back(variantOf(program));
    for (auto parameter : program.getParameters().getAsRange<block::ParameterAttr>())
      parameters.push_back(parameterOf(program, parameter));
    addCandidates(program, c.target, candidates);
    for (ProgramConfigurations &configurations : c.configurations) {
      if (configurations.program != program.getSymName()) continue;
      followProvider(program, configurations, c.target.getProvider());
      addRows(configurations, rows);
    }
  }
  json::Object interface{{"schema", 1},
                         {"name", json::fixUTF8(kernel.getSymName())},
                         {"target", targetObject(c.target)},
                         {"params", paramsOf(kernel, c.request)},
                         {"symbols", symbolsOf(kernel)},
                         {"checks", std::move(checks)},
                         {"overlaps", std::move(overlaps)},
                         {"variants", std::move(variants)},
                         {"parameters", std::move(parameters)},
                         {"candidates", std::move(candidates)},
                         {"columns", columnsOf(c.target.getProvider())},
                         {"rows", std::move(rows)},
                         {"line_map", std::move(c.lineMap)}};
  std::string text;
  llvm::raw_string_ostream os(text);
  os << json::Value(std::move(interface));
  return text;
}
