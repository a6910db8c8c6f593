"""Every legal cover of an axis gives the same values; an illegal one is refused by name."""
import re

import numpy as np
import pytest

import intent
import intent.language as I
from intent import native
import sample_cases

pytestmark = pytest.mark.skipif(native.find_library("libintent-host.so") is None, reason="the libraries are not built")


@intent.kernel
def softmax(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M", "N")]):
    v = x[:, :]
    e = I.exp(v - I.reduce.max(v, axis=1, keepdims=True))
    y[:, :] = e / I.reduce.sum(e, axis=1, keepdims=True)


@intent.kernel
def product(a: I.In[I.f32, ("M", "K")], b: I.In[I.f32, ("K", "N")], y: I.Out[I.f32, ("M", "N")]):
    y[:, :] = I.matmul(a[:, :], b[:, :], acc_dtype=I.f32)


@intent.kernel
def in_place(x: I.InOut[I.f32, ("M", "N")]):
    v = x[:, :]
    x[:, :] = v - I.reduce.mean(v, axis=1, keepdims=True)


def run(kernel, cover, *arguments):
    compiled = intent.compile(kernel, options=intent.CompileOptions(cover=cover))
    assert [v["name"] for v in compiled.metadata["variants"]] == ["forced"]
    return compiled.run(*arguments)


@pytest.mark.parametrize("rows", ["program", "program,lanes", "loop,lanes", "point", "lanes"])
@pytest.mark.parametrize("columns", ["loop,lanes", "point", "lanes"])
@pytest.mark.parametrize("shape", [(5, 37), (1, 1), (3, 1025)])
def test_softmax(rows, columns, shape):
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(run(softmax, f"M={rows};N={columns}", x), e / e.sum(1, keepdims=True), rtol=2e-6)


@pytest.mark.parametrize("m", ["program", "program,lanes", "point", "loop,lanes"])
@pytest.mark.parametrize("n", ["program,lanes", "loop,lanes", "lanes"])
@pytest.mark.parametrize("k", ["loop,lanes", "point", "lanes"])
def test_product(m, n, k):
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((19, 33)).astype(np.float32), rng.standard_normal((33, 21)).astype(np.float32)
    np.testing.assert_allclose(run(product, f"M={m};N={n};K={k}", a, b), a.astype(np.float64) @ b, atol=2e-5)


@pytest.mark.parametrize("columns", ["loop,lanes", "point", "lanes"])
def test_in_place(columns):
    x = np.random.default_rng(3).standard_normal((7, 130)).astype(np.float32)
    wanted = x.astype(np.float64) - x.astype(np.float64).mean(1, keepdims=True)
    run(in_place, f"N={columns}", x)
    np.testing.assert_allclose(x, wanted, atol=1e-6)


@pytest.mark.parametrize("cover, message", [
    ("N=program", "no program level"), ("N=lanes,loop", "expected program"), ("Q=point", "no axis has the extent 'Q'")])
def test_illegal(cover, message):
    with pytest.raises(intent.ConfigurationError, match=message):
        intent.compile(softmax, options=intent.CompileOptions(cover=cover))


@intent.kernel
def gradient(x: I.In[I.f32, ("M", "N")], dy: I.In[I.f32, ("M", "N")], dw: I.Out[I.f32, ("N",)]):
    v = x[:, :]
    d = v - I.reduce.mean(v, axis=1, keepdims=True)
    dw[:] = I.reduce.sum(dy[:, :] * d * I.rsqrt(I.reduce.mean(d * d, axis=1) + 1e-5)[:, None], axis=0)


@pytest.mark.parametrize("rows", ["loop,lanes", "point", "lanes"])
@pytest.mark.parametrize("columns", ["loop,lanes", "point", "lanes"])
def test_reduction_inside_a_chunk_of_its_own_axis(rows, columns):
    """A row's statistics need all its columns, also where one chunk of the columns is stored at a time."""
    rng = np.random.default_rng(4)
    x, dy = rng.standard_normal((9, 300)).astype(np.float32), rng.standard_normal((9, 300)).astype(np.float32)
    d = x.astype(np.float64) - x.mean(1, dtype=np.float64, keepdims=True)
    wanted = (dy * d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-5)).sum(0)
    np.testing.assert_allclose(run(gradient, f"M={rows};N={columns}", x, dy), wanted, atol=2e-5)


LEVELS = ("program", "program,lanes", "loop,lanes", "point", "lanes")
FILES = ("ordered", "folds_and_scans", "indexed_and_ragged")


def first_cases():
    """One case of each kernel whose order matters, with the symbols of its views."""
    seen = set()
    for file, index, name in sample_cases.all_cases():
        if file not in FILES or name.split()[0] in seen:
            continue
        seen.add(name.split()[0])
        kernel = sample_cases.case(file, index)[1]
        symbols = {s for p in kernel.function.__annotations__.values() for s in getattr(p, "shape", ()) or () if isinstance(s, str)}
        yield from ((file, index, name, symbol) for symbol in sorted(symbols))


CASES = list(first_cases())


@pytest.mark.parametrize("file, index, name, symbol", CASES, ids=[f"{c[2]}-{c[3]}" for c in CASES])
def test_legal_covers_agree(file, index, name, symbol):
    legal = 0
    for levels in LEVELS:
        _, kernel, constexprs, arguments, expected, tolerance = sample_cases.case(file, index)
        try:
            compiled = intent.compile(kernel, constexprs=constexprs, options=intent.CompileOptions(cover=f"{symbol}={levels}"))
        except intent.ConfigurationError as error:
            assert "cover" in str(error)
            continue
        legal += 1
        result = compiled.run(*arguments)
        if result is None:
            inputs = [p for p in compiled.metadata["params"] if p.get("access") != "out"]
            result = [a for a, p in zip(arguments, inputs) if p.get("access") == "inout"]
        results = list(result) if isinstance(result, (tuple, list)) else [result]
        for i, (actual, wanted) in enumerate(zip(results, expected)):
            assert sample_cases.agrees(actual, wanted, tolerance), f"{symbol}={levels}: output {i}"
    assert legal or symbol not in compiled_axes(file, index)


def compiled_axes(file, index):
    """Extents that the covers of a program name."""
    _, kernel, constexprs, *_ = sample_cases.case(file, index)
    return set(re.findall(r'#block.cover<"(\w+)"', intent.compile_shared_gpu(kernel, "host", constexprs=constexprs).mlir))


@intent.kernel
def beside_a_product(v: I.In[I.f32, ("M",)], a: I.In[I.f32, ("M", "K")], b: I.In[I.f32, ("K", "N")], y: I.Out[I.f32, ("M",)], z: I.Out[I.f32, ("M", "N")]):
    y[:] = v[:] + 1.0
    z[:, :] = I.matmul(a[:, :], b[:, :], acc_dtype=I.f32)


def test_groups_size_one_extent_apart():
    """Lanes of a contraction are at least 16, those of other work as many as it takes."""
    v, a, b = (np.random.default_rng(2).standard_normal(s).astype(np.float32) for s in ((5,), (5, 3), (3, 7)))
    y, z = intent.compile(beside_a_product, options=intent.CompileOptions(cover="M=lanes")).run(v, a, b)
    np.testing.assert_allclose(y, v + 1)
    np.testing.assert_allclose(z, a @ b, rtol=1e-5, atol=1e-5)
