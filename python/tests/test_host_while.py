"""scf.while, scf.if and nested loops with fragments on the host backend; and programs that must not take long to generate."""

import time

import numpy as np
import pytest

from host_native import LIBRARY, HostError, Kernel, kernel
from host_programs import axis, block_axis, normal
from host_reference import NUMPY, decode, encode

pytestmark = pytest.mark.skipif(LIBRARY is None, reason="libintent-host.so is not built")
rng = np.random.default_rng(13)


def any_of(p, mask):
    """Whether any lane of a bool fragment holds."""
    no = p.op("block.constant false : i1", "i1")
    while p.types[mask] != "i1":
        mask = p.reduce([mask], [no], 0, lambda a, b: [p.binary("or", a[0], b[0])])[0]
    return mask


def spread(p, value, element, extents):
    return p.broadcast(p.constant(value, element), [], extents)


@pytest.mark.parametrize("extent", [1, 4, 16, 24])
def test_each_lane_runs_its_own_number_of_steps(extent):
    """Collatz: lanes drop out one by one; the loop ends with the last."""
    def body(p):
        n, vn = block_axis(p, extent, "%N")
        x = p.load("%x", "i64", [(n, [0])], [(vn, [0])], p.constant(1, "i64"), [extent])
        number = lambda v: spread(p, v, "i64", [extent])

        def test(state):
            active = p.compare("ne", state[0], number(1))
            return any_of(p, active), [state[0], state[1], active]

        def step(passed):
            v, count, active = passed
            even = p.compare("eq", p.binary("and", v, number(1)), number(0))
            after = p.select(even, p.binary("floordiv", v, number(2)), p.binary("add", p.binary("mul", v, number(3)), number(1)))
            return [p.select(active, after, v), p.binary("add", count, p.cast(active, "i32"))]

        _, count, _ = p.repeat([x, spread(p, 0, "i32", [extent])], test, step)
        p.store(count, "%y", [(n, [0])], [(vn, [0])])

    k = Kernel(kernel([("x", "i64", ['"N"'], "in"), ("y", "i32", ['"N"'], "out")], [(f'ceil_div("N", {extent})', body)], privates=['"N"']))
    for size in (0, 1, 13, 101):
        x, y = rng.integers(1, 1000, size), np.zeros(size, np.int32)
        k(x, y)
        for start, count in zip(x.tolist(), y):
            steps = 0
            while start != 1:
                start, steps = (start // 2 if start % 2 == 0 else 3 * start + 1), steps + 1
            assert count == steps


@pytest.mark.parametrize("element", ["f16", "bf16", "f32", "f64", "i8", "ui16", "i64", "index", "i1"])
def test_carries_of_every_dtype_change_places(element):
    """Two fragments, a matrix and a scalar go round; the number of turns may be zero."""
    def body(p):
        n, vn = axis(p, 8, "%N")
        m, vm = axis(p, 4, "%M")
        fill = p.constant("0.0" if element[0] == "f" or element[:2] == "bf" else "false" if element == "i1" else 0, element)
        a = p.load("%a", element, [(n, [0])], [(vn, [0])], fill, [8])
        b = p.load("%b", element, [(n, [0])], [(vn, [0])], fill, [8])
        c = p.load("%c", element, [(m, [0]), (n, [1])], [(vm, [0]), (vn, [1])], fill, [4, 8])

        def step(passed):
            i, x, y, z, s = passed
            first = p.pick(p.pick(z, p.constant(0), 0), p.constant(0), 0)
            return [p.binary("add", i, p.constant(1)), y, p.pick(z, p.constant(1), 0), p.select(p.broadcast(p.compare("ne", x, y), [1], [4, 8]), p.broadcast(x, [1], [4, 8]), z), first]

        _, x, y, z, s = p.repeat([p.constant(0), a, b, c, fill], lambda state: (p.compare("lt", state[0], "%K"), state), step)
        p.store(x, "%a", [(n, [0])], [(vn, [0])])
        p.store(y, "%b", [(n, [0])], [(vn, [0])])
        p.store(z, "%c", [(m, [0]), (n, [1])], [(vm, [0]), (vn, [1])])
        p.store(s, "%s", [], [])

    views = [("a", element, ['"N"'], "inout"), ("b", element, ['"N"'], "inout"), ("c", element, ['"M"', '"N"'], "inout"), ("s", element, [], "out")]
    pairs = [("a", "b"), ("a", "c"), ("b", "c"), ("a", "s"), ("b", "s"), ("c", "s")]
    text = kernel(views, [("1", body)], scalars=[("K", "index")], privates=['"N"', '"M"'], overlaps=[f'#block.overlap<"{x}", "{y}", disjoint>' for x, y in pairs])
    k = Kernel(text.replace("false : i1 : i1", "false : i1"))
    for turns in range(5):
        a, b, c = (encode(element, rng.integers(0, 2 if element == "i1" else 9, s)) for s in (7, 7, (3, 7)))
        x, y, z, s = a.copy(), b.copy(), c.copy(), np.zeros((), NUMPY[element])
        for _ in range(turns):
            x, y, z, s = y, z[1], np.where(x != y, x, z), z[0, 0]
        got = np.zeros((), NUMPY[element])
        k(a, b, c, got, np.int64(turns))
        assert np.array_equal(a, x) and np.array_equal(b, y) and np.array_equal(c, z) and got == s


def test_ragged_rows_share_an_instance():
    """Row r sums x[start[r] : start[r + 1]]; rows of different lengths advance together in chunks."""
    rows, chunk = 8, 16

    def body(p):
        m, vm = block_axis(p, rows, "%M")
        zero = p.constant(0, "index")
        read = lambda at: p.load("%s", "index", [(at, [0])], [(vm, [0])], zero, [rows])
        start, end = read(m), read(p.binary("add", m, spread(p, 1, "index", [rows])))
        lanes = p.lanes(p.constant(0), chunk)
        none = p.constant("0.0", "f32")

        def test(state):
            active = p.compare("lt", state[0], end)
            return any_of(p, active), state

        def step(passed):
            at, total = passed
            e = [rows, chunk]
            where = p.binary("add", p.broadcast(at, [0], e), p.broadcast(lanes, [1], e))
            inside = p.compare("lt", where, p.broadcast(end, [0], e))
            x = p.load("%x", "f32", [(where, [0, 1])], [(inside, [0, 1])], none, e)
            return [p.binary("add", at, spread(p, chunk, "index", [rows])), p.binary("add", total, p.fold("add", x, none, 1))]

        _, total = p.repeat([start, p.broadcast(none, [], [rows])], test, step)
        p.store(total, "%y", [(m, [0])], [(vm, [0])])

    k = Kernel(kernel([("s", "index", ['"S"'], "in"), ("x", "f32", ['"N"'], "in"), ("y", "f32", ['"M"'], "out")], [(f'ceil_div("M", {rows})', body)], privates=['"M"']))
    for lengths in ([], [0], [5], [0, 0, 0], [100, 0, 3, 16, 17, 1, 0, 31, 64, 2, 7], [1] * 23):
        s = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        x, y = rng.integers(-9, 9, s[-1]).astype(np.float32), np.full(len(lengths), 7, np.float32)
        k(s, x, y)
        assert np.array_equal(y, [x[a:b].sum() for a, b in zip(s, s[1:])])


def test_binary_search():
    def body(p):
        n, vn = block_axis(p, 16, "%N")
        key = p.load("%k", "f32", [(n, [0])], [(vn, [0])], p.constant("0.0", "f32"), [16])
        low, high = spread(p, 0, "index", [16]), p.broadcast("%T", [], [16])

        def test(state):
            return any_of(p, p.compare("lt", state[0], state[1])), state

        def step(passed):
            low, high = passed
            active = p.compare("lt", low, high)
            middle = p.binary("floordiv", p.binary("add", low, high), spread(p, 2, "index", [16]))
            below = p.compare("lt", p.load("%t", "f32", [(middle, [0])], [(active, [0])], p.constant("0.0", "f32"), [16]), key)
            go_right, go_left = p.binary("and", active, below), p.binary("and", active, p.unary("not", below))
            return [p.select(go_right, p.binary("add", middle, spread(p, 1, "index", [16])), low), p.select(go_left, middle, high)]

        found, _ = p.repeat([low, high], test, step)
        p.store(found, "%y", [(n, [0])], [(vn, [0])])

    k = Kernel(kernel([("t", "f32", ['"T"'], "in"), ("k", "f32", ['"N"'], "in"), ("y", "index", ['"N"'], "out")], [('ceil_div("N", 16)', body)], privates=['"N"', '"T"']))
    for size, keys in [(0, 3), (1, 5), (1000, 101), (17, 0)]:
        t, key = np.sort(rng.standard_normal(size).astype(np.float32)), rng.standard_normal(keys).astype(np.float32)
        y = np.zeros(keys, np.int64)
        k(t, key, y)
        assert np.array_equal(y, np.searchsorted(t, key))


def test_loops_and_branches_nested_in_a_while():
    """for inside if inside while inside for, each with a fragment; compared with the same steps in Python."""
    def body(p):
        n, vn = axis(p, 16, "%N")
        x = p.load("%x", "i32", [(n, [0])], [(vn, [0])], p.constant(0, "i32"), [16])
        one, limit = spread(p, 1, "i32", [16]), p.constant(300, "i32")
        total = lambda v: p.fold("add", p.select(vn, v, spread(p, 0, "i32", [16])), p.constant(0, "i32"), 0)

        def outer(i, carried):
            def test(state):
                return p.compare("lt", total(state[0]), limit), state

            def step(passed):
                value, turns = passed
                odd = p.compare("eq", p.binary("mod", turns, p.constant(2)), p.constant(1))

                def yes():
                    return p.loop(p.constant(0), p.binary("add", i, turns), p.constant(1), [value], lambda j, c: [p.binary("add", c[0], one)])

                def no():
                    return [p.binary("add", value, p.running("add", p.select(vn, one, spread(p, 0, "i32", [16])), p.constant(0, "i32"), 0))]

                return [p.choose(odd, yes, no)[0], p.binary("add", turns, p.constant(1))]

            value, turns = p.repeat([carried[0], p.constant(1)], test, step)
            return [p.binary("floordiv", value, spread(p, 2, "i32", [16])), p.binary("add", carried[1], turns)]

        value, turns = p.loop(p.constant(0), p.constant(3), p.constant(1), [x, p.constant(0)], outer)
        p.store(value, "%x", [(n, [0])], [(vn, [0])])
        p.store(turns, "%t", [], [])

    k = Kernel(kernel([("x", "i32", ['"N"'], "inout"), ("t", "index", [], "out")], [("1", body)], privates=['"N"'], overlaps=['#block.overlap<"x", "t", disjoint>']))
    for size in (1, 13, 16):
        x, t = rng.integers(0, 9, size).astype(np.int32), np.zeros((), np.int64)
        v, count = x.copy(), 0
        for i in range(3):
            turns = 1
            while v.sum() < 300:
                v = v + (i + turns) if turns % 2 else v + np.arange(1, size + 1)
                turns += 1
            v, count = v // 2, count + turns
        k(x, t)
        assert np.array_equal(x, v) and t == count


def test_a_while_that_watches_memory():
    """No carries at all: the loop takes one from the view until nothing positive is left; each test reads it anew."""
    def body(p):
        n, vn = axis(p, 16, "%N")
        read = lambda: p.load("%x", "i32", [(n, [0])], [(vn, [0])], p.constant(0, "i32"), [16])
        p.line("scf.while : () -> () {")
        p.line(f"scf.condition({any_of(p, p.compare('gt', read(), spread(p, 0, 'i32', [16])))})")
        p.line("} do {")
        x = read()
        positive = p.compare("gt", x, spread(p, 0, "i32", [16]))
        p.store(p.binary("sub", x, spread(p, 1, "i32", [16])), "%x", [(n, [0])], [(vn, [0]), (positive, [0])])
        p.atomic("add", p.constant(1, "i32"), "%t", [])
        p.line("scf.yield")
        p.line("}")

    k = Kernel(kernel([("x", "i32", ['"N"'], "inout"), ("t", "i32", [], "inout")], [("1", body)], privates=['"N"'], overlaps=['#block.overlap<"x", "t", disjoint>']))
    for values in ([5, -3, 0, 9], [0], [-1, -2], [1] * 16):
        x, t = np.array(values, np.int32), np.zeros((), np.int32)
        k(x, t)
        assert np.array_equal(x, np.minimum(values, 0)) and t == max(0, *values, 0)


def test_masks_that_are_computed_after_what_they_guard():
    """x is used twice, so that it is kept; the store's mask depends on a sum of it, and is no guard for its evaluation."""
    def body(p):
        n, vn = axis(p, 32, "%N")
        x = p.load("%x", "f32", [(n, [0])], [(vn, [0])], p.constant("0.0", "f32"), [32])
        e = p.unary("exp", x)
        count = p.fold("add", p.cast(p.compare("gt", e, spread(p, "1.0", "f32", [32])), "index"), p.constant(0), 0)
        first = p.below(n, count)
        scale = p.broadcast(p.fold("maximum", e, p.constant("0.0", "f32"), 0), [], [32])
        p.store(p.binary("div", e, scale), "%y", [(n, [0])], [(vn, [0]), (first, [0])])

    k = Kernel(kernel([("x", "f32", ['"N"'], "in"), ("y", "f32", ['"N"'], "out")], [("1", body)], privates=['"N"']))
    for size in (1, 13, 32):
        x, y = normal(size), np.full(size, 7, np.float32)
        k(x, y)
        e = np.exp(x.astype(np.float64))
        count = min(size, (x > 0).sum())
        assert np.allclose(y[:count], (e / max(e.max(), 1 if size < 32 else 0))[:count], rtol=1e-5) and (y[count:] == 7).all()


def doubled(build, times=60):
    """A program whose value `build` doubles in size, as a tree, with each of `times` steps."""
    def body(p):
        n, vn = axis(p, 16, "%N")
        build(p, n, vn, times)

    return kernel([("x", "i32", ['"N"'], "inout")], [("1", body)], privates=['"N"'])


def index_chain(p, n, vn, times):
    at = n
    for _ in range(times):
        at = p.binary("sub", p.binary("add", at, at), at)
    p.store(p.load("%x", "i32", [(at, [0])], [(vn, [0])], p.constant(0, "i32"), [16]), "%x", [(at, [0])], [(vn, [0])])


def mask_chain(p, n, vn, times):
    mask = vn
    for _ in range(times):
        mask = p.binary("and", mask, mask)
    x = p.load("%x", "i32", [(n, [0])], [(mask, [0])], p.constant(0, "i32"), [16])
    p.store(x, "%x", [(n, [0])], [(mask, [0])])


def carried_chain(p, n, vn, times):
    x = p.load("%x", "i32", [(n, [0])], [(vn, [0])], p.constant(0, "i32"), [16])

    def step(i, carried):
        v = carried[0]
        for _ in range(times):
            v = p.binary("sub", p.binary("add", v, v), v)
        return [v, carried[0]]

    p.store(p.loop(p.constant(0), p.constant(3), p.constant(1), [x, x], step)[0], "%x", [(n, [0])], [(vn, [0])])


def value_chain(p, n, vn, times):
    x = p.load("%x", "i32", [(n, [0])], [(vn, [0])], p.constant(0, "i32"), [16])
    for _ in range(times):
        x = p.binary("sub", p.binary("add", x, x), x)
    p.store(x, "%x", [(n, [0])], [(vn, [0])])


@pytest.mark.parametrize("build", [index_chain, mask_chain, carried_chain, value_chain])
def test_values_used_twice_are_looked_at_once(build):
    start = time.time()
    x = rng.integers(-9, 9, 13).astype(np.int32)
    want = x.copy()
    Kernel(doubled(build))(x)
    assert np.array_equal(x, want) and time.time() - start < 20


def test_long_chains_of_structured_operations():
    def body(p):
        n, vn = axis(p, 16, "%N")
        zero = p.constant(0, "i32")
        x = p.load("%x", "i32", [(n, [0])], [(vn, [0])], zero, [16])
        for _ in range(100):
            x = p.binary("sub", p.broadcast(p.fold("add", x, zero, 0), [], [16]), p.running("maximum", x, p.constant(-(2**31), "i32"), 0))
            x = p.select(vn, x, spread(p, 0, "i32", [16]))
        p.store(x, "%x", [(n, [0])], [(vn, [0])])

    x = rng.integers(-9, 9, 13).astype(np.int32)
    want = x.copy()
    with np.errstate(all="ignore"):
        for _ in range(100):
            want = want.sum(dtype=np.int32) - np.maximum.accumulate(want)
    Kernel(kernel([("x", "i32", ['"N"'], "inout")], [("1", body)], privates=['"N"']))(x)
    assert np.array_equal(x, want)
