"""Writes block programs as text, so that provider tests say what they test and not how the dialect prints."""
from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Value:
    name: str
    element: str
    extents: tuple = ()

    @property
    def type(self):
        return f"!block.fragment<{self.element}, [{', '.join(map(str, self.extents))}]>" if self.extents else self.element


class Text:
    """One kernel with one program unless `variants` says more. Expressions are given in the dialect's inline form."""

    def __init__(self, name, arguments, privates=(), parameters=(), rows=None, size="1", target="sm_90", features=""):
        self.name, self.arguments, self.privates, self.parameters, self.rows = name, arguments, list(privates), list(parameters), rows
        self.target, self.features = target, features
        self.lines, self.depth, self.count, self.line = [], 3, 0, 10
        self.groups = []
        self.publics = {}
        for argument in arguments:
            kind = argument[1]
            self.publics[argument[0]] = Value(f"%{argument[0]}", kind) if len(argument) == 2 else Value(f"%{argument[0]}", kind, ())
        self.bounds = {expr: Value(f"%p{i}", "index") for i, expr in enumerate(self.privates)}
        if size is not None:
            self.group(size)

    def group(self, size):
        """Starts an execution group; its instance number is `self.pid`."""
        if self.groups:
            self.lines.append("    }")
        self.groups.append(size)
        self.pid = Value(f"%pid{len(self.groups)}", "index")
        self.lines.append(f"    block.group size({size}) {{\n    ^bb0({self.pid.name}: index):")

    def extent(self, expr):
        """The private argument of a launch expression, such as `'"M"'`."""
        return self.bounds[expr]

    # -- emission ----------------------------------------------------------------------------------------------

    def emit(self, text, element=None, extents=(), name=None):
        location = f'"{self.name}.py":{self.line}:5'
        location = f'loc("{name}"({location}))' if name else f"loc({location})"
        if element is None:
            self.lines.append("  " * self.depth + text + " " + location)
            return None
        self.count += 1
        value = Value(f"%v{self.count}", element, tuple(extents))
        self.lines.append("  " * self.depth + f"{value.name} = {text} {location}")
        return value

    def at(self, line):
        self.line = line
        return self

    # -- values ------------------------------------------------------------------------------------------------

    def const(self, value, element="index"):
        if element in ("f16", "bf16", "f32", "f64", "f8E4M3FN", "f8E5M2") and not isinstance(value, str):
            value = repr(float(value)) if abs(float(value)) < 1e15 else f"{value:e}"
        if element == "i1":
            return self.emit(f"block.constant {'true' if value else 'false'} : i1", "i1")
        return self.emit(f"block.constant {value} : {element} : {element}", element)

    def param(self, expr):
        return self.emit(f"block.param {expr}", "index")

    def lanes(self, base, extent, name=None, step=None):
        step = step or self.const(1)
        extents = (extent,)
        return self.emit(f"block.lanes {base.name} step {step.name} : !block.fragment<index, [{extent}]>", "index", extents, name)

    def unary(self, kind, a, name=None, flags=""):
        return self.emit(f"block.unary {kind} {a.name}{flags} : {a.type}", a.element, a.extents, name)

    def binary(self, kind, a, b, name=None, flags=""):
        a, b = self.align(a, b)
        return self.emit(f"block.binary {kind} {a.name}, {b.name}{flags} : {a.type}", a.element, a.extents, name)

    def compare(self, predicate, a, b, name=None):
        a, b = self.align(a, b)
        return self.emit(f"block.compare {predicate} {a.name}, {b.name} : {a.type} -> {Value('', 'i1', a.extents).type}", "i1", a.extents, name)

    def fma(self, a, b, c, name=None):
        return self.emit(f"block.fma {a.name}, {b.name}, {c.name} : {a.type}", a.element, a.extents, name)

    def select(self, c, a, b, name=None):
        a, b = self.align(a, b)
        if c.extents and c.extents != a.extents:
            c = self.broadcast(c, a.extents)
        return self.emit(f"block.select {c.name}, {a.name}, {b.name} : {c.type}, {a.type}", a.element, a.extents, name)

    def cast(self, a, element, name=None):
        return self.emit(f"block.cast {a.name} : {a.type} to {Value('', element, a.extents).type}", element, a.extents, name)

    def bitcast(self, a, element, name=None):
        return self.emit(f"block.bitcast {a.name} : {a.type} to {Value('', element, a.extents).type}", element, a.extents, name)

    def broadcast(self, a, extents, axes=None, name=None):
        if axes is None:
            axes = [list(extents).index(e) for e in a.extents]
        result = Value("", a.element, tuple(extents))
        return self.emit(f"block.broadcast {a.name} {axes} : {a.type} to {result.type}", a.element, extents, name)

    def align(self, a, b):
        """Numbers become constants of the other's element; a scalar or lower rank broadcasts."""
        if not isinstance(a, Value):
            a = self.const(a, b.element)
        if not isinstance(b, Value):
            b = self.const(b, a.element)
        if a.extents != b.extents:
            if len(a.extents) < len(b.extents):
                a = self.broadcast(a, b.extents)
            else:
                b = self.broadcast(b, a.extents)
        return a, b

    def transpose(self, a, permutation, name=None):
        extents = [a.extents[i] for i in permutation]
        result = Value("", a.element, tuple(extents))
        return self.emit(f"block.transpose {a.name} {list(permutation)} : {a.type} to {result.type}", a.element, extents, name)

    # -- memory ------------------------------------------------------------------------------------------------

    def _access(self, coordinates, valid):
        part = lambda items: (", ".join(v.name for v, _ in items), "[" + ", ".join(str(list(axes)) for _, axes in items) + "]", ", ".join(v.type for v, _ in items))
        return part(coordinates), part(valid)

    def load(self, view, coordinates, valid=(), fill=0, name=None, extents=None):
        """`coordinates` and `valid` as (value, axes) pairs."""
        _, element, shape, _ = next(a for a in self.arguments if a[0] == view)
        if extents is None:
            found = {}
            for value, axes in coordinates:
                found.update(zip(axes, value.extents))
            extents = [found[i] for i in sorted(found)]
        fill = fill if isinstance(fill, Value) else self.const(fill, element)
        (c, ca, ct), (v, va, vt) = self._access(coordinates, valid)
        result = Value("", element, tuple(extents))
        return self.emit(f"block.load %{view}[{c}] valid({v}) fill {fill.name} coordinate_axes {ca} valid_axes {va} : !block.view<{element}, {len(shape)}>, "
                         f"({ct}) valid ({vt}) fill {element} -> {result.type}", element, extents, name)

    def store(self, value, view, coordinates, valid=()):
        _, element, shape, _ = next(a for a in self.arguments if a[0] == view)
        (c, ca, ct), (v, va, vt) = self._access(coordinates, valid)
        self.emit(f"block.store {value.name} to %{view}[{c}] valid({v}) coordinate_axes {ca} valid_axes {va} : {value.type}, "
                  f"!block.view<{element}, {len(shape)}>, ({ct}) valid ({vt})")

    def fence(self):
        self.emit("block.fence")

    # -- structured --------------------------------------------------------------------------------------------

    def reduce(self, values, identities, axis, combine, names=None):
        """`combine(self, a, b)` with lists of scalars returns a list; a single value may be given bare."""
        single = isinstance(values, Value)
        values, identities = ([values], [identities]) if single else (values, identities)
        ids = [i if isinstance(i, Value) else self.const(i, v.element) for i, v in zip(identities, values)]
        self.count += 1
        stem = f"%v{self.count}"
        extents = tuple(e for i, e in enumerate(values[0].extents) if i != axis)
        results = [Value(f"{stem}#{i}" if len(values) > 1 else stem, v.element, extents) for i, v in enumerate(values)]
        left = [Value(f"%a{self.count}_{i}", v.element) for i, v in enumerate(values)]
        right = [Value(f"%b{self.count}_{i}", v.element) for i, v in enumerate(values)]
        head = f"{stem}:{len(values)}" if len(values) > 1 else stem
        j = lambda items, f: ", ".join(f(v) for v in items)
        self.lines.append("  " * self.depth + f"{head} = block.reduce({j(values, lambda v: v.name)}) identity({j(ids, lambda v: v.name)}) axis {axis} {{")
        self.lines.append("  " * self.depth + f"^bb0({j(left + right, lambda v: f'{v.name}: {v.type}')}):")
        self.depth += 1
        out = combine(self, left[0], right[0]) if single else combine(self, left, right)
        out = [out] if single else out
        self.emit(f"block.yield {j(out, lambda v: v.name)} : {j(out, lambda v: v.type)}")
        self.depth -= 1
        position = f'"{self.name}.py":{self.line}:5'
        location = f'loc("{names}"({position}))' if isinstance(names, str) else f"loc({position})"
        self.lines.append("  " * self.depth + f"}} : ({j(values, lambda v: v.type)}) -> ({j(results, lambda v: v.type)}) identities ({j(ids, lambda v: v.type)}) {location}")
        return results[0] if single else results

    def contract(self, a, b, acc, name=None):
        return self.emit(f"block.contract {a.name}, {b.name}, {acc.name} : {a.type}, {b.type} -> {acc.type}", acc.element, acc.extents, name)

    # -- control -----------------------------------------------------------------------------------------------

    @contextmanager
    def loop(self, lower, upper, step, inits=(), iv=None):
        """Yields (induction variable, carries, finish); call `finish(values)` last; results are in `finish.results`."""
        self.count += 1
        number = self.count
        variable = Value(f"%i{number}", "index")
        carries = [Value(f"%c{number}_{i}", v.element, v.extents) for i, v in enumerate(inits)]
        args = ", ".join(f"{c.name} = {v.name}" for c, v in zip(carries, inits))
        types = ", ".join(v.type for v in inits)
        head = f"%r{number}:{len(inits)} = " if inits else ""
        more = f" iter_args({args}) -> ({types})" if inits else ""
        self.lines.append("  " * self.depth + f"{head}scf.for {variable.name} = {lower.name} to {upper.name} step {step.name}{more} {{")
        self.depth += 1

        class Finish:
            results = [Value(f"%r{number}#{i}", v.element, v.extents) for i, v in enumerate(inits)]

            def __call__(_, *values):
                self.emit(f"scf.yield {', '.join(v.name for v in values)} : {', '.join(v.type for v in values)}")

        finish = Finish()
        yield variable, carries, finish
        self.depth -= 1
        self.lines.append("  " * self.depth + f'}} loc("{self.name}.py":{self.line}:5)')

    def choose(self, condition, then, otherwise=None, types=()):
        """scf.if; `then()` and `otherwise()` emit and return lists of values."""
        self.count += 1
        number = self.count
        at = len(self.lines)
        self.lines.append("")
        bodies = []
        for body in (then, otherwise):
            if body is None:
                continue
            if bodies:
                self.lines.append("  " * self.depth + "} else {")
            self.depth += 1
            out = body() or []
            if out:
                self.emit(f"scf.yield {', '.join(v.name for v in out)} : {', '.join(v.type for v in out)}")
            self.depth -= 1
            bodies.append(out)
        out = bodies[0]
        head = f"%r{number}:{len(out)} = " if out else ""
        self.lines[at] = "  " * self.depth + f"{head}scf.if {condition.name}" + (f" -> ({', '.join(v.type for v in out)})" if out else "") + " {"
        self.lines.append("  " * self.depth + f'}} loc("{self.name}.py":{self.line}:5)')
        return [Value(f"%r{number}#{i}", v.element, v.extents) for i, v in enumerate(out)]

    def repeat(self, inits, test, body):
        """scf.while: `test(state)` gives (condition, passed values), `body(passed)` the next state."""
        self.count += 1
        number = self.count
        state = [Value(f"%s{number}_{i}", v.element, v.extents) for i, v in enumerate(inits)]
        args = ", ".join(f"{s.name} = {v.name}" for s, v in zip(state, inits))
        types = ", ".join(v.type for v in inits)
        at = len(self.lines)
        self.lines.append("")
        self.depth += 1
        condition, passed = test(state)
        ptypes = ", ".join(v.type for v in passed)
        self.emit(f"scf.condition({condition.name}) {', '.join(v.name for v in passed)} : {ptypes}")
        self.depth -= 1
        inner = [Value(f"%t{number}_{i}", v.element, v.extents) for i, v in enumerate(passed)]
        self.lines.append("  " * self.depth + "} do {\n" + "  " * self.depth + f"^bb0({', '.join(f'{v.name}: {v.type}' for v in inner)}):")
        self.depth += 1
        out = body(inner)
        self.emit(f"scf.yield {', '.join(v.name for v in out)} : {types}")
        self.depth -= 1
        self.lines[at] = "  " * self.depth + f"%r{number}:{len(passed)} = scf.while ({args}) : ({types}) -> ({ptypes}) {{"
        self.lines.append("  " * self.depth + "}")
        return [Value(f"%r{number}#{i}", v.element, v.extents) for i, v in enumerate(passed)]

    # -- the module --------------------------------------------------------------------------------------------

    def parameter(self, spec):
        """("BM", [16, 32]) is an ownership parameter; ("CN", 'pow2_ceil("N")') a coverage parameter; NUM_* are options."""
        name, domain = spec
        if isinstance(domain, str):
            return f'#block.parameter<"{name}", coverage, int domain = [] binding = <{domain}>>'
        role, kind = ("provider", "bool" if name.startswith("USE_") else "int") if name.startswith(("NUM_", "USE_")) else ("ownership", "int")
        return f'#block.parameter<"{name}", {role}, {kind} domain = {sorted(set(domain))} column = "{name}">'

    def __str__(self):
        interface, types = [], []
        for argument in self.arguments:
            if len(argument) == 2:
                interface.append(f'#block.scalar_argument<"{argument[0]}", {argument[1]}>')
                types.append(f"%{argument[0]}: {argument[1]}")
                continue
            name, element, shape, access = argument
            extents = ", ".join(str(e) if isinstance(e, int) else f'"{e}"' for e in shape)
            interface.append(f'#block.view_argument<"{name}", {element}, [{extents}], {access}>')
            types.append(f"%{name}: !block.view<{element}, {len(shape)}>")
        types += [f"{value.name}: index" for value in self.bounds.values()]
        row_parameters = [p for p in self.parameters if not isinstance(p[1], str)]
        rows = self.rows or [[p[1][0] for p in row_parameters]]
        columns = ", ".join(f'"{p[0]}"' for p in row_parameters)
        configurations = f" configurations #block.configurations<[{columns}], [{', '.join(f'array<i64: {str(list(r))[1:-1]}>' for r in rows)}]>" if row_parameters else ""
        head = (f'module attributes {{block.target = #block.target<"triton", "{self.target}", {{{self.features}}}>}} {{\n'
                f'block.kernel @{self.name} interface [{", ".join(interface)}] checks [] overlaps [] {{\n'
                f'  block.program @main privates [{", ".join(self.privates)}]\n'
                f'      parameters [{", ".join(map(self.parameter, self.parameters))}]{configurations}\n'
                f'      ({", ".join(types)}) {{\n')
        return head + "\n".join(self.lines) + "\n    }\n  }\n}\n}\n"
