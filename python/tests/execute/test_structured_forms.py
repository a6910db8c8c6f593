"""Captures of combine functions, positions of extremes, negative axes and operands of folds: values by NumPy in float64."""
import numpy as np
import pytest

import intent
import intent.language as I
from support import build, close


# -- captures ---------------------------------------------------------------------------------------------------------------------------

@intent.fn
def larger(a, b, sign):
    return I.select(b * sign > a * sign, b, a)


@intent.kernel
def extremes(x: I.In[I.f32, ("M", "N")], sign: I.In[I.f32, ("M",)], y: I.Out[I.f32, ("M",)], z: I.Out[I.f32, ("M",)], s: I.f32):
    y[:] = I.reduce(x[:, :], 1, 0.0, larger, combine_operands=(sign[:],))
    z[:] = I.reduce(-I.abs(x[:, :]), axis=1, identity=0.0, combine=larger, combine_operands=(s,))


@pytest.mark.parametrize("m, n", [(5, 7), (1, 1), (3, 0), (31, 257)])
def test_captured_rows_and_scalars(rng, m, n):
    sign = rng.choice([-1.0, 2.0], m).astype(np.float32)
    x = np.abs(rng.standard_normal((m, n)).astype(np.float32)) * np.sign(sign)[:, None]  # 0 is neutral for these alone
    y, z = build(extremes).run(x, sign, -1.0)
    padded = np.concatenate([x, np.zeros((m, 1), np.float32)], axis=1)
    close(y, np.where(sign > 0, padded.max(1), padded.min(1)).astype(np.float64))
    close(z, -np.abs(padded).max(1).astype(np.float64))


@intent.fn
def clipped(a, b, top):
    return I.minimum(a + b, top)


@intent.kernel
def clipped_sums(x: I.In[I.f64, ("M", "N")], top: I.In[I.f64, ("M",)], y: I.Out[I.f64, ("M", "N")]):
    y[:, :] = I.scan(x[:, :], axis=1, identity=0.0, combine=clipped, combine_operands=(top[:],))


def test_a_scan_with_captures(rng):
    x, top = rng.uniform(0, 1, (5, 67)), np.array([1.0, 1.5, 7.0, 20.0, 1e9])
    close(build(clipped_sums).run(x, top), np.minimum(np.cumsum(x, axis=1), top[:, None]), absolute=1e-12)


# -- positions --------------------------------------------------------------------------------------------------------------------------

@intent.kernel
def middle(x: I.In[I.i8, ("A", "B", "C")], v: I.Out[I.i8, ("A", "C")], at: I.Out[I.index, ("A", "C")], w: I.Out[I.i32, ("B", "C")], first: I.Out[I.index, ("B", "C")]):
    low, i = I.arg_reduce.min(x[:, :, :], axis=1)
    v[:, :] = low
    at[:, :] = i
    high, j = I.arg_reduce.max(x[:, :, :], -3, acc_dtype=I.i32)
    w[:, :] = high
    first[:, :] = j


@pytest.mark.parametrize("shape", [(3, 4, 5), (1, 1, 1), (2, 31, 3), (7, 2, 1)])
def test_positions_of_integers(rng, shape):
    x = rng.integers(-2, 3, shape).astype(np.int8)
    v, at, w, first = build(middle).run(x)
    for actual, expected in [(v, x.min(1)), (at, x.argmin(1)), (w, x.max(0)), (first, x.argmax(0))]:
        np.testing.assert_array_equal(actual, expected)


def test_positions_of_nothing():
    v, at, _, _ = build(middle).run(np.zeros((2, 0, 3), np.int8))
    np.testing.assert_array_equal(v, np.full((2, 3), 127))
    np.testing.assert_array_equal(at, np.zeros((2, 3)))
    _, _, w, first = build(middle).run(np.zeros((0, 2, 3), np.int8))
    np.testing.assert_array_equal(w, np.full((2, 3), -2**31))
    np.testing.assert_array_equal(first, np.zeros((2, 3)))


@intent.kernel
def special(x: I.In[I.f64, ("M", "N")], v: I.Out[I.f64, ("M",)], at: I.Out[I.index, ("M",)]):
    high, i = I.arg_reduce.max(x[:, :], axis=1)
    v[:] = high
    at[:] = i


def test_positions_among_infinities_zeros_and_nan():
    inf, nan = np.inf, np.nan
    x = np.array([[-inf, -inf, -inf], [-inf, 1, 1], [-0.0, 0.0, -0.0], [2, nan, nan], [nan, inf, 0], [-inf, -inf, nan]])
    v, at = build(special).run(x)
    np.testing.assert_array_equal(v, [-inf, 1, 0, nan, nan, nan])
    np.testing.assert_array_equal(at, [0, 1, 0, 1, 0, 2])
    assert np.signbit(v[2])  # the value of the position


# -- folds ------------------------------------------------------------------------------------------------------------------------------

@intent.fn
def weighted(v, at, scale, shift):
    return I.record(sum=I.reduce.sum(v * scale + shift, axis=0), last=I.reduce.max(at, axis=0), any=I.reduce.any(v > 1, axis=0))


@intent.fn
def joined(a, b):
    return I.record(sum=a.sum + b.sum, last=I.maximum(a.last, b.last), any=a.any | b.any)


@intent.kernel
def with_operands(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M",)], last: I.Out[I.index, ("M",)], flag: I.Out[I.bool, ("M",)], scale: I.f32):
    M, N = x.shape
    cols = I.domain(0, N)
    for r in I.parallel(I.domain(0, M)):
        s = I.region_fold(source=(x[r, cols], I.indices(cols)), axis=-1, summarize=weighted, combine=joined, identity=I.record(sum=0, last=-1, any=False), operands=(scale, 0.5))
        y[r] = s.sum
        last[r] = s.last
        flag[r] = s.any


@pytest.mark.parametrize("n", [0, 1, 7, 257])
def test_operands_literals_and_coordinates(rng, n):
    x = rng.standard_normal((3, n)).astype(np.float32)
    y, last, flag = build(with_operands).run(x, 2.0)
    close(y, (x.astype(np.float64) * 2 + 0.5).sum(1), relative=1e-5, absolute=1e-6)
    np.testing.assert_array_equal(last, np.full(3, n - 1))
    np.testing.assert_array_equal(flag, (x > 1).any(1))


@intent.fn
def columns(v, w):
    return I.reduce.sum(v * w, axis=1)


@intent.kernel
def negative_axis(x: I.In[I.f64, ("M", "N")], w: I.In[I.f64, ("N",)], y: I.Out[I.f64, ("M",)]):
    y[:] = I.region_fold((x[:, :], w[:]), -1, columns, I.add, I.zeros(x.shape[0], I.f64))


@pytest.mark.parametrize("m, n", [(3, 5), (1, 1), (2, 0), (7, 131)])
def test_a_negative_axis_of_sources_of_two_ranks(rng, m, n):
    x, w = rng.standard_normal((m, n)), rng.standard_normal(n)
    close(build(negative_axis).run(x, w), x @ w, absolute=1e-10)


@intent.fn
def decay(v, g):
    return I.record(gain=I.reduce.prod(g, axis=0), add=I.reduce.sum(v * I.scan(g, 0, 1.0, I.mul, inclusive=False, reverse=True), axis=0))


@intent.fn
def compose(a, b):
    return I.record(gain=a.gain * b.gain, add=a.add * b.gain + b.add)


@intent.fn
def advance(t, s):
    return s * t.gain + t.add


@intent.fn
def states(v, g, s):
    r = I.scan(I.record(gain=g, add=v), axis=0, identity=I.record(gain=1.0, add=0.0), combine=compose)
    return (r.gain * s + r.add, v > 0)


@intent.kernel
def recurrence(x: I.In[I.f64, ("N",)], g: I.In[I.f64, ("N",)], y: I.Out[I.f64, ("N",)], positive: I.Out[I.bool, ("N",)], last: I.Out[I.f64, ()], start: I.f64):
    (out, flags), final = I.region_scan((x[:], g[:]), 0, decay, compose, I.record(gain=1.0, add=0.0), start, advance, states)
    y[:] = out
    positive[:] = flags
    last[()] = final


@pytest.mark.parametrize("n", [0, 1, 7, 300])
def test_a_recurrence_of_scalars(rng, n):
    x, g = rng.standard_normal(n), rng.uniform(0.5, 1, n)
    want, state = np.zeros(n), 3.0
    for i in range(n):
        state = want[i] = state * g[i] + x[i]
    y, positive, last = build(recurrence).run(x, g, 3.0)
    close(y, want, absolute=1e-9)
    np.testing.assert_array_equal(positive, x > 0)
    close(last, np.float64(state), absolute=1e-9)
