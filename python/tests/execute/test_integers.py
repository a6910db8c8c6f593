"""Integer arithmetic: wrapping, Python's division, shifts, bits, and what must not kill the process."""
import numpy as np
import pytest

import intent
import intent.language as I
from support import build

T = I.TypeVar("T", I.i8, I.i16, I.i32, I.i64, I.u8, I.u16, I.u32, I.u64)
NUMPY = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64}


@intent.kernel
def divide(a: I.In[T, ("N",)], b: I.In[T, ("N",)], q: I.Out[T, ("N",)], r: I.Out[T, ("N",)]):
    q[:] = a[:] // b[:]
    r[:] = a[:] % b[:]


@pytest.mark.parametrize("dtype", list(NUMPY))
def test_floor_division(dtype):
    info = np.iinfo(NUMPY[dtype])
    values = [v for v in (info.min, info.min + 1, -7, -2, -1, 0, 1, 2, 7, info.max - 1, info.max) if v >= info.min]
    a, b = (grid.reshape(-1).astype(NUMPY[dtype]) for grid in np.meshgrid(values, values))
    pairs = [(int(p), int(q)) for p, q in zip(a, b)]
    # Division by zero gives 0, and the one quotient that does not fit gives the least value.
    quotients = np.array([(0 if q == 0 else p // q if info.min <= p // q <= info.max else info.min) for p, q in pairs], dtype=object).astype(NUMPY[dtype])
    remainders = np.array([(0 if q == 0 else p % q) for p, q in pairs], dtype=object).astype(NUMPY[dtype])
    q, r = build(divide, types={"T": dtype}).run(a, b)
    np.testing.assert_array_equal(q, quotients)
    np.testing.assert_array_equal(r, remainders)


@intent.kernel
def bits(a: I.In[T, ("N",)], s: I.In[T, ("N",)], y: I.Out[T, ("N",)], left: I.Out[T, ("N",)], right: I.Out[T, ("N",)]):
    y[:] = ((a[:] & s[:]) | (a[:] ^ 5)) ^ ~s[:]
    left[:] = a[:] << s[:]
    right[:] = a[:] >> s[:]


@pytest.mark.parametrize("dtype", list(NUMPY))
def test_bits_and_shifts(rng, dtype):
    info = np.iinfo(NUMPY[dtype])
    a = rng.integers(info.min, info.max, 301, NUMPY[dtype], endpoint=True)
    s = rng.integers(0, info.bits, 301).astype(NUMPY[dtype])
    y, left, right = build(bits, types={"T": dtype}).run(a, s)
    np.testing.assert_array_equal(y, ((a & s) | (a ^ NUMPY[dtype](5))) ^ ~s)
    np.testing.assert_array_equal(left, a << s)
    np.testing.assert_array_equal(right, a >> s)


@intent.kernel
def signs(a: I.In[T, ("N",)], y: I.Out[T, ("N",)], z: I.Out[T, ("N",)]):
    y[:] = -a[:]
    z[:] = I.abs(a[:])


@pytest.mark.parametrize("dtype", list(NUMPY))
def test_negation_and_abs_wrap(dtype):
    info = np.iinfo(NUMPY[dtype])
    a = np.array([info.min, info.max, 0, 1], NUMPY[dtype])
    y, z = build(signs, types={"T": dtype}).run(a)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(y, (0 - a.astype(np.uint64)).astype(NUMPY[dtype]))
        np.testing.assert_array_equal(z, np.abs(a))


@intent.kernel
def converts(a: I.In[I.i64, ("N",)], x: I.Out[I.i8, ("N",)], y: I.Out[I.u16, ("N",)], z: I.Out[I.f32, ("N",)], b: I.Out[I.bool, ("N",)]):
    x[:] = I.cast(a[:], I.i8)
    y[:] = I.cast(a[:], I.u16)
    z[:] = I.cast(a[:], I.f32)
    b[:] = a[:] != 0


def test_conversions_are_modular():
    a = np.array([0, 1, -1, 127, 128, -129, 65535, 65536, 2**53 + 1, -2**63, 2**63 - 1, 16777217], np.int64)
    x, y, z, b = build(converts).run(a)
    np.testing.assert_array_equal(x, a.astype(np.int8))
    np.testing.assert_array_equal(y, a.astype(np.uint16))
    np.testing.assert_array_equal(z, a.astype(np.float32))
    np.testing.assert_array_equal(b, a != 0)
