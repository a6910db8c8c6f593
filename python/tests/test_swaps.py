"""Updates in place that swap elements: reversals, square transposes, halves. An instance owns whole pairs.

`bench/check_algorithms.py` runs the same cases on a GPU.
"""
import numpy as np
import pytest

import intent
import intent.language as I
from intent import native

pytestmark = pytest.mark.skipif(native.find_library("libintent-host.so") is None, reason="the libraries are not built")

GPU = "host{serial_elements=1, warp_size=32}"  # nothing may be left to one instance


@intent.kernel
def reverse(x: I.InOut[I.f32, ("N",)]):
    N, = x.shape
    x[:] = x[N - 1 - I.indices(I.domain(N))]


@intent.kernel
def reverse_and_scale(z: I.In[I.f32, ("N",)], x: I.InOut[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]):
    N, = x.shape
    x[:] = x[N - 1 - I.indices(I.domain(N))] * z[:]
    y[:] = z[:] + z[:]  # shares what it reads with the update


@intent.kernel
def reverse_behind_the_first(x: I.InOut[I.f32, ("N",)]):
    N, = x.shape
    d = I.domain(1, N)
    x[d] = x[N - I.indices(d)]


@intent.kernel
def reverse_rows(flag: I.i32, x: I.InOut[I.f32, ("M", "N")]):
    N = x.shape[1]
    if flag > 0:
        x[:, :] = x[:, N - 1 - I.indices(I.domain(N))]


@intent.kernel
def transpose(x: I.InOut[I.f32, ("N", "N")]):
    x[:, :] = I.transpose(x[:, :])


@intent.kernel
def transpose_and_add(b: I.In[I.f32, ("N",)], x: I.InOut[I.f32, ("B", "N", "N")]):
    x[:, :, :] = I.transpose(x[:, :, :], (0, 2, 1)) + b[None, :, None]


@intent.kernel
def transpose_along_the_other_diagonal(x: I.InOut[I.f32, ("N", "N")]):
    N = x.shape[0]
    i = N - 1 - I.indices(I.domain(N))
    x[:, :] = x[i[None, :], i[:, None]]


@intent.kernel
def turn(x: I.InOut[I.f32, ("M", "N")]):
    M, N = x.shape
    i, j = M - 1 - I.indices(I.domain(M)), N - 1 - I.indices(I.domain(N))
    x[:, :] = x[i[:, None], j[None, :]]


@intent.kernel
def symmetric(x: I.InOut[I.f32, ("N", "N")]):
    x[:, :] = 0.5 * (x[:, :] + I.transpose(x[:, :]))


@intent.kernel
def swap_halves(x: I.InOut[I.f32, ("2*H",)], y: I.Out[I.f32, ("H",)]):
    H, = y.shape
    low, high = I.domain(H), I.domain(H, 2 * H)
    a, b = x[low], x[high]
    x[low] = b
    x[high] = a
    y[:] = a


@intent.kernel
def rotate_pairs(a: I.In[I.f32, ("N",)], x: I.InOut[I.f32, ("T", "D")]):
    T, D = x.shape
    even, odd = I.domain(0, D // 2 * 2, 2), I.domain(1, D // 2 * 2, 2)
    for t in I.parallel(I.domain(T)):
        c, s = a[t % a.shape[0]], a[(t + 1) % a.shape[0]]
        u, v = x[t, even], x[t, odd]
        x[t, even] = u * c - v * s
        x[t, odd] = u * s + v * c


@intent.kernel
def rotate_halves(a: I.In[I.f32, ("N",)], x: I.InOut[I.f32, ("T", "D")]):
    T, D = x.shape
    low, high = I.domain(D // 2), I.domain(D // 2, D // 2 * 2)
    for t in I.parallel(I.domain(T)):
        c, s = a[t % a.shape[0]], a[(t + 1) % a.shape[0]]
        u, v = x[t, low], x[t, high]
        x[t, low] = u * c - v * s
        x[t, high] = u * s + v * c


# -- cases: (kernel, arguments, outputs before the call, values) -----------------------------------------------------------------------------

rng = np.random.default_rng(9)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def all_cases():
    for n in (0, 1, 2, 3, 33, 64, 257, 1000):
        x, z, flat, rows, deep = normal(n, n), normal(n), normal(n), normal(6, n), normal(3, n, n)
        yield reverse, [], [flat], [flat[::-1]]
        yield reverse_and_scale, [z], [flat, np.full(n, np.nan, np.float32)], [flat[::-1] * z, z + z]
        yield reverse_behind_the_first, [], [flat], [np.concatenate([flat[:1], flat[:0:-1]])]
        yield reverse_rows, [1], [rows], [rows[:, ::-1]]
        yield reverse_rows, [0], [rows], [rows]
        yield turn, [], [rows], [rows[::-1, ::-1]]
        yield turn, [], [x], [x[::-1, ::-1]]
        yield transpose, [], [x], [x.T]
        yield transpose_along_the_other_diagonal, [], [x], [x[::-1, ::-1].T]
        yield symmetric, [], [x], [np.float32(0.5) * (x + x.T)]
        if n < 1000:
            yield transpose_and_add, [z], [deep], [deep.transpose(0, 2, 1) + z[:, None]]
        yield swap_halves, [], [np.concatenate([flat, z]), np.full(n, np.nan, np.float32)], [np.concatenate([z, flat]), flat]


CASES = list(all_cases())
NAMES = [f"{kernel.function.__name__}-{i}" for i, (kernel, *_) in enumerate(CASES)]


@pytest.mark.parametrize("kernel, arguments, outputs, values", CASES, ids=NAMES)
def test_values(kernel, arguments, outputs, values):
    for target in (GPU, "host"):
        results = [o.copy() for o in outputs]
        intent.compile(kernel, target)(*arguments, *results)
        for actual, wanted in zip(results, values, strict=True):
            np.testing.assert_array_equal(actual, wanted)


SMALL = [i for i, (_, _, outputs, _) in enumerate(CASES) if outputs[0].size <= 33 * 33 * 3]


@pytest.mark.parametrize("kernel, arguments, outputs, values", [CASES[i] for i in SMALL], ids=[NAMES[i] for i in SMALL])
def test_instances_in_any_order(kernel, arguments, outputs, values):
    """Checked runs shuffle instances and the lanes between fences, and report what two of them both touch."""
    for _ in range(3):
        results = [o.copy() for o in outputs]
        intent.compile(kernel, GPU, options=intent.CompileOptions(check=True))(*arguments, *results)
        for actual, wanted in zip(results, values, strict=True):
            np.testing.assert_array_equal(actual, wanted)


@pytest.mark.parametrize("cover", ["N=loop,lanes", "N=lanes", "N=program,lanes"])
@pytest.mark.parametrize("kernel", [reverse, reverse_and_scale])
def test_covers(kernel, cover):
    """A walk over the axis finds each pair as it was."""
    for case, arguments, outputs, values in CASES:
        if case is not kernel:
            continue
        results = [o.copy() for o in outputs]
        intent.compile(kernel, "host", options=intent.CompileOptions(cover=cover))(*arguments, *results)
        for actual, wanted in zip(results, values, strict=True):
            np.testing.assert_array_equal(actual, wanted)


def test_source():
    """Both of a pair are loaded, then both are stored, with a barrier between; the other position of the pair leaves them alone."""
    source = intent.compile(transpose, "triton:sm_90").source
    places = [source.index(part) for part in ("tl.load", "tl.load(x + n[:, None]", "tl.debug_barrier()", "tl.store", "tl.store(\n")]
    assert places == sorted(places) and source.count("(n[:, None] <= n_1[None, :])") == 1 and source.count("tl.debug_barrier()") == 1


@intent.kernel
def roll(x: I.InOut[I.f32, ("N",)]):
    N, = x.shape
    x[:] = x[(I.indices(I.domain(N)) + 1) % N]


@intent.kernel
def reverse_and_look(x: I.InOut[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]):
    N, = x.shape
    x[:] = x[N - 1 - I.indices(I.domain(N))]
    y[:] = x[:]


@intent.kernel
def reverse_and_scan(x: I.InOut[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]):
    N, = x.shape
    x[:] = I.cumsum(x[N - 1 - I.indices(I.domain(N))], axis=0)
    y[:] = 0.0


@intent.kernel
def reverse_beside_a_scan(x: I.InOut[I.f32, ("N",)], y: I.InOut[I.f32, ("N",)]):
    N, = x.shape
    x[:] = x[N - 1 - I.indices(I.domain(N))] + I.cumsum(y[:], axis=0)


@pytest.mark.parametrize("kernel, extra", [(roll, 0), (reverse_and_look, 1), (reverse_and_scan, 1), (reverse_beside_a_scan, 1)])
def test_no_pairs(kernel, extra):
    """Other permutations, and updates that more is read around, stay with one instance."""
    x, y = normal(50), normal(50)
    first, second = x.copy(), x.copy()
    intent.interpret(kernel)(*[first, y.copy()][:1 + extra])
    intent.compile(kernel, "host")(*[second, y.copy()][:1 + extra])
    np.testing.assert_allclose(second, first, atol=1e-5)
    with pytest.raises(intent.CallError, match="expected .*N <= 1"):
        intent.compile(kernel, GPU)(*[x, y][:1 + extra])


@pytest.mark.parametrize("kernel, first, second", [(rotate_pairs, np.s_[0::2], np.s_[1::2]), (rotate_halves, np.s_[:35], np.s_[35:70])], ids=["pairs", "halves"])
def test_parts_that_never_meet(kernel, first, second):
    """Rotary embeddings: both parts are read and written in one pass, shared out, with nothing kept."""
    a, x = normal(3), normal(50, 71)
    wanted = x.copy()
    c, s = (a[(np.arange(50) + k) % 3, None] for k in range(2))
    first, second = np.arange(70)[first], np.arange(70)[second]
    wanted[:, first], wanted[:, second] = x[:, first] * c - x[:, second] * s, x[:, first] * s + x[:, second] * c
    for target in ("host", GPU):
        result = x.copy()
        intent.compile(kernel, target)(a, result)
        np.testing.assert_allclose(result, wanted, atol=1e-6)
    assert "workspaces" not in intent.generate(kernel, "triton:sm_90").source
