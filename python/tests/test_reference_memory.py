"""Accesses, effects, control and calls of the reference."""
import io
import contextlib
import math

import ml_dtypes
import numpy as np
import pytest

import intent
import intent.language as I
from programs import kernel
from test_reference_values import run

Z = np.arange(3 * 4 * 5, dtype=np.float32).reshape(3, 4, 5)
R, Q = np.array([2, 0], np.int32), np.array([4, 1], np.uint8)


@pytest.mark.parametrize("index, want", [
    ("r, cols, q", Z[[2, 0], :, [4, 1]]), ("0, r2, q", Z[0, [2, 0], [4, 1]]), (":, r, q", Z[:, [2, 0], [4, 1]]), ("r[:, None], cols, q", Z[np.array([[2], [0]]), :, [[4, 1]]].transpose(0, 1, 2)),
    ("r", Z[[2, 0]]), ("r[:, None], cols, 0", Z[[2, 0], :, 0][:, None, :]), ("cols2, 1", Z[:, 1]), ("1, rows[1:3], :", Z[1, 1:3]), ("rows[0:3], 0, I.domain(0, 5, 2)", Z[:, 0, ::2]),
    ("None, 1, :, None, 2", Z[1, :, 2][None, :, None]), ("1", Z[1]), ("I.domain(1, 3)[2:3], 0, 0", Z[2:3, 0, 0]), (":, I.domain(0, 4, 3)[1:4], 0", Z[:, 3:4, 0]), ("1, 2, 3", Z[1, 2, 3]),
])
def test_reads_of_views_and_tensors(index, want):
    # The joint axes of index tensors stand where the first of them does.
    if index == "r[:, None], cols, q":
        want = np.stack([[[Z[a, c, b] for c in range(4)] for b in (4, 1)] for a in (2, 0)])
        want = np.array([[[Z[a, c, b] for c in range(4)] for b in (4, 1)] for a in (2, 0)])
    before = "r, q, r2 = a[:], b[:], a[:]\ncols, cols2, rows = I.domain(0, 4), I.domain(0, 3), I.domain(0, 4)\n"
    shape = np.shape(want)
    out = ", ".join([":"] * len(shape)) or "()"
    for source in ("c", "c[:, :, :]"):
        np.testing.assert_array_equal(run(f"{before}y[{out}] = {source}[{index}]", [("i32", R), ("u8", Q), ("f32", Z)], "f32", shape), want)


def test_writes_follow_the_same_rules():
    k = kernel('r: I.In[I.i32, (2,)], q: I.In[I.u8, (2,)], v: I.In[I.f32, (2, 4)], y: I.InOut[I.f32, (3, 4, 5)]', "y[r[:], I.domain(0, 4), q[:]] = v[:, :]\ny[1, :, I.domain(1, 3)] = v[0, :][:, None]\ny[1, 0, 0] = I.dot(v[0, :], v[0, :], acc_dtype=I.f32)")
    v, y = np.arange(8, dtype=np.float32).reshape(2, 4) - 50, np.zeros((3, 4, 5), np.float32)
    want = y.copy()
    want[R, :, Q] = v
    want[1, :, 1:3] = v[0][:, None]
    want[1, 0, 0] = v[0] @ v[0]
    intent.interpret(k)(R, Q, v, y)
    np.testing.assert_array_equal(y, want)


def test_strides_of_the_caller_are_respected():
    base = np.zeros((6, 8), np.float32)
    x, y = base[::-2, 1::3], np.zeros((6, 12), np.float32)[::2, ::-4]
    x[...] = np.arange(9).reshape(3, 3)
    intent.interpret(kernel('x: I.In[I.f32, ("M", "N")], y: I.InOut[I.f32, ("M", "N")]', "y[:, :] = x[:, :] * 2.0"))(x, y)
    np.testing.assert_array_equal(y, x * 2)


def test_arguments_are_those_of_compiled_kernels():
    k = intent.interpret(kernel('x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("W",)], s: I.f32 = 2.0', "y[:] = I.full(y.shape, s * x[0], I.f32)"))
    x = np.array([3], np.float32)
    np.testing.assert_array_equal(k.run(x, shapes={"W": 2}), [6, 6])
    np.testing.assert_array_equal(k.run(x, np.empty(3, np.float32), s=4), [12] * 3)
    y = np.empty(2, np.float32)
    assert k(x, y, 5.0) is None and (y == 15).all()
    for call, words in [(lambda: k.run(x), "the extents of 'y' follow from no argument"), (lambda: k(x.astype(np.float64), y), "expected dtype f32, got f64"),
                        (lambda: k(x[None], y), "rank 1"), (lambda: k(x, y, "a"), "argument 's'"), (lambda: k(x), "missing argument 'y'"), (lambda: k.run(x, shapes={"Z": 1}), "shapes names 'Z'")]:
        with pytest.raises(intent.CallError) as error:
            call()
        assert words in str(error.value)
    same = intent.interpret(kernel('x: I.In[I.f32, ("N",)], y: I.InOut[I.f32, ("N",)]', "pass"))
    with pytest.raises(intent.CallError, match="arguments 'x' and 'y' disagree on 'N'"):
        same(np.ones(2, np.float32), np.ones(3, np.float32))


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    x = torch.arange(6, dtype=torch.bfloat16).reshape(2, 3).T
    y = intent.interpret(kernel('x: I.In[I.bf16, ("M", "N")], y: I.Out[I.f32, ("M", "N")]', "y[:, :] = I.cast(x[:, :], I.f32) + 0.5")).run(x)
    assert torch.equal(y, x.float() + 0.5)


def test_type_variables_and_constexprs():
    T = I.TypeVar("T", I.f16, I.f32)
    k = kernel('x: I.In[T, ("N",)], y: I.Out[T, ("N",)], z: I.Out[I.f32, ("K",)], K: I.Constexpr[int], W: I.Constexpr[float] = 1', "y[:] = I.cast(I.cast(x[:], I.f32) * W, T)\nz[:] = I.cast(K, I.f32)", T=T)
    for dtype in (np.float16, np.float32):
        y, z = intent.interpret(k, constexprs={"K": 3}).run(np.ones(2, dtype))
        assert y.dtype == dtype and z.shape == (3,) and (z == 3).all()
    with pytest.raises(intent.CallError, match="expected dtype f16 or f32, got f64"):
        intent.interpret(k, constexprs={"K": 3}).run(np.ones(2))
    for arguments, words in [({}, "constexpr 'K' has no value"), ({"constexprs": {"K": True}}, "expected int, got True"), ({"constexprs": {"K": 1, "Q": 1}}, "no constexpr parameter 'Q'"),
                             ({"constexprs": {"K": 1}, "types": {"T": I.f64}}, "expected one of f16, f32, got f64"), ({"constexprs": {"K": 1}, "types": {"S": I.f64}}, "no type variable 'S'")]:
        with pytest.raises(intent.LanguageError, match=words):
            intent.interpret(k, **arguments)


def test_small_floats_in_author_memory():
    for dtype, kind in (("f8e4m3fn", ml_dtypes.float8_e4m3fn), ("f8e5m2", ml_dtypes.float8_e5m2), ("bf16", ml_dtypes.bfloat16)):
        x = np.array([0.0, -0.0, 1.5, -3.0, math.nan, 0.015625], kind)
        found = run("y[:] = I.select(a[:] > 0.0, a[:], a[:])", [(dtype, x)], dtype)
        np.testing.assert_array_equal(found.astype(np.float32), x.astype(np.float32))
        np.testing.assert_array_equal(np.signbit(found.astype(np.float32))[:4], np.signbit(x.astype(np.float32))[:4])


# -- effects ----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name, want, old", [("add", 13, 10), ("max", 10, 10), ("min", 3, 10), ("and_", 2, 10), ("or_", 11, 10), ("xor", 9, 10), ("exchange", 3, 10)])
def test_atomics_of_one_element(name, want, old):
    y, o = np.array([10, 10], np.int32), np.empty(1, np.int32)
    intent.interpret(kernel('y: I.InOut[I.i32, (2,)], o: I.Out[I.i32, (1,)]', f'o[0] = I.atomic.{name}(y, 1, 3, order="acq_rel")'))(y, o)
    assert y.tolist() == [10, want] and o[0] == old


def test_atomics_of_tensors_act_per_element():
    k = kernel('at: I.In[I.i64, ("N",)], y: I.InOut[I.i32, (3,)], o: I.Out[I.i32, ("N",)], c: I.InOut[I.f32, ()]',
               'o[:] = I.atomic.add(y, at[:], 2)\nI.atomic.max(c, (), I.cast(I.inf, I.f32) - I.inf)\nI.atomic.store(y, 0, 7, order="release")\nv = I.atomic.load(y, (0,), order="acquire")\nI.atomic.exchange(y, 1, v)')
    at, y, c = np.array([2, 2, 1, 2]), np.zeros(3, np.int32), np.array(4, np.float32)
    for seed in range(3):
        y[:] = 0
        o = intent.interpret(k, seed=seed).run(at, y, c)
        assert y.tolist() == [7, 7, 6] and sorted(o[[0, 1, 3]].tolist()) == [0, 2, 4] and o[2] == 0
    assert c == 4  # a NaN operand leaves the number


@pytest.mark.parametrize("call, words", [
    ('I.atomic.load(y, 0, order="release")', "order is one of relaxed, acquire"), ('I.atomic.store(y, 0, 1, order="acquire")', "order is one of relaxed, release"),
    ("I.atomic.add(o, 0, 1)", "got the Out view 'o'"), ("I.atomic.add(x, 0, 1)", "got the In view 'x'"), ("I.atomic.and_(f, 0, 1.0)", "takes integers, got f32"), ("I.atomic.add(y, 5, 1)", "index 0 is 5"),
])
def test_atomics_that_are_refused(call, words):
    k = kernel('x: I.In[I.i32, (1,)], y: I.InOut[I.i32, (1,)], o: I.Out[I.i32, (1,)], f: I.InOut[I.f32, (1,)]', call)
    with pytest.raises(intent.LanguageError, match=words):
        intent.interpret(k).run(*(np.ones(1, np.int32) for _ in "xy"), np.ones(1, np.float32))


def test_ragged_groups():
    k = kernel('x: I.In[I.f32, ("L", 2)], off: I.In[I.i32, ("G1",)], at: I.In[I.i64, ("L",)], y: I.Out[I.f32, ("G", 2)], z: I.Out[I.f32, ("G", 2)], n: I.Out[I.i64, ("G",)]',
               "G, L = y.shape[0], x.shape[0]\nr = I.ragged(I.domain(0, G), I.domain(0, L), off)\nm = I.ragged(I.domain(0, G), I.domain(0, L), off, at)\n"
               "for g in I.parallel(r.outer):\n    y[g, :] = I.reduce.sum(x[r[g], :], axis=0)\n    z[g, :] = I.reduce.sum(x[I.members(m[g]), :], axis=0)\n"
               "    c = I.cast(I.end(r[g]), I.i64) * 10\n    for e in I.members(r[g]):\n        c = c + 1\n    n[g] = c")
    x, off, at = np.arange(14, dtype=np.float32).reshape(7, 2), np.array([0, 3, 3, 7], np.int32), np.array([6, 5, 4, 3, 2, 1, 0])
    y, z, n = intent.interpret(k).run(x, off, at, shapes={"G": 3})
    want = [x[a:b].sum(0) for a, b in zip(off, off[1:])]
    np.testing.assert_array_equal(y, want)
    np.testing.assert_array_equal(z, [x[at[a:b]].sum(0) for a, b in zip(off, off[1:])])
    assert n.tolist() == [33, 30, 74]


def test_mapped_groups_count_positions_of_their_relation():
    k = kernel('x: I.In[I.f32, ("L",)], off: I.In[I.i32, ("G1",)], at: I.In[I.i32, ("K",)], y: I.Out[I.f32, ("G",)]',
               "r = I.ragged(I.domain(y.shape[0]), I.domain(x.shape[0]), off, indices=at)\nfor g in I.parallel(r.outer):\n    y[g] = I.reduce.sum(x[I.members(r[g])], axis=0)")
    x, off, at = np.arange(3, dtype=np.float32), np.array([0, 4, 7], np.int32), np.array([2, 2, 0, 1, 1, 2, 1], np.int32)
    assert intent.interpret(k).run(x, off, at, shapes={"G": 2}).tolist() == [5, 4]
    with pytest.raises(intent.LanguageError, match=r"subregion \[4:8\] does not lie within its source \[0:7\]"):
        intent.interpret(k).run(x, np.array([0, 4, 8], np.int32), at, shapes={"G": 2})


def test_buffers_hold_state():
    k = kernel('x: I.In[I.i32, ("N",)], y: I.Out[I.i32, (5,)]', "b = I.buffer((5,), I.i32, init=I.zeros((5,), I.i32))\nfor i in I.domain(x.shape[0]):\n    b[x[i] % 5] += 1\n    I.atomic.add(b, x[i] % 5, 10)\nI.store(b, 0, 3)\ny[:] = I.mutable_load(b, slice(None))".replace("I.mutable_load(b, slice(None))", "I.gather(b, index=I.domain(5))"))
    np.testing.assert_array_equal(intent.interpret(k).run(np.array([1, 6, 4], np.int32)), [3, 22, 0, 0, 11])


def test_scatter_reduce_combines_with_what_is_there():
    k = kernel('at: I.In[I.i32, ("N",)], v: I.In[I.f32, ("N", "D")], y: I.InOut[I.f32, ("S", "D")]', "I.scatter_reduce(y, index=(at[:], I.domain(y.shape[1])), value=v[:, :], combine=larger)", "@intent.fn\ndef larger(a, b):\n    return a if a > b else b\n")
    at, v, y = np.array([0, 2, 0], np.int32), np.array([[1, 9], [2, 2], [3, -3]], np.float32), np.full((3, 2), 2.5, np.float32)
    want = y.copy()
    np.maximum.at(want, at, v)
    intent.interpret(k)(at, v, y)
    np.testing.assert_array_equal(y, want)


def test_random_bits():
    # The published vector of Philox4x32-10 for a key and counter of ones.
    bits = run("y[:] = I.random.bits(18446744073709551615, a[:])", [("u64", np.array([2**64 - 4, 5], np.uint64))], "u32")
    assert bits.shape == (2,)
    k = kernel('y: I.Out[I.u32, (4,)], u: I.Out[I.f32, (4,)], s: I.u64', "y[:] = I.random.bits(s, I.indices(I.domain(4)))\nfor i in I.parallel(I.domain(4)):\n    u[i] = I.random.uniform(s, i)")
    y, u = intent.interpret(k).run(0)
    assert y.tolist() == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    np.testing.assert_array_equal(u, (y >> 8).astype(np.float64) * 2.0**-24)
    with pytest.raises(intent.LanguageError, match="a counter is not negative, got -1"):
        run("y[:] = I.random.bits(1, a[:])", [("i32", [-1])], "u32")


# -- control, values, debugging ---------------------------------------------------------------------------------

def test_loops_branches_and_products():
    k = kernel('x: I.In[I.i32, ("N",)], y: I.Out[I.i64, (4,)], MODE: I.Constexpr[str] = "a"',
               "N, = x.shape\nlast, total = I.cast(0, I.i64), 0\nfor i in range(N):\n    if x[i] < 0:\n        continue\n    if x[i] == 9:\n        break\n    total, last = total + x[i], I.cast(x[i], I.i64)\n"
               "n = I.cast(0, I.i64)\nwhile n * n < 50:\n    n += 1\nr = I.record(a=(n, last), b=I.record(c=n))\ny[0], y[1] = I.cast(total, I.i64), r.a[1]\ny[2] = r.b.c if n > 3 and not n > 100 or n == 0 else -1\n"
               "if MODE == 'a':\n    y[3] = I.cast(I.end(I.domain(2, 9)), I.i64)\nelse:\n    y[3] = undefined")
    np.testing.assert_array_equal(intent.interpret(k).run(np.array([1, -5, 7, 9, 100], np.int32)), [8, 7, 8, 9])


def test_index_arithmetic_wraps_at_64_bits():
    k = kernel('y: I.Out[I.i64, (2,)], n: I.index', "y[0] = I.cast(n * n, I.i64)\ny[1] = I.cast(n + n, I.i64)")
    np.testing.assert_array_equal(intent.interpret(k).run(2**62 + 1), [((2**62 + 1) ** 2 + 2**63) % 2**64 - 2**63, -(2**63) + 2])


def test_printing_works_inside_a_kernel():
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        intent.interpret(kernel('x: I.In[I.f32, (2,)], n: I.i32', "print(x[:], n, x, I.domain(3)[1:2], I.record(a=n))"))(np.ones(2, np.float32), 3)
    assert text.getvalue() == "f32 [1. 1.] i32 3 view 'x' f32 [2] domain(1, 2) record(a=i32 3)\n"


def test_a_breakpoint_stops_in_the_authors_frame():
    seen = []
    k = kernel('x: I.In[I.f32, (2,)]', "v = x[0] + 1.0\nstop()\nw = v", stop=lambda: seen.append(__import__("sys")._getframe(1)))
    with pytest.raises(intent.LanguageError):
        intent.interpret(kernel('x: I.In[I.f32, (2,)]', "v = len(x)"))(np.ones(2, np.float32))
    intent.interpret(k)(np.ones(2, np.float32))
    assert float(np.asarray(seen[0].f_locals["v"])) == 2.0 and seen[0].f_code.co_filename == k.function.__code__.co_filename
    assert seen[0].f_code.co_name == "k" and list(seen[0].f_code.co_lines()) == list(k.function.__code__.co_lines())


def test_free_orders_follow_the_seed():
    k = kernel('y: I.InOut[I.i32, (1,)], o: I.Out[I.i32, (8,)]', "for i in I.parallel(I.domain(8)):\n    o[i] = I.atomic.add(y, 0, 1)")
    orders = [intent.interpret(k, seed=s).run(np.zeros(1, np.int32)).tolist() for s in (0, 0, 1)]
    assert orders[0] == orders[1] != orders[2] and sorted(orders[2]) == list(range(8))
    with pytest.raises(intent.ConfigurationError, match="seed"):
        intent.interpret(k, seed=-1)
