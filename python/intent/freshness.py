"""Whether what a kernel captured by name is still what its names mean, by object identity, without capturing again."""
from __future__ import annotations

import builtins
import types

_MISSING = object()


def watch(kernel) -> list:
    """`(namespace, name, object)` of every name that the kernel and the helpers it reaches depend on."""
    watched: list = []
    pending, seen = [kernel], set()
    while pending:
        captured = pending.pop()
        if id(captured) in seen or not hasattr(captured, "source"):
            continue
        seen.add(id(captured))
        function, source = captured.function, captured.source()
        watched += [(_attributes, (function, attribute), getattr(function, attribute)) for attribute in ("__code__", "__defaults__", "__kwdefaults__")]
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
        for name, chains in source.free.items():
            if name in cells:
                watched.append((_cell, cells[name], _cell(cells[name])))
                value = watched[-1][2]
            else:
                space = function.__globals__ if name in function.__globals__ else vars(builtins)
                value = space.get(name, _MISSING)
                watched.append((function.__globals__, name, value if space is function.__globals__ else _MISSING))
            pending.append(value)
            # Only chains through modules are captured by value; `I.something` never changes its meaning.
            if not isinstance(value, types.ModuleType) or value.__name__.split(".")[0] == "intent":
                continue
            for chain in chains:
                at = value
                for attribute in chain:
                    if not isinstance(at, types.ModuleType):
                        break
                    space, at = vars(at), getattr(at, attribute, _MISSING)
                    watched.append((space, attribute, space.get(attribute, _MISSING)))
                    pending.append(at)
    return watched


def unchanged(watched) -> bool:
    """Whether every watched name still means the same object."""
    for space, name, value in watched:
        if type(space) is dict:
            if space.get(name, _MISSING) is not value:
                return False
        elif space(name) is not value:
            return False
    return True


def _cell(cell):
    try:
        return cell.cell_contents
    except ValueError:
        return _MISSING


def _attributes(place):
    function, attribute = place
    return getattr(function, attribute)
