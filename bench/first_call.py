"""Seconds from source to tuned result with nothing cached, on the visible CUDA device: `python bench/first_call.py [name ...]`.

Each kernel runs in a process of its own with empty caches; then once more in a new process, with the winner known.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("relu", "softmax", "layer_norm", "rms_norm", "matmul", "attention", "cumsum")

CHILD = """
import sys, time
sys.path[:0] = [{root!r} + "/python", {root!r} + "/bench", {root!r} + "/python/tests"]
import torch
torch.cuda.init(); torch.empty(1, device="cuda")
import triton
import first_call
kernel, types, arguments = first_call.problem({name!r})
import intent
start = time.perf_counter()
compiled = intent.compile(kernel, "triton", types=types)
compiled.run(*arguments)
torch.cuda.synchronize()
seconds = time.perf_counter() - start
print(round(seconds, 2), compiled.observation.get("compilations"), (compiled.observation.get("winner") or dict()).get("values"))
"""


def problem(name):
    import torch

    import structured_kernels as structured
    import triton_kernels as kernels

    import intent.language as I

    half = lambda *shape: torch.randn(shape, device="cuda", dtype=torch.float16)  # noqa: E731
    if name == "attention":
        return structured.attention, {"T": I.f16}, [half(32, 4096, 64) for _ in range(3)]
    if name == "cumsum":
        return structured.cumsum, None, [torch.randn(8192, 4096, device="cuda")]
    kernel = getattr(kernels, name)
    return kernel, None, {"relu": [half(1 << 26)], "softmax": [half(16384, 4096)], "layer_norm": [half(16384, 4096), half(4096), half(4096), 1e-5],
                          "rms_norm": [half(16384, 4096), half(16384, 4096), half(4096), 1e-5], "matmul": [half(4096, 4096), half(4096, 4096)]}[name]


def main():
    for name in sys.argv[1:] or NAMES:
        with tempfile.TemporaryDirectory() as caches:
            environment = {**os.environ, "INTENT_CACHE_DIR": caches + "/intent", "TRITON_CACHE_DIR": caches + "/triton"}
            for what in ("nothing cached", "winner known"):
                done = subprocess.run([sys.executable, "-c", CHILD.format(root=str(ROOT), name=name)], env=environment, capture_output=True, text=True)
                print(f"{name:12} {what:15}", done.stdout.strip() or done.stderr.strip().splitlines()[-1:], flush=True)


if __name__ == "__main__":
    main()
