"""One line on a terminal while candidates are compiled and measured; nothing where standard error is none."""
from __future__ import annotations

import sys


class Progress:
    """`with Progress("softmax", 8) as progress: progress.measuring(3, best)`. The line goes when the block ends."""

    def __init__(self, kernel: str, total: int, stream=None):
        self._stream = sys.stderr if stream is None else stream
        self._kernel = kernel
        self._total = total
        self._shown = False
        try:
            self._terminal = self._stream is not None and self._stream.isatty()
        except (AttributeError, ValueError):  # a stand-in without the question, or a closed stream
            self._terminal = False

    def compiling(self) -> None:
        self._show(f"compiling {self._total} candidates")

    def measuring(self, number: int, best: float | None) -> None:
        """`number` counts from 1; `best` in seconds."""
        self._show(f"candidate {number}/{self._total}" + ("" if best is None else f", best {format_seconds(best)}"))

    def _show(self, text):
        if self._terminal:
            self._shown = True
            self._stream.write(f"\r\x1b[Kintent: tuning {self._kernel}: {text}")
            self._stream.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def format_seconds(seconds: float) -> str:
    """`12.3 us`, `4.56 ms`, `1.2 s`."""
    for unit, scale in (("us", 1e6), ("ms", 1e3)):
        if seconds * scale < 1000:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds:.3g} s"
