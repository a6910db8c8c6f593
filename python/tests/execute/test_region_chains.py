"""Region scans whose sources are other scans, carries of loops or buffers, along the same axis and along the other one."""
import numpy as np
import pytest

import intent
import intent.language as I
from support import build


@intent.fn
def plus(a, b):
    return a + b


@intent.fn
def columns(v):
    return I.reduce.sum(v, axis=0)


@intent.fn
def below(v, state):
    return I.cumsum(v, axis=0) + state


@intent.fn
def rows(v):
    return I.reduce.sum(v, axis=1)


@intent.fn
def beside(v, state):
    return I.cumsum(v, axis=1) + state[:, None]


@intent.fn
def down(v):
    zeros = I.zeros((v.shape[1],), I.i64)
    return I.region_scan(source=(v,), axis=0, summarize=columns, combine=plus, identity=zeros, initial_state=zeros, apply=plus, emit=below)[0]


@intent.fn
def across(v):
    zeros = I.zeros((v.shape[0],), I.i64)
    return I.region_scan(source=(v,), axis=1, summarize=rows, combine=plus, identity=zeros, initial_state=zeros, apply=plus, emit=beside)[0]


@intent.fn
def outer(v, at):
    return I.contract(v, v, reduce=((0, 0),), acc_dtype=I.i64)


@intent.fn
def attended(v, at, state):
    scores = I.select(at[:, None] >= at[None, :], I.contract(v, v, reduce=((1, 1),), acc_dtype=I.i64), 0)
    return I.matmul(v, state, acc_dtype=I.i64) + I.matmul(scores, v, acc_dtype=I.i64)


@intent.fn
def linear_attention(v):
    M, N = v.shape
    zeros = I.zeros((N, N), I.i64)
    return I.region_scan(source=(v, I.indices(I.domain(M))), axis=0, summarize=outer, combine=plus, identity=zeros, initial_state=zeros, apply=plus, emit=attended)[0]


@intent.kernel
def both_ways(x: I.In[I.i64, ("M", "N")], y: I.Out[I.i64, ("M", "N")]):
    y[:, :] = across(down(x[:, :]))


@intent.kernel
def attention_of_a_scan(x: I.In[I.i64, ("M", "N")], y: I.Out[I.i64, ("M", "N")]):
    y[:, :] = linear_attention(across(x[:, :]))


@intent.kernel
def attention_of_a_buffer(x: I.In[I.i64, ("M", "N")], y: I.Out[I.i64, ("M", "N")]):
    M, N = x.shape
    b = I.buffer((M, N), I.i64)
    zero = I.cast(0, I.i64)
    for i in I.parallel(I.domain(M)):
        b[i, :] = I.region_scan(source=(x[i, :],), axis=0, summarize=columns, combine=plus, identity=zero, initial_state=zero, apply=plus, emit=below)[0]
    y[:, :] = linear_attention(b[:, :])


@intent.kernel
def in_a_while(x: I.In[I.i64, ("M", "N")], y: I.Out[I.i64, ("M", "N")]):
    v = x[:, :]
    while I.reduce.sum(v[:, 0], axis=0) < 1000:
        v = down(v) + 1
    y[:, :] = v


@intent.kernel
def mirrored_in_a_loop(x: I.In[I.i64, ("M", "N")], y: I.Out[I.i64, ("M", "N")]):
    v, total = x[:, :], I.cast(0, I.i64)
    for t in range(2):
        v = down(v[:, x.shape[1] - 1 - I.indices(I.domain(x.shape[1]))])
        total += I.reduce.sum(v, axis=(0, 1))
    y[:, :] = v + total


@intent.kernel
def returned_early(x: I.In[I.i64, ("M", "N")], y: I.Out[I.i64, ("M", "N")]):
    v = x[:, :]
    for t in range(4):
        v = down(v)
        if I.reduce.sum(v, axis=(0, 1)) > 60:
            y[:, :] = v
            return
    y[:, :] = v * 2


def attention_values(v):
    return np.tril(v @ v.T) @ v


def while_values(v):
    while v[:, 0].sum() < 1000:
        v = v.cumsum(0) + 1
    return v


def mirrored_values(v):
    total = 0
    for t in range(2):
        v = v[:, ::-1].cumsum(0)
        total += v.sum()
    return v + total


def early_values(v):
    for t in range(4):
        v = v.cumsum(0)
        if v.sum() > 60:
            return v
    return v * 2


@pytest.mark.parametrize("kernel, values", [
    (both_ways, lambda v: v.cumsum(0).cumsum(1)), (attention_of_a_scan, lambda v: attention_values(v.cumsum(1))),
    (attention_of_a_buffer, lambda v: attention_values(v.cumsum(1))), (in_a_while, while_values), (mirrored_in_a_loop, mirrored_values),
    (returned_early, early_values)], ids=lambda value: value.function.__name__ if hasattr(value, "function") else "")
@pytest.mark.parametrize("m, n", [(1, 1), (7, 5), (90, 33)])
def test_chains(rng, kernel, values, m, n):
    x = rng.integers(0, 4, (m, n))
    np.testing.assert_array_equal(build(kernel).run(x), values(x))
