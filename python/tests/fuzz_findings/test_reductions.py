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
