"""Structure on the host backend: accesses, reductions, contractions, loops, groups, threads, errors."""

import concurrent.futures
import ctypes
import multiprocessing
import os
from pathlib import Path

import numpy as np
import pytest

from host_native import LIBRARY, HostError, Kernel, kernel, native
from host_reference import NUMPY, decode, encode

pytestmark = pytest.mark.skipif(LIBRARY is None, reason="libintent-host.so is not built")
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


# ---------------------------------------------------------------------------------------------------- programs


def softmax_text():
    return (ROOT / "test/Target/Host/softmax.mlir").read_text()


@pytest.mark.parametrize("row", [0, 1])
@pytest.mark.parametrize("shape", [(1, 1), (5, 37), (7, 16), (64, 1000), (3, 300), (0, 5), (2, 700)])
def test_softmax(shape, row):
    x = (normal(*shape) * 3).astype(np.float16)
    y = np.zeros_like(x)
    Kernel(softmax_text(), row)(x, y)
    if x.size:
        e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True).astype(np.float64))
        assert np.abs(e / e.sum(1, keepdims=True) - y).max() < 1e-3


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


LAYOUTS = {
    "contiguous": lambda a: a.copy(), "transposed": lambda a: a.T.copy().T, "reversed": lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
    "every second": lambda a: np.repeat(np.repeat(a, 2, 0), 3, 1)[::2, ::3], "columns reversed": lambda a: a[:, ::-1].copy()[:, ::-1],
}


@pytest.mark.parametrize("tile", [(1, 64), (4, 16), (8, 8), (3, 24), (16, 1)])
@pytest.mark.parametrize("to", LAYOUTS)
@pytest.mark.parametrize("source", [*LAYOUTS, "repeated rows", "repeated columns"])
def test_strides(source, to, tile):
    k = Kernel(pointwise(*tile))
    for shape in [(7, 67), (16, 64), (1, 1), (17, 3)]:
        x = normal(*shape)
        if source == "repeated rows":
            x = np.broadcast_to(x[:1], shape)
        elif source == "repeated columns":
            x = np.broadcast_to(x[:, :1], shape)
        else:
            x = LAYOUTS[source](x)
        y = LAYOUTS[to](np.zeros(shape, np.float32))
        k(x, y)
        assert np.array_equal(y, -x)


def test_nothing_outside_is_written():
    k = Kernel(pointwise(4, 16))
    store = np.full((20, 50), 7, np.float32)
    inside = store[3:14, 5:42]
    k(normal(11, 37), inside)
    store[3:14, 5:42] = 7
    assert (store == 7).all()


def test_in_place():
    k = Kernel(pointwise(4, 16))
    x = normal(33, 45)
    want = -x
    k(x, x)
    assert np.array_equal(x, want)


@pytest.mark.parametrize("element", ["f16", "bf16", "f8E5M2", "f8E4M3FN", "f64", "i8", "ui16", "i64"])
def test_element_widths_and_strides(element):
    k = Kernel(pointwise(2, 32, element, lambda p, x: x).replace("0.0 : ", "0 : ") if element[0] in "iu" else pointwise(2, 32, element, lambda p, x: x))
    x = rng.integers(0, 100, (9, 150)).astype(NUMPY[element])
    for a in (x, x[:, ::2], x[::-1, ::-1], x.T):
        y = np.zeros(a.shape, NUMPY[element])
        k(a, y)
        assert np.array_equal(a, y)


@pytest.mark.parametrize("tile", [(16, 16), (32, 8), (4, 64)])
def test_transpose(tile):
    bm, bn = tile

    def body(p):
        cols = p.binary("floordiv", p.binary("add", "%N", p.constant(bn - 1)), p.constant(bn))
        pm, pn = p.binary("floordiv", "%p", cols), p.binary("mod", "%p", cols)
        m, vm = axis(p, bm, "%M", p.binary("mul", pm, p.constant(bm)))
        n, vn = axis(p, bn, "%N", p.binary("mul", pn, p.constant(bn)))
        x = p.load("%x", "f32", [(m, [0]), (n, [1])], [(vm, [0]), (vn, [1])], p.constant("0.0", "f32"), [bm, bn])
        p.store(p.transpose(x, [1, 0]), "%y", [(n, [0]), (m, [1])], [(vn, [0]), (vm, [1])])

    k = Kernel(kernel([("x", "f32", ['"M"', '"N"'], "in"), ("y", "f32", ['"N"', '"M"'], "out")], [(f'mul(ceil_div("M", {bm}), ceil_div("N", {bn}))', body)], privates=['"M"', '"N"']))
    for shape in [(1, 1), (33, 70), (64, 64)]:
        x = normal(*shape)
        y = np.zeros(shape[::-1], np.float32)
        k(x, y)
        assert np.array_equal(y, x.T)


def test_gather_with_data_dependent_coordinates():
    def body(p):
        n, vn = block_axis(p, 16, "%N")
        i = p.load("%i", "i32", [(n, [0])], [(vn, [0])], p.constant(0, "i32"), [16])
        at = p.cast(i, "index")
        inside = p.compare("ge", at, p.broadcast(p.constant(0), [], [16]))
        x = p.load("%x", "f32", [(at, [0])], [(vn, [0]), (inside, [0])], p.constant("-1.0", "f32"), [16])
        p.store(x, "%y", [(n, [0])], [(vn, [0])])

    k = Kernel(kernel([("i", "i32", ['"N"'], "in"), ("x", "f32", ['"K"'], "in"), ("y", "f32", ['"N"'], "out")], [('ceil_div("N", 16)', body)], privates=['"N"']))
    x = normal(50)
    i = rng.integers(-3, 50, 77).astype(np.int32)
    y = np.zeros(77, np.float32)
    k(i, x, y)
    assert np.array_equal(y, np.where(i < 0, -1, x[i]))


def test_windows_by_index_arithmetic():
    """y[n] = x[n // 3] + x[n % 5] + x[2 * n - 1]: affine and not affine coordinates."""
    def body(p):
        n, vn = block_axis(p, 16, "%N")
        spread = lambda v: p.broadcast(p.constant(v), [], [16])
        zero = p.constant("0.0", "f32")
        at = [p.binary("floordiv", n, spread(3)), p.binary("mod", n, spread(5)), p.binary("sub", p.binary("mul", n, spread(2)), spread(1))]
        low = p.compare("ge", at[2], spread(0))
        values = [p.load("%x", "f32", [(a, [0])], [(vn, [0]), (low, [0])] if a == at[2] else [(vn, [0])], zero, [16]) for a in at]
        p.store(p.binary("add", p.binary("add", values[0], values[1]), values[2]), "%y", [(n, [0])], [(vn, [0])])

    k = Kernel(kernel([("x", "f32", ['"K"'], "in"), ("y", "f32", ['"N"'], "out")], [('ceil_div("N", 16)', body)], privates=['"N"']))
    x, y = normal(200), np.zeros(83, np.float32)
    k(x, y)
    n = np.arange(83)
    assert np.array_equal(y, (x[n // 3] + x[n % 5]) + np.where(n > 0, x[2 * n - 1], 0))


# ---------------------------------------------------------------------------------------------------- reductions


def reduce_text(shape, axis_number, element, combine, identity, acc=None):
    names = ['"A"', '"B"', '"C"'][: len(shape)]
    acc = acc or element
    out = [n for i, n in enumerate(names) if i != axis_number]

    def body(p):
        zero = p.constant("0.0" if element[0] in "fb" else 0, element)
        lanes = [axis(p, e, n.replace('"', "%").rstrip("%")) for e, n in zip(shape, names)]
        at, valid = [(l, [i]) for i, (l, _) in enumerate(lanes)], [(v, [i]) for i, (_, v) in enumerate(lanes)]
        x = p.load("%x", element, at, valid, zero, list(shape))
        if acc != element:
            x = p.cast(x, acc)
        one = p.constant(identity, acc)
        mask = p.broadcast(lanes[axis_number][1], [axis_number], list(shape))
        x = p.select(mask, x, p.broadcast(one, [], list(shape)))
        r = p.fold(combine, x, one, axis_number)
        kept = [i for i in range(len(shape)) if i != axis_number]
        p.store(r, "%y", [(lanes[i][0], [j]) for j, i in enumerate(kept)], [(lanes[i][1], [j]) for j, i in enumerate(kept)])

    return kernel([("x", element, names, "in"), ("y", acc, out, "out")], [("1", body)], privates=names)


REDUCE = {"add": (np.sum, "0.0", 0), "mul": (np.prod, "1.0", 1), "maximum": (np.max, "0xFF800000", -(2**31)), "minimum": (np.min, "0x7F800000", 2**31 - 1)}


@pytest.mark.parametrize("kind", REDUCE)
@pytest.mark.parametrize("element", ["f32", "i32"])
@pytest.mark.parametrize("extents,axis_number,shape", [
    ((128,), 0, (77,)), ((128,), 0, (128,)), ((4, 64), 1, (3, 50)), ((64, 32), 0, (50, 29)), ((8, 16), 0, (8, 16)), ((4, 8, 32), 1, (3, 7, 30)), ((4, 8, 32), 0, (3, 7, 30)),
    ((4, 8, 32), 2, (3, 7, 30)), ((64, 4), 1, (60, 3)), ((2, 1), 1, (2, 1)), ((16, 2), 0, (0, 2)), ((16, 128), 1, (16, 0))])
def test_reduce(extents, axis_number, shape, element, kind):
    function, of_float, of_int = REDUCE[kind]
    x = normal(*shape) if element == "f32" else rng.integers(-50, 50, shape).astype(np.int32)
    out = tuple(s for i, s in enumerate(shape) if i != axis_number)
    y = np.full(out, 9, x.dtype)
    Kernel(reduce_text(extents, axis_number, element, kind, of_float if element == "f32" else of_int))(x, y)
    initial = {"add": 0, "mul": 1, "maximum": -np.inf if element == "f32" else -(2**31), "minimum": np.inf if element == "f32" else 2**31 - 1}[kind]
    with np.errstate(all="ignore"):
        want = function(x.astype(np.float64 if element == "f32" else np.int64), axis=axis_number, initial=initial).astype(x.dtype)
    if element == "f32":
        assert np.allclose(y, want, rtol=1e-5, atol=1e-5)
    else:
        assert np.array_equal(y, function(x, axis=axis_number, initial=np.int32(initial), dtype=np.int32) if kind in ("add", "mul") else want)


@pytest.mark.parametrize("element,acc", [("f16", "f32"), ("bf16", "f32"), ("f16", "f16"), ("i8", "i32"), ("ui8", "ui8"), ("f64", "f64"), ("f32", "f64"), ("i1", "i32")])
def test_sum_dtypes(element, acc):
    x = rng.integers(0, 2 if element == "i1" else 5, 100)
    x = encode(element, x) if element != "i1" else x.astype(bool)
    text = reduce_text((128,), 0, element, "add", "0.0" if acc[0] in "fb" else 0, acc)
    text = text.replace("block.constant 0 : i1 : i1", "block.constant false : i1")
    y = np.zeros((), NUMPY[acc])
    Kernel(text)(x, y)
    assert decode(acc, y) == decode(element, x).astype(np.float64).sum()


def test_sum_is_better_than_a_chain():
    x = np.full(65536, np.float32(0.1))
    y = np.zeros((), np.float32)
    Kernel(reduce_text((65536,), 0, "f32", "add", "0.0"))(x, y)
    exact = x.astype(np.float64).sum()
    assert abs(y - exact) / exact < 5e-5


def test_nan_wins_maximum():
    x = normal(3, 50)
    x[1, 40] = np.nan
    y = np.zeros(3, np.float32)
    Kernel(reduce_text((4, 64), 1, "f32", "maximum", "0xFF800000"))(x, y)
    assert np.array_equal(y, x.max(1), equal_nan=True)


@pytest.mark.parametrize("shape,axis_number", [((5, 60), 1), ((60, 5), 0), ((5, 3), 1)])
def test_argmax(shape, axis_number):
    extents = tuple(1 << (s - 1).bit_length() for s in shape)

    def body(p):
        lanes = [axis(p, e, n) for e, n in zip(extents, ("%A", "%B"))]
        at, valid = [(l, [i]) for i, (l, _) in enumerate(lanes)], [(v, [i]) for i, (_, v) in enumerate(lanes)]
        low = p.constant("0xFF800000", "f32")
        x = p.load("%x", "f32", at, valid, low, list(extents))
        where = p.broadcast(lanes[axis_number][0], [axis_number], list(extents))

        def better(a, b):
            greater, equal, lower = p.compare("gt", b[0], a[0]), p.compare("eq", b[0], a[0]), p.compare("lt", b[1], a[1])
            take = p.binary("or", greater, p.binary("and", equal, lower))
            return [p.select(take, b[0], a[0]), p.select(take, b[1], a[1])]

        _, i = p.reduce([x, where], [low, p.constant(1 << 40)], axis_number, better)
        other = 1 - axis_number
        p.store(i, "%y", [(lanes[other][0], [0])], [(lanes[other][1], [0])])

    names = ['"A"', '"B"']
    k = Kernel(kernel([("x", "f32", names, "in"), ("y", "index", [names[1 - axis_number]], "out")], [("1", body)], privates=names))
    x = rng.integers(0, 9, shape).astype(np.float32)
    y = np.zeros(shape[1 - axis_number], np.int64)
    k(x, y)
    assert np.array_equal(y, x.argmax(axis_number))


def test_normalisation_reuses_values():
    """Mean, variance and the scaled result of each row: two reductions and a store over the same chunk."""
    def body(p):
        m, vm = block_axis(p, 2, "%M")
        n, vn = axis(p, 128, "%N")
        e = [2, 128]
        zero = p.constant("0.0", "f32")
        at, valid = [(m, [0]), (n, [1])], [(vm, [0]), (vn, [1])]
        x = p.load("%x", "f32", at, valid, zero, e)
        count = p.broadcast(p.cast("%N", "f32"), [], [2])
        mean = p.binary("div", p.fold("add", x, zero, 1), count)
        centred = p.binary("sub", x, p.broadcast(mean, [0], e))
        mask = p.broadcast(vn, [1], e)
        square = p.select(mask, p.binary("mul", centred, centred), p.broadcast(zero, [], e))
        variance = p.binary("div", p.fold("add", square, zero, 1), count)
        scale = p.unary("rsqrt", p.binary("add", variance, p.broadcast(p.constant("1.0e-5", "f32"), [], [2])))
        g = p.load("%g", "f32", [(n, [0])], [(vn, [0])], zero, [128])
        y = p.binary("mul", p.binary("mul", centred, p.broadcast(scale, [0], e)), p.broadcast(g, [1], e))
        p.store(y, "%y", at, valid)

    k = Kernel(kernel([("x", "f32", ['"M"', '"N"'], "in"), ("g", "f32", ['"N"'], "in"), ("y", "f32", ['"M"', '"N"'], "out")], [('ceil_div("M", 2)', body)], privates=['"M"', '"N"']))
    for shape in [(5, 100), (4, 128), (1, 3)]:
        x, g = normal(*shape), normal(shape[1])
        y = np.zeros_like(x)
        k(x, g, y)
        d = x.astype(np.float64)
        want = (d - d.mean(1, keepdims=True)) / np.sqrt(d.var(1, keepdims=True) + 1e-5) * g
        assert np.allclose(y, want, atol=1e-4)


# ---------------------------------------------------------------------------------------------------- loops


def test_carried_fragments():
    """A running sum of squares and a running maximum of each row, over chunks."""
    def body(p):
        m, vm = block_axis(p, 4, "%M")
        zero, low = p.constant("0.0", "f32"), p.constant("0xFF800000", "f32")
        init = [p.broadcast(zero, [], [4]), p.broadcast(low, [], [4])]

        def step(i, carried):
            n, vn = axis(p, 32, "%N", i)
            x = p.load("%x", "f32", [(m, [0]), (n, [1])], [(vm, [0]), (vn, [1])], zero, [4, 32])
            mask = p.broadcast(vn, [1], [4, 32])
            top = p.fold("maximum", p.select(mask, x, p.broadcast(low, [], [4, 32])), low, 1)
            return [p.binary("add", carried[0], p.fold("add", p.binary("mul", x, x), zero, 1)), p.binary("maximum", carried[1], top)]

        s, t = p.loop(p.constant(0), "%N", p.constant(32), init, step)
        p.store(p.binary("sub", s, t), "%y", [(m, [0])], [(vm, [0])])

    k = Kernel(kernel([("x", "f32", ['"M"', '"N"'], "in"), ("y", "f32", ['"M"'], "out")], [('ceil_div("M", 4)', body)], privates=['"M"', '"N"']))
    for shape in [(6, 100), (4, 32), (1, 1)]:
        x = normal(*shape)
        y = np.zeros(shape[0], np.float32)
        k(x, y)
        d = x.astype(np.float64)
        assert np.allclose(y, (d * d).sum(1) - d.max(1), atol=1e-4)


def test_swapped_and_rotated_carried_fragments():
    def body(p):
        n, vn = axis(p, 16, "%N")
        a = p.load("%a", "f32", [(n, [0])], [(vn, [0])], p.constant("0.0", "f32"), [16])
        b = p.load("%b", "f32", [(n, [0])], [(vn, [0])], p.constant("0.0", "f32"), [16])
        one = p.broadcast(p.constant("1.0", "f32"), [], [16])
        x, y, z = p.loop(p.constant(0), "%K", p.constant(1), [a, b, p.constant(0)],
                         lambda i, c: [c[1], p.binary("add", c[0], one), p.binary("add", c[2], i)])
        p.store(x, "%a", [(n, [0])], [(vn, [0])])
        p.store(y, "%b", [(n, [0])], [(vn, [0])])
        p.store(p.cast(z, "f32"), "%b", [(p.constant(0), [])], [])

    k = Kernel(kernel([("a", "f32", ['"N"'], "inout"), ("b", "f32", ['"N"'], "inout")], [("1", body)], scalars=[("K", "index")], privates=['"N"'],
                      overlaps=['#block.overlap<"a", "b", disjoint>']))
    for steps in range(5):
        a, b = normal(11), normal(11)
        x, y = a.copy(), b.copy()
        for _ in range(steps):
            x, y = y, x + np.float32(1)
        y[0] = sum(range(steps))
        k(a, b, np.int64(steps))
        assert np.array_equal(a, x) and np.array_equal(b, y)


def test_transposing_carried_fragment():
    """Each step reads the carried square across: it cannot be updated in place."""
    def body(p):
        m, vm = axis(p, 8, "%N")
        n, vn = axis(p, 8, "%N")
        at, valid = [(m, [0]), (n, [1])], [(vm, [0]), (vn, [1])]
        x = p.load("%x", "f32", at, valid, p.constant("0.0", "f32"), [8, 8])
        out = p.loop(p.constant(0), p.constant(3), p.constant(1), [x], lambda i, c: [p.binary("add", c[0], p.transpose(c[0], [1, 0]))])
        p.store(out[0], "%y", at, valid)

    k = Kernel(kernel([("x", "f32", ['"N"', '"N"'], "in"), ("y", "f32", ['"N"', '"N"'], "out")], [("1", body)], privates=['"N"']))
    x = rng.integers(0, 9, (8, 8)).astype(np.float32)
    y = np.zeros_like(x)
    k(x, y)
    want = x
    for _ in range(3):
        want = want + want.T
    assert np.array_equal(y, want)


def test_if_and_while():
    def body(p):
        n, vn = axis(p, 16, "%N")
        x = p.load("%x", "f32", [(n, [0])], [(vn, [0])], p.constant("0.0", "f32"), [16])
        f = "!block.fragment<f32, [16]>"
        zero, limit = p.constant("0.0", "f32"), p.constant("100.0", "f32")
        odd = p.compare("eq", p.binary("mod", "%K", p.constant(2)), p.constant(1))
        p.line(f"%c:2 = scf.if {odd} -> ({f}, index) {{")
        p.types["%neg"] = f
        neg = p.unary("neg", x)
        p.line(f"scf.yield {neg}, %K : {f}, index")
        p.line("} else {")
        twice = p.binary("add", x, x)
        p.line(f"scf.yield {twice}, {p.constant(7)} : {f}, index")
        p.line("}")
        p.types["%c#0"], p.types["%c#1"] = f, "index"
        # Doubles until the sum of magnitudes reaches the limit.
        p.line(f"%w:2 = scf.while (%u = %c#0, %t = {p.constant(0)}) : ({f}, index) -> ({f}, index) {{")
        p.types["%u"], p.types["%t"] = f, "index"
        total = p.fold("add", p.unary("abs", "%u"), zero, 0)
        p.line(f"scf.condition({p.compare('lt', total, limit)}) %u, %t : {f}, index")
        p.line("} do {")
        p.line(f"^bb0(%d: {f}, %e: index):")
        p.types["%d"], p.types["%e"] = f, "index"
        p.line(f"scf.yield {p.binary('add', '%d', '%d')}, {p.binary('add', '%e', p.constant(1))} : {f}, index")
        p.line("}")
        p.types["%w#0"], p.types["%w#1"] = f, "index"
        p.store("%w#0", "%y", [(n, [0])], [(vn, [0])])
        p.store(p.binary("add", p.binary("mul", "%w#1", p.constant(100)), "%c#1"), "%s", [(p.constant(0), [])], [])

    k = Kernel(kernel([("x", "f32", ['"N"'], "in"), ("y", "f32", ['"N"'], "out"), ("s", "index", ["1"], "out")], [("1", body)], scalars=[("K", "index")], privates=['"N"']))
    for K in (3, 4):
        x, y, s = normal(13), np.zeros(13, np.float32), np.zeros(1, np.int64)
        k(x, y, s, np.int64(K))
        v, t = (-x if K % 2 else x + x), 0
        while np.abs(v).sum() < 100:
            v, t = v + v, t + 1
        assert np.array_equal(y, v) and s[0] == 100 * t + (K if K % 2 else 7)


def test_shift_in_place_reads_before_it_writes():
    def body(p):
        n, vn = axis(p, 64, "%N")
        at = p.binary("sub", n, p.broadcast(p.constant(1), [], [64]))
        inside = p.compare("ge", at, p.broadcast(p.constant(0), [], [64]))
        x = p.load("%x", "f32", [(at, [0])], [(vn, [0]), (inside, [0])], p.constant("0.0", "f32"), [64])
        p.store(x, "%x", [(n, [0])], [(vn, [0])])

    k = Kernel(kernel([("x", "f32", ['"N"'], "inout")], [("1", body)], privates=['"N"']))
    x = normal(50)
    want = np.concatenate([[0], x[:-1]]).astype(np.float32)
    k(x)
    assert np.array_equal(x, want)


def test_loads_stay_before_later_stores_and_fences():
    def body(p):
        n, vn = axis(p, 16, "%N")
        at, valid = [(n, [0])], [(vn, [0])]
        zero = p.constant("0.0", "f32")
        old = p.load("%x", "f32", at, valid, zero, [16])
        p.store(p.binary("add", old, old), "%x", at, valid)
        p.line("block.fence")
        new = p.load("%x", "f32", at, valid, zero, [16])
        p.store(p.binary("sub", new, old), "%y", at, valid)

    k = Kernel(kernel([("x", "f32", ['"N"'], "inout"), ("y", "f32", ['"N"'], "out")], [("1", body)], privates=['"N"'], overlaps=['#block.overlap<"x", "y", disjoint>']))
    x = normal(13)
    old, y = x.copy(), np.zeros(13, np.float32)
    k(x, y)
    assert np.array_equal(y, old) and np.array_equal(x, old + old)


# ---------------------------------------------------------------------------------------------------- contractions


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


# ---------------------------------------------------------------------------------------------------- launches


def test_two_groups_and_uneven_grids():
    def fill(value, view, extent):
        def body(p):
            n, vn = block_axis(p, extent, "%N" if view == "%x" else "%M")
            p.store(p.cast(p.binary("add", n, p.broadcast(p.constant(value), [], [extent])), "f32"), view, [(n, [0])], [(vn, [0])])
        return body

    k = Kernel(kernel([("x", "f32", ['"N"'], "out"), ("y", "f32", ['"M"'], "out")], [('ceil_div("N", 16)', fill(5, "%x", 16)), ('ceil_div("M", 4)', fill(9, "%y", 4))], privates=['"N"', '"M"'],
                      overlaps=['#block.overlap<"x", "y", disjoint>']))
    for n, m in [(1, 1), (100, 3), (0, 77), (12345, 54321)]:
        x, y = np.zeros(n, np.float32), np.zeros(m, np.float32)
        k(x, y)
        assert np.array_equal(x, np.arange(n, dtype=np.float32) + 5) and np.array_equal(y, np.arange(m, dtype=np.float32) + 9)


@pytest.mark.parametrize("element,value", [("f16", 1.5), ("bf16", 2.0), ("f32", -3.25), ("f64", 1e100), ("i8", -5), ("ui8", 250), ("i64", -(2**60)), ("i1", True), ("index", 3)])
def test_scalar_arguments(element, value):
    def body(p):
        n, vn = axis(p, 8, "%N")
        p.store(p.broadcast("%s", [], [8]), "%y", [(n, [0])], [(vn, [0])])

    k = Kernel(kernel([("y", element, ['"N"'], "out")], [("1", body)], scalars=[("s", element)], privates=['"N"']))
    s = encode(element, value)[()] if element != "i1" else np.bool_(value)
    y = np.zeros(5, NUMPY[element])
    k(y, s)
    assert (y == s).all()


def test_guards_checks_and_errors():
    text = pointwise(4, 16)
    with pytest.raises(HostError, match="extent"):
        Kernel(text)(normal(4, 4), np.zeros((4, 5), np.float32))
    with pytest.raises(HostError, match="expected 2 arguments"):
        Kernel(text)(normal(4, 4))
    with pytest.raises(HostError, match="configuration"):
        Kernel(text, 1)
    with pytest.raises(HostError, match="no variant"):
        Kernel(text.replace("@p  privates", '@p guard(lt("M", 3)) privates'))(normal(4, 4), np.zeros((4, 4), np.float32))
    with pytest.raises(HostError, match="too wide"):
        Kernel(text.replace("checks []", 'checks [#block.check<<le("N", 3)>, "too wide">]'))(normal(4, 4), np.zeros((4, 4), np.float32))
    for broken in ["", "nonsense", "module {}", text[: len(text) // 2], "(" * 100000, text.replace("block.unary neg", "block.unary ngg"), text + text]:
        with pytest.raises(HostError):
            Kernel(broken)


def test_emit():
    k = Kernel(pointwise(4, 16))
    x, y = normal(5, 20), np.zeros((5, 20), np.float32)
    assert "define void" in k.emit("llvm", x, y)
    assert ".size" in k.emit("asm", x, y)
    assert k.emit("ptx", x, y) is None


def test_threads_give_the_same_bits():
    k = Kernel(softmax_text())
    x = (normal(300, 1000)).astype(np.float16)
    results = []
    for threads in (1, 2, 5, 1):
        native.intent_host_set_threads(threads)
        y = np.zeros_like(x)
        k(x, y)
        results.append(y)
    native.intent_host_set_threads(len(os.sched_getaffinity(0)))
    assert all(np.array_equal(results[0], y) for y in results)


def test_concurrent_launches():
    k = Kernel(pointwise(1, 64))

    def work(seed):
        x = np.random.default_rng(seed).standard_normal((100 + seed, 1000)).astype(np.float32)
        for _ in range(20):
            y = np.zeros_like(x)
            k(x, y)
            assert np.array_equal(y, -x)
        return True

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(12)))


def _in_child(k, queue):
    x = np.ones((500, 1000), np.float32)
    y = np.zeros_like(x)
    k(x, y)
    queue.put(bool((y == -1).all()))


def test_fork():
    k = Kernel(pointwise(1, 64))
    x = np.ones((500, 1000), np.float32)
    k(x, np.zeros_like(x))  # the parent's threads exist
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(k, queue))
    child.start()
    assert queue.get(timeout=60)
    child.join(60)
    assert child.exitcode == 0


def test_read_only_arrays():
    x = normal(8, 16)
    x.flags.writeable = False
    y = np.zeros_like(x)
    Kernel(pointwise(4, 16))(x, y)
    assert np.array_equal(y, -x)


def test_interrupt():
    """Ctrl-C during a launch that would run for minutes."""
    program = """
import sys, time, signal, threading, os
sys.path.insert(0, {tests!r})
import numpy as np
from host_native import Kernel
from test_host_backend import pointwise
def slow(p, x):
    for _ in range(200):
        x = p.unary("lgamma", x)
    return x
k = Kernel(pointwise(1, 16, compute=slow))
x = np.ones((200000, 16), np.float32)
threading.Timer(1.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
start = time.time()
try:
    k(x, np.zeros_like(x))
    print("finished")
except BaseException as e:
    print(type(e).__name__, time.time() - start < 20)
"""
    import subprocess
    import sys
    out = subprocess.run([sys.executable, "-c", program.replace("{tests!r}", repr(str(Path(__file__).parent)))], capture_output=True, text=True, timeout=120)
    assert out.stdout.split()[0] in ("KeyboardInterrupt", "HostError") and out.stdout.split()[1] == "True", out
