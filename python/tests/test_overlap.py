"""Overlap of strided views against sets of byte addresses, worked out one element at a time."""
import itertools

import numpy as np
import pytest

from intent.runtime import overlap as memory


def addresses(pointer, extents, strides, itemsize):
    """The bytes of each element."""
    return [range(base, base + itemsize) for base in
            (pointer + sum(i * s for i, s in zip(at, strides)) for at in itertools.product(*map(range, extents)))]


def random_view(rng):
    itemsize = int(rng.choice([1, 2, 4, 8]))
    rank = int(rng.integers(0, 4))
    extents = tuple(int(e) for e in rng.integers(0, 5, rank))
    strides = tuple(int(s) * itemsize for s in rng.integers(-6, 7, rank))
    return 4096 + int(rng.integers(0, 12)) * itemsize, extents, strides, itemsize


@pytest.mark.parametrize("seed", range(8))
def test_overlap(seed):
    rng = np.random.default_rng(seed)
    for _ in range(150):
        a, b = random_view(rng), random_view(rng)
        bytes_a, bytes_b = ({byte for element in addresses(*v) for byte in element} for v in (a, b))
        assert memory.overlap(*a, *b) == bool(bytes_a & bytes_b), (a, b)
        low, high = memory.span(*a[1:])
        assert not bytes_a or (min(bytes_a), max(bytes_a) + 1) == (a[0] + low, a[0] + high)


@pytest.mark.parametrize("seed", range(8))
def test_internal_overlap(seed):
    rng = np.random.default_rng(100 + seed)
    for _ in range(150):
        pointer, extents, strides, itemsize = random_view(rng)
        elements = addresses(pointer, extents, strides, itemsize)
        distinct = len({byte for element in elements for byte in element}) == len(elements) * itemsize
        assert memory.internally_disjoint(extents, strides, itemsize) == distinct, (extents, strides, itemsize)


def test_huge_views_are_decided_quickly():
    # Two interleaved halves of a terabyte: nothing here may depend on the extents.
    n = 1 << 38
    assert not memory.overlap(64, (n,), (8,), 4, 68, (n,), (8,), 4)
    assert memory.overlap(64, (n,), (8,), 4, 68, (n,), (12,), 4)
    assert memory.internally_disjoint((n, 3), (16, 4), 4)
