"""Author programs with values worked out in NumPy: the reference, the host, its checked code and Triton's text see each."""
import numpy as np
import pytest

import intent
import programs
from author_programs import (
    bitonic, blocks_buffer, cg, cholesky, ctc_alpha, fft_radix2,
    floyd_point, fmods, grouped_gather_gemm, grouped_window_attention, guarded_and, haar,
    huffman_sums, insertion_sort, lu, merge_sorted, odd_even_sort, passes_meet, passes_meet_tensor, qr_mgs,
    radix_pass, ragged_cum_norm, ragged_softmax, reverse_swap_loop, scalar_blocks, scanned_product, smith_waterman,
    viterbi, while_literal,
)
from intent import native

pytestmark = pytest.mark.skipif(native.find_library("libintent-host.so") is None, reason="the libraries are not built")

rng = np.random.default_rng(11)


def normal(*shape, dtype=np.float32):
    return rng.standard_normal(shape).astype(dtype)


def attention_values(q, k, v, slopes, scale, cap, window):
    at = np.arange(q.shape[1])
    repeat = len(q) // len(k)
    s = np.einsum("hid,hjd->hij", q.astype(float), np.repeat(k, repeat, 0)) * scale
    s = cap * np.tanh(s / cap) - slopes[:, None, None] * (at[:, None] - at)
    s = np.where((at <= at[:, None]) & (at > at[:, None] - window), s, -np.inf)
    m = s.max(-1, keepdims=True, initial=-np.inf)
    p = np.exp(s - m)
    mass = p.sum(-1, keepdims=True)
    return [p @ np.repeat(v, repeat, 0) / mass, (m + np.log(mass))[..., 0]]


def mixed_experts(x, w, offsets, members, gate, y):
    y = y.astype(float)
    for expert, (begin, end) in enumerate(zip(offsets, offsets[1:])):
        for at in range(begin, end):
            y[members[at]] += x[members[at]].astype(float) @ w[expert] * gate[at]
    return y


def guarded_values(x):
    n = len(x)
    return np.array([x[i - 1] if i > 0 and x[i - 1] > 0 else -1 if i + 1 >= n or x[i + 1] < 0 else 0 for i in range(n)])


def floyd_values(d):
    d = d.copy()
    for k in range(len(d)):
        d = np.minimum(d, d[:, k:k + 1] + d[k:k + 1])
    return d


def lu_values(a):
    a = a.copy()
    for k in range(len(a)):
        a[k + 1:, k] /= a[k, k]
        a[k + 1:, k + 1:] -= np.outer(a[k + 1:, k], a[k, k + 1:])
    return a


def viterbi_values(emitted, moves):
    v, back = emitted[0], []
    for row in emitted[1:]:
        both = v[:, None] + moves
        back.append(both.argmax(0))
        v = both.max(0) + row
    path = [v.argmax()]
    for b in back[::-1]:
        path.append(b[path[-1]])
    return [np.array(path[::-1], np.int32), v.max(keepdims=True)]


def local_alignment(a, b, gap):
    h = np.zeros((len(a) + 1, len(b) + 1), int)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            h[i + 1, j + 1] = max(0, h[i, j] + (3 if x == y else -2), h[i, j + 1] - gap, h[i + 1, j] - gap)
    return h.max()


def haar_values(x):
    x = x.astype(float)
    n = x.shape[1]
    while n > 1:
        t = x[:, :n].copy()
        x[:, :n // 2], x[:, n // 2:n] = (t[:, ::2] + t[:, 1::2]) / 2, (t[:, ::2] - t[:, 1::2]) / 2
        n //= 2
    return x


def partly_doubled(x, y, n, w):
    y, m = y.copy(), min(n // 3, w)
    y[:max(m, 0)] = 2 * x[:max(m, 0)]
    y[m:max(m, w % 5)] = -1
    return y


def alpha_values(lp, labels):
    with np.errstate(all="ignore"):
        a = np.where(np.arange(len(labels)) <= 1, lp[0, labels], -np.inf)
        for row in lp[1:]:
            skips = [s > 1 and labels[s] != 0 and labels[s] != labels[s - 2] for s in range(len(labels))]
            a = np.array([np.logaddexp.reduce([a[s]] + [a[s - 1]] * (s > 0) + [a[s - 2]] * int(skips[s])) for s in range(len(labels))]) + row[labels]
        return np.logaddexp(a[-1], a[-2]).reshape(1)


def by_rows(values, offsets, function):
    return np.concatenate([function(values[a:b].astype(float)) if b > a else values[a:b] for a, b in zip(offsets, offsets[1:])])


def huffman_values(leaves, size):
    heap = sorted(leaves)
    nodes = list(heap)
    while len(heap) > 1:
        nodes.append(heap[0] + heap[1])
        heap = sorted(heap[2:] + nodes[-1:])
    return nodes + [0] * (size - len(nodes))


def shifted_rows(x):
    y = np.zeros(x.shape[1])
    for t, row in enumerate(x):
        y[(np.arange(len(y)) + t) % len(y)] = row
    return y


def placed_rows(x, at):
    y = np.zeros(x.shape[1])
    for row, places in zip(x, at):
        y[places] = row
    return y


def cases():
    """`(kernel, constexprs, arguments, Out views then InOut views, tolerance)`: arguments as `run` takes them."""
    for heads, groups, n, d, e, window in ((4, 2, 37, 8, 5, 7), (2, 1, 1, 4, 4, 3), (2, 2, 0, 4, 4, 3)):
        given = [normal(heads, n, d), normal(groups, n, d), normal(groups, n, e), rng.uniform(0.1, 0.5, heads).astype(np.float32), 0.3, 5.0, window]
        yield grouped_window_attention, {}, given, attention_values(*given), 1e-5
    offsets, members = np.array([0, 4, 4, 18], np.int32), rng.integers(0, 9, 18).astype(np.int32)
    given = [normal(9, 6), normal(3, 6, 5), offsets, members, normal(18), normal(9, 5)]
    yield grouped_gather_gemm, {}, given, [mixed_experts(*given)], 1e-5
    x = normal(20)
    yield guarded_and, {}, [x], [guarded_values(x)], 0
    x = normal(3, 32)
    yield bitonic, {}, [x], [np.sort(x, 1)], 0
    for n in (1, 2, 9):
        x = rng.integers(-50, 50, (3, n)).astype(np.int32)
        yield odd_even_sort, {}, [x], [np.sort(x, 1)], 0
        yield insertion_sort, {}, [x.astype(np.float32)], [np.sort(x, 1)], 0
    for log in (0, 1, 5):
        re, im = normal(2, 2 ** log), normal(2, 2 ** log)
        f = np.fft.fft(re + 1j * im.astype(float))
        yield fft_radix2, {"LOG": log}, [re, im], [f.real, f.imag], 1e-5
    for n in (0, 1, 257):
        keys = rng.integers(0, 2 ** 32, n).astype(np.uint32)
        digit = (keys >> 8) & 15
        yield radix_pass, {}, [keys, 8], [keys[np.argsort(digit, kind="stable")], np.bincount(digit, minlength=16)], 0
    d = rng.integers(1, 50, (11, 11)).astype(np.int32)
    np.fill_diagonal(d, 0)
    yield floyd_point, {}, [d], [floyd_values(d)], 0
    for n in (1, 2, 9):
        a = normal(n, n, dtype=np.float64) + np.eye(n) * 5
        yield lu, {}, [a], [lu_values(a)], 1e-12
    m = normal(2, 7, 7)
    m = (m @ m.transpose(0, 2, 1) + np.eye(7) * 4).astype(np.float32)
    yield cholesky, {}, [m], [np.linalg.cholesky(m.astype(float))], 1e-5
    for t, s in ((1, 3), (12, 5)):
        given = [normal(t, s), normal(s, s)]
        yield viterbi, {}, given, viterbi_values(*given), 1e-6
    a, b = rng.integers(0, 4, (3, 8)).astype(np.uint8), rng.integers(0, 4, (3, 11)).astype(np.uint8)
    yield smith_waterman, {}, [a, b, 2], [np.array([local_alignment(*pair, 2) for pair in zip(a, b)])], 0
    for n in (0, 1, 2, 9, 100):
        x = normal(n)
        yield reverse_swap_loop, {}, [x], [x[::-1]], 0
    x = normal(2, 16)
    yield haar, {}, [x], [haar_values(x)], 1e-6
    x = rng.integers(-9, 9, 12).astype(np.int32)
    a, b, n = np.sort(rng.integers(0, 50, 9)).astype(np.int32), np.sort(rng.integers(0, 50, 40)).astype(np.int32), rng.integers(0, 50, 70).astype(np.int32)
    both = np.sort(np.concatenate([a, b]))
    yield merge_sorted, {}, [a, b, n, np.zeros((70, 49), np.int32)], [np.where(np.arange(49) < n[:, None], both, 0)], 0
    leaves = np.sort(rng.integers(1, 99, (5, 7)), axis=1)
    yield huffman_sums, {}, [leaves, np.empty((5, 14), np.int64)], [np.array([huffman_values(list(row), 14) for row in leaves])], 0
    yield while_literal, {}, [x], [np.cumsum(x)], 0
    for n in (0, 1, 16, 37):
        x = normal(n)
        blocks, pairs = (n + 7) // 8, n // 2
        sums = [np.pad(x.astype(float), (0, -n % 8)).reshape(blocks, 8).sum(1), x[:2 * pairs].astype(float).reshape(pairs, 2).sum(1)]
        yield blocks_buffer, {}, [x, np.empty(blocks, np.float32), np.empty(pairs, np.float32)], sums, 1e-5
    for n, w in ((30, 7), (9, 50), (0, 4), (-5, 3)):
        if min(n // 3, w) < 0:
            continue
        x, y = normal(60), normal(60)
        yield scalar_blocks, {}, [x, y, n, w], [partly_doubled(x, y, n, w)], 0
    a = normal(9, 5, dtype=np.float64)
    q, r = np.linalg.qr(a)
    signs = np.sign(np.diag(r))
    yield qr_mgs, {}, [a], [r * signs[:, None], q * signs], 1e-9
    a, b = normal(9, 9), normal(9)
    a = (a @ a.T + np.eye(9) * 3).astype(np.float32)
    yield cg, {}, [a, b, 1e-8], [np.linalg.solve(a.astype(float), b), np.array([1])], 1e-3
    lp, labels = normal(8, 4), np.array([0, 1, 0, 2, 0, 2, 0], np.int32)
    yield ctc_alpha, {}, [lp, labels], [alpha_values(lp, labels)], 1e-5
    offsets, x = np.array([0, 4, 4, 5, 23], np.int32), np.abs(normal(23))
    soft = by_rows(x, offsets, lambda v: np.exp(v - v.max()) / np.exp(v - v.max()).sum())
    yield ragged_softmax, {}, [x, offsets], [soft, by_rows(x, offsets, np.cumsum)], 1e-5
    yield ragged_cum_norm, {}, [x, offsets], [by_rows(x, offsets, lambda v: np.cumsum(v) / v.sum())], 1e-5
    for t, n in ((5, 70), (1, 3), (3, 1)):
        x = normal(t, n)
        at = np.stack([rng.permutation(n) for _ in range(t)]).astype(np.int32)
        yield passes_meet, {}, [x], [shifted_rows(x)], 0
        yield passes_meet_tensor, {}, [x, np.zeros(n, np.float32), at], [placed_rows(x, at)], 0
    a = np.array([7, -7, 7, -7, 0, -0.0, 1e10, 5.5, np.inf, 1, 1, np.nan, 6, -6, 1e-40], np.float32)
    b = np.array([2, 2, -2, -2, 3, 3, 0.1, np.inf, 2, -np.inf, 0, 1, 3, 3, 1], np.float32)
    with np.errstate(all="ignore"):
        yield fmods, {}, [a, b], [a // b, a % b], 0
    x, w = normal(33, 6), normal(6, 21)
    yield scanned_product, {}, [x, w], [np.cumsum(x.astype(float), 1) @ w], 1e-5


CASES = list(cases())
NAMES = [f"{kernel.function.__name__}-{i}" for i, (kernel, *_) in enumerate(CASES)]


def outcome(runner, metadata, arguments):
    """What Out views hold, then what InOut views do."""
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    result = runner.run(*copies)
    results = list(result) if isinstance(result, tuple) else [result] if result is not None else []
    given = iter(copies)
    whole = len(arguments) == len(metadata["params"])
    for parameter in metadata["params"]:
        if parameter.get("access") == "out" and not whole:
            continue
        argument = next(given)
        if parameter.get("access") == "inout":
            results.append(argument)
    return results


@pytest.mark.parametrize("kernel, constexprs, arguments, wanted, tolerance", CASES, ids=NAMES)
def test_values(kernel, constexprs, arguments, wanted, tolerance):
    compiled = intent.compile(kernel, constexprs=constexprs)
    checked = intent.compile(kernel, constexprs=constexprs, options=intent.CompileOptions(check=True))
    for runner in (intent.interpret(kernel, constexprs=constexprs), compiled, checked):
        for actual, expected in zip(outcome(runner, compiled.metadata, arguments), wanted, strict=True):
            scale = np.abs(np.asarray(expected, np.float64))[np.isfinite(expected)].max(initial=0.0)
            np.testing.assert_allclose(np.asarray(actual, np.float64), np.asarray(expected, np.float64), rtol=0, atol=tolerance * scale)
            if tolerance == 0 and actual.dtype.kind == "f":
                zero = np.asarray(expected) == 0
                assert np.array_equal(np.signbit(actual[zero]), np.signbit(np.asarray(expected, actual.dtype)[zero]))


@pytest.mark.parametrize("kernel, constexprs", [(k, c) for i, (k, c, *_) in enumerate(CASES) if k not in [p[0] for p in CASES[:i]]])
def test_triton_text(kernel, constexprs):
    assert "@triton.jit" in intent.generate(kernel, "triton:sm_90", constexprs=constexprs).source


@pytest.mark.parametrize("check", [False, True])
def test_a_long_chain(check):
    steps = 3000
    chain = programs.kernel('x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]', "t = x[:]\n" + "t = t * 0.5 + x[:]\n" * steps + "y[:] = t")
    x = normal(300)
    wanted = x
    for _ in range(steps):
        wanted = wanted * np.float32(0.5) + x
    np.testing.assert_allclose(intent.compile(chain, options=intent.CompileOptions(check=check)).run(x), wanted, rtol=1e-6)
