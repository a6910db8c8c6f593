"""Kernels as torch operators, which `torch.compile` leaves whole."""
from __future__ import annotations

import math
import re

from ..errors import ConfigurationError
from . import outputs as outs_of
from .arrays import torch_dtype
from .dtypes import DTYPES
from .interface import REQUIRED, View, symbol_of

_NAME = re.compile(r"(?:([A-Za-z_]\w*)::)?([A-Za-z_]\w*)\Z")


def register(kernel, plan, name: str):
    """Registers `kernel.run` as the operator `namespace::name` (namespace `intent` where none is given) and returns it.

    It takes the run-time arguments but `Out` views in declaration order, changes `InOut` views in place and returns the `Out`
    views as new tensors. An `Out` whose extents follow from no other argument is an argument that is changed in place. ConfigurationError.
    """
    try:
        import torch
    except ImportError:
        raise ConfigurationError("registering an operator needs torch, which is not installed", source="as_torch_op") from None
    match = _NAME.match(name) if isinstance(name, str) else None
    if match is None:
        raise ConfigurationError(f"an operator's name is 'name' or 'namespace::name', not {name!r}", source="as_torch_op")
    qualified = f"{match[1] or 'intent'}::{match[2]}"
    given, returned = _split(plan)
    changed = [p.name for p in given if isinstance(p, View) and p.written]

    def execute(*values):
        complete, _ = outs_of.complete(plan, values, {}, None)
        kernel(*complete)
        return _results([complete[plan.names[view.name]] for view in returned])

    def fake(*values):
        return _results([_empty_like(torch, shape, view.dtype, values, plan) for view, shape in _shapes(plan, given, returned, values)])

    try:
        operator = torch.library.custom_op(qualified, execute, mutates_args=changed, device_types=plan.device_type,
                                           schema=_schema(given, returned))
        operator.register_fake(fake)
    except (RuntimeError, ValueError) as error:
        raise ConfigurationError(f"torch refuses the operator {qualified}: {error}", source="as_torch_op") from error
    return operator


def _split(plan):
    """`(parameters that are arguments, Out views that are results)`, each in declaration order."""
    known = {name for _, view in plan.views if view.access != "out" for name in _symbols(view)}
    returned = []
    for _, view in plan.views:
        if view.access == "out":
            if _symbols(view) <= known:
                returned.append(view)
            known |= _symbols(view)
    return [p for p in plan.parameters if p not in returned], returned


def _symbols(view) -> set:
    return {name for expression in view.shape for name in expression.symbols | expression.parameters if not name.startswith("%")}


def _schema(given, returned) -> str:
    arguments, letters = [], iter("abcdefghijklmnopqrstuvwxyz")
    defaults = True
    for parameter in reversed(given):
        if isinstance(parameter, View):
            defaults = False
            arguments.append(parameter)
            continue
        kind = DTYPES[parameter.dtype].kind
        text = f"{'bool' if kind == 'bool' else 'float' if kind == 'float' else 'SymInt'} {parameter.name}"
        # A schema has defaults only behind all arguments without one, and no word for infinities.
        defaults = defaults and parameter.default is not REQUIRED and math.isfinite(parameter.default)
        arguments.append(f"{text}={parameter.default!r}" if defaults else text)
    texts = []
    for entry in reversed(arguments):
        if isinstance(entry, View):
            entry = f"Tensor({next(letters)}!) {entry.name}" if entry.written else f"Tensor {entry.name}"
        texts.append(entry)
    results = "Tensor" if len(returned) == 1 else f"({', '.join(['Tensor'] * len(returned))})"
    return f"({', '.join(texts)}) -> {results}"


def _shapes(plan, given, returned, values):
    """`(view, extents)` of each result, in the extents of the arguments, which may be symbolic."""
    symbols: dict = {}
    for parameter, value in zip(given, values):
        if isinstance(parameter, View):
            for expression, extent in zip(parameter.shape, value.shape):
                name = symbol_of(expression)
                if name is not None:
                    symbols.setdefault(name, extent)
        elif DTYPES[parameter.dtype].kind != "float":
            symbols["%" + parameter.name] = value
    return [(view, [expression.evaluate(symbols, symbols, number=_itself) for expression in view.shape]) for view in returned]


def _itself(value):
    return value


def _empty_like(torch, shape, dtype, values, plan):
    device = next((value.device for value in values if isinstance(value, torch.Tensor)), plan.device_type)
    return torch.empty(shape, dtype=torch_dtype(torch, dtype), device=device)


def _results(tensors):
    if not tensors:
        return None
    return tensors[0] if len(tensors) == 1 else tuple(tensors)
