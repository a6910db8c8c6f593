"""Measures kernels of the host backend beside NumPy on the same cores: `python bench/host_kernels.py [name ...]`.

Prints the median of several runs, and the compile time of the first call.
"""

import statistics
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python/tests"))
from host_native import Kernel, kernel  # noqa: E402
from host_programs import axis, block_axis, matmul_text, pointwise  # noqa: E402


def seconds(function, least=0.3):
    function()
    times = []
    while sum(times) < least or len(times) < 5:
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def row_softmax(bm, cn):
    def body(p):
        m, vm = block_axis(p, bm, "%M")
        n, vn = axis(p, cn, "%N")
        e = [bm, cn]
        zero, low = p.constant("0.0", "f32"), p.constant("0xFF800000", "f32")
        at, valid = [(m, [0]), (n, [1])], [(vm, [0]), (vn, [1])]
        x = p.load("%x", "f32", at, valid, low, e)
        top = p.fold("maximum", x, low, 1)
        x = p.unary("exp", p.binary("sub", x, p.broadcast(top, [0], e)))
        total = p.fold("add", p.select(p.broadcast(vn, [1], e), x, p.broadcast(zero, [], e)), zero, 1)
        p.store(p.binary("div", x, p.broadcast(total, [0], e)), "%y", at, valid)

    return kernel([("x", "f32", ['"M"', '"N"'], "in"), ("y", "f32", ['"M"', '"N"'], "out")], [(f'ceil_div("M", {bm})', body)], privates=['"M"', '"N"'],
                  overlaps=['#block.overlap<"x", "y", identical_or_disjoint>'])


def row_sum(bm, bn):
    def body(p):
        m, vm = block_axis(p, bm, "%M")
        zero = p.constant("0.0", "f32")

        def step(i, carried):
            n, vn = axis(p, bn, "%N", i)
            x = p.load("%x", "f32", [(m, [0]), (n, [1])], [(vm, [0]), (vn, [1])], zero, [bm, bn])
            return [p.binary("add", carried[0], p.fold("add", x, zero, 1))]

        s = p.loop(p.constant(0), "%N", p.constant(bn), [p.broadcast(zero, [], [bm])], step)
        p.store(s[0], "%y", [(m, [0])], [(vm, [0])])

    return kernel([("x", "f32", ['"M"', '"N"'], "in"), ("y", "f32", ['"M"'], "out")], [(f'ceil_div("M", {bm})', body)], privates=['"M"', '"N"'])


def column_sum(bm, bn):
    def body(p):
        n, vn = block_axis(p, bn, "%N")
        zero = p.constant("0.0", "f32")

        def step(i, carried):
            m, vm = axis(p, bm, "%M", i)
            x = p.load("%x", "f32", [(m, [0]), (n, [1])], [(vm, [0]), (vn, [1])], zero, [bm, bn])
            return [p.binary("add", carried[0], p.fold("add", x, zero, 0))]

        s = p.loop(p.constant(0), "%M", p.constant(bm), [p.broadcast(zero, [], [bn])], step)
        p.store(s[0], "%y", [(n, [0])], [(vn, [0])])

    return kernel([("x", "f32", ['"M"', '"N"'], "in"), ("y", "f32", ['"N"'], "out")], [(f'ceil_div("N", {bn})', body)], privates=['"M"', '"N"'])


def report(name, text, arguments, reference, work, unit, check):
    start = time.perf_counter()
    k = Kernel(text)
    k(*arguments)
    first = time.perf_counter() - start
    check()
    ours, theirs = seconds(k.prepared(*arguments)), seconds(reference)
    print(f"{name:28} {ours * 1e3:9.3f} ms {work / ours / 1e9:8.1f} {unit}   NumPy {theirs * 1e3:9.3f} ms {work / theirs / 1e9:8.1f} {unit}   {theirs / ours:6.2f}x   first call {first * 1e3:.0f} ms", flush=True)


def numpy_softmax(x, out):
    np.subtract(x, x.max(1, keepdims=True), out=out)
    np.exp(out, out=out)
    out /= out.sum(1, keepdims=True)


def main(names):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4096, 4096)).astype(np.float32)
    y, z = np.empty_like(x), np.empty_like(x)
    s = np.zeros(4096, np.float32)
    cases = {}
    cases["softmax"] = lambda: report("softmax 4096^2 f32", row_softmax(1, 4096), (x, y), lambda: numpy_softmax(x, z), 8 * x.size, "GB/s",
                                      lambda: (numpy_softmax(x, z), np.testing.assert_allclose(y, z, rtol=1e-5)))
    cases["row_sum"] = lambda: report("row sum 4096^2 f32", row_sum(4, 1024), (x, s), lambda: x.sum(1), 4 * x.size, "GB/s", lambda: np.testing.assert_allclose(s, x.sum(1), atol=1e-2))
    cases["column_sum"] = lambda: report("column sum 4096^2 f32", column_sum(64, 512), (x, s), lambda: x.sum(0), 4 * x.size, "GB/s", lambda: np.testing.assert_allclose(s, x.sum(0), atol=1e-2))
    relu = lambda p, v: p.binary("maximum", v, p.broadcast(p.constant("0.0", "f32"), [], [4, 1024]))
    cases["relu"] = lambda: report("relu 4096^2 f32", pointwise(4, 1024, compute=relu), (x, y), lambda: np.maximum(x, 0, out=z), 8 * x.size, "GB/s", lambda: np.testing.assert_array_equal(y, np.maximum(x, 0)))
    for fn in ("exp", "tanh", "sigmoid", "log1p", "erf"):
        small = rng.uniform(0.1, 3, (256, 4096)).astype(np.float32)
        out = np.empty_like(small)
        reference = {"exp": np.exp, "tanh": np.tanh, "log1p": np.log1p, "sigmoid": lambda v: 1 / (1 + np.exp(-v))}.get(fn, np.tanh)
        cases[fn] = lambda fn=fn, small=small, out=out, reference=reference: report(f"{fn} 2^20 f32", pointwise(1, 4096, compute=lambda p, v: p.unary(fn, v)), (small, out), lambda: reference(small), small.size, "Gel/s", lambda: None)
    for element, tile in (("f32", (128, 128, 256)), ("f32", (64, 256, 256)), ("f16", (128, 128, 256)), ("f64", (64, 128, 256))):
        dtype = {"f32": np.float32, "f16": np.float16, "f64": np.float64}[element]
        a, b = (rng.standard_normal((1024, 1024)).astype(dtype) for _ in range(2))
        wide = np.float64 if element == "f64" else np.float32
        c = np.zeros((1024, 1024), wide)
        aw, bw = a.astype(wide), b.astype(wide)
        text = matmul_text(*tile, element, "f64" if element == "f64" else "f32")
        cases[f"matmul_{element}_{tile[0]}"] = lambda text=text, a=a, b=b, c=c, aw=aw, bw=bw, element=element, tile=tile: report(
            f"matmul 1024^3 {element} {tile}", text, (a, b, c), lambda: aw @ bw, 2 * 1024**3, "GF/s", lambda: np.testing.assert_allclose(c, aw @ bw, atol=1e-2))
    tiny = rng.standard_normal((1, 64)).astype(np.float32)
    cases["tiny"] = lambda: report("relu of 64 elements", pointwise(1, 64), (tiny, np.empty_like(tiny)), lambda: np.negative(tiny), 1, "launch", lambda: None)
    for name in names or cases:
        for key in cases:
            if key.startswith(name):
                cases[key]()


if __name__ == "__main__":
    main(sys.argv[1:])
