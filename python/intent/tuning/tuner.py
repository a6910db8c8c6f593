"""Which configuration row a call runs: a known winner, the only candidate, the first legal one, or the fastest of a tuning.

A `Tuner` belongs to one compiled kernel. What differs between providers is asked of its runtime (`HostProgram`, `TritonProgram`):

- `tunes_unasked`: whether a first call with several candidates measures them; INTENT_TUNE=1 or 0 overrides it.
- `facts(bound)`: what decides a row beyond the binding's layout, hashable; None instead of a method where nothing does.
- `eligible(bound, selection)`: `([candidate], [(candidate, reason)])`, those whose form this call has the facts for, and the others.
- `specialisation(bound, selection, candidates)`: the facts that compiled code depends on, as a dict for keys.
- `compile(bound, candidates, limit)`: `{index: exception}` of those that failed; all others can be launched. `compilations` counts.
- `resources(bound, index)`: `{"registers", "spills", "shared_memory"}` where the provider tells.
- `measurable()`: whether timing is possible now; `memory(plan, bound)` and `measure(...)` serve trials; `device(bound)`, `version()` name them.
"""
from __future__ import annotations

import os
import threading
import warnings
from dataclasses import dataclass

from ..errors import ConfigurationError, ProviderError, TargetError
from . import keys, packs, winners
from .candidates import Candidate, CandidateTable
from .progress import Progress
from .trials import TrialMemoryError, TrialState

_KNOWN_LIMIT = 4096
# Timings are worth nothing while another tuning of this process runs.
_measuring = threading.Lock()


@dataclass
class Decision:
    """What was decided for a call, and on which grounds. `records` has one dict a candidate of the call (see `winners.Winner`)."""

    candidate: Candidate
    specialisation: dict
    tuning: dict
    records: list
    measured: bool
    source: str
    resources: dict


class Tuner:
    """The decisions of one compiled kernel. Threads may ask at once; one decides, the others wait for it."""

    def __init__(self, program, plan, runtime):
        self._plan = plan
        self._runtime = runtime
        self._target = program.target
        self._metadata = program.metadata
        self._limit = program.compile_limit
        self.kernel = program.metadata.get("name") or "kernel"
        self.program = keys.program_identity(program.target, program.source, program.metadata)
        self.table = CandidateTable(program.metadata)
        self._lock = threading.Lock()
        self._warned = False
        self._extents = sorted({name for _, view in plan.views for e in view.shape for name in e.symbols | e.parameters} | plan.selecting_scalars)
        # By tuning key: calls of a class that was met need neither disk nor compiler.
        self._known: dict = {}
        self.last: Decision | None = None

    # -- decisions -----------------------------------------------------------------------------------------------

    def row(self, bound) -> int:
        """The row that this call runs. ProviderError, TargetError if no candidate can be compiled or one fails in a trial."""
        facts = self._runtime.facts
        slot = None if facts is None else facts(bound)
        row = bound.layout.rows.get(slot)
        if row is None:
            with self._lock:
                row = bound.layout.rows.get(slot)
                if row is None:
                    decision = self._decide(bound)
                    row = decision.candidate.index
                    if decision.source != "unmeasurable":
                        bound.layout.rows[slot] = row
        return row

    def tune(self, bound) -> Decision:
        """Measures the candidates of a call now, whatever is known, and records the winner. The call's memory is only read."""
        with self._lock:
            decision = self._decide(bound, ask=True)
            self._plan.forget()
        return decision

    def export(self, path) -> int:
        """Writes the known winners of this program to a pack; how many. ConfigurationError."""
        return packs.export(path, self.program, self.kernel, self._target)

    def adopt(self, path) -> int:
        """Takes the winners of a pack; how many. ConfigurationError with the reason if it was not made for this program here."""
        found = packs.load(path, self.program, self.kernel, self._target, self._runtime.device(None), self._runtime.version())
        with self._lock:
            for winner in found:
                winners.keep(winner)
            self._known.clear()
            self._plan.forget()
        return len(found)

    def _decide(self, bound, ask=False) -> Decision:
        runtime = self._runtime
        selection = self.table.select(bound.symbols)
        eligible, excluded = runtime.eligible(bound, selection)
        if not eligible:
            raise ProviderError("no configuration row can run this call", candidates=[(str(c), reason) for c, reason in excluded])
        specialisation = runtime.specialisation(bound, selection, eligible)
        extents = {name: bound.symbols[name] for name in self._extents if name in bound.symbols}
        tuning = keys.tuning_key(specialisation, self._target, extents)
        device = runtime.device(bound)
        slot = keys.canonical([device, tuning])
        if not ask and slot in self._known:
            self.last = self._known[slot]
            return self.last
        identity = (self.program, specialisation, tuning, device, runtime.version())
        records = [_record(c, "ineligible", reason=reason) for c, reason in excluded]
        decision = None if ask else self._recalled(bound, eligible, winners.find(keys.winner_key(*identity)))
        if decision is None:
            # Whatever an empty extent leaves to do, it is no work to time.
            empty = 0 in extents.values() or all(low == high for low, high in bound.layout.spans)
            wanted = len(eligible) > 1 and (ask or self._wanted()) and not empty
            if wanted and runtime.measurable():
                decision = self._measured(bound, eligible)
            else:
                decision = self._first(bound, eligible)
                if wanted:
                    decision.source = "unmeasurable"
                    self._warn("nothing can be timed while a graph is captured; call it once before")
                decision.records += [_record(c, "untried") for c in eligible if all(r["index"] != c.index for r in decision.records)]
            decision.records += records
            if decision.source in ("measured", "only"):
                winners.keep(self._winner(decision, specialisation, tuning, *identity[3:]))
        decision.specialisation, decision.tuning = specialisation, tuning
        decision.resources = runtime.resources(bound, decision.candidate.index)
        self.last = decision
        if decision.source != "unmeasurable":
            if len(self._known) >= _KNOWN_LIMIT:
                self._known.clear()
            self._known[slot] = decision
        return decision

    def _wanted(self) -> bool:
        chosen = os.environ.get("INTENT_TUNE", "")
        if chosen not in ("", "0", "1"):
            raise ConfigurationError(f"expected 0 or 1, got {chosen!r}", source="INTENT_TUNE")
        return self._runtime.tunes_unasked if not chosen else chosen == "1"

    def _recalled(self, bound, eligible, winner):
        """The decision that a winner stands for, or None if it is none of the candidates or no longer compiles."""
        found = winner and next((c for c in eligible if c.variant == winner.variant and c.index == winner.index), None)
        if found is None or self._runtime.compile(bound, [found], None):
            return None
        return Decision(found, {}, {}, list(winner.candidates), winner.measured, "winner", {})

    def _first(self, bound, eligible) -> Decision:
        """The first candidate in table order that compiles, unmeasured."""
        records, failures = [], []
        for candidate in eligible:
            error = self._runtime.compile(bound, [candidate], self._limit).get(candidate.index)
            if error is None:
                records.append(_record(candidate, "chosen"))
                return Decision(candidate, {}, {}, records, False, "only" if len(eligible) == 1 else "first", {})
            records.append(_record(candidate, "failed", reason=_text(error)))
            failures.append((candidate, error))
        raise _nothing_compiles(failures)

    def _measured(self, bound, eligible) -> Decision:
        """The fastest candidate of trials on copies; the first one, with a warning, where copies do not fit."""
        with _measuring, Progress(self.kernel, len(eligible)) as progress:
            progress.compiling()
            errors = self._runtime.compile(bound, eligible, self._limit)
            records = {c.index: _record(c, "failed", reason=_text(errors[c.index])) for c in eligible if c.index in errors}
            alive = [c for c in eligible if c.index not in errors]
            if not alive:
                raise _nothing_compiles([(c, errors[c.index]) for c in eligible])
            times: dict = {}
            source = "only"
            if len(alive) > 1:
                try:
                    trial = TrialState(self._plan, bound, self._runtime.memory(self._plan, bound))
                    times = self._time(trial, alive, progress)
                    source = "measured"
                except TrialMemoryError as error:
                    self._warn(f"copies of its written arguments do not fit ({error})")
                    source = "memory"
            # A provider may rule a row out while it measures: what the machine has too little of.
            for c in [c for c in alive if isinstance(times.get(c.index), Exception)]:
                errors[c.index] = times.pop(c.index)
                records[c.index] = _record(c, "failed", reason=_text(errors[c.index]))
                alive.remove(c)
            if not alive:
                raise _nothing_compiles([(c, errors[c.index]) for c in eligible])
            winner = min(alive, key=lambda c: times.get(c.index, float("inf"))) if times else alive[0]
            for c in alive:
                records[c.index] = _record(c, "chosen" if c is winner else "measured" if times else "untried", seconds=times.get(c.index))
            return Decision(winner, {}, {}, [records[c.index] for c in eligible], bool(times), source, {})

    def _time(self, trial, alive, progress) -> dict:
        """`{index: seconds}` of each candidate on trial arguments, or the exception that ruled it out."""
        current, best, number = alive[0], None, 0

        def measure_one(candidate, measure):
            nonlocal current, best, number
            current, number = candidate, number + 1
            progress.measuring(number, best)
            seconds = measure(best)
            best = seconds if best is None else min(best, seconds)
            return seconds

        try:
            return self._runtime.measure(trial, alive, measure_one)
        except TrialMemoryError:
            raise
        except Exception as error:
            raise ProviderError(f"candidate {current} failed in a trial; the arguments are as they were", original=error) from error

    def _warn(self, reason):
        if not self._warned:
            self._warned = True
            warnings.warn(f"{self.kernel} is not tuned: {reason}; the first legal configuration runs", RuntimeWarning, stacklevel=6)

    def _winner(self, decision, specialisation, tuning, device, provider):
        candidate = decision.candidate
        return winners.Winner(self.program, self.kernel, str(self._target), device, provider, specialisation, tuning, candidate.variant, candidate.index,
                              decision.measured, decision.records)

    # -- what a user sees ----------------------------------------------------------------------------------------

    def observation(self) -> dict:
        """Keys, candidates and winner of the latest decision, and how often the provider's compiler ran."""
        last = self.last
        found = {"compilations": self._runtime.compilations}
        if last is None:
            return found
        by_place = {(r["variant"], r["index"]): r for r in last.records}
        listed = [by_place.get((c.variant, c.index)) or _record(c, "other_variant") for c in self.table.declared]
        winner = {"variant": last.candidate.variant, "index": last.candidate.index, "values": last.candidate.values, "measured": last.measured, "source": last.source}
        return {**found, "specialisation_key": last.specialisation, "tuning_key": last.tuning, "candidates": listed, "winner": winner, **last.resources}


def _record(candidate, status, *, reason=None, seconds=None) -> dict:
    return {"variant": candidate.variant, "index": candidate.index, "values": candidate.values, "status": status, "seconds": seconds, "reason": reason}


def _text(error) -> str:
    text = str(error).strip() or type(error).__name__
    return text if isinstance(error, (ProviderError, TargetError)) else f"{type(error).__name__}: {text}"


def _nothing_compiles(failures):
    """The error of a call none of whose candidates compiles: the one candidate's own, or one that lists them."""
    if len(failures) == 1 and isinstance(failures[0][1], (ProviderError, TargetError)):
        return failures[0][1]
    listed = [(str(candidate), _text(error)) for candidate, error in failures]
    if all(isinstance(error, TargetError) for _, error in failures):
        return TargetError("no candidate compiles within the limit: " + "; ".join(f"candidate {c}: {reason}" for c, reason in listed),
                           category="lower_compilation_cost", feature="lower_compile_timeout")
    error = ProviderError("no candidate compiles", candidates=listed)
    error.original = error.__cause__ = failures[0][1]
    return error
