"""Checked runs tell the iterations of an `I.parallel` apart that one instance walks, and lanes of one store that agree."""

import numpy as np
import pytest

import intent
import intent.language as I
from test_checked_runs import CHECK, place_of

i32 = lambda *values: np.array(values, np.int32)
X = np.arange(5, dtype=np.float32)
APART, TWICE = i32(3, 1, 0, 4, 2), i32(3, 1, 0, 1, 2)


def silent(kernel, *arguments):
    """The last argument afterwards, the same in the reference and in ten checked runs."""
    found = []
    for run in (intent.interpret(kernel), *[intent.compile(kernel, options=CHECK)] * 10):
        given = [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]
        run(*given)
        found.append(given[-1])
    assert all(np.array_equal(found[0], one) for one in found), found
    return found[0]


def reported(kernel, message, *arguments):
    for run in (intent.interpret(kernel), *[intent.compile(kernel, options=CHECK)] * 5):
        with pytest.raises(intent.LanguageError) as caught:
            run(*[np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments])
        assert caught.value.filename == "test_checked_races.py"
        assert caught.value.line in [place_of(kernel, text)[1] for text in ("here", "or here") if place_of(kernel, text)]
    for part in message.split("|"):
        assert part in str(caught.value), caught.value


@intent.kernel
def into_a_buffer(x: I.In[I.f32, ("N",)], k: I.In[I.i32, ("N",)], y: I.InOut[I.f32, ("N",)]):
    b = I.buffer((x.shape[0],), I.f32, init=0.0)
    for p in I.parallel(I.domain(x.shape[0])):
        b[k[p]] = x[p] + 1.0  # here
    y[:] = b[:]


@intent.kernel
def into_a_view(x: I.In[I.f32, ("N",)], k: I.In[I.i32, ("N",)], y: I.InOut[I.f32, ("N",)]):
    y[:] = x[:]
    for p in I.parallel(I.domain(x.shape[0])):
        y[k[p]] = x[p] + 1.0  # here


@pytest.mark.parametrize("kernel", [into_a_buffer, into_a_view], ids=["buffer", "view"])
def test_two_iterations_write_one_element(kernel):
    assert np.array_equal(silent(kernel, X, APART, X * 0), [3, 2, 5, 1, 4])
    reported(kernel, "race on |[1]': write by iteration |and write by iteration ", X, TWICE, X * 0)


@intent.kernel
def equal_values(k: I.In[I.i32, ("N",)], y: I.InOut[I.f32, ("N",)]):
    y[:] = I.zeros((y.shape[0],), I.f32)
    for p in I.parallel(I.domain(k.shape[0])):
        y[k[p]] = 7.0  # here


def test_iterations_that_write_the_same_value_race_too():
    assert (silent(equal_values, APART, X * 0) == 7).all()
    reported(equal_values, "race on 'y[1]': write by iteration ", TWICE, X * 0)


@intent.kernel
def read_by_all(x: I.In[I.f32, ("N",)], limit: I.f32, s: I.InOut[I.f32, (1,)], y: I.InOut[I.f32, ("N",)]):
    s[0] = s[0] + 1.0
    for p in I.parallel(I.domain(x.shape[0])):
        y[p] = s[0] + x[p]  # here
        if x[p] > limit:
            s[0] = x[p]  # or here


def test_an_iteration_writes_what_all_read():
    s = np.zeros(1, np.float32)
    assert np.array_equal(silent(read_by_all, X, np.float32(9), s, X * 0), X + 1)
    reported(read_by_all, "race on 's[0]': |the other access is here", X, np.float32(3), s, X * 0)


@intent.kernel
def in_each_pass(x: I.In[I.f32, ("N",)], k: I.In[I.i32, ("T", "N")], y: I.InOut[I.f32, ("N",)]):
    b = I.buffer((x.shape[0],), I.f32, init=0.0)
    for t in range(k.shape[0]):
        for p in I.parallel(I.domain(x.shape[0])):
            b[k[t, p]] = b[k[t, p]] + x[p]  # here
    y[:] = b[:]


@intent.kernel
def in_each_while(x: I.In[I.f32, ("N",)], k: I.In[I.i32, ("T", "N")], y: I.InOut[I.f32, ("N",)]):
    b = I.buffer((x.shape[0],), I.f32, init=0.0)
    t = I.cast(0, I.index)
    while t < k.shape[0]:
        for p in I.parallel(I.domain(x.shape[0])):
            b[k[t, p]] = b[k[t, p]] + x[p]  # here
        t += 1
    y[:] = b[:]


@pytest.mark.parametrize("kernel", [in_each_pass, in_each_while], ids=["for", "while"])
def test_passes_of_an_ordered_loop_are_no_iterations(kernel):
    permuted = np.stack([APART, APART[::-1], np.roll(APART, 1)])
    expected = np.zeros(5, np.float32)
    for row in permuted:
        expected[row] += X
    assert np.array_equal(silent(kernel, X, permuted, X * 0), expected)
    reported(kernel, "race on 'b[1]': ", X, np.stack([APART, TWICE, APART]), X * 0)


@intent.kernel
def two_loops(x: I.In[I.f32, ("N",)], k: I.In[I.i32, ("N",)], y: I.InOut[I.f32, ("N",)]):
    b = I.buffer((x.shape[0],), I.f32, init=0.0)
    for p in I.parallel(I.domain(x.shape[0])):
        b[k[p]] = x[p]
    for p in I.parallel(I.domain(x.shape[0])):
        y[p] = b[p] + b[x.shape[0] - 1 - p]


def test_loops_behind_each_other():
    b = np.zeros(5, np.float32)
    b[APART] = X
    assert np.array_equal(silent(two_loops, X, APART, X * 0), b + b[::-1])


@intent.kernel
def over_pairs(k: I.In[I.i32, ("M", "N")], y: I.InOut[I.f32, ("K",)]):
    y[:] = I.zeros((y.shape[0],), I.f32)
    for i, j in I.parallel((I.domain(k.shape[0]), I.domain(2, 2 + k.shape[1]))):
        y[k[i, j - 2]] = 1.0  # here


def test_pairs_of_coordinates():
    k = np.arange(6, dtype=np.int32).reshape(2, 3)
    silent(over_pairs, k, np.zeros(6, np.float32))
    k[1, 2] = 1
    reported(over_pairs, "race on 'y[1]': |(0, 3)|(1, 4)", k, np.zeros(6, np.float32))


@intent.kernel
def unsized(x: I.In[I.f32, ("N",)], n: I.In[I.index, (1,)], k: I.In[I.i32, ("N",)], y: I.InOut[I.f32, ("N",)]):
    y[:] = x[:]
    for p in I.parallel(I.domain(n[0])):
        own = I.buffer((2,), I.f32)
        own[0] = x[p]
        own[1] = own[0] * 2.0
        y[k[p]] = own[1]  # here


def test_iterations_that_share_the_memory_of_their_buffers():
    assert np.array_equal(silent(unsized, X, np.array([3]), APART, X * 0), [4, 2, 2, 0, 4])
    reported(unsized, "race on 'y[1]': write by iteration ", X, np.array([4]), TWICE, X * 0)


@intent.kernel
def counted(k: I.In[I.i32, ("N",)], y: I.InOut[I.i32, ("N",)]):
    y[:] = I.zeros((y.shape[0],), I.i32)
    for p in I.parallel(I.domain(k.shape[0])):
        I.atomic.add(y, k[p], 1)


@intent.kernel
def counted_and_read(k: I.In[I.i32, ("N",)], y: I.InOut[I.i32, ("N",)], z: I.InOut[I.i32, ("N",)]):
    y[:] = I.zeros((y.shape[0],), I.i32)
    for p in I.parallel(I.domain(k.shape[0])):
        I.atomic.add(y, k[p], 1)  # here
        z[p] = y[p]  # or here


def test_atomic_accesses_do_not_race_with_each_other():
    assert np.array_equal(silent(counted, TWICE, TWICE * 0), np.bincount(TWICE, minlength=5))
    silent(counted_and_read, i32(0, 1, 2, 3, 4), TWICE * 0, TWICE * 0)
    reported(counted_and_read, "race on 'y[", TWICE, TWICE * 0, TWICE * 0)


# -- lanes of one store --------------------------------------------------------------------------------------------

@intent.kernel
def plain(k: I.In[I.i32, ("N",)], x: I.In[I.f32, ("N",)], y: I.InOut[I.f32, ("K",)]):
    y[k[:]] = x[:]  # here


@intent.kernel
def unique(k: I.In[I.i32, ("N",)], x: I.In[I.f32, ("N",)], y: I.InOut[I.f32, ("K",)]):
    I.scatter_unique(y, index=(k[:],), value=x[:])  # here


@pytest.mark.parametrize("count", [5, 3000])
def test_lanes_of_a_plain_store_may_agree(count):
    """Whatever instances the lanes are of; bits decide. A unique scatter has no two lanes at one element."""
    k = np.arange(count, dtype=np.int32)
    k[0] = count - 2
    x, y = np.arange(count, dtype=np.float32), np.zeros(count, np.float32)
    reported(plain, f"different values|'y[{count - 2}]'" if count == 5 else f"'y[{count - 2}]'", k, x, y)
    reported(unique, f"'y[{count - 2}]'", k, x, y)
    x[0] = x[count - 2]
    assert np.array_equal(silent(plain, k, x, y)[1:], x[1:])
    reported(unique, f"'y[{count - 2}]'", k, x, y)
    x[0], x[count - 2] = 0.0, -0.0
    reported(plain, f"'y[{count - 2}]'", k, x, y)


# -- iterations that atomic accesses order ---------------------------------------------------------------------------

def handed_over(order):
    @intent.kernel
    def kernel(x: I.In[I.f32, ("N",)], k: I.In[I.i32, ("N",)], tickets: I.InOut[I.i32, (1,)], y: I.InOut[I.f32, (1,)]):
        s = I.buffer((x.shape[0],), I.f32, init=0.0)
        for p in I.parallel(I.domain(x.shape[0])):
            s[k[p]] = x[p]
            if I.cast(I.atomic.add(tickets, 0, 1, order=order), I.index) == x.shape[0] - 1:
                total = I.cast(0.0, I.f32)
                for q in range(x.shape[0]):
                    total = total + s[q]
                y[0] = total

    return kernel


def test_the_last_iteration_reads_what_the_others_released():
    """The reference asks for more: its iterations know no order."""
    for order, orders in (("acq_rel", True), ("relaxed", False), ("release", False)):
        k = intent.compile(handed_over(order), options=CHECK)
        for _ in range(5):
            tickets, y = np.zeros(1, np.int32), np.zeros(1, np.float32)
            if orders:
                k(X, APART, tickets, y)
                assert y[0] == X.sum() and tickets[0] == 5
            else:
                with pytest.raises(intent.LanguageError, match="race on 's.*': read by iteration 4 and write by iteration "):
                    k(X, APART, tickets, y)
