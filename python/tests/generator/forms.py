"""More kinds of statement: subregions and groups, branches, loops that change several names, effects of one element."""
from __future__ import annotations

from .kinds import made, natural, require
from .statements import FORMS, INDENT
from .tree import INTS, Region


def _region_lines(p, e, bodies):
    source = f"I.domain(0, {p['source']})"
    return [f"{p['name']} = " + {
        "slice": lambda: f"{source}[I.minimum({e[0]}, {e[1]}):I.maximum({e[0]}, {e[1]})]", "head": lambda: f"{source}[0:{e[0]}]", "tail": lambda: f"{source}[{e[0]}:{p['source']}]",
        "between": lambda: f"I.domain({e[0]}, {e[1]})", "stepped": lambda: f"I.domain({e[0]}, {p['source']}, {p.get('step')})",
        "group": lambda: f"{p['ragged']}[{e[0]}]", "members": lambda: f"I.members({p['ragged']}[{e[0]}])"}[p["form"]]()]


def _region(check, s, p):
    found = list(map(check.facts, s.expressions))
    group = p["form"] in ("group", "members")
    require(all(f.shape is None and f.natural and f.dtype == "index" and f.bound <= check.size("G" if group else p["source"]) for f in found))
    mapped, owner = False, None
    if group:
        mapped = check.env.get(p["ragged"] + "{}")
        require(mapped is not None)
        index = s.expressions[0]
        owner = index.params["name"] if index.kind == "variable" and not mapped else None
    check.env[p["name"] + "<>"] = Region(p["source"], mapped, owner)


def _ragged_lines(p, e, bodies):
    indices = f", indices={p['members']}" if p.get("members") else ""
    return [f"{p['name']} = I.ragged(I.domain(0, G), I.domain(0, L), {p['offsets']}{indices})"]


def _ragged(check, s, p):
    require(p["offsets"] in check.views and (not p.get("members") or p["members"] in check.views))
    check.env[p["name"] + "{}"] = bool(p.get("members"))


def _assume(check, s, p):
    (index,) = map(check.facts, s.expressions)
    view = check.views.get(p["view"])
    require(view is not None and index.natural and index.shape is None and index.bound <= check.size(view.shape[p["axis"]]))


def _static_lines(p, e, bodies):
    kept, wrong = bodies[0], [INDENT + p["wrong"]]
    first, second = (kept, wrong) if p["taken"] else (wrong, kept)
    return [f"if {p['test']}:", *first, "else:", *second]


def _static(check, s, p):
    """The other branch is not looked at, whatever its types."""
    require(s.bodies[0])
    for statement in s.bodies[0]:
        check.statement(statement)


def _branch_lines(p, e, bodies):
    return [f"if {e[0]}:", *bodies[0], *([f"elif {e[1]}:", *bodies[1]] if len(bodies) > 2 else []), "else:", *bodies[-1]]


def _branch(check, s, p):
    outer, skipped = dict(check.env), check.skipped
    for condition in s.expressions:
        check._condition(check.facts(condition))
    check.skipped = True  # what a branch writes is not written everywhere
    for body in s.bodies:
        require(body)
        check.body(body)
        check.env = dict(outer)
    check.skipped = skipped
    if not check.loops:
        for name in [n for n in check.env if n.startswith("view ")]:
            check.env[name] = check.outputs[name[5:]]


def _return(check, s, p):
    require(not check.loops)
    check._condition(check.facts(s.expressions[0]))
    check.skipped = True


def _unique(check, s, p):
    view, order = check.views.get(p["view"]), check.views.get(p["order"])
    require(view is not None and view.access == "inout" and order is not None and order.values == "permutation" and order.shape == view.shape and not check.loops)
    (value,) = map(check.facts, s.expressions)
    check._fits(value, view.dtype, view.shape)
    check._written(view.name, value)
    check.env["view " + view.name] = check.outputs[view.name]


def _old_lines(p, e, bodies):
    order = f", order=\"{p['order']}\"" if p.get("order") else ""
    if p["op"] == "compare_exchange":
        return [f"{p['name']} = I.atomic.compare_exchange({p['view']}, {e[0]}, {e[1]}, {e[2]}{order}).old_value"]
    return [f"{p['name']} = I.atomic.{p['op']}({p['view']}, {e[0]}, {e[1]}{order})"]


def _old(check, s, p):
    """An update of an element that no other point touches, and what it held before."""
    view = check.views.get(p["view"])
    require(view is not None and view.access == "inout" and len(view.shape) == 1 and len(check.loops) == 1 and len(check.loops[0]) == 1 and view.dtype in INTS)
    index, *values = map(check.facts, s.expressions)
    require(s.expressions[0].kind == "variable" and s.expressions[0].params["name"] == check.loops[0][0] and check.loop_extents[check.loops[0][0]] == view.shape[0])
    require(index.natural and all(v.shape is None and v.dtype == view.dtype for v in values))
    check._written(view.name, made(view.dtype, None, float("inf"), 0, True))
    check.env[p["name"]] = made(view.dtype, None, float("inf"), 0, True)


def _swap_lines(p, e, bodies):
    a, b = p["names"]
    return [f"{a}, {b} = {e[0]}, {e[1]}", f"for {p['index']} in range({p['count']}):", f"{INDENT}{a}, {b} = {b}, {e[2]}"]


def _swap(check, s, p):
    first, second = map(check.facts, s.expressions[:2])
    require(first.dtype == second.dtype and first.shape == second.shape and (first.dtype in INTS or first.exact and second.exact))
    bound = float("inf") if first.dtype in INTS else max(first.bound, second.bound, 8.0)
    both = made(first.dtype, first.shape, bound, 0, True, first.special or second.special)
    outer = dict(check.env)
    check.env.update({name: both for name in p["names"]})
    check.env[p["index"]] = natural(made("index", None, p["count"], 0, True))
    after = check.facts(s.expressions[2])
    require(after.dtype == both.dtype and after.shape == both.shape and after.bound <= both.bound and after.exact and after.special <= both.special)
    check.env = outer
    check.env.update({name: both for name in p["names"]})


def _unpack(check, s, p):
    for name, call in zip(p["names"], s.expressions):
        check.env[name] = check.facts(call)


def _unpack_lines(p, e, bodies):
    """Both results of one call: the second call's text is the first's with another item."""
    return [f"{', '.join(p['names'])} = {e[0].rpartition('[')[0]}"]


def _tick(check, s, p):
    """A buffer's next value from its present one, inside an ordered loop."""
    held = check.env.get(p["buffer"] + "[]")
    require(held is not None)
    (value,) = map(check.facts, s.expressions)
    require(value.dtype == held.dtype and value.shape == held.shape and value.bound <= held.bound and value.error <= max(held.error, 0.0) and value.special <= held.special)
    require(value.exact or not held.exact)


def _steps_lines(p, e, bodies):
    return [f"for {p['name']} in range({p['count']}):", *bodies[0]]


def _steps(check, s, p):
    outer = dict(check.env)
    check.env[p["name"]] = natural(made("index", None, p["count"], 0, True))
    require(s.bodies[0])
    for statement in s.bodies[0]:
        check.statement(statement)
    check.env = outer



FORMS.update({
    "region": (_region_lines, _region),
    "ragged": (_ragged_lines, _ragged),
    "assume": (lambda p, e, b: [f"I.assume_in_bounds({e[0]}, {p['view']}, axis={p['axis']})"], _assume),
    "static_if": (_static_lines, _static),
    "branch": (_branch_lines, _branch),
    "return_if": (lambda p, e, b: [f"if {e[0]}:", INDENT + "return"], _return),
    "unique": (lambda p, e, b: [f"I.scatter_unique({p['view']}, index=({p['order']}[:],), value={e[0]})"], _unique),
    "old": (_old_lines, _old),
    "swap": (_swap_lines, _swap),
    "unpack": (_unpack_lines, _unpack),
    "tick": (lambda p, e, b: [f"{p['buffer']}[{', '.join(p['axes'])}] = {e[0]}"], _tick),
    "steps": (_steps_lines, _steps),
})
