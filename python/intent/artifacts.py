"""What a compilation gives: text, interface metadata, and the folder that holds them. See `compiler` for how they are made."""
from __future__ import annotations

import json
from pathlib import Path

from . import cache, targets
from .errors import ConfigurationError
from .requests import LOWER_COMPILE_TIMEOUT

SOURCE_NAMES = {"triton": "source.py", "cutile": "source.py", "host": "source.mlir", "bangc": "source.mlu"}
_KIR, _TARGET, _INTERFACE = "input.kir.mlir", "target.mlir", "interface.json"


class CompiledIR:
    """One stage of a compilation as text. `mlir` is the module, `metadata` a dict (empty for stages without an interface)."""

    def __init__(self, mlir: str, metadata: dict, cache_directory: str):
        self.mlir = mlir
        self.metadata = metadata
        self.cache_directory = cache_directory

    def __repr__(self):
        return f"<CompiledIR, {len(self.mlir.splitlines())} lines>"


class GeneratedProgram:
    """Provider text that needs no device to exist.

    `source` provider text, `kir` kernel IR, `mlir` final target IR, `metadata` the interface, `target` a Target, `cache_directory`
    the folder with all of these as files, `compile_limit` seconds that an external compiler may take for one candidate.
    """

    def __init__(self, files: dict, target: targets.Target, cache_directory: str, options: dict, compile_limit: float = LOWER_COMPILE_TIMEOUT):
        self._files = files
        self._options = options
        self.compile_limit = compile_limit
        self.target = target
        self.cache_directory = cache_directory
        self.kir = files[_KIR]
        self.mlir = files[_TARGET]
        self.source = files[SOURCE_NAMES[target.provider]]
        self.metadata = json.loads(files[_INTERFACE])

    @property
    def source_path(self) -> Path:
        """The file that holds `source`. Where the cache no longer has it, it is written again, for as long as the process lives.

        ConfigurationError where no file can be written.
        """
        name = SOURCE_NAMES[self.target.provider]
        path = Path(self.cache_directory) / name
        if path.is_file():
            return path
        folder = cache.process_folder()
        if folder is None:
            raise ConfigurationError(f"neither the cache nor a temporary folder can hold {name}", source=str(self.cache_directory))
        try:
            cache.write_folder(folder, {name: self.source.encode()})
        except OSError as error:
            raise ConfigurationError(f"{name} cannot be written: {error.strerror or error}", source=str(folder)) from error
        self.cache_directory = str(folder)
        return folder / name

    def save(self, directory) -> None:
        """Writes the program into a new or existing folder, from which `load` reads it on any machine. ConfigurationError if it cannot."""
        try:
            write_files(Path(directory), self._files, describe(self.target, self._options))
        except OSError as error:
            raise ConfigurationError(f"cannot be written: {error.strerror or error}", source=str(directory)) from error

    @classmethod
    def load(cls, directory) -> "GeneratedProgram":
        """Reads what `save` wrote, or a cache entry. ConfigurationError if files are missing or changed."""
        try:
            directory = Path(directory).absolute()
            manifest = json.loads(cache.read_file(directory / "manifest.json"))
            files = cache.read_entry(directory, manifest["key"])
            if files is None:
                raise ValueError("a file is missing or does not match its checksum")
            return cls(files, targets.Target.parse(manifest["target"]), str(directory), manifest["options"])
        except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
            raise ConfigurationError(f"no saved program: {error}", source=str(directory)) from error

    def materialize(self, *, target=None):
        """The callable kernel. `target` may only repeat what the program was made for; ConfigurationError otherwise."""
        from .runtime.kernel import CompiledKernel

        if target is not None:
            wanted = targets.resolve(target)
            if wanted != self.target:
                raise ConfigurationError(f"the program was made for {self.target}, not for {wanted}", source="target")
        return CompiledKernel(self)

    def __repr__(self):
        return f"<GeneratedProgram for {self.target}>"


def files_of(result, target, emit: str) -> dict:
    """The files of an artifact: `{name: text}` for what the stage `emit` gives. `target` may be None before the provider's stages."""
    files = {_KIR: result.kir or ""}
    if emit != "kir":
        files[_TARGET] = result.mlir or ""
    if emit == "source":
        # For the host the bound block program is the source.
        files[SOURCE_NAMES[target.provider]] = result.source if result.source is not None else files[_TARGET]
    files[_INTERFACE] = json.dumps(result.metadata or {}, indent=1, sort_keys=True)
    return files


def ir_of(files: dict, emit: str, directory) -> CompiledIR:
    """The CompiledIR view of an artifact's files."""
    return CompiledIR(files[_KIR] if emit == "kir" else files[_TARGET], json.loads(files[_INTERFACE]), str(directory))


def describe(target, options: dict) -> dict:
    """What a manifest says beside checksums. `target` is a Target, or None."""
    return {"schema": cache.SCHEMA, "target": None if target is None else str(target), "options": options}


def write_files(directory: Path, files: dict, description: dict) -> None:
    """Writes an artifact's files and their manifest into `directory`, the manifest last. OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    cache.write_folder(directory, cache.entry_files("saved", files, description))
