"""Reductions: identities, NaN, empty and odd extents, several axes, records, arg_reduce, histogram."""
import numpy as np
import pytest

import intent
import intent.language as I
from support import EXTENTS, build, close

F = I.TypeVar("F", I.f16, I.f32, I.f64)


@intent.kernel
def sums(x: I.In[F, ("M", "N")], rows: I.Out[I.f64, ("M",)], columns: I.Out[I.f64, ("N",)], whole: I.Out[I.f64, ()]):
    v = I.cast(x[:, :], I.f64)
    rows[:] = I.reduce.sum(v, axis=1)
    columns[:] = I.reduce.sum(v, axis=0)
    whole[()] = I.reduce.sum(v, axis=(0, 1))


@pytest.mark.parametrize("m", [0, 1, 3, 37])
@pytest.mark.parametrize("n", EXTENTS)
def test_sums(rng, m, n):
    x = rng.standard_normal((m, n)).astype(np.float32)
    rows, columns, whole = build(sums, types={"F": "f32"}).run(x)
    wide = x.astype(np.float64)
    close(rows, wide.sum(1), absolute=1e-12)
    close(columns, wide.sum(0), absolute=1e-12)
    close(whole, wide.sum(), absolute=1e-10)


@intent.kernel
def statistics(x: I.In[I.f32, ("M", "N")], s: I.Out[I.f32, ("M",)], p: I.Out[I.f32, ("M",)], hi: I.Out[I.f32, ("M",)], lo: I.Out[I.f32, ("M",)], mean: I.Out[I.f32, ("M",)], any_: I.Out[I.bool, ("M",)],
               all_: I.Out[I.bool, ("M",)]):
    v = x[:, :]
    s[:] = I.reduce.sum(v, axis=1)
    p[:] = I.reduce.prod(v, axis=1)
    hi[:] = I.reduce.max(v, axis=1)
    lo[:] = I.reduce.min(v, axis=1)
    mean[:] = I.reduce.mean(v, axis=1)
    any_[:] = I.reduce.any(v > 0.0, axis=1)
    all_[:] = I.reduce.all(v > 0.0, axis=1)


@pytest.mark.parametrize("n", [1, 2, 5, 64, 1000])
def test_every_reduction(rng, n):
    x = rng.uniform(-1.2, 1.2, (6, n)).astype(np.float32)
    x[0] = np.abs(x[0])
    wide = x.astype(np.float64)
    s, p, hi, lo, mean, any_, all_ = build(statistics).run(x)
    close(s, wide.sum(1), absolute=n * 2**-24 * np.abs(wide).sum(1).max())
    close(p, wide.prod(1), relative=n * 2**-23)
    np.testing.assert_array_equal(hi, x.max(1))
    np.testing.assert_array_equal(lo, x.min(1))
    close(mean, wide.mean(1), absolute=n * 2**-24)
    np.testing.assert_array_equal(any_, (x > 0).any(1))
    np.testing.assert_array_equal(all_, (x > 0).all(1))


def test_empty_rows_give_identities():
    s, p, hi, lo, mean, any_, all_ = build(statistics).run(np.empty((2, 0), np.float32))
    for actual, expected in [(s, 0), (p, 1), (hi, -np.inf), (lo, np.inf), (mean, np.nan), (any_, False), (all_, True)]:
        np.testing.assert_array_equal(actual, np.full(2, expected, actual.dtype))


def test_nan_and_infinities(rng):
    x = rng.standard_normal((5, 33)).astype(np.float32)
    x[0, 3], x[1, 32], x[2, 0], x[3] = np.nan, np.inf, -np.inf, -np.inf
    s, p, hi, lo, mean, any_, all_ = build(statistics).run(x)
    np.testing.assert_array_equal(hi, x.max(1))
    np.testing.assert_array_equal(lo, x.min(1))
    with np.errstate(all="ignore"):
        close(s, x.astype(np.float64).sum(1), absolute=1e-4)


def test_sum_of_many_terms_stays_within_its_bound(rng):
    x = rng.uniform(0, 1, (1, 1_000_003)).astype(np.float32)
    s = build(statistics).run(x)[0]
    # Far better than one chain of a million additions (which loses about 1e-2 here).
    close(s, x.astype(np.float64).sum(1), relative=1e-5)


@intent.kernel
def narrow_sum(x: I.In[I.f16, ("M", "N")], i: I.In[I.i8, ("M", "N")], b: I.In[I.bool, ("M", "N")], y: I.Out[I.f32, ("M",)], z: I.Out[I.i32, ("M",)], c: I.Out[I.i32, ("M",)]):
    y[:] = I.reduce.sum(x[:, :], axis=1)
    z[:] = I.reduce.sum(i[:, :], axis=1)
    c[:] = I.reduce.sum(b[:, :], axis=1)


def test_narrow_sums_widen(rng):
    x, i, b = np.full((3, 5000), 1.0, np.float16), np.full((3, 5000), 127, np.int8), rng.random((3, 5000)) < 0.5
    y, z, c = build(narrow_sum).run(x, i, b)
    np.testing.assert_array_equal(y, 5000)  # beyond f16's integers
    np.testing.assert_array_equal(z, 127 * 5000)
    np.testing.assert_array_equal(c, b.sum(1))


@intent.kernel
def positions(x: I.In[I.f32, ("M", "N")], v: I.Out[I.f32, ("M",)], at: I.Out[I.i64, ("M",)], w: I.Out[I.f32, ("M",)], low: I.Out[I.i64, ("M",)]):
    hi, i = I.arg_reduce.max(x[:, :], axis=1)
    v[:] = hi
    at[:] = I.cast(i, I.i64)
    lo, j = I.arg_reduce.min(x[:, :], axis=1)
    w[:] = lo
    low[:] = I.cast(j, I.i64)


def test_arg_reduce_ties_and_nan():
    x = np.array([[1, 3, 3, 0], [-np.inf, -np.inf, -np.inf, -np.inf], [1, np.nan, 5, np.nan], [0, -1, -1, 7]], np.float32)
    v, at, w, low = build(positions).run(x)
    np.testing.assert_array_equal(v, [3, -np.inf, np.nan, 7])
    np.testing.assert_array_equal(at, [1, 0, 1, 3])
    np.testing.assert_array_equal(w, [0, -np.inf, np.nan, -1])
    np.testing.assert_array_equal(low, [3, 0, 1, 1])


@intent.fn
def welford(a, b):
    n = a.n + b.n
    d = b.mean - a.mean
    safe = I.select(n > 0.0, n, 1.0)
    return I.record(n=n, mean=a.mean + d * b.n / safe, m2=a.m2 + b.m2 + d * d * a.n * b.n / safe)


@intent.kernel
def variance(x: I.In[I.f32, ("M", "N")], mean: I.Out[I.f32, ("M",)], var: I.Out[I.f32, ("M",)]):
    M, N = x.shape
    v = x[:, :]
    one = I.full((M, N), 1.0, I.f32)
    zero = I.zeros((M, N), I.f32)
    r = I.reduce(I.record(n=one, mean=v, m2=zero), axis=1, identity=I.record(n=I.cast(0.0, I.f32), mean=I.cast(0.0, I.f32), m2=I.cast(0.0, I.f32)), combine=welford)
    mean[:] = r.mean
    var[:] = r.m2 / I.cast(N, I.f32)


@pytest.mark.parametrize("n", [1, 3, 128, 1001])
def test_generic_reduction_over_a_record(rng, n):
    x = (rng.standard_normal((4, n)) * 3 + 10).astype(np.float32)
    mean, var = build(variance).run(x)
    wide = x.astype(np.float64)
    close(mean, wide.mean(1), relative=1e-6)
    close(var, wide.var(1), relative=1e-5, absolute=1e-6)


@intent.kernel
def keep(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M", "N")]):
    v = x[:, :]
    e = I.exp(v - I.reduce.max(v, axis=1, keepdims=True))
    y[:, :] = e / I.reduce.sum(e, axis=1, keepdims=True)


@pytest.mark.parametrize("m", [0, 1, 5])
@pytest.mark.parametrize("n", [1, 2, 31, 64, 1000, 33000])
def test_softmax(rng, m, n):
    x = (rng.standard_normal((m, n)) * 5).astype(np.float32)
    wide = x.astype(np.float64)
    e = np.exp(wide - wide.max(1, keepdims=True)) if m else wide
    close(build(keep).run(x), e / e.sum(1, keepdims=True) if m else wide, relative=1e-5)


@intent.kernel
def counts(x: I.In[I.i32, ("N",)], y: I.Out[I.u32, ("B",)]):
    B, = y.shape
    y[:] = I.histogram(x[:], bins=B, valid=x[:] >= 0)


@pytest.mark.parametrize("n", [0, 1, 1000])
def test_histogram(rng, n):
    x = rng.integers(-1, 16, n).astype(np.int32)
    np.testing.assert_array_equal(build(counts).run(x, shapes={"B": 16}), np.bincount(x[x >= 0], minlength=16))
