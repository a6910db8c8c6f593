"""Programs that random generation found the compiler or the host backend to get wrong; each with values worked out in NumPy.

One that is still wrong is marked as a strict expected failure; once it works, the mark goes.
"""
import faulthandler
import multiprocessing
import resource

import numpy as np
import pytest

import intent
import intent.language as I


@intent.fn
def plus(a, b):
    return a + b


@intent.fn
def smaller(a, b):
    return I.minimum(a, b)


@intent.fn
def total_of(a):
    return I.reduce.sum(a, axis=0)


@intent.kernel
def transposed_rows(x: I.In[I.f32, ("N", "M")], y: I.Out[I.f32, ("N", "N")], z: I.InOut[I.f32, ("N", "M")]):
    N, M = x.shape
    for i in I.parallel(I.domain(0, N)):
        y[i, :] = x[:, i]
    for i, j in I.parallel((I.domain(0, N), I.domain(0, M))):
        z[i, j] += x[i, i]


def test_rows_and_a_diagonal():
    x, z = np.arange(16, dtype=np.float32).reshape(4, 4), np.ones((4, 4), np.float32)
    y = intent.compile(transposed_rows).run(x, z)
    np.testing.assert_array_equal(y, x.T)
    np.testing.assert_array_equal(z, 1 + np.repeat(np.diag(x)[:, None], 4, 1))


@intent.kernel
def diagonal_then_columns(x: I.In[I.i32, ("N", "K")], y: I.Out[I.i32, ("N",)], z: I.InOut[I.i32, ("N", "M")]):
    N, M = z.shape
    for i in I.parallel(I.domain(0, N)):
        y[i] = x[i, i]
    for i in I.parallel(I.domain(0, N)):
        z[i, :] -= I.vecmat(x[:, i], I.cast(I.indices(I.domain(0, N))[:, None] + I.indices(I.domain(0, M)), I.i32), acc_dtype=I.i32)


def test_a_diagonal_and_columns():
    x, z = np.arange(1, 13, dtype=np.int32).reshape(3, 4), np.zeros((3, 2), np.int32)
    y = intent.compile(diagonal_then_columns).run(x, z)
    np.testing.assert_array_equal(y, np.diag(x))
    np.testing.assert_array_equal(z, -np.stack([x[:, i] @ (np.arange(3)[:, None] + np.arange(2)) for i in range(3)]))


@intent.kernel
def fold_of_a_reduction(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M", "N")]):
    M, N = x.shape
    for i, j in I.parallel((I.domain(0, M), I.domain(0, N))):
        y[i, j] = I.region_fold(source=(I.reduce(x[:, :], axis=0, identity=100.0, combine=smaller),), axis=0, summarize=total_of, combine=plus, identity=0.0)


def test_a_fold_of_a_reduction():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_array_equal(intent.compile(fold_of_a_reduction).run(x), np.full((3, 4), x.min(0).sum()))


@intent.kernel
def while_below_a_reduction(y: I.Out[I.f64, ("M",)]):
    M, = y.shape
    for i in I.parallel(I.domain(0, M)):
        n = I.cast(0, I.i32)
        c = I.cast(i, I.f64)
        while n < I.reduce.max(I.cast(I.indices(I.domain(0, 2))[:, None], I.i32), axis=(0, 1)):
            c = c + 1.0
            n = n + 1
        y[i] = c


def test_a_while_below_a_reduction():
    np.testing.assert_array_equal(intent.compile(while_below_a_reduction).run(np.empty(3)), [1, 2, 3])


@intent.kernel
def dots_and_fill(x: I.In[I.i32, ("M", "N")], w: I.In[I.i32, ("M", "N", "K")], y: I.Out[I.f64, ("M", "N")], z: I.Out[I.f64, ("N", "M")]):
    M, N = x.shape
    for i, j in I.parallel((I.domain(0, M), I.domain(0, N))):
        y[i, j] = I.dot(I.cast(x[:, j], I.f64), I.cast(w[:, j, j], I.f64), acc_dtype=I.f64)[()]
    for i, j in I.parallel((I.domain(0, N), I.domain(0, M))):
        z[i, j] = I.cast(3.0, I.f64)


def test_dots_and_a_fill():
    x, w = np.arange(6, dtype=np.int32).reshape(2, 3), np.arange(18, dtype=np.int32).reshape(2, 3, 3)
    y, z = intent.compile(dots_and_fill).run(x, w)
    np.testing.assert_array_equal(y, np.tile([x[:, j] @ w[:, j, j] for j in range(3)], (2, 1)))
    np.testing.assert_array_equal(z, np.full((3, 2), 3))


@intent.kernel
def transpose_and_fold(x: I.In[I.f64, ("M", "N")], y: I.Out[I.f64, ("N", "M")], z: I.Out[I.f64, ("M",)]):
    M, N = x.shape
    for i, j in I.parallel((I.domain(0, N), I.domain(0, M))):
        y[i, j] = I.floor(x[j, j])
    for i in I.parallel(I.domain(0, M)):
        z[i] = I.region_fold(source=(x[:, i],), axis=0, summarize=total_of, combine=plus, identity=0.0)


def test_a_diagonal_and_a_fold():
    x = np.arange(12, dtype=np.float64).reshape(3, 4)
    y, z = intent.compile(transpose_and_fold).run(x)
    np.testing.assert_array_equal(y, np.tile(np.diag(x[:, :3]), (4, 1)))
    np.testing.assert_array_equal(z, x[:, :3].sum(0))


@intent.kernel
def scan_and_product(x: I.In[I.i16, ("M", "N")], y: I.Out[I.i16, ("M", "N")]):
    M, N = x.shape
    rows, columns = I.indices(I.domain(0, M)), I.indices(I.domain(0, N))
    product = I.matmul(I.cast(rows[:, None] + columns, I.i64), I.cast(columns[:, None] + columns, I.i64), acc_dtype=I.i64, transpose_rhs=True)
    y[:, :] = I.cummax(x[:, :] & 1, axis=0) & I.cast(product, I.i16)


def test_a_scan_and_a_product():
    x = np.arange(12, dtype=np.int16).reshape(3, 4)
    m, n = np.arange(3), np.arange(4)
    np.testing.assert_array_equal(intent.compile(scan_and_product).run(x), np.maximum.accumulate(x & 1) & ((m[:, None] + n) @ (n[:, None] + n).T))


@intent.kernel
def exclusive_scan_of_a_column(x: I.In[I.u8, ("N", 3)], y: I.Out[I.u8, ("N",)]):
    y[:] = I.scan(x[:, 0], axis=0, identity=100, combine=smaller, inclusive=False)


def apart(kernel, *arguments, **keywords):
    """What `run` returns in a process of its own, which may crash or take 15 seconds of processor time, or the TargetError of a refusal."""
    def work():
        faulthandler.disable()  # its report of a crash would stand among those of the tests
        resource.setrlimit(resource.RLIMIT_CPU, (15, 15))
        try:
            results.put(intent.compile(kernel).run(*arguments, **keywords))
        except intent.TargetError as error:
            results.put(error)

    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    process = context.Process(target=work)
    process.start()
    process.join()
    assert process.exitcode == 0
    return results.get()


def test_an_exclusive_scan_of_bytes_in_a_column():
    found = apart(exclusive_scan_of_a_column, np.arange(9, 36, dtype=np.uint8).reshape(9, 3))
    np.testing.assert_array_equal(found, [100] + [9] * 8)


@intent.kernel
def scan_carried_into_an_inner_loop(x: I.In[I.f64, ("M", "K")], y: I.Out[I.f32, ("N",)], z: I.Out[I.f64, ("N", "N")]):
    M, K = x.shape
    N, = y.shape
    for i in I.parallel(I.domain(0, N)):
        c = I.zeros((M,), I.f64)
        for t in range(3):
            c = I.cumsum(x[:, t % K], axis=0)
        y[i] = I.reduce.sum(I.cast(I.indices(I.domain(0, K)), I.f32), axis=0)
        for j in I.parallel(I.domain(0, N)):
            z[i, j] = I.dot(I.full((4,), 1.0, I.f64), I.matvec(I.full((4, M), 1.0, I.f64), c, acc_dtype=I.f64), acc_dtype=I.f64)[()]


def test_a_scan_carried_into_an_inner_loop():
    x = np.arange(6, dtype=np.float64).reshape(3, 2)
    found = apart(scan_carried_into_an_inner_loop, x, shapes={"N": 2})
    if not isinstance(found, intent.TargetError):
        np.testing.assert_array_equal(found[0], [1, 1])
        np.testing.assert_array_equal(found[1], np.full((2, 2), 4 * np.cumsum(x[:, 0]).sum()))


@intent.kernel
def chained_batches_and_a_scan(y: I.Out[I.bool, ("M", "N", "K")]):
    M, N, K = y.shape
    m, n, k = I.indices(I.domain(0, M)), I.indices(I.domain(0, N)), I.indices(I.domain(0, K))
    ones = I.cast(m[:, None, None] + k[:, None] + m, I.f64)
    others = I.cast(m[:, None, None] + n[:, None] + m, I.f64)
    inner = I.contract(ones, others, reduce=((2, 2),), batch=((0, 0),), acc_dtype=I.f64)
    outer = I.contract(I.cast(m[:, None, None] + n, I.f64) + I.zeros((M, N, N), I.f64), inner, reduce=((2, 2),), batch=((0, 0),), acc_dtype=I.f64)
    y[:, :, :] = outer <= I.scan(I.cast(m[:, None, None], I.f64), axis=0, identity=100.0, combine=smaller, reverse=True)


def test_chained_batches_and_a_scan():
    M, N, K = 2, 3, 4
    m, n, k = np.arange(M), np.arange(N), np.arange(K)
    inner = np.einsum("bkc,bnc->bkn", m[:, None, None] + k[:, None] + m, m[:, None, None] + n[:, None] + m)
    outer = np.einsum("bac,bkc->bak", m[:, None, None] + n + np.zeros((M, N, N)), inner)
    want = outer <= np.minimum.accumulate(m[::-1])[::-1][:, None, None]
    np.testing.assert_array_equal(intent.compile(chained_batches_and_a_scan).run(shapes={"M": M, "N": N, "K": K}), want)


@intent.kernel
def scan_under_a_sum(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M", "N")]):
    lowest = I.reduce.sum(I.scan(x[:, :], axis=1, identity=100.0, combine=smaller, inclusive=True, reverse=True), axis=0)
    y[:, :] = lowest - x[:, :]


@pytest.mark.parametrize("cover", [None, "M=loop,lanes", "M=point", "N=point"])
def test_a_scan_under_a_sum_over_its_other_axis(cover):
    x = np.random.default_rng(0).standard_normal((37, 45)).astype(np.float32)
    lowest = np.minimum.accumulate(x[:, ::-1], axis=1)[:, ::-1].astype(np.float64).sum(0)
    compiled = intent.compile(scan_under_a_sum, options=intent.CompileOptions(cover=cover))
    np.testing.assert_allclose(compiled.run(x), lowest - x, atol=1e-4)
