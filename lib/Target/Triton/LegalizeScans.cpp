// Triton 3.6 asserts on a scan down a tensor, over an axis that is not the last one, where the other axes have one element each
// (ScanOpToLLVM): there the scan is that of the one lane which they have. Where that depends on the row or the call, both forms
// stand in the program and a compile-time branch chooses.
//
//   %y = scan(%x) axis 0 : [BT, BN] -> %y = if BN == 1 { broadcast [0] scan(pick %x at 0 axis 1) axis 0 } else { scan(%x) axis 0 }
#include "Legalization.h"

using namespace mlir;
using namespace intent;
using namespace intent::block;

namespace intent::triton {

static SmallVector<ExprAttr> otherExtents(ScanOp op) {
  SmallVector<ExprAttr> others(extentsOf(op.getValues()[0].getType()));
  others.erase(others.begin() + op.getAxis());
  return others;
}

// Whether some row, at the least call that chooses extents, makes each of these one.
static bool mayBeUnits(ProgramOp program, ArrayRef<ExprAttr> extents) {
  ConfigurationSetAttr set = program.getConfigurationsAttr();
  auto areUnits = [&](ArrayRef<int64_t> row) {
    return llvm::all_of(extents, [&](ExprAttr extent) {
      return extent.evaluate([&](ExprAttr leaf) -> std::optional<int64_t> {
        if (leaf.getKind() != ExprKind::Parameter) return std::nullopt;
        ParameterAttr parameter = program.lookupParameter(leaf.getSymbol());
        if (!parameter) return std::nullopt;
        if (ExprAttr binding = parameter.getBinding()) return binding.evaluate([](ExprAttr) { return std::optional<int64_t>(1); });
        if (set)
          for (auto [column, value] : llvm::zip(set.getColumns().getAsRange<StringAttr>(), row))
            if (column == leaf.getSymbol()) return value;
        return parameter.getDomain().size() == 1 ? std::optional(parameter.getDomain()[0]) : std::nullopt;
      }) == 1;
    });
  };
  if (!set || set.getRows().empty()) return areUnits({});
  return llvm::any_of(set.getRows().getAsRange<DenseI64ArrayAttr>(), [&](DenseI64ArrayAttr row) { return areUnits(row.asArrayRef()); });
}

// The scan of the one lane of the other axes.
static SmallVector<Value> scanOneLane(OpBuilder &builder, ScanOp op) {
  Location location = op.getLoc();
  if (auto name = dyn_cast<NameLoc>(location)) location = name.getChildLoc();
  int64_t axis = op.getAxis();
  Value first = ConstantOp::create(builder, location, builder.getIndexType(), builder.getIndexAttr(0));
  SmallVector<Value> lanes;
  SmallVector<Type> types;
  for (Value value : op.getValues()) {
    SmallVector<ExprAttr> extents(extentsOf(value.getType()));
    for (int64_t other = extents.size() - 1; other >= 0; --other) {
      if (other == axis) continue;
      extents.erase(extents.begin() + other);
      auto type = FragmentType::get(builder.getContext(), elementType(value.getType()), extents);
      value = PickOp::create(builder, location, type, value, first, other);
    }
    lanes.push_back(value);
    types.push_back(value.getType());
  }
  auto scan = ScanOp::create(builder, location, types, lanes, op.getIdentities(), builder.getI64IntegerAttr(0), op.getReverseAttr());
  IRMapping mapping;
  op.getCombine().cloneInto(&scan.getCombine(), mapping);
  SmallVector<Value> results;
  for (auto [result, running] : llvm::zip_equal(op.getResults(), scan.getResults()))
    results.push_back(
        BroadcastOp::create(builder, location, cast<FragmentType>(result.getType()), running, builder.getDenseI64ArrayAttr({axis})));
  return results;
}

void separateUnitScans(ProgramOp program) {
  SmallVector<ScanOp> scans;
  program.walk([&](ScanOp op) {
    SmallVector<ExprAttr> others = otherExtents(op);
    if (op.getAxis() < others.size() && mayBeUnits(program, others)) scans.push_back(op);
  });
  for (ScanOp op : scans) {
    OpBuilder builder(op);
    Location location = op.getLoc();
    Value isUnit;
    for (ExprAttr extent : otherExtents(op)) {
      if (extent.getConstant()) continue;
      Value size = ParamOp::create(builder, location, builder.getIndexType(), extent);
      Value one = ConstantOp::create(builder, location, builder.getIndexType(), builder.getIndexAttr(1));
      Value own = CompareOp::create(builder, location, builder.getI1Type(), ComparePredicate::Eq, size, one);
      if (isUnit) own = BinaryOp::create(builder, location, builder.getI1Type(), BinaryKind::And, isUnit, own, false, false);
      isUnit = own;
    }
    if (!isUnit) {
      op->replaceAllUsesWith(scanOneLane(builder, op));
      op.erase();
      continue;
    }
    auto choice = scf::IfOp::create(builder, location, op->getResultTypes(), isUnit, /*withElseRegion=*/true);
    op->replaceAllUsesWith(choice.getResults());
    builder.setInsertionPointToStart(choice.thenBlock());
    scf::YieldOp::create(builder, location, scanOneLane(builder, op));
    builder.setInsertionPointToStart(choice.elseBlock());
    auto yield = scf::YieldOp::create(builder, location, op.getResults());
    op->moveBefore(yield);
  }
}

} // namespace intent::triton
