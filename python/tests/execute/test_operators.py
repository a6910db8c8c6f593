"""Operators of Python on floats, bools and 8-bit floats; histograms and random numbers of unusual dtypes."""
import ml_dtypes
import numpy as np
import pytest

import intent
import intent.language as I
from support import build, close, same_zero_signs

F = I.TypeVar("F", I.f16, I.bf16, I.f32, I.f64)
NUMPY = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}


@intent.kernel
def division(a: I.In[F, ("N",)], b: I.In[F, ("N",)], q: I.Out[F, ("N",)], r: I.Out[F, ("N",)]):
    q[:] = a[:] // b[:]
    r[:] = a[:] % b[:]


@pytest.mark.parametrize("dtype", list(NUMPY))
def test_floor_division_of_special_values(dtype):
    inf, nan = np.inf, np.nan
    rows = [(7.5, 2, 3, 1.5), (-7.5, 2, -4, .5), (7.5, -2, -4, -.5), (-7.5, -2, 3, -1.5), (1, inf, 0, 1), (-1, inf, -1, inf), (-1, -inf, 0, -1), (1, -inf, -1, -inf), (0.0, 3, 0.0, 0.0),
            (-0.0, 3, -0.0, 0.0), (0.0, -3, -0.0, -0.0), (6, -3, -2, -0.0), (inf, 2, nan, nan), (nan, 1, nan, nan), (5, nan, nan, nan), (0.25, 0.5, 0, 0.25)]
    a, b, q, r = (np.array(column, NUMPY[dtype]) for column in zip(*rows))
    quotient, rest = build(division, types={"F": dtype}).run(a, b)
    close(quotient, q.astype(np.float64))
    close(rest, r.astype(np.float64))
    same_zero_signs(quotient, q)
    same_zero_signs(rest, r)


@pytest.mark.parametrize("dtype", list(NUMPY))
def test_floor_division_of_many(rng, dtype):
    a, b = (rng.standard_normal(257).astype(NUMPY[dtype]) * NUMPY[dtype](scale) for scale in (8, 1))
    quotient, rest = build(division, types={"F": dtype}).run(a, b)
    exact = np.floor(a.astype(np.longdouble) / b.astype(np.longdouble))
    close(quotient, exact.astype(np.float64).astype(NUMPY[dtype]))
    close(rest, (a - exact * b).astype(np.float64), absolute={"f16": 2e-3, "bf16": 2e-2, "f32": 2e-7, "f64": 2e-15}[dtype])


@intent.kernel
def powers(x: I.In[I.f64, ("N",)], n: I.In[I.i32, ("N",)], u: I.In[I.u8, ("N",)], y: I.Out[I.f64, (4, "N")], m: I.Out[I.i32, ("N",)], w: I.Out[I.u8, ("N",)]):
    y[0, :] = x[:] ** 5
    y[1, :] = x[:] ** -2
    y[2, :] = x[:] ** 0
    y[3, :] = I.abs(x[:]) ** 1.5
    m[:] = n[:] ** 7
    w[:] = -u[:] ** 3


def test_powers(rng):
    x, n, u = rng.uniform(-3, 3, 31), rng.integers(-100, 100, 31).astype(np.int32), rng.integers(0, 256, 31).astype(np.uint8)
    y, m, w = build(powers).run(x, n, u)
    close(y, np.stack([x**5, x**-2.0, np.ones(31), np.abs(x) ** 1.5]), relative=1e-14)
    np.testing.assert_array_equal(m, [(int(v) ** 7 + 2**31) % 2**32 - 2**31 for v in n])
    np.testing.assert_array_equal(w, [-int(v) ** 3 % 256 for v in u])


@intent.kernel
def bools(a: I.In[I.bool, (4,)], b: I.In[I.bool, (4,)], y: I.Out[I.bool, (7, 4)]):
    p, q = a[:], b[:]
    y[0, :] = p < q
    y[1, :] = p <= q
    y[2, :] = p > q
    y[3, :] = p == q
    y[4, :] = ~p | q
    y[5, :] = p ^ q
    y[6, :] = p != True


def test_false_is_less_than_true():
    a, b = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    np.testing.assert_array_equal(build(bools).run(a, b), np.stack([a < b, a <= b, a > b, a == b, ~a | b, a ^ b, ~a]))


@intent.kernel
def narrow(e: I.In[I.f8e5m2, ("N",)], top: I.Out[I.f8e5m2, (2,)], at: I.Out[I.i64, (2,)], less: I.Out[I.bool, ("N",)], kept: I.Out[I.f8e5m2, ("N",)]):
    v = e[:]
    top[0] = I.reduce.max(v, axis=0)
    top[1] = I.reduce.min(v, axis=0)
    _, i = I.arg_reduce.max(v, 0)
    _, j = I.arg_reduce.min(v, 0)
    at[0] = I.cast(i, I.i64)
    at[1] = I.cast(j, I.i64)
    less[:] = (v < 0.5) | (v == -0.0)
    kept[:] = I.select(v > 0, v, 0.25)


@pytest.mark.parametrize("nan", [False, True])
def test_f8_compares_and_selects(nan):
    x = np.array([1, -2, 0.5, np.nan if nan else 3, -np.inf, 0, -0.0, 3], ml_dtypes.float8_e5m2)
    wide = x.astype(np.float64)
    top, at, less, kept = build(narrow).run(x)
    np.testing.assert_array_equal(top.astype(np.float64), [np.nan, np.nan] if nan else [3, -np.inf])
    np.testing.assert_array_equal(at, [3, 3] if nan else [3, 4])
    np.testing.assert_array_equal(less, (wide < 0.5) | (wide == 0))
    np.testing.assert_array_equal(kept.astype(np.float64), np.where(wide > 0, wide, 0.25))


@intent.kernel
def bins(x: I.In[I.u8, ("M", "N")], valid: I.In[I.bool, ("N",)], wrapped: I.Out[I.u8, (3,)], wide: I.Out[I.i64, (300,)], all: I.Out[I.u32, (256,)], none: I.Out[I.u32, (0,)]):
    v = x[:, :]
    wrapped[:] = I.histogram(v, 3, valid=valid[:], count_dtype=I.u8)
    wide[:] = I.histogram(v, bins=300, valid=valid[:], count_dtype=I.i64)
    all[:] = I.histogram(v, 256)
    none[:] = I.histogram(v, 0, False)


def test_histograms_wrap_and_hold_bins_that_the_values_cannot_reach(rng):
    x, valid = rng.integers(0, 3, (97, 31)).astype(np.uint8), rng.integers(0, 2, 31).astype(bool)
    x[:, ~valid] = 200  # inactive lanes are not checked
    wrapped, wide, everything, none = build(bins).run(x, valid)
    counts = np.bincount(x[:, valid].ravel(), minlength=300)
    assert counts.max() > 255 and none.shape == (0,)
    np.testing.assert_array_equal(wide, counts)
    np.testing.assert_array_equal(wrapped, counts[:3] % 256)
    np.testing.assert_array_equal(everything, np.bincount(x.ravel(), minlength=256))


@intent.kernel
def draws(c: I.In[I.u16, ("M", "N")], seed: I.i32, y: I.Out[I.u32, ("M", "N")], one: I.Out[I.u32, (2,)]):
    y[:, :] = I.random.bits(seed, c[:, :])
    one[0] = I.random.bits(7, c[0, 0])
    one[1] = I.random.bits(0, 2)


def philox(seed, counter):
    block, m = counter // 4, 0xFFFFFFFF
    c, k = [block & m, block >> 32, 0, 0], [seed & m, seed >> 32]
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(q >> 32) ^ c[1] ^ k[0], q & m, (p >> 32) ^ c[3] ^ k[1], p & m]
        k = [(k[0] + 0x9E3779B9) & m, (k[1] + 0xBB67AE85) & m]
    return c[counter % 4]


def test_random_bits_of_narrow_counters(rng):
    c = rng.integers(0, 2**16, (3, 7)).astype(np.uint16)
    y, one = build(draws).run(c, 99)
    np.testing.assert_array_equal(y, [[philox(99, int(v)) for v in row] for row in c])
    assert list(one) == [philox(7, int(c[0, 0])), 0xBC57AC4C]
