// Domains and what is asked of them.
#include "Lowering.h"

using namespace mlir;
using namespace intent;
using namespace intent::frontend;
using kir::DomainType;

Entity Lowering::regionEntity(Value domain, Value begin, Value end, Value step) {
  Entity entity;
  entity.kind = Entity::Domain;
  entity.value = domain;
  entity.region = std::make_shared<const Bounds>(Bounds{begin, end, step});
  return entity;
}

/// Rounded down, where what the divisor does not divide is a constant.
static std::optional<ExtentAttr> quotient(ExtentAttr extent, int64_t divisor) {
  MLIRContext *context = extent.getContext();
  ExtentAttr result = ExtentAttr::constant(context, 0);
  for (auto [coefficient, monomial] : llvm::zip_equal(extent.getCoefficients(), extent.getMonomials())) {
    ExtentAttr term = ExtentAttr::constant(context, llvm::divideFloorSigned(coefficient, divisor));
    if (!monomial.empty() && coefficient % divisor != 0) return std::nullopt;
    for (Attribute atom : monomial)
      term = term * ExtentAttr::atom(context, cast<StringAttr>(atom).getValue());
    result = result + term;
  }
  return result;
}

/// `nodes` are those of start, stop and step; a null `stop` means 0..start.
FailureOr<Entity> Lowering::makeDomain(const Entity &start, const Entity *stop, const Entity *step, ArrayRef<NodeId> nodes, NodeId at) {
  FailureOr<Value> begin = asIndex(stop ? start : Entity::ofInt(0), nodes[0], "domain start");
  if (failed(begin)) return failure();
  FailureOr<Value> end = asIndex(stop ? *stop : start, stop ? nodes[1] : nodes[0], "domain stop");
  if (failed(end)) return failure();
  FailureOr<Value> stride = asIndex(step ? *step : Entity::ofInt(1), nodes[2], "domain step");
  if (failed(stride)) return failure();
  ExtentAttr extent = extentOf(*end) - extentOf(*begin), by = extentOf(*stride);
  std::optional<int64_t> knownStep = by.getConstant(), knownLength = extent.getConstant();
  if (knownStep && *knownStep <= 0) return error(nodes[2]) << "domain step: expected a positive step, got " << *knownStep;
  if (request.check) require(*stride, indexConstant(1, at), {}, nodes[2], "domain step");
  if (knownLength && *knownLength < 0) {
    extent = known(0);
  } else if (knownStep && knownLength) {
    extent = known(*knownLength / *knownStep + (*knownLength % *knownStep != 0));
  } else if (std::optional<ExtentAttr> steps = knownStep ? quotient(extent + known(*knownStep - 1), *knownStep) : std::nullopt) {
    extent = *steps;
  } else if (knownStep != 1) {
    auto op = [&](BinaryKind kind, Value l, Value r) { return indexOp(kind, l, r, at); };
    Value reach = op(BinaryKind::Add, op(BinaryKind::Sub, *end, *begin), op(BinaryKind::Sub, *stride, indexConstant(1, at)));
    extent = extentOf(op(BinaryKind::FloorDiv, reach, *stride));
  }
  Value domain = unique(make<kir::DomainOp>(at, DomainType::get(context, publish(extent)), *begin, *end, *stride));
  return regionEntity(domain, *begin, *end, *stride);
}

FailureOr<Entity> Lowering::lowerDomain(Call &call) {
  bool stop = call.has(1) && !call[1].isLiteral(Constant::None);
  return makeDomain(call[0], stop ? &call[1] : nullptr, call.has(2) ? &call[2] : nullptr, call.nodes, call.node);
}

FailureOr<Entity> Lowering::lowerParallel(Call &call) {
  const Entity &source = call[0];
  if (source.kind == Entity::Domain) {
    Entity entity = Entity::ofTuple({source});
    entity.kind = Entity::Parallel;
    return entity;
  }
  if (source.kind != Entity::Tuple)
    return error(call.nodes[0]) << "I.parallel takes a domain or a tuple of domains, got " << describe(source);
  if (source.items().empty()) return error(call.nodes[0]) << "I.parallel takes at least one domain";
  for (const Entity &item : source.items())
    if (item.kind != Entity::Domain) return error(call.nodes[0]) << "I.parallel takes domains, got " << describe(item);
  Entity entity = source;
  entity.kind = Entity::Parallel;
  entity.text = "tuple";
  return entity;
}

FailureOr<Entity> Lowering::lowerIndices(Call &call) {
  auto indices = [&](const Entity &region) -> Entity {
    ExtentAttr extent = cast<DomainType>(region.value.getType()).getExtent();
    return Entity::ofValue(make<kir::IndicesOp>(call.node, tensorType(builder.getIndexType(), {extent}), region.value));
  };
  if (call[0].kind == Entity::Domain) return indices(call[0]);
  if (call[0].kind != Entity::Tuple)
    return error(call.nodes[0]) << "I.indices takes a domain or a tuple of domains, got " << describe(call[0]);
  std::vector<Entity> items;
  for (const Entity &item : call[0].items()) {
    if (item.kind != Entity::Domain) return error(call.nodes[0]) << "I.indices takes domains, got " << describe(item);
    items.push_back(indices(item));
  }
  return Entity::ofTuple(std::move(items));
}

FailureOr<Entity> Lowering::lowerEnd(Call &call) {
  if (call[0].kind != Entity::Domain) return error(call.nodes[0]) << "I.end takes a domain or subregion, got " << describe(call[0]);
  return Entity::ofValue(call[0].region->end);
}
