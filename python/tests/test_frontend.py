"""What the frontend builds: kernel IR of small programs, checked by its text."""
import importlib
import re

import intent.language as I
import pytest
from compilation import SUCCESS, compile_request
from intent.capture import capture
from programs import diagnostic, kernel, kir

VIEWS = 'x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M", "N")]'


def body(text):
    """Operations without locations, result names and constants, one a line."""
    text = re.sub(r" loc\((?:[^()]|\([^()]*\))*\)", "", text)
    lines = [re.sub(r"^%[\w#:, %]+ = ", "", line.strip()) for line in text.splitlines()]
    return [line for line in lines if line.startswith("kir.") and not line.startswith(("kir.constant", "kir.kernel"))]


def ops(text, name):
    return [line for line in body(text) if line.startswith("kir." + name)]


def test_text_reads_back_byte_equal():
    text = kir(kernel(VIEWS, "M, N = x.shape\nmean = I.reduce.mean(x[:, :], axis=1)\nfor i in range(M // 2):\n    y[i, :] = x[i, :] - mean[i]"))
    status, fields = compile_request(emit="kir", target=None, text=text)
    assert status == SUCCESS and fields["kir"] == text
    assert '%mean = kir.binary div' in text and 'loc("mean"(' in text and 'loc("case' in text
    assert 'kir.symbol "?0"' in text


def test_element_wise():
    text = kir(kernel(VIEWS, "v = x[:, :]\ny[:, :] = I.exp(-v) * 2 + I.maximum(v, 0) / 3 - I.fma(v, v, 1.5)\n"
                             "y[:, :] = I.exp2(v, approximate=True, flush_to_zero=True) + I.tanh(v, approximate=True) + I.fdiv(1, v, approximate=True)"))
    kinds = [line.split()[1] for line in body(text) if line.startswith(("kir.unary", "kir.binary"))]
    assert kinds == ["neg", "exp", "mul", "maximum", "div", "add", "sub", "exp2", "tanh", "add", "div", "add"]
    assert "exp2 %v approximate ftz" in text and "tanh %v approximate" in text and len(ops(text, "fma")) == 1
    assert len(ops(text, "read")) == 1


@pytest.mark.parametrize("name", "exp exp2 log log2 log1p lgamma sin cos tan asin floor ceil erf erfc i0 rsqrt sqrt sigmoid tanh abs".split())
def test_every_unary_function(name):
    assert f"kir.unary {name} " in kir(kernel(VIEWS, f"y[:, :] = I.{name}(x[:, :])"))


@pytest.mark.parametrize("name", "add sub mul maximum minimum maximum_num minimum_num".split())
def test_every_binary_function(name):
    assert f"kir.binary {name} " in kir(kernel(VIEWS, f"y[:, :] = I.{name}(x[:, :], x[0, :])"))


def test_integers():
    text = kir(kernel('a: I.InOut[I.i32, ("N",)], u: I.InOut[I.u8, ("N",)]', "v = a[:]\na[:] = (((v // 3) % 5 << 2) >> 1) & 7 | ~v ^ -v\nu[:] = u[:] >> 4\na[:] *= v ** 5"))
    kinds = [line.split()[1] for line in body(text) if line.startswith(("kir.unary", "kir.binary"))]
    assert kinds[:9] == ["floordiv", "mod", "shl", "shr", "and", "not", "neg", "xor", "or"] and kinds[9] == "shr" and kinds[10:] == ["mul"] * 4
    assert "kir.constant 4 : ui8" in text


def test_powers():
    text = kir(kernel(VIEWS, "v = x[:, :]\ny[:, :] = v ** 2 + v ** -1 + v ** 0 + v ** 0.5 + 2 ** v"))
    kinds = [line.split()[1] for line in ops(text, "binary")]
    assert kinds == ["mul", "div", "add", "add", "pow", "add", "pow", "add"]


def test_literals_take_the_dtype_of_their_context():
    text = kir(kernel(VIEWS, "s = 1.0 if x[0, 0] > 0 else -1\nif x[0, 1] > 0:\n    t = 2\nelse:\n    t = 0.5\ny[:, :] = x[:, :] * s + t\n"
                             "m = I.select(x[:, :] > 0, 1.0, 0)\ny[:, :] = x[:, :] * m"))
    assert "f64" not in text and "i64" not in text and len(ops(text, "select")) == 3 and not ops(text, "if")


def test_literals_of_nested_branches_take_the_dtype_of_their_context():
    text = kir(kernel(VIEWS, "v = x[0, 0]\nif v > 0:\n    s = 1\nelse:\n    if v < -1:\n        s = 2\n    elif v < -2:\n        s = 3\n    else:\n        s = v\n"
                             "y[0, 0] = s * sign(v)",
                      before="@intent.fn\ndef sign(v):\n    if v > 0:\n        return 1\n    if v < -1:\n        return -1\n    for i in range(3):\n"
                             "        if v < -0.5:\n            return 0.5\n    return 0\n"))
    assert "f64" not in text and "i64" not in text


def nest(depth, innermost):
    """Loops in each other, each with a sum that starts as a literal."""
    lines = []
    for i in range(depth):
        lines += [f"s{i} = 0", f"for i{i} in range(2):"]
        lines[-2:] = ["    " * i + line for line in lines[-2:]]
    lines.append("    " * depth + innermost)
    lines += ["    " * i + f"s{i - 1} += s{i}" for i in range(depth - 1, 0, -1)]
    return "\n".join([*lines, "y[0, 0] = s0"])


def test_nested_literal_carries():
    """Whose types are found without lowering the innermost body 2 ** depth times."""
    text = kir(kernel(VIEWS, nest(18, "s17 += x[0, 0]")))
    assert len(ops(text, "for")) == 18 and all(line.count(": f32)") == 1 for line in ops(text, "for")) and len(ops(text, "binary")) == 18
    assert diagnostic(kernel(VIEWS, nest(18, "s17 += q")))["message"] == "name 'q' is not defined"


def test_a_literal_that_starts_a_carry_takes_the_dtype_of_the_body():
    text = kir(kernel(VIEWS + ", n: I.i32", "acc = 0\nbest = 0\nfor i in range(n):\n    acc = acc + x[i, 0]\n    best = i\ny[best, 0] = acc"))
    assert re.search(r"carry\(.* : f32, index\)", ops(text, "for")[0])
    assert 'kir.domain' in text and '<"%n">' in text


def test_nested_carries_and_products():
    text = kir(kernel(VIEWS, "M, N = x.shape\nr = I.record(sum=0.0, count=(0, x[0, 0]))\nfor i in range(M):\n    for j in range(N):\n"
                             "        r = I.record(sum=r.sum + x[i, j], count=(r.count[0] + 1, r.count[1]))\ny[0, 0] = r.sum / I.cast(r.count[0], I.f32) + r.count[1]"))
    assert len(ops(text, "for")) == 2 and all(": f32, i64, f32)" in line for line in ops(text, "for"))


def test_helpers_in_loops_and_branches():
    text = kir(kernel(VIEWS, "acc = 0.0\nfor i in range(4):\n    if x[i, 0] > 0:\n        acc = twice(acc, x[i, 0])\n    for j in I.parallel(I.domain(3)):\n        y[i, j] = twice(x[i, j], 1)\ny[0, 0] = acc",
                      before="@intent.fn\ndef twice(a, b):\n    return once(a, b) + a\n@intent.fn\ndef once(a, b):\n    return a * b\n"))
    assert len(ops(text, "binary")) == 4 and len(ops(text, "if")) == 1


def test_choices_between_bools_and_between_indices():
    text = kir(kernel(VIEWS, "flag = True\nat = 0\nif x[0, 0] > 0:\n    flag = False\n    at = 1\nif flag:\n    y[at, 0] = x[at, at]"))
    assert len(ops(text, "if")) == 2 and len(ops(text, "select")) == 1


def test_the_mean_of_an_extent_that_may_be_negative():
    assert "kir.binary maximum" in kir(kernel(VIEWS, "M, N = x.shape\ny[0, 0] = I.reduce.mean(x[0, I.domain(1, N)], axis=0)"))


def test_if_merges_names():
    text = kir(kernel(VIEWS, "v = x[0, 0]\nif v > 0:\n    w = v * 2\n    v = 1\nelif v < -1:\n    w = v\nelse:\n    w = 3\ny[0, 0] = v + w"))
    assert len(ops(text, "if")) == 2 and ops(text, "yield")[0].endswith(": f32, f32")


def test_both_branches_may_return():
    text = kir(kernel(VIEWS, "y[0, 0] = clip(x[0, 0])", before="@intent.fn\ndef clip(v):\n    if v > 1:\n        return v - v\n    else:\n        return x2(v)\n"
                                                               "@intent.fn\ndef x2(v):\n    return v * 2\n"))
    assert len(ops(text, "if")) == 1 and len(ops(text, "yield")) == 2


def test_compile_time_choices_leave_the_other_branch_untyped():
    k = kernel(VIEWS + ", K: I.Constexpr[int] = 3, F: I.Constexpr[bool] = True",
               "if K > 2 and F:\n    y[:, :] = x[:, :] * K\nelse:\n    y[:, :] = nowhere\nif x.dtype == I.f16:\n    nowhere\nz = 1 if not F else 2\ny[0, 0] = z if F or nowhere else nowhere")
    assert not ops(kir(k), "if")
    assert "'nowhere' is not defined" in diagnostic(k, {"K": 1})["message"]


def test_enums_and_helpers():
    class Mode(I.Enum):
        DOUBLE = "d"
        SAME = "s"
    k = kernel(VIEWS + ", MODE: I.Constexpr[Mode] = Mode.SAME", "y[:, :] = apply(mode=MODE, v=x[:, :])", Mode=Mode,
               before="@intent.fn\ndef apply(v, mode: I.Constexpr[Mode], scale: I.f32 = 2.0):\n    if mode == Mode.DOUBLE:\n        return v * scale\n    return v\n")
    assert len(ops(kir(k, {"MODE": Mode.DOUBLE}), "binary")) == 1 and not ops(kir(k), "binary")


def test_type_variables():
    T = I.TypeVar("T", I.f16, I.f32)
    k = kernel('x: I.In[T, ("N",)], y: I.Out[T, ("N",)], s: T', "y[:] = I.cast(I.cast(x[:], I.f32) * 2, T) * s", T=T)
    assert "!kir.view<f16" in kir(k, types={"T": I.f16}) and "!kir.view<f32" in kir(k, types={"T": "f32"})
    assert diagnostic(k)["message"] == "type variable 'T' is not bound: pass types={\"T\": ...}"
    assert diagnostic(k, types={"T": I.bf16})["message"] == "type variable 'T': expected one of f16, f32, got bf16"
    assert diagnostic(k, types={"T": I.f16, "Q": I.f16})["message"] == "kernel 'k' has no type variable 'Q'"


def test_views_of_the_interface():
    text = kir(kernel('x: I.In[I.u64, (3, "K", "M"), I.constraints(noalias=True, alias="g", strides=("K", "S", None))], y: I.InOut[I.f8e4m3fn, ()], b: I.In[I.bool, ("M",)], K: I.Constexpr[int]',
                      "pass"), {"K": 5})
    assert '%x: !kir.view<ui64, [3, 5, "M"], in> {kir.alias = "g", kir.name = "x", kir.noalias, kir.strides = [5, "S", unit]}' in text
    assert "!kir.view<f8E4M3FN, [], inout>" in text and "!kir.view<i1" in text


# -- coordinates ----------------------------------------------------------------------------------------------------------------------

def test_equal_expressions_have_equal_extents():
    text = kir(kernel(VIEWS + ", n: I.index", "a = I.domain(0, n // 2)\nb = I.domain(n // 2)\ns = x[a, 0] + x[b, 1]\nM, N = x.shape\nrows = I.domain(0, M)\n"
                                              "t = x[rows[n:n + 4], 0] + x[0, I.domain(4)]\ny[a, 0] = s\ny[I.domain(4), 0] = t"))
    assert text.count("kir.symbol") == 1 and not ops(text, "check_extent") and "<4>" in text


def test_domains_with_steps():
    text = kir(kernel(VIEWS, "M, N = x.shape\nd = I.domain(1, N, 3)\ny[0, d] = x[1, d]\ne = I.domain(0, 10, 4)[3:9]\ny[0, e] = x[0, e]\nz = I.end(d)\ny[0, z - 1] = 0"))
    assert 'floordiv' in text and "kir.domain" in text and len(ops(text, "subregion")) == 1


def test_indices_of_tuples_and_parallel_loops_of_tuples():
    text = kir(kernel(VIEWS, "M, N = x.shape\nr, c = I.domain(M), I.domain(N)\na, b = I.indices((r, c))\nfor i, j in I.parallel((r, c)):\n    y[i, j] = x[j, i]\n"
                             "for (i,) in I.parallel((r,)):\n    for j in I.parallel(c):\n        y[i, j] += I.cast(a[i] * b[j], I.f32)"))
    assert len(ops(text, "parallel")) == 3 and len(ops(text, "indices")) == 2


def test_indexing_forms():
    text = kir(kernel('z: I.In[I.f32, ("M", "C", "N")], r: I.In[I.i32, ("K",)], q: I.In[I.u8, ("K",)], o: I.Out[I.f32, ("K", "C")], p: I.Out[I.f32, ("M", "K")], s: I.InOut[I.f32, ()]',
                      "M, C, N = z.shape\nr, q = r[:], q[:]\ncols = I.domain(C)\nqi = I.cast(q, I.i32)\no[:, :] = z[r, cols, qi]\np[:, :] = z[:, r, qi]\n"
                      "k = z[r[:, None], cols, 0]\no[:, :] = k[:, 0, :]\nt = z[0, :, None, 1]\no[:, :] = t[:, 0]\nw = z[0][1]\nv = s[()]\ns[()] = v + v[()] + w[0]\ne = (0, 1)\ns[()] = z[e][0]"))
    assert '-> !kir.tensor<f32, ["K", "C"]>' in text and '-> !kir.tensor<f32, ["M", "K"]>' in text and '-> !kir.tensor<f32, ["K", 1, "C"]>' in text
    assert '["C", 1]' in text and "-> !kir.tensor<f32, []>" in text


def test_writes_broadcast_the_value():
    text = kir(kernel(VIEWS, "M, N = x.shape\ny[:, :] = 0\ny[0, :] = x[0, 0]\ny[:, :] = x[0, :]\ny[:, :] = x[:, 0][:, None]\ny[0, 0] = I.dot(x[0, :], x[1, :], acc_dtype=I.f32)"))
    assert len(ops(text, "write")) == 5 and len(ops(text, "broadcast")) == 4 and len(ops(text, "extract")) == 1


def test_a_known_and_an_unknown_extent_are_checked():
    text = kir(kernel('x: I.In[I.f32, ("N",)], y: I.Out[I.f32, (8,)]', "y[:] = x[:]\ny[:] = x[:] + y[:]"))
    assert len(ops(text, "check_extent")) == 2 and len(ops(text, "reshape")) == len(ops(text, "read")) - 1 == 1


# -- values ---------------------------------------------------------------------------------------------------------------------------

def test_construction():
    text = kir(kernel(VIEWS, "M, N = x.shape\na = I.full((M, \"N\"), 1, I.f32)\nb = I.zeros(M, I.f32)[:, None]\nc = I.full((), x[0, 0], I.f32)\ny[:, :] = a + b + c + I.mask(x[:, :], x[:, :] > 0, 1)\n"
                             "d = I.cast(I.cast(2.9, I.i32), I.f32)\ny[0, 0] = d\nu = I.bitcast(x[:, :], I.u32)\ny[:, :] = I.bitcast(u ^ 1, I.f32)"))
    assert len(ops(text, "bitcast")) == 2 and "kir.constant 2.900000e+00 : f64" in text


def test_rearrangement():
    text = kir(kernel('x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("N", "M")], z: I.Out[I.f32, ("M", "N", 2)], p: I.Out[I.f32, ("P",)]',
                      "M, N = x.shape\nv = x[:, :]\ny[:, :] = I.transpose(v)\nz[:, :, :] = I.join(v, 1.0)\nw = I.reshape(I.transpose(z[:, :, :], (2, 0, 1)), (2, ...))\n"
                      "y[:, :] = I.reshape(w[0, :], (N, M))\np[:] = I.reshape(v, (\"P\",))"))
    assert len(ops(text, "transpose")) == 2 and len(ops(text, "join")) == 1
    assert '[2, "M" * "N"]' in text and len(ops(text, "check_extent")) == 1


def test_tuples_and_records():
    text = kir(kernel(VIEWS, "p = pair(x[0, 0], b=x[0, 1])\na, (b, c) = p.both, (p.sum, 3)\nq = (a[0], b, c)[-1]\ny[0, 0] = a[1] + b + q + (1, 2, 3)[1:][0]",
                      before="@intent.fn\ndef pair(a, b):\n    return I.record(both=(a, b), sum=a + b)\n"))
    assert len(ops(text, "binary")) == 4


# -- structured -----------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype, kind, result, combine", [
    ("f16", "sum", "f32", "add"), ("bf16", "sum", "f32", "add"), ("f8e5m2", "sum", "f32", "add"), ("i8", "sum", "i32", "add"), ("u16", "sum", "u32", "add"), ("bool", "sum", "i32", "add"),
    ("f64", "sum", "f64", "add"), ("i64", "sum", "i64", "add"), ("f16", "max", "f16", "maximum"), ("u8", "min", "u8", "minimum"), ("f8e4m3fn", "max", "f8e4m3fn", "maximum"),
    ("i16", "prod", "i16", "mul"), ("f16", "mean", "f32", "add"), ("bool", "any", "bool", "or"), ("bool", "all", "bool", "and")])
def test_named_reductions(dtype, kind, result, combine):
    text = kir(kernel(f'x: I.In[I.{dtype}, ("M", "N")], y: I.Out[I.{result}, ("M", 1)]', f"y[:, :] = I.reduce.{kind}(x[:, :], axis=-1, keepdims=True)"))
    assert len(ops(text, "reduce")) == 1 and f"kir.binary {combine} " in text


def test_identities():
    for dtype, identity in (("f8e4m3fn", "-4.480000e+02 : f8E4M3FN"), ("f16", "0xFC00 : f16"), ("i8", "-128 : i8"), ("u8", "0 : ui8")):
        assert f"kir.constant {identity}" in kir(kernel(f'x: I.In[I.{dtype}, ("N",)], y: I.Out[I.{dtype}, ()]', "y[()] = I.reduce.max(x[:], axis=0)"))
    for dtype, identity in (("u32", "4294967295 : ui32"), ("index", "9223372036854775807 : index"), ("f64", "0x7FF0000000000000 : f64")):
        assert f"kir.constant {identity}" in kir(kernel(f'x: I.In[I.{dtype}, ("N",)], y: I.Out[I.{dtype}, ()]', "y[()] = I.reduce.min(x[:], axis=0)"))


def test_generic_reductions():
    text = kir(kernel(VIEWS, "v = x[:, :]\ni = I.indices(I.domain(x.shape[1]))\nb = I.reduce(I.record(value=v, at=i), axis=1, identity=I.record(value=-I.inf, at=0), combine=best, combine_operands=(v[0, 0],))\n"
                             "y[:, 0] = b.value + I.cast(b.at, I.f32)\ny[0, 0] = I.reduce(v, (0, 1), 0.0, I.add)\nz = I.reduce(v, (0, 1), I.full((), 0, I.f32), I.maximum)\ny[0, :] = z",
                      before="@intent.fn\ndef best(a, b, s):\n    take = b.value > a.value * s\n    return I.record(value=I.select(take, b.value, a.value), at=I.select(take, b.at, a.at))\n"))
    assert len(ops(text, "reduce")) == 3
    assert "}" in text and '-> (!kir.tensor<f32, ["M"]>, !kir.tensor<index, ["M"]>)' in text and "-> (!kir.tensor<f32, []>)" in text


@pytest.mark.parametrize("call, expected", [
    ("I.matmul(a, b, acc_dtype=I.f32)", 'reduce [2] [0] batch [] []'), ("I.matmul(a, c, acc_dtype=I.f32, transpose_rhs=True)", 'reduce [2] [2] batch [0] [0]'),
    ("I.matmul(a[0, :, :], c, acc_dtype=I.f32, transpose_rhs=True)", 'reduce [2] [2] batch [0] [0]'), ("I.matmul(I.transpose(a, (0, 2, 1)), b, acc_dtype=I.f32, transpose_lhs=True)", 'reduce [1] [0] batch [] []'),
    ("I.matvec(a, v, acc_dtype=I.f32)[:, :, None]", 'reduce [2] [0] batch [] []'), ("I.vecmat(v, b, acc_dtype=I.f32)", 'reduce [0] [0] batch [] []'),
    ("I.dot(v, v, acc_dtype=I.f32)", 'reduce [0] [0] batch [] []'), ("I.contract(a, c, ((2, -1),), I.f32, batch=((0, 0),))", 'reduce [2] [2] batch [0] [0]')])
def test_contractions(call, expected):
    text = kir(kernel('A: I.In[I.f16, ("B", "M", "K")], W: I.In[I.f16, ("K", "N")], C: I.In[I.f16, ("B", "N", "K")], V: I.In[I.f16, ("K",)], y: I.Out[I.f32, ("B", "M", "N")]',
                      f"a, b, c, v = A[:, :, :], W[:, :], C[:, :, :], V[:]\ny[:, :, :] = {call}"))
    assert expected in ops(text, "contract")[0]


def test_outer_is_a_product():
    assert "kir.binary mul" in kir(kernel(VIEWS, "y[:, :] = I.outer(x[:, 0], x[0, :])"))


# -- limits ---------------------------------------------------------------------------------------------------------------------------

def test_long_sums_and_chains():
    assert len(ops(kir(kernel(VIEWS, "y[0, 0] = " + " + ".join(["x[0, 0]"] * 2000))), "binary")) == 1999
    kir(kernel(VIEWS, "t = x[0, 0]\n" + "t = t * 0.5\n" * 3000 + "y[0, 0] = t"))
    kir(kernel(VIEWS + ", K: I.Constexpr[int] = 900", "if K == 0:\n    y[0, 0] = 0\n" + "".join(f"elif K == {i}:\n    y[0, 0] = {i}\n" for i in range(1, 950))))


def test_depth_and_growth_have_limits():
    found = diagnostic(kernel(VIEWS, "if x[0, 0] > 0:\n    pass\n" + "".join(f"elif x[0, 0] > {i}:\n    pass\n" for i in range(1, 900))))
    assert "levels here" in found["message"] and found["line"]
    helpers = "@intent.fn\ndef f0(v):\n    return v + v\n" + "".join(f"@intent.fn\ndef f{i}(v):\n    return f{i - 1}(v) + f{i - 1}(v)\n" for i in range(1, 30))
    assert "expands to more than" in diagnostic(kernel(VIEWS, "y[0, 0] = f29(x[0, 0])", before=helpers))["message"]


@pytest.mark.parametrize("name", ["pointwise_and_rows", "folds_and_scans", "indexed_and_ragged"])
def test_samples_lower(name):
    module = importlib.import_module(f"samples.{name}")
    constexprs = {"gated": {"KIND": getattr(getattr(module, "Activation", None), "SILU", None)}, "max_pool": {"K": 3, "STRIDE": 2}, "escape_time": {"LIMIT": 5}}
    for kernel_name, value in vars(module).items():
        if getattr(value, "is_kernel", False):
            status, fields = compile_request(emit="kir", target=None, **capture(value, constexprs.get(kernel_name)))
            assert status == SUCCESS, fields["diagnostics"]
