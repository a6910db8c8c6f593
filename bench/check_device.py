"""Every sample program that this version builds, on the visible CUDA device through Triton, against its expected values.

`python bench/check_device.py [I N]` runs every case, or the I-th of N shares of them, and prints one line a case and
`N passed, M failed`.
"""
import os
import sys
import traceback

import numpy as np
import torch

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "python"), os.path.join(ROOT, "python", "tests")]
import intent  # noqa: E402
from sample_cases import agrees, all_cases, case  # noqa: E402



def check(file, index):
    _, kernel, constexprs, arguments, expected, tolerance = case(file, index)
    compiled = intent.compile(kernel, "triton", constexprs=constexprs)
    moved = [torch.from_numpy(np.ascontiguousarray(a)).cuda() if isinstance(a, np.ndarray) else a for a in arguments]
    result = compiled.run(*moved)
    if result is None:
        inputs = [p for p in compiled.metadata["params"] if p.get("access") != "out"]
        result = [a for a, p in zip(moved, inputs) if p.get("access") == "inout"]
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    return len(results) == len(expected) and all(agrees(r.cpu().numpy(), e, tolerance) for r, e in zip(results, expected))


def main():
    passed = failed = 0
    share, shares = map(int, sys.argv[1:]) if len(sys.argv) == 3 else (0, 1)
    built = list(all_cases())
    for file, index, name in built[share::shares]:
        try:
            good = check(file, index)
            print("ok" if good else "WRONG", name, flush=True)
        except Exception:
            good = False
            print("FAILED", name, traceback.format_exc(limit=-3), flush=True)
        passed, failed = passed + good, failed + (not good)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
