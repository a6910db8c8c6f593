"""What a name holds inside a kernel that the reference runs: tensors, scalars, records and literals."""
from __future__ import annotations

import numpy as np

from intent.errors import LanguageError
from intent.language.types import DType, TypeVar

from .formats import BOOL, FORMATS, INDEX, Format, converted, default_format, is_literal, literal_array


class Divergence(Exception):
    """Scalars of many lanes that run together met a place that asks for one lane; the caller runs them one by one."""


class Value:
    """A tensor or scalar: `data` in the storage of `format`. `weak` values came from literals alone and take the dtype of their context."""

    __slots__ = ("data", "format", "weak")

    def __init__(self, data, format, weak=False):
        self.data = data
        self.format = format
        self.weak = weak

    __hash__ = None
    __array_ufunc__ = None

    @property
    def dtype(self):
        return self.format.token

    def __repr__(self):
        return f"{self.format} {np.array2string(np.asarray(self.data), threshold=20)}"

    def __array__(self, dtype=None, copy=None):
        return np.array(self.data, dtype=dtype)

    def __iter__(self):
        raise LanguageError(f"expected a tuple to unpack, or a domain to loop over, got {describe(self)}")

    def __len__(self):
        raise LanguageError("Python builtin 'len' is not part of the language; use x.shape")

    def __contains__(self, item):
        raise LanguageError("operator 'In' is not part of the language")

    def __matmul__(self, other):
        raise LanguageError("operator '@' is not part of the language; use I.matmul")

    __rmatmul__ = __matmul__

    def __setitem__(self, index, value):
        raise LanguageError(f"{describe(self)} is not written by index; values are immutable, and only Out and InOut views are written")


class Scalar(Value):
    """One element. Inside a combine function it may stand for many lanes at once: `data` then has an axis of lanes."""

    __slots__ = ()

    def item(self):
        """The Python number. Raises Divergence where lanes run together."""
        if self.data.ndim:
            raise Divergence
        return self.data.item()

    def __bool__(self):
        if self.format is not BOOL:
            raise LanguageError(f"a condition is bool, got {describe(self)}; compare it")
        if self.data.ndim:
            if self.data.size and (self.data == self.data.flat[0]).all():
                return bool(self.data.flat[0])
            raise Divergence
        return bool(self.data)

    def __getitem__(self, index):
        raise LanguageError(f"{describe(self)} is not indexed")


class Tensor(Value):
    """An immutable tensor."""

    __slots__ = ()

    @property
    def shape(self):
        return tuple(index_scalar(extent) for extent in self.data.shape)

    def __bool__(self):
        raise LanguageError(f"a condition is a scalar, got {describe(self)}; use I.select, and & | ~ on tensors")

    def __getitem__(self, index):
        from .indexing import read_tensor

        return read_tensor(self, index)


class Record:
    """A product of named values."""

    __slots__ = ("_fields",)

    def __init__(self, fields):
        object.__setattr__(self, "_fields", dict(fields))

    def __getattr__(self, name):
        fields = object.__getattribute__(self, "_fields")
        if name.startswith("__") or name not in fields:
            raise LanguageError(f"the record has no field '{name}'; it has {', '.join(fields)}")
        return fields[name]

    def __setattr__(self, name, value):
        raise LanguageError("values are immutable; make a new record")

    def __getitem__(self, index):
        raise LanguageError(f"a record is read by attribute, as in r.{next(iter(self._fields), 'a')}")

    def __repr__(self):
        return "record(" + ", ".join(f"{name}={value!r}" for name, value in self._fields.items()) + ")"


def index_scalar(number):
    return Scalar(np.asarray(number, np.int64), INDEX)


def scalar(number, format):
    return Scalar(np.asarray(number, format.storage), format)


def describe(value):
    """A value in the words of a diagnostic."""
    if isinstance(value, Scalar):
        return f"{value.format} scalar"
    if isinstance(value, Tensor):
        return f"{value.format} tensor {list(value.data.shape)}"
    if is_literal(value):
        return f"literal {value!r}"
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    if isinstance(value, Record):
        return "a record"
    if isinstance(value, str):
        return f"string {value!r}"
    named = getattr(value, "described", None)
    return named if isinstance(named, str) else f"a Python object ({type(value).__name__!r})"


def format_of(dtype, what="dtype"):
    """The format of a dtype argument: a token, or a type variable of the running kernel."""
    if isinstance(dtype, TypeVar):
        from .context import current

        dtype = current().types.get(dtype.name)
    if isinstance(dtype, DType):
        return FORMATS[dtype.name]
    raise LanguageError(f"{what}: expected a dtype, got {describe(dtype)}")


def as_value(operand):
    """A Value from a value or literal; literals take their default dtype."""
    if isinstance(operand, Value):
        return operand
    if is_literal(operand):
        format = default_format(operand)
        return Scalar(literal_array(operand, format), format, weak=True)
    raise LanguageError(f"expected a tensor or scalar, got {describe(operand)}" + _advice(operand))


def _advice(operand):
    kind = getattr(operand, "described", "")
    if kind.startswith("view") or kind.startswith("buffer"):
        return "; read its elements with [:]"
    if kind == "a domain":
        return "; its coordinates are I.indices(...)"
    return ""


def as_format(operand, format, what=None):
    """The operand in a format: literals convert if the format can hold them, anything else has that dtype already. LanguageError."""
    if is_literal(operand):
        return Scalar(literal_array(operand, format), format)
    value = as_value(operand)
    if value.format is format:
        return type(value)(value.data, format) if value.weak else value
    if value.weak:
        return _settled(value, format)
    subject = f"{what}: " if what else ""
    raise LanguageError(f"{subject}expected {format}, got {value.format}; convert it with I.cast")


def _settled(value, format):
    """A weak value in the dtype of its context."""
    for element in np.unique(value.data):
        literal_array(element.item(), format)
    return type(value)(converted(value.data, value.format, format), format)


def alike(operation, *operands):
    """Values of one dtype from the operands of an operation; literals take the dtype of the others. LanguageError where they differ."""
    strong = [o for o in operands if isinstance(o, Value) and not o.weak]
    if len(strong) == len(operands) and all(o.format is strong[0].format for o in strong):
        return strong
    if strong:
        format = strong[0].format
        for other in strong[1:]:
            if other.format is not format:
                raise LanguageError(f"{operation}: operands share a dtype, got {format} and {other.format}; convert one with I.cast")
        return [as_format(o, format) for o in operands]
    values = [as_value(o) for o in operands]
    widest = max(("bool", "i64", "f64").index(v.format.name) for v in values)
    return [as_format(v, FORMATS[("bool", "i64", "f64")[widest]]) for v in values]


def broadcast_shape(shapes):
    """The joint shape: trailing axes aligned, extents equal or 1. LanguageError."""
    rank = max(map(len, shapes), default=0)
    joint = [1] * rank
    for shape in shapes:
        for axis, extent in enumerate(shape, rank - len(shape)):
            if joint[axis] == 1:
                joint[axis] = extent
            elif extent not in (1, joint[axis]):
                texts = " and ".join(str(list(s)) for s in shapes)
                raise LanguageError(f"shapes {texts} do not broadcast: extents {joint[axis]} and {extent} of axis {axis} are neither equal nor 1")
    return tuple(joint)


def kind_of(values):
    """Tensor if one operand is a tensor, else Scalar."""
    tensors = [v for v in values if isinstance(v, Tensor)]
    if not tensors:
        return Scalar
    if any(isinstance(v, Scalar) and v.data.ndim for v in values):
        raise Divergence
    return Tensor


def function_argument(function, what):
    """An author's function, or an operation of the language that serves as one. LanguageError."""
    if not callable(function):
        raise LanguageError(f"{what}: expected an @intent.fn or an operation of the language, got {describe(function)}")
    return function


def static_int(value, what):
    """A compile-time integer. LanguageError."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise LanguageError(f"{what}: expected a compile-time integer, got {describe(value)}")


def run_time_index(value, what):
    """The Python int of an integer literal or scalar. LanguageError, Divergence."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, Scalar) and value.format.is_integer:
        return int(np.int64(value.item() if value.item() < 2**63 else value.item() - 2**64))
    raise LanguageError(f"{what}: expected an integer scalar, got {describe(value)}")


# -- products -----------------------------------------------------------------------------------------------

def leaves(structure):
    """The values of a tuple, record or single value, in order."""
    if isinstance(structure, tuple):
        return [leaf for item in structure for leaf in leaves(item)]
    if isinstance(structure, Record):
        return [leaf for item in structure._fields.values() for leaf in leaves(item)]
    return [structure]


def rebuilt(structure, parts):
    """The structure with its leaves replaced, in order."""
    return _rebuild(structure, iter(parts))


def _rebuild(structure, parts):
    if isinstance(structure, tuple):
        return tuple(_rebuild(item, parts) for item in structure)
    if isinstance(structure, Record):
        return Record((name, _rebuild(item, parts)) for name, item in structure._fields.items())
    return next(parts)


def same_structure(a, b):
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(same_structure, a, b))
    if isinstance(a, Record):
        return isinstance(b, Record) and list(a._fields) == list(b._fields) and all(map(same_structure, a._fields.values(), b._fields.values()))
    return not isinstance(b, (tuple, Record))


def matched(structure, like, what):
    """The leaves of `structure` in the formats of `like`'s leaves; both have one structure. LanguageError."""
    if not same_structure(like, structure):
        raise LanguageError(f"{what}: expected the structure of {describe(like)}, got {describe(structure)}")
    return [as_format(part, model.format if isinstance(model, Value) else as_value(model).format, what)
            for part, model in zip(leaves(structure), leaves(like))]
