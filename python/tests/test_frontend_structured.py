"""Scans, generic reductions with captures, region folds: the kernel IR that the frontend makes, and its errors."""
import re

import pytest
from compilation import SUCCESS, compile_request
from programs import diagnostic, kernel, kir
from test_frontend import VIEWS, ops

HELPERS = """@intent.fn
def times(a, b):
    return a * b
@intent.fn
def scaled(a, b, s):
    return a + b * s
@intent.fn
def pair_scaled(a, b, r):
    return (a[0] + b[0] * r.scale, a[1] + b[1] * r.more[0])
@intent.fn
def affine(a, b):
    return I.record(gain=a.gain * b.gain, add=a.add * b.gain + b.add)
@intent.fn
def both(a, b):
    return (a, b)
@intent.fn
def total(v):
    return I.reduce.sum(v, axis=0)
@intent.fn
def put(a, b, view):
    view[0, 0] = a
    return a
"""


def built(parameters, body, before=HELPERS):
    return kir(kernel(parameters, body, before))


def regions(text, op):
    """The text of the first operation of that name, up to the line that closes it."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if f"kir.{op}(" in line)
    indent = len(lines[start]) - len(lines[start].lstrip())
    end = next(i for i in range(start + 1, len(lines)) if lines[i].startswith(" " * indent + "} :"))
    return "\n".join(lines[start:end + 1])


def round_trips(text):
    status, fields = compile_request(emit="kir", target=None, text=text)
    return status == SUCCESS and fields["kir"] == text


# -- scans ----------------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype, name, result, combine, identity", [
    ("f16", "cumsum", "f32", "add", "0.0"), ("bf16", "cumsum", "f32", "add", "0.0"), ("f8e4m3fn", "cumsum", "f32", "add", "0.0"), ("i8", "cumsum", "i32", "add", "0 :"), ("u16", "cumsum", "u32", "add", "0 :"),
    ("bool", "cumsum", "i32", "add", "0 :"), ("f64", "cumsum", "f64", "add", "0.0"), ("u64", "cumsum", "u64", "add", "0 :"), ("f16", "cummax", "f16", "maximum", "0xFC00"), ("i8", "cummax", "i8", "maximum", "-128 :"),
    ("u8", "cummax", "u8", "maximum", "0 :"), ("f8e4m3fn", "cummax", "f8e4m3fn", "maximum", "-4.48"), ("f16", "cumprod", "f16", "mul", "1.0"), ("i16", "cumprod", "i16", "mul", "1 :")])
def test_cumulative_scans_widen_as_sums_do(dtype, name, result, combine, identity):
    text = built(f'x: I.In[I.{dtype}, ("M", "N")], y: I.Out[I.{result}, ("M", "N")]', f"y[:, :] = I.{name}(x[:, :], axis=-1)")
    assert "axis 1 {" in ops(text, "scan")[0] and f"kir.binary {combine} " in text and f"kir.constant {identity}" in text and round_trips(text)


def test_directions_and_accumulators():
    text = built(VIEWS, "v = x[:, :]\ny[:, :] = I.cumsum(v, axis=0, inclusive=False) + I.cummax(v, axis=0, reverse=True) + I.cumprod(v, axis=0, inclusive=False, reverse=True)\n"
                        "y[:, :] = I.cast(I.cumsum(v, axis=0, acc_dtype=I.f64), I.f32)")
    found = ops(text, "scan")
    assert [re.search(r"axis 0 (.*?) ?\{", line)[1] for line in found] == ["exclusive", "reverse", "exclusive reverse", ""]
    assert "f64" in regions(text.replace(found[0], ""), "scan") or "kir.constant 0.000000e+00 : f64" in text


def test_scans_of_products():
    text = built(VIEWS, "v = x[:, :]\nr = I.scan(I.record(gain=v, add=v[0, :]), axis=0, identity=I.record(gain=1.0, add=0), combine=affine, inclusive=True, reverse=True)\n"
                        "a, b = I.scan((v, I.cast(v, I.i32)), 1, (0.0, I.full((), 0, I.i32)), both_sum)\ny[:, :] = r.gain + r.add + a + I.cast(b, I.f32)",
                 HELPERS + "@intent.fn\ndef both_sum(a, b):\n    return (a[0] + b[0], a[1] + b[1])\n")
    assert [re.search(r"axis (\d)", line)[1] for line in ops(text, "scan")] == ["0", "1"] and "axis 0 reverse {" in text and round_trips(text)
    assert 'identities(f32, i32) -> (!kir.tensor<f32, ["M", "N"]>, !kir.tensor<i32, ["M", "N"]>)' in text


def test_builtins_combine():
    for name in ("add", "mul", "maximum", "minimum", "maximum_num", "minimum_num"):
        assert f"kir.binary {name} %" in regions(built(VIEWS, f"y[:, :] = I.scan(x[:, :], 0, 0.5, I.{name})"), "scan")


# -- captures -------------------------------------------------------------------------------------------------------------------------

def test_scalars_are_used_directly_and_tensors_of_the_kept_axes_are_captured():
    text = built(VIEWS, "v = x[:, :]\na = I.reduce(v, 1, 0.0, scaled, combine_operands=(x[0, 0],))\nb = I.reduce(v, 1, 0.0, scaled, combine_operands=(v[:, 0],))\n"
                        "c = I.reduce(v, (0, 1), 0.0, scaled, (I.full((), 2, I.f32),))\ny[:, 0] = a + b + c\ny[:, :] = I.scan(v, 0, 0.0, scaled, combine_operands=(v[0, :],)) + I.scan(v, 0, 0.0, scaled, (3,))")
    found = ops(text, "reduce") + ops(text, "scan")
    assert ["captures" in line for line in found] == [False, True, False, True, False] and round_trips(text)
    assert 'captures(%' in text and ': !kir.tensor<f32, ["M"]>) axes [1]' in text and ': !kir.tensor<f32, ["N"]>) axis 0' in text


def test_captures_broadcast_and_may_be_products():
    text = built('x: I.In[I.f32, ("A", "B", "C")], y: I.Out[I.f32, ("A", "B")]',
                 "v = x[:, :, :]\nr = I.record(scale=v[0, :, 0], more=(v[:, 0, 0][:, None], 1))\ns, t = I.reduce((v, v), 2, (0.0, 1.0), pair_scaled, combine_operands=(r,))\ny[:, :] = s + t")
    assert 'captures(%' in text and text.count('to <f32, ["A", "B"]>') == 2
    assert re.search(r'captures\(%\d+, %\d+ : !kir.tensor<f32, \["A", "B"\]>, !kir.tensor<f32, \["A", "B"\]>\)', text)


# -- positions of extremes ------------------------------------------------------------------------------------------------------------

def test_arg_reductions_are_reductions_of_pairs():
    text = built(VIEWS, "v, i = I.arg_reduce.max(x[:, :], -1)\ny[:, 0] = v + I.cast(i, I.f32)\nw, j = I.arg_reduce.min(x[0, :], axis=0)\ny[0, j] = w")
    assert '-> (!kir.tensor<f32, ["M"]>, !kir.tensor<index, ["M"]>) identities(f32, index)' in text and "-> (f32, index)" in text
    assert "kir.constant 0xFF800000" in text and "kir.constant 0x7F800000" in text and round_trips(text)
    text = built('x: I.In[I.u8, ("N",)], y: I.InOut[I.i32, ("N",)]', "v, i = I.arg_reduce.min(x[:], 0, acc_dtype=I.i32)\ny[i] = v")
    assert "kir.constant 2147483647 : i32" in text and "kir.compare ne" not in text


# -- folds ----------------------------------------------------------------------------------------------------------------------------

def test_a_bare_tensor_is_a_source_and_a_scalar_a_summary():
    text = built(VIEWS, "y[0, 0] = I.region_fold(x[0, :], 0, total, I.add, 0.0)\ny[0, :] = I.region_fold((x[:, :],), 0, total, I.add, I.zeros(x.shape[1], I.f32))")
    assert text.count('slice "?s0"') == 1 and text.count('slice "?s1"') == 1 and round_trips(text)
    assert '-> (f32)' in regions(text, "region_fold") and '["?s1", "N"]' in text and '-> (!kir.tensor<f32, ["N"]>)' in text


def test_literals_of_the_identity_take_the_summary_s_dtypes_and_the_reverse():
    text = built('x: I.In[I.f16, ("N",)], y: I.Out[I.f16, ("N",)]', "r = I.region_fold(x[:], 0, summary, merge, I.record(top=-I.inf, n=I.cast(0, I.u8), flag=False))\ny[0] = r.top",
                 "@intent.fn\ndef summary(v):\n    return I.record(top=I.reduce.max(v, axis=0), n=1, flag=I.reduce.any(v > 0, axis=0))\n"
                 "@intent.fn\ndef merge(a, b):\n    return I.record(top=I.maximum(a.top, b.top), n=a.n + b.n, flag=a.flag | b.flag)\n")
    assert "-> (f16, ui8, i1)" in text and "kir.constant 1 : ui8" in text


def test_rank_zero_summaries_keep_the_identity_s_kind():
    text = built(VIEWS, "y[0, 0] = I.region_fold((x[0, :], x[1, :]), 0, dotted, I.add, 0.0)\ny[0, 1] = I.region_fold(x[0, :], 0, total, I.add, I.full((), 0, I.f32))",
                 HELPERS + "@intent.fn\ndef dotted(a, b):\n    return I.dot(a, b, acc_dtype=I.f32)\n")
    assert "-> (f32)" in text and "-> (!kir.tensor<f32, []>)" in text


def test_operands_follow_the_slices():
    text = built(VIEWS + ", n: I.f32", "y[0, 0] = I.region_fold((x[0, :],), 0, weighted, I.add, 0.0, operands=(n, x[:, 0], x, 3))",
                 "@intent.fn\ndef weighted(v, n, column, view, k: I.Constexpr[int]):\n    return I.reduce.sum(v * n, axis=0) * column[0] + view[k, 1]\n")
    assert "%n" in regions(text, "region_fold") and "kir.read %x" in regions(text, "region_fold")


def test_negative_axes_align_sources_from_the_right():
    text = built(VIEWS, "y[:, 0] = I.region_fold((x[:, :], x[0, :]), -1, weighted, I.add, I.zeros(x.shape[0], I.f32))",
                 "@intent.fn\ndef weighted(v, w):\n    return I.reduce.sum(v * w, axis=1)\n")
    fold = regions(text, "region_fold")
    assert 'axis 1 slice' in fold and '!kir.tensor<f32, [1, "?s0"]>' in fold and 'kir.reshape' in fold and '(!kir.tensor<f32, ["M", "N"]>, !kir.tensor<f32, [1, "N"]>)' in fold


def test_slices_keep_their_other_extents():
    text = built(VIEWS, "y[0, :] = I.region_fold(x[:, :], 0, counted, I.add, I.zeros(x.shape[1], I.f32))",
                 "@intent.fn\ndef counted(v):\n    T, D = v.shape\n    z = I.zeros((T, D), I.f32) + I.full(v.shape, 1, I.f32)\n    return I.reduce.sum(v + z, axis=0) / I.cast(D, I.f32)\n")
    assert "kir.extent" in text and text.count('["?s0", "N"]') > 2


SCAN = """@intent.fn
def summary(v, w):
    return I.reduce.sum(v, axis=0)
@intent.fn
def act(t, s):
    return s + t
@intent.fn
def out(v, w, s):
    return I.record(y=s + I.cumsum(v, axis=0), n=(I.cast(w, I.i32),))
@intent.fn
def out_last(v, w, s):
    return I.reduce.sum(v, axis=0)
@intent.fn
def out_square(v, w, s):
    return v[:, None] * w[None, :]
@intent.fn
def out_nothing(v, w, s):
    return ()
@intent.fn
def out_ragged(v, w, s):
    m = I.cast(s, I.index)
    return v[:, None] + I.zeros((1, m), I.f32)
@intent.fn
def rows(v):
    return I.reduce.sum(v, axis=1)
@intent.fn
def rows_out(v, s):
    return v[None, :, :] + s[None, :, None]
@intent.fn
def flat_out(v, s):
    return I.reduce.sum(v, axis=0)
"""


def test_region_scans_give_outputs_and_the_final_state():
    text = built(VIEWS, "r, last = I.region_scan(source=(x[0, :], x[1, :]), axis=0, summarize=summary, combine=I.add, identity=0, initial_state=x[0, 0], apply=act, emit=out)\n"
                        "y[0, :] = r.y\ny[1, :] = I.cast(r.n[0], I.f32) + last\n_, last = I.region_scan((x[0, :], x[1, :]), 0, summary, I.add, 0.0, x[0, 0], act, out_nothing)\ny[0, 0] = last", SCAN)
    assert '-> (!kir.tensor<f32, ["N"]>, !kir.tensor<i32, ["N"]>, f32)' in text and "-> (f32)" in text and round_trips(text)


@pytest.mark.parametrize("emit, target, index, result", [
    ("rows_out", 'y: I.Out[I.f32, (1, "M", "N")]', ":, :, :", '!kir.tensor<f32, [1, "N", "M"]>'), ("flat_out", 'y: I.Out[I.f32, ("N",)]', ":", '!kir.tensor<f32, [1, "N"]>')])
def test_a_negative_axis_counts_from_the_right_of_each_output(emit, target, index, result):
    text = built('x: I.In[I.f32, ("M", "N")], ' + target, f"o, last = I.region_scan(x[:, :], -1, rows, I.add, I.zeros(x.shape[0], I.f32), x[:, 0], act, {emit})\ny[{index}] = o", SCAN)
    assert f"-> ({result}, " in regions(text, "region_scan") and round_trips(text)


# -- errors ---------------------------------------------------------------------------------------------------------------------------

FOLDS = """@intent.fn
def extent_of(v):
    return I.cast(v.shape[0], I.f32)
@intent.fn
def domain_of(v):
    return I.reduce.sum(I.indices(I.domain(v.shape[0])), axis=0)
@intent.fn
def mean_of(v):
    return I.reduce.mean(v, axis=0)
@intent.fn
def halves(v):
    return I.reduce.sum(I.reshape(v, (2, ...)), axis=(0, 1))
@intent.fn
def eight(v):
    return I.reduce.sum(v + I.zeros(8, I.f32), axis=0)
@intent.fn
def itself(v):
    return v
@intent.fn
def named(v):
    return I.record(top=I.reduce.max(v, axis=0))
@intent.fn
def count(v):
    return I.record(top=I.cast(1, I.i32))
@intent.fn
def wide(v):
    return I.record(top=v[0] + I.zeros(4, I.f32))
@intent.fn
def add_records(a, b):
    return I.record(top=a.top + b.top)
@intent.fn
def halve(a, b):
    return I.record(top=I.cast(a.top, I.f16))
"""

ERRORS = [
    ("t = I.scan(x[0, 0], 0, 0.0, I.add)", "I.scan: expected a tensor, got f32 scalar", 16),
    ("t = I.scan(x[:, :], (0, 1), 0.0, I.add)", "axis: expected one axis, got a tuple of 2", 25),
    ("t = I.scan(x[:, :], 2, 0.0, I.add)", "axis 2 is out of range for rank 2", 25),
    ("t = I.scan(x[:, :], 0, x[0, :], I.add)", 'identity: expected f32 scalar, got f32 tensor ["N"]', 28),
    ("t = I.scan(x[:, :], 0, 0.0, I.sub)", "combine: expected an @intent.fn or one of I.add, I.mul, I.maximum, I.minimum, I.maximum_num, I.minimum_num, got operation I.sub", 33),
    ("t = I.reduce(x[:, :], 0, 0.0, I.exp)", "combine: expected an @intent.fn or one of I.add, I.mul, I.maximum, I.minimum, I.maximum_num, I.minimum_num, got operation I.exp", 35),
    ("t = I.scan(x[:, :], 0, 0.0, both)", 'combine result: expected the structure of f32 tensor ["M", "N"], got a tuple of 2', 33),
    ("t = I.scan(x[:, :], 0, 0.0, put, (y,))", "a combine function has no effects; it writes 'y'", None),
    ("t = I.scan(x[:, :], 0, 0.0, I.add, inclusive=1)", "inclusive: expected a compile-time bool, got literal 1", 50),
    ("t = I.scan(x[:, :], 0, 0.0, I.add, reverse=x)", "reverse: expected a compile-time bool, got view 'x'", 48),
    ("t = I.scan(x[:, :], 0, 0.0, scaled, (x[:, :],))", 'combine_operands: f32 tensor ["M", "N"] does not broadcast to the kept axes, ["N"]', 41),
    ("t = I.scan(x[:, :], 0, 0.0, scaled, (x[:, 0],))", 'combine_operands: f32 tensor ["M"] does not broadcast to the kept axes, ["N"]', 41),
    ("t = I.reduce(x[:, :], (0, 1), 0.0, scaled, (x[:, 0],))", 'combine_operands: f32 tensor ["M"] does not broadcast to the kept axes, []', 48),
    ("t = I.cumsum(x[:, :], axis=(0, 1))", "axis: expected one axis, got a tuple of 2", 32),
    ("t = I.cummax(b[:], axis=0)", "I.cummax does not take bool; convert with I.cast", 18),
    ("t = I.cumprod(e[:], axis=0)", "I.cumprod does not take f8e5m2: 8-bit floats are stored, cast, compared, selected and contracted; convert with I.cast first", 19),
    ("t = I.cumsum(x[:, :], axis=0, acc_dtype=3)", "expected a dtype such as I.f32, got literal 3", 45),
    ("t = I.arg_reduce.max(x[0, 0], 0)", "I.arg_reduce.max: expected a tensor, got f32 scalar", 26),
    ("t = I.arg_reduce.max(x[:, :], (0, 1))", "axis: expected one axis, got a tuple of 2", 35),
    ("t = I.arg_reduce.min(b[:], 0)", "I.arg_reduce.min does not take bool; convert with I.cast", 26),
    # folds
    ("t = I.region_fold((), 0, total, I.add, 0.0)", "I.region_fold takes at least one source tensor", 23),
    ("t = I.region_fold((x,), 0, total, I.add, 0.0)", "expected a tensor or scalar, got view 'x'; read its elements with x[:, :]", 23),
    ("t = I.region_fold((x[0, 0],), 0, total, I.add, 0.0)", "I.region_fold: source 0: expected a tensor, got f32 scalar", 23),
    ("t = I.region_fold((x[0, :],), 1, total, I.add, 0.0)", 'axis 1 is out of range for source 0, f32 tensor ["N"]', 35),
    ("t = I.region_fold((x[0, :],), x, total, I.add, 0.0)", "axis: expected a compile-time integer, got view 'x'", 35),
    ("t = I.region_fold((x[0, :], x[:, 0]), 0, total, I.add, 0.0)", 'I.region_fold: axis 0 of the sources: expected equal extents, got "N" and "M"; unknown extents are equal only where they are the same symbol', 23),
    ("t = I.region_fold((x[0, :],), 0, total, I.sub, 0.0)", "combine: expected an @intent.fn or one of I.add, I.mul, I.maximum, I.minimum, I.maximum_num, I.minimum_num, got operation I.sub", 45),
    ("t = I.region_fold((x[0, :],), 0, total, I.add, 0.0, operands=1)", "operands: expected a tuple, got literal 1", 66),
    ("t = I.region_fold((x[0, :],), 0, total, I.add, (0.0, 0))", "summarize result: expected the structure of a tuple of 2, got f32 scalar", 38),
    ("t = I.region_fold((x[0, :],), 0, named, add_records, I.record(low=0.0))", "summarize result: expected the structure of a record of low, got a record of top", 38),
    ("t = I.region_fold((x[0, :],), 0, count, add_records, I.record(top=I.cast(0, I.f32)))", "summarize result.top: expected f32 scalar, got i32 scalar", 38),
    ("t = I.region_fold((x[0, :],), 0, wide, add_records, I.record(top=0.0))", "summarize result.top: expected f32 scalar, got f32 tensor [4]", 38),
    ("t = I.region_fold((x[0, :],), 0, named, halve, I.record(top=0.0))", "combine result.top: expected f32 scalar, got f16 scalar", 45),
    ("t = I.region_fold((x[0, :],), 0, itself, I.add, x[0, :])", 'summarize result: expected f32 tensor ["N"], got f32 tensor [slice]', 38),
    ("t = I.region_fold((x[0, :],), 0, extent_of, I.add, 0.0)", "expected a tensor or scalar, got the extent of a slice, which is not observable", None),
    ("t = I.region_fold((x[0, :],), 0, domain_of, I.add, 0)", "domain stop: expected an integer scalar, got the extent of a slice, which is not observable", None),
    ("t = I.region_fold((x[0, :],), 0, mean_of, I.add, 0.0)", "I.reduce.mean: the extent of a slice is not observable; carry the sum and the count through the fold", None),
    ("t = I.region_fold((x[0, :],), 0, halves, I.add, 0.0)", "I.reshape: [slice] to [2, 1] with one '...' depends on the extent of a slice", None),
    ("t = I.region_fold((x[0, :],), 0, eight, I.add, 0.0)", "shapes [slice] and [8] do not broadcast: extents slice and 8 of axis 0 are neither equal nor 1", None),
    ("t = I.region_fold((x[0, :],), 0, put, I.add, 0.0, operands=(0.0, y))", "summarize has no effects; it writes 'y'", None),
    # region scans
    ("t = I.region_scan((x[0, :], x[1, :]), 0, summary, I.add, 0.0, x[0, 0], act, out_last)", "emit result: expected a tensor, got f32 scalar", 81),
    ("t = I.region_scan((x[0, :], x[1, :]), 0, summary, I.add, 0.0, x[0, 0], act, out_square)", "emit result: extent slice of axis 1 is known only inside emit, got f32 tensor [slice, slice]", 81),
    ("t = I.region_scan((x[0, :], x[1, :]), 0, summary, I.add, 0.0, x[0, 0], act, out_ragged)", "emit result: extent m of axis 1 is known only inside emit, got f32 tensor [slice, m]", 81),
    ("t = I.region_scan((x[0, :], x[1, :]), 0, summary, I.add, 0.0, x[0, 0], both, out)", "apply result: expected the structure of f32 scalar, got a tuple of 2", None),
    ("t = I.region_scan((x[0, :], x[1, :]), 0, summary, I.add, 0.0, n, act, out)", "'+': operands share a dtype, got i32 and f32; convert one with I.cast", None),
]


@pytest.mark.parametrize("case", ERRORS, ids=[c[0] for c in ERRORS])
def test_rule(case):
    body, message, column = case
    found = diagnostic(kernel(VIEWS + ', b: I.In[I.bool, ("N",)], e: I.In[I.f8e5m2, ("N",)], n: I.i32', body, HELPERS + FOLDS + SCAN))
    assert found["message"] == message and found["error"] == "LanguageError"
    if column:
        assert (found["line"], found["column"]) == ((HELPERS + FOLDS + SCAN).count("\n") + 3, column)


def test_folds_that_read_a_view_are_not_merged_across_a_write():
    before = "@intent.fn\ndef weighted(v, view):\n    return I.reduce.sum(v * view[0, 0], axis=0)\n"
    once = "y[0, 0] = I.region_fold(x[0, :], 0, weighted, I.add, 0.0, operands=(y,))\n"
    text = built(VIEWS.replace("I.Out", "I.InOut"), once + once, before)
    assert len(ops(text, "region_fold")) == 2


WITHIN = """@intent.fn
def total(v):
    return I.reduce.sum(v, axis=0)
@intent.fn
def inner(v, w):
    return I.region_fold((v, w), 0, pair_total, I.add, 0.0)
@intent.fn
def pair_total(v, w):
    return I.reduce.sum(v * w, axis=0)
@intent.fn
def looped(v, n):
    acc = 0
    for i in range(n):
        acc = acc + I.reduce.sum(v, axis=0) * I.cast(i, I.f32)
    return acc
@intent.fn
def chosen(v, n):
    return I.reduce.sum(v, axis=0) if n > 3 else 0
@intent.fn
def branch(v, n):
    if n > 3:
        return I.reduce.sum(v, axis=0)
    else:
        return I.reduce.max(v, axis=0)
@intent.fn
def early(v, n):
    if n > 3:
        return I.reduce.sum(v, axis=0)
    return I.reduce.max(v, axis=0) * 2
@intent.fn
def first(v):
    return v[0]
@intent.fn
def picked(v, at):
    m, i = I.arg_reduce.max(v, 0)
    return I.record(m=m, at=at[i])
@intent.fn
def better(a, b):
    t = b.m > a.m
    return I.record(m=I.select(t, b.m, a.m), at=I.select(t, b.at, a.at))
@intent.fn
def joined(v):
    w = I.reshape(I.join(v, v), (v.shape[0], 2))
    return I.reduce.sum(w, axis=0)
@intent.fn
def flat(v):
    w = I.reshape(v, (...,))
    return I.reduce.sum(w, axis=0)
@intent.fn
def masked(v, at, n):
    return I.reduce.sum(I.select(at[:, None] >= at[None, :], v[:, None], 0.0), axis=(0, 1)) + I.reduce.sum(I.mask(v, at < n, 0), axis=0)
@intent.fn
def gathered(v, at, view):
    return I.reduce.sum(view[0, at] * v, axis=0) + I.reduce.sum(I.gather(view, index=(0, at), valid=at > 0, fill=0), axis=0)
@intent.fn
def dom(v, rows):
    return I.reduce.sum(v, axis=0) + I.reduce.sum(I.cast(I.indices(rows), I.f32), axis=0)
"""


@pytest.mark.parametrize("call", [
    "((x[0, :], x[1, :]), 0, inner, I.add, 0.0)", "(x[0, :], 0, looped, I.add, 0.0, (n,))", "(x[0, :], 0, chosen, I.add, 0.0, (n,))", "(x[0, :], 0, branch, I.add, 0.0, (n,))",
    "(x[0, :], 0, early, I.add, 0.0, (n,))", "(x[0, :], 0, first, I.add, 0.0)", "((x[0, :], at), 0, picked, better, I.record(m=-I.inf, at=0))", "(x[0, :], 0, joined, I.add, I.zeros(2, I.f32))",
    "(x[:, :], 0, flat, I.add, 0.0)", "((x[0, :], at), 0, masked, I.add, 0.0, (5,))", "((x[0, :], at), 0, gathered, I.add, 0.0, (x,))", "(x[0, :], 0, dom, I.add, 0.0, (I.domain(4),))"])
def test_what_a_region_may_hold(call):
    """Folds, loops, branches, early returns, positions, reshapes, joint indices and other domains."""
    assert round_trips(built(VIEWS + ", n: I.i32", f"at = I.indices(I.domain(x.shape[1]))\nr = I.region_fold{call}\ny[0, {'I.domain(2)' if 'joined' in call else 0}] = r{'.m' if 'picked' in call else ''}", WITHIN))


def test_folds_in_loops_and_choices():
    text = built(VIEWS + ", n: I.i32", "acc = 0\nfor i in range(3):\n    acc = acc + I.region_fold(x[i, :], 0, total, I.add, 0.0)\ny[0, 0] = acc\n"
                                       "y[0, 1] = I.region_fold(x[0, :], 0, total, I.add, 0.0) if n > 2 else 1", WITHIN)
    assert round_trips(text) and len(ops(text, "region_fold")) == 2 and ": f32) {" in ops(text, "for")[0]
