"""Checked runs report what calls need beside accesses: bounds of domains, values of operations; each with a call that is legal."""

import numpy as np
import pytest

import intent
import intent.language as I
from test_checked_runs import CHECK, place_of

f32, i32, i64 = (lambda *values, dtype=dtype: np.array(values, dtype) for dtype in (np.float32, np.int32, np.int64))


def agree(kernel, legal, expected, *illegal):
    """The legal call gives the value in the reference and in a checked run; both report the others, at the line with the message or another that
    is as right."""
    checked, reference = intent.compile(kernel, options=CHECK), intent.interpret(kernel)
    for run in (reference, checked):
        arguments = [np.copy(a) if isinstance(a, np.ndarray) else a for a in legal]
        run(*arguments)
        assert np.array_equal(arguments[-1], expected), run
    for message, arguments in illegal:
        for run in (reference, checked):
            with pytest.raises(intent.LanguageError) as caught:
                run(*[np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments])
            assert (caught.value.filename, caught.value.line) == place_of(kernel, "here"), caught.value
        assert any(one in str(caught.value) for one in message.split(" or ")), caught.value


@intent.kernel
def counted(v: I.In[I.i32, ("N",)], take: I.In[I.bool, ("N",)], y: I.InOut[I.u32, (4,)]):
    y[:] = I.histogram(v[:], bins=4, valid=take[:])  # here


def test_a_histogram_value_outside_its_bins():
    v, take = i32(0, 3, 3, -1, 4, 1), np.array([1, 1, 1, 0, 0, 1], bool)
    y = np.zeros(4, np.uint32)
    agree(counted, (v, take, y), [1, 1, 0, 2],
          ("histogram value: expected a value in [0, 4), got -1", (v, take | (v == -1), y)),
          ("histogram value: expected a value in [0, 4), got 4", (v, take | (v == 4), y)))


@intent.kernel
def stepped(step: I.i32, y: I.InOut[I.f32, ("N",)]):
    at = I.indices(I.domain(0, y.shape[0], I.cast(step, I.index)))  # here
    I.scatter_unique(y, index=(at,), value=I.full((at.shape[0],), 1.0, I.f32))


@intent.kernel
def stepped_loop(step: I.i32, y: I.InOut[I.f32, ("N",)]):
    for i in range(0, y.shape[0], I.cast(step, I.index)):  # here
        y[i] = 1.0


@pytest.mark.parametrize("kernel", [stepped, stepped_loop], ids=["domain", "range"])
def test_a_step_that_is_not_positive(kernel):
    y = np.zeros(7, np.float32)
    agree(kernel, (3, y), [1, 0, 0, 1, 0, 0, 1], *((f"domain step: expected at least 1, got {step}", (step, y)) for step in (0, -2)))


@intent.kernel
def cut(x: I.In[I.f32, ("N",)], a: I.index, b: I.index, y: I.InOut[I.f32, (1,)]):
    part = I.domain(1, 5)[a:b]  # here
    y[0] = I.reduce.sum(x[part], axis=0)


def test_a_subregion_outside_its_source():
    """The view has room for what the source does not have."""
    x, y = np.arange(9, dtype=np.float32), np.zeros(1, np.float32)
    agree(cut, (x, 2, 4, y), [5],
          ("subregion begin: expected a value in [1, 6), got 0", (x, 0, 4, y)),
          ("subregion begin: expected a value in [1, 6), got 6 or subregion end: expected a value in [6, 6), got 7", (x, 6, 7, y)),
          ("subregion end: expected a value in [2, 6), got 7", (x, 2, 7, y)),
          ("subregion end: expected a value in [4, 6), got 3", (x, 4, 3, y)))
    agree(cut, (x, 5, 5, y), [0])


@intent.kernel
def summed_in_pieces(x: I.In[I.f32, ("M", "N")], size: I.index, pieces: I.index, y: I.InOut[I.f32, ("M",)]):
    columns = I.domain(x.shape[1])
    total, most = I.zeros((x.shape[0],), I.f32), I.zeros((x.shape[0],), I.f32)
    for t in range(pieces):
        part = x[:, columns[t * size : t * size + size]]  # here
        total = total + I.reduce.sum(part, axis=1)
        most = I.maximum(most, I.reduce.max(part, axis=1))
    y[:] = total + most


@intent.kernel
def summed_while(x: I.In[I.f32, ("M", "N")], size: I.index, until: I.index, y: I.InOut[I.f32, ("M",)]):
    columns = I.domain(x.shape[1])
    total = I.zeros((x.shape[0],), I.f32)
    start = I.cast(0, I.index)
    while start < until:
        if start > 0:
            total = total + I.reduce.sum(x[:, columns[start : start + size]], axis=1)  # here
        start += size
    y[:] = total


def test_a_subregion_in_a_loop_that_only_computes():
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    y = np.zeros(2, np.float32)
    agree(summed_in_pieces, (x, 2, 3, y), x.sum(1) + x.max(1), ("subregion end: expected a value in [4, 7), got 8 or access outside 'x'", (x, 4, 2, y)))
    agree(summed_while, (x, 2, 6, y), x[:, 2:].sum(1), ("subregion end: expected a value in [4, 7), got 8 or access outside 'x'", (x, 4, 8, y)))


@intent.fn
def gcd(a, b):
    while b != 0:
        a, b = b, a % b
    return a


@intent.kernel
def prefixes(x: I.In[I.f32, ("N",)], k: I.In[I.i64, ("T", "M")], y: I.InOut[I.f32, (1,)]):
    whole, total = I.domain(x.shape[0]), I.cast(0.0, I.f32)
    for t in range(k.shape[0]):
        length = I.reduce(k[t, :], axis=0, identity=0, combine=gcd)
        total = total + I.reduce.sum(x[whole[0:length]], axis=0)  # here
    y[0] = total


def test_what_a_requirement_needs_is_computed_for_it():
    x, y = np.arange(7, dtype=np.float32), np.zeros(1, np.float32)
    k = np.array([[6, 9], [4, 6], [7, 7]])
    agree(prefixes, (x, k, y), [3 + 1 + 21], ("subregion end: expected a value in [0, 8), got 8 or access outside", (x, k * [[1], [4], [1]], y)))


@intent.kernel
def group_sums(x: I.In[I.f32, ("L",)], offsets: I.In[I.i32, ("G1",)], y: I.InOut[I.f32, ("G",)]):
    groups = I.ragged(I.domain(y.shape[0]), I.domain(x.shape[0]), offsets)
    for g in I.parallel(I.domain(y.shape[0])):
        y[g] = I.reduce.sum(x[groups[g]], axis=0)  # here


@intent.kernel
def mapped_sums(x: I.In[I.f32, ("K",)], offsets: I.In[I.i32, ("G1",)], table: I.In[I.i32, ("L",)], y: I.InOut[I.f32, ("G",)]):
    groups = I.ragged(I.domain(y.shape[0]), I.domain(x.shape[0]), offsets, table)
    for g in I.parallel(I.domain(y.shape[0])):
        y[g] = I.reduce.sum(x[I.members(groups[g])], axis=0)  # here


def test_offsets_that_fall_or_lie_outside():
    x, y = np.arange(6, dtype=np.float32), np.zeros(3, np.float32)
    illegal = ((i32(0, 4, 3, 6), "subregion end: expected a value in [4, 7), got 3"),
               (i32(0, 2, 2, 7), "subregion end: expected a value in [2, 7), got 7 or access outside"))
    agree(group_sums, (x, i32(0, 2, 2, 6), y), [1, 0, 14], *((message, (x, offsets, y)) for offsets, message in illegal))
    table = i32(5, 4, 3, 2, 1, 0)
    agree(mapped_sums, (x, i32(0, 2, 2, 6), table, y), [9, 0, 6], *((message, (x, offsets, table, y)) for offsets, message in illegal))


@intent.kernel
def drawn(counter: I.In[I.i32, ("N",)], seed: I.u64, y: I.InOut[I.u32, ("N",)]):
    y[:] = I.random.bits(seed, counter[:])  # here


def test_a_negative_counter():
    y = np.zeros(3, np.uint32)
    agree(drawn, (i32(0, 5, 1), 7, y), _bits(7, (0, 5, 1)),
          ("random counter: expected at least 0, got -4", (i32(0, -4, 1), 7, y)))


def _bits(seed, counters):
    """Philox4x32-10 with Python's integers."""
    found = []
    for counter in counters:
        block, mask = counter // 4, 2**32 - 1
        c, k = [block & mask, block >> 32, 0, 0], [seed & mask, seed >> 32]
        for _ in range(10):
            (h0, l0), (h1, l1) = divmod(0xD2511F53 * c[0], 2**32), divmod(0xCD9E8D57 * c[2], 2**32)
            c = [h1 ^ c[1] ^ k[0], l1, h0 ^ c[3] ^ k[1], l0]
            k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
        found.append(c[counter % 4])
    return np.array(found, np.uint32)


@intent.kernel
def promised(i: I.In[I.i32, ("N",)], x: I.In[I.f32, ("K",)], y: I.InOut[I.f32, ("N",)]):
    at = i[:]
    I.assume_in_bounds(at, x, axis=0)  # here
    y[:] = I.gather(x, index=(at,), valid=at < 3)


def test_a_broken_promise():
    x, y = np.arange(5, dtype=np.float32), np.zeros(3, np.float32)
    agree(promised, (i32(4, 2, 1), x, y), [0, 2, 1],
          ("I.assume_in_bounds: index: expected a value in [0, 5), got 5", (i32(1, 5, 0), x, y)))


@intent.kernel
def sparse(a: I.In[I.f32, ("M", 2)], first: I.In[I.u8, ("M", 1)], second: I.In[I.u8, ("M", 1)], b: I.In[I.f32, (4, "N")],
           y: I.InOut[I.f32, ("M", "N")]):
    metadata, format = I.record(first=first[:, :], second=second[:, :]), I.sparse.two_of_four(1, 4)
    y[:, :] = I.sparse_matmul(a[:, :], metadata, b[:, :], format=format, acc_dtype=I.f32)  # here


def test_metadata_of_sparse_operands():
    a, b, y = f32(1, 2, 3, 4).reshape(2, 2), np.arange(8, dtype=np.float32).reshape(4, 2), np.zeros((2, 2), np.float32)
    u8 = lambda *values: np.array(values, np.uint8).reshape(2, 1)
    agree(sparse, (a, u8(0, 1), u8(2, 3), b, y), [b[0] + 2 * b[2], 3 * b[1] + 4 * b[3]],
          ("metadata second: expected a value in [0, 4), got 4", (a, u8(0, 1), u8(2, 4), b, y)),
          ("metadata second - first: expected a value in [1, 4), got 0", (a, u8(0, 3), u8(2, 3), b, y)))


@intent.kernel
def of_one_length(x: I.In[I.f32, ("N",)], a: I.In[I.index, (1,)], w: I.In[I.f32, (3,)], y: I.InOut[I.f32, (1,)]):
    part = x[I.domain(x.shape[0])[a[0] : x.shape[0]]]
    y[0] = I.reduce.sum(part * w[:], axis=0)  # here


def test_lengths_of_data_that_are_not_equal():
    x, w, y = np.arange(6, dtype=np.float32), f32(1, 1, 2), np.zeros(1, np.float32)
    agree(of_one_length, (x, i64(3), w, y), [17], ("expected 4, got 3 or expected 3, got 4", (x, i64(2), w, y)))


@intent.kernel
def of_that_length(n: I.i32, y: I.InOut[I.f32, (1,)]):
    y[0] = I.reduce.sum(I.full((I.cast(n, I.index) - 2,), 2.0, I.f32), axis=0)  # here


def test_an_extent_that_is_negative():
    y = np.zeros(1, np.float32)
    agree(of_that_length, (5, y), [6], ("shape: extent: expected at least 0, got -1", (1, y)))


@intent.kernel
def where_it_stands(x: I.In[I.f32, ("N",)], a: I.In[I.index, ("M",)], y: I.InOut[I.f32, ("M",)]):
    """Under an `if`, in an `I.parallel`, and behind a lane that leaves its loop early."""
    whole = I.domain(x.shape[0])
    for p in I.parallel(I.domain(a.shape[0])):
        n, total = a[p], I.cast(0.0, I.f32)
        while n >= 0:
            if n > 0:
                total = total + I.reduce.sum(x[whole[n - 1 : n + 1]], axis=0)  # here
            n -= 2
        y[p] = total


def test_only_what_the_program_reaches_is_required():
    x, y = np.arange(7, dtype=np.float32), np.zeros(3, np.float32)
    agree(where_it_stands, (x, i64(-3, 0, 5), y), [0, 0, 4 + 5 + 2 + 3 + 0 + 1],
          ("subregion end: expected 7, got 9 or subregion begin: expected a value in [0, 8), got", (x, i64(0, 1, 8), y)))
