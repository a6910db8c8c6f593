"""What one launch of a tiny kernel costs on the host, beside the time of its work: `python bench/launch_overhead.py`.

Processor time of this thread, the least mean of several thousand calls, so that other processes on the machine do not count.
"""
import os
import sys
import time

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "python"), os.path.join(ROOT, "examples")]
import intent  # noqa: E402
from softmax import softmax  # noqa: E402


def microseconds(function, calls=20000, rounds=5):
    best = float("inf")
    for _ in range(rounds):
        begin = time.thread_time()
        for _ in range(calls):
            function()
        best = min(best, (time.thread_time() - begin) / calls)
    return best * 1e6


def main():
    x = np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32)
    y = np.empty_like(x)
    kernel = intent.compile(softmax, types={"T": "f32"})
    kernel(x, y)
    prepared = kernel.prepare(x, outputs=(y,))
    for name, function in (("prepared.launch()", prepared.launch), ("kernel(x, y)", lambda: kernel(x, y)), ("softmax(x, y)", lambda: softmax(x, y))):
        print(f"{name:20} {microseconds(function):6.2f} us")


if __name__ == "__main__":
    main()
