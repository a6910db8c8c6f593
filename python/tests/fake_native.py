"""A stand-in for both libraries, for tests of the Python side alone: it answers requests with a fixed interface, and its launches copy
`2 * x + a` into `y` through the very bytes that the real library would get."""
import ctypes
import json
import struct

import numpy as np

from intent.runtime.dtypes import DTYPES


def view(name, dtype, shape, access="in", **more):
    return {"kind": "view", "name": name, "dtype": dtype, "shape": [f'"{s}"' if isinstance(s, str) else s for s in shape], "access": access,
            "noalias": False, "alias": None, "strides": None, **more}


def scalar(name, dtype, default=None):
    return {"kind": "scalar", "name": name, "dtype": dtype, "default": default}


def metadata(*params, checks=(), overlaps=()):
    return {"schema": 1, "params": list(params), "checks": [{"condition": c, "message": m} for c, m in checks],
            "overlaps": [{"lhs": a, "rhs": b, "permission": p} for a, b, p in overlaps], "candidates": []}


class FakeCompiler:
    """Answers like libintent.so. `answer` may be replaced by a function of the decoded request giving (status, fields)."""

    identity = "fake 1"
    build_info = "fake"

    def __init__(self, interface):
        self.interface = interface
        self.requests = []
        self.answer = None

    def compile(self, data):
        request = json.loads(data)
        self.requests.append(request)
        if self.answer:
            return self.answer(request)
        interface = self.interface
        return 0, {"kir": "// kir\n", "mlir": "// block\n", "source": "// source\n", "metadata": json.dumps(interface), "diagnostics": "[]"}


class FakeHost:
    """Answers like libintent-host.so for a kernel (x: rank-n f32, y: like x, a: f32 scalar): y = 2 * x + a."""

    def __init__(self, ranks):
        self.ranks = ranks  # rank per argument, None for an f32 scalar
        self.launches = []
        self.fail = None

    def intent_host_load(self, mlir, size, row, error, error_size):
        if self.fail == "load":
            error.value = b"no such row"
            return None
        return 7

    def intent_host_build_info(self):
        return b"fake host"

    def intent_host_prepare(self, handle, block, count, error, error_size):
        return 0

    def intent_host_keep_objects(self, handle, folder):
        """It compiles nothing, so there is nothing to keep."""

    def intent_host_destroy(self, handle):
        pass

    def intent_host_launch(self, handle, block, count, error, error_size):
        if self.fail == "launch":
            error.value = b"no variant admits this call"
            return 1
        if isinstance(self.fail, tuple):  # status and report
            error.value = self.fail[1]
            return self.fail[0]
        assert count == len(self.ranks)
        words = struct.unpack(f"{3 * count}P", block)
        arrays = []
        for i, rank in enumerate(self.ranks):
            data, extents, strides = words[3 * i:3 * i + 3]
            if rank is None:
                arrays.append(ctypes.c_float.from_address(data).value)
                continue
            shape = tuple((ctypes.c_int64 * rank).from_address(extents)) if rank else ()
            steps = tuple((ctypes.c_int64 * rank).from_address(strides)) if rank else ()
            self.launches.append((shape, steps))
            arrays.append(_array(data, shape, steps))
        x, y, a = arrays
        y[...] = 2 * x + a
        return 0


class _Memory:
    def __init__(self, data, shape, strides):
        self.__array_interface__ = {"version": 3, "data": (data, False), "shape": shape, "strides": tuple(4 * s for s in strides), "typestr": "<f4"}


def _array(data, shape, strides):
    if 0 in shape:
        return np.empty(shape, np.float32)
    return np.asarray(_Memory(data, shape, strides))


assert DTYPES["f32"].itemsize == 4
