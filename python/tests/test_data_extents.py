"""Lengths that only data gives, in programs that keep what they compute: a view bounds how many elements that can be.

Integers, against the reference (bench/check_algorithms.py does the same on a GPU); what no view bounds is refused with the author's line.
"""
import numpy as np
import pytest

import intent
import intent.language as I
from intent import native
from programs import collection

pytestmark = pytest.mark.skipif(native.find_library("libintent-host.so") is None, reason="the libraries are not built")

KERNELS, case = collection()


@case
def mirrored_in_place(c: I.In[I.i64, (2,)], x: I.In[I.i64, ("N",)], h: I.InOut[I.i64, ("N",)]):
    n = I.cast(c[0], I.index)
    d = I.domain(n)
    h[d] = h[n - 1 - I.indices(d)] + x[d]


@case
def shifted_in_place(c: I.In[I.i64, (2,)], x: I.In[I.i64, ("N",)], h: I.InOut[I.i64, ("N",)]):
    d = I.domain(1, I.cast(c[0], I.index))
    h[d] = h[I.indices(d) - 1]


@case
def scans_at_other_members(c: I.In[I.i64, (2,)], x: I.In[I.i64, ("N",)], h: I.InOut[I.i64, ("N",)]):
    n = I.cast(c[0], I.index)
    d = I.domain(n)
    h[d] = I.cumsum(x[d], axis=0)[n - 1 - I.indices(d)] * 2 + I.cumsum(x[d], axis=0, reverse=True)


@case
def buffer_of_a_length(c: I.In[I.i64, (2,)], x: I.In[I.i64, ("N",)], h: I.InOut[I.i64, ("N",)]):
    n = I.cast(c[0], I.index)
    d = I.domain(n)
    w = I.buffer((n,), I.i64, init=x[d])
    for t in range(3):
        w[:] = w[n - 1 - I.indices(d)] + x[d]
    h[d] = w[:]


@case
def buffer_of_twice_a_length(c: I.In[I.i64, (2,)], x: I.In[I.i64, ("N",)], h: I.InOut[I.i64, ("N",)]):
    n = I.cast(c[1], I.index)
    d, i = I.domain(n), I.indices(I.domain(2 * n))
    w = I.buffer((2 * n,), I.i64)
    w[i] = I.cast(i, I.i64) * 3
    w[2 * I.indices(d)] = x[d]
    h[d] = w[2 * n - 1 - 2 * I.indices(d)] + w[I.indices(d)]


@case
def carried(c: I.In[I.i64, (2,)], x: I.In[I.i64, ("N",)], h: I.InOut[I.i64, ("N",)]):
    n = I.cast(c[0], I.index)
    d = I.domain(n)
    w = x[d]
    for t in range(3):
        w = w[n - 1 - I.indices(d)] + x[d]
    h[d] = w


@case
def rows_of_their_own_lengths(c: I.In[I.i64, (2,)], x: I.In[I.i64, ("N",)], h: I.InOut[I.i64, ("N",)]):
    for r in I.parallel(I.domain(2)):
        n = I.cast(c[r], I.index) // 2
        d = I.domain(n)
        s = I.cumsum(x[d], axis=0)
        old = h[I.indices(d) * 2 + r]
        for u in range(n):
            h[u * 2 + r] = old[n - 1 - u] + s[n - 1 - u] + I.reduce.sum(old, axis=0)


@case
def pages(c: I.In[I.i64, (2,)], x: I.In[I.i64, ("N",)], h: I.InOut[I.i64, ("N",)]):
    """The table of pages is what bounds the length."""
    N, = x.shape
    n = I.cast(c[0], I.index)
    i = I.indices(I.domain(n))
    s = I.cumsum(I.gather(x, index=((I.cast(x[i // 4], I.index) * 4 + i % 4) % N,)), axis=0)
    h[0] = I.reduce.sum(s[n - 1 - i] * I.cast(i, I.i64), axis=0)


@case
def under_a_condition(c: I.In[I.i64, (2,)], x: I.In[I.i64, ("N",)], h: I.InOut[I.i64, ("N",)]):
    n = I.cast(c[0], I.index)
    d = I.domain(n)
    if n > 2:
        s = I.cumsum(x[d], axis=0)
        h[d] = s[n - 1 - I.indices(d)]


@case
def in_loops(c: I.In[I.i64, (2,)], x: I.In[I.i64, ("N",)], h: I.InOut[I.i64, ("N",)]):
    n = I.cast(c[0], I.index)
    while n > 0:
        d = I.domain(n)
        h[d] = I.cumsum(x[d] ^ h[d], axis=0)[n - 1 - I.indices(d)]
        n = n // 2
    for t in range(2):
        n = I.cast(c[t], I.index)
        d = I.domain(n)
        h[d] = I.cumsum(x[d] + h[d], axis=0)[n - 1 - I.indices(d)]


@case
def results_of_atomics(c: I.In[I.i64, (2,)], x: I.In[I.i64, ("N",)], h: I.InOut[I.i64, ("N",)]):
    old = I.atomic.add(h, (I.indices(I.domain(I.cast(c[0], I.index))),), 1)
    h[0] = I.reduce.sum(old, axis=0)


@case
def buffers_of_parallel_points(c: I.In[I.i64, (2,)], x: I.In[I.i64, ("N",)], h: I.InOut[I.i64, ("N",)]):
    for r in I.parallel(I.domain(I.cast(c[0], I.index))):
        w = I.buffer((4,), I.i64, init=0)
        for t in range(9):
            w[t % 4] += x[r] + I.cast(t, I.i64)
        h[r] = w[0] * 3 + w[3]


@case
def part_of_a_tensor(c: I.In[I.i64, (2,)], x: I.In[I.i64, ("N",)], h: I.InOut[I.i64, ("N",)]):
    t = I.cumsum(x[:], axis=0, reverse=True) ^ 3
    s = I.cumsum(t[I.domain(I.cast(c[0], I.index))], axis=0)
    h[0] = I.reduce.sum(s * I.cumsum(s, axis=0, reverse=True), axis=0)


def arguments(n, length=None):
    rng, length = np.random.default_rng(n), n - n // 4 if length is None else length
    return [np.array([length, length // 2]), rng.integers(0, 9, n), rng.integers(0, 9, n)]


@pytest.mark.parametrize("target", ["host", "host{serial_elements=8192, warp_size=32}"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_agrees_with_the_reference(kernel, target):
    for n, length in ((1, 1), (5, 3), (70, 70), (70, 0), (701, 533)):
        wanted = arguments(n, length)
        intent.interpret(kernel)(*wanted)
        for check in (False, True):
            actual = arguments(n, length)
            intent.compile(kernel, target, options=intent.CompileOptions(check=check))(*actual)
            np.testing.assert_array_equal(actual[2], wanted[2])


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_triton_text(kernel):
    assert "@triton.jit" in intent.generate(kernel, "triton:sm_90").source


@pytest.mark.parametrize("kernel", [mirrored_in_place, scans_at_other_members, buffer_of_a_length, carried],
                         ids=lambda kernel: kernel.function.__name__)
def test_a_length_beyond_the_view(kernel):
    """An author's error, which touches no memory of others."""
    memory = np.arange(12)
    given = np.array([6, 3]), np.arange(4), memory[4:8]
    with pytest.raises(intent.LanguageError, match="access outside"):
        intent.compile(kernel, options=intent.CompileOptions(check=True))(*given)
    intent.compile(kernel)(*given)
    np.testing.assert_array_equal(memory[[0, 1, 2, 3, 8, 9, 10, 11]], [0, 1, 2, 3, 8, 9, 10, 11])


@intent.kernel
def wraps_around(c: I.In[I.i64, (2,)], x: I.In[I.i64, ("N",)], h: I.InOut[I.i64, ("N",)]):
    N, = x.shape
    n = I.cast(c[0], I.index)
    if n <= N:
        h[I.domain(n)] = 1  # bounds it here alone
    s = I.cumsum(x[I.indices(I.domain(n)) % N], axis=0)
    h[0] = s[n - 1 - I.cast(x[0], I.index)] + s[n - 2]


@intent.kernel
def carries_places(c: I.In[I.i64, (2,)], x: I.In[I.i64, ("N",)], h: I.InOut[I.i64, ("N",)]):
    n = I.cast(c[0], I.index)
    w = I.cast(I.indices(I.domain(n)), I.i64)
    for t in range(3):
        w = w[n - 1 - I.indices(I.domain(n))] + 2 * w
    h[0] = I.reduce.sum(w, axis=0)


@pytest.mark.parametrize("kernel, line", [(wraps_around, "s = I.cumsum"), (carries_places, "for t in range(3)")], ids=["kept", "carried"])
def test_what_nothing_bounds(kernel, line):
    with pytest.raises(intent.TargetError, match="neither the launch nor an access of a view bounds") as caught:
        intent.compile(kernel)
    assert line in str(caught.value)
