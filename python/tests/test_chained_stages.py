"""Tensors that are read at neighbours, stage after stage: the work of a program grows with the stages, not with their product."""
import numpy as np
import pytest

import intent
import intent.language as I
import programs
from intent import native

pytestmark = pytest.mark.skipif(native.find_library("libintent-host.so") is None, reason="the libraries are not built")


@intent.fn
def advanced(v):
    n = v.shape[0]
    i = I.indices(I.domain(n))
    a, b, c = v[(i + n - 1) % n], v[(i + 1) % n], v[(i + 2) % n]
    f = (a * a + b * b + c * c) / (1.0 + a * b + b * c + v * v)
    return v + 0.1 * (f[(i + n - 1) % n] - f)


def stages(count):
    body = ["for m in I.parallel(I.domain(u.shape[0])):", "    v = u[m, :]", *["    v = advanced(v)"] * count, "    u[m, :] = v"]
    return programs.kernel('u: I.InOut[I.f64, ("M", "N")]', "\n".join(body), advanced=advanced)


def values(v, count):
    for _ in range(count):
        a, b, c = np.roll(v, 1, 1), np.roll(v, -1, 1), np.roll(v, -2, 1)
        f = (a * a + b * b + c * c) / (1.0 + a * b + b * c + v * v)
        v = v + 0.1 * (np.roll(f, 1, 1) - f)
    return v


@pytest.mark.parametrize("target", ["host", "host{serial_elements=65536, warp_size=32}"])
@pytest.mark.parametrize("count", [1, 3, 5])
def test_values(count, target):
    kernel = intent.compile(stages(count), target)
    for shape in ((1, 1), (3, 37), (2, 701)):
        u = np.random.default_rng(shape[1]).random(shape)
        wanted = values(u, count)
        kernel(u)
        np.testing.assert_allclose(u, wanted, rtol=1e-12)


def test_size():
    lines = [len(intent.compile(stages(count)).mlir.splitlines()) for count in (2, 4, 8)]
    assert lines[2] < 3 * lines[1] < 9 * lines[0]
    assert len(intent.generate(stages(5), "triton:sm_90").source.splitlines()) < 4000
