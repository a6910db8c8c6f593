"""Region folds and scans, run under several segmentations so that a broken law shows (numerics.md section 3)."""
from __future__ import annotations

import functools

import numpy as np

from intent.errors import LanguageError

from .construction import tensor_argument
from .context import current
from .formats import is_literal
from .laws import THOROUGH, Laws
from .structured import axes_of
from .values import Tensor, as_format, as_value, describe, leaves, matched, rebuilt, same_structure

# The finest segmentation of a long source has this many slices at most.
_FINEST = 256


class Source:
    """The tensors of one ordered axis, cut alike."""

    def __init__(self, source, axis, what):
        self.tuple = source if isinstance(source, tuple) else (source,)
        if not self.tuple:
            raise LanguageError(f"{what}: source holds at least one tensor")
        self.parts = [tensor_argument(part, f"{what}: source") for part in leaves(self.tuple)]
        self.axes = [axes_of(axis, part.data.ndim)[0] for part in self.parts]
        extents = [part.data.shape[a] for part, a in zip(self.parts, self.axes)]
        for extent in extents[1:]:
            if extent != extents[0]:
                raise LanguageError(f"{what}: sources have one extent along the axis, got {extents[0]} and {extent}")
        self.extent = extents[0]

    def slice(self, begin, end):
        parts = [Tensor(part.data[(slice(None),) * a + (slice(begin, end),)], part.format) for part, a in zip(self.parts, self.axes)]
        return rebuilt(self.tuple, parts)


def _segmentations(extent):
    """Lists of cut positions, the whole source first: one slice, some random cuts, and slices of one element."""
    interpreter = current()
    yield [0, extent]
    if extent < 2:
        return
    visits = interpreter.visit("fold")
    if visits > THOROUGH and interpreter.random.random() < 0.8:
        return
    for _ in range(2 if visits <= THOROUGH else 1):
        count = int(interpreter.random.integers(1, min(extent, 9)))
        cuts = interpreter.random.choice(np.arange(1, extent), size=min(count, extent - 1), replace=False)
        yield [0, *sorted(int(c) for c in cuts), extent]
    if visits <= THOROUGH:
        yield sorted({*np.linspace(0, extent, min(extent, _FINEST) + 1).astype(int).tolist()})


class _Monoid:
    """The summaries of one fold: `summarize`, `combine` and `identity` with checked structure."""

    def __init__(self, source, summarize, combine, identity, operands, what):
        for role, function in (("summarize", summarize), ("combine", combine)):
            if not callable(function):
                raise LanguageError(f"{what}: {role} is an @intent.fn, got {describe(function)}")
        if not isinstance(operands, tuple):
            raise LanguageError(f"{what}: operands: expected a tuple, got {describe(operands)}")
        self.source, self._summarize, self._combine, self.operands, self.what = source, summarize, combine, operands, what
        self.structure = self._typed(identity)
        self.laws = Laws(what)

    def _typed(self, identity):
        """The identity, its literals in the dtypes that a summary has; weak where the source is empty and no summary of it exists."""
        try:
            with current().without_effects():
                model = self._summarize(*self.source.slice(0, self.source.extent), *self.operands)
        except LanguageError:
            if self.source.extent:
                raise
            return rebuilt(identity, [as_value(part) for part in leaves(identity)])
        if not same_structure(identity, model):
            raise LanguageError(f"{self.what}: summarize gives the structure of the identity, {describe(identity)}, got {describe(model)}")
        parts = [as_format(part, as_value(like).format) if is_literal(part) else as_value(part) for part, like in zip(leaves(identity), leaves(model))]
        return rebuilt(identity, parts)

    def _held(self, value, role):
        if not same_structure(self.structure, value):
            raise LanguageError(f"{self.what}: {role} gives the structure of the identity, {describe(self.structure)}, got {describe(value)}")
        parts = matched(value, self.structure, f"{self.what}: {role}")
        for part, model in zip(parts, leaves(self.structure)):
            if part.data.shape != model.data.shape:
                raise LanguageError(f"{self.what}: {role} gives shape {list(model.data.shape)} as the identity has, got {list(part.data.shape)}")
        self.laws.met(parts)
        return rebuilt(self.structure, parts)

    def summary(self, begin, end):
        with current().without_effects():
            return self._held(self._summarize(*self.source.slice(begin, end), *self.operands), "summarize")

    def combined(self, a, b):
        with current().without_effects():
            return self._held(self._combine(a, b), "combine")

    def require(self, a, b, law):
        self.laws.require(leaves(a), leaves(b), self.source.extent, law)


def _with_rounding(operation):
    @functools.wraps(operation)
    def watched(**arguments):
        with current().rounding():
            return operation(**arguments)

    return watched


@_with_rounding
def region_fold(source, axis, summarize, combine, identity, operands):
    what = "I.region_fold"
    source = Source(source, axis, what)
    fold = _Monoid(source, summarize, combine, identity, operands, what)
    neutral = fold.structure
    if source.extent == 0:
        return neutral
    result = None
    for cuts in _segmentations(source.extent):
        summaries = [fold.summary(b, e) for b, e in zip(cuts, cuts[1:])]
        total = summaries[0]
        for summary in summaries[1:]:
            total = fold.combined(total, summary)
        if result is None:
            result = total
            fold.require(fold.combined(neutral, result), result, "combine(identity, s) equals s")
            fold.require(fold.combined(result, neutral), result, "combine(s, identity) equals s")
        else:
            fold.require(result, total, f"summarize(A ++ B) equals combine(summarize(A), summarize(B)) (cut at {_cuts(cuts)})")
            if len(summaries) > 2:
                right = summaries[-1]
                for summary in reversed(summaries[:-1]):
                    right = fold.combined(summary, right)
                fold.require(total, right, "combine is associative")
    return result


def _cuts(cuts):
    inner = [str(c) for c in cuts[1:-1]]
    return ", ".join(inner[:4] + (["..."] if len(inner) > 4 else []))


@_with_rounding
def region_scan(source, axis, summarize, combine, identity, initial_state, apply, emit, operands):
    what = "I.region_scan"
    source = Source(source, axis, what)
    fold = _Monoid(source, summarize, combine, identity, operands, what)
    for role, function in (("apply", apply), ("emit", emit)):
        if not callable(function):
            raise LanguageError(f"{what}: {role} is an @intent.fn, got {describe(function)}")
    neutral = fold.structure
    states = Laws(what)

    def applied(transition, state):
        with current().without_effects():
            result = apply(transition, state)
        parts = matched(result, initial_state, f"{what}: apply")
        states.met(parts)
        return rebuilt(initial_state, parts)

    def emitted(begin, end, state):
        with current().without_effects():
            return emit(*source.slice(begin, end), state, *operands)

    start = rebuilt(initial_state, matched(initial_state, initial_state, f"{what}: initial_state"))
    outcome = None
    for cuts in _segmentations(source.extent) if source.extent else [[0, 0]]:
        state, pieces = start, []
        total = neutral
        for begin, end in zip(cuts, cuts[1:]):
            pieces.append(emitted(begin, end, state))
            if end > begin:
                transition = fold.summary(begin, end)
                state = applied(transition, state)
                total = fold.combined(total, transition)
        outputs = _joined(pieces, source.axes[0], what)
        if outcome is None:
            outcome = outputs, state
            if source.extent:
                states.require(leaves(applied(neutral, start)), leaves(start), source.extent, "apply(identity, s) equals s")
                states.require(leaves(applied(total, start)), leaves(state), source.extent, "apply(combine(a, b), s) equals apply(b, apply(a, s))")
        else:
            laws = Laws(what)
            laws.require(leaves(outcome[0]), leaves(outputs), source.extent, f"emit(A ++ B, s) equals emit(A, s) ++ emit(B, apply(summarize(A), s)) (cut at {_cuts(cuts)})")
            states.require(leaves(outcome[1]), leaves(state), source.extent, f"the final state does not depend on slices (cut at {_cuts(cuts)})")
            states.require(leaves(applied(total, start)), leaves(state), source.extent, "apply(combine(a, b), s) equals apply(b, apply(a, s))")
    return outcome


def _joined(pieces, axis, what):
    """Outputs of the slices one after the other along the axis."""
    parts = [leaves(piece) for piece in pieces]
    joined = []
    for slot in zip(*parts):
        tensors = [tensor_argument(part, f"{what}: emit") for part in slot]
        place = min(axis, tensors[0].data.ndim - 1)
        joined.append(Tensor(np.concatenate([t.data for t in tensors], axis=place), tensors[0].format))
    return rebuilt(pieces[0], joined)
