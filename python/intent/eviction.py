"""The size limit of an artifact cache: what counts against it, and what leaves when it is reached.

INTENT_CACHE_LIMIT is a number of bytes, with a suffix K, M, G or T (powers of 1024), or `unlimited`; the default is 4G. Entries and kept
failures count, each file in whole blocks of 4 KiB. A writer reserves its size before it writes: a staging folder carries the reserved
size in its name, so that a scan by any process counts what is being written, and a process that dies leaves nothing uncounted. The
running total in `locks/usage` only saves scans. It may be too high, never too low: whoever finds it above the limit counts again.

What was used longest ago leaves first. The modification time of an entry's folder is the time of its last use.
"""
from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import time
import uuid
from pathlib import Path

from .errors import ConfigurationError

DEFAULT_LIMIT = 4 << 30
_SUFFIXES = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_BLOCK = 4096
_STAGING = re.compile(r"\.new-\d+-[0-9a-f]+-(\d+)\Z")
_ABANDONED_SECONDS = 3600.0
# An eviction goes on below the limit, so that the next publication does not count the whole cache again.
_KEPT_SHARE = 0.9


class LimitExceeded(Exception):
    """One entry alone is larger than the limit."""


def configured_limit() -> int | None:
    """The limit in bytes, or None for `unlimited`. ConfigurationError for another text than the module describes."""
    text = os.environ.get("INTENT_CACHE_LIMIT")
    if not text:
        return DEFAULT_LIMIT
    if text.strip().lower() == "unlimited":
        return None
    match = re.fullmatch(r"\s*([0-9]{1,18})\s*([KMGT]?)(?:i?B)?\s*", text, re.IGNORECASE | re.ASCII)
    if match is None:
        raise ConfigurationError(f"expected a number of bytes such as 500M or 4G, or 'unlimited', got {text!r}", source="INTENT_CACHE_LIMIT")
    return int(match[1]) << _SUFFIXES[match[2].upper()]


def charge(sizes) -> int:
    """What a folder with files of these sizes counts: whole blocks, and one for the folder."""
    return _BLOCK + sum(-(-size // _BLOCK) * _BLOCK for size in sizes)


def stage(base: Path, size: int) -> Path:
    """A new empty folder under `base` for an entry that counts `size`, with room made for it. OSError; LimitExceeded."""
    limit = configured_limit()
    if limit is not None and size > limit:
        raise LimitExceeded(f"{size} bytes, above the limit of {limit}")
    base.mkdir(parents=True, exist_ok=True)
    name = f".new-{os.getpid()}-{uuid.uuid4().hex[:8]}-{size}"
    if limit is None:
        (base / name).mkdir()
        return base / name
    with _usage(base) as ledger:
        total = ledger.read()
        if total is None or total + size > limit:
            total = _make_room(base, limit, size)
        # The total is raised first: dying in between leaves it too high, which the next count corrects.
        ledger.write(total + size)
        (base / name).mkdir()
    return base / name


def grow(directory, size: int) -> None:
    """Counts `size` bytes that an entry may grow by after it was published. A cache that cannot be written counts nothing."""
    with contextlib.suppress(OSError), _usage(Path(directory).parent.parent) as ledger:
        total = ledger.read()
        if total is not None:
            ledger.write(total + size)


def mark_used(directory: Path) -> None:
    """Records that an entry is in use now. A directory that cannot be written keeps its time."""
    with contextlib.suppress(OSError):
        os.utime(directory)


def _make_room(base: Path, limit: int, size: int) -> int:
    """Counts what is there and evicts until `size` fits. Returns what remains."""
    entries, total = _scan(base)
    if total + size > limit:
        target = max(0, int(limit * _KEPT_SHARE) - size)
        for _, directory, counted in sorted(entries):
            if total <= target:
                break
            if _evict(base, directory):
                total -= counted
    _drop_free_locks(base)
    return total


def _scan(base: Path):
    """`([(last use in ns, folder, size)], total)`. What dead processes left is removed on the way: evicted folders, and staging folders an hour old."""
    entries, total = [], 0
    for room in _listing(base):
        staged = _STAGING.match(room.name)
        if room.name.startswith(".old-") or staged and _age(room) > _ABANDONED_SECONDS:
            remove(room.path)
            continue
        if staged:
            total += int(staged[1])
            continue
        if not (room.name == "failed" or re.fullmatch("[0-9a-f]{2}", room.name)):
            continue
        for entry in _listing(room.path):
            try:
                counted, used = _charge_of(entry.path), entry.stat().st_mtime_ns
            except OSError:  # another process has just moved it away
                continue
            entries.append((used, Path(entry.path), counted))
            total += counted
    return entries, total


def remove(path) -> None:
    """Removes a folder, or what stands in its place, as far as it can. A pipe must not be opened, as `rmtree` would."""
    with contextlib.suppress(OSError):
        os.unlink(path)
        return
    shutil.rmtree(path, ignore_errors=True)


def _listing(path):
    try:
        with os.scandir(path) as found:
            return list(found)
    except OSError:
        return []


def _age(entry) -> float:
    try:
        return time.time() - entry.stat().st_mtime
    except OSError:
        return 0.0


def _charge_of(directory) -> int:
    total = _BLOCK
    with os.scandir(directory) as files:
        for file in files:
            total += _charge_of(file.path) if file.is_dir(follow_symlinks=False) else charge([file.stat(follow_symlinks=False).st_size]) - _BLOCK
    return total


def _evict(base: Path, directory: Path) -> bool:
    """Removes one entry. It is renamed first: a reader sees it whole or not at all."""
    aside = base / f".old-{uuid.uuid4().hex[:12]}"
    try:
        os.rename(directory, aside)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    remove(aside)
    return True


def _drop_free_locks(base: Path) -> None:
    """Removes lock files of entries that are not there. One that somebody holds stays; `ArtifactCache.lock` notices a removed one."""
    for lock in _listing(base / "locks"):
        if not re.fullmatch("[0-9a-f]{64}", lock.name) or os.path.isdir(base / lock.name[:2] / lock.name):
            continue
        with contextlib.suppress(OSError):
            descriptor = os.open(lock.path, os.O_RDWR)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(lock.path)
            finally:
                os.close(descriptor)


class _Ledger:
    """The running total in an open, locked file. A number is twenty digits and a line end, so that one write replaces it whole."""

    def __init__(self, descriptor: int):
        self._descriptor = descriptor

    def read(self) -> int | None:
        """The total; None if none was written, or if what is there is no number."""
        data = os.pread(self._descriptor, 64, 0)
        return int(data) if re.fullmatch(rb"[0-9]{20}\n", data) else None

    def write(self, total: int) -> None:
        data = b"%020d\n" % total
        if os.pwrite(self._descriptor, data, 0) != len(data):
            raise OSError("the total of the cache was written in part")


@contextlib.contextmanager
def _usage(base: Path):
    """The ledger, locked against other processes and threads."""
    folder = base / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / "usage", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        with contextlib.suppress(OSError):  # without working locks totals may drift; the next count corrects them
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield _Ledger(descriptor)
    finally:
        os.close(descriptor)
