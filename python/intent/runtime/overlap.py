"""Whether two strided views touch one byte in common, decided on addresses alone; no memory is read.

Two stages: the byte intervals, then, where those meet, NumPy's exact solver for strided memory on stand-in arrays (it also serves
device addresses, since nothing is dereferenced). A case too hard for its work limit counts as an overlap.
"""
from __future__ import annotations

import warnings

import numpy as np

# About a millisecond at worst; interleaved and sliced views of a few axes need far less.
_WORK_LIMIT = 200_000
_TOO_HARD = getattr(getattr(np, "exceptions", np), "TooHardError")


def span(extents, strides, itemsize):
    """`(low, high)` bytes relative to element 0: the half-open interval that covers the view. Strides in bytes; (0, 0) if empty."""
    low, high = 0, itemsize
    for extent, stride in zip(extents, strides):
        if extent == 0:
            return 0, 0
        reach = (extent - 1) * stride
        if reach < 0:
            low += reach
        else:
            high += reach
    return low, high


class _Addresses:
    """What `np.asarray` needs to see the addresses of a view as an array of opaque items."""

    def __init__(self, pointer, extents, strides, itemsize):
        self.__array_interface__ = {"version": 3, "data": (pointer, True), "shape": tuple(extents), "strides": tuple(strides), "typestr": f"|V{itemsize}"}


def _stand_in(pointer, extents, strides, itemsize):
    # NumPy checks no address; axes of extent 1 do not matter and their strides may be anything.
    return np.asarray(_Addresses(pointer, extents, strides, itemsize))


def _share(a, b) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return bool(np.shares_memory(a, b, max_work=_WORK_LIMIT))
        except _TOO_HARD:
            return True


def overlap(pointer_a, extents_a, strides_a, itemsize_a, pointer_b, extents_b, strides_b, itemsize_b) -> bool:
    """Whether the two views share a byte. Pointers address element 0; strides are in bytes, of any sign."""
    low_a, high_a = span(extents_a, strides_a, itemsize_a)
    low_b, high_b = span(extents_b, strides_b, itemsize_b)
    if low_a == high_a or low_b == high_b:
        return False
    if pointer_a + high_a <= pointer_b + low_b or pointer_b + high_b <= pointer_a + low_a:
        return False
    return _share(_stand_in(pointer_a, extents_a, strides_a, itemsize_a), _stand_in(pointer_b, extents_b, strides_b, itemsize_b))


def identical(pointer_a, extents_a, strides_a, itemsize_a, pointer_b, extents_b, strides_b, itemsize_b) -> bool:
    """Whether the same coordinates address the same bytes in both views."""
    if pointer_a != pointer_b or itemsize_a != itemsize_b or tuple(extents_a) != tuple(extents_b):
        return False
    return all(extent <= 1 or a == b for extent, a, b in zip(extents_a, strides_a, strides_b))


def internally_disjoint(extents, strides, itemsize) -> bool:
    """Whether no two coordinates of one view share a byte (what a written view needs)."""
    if any(extent == 0 for extent in extents):
        return True
    axes = sorted(((abs(stride), extent) for extent, stride in zip(extents, strides) if extent > 1))
    if axes and axes[0][0] == 0:
        return False
    reach, nested = itemsize, True
    for stride, extent in axes:
        nested = nested and stride >= reach
        reach += (extent - 1) * stride
    if nested:
        return True
    # Two coordinates that collide differ first in some axis k: then the view without axes before k meets itself shifted
    # by one or more steps of axis k.
    base = 1 << 40
    for k, (stride, extent) in enumerate(axes):
        rest_extents, rest_strides = [e for _, e in axes[k + 1:]], [s for s, _ in axes[k + 1:]]
        if overlap(base, rest_extents, rest_strides, itemsize, base + stride, [extent - 1, *rest_extents], [stride, *rest_strides], itemsize):
            return False
    return True
