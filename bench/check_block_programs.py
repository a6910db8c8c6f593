"""Hand-written block programs on the visible CUDA device through Triton, against their expected values, with 1, 4 and 8 warps.

    python bench/check_block_programs.py generate FOLDER     writes the modules; needs build/, no device
    python bench/check_block_programs.py FOLDER              runs them

Workspaces, atomics, fences and loops over lanes are right in an interpreter even where threads race; here they meet. Each case
runs three times with every number of warps, the last one prepared. Prints one line a case that fails, and `N passed, M failed`.
"""
import os
import pathlib
import sys
import traceback

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "python"), os.path.join(ROOT, "python", "tests")]
import block_memory_programs  # noqa: E402
import block_programs  # noqa: E402
from test_triton_provider import generate  # noqa: E402
from intent.providers.triton import TritonProgram  # noqa: E402


def check(skipped, path, arguments, expected, tolerance, warps):
    import torch

    program = TritonProgram(path)
    for variant in program.variants:
        for config in variant["configs"]:
            config.num_warps = warps
    for prepared in (False, False, True):
        tensors = [torch.from_numpy(a.copy()).cuda() if isinstance(a, np.ndarray) else a for a in arguments]
        program.prepare(tensors)() if prepared else program.launch(tensors)
        for at, want in expected.items():
            got = tensors[at].cpu().numpy()
            if at not in skipped:
                np.testing.assert_allclose(got.astype(np.float64) if got.dtype.kind == "f" else got, want, rtol=tolerance, atol=tolerance, err_msg=f"argument {at}")


def cases():
    """(module, case, order-dependent arguments, text, arguments, expected, tolerance)"""
    for programs in (block_programs, block_memory_programs):
        for case, build in programs.CASES.items():
            yield programs.__name__, case, getattr(programs, "ORDERED", {}).get(case, ()), *build(np.random.default_rng(7))


def main():
    folder = pathlib.Path(sys.argv[-1])
    if sys.argv[1] == "generate":
        folder.mkdir(parents=True, exist_ok=True)
        for module, case, _, text, *_ in cases():
            generate(text, folder, f"{module}_{case}")
        return 0
    passed = failed = 0
    for module, case, skipped, _, arguments, expected, tolerance in cases():
        for warps in (1, 4, 8):
            try:
                check(skipped, folder / f"{module}_{case}.py", arguments, expected, tolerance, warps)
            except Exception:
                failed += 1
                print("FAILED", case, f"with {warps} warps:", traceback.format_exc(limit=-2)[-1500:], flush=True)
            else:
                passed += 1
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
