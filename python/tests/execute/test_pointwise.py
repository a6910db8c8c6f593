"""Element-wise arithmetic, comparisons, selection, casts and functions."""
import math

import ml_dtypes
import numpy as np
import pytest

import intent.language as I
import intent
from support import EXTENTS, build, close, same_zero_signs

T = I.TypeVar("T", I.f16, I.f32, I.f64, I.i8, I.i32, I.i64, I.u8, I.u32)
F = I.TypeVar("F", I.f16, I.f32, I.f64)
NUMPY = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "i8": np.int8, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u32": np.uint32}
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -2.5, 3.0])


@intent.kernel
def arithmetic(a: I.In[T, ("N",)], b: I.In[T, ("N",)], s: I.Out[T, ("N",)], d: I.Out[T, ("N",)], p: I.Out[T, ("N",)]):
    s[:] = a[:] + b[:]
    d[:] = a[:] - b[:]
    p[:] = a[:] * b[:]


@pytest.mark.parametrize("dtype", list(NUMPY))
@pytest.mark.parametrize("n", EXTENTS)
def test_arithmetic(rng, dtype, n):
    made = NUMPY[dtype]
    if dtype[0] == "f":
        a, b = (rng.standard_normal(n).astype(made) for _ in range(2))
    else:
        info = np.iinfo(made)
        a, b = (rng.integers(info.min, info.max, n, made, endpoint=True) for _ in range(2))
    with np.errstate(over="ignore"):
        # NumPy's own operations round once and wrap, as the language's do.
        expected = a + b, a - b, a * b
    for actual, exact in zip(build(arithmetic, types={"T": dtype}).run(a, b), expected):
        assert actual.dtype == made
        np.testing.assert_array_equal(actual, exact)


@intent.kernel
def divide(a: I.In[F, ("N",)], b: I.In[F, ("N",)], y: I.Out[F, ("N",)]):
    y[:] = a[:] / b[:]


@pytest.mark.parametrize("dtype", ["f16", "f32", "f64"])
def test_division_of_special_values(dtype):
    a, b = (grid.reshape(-1).astype(NUMPY[dtype]) for grid in np.meshgrid(SPECIAL, SPECIAL))
    with np.errstate(all="ignore"):
        expected = a / b
    y = build(divide, types={"F": dtype}).run(a, b)
    np.testing.assert_array_equal(y, expected)
    same_zero_signs(y, expected)


@intent.kernel
def compares(a: I.In[I.f32, ("N",)], b: I.In[I.f32, ("N",)], lt: I.Out[I.bool, ("N",)], le: I.Out[I.bool, ("N",)], eq: I.Out[I.bool, ("N",)], ne: I.Out[I.bool, ("N",)],
             pick: I.Out[I.f32, ("N",)], logic: I.Out[I.bool, ("N",)]):
    x = a[:]
    z = b[:]
    lt[:] = x < z
    le[:] = x <= z
    eq[:] = x == z
    ne[:] = x != z
    pick[:] = I.select(x > z, x, -z)
    logic[:] = ((x < z) | ~(x >= z)) & ((x == z) ^ (x < 1.0))


def test_comparisons_with_nan_and_zeros():
    a, b = (grid.reshape(-1).astype(np.float32) for grid in np.meshgrid(SPECIAL, SPECIAL))
    lt, le, eq, ne, pick, logic = build(compares).run(a, b)
    for actual, expected in [(lt, a < b), (le, a <= b), (eq, a == b), (ne, a != b), (pick, np.where(a > b, a, -b)), (logic, ((a < b) | ~(a >= b)) & ((a == b) ^ (a < 1)))]:
        np.testing.assert_array_equal(actual, expected)
    same_zero_signs(pick, np.where(a > b, a, -b))


@intent.kernel
def extremes(a: I.In[I.f32, ("N",)], b: I.In[I.f32, ("N",)], hi: I.Out[I.f32, ("N",)], lo: I.Out[I.f32, ("N",)], hin: I.Out[I.f32, ("N",)], lon: I.Out[I.f32, ("N",)]):
    hi[:] = I.maximum(a[:], b[:])
    lo[:] = I.minimum(a[:], b[:])
    hin[:] = I.maximum_num(a[:], b[:])
    lon[:] = I.minimum_num(a[:], b[:])


def test_extremes_and_nan():
    a, b = (grid.reshape(-1).astype(np.float32) for grid in np.meshgrid(SPECIAL, SPECIAL))
    hi, lo, hin, lon = build(extremes).run(a, b)
    for actual, expected in [(hi, np.maximum(a, b)), (lo, np.minimum(a, b)), (hin, np.fmax(a, b)), (lon, np.fmin(a, b))]:
        np.testing.assert_array_equal(actual, expected)


@intent.kernel
def unary(x: I.In[F, ("N",)], y: I.Out[F, ("N",)], WHICH: I.Constexpr[str]):
    v = x[:]
    if WHICH == "exp":
        y[:] = I.exp(v)
    elif WHICH == "exp2":
        y[:] = I.exp2(v)
    elif WHICH == "log":
        y[:] = I.log(v)
    elif WHICH == "log2":
        y[:] = I.log2(v)
    elif WHICH == "log1p":
        y[:] = I.log1p(v)
    elif WHICH == "sin":
        y[:] = I.sin(v)
    elif WHICH == "cos":
        y[:] = I.cos(v)
    elif WHICH == "tan":
        y[:] = I.tan(v)
    elif WHICH == "asin":
        y[:] = I.asin(v)
    elif WHICH == "floor":
        y[:] = I.floor(v)
    elif WHICH == "ceil":
        y[:] = I.ceil(v)
    elif WHICH == "erf":
        y[:] = I.erf(v)
    elif WHICH == "erfc":
        y[:] = I.erfc(v)
    elif WHICH == "rsqrt":
        y[:] = I.rsqrt(v)
    elif WHICH == "sqrt":
        y[:] = I.sqrt(v)
    elif WHICH == "sigmoid":
        y[:] = I.sigmoid(v)
    elif WHICH == "tanh":
        y[:] = I.tanh(v)
    elif WHICH == "abs":
        y[:] = I.abs(v)
    else:
        y[:] = -v


# name -> (reference on one float, lowest and highest input, ulp of f32 and f64)
FUNCTIONS = {
    "exp": (math.exp, -85, 85, 4), "exp2": (lambda v: 2.0**v, -120, 120, 4), "log": (math.log, 1e-30, 1e30, 4), "log2": (math.log2, 1e-30, 1e30, 4), "log1p": (math.log1p, -0.999, 100, 4),
    "sin": (math.sin, -100, 100, 4), "cos": (math.cos, -100, 100, 4), "tan": (math.tan, -1.5, 1.5, 5), "asin": (math.asin, -1, 1, 4), "floor": (math.floor, -1e6, 1e6, 0),
    "ceil": (math.ceil, -1e6, 1e6, 0), "erf": (math.erf, -5, 5, 4), "erfc": (math.erfc, -5, 8, 5), "rsqrt": (lambda v: 1 / math.sqrt(v), 1e-30, 1e30, 4), "sqrt": (math.sqrt, 0, 1e30, 0.5),
    "sigmoid": (lambda v: 1 / (1 + math.exp(-v)), -80, 80, 4), "tanh": (math.tanh, -10, 10, 4), "abs": (abs, -1e6, 1e6, 0), "neg": (lambda v: -v, -1e6, 1e6, 0),
}


@pytest.mark.parametrize("dtype", ["f32", "f64", "f16"])
@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_functions(rng, name, dtype):
    function, low, high, bound = FUNCTIONS[name]
    if name in ("log", "log2", "rsqrt", "sqrt"):
        x = 10.0 ** rng.uniform(-4 if dtype == "f16" else -30, 4 if dtype == "f16" else 30, 1003)
    else:
        x = rng.uniform(low, high, 1003) if dtype != "f16" else rng.uniform(max(low, -9), min(high, 9), 1003)
    x = x.astype(NUMPY[dtype])
    expected = np.array([function(float(v)) for v in x])
    # f16 functions evaluate in f32 and round once, so half an ulp and what the f32 error can tip over; tiny f16 results are subnormal.
    ulp = {"f32": bound, "f64": {"tan": 8, "erfc": 8}.get(name, bound), "f16": 0.51 if bound else 0}[dtype]
    close(build(unary, WHICH=name, types={"F": dtype}).run(x), expected, ulp=max(ulp, 0.5))


# name -> (input, value) pairs; a zero's sign counts.
SPECIALS = {
    "exp": [(0.0, 1), (-0.0, 1), (-np.inf, 0), (np.inf, np.inf), (200.0, np.inf), (-200.0, 0)], "exp2": [(0.0, 1), (3.0, 8), (-1.0, 0.5), (-np.inf, 0), (np.inf, np.inf)],
    "log": [(0.0, -np.inf), (-0.0, -np.inf), (1.0, 0), (np.inf, np.inf), (-1.0, np.nan)], "log2": [(0.0, -np.inf), (-0.0, -np.inf), (8.0, 3), (np.inf, np.inf), (-1.0, np.nan)],
    "log1p": [(0.0, 0.0), (-0.0, -0.0), (-1.0, -np.inf), (-2.0, np.nan), (np.inf, np.inf)], "sin": [(0.0, 0.0), (-0.0, -0.0), (np.inf, np.nan)], "cos": [(0.0, 1), (-0.0, 1), (-np.inf, np.nan)],
    "tan": [(0.0, 0.0), (-0.0, -0.0)], "asin": [(0.0, 0.0), (-0.0, -0.0), (1.5, np.nan), (-1.5, np.nan)], "floor": [(0.0, 0.0), (-0.0, -0.0), (2.5, 2), (-2.5, -3), (np.inf, np.inf)],
    "ceil": [(0.0, 0.0), (-0.0, -0.0), (2.5, 3), (-2.5, -2), (-np.inf, -np.inf)], "erf": [(0.0, 0.0), (-0.0, -0.0), (np.inf, 1), (-np.inf, -1)], "erfc": [(0.0, 1), (-np.inf, 2), (np.inf, 0)],
    "rsqrt": [(0.0, np.inf), (-0.0, -np.inf), (np.inf, 0), (-1.0, np.nan), (4.0, 0.5)], "sqrt": [(0.0, 0.0), (-0.0, -0.0), (4.0, 2), (-1.0, np.nan), (np.inf, np.inf)],
    "sigmoid": [(0.0, 0.5), (np.inf, 1), (-np.inf, 0)], "tanh": [(0.0, 0.0), (-0.0, -0.0), (np.inf, 1), (-np.inf, -1)], "abs": [(0.0, 0.0), (-0.0, 0.0), (-np.inf, np.inf)],
    "neg": [(0.0, -0.0), (-0.0, 0.0), (np.inf, -np.inf)],
}


@pytest.mark.parametrize("name", list(SPECIALS))
def test_special_values(name):
    x, expected = (np.array(side, np.float32) for side in zip(*SPECIALS[name], (np.nan, np.nan)))
    y = build(unary, WHICH=name, types={"F": "f32"}).run(x)
    np.testing.assert_array_equal(y, expected)
    same_zero_signs(y, expected)


@intent.kernel
def widen(x: I.In[I.f16, ("N",)], b: I.In[I.bf16, ("N",)], y: I.Out[I.f32, ("N",)], z: I.Out[I.bf16, ("N",)], i: I.Out[I.i32, ("N",)], u: I.Out[I.u8, ("N",)]):
    y[:] = I.cast(x[:], I.f32) + I.cast(b[:], I.f32)
    z[:] = I.cast(x[:], I.bf16)
    i[:] = I.cast(x[:], I.i32)
    u[:] = I.cast(I.cast(x[:], I.i32), I.u8)


def test_casts():
    x = np.array([0.0, -0.0, 1.5, -1.5, 300.25, -300.25, 1000.0], np.float16)
    b = np.arange(7).astype(ml_dtypes.bfloat16)
    y, z, i, u = build(widen).run(x, b)
    np.testing.assert_array_equal(y, x.astype(np.float32) + b.astype(np.float32))
    np.testing.assert_array_equal(z.astype(np.float32), x.astype(ml_dtypes.bfloat16).astype(np.float32))
    np.testing.assert_array_equal(i, [0, 0, 1, -1, 300, -300, 1000])
    np.testing.assert_array_equal(u, [0, 0, 1, 255, 44, 212, 232])


@intent.kernel
def round_trip(x: I.In[I.f32, ("N",)], a: I.Out[I.f8e4m3fn, ("N",)], b: I.Out[I.f8e5m2, ("N",)], c: I.Out[I.f16, ("N",)], d: I.Out[I.i32, ("N",)]):
    v = x[:]
    a[:] = I.cast(v, I.f8e4m3fn)
    b[:] = I.cast(v, I.f8e5m2)
    c[:] = I.cast(v, I.f16)
    d[:] = I.bitcast(v, I.i32)


def test_narrow_floats_round_to_even(rng):
    x = np.concatenate([rng.uniform(-440, 440, 300), [0.0, -0.0, 1.0625, 1.1875, 2.0**-9, 2.0**-10, 3 * 2.0**-10, 448.0, -448.0]]).astype(np.float32)
    a, b, c, d = build(round_trip).run(x)
    for actual, made in [(a, ml_dtypes.float8_e4m3fn), (b, ml_dtypes.float8_e5m2), (c, np.float16)]:
        np.testing.assert_array_equal(actual.view(np.uint8), x.astype(made).view(np.uint8))
    np.testing.assert_array_equal(d, x.view(np.int32))


@intent.kernel
def broadcasts(x: I.In[I.f32, ("M", "N")], r: I.In[I.f32, ("N",)], c: I.In[I.f32, ("M",)], s: I.f32, y: I.Out[I.f32, ("M", "N")]):
    y[:, :] = x[:, :] * s + r[:] - c[:][:, None]


@pytest.mark.parametrize("m", [0, 1, 5, 67])
@pytest.mark.parametrize("n", EXTENTS)
def test_broadcasts(rng, m, n):
    x, r, c = (rng.standard_normal(s).astype(np.float32) for s in ((m, n), (n,), (m,)))
    close(build(broadcasts).run(x, r, c, 1.5), x.astype(np.float64) * 1.5 + r - c[:, None].astype(np.float64), absolute=1e-5)


@intent.kernel
def rank_zero(x: I.In[I.f32, ()], y: I.Out[I.f32, ()]):
    y[()] = x[()] + 1.0


def test_rank_zero():
    assert build(rank_zero).run(np.array(2.0, np.float32)) == 3.0
