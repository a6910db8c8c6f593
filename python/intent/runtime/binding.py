"""Checking and binding the arguments of one call.

A `Plan` is made once per compiled kernel. Its first call with some signature (dtypes, extents, strides, devices, and the integer
scalars that extents, checks or the choice of candidates mention) runs every check and leaves a `Layout`; later calls with that signature only compare the
signature, convert scalars, and test byte intervals of written views.
"""
from __future__ import annotations

import sys

import numpy as np

from ..errors import CallError
from . import overlap as memory
from .arrays import NotAnArray, UnusableArray, describe, tensor_pointer
from .dtypes import DTYPES, ScalarMismatch, convert_scalar, same_storage
from .expressions import ExpressionError, infix
from .interface import REQUIRED, Interface, Scalar, View, symbol_of

_LAYOUT_LIMIT = 1024


class Layout:
    """What follows from a signature alone: `extents` and `strides` (elements) a view, `spans` (bytes from element 0), `symbols`,
    `device`. `provider_data` is a place where a launcher keeps what it derives from them, `rows` one where the tuner keeps the
    configuration rows of such calls, by the provider's further facts."""

    __slots__ = ("extents", "strides", "spans", "itemsizes", "symbols", "device", "provider_data", "rows")

    def __init__(self, extents, strides, spans, itemsizes, symbols, device):
        self.extents = extents
        self.strides = strides
        self.spans = spans
        self.itemsizes = itemsizes
        self.symbols = symbols
        self.device = device
        self.provider_data = None
        self.rows: dict = {}


class Bound:
    """One checked call. `values` in declaration order: array objects as given, scalars converted to Python numbers. `pointers` holds the
    address of element 0 of each view, in view order; `symbols` every launch symbol (`"M"`, and `"%H"` for an integer scalar)."""

    __slots__ = ("values", "pointers", "layout", "keep", "symbols")

    def __init__(self, values, pointers, layout, keep, symbols):
        self.values = values
        self.pointers = pointers
        self.layout = layout
        self.keep = keep
        self.symbols = symbols


class Plan:
    """The checks of one interface, compiled. `device_type` is "cpu" or the accelerator's device type ("cuda", "mlu")."""

    def __init__(self, interface: Interface, device_type: str):
        self.interface = interface
        self.device_type = device_type
        self.parameters = interface.parameters
        self.count = len(self.parameters)
        self.views = [(at, p) for at, p in enumerate(self.parameters) if isinstance(p, View)]
        self.scalars = [(at, p) for at, p in enumerate(self.parameters) if isinstance(p, Scalar)]
        self.names = {p.name: at for at, p in enumerate(self.parameters)}
        self._masks = [DTYPES[p.dtype].itemsize - 1 for _, p in self.views]
        self._pairs = self._guarded_pairs()
        self._groups = self._alias_groups()
        mentioned = self._mentioned_symbols()
        self.selecting_scalars = {name for e in interface.selectors for name in e.symbols | e.parameters if name.startswith("%")}
        # Integer scalars whose value is part of the signature: (position, symbol).
        self._keyed = [(at, "%" + p.name) for at, p in self.scalars if "%" + p.name in mentioned]
        self.integer_scalars = [(at, "%" + p.name) for at, p in self.scalars if DTYPES[p.dtype].kind in ("int", "uint", "bool")]
        self._layouts: dict = {}

    def _mentioned_symbols(self):
        expressions = [condition for condition, _ in self.interface.checks] + [guard for _, guard in self.interface.guards] + list(self.interface.selectors)
        for _, view in self.views:
            expressions += view.shape
            expressions += [item for item in view.strides or () if item is not None]
        return set().union(*(e.symbols | e.parameters for e in expressions))

    def _guarded_pairs(self):
        """(view index, view index, permission) of pairs whose overlap matters: one of them is written."""
        pairs = []
        for i, (_, a) in enumerate(self.views):
            for j in range(i + 1, len(self.views)):
                b = self.views[j][1]
                if not (a.written or b.written):
                    continue
                # The compiler lists each pair that it has proven safe to overlap; a pair without an entry must be disjoint.
                permission = self.interface.overlaps.get((a.name, b.name), "disjoint")
                if (a.noalias or b.noalias) and not (a.alias and a.alias == b.alias):
                    permission = "disjoint"
                if permission != "any":
                    pairs.append((i, j, permission))
        return pairs

    def _alias_groups(self):
        """Lists of (position, view) that share an alias group of two or more."""
        by_name: dict = {}
        for at, view in self.views:
            if view.alias:
                by_name.setdefault(view.alias, []).append((at, view))
        return [members for members in by_name.values() if len(members) > 1]

    def forget(self) -> None:
        """Drops the layouts, so that the next call decides its row again."""
        self._layouts.clear()

    # -- from call syntax to one value a parameter ------------------------------------------------------------

    def arrange(self, arguments, keywords) -> list:
        """One value for each parameter, from positional arguments, keywords, and scalar defaults. CallError."""
        if not keywords and len(arguments) == self.count:
            return list(arguments)
        for name in keywords:
            if name not in self.names:
                raise CallError(f"unexpected argument {name!r}", parameter=name, expected="one of " + ", ".join(map(repr, self.names)), actual=repr(name))
        return fill(self.parameters, arguments, keywords)

    # -- checks ------------------------------------------------------------------------------------------------

    def bind(self, values) -> Bound:
        """Checks one value a parameter and binds them. `values` is changed: scalars become Python numbers. CallError."""
        for at, parameter in self.scalars:
            try:
                values[at] = convert_scalar(parameter.dtype, values[at])
            except ScalarMismatch as mismatch:
                raise _call_error(parameter, mismatch.expected, mismatch.actual) from None
        key = [values[at] for at, _ in self._keyed] if self._keyed else []
        pointers, arrays = [], None
        ndarray, torch = np.ndarray, sys.modules.get("torch")
        for (at, _), mask in zip(self.views, self._masks):
            value = values[at]
            if type(value) is ndarray:
                pointer, readonly = value.__array_interface__["data"]
                key.append((value.dtype, value.shape, value.strides, readonly, pointer & mask))
            elif torch is not None and type(value) is torch.Tensor and (pointer := tensor_pointer(torch, value)):
                key.append((value.dtype, value.shape, value.stride(), value.device, value.is_neg(), pointer & mask))
            else:
                if arrays is None:
                    arrays = {}
                described = self._describe(at, value)
                arrays[at] = described
                pointer = described.pointer
                key.append((described.dtype, described.extents, described.strides, described.readonly, pointer & mask, described.device))
            pointers.append(pointer)
        key = tuple(key)
        layout = self._layouts.get(key)
        if layout is None:
            layout = self._check(values, arrays or {})
            if len(self._layouts) >= _LAYOUT_LIMIT:
                self._layouts.clear()
            self._layouts[key] = layout
        spans = layout.spans
        for i, j, permission in self._pairs:
            low_i, high_i = spans[i]
            low_j, high_j = spans[j]
            if pointers[i] + low_i < pointers[j] + high_j and pointers[j] + low_j < pointers[i] + high_i:
                self._check_overlap(i, j, permission, pointers, layout)
        if self._groups:
            self._check_groups(values)
        symbols = layout.symbols
        if self.integer_scalars:
            symbols = dict(symbols)
            for at, name in self.integer_scalars:
                symbols[name] = int(values[at])
        return Bound(values, pointers, layout, arrays, symbols)

    def describe_checked(self, at, value):
        """The description of the view argument at a position, after the checks that need no other argument. CallError."""
        described = self._describe(at, value)
        self._check_view(self.parameters[at], described)
        return described

    def _describe(self, at, value):
        parameter = self.parameters[at]
        try:
            return describe(value)
        except NotAnArray as error:
            raise _call_error(parameter, _view_text(parameter), str(error)) from None
        except UnusableArray as error:
            raise _call_error(parameter, error.expected, error.actual) from error.__cause__

    def _check(self, values, arrays) -> Layout:
        """Every check that the signature decides; the layout it proves."""
        described = [arrays.get(at) or self._describe(at, values[at]) for at, _ in self.views]
        device = self._check_device(described)
        symbols = {name: int(values[at]) for at, name in self.integer_scalars}
        for (_, view), array in zip(self.views, described):
            self._check_view(view, array)
        self._bind_symbols(described, symbols)
        for condition, message in self.interface.checks:
            self._check_condition(condition, message, symbols)
        self._check_guards(symbols)
        spans = [memory.span(a.extents, a.byte_strides, a.itemsize) for a in described]
        return Layout([a.extents for a in described], [a.strides for a in described], spans, [a.itemsize for a in described], symbols, device)

    def _check_guards(self, symbols):
        guards = self.interface.guards
        if guards and not any(guard.evaluate(symbols) for _, guard in guards):
            used = sorted(set().union(*(guard.symbols for _, guard in guards)))
            raise CallError("no variant of the program admits this call", expected=" or ".join(f"{infix(guard.text)} ({name})" for name, guard in guards),
                            actual=", ".join(f"{name} = {symbols.get(name)}" for name in used))

    def _check_device(self, described):
        first = None
        for (_, view), array in zip(self.views, described):
            if array.device.split(":")[0] != self.device_type:
                wanted = "an array in host memory" if self.device_type == "cpu" else f"an array on a {self.device_type} device"
                raise _call_error(view, wanted, f"one on {array.device}")
            if first is None:
                first = (view, array.device)
            elif array.device != first[1]:
                raise _call_error(view, f"an array on {first[1]}, where {first[0].name!r} is", f"one on {array.device}")
        return first[1] if first else None

    def _check_view(self, view, array):
        if not same_storage(view.dtype, array.dtype):
            raise _call_error(view, f"dtype {view.dtype}", array.dtype)
        if len(array.extents) != len(view.shape):
            raise _call_error(view, f"rank {len(view.shape)}, shape {_shape_text(view)}", f"rank {len(array.extents)}, shape {_tuple_text(array.extents)}")
        empty = 0 in array.extents
        if not empty and array.pointer % array.itemsize:
            raise _call_error(view, f"elements at an address that is a multiple of {array.itemsize}", f"address {array.pointer:#x}")
        if not view.written:
            return
        if array.readonly:
            raise _call_error(view, f"a writable array for {'Out' if view.access == 'out' else 'InOut'}", "a read-only one")
        if not memory.internally_disjoint(array.extents, array.byte_strides, array.itemsize):
            raise _call_error(view, "a written view whose elements have addresses of their own", f"shape {_tuple_text(array.extents)} with strides {_tuple_text(array.strides)}, whose elements share addresses")

    def _bind_symbols(self, described, symbols):
        """Equal symbols need equal extents (or strides); fixed and computed ones must hold."""
        seen: dict = {}
        deferred = []

        def meet(view, what, expression, actual):
            name = symbol_of(expression)
            if expression.constant is not None:
                if actual != expression.constant:
                    raise _call_error(view, f"{what} {expression.constant}", str(actual))
            elif name is None or name.startswith("%"):
                deferred.append((view, what, expression, actual))
            elif name not in seen:
                seen[name] = (view, what, actual)
                symbols[name] = actual
            elif seen[name][2] != actual:
                other, other_what, value = seen[name]
                raise CallError(f"arguments {other.name!r} and {view.name!r} disagree on {name!r}", parameter=view.name,
                                expected=f"{what} of {view.name!r} equal to {value}, the {other_what} of {other.name!r}", actual=str(actual))

        for (_, view), array in zip(self.views, described):
            for axis, (expression, extent) in enumerate(zip(view.shape, array.extents)):
                meet(view, f"extent of axis {axis}", expression, extent)
        for (_, view), array in zip(self.views, described):
            for axis, expression in enumerate(view.strides or ()):
                # The stride of an axis with at most one element addresses nothing.
                if expression is not None and array.extents[axis] > 1 and 0 not in array.extents:
                    meet(view, f"stride of axis {axis}", expression, array.strides[axis])
        for view, what, expression, actual in deferred:
            try:
                wanted = expression.evaluate(symbols, symbols)
            except ExpressionError as error:
                raise _call_error(view, f"{what} {expression.text}", f"{actual}; {error}") from None
            if wanted != actual:
                raise _call_error(view, f"{what} {wanted} ({expression.text})", str(actual))

    def _check_condition(self, condition, message, symbols):
        try:
            holds = condition.evaluate(symbols, symbols)
        except ExpressionError as error:
            # A symbol that no argument of this call binds (a stride symbol of an empty axis) makes the condition vacuous.
            if (condition.symbols | condition.parameters) - symbols.keys():
                return
            raise CallError(f"{message} ({error})") from None
        if not holds:
            values = ", ".join(f"{name.lstrip('%')} = {symbols[name]}" for name in sorted(condition.symbols | condition.parameters) if name in symbols)
            raise CallError(f"{message} ({values})" if values else message, expected=infix(condition.text), actual=values or None)

    def _check_overlap(self, i, j, permission, pointers, layout):
        def place(k):
            size = layout.itemsizes[k]
            return pointers[k], layout.extents[k], [stride * size for stride in layout.strides[k]], size

        if permission == "identical_or_disjoint" and memory.identical(*place(i), *place(j)):
            return
        if not memory.overlap(*place(i), *place(j)):
            return
        a, b = self.views[i][1], self.views[j][1]
        wanted = "the same elements in the same order, or no memory in common" if permission == "identical_or_disjoint" else "no memory in common"
        raise CallError(f"arguments {a.name!r} and {b.name!r} overlap in memory", parameter=b.name, expected=wanted,
                        actual="the same elements" if memory.identical(*place(i), *place(j)) else "a partial overlap")

    def _check_groups(self, values):
        """Views of one alias group share an allocation, where the array library says whose memory it is."""
        for members in self._groups:
            first_at, first = members[0]
            owner = describe(values[first_at]).owner
            for at, view in members[1:]:
                other = describe(values[at]).owner
                if owner is not None and other is not None and owner[0] == other[0] and owner != other:
                    raise _call_error(view, f"a view of the allocation of {first.name!r} (alias group {view.alias!r})", "another allocation")


def fill(parameters, arguments, keywords) -> list:
    """One value a parameter: keywords first, positional arguments in order for the rest, defaults for scalars left out. CallError.

    Where arguments are short, scalars with a default are the ones left out, the last first.
    """
    taken = dict(keywords)
    rest = [p for p in parameters if p.name not in taken]
    optional = [p for p in rest if isinstance(p, Scalar) and p.default is not REQUIRED]
    for parameter in reversed(optional):
        if len(arguments) >= len(rest):
            break
        rest.remove(parameter)
        taken[parameter.name] = parameter.default
    if len(arguments) < len(rest):
        missing = rest[len(arguments)]
        raise CallError(f"missing argument {missing.name!r}", parameter=missing.name, expected=_view_text(missing), actual="nothing")
    if len(arguments) > len(rest):
        raise CallError("too many arguments", expected=f"{len(rest)} ({', '.join(p.name for p in rest)})", actual=str(len(arguments)))
    taken.update((p.name, value) for p, value in zip(rest, arguments))
    return [taken[p.name] for p in parameters]


def _call_error(parameter, expected, actual) -> CallError:
    return CallError(f"argument {parameter.name!r}", parameter=parameter.name, expected=expected, actual=actual)


def _shape_text(view) -> str:
    return _tuple_text([e.constant if e.constant is not None else symbol_of(e) or e.text for e in view.shape])


def _tuple_text(items) -> str:
    items = [str(item) for item in items]
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def _view_text(view) -> str:
    if isinstance(view, Scalar):
        return f"{view.dtype} scalar"
    return f"an array of {view.dtype}, shape {_shape_text(view)}"
