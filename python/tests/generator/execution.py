"""Running one program: compiled for the host and in the reference, on the same arguments, compared within its facts."""
from __future__ import annotations

import importlib.util
import os
import re
import tempfile
import traceback
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from .statements import check, source
from .tree import EPS, INTS, Program, is_float

NUMPY = {"bool": np.dtype(bool), "index": np.dtype(np.int64), "f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16), "f32": np.dtype(np.float32),
         "f64": np.dtype(np.float64), **{d: np.dtype(("u" if d[0] == "u" else "") + "int" + d[1:]) for d in INTS if d != "index"}}


@dataclass
class Outcome:
    """`status` is passed, skipped or failed; `category` says of what kind, `detail` is for people."""

    status: str
    category: str = ""
    detail: str = ""

    @property
    def signature(self):
        """Equal for failures that look like one defect: the first line without places, names and numbers."""
        if self.category in ("different values", "timeout"):
            return self.category
        if self.category == "crash":
            return self.detail
        first = self.detail.splitlines()[0] if self.detail else ""
        return f"{self.category}: " + re.sub(r"\b[\w/]+\.(py|json)[:\d]*|\b[a-z]\d+\b|\d+", "", first)


def drawn(view, extents, rng):
    """An array for a view."""
    shape = tuple(e if isinstance(e, int) else extents[e] for e in view.shape)
    bound = int(view.bound)
    if view.dtype == "bool":
        return rng.random(shape) < 0.5
    if not is_float(view.dtype):
        return np.asarray(rng.integers(0 if view.dtype[0] == "u" else -bound, bound, shape, endpoint=True), NUMPY[view.dtype])
    if view.values == "smooth":
        return np.asarray(rng.uniform(-bound, bound, shape), NUMPY[view.dtype])
    values = np.asarray(rng.integers(-bound, bound, shape, endpoint=True), np.float64)
    if view.values == "special":
        values = np.where(rng.random(shape) < 0.12, rng.choice([np.nan, np.inf, -np.inf, -0.0], shape), values)
    return np.asarray(values, NUMPY[view.dtype])


def arguments(program: Program, number):
    """The arguments of run `number`, in declaration order; Outs hold a pattern that no result has."""
    rng = np.random.default_rng([program.data_seed, number])
    found = []
    for view in program.views:
        array = drawn(view, program.sizes[number], rng)
        if view.access == "out":
            array = np.full(array.shape, 77 if view.dtype != "bool" else True, array.dtype)
        found.append(array)
    return found + [s.value for s in program.scalars]


def load(text, folder):
    """The kernel `k` of a module text, as a file of its own that capture can read."""
    handle, path = tempfile.mkstemp(suffix=".py", prefix="program", dir=folder)
    with os.fdopen(handle, "w") as file:
        file.write(text)
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.k


def run(program: Program, folder) -> Outcome:
    import intent

    text = source(program)
    limits = check(program)
    try:
        kernel = load(text, folder)
    except Exception:
        return Outcome("failed", "no Python module", traceback.format_exc())
    wanted = []
    try:
        interpreted = intent.interpret(kernel, seed=program.data_seed)
        for number in range(len(program.sizes)):
            values = arguments(program, number)
            interpreted(*values)
            wanted.append(values)
    except intent.IntentError as error:
        return Outcome("failed", "reference " + type(error).__name__, str(error))
    except Exception:
        return Outcome("failed", "reference exception", traceback.format_exc())
    try:
        compiled = intent.compile(kernel)
        for number in range(len(program.sizes)):
            values = arguments(program, number)
            compiled(*values)
            problem = difference(program, values, wanted[number], limits[number])
            if problem:
                return Outcome("failed", "different values", f"{problem} with {program.sizes[number]}")
    except intent.TargetError as error:
        if error.category == "shared_gpu":
            return Outcome("skipped", error.message, str(error))
        return Outcome("failed", "TargetError " + error.category, str(error))
    except intent.IntentError as error:
        return Outcome("failed", type(error).__name__, str(error))
    except Exception:
        return Outcome("failed", "exception", traceback.format_exc())
    return Outcome("passed")


def difference(program, actual, wanted, limits):
    """What differs beyond the limits, or None."""
    for view, a, w in zip(program.views, actual, wanted):
        if view.access == "in":
            if not np.array_equal(a.view(np.uint8), w.view(np.uint8)) if a.ndim else a.tobytes() != w.tobytes():
                return f"input {view.name} was changed"
            continue
        if not is_float(view.dtype):
            wrong = a != w
        else:
            x, y, known = a.astype(np.float64), w.astype(np.float64), limits[view.name]
            allowed = 2 * known.error + (0 if known.exact else {"f16": 2.0**-24, "bf16": 1e-37}.get(view.dtype, 1e-37) + 2 * EPS[view.dtype] * known.error)
            with np.errstate(all="ignore"):
                wrong = ~((x == y) | (np.isnan(x) & np.isnan(y)) | (np.abs(x - y) <= allowed))
        if wrong.any():
            at = tuple(int(i[0]) for i in np.nonzero(wrong)) if a.ndim else ()
            return f"{view.name}{list(at)} is {a[at]!r}, expected {w[at]!r}" + (f" within {allowed:.3g}" if is_float(view.dtype) else "") + f" ({int(wrong.sum())} of {a.size} differ)"
    return None
