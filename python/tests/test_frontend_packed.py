"""Histograms, random numbers and packed formats: what the frontend requires of their arguments."""
import pytest
from programs import diagnostic, kernel, kir
from test_frontend import ops

VIEWS = ('x: I.In[I.f32, ("G", 256)], y: I.Out[I.f32, ("M", "N")], a: I.In[I.u8, ("M", "G", 16)], s: I.In[I.u8, ("M", "G")], b: I.In[I.u8, ("G", 16, "N")], t: I.In[I.u8, ("N", "G")], '
         'q: I.In[I.i32, ("K",)], v: I.In[I.bool, ("K",)], n: I.i32, h: I.In[I.f16, ("M", "H")], w: I.In[I.f16, ("K", "N")], p: I.In[I.i32, ("M", "P")], l: I.In[I.u8, ("G", 144)], r: I.In[I.u8, ("G", 292)]')
A, S, B, T = "a[:, :, :]", "s[:, :]", "b[:, :, :]", "t[:, :]"


def scaled(lhs=A, lhs_scale=S, rhs=B, rhs_scale=T, lhs_format="I.e2m1", rhs_format="I.e2m1", sizes="lhs_group_size=32, rhs_group_size=32", reduce="((1, 0), (2, 1))", more="acc_dtype=I.f32"):
    return f"z = I.scaled_contract({lhs}, {lhs_scale}, {rhs}, {rhs_scale}, lhs_format={lhs_format}, rhs_format={rhs_format}, {sizes}, reduce={reduce}, {more})"


def sparse(metadata="I.record(first=p[:, :], second=p[:, :])", format="I.sparse.two_of_four(1, w.shape[0])", lhs="h[:, :]", rhs="w[:, :]"):
    return f"z = I.sparse_matmul({lhs}, {metadata}, {rhs}, format={format}, acc_dtype=I.f32)"


ERRORS = [
    ("z = I.histogram(n, 4)", "I.histogram: expected a tensor, got i32 scalar"),
    ("z = I.histogram(x[:, :], 4)", 'I.histogram: values: expected integers, got f32 tensor ["G", 256]'),
    ("z = I.histogram(v[:], 2)", 'I.histogram: values: expected integers, got bool tensor ["K"]'),
    ("z = I.histogram(q[:], -1)", "I.histogram: bins: expected a non-negative extent, got -1"),
    ("z = I.histogram(q[:], 0.5)", "I.histogram: bins: expected an integer scalar, got literal 0.5"),
    ("z = I.histogram(q[:], 4, q[:])", 'I.histogram: valid: expected a bool that broadcasts to ["K"], got i32 tensor ["K"]'),
    ("z = I.histogram(q[:], 4, v[:][None, :])", 'I.histogram: valid: expected a bool that broadcasts to ["K"], got bool tensor [1, "K"]'),
    ("z = I.histogram(q[:], 4, x[:, 0] > 0)", 'I.histogram: valid: expected a bool that broadcasts to ["K"], got bool tensor ["G"]'),
    ("z = I.histogram(q[:], 4, count_dtype=I.f32)", "I.histogram: count_dtype: expected an integer dtype, got f32"),
    ("z = I.random.bits(x[:, :], n)", 'I.random.bits: seed: expected an integer, got f32 tensor ["G", 256]'),
    ("z = I.random.bits(q[:], n)", 'I.random.bits: seed: expected an integer scalar, got i32 tensor ["K"]'),
    ("z = I.random.bits(n, 0.5)", "literal 0.5 cannot be held by u64; convert a value with I.cast"),
    ("z = I.random.bits(-1, n)", "literal -1 cannot be held by u64; convert a value with I.cast"),
    ("z = I.random.uniform(n, v[:])", 'I.random.uniform: logical_counter: expected an integer, got bool tensor ["K"]'),
    ("z = I.random.uniform(n, n, dtype=I.f16)", "I.random.uniform: dtype: expected f32, got f16"),
    # microscaled
    (scaled(lhs_format="I.e8m0"), "lhs_format: expected I.e2m1, I.e4m3 or I.e5m2, got format I.e8m0"),
    (scaled(rhs_format="I.f16"), "rhs_format: expected I.e2m1, I.e4m3 or I.e5m2, got dtype I.f16"),
    (scaled(sizes="lhs_group_size=31, rhs_group_size=31"), "lhs_group_size: expected a positive multiple of 2 for I.e2m1, got 31"),
    (scaled(sizes="lhs_group_size=0, rhs_group_size=0"), "lhs_group_size: expected a positive multiple of 2 for I.e2m1, got 0"),
    (scaled(sizes="lhs_group_size=32, rhs_group_size=16"), "rhs_group_size: expected the left operand's group size 32, got 16"),
    (scaled(sizes="lhs_group_size=n, rhs_group_size=16"), "lhs_group_size: expected a compile-time integer, got i32 scalar"),
    (scaled(sizes="lhs_group_size=16, rhs_group_size=16"), "I.scaled_contract: axis C of lhs: expected extent 16 / 2, got 16"),
    (scaled(lhs="x[:, :]"), 'I.scaled_contract: lhs: I.e2m1 is carried in u8, got f32 tensor ["G", 256]'),
    (scaled(lhs="I.cast(a[:, :, :], I.f8e5m2)", lhs_format="I.e4m3", sizes="lhs_group_size=16, rhs_group_size=16"), 'I.scaled_contract: lhs: I.e4m3 is carried in f8e4m3fn or u8, got f8e5m2 tensor ["M", "G", 16]'),
    (scaled(lhs="s[:, :]"), 'I.scaled_contract: lhs: expected shape [M, G, C], got u8 tensor ["M", "G"]'),
    (scaled(rhs="s[:, :]"), 'I.scaled_contract: rhs: expected shape [G, C, N], got u8 tensor ["M", "G"]'),
    (scaled(lhs_scale="q[:]"), 'I.scaled_contract: lhs_scale: I.e8m0 is carried in u8, got i32 tensor ["K"]'),
    (scaled(lhs_scale="a[:, :, :]"), 'I.scaled_contract: lhs_scale: expected shape [M, G], got u8 tensor ["M", "G", 16]'),
    (scaled(rhs_scale="s[:, :]"), 'I.scaled_contract: axis N of rhs and rhs_scale: expected equal extents, got "N" and "M"; unknown extents are equal only where they are the same symbol'),
    (scaled(lhs_scale="I.transpose(s[:, :])"), 'I.scaled_contract: axis M of lhs and lhs_scale: expected equal extents, got "M" and "G"; unknown extents are equal only where they are the same symbol'),
    (scaled(reduce="((2, 0), (1, 1))"), "reduce: expected ((1, 0), (2, 1)), the groups and their carriers"),
    (scaled(more="batch=((0, 2),), acc_dtype=I.f32"), "batch: expected (), got a tuple of 1; loop over batches"),
    (scaled(more="acc_dtype=I.i32"), "I.scaled_contract: acc_dtype takes floats, got i32; convert with I.cast"),
    # sparse
    ("z = I.sparse.two_of_four(1, 10)", "I.sparse.two_of_four: logical_extent: expected a non-negative multiple of 4, got 10"),
    ("z = I.sparse.one_of_two(1, 7)", "I.sparse.one_of_two: logical_extent: expected a non-negative multiple of 2, got 7"),
    ("z = I.sparse.one_of_two(n, 8)", "I.sparse.one_of_two: compression_axis: expected a compile-time integer, got i32 scalar"),
    ("z = I.sparse.one_of_two(0, 8) + 1", "expected a tensor or scalar, got format I.sparse.one_of_two"),
    (sparse(format="I.e2m1"), "format: expected I.sparse.two_of_four(...) or I.sparse.one_of_two(...), got format I.e2m1"),
    (sparse(format="I.sparse.two_of_four(2, 8)"), "axis 2 is out of range for rank 2"),
    (sparse(metadata="p[:, :]"), 'I.sparse_matmul: metadata: expected a record of first, second, got i32 tensor ["M", "P"]'),
    (sparse(metadata="I.record(first=p[:, :], last=p[:, :])"), "I.sparse_matmul: metadata: expected a record of first, second, got a record of first, last"),
    (sparse(metadata="I.record(first=1, second=2)", format="I.sparse.one_of_two(1, 8)"), "I.sparse_matmul: metadata: expected an integer tensor or a record of index, got a record of first, second"),
    (sparse(metadata="I.record(first=p[:, :], second=h[:, :])"), 'I.sparse_matmul: metadata second: expected an integer tensor of rank 2, got f16 tensor ["M", "H"]'),
    (sparse(metadata="I.record(first=p[:, :], second=q[:])"), 'I.sparse_matmul: metadata second: expected an integer tensor of rank 2, got i32 tensor ["K"]'),
    (sparse(lhs="w[:, :]"), 'I.sparse_matmul: metadata first: axis 0 and the compressed operand\'s: expected equal extents, got "K" and "M"; unknown extents are equal only where they are the same symbol'),
    (sparse(lhs="I.zeros((4, 6), I.f16)", format="I.sparse.two_of_four(1, 16)"), "I.sparse_matmul: axis 1 of the compressed operand: expected extent 16 / 2, got 6"),
    (sparse(rhs="x[:, :]"), "I.sparse_matmul: operands share a dtype, got f16 and f32; convert one with I.cast"),
    ("z = I.sparse_contract_2to4(w[:, 0], I.record(first=q[:], second=q[:]), w[:, :], I.f32)", 'I.sparse_contract_2to4: expected a left operand of rank 2 or more, got f16 tensor ["K"]'),
    # block records
    ("z = I.quantize(x[:, :], format=I.quant.q4_k)", "format: expected I.quant.q8_k, got format I.quant.q4_k"),
    ("z = I.quantize(h[:, :], format=I.quant.q8_k)", 'I.quantize: values: expected an f32 tensor [G, 256], got f16 tensor ["M", "H"]'),
    ("z = I.quantize(I.zeros((2, 128), I.f32), format=I.quant.q8_k)", "I.quantize: values of a record: expected equal extents, got 256 and 128"),
    ("z = I.quantized_dot(l[:, :], r[:, :], lhs_format=I.quant.q8_k, rhs_format=I.quant.q8_k, acc_dtype=I.f32)", "lhs_format: expected I.quant.q4_k, got format I.quant.q8_k"),
    ("z = I.quantized_dot(r[:, :], r[:, :], lhs_format=I.quant.q4_k, rhs_format=I.quant.q8_k, acc_dtype=I.f32)", "I.quantized_dot: lhs: bytes of a record: expected equal extents, got 144 and 292"),
    ("z = I.quantized_dot(l[0, :], r[:, :], lhs_format=I.quant.q4_k, rhs_format=I.quant.q8_k, acc_dtype=I.f32)", "I.quantized_dot: lhs: expected a u8 tensor [G, 144], got u8 tensor [144]"),
    ("z = I.quantized_dot(l[:, :], r[:, :], lhs_format=I.quant.q4_k, rhs_format=I.quant.q8_k, acc_dtype=I.f64)", "I.quantized_dot: acc_dtype: expected f32, got f64"),
]


@pytest.mark.parametrize("case", ERRORS, ids=[str(i) for i in range(len(ERRORS))])
def test_rule(case):
    found = diagnostic(kernel(VIEWS, case[0]))
    assert found["message"] == case[1] and found["error"] == "LanguageError" and (found["line"], found["column"] >= 5) == (3, True)


def test_unknown_extents_of_packed_operands_are_checked():
    text = kir(kernel(VIEWS, sparse().replace("z", "y[:, :]", 1) + "\ny[:, :] = I.matmul(x[:, :], x[:, :], acc_dtype=I.f32, transpose_rhs=True)[0, 0]"))
    assert 'kir.check_extent <2 * "H"> equals <"K">' in text and 'kir.check_extent <4 * "P"> equals <"K">' in text and len(ops(text, "contract")) == 2
    text = kir(kernel(VIEWS.replace('"G", 16)', '"G", "C")'), scaled().replace("z", "y[:, :]", 1)))
    assert 'kir.check_extent <2 * "C"> equals <32>' in text


def test_scaled_operands_decode_to_the_narrowest_exact_format():
    for formats, acc, element in [(("e2m1", "e2m1"), "f32", "bf16"), (("e2m1", "e2m1"), "f16", "bf16"), (("e2m1", "e2m1"), "f64", "f64"), (("e2m1", "e4m3"), "f32", "f32"), (("e5m2", "e4m3"), "f64", "f64")]:
        count = {"e2m1": 16, "e4m3": 32, "e5m2": 32}
        views = f'y: I.Out[I.{acc}, ("M", "N")], a: I.In[I.u8, ("M", "G", {count[formats[0]]})], s: I.In[I.u8, ("M", "G")], b: I.In[I.u8, ("G", {count[formats[1]]}, "N")], t: I.In[I.u8, ("N", "G")]'
        body = scaled(lhs_format="I." + formats[0], rhs_format="I." + formats[1], more=f"acc_dtype=I.{acc}").replace("z", "y[:, :]", 1)
        assert f'<{element}, ["M", 32 * "G"]>, <{element}, [32 * "G", "N"]> -> !kir.tensor<{acc}, ["M", "N"]>' in ops(kir(kernel(views, body)), "contract")[0]


def test_a_histogram_counts_in_the_given_dtype_and_checks_nothing_of_inactive_lanes():
    text = kir(kernel(VIEWS + ', c: I.Out[I.u8, (5,)], d: I.Out[I.u32, ("N",)]', "c[:] = I.histogram(q[:], 5, v[:], count_dtype=I.u8)\nd[:] = I.histogram(a[:, :, :], y.shape[1])"))
    reductions = ops(text, "reduce")
    assert "axes [1]" in reductions[0] and "axes [1, 2, 3]" in reductions[1] and "identities(ui8)" in text and '"N"' in text


def test_random_numbers_take_counters_of_any_dtype():
    for dtype in ("i8", "u16", "index", "i64", "u64"):
        text = kir(kernel(f'c: I.In[I.{dtype}, ("N",)], s: I.i32, o: I.Out[I.u32, ("N",)]', "o[:] = I.random.bits(s, c[:])\no[0] = I.random.bits(3, c[0])"))
        assert "kir.binary xor" in text and "ui64" in text
