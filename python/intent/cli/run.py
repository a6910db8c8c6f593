"""Run a kernel on random data and show shapes, time and a digest of what it wrote."""
from __future__ import annotations

import hashlib
import statistics
import sys
import time

import numpy as np

from .. import compiler, targets
from ..errors import CallError, ConfigurationError
from ..runtime import interface as interfaces
from ..runtime.dtypes import DTYPES
from ..runtime.expressions import ExpressionError
from .loading import add_kernel_arguments, compile_arguments, integer_pairs, json_pairs


def add_arguments(parser) -> None:
    add_kernel_arguments(parser)
    parser.add_argument("--shape", metavar="M=INT", action="append", default=[], help="extent of a shape symbol")
    parser.add_argument("--scalar", metavar="S=JSON", action="append", default=[], help="value of a run-time scalar (default: the author's, else 1)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random inputs")
    parser.add_argument("--repeat", type=int, default=10, help="timed runs; the median is shown")


def execute(options) -> int:
    kernel, arguments = compile_arguments(options)
    target = targets.resolve(options.target)
    begin = time.perf_counter()
    compiled = compiler.compile(kernel, target, **arguments)
    compile_ms = (time.perf_counter() - begin) * 1e3
    interface = interfaces.read(compiled.metadata)
    values = _arguments(interface, integer_pairs(options.shape, "--shape"), json_pairs(options.scalar, "--scalar"), options.seed, target)
    begin = time.perf_counter()
    compiled(*values)
    _synchronise(target)
    first_ms = (time.perf_counter() - begin) * 1e3
    digests = [_digest(value) if isinstance(p, interfaces.View) and p.written else "" for p, value in zip(interface.parameters, values)]
    times = _times(compiled, values, target, max(0, options.repeat))
    print(f"{kernel.__name__} on {target}: compiled in {compile_ms:.1f} ms, first launch {first_ms:.2f} ms")
    _print_table(interface, values, digests)
    if times:
        print(f"time: median {statistics.median(times) * 1e3:.4g} ms, least {min(times) * 1e3:.4g} ms of {len(times)} runs")
    return 0


def _arguments(interface, extents, scalars, seed, target) -> list:
    rng = np.random.default_rng(seed)
    symbols = dict(extents)
    values: dict = {}
    for parameter in interface.parameters:
        if isinstance(parameter, interfaces.Scalar):
            default = 1 if parameter.default is interfaces.REQUIRED else parameter.default
            if DTYPES[parameter.dtype].kind == "bool":
                default = bool(default)
            values[parameter.name] = scalars.pop(parameter.name, default)
            if isinstance(values[parameter.name], int):
                symbols["%" + parameter.name] = int(values[parameter.name])
    if scalars:
        raise ConfigurationError(f"no run-time scalar is named {next(iter(scalars))!r}", source="--scalar")
    wanted = sorted({s for v in interface.views for e in v.shape for s in e.symbols | e.parameters if not s.startswith("%")})
    for name in extents:
        if name not in wanted:
            raise ConfigurationError(f"no extent is named {name!r}; the symbols: {', '.join(wanted) or 'none'}", source="--shape")
    missing = [name for name in wanted if name not in symbols]
    if missing:
        raise ConfigurationError("the run needs " + " ".join(f"--shape {name}=..." for name in missing), source="--shape")
    for view in interface.views:
        try:
            shape = tuple(e.evaluate(symbols, symbols) for e in view.shape)
            values[view.name] = _on_device(_random(rng, view, shape), view, target)
        except (ExpressionError, ValueError) as error:
            raise CallError(f"argument {view.name!r}: {error}", parameter=view.name) from None
    return [values[p.name] for p in interface.parameters]


def _random(rng, view, shape):
    """Random contents: normal floats, integers in 0..7 (so that indices are small), zeros for Outs."""
    dtype = DTYPES[view.dtype]
    if view.access == "out":
        return np.zeros(shape, dtype.numpy_dtype())
    if dtype.kind == "float":
        return rng.standard_normal(shape).astype(dtype.numpy_dtype())
    return rng.integers(0, 2 if dtype.kind == "bool" else 8, shape).astype(dtype.numpy_dtype())


def _on_device(array, view, target):
    if target.device_type == "cpu":
        return array
    try:
        import torch
    except ImportError:
        raise ConfigurationError("running on a device needs torch", source="--target") from None
    # Through bytes, since torch does not read the NumPy types of ml_dtypes.
    raw = torch.from_numpy(np.ascontiguousarray(array).reshape(-1).view(np.uint8).copy())
    return raw.view(getattr(torch, DTYPES[view.dtype].torch)).reshape(array.shape).to(target.device_type)


def _on_host(value):
    """`(bytes of the elements in row-major order, elements as float64 or None)`."""
    if isinstance(value, np.ndarray):
        return np.ascontiguousarray(value).tobytes(), value.astype(np.float64)
    host = value.detach().cpu().contiguous()
    raw = host.reshape(-1).view(sys.modules["torch"].uint8).numpy().tobytes()
    return raw, host.double().numpy()


def _digest(value) -> str:
    raw, numbers = _on_host(value)
    text = "sha256 " + hashlib.sha256(raw).hexdigest()[:16]
    if numbers.size:
        finite = numbers[np.isfinite(numbers)]
        text += f"  min {finite.min():.6g}  max {finite.max():.6g}  mean {finite.mean():.6g}" if finite.size else ""
        text += f"  non-finite {numbers.size - finite.size}" if finite.size < numbers.size else ""
    return text


def _synchronise(target) -> None:
    if target.device_type == "cuda":
        import torch

        torch.cuda.synchronize()


def _times(compiled, values, target, repeat) -> list:
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        compiled(*values)
        _synchronise(target)
        times.append(time.perf_counter() - begin)
    return times


def _print_table(interface, values, digests) -> None:
    rows = []
    for parameter, value, digest in zip(interface.parameters, values, digests):
        if isinstance(parameter, interfaces.View):
            rows.append((parameter.name, parameter.access, parameter.dtype, str(tuple(value.shape)), digest))
        else:
            rows.append((parameter.name, "scalar", parameter.dtype, repr(value), ""))
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(4)]
    for row in rows:
        print("  " + "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths)), row[4]]).rstrip())
