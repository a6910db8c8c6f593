"""Element-wise operations of the host backend against independent references, every legal dtype, special values included."""

import itertools
import math

import mpmath
import numpy as np
import pytest

from host_native import LIBRARY, HostError, Kernel, kernel
from numeric_contract import FUNCTIONS
from host_reference import FLOATS, INTEGERS, NUMPY, assert_ulp, decode, encode, largest, round_to, specials

pytestmark = pytest.mark.skipif(LIBRARY is None, reason="libintent-host.so is not built")
ALL = FLOATS + INTEGERS + ["i1"]


def zero(p, dtype):
    if dtype in FLOATS:
        return p.constant("0.0", dtype)
    return p.op("block.constant false : i1", "i1") if dtype == "i1" else p.constant(0, dtype)


def elementwise(inputs, output, compute, extent=16):
    """One-axis kernel: y[n] = compute(x0[n], x1[n], ...) in blocks of `extent` (a masked tail at the end)."""
    views = [(f"x{i}", e, ['"N"'], "in") for i, e in enumerate(inputs)] + [("y", output, ['"N"'], "out")]

    def body(p):
        n = p.lanes(p.binary("mul", "%p", p.constant(extent)), extent)
        v = p.below(n, "%N")
        values = [p.load(f"%x{i}", e, [(n, [0])], [(v, [0])], zero(p, e), [extent]) for i, e in enumerate(inputs)]
        p.store(compute(p, *values), "%y", [(n, [0])], [(v, [0])])

    return kernel(views, [(f'ceil_div("N", {extent})', body)], privates=['"N"'])


def run(inputs, output, compute, *arrays, extent=16):
    y = np.zeros(arrays[0].shape, NUMPY[output])
    Kernel(elementwise(inputs, output, compute, extent))(*arrays, y)
    return y


# ---------------------------------------------------------------------------------------------------- unary

EXACT = {"neg": np.negative, "abs": np.abs, "floor": np.floor, "ceil": np.ceil}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("kind", EXACT)
def test_exact_unary(kind, dtype):
    x = specials(dtype)
    y = run([dtype], dtype, lambda p, x: p.unary(kind, x), x)
    assert_ulp(dtype, y, EXACT[kind](decode(dtype, x)), 0, kind)


@pytest.mark.parametrize("dtype", INTEGERS + ["i1"])
@pytest.mark.parametrize("kind", ["neg", "abs", "not"])
def test_integer_unary(kind, dtype):
    if dtype == "i1" and kind != "not":
        pytest.skip("no arithmetic on bool")
    x = specials(dtype)
    y = run([dtype], dtype, lambda p, x: p.unary(kind, x), x)
    with np.errstate(all="ignore"):
        want = {"neg": lambda: (0 - x), "abs": lambda: np.abs(x), "not": lambda: ~x}[kind]()
    assert np.array_equal(y, want.astype(x.dtype))


def mp_rsqrt(x):
    return 1 / mpmath.sqrt(x)


def mp_sigmoid(x):
    return 1 / (1 + mpmath.exp(-x))


MATH = {  # function, range of random arguments
    "exp": (mpmath.exp, (-104, 89)), "exp2": (lambda x: mpmath.power(2, x), (-150, 128)), "log": (mpmath.log, (1e-6, 1e6)),
    "log2": (lambda x: mpmath.log(x, 2), (1e-3, 1e3)), "log1p": (mpmath.log1p, (-0.99, 1e3)), "sin": (mpmath.sin, (-30000, 30000)),
    "cos": (mpmath.cos, (-30000, 30000)), "tan": (mpmath.tan, (-30000, 30000)), "asin": (mpmath.asin, (-1, 1)),
    "erf": (mpmath.erf, (-4, 4)), "erfc": (mpmath.erfc, (-4, 9)), "lgamma": (None, (0.01, 50)), "i0": (lambda x: mpmath.besseli(0, x), (-80, 80)),
    "rsqrt": (mp_rsqrt, (1e-5, 1e5)), "sqrt": (mpmath.sqrt, (0, 1e6)), "sigmoid": (mp_sigmoid, (-100, 100)), "tanh": (mpmath.tanh, (-10, 10)),
}
assert MATH.keys() == FUNCTIONS.keys()


def reference(kind, x):
    function = MATH[kind][0] or (lambda v: mpmath.loggamma(v).real)
    out = []
    for v in x.tolist():
        value = function(mpmath.mpf(v))
        out.append(float(value.real) if isinstance(value, mpmath.mpc) and value.imag == 0 else math.nan if isinstance(value, mpmath.mpc) else float(value))
    return np.array(out)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("kind", MATH)
def test_math(kind, dtype):
    mpmath.mp.prec = 120
    low, high = MATH[kind][1]
    narrow, wide = FUNCTIONS[kind].f32, FUNCTIONS[kind].f64
    limit = largest(dtype)
    rng = np.random.default_rng(1)
    x = rng.uniform(max(low, -limit), min(high, limit), 331)
    x[:60] = rng.uniform(max(low, -1), min(high, 2), 60)
    x = encode(dtype, x)
    values = decode(dtype, x)
    if low >= 0 and kind != "sqrt":
        x = x[values > 0]
        values = values[values > 0]
    if kind == "log1p":
        x, values = x[values > -1], values[values > -1]
    y = run([dtype], dtype, lambda p, v: p.unary(kind, v), x)
    exact = reference(kind, values)
    # In narrow formats f32's error adds next to nothing to the one rounding.
    bound = {"f32": narrow, "f64": wide}.get(dtype, 0.51)
    assert_ulp(dtype, y, exact, bound, kind)


@pytest.mark.parametrize("extent", [1, 4, 16, 32])
@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("kind", MATH)
def test_math_specials(kind, dtype, extent):
    x = encode(dtype, [0.0, -0.0, np.inf, -np.inf, np.nan, -1.0, -2.0, 1.0, 2.0])
    y = decode(dtype, run([dtype], dtype, lambda p, v: p.unary(kind, v), x, extent=extent))
    assert_ulp(dtype, encode(dtype, y[:4]), np.array(FUNCTIONS[kind].specials, float), 0, kind)
    assert np.isnan(y[4])
    if kind in ("log", "log2", "sqrt", "rsqrt"):
        assert np.isnan(y[5])
    if kind == "log1p":
        assert y[5] == -np.inf and np.isnan(y[6])
    if kind == "lgamma":
        assert y[5] == np.inf and y[6] == np.inf and y[7] == 0 and y[8] == 0 and not np.signbit(y[7:]).any()
    if kind == "asin":
        assert np.isnan(y[8])


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("kind", ["exp", "exp2", "sigmoid"])
def test_exponentials_near_their_ends(kind, dtype):
    mpmath.mp.prec = 120
    top = {"f32": 128.0, "f64": 1024.0}[dtype] * (1 if kind == "exp2" else math.log(2))
    bottom = {"f32": -149.0, "f64": -1074.0}[dtype] * (1 if kind == "exp2" else math.log(2))
    x = np.concatenate([np.linspace(top - 2, top + 2, 41), np.linspace(bottom - 2, bottom + 30, 83), [1e30, -1e30]]).astype(NUMPY[dtype])
    y = run([dtype], dtype, lambda p, v: p.unary(kind, v), x)
    with np.errstate(all="ignore"):
        exact = np.array([float(v) for v in (MATH[kind][0](mpmath.mpf(float(min(max(v, -3000), 3000)))) for v in x)])
    assert_ulp(dtype, y, exact, 4, kind)


# ---------------------------------------------------------------------------------------------------- binary


def pairs(dtype):
    a = specials(dtype, 40)
    x, y = np.meshgrid(a, a)
    return x.ravel().copy(), y.ravel().copy()


def wrap(dtype, values):
    info = np.iinfo(NUMPY[dtype])
    size = info.max - info.min + 1
    return np.array([(v - info.min) % size + info.min for v in values], NUMPY[dtype])


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("kind", ["add", "sub", "mul", "floordiv", "mod", "maximum", "minimum", "maximum_num", "minimum_num", "and", "or", "xor", "shl", "shr"])
def test_integer_binary(kind, dtype):
    x, y = pairs(dtype)
    got = run([dtype, dtype], dtype, lambda p, a, b: p.binary(kind, a, b), x, y)
    width = x.itemsize * 8
    function = {
        "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "floordiv": lambda a, b: a // b if b else 0, "mod": lambda a, b: a % b if b else 0,
        "maximum": max, "minimum": min, "maximum_num": max, "minimum_num": min, "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
        "shl": lambda a, b: a << (b % width), "shr": lambda a, b: a >> (b % width)}[kind]
    assert np.array_equal(got, wrap(dtype, [function(a, b) for a, b in zip(x.tolist(), y.tolist())]))


@pytest.mark.parametrize("divisor", [1, 3, 8, -4, 0])
@pytest.mark.parametrize("dtype", ["i8", "i32", "index", "ui16"])
@pytest.mark.parametrize("kind", ["floordiv", "mod"])
def test_integer_division_by_constants(kind, dtype, divisor):
    if divisor < 0 and dtype.startswith("u"):
        pytest.skip("no negative unsigned")
    x = specials(dtype)
    got = run([dtype], dtype, lambda p, a: p.binary(kind, a, p.broadcast(p.constant(divisor, dtype), [], [16])), x)
    function = (lambda a: a // divisor if divisor else 0) if kind == "floordiv" else (lambda a: a % divisor if divisor else 0)
    assert np.array_equal(got, wrap(dtype, [function(a) for a in x.tolist()]))


@pytest.mark.parametrize("kind", ["and", "or", "xor"])
def test_bool_binary(kind):
    x, y = pairs("i1")
    got = run(["i1", "i1"], "i1", lambda p, a, b: p.binary(kind, a, b), x, y)
    assert np.array_equal(got, {"and": x & y, "or": x | y, "xor": x ^ y}[kind])


def test_bool_bytes_other_than_one_are_true():
    x = np.array([0, 1, 2, 255] * 5, np.uint8).view(np.bool_)
    got = run(["i1"], "i1", lambda p, a: p.binary("and", a, a), x)
    assert got.view(np.uint8).tolist() == [0, 1, 1, 1] * 5


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("kind", ["add", "sub", "mul", "div"])
def test_float_arithmetic(kind, dtype):
    x, y = pairs(dtype)
    got = run([dtype, dtype], dtype, lambda p, a, b: p.binary(kind, a, b), x, y)
    with np.errstate(all="ignore"):
        # longdouble holds the sums and products of f32 exactly enough that rounding once is rounding once.
        a, b = decode(dtype, x), decode(dtype, y)
        exact = {"add": a + b, "sub": a - b, "mul": a * b, "div": a / b}[kind]
    assert_ulp(dtype, got, exact, 0 if dtype != "f64" else 0.5, kind)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("kind", ["maximum", "minimum", "maximum_num", "minimum_num"])
def test_float_extrema(kind, dtype):
    x, y = pairs(dtype)
    got = decode(dtype, run([dtype, dtype], dtype, lambda p, a, b: p.binary(kind, a, b), x, y))
    function = {"maximum": np.maximum, "minimum": np.minimum, "maximum_num": np.fmax, "minimum_num": np.fmin}[kind]
    assert np.array_equal(got, function(decode(dtype, x), decode(dtype, y)), equal_nan=True)


@pytest.mark.parametrize("dtype", ["f16", "f32", "f64"])
@pytest.mark.parametrize("kind", ["floordiv", "mod"])
def test_float_floor_division(kind, dtype):
    x = encode(dtype, [7.5, -7.5, 7.5, -7.5, 6.0, -6.0, 0.0, 1.0, 5.5])
    y = encode(dtype, [2.0, 2.0, -2.0, -2.0, 3.0, 3.0, 2.0, 0.25, np.nan])
    got = decode(dtype, run([dtype, dtype], dtype, lambda p, a, b: p.binary(kind, a, b), x, y))
    a, b = decode(dtype, x), decode(dtype, y)
    want = np.floor(a / b) if kind == "floordiv" else a - np.floor(a / b) * b
    assert np.array_equal(got, want, equal_nan=True)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64"])
def test_pow(dtype):
    mpmath.mp.prec = 120
    rng = np.random.default_rng(2)
    x = encode(dtype, np.concatenate([rng.uniform(0.1, 5, 50), [0.0, 2.0, 1.0, -2.0, -2.0, np.inf, 0.0]]))
    y = encode(dtype, np.concatenate([rng.uniform(-4, 4, 50), [2.0, 0.0, np.nan, 3.0, 0.5, 2.0, -1.0]]))
    got = run([dtype, dtype], dtype, lambda p, a, b: p.binary("pow", a, b), x, y)
    with np.errstate(all="ignore"):
        a, b = decode(dtype, x), decode(dtype, y)
        exact = np.power(a, b)
        exact[:50] = [float(mpmath.power(mpmath.mpf(u), mpmath.mpf(v))) for u, v in zip(a[:50].tolist(), b[:50].tolist())]
    assert_ulp(dtype, got, exact, {"f32": 4, "f64": 4}.get(dtype, 0.51), "pow")


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("predicate", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_compare(predicate, dtype):
    x, y = pairs(dtype)
    got = run([dtype, dtype], "i1", lambda p, a, b: p.compare(predicate, a, b), x, y)
    function = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}[predicate]
    assert np.array_equal(got, function(decode(dtype, x), decode(dtype, y)))


@pytest.mark.parametrize("dtype", ALL)
def test_select(dtype):
    x, y = pairs(dtype)
    c = np.random.default_rng(3).integers(0, 2, x.size).astype(bool)
    got = run(["i1", dtype, dtype], dtype, lambda p, c, a, b: p.select(c, a, b), c, x, y)
    assert np.array_equal(got.view(np.uint8), np.where(c, x, y).view(np.uint8))


@pytest.mark.parametrize("dtype", FLOATS)
def test_fma(dtype):
    a = specials(dtype, 40)
    x, y, z = (v.ravel().copy() for v in np.meshgrid(a, a[:20], a[::3]))
    got = run([dtype] * 3, dtype, lambda p, a, b, c: p.fma(a, b, c), x, y, z)
    from fractions import Fraction
    want = []
    for u, v, w in zip(*(decode(dtype, t).tolist() for t in (x, y, z))):
        if all(map(math.isfinite, (u, v, w))):
            exact = Fraction(u) * Fraction(v) + Fraction(w)
            want.append(round_fraction(dtype, exact) if exact else u * v + w)
        elif math.isfinite(u) and math.isfinite(v):
            want.append(w)
        else:
            with np.errstate(all="ignore"):
                want.append(float(np.float64(u) * np.float64(v) + np.float64(w)))
    actual, want = decode(dtype, got), np.array(want)
    same = (actual == want) | (np.isnan(actual) & np.isnan(want))
    assert same.all(), (decode(dtype, x)[~same][:4], decode(dtype, y)[~same][:4], decode(dtype, z)[~same][:4], actual[~same][:4], want[~same][:4])


def round_fraction(dtype, value):
    """A non-zero fraction rounded once to the format."""
    from fractions import Fraction
    from host_reference import SHAPE, least_exponent
    sign, value = (-1, -value) if value < 0 else (1, value)
    e = value.numerator.bit_length() - value.denominator.bit_length()
    if Fraction(2) ** e > value:
        e -= 1
    unit = Fraction(2) ** (max(e, least_exponent(dtype)) - SHAPE[dtype][1])
    steps = round(value / unit)  # Python rounds half to even
    rounded = steps * unit
    if rounded > Fraction(largest(dtype)):
        return sign * (math.nan if dtype == "f8E4M3FN" else math.inf)
    return math.copysign(float(rounded), sign)


# ---------------------------------------------------------------------------------------------------- conversions


@pytest.mark.parametrize("source,target", [c for c in itertools.product(ALL, ALL) if c[0] != c[1]])
def test_cast(source, target):
    x = specials(source)
    if source in FLOATS and target in INTEGERS:
        info = np.iinfo(NUMPY[target])
        values = decode(source, x)
        with np.errstate(all="ignore"):
            x = x[np.isfinite(values) & (np.trunc(values) >= float(info.min)) & (np.trunc(values) < float(info.max))]
    y = run([source], target, lambda p, v: p.cast(v, target), x)
    values = decode(source, x)
    with np.errstate(all="ignore"):
        if target in FLOATS:
            if source in FLOATS:
                assert_ulp(target, y, values, 0.5, "cast")
            else:
                exact = [int(v) for v in values.tolist()]
                want = np.array([round_fraction(target, __import__("fractions").Fraction(v)) if v else 0.0 for v in exact])
                assert np.array_equal(decode(target, y), want, equal_nan=True)
        elif target == "i1":
            assert np.array_equal(y, values != 0)
        elif source in FLOATS:
            assert np.array_equal(y, np.array([int(v) for v in values.tolist()]).astype(NUMPY[target]))
        else:
            assert np.array_equal(y, wrap(target, [int(v) for v in values.tolist()]))


def test_out_of_range_float_to_integer_is_defined():
    x = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30] * 4, np.float32)
    for target in ("i8", "i32", "ui64", "index"):
        run(["f32"], target, lambda p, v: p.cast(v, target), x)


@pytest.mark.parametrize("source,target", [c for c in itertools.product(FLOATS + INTEGERS, FLOATS + INTEGERS) if np.dtype(NUMPY[c[0]]).itemsize == np.dtype(NUMPY[c[1]]).itemsize])
def test_bitcast(source, target):
    x = specials(source)
    if source in FLOATS:
        x = x[~np.isnan(decode(source, x))]  # payloads are not observable
    if target in FLOATS:
        x = x[~np.isnan(decode(target, x.view(NUMPY[target])))]
    y = run([source], target, lambda p, v: p.bitcast(v, target), x)
    assert np.array_equal(y.view(np.uint8), x.view(np.uint8))


@pytest.mark.parametrize("size", [0, 1, 2, 15, 16, 17, 31, 97, 1024])
def test_sizes(size):
    x = np.random.default_rng(4).standard_normal(size).astype(np.float32)
    assert np.array_equal(run(["f32"], "f32", lambda p, v: p.binary("add", v, v), x), x + x)


@pytest.mark.parametrize("kind,dtype", [("exp", "i32"), ("sqrt", "index"), ("not", "f32")])
def test_illegal_unary_is_an_error(kind, dtype):
    with pytest.raises(HostError, match="does not take"):
        run([dtype], dtype, lambda p, v: p.unary(kind, v), specials(dtype))


@pytest.mark.parametrize("kind,dtype", [("pow", "i32"), ("div", "ui8"), ("shl", "f32"), ("and", "bf16")])
def test_illegal_binary_is_an_error(kind, dtype):
    with pytest.raises(HostError, match="does not take"):
        run([dtype, dtype], dtype, lambda p, a, b: p.binary(kind, a, b), specials(dtype), specials(dtype))
