"""The kinds of statement: text, and the facts that they leave behind or need."""
from __future__ import annotations

import math
import re

from . import packed_kinds, region_kinds, tensor_kinds, value_kinds  # noqa: F401 (they register their kinds)
from .kinds import Context, facts, made, natural, require, shape_text, text
from .tree import INTS, Facts, Invalid, Program, is_float, is_region

INDENT = "    "
FORMS = {}  # kinds of statement that forms.py adds: name -> (lines from (params, texts, bodies), walk of a Check)


# -- text -------------------------------------------------------------------------------------------------------

def lines_of(statement):
    kind, e, p = statement.kind, [text(x) for x in statement.expressions], statement.params
    bodies = [[INDENT + line for s in body for line in lines_of(s)] for body in statement.bodies]
    if kind in FORMS:
        return FORMS[kind][0](p, e, bodies)
    if kind == "let":
        return [f"{p['name']} = {e[0]}"]
    if kind == "write":
        return [_write_text(p, e)]
    if kind == "parallel":
        if len(p["names"]) == 1:
            return [f"for {p['names'][0]} in I.parallel({p.get('outer') or _domain_text(p, p['extents'][0])}):", *bodies[0]]
        domains = ", ".join(f"I.domain(0, {extent})" for extent in p["extents"])
        return [f"for {', '.join(p['names'])} in I.parallel(({domains})):", *bodies[0]]
    if kind == "for":
        over = f"range({p['extent']})" if p["range"] else _domain_text(p, p["extent"])
        leave = [f"{INDENT}if {e[2]}:", INDENT * 2 + p["leave"]] if p.get("leave") else []
        return [f"{p['carry']} = {e[0]}", f"for {p['name']} in {over}:", *leave, *bodies[0], f"{INDENT}{p['carry']} = {e[1]}"]
    if kind == "while":
        also = f" and {e[3]}" if len(e) > 3 else ""
        return [f"{p['counter']} = I.cast(0, I.i32)", f"{p['carry']} = {e[0]}", f"while {p['counter']} < {e[2]}{also}:", f"{INDENT}{p['carry']} = {e[1]}",
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
        return [f"I.scatter_reduce({p['view']}, index=({', '.join(e[:-1])},), value={e[-1]}, combine={p['combine']})"]
    if kind == "atomic":
        return [f"I.atomic.{p['op']}({p['view']}, ({e[0]},), {e[1]})"]
    raise Invalid


def _domain_text(p, extent):
    if is_region(extent):
        return extent
    return f"I.domain({p.get('begin', 0)}, {extent}, {p['step']})" if p.get("step") else f"I.domain(0, {extent})"


def _write_text(p, e):
    """By brackets, by a function, or in a helper."""
    if p.get("form") == "store" and "op" not in p and e[:-1] and ":" not in p["axes"]:
        return f"I.store({p['view']}, index=({_items(p, e[:-1])},), value={e[-1]})"
    if p.get("form") == "put_at" and "op" not in p and p["axes"] == ["i"]:
        return f"put_at({p['view']}, {e[0]}, value={e[1]})"
    return f"{p['view']}[{_items(p, e[:-1])}] {p.get('op', '')}= {e[-1]}"


def _items(params, texts):
    rest = iter(texts)
    return ", ".join(next(rest) if axis == "i" else axis for axis in params["axes"]) or "()"


def source(program: Program) -> str:
    """The module text of a program; the kernel is named `k`."""
    out = ["import intent", "import intent.language as I", ""]
    body = [line for statement in program.body for line in lines_of(statement)]
    words = set(re.findall(r"\w+", "\n".join(body)))
    if any(isinstance(c.value, str) and "." in c.value for c in program.constants):
        out += ["", "class Mode(I.Enum):", *(f"{INDENT}{name} = {at}" for at, name in enumerate(MODES)), ""]
    generic = {v.generic: v.dtype for v in program.views if v.generic}
    out += [f"{name} = I.TypeVar({', '.join([repr(name), *(f'I.{d}' for d in dict.fromkeys([dtype, 'f32', 'i32']))])})" for name, dtype in generic.items()]
    fixed = {name for name in region_kinds.FIXED if name in words}
    for _ in range(3):  # helpers that helpers call
        fixed |= {w for name in fixed for line in region_kinds.FIXED[name][1] for w in re.findall(r"\w+", line) if w in region_kinds.FIXED}
    for name, (parameters, lines) in region_kinds.FIXED.items():
        if name in fixed:
            out += ["", "@intent.fn", f"def {name}({parameters}):", *(INDENT + line for line in lines), ""]
    for name, (parameters, found) in sorted(program.helpers.items()):
        if name in words:
            out += ["", "@intent.fn", f"def {name}({', '.join(parameters)}):", f"{INDENT}return {', '.join(map(text, found))}", ""]
    spelled = {"in": "In", "out": "Out", "inout": "InOut"}
    views = [f"{v.name}: I.{spelled[v.access]}[{v.generic or 'I.' + v.dtype}, {_annotation(v.shape)}{v.constraint}]" for v in program.views]
    scalars = [f"{s.name}: I.{s.dtype}" for s in program.scalars]
    constants = [f"{c.name}: I.Constexpr[{_constant_type(c.value)}]" + (f" = {constant_text(c.value)}" if c.default else "") for c in program.constants]
    out += ["", "@intent.kernel", f"def k({', '.join(views + scalars + sorted(constants, key=lambda c: ' = ' in c))}):"]
    for symbol in sorted({e for v in program.views for e in v.shape if isinstance(e, str)}):
        view = next(v for v in program.views if symbol in v.shape)
        out.append(f"{INDENT}{symbol} = {view.name}.shape[{view.shape.index(symbol)}]")
    return "\n".join(out + [INDENT + line for line in body]) + "\n"


MODES = ("Plain", "Other", "Third")


def constant_text(value):
    return value if isinstance(value, str) and "." in value else repr(value)


def _constant_type(value):
    return "Mode" if isinstance(value, str) and "." in value else type(value).__name__


def _annotation(shape):
    items = [f'"{e}"' if isinstance(e, str) else str(e) for e in shape]
    return "(" + ", ".join(items) + ("," if len(items) == 1 else "") + ")"


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
        self.loop_regions = {}
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
        if s.kind in FORMS:
            FORMS[s.kind][1](self, s, s.params)
        else:
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
            elif axis == ":":
                left.append(extent)
            else:
                require(self.region(axis).source == extent and not self.region(axis).mapped)
                left.append(axis)
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
        regions = [self.region(axis) for axis in p["axes"] if axis not in "i:"]
        named += [r.owner for r in regions] + [r.owner for r in map(self.loop_regions.get, named) if r]
        require(all(name in named for names in self.loops for name in names))
        if view.access == "out":
            extents = [extent for axis, extent in zip(p["axes"], view.shape) if axis == "i"]
            require(not regions and not self.skipped and all(self.loop_extents.get(name) == extent for name, extent in zip(named, extents)))
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
        touched = {inner.params["view"] for inner in _nested(s) if "view" in inner.params and inner.kind != "assume"}
        put = {inner.params["buffer"] + "[]" for inner in _nested(s) if inner.kind == "put"}
        # Inside, what other points write is not read: buffers of the outside that a point changes belong to no point.
        self.env = {name: known for name, known in outer.items() if name not in put and not (name.startswith("view ") and name[5:] in touched)}
        self.env.update({name[:-2] + "[w]": known for name, known in outer.items() if name in put})
        for name, extent in zip(p["names"], p["extents"]):
            self.env[name] = natural(made("index", None, self.size(extent), 0, True))
            self.loop_extents[name] = None if p.get("step") or is_region(extent) else extent
            self.loop_regions[name] = self.region(extent) if is_region(extent) else None
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
        self.loop_extents[p["name"]] = None if p.get("step") or p.get("leave") or is_region(p["extent"]) else p["extent"]

        def step():
            held = dict(self.env)
            if p.get("leave"):
                self._condition(self.facts(s.expressions[2]))
            for statement in s.bodies[0]:
                self.statement(statement)
            found = self.facts(s.expressions[1])
            self.env = held
            return found

        carried = self._carry(first, step, self.size(p["extent"]), p["carry"])
        self.env = outer
        self.env[p["carry"]] = carried

    @staticmethod
    def _condition(found):
        require(found.dtype == "bool" and found.shape is None and found.exact)

    def on_while(self, s, p):
        limit = self.facts(s.expressions[2])
        require(limit.dtype == "i32" and limit.shape is None and limit.bound <= 16)
        outer = dict(self.env)
        self.env[p["counter"]] = natural(made("i32", None, 16, 0, True))

        def step():
            for condition in s.expressions[3:]:
                self._condition(self.facts(condition))
            return self.facts(s.expressions[1])

        carried = self._carry(self.facts(s.expressions[0]), step, 16, p["carry"])
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
        self.env[p["name"] + "[]"] = buffer_facts(p, first)

    def on_put(self, s, p):
        buffer = self.env.get(p["buffer"] + "[]")
        if buffer is None:  # one of the outside: each point its own element
            buffer = self.env.get(p["buffer"] + "[w]")
            named = [e.params.get("name") for e in s.expressions[:-1]]
            require(all(name in named for names in self.loops for name in names))
        require(buffer is not None)
        *indices, value = map(self.facts, s.expressions)
        self._fits(value, buffer.dtype, self._target_shape(buffer.shape, p, indices))
        require(value.bound <= buffer.bound and value.error <= buffer.error and value.special <= buffer.special and (value.exact or not buffer.exact))

    def on_scatter(self, s, p):
        view = self.views.get(p["view"])
        require(view is not None and view.access == "inout" and len(view.shape) == len(s.expressions) - 1 and not self.loops)
        *indices, value = map(self.facts, s.expressions)
        require(all(i.shape is not None and i.natural and i.bound <= self.size(e) and i.shape == indices[0].shape for i, e in zip(indices, view.shape)))
        self._fits(value, view.dtype, indices[0].shape)
        self._updated(view, value, self.count(indices[0].shape), p["combine"])

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


def buffer_facts(p, first):
    """What a buffer holds after any puts: integers of any size, floats not above where it starts, of some `slack` where it has one."""
    if p["dtype"] in INTS:
        return made(p["dtype"], p["shape"], float("inf"), 0, True)
    return Facts(p["dtype"], p["shape"], first.bound, max(first.error, p.get("slack", 0.0)), first.exact and not p.get("slack"), first.special)


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

    def size(extent):
        return 8 if is_region(extent) else context.size(extent)

    def of_node(node):
        slow = {"fold": 40, "record_fold": 100, "row_fold": 60, "log_mass": 200, "region_scan": 120, "generic_reduce": 8, "scan": 20, "select": 2,
                "affine": 200, "pair_scan": 40, "pair_reduce": 20, "with_operands": 20}.get(node.kind, 1)
        return slow + sum(map(of_node, node.children))

    def of_body(body, times):
        total = 0
        for s in body:
            own = sum(map(of_node, s.expressions)) + 2
            inner = times
            if s.kind == "parallel":
                inner = times * math.prod(map(size, s.params["extents"]))
            elif s.kind in ("for", "while", "steps", "swap"):
                inner = times * (size(s.params["extent"]) if s.kind == "for" else 6)
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
