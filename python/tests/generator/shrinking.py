"""Making a failing program smaller while it fails in the same way."""
from __future__ import annotations

import re
import time
from dataclasses import replace

from .kinds import text
from .statements import check, lines_of
from .tree import Invalid, Node, is_float


def _removed_statements(program):
    for number in range(sum(1 for _ in program.statements())):
        made = program.clone()
        body, at = list(made.statements())[number]
        del body[at]
        yield made
    for number, (body, at) in enumerate(list(program.statements())):
        if body[at].kind == "if":
            for branch in (1, 2):
                made = program.clone()
                inner, place = list(made.statements())[number]
                inner[place].kind, inner[place].expressions = "let", [inner[place].expressions[branch]]
                yield made


def smaller_sizes(program):
    if len(program.sizes) > 1:
        for keep in range(len(program.sizes)):
            made = program.clone()
            made.sizes = [made.sizes[keep]]
            yield made
    for number, sizes in enumerate(program.sizes):
        for symbol, extent in sizes.items():
            for smaller in sorted({1, 2, extent // 2, extent - 1}):
                if 0 <= smaller < extent:
                    made = program.clone()
                    made.sizes[number][symbol] = smaller
                    if "R" in sizes:  # offsets: one more than groups
                        made.sizes[number]["R"] = made.sizes[number]["G"] + 1
                    yield made


def _plainer_views(program):
    """Without a shared run, without unusual memory, without a type variable."""
    if program.alias:
        made = program.clone()
        made.alias = None
        yield made
    for number, view in enumerate(program.views):
        for plainer in (replace(view, layout="plain"), replace(view, generic=None), replace(view, constraint="")):
            if plainer != view:
                made = program.clone()
                made.views[number] = plainer
                yield made


def _places(program):
    """(statement number, expression number, path) of every node, outer ones first."""
    for number, (body, at) in enumerate(program.statements()):
        for which, expression in enumerate(body[at].expressions):
            pending = [((), expression)]
            while pending:
                path, node = pending.pop(0)
                yield number, which, path
                pending += [(path + (i,), child) for i, child in enumerate(node.children)]


def _replaced(program, place, replacement):
    made = program.clone()
    number, which, path = place
    body, at = list(made.statements())[number]
    if not path:
        body[at].expressions[which] = replacement.clone()
        return made
    node = body[at].expressions[which]
    for step in path[:-1]:
        node = node.children[step]
    node.children[path[-1]] = replacement.clone()
    return made


def _node_at(program, place):
    number, which, path = place
    body, at = list(program.statements())[number]
    node = body[at].expressions[which]
    for step in path:
        node = node.children[step]
    return node


def _simpler_expressions(program):
    for place in list(_places(program)):
        node = _node_at(program, place)
        if not node.children:
            continue
        seen = 0
        for inner in list(node.walk())[1:]:
            seen += 1
            if seen > 12:
                break
            yield _replaced(program, place, inner)
        dtype = node.params.get("dtype")
        if dtype is not None and node.kind not in ("literal", "full", "small_float"):
            value = 1.0 if is_float(dtype) else 1
            yield _replaced(program, place, Node("literal", [], {"value": value, "dtype": dtype}))


def words(lines):
    return set(re.findall(r"\w+", "\n".join(lines)))


def tidied(program):
    """The program without parameters, helpers and outputs that nothing uses."""
    made = program.clone()
    lines = [line for statement in made.body for line in lines_of(statement)]
    made.helpers = {n: h for n, h in made.helpers.items() if n in words(lines)}
    used = words([*lines, *(text(e) for _, results in made.helpers.values() for e in results)]) | set(made.alias or ())
    made.scalars = [s for s in made.scalars if s.name in used]
    made.constants = [c for c in made.constants if c.name in used]
    kept = [v for v in made.views if v.name in used]
    symbols = {e for v in kept for e in v.shape if isinstance(e, str)} | _named_symbols(made)
    for view in made.views:
        if view not in kept and view.access == "in" and symbols - {e for v in kept for e in v.shape if isinstance(e, str)} & set(view.shape):
            if any(e in symbols and not any(e in v.shape for v in kept) for e in view.shape):
                kept.append(view)
    made.views = [v for v in made.views if v in kept]
    return made


def _named_symbols(program):
    found = set()
    for body, at in program.statements():
        statement = body[at]
        for params in [statement.params, *(n.params for e in statement.expressions for n in e.walk())]:
            for key in ("extent", "extents", "shape", "before", "after"):
                value = params.get(key)
                found |= {e for e in (value if isinstance(value, (tuple, list)) else (value,)) if isinstance(e, str)}
    return found


def finished(program):
    """The tidied program, or None where it is none of the language."""
    made = tidied(program)
    try:
        check(made)
    except (Invalid, KeyError, StopIteration):
        return None
    return made if any(v.access != "in" for v in made.views) else None


def shrink(program, fails, seconds=60.0):
    """The smallest program found in the time that `fails(program)` accepts."""
    return descend(program, fails, seconds, (_removed_statements, smaller_sizes, _plainer_views, _simpler_expressions), weight, finished)


def descend(program, fails, seconds, proposals, weight, finished):
    """The lightest program found in the time that `fails` accepts. Each of `proposals` gives changed copies of a program, `finished` the
    program that a copy stands for, or None."""
    deadline = time.monotonic() + seconds
    best, progress = program, True
    while progress:
        progress = False
        for propose in proposals:
            at = 0
            while at is not None:
                # After a success it goes on where it is; what came before gets its turn in the next round.
                at, begin = None, at
                for number, made in enumerate(propose(best)):
                    if time.monotonic() > deadline:
                        return best
                    if number < begin:
                        continue
                    made = finished(made)
                    if made is not None and weight(made) < weight(best) and fails(made):
                        best, progress, at = made, True, number
                        break
    return best


def weight(program):
    nodes = sum(1 for body, at in program.statements() for e in body[at].expressions for _ in e.walk())
    statements = sum(1 for _ in program.statements())
    unusual = sum((v.layout != "plain") + bool(v.generic) + bool(v.constraint) for v in program.views) + 5 * bool(program.alias)
    return 10 * statements + 3 * nodes + sum(sum(s.values()) for s in program.sizes) + 5 * len(program.sizes) + 3 * len(program.views) + unusual


