"""Contractions of every pair of dtypes: what a target has no native form for is products and sums there.

Values are exact, from NumPy; bench/check_algorithms.py runs the same cases on a GPU.
"""
import numpy as np
import pytest

import intent
import intent.language as I
from intent import native

pytestmark = pytest.mark.skipif(native.find_library("libintent-host.so") is None, reason="the libraries are not built")


def product(operand, accumulator):
    T, A = getattr(I, operand), getattr(I, accumulator)

    @intent.kernel
    def product(a: I.In[T, ("M", "K")], b: I.In[T, ("K", "N")], c: I.Out[A, ("M", "N")]):
        c[:, :] = I.matmul(a[:, :], b[:, :], acc_dtype=A)

    return product


@intent.kernel
def batched(a: I.In[I.i32, ("B", "M", "K")], b: I.In[I.i32, ("B", "N", "K")], c: I.Out[I.i32, ("B", "M", "N")]):
    c[:, :, :] = I.contract(a[:, :, :], b[:, :, :], reduce=((2, 2),), batch=((0, 0),), acc_dtype=I.i32) + 1


@intent.kernel
def chained(a: I.In[I.i32, ("M", "K")], b: I.In[I.i32, ("K", "N")], c: I.Out[I.i32, ("M", "M")], s: I.Out[I.i32, ("M",)]):
    p = I.matmul(a[:, :], b[:, :], acc_dtype=I.i32)
    c[:, :] = I.matmul(p, p, transpose_rhs=True, acc_dtype=I.i32)
    s[:] = I.reduce.max(p, axis=1)


@intent.fn
def row_sums(b, a):
    return I.reduce.sum(I.matmul(a, b, acc_dtype=I.i32), axis=1)


@intent.fn
def plus(a, b):
    return a + b


@intent.kernel
def of_slices(a: I.In[I.i32, ("M", "K")], b: I.In[I.i32, ("K", "N")], c: I.Out[I.i32, ("M",)]):
    c[:] = I.region_fold(source=(b[:, :],), axis=1, summarize=row_sums, combine=plus, identity=I.zeros((a.shape[0],), I.i32), operands=(a[:, :],))


@intent.kernel
def inner_of_sixteen(a: I.In[I.i8, ("M", 16)], b: I.In[I.i8, (16, "N")], y: I.Out[I.i32, ("M", "N")]):
    """A matrix unit takes no fewer than 32 bytes."""
    y[:, :] = I.matmul(a[:, :], b[:, :], acc_dtype=I.i32)


def cases():
    rng = np.random.default_rng(7)
    for operand, accumulator in (("i8", "i32"), ("i8", "i64"), ("u8", "i32"), ("u8", "u32"), ("i16", "i32"), ("i32", "i32"), ("u32", "u64"), ("i64", "i64"), ("u64", "u64"),
                                 ("f32", "f64"), ("f64", "f64"), ("f16", "f64")):
        kernel = product(operand, accumulator)
        for m, k, n in ((1, 1, 1), (37, 70, 19), (5, 0, 3)):
            dtype, wide = np.dtype(name(operand)), np.dtype(name(accumulator))
            if dtype.kind == "f":
                a, b = (rng.integers(-8, 9, shape).astype(dtype) / 4 for shape in ((m, k), (k, n)))
            else:  # sums wrap
                a, b = (rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True) for shape in ((m, k), (k, n)))
            yield f"{operand}-{accumulator}-{k}", kernel, [a, b], [np.zeros((m, n), wide)], [a.astype(wide) @ b.astype(wide)]
    a, b = rng.integers(-9, 9, (3, 21, 33)).astype(np.int32), rng.integers(-9, 9, (3, 17, 33)).astype(np.int32)
    yield "batched", batched, [a, b], [np.zeros((3, 21, 17), np.int32)], [np.einsum("bmk,bnk->bmn", a, b) + 1]
    a, b = rng.integers(-9, 9, (21, 33)).astype(np.int32), rng.integers(-9, 9, (33, 40)).astype(np.int32)
    yield "chained", chained, [a, b], [np.zeros((21, 21), np.int32), np.zeros(21, np.int32)], [a @ b @ (a @ b).T, (a @ b).max(1)]
    a, b = rng.integers(-9, 9, (21, 16)).astype(np.int8), rng.integers(-9, 9, (16, 40)).astype(np.int8)
    yield "i8-i32-inner", inner_of_sixteen, [a, b], [np.zeros((21, 40), np.int32)], [a.astype(np.int32) @ b]
    a, b = rng.integers(-9, 9, (21, 33)).astype(np.int32), rng.integers(-9, 9, (33, 40)).astype(np.int32)
    yield "of_slices", of_slices, [a, b], [np.zeros(21, np.int32)], [(a @ b).sum(1)]


def name(dtype):
    return dtype.replace("f", "float").replace("u", "uint") if dtype[0] in "fu" else dtype.replace("i", "int")


CASES = list(cases())
IDS = [case[0] for case in CASES]


@pytest.mark.parametrize("target", ["host", "host{warp_size=32, contractions=[]}"])
@pytest.mark.parametrize("what, kernel, arguments, outputs, wanted", CASES, ids=IDS)
def test_values(what, kernel, arguments, outputs, wanted, target):
    results = [o.copy() for o in outputs]
    intent.compile(kernel, target)(*arguments, *results)
    for actual, expected in zip(results, wanted):
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("what, kernel, arguments, outputs, wanted", [c for c in CASES if not c[0].endswith(("-0", "-1"))], ids=[i for i in IDS if not i.endswith(("-0", "-1"))])
def test_triton_compiles(what, kernel, arguments, outputs, wanted, tmp_path):
    pytest.importorskip("triton")
    from intent.providers.triton import compile_offline

    path = tmp_path / "printed.py"
    path.write_text(source := intent.generate(kernel, "triton:sm_90").source)
    assert ("tl.dot" in source) == (what.split("-")[:2] in (["i8", "i32"], ["f64", "f64"]))
    assert compile_offline(path, "sm_90", [a.shape for a in [*arguments, *outputs]], 0).asm["ptx"]


def test_what_an_architecture_lacks():
    """gfx942 has no matrix unit for f64 that Triton uses, sm_80 none for f8."""
    assert "tl.dot" not in intent.generate(product("f64", "f64"), "triton:gfx942").source
    assert "tl.dot" in intent.generate(product("f16", "f32"), "triton:gfx942").source
    assert "tl.dot" not in intent.generate(product("f8e5m2", "f32"), "triton:sm_80").source
