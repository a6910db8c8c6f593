"""Processes that compile for this one, several at a time, each job within a time limit."""
from __future__ import annotations

import concurrent.futures
import contextlib
import os
import select
import subprocess
import sys
import threading
import time
from pathlib import Path

from ..errors import ProviderError, TargetError
from .triton_worker import read_frame, write_frame

_WORKER = Path(__file__).with_name("triton_worker.py")
# Importing Triton takes a second; a machine under load may need many.
_START_SECONDS = 120.0


class CompilerPool:
    """Workers start when they are needed, stay for the next kernel, and end by themselves when idle or when this process does."""

    def __init__(self, most: int | None = None):
        self._most = most or min(8, len(os.sched_getaffinity(0)))
        self._lock = threading.Lock()
        self._idle: list = []
        self._owner = os.getpid()

    def compile(self, jobs, limit: float) -> list:
        """For each job None, or the exception that says why it failed: Triton's own, a TargetError `lower_compilation_cost` after
        `limit` seconds, a ProviderError where the compiler's process ended."""
        if os.getpid() != self._owner:  # a forked child must not talk to its parent's workers
            self._idle, self._owner, self._lock = [], os.getpid(), threading.Lock()
        busy: set = set()
        pool = concurrent.futures.ThreadPoolExecutor(min(self._most, len(jobs)))
        try:
            return list(pool.map(lambda job: self._one(job, limit, busy), jobs))
        except BaseException:
            with self._lock:
                for worker in busy:
                    worker.kill()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _one(self, job, limit, busy):
        worker = self._take(busy)
        if isinstance(worker, Exception):
            return worker
        try:
            write_frame(worker.stdin, job)
            if not _readable(worker.stdout, limit):
                worker.kill()
                worker.wait()
                return TargetError(f"compilation took longer than {limit:g} s", category="lower_compilation_cost", operation=job["variant"], feature="lower_compile_timeout")
            answer = read_frame(worker.stdout)
        except (OSError, EOFError, ValueError):
            status = worker.wait()
            return ProviderError(f"the compiler's process ended with {_ending(status)}")
        finally:
            with self._lock:
                busy.discard(worker)
        with self._lock:
            self._idle.append(worker)
        return answer

    def _take(self, busy):
        """A worker that is ready, marked busy; an exception if none can be started."""
        with self._lock:
            while self._idle:
                worker = self._idle.pop()
                # One that ends between here and its job would count as a crash; an idle one ends within a minute, so it is new enough.
                if worker.poll() is None and time.monotonic() - worker.used < 30:
                    worker.used = time.monotonic()
                    busy.add(worker)
                    return worker
                worker.kill()
                worker.wait()
        try:
            worker = subprocess.Popen([sys.executable, str(_WORKER), str(_WORKER.parents[2]), *sys.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL, start_new_session=True)
        except OSError as error:
            return ProviderError("no process for the compiler can be started", original=error)
        worker.used = time.monotonic()
        with self._lock:
            busy.add(worker)
        with contextlib.suppress(OSError, EOFError):
            if _readable(worker.stdout, _START_SECONDS) and read_frame(worker.stdout) == "ready":
                return worker
        worker.kill()
        status = worker.wait()
        with self._lock:
            busy.discard(worker)
        return ProviderError(f"the compiler's process did not start; it ended with {_ending(status)}")

    def close(self) -> None:
        """Ends idle workers."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.kill()
            worker.wait()


def _readable(stream, seconds) -> bool:
    return bool(select.select([stream], [], [], seconds)[0])


def _ending(status) -> str:
    return f"signal {-status}" if status < 0 else f"status {status}"


_shared: CompilerPool | None = None
_shared_lock = threading.Lock()


def shared() -> CompilerPool:
    """The pool of this process."""
    global _shared
    with _shared_lock:
        if _shared is None:
            _shared = CompilerPool()
        return _shared
