// A table row becomes a candidate: project, filter by rule, drop what nothing consumes, deduplicate.
#include "Resources.h"
#include "intent/Target/Capabilities.h"
#include "intent/Tuning/Tuning.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace intent;
using namespace intent::block;

namespace {

//===- provider options --------------------------------------------------------------------------------===//

// A column that a provider consumes as such. Where its value is `neutral` in every row, nothing consumes it.
struct ProviderOption {
  llvm::StringLiteral provider, column;
  ParameterKind kind;
  std::optional<int64_t> neutral;
  bool (*consumed)(const ProgramFacts &);
  llvm::SmallVector<int64_t> (*domain)(TargetAttr);
};

llvm::SmallVector<int64_t> powersOfTwo(int64_t limit) {
  llvm::SmallVector<int64_t> domain;
  for (int64_t value = 1; value <= std::min<int64_t>(limit, 64); value *= 2)
    domain.push_back(value);
  return domain;
}

const ProviderOption providerOptions[] = {
    {"triton", "NUM_WARPS", ParameterKind::Int, std::nullopt, [](const ProgramFacts &) { return true; },
     [](TargetAttr t) { return powersOfTwo(std::min<int64_t>(getIntFeature(t, "max_warps"), 32)); }},
    // Stages are buffers of loads that a loop overlaps with its work; without such a loop every value is one program.
    {"triton", "NUM_STAGES", ParameterKind::Int, std::nullopt, [](const ProgramFacts &f) { return f.pipelines; },
     [](TargetAttr) { return llvm::to_vector(llvm::seq_inclusive<int64_t>(1, 16)); }},
    {"triton", "NUM_CTAS", ParameterKind::Int, 1, [](const ProgramFacts &) { return true; },
     [](TargetAttr t) { return powersOfTwo(std::min<int64_t>(getIntFeature(t, "max_ctas"), 16)); }},
    {"triton", "USE_TENSOR_DESCRIPTOR", ParameterKind::Bool, 0, [](const ProgramFacts &) { return true; },
     [](TargetAttr) { return llvm::SmallVector<int64_t>{0, 1}; }},
};

//===- one program -------------------------------------------------------------------------------------===//

class Materializer {
public:
  Materializer(ProgramOp program, const TuningTables &tables, TargetAttr target)
      : program(program), tables(tables), target(target), facts(collectFacts(program)) {}

  FailureOr<ProgramConfigurations> run() {
    result.program = program.getSymName().str();
    result.family = selectFamily(program).str();
    auto family = tables.families.find(result.family);
    if (family == tables.families.end())
      return program.emitError() << "configuration: the table of provider '" << tables.schema->provider << "' has no rows of family '"
                                 << result.family << "', which program '" << result.program << "' needs";
    result.source = family->second.source;
    if (failed(collectBindings())) return failure();
    for (const std::vector<int64_t> &row : family->second.rows)
      addRow(row);
    if (llvm::all_of(result.rows, [](const RowFate &fate) { return fate.kind == RowFate::Rejected; })) adjustRows();
    dropNeutralOptions();
    deduplicate();
    if (result.candidates.empty()) return refuse();
    writeBack();
    return std::move(result);
  }

private:
  struct Binding {
    ParameterAttr parameter;
    std::optional<unsigned> column; // index into a row
    const ProviderOption *option = nullptr;
  };

  // Declared parameters in order, then the provider options that this program consumes.
  LogicalResult collectBindings() {
    for (auto parameter : program.getParameters().getAsRange<ParameterAttr>()) {
      if (parameter.getRole() == Role::Coverage) continue;
      StringRef symbol = parameter.getSymbol();
      if (parameter.getDomain().empty()) return program.emitError() << "configuration: parameter '" << symbol << "' has an empty domain";
      Binding binding{parameter, std::nullopt, nullptr};
      if (parameter.getColumn()) {
        binding.column = tables.schema->columnIndex(parameter.getColumn());
        if (!binding.column)
          return program.emitError() << "configuration: parameter '" << symbol << "' takes column " << parameter.getColumn()
                                     << ", which the table of provider '" << tables.schema->provider << "' does not have";
      } else if (parameter.getDomain().size() != 1) {
        return program.emitError() << "configuration: parameter '" << symbol << "' has neither a column nor a single value";
      }
      bindings.push_back(binding);
    }
    Builder b(program.getContext());
    for (const ProviderOption &option : providerOptions) {
      if (option.provider != target.getProvider() || !option.consumed(facts)) continue;
      if (program.lookupParameter(option.column)) continue;
      StringAttr name = b.getStringAttr(option.column);
      auto parameter = ParameterAttr::get(program.getContext(), name, Role::Provider, option.kind, option.domain(target), name, {},
                                          b.getStrArrayAttr({"launch"}), {});
      bindings.push_back({parameter, tables.schema->columnIndex(option.column), &option});
    }
    return success();
  }

  // The largest value of the domain that is not above the request, else the smallest.
  static int64_t project(ArrayRef<int64_t> domain, int64_t request) {
    const int64_t *above = llvm::upper_bound(domain, request);
    return above == domain.begin() ? domain.front() : above[-1];
  }

  void addRow(const std::vector<int64_t> &row) {
    RowFate fate{RowFate::Kept, 0, "", "", row};
    std::vector<int64_t> values;
    RowBinding bound;
    for (const Binding &binding : bindings) {
      ArrayRef<int64_t> domain = binding.parameter.getDomain();
      int64_t value = domain.front();
      if (binding.column && binding.option) value = row[*binding.column]; // options are legal as they stand, or the row is not
      else if (binding.column) value = project(domain, row[*binding.column]);
      values.push_back(value);
      bound.values[binding.parameter.getSymbol()] = value;
      if (binding.option && fate.rule.empty() && value != binding.option->neutral && !llvm::is_contained(domain, value))
        reject(fate, "provider_option", binding, value);
    }
    if (fate.rule.empty()) {
      if (std::optional<Violation> violation = checkResources(facts, bound, target)) {
        fate.kind = RowFate::Rejected;
        fate.rule = violation->rule.str();
        fate.reason = violation->reason;
        fate.narrowable = static_cast<bool>(violation->fragment);
      }
    }
    result.rows.push_back(std::move(fate));
    boundRows.push_back(std::move(values));
  }

  // No row is legal as it stands: rows whose fragments are too large give way, the widest of their parameters first.
  void adjustRows() {
    for (auto [fate, values] : llvm::zip_equal(result.rows, boundRows)) {
      if (!fate.narrowable) continue;
      std::vector<int64_t> smaller(values);
      for (;;) {
        RowBinding bound;
        for (auto [binding, value] : llvm::zip_equal(bindings, smaller))
          bound.values[binding.parameter.getSymbol()] = value;
        std::optional<Violation> violation = checkResources(facts, bound, target);
        if (!violation) {
          fate.kind = RowFate::Kept;
          fate.rule = "adjusted";
          fate.reason = "narrower than the row asks, so that fragments fit: " + fate.reason;
          values = smaller;
          break;
        }
        if (!violation->fragment || !narrow(violation->fragment, smaller)) break;
      }
    }
  }

  // Gives the widest parameter of a fragment its next lower value.
  bool narrow(FragmentType fragment, std::vector<int64_t> &values) {
    llvm::SmallPtrSet<Attribute, 4> used;
    for (ExprAttr extent : fragment.getExtents())
      extent.walkExpr([&](ExprAttr leaf) {
        if (leaf.getKind() == ExprKind::Parameter) used.insert(leaf.getSymbol());
      });
    int64_t *widest = nullptr, lower = 0;
    for (auto [binding, value] : llvm::zip_equal(bindings, values)) {
      ArrayRef<int64_t> domain = binding.parameter.getDomain();
      const int64_t *at = llvm::lower_bound(domain, value);
      if (binding.option || !used.contains(binding.parameter.getSymbol()) || at == domain.begin()) continue;
      if (widest && value <= *widest) continue;
      widest = &value;
      lower = at[-1];
    }
    if (widest) *widest = lower;
    return widest != nullptr;
  }

  static void reject(RowFate &fate, StringRef rule, const Binding &binding, int64_t value) {
    fate.kind = RowFate::Rejected;
    fate.rule = rule.str();
    std::string domain;
    llvm::raw_string_ostream os(domain);
    llvm::interleaveComma(binding.parameter.getDomain(), os);
    fate.reason = "expected " + binding.parameter.getSymbol().getValue().str() + " in [" + domain + "], got " + std::to_string(value);
  }

  // An option that no remaining row sets is no option of this program.
  void dropNeutralOptions() {
    for (size_t i = bindings.size(); i-- > 0;) {
      const ProviderOption *option = bindings[i].option;
      if (!option || !option->neutral) continue;
      bool used = false;
      for (auto [fate, values] : llvm::zip_equal(result.rows, boundRows))
        used |= fate.kind != RowFate::Rejected && values[i] != *option->neutral;
      if (used) continue;
      bindings.erase(bindings.begin() + i);
      for (std::vector<int64_t> &values : boundRows)
        values.erase(values.begin() + i);
    }
  }

  void deduplicate() {
    for (auto [fate, values] : llvm::zip_equal(result.rows, boundRows)) {
      if (fate.kind == RowFate::Rejected) continue;
      auto same = llvm::find(result.candidates, values);
      fate.candidate = same - result.candidates.begin();
      if (same != result.candidates.end()) fate.kind = RowFate::Merged;
      else result.candidates.push_back(values);
    }
  }

  LogicalResult refuse() {
    InFlightDiagnostic error = program.emitError()
                               << "configuration: no legal candidate for program '" << result.program << "': every row of family '"
                               << result.family << "' in " << result.source << " is rejected";
    for (auto [index, fate] : llvm::enumerate(result.rows))
      error.attachNote() << "row " << index << ": rule '" << fate.rule << "': " << fate.reason;
    error.attachNote() << "detail source: " << result.source;
    error.attachNote() << "detail family: " << result.family;
    return error;
  }

  void writeBack() {
    Builder b(program.getContext());
    llvm::SmallVector<Attribute> parameters(program.getParameters().getValue()), columns, rows;
    for (const Binding &binding : bindings) {
      columns.push_back(binding.parameter.getSymbol());
      result.columns.push_back(binding.parameter.getSymbol().str());
      if (binding.option) parameters.push_back(binding.parameter);
    }
    for (const std::vector<int64_t> &candidate : result.candidates)
      rows.push_back(b.getDenseI64ArrayAttr(candidate));
    program.setParametersAttr(b.getArrayAttr(parameters));
    program.setFamilyAttr(b.getStringAttr(result.family));
    program.setConfigurationsAttr(ConfigurationSetAttr::get(program.getContext(), b.getArrayAttr(columns), b.getArrayAttr(rows)));
  }

  ProgramOp program;
  const TuningTables &tables;
  TargetAttr target;
  ProgramFacts facts;
  ProgramConfigurations result;
  llvm::SmallVector<Binding> bindings;
  std::vector<std::vector<int64_t>> boundRows; // by row, by binding
};

} // namespace

FailureOr<std::vector<ProgramConfigurations>> intent::materializeConfigurations(KernelOp kernel, const TuningTables &tables,
                                                                                TargetAttr target) {
  std::vector<ProgramConfigurations> result;
  for (auto program : kernel.getOps<ProgramOp>()) {
    if (program.getConfigurationsAttr()) continue;
    FailureOr<ProgramConfigurations> made = Materializer(program, tables, target).run();
    if (failed(made)) return failure();
    result.push_back(std::move(*made));
  }
  return result;
}
