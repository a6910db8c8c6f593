"""Programs as trees: expressions, statements, parameters."""
from __future__ import annotations

from dataclasses import dataclass, field

EPS = {"f16": 2.0**-11, "bf16": 2.0**-8, "f32": 2.0**-24, "f64": 2.0**-53, "f8e4m3fn": 2.0**-4, "f8e5m2": 2.0**-3}
# Integers up to here are exact in a float format; beyond LARGEST a value could overflow. Results closer than TINIEST do not differ.
EXACT = {"f16": 2.0**11, "bf16": 2.0**8, "f32": 2.0**24, "f64": 2.0**53, "f8e4m3fn": 2.0**4, "f8e5m2": 2.0**3}
LARGEST = {"f16": 2.0**14, "bf16": 2.0**100, "f32": 2.0**100, "f64": 2.0**900, "f8e4m3fn": 240.0, "f8e5m2": 2.0**14}
TINIEST = {"f16": 2.0**-24, "f8e4m3fn": 2.0**-9, "f8e5m2": 2.0**-16}
EIGHT_BITS = ("f8e4m3fn", "f8e5m2")  # floats that no arithmetic takes
INTS = {"i8": (-128, 127), "i16": (-2**15, 2**15 - 1), "i32": (-2**31, 2**31 - 1), "i64": (-2**63, 2**63 - 1), "index": (-2**63, 2**63 - 1),
        "u8": (0, 255), "u16": (0, 2**16 - 1), "u32": (0, 2**32 - 1), "u64": (0, 2**64 - 1)}


def is_float(dtype):
    return dtype in EPS


def is_region(extent):
    """Of an axis: the coordinates of a subregion, named in small letters, rather than a symbol or a number."""
    return isinstance(extent, str) and extent[0].islower()


@dataclass(frozen=True)
class Facts:
    """What is known of a value. `shape` is None for a scalar, else extents: symbols and ints.

    `bound` limits the magnitude of finite elements, `error` how far a correct implementation may be from the exact value. `exact` floats are
    integers that every intermediate holds exactly, so that no order or fusion changes them; only they decide branches. `special` values
    may be infinite or NaN. `natural` integers lie in [0, bound).
    """

    dtype: str
    shape: tuple | None
    bound: float = 1.0
    error: float = 0.0
    exact: bool = True
    special: bool = False
    natural: bool = False


@dataclass(frozen=True)
class Region:
    """A subregion of the coordinates of an axis, any part of them; `mapped` members come through an index list. `owner` names the
    parallel loop each of whose points has a region of its own, apart from the others."""

    source: object
    mapped: bool = False
    owner: str | None = None


@dataclass
class Node:
    kind: str
    children: list = field(default_factory=list)
    params: dict = field(default_factory=dict)

    def walk(self):
        yield self
        for child in self.children:
            yield from child.walk()

    def clone(self):
        return Node(self.kind, [c.clone() for c in self.children], dict(self.params))


@dataclass
class View:
    """A view parameter. `values` names how arguments are drawn (ints, exact, smooth, special, or one of `layouts.CONTENTS`); `bound` their
    magnitude, of `wild` ones only at first. `layout` says how an argument lies in memory, `generic` names a type variable for the dtype."""

    name: str
    access: str  # in, out, inout
    dtype: str
    shape: tuple
    values: str = "ints"
    bound: float = 4.0
    wild: bool = False
    layout: str = "plain"
    generic: str | None = None
    constraint: str = ""


@dataclass
class ScalarParameter:
    name: str
    dtype: str
    value: object
    bound: float


@dataclass
class Constant:
    """A compile-time parameter: an int, bool, str, or a member of the module's `Mode`."""

    name: str
    value: object
    default: bool = False


@dataclass
class Statement:
    """`kind` with expressions, nested bodies and parameters; the kinds are in statements.py."""

    kind: str
    expressions: list = field(default_factory=list)
    bodies: list = field(default_factory=list)
    params: dict = field(default_factory=dict)

    def clone(self):
        return Statement(self.kind, [e.clone() for e in self.expressions], [[s.clone() for s in b] for b in self.bodies], dict(self.params))


@dataclass
class Program:
    views: list
    scalars: list
    helpers: dict  # name -> (parameter names, expressions that it returns)
    body: list
    sizes: list  # of dicts symbol -> extent; the program runs once with each
    data_seed: int = 0
    constants: list = field(default_factory=list)
    alias: tuple | None = None  # (view, view, how): one more run, in which these two share memory

    def clone(self):
        return Program(list(self.views), list(self.scalars), {n: (p, [e.clone() for e in found]) for n, (p, found) in self.helpers.items()},
                       [s.clone() for s in self.body], [dict(s) for s in self.sizes], self.data_seed, list(self.constants), self.alias)

    def statements(self):
        """(list, index) of every statement, outer ones first."""
        pending = [self.body]
        while pending:
            body = pending.pop()
            for at, statement in enumerate(body):
                yield body, at
                pending.extend(statement.bodies)


class Invalid(Exception):
    """The tree is no program of the language, or its value has no usable bound."""
