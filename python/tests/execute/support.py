"""Running a kernel on the host target and comparing with values worked out in float64 NumPy or written down."""
import numpy as np
import pytest

import intent

# Extents that find edges: empty, one, below and above powers of two, primes.
EXTENTS = (0, 1, 2, 7, 31, 64, 127, 257)


def build(kernel, **constexprs):
    """The kernel for the host. A legal form that this version does not build yet is an expected failure with its own words."""
    types = constexprs.pop("types", None)
    options = constexprs.pop("options", None)
    try:
        return intent.compile(kernel, constexprs=constexprs, types=types, options=options)
    except intent.TargetError as error:
        if error.category in ("shared_gpu", "provider_surface"):
            pytest.xfail(f"not built yet: {error.message}")
        raise


def ulps(actual, expected):
    """The distance of each element from the exact value, in units of the last place of the result's format."""
    exact = np.asarray(expected, np.float64)
    rounded = exact.astype(actual.dtype)
    spacing = np.abs(np.spacing(rounded)).astype(np.float64)
    return np.abs(actual.astype(np.float64) - exact) / spacing


def close(actual, expected, relative=0.0, ulp=None, absolute=0.0):
    """Non-finite values equal exactly; finite ones within `relative` of the largest magnitude, or within `ulp` units each."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    if actual.dtype.kind in "biu":
        np.testing.assert_array_equal(actual, expected)
        return
    wide = actual.astype(np.float64)
    with np.errstate(over="ignore"):
        reached = expected.astype(np.float64)
        finite = np.isfinite(reached.astype(actual.dtype)) & np.isfinite(wide)
    np.testing.assert_array_equal(np.where(finite, 0.0, wide), np.where(finite, 0.0, reached.astype(actual.dtype).astype(np.float64)))
    if not finite.any():
        return
    if ulp is not None:
        distance = np.where(finite, ulps(actual, np.where(finite, reached, 0.0)), 0.0)
        worst = np.unravel_index(np.argmax(distance), distance.shape)
        assert distance[worst] <= ulp, f"{distance[worst]:.2f} ulp at {worst}: {actual[worst]!r} for {reached[worst]!r}"
        return
    scale = np.abs(reached[finite]).max()
    error = np.abs(wide[finite] - reached[finite]).max()
    assert error <= relative * scale + absolute, f"error {error:.3g}, allowed {relative * scale + absolute:.3g}"


def same_zero_signs(actual, expected):
    """Zeros carry the signs that `expected` has."""
    np.testing.assert_array_equal(np.signbit(actual[actual == 0]), np.signbit(np.asarray(expected)[actual == 0]))
