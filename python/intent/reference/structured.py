"""Reductions, scans and histograms (numerics.md section 3)."""
from __future__ import annotations

import copy

import numpy as np

from intent.errors import LanguageError

from .construction import tensor_argument
from .context import current
from .elementwise import computed, require_arithmetic
from .formats import BOOL, FORMATS, INDEX, converted, rounded
from .laws import require_combine
from .values import (Divergence, Record, Scalar, Tensor, Value, as_format, as_value, broadcast_shape, describe, format_of, function_argument, leaves,
                     matched, rebuilt, run_time_index, same_structure, static_int)

# Sums widen these formats unless acc_dtype says otherwise.
_WIDENED = {"f16": "f32", "bf16": "f32", "f8e4m3fn": "f32", "f8e5m2": "f32", "i8": "i32", "i16": "i32", "u8": "u32", "u16": "u32", "bool": "i32"}


def axes_of(axis, rank):
    """Non-negative axes of an int or tuple of ints. LanguageError."""
    found = []
    for item in axis if isinstance(axis, tuple) else (axis,):
        number = static_int(item, "axis")
        if not -rank <= number < rank:
            raise LanguageError(f"axis {number} is out of range for rank {rank}")
        number %= rank
        if number in found:
            raise LanguageError(f"axis {item} is repeated")
        found.append(number)
    return tuple(found)


def one_axis(axis, rank):
    return axes_of(static_int(axis, "axis"), rank)[0]


def accumulated(value, acc_dtype, what, default=None):
    """The value in the accumulator's format."""
    if acc_dtype is not None:
        format = format_of(acc_dtype, f"{what}: acc_dtype")
    else:
        format = FORMATS[default] if default else value.format
    return Tensor(np.asarray(converted(value.data, value.format, format), format.storage), format)


def identity_of(kind, format):
    """The storage value that changes nothing under `sum`, `prod`, `max`, `min`."""
    if kind in ("sum", "prod"):
        return np.asarray(kind == "prod", format.storage)
    sign = -1 if kind == "max" else 1
    if format.is_float:
        return np.asarray(sign * (448.0 if format.name == "f8e4m3fn" else np.inf), format.storage)
    return np.asarray(format.limits[0 if kind == "max" else 1], format.storage)


def combined(kind, data, axes, format):
    """The reduction of an array of storage; sums and products of floats in higher precision, rounded once."""
    if kind in ("max", "min"):
        return (np.maximum if kind == "max" else np.minimum).reduce(data, axis=axes, initial=identity_of(kind, format)) if data.ndim else data
    function = np.sum if kind == "sum" else np.prod
    if format.is_float:
        wide = np.longdouble if format.name == "f64" else np.float64
        return rounded(function(data.astype(wide), axis=axes), format)
    return function(data, axis=axes, dtype=format.storage)


def _reduced(data, format, axes, rank, keepdims):
    if keepdims:
        return Tensor(np.expand_dims(np.asarray(data, format.storage), tuple(sorted(axes))), format)
    return (Scalar if len(axes) == rank else Tensor)(np.asarray(data, format.storage), format)


def reduce_named(kind):
    def operation(value, axis, keepdims, acc_dtype=None):
        what = f"I.reduce.{kind}"
        value = tensor_argument(value, what)
        axes = axes_of(axis, value.data.ndim)
        if kind in ("any", "all"):
            if value.format is not BOOL:
                raise LanguageError(f"{what} takes bool, got {value.format}; compare first")
            return _reduced((np.any if kind == "any" else np.all)(value.data, axis=axes), BOOL, axes, value.data.ndim, keepdims)
        if kind == "mean" and not value.format.is_float:
            raise LanguageError(f"{what} takes floats, got {value.format}; convert with I.cast")
        if kind in ("max", "min") and value.format is BOOL:
            raise LanguageError(f"{what} does not take bool; use I.reduce.any or I.reduce.all")
        if kind == "prod" and acc_dtype is None:
            require_arithmetic(value.format, what)
        value = accumulated(value, acc_dtype, what, _WIDENED.get(value.format.name) if kind in ("sum", "mean") else None)
        if kind == "mean":
            if not value.format.is_float:
                raise LanguageError(f"{what}: acc_dtype is a float, got {value.format}")
            total = combined("sum", value.data, axes, value.format)
            count = np.asarray(np.prod([value.data.shape[a] for a in axes], dtype=np.float64))
            data = computed("/", total, rounded(count, value.format), value.format)
        else:
            data = combined(kind, value.data, axes, value.format)
        return _reduced(data, value.format, axes, value.data.ndim, keepdims)

    return operation


def arg_reduce(kind):
    def operation(value, axis, acc_dtype):
        what = f"I.arg_reduce.{kind}"
        value = tensor_argument(value, what)
        if value.format is BOOL:
            raise LanguageError(f"{what} does not take bool")
        axis = one_axis(axis, value.data.ndim)
        value = accumulated(value, acc_dtype, what)
        data = value.data
        if data.shape[axis] == 0:
            rest = data.shape[:axis] + data.shape[axis + 1:]
            best, at = np.full(rest, identity_of(kind, value.format)), np.zeros(rest, np.int64)
        else:
            # NumPy's rule is the language's: the first of equal values, and the first NaN before all.
            at = (np.argmax if kind == "max" else np.argmin)(data, axis=axis)
            best = np.take_along_axis(data, np.expand_dims(at, axis), axis).squeeze(axis)
        made = Scalar if data.ndim == 1 else Tensor
        return made(np.asarray(best, value.format.storage), value.format), made(np.asarray(at, np.int64), INDEX)

    return operation


# -- generic combination --------------------------------------------------------------------------------------

def operands(value, axis_count, what, acc_dtype):
    """The tensors of a product, of one shape. LanguageError."""
    parts = leaves(value)
    if not parts:
        raise LanguageError(f"{what} takes at least one tensor")
    tensors = [tensor_argument(as_value(part), what) for part in parts]
    shape = broadcast_shape([t.data.shape for t in tensors])
    tensors = [Tensor(np.broadcast_to(t.data, shape), t.format) for t in tensors]
    return [accumulated(t, acc_dtype, what) for t in tensors] if acc_dtype is not None else tensors


class Combiner:
    """An author's combine function on lanes of elements: all lanes at once where it bears that, else one by one."""

    def __init__(self, combine, structure, identity, tensors, combine_operands, kept, what):
        """`kept`: the shape of the axes that stay; a tensor among the operands has it, and a lane sees its element."""
        function_argument(combine, what)
        if not isinstance(combine_operands, tuple):
            raise LanguageError(f"combine_operands: expected a tuple, got {describe(combine_operands)}")
        self.combine, self.structure = combine, structure
        self.operands = [self._captured(operand, kept) for operand in combine_operands]
        self.formats = [t.format for t in tensors]
        if not same_structure(structure, identity):
            raise LanguageError(f"identity: expected the structure of {describe(structure)}, got {describe(identity)}")
        self.identity = [as_format(part, f, "identity") for part, f in zip(leaves(identity), self.formats)]
        for part in self.identity:
            if part.data.ndim:
                raise LanguageError(f"identity: expected scalars, got {describe(part)}")
        # An identity that is a rank-zero tensor makes rank-zero tensors of the elements.
        self.kinds = [type(part) for part in self.identity]
        self.together = Tensor not in self.kinds

    @staticmethod
    def _captured(operand, kept):
        """A scalar as it is; of a tensor, one element for each lane of the kept axes."""
        if not isinstance(operand, Tensor):
            return operand
        if broadcast_shape([operand.data.shape, kept]) != kept:
            raise LanguageError(f"combine_operands: expected a scalar or a tensor of the kept axes {list(kept)}, got {describe(operand)}")
        return Tensor(np.broadcast_to(operand.data, kept).reshape(-1), operand.format)

    def of_lanes(self, chosen):
        """This combiner for some of the kept lanes."""
        made = copy.copy(self)
        made.operands = [Tensor(o.data[chosen], o.format) if isinstance(o, Tensor) else o for o in self.operands]
        return made

    def _seen(self, lanes, at=None):
        """The operands as `lanes` lanes see them, or as lane `at` does: lanes run over the kept axes, then over pairs."""
        for operand in self.operands:
            if not isinstance(operand, Tensor):
                yield operand
                continue
            data = np.repeat(operand.data, lanes // len(operand.data))
            yield Scalar(data if at is None else np.asarray(data[at]), operand.format)

    def __call__(self, left, right):
        """Combines lanes: each side is a list of one array of lanes a component."""
        lanes = len(left[0])
        if self.together and lanes:
            try:
                return self._apply([Scalar(d, f) for d, f in zip(left, self.formats)], [Scalar(d, f) for d, f in zip(right, self.formats)], lanes,
                                   self._seen(lanes))
            except Divergence:
                self.together = False
        results = [self._apply([k(np.asarray(d[i]), f) for k, d, f in zip(self.kinds, left, self.formats)],
                               [k(np.asarray(d[i]), f) for k, d, f in zip(self.kinds, right, self.formats)], 1, self._seen(lanes, i))
                   for i in range(lanes)]
        return [np.array([r[c][0] for r in results], f.storage) for c, f in enumerate(self.formats)]

    def _apply(self, left, right, lanes, operands):
        with current().without_effects():
            result = self.combine(rebuilt(self.structure, left), rebuilt(self.structure, right), *operands)
        if not same_structure(self.structure, result):
            raise LanguageError(f"combine result: expected the structure of {describe(self.structure)}, got {describe(result)}")
        parts = [as_format(part, f, "combine result") for part, f in zip(leaves(result), self.formats)]
        for part in parts:
            if isinstance(part, Tensor) and part.data.ndim:
                raise LanguageError(f"combine result: expected scalars, got {describe(part)}")
        return [np.broadcast_to(part.data.reshape(-1) if part.data.ndim < 2 else part.data, (lanes,)) for part in parts]


def reduce(value, axis, identity, combine, combine_operands, acc_dtype):
    """Elements meet in a balanced tree over an order that the seed shuffles."""
    tensors = operands(value, None, "I.reduce", acc_dtype)
    rank = tensors[0].data.ndim
    axes = axes_of(axis, rank)
    rest = [a for a in range(rank) if a not in axes]
    shape = tuple(tensors[0].data.shape[a] for a in rest)
    combiner = Combiner(combine, value, identity, tensors, combine_operands, shape, "I.reduce")
    lanes = int(np.prod(shape, dtype=np.int64))
    flat = [t.data.transpose(*rest, *axes).reshape(lanes, int(np.prod([t.data.shape[a] for a in axes], dtype=np.int64))) for t in tensors]
    count = flat[0].shape[1]
    members = flat
    if count:
        order = current().random.permutation(count)
        flat = [f[:, order] for f in flat]
        while count > 1:
            pairs = count // 2
            left, right = [f[:, 0:2 * pairs:2].reshape(-1) for f in flat], [f[:, 1:2 * pairs:2].reshape(-1) for f in flat]
            joined = [d.reshape(lanes, pairs) for d in combiner(left, right)]
            flat = [np.concatenate([j, f[:, 2 * pairs:]], axis=1) for j, f in zip(joined, flat)]
            count = flat[0].shape[1]
        data = [f[:, 0] for f in flat]
    else:
        data = [np.full(lanes, part.data) for part in combiner.identity]
    require_combine(combiner, members, False, "I.reduce")
    full = len(axes) == rank
    parts = [(k if full else Tensor)(np.asarray(d, f.storage).reshape(shape), f) for k, d, f in zip(combiner.kinds, data, combiner.formats)]
    return rebuilt(value, parts)


def scan(value, axis, identity, combine, combine_operands, inclusive, reverse, acc_dtype):
    """Elements meet one after the other, in member order; the accumulated operand stands first."""
    tensors = operands(value, None, "I.scan", acc_dtype)
    axis = one_axis(axis, tensors[0].data.ndim)
    moved = [np.moveaxis(t.data, axis, 0) for t in tensors]
    count, shape = moved[0].shape[0], moved[0].shape[1:]
    combiner = Combiner(combine, value, identity, tensors, combine_operands, shape, "I.scan")
    lanes = int(np.prod(shape, dtype=np.int64))
    flat = [m.reshape(count, lanes) for m in moved]
    results = [np.empty((count, lanes), t.format.storage) for t in tensors]
    state = [np.full(lanes, part.data) for part in combiner.identity]
    for step, at in enumerate(range(count - 1, -1, -1) if reverse else range(count)):
        element = [f[at] for f in flat]
        if not inclusive:
            for result, part in zip(results, state):
                result[at] = part
        state = element if step == 0 else combiner(state, element)
        if inclusive:
            for result, part in zip(results, state):
                result[at] = part
    require_combine(combiner, [f[::-1].T if reverse else f.T for f in flat], True, "I.scan")
    return rebuilt(value, [Tensor(np.moveaxis(r.reshape((count, *shape)), 0, axis), t.format) for r, t in zip(results, tensors)])


def cumulative(kind):
    def operation(value, axis, inclusive, reverse, acc_dtype):
        what = f"I.cum{kind}"
        value = tensor_argument(value, what)
        axis = one_axis(axis, value.data.ndim)
        if kind != "sum" or value.format is not BOOL:
            if acc_dtype is None and not (kind == "sum" and value.format.is_small_float) and not (kind == "max" and value.format.is_small_float):
                require_arithmetic(value.format, what)
        value = accumulated(value, acc_dtype, what, _WIDENED.get(value.format.name) if kind == "sum" else None)
        format = value.format
        data = np.moveaxis(value.data, axis, 0)
        data = data[::-1] if reverse else data
        if not inclusive:
            first = np.full((1, *data.shape[1:]), identity_of(kind, format), data.dtype)
            data = np.concatenate([first, data[:-1]]) if len(data) else data
        if kind == "max":
            result = np.maximum.accumulate(data, axis=0)
        else:
            function = np.add if kind == "sum" else np.multiply
            if format.is_float:
                wide = np.longdouble if format.name == "f64" else np.float64
                result = rounded(function.accumulate(data.astype(wide), axis=0), format)
            else:
                result = function.accumulate(data, axis=0, dtype=format.storage)
        result = result[::-1] if reverse else result
        return Tensor(np.asarray(np.moveaxis(result, 0, axis), format.storage), format)

    return operation


def histogram(values, bins, valid, count_dtype):
    values = tensor_argument(values, "I.histogram")
    if not values.format.is_integer:
        raise LanguageError(f"I.histogram takes integers, got {describe(values)}")
    count, format = run_time_index(bins, "I.histogram: bins"), format_of(count_dtype, "I.histogram: count_dtype")
    if not format.is_integer:
        raise LanguageError(f"I.histogram: count_dtype is an integer, got {format}")
    if count < 0:
        raise LanguageError(f"I.histogram: bins is not negative, got {count}")
    mask = as_value(valid)
    if mask.format is not BOOL or broadcast_shape([mask.data.shape, values.data.shape]) != values.data.shape:
        raise LanguageError(f"I.histogram: valid is bool and broadcasts to the values, got {describe(mask)}")
    active = values.data[np.broadcast_to(mask.data, values.data.shape)]
    wrong = (active < 0) | (active >= count)
    if wrong.any():
        raise LanguageError(f"I.histogram: value {int(active[wrong][0])} lies outside [0, {count})")
    return Tensor(np.bincount(active.astype(np.int64), minlength=count).astype(format.storage), format)


