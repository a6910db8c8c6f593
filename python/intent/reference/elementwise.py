"""Element-wise operations: operators of values, and the functions of the language (numerics.md sections 1 and 2)."""
from __future__ import annotations

import numpy as np

from intent.errors import LanguageError

from . import special
from .context import note_rounding
from .formats import BOOL, F32, bits_as, converted, is_literal, literal_array, rounded
from .values import Scalar, Tensor, Value, alike, as_value, broadcast_shape, describe, format_of, kind_of

SMALL_FLOATS = "8-bit floats are stored, cast, compared, selected and contracted; convert with I.cast first"


def _kind(values):
    if all(type(v) is Scalar and not v.data.ndim for v in values):
        return Scalar
    broadcast_shape([v.data.shape for v in values])
    return kind_of(values)


def _made(kind, data, format, weak=False):
    return kind(np.asarray(data, format.storage), format, weak)


def _are_weak(*operands):
    """Whether the operands are scalars of literals alone, so that what is made of them takes the dtype of its context, too: a carry may
    hold them, and has a dtype that this run has not met. A tensor of literals has one at its first use."""
    return not any(isinstance(v, Tensor) or isinstance(v, Value) and not v.weak for v in operands)


def require_arithmetic(format, operation):
    if format.is_small_float:
        raise LanguageError(f"{operation} does not take {format}: {SMALL_FLOATS}")
    if format is BOOL:
        raise LanguageError(f"{operation} does not take bool; use & | ^ ~ or convert with I.cast")


def require_float(format, operation):
    if not format.is_float:
        raise LanguageError(f"{operation} takes floats, got {format}; convert with I.cast")
    require_arithmetic(format, operation)


# -- arithmetic on arrays of storage --------------------------------------------------------------------------

def _floored(a, b, format):
    """(quotient, remainder) of integers: floored; 0 where the divisor is 0, and MIN // -1 wraps."""
    zero = b == 0
    safe = np.where(zero, np.ones_like(b), b)
    if format.kind == "int":
        negated = safe == -1
        safe = np.where(negated, np.ones_like(b), safe)
        quotient = np.where(negated, -a, np.floor_divide(a, safe))
        remainder = np.where(negated, np.zeros_like(a), np.remainder(a, safe))
    else:
        quotient, remainder = np.floor_divide(a, safe), np.remainder(a, safe)
    return np.where(zero, np.zeros_like(quotient), quotient), np.where(zero, np.zeros_like(remainder), remainder)


def _shift(a, b, format, left):
    amount = b & np.asarray(format.bits - 1, b.dtype)
    return np.left_shift(a, amount) if left else np.right_shift(a, amount)


def _number_wins(choose):
    def apply(a, b):
        return np.where(np.isnan(a), b, np.where(np.isnan(b), a, choose(a, b)))

    return apply


_INTEGER = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor,
    "maximum": np.maximum, "minimum": np.minimum, "maximum_num": np.maximum, "minimum_num": np.minimum,
}
_FLOAT = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "//": np.floor_divide, "%": np.remainder, "pow": np.power,
    "maximum": np.maximum, "minimum": np.minimum, "maximum_num": _number_wins(np.maximum), "minimum_num": _number_wins(np.minimum),
}
_ROUNDING = ("+", "-", "*", "/", "%")


def computed(op, a, b, format):
    """One binary operation on arrays of storage of one format."""
    if format.is_float:
        if format.name in ("f32", "f64") and op != "pow":
            if op in _ROUNDING:
                note_rounding(format)
            return _FLOAT[op](a, b)
        # Two exact operands of at most half of float64's precision: the second rounding changes nothing.
        return rounded(_FLOAT[op](a.astype(np.float64), b.astype(np.float64)), format)
    if op in ("//", "%"):
        return _floored(*np.broadcast_arrays(a, b), format)[op == "%"]
    if op in ("<<", ">>"):
        return _shift(a, b, format, op == "<<")
    return _INTEGER[op](a, b)


def binary(op, left, right, spelling=None):
    """The value of a binary operator or function. LanguageError where the language has no such operation."""
    spelling = spelling or f"'{op}'"
    a, b = alike(spelling, left, right)
    format = a.format
    if op in ("&", "|", "^"):
        if format.is_float:
            raise LanguageError(f"{spelling} takes integers and bools, got {format}")
    elif op in ("<<", ">>"):
        if not format.is_integer:
            raise LanguageError(f"{spelling} takes integers, got {format}")
    elif op == "/" and not format.is_float:
        raise LanguageError(f"'/' takes floats, got {format}; use // for integers, or convert with I.cast")
    elif op == "pow":
        require_float(format, spelling)
    else:
        require_arithmetic(format, spelling)
    return _made(_kind([a, b]), computed(op, a.data, b.data, format), format, _are_weak(left, right))


def power(base, exponent):
    """`x ** n`: repeated multiplication for an integer literal, else `pow`."""
    if not isinstance(exponent, int) or isinstance(exponent, bool):
        exact = [v for v in (base, exponent) if isinstance(v, Value) and not v.weak]
        if exact and not exact[0].format.is_float:
            raise LanguageError(f"'**' takes a compile-time integer exponent or floats, got {exact[0].format}")
        return binary("pow", base, exponent, "'**'")
    value = as_value(base)
    require_arithmetic(value.format, "'**'")
    if exponent < 0 and not value.format.is_float:
        raise LanguageError(f"'**' with a negative exponent takes floats, got {value.format}")
    if abs(exponent) > 1 << 20:
        raise LanguageError(f"'**' takes an exponent of magnitude up to 1048576, got {exponent}")
    one = np.ones_like(value.data)
    result, square, left = None, value.data, abs(exponent)
    while left:
        if left & 1:
            result = square if result is None else computed("*", result, square, value.format)
        left >>= 1
        if left:
            square = computed("*", square, square, value.format)
    result = one if result is None else result
    if exponent < 0:
        result = computed("/", one, result, value.format)
    return _made(type(value), result, value.format)


_COMPARISONS = {"==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}


def compare(op, left, right):
    if not (isinstance(right, Value) or is_literal(right)) or not (isinstance(left, Value) or is_literal(left)):
        raise LanguageError(f"cannot compare {describe(left)} with {describe(right)}")
    a, b = alike(f"'{op}'", left, right)
    return _made(_kind([a, b]), _COMPARISONS[op](a.data, b.data), BOOL)


def negated(value):
    require_arithmetic(value.format, "'-'")
    return _made(type(value), np.negative(value.data), value.format, _are_weak(value))


def inverted(value):
    if value.format.is_float:
        raise LanguageError(f"'~' takes integers and bools, got {value.format}")
    return _made(type(value), np.invert(value.data), value.format)


def _positive(value):
    require_arithmetic(value.format, "'+'")
    return value


def _install_operators():
    names = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "lshift": "<<", "rshift": ">>", "and": "&", "or": "|", "xor": "^"}
    for name, op in names.items():
        setattr(Value, f"__{name}__", lambda a, b, op=op: binary(op, a, b))
        setattr(Value, f"__r{name}__", lambda a, b, op=op: binary(op, b, a))
    Value.__pow__ = power
    Value.__rpow__ = lambda a, b: power(b, a)
    for name, op in {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
        setattr(Value, f"__{name}__", lambda a, b, op=op: compare(op, a, b))
    Value.__neg__, Value.__invert__, Value.__pos__ = negated, inverted, _positive


_install_operators()


# -- functions --------------------------------------------------------------------------------------------------

def unary_function(name):
    def operation(value):
        value = as_value(value)
        require_float(value.format, f"I.{name}")
        return _made(type(value), special.evaluated(name, value.data, value.format), value.format)

    return operation


def _check_approximation(name, format, approximate, flush_to_zero=False):
    if approximate and format is not F32:
        raise LanguageError(f"I.{name}: approximate is for f32, got {format}")
    if flush_to_zero and not approximate:
        raise LanguageError(f"I.{name}: flush_to_zero needs approximate=True")


def _flushed(data):
    return np.where(np.abs(data) < np.float32(2.0**-126), np.copysign(np.float32(0), data), data)


def exp2(value, approximate, flush_to_zero):
    value = as_value(value)
    require_float(value.format, "I.exp2")
    _check_approximation("exp2", value.format, approximate, flush_to_zero)
    data = _flushed(value.data) if flush_to_zero else value.data
    data = special.evaluated("exp2", data, value.format)
    return _made(type(value), _flushed(data) if flush_to_zero else data, value.format)


def tanh(value, approximate):
    value = as_value(value)
    require_float(value.format, "I.tanh")
    _check_approximation("tanh", value.format, approximate)
    return _made(type(value), special.evaluated("tanh", value.data, value.format), value.format)


def fdiv(lhs, rhs, approximate, flush_to_zero):
    a, b = alike("I.fdiv", lhs, rhs)
    require_float(a.format, "I.fdiv")
    _check_approximation("fdiv", a.format, approximate, flush_to_zero)
    x, y = (_flushed(a.data), _flushed(b.data)) if flush_to_zero else (a.data, b.data)
    data = computed("/", x, y, a.format)
    return _made(_kind([a, b]), _flushed(data) if flush_to_zero else data, a.format)


def absolute(value):
    value = as_value(value)
    require_arithmetic(value.format, "I.abs")
    return _made(type(value), value.data if value.format.kind == "uint" else np.abs(value.data), value.format)


def fma(a, b, c):
    a, b, c = alike("I.fma", a, b, c)
    require_float(a.format, "I.fma")
    return _made(_kind([a, b, c]), special.fused(a.data, b.data, c.data, a.format), a.format)


def cast(value, dtype):
    format = format_of(dtype, "I.cast")
    if is_literal(value):
        if format.is_float or isinstance(value, int):
            try:
                return Scalar(literal_array(value, format), format)
            except LanguageError:
                pass
    value = as_value(value)
    return type(value)(np.asarray(converted(value.data, value.format, format), format.storage), format)


def bitcast(value, dtype):
    value, format = as_value(value), format_of(dtype, "I.bitcast")
    if BOOL in (value.format, format):
        raise LanguageError("I.bitcast does not take bool; use I.cast")
    if value.format.bits != format.bits:
        raise LanguageError(f"I.bitcast: expected dtypes of equal width, got {value.format} and {format}")
    return _made(type(value), bits_as(value.data, value.format, format), format)


def select(condition, true_value, false_value):
    condition = as_value(condition)
    if condition.format is not BOOL:
        raise LanguageError(f"I.select: expected a bool condition, got {describe(condition)}")
    weak = all(is_literal(v) or isinstance(v, Value) and v.weak for v in (true_value, false_value))
    a, b = alike("I.select", true_value, false_value)
    data = np.where(condition.data, a.data, b.data)
    kind = _kind([condition, a, b])
    return kind(np.asarray(data, a.format.storage), a.format, weak and a.format is not BOOL)


def mask(value, valid, fill):
    return select(valid, value, fill)
