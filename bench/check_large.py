"""Views above 2^31 elements on the visible CUDA device: the last elements are right. Prints `N passed, M failed`.

    python bench/check_large.py
"""
import os
import sys

import torch

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "python")]
import intent  # noqa: E402
import intent.language as I  # noqa: E402


@intent.kernel
def increment(x: I.In[I.i8, ("N",)], y: I.Out[I.i8, ("N",)]):
    y[:] = x[:] + 1


@intent.kernel
def transpose(x: I.In[I.i8, ("M", "N")], y: I.Out[I.i8, ("N", "M")]):
    y[:, :] = I.transpose(x[:, :])


@intent.kernel
def row_sum(x: I.In[I.f16, ("M", "N")], y: I.Out[I.f32, ("M",)]):
    y[:] = I.reduce.sum(x[:, :], axis=1)


def bytes_of(*shape):
    return torch.randint(-100, 100, shape, dtype=torch.int8, device="cuda")


def check_increment():
    x = bytes_of(2**31 + 4099)
    return torch.equal(intent.compile(increment, "triton").run(x), x + 1)


def check_transpose():
    x = bytes_of(70001, 32771)
    y = intent.compile(transpose, "triton").run(x)
    return all(torch.equal(y[i], x[:, i]) for i in (0, 1, 16384, 32769, 32770))


def check_row_sum():
    x = torch.randn(70001, 32768, dtype=torch.float16, device="cuda")
    y = intent.compile(row_sum, "triton").run(x)
    return bool((y[-1000:] - x[-1000:].double().sum(1)).abs().max() < 1e-2)


def main():
    checks = [check_increment, check_transpose, check_row_sum]
    results = []
    for check in checks:
        good = check()
        print("ok" if good else "WRONG", check.__name__, flush=True)
        results.append(good)
        torch.cuda.empty_cache()
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return not all(results)


if __name__ == "__main__":
    sys.exit(main())
