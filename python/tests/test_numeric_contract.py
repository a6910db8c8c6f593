"""The table of error bounds and special values holds in the reference and in the author language on the host."""
import numpy as np
import pytest

import intent
import intent.language as I
from intent import native
from numeric_contract import FUNCTIONS

INPUTS = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 0.5, 1.0], np.float32)


@intent.kernel
def all_functions(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, (17, "N")]):
    v = x[:]
    y[0, :] = I.asin(v)
    y[1, :] = I.cos(v)
    y[2, :] = I.erf(v)
    y[3, :] = I.erfc(v)
    y[4, :] = I.exp(v)
    y[5, :] = I.exp2(v)
    y[6, :] = I.i0(v)
    y[7, :] = I.lgamma(v)
    y[8, :] = I.log(v)
    y[9, :] = I.log1p(v)
    y[10, :] = I.log2(v)
    y[11, :] = I.rsqrt(v)
    y[12, :] = I.sigmoid(v)
    y[13, :] = I.sin(v)
    y[14, :] = I.sqrt(v)
    y[15, :] = I.tan(v)
    y[16, :] = I.tanh(v)


def check(result):
    for name, row in zip(sorted(FUNCTIONS), result, strict=True):
        wanted = np.array(FUNCTIONS[name].specials, np.float32)
        np.testing.assert_array_equal(row[:4], wanted, name)
        numbers = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(row[:4][numbers]), np.signbit(wanted[numbers]), name)
        assert np.isnan(row[4]), name


def test_reference():
    check(intent.interpret(all_functions).run(INPUTS))


@pytest.mark.skipif(native.find_library("libintent-host.so") is None, reason="the libraries are not built")
def test_host():
    check(intent.compile(all_functions).run(INPUTS))
    assert intent.compile(all_functions).run(INPUTS[:0]).shape == (17, 0)


def test_triton_says_each():
    assert "@triton.jit" in intent.generate(all_functions, "triton:sm_90").source
