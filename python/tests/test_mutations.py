"""Inputs that once broke something, and a small fixed share of what `make nightly` searches: each ends in a proper answer."""
import functools
import sys
from pathlib import Path

import pytest

from compilation import REPOSITORY, build_directory

sys.path.insert(0, str(REPOSITORY))
from scripts.mutation.__main__ import replay, sweep  # noqa: E402
from scripts.mutation.inputs import KINDS  # noqa: E402

CORPUS = Path(__file__).parent / "corpus"
INPUTS = [(path.parent.name, path) for path in sorted(CORPUS.glob("*/*.input"))]


@functools.lru_cache(maxsize=None)
def kind_of(name):
    build_directory()  # skips where nothing is built
    return KINDS[name]()


@pytest.mark.parametrize("name, path", INPUTS, ids=[f"{name}-{path.stem}" for name, path in INPUTS])
def test_corpus(name, path):
    assert replay(kind_of(name), path.read_bytes()) is None


@pytest.mark.parametrize("name", KINDS)
def test_fixed_mutations(name):
    assert sweep(kind_of(name), seed=20261130, count=400) == []
