"""A literal takes the dtype of what it meets, on every target: Triton reads a bare one as f32 or i32 where it meets no tensor first.

`bench/check_algorithms.py` runs the same cases on a GPU.
"""
import re

import ml_dtypes
import numpy as np
import pytest

import intent
import intent.language as I
from intent import native

pytestmark = pytest.mark.skipif(native.find_library("libintent-host.so") is None, reason="the libraries are not built")

CASES = []  # (kernel, inputs, empty outputs, wanted outputs, what its Triton IR has no need of)

_U8, _I8, _I16 = np.arange(256, dtype=np.uint8), np.arange(-128, 128, dtype=np.int8), np.arange(-500, 500, dtype=np.int16)
_F16 = np.array([0.1, -0.1, 3.0, np.nan, np.inf, -0.8037, 0.0999, 65504.0], np.float16)
_F64 = np.array([0.3, 0.1, -0.2, np.nan, np.inf, 0.30000001192092896, 0.0])


def case(values, wanted, foreign):
    def add(function):
        CASES.append((intent.kernel(function), [values], [np.zeros_like(values)], [wanted], foreign))
        return CASES[-1][0]
    return add


@case(_U8, (np.maximum(_U8, 5) + np.uint8(250)) >> 1, r"ext[us]i .*i8")
def bytes_wrap(x: I.In[I.u8, ("N",)], y: I.Out[I.u8, ("N",)]):
    y[:] = (I.maximum(x[:], 5) + 250) >> 1


@case(_I8, (np.minimum(_I8, np.int8(100)) * np.int8(3) > 0).astype(np.int8), r"muli .*tensor<\d+xi32>")
def sign_after_wrapping(x: I.In[I.i8, ("N",)], y: I.Out[I.i8, ("N",)]):
    y[:] = I.cast(I.minimum(x[:], 100) * 3 > 0, I.i8)


@case(_I16, (np.maximum(_I16, np.int16(5)) * np.int16(30000)) // np.int16(7), r"muli .*tensor<\d+xi32>")
def words_wrap(x: I.In[I.i16, ("N",)], y: I.Out[I.i16, ("N",)]):
    y[:] = (I.maximum(x[:], 5) * 30000) // 7


@case(_F16, np.where(_F16 == np.float16(0.1), np.float16(1), np.float16(0)), r"\bf32\b")
def half_equal(x: I.In[I.f16, ("N",)], y: I.Out[I.f16, ("N",)]):
    y[:] = I.select(x[:] == 0.1, 1.0, 0.0)


@case(_F16, np.where(_F16 >= np.float16(65504), np.float16(1), np.float16(0.1)), r"\bf32\b")
def half_at_the_end(x: I.In[I.f16, ("N",)], y: I.Out[I.f16, ("N",)]):
    y[:] = I.select(x[:] >= 65504.0, 1.0, 0.1)


@case(_F16[:7], np.maximum(_F16[:7], np.float16(0.1)) * _F16[:7] * np.float16(3), r"\bf32\b")
def half_rounds_each_operation(x: I.In[I.f16, ("N",)], y: I.Out[I.f16, ("N",)]):
    y[:] = I.maximum(x[:], 0.1) * x[:] * 3.0


@case(_F64, np.maximum(_F64, 0.3), r"\bf32\b")
def double_maximum(x: I.In[I.f64, ("N",)], y: I.Out[I.f64, ("N",)]):
    y[:] = I.maximum(x[:], 0.3)


@case(_F64, np.where(_F64 == 0.3, 2.0, np.where(_F64 < 0.1, 0.1, 0.7)), r"\bf32\b")
def double_compared(x: I.In[I.f64, ("N",)], y: I.Out[I.f64, ("N",)]):
    y[:] = I.select(x[:] == 0.3, 2.0, I.select(x[:] < 0.1, 0.1, 0.7))


@case(_F64, np.full_like(_F64, 0.3), r"\bf32\b")
def double_stored(x: I.In[I.f64, ("N",)], y: I.Out[I.f64, ("N",)]):
    y[:] = 0.3


_WIDE = np.array([0.0, -0.0, 57344.0, 61439.0, 61440.0, -61440.0, 1e9, -3e38, np.inf, -np.inf, np.nan, 0.1, 1.125, 1.375, 2.0**-17, 3e-8], np.float32)


@case(_WIDE, (lambda bits: np.where(np.isnan(_WIDE), 1, bits).astype(np.float32))(_WIDE.astype(ml_dtypes.float8_e5m2).view(np.uint8)), r"$^")
def overflow_to_infinity(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]):
    y[:] = I.select(x[:] == x[:], I.cast(I.bitcast(I.cast(x[:], I.f8e5m2), I.u8), I.f32), 1.0)


_IDS = [entry[0].function.__name__ for entry in CASES]


@pytest.mark.parametrize("kernel, inputs, outputs, wanted, foreign", CASES, ids=_IDS)
def test_values(kernel, inputs, outputs, wanted, foreign):
    for run in (intent.compile(kernel), intent.interpret(kernel)):
        result = outputs[0].copy()
        with np.errstate(all="ignore"):
            run(inputs[0], result)
        np.testing.assert_array_equal(result, wanted[0])


@pytest.mark.parametrize("kernel, inputs, outputs, wanted, foreign", CASES, ids=_IDS)
def test_triton_keeps_the_dtype(kernel, inputs, outputs, wanted, foreign, tmp_path):
    pytest.importorskip("triton")
    from intent.providers.triton import compile_offline

    path = tmp_path / "generated.py"
    path.write_text(intent.generate(kernel, "triton:sm_90").source)
    found = re.search(foreign, re.sub(r"loc\(.*", "", compile_offline(path, "sm_90", [inputs[0].shape] * 2).asm["ttir"]))
    assert not found, found
