"""Worker processes: a program that crashes or hangs costs one worker, and is a failure."""
from __future__ import annotations

import multiprocessing
import os
import shutil
import tempfile
import time
from multiprocessing.connection import wait

from .execution import Outcome
from .families import VALUES

# A program may use so many seconds of processor time, and so many by the clock, where a busy machine gives it little.
TIMEOUT, PATIENCE = 60.0, 600.0
# Then a new worker follows: each program that ran leaves some memory behind.
LIFE = 150


def _serve(connection, family, folder):
    os.environ["INTENT_CACHE_DIR"] = os.path.join(folder, "cache")
    # What a worker prints (a compiler's own notes, an interpreter's warnings) is not the report.
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    try:
        while True:
            task = connection.recv()
            if task is None:
                break
            outcome = family.run(family.program(task) if isinstance(task, int) else task, folder)
            connection.send(outcome)
    except (EOFError, OSError):
        pass


class _Worker:
    def __init__(self, context, family):
        self.connection, theirs = context.Pipe()
        self.folder = tempfile.mkdtemp(prefix="intent-programs")  # removed by `stop`: a worker that is killed could not
        self.process = context.Process(target=_serve, args=(theirs, family, self.folder), daemon=True)
        self.process.start()
        theirs.close()
        self.key, self.started, self.used, self.left = None, None, None, LIFE

    def give(self, key, task):
        self.key, self.started, self.used = key, time.monotonic(), self.processor_time()
        self.left -= 1
        self.connection.send(task)

    def processor_time(self):
        """Seconds of processor time so far, its finished children left out; 0 where the system does not tell."""
        try:
            with open(f"/proc/{self.process.pid}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def late(self):
        return self.processor_time() - self.used > TIMEOUT or time.monotonic() - self.started > PATIENCE

    def stop(self):
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        self.connection.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Pool:
    """Runs tasks, each a seed or a program of the family, in `jobs` processes."""

    def __init__(self, jobs=None, family=VALUES):
        self.family = family
        self.context = multiprocessing.get_context("fork")
        self.jobs = jobs or len(os.sched_getaffinity(0))
        self.workers = []

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        for worker in self.workers:
            worker.stop()

    def outcomes(self, tasks):
        """Yields `(task, Outcome)` as they finish."""
        pending = list(enumerate(tasks))[::-1]
        tasks = list(tasks)
        busy = {}
        while pending or busy:
            while pending and len(busy) < self.jobs:
                worker = next((w for w in self.workers if w not in busy.values()), None)
                if worker is None:
                    worker = _Worker(self.context, self.family)
                    self.workers.append(worker)
                key, task = pending.pop()
                worker.give(key, task)
                busy[worker.connection] = worker
            ready = wait(list(busy), timeout=0.5)
            for connection in ready:
                worker = busy.pop(connection)
                try:
                    outcome = connection.recv()
                except (EOFError, OSError):
                    worker.process.join()
                    outcome = Outcome("failed", "crash", f"the process ended with {_ended(worker.process.exitcode)}")
                    worker.left = 0
                if worker.left <= 0:
                    self._drop(worker)
                yield tasks[worker.key], outcome
            for connection, worker in list(busy.items()):
                if worker.late():
                    del busy[connection]
                    self._drop(worker)
                    yield tasks[worker.key], Outcome("failed", "timeout", f"no result after {TIMEOUT:.0f} s of processor time or {PATIENCE:.0f} s")

    def _drop(self, worker):
        worker.stop()
        self.workers.remove(worker)

    def outcome(self, program) -> Outcome:
        return next(iter(self.outcomes([program])))[1]


def _ended(code):
    return f"signal {-code}" if code is not None and code < 0 else f"status {code}"
