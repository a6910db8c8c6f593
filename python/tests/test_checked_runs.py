"""`CompileOptions(check=True)`: authors' mistakes on the host, with the place in the author's file."""

import inspect
import linecache
import os

import numpy as np
import pytest

import intent
import intent.language as I

CHECK = intent.CompileOptions(check=True)


def line_of(text):
    """The line of this file that ends in the comment `# text`."""
    lines = linecache.getlines(__file__)
    (at,) = [i for i, line in enumerate(lines, 1) if line.rstrip().endswith("# " + text)]
    return at


def place_of(kernel, text):
    """File and line of the only line of a kernel that ends in the comment `# text`; None if none does."""
    lines, first = inspect.getsourcelines(kernel.function)
    at = [i for i, line in enumerate(lines, first) if line.rstrip().endswith("# " + text)]
    return (os.path.basename(kernel.function.__code__.co_filename), at[0]) if at else None


@intent.fn
def plus(a, b):
    return a + b


@intent.kernel
def gather(x: I.In[I.f32, ("K",)], i: I.In[I.i32, ("N",)], y: I.Out[I.f32, ("N",)]):
    y[:] = x[i[:]]  # gathers


@intent.kernel
def scatter(x: I.In[I.f32, ("N",)], i: I.In[I.i32, ("N",)], y: I.InOut[I.f32, ("K",)]):
    I.scatter_reduce(y, index=(i[:],), value=x[:], combine=plus)  # scatters


def test_a_gather_outside():
    k = intent.compile(gather, options=CHECK)
    x, i = np.arange(9, dtype=np.float32), np.array([0, 8, 3, 3], np.int32)
    assert np.array_equal(k.run(x, i), x[i])
    for index in (9, -1):
        i[2] = index
        with pytest.raises(intent.LanguageError, match=rf"access outside 'x': expected an index in \[0, 9\) on axis 0, got {index}") as error:
            k.run(x, i)
        assert error.value.filename == os.path.basename(__file__) and error.value.line == line_of("gathers") and error.value.column
    assert (intent.compile(gather).run(x, i) == np.where(i < 0, 0, x[i])).all()  # unchecked: a zero, and nothing outside is touched


def test_a_scatter_outside():
    k = intent.compile(scatter, options=CHECK)
    x, y = np.ones(50, np.float32), np.zeros(7, np.float32)
    k(x, (np.arange(50) % 7).astype(np.int32), y)
    assert np.array_equal(y, np.bincount(np.arange(50) % 7))
    with pytest.raises(intent.LanguageError, match="access outside 'y'.*got 7") as error:
        k(x, (np.arange(50) % 8).astype(np.int32), y)
    assert error.value.line == line_of("scatters")


def test_the_variable_asks_for_it_too(monkeypatch):
    monkeypatch.setenv("INTENT_CHECK", "1")
    with pytest.raises(intent.LanguageError, match="access outside 'x'"):
        intent.compile(gather).run(np.zeros(3, np.float32), np.array([3], np.int32))


@intent.kernel
def softmax(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M", "N")]):
    v = x[:, :]
    e = I.exp(v - I.reduce.max(v, axis=1)[:, None])
    y[:, :] = e / I.reduce.sum(e, axis=1)[:, None]


@intent.kernel
def made_in_each_pass(x: I.In[I.f32, ("N",)], y: I.InOut[I.f32, ("N",)], last: I.index):
    for i in I.domain(x.shape[0]):
        b = I.buffer((2, 3), I.f32)
        if i < last:
            b[1, :] = x[i]
        y[i] = b[1, 2]  # made in each pass


@intent.kernel
def made_in_each_while(x: I.In[I.f32, ("N",)], y: I.InOut[I.f32, ("N",)], last: I.index):
    for p in I.parallel(I.domain(x.shape[0])):
        i = 0
        while i < x.shape[0]:
            b = I.buffer((), I.f32)
            if i < last:
                b[()] = x[i]
            y[p] = b[()]  # made in each while
            i += 1


@pytest.mark.parametrize("kernel", [made_in_each_pass, made_in_each_while], ids=lambda kernel: kernel.function.__name__)
def test_a_buffer_of_the_pass_before(kernel):
    x, checked = np.arange(5, dtype=np.float32), intent.compile(kernel, options=CHECK)
    results = [x * 0 for _ in range(2)]
    checked(x, results[0], 5)
    intent.compile(kernel)(x, results[1], 5)
    assert np.array_equal(*results)
    for run in (intent.interpret(kernel), checked):
        with pytest.raises(intent.LanguageError) as caught:
            run(x, results[0], 4)
        assert caught.value.line == line_of(kernel.function.__name__.replace("_", " "))


@intent.kernel
def of_a_written_view(x: I.In[I.f32, ("N",)], o: I.InOut[I.f32, ("N",)], y: I.InOut[I.f32, (1,)], a: I.index):
    o[:] = x[:] + 1.0
    y[0] = o[a]  # of a written view


@intent.kernel
def of_a_constant_buffer(x: I.In[I.f32, ("N",)], o: I.InOut[I.f32, ("N",)], y: I.InOut[I.f32, (1,)], a: I.index):
    b = I.buffer((4,), I.f32, init=7.0)
    y[0] = b[a]  # of a constant buffer


@intent.kernel
def of_a_tensor(x: I.In[I.f32, ("N",)], o: I.InOut[I.f32, ("N",)], y: I.InOut[I.f32, (1,)], a: I.index):
    total = x[:] + 1.0
    y[0] = total[a]  # of a tensor


@intent.kernel
def of_a_carry(x: I.In[I.f32, ("N",)], o: I.InOut[I.f32, ("N",)], y: I.InOut[I.f32, (1,)], a: I.index):
    moved = x[:]
    for t in range(3):
        moved = moved[(I.indices(I.domain(x.shape[0])) + t) % (x.shape[0] - 3 + a)]  # of a carry
    o[:] = moved


@intent.kernel
def lanes_that_are_not_valid(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)], z: I.Out[I.f32, ("N",)]):
    total, i = x[:] + 1.0, I.indices(I.domain(x.shape[0]))
    y[:] = I.gather(total, index=(i - 1,), valid=i > 0, fill=3.0)
    z[:] = I.gather(total, index=(i - 1,), valid=i > 1, fill=4.0) + I.gather(total[i % 3], index=(i,), valid=i < 2)


def test_lanes_of_a_tensor_that_are_not_valid():
    x = np.arange(7, dtype=np.float32)
    for check in (False, True):
        y, z = intent.compile(lanes_that_are_not_valid, options=intent.CompileOptions(check=check)).run(x)
        assert np.array_equal(y, [3, 1, 2, 3, 4, 5, 6]) and np.array_equal(z, [5, 6, 2, 3, 4, 5, 6])


@pytest.mark.parametrize("kernel", [of_a_written_view, of_a_constant_buffer, of_a_tensor, of_a_carry], ids=lambda kernel: kernel.function.__name__)
def test_what_is_not_loaded(kernel):
    """Values that are forwarded or computed are asked about as memory is; what is outside a view is a typed zero without that, too."""
    x, what = np.arange(4, dtype=np.float32), kernel.function.__name__.replace("_", " ")
    for a in (3, 9):
        results = [[x * 0, np.full(1, 5, np.float32)] for _ in range(3)]
        intent.compile(kernel)(x, *results[0], a)
        if a == 3:
            intent.interpret(kernel)(x, *results[1], a)
            intent.compile(kernel, options=CHECK)(x, *results[2], a)
            assert all(np.array_equal(one, other) for result in results[1:] for one, other in zip(result, results[0]))
            continue
        for run in (intent.interpret(kernel), intent.compile(kernel, options=CHECK)):
            with pytest.raises(intent.LanguageError) as caught:
                run(x, *results[1], a)
            assert caught.value.line == line_of(what)
        assert kernel not in (of_a_written_view, of_a_constant_buffer) or results[0][1][0] == 0


@intent.kernel
def between(x: I.In[I.f32, ("N", "M")], y: I.Out[I.f32, (2,)], a: I.i32):
    part = x[I.domain(a, a + 2), :]
    y[0] = part[1, 0]
    y[1] = I.matmul(part, part, transpose_rhs=True, acc_dtype=I.f32)[1, 1]


@pytest.mark.parametrize("target", ["host", "host{serial_elements=64, warp_size=32}"])
def test_a_length_that_no_axis_has(target):
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    assert np.array_equal(intent.compile(between, target, options=CHECK).run(x, 1), [x[2, 0], x[2] @ x[2]])


def test_a_correct_program():
    x = np.random.default_rng(0).standard_normal((7, 300)).astype(np.float32)
    assert np.allclose(intent.compile(softmax, options=CHECK).run(x), intent.compile(softmax).run(x), atol=1e-6)


# -- reads under control: reported exactly where the author's program makes them ------------------------------------

@intent.kernel
def guarded(x: I.In[I.f32, ("K",)], i: I.In[I.i32, ("N",)], y: I.Out[I.f32, ("N",)]):
    for p in I.parallel(I.domain(0, i.shape[0])):
        if i[p] < 100:
            y[p] = x[i[p]]  # reads under an if
        else:
            y[p] = -1.0


@intent.kernel
def chosen(x: I.In[I.f32, ("K",)], i: I.In[I.i32, ("N",)], k: I.i32, y: I.Out[I.f32, ("N",)]):
    for p in I.parallel(I.domain(0, i.shape[0])):
        y[p] = x[k] if i[p] > 0 else 0.0  # reads the same element in some lanes


@intent.kernel
def chased(next: I.In[I.i32, ("K",)], start: I.In[I.i32, ("N",)], y: I.Out[I.i32, ("N",)]):
    for p in I.parallel(I.domain(0, start.shape[0])):
        at = start[p]
        steps = I.cast(0, I.i32)
        while at >= 0:
            at = next[at]  # follows
            steps = steps + 1
        y[p] = steps


@intent.kernel
def waited(x: I.In[I.f32, ("K",)], limit: I.In[I.i32, ("N",)], k: I.i32, y: I.Out[I.f32, ("N",)]):
    for p in I.parallel(I.domain(0, limit.shape[0])):
        n = I.cast(0, I.i32)
        total = I.cast(0.0, I.f32)
        while n < limit[p]:
            total = total + x[k]  # reads one element again and again
            n = n + 1
        y[p] = total


@intent.kernel
def repeated(x: I.In[I.f32, ("K",)], k: I.i32, n: I.i32, y: I.Out[I.f32, ("N",)]):
    total = I.cast(0.0, I.f32)
    for t in range(n):
        total = total + x[k]  # reads in each pass
    y[:] = I.full((y.shape[0],), total, I.f32)


@intent.kernel
def rows(x: I.In[I.f32, ("K",)], k: I.In[I.i32, ("M",)], n: I.In[I.i32, ("M",)], y: I.InOut[I.f32, ("M", "N")]):
    for p in I.parallel(I.domain(0, k.shape[0])):
        for q in I.parallel(I.domain(0, n[p])):
            y[p, q] = x[k[p]]  # reads for members of a row


def outside(text, got, kernel, *arguments):
    with pytest.raises(intent.LanguageError, match=rf"access outside '.*'.* got {got}$") as error:
        kernel(*arguments)
    assert error.value.line == line_of(text)


def test_a_read_under_an_if():
    k = intent.compile(guarded, options=CHECK)
    x = np.arange(9, dtype=np.float32)
    i = np.array([3, 8, 100, 2**31 - 1, 0], np.int32)
    assert np.array_equal(k.run(x, i), [3, 8, -1, -1, 0])
    for index in (9, -1, 99):
        i[3] = index
        outside("reads under an if", index, k.run, x, i)


def test_a_read_of_one_element_in_some_lanes():
    k = intent.compile(chosen, options=CHECK)
    x, i = np.arange(9, dtype=np.float32), np.zeros(40, np.int32)
    assert not k.run(x, i, 9).any()
    i[17] = 1
    assert np.array_equal(k.run(x, i, 8), 8 * i)
    outside("reads the same element in some lanes", 9, k.run, x, i, 9)


def test_a_read_in_a_while():
    """Lanes that have stopped, and the padding behind them, read nothing."""
    k = intent.compile(chased, options=CHECK)
    chain = np.array([1, 2, 3, -5, 7, -1, 2, -77], np.int32)
    start = np.array([0, 1, 2, 3, 4, 5, 6, 7, -1], np.int32)
    assert np.array_equal(k.run(chain, start), [4, 3, 2, 1, 2, 1, 3, 1, 0])
    chain[3] = 8
    outside("follows", 8, k.run, chain, start)
    assert np.array_equal(k.run(chain, start[4:6]), [2, 1])


def test_a_read_that_a_while_does_not_change():
    k = intent.compile(waited, options=CHECK)
    x, limit = np.full(3, 2, np.float32), np.zeros(33, np.int32)
    assert not k.run(x, limit, 3).any()
    limit[::5] = 4
    assert np.array_equal(k.run(x, limit, 2), 2 * limit)
    outside("reads one element again and again", -1, k.run, x, limit, -1)


def test_reads_in_loops_of_no_passes():
    k = intent.compile(repeated, options=CHECK)
    x = np.full(3, 2, np.float32)
    assert (k.run(x, 2, 3, shapes={"N": 4}) == 6).all() and not k.run(x, 3, 0, shapes={"N": 4}).any()
    outside("reads in each pass", 3, lambda: k.run(x, 3, 1, shapes={"N": 4}))
    k = intent.compile(rows, options=CHECK)
    y, at, n = np.zeros((4, 5), np.float32), np.array([0, 99, 2, -3], np.int32), np.array([5, 0, 2, 0], np.int32)
    k(x, at, n, y)
    assert np.array_equal(y, 2 * (np.arange(5) < n[:, None]))
    n[3] = 1
    outside("reads for members of a row", -3, k, x, at, n, y)


# -- programs without mistakes ---------------------------------------------------------------------------------------

@intent.kernel
def handed(x: I.InOut[I.f32, ("M", "N")], y: I.Out[I.f32, ("M", "N")]):
    for r in I.parallel(I.domain(0, x.shape[0])):
        v = x[r, 0]
        x[r, 0] = v + 1.0
        y[r, :] = I.full((y.shape[1],), v, I.f32)


@intent.kernel
def overwritten(i: I.In[I.i32, ("T", "N")], x: I.In[I.f32, ("T", "N")], y: I.InOut[I.f32, ("K",)]):
    for t in range(i.shape[0]):
        I.scatter_unique(y, index=(i[t, :],), value=x[t, :])


@intent.kernel
def added_and_normalised(x: I.InOut[I.f32, ("M", "N")], r: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M", "N")]):
    for m in I.parallel(I.domain(0, x.shape[0])):
        h = x[m, :] + r[m, :]
        x[m, :] = h
        y[m, :] = h / I.reduce.sum(h * h, axis=0)


def test_what_other_lanes_still_have_to_read_is_fenced():
    rng = np.random.default_rng(3)
    f = lambda *shape: rng.standard_normal(shape).astype(np.float32)
    x, y = f(5, 300), f(5, 300)
    old = x.copy()
    intent.compile(handed, options=CHECK)(x, y)
    assert np.array_equal(y, np.repeat(old[:, :1], 300, 1)) and np.array_equal(x[:, 0], old[:, 0] + 1)
    at, values, y = np.stack([rng.permutation(40) for _ in range(5)]).astype(np.int32), f(5, 40), f(40)
    intent.compile(overwritten, options=CHECK)(at, values, y)
    assert np.array_equal(y[at[-1]], values[-1])
    for cover in ("N=lanes", "N=loop,lanes"):
        x, r, y = f(3, 300), f(3, 300), f(3, 300)
        h = x.astype(np.float64) + r
        intent.compile(added_and_normalised, options=intent.CompileOptions(check=True, cover=cover))(x, r, y)
        assert np.allclose(x, h, atol=1e-6) and np.allclose(y, h / (h * h).sum(1, keepdims=True), atol=1e-6)
