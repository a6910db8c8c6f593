"""Source, names and annotations as request fields."""
import math
import sys

import intent
import intent.language as I
import numpy as np
import pytest
from intent.capture import capture
from programs import define, kernel

VIEWS = 'x: I.In[I.f32, ("M", 4)], y: I.Out[I.f32, ("M", 4)]'


def parents(nodes):
    seen = []
    for number, (_, _, _, _, _, _, fields) in enumerate(nodes):
        for name, value in fields.items():
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, int):
                    assert child < number
                    seen.append(child)
    return seen


@intent.kernel
def accents(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]):
    été = x[:]; y[:] = été + nowhere  # noqa: E702


@intent.kernel
def accents_of_types(x: I.In[I.f32, ("N",)], i: I.In[I.i32, ("N",)], y: I.Out[I.f32, ("N",)]):
    été = x[:]; y[:] = été + i[:]  # noqa: E702


@pytest.mark.parametrize("kernel, column, end", [(accents, 30, None), (accents_of_types, 24, 34)])
def test_columns_count_characters(kernel, column, end):
    with pytest.raises(intent.LanguageError) as caught:
        intent.compile(kernel)
    assert caught.value.column == column and end in (None, caught.value.end_column)


def test_nodes_are_flat_and_children_come_first():
    request = capture(kernel(VIEWS, "y[:, :] = x[:, :] + 1"))
    used = parents(request["nodes"])
    assert len(used) == len(set(used))
    assert [n[0] for n in request["nodes"]][-1] == "FunctionDef"
    assert ["Constant", 0, 3, 24, 3, 25, {"value": {"int": "1"}}] in request["nodes"]
    assert request["files"][0]["lines"][2] == "    y[:, :] = x[:, :] + 1"


def test_a_sum_of_thousands_of_terms():
    request = capture(kernel(VIEWS, "y[0, 0] = " + " + ".join(["x[0, 0]"] * 2500)))
    assert sum(n[0] == "BinOp" for n in request["nodes"]) == 2499


def test_parameters():
    T = I.TypeVar("T", I.f16, I.bf16)
    k = kernel('x: I.In[T, ("M", 4, "K"), I.constraints(noalias=True, alias="g", strides=(1, "S", None))], n: I.i32, e: I.f32 = 0.5, *, K: I.Constexpr[int] = 3',
               "pass", T=T)
    x, n, e, K = capture(k)["functions"][0]["params"]
    assert x == {"kind": "view", "name": "x", "node": x["node"], "access": "in", "dtype": {"typevar": "T", "dtypes": ["f16", "bf16"]}, "shape": ["M", 4, "K"],
                 "noalias": True, "alias": "g", "strides": [1, "S", None]}
    assert n["default"] is None and e["default"] == {"float": "0x1.0000000000000p-1"}
    assert K["type"] == "int" and K["default"] == {"int": "3"}


def test_annotations_may_be_strings():
    k = define("from __future__ import annotations\n@intent.kernel\ndef k(x: I.In[I.f32, ('M',)], s: I.f32):\n    pass\n")
    assert [p["kind"] for p in capture(k)["functions"][0]["params"]] == ["view", "scalar"]


class Mode(I.Enum):
    FAST = 1
    EXACT = 2


def test_names():
    @intent.fn
    def helper(v, mode: I.Constexpr[Mode] = Mode.FAST):
        return v

    limit, pair, token = 1e300, (1, (True, "s")), I.bf16

    @intent.kernel
    def k(x: I.In[I.f32, ("M",)]):
        helper(x, Mode.EXACT)
        limit, pair, token, math.pi, I.exp, range(3), print, [].append, missing  # noqa: F821

    request = capture(k)
    names = request["functions"][0]["names"]
    assert names["helper"] == {"function": 1} and names["Mode"] == {"enum": {"name": "Mode", "members": ["FAST", "EXACT"]}}
    assert names["limit"] == {"constant": {"float": (1e300).hex()}}
    assert names["pair"] == {"constant": {"tuple": [{"int": "1"}, {"tuple": [{"bool": True}, {"str": "s"}]}]}}
    assert names["token"] == {"constant": {"dtype": "bf16"}}
    assert names["math"] == {"module": "math"} and names["math.pi"] == {"constant": {"float": math.pi.hex()}}
    assert names["I"] == {"module": "intent.language"} and names["range"] == {"builtin": "range"} and names["print"] == {"builtin": "print"}
    assert "missing" not in names
    assert request["functions"][1]["params"][1]["default"] == {"enum": {"type": "Mode", "member": "FAST"}}


def test_names_imported_from_the_language():
    k = define("from intent.language import exp as e, reduce, f32, inf\nclass Box: pass\n@intent.kernel\ndef k(x: I.In[I.f32, ('M',)]):\n    e, reduce.sum, f32, inf, Box\n")
    names = capture(k)["functions"][0]["names"]
    assert names == {"e": {"intrinsic": "exp"}, "reduce": {"intrinsic": "reduce"}, "f32": {"constant": {"dtype": "f32"}}, "inf": {"constant": {"float": "inf"}},
                     "Box": {"unsupported": "type"}}


def test_an_unchanged_function_is_read_once():
    k = kernel(VIEWS, "y[:, :] = x[:, :]")
    assert k.source() is k.source()
    assert capture(k)["nodes"] == capture(k)["nodes"]


def test_globals_are_read_at_each_capture():
    k = kernel(VIEWS, "y[:, :] = S", S=1)
    assert capture(k)["functions"][0]["names"]["S"] == {"constant": {"int": "1"}}
    k.function.__globals__["S"] = 2.0
    assert capture(k)["functions"][0]["names"]["S"] == {"constant": {"float": "0x1.0000000000000p+1"}}


def test_what_is_no_kind_of_the_language_is_a_leaf():
    nodes = capture(kernel(VIEWS, "a = [i for i in x]\nb = lambda v: v\nc = b'1'\ndef inner():\n    return 1\nwith x:\n    pass"))["nodes"]
    leaves = [n[0] for n in nodes if not n[6]]
    assert [k for k in leaves if k not in ("Slice",)] == ["ListComp", "Lambda", "Bytes", "NestedFunction", "With"]


@pytest.mark.parametrize("parameters, message", [
    ("x", "parameter 'x' has no annotation; expected I.In, I.Out or I.InOut, a dtype, or I.Constexpr"),
    ("x: int", "parameter 'x' is annotated with <class 'int'>; expected I.In, I.Out or I.InOut, a dtype, or I.Constexpr"),
    ("x: 'I.In[I.f32, 3]'", "annotation of parameter 'x': I.In: expected a shape tuple such as (\"M\", 128), got 3"),
    ("x: 'nowhere.T'", "annotation of parameter 'x' does not evaluate: name 'nowhere' is not defined"),
    ("*x: I.f32", "parameter 'x' of 'k' collects arguments; the language has fixed parameters"),
    ("x: I.In[I.f32, ('M',)] = 1", "parameter 'x' is a view and takes no default"),
    ("x: I.f32 = []", "default of parameter 'x': expected an immutable constant, got list"),
])
def test_bad_parameters(parameters, message):
    with pytest.raises(intent.LanguageError) as caught:
        capture(kernel(parameters, "pass"))
    assert caught.value.message == message
    assert (caught.value.line, caught.value.column) == (2, 8 if parameters.startswith("*") else 7)


@pytest.mark.parametrize("make, message", [
    (lambda: I.In[I.f32], "expected I.In[dtype, shape]"), (lambda: I.Out[int, ("M",)], "I.Out: expected a dtype"),
    (lambda: I.In[I.f32, (-1,)], "not negative"), (lambda: I.In[I.f32, (True,)], "int or a symbol string"),
    (lambda: I.InOut[I.f32, ("M",), 3], "expected I.constraints"), (lambda: I.In[I.f32, ("M",), I.constraints(strides=(1, 2))], "one item per axis"),
    (lambda: I.constraints(noalias=1), "noalias"), (lambda: I.constraints(alias=1), "alias"), (lambda: I.constraints(strides=[1]), "strides"),
    (lambda: I.Constexpr[list], "I.Constexpr: expected"), (lambda: I.TypeVar("1"), "identifier"), (lambda: I.TypeVar("T", float), "expected dtypes"),
    (lambda: I.TypeVar("T", I.f16, I.f16), "repeated"), (lambda: I.dtype("f33"), "no dtype is named 'f33'"), (lambda: I.f32(1), "I.cast(value, I.f32)"),
    (lambda: I.Enum("Twice", {"A": 1, "B": 1}), "members A and B have one value, 1"),
    (lambda: I.exp(1.0), "I.exp is an operation of the author language"), (lambda: I.reduce.sum(1, axis=0), "I.reduce.sum is"),
    (lambda: I.atomic.add(1, 0, 1), "I.atomic.add is"), (lambda: intent.kernel(3), "decorates a function"),
    (lambda: capture(lambda: 0), "expected a function decorated with @intent.kernel"),
])
def test_host_side_errors(make, message):
    with pytest.raises(intent.LanguageError) as caught:
        make()
    assert message in str(caught.value)


def test_a_helper_is_not_called_on_the_host():
    helper = define("@intent.fn\ndef k(x):\n    return x\n")
    with pytest.raises(intent.LanguageError, match="k is an @intent.fn"):
        helper(1)


def test_bad_constexprs_and_types():
    k = kernel(VIEWS, "pass")
    with pytest.raises(intent.LanguageError, match="constexpr 'K': expected an int, float, bool, str or enum member, got list"):
        capture(k, {"K": []})
    with pytest.raises(intent.LanguageError, match="type variable 'T': expected a dtype, got int"):
        capture(k, None, {"T": 3})


@pytest.mark.parametrize("shape", ['"M\\""', '"%M"', '"M\\n"', '"M\\\\"', '"M?"', '"\\ud800"', "2**63"])
def test_extents_and_strides_that_no_request_holds(shape):
    for parameters in (f"x: I.In[I.f32, ({shape},)], y: I.Out[I.f32, (4,)]", f'x: I.In[I.f32, ("M",), I.constraints(strides=({shape},))], y: I.Out[I.f32, (4,)]'):
        for run in (intent.compile, intent.interpret):
            with pytest.raises(intent.LanguageError, match="parameter 'x': expected (a symbol without|an int of 64 bits)") as caught:
                run(kernel(parameters, "y[:] = 0.0"))
            assert (caught.value.line, caught.value.column) == (2, 10) and caught.value.filename.startswith("case")
    helper = f"@intent.fn\ndef f(v: I.In[I.f32, ({shape},)]):\n    return v[0]\n"
    with pytest.raises(intent.LanguageError, match="parameter 'v': expected"):
        capture(kernel(VIEWS, "y[0, 0] = f(x)", helper))


def test_an_int_stands_for_a_constexpr_float():
    scaled = kernel(VIEWS + ", D: I.Constexpr[float] = 10**40", "y[:, :] = x[:, :]")
    request = capture(scaled, {"D": 10**40})
    assert request["constexprs"] == {"D": {"float": 1e40.hex()}}
    assert request["functions"][0]["params"][2]["default"] == {"float": 1e40.hex()}
    for make in (lambda: intent.compile(scaled, constexprs={"D": 10**400}), lambda: intent.interpret(scaled, constexprs={"D": 10**5000}),
                 lambda: capture(kernel(VIEWS + ", D: I.Constexpr[float] = 10**400", "y[:, :] = x[:, :]")),
                 lambda: capture(kernel(VIEWS + ", D: I.f64 = 10**400", "y[:, :] = x[:, :]"))):
        with pytest.raises(intent.LanguageError, match="'D': expected an int that f64 holds, got one of [0-9]+ bits"):
            make()


FORMS = [
    ("@intent.kernel\nasync def k(x: I.In[I.f32, (4,)]):\n    pass\n", "'k' is written with async def", 2, 1),
    ("k = intent.kernel(lambda x: x)\n", "expected a function written with def, got a lambda", 1, None),
    ("@intent.kernel\ndef k(x: I.In[I.f32, (4,)]):\n    yield x\n", "yield is not part of the language", 3, 5),
    ("@intent.kernel\ndef k(x: I.In[I.f32, (4,)]):\n    if False:\n        yield from x\n", "yield is not part of the language", 4, 9),
    ("@intent.kernel\ndef k(x: I.In[I.f32, (4,)]):\n    a, *b = (1, 2, 3)\n", "a starred item is not a target of the language", 3, 8),
    ("@intent.kernel\ndef k(x: I.In[I.f32, (4,)]):\n    f(x)\n@intent.fn\nasync def f(v):\n    return v\n", "'f' is written with async def", 5, 1),
    ("@intent.kernel\ndef k(x: I.In[I.f32, (4,)]):\n    f(x)\nf = intent.fn(lambda v: v)\n", "got a lambda", 4, None),
    ("class A:\n    @intent.kernel\n    def k(__x: I.In[I.f32, (4,)]):\n        pass\nk = A.k\n", "Python changes the name '__x' to '_A__x'", 3, 11),
    ("class A:\n    @intent.kernel\n    def k(x: I.In[I.f32, (4,)]):\n        x[0] + __g\nk = A.k\n", "Python changes the name '__g' to '_A__g'", 4, 16),
    ("class A:\n    @intent.kernel\n    def k(x: I.In[I.f32, (4,)]):\n        x.__g\nk = A.k\n", "Python changes the name '__g' to '_A__g'", 4, 9),
]


@pytest.mark.parametrize("text, message, line, column", FORMS, ids=[f[1] for f in FORMS])
def test_definitions_that_python_reads_otherwise(text, message, line, column):
    for run in (intent.compile, intent.interpret):
        with pytest.raises(intent.LanguageError) as caught:
            run(define(text))
        assert message in caught.value.message and (caught.value.line, caught.value.column) == (line, column) and caught.value.source_line


def test_private_names_that_stay():
    inside = define("class A:\n    @intent.kernel\n    def k(x: I.In[I.f32, (4,)], y: I.Out[I.f32, (4,)]):\n        __t = x[:]\n        y[:] = __t\nk = A.k\n")
    outside = define("@intent.kernel\ndef k(__x: I.In[I.f32, (4,)], y: I.Out[I.f32, (4,)]):\n    y[:] = __x[:] * __g\n", __g=1.0)
    for program in (inside, outside):
        np.testing.assert_array_equal(intent.interpret(program).run(np.ones(4, np.float32)), 1)


@pytest.mark.parametrize("parameters", ["x: I.In[I.f32, (4,)], /, s: I.f32, *, y: I.Out[I.f32, (4,)], D: I.Constexpr[int] = 1",
                                        "D: I.Constexpr[int], x: I.In[I.f32, (4,)], s: I.f32, y: I.Out[I.f32, (4,)], /"])
def test_how_python_passes_an_argument_does_not_matter(parameters):
    helpers = "@intent.fn\ndef f(a, /, *, b):\n    return a + b\n"
    program = kernel(parameters, "y[:] = f(a=x[:], b=s) * f(x[:], s)", helpers)
    for run in (intent.compile, intent.interpret):
        np.testing.assert_array_equal(run(program, constexprs={"D": 2}).run(np.arange(4, dtype=np.float32), 2.0), [4, 9, 16, 25])


def test_source_that_is_gone_or_changed():
    namespace = {"intent": intent, "I": I}
    exec("@intent.kernel\ndef k(x: I.f32):\n    pass\n", namespace)
    with pytest.raises(intent.LanguageError, match="source of 'k' is not available"):
        capture(namespace["k"])
    import linecache
    k = kernel(VIEWS, "pass")
    path = k.function.__code__.co_filename
    for text, message in (("x = 1\n", "changed since it was loaded"), ("def (\n", "no longer parses"), ("x = " + "-" * 100000 + "1\n", "nests too deeply")):
        linecache.cache[path] = (len(text), None, text.splitlines(True), path)
        k._source = None
        with pytest.raises(intent.LanguageError, match=message):
            capture(k)


@pytest.mark.parametrize("annotation, message, column, end", [
    ('I.f33', "the language has no I.f33; did you mean I.f32?", 10, 15),
    ('I.In[I.f32, ("M", -1)]', "I.In: an extent is not negative, got -1", 10, 32),
    ('I.In[I.f32]', r"expected I.In[dtype, shape] or I.In[dtype, shape, I.constraints(...)], got I.f32", 10, 21),
    ('I.Constexpr[list]', "I.Constexpr: expected int, float, bool, str or an I.Enum, got <class 'list'>", 10, 27),
])
def test_wrong_annotations_have_a_place(annotation, message, column, end):
    with pytest.raises(intent.LanguageError) as caught:
        kernel(f"x: {annotation}", "pass")
    error = caught.value
    assert error.message == message and error.line == 2 and error.source_line == f"def k(x: {annotation}):"
    if sys.version_info >= (3, 11):
        assert (error.column, error.end_column) == (column, end)


def test_names_are_looked_up_as_python_does():
    assert not hasattr(I, "nothing_such") and not hasattr(I, "__nothing_such__")
