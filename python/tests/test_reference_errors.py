"""What the reference says about wrong programs: the rules of the frontend that show when a program runs, and broken promises."""
import ml_dtypes
import numpy as np
import pytest

import intent
import intent.language as I
from intent.reference import elementwise
from intent.reference.operations import OPERATIONS
from programs import diagnostic, kernel, kir
from test_frontend_errors import CASES, FIRST, HELPERS, VIEWS, Mode, Other

# Rules about what names and types would be on paths that a run does not take, or about syntax that Python gives a meaning of its own.
STATIC = ("if x[0, 0] > 0:\n    t", "for i in range(3):\n    t", "for i in range(3):\n    pass", "t = x[0, 0]\nfor", "t = x[:, 0]\nfor", "t = 0.5\nfor",
          "d = I.domain(3)\nfor", "t = plain(1)", "t = 1000", "t = n in", "t = n is", "t = x[0, 0] if n > 0", "t = I.domain(3) if", "t = I.exp(v for", "[a] = ", "for i in (1, 2)",
          "assert", "if ~True", "t = [1", "t = lambda", "import", "t = f'", "t = mixed")
DYNAMIC = [case for case in CASES if not case[0].startswith(STATIC)]


def arguments():
    return [np.ones((5, 7), np.float32), np.ones((5, 7), np.float32), np.ones((5, 7), np.float16), 2, np.ones(7, bool), np.zeros(4, np.int32),
            np.ones(7, ml_dtypes.float8_e5m2), np.ones(8, np.float32)]


@pytest.mark.parametrize("case", DYNAMIC, ids=[c[0].splitlines()[-1] for c in DYNAMIC])
def test_rule(case):
    body, _, column, *line = case
    program = kernel(VIEWS, body, HELPERS, Mode=Mode, Other=Other, box=object(), math=__import__("math"))
    with pytest.raises(intent.LanguageError) as error:
        intent.interpret(program)(*arguments())
    if column:
        assert error.value.line == FIRST + (line[0] if line else 1) - 1


def reported(parameters, body, *values, before="", line=None, seed=0, **names):
    """The message of the LanguageError that a run ends in, after a check of its place; line 1 is the body's first."""
    program = kernel(parameters, body, before, **names)
    with pytest.raises(intent.LanguageError) as error:
        intent.interpret(program, seed=seed)(*values)
    assert error.value.filename.startswith("case") and error.value.source_line
    if line is not None:
        assert error.value.line == before.count("\n") + 2 + line
    return error.value.message


def f32(*shape):
    return np.ones(shape, np.float32)


X = 'x: I.In[I.f32, ("N",)], y: I.InOut[I.f32, ("M",)]'


def test_out_of_bounds():
    assert "index 0 is 5, out of range for extent 5" in reported(X, "M, = y.shape\ny[0] = x[M]", f32(5), f32(5), line=2)
    assert "index 0 is -1" in reported(X, "for i in I.parallel(I.domain(1)):\n    y[i - 1] = 2.0", f32(5), f32(5), line=2)
    assert "index 0 is 7" in reported(X, "y[I.indices(I.domain(8))] = 1.0", f32(5), f32(7), line=1)
    assert "does not lie within its source" in reported(X, "N, = x.shape\ny[:] = x[I.domain(N)[1:N + 1]]", f32(5), f32(5), line=2)
    assert "index 0 is 9" in reported(X, "y[:] = I.gather(x, index=I.indices(I.domain(5)) + 5, valid=I.indices(I.domain(5)) > 3, fill=0.0)", f32(5), f32(5))
    assert "out of range for extent 5 of view 'x'" in reported(X, "i = I.indices(I.domain(6))\nI.assume_in_bounds(i, x, 0)", f32(5), f32(5), line=2)


def test_invalid_lanes_touch_no_memory():
    y = f32(5)
    program = kernel(X, "i = I.indices(I.domain(5))\ny[:] = I.gather(x, index=i * 100, valid=i == 0, fill=-1.0)")
    intent.interpret(program)(np.array([3], np.float32), y)
    np.testing.assert_array_equal(y, [3, -1, -1, -1, -1])


def test_unwritten_memory():
    out = 'x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)], z: I.Out[I.f32, ("N",)]'
    assert "view 'y' is read at [0] before anything is written" in reported(out, "z[:] = y[:]", f32(3), f32(3), f32(3), line=1)
    assert "view 'y' is read at [2]" in reported(out, "y[I.domain(2)] = x[I.domain(2)]\nz[:] = y[:]", f32(3), f32(3), f32(3), line=2)
    assert "view 'y' is read at [0]" in reported(out, "y[0] += 1.0", f32(3), f32(3), f32(3), line=1)
    assert "buffer of line 3" in reported(out, "b = I.buffer((4,), I.f32)\nb[1] = 0.0\nz[0] = b[0]", f32(3), f32(3), f32(3), line=3).replace("'", "")
    y, z = intent.interpret(kernel(out, "y[:] = x[:]\nz[:] = y[:] + 1.0")).run(f32(3))
    np.testing.assert_array_equal(z, 2)
    scatter = "I.scatter_reduce(y, index=(0,), value=1.0, combine=I.add)"
    assert "view 'y' is read at [0]" in reported(out, scatter, f32(3), f32(3), f32(3), line=1)


def test_scatter_collisions():
    both = 'x: I.In[I.f32, ("N",)], at: I.In[I.i64, ("N",)], y: I.InOut[I.f32, ("M",)]'
    at = np.array([0, 3, 1, 3])
    assert "2 lanes write view 'y' at [3]" in reported(both, "I.scatter_unique(y, index=(at[:],), value=x[:])", f32(4), at, f32(5), line=1)
    assert "different values into one element of view 'y'" in reported(both, "y[at[:]] = x[:]", np.arange(4, dtype=np.float32), at, f32(5), line=1)
    y = f32(5)
    intent.interpret(kernel(both, "I.scatter_unique(y, index=(at[:],), value=x[:])"))(f32(4) * 2, np.array([4, 0, 2, 1]), y)
    np.testing.assert_array_equal(y, [2, 2, 2, 1, 2])


@pytest.mark.parametrize("body, words", [
    ("for i in I.parallel(I.domain(4)):\n    y[0] = x[i]", "writes an element of view 'y'"),
    ("for i in I.parallel(I.domain(4)):\n    y[i // 2] = x[i]", "writes an element of view 'y'"),
    ("for i in I.parallel(I.domain(4)):\n    y[i] = y[(i + 1) % 4]", "view 'y'"),
    ("for i in I.parallel(I.domain(4)):\n    y[0] += x[i]", "view 'y'"),
    ("for i, j in I.parallel((I.domain(2), I.domain(2))):\n    y[i] = x[j]", "view 'y'"),
    ("for i in I.parallel(I.domain(2)):\n    for j in I.parallel(I.domain(2)):\n        y[j] = x[i]", "view 'y'"),
    ("b = I.buffer((1,), I.f32, init=0.0)\nfor i in I.parallel(I.domain(4)):\n    b[0] = x[i]", "buffer"),
    ("for i in I.parallel(I.domain(4)):\n    I.atomic.add(y, 0, 1.0)\n    y[1] = y[0]", "view 'y'"),
    ("for i in I.parallel(I.domain(4)):\n    y[I.domain(3)] = 1.0", "view 'y'"),
])
@pytest.mark.parametrize("seed", [0, 1])
def test_races(body, words, seed):
    message = reported(X, body, f32(4), f32(4), seed=seed)
    assert message.startswith("iterations of an I.parallel loop conflict: ") and words in message


@pytest.mark.parametrize("body", [
    "for i in I.parallel(I.domain(4)):\n    y[i] = x[0]",
    "for i in I.parallel(I.domain(4)):\n    y[i] = y[i] + 1.0\n    y[i] = y[i] * 2.0",
    "for i in I.parallel(I.domain(4)):\n    b = I.buffer((2,), I.f32, init=0.0)\n    b[0] = x[i]\n    y[i] = b[0] + b[1]",
    "for k in range(3):\n    for i in I.parallel(I.domain(4)):\n        y[(i + k) % 4] = x[i]",
    "for i in I.parallel(I.domain(4)):\n    I.atomic.add(y, 0, 1.0)\n    I.scatter_reduce(y, index=(1,), value=1.0, combine=I.add)",
    "for i in I.parallel(I.domain(2)):\n    for j in I.parallel(I.domain(2)):\n        y[2 * i + j] = x[j]\n    y[2 * i] = y[2 * i + 1]",
    "for i in I.parallel(I.domain(4)):\n    if i == 2:\n        continue\n    y[i] = x[i]\nfor i in I.parallel(I.domain(4)):\n    y[3 - i] = x[i]",
])
def test_loops_without_conflict(body):
    for seed in range(3):
        intent.interpret(kernel(X, body), seed=seed)(f32(4), f32(4))


def test_overlapping_views_conflict_too():
    memory = np.arange(8, dtype=np.float32)
    body = "for i in I.parallel(I.domain(4)):\n    y[i] = x[i]"
    assert "conflict" in reported(X, body, memory[:4], memory[1:5])
    intent.interpret(kernel(X, body))(memory[:4], memory[4:])


SUM = "@intent.fn\ndef whole(v):\n    return {summary}\n@intent.fn\ndef join(a, b):\n    return {join}\n"
FOLD = "y[0] = I.region_fold(source=(x[:],), axis=0, summarize=whole, combine=join, identity={identity})"


@pytest.mark.parametrize("summary, join, identity, words", [
    ("I.reduce.mean(v, axis=0)", "a + b", "0.0", "summarize(A ++ B) equals combine(summarize(A), summarize(B))"),
    ("v[0]", "a", "0.0", "combine(identity, s) equals s"),
    ("I.reduce.sum(v, axis=0)", "a + b", "1.0", "combine(identity, s) equals s"),
    ("I.reduce.max(v, axis=0)", "I.maximum(a, b)", "0.0", "combine(identity, s) equals s"),
    ("I.reduce.sum(v, axis=0) * I.cast(v.shape[0], I.f32)", "a + b", "0.0", "summarize(A ++ B)"),
    ("I.reduce.sum(v, axis=0)", "a - b", "0.0", "combine(identity, s) equals s"),
])
def test_broken_folds(summary, join, identity, words):
    x = -np.linspace(1, 2, 9, dtype=np.float32)
    message = reported(X, FOLD.format(identity=identity), x, f32(1), before=SUM.format(summary=summary, join=join), line=1)
    assert message.startswith("I.region_fold: ") and words in message


def test_folds_that_keep_the_laws():
    for join, summary, identity, want in [("a + b", "I.reduce.sum(v, axis=0)", "0.0", 45), ("I.maximum(a, b)", "I.reduce.max(v, axis=0)", "-I.inf", 9),
                                          ("a * b", "I.reduce.prod(v, axis=0)", "1.0", 362880)]:
        for n, expected in ((9, want), (0, float(identity.replace("I.", "")))):
            y = f32(1)
            intent.interpret(kernel(X, FOLD.format(identity=identity), SUM.format(summary=summary, join=join)))(np.arange(1, n + 1, dtype=np.float32), y)
            np.testing.assert_array_equal(y, np.float32(expected))


@pytest.mark.parametrize("summary", ["I.reduce.sum(v, axis=0)", "I.cast(I.reduce.sum(I.cast(v, I.f64), axis=0), I.f32)", "I.cumsum(v, axis=0)[v.shape[0] - 1]",
                                     "I.dot(v, v, acc_dtype=I.f32)[()]", "I.reduce(v, axis=0, identity=0.0, combine=I.add)"])
def test_folds_that_sum_in_a_narrower_format(summary):
    x, y = np.random.default_rng(5).standard_normal(40).astype(np.float32), f32(1)
    before = SUM.format(summary=f"I.cast({summary}, I.f64)", join="a + b")
    for seed in range(3):
        intent.interpret(kernel(X, "y[0] = I.cast(" + FOLD[7:].format(identity="0.0") + ", I.f32)", before), seed=seed)(x, y)
    exact = x.astype(float)
    np.testing.assert_allclose(y[0], (exact * exact if "dot" in summary else exact).sum(), atol=1e-5)
    # What was rounded to f64 alone keeps the bound of f64, whatever the source is.
    before = SUM.format(summary="I.reduce.sum(I.cast(v, I.f64), axis=0) * (1.0 + 1e-9 * I.cast(v.shape[0], I.f64))", join="a + b")
    assert "summarize(A ++ B)" in reported(X, "y[0] = I.cast(" + FOLD[7:].format(identity="0.0") + ", I.f32)", x, f32(1), before=before, line=1)


def test_the_identity_of_an_empty_fold_has_the_summarys_dtype():
    body = "y[0] = I.cast(I.region_fold(source=(I.cast(x[:], I.i32),), axis=0, summarize=whole, combine=join, identity=7) + I.cast(1, I.i32), I.f32)"
    y = f32(1)
    intent.interpret(kernel(X, body, SUM.format(summary="I.reduce.sum(v, axis=0)", join="a + b")))(f32(0), y)
    assert y[0] == 8


SCAN = """@intent.fn
def whole(v):
    return I.reduce.sum(v, axis=0)
@intent.fn
def step(t, s):
    return {step}
@intent.fn
def out(v, s):
    return {out}
"""
SCANNED = "o, s = I.region_scan(source=(x[:],), axis=0, summarize=whole, combine=I.add, identity=0.0, initial_state=I.cast(2.0, I.f32), apply=step, emit=out)\ny[:] = o"


@pytest.mark.parametrize("step, out, words", [
    ("s + t", "v + s", "emit(A ++ B, s) equals emit(A, s) ++ emit(B, apply(summarize(A), s))"),
    ("s - t", "I.cumsum(v, axis=0) + s", "emit(A ++ B, s)"),
    ("s * t", "I.cumsum(v, axis=0) + s", "apply(identity, s) equals s"),
])
def test_broken_scans(step, out, words):
    message = reported(X, SCANNED, np.arange(1, 8, dtype=np.float32), f32(7), before=SCAN.format(step=step, out=out), line=1)
    assert message.startswith("I.region_scan: ") and words in message


def test_a_scan_that_keeps_the_laws():
    x, y = np.arange(1, 8, dtype=np.float32), f32(7)
    intent.interpret(kernel(X, SCANNED, SCAN.format(step="s + t", out="I.cumsum(v, axis=0) + s")))(x, y)
    np.testing.assert_array_equal(y, 2 + np.cumsum(x))


def test_helpers_carry_a_note_of_their_caller():
    program = kernel(X, "y[0] = first(x)", "@intent.fn\ndef first(v):\n    return v[9]\n")
    with pytest.raises(intent.LanguageError) as error:
        intent.interpret(program)(f32(3), f32(3))
    assert error.value.line == 3 and [(n.message, n.line) for n in error.value.notes] == [("in 'first', called here", 6)]
    assert "return v[9]\n             ^~~~" in str(error.value)


def test_parallel_loops_are_not_left():
    assert "not left by break or return" in reported(X, "for i in I.parallel(I.domain(3)):\n    break", f32(3), f32(3), line=2)
    assert "not left by break or return" in reported(X, "for i in I.parallel(I.domain(3)):\n    return", f32(3), f32(3), line=2)


def test_combine_functions_have_no_effects():
    before = "@intent.fn\ndef put(a, b, v):\n    v[0] = a\n    return a\n"
    assert "a combine function has no effects; it writes 'y'" in reported(X, "y[0] = I.reduce(x[:], 0, 0.0, put, (y,))", f32(3), f32(3), before=before)


def test_python_errors_become_the_authors():
    assert "compile-time division by zero" in reported(X, "t = 1 // 0", f32(3), f32(3), line=1)
    assert "referenced before" in reported(X, "if x[0] > 5.0:\n    t = x[0]\ny[0] = t", f32(3), f32(3), line=3).replace("cannot access local variable 't' where it is not associated", "referenced before")
    assert reported(X, "y[0] = missing", f32(3), f32(3), line=1) == "name 'missing' is not defined"


MISTAKES = {"a + missing": "name 'missing'", "(a, b)[2]": "tuple index out of range", "(a, b).first": "no attribute 'first'", "a + 1 // 0": "by zero", "a + I": "operand"}
CALLED = {
    "reduce": "y[0] = I.reduce(x[:], axis=0, identity=0.0, combine=f)",
    "scan": "y[:] = I.scan(x[:], axis=0, identity=0.0, combine=f)",
    "scatter_reduce": "I.scatter_reduce(y, index=(0,), value=1.0, combine=f)",
    "fold combine": "y[0] = I.region_fold(source=(x[:],), axis=0, summarize=one, combine=f, identity=0.0)",
    "fold summarize": "y[0] = I.region_fold(source=(x[:],), axis=0, summarize=over, combine=I.add, identity=0.0)",
    "scan apply": "o, s = I.region_scan(source=(x[:],), axis=0, summarize=one, combine=I.add, identity=0.0, initial_state=x[0], apply=f, emit=out)",
    "scan emit": "o, s = I.region_scan(source=(x[:],), axis=0, summarize=one, combine=I.add, identity=0.0, initial_state=x[0], apply=I.add, emit=f)",
}
CALLED_FROM = ("@intent.fn\ndef f(a, b):\n    return {}\n@intent.fn\ndef one(v):\n    return I.reduce.sum(v, axis=0)\n"
               "@intent.fn\ndef over(v):\n    return f(one(v), one(v))\n@intent.fn\ndef out(v, s):\n    return v\n")


@pytest.mark.parametrize("call", CALLED)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_python_errors_in_called_functions_become_the_authors(call, mistake):
    before = CALLED_FROM.format(mistake)
    message = reported(X, CALLED[call], f32(3), f32(3), before=before, line=1 - before.count("\n"))
    assert MISTAKES[mistake] in message or mistake == "a + I" and "expected" in message


def test_a_combine_that_is_no_function():
    for call in ("y[0] = I.reduce(x[:], axis=0, identity=0.0, combine=1.0)", "I.scatter_reduce(y, index=(0,), value=1.0, combine=1.0)"):
        assert "expected an @intent.fn or an operation of the language, got literal 1.0" in reported(X, call, f32(3), f32(3), line=1)


def test_a_failure_of_the_reference_is_its_own(monkeypatch):
    def fail(value):
        return {}[value]

    monkeypatch.setitem(OPERATIONS, "exp", fail)
    fail.__code__ = fail.__code__.replace(co_filename=elementwise.__file__)
    for body in ("y[0] = I.exp(x[0])", "y[0] = I.reduce(x[:], axis=0, identity=0.0, combine=f)"):
        with pytest.raises(intent.InternalError, match="the reference failed: "):
            intent.interpret(kernel(X, body, "@intent.fn\ndef f(a, b):\n    return I.exp(a)\n"))(f32(3), f32(3))


def test_operations_outside_a_kernel():
    with pytest.raises(intent.LanguageError, match="works only inside"):
        I.exp(1.0)


TOO_WIDE, ZERO = "the compile-time integer does not fit 128 bits", "compile-time division by zero"


@pytest.mark.parametrize("text, message", [
    ("2 ** 100000000", TOO_WIDE), ("1 << 10 ** 9", TOO_WIDE), ("BIG ** BIG", TOO_WIDE), ("DIMS[1] ** (SIZE * 20)", TOO_WIDE), ("1 << SIZE << BIG", TOO_WIDE),
    ("3 ** 90 * 3 ** 90", TOO_WIDE), ("-(2 ** 126)", TOO_WIDE), ("5 // (BIG - BIG)", ZERO), ("5 % (SIZE - 7)", ZERO), ("0 ** -1", ZERO),
    ("1 >> 3 - BIG", "the shift amount is not negative, got -999999997"), ("(-1) ** BIG", None), ("0 << BIG", None), ("1 >> BIG", None),
    ("(2 ** 125 - 1) * 2 + 1", None), ("2 ** -2", None)])
def test_integers_of_the_text_have_the_range_of_the_compiler(text, message):
    before = f"BIG, DIMS = 10 ** 9, (1, 3)\n@intent.fn\ndef both(a, b, k):\n    n = {text.replace('SIZE', 'k')}\n    return a + b\n"
    before = f"{before}@intent.fn\ndef f(a, b):\n    return both(a, b, 7 * 100 - 693)\n"
    program = kernel('x: I.In[I.f32, ("N",)], y: I.Out[I.f32, (1,)]', "y[0] = I.reduce(x[:], 0, 0.0, f)", before)
    if message is None:
        assert kir(program) and intent.interpret(program).run(f32(4)) == 4
        return
    found = diagnostic(program)
    with pytest.raises(intent.LanguageError) as error:
        intent.interpret(program).run(f32(4))
    assert found["message"] == error.value.message == message and found["line"] == error.value.line == 4


def test_constexprs_and_closures_have_that_range():
    def closed(size):
        @intent.kernel
        def k(x: I.InOut[I.f32, ("N",)], K: I.Constexpr[int], L: I.Constexpr[int] = 3):
            n = size ** K ** L
            x[0] = n
        return k

    for size, power, value in ((2, 2, 256.0), (2, 10 ** 6, None), (10 ** 9, 2, None)):
        run = intent.interpret(closed(size), constexprs={"K": power})
        if value is None:
            with pytest.raises(intent.LanguageError, match=TOO_WIDE):
                run(f32(1))
        else:
            x = f32(1)
            run(x)
            assert x[0] == value
