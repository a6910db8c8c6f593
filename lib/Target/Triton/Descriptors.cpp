// Accesses that a tensor descriptor can carry, as a compile-time branch of the program.
//
// A descriptor covers a rectangle of a view: every axis has consecutive lanes from a base, validity is the
// view's own extent, and a load fills with zero, which is what the hardware does outside the extents:
//
//   block.load %a[%m, %k] valid(%m < "M", %k < "K") fill 0    {triton.descriptor = "a_desc"}
//
// The program lists what the host makes: `triton.descriptors = [{name = "a_desc", view = 0, block = [BM, BK]}]`.
// USE_TENSOR_DESCRIPTOR chooses between the two forms when a row is compiled. A program where no access can
// use one loses that parameter; rows that then agree are one.
#include "IndexWidth.h"
#include "Legalization.h"
#include "intent/IR/Language.h"
#include "intent/Target/Triton/Triton.h"

using namespace mlir;
using namespace intent;
using namespace intent::block;

namespace intent::triton {

static constexpr StringLiteral parameterName = "USE_TENSOR_DESCRIPTOR";

static bool isConstant(Value value, int64_t wanted) {
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant) return false;
  if (auto real = dyn_cast<FloatAttr>(constant.getValue())) return wanted == 0 && real.getValue().isPosZero();
  return cast<IntegerAttr>(constant.getValue()).getValue().getSExtValue() == wanted;
}

// `lanes < extent`, the view's own extent of that axis.
static bool isOwnBound(Value valid, LanesOp lanes, ExprAttr extent, ProgramOp program) {
  auto compare = valid.getDefiningOp<CompareOp>();
  if (!compare || compare.getPredicate() != ComparePredicate::Lt || compare.getLhs() != lanes.getResult()) return false;
  auto bound = compare.getRhs().getDefiningOp<BroadcastOp>();
  if (!bound) return false;
  if (std::optional<int64_t> constant = extent.getConstant()) return isConstant(bound.getValue(), *constant);
  auto argument = dyn_cast<BlockArgument>(bound.getValue());
  unsigned publics = program.getNumPublicArguments();
  if (!argument || argument.getOwner()->getParentOp() != program.getOperation() || argument.getArgNumber() < publics) return false;
  return program.getPrivates()[argument.getArgNumber() - publics] == extent;
}

// The block of the descriptor that the access can use; nothing if it cannot.
static SmallVector<Attribute> descriptorBlock(Operation *op, Value view, ValueRange coordinates, ArrayAttr axes, ValueRange validity,
                                              ArrayAttr validAxes, Type value, ProgramOp program, IndexWidths &widths) {
  auto parameter = dyn_cast<BlockArgument>(view);
  if (!parameter || parameter.getOwner()->getParentOp() != program.getOperation()) return {};
  unsigned position = parameter.getArgNumber();
  if (position >= program.getNumPublicArguments()) return {}; // a workspace
  // Copies of a descriptor are not ordered with the accesses of threads, which a fence orders.
  bool reads = false, writes = false;
  for (Operation *user : view.getUsers()) {
    reads |= !isa<StoreOp>(user);
    writes |= !isa<LoadOp>(user);
  }
  if (reads && writes) return {};
  auto argument = cast<ViewArgumentAttr>(program.getInterfaceOf(position));
  size_t rank = coordinates.size();
  if (rank < 2 || rank > 5 || extentsOf(value).size() != rank || elementType(value).isInteger(1)) return {};
  SmallVector<Attribute> block;
  SmallVector<LanesOp> lanes;
  for (auto [i, coordinate] : llvm::enumerate(coordinates)) {
    auto own = coordinate.getDefiningOp<LanesOp>();
    auto axis = cast<ArrayAttr>(axes[i]);
    if (!own || axis.size() != 1 || cast<IntegerAttr>(axis[0]).getInt() != static_cast<int64_t>(i)) return {};
    if (!isConstant(own.getStep(), 1) || !widths.nonNegative(own.getBase()) || widths.kind(coordinate) == IndexKind::Wide) return {};
    lanes.push_back(own);
    block.push_back(own.getType().getExtents()[0]);
  }
  for (auto [i, valid] : llvm::enumerate(validity)) {
    auto axis = cast<ArrayAttr>(validAxes[i]);
    if (axis.size() != 1) return {};
    int64_t at = cast<IntegerAttr>(axis[0]).getInt();
    if (!isOwnBound(valid, lanes[at], argument.getShape()[at], program)) return {};
  }
  return block;
}

static void dropParameter(ProgramOp program) {
  MLIRContext *context = program.getContext();
  SmallVector<Attribute> parameters, columns, rows;
  for (auto parameter : program.getParameters().getAsRange<ParameterAttr>())
    if (parameter.getSymbol() != parameterName) parameters.push_back(parameter);
  program.setParametersAttr(ArrayAttr::get(context, parameters));
  ConfigurationSetAttr set = program.getConfigurationsAttr();
  if (!set) return;
  std::optional<size_t> dropped;
  for (auto [i, column] : llvm::enumerate(set.getColumns()))
    if (cast<StringAttr>(column).getValue() == parameterName) dropped = i;
    else columns.push_back(column);
  if (!dropped) return;
  for (Attribute row : set.getRows()) {
    SmallVector<int64_t> values(cast<DenseI64ArrayAttr>(row).asArrayRef());
    values.erase(values.begin() + *dropped);
    Attribute kept = DenseI64ArrayAttr::get(context, values);
    if (!llvm::is_contained(rows, kept)) rows.push_back(kept);
  }
  program.setConfigurationsAttr(ConfigurationSetAttr::get(context, ArrayAttr::get(context, columns), ArrayAttr::get(context, rows)));
}

// The block of a load or store that a descriptor can carry; nothing for other operations.
static SmallVector<Attribute> descriptorBlock(Operation *op, ProgramOp program, IndexWidths &widths) {
  if (auto load = dyn_cast<LoadOp>(op); load && isConstant(load.getFill(), 0))
    return descriptorBlock(op, load.getView(), load.getCoordinates(), load.getCoordinateAxes(), load.getValidity(), load.getValidAxes(),
                           load.getType(), program, widths);
  if (auto store = dyn_cast<StoreOp>(op))
    return descriptorBlock(op, store.getView(), store.getCoordinates(), store.getCoordinateAxes(), store.getValidity(),
                           store.getValidAxes(), store.getValue().getType(), program, widths);
  return {};
}

static Value viewOf(Operation *op) {
  auto load = dyn_cast<LoadOp>(op);
  return load ? load.getView() : cast<StoreOp>(op).getView();
}

bool hasDescriptorForm(ProgramOp program) {
  IndexWidths widths(program);
  return program
      .walk([&](Operation *op) { return descriptorBlock(op, program, widths).empty() ? WalkResult::advance() : WalkResult::interrupt(); })
      .wasInterrupted();
}

void chooseDescriptors(ProgramOp program) {
  if (!program.lookupParameter(parameterName)) return;
  MLIRContext *context = program.getContext();
  Builder b(context);
  SmallVector<Attribute> descriptors;
  IndexWidths widths(program);
  auto mark = [&](Operation *op, Value view, ArrayRef<Attribute> block) {
    unsigned position = cast<BlockArgument>(view).getArgNumber();
    StringRef viewName = cast<ViewArgumentAttr>(program.getInterfaceOf(position)).getName().getValue();
    unsigned same = 0;
    for (Attribute known : descriptors) {
      auto entry = cast<DictionaryAttr>(known);
      if (cast<IntegerAttr>(entry.get("view")).getInt() != position) continue;
      if (cast<ArrayAttr>(entry.get("block")).getValue() == block) return op->setAttr("triton.descriptor", entry.get("name"));
      ++same;
    }
    StringAttr name = b.getStringAttr(viewName + "_desc" + (same ? "_" + std::to_string(same) : std::string()));
    descriptors.push_back(b.getDictionaryAttr({b.getNamedAttr("name", name), b.getNamedAttr("view", b.getI64IntegerAttr(position)),
                                               b.getNamedAttr("block", b.getArrayAttr(block))}));
    op->setAttr("triton.descriptor", name);
  };
  program.walk([&](Operation *op) {
    if (SmallVector<Attribute> block = descriptorBlock(op, program, widths); !block.empty()) mark(op, viewOf(op), block);
  });
  if (descriptors.empty()) return dropParameter(program);
  program->setAttr("triton.descriptors", b.getArrayAttr(descriptors));
}

} // namespace intent::triton
