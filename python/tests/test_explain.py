"""`intent.explain` and `intent explain`: the text, against tables whose outcome is worked out by hand."""
import json

import pytest

import intent
import programs
from intent import cli, native
from intent.runtime.expressions import ExpressionError, infix, parse

SOFTMAX = """
@intent.kernel
def softmax(x: I.In[I.f16, ("M", "N")], y: I.Out[I.f16, ("M", "N")], scale: I.f32, n: I.i32 = 3):
    v = I.cast(x[:, :], I.f32) * scale
    e = I.exp(v - I.reduce.max(v, axis=1)[:, None])
    y[:, :] = I.cast(e / I.reduce.sum(e, axis=1)[:, None], I.f16)
"""

ROWS = [
    [3, 1, 1000, 1, 1, 1, 1, 4, 2, 1, 0],
    [2, 1, 512, 1, 1, 1, 1, 4, 2, 1, 0],
    [1, 1, 512, 1, 1, 1, 1, 5, 2, 1, 0],
    [1, 1, 512, 1, 1, 1, 1, 4, 2, 1, 1],
    [1, 1, 512, 1, 1, 1, 1, 4, 2, 2, 0],
    [1, 1, 512, 1, 1, 1, 1, 8, 3, 1, 0],
]


@pytest.fixture
def override(tmp_path):
    path = tmp_path / "rows.json"
    path.write_text(json.dumps({"triton": {"pointwise_reduction": ROWS}}))
    return path


def block(text, title) -> list:
    """The lines below the last line that starts with `title`, down to the next empty line, without indentation."""
    lines = text.splitlines()
    at = max(i for i, line in enumerate(lines) if line.strip().startswith(title))
    found = []
    for line in lines[at + 1:]:
        if not line:
            break
        found.append(line.strip())
    return found


def test_text(override):
    text = intent.explain(programs.define(SOFTMAX, "softmax"), "triton:sm_90", tuning_config=override)
    head, resident, chunked = text.split("\nvariant ")
    assert head == """kernel softmax for triton:sm_90

parameters:
  x      in f16 [M, N]
  y      out f16 [M, N]
  scale  f32 scalar
  n      i32 scalar

launch symbols:
  M   extent 0 of x
  N   extent 1 of x
  %n  scalar n

arguments may overlap:
  x and y: as the same elements, or not at all
"""
    assert resident.startswith("resident (1 of 2)\n  runs where         N <= 32768\n  family             pointwise_reduction: reductions, and a store along a reduced axis\n"
                               "  grid               ceil_div(M, BM)\n  coverage           CN = pow2_ceil(N)\n")
    assert chunked.startswith("chunked (2 of 2)\n  runs where         N > 32768\n")
    assert "coverage" not in chunked.splitlines()[4]
    assert f"rows of family pointwise_reduction in {override} (6 rows, 3 candidates):" in chunked


def test_the_fate_of_every_row(override):
    text = intent.explain(programs.define(SOFTMAX, "softmax"), "triton:sm_80", tuning_config=override)
    _, resident, chunked = text.split("\nvariant ")
    fates = [line.split("  ")[-1].strip() for line in block(chunked, "rows of family")]
    assert fates == [
        "fate",
        "kept: candidate 0",   # 3 projects to 2, 1000 to 512: the same tuple as row 1
        "merged with row 0: candidate 0",
        "rejected by provider_option: expected NUM_WARPS in [1, 2, 4, 8, 16, 32], got 5",
        "rejected by descriptor_form: expected USE_TENSOR_DESCRIPTOR 0, got 1: the target has no tensor descriptors",
        "rejected by provider_option: expected NUM_CTAS in [1], got 2",
        "kept: candidate 1",
    ]
    assert block(chunked, "rows of family")[0].split() == ["row", "ownership_m", "ownership_n", "reduction", "reduction_outer", "scan", "traversal_workers",
                                                          "traversal_group", "NUM_WARPS", "NUM_STAGES", "NUM_CTAS", "USE_TENSOR_DESCRIPTOR", "fate"]
    assert block(chunked, "rows of family")[1].split()[:12] == ["0", "3", "1", "1000", "1", "1", "1", "1", "4", "2", "1", "0"]
    assert [line.split() for line in block(chunked, "candidates:")] == [
        ["BM", "BN", "NUM_WARPS", "NUM_STAGES", "legal", "where"], ["0", "2", "512", "4", "2", "always"], ["1", "1", "512", "8", "3", "always"]]
    # The resident variant has no chunk and no loop of loads: stages are no option of it.
    assert [line.split()[:3] for line in block(resident, "candidates:")] == [["BM", "NUM_WARPS", "legal"], ["0", "2", "4"], ["1", "1", "8"]]


def test_default_table():
    text = intent.explain(programs.define(SOFTMAX, "softmax"), "triton:sm_90")
    assert text.count("kept: candidate") == 16 and "rejected" not in text
    assert f"in {native.table_paths()['triton']} (8 rows, 8 candidates)" in text


def test_no_legal_candidate_lists_the_rule_of_each_row(tmp_path):
    path = tmp_path / "rows.json"
    path.write_text(json.dumps({"triton": {"pointwise_reduction": ROWS[2:4]}}))
    with pytest.raises(intent.ConfigurationError) as caught:
        intent.explain(programs.define(SOFTMAX, "softmax"), "triton:sm_80", tuning_config=path)
    error = caught.value
    assert (error.source, error.family) == (str(path), "pointwise_reduction")
    assert [note.message for note in error.notes] == [
        "row 0: rule 'provider_option': expected NUM_WARPS in [1, 2, 4, 8, 16, 32], got 5",
        "row 1: rule 'descriptor_form': expected USE_TENSOR_DESCRIPTOR 0, got 1: the target has no tensor descriptors"]
    for compile_ in (intent.generate, intent.compile):
        with pytest.raises(intent.ConfigurationError, match="every row of family 'pointwise_reduction'"):
            compile_(programs.define(SOFTMAX, "softmax"), "triton:sm_80", tuning_config=path)


def test_a_program_without_lanes_and_without_parameters():
    scalars = programs.kernel('x: I.In[I.f32, (1,)], y: I.Out[I.f32, (1,)]', "y[0] = x[0] + 1.0")
    text = intent.explain(scalars, "host")
    assert "family      execution: no lanes: ordered scalar work" in text
    assert "runs where  always\n" in text and "grid        1\n" in text


def test_the_text_names_the_files_read_now(override, tmp_path):
    """A cached artifact would name the file of the compilation that made it."""
    k = programs.define(SOFTMAX, "softmax")
    intent.generate(k, "triton:sm_90", tuning_config=override)
    other = tmp_path / "other.json"
    other.write_bytes(override.read_bytes())
    assert f"in {other} (6 rows" in intent.explain(k, "triton:sm_90", tuning_config=other)


def test_errors_are_those_of_a_compilation():
    with pytest.raises(intent.LanguageError):
        intent.explain(programs.kernel('x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]', "y[:] = q"), "host")
    with pytest.raises(intent.ConfigurationError, match="unknown provider"):
        intent.explain(programs.define(SOFTMAX, "softmax"), "cuda")
    with pytest.raises(intent.TargetError) as caught:
        intent.explain(programs.define(SOFTMAX, "softmax"), "bangc:mtp_372")
    assert caught.value.category == "provider_surface"


def test_command_line(tmp_path, capsys, override):
    (tmp_path / "kernels.py").write_text("import intent\nimport intent.language as I\n" + SOFTMAX)
    assert cli.main(["explain", f"{tmp_path}/kernels.py:softmax", "--target", "triton:sm_90", "--tuning-config", str(override)]) == 0
    assert capsys.readouterr().out == intent.explain(programs.define(SOFTMAX, "softmax"), "triton:sm_90", tuning_config=override)
    override.write_text('{"triton": {"pointwise_reduction": []}}')
    assert cli.main(["explain", f"{tmp_path}/kernels.py:softmax", "--target", "triton:sm_90", "--tuning-config", str(override)]) == 1
    assert f"{override}: family 'pointwise_reduction': expected at least one row, got none" in capsys.readouterr().err


@pytest.mark.parametrize("text, written", [
    ('le("N", mul(4, BM))', "N <= 4 * BM"), ("7", "7"), ('"x.stride.0"', "x.stride.0"), ('add("M", add("N", 1))', "M + (N + 1)"), ('add(add("M", "N"), 1)', "M + N + 1"),
    ('sub("M", sub("N", 1))', "M - (N - 1)"), ('mul(add("M", 1), "N")', "(M + 1) * N"), ('add("M", mul("N", 2))', "M + N * 2"), ('not(le("N", 3))', "N > 3"),
    ('not(lt("N", 3))', "N >= 3"), ('not(eq("N", 3))', "N != 3"), ('le(4096, "N")', "N >= 4096"),
    ('not(le(3, "N"))', "N < 3"), ('lt(-1, add("N", 1))', "N + 1 > -1"), ('lt(1, 2)', "1 < 2"), ('not(not(eq("N", 3)))', "N == 3"), ('not(and("A", "B"))', "not (A and B)"),
    ('and(or("A", "B"), not("C"))', "(A or B) and not C"), ('not(not(and("A", "B")))', "(A and B)"), ('select(lt("A", 1), ceil_div("M", BM), max(1, -2))', "select(A < 1, ceil_div(M, BM), max(1, -2))"),
    ('eq(eq("A", 1), lt("B", 2))', "(A == 1) == (B < 2)"), ('floor_div(mod("A", 4), 2)', "A % 4 // 2"), ('mod("A", mul("B", 2))', "A % (B * 2)"),
])
def test_infix(text, written):
    assert infix(text) == written
    values = {name: value for name, value in zip("ABCMN", (5, 2, 1, 7, 11))}
    bound = {**values, "BM": 4}
    if "." in text or "select" in text or "ceil_div" in text:
        return
    computed = eval(written, {}, bound)  # Python reads the same precedence
    expected = parse(text).evaluate(values, {"BM": 4})
    logical = text.startswith(("and", "or", "not", "le", "lt", "eq"))
    assert (bool(computed) if logical else computed) == expected


def test_infix_of_no_expression():
    with pytest.raises(ExpressionError):
        infix("add(1")
