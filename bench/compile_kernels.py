"""Measures compilation, in process: `python bench/compile_kernels.py`.

cold: nothing cached; warm: `intent.compile` again; disk: the same in a new process, whose cache on disk is filled (one other kernel
was compiled before, so that modules are imported).
Medians in milliseconds. The bounds to keep are cold softmax 10, warm 1, disk 5.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "python/tests")]

BODY = """
import sys, time, json
sys.path[:0] = %r
import intent
import test_triton_kernels as kernels
intent.compile(kernels.column_max, "triton:sm_90")  # modules that the first compilation imports
found = {}
for name in %r:
    begin = time.perf_counter()
    intent.compile(getattr(kernels, name), "triton:sm_90")
    first = time.perf_counter() - begin
    times = []
    for _ in range(50):
        begin = time.perf_counter()
        intent.compile(getattr(kernels, name), "triton:sm_90")
        times.append(time.perf_counter() - begin)
    found[name] = (first, sorted(times)[25])
print(json.dumps(found))
"""
NAMES = ("softmax", "layer_norm", "linear", "row_sum", "transpose")


def run(root) -> dict:
    """Kernel -> (first compilation, repeated compilation), in seconds, in a new process whose cache is `root`."""
    done = subprocess.run([sys.executable, "-c", BODY % (sys.path[:2], NAMES)], env={**os.environ, "INTENT_CACHE_DIR": str(root)}, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    cold, disk, warm = ({name: [] for name in NAMES} for _ in range(3))
    begin = time.perf_counter()
    while time.perf_counter() - begin < 20 or len(cold[NAMES[0]]) < 3:
        with tempfile.TemporaryDirectory() as root:
            for name, (first, again) in run(root).items():
                cold[name].append(first), warm[name].append(again)
            for name, (first, _) in run(root).items():
                disk[name].append(first)
    print(f"{'kernel':<12} {'cold ms':>9} {'disk ms':>9} {'warm ms':>9}")
    for name in NAMES:
        print(f"{name:<12}" + "".join(f" {statistics.median(times[name]) * 1e3:9.3f}" for times in (cold, disk, warm)))


if __name__ == "__main__":
    main()
