"""Typed features of every built-in target, and the categories of what a target cannot do, through the public interface."""
import json
import re

import pytest

import intent
import programs
from compilation import REPOSITORY, SUCCESS, TARGET, compile_request, kernel_text

INTEGERS = ("grid_x_limit", "grid_y_limit", "grid_z_limit", "fragment_elements", "fragment_limit", "serial_elements", "finish_elements", "warp_size", "max_warps",
            "max_ctas", "shared_memory_per_block", "registers_per_block", "contract_minimum_k", "contract_minimum_k_8bit")
BOOLEANS = ("descriptors", "power_of_two_fragments", "ordered_lanes")
LISTS = ("element_dtypes", "contractions", "matrix_formats", "atomic_add", "atomic_max", "atomic_bitwise", "atomic_exchange", "atomic_cas", "primitives", "provider_forms")
NVIDIA = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120")
AMD = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
TARGETS = [("triton", arch) for arch in NVIDIA + AMD] + [("cutile", arch) for arch in NVIDIA] + [("bangc", "mtp_372"), ("bangc", "mtp_592"), ("host", "native")]

# What the vendors' architecture pages say: lanes of a warp, shared memory that one block may use.
WARP = {**{arch: 32 for arch in NVIDIA}, "gfx90a": 64, "gfx942": 64, "gfx950": 64, "gfx1100": 32, "gfx1201": 32}
SHARED = {"sm_80": 163 << 10, "sm_86": 99 << 10, "sm_89": 99 << 10, "sm_90": 227 << 10, "sm_100": 227 << 10, "sm_103": 227 << 10, "sm_120": 99 << 10, "gfx90a": 64 << 10,
          "gfx942": 64 << 10, "gfx950": 160 << 10, "gfx1100": 64 << 10, "gfx1201": 64 << 10}


def features(provider, arch, **overrides) -> dict:
    """The features of a target as the block module carries them. The shared stages compile for every provider."""
    status, fields = compile_request(emit="stage", stage="kir-to-block", text=kernel_text(), target={"provider": provider, "arch": arch, "features": overrides})
    assert status == SUCCESS, fields["diagnostics"]
    text = re.search(r"#block\.target<\"%s\", \"%s\", \{(.*?)\}>" % (provider, arch), fields["mlir"]).group(1)
    found = {}
    for name, value in re.findall(r"(\w+) = (\[[^\]]*\]|[^,]+)", text):
        found[name] = json.loads(value.removesuffix(" : i64"))
    return found


@pytest.mark.parametrize("provider, arch", TARGETS)
def test_every_target_has_every_feature(provider, arch):
    found = features(provider, arch)
    described = (REPOSITORY / "include/intent/Target/Capabilities.h").read_text()
    assert set(found) >= set(INTEGERS + BOOLEANS + LISTS) and all(name in described for name in found)
    assert all(type(found[name]) is int and found[name] >= 0 for name in INTEGERS)
    assert all(type(found[name]) is bool for name in BOOLEANS)
    assert all(isinstance(found[name], list) and all(isinstance(item, str) for item in found[name]) for name in LISTS)
    assert found["fragment_elements"] == 65536 and "f32" in found["element_dtypes"] and (found["contractions"] == ["any"] or "f32->f32" in found["contractions"])


@pytest.mark.parametrize("arch", NVIDIA + AMD)
def test_hardware_facts(arch):
    found = features("triton", arch)
    assert (found["warp_size"], found["shared_memory_per_block"]) == (WARP[arch], SHARED[arch])
    assert found["max_ctas"] == (8 if arch in ("sm_90", "sm_100", "sm_103") else 1)
    assert found["descriptors"] == (arch in ("sm_90", "sm_100", "sm_103", "sm_120"))
    assert (found["grid_x_limit"], found["grid_y_limit"], found["grid_z_limit"]) == (2**31 - 1, 65535, 65535)


def test_provider_facts():
    """A provider and a hardware target are separate: the same architecture has other limits and forms under another language."""
    triton, cutile = features("triton", "sm_90"), features("cutile", "sm_90")
    assert triton["provider_forms"] == ["pointer", "descriptor"] and cutile["provider_forms"] == ["tile", "gather"]
    assert cutile["grid_x_limit"] == 2**24 - 1 and cutile["fragment_limit"] == 2**24 and triton["fragment_limit"] == 2**20
    assert triton["warp_size"] == cutile["warp_size"] == 32
    assert "f8e4m3fn" not in features("cutile", "sm_80")["element_dtypes"] and "f8e4m3fn" in cutile["element_dtypes"]
    assert "f8e4m3fn" not in features("triton", "sm_80")["element_dtypes"] and "f8e4m3fn" in features("triton", "sm_89")["element_dtypes"]
    # f16 and bf16 have an atomic addition and no atomic maximum in Triton (run and dated in the provider's notes).
    assert "bf16" in triton["atomic_add"] and "bf16" not in triton["atomic_max"] and "i8" not in triton["atomic_add"]
    # MLU370 has no bf16 vectors; 768 and 512 KiB of NRAM less the compiler's 128.
    assert "bf16" not in features("bangc", "mtp_372")["element_dtypes"] and "bf16" in features("bangc", "mtp_592")["element_dtypes"]
    assert features("bangc", "mtp_372")["shared_memory_per_block"] == 640 << 10 and features("bangc", "mtp_592")["shared_memory_per_block"] == 384 << 10


def test_overrides_are_typed():
    assert features("triton", "sm_90", fragment_elements=4096)["fragment_elements"] == 4096
    assert features("triton", "sm_90", descriptors=False)["descriptors"] is False
    assert features("triton", "sm_90", atomic_add=["f32"])["atomic_add"] == ["f32"]
    k = programs.kernel('x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]', "y[:] = x[:]")
    for bad, message in (({"fragment_elements": True}, "expected an integer"), ({"descriptors": 1}, "expected true or false"), ({"atomic_add": 3}, "expected a list of strings"),
                         ({"fragment_elements": -1}, "expected an integer from 0"), ({"no_such_feature": 1}, "unknown feature 'no_such_feature'")):
        with pytest.raises(intent.ConfigurationError, match=message):
            intent.generate(k, intent.Target("triton", "sm_90", **bad))


def test_passes_ask_features_and_not_names():
    """An override changes what is legal on a device of another name."""
    k = programs.kernel('x: I.In[I.f8e4m3fn, ("N",)], y: I.Out[I.f32, ("N",)]', "y[:] = I.cast(x[:], I.f32)")
    with pytest.raises(intent.TargetError):
        intent.generate(k, "triton:sm_80")
    everything = features("triton", "sm_90")["element_dtypes"]
    intent.generate(k, intent.Target("triton", "sm_80", element_dtypes=everything))
    with pytest.raises(intent.TargetError):
        intent.generate(k, intent.Target("triton", "sm_90", element_dtypes=["f32", "index", "bool"]))


# -- the categories of what cannot be built ------------------------------------------------------------------------------------

SCALE = 'x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]', "y[:] = 2.0 * x[:]"


def target_error(k, target, **arguments) -> intent.TargetError:
    with pytest.raises(intent.TargetError) as caught:
        intent.generate(k, target, **arguments)
    assert caught.value.category in str(caught.value)
    return caught.value


def test_shared_gpu():
    """An in-place shift: each instance would read what another writes, and one alone may not do so much on any device."""
    shift = "i = I.indices(I.domain(0, {n}))\nx[:] = x[I.minimum(i + 1, {n} - 1)]"
    for target in ("triton:sm_90", "triton:gfx942"):
        error = target_error(programs.kernel("x: I.InOut[I.f32, (1000000,)]", shift.format(n=1000000)), target)
        assert error.category == "shared_gpu" and error.filename and error.line is not None and error.operation.startswith("kir.")
        intent.generate(programs.kernel("x: I.InOut[I.f32, (100,)]", shift.format(n=100)), target)


def test_provider_surface():
    """The language of the provider has no form for it, on any hardware."""
    for target in ("cutile:sm_100", "bangc:mtp_372"):
        error = target_error(programs.kernel(*SCALE), target)
        assert error.category == "provider_surface" and target.split(":")[0] in error.message


def test_hardware_capability():
    """The architecture lacks a dtype that others have: the error names operation, line, feature and who has it."""
    k = programs.kernel('x: I.In[I.f8e4m3fn, ("N",)], y: I.Out[I.f32, ("N",)]', "y[:] = I.cast(x[:], I.f32)")
    error = target_error(k, "triton:sm_80")
    assert error.category == "hardware_capability" and error.feature == "element_dtypes" and error.operation.startswith("block.")
    assert "sm_80 has no f8e4m3fn" in error.message and "sm_89" in error.message and "gfx942" in error.message
    assert error.filename and error.line is not None
    intent.generate(k, "triton:sm_89")


def test_the_categories_are_distinct():
    assert intent.TargetError.CATEGORIES == ("shared_gpu", "provider_surface", "hardware_capability", "lower_compilation_cost")
    status, fields = compile_request(emit="source", text=kernel_text(), target={"provider": "bangc", "arch": "mtp_372"})
    assert status == TARGET and fields["diagnostics"][0]["category"] == "provider_surface"
