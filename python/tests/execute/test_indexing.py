"""Indexing: subregions, index tensors, gathers with fills, transposes, reshapes, joins; never a stray access."""
import numpy as np
import pytest

import intent
import intent.language as I
from support import EXTENTS, build


@intent.kernel
def transpose(x: I.In[I.i32, ("M", "N")], y: I.Out[I.i32, ("N", "M")]):
    y[:, :] = I.transpose(x[:, :])


@pytest.mark.parametrize("m", [0, 1, 33])
@pytest.mark.parametrize("n", EXTENTS)
def test_transpose(rng, m, n):
    x = rng.integers(-100, 100, (m, n)).astype(np.int32)
    np.testing.assert_array_equal(build(transpose).run(x), x.T)


@intent.kernel
def permute(x: I.In[I.i32, ("A", "B", "C")], y: I.Out[I.i32, ("C", "A", "B")], z: I.Out[I.i32, ("AB", "C")], f: I.Out[I.i32, ("ALL",)]):
    v = x[:, :, :]
    y[:, :, :] = I.transpose(v, (2, 0, 1))
    z[:, :] = I.reshape(v, z.shape)
    f[:] = I.reshape(v, f.shape)


def test_permute_and_reshape(rng):
    x = rng.integers(0, 99, (3, 5, 7)).astype(np.int32)
    y, z, f = build(permute).run(x, shapes={"AB": 15, "ALL": 105})
    np.testing.assert_array_equal(y, x.transpose(2, 0, 1))
    np.testing.assert_array_equal(z, x.reshape(15, 7))
    np.testing.assert_array_equal(f, x.reshape(-1))


@intent.kernel
def window(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("P",)], b: I.index):
    P, = y.shape
    at = I.domain(0, x.shape[0])[b:b + P]
    y[:] = x[at]


def test_subregion_keeps_absolute_coordinates():
    x = np.arange(20, dtype=np.float32)
    for b, p in [(0, 20), (3, 5), (19, 1), (20, 0)]:
        np.testing.assert_array_equal(build(window).run(x, b, shapes={"P": p}), x[b:b + p])


@intent.kernel
def reverse(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]):
    N, = x.shape
    y[:] = x[N - 1 - I.indices(I.domain(0, N))]


@pytest.mark.parametrize("n", EXTENTS)
def test_affine_index(n):
    x = np.arange(n, dtype=np.float32)
    np.testing.assert_array_equal(build(reverse).run(x), x[::-1])


@intent.kernel
def pick(x: I.In[I.f32, ("M", "N")], r: I.In[I.i32, ("K",)], c: I.In[I.i64, ("K",)], pairs: I.Out[I.f32, ("K",)], rows: I.Out[I.f32, ("K", "N")], filled: I.Out[I.f32, ("K",)]):
    pairs[:] = x[r[:], c[:]]
    rows[:, :] = x[r[:], :]
    filled[:] = I.gather(x, index=(r[:], c[:]), valid=c[:] > 0, fill=-1.0)


def test_index_tensors_pair_pointwise(rng):
    x = rng.standard_normal((6, 9)).astype(np.float32)
    r, c = rng.integers(0, 6, 50).astype(np.int32), rng.integers(0, 9, 50)
    pairs, rows, filled = build(pick).run(x, r, c)
    np.testing.assert_array_equal(pairs, x[r, c])
    np.testing.assert_array_equal(rows, x[r, :])
    np.testing.assert_array_equal(filled, np.where(c > 0, x[r, c], -1))


def test_out_of_range_reads_zero_and_touches_nothing():
    frame = np.full((8, 11), 7.0, np.float32)
    x = frame[1:7, 1:10]
    r, c = np.array([0, -1, 6, 100, 5], np.int32), np.array([0, 0, 3, -5, 9])
    pairs, _, _ = build(pick).run(x, r, c)
    np.testing.assert_array_equal(pairs, [7, 0, 0, 0, 0])


@intent.kernel
def shifted(x: I.In[I.f32, ("N",)], y: I.InOut[I.f32, ("N",)], s: I.i64):
    N, = x.shape
    for i in I.parallel(I.domain(0, N)):
        y[i + I.cast(s, I.index)] = x[i]


def test_out_of_range_writes_nothing():
    frame = np.zeros(30, np.float32)
    y = frame[10:20]
    x = np.arange(1, 11, dtype=np.float32)
    build(shifted)(x, y, 4)
    np.testing.assert_array_equal(frame, np.concatenate([np.zeros(14), np.arange(1, 7), np.zeros(10)]))


@intent.kernel
def interleave(a: I.In[I.f32, ("N",)], b: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("D",)]):
    y[:] = I.reshape(I.join(a[:], b[:]), y.shape)


@pytest.mark.parametrize("n", EXTENTS)
def test_interleave(rng, n):
    a, b = rng.standard_normal(n).astype(np.float32), rng.standard_normal(n).astype(np.float32)
    k = build(interleave)
    np.testing.assert_array_equal(k.run(a, b, shapes={"D": 2 * n}), np.stack([a, b], 1).reshape(-1))
    with pytest.raises(intent.CallError):
        k.run(a, b, shapes={"D": 2 * n + 1})  # a count that only the call can decide


@intent.kernel
def im2col(x: I.In[I.f32, ("H", "W")], k: I.In[I.f32, (3, 3)], y: I.Out[I.f32, ("H", "W")]):
    H, W = x.shape
    for i, j in I.parallel((I.domain(0, H), I.domain(0, W))):
        r = i + I.indices(I.domain(0, 3)) - 1
        c = j + I.indices(I.domain(0, 3)) - 1
        ok = (r >= 0)[:, None] & (r < H)[:, None] & (c >= 0)[None, :] & (c < W)[None, :]
        patch = I.gather(x, index=(r[:, None], c[None, :]), valid=ok, fill=0.0)
        y[i, j] = I.reduce.sum(patch * k[:, :], axis=(0, 1))


def test_convolution_with_padding(rng):
    x, k = rng.standard_normal((9, 7)).astype(np.float32), rng.standard_normal((3, 3)).astype(np.float32)
    padded = np.pad(x.astype(np.float64), 1)
    expected = sum(padded[i:i + 9, j:j + 7] * k[i, j] for i in range(3) for j in range(3))
    np.testing.assert_allclose(build(im2col).run(x, k), expected, atol=1e-5)
