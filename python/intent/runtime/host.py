"""Running block programs on this machine's CPU through the host execution library."""
from __future__ import annotations

import ctypes
import struct
import threading
import weakref

from .. import native
from ..errors import CallError, ProviderError
from .binding import Bound
from .dtypes import scalar_storage
from .interface import Interface, View

_ERROR_SIZE = 4096
_thread = threading.local()


def _error_buffer():
    buffer = getattr(_thread, "error", None)
    if buffer is None:
        buffer = _thread.error = ctypes.create_string_buffer(_ERROR_SIZE)
    return buffer


class HostProgram:
    """A bound block program, loaded once a configuration row. Launches return when the work is done; they may run from several threads."""

    def __init__(self, mlir: str, interface: Interface):
        self._mlir = mlir.encode()
        self._parameters = interface.parameters
        self._count = len(interface.parameters)
        self._pack = struct.Struct(f"{3 * self._count}P").pack
        self._library = native.host_library()
        self._launch = self._library.intent_host_launch
        self._rows: dict = {}
        self._lock = threading.Lock()

    def launch(self, bound: Bound, row: int | None = None) -> None:
        """Runs one call. ProviderError with the library's reason, CallError where there is no memory for its workspaces; then no argument was touched."""
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
                self._rows[row] = handle
            return handle


def _tables(layout):
    """For each view: addresses of its extents and strides, and the memory that holds them."""
    tables = []
    for extents, strides in zip(layout.extents, layout.strides):
        memory = (ctypes.c_int64 * max(1, 2 * len(extents)))(*extents, *strides)
        address = ctypes.addressof(memory)
        tables.append((address, address + 8 * len(extents), memory))
    return tables


def _failure(step, error, status=1) -> CallError | ProviderError:
    reason = error.value.decode(errors="replace") or "no reason given"
    if status == 2:
        return CallError(reason)
    return ProviderError(f"the host {step} failed: {reason}")
