"""Random programs of `python/tests/generator` against the reference, on the visible CUDA device through Triton.

`python bench/check_generated.py KIND SEED COUNT [SECONDS]` runs COUNT programs from SEED on, or as many as SECONDS allow, prints one
line for each that goes wrong and `N passed, M failed`. What a target or a call's limits exclude has no result, and what may divide by
zero or shift by too much neither: the caller's errors, for which the host alone has values.
"""
import os
import re
import sys
import tempfile
import time

import ml_dtypes
import numpy as np
import torch

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "python"), os.path.join(ROOT, "python", "tests")]
import intent  # noqa: E402
from generator import execution  # noqa: E402
from generator.families import FAMILIES  # noqa: E402
from generator.layouts import arguments  # noqa: E402
from generator.statements import check  # noqa: E402

TORCH = {ml_dtypes.bfloat16: (torch.bfloat16, np.int16), ml_dtypes.float8_e4m3fn: (torch.float8_e4m3fn, np.uint8), ml_dtypes.float8_e5m2: (torch.float8_e5m2, np.uint8)}


def moved(array):
    if not isinstance(array, np.ndarray):
        return array
    array = np.ascontiguousarray(array)  # torch has no negative strides
    special = TORCH.get(array.dtype.type)
    return torch.from_numpy(array.view(special[1])).view(special[0]).cuda() if special else torch.from_numpy(array).cuda()


def back(tensor, dtype):
    special = TORCH.get(dtype.type)
    return tensor.cpu().view(torch.int16 if special[1] is np.int16 else torch.uint8).numpy().view(dtype) if special else tensor.cpu().numpy()


# Divisors and amounts that are not plainly in range.
HAZARD = re.compile(r"<<|>>|//|% (?![A-Z]\b(?!\.)|\d)")


def run(family, program, folder):
    """What is wrong, or None; "excluded" where there is nothing to run."""
    text, values = family.source(program), family.name == "values"  # those of effects are exact, and have arguments alone
    if values and HAZARD.search(text):
        return "excluded"
    module = execution.load(text, folder)
    limits, bound = (check(program), execution.bindings(program, module)) if values else ([None] * len(program.sizes), {})
    try:
        reference = intent.interpret(module.k, seed=program.data_seed, **bound)
        compiled = intent.compile(module.k, "triton", **bound)
    except (intent.TargetError, intent.ConfigurationError, intent.LanguageError):
        return "excluded"  # which the host's run of the same programs judges
    ran = False
    for number in range(len(program.sizes)):
        wanted = arguments(program, number)
        try:
            reference(*wanted)
        except intent.LanguageError:
            continue
        given = arguments(program, number)
        tensors = [moved(a) for a in given]
        try:
            compiled(*tensors)
        except intent.CallError:
            continue
        torch.cuda.synchronize()
        actual = [back(t, a.dtype) if isinstance(t, torch.Tensor) else a for t, a in zip(tensors, given)]
        ran = True
        problem = execution.difference(program, actual, [np.ascontiguousarray(w) if isinstance(w, np.ndarray) else w for w in wanted], limits[number])
        if problem:
            return f"{problem} with {program.sizes[number]}"
    return None if ran else "excluded"


def main():
    family, first, count = FAMILIES[sys.argv[1]], int(sys.argv[2]), int(sys.argv[3])
    end = time.monotonic() + (float(sys.argv[4]) if len(sys.argv) > 4 else float("inf"))
    passed = failed = excluded = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            if time.monotonic() > end:
                break
            try:
                problem = run(family, family.program(seed), folder)
            except Exception as error:
                problem = f"{type(error).__name__}: {str(error)[:400]}"
            if problem == "excluded":
                excluded += 1
            elif problem:
                failed += 1
                print(f"seed {seed}: {problem}", flush=True)
                if "illegal memory access" in problem or "device-side" in problem:
                    break  # nothing runs on this device context any more
            else:
                passed += 1
    print(f"{excluded} excluded\n{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
