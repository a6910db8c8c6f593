// Checks that the op definitions cannot state. One label a constraint; each has a negative test.
#include "BlockLaunch.h"
#include "intent/IR/Verify.h"

#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace intent;
using namespace intent::block;

//===- program structure -------------------------------------------------------------------------------===//

// The interface is checked before the programs, which rely on it.
LogicalResult KernelOp::verify() {
  llvm::StringSet<> names;
  for (Attribute entry : getInterface()) {
    StringAttr name;
    if (auto view = dyn_cast<ViewArgumentAttr>(entry)) name = view.getName();
    else if (auto scalar = dyn_cast<ScalarArgumentAttr>(entry)) name = scalar.getName();
    else return emitOpError("C1: interface entry is neither a view_argument nor a scalar_argument: ") << entry;
    if (name.empty() || !names.insert(name).second)
      return emitOpError("C2: interface name '") << name.getValue() << "' is empty or repeated";
  }
  return verifyInterfaceArithmetic(*this);
}

LogicalResult KernelOp::verifyRegions() {
  unsigned programs = 0;
  for (Operation &op : getBody().front()) {
    if (!isa<ProgramOp>(op)) return op.emitOpError("C3: only programs stand in a kernel");
    ++programs;
  }
  if (programs == 0 || programs > 3) return emitOpError("C4: expected one to three variants, got ") << programs;
  return success();
}

static LogicalResult verifyConfigurations(ProgramOp program, const llvm::StringSet<> &declared) {
  ConfigurationSetAttr set = program.getConfigurationsAttr();
  if (!set) return success();
  for (Attribute column : set.getColumns())
    if (!isa<StringAttr>(column) || !declared.contains(cast<StringAttr>(column).getValue()))
      return program.emitOpError("C6: configuration column ") << column << " is no declared parameter";
  for (Attribute row : set.getRows()) {
    auto values = dyn_cast<DenseI64ArrayAttr>(row);
    if (!values || values.size() != static_cast<int64_t>(set.getColumns().size()))
      return program.emitOpError("C7: expected ") << set.getColumns().size() << " values in a configuration row, got " << row;
    for (auto [column, value] : llvm::zip_equal(set.getColumns(), values.asArrayRef())) {
      ParameterAttr parameter = program.lookupParameter(cast<StringAttr>(column).getValue());
      if (!parameter.getDomain().empty() && !llvm::is_contained(parameter.getDomain(), value))
        return program.emitOpError("C8: ") << column << " = " << value << " lies outside its domain";
    }
  }
  return success();
}

LogicalResult ProgramOp::verify() { return verifyProgramArithmetic(*this); }

LogicalResult ProgramOp::verifyRegions() {
  auto kernel = cast<KernelOp>((*this)->getParentOp());
  ArrayAttr workspaces = getWorkspacesAttr();
  size_t publics = kernel.getInterface().size(), spaces = workspaces ? workspaces.size() : 0;
  size_t expected = publics + getPrivates().size() + spaces;
  if (getBody().getNumArguments() != expected)
    return emitOpError("C1: expected ") << expected << " arguments, got " << getBody().getNumArguments();
  for (auto [i, argument] : llvm::enumerate(getBody().getArguments())) {
    Type type;
    if (i >= publics + getPrivates().size()) {
      auto space = cast<WorkspaceAttr>(workspaces[i - publics - getPrivates().size()]);
      if (!isScalarType(space.getElement()))
        return emitOpError("C11: workspace '") << space.getName().getValue() << "' has no element type of the language";
      type = ViewType::get(getContext(), space.getElement(), space.getShape().size());
    } else if (i >= publics) type = IndexType::get(getContext());
    else if (auto view = dyn_cast<ViewArgumentAttr>(kernel.getInterface()[i]))
      type = ViewType::get(getContext(), view.getElement(), view.getShape().size());
    else type = cast<ScalarArgumentAttr>(kernel.getInterface()[i]).getElement();
    if (argument.getType() != type) return emitOpError("C2: argument ") << i << " has type " << argument.getType() << ", expected " << type;
  }
  llvm::StringSet<> declared;
  for (auto parameter : getParameters().getAsRange<ParameterAttr>()) {
    if (!declared.insert(parameter.getSymbol().getValue()).second)
      return emitOpError("C3: parameter '") << parameter.getSymbol().getValue() << "' is declared twice";
    if (!llvm::is_sorted(parameter.getDomain()))
      return emitOpError("C4: the domain of '") << parameter.getSymbol().getValue() << "' is not ascending";
    if ((parameter.getRole() == Role::Coverage) != static_cast<bool>(parameter.getBinding()))
      return emitOpError("C5: a coverage parameter, and only that, has a launch binding: '") << parameter.getSymbol().getValue() << "'";
  }
  if (failed(verifyConfigurations(*this, declared))) return failure();
  auto checkParameters = [&](Operation *op, ExprAttr expr) -> LogicalResult {
    StringAttr unknown;
    expr.walkExpr([&](ExprAttr e) {
      if (e.getKind() == ExprKind::Parameter && !declared.contains(e.getSymbol().getValue())) unknown = e.getSymbol();
    });
    if (unknown) return op->emitOpError("C9: parameter '") << unknown.getValue() << "' is not declared by the program";
    return success();
  };
  for (auto value : getPrivates().getAsRange<ExprAttr>())
    if (failed(checkParameters(*this, value))) return failure();
  if (workspaces)
    for (auto space : workspaces.getAsRange<WorkspaceAttr>())
      for (ExprAttr extent : space.getShape())
        if (failed(checkParameters(*this, extent))) return failure();
  WalkResult walked = walk([&](Operation *op) -> WalkResult {
    if (!isa_and_nonnull<BlockDialect, scf::SCFDialect>(op->getDialect())) {
      op->emitOpError("C13: only operations of the block and scf dialects stand in a program");
      return WalkResult::interrupt();
    }
    auto values = llvm::to_vector(op->getResultTypes());
    for (Region &region : op->getRegions())
      for (::mlir::Block &block : region)
        llvm::append_range(values, block.getArgumentTypes());
    for (Type type : values)
      for (ExprAttr extent : extentsOf(type))
        if (failed(checkParameters(op, extent))) return WalkResult::interrupt();
    if (auto param = dyn_cast<ParamOp>(op); param && failed(checkParameters(op, param.getValue()))) return WalkResult::interrupt();
    if (auto group = dyn_cast<GroupOp>(op); group && failed(checkParameters(op, group.getSize()))) return WalkResult::interrupt();
    return WalkResult::advance();
  });
  if (walked.wasInterrupted()) return failure();
  for (Operation &op : getBody().front())
    if (!isa<GroupOp, ConstantOp>(op)) return op.emitOpError("C10: only constants and groups stand in a program");
  return success();
}

LogicalResult GroupOp::verifyRegions() {
  if (getBody().getNumArguments() != 1 || !getBody().getArgument(0).getType().isIndex())
    return emitOpError("C1: expected one index argument");
  return success();
}

//===- coordinates and accesses ------------------------------------------------------------------------===//

LogicalResult LanesOp::verify() {
  if (!getResult().getType().getElement().isIndex() || getResult().getType().getExtents().size() != 1)
    return emitOpError("C1: expected a rank-one fragment of index");
  return success();
}

// Operand `i` lies on result axes `axes[i]`.
static LogicalResult verifyAligned(Operation *op, StringRef what, ValueRange operands, ArrayAttr axes, Type result, Type element) {
  if (axes.size() != operands.size()) return op->emitOpError("C1: expected one axis list per ") << what;
  ArrayRef<ExprAttr> extents = extentsOf(result);
  for (auto [i, operand] : llvm::enumerate(operands)) {
    if (elementType(operand.getType()) != element) return op->emitOpError("C2: ") << what << " " << i << " is not of " << element;
    SmallVector<int64_t> list;
    if (auto array = dyn_cast<ArrayAttr>(axes[i])) {
      for (Attribute a : array) {
        auto integer = dyn_cast<IntegerAttr>(a);
        if (!integer) return op->emitOpError("C3: axis lists hold integers");
        list.push_back(integer.getInt());
      }
    } else return op->emitOpError("C3: axis lists hold integers");
    ArrayRef<ExprAttr> own = extentsOf(operand.getType());
    if (own.size() != list.size())
      return op->emitOpError("C4: ") << what << " " << i << " has rank " << own.size() << " and " << list.size() << " axes";
    int64_t previous = -1;
    for (auto [extent, axis] : llvm::zip_equal(own, list)) {
      if (axis <= previous || axis >= static_cast<int64_t>(extents.size()) || extents[axis] != extent)
        return op->emitOpError("C5: ") << what << " " << i << " does not lie on result axis " << axis;
      previous = axis;
    }
  }
  return success();
}

static LogicalResult verifyAccess(Operation *op, ViewType view, ValueRange coordinates, ValueRange validity, ArrayAttr coordinateAxes,
                                  ArrayAttr validAxes, Type value) {
  MLIRContext *context = op->getContext();
  if (static_cast<int64_t>(coordinates.size()) != view.getRank())
    return op->emitOpError("C6: expected ") << view.getRank() << " coordinates, got " << coordinates.size();
  if (elementType(value) != view.getElement())
    return op->emitOpError("C7: value ") << value << " does not have the view's element " << view.getElement();
  if (failed(verifyAligned(op, "coordinate", coordinates, coordinateAxes, value, IndexType::get(context)))) return failure();
  return verifyAligned(op, "validity", validity, validAxes, value, IntegerType::get(context, 1));
}

LogicalResult LoadOp::verify() {
  if (getFill().getType() != getView().getType().getElement()) return emitOpError("C8: fill has type ") << getFill().getType();
  return verifyAccess(*this, getView().getType(), getCoordinates(), getValidity(), getCoordinateAxes(), getValidAxes(),
                      getResult().getType());
}
LogicalResult StoreOp::verify() {
  return verifyAccess(*this, getView().getType(), getCoordinates(), getValidity(), getCoordinateAxes(), getValidAxes(),
                      getValue().getType());
}

LogicalResult RequireOp::verify() {
  if (!elementType(getValue().getType()).isIndex()) return emitOpError("C8: value has type ") << getValue().getType();
  return verifyAligned(*this, "validity", getValidity(), getValidAxes(), getValue().getType(), IntegerType::get(getContext(), 1));
}

LogicalResult ScatterReduceOp::verify() {
  Type element = elementType(getValue().getType());
  ::mlir::Block &body = getCombine().front();
  if (body.getNumArguments() != 2 || body.getArgument(0).getType() != element || body.getArgument(1).getType() != element)
    return emitOpError("C8: combine takes two scalars of the value's element type");
  if (body.getTerminator()->getNumOperands() != 1 || body.getTerminator()->getOperand(0).getType() != element)
    return emitOpError("C9: combine yields one scalar of the value's element type");
  return verifyAccess(*this, getView().getType(), getCoordinates(), getValidity(), getCoordinateAxes(), getValidAxes(),
                      getValue().getType());
}
LogicalResult AtomicOp::verify() {
  if (getOld().getType() != getValue().getType()) return emitOpError("C8: value and result differ in type");
  if (!isDefinedOn(getKind(), getView().getType().getElement()))
    return emitOpError("C9: an atomic ") << stringifyAtomicKind(getKind()) << " does not take "
                                         << dtypeName(getView().getType().getElement());
  return verifyAccess(*this, getView().getType(), getCoordinates(), getValidity(), getCoordinateAxes(), getValidAxes(),
                      getValue().getType());
}
LogicalResult CompareExchangeOp::verify() {
  return verifyAccess(*this, getView().getType(), getCoordinates(), getValidity(), getCoordinateAxes(), getValidAxes(),
                      getExpected().getType());
}

//===- values ------------------------------------------------------------------------------------------===//

LogicalResult ConstantOp::verify() {
  if (!isa<IntegerAttr, FloatAttr>(getValue())) return emitOpError("C2: expected an integer or float, got ") << getValue();
  if (getValue().getType() != getResult().getType())
    return emitOpError("C1: value has type ") << getValue().getType() << ", result " << getResult().getType();
  return success();
}

LogicalResult UnaryOp::verify() {
  return verifyFunction(*this, getKind(), elementType(getValue().getType()), getApproximate(), getFlushToZero());
}

LogicalResult BinaryOp::verify() {
  return verifyFunction(*this, getKind(), elementType(getLhs().getType()), getApproximate(), getFlushToZero());
}

LogicalResult FmaOp::verify() {
  Type element = elementType(getA().getType());
  if (!isa<FloatType>(element)) return emitOpError("C1: fma does not take ") << dtypeName(element);
  return success();
}

LogicalResult CompareOp::verify() {
  Type expected = withElement(getLhs().getType(), IntegerType::get(getContext(), 1));
  if (getResult().getType() != expected) return emitOpError("C1: expected a result of type ") << expected;
  return success();
}

LogicalResult SelectOp::verify() {
  Type condition = getCondition().getType();
  if (!elementType(condition).isInteger(1)) return emitOpError("C1: expected a bool condition, got ") << condition;
  if (isa<FragmentType>(condition) && extentsOf(condition) != extentsOf(getResult().getType()))
    return emitOpError("C2: condition and result differ in extents");
  return success();
}

LogicalResult CastOp::verify() {
  if (extentsOf(getValue().getType()) != extentsOf(getResult().getType())) return emitOpError("C1: operand and result differ in extents");
  return success();
}
LogicalResult BitcastOp::verify() {
  if (extentsOf(getValue().getType()) != extentsOf(getResult().getType())) return emitOpError("C1: operand and result differ in extents");
  if (storageBytes(elementType(getValue().getType())) != storageBytes(elementType(getResult().getType())))
    return emitOpError("C2: element widths differ");
  return success();
}

LogicalResult BroadcastOp::verify() {
  ArrayRef<ExprAttr> from = extentsOf(getValue().getType()), to = getResult().getType().getExtents();
  if (elementType(getValue().getType()) != getResult().getType().getElement()) return emitOpError("C1: element types differ");
  if (getAxes().size() != from.size()) return emitOpError("C2: expected ") << from.size() << " axes, got " << getAxes().size();
  int64_t previous = -1;
  for (auto [extent, axis] : llvm::zip_equal(from, getAxes())) {
    if (axis <= previous || axis >= static_cast<int64_t>(to.size()) || to[axis] != extent)
      return emitOpError("C3: operand axis does not lie on result axis ") << axis;
    previous = axis;
  }
  return success();
}

LogicalResult TransposeOp::verify() {
  ArrayRef<ExprAttr> from = getValue().getType().getExtents(), to = getResult().getType().getExtents();
  llvm::SmallBitVector seen(from.size());
  if (getPermutation().size() != from.size() || to.size() != from.size())
    return emitOpError("C1: expected a permutation of ") << from.size() << " axes";
  for (auto [i, axis] : llvm::enumerate(getPermutation())) {
    if (axis < 0 || axis >= static_cast<int64_t>(from.size()) || seen[axis] || to[i] != from[axis])
      return emitOpError("C1: expected a permutation of ") << from.size() << " axes";
    seen.set(axis);
  }
  return success();
}

//===- structured operations ---------------------------------------------------------------------------===//

// Fragments of one shape, and a region that combines their elements. `results` is the extents of each result.
static LogicalResult verifyCombining(Operation *op, ValueRange values, ValueRange identities, Region &combine, ArrayRef<ExprAttr> results) {
  size_t count = values.size();
  ArrayRef<ExprAttr> full = extentsOf(values[0].getType());
  ::mlir::Block &body = combine.front();
  if (body.getNumArguments() != 2 * count)
    return op->emitOpError("C3: combine takes ") << 2 * count << " scalars, got " << body.getNumArguments();
  for (size_t i = 0; i < count; ++i) {
    Type element = elementType(values[i].getType());
    if (extentsOf(values[i].getType()) != full) return op->emitOpError("C4: operands differ in extents");
    if (identities[i].getType() != element) return op->emitOpError("C5: identity ") << i << " has type " << identities[i].getType();
    if (op->getResult(i).getType() != fragmentOrScalar(element, results))
      return op->emitOpError("C6: result ") << i << " has type " << op->getResult(i).getType();
    if (body.getArgument(i).getType() != element || body.getArgument(count + i).getType() != element)
      return op->emitOpError("C3: combine arguments have the wrong types");
  }
  if (body.getTerminator()->getOperandTypes() != identities.getTypes())
    return op->emitOpError("C7: combine yields other types than the identities'");
  return success();
}

LogicalResult ReduceOp::verify() {
  size_t count = getValues().size();
  if (!count || getIdentities().size() != count || getResults().size() != count)
    return emitOpError("C1: expected as many identities and results as operands, at least one");
  SmallVector<ExprAttr> kept(extentsOf(getValues()[0].getType()));
  if (getAxis() >= kept.size()) return emitOpError("C2: axis ") << getAxis() << " is outside rank " << kept.size();
  kept.erase(kept.begin() + getAxis());
  return verifyCombining(*this, getValues(), getIdentities(), getCombine(), kept);
}

LogicalResult ScanOp::verify() {
  size_t count = getValues().size();
  if (!count || getIdentities().size() != count || getResults().size() != count)
    return emitOpError("C1: expected as many identities and results as operands, at least one");
  ArrayRef<ExprAttr> extents = extentsOf(getValues()[0].getType());
  if (getAxis() >= extents.size()) return emitOpError("C2: axis ") << getAxis() << " is outside rank " << extents.size();
  return verifyCombining(*this, getValues(), getIdentities(), getCombine(), extents);
}

LogicalResult PickOp::verify() {
  SmallVector<ExprAttr> kept(getValue().getType().getExtents());
  if (getAxis() >= kept.size()) return emitOpError("C1: axis ") << getAxis() << " is outside rank " << kept.size();
  kept.erase(kept.begin() + getAxis());
  Type expected = fragmentOrScalar(getValue().getType().getElement(), kept);
  if (getResult().getType() != expected) return emitOpError("C2: expected a result of type ") << expected;
  return success();
}

LogicalResult ContractOp::verify() {
  ArrayRef<ExprAttr> a = extentsOf(getLhs().getType()), b = extentsOf(getRhs().getType()), c = extentsOf(getResult().getType());
  size_t rank = a.size();
  if ((rank != 2 && rank != 3) || b.size() != rank || c.size() != rank)
    return emitOpError("C1: operands and accumulator have rank 2, or all rank 3");
  bool batch = rank == 2 || (a[0] == b[0] && a[0] == c[0]);
  if (!batch || a[rank - 2] != c[rank - 2] || a[rank - 1] != b[rank - 2] || b[rank - 1] != c[rank - 1])
    return emitOpError("C2: extents do not match [(B,) M, K] x [(B,) K, N] -> [(B,) M, N]");
  if (elementType(getLhs().getType()) != elementType(getRhs().getType())) return emitOpError("C3: operands differ in element type");
  return success();
}
