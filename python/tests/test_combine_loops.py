"""Reductions, scans and scatter_reduce whose combine holds loops: members are combined one by one, each lane of the others for itself.

Values are those of Python's integers; bench/check_algorithms.py runs the same kernels on a GPU.
"""
import math
from functools import reduce

import numpy as np
import pytest

import intent
import intent.language as I
from intent import native
from programs import collection

pytestmark = pytest.mark.skipif(native.find_library("libintent-host.so") is None, reason="the libraries are not built")

KERNELS, case = collection()
PRIME = 2147483647


@intent.fn
def gcd(a, b):
    while b != 0:
        a, b = b, a % b
    return a


@intent.fn
def common_prefix(a, b):
    """Of 32-bit words: `size` leading bits that all have, -1 for none; the rest of `bits` is zero."""
    if a.size < 0:
        bits = b.bits
        size = b.size
    elif b.size < 0:
        bits = a.bits
        size = a.size
    else:
        size = I.minimum(a.size, b.size)
        for n in range(32):
            if size == 0 or (a.bits >> (32 - size)) == (b.bits >> (32 - size)):
                break
            size -= 1
        bits = a.bits >> (32 - size) << (32 - size)
    return I.record(bits=bits, size=size)


@intent.fn
def product(a, b, modulus):
    """By doubling: no intermediate value beyond twice the modulus."""
    total = I.cast(0, I.i64)
    for i in I.domain(40)[0:31]:
        if b >> I.cast(30 - i, I.i64) & 1 == 1:
            total = (2 * total + a) % modulus
        else:
            total = 2 * total % modulus
    return total


@case
def of_rows(x: I.In[I.i64, ("M", "N")], rows: I.Out[I.i64, ("M",)], columns: I.Out[I.i64, ("N",)], cells: I.Out[I.i64, ("M", "N")]):
    rows[:] = I.reduce(x[:, :], axis=1, identity=I.cast(0, I.i64), combine=gcd)
    columns[:] = I.reduce(x[:, :], axis=0, identity=I.cast(0, I.i64), combine=gcd)
    cells[:] = I.reduce(x[:, :], axis=(0, 1), identity=I.cast(0, I.i64), combine=gcd)


@case
def prefixes(x: I.In[I.i64, ("M", "N")], rows: I.Out[I.i64, ("M",)], columns: I.Out[I.i64, ("N",)], cells: I.Out[I.i64, ("M", "N")]):
    zero = I.cast(0, I.i64)
    cells[:] = I.scan(x[:, :], axis=1, identity=zero, combine=gcd)
    cells[:] = cells[:, :] * 3 + I.scan(x[:, :], axis=0, identity=zero, combine=gcd, inclusive=False, reverse=True)
    rows[:] = I.reduce.sum(I.scan(x[:, :], axis=1, identity=zero, combine=gcd, reverse=True), axis=1)
    columns[:] = 0


@case
def of_records(x: I.In[I.i64, ("M", "N")], rows: I.Out[I.i64, ("M",)], columns: I.Out[I.i64, ("N",)], cells: I.Out[I.i64, ("M", "N")]):
    words = I.record(bits=(x[:, :] << 27) & 0xFFFFFFFF, size=I.full(x.shape, 32, I.i64))
    none = I.record(bits=I.cast(0, I.i64), size=I.cast(-1, I.i64))
    rows[:] = I.reduce(words, axis=1, identity=none, combine=common_prefix).size
    columns[:] = I.reduce(words, axis=0, identity=none, combine=common_prefix).bits
    cells[:] = I.scan(words, axis=1, identity=none, combine=common_prefix).size


@case
def with_operands(x: I.In[I.i64, ("M", "N")], rows: I.Out[I.i64, ("M",)], columns: I.Out[I.i64, ("N",)], cells: I.Out[I.i64, ("M", "N")]):
    M, N = x.shape
    moduli = I.cast(211 + 2 * I.indices(I.domain(M)), I.i64)
    rows[:] = I.reduce(x[:, :], axis=1, identity=I.cast(1, I.i64), combine=product, combine_operands=(moduli,))
    columns[:] = I.reduce(x[:, :], axis=0, identity=I.cast(1, I.i64), combine=product, combine_operands=(I.cast(PRIME, I.i64),))
    cells[:] = I.scan(x[:, :], axis=1, identity=I.cast(1, I.i64), combine=product, combine_operands=(moduli,))


@intent.fn
def divisor(x, at):
    return I.record(divisor=I.reduce(x, axis=0, identity=I.cast(0, I.i64), combine=gcd), last=I.reduce.max(at, axis=0))


@intent.fn
def common_divisor(a, b):
    return I.record(divisor=gcd(a.divisor, b.divisor), last=I.maximum(a.last, b.last))


@case
def in_folds(x: I.In[I.i64, ("M", "N")], rows: I.Out[I.i64, ("M",)], columns: I.Out[I.i64, ("N",)], cells: I.Out[I.i64, ("M", "N")]):
    M, N = x.shape
    none = I.record(divisor=I.cast(0, I.i64), last=I.cast(-1, I.i64))
    for r in I.parallel(I.domain(M)):
        found = I.region_fold(source=(x[r, :], I.cast(I.indices(I.domain(N)), I.i64)), axis=0, summarize=divisor, combine=common_divisor,
                              identity=none)
        rows[r] = found.divisor + found.last
    columns[:] = 0
    cells[:] = x[:, :]


@intent.fn
def six_of_each(x):
    return I.reduce.sum(x * I.scan(I.full(x.shape, 6, I.i64), axis=0, identity=I.cast(0, I.i64), combine=gcd), axis=0)


@intent.fn
def plus(a, b):
    return a + b


@case
def of_equal_members(x: I.In[I.i64, ("M", "N")], rows: I.Out[I.i64, ("M",)], columns: I.Out[I.i64, ("N",)], cells: I.Out[I.i64, ("M", "N")]):
    for r in I.parallel(I.domain(x.shape[0])):
        rows[r] = I.region_fold(source=(x[r, :],), axis=0, summarize=six_of_each, combine=plus, identity=I.cast(0, I.i64))
    columns[:] = 0
    cells[:] = x[:, :]


@case
def of_carries(x: I.In[I.i64, ("M", "N")], rows: I.Out[I.i64, ("M",)], columns: I.Out[I.i64, ("N",)], cells: I.Out[I.i64, ("M", "N")]):
    N = x.shape[1]
    state = I.zeros((N,), I.i64)
    for r in range(x.shape[0]):
        state = state + x[r, :]
        rows[r] = I.reduce(state, axis=0, identity=I.cast(0, I.i64), combine=gcd)
        cells[r, :] = I.scan(state, axis=0, identity=I.cast(0, I.i64), combine=gcd)
    columns[:] = state


@case
def scattered(x: I.In[I.i64, ("M", "N")], rows: I.Out[I.i64, ("M",)], columns: I.Out[I.i64, ("N",)], cells: I.Out[I.i64, ("M", "N")]):
    M, N = x.shape
    columns[:] = 0
    I.scatter_reduce(columns, index=(x[:, :] % I.cast(N, I.i64),), value=x[:, :], combine=gcd)
    for r in I.parallel(I.domain(M)):
        rows[r] = 12
        if r % 2 == 0:
            I.scatter_reduce(rows, index=(r,), value=x[r, 0], combine=gcd)
    cells[:] = x[:, :]


def expected(name, x):
    M, N = x.shape
    numbers = [[int(v) for v in row] for row in x]
    columns = [list(column) for column in zip(*numbers)] if M else [[] for _ in range(N)]
    of = lambda values: reduce(math.gcd, values, 0)
    prefix = lambda values: [of(values[:i + 1]) for i in range(len(values))]

    def leading(values):
        words = [v << 27 & 0xFFFFFFFF for v in values]
        size = next(n for n in range(32, -1, -1) if len({w >> (32 - n) for w in words}) <= 1) if words else -1
        return size, (words[0] >> (32 - size) << (32 - size) if words else 0)

    if name == "of_rows":
        return [of(r) for r in numbers], [of(c) for c in columns], np.full((M, N), of([v for r in numbers for v in r]))
    if name == "prefixes":
        down = np.array([[of(c[i + 1:]) for i in range(M)] for c in columns]).reshape(N, M).T
        return ([sum(prefix(r[::-1])) for r in numbers], [0] * N, np.array([prefix(r) for r in numbers]).reshape(M, N) * 3 + down)
    if name == "of_records":
        return ([leading(r)[0] for r in numbers], [leading(c)[1] for c in columns], [[leading(r[:i + 1])[0] for i in range(N)] for r in numbers])
    if name == "with_operands":
        times = lambda values, modulus: reduce(lambda a, b: a * b % modulus, values, 1)
        return ([times(r, 211 + 2 * i) for i, r in enumerate(numbers)], [times(c, PRIME) for c in columns],
                [[times(r[:k + 1], 211 + 2 * i) for k in range(N)] for i, r in enumerate(numbers)])
    if name == "in_folds":
        return [of(r) + N - 1 for r in numbers], [0] * N, x
    if name == "of_equal_members":
        return 6 * x.sum(axis=1), [0] * N, x
    if name == "of_carries":
        sums = np.cumsum(x, axis=0)
        return [of([int(v) for v in r]) for r in sums], sums[-1] if M else [0] * N, [prefix([int(v) for v in r]) for r in sums]
    if name == "scattered":
        found = [0] * N
        for v in [v for r in numbers for v in r]:
            found[v % N] = math.gcd(found[v % N], v)
        return [math.gcd(12, r[0]) if i % 2 == 0 else 12 for i, r in enumerate(numbers)], found, x
    raise KeyError(name)


def arguments(M, N=6):
    x = np.random.default_rng(M * 100 + N).integers(0, 31, (M, N)) * 6
    return [x, np.full(M, -7), np.full(N, -7), np.full((M, N), -7)]


@pytest.mark.parametrize("target", ["host", "host{serial_elements=65536, warp_size=32}"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_values(kernel, target):
    name = kernel.function.__name__
    for M, N in ((1, 1), (3, 5), (7, 70), (70, 7)) + (((0, 3), (3, 0)) if name != "scattered" else ()):
        for check in (False, True):
            x, *actual = arguments(M, N)
            intent.compile(kernel, target, options=intent.CompileOptions(check=check))(x, *actual)
            for one, other in zip(actual, expected(name, x)):
                np.testing.assert_array_equal(one, np.asarray(other).reshape(one.shape), err_msg=f"{name} {M} {N} {check}")


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_reference(kernel):
    x, *actual = arguments(3, 5)
    intent.interpret(kernel)(x, *actual)
    for one, other in zip(actual, expected(kernel.function.__name__, x)):
        np.testing.assert_array_equal(one, np.asarray(other).reshape(one.shape))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_triton_text(kernel):
    assert "@triton.jit" in intent.generate(kernel, "triton:sm_90").source
