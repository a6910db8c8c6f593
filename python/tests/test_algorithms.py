"""Algorithms of many kinds, compiled for the host, against the reference; and their Triton text."""
import numpy as np
import pytest

import intent
import intent.language as I
from intent import native

pytestmark = pytest.mark.skipif(native.find_library("libintent-host.so") is None, reason="the libraries are not built")


@intent.fn
def mm2(a, b):
    return (a[0]*b[0]+a[1]*b[2], a[0]*b[1]+a[1]*b[3], a[2]*b[0]+a[3]*b[2], a[2]*b[1]+a[3]*b[3])


@intent.kernel
def scan_mat(x: I.In[I.f32, ("M", "N", 4)], y: I.Out[I.f32, ("M", "N", 4)], z: I.Out[I.f32, ("M", "N")]):
    a = x[:, :, 0]; b = x[:, :, 1]; c = x[:, :, 2]; d = x[:, :, 3]
    p, q, r, s = I.scan((a, b, c, d), 1, (1.0, 0.0, 0.0, 1.0), mm2)
    y[:, :, 0] = p
    y[:, :, 1] = q
    y[:, :, 2] = r
    y[:, :, 3] = s
    e, f, g, h = I.scan((a, b, c, d), 1, (1.0, 0.0, 0.0, 1.0), mm2, inclusive=False, reverse=True)
    z[:, :] = e + 2.0 * f - g + 3.0 * h


@intent.fn
def s_sum(x):
    return (I.reduce.sum(x, axis=0), I.reduce.max(x, axis=0))

@intent.fn
def s_join(a, b):
    return (a[0] + b[0], I.maximum(a[1], b[1]))


@intent.kernel
def ragged_fold(x: I.In[I.f32, ("L", "D")], off: I.In[I.i32, ("G1",)], y: I.Out[I.f32, ("G", "D")], z: I.Out[I.f32, ("G", "D")]):
    L, D = x.shape
    G, _ = y.shape
    rows = I.domain(0, L)
    for g in I.parallel(I.domain(0, G)):
        part = rows[I.cast(off[g], I.index):I.cast(off[g + 1], I.index)]
        s, m = I.region_fold(source=(x[part, :],), axis=0, summarize=s_sum, combine=s_join, identity=(I.zeros((D,), I.f32), I.full((D,), -I.inf, I.f32)))
        y[g, :] = s
        z[g, :] = m


@intent.kernel
def fold_axis1(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M",)]):
    y[:] = I.region_fold(source=(x[:, :],), axis=1, summarize=rowsum, combine=addv, identity=I.zeros((x.shape[0],), I.f32))

@intent.fn
def rowsum(x):
    return I.reduce.sum(x, axis=1)

@intent.fn
def addv(a, b):
    return a + b


@intent.kernel
def bsearch(keys: I.In[I.f32, ("N",)], q: I.In[I.f32, ("Q",)], y: I.Out[I.i32, ("Q",)]):
    N, = keys.shape
    for i in I.parallel(I.domain(0, q.shape[0])):
        lo = I.cast(0, I.index)
        hi = I.cast(N, I.index)
        while lo < hi:
            mid = (lo + hi) // 2
            if keys[mid] < q[i]:
                lo = mid + 1
            else:
                hi = mid
        y[i] = I.cast(lo, I.i32)


@intent.kernel
def edit(a: I.In[I.i32, ("P", "A")], b: I.In[I.i32, ("P", "B")], y: I.Out[I.i32, ("P",)]):
    P, A = a.shape
    _, B = b.shape
    for p in I.parallel(I.domain(0, P)):
        row = I.buffer((2, B + 1), I.i32)
        row[0, :] = I.cast(I.indices(I.domain(0, B + 1)), I.i32)
        for i in range(A):
            cur = (i + 1) % 2
            old = i % 2
            row[cur, 0] = I.cast(i + 1, I.i32)
            for j in range(B):
                cost = I.cast(0, I.i32) if a[p, i] == b[p, j] else I.cast(1, I.i32)
                row[cur, j + 1] = I.minimum(I.minimum(row[old, j + 1] + 1, row[cur, j] + 1), row[old, j] + cost)
        y[p] = row[A % 2, B]


@intent.kernel
def life(x: I.InOut[I.i32, ("H", "W")], T: I.Constexpr[int]):
    H, W = x.shape
    g = I.buffer((H, W), I.i32)
    for t in range(T):
        g[:, :] = x[:, :]
        for i, j in I.parallel((I.domain(0, H), I.domain(0, W))):
            n = I.cast(0, I.i32)
            for di in range(3):
                for dj in range(3):
                    n = n + g[(i + di + H - 1) % H, (j + dj + W - 1) % W]
            n = n - g[i, j]
            alive = (n == 3) or (n == 2 and g[i, j] == 1)
            x[i, j] = I.cast(alive, I.i32)


@intent.kernel
def jacobi(x: I.InOut[I.f32, ("N",)], T: I.Constexpr[int]):
    N, = x.shape
    i = I.indices(I.domain(0, N))
    for t in range(T):
        l = I.gather(x, index=(i - 1,), valid=i > 0, fill=0.0)
        r = I.gather(x, index=(i + 1,), valid=i < N - 1, fill=0.0)
        x[:] = 0.25 * l + 0.5 * x[:] + 0.25 * r


@intent.kernel
def gauss(a: I.InOut[I.f32, ("B", "N", "N")]):
    B, N, _ = a.shape
    for b in I.parallel(I.domain(0, B)):
        for k in range(N):
            p = 1.0 / a[b, k, k]
            for i in range(N):
                if i != k:
                    f = a[b, i, k] * p
                    a[b, i, :] -= f * a[b, k, :]


@intent.kernel
def cas_max(x: I.In[I.i32, ("N",)], y: I.InOut[I.i32, (1,)]):
    for i in I.parallel(I.domain(0, x.shape[0])):
        old = I.atomic.load(y, 0)
        done = I.cast(False, I.bool)
        while not done and old < x[i]:
            r = I.atomic.compare_exchange(y, 0, old, x[i])
            done = r.success
            old = r.old_value


@intent.kernel
def atomic_hist(x: I.In[I.i32, ("N",)], h: I.InOut[I.i32, ("B",)]):
    I.atomic.add(h, I.cast(x[:], I.index), I.full((x.shape[0],), 1, I.i32))


@intent.kernel
def scat_max(x: I.In[I.f32, ("N", "D")], s: I.In[I.i32, ("N",)], y: I.InOut[I.f32, ("S", "D")]):
    I.scatter_reduce(y, index=(I.cast(s[:], I.index), I.domain(0, x.shape[1])), value=x[:, :], combine=bigger)

@intent.fn
def bigger(a, b):
    if a > b:
        r = a
    else:
        r = b
    return r


@intent.kernel
def perm(x: I.In[I.f32, ("N",)], p: I.In[I.i32, ("N",)], y: I.Out[I.f32, ("N",)]):
    I.scatter_unique(y, (I.cast(p[:], I.index),), x[:])


@intent.kernel
def init_scatter(x: I.In[I.f32, ("N",)], s: I.In[I.i32, ("N",)], y: I.Out[I.f32, ("S",)]):
    y[:] = 1.0
    I.scatter_reduce(y, index=(I.cast(s[:], I.index),), value=x[:], combine=I.add)


@intent.kernel
def hist(x: I.In[I.i32, ("N",)], y: I.Out[I.u32, (16,)]):
    y[:] = I.histogram(x[:], 16, valid=x[:] > 2)


@intent.kernel
def doubling(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M", "N")], STEPS: I.Constexpr[int]):
    M, N = x.shape
    j = I.indices(I.domain(0, N))
    v = x[:, :]
    d = I.cast(1, I.index)
    for k in range(STEPS):
        prev = I.gather(v, index=(I.domain(0, M), j - d), valid=j >= d, fill=0.0)
        v = v + prev
        d = d * 2
    y[:, :] = v


@intent.kernel
def var_len(x: I.In[I.f32, ("M", "N")], n: I.In[I.i32, ("M",)], y: I.Out[I.f32, ("M",)]):
    for r in I.parallel(I.domain(0, x.shape[0])):
        t = I.cast(0.0, I.f32)
        for j in range(I.cast(n[r], I.index)):
            if x[r, j] > 2.0:
                break
            if x[r, j] < -1.0:
                continue
            t = t + x[r, j]
        y[r] = t


@intent.kernel
def mixed(x: I.In[I.f32, ("M", "N")], w: I.In[I.f32, ("N", "K")], b: I.In[I.i32, ("M",)], y: I.Out[I.f32, ("M", "K")], z: I.Out[I.f32, ("K",)]):
    g = x[I.cast(b[:], I.index), :]
    p = I.matmul(g, w[:, :], acc_dtype=I.f32)
    e = I.exp(p - I.reduce.max(p, axis=1, keepdims=True))
    q = e / I.reduce.sum(e, axis=1, keepdims=True)
    y[:, :] = q
    z[:] = I.reduce.sum(q, axis=0)


@intent.kernel
def topk(x: I.In[I.f32, ("M", "N")], v: I.Out[I.f32, ("M", 3)], ix: I.Out[I.i32, ("M", 3)]):
    M, N = x.shape
    for r in I.parallel(I.domain(0, M)):
        row = x[r, :]
        j = I.indices(I.domain(0, N))
        for k in range(3):
            a, i = I.arg_reduce.max(row, 0)
            v[r, k] = a
            ix[r, k] = I.cast(i, I.i32)
            row = I.select(j == i, -I.inf, row)


@intent.kernel
def randn(y: I.Out[I.f32, ("M", "N")], z: I.Out[I.u32, ("N",)], seed: I.u64):
    M, N = y.shape
    i = I.indices(I.domain(0, M))
    j = I.indices(I.domain(0, N))
    y[:, :] = I.random.uniform(seed, i[:, None] * N + j[None, :])
    z[:] = I.random.bits(seed, j)


@intent.fn
def wsum(x, at, lo, hi):
    s = I.select((at >= lo) & (at < hi), x, 0.0)
    return I.reduce.sum(s, axis=0)

@intent.fn
def plus(a, b):
    return a + b

@intent.kernel
def window(x: I.In[I.f32, ("M", "N")], lo: I.In[I.i32, ("M",)], hi: I.In[I.i32, ("M",)], y: I.Out[I.f32, ("M",)]):
    M, N = x.shape
    cols = I.domain(0, N)
    for r in I.parallel(I.domain(0, M)):
        y[r] = I.region_fold(source=(x[r, cols], I.indices(cols)), axis=0, summarize=wsum, combine=plus, identity=I.cast(0.0, I.f32), operands=(I.cast(lo[r], I.index), I.cast(hi[r], I.index)))

@intent.kernel
def band(x: I.In[I.f32, ("N", "N")], y: I.Out[I.f32, ("N",)]):
    N, _ = x.shape
    cols = I.domain(0, N)
    for r in I.parallel(I.domain(0, N)):
        y[r] = I.region_fold(source=(x[r, cols], I.indices(cols)), axis=0, summarize=wsum, combine=plus, identity=I.cast(0.0, I.f32), operands=(r - 5, r + 7))


rng = np.random.default_rng(3)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


LENGTHS = [0, 1, 200, 3, 0, 17]
OFFSETS = np.concatenate([[0], np.cumsum(LENGTHS)]).astype(np.int32)
CASES = [
    (scan_mat, [normal(3, 37, 4) * 0.5], {}), (scan_mat, [normal(2, 1, 4) * 0.5], {}),
    (ragged_fold, [normal(OFFSETS[-1], 5), OFFSETS, np.empty((6, 5), np.float32), np.empty((6, 5), np.float32)], {}),
    (fold_axis1, [normal(9, 300)], {}),
    (bsearch, [np.sort(normal(1000)), normal(77)], {}), (bsearch, [normal(1), normal(7)], {}),
    (edit, [rng.integers(0, 3, (4, 13)).astype(np.int32), rng.integers(0, 3, (4, 9)).astype(np.int32)], {}),
    (life, [rng.integers(0, 2, (9, 11)).astype(np.int32)], {"T": 4}),
    (jacobi, [normal(133)], {"T": 5}),
    (gauss, [normal(3, 6, 6) + np.eye(6, dtype=np.float32) * 8], {}),
    (cas_max, [rng.integers(-99, 99, 500).astype(np.int32), np.array([-1000], np.int32)], {}),
    (atomic_hist, [rng.integers(0, 13, 500).astype(np.int32), np.zeros(13, np.int32)], {}),
    (scat_max, [normal(300, 4), rng.integers(0, 7, 300).astype(np.int32), normal(7, 4)], {}),
    (perm, [normal(300), rng.permutation(300).astype(np.int32)], {}),
    (init_scatter, [normal(300), rng.integers(0, 7, 300).astype(np.int32), np.empty(7, np.float32)], {}),
    (hist, [rng.integers(0, 16, 999).astype(np.int32)], {}),
    (doubling, [normal(3, 50)], {"STEPS": 6}),
    (var_len, [normal(20, 40), rng.integers(0, 41, 20).astype(np.int32)], {}),
    (mixed, [normal(11, 30), normal(30, 17), rng.integers(0, 11, 11).astype(np.int32)], {}),
    (topk, [normal(7, 50)], {}),
    (randn, [np.empty((5, 9), np.float32), np.empty(9, np.uint32), 12345678901234], {}),
    *((window, [normal(m, n), rng.integers(-3, n + 5, m).astype(np.int32), rng.integers(-3, n + 5, m).astype(np.int32)], {}) for m, n in ((5, 7), (40, 1000))),
    *((band, [normal(n, n)], {}) for n in (1, 7, 500)),
]
NAMES = [f"{kernel.function.__name__}-{i}" for i, (kernel, *_) in enumerate(CASES)]


def outcome(runner, arguments):
    """What a run returns, then all its arrays: copies of the arguments, changed or not."""
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    result = runner.run(*copies)
    results = list(result) if isinstance(result, tuple) else [result] if result is not None else []
    return results + [a for a in copies if isinstance(a, np.ndarray)]


@pytest.mark.parametrize("check", [False, True], ids=["", "checked"])
@pytest.mark.parametrize("kernel, arguments, constexprs", CASES, ids=NAMES)
def test_host_agrees_with_the_reference(kernel, arguments, constexprs, check):
    wanted = outcome(intent.interpret(kernel, constexprs=constexprs), arguments)
    compiled = intent.compile(kernel, constexprs=constexprs, options=intent.CompileOptions(check=check))
    for actual, expected in zip(outcome(compiled, arguments), wanted, strict=True):
        np.testing.assert_allclose(np.asarray(actual, np.float64), np.asarray(expected, np.float64), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kernel, arguments, constexprs", CASES, ids=NAMES)
def test_triton_text(kernel, arguments, constexprs):
    assert "@triton.jit" in intent.generate(kernel, "triton:sm_90", constexprs=constexprs).source
