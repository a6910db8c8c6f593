"""Folds whose slices contract exponentials: the shift of both sides is moved inside, as the laws of a fold permit.

Values are NumPy's in float64, with scores far from each other, rows that are masked whole, infinite and NaN scores.
"""
import numpy as np
import pytest

import intent
import intent.language as I
from intent import native

pytestmark = pytest.mark.skipif(native.find_library("libintent-host.so") is None, reason="the libraries are not built")


@intent.fn
def shift_of(top):
    return I.select(top > -I.inf, top, 0.0)


@intent.fn
def summary(s, v):
    top = I.reduce.max(s, axis=0)
    e = I.exp(s - shift_of(top))
    return I.record(top=top, mass=I.reduce.sum(e, axis=0), mix=I.vecmat(e, v, acc_dtype=I.f32))


@intent.fn
def join(a, b):
    top = I.maximum(a.top, b.top)
    x, y = I.exp(a.top - shift_of(top)), I.exp(b.top - shift_of(top))
    return I.record(top=top, mass=a.mass * x + b.mass * y, mix=a.mix * x + b.mix * y)


@intent.fn
def summary_of_powers(s, v):
    top = I.reduce.max(s, axis=0)
    e = I.exp2(s - top)
    return I.record(top=top, mass=I.reduce.sum(e, axis=0), mix=I.vecmat(I.cast(e, I.f16), I.cast(v, I.f16), acc_dtype=I.f32))


@intent.fn
def join_powers(a, b):
    top = I.maximum(a.top, b.top)
    x, y = I.exp2(a.top - top), I.exp2(b.top - top)
    return I.record(top=top, mass=x * a.mass + y * b.mass, mix=y * b.mix + x * a.mix)


@intent.fn
def summary_with_squares(s, v):
    top = I.reduce.max(s, axis=0)
    e = I.exp(s - shift_of(top))
    return I.record(top=top, mass=I.reduce.sum(e * e, axis=0), mix=I.vecmat(e, v, acc_dtype=I.f32))


@intent.fn
def join_squares(a, b):
    top = I.maximum(a.top, b.top)
    x, y = I.exp(a.top - shift_of(top)), I.exp(b.top - shift_of(top))
    return I.record(top=top, mass=a.mass * x * x + b.mass * y * y, mix=a.mix * x + b.mix * y)


def folding(summarize, combine, least):
    @intent.kernel
    def weigh(s: I.In[I.f32, ("M", "N")], v: I.In[I.f32, ("N", "D")], y: I.Out[I.f32, ("M", "D")], mass: I.Out[I.f32, ("M",)]):
        for r in I.parallel(I.domain(s.shape[0])):
            f = I.region_fold(source=(s[r, :], v[:, :]), axis=0, summarize=summarize, combine=combine,
                              identity=I.record(top=I.cast(least, I.f32), mass=I.cast(0.0, I.f32), mix=I.zeros((v.shape[1],), I.f32)))
            y[r, :] = f.mix
            mass[r] = f.mass

    return weigh


exponentials = folding(summary, join, -np.inf)
powers = folding(summary_of_powers, join_powers, -1e30)
squares = folding(summary_with_squares, join_squares, -np.inf)


def expected(kernel, s, v):
    s, v = s.astype(np.float64), v.astype(np.float64)
    top = s.max(axis=1, keepdims=True, initial=-np.inf)
    with np.errstate(all="ignore"):
        e = np.exp2(s - top) if kernel is powers else np.exp(s - np.where(top > -np.inf, top, np.where(np.isnan(top), top, 0)))
        return e @ v, (e * e if kernel is squares else e).sum(axis=1)


def scores(kernel, M, N):
    rng = np.random.default_rng(M + N)
    s = (rng.standard_normal((M, N)) * rng.choice([1, 60], (M, 1))).astype(np.float32)
    if kernel is not powers and M > 4 and N:
        s[0] = -np.inf
        s[1, : N // 2] = -np.inf
        s[2, N // 2:] = -np.inf
        s[3, -1] = np.nan
        s[4, 0] = np.inf
    return s, rng.standard_normal((N, 16)).astype(np.float32)


@pytest.mark.parametrize("target", ["host", "host{serial_elements=65536, warp_size=32}"])
@pytest.mark.parametrize("kernel", [exponentials, powers, squares], ids=["exponentials", "powers", "squares"])
def test_values(kernel, target):
    for M, N in ((1, 1), (7, 13), (16, 257), (70, 1000)) + (((3, 0),) if kernel is exponentials else ()):
        s, v = scores(kernel, M, N)
        wanted = expected(kernel, s, v)
        tolerance = 4e-3 if kernel is powers else 1e-5
        for check in (False, True):
            y, mass = np.full((M, 16), 7, np.float32), np.full(M, 7, np.float32)
            intent.compile(kernel, target, options=intent.CompileOptions(check=check))(s, v, y, mass)
            np.testing.assert_allclose(mass, wanted[1], rtol=1e-5)
            scale = np.maximum(wanted[1], 1)[:, None]
            np.testing.assert_allclose(y / scale, wanted[0] / scale, atol=tolerance, rtol=0)


@pytest.mark.parametrize("kernel, exponentials", [(exponentials, 2), (powers, 2), (squares, 3)], ids=["exponentials", "powers", "squares"])
def test_exponentials_of_a_pass(kernel, exponentials):
    """One of the slice's members and one of the carry's shift, where nothing else needs the slice's own."""
    source = intent.generate(kernel, "triton:sm_90").source
    loops = source.count("for n0 in range")
    assert loops in (1, 2)
    assert source.count("exp2(" if kernel is powers else "exp(") == exponentials * loops
