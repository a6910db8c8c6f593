"""Element types as the host sees them: one row per language dtype, and the way back from every array library."""
from __future__ import annotations

import ctypes
import math
import struct
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class DType:
    """One element type. `numpy` is the dtype's name there (`ml_dtypes` gives bf16 and f8), `torch` the attribute of `torch`,
    `dlpack` the (type code, bits) pair; `kind` is one of bool, int, uint, float."""

    name: str
    itemsize: int
    kind: str
    numpy: str
    torch: str
    dlpack: tuple

    def numpy_dtype(self) -> np.dtype:
        """The NumPy dtype; ModuleNotFoundError if it needs `ml_dtypes` and that is not installed."""
        if self.name in ("bf16", "f8e4m3fn", "f8e5m2"):
            import ml_dtypes

            return np.dtype(getattr(ml_dtypes, self.numpy))
        return np.dtype(self.numpy)


# DLPack codes: 0 int, 1 uint, 2 float, 4 bfloat, 6 bool, 10 float8_e4m3fn, 12 float8_e5m2.
_ROWS = [
    DType("bool", 1, "bool", "bool", "bool", (6, 8)),
    DType("i8", 1, "int", "int8", "int8", (0, 8)),
    DType("i16", 2, "int", "int16", "int16", (0, 16)),
    DType("i32", 4, "int", "int32", "int32", (0, 32)),
    DType("i64", 8, "int", "int64", "int64", (0, 64)),
    DType("index", 8, "int", "int64", "int64", (0, 64)),
    DType("u8", 1, "uint", "uint8", "uint8", (1, 8)),
    DType("u16", 2, "uint", "uint16", "uint16", (1, 16)),
    DType("u32", 4, "uint", "uint32", "uint32", (1, 32)),
    DType("u64", 8, "uint", "uint64", "uint64", (1, 64)),
    DType("f16", 2, "float", "float16", "float16", (2, 16)),
    DType("bf16", 2, "float", "bfloat16", "bfloat16", (4, 16)),
    DType("f32", 4, "float", "float32", "float32", (2, 32)),
    DType("f64", 8, "float", "float64", "float64", (2, 64)),
    DType("f8e4m3fn", 1, "float", "float8_e4m3fn", "float8_e4m3fn", (10, 8)),
    DType("f8e5m2", 1, "float", "float8_e5m2", "float8_e5m2", (12, 8)),
]
DTYPES = {row.name: row for row in _ROWS}
# `index` views hold 64-bit integers, so that the array side never says `index`.
BY_NUMPY_NAME = {row.numpy: row.name for row in _ROWS if row.name != "index"}
BY_TORCH_NAME = {"torch." + row.torch: row.name for row in _ROWS if row.name != "index"}
BY_DLPACK = {row.dlpack: row.name for row in _ROWS if row.name != "index"}


def same_storage(expected: str, actual: str) -> bool:
    """Whether an array of dtype `actual` holds elements of the parameter dtype `expected`."""
    return expected == actual or (expected == "index" and actual == "i64")


_CTYPES = {
    "bool": ctypes.c_bool, "i8": ctypes.c_int8, "i16": ctypes.c_int16, "i32": ctypes.c_int32, "i64": ctypes.c_int64,
    "index": ctypes.c_int64, "u8": ctypes.c_uint8, "u16": ctypes.c_uint16, "u32": ctypes.c_uint32, "u64": ctypes.c_uint64,
    "f32": ctypes.c_float, "f64": ctypes.c_double,
}


def scalar_storage(name: str, value):
    """A ctypes object that holds the scalar `value` in the bits of dtype `name`; the caller keeps it alive."""
    make = _CTYPES.get(name)
    if make is not None:
        return make(value)
    if name == "f16":
        try:
            return ctypes.c_uint16.from_buffer_copy(struct.pack("<e", value))
        except OverflowError:  # beyond the largest finite value: an infinity, as a conversion gives
            return ctypes.c_uint16.from_buffer_copy(struct.pack("<e", math.copysign(math.inf, value)))
    if name == "bf16":
        return ctypes.c_uint16(_bf16_bits(value))
    raw = np.asarray(value, DTYPES[name].numpy_dtype()).tobytes()
    return ctypes.c_uint8.from_buffer_copy(raw)


def _bf16_bits(value) -> int:
    """bf16 bits of a Python float, rounded once to nearest even (a detour through f32 could round twice)."""
    if value != value:
        return 0x7FC0
    bits = struct.unpack("<Q", struct.pack("<d", value))[0]
    sign, exponent, mantissa = bits >> 63, (bits >> 52) & 0x7FF, bits & ((1 << 52) - 1)
    if exponent == 0x7FF:
        return (sign << 15) | 0x7F80
    if exponent == 0:
        return sign << 15
    unbiased = exponent - 1023
    significand = mantissa | (1 << 52)
    drop = 45 + max(0, -126 - unbiased)  # bits below the result's last place, subnormal results included
    if drop > 60:
        return sign << 15
    kept, rest, half = significand >> drop, significand & ((1 << drop) - 1), 1 << (drop - 1)
    kept += rest > half or (rest == half and kept & 1)
    if unbiased >= -126:
        kept += (unbiased + 126) << 7  # the leading one adds the last unit of the exponent
    return (sign << 15) | min(kept, 0x7F80)


_INTEGER_RANGES = {
    row.name: ((-(1 << (8 * row.itemsize - 1)), (1 << (8 * row.itemsize - 1)) - 1) if row.kind == "int" else (0, (1 << (8 * row.itemsize)) - 1))
    for row in _ROWS if row.kind in ("int", "uint")
}
_FLOAT_LIMITS = {"f16": 65504.0, "bf16": 3.3895313892515355e38, "f32": 3.4028234663852886e38, "f64": 1.7976931348623157e308, "f8e4m3fn": 448.0, "f8e5m2": 57344.0}


class ScalarMismatch(ValueError):
    """Why a value cannot be a scalar of a dtype: `expected` and `actual` are texts for the one message of that call."""

    def __init__(self, expected, actual):
        super().__init__(expected, actual)
        self.expected = expected
        self.actual = actual


def convert_scalar(name: str, value):
    """`value` as the Python bool, int or float of dtype `name`.

    Takes Python and NumPy scalars and rank-zero arrays. An int may stand for a float, never the reverse, and bool only for bool.
    Integers must be in range; finite floats must not pass the format's largest finite value; f8e4m3fn takes no infinity.
    Raises ScalarMismatch.
    """
    kind = DTYPES[name].kind
    if type(value) is float and kind == "float" and name == "f64":
        return value
    given = value
    if not isinstance(value, (bool, int, float)) or isinstance(value, np.generic):
        value = _unwrap(name, value)
    if isinstance(value, bool):
        if kind != "bool":
            raise ScalarMismatch(f"{name} scalar", f"bool {value}")
        return value
    if isinstance(value, int):
        if kind == "bool":
            raise ScalarMismatch("bool scalar", f"int {value}")
        if kind != "float":
            low, high = _INTEGER_RANGES[name]
            if not low <= value <= high:
                raise ScalarMismatch(f"{name} in {low}..{high}", _shorten(value))
            return value
        try:
            value = float(value)
        except OverflowError:
            raise ScalarMismatch(f"finite {name} scalar", _shorten(value)) from None
    elif isinstance(value, float):
        if kind != "float":
            raise ScalarMismatch(f"{name} scalar", f"float {value!r}")
    else:
        raise ScalarMismatch(f"{name} scalar", type(given).__name__)
    if math.isinf(value):
        if name == "f8e4m3fn":
            raise ScalarMismatch("f8e4m3fn scalar (it has no infinity)", repr(value))
    elif abs(value) > _FLOAT_LIMITS[name]:
        raise ScalarMismatch(f"{name} of magnitude at most {_FLOAT_LIMITS[name]!r}", repr(value))
    return value


def _shorten(value: int) -> str:
    return str(value) if value.bit_length() <= 128 else f"an int of {value.bit_length()} bits"


def _unwrap(name, value):
    """The Python number in a NumPy scalar, a rank-zero array or tensor; anything else is a mismatch."""
    if isinstance(value, (np.generic, np.ndarray)):
        if value.ndim != 0:
            raise ScalarMismatch(f"{name} scalar", f"array of shape {value.shape}")
        if isinstance(value, np.ma.MaskedArray):
            raise ScalarMismatch(f"{name} scalar", "a masked value" if value.mask else "a masked array")
        inner = BY_NUMPY_NAME.get(value.dtype.name)
        if inner is None:
            raise ScalarMismatch(f"{name} scalar", f"{value.dtype} value")
        kind = DTYPES[inner].kind
        return bool(value) if kind == "bool" else float(value) if kind == "float" else int(value)
    # Asked of the type, since an instance may answer any name or none.
    if hasattr(type(value), "item") and hasattr(type(value), "shape"):
        try:
            shape = tuple(value.shape)
            inner = value.item() if shape == () else None
        except Exception:  # the object's own refusal, of any type
            raise ScalarMismatch(f"{name} scalar", type(value).__name__) from None
        if shape != ():
            raise ScalarMismatch(f"{name} scalar", f"array of shape {shape}")
        if isinstance(inner, (bool, int, float)):
            return inner
    index = getattr(type(value), "__index__", None)
    if index is not None:
        try:
            return int(index(value))
        except Exception:
            raise ScalarMismatch(f"{name} scalar", type(value).__name__) from None
    raise ScalarMismatch(f"{name} scalar", type(value).__name__)
