"""Programs that are sequences of effects in which order matters: terms and steps with their text, and how a failing one gets smaller.

Everything is an i64 and masked now and then, so that each value is exact and a tree needs no facts: a term knows its sort, which is a shape
(`("M", "lo")`, `()` for a scalar) or what its text is good for otherwise (`"place N"`, `"index lo"`, `"test"`, `"target"`).
"""
from __future__ import annotations

import re
from dataclasses import dataclass, field

from .shrinking import descend, smaller_sizes, words

INDENT = "    "
# Parts of an axis: name -> (axis, domain). Only data knows how long the last one is.
REGIONS = {"lo": ("N", "I.domain(N)[0:N // 2]"), "hi": ("N", "I.domain(N)[N // 2:N]"), "ev": ("N", "I.domain(0, N, 2)"),
           "top": ("M", "I.domain(M)[0:M // 2]"), "low": ("M", "I.domain(M)[M // 2:M]"),
           "few": ("N", "I.domain(I.cast(p_N[0], I.index))")}
# Helpers of the module.
COMBINES = {"plus": ["return a + b"], "larger": ["return I.maximum(a, b)"], "smaller": ["return I.minimum(a, b)"],
            "climbed": ["while a < b:", f"{INDENT}a = b", "return a"]}


def axis_of(extent):
    return REGIONS[extent][0] if extent in REGIONS else extent


@dataclass
class Term:
    """An expression: `form` has a `{}` for each part."""

    form: str
    sort: tuple | str
    parts: list = field(default_factory=list)

    def text(self):
        return self.form.format(*(part.text() for part in self.parts))

    def walk(self):
        yield self
        for part in self.parts:
            yield from part.walk()

    def clone(self):
        return Term(self.form, self.sort, [p.clone() for p in self.parts])


@dataclass
class Step:
    """A statement: `form` with a `{}` for each term, then blocks of steps. `rest` is what the form's first block ends with."""

    form: str
    terms: list = field(default_factory=list)
    blocks: list = field(default_factory=list)
    rest: str = ""

    def lines(self):
        out = self.form.format(*(t.text() for t in self.terms)).split("\n")
        for number, block in enumerate(self.blocks):
            inner = [line for step in block for line in step.lines()] + [self.rest] * bool(self.rest)
            out += ["else:"] * bool(number) + [INDENT + line for line in inner]
        return out

    def clone(self):
        return Step(self.form, [t.clone() for t in self.terms], [[s.clone() for s in b] for b in self.blocks], self.rest)


@dataclass
class Ordered:
    """`views` and `sizes` are as in `tree.Program`. `opening` has lines that the body may need, by the name that they bind or fill."""

    views: list
    opening: dict
    body: list
    sizes: list
    data_seed: int = 0
    constants = ()
    scalars = ()
    alias = None

    @property
    def rank(self):
        return len(self.views[0].shape)

    def clone(self):
        return Ordered(list(self.views), dict(self.opening), [s.clone() for s in self.body], [dict(s) for s in self.sizes], self.data_seed)

    def statements(self):
        """(block, index) of every step, outer ones first."""
        pending = [self.body]
        while pending:
            block = pending.pop(0)
            for at, step in enumerate(block):
                yield block, at
                pending.extend(step.blocks)

    def leaf(self, sort):
        """The plainest term of a sort, or None."""
        if isinstance(sort, tuple):
            if not sort:
                return Term("1", sort)
            kept = {axis_of(e): e if e in REGIONS else ":" for e in sort}
            return Term(f"x[{', '.join(kept.get(axis, '0') for axis in self.views[0].shape)}]", sort)
        kind, _, extent = sort.partition(" ")
        return {"place": Term("0", sort), "index": Term(f"I.indices({extent if extent in REGIONS else f'I.domain({extent})'})", sort)}.get(kind)


def _needed(program):
    """(the lines of the body and what it needs before it, the words in them)."""
    lines = [line for step in program.body for line in step.lines()]
    needed = words(lines)
    for name, line in reversed(program.opening.items()):
        if name in needed:
            lines.insert(0, line)
            needed |= words([line])
    return lines, needed


def source(program):
    """The module text of a program; the kernel is named `k`. Its first view gives the extents."""
    lines, needed = _needed(program)
    helpers = [line for name, body in COMBINES.items() if name in needed
               for line in ("", "@intent.fn", f"def {name}(a, b):", *(INDENT + line for line in body), "")]
    spelled = {"in": "In", "out": "Out", "inout": "InOut"}
    parameters = ", ".join(f"{v.name}: I.{spelled[v.access]}[I.{v.dtype}, ({', '.join(repr(e) for e in v.shape)},)]" for v in program.views)
    return "\n".join(["import intent", "import intent.language as I", *helpers, "", "@intent.kernel", f"def k({parameters}):",
                      f"{INDENT}{', '.join(program.views[0].shape)}, = x.shape", *(INDENT + line for line in lines)]) + "\n"


# -- smaller ones ---------------------------------------------------------------------------------------------

def _removed_steps(program):
    """Without several steps, without one, or with what it surrounds in its place."""
    length = len(program.body) // 2
    while length > 1:
        for begin in range(0, len(program.body), length):
            made = program.clone()
            del made.body[begin:begin + length]
            yield made
        length //= 2
    for number, (block, at) in enumerate(list(program.statements())):
        for contents in [None, *range(len(block[at].blocks))]:
            made = program.clone()
            inner, place = list(made.statements())[number]
            inner[place:place + 1] = [] if contents is None else inner[place].blocks[contents]
            yield made
        if len(block[at].blocks) > 1:
            made = program.clone()
            inner, place = list(made.statements())[number]
            del inner[place].blocks[1]
            yield made


def _terms(program):
    """(list, index) of every term, outer ones first."""
    for block, at in program.statements():
        pending = [block[at].terms]
        while pending:
            terms = pending.pop(0)
            for which, term in enumerate(terms):
                yield terms, which
                pending.append(term.parts)


def _simpler_terms(program):
    for number, (terms, which) in enumerate(list(_terms(program))):
        term = terms[which]
        leaf = program.leaf(term.sort)
        choices = ([leaf] if leaf else []) + [inner for inner in list(term.walk())[1:] if inner.sort == term.sort]
        for choice in choices:
            if choice.text() != term.text():
                made = program.clone()
                places, at = list(_terms(made))[number]
                places[at] = choice.clone()
                yield made


def _leaves(steps):
    """Whether a `break` or `continue` of the steps is for the loop around them."""
    return any(s.form in ("break", "continue") or not s.form.startswith("for ") and not s.rest and any(map(_leaves, s.blocks)) for s in steps)


def tidied(program):
    """Without views that nothing uses, other than the one that gives the extents; None for what is no program, with an empty block, say, or may
    not end: a `continue` passes the rest of a counting loop."""
    steps = [block[at] for block, at in program.statements()]
    if not program.body or _leaves(program.body) or any(not inner or s.rest and _leaves(inner) for s in steps for inner in s.blocks):
        return None
    made = program.clone()
    used = _needed(program)[1] | {"x"}
    made.views = [v for v in made.views if v.name in used]
    return made


def weight(program):
    terms = sum(1 for _ in _terms(program))
    return (10 * sum(1 for _ in program.statements()) + 3 * terms + len(re.sub(r"\s", "", source(program))) // 8
            + sum(sum(s.values()) for s in program.sizes) + 5 * len(program.sizes))


def shrink(program, fails, seconds=60.0):
    """The smallest program found in the time that `fails(program)` accepts."""
    return descend(program, fails, seconds, (smaller_sizes, _removed_steps, _simpler_terms), weight, tidied)
