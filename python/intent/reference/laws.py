"""Laws that an author declares, tried on the values of a run (numerics.md section 3)."""
from __future__ import annotations

import numpy as np

from intent.errors import LanguageError

from .context import current

# A call site is checked thoroughly this many times in one run, and lightly afterwards.
THOROUGH = 3
# A light visit tries laws with this probability.
_LIGHT = 0.1
# Lanes of a reduction that are tried, and draws of members in each.
_LANES, _DRAWS = 8, 8
# Longest product of relative error that rounding explains, in units of the format's last place.
_SLACK = 4096


class Laws:
    """Compares results that a law says are equal; floats within what regrouping explains, relative to the largest magnitude met."""

    def __init__(self, what):
        self.what = what
        self.scales = {}

    def met(self, parts):
        for at, part in enumerate(parts):
            if part.format.is_float and part.data.size:
                finite = np.abs(part.data[np.isfinite(part.data)].astype(np.float64))
                if finite.size:
                    self.scales[at] = max(self.scales.get(at, 0.0), float(finite.max()))

    def require(self, first, second, length, law):
        self.met(first)
        self.met(second)
        for at, (a, b) in enumerate(zip(first, second)):
            if a.data.shape != b.data.shape:
                raise LanguageError(f"{self.what}: {law}, but the shapes are {list(a.data.shape)} and {list(b.data.shape)}")
            wrong = unequal(a.data, b.data, a.format, self.scales.get(at, 0.0), length)
            if wrong.any():
                raise LanguageError(f"{self.what}: {law}, but a component differs: {a.data[wrong].reshape(-1)[0]} and {b.data[wrong].reshape(-1)[0]}")


def unequal(a, b, format, scale, length):
    """Where two arrays of a format differ by more than regrouping `length` elements of magnitude `scale` explains."""
    if not format.is_float:
        return a != b
    x, y = a.astype(np.float64), b.astype(np.float64)
    # A sum in a narrow format stays as inexact as that when a wider one carries it.
    bound = scale * 2.0 ** -min(format.precision, current().narrowest) * (_SLACK + 8 * length)
    with np.errstate(all="ignore"):
        return ~((np.abs(x - y) <= bound) | (x == y) | (np.isnan(x) & np.isnan(y)))


# -- reductions, scans, scatters ------------------------------------------------------------------------------

def require_combine(combiner, members, ordered, what):
    """Tries what a combine declares on members of a few lanes; `members` has one array [lanes, count] a component, in their order.

    Three neighbouring blocks of members (any disjoint ones, unless `ordered`) are combined both ways round. Neutrality is asked of
    combined values, since a combine may map its members into a smaller set, as a saturating sum does. What is not finite is left out.
    """
    interpreter = current()
    lanes, count = members[0].shape
    if not lanes or count < 2 or interpreter.visit(what) > THOROUGH and interpreter.trials.random() >= _LIGHT:
        return
    chosen = interpreter.trials.choice(lanes, min(lanes, _LANES), replace=False)
    combiner, members = combiner.of_lanes(chosen), [m[chosen] for m in members]
    with interpreter.rounding():
        for sizes in _sizes(count, interpreter.trials):
            trial = _Trial(combiner, len(chosen) * _DRAWS)
            try:
                broken = trial.broken(_blocks(members, sizes, ordered, interpreter.trials), ordered)
            except LanguageError:  # operands that meet here alone need not suit the combine
                continue
            if broken:
                law, a, b = broken
                raise LanguageError(f"{what}: {law}, but a component differs: {a} and {b}")


def _sizes(count, random):
    """Members a block: single ones, then some longer blocks."""
    yield (1,) * min(count, 3)
    if count >= 6:
        yield tuple(int(n) for n in random.integers(1, min(count // 3, 4) + 1, 3))


def _blocks(members, sizes, ordered, random):
    """For each block its members, in order: a list of one array a component, over the draws of every lane."""
    count, total = members[0].shape[1], sum(sizes)
    if ordered:
        at = random.integers(0, count - total + 1, (_DRAWS, 1)) + np.arange(total)
    else:
        at = np.stack([random.choice(count, total, replace=False) for _ in range(_DRAWS)])
    drawn = [[m[:, at[:, k]].reshape(-1) for m in members] for k in range(total)]
    ends = np.cumsum(sizes)
    return [drawn[end - size:end] for size, end in zip(sizes, ends)]


class _Trial:
    """Combinations on some lanes. A lane counts while its values are finite; `scale` is the largest magnitude that it met."""

    def __init__(self, combiner, lanes):
        self.combiner, self.formats = combiner, combiner.formats
        self.identity = [np.full(lanes, part.data) for part in combiner.identity]
        self.finite, self.scale = np.ones(lanes, np.bool_), np.zeros(lanes)

    def met(self, parts):
        for part, format in zip(parts, self.formats):
            if format.is_float:
                magnitude = np.abs(part.astype(np.float64))
                self.finite &= np.isfinite(magnitude)
                self.scale = np.fmax(self.scale, magnitude)
        return parts

    def combined(self, a, b):
        return self.met(self.combiner(a, b))

    def folded(self, members):
        total = self.met(members[0])
        for member in members[1:]:
            total = self.combined(total, self.met(member))
        return total

    def broken(self, blocks, ordered):
        """The first law that fails, with the two values that differ; None where all hold."""
        a, b, *rest = map(self.folded, blocks)
        both = self.combined(a, b)
        for c in rest:
            found = self.differing(self.combined(both, c), self.combined(a, self.combined(b, c)), "combine is associative", self.finite)
            if found:
                return found
        if not ordered:
            found = self.differing(both, self.combined(b, a), "combine is commutative", self.finite & self.distinct(a, b) & self.distinct(a) & self.distinct(b))
            if found:
                return found
        asked = self.finite & self.distinct(both)
        sides = [("combine(identity, s) equals s", (self.identity, both))]
        if ordered:
            sides.append(("combine(s, identity) equals s", (both, self.identity)))
        for law, operands in sides:
            result = self.combiner(*operands)
            found = self.differing(result, both, law, asked & self.settled(result))
            if found:
                return found
        return None

    def distinct(self, parts, others=None):
        """Lanes of a product that agree with the identity, or with others, in no component: what agrees with the identity may mark a member
        to skip, and among members it may be a tie, whose other components a program need not use."""
        if len(parts) == 1:
            return True
        return ~np.logical_or.reduce([part == other for part, other in zip(parts, self.identity if others is None else others)])

    def settled(self, parts):
        """Lanes whose floats are finite, or the identity's: anything else may be an overflow on the way."""
        kept = [np.isfinite(p.astype(np.float64)) | (p == neutral) for p, neutral, f in zip(parts, self.identity, self.formats) if f.is_float]
        return np.logical_and.reduce(kept) if kept else True

    def differing(self, first, second, law, lanes):
        for a, b, format in zip(first, second, self.formats):
            wrong = unequal(a, b, format, self.scale, 0) & lanes
            if wrong.any():
                return law, a[wrong][0], b[wrong][0]
        return None


def require_any_order(combiner, held, added, what):
    """Tries that values which collide combine into what is held in any order: one array of lanes each, `added` two of them."""
    with current().rounding():
        trial = _Trial(combiner, len(held))
        h, a, b = (trial.met([part]) for part in (held, *added))
        try:
            one, other = trial.combined(trial.combined(h, a), b), trial.combined(trial.combined(h, b), a)
        except LanguageError:
            return
        found = trial.differing(one, other, "values combine in any order", trial.finite)
        if found:
            raise LanguageError(f"{what}: {found[0]}, but a component differs: {found[1]} and {found[2]}")
