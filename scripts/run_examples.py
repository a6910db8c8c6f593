#!/usr/bin/env python3
"""Compiles every program of examples/, runs it on this machine, checks it, and prints one table.

Each kernel is compiled for `host` and run on the data its module describes, against the module's NumPy program: for
accuracy in float64, for time in the data's own arithmetic (f16 data through f32, as NumPy's f16 is slow). Each is
also generated for an NVIDIA GPU, with no GPU needed; where torch sees one, it runs there, too.
Exits non-zero when a result is outside its tolerance or a compilation fails.
"""
import argparse
import importlib.util
import statistics
import sys
import time
from pathlib import Path

import numpy as np

import intent
import intent.language as I

ROOT = Path(__file__).resolve().parent.parent
GENERATED = "triton:sm_90"
COLUMNS = ("kernel", "target", "data", "max error", "time", "NumPy", "compile")


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


NAMES = {np.float16: "f16", np.float32: "f32", np.float64: "f64"}


def timed(call):
    started = time.perf_counter()
    result = call()
    return time.perf_counter() - started, result


def median_time(call, seconds=0.5, least=3, most=50):
    """Seconds of one call: the median of as many as fit, after one that is not counted."""
    call()
    times = []
    while len(times) < least or (sum(times) < seconds and len(times) < most):
        times.append(timed(call)[0])
    return statistics.median(times)


def as_tuple(value):
    return value if isinstance(value, tuple) else (value,)


def converted(arguments, dtype):
    return tuple(a.astype(dtype) if isinstance(a, np.ndarray) else a for a in arguments)


def compare(results, exact, tolerance):
    """(largest absolute error, whether every element lies within `absolute + relative * |exact|`)."""
    absolute, relative = tolerance
    largest, good = 0.0, True
    for got, want in zip(results, exact, strict=True):
        error = np.abs(got.astype(np.float64) - want)
        largest = max(largest, float(error.max(initial=0.0)))
        good &= got.shape == want.shape and bool((error <= absolute + relative * np.abs(want)).all())
    return largest, good


def written_arguments(arguments, before):
    """The arguments a call changed (InOut views)."""
    return tuple(a for a, b in zip(arguments, before) if isinstance(a, np.ndarray) and not np.array_equal(a, b))


def shown(seconds):
    return f"{seconds * 1e3:.1f} ms" if seconds < 10 else f"{seconds:.1f} s"


def location(kernel):
    """The generated source, as short as it can be typed."""
    folder = Path(kernel.cache_directory)
    sources = sorted(folder.glob("source.*"))
    path = str(sources[0] if sources else folder)
    home = str(Path.home())
    return "~" + path[len(home):] if path.startswith(home + "/") else path


class Table:
    def __init__(self):
        self.rows, self.sources, self.failures = [], [], []

    def add(self, kernel, target, data, **cells):
        self.rows.append((kernel, target, data, *(cells.get(name, "") for name in ("error", "time", "numpy", "compile"))))
        if "source" in cells:
            self.sources.append(cells["source"])

    def fail(self, kernel, target, message):
        self.failures.append(f"{kernel} on {target}: {message}")

    def show(self):
        widths = [max(len(row[i]) for row in (COLUMNS, *self.rows)) for i in range(len(COLUMNS))]
        for row in (COLUMNS, *self.rows):
            print("  ".join(cell.rjust(width) if i >= 3 else cell.ljust(width) for i, (cell, width) in enumerate(zip(row, widths))).rstrip())
        if self.sources:
            print("generated source, in the order of the rows:", *self.sources, sep="\n  ")
        for failure in self.failures:
            print(failure)


def on_host(table, name, data, kernel, types, inputs, reference, tolerance):
    fresh = tuple(a.copy() if isinstance(a, np.ndarray) else a for a in inputs)
    compile_seconds, compiled = timed(lambda: intent.compile(kernel, target="host", types=types))
    first_seconds, results = timed(lambda: as_tuple(compiled.run(*fresh)))
    results = written_arguments(fresh, inputs) + results
    error, good = compare(results, as_tuple(reference(*converted(inputs, np.float64))), tolerance)
    call = compiled.prepare(*fresh, outputs=results[-1:])
    seconds = median_time(call.launch)
    plain = converted(inputs, np.float32)
    table.add(name, "host", data, error=f"{error:.1e}", time=shown(seconds), numpy=shown(median_time(lambda: reference(*plain))),
              compile=shown(max(0.0, compile_seconds + first_seconds - seconds)), source=location(compiled))
    if not good:
        table.fail(name, "host", f"results on {data} lie outside the tolerance {tolerance}")


def generated(table, name, data, kernel, types):
    seconds, program = timed(lambda: intent.generate(kernel, GENERATED, types=types))
    table.add(name, GENERATED, data, compile=shown(seconds), source=location(program))


def on_gpu(table, torch, name, data, kernel, types, inputs, reference, tolerance):
    fresh = tuple(torch.from_numpy(a.copy()).cuda() if isinstance(a, np.ndarray) else a for a in inputs)
    compile_seconds, compiled = timed(lambda: intent.compile(kernel, target="triton", types=types))
    first_seconds, outputs = timed(lambda: as_tuple(compiled.run(*fresh)))
    after = tuple(a.cpu().numpy() if isinstance(a, torch.Tensor) else a for a in fresh)
    results = written_arguments(after, inputs) + tuple(output.cpu().numpy() for output in outputs)
    error, good = compare(results, as_tuple(reference(*converted(inputs, np.float64))), tolerance)
    call = compiled.prepare(*fresh, outputs=outputs)

    def launch():
        call.launch()
        torch.cuda.synchronize()

    seconds = median_time(launch)
    table.add(name, "triton", data, error=f"{error:.1e}", time=shown(seconds), compile=shown(compile_seconds + first_seconds), source=location(compiled))
    if not good:
        table.fail(name, "triton", f"results on {data} lie outside the tolerance {tolerance}")


def visible_gpu():
    """torch if it is installed and sees a CUDA device, else None."""
    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("triton") is None:
        return None
    import torch
    return torch if torch.cuda.is_available() else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("example", nargs="*", help="names of examples/; all by default")
    options = parser.parse_args()
    paths = [path for path in sorted((ROOT / "examples").glob("*.py")) if not options.example or path.stem in options.example]
    torch = visible_gpu()
    table = Table()
    for path in paths:
        for data, kernel, dtypes, inputs, reference, tolerance in load(path).main(np.random.default_rng(0)):
            name, types = kernel.__name__, {symbol: I.dtype(NAMES[dtype]) for symbol, dtype in dtypes.items()}
            data = f"{data} {'/'.join(NAMES[dtype] for dtype in dtypes.values())}"
            runs = {"host": lambda: on_host(table, name, data, kernel, types, inputs, reference, tolerance),
                    GENERATED: lambda: generated(table, name, data, kernel, types)}
            if torch:
                runs["triton"] = lambda: on_gpu(table, torch, name, data, kernel, types, inputs, reference, tolerance)
            for target, run in runs.items():
                try:
                    run()
                except intent.IntentError as error:
                    table.add(name, target, data, error="failed")
                    table.fail(name, target, f"{type(error).__name__}: {error}")
    table.show()
    sys.exit(bool(table.failures))


if __name__ == "__main__":
    main()
