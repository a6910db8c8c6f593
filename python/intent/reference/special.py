"""Elementary functions in float64, accurate enough to be rounded once to any format."""
from __future__ import annotations

import math

import numpy as np

from .formats import rounded


def _each(function):
    """A float64 array function from one on Python floats."""
    def apply(x):
        flat = np.asarray(x, np.float64)
        return np.array([function(v) for v in flat.ravel().tolist()], np.float64).reshape(flat.shape)

    return apply


_EULER = 0.57721566490153286061


def _zeta_less_one(k):
    """zeta(k) - 1: the first terms, and Euler-Maclaurin for the rest."""
    n = 40.0
    terms = [float(i) ** -k for i in range(2, 40)] + [n ** (1 - k) / (k - 1), n**-k / 2]
    for j, weight in enumerate((12, -720, 30240, -1209600)):
        terms.append(math.prod(range(k, k + 2 * j + 1)) / weight * n ** (-k - 2 * j - 1))
    return math.fsum(terms)


_ABOVE_TWO = [(-1) ** k * _zeta_less_one(k) / k for k in range(2, 40)]  # of z^k in lgamma(2 + z) - (1 - gamma) z


def _lgamma(x):
    if math.isinf(x) or x <= 0 and x == math.floor(x):
        return math.inf
    if not 0.5 <= x <= 2.5:
        return math.lgamma(x)
    # Next to the zeros at 1 and 2 the library's value keeps few digits.
    z = x - 2 if x > 1.25 else x - 1
    series = math.fsum([(1 - _EULER) * z] + [c * z**k for k, c in enumerate(_ABOVE_TWO, 2)])
    return series if x > 1.25 else series - math.log1p(z)


def _i0(x):
    """Power series below 40, asymptotic series above (its smallest term is below 1e-18 there), both with positive terms."""
    x = abs(x)
    if x != x or math.isinf(x):
        return x
    if x < 40:
        # Extended precision: each term carries the rounding of all before it.
        quarter = np.longdouble(x) * np.longdouble(x) / 4
        term = total = np.longdouble(1)
        k = 1
        while term > total * np.longdouble(1e-22):
            term = term * quarter / (k * k)
            total += term
            k += 1
        return float(total)
    term, terms, k = 1.0, [1.0], 1
    while k < 30:
        following = term * (2 * k - 1) ** 2 / (8 * k * x)
        if following > term or following < 1e-18:
            break
        term = following
        terms.append(term)
        k += 1
    half = math.exp(x / 2) if x < 1400 else math.inf
    return half * (math.fsum(terms) / math.sqrt(2 * math.pi * x)) * half


def _sigmoid(x):
    e = np.exp(-np.abs(x))
    return np.where(np.isnan(x), x, np.where(x >= 0, 1 / (1 + e), e / (1 + e)))


def _rsqrt(x):
    return (1 / np.sqrt(x.astype(np.longdouble))).astype(np.float64)


FUNCTIONS = {
    "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "asin": np.arcsin, "sqrt": np.sqrt, "tanh": np.tanh, "floor": np.floor, "ceil": np.ceil, "sigmoid": _sigmoid, "rsqrt": _rsqrt,
    "erf": _each(math.erf), "erfc": _each(math.erfc), "lgamma": _each(_lgamma), "i0": _each(_i0),
}


def evaluated(name, data, format):
    """A function of the table on an array of a float format's storage, rounded once to that format."""
    return rounded(FUNCTIONS[name](data.astype(np.float64)), format)


# -- fused multiply-add ---------------------------------------------------------------------------------------

def _two_sum(a, b):
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def _to_odd(sum, error):
    """float64 sums whose last bit says that something was rounded away: a further rounding to fewer bits is then correct."""
    bits = sum.view(np.int64)
    inexact = np.isfinite(sum) & (error != 0) & (bits & 1 == 0)
    towards_zero = (error > 0) != (sum > 0)
    return np.where(inexact, np.where(towards_zero, bits - 1, bits + 1).view(np.float64), sum)


def fused(a, b, c, format):
    """`a * b + c` rounded once."""
    if format.name == "f64":
        return _fused_double(*np.broadcast_arrays(a, b, c))
    a, b, c = (np.asarray(v, np.float64) for v in np.broadcast_arrays(a, b, c))
    sum, error = _two_sum(a * b, c)  # the product of two significands of 24 bits or fewer is exact
    return rounded(_to_odd(np.ascontiguousarray(sum).reshape(sum.shape), error), format)


def _fused_double(a, b, c):
    from fractions import Fraction

    result = np.empty(a.shape)
    for at in np.ndindex(a.shape):
        x, y, z = float(a[at]), float(b[at]), float(c[at])
        if not all(map(math.isfinite, (x, y, z))):
            result[at] = x * y + z if not (math.isfinite(x) and math.isfinite(y)) else z
            continue
        exact = Fraction(x) * Fraction(y) + Fraction(z)
        if exact == 0:
            result[at] = x * y + z if x * y == 0 else 0.0
            continue
        try:
            result[at] = exact.numerator / exact.denominator  # integer division rounds correctly
        except OverflowError:
            result[at] = math.copysign(math.inf, exact)
    return result
