"""Arguments: the numbers that a view holds, and how an array of them lies in memory."""
from __future__ import annotations

import ml_dtypes
import numpy as np

from .tree import INTS, Program, is_float

NUMPY = {"bool": np.dtype(bool), "index": np.dtype(np.int64), "f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16), "f32": np.dtype(np.float32),
         "f64": np.dtype(np.float64), "f8e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn), "f8e5m2": np.dtype(ml_dtypes.float8_e5m2),
         **{d: np.dtype(("u" if d[0] == "u" else "") + "int" + d[1:]) for d in INTS if d != "index"}}


# -- numbers ----------------------------------------------------------------------------------------------------

def offsets(shape, rng, extents):
    """Where groups begin: ascending from 0 to L; groups are empty, of one member or long."""
    count, total = shape[0] - 1, extents["L"]
    if count < 1:
        return np.zeros(shape, np.int64)
    return np.array([0, *np.sort(rng.choice([0, total, min(1, total), *range(total + 1)], count - 1)), total])


def permutation(shape, rng, extents):
    return rng.permutation(shape[0])


def members(shape, rng, extents):
    """Coordinates below L, any of them any number of times."""
    return rng.integers(0, max(extents["L"], 1), shape)


def finite_codes(dtype):
    def draw(shape, rng, extents):
        codes = rng.integers(0, 256, shape).astype(np.uint8)
        return np.where(np.isfinite(codes.view(dtype).astype(np.float32)), codes, 0x41)
    return draw


def weights(shape, rng, extents):
    """Q4_K records: two f16 scales, then any bytes."""
    records = rng.integers(0, 256, shape).astype(np.uint8)
    records[:, :4] = rng.uniform(-0.01, 0.01, (shape[0], 2)).astype(np.float16).view(np.uint8)
    return records


def activations(shape, rng, extents):
    """Q8_K records: an f32 scale, 256 codes, the sums of sixteen each."""
    records = np.zeros(shape, np.uint8)
    codes = rng.integers(-128, 128, (shape[0], 256)).astype(np.int8)
    records[:, :4] = rng.uniform(-0.01, 0.01, (shape[0], 1)).astype(np.float32).view(np.uint8)
    records[:, 4:260] = codes.view(np.uint8)
    records[:, 260:] = codes.reshape(shape[0], 16, 16).sum(2, dtype=np.int16).view(np.uint8)
    return records


# What a view of `values` of this name holds, from (shape, rng, extents).
CONTENTS = {
    "offsets": offsets, "permutation": permutation, "members": members, "weights": weights, "activations": activations,
    "e2m1": lambda shape, rng, extents: rng.integers(0, 256, shape), "e4m3": finite_codes(ml_dtypes.float8_e4m3fn), "e5m2": finite_codes(ml_dtypes.float8_e5m2),
    "scales": lambda shape, rng, extents: rng.integers(125, 130, shape), "early": lambda shape, rng, extents: rng.integers(0, 2, shape),
    "late": lambda shape, rng, extents: rng.integers(2, 4, shape),
}


def drawn(view, extents, rng):
    """An array for a view."""
    shape = tuple(e if isinstance(e, int) else extents[e] for e in view.shape)
    bound = int(view.bound)
    if view.values in CONTENTS:
        return np.asarray(CONTENTS[view.values](shape, rng, extents), NUMPY[view.dtype])
    if view.dtype == "bool":
        return rng.random(shape) < 0.5
    if not is_float(view.dtype):
        return np.asarray(rng.integers(0 if view.dtype[0] == "u" else -bound, bound, shape, endpoint=True), NUMPY[view.dtype])
    if view.values == "smooth":
        return np.asarray(rng.uniform(-bound, bound, shape), NUMPY[view.dtype])
    values = np.asarray(rng.integers(-bound, bound, shape, endpoint=True), np.float64)
    if view.values == "special":
        values = np.where(rng.random(shape) < 0.12, rng.choice([np.nan, np.inf, -np.inf, -0.0], shape), values)
    return np.asarray(values, NUMPY[view.dtype])


# -- memory -----------------------------------------------------------------------------------------------------

def laid_out(array, layout):
    """The array, or one of its values elsewhere in memory; a `broadcast` one has the values of its first row throughout."""
    if not array.ndim:
        return array
    if layout == "reversed":
        return np.ascontiguousarray(array[::-1])[::-1]
    if layout == "mirrored":
        return np.ascontiguousarray(array[..., ::-1])[..., ::-1]
    if layout == "spread":
        wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1] + 1), array.dtype)
        wide[..., 1::2] = array
        return wide[..., 1::2]
    if layout == "columns":
        return np.asfortranarray(array)
    if layout == "broadcast":
        return np.broadcast_to(array[:1], array.shape) if array.shape[0] else array
    return array


ANYWHERE = ("reversed", "mirrored", "spread", "columns")  # for views of any access; others are for views that are only read


def sharing(a, b, how):
    """Two arrays of one dtype in the same memory, with the numbers of `a` where they meet."""
    memory = np.concatenate([a.ravel(), b.ravel(), a.ravel()[:1]])
    first = memory[:a.size].reshape(a.shape)
    if how == "shifted":
        return first, memory[min(1, a.size):][:b.size].reshape(b.shape)
    if how == "mirrored":
        return first, memory[:b.size][::-1].reshape(b.shape)
    if how == "meeting":  # the last half of one is the first of the other
        return first, memory[a.size // 2:][:b.size].reshape(b.shape)
    if how == "transposed" and b.ndim == 2:
        return first, memory[:b.size].reshape(b.shape[::-1]).T
    return first, memory[:b.size].reshape(b.shape)


SHARING = ("same", "shifted", "mirrored", "meeting", "transposed")


def arguments(program: Program, number):
    """The arguments of run `number`, in declaration order; Outs hold a pattern that no result has. The run after the last shares memory
    between two of them."""
    extents = program.sizes[number % len(program.sizes)]
    found = {}
    for view in program.views:
        # Of the view alone, so that a program without another one has the same numbers.
        array = drawn(view, extents, np.random.default_rng([program.data_seed, number, *view.name.encode()]))
        if view.access == "out":
            array = np.full(array.shape, 77 if view.dtype != "bool" else True, array.dtype)
        found[view.name] = laid_out(array, view.layout)
    if number >= len(program.sizes):
        a, b, how = program.alias
        found[a], found[b] = sharing(found[a], found[b], how)
    return list(found.values()) + [s.value for s in program.scalars]
