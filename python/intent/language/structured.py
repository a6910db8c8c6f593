"""Reductions, scans, folds, contractions and packed formats."""
from intent.language.intrinsic import Token, intrinsic
from intent.language.types import u32


@intrinsic("reduce")
def reduce(value, axis, identity, combine, combine_operands=(), acc_dtype=None):
    """Associative and commutative reduction of a tensor, tuple or record along `axis` (an int or a tuple).

    `combine(lhs, rhs, *combine_operands)` acts on scalars of the components; `I.add`, `I.mul`, `I.maximum`, `I.minimum`,
    `I.maximum_num` and `I.minimum_num` do as combine, too. `identity` has the value's structure; its literals take the
    components' dtypes. Of `combine_operands`, tensors broadcast to the kept axes and are seen element by element. Order is
    free; empty gives the identity; reducing every axis gives scalars, or rank-zero tensors where the identity is one.
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
    """`(values, indices)` of the maximum along one `axis`; indices are `index`, from 0 in the axis.

    The lowest index wins ties (0 and -0 are equal); NaN wins, the first one. `acc_dtype` converts first. Empty: (identity, 0).
    """


@intrinsic("arg_reduce.min")
def _arg_min(value, axis, acc_dtype=None):
    """`(values, indices)` of the minimum along one `axis`; indices are `index`, from 0 in the axis.

    The lowest index wins ties (0 and -0 are equal); NaN wins, the first one. `acc_dtype` converts first. Empty: (identity, 0).
    """


arg_reduce = Token("arg_reduce", "Reductions that also say where: `I.arg_reduce.max`, `I.arg_reduce.min`.", max=_arg_max, min=_arg_min)


@intrinsic("scan")
def scan(value, axis, identity, combine, combine_operands=(), inclusive=True, reverse=False, acc_dtype=None):
    """Associative prefix combination along one `axis`, member order kept; the result has the value's structure and shapes.

    `combine`, `combine_operands` and `identity` as in `I.reduce`. Exclusive starts at the identity. Reverse runs from the end,
    the accumulated operand first: `s[i] = combine(s[i + 1], x[i])`. Empty gives empty.
    """


@intrinsic("cumsum")
def cumsum(value, *, axis, inclusive=True, reverse=False, acc_dtype=None):
    """Running sum along one `axis`; widens as `I.reduce.sum`. NaN and infinities propagate. Empty gives empty."""


@intrinsic("cummax")
def cummax(value, *, axis, inclusive=True, reverse=False, acc_dtype=None):
    """Running maximum along one `axis` in the value's dtype; NaN propagates. Exclusive starts at -inf or the dtype's minimum."""


@intrinsic("cumprod")
def cumprod(value, *, axis, inclusive=True, reverse=False, acc_dtype=None):
    """Running product along one `axis` in the value's dtype; integers wrap. Exclusive starts at 1."""


@intrinsic("region_fold")
def region_fold(source, axis, summarize, combine, identity, operands=()):
    """Fold of one ordered axis by a list homomorphism: `summarize(A ++ B) == combine(summarize(A), summarize(B))`.

    `source` is a tensor or a tuple of tensors of one extent along `axis`. `summarize(*slices, *operands)` sees contiguous
    non-empty slices; how many, and their extent, is not observable (coordinates come as `I.indices(...)` in `source`).
    `identity` is neutral and gives the summary's structure, dtypes and shapes. Empty gives the identity.
    """


@intrinsic("region_scan")
def region_scan(source, axis, summarize, combine, identity, initial_state, apply, emit, operands=()):
    """`(outputs, final_state)`: summaries act on states, slices emit outputs in source order.

    `summarize`, `combine` and `identity` as in `I.region_fold`; `apply(transition, state)` gives the state behind a slice,
    `emit(*slices, state, *operands)` the outputs of a slice: tensors with the slice's extent along `axis`.
    `apply(combine(a, b), s) == apply(b, apply(a, s))`. Empty: empty outputs and the initial state.
    """


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
    """Microscaled contraction: decode, scale by group, contract; float `acc_dtype`, result `[M, N]`.

    lhs `[M, G, C]`, scale `[M, G]`; rhs `[G, C, N]`, scale `[N, G]`; `reduce=((1, 0), (2, 1))`; both group sizes agree, and
    `C` is the group size over the elements of a carrier. Scaled elements are exact unless they overflow f32 (f64 with an
    `acc_dtype` of f64), to infinity. The scale 255 is NaN. No groups give 0.
    """


@intrinsic("scaled_matmul")
def scaled_matmul(lhs, lhs_scale, rhs, rhs_scale, *, lhs_format, rhs_format, group_size, acc_dtype):
    """`I.scaled_contract` with one group size and the usual axes."""


@intrinsic("sparse_contract")
def sparse_contract(compressed, metadata, dense_rhs, *, format, reduce, batch=(), acc_dtype):
    """`I.contract` of a structured-sparse left operand: what is not stored is 0 and meets nothing.

    `metadata` says where the stored elements of a group stand, integers of the compressed operand's axes: a record
    `first, second` (`two_of_four`), or `index` or that tensor alone (`one_of_two`), with one entry a group along the axis.
    """


@intrinsic("sparse_matmul")
def sparse_matmul(compressed, metadata, rhs, *, format, acc_dtype):
    """`I.matmul` of a structured-sparse left operand, as `I.sparse_contract` takes it."""


@intrinsic("sparse_contract_2to4")
def sparse_contract_2to4(compressed_lhs, metadata, rhs, acc_dtype):
    """`I.sparse_contract` with two of four on the left operand's last axis, and the axes of `I.matmul`."""


@intrinsic("sparse.two_of_four")
def _two_of_four(compression_axis, logical_extent):
    """Two values of each four along the axis; metadata is a record `first < second`."""


@intrinsic("sparse.one_of_two")
def _one_of_two(compression_axis, logical_extent):
    """One value of each two along the axis; metadata is its index, 0 or 1."""


@intrinsic("quantize")
def quantize(values, *, format):
    """f32 `[G, 256]` to u8 records `[G, 292]` of `I.quant.q8_k`, to the bit the same everywhere.

    The value of largest magnitude (the minimum on a tie) becomes -127; the others round to even. All zero gives zeros.
    Non-finite values are the caller's error.
    """


@intrinsic("quantized_dot")
def quantized_dot(lhs, rhs, *, lhs_format, rhs_format, acc_dtype):
    """u8 `[G, 144]` (`q4_k`) with u8 `[G, 292]` (`q8_k`), a rank-zero f32: exact integer sums, rounded products, records
    added in order; to the bit the same everywhere. No records give 0.
    """


@intrinsic("histogram")
def histogram(values, bins, valid=True, count_dtype=u32):
    """Counts `[bins]` of `count_dtype` (an integer dtype; they wrap) of the integer values where `valid` holds.

    `valid` is a bool that broadcasts to the values; active values lie in `[0, bins)`, others are not looked at. Empty: zeros.
    """


sparse = Token("sparse", "Structured-sparse formats.", two_of_four=_two_of_four, one_of_two=_one_of_two)
quant = Token("quant", "Block formats of 256 values.", q8_k=Token("quant.q8_k", "Q8_K, 292 bytes."), q4_k=Token("quant.q4_k", "Q4_K, 144 bytes."))
e2m1 = Token("e2m1", "Four-bit floats, two per u8, low nibble first.")
e4m3 = Token("e4m3", "Eight-bit floats in f8e4m3fn or u8.")
e5m2 = Token("e5m2", "Eight-bit floats in f8e5m2 or u8.")
e8m0 = Token("e8m0", "Power-of-two scales in u8.")
