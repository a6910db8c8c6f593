"""Winners: what was measured fastest, with every candidate's timing, in memory and on disk under `v1/winners/`.

A file holds one winner with a checksum and appears by rename. One that is damaged, or says something else than its name, counts
as absent and is written again; a folder that cannot be used means memory alone (the artifact cache warns of it).
"""
from __future__ import annotations

import contextlib
import json
import os
import tempfile
import threading
from dataclasses import asdict, dataclass

from .. import cache
from . import keys

SCHEMA = 1


@dataclass(frozen=True)
class Winner:
    """One decision. `program` identifies what was measured (keys.program_identity), `kernel` and `target` are for people.

    `candidates` lists `{variant, index, values, status, seconds, reason}` of every candidate that the call had, `seconds` and
    `reason` None where they do not apply; `measured` is false where there was nothing to choose from.
    """

    program: str
    kernel: str
    target: str
    device: str
    provider: str
    specialisation: dict
    tuning: dict
    variant: str | None
    index: int
    measured: bool
    candidates: list

    @property
    def key(self) -> str:
        return keys.winner_key(self.program, self.specialisation, self.tuning, self.device, self.provider)


def encode(winner: Winner) -> str:
    """The text of a winner's file."""
    body = asdict(winner)
    return json.dumps({"schema": SCHEMA, "checksum": _checksum(body), "winner": body}, indent=1, sort_keys=True)


def decode(text) -> Winner:
    """The winner in a file's text. ValueError for anything else."""
    document = json.loads(text)
    try:
        body = document["winner"]
        if document["schema"] != SCHEMA or document["checksum"] != _checksum(body):
            raise ValueError("the checksum does not match")
        winner = Winner(**body)
        well_formed = isinstance(winner.index, int) and isinstance(winner.candidates, list) and all(isinstance(c, dict) for c in winner.candidates)
        if not well_formed or not isinstance(winner.specialisation, dict) or not isinstance(winner.tuning, dict):
            raise ValueError("a field has another type")
        return winner
    except (LookupError, TypeError) as error:
        raise ValueError(f"no winner: {error}") from error


def _checksum(body) -> str:
    return cache.digest(keys.canonical(body).encode())


_remembered: dict = {}
_lock = threading.Lock()


def find(key: str) -> Winner | None:
    """The winner of a key, from memory or the current cache root."""
    slot = (cache.configured_root(), key)
    with _lock:
        found = _remembered.get(slot)
    if found is not None:
        return found
    try:
        found = decode(cache.read_file(_path(key)))
    except (OSError, ValueError, RecursionError):
        return None
    if found.key != key:
        return None
    with _lock:
        return _remembered.setdefault(slot, found)


def keep(winner: Winner) -> None:
    """Records a winner in place of an earlier one, on disk where that can be written."""
    with _lock:
        _remembered[(cache.configured_root(), winner.key)] = winner
    with contextlib.suppress(OSError):
        _publish(_path(winner.key), encode(winner))


def of_program(program: str) -> list:
    """Every readable winner of a program, in the order of their keys."""
    found: dict = {}
    try:
        for path in _folder().glob("*/*.json"):
            with contextlib.suppress(OSError, ValueError, RecursionError):
                winner = decode(cache.read_file(path))
                if winner.program == program and winner.key == path.stem:
                    found[winner.key] = winner
    except OSError:
        pass
    root = cache.configured_root()
    with _lock:
        found.update((key, winner) for (place, key), winner in _remembered.items() if place == root and winner.program == program)
    return [found[key] for key in sorted(found)]


def forget() -> None:
    """Drops what this process remembers; files stay."""
    with _lock:
        _remembered.clear()


def _folder():
    return cache.configured_root() / cache.SCHEMA / "winners"


def _path(key):
    return _folder() / key[:2] / f"{key}.json"


def _publish(path, text) -> None:
    """Writes a file that appears whole or not at all, whoever writes it at the same time. OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, private = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with open(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(private, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(private)
        raise
