"""What a program reads is what stands there at that statement: snapshots, reductions between writes, elements of values at other places.

Integers, against the reference; checked runs shuffle instances and the lanes between fences.
"""
import numpy as np
import pytest

import intent
import intent.language as I
from intent import native
from programs import collection

pytestmark = pytest.mark.skipif(native.find_library("libintent-host.so") is None, reason="the libraries are not built")

KERNELS, case = collection()


# -- a tensor is what was read, whatever is written after --------------------------------------------------------------------------------------

@case
def before_a_loop(x: I.In[I.i64, ("N",)], y: I.InOut[I.i64, ("N",)]):
    old = y[:]
    for v in range(y.shape[0]):
        y[v] = old[I.maximum(v - 1, 0)] + x[v]


@case
def before_parallel_points(x: I.In[I.i64, ("N",)], y: I.InOut[I.i64, ("N",)]):
    old = y[:]
    for v in I.parallel(I.domain(y.shape[0])):
        s = I.cast(0, I.i64)
        for u in range(v):
            s += old[u]
        y[v] = s + x[v]


@case
def in_a_loop(x: I.In[I.i64, ("N",)], y: I.InOut[I.i64, ("N",)]):
    N, = y.shape
    b = I.buffer((N,), I.i64, init=y[:])
    for t in range(3):
        old = b[:]
        for v in range(N):
            b[N - 1 - v] = old[v] + x[v]
    y[:] = b[:]


@case
def under_a_condition(x: I.In[I.i64, ("N",)], y: I.InOut[I.i64, ("N",)]):
    N, = y.shape
    if x[0] > 1:
        old = y[:]
        for v in range(N):
            y[N - 1 - v] = old[v]


@case
def before_a_whole_write(x: I.In[I.i64, ("N",)], y: I.InOut[I.i64, ("N",)]):
    N, = y.shape
    b = I.buffer((N,), I.i64, init=y[:])
    old = b[:]
    b[:] = x[:]
    for v in range(N):
        b[v] = b[v] + old[N - 1 - v]
    y[:] = b[:]


@case
def one_element(x: I.In[I.i64, ("N",)], y: I.InOut[I.i64, ("N",)]):
    N, = x.shape
    b = I.buffer((N,), I.i64, init=x[:])
    first = b[0]
    b[:] = b[:] + y[:]
    y[:] = b[:] * 2
    for v in range(N - 1):
        b[v] = b[v + 1]
    y[N - 1] = first + b[0]


@case
def product_in_place(x: I.In[I.i64, ("N",)], y: I.InOut[I.i64, ("N",)]):
    i = I.indices(I.domain(y.shape[0]))
    y[:] = I.reduce.sum(I.cast((i[:, None] * 3 + i[None, :]) % 5, I.i64) * y[:][None, :], axis=1)  # each element needs all the old ones


@case
def rows_then_columns(x: I.In[I.i64, ("N",)], y: I.InOut[I.i64, ("N",)]):
    N, = y.shape
    b = I.buffer((N, N), I.i64, init=x[:][:, None] + y[:][None, :])
    for p in range(N - 1):
        if b[p, p] > 3:
            b[p, :] = b[p + 1, :] * 2
            b[:, p] = b[:, p + 1] + 1
    y[:] = I.reduce.sum(b[:, :], axis=0) & 1023


@case
def eliminate(x: I.In[I.i64, ("N",)], y: I.InOut[I.i64, ("N",)]):
    N, = y.shape
    d = I.domain(N)
    a = I.buffer((N, N), I.i64, init=x[:][:, None] * 2 + y[:][None, :])
    for k in range(N):
        f = a[d[k + 1:N], k] // 3
        a[d[k + 1:N], k] = f
        a[d[k + 1:N], d[k + 1:N]] = (a[d[k + 1:N], d[k + 1:N]] - f[:, None] * a[k, d[k + 1:N]][None, :]) & 255
    y[:] = I.reduce.sum(a[:, :], axis=1)


# -- walks of one axis on both sides of a write -------------------------------------------------------------------------------------------------

@case
def sum_between_writes(x: I.In[I.i64, ("N",)], y: I.InOut[I.i64, ("N",)]):
    N, = y.shape
    y[0] = I.reduce.max(y[:], axis=0)
    s = I.reduce.sum(y[:], axis=0)
    y[N - 1] = s
    y[:] = y[:] + I.reduce.min(y[:], axis=0)


@case
def change_of_a_step(x: I.In[I.i64, ("N",)], y: I.InOut[I.i64, ("N",)]):
    N, = y.shape
    lost = I.reduce.sum(x[:], axis=0)
    for i in I.parallel(I.domain(N)):
        s = lost
        for j in range(i):
            s += x[j]
        y[i] = s
    y[0] = I.reduce.sum(y[:] - x[:], axis=0)


@case
def scan_then_sum(x: I.In[I.i64, ("N",)], y: I.InOut[I.i64, ("N",)]):
    t = I.cumsum(y[:], axis=0)
    y[:] = t + x[:]
    y[0] = I.reduce.sum(y[:], axis=0)


@case
def written_and_reduced(x: I.In[I.i64, ("N",)], y: I.InOut[I.i64, ("N",)]):
    h = y[:] + x[:]
    y[:] = h
    y[:] = h * I.reduce.sum(h, axis=0)


# -- elements of values at places of their own ---------------------------------------------------------------------------------------------------

@case
def scan_one_back(x: I.In[I.i64, ("N",)], y: I.InOut[I.i64, ("N",)]):
    t = I.cumsum(x[:], axis=0)
    for v in I.parallel(I.domain(y.shape[0])):
        y[v] = t[I.maximum(v - 1, 0)] + x[v] - t[v]


@case
def scan_where_data_says(x: I.In[I.i64, ("N",)], y: I.InOut[I.i64, ("N",)]):
    N, = y.shape
    t = I.cumsum(y[:], axis=0)
    y[:] = t
    for v in I.parallel(I.domain(N)):
        y[v] = t[I.cast(x[v], I.index) % N]


@case
def counts_where_data_says(x: I.In[I.i64, ("N",)], y: I.InOut[I.i64, ("N",)]):
    h = I.histogram(x[:] % 4, 4)
    for v in range(y.shape[0]):
        y[v] = I.cast(h[y[v] % 4], I.i64)


@case
def carried_and_shifted(x: I.In[I.i64, ("N",)], y: I.InOut[I.i64, ("N",)]):
    d = y[:]
    for t in range(3):
        b = I.buffer((y.shape[0],), I.i64)
        for v in range(y.shape[0]):
            b[v] = d[I.maximum(v - 1, 0)] + x[v]
        d = b[:]
    y[:] = d


@case
def carried_and_read_back(x: I.In[I.i64, ("N",)], y: I.InOut[I.i64, ("N",)]):
    d = y[:]
    for t in range(3):
        for v in I.parallel(I.domain(y.shape[0])):
            m = I.cast(0, I.i64)
            for u in range(v):
                m += d[u]
            y[v] = (m + x[v]) & 255
        d = y[:]


@case
def carried_beside_a_number(x: I.In[I.i64, ("N",)], y: I.InOut[I.i64, ("N",)]):
    d, e, n = y[:], x[:], 0
    while n < 3:
        b = I.buffer((y.shape[0],), I.i64)
        for v in I.parallel(I.domain(y.shape[0])):
            b[v] = I.reduce.sum(d[I.domain(y.shape[0])[0:v]], axis=0) + e[v]
        d, e, n = b[:] & 255, d, n + 1
    y[:] = d + e


@case
def twice_a_product_in_place(x: I.In[I.i64, ("N",)], y: I.InOut[I.i64, ("N",)]):
    i = I.indices(I.domain(y.shape[0]))
    a = I.cast((i[:, None] * 3 + i[None, :]) % 5, I.f64)
    for t in range(2):
        v = I.vecmat(I.matvec(a, I.cast(y[:], I.f64), acc_dtype=I.f64), a, acc_dtype=I.f64)  # the inner one needs all the old elements, too
        y[:] = I.cast(v, I.i64) & 1023


@case
def taps_in_place(x: I.In[I.i64, ("N",)], y: I.InOut[I.i64, ("N",)]):
    r = I.indices(I.domain(y.shape[0]))
    a = x[:]
    for i in range(3):
        at = r + i - 1
        a = a + I.gather(y, index=at, valid=(at >= 0) & (at < y.shape[0]), fill=0)
    y[:] = a


@case
def carried_mirrored_in_place(x: I.In[I.i64, ("N",)], y: I.InOut[I.i64, ("N",)]):
    i = y.shape[0] - 1 - I.indices(I.domain(y.shape[0]))
    a = x[:]
    for t in range(3):
        a = a[i] + y[i]
    y[:] = a


@case
def carried_mirrored(x: I.In[I.i64, ("N",)], y: I.InOut[I.i64, ("N",)]):
    i = y.shape[0] - 1 - I.indices(I.domain(y.shape[0]))
    a = y[:]
    for t in range(3):
        a = a[i] * 2 + y[:]
    y[:] = a + x[i]


@intent.fn
def mulmod(a, b, m):
    return (a * b) % m


@case
def combined_modulo(x: I.In[I.i64, ("N",)], y: I.InOut[I.i64, ("N",)]):
    for v in I.parallel(I.domain(y.shape[0])):
        y[v] = I.reduce(I.cast(I.indices(I.domain(1, 9)), I.i64), axis=0, identity=1, combine=mulmod, combine_operands=(x[v] + 7,))


# -- iterations whose number only the data says ------------------------------------------------------------------------------------------------

@case
def butterflies(x: I.In[I.i64, ("N",)], y: I.InOut[I.i64, ("N",)]):
    N = y.shape[0]
    y[:] = y[:] + x[:]
    h = N // 2
    while h >= 1:
        for b in I.parallel(I.domain(N // (2 * h))):
            first = I.domain(N)[b * 2 * h:b * 2 * h + h]
            second = I.indices(first) + h
            u, v = y[first], y[second]
            y[first] = u + v
            y[second] = u - v
        h = h // 2


@case
def rotated_parts(x: I.In[I.i64, ("N",)], y: I.InOut[I.i64, ("N",)]):
    N = y.shape[0]
    for t in range(1, 4):
        for b in I.parallel(I.domain(N // (3 * t))):
            part = I.domain(N)[b * 3 * t:b * 3 * t + 3 * t]
            old = y[part]
            at = I.indices(part) - b * 3 * t
            for k in range(2):
                y[b * 3 * t + (at + t) % (3 * t)] = old + I.cast(k, I.i64)
    y[0] = y[0] + x[0]


@case
def private_to_what_data_says(x: I.In[I.i64, ("N",)], y: I.InOut[I.i64, ("N",)]):
    N = y.shape[0]
    n = I.cast(x[0], I.index) % N + 1
    for b in I.parallel(I.domain(n)):
        w = I.buffer((N,), I.i64, init=x[:])
        w[N - 1 - I.indices(I.domain(N))] = w[:] + I.cast(b, I.i64)
        y[b] = w[0] + w[N - 1]


@case
def whole_in_each_chunk(x: I.In[I.i64, ("N",)], y: I.InOut[I.i64, ("N",)]):
    N = y.shape[0]
    w = I.buffer((N,), I.i64, init=x[:])
    y[:] += x[:]
    for v in I.parallel(I.domain(N)):
        w[v] = I.reduce.min(y[:] * (x[v] - 4), axis=0)
    y[0] = I.reduce.sum(w[:], axis=0)


# -- what loops leave --------------------------------------------------------------------------------------------------------------------------

@case
def reversed_behind_an_inner_loop(x: I.In[I.i64, ("N",)], y: I.InOut[I.i64, ("N",)]):
    N = y.shape[0]
    v = y[:]
    for t in range(3):
        s = I.cast(0, I.i64)
        while s < x[0]:
            s += 1
            v = v + x[:] * s
        v = v[N - 1 - I.indices(I.domain(N))]
    y[:] = v


@case
def results_of_one_loop(x: I.In[I.i64, ("N",)], y: I.InOut[I.i64, ("N",)]):
    N = y.shape[0]
    a, b, c = I.cast(0, I.i64), I.cast(1, I.i64), I.cast(2, I.i64)
    for i in range(N):
        a, b, c = b // 2 + x[i], c // 4 + a, a - b // 8
    y[0] = a
    y[1 % N] = b
    y[2 % N] = c


def arguments(n):
    rng = np.random.default_rng(n)
    return [rng.integers(0, 9, n), rng.integers(0, 9, n)]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_values(kernel):
    for n in (1, 2, 5, 70, 300):
        x, y = arguments(n)
        wanted = y.copy()
        intent.interpret(kernel)(x, wanted)
        for target, check in (("host", False), ("host{warp_size=32, serial_elements=1000000}", False), ("host", True)):
            if check and n > 70:
                continue
            actual = y.copy()
            intent.compile(kernel, target, options=intent.CompileOptions(check=check))(x, actual)
            np.testing.assert_array_equal(actual, wanted)


@intent.kernel
def power_iteration(x: I.InOut[I.f64, ("N",)]):
    d = x[:]
    for t in range(3):
        d = d / I.sqrt(I.reduce.sum(d * d, axis=0)) + 1.0
    x[:] = d


def test_a_carry_of_any_length():
    """The host holds what a loop carries whole, however long it is."""
    for n in (1, 40000, 300001):
        x = np.random.default_rng(1).standard_normal(n)
        wanted = x.copy()
        for _ in range(3):
            wanted = wanted / np.sqrt((wanted * wanted).sum()) + 1.0
        intent.compile(power_iteration)(x)
        np.testing.assert_allclose(x, wanted, rtol=1e-9)


@intent.kernel
def of_a_length_in_memory(m: I.In[I.i32, (1,)], x: I.InOut[I.f32, ("N",)]):
    N, n = x.shape[0], I.cast(m[0], I.index)
    old = x[I.indices(I.domain(n)) % N]
    for i in range(n):
        x[i % N] = old[n - 1 - i]


def test_no_buffer_can_keep():
    with pytest.raises(intent.TargetError, match="what this reads is replaced before it can be used") as error:
        intent.compile(of_a_length_in_memory)
    assert error.value.category == "shared_gpu" and error.value.line


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.function.__name__)
def test_triton_text(kernel):
    assert "@triton.jit" in intent.generate(kernel, "triton:sm_90").source


def test_a_loop_runs_once_for_all_that_uses_its_results():
    assert intent.generate(results_of_one_loop, "triton:sm_90").source.count("for i in range(N)") == 1


def test_triton_compiles(tmp_path):
    """A name that was a loop's variable is no later loop's tensor."""
    pytest.importorskip("triton")
    from intent.providers.triton import compile_offline

    for kernel in (eliminate, rows_then_columns, carried_and_shifted):
        path = tmp_path / f"{kernel.function.__name__}.py"
        path.write_text(intent.generate(kernel, "triton:sm_90").source)
        assert compile_offline(path, "sm_90", [(70,), (70,)], 0).asm["ptx"]


# -- one array for two parameters ----------------------------------------------------------------------------------------------------------------

@intent.kernel
def read_again(x: I.In[I.i64, ("N",)], y: I.InOut[I.i64, ("N",)]):
    y[:] = x[:] + 10
    y[:] = y[:] + x[:]


@intent.kernel
def replaced_store(x: I.In[I.i64, ("N",)], y: I.InOut[I.i64, ("N",)]):
    for i in I.parallel(I.domain(x.shape[0])):
        y[i] = 1
        y[i] = x[i] + 1


@intent.kernel
def another_reader(x: I.In[I.i64, ("N",)], y: I.InOut[I.i64, ("N",)], z: I.Out[I.i64, ("N",)]):
    y[:] = 1
    z[:] = x[:]


@pytest.mark.parametrize("kernel", [read_again, replaced_store, another_reader], ids=lambda kernel: kernel.function.__name__)
def test_one_array_for_two_views(kernel):
    """What one view's write does to what the other's later read sees is not left to chance."""
    x = np.arange(4)
    with pytest.raises(intent.CallError, match="overlap in memory"):
        intent.compile(kernel)(x, x, *([np.zeros(4, np.int64)] if kernel is another_reader else []))


@intent.kernel
def left_by_a_reduction(x: I.In[I.i64, ("N",)], d: I.Out[I.i64, ("N",)]):
    N, = x.shape
    w = I.buffer((N,), I.i64, init=x[:])
    d[:] = 5
    for v in I.parallel(I.domain(N)):
        for i in range(v):
            if I.reduce.sum(w[:], axis=0) > 74:
                break
            d[v] = 1


@intent.kernel
def limits_in_order(x: I.In[I.i64, ("N",)], r: I.InOut[I.i64, ("N",)]):
    b = r[:] + 1
    I.atomic.min(r, (0,), 1)
    I.atomic.add(r, (0,), x[0])
    I.atomic.max(r, (0,), 3)
    r[:] = r[:] + b


@intent.kernel
def rows_elsewhere(x: I.In[I.i64, ("N",)], r: I.InOut[I.i64, ("N",)]):
    N, = x.shape
    w = I.buffer((N, 2), I.i64, init=x[:][:, None] + I.cast(I.indices(I.domain(2)), I.i64))
    w[N - 1 - I.indices(I.domain(N)), :] = r[:][:, None] * I.full((N, 2), 3, I.i64)
    r[0] = I.reduce.min(w[:, :], axis=(0, 1))


@intent.kernel
def stores_around_an_atomic(x: I.In[I.i64, ("N",)], r: I.InOut[I.i64, ("N",)]):
    N, = x.shape
    w = I.buffer((N,), I.i64, init=x[:])
    s = I.reduce.sum(x[:], axis=0)
    first, all_ = w[0], w[:]
    w[:] = w[:] + s
    I.atomic.max(r, (I.cast(first, I.index) % N,), 7)
    r[:] = r[:] + all_


@pytest.mark.parametrize("kernel", [left_by_a_reduction, limits_in_order, rows_elsewhere, stores_around_an_atomic], ids=lambda kernel: kernel.function.__name__)
def test_checked_too(kernel):
    for n in (1, 5, 70):
        x, y = arguments(n)
        wanted = y.copy()
        intent.interpret(kernel)(x, wanted)
        for check in (False, True):
            actual = y.copy()
            intent.compile(kernel, options=intent.CompileOptions(check=check))(x, actual)
            np.testing.assert_array_equal(actual, wanted)
