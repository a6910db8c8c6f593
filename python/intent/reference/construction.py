"""Making and rearranging tensors."""
from __future__ import annotations

import math

import numpy as np

from intent.errors import CallError, LanguageError

from .context import current
from .values import Record, Tensor, alike, as_format, as_value, broadcast_shape, describe, format_of, run_time_index, static_int


def shape_argument(shape, inferred_total=None):
    """The extents of a shape argument: ints, index scalars, symbols of the views, one `...` where a total is given. LanguageError."""
    items = shape if isinstance(shape, tuple) else (shape,)
    extents, inferred = [], None
    for item in items:
        if item is Ellipsis:
            if inferred_total is None:
                raise LanguageError("'...' stands only in the shape of I.reshape")
            if inferred is not None:
                raise LanguageError("a shape has one '...' at most")
            inferred = len(extents)
            extents.append(1)
            continue
        if isinstance(item, str):
            symbols = current().symbols
            if item not in symbols:
                raise LanguageError(f"shape: no view has an extent named {item!r}")
            extents.append(symbols[item])
            continue
        extent = run_time_index(item, "shape")
        if extent < 0:
            raise LanguageError(f"shape: an extent is not negative, got {extent}")
        extents.append(extent)
    if inferred is not None:
        known = math.prod(extents)
        if known == 0 or inferred_total % known:
            raise LanguageError(f"I.reshape: {inferred_total} elements do not divide into {extents} with one '...'")
        extents[inferred] = inferred_total // known
    return tuple(extents)


def full(shape, fill, dtype):
    extents, format = shape_argument(shape), format_of(dtype, "I.full")
    value = as_format(fill, format, "I.full")
    if value.data.ndim:
        raise LanguageError(f"I.full: expected a scalar fill, got {describe(fill)}")
    return Tensor(np.full(extents, value.data, format.storage), format)


def zeros(shape, dtype):
    return full(shape, 0, dtype)


def tensor_argument(value, operation):
    if isinstance(value, Tensor):
        return value
    raise LanguageError(f"{operation}: expected a tensor, got {describe(value)}")


def reshape(value, shape):
    value = tensor_argument(value, "I.reshape")
    extents = shape_argument(shape, value.data.size)
    if math.prod(extents) != value.data.size:
        message = f"I.reshape: {list(value.data.shape)} has {value.data.size} elements, {list(extents)} has {math.prod(extents)}"
        # Extents that the arguments bring are checked at a launch; written ones are the program's.
        written = all(isinstance(item, int) for item in (shape if isinstance(shape, tuple) else (shape,)))
        raise LanguageError(message) if written else CallError(message)
    return Tensor(value.data.reshape(extents), value.format)


def transpose(value, permutation):
    value = tensor_argument(value, "I.transpose")
    rank = value.data.ndim
    if permutation is None:
        return Tensor(value.data.T, value.format)
    if not isinstance(permutation, tuple):
        raise LanguageError(f"I.transpose: expected a tuple of axes, got {describe(permutation)}")
    axes = [static_int(axis, "I.transpose") for axis in permutation]
    axes = [axis + rank if -rank <= axis < 0 else axis for axis in axes]
    if sorted(axes) != list(range(rank)):
        raise LanguageError(f"I.transpose: expected a permutation of {rank} axes, got {permutation}")
    return Tensor(value.data.transpose(axes), value.format)


def join(lhs, rhs):
    a, b = alike("I.join", lhs, rhs)
    shape = broadcast_shape([a.data.shape, b.data.shape])
    return Tensor(np.stack([np.broadcast_to(a.data, shape), np.broadcast_to(b.data, shape)], axis=-1), a.format)


def record(fields):
    if not fields:
        raise LanguageError("a record has at least one field")
    for value in fields.values():
        if not isinstance(value, (tuple, Record)):
            as_value(value)
    return Record(fields)


def outer(lhs, rhs):
    from .elementwise import binary

    a, b = alike("I.outer", lhs, rhs)
    for value in (a, b):
        if not isinstance(value, Tensor) or value.data.ndim != 1:
            raise LanguageError(f"I.outer: expected a rank-1 operand, got {describe(value)}")
    return binary("*", Tensor(a.data[:, None], a.format), b, "I.outer")


