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


CASES = {name[5:]: value for name, value in list(globals().items()) if name.startswith("case_")}
