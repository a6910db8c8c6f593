"""The kinds of statement: text, and the facts that they leave behind or need."""
from __future__ import annotations

import re

from . import region_kinds, tensor_kinds
from .kinds import Context, facts, made, natural, require, shape_text, text
from .tree import INTS, Facts, Invalid, Program, is_float

INDENT = "    "


# -- text -------------------------------------------------------------------------------------------------------

def lines_of(statement):
    kind, e, p = statement.kind, [text(x) for x in statement.expressions], statement.params
    bodies = [[INDENT + line for s in body for line in lines_of(s)] for body in statement.bodies]
    if kind == "let":
        return [f"{p['name']} = {e[0]}"]
    if kind == "write":
        return [f"{p['view']}[{_items(p, e[:-1])}] {p.get('op', '')}= {e[-1]}"]
    if kind == "parallel":
        if len(p["names"]) == 1:
            domain = f"I.domain({p.get('begin', 0)}, {p['extents'][0]}, {p['step']})" if p.get("step") else f"I.domain(0, {p['extents'][0]})"
            return [f"for {p['names'][0]} in I.parallel({domain}):", *bodies[0]]
        domains = ", ".join(f"I.domain(0, {extent})" for extent in p["extents"])
        return [f"for {', '.join(p['names'])} in I.parallel(({domains})):", *bodies[0]]
    if kind == "for":
        over = f"range({p['extent']})" if p["range"] else f"I.domain(0, {p['extent']})"
        return [f"{p['carry']} = {e[0]}", f"for {p['name']} in {over}:", *bodies[0], f"{INDENT}{p['carry']} = {e[1]}"]
    if kind == "while":
        return [f"{p['counter']} = I.cast(0, I.i32)", f"{p['carry']} = {e[0]}", f"while {p['counter']} < {e[2]}:", f"{INDENT}{p['carry']} = {e[1]}",
                f"{INDENT}{p['counter']} = {p['counter']} + 1"]
    if kind == "if":
        return [f"if {e[0]}:", f"{INDENT}{p['name']} = {e[1]}", "else:", f"{INDENT}{p['name']} = {e[2]}"]
    if kind == "skip":
        return [f"if {e[0]}:", INDENT + "continue"]
    if kind == "buffer":
        return [f"{p['name']} = I.buffer({shape_text(p['shape'])}, I.{p['dtype']}, init=I.full({shape_text(p['shape'])}, {e[0]}, I.{p['dtype']}))"]
    if kind == "put":
        return [f"{p['buffer']}[{_items(p, e[:-1])}] = {e[-1]}"]
    if kind == "scatter":
        return [f"I.scatter_reduce({p['view']}, index=({e[0]},), value={e[1]}, combine={p['combine']})"]
    if kind == "atomic":
        return [f"I.atomic.{p['op']}({p['view']}, ({e[0]},), {e[1]})"]
    raise Invalid


def _items(params, texts):
    rest = iter(texts)
    return ", ".join(next(rest) if axis == "i" else ":" for axis in params["axes"]) or "()"


def source(program: Program) -> str:
    """The module text of a program; the kernel is named `k`."""
    out = ["import intent", "import intent.language as I", ""]
    used = {n.params["name"] for s in _all_expressions(program) for n in s.walk() if n.kind == "call"}
    body = [line for statement in program.body for line in lines_of(statement)]
    joined = "\n".join(body)
    for name, (parameters, lines) in region_kinds.FIXED.items():
        if re.search(rf"\b{name}\b", joined):
            out += ["", "@intent.fn", f"def {name}({parameters}):", *(INDENT + line for line in lines), ""]
    for name in sorted(used):
        parameters, expression = program.helpers[name]
        out += ["", "@intent.fn", f"def {name}({', '.join(parameters)}):", f"{INDENT}return {text(expression)}", ""]
    spelled = {"in": "In", "out": "Out", "inout": "InOut"}
    views = [f"{v.name}: I.{spelled[v.access]}[I.{v.dtype}, {_annotation(v.shape)}]" for v in program.views]
    scalars = [f"{s.name}: I.{s.dtype}" for s in program.scalars]
    out += ["", "@intent.kernel", f"def k({', '.join(views + scalars)}):"]
    for symbol in sorted({e for v in program.views for e in v.shape if isinstance(e, str)}):
        view = next(v for v in program.views if symbol in v.shape)
        out.append(f"{INDENT}{symbol} = {view.name}.shape[{view.shape.index(symbol)}]")
    return "\n".join(out + [INDENT + line for line in body]) + "\n"


def _annotation(shape):
    items = [f'"{e}"' if isinstance(e, str) else str(e) for e in shape]
    return "(" + ", ".join(items) + ("," if len(items) == 1 else "") + ")"


def _all_expressions(program):
    for body, at in program.statements():
        yield from body[at].expressions


# -- facts ------------------------------------------------------------------------------------------------------

class Check(Context):
    """Walks a program for one set of extents. `outputs` collects (bound, error, special) of each written view."""

    def __init__(self, program, extents):
        super().__init__(program, extents)
        self.outputs = {}
        for scalar in program.scalars:
            self.env[scalar.name] = made(scalar.dtype, None, scalar.bound, 0, True)
        for view in program.views:
            if view.access == "inout":
                self._written(view.name, tensor_kinds.view_facts(view, view.shape))
                self.env["view " + view.name] = self.outputs[view.name]
        self.loops = []
        self.skipped = False
        self.loop_extents = {}
        for statement in program.body:
            self.statement(statement)
        require(all(v.access == "in" or v.name in self.outputs for v in program.views))

    def _written(self, name, found: Facts):
        before = self.outputs.get(name)
        if before is not None:
            found = Facts(found.dtype, None, max(found.bound, before.bound), max(found.error, before.error), found.exact and before.exact, found.special or before.special)
        self.outputs[name] = found

    def facts(self, node):
        return facts(node, self)

    def body(self, statements):
        """A nested body: its names end with it."""
        outer = dict(self.env)
        for statement in statements:
            self.statement(statement)
        self.env = outer

    def statement(self, s):
        getattr(self, "on_" + s.kind)(s, s.params)

    def on_let(self, s, p):
        self.env[p["name"]] = self.facts(s.expressions[0])

    def _target_shape(self, shape, p, indices):
        require(len(p["axes"]) == len(shape))
        rest, left = iter(indices), []
        for axis, extent in zip(p["axes"], shape):
            if axis == "i":
                index = next(rest)
                require(index.shape is None and index.natural and index.bound <= self.size(extent))
            else:
                left.append(extent)
        return tuple(left)

    def _fits(self, value, dtype, shape):
        require(value.dtype == dtype)
        if value.shape is not None:
            require(len(value.shape) <= len(shape))
            for own, wanted in zip(reversed(value.shape), reversed(shape)):
                require(own in (1, wanted))

    def on_write(self, s, p):
        view = self.views.get(p["view"])
        require(view is not None and view.access != "in")
        *indices, value = map(self.facts, s.expressions)
        self._fits(value, view.dtype, self._target_shape(view.shape, p, indices))
        # Each enclosing parallel loop names its own element; an Out is written everywhere.
        named = [e.params["name"] if e.kind == "variable" else None for e in s.expressions[:-1]]
        require(all(name in named for names in self.loops for name in names))
        if view.access == "out":
            extents = [extent for axis, extent in zip(p["axes"], view.shape) if axis == "i"]
            require(not self.skipped and all(self.loop_extents.get(name) == extent for name, extent in zip(named, extents)))
        if p.get("op"):
            require(view.access == "inout" and p["op"] in "+-" and value.dtype != "bool")
            held = self.outputs[view.name]
            value = made(value.dtype, None, value.bound + held.bound, value.error + held.error + (0 if value.exact and held.exact else 2.0**-8 * (value.bound + held.bound)),
                         value.exact and held.exact, value.special or held.special)
        self._written(view.name, value)
        if not self.loops:
            self.env["view " + view.name] = self.outputs[view.name]

    def on_parallel(self, s, p):
        require(s.bodies[0])
        outer, outer_skipped = dict(self.env), self.skipped
        touched = {inner.params["view"] for inner in _nested(s) if "view" in inner.params}
        # Inside, what other points write is not read, and buffers of the outside belong to no point.
        self.env = {name: known for name, known in outer.items() if not name.endswith("[]") and not (name.startswith("view ") and name[5:] in touched)}
        for name, extent in zip(p["names"], p["extents"]):
            self.env[name] = natural(made("index", None, self.size(extent), 0, True))
            self.loop_extents[name] = None if p.get("step") else extent
        self.loops.append(p["names"])
        for statement in s.bodies[0]:
            self.statement(statement)
        self.loops.pop()
        self.env, self.skipped = outer, outer_skipped
        if not self.loops:
            for name in touched:
                self.env["view " + name] = self.outputs[name]

    def _carry(self, first, step, count, bound_name):
        """Facts of a carry after `count` updates; `step` gives the update's facts with the carry in scope."""
        require(first.dtype in INTS or first.dtype == "bool" or is_float(first.dtype))
        wide = first
        if first.dtype in INTS:
            wide = made(first.dtype, first.shape, float("inf"), 0, True)
        for _ in range(min(count, 40)):
            self.env[bound_name] = wide
            after = step()
            require(after.dtype == first.dtype and after.shape == first.shape)
            grown = Facts(first.dtype, first.shape, max(wide.bound, after.bound), max(wide.error, after.error), wide.exact and after.exact, wide.special or after.special)
            if grown == wide:
                break
            wide = grown
        return wide

    def on_for(self, s, p):
        first = self.facts(s.expressions[0])
        outer = dict(self.env)
        self.env[p["name"]] = natural(made("index", None, self.size(p["extent"]), 0, True))

        def step():
            held = dict(self.env)
            for statement in s.bodies[0]:
                self.statement(statement)
            found = self.facts(s.expressions[1])
            self.env = held
            return found

        carried = self._carry(first, step, self.size(p["extent"]), p["carry"])
        self.env = outer
        self.env[p["carry"]] = carried

    def on_while(self, s, p):
        limit = self.facts(s.expressions[2])
        require(limit.dtype == "i32" and limit.shape is None and limit.bound <= 16)
        outer = dict(self.env)
        self.env[p["counter"]] = natural(made("i32", None, 16, 0, True))
        carried = self._carry(self.facts(s.expressions[0]), lambda: self.facts(s.expressions[1]), 16, p["carry"])
        self.env = outer
        self.env[p["carry"]] = carried
        self.env[p["counter"]] = natural(made("i32", None, 17, 0, True))

    def on_if(self, s, p):
        condition, a, b = map(self.facts, s.expressions)
        require(condition.dtype == "bool" and condition.shape is None and a.dtype == b.dtype and a.shape == b.shape)
        self.env[p["name"]] = Facts(a.dtype, a.shape, max(a.bound, b.bound), max(a.error, b.error), a.exact and b.exact, a.special or b.special)

    def on_skip(self, s, p):
        (condition,) = map(self.facts, s.expressions)
        require(self.loops and condition.dtype == "bool" and condition.shape is None)
        self.skipped = True

    def on_buffer(self, s, p):
        (first,) = map(self.facts, s.expressions)
        require(first.shape is None and first.dtype == p["dtype"])
        self.env[p["name"] + "[]"] = Facts(p["dtype"], p["shape"], first.bound, first.error, first.exact, first.special)

    def on_put(self, s, p):
        buffer = self.env.get(p["buffer"] + "[]")
        require(buffer is not None)
        *indices, value = map(self.facts, s.expressions)
        self._fits(value, buffer.dtype, self._target_shape(buffer.shape, p, indices))
        require(value.bound <= buffer.bound and value.error <= buffer.error and value.special <= buffer.special and (value.exact or not buffer.exact))

    def on_scatter(self, s, p):
        view = self.views.get(p["view"])
        require(view is not None and view.access == "inout" and len(view.shape) == 1 and not self.loops)
        index, value = map(self.facts, s.expressions)
        require(index.shape is not None and index.natural and index.bound <= self.size(view.shape[0]))
        self._fits(value, view.dtype, index.shape)
        self._updated(view, value, self.count(index.shape), p["combine"])

    def _updated(self, view, value, count, combine):
        require(value.exact and not value.special and value.dtype != "bool")
        held = self.outputs[view.name]
        if value.dtype in INTS:
            found = made(value.dtype, None, float("inf"), 0, True)
        else:
            found = made(value.dtype, None, held.bound + value.bound * (count if combine in ("plus", "add") else 1), 0, True, held.special)
            require(found.exact)
        self._written(view.name, found)

    def on_atomic(self, s, p):
        view = self.views.get(p["view"])
        require(view is not None and view.access == "inout" and len(view.shape) == 1 and self.loops)
        index, value = map(self.facts, s.expressions)
        require(index.shape is None and index.natural and index.bound <= self.size(view.shape[0]) and value.shape is None and value.dtype == view.dtype)
        require(p["op"] == "add" or value.dtype in INTS or p["op"] in ("max", "min"))
        require(p["op"] in ("add", "max", "min") or value.dtype in INTS)
        self._updated(view, value, 40 * 40, p["op"])


def _nested(statement):
    for body in statement.bodies:
        for inner in body:
            yield inner
            yield from _nested(inner)


# Interpreted operations that one run may take: about a second in the reference.
MOST_WORK = 15000


def work(program, extents):
    """About how many operations the reference carries out, one by one."""
    context = Context(program, extents)

    def of_node(node):
        slow = {"fold": 40, "record_fold": 100, "row_fold": 60, "log_mass": 200, "region_scan": 120, "generic_reduce": 8, "scan": 20, "select": 2}.get(node.kind, 1)
        return slow + sum(map(of_node, node.children))

    def of_body(body, times):
        total = 0
        for s in body:
            own = sum(map(of_node, s.expressions)) + 2
            inner = times
            if s.kind == "parallel":
                inner = times * context.count(s.params["extents"])
            elif s.kind in ("for", "while"):
                inner = times * (context.size(s.params["extent"]) if s.kind == "for" else 6)
                own *= max(1, inner // max(times, 1))
            elif s.kind == "scatter":
                own += 40 * 4
            total += times * own + sum(of_body(b, inner) for b in s.bodies)
        return total

    return of_body(program.body, 1)


def check(program):
    """The written views' facts for each set of extents. Raises Invalid."""
    require(all(work(program, extents) <= MOST_WORK for extents in program.sizes))
    return [Check(program, extents).outputs for extents in program.sizes]
