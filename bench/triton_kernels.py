"""Generated Triton kernels against hand-written Triton and torch eager, on one NVIDIA GPU.

    python bench/triton_kernels.py [name ...] [--rounds 60] [--tuning-config bench/triton_candidates.json]

Every configuration row of a generated kernel is checked against torch in f32 or f64 and timed; the best row then runs
interleaved with the best hand-written configuration and with torch, each launch after a flush of the L2 cache, so that the
drift of the clock meets all of them. Prints a table and writes triton_kernels.json to $OUT (or here).
"""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import sys
import time
import traceback

import torch

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "python"), str(pathlib.Path(__file__).resolve().parent)]
import intent
import intent.language as I
import triton_handwritten as hand
from intent.runtime.expressions import parse

DEVICE = "cuda"


# -- the author's programs ---------------------------------------------------------------------------------------------------


@intent.kernel
def softmax(x: I.In[I.f16, ("M", "N")], y: I.Out[I.f16, ("M", "N")]):
    row = I.cast(x[:, :], I.f32)
    e = I.exp(row - I.reduce.max(row, axis=1)[:, None])
    y[:, :] = I.cast(e / I.reduce.sum(e, axis=1)[:, None], I.f16)


@intent.kernel
def layer_norm(x: I.In[I.f16, ("M", "N")], w: I.In[I.f16, ("N",)], b: I.In[I.f16, ("N",)], y: I.Out[I.f16, ("M", "N")], eps: I.f32):
    v = I.cast(x[:, :], I.f32)
    d = v - I.reduce.mean(v, axis=1)[:, None]
    scale = I.rsqrt(I.reduce.mean(d * d, axis=1) + eps)
    y[:, :] = I.cast(d * scale[:, None] * I.cast(w[:], I.f32) + I.cast(b[:], I.f32), I.f16)


@intent.kernel
def rms_norm(x: I.In[I.f16, ("M", "N")], residual: I.InOut[I.f16, ("M", "N")], w: I.In[I.f16, ("N",)], y: I.Out[I.f16, ("M", "N")], eps: I.f32):
    h = I.cast(x[:, :], I.f32) + I.cast(residual[:, :], I.f32)
    residual[:, :] = I.cast(h, I.f16)
    scale = I.rsqrt(I.reduce.mean(h * h, axis=1) + eps)
    y[:, :] = I.cast(h * scale[:, None] * I.cast(w[:], I.f32), I.f16)


@intent.kernel
def matmul(a: I.In[I.f16, ("M", "K")], b: I.In[I.f16, ("K", "N")], y: I.Out[I.f16, ("M", "N")]):
    y[:, :] = I.cast(I.matmul(a[:, :], b[:, :], acc_dtype=I.f32), I.f16)


@intent.kernel
def linear_gelu(a: I.In[I.f16, ("M", "K")], b: I.In[I.f16, ("K", "N")], bias: I.In[I.f16, ("N",)], y: I.Out[I.f16, ("M", "N")]):
    z = I.matmul(a[:, :], b[:, :], acc_dtype=I.f32) + I.cast(bias[:], I.f32)
    y[:, :] = I.cast(0.5 * z * (1.0 + I.tanh(0.7978845608028654 * (z + 0.044715 * z * z * z))), I.f16)


@intent.kernel
def relu(x: I.In[I.f16, ("N",)], y: I.Out[I.f16, ("N",)]):
    y[:] = I.maximum(x[:], 0.0)


@intent.kernel
def row_sum(x: I.In[I.f16, ("M", "N")], y: I.Out[I.f32, ("M",)]):
    y[:] = I.reduce.sum(I.cast(x[:, :], I.f32), axis=1)


@intent.kernel
def transpose(x: I.In[I.f16, ("M", "N")], y: I.Out[I.f16, ("N", "M")]):
    y[:, :] = I.transpose(x[:, :])


# -- cases: (kernel, arguments, {position of an Out: wanted}, hand-written, torch, GB moved, TFLOP, tolerance) -----------------


def _normal(*shape, dtype=torch.float16):
    return torch.randn(*shape, device=DEVICE, dtype=dtype)


def _softmax_case(m, n):
    x, y = _normal(m, n), torch.empty(m, n, device=DEVICE, dtype=torch.float16)
    return softmax, [x, y], lambda: {1: torch.softmax(x.float(), 1)}, lambda: hand.softmax(x, torch.empty_like(y)), lambda: torch.softmax(x, 1), 4 * m * n / 1e9, None, 1e-3


def _layer_norm_case(m, n):
    x, w, b = _normal(m, n), _normal(n), _normal(n)
    y = torch.empty_like(x)
    norm = torch.nn.functional.layer_norm
    return (layer_norm, [x, w, b, y, 1e-5], lambda: {3: norm(x.float(), (n,), w.float(), b.float(), 1e-5)}, lambda: hand.layer_norm(x, w, b, torch.empty_like(y), 1e-5),
            lambda: norm(x, (n,), w, b, 1e-5), 4 * m * n / 1e9, None, 5e-3)


def _rms_norm_case(m, n):
    x, r, w = _normal(m, n), _normal(m, n), _normal(n)
    y, start = torch.empty_like(x), r.clone()

    def wanted():
        h = x.float() + start.float()
        return {1: h, 3: h * torch.rsqrt((h * h).mean(1, keepdim=True) + 1e-6) * w.float()}

    def eager():
        h = x.float() + start.float()
        return (h * torch.rsqrt((h * h).mean(1, keepdim=True) + 1e-6) * w).half()

    return rms_norm, [x, r, w, y, 1e-6], wanted, lambda: hand.rms_norm(x, start.clone(), w, torch.empty_like(y), 1e-6), eager, 8 * m * n / 1e9, None, 5e-3


def _matmul_case(n):
    a, b = _normal(n, n), _normal(n, n) / n**0.5
    y = torch.empty_like(a)
    return matmul, [a, b, y], lambda: {2: a.float() @ b.float()}, lambda: hand.matmul(a, b, torch.empty_like(y)), lambda: a @ b, None, 2 * n**3 / 1e12, 1e-2


def _linear_gelu_case(n):
    a, b, bias = _normal(n, n), _normal(n, n) / n**0.5, _normal(n)
    y = torch.empty_like(a)
    gelu = lambda v: torch.nn.functional.gelu(v, approximate="tanh")
    return (linear_gelu, [a, b, bias, y], lambda: {3: gelu(a.float() @ b.float() + bias.float())}, lambda: hand.matmul(a, b, torch.empty_like(y), bias),
            lambda: gelu(torch.addmm(bias, a, b)), None, 2 * n**3 / 1e12, 1e-2)


def _relu_case(n):
    x, y = _normal(n), torch.empty(n, device=DEVICE, dtype=torch.float16)
    return relu, [x, y], lambda: {1: torch.relu(x).float()}, lambda: hand.relu(x, torch.empty_like(y)), lambda: torch.relu(x), 4 * n / 1e9, None, 0.0


def _row_sum_case(m, n):
    x, y = _normal(m, n), torch.empty(m, device=DEVICE)
    return row_sum, [x, y], lambda: {1: x.double().sum(1).float()}, lambda: hand.row_sum(x, torch.empty_like(y)), lambda: x.sum(1, dtype=torch.float32), 2 * m * n / 1e9, None, 1e-4


def _transpose_case(n):
    x, y = _normal(n, n), torch.empty(n, n, device=DEVICE, dtype=torch.float16)
    return transpose, [x, y], lambda: {1: x.T.float()}, lambda: hand.transpose(x, torch.empty_like(y)), lambda: x.T.contiguous(), 4 * n * n / 1e9, None, 0.0


CASES = {
    "softmax_16384x4096": lambda: _softmax_case(16384, 4096),
    "softmax_4096x32768": lambda: _softmax_case(4096, 32768),
    "layer_norm_16384x4096": lambda: _layer_norm_case(16384, 4096),
    "rms_norm_16384x4096": lambda: _rms_norm_case(16384, 4096),
    "row_sum_16384x4096": lambda: _row_sum_case(16384, 4096),
    "relu_16384x4096": lambda: _relu_case(16384 * 4096),
    "transpose_8192": lambda: _transpose_case(8192),
    "matmul_4096": lambda: _matmul_case(4096),
    "matmul_8192": lambda: _matmul_case(8192),
    "linear_gelu_4096": lambda: _linear_gelu_case(4096),
    "linear_gelu_8192": lambda: _linear_gelu_case(8192),
}


# -- measuring ---------------------------------------------------------------------------------------------------------------

_flush = None


def interleaved(functions, rounds):
    """Median milliseconds of each function, run in turn after an L2 flush."""
    global _flush
    if _flush is None:
        _flush = torch.empty(256 * 1024 * 1024, dtype=torch.int8, device=DEVICE)
    for function in functions:
        for _ in range(3):
            function()
    torch.cuda.synchronize()
    events = [[(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(rounds)] for _ in functions]
    for turn in range(rounds):
        for at, function in enumerate(functions):
            _flush.zero_()
            start, stop = events[at][turn]
            start.record()
            function()
            stop.record()
    torch.cuda.synchronize()
    return [statistics.median(start.elapsed_time(stop) for start, stop in pairs) for pairs in events]


def check(arguments, wanted, tolerance):
    """The largest error relative to 1 + |wanted|; AssertionError above the tolerance."""
    worst = 0.0
    for at, want in wanted.items():
        got = arguments[at].float()
        error = ((got - want).abs() / (1 + want.abs())).max().item()
        worst = max(worst, error if error == error else float("inf"))
    assert worst <= tolerance, f"error {worst:.3g} above {tolerance:.3g}"
    return worst


def sweep(name, functions, rounds):
    """{label: ms} of the functions that run, and the best label."""
    times = {}
    for label, function in functions:
        try:
            times[label] = interleaved([function], rounds)[0]
        except Exception as error:
            print(f"  {name} {label}: {type(error).__name__}: {str(error)[:160]}", flush=True)
    return times, min(times, key=times.get) if times else None


def legal_rows(compiled, variant, arguments):
    """Rows whose fragments fit at these extents: `where` of each candidate in interface.json."""
    symbols = {}
    for parameter, value in zip(compiled.metadata["params"], arguments):
        for extent, size in zip(parameter.get("shape") or (), getattr(value, "shape", ())):
            symbols[extent.strip('"')] = size
    rows = [c for c in compiled.metadata["candidates"] if c["variant"] == variant]
    return [c["index"] for c in rows if c["where"] is None or parse(c["where"]).evaluate(symbols)]


def run_case(name, rounds, tuning_config):
    kernel, arguments, wanted, handwritten, eager, gigabytes, teraflop, tolerance = CASES[name]()
    started = time.perf_counter()
    compiled = intent.compile(kernel, target="triton", tuning_config=tuning_config)
    seconds = time.perf_counter() - started
    program = compiled._load()._runtime
    fresh = [a.clone() if isinstance(a, torch.Tensor) else a for a in arguments]
    want = wanted()
    bound = compiled._plan.bind(list(fresh))
    planned = program.plan(bound)
    rows, errors, launches = planned.variant["configs"], [], []
    for row in legal_rows(compiled, planned.variant["name"], fresh):
        for value, start in zip(fresh, arguments):
            if isinstance(value, torch.Tensor):
                value.copy_(start)
        try:
            launch = program.prepare(bound, row)
            launch()
            torch.cuda.synchronize()
            errors.append(check(fresh, want, tolerance))
            launches.append((row, launch))
        except Exception as error:
            print(f"  {name} row {row} {rows[row]}: {type(error).__name__}: {str(error)[:300]}", flush=True)
    if not launches:
        raise RuntimeError("no row runs")
    del want
    times, best = sweep(name, launches, 10)
    hand_functions = list(handwritten())
    hand_times, hand_best = sweep(f"{name} hand-written", hand_functions, 10)
    ours, theirs = dict(launches)[best], dict(hand_functions)[hand_best]
    ms, hand_ms, torch_ms = interleaved([ours, theirs, eager], rounds)
    rate = lambda t: gigabytes / t * 1e3 if gigabytes else teraflop / t * 1e3
    result = dict(name=name, unit="GB/s" if gigabytes else "TFLOP/s", intent=rate(ms), handwritten=rate(hand_ms), torch=rate(torch_ms), ratio=hand_ms / ms,
                  row=best, configuration=str(rows[best]), handwritten_configuration=str(hand_best), error=max(errors), compile_seconds=seconds,
                  variant=planned.variant["name"], index=str(planned.constants["INDEX"]),
                  rows={str(rows[k]): v for k, v in times.items()}, handwritten_rows={str(k): v for k, v in hand_times.items()})
    print(f"{name:24} {result['intent']:8.1f} {result['handwritten']:8.1f} {result['torch']:8.1f} {result['unit']:8} {result['ratio']:5.3f}  {result['variant']} row {best} "
          f"{rows[best]} | {hand_best} | error {result['error']:.2g}", flush=True)
    return result


def launch_overhead():
    """Microseconds of one launch of a tiny kernel: direct call, prepared, Triton's JIT call, torch."""
    x = _normal(1024)
    y = torch.empty_like(x)
    compiled = intent.compile(relu, target="triton")
    prepared = compiled.prepare(x, outputs=y)
    jit = next(iter(hand.relu(x, y)))[1]
    result = {}
    for label, function in (("direct", lambda: compiled(x, y)), ("prepared", prepared.launch), ("triton_jit", jit), ("torch", lambda: torch.relu(x))):
        for _ in range(200):
            function()
        torch.cuda.synchronize()
        rounds = []
        for _ in range(7):
            start = time.perf_counter()
            for _ in range(1000):
                function()
            rounds.append((time.perf_counter() - start) * 1e3)
            torch.cuda.synchronize()
        result[label] = min(rounds)
    print("launch, us: " + ", ".join(f"{k} {v:.2f}" for k, v in result.items()), flush=True)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="name", help="cases to run; all without any: " + ", ".join(CASES))
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--tuning-config", metavar="PATH", help="rows to sweep instead of the default table's")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("no CUDA device is visible to torch: nothing to measure")
        return 0
    import triton

    triton.set_allocator(lambda size, align, stream: torch.empty(size, device=DEVICE, dtype=torch.int8))
    torch.manual_seed(0)
    report = dict(device=torch.cuda.get_device_name(), torch=torch.__version__, triton=triton.__version__, results=[], failures={})
    print(f"{report['device']}, torch {report['torch']}, triton {report['triton']}\n{'case':24} {'intent':>8} {'by hand':>8} {'torch':>8} {'':8} ratio")
    folder = pathlib.Path(os.environ.get("OUT", "."))
    for name in options.names or CASES:
        try:
            report["results"].append(run_case(name, options.rounds, options.tuning_config))
        except Exception as error:
            traceback.print_exc()
            report["failures"][name] = f"{type(error).__name__}: {error}"
        torch.cuda.empty_cache()
        (folder / "triton_kernels.json").write_text(json.dumps(report, indent=1))
    try:
        report["launch_us"] = launch_overhead()
    except Exception as error:
        report["failures"]["launch"] = f"{type(error).__name__}: {error}"
    (folder / "triton_kernels.json").write_text(json.dumps(report, indent=1))
    return 1 if report["failures"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
