"""Workspaces on the host backend: private memory of a launch, and the order of accesses to it within an instance."""

import concurrent.futures

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from host_native import LIBRARY, HostError, Kernel, kernel
from host_programs import axis, block_axis, normal
from host_reference import NUMPY, encode

pytestmark = pytest.mark.skipif(LIBRARY is None, reason="libintent-host.so is not built")
rng = np.random.default_rng(7)


def through(element, inner):
    """y = x by way of a workspace of one row for each instance, written and read in chunks."""
    def body(p):
        m = "%p"

        def chunks(step):
            def one(i, _):
                n, vn = axis(p, inner, "%N", i)
                step([(m, []), (n, [0])], [(vn, [0])])
                return []

            p.loop(p.constant(0), "%N", p.constant(inner), [], one)

        fill = p.constant("0.0" if element[0] in "fb" else 0, element)
        chunks(lambda at, valid: p.store(p.load("%x", element, at, valid, fill, [inner]), "%w", at, valid))
        p.fence()
        chunks(lambda at, valid: p.store(p.load("%w", element, at, valid, fill, [inner]), "%y", at, valid))

    shape = ['"M"', '"N"']
    return kernel([("x", element, shape, "in"), ("y", element, shape, "out")], [('"M"', body)], privates=shape, workspaces=[("w", element, shape, False)])


@pytest.mark.parametrize("element", ["f32", "f16", "bf16", "f64", "i8", "ui16", "i64", "index", "f8E5M2"])
def test_round_trip(element):
    k = Kernel(through(element, 16))
    for shape in [(1, 1), (7, 67), (0, 5), (5, 0), (3, 64), (64, 300)]:
        x = encode(element, rng.integers(0, 4, shape))
        y = np.ones(shape, NUMPY[element])
        k(x, y)
        assert np.array_equal(y, x)



@pytest.mark.parametrize("fence", [False, True])
def test_a_loop_reads_what_it_wrote_before(fence):
    """Fibonacci-like sums in a workspace, one element a step: w[i] = w[i-1] + w[i-2] + x[i]."""
    def body(p):
        at = lambda i: [("%p", []), (i, [])]
        zero = p.constant(0, "i64")
        read = lambda i: p.load("%w", "i64", at(i), [], zero, [])
        for i in (0, 1):
            p.store(p.constant(i + 1, "i64"), "%w", at(p.constant(i)), [])

        def step(i, _):
            back = lambda d: p.binary("sub", i, p.constant(d))
            total = p.binary("add", read(back(1)), read(back(2)))
            p.store(p.binary("add", total, p.load("%x", "i64", [(i, [])], [], zero, [])), "%w", at(i), [])
            if fence:
                p.fence()
            return []

        p.loop(p.constant(2), "%N", p.constant(1), [], step)
        n, vn = axis(p, 64, "%N")
        p.store(p.load("%w", "i64", [("%p", []), (n, [0])], [(vn, [0])], zero, [64]), "%y", [("%p", []), (n, [0])], [(vn, [0])])

    k = Kernel(kernel([("x", "i64", ['"N"'], "in"), ("y", "i64", ['"M"', '"N"'], "out")], [('"M"', body)], privates=['"M"', '"N"'], workspaces=[("w", "i64", ['"M"', '"N"'], False)]))
    for m, n in [(1, 2), (3, 61), (5, 64)]:
        x, y = rng.integers(-5, 5, n), np.zeros((m, n), np.int64)
        k(x, y)
        w = [1, 2]
        for i in range(2, n):
            w.append(w[-1] + w[-2] + x[i])
        assert np.array_equal(y, np.broadcast_to(w, (m, n)))


@pytest.mark.parametrize("where", ["workspace", "view"])
def test_fragments_written_across_lanes_are_read_after_a_fence(where):
    """Pointer doubling: k times w = w + w shifted by 1, 2, 4... gives the running sum, through memory alone."""
    def body(p):
        n, vn = axis(p, 64, "%N")
        zero = p.constant(0, "i32")
        view = "%w" if where == "workspace" else "%y"
        row = lambda c: [("%p", []), (c, [0])]
        p.store(p.load("%x", "i32", row(n), [(vn, [0])], zero, [64]), view, row(n), [(vn, [0])])
        p.fence()

        def test(state):
            return p.compare("lt", state[0], "%N"), state

        def step(state):
            back = p.binary("sub", n, p.broadcast(state[0], [], [64]))
            inside = p.compare("ge", back, p.broadcast(p.constant(0), [], [64]))
            here = p.load(view, "i32", row(n), [(vn, [0])], zero, [64])
            there = p.load(view, "i32", row(back), [(vn, [0]), (inside, [0])], zero, [64])
            p.fence()
            p.store(p.binary("add", here, there), view, row(n), [(vn, [0])])
            p.fence()
            return [p.binary("add", state[0], state[0])]

        p.repeat([p.constant(1)], test, step)
        p.store(p.load(view, "i32", row(n), [(vn, [0])], zero, [64]), "%y", row(n), [(vn, [0])])

    shape = ['"M"', '"N"']
    k = Kernel(kernel([("x", "i32", shape, "in"), ("y", "i32", shape, "inout")], [('"M"', body)], privates=shape, workspaces=[("w", "i32", shape, False)]))
    for m, n in [(1, 1), (5, 61), (2, 64)]:
        x, y = rng.integers(-9, 9, (m, n)).astype(np.int32), np.zeros((m, n), np.int32)
        k(x, y)
        assert np.array_equal(y, x.cumsum(1))


def counting():
    """Each launch counts its instances in a zeroed workspace; the last one notes the count and puts zero back."""
    def body(p):
        one = p.constant(1, "i32")
        ticket = p.atomic("add", one, "%w", [(p.constant(0), [])], order="acq_rel")
        total = p.cast("%M", "i32")
        last = p.compare("eq", p.binary("add", ticket, one), total)

        def finish():
            p.store(p.binary("add", ticket, one), "%y", [(p.constant(0), [])], [])
            p.store(p.constant(0, "i32"), "%w", [(p.constant(0), [])], [])

        p.when(last, finish)
        p.store(ticket, "%t", [("%p", [])], [])

    views = [("x", "f32", ['"M"', '"N"'], "in"), ("y", "i32", ["1"], "out"), ("t", "i32", ['"M"'], "out")]
    return kernel(views, [('"M"', body)], privates=['"M"'], workspaces=[("w", "i32", ["1"], True)])


def test_zeroed_memory_stays_zero_between_launches():
    k = Kernel(counting())
    for m in [1, 5, 1000, 5, 333, 1, 20000]:
        y, t = np.zeros(1, np.int32), np.zeros(m, np.int32)
        k(np.zeros((m, 7), np.float32), y, t)
        assert y[0] == m and np.array_equal(np.sort(t), np.arange(m))


def test_concurrent_launches_have_memory_of_their_own():
    k = Kernel(counting())

    def work(seed):
        m = 2000 + 100 * seed
        for _ in range(20):
            y, t = np.zeros(1, np.int32), np.zeros(m, np.int32)
            k(np.zeros((m, 20), np.float32), y, t)
            if y[0] != m or not np.array_equal(np.sort(t), np.arange(m)):
                return False
        return True

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(12)))


def test_several_workspaces_and_parameters():
    """Extents of parameters and symbols, ranks 0 to 3, elements of one to eight bytes: none touches another."""
    def body(p):
        n, vn = axis(p, "BN", "%N")
        zero, none = p.constant(0, "i64"), p.constant(0, "i8")
        at, valid = [(n, [0])], [(vn, [0])]
        x = p.load("%x", "i64", at, valid, zero, ["BN"])
        p.store(p.constant(-1, "i64"), "%a", [], [])
        p.store(p.cast(x, "i8"), "%b", at, valid)
        p.store(x, "%c", [(p.constant(1), []), (n, [0])], valid)
        p.store(p.binary("add", x, x), "%c", [(p.constant(0), []), (n, [0])], valid)
        p.store(x, "%d", [(n, [0]), (p.constant(2), []), (p.constant(0), [])], valid)
        p.fence()
        total = p.cast(p.load("%b", "i8", at, valid, none, ["BN"]), "i64")
        for i, view in ((0, "%c"), (1, "%c")):
            total = p.binary("add", total, p.load(view, "i64", [(p.constant(i), []), (n, [0])], valid, zero, ["BN"]))
        total = p.binary("add", total, p.load("%d", "i64", [(n, [0]), (p.constant(2), []), (p.constant(0), [])], valid, zero, ["BN"]))
        total = p.binary("add", total, p.broadcast(p.load("%a", "i64", [], [], zero, []), [], ["BN"]))
        p.store(total, "%y", at, valid)

    k = lambda row: Kernel(kernel(
        [("x", "i64", ['"N"'], "in"), ("y", "i64", ['"N"'], "out")], [("1", body)], privates=['"N"'],
        parameters=['#block.parameter<"BN", ownership, int domain = [16, 64] column = "BN">'], rows=(["BN"], [[16], [64]]),
        workspaces=[("a", "i64", [], False), ("b", "i8", ["BN"], False), ("c", "i64", ["2", 'add("N", 1)'], False), ("d", "i64", ['"N"', "3", "1"], True)]), row)
    for row, n in [(0, 13), (1, 13), (1, 61), (0, 1)]:
        x, y = rng.integers(-20, 20, n), np.zeros(n, np.int64)
        k(row)(x, y)
        assert np.array_equal(y, 5 * x - 1)


def test_extents_that_do_not_fit():
    def body(p):
        p.store(p.constant("1.0", "f32"), "%y", [(p.constant(0), [])], [])

    text = lambda shape, zeroed=False: kernel([("y", "f32", ["1"], "out")], [("1", body)], scalars=[("N", "index")], workspaces=[("scratch", "f32", shape, zeroed)])
    y = np.zeros(1, np.float32)
    for shape, n, message in [(['"%N"', '"%N"'], 2**40, "workspace 'scratch' is too large for this call"), (['mul("%N", 4)'], 2**60, "too large"),
                              (['"%N"'], 2**45, "not enough memory for the workspaces of this call: 'scratch' of 140737488355328 bytes")]:
        for zeroed in (False, True):
            with pytest.raises(HostError, match=message):
                Kernel(text(shape, zeroed))(y, np.int64(n))
            assert y[0] == 0
    with pytest.raises(HostError, match="an extent of workspace 'scratch' uses launch symbol \"Q\", which the interface does not define"):
        Kernel(text(['"Q"']))(y, np.int64(3))
    for n in (0, -3, 1):  # a negative extent is empty
        y[0] = 0
        Kernel(text(['"%N"', "5"], True))(y, np.int64(n))
        assert y[0] == 1


def test_interrupted_launches_do_not_hand_on_what_they_left():
    """The count of a launch that Ctrl-C stopped must not be seen by the next one."""
    program = """
import sys, time, signal, threading, os
sys.path.insert(0, {tests!r})
import numpy as np
import host_native, test_host_workspace
from host_native import Kernel, kernel, HostError
from host_programs import axis
def body(p):
    n, vn = axis(p, 16, "%N")
    x = p.load("%x", "f32", [("%p", []), (n, [0])], [(vn, [0])], p.constant("0.0", "f32"), [16])
    for _ in range(200):
        x = p.unary("lgamma", x)
    p.store(x, "%y", [("%p", []), (n, [0])], [(vn, [0])])
    old = p.atomic("add", p.constant(1, "i32"), "%w", [(p.constant(0), [])])
    p.store(old, "%t", [("%p", [])], [])
k = Kernel(kernel([("x", "f32", ['"M"', '"N"'], "in"), ("y", "f32", ['"M"', '"N"'], "out"), ("t", "i32", ['"M"'], "out")], [('"M"', body)], privates=['"M"', '"N"'], workspaces=[("w", "i32", ["1"], True)]))
def run(m, stop=False):
    x, t = np.full((m, 16), 3.0, np.float32), np.zeros(m, np.int32)
    y = np.empty_like(x)
    if stop:
        threading.Timer(1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    k(x, y, t)
    return t
run(3)  # code is generated, and memory with a count in it waits for the next launch
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    run(2_000_000, True)
    print("finished")
except BaseException as e:
    print(type(e).__name__)
print(sorted(run(3).tolist()))
"""
    out = subprocess.run([sys.executable, "-c", program.replace("{tests!r}", repr(str(Path(__file__).parent)))], capture_output=True, text=True, timeout=120)
    lines = out.stdout.split("\n")
    assert lines[0] in ("KeyboardInterrupt", "HostError") and lines[1] == "[0, 1, 2]", out


def test_hand_over_in_one_launch():
    """Rows summed by many instances: each leaves a partial sum in its slot, the last to draw a ticket adds them in order."""
    chunk = 64

    def body(p):
        n, vn = axis(p, chunk, "%N", p.binary("mul", "%p", p.constant(chunk)))
        zero = p.constant("0.0", "f64")
        part = p.fold("add", p.cast(p.load("%x", "f32", [(n, [0])], [(vn, [0])], p.constant("0.0", "f32"), [chunk]), "f64"), zero, 0)
        p.store(part, "%slots", [("%p", [])], [])
        p.fence()
        one = p.constant(1, "ui32")
        ticket = p.atomic("add", one, "%tickets", [(p.constant(0), [])], order="acq_rel")
        parts = p.binary("floordiv", p.binary("add", "%N", p.constant(chunk - 1)), p.constant(chunk))
        last = p.compare("eq", p.cast(ticket, "index"), p.binary("sub", parts, p.constant(1)))

        def finish():
            def step(i, carried):
                return [p.binary("add", carried[0], p.load("%slots", "f64", [(i, [])], [], zero, []))]

            total = p.loop(p.constant(0), parts, p.constant(1), [zero], step)
            p.store(total[0], "%y", [], [])
            p.store(p.constant(0, "ui32"), "%tickets", [(p.constant(0), [])], [])

        p.when(last, finish)

    k = Kernel(kernel([("x", "f32", ['"N"'], "in"), ("y", "f64", [], "out")], [(f'ceil_div("N", {chunk})', body)], privates=['"N"'],
                      workspaces=[("slots", "f64", [f'ceil_div("N", {chunk})'], False), ("tickets", "ui32", ["1"], True)]))
    for n in [1, 64, 100003, 500, 100003]:
        x, y = normal(n), np.zeros(())
        for _ in range(5):
            k(x, y)
            assert abs(y - x.astype(np.float64).sum()) < 1e-9 * n
