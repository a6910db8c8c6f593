"""Programs of reductions that use each other, which random generation found to go wrong; values worked out in NumPy."""
import numpy as np
import pytest

import intent
import intent.language as I


@intent.kernel
def at_each_other(x: I.In[I.index, ("M",)], z: I.In[I.index, ("N",)], a: I.Out[I.index, ("N",)], b: I.Out[I.index, ("N",)], y: I.Out[I.index, ("M",)]):
    N, = z.shape
    a[:] = I.reduce.sum(I.abs(z[:][:, None] - z[:]), axis=1)
    b[:] = I.reduce.sum(I.abs(x[:][:, None] - z[:]), axis=0)
    y[:] = x[:] + b[a[4 % N] % N] + a[b[2 % N] % N] + a[b[a[1 % N] % N] % N]


@pytest.mark.parametrize("m, n", [(3, 5), (1, 1), (70, 300)])
def test_reductions_over_two_axes_at_each_others_results(m, n):
    """Of one axis some are used by reductions of the other, which others use: no two passes compute them all."""
    rng = np.random.default_rng(m)
    x, z = rng.integers(-9, 9, m), rng.integers(-9, 9, n)
    a, b = np.abs(z[:, None] - z).sum(1), np.abs(x[:, None] - z).sum(0)
    want = x + b[a[4 % n] % n] + a[b[2 % n] % n] + a[b[a[1 % n] % n] % n]
    found = intent.compile(at_each_other).run(x, z)
    for actual, expected in zip(found, (a, b, want)):
        np.testing.assert_array_equal(actual, expected)


@intent.kernel
def as_long_as_a_row_says(y: I.InOut[I.f32, ("N", "M")], z: I.InOut[I.f64, ("N", "M")], w: I.Out[I.f32, ("K",)]):
    N, M = y.shape
    for i, j in I.parallel((I.domain(N), I.domain(M))):
        y[i, j] = 1.0
        pairs = I.cast(I.indices(I.domain(2))[:, None] + I.indices(I.domain(j, i)), I.f64)
        z[i, j] = I.reduce.max(I.reduce.sum(pairs, axis=0), axis=0)
    for k in I.parallel(I.domain(w.shape[0])):
        w[k] = I.reduce.sum(y[0, :], axis=0)


def test_a_reduction_waits_for_what_its_extent_varies_over():
    y, z, w = np.zeros((7, 5), np.float32), np.zeros((7, 5)), np.zeros(3, np.float32)
    intent.compile(as_long_as_a_row_says)(y, z, w)
    np.testing.assert_array_equal(z, [[2 * i - 1.0 if i > j else -np.inf for j in range(5)] for i in range(7)])
    np.testing.assert_array_equal(w, [5, 5, 5])


@intent.kernel
def matrices_in_one_instance(x: I.In[I.f64, ("M", "N")], n: I.In[I.i32, (1,)], y: I.Out[I.f64, ("M", "N")], z: I.Out[I.f64, ("M", "N")]):
    M, N = x.shape
    some = I.domain(M)[I.cast(n[0], I.index):M]
    y[:, :] = I.cumsum(x[:, :], axis=0)
    rows = x[:, :][:, None, :] + I.cast(I.indices(I.domain(N))[:, None], I.f64)[None, :, :]
    part = x[some, :][:, None, :] + I.cast(I.indices(I.domain(N))[:, None], I.f64)[None, :, :]
    products = I.contract(rows, part, reduce=((2, 2),), batch=((1, 1),), acc_dtype=I.f64)  # [M, N, some]
    z[:, :] = I.reduce.sum(products, axis=2) + y[M - 1, :]


def test_matrices_are_walked_one_by_one_beside_the_lanes_of_a_contraction():
    x = np.random.default_rng(3).integers(-4, 5, (6, 5)).astype(np.float64)
    rows = x[:, None, :] + np.arange(5)[None, :, None]
    wanted = np.einsum("mbk,gbk->mb", rows, rows[2:]) + x.sum(0)
    for target in ("host", "host{warp_size=32, serial_elements=1000000}"):
        y, z = intent.compile(matrices_in_one_instance, target).run(x, np.array([2], np.int32))
        np.testing.assert_allclose(z, wanted)
    assert "@triton.jit" in intent.generate(matrices_in_one_instance, "triton:sm_90").source
