"""Programs that are legal in the language but have no block program yet: a located TargetError that names both lines."""
import pytest

import intent
import intent.language as I
from intent import native

pytestmark = pytest.mark.skipif(native.find_library("libintent.so") is None, reason="the libraries are not built")


@intent.kernel
def buffer_of_data(n: I.In[I.i32, (1,)], y: I.Out[I.f32, (1,)]):
    b = I.buffer((I.cast(n[0], I.index),), I.f32)
    b[0] = 1.0
    y[0] = b[0]


@pytest.mark.parametrize("target", ["host", "triton:sm_90"])
@pytest.mark.parametrize("kernel, message", [(buffer_of_data, "a buffer's extent")])
def test_refused(kernel, message, target):
    with pytest.raises(intent.TargetError, match=message) as error:
        intent.generate(kernel, target)
    assert error.value.category == "shared_gpu" and error.value.line


@pytest.mark.parametrize("target, options, message", [
    ("cutile:sm_100", None, "no programs for target 'cutile'"), ("bangc:mtp_372", None, "no programs for target 'bangc'"),
    ("triton:sm_90", intent.CompileOptions(check=True), "expected target 'host' for checked programs .option check., got 'triton'")])
def test_not_built_yet(target, options, message):
    with pytest.raises(intent.TargetError, match=message) as error:
        intent.generate(single_instance, target, options=options)
    assert error.value.category == "provider_surface"


@intent.kernel
def single_instance(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ()]):
    y[()] = I.reduce.sum(x[:, :], axis=(0, 1))


def test_serial_guard():
    """What one instance serialises is bounded on a GPU by a launch guard, and unbounded on the host."""
    gpu = intent.generate(single_instance, "triton:sm_90").metadata["variants"]
    assert [v["guard"] for v in gpu] == ['le(mul("M", "N"), 65536)']
    assert [v["guard"] for v in intent.generate(single_instance, "host").metadata["variants"]] == [None]


def test_outside_every_guard():
    """A call that no variant admits is one error that says the rule and the extents."""
    from intent.runtime import binding, interface
    import numpy as np

    metadata = intent.generate(single_instance, "triton:sm_90").metadata
    binder = binding.Plan(interface.read(metadata), "cpu")
    assert binder.bind([np.zeros((256, 256), np.float32), np.zeros((), np.float32)])
    with pytest.raises(intent.CallError, match="no variant of the program admits this call") as error:
        binder.bind([np.zeros((256, 257), np.float32), np.zeros((), np.float32)])
    assert error.value.expected == 'le(mul("M", "N"), 65536) (tiled)' and error.value.actual == "M = 256, N = 257"
