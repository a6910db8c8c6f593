"""Ordered coordinate sets: domains, subregions, ragged groups."""
from __future__ import annotations

import numpy as np

from intent.errors import LanguageError

from .context import current
from .formats import INDEX
from .values import Tensor, describe, index_scalar, run_time_index


class Domain:
    """The coordinates `begin, begin + step, ...` below `end`. A slice keeps the members whose coordinates lie in `[b, e)`."""

    described = "a domain"

    __slots__ = ("begin", "stop", "step")

    def __init__(self, begin, stop, step=1):
        self.begin, self.stop, self.step = begin, stop, step

    def coordinates(self):
        return np.arange(self.begin, max(self.stop, self.begin), self.step, dtype=np.int64)

    def __iter__(self):
        for coordinate in range(self.begin, self.stop, self.step):
            yield index_scalar(coordinate)

    def __getitem__(self, index):
        if isinstance(index, tuple):
            raise LanguageError(f"a domain has one axis, got {len(index)} indices")
        if not isinstance(index, slice):
            raise LanguageError(f"a domain is indexed by a slice b:e, got {describe(index)}")
        if index.step is not None:
            raise LanguageError("a slice has no step in the language; use I.domain(start, stop, step)")
        b = self.begin if index.start is None else run_time_index(index.start, "subregion begin")
        e = self.stop if index.stop is None else run_time_index(index.stop, "subregion end")
        if not self.begin <= b <= e <= max(self.stop, self.begin):
            raise LanguageError(f"subregion [{b}:{e}] does not lie within its source [{self.begin}:{self.stop}]")
        first = self.begin + -(-(b - self.begin) // self.step) * self.step
        return Domain(first, e, self.step)

    def __repr__(self):
        return f"domain({self.begin}, {self.stop}" + (f", {self.step})" if self.step != 1 else ")")


class Group:
    """One group of a ragged axis with an index relation: its members in order, which are no contiguous coordinates."""

    described = "a ragged group"

    __slots__ = ("mapped",)

    def __init__(self, mapped):
        self.mapped = mapped

    def coordinates(self):
        return self.mapped

    def __iter__(self):
        return map(index_scalar, self.mapped.tolist())

    def __getitem__(self, index):
        raise LanguageError("the members of a mapped ragged group have no subregions")


class Ragged:
    """Groups over `members`: group g holds the members `offsets[g]..offsets[g + 1]`, or what `indices` holds at those positions."""

    described = "a ragged axis"

    __slots__ = ("outer", "_members", "_offsets", "_indices")

    def __init__(self, outer, members, offsets, indices):
        self.outer, self._members, self._offsets, self._indices = outer, members, offsets, indices

    def __getitem__(self, group):
        bounds = [run_time_index(self._offsets[at], "ragged offset") for at in (group, group + 1)]
        if self._indices is None:
            return self._members[bounds[0]:bounds[1]]
        region = Domain(0, run_time_index(self._indices.shape[0], "extent"))[bounds[0]:bounds[1]]
        return Group(self._indices[region].data.astype(np.int64))


def _region(value, operation):
    if isinstance(value, (Domain, Group)):
        return value
    raise LanguageError(f"{operation} takes a domain or subregion, got {describe(value)}")


def domain(start, stop, step):
    begin = run_time_index(start, "domain start") if stop is not None else 0
    end = run_time_index(start if stop is None else stop, "domain stop")
    stride = run_time_index(step, "domain step")
    if stride <= 0:
        raise LanguageError(f"domain step: expected a positive step, got {stride}")
    return Domain(begin, end, stride)


def range_(*bounds):
    """Python's `range` inside a kernel: an ordered domain."""
    if not 1 <= len(bounds) <= 3:
        raise LanguageError("range takes one to three positional arguments")
    start, stop, step = {1: (bounds[0], None, 1), 2: (*bounds, 1), 3: bounds}[len(bounds)]
    return domain(start, stop, step)


def indices(region):
    if isinstance(region, tuple):
        return tuple(indices(item) for item in region)
    return Tensor(_region(region, "I.indices").coordinates(), INDEX)


def end(region):
    if not isinstance(region, Domain):
        raise LanguageError(f"I.end takes a domain or subregion, got {describe(region)}")
    return index_scalar(region.stop)


def parallel(source):
    sources = source if isinstance(source, tuple) else (source,)
    if not sources:
        raise LanguageError("I.parallel takes at least one domain")
    for item in sources:
        if not isinstance(item, (Domain, Group)):
            raise LanguageError(f"I.parallel takes domains, got {describe(item)}")
    return Parallel(sources, isinstance(source, tuple))


class Parallel:
    """An unordered loop: points come in an order that the seed shuffles, and accesses of different points must not conflict."""

    described = "an I.parallel loop"

    __slots__ = ("sources", "unpacked")

    def __init__(self, sources, unpacked):
        self.sources, self.unpacked = sources, unpacked

    def __iter__(self):
        interpreter = current()
        axes = [source.coordinates() for source in self.sources]
        extents = [len(axis) for axis in axes]
        order = interpreter.random.permutation(int(np.prod(extents, dtype=np.int64)))
        frame = interpreter.races.enter()
        try:
            for flat in order.tolist():
                point = tuple(int(axis[at]) for axis, at in zip(axes, np.unravel_index(flat, extents)))
                interpreter.races.begin(frame, point)
                scalars = tuple(map(index_scalar, point))
                yield scalars if self.unpacked else scalars[0]
        except GeneratorExit:
            # The loop was left by break or return, unless an error passes through it; that one is reported instead.
            interpreter.left_parallel()
            raise
        finally:
            interpreter.races.leave(frame)


def ragged(outer, members, offsets, indices):
    if not isinstance(outer, Domain) or not isinstance(members, Domain):
        wrong = outer if not isinstance(outer, Domain) else members
        raise LanguageError(f"I.ragged takes domains for outer and members, got {describe(wrong)}")
    return Ragged(outer, members, offsets, indices)


def members(region):
    if isinstance(region, Group):
        return Tensor(region.mapped, INDEX)
    return _region(region, "I.members")
