"""Structured operations in requests that no capture makes: every one ends in kernel IR or a diagnostic."""
import json
import random

import pytest
from compilation import INTERNAL, compile_request
from intent.capture import capture
from programs import kernel
from test_frontend_errors import mutate

PARAMETERS = ('x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M", "N")], n: I.i32, q: I.In[I.i32, ("N",)], a: I.In[I.u8, ("M", "G", 16)], s: I.In[I.u8, ("M", "G")], b: I.In[I.u8, ("G", 16, "N")], '
              't: I.In[I.u8, ("N", "G")], w: I.In[I.f32, ("G", 256)], l: I.In[I.u8, ("G", 144)], h: I.In[I.f32, ("M", 6)], r: I.In[I.f32, (12, "N")]')
BEFORE = """@intent.fn
def summary(v, at, k):
    return I.record(top=I.reduce.max(v, axis=0), sum=I.reduce.sum(v * k, axis=0))
@intent.fn
def merge(a, b):
    return I.record(top=I.maximum(a.top, b.top), sum=a.sum + b.sum)
@intent.fn
def act(t, s):
    return s + t.sum
@intent.fn
def emit(v, at, s, k):
    return (I.cumsum(v, axis=0) + s, at)
@intent.fn
def scaled(a, b, s):
    return a + b * s
"""
BODIES = ["""v = x[:, :]
best, at = I.arg_reduce.max(v, -1)
y[:, :] = I.cumsum(v, axis=1, reverse=True) + I.scan(v, 0, 0.0, scaled, combine_operands=(v[0, :],), inclusive=False)
y[0, 0] = I.reduce(v, (0, 1), 0.0, scaled, (2,)) + best[0]
""", """v = x[0, :]
i = I.indices(I.domain(x.shape[1]))
f = I.region_fold(source=(v, i), axis=0, summarize=summary, combine=merge, identity=I.record(top=-I.inf, sum=0), operands=(2.0,))
(o, p), last = I.region_scan((v, i), -1, summary, merge, I.record(top=-I.inf, sum=I.cast(0, I.f32)), x[1, 0], act, emit, (x[0, 0],))
y[0, :] = o + f.top + last + I.cast(p, I.f32)
""", """y[:, :] = I.scaled_matmul(a[:, :, :], s[:, :], b[:, :, :], t[:, :], lhs_format=I.e2m1, rhs_format=I.e2m1, group_size=32, acc_dtype=I.f32)
c = I.histogram(q[:], 5, valid=q[:] > n)
y[0, :] = I.random.uniform(n, q[:]) + I.cast(c[0], I.f32)
y[0, 1] = I.quantized_dot(l[:, :], I.quantize(w[:, :], format=I.quant.q8_k), lhs_format=I.quant.q4_k, rhs_format=I.quant.q8_k, acc_dtype=I.f32)[()]
y[:, :] = I.sparse_contract_2to4(h[:, :], I.record(first=I.zeros((x.shape[0], 3), I.i32), second=I.full((x.shape[0], 3), 1, I.i32)), r[:, :], I.f32)
"""]


@pytest.mark.parametrize("body", range(len(BODIES)))
@pytest.mark.parametrize("seed", range(15))
def test_mutated_requests_end_in_a_diagnostic(body, seed):
    rng = random.Random(seed)
    text = json.dumps(capture(kernel(PARAMETERS, BODIES[body], BEFORE)))
    for _ in range(10):
        mutated = json.loads(text)
        for _ in range(rng.randrange(1, 4)):
            mutate({k: v for k, v in mutated.items() if k != "files"}, rng)
        status, fields = compile_request(emit="kir", target=None, **mutated)
        assert status != INTERNAL and (status == 0) == (not fields["diagnostics"]), fields["diagnostics"]


@pytest.mark.parametrize("body", range(len(BODIES)))
def test_the_programs_that_are_mutated_compile(body):
    status, fields = compile_request(emit="kir", target=None, **capture(kernel(PARAMETERS, BODIES[body], BEFORE)))
    assert status == 0, fields["diagnostics"]
