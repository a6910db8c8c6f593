// Checks that the op definitions cannot state. One label a constraint; each has a negative test.
#include "intent/Dialect/Kir/IR/Kir.h"
#include "intent/IR/Verify.h"

#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace intent;
using namespace intent::kir;

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
      StringRef slice = sliceAtom(op);
      if (!slice.empty()) {
        if (everDefined.contains(slice)) return op.emitOpError("C1: '") << slice << "' is already an atom";
        define(slice);
      }
      for (Region &nested : op.getRegions())
        if (failed(verify(nested))) return failure();
      if (!slice.empty()) visible.erase(slice);
    }
    for (StringRef atom : local)
      visible.erase(atom);
    return success();
  }

private:
  // What a fold or region scan calls the extent of its slices, in its regions only.
  static StringRef sliceAtom(Operation &op) {
    if (auto fold = dyn_cast<RegionFoldOp>(op)) return fold.getSlice();
    if (auto scan = dyn_cast<RegionScanOp>(op)) return scan.getSlice();
    return {};
  }

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
      for (StringAttr atom : extent.getAtoms()) {
        if (atom.getValue().starts_with("?"))
          return emitOpError("C9: parameter ") << i << " has the extent '" << atom.getValue() << "' of a value";
        atoms.define(atom.getValue());
      }
  }
  WalkResult own = getBody().walk([](Operation *op) {
    auto refused = [&](const Twine &why) {
      op->emitOpError(why);
      return WalkResult::interrupt();
    };
    if (!isa_and_nonnull<KirDialect>(op->getDialect())) return refused("C7: only operations of the kir dialect stand in a kernel");
    bool acts = isa<WriteOp, ScatterReduceOp, AtomicOp, CompareExchangeOp, RequireOp, BufferOp, ParallelOp>(op);
    for (Operation *around = op->getParentOp(); acts && !isa<KernelOp>(around); around = around->getParentOp())
      if (!isa<ParallelOp, ForOp, WhileOp, IfOp>(around))
        return refused("C8: the regions of '" + around->getName().getStringRef() + "' have no effects");
    return WalkResult::advance();
  });
  return own.wasInterrupted() ? failure() : atoms.verify(getBody());
}

LogicalResult RequireOp::verify() {
  Type type = getValue().getType();
  if (!elementType(type).isIndex()) return emitOpError("C1: expected an index or a tensor of them, got ") << type;
  if (Value valid = getValid())
    if (valid.getType() != withElement(type, IntegerType::get(getContext(), 1)))
      return emitOpError("C2: validity ") << valid.getType() << " does not have the shape of the value " << type;
  return success();
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

LogicalResult BufferOp::verify() {
  if (getResult().getType().getAccess() != Access::InOut) return emitOpError("C1: a buffer is an inout view");
  return success();
}

LogicalResult ReadOp::verify() {
  if (Value valid = getValid())
    if (valid.getType() != withElement(getResult().getType(), IntegerType::get(getContext(), 1)))
      return emitOpError("C4: validity ") << valid.getType() << " does not have the shape of the result " << getResult().getType();
  return verifyIndexing(*this, getView().getType(), getIndices(), getResult().getType());
}
LogicalResult ExtractOp::verify() { return verifyIndexing(*this, getSource().getType(), getIndices(), getResult().getType()); }
LogicalResult WriteOp::verify() {
  if (getView().getType().getAccess() == Access::In) return emitOpError("C4: writes an input view");
  return verifyIndexing(*this, getView().getType(), getIndices(), getValue().getType());
}

// A region that combines two times `left` scalars, given further arguments behind them.
static LogicalResult verifyCombine(Operation *op, Region &region, TypeRange components, ValueRange captures) {
  ::mlir::Block &body = region.front();
  SmallVector<Type> expected;
  for (unsigned side = 0; side < 2; ++side)
    for (Type type : components)
      expected.push_back(elementType(type));
  for (Value capture : captures)
    expected.push_back(elementType(capture.getType()));
  if (TypeRange(body.getArgumentTypes()) != TypeRange(expected))
    return op->emitOpError("C6: combine takes ") << expected.size() << " scalars: both sides' components, then the captures";
  SmallVector<Type> results(expected.begin(), expected.begin() + components.size());
  if (body.getTerminator()->getOperandTypes() != TypeRange(results))
    return op->emitOpError("C7: combine yields other types than the identities'");
  WalkResult own = region.walk([&](Operation *inner) {
    for (Value value : inner->getOperands())
      if (isa<KirTensorType>(value.getType()) && !region.isAncestor(value.getParentRegion())) return WalkResult::interrupt();
    return WalkResult::advance();
  });
  if (own.wasInterrupted()) return op->emitOpError("C10: combine uses a tensor from around it, which it only takes as a capture");
  return success();
}

LogicalResult ScatterReduceOp::verify() {
  if (getView().getType().getAccess() == Access::In) return emitOpError("C4: writes an input view");
  if (failed(verifyCombine(*this, getCombine(), getValue().getType(), {}))) return failure();
  return verifyIndexing(*this, getView().getType(), getIndices(), getValue().getType());
}

LogicalResult AtomicOp::verify() {
  if (getView().getType().getAccess() != Access::InOut) return emitOpError("C4: an atomic access needs an inout view");
  bool load = getKind() == AtomicKind::Load, store = getKind() == AtomicKind::Store;
  if (static_cast<bool>(getValue()) == load) return emitOpError("C5: every atomic access but load takes a value");
  if (static_cast<bool>(getOld()) == store) return emitOpError("C6: every atomic access but store has a result");
  if ((load && (getOrder() == MemoryOrder::Release || getOrder() == MemoryOrder::AcqRel)) ||
      (store && (getOrder() == MemoryOrder::Acquire || getOrder() == MemoryOrder::AcqRel)))
    return emitOpError("C7: an atomic ") << stringifyAtomicKind(getKind()) << " cannot be " << stringifyMemoryOrder(getOrder());
  if (getValue() && getOld() && getValue().getType() != getOld().getType()) return emitOpError("C8: value and result differ in type");
  if (!isDefinedOn(getKind(), getView().getType().getElement()))
    return emitOpError("C9: an atomic ") << stringifyAtomicKind(getKind()) << " does not take "
                                         << dtypeName(getView().getType().getElement());
  return verifyIndexing(*this, getView().getType(), getIndices(), getOld() ? getOld().getType() : getValue().getType());
}

LogicalResult CompareExchangeOp::verify() {
  if (getView().getType().getAccess() != Access::InOut) return emitOpError("C4: an atomic access needs an inout view");
  if (getSuccess().getType() != withElement(getOld().getType(), IntegerType::get(getContext(), 1)))
    return emitOpError("C5: success is a bool of the result's shape");
  return verifyIndexing(*this, getView().getType(), getIndices(), getOld().getType());
}

//===- values ------------------------------------------------------------------------------------------===//

LogicalResult ConstantOp::verify() {
  if (getValue().getType() != getResult().getType())
    return emitOpError("C1: value has type ") << getValue().getType() << ", result " << getResult().getType();
  return success();
}
OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult UnaryOp::verify() {
  return verifyFunction(*this, getKind(), elementType(getValue().getType()), getApproximate(), getFlushToZero());
}

LogicalResult BinaryOp::verify() {
  return verifyFunction(*this, getKind(), elementType(getLhs().getType()), getApproximate(), getFlushToZero());
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
  for (Value capture : getCaptures())
    if (isa<KirTensorType>(capture.getType()) && shapeOf(capture.getType()) != ArrayRef(kept))
      return emitOpError("C8: a captured tensor has the kept axes, got ") << capture.getType();
  return verifyCombine(*this, getCombine(), getIdentities().getTypes(), getCaptures());
}

LogicalResult ScanOp::verify() {
  size_t count = getValues().size();
  if (!count || getIdentities().size() != count || getResults().size() != count)
    return emitOpError("C1: expected as many identities and results as operands, at least one");
  auto first = cast<KirTensorType>(getValues()[0].getType());
  if (getAxis() >= first.getShape().size()) return emitOpError("C2: axis ") << getAxis() << " is outside rank " << first.getShape().size();
  SmallVector<ExtentAttr> kept(first.getShape());
  kept.erase(kept.begin() + getAxis());
  for (size_t i = 0; i < count; ++i) {
    auto type = cast<KirTensorType>(getValues()[i].getType());
    if (type.getShape() != first.getShape()) return emitOpError("C3: operands differ in shape");
    if (getIdentities()[i].getType() != type.getElement())
      return emitOpError("C4: identity ") << i << " has type " << getIdentities()[i].getType();
    if (getResults()[i].getType() != type) return emitOpError("C5: result ") << i << " differs from its operand in type";
  }
  for (Value capture : getCaptures())
    if (isa<KirTensorType>(capture.getType()) && shapeOf(capture.getType()) != ArrayRef(kept))
      return emitOpError("C8: a captured tensor has the kept axes, got ") << capture.getType();
  return verifyCombine(*this, getCombine(), getIdentities().getTypes(), getCaptures());
}

// Sources of one extent along the axis; a region that takes slices of them, then `more`, and yields `results`.
static LogicalResult verifySources(Operation *op, ValueRange sources, uint64_t axis) {
  if (sources.empty()) return op->emitOpError("C1: expected a source");
  for (Value source : sources) {
    ArrayRef<ExtentAttr> shape = shapeOf(source.getType());
    if (axis >= shape.size()) return op->emitOpError("C2: axis ") << axis << " is outside rank " << shape.size();
    if (shape[axis] != shapeOf(sources[0].getType())[axis]) return op->emitOpError("C3: sources differ in extent along the axis");
  }
  return success();
}
static SmallVector<Type> slicesOf(ValueRange sources, uint64_t axis, StringRef slice) {
  SmallVector<Type> types;
  for (Value source : sources) {
    auto type = cast<KirTensorType>(source.getType());
    SmallVector<ExtentAttr> shape(type.getShape());
    shape[axis] = ExtentAttr::atom(type.getContext(), slice);
    types.push_back(KirTensorType::get(type.getContext(), type.getElement(), shape));
  }
  return types;
}
static LogicalResult verifyRegion(Operation *op, StringRef name, Region &region, ArrayRef<Type> arguments, TypeRange results) {
  if (TypeRange(region.front().getArgumentTypes()) != TypeRange(arguments))
    return op->emitOpError("C4: ") << name << " takes other arguments than its sources and states give";
  if (region.front().getTerminator()->getOperandTypes() != results) return op->emitOpError("C5: ") << name << " yields other types";
  return success();
}
static SmallVector<Type> twice(TypeRange a, TypeRange b) {
  SmallVector<Type> both(a.begin(), a.end());
  both.append(b.begin(), b.end());
  return both;
}

LogicalResult RegionFoldOp::verify() {
  if (failed(verifySources(*this, getSources(), getAxis()))) return failure();
  TypeRange summary = getIdentities().getTypes();
  if (getResultTypes() != summary) return emitOpError("C6: results and identities differ in type");
  if (failed(verifyRegion(*this, "summarize", getSummarize(), slicesOf(getSources(), getAxis(), getSlice()), summary))) return failure();
  if (failed(verifyRegion(*this, "combine", getCombine(), twice(summary, summary), summary))) return failure();
  if (getStep().empty()) return success();
  SmallVector<Type> slices = slicesOf(getSources(), getAxis(), getSlice());
  return verifyRegion(*this, "step", getStep(), twice(summary, slices), twice(summary, summary));
}

LogicalResult RegionScanOp::verify() {
  if (failed(verifySources(*this, getSources(), getAxis()))) return failure();
  TypeRange summary = getIdentities().getTypes(), states = getStates().getTypes();
  SmallVector<Type> slices = slicesOf(getSources(), getAxis(), getSlice());
  if (failed(verifyRegion(*this, "summarize", getSummarize(), slices, summary)) ||
      failed(verifyRegion(*this, "combine", getCombine(), twice(summary, summary), summary)) ||
      failed(verifyRegion(*this, "apply", getApply(), twice(summary, states), states)))
    return failure();
  size_t outputs = getResults().size() - std::min(getResults().size(), getStates().size());
  if (getResults().size() < getStates().size() || TypeRange(getResultTypes()).drop_front(outputs) != states)
    return emitOpError("C6: expected the outputs, then the states, as results");
  SmallVector<Value> emitted(getResults().begin(), getResults().begin() + outputs);
  for (Value output : emitted)
    if (!isa<KirTensorType>(output.getType()) || getAxis() >= shapeOf(output.getType()).size() ||
        shapeOf(output.getType())[getAxis()] != shapeOf(getSources()[0].getType())[getAxis()])
      return emitOpError("C7: an output does not have the sources' extent along the axis");
  return verifyRegion(*this, "emit", getEmit(), twice(TypeRange(slices), states), TypeRange(slicesOf(emitted, getAxis(), getSlice())));
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

LogicalResult WhileOp::verify() {
  auto types = getInits().getTypes();
  ::mlir::Block &condition = getCondition().front(), &body = getBody().front();
  if (TypeRange(condition.getArgumentTypes()) != types || TypeRange(body.getArgumentTypes()) != types || getResultTypes() != types ||
      body.getTerminator()->getOperandTypes() != types)
    return emitOpError("C1: inits, arguments, yields and results have different types");
  if (condition.getTerminator()->getNumOperands() != 1 || !condition.getTerminator()->getOperand(0).getType().isInteger(1))
    return emitOpError("C2: the condition yields one bool");
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
