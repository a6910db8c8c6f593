// Element-wise functions.
#include "Lowering.h"

using namespace mlir;
using namespace intent;
using namespace intent::frontend;

FailureOr<Entity> Lowering::lowerUnary(Call &call) {
  auto kind = static_cast<UnaryKind>(call.intrinsic->kind);
  std::string operation = ("I." + call.intrinsic->path).str();
  if (std::optional<Entity> open = joinOpen(call[0], kind != UnaryKind::Abs)) return *open;
  FailureOr<Value> value = asValue(call[0], call.nodes[0]);
  if (failed(value)) return failure();
  if (kind != UnaryKind::Abs && call[0].isLiteral() && !isa<FloatType>(kir::elementType(value->getType())))
    value = asValue(call[0], call.nodes[0], builder.getF64Type()); // an integer literal takes a float dtype here
  Type element = kir::elementType(value->getType());
  if (failed(kind == UnaryKind::Abs ? requireArithmetic(element, call.nodes[0], operation)
                                    : requireFloat(element, call.nodes[0], operation)))
    return failure();
  bool flags[2] = {false, false};
  for (unsigned i = 0; i < 2 && i + 1 < call.arguments.size(); ++i) {
    if (!call.has(i + 1)) continue;
    FailureOr<bool> flag = constantBool(call[i + 1], call.nodes[i + 1], i == 0 ? "approximate" : "flush_to_zero");
    if (failed(flag)) return failure();
    flags[i] = *flag;
  }
  if (flags[0] && !element.isF32()) return error(call.node) << operation << ": approximate=True takes f32, got " << dtypeName(element);
  if (flags[1] && !flags[0]) return error(call.node) << operation << ": flush_to_zero=True needs approximate=True";
  return Entity::ofValue(make<kir::UnaryOp>(call.node, value->getType(), kind, *value, flags[0], flags[1]));
}

FailureOr<Entity> Lowering::lowerBinary(Call &call) {
  return arithmetic(static_cast<BinaryKind>(call.intrinsic->kind), ("I." + call.intrinsic->path).str(), {call[0], call.nodes[0], "lhs"},
                    {call[1], call.nodes[1], "rhs"}, call.node);
}

FailureOr<Entity> Lowering::lowerFdiv(Call &call) {
  bool flags[2] = {false, false};
  for (unsigned i = 0; i < 2; ++i) {
    if (!call.has(i + 2)) continue;
    FailureOr<bool> flag = constantBool(call[i + 2], call.nodes[i + 2], i == 0 ? "approximate" : "flush_to_zero");
    if (failed(flag)) return failure();
    flags[i] = *flag;
  }
  Operand operands[] = {{call[0], call.nodes[0], "lhs"}, {call[1], call.nodes[1], "rhs"}};
  FailureOr<SmallVector<Value>> values = sameDtype(operands, call.node, "I.fdiv");
  if (failed(values)) return failure();
  Type element = kir::elementType((*values)[0].getType());
  if (failed(requireFloat(element, call.node, "I.fdiv"))) return failure();
  if (flags[0] && !element.isF32()) return error(call.node) << "I.fdiv: approximate=True takes f32, got " << dtypeName(element);
  if (flags[1] && !flags[0]) return error(call.node) << "I.fdiv: flush_to_zero=True needs approximate=True";
  values = alike(operands, call.node, "I.fdiv");
  if (failed(values)) return failure();
  return Entity::ofValue(
      make<kir::BinaryOp>(call.node, (*values)[0].getType(), BinaryKind::Div, (*values)[0], (*values)[1], flags[0], flags[1]));
}

FailureOr<Entity> Lowering::lowerFma(Call &call) {
  Operand operands[] = {{call[0], call.nodes[0], "a"}, {call[1], call.nodes[1], "b"}, {call[2], call.nodes[2], "c"}};
  FailureOr<SmallVector<Value>> values = sameDtype(operands, call.node, "I.fma");
  if (failed(values)) return failure();
  if (failed(requireFloat(kir::elementType((*values)[0].getType()), call.node, "I.fma"))) return failure();
  values = alike(operands, call.node, "I.fma");
  if (failed(values)) return failure();
  return Entity::ofValue(make<kir::FmaOp>(call.node, (*values)[0].getType(), (*values)[0], (*values)[1], (*values)[2]));
}
