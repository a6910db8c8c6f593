"""Work that instances share: rows of different lengths in one instance, tiles of ragged groups, reductions handed over.

Values are compared with NumPy in float64. The host runs the forms of GPU targets where it is told to have their features.
`bench/check_algorithms.py` runs the same cases on a GPU.
"""
import numpy as np
import pytest

import intent
import intent.language as I
from intent import native

pytestmark = pytest.mark.skipif(native.find_library("libintent-host.so") is None, reason="the libraries are not built")

LANES = "host{warp_size=32}"       # rows of different lengths share an instance, ragged groups are walked in tiles
SHARED = "host{serial_elements=8}"  # instances share a reduction out


# -- rows of different lengths ----------------------------------------------------------------------------------------------------------------

@intent.kernel
def spmv(val: I.In[I.f32, ("E",)], col: I.In[I.i32, ("E",)], off: I.In[I.i32, ("R1",)], x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("R",)]):
    R, = y.shape
    groups = I.ragged(I.domain(R), I.domain(val.shape[0]), off)
    for r in I.parallel(I.domain(R)):
        e = groups[r]
        y[r] = I.reduce.sum(val[e] * x[col[e]], axis=0)


@intent.kernel
def triangle(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)], z: I.Out[I.f32, ("N",)]):
    N, = x.shape
    for i in I.parallel(I.domain(N)):
        y[i] = I.reduce.sum(x[I.domain(i)], axis=0)  # what it reads does not vary over the rows, only how much
        s = I.cast(0.0, I.f32)
        for j in I.domain(i, N, 2):
            s = s * 0.5 + x[j]
        z[i] = s


@intent.kernel
def tickets(off: I.In[I.i32, ("R1",)], x: I.In[I.f32, ("E",)], y: I.Out[I.f32, ("R",)], count: I.InOut[I.i32, (4,)]):
    R, = y.shape
    for i in I.parallel(I.domain(R)):
        s = I.cast(0.0, I.f32)
        for j in range(off[i], off[i + 1]):
            if x[j] < 0.0:
                continue
            if s > 100.0:
                break
            s = s + x[j]
            I.atomic.add(count, j % 4, 1)
        y[i] = s


@intent.fn
def summary(v):
    top = I.reduce.max(v, axis=0)
    return top, I.reduce.sum(I.exp(v - top), axis=0)


@intent.fn
def join(a, b):
    top = I.maximum(a[0], b[0])
    return top, a[1] * I.exp(a[0] - top) + b[1] * I.exp(b[0] - top)


@intent.kernel
def scans(off: I.In[I.i32, ("R1",)], x: I.In[I.f32, ("E",)], y: I.Out[I.f32, ("R",)], s: I.Out[I.f32, ("E",)], t: I.Out[I.f32, ("E",)]):
    R, = y.shape
    r = I.ragged(I.domain(R), I.domain(x.shape[0]), off)
    for i in I.parallel(I.domain(R)):
        v = x[r[i]]
        top, mass = I.region_fold(source=(v,), axis=0, summarize=summary, combine=join, identity=(-3e38, 0.0))
        y[i] = top + I.log(mass)
        s[r[i]] = I.cumsum(v, axis=0)
        t[r[i]] = I.cumsum(v, axis=0, inclusive=False, reverse=True)


# -- ragged groups in tiles -------------------------------------------------------------------------------------------------------------------

@intent.kernel
def jagged(x: I.In[I.f32, ("L", "D")], off: I.In[I.i32, ("G1",)], w: I.In[I.f32, ("G", "D")], y: I.Out[I.f32, ("L", "D")],
           z: I.Out[I.f32, ("L",)]):
    G, D = w.shape
    r = I.ragged(I.domain(G), I.domain(x.shape[0]), off)
    for g in I.parallel(I.domain(G)):
        v = x[r[g], :] * w[g, :]
        y[r[g], :] = v
        z[r[g]] = I.reduce.sum(v, axis=1)


@intent.kernel
def mapped(x: I.In[I.f32, ("L",)], off: I.In[I.i32, ("G1",)], at: I.In[I.i32, ("L",)], w: I.In[I.f32, ("G",)], y: I.Out[I.f32, ("L",)]):
    G, = w.shape
    r = I.ragged(I.domain(G), I.domain(x.shape[0]), off, at)
    for g in I.parallel(I.domain(G)):
        m = I.members(r[g])
        I.scatter_unique(y, index=m, value=x[m] * w[g])


@intent.kernel
def repeated(x: I.In[I.f32, ("L",)], off: I.In[I.i32, ("G1",)], at: I.In[I.i32, ("E",)], y: I.Out[I.f32, ("L",)]):
    r = I.ragged(I.domain(off.shape[0] - 1), I.domain(at.shape[0]), off, at)
    for g in I.parallel(r.outer):
        y[I.members(r[g])] = x[I.members(r[g])] + 1.0  # a table may name an element twice: its members are not bounded by the view


@intent.kernel
def experts(x: I.In[I.f32, ("L", "K")], off: I.In[I.i32, ("G1",)], w: I.In[I.f32, ("G", "K", "N")], y: I.Out[I.f32, ("L", "N")]):
    G, K, N = w.shape
    r = I.ragged(I.domain(G), I.domain(x.shape[0]), off)
    for g in I.parallel(I.domain(G)):
        y[r[g], :] = I.matmul(x[r[g], :], w[g, :, :], acc_dtype=I.f32)


# -- reductions handed over -------------------------------------------------------------------------------------------------------------------

@intent.kernel
def columns(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("N",)], z: I.Out[I.f32, ("N",)]):
    s = I.reduce.sum(x[:, :], axis=0)
    y[:] = s
    z[:] = I.sqrt(I.reduce.sum(x[:, :] * x[:, :], axis=0)) + s


@intent.kernel
def largest(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M",)], at: I.Out[I.index, ("M",)]):
    y[:], at[:] = I.arg_reduce.max(x[:, :], axis=1)


@intent.kernel
def tall(a: I.In[I.f32, ("K", "M")], b: I.In[I.f32, ("K", "N")], bias: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("M", "N")]):
    y[:, :] = I.tanh(I.matmul(a[:, :], b[:, :], acc_dtype=I.f32, transpose_lhs=True) + bias[:])


@intent.kernel
def gradients(x: I.In[I.f32, ("M", "N")], dy: I.In[I.f32, ("M", "N")], dx: I.Out[I.f32, ("M", "N")], dw: I.Out[I.f32, ("N",)],
              db: I.Out[I.f32, ("N",)]):
    s = I.reduce.sum(x[:, :] * dy[:, :], axis=1)
    dx[:, :] = dy[:, :] - s[:, None]
    dw[:] = I.reduce.sum(dy[:, :] * s[:, None], axis=0)
    db[:] = I.reduce.sum(dy[:, :], axis=0)


@intent.fn
def plus(a, b):
    return a + b


@intent.kernel
def counts(x: I.In[I.i32, ("N",)], h: I.InOut[I.i32, ("B",)]):
    h[:] = 0
    for i in I.parallel(I.domain(x.shape[0])):
        I.atomic.add(h, x[i], 1)


@intent.kernel
def segments(x: I.In[I.f32, ("N", "D")], s: I.In[I.i32, ("N",)], y: I.Out[I.f32, ("S", "D")], m: I.Out[I.f32, ("S",)]):
    N, D = x.shape
    y[:, :] = 1.0
    I.scatter_reduce(y, index=(s[:], I.domain(D)), value=x[:, :], combine=plus)
    m[:] = I.reduce.sum(y[:, :], axis=1)


@intent.kernel
def looked_up(x: I.In[I.f32, ("K", "N")], at: I.InOut[I.i32, (1,)], y: I.Out[I.f32, ()]):
    for i in I.parallel(I.domain(5)):
        I.atomic.add(at, 0, 1)
    y[()] = I.reduce.sum(x[:, I.cast(I.mutable_load(at, index=(0,)), I.index)], axis=0)  # no instance may read it before all have added


# -- cases: (name, target, kernel, arguments, outputs before the call, values) -----------------------------------------------------------------

rng = np.random.default_rng(5)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def wide(array):
    return array.astype(np.float64)


def offsets(lengths):
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)


LENGTHS = [[], [0], [1], [0, 0, 5, 0], [1] * 70, [0, 1, 3, 0, 700, 17, 16, 8, 9, 0, 0, 33, 128, 5, 10000, 2, 1]]


def rows_of(values, off):
    return [values[a:b] for a, b in zip(off, off[1:])]


def cases_of_rows(lengths):
    off, count = offsets(lengths), len(lengths)
    val, x = normal(off[-1]) + np.float32(0.5), normal(77)
    col = rng.integers(0, 77, off[-1]).astype(np.int32)
    out, each = np.full(count, np.nan, np.float32), np.full(off[-1], np.nan, np.float32)
    yield spmv, [val, col, off, x], [out], [np.array([row.sum() for row in rows_of(wide(val) * x[col], off)])]
    sums, seen = np.zeros(count, np.float32), np.zeros(4, np.int32)
    for i, (a, b) in enumerate(zip(off, off[1:])):
        for j in range(a, b):
            if val[j] < 0:
                continue
            if sums[i] > 100:
                break
            sums[i] += val[j]
            seen[j % 4] += 1
    yield tickets, [off, val], [out, np.zeros(4, np.int32)], [sums, seen]
    rows = rows_of(wide(val), off)
    with np.errstate(divide="ignore"):
        folds = np.array([np.log(np.exp(row).sum()) if len(row) else -np.inf for row in rows])
    yield (scans, [off, val], [out, each, each.copy()],
           [folds, np.concatenate([np.cumsum(row) for row in rows] + [[]]), np.concatenate([row.sum() - np.cumsum(row) for row in rows] + [[]])])


def cases_of_groups(lengths):
    off, count = offsets(lengths), len(lengths)
    of, members = np.repeat(np.arange(count), lengths).astype(int), off[-1]
    x, w, deep = normal(members, 37), normal(count, 37), normal(count, 37, 45)
    at = rng.permutation(members).astype(np.int32)
    scaled = wide(x) * w[of]
    yield jagged, [x, off, w], [np.full_like(x, np.nan), np.full(members, np.nan, np.float32)], [scaled, scaled.sum(1)]
    picked = np.empty(members)
    picked[at] = wide(x)[at, 0] * w[of, 0]
    yield mapped, [x[:, 0].copy(), off, at, w[:, 0].copy()], [np.full(members, np.nan, np.float32)], [picked]
    twice, ends = np.repeat(at, 2), offsets(np.array(lengths, int) * 2)
    yield repeated, [x[:, 0].copy(), ends, twice], [np.full(members, np.nan, np.float32)], [wide(x)[:, 0] + 1]
    yield experts, [x, off, deep], [np.full((members, 45), np.nan, np.float32)], [np.einsum("lk,lkn->ln", wide(x), deep[of])]


def cases_of_reductions():
    for m, n in ((1 << 13, 128), (5003, 211), (1 << 20, 1)):
        x = normal(m, n)
        out, total = np.full(n, np.nan, np.float32), wide(x).sum(0)
        yield columns, [x], [out, out.copy()], [total, total + np.sqrt((wide(x) ** 2).sum(0))]
        x = x.T.copy()
        x[0, 7] = np.nan
        yield largest, [x], [out, np.zeros(n, np.int64)], [x.max(1), x.argmax(1)]
    for m, n, k in ((30, 65, 8192), (1, 1, 1 << 20), (100, 128, 4099)):
        a, b, bias = normal(k, m) * np.float32(0.01), normal(k, n), normal(n)
        yield tall, [a, b, bias], [np.full((m, n), np.nan, np.float32)], [np.tanh(wide(a).T @ b + bias)]
    for m, n in ((1000, 33), (1000, 5000), (3, 7), (0, 5)):
        x, dy = normal(m, n), normal(m, n)
        s, out = (wide(x) * dy).sum(1), np.full(n, np.nan, np.float32)
        yield gradients, [x, dy], [np.full_like(x, np.nan), out, out.copy()], [dy - s[:, None], (dy * s[:, None]).sum(0), wide(dy).sum(0)]


    x = normal(1, 9)  # what one instance may walk
    yield looked_up, [x], [np.ones(1, np.int32), np.full((), np.nan, np.float32)], [np.array([6]), wide(x)[:, 6].sum()]
    for n, count in ((0, 3), (1, 1), (1000, 13), (100000, 1000)):
        at, x = rng.integers(0, count, n).astype(np.int32), normal(n, 5)
        yield counts, [at], [np.full(count, -7, np.int32)], [np.bincount(at, minlength=count)]
        sums = np.ones((count, 5))
        np.add.at(sums, at, wide(x))
        yield segments, [x, at], [np.full((count, 5), np.nan, np.float32), np.full(count, np.nan, np.float32)], [sums, sums.sum(1)]


def all_cases():
    for lengths in LENGTHS:
        for case in cases_of_rows(lengths):
            yield LANES, *case
        for case in cases_of_groups(lengths):
            yield LANES, *case
    for n in (0, 1, 7, 300):
        x = normal(n)
        z = np.array([(wide(x[i::2]) * 0.5 ** np.arange(len(x[i::2]))[::-1]).sum() for i in range(n)])
        yield LANES, triangle, [x], [np.full(n, np.nan, np.float32), np.full(n, np.nan, np.float32)], [np.cumsum(wide(x)) - x, z]
    for case in cases_of_reductions():
        yield SHARED, *case


CASES = list(all_cases())
NAMES = [f"{kernel.function.__name__}-{i}" for i, (_, kernel, *_) in enumerate(CASES)]


def agree(outputs, values):
    for actual, wanted in zip(outputs, values, strict=True):
        known = np.isfinite(wanted) | np.isnan(wanted)  # a fold of nothing is its identity, which log makes of no use
        np.testing.assert_allclose(wide(actual)[known], wanted[known], rtol=1e-4, atol=2e-3 * max(1.0, np.abs(wanted[known]).max(initial=0) ** 0.5))


@pytest.mark.parametrize("target, kernel, arguments, outputs, values", CASES, ids=NAMES)
def test_values(target, kernel, arguments, outputs, values):
    """Again and again without clearing what a launch left in its workspace, and in the form that the host would choose."""
    for name in (target, target, "host"):
        results = [o.copy() for o in outputs]
        intent.compile(kernel, name)(*arguments, *results)
        agree(results, values)


def test_forced_lanes():
    """Rows of different lengths are lanes wherever they are asked to be."""
    _, kernel, arguments, outputs, values = next(case for case, name in zip(CASES, NAMES) if case[1] is spmv and case[2][2].size > 10)
    compiled = intent.compile(kernel, "host", options=intent.CompileOptions(cover="R=program,lanes"))
    compiled(*arguments, *outputs)
    agree(outputs, values)


def variants(kernel, target="triton:sm_90"):
    return {v["name"]: v for v in intent.generate(kernel, target).metadata["variants"]}


def test_forms():
    """Which forms a GPU gets, and the extents that choose among them."""
    assert variants(spmv)["tiled"]["grid"] == 'ceil_div("R", BR)'
    ragged = variants(jagged)
    assert ragged["ragged"]["grid"] == 'add(floor_div("L", BX), "G")' and ragged["ragged"]["guard"] == 'le("G", 1024)'
    assert list(variants(repeated)) == ["tiled"]
    split = variants(columns)
    assert list(split) == ["split", "tiled"] and split["tiled"]["guard"] == f'not({split["split"]["guard"]})'
    assert [w["name"] for w in split["split"]["workspace"]] == ["slots", "slots2", "arrived", "slots3", "slots4", "arrived2"]
    assert [w["zeroed"] for w in split["split"]["workspace"]] == [False, False, True, False, False, True]
    assert [v["guard"] for v in variants(columns, "host").values()] == [None]
    assert variants(counts)["tiled"]["guard"] == 'le("B", 1048576)' and variants(counts)["tiled"]["grid"] == "WORKERS_N"


def test_families_ignore_control():
    """Finding a tile's group and the longest row are no reductions or scans of the author's."""
    assert {v["family"] for v in variants(mapped).values()} == {"pointwise"}
    assert variants(spmv)["tiled"]["family"] == "reduction"
