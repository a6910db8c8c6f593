"""From `KERNEL.py:name` and option texts to a kernel, constexprs, types and options."""
from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

from ..capture import KernelFunction, capture
from ..errors import ConfigurationError
from ..requests import CompileOptions


class UserCodeError(Exception):
    """The file that holds a kernel raised while it was imported; the exception is the cause. `filename` is that file."""

    def __init__(self, message, filename):
        super().__init__(message)
        self.filename = filename


def add_kernel_arguments(parser) -> None:
    """The arguments that every command about one kernel takes."""
    parser.add_argument("kernel", metavar="KERNEL.py:name", help="file and name of a function decorated with @intent.kernel")
    parser.add_argument("--target", metavar="T", help="host (default), triton, triton:sm_90, cutile:sm_100, ...")
    parser.add_argument("--constexpr", metavar="N=JSON", action="append", default=[], help="value of a constexpr parameter; an enum member by its name")
    parser.add_argument("--type", metavar="T=DTYPE", action="append", default=[], help="dtype of a type variable")
    parser.add_argument("--tuning-config", metavar="P", help="file that replaces tuning table families")
    parser.add_argument("--numerics", choices=("source", "relaxed_normalization"), default="source")
    parser.add_argument("--check", action="store_true", help="host: check every access")


def compile_arguments(options) -> tuple:
    """`(kernel, keyword arguments of intent.compile or generate)` for parsed options. ConfigurationError, UserCodeError."""
    kernel = load_kernel(options.kernel)
    constexprs = {name: text for name, text in (_pair(item, "--constexpr") for item in options.constexpr)}
    types = {name: text for name, text in (_pair(item, "--type") for item in options.type)}
    return kernel, {"constexprs": _constexprs(kernel, constexprs), "types": types, "tuning_config": options.tuning_config,
                    "options": CompileOptions(numerics=options.numerics, check=options.check)}


def load_kernel(place: str) -> KernelFunction:
    """The kernel `name` of the file in `KERNEL.py:name`; the only kernel of the file where no name is given."""
    path_text, separator, name = place.rpartition(":")
    if not separator or not path_text.endswith(".py"):
        path_text, name = place, ""
    path = Path(path_text).absolute()
    if not path.is_file():
        raise ConfigurationError("no such file", source=path_text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None:
        raise ConfigurationError("not a Python file", source=path_text)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise UserCodeError(f"{path_text} could not be imported", str(path)) from error
    kernels = {key: value for key, value in vars(module).items() if isinstance(value, KernelFunction)}
    listed = ", ".join(kernels) or "none"
    if name:
        if name not in kernels:
            raise ConfigurationError(f"no kernel is named {name!r}; the kernels there: {listed}", source=path_text)
        return kernels[name]
    if len(kernels) != 1:
        raise ConfigurationError(f"name one kernel, as in {path.name}:NAME; the kernels there: {listed}", source=path_text)
    return next(iter(kernels.values()))


def parameters_of(kernel) -> list:
    """The kernel's parameters as captured (docs/request.md)."""
    request = capture(kernel, {}, {})
    return request["functions"][request["entry"]]["params"]


def integer_pairs(items, option) -> dict:
    """`["M=128"]` as {"M": 128}. ConfigurationError."""
    found = {}
    for item in items:
        name, text = _pair(item, option)
        try:
            found[name] = int(text)
        except ValueError:
            raise ConfigurationError(f"expected an int, got {text!r}", source=f"{option} {item}") from None
    return found


def json_pairs(items, option) -> dict:
    """`["eps=1e-5"]` as {"eps": 1e-05}. ConfigurationError."""
    return {name: _json(text, f"{option} {name}") for name, text in (_pair(item, option) for item in items)}


def _pair(item, option):
    name, separator, value = item.partition("=")
    if not separator or not name:
        raise ConfigurationError("expected NAME=VALUE", source=f"{option} {item}")
    return name.strip(), value.strip()


def _json(text, source):
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ConfigurationError(f"expected JSON, got {text!r}", source=source) from None


def _constexprs(kernel, texts) -> dict:
    known = {p["name"]: p["type"] for p in parameters_of(kernel) if p["kind"] == "constexpr"} if texts else {}
    values = {}
    for name, text in texts.items():
        kind = known.get(name)
        if isinstance(kind, dict):
            values[name] = _member(kernel, kind["enum"], text.strip('"'), name)
        elif kind == "str" and not text.startswith('"'):
            values[name] = text
        else:
            values[name] = _json(text, f"--constexpr {name}")
    return values


def _member(kernel, enum_name, member, name):
    from ..language import Enum

    for value in kernel.function.__globals__.values():
        if isinstance(value, type) and issubclass(value, Enum) and value.__name__ == enum_name:
            if member in value.__members__:
                return value.__members__[member]
            raise ConfigurationError(f"{member!r} is no member of {enum_name}: {', '.join(value.__members__)}", source=f"--constexpr {name}")
    raise ConfigurationError(f"the enumeration {enum_name} is not a name of the kernel's file", source=f"--constexpr {name}")
