"""Multiply-add contractions, microscaled and structured-sparse ones (numerics.md section 4)."""
from __future__ import annotations

import numpy as np

from intent.errors import LanguageError
from intent.language.intrinsic import Token

from .construction import tensor_argument
from .formats import BOOL, FORMATS, decoded, rounded
from .values import Record, Tensor, Value, alike, broadcast_shape, describe, format_of, run_time_index, static_int


def _accumulator(format, acc_dtype, what):
    target = format_of(acc_dtype, f"{what}: acc_dtype")
    if format is BOOL:
        raise LanguageError(f"{what} does not take bool; convert with I.cast")
    if format.is_float != target.is_float or target is BOOL or target.is_small_float:
        raise LanguageError(f"{what}: acc_dtype of {format} operands is {'a float' if format.is_float else 'an integer'}, got {target}")
    return target


def _einsum(a, a_axes, b, b_axes, out_axes, format, target):
    """Exact products, sums in higher precision than the accumulator's, rounded once; integers wrap in the accumulator's width."""
    if format.is_float:
        wide = np.longdouble if "f64" in (format.name, target.name) else np.float64
        return rounded(np.einsum(a.astype(wide), a_axes, b.astype(wide), b_axes, out_axes), target)
    wide = np.uint64 if target.kind == "uint" else np.int64
    return np.einsum(a.astype(wide), a_axes, b.astype(wide), b_axes, out_axes).astype(target.storage)


def _pairs(pairs, what, left, right):
    if not isinstance(pairs, tuple):
        raise LanguageError(f"{what}: expected a tuple of axis pairs, got {describe(pairs)}")
    found = []
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise LanguageError(f"{what}: expected pairs (lhs axis, rhs axis), got {describe(pair)}")
        axes = []
        for item, rank, side in zip(pair, (left, right), ("left", "right")):
            axis = static_int(item, what)
            if not -rank <= axis < rank:
                raise LanguageError(f"{what}: axis {axis} is out of range for the {side} operand of rank {rank}")
            axes.append(axis % rank)
        found.append(tuple(axes))
    return found


def contract(lhs, rhs, reduce, acc_dtype, batch, what="I.contract"):
    a, b = alike(what, tensor_argument(lhs, what), tensor_argument(rhs, what))
    target = _accumulator(a.format, acc_dtype, what)
    reduced, batched = _pairs(reduce, "reduce", a.data.ndim, b.data.ndim), _pairs(batch, "batch", a.data.ndim, b.data.ndim)
    a_axes, b_axes = list(range(a.data.ndim)), list(range(a.data.ndim, a.data.ndim + b.data.ndim))
    for axes, side in (([p[0] for p in reduced + batched], "left"), ([p[1] for p in reduced + batched], "right")):
        for axis in axes:
            if axes.count(axis) > 1:
                raise LanguageError(f"axis {axis} of the {side} operand is used twice")
    for role, pairs in (("reduction", reduced), ("batch", batched)):
        for i, j in pairs:
            if a.data.shape[i] != b.data.shape[j]:
                raise LanguageError(f"{role} axes {i} of the left and {j} of the right operand: expected equal extents, got {a.data.shape[i]} and {b.data.shape[j]}")
            b_axes[j] = a_axes[i]
    gone = {i for i, _ in reduced}
    out = [axis for axis in a_axes if axis not in gone] + [axis for axis in b_axes if axis >= a.data.ndim]
    return Tensor(np.asarray(_einsum(a.data, a_axes, b.data, b_axes, out, a.format, target), target.storage), target)


def _product(a, b, acc_dtype, what):
    """`[..., M, K] @ [..., K, N]`; leading axes broadcast."""
    a, b = alike(what, a, b)
    target = _accumulator(a.format, acc_dtype, what)
    if a.data.shape[-1] != b.data.shape[-2]:
        raise LanguageError(f"{what}: expected equal reduction extents, got {a.data.shape[-1]} and {b.data.shape[-2]}")
    joint = broadcast_shape([a.data.shape[:-2], b.data.shape[:-2]])
    x, y = np.broadcast_to(a.data, joint + a.data.shape[-2:]), np.broadcast_to(b.data, joint + b.data.shape[-2:])
    lead, m, n, k = list(range(len(joint))), len(joint), len(joint) + 1, len(joint) + 2
    return Tensor(np.asarray(_einsum(x, [*lead, m, k], y, [*lead, k, n], [*lead, m, n], a.format, target), target.storage), target)


def _ranked(value, least, what, side):
    value = tensor_argument(value, what)
    if value.data.ndim < least:
        raise LanguageError(f"{what}: expected a {side} of rank {least} or more, got shape {list(value.data.shape)}")
    return value


def _swapped(value, swap):
    return Tensor(np.swapaxes(value.data, -1, -2), value.format) if swap else value


def matmul(lhs, rhs, acc_dtype, transpose_lhs, transpose_rhs):
    a, b = _ranked(lhs, 2, "I.matmul", "left operand"), _ranked(rhs, 2, "I.matmul", "right operand")
    return _product(_swapped(a, transpose_lhs), _swapped(b, transpose_rhs), acc_dtype, "I.matmul")


def matvec(matrix, vector, acc_dtype, transpose):
    a, v = _ranked(matrix, 2, "I.matvec", "matrix"), _ranked(vector, 1, "I.matvec", "vector")
    found = _product(_swapped(a, transpose), Tensor(v.data[..., None], v.format), acc_dtype, "I.matvec")
    return Tensor(found.data[..., 0], found.format)


def vecmat(vector, matrix, acc_dtype, transpose):
    v, a = _ranked(vector, 1, "I.vecmat", "vector"), _ranked(matrix, 2, "I.vecmat", "matrix")
    found = _product(Tensor(v.data[..., None, :], v.format), _swapped(a, transpose), acc_dtype, "I.vecmat")
    return Tensor(found.data[..., 0, :], found.format)


def dot(lhs, rhs, acc_dtype):
    for value in (lhs, rhs):
        if not isinstance(value, Tensor) or value.data.ndim != 1:
            raise LanguageError(f"I.dot: expected a rank-1 operand, got {describe(value)}")
    return contract(lhs, rhs, ((0, 0),), acc_dtype, (), "I.dot")


# -- microscaling ---------------------------------------------------------------------------------------------

_E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
_CARRIERS = {"e2m1": ("u8",), "e4m3": ("f8e4m3fn", "u8"), "e5m2": ("f8e5m2", "u8")}


def _scaled_format(token, what):
    name = getattr(token, "__intent_intrinsic__", None) if isinstance(token, Token) else None
    if name not in _CARRIERS:
        raise LanguageError(f"{what}: expected I.e2m1, I.e4m3 or I.e5m2, got {describe(token) if not isinstance(token, Token) else token}")
    return name


def _decoded_scaled(value, name, what):
    """float64 elements `[..., K]` of carriers `[..., C]`."""
    if value.format.name not in _CARRIERS[name]:
        raise LanguageError(f"{what}: carriers of I.{name} are {' or '.join(_CARRIERS[name])}, got {value.format}")
    if name == "e2m1":
        nibbles = np.stack([value.data & 15, value.data >> 4], axis=-1)
        return _E2M1[nibbles].reshape(*value.data.shape[:-1], 2 * value.data.shape[-1])
    if value.format.name == "u8":
        return decoded(value.data, FORMATS[{"e4m3": "f8e4m3fn", "e5m2": "f8e5m2"}[name]]).astype(np.float64)
    return value.data.astype(np.float64)


def _scales(value, what):
    if value.format.name != "u8":
        raise LanguageError(f"{what}: scales are u8 (I.e8m0), got {value.format}")
    return np.where(value.data == 255, np.nan, np.ldexp(1.0, value.data.astype(np.int64) - 127))


def _scaled_operand(value, scale, name, group_size, group_axis, carrier_axis, batch_axes, side):
    """float64 `[batch..., free..., K]`: decoded and scaled by group."""
    what = f"I.scaled_contract: {side}"
    value, scale = tensor_argument(value, what), tensor_argument(scale, f"{what}_scale")
    free = [a for a in range(value.data.ndim) if a not in (group_axis, carrier_axis, *batch_axes)]
    order = [*batch_axes, *free, group_axis, carrier_axis]
    elements = _decoded_scaled(Tensor(value.data.transpose(order), value.format), name, what)
    group = static_int(group_size, f"{side}_group_size")
    if elements.shape[-1] != group:
        raise LanguageError(f"{what}: expected {group} elements a group (group_size), got {elements.shape[-1]}")
    lead = elements.shape[:-2]
    if scale.data.shape != (*lead, elements.shape[-2]):
        raise LanguageError(f"{what}_scale: expected shape {[*lead, elements.shape[-2]]}, got {list(scale.data.shape)}")
    scaled = elements * _scales(scale, what)[..., None]
    return scaled.reshape(*lead, elements.shape[-2] * group), len(batch_axes)


def scaled_contract(lhs, lhs_scale, rhs, rhs_scale, lhs_format, rhs_format, lhs_group_size, rhs_group_size, reduce, batch, acc_dtype):
    """`reduce` names the group axes, then the carrier axes."""
    what = "I.scaled_contract"
    lhs, rhs = tensor_argument(lhs, what), tensor_argument(rhs, what)
    pairs, batched = _pairs(reduce, "reduce", lhs.data.ndim, rhs.data.ndim), _pairs(batch, "batch", lhs.data.ndim, rhs.data.ndim)
    if len(pairs) != 2:
        raise LanguageError(f"{what}: reduce holds the pair of group axes and the pair of carrier axes, got {len(pairs)} pairs")
    target = format_of(acc_dtype, f"{what}: acc_dtype")
    if not target.is_float:
        raise LanguageError(f"{what}: acc_dtype is a float, got {target}")
    (lg, rg), (lc, rc) = pairs
    a, lead = _scaled_operand(lhs, lhs_scale, _scaled_format(lhs_format, "lhs_format"), lhs_group_size, lg, lc, [p[0] for p in batched], "lhs")
    b, _ = _scaled_operand(rhs, rhs_scale, _scaled_format(rhs_format, "rhs_format"), rhs_group_size, rg, rc, [p[1] for p in batched], "rhs")
    if a.shape[-1] != b.shape[-1]:
        raise LanguageError(f"{what}: expected equal numbers of reduced elements, got {a.shape[-1]} and {b.shape[-1]}")
    a_axes = list(range(a.ndim - 1))
    b_axes = [*range(lead), *range(a.ndim, a.ndim + b.ndim - 1 - lead)]
    out = a_axes + b_axes[lead:]
    return Tensor(np.asarray(rounded(np.einsum(a, [*a_axes, 51], b, [*b_axes, 51], out), target)), target)


def scaled_matmul(lhs, lhs_scale, rhs, rhs_scale, lhs_format, rhs_format, group_size, acc_dtype):
    return scaled_contract(lhs, lhs_scale, rhs, rhs_scale, lhs_format, rhs_format, group_size, group_size, ((1, 0), (2, 1)), (), acc_dtype)


# -- structured sparsity --------------------------------------------------------------------------------------

class SparseFormat:
    described = "a sparse format"

    __slots__ = ("kept", "of", "axis", "extent")

    def __init__(self, kept, of, axis, extent):
        self.kept, self.of, self.axis, self.extent = kept, of, axis, extent


def two_of_four(compression_axis, logical_extent):
    return SparseFormat(2, 4, static_int(compression_axis, "compression_axis"), run_time_index(logical_extent, "logical_extent"))


def one_of_two(compression_axis, logical_extent):
    return SparseFormat(1, 2, static_int(compression_axis, "compression_axis"), run_time_index(logical_extent, "logical_extent"))


def _positions(metadata, format, shape, what):
    """Integer arrays of positions in each group, one a kept value."""
    if format.kept == 2:
        if not isinstance(metadata, Record) or list(metadata._fields) != ["first", "second"]:
            raise LanguageError(f"{what}: metadata of two_of_four is a record first, second, got {describe(metadata)}")
        parts = [metadata.first, metadata.second]
    else:
        parts = [metadata.index if isinstance(metadata, Record) else metadata]
    arrays = []
    for part in parts:
        if not isinstance(part, Value) or not part.format.is_integer:
            raise LanguageError(f"{what}: metadata holds integers, got {describe(part)}")
        if part.data.shape != shape:
            raise LanguageError(f"{what}: expected metadata of shape {list(shape)}, got {list(part.data.shape)}")
        arrays.append(part.data.astype(np.int64))
        if ((arrays[-1] < 0) | (arrays[-1] >= format.of)).any():
            raise LanguageError(f"{what}: positions in metadata lie in [0, {format.of})")
    if format.kept == 2 and (arrays[0] >= arrays[1]).any():
        raise LanguageError(f"{what}: metadata needs first < second")
    return arrays


def _dense(compressed, metadata, format, what):
    if not isinstance(format, SparseFormat):
        raise LanguageError(f"{what}: format is I.sparse.two_of_four(...) or I.sparse.one_of_two(...), got {describe(format)}")
    value = tensor_argument(compressed, what)
    rank = value.data.ndim
    if not -rank <= format.axis < rank:
        raise LanguageError(f"{what}: compression axis {format.axis} is out of range for rank {rank}")
    axis = format.axis % rank
    if format.extent % format.of:
        raise LanguageError(f"{what}: the logical extent {format.extent} divides by {format.of}")
    groups = format.extent // format.of
    data = np.moveaxis(value.data, axis, -1)
    if data.shape[-1] != groups * format.kept:
        raise LanguageError(f"{what}: expected {groups * format.kept} compressed values along axis {axis}, got {data.shape[-1]}")
    wanted = list(value.data.shape)
    wanted[axis] = groups
    positions = [np.moveaxis(p, axis, -1) for p in _positions(metadata, format, tuple(wanted), what)]
    data = data.reshape(*data.shape[:-1], groups, format.kept)
    dense = np.zeros((*data.shape[:-1], format.of), value.format.storage)
    for slot, at in enumerate(positions):
        np.put_along_axis(dense, at[..., None], data[..., slot:slot + 1], axis=-1)
    return Tensor(np.moveaxis(dense.reshape(*data.shape[:-2], format.extent), -1, axis), value.format)


def sparse_contract(compressed, metadata, dense_rhs, format, reduce, batch, acc_dtype):
    return contract(_dense(compressed, metadata, format, "I.sparse_contract"), dense_rhs, reduce, acc_dtype, batch, "I.sparse_contract")


def sparse_matmul(compressed, metadata, rhs, format, acc_dtype):
    dense = _dense(compressed, metadata, format, "I.sparse_matmul")
    return _product(_ranked(dense, 2, "I.sparse_matmul", "left operand"), _ranked(rhs, 2, "I.sparse_matmul", "right operand"), acc_dtype, "I.sparse_matmul")


def sparse_contract_2to4(compressed_lhs, metadata, rhs, acc_dtype):
    what = "I.sparse_contract_2to4"
    value, dense_rhs = tensor_argument(compressed_lhs, what), tensor_argument(rhs, what)
    dense = _dense(value, metadata, SparseFormat(2, 4, value.data.ndim - 1, 2 * value.data.shape[-1]), what)
    return contract(dense, dense_rhs, ((value.data.ndim - 1, 0),), acc_dtype, (), what)
