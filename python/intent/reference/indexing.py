"""What an index expression selects: one position array an axis, and the shape of the result (language.md section 3)."""
from __future__ import annotations

import numpy as np

from intent.errors import LanguageError

from .regions import Domain, Group
from .values import Divergence, Scalar, Tensor, Value, broadcast_shape, describe


class Selection:
    """`positions` holds one integer array an axis of the resource, together broadcastable to `shape`; `new_axes` are places of
    `None` in the result. `scalar` says that every index is a scalar, `tensors` that one is a tensor (lanes may then meet)."""

    __slots__ = ("positions", "shape", "new_axes", "scalar", "tensors")

    def __init__(self, positions, shape, new_axes, scalar, tensors):
        self.positions, self.shape, self.new_axes, self.scalar, self.tensors = positions, shape, new_axes, scalar, tensors

    def full(self):
        """The positions, each of the result's shape."""
        return [np.broadcast_to(p, self.shape) for p in self.positions]

    def with_new_axes(self, data):
        for axis in self.new_axes:
            data = np.expand_dims(data, axis)
        return data


def _index(item, axis, extent):
    """(kind, coordinates) of one index: kind is scalar, axis or tensor."""
    if isinstance(item, slice):
        if item.step is not None:
            raise LanguageError("a slice has no step in the language; use I.domain(start, stop, step)")
        if item.start is not None or item.stop is not None:
            raise LanguageError(f"index {axis} is a slice with bounds; an axis takes ':' or a subregion, as in rows[b:e] of rows = I.domain(...)")
        return "axis", np.arange(extent, dtype=np.int64)
    if isinstance(item, (Domain, Group)):
        return "axis", item.coordinates()
    if isinstance(item, int) and not isinstance(item, bool):
        if item < 0:
            raise LanguageError(f"index {axis} is negative ({item}); indices count from 0")
        return "scalar", np.asarray(item, np.int64)
    if isinstance(item, Value) and item.format.is_integer:
        if isinstance(item, Scalar) and item.data.ndim:
            raise Divergence
        # u64 values above 2^63 are out of range of any extent; as int64 they are negative and stay so.
        return "scalar" if isinstance(item, Scalar) else "tensor", item.data.astype(np.int64)
    if item is Ellipsis:
        raise LanguageError("'...' is not an index of the language; missing trailing indices are ':'")
    message = f"index {axis}: expected an integer scalar, ':', a domain or an integer tensor, got {describe(item)}"
    if isinstance(item, Value) and item.format.name == "bool":
        message += "; select by a bool with I.select or I.mask"
    raise LanguageError(message)


def point(index, extents):
    """The coordinates of an index of scalars alone, all in bounds; None for any other index, which `select` and its checks judge."""
    items = index if type(index) is tuple else (index,)
    if len(items) != len(extents) or not items:
        return None
    found = []
    for item, extent in zip(items, extents):
        if type(item) is Scalar:
            if item.format.kind not in ("int", "uint") or item.data.ndim:
                return None
            item = int(item.data)
        elif type(item) is not int:
            return None
        if not 0 <= item < extent:
            return None
        found.append(item)
    return tuple(found)


def select(index, extents, described, new_axes_allowed=True):
    """The Selection of an index (one item or a tuple) in a resource of these extents. LanguageError."""
    items = []
    for item in index if isinstance(index, tuple) else (index,):
        items += item if isinstance(item, tuple) else (item,)
    if not new_axes_allowed and any(item is None for item in items):
        raise LanguageError("None inserts an axis into a value that is read; a write has none")
    given = sum(item is not None for item in items)
    if given > len(extents):
        raise LanguageError(f"{described} has rank {len(extents)}; this index is one too many")
    items += [slice(None)] * (len(extents) - given)
    parts, joint_shapes, axis = [], [], 0
    for item in items:
        if item is None:
            parts.append(("new", None))
            continue
        kind, coordinates = _index(item, axis, extents[axis])
        if kind == "tensor":
            joint_shapes.append(coordinates.shape)
        parts.append((kind, coordinates))
        axis += 1
    joint = broadcast_shape(joint_shapes)
    # Axes of the result in order, without those that None inserts; the joint axes stand where the first index tensor does.
    shape, starts, new_axes, place, joint_at = [], [], [], 0, None
    for kind, coordinates in parts:
        if kind == "new":
            new_axes.append(place)
            place += 1
            continue
        starts.append(len(shape))
        if kind == "axis":
            shape.append(len(coordinates))
            place += 1
        elif kind == "tensor" and joint_at is None:
            joint_at = len(shape)
            shape += joint
            place += len(joint)
    positions = []
    for (kind, coordinates), start in zip([p for p in parts if p[0] != "new"], starts):
        if kind == "scalar":
            positions.append(coordinates)
            continue
        first = start if kind == "axis" else joint_at + len(joint) - coordinates.ndim
        positions.append(coordinates.reshape(coordinates.shape + (1,) * (len(shape) - first - coordinates.ndim)))
    scalar = all(kind == "scalar" for kind, _ in parts)
    return Selection(positions, tuple(shape), new_axes, scalar, bool(joint_shapes))


def outside(selection, extents, valid=None):
    """(axis, coordinate) of a selected lane out of range, or None. `valid` masks lanes."""
    if 0 in selection.shape:
        return None
    for axis, (positions, extent) in enumerate(zip(selection.positions, extents)):
        wrong = (positions < 0) | (positions >= extent)
        if wrong.any():
            if valid is not None:
                wrong = np.broadcast_to(wrong, selection.shape) & np.broadcast_to(valid, selection.shape)
                if not wrong.any():
                    continue
                positions = np.broadcast_to(positions, selection.shape)
            return axis, int(positions[wrong].flat[0])
    return None


def check_bounds(selection, extents, described, valid=None):
    found = outside(selection, extents, valid)
    if found is not None:
        axis, coordinate = found
        raise LanguageError(f"{described}: index {axis} is {coordinate}, out of range for extent {extents[axis]}")


def read_tensor(tensor, index):
    """`t[...]` of a tensor value; a rank-zero tensor's `t[()]` is its scalar."""
    extents = tensor.data.shape
    selection = select(index, extents, describe(tensor))
    check_bounds(selection, extents, describe(tensor))
    data = tensor.data[tuple(selection.positions)] if extents else tensor.data
    scalar = selection.scalar and not selection.new_axes
    kind = Scalar if scalar else Tensor
    return kind(selection.with_new_axes(np.asarray(data, tensor.format.storage)), tensor.format)
