"""Ordered and unordered control: carries, while, break, continue, early return, constexpr branches, buffers."""
import numpy as np
import pytest

import intent
import intent.language as I
from support import build


@intent.kernel
def collatz(n: I.In[I.i64, ("N",)], steps: I.Out[I.i32, ("N",)]):
    for p in I.parallel(I.domain(0, n.shape[0])):
        v = n[p]
        c = I.cast(0, I.i32)
        while v != 1:
            if v % 2 == 0:
                v = v // 2
            else:
                v = 3 * v + 1
            c = c + 1
        steps[p] = c


def test_while(rng):
    n = np.array([1, 2, 3, 7, 27, 97, 6171], np.int64)
    np.testing.assert_array_equal(build(collatz).run(n), [0, 1, 7, 16, 111, 118, 261])


@intent.kernel
def first_above(x: I.In[I.f32, ("M", "N")], t: I.f32, at: I.Out[I.i64, ("M",)], total: I.Out[I.f32, ("M",)]):
    M, N = x.shape
    for r in I.parallel(I.domain(0, M)):
        found = I.cast(-1, I.i64)
        s = I.cast(0.0, I.f32)
        for j in I.domain(0, N):
            v = x[r, j]
            if v != v:
                continue
            if v > t:
                found = I.cast(j, I.i64)
                break
            s = s + v
        at[r] = found
        total[r] = s


def test_for_with_break_and_continue():
    x = np.array([[1, 2, 9, 3], [1, np.nan, 2, 3], [9, 1, 1, 1], [np.nan, np.nan, 9, 1]], np.float32)
    at, total = build(first_above).run(x, 5.0)
    np.testing.assert_array_equal(at, [2, -1, 0, 2])
    np.testing.assert_array_equal(total, [3, 6, 0, 0])


@intent.kernel
def evens(x: I.In[I.i32, ("N",)], y: I.InOut[I.i32, ("N",)]):
    for i in I.parallel(I.domain(0, x.shape[0])):
        if x[i] % 2 != 0:
            continue
        y[i] = x[i] * 10


def test_continue_in_parallel():
    x = np.arange(-5, 40, dtype=np.int32)
    y = np.full_like(x, 1)
    build(evens)(x, y)
    np.testing.assert_array_equal(y, np.where(x % 2 == 0, x * 10, 1))


@intent.kernel
def maybe(x: I.In[I.f32, ("N",)], y: I.InOut[I.f32, ("N",)], go: I.bool):
    if not go:
        return
    y[:] = x[:] + 1.0


def test_early_return():
    x = np.arange(4, dtype=np.float32)
    y = np.zeros(4, np.float32)
    build(maybe)(x, y, False)
    np.testing.assert_array_equal(y, 0)
    build(maybe)(x, y, True)
    np.testing.assert_array_equal(y, x + 1)


@intent.kernel
def powers(x: I.In[I.f64, ("N",)], y: I.Out[I.f64, ("N",)], K: I.Constexpr[int], MODE: I.Constexpr[str] = "loop"):
    v = x[:]
    if MODE == "loop":
        acc = I.full((x.shape[0],), 1.0, I.f64)
        for _ in range(K):
            acc = acc * v
        y[:] = acc
    else:
        y[:] = v ** 3


def test_constexpr_loops_and_branches(rng):
    x = rng.standard_normal(9)
    np.testing.assert_allclose(build(powers, K=5).run(x), x**5, rtol=1e-14)
    np.testing.assert_array_equal(build(powers, K=0).run(x), 1)
    np.testing.assert_allclose(build(powers, K=5, MODE="cube").run(x), x**3, rtol=1e-14)


@intent.kernel
def prefix_buffer(x: I.In[I.f64, ("N",)], y: I.Out[I.f64, ("N",)]):
    N, = x.shape
    b = I.buffer((N,), I.f64, init=I.zeros((N,), I.f64))
    for i in I.domain(0, N):
        b[i] = x[i] if i == 0 else b[i - 1] + x[i]
        y[i] = b[i]


@pytest.mark.parametrize("n", [0, 1, 50])
def test_buffer_carried_through_a_loop(rng, n):
    x = rng.standard_normal(n)
    np.testing.assert_allclose(build(prefix_buffer).run(x), np.cumsum(x), rtol=1e-13)


@intent.kernel
def nested(x: I.In[I.i32, ("N",)], y: I.Out[I.i64, ("N",)], lo: I.index, step: I.index):
    N, = x.shape
    for i in I.parallel(I.domain(0, N)):
        s = I.cast(0, I.i64)
        for j in I.domain(lo, N, step):
            for k in range(2):
                s = s + I.cast(x[j], I.i64) * I.cast(k + 1, I.i64)
        y[i] = s * I.cast(x[i], I.i64)


@pytest.mark.parametrize("lo, step", [(0, 1), (1, 3), (5, 7), (9, 1), (100, 1)])
def test_domains_with_run_time_bounds(lo, step):
    x = np.arange(1, 10, dtype=np.int32)
    np.testing.assert_array_equal(build(nested).run(x, lo, step), 3 * x[lo::step].sum() * x.astype(np.int64))
