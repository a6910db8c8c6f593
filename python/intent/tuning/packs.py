"""Winner packs: the winners of one kernel as a file, to carry a tuned kernel to another machine of the same kind."""
from __future__ import annotations

import json

from ..errors import ConfigurationError
from . import winners

FORMAT = "intent winner pack"


def export(path, program: str, kernel: str, target) -> int:
    """Writes every winner of a program; returns how many. ConfigurationError if there is none or the file cannot be written."""
    found = winners.of_program(program)
    if not found:
        raise ConfigurationError(f"no winner of {kernel!r} for {target} is known; tune it first", source=str(path))
    document = {"format": FORMAT, "schema": winners.SCHEMA, "winners": [json.loads(winners.encode(winner)) for winner in found]}
    try:
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(json.dumps(document, indent=1, sort_keys=True) + "\n")
    except OSError as error:
        raise ConfigurationError(f"cannot be written: {error.strerror or error}", source=str(path)) from error
    return len(found)


def load(path, program: str, kernel: str, target, device: str, provider: str) -> list:
    """The winners of a pack, all of them for this program, device and provider. ConfigurationError says why a pack is refused; then
    nothing of it is used."""
    source = str(path)
    try:
        with open(path, encoding="utf-8") as stream:
            document = json.loads(stream.read())
    except OSError as error:
        raise ConfigurationError(f"cannot be read: {error.strerror or error}", source=source) from error
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"no winner pack: {error}", source=source) from error
    if not isinstance(document, dict) or document.get("format") != FORMAT or not isinstance(document.get("winners"), list):
        raise ConfigurationError("no winner pack", source=source)
    if document.get("schema") != winners.SCHEMA:
        raise ConfigurationError(f"expected pack schema {winners.SCHEMA}, got {document.get('schema')!r}", source=source)
    found = []
    for number, entry in enumerate(document["winners"]):
        try:
            found.append(winners.decode(json.dumps(entry)))
        except (ValueError, RecursionError) as error:
            raise ConfigurationError(f"entry {number} is damaged: {error}", source=source) from error
        reason = _foreign(found[-1], program, kernel, target, device, provider)
        if reason:
            raise ConfigurationError(reason, source=source)
    if not found:
        raise ConfigurationError("the pack holds no winner", source=source)
    return found


def _foreign(winner, program, kernel, target, device, provider):
    """Why a winner does not hold here, or None."""
    if winner.kernel != kernel:
        return f"foreign pack: expected winners of {kernel!r}, got {winner.kernel!r}"
    for what, expected, actual in (("target", str(target), winner.target), ("device", device, winner.device)):
        if actual != expected:
            return f"foreign pack: expected {what} {expected!r}, got {actual!r}"
    if winner.provider != provider:
        return f"stale pack: expected provider {provider!r}, got {winner.provider!r}"
    if winner.program != program:
        return f"stale pack: {kernel!r} or its configuration rows have changed since"
    return None
