// The frame of a printed module, and the author's names beside it.
#include "ModuleNames.h"

using namespace mlir;
using namespace intent;
using namespace intent::block;
using namespace intent::emission;

namespace intent::triton {

static llvm::StringSet<> frameOf(KernelOp kernel) {
  llvm::StringSet<> names = pythonReservedNames();
  for (StringRef own : {"tl", "triton", "torch", "libdevice", "TensorDescriptor", "INDEX", "VARIANTS", "OPTIONS", "symbols", "launch",
                        "row", "next", "getattr"})
    names.insert(own);
  // Keywords of a launch, and what the binder that Triton makes for a kernel has beside the parameters.
  for (StringRef triton : {"num_warps", "num_stages", "num_ctas", "enable_fp_fusion", "enable_reflect_ftz", "debug", "instrumentation_mode",
                           "warmup", "options", "params", "specialization", "specialize_impl", "backend", "JITCallable"})
    names.insert(triton);
  for (auto program : kernel.getBody().getOps<ProgramOp>())
    for (auto parameter : program.getParameters().getAsRange<ParameterAttr>())
      names.insert(parameter.getSymbol().getValue());
  return names;
}

static StringRef authorsName(Attribute entry) {
  auto view = dyn_cast<ViewArgumentAttr>(entry);
  return view ? view.getName().getValue() : cast<ScalarArgumentAttr>(entry).getName().getValue();
}

ModuleNames::ModuleNames(KernelOp kernel) : interface(kernel.getInterface()), frame(frameOf(kernel)), names(frame) {
  for (Attribute entry : interface) {
    positions[authorsName(entry)] = own.size();
    own.push_back(names.declare(authorsName(entry)));
  }
  for (Attribute entry : interface)
    if (auto view = dyn_cast<ViewArgumentAttr>(entry))
      for (ExprAttr extent : view.getShape())
        extent.walkExpr([&](ExprAttr leaf) {
          StringRef symbol = leaf.getKind() == ExprKind::Symbol ? leaf.getSymbol().getValue() : "%";
          if (symbol.starts_with("%") || symbols.contains(symbol)) return;
          bool shared = llvm::is_contained(own, identifierFrom(symbol));
          symbols[symbol] = names.declare(shared ? symbol.str() + "_extent" : symbol.str());
        });
  // Functions of the module share names with no argument's scope.
  NameScope functions(frame);
  SmallVector<ProgramOp> all(kernel.getBody().getOps<ProgramOp>());
  for (ProgramOp op : all)
    programs[op] = functions.declare((kernel.getSymName() + "_" + (all.size() == 1 ? "kernel" : op.getSymName())).str());
  launchName = functions.declare(kernel.getSymName());
}

std::string ModuleNames::symbol(ExprAttr expr) const {
  StringRef symbol = expr.getSymbol().getValue();
  if (expr.getKind() == ExprKind::Parameter) return symbol.str();
  if (auto known = symbols.find(symbol); known != symbols.end()) return known->second;
  if (symbol.consume_front("%"))
    if (auto known = positions.find(symbol); known != positions.end()) return own[known->second];
  auto [name, rest] = symbol.split(".stride.");
  auto position = positions.find(name);
  auto view = position == positions.end() ? ViewArgumentAttr() : dyn_cast<ViewArgumentAttr>(interface[position->second]);
  unsigned axis;
  if (view && !rest.getAsInteger(10, axis)) {
    ExprAttr extent = view.getShape()[axis];
    bool named = extent.getKind() == ExprKind::Symbol && llvm::count(view.getShape(), extent) == 1;
    return identifierFrom((name + "_stride_" + (named ? extent.getSymbol().getValue().lower() : std::to_string(axis))).str());
  }
  return identifierFrom(symbol);
}

} // namespace intent::triton
