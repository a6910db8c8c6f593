"""Compilation targets: a provider, an architecture, and feature overrides. They print and parse; no device or SDK is needed.

The facts about an architecture (limits, dtypes, forms) belong to the compiler library; here are only names.
"""
from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, field
from types import MappingProxyType

from .errors import ConfigurationError, TargetError

# provider -> (device type of its arrays, pattern of its architecture names, example)
PROVIDERS = {
    "host": ("cpu", r"", ""),
    "triton": ("cuda", r"sm_\d{2,3}|gfx[0-9a-f]{3,4}", "sm_90"),
    "cutile": ("cuda", r"sm_\d{2,3}", "sm_100"),
    "bangc": ("mlu", r"mtp_\d{3}", "mtp_372"),
}
_FEATURE = re.compile(r"[a-z][a-z0-9_]*\Z")


@dataclass(frozen=True, init=False)
class Target:
    """One target. `Target("triton", "sm_90", fragment_elements=32768)` overrides single features: ints, bools, lists of strings.

    `str()` prints `triton:sm_90` and `triton:sm_90{fragment_elements=32768}`; `Target.parse` reads the same. The host has no
    architecture name. ConfigurationError for an unknown provider or a name that is no architecture of it.
    """

    provider: str
    arch: str
    features: MappingProxyType = field(hash=False)

    def __init__(self, provider, arch=None, **feature_overrides):
        if provider not in PROVIDERS:
            raise ConfigurationError(f"unknown provider {provider!r}; known are {', '.join(PROVIDERS)}", source="target")
        _, pattern, example = PROVIDERS[provider]
        if arch is None and provider == "host":
            arch = ""
        if not isinstance(arch, str) or not re.fullmatch(pattern, arch):
            hint = f"an example is {example!r}" if example else "it has none"
            raise ConfigurationError(f"{arch!r} is no architecture of provider {provider!r}; {hint}", source="target")
        for name, value in feature_overrides.items():
            if isinstance(value, (list, tuple)):
                value = feature_overrides[name] = tuple(value)
            good = isinstance(value, (bool, int)) or isinstance(value, tuple) and all(isinstance(item, str) for item in value)
            if not _FEATURE.match(name) or not good:
                raise ConfigurationError(f"feature {name} = {value!r} is not an int, a bool or a list of strings under a lower-case name", source="target")
        object.__setattr__(self, "provider", provider)
        object.__setattr__(self, "arch", arch)
        object.__setattr__(self, "features", MappingProxyType(dict(sorted(feature_overrides.items()))))

    @property
    def device_type(self) -> str:
        """Where its arrays live: "cpu", "cuda" (also AMD devices, as torch names them) or "mlu"."""
        return PROVIDERS[self.provider][0]

    @classmethod
    def parse(cls, text) -> "Target":
        """The target that `str()` printed; for a provider without an architecture, that of the visible device."""
        match = re.fullmatch(r"\s*([A-Za-z_]\w*)\s*(?::\s*([\w.]+))?\s*(?:\{(.*)\})?\s*", text, re.DOTALL)
        if match is None:
            raise ConfigurationError(f"unreadable target {text!r}; the form is 'provider:architecture'", source="target")
        provider, arch, features = match.groups()
        if provider in PROVIDERS and arch is None and provider != "host":
            arch = visible_arch(provider)
        return cls(provider, arch, **_parse_features(features or "", text))

    def request(self) -> dict:
        """The `target` field of a request."""
        return {"provider": self.provider, "arch": self.arch, "features": dict(self.features)}

    def __str__(self) -> str:
        head = self.provider if self.provider == "host" else f"{self.provider}:{self.arch}"
        if not self.features:
            return head
        return head + "{" + ", ".join(f"{name}={json.dumps(value)}" for name, value in self.features.items()) + "}"

    def __hash__(self):
        return hash((self.provider, self.arch, tuple(self.features.items())))

    def __reduce__(self):
        return Target.parse, (str(self),)


def _parse_features(text, whole) -> dict:
    """`name=value, ...` with JSON values."""
    features: dict = {}
    rest = text.strip()
    while rest:
        match = re.match(r"([a-z]\w*)\s*=\s*", rest)
        try:
            if match is None or match[1] in features:
                raise ValueError
            value, end = json.JSONDecoder().raw_decode(rest, match.end())
        except ValueError:
            raise ConfigurationError(f"unreadable features {rest!r} in target {whole!r}", source="target") from None
        features[match[1]] = value
        rest = rest[end:].lstrip()
        if rest and not rest.startswith(","):
            raise ConfigurationError(f"unreadable features {rest!r} in target {whole!r}", source="target")
        rest = rest[1:].lstrip()
    return features


def resolve(target) -> Target:
    """The Target of what a caller passes: None (the host), a string, or a Target."""
    if target is None:
        return Target("host")
    if isinstance(target, Target):
        return target
    if isinstance(target, str):
        return Target.parse(target)
    raise ConfigurationError(f"a target is a string, a Target or None, not {type(target).__name__}", source="target")


def visible_arch(provider, device=None) -> str:
    """The architecture of the current (or given) device. TargetError `hardware_capability` if none is visible."""
    if provider == "bangc":
        raise _no_device(provider, "no MLU device is visible to this process")
    try:
        import torch
    except ImportError:
        raise _no_device(provider, "no device is visible: torch, which reports devices, is not installed") from None
    if not torch.cuda.is_available():
        raise _no_device(provider, "no GPU is visible to torch")
    return torch_arch(torch, device)


def require_device(target) -> None:
    """TargetError `hardware_capability` if this process sees no device that programs for `target` run on."""
    if target.device_type == "cpu":
        return
    try:
        import torch
    except ImportError:
        raise TargetError(f"running on {target} needs torch, which is not installed", category="hardware_capability", feature="device") from None
    backend = getattr(torch, target.device_type, None)
    if backend is None or not backend.is_available():
        raise TargetError(f"running on {target} needs a device, and none is visible to torch", category="hardware_capability", feature="device")


def torch_arch(torch, device=None) -> str:
    """`sm_90` or `gfx942` of a torch GPU."""
    properties = torch.cuda.get_device_properties(torch.cuda.current_device() if device is None else device)
    amd = getattr(properties, "gcnArchName", None)
    if amd and torch.version.hip:
        return amd.split(":")[0]
    return f"sm_{properties.major}{properties.minor}"


def _no_device(provider, reason) -> TargetError:
    example = PROVIDERS[provider][2]
    return TargetError(f"{reason}; name the architecture to compile without a device, as in '{provider}:{example}'",
                       category="hardware_capability", feature="device")


def of_arrays(arguments) -> Target:
    """The target that a direct call runs on: that of the first device array among the arguments, else the host."""
    torch = sys.modules.get("torch")
    if torch is not None:
        for value in arguments:
            if isinstance(value, torch.Tensor) and value.device.type == "cuda":
                return Target("triton", torch_arch(torch, value.device))
    for value in arguments:
        # Asked of the type, since an instance may answer any name.
        device_of = getattr(type(value), "__dlpack_device__", None)
        if device_of is not None and torch is not None and not isinstance(value, (type, torch.Tensor)):
            try:
                kind, index = device_of(value)
            except Exception:  # the exporter's own refusal, of any type: binding the argument reports it
                continue
            if kind in (2, 10, 13):
                return Target("triton", torch_arch(torch, index))
    return Target("host")
