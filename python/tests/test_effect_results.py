"""What atomic accesses and loops with effects return, used by other work than what is done in step with them.

Every element is accessed once, so that the values do not depend on the order; against the reference. bench/check_algorithms.py
runs the same kernels on a GPU.
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
def summed(x: I.In[I.i64, ("N",)], a: I.InOut[I.i64, (3,)], h: I.InOut[I.i64, ("N",)]):
    old = I.atomic.add(h, (I.indices(I.domain(x.shape[0])),), x[:])
    a[0] = I.reduce.sum(old, axis=0)


@case
def scanned(x: I.In[I.i64, ("N",)], a: I.InOut[I.i64, (3,)], h: I.InOut[I.i64, ("N",)]):
    old = I.atomic.add(h, (I.indices(I.domain(x.shape[0])),), x[:])
    a[0] = I.reduce.sum(I.cumsum(old, axis=0) ^ I.cumsum(old, axis=0, reverse=True), axis=0)


@case
def mirrored(x: I.In[I.i64, ("N",)], a: I.InOut[I.i64, (3,)], h: I.InOut[I.i64, ("N",)]):
    N, = x.shape
    old = I.atomic.max(h, (I.indices(I.domain(N)),), x[:])
    h[:] = old[N - 1 - I.indices(I.domain(N))]


@case
def stored_and_read_elsewhere(x: I.In[I.i64, ("N",)], a: I.InOut[I.i64, (3,)], h: I.InOut[I.i64, ("N",)]):
    N, = x.shape
    w = I.buffer((N,), I.i64)
    w[:] = I.atomic.add(h, (I.indices(I.domain(N)),), x[:])
    h[:] = w[N - 1 - I.indices(I.domain(N))] + w[:]


@case
def in_an_ordered_loop(x: I.In[I.i64, ("N",)], a: I.InOut[I.i64, (3,)], h: I.InOut[I.i64, ("N",)]):
    N, = x.shape
    for t in range(3):
        old = I.atomic.max(h, (I.indices(I.domain(N)),), x[:] * I.cast(t, I.i64))
        before = I.atomic.add(a, (t,), I.reduce.sum(old, axis=0))
        h[:] = old[N - 1 - I.indices(I.domain(N))] + before


@case
def under_a_condition(x: I.In[I.i64, ("N",)], a: I.InOut[I.i64, (3,)], h: I.InOut[I.i64, ("N",)]):
    if a[1] > 2:
        old = I.atomic.exchange(h, (I.indices(I.domain(x.shape[0])),), x[:])
        a[0] = I.reduce.max(old, axis=0)
        h[:] = old + old[0]


@case
def of_an_exchange(x: I.In[I.i64, ("N",)], a: I.InOut[I.i64, (3,)], h: I.InOut[I.i64, ("N",)]):
    result = I.atomic.compare_exchange(h, (I.indices(I.domain(x.shape[0])),), x[:], 7)
    a[0] = I.reduce.sum(I.cast(result.success, I.i64), axis=0)
    a[1] = I.reduce.sum(result.old_value, axis=0)


@case
def in_parallel(x: I.In[I.i64, ("N",)], a: I.InOut[I.i64, (3,)], h: I.InOut[I.i64, ("N",)]):
    for i in I.parallel(I.domain(x.shape[0])):
        old = I.atomic.add(a, (I.indices(I.domain(3)),), 0)
        h[i] = I.reduce.sum(old * x[i], axis=0) + old[1]


@case
def of_a_loop_in_nested_points(x: I.In[I.i64, ("N",)], a: I.InOut[I.i64, (3,)], h: I.InOut[I.i64, ("N",)]):
    N, = x.shape
    w = I.buffer((N, 3), I.i64, init=x[:][:, None] * I.full((N, 3), 1, I.i64))
    h[:] = w[:, 1] + 1
    for i in I.parallel(I.domain(N)):
        b = I.buffer((3,), I.i64, init=0)
        c = I.cast(0, I.i64)
        for t in range(3):
            b[t] = h[(i + t) % N]
            c = I.maximum(c, b[t])
        for j in I.parallel(I.domain(3)):
            w[i, j] = c + I.cast(j, I.i64)
    a[:] = I.reduce.sum(w[:, :], axis=0)


# The last instance alone has the result of these: what it needs of others is shared out, what waits for it is not.

@case
def filled_with_one(x: I.In[I.i64, ("N",)], a: I.InOut[I.i64, (3,)], h: I.InOut[I.i64, ("N",)]):
    N, = x.shape
    w = I.buffer((N,), I.i64, init=x[:])
    for i in I.parallel(I.domain(N)):
        h[i] = I.reduce.sum(w[:], axis=0)
    w[:] = I.atomic.xor(h, (0,), 1)
    a[0] = w[N - 1]


@case
def summed_after_one(x: I.In[I.i64, ("N",)], a: I.InOut[I.i64, (3,)], h: I.InOut[I.i64, ("N",)]):
    N, = x.shape
    old = I.atomic.xor(a, (0,), 1)
    for i in I.parallel(I.domain(N)):
        h[i] = I.reduce.sum(x[:] * old, axis=0)


@case
def on_both_sides(x: I.In[I.i64, ("N",)], a: I.InOut[I.i64, (3,)], h: I.InOut[I.i64, ("N",)]):
    old = I.atomic.add(h, (I.indices(I.domain(x.shape[0])),), x[:])
    if a[1] > 7:
        old = old - x[:]
    a[0] = I.reduce.sum(old, axis=0)


@case
def indexed_on_one_side(x: I.In[I.i64, ("N",)], a: I.InOut[I.i64, (3,)], h: I.InOut[I.i64, ("N",)]):
    N, = x.shape
    upper = I.domain(N)[N // 2:N]
    old = I.atomic.add(h, (I.indices(I.domain(N)),), x[:])
    if a[1] > 7:
        old = old - x[:]
    else:
        a[2] = I.reduce.max(old[I.indices(upper)], axis=0)
    a[0] = I.reduce.sum(old, axis=0)


@case
def a_sum_of_sums(x: I.In[I.i64, ("N",)], a: I.InOut[I.i64, (3,)], h: I.InOut[I.i64, ("N",)]):
    before = I.atomic.add(a, (0,), I.reduce.sum(x[:], axis=0))
    h[:] = x[:] + before
    a[1] = I.reduce.sum(x[:] * before, axis=0)


def arguments(n):
    rng = np.random.default_rng(n)
    return [rng.integers(0, 9, n), np.array([4, 5, 6]), rng.integers(0, 9, n)]


@pytest.mark.parametrize("target", ["host", "host{serial_elements=4096, warp_size=32}"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_agrees_with_the_reference(kernel, target):
    for n in (1, 5, 70, 521):
        wanted = arguments(n)
        intent.interpret(kernel)(*wanted)
        for check in (False, True):
            actual = arguments(n)
            intent.compile(kernel, target, options=intent.CompileOptions(check=check))(*actual)
            for one, other in zip(actual, wanted):
                np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_triton_text(kernel):
    assert "@triton.jit" in intent.generate(kernel, "triton:sm_90").source
