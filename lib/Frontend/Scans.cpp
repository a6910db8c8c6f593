// Scans along one axis: the generic one over tensors, tuples and records, and the cumulative ones.
#include "Lowering.h"

using namespace mlir;
using namespace intent;
using namespace intent::frontend;

FailureOr<Entity> Lowering::lowerScan(Call &call) {
  FailureOr<Components> parts = components(call, 2, 7);
  if (failed(parts)) return failure();
  FailureOr<int64_t> axis = axisArgument(call[1], parts->shape.size(), call.nodes[1]);
  if (failed(axis)) return failure();
  bool flags[2] = {true, false};
  for (unsigned i = 0; i < 2; ++i) {
    if (!call.has(5 + i)) continue;
    FailureOr<bool> flag = constantBool(call[5 + i], call.nodes[5 + i], i == 0 ? "inclusive" : "reverse");
    if (failed(flag)) return failure();
    flags[i] = *flag;
  }
  Shape kept(parts->shape);
  kept.erase(kept.begin() + *axis);
  FailureOr<Captures> captured = captures(call, 4, kept);
  if (failed(captured)) return failure();
  auto scan = make<kir::ScanOp>(call.node, ValueRange(parts->tensors).getTypes(), parts->tensors, parts->identities, captured->tensors,
                                *axis, !flags[0], flags[1]);
  if (failed(fillCombine(scan.getCombine(), call[0], parts->elements, *captured, call[3], call.nodes[3]))) return failure();
  SmallVector<Value> values(scan.getResults());
  size_t next = 0;
  return rebuild(call[0], values, next);
}

FailureOr<Entity> Lowering::lowerCumulative(Call &call) {
  StringRef name = call.intrinsic->path;
  std::string operation = ("I." + name).str();
  BinaryKind kind = name == "cumsum" ? BinaryKind::Add : name == "cummax" ? BinaryKind::Maximum : BinaryKind::Mul;
  FailureOr<Value> value = asTensor(call[0], call.nodes[0], operation);
  if (failed(value)) return failure();
  FailureOr<int64_t> axis = axisArgument(call[1], kir::shapeOf(value->getType()).size(), call.nodes[1]);
  if (failed(axis)) return failure();
  bool flags[2] = {true, false};
  for (unsigned i = 0; i < 2; ++i) {
    if (!call.has(2 + i)) continue;
    FailureOr<bool> flag = constantBool(call[2 + i], call.nodes[2 + i], i == 0 ? "inclusive" : "reverse");
    if (failed(flag)) return failure();
    flags[i] = *flag;
  }
  Type own = kir::elementType(value->getType());
  FailureOr<Type> element = accDtype(call, 4, kind == BinaryKind::Add ? widenedBySums(own) : own);
  if (failed(element)) return failure();
  if (element->isInteger(1)) return error(call.nodes[0]) << operation << " does not take bool; convert with I.cast";
  if (kind != BinaryKind::Maximum && failed(requireArithmetic(*element, call.nodes[0], operation))) return failure();
  FailureOr<Value> converted = castValue(*value, *element, call.node);
  if (failed(converted)) return failure();
  Value identity = make<kir::ConstantOp>(call.node, *element, identityOf(kind, *element));
  auto scan = make<kir::ScanOp>(call.node, TypeRange{converted->getType()}, ValueRange{*converted}, ValueRange{identity}, ValueRange(),
                                *axis, !flags[0], flags[1]);
  fillCombine(scan.getCombine(), kind, *element, call.node);
  return Entity::ofValue(scan.getResult(0));
}
