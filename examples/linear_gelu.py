"""A linear layer with bias and GELU (the tanh form): one contraction and its epilogue.

Bias and activation are written over the whole result; the compiler keeps them where the accumulator is.
"""
import numpy as np

import intent
import intent.language as I

T = I.TypeVar("T", I.f16, I.f32)


@intent.fn
def gelu(x):
    return 0.5 * x * (1.0 + I.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


@intent.kernel
def linear_gelu(x: I.In[T, ("M", "K")], weight: I.In[T, ("N", "K")], bias: I.In[T, ("N",)], y: I.Out[T, ("M", "N")]):
    z = I.matmul(x[:, :], weight[:, :], acc_dtype=I.f32, transpose_rhs=True) + I.cast(bias[:], I.f32)
    y[:, :] = I.cast(gelu(z), T)


def reference(x, weight, bias):
    z = x @ weight.T + bias
    return 0.5 * z * (1 + np.tanh(0.7978845608028654 * (z + 0.044715 * z * z * z)))


def main(rng):
    """The calls that `make run` makes: name of the data, kernel, types, inputs, NumPy program, tolerance (absolute, relative)."""
    for dtype, (m, k, n), tolerance in ((np.float32, (1024, 1024, 1024), (3e-5, 3e-5)), (np.float16, (1021, 515, 769), (1e-4, 1e-3))):
        x = rng.standard_normal((m, k), dtype=np.float32).astype(dtype)
        weight = (rng.standard_normal((n, k), dtype=np.float32) / np.sqrt(k)).astype(dtype)
        bias = rng.standard_normal(n, dtype=np.float32).astype(dtype)
        yield f"{m}x{k} by {k}x{n}", linear_gelu, {"T": dtype}, (x, weight, bias), reference, tolerance
