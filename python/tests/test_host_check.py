"""Checked programs on the host backend: what each report says, and that programs without errors give the same values."""

import re

import numpy as np
import pytest

import test_host_random
import test_host_workspace
from host_native import LIBRARY, HostError, Kernel, kernel
from host_programs import axis, block_axis, matmul_text, normal, softmax_text

pytestmark = pytest.mark.skipif(LIBRARY is None, reason="libintent-host.so is not built")
rng = np.random.default_rng(17)


def checked(text):
    if "module attributes {" in text:
        return text.replace("module attributes {", "module attributes {block.checked, ", 1)
    return f"module attributes {{block.checked}} {{\n{text}\n}}"


def place(text, operation, line, file="author.py"):
    """The text with that place on the only `operation`."""
    lines = text.split("\n")
    (at,) = [i for i, l in enumerate(lines) if operation in l]
    lines[at] += f' loc("{file}":{line}:5)'
    return "\n".join(lines)


def run(text, *arguments):
    Kernel(checked(text))(*arguments)


def found(text, *arguments):
    with pytest.raises(HostError) as error:
        run(text, *arguments)
    return str(error.value)


def gather(store=False):
    def body(p):
        n, vn = block_axis(p, 16, "%N")
        i = p.cast(p.load("%i", "i32", [(n, [0])], [(vn, [0])], p.constant(0, "i32"), [16]), "index")
        near, far = ("%x", "%y")
        if store:
            p.store(p.load(near, "f32", [(n, [0])], [(vn, [0])], p.constant("0.0", "f32"), [16]), far, [(i, [0])], [(vn, [0])])
        else:
            p.store(p.load(near, "f32", [(i, [0])], [(vn, [0])], p.constant("-1.0", "f32"), [16]), far, [(n, [0])], [(vn, [0])])

    text = kernel([("i", "i32", ['"N"'], "in"), ("x", "f32", ['"K"'], "in"), ("y", "f32", ['"L"'], "out")], [('ceil_div("N", 16)', body)], privates=['"N"'])
    return place(text, "block.store" if store else "block.load %x", 12)


def test_reads_outside_a_view():
    x, i = normal(50), rng.integers(0, 50, 77).astype(np.int32)
    y = np.zeros(77, np.float32)
    run(gather(), i, x, y)
    assert np.array_equal(y, x[i])
    for index in (50, -1, 2**31 - 1):
        i[70] = index
        assert found(gather(), i, x, y) == f"author.py:12:5: access outside 'x': expected an index in [0, 50) on axis 0, got {index}"


def test_writes_outside_a_view_do_nothing():
    store = np.full(40, 7, np.float32)
    y, x, i = store[10:20], normal(5), np.array([0, 3, 9, 10, 5], np.int32)
    assert found(gather(True), i, x, y) == "author.py:12:5: access outside 'y': expected an index in [0, 10) on axis 0, got 10"
    assert (store[20:] == 7).all() and (store[:10] == 7).all()
    i[3] = 3
    assert found(gather(True), i, x, y) == "author.py:12:5: two lanes of one store write different values to 'y[3]'"
    i[3] = 4
    y[:] = 7
    run(gather(True), i, x, y)
    assert np.array_equal(y[i], x)


def test_scalar_and_atomic_accesses():
    def body(p):
        at = [("%K", [])]
        old = p.atomic("add", p.load("%x", "i32", [(p.constant(0), [])], [], p.constant(0, "i32"), []), "%z", at)
        p.store(old, "%x", [(p.constant(0), [])], [(p.compare("ge", "%K", p.constant(0)), [])])

    text = place(kernel([("x", "i32", ["1"], "inout"), ("z", "i32", ['"N"'], "inout")], [("1", body)], scalars=[("K", "index")]), "block.atomic", 3)
    x, z = np.array([5], np.int32), np.arange(4, dtype=np.int32)
    run(text, x, z, np.int64(2))
    assert x[0] == 2 and z[2] == 7
    assert found(text, x, z, np.int64(4)) == "author.py:3:5: access outside 'z': expected an index in [0, 4) on axis 0, got 4"
    assert z[2] == 7


def test_reads_of_what_nobody_wrote():
    def body(p):
        n, vn = axis(p, 16, "%N")
        short = p.below(n, "%K")
        at = [(n, [0])]
        p.store(p.broadcast(p.constant(1, "i32"), [], [16]), "%w", at, [(short, [0])])
        p.fence()
        p.store(p.load("%w", "i32", at, [(vn, [0])], p.constant(0, "i32"), [16]), "%y", at, [(vn, [0])])

    def text(zeroed):
        return place(kernel([("y", "i32", ['"N"'], "out")], [("1", body)], scalars=[("K", "index")], privates=['"N"'], workspaces=[("w", "i32", ['"N"'], zeroed)]), "block.load", 8)

    y = np.zeros(13, np.int32)
    run(text(False), y, np.int64(13))
    assert (y == 1).all()
    seen = {found(text(False), y, np.int64(9)) for _ in range(40)}  # lanes act in another order each time
    assert seen == {f"author.py:8:5: read of 'w[{i}]', which nothing has been written to" for i in range(9, 13)}
    run(text(True), y, np.int64(9))
    assert np.array_equal(y, np.arange(13) < 9)

    def early(p):
        p.scatter_reduce(p.constant(1, "i32"), "%y", [(p.constant(0), [])], [], lambda a, b: p.binary("add", a, b))

    assert found(place(kernel([("y", "i32", ['"N"'], "out")], [("1", early)]), "} : i32", 4), y) == "author.py:4:5: read of 'y[0]', which nothing has been written to"


def test_races():
    """Each instance writes its element and reads its neighbour's."""
    def body(p):
        p.store(p.constant(1, "i32"), "%y", [("%p", [])], [])
        p.fence()
        next = p.binary("mod", p.binary("add", "%p", "%K"), "%N")
        p.store(p.load("%y", "i32", [(next, [])], [], p.constant(0, "i32"), []), "%z", [("%p", [])], [])

    text = kernel([("y", "i32", ['"N"'], "inout"), ("z", "i32", ['"N"'], "inout")], [('"N"', body)], scalars=[("K", "index")], privates=['"N"'])
    text = place(place(text, "block.load", 9), "to %y", 7)
    y, z = np.zeros(5, np.int32), np.zeros(5, np.int32)
    run(text, y, z, np.int64(0))
    seen = set()
    for _ in range(20):
        report = found(text, y, z, np.int64(1)).split("\n")
        seen.add(report[0][:17])
        assert report[0].startswith(("author.py:9:5: race on 'y[", "author.py:7:5: race on 'y[")) and report[1].startswith("author.py:") and report[1].endswith("the other access is here")
    assert len(seen) == 2  # either comes first: instances run in another order each time


def test_an_error_ends_the_instance():
    """The loop would wait for ever for the store that is not allowed."""
    def body(p):
        zero = p.constant(0, "i32")

        p.line("scf.while : () -> () {")
        p.line(f"scf.condition({p.compare('eq', p.load('%y', 'i32', [(p.constant(0), [])], [], zero, []), zero)})")
        p.line("} do {")
        p.fence()
        p.store(p.constant(1, "i32"), "%y", [("%K", [])], [])
        p.fence()
        p.line("scf.yield")
        p.line("}")

    text = place(kernel([("y", "i32", ["1"], "inout")], [("1", body)], scalars=[("K", "index")]), "block.store", 5)
    assert found(text, np.zeros(1, np.int32), np.int64(3)) == "author.py:5:5: access outside 'y': expected an index in [0, 1) on axis 0, got 3"
    run(text, np.zeros(1, np.int32), np.int64(0))


def test_writes_of_two_instances():
    def body(p):
        p.store(p.cast("%p", "i32"), "%y", [(p.binary("floordiv", "%p", p.constant(2)), [])], [])

    text = place(kernel([("y", "i32", ['"N"'], "out")], [('mul("N", 2)', body)]), "block.store", 6)
    assert "author.py:6:5: race on 'y[" in found(text, np.zeros(3, np.int32))


def test_atomic_accesses_are_no_races_and_order_others():
    """A hand-over by tickets reads slots of other instances; without the order of the ticket it is a race."""
    def body(order):
        def write(p):
            p.store(p.cast("%p", "i64"), "%slots", [("%p", [])], [])
            p.fence()
            ticket = p.atomic("add", p.constant(1, "i32"), "%tickets", [(p.constant(0), [])], order=order)
            last = p.compare("eq", p.cast(ticket, "index"), p.binary("sub", "%N", p.constant(1)))

            def finish():
                total = p.loop(p.constant(0), "%N", p.constant(1), [p.constant(0, "i64")],
                               lambda i, c: [p.binary("add", c[0], p.load("%slots", "i64", [(i, [])], [], p.constant(0, "i64"), []))])
                p.store(total[0], "%y", [], [])
                p.store(p.constant(0, "i32"), "%tickets", [(p.constant(0), [])], [])

            p.when(last, finish)

        return place(kernel([("y", "i64", [], "out"), ("x", "i8", ['"N"'], "in")], [('"N"', write)], privates=['"N"'],
                            workspaces=[("slots", "i64", ['"N"'], False), ("tickets", "i32", ["1"], True)]), "block.load %slots", 15)

    for n in (1, 2, 37):
        y, x = np.zeros((), np.int64), np.zeros(n, np.int8)
        for _ in range(3):
            run(body("acq_rel"), y, x)
            assert y == n * (n - 1) // 2
    for order in ("relaxed", "acquire", "release"):
        assert found(body(order), y, x).startswith("author.py:15:5: race on 'slots[")


def test_order_through_an_instance_in_between():
    """Instances draw tickets in pairs, the second of each pair from the common counter; the last reads the first slots."""
    def body(p):
        one, zero = p.constant(1, "i32"), p.constant(0, "i32")
        p.store(p.cast("%p", "i32"), "%slots", [("%p", [])], [])
        p.fence()
        pair = p.binary("floordiv", "%p", p.constant(2))
        second = p.compare("eq", p.atomic("add", one, "%pairs", [(pair, [])], order="acq_rel"), one)

        def climb():
            place = p.atomic("add", one, "%top", [], order="acq_rel")
            last = p.compare("eq", p.binary("mul", p.cast(place, "index"), p.constant(2)), p.binary("sub", "%N", p.constant(2)))

            def finish():
                total = p.loop(p.constant(0), "%N", p.constant(1), [zero], lambda i, c: [p.binary("add", c[0], p.load("%slots", "i32", [(i, [])], [], zero, []))])
                p.store(total[0], "%y", [], [])

            p.when(last, finish)

        p.when(second, climb)

    k = Kernel(checked(kernel([("y", "i32", [], "out"), ("x", "i8", ['"N"'], "in")], [('"N"', body)], privates=['"N"'],
                              workspaces=[("slots", "i32", ['"N"'], False), ("pairs", "i32", ['"N"'], True), ("top", "i32", [], True)])))
    for n in (2, 16, 48):
        y = np.zeros((), np.int32)
        k(y, np.zeros(n, np.int8))
        assert y == n * (n - 1) // 2


def test_programs_without_errors():
    x = (normal(7, 300) * 3).astype(np.float16)
    y, z = np.zeros_like(x), np.zeros_like(x)
    Kernel(softmax_text(), 1)(x, y)
    Kernel(checked(softmax_text()), 1)(x, z)
    assert np.abs(y.astype(np.float64) - z).max() < 1e-3
    a, b = normal(37, 50), normal(50, 41)
    c = np.zeros((37, 41), np.float32)
    run(matmul_text(16, 16, 16, "f32", "f32"), a, b, c)
    assert np.allclose(c, a.astype(np.float64) @ b, atol=1e-4)
    source, target = rng.integers(0, 9, (7, 67)).astype(np.int32), np.zeros((7, 67), np.int32)
    run(test_host_workspace.through("i32", 16), source, target)
    assert np.array_equal(source, target)


def test_random_programs(monkeypatch):
    def fenced(*a, **k):
        return checked(re.sub(r"(?m)^(?=.*block\.(load|store|atomic|scatter_reduce) )", "block.fence\n", kernel(*a, **k)))

    monkeypatch.setattr(test_host_random, "kernel", fenced)
    monkeypatch.setattr(test_host_random, "EXTRA", [kind for kind in test_host_random.EXTRA if kind != "row atomic"])  # its results tell the order of lanes
    for seed in range(40):
        test_host_random.check(seed)


#===- lanes between fences ------------------------------------------------------------------------------#

def in_place(build, *workspaces):
    """A program of one instance over x[N], which `build(p, n, at, valid)` makes."""
    def body(p):
        n, vn = axis(p, 16, "%N")
        build(p, n, [(n, [0])], [(vn, [0])])

    return kernel([("x", "i32", ['"N"'], "inout")], [("1", body)], privates=['"N"'], workspaces=list(workspaces))


def read(p, at, valid, view="%x", extents=(16,)):
    return p.load(view, "i32", at, valid, p.constant(0, "i32"), list(extents))


def missing(text, *arguments):
    """What kind of access is not ordered behind what kind, or None."""
    try:
        run(text, *arguments)
    except HostError as error:
        found = re.search(r"the compiler has left out a fence: (\w+) of '.*' is not ordered behind the (\w+) by another lane\n.*: the other access is here", str(error))
        assert found, str(error)
        return found.groups()
    return None


def test_a_lane_stores_what_another_has_to_read():
    def reverse(fence):
        def build(p, n, at, valid):
            mirror = p.binary("sub", p.broadcast(p.binary("sub", "%N", p.constant(1)), [], [16]), n)
            value = read(p, [(mirror, [0])], valid)
            if fence:
                p.fence()
            p.store(value, "%x", at, valid)

        return in_place(build)

    x = np.arange(11, dtype=np.int32)
    assert missing(reverse(False), x.copy()) == ("write", "read")
    assert missing(reverse(True), x) is None and np.array_equal(x, np.arange(11)[::-1])


def test_a_lane_reads_what_another_stores():
    def through(fence):
        def build(p, n, at, valid):
            p.store(p.binary("add", read(p, at, valid), read(p, at, valid)), "%w", at, valid)
            if fence:
                p.fence()
            p.store(read(p, at, valid, "%w"), "%x", at, valid)

        return in_place(build, ("w", "i32", ['"N"'], False))

    x = np.arange(9, dtype=np.int32)
    assert missing(through(False), x.copy()) == ("read", "write")
    assert missing(through(True), x) is None and np.array_equal(x, 2 * np.arange(9))


def test_data_that_a_store_needs_orders_it():
    """Element by element, through what mixes lanes, or around a loop; not where other lanes need the element, too."""
    def same(p, n, at, valid):
        p.store(p.unary("neg", read(p, at, valid)), "%x", at, valid)

    def mask(p, n, at, valid):
        below = p.compare("lt", read(p, at, valid), p.broadcast(p.constant(4, "i32"), [], [16]))
        p.store(p.broadcast(p.constant(1, "i32"), [], [16]), "%x", at, valid + [(below, [0])])

    def total(p, n, at, valid):
        sum = p.reduce([read(p, at, valid)], [p.constant(0, "i32")], 0, lambda a, b: [p.binary("add", a[0], b[0])])[0]
        p.store(p.broadcast(sum, [], [16]), "%x", at, valid)

    def first(p, n, at, valid):
        p.store(p.broadcast(read(p, [(p.constant(0), [])], [], extents=()), [], [16]), "%x", at, valid)

    def apart(p, n, at, valid):
        value = read(p, at, valid)
        p.store(p.broadcast(p.constant(3, "i32"), [], [16]), "%x", at, valid)
        p.fence()
        p.store(value, "%x", at, valid)

    def twice(p, n, at, valid):
        for number in (2, 3):
            p.store(p.broadcast(p.constant(number, "i32"), [], [16]), "%x", at, valid)

    def carried(p, n, at, valid):
        start = p.broadcast(p.constant(0, "i32"), [], [16])
        p.store(p.loop(p.constant(0), p.constant(3), p.constant(1), [start], lambda i, c: [p.binary("add", c[0], read(p, at, valid))])[0], "%x", at, valid)

    x = np.arange(9, dtype=np.int32)
    for build, found in ((same, None), (mask, None), (total, None), (carried, None), (first, ("write", "read")), (apart, ("write", "read")), (twice, ("write", "write"))):
        assert missing(in_place(build), x.copy()) == found, build.__name__


def test_scalars_are_read_by_every_lane():
    """A scalar that goes elsewhere, too, is read by threads that may come after the store."""
    def build(elsewhere, fence):
        def body(p):
            zero = p.constant(0)
            value = read(p, [(zero, [])], [], extents=())
            if fence:
                p.fence()
            p.store(p.unary("neg", value), "%x", [(zero, [])], [])
            if elsewhere:
                p.store(value, "%x", [(p.constant(1), [])], [])

        return kernel([("x", "i32", ["2"], "inout")], [("1", body)])

    x = np.array([5, 6], np.int32)
    assert missing(build(False, False), x.copy()) is None
    assert missing(build(True, False), x.copy()) == ("write", "read")
    assert missing(build(True, True), x) is None and np.array_equal(x, [-5, 5])


def test_passes_of_a_loop():
    """The same lane of one operation keeps its order from pass to pass, other lanes do not."""
    def build(shift, fence):
        def body(p, n, at, valid):
            def step(i, c):
                moved = p.binary("mod", p.binary("add", n, p.broadcast(p.binary("mul", i, p.constant(shift)), [], [16])), p.broadcast("%N", [], [16]))
                p.store(p.broadcast(p.cast(i, "i32"), [], [16]), "%x", [(moved, [0])], valid)
                if fence:
                    p.fence()
                return []

            p.loop(p.constant(0), p.constant(3), p.constant(1), [], step)

        return in_place(body)

    x = np.zeros(7, np.int32)
    assert missing(build(0, False), x) is None and (x == 2).all()
    assert missing(build(1, False), x.copy()) == ("write", "write")
    assert missing(build(1, True), x) is None and (x == 2).all()


def test_lanes_act_in_another_order_each_time():
    def body(p):
        n, vn = axis(p, 16, "%N")
        one = p.broadcast(p.constant(1, "i32"), [], [16])
        zero = p.broadcast(p.constant(0), [], [16])
        p.store(p.atomic("add", one, "%c", [(zero, [0])], [(vn, [0])]), "%y", [(n, [0])], [(vn, [0])])

    k = Kernel(checked(kernel([("c", "i32", ["1"], "inout"), ("y", "i32", ['"N"'], "out")], [("1", body)], privates=['"N"'])))
    orders = set()
    for _ in range(30):
        c, y = np.zeros(1, np.int32), np.zeros(13, np.int32)
        k(c, y)
        assert c[0] == 13 and np.array_equal(np.sort(y), np.arange(13))
        orders.add(tuple(y))
    assert len(orders) > 10
