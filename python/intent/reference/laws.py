"""Laws that an author declares, tried on the values of a run (numerics.md section 3)."""
from __future__ import annotations

import numpy as np

from intent.errors import LanguageError

from .context import current

# A call site is checked thoroughly this many times in one run, and lightly afterwards.
THOROUGH = 3
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
