"""Index arithmetic is 64-bit: a provider narrows it only where the launch proves that the result stays the same.

Each case has extents at which 32 bits would not do. `bench/check_algorithms.py` runs them on a GPU.
"""
import numpy as np
import pytest

import intent
import intent.language as I
from intent import native

pytestmark = pytest.mark.skipif(native.find_library("libintent-host.so") is None, reason="the libraries are not built")

CASES = []  # (kernel, inputs, empty outputs, wanted outputs, whether 32 bits do for the launch)


def case(inputs, outputs, wanted, narrow=False):
    def add(function):
        CASES.append((intent.kernel(function), inputs, outputs, wanted, narrow))
        return CASES[-1][0]
    return add


def empty(*shape):
    return np.zeros(shape, np.int64)


_FLAGS = np.zeros(60000, np.int8)
_AT = np.arange(60000)


@case([_FLAGS], [empty()], [sum(j * j for j in range(60000))])
def summed_products(x: I.In[I.i8, ("N",)], y: I.Out[I.i64, ()]):
    t = I.cast(0, I.index)
    for j in range(x.shape[0]):
        t += j * j
    y[()] = I.cast(t, I.i64)


@case([5], [empty(60000)], [_AT * _AT + 5])
def product_and_scalar(k: I.i64, y: I.Out[I.i64, ("M",)]):
    at = I.indices(I.domain(y.shape[0]))
    y[:] = I.cast(at * at + I.cast(k, I.index), I.i64)


@case([_AT.astype(np.float32), 7], [np.zeros(60000, np.float32)], [((7 + _AT * 70000) % 60000).astype(np.float32)])
def hashed(x: I.In[I.f32, ("L",)], offset: I.i64, y: I.Out[I.f32, ("N",)]):
    i = I.indices(I.domain(y.shape[0]))
    y[:] = x[(I.cast(offset, I.index) + i * 70000) % x.shape[0]]


@case([np.full(60000, 40)], [empty(60000)], [_AT * _AT * 3 + 40])
def product_in_a_loop(x: I.In[I.i64, ("K",)], y: I.Out[I.i64, ("K",)]):
    for k in I.parallel(I.domain(y.shape[0])):
        j = I.cast(x[k], I.index)
        for _ in range(3):
            j = j + k * k
        y[k] = I.cast(j, I.i64)


@case([_FLAGS], [empty(60000)], [(_AT - 1) >> 40], narrow=True)
def shifted_far(x: I.In[I.i8, ("N",)], y: I.Out[I.i64, ("N",)]):
    y[:] = I.cast((I.indices(I.domain(x.shape[0])) - 1) >> 40, I.i64)


@case([_FLAGS[:700]], [empty(700)], [_AT[:700] * 3000000000 + 5], narrow=True)
def wide_factor(x: I.In[I.i8, ("N",)], y: I.Out[I.i64, ("N",)]):
    y[:] = I.cast(I.indices(I.domain(x.shape[0])) * 3000000000 + 5, I.i64)


@case([np.arange(700) % 3 - 1.0], [empty(700)], [np.where(np.arange(700) % 3 == 2, np.arange(700), 9000000000)], narrow=True)
def wide_literal(x: I.In[I.f64, ("N",)], y: I.Out[I.i64, ("N",)]):
    y[:] = I.cast(I.select(x[:] > 0.0, I.indices(I.domain(x.shape[0])), 9000000000), I.i64)


_ROWS = np.where((np.arange(350).reshape(5, 70) * 7919) % 13 == 0, 1.0, 0.0)


@case([_ROWS], [empty(5), empty(5)], [np.array([max(np.nonzero(r)[0], default=-1) for r in _ROWS]), np.array([min(np.nonzero(r)[0], default=70) for r in _ROWS])], narrow=True)
def first_and_last(x: I.In[I.f64, ("M", "N")], last: I.Out[I.i64, ("M",)], first: I.Out[I.i64, ("M",)]):
    i = I.indices(I.domain(x.shape[1]))
    last[:] = I.cast(I.reduce.max(I.select(x[:, :] != 0.0, i, -1), axis=1), I.i64)
    first[:] = I.cast(I.reduce.min(I.select(x[:, :] != 0.0, i, x.shape[1]), axis=1), I.i64)


@case([_ROWS], [empty(5, 70)], [np.maximum.accumulate(np.where(_ROWS != 0, np.arange(70), -1), axis=1)], narrow=True)
def last_seen(x: I.In[I.f64, ("M", "N")], y: I.Out[I.i64, ("M", "N")]):
    y[:, :] = I.cast(I.cummax(I.select(x[:, :] != 0.0, I.indices(I.domain(x.shape[1])), -1), axis=1), I.i64)


@case([_FLAGS], [empty(60000)], [_AT], narrow=True)
def as_bits(x: I.In[I.i8, ("N",)], y: I.Out[I.i64, ("N",)]):
    y[:] = I.bitcast(I.bitcast(I.indices(I.domain(x.shape[0])), I.f64), I.i64)


@case([2, 700], [empty(3)], [np.array([sum(i * i for i in range(2, 700, 3)), sum(i + j for i in range(1, 4) for j in range(i, 7, 2)), sum(range(700))])], narrow=True)
def loops_of_two_widths(low: I.i64, high: I.i64, y: I.Out[I.i64, (3,)]):
    s = I.cast(0, I.index)
    for i in range(I.cast(low, I.index), I.cast(high, I.index), 3):
        s += i * i
    y[0] = I.cast(s, I.i64)
    t = I.cast(0, I.index)
    for i in I.domain(5)[1:4]:
        for j in range(i, 7, 2):
            t += i + j
    y[1] = I.cast(t, I.i64)
    y[2] = I.cast(I.reduce.sum(I.indices(I.domain(I.cast(high, I.index))), axis=0), I.i64)


_IDS = [entry[0].function.__name__ for entry in CASES]


@pytest.mark.parametrize("kernel, inputs, outputs, wanted, narrow", CASES, ids=_IDS)
def test_values(kernel, inputs, outputs, wanted, narrow):
    for run in (intent.compile(kernel), intent.compile(kernel, "host{warp_size=32, serial_elements=1000000000}")):
        results = [o.copy() for o in outputs]
        run(*inputs, *results)
        for actual, value in zip(results, wanted, strict=True):
            np.testing.assert_array_equal(actual, value)


@pytest.mark.parametrize("kernel, inputs, outputs, wanted, narrow", CASES, ids=_IDS)
def test_triton_narrows_where_it_may(kernel, inputs, outputs, wanted, narrow, tmp_path):
    pytest.importorskip("triton")
    from intent.providers.triton import compile_offline, load_module, plan, _Shape

    path = tmp_path / "generated.py"
    path.write_text(intent.generate(kernel, "triton:sm_90").source)
    values = [tuple(v.shape) if isinstance(v, np.ndarray) else v for v in inputs + outputs]
    chosen = plan(load_module(path), [_Shape(v) if isinstance(v, tuple) else v for v in values])
    assert str(chosen.constants["INDEX"]) == ("int32" if narrow else "int64")
    assert compile_offline(path, "sm_90", values).asm["ptx"]


_T = I.TypeVar("T", I.i64, I.index)


@intent.kernel
def scanned(x: I.In[_T, ("M", "N")], y: I.Out[_T, ("M", "N")]):
    y[:, :] = I.cumsum(x[:, :], axis=0)


@intent.kernel
def summed(x: I.In[_T, ("M", "N")], y: I.Out[_T, ("M",)]):
    y[:] = I.reduce.sum(x[:, :], axis=1)


@pytest.mark.parametrize("kernel", [scanned, summed], ids=lambda kernel: kernel.function.__name__)
def test_index_values_are_tuned_as_integers_are(kernel):
    families = [[v["family"] for v in intent.generate(kernel, "triton:sm_90", types={"T": dtype}).metadata["variants"]] for dtype in (I.i64, I.index)]
    assert families[0] == families[1] != []
