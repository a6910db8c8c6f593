"""The kinds of programs: how each is drawn, spelled, run and made smaller."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

from . import execution, grammar, ordered, ordered_execution, ordered_grammar, shrinking, statements


@dataclass(frozen=True)
class Family:
    """`program` is of a seed, `source` its module text, `run` (program, folder) gives an Outcome, `shrink` (program, fails, seconds) a program."""

    name: str
    program: Callable
    source: Callable
    run: Callable
    shrink: Callable


VALUES = Family("values", grammar.program, statements.source, execution.run, shrinking.shrink)
ORDERED = Family("ordered", ordered_grammar.program, ordered.source, ordered_execution.run, ordered.shrink)
FAMILIES = {family.name: family for family in (VALUES, ORDERED)}
