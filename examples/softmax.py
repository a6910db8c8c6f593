"""Softmax over rows of any length, f16 or f32 in memory and f32 in arithmetic.

The author names the row as a whole. Whether it is held at once or walked in chunks, and how many rows one program
takes, is the compiler's business.
"""
import numpy as np

import intent
import intent.language as I

T = I.TypeVar("T", I.f16, I.f32)


@intent.kernel
def softmax(x: I.In[T, ("M", "N")], y: I.Out[T, ("M", "N")]):
    M, N = x.shape
    for r in I.parallel(I.domain(0, M)):
        row = I.cast(x[r, :], I.f32)
        e = I.exp(row - I.reduce.max(row, axis=0))
        y[r, :] = I.cast(e / I.reduce.sum(e, axis=0), T)


def reference(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def main(rng):
    """The calls that `make run` makes: name of the data, kernel, types, inputs, NumPy program, tolerance (absolute, relative)."""
    for dtype, shape, tolerance in ((np.float32, (4096, 4096), (1e-9, 1e-5)), (np.float16, (1021, 10007), (6e-8, 1e-3))):
        x = (3 * rng.standard_normal(shape, dtype=np.float32)).astype(dtype)
        yield f"{shape[0]}x{shape[1]}", softmax, {"T": dtype}, (x,), reference, tolerance
