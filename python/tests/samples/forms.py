"""More author programs with values worked out in float64 NumPy: norms over several axes, windows, ordered loops, masks, chained products.

`cases(rng)` is as in kinds.py.
"""
import numpy as np

import intent
import intent.language as I


@intent.kernel
def middle_maximum(x: I.In[I.f32, ("A", "B", "C")], y: I.Out[I.f32, ("A", "C")]):
    y[:, :] = I.reduce.max(x[:, :, :], axis=1)


@intent.kernel
def instance_norm(x: I.In[I.f32, ("A", "B", "C")], y: I.Out[I.f32, ("A", "B", "C")]):
    v = x[:, :, :]
    m = I.reduce.mean(v, axis=(1, 2), keepdims=True)
    s = I.reduce.mean((v - m) * (v - m), axis=(1, 2), keepdims=True)
    y[:, :, :] = (v - m) * I.rsqrt(s + 1e-5)


@intent.kernel
def three_results(x: I.In[I.f32, ("M", "N")], a: I.Out[I.f32, ("M",)], b: I.Out[I.f32, ("N",)], c: I.Out[I.f32, ()]):
    v = x[:, :]
    a[:] = I.reduce.sum(v, axis=1)
    b[:] = I.reduce.max(v, axis=0)
    c[()] = I.reduce.min(v, axis=(0, 1))


@intent.kernel
def interleave(a: I.In[I.f32, ("N",)], b: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("D",)]):
    N, = a.shape
    y[:] = I.reshape(I.join(a[:], b[:]), (y.shape[0],))


@intent.kernel
def window_at(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("H",)], b: I.i32):
    H, = y.shape
    s = I.cast(b, I.index)
    y[:] = x[I.domain(0, x.shape[0])[s:s + H]] * 2.0


@intent.kernel
def power(x: I.In[I.f32, ("N",)], n: I.i32, y: I.Out[I.f32, ("N",)]):
    N, = x.shape
    for i in I.parallel(I.domain(0, N)):
        a = I.cast(1.0, I.f32)
        for k in I.domain(0, I.cast(n, I.index)):
            a = a * x[i]
        y[i] = a


@intent.kernel
def leaky_relu(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M", "N")]):
    M, N = x.shape
    for i in I.parallel(I.domain(0, M)):
        for j in I.parallel(I.domain(0, N)):
            v = x[i, j]
            if v > 0.0:
                w = v
            else:
                w = v * 0.1
            y[i, j] = w


@intent.kernel
def running_sum(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M", "N")]):
    M, N = x.shape
    for i in I.parallel(I.domain(0, M)):
        s = I.cast(0.0, I.f32)
        for j in I.domain(0, N):
            s = s + x[i, j]
            y[i, j] = s


@intent.kernel
def cross_entropy(x: I.In[I.f32, ("M", "N")], t: I.In[I.i64, ("M",)], y: I.Out[I.f32, ("M",)]):
    M, N = x.shape
    for r in I.parallel(I.domain(0, M)):
        row = x[r, :]
        m = I.reduce.max(row, axis=0)
        y[r] = I.log(I.reduce.sum(I.exp(row - m), axis=0)) + m - x[r, I.cast(t[r], I.index)]


@intent.kernel
def causal_softmax(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M", "N")]):
    M, N = x.shape
    i = I.indices(I.domain(0, M))
    j = I.indices(I.domain(0, N))
    s = I.select(i[:, None] >= j[None, :], x[:, :], -I.inf)
    e = I.exp(s - I.reduce.max(s, axis=1)[:, None])
    y[:, :] = e / I.reduce.sum(e, axis=1)[:, None]


@intent.kernel
def rotary(x: I.In[I.f32, ("S", "H", "D")], c: I.In[I.f32, ("S", "D2")], s: I.In[I.f32, ("S", "D2")], y: I.Out[I.f32, ("S", "H", "D")]):
    S, H, D = x.shape
    _, D2 = c.shape
    d = I.domain(0, D)
    a = x[:, :, d[0:D2]]
    b = x[:, :, d[D2:D2 + D2]]
    cc = c[:, :][:, None, :]
    ss = s[:, :][:, None, :]
    y[:, :, d[0:D2]] = a * cc - b * ss
    y[:, :, d[D2:D2 + D2]] = b * cc + a * ss


@intent.kernel
def gated_product(x: I.In[I.f16, ("M", "K")], w: I.In[I.f16, ("K", "N")], v: I.In[I.f16, ("K", "N")], y: I.Out[I.f16, ("M", "N")]):
    a = I.matmul(x[:, :], w[:, :], acc_dtype=I.f32)
    b = I.matmul(x[:, :], v[:, :], acc_dtype=I.f32)
    y[:, :] = I.cast(a * I.sigmoid(a) * b, I.f16)


@intent.kernel
def two_layers(x: I.In[I.f32, ("M", "K")], w: I.In[I.f32, ("K", "H")], v: I.In[I.f32, ("H", "N")], y: I.Out[I.f32, ("M", "N")]):
    y[:, :] = I.matmul(I.maximum(I.matmul(x[:, :], w[:, :], acc_dtype=I.f32), 0.0), v[:, :], acc_dtype=I.f32)


@intent.kernel
def any_and_all(x: I.In[I.i32, ("M", "N")], a: I.Out[I.bool, ("M",)], b: I.Out[I.bool, ("M",)]):
    v = x[:, :] > 0
    a[:] = I.reduce.any(v, axis=1)
    b[:] = I.reduce.all(v, axis=1)


@intent.kernel
def newton_root(x: I.In[I.f64, ("N",)], y: I.Out[I.f64, ("N",)]):
    v = x[:]
    r = v
    for k in range(8):
        r = 0.5 * (r + v / r)
    y[:] = r


@intent.kernel
def normalise_in_place(x: I.InOut[I.f32, ("M", "N")], n: I.Out[I.f32, ("M",)]):
    v = x[:, :]
    s = I.sqrt(I.reduce.sum(v * v, axis=1))
    x[:, :] = v / s[:, None]
    n[:] = s


@intent.kernel
def every_third(x: I.In[I.f32, ("N",)], y: I.InOut[I.f32, ("N",)]):
    N, = x.shape
    for i in I.parallel(I.domain(1, N, 3)):
        y[i] = x[i]


@intent.kernel
def even_rows(x: I.In[I.f32, ("M", "N")], y: I.InOut[I.f32, ("M", "N")]):
    M, N = x.shape
    for i in I.parallel(I.domain(0, M)):
        if i % 2 == 0:
            y[i, :] = x[i, :] * 2.0


@intent.kernel
def covariance(x: I.In[I.f32, ("B", "M", "K")], y: I.Out[I.f32, ("B", "M", "M")]):
    v = x[:, :, :]
    d = v - I.reduce.mean(v, axis=2, keepdims=True)
    y[:, :, :] = I.contract(d, d, reduce=((2, 2),), batch=((0, 0),), acc_dtype=I.f32)


@intent.kernel
def inner_product(a: I.In[I.f32, ("N",)], b: I.In[I.f32, ("N",)], y: I.Out[I.f32, ()]):
    y[()] = I.dot(a[:], b[:], acc_dtype=I.f32)


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def causal(x):
    s = np.where(np.arange(x.shape[0])[:, None] >= np.arange(x.shape[1])[None], x, -np.inf)
    e = np.exp(s - s.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def rotate(x, c, s):
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([a * c[:, None] - b * s[:, None], b * c[:, None] + a * s[:, None]], -1)


def cases(rng):
    def f(*shape):
        return rng.standard_normal(shape).astype(np.float32)

    def case(kernel, arguments, expected, tolerance=1e-5):
        values = [a.astype(np.float64) if isinstance(a, np.ndarray) and a.dtype.kind == "f" and a.dtype != np.float64 else a for a in arguments]
        result = expected(*values)
        return kernel.__name__, kernel, {}, arguments, result if isinstance(result, list) else [result], tolerance

    yield case(middle_maximum, [f(3, 20, 50)], lambda x: x.max(1), 0.0)
    yield case(instance_norm, [f(3, 20, 50)], lambda x: (x - x.mean((1, 2), keepdims=True)) / np.sqrt(x.var((1, 2), keepdims=True) + 1e-5))
    yield case(three_results, [f(33, 65)], lambda x: [x.sum(1), x.max(0), x.min()])
    yield case(interleave, [f(20), f(20), np.empty(40, np.float32)], lambda a, b, _: np.stack([a, b], -1).reshape(-1), 0.0)
    yield case(window_at, [f(100), np.empty(13, np.float32), 5], lambda x, _, b: 2 * x[b:b + 13], 0.0)
    yield case(power, [f(30), 3], lambda x, n: x**n)
    yield case(leaky_relu, [f(13, 70)], lambda x: np.where(x > 0, x, 0.1 * x))
    yield case(running_sum, [f(9, 70)], lambda x: np.cumsum(x, 1))
    yield case(cross_entropy, [f(9, 700), rng.integers(0, 700, 9)], lambda x, t: np.log(np.exp(x).sum(1)) - x[np.arange(9), t])
    yield case(causal_softmax, [f(40, 40)], causal)
    yield case(rotary, [f(5, 3, 32), f(5, 16), f(5, 16)], rotate)
    x, w, v = (f(*s).astype(np.float16) for s in ((40, 70), (70, 50), (70, 50)))
    yield case(gated_product, [x, w, v], lambda x, w, v: (x @ w) * sigmoid(x @ w) * (x @ v), 1e-3)
    yield case(two_layers, [f(20, 33), f(33, 70), f(70, 18)], lambda x, w, v: np.maximum(x @ w, 0) @ v)
    yield case(any_and_all, [rng.integers(-1, 3, (9, 3)).astype(np.int32)], lambda x: [(x > 0).any(1), (x > 0).all(1)], 0.0)
    yield case(newton_root, [rng.random(30) + 0.1], np.sqrt, 1e-14)
    x = f(9, 33)
    norm = np.sqrt((x.astype(np.float64) ** 2).sum(1))
    yield "normalise_in_place", normalise_in_place, {}, [x], [norm], 1e-6
    x, y = f(50), f(50)
    yield "every_third", every_third, {}, [x, y], [np.where(np.arange(50) % 3 == 1, x, y).astype(np.float64)], 0.0
    x, y = f(7, 9), f(7, 9)
    yield "even_rows", even_rows, {}, [x, y], [np.where(np.arange(7)[:, None] % 2 == 0, 2 * x, y).astype(np.float64)], 0.0
    yield case(covariance, [f(2, 20, 33)], lambda x: np.einsum("bmk,bnk->bmn", x - x.mean(2, keepdims=True), x - x.mean(2, keepdims=True)))
    yield case(inner_product, [f(1000), f(1000)], lambda a, b: a @ b, 1e-4)
