"""Cases of python/tests on the visible CUDA device through Triton: the algorithms of test_algorithms.py and the kernels of test_order.py,
test_effect_results.py, test_data_extents.py and test_combine_loops.py against the reference, and against NumPy what test_sharing.py, test_swaps.py,
test_index_width.py, test_literals.py, test_contraction_dtypes.py and test_author_programs.py have.

`python bench/check_algorithms.py [I N]` runs every case, or the I-th of N shares of them, and prints one line a case and
`N passed, M failed`.
"""
import os
import sys

import numpy as np
import torch

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "python"), os.path.join(ROOT, "python", "tests")]
import intent  # noqa: E402
import test_algorithms as algorithms  # noqa: E402
import test_author_programs as programs  # noqa: E402
import test_combine_loops as combines  # noqa: E402
import test_contraction_dtypes as contractions  # noqa: E402
import test_data_extents as extents  # noqa: E402
import test_effect_results as results  # noqa: E402
import test_index_width as widths  # noqa: E402
import test_literals as literals  # noqa: E402
import test_order as order  # noqa: E402
import test_sharing as sharing  # noqa: E402
import test_swaps as swaps  # noqa: E402


def agrees(kernel, arguments, constexprs):
    wanted = algorithms.outcome(intent.interpret(kernel, constexprs=constexprs), arguments)
    moved = [torch.from_numpy(a.copy()).cuda() if isinstance(a, np.ndarray) else a for a in arguments]
    result = intent.compile(kernel, "triton", constexprs=constexprs).run(*moved)
    results = list(result) if isinstance(result, tuple) else [result] if result is not None else []
    actual = [a.cpu().numpy() for a in results + [a for a in moved if isinstance(a, torch.Tensor)]]
    return len(actual) == len(wanted) and all(
        np.allclose(np.asarray(a, np.float64), np.asarray(w, np.float64), rtol=1e-3, atol=1e-3, equal_nan=True) for a, w in zip(actual, wanted))


def shares(target, kernel, arguments, outputs, values):
    """Twice, without clearing what a launch left in its workspace."""
    moved = [torch.from_numpy(a).cuda() for a in arguments]
    for _ in range(2):
        results = [torch.from_numpy(o.copy()).cuda() for o in outputs]
        intent.compile(kernel, "triton")(*moved, *results)
        sharing.agree([r.cpu().numpy() for r in results], values)
    return True


def swapped(kernel, arguments, outputs, values, _=None):
    results = [torch.from_numpy(o.copy()).cuda() for o in outputs]
    intent.compile(kernel, "triton")(*[torch.from_numpy(a).cuda() if isinstance(a, np.ndarray) else a for a in arguments], *results)
    return all(np.array_equal(r.cpu().numpy(), wanted, equal_nan=r.is_floating_point()) for r, wanted in zip(results, values, strict=True))


def ordered(kernel, arguments):
    for n in (1, 5, 70, 250):
        wanted = arguments(n)
        moved = [torch.from_numpy(a.copy()).cuda() for a in wanted]
        intent.interpret(kernel)(*wanted)
        try:
            intent.compile(kernel, "triton")(*moved)
        except intent.CallError as error:  # more than one instance may walk
            if n <= 70 or "no variant of the program admits this call" not in str(error):
                raise
            continue
        if not all(np.array_equal(a.cpu().numpy(), w) for a, w in zip(moved, wanted, strict=True)):
            return False
    return True


def matches(kernel, constexprs, arguments, wanted, tolerance):
    compiled = intent.compile(kernel, "triton", constexprs=constexprs)
    moved = [torch.from_numpy(np.ascontiguousarray(a)).cuda() if isinstance(a, np.ndarray) else a for a in arguments]
    result = compiled.run(*moved)
    results = list(result) if isinstance(result, tuple) else [result] if result is not None else []
    given = [p for p in compiled.metadata["params"] if p.get("access") != "out" or len(arguments) == len(compiled.metadata["params"])]
    results += [a for a, p in zip(moved, given, strict=True) if p.get("access") == "inout"]
    for actual, expected in zip(results, wanted, strict=True):
        expected = np.asarray(expected, np.float64)
        scale = np.abs(expected)[np.isfinite(expected)].max(initial=0.0)
        np.testing.assert_allclose(actual.double().cpu().numpy(), expected, rtol=0, atol=max(tolerance, 1e-6) * scale)
    return True


def main():
    share, count = map(int, sys.argv[1:]) if len(sys.argv) == 3 else (0, 1)
    passed = failed = 0
    cases = [(check, *pair) for check, module in ((agrees, algorithms), (shares, sharing), (swapped, swaps), (matches, programs))
             for pair in zip(module.CASES, module.NAMES)]
    cases += [(swapped, case, case[0].function.__name__) for module in (widths, literals) for case in module.CASES]
    cases += [(swapped, case[1:], case[0]) for case in contractions.CASES]
    cases += [(ordered, (kernel, module.arguments), kernel.function.__name__) for module in (order, results, extents, combines) for kernel in module.KERNELS]
    for check, case, name in cases[share::count]:
        try:
            good = check(*case)
        except Exception as error:
            good = False
            print(name, f"{type(error).__name__}: {error}", flush=True)
        print("ok" if good else "WRONG", name, flush=True)
        passed, failed = passed + good, failed + (not good)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
