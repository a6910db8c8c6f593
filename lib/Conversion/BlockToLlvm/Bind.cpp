// Binding a configuration: every parameter of a program becomes a number.
#include "intent/Conversion/BlockToLlvm/BlockToLlvm.h"

using namespace mlir;
using namespace intent::block;

// Arena offsets and loop bounds stay far below this, so no size computation overflows.
static constexpr int64_t maxFragmentElements = int64_t(1) << 28;

FailureOr<llvm::StringMap<int64_t>> intent::block::configurationRow(ProgramOp program, uint32_t row) {
  llvm::StringMap<int64_t> values;
  ConfigurationSetAttr set = program.getConfigurationsAttr();
  if (!set) {
    if (row) return program.emitOpError("has no configuration ") << row;
    return values;
  }
  if (row >= set.getRows().size()) return program.emitOpError("has ") << set.getRows().size() << " configurations, not row " << row;
  auto cells = cast<DenseI64ArrayAttr>(set.getRows()[row]).asArrayRef();
  for (auto [column, cell] : llvm::zip_equal(set.getColumns(), cells))
    values[cast<StringAttr>(column).getValue()] = cell;
  return values;
}

namespace {
class Binder {
public:
  Binder(const llvm::StringMap<int64_t> &values) : values(values) {}

  ExprAttr bind(ExprAttr expr) const {
    return expr.substitute([&](ExprAttr leaf) -> ExprAttr {
      if (leaf.getKind() != ExprKind::Parameter) return {};
      auto it = values.find(leaf.getSymbol().getValue());
      return it == values.end() ? ExprAttr() : ExprAttr::constant(expr.getContext(), it->second);
    });
  }

  LogicalResult bindType(Value value) const {
    auto fragment = dyn_cast<FragmentType>(value.getType());
    if (!fragment) return success();
    SmallVector<ExprAttr> extents;
    int64_t elements = 1;
    for (ExprAttr extent : fragment.getExtents()) {
      extents.push_back(bind(extent));
      std::optional<int64_t> constant = extents.back().getConstant();
      if (!constant) return emitError(value.getLoc()) << "fragment extent " << extents.back() << " has no value in this configuration";
      if (*constant <= 0) return emitError(value.getLoc()) << "fragment extent " << *constant << " is not positive";
      if (*constant > maxFragmentElements / elements)
        return emitError(value.getLoc()) << "fragment " << fragment << " is too large for this configuration";
      elements *= *constant;
    }
    value.setType(FragmentType::get(fragment.getContext(), fragment.getElement(), extents));
    return success();
  }

private:
  const llvm::StringMap<int64_t> &values;
};
} // namespace

LogicalResult intent::block::bindParameters(ProgramOp program, const llvm::StringMap<int64_t> &values) {
  Binder binder(values);
  SmallVector<ParamOp> params;
  WalkResult walked = program.walk([&](Operation *op) -> WalkResult {
    for (Region &region : op->getRegions())
      for (::mlir::Block &block : region)
        for (BlockArgument argument : block.getArguments())
          if (failed(binder.bindType(argument))) return WalkResult::interrupt();
    for (Value result : op->getResults())
      if (failed(binder.bindType(result))) return WalkResult::interrupt();
    if (auto group = dyn_cast<GroupOp>(op)) group.setSizeAttr(binder.bind(group.getSizeAttr()));
    if (auto param = dyn_cast<ParamOp>(op)) params.push_back(param);
    return WalkResult::advance();
  });
  if (walked.wasInterrupted()) return failure();
  if (ArrayAttr workspaces = program.getWorkspacesAttr()) {
    SmallVector<Attribute> bound;
    for (auto space : workspaces.getAsRange<WorkspaceAttr>()) {
      SmallVector<ExprAttr> shape;
      for (ExprAttr extent : space.getShape())
        shape.push_back(binder.bind(extent));
      bound.push_back(WorkspaceAttr::get(program.getContext(), space.getName(), space.getElement(), shape, space.getZeroed()));
    }
    program.setWorkspacesAttr(ArrayAttr::get(program.getContext(), bound));
  }
  for (ParamOp param : params) {
    std::optional<int64_t> value = binder.bind(param.getValue()).getConstant();
    if (!value) return param.emitOpError("has no value in this configuration");
    OpBuilder b(param);
    auto constant = ConstantOp::create(b, param.getLoc(), b.getIndexType(), b.getIndexAttr(*value));
    param.replaceAllUsesWith(constant.getResult());
    param.erase();
  }
  return success();
}
