"""Run a kernel on random data and show shapes, time and a digest of what it wrote."""
from __future__ import annotations

import hashlib
import statistics
import sys
import time

import numpy as np

from .. import compiler, targets
from ..runtime import interface as interfaces
from .data import add_data_arguments, data_arguments
from .loading import add_kernel_arguments, compile_arguments


def add_arguments(parser) -> None:
    add_kernel_arguments(parser)
    add_data_arguments(parser)
    parser.add_argument("--repeat", type=int, default=10, help="timed runs; the median is shown")


def execute(options) -> int:
    kernel, arguments = compile_arguments(options)
    target = targets.resolve(options.target)
    begin = time.perf_counter()
    compiled = compiler.compile(kernel, target, **arguments)
    compile_ms = (time.perf_counter() - begin) * 1e3
    interface = interfaces.read(compiled.metadata)
    values = data_arguments(options, interface, target)
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
