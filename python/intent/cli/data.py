"""Arguments of a run from the command line: extents and scalars as given, random contents."""
from __future__ import annotations

import numpy as np

from .. import targets
from ..errors import CallError, ConfigurationError
from ..runtime import interface as interfaces
from ..runtime.dtypes import DTYPES
from ..runtime.expressions import ExpressionError
from .loading import integer_pairs, json_pairs


def add_data_arguments(parser) -> None:
    parser.add_argument("--shape", metavar="M=INT", action="append", default=[], help="extent of a shape symbol")
    parser.add_argument("--scalar", metavar="S=JSON", action="append", default=[], help="value of a run-time scalar (default: the author's, else 1)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random inputs")


def data_arguments(options, interface, target) -> list:
    """One value a parameter for parsed options. ConfigurationError, CallError."""
    return random_arguments(interface, integer_pairs(options.shape, "--shape"), json_pairs(options.scalar, "--scalar"), options.seed, target)


def random_arguments(interface, extents, scalars, seed, target) -> list:
    rng = np.random.default_rng(seed)
    symbols = dict(extents)
    values: dict = {}
    for parameter in interface.parameters:
        if isinstance(parameter, interfaces.Scalar):
            default = 1 if parameter.default is interfaces.REQUIRED else parameter.default
            if DTYPES[parameter.dtype].kind == "bool":
                default = bool(default)
            values[parameter.name] = scalars.pop(parameter.name, default)
            if isinstance(values[parameter.name], int):
                symbols["%" + parameter.name] = int(values[parameter.name])
    if scalars:
        raise ConfigurationError(f"no run-time scalar is named {next(iter(scalars))!r}", source="--scalar")
    wanted = sorted({s for v in interface.views for e in v.shape for s in e.symbols | e.parameters if not s.startswith("%")})
    for name in extents:
        if name not in wanted:
            raise ConfigurationError(f"no extent is named {name!r}; the symbols: {', '.join(wanted) or 'none'}", source="--shape")
    missing = [name for name in wanted if name not in symbols]
    if missing:
        raise ConfigurationError("the run needs " + " ".join(f"--shape {name}=..." for name in missing), source="--shape")
    for view in interface.views:
        try:
            shape = tuple(e.evaluate(symbols, symbols) for e in view.shape)
            values[view.name] = _on_device(_random(rng, view, shape), view, target)
        except (ExpressionError, ValueError) as error:
            raise CallError(f"argument {view.name!r}: {error}", parameter=view.name) from None
    return [values[p.name] for p in interface.parameters]


def _random(rng, view, shape):
    """Random contents: normal floats, integers in 0..7 (so that indices are small), zeros for Outs."""
    dtype = DTYPES[view.dtype]
    if view.access == "out":
        return np.zeros(shape, dtype.numpy_dtype())
    if dtype.kind == "float":
        return rng.standard_normal(shape).astype(dtype.numpy_dtype())
    return rng.integers(0, 2 if dtype.kind == "bool" else 8, shape).astype(dtype.numpy_dtype())


def _on_device(array, view, target):
    if target.device_type == "cpu":
        return array
    targets.require_device(target)
    import torch

    # Through bytes, since torch does not read the NumPy types of ml_dtypes.
    raw = torch.from_numpy(np.ascontiguousarray(array).reshape(-1).view(np.uint8).copy())
    return raw.view(getattr(torch, DTYPES[view.dtype].torch)).reshape(array.shape).to(target.device_type)
