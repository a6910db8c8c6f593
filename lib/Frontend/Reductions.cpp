// Reductions: the named ones and the generic one over tensors, tuples and records.
#include "Lowering.h"

#include "llvm/ADT/SmallBitVector.h"

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

Type frontend::widenedBySums(Type element) {
  MLIRContext *context = element.getContext();
  if (isa<Float16Type, BFloat16Type, Float8E4M3FNType, Float8E5M2Type>(element)) return Float32Type::get(context);
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer || integer.getWidth() > 16) return element;
  bool isUnsigned = integer.isUnsigned();
  return IntegerType::get(context, 32, isUnsigned ? IntegerType::Unsigned : IntegerType::Signless);
}

TypedAttr frontend::identityOf(BinaryKind kind, Type element) {
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
  auto reduce = make<kir::ReduceOp>(at, TypeRange{result}, ValueRange{tensor}, ValueRange{identity}, ValueRange(),
                                    builder.getDenseI64ArrayAttr(axes));
  fillCombine(reduce.getCombine(), op, element, at);
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
  if (kind == "sum" || kind == "mean") acc = widenedBySums(element);
  if (!boolean) {
    FailureOr<Type> given = accDtype(call, 2, acc);
    if (failed(given)) return failure();
    if (kind == "mean" && !isa<FloatType>(*given))
      return error(call.nodes[2]) << operation << ": acc_dtype is a float, got " << dtypeName(*given);
    acc = *given;
  }
  if (boolean && !element.isInteger(1))
    return error(call.nodes[0]) << operation << " takes bool, got " << dtypeName(element) << "; compare first";
  if (!boolean && acc.isInteger(1))
    return error(element.isInteger(1) && call.has(2) ? call.nodes[2] : call.nodes[0])
           << operation << (call.has(2) ? ": acc_dtype is no bool" : " does not take bool") << "; use I.reduce.any or I.reduce.all";
  if ((kind == "sum" || kind == "prod" || kind == "mean") && failed(requireArithmetic(acc, call.nodes[0], operation))) return failure();
  FailureOr<Value> converted = castValue(*value, acc, call.node);
  if (failed(converted)) return failure();
  Value result = reduceValue(kind, *converted, *axes, call.node);
  if (kind == "mean") {
    ExtentAttr count = known(1);
    for (int64_t axis : *axes)
      count = count * shape[axis];
    if (dependsOnSlice(count))
      return error(call.node) << operation << ": the extent of a slice is not observable; carry the sum and the count through the fold";
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

Entity Lowering::mapLeaves(const Entity &entity, llvm::function_ref<Entity(const Entity &)> leaf) {
  if (!entity.isProduct()) return leaf(entity);
  Product product;
  product.names = entity.product->names;
  for (const Entity &item : entity.items())
    product.items.push_back(mapLeaves(item, leaf)); // as deep as the author wrote products
  Entity result = entity;
  result.product = std::make_shared<const Product>(std::move(product));
  return result;
}

Entity Lowering::rebuild(const Entity &like, ArrayRef<Value> values, size_t &next) {
  return mapLeaves(like, [&](const Entity &) { return Entity::ofValue(values[next++]); });
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
  FailureOr<Components> parts = components(call, 2, 5);
  if (failed(parts)) return failure();
  FailureOr<SmallVector<int64_t>> axes = axesArgument(call[1], parts->shape.size(), call.nodes[1]);
  if (failed(axes)) return failure();
  Shape kept;
  for (auto [i, extent] : llvm::enumerate(parts->shape))
    if (!llvm::is_contained(*axes, static_cast<int64_t>(i))) kept.push_back(extent);
  FailureOr<Captures> captured = captures(call, 4, kept);
  if (failed(captured)) return failure();
  SmallVector<Type> results;
  for (auto [element, rankZero] : llvm::zip_equal(parts->elements, parts->rankZero)) {
    // A rank-zero identity keeps full reductions rank-zero tensors.
    bool tensor = !kept.empty() || axes->empty() || rankZero;
    results.push_back(tensor ? Type(tensorType(element, kept)) : element);
  }
  auto reduce =
      make<kir::ReduceOp>(call.node, results, parts->tensors, parts->identities, captured->tensors, builder.getDenseI64ArrayAttr(*axes));
  if (failed(fillCombine(reduce.getCombine(), call[0], parts->elements, *captured, call[3], call.nodes[3]))) return failure();
  SmallVector<Value> values(reduce.getResults());
  size_t next = 0;
  return rebuild(call[0], values, next);
}

//===- positions of extremes ---------------------------------------------------------------------------===//

/// numerics.md section 3: a reduction of (value, position) pairs under a total order. Where an element equals the identity
/// and still wins, every element equals it, so that the identity's position 0 is the lowest one too.
FailureOr<Entity> Lowering::lowerArgReduce(Call &call) {
  NodeId at = call.node;
  std::string operation = ("I." + call.intrinsic->path).str();
  bool largest = call.intrinsic->path == "arg_reduce.max";
  FailureOr<Value> value = asTensor(call[0], call.nodes[0], operation);
  if (failed(value)) return failure();
  Shape shape(kir::shapeOf(value->getType()));
  FailureOr<int64_t> axis = axisArgument(call[1], shape.size(), call.nodes[1]);
  if (failed(axis)) return failure();
  FailureOr<Type> element = accDtype(call, 2, kir::elementType(value->getType()));
  if (failed(element)) return failure();
  if (element->isInteger(1)) return error(call.nodes[0]) << operation << " does not take bool; convert with I.cast";
  FailureOr<Value> converted = castValue(*value, *element, at);
  if (failed(converted)) return failure();
  Type index = builder.getIndexType(), boolean = builder.getI1Type();
  Value line = make<kir::IndicesOp>(at, tensorType(index, {shape[*axis]}), wholeAxis(shape[*axis], at));
  Value positions = shape.size() == 1 ? line : repeat(line, shape, {*axis}, at);
  Value identity = make<kir::ConstantOp>(at, *element, identityOf(largest ? BinaryKind::Maximum : BinaryKind::Minimum, *element));
  Shape kept(shape);
  kept.erase(kept.begin() + *axis);
  SmallVector<Type> elements{*element, index}, results;
  for (Type type : elements)
    results.push_back(kept.empty() ? type : Type(tensorType(type, kept)));
  auto reduce = make<kir::ReduceOp>(at, results, ValueRange{*converted, positions}, ValueRange{identity, indexConstant(0, at)},
                                    ValueRange(), builder.getDenseI64ArrayAttr({*axis}));
  {
    OpBuilder::InsertionGuard guard(builder);
    Block &body = reduce.getCombine().emplaceBlock();
    for (Type type : {elements[0], elements[1], elements[0], elements[1]})
      body.addArgument(type, location(at));
    builder.setInsertionPointToStart(&body);
    Value a = body.getArgument(0), ai = body.getArgument(1), b = body.getArgument(2), bi = body.getArgument(3);
    auto compare = [&](ComparePredicate predicate, Value l, Value r) -> Value {
      return make<kir::CompareOp>(at, boolean, predicate, l, r);
    };
    auto logic = [&](BinaryKind kind, Value l, Value r) -> Value { return make<kir::BinaryOp>(at, boolean, kind, l, r, false, false); };
    Value wins = compare(largest ? ComparePredicate::Gt : ComparePredicate::Lt, b, a), ties = compare(ComparePredicate::Eq, b, a);
    if (isa<FloatType>(*element)) {
      Value aIsNan = compare(ComparePredicate::Ne, a, a), bIsNan = compare(ComparePredicate::Ne, b, b);
      Value aIsNumber = make<kir::UnaryOp>(at, boolean, UnaryKind::Not, aIsNan, false, false);
      wins = logic(BinaryKind::Or, wins, logic(BinaryKind::And, bIsNan, aIsNumber));
      ties = logic(BinaryKind::Or, ties, logic(BinaryKind::And, aIsNan, bIsNan));
    }
    Value take = logic(BinaryKind::Or, wins, logic(BinaryKind::And, ties, compare(ComparePredicate::Lt, bi, ai)));
    SmallVector<Value> chosen{make<kir::SelectOp>(at, *element, take, b, a), make<kir::SelectOp>(at, index, take, bi, ai)};
    make<kir::YieldOp>(at, chosen);
  }
  return Entity::ofTuple({Entity::ofValue(reduce.getResult(0)), Entity::ofValue(reduce.getResult(1))});
}
