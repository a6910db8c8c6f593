"""Which chunks of its source a fold walks: those that a comparison of coordinates lets count, unmasked ones first."""
import numpy as np
import pytest

import intent
import intent.language as I
from author_programs import attend_both
from intent import native

pytestmark = pytest.mark.skipif(native.find_library("libintent-host.so") is None, reason="the libraries are not built")


@intent.fn
def masked_sum(x, at, last):
    return I.reduce.sum(I.select(at <= last, x, 0.0), axis=0)


@intent.fn
def masked_count(x, at, last):  # an excluded member counts: no chunk may be left out
    return I.reduce.sum(I.select(at <= last, x, 1.0), axis=0)


@intent.fn
def both_ways(x, at, last):  # the comparison also decides something that is not a member's value
    kept = I.select(at <= last, x, 0.0)
    late = I.select(at <= last, 0.0, x)
    return I.record(kept=I.reduce.sum(kept, axis=0), late=I.reduce.sum(late, axis=0))


NAN = float("nan")


@intent.fn
def masked_largest(x, at, last):  # an excluded member makes the result NaN
    return I.reduce.max(I.maximum(-I.inf, I.select(at <= last, x, NAN)), axis=0)


@intent.fn
def plus(a, b):
    return a + b


@intent.fn
def plus_both(a, b):
    return I.record(kept=a.kept + b.kept, late=a.late + b.late)


@intent.kernel
def triangle(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M",)]):
    M, N = x.shape
    columns = I.domain(0, N)
    for r in I.parallel(I.domain(0, M)):
        y[r] = I.region_fold(source=(x[r, columns], I.indices(columns)), axis=0, summarize=masked_sum, combine=plus,
                             identity=I.cast(0.0, I.f32), operands=(r,))


@intent.kernel
def counted(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M",)]):
    M, N = x.shape
    columns = I.domain(0, N)
    for r in I.parallel(I.domain(0, M)):
        y[r] = I.region_fold(source=(x[r, columns], I.indices(columns)), axis=0, summarize=masked_count, combine=plus,
                             identity=I.cast(0.0, I.f32), operands=(r,))


@intent.kernel
def poisoned(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M",)]):
    M, N = x.shape
    columns = I.domain(0, N)
    for r in I.parallel(I.domain(0, M)):
        y[r] = I.region_fold(source=(x[r, columns], I.indices(columns)), axis=0, summarize=masked_largest, combine=larger,
                             identity=-I.inf, operands=(r,))


@intent.kernel
def signed(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M",)]):
    M, N = x.shape
    columns = I.domain(0, N)
    for r in I.parallel(I.domain(0, M)):
        y[r] = I.region_fold(source=(x[r, columns], I.indices(columns)), axis=0, summarize=masked_sum, combine=plus,
                             identity=-0.0, operands=(r - M,))


@intent.kernel
def halves(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M",)], z: I.Out[I.f32, ("M",)]):
    M, N = x.shape
    columns = I.domain(0, N)
    for r in I.parallel(I.domain(0, M)):
        s = I.region_fold(source=(x[r, columns], I.indices(columns)), axis=0, summarize=both_ways, combine=plus_both,
                          identity=I.record(kept=I.cast(0.0, I.f32), late=I.cast(0.0, I.f32)), operands=(r,))
        y[r] = s.kept
        z[r] = s.late


@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (3, 500), (300, 31), (257, 257)])
def test_values(shape):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    wide = x.astype(np.float64)
    lower = np.tril(np.ones(shape, bool))
    np.testing.assert_allclose(intent.compile(triangle).run(x), np.where(lower, wide, 0).sum(1), atol=1e-4)
    np.testing.assert_allclose(intent.compile(counted).run(x), np.where(lower, wide, 1).sum(1), atol=1e-4)
    np.testing.assert_array_equal(intent.compile(poisoned).run(x), np.where(lower, x, np.nan).max(1))
    kept, late = intent.compile(halves).run(x)
    np.testing.assert_allclose(kept, np.where(lower, wide, 0).sum(1), atol=1e-4)
    np.testing.assert_allclose(late, np.where(lower, 0, wide).sum(1), atol=1e-4)


def test_an_excluded_zero_is_not_minus_zero():
    """No member counts, yet each adds +0 to the identity."""
    y = intent.compile(signed).run(np.ones((3, 3000), np.float32))
    assert not y.any() and not np.signbit(y).any()


@intent.kernel
def inside_a_traversal(x: I.In[I.f32, ("N", "K")], y: I.InOut[I.f32, ("M", "K")]):
    M, K = y.shape
    N, _ = x.shape
    for i in I.parallel(I.domain(0, M)):
        row = I.region_fold(source=(I.indices(I.domain(0, M)),), axis=0, summarize=largest, combine=larger, identity=I.cast(0, I.index))
        y[i, :] -= I.cumsum(x[row % N, :], axis=0)


@intent.fn
def largest(a):
    return I.reduce(a, 0, 0, larger)


@intent.fn
def larger(a, b):
    return I.maximum(a, b)


def test_a_fold_that_a_traversal_needs():
    """Both loops of the fold stand before the loop that uses it."""
    x, y = np.arange(20, dtype=np.float32).reshape(4, 5), np.zeros((6, 5), np.float32)
    intent.compile(inside_a_traversal).run(x, y)
    np.testing.assert_array_equal(y, np.tile(-np.cumsum(x[5 % 4]), (6, 1)))


def test_loops_of_a_causal_fold():
    """An unmasked loop, then one that ends at the diagonal."""
    _, unmasked, guarded = intent.generate(triangle, "triton:sm_90").source.split("for n0 in range(")
    assert "tl.where(" not in unmasked and "tl.where(" in guarded
    assert unmasked.startswith("0, ") and not guarded.splitlines()[0].endswith(", N, BN):")
    _, whole, rest = intent.generate(counted, "triton:sm_90").source.split("for n0 in range(")
    assert "tl.where(" in whole and rest.splitlines()[0].endswith(", N, BN):")


@intent.fn
def windowed_sum(x, at, first, last):
    return I.reduce.sum(I.select(at >= first, I.select(at <= last, x, 0.0), 0.0), axis=0)


@intent.kernel
def window(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M",)]):
    M, N = x.shape
    columns = I.domain(0, N)
    for r in I.parallel(I.domain(0, M)):
        y[r] = I.region_fold(source=(x[r, columns], I.indices(columns)), axis=0, summarize=windowed_sum, combine=plus,
                             identity=I.cast(0.0, I.f32), operands=(r - 5, r))


@intent.kernel
def loops(x: I.In[I.f32, ("M",)], y: I.Out[I.f32, ("M",)]):
    for r in I.parallel(I.domain(0, x.shape[0])):
        total = I.cast(0.0, I.f32)
        for i in I.domain(0, r):
            total += x[i]
        y[r] = total


@pytest.mark.parametrize("kernel, descending", [(triangle, True), (loops, True), (window, False), (counted, False)],
                         ids=["triangle", "loops", "window", "counted"])
def test_instances_that_walk_longest_start_first(kernel, descending):
    source = intent.generate(kernel, "triton:sm_90").source
    assert ("_tiles - 1 - pid" in source) == descending
    x = np.random.default_rng(1).standard_normal((70,) if kernel is loops else (70, 90)).astype(np.float32)
    if kernel is loops:
        wanted = np.tril(np.ones((70, 70)), -1) @ x
    else:
        wanted = np.where(np.tri(70, 90, dtype=bool), x, 1 if kernel is counted else 0).sum(axis=1) - (np.tril(x, -6).sum(axis=1) if kernel is window else 0)
    np.testing.assert_allclose(intent.compile(kernel).run(x), wanted, rtol=0, atol=1e-4)


@intent.fn
def attended(k, v, at, q, n):
    s = I.select(at < n, I.matvec(k, q, acc_dtype=I.f32), -I.inf)
    top = I.reduce.max(s, axis=0)
    e = I.exp(s - I.select(top > -I.inf, top, 0.0))
    return I.record(m=top, l=I.reduce.sum(e, axis=0), o=I.vecmat(e, v, acc_dtype=I.f32))


@intent.kernel
def decode(q: I.In[I.f32, ("H", "R", 64)], k: I.In[I.f32, ("H", "S", 64)], v: I.In[I.f32, ("H", "S", 64)], n: I.In[I.i32, ("H",)],
           y: I.Out[I.f32, ("H", "R", 64)]):
    H, S, D = k.shape
    cols = I.domain(S)
    for h, r in I.parallel((I.domain(H), I.domain(q.shape[1]))):
        s = I.region_fold(source=(k[h, cols, :], v[h, cols, :], I.indices(cols)), axis=0, summarize=attended, combine=attend_both,
                          identity=I.record(m=I.cast(-I.inf, I.f32), l=I.cast(0.0, I.f32), o=I.zeros((D,), I.f32)),
                          operands=(q[h, r, :], I.cast(n[h], I.index)))
        y[h, r, :] = s.o / s.l


@pytest.mark.parametrize("s", [1, 33, 64, 100, 300])
def test_what_lies_behind_the_walk_is_not_read(s):
    """Keys and values that no row sees may hold anything, wherever a chunk ends."""
    rng = np.random.default_rng(s)
    q, k, v = (rng.standard_normal((3, m, 64)).astype(np.float32) * 0.3 for m in (5, s, s))
    lengths = np.array([max(1, s // 3), 1, max(1, s - 1)], np.int32)
    wanted = np.empty((3, 5, 64))
    for h, n in enumerate(lengths):
        k[h, n:], v[h, n:] = np.inf, np.nan
        scores = q[h].astype(np.float64) @ k[h, :n].T
        e = np.exp(scores - scores.max(-1, keepdims=True))
        wanted[h] = e / e.sum(-1, keepdims=True) @ v[h, :n]
    np.testing.assert_allclose(intent.compile(decode).run(q, k, v, lengths), wanted, rtol=1e-5, atol=1e-5)
