"""Programs whose order matters: scans read elsewhere, folds, loops over lanes, in-place updates, buffers, ragged rows."""
import numpy as np
import intent
import intent.language as I


@intent.fn
def affine(l, r):
    return (l[0] * r[0], l[1] * r[0] + r[1])


@intent.fn
def att_sum(k, v, at, q, r):
    s = I.select(at <= r, I.matvec(k, q, acc_dtype=I.f32), -I.inf)
    m = I.reduce.max(s, axis=0)
    f = I.select(m > -I.inf, m, 0.0)
    e = I.exp(s - f)
    return I.record(m=m, l=I.reduce.sum(e, axis=0), o=I.vecmat(e, v, acc_dtype=I.f32))


@intent.fn
def att_join(a, b):
    m = I.maximum(a.m, b.m)
    f = I.select(m > -I.inf, m, 0.0)
    ca = I.exp(a.m - f); cb = I.exp(b.m - f)
    return I.record(m=m, l=a.l*ca + b.l*cb, o=a.o*ca + b.o*cb)


@intent.kernel
def cum_norm(x: I.In[I.f32, ("M","N")], y: I.Out[I.f32, ("M","N")]):
    c = I.cumsum(x[:, :], axis=1)
    y[:, :] = c / c[:, x.shape[1]-1][:, None]


@intent.kernel
def both_ways(x: I.In[I.f32, ("M","N")], y: I.Out[I.f32, ("M","N")]):
    v = x[:, :]
    y[:, :] = I.cumsum(v, axis=1) + I.cumsum(v, axis=1, reverse=True, inclusive=False)


@intent.kernel
def cum0(x: I.In[I.f32, ("M","N")], y: I.Out[I.f32, ("M","N")]):
    y[:, :] = I.cumsum(x[:, :], axis=0, inclusive=False)


@intent.kernel
def cum_both_axes(x: I.In[I.f32, ("M","N")], y: I.Out[I.f32, ("M","N")]):
    y[:, :] = I.cumsum(I.cumsum(x[:, :], axis=0), axis=1)


@intent.kernel
def cum_reduce(x: I.In[I.f32, ("M","N")], y: I.Out[I.f32, ("M",)]):
    y[:] = I.reduce.max(I.cumsum(x[:, :], axis=1), axis=1)


@intent.kernel
def shifted(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]):
    N, = x.shape
    c = I.cummax(x[:], axis=0)
    i = I.indices(I.domain(0, N))
    y[:] = c[N - 1 - i]


@intent.kernel
def recurrence_of_pairs(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]):
    # linear recurrence by a scan over pairs
    a, b = I.scan((x[:], x[:]), 0, (1.0, 0.0), affine)
    y[:] = b


@intent.kernel
def attention(q: I.In[I.f32, ("H","S","D")], k: I.In[I.f32, ("H","S","D")], v: I.In[I.f32, ("H","S","D")], y: I.Out[I.f32, ("H","S","D")]):
    H, S, D = q.shape
    rows = I.domain(0, S)
    cols = I.domain(0, S)
    for h, r in I.parallel((I.domain(0, H), rows)):
        s = I.region_fold(source=(k[h, cols, :], v[h, cols, :], I.indices(cols)), axis=0, summarize=att_sum, combine=att_join,
              identity=I.record(m=I.cast(-I.inf, I.f32), l=I.cast(0.0, I.f32), o=I.zeros((D,), I.f32)), operands=(q[h, r, :], r))
        y[h, r, :] = s.o / s.l


@intent.kernel
def collatz(x: I.In[I.i64, ("N",)], y: I.Out[I.i32, ("N",)]):
    for i in I.parallel(I.domain(0, x.shape[0])):
        v = x[i]
        n = I.cast(0, I.i32)
        while v != 1:
            if v % 2 == 0:
                v = v // 2
            else:
                v = 3 * v + 1
            n = n + 1
        y[i] = n


@intent.kernel
def neighbour_step(x: I.InOut[I.f32, ("T", "N")]):
    T, N = x.shape
    for t in I.domain(1, T):
        x[t, :] = x[t, :] + x[t - 1, :]


@intent.kernel
def init_then_part(x: I.In[I.f32, ("M", "N",)], y: I.Out[I.f32, ("M", "N",)]):
    M, N = x.shape
    y[:, :] = x[:, :]
    for r in I.parallel(I.domain(0, M)):
        y[r, 3] = 1.0


@intent.kernel
def reverse_in_place(x: I.InOut[I.f32, ("M", "N")]):
    M, N = x.shape
    i = I.indices(I.domain(0, N))
    for r in I.parallel(I.domain(0, M)):
        v = x[r, :]
        x[r, :] = v[N - 1 - i]


@intent.kernel
def flat_reverse(x: I.InOut[I.f32, ("N",)]):
    N, = x.shape
    i = I.indices(I.domain(0, N))
    x[:] = x[N - 1 - i]


@intent.kernel
def square_transpose(x: I.InOut[I.f32, ("N","N")]):
    x[:, :] = I.transpose(x[:, :])


@intent.kernel
def matpow(a: I.In[I.f32, ("N","N")], y: I.Out[I.f32, ("N","N")], P: I.Constexpr[int]):
    p = a[:, :]
    for k in range(P):
        p = I.matmul(p, a[:, :], acc_dtype=I.f32)
    y[:, :] = p


@intent.kernel
def matsquare(a: I.In[I.f32, ("N","N")], y: I.Out[I.f32, ("N","N")], P: I.Constexpr[int]):
    p = a[:, :]
    for k in range(P):
        p = I.matmul(p, p, acc_dtype=I.f32)
    y[:, :] = p


@intent.kernel
def carry_across(x: I.In[I.f32, ("T", "N")], y: I.Out[I.f32, ("N", "N")]):
    T, N = x.shape
    h = I.zeros((N,), I.f32)
    for t in I.domain(0, T):
        h = h + x[t, :]
    y[:, :] = h[:, None] - h[None, :]


@intent.kernel
def ragged_rows(x: I.In[I.f32, ("L", "D")], off: I.In[I.i32, ("G1",)], y: I.Out[I.f32, ("G", "D")], z: I.Out[I.f32, ("L", "D")]):
    L, D = x.shape
    G, _ = y.shape
    r = I.ragged(I.domain(0, G), I.domain(0, L), off)
    for g in I.parallel(I.domain(0, G)):
        m = r[g]
        v = x[m, :]
        mx = I.reduce.max(v, axis=0)
        e = I.exp(v - mx[None, :])
        z[m, :] = e / I.reduce.sum(e, axis=0)[None, :]
        y[g, :] = mx


@intent.kernel
def early(x: I.In[I.f32, ("N",)], n: I.i32, y: I.InOut[I.f32, ("N",)]):
    if n < 0:
        return
    y[:] = x[:] * 2.0
    for i in range(n):
        if i == 3:
            return
        y[i] = y[i] + 1.0
    y[0] = 100.0


@intent.kernel
def bubble(x: I.InOut[I.f32, ("M", "N")]):
    M, N = x.shape
    for r in I.parallel(I.domain(0, M)):
        for i in range(N):
            for j in range(N - 1):
                a, b = x[r, j], x[r, j + 1]
                if a > b:
                    x[r, j] = b
                    x[r, j + 1] = a


@intent.kernel
def hist_buffer(x: I.In[I.i32, ("M", "N")], y: I.Out[I.i32, ("M", 8)]):
    M, N = x.shape
    for r in I.parallel(I.domain(0, M)):
        h = I.buffer((8,), I.i32, init=I.zeros((8,), I.i32))
        for j in range(N):
            b = I.cast(x[r, j], I.index)
            h[b] = h[b] + 1
        y[r, :] = h[:]


@intent.kernel
def argm(x: I.In[I.f32, ("M", "N")], y: I.Out[I.index, ("M",)], v: I.Out[I.f32, ("M",)]):
    a, i = I.arg_reduce.max(x[:, :], 1)
    y[:] = i
    v[:] = a


@intent.kernel
def col_beside_row(x: I.In[I.f32, ("M", "N")], r: I.Out[I.f32, ("M",)], c: I.Out[I.f32, ("N",)]):
    r[:] = I.reduce.sum(x[:, :], axis=1)
    c[:] = I.reduce.max(x[:, :], axis=0)


@intent.kernel
def interleave(a: I.In[I.f32, ("N",)], b: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N2",)]):
    y[:] = I.reshape(I.join(a[:], b[:]), (y.shape[0],))


def _collatz(v):
    n = 0
    while v != 1:
        v, n = (v // 2 if v % 2 == 0 else 3 * v + 1), n + 1
    return n


def cases(rng):
    for M, N in ((1, 1), (5, 7), (3, 300), (2, 5000)):
        x = rng.uniform(0.5, 1.0, (M, N)).astype(np.float32)
        d = x.astype(np.float64)
        c = np.cumsum(d, 1)
        yield f"cum_norm {M}x{N}", cum_norm, {}, [x], [c / c[:, -1:]], 1e-5
        yield f"cum_reduce {M}x{N}", cum_reduce, {}, [x], [c.max(1)], 1e-5
        yield f"both_ways {M}x{N}", both_ways, {}, [x], [np.broadcast_to(d.sum(1, keepdims=True), d.shape)], 1e-5
        yield f"cum0 {M}x{N}", cum0, {}, [x], [np.cumsum(d, 0) - d], 1e-5
        yield f"cum_both_axes {M}x{N}", cum_both_axes, {}, [x], [np.cumsum(c, 0)], 1e-5
        z = rng.standard_normal(N).astype(np.float32)
        yield f"shifted {N}", shifted, {}, [z], [np.maximum.accumulate(z)[::-1]], 0
        h, recurrence = 0.0, []
        for v in d[0]:
            h = h * v + v
            recurrence.append(h)
        yield f"recurrence {N}", recurrence_of_pairs, {}, [x[0].copy()], [np.array(recurrence)], 1e-4
    for S in (1, 5, 64, 131):
        q, k, v = (rng.standard_normal((2, S, 16)).astype(np.float32) for _ in range(3))
        s = np.where(np.tril(np.ones((S, S), bool)), np.einsum("hrd,hcd->hrc", q.astype(np.float64), k), -np.inf)
        e = np.exp(s - s.max(-1, keepdims=True))
        yield f"attention {S}", attention, {}, [q, k, v], [np.einsum("hrc,hcd->hrd", e / e.sum(-1, keepdims=True), v)], 1e-4
    n = np.arange(1, 1000, dtype=np.int64)
    yield "collatz", collatz, {}, [n], [np.array([_collatz(int(v)) for v in n], np.int32)], 0
    for N in (1, 7, 65):
        x = rng.standard_normal((6, N)).astype(np.float32)
        yield f"neighbour_step {N}", neighbour_step, {}, [x.copy()], [np.cumsum(x.astype(np.float64), 0)], 1e-5
        if N > 3:
            w = x.copy()
            w[:, 3] = 1
            yield f"init_then_part {N}", init_then_part, {}, [x], [w], 0
        yield f"reverse_in_place {N}", reverse_in_place, {}, [x.copy()], [x[:, ::-1]], 0
        yield f"flat_reverse {N}", flat_reverse, {}, [x[0].copy()], [x[0, ::-1]], 0
        s = rng.standard_normal((N, N)).astype(np.float32)
        yield f"square_transpose {N}", square_transpose, {}, [s.copy()], [s.T], 0
        h = x.astype(np.float64).sum(0)
        yield f"carry_across {N}", carry_across, {}, [x], [h[:, None] - h[None, :]], 1e-4
        m = s / np.float32(np.sqrt(N))
        yield f"matpow {N}", matpow, {"P": 3}, [m], [np.linalg.matrix_power(m.astype(np.float64), 4)], 1e-4
        if N < 65:
            yield f"matsquare {N}", matsquare, {"P": 2}, [m], [np.linalg.matrix_power(m.astype(np.float64), 4)], 1e-4
    x = rng.standard_normal(1000).astype(np.float32)
    lens = [0, 1, 3000, 3, 0]
    off = np.concatenate([[0], np.cumsum(lens)]).astype(np.int32)
    r = rng.standard_normal((off[-1], 3)).astype(np.float32)
    tops, soft = np.full((5, 3), -np.inf), np.zeros(r.shape)
    for g in range(5):
        part = r[off[g]:off[g + 1]].astype(np.float64)
        if len(part):
            e = np.exp(part - part.max(0))
            tops[g], soft[off[g]:off[g + 1]] = part.max(0), e / e.sum(0)
    yield "ragged_rows", ragged_rows, {}, [r, off, np.empty((5, 3), np.float32), np.empty_like(r)], [tops, soft], 1e-4
    x = rng.standard_normal(10).astype(np.float32)
    for n in (-1, 0, 2, 5):
        w = np.full(10, 9, np.float32)
        if n >= 0:
            w = x * 2
            w[:min(n, 3)] += 1
            if n <= 3:
                w[0] = 100
        yield f"early {n}", early, {}, [x, n, np.full(10, 9, np.float32)], [w], 1e-6
    x = rng.standard_normal((5, 12)).astype(np.float32)
    yield "bubble", bubble, {}, [x.copy()], [np.sort(x, 1)], 0
    b = rng.integers(0, 8, (5, 100)).astype(np.int32)
    yield "hist_buffer", hist_buffer, {}, [b], [np.array([np.bincount(row, minlength=8) for row in b], np.int32)], 0
    x = rng.integers(0, 5, (7, 50)).astype(np.float32)
    x[2, 30] = x[2, 40] = np.nan
    x[3, :] = -np.inf
    yield "argm", argm, {}, [x], [np.argmax(x, 1), x.max(1)], 0
    x = rng.standard_normal((33, 70)).astype(np.float32)
    yield "col_beside_row", col_beside_row, {}, [x], [x.astype(np.float64).sum(1), x.max(0)], 1e-5
    yield "interleave", interleave, {}, [x[0].copy(), x[1].copy(), np.empty(140, np.float32)], [np.stack([x[0], x[1]], 1).ravel()], 0
