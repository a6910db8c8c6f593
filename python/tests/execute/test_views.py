"""Views of memory: negative, zero and odd strides, offsets, interleaved outputs, poison around what may be touched."""
import numpy as np
import pytest

import intent
import intent.language as I
from support import build


@intent.kernel
def combine(a: I.In[I.f32, ("M", "N")], b: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M", "N")]):
    y[:, :] = a[:, :] * 2.0 + b[:, :]


def layouts(m, n):
    """Writable arrays of one shape in many layouts, each inside a frame of NaN: (array, frame)."""
    def framed(rows, columns):
        frame = np.full((rows + 4, columns + 4), np.nan, np.float32)
        return frame[2:2 + rows, 2:2 + columns], frame

    for name in ("plain", "columns", "rows", "steps", "backwards", "transposed"):
        if name == "plain":
            inner, frame = framed(m, n)
        elif name == "columns":
            inner, frame = framed(m, 3 * n)
            inner = inner[:, ::3]
        elif name == "rows":
            inner, frame = framed(2 * m, n)
            inner = inner[::2]
        elif name == "steps":
            inner, frame = framed(2 * m, 2 * n)
            inner = inner[1::2, ::2]
        elif name == "backwards":
            inner, frame = framed(m, n)
            inner = inner[::-1, ::-1]
        else:
            inner, frame = framed(n, m)
            inner = inner.T
        yield name, inner, frame


@pytest.mark.parametrize("m, n", [(1, 1), (3, 5), (17, 67), (0, 4), (4, 0)])
def test_every_layout_in_and_out(rng, m, n):
    k = build(combine)
    b = rng.standard_normal((m, n)).astype(np.float32)
    for name, x, _ in layouts(m, n):
        x[...] = rng.standard_normal((m, n))
        for out_name, y, frame in layouts(m, n):
            before = np.isnan(frame).sum()
            k(x, b, y)
            np.testing.assert_array_equal(y, x * np.float32(2) + b, err_msg=f"{name} to {out_name}")
            assert np.isnan(frame).sum() == before - m * n  # nothing around the view was written


def test_zero_strides_and_read_only_inputs(rng):
    row = rng.standard_normal(33).astype(np.float32)
    row.flags.writeable = False
    a = np.broadcast_to(row, (5, 33))
    b = np.broadcast_to(np.float32(1.5), (5, 33))
    np.testing.assert_array_equal(build(combine).run(a, b), a * np.float32(2) + b)


def test_interleaved_in_and_out(rng):
    base = rng.standard_normal((8, 20)).astype(np.float32)
    want = base[:, ::2] * np.float32(2) + base[:, ::2]
    build(combine)(base[:, ::2], base[:, ::2], base[:, 1::2])
    np.testing.assert_array_equal(base[:, 1::2], want)


def test_partial_overlap_is_right_or_refused(rng):
    base = rng.standard_normal((9, 6)).astype(np.float32)
    before = base.copy()
    b = np.zeros((8, 6), np.float32)
    try:
        build(combine)(base[:-1], b, base[1:])
    except intent.CallError:
        np.testing.assert_array_equal(base, before)
    else:
        np.testing.assert_array_equal(base[1:], before[:-1] * 2)


def test_many_shapes_through_one_kernel(rng):
    k = build(combine)
    for m in range(0, 12):
        for n in (0, 1, 3, 8, 13, 100):
            a, b = rng.standard_normal((m, n)).astype(np.float32), rng.standard_normal((m, n)).astype(np.float32)
            np.testing.assert_array_equal(k.run(a, b), a * np.float32(2) + b)
