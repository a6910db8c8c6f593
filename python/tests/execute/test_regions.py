"""Region folds and scans: online softmax statistics, attention with causal masks, linear recurrences; empty sources."""
import numpy as np
import pytest

import intent
import intent.language as I
from author_programs import attend_both
from support import build, close


@intent.fn
def summary(s, v):
    m = I.reduce.max(s, axis=0)
    f = I.select(m > -I.inf, m, 0.0)
    e = I.exp(s - f)
    return I.record(m=m, l=I.reduce.sum(e, axis=0), o=I.vecmat(e, v, acc_dtype=I.f32))


@intent.kernel
def attention(q: I.In[I.f32, ("S", "D")], k: I.In[I.f32, ("S", "D")], v: I.In[I.f32, ("S", "E")], y: I.Out[I.f32, ("S", "E")], scale: I.f32):
    S, D = q.shape
    _, E = v.shape
    cols = I.domain(0, S)
    for r in I.parallel(I.domain(0, S)):
        s = I.matvec(k[cols, :], q[r, :], acc_dtype=I.f32) * scale
        s = I.select(I.indices(cols) <= r, s, -I.inf)
        t = I.region_fold(source=(s, v[cols, :]), axis=0, summarize=summary, combine=attend_both,
                          identity=I.record(m=I.cast(-I.inf, I.f32), l=I.cast(0.0, I.f32), o=I.zeros((E,), I.f32)))
        y[r, :] = t.o / t.l


@pytest.mark.parametrize("s", [1, 2, 17, 64, 130])
def test_causal_attention(rng, s):
    q, k, v = (rng.standard_normal((s, d)).astype(np.float32) for d in (16, 16, 9))
    scores = np.where(np.tril(np.ones((s, s), bool)), q.astype(np.float64) @ k.T * 0.25, -np.inf)
    p = np.exp(scores - scores.max(1, keepdims=True))
    close(build(attention).run(q, k, v, 0.25), (p / p.sum(1, keepdims=True)) @ v, relative=1e-5)


@intent.fn
def total_summary(x):
    return I.reduce.sum(x, axis=0)


@intent.fn
def total_merge(a, b):
    return a + b


@intent.kernel
def total(x: I.In[I.f64, ("M", "N")], y: I.Out[I.f64, ("M",)]):
    M, N = x.shape
    for r in I.parallel(I.domain(0, M)):
        y[r] = I.region_fold(source=(x[r, :],), axis=0, summarize=total_summary, combine=total_merge, identity=I.cast(0.0, I.f64))


@pytest.mark.parametrize("n", [0, 1, 100, 4097])
def test_fold_of_any_length(rng, n):
    x = rng.standard_normal((3, n))
    close(build(total).run(x), x.sum(1), absolute=1e-10)


@intent.fn
def shift_summary(x):
    return I.reduce.sum(x, axis=0)


@intent.fn
def shift_apply(t, state):
    return state + t


@intent.fn
def shift_emit(x, state):
    return I.cumsum(x, axis=0) + state


@intent.kernel
def running(x: I.In[I.f64, ("H", "T")], s0: I.In[I.f64, ("H",)], y: I.Out[I.f64, ("H", "T")], s1: I.Out[I.f64, ("H",)]):
    H, T = x.shape
    for h in I.parallel(I.domain(0, H)):
        out, last = I.region_scan(source=(x[h, :],), axis=0, summarize=shift_summary, combine=total_merge, identity=I.cast(0.0, I.f64), initial_state=s0[h], apply=shift_apply, emit=shift_emit)
        y[h, :] = out
        s1[h] = last


@pytest.mark.parametrize("t", [0, 1, 45, 1000])
def test_region_scan(rng, t):
    x, s0 = rng.standard_normal((2, t)), rng.standard_normal(2)
    y, s1 = build(running).run(x, s0)
    close(y, np.cumsum(x, 1) + s0[:, None], absolute=1e-10)
    close(s1, x.sum(1) + s0, absolute=1e-10)


@intent.fn
def outer_summary(k, v, at):
    return I.matmul(k, v, acc_dtype=I.f64, transpose_lhs=True)


@intent.fn
def emit_without_state(k, v, at, state):
    scores = I.matmul(k, k, acc_dtype=I.f64, transpose_rhs=True)
    return I.matmul(I.select(at[:, None] == at[None, :], scores, 0.0), v, acc_dtype=I.f64)


@intent.kernel
def state_beside(k: I.In[I.f64, ("T", "D")], v: I.In[I.f64, ("T", "E")], s0: I.In[I.f64, ("D", "E")], y: I.Out[I.f64, ("T", "E")],
                 s1: I.Out[I.f64, ("D", "E")]):
    T, D = k.shape
    E = v.shape[1]
    y[:, :], s1[:, :] = I.region_scan(source=(k[:, :], v[:, :], I.indices(I.domain(T))), axis=0, summarize=outer_summary, combine=total_merge,
                                      identity=I.zeros((D, E), I.f64), initial_state=s0[:, :], apply=shift_apply, emit=emit_without_state)


@pytest.mark.parametrize("t", [0, 1, 45])
def test_state_that_no_output_uses(rng, t):
    """Outputs that see only their own slice: the state runs beside them."""
    k, v, s0 = rng.standard_normal((t, 40)), rng.standard_normal((t, 33)), rng.standard_normal((40, 33))
    y, s1 = build(state_beside).run(k, v, s0)
    close(y, (k * k).sum(1)[:, None] * v, absolute=1e-9)
    close(s1, s0 + k.T @ v, absolute=1e-9)


@intent.fn
def columns(v):
    return I.reduce.sum(v, axis=0)


@intent.fn
def running_columns(v, state):
    return I.cumsum(v, axis=0) + state


@intent.fn
def rows(v):
    return I.reduce.sum(v, axis=1)


@intent.kernel
def read_elsewhere(x: I.In[I.f64, ("M", "N")], at: I.In[I.i32, ("M", "N")], gathered: I.Out[I.f64, ("M", "N")], woven: I.Out[I.f64, ("M", "N")],
                   folded: I.Out[I.f64, ("M",)]):
    M, N = x.shape
    zeros = I.zeros((N,), I.f64)
    out, last = I.region_scan(source=(x[:, :],), axis=0, summarize=columns, combine=total_merge, identity=zeros, initial_state=zeros, apply=shift_apply,
                              emit=running_columns)
    i, j = I.indices(I.domain(M)), I.indices(I.domain(N))
    gathered[:, :] = I.gather(out, index=(i[:, None], at[:, :]))
    woven[:, :] = I.gather(I.reshape(I.join(out, -out), (M, 2 * N)), index=(i[:, None], j[None, :] * 2 + (i[:, None] & 1)))
    folded[:] = I.region_fold(source=(out,), axis=1, summarize=rows, combine=total_merge, identity=I.zeros((M,), I.f64))


@pytest.mark.parametrize("m, n", [(0, 3), (1, 1), (7, 5), (90, 33)])
def test_outputs_at_other_members(rng, m, n):
    """Places that follow the scanned axis are places of the whole output, not of a slice."""
    x, at = rng.standard_normal((m, n)), rng.integers(0, n, (m, n)).astype(np.int32)
    gathered, woven, folded = build(read_elsewhere).run(x, at)
    whole = np.cumsum(x, 0)
    close(gathered, np.take_along_axis(whole, at, 1), absolute=1e-10)
    close(woven, np.where(np.arange(m)[:, None] & 1, -whole, whole), absolute=1e-10)
    close(folded, whole.sum(1), absolute=1e-9)
