// Multiply-add contractions.
#include "Lowering.h"

#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace intent;
using namespace intent::frontend;

/// Pairs of axes, normalised to count from 0.
FailureOr<Lowering::Axes> Lowering::axisPairs(const Entity &entity, size_t lhsRank, size_t rhsRank, NodeId at, StringRef what) {
  Axes axes;
  if (entity.kind != Entity::Tuple) return error(at) << what << ": expected a tuple of axis pairs, got " << describe(entity);
  for (const Entity &pair : entity.items()) {
    if (pair.kind != Entity::Tuple || pair.items().size() != 2)
      return error(at) << what << ": expected pairs (lhs axis, rhs axis), got " << describe(pair);
    for (int side = 0; side < 2; ++side) {
      int64_t rank = side == 0 ? lhsRank : rhsRank;
      FailureOr<int64_t> axis = constantInt(pair.items()[side], at, what + Twine(" axis"));
      if (failed(axis)) return failure();
      if (*axis < -rank || *axis >= rank)
        return error(at) << what << ": axis " << *axis << " is out of range for the " << (side == 0 ? "left" : "right")
                         << " operand of rank " << rank;
      (side == 0 ? axes.lhs : axes.rhs).push_back(*axis < 0 ? *axis + rank : *axis);
    }
  }
  return axes;
}

FailureOr<Entity> Lowering::contract(Value lhs, Value rhs, Axes reduce, Axes batch, Type acc, NodeId at) {
  Shape left(kir::shapeOf(lhs.getType())), right(kir::shapeOf(rhs.getType()));
  llvm::SmallBitVector leftUsed(left.size()), rightUsed(right.size()), leftReduced(left.size());
  for (bool reducing : {true, false}) {
    const Axes &axes = reducing ? reduce : batch;
    for (auto [a, b] : llvm::zip_equal(axes.lhs, axes.rhs)) {
      if (leftUsed[a]) return error(at) << "axis " << a << " of the left operand is used twice";
      if (rightUsed[b]) return error(at) << "axis " << b << " of the right operand is used twice";
      leftUsed.set(a);
      rightUsed.set(b);
      if (reducing) leftReduced.set(a);
      FailureOr<ExtentAttr> extent = requireEqual(left[a], right[b], at,
                                                  Twine(reducing ? "reduction" : "batch") + " axes " + Twine(a) + " of the left and " +
                                                      Twine(b) + " of the right operand");
      if (failed(extent)) return failure();
      left[a] = right[b] = *extent;
    }
  }
  lhs = relabel(lhs, left, at);
  rhs = relabel(rhs, right, at);
  Shape shape;
  for (size_t i = 0; i < left.size(); ++i)
    if (!leftReduced[i]) shape.push_back(left[i]);
  for (size_t i = 0; i < right.size(); ++i)
    if (!rightUsed[i]) shape.push_back(right[i]);
  auto list = [&](ArrayRef<int64_t> axes) { return builder.getDenseI64ArrayAttr(axes); };
  return Entity::ofValue(
      make<kir::ContractOp>(at, tensorType(acc, shape), lhs, rhs, list(reduce.lhs), list(reduce.rhs), list(batch.lhs), list(batch.rhs)));
}

/// Argument 0 and the one at `rhsAt` as tensors of one dtype, and the accumulator's dtype.
LogicalResult Lowering::contractOperands(Call &call, unsigned rhsAt, unsigned position, Value &lhs, Value &rhs, Type &acc) {
  std::string operation = ("I." + call.intrinsic->path).str();
  Value *outs[] = {&lhs, &rhs};
  for (unsigned i : {0u, rhsAt}) {
    FailureOr<Value> tensor = asTensor(call[i], call.nodes[i], operation);
    if (failed(tensor)) return failure();
    *outs[i != 0] = *tensor;
  }
  if (failed(
          sameDtype({{call[0], call.nodes[0], "left operand"}, {call[rhsAt], call.nodes[rhsAt], "right operand"}}, call.node, operation)))
    return failure();
  FailureOr<Type> given = constantDtype(call[position], call.nodes[position]);
  if (failed(given)) return failure();
  acc = *given;
  Type element = kir::elementType(lhs.getType());
  if (element.isInteger(1) || acc.isInteger(1)) return error(call.node) << operation << " does not take bool; convert with I.cast";
  if (isa<FloatType>(element) != isa<FloatType>(acc))
    return error(call.nodes[position]) << operation << ": acc_dtype of " << dtypeName(element) << " operands is "
                                       << (isa<FloatType>(element) ? "a float" : "an integer") << ", got " << dtypeName(acc);
  if (failed(requireArithmetic(acc, call.nodes[position], operation + ": acc_dtype"))) return failure();
  return success();
}

FailureOr<Entity> Lowering::lowerContract(Call &call) {
  Value lhs, rhs;
  Type acc;
  if (failed(contractOperands(call, 1, 3, lhs, rhs, acc))) return failure();
  size_t lhsRank = kir::shapeOf(lhs.getType()).size(), rhsRank = kir::shapeOf(rhs.getType()).size();
  FailureOr<Axes> reduce = axisPairs(call[2], lhsRank, rhsRank, call.nodes[2], "reduce");
  if (failed(reduce)) return failure();
  Axes batch;
  if (call.has(4)) {
    FailureOr<Axes> given = axisPairs(call[4], lhsRank, rhsRank, call.nodes[4], "batch");
    if (failed(given)) return failure();
    batch = *given;
  }
  return contract(lhs, rhs, *reduce, batch, acc, call.node);
}

FailureOr<Entity> Lowering::batched(Call &call, unsigned lhsRank, unsigned rhsRank, bool lhsTransposed, bool rhsTransposed) {
  Value lhs, rhs;
  Type acc;
  if (failed(contractOperands(call, 1, 2, lhs, rhs, acc))) return failure();
  return batched({Entity::ofValue(lhs), call.nodes[0], "left operand"}, {Entity::ofValue(rhs), call.nodes[1], "right operand"}, acc,
                 lhsRank, rhsRank, lhsTransposed, rhsTransposed, ("I." + call.intrinsic->path).str(), call.node);
}

/// Leading axes are batch axes and broadcast from the right; `lhsRank` and `rhsRank` count the matrix or vector axes behind
/// them. A batch axis that only the left operand has is one of its free axes: the result's order is the same.
FailureOr<Entity> Lowering::batched(Operand lhsOperand, Operand rhsOperand, Type acc, unsigned lhsRank, unsigned rhsRank,
                                    bool lhsTransposed, bool rhsTransposed, StringRef operation, NodeId at) {
  Value lhs = lhsOperand.entity.value, rhs = rhsOperand.entity.value;
  Shape left(kir::shapeOf(lhs.getType())), right(kir::shapeOf(rhs.getType()));
  if (left.size() < lhsRank || right.size() < rhsRank) {
    bool isLeft = left.size() < lhsRank;
    return error(isLeft ? lhsOperand.node : rhsOperand.node)
           << operation << ": expected a " << (isLeft ? "left" : "right") << " operand of rank " << (isLeft ? lhsRank : rhsRank)
           << " or more, got shape " << spell(isLeft ? left : right);
  }
  Shape leftBatch(left.begin(), left.end() - lhsRank), rightBatch(right.begin(), right.end() - rhsRank);
  // The common batch shape, as far as the right operand has axes; the left one's further axes are free.
  size_t rank = std::max(leftBatch.size(), rightBatch.size());
  Shape common(rank, known(1));
  for (size_t i = 0; i < rank; ++i) {
    std::optional<ExtentAttr> a, b;
    if (i + leftBatch.size() >= rank) a = leftBatch[i + leftBatch.size() - rank];
    if (i + rightBatch.size() >= rank) b = rightBatch[i + rightBatch.size() - rank];
    if (!a || a->getConstant() == 1) common[i] = b ? *b : *a;
    else if (!b || b->getConstant() == 1) common[i] = *a;
    else {
      FailureOr<ExtentAttr> extent = requireEqual(*a, *b, at, "batch axis " + Twine(static_cast<unsigned>(i)));
      if (failed(extent)) return failure();
      common[i] = *extent;
    }
  }
  auto withBatch = [&](Value value, ArrayRef<ExtentAttr> batch, ArrayRef<ExtentAttr> shape, unsigned own) {
    Shape target(batch);
    llvm::append_range(target, shape.take_back(own));
    return broadcastTo(value, target, at);
  };
  lhs = withBatch(lhs, common, left, lhsRank);
  rhs = withBatch(rhs, ArrayRef(common).take_back(rightBatch.size()), right, rhsRank);
  Axes reduce, batch;
  reduce.lhs.push_back(rank + (lhsRank == 2 && !lhsTransposed ? 1 : 0));
  reduce.rhs.push_back(rightBatch.size() + (rhsRank == 2 && rhsTransposed ? 1 : 0));
  for (size_t i = 0; i < rightBatch.size(); ++i) {
    batch.lhs.push_back(rank - rightBatch.size() + i);
    batch.rhs.push_back(i);
  }
  return contract(lhs, rhs, reduce, batch, acc, at);
}

FailureOr<Entity> Lowering::lowerMatmul(Call &call) {
  bool transposed[2] = {false, false};
  for (unsigned i = 0; i < 2; ++i) {
    if (!call.has(3 + i)) continue;
    FailureOr<bool> flag = constantBool(call[3 + i], call.nodes[3 + i], i == 0 ? "transpose_lhs" : "transpose_rhs");
    if (failed(flag)) return failure();
    transposed[i] = *flag;
  }
  return batched(call, 2, 2, transposed[0], transposed[1]);
}

FailureOr<Entity> Lowering::lowerMatvec(Call &call) {
  FailureOr<bool> transposed = call.has(3) ? constantBool(call[3], call.nodes[3], "transpose") : FailureOr<bool>(false);
  if (failed(transposed)) return failure();
  return batched(call, 2, 1, *transposed, false);
}

FailureOr<Entity> Lowering::lowerVecmat(Call &call) {
  FailureOr<bool> transposed = call.has(3) ? constantBool(call[3], call.nodes[3], "transpose") : FailureOr<bool>(false);
  if (failed(transposed)) return failure();
  return batched(call, 1, 2, false, *transposed);
}

FailureOr<Entity> Lowering::lowerDot(Call &call) {
  Value lhs, rhs;
  Type acc;
  if (failed(contractOperands(call, 1, 2, lhs, rhs, acc))) return failure();
  Value operands[] = {lhs, rhs};
  for (auto [i, value] : llvm::enumerate(operands))
    if (kir::shapeOf(value.getType()).size() != 1)
      return error(call.nodes[i]) << "I.dot: expected a rank-1 operand, got " << describe(call[i]);
  return contract(lhs, rhs, {{0}, {0}}, {}, acc, call.node);
}

FailureOr<Entity> Lowering::lowerOuter(Call &call) {
  Operand operands[] = {{call[0], call.nodes[0], "lhs"}, {call[1], call.nodes[1], "rhs"}};
  FailureOr<SmallVector<Value>> values = sameDtype(operands, call.node, "I.outer");
  if (failed(values)) return failure();
  for (auto [i, value] : llvm::enumerate(*values))
    if (kir::shapeOf(value.getType()).size() != 1)
      return error(call.nodes[i]) << "I.outer: expected a rank-1 operand, got " << describe(call[i]);
  Type element = kir::elementType((*values)[0].getType());
  if (failed(requireArithmetic(element, call.node, "I.outer"))) return failure();
  Shape shape{kir::shapeOf((*values)[0].getType())[0], kir::shapeOf((*values)[1].getType())[0]};
  KirTensorType type = tensorType(element, shape);
  Value l = repeat((*values)[0], shape, {0}, call.nodes[0]);
  Value r = repeat((*values)[1], shape, {1}, call.nodes[1]);
  return Entity::ofValue(make<kir::BinaryOp>(call.node, type, BinaryKind::Mul, l, r, false, false));
}
