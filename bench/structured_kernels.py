"""Scans, folds and hand-over beside NumPy on the host, or beside torch on a CUDA device.

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


def numpy_attention(q, k, v):
    s = np.einsum("hrd,hcd->hrc", q, k) * np.float32(0.125)
    s = np.where(np.tril(np.ones(s.shape[1:], bool)), s, np.float32(-np.inf))
    e = np.exp(s - s.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)) @ v


def problems(device):
    rng = np.random.default_rng(0)
    gpu = device == "triton"
    h, s = (128, 4096) if gpu else (8, 1024)
    dtype = np.float16 if gpu else np.float32
    qkv = [rng.standard_normal((h, s, 64)).astype(dtype) for _ in range(3)]
    yield "attention", attention, {"T": I.f16 if gpu else I.f32}, qkv, numpy_attention, torch_attention
    x = rng.standard_normal((8192, 4096)).astype(np.float32)
    yield "cumsum", cumsum, None, [x], lambda x: np.cumsum(x, 1), lambda x: x.cumsum(1)
    x = rng.standard_normal(1 << (28 if gpu else 24)).astype(np.float32)
    yield "total", total, None, [x], lambda x: x.sum(), lambda x: x.sum()


def torch_attention(q, k, v):
    import torch

    return torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True, scale=0.125)[0]


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
    for name, kernel, types, arguments, in_numpy, in_torch in problems(device):
        if names and name not in names:
            continue
        wait, other = (lambda: None), lambda: in_numpy(*arguments)
        if device == "triton":
            import torch

            arguments = [torch.from_numpy(a).cuda() for a in arguments]
            wait, other = torch.cuda.synchronize, lambda: in_torch(*arguments)
        start = time.perf_counter()
        compiled = intent.compile(kernel, device, types=types)
        result = compiled.run(*arguments)
        wait()
        first = time.perf_counter() - start
        wanted = other()
        as_array = (lambda a: a.float().cpu().numpy()) if device == "triton" else np.asarray
        error = np.abs(as_array(result) - as_array(wanted)).max()
        prepared = compiled.prepare(*arguments)
        own, theirs = interleaved([prepared.launch, other], wait, 7)
        print(f"{name:12} {own:9.3f} ms, {'torch' if device == 'triton' else 'numpy'} {theirs:9.3f} ms, {theirs / own:6.2f}x, "
              f"largest difference {error:.2g}, first call {first:.2f} s", flush=True)


if __name__ == "__main__":
    main()
