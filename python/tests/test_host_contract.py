"""Contractions on the host backend."""

import numpy as np
import pytest

from host_native import LIBRARY, Kernel, kernel
from host_programs import axis, block_axis, matmul_text, normal, rng
from host_reference import NUMPY, decode, encode

pytestmark = pytest.mark.skipif(LIBRARY is None, reason="libintent-host.so is not built")


@pytest.mark.parametrize("tile", [(16, 32, 16), (8, 16, 64), (1, 64, 32), (64, 1, 32), (3, 24, 8), (20, 48, 16)])
@pytest.mark.parametrize("element,acc", [("f32", "f32"), ("f16", "f32"), ("bf16", "f32"), ("f64", "f64"), ("i8", "i32"), ("f8E4M3FN", "f32"), ("f16", "f16"), ("ui8", "i32")])
def test_contract(element, acc, tile):
    k = Kernel(matmul_text(*tile, element, acc))
    for M, N, K in [(1, 1, 1), (33, 47, 29), (16, 64, 0), (64, 96, 65)]:
        if element[0] in "iu":
            a, b = rng.integers(0 if element[0] == "u" else -128, 128, (M, K)).astype(NUMPY[element]), rng.integers(0 if element[0] == "u" else -128, 128, (K, N)).astype(NUMPY[element])
        else:
            a, b = encode(element, normal(M, K)), encode(element, normal(K, N))
        c = np.ones((M, N), NUMPY[acc])
        k(a, b, c)
        want = decode(element, a).astype(np.float64) @ decode(element, b).astype(np.float64)
        tolerance = {"f64": 1e-12, "f16": 2e-2}.get(acc, 1e-4)
        assert np.allclose(c, want, atol=tolerance, rtol=tolerance) if acc[0] == "f" else np.array_equal(c, want)


@pytest.mark.parametrize("lhs_t", [False, True])
@pytest.mark.parametrize("rhs_t", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
def test_contract_layouts(lhs_t, rhs_t, order):
    k = Kernel(matmul_text(16, 32, 16, "f32", "f32", lhs_t, rhs_t))
    a, b = normal(37, 50), normal(50, 41)
    c = np.zeros((37, 41), np.float32)
    k(np.asarray(a.T if lhs_t else a, order=order), np.asarray(b.T if rhs_t else b, order=order), c)
    assert np.allclose(c, a @ b, atol=1e-4)


def test_batched_contract():
    def body(p):
        e = [2, 8, 16]
        bat, m, k, n = (axis(p, x, name) for x, name in ((2, "%B"), (8, "%M"), (16, "%K"), (32, "%N")))
        zero = p.constant("0.0", "f32")
        a = p.load("%a", "f32", [(bat[0], [0]), (m[0], [1]), (k[0], [2])], [(bat[1], [0]), (m[1], [1]), (k[1], [2])], zero, e)
        b = p.load("%b", "f32", [(bat[0], [0]), (k[0], [1]), (n[0], [2])], [(bat[1], [0]), (k[1], [1]), (n[1], [2])], zero, [2, 16, 32])
        c = p.contract(a, b, p.broadcast(zero, [], [2, 8, 32]))
        p.store(c, "%c", [(bat[0], [0]), (m[0], [1]), (n[0], [2])], [(bat[1], [0]), (m[1], [1]), (n[1], [2])])

    k = Kernel(kernel([("a", "f32", ['"B"', '"M"', '"K"'], "in"), ("b", "f32", ['"B"', '"K"', '"N"'], "in"), ("c", "f32", ['"B"', '"M"', '"N"'], "out")], [("1", body)],
                      privates=['"B"', '"M"', '"K"', '"N"']))
    a, b = normal(2, 7, 15), normal(2, 15, 30)
    c = np.zeros((2, 7, 30), np.float32)
    k(a, b, c)
    assert np.allclose(c, a @ b, atol=1e-5)


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal):
    """Online softmax over key blocks: reductions, exponentials and two contractions with carried fragments."""
    bm, bn, d = 16, 32, 32

    def body(p):
        m, vm = block_axis(p, bm, "%S")
        c, _ = axis(p, d, "%D")
        zero, low = p.constant("0.0", "f32"), p.constant("0xFF800000", "f32")
        scale = p.broadcast(p.constant("0.25", "f32"), [], [bm, bn])
        q = p.load("%q", "f32", [(m, [0]), (c, [1])], [(vm, [0])], zero, [bm, d])
        init = [p.broadcast(low, [], [bm]), p.broadcast(zero, [], [bm]), p.broadcast(zero, [], [bm, d])]

        def step(i, carried):
            top, total, acc = carried
            n, vn = axis(p, bn, "%T", i)
            kk = p.load("%k", "f32", [(n, [0]), (c, [1])], [(vn, [0])], zero, [bn, d])
            s = p.binary("mul", p.contract(q, p.transpose(kk, [1, 0]), p.broadcast(zero, [], [bm, bn])), scale)
            keep = p.broadcast(vn, [1], [bm, bn])
            if causal:
                keep = p.binary("and", keep, p.compare("le", p.broadcast(n, [1], [bm, bn]), p.broadcast(m, [0], [bm, bn])))
            s = p.select(keep, s, p.broadcast(low, [], [bm, bn]))
            new = p.binary("maximum", top, p.fold("maximum", s, low, 1))
            alpha = p.unary("exp", p.binary("sub", top, new))
            e = p.unary("exp", p.binary("sub", s, p.broadcast(new, [0], [bm, bn])))
            v = p.load("%v", "f32", [(n, [0]), (c, [1])], [(vn, [0])], zero, [bn, d])
            total = p.binary("add", p.binary("mul", total, alpha), p.fold("add", e, zero, 1))
            return [new, total, p.contract(e, v, p.binary("mul", acc, p.broadcast(alpha, [0], [bm, d])))]

        _, total, acc = p.loop(p.constant(0), "%T", p.constant(bn), init, step)
        p.store(p.binary("div", acc, p.broadcast(total, [0], [bm, d])), "%o", [(m, [0]), (c, [1])], [(vm, [0])])

    views = [(n, "f32", ['"S"' if n in "qo" else '"T"', '"D"'], "out" if n == "o" else "in") for n in "qkvo"]
    k = Kernel(kernel(views, [(f'ceil_div("S", {bm})', body)], privates=['"S"', '"T"', '"D"']))
    for S, T in [(16, 32), (37, 70), (1, 1)]:
        q, kk, v = normal(S, d), normal(T, d), normal(T, d)
        o = np.zeros((S, d), np.float32)
        k(q, kk, v, o)
        s = (q.astype(np.float64) @ kk.T) * 0.25
        if causal:
            s = np.where(np.arange(T) <= np.arange(S)[:, None], s, -np.inf)
        e = np.exp(s - s.max(1, keepdims=True))
        assert np.allclose(o, e / e.sum(1, keepdims=True) @ v, atol=1e-5)
