"""Targets print and parse; wrong ones say what is wrong; a provider alone asks the visible device."""
import pickle
import sys
import types

import pytest

from intent import targets
from intent.errors import ConfigurationError, TargetError
from intent.targets import Target


@pytest.mark.parametrize("text", ["host", "triton:sm_90", "triton:sm_120", "triton:gfx942", "triton:gfx1100", "triton:gfx90a", "cutile:sm_100", "bangc:mtp_372",
                                  'triton:sm_90{descriptors=false, element_dtypes=["f16", "f32"], fragment_elements=32768}', "host{serial_elements=16}"])
def test_round_trip(text):
    target = Target.parse(text)
    assert str(target) == text
    assert Target.parse(str(target)) == target and hash(Target.parse(text)) == hash(target)
    assert pickle.loads(pickle.dumps(target)) == target


def test_fields_and_request():
    target = Target("triton", "sm_90", shared_memory_per_block=1024)
    assert target.request() == {"provider": "triton", "arch": "sm_90", "features": {"shared_memory_per_block": 1024}}
    assert targets.resolve(None).request() == {"provider": "host", "arch": "", "features": {}}
    assert Target("host") != Target("host", check_cost=1) and targets.resolve(target) is target
    assert [targets.resolve(t).device_type for t in ("host", "triton:sm_80", "cutile:sm_100", "bangc:mtp_372")] == ["cpu", "cuda", "cuda", "mlu"]


@pytest.mark.parametrize("text", ["", "cuda", "triton:", "triton:h100", "triton:sm_90;", "cutile:gfx942", "host:avx512", "bangc:sm_90", "triton:sm_90{", "triton:sm_90{a}",
                                  "triton:sm_90{a=}", "triton:sm_90{a=1 b=2}", "triton:sm_90{a=1, a=2}", "triton:sm_90{a=1.5}", "triton:sm_90{A=1}", "x" * 1000])
def test_unknown_targets(text):
    with pytest.raises(ConfigurationError) as caught:
        targets.resolve(text)
    assert caught.value.source == "target"


@pytest.mark.parametrize("value", [3, b"host", ["host"], Target])
def test_other_objects(value):
    with pytest.raises(ConfigurationError):
        targets.resolve(value)


def fake_torch(available, hip=None, gcn="", major=9, minor=0):
    properties = types.SimpleNamespace(major=major, minor=minor, gcnArchName=gcn)
    cuda = types.SimpleNamespace(is_available=lambda: available, current_device=lambda: 0, get_device_properties=lambda device: properties)
    return types.SimpleNamespace(cuda=cuda, version=types.SimpleNamespace(hip=hip))


def test_visible_device(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", fake_torch(True))
    assert str(targets.resolve("triton")) == "triton:sm_90" and str(targets.resolve("cutile")) == "cutile:sm_90"
    monkeypatch.setitem(sys.modules, "torch", fake_torch(True, hip="6.2", gcn="gfx942:sramecc+:xnack-"))
    assert str(targets.resolve("triton")) == "triton:gfx942"


@pytest.mark.parametrize("torch", [None, fake_torch(False)])
@pytest.mark.parametrize("provider", ["triton", "cutile", "bangc"])
def test_no_visible_device(monkeypatch, torch, provider):
    monkeypatch.setitem(sys.modules, "torch", torch)
    with pytest.raises(TargetError, match="name the architecture") as caught:
        targets.resolve(provider)
    assert caught.value.category == "hardware_capability"
