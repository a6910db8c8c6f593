"""Contractions: shapes, transposes, batches, accumulators, empty reductions, exact integers."""
import numpy as np
import pytest

import intent
import intent.language as I
from support import build, close

F = I.TypeVar("F", I.f16, I.f32, I.bf16)


@intent.kernel
def gemm(a: I.In[F, ("M", "K")], b: I.In[F, ("K", "N")], c: I.Out[I.f32, ("M", "N")]):
    c[:, :] = I.matmul(a[:, :], b[:, :], acc_dtype=I.f32)


@pytest.mark.parametrize("m, n, k", [(1, 1, 1), (0, 3, 2), (3, 0, 2), (3, 2, 0), (5, 7, 11), (64, 64, 64), (65, 63, 129), (1, 257, 31), (130, 1, 200)])
@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_matmul(rng, m, n, k, dtype):
    made = {"f32": np.float32, "f16": np.float16}[dtype]
    a, b = rng.standard_normal((m, k)).astype(made), rng.standard_normal((k, n)).astype(made)
    c = build(gemm, types={"F": dtype}).run(a, b)
    close(c, a.astype(np.float64) @ b.astype(np.float64), absolute=(k + 1) * 2**-24 * 16)


@intent.kernel
def transposed(a: I.In[I.f32, ("K", "M")], b: I.In[I.f32, ("N", "K")], c: I.Out[I.f32, ("M", "N")], bias: I.In[I.f32, ("N",)]):
    acc = I.matmul(a[:, :], b[:, :], acc_dtype=I.f32, transpose_lhs=True, transpose_rhs=True)
    c[:, :] = I.maximum(acc + bias[:], 0.0)


def test_transposed_operands_and_epilogue(rng):
    a, b, bias = (rng.standard_normal(s).astype(np.float32) for s in ((37, 21), (19, 37), (19,)))
    c = np.empty((21, 19), np.float32)
    build(transposed)(a, b, c, bias)
    close(c, np.maximum(a.T.astype(np.float64) @ b.T + bias, 0), absolute=1e-4)


@intent.kernel
def batched(a: I.In[I.f32, ("B", "M", "K")], b: I.In[I.f32, ("B", "K", "N")], c: I.Out[I.f32, ("B", "M", "N")], d: I.Out[I.f32, ("B", "M", "N")]):
    c[:, :, :] = I.matmul(a[:, :, :], b[:, :, :], acc_dtype=I.f32)
    d[:, :, :] = I.contract(a[:, :, :], b[:, :, :], reduce=((2, 1),), batch=((0, 0),), acc_dtype=I.f32)


def test_batches(rng):
    a, b = rng.standard_normal((3, 9, 17)).astype(np.float32), rng.standard_normal((3, 17, 5)).astype(np.float32)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    for got in build(batched).run(a, b):
        close(got, exact, absolute=1e-4)


@intent.kernel
def vectors(m: I.In[I.f32, ("M", "K")], v: I.In[I.f32, ("K",)], w: I.In[I.f32, ("M",)], mv: I.Out[I.f32, ("M",)], vm: I.Out[I.f32, ("K",)], d: I.Out[I.f32, ()], o: I.Out[I.f32, ("M", "K")]):
    mv[:] = I.matvec(m[:, :], v[:], acc_dtype=I.f32)
    vm[:] = I.vecmat(w[:], m[:, :], acc_dtype=I.f32)
    d[()] = I.dot(v[:], v[:], acc_dtype=I.f32)[()]
    o[:, :] = I.outer(w[:], v[:])


@pytest.mark.parametrize("m, k", [(1, 1), (7, 300), (129, 3)])
def test_vectors(rng, m, k):
    a, v, w = (rng.standard_normal(s).astype(np.float32) for s in ((m, k), (k,), (m,)))
    mv, vm, d, o = build(vectors).run(a, v, w)
    wide = a.astype(np.float64)
    close(mv, wide @ v, absolute=1e-4)
    close(vm, w @ wide, absolute=1e-4)
    close(d, np.dot(v.astype(np.float64), v), relative=1e-5)
    np.testing.assert_array_equal(o, np.outer(w, v))


@intent.kernel
def exact(a: I.In[I.i8, ("M", "K")], b: I.In[I.i8, ("K", "N")], c: I.Out[I.i32, ("M", "N")]):
    c[:, :] = I.matmul(a[:, :], b[:, :], acc_dtype=I.i32)


def test_int8_is_exact(rng):
    a, b = rng.integers(-128, 128, (33, 70)).astype(np.int8), rng.integers(-128, 128, (70, 18)).astype(np.int8)
    np.testing.assert_array_equal(build(exact).run(a, b), a.astype(np.int32) @ b.astype(np.int32))


@intent.kernel
def self_product(x: I.In[I.f32, ("M", "K")], d: I.In[I.f32, ("M",)], y: I.Out[I.f32, ("M", "M")]):
    v = x[:, :]
    s = d[:]
    y[:, :] = I.contract(v, v, reduce=((1, 1),), acc_dtype=I.f32) + s[:, None] - s[None, :]


@pytest.mark.parametrize("m", [1, 5, 70])
def test_one_value_on_two_axes(rng, m):
    x, d = rng.standard_normal((m, 13)).astype(np.float32), rng.standard_normal(m).astype(np.float32)
    wide = x.astype(np.float64)
    close(build(self_product).run(x, d), wide @ wide.T + d[:, None].astype(np.float64) - d[None, :], absolute=1e-4)


@intent.kernel
def special(a: I.In[I.f32, ("M", "K")], b: I.In[I.f32, ("K", "N")], c: I.Out[I.f32, ("M", "N")]):
    c[:, :] = I.matmul(I.exp(a[:, :]), 1.0 / b[:, :], acc_dtype=I.f32)


@pytest.mark.parametrize("k", [1, 15, 16, 17, 33])
def test_padding_never_reaches_the_sum(rng, k):
    a, b = rng.standard_normal((5, k)).astype(np.float32), rng.uniform(1, 2, (k, 6)).astype(np.float32)
    close(build(special).run(a, b), np.exp(a.astype(np.float64)) @ (1 / b.astype(np.float64)), relative=1e-5)
