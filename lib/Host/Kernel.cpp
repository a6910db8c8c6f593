#include "Kernel.h"

#include "Checker.h"
#include "Interrupt.h"
#include "ThreadPool.h"
#include "intent/IR/Language.h"
#include "intent/IR/Text.h"
#include "intent/Target/Capabilities.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include <numeric>
#include <random>

using namespace mlir;
using namespace intent::block;

namespace intent::host {

template <typename... Parts>
static llvm::Error fail(const Parts &...parts) {
  std::string text;
  llvm::raw_string_ostream os(text);
  ((os << parts), ...);
  return llvm::createStringError(text);
}

namespace {
/// Collects the diagnostics of a scope as text.
class Diagnostics {
public:
  explicit Diagnostics(MLIRContext *context)
      : handler(context, [this](Diagnostic &diagnostic) {
          if (!text.empty()) text += "\n";
          text += diagnostic.str();
          return success();
        }) {}
  llvm::Error error(StringRef what) const { return fail(text.empty() ? what : StringRef(text)); }

private:
  std::string text;
  ScopedDiagnosticHandler handler;
};
} // namespace

llvm::Expected<std::unique_ptr<Kernel>> Kernel::load(StringRef text, uint32_t row) {
  if (std::string refused = refuseIrText(text); !refused.empty()) return fail("block program: ", refused);
  std::unique_ptr<Kernel> result(new Kernel);
  result->context.loadDialect<BlockDialect, scf::SCFDialect>();
  Diagnostics diagnostics(&result->context);
  result->module = parseSourceString<ModuleOp>(text.str(), ParserConfig(&result->context));
  if (!result->module) return diagnostics.error("block program does not parse");
  for (Operation &op : result->module->getBody()->getOperations()) {
    auto kernel = dyn_cast<KernelOp>(op);
    if (!kernel || result->kernel) return fail("expected one block.kernel in the module");
    result->kernel = kernel;
  }
  if (!result->kernel) return fail("expected one block.kernel in the module");
  result->describeParameters();
  result->checked = (*result->module)->hasAttr(checkedAttributeName);
  bool known = false;
  for (Operation &op : result->kernel.getBody().front()) {
    auto program = dyn_cast<ProgramOp>(op);
    if (!program) return fail("expected only block.program in the kernel");
    Variant variant{program, {}, false};
    FailureOr<llvm::StringMap<int64_t>> values = configurationRow(program, row);
    // A variant with a shorter table has no such row; that matters once a call needs it.
    if (succeeded(values)) variant.parameters = std::move(*values);
    known |= succeeded(values);
    program.walk([&](Operation *inner) { variant.heavy |= isa<ContractOp, scf::ForOp, scf::WhileOp>(inner); });
    result->variants.push_back(std::move(variant));
  }
  if (result->variants.empty()) return fail("the kernel has no program");
  if (!known) return diagnostics.error("no such configuration");
  return result;
}

//===- one call ----------------------------------------------------------------------------------------===//

std::optional<int64_t> Kernel::Call::evaluate(ExprAttr expr) const {
  return expr.evaluate([&](ExprAttr leaf) -> std::optional<int64_t> {
    for (const auto &[name, value] : symbols)
      if (name == leaf.getSymbol()) return value;
    return std::nullopt;
  });
}

void Kernel::describeParameters() {
  for (Attribute attribute : kernel.getInterface()) {
    Parameter &parameter = parameters.emplace_back();
    if (auto view = dyn_cast<ViewArgumentAttr>(attribute)) {
      parameter.name = view.getName();
      parameter.isView = true;
      parameter.shape = view.getShape();
      parameter.bytes = storageBytes(view.getElement());
      parameter.isOut = view.getAccess() == Access::Out;
      continue;
    }
    auto scalar = cast<ScalarArgumentAttr>(attribute);
    Type element = scalar.getElement();
    parameter.name = scalar.getName();
    parameter.bytes = storageBytes(element);
    bool integer = isa<IntegerType, IndexType>(element);
    parameter.isSigned = integer && !isUnsignedInteger(element);
    if (integer) parameter.symbol = StringAttr::get(&context, "%" + scalar.getName().getValue());
  }
}

// The bits of a scalar in its memory form, sign-extended for signed integers.
int64_t Kernel::readScalar(const Parameter &parameter, const void *data) {
  int64_t value = 0;
  memcpy(&value, data, parameter.bytes);
  return parameter.isSigned && parameter.bytes < 8 ? llvm::SignExtend64(value, parameter.bytes * 8) : value;
}

llvm::Error Kernel::bindSymbols(Call &call, ArrayRef<intent_host_argument> arguments) {
  if (arguments.size() != parameters.size()) return fail("expected ", parameters.size(), " arguments, got ", arguments.size());
  for (auto [parameter, argument] : llvm::zip_equal(parameters, arguments)) {
    if (parameter.isView) continue;
    if (!argument.data) return fail("scalar argument '", parameter.name.getValue(), "' has no value");
    if (parameter.symbol) call.symbols.push_back({parameter.symbol, readScalar(parameter, argument.data)});
  }
  for (auto [parameter, argument] : llvm::zip_equal(parameters, arguments)) {
    if (!parameter.isView) continue;
    if (!parameter.shape.empty() && (!argument.extents || !argument.strides))
      return fail("view '", parameter.name.getValue(), "' has no extents or strides");
    for (auto [axis, expr] : llvm::enumerate(parameter.shape)) {
      int64_t extent = argument.extents[axis];
      if (extent < 0) return fail("view '", parameter.name.getValue(), "' has the negative extent ", extent);
      if (expr.getKind() == ExprKind::Symbol && !call.evaluate(expr)) call.symbols.push_back({expr.getSymbol(), extent});
    }
  }
  for (auto [parameter, argument] : llvm::zip_equal(parameters, arguments)) {
    if (!parameter.isView) continue;
    StringRef name = parameter.name.getValue();
    int64_t elements = 1;
    for (auto [axis, expr] : llvm::enumerate(parameter.shape)) {
      int64_t extent = argument.extents[axis];
      std::optional<int64_t> expected = call.evaluate(expr);
      if (!expected) return fail("extent ", axis, " of view '", name, "' has no value for this call");
      if (*expected != extent) return fail("view '", name, "' has extent ", extent, " on axis ", axis, ", expected ", *expected);
      if (llvm::MulOverflow(elements, extent, elements)) return fail("view '", name, "' is too large");
    }
    if (elements && !argument.data) return fail("view '", name, "' has no data");
    call.elements = std::max(call.elements, elements);
  }
  for (auto check : kernel.getChecks().getAsRange<CheckAttr>())
    if (std::optional<int64_t> holds = call.evaluate(check.getCondition()); !holds || !*holds) return fail(check.getMessage().getValue());
  return llvm::Error::success();
}

llvm::Error Kernel::pickVariant(Call &call) {
  for (auto [i, variant] : llvm::enumerate(variants)) {
    if (ExprAttr guard = variant.program.getGuardAttr()) {
      std::optional<int64_t> admits = call.evaluate(guard);
      if (!admits) return fail("the guard of '", variant.program.getSymName(), "' has no value for this call");
      if (!*admits) continue;
    }
    call.variant = i;
    for (auto parameter : variant.program.getParameters().getAsRange<ParameterAttr>()) {
      if (!parameter.getBinding()) continue;
      std::optional<int64_t> value = call.evaluate(parameter.getBinding());
      if (!value) return fail("coverage parameter '", parameter.getSymbol().getValue(), "' has no value for this call");
      call.coverage.push_back(std::max<int64_t>(1, *value));
    }
    return llvm::Error::success();
  }
  return fail("no variant of '", kernel.getSymName(), "' admits this call");
}

void Kernel::describeViews(Call &call, ArrayRef<intent_host_argument> arguments) {
  call.key.push_back(call.variant);
  llvm::append_range(call.key, call.coverage);
  for (auto [parameter, argument] : llvm::zip_equal(parameters, arguments)) {
    ViewFacts &facts = call.facts.emplace_back();
    for (size_t axis = 0; axis < parameter.shape.size(); ++axis) {
      int64_t stride = argument.strides[axis];
      // An axis of one element has only coordinate 0: any stride will do, and 1 makes the fewest versions.
      if (argument.extents[axis] <= 1) stride = 1;
      bool known = stride >= -1 && stride <= 1;
      facts.strides.push_back(known ? std::optional(stride) : std::nullopt);
      call.key.push_back(known ? stride : 2);
    }
  }
}

void Kernel::fillFrame(Call &call, ArrayRef<intent_host_argument> arguments) {
  for (auto [parameter, argument] : llvm::zip_equal(parameters, arguments)) {
    if (!parameter.isView) {
      call.frame.push_back(readScalar(parameter, argument.data));
      continue;
    }
    call.frame.push_back(reinterpret_cast<int64_t>(argument.data));
    for (size_t axis = 0; axis < parameter.shape.size(); ++axis)
      call.frame.push_back(argument.strides[axis]);
  }
}

llvm::Expected<Kernel::Call> Kernel::prepare(ArrayRef<intent_host_argument> arguments) {
  Call call;
  if (llvm::Error error = bindSymbols(call, arguments)) return error;
  if (llvm::Error error = pickVariant(call)) return error;
  describeViews(call, arguments);
  fillFrame(call, arguments);
  for (Attribute expr : variants[call.variant].program.getPrivates()) {
    std::optional<int64_t> value = call.evaluate(cast<ExprAttr>(expr));
    if (!value) return fail("a private value of '", variants[call.variant].program.getSymName(), "' has no value for this call");
    call.frame.push_back(*value);
  }
  return call;
}

//===- native code -------------------------------------------------------------------------------------===//

llvm::Expected<std::unique_ptr<Kernel::Compiled>> Kernel::compile(const Call &call, std::optional<Form> form, std::string *text) {
  llvm::Expected<Jit *> jit = Jit::get();
  if (!jit) return jit.takeError();
  Diagnostics diagnostics(&context);
  // Binding rewrites types in place, on a copy inside a copy of the kernel, which the program's interface lives on.
  const Variant &variant = variants[call.variant];
  OwningOpRef<KernelOp> copy = kernel.clone();
  auto program = *std::next(copy->getBody().front().getOps<ProgramOp>().begin(), call.variant);
  llvm::StringMap<int64_t> values = variant.parameters;
  unsigned next = 0;
  for (auto parameter : program.getParameters().getAsRange<ParameterAttr>())
    if (parameter.getBinding()) values[parameter.getSymbol().getValue()] = call.coverage[next++];
  if (failed(bindParameters(program, values))) return diagnostics.error("binding failed");
  auto made = std::make_unique<Compiled>();
  made->key = call.key;
  for (auto group : program.getBody().getOps<GroupOp>())
    made->groupSizes.push_back(group.getSizeAttr());
  if (ArrayAttr workspaces = program.getWorkspacesAttr())
    for (auto space : workspaces.getAsRange<WorkspaceAttr>())
      made->spaces.push_back({space.getName(), space.getShape(), storageBytes(space.getElement()), space.getZeroed()});
  auto llvmContext = std::make_unique<llvm::LLVMContext>();
  // A profiler shows the symbol. The prefix keeps it apart from functions that the code calls.
  std::string name = (*jit)->isHeard() ? ("intent_" + kernel.getSymName()).str() : "intent_host_kernel";
  FailureOr<HostFunction> function = translateToLlvm(program, call.facts, (*jit)->cpu(), name, *llvmContext, checked, (*jit)->isHeard());
  if (failed(function)) return diagnostics.error("code generation failed");
  made->arenaBytes = function->arenaBytes;
  made->accesses = std::move(function->accesses);
  if (form) {
    if (llvm::Error error = (*jit)->prepare(*function->module)) return error;
    llvm::Expected<std::string> printed = (*jit)->print(*function->module, *form);
    if (!printed) return printed.takeError();
    *text = std::move(*printed);
    return made;
  }
  llvm::Expected<std::unique_ptr<NativeCode>> code = (*jit)->compile(*function->module, name, objects);
  if (!code) return code.takeError();
  made->code = std::move(*code);
  return made;
}

llvm::Expected<Kernel::Compiled *> Kernel::find(const Call &call, bool *fresh) {
  auto lookup = [&]() -> Compiled * {
    std::shared_lock<std::shared_mutex> lock(table);
    for (const auto &entry : compiled)
      if (entry->key == call.key) return entry.get();
    return nullptr;
  };
  if (Compiled *found = lookup()) return found;
  std::lock_guard<std::mutex> lock(compiling);
  if (Compiled *found = lookup()) return found; // another thread made it meanwhile
  auto made = compile(call, std::nullopt, nullptr);
  if (!made) return made.takeError();
  std::unique_lock<std::shared_mutex> writing(table);
  compiled.push_back(std::move(*made));
  if (fresh) *fresh = true;
  return compiled.back().get();
}

llvm::Expected<bool> Kernel::generate(ArrayRef<intent_host_argument> arguments) {
  llvm::Expected<Call> call = prepare(arguments);
  if (!call) return call.takeError();
  bool fresh = false;
  llvm::Expected<Compiled *> code = find(*call, &fresh);
  if (!code) return code.takeError();
  return fresh;
}

llvm::Expected<std::unique_ptr<WorkspaceMemory>> Kernel::provideWorkspaces(Compiled &code, Call &call) {
  if (code.spaces.empty()) return nullptr;
  SmallVector<WorkspaceMemory::Need, 4> needs;
  SmallVector<SmallVector<int64_t, 4>, 4> strides;
  for (const Compiled::Space &space : code.spaces) {
    int64_t bytes = space.elementBytes, stride = 1;
    auto &own = strides.emplace_back(space.shape.size());
    for (size_t axis = space.shape.size(); axis-- > 0;) {
      std::optional<int64_t> extent = call.evaluate(space.shape[axis]);
      if (!extent) return fail("extent ", axis, " of workspace '", space.name.getValue(), "' has no value for this call");
      own[axis] = stride;
      int64_t count = std::max<int64_t>(0, *extent);
      if (llvm::MulOverflow(bytes, count, bytes) || llvm::MulOverflow(stride, count, stride))
        return fail("workspace '", space.name.getValue(), "' is too large for this call");
    }
    needs.push_back({bytes, space.zeroed});
  }
  std::unique_ptr<WorkspaceMemory> memory = code.memory.acquire(needs);
  if (!memory) {
    std::string sizes;
    for (auto [space, need] : llvm::zip_equal(code.spaces, needs))
      sizes += (sizes.empty() ? "'" : ", '") + space.name.str() + "' of " + std::to_string(need.bytes) + " bytes";
    return fail("not enough memory for the workspaces of this call: ", sizes);
  }
  for (unsigned i = 0; i < needs.size(); ++i) {
    call.frame.push_back(reinterpret_cast<int64_t>(memory->address(i)));
    llvm::append_range(call.frame, strides[i]);
  }
  return memory;
}

// One instance after the other, in an order that differs from launch to launch, as that of lanes does, on this thread.
// Workspaces are not used again.
llvm::Error Kernel::launchChecked(Compiled &code, Call &call, ArrayRef<intent_host_argument> arguments, const WorkspaceMemory *workspaces,
                                  int64_t instances, Fault &fault) {
  std::vector<Checker::Memory> memories;
  for (auto [parameter, argument] : llvm::zip_equal(parameters, arguments)) {
    Checker::Memory &memory = memories.emplace_back();
    if (!parameter.isView) continue;
    memory.name = parameter.name.str();
    memory.data = static_cast<char *>(argument.data);
    memory.extents.assign(argument.extents, argument.extents + parameter.shape.size());
    memory.strides.assign(argument.strides, argument.strides + parameter.shape.size());
    memory.elementBytes = parameter.bytes;
    memory.unwritten = parameter.isOut;
  }
  memories.resize(memories.size() + variants[call.variant].program.getPrivates().size());
  for (auto [i, space] : llvm::enumerate(code.spaces)) {
    Checker::Memory &memory = memories.emplace_back();
    memory.name = space.name.str();
    memory.data = static_cast<char *>(workspaces->address(i));
    memory.strides.resize(space.shape.size());
    int64_t stride = 1;
    for (ExprAttr extent : space.shape)
      memory.extents.push_back(std::max<int64_t>(0, call.evaluate(extent).value_or(0)));
    for (size_t axis = space.shape.size(); axis-- > 0; stride *= memory.extents[axis])
      memory.strides[axis] = stride;
    memory.elementBytes = space.elementBytes;
    memory.unwritten = !space.zeroed;
  }
  static std::atomic<uint64_t> launches{1};
  uint64_t seed = launches++;
  Checker checker(code.accesses, std::move(memories), seed);
  call.frame.push_back(reinterpret_cast<int64_t>(&checker));
  call.frame.push_back(reinterpret_cast<int64_t>(&Checker::check));
  constexpr int64_t most = int64_t(1) << 26; // their order is held in memory
  if (instances > most) return fail("a checked launch runs at most ", most, " instances, this call asks for ", instances);
  std::vector<int64_t> order(instances);
  std::iota(order.begin(), order.end(), int64_t(0));
  std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
  const int64_t *frame = call.frame.data();
  // The pool's own memory and interruption; one range is one instance here.
  int64_t next = 0;
  Outcome outcome = runInstances(instances, code.arenaBytes, false, [&](int64_t begin, int64_t end, char *arena) {
    for (bool sound = checker.report().empty(); sound && begin < end; ++begin)
      sound = checker.run(code.code->entry, frame, order[next++], arena);
  });
  if (outcome == Outcome::NoMemory) return fail("not enough memory for ", code.arenaBytes, " bytes of scratch");
  if (outcome == Outcome::Interrupted) return fail("interrupted");
  if (checker.report().empty()) return llvm::Error::success();
  fault = checker.isInternal() ? Fault::Compiler : Fault::Program;
  return fail(checker.report());
}

llvm::Error Kernel::launch(ArrayRef<intent_host_argument> arguments, Fault &fault) {
  fault = Fault::Library;
  llvm::Expected<Call> call = prepare(arguments);
  if (!call) return call.takeError();
  llvm::Expected<Compiled *> code = find(*call);
  if (!code) return code.takeError();
  fault = Fault::Call;
  llvm::Expected<std::unique_ptr<WorkspaceMemory>> memory = provideWorkspaces(**code, *call);
  if (!memory) return memory.takeError();
  fault = Fault::Library;
  int64_t instances = 0;
  for (ExprAttr size : (*code)->groupSizes) {
    std::optional<int64_t> value = call->evaluate(size);
    if (!value) return fail("a group size has no value for this call");
    call->frame.push_back(std::max<int64_t>(0, *value));
    if (llvm::AddOverflow(instances, call->frame.back(), instances)) return fail("the launch has too many instances");
  }
  if (checked) return launchChecked(**code, *call, arguments, memory->get(), instances, fault);
  // Waking threads costs about as much as this many elements.
  constexpr int64_t worthwhile = 1 << 15;
  bool parallel = call->elements * (variants[call->variant].heavy ? 16 : 1) >= worthwhile;
  NativeFunction entry = (*code)->code->entry;
  const int64_t *frame = call->frame.data();
  switch (runInstances(instances, (*code)->arenaBytes, parallel,
                       [&](int64_t begin, int64_t end, char *arena) { entry(frame, begin, end, arena); })) {
  case Outcome::Done:
    if (*memory) (*code)->memory.release(std::move(*memory));
    return llvm::Error::success();
  case Outcome::NoMemory: return fail("not enough memory for ", (*code)->arenaBytes, " bytes of scratch a thread");
  case Outcome::Interrupted: return fail("interrupted"); // workspaces may be left in any state: they are not used again
  }
  return llvm::Error::success();
}

llvm::Expected<std::string> Kernel::emit(Form form, ArrayRef<intent_host_argument> arguments) {
  llvm::Expected<Call> call = prepare(arguments);
  if (!call) return call.takeError();
  std::lock_guard<std::mutex> lock(compiling);
  std::string text;
  auto made = compile(*call, form, &text);
  if (!made) return made.takeError();
  return text;
}

} // namespace intent::host
