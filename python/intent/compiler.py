"""From a decorated kernel or text to artifacts. Every function here captures or takes text, asks the cache, and calls the library once."""
from __future__ import annotations

import os
import threading
import weakref

from . import artifacts, cache, eviction, freshness, native, requests, targets
from .artifacts import CompiledIR, GeneratedProgram
from .errors import ConfigurationError, LanguageError
from .runtime.kernel import CompiledKernel
from .runtime.specialised import SpecialisedKernel, pinned_names

_memo: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
_memo_lock = threading.Lock()


def compile(kernel, target=None, *, constexprs=None, types=None, options=None, tuning_config=None, specialize=()):
    """The callable kernel for a target (None: this machine's CPU).

    Compiled once per kernel, constexprs, types, target, options, override content and pins; a repeated call costs neither capture nor
    compilation. `specialize=("N",)` pins extents: each value that a call has gets a program of its own, where it is a constant. Raises
    LanguageError, ConfigurationError, TargetError or InternalError.
    """
    names = pinned_names(specialize)
    general = _compile(kernel, target, constexprs, types, options, tuning_config, {})
    if not names:
        return general
    return SpecialisedKernel(general, names, lambda pins: _compile(kernel, general.target, constexprs, types, options, tuning_config, pins))


def _compile(kernel, target, constexprs, types, options, tuning_config, pins) -> CompiledKernel:
    resolved, chosen = targets.resolve(target), requests.resolve_options(options)
    key = (requests.freeze(requests.mapping(constexprs, "constexprs")), requests.freeze(requests.mapping(types, "types")), resolved, tuple(chosen.request(resolved).items()),
           chosen.lower_compile_timeout, requests.override_identity(tuning_config), tuple(sorted(pins.items())), os.environ.get("INTENT_LIBRARY_DIR"), cache.configured_root())
    found = _recall(kernel, key)
    if found is None:
        names = freshness.watch(kernel)
        found = _program(requests.from_kernel(kernel, constexprs, types, pins), resolved, chosen, tuning_config).materialize()
        with _memo_lock:
            _memo.setdefault(kernel, {})[key] = (found, names, _stamp(found.cache_directory), _library_stamp())
    return found


def call(kernel, arguments, keywords) -> None:
    """A direct call `kernel(x, y, N=3)`: compiled once per specialisation, for the device of the arguments. CallError and what `compile` raises."""
    from .runtime import direct

    direct.call(kernel, arguments, keywords)


def generate(kernel, target, *, constexprs=None, types=None, options=None, tuning_config=None) -> GeneratedProgram:
    """Provider text for a target, with no device and no SDK. Raises as `compile` does."""
    fields = requests.from_kernel(kernel, constexprs, types)
    return _program(fields, target, options, tuning_config)


def compile_ir(kernel, *, constexprs=None, types=None, options=None) -> CompiledIR:
    """The kernel IR of a kernel. Raises LanguageError or ConfigurationError."""
    return _ir(requests.from_kernel(kernel, constexprs, types), "kir", None, options, None)


def compile_shared_gpu(kernel, target, *, constexprs=None, types=None, options=None, tuning_config=None) -> CompiledIR:
    """The block program of a kernel for a target, before its provider's own stages. Raises as `compile` does."""
    return _ir(requests.from_kernel(kernel, constexprs, types), "block", targets.resolve(target), options, tuning_config)


def optimize_ir(text, *, stage, target=None, options=None) -> CompiledIR:
    """Replays one compiler stage on text that an earlier stage printed. `target` only where the text does not carry one."""
    if not isinstance(stage, str):
        raise ConfigurationError(f"a stage is a string, not {type(stage).__name__}", source="stage")
    fields = {**requests.from_text(text), "stage": stage}
    return _ir(fields, "stage", None if target is None else targets.resolve(target), options, None)


def generate_from_ir(text, target, *, options=None, tuning_config=None) -> GeneratedProgram:
    """Provider text from kernel IR text. Raises as `compile` does."""
    return _program(requests.from_text(text), target, options, tuning_config)


def explain(kernel, target, *, constexprs=None, types=None, options=None, tuning_config=None) -> str:
    """What the compiler decides about a kernel, as text: each variant's family and why, the fate of every table row, the candidates
    with their final bindings, and the launch expressions. Raises as `compile` does; a ConfigurationError lists each row's rule where no
    candidate is legal. Reads and writes no cache entry, so that the text names the very files that were read."""
    from .explanation import describe

    resolved = targets.resolve(target)
    request = request_of(kernel, resolved, constexprs=constexprs, types=types, options=options, tuning_config=tuning_config)
    return describe(native.compile_request(request, cache.current().keep_failure).metadata, resolved)


def request_of(kernel, target, *, emit="source", constexprs=None, types=None, options=None, tuning_config=None) -> dict:
    """The request that `generate` would compile (docs/request.md), for `intent-compile` and for reports."""
    fields = requests.from_kernel(kernel, constexprs, types)
    return requests.complete(fields, emit, targets.resolve(target), requests.resolve_options(options), tuning_config)


def _program(fields, target, options, tuning_config) -> GeneratedProgram:
    resolved, chosen = targets.resolve(target), requests.resolve_options(options)
    request = requests.complete(fields, "source", resolved, chosen, tuning_config)
    directory, files = _artifact(request, resolved)
    if files["interface.json"] in ("{}", "null"):
        raise LanguageError("the text holds no kernel")
    return GeneratedProgram(files, resolved, str(directory), chosen.request(resolved), chosen.lower_compile_timeout)


def _ir(fields, emit, target, options, tuning_config) -> CompiledIR:
    request = requests.complete(fields, emit, target, requests.resolve_options(options), tuning_config)
    directory, files = _artifact(request, target)
    return artifacts.ir_of(files, emit, directory)


def _artifact(request, target):
    """`(directory, files)` of a request: from the cache, or compiled now and published there."""
    key, store = requests.artifact_key(request), cache.current()
    found = store.load(key)
    if found is not None:
        return found
    with store.lock(key):
        return store.load(key) or _compile_into(store, key, request, target)


def _compile_into(store, key, request, target):
    result = native.compile_request(request, store.keep_failure)
    files = artifacts.files_of(result, target, request["emit"])
    return store.store(key, files, {**artifacts.describe(target, request["options"]), "compiler": native.compiler().build_info}), files


# -- warm lookups -----------------------------------------------------------------------------------------------


def _recall(kernel, key):
    try:
        entry = _memo.get(kernel, {}).get(key)
    except TypeError:  # no kernel, or a constexpr that no key can hold: capture says so
        return None
    if entry is None:
        return None
    compiled, names, stamp, library = entry
    if not freshness.unchanged(names) or stamp != _stamp(compiled.cache_directory) or library != _library_stamp():
        return None
    eviction.mark_used(compiled.cache_directory)
    return compiled


def _stamp(directory):
    """Sizes and times of an entry's files, so that a damaged or deleted entry is noticed and rebuilt."""
    try:
        with os.scandir(directory) as entries:
            return sorted((e.name, e.stat().st_size, e.stat().st_mtime_ns) for e in entries if e.is_file())
    except OSError:
        return None


def _library_stamp():
    """Identity of the loaded compiler and of the default tables on disk."""
    stamp = [native.compiler().identity]
    for path in native.table_paths().values():
        try:
            status = os.stat(path)
            stamp.append((path, status.st_size, status.st_mtime_ns))
        except OSError:
            stamp.append((path, None))
    return stamp
