// What generic reductions and scans share: components with identities, captures, and the region that combines scalars.
#include "Lowering.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace intent;
using namespace intent::frontend;

FailureOr<Type> Lowering::accDtype(Call &call, unsigned position, Type otherwise) {
  if (!call.has(position) || call[position].isLiteral(Constant::None)) return otherwise;
  return constantDtype(call[position], call.nodes[position]);
}

/// One axis, normalised to count from 0.
FailureOr<int64_t> Lowering::axisArgument(const Entity &entity, size_t rank, NodeId at) {
  FailureOr<SmallVector<int64_t>> axes = axesArgument(entity, rank, at);
  if (failed(axes)) return failure();
  if (axes->size() != 1) return error(at) << "axis: expected one axis, got " << describe(entity);
  return axes->front();
}

/// Argument 0 is the value, `identity` and `acc` are the positions of the arguments of those names.
FailureOr<Lowering::Components> Lowering::components(Call &call, unsigned identity, unsigned acc) {
  std::string operation = ("I." + call.intrinsic->path).str();
  NodeId valueNode = call.nodes[0], identityNode = call.nodes[identity];
  std::vector<Entity> parts, identities;
  if (failed(flatten(call[0], valueNode, parts, operation)) || failed(matchStructure(call[0], call[identity], identityNode, "identity")) ||
      failed(flatten(call[identity], identityNode, identities, "identity")))
    return failure();
  if (parts.empty()) return error(valueNode) << operation << " takes at least one tensor";
  FailureOr<Type> dtype = accDtype(call, acc, Type());
  if (failed(dtype)) return failure();
  Components result;
  std::vector<Operand> operands;
  for (const Entity &part : parts) {
    FailureOr<Value> tensor = asTensor(part, valueNode, operation);
    if (failed(tensor)) return failure();
    FailureOr<Value> converted = *dtype ? castValue(*tensor, *dtype, call.node) : tensor;
    if (failed(converted)) return failure();
    result.tensors.push_back(*converted);
    operands.push_back({part, valueNode, "component"});
  }
  FailureOr<Shape> shape = broadcastShapes(operands, result.tensors, call.node);
  if (failed(shape)) return failure();
  result.shape = *shape;
  for (auto [tensor, given] : llvm::zip_equal(result.tensors, identities)) {
    tensor = broadcastTo(tensor, *shape, valueNode);
    Type element = kir::elementType(tensor.getType());
    meet(given, element);
    FailureOr<Value> scalar = asValue(given, identityNode, element);
    if (failed(scalar)) return failure();
    if (kir::elementType(scalar->getType()) != element || !kir::shapeOf(scalar->getType()).empty())
      return error(identityNode) << "identity: expected " << dtypeName(element) << " scalar, got " << describe(given);
    result.rankZero.push_back(isa<KirTensorType>(scalar->getType()));
    result.identities.push_back(scalarOf(*scalar, identityNode));
    result.elements.push_back(element);
  }
  return result;
}

//===- captures ----------------------------------------------------------------------------------------===//

/// Tensors broadcast to the axes that the operation keeps; a rank-zero one is its scalar.
FailureOr<Entity> Lowering::capture(const Entity &entity, NodeId at, ArrayRef<ExtentAttr> kept, Captures &captures) {
  if (entity.isProduct()) {
    Product product;
    product.names = entity.product->names;
    for (const Entity &item : entity.items()) {
      FailureOr<Entity> captured = capture(item, at, kept, captures); // as deep as the author wrote products
      if (failed(captured)) return failure();
      product.items.push_back(*captured);
    }
    Entity result = entity;
    result.product = std::make_shared<const Product>(std::move(product));
    return result;
  }
  if (entity.kind == Entity::Choice && isa<KirTensorType>(entity.value.getType())) {
    FailureOr<Value> value = asValue(entity, at);
    if (failed(value)) return failure();
    return capture(Entity::ofValue(*value), at, kept, captures);
  }
  if (!entity.isTensor()) return entity;
  ArrayRef<ExtentAttr> own = kir::shapeOf(entity.value.getType());
  if (own.empty()) return Entity::ofValue(scalarOf(entity.value, at));
  auto unfit = [&]() -> FailureOr<Entity> {
    return error(at) << "combine_operands: " << describe(entity) << " does not broadcast to the kept axes, " << spell(kept);
  };
  if (own.size() > kept.size()) return unfit();
  for (size_t i = 0; i < own.size(); ++i) {
    ExtentAttr target = kept[kept.size() - own.size() + i];
    if (own[i].getConstant() == 1 || own[i] == target) continue;
    if (target.getConstant() == 1 || relate(own[i], target) == Relation::Different) return unfit();
    checkEqual(target, own[i], at, "combine_operands: extents " + spell(target) + " and " + spell(own[i]));
  }
  captures.tensors.push_back(broadcastTo(entity.value, kept, at));
  return Entity::ofValue(captures.tensors.back());
}

FailureOr<Lowering::Captures> Lowering::captures(Call &call, unsigned position, ArrayRef<ExtentAttr> kept) {
  Captures result;
  if (!call.has(position)) return result;
  if (call[position].kind != Entity::Tuple)
    return error(call.nodes[position]) << "combine_operands: expected a tuple, got " << describe(call[position]);
  for (const Entity &item : call[position].items()) {
    FailureOr<Entity> captured = capture(item, call.nodes[position], kept, result);
    if (failed(captured)) return failure();
    result.arguments.push_back(*captured);
  }
  return result;
}

//===- combine regions ---------------------------------------------------------------------------------===//

LogicalResult Lowering::requireCombine(const Entity &combine, NodeId at) {
  static const StringRef associative[] = {"add", "mul", "maximum", "minimum", "maximum_num", "minimum_num"};
  if (combine.kind == Entity::Function || (combine.kind == Entity::Intrinsic && llvm::is_contained(associative, combine.text)))
    return success();
  return error(at) << "combine: expected an @intent.fn or one of I." << llvm::join(ArrayRef(associative), ", I.") << ", got "
                   << describe(combine);
}

/// The region that combines two scalars by a built-in operation.
void Lowering::fillCombine(Region &region, BinaryKind kind, Type element, NodeId at) {
  OpBuilder::InsertionGuard guard(builder);
  Block &body = region.emplaceBlock();
  Value a = body.addArgument(element, location(at)), b = body.addArgument(element, location(at));
  builder.setInsertionPointToStart(&body);
  Value combined = make<kir::BinaryOp>(at, element, kind, a, b, false, false);
  make<kir::YieldOp>(at, ValueRange{combined});
}

/// What captured tensors stand for inside the region.
static Entity substitute(const Entity &entity, const llvm::DenseMap<Value, Value> &arguments) {
  Entity result = entity;
  if (entity.isTensor()) result.value = arguments.lookup(entity.value);
  if (!entity.isProduct()) return result;
  Product product;
  product.names = entity.product->names;
  for (const Entity &item : entity.items())
    product.items.push_back(substitute(item, arguments));
  result.product = std::make_shared<const Product>(std::move(product));
  return result;
}

/// The region that calls `combine(lhs, rhs, *operands)` on scalars in the structure of `like`.
LogicalResult Lowering::fillCombine(Region &region, const Entity &like, ArrayRef<Type> elements, const Captures &captures,
                                    const Entity &combine, NodeId at) {
  if (failed(requireCombine(combine, at)) || failed(enterRegion(at))) return failure();
  OpBuilder::InsertionGuard guard(builder);
  Block &body = region.emplaceBlock();
  SmallVector<Location> locations(elements.size(), location(at));
  body.addArguments(elements, locations);
  body.addArguments(elements, locations);
  llvm::DenseMap<Value, Value> captured;
  for (Value tensor : captures.tensors)
    captured[tensor] = body.addArgument(kir::elementType(tensor.getType()), location(at));
  builder.setInsertionPointToStart(&body);
  SmallVector<Value> scalars(body.getArguments().take_front(2 * elements.size()));
  size_t next = 0;
  std::vector<Entity> arguments{rebuild(like, scalars, next)};
  arguments.push_back(rebuild(like, scalars, next));
  for (const Entity &argument : captures.arguments)
    arguments.push_back(substitute(argument, captured));
  FailureOr<Entity> combined = callPure(combine, arguments, at, "a combine function");
  if (failed(combined) || failed(matchStructure(like, *combined, at, "combine result"))) return failure();
  std::vector<Entity> outputs;
  if (failed(flatten(*combined, at, outputs, "combine result"))) return failure();
  SmallVector<Value> yielded;
  for (auto [output, element] : llvm::zip_equal(outputs, elements)) {
    meet(output, element);
    FailureOr<Value> scalar = asValue(output, at, element);
    if (failed(scalar)) return failure();
    if (scalar->getType() != element)
      return error(at) << "combine result: expected " << dtypeName(element) << " scalar, got " << describe(Entity::ofValue(*scalar));
    yielded.push_back(*scalar);
  }
  make<kir::YieldOp>(at, yielded);
  return success();
}

/// Inlines a call that must have no effects.
FailureOr<Entity> Lowering::callPure(const Entity &callee, ArrayRef<Entity> arguments, NodeId at, StringRef role) {
  llvm::SaveAndRestore<unsigned> pure(pureRegions, pureRegions + 1), nesting(regionDepth, regionDepth + 1);
  llvm::SaveAndRestore<StringRef> what(pureRole, role);
  SmallVector<NodeId> nodes(arguments.size(), at);
  return apply(callee, arguments, nodes, at);
}
