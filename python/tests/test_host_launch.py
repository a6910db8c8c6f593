"""Launches on the host backend: groups, scalars, errors, threads, processes, signals."""

import concurrent.futures
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from host_native import LIBRARY, HostError, Kernel, kernel, native
from host_programs import axis, block_axis, normal, pointwise, softmax_text
from host_reference import NUMPY, encode

pytestmark = pytest.mark.skipif(LIBRARY is None, reason="libintent-host.so is not built")


def test_two_groups_and_uneven_grids():
    def fill(value, view, extent):
        def body(p):
            n, vn = block_axis(p, extent, "%N" if view == "%x" else "%M")
            p.store(p.cast(p.binary("add", n, p.broadcast(p.constant(value), [], [extent])), "f32"), view, [(n, [0])], [(vn, [0])])
        return body

    k = Kernel(kernel([("x", "f32", ['"N"'], "out"), ("y", "f32", ['"M"'], "out")], [('ceil_div("N", 16)', fill(5, "%x", 16)), ('ceil_div("M", 4)', fill(9, "%y", 4))], privates=['"N"', '"M"'],
                      overlaps=['#block.overlap<"x", "y", disjoint>']))
    for n, m in [(1, 1), (100, 3), (0, 77), (12345, 54321)]:
        x, y = np.zeros(n, np.float32), np.zeros(m, np.float32)
        k(x, y)
        assert np.array_equal(x, np.arange(n, dtype=np.float32) + 5) and np.array_equal(y, np.arange(m, dtype=np.float32) + 9)


@pytest.mark.parametrize("element,value", [("f16", 1.5), ("bf16", 2.0), ("f32", -3.25), ("f64", 1e100), ("i8", -5), ("ui8", 250), ("i64", -(2**60)), ("i1", True), ("index", 3)])
def test_scalar_arguments(element, value):
    def body(p):
        n, vn = axis(p, 8, "%N")
        p.store(p.broadcast("%s", [], [8]), "%y", [(n, [0])], [(vn, [0])])

    k = Kernel(kernel([("y", element, ['"N"'], "out")], [("1", body)], scalars=[("s", element)], privates=['"N"']))
    s = encode(element, value)[()] if element != "i1" else np.bool_(value)
    y = np.zeros(5, NUMPY[element])
    k(y, s)
    assert (y == s).all()


def test_guards_checks_and_errors():
    text = pointwise(4, 16)
    with pytest.raises(HostError, match="extent"):
        Kernel(text)(normal(4, 4), np.zeros((4, 5), np.float32))
    with pytest.raises(HostError, match="expected 2 arguments"):
        Kernel(text)(normal(4, 4))
    with pytest.raises(HostError, match="configuration"):
        Kernel(text, 1)
    with pytest.raises(HostError, match="no variant"):
        Kernel(text.replace("@p  privates", '@p guard(lt("M", 3)) privates'))(normal(4, 4), np.zeros((4, 4), np.float32))
    with pytest.raises(HostError, match="too wide"):
        Kernel(text.replace("checks []", 'checks [#block.check<<le("N", 3)>, "too wide">]'))(normal(4, 4), np.zeros((4, 4), np.float32))
    for broken in ["", "nonsense", "module {}", text[: len(text) // 2], "(" * 100000, text.replace("block.unary neg", "block.unary ngg"), text + text, text.replace("checks []", "checks [array<index: 1>]")]:
        with pytest.raises(HostError):
            Kernel(broken)


def test_emit():
    k = Kernel(pointwise(4, 16))
    x, y = normal(5, 20), np.zeros((5, 20), np.float32)
    assert "define void" in k.emit("llvm", x, y)
    assert ".size" in k.emit("asm", x, y)
    assert k.emit("ptx", x, y) is None


def test_threads_give_the_same_bits():
    k = Kernel(softmax_text())
    x = (normal(300, 1000)).astype(np.float16)
    results = []
    for threads in (1, 2, 5, 1):
        native.intent_host_set_threads(threads)
        y = np.zeros_like(x)
        k(x, y)
        results.append(y)
    native.intent_host_set_threads(len(os.sched_getaffinity(0)))
    assert all(np.array_equal(results[0], y) for y in results)


def test_concurrent_launches():
    k = Kernel(pointwise(1, 64))

    def work(seed):
        x = np.random.default_rng(seed).standard_normal((100 + seed, 1000)).astype(np.float32)
        for _ in range(20):
            y = np.zeros_like(x)
            k(x, y)
            assert np.array_equal(y, -x)
        return True

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(12)))


def test_concurrent_compilations():
    """First launches of different programs at the same moment: each generates its own code."""
    import threading

    gate = threading.Barrier(6)

    def work(extent):
        k = Kernel(pointwise(1, 16 * extent, compute=lambda p, x: p.unary("exp", p.unary("neg", x))))
        x = np.zeros((7, 31), np.float32)
        y = np.empty_like(x)
        gate.wait()
        k(x, y)
        return bool((y == 1).all())

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        for _ in range(5):
            assert all(pool.map(work, range(1, 7)))


def _in_child(k, queue):
    x = np.ones((500, 1000), np.float32)
    y = np.zeros_like(x)
    k(x, y)
    queue.put(bool((y == -1).all()))


def test_fork():
    k = Kernel(pointwise(1, 64))
    x = np.ones((500, 1000), np.float32)
    k(x, np.zeros_like(x))  # the parent's threads exist
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(k, queue))
    child.start()
    assert queue.get(timeout=60)
    child.join(60)
    assert child.exitcode == 0


def test_read_only_arrays():
    x = normal(8, 16)
    x.flags.writeable = False
    y = np.zeros_like(x)
    Kernel(pointwise(4, 16))(x, y)
    assert np.array_equal(y, -x)


def test_interrupt():
    """Ctrl-C during a launch that would run for most of a minute."""
    program = """
import sys, time, signal, threading, os
sys.path.insert(0, {tests!r})
import numpy as np
from host_native import Kernel
from host_programs import pointwise
def slow(p, x):
    for _ in range(200):
        x = p.unary("lgamma", x)
    return x
k = Kernel(pointwise(1, 16, compute=slow))
x = np.full((2_000_000, 16), 3.0, np.float32)
y = np.empty(x.shape, np.float32)
k(x[:1], y[:1])  # code generation, which a loaded machine may take longer for than the timer
signal.signal(signal.SIGINT, signal.default_int_handler)  # a run in the background starts with it ignored
threading.Timer(1.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
start = time.time()
try:
    k(x, y)
    print("finished")
except BaseException as e:
    print(type(e).__name__, time.time() - start < 6)
"""
    out = subprocess.run([sys.executable, "-c", program.replace("{tests!r}", repr(str(Path(__file__).parent)))], capture_output=True, text=True, timeout=120)
    assert out.stdout.split()[0] in ("KeyboardInterrupt", "HostError") and out.stdout.split()[1] == "True", out
