// Python operators on values: one dtype, one shape, then one kernel IR operation.
#include "Lowering.h"

using namespace mlir;
using namespace intent;
using namespace intent::frontend;

namespace {
struct Operator {
  StringRef node, spelling;
  std::optional<BinaryKind> kind; // none: '**' and '@'
};
const Operator operators[] = {
    {"Add", "+", BinaryKind::Add},
    {"Sub", "-", BinaryKind::Sub},
    {"Mult", "*", BinaryKind::Mul},
    {"Div", "/", BinaryKind::Div},
    {"FloorDiv", "//", BinaryKind::FloorDiv},
    {"Mod", "%", BinaryKind::Mod},
    {"Pow", "**", std::nullopt},
    {"LShift", "<<", BinaryKind::Shl},
    {"RShift", ">>", BinaryKind::Shr},
    {"BitAnd", "&", BinaryKind::And},
    {"BitOr", "|", BinaryKind::Or},
    {"BitXor", "^", BinaryKind::Xor},
};
struct Comparison {
  StringRef node, spelling;
  ComparePredicate predicate;
};
const Comparison comparisons[] = {
    {"Eq", "==", ComparePredicate::Eq},  {"NotEq", "!=", ComparePredicate::Ne}, {"Lt", "<", ComparePredicate::Lt},
    {"LtE", "<=", ComparePredicate::Le}, {"Gt", ">", ComparePredicate::Gt},     {"GtE", ">=", ComparePredicate::Ge},
};
} // namespace

static bool isF8(Type element) { return isa<Float8E4M3FNType, Float8E5M2Type>(element); }

//===- operands ----------------------------------------------------------------------------------------===//

FailureOr<SmallVector<Value>> Lowering::sameDtype(ArrayRef<Operand> operands, NodeId at, StringRef operation) {
  Type element;
  const Operand *typed = nullptr;
  for (const Operand &operand : operands) {
    if (operand.entity.isUntyped()) continue;
    FailureOr<Value> value = asValue(operand.entity, operand.node);
    if (failed(value)) return failure();
    Type own = kir::elementType(value->getType());
    if (!typed) {
      typed = &operand;
      element = own;
    } else if (own != element) {
      InFlightDiagnostic diagnostic = error(at);
      diagnostic << operation << ": operands share a dtype, got " << dtypeName(element) << " and " << dtypeName(own)
                 << "; convert one with I.cast";
      note(diagnostic, typed->node, Twine(typed->role.empty() ? "operand" : typed->role) + " is " + describe(typed->entity));
      note(diagnostic, operand.node, Twine(operand.role.empty() ? "operand" : operand.role) + " is " + describe(operand.entity));
      return diagnostic;
    }
  }
  if (!element) { // literals alone: the widest kind
    for (const Operand &operand : operands) {
      Type own = defaultElement(operand.entity);
      if (!element || own.isF64() || (own.isInteger(64) && element.isInteger(1))) element = own;
    }
  }
  SmallVector<Value> values;
  for (const Operand &operand : operands) {
    if (typed) meet(operand.entity, element);
    FailureOr<Value> value = asValue(operand.entity, operand.node, element);
    if (failed(value)) return failure();
    values.push_back(*value);
  }
  return values;
}

FailureOr<SmallVector<Value>> Lowering::alike(ArrayRef<Operand> operands, NodeId at, StringRef operation) {
  FailureOr<SmallVector<Value>> values = sameDtype(operands, at, operation);
  if (failed(values)) return failure();
  if (llvm::none_of(*values, [](Value v) { return isa<KirTensorType>(v.getType()); })) return values;
  FailureOr<Shape> shape = broadcastShapes(operands, *values, at);
  if (failed(shape)) return failure();
  for (auto [value, operand] : llvm::zip_equal(*values, operands))
    value = broadcastTo(value, *shape, operand.node);
  return values;
}

LogicalResult Lowering::requireArithmetic(Type element, NodeId at, StringRef operation) {
  if (isF8(element))
    return error(at) << operation << " does not take " << dtypeName(element)
                     << ": 8-bit floats are stored, cast, compared, selected and contracted; convert with I.cast first";
  if (element.isInteger(1)) return error(at) << operation << " does not take bool; use & | ^ ~ or convert with I.cast";
  return success();
}

LogicalResult Lowering::requireFloat(Type element, NodeId at, StringRef operation) {
  if (!isa<FloatType>(element)) return error(at) << operation << " takes floats, got " << dtypeName(element) << "; convert with I.cast";
  return requireArithmetic(element, at, operation);
}

//===- binary ------------------------------------------------------------------------------------------===//

/// Left-nested chains such as a sum of a thousand terms are walked, not recursed into.
FailureOr<Entity> Lowering::evaluateBinOp(NodeId id) {
  SmallVector<NodeId> chain;
  NodeId left = id;
  while (request.node(left).kind == NodeKind::BinOp) {
    chain.push_back(left);
    left = request.node(left).fields[0].id;
  }
  FailureOr<Entity> value = evaluate(left);
  for (NodeId at : llvm::reverse(chain)) {
    if (failed(value)) return failure();
    const Node &node = request.node(at);
    FailureOr<Entity> right = evaluate(node.fields[2].id);
    if (failed(right)) return failure();
    value = operate(node.fields[1].text, {*value, node.fields[0].id, "left operand"}, {*right, node.fields[2].id, "right operand"}, at);
  }
  return value;
}

/// `node` is the operator's class in Python's syntax tree.
FailureOr<Entity> Lowering::operate(StringRef node, Operand l, Operand r, NodeId at) {
  const Operator *op = llvm::find_if(operators, [&](const Operator &o) { return o.node == node; });
  if (op != std::end(operators)) return binary(op->spelling, l, r, at);
  if (node == "MatMult") return error(at) << "operator '@' is not part of the language; use I.matmul";
  return error(at) << "operator '" << node << "' is not part of the language";
}

FailureOr<Entity> Lowering::binary(StringRef op, Operand l, Operand r, NodeId at) {
  if (l.entity.isLiteral() && r.entity.isLiteral()) return foldBinary(op, *l.entity.constant, *r.entity.constant, at);
  if (op == "+" && l.entity.kind == Entity::Tuple && r.entity.kind == Entity::Tuple) {
    std::vector<Entity> items = l.entity.items();
    llvm::append_range(items, r.entity.items());
    return Entity::ofTuple(std::move(items));
  }
  if (op == "**") return power(l, r, at);
  const Operator *found = llvm::find_if(operators, [&](const Operator &o) { return o.spelling == op; });
  return arithmetic(*found->kind, op, l, r, at);
}

FailureOr<Entity> Lowering::arithmetic(BinaryKind kind, StringRef spelling, Operand l, Operand r, NodeId at) {
  if (std::optional<Entity> open = joinOpen({l.entity, r.entity}, kind == BinaryKind::Div)) return *open;
  std::string operation = spelling.starts_with("I.") ? spelling.str() : ("'" + spelling + "'").str();
  FailureOr<SmallVector<Value>> values = sameDtype({l, r}, at, operation);
  if (failed(values)) return failure();
  Type element = kir::elementType((*values)[0].getType());
  bool isFloat = isa<FloatType>(element);
  if (llvm::is_contained({BinaryKind::And, BinaryKind::Or, BinaryKind::Xor}, kind)) {
    if (isFloat) return error(at) << operation << " takes integers and bools, got " << dtypeName(element);
  } else if (failed(requireArithmetic(element, at, operation))) {
    return failure();
  }
  if (llvm::is_contained({BinaryKind::Shl, BinaryKind::Shr}, kind) && isFloat)
    return error(at) << operation << " takes integers, got " << dtypeName(element);
  if (kind == BinaryKind::Div && !isFloat)
    return error(at) << "'/' takes floats, got " << dtypeName(element) << "; use // for integers, or convert with I.cast";
  values = alike({l, r}, at, operation);
  if (failed(values)) return failure();
  return Entity::ofValue(make<kir::BinaryOp>(at, (*values)[0].getType(), kind, (*values)[0], (*values)[1], false, false));
}

/// An integer literal is repeated multiplication (negative: a reciprocal), a float exponent is `pow`.
FailureOr<Entity> Lowering::power(Operand base, Operand exponent, NodeId at) {
  if (std::optional<Entity> open = joinOpen({base.entity, exponent.entity}, false)) return *open;
  if (!exponent.entity.isLiteral(Constant::Int)) {
    FailureOr<SmallVector<Value>> values = sameDtype({base, exponent}, at, "'**'");
    if (failed(values)) return failure();
    Type element = kir::elementType((*values)[0].getType());
    if (!isa<FloatType>(element)) return error(at) << "'**' takes a compile-time integer exponent or floats, got " << dtypeName(element);
    if (failed(requireArithmetic(element, at, "'**'"))) return failure();
    values = alike({base, exponent}, at, "'**'");
    if (failed(values)) return failure();
    return Entity::ofValue(make<kir::BinaryOp>(at, (*values)[0].getType(), BinaryKind::Pow, (*values)[0], (*values)[1], false, false));
  }
  FailureOr<Value> value = asValue(base.entity, base.node);
  if (failed(value)) return failure();
  Type type = value->getType(), element = kir::elementType(type);
  if (failed(requireArithmetic(element, at, "'**'"))) return failure();
  WideInt count = exponent.entity.constant->integer;
  bool negative = count < 0;
  if (negative && !isa<FloatType>(element))
    return error(exponent.node) << "'**' with a negative exponent takes floats, got " << dtypeName(element);
  if (negative) count = -count;
  if (count > 1 << 20)
    return error(exponent.node) << "'**' takes an exponent of magnitude up to 1048576, got " << exponent.entity.constant->spell();
  auto one = [&]() -> Value {
    Value scalar = *literalValue(Constant::ofInt(1), element, at);
    return isa<KirTensorType>(type) ? broadcastTo(scalar, kir::shapeOf(type), at) : scalar;
  };
  Value result, factor = *value;
  for (; count > 0; count >>= 1) {
    if (count & 1) result = result ? make<kir::BinaryOp>(at, type, BinaryKind::Mul, result, factor, false, false).getResult() : factor;
    if (count > 1) factor = make<kir::BinaryOp>(at, type, BinaryKind::Mul, factor, factor, false, false);
  }
  if (!result) return Entity::ofValue(one());
  if (negative) result = make<kir::BinaryOp>(at, type, BinaryKind::Div, one(), result, false, false);
  return Entity::ofValue(result);
}

//===- unary -------------------------------------------------------------------------------------------===//

FailureOr<Entity> Lowering::evaluateUnaryOp(NodeId id) {
  // Chains of signs are walked, not recursed into.
  SmallVector<NodeId> chain;
  NodeId operand = id;
  for (; request.node(operand).kind == NodeKind::UnaryOp; operand = request.node(operand).fields[1].id)
    chain.push_back(operand);
  FailureOr<Entity> value = evaluate(operand);
  for (NodeId at : llvm::reverse(chain)) {
    if (failed(value)) return failure();
    StringRef op = request.node(at).fields[0].text;
    if (op == "Not") {
      if (std::optional<bool> known = truth(*value)) {
        value = Entity::ofBool(!*known);
        continue;
      }
      FailureOr<Value> condition = asCondition(*value, at, "'not'");
      if (failed(condition)) return failure();
      value = Entity::ofValue(make<kir::UnaryOp>(at, condition->getType(), UnaryKind::Not, *condition, false, false));
      continue;
    }
    StringRef spelling = op == "USub" ? "-" : op == "UAdd" ? "+" : op == "Invert" ? "~" : "";
    if (spelling.empty()) return error(at) << "operator '" << op << "' is not part of the language";
    if (std::optional<Entity> open = joinOpen(*value, false)) {
      value = *open;
      continue;
    }
    if (value->isLiteral()) {
      value = foldUnary(spelling, *value->constant, at);
      continue;
    }
    FailureOr<Value> v = asValue(*value, at);
    if (failed(v)) return failure();
    Type element = kir::elementType(v->getType());
    std::string operation = ("'" + spelling + "'").str();
    if (spelling == "~" && isa<FloatType>(element)) return error(at) << "'~' takes integers and bools, got " << dtypeName(element);
    if (spelling != "~" && failed(requireArithmetic(element, at, operation))) return failure();
    if (spelling == "+") {
      value = Entity::ofValue(*v);
      continue;
    }
    value = Entity::ofValue(make<kir::UnaryOp>(at, v->getType(), spelling == "-" ? UnaryKind::Neg : UnaryKind::Not, *v, false, false));
  }
  return value;
}

//===- comparisons -------------------------------------------------------------------------------------===//

FailureOr<Entity> Lowering::compare(StringRef op, Operand l, Operand r, NodeId at) {
  auto asConstant = [](const Entity &entity) -> std::optional<Constant> {
    if (entity.isLiteral()) return *entity.constant;
    return std::nullopt;
  };
  if (l.entity.kind == Entity::Tuple && r.entity.kind == Entity::Tuple && (op == "==" || op == "!=")) {
    bool equal = l.entity.items().size() == r.entity.items().size();
    for (size_t i = 0; equal && i < l.entity.items().size(); ++i) {
      std::optional<Constant> a = asConstant(l.entity.items()[i]), b = asConstant(r.entity.items()[i]);
      if (!a || !b) return error(at) << "'" << op << "' on tuples takes compile-time items";
      FailureOr<bool> item = foldCompare("==", *a, *b, at);
      if (failed(item)) return failure();
      equal = *item;
    }
    return Entity::ofBool(equal == (op == "=="));
  }
  std::optional<Constant> a = asConstant(l.entity), b = asConstant(r.entity);
  if (a && b) {
    FailureOr<bool> result = foldCompare(op, *a, *b, at);
    if (failed(result)) return failure();
    return Entity::ofBool(*result);
  }
  if ((a && !a->isNumber()) || (b && !b->isNumber()))
    return error(at) << "cannot compare " << describe(l.entity) << " with " << describe(r.entity);
  FailureOr<SmallVector<Value>> values = alike({l, r}, at, ("'" + op + "'").str());
  if (failed(values)) return failure();
  const Comparison *found = llvm::find_if(comparisons, [&](const Comparison &c) { return c.spelling == op; });
  Type type = kir::withElement((*values)[0].getType(), builder.getI1Type());
  return Entity::ofValue(make<kir::CompareOp>(at, type, found->predicate, (*values)[0], (*values)[1]));
}

FailureOr<Entity> Lowering::evaluateCompare(NodeId id) {
  const Node &node = request.node(id);
  ArrayRef<std::string> ops = node.fields[1].texts;
  ArrayRef<NodeId> comparators = node.fields[2].list;
  if (ops.empty() || ops.size() != comparators.size()) return error(id) << "a comparison has one operand per operator";
  NodeId leftNode = node.fields[0].id;
  FailureOr<Entity> left = evaluate(leftNode);
  if (failed(left)) return failure();
  Entity result;
  for (auto [op, comparator] : llvm::zip_equal(ops, comparators)) {
    FailureOr<Entity> right = evaluate(comparator);
    if (failed(right)) return failure();
    FailureOr<Entity> term;
    if (op == "Is" || op == "IsNot") {
      if (!right->isLiteral(Constant::None)) return error(id) << "'is' compares with None only; use ==";
      term = Entity::ofBool(left->isLiteral(Constant::None) == (op == "Is"));
    } else {
      const Comparison *found = llvm::find_if(comparisons, [&, &op = op](const Comparison &c) { return c.node == op; });
      if (found == std::end(comparisons)) return error(id) << "operator '" << op << "' is not part of the language";
      term = compare(found->spelling, {*left, leftNode, "left operand"}, {*right, comparator, "right operand"}, id);
    }
    if (failed(term)) return failure();
    if (ops.size() > 1 && term->isTensor())
      return error(id) << "a chained comparison takes scalars, got " << describe(*term) << "; join comparisons with &";
    if (result.kind == Entity::Unbound) {
      result = *term;
    } else if (std::optional<bool> known = truth(result)) {
      if (*known) result = *term;
    } else if (std::optional<bool> next = truth(*term)) {
      if (!*next) result = *term;
    } else {
      result = Entity::ofValue(make<kir::BinaryOp>(id, builder.getI1Type(), BinaryKind::And, result.value, term->value, false, false));
    }
    left = *right;
    leftNode = comparator;
  }
  return result;
}
