"""block.scan and block.pick on the host backend, against running values of NumPy."""

import numpy as np
import pytest

from host_native import LIBRARY, HostError, Kernel, kernel
from host_programs import axis, normal
from host_reference import FLOATS, INTEGERS, NUMPY, assert_ulp, decode, encode, specials

pytestmark = pytest.mark.skipif(LIBRARY is None, reason="libintent-host.so is not built")
rng = np.random.default_rng(5)
NAMES = ['"A"', '"B"', '"C"']
KINDS = {"add": (np.add, 0), "mul": (np.multiply, 1), "maximum": (np.maximum, None), "minimum": (np.minimum, None)}


def identity_of(kind, element):
    if KINDS[kind][1] is not None:
        return KINDS[kind][1]
    low = kind == "maximum"
    if element in FLOATS:
        return -np.inf if low else np.inf
    info = np.iinfo(NUMPY[element])
    return info.min if low else info.max


def literal(p, value, element):
    if element not in FLOATS:
        return p.constant(int(value), element)
    bits = {"f16": "0x7C00", "bf16": "0x7F80", "f32": "0x7F800000", "f64": "0x7FF0000000000000"}
    negative = {"f16": "0xFC00", "bf16": "0xFF80", "f32": "0xFF800000", "f64": "0xFFF0000000000000"}
    return p.constant((negative if value < 0 else bits)[element] if np.isinf(value) else repr(float(value)), element)


def all_lanes(p, extents):
    lanes = [axis(p, e, n.replace('"', "%").rstrip("%")) for e, n in zip(extents, NAMES)]
    return [(l, [i]) for i, (l, _) in enumerate(lanes)], [(v, [i]) for i, (_, v) in enumerate(lanes)]


def masked(p, x, valid, number, extents):
    """`number` in the lanes outside, as the formation of block programs writes it."""
    mask = None
    for v, (a,) in valid:
        own = p.broadcast(v, [a], list(extents))
        mask = own if mask is None else p.binary("and", mask, own)
    return p.select(mask, x, p.broadcast(number, [], list(extents)))


def scan_text(extents, axis_number, element, kind, reverse, compute=None):
    names = NAMES[: len(extents)]

    def body(p):
        at, valid = all_lanes(p, extents)
        one = literal(p, identity_of(kind, element), element)
        x = masked(p, p.load("%x", element, at, valid, literal(p, 0, element), list(extents)), valid, one, extents)
        p.store(p.running(kind, x, one, axis_number, reverse), "%y", at, valid)

    return kernel([("x", element, names, "in"), ("y", element, names, "out")], [("1", body)], privates=names)


def running(function, x, a, reverse):
    with np.errstate(all="ignore"):
        flipped = np.flip(x, a) if reverse else x
        out = function.accumulate(flipped, axis=a, dtype=x.dtype)
        return np.flip(out, a) if reverse else out


SHAPES = [((64,), 0, (61,)), ((64,), 0, (64,)), ((64,), 0, (1,)), ((1,), 0, (1,)), ((24,), 0, (23,)), ((4, 64), 1, (3, 53)), ((4, 64), 0, (3, 53)), ((64, 4), 0, (47, 3)), ((64, 4), 1, (47, 3)),
          ((1, 32), 0, (1, 31)), ((4, 8, 32), 0, (3, 7, 29)), ((4, 8, 32), 1, (3, 7, 29)), ((4, 8, 32), 2, (3, 7, 29)), ((4, 8, 32), 2, (4, 8, 32)), ((16, 2), 0, (0, 2)), ((16, 128), 1, (16, 0)), ((8, 16), 1, (7, 1))]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("extents,axis_number,shape", SHAPES)
def test_shapes(extents, axis_number, shape, kind, reverse):
    k = Kernel(scan_text(extents, axis_number, "i32", kind, reverse))
    x = rng.integers(-50, 50, shape).astype(np.int32)
    for own in (x, np.asfortranarray(x), np.flip(x)):
        y = np.full(shape, 9, np.int32)
        k(own, y)
        assert np.array_equal(y, running(KINDS[kind][0], own, axis_number, reverse))
    y = np.full(shape, 9, np.int32, order="F")
    k(x, y)
    assert np.array_equal(y, running(KINDS[kind][0], x, axis_number, reverse))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis_number", [0, 1])
@pytest.mark.parametrize("element", ["f16", "bf16", "f32", "f64", *INTEGERS])
def test_dtypes(element, axis_number, reverse):
    for kind in KINDS:
        k = Kernel(scan_text((16, 128), axis_number, element, kind, reverse))
        for shape in [(13, 127), (16, 128), (1, 2)]:
            # Small integers: every float format holds each running value exactly, in any grouping.
            values = rng.integers(0, 3, shape) if kind == "add" else rng.choice([-1, 1], shape) if kind == "mul" else rng.integers(-50, 50, shape)
            values = np.abs(values) if element[0] == "u" else values
            x = encode(element, values)
            y = np.zeros_like(x)
            k(x, y)
            want = running(KINDS[kind][0], decode(element, x), axis_number, reverse)
            assert np.array_equal(decode(element, y), want), (kind, shape)


@pytest.mark.parametrize("reverse", [False, True])
def test_sum_of_fractions_stays_near_the_exact_one(reverse):
    k = Kernel(scan_text((4096,), 0, "f32", "add", reverse))
    x = rng.random(4093).astype(np.float32)
    y = np.zeros_like(x)
    k(x, y)
    exact = running(np.add, x.astype(np.float64), 0, reverse)
    assert (np.abs(y - exact) <= len(x) * 2.0**-24 * exact).all()


@pytest.mark.parametrize("reverse", [False, True])
def test_nan_infinity_and_signed_zero(reverse):
    for kind in ("add", "maximum", "minimum", "mul"):
        k = Kernel(scan_text((32,), 0, "f32", kind, reverse))
        for values in ([1, np.nan, 2, np.inf, -np.inf], [-np.inf, 3, np.inf, 1], [-0.0, -0.0], [-0.0, 1, -1], [np.inf, np.inf, -1], [np.nan]):
            x = np.array(values, np.float32)
            y = np.zeros_like(x)
            k(x, y)
            want = running(KINDS[kind][0], x, 0, reverse)
            assert np.array_equal(y, want, equal_nan=True), (kind, values)
            if kind == "add" and not reverse:  # behind the last lane stand identities, which are +0
                assert np.array_equal(np.signbit(y[y == 0]), np.signbit(want[want == 0])), values


def test_bool_any_and_all():
    def body(p):
        at, valid = all_lanes(p, (4, 32))
        x = p.load("%x", "i1", at, valid, p.constant("false", "i1"), [4, 32])
        p.store(p.running("or", x, p.constant("false", "i1"), 1), "%y", at, valid)
        z = masked(p, x, valid, p.constant("true", "i1"), (4, 32))
        p.store(p.running("and", z, p.constant("true", "i1"), 0, True), "%z", at, valid)

    names = NAMES[:2]
    text = kernel([("x", "i1", names, "in"), ("y", "i1", names, "out"), ("z", "i1", names, "out")], [("1", body)], privates=names)
    k = Kernel(text.replace("block.constant false : i1 : i1", "block.constant false : i1").replace("block.constant true : i1 : i1", "block.constant true : i1"))
    x = rng.random((3, 29)) < 0.3
    y, z = np.zeros_like(x), np.zeros_like(x)
    k(x, y, z)
    assert np.array_equal(y, np.logical_or.accumulate(x, 1)) and np.array_equal(z, np.logical_and.accumulate(x[::-1], 0)[::-1])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("extents,axis_number", [((64,), 0), ((4, 64), 1), ((64, 8), 0)])
def test_several_values_of_mixed_dtypes_keep_their_order(extents, axis_number, reverse):
    """x -> a x + b composed along the axis (not commutative), with the count of terms beside it."""
    names = NAMES[: len(extents)]

    def body(p):
        at, valid = all_lanes(p, extents)
        e = list(extents)
        one, zero, none = p.constant(1, "i64"), p.constant(0, "i64"), p.constant(0, "ui8")
        a = masked(p, p.load("%a", "i64", at, valid, one, e), valid, one, extents)
        b = masked(p, p.load("%b", "i64", at, valid, zero, e), valid, zero, extents)
        n = masked(p, p.broadcast(p.constant(1, "ui8"), [], e), valid, none, extents)
        # First the left map, then the right one.
        compose = lambda l, r: [p.binary("mul", l[0], r[0]), p.binary("add", p.binary("mul", l[1], r[0]), r[1]), p.binary("add", l[2], r[2])]
        for value, view in zip(p.scan([a, b, n], [one, zero, none], axis_number, compose, reverse), ("%a", "%b", "%n")):
            p.store(value, view, at, valid)

    views = [("a", "i64", names, "inout"), ("b", "i64", names, "inout"), ("n", "ui8", names, "out")]
    k = Kernel(kernel(views, [("1", body)], privates=names, overlaps=[f'#block.overlap<"{x}", "{y}", disjoint>' for x, y in (("a", "b"), ("a", "n"), ("b", "n"))]))
    shape = tuple(e - 3 for e in extents)
    a, b = rng.integers(-5, 6, shape), rng.integers(-5, 6, shape)
    want_a, want_b, want_n = np.zeros_like(a), np.zeros_like(b), np.zeros(shape, np.uint8)
    order = range(shape[axis_number])[:: -1 if reverse else 1]
    ra, rb, rn = np.ones_like(a.take(0, axis_number)), np.zeros_like(b.take(0, axis_number)), 0
    for i in order:
        at = tuple(i if d == axis_number else slice(None) for d in range(len(shape)))
        ra, rb, rn = ra * a[at], rb * a[at] + b[at], rn + 1
        want_a[at], want_b[at], want_n[at] = ra, rb, rn
    n = np.zeros(shape, np.uint8)
    k(a, b, n)
    assert np.array_equal(a, want_a) and np.array_equal(b, want_b) and np.array_equal(n, want_n)


def test_chunks_with_a_carried_prefix():
    """A running sum over rows of any length: each chunk adds what the chunks before it left, picked from the last lane."""
    def body(p):
        m, vm = axis(p, 4, "%A", p.binary("mul", "%p", p.constant(4)))
        zero = p.constant("0.0", "f32")

        def step(i, carried):
            n, vn = axis(p, 32, "%B", i)
            at, valid = [(m, [0]), (n, [1])], [(vm, [0]), (vn, [1])]
            s = p.running("add", p.load("%x", "f32", at, valid, zero, [4, 32]), zero, 1)
            s = p.binary("add", s, p.broadcast(carried[0], [0], [4, 32]))
            p.store(s, "%y", at, valid)
            return [p.pick(s, p.constant(31), 1)]

        out = p.loop(p.constant(0), "%B", p.constant(32), [p.broadcast(zero, [], [4])], step)
        p.store(out[0], "%t", [(m, [0])], [(vm, [0])])

    k = Kernel(kernel([("x", "f32", NAMES[:2], "in"), ("y", "f32", NAMES[:2], "out"), ("t", "f32", ['"A"'], "out")], [('ceil_div("A", 4)', body)], privates=NAMES[:2]))
    for shape in [(7, 131), (1, 1), (4, 64), (3, 31)]:
        x = rng.integers(-9, 9, shape).astype(np.float32)
        y, t = np.zeros_like(x), np.zeros(shape[0], np.float32)
        k(x, y, t)
        assert np.array_equal(y, np.cumsum(x, 1)) and np.array_equal(t, y[:, -1])


def test_scan_of_a_scan_and_other_uses():
    def body(p):
        at, valid = all_lanes(p, (8, 32))
        zero = p.constant(0, "i32")
        x = p.load("%x", "i32", at, valid, zero, [8, 32])
        rows = p.running("add", x, zero, 1)
        both = p.running("add", rows, zero, 0)
        p.store(p.binary("sub", p.binary("add", both, rows), p.transpose(p.transpose(both, [1, 0]), [1, 0])), "%x", at, valid)
        p.store(p.broadcast(p.fold("maximum", both, p.constant(-(2**31), "i32"), 0), [1], [8, 32]), "%y", at, valid)

    k = Kernel(kernel([("x", "i32", NAMES[:2], "inout"), ("y", "i32", NAMES[:2], "out")], [("1", body)], privates=NAMES[:2], overlaps=['#block.overlap<"x", "y", disjoint>']))
    x = rng.integers(-9, 9, (8, 31)).astype(np.int32)
    rows = x.cumsum(1, dtype=np.int32)
    both = rows.cumsum(0, dtype=np.int32)
    y = np.zeros_like(x)
    k(x, y)
    assert np.array_equal(x, rows) and np.array_equal(y, np.broadcast_to(both.max(0), y.shape))


@pytest.mark.parametrize("extents,shape", [((16,), (13,)), ((8, 16), (7, 13)), ((1, 16), (1, 16)), ((16, 1), (13, 1)), ((4, 8, 16), (3, 7, 13))])
def test_pick(extents, shape):
    for axis_number in range(len(extents)):
        kept = [i for i in range(len(extents)) if i != axis_number]

        def body(p):
            at, valid = all_lanes(p, extents)
            x = p.load("%x", "f32", at, valid, p.constant("7.0", "f32"), list(extents))
            y = p.pick(p.unary("neg", x), "%K", axis_number)
            p.store(y, "%y", [(at[i][0], [j]) for j, i in enumerate(kept)], [(valid[i][0], [j]) for j, i in enumerate(kept)])

        names = NAMES[: len(extents)]
        k = Kernel(kernel([("x", "f32", names, "in"), ("y", "f32", [names[i] for i in kept], "out")], [("1", body)], scalars=[("K", "index")], privates=names))
        x = normal(*shape)
        for lane in range(extents[axis_number]):
            y = np.zeros([shape[i] for i in kept], np.float32)
            k(x, y, np.int64(lane))
            assert np.array_equal(y, -x.take(lane, axis_number) if lane < shape[axis_number] else np.full(y.shape, -7, np.float32))
        for lane in (-5, 2**62):  # not allowed; nothing outside may be touched
            k(x, y, np.int64(lane))


def test_pick_of_masks_and_reduced_values():
    def body(p):
        at, valid = all_lanes(p, (8, 16))
        x = p.load("%x", "i32", at, valid, p.constant(0, "i32"), [8, 16])
        total = p.fold("add", x, p.constant(0, "i32"), 1)
        third = p.pick(total, p.constant(2), 0)
        positive = p.compare("gt", x, p.broadcast(p.constant(0, "i32"), [], [8, 16]))
        flag = p.pick(p.pick(positive, p.constant(1), 0), p.constant(3), 0)
        p.store(p.binary("add", third, p.select(flag, p.constant(1000, "i32"), p.constant(2000, "i32"))), "%y", [], [])

    k = Kernel(kernel([("x", "i32", NAMES[:2], "in"), ("y", "i32", [], "out")], [("1", body)], privates=NAMES[:2]))
    for _ in range(4):
        x, y = rng.integers(-9, 9, (7, 11)).astype(np.int32), np.zeros((), np.int32)
        k(x, y)
        assert y == x[2].sum() + (1000 if x[1, 3] > 0 else 2000)


def test_a_combine_region_that_cannot_be_run_is_located():
    text = scan_text((16,), 0, "f32", "add", False).replace("block.binary add", "block.binary xor")
    with pytest.raises(HostError, match="xor does not take f32"):
        Kernel(text)(normal(3), np.zeros(3, np.float32))
