// Compile-time values: folding as Python does, and the dtype that a literal takes from its context.
#include "Lowering.h"

#include "mlir/IR/BuiltinAttributes.h"
#include <cmath>

using namespace mlir;
using namespace intent;
using namespace intent::frontend;

static const WideInt wideMax = static_cast<WideInt>((static_cast<unsigned __int128>(1) << 126) - 1);

// Of bool, i64 and f64; the first may be null.
static Type wider(Type a, Type b) { return !a || b.isF64() || (b.isInteger(64) && a.isInteger(1)) ? b : a; }

Type Lowering::defaultElement(const Constant &literal) {
  if (literal.kind == Constant::Bool) return builder.getI1Type();
  return literal.kind == Constant::Int ? Type(builder.getI64Type()) : Type(builder.getF64Type());
}

Type Lowering::defaultElement(const Entity &untyped) {
  if (untyped.kind != Entity::Choice) return defaultElement(*untyped.constant);
  return wider(defaultElement(untyped.items()[0]), defaultElement(untyped.items()[1]));
}

FailureOr<TypedAttr> Lowering::literalAttr(const Constant &literal, Type element, NodeId at) {
  if (!literal.isNumber()) return error(at) << "expected a number of dtype " << dtypeName(element) << ", got " << literal.spell();
  auto cannot = [&]() -> FailureOr<TypedAttr> {
    return error(at) << "literal " << literal.spell() << " cannot be held by " << dtypeName(element) << "; convert a value with I.cast";
  };
  if (literal.tooWide) return error(at) << "the integer does not fit 128 bits";
  if (auto type = dyn_cast<FloatType>(element)) {
    // e4m3fn has no infinity; elsewhere a finite literal must stay finite.
    APFloat value(literal.asReal());
    bool finite = value.isFinite(), lost = false;
    value.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven, &lost);
    if ((finite && !value.isFinite()) || (!finite && isa<Float8E4M3FNType>(type) && std::isinf(literal.asReal()))) return cannot();
    if (!finite && std::isnan(literal.asReal())) value = APFloat::getNaN(type.getFloatSemantics());
    return TypedAttr(FloatAttr::get(type, value));
  }
  if (literal.kind == Constant::Float) return cannot();
  if (element.isInteger(1)) {
    if (literal.integer != 0 && literal.integer != 1) return cannot();
    return TypedAttr(builder.getBoolAttr(literal.integer != 0));
  }
  unsigned width = element.isIndex() ? 64 : cast<IntegerType>(element).getWidth();
  bool isUnsigned = isUnsignedInteger(element);
  WideInt low = isUnsigned ? 0 : -(static_cast<WideInt>(1) << (width - 1));
  WideInt high = (static_cast<WideInt>(1) << (isUnsigned ? width : width - 1)) - 1;
  if (literal.integer < low || literal.integer > high) return cannot();
  return integerConstant(element, static_cast<int64_t>(static_cast<uint64_t>(literal.integer)));
}

FailureOr<Value> Lowering::literalValue(const Constant &literal, Type element, NodeId at) {
  if (!literal.isNumber()) return error(at) << "expected a value, got " << literal.spell();
  FailureOr<TypedAttr> attr = literalAttr(literal, element ? element : defaultElement(literal), at);
  if (failed(attr)) return failure();
  return make<kir::ConstantOp>(at, attr->getType(), *attr).getResult();
}

Entity Lowering::openNumber(Type kind, std::vector<std::shared_ptr<Type>> contexts) {
  Entity entity = kind.isF64() ? Entity::ofConstant(Constant::ofFloat(0)) : kind.isInteger(1) ? Entity::ofBool(false) : Entity::ofInt(0);
  entity.kind = Entity::Open;
  entity.contexts = std::make_shared<const std::vector<std::shared_ptr<Type>>>(std::move(contexts));
  return entity;
}

std::optional<Entity> Lowering::joinOpen(ArrayRef<Entity> operands, bool isFloat) {
  std::vector<std::shared_ptr<Type>> contexts;
  Type kind = isFloat ? Type(builder.getF64Type()) : Type();
  bool any = false;
  for (const Entity &operand : operands) {
    if (!operand.isUntyped() || (operand.kind == Entity::Choice && isa<KirTensorType>(operand.value.getType()))) return std::nullopt;
    any |= operand.kind == Entity::Open;
    if (operand.kind == Entity::Open) llvm::append_range(contexts, *operand.contexts);
    kind = wider(kind, defaultElement(operand));
  }
  return any ? std::optional(openNumber(kind, std::move(contexts))) : std::nullopt;
}

void Lowering::meet(const Entity &entity, Type element) {
  if (entity.kind == Entity::Choice)
    for (const Entity &item : entity.items())
      meet(item, element);
  if (entity.kind != Entity::Open) return;
  for (const std::shared_ptr<Type> &context : *entity.contexts)
    if (!*context) *context = element;
}

std::optional<bool> Lowering::truth(const Entity &entity) {
  if (entity.kind == Entity::Tuple) return !entity.items().empty();
  if (!entity.isLiteral()) return std::nullopt;
  switch (entity.constant->kind) {
  case Constant::None: return false;
  case Constant::Bool:
  case Constant::Int: return entity.constant->integer != 0;
  case Constant::Float: return entity.constant->real != 0;
  case Constant::Str: return !entity.constant->text.empty();
  default: return true;
  }
}

//===- folding -----------------------------------------------------------------------------------------===//

static WideInt floorDiv(WideInt a, WideInt b) {
  WideInt q = a / b;
  return (a % b != 0 && (a % b < 0) != (b < 0)) ? q - 1 : q;
}

static std::optional<WideInt> powInt(WideInt base, WideInt exponent) {
  WideInt result = 1;
  if (base == 0 || base == 1) return exponent == 0 ? 1 : base;
  if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  if (exponent > 130) return std::nullopt;
  for (; exponent > 0; --exponent)
    if (__builtin_mul_overflow(result, base, &result)) return std::nullopt;
  return result;
}

FailureOr<Entity> Lowering::foldBinary(StringRef op, const Constant &l, const Constant &r, NodeId at) {
  if (!l.isNumber() || !r.isNumber()) return error(at) << "operator '" << op << "' does not take " << l.spell() << " and " << r.spell();
  if (l.tooWide || r.tooWide) return error(at) << "the integer does not fit 128 bits";
  auto tooBig = [&]() -> FailureOr<Entity> { return error(at) << "the compile-time integer does not fit 128 bits"; };
  bool real = l.kind == Constant::Float || r.kind == Constant::Float;
  bool bools = l.kind == Constant::Bool && r.kind == Constant::Bool;
  bool zero = r.kind == Constant::Float ? r.real == 0 : r.integer == 0;
  if (zero && (op == "/" || op == "//" || op == "%")) return error(at) << "compile-time division by zero";
  if (real || op == "/") {
    double a = l.asReal(), b = r.asReal();
    std::optional<double> value;
    if (op == "+") value = a + b;
    if (op == "-") value = a - b;
    if (op == "*") value = a * b;
    if (op == "/") value = a / b;
    if (op == "**") value = std::pow(a, b);
    if (op == "//" || op == "%") { // as Python's float_divmod does
      double rest = std::fmod(a, b), quotient = (a - rest) / b;
      if (rest == 0) rest = std::copysign(0.0, b);
      else if ((rest < 0) != (b < 0)) rest += b, quotient -= 1;
      double whole = std::floor(quotient);
      value = op == "%" ? rest : quotient == 0 ? std::copysign(0.0, a / b) : quotient - whole > 0.5 ? whole + 1 : whole;
    }
    if (!value) return error(at) << "operator '" << op << "' takes integers, got " << l.spell() << " and " << r.spell();
    return Entity::ofConstant(Constant::ofFloat(*value));
  }
  WideInt a = l.integer, b = r.integer, value = 0;
  bool overflow = false;
  if (op == "+") overflow = __builtin_add_overflow(a, b, &value);
  else if (op == "-") overflow = __builtin_sub_overflow(a, b, &value);
  else if (op == "*") overflow = __builtin_mul_overflow(a, b, &value);
  else if (op == "//") value = floorDiv(a, b);
  else if (op == "%") value = a - floorDiv(a, b) * b;
  else if (op == "**") {
    if (b < 0) {
      if (a == 0) return error(at) << "compile-time division by zero";
      return Entity::ofConstant(Constant::ofFloat(std::pow(static_cast<double>(a), static_cast<double>(b))));
    }
    std::optional<WideInt> power = powInt(a, b);
    if (!power) return tooBig();
    value = *power;
  } else if (op == "<<" || op == ">>") {
    if (b < 0) return error(at) << "the shift amount is not negative, got " << r.spell();
    if (op == ">>") value = a >> (b > 126 ? 126 : static_cast<int>(b));
    else if (a != 0) {
      if (b > 126 || a > (wideMax >> static_cast<int>(b)) || a < -(wideMax >> static_cast<int>(b))) return tooBig();
      value = a * (static_cast<WideInt>(1) << static_cast<int>(b));
    }
  } else if (op == "&") value = a & b;
  else if (op == "|") value = a | b;
  else if (op == "^") value = a ^ b;
  else return error(at) << "operator '" << op << "' is not part of the language";
  if (overflow || value > wideMax || value < -wideMax) return tooBig();
  if (bools && (op == "&" || op == "|" || op == "^")) return Entity::ofBool(value != 0);
  return Entity::ofInt(value);
}

FailureOr<Entity> Lowering::foldUnary(StringRef op, const Constant &v, NodeId at) {
  if (!v.isNumber()) return error(at) << "operator '" << op << "' does not take " << v.spell();
  if (v.tooWide) return error(at) << "the integer does not fit 128 bits";
  if (op == "~") {
    if (v.kind == Constant::Bool) return error(at) << "operator '~' of a compile-time bool is an integer in Python; use 'not'";
    if (v.kind == Constant::Int) return Entity::ofInt(~v.integer);
    return error(at) << "operator '~' takes integers and bools, got " << v.spell();
  }
  if (v.kind == Constant::Float) return Entity::ofConstant(Constant::ofFloat(op == "-" ? -v.real : v.real));
  return Entity::ofInt(op == "-" ? -v.integer : v.integer);
}

FailureOr<bool> Lowering::foldCompare(StringRef op, const Constant &l, const Constant &r, NodeId at) {
  auto order = [&](auto a, auto b) {
    if (op == "==") return a == b;
    if (op == "!=") return a != b;
    if (op == "<") return a < b;
    if (op == "<=") return a <= b;
    return op == ">" ? a > b : a >= b;
  };
  bool equality = op == "==" || op == "!=";
  if (l.isNumber() && r.isNumber()) {
    if (l.tooWide || r.tooWide) return error(at) << "the integer does not fit 128 bits";
    if (l.kind == Constant::Float || r.kind == Constant::Float) return order(l.asReal(), r.asReal());
    return order(l.integer, r.integer);
  }
  if (l.kind == Constant::Enum || r.kind == Constant::Enum) {
    if (l.kind != r.kind || l.text != r.text)
      return error(at) << "an enum member is comparable within its own type only, got " << l.spell() << " and " << r.spell();
    if (!equality) return error(at) << "enum members have no order; use == or !=";
    return order(l.member, r.member);
  }
  if (l.kind == Constant::Tuple && r.kind == Constant::Tuple && equality) {
    bool equal = l.items.size() == r.items.size();
    for (size_t i = 0; equal && i < l.items.size(); ++i) {
      FailureOr<bool> item = foldCompare("==", l.items[i], r.items[i], at);
      if (failed(item)) return failure();
      equal = *item;
    }
    return equal == (op == "==");
  }
  if (l.kind == r.kind && (equality || l.kind == Constant::Str)) return order(l.text, r.text);
  if (equality && (l.kind == Constant::None || r.kind == Constant::None)) return op == "!=";
  return error(at) << "cannot compare " << l.spell() << " with " << r.spell();
}

//===- compile-time arguments --------------------------------------------------------------------------===//

FailureOr<int64_t> Lowering::constantInt(const Entity &entity, NodeId at, const Twine &what) {
  if (entity.isLiteral(Constant::Int) && !entity.constant->tooWide && entity.constant->integer >= INT64_MIN &&
      entity.constant->integer <= INT64_MAX)
    return static_cast<int64_t>(entity.constant->integer);
  if (entity.isScalar() && (entity.value.getType().isIndex() || entity.value.getType().isInteger(64)))
    if (std::optional<int64_t> value = extentOf(entity.value).getConstant()) return *value;
  return error(at) << what << ": expected a compile-time integer, got " << describe(entity);
}

FailureOr<bool> Lowering::constantBool(const Entity &entity, NodeId at, const Twine &what) {
  if (entity.isLiteral(Constant::Bool)) return entity.constant->integer != 0;
  return error(at) << what << ": expected a compile-time bool, got " << describe(entity);
}

FailureOr<Type> Lowering::constantDtype(const Entity &entity, NodeId at) {
  if (entity.isLiteral(Constant::Dtype))
    if (Type type = parseDtype(context, entity.constant->text)) return type;
  return error(at) << "expected a dtype such as I.f32, got " << describe(entity);
}
