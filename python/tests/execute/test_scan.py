"""Scans: direction, exclusiveness, identities, order of a non-commutative combine, records."""
import numpy as np
import pytest

import intent
import intent.language as I
from support import EXTENTS, build, close


@intent.kernel
def cumulative(x: I.In[I.f64, ("M", "N")], y: I.Out[I.f64, ("M", "N")], INCLUSIVE: I.Constexpr[bool], REVERSE: I.Constexpr[bool]):
    y[:, :] = I.cumsum(x[:, :], axis=1, inclusive=INCLUSIVE, reverse=REVERSE)


def reference(x, inclusive, reverse):
    x = x[:, ::-1] if reverse else x
    y = np.cumsum(x, axis=1)
    if not inclusive:
        y = np.concatenate([np.zeros((x.shape[0], 1)), y[:, :-1]], axis=1)[:, :x.shape[1]]
    return y[:, ::-1] if reverse else y


@pytest.mark.parametrize("inclusive", [True, False])
@pytest.mark.parametrize("reverse", [True, False])
@pytest.mark.parametrize("n", [*EXTENTS, 5000])
def test_cumsum(rng, inclusive, reverse, n):
    x = rng.standard_normal((3, n))
    close(build(cumulative, INCLUSIVE=inclusive, REVERSE=reverse).run(x), reference(x, inclusive, reverse), absolute=1e-10)


@intent.kernel
def others(x: I.In[I.f32, ("N",)], hi: I.Out[I.f32, ("N",)], p: I.Out[I.f32, ("N",)]):
    hi[:] = I.cummax(x[:], axis=0)
    p[:] = I.cumprod(x[:], axis=0)


def test_cummax_and_cumprod(rng):
    x = rng.uniform(0.5, 1.5, 97).astype(np.float32)
    x[40] = np.nan
    hi, p = build(others).run(x)
    np.testing.assert_array_equal(hi, np.maximum.accumulate(x))
    close(p, np.cumprod(x.astype(np.float64)), relative=1e-4)


@intent.fn
def affine(f, g):
    # apply f, then g: x -> g.a * (f.a * x + f.b) + g.b
    return I.record(a=f.a * g.a, b=f.b * g.a + g.b)


@intent.kernel
def recurrence(a: I.In[I.f64, ("N",)], b: I.In[I.f64, ("N",)], y: I.Out[I.f64, ("N",)], z: I.Out[I.f64, ("N",)]):
    one = I.record(a=I.cast(1.0, I.f64), b=I.cast(0.0, I.f64))
    y[:] = I.scan(I.record(a=a[:], b=b[:]), axis=0, identity=one, combine=affine).b
    z[:] = I.scan(I.record(a=a[:], b=b[:]), axis=0, identity=one, combine=affine, inclusive=False, reverse=True).b


@pytest.mark.parametrize("n", [0, 1, 2, 65, 777])
def test_order_of_a_non_commutative_combine(rng, n):
    a, b = rng.uniform(-1, 1, n), rng.standard_normal(n)
    y, z = np.zeros(n), np.zeros(n)
    state = 0.0
    for i in range(n):
        state = y[i] = a[i] * state + b[i]
    state = 0.0
    for i in reversed(range(n)):
        z[i] = state
        state = a[i] * state + b[i]
    got_y, got_z = build(recurrence).run(a, b)
    close(got_y, y, absolute=1e-9)
    close(got_z, z, absolute=1e-9)


@intent.kernel
def integers(x: I.In[I.i8, ("N",)], y: I.Out[I.i32, ("N",)]):
    y[:] = I.cumsum(x[:], axis=0)


def test_integer_sums_widen():
    np.testing.assert_array_equal(build(integers).run(np.full(300, 127, np.int8)), 127 * np.arange(1, 301))
