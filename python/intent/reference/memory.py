"""Views and buffers: reads, writes, gathers, scatters, each checked for bounds, initialisation and conflicts."""
from __future__ import annotations

import numpy as np

from intent.errors import LanguageError

from . import indexing
from .context import current
from .formats import BOOL, decoded, encoded, raw_dtype
from .laws import THOROUGH, require_any_order
from .races import Storage
from .structured import Combiner
from .values import Scalar, Tensor, Value, as_format, as_value, broadcast_shape, describe, function_argument, index_scalar, leaves

# Pairs of colliding lanes that a scatter tries in both orders.
_COLLISIONS = 16


class Memory:
    """What indexed accesses act on. `raw` holds bits (`formats.raw_dtype`), in author memory for a view.

    `written` marks the elements that hold a value, None where all do. Element `[i, j]` is unit `base + i * unit_strides[0] + ...`
    of `storage`, `cover` units wide.
    """

    __slots__ = ("name", "format", "raw", "access", "written", "storage", "base", "unit_strides", "cover")

    def __init__(self, name, format, raw, access, written, storage, base, unit_strides, cover=1):
        self.name, self.format, self.raw, self.access, self.written = name, format, raw, access, written
        self.storage, self.base, self.unit_strides, self.cover = storage, base, unit_strides, cover

    __hash__ = None

    @property
    def described(self):
        return f"buffer '{self.name}'" if self.access == "buffer" else f"view '{self.name}'"

    @property
    def shape(self):
        return tuple(map(index_scalar, self.raw.shape))

    @property
    def dtype(self):
        return self.format.token

    def __repr__(self):
        return f"{self.described} {self.format} {list(self.raw.shape)}"

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise LanguageError(f"{self.described} has no attribute '{name}'")

    def __getitem__(self, index):
        point = indexing.point(index, self.raw.shape)
        if point is not None:
            return self._element(point)
        return self.read(indexing.select(index, self.raw.shape, self.described))

    def __setitem__(self, index, value):
        store(self, index, value)

    def __iter__(self):
        raise LanguageError(f"expected a tuple to unpack, or a domain to loop over, got {self.described}")

    def __bool__(self):
        raise LanguageError(f"a condition is a bool scalar, got {self.described}")

    # -- accesses -------------------------------------------------------------------------------------------

    def _note(self, positions, kind):
        races = current().races
        if len(races.frames) > self.storage.depth:
            races.record(self.storage, self.units(positions), kind, self.described)

    def units(self, positions):
        """Storage units of the elements at flat position arrays."""
        first = self.base + sum(p * s for p, s in zip(positions, self.unit_strides))
        first = np.asarray(first, np.int64).reshape(-1)
        return first if self.cover == 1 else (first[:, None] + np.arange(self.cover)).reshape(-1)

    def lanes(self, selection, valid=None):
        """Flat position arrays of the lanes that are selected (and valid)."""
        if valid is None:
            return [p.reshape(-1) for p in selection.full()] if selection.positions else []
        return [p[valid] for p in selection.full()]

    def check_written(self, positions, count):
        if self.written is None or not count:
            return
        known = self.written[tuple(positions)] if positions else self.written.reshape(1)
        if not known.all():
            where = ", ".join(str(int(p[np.flatnonzero(~known)[0]])) for p in positions)
            raise LanguageError(f"{self.described} is read at [{where}] before anything is written there")

    def load(self, positions, count):
        """Values of `count` lanes at flat positions, checked and noted."""
        self.check_written(positions, count)
        self._note(positions, "read")
        return decoded(self.raw[tuple(positions)] if positions else np.repeat(self.raw.reshape(1), count), self.format)

    def put(self, positions, data, kind="write"):
        """Stores flat values at flat positions, noted."""
        self.check_writable()
        self._note(positions, kind)
        bits = encoded(data, self.format)
        if positions:
            self.raw[tuple(positions)] = bits
        elif len(bits):
            self.raw[()] = bits[-1]
        if self.written is not None:
            self.written[tuple(positions)] = True

    def check_writable(self):
        if self.access == "in":
            raise LanguageError(f"parameter '{self.name}' is an input (I.In) and is not written")
        if current().pure:
            raise LanguageError(f"a combine function has no effects; it writes '{self.name}'")

    def _element(self, point):
        """One element at coordinates in bounds: what `read` does, without arrays of positions."""
        if self.written is not None and not self.written[point]:
            self.check_written([np.asarray([p]) for p in point], 1)
        races = current().races
        if len(races.frames) > self.storage.depth:
            races.record(self.storage, self.units(point), "read", self.described)
        return Scalar(np.asarray(decoded(self.raw[point], self.format), self.format.storage), self.format)

    def read(self, selection):
        indexing.check_bounds(selection, self.raw.shape, self.described)
        count = int(np.prod(selection.shape, dtype=np.int64))
        data = self.load(self.lanes(selection), count).reshape(selection.shape)
        scalar = selection.scalar and self.raw.ndim and not selection.new_axes
        return (Scalar if scalar else Tensor)(selection.with_new_axes(np.asarray(data, self.format.storage)), self.format)


def memory_of(target, operation):
    if isinstance(target, Memory):
        return target
    raise LanguageError(f"{operation} takes a view or buffer, got {describe(target)}")


def checked(target, index):
    """The Selection of a write; every lane in bounds."""
    selection = indexing.select(index, target.raw.shape, target.described, new_axes_allowed=False)
    indexing.check_bounds(selection, target.raw.shape, target.described)
    return selection


def spread(target, selection, value):
    """The flat lanes of a value that is written to a selection; it broadcasts to the selection, never the other way."""
    value = as_format(value, target.format, f"{target.described}")
    if value.data.ndim > len(selection.shape) or broadcast_shape([value.data.shape, selection.shape]) != selection.shape:
        if selection.shape == () and value.data.ndim:
            raise LanguageError(f"{target.described} takes one element here, got a value of shape {list(value.data.shape)}")
        raise LanguageError(f"value of shape {list(value.data.shape)} does not broadcast to the written part of {target.described}, {list(selection.shape)}")
    return np.broadcast_to(value.data, selection.shape).reshape(-1)


def store(target, index, value):
    """`target[index] = value`. Lanes that meet at one element must agree."""
    target = memory_of(target, "I.store")
    target.check_writable()
    selection = checked(target, index)
    data = spread(target, selection, value)
    positions = target.lanes(selection)
    target.put(positions, data)
    if selection.tensors and len(data):
        held = target.raw[tuple(positions)]
        given = encoded(data, target.format)
        if not np.array_equal(np.asarray(held).view(np.uint8), np.ascontiguousarray(given).astype(held.dtype, copy=False).view(np.uint8)):
            raise LanguageError(f"lanes of one write put different values into one element of {target.described}")


def mutable_load(target, index):
    return memory_of(target, "I.mutable_load")[index]


def scatter_unique(destination, index, value):
    target = memory_of(destination, "I.scatter_unique")
    target.check_writable()
    selection = checked(target, index)
    data = spread(target, selection, value)
    positions = target.lanes(selection)
    if len(data) > 1:
        units, counts = np.unique(target.units(positions) if positions else np.zeros(len(data), np.int64), return_counts=True)
        if (counts > 1).any():
            flat = target.units(positions) if positions else np.zeros(len(data), np.int64)
            at = int(np.flatnonzero(flat == units[counts > 1][0])[0]) // target.cover
            where = ", ".join(str(int(p[at])) for p in positions)
            raise LanguageError(f"I.scatter_unique: {int(counts.max())} lanes write {target.described} at [{where}]; destinations are distinct")
    target.put(positions, data)


def scatter_reduce(destination, index, value, combine):
    """Collisions combine one by one, in an order that the seed shuffles."""
    target = memory_of(destination, "I.scatter_reduce")
    function_argument(combine, "I.scatter_reduce: combine")
    target.check_writable()
    selection = checked(target, index)
    data = spread(target, selection, value)
    positions = target.lanes(selection)
    target.check_written(positions, len(data))
    target._note(positions, "atomic")
    interpreter = current()
    _require_any_order(target, positions, data, combine)
    for lane in interpreter.random.permutation(len(data)).tolist():
        at = tuple(int(p[lane]) for p in positions)
        held = Scalar(np.asarray(decoded(target.raw[at], target.format), target.format.storage), target.format)
        added = Scalar(np.asarray(data[lane], target.format.storage), target.format)
        with interpreter.without_effects():
            combined = as_format(combine(held, added), target.format, "combine result")
        target.raw[at] = encoded(combined.data, target.format)


def _require_any_order(target, positions, data, combine):
    """Tries the combine of a scatter on pairs of lanes that collide."""
    what = "I.scatter_reduce"
    interpreter = current()
    if len(data) < 2 or interpreter.visit(what) > THOROUGH:
        return
    flat = np.ravel_multi_index(positions, target.raw.shape) if positions else np.zeros(len(data), np.int64)
    order = interpreter.trials.permutation(len(flat))
    order = order[np.argsort(flat[order], kind="stable")]
    pairs = np.flatnonzero(np.diff(flat[order]) == 0)
    pairs = interpreter.trials.choice(pairs, min(len(pairs), _COLLISIONS), replace=False)
    if len(pairs):
        first, second = order[pairs], order[pairs + 1]
        held = decoded(target.raw[tuple(p[first] for p in positions)] if positions else np.repeat(target.raw.reshape(1), len(first)), target.format)
        element = Tensor(np.asarray(held, target.format.storage), target.format)
        neutral = Scalar(element.data[0], target.format)
        require_any_order(Combiner(combine, element, neutral, [element], (), (), what), element.data, (data[first], data[second]), what)


def gather(source, index, valid, fill):
    """Lanes that are not valid touch no memory and give `fill`."""
    described = source.described if isinstance(source, Memory) else describe(source)
    if not isinstance(source, (Memory, Tensor)):
        raise LanguageError(f"I.gather takes a view, buffer or tensor, got {described}")
    extents = source.raw.shape if isinstance(source, Memory) else source.data.shape
    selection = indexing.select(index, extents, described)
    mask = as_value(valid)
    if mask.format is not BOOL:
        raise LanguageError(f"I.gather: expected a bool for valid, got {describe(mask)}")
    blank = as_format(fill, source.format, "I.gather: fill")
    shape = broadcast_shape([selection.shape, mask.data.shape, blank.data.shape])
    if shape != selection.shape:
        raise LanguageError(f"I.gather: valid and fill broadcast to the index result {list(selection.shape)}, got {list(mask.data.shape)} and {list(blank.data.shape)}")
    lanes = np.broadcast_to(mask.data, shape)
    indexing.check_bounds(selection, extents, described, lanes)
    result = np.array(np.broadcast_to(blank.data, shape), source.format.storage)
    positions = [p[lanes] for p in selection.full()]
    count = int(lanes.sum())
    if isinstance(source, Memory):
        result[lanes] = source.load(positions, count)
    elif count:
        result[lanes] = source.data[tuple(positions)] if positions else source.data
    scalar = selection.scalar and extents and not selection.new_axes
    return (Scalar if scalar else Tensor)(selection.with_new_axes(result), source.format)


def buffer(shape, dtype, init):
    from .construction import shape_argument
    from .values import format_of

    format = format_of(dtype, "I.buffer")
    extents = shape_argument(shape)
    count = int(np.prod(extents, dtype=np.int64))
    strides, step = [], 1
    for extent in reversed(extents):
        strides.append(step)
        step *= extent
    interpreter = current()
    made = Memory(f"of line {interpreter.author_line()}", format, np.zeros(extents, raw_dtype(format)), "buffer", np.zeros(extents, np.bool_),
                  Storage(count, interpreter.races.depth), 0, tuple(reversed(strides)))
    if init is not None:
        store(made, (slice(None),) * len(extents), init)
    return made


def assume_in_bounds(index, view, axis):
    target = memory_of(view, "I.assume_in_bounds")
    if not isinstance(axis, int) or not -target.raw.ndim <= axis < target.raw.ndim:
        raise LanguageError(f"axis {axis} is out of range for rank {target.raw.ndim}")
    value = as_value(index)
    if not value.format.is_integer:
        raise LanguageError(f"I.assume_in_bounds: expected integers, got {describe(value)}")
    extent = target.raw.shape[axis]
    wrong = (value.data < 0) | (value.data >= extent)
    if wrong.any():
        raise LanguageError(f"I.assume_in_bounds: index {int(value.data[wrong].flat[0])} is out of range for extent {extent} of {target.described}")


# -- atomics ------------------------------------------------------------------------------------------------

_READ_ORDERS, _WRITE_ORDERS = ("relaxed", "acquire"), ("relaxed", "release")
_ALL_ORDERS = ("relaxed", "acquire", "release", "acq_rel")


def _atomic_target(target, order, orders, operation):
    memory = memory_of(target, operation)
    if order not in orders:
        raise LanguageError(f"{operation}: order is one of {', '.join(orders)}, got {order!r}")
    if memory.access in ("in", "out"):
        raise LanguageError(f"{operation} takes an InOut view or a buffer, got the {'In' if memory.access == 'in' else 'Out'} {memory.described}")
    if current().pure:
        raise LanguageError(f"a combine function has no effects; it updates '{memory.name}'")
    return memory


def atomic_load(target, index, order):
    memory = _atomic_target(target, order, _READ_ORDERS, "I.atomic.load")
    selection = checked(memory, index)
    positions = memory.lanes(selection)
    count = int(np.prod(selection.shape, dtype=np.int64))
    memory.check_written(positions, count)
    memory._note(positions, "atomic")
    data = decoded(memory.raw[tuple(positions)] if positions else memory.raw.reshape(1), memory.format)
    return _result(selection, data, memory)


def _result(selection, data, memory, format=None):
    format = format or memory.format
    return (Scalar if selection.scalar else Tensor)(np.asarray(data, format.storage).reshape(selection.shape), format)


def atomic_store(target, index, value, order):
    memory = _atomic_target(target, order, _WRITE_ORDERS, "I.atomic.store")
    selection = checked(memory, index)
    memory.put(memory.lanes(selection), spread(memory, selection, value), "atomic")


def _update(memory, index, change, *values):
    """Per lane, in shuffled order: the element becomes `change(old, *lane values)`; gives the old values."""
    selection = checked(memory, index)
    lanes = [spread(memory, selection, value) for value in values]
    positions = memory.lanes(selection)
    memory.check_written(positions, len(lanes[0]))
    memory._note(positions, "atomic")
    old = np.empty(len(lanes[0]), memory.format.storage)
    for lane in current().random.permutation(len(old)).tolist():
        at = tuple(int(p[lane]) for p in positions)
        held = np.asarray(decoded(memory.raw[at], memory.format), memory.format.storage)
        old[lane] = held
        memory.raw[at] = encoded(np.asarray(change(held, *(v[lane] for v in lanes)), memory.format.storage), memory.format)
    return selection, old


def atomic_update(name, op):
    def operation(target, index, value, order):
        from .elementwise import computed, require_arithmetic

        memory = _atomic_target(target, order, _ALL_ORDERS, f"I.atomic.{name}")
        if op in ("&", "|", "^"):
            if memory.format.is_float:
                raise LanguageError(f"I.atomic.{name} takes integers, got {memory.format}")
        elif op:
            require_arithmetic(memory.format, f"I.atomic.{name}")

        def change(held, given):
            return computed(op, held, np.asarray(given, memory.format.storage), memory.format) if op else given

        return _result(*_update(memory, index, change, value), memory)

    return operation


def compare_exchange(target, index, expected, desired, order):
    from .values import Record

    memory = _atomic_target(target, order, _ALL_ORDERS, "I.atomic.compare_exchange")

    def change(held, wanted, new):
        return new if held == wanted else held

    selection, old = _update(memory, index, change, expected, desired)
    success = old == spread(memory, selection, expected)
    return Record({"old_value": _result(selection, old, memory), "success": _result(selection, success, memory, BOOL)})
