// Expressions: element-wise operations and broadcasts. Broadcasts are left to Triton's own rule: a value
// keeps the axes it really has, and its full shape is written only where an operation needs it.
#include "Serializer.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace intent;
using namespace intent::block;
using namespace intent::emission;

namespace intent::triton {

//===- dtypes ------------------------------------------------------------------------------------------===//

std::string signatureText(Type element) {
  if (element.isIndex()) return "i64";
  if (auto integer = dyn_cast<IntegerType>(element)) return (integer.isUnsigned() ? "u" : "i") + std::to_string(integer.getWidth());
  if (isa<Float8E4M3FNType>(element)) return "fp8e4nv";
  if (isa<Float8E5M2Type>(element)) return "fp8e5";
  if (element.isBF16()) return "bf16";
  return "fp" + std::to_string(element.getIntOrFloatBitWidth());
}

std::string storageText(Type element) {
  if (element.isIndex()) return "int64";
  if (element.isInteger(1)) return "bool";
  if (isa<Float8E4M3FNType>(element)) return "float8_e4m3fn";
  if (isa<Float8E5M2Type>(element)) return "float8_e5m2";
  return dtypeText(element).substr(3); // without `tl.`
}

std::string dtypeText(Type element) {
  if (element.isIndex()) return "tl.int64";
  if (auto integer = dyn_cast<IntegerType>(element))
    return std::string(integer.isUnsigned() ? "tl.uint" : "tl.int") + std::to_string(integer.getWidth());
  if (isa<Float8E4M3FNType>(element)) return "tl.float8e4nv";
  if (isa<Float8E5M2Type>(element)) return "tl.float8e5";
  if (element.isBF16()) return "tl.bfloat16";
  return "tl.float" + std::to_string(element.getIntOrFloatBitWidth());
}

std::string KernelSerializer::dtypeOf(Value value) {
  Type element = elementType(value.getType());
  if (element.isIndex() && widths.kind(value) != IndexKind::Wide) return "INDEX";
  return dtypeText(element);
}

std::string KernelSerializer::extentText(ExprAttr extent) {
  ExpressionStyle style{"tl.cdiv", "triton.next_power_of_2"};
  return spellExpr(extent, [](ExprAttr leaf) { return leaf.getSymbol().getValue().str(); }, style).in(Precedence::Or);
}

std::string KernelSerializer::shapeText(ArrayRef<ExprAttr> extents) {
  std::string text = "(";
  for (ExprAttr extent : extents)
    text += extentText(extent) + ", ";
  if (extents.size() == 1) text.pop_back();
  else text.resize(text.size() - 2);
  return text + ")";
}

//===- placement ---------------------------------------------------------------------------------------===//

static Placement identity(unsigned rank) { return llvm::to_vector<4>(llvm::seq<int64_t>(0, rank)); }

static unsigned rankOf(Value value) { return extentsOf(value.getType()).size(); }

/// `m` on axis 0 of 2: `m[:, None]`.
Rendered KernelSerializer::renderVariable(Value value, ArrayRef<int64_t> placement, unsigned rank) {
  const Variable &variable = variables.find(value)->second;
  Rendered result{{variable.name, Precedence::Atom}, variable.form, SmallBitVector(rank)};
  if (variable.form != Form::Block) return result;
  for (auto [axis, target] : llvm::enumerate(placement))
    result.dense[target] = variable.dense[axis];
  if (placement.size() == rank) return result;
  std::string index;
  for (unsigned axis = 0; axis < rank; ++axis)
    index += (axis ? ", " : "") + std::string(llvm::is_contained(placement, axis) ? ":" : "None");
  result.expression.text += "[" + index + "]";
  return result;
}

Rendered KernelSerializer::render(Value value) { return render(value, identity(rankOf(value)), rankOf(value)); }

Rendered KernelSerializer::render(Value value, ArrayRef<int64_t> placement, unsigned rank) {
  if (variables.contains(value)) return renderVariable(value, placement, rank);
  return renderDefinition(value.getDefiningOp(), placement, rank);
}

/// A literal gets its own dtype: `tl.full((), 0.1, tl.float32)`.
Rendered KernelSerializer::typed(Rendered value, Type element) {
  if (value.form != Form::Literal && value.form != Form::Argument) return value;
  if (value.form == Form::Argument) return convert(value, element.isIndex() ? "INDEX" : dtypeText(element));
  value.expression = {"tl.full((), " + value.expression.text + ", " + dtypeText(element) + ")", Precedence::Atom};
  value.form = Form::Scalar;
  return value;
}

// Triton reads a literal that meets no tensor first as f32 or i32. `keepsType`: what it meets takes the wider type of the two.
static bool standsBare(Value value, bool keepsType) {
  Type element = elementType(value.getType());
  if (element.isIndex() || element.isF32()) return true;
  if (keepsType && element.getIntOrFloatBitWidth() < 32) return false;
  if (auto broadcast = value.getDefiningOp<BroadcastOp>()) value = broadcast.getValue();
  auto constant = value.getDefiningOp<ConstantOp>();
  auto number = constant ? dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr();
  if (!number) return !isa<FloatType>(element);
  bool lost = false;
  APFloat exact = number.getValue();
  exact.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
  return !exact.isFinite() || std::strtof(pythonFloat(number.getValue()).c_str(), nullptr) == exact.convertToDouble();
}

/// The value's text where Triton would not read it at its dtype: a literal is typed then.
Rendered KernelSerializer::typedAt(Value value, Rendered text, bool keepsType) {
  return text.form == Form::Literal && !standsBare(value, keepsType) ? typed(text, elementType(value.getType())) : text;
}

/// `x.to(tl.float32)`; `tl.cast(N, tl.float32)` for what may be constexpr.
Rendered KernelSerializer::convert(Rendered value, StringRef dtype) {
  bool constexprLike = value.form == Form::Literal || value.form == Form::Argument;
  value.expression = constexprLike ? Expression{"tl.cast(" + value.expression.text + ", " + dtype.str() + ")", Precedence::Atom}
                                   : Expression{value.expression.in(Precedence::Atom) + ".to(" + dtype.str() + ")", Precedence::Atom};
  if (constexprLike) value.form = Form::Scalar;
  return value;
}

/// The text with every axis at its full extent.
std::string KernelSerializer::fullText(Rendered value, Type type) {
  ArrayRef<ExprAttr> extents = extentsOf(type);
  if (extents.empty()) return value.expression.text;
  Type element = elementType(type);
  if (value.form != Form::Block) {
    if (value.form == Form::Literal && (value.expression.text == "0.0" || value.expression.text == "0"))
      return "tl.zeros(" + shapeText(extents) + ", " + dtypeText(element) + ")";
    return "tl.full(" + shapeText(extents) + ", " + value.expression.text + ", " + dtypeText(element) + ")";
  }
  if (value.dense.all()) return value.expression.text;
  return "tl.broadcast_to(" + value.expression.text + ", " + shapeText(extents) + ")";
}

std::string KernelSerializer::fullText(Value value) { return fullText(render(value), value.getType()); }

//===- operations --------------------------------------------------------------------------------------===//

static Form joinForms(ArrayRef<Rendered> operands) {
  Form form = Form::Literal;
  for (const Rendered &operand : operands)
    form = std::max(form, operand.form);
  return form;
}
static SmallBitVector joinAxes(ArrayRef<Rendered> operands, unsigned rank) {
  SmallBitVector dense(rank);
  for (const Rendered &operand : operands)
    dense |= operand.dense;
  return dense;
}

/// `f(a, b)`.
static Rendered call(StringRef function, ArrayRef<Rendered> operands, unsigned rank, StringRef more = "") {
  std::string text = function.str() + "(";
  llvm::interleave(operands, [&](const Rendered &r) { text += r.expression.text; }, [&] { text += ", "; });
  return {{text + more.str() + ")", Precedence::Atom}, std::max(Form::Scalar, joinForms(operands)), joinAxes(operands, rank)};
}

std::string KernelSerializer::helper(StringRef name, StringRef text) {
  module.functions.insert({StringAttr::get(program.getContext(), name), text.str()});
  return name.str();
}

Rendered KernelSerializer::libdevice(StringRef function, ArrayRef<Rendered> operands, Type element) {
  module.libdevice = true;
  SmallVector<Rendered> arguments(operands);
  arguments[0] = typed(arguments[0], element);
  return call("libdevice." + function.str(), arguments, arguments[0].dense.size());
}

Rendered KernelSerializer::renderUnary(UnaryOp op, ArrayRef<int64_t> placement, unsigned rank) {
  Type element = elementType(op.getType());
  Rendered x = render(op.getValue(), placement, rank);
  // f32 through `tl` where its accuracy holds; f64 through libdevice.
  auto native = [&](StringRef f32, StringRef f64) {
    return element.isF64() ? libdevice(f64, {x}, element) : call("tl." + f32.str(), {typed(x, element)}, rank);
  };
  switch (op.getKind()) {
  case UnaryKind::Neg: return {{"-" + x.expression.in(Precedence::Unary), Precedence::Unary}, x.form, x.dense};
  case UnaryKind::Not:
    if (x.form == Form::Literal && element.isInteger(1)) // of Python's own bool `~` makes an integer
      return {{x.expression.text == "True" ? "False" : "True", Precedence::Atom}, x.form, x.dense};
    return {{"~" + x.expression.in(Precedence::Unary), Precedence::Unary}, x.form, x.dense};
  case UnaryKind::Abs: return isUnsignedInteger(element) ? x : call("tl.abs", {typed(x, element)}, rank);
  case UnaryKind::Exp: return op.getApproximate() ? call("tl.exp", {typed(x, element)}, rank) : libdevice("exp", {x}, element);
  case UnaryKind::Exp2: return native("exp2", "exp2");
  case UnaryKind::Log: return native("log", "log");
  case UnaryKind::Log2: return native("log2", "log2");
  case UnaryKind::Sin: return native("sin", "sin");
  case UnaryKind::Cos: return native("cos", "cos");
  case UnaryKind::Erf: return native("erf", "erf");
  case UnaryKind::Rsqrt: return native("rsqrt", "rsqrt");
  case UnaryKind::Sqrt: return native("sqrt_rn", "sqrt");
  case UnaryKind::Floor: return call("tl.floor", {typed(x, element)}, rank);
  case UnaryKind::Ceil: return call("tl.ceil", {typed(x, element)}, rank);
  case UnaryKind::Log1p: return libdevice("log1p", {x}, element);
  case UnaryKind::Tan: return libdevice("tan", {x}, element);
  case UnaryKind::Asin: return libdevice("asin", {x}, element);
  case UnaryKind::Erfc: return libdevice("erfc", {x}, element);
  case UnaryKind::Lgamma: return libdevice("lgamma", {x}, element);
  case UnaryKind::I0: return libdevice("cyl_bessel_i0", {x}, element);
  case UnaryKind::Tanh: return libdevice("tanh", {x}, element);
  case UnaryKind::Sigmoid: break; // legalised
  }
  unsupported(op) << "no text for " << stringifyUnaryKind(op.getKind());
  return x;
}

static constexpr StringLiteral floorDivText = R"(@triton.jit
def _floor_div(a, b):
    q = a // b
    return tl.where((q * b != a) & ((a < 0) != (b < 0)), q - 1, q)
)";
static constexpr StringLiteral floorModText = R"(@triton.jit
def _floor_mod(a, b):
    r = a % b
    return tl.where((r != 0) & ((r < 0) != (b < 0)), r + b, r)
)";

// The remainder is exact, and the quotient follows from it.
static constexpr StringLiteral floatModText = R"(@triton.jit
def _float_mod(a, b):
    r = libdevice.fmod(a, b)
    moved = tl.where((r != 0) & ((r < 0) != (b < 0)), r + b, r)
    return tl.where(r != 0, moved, libdevice.copysign(r, b))
)";
static constexpr StringLiteral floatDivText = R"(@triton.jit
def _float_floor_div(a, b):
    r = libdevice.fmod(a, b)
    q = _quotient(a - r, b)
    q = tl.where((r != 0) & ((r < 0) != (b < 0)), q - 1, q)
    f = tl.floor(q)
    f = tl.where(q - f > 0.5, f + 1, f)
    ratio = _quotient(a, b)
    f = tl.where(q != 0, f, libdevice.copysign(q, ratio))
    return tl.where(b != 0, f, ratio)
)";
static constexpr StringLiteral quotientText = R"(@triton.jit
def _quotient(a, b):
    if a.dtype == tl.float64:
        return a / b
    else:
        return tl.div_rn(a, b)
)";

Rendered KernelSerializer::renderBinary(BinaryOp op, ArrayRef<int64_t> placement, unsigned rank) {
  Type element = elementType(op.getType());
  Rendered a = render(op.getLhs(), placement, rank), b = render(op.getRhs(), placement, rank);
  if (element.isIndex()) {
    // An operation without a bound takes place in 64 bits.
    bool wide = widths.kind(op.getLhs()) == IndexKind::Wide || widths.kind(op.getRhs()) == IndexKind::Wide;
    if (widths.kind(op) == IndexKind::Wide && !wide)
      (a.form == Form::Literal ? b : a) = convert(a.form == Form::Literal ? b : a, "tl.int64");
    if (widths.kind(op) > IndexKind::Raw && widths.kind(op.getLhs()) == IndexKind::Raw && widths.kind(op.getRhs()) == IndexKind::Raw)
      a = convert(a, dtypeOf(op));
  } else if (a.form <= Form::Argument && b.form <= Form::Argument) {
    a = typed(a, element); // Python would compute in its own precision
  }
  auto operation = [&](StringRef text, Precedence precedence) {
    return Rendered{infix(a.expression, text, b.expression, precedence), joinForms({a, b}), joinAxes({a, b}, rank)};
  };
  bool isFloat = isa<FloatType>(element);
  // max/min functions: both operands as tensors of one dtype.
  auto extremum = [&](StringRef name, bool propagate) {
    a = typedAt(op.getLhs(), a, true);
    b = typedAt(op.getRhs(), b, true);
    if (a.form <= Form::Argument) std::swap(a, b);
    if (element.isIndex() && a.form <= Form::Argument) {
      a = convert(a, dtypeOf(op));
    }
    return call("tl." + name.str(), {typed(a, element), b}, rank, isFloat && propagate ? ", propagate_nan=tl.PropagateNan.ALL" : "");
  };
  // Integer sums regroup freely where that narrows none.
  IndexKind first = widths.kind(op.getLhs()), rest = widths.kind(op.getRhs());
  bool regroups =
      element.isIndex() && (first == IndexKind::Literal || first >= rest || (first != IndexKind::Raw && rest != IndexKind::Wide));
  switch (op.getKind()) {
  case BinaryKind::Add:
    if (regroups && b.expression.precedence == Precedence::Add)
      return {{a.expression.in(Precedence::Add) + " + " + b.expression.text, Precedence::Add}, joinForms({a, b}), joinAxes({a, b}, rank)};
    return operation("+", Precedence::Add);
  case BinaryKind::Sub: return operation("-", Precedence::Add);
  case BinaryKind::Mul: return operation("*", Precedence::Multiply);
  case BinaryKind::Div:
    if (element.isF64() || op.getApproximate()) return operation("/", Precedence::Multiply);
    return call("tl.div_rn", {typed(a, element), typed(b, element)}, rank);
  case BinaryKind::FloorDiv:
  case BinaryKind::Mod: {
    bool division = op.getKind() == BinaryKind::FloorDiv;
    if (isFloat) {
      module.libdevice = true;
      if (division) helper("_quotient", quotientText);
      return call(division ? helper("_float_floor_div", floatDivText) : helper("_float_mod", floatModText),
                  {typed(a, element), typed(b, element)}, rank);
    }
    bool literal = a.form == Form::Literal && b.form == Form::Literal;
    // Triton truncates; that is the floor where signs agree.
    if (literal || isUnsignedInteger(element) || (widths.nonNegative(op.getLhs()) && widths.nonNegative(op.getRhs())))
      return operation(division ? "//" : "%", Precedence::Multiply);
    int64_t divisor = 0;
    if (b.form == Form::Literal && !StringRef(b.expression.text).getAsInteger(10, divisor) && divisor > 0 && llvm::isPowerOf2_64(divisor)) {
      if (a.expression.precedence < Precedence::Unary) a.expression = {"(" + a.expression.text + ")", Precedence::Atom}; // easier to read
      b.expression.text = std::to_string(division ? llvm::Log2_64(divisor) : divisor - 1); // the bits of two's complement
      return division ? operation(">>", Precedence::Shift) : operation("&", Precedence::BitAnd);
    }
    return call(division ? helper("_floor_div", floorDivText) : helper("_floor_mod", floorModText), {a, b}, rank);
  }
  case BinaryKind::Pow: return libdevice("pow", {a, typed(b, element)}, element);
  case BinaryKind::Maximum: return extremum("maximum", true);
  case BinaryKind::Minimum: return extremum("minimum", true);
  case BinaryKind::MaximumNum: return extremum("maximum", false);
  case BinaryKind::MinimumNum: return extremum("minimum", false);
  case BinaryKind::And:
    if (a.form == Form::Literal && a.expression.text == "True") return b;
    if (b.form == Form::Literal && b.expression.text == "True") return a;
    return operation("&", Precedence::BitAnd);
  case BinaryKind::Or: return operation("|", Precedence::BitOr);
  case BinaryKind::Xor: return operation("^", Precedence::BitXor);
  case BinaryKind::Shl: return operation("<<", Precedence::Shift);
  case BinaryKind::Shr: return operation(">>", Precedence::Shift);
  }
  return a;
}

// The hardware's conversion saturates: what rounds beyond 57344 is infinite.
static constexpr StringLiteral toE5M2Text = R"(@triton.jit
def _to_float8e5(x):
    bits = x.to(tl.float8e5).to(tl.uint8, bitcast=True)
    infinite = tl.where(x > 0, tl.full((), 124, tl.uint8), tl.full((), 252, tl.uint8))
    return tl.where(tl.abs(x) >= 61440, infinite, bits).to(tl.float8e5, bitcast=True)
)";

Rendered KernelSerializer::renderCast(CastOp op, ArrayRef<int64_t> placement, unsigned rank) {
  Type from = elementType(op.getValue().getType()), to = elementType(op.getType());
  Rendered x = render(op.getValue(), placement, rank);
  if (from == to) return x;
  if (to.isInteger(1)) {
    // Any value but zero is true.
    Rendered t = typed(x, from);
    return {infix(t.expression, "!=", {"0", Precedence::Atom}, Precedence::Compare), t.form, t.dense};
  }
  if (x.form == Form::Literal && !from.isIndex()) x = typed(x, from);
  if (isa<Float8E5M2Type>(to) && !isa<Float8E4M3FNType>(from))
    return call(helper("_to_float8e5", toE5M2Text), {isa<FloatType>(from) ? typed(x, from) : convert(x, "tl.float32")}, rank);
  return convert(x, to.isIndex() ? dtypeOf(op) : dtypeText(to));
}

static StringRef predicateText(ComparePredicate predicate) {
  switch (predicate) {
  case ComparePredicate::Eq: return "==";
  case ComparePredicate::Ne: return "!=";
  case ComparePredicate::Lt: return "<";
  case ComparePredicate::Le: return "<=";
  case ComparePredicate::Gt: return ">";
  case ComparePredicate::Ge: return ">=";
  }
  return "";
}

Rendered KernelSerializer::renderDefinition(Operation *op, ArrayRef<int64_t> placement, unsigned rank) {
  auto at = [&](Value v) { return rankOf(v) ? render(v, placement, rank) : render(v, {}, rank); };
  return llvm::TypeSwitch<Operation *, Rendered>(op)
      // block.constant 0.1 : f32 -> 0.1; 1.5 : f8E5M2 -> tl.full((), 62, tl.uint8).to(tl.float8e5, bitcast=True)
      .Case([&](ConstantOp op) {
        Expression text;
        auto value = dyn_cast<FloatAttr>(op.getValue());
        // Triton has no constants of f8 but zero: their bits are exact, and a cast would saturate infinities.
        if (value && value.getType().getIntOrFloatBitWidth() == 8 && !value.getValue().isPosZero()) {
          text.text = "tl.full((), " + llvm::utostr(value.getValue().bitcastToAPInt().getZExtValue()) + ", tl.uint8).to(" +
                      dtypeText(value.getType()) + ", bitcast=True)";
          return Rendered{text, Form::Scalar, SmallBitVector(rank)};
        }
        if (value) text = {pythonFloat(value.getValue()), value.getValue().isNegative() ? Precedence::Unary : Precedence::Atom};
        else {
          auto integer = cast<IntegerAttr>(op.getValue());
          if (integer.getType().isInteger(1)) text = {integer.getValue().isZero() ? "False" : "True", Precedence::Atom};
          else {
            SmallString<24> digits;
            bool isSigned = !isUnsignedInteger(integer.getType());
            integer.getValue().toString(digits, 10, isSigned);
            text = {digits.str().str(), isSigned && integer.getValue().isNegative() ? Precedence::Unary : Precedence::Atom};
          }
        }
        if (op.getType().isIndex() && widths.kind(op) == IndexKind::Wide) // Triton gives a literal the type of what it meets
          return Rendered{{"tl.full((), " + text.text + ", tl.int64)", Precedence::Atom}, Form::Scalar, SmallBitVector(rank)};
        return Rendered{text, Form::Literal, SmallBitVector(rank)};
      })
      // block.param mul(BM, 2) -> BM * 2
      .Case([&](ParamOp op) {
        ExpressionStyle style{"tl.cdiv", "triton.next_power_of_2"};
        return Rendered{spellExpr(
                            op.getValue(), [](ExprAttr e) { return e.getSymbol().getValue().str(); }, style),
                        Form::Literal, SmallBitVector(rank)};
      })
      // block.broadcast %m [0] -> m[:, None]
      .Case([&](BroadcastOp op) {
        Placement composed;
        for (int64_t axis : op.getAxes())
          composed.push_back(placement[axis]);
        return render(op.getValue(), composed, rank);
      })
      // block.transpose %x [1, 0] -> x.T
      .Case([&](TransposeOp op) {
        unsigned own = rankOf(op.getValue());
        Rendered x = render(op.getValue());
        Rendered result{x.expression, x.form, SmallBitVector(rank)};
        if (x.form != Form::Block) return result;
        for (auto [axis, from] : llvm::enumerate(op.getPermutation()))
          result.dense[placement[axis]] = x.dense[from];
        if (own == 2 && op.getPermutation()[0] == 1) result.expression = {x.expression.in(Precedence::Atom) + ".T", Precedence::Atom};
        else if (!llvm::equal(op.getPermutation(), llvm::seq<int64_t>(0, own))) {
          std::string order;
          llvm::interleave(op.getPermutation(), [&](int64_t axis) { order += std::to_string(axis); }, [&] { order += ", "; });
          result.expression = {"tl.permute(" + x.expression.text + ", (" + order + "))", Precedence::Atom};
        }
        if (own != rank) {
          std::string index;
          for (unsigned axis = 0; axis < rank; ++axis)
            index += (axis ? ", " : "") + std::string(llvm::is_contained(placement, axis) ? ":" : "None");
          result.expression = {result.expression.in(Precedence::Atom) + "[" + index + "]", Precedence::Atom};
        }
        return result;
      })
      .Case([&](UnaryOp op) { return renderUnary(op, placement, rank); })
      .Case([&](BinaryOp op) { return renderBinary(op, placement, rank); })
      .Case([&](CastOp op) { return renderCast(op, placement, rank); })
      // block.compare lt %m, %M -> m < M
      .Case([&](CompareOp op) {
        Rendered a = typedAt(op.getLhs(), at(op.getLhs()), false), b = typedAt(op.getRhs(), at(op.getRhs()), false);
        if (a.form == Form::Literal && b.form == Form::Literal && !elementType(op.getLhs().getType()).isIndex())
          a = typed(a, elementType(op.getLhs().getType()));
        return Rendered{infix(a.expression, predicateText(op.getPredicate()), b.expression, Precedence::Compare), joinForms({a, b}),
                        joinAxes({a, b}, rank)};
      })
      // block.select %c, %a, %b -> tl.where(c, a, b)
      .Case([&](SelectOp op) {
        Type element = elementType(op.getType());
        Rendered a = at(op.getTrueValue()), b = at(op.getFalseValue());
        if (a.form <= Form::Argument && b.form <= Form::Argument) {
          if (element.isIndex()) {
            a = convert(a, dtypeOf(op));
            b = convert(b, dtypeOf(op));
          } else {
            a = typed(a, element);
            b = typed(b, element);
          }
        }
        return call("tl.where", {at(op.getCondition()), a, b}, rank);
      })
      // block.fma -> tl.fma(a, b, c)
      .Case([&](FmaOp op) {
        Type element = elementType(op.getType());
        return call("tl.fma", {typed(at(op.getA()), element), typed(at(op.getB()), element), typed(at(op.getC()), element)}, rank);
      })
      // block.bitcast -> x.to(tl.int32, bitcast=True)
      .Case([&](BitcastOp op) {
        Rendered x = typed(at(op.getValue()), elementType(op.getValue().getType()));
        if (elementType(op.getValue().getType()).isIndex() && widths.kind(op.getValue()) != IndexKind::Wide) x = convert(x, "tl.int64");
        x.expression = {x.expression.in(Precedence::Atom) + ".to(" + dtypeText(elementType(op.getType())) + ", bitcast=True)",
                        Precedence::Atom};
        return x;
      })
      .Default([&](Operation *op) {
        unsupported(op) << "no text for '" << op->getName() << "'";
        return Rendered{{"None", Precedence::Atom}, Form::Scalar, SmallBitVector(rank)};
      });
}

} // namespace intent::triton
