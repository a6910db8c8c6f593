"""Element formats: what each dtype stores, rounding to nearest even, conversions, and bits."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intent.errors import LanguageError
from intent.language import types as language_types

from .context import note_rounding


@dataclass(frozen=True)
class Format:
    """One element format. `storage` holds its values in NumPy: bf16 and f8 values live in float32, which holds them exactly.

    `precision` counts significand bits with the leading one, `lowest` is the exponent of the smallest normal number, `largest`
    the largest finite value; they are None where the kind is not float.
    """

    name: str
    kind: str  # bool, int, uint or float
    bits: int
    storage: np.dtype
    precision: int | None = None
    lowest: int | None = None
    largest: float | None = None

    @property
    def token(self):
        return language_types.dtype(self.name)

    @property
    def is_float(self):
        return self.kind == "float"

    @property
    def is_integer(self):
        return self.kind in ("int", "uint")

    @property
    def is_small_float(self):
        return self.kind == "float" and self.bits == 8

    @property
    def limits(self):
        """(smallest, largest) of an integer format."""
        if self.kind == "uint":
            return 0, (1 << self.bits) - 1
        return -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1

    def __repr__(self):
        return self.name


def _format(name, kind, bits, storage, *float_facts):
    return Format(name, kind, bits, np.dtype(storage), *float_facts)


FORMATS = {row.name: row for row in (
    _format("bool", "bool", 8, np.bool_),
    _format("index", "int", 64, np.int64),
    *(_format(f"i{bits}", "int", bits, f"int{bits}") for bits in (8, 16, 32, 64)),
    *(_format(f"u{bits}", "uint", bits, f"uint{bits}") for bits in (8, 16, 32, 64)),
    _format("f16", "float", 16, np.float16, 11, -14, 65504.0),
    _format("bf16", "float", 16, np.float32, 8, -126, 3.3895313892515355e38),
    _format("f32", "float", 32, np.float32, 24, -126, 3.4028234663852886e38),
    _format("f64", "float", 64, np.float64, 53, -1022, 1.7976931348623157e308),
    _format("f8e4m3fn", "float", 8, np.float32, 4, -6, 448.0),
    _format("f8e5m2", "float", 8, np.float32, 3, -14, 57344.0),
)}
BOOL, INDEX, I32, I64, U8, U32, U64 = (FORMATS[n] for n in ("bool", "index", "i32", "i64", "u8", "u32", "u64"))
F16, F32, F64 = (FORMATS[n] for n in ("f16", "f32", "f64"))


# -- rounding -----------------------------------------------------------------------------------------------

def rounded(values, format):
    """float64 (or wider) values rounded once to nearest even in a float format, as an array of its storage.

    Beyond the largest finite value: infinity, and NaN in f8e4m3fn, which has none.
    """
    values = np.asarray(values)
    result = _nearest(values, format)
    note_rounding(format, values, result)
    return result


def _nearest(values, format):
    if format.name in ("f16", "f32", "f64"):
        return values.astype(format.storage)
    wide = values.astype(np.float64)
    _, exponent = np.frexp(wide)
    quantum = np.maximum(exponent - 1, format.lowest) - (format.precision - 1)
    with np.errstate(all="ignore"):
        near = np.ldexp(np.rint(np.ldexp(wide, -quantum)), quantum)
        near = np.where(np.isfinite(wide), near, wide)
        beyond = np.abs(near) > format.largest
        limit = np.nan if format.name == "f8e4m3fn" else np.inf
        near = np.where(beyond, np.copysign(limit, near), near)
    return near.astype(np.float32)


def odd_double(values):
    """int64 or uint64 values as float64 rounded to odd, so that one more rounding to a narrower format is correct."""
    large = np.abs(values.astype(np.float64)) >= 2.0**53
    kept = (values >> np.asarray(11, values.dtype)) | ((values & np.asarray(2047, values.dtype)) != 0)
    return np.where(large, kept.astype(np.float64) * 2048.0, values.astype(np.float64))


def converted(data, source, target):
    """`I.cast` on arrays of storage (numerics.md section 1)."""
    if source is target:
        return data
    if target.kind == "bool":
        return np.asarray(data != 0)
    if target.is_integer:
        if source.is_float:
            return _truncated(data, target)
        return data.astype(target.storage)
    if source.is_float:
        return rounded(data, target)
    if target.name in ("f32", "f64"):
        result = data.astype(target.storage)
        note_rounding(target, data, result)
        return result
    return rounded(odd_double(data.astype(np.uint64 if source.kind == "uint" else np.int64)), target)


def _truncated(data, target):
    """Float to integer; NaN gives 0 and values out of range the nearest limit, so that a lane nobody uses does no harm."""
    low, high = target.limits
    whole = np.trunc(data.astype(np.float64))
    above, below, lost = whole >= float(high), whole <= float(low), np.isnan(whole)
    inside = np.where(above | below | lost, 0.0, whole)
    result = inside.astype(np.uint64 if target.kind == "uint" and target.bits == 64 else np.int64).astype(target.storage)
    result = np.where(above, np.asarray(high, target.storage), result)
    return np.where(below & ~lost, np.asarray(low, target.storage), result).astype(target.storage)


# -- bits ---------------------------------------------------------------------------------------------------

def _small_float_values(format):
    """The 256 values of an 8-bit float, by code."""
    mantissa = format.precision - 1
    bias = 1 - format.lowest
    values = np.empty(256, np.float32)
    for code in range(256):
        exponent, fraction = (code & 0x7F) >> mantissa, code & ((1 << mantissa) - 1)
        if format.name == "f8e4m3fn" and code & 0x7F == 0x7F:
            value = np.nan
        elif format.name == "f8e5m2" and exponent == 31:
            value = np.nan if fraction else np.inf
        elif exponent == 0:
            value = fraction * 2.0 ** (format.lowest - mantissa)
        else:
            value = (1 + fraction / 2**mantissa) * 2.0 ** (exponent - bias)
        values[code] = -value if code & 0x80 else value
    return values


_SMALL = {name: _small_float_values(FORMATS[name]) for name in ("f8e4m3fn", "f8e5m2")}


def raw_dtype(format):
    """The NumPy dtype whose elements are the format's bits in memory."""
    if format.name in ("bf16", "f8e4m3fn", "f8e5m2"):
        return np.dtype(f"uint{format.bits}")
    return format.storage


def decoded(raw, format):
    """Values from memory elements of `raw_dtype`."""
    if format.name == "bf16":
        return (np.asarray(raw).astype(np.uint32) << np.uint32(16)).view(np.float32)
    if format.is_small_float:
        return _SMALL[format.name][raw]
    return np.asarray(raw)


def encoded(data, format):
    """Memory elements of `raw_dtype` from values."""
    data = np.asarray(data)
    if format.name == "bf16":
        bits = (np.ascontiguousarray(data).reshape(data.shape).view(np.uint32) >> np.uint32(16)).astype(np.uint16)
        return np.where(np.isnan(data), np.uint16(0x7FC0), bits)
    if format.is_small_float:
        table = _SMALL[format.name]
        positive = table[:0x7F if format.name == "f8e4m3fn" else 0x7D]
        code = np.searchsorted(positive, np.abs(np.where(np.isnan(data), 0, data))).astype(np.uint8)
        code = np.where(np.isnan(data), np.uint8(0x7F if format.name == "f8e4m3fn" else 0x7E), code)
        return code | np.where(np.signbit(data) & ~np.isnan(data), np.uint8(0x80), np.uint8(0))
    return data


def bits_as(data, source, target):
    """`I.bitcast` on arrays of storage."""
    raw = np.ascontiguousarray(encoded(data, source)).reshape(np.shape(data))
    return decoded(raw.view(raw_dtype(target)), target)


# -- literals -----------------------------------------------------------------------------------------------

def is_literal(value):
    return isinstance(value, (bool, int, float)) and not isinstance(value, np.generic)


def default_format(literal):
    """What a literal is where nothing gives it a dtype."""
    if isinstance(literal, bool):
        return BOOL
    return I64 if isinstance(literal, int) else F64


def literal_array(value, format):
    """A rank-zero array of storage that holds a literal. LanguageError where the format cannot."""
    def refuse():
        raise LanguageError(f"literal {value!r} cannot be held by {format}; convert a value with I.cast")

    if format.is_float:
        number = float(value) if abs(value) < 1 << 1023 or isinstance(value, float) else refuse()
        with np.errstate(all="ignore"):
            held = rounded(np.float64(number), format)
        if np.isfinite(number) and not np.isfinite(held) or np.isinf(number) and format.name == "f8e4m3fn":
            refuse()
        return np.asarray(held)
    if isinstance(value, float):
        refuse()
    if format.kind == "bool":
        return np.asarray(bool(value)) if value in (0, 1) else refuse()
    low, high = format.limits
    return np.asarray(int(value), format.storage) if low <= value <= high else refuse()
