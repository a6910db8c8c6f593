"""What libFuzzer starts from: captured programs as requests and in each IR form, and the words of them all."""
from __future__ import annotations

import hashlib
import json
import re
import tempfile
from pathlib import Path

from scripts.mutation.inputs import ROOT, TARGETS, modules, sample_requests

PROGRAMS = 60  # of the random program generator, beside the samples
WORDS = re.compile(r"[A-Za-z_][\w.]{1,40}|[%#!@^][\w.]+")
# Names that a program seldom has, but the compiler knows: fields of requests, intrinsics, operations.
SOURCES = ("lib/Frontend/*.cpp", "lib/Driver/Request.cpp", "lib/Dialect/*/IR/*.cpp", "include/intent/**/*.td")


def program_requests() -> list:
    """Captured requests of random programs."""
    from generator.execution import bindings, load
    from generator.grammar import program
    from generator.statements import source
    from intent import requests, targets

    found = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(1, PROGRAMS + 1):
            drawn = program(seed)
            module = load(source(drawn), Path(folder))
            bound = bindings(drawn, module)
            fields = requests.from_kernel(module.k, bound.get("constexprs"), bound.get("types"))
            request = requests.complete(fields, "source", targets.Target("triton", "sm_90"), requests.CompileOptions(), None)
            request.pop("tables")
            found.append(request)
    return found


def write(folder: Path) -> None:
    """Fills `folder`/request, `folder`/text, `folder`/host and `folder`/words.dict."""
    from compilation import compile_bytes

    def put(kind, text):
        (folder / kind / hashlib.sha256(text.encode()).hexdigest()[:16]).write_text(text)

    for kind in ("request", "text", "host"):
        (folder / kind).mkdir(parents=True, exist_ok=True)
    requests = sample_requests() + program_requests()
    for number, request in enumerate(requests):
        request["files"] = [{**file, "lines": []} for file in request["files"]]  # for carets only
        request["target"] = [target for target in TARGETS if target][number % 3]
        put("request", json.dumps(request, separators=(",", ":")))
        for target in ({"provider": "triton", "arch": "sm_90"}, {"provider": "host"}):
            _, fields = compile_bytes(json.dumps({**request, "target": target}).encode())
            for field in ("kir", "mlir"):
                if field in fields:
                    put("text", fields[field])
            if "source" in fields and target["provider"] == "host":
                put("host", fields["source"])
    for text in modules("Dialect", "Conversion", "Target", "Tuning"):
        put("text", text)
        if "block.program" in text:
            put("host", text)
    words = set()
    for path in [*folder.glob("*/*"), *(path for pattern in SOURCES for path in ROOT.glob(pattern))]:
        text = path.read_text()
        words |= set(WORDS.findall(text if path.parent.parent == folder else " ".join(re.findall(r'"([^"\n]*)"', text))))
    (folder / "words.dict").write_text("".join(f'"{word}"\n' for word in sorted(words)))
