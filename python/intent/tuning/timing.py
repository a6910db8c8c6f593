"""How long a candidate takes: restored before every run outside the timed span, warmed up, repeated, the median."""
from __future__ import annotations

import statistics
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """When measuring one candidate ends: after `most` runs, after `least` runs that took `seconds` together, or when they took `longest`;
    a candidate whose first timed run takes more than `hopeless` times the best median so far is not repeated."""

    least: int = 5
    most: int = 25
    seconds: float = 0.06
    hopeless: float = 3.0
    longest: float = 1.0


class HostClock:
    """Wall time of launches that return when the work is done."""

    def __init__(self, effort: Effort = Effort()):
        self.effort = effort

    def measure(self, run, restore, best: float | None = None) -> float:
        """Seconds of `run()`: the median of warm runs. `best` is the least median so far."""
        effort = self.effort
        restore()
        run()
        times: list = []
        total = 0.0
        while len(times) < effort.most and total < effort.longest and (len(times) < effort.least or total < effort.seconds):
            restore()
            begin = time.perf_counter()
            run()
            taken = time.perf_counter() - begin
            times.append(taken)
            total += taken
            if best is not None and taken > effort.hopeless * best:
                break
        return statistics.median(times)


class DeviceClock:
    """Time on a torch GPU between two events around each run, with a cold second-level cache and no wait of the host in between.

    Made for the current device; TrialMemoryError if what it writes over the cache does not fit.
    """

    def __init__(self, effort: Effort = Effort()):
        import torch

        from .trials import TrialMemoryError

        self.effort = effort
        self._torch = torch
        cache = getattr(torch.cuda.get_device_properties(torch.cuda.current_device()), "L2_cache_size", 0) or 64 << 20
        try:
            # Several times the cache, so that its replacement leaves nothing of the arguments; writing it also takes longer
            # than the host needs to queue a launch, so that the events do not measure the host.
            self._flush = torch.empty(4 * cache, dtype=torch.uint8, device="cuda")
        except RuntimeError as error:
            raise TrialMemoryError(f"{4 * cache} bytes to clear the cache: {str(error).splitlines()[0]}") from error

    def measure(self, run, restore, best: float | None = None) -> float:
        """Seconds of `run()` on the device: the median. Errors of the device are raised here, as torch reports them."""
        effort = self.effort
        restore()
        run()
        self._torch.cuda.synchronize()
        first = self._timed(run, restore, 1)[0]
        count = int(min(effort.most, max(effort.least, effort.seconds / max(first, 1e-9)), effort.longest / max(first, 1e-9)))
        if count <= 1 or best is not None and first > effort.hopeless * best:
            return first
        return statistics.median(self._timed(run, restore, count))

    def _timed(self, run, restore, count) -> list:
        events = []
        for _ in range(count):
            restore()
            self._flush.zero_()
            begin, end = (self._torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            run()
            end.record()
            events.append((begin, end))
        self._torch.cuda.synchronize()
        return [begin.elapsed_time(end) * 1e-3 for begin, end in events]
