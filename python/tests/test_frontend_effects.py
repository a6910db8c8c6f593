"""Buffers, atomic accesses, gathers, scatters and ragged groups: the kernel IR that they become, and the rules that they can break."""
import json
import random
import re

import pytest
from compilation import INTERNAL, SUCCESS, compile_request
from intent.capture import capture
from programs import diagnostic, kernel, kir
from test_frontend import body, ops
from test_frontend_errors import mutate

VIEWS = ('x: I.In[I.f32, ("M", "N")], y: I.InOut[I.f32, ("M", "N")], o: I.Out[I.f32, ("M", "N")], k: I.In[I.i32, ("K",)], c: I.InOut[I.i32, ("C",)], '
         'z: I.InOut[I.f32, ()], e: I.InOut[I.f8e5m2, (4,)], b: I.InOut[I.bool, (4,)], q: I.In[I.i64, ("R",)], n: I.i32')
PLUS = "@intent.fn\ndef plus(a, b):\n    return a + b\n"


def lower(text, before=""):
    return kir(kernel(VIEWS, text, before))


# -- buffers --------------------------------------------------------------------------------------------------------------------------

def test_buffers():
    text = lower("M, N = x.shape\nt = I.buffer((M, 4), I.f32, init=x[:, 0][:, None])\nt[0, 1] = 2\nt[:, :] += 1\ny[:, 0:1][0, 0] = 0" .replace("y[:, 0:1][0, 0] = 0", "y[0, 0] = t[0, 1]"))
    assert ops(text, "buffer") == ['kir.buffer : <f32, ["M", 4], inout>']
    assert "%t = kir.buffer" in text and len(ops(text, "write")) == 4
    assert "kir.broadcast %" in text and 'to <f32, ["M", 4]>' in text


def test_buffers_of_one_iteration_and_of_helpers():
    text = lower("for i in I.parallel(I.domain(x.shape[0])):\n    s = I.buffer((), I.f32, init=0)\n    add(s, x[i, 0])\n    add(s, x[i, 1])\n    y[i, 0] = s[()][()]",
                 "@intent.fn\ndef add(into, v):\n    into[()] += v\n")
    assert len(ops(text, "buffer")) == 1 and len(ops(text, "write")) == 4
    inside = body(text)
    assert inside.index(ops(text, "buffer")[0]) > inside.index(ops(text, "parallel")[0])


def test_a_read_behind_a_write_is_another_read():
    assert len(ops(lower("t = I.buffer(3, I.f32, init=0)\na = t[0]\nb2 = t[0]\nt[1] = a + b2\ny[0, 0] = t[0]"), "read")) == 2


# -- gathers --------------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("call, type_, selects", [
    ("I.gather(x, index=(0, 1))", "f32", 0), ("I.gather(x, (n, k[:]), valid=k[:] > 0)", '!kir.tensor<f32, ["K"]>', 0),
    ("I.gather(x, (n, k[:]), valid=k[:] > 0, fill=1)", '!kir.tensor<f32, ["K"]>', 1), ("I.gather(x, (n, k[:]), k[:] > 0, -0.0)", '!kir.tensor<f32, ["K"]>', 1),
    ("I.gather(x, k[:], valid=n > 0)", '!kir.tensor<f32, ["K", "N"]>', 0), ("I.gather(x, (k[:], I.domain(4)), valid=(k[:] > 0)[:, None], fill=x[0, 0])", '!kir.tensor<f32, ["K", 4]>', 1),
    ("I.gather(x, (n, n), valid=n > 3)", "f32", 0), ("I.gather(x, (n, n), valid=True, fill=9)", "f32", 0), ("I.gather(x, (n, n), valid=False, fill=9)", "f32", 1)])
def test_gathers_of_views(call, type_, selects):
    sinks = {"f32": "y[0, 0] = t", '!kir.tensor<f32, ["K"]>': "y[k[:], 0] = t", '!kir.tensor<f32, ["K", "N"]>': "y[k[:]] = t",
             '!kir.tensor<f32, ["K", 4]>': "y[k[:], I.domain(4)] = t"}
    text = lower(f"t = {call}\n{sinks[type_]}")
    read = [line for line in ops(text, "read") if "%x[" in line][-1]
    assert read.endswith(f"-> {type_}") and len(ops(text, "select")) == selects
    assert ("valid" in read) == any(word in call for word in ("valid=k", "valid=n", "valid=False", "valid=(k", "-0.0"))


def test_gathers_of_tensors_select():
    text = lower("v = x[:, :]\nt = I.gather(v, (k[:], 0), valid=k[:] > 0)\ny[0, I.domain(0, 3)] = I.gather(v, (0, I.domain(0, 3)))\nc[0] = I.cast(t[0], I.i32)")
    assert len(ops(text, "extract")) == 3 and len(ops(text, "select")) == 1 and not any("valid" in line for line in ops(text, "read"))


def test_a_rank_zero_gather_is_a_rank_zero_tensor():
    assert "-> !kir.tensor<f32, []>" in lower("z[()] = I.gather(z, (), valid=n > 0, fill=2.0)")


def test_reads_with_different_validity_differ():
    assert len([line for line in ops(lower("y[0, 0] = I.gather(x, (0, 0), n > 0) + I.gather(x, (0, 0), n > 1) + I.gather(x, (0, 0), n > 0)"), "read")]) == 2


# -- stores and scatters --------------------------------------------------------------------------------------------------------------

def test_stores_and_unique_scatters():
    text = lower("I.store(y, (0, 1), 2)\nI.store(target=y, index=(I.domain(3),), value=x[0, :])\nI.scatter_unique(y, (k[:], 0), 1)\nI.scatter_unique(c, k[:], k[:])\nI.store(z, (), 3)")
    writes = ops(text, "write")
    assert [" unique " in line for line in writes] == [False, False, True, True, False]


@pytest.mark.parametrize("combine, kind", [("plus", "add"), ("I.add", "add"), ("I.maximum", "maximum"), ("I.minimum_num", "minimum_num")])
def test_scatter_reduce(combine, kind):
    text = lower(f"I.scatter_reduce(y, index=(k[:], I.domain(0, 3)), value=1, combine={combine})\nI.scatter_reduce(o, (0, 0), x[0, 0], {combine})", PLUS)
    scatters = ops(text, "scatter_reduce")
    assert len(scatters) == 2 and '%y[' in scatters[0] and f"kir.binary {kind} " in text


def test_a_combine_function_may_use_outer_scalars():
    assert "kir.scatter_reduce" in lower("I.scatter_reduce(y, (k[:], 0), 1, keep_first)", "@intent.fn\ndef keep_first(a, b):\n    return a if a > b else b\n")


def test_mutable_load_is_not_an_earlier_read():
    text = lower("a = y[0, 0]\nb2 = I.mutable_load(y, (0, 0))\no[0, 0] = a + b2 + I.mutable_load(y, 0)[0]")
    assert len(ops(text, "read")) >= 2


# -- atomic accesses ------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("kind", "exchange add max min and_ or_ xor".split())
def test_atomic_updates_give_the_old_value(kind):
    text = lower(f"t = I.atomic.{kind}(c, k[:], 1, order=\"acq_rel\")\nc[0] = t[0] + I.atomic.{kind}(c, (0,), 2)")
    found = ops(text, "atomic")
    assert found[0].startswith(f"kir.atomic {kind.rstrip('_')} acq_rel %c[") and found[0].endswith('-> !kir.tensor<i32, ["K"]>')
    assert found[1].startswith(f"kir.atomic {kind.rstrip('_')} relaxed %c[") and found[1].endswith("-> i32")


def test_atomic_loads_and_stores():
    text = lower("t = I.atomic.load(y, (0, I.domain(3)), order=\"acquire\")\nI.atomic.store(y, (0, I.domain(3)), t, order=\"release\")\nI.atomic.store(z, (), 1)\nI.atomic.store(y, 0, 0)\n"
                 "s = I.atomic.load(z, ())\nI.atomic.exchange(e, 0, I.atomic.load(e, 1))\nI.atomic.or_(b, 0, True)\nz[()] = s")
    found = ops(text, "atomic")
    assert found[0].endswith("-> !kir.tensor<f32, [3]>") and "->" not in found[1] and found[4].endswith("-> f32") and len(found) == 8


def test_atomics_on_buffers_in_parallel_bodies():
    text = lower("t = I.buffer(1, I.i32, init=0)\nfor i in I.parallel(I.domain(4)):\n    slot = I.atomic.add(t, 0, 1)\n    c[slot] = k[i]")
    assert len(ops(text, "atomic")) == 1


def test_compare_exchange_is_a_record():
    text = lower("r = I.atomic.compare_exchange(c, 0, 1, k[0], order=\"acquire\")\nif r.success:\n    c[1] = r.old_value\nt = I.atomic.compare_exchange(c, k[:], 0, k[:])\ny[0, 0] = I.select(I.reduce.any(t.success, axis=0), 1.0, 0.0)")
    found = ops(text, "compare_exchange")
    assert found[0].startswith("kir.compare_exchange acquire %c[") and found[0].endswith("-> i1") and found[1].endswith('-> !kir.tensor<i1, ["K"]>')


# -- ragged groups --------------------------------------------------------------------------------------------------------------------

def test_ragged_groups_are_subregions():
    text = lower("M, N = x.shape\nrows = I.domain(0, M)\ng = I.ragged(I.domain(q.shape[0] - 1), rows, q)\nfor i in I.parallel(g.outer):\n    y[i, :] = I.reduce.sum(x[g[i], :], axis=0)\n"
                 "    for r in g[i]:\n        c[r] = n\n    c[I.members(g[i])] = 1")
    assert len(ops(text, "subregion")) == 1 and not ops(text, "indices") and "kir.binary sub" in text  # no write meets the offsets
    assert len(ops(lower("g = I.ragged(I.domain(3), I.domain(x.shape[0]), q)\nfor r in I.members(g[n]):\n    c[r] = n"), "for")) == 1


def test_ragged_groups_with_indices_are_index_tensors():
    text = lower("g = I.ragged(I.domain(3), I.domain(x.shape[0]), q[:], indices=k)\ny[0, :] = I.reduce.sum(x[I.members(g[n]), :], axis=0) + I.reduce.max(x[g[0]], axis=0)")
    assert len(ops(text, "subregion")) == 2 and len([line for line in ops(text, "cast") if "to !kir.tensor<index" in line]) == 2


def test_assume_in_bounds_is_a_statement():
    assert not ops(lower("I.assume_in_bounds(k[:], x, axis=0)\nI.assume_in_bounds(n, x[:, :], -1)\nI.assume_in_bounds(I.domain(3), view=c, axis=0)"), "write")


# -- rules ----------------------------------------------------------------------------------------------------------------------------

CASES = [
    ("t = I.buffer((3, 4), I.f32)\ny[0, 0] = t", "expected a tensor or scalar, got buffer 't'; read its elements with t[:, :]", 15),
    ("y[0, 0] = I.buffer(3, I.f32)", "expected a tensor or scalar, got a buffer; read its elements with buffer[:]", 15),
    ("t = I.buffer((3,), 4)", "expected a dtype such as I.f32, got literal 4", 24),
    ("t = I.buffer((-1,), I.f32)", "shape: an extent is not negative, got -1", 18),
    ("t = I.buffer((3,), I.f32, init=x[:, :])", 'value of shape ["M", "N"] has more axes than the selected part of a buffer, [3]', 36),
    ("t = I.buffer((3,), I.f32, init=n)", "a buffer has dtype f32, the value i32; convert it with I.cast", 36),
    ("t = I.buffer((3,), I.i32)\nt[0] = 0.5", "literal 0.5 cannot be held by i32; convert a value with I.cast", 12),
    ("t = I.buffer((3,), I.i32)\nt[3] = 1", "index 0 is 3, out of range for extent 3", 7),
    ("if n > 0:\n    t = I.buffer(3, I.i32)\nt[0] = 1", "name 't' is assigned in only one branch of the 'if' at line 3", 5),
    ("t = I.gather(n, 0)", "I.gather: expected a tensor, got i32 scalar", 18),
    ("t = I.gather(x, (0, 0, 0))", "view 'x' has rank 2; this index is one too many", 21),
    ("t = I.gather(x, (None, 0))", "None inserts an axis in brackets only; an index argument has none", 21),
    ("t = I.gather(x, (0, k[:]), valid=n)", "valid: expected bools, got i32 scalar", 38),
    ("t = I.gather(x, (0, k[:]), valid=x[0, :] > 0)", 'value of shape ["N"] does not broadcast to the selected part of view \'x\', ["K"]: extents "N" and "K" of axis 0', 38),
    ("t = I.gather(x, (0, 0), valid=k[:] > 0)", "view 'x' takes one element here, got a value of shape [\"K\"]", 35),
    ("t = I.gather(x, (0, 0), fill=n)", "I.gather: fill is i32 scalar and the source has dtype f32; convert it with I.cast", 34),
    ("t = I.gather(k, 0, True, 0.5)", "literal 0.5 cannot be held by i32; convert a value with I.cast", 30),
    ("I.store(x, (0, 0), 1)", "parameter 'x' is an input (I.In) and is not written", 13),
    ("I.store(x[:, :], (0, 0), 1)", 'f32 tensor ["M", "N"] is not written by index; values are immutable, and only Out and InOut views and buffers are written', 13),
    ("I.scatter_unique(y, (k[:], 0), n)", "view 'y' has dtype f32, the value i32; convert it with I.cast", 36),
    ("t = I.mutable_load(x[:, :], 0)", "I.mutable_load takes a view or a buffer, got f32 tensor [\"M\", \"N\"]", 24),
    ("I.scatter_reduce(x, (k[:], 0), 1, I.add)", "parameter 'x' is an input (I.In) and is not written", 22),
    ("I.scatter_reduce(y, (k[:], 0), 1, pair)", "combine result: expected the structure of f32 tensor [\"K\"], got a tuple of 2", 39),
    ("I.scatter_reduce(y, (k[:], 0), 1, less)", "combine result: expected f32 scalar, got bool scalar", 39),
    ("I.scatter_reduce(y, (k[:], 0), 1, put)", "a combine function has no effects; it writes 'y'", None),
    ("I.scatter_reduce(y, (k[:], 0), 1, hold)", "a combine function has no effects; it makes a buffer", None),
    ("I.scatter_reduce(y, (k[:], 0), 1, n)", "combine: expected an @intent.fn or one of I.add, I.mul, I.maximum, I.minimum, I.maximum_num, I.minimum_num, got i32 scalar", 39),
    ("I.scatter_reduce(y, (k[:], 0), x[:, :], I.add)", "value of shape [\"M\", \"N\"] has more axes than the selected part of view 'y', [\"K\"]", 36),
    ("t = I.atomic.add(x, (0, 0), 1)", "an atomic access takes an InOut view or a buffer, got parameter 'x', an input (I.In)", 22),
    ("t = I.atomic.load(o, (0, 0))", "an atomic access takes an InOut view or a buffer, got parameter 'o', an output (I.Out)", 23),
    ("t = I.atomic.add(x[:, :], 0, 1)", 'f32 tensor ["M", "N"] is not written by index', None),
    ("t = I.atomic.add(c, 0, 0.5)", "literal 0.5 cannot be held by i32; convert a value with I.cast", 28),
    ("t = I.atomic.add(c, None, 1)", "None inserts an axis in brackets only; an index argument has none", 25),
    ("t = I.atomic.load(c, 0, order=\"release\")", "I.atomic.load: order: expected 'relaxed' or 'acquire', got string 'release'", 35),
    ("I.atomic.store(c, 0, 1, order=\"acq_rel\")", "I.atomic.store: order: expected 'relaxed' or 'release', got string 'acq_rel'", 35),
    ("t = I.atomic.add(c, 0, 1, order=\"seq_cst\")", "I.atomic.add: order: expected 'relaxed', 'acquire', 'release' or 'acq_rel', got string 'seq_cst'", 37),
    ("t = I.atomic.add(c, 0, 1, order=n)", "I.atomic.add: order: expected 'relaxed', 'acquire', 'release' or 'acq_rel', got i32 scalar", 37),
    ("t = I.atomic.xor(y, (0, 0), 1)", "I.atomic.xor takes integers and bools, got f32", 22),
    ("t = I.atomic.add(b, 0, True)", "I.atomic.add does not take bool; use & | ^ ~ or convert with I.cast", 22),
    ("t = I.atomic.max(e, 0, 1)", "I.atomic.max does not take f8e5m2", None),
    ("t = I.atomic.compare_exchange(c, 0, 1, 0.5)", "literal 0.5 cannot be held by i32; convert a value with I.cast", 44),
    ("t = I.atomic.compare_exchange(c, 0, k[:], 1)", "view 'c' takes one element here, got a value of shape [\"K\"]", 41),
    ("t = I.reduce(x[:, :], 0, 0, bump)", "a combine function has no effects; it writes 'c'", None),
    ("g = I.ragged(n, I.domain(3), q)", "I.ragged: outer: expected a domain, got i32 scalar", 18),
    ("g = I.ragged(I.domain(3), I.domain(3), x)", "I.ragged: offsets: expected a view or tensor of integers of rank 1, got view 'x', f32 [\"M\", \"N\"]", 44),
    ("g = I.ragged(I.domain(3), I.domain(3), q, b)", "I.ragged: indices: expected a view or tensor of integers of rank 1, got view 'b', bool [4]", 47),
    ("g = I.ragged(I.domain(3), I.domain(3), q)\nt = x[g[I.domain(2)], 0]", "group: expected an integer scalar, got a domain", 13),
    ("g = I.ragged(I.domain(3), I.domain(3), q)\nt = g[0, 1]", "a ragged value is indexed by one group, an integer scalar", 9),
    ("g = I.ragged(I.domain(3), I.domain(3), q)\nt = g.inner", "I.ragged(...) has no attribute 'inner'", 9),
    ("t = I.members(n)", "I.members takes a group of I.ragged or a domain, got i32 scalar", 19),
    ("I.assume_in_bounds(0, n, 0)", "I.assume_in_bounds takes a view, a buffer or a tensor, got i32 scalar", 27),
    ("I.assume_in_bounds(0, x, 2)", "axis 2 is out of range for rank 2", 30),
    ("I.assume_in_bounds(0.5, x, 0)", "index 0: expected an integer scalar, ':', a domain or an integer tensor, got literal 0.5", 24),
    ("I.assume_in_bounds(4, e, 0)", "index 0 is 4, out of range for extent 4", 24),
]
HELPERS = ("@intent.fn\ndef pair(a, b):\n    return a, b\n@intent.fn\ndef less(a, b):\n    return a < b\n@intent.fn\ndef hold(a, b):\n    t = I.buffer(3, I.f32)\n    return a\n")


@pytest.mark.parametrize("case", CASES, ids=[case[0].splitlines()[-1] for case in CASES])
def test_rule(case):
    text, message, column = case
    local = ""
    if "put)" in text:  # writes a view that the kernel does not give it
        text = "I.reduce(x[:, :], 0, 0, put, (y,))"
        local = "@intent.fn\ndef put(a, b, view):\n    view[0, 0] = a\n    return a\n"
    if "bump)" in text:
        text = "t = I.reduce(x[:, :], 0, 0, bump, (c,))"
        local = "@intent.fn\ndef bump(a, b, view):\n    I.atomic.add(view, 0, 1)\n    return a\n"
    found = diagnostic(kernel(VIEWS, text, HELPERS + local))
    found["message"] = re.sub(r"at line \d+", "at line 3", found["message"])
    assert found["error"] == "LanguageError" and (found["message"] == message if column else found["message"].startswith(message))
    if column:
        assert found["column"] == column


# -- requests that no capture makes -----------------------------------------------------------------------------------------------------

BODY = """M, N = x.shape
t = I.buffer((M, 4), I.f32, init=0)
g = I.ragged(I.domain(3), I.domain(M), q, k)
i = n - n
while i < n and I.atomic.add(c, 0, 1, order="relaxed") < 9:
    i = i + 1
    if x[i, 0] > 0:
        continue
    for j in I.domain(0, N, 2):
        if find(x, j) > 3.0:
            break
        t[j, 0] += I.gather(x, (k[:], 0), valid=k[:] > 0, fill=1.0)[0]
    else_ = (i, t[0, 0])
I.scatter_reduce(y, (g[0], I.domain(0, 3)), 1.0, plus)
r = I.atomic.compare_exchange(c, (0,), 1, n)
for p, o2 in I.parallel((I.domain(M), I.domain(N))):
    if r.success:
        continue
    y[p, o2] = x[p, o2] + I.mutable_load(t, (p, 0))
I.scatter_unique(y, (I.members(g[1]), 0), 2.0)
I.assume_in_bounds(n, x, axis=1)
"""
FIND = PLUS + "@intent.fn\ndef find(v, j):\n    for a in range(4):\n        if v[a, j] > 1:\n            return v[a, j]\n        if v[a, 0] < 0:\n            break\n    return 0.0\n"


@pytest.mark.parametrize("seed", range(40))
def test_mutated_requests_end_in_a_diagnostic(seed):
    rng = random.Random(seed)
    for _ in range(10):
        mutated = json.loads(json.dumps(capture(kernel(VIEWS, BODY, FIND))))
        for _ in range(rng.randrange(1, 4)):
            mutate({key: value for key, value in mutated.items() if key != "files"}, rng)
        status, fields = compile_request(emit="kir", target=None, **mutated)
        assert status != INTERNAL and (status == SUCCESS) == (not fields["diagnostics"]), fields["diagnostics"]


def test_the_whole_program_lowers():
    kir(kernel(VIEWS, BODY, FIND))
