"""Extents that the launch computes from shapes and scalars: steps, halves, bounds. They have program levels like plain ones."""
import numpy as np
import pytest

import intent
import intent.language as I
from intent import native

pytestmark = pytest.mark.skipif(native.find_library("libintent-host.so") is None, reason="the libraries are not built")


@intent.kernel
def stepped(x: I.In[I.f32, ("N",)], y: I.InOut[I.f32, ("N",)]):
    for i in I.parallel(I.domain(1, x.shape[0], 3)):
        y[i] = x[i] * 2.0


@intent.kernel
def halves(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M", "N")]):
    M, N = x.shape
    half = N // 2
    for r, c in I.parallel((I.domain(M), I.domain(half))):
        y[r, c] = -x[r, half + c]
        y[r, half + c] = x[r, c]


@intent.kernel
def bounded(x: I.In[I.f32, ("N",)], y: I.InOut[I.f32, ("N",)], n: I.i32, step: I.i32):
    for i in I.parallel(I.domain(0, I.minimum(I.cast(n // 2, I.index), 7), step)):
        y[i] = x[i] + 1.0


@intent.kernel
def wrapped(x: I.In[I.f32, ("N",)], y: I.InOut[I.f32, ("N",)], n: I.i8):
    for i in I.parallel(I.domain(0, I.cast(n + n, I.index))):  # in i8: no expression of the launch's
        y[i] = x[i] + 1.0


@pytest.mark.parametrize("n", [0, 1, 2, 5, 97, 1000])
def test_steps(n):
    x, y = np.arange(n, dtype=np.float32), np.zeros(n, np.float32)
    intent.compile(stepped)(x, y)
    wanted = np.zeros(n)
    wanted[1::3] = 2 * x[1::3]
    np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize("shape", [(3, 8), (1, 2), (5, 0), (0, 6), (33, 130)])
def test_halves(shape):
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    half = shape[1] // 2
    np.testing.assert_array_equal(intent.compile(halves).run(x), np.concatenate([-x[:, half:], x[:, :half]], 1))


@pytest.mark.parametrize("n, step", [(10, 1), (100, 2), (5, 3), (0, 1), (-9, 2), (14, 7)])
def test_scalars(n, step):
    x, y = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    intent.compile(bounded)(x, y, n, step)
    wanted = np.zeros(100)
    wanted[: max(0, min(n // 2, 7)) : step] = x[: max(0, min(n // 2, 7)) : step] + 1
    np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize("n", [3, 63, 64, 127, -128])
def test_wrapping_arithmetic_is_the_program_s(n):
    x, y = np.zeros(300, np.float32), np.zeros(300, np.float32)
    intent.compile(wrapped)(x, y, n)
    doubled = (2 * n + 128) % 256 - 128
    assert y.sum() == max(0, doubled) and (y[: max(0, doubled)] == 1).all()


def test_grids():
    def grid(kernel):
        [variant] = intent.generate(kernel, "triton:sm_90").metadata["variants"]
        return variant["grid"]

    assert grid(stepped) == 'ceil_div(max(floor_div(add(1, "N"), 3), 0), BX)'
    assert grid(halves) == 'mul(ceil_div("M", BM), ceil_div(max(floor_div("N", 2), 0), BX))'
    assert 'min(floor_div("%n", 2), 7)' in grid(bounded) and 'max("%step", 1)' in grid(bounded)
    assert grid(wrapped) == 1
