"""Pinned extents: a program for each value, in which the extent is a constant."""
import numpy as np
import pytest

import intent
import intent.language as I
from intent import native
from intent.errors import CallError, ConfigurationError, LanguageError
from programs import kernel
from tuned_programs import accumulate, row_softmax, scale

pytestmark = pytest.mark.skipif(native.find_library("libintent-host.so") is None, reason="the libraries are not built")


@intent.kernel
def shifted(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M", "N")]):
    y[:, :] = x[:, :] + I.zeros(("M", "N"), I.f32) + 1.0


def test_each_value_has_its_program():
    k = intent.compile(row_softmax, specialize=("N",))
    rng = np.random.default_rng(0)
    assert k.observation["pinned"] is None
    for n in (1, 5, 64, 5, 0):
        x = rng.standard_normal((7, n)).astype(np.float32)
        e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True, initial=-np.inf))
        expected = e / e.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(k.run(x), expected, rtol=1e-5, atol=1e-7)
        y = np.empty_like(x)
        k(x, y)
        p = k.prepare(x, outputs=(y,))
        p.launch()
        np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-7)
        assert k.observation["pinned"] == {"N": n}
    assert sorted(key for key, in k._pinned) == [0, 1, 5, 64]
    pinned = k.program_for(N=64)
    assert pinned is k._pinned[64,] and '"N"' not in pinned.kir and "64" in pinned.kir and '"N"' in k.kir
    with pytest.raises(CallError, match="extent of axis 1 64"):
        pinned.run(np.zeros((3, 63), np.float32))
    assert intent.compile(row_softmax, specialize=["N", "N"]).program_for(N=64) is pinned


def test_pins_reach_shapes_in_the_body_and_the_generated_text():
    k = intent.compile(shifted, specialize=("M", "N"))
    x = np.array([[1, np.nan], [np.inf, -0.0]], np.float32)
    np.testing.assert_array_equal(k.run(x), [[2, np.nan], [np.inf, 1.0]])
    source = intent.compile(row_softmax, "triton:sm_90", specialize=("N",)).program_for(N=1000).source
    assert "1000" in source and "N," not in source


def test_tuning_and_memory():
    k = intent.compile(accumulate, specialize=("N",))
    x, acc = np.ones((4, 9), np.float32), np.zeros((4, 9), np.float32)
    k.tune(x, acc)
    assert (acc == 0).all() and k.observation["winner"]["measured"]
    k(x, acc)
    assert (acc == 1).all()
    for method in (k.export_winners, k.import_winners):
        with pytest.raises(ConfigurationError, match="program_for"):
            method("somewhere")


@pytest.mark.parametrize("specialize, message", [("N", "tuple of shape symbols, not 'N'"), ((1,), "not \\(1,\\)"), (None, "not None"), (("Q",), "no shape symbol is named 'Q'; the symbols: N")])
def test_wrong_names(specialize, message):
    with pytest.raises(ConfigurationError, match=message) as raised:
        intent.compile(scale, specialize=specialize)
    assert raised.value.source == "specialize"


def test_wrong_values():
    k = intent.compile(scale, specialize=("N",))
    for extents in ({}, {"N": -1}, {"N": 2.0}, {"N": True}, {"M": 3}, {"N": 1, "M": 2}):
        with pytest.raises(ConfigurationError, match="expected a non-negative int for each of N"):
            k.program_for(**extents)
    with pytest.raises(CallError, match="rank 1"):
        k.run(np.zeros((2, 2), np.float32))


def test_a_value_that_the_program_cannot_have():
    k = intent.compile(kernel('x: I.In[I.f32, ("N",)], y: I.Out[I.f32, (4,)]', "y[:] = x[:]"), specialize=("N",))
    assert (k.run(np.ones(4, np.float32)) == 1).all()
    with pytest.raises(CallError, match="N = 3"):
        k.run(np.ones(3, np.float32))
    with pytest.raises(LanguageError, match="3"):
        k.program_for(N=3)


def test_requests_with_extents():
    from compilation import LANGUAGE, SUCCESS, compile_request, messages
    from intent.capture import capture

    fields = capture(scale, {}, {})
    status, result = compile_request(emit="kir", target=None, extents={"N": 7}, **fields)
    assert status == SUCCESS and '"N"' not in result["kir"]
    for extents, message in ((["N"], "extents: expected an object"), ({"N": -1}, "extents['N']: expected a non-negative integer"), ({"N": "7"}, "expected a non-negative integer"),
                             ({"Q": 7}, "no view of kernel 'scale' has the symbol 'Q'")):
        status, result = compile_request(emit="kir", target=None, extents=extents, **fields)
        assert status == LANGUAGE and message in messages(result)[0]
