"""Keys of compiled code and of winners.

A specialisation key holds the facts that compiled code depends on; a tuning key adds the target and classes of extents, so that a
winner found for one member of a class serves the class.
"""
from __future__ import annotations

import json

from .. import cache


def extent_class(extent: int) -> int:
    """The power of two at or above an extent, 0 for the empty one: the classes that coverage extents have too."""
    return 0 if extent <= 0 else 1 << (extent - 1).bit_length()


def tuning_key(specialisation: dict, target, extents: dict) -> dict:
    """`extents` maps the launch symbols that the cost depends on to their values."""
    return {**specialisation, "target": str(target), "extents": {name: extent_class(value) for name, value in sorted(extents.items())}}


def canonical(key) -> str:
    """The one text of a key."""
    return json.dumps(key, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def program_identity(target, source: str, metadata: dict) -> str:
    """What a winner was measured for: provider text and declared candidates, free of paths, so that it means the same on any machine."""
    declared = {name: metadata.get(name) for name in ("params", "variants", "parameters", "candidates")}
    return cache.digest(str(target).encode(), source.encode(), canonical(declared).encode())


def winner_key(program: str, specialisation: dict, tuning: dict, device: str, provider: str) -> str:
    """The name of a winner's entry."""
    return cache.digest(*(text.encode() for text in (program, canonical(specialisation), canonical(tuning), device, provider)))
