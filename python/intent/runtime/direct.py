"""Direct calls `kernel(x, y, N=3)`: constexprs by keyword, types and device from the arguments, one compilation a specialisation."""
from __future__ import annotations

import numpy as np

from .. import compiler, freshness, targets
from ..capture import capture
from ..errors import CallError
from .arrays import NotAnArray, UnusableArray, describe
from .binding import fill
from .dtypes import DTYPES
from .expressions import parse
from .interface import REQUIRED, Scalar, View, decode_number


class _Direct:
    """What direct calls of one kernel share: its parameters as captured, and the compiled kernels by specialisation."""

    def __init__(self, kernel):
        self.watched = freshness.watch(kernel)
        request = capture(kernel, {}, {})
        parameters = request["functions"][request["entry"]]["params"]
        self.constexprs = {p["name"]: p for p in parameters if p["kind"] == "constexpr"}
        self.runtime = tuple(_parameter(p) for p in parameters if p["kind"] != "constexpr")
        captured = [p for p in parameters if p["kind"] != "constexpr"]
        self.typed = [(at, p["dtype"]["typevar"]) for at, p in enumerate(captured) if isinstance(p["dtype"], dict)]
        self.type_views = [(at, name) for at, name in self.typed if captured[at]["kind"] == "view"]
        self.allowed = {p["dtype"]["typevar"]: p["dtype"].get("dtypes") or list(DTYPES) for p in captured if isinstance(p["dtype"], dict)}
        self.views = [at for at, p in enumerate(captured) if p["kind"] == "view"]
        self.compiled: dict = {}


def call(kernel, arguments, keywords) -> None:
    """Runs the kernel. CallError for arguments; otherwise what `intent.compile` and the launch raise."""
    state = kernel.__dict__.get("_direct_calls")
    if state is None or not freshness.unchanged(state.watched):
        state = kernel._direct_calls = _Direct(kernel)
    constexprs, scalars = {}, keywords
    if keywords:
        constexprs = {name: value for name, value in keywords.items() if name in state.constexprs}
        if constexprs:
            scalars = {name: value for name, value in keywords.items() if name not in constexprs}
    values = arguments
    if scalars or len(arguments) != len(state.runtime):
        for name in scalars:
            if all(name != p.name for p in state.runtime):
                known = ", ".join(repr(p.name) for p in state.runtime) + "".join(f", {n!r}" for n in state.constexprs)
                raise CallError(f"unexpected argument {name!r}", parameter=name, expected=f"one of {known}", actual=repr(name))
        values = fill(state.runtime, arguments, scalars)
    try:
        # NumPy arrays alone mean the host; anything else says where it lives.
        place = None
        for at in state.views:
            if type(values[at]) is not np.ndarray:
                place = tuple([getattr(values[i], "device", None) for i in state.views])
                break
        key = (tuple([(name, type(value), value.hex() if type(value) is float else value) for name, value in constexprs.items()]),
               tuple([getattr(values[at], "dtype", None) for at, _ in state.type_views]), place)
        compiled = state.compiled.get(key)
    except Exception:  # a value that no key can hold, or an object that does not bear questions: the checks name it
        key = compiled = None
    if compiled is None:
        compiled = _compile(kernel, state, values, constexprs)
        if key is not None:
            state.compiled[key] = compiled
    compiled(*values)


def _compile(kernel, state, values, constexprs):
    for name, parameter in state.constexprs.items():
        if name not in constexprs and parameter.get("default") is None:
            raise CallError(f"missing constexpr {name!r}", parameter=name, expected=f"{name}=... by keyword", actual="nothing")
    types: dict = {}
    for at, name in state.type_views:
        if name not in types:
            found, allowed = _array(state.runtime[at], values[at]).dtype, state.allowed[name]
            if found == "i64" and "i64" not in allowed and "index" in allowed:
                found = "index"
            if found not in allowed:
                raise CallError(f"argument {state.runtime[at].name!r}", parameter=state.runtime[at].name, expected=f"dtype {' or '.join(allowed)}", actual=found)
            types[name] = found
    for at, name in state.typed:
        if name not in types:
            raise CallError(f"the type of {state.runtime[at].name!r} follows from no array argument", parameter=state.runtime[at].name,
                            expected=f"intent.compile(..., types={{{name!r}: ...}})", actual="a direct call")
    return compiler.compile(kernel, targets.of_arrays([values[at] for at in state.views]), constexprs=constexprs, types=types)


def _array(parameter, value):
    try:
        return describe(value)
    except NotAnArray as error:
        raise CallError(f"argument {parameter.name!r}", parameter=parameter.name, expected="an array", actual=str(error)) from None
    except UnusableArray as error:
        raise CallError(f"argument {parameter.name!r}", parameter=parameter.name, expected=error.expected, actual=error.actual) from None


def _parameter(captured):
    """The parameter as far as arranging arguments needs it."""
    dtype = captured["dtype"] if isinstance(captured["dtype"], str) else captured["dtype"]["typevar"]
    if captured["kind"] == "scalar":
        default = captured.get("default")
        return Scalar(captured["name"], dtype, REQUIRED if default is None else decode_number(default))
    shape = tuple(parse(item if isinstance(item, int) else f'"{item}"') for item in captured["shape"])
    return View(captured["name"], dtype, shape, captured["access"], captured["noalias"], captured["alias"], None)
