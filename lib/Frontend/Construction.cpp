// Operations that make, convert and rearrange values.
#include "Lowering.h"

#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace intent;
using namespace intent::frontend;

//===- shapes ------------------------------------------------------------------------------------------===//

/// The extents of a shape argument. `inferred` allows one `...` and receives its position, else -1.
FailureOr<Shape> Lowering::shapeArgument(const Entity &entity, NodeId at, int *inferred) {
  Shape shape;
  if (inferred) *inferred = -1;
  std::vector<Entity> items = entity.kind == Entity::Tuple ? entity.items() : std::vector<Entity>{entity};
  for (const Entity &item : items) {
    if (item.isLiteral(Constant::Ellipsis)) {
      if (!inferred) return error(at) << "'...' stands only in the shape of I.reshape";
      if (*inferred >= 0) return error(at) << "a shape has one '...' at most";
      *inferred = shape.size();
      shape.push_back(known(1));
      continue;
    }
    if (item.isLiteral(Constant::Str)) {
      if (auto extent = constexprs.find(item.constant->text); extent != constexprs.end()) {
        FailureOr<int64_t> size = constantInt(Entity::ofConstant(extent->second), at, "shape");
        if (failed(size)) return failure();
        shape.push_back(known(*size));
        continue;
      }
      if (auto pin = request.extents.find(item.constant->text); pin != request.extents.end()) {
        shape.push_back(known(pin->second));
        continue;
      }
      if (!symbols.contains(item.constant->text)) return error(at) << "no view has the symbol \"" << item.constant->text << "\"";
      shape.push_back(ExtentAttr::atom(context, item.constant->text));
      continue;
    }
    if (item.kind == Entity::Length) {
      shape.push_back(item.extent);
      continue;
    }
    FailureOr<Value> value = asIndex(item, at, "shape");
    if (failed(value)) return failure();
    ExtentAttr extent = extentOf(*value);
    if (std::optional<int64_t> size = extent.getConstant(); size && *size < 0)
      return error(at) << "shape: an extent is not negative, got " << *size;
    if (request.check) require(*value, indexConstant(0, at), {}, at, "shape: extent");
    shape.push_back(extent);
  }
  return shape;
}

FailureOr<Entity> Lowering::lowerFull(Call &call) {
  FailureOr<Shape> shape = shapeArgument(call[0], call.nodes[0]);
  if (failed(shape)) return failure();
  FailureOr<Type> element = constantDtype(call[2], call.nodes[2]);
  if (failed(element)) return failure();
  meet(call[1], *element);
  FailureOr<Value> fill = asValue(call[1], call.nodes[1], *element);
  if (failed(fill)) return failure();
  if (!kir::shapeOf(fill->getType()).empty()) return error(call.nodes[1]) << "I.full: expected a scalar fill, got " << describe(call[1]);
  if (kir::elementType(fill->getType()) != *element)
    return error(call.nodes[1]) << "I.full: fill is " << describe(call[1]) << " and dtype " << dtypeName(*element)
                                << "; convert it with I.cast";
  return Entity::ofValue(broadcastTo(*fill, *shape, call.node));
}

FailureOr<Entity> Lowering::lowerZeros(Call &call) {
  FailureOr<Shape> shape = shapeArgument(call[0], call.nodes[0]);
  if (failed(shape)) return failure();
  FailureOr<Type> element = constantDtype(call[1], call.nodes[1]);
  if (failed(element)) return failure();
  FailureOr<Value> zero = literalValue(Constant::ofInt(0), *element, call.node);
  if (failed(zero)) return failure();
  return Entity::ofValue(broadcastTo(*zero, *shape, call.node));
}

static ExtentAttr product(ArrayRef<ExtentAttr> shape, MLIRContext *context) {
  ExtentAttr total = ExtentAttr::constant(context, 1);
  for (ExtentAttr extent : shape)
    total = total * extent;
  return total;
}

/// `whole / part` if that is a polynomial with no remainder and `part` is one term.
static std::optional<ExtentAttr> quotient(ExtentAttr whole, ExtentAttr part, MLIRContext *context) {
  if (part.getCoefficients().size() != 1 || part.getCoefficients()[0] == 0) return std::nullopt;
  ExtentAttr sum = ExtentAttr::constant(context, 0);
  for (auto [coefficient, monomial] : llvm::zip_equal(whole.getCoefficients(), whole.getMonomials())) {
    if (coefficient % part.getCoefficients()[0]) return std::nullopt;
    ExtentAttr term = ExtentAttr::constant(context, coefficient / part.getCoefficients()[0]);
    SmallVector<Attribute> rest(monomial.getValue());
    for (Attribute atom : part.getMonomials()[0]) {
      auto found = llvm::find(rest, atom);
      if (found == rest.end()) return std::nullopt;
      rest.erase(found);
    }
    for (Attribute atom : rest)
      term = term * ExtentAttr::atom(context, cast<StringAttr>(atom).getValue());
    sum = sum + term;
  }
  return sum;
}

FailureOr<Entity> Lowering::lowerReshape(Call &call) {
  FailureOr<Value> value = asTensor(call[0], call.nodes[0], "I.reshape");
  if (failed(value)) return failure();
  int inferred = -1;
  FailureOr<Shape> shape = shapeArgument(call[1], call.nodes[1], &inferred);
  if (failed(shape)) return failure();
  ArrayRef<ExtentAttr> from = kir::shapeOf(value->getType());
  if (from.size() > 12 || shape->size() > 12) return error(call.node) << "I.reshape takes shapes of rank up to 12";
  // Extents that both sides share cancel before anything is multiplied out.
  Shape source(from), target;
  for (auto [i, extent] : llvm::enumerate(*shape)) {
    if (static_cast<int>(i) == inferred) continue;
    auto found = llvm::find(source, extent);
    if (found == source.end() || extent.getConstant() == 0) target.push_back(extent);
    else source.erase(found);
  }
  ExtentAttr total = product(source, context), wanted = product(target, context);
  if (inferred >= 0) {
    std::optional<ExtentAttr> rest = quotient(total, wanted, context);
    if (!rest && total.getConstant() && wanted.getConstant())
      return error(call.nodes[1]) << "I.reshape: " << spell(from) << " has " << spell(product(from, context))
                                  << " elements, which do not divide into " << spell(*shape) << " with one '...'";
    if (!rest && (dependsOnSlice(total) || dependsOnSlice(wanted)))
      return error(call.nodes[1]) << "I.reshape: " << spell(from) << " to " << spell(*shape)
                                  << " with one '...' depends on the extent of a slice";
    if (!rest) {
      Value elements = extentValue(total, call.node), divisor = extentValue(wanted, call.node);
      Value count = make<kir::BinaryOp>(call.node, elements.getType(), BinaryKind::FloorDiv, elements, divisor, false, false);
      rest = extentOf(count);
      checkEqual(total, *rest * wanted, call.node, "reshape: " + spell(total) + " elements and a multiple of " + spell(wanted));
    }
    (*shape)[inferred] = *rest;
  } else if (total != wanted) {
    if ((total.getConstant() && wanted.getConstant()) || dependsOnSlice(total) || dependsOnSlice(wanted))
      return error(call.nodes[1]) << "I.reshape: " << spell(from) << " has " << spell(product(from, context)) << " elements, "
                                  << spell(*shape) << " has " << spell(product(*shape, context));
    checkEqual(total, wanted, call.node, "reshape: " + spell(from) + " and " + spell(*shape) + " hold equally many elements");
  }
  if (from == ArrayRef(*shape)) return Entity::ofValue(*value);
  return Entity::ofValue(make<kir::ReshapeOp>(call.node, tensorType(kir::elementType(value->getType()), *shape), *value));
}

//===- conversions -------------------------------------------------------------------------------------===//

FailureOr<Value> Lowering::castValue(Value value, Type element, NodeId at) {
  if (kir::elementType(value.getType()) == element) return value;
  return make<kir::CastOp>(at, kir::withElement(value.getType(), element), value).getResult();
}

FailureOr<Entity> Lowering::castEntity(const Entity &entity, Type element, NodeId at) {
  if (entity.isNumber()) {
    // A literal that the dtype holds is that constant; any other converts as a value of its own dtype would.
    const Constant &literal = *entity.constant;
    bool integer = literal.kind != Constant::Float;
    bool toInteger = !isa<FloatType>(element);
    bool holds = !toInteger || integer;
    if (holds && !literal.tooWide) {
      ScopedDiagnosticHandler quiet(context, [](Diagnostic &) { return success(); });
      if (FailureOr<TypedAttr> attr = literalAttr(literal, element, at); succeeded(attr))
        return Entity::ofValue(make<kir::ConstantOp>(at, element, *attr));
    }
  }
  // A choice of literals is one of that dtype unless that would lose its fraction.
  bool direct = entity.kind == Entity::Choice && (isa<FloatType>(element) || !defaultElement(entity).isF64());
  FailureOr<Value> value = asValue(entity, at, direct ? element : Type());
  if (failed(value)) return failure();
  FailureOr<Value> converted = castValue(*value, element, at);
  if (failed(converted)) return failure();
  return Entity::ofValue(*converted);
}

FailureOr<Entity> Lowering::lowerCast(Call &call) {
  FailureOr<Type> element = constantDtype(call[1], call.nodes[1]);
  if (failed(element)) return failure();
  if (!call[0].isUntyped() && failed(asValue(call[0], call.nodes[0]))) return failure();
  return castEntity(call[0], *element, call.node);
}

FailureOr<Entity> Lowering::lowerBitcast(Call &call) {
  FailureOr<Value> value = asValue(call[0], call.nodes[0]);
  if (failed(value)) return failure();
  FailureOr<Type> element = constantDtype(call[1], call.nodes[1]);
  if (failed(element)) return failure();
  Type own = kir::elementType(value->getType());
  if (own.isInteger(1) || element->isInteger(1)) return error(call.node) << "I.bitcast does not take bool; use I.cast";
  if (storageBytes(own) != storageBytes(*element))
    return error(call.node) << "I.bitcast: expected dtypes of equal width, got " << dtypeName(own) << " and " << dtypeName(*element);
  if (own == *element) return Entity::ofValue(*value);
  return Entity::ofValue(make<kir::BitcastOp>(call.node, kir::withElement(value->getType(), *element), *value));
}

//===- rearrangement and choice ------------------------------------------------------------------------===//

FailureOr<Entity> Lowering::lowerTranspose(Call &call) {
  FailureOr<Value> value = asTensor(call[0], call.nodes[0], "I.transpose");
  if (failed(value)) return failure();
  ArrayRef<ExtentAttr> from = kir::shapeOf(value->getType());
  int64_t rank = from.size();
  SmallVector<int64_t> permutation;
  if (!call.has(1) || call[1].isLiteral(Constant::None)) {
    for (int64_t i = rank; i > 0; --i)
      permutation.push_back(i - 1);
  } else {
    if (call[1].kind != Entity::Tuple) return error(call.nodes[1]) << "I.transpose: expected a tuple of axes, got " << describe(call[1]);
    llvm::SmallBitVector seen(rank);
    for (const Entity &item : call[1].items()) {
      FailureOr<int64_t> axis = constantInt(item, call.nodes[1], "permutation");
      if (failed(axis)) return failure();
      int64_t at = *axis < 0 ? *axis + rank : *axis;
      if (at < 0 || at >= rank || seen[at])
        return error(call.nodes[1]) << "I.transpose: expected a permutation of " << rank << " axes, got axis " << *axis
                                    << (at >= 0 && at < rank ? " twice" : "");
      seen.set(at);
      permutation.push_back(at);
    }
    if (static_cast<int64_t>(permutation.size()) != rank)
      return error(call.nodes[1]) << "I.transpose: expected a permutation of " << rank << " axes, got "
                                  << static_cast<unsigned>(permutation.size());
  }
  if (llvm::is_sorted(permutation)) return Entity::ofValue(*value);
  Shape shape;
  for (int64_t axis : permutation)
    shape.push_back(from[axis]);
  return Entity::ofValue(make<kir::TransposeOp>(call.node, tensorType(kir::elementType(value->getType()), shape), *value,
                                                builder.getDenseI64ArrayAttr(permutation)));
}

FailureOr<Entity> Lowering::lowerJoin(Call &call) {
  FailureOr<SmallVector<Value>> values = alike({{call[0], call.nodes[0], "lhs"}, {call[1], call.nodes[1], "rhs"}}, call.node, "I.join");
  if (failed(values)) return failure();
  Type type = (*values)[0].getType();
  Shape shape(kir::shapeOf(type));
  shape.push_back(known(2));
  return Entity::ofValue(make<kir::JoinOp>(call.node, tensorType(kir::elementType(type), shape), (*values)[0], (*values)[1]));
}

FailureOr<Entity> Lowering::lowerRecord(Call &call) {
  if (call.keywords.empty()) return error(call.node) << "I.record takes at least one field";
  Product product;
  for (auto [name, entity, node] : llvm::zip_equal(call.keywords, call.arguments, call.nodes)) {
    if (entity->kind == Entity::View) return error(node) << "a record holds values, got " << describe(*entity);
    product.names.push_back(name);
    product.items.push_back(*entity);
  }
  Entity record;
  record.kind = Entity::Record;
  record.product = std::make_shared<const Product>(std::move(product));
  return record;
}

FailureOr<Entity> Lowering::selectEntities(Operand condition, Operand a, Operand b, NodeId at) {
  FailureOr<Value> chosen = asValue(condition.entity, condition.node);
  if (failed(chosen)) return failure();
  Type element = kir::elementType(chosen->getType());
  if (!element.isInteger(1)) return error(condition.node) << condition.role << ": expected bool, got " << describe(condition.entity);
  if (!isa<KirTensorType>(chosen->getType()))
    if (std::optional<Entity> open = joinOpen({a.entity, b.entity}, false)) return *open;
  // Two literals take their dtype where the choice is used.
  Entity choice = Entity::ofChoice(*chosen, a.entity, b.entity);
  if (a.entity.isUntyped() && b.entity.isUntyped() && !defaultElement(choice).isInteger(1)) return choice;
  FailureOr<SmallVector<Value>> values = sameDtype({a, b}, at, "I.select");
  if (failed(values)) return failure();
  values->push_back(*chosen);
  Operand operands[] = {a, b, condition};
  if (llvm::any_of(*values, [](Value v) { return isa<KirTensorType>(v.getType()); })) {
    FailureOr<Shape> shape = broadcastShapes(operands, *values, at);
    if (failed(shape)) return failure();
    for (auto [i, value] : llvm::enumerate(*values))
      if (i < 2 || isa<KirTensorType>(value.getType())) value = broadcastTo(value, *shape, operands[i].node);
  }
  return Entity::ofValue(make<kir::SelectOp>(at, (*values)[0].getType(), (*values)[2], (*values)[0], (*values)[1]));
}

FailureOr<Entity> Lowering::lowerSelect(Call &call) {
  return selectEntities({call[0], call.nodes[0], "I.select: condition"}, {call[1], call.nodes[1], "true value"},
                        {call[2], call.nodes[2], "false value"}, call.node);
}

FailureOr<Entity> Lowering::lowerMask(Call &call) {
  return selectEntities({call[1], call.nodes[1], "I.mask: valid"}, {call[0], call.nodes[0], "value"}, {call[2], call.nodes[2], "fill"},
                        call.node);
}
