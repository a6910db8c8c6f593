"""Scans, folds, hand-over and ragged work beside NumPy on the host, or beside torch on a CUDA device.

`python bench/structured_kernels.py [host | triton] [name ...]` prints the median of interleaved runs, in milliseconds, and
whether the values agree.
"""
import statistics
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))
import intent  # noqa: E402
import intent.language as I  # noqa: E402

T = I.TypeVar("T", I.f16, I.f32)


@intent.fn
def summary(k, v, at, q, row):
    s = I.select(at <= row, I.matvec(k, q, acc_dtype=I.f32) * 0.125, -I.inf)
    top = I.reduce.max(s, axis=0)
    shift = I.select(top > -I.inf, top, 0.0)
    e = I.exp(s - shift)
    return I.record(top=top, mass=I.reduce.sum(e, axis=0), mix=I.vecmat(I.cast(e, v.dtype), v, acc_dtype=I.f32))


@intent.fn
def join(a, b):
    top = I.maximum(a.top, b.top)
    shift = I.select(top > -I.inf, top, 0.0)
    x, y = I.exp(a.top - shift), I.exp(b.top - shift)
    return I.record(top=top, mass=a.mass * x + b.mass * y, mix=a.mix * x + b.mix * y)


@intent.kernel
def attention(q: I.In[T, ("H", "S", 64)], k: I.In[T, ("H", "S", 64)], v: I.In[T, ("H", "S", 64)], y: I.Out[T, ("H", "S", 64)]):
    H, S, D = q.shape
    rows = I.domain(0, S)
    for h, r in I.parallel((I.domain(0, H), rows)):
        s = I.region_fold(source=(k[h, rows, :], v[h, rows, :], I.indices(rows)), axis=0, summarize=summary, combine=join,
                          identity=I.record(top=I.cast(-I.inf, I.f32), mass=I.cast(0.0, I.f32), mix=I.zeros((D,), I.f32)),
                          operands=(q[h, r, :], r))
        y[h, r, :] = I.cast(s.mix / s.mass, y.dtype)


@intent.kernel
def cumsum(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M", "N")]):
    y[:, :] = I.cumsum(x[:, :], axis=1)


@intent.kernel
def total(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ()]):
    y[()] = I.reduce.sum(x[:], axis=0)


@intent.kernel
def columns(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("N",)]):
    y[:] = I.reduce.sum(x[:, :], axis=0)


@intent.kernel
def rows(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M",)]):
    y[:] = I.reduce.sum(x[:, :], axis=1)


@intent.kernel
def tall(a: I.In[T, ("K", "M")], b: I.In[T, ("K", "N")], y: I.Out[T, ("M", "N")]):
    y[:, :] = I.cast(I.matmul(a[:, :], b[:, :], acc_dtype=I.f32, transpose_lhs=True), y.dtype)


@intent.kernel
def layer_norm_grad(x: I.In[I.f32, ("M", "N")], w: I.In[I.f32, ("N",)], dy: I.In[I.f32, ("M", "N")], dx: I.Out[I.f32, ("M", "N")],
                    dw: I.Out[I.f32, ("N",)], db: I.Out[I.f32, ("N",)]):
    M, N = x.shape
    v, g = x[:, :], dy[:, :]
    n = I.cast(N, I.f32)
    centred = v - (I.reduce.sum(v, axis=1) / n)[:, None]
    rs = I.rsqrt(I.reduce.sum(centred * centred, axis=1) / n + 1e-5)
    hat = centred * rs[:, None]
    wg = g * w[:]
    c1 = I.reduce.sum(hat * wg, axis=1) / n
    c2 = I.reduce.sum(wg, axis=1) / n
    dx[:, :] = (wg - hat * c1[:, None] - c2[:, None]) * rs[:, None]
    dw[:] = I.reduce.sum(g * hat, axis=0)
    db[:] = I.reduce.sum(g, axis=0)


@intent.kernel
def spmv(val: I.In[I.f32, ("E",)], col: I.In[I.i32, ("E",)], off: I.In[I.i32, ("R1",)], x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("R",)]):
    R, = y.shape
    groups = I.ragged(I.domain(R), I.domain(val.shape[0]), off)
    for r in I.parallel(I.domain(R)):
        e = groups[r]
        y[r] = I.reduce.sum(val[e] * x[col[e]], axis=0)


@intent.kernel
def jagged(x: I.In[I.f32, ("L", "D")], off: I.In[I.i32, ("G1",)], w: I.In[I.f32, ("G", "D")], y: I.Out[I.f32, ("L", "D")]):
    G, D = w.shape
    groups = I.ragged(I.domain(G), I.domain(x.shape[0]), off)
    for g in I.parallel(I.domain(G)):
        y[groups[g], :] = x[groups[g], :] * w[g, :]


@intent.kernel
def experts(x: I.In[T, ("L", "K")], off: I.In[I.i32, ("G1",)], w: I.In[T, ("G", "K", "N")], y: I.Out[T, ("L", "N")]):
    G, K, N = w.shape
    groups = I.ragged(I.domain(G), I.domain(x.shape[0]), off)
    for g in I.parallel(I.domain(G)):
        y[groups[g], :] = I.cast(I.matmul(x[groups[g], :], w[g, :, :], acc_dtype=I.f32), y.dtype)


def numpy_layer_norm_grad(x, w, dy):
    centred = x - x.mean(1, keepdims=True)
    rs = 1 / np.sqrt((centred * centred).mean(1, keepdims=True) + np.float32(1e-5))
    hat, wg = centred * rs, dy * w
    return (wg - hat * (hat * wg).mean(1, keepdims=True) - wg.mean(1, keepdims=True)) * rs, (dy * hat).sum(0), dy.sum(0)


def torch_layer_norm_grad(x, w, dy):
    import torch

    def run():
        return torch.ops.aten.native_layer_norm_backward(dy, x, [x.shape[1]], mean, rstd, w, w, [True, True, True])

    _, mean, rstd = torch.ops.aten.native_layer_norm(x, [x.shape[1]], w, w, 1e-5)
    return run


def torch_spmv(val, col, off, x, size):
    import torch

    matrix = torch.sparse_csr_tensor(off, col, val, size=(off.shape[0] - 1, x.shape[0]))
    return lambda: matrix @ x


def numpy_experts(x, off, w):
    return np.concatenate([x[a:b] @ w[g] for g, (a, b) in enumerate(zip(off, off[1:]))])


def torch_experts(x, off, w):
    import torch

    ends = off.tolist()

    def run():
        return torch.cat([x[a:b] @ w[g] for g, (a, b) in enumerate(zip(ends, ends[1:]))])

    return run


def numpy_attention(q, k, v):
    s = np.einsum("hrd,hcd->hrc", q, k) * np.float32(0.125)
    s = np.where(np.tril(np.ones(s.shape[1:], bool)), s, np.float32(-np.inf))
    e = np.exp(s - s.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)) @ v


def offsets(lengths):
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)


def problems(device):
    """(name, kernel, types, arguments, extents of outputs that no argument gives, in NumPy, in torch: a function of the arguments
    that prepares and returns what is timed)."""
    rng = np.random.default_rng(0)
    gpu = device == "triton"
    narrow, types = (np.float16, {"T": I.f16}) if gpu else (np.float32, {"T": I.f32})

    def normal(*shape, dtype=np.float32):
        return rng.standard_normal(shape, dtype=np.float32).astype(dtype)

    h, s = (128, 4096) if gpu else (8, 1024)
    yield "attention", attention, types, [normal(h, s, 64, dtype=narrow) for _ in range(3)], {}, numpy_attention, torch_attention
    yield "cumsum", cumsum, None, [normal(8192, 4096)], {}, lambda x: np.cumsum(x, 1), lambda x: lambda: x.cumsum(1)
    yield "total", total, None, [normal(1 << (28 if gpu else 24))], {}, lambda x: x.sum(), lambda x: lambda: x.sum()
    yield "columns", columns, None, [normal(1 << (20 if gpu else 16), 64)], {}, lambda x: x.sum(0), lambda x: lambda: x.sum(0)
    yield "rows", rows, None, [normal(16, 1 << (22 if gpu else 18))], {}, lambda x: x.sum(1), lambda x: lambda: x.sum(1)
    k = 1 << (17 if gpu else 12)
    yield ("tall", tall, types, [normal(k, 256, dtype=narrow), normal(k, 256, dtype=narrow)], {}, lambda a, b: a.T.astype(np.float32) @ b,
           lambda a, b: lambda: a.T @ b)
    m = 16384 if gpu else 2048
    yield ("layer_norm_grad", layer_norm_grad, None, [normal(m, 4096), normal(4096), normal(m, 4096)], {}, numpy_layer_norm_grad,
           torch_layer_norm_grad)
    r = 1 << (20 if gpu else 16)
    off = offsets(rng.integers(0, 17, r))
    arguments = [normal(off[-1]), rng.integers(0, r, off[-1]).astype(np.int32), off, normal(r)]
    yield ("spmv", spmv, None, arguments, {"R": r}, lambda val, col, off, x: np.add.reduceat(np.append(val * x[col], 0), off[:-1]) * (np.diff(off) > 0),
           lambda val, col, off, x: torch_spmv(val, col, off, x, r))
    off = offsets(rng.multinomial(1 << (20 if gpu else 16), rng.dirichlet([0.5] * 16)))
    yield ("jagged", jagged, None, [normal(off[-1], 128), off, normal(16, 128)], {}, lambda x, off, w: x * np.repeat(w, np.diff(off), 0),
           lambda x, off, w: lambda: x * w.repeat_interleave(off.diff(), 0))
    off = offsets(rng.multinomial(1 << (14 if gpu else 9), rng.dirichlet([0.5] * 16)))
    k, n = (2048, 2048) if gpu else (256, 256)
    yield ("experts", experts, types, [normal(off[-1], k, dtype=narrow), off, normal(16, k, n, dtype=narrow) / narrow(k**0.5)], {}, numpy_experts,
           torch_experts)


def torch_attention(q, k, v):
    import torch

    return lambda: torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True, scale=0.125)[0]


def interleaved(functions, wait, rounds):
    times = [[] for _ in functions]
    for function in functions:
        function()
    wait()
    for _ in range(rounds):
        for own, function in zip(times, functions):
            start = time.perf_counter()
            function()
            wait()
            own.append(time.perf_counter() - start)
    return [statistics.median(own) * 1e3 for own in times]


def main():
    device = sys.argv[1] if len(sys.argv) > 1 else "host"
    names = sys.argv[2:]
    for name, kernel, types, arguments, extents, in_numpy, in_torch in problems(device):
        if names and name not in names:
            continue
        wait, other, outputs = (lambda: None), lambda: in_numpy(*arguments), None
        if device == "triton":
            import torch

            arguments = [torch.from_numpy(a).cuda() for a in arguments]
            wait, other = torch.cuda.synchronize, in_torch(*arguments)
        if extents:
            outputs = np.empty(tuple(extents.values()), np.float32)
            outputs = (torch.from_numpy(outputs).cuda() if device == "triton" else outputs,)
        start = time.perf_counter()
        compiled = intent.compile(kernel, device, types=types)
        prepared = compiled.prepare(*arguments, outputs=outputs)
        prepared.launch()
        wait()
        first = time.perf_counter() - start
        wanted = other()
        as_tuple = (lambda r: r if isinstance(r, tuple) else (r,))
        as_array = (lambda a: a.float().cpu().numpy()) if device == "triton" else np.asarray
        error = max(np.abs(as_array(a) - as_array(b)).max() / max(1, np.abs(as_array(b)).max()) for a, b in zip(as_tuple(prepared.result()), as_tuple(wanted)))
        own, theirs = interleaved([prepared.launch, other], wait, 7)
        print(f"{name:16} {own:9.3f} ms, {'torch' if device == 'triton' else 'numpy'} {theirs:9.3f} ms, {theirs / own:6.2f}x, "
              f"largest relative difference {error:.2g}, first call {first:.2f} s", flush=True)


if __name__ == "__main__":
    main()
