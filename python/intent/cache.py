"""Compiled artifacts on disk: complete entries only, verified on every read, rebuilt when damaged.

Layout under the root: `v1/<2 hex>/<key>/{manifest.json, input.kir.mlir, target.mlir, source.*, interface.json}`, `v1/failed/` for the
inputs and diagnostics of failures, which are never read back, and `v1/locks/`. A directory that cannot be used costs one warning;
then a temporary one serves until the process ends.
"""
from __future__ import annotations

import atexit
import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
import threading
import uuid
import warnings
from pathlib import Path

from .errors import ConfigurationError

SCHEMA = "v1"
_MANIFEST = "manifest.json"


def configured_root() -> Path:
    """INTENT_CACHE_DIR, else $XDG_CACHE_HOME/intentdsl, else ~/.cache/intentdsl."""
    override = os.environ.get("INTENT_CACHE_DIR")
    if override:
        return Path(override).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    # The XDG rules say that a relative path there is ignored.
    return (Path(base) if base and os.path.isabs(base) else Path.home() / ".cache") / "intentdsl"


def digest(*parts: bytes) -> str:
    """A hexadecimal SHA-256 of the parts, each with its length, so that no two lists collide by concatenation."""
    hasher = hashlib.sha256()
    for part in parts:
        hasher.update(len(part).to_bytes(8, "little"))
        hasher.update(part)
    return hasher.hexdigest()


class ArtifactCache:
    """One cache root. Safe for threads and processes: entries appear by rename, whole or not at all."""

    def __init__(self, root: Path):
        self.root = Path(root)
        self._fallback: Path | None = None
        self._lock = threading.Lock()

    def entry_directory(self, key: str) -> Path:
        return self._base() / key[:2] / key

    def load(self, key: str):
        """`(directory, {file name: text})` of a complete entry whose checksums hold, else None. `store` replaces a damaged one."""
        for base in self._bases():
            directory = base / key[:2] / key
            files = read_entry(directory, key)
            if files is not None:
                return directory, files
        return None

    def store(self, key: str, files: dict, description: dict) -> Path:
        """Publishes an entry of `{file name: text}` and returns its directory; if another process was first, that one's.

        ConfigurationError where not even a temporary folder can be written.
        """
        try:
            return _publish(self._base(), key, files, description)
        except OSError as error:
            first = error
        try:
            return _publish(self._degrade(first), key, files, description)
        except OSError as error:
            raise ConfigurationError(f"neither the cache nor a temporary folder can be written: {error.strerror or error}", source=str(self.root)) from error

    @contextlib.contextmanager
    def lock(self, key: str):
        """Holds the entry's lock, so that threads and processes compile one entry once. Where locks do not work, it holds nothing."""
        descriptor = None
        try:
            folder = self._base() / "locks"
            folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(folder / key, os.O_RDWR | os.O_CREAT, 0o666)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:
            pass
        try:
            yield
        finally:
            if descriptor is not None:
                os.close(descriptor)  # this releases the lock, as the end of a process does

    def keep_failure(self, files: dict) -> Path | None:
        """Keeps inputs and diagnostics of a failed compilation, for a person to read; None if nothing can be written."""
        name = digest(*(f"{name}\0{text}".encode() for name, text in sorted(files.items())))[:32]
        for base in (self._base, lambda: self._degrade(None)):
            try:
                directory = base() / "failed" / name
                directory.mkdir(parents=True, exist_ok=True)
                for file, text in files.items():
                    _write(directory / file, text.encode())
                return directory
            except OSError:
                continue
        return None

    def _base(self) -> Path:
        return self._fallback or self.root / SCHEMA

    def _bases(self):
        return [self.root / SCHEMA, self._fallback] if self._fallback else [self.root / SCHEMA]

    def _degrade(self, error) -> Path:
        """The process-lifetime directory that replaces an unusable root; the first use warns."""
        with self._lock:
            if self._fallback is None:
                self._fallback = Path(tempfile.mkdtemp(prefix="intentdsl-"))
                atexit.register(shutil.rmtree, self._fallback, ignore_errors=True)
                reason = f" ({error.strerror or error})" if error is not None else ""
                warnings.warn(f"the artifact cache {self.root} cannot be written{reason}; results of this process are kept in a temporary folder only", RuntimeWarning, stacklevel=3)
        return self._fallback


def read_entry(directory: Path, key: str):
    """`{file name: text}` of the complete entry `key` in `directory`, else None."""
    try:
        manifest = json.loads((directory / _MANIFEST).read_bytes())
        if manifest["key"] != key:
            return None
        files = {}
        for name, checksum in manifest["files"].items():
            data = (directory / name).read_bytes()
            if hashlib.sha256(data).hexdigest() != checksum:
                return None
            files[name] = data.decode()
        return files
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def _publish(base: Path, key: str, files: dict, description: dict) -> Path:
    final = base / key[:2] / key
    private = base / f".new-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    private.mkdir(parents=True)
    try:
        write_entry(private, key, files, description)
        final.parent.mkdir(exist_ok=True)
        try:
            os.rename(private, final)
        except OSError:
            # The entry exists: another process was first, or it is damaged and makes way. It is moved as a whole, so that
            # nobody sees it half deleted.
            if read_entry(final, key) is None:
                aside = private.with_name(private.name + "-damaged")
                os.rename(final, aside)
                shutil.rmtree(aside, ignore_errors=True)
                os.rename(private, final)
        _sync_directory(final.parent)
        return final
    finally:
        shutil.rmtree(private, ignore_errors=True)


def write_entry(directory: Path, key: str, files: dict, description: dict) -> None:
    """Writes and syncs the files and, last, the manifest with their checksums."""
    checksums = {}
    for name, text in files.items():
        data = text.encode()
        checksums[name] = hashlib.sha256(data).hexdigest()
        _write(directory / name, data)
    manifest = {"key": key, "files": checksums, **description}
    _write(directory / _MANIFEST, json.dumps(manifest, indent=1, sort_keys=True).encode())
    _sync_directory(directory)


def _write(path: Path, data: bytes) -> None:
    with open(path, "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_caches: dict = {}
_caches_lock = threading.Lock()


def current() -> ArtifactCache:
    """The cache of the root configured now; one object a root, so that it warns once."""
    root = configured_root()
    with _caches_lock:
        cache = _caches.get(root)
        if cache is None:
            cache = _caches[root] = ArtifactCache(root)
        return cache
