"""The public interface of one compiled kernel, read from `interface.json` into typed records."""
from __future__ import annotations

from dataclasses import dataclass

from ..errors import InternalError
from .dtypes import DTYPES
from .expressions import Expression, ExpressionError, parse

PERMISSIONS = ("any", "identical_or_disjoint", "disjoint")
REQUIRED = object()  # a scalar without a default


@dataclass(frozen=True)
class View:
    """A view parameter. `shape` holds one Expression an axis, `strides` one Expression or None an axis (in elements) or is None."""

    name: str
    dtype: str
    shape: tuple
    access: str
    noalias: bool
    alias: str | None
    strides: tuple | None

    @property
    def written(self) -> bool:
        return self.access != "in"


@dataclass(frozen=True)
class Scalar:
    """A run-time scalar parameter. `default` is a Python number, or REQUIRED."""

    name: str
    dtype: str
    default: object


@dataclass(frozen=True)
class Interface:
    """`parameters` in author order; `checks` as (Expression, message); `overlaps` as {(earlier name, later name): permission};
    `guards` as (variant, Expression), none where some variant admits every call; `selectors` are the expressions that decide which
    variant, coverage and candidates a call has."""

    parameters: tuple
    checks: tuple
    overlaps: dict
    guards: tuple = ()
    selectors: tuple = ()

    @property
    def views(self):
        return [p for p in self.parameters if isinstance(p, View)]


def read(metadata) -> Interface:
    """Reads the `params`, `checks`, `overlaps`, variants and candidates of an interface. InternalError if they do not have the documented form."""
    try:
        parameters = tuple(_parameter(entry) for entry in metadata["params"])
        checks = tuple((parse(entry["condition"]), entry["message"]) for entry in metadata.get("checks", ()))
        order = {parameter.name: at for at, parameter in enumerate(parameters)}
        overlaps = {}
        for entry in metadata.get("overlaps", ()):
            pair = tuple(sorted((entry["lhs"], entry["rhs"]), key=order.__getitem__))
            if entry["permission"] not in PERMISSIONS:
                raise ValueError(f"unknown overlap permission {entry['permission']!r}")
            overlaps[pair] = entry["permission"]
        variants = metadata.get("variants") or ()
        open_to_all = any(variant.get("guard") is None for variant in variants)
        guards = () if open_to_all else tuple((variant["name"], parse(variant["guard"])) for variant in variants)
        selectors = [guard for variant in variants for guard in (variant.get("guard"), *(variant.get("coverage") or {}).values())]
        selectors += [entry.get("where") for entry in metadata.get("candidates") or ()]
        return Interface(parameters, checks, overlaps, guards, tuple(parse(text) for text in selectors if text is not None))
    except (KeyError, TypeError, ValueError, ExpressionError) as error:
        raise InternalError(f"malformed interface metadata: {type(error).__name__}: {error}") from error


def _parameter(entry):
    dtype = entry["dtype"]
    if dtype not in DTYPES:
        raise ValueError(f"unknown dtype {dtype!r} of parameter {entry['name']!r}")
    if entry["kind"] == "scalar":
        default = entry.get("default")
        return Scalar(entry["name"], dtype, REQUIRED if default is None else decode_number(default))
    if entry["kind"] != "view":
        raise ValueError(f"unknown parameter kind {entry['kind']!r}")
    strides = entry.get("strides") or None
    if entry["access"] not in ("in", "out", "inout"):
        raise ValueError(f"unknown access {entry['access']!r}")
    return View(entry["name"], dtype, tuple(_extent(item) for item in entry["shape"]), entry["access"], bool(entry.get("noalias")),
                entry.get("alias") or None, strides and tuple(None if item is None else _extent(item) for item in strides))


def _extent(item) -> Expression:
    return parse(item)


def decode_number(constant):
    """The Python number of a captured constant (docs/request.md)."""
    if "int" in constant:
        return int(constant["int"])
    if "bool" in constant:
        return bool(constant["bool"])
    return float.fromhex(constant["float"])


def symbol_of(expression: Expression) -> str | None:
    """The symbol's name if the expression is one symbol (quoted or bare), else None."""
    if expression.constant is not None:
        return None
    names = expression.symbols | expression.parameters
    if len(names) != 1:
        return None
    name = next(iter(names))
    return name if expression.text.strip() in (name, f'"{name}"') else None
