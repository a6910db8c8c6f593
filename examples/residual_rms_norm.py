"""A residual connection and the RMS norm behind it, fused: what every transformer block does twice.

`residual` is both: it comes in as the stream so far and leaves as the stream with this block's output added, in the
same memory. Each element is read once and written once.
"""
import numpy as np

import intent
import intent.language as I

T = I.TypeVar("T", I.f16, I.f32)


@intent.kernel
def residual_rms_norm(x: I.In[T, ("M", "N")], residual: I.InOut[T, ("M", "N")], weight: I.In[T, ("N",)],
                      y: I.Out[T, ("M", "N")], eps: I.f32):
    h = I.cast(x[:, :], I.f32) + I.cast(residual[:, :], I.f32)
    residual[:, :] = I.cast(h, T)
    scale = I.rsqrt(I.reduce.mean(h * h, axis=1) + eps)
    y[:, :] = I.cast(h * scale[:, None] * I.cast(weight[:], I.f32), T)


def reference(x, residual, weight, eps):
    h = x + residual
    return h, h / np.sqrt(np.mean(h * h, axis=1, keepdims=True) + eps) * weight


def main(rng):
    """The calls that `make run` makes: name of the data, kernel, types, inputs, NumPy program, tolerance (absolute, relative)."""
    for dtype, shape, tolerance in ((np.float16, (4096, 4096), (1e-6, 1e-3)), (np.float32, (1021, 3001), (1e-6, 1e-5))):
        x, residual = (rng.standard_normal(shape, dtype=np.float32).astype(dtype) for _ in range(2))
        weight = rng.standard_normal(shape[1], dtype=np.float32).astype(dtype)
        yield f"{shape[0]}x{shape[1]}", residual_rms_norm, {"T": dtype}, (x, residual, weight, 1e-6), reference, tolerance
