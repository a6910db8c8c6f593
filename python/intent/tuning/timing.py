"""How long a candidate takes: restored before every run outside the timed span, warmed up, repeated, the median."""
from __future__ import annotations

import statistics
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """When measuring one candidate ends: after `most` runs, or `least` runs and `seconds` together; a candidate whose first timed run
    takes more than `hopeless` times the best median so far is not repeated."""

    least: int = 5
    most: int = 25
    seconds: float = 0.06
    hopeless: float = 3.0


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
        while len(times) < effort.most and (len(times) < effort.least or total < effort.seconds):
            restore()
            begin = time.perf_counter()
            run()
            taken = time.perf_counter() - begin
            times.append(taken)
            total += taken
            if best is not None and taken > effort.hopeless * best:
                break
        return statistics.median(times)
