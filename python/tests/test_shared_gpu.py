"""Programs that are legal in the language but have no block program yet: a located TargetError that names both lines."""
import numpy as np
import pytest

import intent
import intent.language as I
from intent import native
import sample_cases

pytestmark = pytest.mark.skipif(native.find_library("libintent.so") is None, reason="the libraries are not built")


@intent.kernel
def buffer_of_data(n: I.In[I.i32, (1,)], y: I.Out[I.f32, (1,)]):
    b = I.buffer((I.cast(n[0], I.index),), I.f32)
    b[0] = 1.0
    y[0] = b[0]


@pytest.mark.parametrize("target", ["host", "triton:sm_90"])
@pytest.mark.parametrize("kernel, message", [(buffer_of_data, "bounds the extent of this buffer")])
def test_refused(kernel, message, target):
    with pytest.raises(intent.TargetError, match=message) as error:
        intent.generate(kernel, target)
    assert error.value.category == "shared_gpu" and error.value.line


@intent.kernel
def too_long_alone(x: I.InOut[I.i32, (1000, 1000)]):
    g = I.buffer((1000, 1000), I.i32)
    for t in range(3):
        g[:, :] = x[:, :]
        x[:, :] = g[:, :] + I.transpose(g[:, :])


def test_what_fits_no_variant_is_named():
    """Steps that depend on each other are one instance's, which has a limit: the error stands at the loop."""
    intent.generate(too_long_alone, "host")
    with pytest.raises(intent.TargetError, match="no variant of this program fits the target's fragment and serial limits") as error:
        intent.generate(too_long_alone, "triton:sm_90")
    assert error.value.category == "shared_gpu" and error.value.source_line.strip() == "for t in range(3):"


@pytest.mark.parametrize("target, options, message", [
    ("cutile:sm_100", None, "no programs for target 'cutile'"), ("bangc:mtp_372", None, "no programs for target 'bangc'"),
    ("triton:sm_90", intent.CompileOptions(check=True), "expected target 'host' for checked programs .option check., got 'triton'")])
def test_not_built_yet(target, options, message):
    with pytest.raises(intent.TargetError, match=message) as error:
        intent.generate(single_instance, target, options=options)
    assert error.value.category == "provider_surface"


@intent.kernel
def single_instance(x: I.InOut[I.f32, ("M", "N")]):
    M, N = x.shape
    i, j = I.indices(I.domain(0, M)), I.indices(I.domain(0, N))
    x[:, :] = x[(i[:, None] + 1) % M, (j[None, :] + 1) % N]


@intent.kernel
def shared_out(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ()]):
    y[()] = I.reduce.sum(x[:, :], axis=(0, 1))


def test_serial_guard():
    """What one instance serialises is bounded on a GPU by a launch guard, and unbounded on the host."""
    gpu = intent.generate(single_instance, "triton:sm_90").metadata["variants"]
    assert [v["guard"] for v in gpu] == ['le(mul("M", "N"), 65536)']
    assert [v["guard"] for v in intent.generate(single_instance, "host").metadata["variants"]] == [None]


def test_hand_over_needs_no_guard():
    """Where instances can share a reduced axis out, each combines its own members and the last to arrive finishes."""
    [variant] = intent.generate(shared_out, "triton:sm_90").metadata["variants"]
    assert variant["guard"] is None and variant["grid"] == "WORKERS_M"
    assert [(w["name"], w["zeroed"]) for w in variant["workspace"]] == [("slots", False), ("arrived", True)]


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (300, 37), (37, 300)])
def test_hand_over(shape):
    """The same value whichever instances take part, called again and again without clearing what the last call left."""
    compiled = intent.compile(shared_out, "host{serial_elements=1}")
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    for _ in range(3):
        np.testing.assert_allclose(compiled.run(x), x.astype(np.float64).sum(), atol=1e-3)


@pytest.mark.parametrize("index", range(2))
def test_hand_over_of_columns(index):
    """Row statistics, their gradients and the sums over rows of layer_norm_grad share one traversal."""
    cases = [c for c in sample_cases.all_cases() if c[2].startswith("layer_norm_grad")]
    file, number, _ = cases[index % len(cases)]
    _, kernel, constexprs, arguments, expected, tolerance = sample_cases.case(file, number)
    compiled = intent.compile(kernel, "host{serial_elements=1}", constexprs=constexprs)
    for _ in range(2):
        for actual, wanted in zip(compiled.run(*arguments), expected):
            assert sample_cases.agrees(actual, wanted, tolerance)


def test_partial_sums_share_the_traversal():
    """What only the last instance needs is computed along with what each stores: one walk over the rows, which loads them once."""
    file, number, _ = next(c for c in sample_cases.all_cases() if c[2].startswith("layer_norm_grad"))
    _, kernel, constexprs, *_ = sample_cases.case(file, number)
    resident = intent.generate(kernel, "triton:sm_90", constexprs=constexprs).source.split("@triton.jit")[1]
    assert resident.count("for m0 in range") == 1 and resident.count("tl.load(x ") == 1 and resident.count("tl.load(dy ") == 1


def test_outside_every_guard():
    """A call that no variant admits is one error that says the rule and the extents."""
    from intent.runtime import binding, interface

    metadata = intent.generate(single_instance, "triton:sm_90").metadata
    binder = binding.Plan(interface.read(metadata), "cpu")
    assert binder.bind([np.zeros((256, 256), np.float32)])
    with pytest.raises(intent.CallError, match="no variant of the program admits this call") as error:
        binder.bind([np.zeros((256, 257), np.float32)])
    assert error.value.expected == 'M * N <= 65536 (tiled)' and error.value.actual == "M = 256, N = 257"


@intent.kernel
def loss_and_gradient(x: I.In[I.f32, ("N", "V")], w: I.In[I.f32, ("N",)], loss: I.Out[I.f32, (1,)], dx: I.Out[I.f32, ("N", "V")]):
    e = I.exp(x[:, :] - I.reduce.max(x[:, :], axis=1)[:, None])
    z = I.reduce.sum(e, axis=1)
    count = I.reduce.sum(w[:], axis=0)
    loss[0] = I.reduce.sum(I.log(z) * w[:], axis=0) / count
    dx[:, :] = e / z[:, None] / count


@pytest.mark.parametrize("shape", [(1, 1), (37, 50), (130, 300)])
def test_an_effect_keeps_the_instances_that_it_has_alone(shape):
    """Another output with the same normaliser leaves the gradient to many instances, which count for themselves."""
    assert all("N" not in (v["guard"] or "") for v in intent.generate(loss_and_gradient, "triton:sm_90").metadata["variants"])
    rng = np.random.default_rng(3)
    x, w = rng.standard_normal(shape).astype(np.float32), rng.random(shape[0]).astype(np.float32) + 1
    loss, dx = intent.compile(loss_and_gradient, "host{serial_elements=1, warp_size=32}").run(x, w)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    z = e.sum(1, keepdims=True)
    np.testing.assert_allclose(loss, (np.log(z[:, 0]) * w).sum() / w.sum(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(dx, e / z / w.sum(), rtol=1e-5)


@intent.kernel
def looked_up_sums(x: I.In[I.i64, ("N",)], at: I.In[I.i32, ("Q",)], y: I.Out[I.i64, ("Q",)]):
    y[:] = I.cumsum(x[:], axis=0)[at[:]]


def test_a_scan_that_is_looked_up_is_walked_once():
    """Two walks that follow each other, each of which one instance may do."""
    [variant] = intent.generate(looked_up_sums, "host{serial_elements=1000, warp_size=32}").metadata["variants"]
    assert variant["guard"] == 'and(le("Q", 1000), le("N", 1000))'
    rng = np.random.default_rng(4)
    x, at = rng.integers(-9, 9, 900), rng.integers(0, 900, 700).astype(np.int32)
    np.testing.assert_array_equal(intent.compile(looked_up_sums, "host{serial_elements=1000, warp_size=32}").run(x, at), x.cumsum()[at])
