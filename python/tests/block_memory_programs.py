"""Block programs with scans, picks, workspaces, atomics and loops: as in block_programs, (text, arguments, {position: expected}, tolerance)."""
from __future__ import annotations

import numpy as np
from block_memory_text import MemoryText
from block_programs import _DTYPES


def add(t, a, b):
    return t.binary("add", a, b)


def _table(name, element, out=None, more=(), privates=('"M"', '"N"'), parameters=(("BM", [4]), ("BN", [16])), **options):
    """x [M, N] -> y [M, N], BM rows an instance; gives (text, rows, validity)."""
    t = MemoryText(name, [("x", element, ["M", "N"], "in"), *more, ("y", out or element, ["M", "N"], "out")], privates, parameters, size='ceil_div("M", BM)', **options)
    m = t.lanes(t.binary("mul", t.pid, t.param("BM")), "BM", "m")
    return t, m, t.compare("lt", m, t.extent('"M"'))


def scan_rows(element, kind="add", identity=0, reverse=False, target="sm_90", combine=None):
    """A running combination along each row, whole rows at once."""
    t, m, vm = _table("running", element, parameters=(("BM", [4]), ("CN", 'pow2_ceil("N")')), target=target)
    n = t.lanes(t.const(0), "CN", "n")
    vn = t.compare("lt", n, t.extent('"N"'))
    place = [(m, [0]), (n, [1])], [(vm, [0]), (vn, [1])]
    x = t.load("x", *place, identity, "x_tile")
    t.at(11).store(t.scan(x, identity, 1, combine or (lambda t, a, b: t.binary(kind, a, b)), reverse), "y", *place)
    return t


def case_cumsum(rng):
    x = rng.standard_normal((5, 37), np.float32)
    return scan_rows("f32"), [x, np.zeros_like(x)], {1: np.cumsum(x.astype(np.float64), 1)}, 1e-5


def case_reversed_cumsum_i64(rng):
    x = rng.integers(-(2**60), 2**60, (3, 8))
    return scan_rows("i64", reverse=True), [x, np.zeros_like(x)], {1: np.cumsum(x[:, ::-1], 1)[:, ::-1]}, 0


def case_cummax_with_nan(rng):
    x = rng.standard_normal((4, 19), np.float32)
    x[1, 5] = np.nan
    x[2, 0] = -0.0
    return scan_rows("f32", "maximum", "0xFF800000"), [x, np.zeros_like(x)], {1: np.maximum.accumulate(x, 1)}, 0


def _affine(t, a, b):
    """x -> m x + c, the earlier one first: no order but the lanes' gives the result."""
    (m0, c0), (m1, c1) = a, b
    return [t.binary("mul", m0, m1), t.binary("add", t.binary("mul", c0, m1), c1)]


def affine(reverse):
    t = MemoryText("affine", [("m", "i32", ["N"], "in"), ("c", "i32", ["N"], "in"), ("p", "i32", ["N"], "out"), ("q", "i32", ["N"], "out")], ['"N"'], [("CN", 'pow2_ceil("N")')])
    n = t.lanes(t.const(0), "CN", "n")
    place = [(n, [0])], [(t.compare("lt", n, t.extent('"N"')), [0])]
    p, q = t.scan([t.load("m", *place, 1, "m_tile"), t.load("c", *place, 0, "c_tile")], [1, 0], 0, _affine, reverse)
    t.store(p, "p", *place)
    t.store(q, "q", *place)
    return t


def _affine_case(rng, reverse):
    m, c = (rng.integers(-9, 9, 23).astype(np.int32) for _ in range(2))
    p, q = np.zeros_like(m), np.zeros_like(c)
    state = (np.int64(1), np.int64(0))
    for i in range(22, -1, -1) if reverse else range(23):
        state = (state[0] * m[i], state[1] * m[i] + c[i])
        state = tuple(np.int64(np.int32(np.uint32(int(s) % 2**32))) for s in state)
        p[i], q[i] = state
    return affine(reverse), [m, c, np.zeros_like(m), np.zeros_like(c)], {2: p, 3: q}, 0


def case_scan_of_pairs(rng):
    return _affine_case(rng, False)


def case_reversed_scan_of_pairs(rng):
    return _affine_case(rng, True)


def case_scan_that_captures(rng):
    """A running sum that stops at a limit of the call."""
    t = MemoryText("limited", [("x", "i32", ["N"], "in"), ("limit", "i32"), ("y", "i32", ["N"], "out"), ("z", "i32", [1], "out")], ['"N"'], [("CN", 'pow2_ceil("N")')])
    n = t.lanes(t.const(0), "CN", "n")
    place = [(n, [0])], [(t.compare("lt", n, t.extent('"N"')), [0])]
    combine = lambda t, a, b: t.binary("minimum", t.binary("add", a, b), t.publics["limit"])
    x = t.load("x", *place, 0, "x_tile")
    t.store(t.scan(x, 0, 0, combine), "y", *place)
    t.store(t.reduce(x, 0, 0, combine), "z", [(t.const(0), [])])
    x = rng.integers(0, 9, 29).astype(np.int32)
    want = np.minimum(np.cumsum(x), 55)
    return t, [x, 55, np.zeros_like(x), np.zeros(1, np.int32)], {2: want, 3: want[-1:]}, 0


def case_scan_of_bools_down_columns(rng):
    """An or over rows, carried between chunks by the pick of the last lane."""
    t = MemoryText("seen", [("x", "i1", ["M", "N"], "in"), ("y", "i1", ["M", "N"], "out")], ['"M"', '"N"'], [("BM", [4]), ("BN", [8])], size='ceil_div("N", BN)')
    n = t.lanes(t.binary("mul", t.pid, t.param("BN")), "BN", "n")
    vn = t.compare("lt", n, t.extent('"N"'))
    start = t.broadcast(t.const(0, "i1"), ["BN"])
    with t.loop(t.const(0), t.extent('"M"'), t.param("BM"), [start]) as (m0, (carry,), finish):
        m = t.lanes(m0, "BM", "m")
        place = [(m, [0]), (n, [1])], [(t.compare("lt", m, t.extent('"M"')), [0]), (vn, [1])]
        seen = t.scan(t.load("x", *place, 0, "x_tile"), 0, 0, lambda t, a, b: t.binary("or", a, b))
        seen = t.binary("or", seen, t.broadcast(carry, ["BM", "BN"], [1]), "seen")
        t.store(seen, "y", *place)
        finish(t.pick(seen, t.binary("sub", t.param("BM"), 1), 0))
    x = rng.random((11, 13)) < 0.15
    return t, [x, np.zeros_like(x)], {1: np.logical_or.accumulate(x, 0)}, 0


def picks(element, target="sm_90"):
    """One column of every row, and one element as a scalar."""
    t = MemoryText("columns", [("x", element, ["M", "N"], "in"), ("c", "index"), ("y", element, ["M"], "out"), ("z", element, [1], "out")], ['"M"', '"N"'],
                   [("BM", [4]), ("CN", 'pow2_ceil("N")')], size='ceil_div("M", BM)', target=target)
    m = t.lanes(t.binary("mul", t.pid, t.param("BM")), "BM", "m")
    vm = t.compare("lt", m, t.extent('"M"'))
    n = t.lanes(t.const(0), "CN", "n")
    x = t.load("x", [(m, [0]), (n, [1])], [(vm, [0]), (t.compare("lt", n, t.extent('"N"')), [1])], 0, "x_tile")
    column = t.pick(x, next(v for k, v in t.publics.items() if k == "c"), 1, "column")
    t.store(column, "y", [(m, [0])], [(vm, [0])])
    first = t.compare("eq", t.pid, 0)
    t.choose(first, lambda: t.store(t.pick(column, t.const(2)), "z", [(t.const(0), [])]))
    return t


def _picks_case(element, x):
    c = 3
    return picks(element), [x, c, np.zeros_like(x[:, 0]), np.zeros_like(x[0, :1])], {2: x[:, c], 3: x[2, c:c + 1]}, 0


def case_pick_f32(rng):
    x = rng.standard_normal((6, 5), np.float32)
    x[:3, 3] = -0.0, np.nan, np.inf
    return _picks_case("f32", x)


def case_pick_i16(rng):
    return _picks_case("i16", rng.integers(-(2**15), 2**15, (6, 5), np.int16))


def case_pick_u64(rng):
    return _picks_case("ui64", rng.integers(0, 2**64, (6, 5), np.uint64))


def case_workspace_between_lanes(rng):
    """Each instance turns its rows around in a workspace of its own: what a lane writes, another one reads."""
    t, m, vm = _table("turned", "f32", parameters=(("BM", [4]), ("CN", 'pow2_ceil("N")')), spaces=[("space", "f32", ['"M"', '"N"'], False)])
    n = t.lanes(t.const(0), "CN", "n")
    vn = t.compare("lt", n, t.extent('"N"'))
    valid = [(vm, [0]), (vn, [1])]
    t.store(t.load("x", [(m, [0]), (n, [1])], valid, 0, "x_tile"), "space", [(m, [0]), (n, [1])], valid)
    t.fence()
    back = t.binary("sub", t.binary("sub", t.broadcast(t.extent('"N"'), ["CN"]), 1), n, "back")
    t.at(14).store(t.load("space", [(m, [0]), (back, [1])], valid, 0, "turned"), "y", [(m, [0]), (n, [1])], valid)
    x = rng.standard_normal((7, 21), np.float32)
    return t, [x, np.zeros_like(x)], {1: x[:, ::-1]}, 0


def _members(name, element, results=1, width=16, **options):
    """x [N] with places p [N] into y [M], `width` lanes an instance; gives (text, load, place of p's element, valid, lanes)."""
    arguments = [("x", element, ["N"], "in"), ("p", "i32", ["N"], "in"), ("y", element, ["M"], "inout")]
    arguments += [(f"o{i}", element, ["N"], "out") for i in range(results)]
    t = MemoryText(name, arguments, ['"N"'], [("BN", [width])], size='ceil_div("N", BN)', **options)
    n = t.lanes(t.binary("mul", t.pid, t.param("BN")), "BN", "n")
    valid = [(t.compare("lt", n, t.extent('"N"')), [0])]
    x = t.load("x", [(n, [0])], valid, 0, "x_tile")
    at = t.cast(t.load("p", [(n, [0])], valid, 0, "p_tile"), "index", "at")
    return t, x, [(at, [0])], valid, [(n, [0])]


def atomics(kind, element, target="sm_90", order="relaxed", result=True, width=16):
    t, x, place, valid, lanes = _members("meet", element, int(result), width, target=target)
    old = t.atomic(kind, x, "y", place, valid, order)
    if result:
        t.store(old, "o0", lanes, valid)
    return t


def scalar_atomics(kind, element, target="sm_90", order="relaxed"):
    """One access an instance, of those below the count."""
    t = MemoryText("draw", [("x", element, ["N"], "in"), ("y", element, [1], "inout"), ("o", element, ["N"], "out")], ['"N"'], size='add("N", 3)', target=target)
    zero = t.const(0)
    valid = [(t.compare("lt", t.pid, t.extent('"N"')), [])]
    x = t.load("x", [(t.pid, [])], valid, 0, "value")
    t.store(t.atomic(kind, x, "y", [(zero, [])], valid, order), "o", [(t.pid, [])], valid)
    return t


def every_atomic(element, target="sm_90"):
    """All accesses that the language has for the element, in tile and scalar form, one after the other."""
    t, x, place, valid, lanes = _members("meet", element, target=target)
    kinds = ["load", "store", "exchange", "add", "max", "min"] + ([] if element.startswith(("f", "bf")) else ["and", "or", "xor"])
    old = x
    for kind in kinds:
        old = t.atomic(kind, x, "y", place, valid, "acquire" if kind == "load" else "release" if kind == "store" else "acq_rel", f"{kind}_old")
    scalar, first = t.pick(x, t.const(0)), [(t.const(0), [])]
    for kind in kinds:
        scalar = t.atomic(kind, scalar, "y", first, name=f"{kind}_scalar")
    swapped = t.compare_exchange(old, x, "y", place, valid, "release")
    t.compare_exchange(scalar, scalar, "y", first)
    for kind in kinds[3:]:
        name = {"max": "maximum", "min": "minimum"}.get(kind, kind)
        t.scatter_reduce(swapped, "y", place, valid, lambda t, a, b: t.binary(name, a, b))
    t.scatter_reduce(swapped, "y", place, valid, lambda t, a, b: t.binary("mul", a, b))
    t.store(swapped, "o0", lanes, valid)
    return t


def _serial(x, p, y, step):
    """Every access in order: what one instance of one thread would do. Returns (y, old values)."""
    y, old = y.copy(), np.zeros_like(x)
    with np.errstate(over="ignore"):  # integers wrap
        for i, at in enumerate(p):
            old[i] = y[at]
            y[at] = step(y[at], x[i])
    return y, old


_STEPS = {"add": lambda a, b: a + b, "max": np.fmax, "min": np.fmin, "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
          "exchange": lambda a, b: b, "store": lambda a, b: b, "load": lambda a, b: a}


def _atomic_case(rng, kind, dtype, element, collide=True):
    n, m = 37, 5 if collide else 41
    p = rng.integers(0, m, n).astype(np.int32) if collide else rng.permutation(m)[:n].astype(np.int32)
    real = np.dtype(dtype).kind == "f"
    make = lambda size: rng.standard_normal(size).astype(dtype) if real else rng.integers(0, 100, size).astype(dtype)
    x, y = make(n), make(m)
    if real and kind in ("max", "min"):
        x[3] = y[2] = np.nan
        y[1] = -np.nan
    want, old = _serial(x, p, y, _STEPS[kind])
    # Old values of colliding lanes depend on their order, which the interpreter keeps where no loop repeats the access.
    check = {2: want} if collide else {2: want, 3: old}
    return atomics(kind, element), [x, p, y, np.zeros_like(x)], check, 1e-5 if kind == "add" and real else 0


def case_atomic_add_i32(rng):
    return _atomic_case(rng, "add", np.int32, "i32")


def case_atomic_add_f32(rng):
    return _atomic_case(rng, "add", np.float32, "f32")


def case_atomic_max_i64(rng):
    return _atomic_case(rng, "max", np.int64, "i64")


def case_atomic_min_u32(rng):
    return _atomic_case(rng, "min", np.uint32, "ui32")


def case_atomic_bits(rng):
    return _atomic_case(rng, "xor", np.int32, "i32")


def case_atomic_max_f32_with_nan(rng):
    return _atomic_case(rng, "max", np.float32, "f32")


def case_atomic_min_f64_apart(rng):
    return _atomic_case(rng, "min", np.float64, "f64", False)


def case_atomic_exchange_f32(rng):
    return _atomic_case(rng, "exchange", np.float32, "f32", False)


def case_atomic_load_f32(rng):
    text, arguments, check, tolerance = _atomic_case(rng, "load", np.float32, "f32", False)
    arguments[2][:3] = -0.0, np.inf, np.nan
    return text, arguments, {2: arguments[2].copy(), 3: arguments[2][arguments[1]]}, 0


def case_atomic_add_scalar(rng):
    x = rng.integers(0, 100, 9).astype(np.int32)
    return scalar_atomics("add", "i32"), [x, np.array([7], np.int32), np.zeros_like(x)], {1: [7 + x.sum()], 2: 7 + np.cumsum(x) - x}, 0


def case_atomic_max_scalar_f32(rng):
    x = np.array([1, np.nan, 3, 2], np.float32)
    return scalar_atomics("max", "f32", order="acq_rel"), [x, np.array([np.nan], np.float32), np.zeros_like(x)], {1: [3.0], 2: [np.nan, 1, 1, 3]}, 0


def exchanges(element, target="sm_90"):
    """Each lane takes its place if that is still zero, and says what it found."""
    t, x, place, valid, lanes = _members("claim", element, target=target)
    zero = t.broadcast(t.const(0, element), ["BN"])
    t.store(t.compare_exchange(zero, x, "y", place, valid, "acq_rel"), "o0", lanes, valid)
    return t


def case_compare_exchange_i32(rng):
    p = rng.permutation(41)[:37].astype(np.int32)
    x, y = np.arange(1, 38, dtype=np.int32), np.zeros(41, np.int32)
    y[::3] = 99
    want, old = _serial(x, p, y, lambda a, b: b if a == 0 else a)
    return exchanges("i32"), [x, p, y, np.zeros_like(x)], {2: want, 3: old}, 0


def case_compare_exchange_f32(rng):
    """Bits are compared: -0 is not 0, and a NaN is itself."""
    p = np.arange(4, dtype=np.int32)
    x, y = np.full(4, 5, np.float32), np.array([0.0, -0.0, np.nan, 1], np.float32)
    return exchanges("f32"), [x, p, y.copy(), np.zeros_like(x)], {2: np.array([5, -0.0, np.nan, 1], np.float32), 3: y}, 0


def case_compare_exchange_tile(rng):
    """Two lane axes, of which the validity cuts both: each lane has a slot of its own where it is inactive."""
    t, m, vm = _table("claimed", "i64", more=[("z", "i64", ["M", "N"], "inout")], parameters=(("BM", [4]), ("CN", 'pow2_ceil("N")')))
    n = t.lanes(t.const(0), "CN", "n")
    place = [(m, [0]), (n, [1])], [(vm, [0]), (t.compare("lt", n, t.extent('"N"')), [1])]
    x = t.load("x", *place, 0, "x_tile")
    one = t.broadcast(t.const(1, "i64"), ["BM", "CN"])
    t.store(t.compare_exchange(one, x, "z", *place), "y", *place)
    x, z = rng.integers(0, 9, (6, 11)), rng.integers(0, 3, (6, 11))
    return t, [x, z.copy(), np.zeros_like(x)], {1: np.where(z == 1, x, z), 2: z}, 0


def scatters(element, combine, target="sm_90", width=16):
    t, x, place, valid, _ = _members("combine", element, 0, width, target=target)
    t.scatter_reduce(x, "y", place, valid, combine)
    return t


def _scatter_case(rng, element, dtype, combine, step, tolerance=0, edit=None):
    n, m = 37, 5
    x, p = (rng.standard_normal(n).astype(dtype) if np.dtype(dtype).kind == "f" else rng.integers(1, 50, n).astype(dtype)), rng.integers(0, m, n).astype(np.int32)
    y = np.ones(m, dtype)
    if edit:
        edit(x, y)
    return scatters(element, combine), [x, p, y.copy()], {2: _serial(x, p, y, step)[0]}, tolerance


def case_scatter_add(rng):
    return _scatter_case(rng, "f32", np.float32, add, lambda a, b: a + b, 1e-5)


def case_scatter_max_keeps_nan(rng):
    def edit(x, y):
        x[4] = y[0] = np.nan
        y[3] = np.copysign(np.float32(np.nan), np.float32(-1))

    return _scatter_case(rng, "f32", np.float32, lambda t, a, b: t.binary("maximum", a, b), np.maximum, 0, edit)


def case_scatter_product_i16(rng):
    return _scatter_case(rng, "i16", np.int16, lambda t, a, b: t.binary("mul", a, b), lambda a, b: a * b)


def case_scatter_of_a_longer_combine(rng):
    """a + b + a b, which is associative and commutative."""
    combine = lambda t, a, b: t.binary("add", t.binary("add", a, b), t.binary("mul", a, b))
    return _scatter_case(rng, "i32", np.int32, combine, lambda a, b: a + b + a * b)


def case_crowded_max(rng):
    """Many lanes of many instances at few places, in a loop of exchanges."""
    x, p, y = rng.standard_normal(5000, np.float32), rng.integers(0, 3, 5000).astype(np.int32), np.full(3, -9, np.float32)
    want, _ = _serial(x, p, y, np.fmax)
    return atomics("max", "f32", result=False, width=512), [x, p, y], {2: want}, 0


def case_crowded_product(rng):
    x, p, y = rng.integers(-5, 5, 5000).astype(np.int32) * 2 + 1, rng.integers(0, 7, 5000).astype(np.int32), np.ones(7, np.int32)
    want, _ = _serial(x, p, y, lambda a, b: a * b)
    return scatters("i32", lambda t, a, b: t.binary("mul", a, b), width=256), [x, p, y], {2: want}, 0


def case_crowded_sum_f16(rng):
    x, p, y = np.ones(1999, np.float16), rng.integers(0, 3, 1999).astype(np.int32), np.zeros(3, np.float16)
    return atomics("add", "f16", result=False, width=256), [x, p, y], {2: np.bincount(p, minlength=3)}, 0


def case_collatz_lanes(rng):
    """A loop that runs while any lane is active; lanes that are done keep their value."""
    t = MemoryText("collatz", [("x", "i64", ["N"], "in"), ("y", "i64", ["N"], "out")], ['"N"'], [("BN", [16])], size='ceil_div("N", BN)')
    n = t.lanes(t.binary("mul", t.pid, t.param("BN")), "BN", "n")
    valid = [(t.compare("lt", n, t.extent('"N"')), [0])]
    x = t.load("x", [(n, [0])], valid, 1, "x_tile")
    fill = lambda v: t.broadcast(t.const(v, "i64"), ["BN"])

    def test(state):
        active = t.compare("gt", state[0], fill(1))
        return t.reduce(active, 0, 0, lambda t, a, b: t.binary("or", a, b)), state

    def body(state):
        value, steps = state
        active = t.compare("gt", value, fill(1), "active")
        odd = t.compare("eq", t.binary("mod", value, fill(2)), fill(1))
        after = t.select(odd, t.binary("add", t.binary("mul", value, fill(3)), fill(1)), t.binary("floordiv", value, fill(2)))
        return [t.select(active, after, value), t.select(active, t.binary("add", steps, fill(1)), steps)]

    t.store(t.repeat([x, fill(0)], test, body)[1], "y", [(n, [0])], valid)
    a = rng.integers(1, 40, 21)
    return t, [a, np.zeros_like(a)], {1: [_collatz(int(v)) for v in a]}, 0


def _collatz(value):
    steps = 0
    while value > 1:
        value, steps = value * 3 + 1 if value % 2 else value // 2, steps + 1
    return steps


def case_recurrence_through_memory(rng):
    """y[i] = x[i] + y[i - 1] + y[i - 2] down the rows, each row read back from a workspace behind a fence."""
    t = MemoryText("chain", [("x", "i32", ["M", "N"], "in"), ("y", "i32", ["M", "N"], "out")], ['"M"', '"N"'], [("BN", [8])], size='ceil_div("N", BN)',
                   spaces=[("done", "i32", ['"M"', '"N"'], False)])
    n = t.lanes(t.binary("mul", t.pid, t.param("BN")), "BN", "n")
    vn = (t.compare("lt", n, t.extent('"N"')), [0])
    with t.loop(t.const(0), t.extent('"M"'), t.const(1)) as (i, _, finish):
        total = t.load("x", [(i, []), (n, [0])], [vn], 0, "x_row")
        for back in (1, 2):
            j = t.binary("sub", i, t.const(back))
            inside = (t.compare("ge", j, t.const(0)), [])
            total = t.binary("add", total, t.load("done", [(j, []), (n, [0])], [inside, vn], 0, f"before_{back}"), "total")
        t.store(total, "done", [(i, []), (n, [0])], [vn])
        t.store(total, "y", [(i, []), (n, [0])], [vn])
        t.fence()
    x = rng.integers(0, 5, (9, 13)).astype(np.int32)
    want = x.copy()
    for r in range(1, 9):
        want[r] += want[r - 1] + (want[r - 2] if r > 1 else 0)
    return t, [x, np.zeros_like(x)], {1: want}, 0


def hand_over(features=""):
    """Each instance stores its part and draws a ticket; the last one sums the parts."""
    t = MemoryText("total", [("x", "f32", ["N"], "in"), ("y", "f32", [1], "out")], ['"N"'], [("BN", [1024])], size='ceil_div("N", BN)', features=features,
                            spaces=[("slot", "f32", ['ceil_div("N", BN)', "BN"], False), ("ticket", "i32", [1], True)])
    n = t.lanes(t.binary("mul", t.pid, t.param("BN")), "BN", "n")
    lanes, zero = t.lanes(t.const(0), "BN", "lane"), t.const(0)
    x = t.load("x", [(n, [0])], [(t.compare("lt", n, t.extent('"N"')), [0])], 0, "x_tile")
    t.store(x, "slot", [(t.pid, []), (lanes, [0])])
    drawn = t.atomic("add", t.const(1, "i32"), "ticket", [(zero, [])], order="acq_rel", name="drawn")
    count = t.param("BN")
    last = t.compare("eq", drawn, t.cast(t.binary("sub", t.binary("floordiv", t.binary("add", t.extent('"N"'), t.binary("sub", count, 1)), count), 1), "i32"))

    def finish():
        start = t.broadcast(t.const(0.0, "f32"), ["BN"])
        with t.loop(zero, t.binary("floordiv", t.binary("add", t.extent('"N"'), t.binary("sub", count, 1)), count), t.const(1), [start]) as (i, (acc,), done):
            done(t.binary("add", acc, t.load("slot", [(i, []), (lanes, [0])], (), 0, "part", ["BN"])))
        t.store(t.reduce(done.results[0], 0.0, 0, add), "y", [(zero, [])])
        t.store(t.const(0, "i32"), "ticket", [(zero, [])])

    t.choose(last, finish)
    return t


def case_hand_over(rng):
    x = rng.standard_normal(5000, np.float32)
    return hand_over(), [x, np.zeros(1, np.float32)], {1: x.astype(np.float64).sum()}, 1e-4


def case_branch_with_fragments(rng):
    """A condition on the instance chooses between two fragments and a store."""
    t, n, v = _flat_memory("branch", "f32")
    x = t.load("x", [(n, [0])], [v], 0, "x_tile")
    even = t.compare("eq", t.binary("mod", t.pid, t.const(2)), t.const(0))
    out = t.choose(even, lambda: [t.binary("mul", x, x)], lambda: [t.binary("add", x, t.broadcast(t.const(1.0, "f32"), ["BN"]))])[0]
    t.store(out, "y", [(n, [0])], [v])
    a = rng.standard_normal(45, np.float32)
    block = np.arange(45) // 16 % 2
    return t, [a, np.zeros_like(a)], {1: np.where(block == 0, a * a, a + np.float32(1))}, 1e-6


def _flat_memory(name, element):
    t = MemoryText(name, [("x", element, ["N"], "in"), ("y", element, ["N"], "out")], ['"N"'], [("BN", [16])], size='ceil_div("N", BN)')
    n = t.lanes(t.binary("mul", t.pid, t.param("BN")), "BN", "n")
    return t, n, (t.compare("lt", n, t.extent('"N"')), [0])


CASES = {name[5:]: value for name, value in list(globals().items()) if name.startswith("case_")}
# Results that depend on the order of instances, which only the interpreter fixes.
ORDERED = {"atomic_add_scalar": [2], "atomic_max_scalar_f32": [2]}
