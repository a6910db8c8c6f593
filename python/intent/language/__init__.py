"""The author language (`import intent.language as I`).

Nothing here computes: the names carry signatures and documentation, and a kernel's source is compiled, not run. Calling an
operation outside a kernel is a `LanguageError`.
"""
import difflib as _difflib

from intent.errors import LanguageError as _LanguageError
from intent.language.intrinsic import wrong as _wrong
from intent.language.types import (Constexpr, DType, Enum, In, InOut, Out, TypeVar, bf16, bool, constraints, dtype, f8e4m3fn, f8e5m2,
                                   f16, f32, f64, i8, i16, i32, i64, index, u8, u16, u32, u64)
from intent.language.values import (LOG2E, abs, add, asin, assume_in_bounds, bitcast, cast, ceil, cos, domain, end, erf, erfc, exp,
                                    exp2, fdiv, floor, fma, full, i0, indices, inf, join, lgamma, log, log1p, log2, mask, maximum,
                                    maximum_num, members, minimum, minimum_num, mul, parallel, pi, ragged, record, reshape, rsqrt,
                                    select, sigmoid, sin, sqrt, sub, tan, tanh, transpose, zeros)
from intent.language.structured import (arg_reduce, contract, cummax, cumprod, cumsum, dot, e2m1, e4m3, e5m2, e8m0, histogram, matmul,
                                        matvec, outer, quant, quantize, quantized_dot, reduce, region_fold, region_scan,
                                        scaled_contract, scaled_matmul, scan, sparse, sparse_contract, sparse_contract_2to4,
                                        sparse_matmul, vecmat)
from intent.language.memory import (atomic, buffer, gather, mutable_load, random, scatter_reduce, scatter_unique, store)


class _UnknownName(_LanguageError, AttributeError):
    """A name that the language does not have, where Python itself looks it up."""


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    near = _difflib.get_close_matches(name, [known for known in globals() if not known.startswith("_")], n=1)
    raise _wrong(f"the language has no I.{name}" + (f"; did you mean I.{near[0]}?" if near else ""), _UnknownName)
