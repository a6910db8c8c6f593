// Checks that the op definitions cannot state. One label a constraint; each has a negative test.
#include "intent/Dialect/Kir/IR/Kir.h"

#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace intent;
using namespace intent::kir;

static bool isFloat(Type element) { return isa<FloatType>(element); }

//===- kernel ------------------------------------------------------------------------------------------===//

namespace {
// Which atoms extents may name: those of the parameters everywhere, that of a kir.symbol in the rest of its region.
class AtomScopes {
public:
  void define(StringRef atom) {
    visible.insert(atom);
    everDefined.insert(atom);
  }

  LogicalResult verify(Region &region) {
    SmallVector<StringRef> local;
    for (Operation &op : region.getOps()) {
      if (auto symbol = dyn_cast<SymbolOp>(op)) {
        if (everDefined.contains(symbol.getName())) return symbol.emitOpError("C1: '") << symbol.getName() << "' is already an atom";
        define(symbol.getName());
        local.push_back(symbol.getName());
      }
      if (failed(verifyExtents(op))) return failure();
      for (Region &nested : op.getRegions())
        if (failed(verify(nested))) return failure();
    }
    for (StringRef atom : local)
      visible.erase(atom);
    return success();
  }

private:
  LogicalResult verifyExtents(Operation &op) {
    SmallVector<ExtentAttr> extents;
    for (Type type : op.getResultTypes()) {
      llvm::append_range(extents, shapeOf(type));
      if (auto domain = dyn_cast<DomainType>(type)) extents.push_back(domain.getExtent());
    }
    if (auto extent = dyn_cast<ExtentOp>(op)) extents.push_back(extent.getExtent());
    if (auto check = dyn_cast<CheckExtentOp>(op)) llvm::append_range(extents, ArrayRef({check.getLhs(), check.getRhs()}));
    for (ExtentAttr extent : extents)
      for (StringAttr atom : extent.getAtoms())
        if (!visible.contains(atom.getValue()))
          return op.emitOpError("C5: extent uses '") << atom.getValue() << "', which nothing before it defines";
    return success();
  }

  llvm::StringSet<> visible, everDefined;
};
} // namespace

LogicalResult KernelOp::verifyRegions() {
  if (!isa<ReturnOp>(getBody().front().getTerminator())) return emitOpError("C1: a kernel ends in kir.return");
  if (getFunctionType().getNumResults()) return emitOpError("C2: a kernel has no results");
  AtomScopes atoms;
  llvm::StringSet<> names;
  for (unsigned i = 0, e = getNumArguments(); i < e; ++i) {
    Type type = getArgumentTypes()[i];
    if (!isa<ViewType>(type) && !isScalarType(type))
      return emitOpError("C3: parameter ") << i << " is neither a view nor a scalar: " << type;
    StringRef name = getParameterName(i);
    if (name.empty()) return emitOpError("C4: parameter ") << i << " has no kir.name";
    if (!names.insert(name).second) return emitOpError("C4: two parameters are named '") << name << "'";
    if (isa<IntegerType, IndexType>(type)) atoms.define(("%" + name).str());
    for (ExtentAttr extent : shapeOf(type))
      for (StringAttr atom : extent.getAtoms())
        atoms.define(atom.getValue());
  }
  return atoms.verify(getBody());
}

LogicalResult IndicesOp::verify() {
  KirTensorType type = getResult().getType();
  if (!type.getElement().isIndex() || type.getShape().size() != 1 || type.getShape()[0] != getDomain().getType().getExtent())
    return emitOpError("C1: expected an index tensor of the domain's extent, got ") << type;
  return success();
}

//===- accesses ----------------------------------------------------------------------------------------===//

static LogicalResult verifyIndexing(Operation *op, Type source, ValueRange indices, Type value) {
  for (auto [i, index] : llvm::enumerate(indices))
    if (!isa<DomainType>(index.getType()) && !isa<IntegerType, IndexType>(elementType(index.getType())))
      return op->emitOpError("C1: index ") << i << " is not an integer: " << index.getType();
  size_t rank = shapeOf(source).size();
  FailureOr<SmallVector<ExtentAttr>> shape = indexedShape(rank, indices);
  if (failed(shape)) return op->emitOpError("C2: expected ") << rank << " indices whose tensors have one shape, got " << indices.size();
  bool scalar = llvm::all_of(indices, [](Value v) { return isScalarType(v.getType()); });
  Type element = elementType(source);
  Type expected = scalar && !isa<KirTensorType>(value) ? element : KirTensorType::get(op->getContext(), element, *shape);
  if (value != expected) return op->emitOpError("C3: expected a value of type ") << expected << ", got " << value;
  return success();
}

LogicalResult ReadOp::verify() { return verifyIndexing(*this, getView().getType(), getIndices(), getResult().getType()); }
LogicalResult ExtractOp::verify() { return verifyIndexing(*this, getSource().getType(), getIndices(), getResult().getType()); }
LogicalResult WriteOp::verify() {
  if (getView().getType().getAccess() == Access::In) return emitOpError("C4: writes an input view");
  return verifyIndexing(*this, getView().getType(), getIndices(), getValue().getType());
}

//===- values ------------------------------------------------------------------------------------------===//

LogicalResult ConstantOp::verify() {
  if (getValue().getType() != getResult().getType())
    return emitOpError("C1: value has type ") << getValue().getType() << ", result " << getResult().getType();
  return success();
}
OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult UnaryOp::verify() {
  Type element = elementType(getValue().getType());
  bool any = llvm::is_contained({UnaryKind::Neg, UnaryKind::Abs}, getKind());
  if (getKind() == UnaryKind::Not ? isFloat(element) : (!any && !isFloat(element)))
    return emitOpError("C1: ") << stringifyUnaryKind(getKind()) << " does not take " << dtypeName(element);
  if (getFlushToZero() && !getApproximate()) return emitOpError("C2: ftz needs approximate");
  if (getApproximate() && (!element.isF32() || !llvm::is_contained({UnaryKind::Exp2, UnaryKind::Tanh}, getKind())))
    return emitOpError("C3: only f32 exp2 and tanh may be approximate");
  return success();
}

LogicalResult BinaryOp::verify() {
  Type element = elementType(getLhs().getType());
  bool floatOnly = llvm::is_contained({BinaryKind::Div, BinaryKind::Pow}, getKind());
  bool bitwise = llvm::is_contained({BinaryKind::And, BinaryKind::Or, BinaryKind::Xor, BinaryKind::Shl, BinaryKind::Shr}, getKind());
  if ((floatOnly && !isFloat(element)) || (bitwise && isFloat(element)))
    return emitOpError("C1: ") << stringifyBinaryKind(getKind()) << " does not take " << dtypeName(element);
  if (getFlushToZero() && !getApproximate()) return emitOpError("C2: ftz needs approximate");
  if (getApproximate() && (!element.isF32() || getKind() != BinaryKind::Div)) return emitOpError("C3: only f32 div may be approximate");
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
  Type result = getResult().getType();
  if (isa<KirTensorType>(condition) && (!isa<KirTensorType>(result) || shapeOf(condition) != shapeOf(result)))
    return emitOpError("C2: condition ") << condition << " and result " << result << " differ in shape";
  return success();
}

static LogicalResult verifySameShape(Operation *op, Type from, Type to) {
  if (isa<KirTensorType>(from) != isa<KirTensorType>(to) || shapeOf(from) != shapeOf(to))
    return op->emitOpError("C1: operand ") << from << " and result " << to << " differ in shape";
  return success();
}
LogicalResult CastOp::verify() { return verifySameShape(*this, getValue().getType(), getResult().getType()); }
LogicalResult BitcastOp::verify() {
  if (failed(verifySameShape(*this, getValue().getType(), getResult().getType()))) return failure();
  if (storageBytes(elementType(getValue().getType())) != storageBytes(elementType(getResult().getType())))
    return emitOpError("C2: element widths differ");
  return success();
}

LogicalResult BroadcastOp::verify() {
  ArrayRef<ExtentAttr> from = shapeOf(getValue().getType()), to = getResult().getType().getShape();
  if (elementType(getValue().getType()) != getResult().getType().getElement()) return emitOpError("C1: element types differ");
  if (getAxes().size() != from.size()) return emitOpError("C2: expected ") << from.size() << " axes, got " << getAxes().size();
  int64_t previous = -1;
  for (auto [i, axis] : llvm::enumerate(getAxes())) {
    if (axis <= previous || axis >= static_cast<int64_t>(to.size()))
      return emitOpError("C3: axes are not ascending within the result's rank");
    previous = axis;
    if (from[i] != to[axis] && from[i].getConstant() != 1)
      return emitOpError("C4: operand axis ") << i << " has neither the extent of result axis " << axis << " nor 1";
  }
  return success();
}

LogicalResult ReshapeOp::verify() {
  if (getValue().getType().getElement() != getResult().getType().getElement()) return emitOpError("C1: element types differ");
  auto count = [&](ArrayRef<ExtentAttr> shape) {
    ExtentAttr product = ExtentAttr::constant(getContext(), 1);
    for (ExtentAttr extent : shape)
      product = product * extent;
    return product;
  };
  ExtentAttr from = count(getValue().getType().getShape()), to = count(getResult().getType().getShape());
  if ((from - to).getConstant().value_or(0) != 0)
    return emitOpError("C2: expected as many elements as the operand has: ") << from << ", got " << to;
  return success();
}

LogicalResult TransposeOp::verify() {
  ArrayRef<ExtentAttr> from = getValue().getType().getShape(), to = getResult().getType().getShape();
  ArrayRef<int64_t> permutation = getPermutation();
  llvm::SmallBitVector seen(from.size());
  if (permutation.size() != from.size() || to.size() != from.size())
    return emitOpError("C1: expected a permutation of ") << from.size() << " axes";
  for (auto [i, axis] : llvm::enumerate(permutation)) {
    if (axis < 0 || axis >= static_cast<int64_t>(from.size()) || seen[axis])
      return emitOpError("C1: expected a permutation of ") << from.size() << " axes";
    seen.set(axis);
    if (to[i] != from[axis]) return emitOpError("C2: result axis ") << i << " does not have the extent of operand axis " << axis;
  }
  return success();
}

LogicalResult JoinOp::verify() {
  SmallVector<ExtentAttr> shape(shapeOf(getLhs().getType()));
  shape.push_back(ExtentAttr::constant(getContext(), 2));
  Type expected = KirTensorType::get(getContext(), elementType(getLhs().getType()), shape);
  if (getResult().getType() != expected) return emitOpError("C1: expected a result of type ") << expected;
  return success();
}

//===- structured operations ---------------------------------------------------------------------------===//

LogicalResult ReduceOp::verify() {
  size_t count = getValues().size();
  if (!count || getIdentities().size() != count || getResults().size() != count)
    return emitOpError("C1: expected as many identities and results as operands, at least one");
  auto first = cast<KirTensorType>(getValues()[0].getType());
  llvm::SmallBitVector reduced(first.getShape().size());
  for (int64_t axis : getAxes()) {
    if (axis < 0 || axis >= static_cast<int64_t>(reduced.size()) || reduced[axis])
      return emitOpError("C2: axis ") << axis << " is repeated or outside rank " << reduced.size();
    reduced.set(axis);
  }
  SmallVector<ExtentAttr> kept;
  for (auto [i, extent] : llvm::enumerate(first.getShape()))
    if (!reduced[i]) kept.push_back(extent);
  for (size_t i = 0; i < count; ++i) {
    auto type = cast<KirTensorType>(getValues()[i].getType());
    if (type.getShape() != first.getShape()) return emitOpError("C3: operands differ in shape");
    if (getIdentities()[i].getType() != type.getElement())
      return emitOpError("C4: identity ") << i << " has type " << getIdentities()[i].getType();
    Type result = getResults()[i].getType();
    Type expected =
        kept.empty() && !isa<KirTensorType>(result) ? type.getElement() : KirTensorType::get(getContext(), type.getElement(), kept);
    if (result != expected) return emitOpError("C5: expected result ") << i << " of type " << expected << ", got " << result;
  }
  Block &body = getCombine().front();
  if (body.getNumArguments() != 2 * count)
    return emitOpError("C6: combine takes ") << 2 * count << " scalars, got " << body.getNumArguments();
  for (size_t i = 0; i < 2 * count; ++i)
    if (body.getArgument(i).getType() != elementType(getValues()[i % count].getType()))
      return emitOpError("C6: combine argument ") << i << " has the wrong type";
  if (body.getTerminator()->getOperandTypes() != getIdentities().getTypes())
    return emitOpError("C7: combine yields other types than the identities'");
  return success();
}

LogicalResult ContractOp::verify() {
  KirTensorType lhs = getLhs().getType(), rhs = getRhs().getType();
  llvm::SmallBitVector lhsUsed(lhs.getShape().size()), rhsUsed(rhs.getShape().size()), lhsReduced(lhs.getShape().size());
  auto pair = [&](ArrayRef<int64_t> left, ArrayRef<int64_t> right, bool reduce) -> LogicalResult {
    if (left.size() != right.size()) return emitOpError("C1: axis lists differ in length");
    for (auto [a, b] : llvm::zip_equal(left, right)) {
      if (a < 0 || b < 0 || a >= static_cast<int64_t>(lhsUsed.size()) || b >= static_cast<int64_t>(rhsUsed.size()) || lhsUsed[a] ||
          rhsUsed[b])
        return emitOpError("C2: axes (") << a << ", " << b << ") are repeated or out of range";
      lhsUsed.set(a);
      rhsUsed.set(b);
      if (reduce) lhsReduced.set(a);
      if (lhs.getShape()[a] != rhs.getShape()[b]) return emitOpError("C3: axes (") << a << ", " << b << ") differ in extent";
    }
    return success();
  };
  if (failed(pair(getLhsReduce(), getRhsReduce(), true)) || failed(pair(getLhsBatch(), getRhsBatch(), false))) return failure();
  SmallVector<ExtentAttr> shape;
  for (auto [i, extent] : llvm::enumerate(lhs.getShape()))
    if (!lhsReduced[i]) shape.push_back(extent);
  for (auto [i, extent] : llvm::enumerate(rhs.getShape()))
    if (!rhsUsed[i]) shape.push_back(extent);
  Type result = getResult().getType();
  if (!isa<KirTensorType>(result) || shapeOf(result) != ArrayRef(shape))
    return emitOpError("C4: result shape is not the free axes of both operands: ") << result;
  return success();
}

//===- control -----------------------------------------------------------------------------------------===//

LogicalResult ParallelOp::verify() {
  Block &body = getBody().front();
  if (getDomains().empty() || body.getNumArguments() != getDomains().size())
    return emitOpError("C1: expected one index per domain, at least one");
  for (BlockArgument argument : body.getArguments())
    if (!argument.getType().isIndex()) return emitOpError("C2: expected index coordinates");
  if (body.getTerminator()->getNumOperands()) return emitOpError("C3: a parallel body yields nothing");
  return success();
}

LogicalResult ForOp::verify() {
  Block &body = getBody().front();
  if (body.getNumArguments() != getInits().size() + 1 || !body.getArgument(0).getType().isIndex())
    return emitOpError("C1: expected the coordinate and one argument per carry");
  auto types = getInits().getTypes();
  if (TypeRange(body.getArgumentTypes()).drop_front() != types || getResultTypes() != types ||
      body.getTerminator()->getOperandTypes() != types)
    return emitOpError("C2: inits, arguments, yields and results have different types");
  return success();
}

LogicalResult IfOp::verify() {
  for (Region *region : {&getThenRegion(), &getElseRegion()}) {
    if (region->front().getNumArguments()) return emitOpError("C1: a branch takes no arguments");
    if (region->front().getTerminator()->getOperandTypes() != getResultTypes())
      return emitOpError("C2: both branches yield the result types");
  }
  return success();
}
