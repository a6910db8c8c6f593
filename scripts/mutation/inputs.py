"""What is mutated and whom it is given to: one `Kind` for each way that text from outside reaches the libraries."""
from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path

from . import mutations

ROOT = Path(__file__).resolve().parent.parent.parent
for folder in (ROOT / "python", ROOT / "python" / "tests"):
    sys.path.insert(0, str(folder))

TARGETS = ({"provider": "triton", "arch": "sm_90"}, {"provider": "triton", "arch": "gfx942"}, {"provider": "host"}, {"provider": "cutile", "arch": "sm_100"},
           {"provider": "bangc", "arch": "mtp_372"}, None)
STAGES = ("kir-normalise", "kir-to-block", "block-simplify", "block-materialize-configurations", "block-legalize-for-triton", "block-verify-for-triton", "triton-serialize")
STATUSES = range(5)


class Finding(Exception):
    """An answer that no input may get: a status or field that the interface does not have, or an internal error."""


def check_answer(status, fields) -> None:
    """A result of the compiler library is complete: a status of the interface, diagnostics in place. Internal errors are findings."""
    if status not in STATUSES:
        raise Finding(f"status {status}")
    diagnostics = fields["diagnostics"]
    if (status == 0) != (not [d for d in diagnostics if d["error"]]):
        raise Finding(f"status {status} with diagnostics {diagnostics}")
    for entry in diagnostics:
        if entry["error"] == "InternalError":
            raise Finding(f"internal error: {entry['message'].splitlines()[0][:200]}")


class Compiler:
    """libintent.so without anything in between."""

    def __init__(self):
        from compilation import compile_bytes

        self._compile = compile_bytes

    def request(self, data: bytes) -> None:
        check_answer(*self._compile(data))


class Host:
    """libintent-host.so: loads a program, never runs it."""

    def __init__(self):
        from intent import native

        self._library = native.host_library()

    def load(self, text: bytes) -> None:
        error = ctypes.create_string_buffer(1000)
        handle = self._library.intent_host_load(text, len(text), 0, error, len(error))
        if handle:
            self._library.intent_host_destroy(handle)
        elif not error.value:
            raise Finding("refused without a reason")


def modules(*folders) -> list:
    """The IR texts of lit tests, one an entry."""
    found = []
    for path in sorted(p for folder in folders for p in (ROOT / "test" / folder).rglob("*.mlir")):
        for part in path.read_text().split("// -----"):
            text = "\n".join(line for line in part.splitlines() if not line.lstrip().startswith("//"))
            if text.strip():
                found.append(text)
    return found


def sample_requests() -> list:
    """Captured requests of the sample programs and of some small kernels."""
    import numpy as np
    import sample_cases
    from intent import requests, targets

    found = []
    for path in sorted(sample_cases.FOLDER.glob("*.py")):
        for _, kernel, constexprs, *_ in sample_cases.load(path.stem).cases(np.random.default_rng(0)):
            try:
                fields = requests.from_kernel(kernel, constexprs, {})
            except Exception:  # a sample whose types follow from its arguments only
                continue
            request = requests.complete(fields, "source", targets.Target("triton", "sm_90"), requests.CompileOptions(), None)
            request.pop("tables")
            found.append(request)
    return found


class Kind:
    """`seeds`, `mutate(rng) -> bytes`, `give(data)`; `name` is also the folder of its kept inputs."""

    name: str

    def __init__(self):
        self.seeds = self.load_seeds()

    def load_seeds(self) -> list:
        raise NotImplementedError


class Text(Kind):
    """IR text to a random target, or to one stage."""

    name = "text"

    def load_seeds(self):
        self._compiler = Compiler()
        return modules("Dialect", "Conversion", "Target", "Tuning")

    def mutate(self, rng) -> bytes:
        text = mutations.text(rng, rng.choice(self.seeds), self.seeds)
        if rng.random() < 0.2:
            return json.dumps({"schema": 1, "emit": "stage", "stage": rng.choice(STAGES), "text": text, "target": None}).encode()
        return json.dumps({"schema": 1, "emit": "source", "text": text, "target": rng.choice(TARGETS)}).encode()

    def give(self, data):
        self._compiler.request(data)


class Request(Kind):
    """Captured programs: the JSON of the request changed as a value, or as text."""

    name = "request"

    def load_seeds(self):
        self._compiler = Compiler()
        return sample_requests()

    def mutate(self, rng) -> bytes:
        request = json.loads(json.dumps(rng.choice(self.seeds)))
        request["target"] = rng.choice(TARGETS)
        if rng.random() < 0.9:
            # Mostly the program: other fields are few, and would be found soon.
            part = rng.choice(("nodes", "nodes", "nodes", "functions", "functions", None))
            mutations.value(rng, request if part is None else request[part], [rng.choice(self.seeds)["nodes"]])
            return json.dumps(request).encode()
        return mutations.text(rng, json.dumps(request), []).encode("utf-8", "replace")

    def give(self, data):
        self._compiler.request(data)


class Table(Kind):
    """Tuning tables, as the default table and as an override of a small program."""

    name = "table"

    def load_seeds(self):
        self._compiler = Compiler()
        self._text = (ROOT / "test/Dialect/Kir/softmax.mlir").read_text()
        self._file = None
        return [json.loads(path.read_text()) for path in sorted((ROOT / "lib/Target").glob("*/tuning.json"))]

    def mutate(self, rng) -> bytes:
        table = json.loads(json.dumps(rng.choice(self.seeds)))
        if rng.random() < 0.6:
            return json.dumps(mutations.value(rng, table, self.seeds)).encode()
        return mutations.text(rng, json.dumps(table), []).encode("utf-8", "replace")

    def give(self, data):
        import tempfile

        if self._file is None:
            self._file = tempfile.NamedTemporaryFile(suffix=".json")
        self._file.seek(0)
        self._file.truncate()
        self._file.write(data)
        self._file.flush()
        for place in ({"tables": {"triton": self._file.name}}, {"tuning_config": self._file.name}):
            self._compiler.request(json.dumps({"schema": 1, "emit": "source", "text": self._text, "target": TARGETS[0], **place}).encode())


class HostProgram(Kind):
    """Bound block programs, as the host library takes them."""

    name = "host"

    def load_seeds(self):
        self._host = Host()
        from compilation import compile_request

        found = modules("Target/Host")
        for text in modules("Dialect/Kir", "Conversion"):
            status, fields = compile_request(emit="source", text=text, target={"provider": "host"})
            found += [fields["source"]] if status == 0 else []
        return found

    def mutate(self, rng) -> bytes:
        return mutations.text(rng, rng.choice(self.seeds), self.seeds).encode("utf-8", "replace")

    def give(self, data):
        self._host.load(data)


class Entry(Kind):
    """Saved programs and cache entries: files and manifests changed, with sums that hold as well as with stale ones."""

    name = "entry"

    def load_seeds(self):
        import tempfile

        from compilation import compile_request

        self._folder = None
        self._tempfile = tempfile
        found = []
        for text in modules("Dialect/Kir", "Conversion"):
            status, fields = compile_request(emit="source", text=text, target={"provider": "host"})
            if status == 0:
                found.append({"input.kir.mlir": fields["kir"], "target.mlir": fields["mlir"], "source.mlir": fields["source"], "interface.json": fields["metadata"]})
        return found

    def mutate(self, rng) -> bytes:
        from intent import cache

        files = dict(rng.choice(self.seeds))
        description = {"schema": "v1", "target": "host", "options": {"numerics": "source", "online_reduction": True, "cover": None, "check": False}}
        if rng.random() < 0.6:
            interface = json.loads(files["interface.json"])
            files["interface.json"] = json.dumps(mutations.value(rng, interface, [json.loads(rng.choice(self.seeds)["interface.json"])]))
        if rng.random() < 0.2:
            mutations.value(rng, description, [])
        contents = {name: data.decode() for name, data in cache.entry_files("saved", files, description).items()}
        if rng.random() < 0.2:
            name = rng.choice(list(contents))
            contents[name] = mutations.text(rng, contents[name], [])
        return json.dumps(contents).encode("utf-8", "replace")

    def give(self, data):
        from intent import GeneratedProgram, IntentError

        if self._folder is None:
            self._folder = Path(self._tempfile.mkdtemp(prefix="mutation-"))
        for name, text in json.loads(data).items():
            (self._folder / name).write_text(text)
        try:
            kernel = GeneratedProgram.load(self._folder).materialize()
            kernel.observation  # noqa: B018
            repr(kernel)
        except IntentError:
            pass


KINDS = {kind.name: kind for kind in (Text, Request, Table, HostProgram, Entry)}
