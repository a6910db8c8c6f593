"""block.atomic, block.compare_exchange and block.scatter_reduce on the host backend."""

import numpy as np
import pytest

from host_native import LIBRARY, HostError, Kernel, kernel
from host_programs import axis, block_axis, normal
from host_reference import FLOATS, INTEGERS, NUMPY, decode, encode, specials

pytestmark = pytest.mark.skipif(LIBRARY is None, reason="libintent-host.so is not built")
rng = np.random.default_rng(11)
DTYPES = ["f16", "bf16", "f32", "f64", *INTEGERS]
ORDERS = ["relaxed", "acquire", "release", "acq_rel"]


def wrap(element, value):
    """A Python int modulo the dtype."""
    info = np.iinfo(NUMPY[element])
    return (int(value) - info.min) % (info.max - info.min + 1) + info.min


def apply(kind, element, old, value):
    if kind == "load":
        return old
    if kind in ("store", "exchange"):
        return value
    if kind == "add":
        return encode(element, float(decode(element, np.asarray(old))) + float(decode(element, np.asarray(value))))[()] if element in FLOATS else NUMPY[element](wrap(element, int(old) + int(value)))
    if kind in ("max", "min"):
        a, b = decode(element, np.asarray(old)), decode(element, np.asarray(value))
        if element in FLOATS and (np.isnan(a) or np.isnan(b)):
            return value if np.isnan(a) else old
        return (value if (b > a if kind == "max" else b < a) else old)
    return {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[kind](old, value)


def lanes_text(kind, element, order, count, combine=None):
    """Each lane n < N acts on z[i[n]] with v[n] if take[n] is not zero; o[n] is what it found."""
    def body(p):
        n, vn = axis(p, count, "%N")
        at, valid = [(n, [0])], [(vn, [0])]
        where = p.cast(p.load("%i", "i32", at, valid, p.constant(0, "i32"), [count]), "index")
        take = p.compare("ne", p.load("%take", "i8", at, valid, p.constant(0, "i8"), [count]), p.broadcast(p.constant(0, "i8"), [], [count]))
        v = p.load("%v", element, at, valid, p.constant("0.0" if element in FLOATS else 0, element), [count])
        if combine:
            p.scatter_reduce(v, "%z", [(where, [0])], [(vn, [0]), (take, [0])], lambda a, b: combine(p, a, b))
        else:
            p.store(p.atomic(kind, v, "%z", [(where, [0])], [(vn, [0]), (take, [0])], order), "%o", at, [(vn, [0]), (take, [0])])

    views = [("z", element, ['"Z"'], "inout"), ("i", "i32", ['"N"'], "in"), ("take", "i8", ['"N"'], "in"), ("v", element, ['"N"'], "in"), ("o", element, ['"N"'], "out")]
    return kernel(views, [("1", body)], privates=['"N"'])


def same(element, a, b):
    return np.array_equal(decode(element, np.asarray(a)), decode(element, np.asarray(b)), equal_nan=element in FLOATS)


KINDS = ["load", "store", "exchange", "add", "max", "min", "and", "or", "xor"]


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_lanes_in_order(kind, element):
    """Colliding lanes act one after the other: each finds what the lane before it left."""
    if element in FLOATS and kind in ("and", "or", "xor"):
        with pytest.raises(HostError, match=f"atomic {kind} does not take {element}"):
            Kernel(lanes_text(kind, element, "relaxed", 16))(*[np.zeros(1, NUMPY[e]) for e in (element, "i32", "i8", element, element)])
        return
    k = Kernel(lanes_text(kind, element, {"load": "acquire", "store": "release"}.get(kind, "acq_rel"), 64))
    for n in (0, 1, 61, 64):
        z, v = specials(element, 40), specials(element, 80, seed=1)[80 - n:]
        i, take = rng.integers(0, 4, n).astype(np.int32) * 9, rng.integers(0, 3, n).astype(np.int8)
        if n == 1:
            take[:] = 1
        o = np.full(n, 77, NUMPY[element])
        want_z, want_o = z.copy(), o.copy()
        for lane in range(n):
            if take[lane]:
                want_o[lane] = want_z[i[lane]]
                want_z[i[lane]] = apply(kind, element, want_z[i[lane]], v[lane])
        k(z, i, take, v, o)
        assert same(element, z, want_z) and same(element, o, want_o), (kind, element, n)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", KINDS)
def test_orders(kind, order):
    k = Kernel(lanes_text(kind, "ui32", order, 16))
    z, i, take, v, o = np.array([6], np.uint32), np.zeros(1, np.int32), np.ones(1, np.int8), np.array([3], np.uint32), np.zeros(1, np.uint32)
    allowed = {"load": ("relaxed", "acquire"), "store": ("relaxed", "release")}.get(kind, ORDERS)
    if order not in allowed:
        with pytest.raises(HostError, match=f"'{kind}' is relaxed or {allowed[1]}, not {order}"):
            k(z, i, take, v, o)
        return
    k(z, i, take, v, o)
    assert z[0] == apply(kind, "ui32", np.uint32(6), np.uint32(3)) and o[0] == 6


def test_bool():
    text = lanes_text("xor", "i1", "relaxed", 16).replace("block.constant 0 : i1 : i1", "block.constant false : i1")
    for kind in ("load", "store", "exchange", "and", "or", "xor", "max", "min"):
        k = Kernel(text.replace("atomic xor", "atomic " + kind))
        z, v = np.array([True, False, True]), rng.random(13) < 0.5
        i, take, o = rng.integers(0, 3, 13).astype(np.int32), rng.integers(0, 2, 13).astype(np.int8), np.zeros(13, bool)
        want, found = z.copy(), o.copy()
        for lane in np.flatnonzero(take):
            found[lane] = want[i[lane]]
            a, b = want[i[lane]], v[lane]
            want[i[lane]] = {"load": a, "store": b, "exchange": b, "and": a & b, "or": a | b, "xor": a ^ b, "max": a | b, "min": a & b}[kind]
        k(z, i, take, v, o)
        assert np.array_equal(z, want) and np.array_equal(o, found), kind


@pytest.mark.parametrize("extents,shape", [((4, 16), (3, 13)), ((16, 4), (16, 4)), ((2, 4, 8), (2, 3, 7)), ((1, 1), (1, 1)), ((8, 1), (0, 1))])
def test_ranks_and_strides(extents, shape):
    """z[row, column] += x over a view of any strides; the old values keep their places."""
    names = ['"A"', '"B"', '"C"'][: len(extents)]

    def body(p):
        lanes = [axis(p, e, n.replace('"', "%").rstrip("%")) for e, n in zip(extents, names)]
        at, valid = [(l, [i]) for i, (l, _) in enumerate(lanes)], [(v, [i]) for i, (_, v) in enumerate(lanes)]
        x = p.load("%x", "i32", at, valid, p.constant(0, "i32"), list(extents))
        old = p.atomic("add", p.binary("mul", x, x), "%z", at, valid)
        again = p.atomic("add", x, "%z", at[:-1] + [(p.constant(0), [])], valid)  # all lanes of the last axis into its first element
        p.store(p.binary("add", old, p.binary("mul", again, p.broadcast(p.constant(1000, "i32"), [], list(extents)))), "%x", at, valid)

    k = Kernel(kernel([("x", "i32", names, "inout"), ("z", "i32", names, "inout")], [("1", body)], privates=names, overlaps=['#block.overlap<"x", "z", disjoint>']))
    for layout in (lambda a: a.copy(), np.asfortranarray, lambda a: np.repeat(np.flip(a), 2, -1)[..., ::2]):
        x, z = rng.integers(-9, 9, shape).astype(np.int32), layout(rng.integers(-9, 9, shape).astype(np.int32))
        mid = z + x * x
        before = np.concatenate([np.zeros((*shape[:-1], 1), np.int32), x.cumsum(-1, dtype=np.int32)[..., :-1]], -1)
        want_x = z + 1000 * (mid[..., :1] + before)
        want_z = mid.copy()
        want_z[..., 0] += x.sum(-1)
        k(x, z)
        assert np.array_equal(x, want_x) and np.array_equal(z, want_z)


@pytest.mark.parametrize("element", ["i8", "ui16", "i32", "ui64", "f16", "bf16", "f32", "f64", "i1"])
def test_instances_on_several_threads(element):
    """Every instance adds one to its counter (sets its flag); no addition is lost."""
    def body(p):
        slot = p.binary("mod", "%p", p.constant(7))
        one = p.constant("1.0" if element in FLOATS else "true" if element == "i1" else 1, element)
        kind = "or" if element == "i1" else "add"
        p.atomic(kind, one, "%z", [(slot, [])])
        lanes = p.lanes(p.constant(7), 4)
        p.atomic(kind, p.broadcast(one, [], [4]), "%z", [(lanes, [0])])

    k = Kernel(kernel([("x", "i8", ['"M"'], "in"), ("z", element, ["11"], "inout")], [('"M"', body)]).replace("true : i1 : i1", "true : i1"))
    m = 60000
    limit = {"f16": 2048, "bf16": 256}.get(element)  # where adding one stops
    for _ in range(3):
        z = np.zeros(11, NUMPY[element])
        k(np.zeros(m, np.int8), z)
        exact = np.concatenate([np.bincount(np.arange(m) % 7), np.full(4, m)])
        want = exact > 0 if element == "i1" else np.minimum(exact, limit) if limit else exact.astype(NUMPY[element])
        assert np.array_equal(decode(element, z), want)


def test_tickets_are_drawn_once():
    def body(p):
        n, vn = block_axis(p, 16, "%N")
        old = p.atomic("add", p.broadcast(p.constant(1), [], [16]), "%z", [(p.constant(0), [])], [(vn, [0])])
        p.store(n, "%y", [(old, [0])], [(vn, [0])])

    k = Kernel(kernel([("z", "index", ["1"], "inout"), ("y", "index", ['"N"'], "out")], [('ceil_div("N", 16)', body)], privates=['"N"']))
    for n in (1, 16, 100003):
        z, y = np.zeros(1, np.int64), np.full(n, -1)
        k(z, y)
        assert z[0] == n and np.array_equal(np.sort(y), np.arange(n))


@pytest.mark.parametrize("element", [*DTYPES, "i1", "f8E4M3FN"])
def test_compare_exchange(element):
    """By bits: NaN equals itself and -0 is not +0."""
    def body(p):
        n, vn = axis(p, 32, "%N")
        at, valid = [(n, [0])], [(vn, [0])]
        fill = p.constant("0.0" if element in FLOATS else "false" if element == "i1" else 0, element)
        expected, desired = (p.load(v, element, at, valid, fill, [32]) for v in ("%e", "%d"))
        slot = p.binary("floordiv", n, p.broadcast(p.constant(2), [], [32]))
        p.store(p.compare_exchange(expected, desired, "%z", [(slot, [0])], valid, "acq_rel"), "%o", at, valid)
        # One scalar access, never active.
        none = p.compare("lt", "%N", p.constant(0))
        first = p.load("%e", element, [(p.constant(0), [])], [], fill, [])
        p.store(p.compare_exchange(first, first, "%z", [(p.constant(2**40), [])], [(none, [])]), "%e", [(p.constant(0), [])], [(none, [])])

    views = [("z", element, ['"Z"'], "inout"), ("e", element, ['"N"'], "inout"), ("d", element, ['"N"'], "in"), ("o", element, ['"N"'], "out")]
    k = Kernel(kernel(views, [("1", body)], privates=['"N"'], overlaps=['#block.overlap<"z", "e", disjoint>']).replace("false : i1 : i1", "false : i1"))
    for n in (1, 13, 32):
        z = specials(element, 60)[:16]
        e, d = z[np.minimum(np.arange(n) // 2, 15)].copy(), specials(element, 60, seed=3)[28 : 28 + n].copy()
        e[1::3] = d[: len(e[1::3])]  # some differ
        o = np.zeros(n, NUMPY[element])
        bits = lambda a: a.view(f"u{a.itemsize}")
        want, found = z.copy(), o.copy()
        for lane in range(n):
            found[lane] = want[lane // 2]
            if bits(e)[lane] == bits(want)[lane // 2]:
                bits(want)[lane // 2] = bits(d)[lane]
        k(z, e, d, o)
        number = lambda a: decode(element, a)
        assert same(element, z, want) and same(element, o, found)
        if element in FLOATS:
            zero = (number(z) == 0)
            assert np.array_equal(np.signbit(number(z))[zero], np.signbit(number(want))[zero])


COMBINES = {"add": lambda p, a, b: p.binary("add", a, b), "maximum": lambda p, a, b: p.binary("maximum", a, b), "mul": lambda p, a, b: p.binary("mul", a, b),
            "nearest to seven": lambda p, a, b: p.select(p.compare("lt", p.unary("abs", p.binary("sub", b, p.constant("7.0", "f32"))), p.unary("abs", p.binary("sub", a, p.constant("7.0", "f32")))), b, a)}


@pytest.mark.parametrize("kind", COMBINES)
def test_scatter_reduce(kind):
    k = Kernel(lanes_text(None, "f32", None, 64, COMBINES[kind]))
    step = {"add": lambda a, b: a + b, "maximum": np.maximum, "mul": lambda a, b: a * b, "nearest to seven": lambda a, b: b if abs(b - 7) < abs(a - 7) else a}[kind]
    for n in (0, 1, 61, 64):
        z, v = rng.integers(-9, 9, 5).astype(np.float32), rng.integers(-3, 20, n).astype(np.float32) / 2
        if kind == "mul":
            v = rng.choice([-1, 0.5, 2], n).astype(np.float32)
        if kind == "maximum" and n > 1:
            v[n // 2] = np.nan
        i, take = rng.integers(0, 5, n).astype(np.int32), rng.integers(0, 2, n).astype(np.int8)
        want = z.copy()
        for lane in np.flatnonzero(take):
            want[i[lane]] = step(want[i[lane]], v[lane])
        k(z, i, take, v, np.zeros(n, np.float32))
        assert np.array_equal(z, want, equal_nan=True)


@pytest.mark.parametrize("element", DTYPES)
def test_scatter_reduce_of_many_instances(element):
    """A histogram: each lane adds its weight to the bin that its value names."""
    def body(p):
        n, vn = block_axis(p, 64, "%N")
        at, valid = [(n, [0])], [(vn, [0])]
        x = p.load("%x", "i32", at, valid, p.constant(0, "i32"), [64])
        v = p.load("%v", element, at, valid, p.constant("0.0" if element in FLOATS else 0, element), [64])
        p.scatter_reduce(v, "%z", [(p.cast(x, "index"), [0])], valid, lambda a, b: p.binary("add", a, b))

    k = Kernel(kernel([("x", "i32", ['"N"'], "in"), ("v", element, ['"N"'], "in"), ("z", element, ["13"], "inout")], [('ceil_div("N", 64)', body)], privates=['"N"']))
    n = 2000 if element in ("f16", "bf16") else 100003
    x, v = rng.integers(0, 13, n).astype(np.int32), encode(element, rng.integers(0, 2, n))
    z = np.zeros(13, NUMPY[element])
    k(x, v, z)
    assert np.array_equal(decode(element, z), np.bincount(x, decode(element, v), 13).astype(np.int64).astype(NUMPY[element] if element not in FLOATS else np.float64))


def test_values_from_the_view_itself_are_read_first():
    """z[n // 2] += z[n]: every lane's value is what the view held before the first lane acted."""
    def body(p):
        n, vn = axis(p, 32, "%N")
        z = p.load("%z", "i32", [(n, [0])], [(vn, [0])], p.constant(0, "i32"), [32])
        half = p.binary("floordiv", n, p.broadcast(p.constant(2), [], [32]))
        old = p.atomic("add", z, "%z", [(half, [0])], [(vn, [0])])
        p.store(p.binary("add", old, old), "%y", [(n, [0])], [(vn, [0])])  # used twice, acted once

    k = Kernel(kernel([("z", "i32", ['"N"'], "inout"), ("y", "i32", ['"N"'], "out")], [("1", body)], privates=['"N"'], overlaps=['#block.overlap<"z", "y", disjoint>']))
    for n in (1, 13, 32):
        z, y = rng.integers(-9, 9, n).astype(np.int32), np.zeros(n, np.int32)
        before, want, old = z.copy(), z.copy(), np.zeros(n, np.int32)
        for lane in range(n):
            old[lane] = want[lane // 2]
            want[lane // 2] += before[lane]
        k(z, y)
        assert np.array_equal(z, want) and np.array_equal(y, 2 * old)


def test_loads_do_not_move_over_atomics():
    """Before, between and after: each load is of its own moment, though all are used at the end."""
    def body(p):
        n, vn = axis(p, 16, "%N")
        at, valid, zero = [(n, [0])], [(vn, [0])], p.constant(0, "i32")
        read = lambda: p.load("%z", "i32", at, valid, zero, [16])
        one = p.broadcast(p.constant(1, "i32"), [], [16])
        a = read()
        p.atomic("add", one, "%z", at, valid)
        b = read()
        p.scatter_reduce(one, "%z", at, valid, lambda x, y: p.binary("add", x, y))
        c = read()
        p.compare_exchange(c, p.broadcast(p.constant(100, "i32"), [], [16]), "%z", at, valid)
        d = read()
        ten = p.broadcast(p.constant(10, "i32"), [], [16])
        total = a
        for x in (b, c, d):
            total = p.binary("add", p.binary("mul", total, ten), x)
        p.store(total, "%y", at, valid)

    k = Kernel(kernel([("z", "i32", ['"N"'], "inout"), ("y", "i32", ['"N"'], "out")], [("1", body)], privates=['"N"'], overlaps=['#block.overlap<"z", "y", disjoint>']))
    z, y = np.arange(13, dtype=np.int32), np.zeros(13, np.int32)
    k(z, y)
    a = np.arange(13)
    assert np.array_equal(z, np.full(13, 100)) and np.array_equal(y, ((a * 10 + a + 1) * 10 + a + 2) * 10 + 100)


def test_expensive_values():
    """What an atomic access adds is computed in vectors before the lanes act one by one."""
    def body(p):
        n, vn = block_axis(p, 64, "%N")
        x = p.load("%x", "f32", [(n, [0])], [(vn, [0])], p.constant("0.0", "f32"), [64])
        p.scatter_reduce(p.unary("exp", x), "%z", [(p.constant(0), [])], [(vn, [0])], lambda a, b: p.binary("add", a, b))

    k = Kernel(kernel([("x", "f32", ['"N"'], "in"), ("z", "f32", ["1"], "inout")], [('ceil_div("N", 64)', body)], privates=['"N"']))
    x, z = normal(1003), np.ones(1, np.float32)
    k(x, z)
    assert abs(z[0] - 1 - np.exp(x.astype(np.float64)).sum()) < 1e-2
