// The launch table: what the host evaluates for a call, as plain Python over extents and parameters.
#include "Serializer.h"

using namespace mlir;
using namespace intent;
using namespace intent::block;
using namespace intent::emission;

namespace intent::triton {

namespace {
class LaunchTable {
public:
  LaunchTable(KernelOp kernel, ModuleNames &names, RowCondition rowCondition) : kernel(kernel), scope(names), rowCondition(rowCondition) {}

  std::string run(ArrayRef<SmallVector<ExprAttr>> conditions);

private:
  Expression spell(ExprAttr expr) {
    return spellExpr(expr, [&](ExprAttr leaf) { return scope.symbol(leaf); });
  }
  std::string lambda(ArrayRef<ExprAttr> mentioned, StringRef body, ArrayRef<std::string> more = {});
  bool isContiguousExtent(ProgramOp program, ExprAttr expr);
  void symbols();
  void variant(ProgramOp program, ArrayRef<ExprAttr> conditions);
  void narrowCondition(ArrayRef<ExprAttr> bounds);
  void configurations(ProgramOp program);
  void where(ProgramOp program);
  void descriptors(ProgramOp program);
  void workspaces(ProgramOp program);
  void wrap(ArrayRef<std::string> items);
  void arguments(ProgramOp program);
  void launch();

  KernelOp kernel;
  ModuleNames &scope;
  RowCondition rowCondition;
  bool choosesRow = false; // some variant has rows that are not for every call
  TextStream out;
};
} // namespace

// `lambda M, BM, **_: body` over the symbols that the expressions mention.
std::string LaunchTable::lambda(ArrayRef<ExprAttr> mentioned, StringRef body, ArrayRef<std::string> more) {
  SmallVector<std::string> names(more);
  for (ExprAttr expr : mentioned)
    expr.walkExpr([&](ExprAttr leaf) {
      if (leaf.getKind() != ExprKind::Symbol && leaf.getKind() != ExprKind::Parameter) return;
      std::string name = scope.symbol(leaf);
      if (!llvm::is_contained(names, name)) names.push_back(name);
    });
  names.push_back("**_");
  return "lambda " + llvm::join(names, ", ") + ": " + body.str();
}

// def symbols(x, y): return dict(M=x.shape[0], N=x.shape[1])
void LaunchTable::symbols() {
  SmallVector<std::string> entries;
  llvm::StringSet<> bound;
  for (auto [position, entry] : llvm::enumerate(kernel.getInterface())) {
    auto view = dyn_cast<ViewArgumentAttr>(entry);
    if (!view) continue;
    for (auto [axis, extent] : llvm::enumerate(view.getShape()))
      if (extent.getKind() == ExprKind::Symbol && !extent.getSymbol().getValue().starts_with("%") &&
          bound.insert(scope.symbol(extent)).second)
        entries.push_back(scope.symbol(extent) + "=" + scope.arguments()[position] + ".shape[" + std::to_string(axis) + "]");
  }
  out.line("def symbols(" + llvm::join(scope.arguments(), ", ") + "):");
  TextStream::Indent indent(out);
  out.line("return dict(" + llvm::join(entries, ", ") + ")");
}

// triton.Config({"BM": 1}, num_warps=8)
void LaunchTable::configurations(ProgramOp program) {
  ConfigurationSetAttr set = program.getConfigurationsAttr();
  if (!set || set.getRows().empty()) return out.line("configs=[triton.Config({})],");
  out.line("configs=[");
  {
    TextStream::Indent indent(out);
    for (Attribute row : set.getRows()) {
      SmallVector<std::string> bindings, options;
      for (auto [column, value] : llvm::zip_equal(set.getColumns(), cast<DenseI64ArrayAttr>(row).asArrayRef())) {
        StringRef name = cast<StringAttr>(column).getValue();
        if (name == "NUM_WARPS" || name == "NUM_STAGES" || name == "NUM_CTAS")
          options.push_back(name.lower() + "=" + std::to_string(value));
        else bindings.push_back("\"" + name.str() + "\": " + std::to_string(value));
      }
      std::string text = "triton.Config({" + llvm::join(bindings, ", ") + "}";
      for (const std::string &option : options)
        text += ", " + option;
      out.line(text + "),");
    }
  }
  out.line("],");
}

// where={4: lambda N, **_: N <= 8192}: the calls for which a row is meant, if not for all
void LaunchTable::where(ProgramOp program) {
  SmallVector<std::pair<size_t, ExprAttr>> conditions;
  if (ConfigurationSetAttr set = program.getConfigurationsAttr())
    for (auto [index, row] : llvm::enumerate(set.getRows().getAsRange<DenseI64ArrayAttr>()))
      if (ExprAttr condition = rowCondition(program, row.asArrayRef())) conditions.push_back({index, condition});
  if (conditions.empty()) return;
  choosesRow = true;
  out.line("where={");
  {
    TextStream::Indent indent(out);
    for (auto [index, condition] : conditions)
      out.line(std::to_string(index) + ": " + lambda({condition}, spell(condition).text) + ",");
  }
  out.line("},");
}

// Whether divisibility of an extent widens accesses: it is the last one of views at least as deep as any
// in which it counts rows.
bool LaunchTable::isContiguousExtent(ProgramOp program, ExprAttr expr) {
  size_t last = 0, other = 0;
  for (Attribute entry : kernel.getInterface()) {
    auto view = dyn_cast<ViewArgumentAttr>(entry);
    if (!view || view.getShape().empty()) continue;
    ArrayRef<ExprAttr> shape = view.getShape();
    if (shape.back() == expr) last = std::max(last, shape.size());
    if (llvm::is_contained(shape.drop_back(), expr)) other = std::max(other, shape.size());
  }
  // The pitch of a workspace's rows.
  unsigned first = program.getNumPublicArguments() + program.getPrivates().size();
  for (BlockArgument space : program.getBody().getArguments().drop_front(first))
    for (int64_t axis = 0; axis + 1 < cast<ViewType>(space.getType()).getRank(); ++axis)
      if (strideOf(program, space.getArgNumber(), axis) == expr) return true;
  return last && last >= other;
}

// Items with commas, as many a line as fit.
void LaunchTable::wrap(ArrayRef<std::string> items) {
  std::string line;
  for (const std::string &item : items) {
    if (!line.empty() && out.column() + line.size() + item.size() > 118) {
      out.line(StringRef(line).rtrim());
      line.clear();
    }
    line += item + ", ";
  }
  out.line(StringRef(line).rtrim());
}

// Kernel arguments of a call, and how each is typed: `stride` may become constexpr 1, `extent/16` may be
// divisible by 16, `extent` is neither, since rows come in every number.
void LaunchTable::arguments(ProgramOp program) {
  SmallVector<std::string> values(scope.arguments()), types;
  SmallVector<ExprAttr> mentioned;
  for (Attribute entry : kernel.getInterface()) {
    if (auto view = dyn_cast<ViewArgumentAttr>(entry)) types.push_back("\"*" + signatureText(view.getElement()) + "\"");
    else types.push_back("\"" + signatureText(cast<ScalarArgumentAttr>(entry).getElement()) + "\"");
  }
  for (auto expr : program.getPrivates().getAsRange<ExprAttr>()) {
    StringRef symbol = expr.getKind() == ExprKind::Symbol ? expr.getSymbol().getValue() : StringRef();
    auto [view, axis] = symbol.split(".stride.");
    if (!axis.empty()) {
      values.push_back(scope.argument(view).str() + ".stride(" + axis.str() + ")");
      types.push_back("\"stride\"");
      continue;
    }
    values.push_back(spell(expr).text);
    mentioned.push_back(expr);
    types.push_back(isContiguousExtent(program, expr) ? "\"extent/16\"" : "\"extent\"");
  }
  if (ArrayAttr spaces = program.getWorkspacesAttr())
    for (auto space : spaces.getAsRange<WorkspaceAttr>())
      types.push_back("\"*" + signatureText(space.getElement()) + "\"");
  auto tuple = [&](ArrayRef<std::string> items) { return "(" + llvm::join(items, ", ") + (items.size() == 1 ? ",)" : ")"); };
  std::string text = "arguments=" + lambda(mentioned, tuple(values), scope.arguments()) + ",";
  if (out.column() + text.size() <= 120) out.line(text);
  else {
    out.line("arguments=" + lambda(mentioned, "(", scope.arguments()));
    {
      TextStream::Indent indent(out);
      wrap(values);
    }
    out.line("),");
  }
  text = "signature=" + tuple(types) + ",";
  if (out.column() + text.size() <= 120) return out.line(text);
  out.line("signature=(");
  {
    TextStream::Indent indent(out);
    wrap(types);
  }
  out.line("),");
}

// index32=lambda M, BM, **_: triton.cdiv(M, BM) * BM < 2**31
void LaunchTable::narrowCondition(ArrayRef<ExprAttr> bounds) {
  if (bounds.empty()) return out.line("index32=" + lambda({}, "True") + ",");
  std::string flat;
  for (auto [i, bound] : llvm::enumerate(bounds))
    flat += (i ? ", " : "") + spell(bound).text;
  std::string text =
      "index32=" + lambda(bounds, (bounds.size() == 1 ? spell(bounds[0]).in(Precedence::BitOr) : "max(" + flat + ")") + " < 2**31") + ",";
  if (bounds.size() == 1 || out.column() + text.size() <= 120) return out.line(text);
  out.line("index32=" + lambda(bounds, "max("));
  {
    TextStream::Indent indent(out);
    for (ExprAttr bound : bounds)
      out.line(spell(bound).text + ",");
  }
  out.line(") < 2**31,");
}

// descriptors=lambda a, BM, BK, **_: [(a, [BM, BK])]: the view and the block of each descriptor argument
void LaunchTable::descriptors(ProgramOp program) {
  auto list = program->getAttrOfType<ArrayAttr>("triton.descriptors");
  if (!list) return;
  SmallVector<std::string> items, views;
  SmallVector<ExprAttr> extents;
  for (auto entry : list.getAsRange<DictionaryAttr>()) {
    std::string view = scope.arguments()[cast<IntegerAttr>(entry.get("view")).getInt()], block;
    if (!llvm::is_contained(views, view)) views.push_back(view);
    for (auto extent : cast<ArrayAttr>(entry.get("block")).getAsRange<ExprAttr>()) {
      block += (block.empty() ? "" : ", ") + spell(extent).text;
      extents.push_back(extent);
    }
    items.push_back("(" + view + ", [" + block + "])");
  }
  out.line("descriptors=" + lambda(extents, "[" + llvm::join(items, ", ") + "]", views) + ",");
}

// workspaces=lambda N, R, **_: [("float32", (N, R), False)]: dtype, extents, whether zero at allocation
void LaunchTable::workspaces(ProgramOp program) {
  ArrayAttr spaces = program.getWorkspacesAttr();
  if (!spaces || spaces.empty()) return;
  SmallVector<std::string> items;
  SmallVector<ExprAttr> extents;
  for (auto space : spaces.getAsRange<WorkspaceAttr>()) {
    std::string shape;
    for (ExprAttr extent : space.getShape()) {
      shape += spell(extent).text + ", ";
      extents.push_back(extent);
    }
    if (space.getShape().size() > 1) shape.resize(shape.size() - 2);
    else if (!shape.empty()) shape.pop_back();
    items.push_back("(" + pythonString(storageText(space.getElement())) + ", (" + shape + "), " + (space.getZeroed() ? "True" : "False") +
                    ")");
  }
  out.line("workspaces=" + lambda(extents, "[" + llvm::join(items, ", ") + "]") + ",");
}

void LaunchTable::variant(ProgramOp program, ArrayRef<ExprAttr> conditions) {
  out.line("dict(");
  {
    TextStream::Indent indent(out);
    out.line("name=" + pythonString(program.getSymName()) + ",");
    if (StringAttr family = program.getFamilyAttr()) out.line("family=" + pythonString(family.getValue()) + ",");
    out.line("kernel=" + scope.program(program).str() + ",");
    ExprAttr guard = program.getGuardAttr();
    out.line("guard=" + (guard ? lambda({guard}, spell(guard).text) : lambda({}, "True")) + ",");
    SmallVector<std::string> coverage;
    SmallVector<ExprAttr> bindings;
    for (auto parameter : program.getParameters().getAsRange<ParameterAttr>())
      if (ExprAttr binding = parameter.getBinding()) {
        coverage.push_back(parameter.getSymbol().getValue().str() + "=" + spell(binding).text);
        bindings.push_back(binding);
      }
    out.line("coverage=" + lambda(bindings, "dict(" + llvm::join(coverage, ", ") + ")") + ",");
    ExprAttr grid = ExprAttr::constant(program.getContext(), 0); // a program without effects has no instance
    for (auto group : program.getBody().getOps<GroupOp>())
      grid = ExprAttr::apply(ExprKind::Add, {grid, group.getSize()});
    out.line("grid=" + lambda({grid}, spell(grid).text) + ",");
    narrowCondition(conditions);
    arguments(program);
    workspaces(program);
    descriptors(program);
    configurations(program);
    where(program);
  }
  out.line("),");
}

// A launch by hand, for reading and for trying things out; the runtime does the same from the table.
void LaunchTable::launch() {
  std::string list = llvm::join(scope.arguments(), ", "), device = "\"cuda\"";
  for (auto [name, entry] : llvm::reverse(llvm::zip_equal(scope.arguments(), kernel.getInterface())))
    if (isa<ViewArgumentAttr>(entry)) device = name + ".device";
  std::string values = scope.local("values"), variant = scope.local("variant"), config = scope.local("config");
  std::string constants = scope.local("constants"), grid = scope.local("grid"), arguments = scope.local("arguments");
  auto table = [&](StringRef field) { return variant + "[\"" + field.str() + "\"](**" + values + ", **" + constants + ")"; };
  auto optional = [&](StringRef field) { return table(field) + " if \"" + field.str() + "\" in " + variant + " else ():"; };
  out.line("def " + scope.launch().str() + "(" + list + (choosesRow ? ", row=None):" : ", row=0):"));
  TextStream::Indent indent(out);
  out.line(choosesRow
               ? "\"\"\"One launch on torch tensors: the variant that the extents choose, its `row` or the first meant for them.\"\"\""
               : "\"\"\"One launch on torch tensors with configuration `row` of the variant that the extents choose.\"\"\"");
  SmallVector<std::string> bindings;
  for (const std::string &name : scope.arguments())
    bindings.push_back(name + "=" + name);
  out.line(values + " = dict(" + llvm::join(bindings, ", ") + ") | symbols(" + list + ")");
  out.line(variant + " = next(v for v in VARIANTS if v[\"guard\"](**" + values + "))");
  if (choosesRow) {
    std::string where = scope.local("where");
    out.line("if row is None:");
    TextStream::Indent body(out);
    out.line(where + " = " + variant + ".get(\"where\", {})");
    out.line("row = next((r for r in range(len(" + variant + "[\"configs\"])) if r not in " + where + " or " + where + "[r](**" + values +
             ")), 0)");
  }
  out.line(config + " = " + variant + "[\"configs\"][row]");
  out.line(constants + " = " + config + ".kwargs | " + variant + "[\"coverage\"](**" + values + ")");
  out.line(grid + " = " + table("grid"));
  out.line(arguments + " = " + table("arguments"));
  bool spaced = false;
  kernel.walk([&](ProgramOp program) { spaced |= program.getWorkspacesAttr() && !program.getWorkspacesAttr().empty(); });
  if (spaced) {
    std::string dtype = scope.local("dtype"), shape = scope.local("shape"), zeroed = scope.local("zeroed"), make = scope.local("make");
    out.line("for " + dtype + ", " + shape + ", " + zeroed + " in " + optional("workspaces"));
    TextStream::Indent body(out);
    out.line(make + " = torch.zeros if " + zeroed + " else torch.empty");
    out.line(arguments + " += (" + make + "(" + shape + ", dtype=getattr(torch, " + dtype + "), device=" + device + "),)");
  }
  bool described = false;
  kernel.walk([&](ProgramOp program) { described |= program->hasAttr("triton.descriptors"); });
  if (described) {
    std::string view = scope.local("view"), block = scope.local("block");
    out.line("for " + view + ", " + block + " in " + optional("descriptors"));
    TextStream::Indent body(out);
    out.line(arguments + " += (TensorDescriptor.from_tensor(" + view + ", " + block + ") if " + constants +
             "[\"USE_TENSOR_DESCRIPTOR\"] else None,)");
  }
  out.line("if " + grid + ":");
  TextStream::Indent body(out);
  std::string index = scope.local("index");
  // A descriptor takes 32-bit offsets; pointers are safe with 64.
  out.line(index + " = " + (described ? "tl.int32 if " + constants + "[\"USE_TENSOR_DESCRIPTOR\"] else tl.int64" : "tl.int64"));
  out.line(variant + "[\"kernel\"][(" + grid + ",)](*" + arguments + ", **" + constants + ", INDEX=" + index + ", num_warps=" + config +
           ".num_warps,");
  out.line("                        num_stages=" + config + ".num_stages, num_ctas=" + config + ".num_ctas, **OPTIONS)");
}

std::string LaunchTable::run(ArrayRef<SmallVector<ExprAttr>> conditions) {
  auto target = kernel->getParentOfType<ModuleOp>()->getAttrOfType<TargetAttr>("block.target");
  bool amd = target && target.getArch().getValue().starts_with("gfx");
  symbols();
  out.blank();
  out.blank();
  // Multiply-add may fuse; subnormals stay.
  out.line(amd ? "OPTIONS = dict(enable_fp_fusion=True)" : "OPTIONS = dict(enable_fp_fusion=True, enable_reflect_ftz=False)");
  out.blank();
  out.line("VARIANTS = [");
  {
    TextStream::Indent indent(out);
    for (auto [program, bounds] : llvm::zip_equal(kernel.getBody().getOps<ProgramOp>(), conditions))
      variant(program, bounds);
  }
  out.line("]");
  out.blank();
  out.blank();
  launch();
  return out.take();
}

std::string launchText(KernelOp kernel, ModuleNames &names, ArrayRef<SmallVector<ExprAttr>> conditions, RowCondition rowCondition) {
  return LaunchTable(kernel, names, rowCondition).run(conditions);
}

} // namespace intent::triton
