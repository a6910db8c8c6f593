"""Block programs written by hand for provider tests: each case is (text, arguments, {position: expected}, tolerance)."""
from __future__ import annotations

import numpy as np
from block_text import Text

_DTYPES = {"i1": np.bool_, "index": np.int64, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "ui8": np.uint8, "ui16": np.uint16,
           "ui32": np.uint32, "ui64": np.uint64, "f16": np.float16, "f32": np.float32, "f64": np.float64}


def _rows(t, m_extent="BM", bound='"M"'):
    base = t.binary("mul", t.pid, t.param(m_extent))
    m = t.lanes(base, m_extent, "m")
    return m, t.compare("lt", m, t.extent(bound))


def _flat(name, arguments, parameters=(("BN", [128]),), privates=('"N"',), **more):
    """A program over one flat axis N; gives (text, lanes, validity)."""
    t = Text(name, arguments, privates, parameters, size='ceil_div("N", BN)', **more)
    n = t.lanes(t.binary("mul", t.pid, t.param("BN")), "BN", "n")
    return t, n, t.compare("lt", n, t.extent('"N"'))


def pointwise(element, target="sm_90"):
    t, n, v = _flat("scale_add", [("x", element, ["N"], "in"), ("y", element, ["N"], "in"), ("z", element, ["N"], "out")], target=target)
    load = lambda view: t.load(view, [(n, [0])], [(v, [0])], 0, view + "_tile")
    a, b = load("x"), load("y")
    t.at(12).store(t.binary("add", t.binary("mul", a, b), a), "z", [(n, [0])], [(v, [0])])
    return t


def case_pointwise_f32(rng):
    x, y = rng.standard_normal(300, np.float32), rng.standard_normal(300, np.float32)
    return pointwise("f32"), [x, y, np.zeros_like(x)], {2: x * y + x}, 1e-6


def case_pointwise_i16(rng):
    x, y = rng.integers(-300, 300, 77, np.int16), rng.integers(-300, 300, 77, np.int16)
    return pointwise("i16"), [x, y, np.zeros_like(x)], {2: x * y + x}, 0


def case_unary_f16(rng):
    t, n, v = _flat("unaries", [("x", "f16", ["N"], "in"), ("y", "f16", ["N"], "out"), ("z", "f16", ["N"], "out")])
    x = t.load("x", [(n, [0])], [(v, [0])], 0, "value")
    t.store(t.unary("neg", x), "y", [(n, [0])], [(v, [0])])
    t.at(11).store(t.unary("sigmoid", t.unary("abs", x)), "z", [(n, [0])], [(v, [0])])
    a = rng.standard_normal(200).astype(np.float16)
    a[0] = 0.0
    w = a.astype(np.float64)
    return t, [a, np.zeros_like(a), np.zeros_like(a)], {1: -a, 2: 1 / (1 + np.exp(-np.abs(w)))}, 1e-3


def case_unary_functions(rng):
    kinds = ["exp", "exp2", "log", "log2", "sin", "cos", "erf", "rsqrt", "sqrt", "floor", "ceil"]
    arguments = [("x", "f32", ["N"], "in")] + [(f"y{i}", "f32", ["N"], "out") for i in range(len(kinds))]
    t, n, v = _flat("functions", arguments)
    x = t.load("x", [(n, [0])], [(v, [0])], 1.0, "value")
    for i, kind in enumerate(kinds):
        t.at(20 + i).store(t.unary(kind, x), f"y{i}", [(n, [0])], [(v, [0])])
    from math import erf
    a = (rng.random(100) * 4 + 0.1).astype(np.float32)
    w = a.astype(np.float64)
    want = [np.exp(w), np.exp2(w), np.log(w), np.log2(w), np.sin(w), np.cos(w), np.vectorize(erf)(w), 1 / np.sqrt(w), np.sqrt(w), np.floor(w), np.ceil(w)]
    return t, [a] + [np.zeros_like(a) for _ in kinds], {i + 1: w for i, w in enumerate(want)}, 1e-5


def case_integer_division(rng):
    t, n, v = _flat("floors", [("x", "i32", ["N"], "in"), ("y", "i32", ["N"], "in"), ("q", "i32", ["N"], "out"), ("r", "i32", ["N"], "out")])
    a, b = t.load("x", [(n, [0])], [(v, [0])], 0, "a"), t.load("y", [(n, [0])], [(v, [0])], 1, "b")
    t.store(t.binary("floordiv", a, b), "q", [(n, [0])], [(v, [0])])
    t.store(t.binary("mod", a, b), "r", [(n, [0])], [(v, [0])])
    x, y = rng.integers(-50, 50, 150, np.int32), rng.integers(1, 9, 150, np.int32) * rng.choice(np.array([-1, 1], np.int32), 150)
    return t, [x, y, np.zeros_like(x), np.zeros_like(x)], {2: x // y, 3: x % y}, 0


def case_unsigned_shifts(rng):
    t, n, v = _flat("bits", [("x", "ui8", ["N"], "in"), ("y", "ui8", ["N"], "out"), ("z", "i32", ["N"], "out")])
    x = t.load("x", [(n, [0])], [(v, [0])], 0, "byte")
    low = t.binary("and", x, 15, "low")
    t.store(t.binary("or", t.binary("shl", low, 4), t.binary("shr", x, 4)), "y", [(n, [0])], [(v, [0])])
    t.store(t.binary("sub", t.cast(low, "i32"), 8), "z", [(n, [0])], [(v, [0])])
    a = rng.integers(0, 256, 130, np.uint8)
    return t, [a, np.zeros_like(a), np.zeros(130, np.int32)], {1: (a << 4) | (a >> 4), 2: (a & 15).astype(np.int32) - 8}, 0


def case_bool_views(rng):
    t, n, v = _flat("logic", [("p", "i1", ["N"], "in"), ("q", "i1", ["N"], "in"), ("r", "i1", ["N"], "out"), ("s", "f32", ["N"], "out")])
    p, q = (t.load(w, [(n, [0])], [(v, [0])], 0, w + "_tile") for w in "pq")
    t.store(t.binary("and", t.unary("not", p), q), "r", [(n, [0])], [(v, [0])])
    sides = t.broadcast(t.const(1.5, "f32"), ["BN"]), t.const(-2.0, "f32")
    t.store(t.select(t.binary("xor", p, q, "differ"), *sides), "s", [(n, [0])], [(v, [0])])
    a, b = rng.random(99) < 0.5, rng.random(99) < 0.5
    return t, [a, b, np.zeros(99, bool), np.zeros(99, np.float32)], {2: ~a & b, 3: np.where(a ^ b, 1.5, -2.0)}, 0


def case_extrema_and_nan(rng):
    arguments = [("x", "f32", ["N"], "in"), ("y", "f32", ["N"], "in"), ("a", "f32", ["N"], "out"), ("b", "f32", ["N"], "out")]
    t, n, v = _flat("extrema", arguments)
    x, y = (t.load(w, [(n, [0])], [(v, [0])], 0, w + "_tile") for w in "xy")
    t.store(t.binary("maximum", x, y), "a", [(n, [0])], [(v, [0])])
    t.store(t.binary("minimum", x, 0.5), "b", [(n, [0])], [(v, [0])])
    p, q = rng.standard_normal(64, np.float32), rng.standard_normal(64, np.float32)
    p[3] = q[7] = np.nan
    return t, [p, q, np.zeros_like(p), np.zeros_like(p)], {2: np.maximum(p, q), 3: np.minimum(p, np.float32(0.5))}, 0


def case_row_sum(rng):
    t = Text("row_sum", [("x", "f16", ["M", "N"], "in"), ("y", "f32", ["M"], "out")], ['"M"', '"N"'], [("BM", [4]), ("BN", [64])], size='ceil_div("M", BM)')
    m, vm = _rows(t)
    zero = t.broadcast(t.const(0.0, "f32"), ["BM"])
    with t.loop(t.const(0), t.extent('"N"'), t.param("BN"), [zero]) as (n0, (acc,), finish):
        n = t.lanes(n0, "BN", "n")
        vn = t.compare("lt", n, t.extent('"N"'))
        x = t.load("x", [(m, [0]), (n, [1])], [(vm, [0]), (vn, [1])], 0.0, "x_tile")
        part = t.reduce(t.cast(x, "f32"), 0.0, 1, lambda t, a, b: t.binary("add", a, b))
        finish(t.binary("add", acc, part, "total"))
    t.at(14).store(finish.results[0], "y", [(m, [0])], [(vm, [0])])
    x = rng.standard_normal((13, 150)).astype(np.float16)
    return t, [x, np.zeros(13, np.float32)], {1: x.astype(np.float64).sum(1)}, 1e-5


def case_reductions(rng):
    """Maximum with NaN, product, all of bools, and the position of the largest."""
    t = Text("reductions", [("x", "f32", ["M", "N"], "in"), ("a", "f32", ["M"], "out"), ("b", "f32", ["M"], "out"), ("c", "i1", ["M"], "out"), ("d", "i64", ["M"], "out")],
             ['"M"', '"N"'], [("BM", [4]), ("CN", 'pow2_ceil("N")')], size='ceil_div("M", BM)')
    m, vm = _rows(t)
    n = t.lanes(t.const(0), "CN", "n")
    vn = t.compare("lt", n, t.extent('"N"'))
    x = t.load("x", [(m, [0]), (n, [1])], [(vm, [0]), (vn, [1])], "0xFF800000", "x_tile")
    largest = t.reduce(x, "0xFF800000", 1, lambda t, a, b: t.binary("maximum", a, b))
    t.store(largest, "a", [(m, [0])], [(vm, [0])])
    ones = t.select(t.broadcast(vn, ["BM", "CN"], [1]), x, t.const(1.0, "f32"))
    t.at(11).store(t.reduce(ones, 1.0, 1, lambda t, a, b: t.binary("mul", a, b)), "b", [(m, [0])], [(vm, [0])])
    holds = t.compare("gt", x, -1.0, "holds")
    neutral = t.select(t.broadcast(vn, ["BM", "CN"], [1]), holds, t.const(1, "i1"))
    t.at(12).store(t.reduce(neutral, 1, 1, lambda t, a, b: t.binary("and", a, b)), "c", [(m, [0])], [(vm, [0])])

    def pick(t, a, b):
        nan = t.compare("ne", a[0], a[0])
        other = t.compare("ne", b[0], b[0])
        first = t.compare("lt", a[1], b[1])
        wins = t.binary("or", t.compare("gt", a[0], b[0]), t.binary("and", t.compare("eq", a[0], b[0]), first))
        wins = t.binary("or", t.binary("and", nan, t.binary("or", first, t.unary("not", other))), t.binary("and", wins, t.unary("not", other)))
        return [t.select(wins, a[0], b[0]), t.select(wins, a[1], b[1])]

    position = t.broadcast(n, ["BM", "CN"], [1])
    best = t.at(13).reduce([x, position], ["0xFF800000", 0], 1, pick)
    t.store(t.cast(best[1], "i64"), "d", [(m, [0])], [(vm, [0])])
    x = rng.standard_normal((9, 20)).astype(np.float32) * 0.5
    x[2, 5] = np.nan
    return (t, [x, np.zeros(9, np.float32), np.zeros(9, np.float32), np.zeros(9, bool), np.zeros(9, np.int64)],
            {1: x.max(1), 2: x.prod(1), 3: (x > -1).all(1), 4: x.argmax(1)}, 1e-5)


def matmul(element="f16", rows=None, target="sm_90", accumulator="f32", out=None, descriptors=False):
    """y = gelu(a @ b + bias), grouped swizzle; with a choice of tensor descriptors where asked for."""
    out = out or element
    t = Text("matmul", [("a", element, ["M", "K"], "in"), ("b", element, ["K", "N"], "in"), ("bias", out, ["N"], "in"), ("y", out, ["M", "N"], "out")],
             ['"M"', '"N"', '"K"'], [("BM", [16, 128]), ("BN", [16, 256]), ("BK", [32, 64]), ("GM", [2, 8]), ("NUM_WARPS", [4, 8]), ("NUM_STAGES", [3, 4])]
             + ([("USE_TENSOR_DESCRIPTOR", [0, 1])] if descriptors else []), rows or [[16, 16, 32, 2, 4, 3]], size='mul(ceil_div("M", BM), ceil_div("N", BN))', target=target)
    M, N, K = (t.extent(f'"{s}"') for s in "MNK")
    cdiv = lambda x, p, name: t.binary("floordiv", t.binary("add", x, t.binary("sub", t.param(p), t.const(1))), t.param(p), name)
    tiles_m, tiles_n = cdiv(M, "BM", "tiles_m"), cdiv(N, "BN", "tiles_n")
    per = t.binary("mul", t.param("GM"), tiles_n, "per_group")
    first = t.binary("mul", t.binary("floordiv", t.pid, per), t.param("GM"), "first_m")
    size = t.binary("maximum", t.binary("minimum", t.binary("sub", tiles_m, first), t.param("GM")), t.const(1), "group_m")
    inside = t.binary("mod", t.pid, per, "inside")
    pm = t.binary("add", first, t.binary("mod", inside, size), "tile_m")
    pn = t.binary("floordiv", inside, size, "tile_n")
    t.at(12)
    m, n = t.lanes(t.binary("mul", pm, t.param("BM")), "BM", "m"), t.lanes(t.binary("mul", pn, t.param("BN")), "BN", "n")
    vm, vn = t.compare("lt", m, M), t.compare("lt", n, N)
    zero = t.broadcast(t.const(0 if accumulator == "i32" else 0.0, accumulator), ["BM", "BN"])
    t.at(13)
    with t.loop(t.const(0), K, t.param("BK"), [zero]) as (k0, (acc,), finish):
        k = t.lanes(k0, "BK", "k")
        vk = t.compare("lt", k, K)
        a = t.load("a", [(m, [0]), (k, [1])], [(vm, [0]), (vk, [1])], 0, "a_tile")
        b = t.load("b", [(k, [0]), (n, [1])], [(vk, [0]), (vn, [1])], 0, "b_tile")
        finish(t.contract(a, b, acc, "acc"))
    acc = finish.results[0]
    bias = t.at(14).load("bias", [(n, [0])], [(vn, [0])], 0, "bias_tile")
    if accumulator == "i32":
        value = t.binary("add", acc, t.broadcast(t.cast(bias, "i32") if out != "i32" else bias, ["BM", "BN"], [1]), "value")
        t.at(15).store(value if out == "i32" else t.cast(value, out), "y", [(m, [0]), (n, [1])], [(vm, [0]), (vn, [1])])
        return t
    value = t.binary("add", acc, t.broadcast(t.cast(bias, "f32") if out != "f32" else bias, ["BM", "BN"], [1]), "value")
    erf = t.unary("erf", t.binary("mul", value, 0.7071067811865476))
    gelu = t.at(15).binary("mul", t.binary("mul", value, 0.5), t.binary("add", erf, 1.0), "gelu")
    t.at(16).store(gelu if out == "f32" else t.cast(gelu, out), "y", [(m, [0]), (n, [1])], [(vm, [0]), (vn, [1])])
    return t


def plain_matmul(element, accumulator, target="sm_90"):
    """y = a @ b in the accumulation dtype."""
    t = Text("product", [("a", element, ["M", "K"], "in"), ("b", element, ["K", "N"], "in"), ("y", accumulator, ["M", "N"], "out")], ['"M"', '"N"', '"K"'],
             [("BM", [16]), ("BN", [16]), ("BK", [16])], size='ceil_div("M", BM)', target=target)
    m, vm = _rows(t)
    n = t.lanes(t.const(0), "BN", "n")
    vn = t.compare("lt", n, t.extent('"N"'))
    with t.loop(t.const(0), t.extent('"K"'), t.param("BK"), [t.broadcast(t.const(0.0, accumulator), ["BM", "BN"])]) as (k0, (acc,), finish):
        k = t.lanes(k0, "BK", "k")
        vk = t.compare("lt", k, t.extent('"K"'))
        a = t.load("a", [(m, [0]), (k, [1])], [(vm, [0]), (vk, [1])], 0, "a_tile")
        b = t.load("b", [(k, [0]), (n, [1])], [(vk, [0]), (vn, [1])], 0, "b_tile")
        finish(t.contract(a, b, acc, "acc"))
    t.store(finish.results[0], "y", [(m, [0]), (n, [1])], [(vm, [0]), (vn, [1])])
    return t


def case_matmul(rng):
    from math import erf
    a, b, bias = rng.standard_normal((50, 70)).astype(np.float16), rng.standard_normal((70, 40)).astype(np.float16), rng.standard_normal(40).astype(np.float16)
    v = a.astype(np.float64) @ b.astype(np.float64) + bias
    return matmul(), [a, b, bias, np.zeros((50, 40), np.float16)], {3: v * 0.5 * (1 + np.vectorize(erf)(v / np.sqrt(2)))}, 5e-3


def case_matmul_i8(rng):
    a, b, bias = rng.integers(-9, 9, (33, 70), np.int8), rng.integers(-9, 9, (70, 40), np.int8), rng.integers(-9, 9, 40, np.int32)
    want = a.astype(np.int64) @ b.astype(np.int64) + bias
    return matmul("i8", accumulator="i32", out="i32"), [a, b, bias, np.zeros((33, 40), np.int32)], {3: want}, 0


def case_transpose(rng):
    t = Text("transpose", [("x", "f32", ["M", "N"], "in"), ("y", "f32", ["N", "M"], "out")], ['"M"', '"N"'], [("BM", [16]), ("BN", [32])], size='mul(ceil_div("M", BM), ceil_div("N", BN))')
    tiles_n = t.binary("floordiv", t.binary("add", t.extent('"N"'), t.param("sub(BN, 1)")), t.param("BN"), "tiles_n")
    m = t.lanes(t.binary("mul", t.binary("floordiv", t.pid, tiles_n), t.param("BM")), "BM", "m")
    n = t.lanes(t.binary("mul", t.binary("mod", t.pid, tiles_n), t.param("BN")), "BN", "n")
    vm, vn = t.compare("lt", m, t.extent('"M"')), t.compare("lt", n, t.extent('"N"'))
    x = t.load("x", [(m, [0]), (n, [1])], [(vm, [0]), (vn, [1])], 0.0, "x_tile")
    t.at(11).store(t.transpose(x, [1, 0]), "y", [(n, [0]), (m, [1])], [(vn, [0]), (vm, [1])])
    x = rng.standard_normal((40, 50), np.float32)
    return t, [x, np.zeros((50, 40), np.float32)], {1: x.T}, 0


def case_rank3(rng):
    """y[c, b, a] = x[a, b, c] * s[b]."""
    t = Text("permuted", [("x", "f32", ["A", "B", "C"], "in"), ("s", "f32", ["B"], "in"), ("y", "f32", ["C", "B", "A"], "out")], ['"A"', '"B"', '"C"'],
             [("BA", [4]), ("CB", 'pow2_ceil("B")'), ("CC", 'pow2_ceil("C")')], size='ceil_div("A", BA)')
    a = t.lanes(t.binary("mul", t.pid, t.param("BA")), "BA", "a")
    b, c = t.lanes(t.const(0), "CB", "b"), t.lanes(t.const(0), "CC", "c")
    va, vb, vc = (t.compare("lt", i, t.extent(f'"{s}"')) for i, s in zip((a, b, c), "ABC"))
    x = t.load("x", [(a, [0]), (b, [1]), (c, [2])], [(va, [0]), (vb, [1]), (vc, [2])], 0.0, "x_tile")
    s = t.load("s", [(b, [0])], [(vb, [0])], 0.0, "s_tile")
    y = t.transpose(t.binary("mul", x, t.broadcast(s, x.extents, [1])), [2, 1, 0])
    t.at(11).store(y, "y", [(c, [0]), (b, [1]), (a, [2])], [(vc, [0]), (vb, [1]), (va, [2])])
    x, s = rng.standard_normal((5, 6, 7), np.float32), rng.standard_normal(6, np.float32)
    return t, [x, s, np.zeros((7, 6, 5), np.float32)], {2: (x * s[:, None]).transpose(2, 1, 0)}, 1e-6


def case_window(rng):
    """Largest of 3 x 3 windows, stride 2, window loops unrolled into carried maxima."""
    t = Text("max_pool", [("x", "f32", ["H", "W"], "in"), ("y", "f32", ["OH", "OW"], "out")], ['"H"', '"W"', '"OH"', '"OW"'], [("BW", [8])], size='mul("OH", ceil_div("OW", BW))')
    tiles = t.binary("floordiv", t.binary("add", t.extent('"OW"'), t.param("sub(BW, 1)")), t.param("BW"), "tiles")
    i = t.binary("floordiv", t.pid, tiles, "i")
    j = t.lanes(t.binary("mul", t.binary("mod", t.pid, tiles), t.param("BW")), "BW", "j")
    vj = t.compare("lt", j, t.extent('"OW"'))
    low = t.broadcast(t.const("0xFF800000", "f32"), ["BW"])
    three, one = t.const(3), t.const(1)
    with t.loop(t.const(0), three, one, [low]) as (r, (outer,), finish):
        with t.loop(t.const(0), three, one, [outer]) as (c, (best,), finish2):
            row = t.binary("add", t.binary("mul", i, 2), r, "row")
            column = t.binary("add", t.binary("mul", j, t.broadcast(t.const(2), ["BW"])), t.broadcast(c, ["BW"]), "column")
            vr, vc = t.compare("lt", row, t.extent('"H"')), t.compare("lt", column, t.extent('"W"'))
            x = t.load("x", [(row, []), (column, [0])], [(vr, []), (vc, [0]), (vj, [0])], "0xFF800000", "x_tile")
            finish2(t.binary("maximum", best, x, "best"))
        finish(finish2.results[0])
    t.at(12).store(finish.results[0], "y", [(i, []), (j, [0])], [(vj, [0])])
    x = rng.standard_normal((9, 23), np.float32)
    want = np.lib.stride_tricks.sliding_window_view(x, (3, 3))[::2, ::2].max((2, 3))
    return t, [x, np.zeros_like(want)], {1: want}, 0


def case_two_groups(rng):
    t = Text("halves", [("x", "f32", ["N"], "in"), ("y", "f32", ["N"], "out"), ("z", "i32", ["M"], "out")], ['"N"', '"M"'], [("BN", [32]), ("BM", [16])], size=None)
    t.group('ceil_div("N", BN)')
    n = t.lanes(t.binary("mul", t.pid, t.param("BN")), "BN", "i")
    vn = t.compare("lt", n, t.extent('"N"'))
    x = t.load("x", [(n, [0])], [(vn, [0])], 0.0, "value")
    t.store(t.binary("mul", x, 2.0), "y", [(n, [0])], [(vn, [0])])
    t.group('ceil_div("M", BM)')
    m = t.at(20).lanes(t.binary("mul", t.pid, t.param("BM")), "BM", "i")
    vm = t.compare("lt", m, t.extent('"M"'))
    value = t.cast(t.binary("mul", m, t.broadcast(t.const(3), ["BM"])), "i32", "value")
    t.store(value, "z", [(m, [0])], [(vm, [0])])
    x = rng.standard_normal(100, np.float32)
    return t, [x, np.zeros_like(x), np.zeros(50, np.int32)], {1: x * 2, 2: np.arange(50) * 3}, 0


def case_gather(rng):
    """y[i] = table[index[i]] for i64 indices, 0 outside; strided."""
    t, n, v = _flat("gather", [("table", "f32", ["K"], "in"), ("at", "i64", ["N"], "in"), ("y", "f32", ["N"], "out")], privates=('"N"', '"K"'))
    at = t.cast(t.load("at", [(n, [0])], [(v, [0])], 0, "position"), "index", "entry")
    low = t.compare("ge", at, 0)
    high = t.compare("lt", at, t.extent('"K"'))
    x = t.load("table", [(at, [0])], [(v, [0]), (low, [0]), (high, [0])], 0.0, "x_tile")
    t.at(11).store(x, "y", [(n, [0])], [(v, [0])])
    table, at = rng.standard_normal(20, np.float32), rng.integers(-5, 25, 66, np.int64)
    return t, [table, at, np.zeros(66, np.float32)], {2: np.where((at >= 0) & (at < 20), table[at.clip(0, 19)], 0)}, 0


def case_scalars(rng):
    """One instance, no lanes: y = a * x[k] + float(k); collatz steps of c by scf.while."""
    t = Text("scalars", [("x", "f32", ["N"], "in"), ("y", "f32", [1], "out"), ("z", "i64", [1], "out"), ("a", "f32"), ("k", "index"), ("c", "i64")], [], [])
    A, k, c = t.publics["a"], t.publics["k"], t.publics["c"]
    zero = t.const(0)
    x = t.load("x", [(k, [])], [], 0.0, "value", extents=())
    t.store(t.binary("add", t.binary("mul", A, x), t.cast(k, "f32")), "y", [(zero, [])])
    t.at(20)
    steps0 = t.const(0, "i64")

    def test(state):
        return t.compare("gt", state[0], 1), state

    def body(state):
        odd = t.compare("eq", t.binary("mod", state[0], 2), 1, "odd")
        then = t.choose(odd, lambda: [t.binary("add", t.binary("mul", state[0], 3), 1)], lambda: [t.binary("floordiv", state[0], 2)])
        return [then[0], t.binary("add", state[1], 1, "steps")]

    result = t.repeat([c, steps0], test, body)
    t.at(22).store(result[1], "z", [(zero, [])])
    x = rng.standard_normal(9, np.float32)
    return t, [x, np.zeros(1, np.float32), np.zeros(1, np.int64), 2.5, 4, 27], {1: np.array([2.5 * x[4] + 4]), 2: np.array([111])}, 1e-6


def case_online_softmax(rng):
    """Carried maximum and sum that exchange old and new values; then a second loop."""
    t = Text("online", [("x", "f32", ["M", "N"], "in"), ("y", "f32", ["M", "N"], "out")], ['"M"', '"N"'], [("BM", [2]), ("BN", [16])], size='ceil_div("M", BM)')
    m, vm = _rows(t)
    N = t.extent('"N"')
    low, zero = t.broadcast(t.const(-1e30, "f32"), ["BM"]), t.broadcast(t.const(0.0, "f32"), ["BM"])

    def chunk(n0):
        n = t.lanes(n0, "BN", "n")
        vn = t.compare("lt", n, N)
        return n, vn, t.load("x", [(m, [0]), (n, [1])], [(vm, [0]), (vn, [1])], -1e30, "x_tile")

    with t.loop(t.const(0), N, t.param("BN"), [low, zero]) as (n0, (mx, s), finish):
        n, vn, x = chunk(n0)
        new = t.binary("maximum", mx, t.reduce(x, -1e30, 1, lambda t, a, b: t.binary("maximum", a, b)), "new_max")
        e = t.unary("exp", t.binary("sub", x, new))
        e = t.select(t.broadcast(vn, ["BM", "BN"], [1]), e, t.const(0.0, "f32"))
        scaled = t.binary("mul", s, t.unary("exp", t.binary("sub", mx, new)))
        finish(new, t.binary("add", scaled, t.reduce(e, 0.0, 1, lambda t, a, b: t.binary("add", a, b)), "total"))
    mx, s = finish.results
    t.at(14)
    with t.loop(t.const(0), N, t.param("BN")) as (n0, _, finish2):
        n, vn, x = chunk(n0)
        t.store(t.binary("div", t.unary("exp", t.binary("sub", x, mx)), s), "y", [(m, [0]), (n, [1])], [(vm, [0]), (vn, [1])])
    x = rng.standard_normal((5, 45)).astype(np.float32) * 3
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    return t, [x, np.zeros_like(x)], {1: e / e.sum(1, keepdims=True)}, 1e-5


def case_fill_only(rng):
    """Constants of every kind, stored with no operand."""
    t, n, v = _flat("constants", [("a", "f16", ["N"], "out"), ("b", "i64", ["N"], "out"), ("c", "i8", ["N"], "out")])
    t.store(t.broadcast(t.const(0.1, "f16"), ["BN"]), "a", [(n, [0])], [(v, [0])])
    t.store(t.broadcast(t.const(-(2**62), "i64"), ["BN"]), "b", [(n, [0])], [(v, [0])])
    t.store(t.broadcast(t.const(-128, "i8"), ["BN"]), "c", [(n, [0])], [(v, [0])])
    return t, [np.zeros(40, np.float16), np.zeros(40, np.int64), np.zeros(40, np.int8)], {0: np.full(40, 0.1, np.float16), 1: np.full(40, -(2**62)), 2: np.full(40, -128)}, 0


CASES = {name[5:]: value for name, value in list(globals().items()) if name.startswith("case_")}
