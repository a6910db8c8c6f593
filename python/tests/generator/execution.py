"""Running one program: compiled for the host and in the reference, on the same arguments, compared within its facts."""
from __future__ import annotations

import ast
import importlib.util
import os
import random
import re
import tempfile
import traceback
from dataclasses import dataclass

import numpy as np

from .layouts import arguments
from .statements import check, source
from .tree import EPS, TINIEST, Program, is_float


@dataclass
class Outcome:
    """`status` is passed, skipped or failed; `category` says of what kind, `detail` is for people."""

    status: str
    category: str = ""
    detail: str = ""

    @property
    def signature(self):
        """Equal for failures that look like one defect: the first line without places, names and numbers."""
        if self.category == "timeout" or self.category.startswith("different values"):
            return self.category.partition(" cover ")[0]
        if self.category == "crash":
            return self.detail
        first = self.detail.splitlines()[0] if self.detail else ""
        return f"{self.category}: " + re.sub(r"\b[\w/]+\.(py|json)[:\d]*|\b[a-z]\d+\b|\d+", "", first)


def load(text, folder):
    """The module of a text, as a file of its own that capture can read; `k` is the kernel."""
    handle, path = tempfile.mkstemp(suffix=".py", prefix="program", dir=folder)
    with os.fdopen(handle, "w") as file:
        file.write(text)
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def bindings(program, module):
    """What compilation takes beside the kernel: values of constants, dtypes of type variables."""
    import intent.language as I

    values = {c.name: module.Mode[c.value.partition(".")[2]] if isinstance(c.value, str) and "." in c.value else c.value for c in program.constants}
    return {"constexprs": values, "types": {v.generic: getattr(I, v.dtype) for v in program.views if v.generic}}


class _Found(Exception):
    """What a program came to, other than passing."""

    def __init__(self, *outcome):
        super().__init__(*outcome)
        self.outcome = Outcome(*outcome)


def run(program: Program, folder) -> Outcome:
    limits = check(program)
    try:
        module = load(source(program), folder)
    except Exception:
        return Outcome("failed", "no Python module", traceback.format_exc())
    try:
        Runs(program, module, limits).all()
    except _Found as found:
        return found.outcome
    return Outcome("passed")


class Runs:
    """One program in the reference and on the host: with each set of extents, with shared memory, with another cover, in the forms of a
    GPU, and its Triton text."""

    # Categories of TargetError that are no failure: on the host, where nothing else runs then, and of what has limits of its own.
    unbuilt = ("shared_gpu",)
    limits_of = {"gpu forms": ("shared_gpu",), "triton": ("shared_gpu", "provider_surface", "hardware_capability", "lower_compilation_cost")}

    def __init__(self, program, module, limits):
        self.program, self.kernel, self.limits, self.bound = program, module.k, limits, bindings(program, module)
        self.random = random.Random(program.data_seed)
        self.wanted = []

    def all(self):
        import intent

        self._guard("reference", self.interpret)
        compiled = self._guard("host", lambda: intent.compile(self.kernel, **self.bound))
        self._guard("host", lambda: self.compare(compiled, "", range(len(self.program.sizes))))
        if self.program.alias:
            self.shared(compiled)
        self.elsewhere()
        self._guard("triton", self.triton)

    def elsewhere(self):
        """In other forms, where the program's seed says so."""
        if self.random.random() < COVERED:
            self.covered()
        if self.random.random() < SHARED:
            self._guard("gpu forms", lambda: self.admitted(GPU_FORMS, " in the forms of a GPU", [*range(len(self.program.sizes))] * 2))

    def _guard(self, stage, step):
        """The value of a step; errors become outcomes. What is not built yet is skipped, what a target's limits exclude only noted."""
        import intent

        prefix = "" if stage == "host" else stage + " "
        try:
            return step()
        except _Found:
            raise
        except intent.TargetError as error:
            if error.category in self.limits_of.get(stage, ()):
                return None
            if error.category in self.unbuilt:
                raise _Found("skipped", error.message, str(error)) from None
            raise _Found("failed", prefix + "TargetError " + error.category, str(error)) from None
        except intent.IntentError as error:
            raise _Found("failed", prefix + type(error).__name__, str(error)) from None
        except Exception:
            raise _Found("failed", prefix + "exception", traceback.format_exc()) from None

    def interpret(self):
        import intent

        self.reference = intent.interpret(self.kernel, seed=self.program.data_seed, **self.bound)
        for number in range(len(self.program.sizes)):
            values = arguments(self.program, number)
            self.reference(*values)
            self.wanted.append(values)

    def compare(self, compiled, how, numbers):
        for number in numbers:
            values = arguments(self.program, number)
            compiled(*values)
            problem = difference(self.program, values, self.wanted[number], self.limits[number % len(self.limits)], number >= len(self.limits))
            if problem:
                raise _Found("failed", "different values" + how, f"{problem} with {self.program.sizes[number % len(self.limits)]}")

    def shared(self, compiled):
        """Two views in the same memory: as in the program's own order, or refused by the call. Programs that this makes wrong are the author's."""
        import intent

        number = len(self.program.sizes)
        values = arguments(self.program, number)
        refused = None
        try:
            self.reference(*values)
        except intent.LanguageError:
            return
        except intent.CallError as error:
            refused = str(error)
        except intent.IntentError as error:
            raise _Found("failed", "reference " + type(error).__name__, str(error)) from None
        self.wanted.append(values)

        def call():
            try:
                self.compare(compiled, " in shared memory", [number])
            except intent.CallError:
                return
            if refused:
                raise _Found("failed", "a call that the reference refuses", refused)
        self._guard("host", call)

    def covered(self):
        """Under one of the other covers that are legal."""
        import intent

        text = self._guard("host", lambda: intent.compile_shared_gpu(self.kernel, "host", **self.bound).mlir)
        symbols = sorted(set(re.findall(r'#block.cover<"(\w+)"', text)))
        choices = [f"{symbol}={levels}" for symbol in symbols for levels in LEVELS]
        for cover in self.random.sample(choices, min(3, len(choices))):
            try:
                compiled = intent.compile(self.kernel, **self.bound, options=intent.CompileOptions(cover=cover))
            except intent.ConfigurationError as error:
                if "cover" not in str(error) and "no legal candidate" not in str(error):
                    raise _Found("failed", "ConfigurationError", f"{error} ({cover})") from None
                continue
            except intent.TargetError:
                continue
            except intent.IntentError as error:
                raise _Found("failed", "cover " + type(error).__name__, f"{error} ({cover})") from None
            self._guard("host", lambda: self.compare(compiled, f" with another cover {cover}", range(len(self.program.sizes))))
            break

    def admitted(self, target, how, numbers):
        """For another target of this machine; a call that no variant admits has no result. The forms of a GPU run twice, without clearing
        what a launch leaves behind."""
        import intent

        compiled = intent.compile(self.kernel, target, **self.bound)
        for number in numbers:
            try:
                self.compare(compiled, how, [number])
            except intent.CallError as error:
                if "no variant of the program admits" not in str(error):
                    raise

    def triton(self):
        """Text only. A target may lack an operation, and its table may have no row for a program."""
        import intent

        try:
            ast.parse(intent.generate(self.kernel, "triton:sm_90", **self.bound).source)
        except intent.ConfigurationError as error:
            if "no legal candidate" not in str(error):
                raise


# How many programs run under another cover, too, and the covers.
COVERED = 0.12
# How many in the forms of a GPU: short rows share an instance, instances share long reductions.
SHARED = 0.2
GPU_FORMS = "host{serial_elements=1, warp_size=32}"
LEVELS = ("program", "program,lanes", "loop,lanes", "point", "lanes")


def difference(program, actual, wanted, limits, shared=False):
    """What differs beyond the limits, or None. An input in shared memory changes as in the program's own order."""
    for view, a, w in zip(program.views, actual, wanted):
        if view.access == "in" and not (shared and view.name in program.alias):
            if a.tobytes() != w.tobytes():
                return f"input {view.name} was changed"
            continue
        if not is_float(view.dtype):
            wrong = a != w
        else:
            x, y, known = a.astype(np.float64), w.astype(np.float64), limits[view.name]
            allowed = 2 * known.error + (0 if known.exact else TINIEST.get(view.dtype, 1e-37) + 2 * EPS[view.dtype] * known.error)
            with np.errstate(all="ignore"):
                wrong = ~((x == y) | (np.isnan(x) & np.isnan(y)) | (np.abs(x - y) <= allowed))
        if wrong.any():
            at = tuple(int(i[0]) for i in np.nonzero(wrong)) if a.ndim else ()
            return f"{view.name}{list(at)} is {a[at]!r}, expected {w[at]!r}" + (f" within {allowed:.3g}" if is_float(view.dtype) else "") + f" ({int(wrong.sum())} of {a.size} differ)"
    return None
