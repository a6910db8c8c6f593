"""Structured operations of the reference: reductions, scans, contractions, packed formats, against values worked out apart from it."""
import math

import ml_dtypes
import numpy as np
import pytest

import intent
import intent.language as I
from programs import kernel
from test_reference_values import NUMPY, run

RNG = np.random.default_rng(5)
WIDENED = {"f16": "f32", "bf16": "f32", "f8e4m3fn": "f32", "f8e5m2": "f32", "i8": "i32", "i16": "i32", "u8": "u32", "u16": "u32", "bool": "i32"}


@pytest.mark.parametrize("dtype", [d for d in NUMPY if d != "index"])
@pytest.mark.parametrize("n", [0, 1, 7])
def test_named_reductions(dtype, n):
    small = RNG.integers(0, 2 if dtype == "bool" else 5, (3, n))
    x = small.astype(NUMPY[dtype])
    wide = WIDENED.get(dtype, dtype)
    np.testing.assert_array_equal(run("y[:] = I.reduce.sum(a[:, :], axis=1)", [(dtype, x)], wide, (3,)), small.sum(1))
    if dtype == "bool":
        np.testing.assert_array_equal(run("y[:] = I.reduce.any(a[:, :], axis=1)", [(dtype, x)], "bool", (3,)), small.any(1))
        np.testing.assert_array_equal(run("y[:] = I.reduce.all(a[:, :], axis=1)", [(dtype, x)], "bool", (3,)), small.all(1))
        return
    if dtype in ("f8e4m3fn", "f8e5m2"):
        low = -448.0 if dtype == "f8e4m3fn" else -math.inf
    elif dtype[0] in "fb":
        low = -math.inf
    else:
        low = 0 if dtype[0] == "u" else -(1 << int(dtype[1:]) - 1)
    found = run("y[:] = I.reduce.max(a[:, :], axis=-1)", [(dtype, x)], dtype, (3,))
    np.testing.assert_array_equal(found.astype(np.float64), small.max(1) if n else np.full(3, float(low)))
    if dtype[0] in "fb" and not dtype.startswith("f8"):
        np.testing.assert_array_equal(run("y[:, :] = I.reduce.mean(a[:, :], axis=1, keepdims=True)", [(dtype, x)], wide, (3, 1)),
                                      np.where(n, (small.sum(1, keepdims=True) / max(n, 1)).astype(np.float32 if wide == "f32" else np.float64), np.nan))
    if not dtype.startswith("f8"):
        np.testing.assert_array_equal(run("y[:] = I.reduce.prod(a[:, :], axis=1)", [(dtype, x[:, :3])], dtype, (3,)).astype(np.float64), small[:, :3].prod(1))


def test_sums_are_rounded_once_and_accumulate_where_asked():
    x = np.full(4097, 0.1, np.float32)
    assert run("y[()] = I.reduce.sum(a[:], axis=0)", [("f32", x)], "f32", ())[()] == np.float32(math.fsum(x.tolist()))
    assert run("y[()] = I.reduce.sum(a[:], axis=0, acc_dtype=I.f64)", [("f32", x)], "f64", ())[()] == math.fsum(x.tolist())
    assert run("y[()] = I.reduce.sum(a[:], axis=0, acc_dtype=I.i8)", [("i32", [100, 100])], "i8", ())[()] == -56
    np.testing.assert_array_equal(run("y[()] = I.reduce.max(a[:], axis=0)", [("f32", [1, math.nan, 3])], "f32", ()), np.nan)


def test_arg_reductions():
    x = np.array([[3, 7, 7, 1], [math.nan, 9, math.nan, 0], [-math.inf] * 4], np.float32)
    program = 'v: I.Out[I.f32, (3,)], p: I.Out[I.index, (3,)]'
    for kind, values, at in [("max", [7, math.nan, -math.inf], [1, 0, 0]), ("min", [1, math.nan, -math.inf], [3, 0, 0])]:
        k = kernel(f'x: I.In[I.f32, (3, 4)], {program}', f"a, b = I.arg_reduce.{kind}(x[:, :], axis=1)\nv[:] = a\np[:] = b")
        v, p = intent.interpret(k).run(x)
        np.testing.assert_array_equal(v, values)
        np.testing.assert_array_equal(p, at)
        k = kernel(f'x: I.In[I.f32, (3, 0)], {program}', f"a, b = I.arg_reduce.{kind}(x[:, :], axis=1)\nv[:] = a\np[:] = b")
        v, p = intent.interpret(k).run(np.empty((3, 0), np.float32))
        np.testing.assert_array_equal(v, -math.inf if kind == "max" else math.inf)
        np.testing.assert_array_equal(p, 0)


WORST = """@intent.fn
def worst(a, b):
    if a.value >= b.value:
        return a
    return b
@intent.fn
def shifted(a, b, c):
    return I.maximum(a + c, b + c) - c
@intent.fn
def latest(a, b):
    return I.select(b != 0.0, b, a)
"""


def test_generic_reductions_branch_and_capture():
    x = RNG.standard_normal((4, 33)).astype(np.float32)
    k = kernel('x: I.In[I.f32, (4, 33)], v: I.Out[I.f32, (4,)], p: I.Out[I.index, (4,)], s: I.Out[I.f32, ()]',
               "t = x[:, :]\nr = I.reduce(I.record(value=t, at=I.indices(I.domain(33))[None, :] + I.zeros((4, 1), I.index)), 1, I.record(value=-I.inf, at=0), worst)\n"
               "v[:] = r.value\np[:] = r.at\ns[()] = I.reduce(t, (0, 1), -I.inf, shifted, (I.cast(0.0, I.f32),))", WORST)
    v, p, s = intent.interpret(k).run(x)
    np.testing.assert_array_equal(v, x.max(1))
    np.testing.assert_array_equal(p, x.argmax(1))
    assert s == x.max()


def test_reductions_of_rank_zero_identities_and_tuples():
    k = kernel('x: I.In[I.i32, (5,)], y: I.Out[I.i32, ()], z: I.Out[I.i32, ()]',
               "a, b = I.reduce((x[:], x[:]), 0, (0, 1), both)\nz[()] = a + b\ny[()] = I.reduce(x[:], 0, I.full((), 0, I.i32), I.add)[()]",
               "@intent.fn\ndef both(a, b):\n    return a[0] + b[0], a[1] * b[1]\n")
    y, z = intent.interpret(k).run(np.arange(1, 6, dtype=np.int32))
    assert (y, z) == (15, 15 + 120)


@pytest.mark.parametrize("inclusive, reverse", [(True, False), (True, True), (False, False), (False, True)])
def test_scans(inclusive, reverse):
    x = RNG.integers(-3, 4, (3, 6)).astype(np.int64)
    sources = x[:, ::-1] if reverse else x
    want, state = [], [np.zeros(3, np.int64), np.full(3, -99), np.ones(3, np.int64), np.zeros(3)]
    for column in sources.T:
        before = list(state)
        # The latest element that is not 0 depends on the order: the accumulated operand stands first.
        after = [state[0] + column, np.maximum(state[1], column), state[2] * column, np.where(column != 0, column, state[3])]
        want.append(after if inclusive else before)
        state = after
    want = [np.stack(w, 1)[:, ::-1] if reverse else np.stack(w, 1) for w in zip(*want)]
    flags = f"inclusive={inclusive}, reverse={reverse}"
    np.testing.assert_array_equal(run(f"y[:, :] = I.cumsum(a[:, :], axis=1, {flags})", [("i64", x)], "i64"), want[0])
    np.testing.assert_array_equal(run(f"y[:, :] = I.cumprod(a[:, :], axis=1, {flags})", [("i64", x)], "i64"), want[2])
    np.testing.assert_array_equal(run(f"y[:, :] = I.scan(a[:, :], 1, 0, I.add, {flags})", [("i64", x)], "i64"), want[0])
    np.testing.assert_array_equal(run(f"y[:, :] = I.scan(a[:, :], 1, -99, I.maximum, {flags})", [("i64", x)], "i64"), want[1])
    np.testing.assert_array_equal(run(f"y[:, :] = I.scan(a[:, :], 1, 0.0, latest, {flags})", [("f64", x.astype(np.float64))], "f64", before=WORST), want[3])
    if inclusive:
        np.testing.assert_array_equal(run(f"y[:, :] = I.cummax(a[:, :], axis=1, {flags})", [("i64", x)], "i64"), want[1])
    assert run(f"y[:] = I.cumsum(a[:], axis=0, {flags})", [("f32", np.empty(0))], "f32").shape == (0,)


def test_cumulative_dtypes_and_nan():
    np.testing.assert_array_equal(run("y[:] = I.cumsum(a[:], axis=0)", [("i8", [100, 100, 100])], "i32"), [100, 200, 300])
    np.testing.assert_array_equal(run("y[:] = I.cumsum(a[:], axis=0)", [("bool", [1, 0, 1])], "i32"), [1, 1, 2])
    np.testing.assert_array_equal(run("y[:] = I.cummax(a[:], axis=0)", [("f32", [1, 5, math.nan, 2])], "f32"), [1, 5, math.nan, math.nan])
    np.testing.assert_array_equal(run("y[:] = I.cummax(a[:], axis=0, inclusive=False)", [("f32", [1, 5])], "f32"), [-math.inf, 1])


def test_histogram():
    np.testing.assert_array_equal(run("y[:] = I.histogram(a[:], 4, valid=b[:])", [("i32", [0, 3, 3, 9, 1]), ("bool", [1, 1, 1, 0, 1])], "u32", (4,)), [1, 1, 0, 2])
    np.testing.assert_array_equal(run("y[:] = I.histogram(a[:], 1, count_dtype=I.u8)", [("u16", [0] * 300)], "u8", (1,)), [44])
    with pytest.raises(intent.LanguageError, match="value 9 lies outside"):
        run("y[:] = I.histogram(a[:], 4)", [("i32", [0, 9])], "u32", (4,))


# -- contractions -----------------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype, acc", [("f16", "f32"), ("bf16", "f32"), ("f32", "f32"), ("f64", "f64"), ("i8", "i32"), ("i32", "i32"), ("f8e4m3fn", "f32"), ("f16", "f16")])
def test_contractions(dtype, acc):
    a, b, m = (RNG.integers(-4, 5, s).astype(NUMPY[dtype]) for s in ((2, 3, 5), (2, 4, 5), (5, 6)))
    wide = [v.astype(np.float64) for v in (a, b, m)]
    cases = [("I.matmul(a[:, :, :], c[:, :], acc_dtype=I.{0})", wide[0] @ wide[2]), ("I.matmul(a[:, :, :], b[:, :, :], acc_dtype=I.{0}, transpose_rhs=True)", wide[0] @ wide[1].transpose(0, 2, 1)),
             ("I.matmul(c[:, :], I.transpose(a[0, :, :]), acc_dtype=I.{0}, transpose_lhs=True)", wide[2].T @ wide[0][0].T),
             ("I.matvec(a[:, :, :], b[:, 0, :], acc_dtype=I.{0})", np.einsum("bmk,bk->bm", wide[0], wide[1][:, 0])), ("I.vecmat(a[0, 0, :], c[:, :], acc_dtype=I.{0})", wide[0][0, 0] @ wide[2]),
             ("I.matvec(c[:, :], a[0, 1, :], acc_dtype=I.{0}, transpose=True)", wide[2].T @ wide[0][0, 1]), ("I.dot(a[0, 0, :], b[1, 1, :], acc_dtype=I.{0})", wide[0][0, 0] @ wide[1][1, 1]),
             ("I.contract(a[:, :, :], b[:, :, :], reduce=((2, 2),), batch=((0, 0),), acc_dtype=I.{0})", np.einsum("bmk,bnk->bmn", wide[0], wide[1])),
             ("I.contract(a[:, :, :], b[:, :, :], reduce=((0, 0), (2, -1)), acc_dtype=I.{0})", np.einsum("bmk,bnk->mn", wide[0], wide[1]))]
    for text, want in cases:
        index = ", ".join([":"] * want.ndim) or "()"
        found = run(f"y[{index}] = {text.format(acc)}", [(dtype, a), (dtype, b), (dtype, m)], acc, want.shape)
        np.testing.assert_array_equal(found.astype(np.float64), want)


def test_contractions_of_nothing_and_of_wrapping_integers():
    np.testing.assert_array_equal(run("y[:, :] = I.matmul(a[:, :], b[:, :], acc_dtype=I.f32)", [("f32", np.empty((2, 0))), ("f32", np.empty((0, 3)))], "f32", (2, 3)), 0)
    assert run("y[()] = I.dot(a[:], b[:], acc_dtype=I.i32)", [("i32", [2**30, 2**30]), ("i32", [2, 3])], "i32", ())[()] == (5 * 2**30 + 2**31) % 2**32 - 2**31
    np.testing.assert_array_equal(run("y[:, :] = I.outer(a[:], b[:])", [("i8", [100, 2]), ("i8", [2, 3])], "i8", (2, 2)), [[-56, 44], [4, 6]])


E2M1 = [0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6]


@pytest.mark.parametrize("lhs_format, rhs_format", [("e2m1", "e2m1"), ("e4m3", "e4m3"), ("e2m1", "e5m2")])
def test_scaled_contractions(lhs_format, rhs_format):
    M, N, G, S = 3, 4, 2, 8

    def operand(name, rows):
        if name == "e2m1":
            codes = RNG.integers(0, 16, (rows, G, S)).astype(np.uint8)
            return codes[..., 0::2] | codes[..., 1::2] << 4, np.array(E2M1)[codes], "u8"
        kind = ml_dtypes.float8_e4m3fn if name == "e4m3" else ml_dtypes.float8_e5m2
        values = RNG.integers(-8, 9, (rows, G, S)).astype(kind)
        return values, values.astype(np.float64), "f8e4m3fn" if name == "e4m3" else "f8e5m2"

    (a, x, at), (b, w, bt) = operand(lhs_format, M), operand(rhs_format, N)
    sa, sb = RNG.integers(124, 130, (M, G)).astype(np.uint8), RNG.integers(124, 130, (N, G)).astype(np.uint8)
    want = np.einsum("mgc,ngc->mn", x * 2.0 ** (sa[..., None].astype(int) - 127), w * 2.0 ** (sb[..., None].astype(int) - 127))
    body = (f"y[:, :] = I.scaled_matmul(a[:, :, :], b[:, :], c[:, :, :], d[:, :], lhs_format=I.{lhs_format}, rhs_format=I.{rhs_format}, group_size={S}, acc_dtype=I.f32)")
    np.testing.assert_array_equal(run(body, [(at, a), ("u8", sa), (bt, b.transpose(1, 2, 0).copy()), ("u8", sb)], "f32", (M, N)), want)
    sa[1, 0] = 255
    found = run(body, [(at, a), ("u8", sa), (bt, b.transpose(1, 2, 0).copy()), ("u8", sb)], "f32", (M, N))
    assert np.isnan(found[1]).all() and np.isfinite(found[0]).all()


def test_sparse_contractions():
    M, K, N = 3, 8, 4
    rhs = RNG.integers(-3, 4, (K, N)).astype(np.float32)
    first, second = np.array([[0, 1], [2, 0], [1, 1]]), np.array([[1, 3], [3, 2], [2, 2]])
    values = RNG.integers(1, 5, (M, 4)).astype(np.float32)
    dense = np.zeros((M, 2, 4))
    for m in range(M):
        for g in range(2):
            dense[m, g, first[m, g]], dense[m, g, second[m, g]] = values[m, 2 * g], values[m, 2 * g + 1]
    inputs = [("f32", values), ("i32", first), ("i32", second), ("f32", rhs)]
    meta = "I.record(first=b[:, :], second=c[:, :])"
    for call in (f"I.sparse_matmul(a[:, :], {meta}, d[:, :], format=I.sparse.two_of_four(1, 8), acc_dtype=I.f32)", f"I.sparse_contract_2to4(a[:, :], {meta}, d[:, :], I.f32)",
                 f"I.sparse_contract(a[:, :], {meta}, d[:, :], format=I.sparse.two_of_four(-1, 8), reduce=((1, 0),), acc_dtype=I.f32)"):
        np.testing.assert_array_equal(run(f"y[:, :] = {call}", inputs, "f32", (M, N)), dense.reshape(M, K) @ rhs)
    at = RNG.integers(0, 2, (M, 4))
    dense = np.zeros((M, 4, 2))
    np.put_along_axis(dense, at[..., None], values[..., None], 2)
    found = run("y[:, :] = I.sparse_matmul(a[:, :], b[:, :], c[:, :], format=I.sparse.one_of_two(1, 8), acc_dtype=I.f32)", [("f32", values), ("i8", at), ("f32", rhs)], "f32", (M, N))
    np.testing.assert_array_equal(found, dense.reshape(M, K) @ rhs)
    with pytest.raises(intent.LanguageError, match="first < second"):
        run(f"y[:, :] = I.sparse_contract_2to4(a[:, :], {meta}, d[:, :], I.f32)", [("f32", values), ("i32", second), ("i32", first), ("f32", rhs)], "f32", (M, N))


# -- packed blocks ----------------------------------------------------------------------------------------------

def q8_record(x):
    """One block by the page's steps, in plain float32 arithmetic."""
    extreme = min(x.min(), 0) if -x.min() >= x.max() else x.max()
    if not x.any():
        return bytes(292)
    inverse = np.float32(-127) / np.float32(extreme)
    q = [max(-128, min(127, round(float(np.float32(v * inverse))))) for v in x]
    sums = [sum(q[16 * j:16 * j + 16]) for j in range(16)]
    return np.float32(np.float32(1) / inverse).tobytes() + np.array(q, np.int8).tobytes() + np.array(sums, "<i2").tobytes()


def test_quantize():
    x = RNG.standard_normal((4, 256)).astype(np.float32)
    x[1] = 0
    x[2, 3], x[2, 9] = -9, 9
    found = run("y[:, :] = I.quantize(a[:, :], format=I.quant.q8_k)", [("f32", x)], "u8", (4, 292))
    for row, record in zip(x, found):
        assert record.tobytes() == q8_record(row)
    with pytest.raises(intent.LanguageError, match="finite"):
        run("y[:, :] = I.quantize(a[:, :], format=I.quant.q8_k)", [("f32", np.full((1, 256), np.inf, np.float32))], "u8", (1, 292))


def test_quantized_dot():
    G = 3
    x = np.frombuffer(b"".join(q8_record(RNG.standard_normal(256).astype(np.float32)) for _ in range(G)), np.uint8).reshape(G, 292)
    w = RNG.integers(0, 256, (G, 144)).astype(np.uint8)
    for g in range(G):
        w[g, :4] = np.array([0.01 * (g + 1), 0.02], "<f2").view(np.uint8)
    total = 0.0
    for a, b in zip(w, x):
        d, dmin = (float(v) for v in a[:4].copy().view("<f2"))
        scale, minimum = [], []
        for i in range(8):  # the published six-bit layout, field by field
            if i < 4:
                scale.append(a[4 + i] & 63)
                minimum.append(a[8 + i] & 63)
            else:
                scale.append(a[8 + i] & 15 | (a[i] >> 6) << 4)
                minimum.append(a[8 + i] >> 4 | (a[4 + i] >> 6) << 4)
        q = [int(a[16 + 32 * (i // 64) + i % 32] >> (0 if i % 64 < 32 else 4) & 15) for i in range(256)]
        other = b[4:260].view(np.int8).astype(int)
        ds = float(b[:4].copy().view("<f4")[0])
        total += ds * sum((d * int(scale[i // 32]) * q[i] - dmin * int(minimum[i // 32])) * other[i] for i in range(256))
    found = run("y[()] = I.quantized_dot(a[:, :], b[:, :], lhs_format=I.quant.q4_k, rhs_format=I.quant.q8_k, acc_dtype=I.f32)", [("u8", w), ("u8", x)], "f32", ())
    assert abs(found[()] - total) <= 1e-4 * abs(total) + 1e-3


def test_names_of_formats_are_checked():
    with pytest.raises(intent.LanguageError, match="expected I.quant.q8_k"):
        run("y[:, :] = I.quantize(a[:, :], format=I.quant.q4_k)", [("f32", np.ones((1, 256), np.float32))], "u8", (1, 292))
    assert I.quant.q8_k
