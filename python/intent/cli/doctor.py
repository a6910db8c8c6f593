"""Show versions, libraries, tuning tables, devices and the cache, and say what is missing."""
from __future__ import annotations

import importlib.metadata
import os
import platform

from .. import __version__, cache, eviction, native, targets
from ..errors import IntentError


def add_arguments(parser) -> None:
    parser.add_argument("--no-devices", action="store_true", help="do not import torch to look for devices")


def execute(options) -> int:
    """Prints the report. Status 1 if a kernel could not be compiled and run on the host."""
    rows = [("intent", __version__), ("python", f"{platform.python_version()} on {platform.machine()}, {os.cpu_count()} CPUs")]
    rows += [(name, _version(name)) for name in ("numpy", "ml_dtypes", "torch", "triton")]
    compiler, compiler_works = _compiler()
    host, host_works = _host()
    rows += [("compiler", compiler), ("host library", host)]
    rows += [(f"table {provider}", path) for provider, path in native.table_paths().items()] or [("tables", "none found beside the package; the compiler uses its own")]
    rows.append(("cache", _cache()))
    rows.append(("targets", "host, " + ", ".join(f"{name}:{example}" for name, (_, _, example) in targets.PROVIDERS.items() if example) + ", ..."))
    rows.append(("devices", "not asked" if options.no_devices else _devices()))
    width = max(len(name) for name, _ in rows)
    for name, text in rows:
        print(f"{name.ljust(width)}  {text}")
    return 0 if compiler_works and host_works else 1


def _version(name) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed" + {"ml_dtypes": " (bf16 and f8 NumPy arrays need it)", "triton": " (generating needs none; running does)"}.get(name, "")


def _compiler() -> tuple:
    try:
        library = native.compiler()
    except IntentError as error:
        return f"missing: {error}", False
    return f"{library.path} ({library.build_info})", True


def _host() -> tuple:
    try:
        native.host_library()
    except IntentError as error:
        return f"missing: {error}", False
    return str(native.find_library("libintent-host.so")), True


def _cache() -> str:
    root = cache.configured_root()
    existing = root
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    try:
        limit = eviction.configured_limit()
    except IntentError as error:
        return f"{root} ({error})"
    kept = "unlimited" if limit is None else f"limit {limit / 2**30:.3g} GiB"
    return f"{root} ({kept}{'' if existing.is_dir() and os.access(existing, os.W_OK) else ', cannot be written'})"


def _devices() -> str:
    try:
        import torch
    except ImportError:
        return "none visible (torch is not installed)"
    if not torch.cuda.is_available():
        return "none visible to torch"
    found = [f"{torch.cuda.get_device_name(i)} ({targets.torch_arch(torch, i)})" for i in range(torch.cuda.device_count())]
    return ", ".join(found)
