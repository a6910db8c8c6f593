"""Reductions, scans, folds, contractions and packed formats."""
from intent.language.intrinsic import Token, intrinsic
from intent.language.types import u32


@intrinsic("reduce")
def reduce(value, axis, identity, combine, combine_operands=(), acc_dtype=None):
    """Associative and commutative reduction of a tensor, tuple or record along `axis` (an int or a tuple).

    `combine(lhs, rhs, *combine_operands)` acts on scalars of the components; `identity` has the value's structure. Order is free;
    empty gives the identity; reducing every axis gives scalars.
    """


@intrinsic("reduce.sum")
def _sum(value, *, axis, acc_dtype=None, keepdims=False):
    """Sum along `axis`; f16, bf16 and f8 widen to f32, i8 and i16 to i32, u8 and u16 to u32, bool counts in i32. Empty: 0."""


@intrinsic("reduce.prod")
def _prod(value, *, axis, acc_dtype=None, keepdims=False):
    """Product along `axis` in the value's dtype. Empty: 1."""


@intrinsic("reduce.max")
def _max(value, *, axis, acc_dtype=None, keepdims=False):
    """Maximum along `axis`; NaN propagates. Empty: -inf, or the dtype's minimum."""


@intrinsic("reduce.min")
def _min(value, *, axis, acc_dtype=None, keepdims=False):
    """Minimum along `axis`; NaN propagates. Empty: +inf, or the dtype's maximum."""


@intrinsic("reduce.mean")
def _mean(value, *, axis, acc_dtype=None, keepdims=False):
    """Sum over count in the sum's dtype; floats only. Empty: NaN."""


@intrinsic("reduce.any")
def _any(value, *, axis, keepdims=False):
    """Whether any bool along `axis` holds. Empty: False."""


@intrinsic("reduce.all")
def _all(value, *, axis, keepdims=False):
    """Whether every bool along `axis` holds. Empty: True."""


reduce.sum, reduce.prod, reduce.max, reduce.min, reduce.mean, reduce.any, reduce.all = _sum, _prod, _max, _min, _mean, _any, _all


@intrinsic("arg_reduce.max")
def _arg_max(value, axis, acc_dtype=None):
    """`(values, indices)` of the maximum along `axis`; the lowest index wins ties; the first NaN wins. Empty: (identity, 0)."""


@intrinsic("arg_reduce.min")
def _arg_min(value, axis, acc_dtype=None):
    """`(values, indices)` of the minimum along `axis`; the lowest index wins ties; the first NaN wins. Empty: (identity, 0)."""


arg_reduce = Token("arg_reduce", "Reductions that also say where: `I.arg_reduce.max`, `I.arg_reduce.min`.", max=_arg_max, min=_arg_min)


@intrinsic("scan")
def scan(value, axis, identity, combine, combine_operands=(), inclusive=True, reverse=False, acc_dtype=None):
    """Associative prefix combination along `axis`, member order kept. Exclusive starts at the identity; reverse runs from the end."""


@intrinsic("cumsum")
def cumsum(value, *, axis, inclusive=True, reverse=False, acc_dtype=None):
    """Running sum along `axis`; widens as `I.reduce.sum`."""


@intrinsic("cummax")
def cummax(value, *, axis, inclusive=True, reverse=False, acc_dtype=None):
    """Running maximum along `axis`; NaN propagates."""


@intrinsic("cumprod")
def cumprod(value, *, axis, inclusive=True, reverse=False, acc_dtype=None):
    """Running product along `axis`."""


@intrinsic("region_fold")
def region_fold(source, axis, summarize, combine, identity, operands=()):
    """Fold of one ordered axis by a list homomorphism: `summarize(A ++ B) == combine(summarize(A), summarize(B))`, identity neutral."""


@intrinsic("region_scan")
def region_scan(source, axis, summarize, combine, identity, initial_state, apply, emit, operands=()):
    """`(outputs, final_state)`: summaries act on states (`apply`), slices emit outputs (`emit`) in source order."""


@intrinsic("contract")
def contract(lhs, rhs, reduce, acc_dtype, batch=()):
    """Multiply-add contraction over the axis pairs `reduce=((ia, ib), ...)`; `batch` pairs run together.

    Result axes: lhs axes that are not reduced, in order (batch once), then rhs's free axes; dtype `acc_dtype`. Products are exact,
    sums in `acc_dtype`; an empty reduction gives zero.
    """


@intrinsic("dot")
def dot(lhs, rhs, *, acc_dtype):
    """`[K] . [K]`, a rank-zero tensor of `acc_dtype`."""


@intrinsic("matvec")
def matvec(matrix, vector, *, acc_dtype, transpose=False):
    """`[..., M, K] @ [..., K]` gives `[..., M]`; `transpose`: the matrix is `[..., K, M]`. Leading axes broadcast."""


@intrinsic("vecmat")
def vecmat(vector, matrix, *, acc_dtype, transpose=False):
    """`[..., K] @ [..., K, N]` gives `[..., N]`; `transpose`: the matrix is `[..., N, K]`. Leading axes broadcast."""


@intrinsic("matmul")
def matmul(lhs, rhs, *, acc_dtype, transpose_lhs=False, transpose_rhs=False):
    """`[..., M, K] @ [..., K, N]` gives `[..., M, N]` of `acc_dtype`. Leading axes are batch axes and broadcast from the right."""


@intrinsic("outer")
def outer(lhs, rhs):
    """`[M] x [N]` gives `[M, N]` of products in the operands' dtype."""


@intrinsic("scaled_contract")
def scaled_contract(lhs, lhs_scale, rhs, rhs_scale, *, lhs_format, rhs_format, lhs_group_size, rhs_group_size, reduce, batch=(),
                    acc_dtype):
    """Microscaled contraction: decode, scale by group, contract. lhs `[M, G, C]`, scale `[M, G]`; rhs `[G, C, N]`, scale `[N, G]`."""


@intrinsic("scaled_matmul")
def scaled_matmul(lhs, lhs_scale, rhs, rhs_scale, *, lhs_format, rhs_format, group_size, acc_dtype):
    """`I.scaled_contract` with one group size and the usual axes."""


@intrinsic("sparse_contract")
def sparse_contract(compressed, metadata, dense_rhs, *, format, reduce, batch=(), acc_dtype):
    """Contraction of a structured-sparse left operand; logical positions in `metadata`."""


@intrinsic("sparse_matmul")
def sparse_matmul(compressed, metadata, rhs, *, format, acc_dtype):
    """`I.sparse_contract` with the usual axes."""


@intrinsic("sparse_contract_2to4")
def sparse_contract_2to4(compressed_lhs, metadata, rhs, acc_dtype):
    """`I.sparse_contract` with two of four on the left operand's last axis."""


@intrinsic("sparse.two_of_four")
def _two_of_four(compression_axis, logical_extent):
    """Two values of each four along the axis; metadata is a record `first < second`."""


@intrinsic("sparse.one_of_two")
def _one_of_two(compression_axis, logical_extent):
    """One value of each two along the axis; metadata is its index, 0 or 1."""


@intrinsic("quantize")
def quantize(values, *, format):
    """f32 `[G, 256]` to u8 records `[G, 292]` of `I.quant.q8_k`."""


@intrinsic("quantized_dot")
def quantized_dot(lhs, rhs, *, lhs_format, rhs_format, acc_dtype):
    """u8 `[G, 144]` (`q4_k`) with u8 `[G, 292]` (`q8_k`), a rank-zero f32."""


@intrinsic("histogram")
def histogram(values, bins, valid=True, count_dtype=u32):
    """Exact counts `[bins]` of active values in `[0, bins)`."""


sparse = Token("sparse", "Structured-sparse formats.", two_of_four=_two_of_four, one_of_two=_one_of_two)
quant = Token("quant", "Block formats of 256 values.", q8_k=Token("quant.q8_k", "Q8_K, 292 bytes."), q4_k=Token("quant.q4_k", "Q4_K, 144 bytes."))
e2m1 = Token("e2m1", "Four-bit floats, two per u8, low nibble first.")
e4m3 = Token("e4m3", "Eight-bit floats in f8e4m3fn or u8.")
e5m2 = Token("e5m2", "Eight-bit floats in f8e5m2 or u8.")
e8m0 = Token("e8m0", "Power-of-two scales in u8.")
