"""Block quantisation records and counter-based random numbers (numerics.md sections 4 and 5)."""
from __future__ import annotations

import numpy as np

from intent.errors import LanguageError
from intent.language.intrinsic import Token

from .construction import tensor_argument
from .formats import F32, U8, U32, U64
from .values import Tensor, as_format, as_value, broadcast_shape, describe, format_of, kind_of


def _format_named(token, expected, what):
    name = getattr(token, "__intent_intrinsic__", None) if isinstance(token, Token) else None
    if name != expected:
        raise LanguageError(f"{what}: expected I.{expected}, got {token if isinstance(token, Token) else describe(token)}")


def quantize(values, format):
    """Records of 292 bytes: scale f32, 256 codes i8, 16 sums of 16 codes i16."""
    _format_named(format, "quant.q8_k", "I.quantize: format")
    values = tensor_argument(values, "I.quantize")
    if values.format is not F32 or values.data.ndim != 2 or values.data.shape[1] != 256:
        raise LanguageError(f"I.quantize takes an f32 tensor [G, 256], got {describe(values)}")
    x = values.data
    if not np.isfinite(x).all():
        raise LanguageError("I.quantize: the values are finite")
    result = np.zeros((len(x), 292), np.uint8)
    for group, row in enumerate(x):
        low, high = row.min(), row.max()
        extreme = low if -low >= high else high
        if extreme == 0:
            continue
        inverse = np.float32(-127) / extreme
        scale = np.float32(1) / inverse
        codes = np.clip(np.rint(row * inverse), -128, 127).astype(np.int8)
        sums = codes.reshape(16, 16).sum(axis=1, dtype=np.int16)
        result[group] = np.concatenate([np.array([scale], "<f4").view(np.uint8), codes.view(np.uint8), sums.astype("<i2").view(np.uint8)])
    return Tensor(result, U8)


def _scale_fields(scales, high):
    """The eight 6-bit fields of twelve scale bytes: scales where `high` is 0, minima where it is 1."""
    fields = [int(scales[4 * high + i]) & 63 for i in range(4)]
    fields += [((int(scales[8 + t]) >> (4 * high)) & 15) | ((int(scales[4 * high + t]) >> 6) << 4) for t in range(4)]
    return fields


def quantized_dot(lhs, rhs, lhs_format, rhs_format, acc_dtype):
    _format_named(lhs_format, "quant.q4_k", "I.quantized_dot: lhs_format")
    _format_named(rhs_format, "quant.q8_k", "I.quantized_dot: rhs_format")
    if format_of(acc_dtype, "I.quantized_dot: acc_dtype") is not F32:
        raise LanguageError("I.quantized_dot: acc_dtype is f32")
    a, b = tensor_argument(lhs, "I.quantized_dot"), tensor_argument(rhs, "I.quantized_dot")
    for value, size in ((a, 144), (b, 292)):
        if value.format is not U8 or value.data.ndim != 2 or value.data.shape[1] != size:
            raise LanguageError(f"I.quantized_dot takes u8 records [G, {size}], got {describe(value)}")
    if len(a.data) != len(b.data):
        raise LanguageError(f"I.quantized_dot: expected equal numbers of records, got {len(a.data)} and {len(b.data)}")
    total = 0.0
    for w, x in zip(a.data, b.data):
        d, dmin = (np.float32(v) for v in w[:4].copy().view("<f2"))
        packed = w[16:144].reshape(4, 32)
        codes = np.stack([packed & 15, packed >> 4], axis=1).reshape(8, 32).astype(np.int64)
        ds = x[:4].copy().view("<f4")[0]
        other = x[4:260].view(np.int8).reshape(8, 32).astype(np.int64)
        sums = x[260:292].copy().view("<i2").astype(np.int64)
        s = sum(field * int(v) for field, v in zip(_scale_fields(w[4:16], 0), (codes * other).sum(axis=1)))
        t = sum(field * int(sums[2 * i] + sums[2 * i + 1]) for i, field in enumerate(_scale_fields(w[4:16], 1)))
        total += float(ds * (d * np.float32(s) - dmin * np.float32(t)))
    return Tensor(np.asarray(total, np.float32), F32)


# -- Philox4x32-10 --------------------------------------------------------------------------------------------

_ROUNDS, _LOW = 10, np.uint64(0xFFFFFFFF)


def philox(seed, counter):
    """u32 words of uint64 arrays `seed` and `counter`, broadcast."""
    seed, counter = np.broadcast_arrays(np.asarray(seed, np.uint64), np.asarray(counter, np.uint64))
    half = np.uint64(32)
    k0, k1 = seed & _LOW, seed >> half
    block = counter >> np.uint64(2)
    zero = np.zeros_like(block)
    c = [block & _LOW, block >> half, zero, zero]
    for _ in range(_ROUNDS):
        p, q = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(q >> half) ^ c[1] ^ k0, q & _LOW, (p >> half) ^ c[3] ^ k1, p & _LOW]
        k0, k1 = (k0 + np.uint64(0x9E3779B9)) & _LOW, (k1 + np.uint64(0xBB67AE85)) & _LOW
    return np.choose((counter & np.uint64(3)).astype(np.int64), c).astype(np.uint32)


def random_bits(seed, logical_counter, what="I.random.bits"):
    key, counter = (as_format(seed, U64, f"{what}: seed") if isinstance(seed, int) else as_value(seed)), as_value(logical_counter)
    if not key.format.is_integer or key.data.ndim:
        raise LanguageError(f"{what}: seed: expected an integer scalar, got {describe(key)}")
    if not counter.format.is_integer:
        raise LanguageError(f"{what}: counters are integers, got {describe(counter)}")
    if counter.format.kind == "int" and (counter.data < 0).any():
        raise LanguageError(f"{what}: a counter is not negative, got {int(counter.data.min())}")
    broadcast_shape([key.data.shape, counter.data.shape])
    return kind_of([key, counter])(np.asarray(philox(key.data.astype(np.uint64), counter.data.astype(np.uint64))), U32)


def random_uniform(seed, logical_counter, dtype):
    if format_of(dtype, "I.random.uniform: dtype") is not F32:
        raise LanguageError(f"I.random.uniform gives f32, got dtype {format_of(dtype)}")
    bits = random_bits(seed, logical_counter, "I.random.uniform")
    return type(bits)(((bits.data >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)), F32)
