"""The compiler library and the host execution library, through ctypes. Text goes in, text comes out; see include/intent-c/intent.h."""
from __future__ import annotations

import ctypes
import functools
import json
import os
from dataclasses import dataclass
from pathlib import Path

from . import errors

ABI_VERSION = 1
_PACKAGE = Path(__file__).resolve().parent
_STATUS_ERRORS = {1: "LanguageError", 2: "ConfigurationError", 3: "TargetError", 4: "InternalError"}
FIELDS = ("kir", "mlir", "source", "metadata", "diagnostics", "failed_input")


def library_directories() -> list:
    """Where libraries are looked for, in order: INTENT_LIBRARY_DIR, the package's `lib/`, a build tree beside the sources."""
    override = os.environ.get("INTENT_LIBRARY_DIR")
    found = [Path(override)] if override else []
    found.append(_PACKAGE / "lib")
    repository = _PACKAGE.parent.parent
    found += [repository / "build" / "lib", repository / "build" / "dev" / "lib", repository / "build" / "release" / "lib"]
    return found


def find_library(name) -> Path | None:
    """The first existing `name` in those directories, or None. An INTENT_LIBRARY_DIR without it ends the search."""
    for directory in library_directories():
        path = directory / name
        if path.is_file():
            return path
        if os.environ.get("INTENT_LIBRARY_DIR"):
            return None
    return None


def table_paths() -> dict:
    """The default tuning tables: provider -> file, found beside the library, in the package, or in the sources. Providers without one are left out."""
    return dict(_table_paths(os.environ.get("INTENT_LIBRARY_DIR")))


@functools.lru_cache(maxsize=8)
def _table_paths(library_dir) -> tuple:
    """The `(provider, file)` pairs for one value of INTENT_LIBRARY_DIR; looked up once, since every warm compilation asks."""
    library = find_library("libintent.so")
    folders = [library.parent.parent / "tables"] if library else []
    folders.append(_PACKAGE / "tables")
    sources = _PACKAGE.parent.parent / "lib" / "Target"
    found = []
    for provider, room in (("triton", "Triton"), ("cutile", "CuTile"), ("host", "Host"), ("bangc", "BangC")):
        candidates = [*(folder / f"{provider}.json" for folder in folders), sources / room / "tuning.json"]
        path = next((path for path in candidates if path.is_file()), None)
        if path is not None:
            found.append((provider, str(path)))
    return tuple(found)


def _open(name) -> tuple:
    path = find_library(name)
    if path is None:
        places = ", ".join(map(str, library_directories()))
        raise errors.ConfigurationError(f"{name} was not found in {places}; build it, or name its folder", source="INTENT_LIBRARY_DIR")
    try:
        return ctypes.CDLL(str(path)), path
    except OSError as error:
        raise errors.ConfigurationError(f"{path} cannot be loaded: {error}", source="INTENT_LIBRARY_DIR") from error


class CompilerLibrary:
    """libintent.so. `identity` changes whenever its code does: build information and the file's path, size and time."""

    def __init__(self):
        library, self.path = _open("libintent.so")
        try:
            library.intent_abi_version.restype = ctypes.c_uint32
            version = library.intent_abi_version()
        except AttributeError:
            version = None
        if version != ABI_VERSION:
            raise errors.ConfigurationError(f"{self.path} has interface version {version}, this package needs {ABI_VERSION}", source="INTENT_LIBRARY_DIR")
        library.intent_build_info.restype = ctypes.c_char_p
        library.intent_compile.argtypes, library.intent_compile.restype = [ctypes.c_char_p, ctypes.c_size_t], ctypes.c_void_p
        library.intent_result_status.argtypes, library.intent_result_status.restype = [ctypes.c_void_p], ctypes.c_int32
        library.intent_result_field.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_size_t)]
        library.intent_result_field.restype = ctypes.c_void_p
        library.intent_result_destroy.argtypes, library.intent_result_destroy.restype = [ctypes.c_void_p], None
        self._library = library
        self.build_info = library.intent_build_info().decode()
        stat = self.path.stat()
        self.identity = f"{self.build_info} {self.path} {stat.st_size} {stat.st_mtime_ns}"

    def compile(self, request: bytes) -> tuple:
        """`(status, {field: text})`; fields that the result lacks are left out. The interpreter lock is released meanwhile."""
        handle = self._library.intent_compile(request, len(request))
        try:
            status = self._library.intent_result_status(handle)
            fields = {}
            for name in FIELDS:
                size = ctypes.c_size_t(0)
                data = self._library.intent_result_field(handle, name.encode(), ctypes.byref(size))
                if data is not None:
                    fields[name] = ctypes.string_at(data, size.value)
            return _decoded(status, fields)
        finally:
            self._library.intent_result_destroy(handle)


def _decoded(status, fields) -> tuple:
    """The fields as text. A field that is not UTF-8 is a defect of the library, whatever the status says."""
    texts = {name: data.decode(errors="replace") for name, data in fields.items()}
    broken = [name for name, data in fields.items() if texts[name].encode() != data]
    if broken:
        status, message = 4, f"the compiler's result field '{broken[0]}' is not UTF-8 text"
        texts["diagnostics"] = json.dumps([{"error": "InternalError", "message": message}])
    return status, texts


@functools.lru_cache(maxsize=None)
def compiler() -> CompilerLibrary:
    """The compiler library, loaded on first use. ConfigurationError if it is missing or of another version."""
    return CompilerLibrary()


class HostArgument(ctypes.Structure):
    """intent_host_argument: what one argument of a launch looks like in memory (three pointers)."""

    _fields_ = [("data", ctypes.c_void_p), ("extents", ctypes.c_void_p), ("strides", ctypes.c_void_p)]


@functools.lru_cache(maxsize=None)
def host_library():
    """libintent-host.so with its functions declared, loaded on first use. ConfigurationError for names in INTENT_DEBUG that it does not know."""
    library, _ = _open("libintent-host.so")
    library.intent_host_tell.argtypes, library.intent_host_tell.restype = [ctypes.c_char_p], ctypes.c_int32
    listeners = os.environ.get("INTENT_DEBUG", "")
    if listeners and library.intent_host_tell(os.fsencode(listeners)):
        raise errors.ConfigurationError(f"INTENT_DEBUG: expected 'gdb', 'perf' or both with a comma between them, got {listeners!r}")
    library.intent_host_load.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint32, ctypes.c_char_p, ctypes.c_size_t]
    library.intent_host_load.restype = ctypes.c_void_p
    library.intent_host_build_info.restype = ctypes.c_char_p
    library.intent_host_keep_objects.argtypes, library.intent_host_keep_objects.restype = [ctypes.c_void_p, ctypes.c_char_p], None
    library.intent_host_prepare.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    library.intent_host_prepare.restype = ctypes.c_int32
    library.intent_host_launch.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    library.intent_host_launch.restype = ctypes.c_int32
    library.intent_host_emit.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
    library.intent_host_emit.restype = ctypes.c_char_p
    library.intent_host_set_threads.argtypes, library.intent_host_set_threads.restype = [ctypes.c_uint32], None
    library.intent_host_destroy.argtypes, library.intent_host_destroy.restype = [ctypes.c_void_p], None
    return library


@dataclass(frozen=True)
class Result:
    """A successful compilation: texts, or None where the request did not ask for one. `metadata` is decoded JSON."""

    kir: str | None
    mlir: str | None
    source: str | None
    metadata: dict | None


def canonical(request: dict) -> bytes:
    """The one byte form of a request, for the library and for cache keys. LanguageError for text that UTF-8 cannot hold."""
    text = json.dumps(request, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise errors.LanguageError(f"the program holds {text[error.start]!a}, half of a surrogate pair, which is no character") from None


def compile_request(request: dict, keep_failure=None) -> Result:
    """Compiles one request (docs/request.md). Raises the error class that the diagnostics name.

    `keep_failure({file name: text})` is called before a failure is raised, and returns the folder where that was kept.
    """
    data = canonical(request)
    status, fields = compiler().compile(data)
    if status == 0:
        try:
            metadata = json.loads(fields["metadata"]) if fields.get("metadata") else None
        except ValueError as error:
            kept = keep_failure({"request.json": data.decode(), "metadata.json": fields["metadata"]}) if keep_failure else None
            raise errors.InternalError(f"the compiler gave unreadable metadata: {error}", input_path=kept) from error
        return Result(fields.get("kir"), fields.get("mlir"), fields.get("source"), metadata)
    kept = None
    if keep_failure:
        # The module that a failed stage was given, where there is one, so that the stage replays from text.
        stage = {"failed_input.mlir": fields["failed_input"]} if "failed_input" in fields else {}
        kept = keep_failure({"request.json": data.decode(), "diagnostics.json": fields.get("diagnostics", ""), **stage})
    raise diagnostics_error(status, fields.get("diagnostics"), request, kept)


def diagnostics_error(status, text, request, kept=None) -> errors.IntentError:
    """The exception of a failed result: its first diagnostic, with the others as notes after its own."""
    lines = {entry["name"]: entry["lines"] for entry in request.get("files") or ()}
    try:
        diagnostics = json.loads(text or "[]")
        first = diagnostics[0]
        name = first.get("error") or _STATUS_ERRORS.get(status, "InternalError")
        notes = [_note(note, lines) for note in first.get("notes") or ()]
        notes += [_note({**other, "message": f"also: {other['message']}"}, lines) for other in diagnostics[1:]]
        details = first.get("details") or {}
        source_line = _source_line(lines, first.get("file"), first.get("line"))
        column, end_column = (errors.character_column(source_line, first.get(key)) for key in ("column", "end_column"))
        place = dict(filename=first.get("file"), line=first.get("line"), end_column=end_column, notes=notes, source_line=source_line)
        message = first["message"]
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        return errors.InternalError(f"the compiler failed with status {status} and unreadable diagnostics ({error})", input_path=kept)
    if name == "LanguageError":
        return errors.LanguageError(message, column=column, **place)
    if name == "ConfigurationError":
        return errors.ConfigurationError(message, **{k: details.get(k) for k in ("source", "family", "row", "column")}, **place)
    if name == "TargetError":
        return errors.TargetError(message, category=first.get("category"), operation=details.get("operation"), feature=details.get("feature"), column=column, **place)
    return errors.InternalError(message, input_path=kept, column=column, **place)


def _note(note, lines) -> errors.Note:
    file, line = note.get("file"), note.get("line")
    text = _source_line(lines, file, line)
    return errors.Note(note["message"], file, line, errors.character_column(text, note.get("column")), text,
                       errors.character_column(text, note.get("end_column")))


def _source_line(lines, file, line):
    text = lines.get(file)
    return text[line - 1] if text and isinstance(line, int) and 1 <= line <= len(text) else None
