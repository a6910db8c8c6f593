"""Builtins of the reference against values that are worked out some other way: mpmath, Fractions, literals."""
import math
from fractions import Fraction

import ml_dtypes
import mpmath
import numpy as np
import pytest

import intent
import intent.language as I
from intent import native
from programs import kernel

NUMPY = {"bool": np.bool_, "index": np.int64, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
         "f8e4m3fn": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2, **{f"{k}{b}": np.dtype(f"{n}{b}") for k, n in (("i", "int"), ("u", "uint")) for b in (8, 16, 32, 64)}}
FLOATS = ("f16", "bf16", "f32", "f64")
# (precision, smallest exponent of a normal number, largest finite value)
FACTS = {"f16": (11, -14, 65504), "bf16": (8, -126, Fraction(2) ** 127 * (2 - Fraction(1, 128))), "f32": (24, -126, Fraction(2) ** 127 * (2 - Fraction(1, 2**23))),
         "f64": (53, -1022, Fraction(2) ** 1023 * (2 - Fraction(1, 2**52))), "f8e4m3fn": (4, -6, 448), "f8e5m2": (3, -14, 57344)}


def run(body, inputs, result, shape=None, before="", **names):
    """The one Out `y` of a kernel over rank-1 inputs named a, b, c... given as (dtype, values)."""
    arrays = [np.asarray(values).astype(NUMPY[dtype], copy=False) for dtype, values in inputs]
    views = ", ".join(f'{n}: I.In[I.{d}, {tuple(v.shape)}]' for n, (d, _), v in zip("abcdefg", inputs, arrays))
    shape = arrays[0].shape if shape is None else shape
    program = kernel(f"{views}, y: I.Out[I.{result}, {tuple(shape)}]", body, before, **names)
    return intent.interpret(program).run(*arrays)


def nearest(exact, dtype):
    """A Fraction rounded to nearest even in a format, as a float."""
    precision, lowest, largest = FACTS[dtype]
    if exact == 0:
        return 0.0
    magnitude = abs(exact)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if Fraction(2) ** exponent > magnitude:
        exponent -= 1
    quantum = Fraction(2) ** (max(exponent, lowest) - precision + 1)
    rounded = round(magnitude / quantum) * quantum  # Python rounds halves of Fractions to even
    if rounded > largest:
        return math.copysign(math.inf, exact)
    return math.copysign(float(rounded), exact)


def some_floats(dtype, rng, count=60):
    values = np.concatenate([rng.standard_normal(count), rng.standard_normal(count // 2) * 1e3, rng.standard_normal(count // 2) * 1e-6, [0.0, 1.0, -1.0, 0.5, 3.0]])
    return values.astype(NUMPY[dtype])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op, exact", [("a[:] + b[:]", lambda a, b: a + b), ("a[:] - b[:]", lambda a, b: a - b), ("a[:] * b[:]", lambda a, b: a * b),
                                       ("a[:] / b[:]", lambda a, b: a / b), ("I.fma(a[:], b[:], a[:])", lambda a, b: a * b + a)])
def test_arithmetic_rounds_once(dtype, op, exact):
    rng = np.random.default_rng(1)
    a, b = some_floats(dtype, rng), rng.permutation(some_floats(dtype, rng))
    b = np.where(b == 0, NUMPY[dtype](1), b).astype(NUMPY[dtype])
    found = run(f"y[:] = {op}", [(dtype, a), (dtype, b)], dtype)
    for x, z, y in zip(a, b, found):
        assert float(y) == nearest(exact(Fraction(float(x)), Fraction(float(z))), dtype)


@pytest.mark.parametrize("dtype", [*FLOATS, "f8e4m3fn", "f8e5m2"])
@pytest.mark.parametrize("source", ["f64", "f32", "i64", "u64", "i16"])
def test_conversions_to_floats(source, dtype):
    rng = np.random.default_rng(2)
    if source.startswith("f"):
        values = np.concatenate([rng.standard_normal(50) * s for s in (1, 100, 1e-3, 1e-7)] + [np.array([0.0, 448, 464, 1.0625, 2.0**-10, 2.0**-9 * 0.5, 57344, 1e-300])]).astype(NUMPY[source])
        values = values[np.abs(values.astype(np.float64)) <= 464] if dtype == "f8e4m3fn" else values
    else:
        low = 0 if source == "u64" else -400
        values = np.concatenate([rng.integers(low, 400, 40), *([] if dtype.startswith("f8") or source == "i16" else [2**p + rng.integers(0, 2**(p - 1), 10) for p in (30, 53, 60, 62)])]).astype(NUMPY[source])
        # Exactly between two bf16 numbers, and one above: a detour through float64 would lose the one.
        if not dtype.startswith("f8") and source != "i16":
            values = np.append(values, np.array([2**61 + 2**53, 2**61 + 2**53 + 1], NUMPY[source]))
    found = run(f"y[:] = I.cast(a[:], I.{dtype})", [(source, values)], dtype)
    for x, y in zip(values, found):
        exact = Fraction(float(x)) if source.startswith("f") else Fraction(int(x))
        assert float(y) == nearest(exact, dtype), x


def test_conversions_to_integers_and_bool():
    np.testing.assert_array_equal(run("y[:] = I.cast(a[:], I.i8)", [("i32", [0, 127, 128, -129, 300, -1])], "i8"), [0, 127, -128, 127, 44, -1])
    np.testing.assert_array_equal(run("y[:] = I.cast(a[:], I.u64)", [("i8", [-1, 5])], "u64"), np.array([2**64 - 1, 5], np.uint64))
    np.testing.assert_array_equal(run("y[:] = I.cast(a[:], I.i32)", [("f32", [2.9, -2.9, 0.0, -0.5, 2e9])], "i32"), [2, -2, 0, 0, 2000000000])
    np.testing.assert_array_equal(run("y[:] = I.cast(a[:], I.bool)", [("f32", [0.0, -0.0, 0.1, 3])], "bool"), [False, False, True, True])
    np.testing.assert_array_equal(run("y[:] = I.cast(a[:], I.f32)", [("bool", [True, False])], "f32"), [1, 0])


def test_bits_of_every_small_float():
    for dtype in ("f8e4m3fn", "f8e5m2"):
        codes = np.arange(256, dtype=np.uint8)
        values = run(f"y[:] = I.cast(I.bitcast(a[:], I.{dtype}), I.f32)", [("u8", codes)], "f32")
        np.testing.assert_array_equal(values, codes.view(NUMPY[dtype]).astype(np.float32))
        back = run(f"y[:] = I.bitcast(I.bitcast(a[:], I.{dtype}), I.u8)", [("u8", codes)], "u8")
        keeps = ~np.isnan(values)
        np.testing.assert_array_equal(back[keeps], codes[keeps])
    bits = np.array([0x3F80, 0xC000, 0x7F80, 1, 0x8000], np.uint16)
    np.testing.assert_array_equal(run("y[:] = I.bitcast(a[:], I.bf16)", [("u16", bits)], "bf16").view(np.uint16), bits)
    np.testing.assert_array_equal(run("y[:] = I.bitcast(a[:], I.i32)", [("f32", [1.0, -0.0])], "i32"), [0x3F800000, -2**31])


# -- integers -------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", ["i8", "u8", "i16", "i32", "u32", "i64", "u64"])
def test_integer_arithmetic_wraps(dtype):
    bits, signed = int(dtype[1:]), dtype[0] == "i"
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    edge = [low, low + 1, high, high - 1, 0, 1, 2, 3, 7, 100] + ([-1, -2, -7] if signed else [])
    pairs = [(x, z) for x in edge for z in edge]
    a, b = (np.array(v, NUMPY[dtype]) for v in zip(*pairs))

    def wrap(v):
        v &= (1 << bits) - 1
        return v - (1 << bits) if signed and v >> bits - 1 else v

    def floored(x, z, part):
        if z == 0:
            return 0
        return wrap(x // z if part == 0 else x % z)

    for op, want in [("+", lambda x, z: wrap(x + z)), ("-", lambda x, z: wrap(x - z)), ("*", lambda x, z: wrap(x * z)), ("&", lambda x, z: x & z),
                     ("|", lambda x, z: x | z), ("^", lambda x, z: x ^ z), ("//", lambda x, z: floored(x, z, 0)), ("%", lambda x, z: floored(x, z, 1)),
                     ("<<", lambda x, z: wrap(x << (z & bits - 1))), (">>", lambda x, z: x >> (z & bits - 1))]:
        found = run(f"y[:] = a[:] {op} b[:]", [(dtype, a), (dtype, b)], dtype)
        assert found.tolist() == [want(x, z) for x, z in pairs], op
    assert run("y[:] = -a[:]", [(dtype, a)], dtype).tolist() == [wrap(-x) for x, _ in pairs]
    assert run("y[:] = ~a[:]", [(dtype, a)], dtype).tolist() == [~x if signed else x ^ (1 << bits) - 1 for x, _ in pairs]
    assert run("y[:] = I.abs(a[:])", [(dtype, a)], dtype).tolist() == [wrap(abs(x)) for x, _ in pairs]
    assert run("y[:] = a[:] ** 3", [(dtype, a)], dtype).tolist() == [wrap(x**3) for x, _ in pairs]


def test_powers_of_floats():
    np.testing.assert_array_equal(run("y[:] = a[:] ** -2 + a[:] ** 0", [("f64", [2.0, -4.0, 0.5])], "f64"), [1.25, 1.0625, 5])
    np.testing.assert_allclose(run("y[:] = a[:] ** 0.5 + a[:] ** b[:]", [("f32", [4.0, 9.0, 0.25]), ("f32", [2, 0.5, -1])], "f32"), [18, 6, 4.5])


# -- elementary functions ---------------------------------------------------------------------------------------

EXACT = {
    "exp": mpmath.exp, "exp2": lambda x: mpmath.mpf(2) ** x, "log": mpmath.log, "log2": lambda x: mpmath.log(x, 2), "log1p": mpmath.log1p, "sin": mpmath.sin,
    "cos": mpmath.cos, "tan": mpmath.tan, "asin": mpmath.asin, "erf": mpmath.erf, "erfc": mpmath.erfc, "i0": lambda x: mpmath.besseli(0, x),
    "rsqrt": lambda x: 1 / mpmath.sqrt(x), "sqrt": mpmath.sqrt, "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)), "tanh": mpmath.tanh,
    "lgamma": lambda x: mpmath.log(abs(mpmath.gamma(x))),
}
DOMAINS = {"exp": (-80, 80), "exp2": (-120, 120), "log": (1e-6, 1e6), "log2": (1e-6, 1e6), "log1p": (-0.999, 100), "sin": (-32768, 32768), "cos": (-32768, 32768),
           "tan": (-1000, 1000), "asin": (-1, 1), "erf": (-4, 4), "erfc": (-4, 9), "i0": (-80, 80), "rsqrt": (1e-6, 1e6), "sqrt": (0, 1e6), "sigmoid": (-80, 80),
           "tanh": (-10, 10), "lgamma": (0.01, 200)}
ULPS = {"sqrt": 0.5, "tan": 8, "erfc": 8, "i0": 6, "lgamma": 6}


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("dtype", ["f64", "f32", "f16"])
def test_elementary_functions(name, dtype):
    rng = np.random.default_rng(3)
    low, high = DOMAINS[name]
    if dtype == "f16":
        low, high = max(low, -10), min(high, 10)
    x = np.concatenate([rng.uniform(low, high, 60), rng.uniform(max(low, -1), min(high, 1), 20)]).astype(NUMPY[dtype])
    found = run(f"y[:] = I.{name}(a[:])", [(dtype, x)], dtype)
    with mpmath.workprec(200):
        for value, y in zip(x.tolist(), found):
            exact = EXACT[name](mpmath.mpf(value))
            unit = abs(float(np.spacing(y)))
            bound = (ULPS.get(name, 4) if dtype == "f64" else 0.501) * unit + (2.0**-40 if name == "lgamma" else 0)
            assert abs(mpmath.mpf(float(y)) - exact) <= bound, (value, y)


SPECIAL = {
    "exp": {-math.inf: 0.0, math.inf: math.inf}, "exp2": {-math.inf: 0.0, 3.0: 8.0}, "log": {0.0: -math.inf, -1.0: math.nan, math.inf: math.inf}, "log2": {0.0: -math.inf, 8.0: 3.0},
    "log1p": {-1.0: -math.inf, -2.0: math.nan, -0.0: -0.0}, "sin": {-0.0: -0.0, math.inf: math.nan}, "cos": {0.0: 1.0}, "tan": {-0.0: -0.0}, "asin": {2.0: math.nan, -0.0: -0.0},
    "erf": {-0.0: -0.0, math.inf: 1.0}, "erfc": {-math.inf: 2.0, math.inf: 0.0}, "i0": {0.0: 1.0, -math.inf: math.inf, math.inf: math.inf},
    "lgamma": {1.0: 0.0, 2.0: 0.0, 0.0: math.inf, -3.0: math.inf, -math.inf: math.inf, math.inf: math.inf}, "rsqrt": {-0.0: -math.inf, -1.0: math.nan, math.inf: 0.0},
    "sqrt": {-0.0: -0.0, -1.0: math.nan}, "sigmoid": {0.0: 0.5, -math.inf: 0.0, math.inf: 1.0}, "tanh": {-0.0: -0.0, math.inf: 1.0}, "floor": {-0.5: -1.0, -0.0: -0.0, 2.5: 2.0},
    "ceil": {-0.5: -0.0, 2.5: 3.0, math.inf: math.inf}, "abs": {-0.0: 0.0, -math.inf: math.inf},
}


@pytest.mark.parametrize("name", SPECIAL)
@pytest.mark.parametrize("dtype", FLOATS)
def test_special_values(name, dtype):
    given = [*SPECIAL[name], math.nan]
    found = run(f"y[:] = I.{name}(a[:])", [(dtype, given)], dtype).astype(np.float64)
    for value, wanted, y in zip(given, [*SPECIAL[name].values(), math.nan], found):
        assert y == wanted and math.copysign(1, y) == math.copysign(1, wanted) or (wanted != wanted and y != y), value


def test_maximum_and_minimum():
    nan, a, b = math.nan, [1.0, math.nan, 2.0, math.nan, -math.inf], [2.0, 1.0, math.nan, math.nan, 5.0]
    for name, want in [("maximum", [2, nan, nan, nan, 5]), ("minimum", [1, nan, nan, nan, -math.inf]), ("maximum_num", [2, 1, 2, nan, 5]), ("minimum_num", [1, 1, 2, nan, -math.inf])]:
        for dtype in FLOATS:
            np.testing.assert_array_equal(run(f"y[:] = I.{name}(a[:], b[:])", [(dtype, a), (dtype, b)], dtype).astype(np.float64), want)


def test_approximate_and_flushed_operations():
    tiny = 2.0**-130
    np.testing.assert_array_equal(run("y[:] = I.fdiv(a[:], b[:], approximate=True, flush_to_zero=True)", [("f32", [tiny, 1.0, 6.0]), ("f32", [1.0, 4.0, 3.0])], "f32"), [0, 0.25, 2])
    np.testing.assert_array_equal(run("y[:] = I.exp2(a[:], approximate=True, flush_to_zero=True)", [("f32", [-130.0, 3.0])], "f32"), [0, 8])
    np.testing.assert_array_equal(run("y[:] = I.exp2(a[:])", [("f32", [-130.0, 3.0])], "f32"), [np.float32(tiny), 8])
    with pytest.raises(intent.LanguageError, match="flush_to_zero needs approximate"):
        run("y[:] = I.exp2(a[:], flush_to_zero=True)", [("f32", [1.0])], "f32")
    with pytest.raises(intent.LanguageError, match="approximate is for f32"):
        run("y[:] = I.tanh(a[:], approximate=True)", [("f64", [1.0])], "f64")


@intent.kernel
def literal_for_a_carry(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]):
    run, k = I.cast(5.0, I.f32), I.cast(0, I.index)
    for i in range(x.shape[0]):
        run = 0.0 if x[i] > 0.5 else I.minimum(run + 1.0, 5.0)
        if x[i] > 0.8:
            y[i] = -run
            k = 0
            continue
        k = I.maximum(k + 1, 0)
        y[i] = run + I.cast(i + k, I.f32)


def test_a_carry_takes_a_literal_in_its_own_dtype():
    """What is made of that literal and others is no f64 or i64 of its own."""
    y = intent.interpret(literal_for_a_carry).run(np.array([0.1, 0.9, 0.3, 0.4, 0.6], np.float32))
    np.testing.assert_array_equal(y, np.array([5 + 1, 0, 1 + 3, 2 + 5, 0 + 7], np.float32))


CHOSEN = "I.select(a[:] > 0.0, 0.1, 2.0)"


@pytest.mark.parametrize("text, dtype", [
    (CHOSEN, None), (f"I.mask({CHOSEN}, a[:] > 1.0, 0.0)", None), ("I.select(a[:] > 0.0, 1, 2)", None), (f"I.cumsum({CHOSEN}, axis=0)", "f64"),
    (f"I.scan({CHOSEN}, 0, 0, I.add)", "f64"), ("I.cummax(I.select(a[:] > 0.0, 1, 2), axis=0)", "i64"), (f"{CHOSEN} * 2 + 1", "f64"), (f"-{CHOSEN}", "f64"),
    (f"I.reshape({CHOSEN}, (3,))", "f64"), (f"I.transpose({CHOSEN})", "f64"), (f"{CHOSEN}[:]", "f64"), ("I.select(a[:] > 0.0, 1, 2) << 1", "i64"),
    (f"I.cumsum({CHOSEN}, axis=0, acc_dtype=I.f32)", "f32"), ("I.select(a[:] > 0.0, True, False)", "bool")])
@pytest.mark.skipif(native.find_library("libintent.so") is None, reason="libintent.so is not built")
def test_a_tensor_of_literals_has_its_default_dtype_at_its_first_use(text, dtype):
    """Chosen literals take the dtype of the view that they are written to; operands of anything else are bool, i64 or f64."""
    for out in ("f32", "f64", "i64", "bool"):
        program = kernel(f"a: I.In[I.f32, (3,)], y: I.Out[I.{out}, (3,)]", f"y[:] = {text}")
        fits = out == dtype if dtype else out in ("f32", "f64") or out == "i64" and "0.1" not in text
        for take in (lambda: intent.interpret(program).run(np.array([1, -1, 1], np.float32)), lambda: intent.generate(program, "host")):
            if fits:
                take()
            else:
                with pytest.raises(intent.LanguageError):
                    take()
