"""Author programs of many kinds with values worked out in float64 NumPy: run on the host, compiled for Triton, checked on a GPU.

`cases(rng)` yields `(name, kernel, constexprs, arguments, expected, tolerance)` as the sample programs do: arguments are all
run-time arguments but `Out` views; where an `Out` shape follows from no other argument an empty array stands in its place;
`expected` lists the `Out` views, or the `InOut` views where there are none.
"""
import numpy as np

import intent
import intent.language as I


@intent.kernel
def column_sum(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("N",)]):
    y[:] = I.reduce.sum(x[:, :], axis=0)


@intent.kernel
def total(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ()]):
    y[()] = I.reduce.sum(x[:, :], axis=(0, 1))


@intent.kernel
def transpose(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("N", "M")]):
    y[:, :] = I.transpose(x[:, :])


@intent.kernel
def gram_shifted(x: I.In[I.f32, ("M", "K")], y: I.Out[I.f32, ("M", "M")]):
    d = I.reduce.sum(x[:, :] * x[:, :], axis=1)
    y[:, :] = I.contract(x[:, :], x[:, :], reduce=((1, 1),), acc_dtype=I.f32) + d[:, None] - d[None, :]


@intent.kernel
def attention(q: I.In[I.f32, ("M", "D")], k: I.In[I.f32, ("N", "D")], v: I.In[I.f32, ("N", "E")], y: I.Out[I.f32, ("M", "E")]):
    s = I.matmul(q[:, :], k[:, :], acc_dtype=I.f32, transpose_rhs=True)
    e = I.exp(s - I.reduce.max(s, axis=1, keepdims=True))
    p = e / I.reduce.sum(e, axis=1, keepdims=True)
    y[:, :] = I.matmul(p, v[:, :], acc_dtype=I.f32)


@intent.kernel
def recurrence(x: I.In[I.f32, ("T", "N")], y: I.Out[I.f32, ("T", "N")], z: I.Out[I.f32, ("N",)]):
    T, N = x.shape
    h = I.zeros((N,), I.f32)
    for t in I.domain(0, T):
        h = 0.5 * h + x[t, :]
        y[t, :] = h
    z[:] = h


@intent.kernel
def centred_recurrence(x: I.In[I.f32, ("T", "N")], z: I.Out[I.f32, ("N",)]):
    T, N = x.shape
    h = I.zeros((N,), I.f32)
    for t in I.domain(0, T):
        h = 0.5 * h + x[t, :] - I.reduce.mean(h, axis=0)
    z[:] = h


@intent.kernel
def batched_matmul(a: I.In[I.f32, ("B", "M", "K")], b: I.In[I.f32, ("B", "K", "N")], y: I.Out[I.f32, ("B", "M", "N")]):
    y[:, :, :] = I.matmul(a[:, :, :], b[:, :, :], acc_dtype=I.f32)


@intent.kernel
def matrix_vector(a: I.In[I.f32, ("M", "K")], b: I.In[I.f32, ("K",)], y: I.Out[I.f32, ("M",)]):
    y[:] = I.matvec(a[:, :], b[:], acc_dtype=I.f32)


@intent.kernel
def signed_rows(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M",)]):
    M, N = x.shape
    for i in I.parallel(I.domain(0, M)):
        s = I.reduce.sum(x[i, :], axis=0)
        if s > 0.0:
            y[i] = s
        else:
            y[i] = -s * 2.0


@intent.kernel
def reverse(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]):
    N, = x.shape
    for i in I.parallel(I.domain(0, N)):
        y[i] = x[N - 1 - i]


@intent.kernel
def flatten(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("L",)]):
    M, N = x.shape
    y[:] = I.reshape(x[:, :], (y.shape[0],)) * 2.0


@intent.kernel
def swap(x: I.InOut[I.f32, ("N",)], y: I.InOut[I.f32, ("N",)]):
    a = x[:]
    b = y[:]
    x[:] = b
    y[:] = a


@intent.kernel
def pair_sum(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("H",)]):
    H, = y.shape
    for i in I.parallel(I.domain(0, H)):
        y[i] = x[2*i] + x[2*i+1]


@intent.kernel
def centre(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M", "N")]):
    v = x[:, :]
    mu = I.reduce.mean(v, axis=(0, 1))
    y[:, :] = v - mu


@intent.kernel
def floor_divide(a: I.In[I.i32, ("N",)], b: I.In[I.i32, ("N",)], q: I.Out[I.i32, ("N",)], r: I.Out[I.i32, ("N",)]):
    q[:] = a[:] // b[:]
    r[:] = a[:] % b[:]


@intent.kernel
def floor_divide_floats(a: I.In[I.f32, ("N",)], b: I.In[I.f32, ("N",)], c: I.In[I.f64, ("N",)], h: I.In[I.f16, ("N",)], q: I.Out[I.f32, ("N",)], r: I.Out[I.f32, ("N",)],
                        s: I.Out[I.f64, ("N",)], t: I.Out[I.f16, ("N",)]):
    q[:] = a[:] // b[:]
    r[:] = a[:] % b[:]
    s[:] = c[:] // 0.25 + c[:] % -3.0
    t[:] = h[:] % 0.5 - h[:] // 2.0


@intent.kernel
def embedding(x: I.In[I.f32, ("V", "D")], idx: I.In[I.i32, ("N",)], y: I.Out[I.f32, ("N", "D")]):
    y[:, :] = x[idx[:], :]


@intent.kernel
def read_back(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)], z: I.Out[I.f32, ("N",)]):
    y[:] = x[:] + 1.0
    z[:] = y[:] * 2.0


@intent.kernel
def ragged_sum(offsets: I.In[I.i32, ("R1",)], values: I.In[I.f32, ("NNZ",)], y: I.Out[I.f32, ("R",)]):
    R, = y.shape
    NNZ, = values.shape
    entries = I.domain(0, NNZ)
    for r in I.parallel(I.domain(0, R)):
        row = entries[I.cast(offsets[r], I.index):I.cast(offsets[r + 1], I.index)]
        y[r] = I.reduce.sum(values[row], axis=0)


@intent.kernel
def convolution(x: I.In[I.f32, ("H", "W", "C")], w: I.In[I.f32, (3, 3, "C", "F")], y: I.Out[I.f32, ("OH", "OW", "F")]):
    H, W, C = x.shape
    OH, OW, F = y.shape
    for i, j in I.parallel((I.domain(0, OH), I.domain(0, OW))):
        y[i, j, :] = I.contract(x[I.domain(0, H)[i:i+3], I.domain(0, W)[j:j+3], :], w[:, :, :, :], reduce=((0, 0), (1, 1), (2, 2)), acc_dtype=I.f32)


def recurrences(x, centred):
    h, rows = np.zeros(x.shape[1]), []
    for row in x:
        h = 0.5 * h + row - (h.mean() if centred else 0)
        rows.append(h)
    return [h] if centred else [np.array(rows).reshape(x.shape), h]


def attend(q, k, v):
    s = q @ k.T
    e = np.exp(s - s.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True) @ v


def cases(rng):
    def f(*shape):
        return rng.standard_normal(shape).astype(np.float32)

    def wide(*arrays):
        return [a.astype(np.float64) if isinstance(a, np.ndarray) and a.dtype.kind == "f" else a for a in arrays]

    def case(kernel, arguments, expected, tolerance=1e-5, note=""):
        values = wide(*arguments)
        result = expected(*values)
        return (kernel.__name__ + note, kernel, {}, arguments, result if isinstance(result, list) else [result], tolerance)

    for shape in ((37, 100), (1, 1), (0, 5), (513, 3)):
        yield case(column_sum, [f(*shape)], lambda x: x.sum(0), note=f" {shape}")
    for shape in ((37, 1000), (1, 1), (5, 0)):
        yield case(total, [f(*shape)], lambda x: x.sum(), 1e-4, note=f" {shape}")
    for shape in ((37, 100), (1, 129), (64, 64)):
        yield case(transpose, [f(*shape)], lambda x: x.T, 0.0, note=f" {shape}")
    yield case(gram_shifted, [f(33, 70)], lambda x: x @ x.T + (x * x).sum(1)[:, None] - (x * x).sum(1)[None])
    yield case(attention, [f(70, 16), f(133, 16), f(133, 20)], attend)
    for shape in ((17, 40), (1, 1), (0, 7)):
        yield case(recurrence, [f(*shape)], lambda x: recurrences(x, False), note=f" {shape}")
    yield case(centred_recurrence, [f(17, 40)], lambda x: recurrences(x, True))
    yield case(batched_matmul, [f(3, 20, 40), f(3, 40, 50)], lambda a, b: a @ b)
    yield case(matrix_vector, [f(33, 70), f(70)], lambda a, b: a @ b)
    yield case(signed_rows, [f(33, 70)], lambda x: np.where(x.sum(1) > 0, x.sum(1), -2 * x.sum(1)))
    for n in (1, 101, 4096):
        yield case(reverse, [f(n)], lambda x: x[::-1], 0.0, note=f" {n}")
    yield case(flatten, [f(7, 30), np.empty(210, np.float32)], lambda x, _: x.reshape(-1) * 2, 0.0)
    x, y = f(101), f(101)
    yield ("swap", swap, {}, [x, y], [y.astype(np.float64), x.astype(np.float64)], 0.0)
    yield case(pair_sum, [f(100), np.empty(50, np.float32)], lambda x, _: x[::2] + x[1::2])
    yield case(centre, [f(20, 30)], lambda x: x - x.mean())
    a, b = np.array([7, -7, 7, -7, 5, 0], np.int32), np.array([2, 2, -2, -2, 7, -3], np.int32)
    fa, fb = np.array([7, -7, 7, -7, 1e10, 5.5, np.inf, 1, np.nan], np.float32), np.array([2, 2, -2, -2, 0.1, np.inf, 2, 0, 1], np.float32)
    fc, fh = np.linspace(-4, 4, 9), np.linspace(-3, 5, 9).astype(np.float16)
    with np.errstate(all="ignore"):
        yield ("floor_divide_floats", floor_divide_floats, {}, [fa, fb, fc, fh], [fa // fb, fa % fb, fc // 0.25 + fc % -3.0, fh % np.float16(0.5) - fh // np.float16(2)], 0.0)
    yield ("floor_divide", floor_divide, {}, [a, b], [np.array([3, -4, -4, 3, 0, 0]), np.array([1, 1, -1, -1, 5, 0])], 0.0)
    yield case(embedding, [f(10, 33), rng.integers(0, 10, 17).astype(np.int32)], lambda x, i: x[i], 0.0)
    yield case(read_back, [f(33)], lambda x: [x + 1, (x + 1) * 2])
    offsets = np.array([0, 3, 3, 10, 700], np.int32)
    yield case(ragged_sum, [offsets, f(700), np.empty(4, np.float32)], lambda o, v, _: np.array([v[a:b].sum() for a, b in zip(o[:-1], o[1:])]))
    yield case(convolution, [f(10, 12, 20), f(3, 3, 20, 17), np.empty((8, 10, 17), np.float32)],
               lambda x, w, _: np.array([[np.einsum("hwc,hwcf->f", x[i:i + 3, j:j + 3], w) for j in range(10)] for i in range(8)]))
