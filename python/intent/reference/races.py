"""Conflicts between iterations of `I.parallel`: who read, wrote or updated each element last, by iteration."""
from __future__ import annotations

import numpy as np

from intent.errors import LanguageError

_KINDS = ("write", "read", "atomic")
_CONFLICTS = {"write": _KINDS, "read": ("write", "atomic"), "atomic": ("write", "read")}


class Storage:
    """Memory in which accesses may meet: a buffer, or views that overlap. `units` elements, `depth` parallel loops around its making."""

    __slots__ = ("units", "depth", "shadows", "__weakref__")

    def __init__(self, units, depth=0):
        self.units, self.depth = units, depth
        self.shadows = {}  # nesting depth of the loop -> {kind: (last iteration, first of several iterations)}

    def shadow(self, depth):
        found = self.shadows.get(depth)
        if found is None:
            found = self.shadows[depth] = {kind: (np.full(self.units, -1, np.int64), np.full(self.units, -1, np.int64)) for kind in _KINDS}
        return found


class _Frame:
    __slots__ = ("depth", "first", "now")

    def __init__(self, depth, first):
        self.depth, self.first, self.now = depth, first, None


class Races:
    """The parallel loops around the running statement. Iterations have numbers that grow over the whole run, so that a shadow of an
    earlier loop at the same depth is told apart by its numbers alone."""

    def __init__(self):
        self.frames = []
        self._points = []  # of each iteration, by number

    @property
    def depth(self):
        return len(self.frames)

    def enter(self):
        frame = _Frame(len(self.frames), len(self._points))
        self.frames.append(frame)
        return frame

    def begin(self, frame, point):
        # A `continue` that left an inner loop early leaves that loop's frame behind.
        del self.frames[frame.depth + 1:]
        frame.now = len(self._points)
        self._points.append(point)

    def leave(self, frame):
        if frame in self.frames:
            del self.frames[frame.depth:]

    def record(self, storage, units, kind, described):
        """Notes an access of element numbers `units` of a storage; LanguageError if it conflicts with another iteration's."""
        for frame in self.frames[storage.depth:]:
            shadow = storage.shadow(frame.depth)
            for other in _CONFLICTS[kind]:
                last, several = (array[units] for array in shadow[other])
                wrong = (last >= frame.first) & (last != frame.now) | (several >= frame.first)
                if wrong.any():
                    at = int(np.flatnonzero(wrong)[0])
                    self._report(frame, int(last[at]), other, kind, described)
            last, several = shadow[kind]
            before = last[units]
            several[units[(before >= frame.first) & (before != frame.now)]] = frame.now
            last[units] = frame.now

    def _report(self, frame, earlier, other, kind, described):
        verbs = {"write": "writes", "read": "reads", "atomic": "updates"}
        who = "another iteration" if earlier == frame.now else f"iteration {_point(self._points[earlier])}"
        raise LanguageError(f"iterations of an I.parallel loop conflict: {who} {verbs[other]} an element of {described} that "
                            f"iteration {_point(self._points[frame.now])} {verbs[kind]}")


def _point(point):
    return str(point[0]) if len(point) == 1 else str(point)
