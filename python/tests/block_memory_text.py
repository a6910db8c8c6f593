"""Block text of what shares memory: workspaces, scans, picks and atomics, as methods beside those of `Text`."""
from __future__ import annotations

from block_text import Text, Value


class MemoryText(Text):
    """`spaces` are workspaces (name, element, extents in inline form, zeroed)."""

    def __init__(self, name, arguments, privates=(), parameters=(), spaces=(), **more):
        super().__init__(name, arguments, privates, parameters, **more)
        self.spaces = list(spaces)
        self.types = {a[0]: (a[1], len(a[2])) for a in arguments if len(a) > 2} | {s[0]: (s[1], len(s[2])) for s in spaces}

    def load(self, view, coordinates, valid=(), fill=0, name=None, extents=None):
        arguments, self.arguments = self.arguments, [(v, e, (None,) * r, "") for v, (e, r) in self.types.items()]
        try:
            return super().load(view, coordinates, valid, fill, name, extents)
        finally:
            self.arguments = arguments

    def store(self, value, view, coordinates, valid=()):
        arguments, self.arguments = self.arguments, [(v, e, (None,) * r, "") for v, (e, r) in self.types.items()]
        try:
            super().store(value, view, coordinates, valid)
        finally:
            self.arguments = arguments

    def scan(self, values, identities, axis, combine, reverse=False):
        """As `reduce`, with results of the operands' types."""
        at = len(self.lines)
        results = self.reduce(values, identities, axis, combine)
        single = isinstance(values, Value)
        inputs = [values] if single else values
        opened = next(i for i in range(at, len(self.lines)) if "block.reduce(" in self.lines[i])
        self.lines[opened] = self.lines[opened].replace("block.reduce(", "block.scan(").replace(f" axis {axis} {{", f" axis {axis}{' reverse' if reverse else ''} {{")
        types = ", ".join(v.type for v in inputs)
        identity = ", ".join(v.element for v in inputs)
        self.lines[-1] = "  " * self.depth + f'}} : ({types}) identities ({identity}) -> ({types}) loc("{self.name}.py":{self.line}:5)'
        names = [results.name] if single else [r.name for r in results]
        out = [Value(n, v.element, v.extents) for n, v in zip(names, inputs)]
        return out[0] if single else out

    def pick(self, value, lane, axis=0, name=None):
        result = Value("", value.element, tuple(e for i, e in enumerate(value.extents) if i != axis))
        return self.emit(f"block.pick {value.name} at {lane.name} axis {axis} : {value.type} -> {result.type}", value.element, result.extents, name)

    def _place(self, view, coordinates, valid):
        element, rank = self.types[view]
        (c, ca, ct), (v, va, vt) = self._access(coordinates, valid)
        return (f"to %{view}[{c}] valid({v}) coordinate_axes {ca} valid_axes {va}", f"!block.view<{element}, {rank}>, ({ct}) valid ({vt})")

    def atomic(self, kind, value, view, coordinates, valid=(), order="relaxed", name=None):
        place, types = self._place(view, coordinates, valid)
        return self.emit(f"block.atomic {kind} {order} {value.name} {place} : {value.type}, {types} -> {value.type}", value.element, value.extents, name)

    def compare_exchange(self, expected, desired, view, coordinates, valid=(), order="relaxed", name=None):
        place, types = self._place(view, coordinates, valid)
        return self.emit(f"block.compare_exchange {order} {expected.name}, {desired.name} {place} : {expected.type}, {types}", expected.element, expected.extents, name)

    def scatter_reduce(self, value, view, coordinates, valid, combine):
        place, types = self._place(view, coordinates, valid)
        self.count += 1
        a, b = Value(f"%a{self.count}", value.element), Value(f"%b{self.count}", value.element)
        self.lines.append("  " * self.depth + f"block.scatter_reduce {value.name} {place} {{")
        self.lines.append("  " * self.depth + f"^bb0({a.name}: {a.type}, {b.name}: {b.type}):")
        self.depth += 1
        out = combine(self, a, b)
        self.emit(f"block.yield {out.name} : {out.type}")
        self.depth -= 1
        self.lines.append("  " * self.depth + f'}} : {value.type}, {types} loc("{self.name}.py":{self.line}:5)')

    def __str__(self):
        text = super().__str__()
        if not self.spaces:
            return text
        entries = ", ".join(f'#block.workspace<"{n}", {e}, [{", ".join(map(str, shape))}]{" zeroed = true" if zeroed else ""}>' for n, e, shape, zeroed in self.spaces)
        text = text.replace("]\n      parameters", f"] workspaces [{entries}]\n      parameters", 1)
        types = "".join(f", %{n}: !block.view<{e}, {len(shape)}>" for n, e, shape, _ in self.spaces)
        return text.replace(") {\n    block.group", f"{types}) {{\n    block.group", 1)
