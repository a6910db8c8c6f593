// Reductions: the named ones and the generic one over tensors, tuples and records.
#include "Lowering.h"

#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace intent;
using namespace intent::frontend;

FailureOr<SmallVector<int64_t>> Lowering::axesArgument(const Entity &entity, size_t rank, NodeId at) {
  std::vector<Entity> items = entity.kind == Entity::Tuple ? entity.items() : std::vector<Entity>{entity};
  SmallVector<int64_t> axes;
  llvm::SmallBitVector seen(rank);
  int64_t count = rank;
  for (const Entity &item : items) {
    FailureOr<int64_t> axis = constantInt(item, at, "axis");
    if (failed(axis)) return failure();
    if (*axis < -count || *axis >= count) return error(at) << "axis " << *axis << " is out of range for rank " << count;
    int64_t position = *axis < 0 ? *axis + count : *axis;
    if (seen[position]) return error(at) << "axis " << *axis << " is repeated";
    seen.set(position);
    axes.push_back(position);
  }
  llvm::sort(axes);
  return axes;
}

//===- named -------------------------------------------------------------------------------------------===//

/// The dtype that a sum has unless `acc_dtype` says otherwise.
static Type widened(Type element) {
  MLIRContext *context = element.getContext();
  if (isa<Float16Type, BFloat16Type, Float8E4M3FNType, Float8E5M2Type>(element)) return Float32Type::get(context);
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer || integer.getWidth() > 16) return element;
  bool isUnsigned = integer.isUnsigned();
  return IntegerType::get(context, 32, isUnsigned ? IntegerType::Unsigned : IntegerType::Signless);
}

static TypedAttr identityOf(BinaryKind kind, Type element) {
  if (kind == BinaryKind::Add || kind == BinaryKind::Or || kind == BinaryKind::Mul || kind == BinaryKind::And) {
    bool one = kind == BinaryKind::Mul || kind == BinaryKind::And;
    if (element.isInteger(1)) return BoolAttr::get(element.getContext(), one);
    return isa<FloatType>(element) ? floatConstant(element, one) : integerConstant(element, one);
  }
  bool lowest = kind == BinaryKind::Maximum;
  if (auto type = dyn_cast<FloatType>(element)) {
    const llvm::fltSemantics &semantics = type.getFloatSemantics();
    bool finite = isa<Float8E4M3FNType>(type);
    return FloatAttr::get(type, finite ? APFloat::getLargest(semantics, lowest) : APFloat::getInf(semantics, lowest));
  }
  unsigned width = element.isIndex() ? 64 : cast<IntegerType>(element).getWidth();
  if (isUnsignedInteger(element)) return integerConstant(element, lowest ? 0 : -1);
  APInt extreme = lowest ? APInt::getSignedMinValue(width) : APInt::getSignedMaxValue(width);
  return integerConstant(element, extreme.getSExtValue());
}

Value Lowering::reduceValue(StringRef kind, Value tensor, ArrayRef<int64_t> axes, NodeId at) {
  BinaryKind op = kind == "sum" || kind == "mean" ? BinaryKind::Add
                  : kind == "prod"                ? BinaryKind::Mul
                  : kind == "max"                 ? BinaryKind::Maximum
                  : kind == "min"                 ? BinaryKind::Minimum
                  : kind == "any"                 ? BinaryKind::Or
                                                  : BinaryKind::And;
  auto type = cast<KirTensorType>(tensor.getType());
  Type element = type.getElement();
  Shape kept;
  for (auto [i, extent] : llvm::enumerate(type.getShape()))
    if (!llvm::is_contained(axes, static_cast<int64_t>(i))) kept.push_back(extent);
  Value identity = make<kir::ConstantOp>(at, element, identityOf(op, element));
  Type result = kept.empty() && !axes.empty() ? element : Type(tensorType(element, kept));
  auto reduce = make<kir::ReduceOp>(at, TypeRange{result}, ValueRange{tensor}, ValueRange{identity}, ValueRange(), builder.getDenseI64ArrayAttr(axes));
  OpBuilder::InsertionGuard guard(builder);
  Block &body = reduce.getCombine().emplaceBlock();
  Value a = body.addArgument(element, location(at)), b = body.addArgument(element, location(at));
  builder.setInsertionPointToStart(&body);
  Value combined = make<kir::BinaryOp>(at, element, op, a, b, false, false);
  make<kir::YieldOp>(at, ValueRange{combined});
  return reduce.getResult(0);
}

Value Lowering::keepAxes(Value reduced, ArrayRef<ExtentAttr> shape, ArrayRef<int64_t> axes, NodeId at) {
  Shape kept;
  SmallVector<int64_t> positions;
  for (auto [i, extent] : llvm::enumerate(shape)) {
    bool gone = llvm::is_contained(axes, static_cast<int64_t>(i));
    kept.push_back(gone ? known(1) : extent);
    if (!gone) positions.push_back(i);
  }
  return repeat(reduced, kept, positions, at);
}

FailureOr<Entity> Lowering::lowerNamedReduce(Call &call) {
  StringRef kind = call.intrinsic->path.drop_front(StringRef("reduce.").size());
  std::string operation = ("I." + call.intrinsic->path).str();
  bool boolean = kind == "any" || kind == "all";
  FailureOr<Value> value = asTensor(call[0], call.nodes[0], operation);
  if (failed(value)) return failure();
  Shape shape(kir::shapeOf(value->getType()));
  FailureOr<SmallVector<int64_t>> axes = axesArgument(call[1], shape.size(), call.nodes[1]);
  if (failed(axes)) return failure();
  unsigned keepPosition = boolean ? 2 : 3;
  bool keepdims = false;
  if (call.has(keepPosition)) {
    FailureOr<bool> keep = constantBool(call[keepPosition], call.nodes[keepPosition], "keepdims");
    if (failed(keep)) return failure();
    keepdims = *keep;
  }
  Type element = kir::elementType(value->getType()), acc = element;
  if (kind == "mean" && !isa<FloatType>(element))
    return error(call.nodes[0]) << operation << " takes floats, got " << dtypeName(element) << "; convert with I.cast";
  if (kind == "sum" || kind == "mean") acc = widened(element);
  if (!boolean && call.has(2) && !call[2].isLiteral(Constant::None)) {
    FailureOr<Type> given = constantDtype(call[2], call.nodes[2]);
    if (failed(given)) return failure();
    if (kind == "mean" && !isa<FloatType>(*given))
      return error(call.nodes[2]) << operation << ": acc_dtype is a float, got " << dtypeName(*given);
    acc = *given;
  }
  if (boolean && !element.isInteger(1))
    return error(call.nodes[0]) << operation << " takes bool, got " << dtypeName(element) << "; compare first";
  if (!boolean && acc.isInteger(1)) return error(call.nodes[0]) << operation << " does not take bool; use I.reduce.any or I.reduce.all";
  if ((kind == "sum" || kind == "prod" || kind == "mean") && failed(requireArithmetic(acc, call.nodes[0], operation))) return failure();
  FailureOr<Value> converted = castValue(*value, acc, call.node);
  if (failed(converted)) return failure();
  Value result = reduceValue(kind, *converted, *axes, call.node);
  if (kind == "mean") {
    ExtentAttr count = known(1);
    for (int64_t axis : *axes)
      count = count * shape[axis];
    // An extent such as N - 1 may be negative where the axis is empty; the mean of nothing is 0 / 0.
    Value members = extentValue(count, call.node);
    if (llvm::any_of(count.getCoefficients(), [](int64_t c) { return c < 0; }))
      members = make<kir::BinaryOp>(call.node, members.getType(), BinaryKind::Maximum, members, indexConstant(0, call.node), false, false);
    FailureOr<Value> divisor = castValue(members, acc, call.node);
    if (failed(divisor)) return failure();
    if (isa<KirTensorType>(result.getType())) *divisor = broadcastTo(*divisor, kir::shapeOf(result.getType()), call.node);
    result = make<kir::BinaryOp>(call.node, result.getType(), BinaryKind::Div, result, *divisor, false, false);
  }
  if (keepdims) result = keepAxes(result, shape, *axes, call.node);
  return Entity::ofValue(result);
}

//===- generic -----------------------------------------------------------------------------------------===//

/// The non-product parts of an entity, in order.
LogicalResult Lowering::flatten(const Entity &entity, NodeId at, std::vector<Entity> &leavesOut, const Twine &what) {
  if (!entity.isProduct()) {
    if (leavesOut.size() >= 1024) return error(at) << what << ": the product has more than 1024 components";
    leavesOut.push_back(entity);
    return success();
  }
  for (const Entity &item : entity.items())
    if (failed(flatten(item, at, leavesOut, what))) return failure(); // as deep as the author wrote products
  return success();
}

Entity Lowering::rebuild(const Entity &like, ArrayRef<Value> values, size_t &next) {
  if (!like.isProduct()) return Entity::ofValue(values[next++]);
  Entity result = like;
  Product product;
  product.names = like.product->names;
  for (const Entity &item : like.items())
    product.items.push_back(rebuild(item, values, next));
  result.product = std::make_shared<const Product>(std::move(product));
  return result;
}

LogicalResult Lowering::matchStructure(const Entity &like, const Entity &entity, NodeId at, const Twine &what) {
  bool matches = like.isProduct() ? entity.kind == like.kind && entity.items().size() == like.items().size() &&
                                        entity.product->names == like.product->names
                                  : !entity.isProduct();
  if (!matches) return error(at) << what << ": expected the structure of " << describe(like) << ", got " << describe(entity);
  if (!like.isProduct()) return success();
  for (auto [a, b] : llvm::zip_equal(like.items(), entity.items()))
    if (failed(matchStructure(a, b, at, what))) return failure();
  return success();
}

FailureOr<Entity> Lowering::lowerReduce(Call &call) {
  NodeId at = call.node, valueNode = call.nodes[0], identityNode = call.nodes[2], combineNode = call.nodes[3];
  const Entity &value = call[0];
  std::vector<Entity> parts, identityParts;
  if (failed(flatten(value, valueNode, parts, "I.reduce")) || failed(matchStructure(value, call[2], identityNode, "identity")) ||
      failed(flatten(call[2], identityNode, identityParts, "identity")))
    return failure();
  if (parts.empty()) return error(valueNode) << "I.reduce takes at least one tensor";
  Type acc;
  if (call.has(5) && !call[5].isLiteral(Constant::None)) {
    FailureOr<Type> given = constantDtype(call[5], call.nodes[5]);
    if (failed(given)) return failure();
    acc = *given;
  }
  SmallVector<Value> tensors;
  std::vector<Operand> operands;
  for (const Entity &part : parts) {
    FailureOr<Value> tensor = asTensor(part, valueNode, "I.reduce");
    if (failed(tensor)) return failure();
    FailureOr<Value> converted = acc ? castValue(*tensor, acc, at) : tensor;
    if (failed(converted)) return failure();
    tensors.push_back(*converted);
    operands.push_back({part, valueNode, "component"});
  }
  FailureOr<Shape> shape = broadcastShapes(operands, tensors, at);
  if (failed(shape)) return failure();
  FailureOr<SmallVector<int64_t>> axes = axesArgument(call[1], shape->size(), call.nodes[1]);
  if (failed(axes)) return failure();
  Shape kept;
  for (auto [i, extent] : llvm::enumerate(*shape))
    if (!llvm::is_contained(*axes, static_cast<int64_t>(i))) kept.push_back(extent);
  SmallVector<Value> identities;
  SmallVector<Type> results, elements;
  SmallVector<Location> locations;
  for (auto [tensor, identity] : llvm::zip_equal(tensors, identityParts)) {
    tensor = broadcastTo(tensor, *shape, valueNode);
    Type element = kir::elementType(tensor.getType());
    FailureOr<Value> scalar = asValue(identity, identityNode, element);
    if (failed(scalar)) return failure();
    if (kir::elementType(scalar->getType()) != element || !kir::shapeOf(scalar->getType()).empty())
      return error(identityNode) << "identity: expected " << dtypeName(element) << " scalar, got " << describe(identity);
    // A rank-zero identity keeps full reductions rank-zero tensors.
    bool tensorResult = !kept.empty() || axes->empty() || isa<KirTensorType>(scalar->getType());
    *scalar = scalarOf(*scalar, identityNode);
    identities.push_back(*scalar);
    results.push_back(tensorResult ? Type(tensorType(element, kept)) : element);
    elements.push_back(element);
    locations.push_back(location(combineNode));
  }
  std::vector<Entity> captured;
  if (call.has(4)) {
    if (call[4].kind != Entity::Tuple) return error(call.nodes[4]) << "combine_operands: expected a tuple, got " << describe(call[4]);
    captured = call[4].items();
  }
  auto reduce = make<kir::ReduceOp>(at, results, tensors, identities, ValueRange(), builder.getDenseI64ArrayAttr(*axes));
  {
    OpBuilder::InsertionGuard guard(builder);
    llvm::SaveAndRestore<unsigned> pure(pureRegions, pureRegions + 1);
    Block &body = reduce.getCombine().emplaceBlock();
    body.addArguments(elements, locations);
    body.addArguments(elements, locations);
    builder.setInsertionPointToStart(&body);
    SmallVector<Value> scalars(body.getArguments());
    size_t next = 0;
    std::vector<Entity> arguments{rebuild(value, scalars, next)};
    arguments.push_back(rebuild(value, scalars, next));
    llvm::append_range(arguments, captured);
    SmallVector<NodeId> nodes(arguments.size(), combineNode);
    FailureOr<Entity> combined = apply(call[3], arguments, nodes, combineNode);
    if (failed(combined) || failed(matchStructure(value, *combined, combineNode, "combine result"))) return failure();
    std::vector<Entity> outputs;
    if (failed(flatten(*combined, combineNode, outputs, "combine result"))) return failure();
    SmallVector<Value> yielded;
    for (auto [output, element] : llvm::zip_equal(outputs, elements)) {
      FailureOr<Value> scalar = asValue(output, combineNode, element);
      if (failed(scalar)) return failure();
      if (scalar->getType() != element)
        return error(combineNode) << "combine result: expected " << dtypeName(element) << " scalar, got "
                                  << describe(Entity::ofValue(*scalar));
      yielded.push_back(*scalar);
    }
    make<kir::YieldOp>(combineNode, yielded);
  }
  SmallVector<Value> values(reduce.getResults());
  size_t next = 0;
  return rebuild(value, values, next);
}
