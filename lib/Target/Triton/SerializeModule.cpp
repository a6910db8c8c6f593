// The Python module: imports, helper functions, one kernel a program, the launch table.
#include "Serializer.h"

#include "intent/Target/Triton/Triton.h"

using namespace mlir;
using namespace intent;
using namespace intent::block;
using namespace intent::emission;

namespace intent::triton {

static bool isLaunchOption(ParameterAttr parameter) {
  StringRef name = parameter.getSymbol().getValue();
  return name == "NUM_WARPS" || name == "NUM_STAGES" || name == "NUM_CTAS";
}

static llvm::StringSet<> reservedFor(ProgramOp program) {
  llvm::StringSet<> names = pythonReservedNames();
  for (StringRef own : {"tl", "triton", "libdevice", "INDEX", "VARIANTS", "OPTIONS", "symbols", "launch"})
    names.insert(own);
  for (auto parameter : program.getParameters().getAsRange<ParameterAttr>())
    names.insert(parameter.getSymbol().getValue());
  return names;
}

KernelSerializer::KernelSerializer(ProgramOp program, ModuleText &module)
    : program(program), module(module), widths(program), reserved(reservedFor(program)), names(reserved) {
  masks.emplace_back();
}

// x, y, M, N, x_stride_m, ..., BM: tl.constexpr, INDEX: tl.constexpr
void KernelSerializer::declareArguments() {
  SmallVector<std::string> parameters;
  unsigned publics = program.getNumPublicArguments();
  for (auto [i, argument] : llvm::enumerate(program.getBody().getArguments())) {
    if (i >= publics + program.getPrivates().size()) {
      auto space = cast<WorkspaceAttr>(program.getWorkspacesAttr()[i - publics - program.getPrivates().size()]);
      std::string name = names.declare(identifierFrom(space.getName()));
      variables[argument] = {name, Form::Scalar, {}};
      parameters.push_back(name);
      continue;
    }
    if (i >= publics) {
      auto expr = cast<ExprAttr>(program.getPrivates()[i - publics]);
      std::string base = expr.getKind() == ExprKind::Symbol ? module.names.symbol(expr) : authorName(argument.getLoc()).str();
      std::string name = names.declare(base.empty() ? "bound" : base);
      variables[argument] = {name, Form::Argument, {}};
      parameters.push_back(name);
      continue;
    }
    Attribute entry = program.getInterfaceOf(i);
    if (auto view = dyn_cast<ViewArgumentAttr>(entry)) {
      std::string name = names.declare(module.names.arguments()[i]);
      variables[argument] = {name, Form::Scalar, {}};
      parameters.push_back(name);
      continue;
    }
    auto scalar = cast<ScalarArgumentAttr>(entry);
    Type element = scalar.getElement();
    std::string name = names.declare(module.names.arguments()[i]);
    bool integer = isa<IntegerType, IndexType>(element);
    variables[argument] = {name, integer ? Form::Argument : Form::Scalar, {}};
    parameters.push_back(name + (element.isF32() ? "" : ": " + dtypeText(element)));
  }
  if (auto descriptors = program->getAttrOfType<ArrayAttr>("triton.descriptors"))
    for (auto entry : descriptors.getAsRange<DictionaryAttr>()) {
      descriptorNames[entry.get("name")] = names.declare(cast<StringAttr>(entry.get("name")).getValue());
      parameters.push_back(descriptorNames[entry.get("name")]);
      module.descriptors = true;
    }
  for (auto parameter : program.getParameters().getAsRange<ParameterAttr>())
    if (!isLaunchOption(parameter)) parameters.push_back(parameter.getSymbol().getValue().str() + ": tl.constexpr");
  parameters.push_back("INDEX: tl.constexpr");
  out.line("@triton.jit");
  std::string head = "def " + module.names.program(program).str() + "(" + llvm::join(parameters, ", ") + "):";
  if (head.size() <= 120) return out.line(head);
  out.line("def " + module.names.program(program).str() + "(");
  std::string line;
  for (auto [i, parameter] : llvm::enumerate(parameters)) {
    std::string piece = parameter + (i + 1 < parameters.size() ? ", " : "");
    if (!line.empty() && line.size() + piece.size() > 112) {
      out.line("        " + StringRef(line).rtrim());
      line.clear();
    }
    line += piece;
  }
  out.line("        " + line + "):");
}

LogicalResult KernelSerializer::emitGroup(GroupOp group, StringRef pid) {
  variables[group.getBody().getArgument(0)] = {pid.str(), Form::Scalar, {}};
  size_t before = out.str().size();
  if (failed(emitBlock(group.getBody().front()))) return failure();
  if (out.str().size() == before) out.line("pass");
  return success();
}

FailureOr<std::string> KernelSerializer::run() {
  declareArguments();
  SmallVector<GroupOp> groups(program.getBody().getOps<GroupOp>());
  {
    TextStream::Indent indent(out);
    std::string pid = names.declare("pid");
    out.line(pid + " = tl.program_id(0).to(INDEX)");
    if (groups.size() == 1) {
      if (failed(emitGroup(groups[0], pid))) return failure();
    }
    // Segments of one linear program space: the start of each after the first is a private argument.
    NameScope::Taken used;
    SmallVector<ExprAttr> starts(1);
    for (GroupOp group : groups)
      starts.push_back(starts.back() ? ExprAttr::apply(ExprKind::Add, {starts.back(), group.getSize()}) : group.getSize());
    for (size_t i = 0; groups.size() > 1 && i < groups.size(); ++i) {
      auto start = [&](size_t k) {
        for (auto [index, expr] : llvm::enumerate(program.getPrivates()))
          if (expr == starts[k]) return variables[program.getBody().getArgument(program.getNumPublicArguments() + index)].name;
        return std::string();
      };
      if (i + 1 < groups.size()) {
        if (start(i + 1).empty())
          return unsupported(groups[i + 1]) << "the start of a group is no private argument; run legalisation first";
        out.line((i ? "elif " : "if ") + pid + " < " + start(i + 1) + ":");
      } else out.line("else:");
      TextStream::Indent branch(out);
      names.push(used);
      masks.emplace_back();
      std::string own = pid;
      if (i) {
        own = names.declare("pid");
        out.line(own + " = " + pid + " - " + start(i));
      }
      if (failed(emitGroup(groups[i], own))) return failure();
      names.pop(used);
      masks.pop_back();
    }
  }
  if (module.failed) return failure();
  return out.take();
}

FailureOr<SourceText> serializeToTriton(ModuleOp module, RowCondition rowCondition) {
  SmallVector<KernelOp> kernels(module.getOps<KernelOp>());
  if (kernels.size() != 1) return module.emitError("provider surface: expected one kernel in a module, got ") << kernels.size();
  KernelOp kernel = kernels.front();
  ModuleNames names(kernel);
  ModuleText shared{names};
  SmallVector<SourceText> kernelTexts;
  SmallVector<SmallVector<ExprAttr>> conditions;
  SmallVector<ProgramOp> programs(kernel.getBody().getOps<ProgramOp>());
  for (ProgramOp program : programs) {
    KernelSerializer serializer(program, shared);
    FailureOr<std::string> text = serializer.run();
    if (failed(text)) return failure();
    kernelTexts.push_back({std::move(*text), serializer.authorLines()});
    conditions.push_back(serializer.indexWidths().conditions());
  }
  bool spaced =
      llvm::any_of(programs, [](ProgramOp program) { return program.getWorkspacesAttr() && !program.getWorkspacesAttr().empty(); });
  std::string text = "# Generated by Intent from kernel `" + kernel.getSymName().str() + "`.\n";
  if (spaced) text += "import torch\n";
  text += "import triton\nimport triton.language as tl\n";
  if (shared.descriptors) text += "from triton.tools.tensor_descriptor import TensorDescriptor\n";
  if (shared.libdevice) text += "from triton.language.extra import libdevice\n";
  for (auto &[name, function] : shared.functions)
    text += "\n\n" + function;
  std::vector<SourceLine> lines;
  for (const SourceText &kernelText : kernelTexts) {
    text += "\n\n";
    size_t before = StringRef(text).count('\n');
    for (SourceLine line : kernelText.lines) {
      line.line += before;
      lines.push_back(std::move(line));
    }
    text += kernelText.text;
  }
  text += "\n\n" + launchText(kernel, names, conditions, rowCondition);
  return SourceText{std::move(text), std::move(lines)};
}

} // namespace intent::triton
