"""Arguments of `run` and `prepare`: which `Out` views a call gives, and the allocation of the others."""
from __future__ import annotations

import operator
from collections.abc import Mapping

from ..errors import CallError
from .arrays import UnusableArray, allocate_like
from .binding import Plan, fill
from .expressions import ExpressionError
from .interface import REQUIRED, View, symbol_of


def complete(plan: Plan, arguments, keywords, shapes):
    """`(values, positions of Out views)`: one value a parameter, missing Outs allocated like the first view argument.

    Positional arguments are all run-time arguments but `Out` views, in declaration order; an Out whose extents follow from nothing else
    takes an array in its place, and so may all of them. `shapes` gives extents of symbols by name. CallError.
    """
    shapes = _checked_shapes(plan, shapes)
    outs = [at for at, p in plan.views if p.access == "out"]
    for name in keywords:
        if name not in plan.names:
            raise CallError(f"unexpected argument {name!r}", parameter=name, expected="one of " + ", ".join(map(repr, plan.names)), actual=repr(name))
    given = _given_outs(plan, outs, len(arguments), keywords, shapes)
    taken = [p for at, p in enumerate(plan.parameters) if at not in outs or at in given or p.name in keywords]
    values = dict(zip((p.name for p in taken), fill(taken, arguments, keywords)))
    missing = [at for at in outs if plan.parameters[at].name not in values]
    if missing:
        _allocate(plan, missing, values, shapes)
    return [values[p.name] for p in plan.parameters], outs


def by_name(plan: Plan, outputs) -> dict:
    """`outputs` in order, by the names of the `Out` views. CallError for another count."""
    names = [view.name for _, view in plan.views if view.access == "out"]
    if len(outputs) != len(names):
        raise CallError("outputs", parameter="outputs", expected=f"{len(names)} ({', '.join(names)})", actual=str(len(outputs)))
    return dict(zip(names, outputs))


def results(values, outs):
    """One Out: its array; several: a tuple; none: None."""
    if not outs:
        return None
    return values[outs[0]] if len(outs) == 1 else tuple(values[at] for at in outs)


def _checked_shapes(plan, shapes) -> dict:
    checked = {}
    known = {name for _, view in plan.views for name in map(symbol_of, view.shape) if name}
    if shapes is not None and not isinstance(shapes, Mapping):
        raise CallError("shapes", parameter="shapes", expected="a dict from symbols to extents", actual=type(shapes).__name__)
    for name, extent in (shapes or {}).items():
        if name not in known:
            raise CallError(f"shapes names {name!r}", parameter="shapes", expected="a symbol of " + ", ".join(map(repr, sorted(known))), actual=repr(name))
        try:
            checked[name] = operator.index(extent)
        except TypeError:
            raise CallError(f"extent {name!r} in shapes", parameter="shapes", expected="an int", actual=type(extent).__name__) from None
        if checked[name] < 0:
            raise CallError(f"extent {name!r} in shapes", parameter="shapes", expected="at least 0", actual=str(extent))
    return checked


def _symbols(view) -> set:
    return {name for expression in view.shape for name in expression.symbols | expression.parameters if not name.startswith("%")}


def _given_outs(plan, outs, count, keywords, shapes) -> set:
    """Positions of the Outs that positional arguments cover: none, those that nothing else determines, or all."""
    known = set(shapes)
    for at, view in plan.views:
        if at not in outs or view.name in keywords:
            known |= _symbols(view)
    undetermined = set()
    for at in outs:
        view = plan.parameters[at]
        if view.name not in keywords and not _symbols(view) <= known:
            undetermined.add(at)
            known |= _symbols(view)
    open_outs = {at for at in outs if plan.parameters[at].name not in keywords}
    inputs = [p for at, p in enumerate(plan.parameters) if at not in outs and p.name not in keywords]
    required = sum(1 for p in inputs if isinstance(p, View) or p.default is REQUIRED)
    extra = count - len(inputs)
    if undetermined and extra == len(undetermined):
        return undetermined
    if extra > 0 and extra == len(open_outs):
        return open_outs
    if undetermined and extra <= 0 and count >= required:
        view = plan.parameters[min(undetermined)]
        loose = sorted(_symbols(view) - _bound_without(plan, outs, keywords, shapes))
        raise CallError(f"the extents of {view.name!r} follow from no argument", parameter=view.name,
                        expected=f"shapes={{{', '.join(f'{name!r}: ...' for name in loose)}}}, or an array in its place", actual="neither")
    return set()


def _bound_without(plan, outs, keywords, shapes) -> set:
    bound = set(shapes)
    for at, view in plan.views:
        if at not in outs or view.name in keywords:
            bound |= _symbols(view)
    return bound


def _allocate(plan, missing, values, shapes):
    symbols = dict(shapes)
    like = None
    for at, view in plan.views:
        if view.name not in values:
            continue
        described = plan.describe_checked(at, values[view.name])
        like = values[view.name] if like is None else like
        for axis, (expression, extent) in enumerate(zip(view.shape, described.extents)):
            name = symbol_of(expression)
            if name is None:
                continue
            if name in shapes and shapes[name] != extent:
                raise CallError(f"shapes and argument {view.name!r} disagree on {name!r}", parameter=view.name,
                                expected=f"extent of axis {axis} equal to {shapes[name]}", actual=str(extent))
            symbols.setdefault(name, extent)
    for at, symbol in plan.integer_scalars:
        value = values[plan.parameters[at].name]
        if isinstance(value, int):
            symbols[symbol] = int(value)
    for at in missing:
        view = plan.parameters[at]
        try:
            extents = tuple(expression.evaluate(symbols, symbols) for expression in view.shape)
        except ExpressionError as error:
            raise CallError(f"the extents of {view.name!r} cannot be computed", parameter=view.name, expected="shapes, or an array in its place", actual=str(error)) from None
        try:
            values[view.name] = allocate_like(like, extents, view.dtype)
        except UnusableArray as error:
            raise CallError(f"argument {view.name!r}", parameter=view.name, expected=error.expected, actual=error.actual) from None
