"""Running block programs on this machine's CPU through the host execution library."""
from __future__ import annotations

import concurrent.futures
import ctypes
import functools
import os
import platform
import re
import struct
import threading
import weakref

from .. import eviction, native
from ..errors import CallError, IntentError, InternalError, LanguageError, Note, ProviderError
from .binding import Bound
from .dtypes import scalar_storage
from .interface import Interface, View

_ERROR_SIZE = 4096
_OBJECTS_SIZE = 1 << 20  # what a folder of objects holds at most
_thread = threading.local()


def _error_buffer():
    buffer = getattr(_thread, "error", None)
    if buffer is None:
        buffer = _thread.error = ctypes.create_string_buffer(_ERROR_SIZE)
    return buffer


class HostProgram:
    """A bound block program, loaded once a configuration row. Launches return when the work is done; they may run from several threads.

    It is a runtime in the sense of `tuning.tuner`: without being asked, it takes the first legal row.
    """

    tunes_unasked = False
    facts = None  # a layout decides everything

    def __init__(self, mlir: str, interface: Interface, directory: str | None = None):
        """`directory`: the artifact's entry, which keeps compiled objects in its folder `native`; None to keep none."""
        self._mlir = mlir.encode()
        self._objects = directory and os.path.join(directory, "native")
        self._parameters = interface.parameters
        self._count = len(interface.parameters)
        self._pack = struct.Struct(f"{3 * self._count}P").pack
        self._library = native.host_library()
        self._launch = self._library.intent_host_launch
        self._rows: dict = {}
        self._lock = threading.Lock()
        self.compilations = 0

    def launch(self, bound: Bound, row: int | None = None) -> None:
        """Runs one call. ProviderError with the library's reason, CallError where there is no memory for its workspaces; then no argument was
        touched. LanguageError where a checked program has done what it must not, InternalError where it lacks a fence."""
        block, keep = self._argument_block(bound)
        handle = self._rows.get(row or 0) or self._load(row or 0)
        error = _error_buffer()
        if status := self._launch(handle, block, self._count, error, _ERROR_SIZE):
            raise _failure("launch", error, status)
        del keep

    def prepare(self, bound: Bound, row: int | None = None):
        """A function without arguments that runs this call again and again; it keeps the arguments alive."""
        block, keep = self._argument_block(bound)
        handle = self._rows.get(row or 0) or self._load(row or 0)
        launch, count = self._launch, self._count

        def run():
            error = _error_buffer()
            if status := launch(handle, block, count, error, _ERROR_SIZE):
                raise _failure("launch", error, status)

        run.keep = (bound, keep, self)
        return run

    # -- what the tuner asks ---------------------------------------------------------------------------------------

    def eligible(self, bound: Bound, selection) -> tuple:
        return list(selection.candidates), []

    def specialisation(self, bound: Bound, selection, candidates) -> dict:
        # As the library tells versions of code apart: strides of -1, 0 and 1 are known, an axis of one element has any.
        views = [p for p in self._parameters if isinstance(p, View)]
        strides = {view.name: [1 if extent <= 1 else stride if -1 <= stride <= 1 else "any" for extent, stride in zip(extents, strides)]
                   for view, extents, strides in zip(views, bound.layout.extents, bound.layout.strides)}
        return {"variant": selection.variant, "coverage": selection.coverage, "dtypes": {p.name: p.dtype for p in self._parameters}, "strides": strides,
                "rows": [candidate.index for candidate in candidates]}

    def compile(self, bound: Bound, candidates, limit) -> dict:
        """The code of every candidate, side by side. `limit` concerns external compilers; this one is part of the process."""
        if len(candidates) == 1:
            error = self._generate(bound, candidates[0].index)
            return {} if error is None else {candidates[0].index: error}
        with concurrent.futures.ThreadPoolExecutor(min(len(candidates), len(os.sched_getaffinity(0)))) as pool:
            errors = list(pool.map(lambda candidate: self._generate(bound, candidate.index), candidates))
        return {candidate.index: error for candidate, error in zip(candidates, errors) if error is not None}

    def _generate(self, bound, row):
        """Makes the code of a call; the ProviderError if that fails, else None."""
        try:
            handle = self._rows.get(row) or self._load(row)
        except ProviderError as failure:
            return failure
        block, keep = self._argument_block(bound)
        error = ctypes.create_string_buffer(_ERROR_SIZE)
        made = self._library.intent_host_prepare(handle, block, self._count, error, _ERROR_SIZE)
        del keep
        if made < 0:
            return _failure("compilation", error)
        with self._lock:
            self.compilations += made
        return None

    def resources(self, bound: Bound, row: int) -> dict:
        return {}

    def measurable(self) -> bool:
        return True

    def memory(self, plan, bound: Bound):
        from ..tuning.trials import HostMemory

        return HostMemory()

    def measure(self, trial, candidates, each) -> dict:
        from ..tuning.timing import HostClock

        clock, times = HostClock(), {}
        for candidate in candidates:
            run = self.prepare(trial.bound, candidate.index)
            times[candidate.index] = each(candidate, lambda best, run=run: clock.measure(run, trial.restore, best))
        return times

    def device(self, bound: Bound | None) -> str:
        return _processor()

    def version(self) -> str:
        return "host " + self._library.intent_host_build_info().decode()

    def emit(self, form: str, bound: Bound) -> str | None:
        """LLVM IR ("llvm") or assembly ("asm") of the code that this call runs, or None if the library cannot say."""
        block, keep = self._argument_block(bound)
        handle = self._rows.get(0) or self._load(0)
        text = self._library.intent_host_emit(handle, form.encode(), block, self._count)
        del keep
        return None if text is None else text.decode()

    def _argument_block(self, bound):
        """The bytes of `intent_host_argument[count]` for a call, and what must outlive their use."""
        tables = bound.layout.provider_data
        if tables is None:
            tables = bound.layout.provider_data = _tables(bound.layout)
        words, keep, view = [], [tables], 0
        for parameter, value in zip(self._parameters, bound.values):
            if isinstance(parameter, View):
                words.append(bound.pointers[view])
                words += tables[view][:2]
                view += 1
            else:
                storage = scalar_storage(parameter.dtype, value)
                keep.append(storage)
                words += (ctypes.addressof(storage), 0, 0)
        return self._pack(*words), keep

    def _load(self, row):
        with self._lock:
            handle = self._rows.get(row)
            if handle is None:
                error = ctypes.create_string_buffer(_ERROR_SIZE)
                handle = self._library.intent_host_load(self._mlir, len(self._mlir), row, error, _ERROR_SIZE)
                if not handle:
                    raise _failure("load", error)
                weakref.finalize(self, self._library.intent_host_destroy, handle)
                if self._objects:
                    if not os.path.isdir(self._objects):
                        eviction.grow(os.path.dirname(self._objects), _OBJECTS_SIZE)
                    self._library.intent_host_keep_objects(handle, os.fsencode(self._objects))
                self._rows[row] = handle
            return handle


@functools.lru_cache(maxsize=None)
def _processor() -> str:
    """The processor's model and how many cores this process may use."""
    model = platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
    except OSError:
        pass
    return f"{model}, {len(os.sched_getaffinity(0))} cores"


def _tables(layout):
    """For each view: addresses of its extents and strides, and the memory that holds them."""
    tables = []
    for extents, strides in zip(layout.extents, layout.strides):
        memory = (ctypes.c_int64 * max(1, 2 * len(extents)))(*extents, *strides)
        address = ctypes.addressof(memory)
        tables.append((address, address + 8 * len(extents), memory))
    return tables


def _failure(step, error, status=1) -> IntentError:
    reason = error.value.decode(errors="replace") or "no reason given"
    if status == 2:
        return CallError(reason)
    if status in (3, 4):
        return _finding(reason, LanguageError if status == 3 else InternalError)
    return ProviderError(f"the host {step} failed: {reason}")


def _finding(report, kind) -> IntentError:
    """The report of a checked launch: `FILE:LINE:COLUMN: what` a line, the first one is the error."""
    (message, place), *others = [_placed(line) for line in report.split("\n")]
    return kind(message, **place, notes=[Note(note, **where) for note, where in others])


def _placed(line):
    file, row, column, message = re.fullmatch(r"(.*?):(\d+):(\d+): (.*)", line).groups()
    row, column = int(row), int(column)
    if not row:  # the program has no places
        return message, {}
    return message, {"filename": file, "line": row, "column": column}
