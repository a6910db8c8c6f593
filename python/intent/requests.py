"""Building compilation requests (docs/request.md) and the keys of their artifacts."""
from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from . import cache, native, targets
from .errors import ConfigurationError

REQUEST_SCHEMA = 1
_MOST_TABLE_BYTES = 1 << 20  # as lib/Tuning/Tables.cpp
LOWER_COMPILE_TIMEOUT = 60.0
NUMERICS = ("source", "relaxed_normalization")


@dataclass(frozen=True)
class CompileOptions:
    """Options of one compilation.

    `numerics` is "source" or "relaxed_normalization"; `online_reduction` permits the optional rewrite that the second allows.
    `lower_compile_timeout` is how many seconds an external compiler may take for one candidate; one that takes longer is out, with the
    category `lower_compilation_cost`. `cover` forces a legal cover, for tests ("N=loop,lanes"). `check` makes the host check every access, buffer read and race
    (INTENT_CHECK=1 asks it of every host program). ConfigurationError for a value of another kind.
    """

    numerics: str = "source"
    online_reduction: bool = True
    lower_compile_timeout: float = LOWER_COMPILE_TIMEOUT
    cover: str | None = None
    check: bool = False

    def __post_init__(self):
        if self.numerics not in NUMERICS:
            raise ConfigurationError(f"numerics is one of {', '.join(map(repr, NUMERICS))}, not {self.numerics!r}", source="options")
        for name in ("online_reduction", "check"):
            if not isinstance(getattr(self, name), bool):
                raise ConfigurationError(f"{name} is a bool, not {getattr(self, name)!r}", source="options")
        limit = self.lower_compile_timeout
        if isinstance(limit, bool) or not isinstance(limit, (int, float)) or not 0 < limit < float("inf"):
            raise ConfigurationError(f"lower_compile_timeout is a positive number of seconds, not {limit!r}", source="options")
        if self.cover is not None and not isinstance(self.cover, str):
            raise ConfigurationError(f"cover is a string or None, not {self.cover!r}", source="options")

    def request(self, target: targets.Target | None) -> dict:
        """The `options` field of a request: what changes the generated text, which a time limit does not."""
        check = self.check or (target is not None and target.provider == "host" and os.environ.get("INTENT_CHECK") == "1")
        return {"numerics": self.numerics, "online_reduction": self.online_reduction, "cover": self.cover, "check": check}


def resolve_options(options) -> CompileOptions:
    """The options that a caller passes, or the defaults for None."""
    if options is None:
        return CompileOptions()
    if not isinstance(options, CompileOptions):
        raise ConfigurationError(f"options are a CompileOptions, not {type(options).__name__}", source="options")
    return options


def freeze(value):
    """A hashable key that tells 1, 1.0, True, 0.0 and -0.0 apart, for constexprs and types."""
    if isinstance(value, dict):
        return tuple((name, freeze(item)) for name, item in sorted(value.items()))
    if isinstance(value, (tuple, list)):
        return (type(value), *map(freeze, value))
    if isinstance(value, float):
        return float, value.hex()
    return type(value), value


def from_kernel(kernel, constexprs, types, extents=None) -> dict:
    """The request fields that capture gives for a decorated kernel; `extents` are values of shape symbols. LanguageError."""
    from .capture import capture

    fields = capture(kernel, mapping(constexprs, "constexprs"), mapping(types, "types"))
    return {**fields, "extents": extents} if extents else fields


def mapping(value, what) -> dict:
    """A dict of names from what a caller passes, None included. ConfigurationError."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise ConfigurationError(f"{what} are a dict from names to values, not {type(value).__name__}", source=what)
    return dict(value)


def from_text(text) -> dict:
    """The request fields for kernel IR (or block program) text."""
    if not isinstance(text, str):
        raise ConfigurationError(f"program text is a str, not {type(text).__name__}", source="text")
    return {"text": text}


def complete(fields: dict, emit: str, target: targets.Target | None, options: CompileOptions, tuning_config) -> dict:
    """The whole request. `target` is None for stages before any target."""
    config = _path(tuning_config)
    return {"schema": REQUEST_SCHEMA, "emit": emit, **fields, "target": target and target.request(), "options": options.request(target),
            "tables": native.table_paths(), "tuning_config": config}


def artifact_key(request: dict) -> str:
    """The cache key: request bytes, with tables and overrides by content instead of by path, and the compiler's identity.

    The text of files serves carets only, so that an edit elsewhere in an author's file changes no key.
    """
    named = {**request, "tables": {name: None for name in request["tables"]}, "tuning_config": None}
    if "files" in request:
        named["files"] = [file["name"] for file in request["files"]]
    parts = [cache.SCHEMA.encode(), native.compiler().identity.encode(), native.canonical(named)]
    for name in sorted(request["tables"]):
        parts += [name.encode(), _contents(request["tables"][name])]
    if request["tuning_config"] is not None:
        parts += [b"override", _contents(request["tuning_config"])]
    return cache.digest(*parts)


def _path(tuning_config):
    """The absolute path of an override, or None."""
    if tuning_config is None:
        return None
    try:
        return os.path.abspath(os.fsdecode(tuning_config))
    except TypeError:
        raise ConfigurationError(f"tuning_config is a path, not {type(tuning_config).__name__}", source="tuning_config") from None


def _contents(path) -> bytes:
    """The bytes of a table. What is no file, or too large for a table, is not read: the compiler refuses it, so that no entry gets this key."""
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_TABLE_BYTES:
            return b"no table"
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        raise ConfigurationError(f"cannot be read: {getattr(error, 'strerror', None) or error}", source=path) from error


def override_identity(tuning_config):
    """What a warm lookup compares for an override: its path and content, or None. ConfigurationError if unreadable."""
    path = _path(tuning_config)
    return None if path is None else (path, _contents(path))


def dump(request: dict) -> str:
    """The request as a file for `intent-compile`."""
    return json.dumps(request, ensure_ascii=False, allow_nan=False) + "\n"
