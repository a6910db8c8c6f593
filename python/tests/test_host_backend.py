"""Structure on the host backend: accesses, reductions, loops."""

import numpy as np
import pytest

from host_native import LIBRARY, Kernel, kernel
from host_programs import axis, block_axis, normal, pointwise, rng, softmax_text
from host_reference import NUMPY, decode, encode

pytestmark = pytest.mark.skipif(LIBRARY is None, reason="libintent-host.so is not built")


# ---------------------------------------------------------------------------------------------------- programs


@pytest.mark.parametrize("row", [0, 1])
@pytest.mark.parametrize("shape", [(1, 1), (5, 37), (7, 16), (64, 1000), (3, 300), (0, 5), (2, 700)])
def test_softmax(shape, row):
    x = (normal(*shape) * 3).astype(np.float16)
    y = np.zeros_like(x)
    Kernel(softmax_text(), row)(x, y)
    if x.size:
        e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True).astype(np.float64))
        assert np.abs(e / e.sum(1, keepdims=True) - y).max() < 1e-3


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
