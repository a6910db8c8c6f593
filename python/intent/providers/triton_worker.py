"""A process that compiles Triton kernels for another one: a compiler that hangs or dies there can be ended from outside.

Frames on standard input and output are a length and a pickle. A job names a generated module, a variant and what `ASTSource` takes;
the answer is None, or the exception that Triton raised. Compiled code travels through Triton's own cache folder.
"""
from __future__ import annotations

import os
import pickle
import select
import struct
import sys

_IDLE_SECONDS = 60.0


class CompilerFailure(RuntimeError):
    """An exception of the compiler that cannot be carried between processes, as text."""


def write_frame(stream, value) -> None:
    data = pickle.dumps(value)
    stream.write(struct.pack("<Q", len(data)) + data)
    stream.flush()


def read_frame(stream):
    """The next value. EOFError where the stream ends."""
    head = stream.read(8)
    if len(head) < 8:
        raise EOFError
    data = stream.read(struct.unpack("<Q", head)[0])
    return pickle.loads(data)


def compile_job(job) -> Exception | None:
    """Compiles one job in this process. Never raises."""
    from intent.providers import triton as provider
    from triton.backends.compiler import GPUTarget

    try:
        for name in [name for name in os.environ if name.startswith("TRITON_")]:
            del os.environ[name]
        os.environ.update(job["environment"])
        module = provider.load_module(job["path"])
        variant = next(v for v in module.VARIANTS if v["name"] == job["variant"])
        provider.compile_signature(variant["kernel"], job["signature"], job["constants"], job["attributes"], job["options"], GPUTarget(*job["target"]))
    except Exception as error:
        return _portable(error)
    return None


def _portable(error):
    try:
        back = pickle.loads(pickle.dumps(error))
        if str(back) == str(error):
            return error
    except Exception:  # whatever a foreign exception does when it is copied
        pass
    return CompilerFailure(f"{type(error).__name__}: {error}")


def warm_up() -> None:
    """What the first compilation of a process spends once: importing back ends, and the digest of Triton's own files."""
    import triton.backends
    import triton.compiler
    from triton.runtime import autotuner

    for backend in triton.backends.backends.values():
        backend.compiler  # noqa: B018  imports it
    # Its home differs between versions; the autotuner of all of them has the name.
    getattr(autotuner, "triton_key", lambda: None)()


def main() -> None:
    # The compiler may print; frames have a descriptor of their own.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests = sys.stdin.buffer
    warm_up()  # before the clock of any job starts
    write_frame(answers, "ready")
    while select.select([requests], [], [], _IDLE_SECONDS)[0]:
        try:
            job = read_frame(requests)
        except EOFError:
            return
        write_frame(answers, compile_job(job))


if __name__ == "__main__":
    # The path of the process that asks, without this script's folder, whose `triton` is another module.
    sys.path[:] = sys.argv[1:]
    # Exceptions are carried as classes of the package's module, not of this script's.
    from intent.providers import triton_worker

    triton_worker.main()
