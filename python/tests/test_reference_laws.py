"""What an author declares by `I.reduce`, `I.scan` and `I.scatter_reduce`: broken laws are reported, and rounding, ties and masks are none."""
import numpy as np
import pytest

import intent
from programs import kernel

X = 'x: I.In[I.{0}, ("N",)], y: I.InOut[I.{0}, ("M",)]'
RNG = np.random.default_rng(3)
COMBINES = """@intent.fn
def f(a, b):
    return {}
"""
ANY = "I.reduce(x[:], axis=0, identity={}, combine=f)"
PREFIX = "I.scan(x[:], axis=0, identity={}, combine=f)"


def run(body, x, combine="a + b", before=COMBINES, dtype="f32", count=1, seed=0):
    y = np.zeros(count, np.asarray(x).dtype)
    intent.interpret(kernel(X.format(dtype), body, before.format(combine)), seed=seed)(np.asarray(x), y)
    return y


BROKEN = [
    (ANY.format("0.0"), "a - b", "combine is associative"),
    (ANY.format("1.0"), "a + b", "combine(identity, s) equals s"),
    (ANY.format("0.0"), "I.maximum(a, b)", "combine(identity, s) equals s"),
    (ANY.format("I.inf"), "I.maximum(a, b)", "combine(identity, s) equals s"),
    (ANY.format("0.0"), "b", "combine is commutative"),
    (ANY.format("0.0"), "(a + b) * 0.5", "combine is associative"),
    (PREFIX.format("0.0"), "a - b", "combine is associative"),
    (PREFIX.format("1.0"), "a + b", "combine(identity, s) equals s"),
    (PREFIX.format("0.0"), "a", "combine(identity, s) equals s"),
    (PREFIX.format("0.0"), "I.minimum(I.maximum(a + b, -1.5), 1.5)", "combine is associative"),
]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("form, combine, law", BROKEN)
def test_broken_laws(form, combine, law, seed):
    x = np.where(np.arange(12) % 3 == 0, -1, 1) * np.linspace(1, 2, 12, dtype=np.float32)
    x = -np.abs(x) if "maximum(a, b)" in combine else x
    left = "y[0]" if "reduce" in form else "y[:]"
    with pytest.raises(intent.LanguageError) as error:
        run(f"{left} = {form}", x.astype(np.float32), combine, count=1 if left == "y[0]" else 12, seed=seed)
    assert error.value.message.startswith(("I.reduce: ", "I.scan: ")) and law in error.value.message
    assert error.value.line == 6 and error.value.source_line


def test_a_scatter_that_depends_on_the_order():
    body = "I.scatter_reduce(y, index=(I.cast(x[:], I.index) % 2,), value=x[:], combine=f)"
    with pytest.raises(intent.LanguageError, match="I.scatter_reduce: values combine in any order"):
        run(body, np.arange(1, 9, dtype=np.float32), "b", count=2)
    np.testing.assert_array_equal(run(body, np.arange(8, dtype=np.float32), "a + b", count=2), [12, 16])
    np.testing.assert_array_equal(run(body, np.arange(8, dtype=np.float32), "a - b", count=2), [-12, -16])
    assert run("I.scatter_reduce(y, index=(I.cast(x[:], I.index),), value=x[:], combine=f)", np.arange(3, dtype=np.float32), "b", count=3)[2] == 2


SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 3e38, -3e38, 1e-45, 2.5, 2.5]
KEPT = [
    ("0.0", "a + b", "f32", RNG.standard_normal(3000)), ("1.0", "a * b", "f32", RNG.standard_normal(60) * 1e3), ("0.0", "a + b", "f16", RNG.standard_normal(500)),
    ("1.0", "a * b", "f32", 10.0 ** RNG.integers(-20, 20, 40)), ("-I.inf", "I.maximum(a, b)", "f32", SPECIAL), ("I.inf", "I.minimum(a, b)", "f64", SPECIAL),
    ("-I.inf", "I.maximum_num(a, b)", "f32", SPECIAL), ("0.0", "a + b", "f32", SPECIAL), ("0", "a + b", "i8", RNG.integers(-128, 128, 50)), ("1", "a * b", "i32", RNG.integers(-2**31, 2**31, 50)),
    ("0", "a ^ b", "u16", RNG.integers(0, 2**16, 50)), ("-1", "a & b", "i16", RNG.integers(-2**15, 2**15, 50)), ("-128", "I.maximum(a, b)", "i8", [-128, 127, -128, 5, 5]),
    ("0.0", "I.minimum(a + b, 1.0)", "f32", RNG.random(30) * 2), ("0", "I.minimum(a + b, 100)", "i32", [150, 3, 200, 0, 0, 7]),
    ("-I.inf", "I.maximum(a, b) + I.log1p(I.exp(-I.abs(a - b)))", "f32", RNG.standard_normal(40) * 50), ("0.0", "a + b", "f32", []), ("7.0", "a + b", "f32", [3.0]),
    ("0.0", "a + b - a * b", "f64", RNG.random(40)),
]


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("identity, combine, dtype, x", KEPT)
def test_laws_that_hold(identity, combine, dtype, x, seed):
    x = np.asarray(x).astype({"f": "float", "i": "int", "u": "uint"}[dtype[0]] + dtype[1:])
    run("y[0] = " + ANY.format(identity), x, combine, dtype=dtype, seed=seed)
    run("y[:] = " + PREFIX.format(identity), x, combine, dtype=dtype, count=len(x), seed=seed)
    run("y[:] = " + PREFIX.format(identity).replace("combine=f", "combine=f, reverse=True, inclusive=False"), x, combine, dtype=dtype, count=len(x), seed=seed)


FIRST = """@intent.fn
def f(a, b):
    take = (b.v > a.v) | ((b.v == a.v) & (b.at < a.at))
    return I.record(v=I.select(take, b.v, a.v), at=I.select(take, b.at, a.at))
"""
TIED = """@intent.fn
def f(a, b):
    first = a.v >= b.v
    return I.record(v=I.select(first, a.v, b.v), at=I.select(first, a.at, b.at))
"""
FILLED = """@intent.fn
def f(a, b):
    v, at = b.v, b.at
    if b.at == 0:
        v, at = a.v, a.at
    return I.record(v=v, at=at)
"""
MASKED = """@intent.fn
def f(a, b):
    kept = I.maximum(I.select(a.at > 0, a.v, -I.inf), I.select(b.at > 0, b.v, -I.inf))
    some = (a.at > 0) | (b.at > 0)
    return I.record(v=I.select(some, kept, a.v), at=I.maximum(a.at, b.at))
"""
SUMMED = """@intent.fn
def f(a, b):
    s = a.v + b.v
    t = s - a.v
    return I.record(v=s, at=a.at + b.at + ((a.v - (s - t)) + (b.v - t)))
"""
WELFORD = """@intent.fn
def f(a, b):
    n = a.n + b.n
    d = b.v - a.v
    w = b.n / I.maximum(n, 1.0)
    return I.record(v=a.v + d * w, m=a.m + b.m + d * d * a.n * w, n=n)
"""


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("before, value, identity, forms", [
    (FIRST, "I.record(v=x[:], at=I.indices(I.domain(N)))", "I.record(v=-I.inf, at=0)", "reduce scan"),
    (TIED, "I.record(v=x[:], at=I.indices(I.domain(N)))", "I.record(v=-I.inf, at=0)", "reduce scan"),
    (FILLED, "I.record(v=x[:], at=I.indices(I.domain(N)) % 3)", "I.record(v=0.0, at=0)", "scan"),
    (MASKED, "I.record(v=x[:], at=I.indices(I.domain(N)) % 2)", "I.record(v=0.0, at=0)", "reduce scan"),
    (SUMMED, "I.record(v=x[:], at=I.full((N,), 0.0, I.f32))", "I.record(v=0.0, at=0.0)", "reduce scan"),
    (WELFORD, "I.record(v=x[:], m=I.full((N,), 0.0, I.f32), n=I.full((N,), 1.0, I.f32))", "I.record(v=0.0, m=0.0, n=0.0)", "reduce scan"),
])
def test_laws_of_products_that_hold(before, value, identity, forms, seed):
    for x in (RNG.standard_normal(50), RNG.integers(-2, 2, 40), [-np.inf, 1, np.nan, 1, -np.inf, 1, 2, 2], [], [4.0]):
        x = np.asarray(x, np.float32)
        for form in forms.split():
            left = "y[0]" if form == "reduce" else "y[:]"
            run(f"N, = x.shape\n{left} = I.{form}({value}, axis=0, identity={identity}, combine=f).v", x, before=before.replace("{", "{{"), count=len(x) if form == "scan" else 1, seed=seed)


def test_laws_of_products_that_break():
    value, identity = "I.record(v=x[:], at=I.indices(I.domain(N)))", "I.record(v={}, at=0)"
    for before, start, law in ((FIRST, "0.0", "combine(identity, s) equals s"), (FIRST.replace("take = ", "take = (b.at >= 0) | "), "-I.inf", "combine is commutative")):
        with pytest.raises(intent.LanguageError) as error:
            run(f"N, = x.shape\ny[0] = I.reduce({value}, axis=0, identity={identity.format(start)}, combine=f).v", -np.linspace(1, 2, 20, dtype=np.float32), before=before)
        assert law in error.value.message


def test_captured_operands_keep_their_lanes():
    parameters = 'x: I.In[I.f32, ("M", "N")], k: I.In[I.f32, ("M",)], y: I.Out[I.f32, ("M",)]'
    before = "@intent.fn\ndef f(a, b, k):\n    return (a + k) * (b + k) - k\n"
    x, k = RNG.random((40, 9)).astype(np.float32), RNG.random(40).astype(np.float32) + 0.5
    program = kernel(parameters, "y[:] = I.reduce(x[:, :], axis=1, identity=0.0, combine=f, combine_operands=(k[:],))", before)
    with pytest.raises(intent.LanguageError, match="combine\\(identity, s\\) equals s"):
        intent.interpret(program).run(x, k)
    ones = np.ones(40, np.float32)
    np.testing.assert_allclose(intent.interpret(program).run(x, ones), np.prod(x.astype(float) + 1, axis=1) - 1, rtol=1e-4)
