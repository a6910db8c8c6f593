"""NumPy references for the host backend's tests: dtypes as block programs name them, exact rounding to narrow formats."""

import numpy as np

NUMPY = {"i1": np.bool_, "index": np.int64, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "ui8": np.uint8, "ui16": np.uint16,
         "ui32": np.uint32, "ui64": np.uint64, "f16": np.float16, "bf16": np.uint16, "f32": np.float32, "f64": np.float64, "f8E4M3FN": np.uint8,
         "f8E5M2": np.uint8}
FLOATS = ["f8E4M3FN", "f8E5M2", "f16", "bf16", "f32", "f64"]
INTEGERS = ["i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64", "index"]
SHAPE = {"f8E4M3FN": (4, 3), "f8E5M2": (5, 2), "f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}


def decode(dtype, array):
    """Values as float64, or the array itself for other dtypes."""
    if dtype == "bf16":
        return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if dtype == "f8E5M2":
        return (array.astype(np.uint16) << 8).view(np.float16).astype(np.float64)
    if dtype == "f8E4M3FN":
        a = array.astype(np.int64)
        e, m, sign = (a >> 3) & 15, a & 7, np.where(a & 128, -1.0, 1.0)
        value = np.where(e == 0, m * 2.0**-9, (1 + m / 8) * 2.0 ** (e - 7.0))
        return sign * np.where((a & 127) == 127, np.nan, value)
    return array.astype(np.float64) if dtype in ("f16", "f32", "f64") else array


def least_exponent(dtype):
    return 2 - 2 ** (SHAPE[dtype][0] - 1)


def ulp(dtype, value):
    """Distance between neighbours of the format around |value|."""
    _, e = np.frexp(np.where(np.isfinite(value) & (value != 0), np.abs(value), 1e-300))
    return 2.0 ** (np.maximum(e - 1, least_exponent(dtype)) - SHAPE[dtype][1])


def largest(dtype):
    exponent, mantissa = SHAPE[dtype]
    if dtype == "f8E4M3FN":
        return 448.0
    return (2 - 2.0**-mantissa) * 2.0 ** (2 ** (exponent - 1) - 1)


def round_to(dtype, value):
    """float64 values rounded to the format, nearest even; overflow to infinity (NaN for f8E4M3FN)."""
    value = np.asarray(value, np.float64)
    if dtype == "f64":
        return value
    with np.errstate(all="ignore"):
        if dtype == "f32":
            return value.astype(np.float32).astype(np.float64)
        unit = ulp(dtype, value)
        rounded = np.where(np.isfinite(value) & (value != 0), np.round(value / unit) * unit, value)
        rounded = np.copysign(rounded, value)
        over = np.abs(rounded) > largest(dtype)
        beyond = np.nan if dtype == "f8E4M3FN" else np.inf
        return np.where(over & ~np.isnan(rounded), np.copysign(beyond, value), rounded)


def encode(dtype, value):
    """float64 (or integer) values as the array that a kernel takes; floats are rounded."""
    if dtype not in FLOATS:
        return np.asarray(value).astype(NUMPY[dtype])
    value = round_to(dtype, value)
    with np.errstate(all="ignore"):
        if dtype == "bf16":
            return (value.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        if dtype == "f8E5M2":
            return (value.astype(np.float16).view(np.uint16) >> 8).astype(np.uint8)
        if dtype == "f8E4M3FN":
            table = decode(dtype, np.arange(127, dtype=np.uint8))
            magnitude = np.searchsorted(table, np.abs(value)).clip(0, 126)
            return np.where(np.isnan(value), 127, magnitude + np.where(np.signbit(value), 128, 0)).astype(np.uint8)
        return value.astype(NUMPY[dtype])


def specials(dtype, count=61, seed=0):
    """Interesting values of a dtype, then random ones, `count` in all."""
    rng = np.random.default_rng(seed)
    if dtype == "i1":
        return rng.integers(0, 2, count).astype(np.bool_)
    if dtype in FLOATS:
        tiny, big = 2.0 ** least_exponent(dtype), largest(dtype)
        infinity = np.nan if dtype == "f8E4M3FN" else np.inf
        fixed = [0.0, -0.0, 1.0, -1.0, np.nan, infinity, -infinity, tiny, -tiny, tiny / 2, -tiny / 4, big, -big, 0.5, 2.0, 3.0, -2.5, 1 + 2.0 ** -SHAPE[dtype][1], 100.0, -100.0]
        values = np.concatenate([fixed, rng.standard_normal(count - len(fixed)) * rng.choice([0.1, 1, 5], count - len(fixed))])
        return encode(dtype, values)
    info = np.iinfo(NUMPY[dtype])
    fixed = [0, 1, 2, 3, 7, 8, info.max, info.min, info.max - 1, info.min + 1] + ([-1, -2, -7] if info.min else [])
    out = np.empty(count, NUMPY[dtype])
    out[: len(fixed)] = fixed
    out[len(fixed) :] = rng.integers(info.min, info.max, count - len(fixed), dtype=NUMPY[dtype], endpoint=True)
    small = rng.random(count) < 0.4
    small[: len(fixed)] = False
    out[small] = rng.integers(0, 20, small.sum())
    return out


def assert_ulp(dtype, got, exact, bound, context=""):
    """got: encoded array; exact: float64 (or longdouble) reference before rounding."""
    with np.errstate(all="ignore"):
        actual, exact = decode(dtype, got), np.asarray(exact, np.float64)
        want = round_to(dtype, exact)
        nan = np.isnan(want)
        assert np.array_equal(nan, np.isnan(actual)), f"{context}: NaN at {np.argwhere(nan != np.isnan(actual))[:5].tolist()}"
        error = np.abs(actual - exact) / ulp(dtype, want)
        fine = nan | (actual == want) | (error <= bound)
        # Near overflow either side of the largest value is within the bound.
        edge = np.isinf(actual) != np.isinf(want)
        fine |= edge & (np.abs(exact) >= largest(dtype) * (1 - bound * 2.0 ** -SHAPE[dtype][1]))
        assert fine.all(), f"{context}: got {actual[~fine][:5]}, want {want[~fine][:5]}, {error[~fine][:5]} ulp"
        zero = (want == 0) & (actual == 0)
        assert np.array_equal(np.signbit(actual[zero]), np.signbit(want[zero])), f"{context}: sign of zero"
