"""Integers of the author's text: they have the range and the rules of the compiler's compile-time integers."""
from __future__ import annotations

import types

from intent.errors import LanguageError

_MOST = (1 << 126) - 1


def _checked(value):
    """A result of Python's in that range; floats, and what is no number, as they are. LanguageError."""
    if type(value) is not int:
        return value
    if not -_MOST <= value <= _MOST:
        raise LanguageError("the compile-time integer does not fit 128 bits")
    return Literal(value)


def _require(name, left, right):
    """Refuses an operation on two numbers before Python computes, which for large powers and shifts takes hours. LanguageError."""
    if name in ("truediv", "floordiv", "mod") and right == 0 or name == "pow" and left == 0 and right < 0:
        raise LanguageError("compile-time division by zero")
    if not isinstance(right, int):
        return
    if name in ("lshift", "rshift") and right < 0:
        raise LanguageError(f"the shift amount is not negative, got {right}")
    if name == "lshift" and left != 0 and right > 126 or name == "pow" and abs(left) > 1 and right > 130:
        raise LanguageError("the compile-time integer does not fit 128 bits")


def _binary(name, reflected=False):
    compute = getattr(int, f"__{'r' * reflected}{name}__")

    def applied(self, other, *modulus):
        if isinstance(other, (int, float)):
            _require(name, *((other, self) if reflected else (self, other)))
        return _checked(compute(self, other, *modulus))

    return applied


def _unary(name):
    compute = getattr(int, f"__{name}__")
    return lambda self: _checked(compute(self))


class Literal(int):
    """An int that stays one where it meets others, and meets values of the language as any int does."""

    __slots__ = ()


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and", "or", "xor"):
    setattr(Literal, f"__{_name}__", _binary(_name))
    setattr(Literal, f"__r{_name}__", _binary(_name, reflected=True))
for _name in ("neg", "pos", "invert"):
    setattr(Literal, f"__{_name}__", _unary(_name))


def literal(value):
    """The value with its Python ints, those in tuples included, as literals."""
    if type(value) is int:
        return Literal(value)
    if type(value) is tuple:
        return tuple(map(literal, value))
    return value


def _cell(cell):
    try:
        value = cell.cell_contents
    except ValueError: # not bound yet
        return cell
    held = literal(value)
    return cell if held is value else types.CellType(held)


def with_literals(function, builtins):
    """The author's function with those builtins, and literals for the ints of its text and for the names that it sees."""
    code = function.__code__.replace(co_consts=literal(function.__code__.co_consts))
    names = {name: literal(value) for name, value in function.__globals__.items()}
    made = types.FunctionType(code, {**names, "__builtins__": builtins}, function.__name__, literal(function.__defaults__),
                              function.__closure__ and tuple(map(_cell, function.__closure__)))
    made.__kwdefaults__ = function.__kwdefaults__ and {name: literal(value) for name, value in function.__kwdefaults__.items()}
    return made
