"""The candidates that an interface declares, and which of them a call may use."""
from __future__ import annotations

from dataclasses import dataclass, field

from ..errors import InternalError
from ..runtime.expressions import Expression, ExpressionError, parse


@dataclass(frozen=True)
class Candidate:
    """One complete row bound to one variant. `index` counts within the variant in table order; `values` are the bindings;
    `where` is a condition on launch symbols, or None."""

    variant: str | None
    index: int
    values: dict = field(hash=False)
    where: Expression | None = None

    def __str__(self):
        bindings = ", ".join(f"{name} = {value}" for name, value in self.values.items())
        return f"{self.index} of {self.variant or 'the program'} ({bindings})" if bindings else f"{self.index} of {self.variant or 'the program'}"


@dataclass(frozen=True)
class Selection:
    """What a call's extents decide: the variant, its coverage extents by name, and the candidates whose condition holds in table
    order. Where none does, all of them stay: the condition keeps fragments moderate, it is no matter of right or wrong."""

    variant: str | None
    coverage: dict
    candidates: tuple


@dataclass(frozen=True)
class _Variant:
    name: str
    guard: Expression | None
    coverage: dict
    candidates: tuple


class CandidateTable:
    """The variants and candidates of one `interface.json`. InternalError if they do not have the documented form."""

    def __init__(self, metadata: dict):
        try:
            declared = [Candidate(entry["variant"], entry["index"], dict(entry["values"]), None if entry.get("where") is None else parse(entry["where"]))
                        for entry in metadata.get("candidates") or ()]
            self._variants = []
            for entry in metadata.get("variants") or ({"name": None},):
                own = tuple(c for c in declared if c.variant == entry["name"]) or (Candidate(entry["name"], 0, {}),)
                coverage = {name: parse(text) for name, text in (entry.get("coverage") or {}).items()}
                self._variants.append(_Variant(entry["name"], None if entry.get("guard") is None else parse(entry["guard"]), coverage, own))
        except (KeyError, TypeError, AttributeError, ExpressionError) as error:
            raise InternalError(f"malformed candidates in the interface: {type(error).__name__}: {error}") from error
        self.declared = tuple(declared)

    def select(self, symbols: dict) -> Selection:
        """The selection of a call with these launch symbols. The call has passed the binding's checks, so that some guard holds."""
        for variant in self._variants:
            if variant.guard is None or variant.guard.evaluate(symbols):
                coverage = {name: expression.evaluate(symbols) for name, expression in variant.coverage.items()}
                legal = tuple(c for c in variant.candidates if c.where is None or c.where.evaluate(symbols))
                return Selection(variant.name, coverage, legal or variant.candidates)
        raise InternalError("no variant admits a call that was bound")
