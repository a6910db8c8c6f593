"""Mutates inputs of the libraries until the time is over: `python -m scripts.mutation --seconds 600 [KIND ...]`.

No input may end or stop the process, or get an internal error. What does is kept below build/mutation/ and listed at the end; the exit
status is then 1. An input found this way goes to python/tests/corpus/<kind>/ with the fix, where `make test` replays it.
"""
from __future__ import annotations

import argparse
import hashlib
import json
import mmap
import os
import random
import re
import signal
import struct
import sys
import time
import traceback
from pathlib import Path

from .inputs import KINDS, ROOT, Finding

SLOTS = 1 << 23  # the largest input that is kept
HANG_SECONDS = 20.0  # of processor time: a loaded machine is no hang
WALL_SECONDS = 300.0


class Worker:
    """One forked process that mutates and gives inputs of one kind; the input in progress lies in shared memory."""

    def __init__(self, kind, seed, folder):
        self.kind, self.folder = kind, folder
        self.shared = mmap.mmap(-1, SLOTS)
        self.pid = os.fork()
        if self.pid == 0:
            self._run(seed)
        self.step, self.since, self.used = 0, time.monotonic(), 0.0

    def _run(self, seed):
        status = 1
        try:
            if not os.environ.get("MUTATION_OUTPUT"):
                sink = os.open(os.devnull, os.O_WRONLY)
                os.dup2(sink, 1), os.dup2(sink, 2)
            rng = random.Random(seed)
            number = 0
            while True:
                number += 1
                self.shared[:16] = struct.pack("<QQ", number, 0)  # no input: one is being made
                try:
                    data = self.kind.mutate(rng)[: SLOTS - 16]
                except (ValueError, LookupError, TypeError):
                    continue  # a change that does not fit the shape that an earlier change left
                self.shared[16:16 + len(data)] = data
                number += 1
                self.shared[:16] = struct.pack("<QQ", number, len(data))
                try:
                    self.kind.give(data)
                except Finding as finding:
                    keep(self.folder, data, str(finding))
                except Exception:
                    keep(self.folder, data, "exception " + traceback.format_exc().splitlines()[-1])
        finally:
            os._exit(status)

    @property
    def count(self):
        """Inputs made so far, about: each takes two steps."""
        return self.step // 2

    def input(self) -> bytes:
        _, size = struct.unpack("<QQ", self.shared[:16])
        return self.shared[16:16 + size]

    def look(self):
        """None while it works; otherwise what ended it."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid:
            code = os.waitstatus_to_exitcode(status)
            return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit {code}"
        number, _ = struct.unpack("<QQ", self.shared[:16])
        if number != self.step:
            self.step, self.since, self.used = number, time.monotonic(), self._processor_seconds()
        elif self._processor_seconds() - self.used > HANG_SECONDS or time.monotonic() - self.since > WALL_SECONDS:
            self.end()
            return f"no answer in {HANG_SECONDS:.0f} s"
        return None

    def _processor_seconds(self) -> float:
        with open(f"/proc/{self.pid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def keep(folder, data, reason) -> None:
    """Writes an input and why it is kept; of inputs with one reason, up to five."""
    label = re.sub(r"\W+", "-", re.sub(r"'[^']*'|\d+", "", reason)).strip("-")[:80]
    at = folder / label
    at.mkdir(parents=True, exist_ok=True)
    if len(list(at.glob("*.input"))) < 5:
        name = hashlib.sha256(data).hexdigest()[:16]
        (at / f"{name}.input").write_bytes(data)
        (at / f"{name}.reason").write_text(reason + "\n")


def limit_time() -> None:
    """Ends this process by a signal when the input to come has no answer in time."""
    signal.setitimer(signal.ITIMER_PROF, HANG_SECONDS)
    signal.alarm(int(WALL_SECONDS))


def replay(kind, data):
    """None for an input that gets a proper answer; otherwise what went wrong. The input is given in a process of its own."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            limit_time()
            kind.give(data)
        except BaseException as error:
            os.write(writer, f"{type(error).__name__}: {error}".encode()[:4000])
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as answer:
        said = answer.read().decode(errors="replace")
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return f"signal {signal.Signals(-code).name}" if code < 0 else said or None


def sweep(kind, seed, count) -> list:
    """`[(input, what went wrong)]` of `count` mutations in one forked process, which an input may end."""
    reader, writer = os.pipe()
    shared = mmap.mmap(-1, SLOTS)
    pid = os.fork()
    if pid == 0:
        rng = random.Random(seed)
        for _ in range(count):
            try:
                data = kind.mutate(rng)[: SLOTS - 16]
            except (ValueError, LookupError, TypeError):
                continue
            shared[16:16 + len(data)] = data
            shared[:16] = struct.pack("<QQ", 1, len(data))
            limit_time()
            try:
                kind.give(data)
            except BaseException as error:
                os.write(writer, json.dumps([data.decode(errors="replace"), f"{type(error).__name__}: {error}"]).encode() + b"\n")
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as answer:
        found = [tuple(json.loads(line)) for line in answer]
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code:
        _, size = struct.unpack("<QQ", shared[:16])
        found.append((shared[16:16 + size].decode(errors="replace"), f"signal {signal.Signals(-code).name}" if code < 0 else f"exit {code}"))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.mutation", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", nargs="*", choices=[*KINDS, []], help="what to mutate; all by default")
    parser.add_argument("--seconds", type=float, default=600.0, help="time for each kind")
    parser.add_argument("--seed", type=int, help="first seed (default: the time)")
    parser.add_argument("--replay", nargs="+", type=Path, metavar="FILE", help="give these inputs of KIND instead, and say what happens")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "mutation", help="where findings are kept")
    options = parser.parse_args()
    if options.replay:
        kind = KINDS[options.kind[0]]()
        answers = {path: replay(kind, path.read_bytes()) for path in options.replay}
        print("\n".join(f"{path}: {answer or 'answered'}" for path, answer in answers.items()))
        return int(any(answers.values()))
    seed = int(time.time()) if options.seed is None else options.seed
    failures = 0
    for name in options.kind or KINDS:
        folder = options.folder / name
        kind, begin, total, found = KINDS[name](), time.monotonic(), 0, set(folder.glob("*"))
        worker = Worker(kind, seed, folder)
        while time.monotonic() - begin < options.seconds:
            time.sleep(0.05)
            ended = worker.look()
            if ended:
                if data := worker.input():
                    keep(folder, data, ended)
                total += worker.count
                seed += 1
                worker = Worker(kind, seed, folder)
        worker.look()
        total += worker.count
        worker.end()
        new = sorted(set(folder.glob("*")) - found)
        failures += len(new)
        print(f"{name:<8} {total} inputs in {time.monotonic() - begin:.0f} s, {len(new)} findings" + "".join(f"\n  {path}" for path in new), flush=True)
        seed += 1
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
