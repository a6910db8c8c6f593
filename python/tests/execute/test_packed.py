"""Packed formats: microscaled, sparse and block-quantised operands against decoders written from the format's definition."""
import ml_dtypes
import numpy as np
import pytest

import intent
import intent.language as I
from support import build, close

E2M1 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6])
NARROW = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}


# -- microscaled ------------------------------------------------------------------------------------------------------------------------

def scaled(fmt, carrier, size):
    count = size // (2 if fmt == "e2m1" else 1)
    token, dtype = getattr(I, fmt), getattr(I, carrier)

    @intent.kernel
    def k(a: I.In[dtype, ("M", "G", count)], sa: I.In[I.u8, ("M", "G")], b: I.In[dtype, ("G", count, "N")], sb: I.In[I.u8, ("N", "G")],
          y: I.Out[I.f32, ("M", "N")], S: I.Constexpr[int]):
        y[:, :] = I.scaled_contract(a[:, :, :], sa[:, :], b[:, :, :], sb[:, :], lhs_format=token, rhs_format=token, lhs_group_size=S, rhs_group_size=S,
                                    reduce=((1, 0), (2, 1)), acc_dtype=I.f32)
    return k


def elements(fmt, carriers, axis):
    """float64 values of u8 carriers; those of one byte stand beside each other along `axis`."""
    if fmt != "e2m1":
        return carriers.view(NARROW[fmt]).astype(np.float64)
    signed = np.concatenate([E2M1, -E2M1])
    both = np.stack([signed[carriers & 15], signed[carriers >> 4]], axis + 1)
    shape = list(carriers.shape)
    shape[axis] *= 2
    return both.reshape(shape)


def carriers(rng, fmt, shape):
    codes = rng.integers(0, 256, shape).astype(np.uint8)
    if fmt != "e2m1":
        codes[~np.isfinite(codes.view(NARROW[fmt]).astype(np.float32))] = 0x41
    return codes


@pytest.mark.parametrize("fmt, carrier", [("e2m1", "u8"), ("e4m3", "u8"), ("e5m2", "u8"), ("e4m3", "f8e4m3fn"), ("e5m2", "f8e5m2")])
@pytest.mark.parametrize("m, n, groups, size", [(3, 5, 4, 32), (1, 1, 1, 2), (2, 3, 0, 16), (0, 3, 2, 4), (17, 9, 3, 16)])
def test_scaled_contract(rng, fmt, carrier, m, n, groups, size):
    count = size // (2 if fmt == "e2m1" else 1)
    a, b = carriers(rng, fmt, (m, groups, count)), carriers(rng, fmt, (groups, count, n))
    sa, sb = (rng.integers(120, 135, shape).astype(np.uint8) for shape in ((m, groups), (n, groups)))
    wide_a = elements(fmt, a, 2) * 2.0 ** (sa.astype(int) - 127)[:, :, None]
    wide_b = elements(fmt, b, 1) * 2.0 ** (sb.astype(int).T - 127)[:, None, :]
    if carrier != "u8":
        a, b = a.view(NARROW[fmt]), b.view(NARROW[fmt])
    y = build(scaled(fmt, carrier, size), S=size).run(a, sa, b, sb)
    close(y, wide_a.reshape(m, groups * size) @ wide_b.reshape(groups * size, n), relative=1e-6)


def one(fmt, codes, scales, acc):
    """Each element times its scale, in float64 exactly what the contraction with 1 gives."""
    token, per = getattr(I, fmt), 2 if fmt == "e2m1" else 1

    @intent.kernel
    def k(a: I.In[I.u8, ("M", 1, 1)], sa: I.In[I.u8, ("M", 1)], b: I.In[I.u8, (1, 1, 1)], sb: I.In[I.u8, (1, 1)], y: I.Out[acc, ("M", 1)], S: I.Constexpr[int]):
        y[:, :] = I.scaled_matmul(a[:, :, :], sa[:, :], b[:, :, :], sb[:, :], lhs_format=token, rhs_format=token, group_size=S, acc_dtype=acc)
    unit = {"e2m1": 0x02, "e4m3": 0x38, "e5m2": 0x3C}[fmt]  # 1 in the low nibble, or in the byte
    return build(k, S=per).run(codes.reshape(-1, 1, 1), scales.reshape(-1, 1), np.full((1, 1, 1), unit, np.uint8), np.full((1, 1), 127, np.uint8))[:, 0]


@pytest.mark.parametrize("fmt", ["e2m1", "e4m3", "e5m2"])
def test_every_code_and_every_scale(fmt):
    codes = np.arange(256, dtype=np.uint8)
    at_one = np.full(256, 127, np.uint8)
    low = codes & 15 if fmt == "e2m1" else codes
    want = np.concatenate([E2M1, -E2M1])[low] if fmt == "e2m1" else codes.view(NARROW[fmt]).astype(np.float64)
    close(one(fmt, low, at_one, I.f32), want)
    half_more = np.full(256, {"e2m1": 0x03, "e4m3": 0x3C, "e5m2": 0x3E}[fmt], np.uint8)
    for acc in (I.f64, I.f32):
        close(one(fmt, half_more, codes, acc), np.concatenate([1.5 * 2.0 ** (np.arange(255) - 127), [np.nan]]), ulp=0)
    smallest, least = {"e2m1": (0x01, 0.5), "e4m3": (0x01, 2.0**-9), "e5m2": (0x01, 2.0**-16)}[fmt]
    close(one(fmt, np.full(4, smallest, np.uint8), codes[:4], I.f32), least * 2.0 ** (np.arange(4) - 127), ulp=0)


# -- sparse -----------------------------------------------------------------------------------------------------------------------------

@intent.kernel
def two_of_four(c: I.In[I.f32, ("M", "KC")], first: I.In[I.u8, ("M", "KG")], second: I.In[I.i64, ("M", "KG")], b: I.In[I.f32, ("K", "N")],
                y: I.Out[I.f32, ("M", "N")], z: I.Out[I.f32, ("M", "N")]):
    K, N = b.shape
    places = I.record(first=first[:, :], second=I.cast(second[:, :], I.u8))
    y[:, :] = I.sparse_matmul(c[:, :], places, b[:, :], format=I.sparse.two_of_four(1, K), acc_dtype=I.f32)
    z[:, :] = I.sparse_contract(c[:, :], places, I.transpose(b[:, :]), format=I.sparse.two_of_four(compression_axis=-1, logical_extent=K), reduce=((1, 1),),
                                acc_dtype=I.f32)


@pytest.mark.parametrize("m, k, n", [(5, 24, 7), (1, 4, 1), (3, 0, 2), (17, 100, 3)])
def test_two_of_four(rng, m, k, n):
    first = np.zeros((m, k // 4), np.uint8)
    second = np.zeros((m, k // 4), np.int64)
    stored = rng.standard_normal((m, k // 2)).astype(np.float32)
    dense = np.zeros((m, k))
    for row in range(m):
        for group in range(k // 4):
            places = np.sort(rng.permutation(4)[:2])
            first[row, group], second[row, group] = places
            dense[row, 4 * group + places] = stored[row, 2 * group:2 * group + 2]
    b = rng.standard_normal((k, n)).astype(np.float32)
    for result in build(two_of_four).run(stored, first, second, b):
        close(result, dense @ b, relative=1e-5, absolute=1e-6)


@intent.kernel
def halves(c: I.In[I.i8, ("B", "KH", "M")], place: I.In[I.i32, ("B", "KH", "M")], b: I.In[I.i8, ("B", "K", "N")], y: I.Out[I.i32, ("B", "M", "N")], K: I.Constexpr[int]):
    y[:, :, :] = I.sparse_contract(c[:, :, :], I.record(index=place[:, :, :]), b[:, :, :], format=I.sparse.one_of_two(1, b.shape[1]), reduce=((1, 1),), batch=((0, 0),),
                                   acc_dtype=I.i32)


def test_one_of_two_along_a_middle_axis(rng):
    batch, k, m, n = 2, 10, 3, 4
    stored, place = rng.integers(-9, 9, (batch, k // 2, m)).astype(np.int8), rng.integers(0, 2, (batch, k // 2, m)).astype(np.int32)
    dense = np.zeros((batch, k, m), np.int64)
    for i, j, l in np.ndindex(stored.shape):
        dense[i, 2 * j + place[i, j, l], l] = stored[i, j, l]
    b = rng.integers(-9, 9, (batch, k, n)).astype(np.int8)
    close(build(halves, K=k).run(stored, place, b), np.einsum("bkm,bkn->bmn", dense, b))


@intent.kernel
def last_axis(c: I.In[I.f16, ("M", 6)], first: I.In[I.index, ("M", 3)], second: I.In[I.index, ("M", 3)], b: I.In[I.f16, (12, "N")], y: I.Out[I.f32, ("M", "N")]):
    y[:, :] = I.sparse_contract_2to4(c[:, :], I.record(first=first[:, :], second=second[:, :]), b[:, :], I.f32)


def test_two_of_four_where_nothing_is_stored_meets_no_infinity(rng):
    c = np.ones((2, 6), np.float16)
    first, second = np.zeros((2, 3), np.int64), np.ones((2, 3), np.int64)
    b = rng.integers(0, 5, (12, 3)).astype(np.float16)
    want = b.reshape(3, 4, 3)[:, :2].sum((0, 1)).astype(np.float64)
    close(build(last_axis).run(c, first, second, b), np.stack([want, want]))


# -- block records ----------------------------------------------------------------------------------------------------------------------

@intent.kernel
def quantise(x: I.In[I.f32, ("G", 256)], y: I.Out[I.u8, ("G", 292)]):
    y[:, :] = I.quantize(x[:, :], format=I.quant.q8_k)


def q8_records(x):
    out = np.zeros((len(x), 292), np.uint8)
    for record, row in zip(out, x):
        low, high = row.min(), row.max()
        extreme = high if abs(high) > abs(low) else low
        if extreme == 0:
            continue
        inverse = np.float32(np.float32(-127) / extreme)
        scale = np.float32(np.float32(1) / inverse)
        q = np.clip(np.rint(np.float32(row * inverse)), -128, 127).astype(np.int8)
        record[:4], record[4:260] = np.frombuffer(scale.tobytes(), np.uint8), q.view(np.uint8)
        record[260:] = q.reshape(16, 16).sum(1, dtype=np.int16).view(np.uint8)
    return out


def test_quantize_to_the_bit(rng):
    x = rng.standard_normal((9, 256)).astype(np.float32)
    x[1] = 0
    x[2, :2] = 5, -5                                            # a tie: the minimum is the extreme
    x[3] = rng.integers(-254, 255, 256) / 2                     # halfway values
    x[3, 0] = -127
    x[4] *= np.float32(1e-30)
    x[5] = -np.abs(x[5])
    x[6, 1:] = 0
    np.testing.assert_array_equal(build(quantise).run(x), q8_records(x))
    assert build(quantise).run(x[:0]).shape == (0, 292)


@intent.kernel
def quantised_dot(a: I.In[I.u8, ("G", 144)], b: I.In[I.u8, ("G", 292)], y: I.Out[I.f32, ()]):
    y[()] = I.quantized_dot(a[:, :], b[:, :], lhs_format=I.quant.q4_k, rhs_format=I.quant.q8_k, acc_dtype=I.f32)


def dot_of_records(left, right):
    total = np.float32(0)
    for a, b in zip(left, right):
        codes = a.astype(int)
        fields = [[codes[4 + 4 * r + i] & 63 if i < 4 else ((codes[8 + i] >> 4 * r) & 15) | ((codes[4 * r + i] >> 6) << 4) for i in range(8)] for r in range(2)]
        weights = np.array([(codes[16 + 32 * (i // 64) + i % 32] >> (0 if i % 64 < 32 else 4)) & 15 for i in range(256)])
        inputs, sums = b[4:260].view(np.int8).astype(int), b[260:].view(np.int16).astype(int)
        d, least = a[:4].view(np.float16).astype(np.float64)
        scale = b[:4].view(np.float32)[0]
        products = (weights * inputs).reshape(8, 32).sum(1)
        s, t = int(np.dot(fields[0], products)), int(np.dot(fields[1], sums.reshape(8, 2).sum(1)))
        difference = np.float32(np.float32(d * s) - np.float32(least * t))
        total = np.float32(total + np.float32(scale * difference))
    return total


@pytest.mark.parametrize("count", [0, 1, 2, 7, 31])
def test_quantized_dot_to_the_bit(rng, count):
    left = rng.integers(0, 256, (count, 144)).astype(np.uint8)
    left[:, :4] = rng.uniform(-0.1, 0.1, (count, 2)).astype(np.float16).view(np.uint8)
    right = q8_records(rng.standard_normal((count, 256)).astype(np.float32))
    y = build(quantised_dot).run(left, right)
    assert y.view(np.uint32) == dot_of_records(left, right).view(np.uint32)
