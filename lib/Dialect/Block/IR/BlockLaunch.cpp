#include "BlockLaunch.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace intent;
using namespace intent::block;

// The launch symbols that an interface defines: bare extents and strides of views, the strides of every axis, integer scalars.
static llvm::StringSet<> launchSymbols(KernelOp kernel) {
  llvm::StringSet<> symbols;
  for (Attribute entry : kernel.getInterface()) {
    if (auto scalar = dyn_cast<ScalarArgumentAttr>(entry)) {
      if (isa<IntegerType, IndexType>(scalar.getElement())) symbols.insert("%" + scalar.getName().str());
      continue;
    }
    auto view = dyn_cast<ViewArgumentAttr>(entry);
    if (!view) continue;
    for (auto [axis, extent] : llvm::enumerate(view.getShape())) {
      if (extent.getKind() == ExprKind::Symbol) symbols.insert(extent.getSymbol().getValue());
      symbols.insert(view.getName().str() + ".stride." + std::to_string(axis));
    }
    if (!view.getStrides()) continue;
    for (Attribute stride : view.getStrides())
      if (auto symbol = dyn_cast<StringAttr>(stride)) symbols.insert(symbol.getValue());
  }
  return symbols;
}

static StringAttr firstParameter(ExprAttr expr) {
  StringAttr found;
  expr.walkExpr([&](ExprAttr e) {
    if (!found && e.getKind() == ExprKind::Parameter) found = e.getSymbol();
  });
  return found;
}

static StringAttr firstUnknown(ExprAttr expr, const llvm::StringSet<> &symbols) {
  StringAttr found;
  expr.walkExpr([&](ExprAttr e) {
    if (!found && e.getKind() == ExprKind::Symbol && !symbols.contains(e.getSymbol().getValue())) found = e.getSymbol();
  });
  return found;
}

LogicalResult intent::block::verifyInterfaceArithmetic(KernelOp kernel) {
  llvm::StringSet<> symbols = launchSymbols(kernel);
  auto check = [&](StringRef what, ExprAttr expr) -> LogicalResult {
    if (StringAttr parameter = firstParameter(expr))
      return kernel.emitOpError("C5: ") << what << " uses parameter " << parameter.getValue() << ", which no call knows: " << expr;
    if (StringAttr symbol = firstUnknown(expr, symbols))
      return kernel.emitOpError("C6: ") << what << " uses launch symbol " << symbol << ", which the interface does not define: " << expr;
    return success();
  };
  for (Attribute entry : kernel.getInterface())
    if (auto view = dyn_cast<ViewArgumentAttr>(entry))
      for (ExprAttr extent : view.getShape())
        if (failed(check("an extent of '" + view.getName().str() + "'", extent))) return failure();
  for (auto item : kernel.getChecks().getAsRange<CheckAttr>())
    if (failed(check("a check", item.getCondition()))) return failure();
  return success();
}

LogicalResult intent::block::verifyProgramArithmetic(ProgramOp program) {
  llvm::StringSet<> symbols = launchSymbols(cast<KernelOp>(program->getParentOp()));
  auto early = [&](StringRef what, ExprAttr expr) -> LogicalResult {
    if (StringAttr parameter = firstParameter(expr))
      return program.emitOpError("C12: ") << what << " uses parameter " << parameter.getValue() << ", which has no value yet: " << expr;
    return success();
  };
  auto known = [&](Operation *op, StringRef what, ExprAttr expr) -> LogicalResult {
    if (StringAttr symbol = firstUnknown(expr, symbols))
      return op->emitOpError("C13: ") << what << " uses launch symbol " << symbol << ", which the interface does not define: " << expr;
    return success();
  };
  auto earlyAndKnown = [&](StringRef what, ExprAttr expr) -> LogicalResult {
    return failed(early(what, expr)) ? failure() : known(program, what, expr);
  };
  if (ExprAttr guard = program.getGuardAttr(); guard && failed(earlyAndKnown("the guard", guard))) return failure();
  for (auto [i, value] : llvm::enumerate(program.getPrivates().getAsRange<ExprAttr>()))
    if (failed(known(program, "private argument " + std::to_string(i), value))) return failure();
  for (auto parameter : program.getParameters().getAsRange<ParameterAttr>())
    if (ExprAttr binding = parameter.getBinding())
      if (failed(earlyAndKnown("the binding of '" + parameter.getSymbol().str() + "'", binding))) return failure();
  if (ArrayAttr workspaces = program.getWorkspacesAttr())
    for (auto space : workspaces.getAsRange<WorkspaceAttr>())
      for (ExprAttr extent : space.getShape())
        if (failed(known(program, "an extent of workspace '" + space.getName().str() + "'", extent))) return failure();
  for (GroupOp group : program.getOps<GroupOp>())
    if (failed(known(group, "the size", group.getSize()))) return failure();
  return success();
}
