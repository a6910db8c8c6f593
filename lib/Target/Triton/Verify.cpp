// What Triton's language or the target cannot do, said before any text exists.
#include "Legalization.h"
#include "intent/IR/Language.h"
#include "intent/Target/Capabilities.h"
#include "intent/Target/Triton/Triton.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace intent;
using namespace intent::block;

namespace intent::triton {

namespace {

InFlightDiagnostic surface(Operation *op) { return op->emitError("provider surface: "); }
InFlightDiagnostic capability(Operation *op) { return op->emitError("hardware capability: "); }

// The values of a row's parameters; what a launch binds has none.
struct RowValues {
  mutable ProgramOp program;
  ArrayRef<int64_t> row;
  std::optional<int64_t> operator()(ExprAttr leaf) const {
    ConfigurationSetAttr set = program.getConfigurationsAttr();
    if (!set || leaf.getKind() != ExprKind::Parameter) return std::nullopt;
    for (auto [column, value] : llvm::zip(set.getColumns(), row))
      if (cast<StringAttr>(column).getValue() == leaf.getSymbol().getValue()) return value;
    return std::nullopt;
  }
  std::optional<int64_t> evaluate(ExprAttr expr) const {
    return expr.evaluate([this](ExprAttr leaf) { return (*this)(leaf); });
  }
  std::optional<int64_t> option(StringRef name) const { return (*this)(ExprAttr::parameter(program.getContext(), name)); }
};

struct Rejection {
  Operation *op;
  bool hardware;
  std::string reason;
};

std::optional<Rejection> rejectFragment(Operation *op, Type type, const RowValues &values, TargetAttr target) {
  int64_t elements = 1;
  bool known = true;
  for (ExprAttr extent : extentsOf(type)) {
    std::optional<int64_t> value = values.evaluate(extent);
    if (!value) {
      known = false;
      continue;
    }
    if (!llvm::isPowerOf2_64(*value))
      return Rejection{op, false, "extent " + std::to_string(*value) + " of a fragment is not a power of two"};
    if (*value > (int64_t(1) << 20)) return Rejection{op, false, "extent " + std::to_string(*value) + " of a fragment is above 1048576"};
    elements *= *value;
    if (elements > (int64_t(1) << 40)) break;
  }
  int64_t limit = std::min<int64_t>(1048576, target ? getIntFeature(target, "fragment_limit") : 1048576);
  if (known && elements > limit)
    return Rejection{op, false, "a fragment of " + std::to_string(elements) + " elements is above the limit of " + std::to_string(limit)};
  return std::nullopt;
}

std::optional<Rejection> rejectContract(ContractOp op, const RowValues &values, TargetAttr target) {
  ArrayRef<ExprAttr> extents = extentsOf(op.getLhs().getType());
  std::optional<int64_t> k = values.evaluate(extents.back());
  bool byte = storageBytes(elementType(op.getLhs().getType())) == 1;
  int64_t least = target ? getIntFeature(target, byte ? "contract_minimum_k_8bit" : "contract_minimum_k") : 1;
  if (k && *k < least)
    return Rejection{op, false, "the inner extent " + std::to_string(*k) + " of a contraction is below " + std::to_string(least)};
  return std::nullopt;
}

// Lanes of an exchange that one thread holds.
std::optional<Rejection> rejectExchange(CompareExchangeOp op, const RowValues &values, TargetAttr target) {
  int64_t limit = target ? getIntFeature(target, "exchange_lanes_per_thread") : INT64_MAX;
  std::optional<int64_t> warps = values.option("NUM_WARPS");
  int64_t threads = warps.value_or(4) * (target ? std::min<int64_t>(getIntFeature(target, "warp_size"), 1024) : 32), lanes = 1;
  for (ExprAttr extent : extentsOf(op.getExpected().getType()))
    if (std::optional<int64_t> value = values.evaluate(extent); value && *value > 0 && lanes <= (int64_t(1) << 20)) lanes *= *value;
  if (limit > (int64_t(1) << 20) || lanes <= limit * threads) return std::nullopt;
  return Rejection{op, false,
                   "an exchange of " + std::to_string(lanes) + " lanes by " + std::to_string(threads) + " threads: the target takes " +
                       std::to_string(limit) + " a thread"};
}

std::optional<Rejection> rejectOptions(ProgramOp program, const RowValues &values, TargetAttr target) {
  for (StringRef name : {"NUM_WARPS", "NUM_CTAS"}) {
    std::optional<int64_t> value = values.option(name);
    if (!value) continue;
    if (!llvm::isPowerOf2_64(*value)) return Rejection{program, false, (name + " = " + Twine(*value) + " is not a power of two").str()};
    int64_t limit = target ? getIntFeature(target, name == "NUM_WARPS" ? "max_warps" : "max_ctas") : *value;
    if (*value > limit) return Rejection{program, true, (name + " = " + Twine(*value) + " is above the target's " + Twine(limit)).str()};
    bool reduces = false;
    program.walk([&](Operation *op) { reduces |= isa<ReduceOp, ScanOp, FenceOp, AtomicOp, CompareExchangeOp>(op); });
    if (name == "NUM_CTAS" && *value > 1 && reduces)
      return Rejection{program, false, "a reduction, scan, fence or atomic over several thread blocks has no form"};
  }
  if (!values.option("USE_TENSOR_DESCRIPTOR").value_or(0)) return std::nullopt;
  if (target && !hasFeature(target, "descriptors")) return Rejection{program, true, "the target has no tensor descriptors"};
  if (auto descriptors = program->getAttrOfType<ArrayAttr>("triton.descriptors"))
    for (auto entry : descriptors.getAsRange<DictionaryAttr>()) {
      Type element = cast<ViewArgumentAttr>(program.getInterfaceOf(cast<IntegerAttr>(entry.get("view")).getInt())).getElement();
      std::optional<int64_t> last = values.evaluate(cast<ExprAttr>(*std::prev(cast<ArrayAttr>(entry.get("block")).end())));
      if (last && *last * storageBytes(element) < 16)
        return Rejection{program, false, "a descriptor's rows of " + std::to_string(*last * storageBytes(element)) + " bytes are below 16"};
    }
  return std::nullopt;
}

std::optional<Rejection> reject(ProgramOp program, ArrayRef<int64_t> row) {
  TargetAttr target = targetOf(program);
  RowValues values{program, row};
  std::optional<Rejection> rejection = rejectOptions(program, values, target);
  if (rejection) return rejection;
  program.walk([&](Operation *op) {
    for (Type type : op->getResultTypes()) {
      rejection = rejectFragment(op, type, values, target);
      if (rejection) return WalkResult::interrupt();
    }
    if (auto contract = dyn_cast<ContractOp>(op)) rejection = rejectContract(contract, values, target);
    if (auto exchange = dyn_cast<CompareExchangeOp>(op)) rejection = rejectExchange(exchange, values, target);
    return rejection ? WalkResult::interrupt() : WalkResult::advance();
  });
  return rejection;
}

//===- operations and dtypes ---------------------------------------------------------------------------===//

// "the target sm_80 has no f8e4m3fn values (sm_89, sm_90, ... have)".
LogicalResult lacks(Operation *op, StringRef feature, StringRef item, const Twine &what) {
  InFlightDiagnostic error = capability(op) << "the target " << targetOf(op).getArch().getValue() << " has no " << what;
  SmallVector<StringRef> others = architecturesWith("triton", feature, item);
  if (!others.empty()) error << " (" << llvm::join(others, ", ") << " have)";
  nameFeature(error, feature);
  return error;
}

LogicalResult verifyDtype(Operation *op, Type type, StringRef feature, StringRef what) {
  TargetAttr target = targetOf(op);
  StringRef name = dtypeName(type);
  return !target || featureAllows(target, feature, name) ? success() : lacks(op, feature, name, name + " " + what);
}

LogicalResult verifyContract(ContractOp op) {
  TargetAttr target = targetOf(op);
  Type element = elementType(op.getLhs().getType()), accumulator = elementType(op.getType());
  if (!target || hasContraction(target, element, accumulator)) return success();
  return lacks(op, "contractions", contractionName(element, accumulator),
               "contraction of " + dtypeName(element) + " operands into " + dtypeName(accumulator));
}

// AMD's library has fewer functions.
LogicalResult verifyUnary(UnaryOp op) {
  Type element = elementType(op.getType());
  bool isFloat = isa<FloatType>(element);
  UnaryKind kind = op.getKind();
  bool integers = kind == UnaryKind::Neg || kind == UnaryKind::Abs || kind == UnaryKind::Not;
  if (!isFloat && !integers) return surface(op) << "no " << stringifyUnaryKind(kind) << " of " << dtypeName(element);
  if (isFloat && kind == UnaryKind::Not) return surface(op) << "no not of " << dtypeName(element);
  if (kind == UnaryKind::Neg && element.isInteger(1)) return surface(op) << "no negation of bool";
  return success();
}

LogicalResult verifyBinary(BinaryOp op) {
  Type element = elementType(op.getType());
  bool isFloat = isa<FloatType>(element);
  switch (op.getKind()) {
  case BinaryKind::Div:
  case BinaryKind::Pow:
    if (!isFloat) return surface(op) << "no " << stringifyBinaryKind(op.getKind()) << " of " << dtypeName(element);
    return success();
  case BinaryKind::And:
  case BinaryKind::Or:
  case BinaryKind::Xor:
  case BinaryKind::Shl:
  case BinaryKind::Shr:
    if (isFloat) return surface(op) << "no " << stringifyBinaryKind(op.getKind()) << " of " << dtypeName(element);
    return success();
  default: return success();
  }
}

LogicalResult verifyCombine(Region &combine) {
  WalkResult captured = combine.walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (operand.getParentRegion()->isProperAncestor(&combine) && !operand.getDefiningOp<ConstantOp>()) {
        surface(inner) << "a combine function uses a value from outside";
        return WalkResult::interrupt();
      }
    if (inner->getNumRegions()) {
      surface(inner) << "a combine function has control flow";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(captured.wasInterrupted());
}

// What the legalisation leaves is what Triton has, but for elements of one byte.
LogicalResult verifyAtomic(Operation *op, Type type, StringRef what) {
  Type element = elementType(type);
  if (storageBytes(element) >= 2) return success();
  return surface(op) << "no atomic " << what << " of " << dtypeName(element) << ": expected elements of 16 bits or more";
}

LogicalResult verifyOperation(Operation *op) {
  for (Type type : op->getResultTypes())
    if (failed(verifyDtype(op, elementType(type), "element_dtypes", "values"))) return failure();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([](UnaryOp op) { return verifyUnary(op); })
      .Case([](BinaryOp op) { return verifyBinary(op); })
      .Case([](ReduceOp op) { return verifyCombine(op.getCombine()); })
      .Case([](ScanOp op) { return verifyCombine(op.getCombine()); })
      .Case([](ContractOp op) { return verifyContract(op); })
      .Case([](AtomicOp op) { return verifyAtomic(op, op.getValue().getType(), stringifyAtomicKind(op.getKind())); })
      .Case([](CompareExchangeOp op) { return verifyAtomic(op, op.getExpected().getType(), "compare_exchange"); })
      .Case([](ScatterReduceOp op) -> LogicalResult {
        if (failed(verifyAtomic(op, op.getValue().getType(), "scatter_reduce"))) return failure();
        return surface(op) << "'" << op->getName() << "' has no form; run legalisation first";
      })
      .Case<ConstantOp, ParamOp, LanesOp, LoadOp, StoreOp, FenceOp, CompareOp, FmaOp, SelectOp, CastOp, BitcastOp, BroadcastOp, TransposeOp,
            YieldOp, GroupOp>([](auto) { return success(); })
      .Case<scf::ForOp, scf::IfOp, scf::WhileOp, scf::YieldOp, scf::ConditionOp>([](auto) { return success(); })
      .Default([](Operation *op) { return surface(op) << "'" << op->getName() << "' has no form"; });
}

LogicalResult verifyProgram(ProgramOp program) {
  for (Attribute entry : cast<KernelOp>(program->getParentOp()).getInterface())
    if (auto view = dyn_cast<ViewArgumentAttr>(entry); view && failed(verifyDtype(program, view.getElement(), "element_dtypes", "values")))
      return failure();
  ConfigurationSetAttr set = program.getConfigurationsAttr();
  for (auto parameter : program.getParameters().getAsRange<ParameterAttr>()) {
    bool bound = parameter.getBinding() || (set && llvm::is_contained(set.getColumns(), parameter.getSymbol()));
    if (!bound) return surface(program) << "parameter '" << parameter.getSymbol().getValue() << "' is bound by no configuration column";
  }
  WalkResult walked = program.walk(
      [](Operation *op) { return isa<ProgramOp>(op) || succeeded(verifyOperation(op)) ? WalkResult::advance() : WalkResult::interrupt(); });
  if (walked.wasInterrupted()) return failure();
  SmallVector<ArrayRef<int64_t>> rows;
  if (set)
    for (Attribute row : set.getRows())
      rows.push_back(cast<DenseI64ArrayAttr>(row).asArrayRef());
  else rows.push_back({});
  for (ArrayRef<int64_t> row : rows)
    if (std::optional<Rejection> rejection = reject(program, row))
      return (rejection->hardware ? capability(rejection->op) : surface(rejection->op)) << rejection->reason;
  return success();
}

} // namespace

std::optional<std::string> rejectTritonRow(ProgramOp program, ArrayRef<int64_t> row) {
  std::optional<Rejection> rejection = reject(program, row);
  return rejection ? std::optional(rejection->reason) : std::nullopt;
}

LogicalResult filterRows(ProgramOp program) {
  ConfigurationSetAttr set = program.getConfigurationsAttr();
  if (!set || set.getRows().empty()) return success();
  SmallVector<Attribute> kept;
  SmallVector<Rejection> rejections;
  for (Attribute row : set.getRows()) {
    std::optional<Rejection> rejection = reject(program, cast<DenseI64ArrayAttr>(row).asArrayRef());
    if (!rejection) kept.push_back(row);
    else rejections.push_back(std::move(*rejection));
  }
  if (kept.empty()) {
    InFlightDiagnostic error = rejections[0].op->emitError("configuration: no configuration row is legal: ") << rejections[0].reason;
    for (auto [row, rejection] : llvm::zip_equal(set.getRows(), rejections)) {
      Diagnostic &note = error.attachNote();
      llvm::interleaveComma(llvm::zip_equal(set.getColumns(), cast<DenseI64ArrayAttr>(row).asArrayRef()), note,
                            [&](auto entry) { note << cast<StringAttr>(std::get<0>(entry)).getValue() << " = " << std::get<1>(entry); });
      note << ": " << rejection.reason;
    }
    if (std::optional<StringRef> family = program.getFamily()) error.attachNote() << "detail family: " << *family;
    return error;
  }
  program.setConfigurationsAttr(
      ConfigurationSetAttr::get(program.getContext(), set.getColumns(), ArrayAttr::get(program.getContext(), kept)));
  return success();
}

LogicalResult verifyForTriton(ModuleOp module) {
  WalkResult walked =
      module.walk([](ProgramOp program) { return failed(verifyProgram(program)) ? WalkResult::interrupt() : WalkResult::advance(); });
  return failure(walked.wasInterrupted());
}

} // namespace intent::triton
