"""Stores, scatters and atomics: masked writes, collisions, tickets; random bits."""
import numpy as np
import pytest

import intent
import intent.language as I
from support import build


@intent.fn
def plus(a, b):
    return a + b


@intent.fn
def larger(a, b):
    return I.maximum(a, b)


@intent.kernel
def scatter_add(x: I.In[I.i32, ("N",)], at: I.In[I.i32, ("N",)], y: I.InOut[I.i32, ("S",)], z: I.InOut[I.i32, ("S",)]):
    I.scatter_reduce(y, index=(at[:],), value=x[:], combine=plus)
    I.scatter_reduce(z, index=(at[:],), value=x[:], combine=larger)


@pytest.mark.parametrize("n", [0, 1, 500])
def test_scatter_reduce(rng, n):
    x, at = rng.integers(-50, 50, n).astype(np.int32), rng.integers(0, 7, n).astype(np.int32)
    y, z = np.full(7, 3, np.int32), np.full(7, -60, np.int32)
    want_y, want_z = y.copy(), z.copy()
    np.add.at(want_y, at, x)
    np.maximum.at(want_z, at, x)
    build(scatter_add)(x, at, y, z)
    np.testing.assert_array_equal(y, want_y)
    np.testing.assert_array_equal(z, want_z)


@intent.kernel
def permute(x: I.In[I.f32, ("N",)], at: I.In[I.i64, ("N",)], y: I.InOut[I.f32, ("N",)]):
    I.scatter_unique(y, index=(at[:],), value=x[:])


def test_scatter_unique(rng):
    x, at = rng.standard_normal(101).astype(np.float32), rng.permutation(101)
    y = np.zeros(101, np.float32)
    build(permute)(x, at, y)
    want = np.zeros(101, np.float32)
    want[at] = x
    np.testing.assert_array_equal(y, want)


@intent.kernel
def tickets(n: I.In[I.i32, ("N",)], count: I.InOut[I.i32, (2,)], old: I.Out[I.i32, ("N",)]):
    for i in I.parallel(I.domain(0, n.shape[0])):
        old[i] = I.atomic.add(count, 0, 1)
        I.atomic.max(count, 1, n[i])


def test_atomics_give_each_ticket_once(rng):
    n = rng.integers(0, 1000, 300).astype(np.int32)
    count, old = np.array([5, -1], np.int32), np.empty(300, np.int32)
    build(tickets)(n, count, old)
    np.testing.assert_array_equal(count, [305, n.max()])
    np.testing.assert_array_equal(np.sort(old), np.arange(5, 305))


@intent.kernel
def swap(flag: I.InOut[I.i32, ("N",)], old: I.Out[I.i32, ("N",)], won: I.Out[I.bool, ("N",)]):
    for i in I.parallel(I.domain(0, flag.shape[0])):
        r = I.atomic.compare_exchange(flag, i, 1, 9, order="acq_rel")
        old[i] = r.old_value
        won[i] = r.success


def test_compare_exchange():
    flag = np.array([0, 1, 2, 1], np.int32)
    old, won = build(swap).run(flag)
    np.testing.assert_array_equal(flag, [0, 9, 2, 9])
    np.testing.assert_array_equal(old, [0, 1, 2, 1])
    np.testing.assert_array_equal(won, [False, True, False, True])


@intent.kernel
def rng_bits(y: I.Out[I.u32, ("N",)], u: I.Out[I.f32, ("N",)], seed: I.u64, base: I.u64):
    N, = y.shape
    at = I.cast(I.indices(I.domain(0, N)), I.u64) + base
    y[:] = I.random.bits(seed, at)
    u[:] = I.random.uniform(seed, at)


def philox(seed, counter):
    """The word of Philox4x32-10 for one counter."""
    block, m = counter // 4, 0xFFFFFFFF
    c = [block & m, block >> 32, 0, 0]
    k0, k1 = seed & m, seed >> 32
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(q >> 32) ^ c[1] ^ k0, q & m, (p >> 32) ^ c[3] ^ k1, p & m]
        k0, k1 = (k0 + 0x9E3779B9) & m, (k1 + 0xBB67AE85) & m
    return c[counter % 4]


def test_philox():
    # The published test vector: key and counter zero.
    assert [philox(0, i) for i in range(4)] == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    for seed, base in [(0, 0), (0xDEADBEEF12345678, 2**40 + 3)]:
        y, u = build(rng_bits).run(seed, base, shapes={"N": 37})
        want = [philox(seed, base + i) for i in range(37)]
        np.testing.assert_array_equal(y, np.array(want, np.uint32))
        np.testing.assert_array_equal(u, np.array([(w >> 8) * 2.0**-24 for w in want], np.float32))


@intent.kernel
def in_place(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M", "N")]):
    v = x[:, :]
    y[:, :] = v - I.reduce.max(v, axis=1, keepdims=True)


def test_identical_in_and_out(rng):
    x = rng.standard_normal((9, 130)).astype(np.float32)
    want = x - x.max(1, keepdims=True)
    build(in_place)(x, x)
    np.testing.assert_array_equal(x, want)


@intent.kernel
def replaced(i: I.In[I.i32, ("T", "N")], x: I.In[I.f32, ("T", "N")], y: I.InOut[I.f32, ("K",)]):
    for t in range(i.shape[0]):
        I.scatter_unique(y, index=(i[t, :],), value=x[t, :])


@intent.kernel
def neighbours(a: I.InOut[I.f32, ("T1", "N1")]):
    for t in range(a.shape[0] - 1):
        for p in I.parallel(I.domain(0, a.shape[1] - 1)):
            a[t + 1, p] = a[t, p + 1] * 0.5


@intent.kernel
def read_before(x: I.In[I.f32, ("N",)], y: I.InOut[I.f32, ("N",)]):
    v = y[0]
    for p in I.parallel(I.domain(0, x.shape[0])):
        y[p] = v + x[p]


def test_passes_meet_in_elements_of_other_iterations():
    """Distinct elements and iterations without conflicts are promised for one pass of the loop around them."""
    rng, n = np.random.default_rng(5), 30000
    at, x, y = np.stack([rng.permutation(n) for _ in range(5)]).astype(np.int32), rng.standard_normal((5, n)).astype(np.float32), np.zeros(n, np.float32)
    intent.compile(replaced)(at, x, y)
    assert np.array_equal(y[at[-1]], x[-1])
    a = rng.standard_normal((6, n)).astype(np.float32)
    wanted = a.copy()
    for t in range(5):
        wanted[t + 1, :-1] = wanted[t, 1:] * np.float32(0.5)
    intent.compile(neighbours)(a)
    assert np.array_equal(a, wanted)


def test_an_element_read_before_all_iterations():
    x, y = np.arange(30000, dtype=np.float32), np.full(30000, 7, np.float32)
    intent.compile(read_before)(x, y)
    assert np.array_equal(y, x + 7)
