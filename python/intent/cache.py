"""Compiled artifacts on disk: complete entries only, verified on every read, rebuilt when damaged.

Layout under the root: `v1/<2 hex>/<key>/{manifest.json, input.kir.mlir, target.mlir, source.*, interface.json}`, `v1/failed/` for the
inputs and diagnostics of failures, which are never read back, and `v1/locks/`. `eviction` keeps the size limit. A directory that cannot
be used costs one warning; then a temporary one serves until the process ends, or none where nothing at all can be written.
"""
from __future__ import annotations

import atexit
import contextlib
import errno
import fcntl
import hashlib
import json
import os
import shutil
import stat
import tempfile
import threading
import warnings
from pathlib import Path

from . import eviction
from .eviction import LimitExceeded

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
        self._temporary_folder: Path | None = None
        self._warned = False
        self._lock = threading.Lock()

    def entry_directory(self, key: str) -> Path:
        return self._base() / key[:2] / key

    def load(self, key: str):
        """`(directory, {file name: text})` of a complete entry whose checksums hold, else None. `store` replaces a damaged one."""
        for base in self._bases():
            directory = base / key[:2] / key
            files = read_entry(directory, key)
            if files is not None:
                eviction.mark_used(directory)
                return directory, files
        return None

    def store(self, key: str, files: dict, description: dict) -> Path:
        """Publishes an entry of `{file name: text}` and returns its directory; if another process was first, that one's.

        Where nothing can be written, not even in a temporary folder, the directory does not exist. ConfigurationError for an
        unreadable INTENT_CACHE_LIMIT.
        """
        try:
            return _publish(self._base(), key, files, description, limited=self._fallback is None)
        except LimitExceeded as error:
            self._warn(f"an entry is too large for the artifact cache {self.root}: {error}; it is kept until the process ends")
            temporary = self._temporary()
        except OSError as error:
            temporary = self._degrade(error)
        if temporary is not None:
            with contextlib.suppress(OSError):
                return _publish(temporary, key, files, description, limited=False)
        return self.entry_directory(key)

    @contextlib.contextmanager
    def lock(self, key: str):
        """Holds the entry's lock, so that threads and processes compile one entry once. Where locks do not work, it holds nothing."""
        descriptor = None
        with contextlib.suppress(OSError):
            folder = self._base() / "locks"
            folder.mkdir(parents=True, exist_ok=True)
            descriptor = _acquire(folder / key)
        try:
            yield
        finally:
            if descriptor is not None:
                os.close(descriptor)  # this releases the lock, as the end of a process does

    def keep_failure(self, files: dict) -> Path | None:
        """Keeps inputs and diagnostics of a failed compilation, for a person to read; None if nothing can be written."""
        name = digest(*(f"{name}\0{text}".encode() for name, text in sorted(files.items())))[:32]
        contents = {name: text.encode() for name, text in files.items()}
        for base in (self._base, lambda: self._degrade(None)):
            try:
                folder = base()
                if folder is not None:
                    return _place(folder, folder / "failed" / name, contents, (folder / "failed" / name).is_dir, limited=folder != self._fallback)
            except LimitExceeded:
                return None
            except OSError:
                continue
        return None

    def _base(self) -> Path:
        return self._fallback or self.root / SCHEMA

    def _bases(self):
        return [base for base in (self.root / SCHEMA, self._temporary_folder) if base is not None]

    def _degrade(self, error) -> Path | None:
        """The process-lifetime directory that replaces an unusable root, or None if there is none; the first use warns."""
        self._fallback = self._temporary()
        reason = f" ({error.strerror or error})" if error is not None else ""
        kept = "results of this process are kept in a temporary folder only" if self._fallback else "nothing is kept"
        self._warn(f"the artifact cache {self.root} cannot be written{reason}; {kept}")
        return self._fallback

    def _temporary(self) -> Path | None:
        """A directory that lives as long as the process, made on first use; None if none can be made."""
        with self._lock:
            if self._temporary_folder is None:
                self._temporary_folder = process_folder()
            return self._temporary_folder

    def _warn(self, text) -> None:
        with self._lock:
            first, self._warned = not self._warned, True
        if first:
            warnings.warn(text, RuntimeWarning, stacklevel=4)


def process_folder() -> Path | None:
    """A new temporary directory that is removed when this process ends; None if none can be made."""
    for parent in (None, "/dev/shm"):
        with contextlib.suppress(OSError):
            folder = Path(tempfile.mkdtemp(prefix="intentdsl-", dir=parent))
            atexit.register(_remove_own, folder, os.getpid())
            return folder
    return None


def _remove_own(folder: Path, owner: int) -> None:
    """Removes a temporary directory, unless a forked child that inherited the hook is the one that ends."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def _acquire(path: Path) -> int:
    """An open, locked file at `path`. OSError. A lock file that an eviction removed meanwhile locks nothing, and is taken anew."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def read_file(path) -> bytes:
    """The bytes of a regular file. OSError for anything else, a pipe that nobody writes included."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(errno.EINVAL, "no regular file", str(path))
    return Path(path).read_bytes()


def read_entry(directory: Path, key: str):
    """`{file name: text}` of the complete entry `key` in `directory`, else None."""
    try:
        manifest = json.loads(read_file(directory / _MANIFEST))
        if manifest["key"] != key or manifest.pop("checksum") != _manifest_checksum(manifest):
            return None
        files = {}
        for name, checksum in manifest["files"].items():
            data = read_file(directory / name)
            if hashlib.sha256(data).hexdigest() != checksum:
                return None
            files[name] = data.decode()
        return files
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def _publish(base: Path, key: str, files: dict, description: dict, limited: bool) -> Path:
    final = base / key[:2] / key
    return _place(base, final, entry_files(key, files, description), lambda: read_entry(final, key) is not None, limited)


def _place(base: Path, final: Path, contents: dict, present, limited: bool) -> Path:
    """Writes `{file name: bytes}` into a staging folder and renames it to `final`, unless `present()` says that it is there."""
    size = eviction.charge(map(len, contents.values()))
    private = eviction.stage(base, size if limited else 0)
    try:
        write_folder(private, contents)
        final.parent.mkdir(exist_ok=True)
        try:
            os.rename(private, final)
        except OSError:
            # The entry exists: another process was first, or it is damaged and makes way. It is moved as a whole, so that
            # nobody sees it half deleted.
            if not present():
                aside = base / f".old-{private.name[5:]}"
                with contextlib.suppress(FileNotFoundError):
                    os.rename(final, aside)
                eviction.remove(aside)
                os.rename(private, final)
        _sync_directory(final.parent)
        return final
    finally:
        shutil.rmtree(private, ignore_errors=True)


def entry_files(key: str, files: dict, description: dict) -> dict:
    """The bytes of an entry's files, the manifest with their checksums last."""
    contents = {name: text.encode() for name, text in files.items()}
    checksums = {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()}
    manifest = {"key": key, "files": checksums, **description}
    contents[_MANIFEST] = json.dumps({**manifest, "checksum": _manifest_checksum(manifest)}, indent=1, sort_keys=True).encode()
    return contents


def _manifest_checksum(manifest: dict) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def write_folder(directory: Path, contents: dict) -> None:
    """Writes and syncs `{file name: bytes}` in order, then the folder. OSError."""
    for name, data in contents.items():
        _write(directory / name, data)
    _sync_directory(directory)


def _write(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest):]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
