#include "Resources.h"
#include "intent/Target/Capabilities.h"
#include "intent/Target/Triton/Triton.h"
#include "intent/Tuning/Tuning.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace intent;
using namespace intent::block;

ProgramFacts intent::collectFacts(ProgramOp program) {
  ProgramFacts facts;
  facts.program = program;
  llvm::SmallPtrSet<Operation *, 8> loadingLoops;
  program.walk([&](LoadOp load) {
    for (auto loop = load->getParentOfType<scf::ForOp>(); loop; loop = loop->getParentOfType<scf::ForOp>())
      loadingLoops.insert(loop);
  });
  facts.pipelines = !loadingLoops.empty();
  program.walk([&](Operation *op) {
    facts.reduces |= isa<ReduceOp, ScanOp, PickOp>(op);
    facts.shares |= isa<FenceOp, AtomicOp, CompareExchangeOp, ScatterReduceOp>(op);
    for (Type type : op->getResultTypes()) {
      auto fragment = dyn_cast<FragmentType>(type);
      if (fragment && !isa<IndexType>(fragment.getElement()) && !fragment.getElement().isInteger(1)) facts.fragments.insert(fragment);
    }
    auto contract = dyn_cast<ContractOp>(op);
    if (!contract) return;
    facts.contracts.push_back(contract);
    auto loop = contract->getParentOfType<scf::ForOp>();
    if (loop && loadingLoops.contains(loop)) facts.streamed.push_back(contract);
  });
  return facts;
}

namespace {

// An extent for every call: a coverage parameter that the call chooses counts as its smallest value, one.
std::optional<int64_t> leastExtent(ExprAttr extent, Operation *program, const RowBinding &row) {
  return extent.evaluate([&](ExprAttr leaf) -> std::optional<int64_t> {
    if (leaf.getKind() != ExprKind::Parameter) return std::nullopt;
    auto bound = row.values.find(leaf.getSymbol());
    if (bound != row.values.end()) return bound->second;
    ParameterAttr parameter = cast<ProgramOp>(program).lookupParameter(leaf.getSymbol());
    std::optional<int64_t> fixed = parameter && parameter.getBinding() ? parameter.getBinding().getConstant() : std::nullopt;
    return fixed.value_or(1);
  });
}

// Elements of a fragment; saturates, since a table may ask for anything.
int64_t leastElements(Type type, Operation *program, const RowBinding &row) {
  int64_t elements = 1;
  for (ExprAttr extent : extentsOf(type)) {
    int64_t value = leastExtent(extent, program, row).value_or(1);
    if (llvm::MulOverflow(elements, std::max<int64_t>(value, 1), elements)) return INT64_MAX;
  }
  return elements;
}

int64_t saturatingMul(int64_t a, int64_t b) {
  int64_t product;
  return llvm::MulOverflow(a, b, product) ? INT64_MAX : product;
}

std::string print(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

std::string expected(int64_t limit, const std::string &what, int64_t actual) {
  return "expected at most " + std::to_string(limit) + " " + what + ", got " + std::to_string(actual);
}

struct Broken {
  std::string reason;
  FragmentType fragment; // that is too large
  Broken(std::string reason, FragmentType fragment = {}) : reason(std::move(reason)), fragment(fragment) {}
};
using Result = std::optional<Broken>;
using Facts = ProgramFacts;

int64_t optionOf(const Facts &f, const RowBinding &row, StringRef name) { return row.values.lookup(StringAttr::get(f.context(), name)); }

// Descriptors need a target that has them and an access that they can carry.
Result descriptorForm(const Facts &f, const RowBinding &row, TargetAttr target) {
  if (optionOf(f, row, "USE_TENSOR_DESCRIPTOR") != 1) return std::nullopt;
  if (!triton::hasDescriptorForm(cast<ProgramOp>(f.program)))
    return Broken("expected USE_TENSOR_DESCRIPTOR 0, got 1: the program's accesses have no descriptor form");
  if (!hasFeature(target, "descriptors")) return Broken("expected USE_TENSOR_DESCRIPTOR 0, got 1: the target has no tensor descriptors");
  return std::nullopt;
}

// Triton has no reduction over several thread blocks, and its barrier orders the threads of one.
Result multiCtaReduction(const Facts &f, const RowBinding &row, TargetAttr) {
  int64_t ctas = optionOf(f, row, "NUM_CTAS");
  if (ctas <= 1 || !(f.reduces || f.shares)) return std::nullopt;
  return std::string("expected NUM_CTAS 1 in a program that ") + (f.reduces ? "reduces" : "shares memory between lanes") + ", got " +
         std::to_string(ctas);
}

// The provider refuses fragments above its limit.
Result fragmentLimit(const Facts &f, const RowBinding &row, TargetAttr target) {
  int64_t limit = getIntFeature(target, "fragment_limit");
  for (Type type : f.fragments)
    if (int64_t elements = leastElements(type, f.program, row); elements > limit)
      return Broken(expected(limit, "elements in " + print(type), elements), cast<FragmentType>(type));
  return std::nullopt;
}

// What one instance can hold at once, in words of four bytes.
Result fragmentElements(const Facts &f, const RowBinding &row, TargetAttr target) {
  int64_t limit = getIntFeature(target, "fragment_elements");
  for (Type type : f.fragments) {
    int64_t words = llvm::divideCeil(saturatingMul(leastElements(type, f.program, row), storageBytes(elementType(type))), 4);
    if (words > limit) return Broken(expected(limit, "words of 4 bytes in " + print(type), words), cast<FragmentType>(type));
  }
  return std::nullopt;
}

// Operands of a streamed contraction lie in shared memory, once for every stage but the one in use.
Result sharedMemory(const Facts &f, const RowBinding &row, TargetAttr target) {
  int64_t limit = getIntFeature(target, "shared_memory_per_block");
  int64_t stages = optionOf(f, row, "NUM_STAGES");
  if (!stages) return std::nullopt;
  for (ContractOp op : f.streamed) {
    int64_t bytes = 0;
    for (Value operand : {op.getLhs(), op.getRhs()}) {
      int64_t part = saturatingMul(leastElements(operand.getType(), f.program, row), storageBytes(elementType(operand.getType())));
      if (llvm::AddOverflow(bytes, part, bytes)) bytes = INT64_MAX;
    }
    int64_t total = saturatingMul(bytes, std::max<int64_t>(stages - 1, 1));
    if (total > limit) return expected(limit, "bytes of shared memory for the operands of a contraction", total);
  }
  return std::nullopt;
}

// Matrix units have a smallest inner extent.
Result contractInnerExtent(const Facts &f, const RowBinding &row, TargetAttr target) {
  for (ContractOp op : f.contracts) {
    bool eightBit = storageBytes(elementType(op.getLhs().getType())) == 1;
    int64_t least = getIntFeature(target, eightBit ? "contract_minimum_k_8bit" : "contract_minimum_k");
    std::optional<int64_t> inner = leastExtent(extentsOf(op.getLhs().getType()).back(), f.program, row);
    bool chosenByCall = false;
    extentsOf(op.getLhs().getType()).back().walkExpr([&](ExprAttr leaf) {
      chosenByCall |= leaf.getKind() == ExprKind::Parameter && !row.values.contains(leaf.getSymbol());
    });
    if (inner && !chosenByCall && *inner < least)
      return "expected an inner extent of at least " + std::to_string(least) + " in " + print(op.getLhs().getType()) + ", got " +
             std::to_string(*inner);
  }
  return std::nullopt;
}

struct Rule {
  llvm::StringLiteral name;
  Result (*broken)(const Facts &, const RowBinding &, TargetAttr);
};
constexpr Rule rules[] = {
    {"descriptor_form", descriptorForm}, {"multi_cta_reduction", multiCtaReduction},
    {"fragment_limit", fragmentLimit},   {"fragment_elements", fragmentElements},
    {"shared_memory", sharedMemory},     {"contract_inner_extent", contractInnerExtent},
};

} // namespace

std::optional<Violation> intent::checkResources(const ProgramFacts &facts, const RowBinding &row, TargetAttr target) {
  for (const Rule &rule : rules)
    if (Result reason = rule.broken(facts, row, target)) return Violation{rule.name, reason->reason, reason->fragment};
  return std::nullopt;
}

//===- conditions on the call --------------------------------------------------------------------------===//

// An upper bound of an expression under the guard of its program: every conjunct `symbol <= constant` bounds a leaf.
// Only what grows with its operands has one.
static std::optional<int64_t> upperBound(ExprAttr expr, const llvm::DenseMap<StringAttr, int64_t> &bounds) {
  bool monotone = true;
  expr.walkExpr([&](ExprAttr e) {
    switch (e.getKind()) {
    case ExprKind::Constant: monotone &= e.getValue() >= 0; break;
    case ExprKind::Symbol:
    case ExprKind::Add:
    case ExprKind::Mul:
    case ExprKind::Min:
    case ExprKind::Max:
    case ExprKind::Pow2Ceil: break;
    case ExprKind::CeilDiv:
    case ExprKind::FloorDiv: monotone &= e.getOperands()[1].getConstant().has_value(); break;
    default: monotone = false;
    }
  });
  if (!monotone) return std::nullopt;
  return expr.evaluate([&](ExprAttr leaf) -> std::optional<int64_t> {
    auto found = bounds.find(leaf.getSymbol());
    return found == bounds.end() ? std::nullopt : std::optional(found->second);
  });
}

static void collectBounds(ExprAttr guard, llvm::DenseMap<StringAttr, int64_t> &bounds) {
  if (!guard) return;
  ArrayRef<ExprAttr> operands = guard.getOperands();
  if (guard.getKind() == ExprKind::And) {
    for (ExprAttr part : operands)
      collectBounds(part, bounds);
  } else if ((guard.getKind() == ExprKind::Le || guard.getKind() == ExprKind::Lt) && operands[0].getKind() == ExprKind::Symbol &&
             operands[1].getConstant()) {
    int64_t bound = *operands[1].getConstant() - (guard.getKind() == ExprKind::Lt);
    auto [entry, fresh] = bounds.try_emplace(operands[0].getSymbol(), bound);
    if (!fresh) entry->second = std::min(entry->second, bound);
  }
}

ExprAttr intent::candidateCondition(ProgramOp program, ArrayRef<int64_t> row, TargetAttr target) {
  ConfigurationSetAttr set = program.getConfigurationsAttr();
  if (!set || set.getColumns().size() != row.size()) return {};
  MLIRContext *context = program.getContext();
  llvm::DenseMap<StringAttr, int64_t> values, bounds;
  for (auto [column, value] : llvm::zip_equal(set.getColumns().getAsRange<StringAttr>(), row))
    values[column] = value;
  collectBounds(program.getGuardAttr(), bounds);
  auto bind = [&](ExprAttr leaf) -> ExprAttr {
    if (leaf.getKind() != ExprKind::Parameter) return {};
    auto found = values.find(leaf.getSymbol());
    if (found != values.end()) return ExprAttr::constant(context, found->second);
    ParameterAttr parameter = program.lookupParameter(leaf.getSymbol());
    return parameter ? parameter.getBinding() : ExprAttr();
  };
  // By the product of extents that the call chooses: the least of what the fixed ones leave for it.
  int64_t limit = getIntFeature(target, "fragment_elements");
  if (!target.getFeatures().contains("fragment_elements")) return {};
  llvm::MapVector<ExprAttr, int64_t> room;
  for (Type type : collectFacts(program).fragments) {
    ExprAttr chosen;
    int64_t words = 1;
    for (ExprAttr extent : extentsOf(type)) {
      ExprAttr bound = extent.substitute(bind);
      if (std::optional<int64_t> value = bound.getConstant()) words = saturatingMul(words, std::max<int64_t>(*value, 1));
      else chosen = chosen ? ExprAttr::apply(ExprKind::Mul, {chosen, bound}) : bound;
    }
    if (!chosen) continue;
    int64_t left = limit / std::max<int64_t>(1, llvm::divideCeil(saturatingMul(words, storageBytes(elementType(type))), 4));
    auto [entry, fresh] = room.try_emplace(chosen, left);
    if (!fresh) entry->second = std::min(entry->second, left);
  }
  ExprAttr condition;
  for (auto [chosen, left] : room) {
    std::optional<int64_t> most = upperBound(chosen, bounds);
    if (most && *most <= left) continue;
    ExprAttr part = ExprAttr::apply(ExprKind::Le, {chosen, ExprAttr::constant(context, left)});
    condition = condition ? ExprAttr::apply(ExprKind::And, {condition, part}) : part;
  }
  return condition;
}
