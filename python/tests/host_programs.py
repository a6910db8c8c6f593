"""Block programs that several of the host backend's tests and measurements use."""

from pathlib import Path

import numpy as np

from host_native import kernel

ROOT = Path(__file__).resolve().parents[2]
rng = np.random.default_rng(0)


def normal(*shape, dtype=np.float32):
    return rng.standard_normal(shape).astype(dtype)


def axis(p, extent, bound, base=None):
    """Lanes of one axis with their validity."""
    lanes = p.lanes(base or p.constant(0), extent)
    return lanes, p.below(lanes, bound)


def block_axis(p, extent, bound):
    return axis(p, extent, bound, p.binary("mul", "%p", p.constant(extent)))


def softmax_text():
    return (ROOT / "test/Target/Host/softmax.mlir").read_text()


def pointwise(bm, bn, element="f32", compute=lambda p, x: p.unary("neg", x)):
    def body(p):
        m, vm = block_axis(p, bm, "%M")
        fill = p.constant("0.0", element)

        def step(i, _):
            n, vn = axis(p, bn, "%N", i)
            at, valid = [(m, [0]), (n, [1])], [(vm, [0]), (vn, [1])]
            x = p.load("%x", element, at, valid, fill, [bm, bn])
            p.store(compute(p, x), "%y", at, valid)
            return []

        p.loop(p.constant(0), "%N", p.constant(bn), [], step)

    return kernel([("x", element, ['"M"', '"N"'], "in"), ("y", element, ['"M"', '"N"'], "out")], [(f'ceil_div("M", {bm})', body)], privates=['"M"', '"N"'],
                  overlaps=['#block.overlap<"x", "y", identical_or_disjoint>'])


def matmul_text(bm, bn, bk, element, acc, lhs_t=False, rhs_t=False, resident=False):
    def body(p):
        cols = p.binary("floordiv", p.binary("add", "%N", p.constant(bn - 1)), p.constant(bn))
        m, vm = axis(p, bm, "%M", p.binary("mul", p.binary("floordiv", "%p", cols), p.constant(bm)))
        n, vn = axis(p, bn, "%N", p.binary("mul", p.binary("mod", "%p", cols), p.constant(bn)))
        is_float = element[0] in "fb"
        zero, start = p.constant("0.0" if is_float else 0, element), p.constant("0.0" if acc[0] in "fb" else 0, acc)

        def step(i, carried):
            k, vk = axis(p, bk, "%K", i)
            a = p.load("%a", element, [(k, [0]), (m, [1])] if lhs_t else [(m, [0]), (k, [1])], [(vk, [0]), (vm, [1])] if lhs_t else [(vm, [0]), (vk, [1])], zero, [bk, bm] if lhs_t else [bm, bk])
            b = p.load("%b", element, [(n, [0]), (k, [1])] if rhs_t else [(k, [0]), (n, [1])], [(vn, [0]), (vk, [1])] if rhs_t else [(vk, [0]), (vn, [1])], zero, [bn, bk] if rhs_t else [bk, bn])
            a = p.transpose(a, [1, 0]) if lhs_t else a
            b = p.transpose(b, [1, 0]) if rhs_t else b
            return [p.contract(a, b, carried[0])]

        init = p.broadcast(start, [], [bm, bn])
        out = p.loop(p.constant(0), "%K", p.constant(bk), [init], step)
        p.store(out[0], "%c", [(m, [0]), (n, [1])], [(vm, [0]), (vn, [1])])

    a, b = (['"K"', '"M"'] if lhs_t else ['"M"', '"K"']), (['"N"', '"K"'] if rhs_t else ['"K"', '"N"'])
    return kernel([("a", element, a, "in"), ("b", element, b, "in"), ("c", acc, ['"M"', '"N"'], "out")], [(f'mul(ceil_div("M", {bm}), ceil_div("N", {bn}))', body)],
                  privates=['"M"', '"N"', '"K"'])
