"""Table files: what is refused and how it is said, what an override replaces, what becomes of a row."""
import json

import pytest
from compilation import CONFIGURATION, HOST, SUCCESS, TRITON, compile_request, kernel_text, messages

ROW = [1, 1024, 64, 1, 64, 132, 8, 8, 3, 1, 0]
FAMILIES = ("region_contraction_narrow, region_contraction, persistent_contraction_narrow, persistent_contraction, contraction_narrow, contraction, scan, stateful_reduction, multi_axis_reduction, "
            "pointwise_reduction, reduction, pointwise_two_axis_narrow, pointwise_two_axis, pointwise_narrow, pointwise, execution")


def compile_with(tmp_path, text, override=None):
    table = tmp_path / "table.json"
    table.write_text(text if isinstance(text, str) else json.dumps(text))
    fields = {"tables": {"triton": str(table)}}
    if override is not None:
        path = tmp_path / "override.json"
        path.write_text(override if isinstance(override, str) else json.dumps(override))
        fields["tuning_config"] = str(path)
    return compile_request(text=kernel_text(), **fields)


def changed(column, value):
    row = list(ROW)
    row[column] = value
    return row


MALFORMED = [
    ("", "not JSON: unexpected EOF at line 1, column 1"),
    ("{", "not JSON: expected object key at line 1, column 2"),
    ('{"triton": {"pointwise": [[1,]]}}', "not JSON: invalid JSON value at line 1, column 31"),
    ("[]", "expected an object of providers, got a list"),
    ("{}", "expected at least one provider, got none"),
    ('{"triton": 3}', "provider 'triton': expected an object of families, got a number"),
    ('{"triton": {}}', "provider 'triton': expected at least one family, got none"),
    ('{"host": {"execution": [[1, 1, 1, 1, 1, 1, 1]]}}', "expected rows of provider 'triton', got none"),
    ('{"triton": {"pointwise": [[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1e999]]}}', "number '1e999' is not finite at line 1, column 58"),
    ('{"triton": {"pointwise": [[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1e999]]}}', "number '-1e999' is not finite at line 1, column 58"),
    ('{"triton": {}, "triton": {}}', "duplicate key 'triton' at line 1, column 16"),
    ('{"triton": {"pointwise": [], "point\\u0077ise": []}}', "duplicate key 'pointwise' at line 1, column 30"),
    ("[" * 20 + "]" * 20, "nested deeper than 8 levels at line 1, column 9"),
    ("[" * 100_000, "nested deeper than 8 levels at line 1, column 9"),
    ('{"triton": {"pointwise": [[NaN]]}}', "not JSON: invalid JSON value at line 1, column 29"),
]

MALFORMED_ROWS = [
    ({"cuda": {}}, None, None, None, "unknown provider 'cuda': expected triton, cutile, bangc or host"),
    ({"triton": {"matmul": [ROW]}}, "matmul", None, None, f"family 'matmul': unknown family of provider 'triton': expected one of {FAMILIES}"),
    ({"triton": {"block": [ROW]}}, "block", None, None, f"family 'block': unknown family of provider 'triton': expected one of {FAMILIES}"),
    ({"triton": {"pointwise": {}}}, "pointwise", None, None, "family 'pointwise': expected a list of rows, got an object"),
    ({"triton": {"pointwise": []}}, "pointwise", None, None, "family 'pointwise': expected at least one row, got none"),
    ({"triton": {"pointwise": [ROW] * 1025}}, "pointwise", None, None, "family 'pointwise': expected at most 1024 rows, got 1025"),
    ({"triton": {"pointwise": [7]}}, "pointwise", 0, None, "family 'pointwise', row 0: expected a list of 11 integers, got a number"),
    ({"triton": {"pointwise": [ROW, ROW[:10]]}}, "pointwise", 1, None, "family 'pointwise', row 1: expected 11 values, got 10"),
    ({"triton": {"pointwise": [ROW + [1]]}}, "pointwise", 0, None, "family 'pointwise', row 0: expected 11 values, got 12"),
    ({"triton": {"pointwise": [changed(0, "1")]}}, "pointwise", 0, "ownership_m", "family 'pointwise', row 0, column 'ownership_m': expected an integer from 1 to 1073741824, got \"1\""),
    ({"triton": {"pointwise": [changed(1, 1.5)]}}, "pointwise", 0, "ownership_n", "family 'pointwise', row 0, column 'ownership_n': expected an integer from 1 to 1073741824, got 1.5"),
    ({"triton": {"pointwise": [changed(2, True)]}}, "pointwise", 0, "reduction", "family 'pointwise', row 0, column 'reduction': expected an integer from 1 to 1073741824, got true"),
    ({"triton": {"pointwise": [changed(3, None)]}}, "pointwise", 0, "reduction_outer", "family 'pointwise', row 0, column 'reduction_outer': expected an integer from 1 to 1073741824, got null"),
    ({"triton": {"pointwise": [changed(4, [1])]}}, "pointwise", 0, "scan", "family 'pointwise', row 0, column 'scan': expected an integer from 1 to 1073741824, got a list"),
    ({"triton": {"pointwise": [changed(5, 0)]}}, "pointwise", 0, "traversal_workers", "family 'pointwise', row 0, column 'traversal_workers': expected an integer from 1 to 1073741824, got 0"),
    ({"triton": {"pointwise": [changed(6, -4)]}}, "pointwise", 0, "traversal_group", "family 'pointwise', row 0, column 'traversal_group': expected an integer from 1 to 1073741824, got -4"),
    ({"triton": {"pointwise": [changed(7, 65)]}}, "pointwise", 0, "NUM_WARPS", "family 'pointwise', row 0, column 'NUM_WARPS': expected an integer from 1 to 64, got 65"),
    ({"triton": {"pointwise": [changed(8, 10**30)]}}, "pointwise", 0, "NUM_STAGES", "family 'pointwise', row 0, column 'NUM_STAGES': expected an integer from 1 to 16, got 1e+30"),
    ({"triton": {"pointwise": [changed(9, 17)]}}, "pointwise", 0, "NUM_CTAS", "family 'pointwise', row 0, column 'NUM_CTAS': expected an integer from 1 to 16, got 17"),
    ({"triton": {"pointwise": [changed(10, 2)]}}, "pointwise", 0, "USE_TENSOR_DESCRIPTOR", "family 'pointwise', row 0, column 'USE_TENSOR_DESCRIPTOR': expected 0 or 1, got 2"),
    ({"triton": {"pointwise": [ROW, changed(0, 2), ROW]}}, "pointwise", 2, None, "family 'pointwise', row 2: repeats row 0"),
    ({"bangc": {"block": [[1, 2, 3, 4, 5, 6]]}}, "block", 0, None, "family 'block', row 0: expected 7 values, got 6"),
    ({"cutile": {"pointwise": [[1] * 10 + [3, 1]]}}, "pointwise", 0, "CUTILE_ACCESS_FORM", "family 'pointwise', row 0, column 'CUTILE_ACCESS_FORM': expected an integer from 1 to 2, got 3"),
]


@pytest.mark.parametrize("text, expected", MALFORMED)
def test_malformed_file(tmp_path, text, expected):
    status, fields = compile_with(tmp_path, text)
    assert status == CONFIGURATION
    assert f"{tmp_path}/table.json: {expected}" in messages(fields)
    assert fields["diagnostics"][0]["error"] == "ConfigurationError"
    assert fields["diagnostics"][0]["details"]["source"] == f"{tmp_path}/table.json"


@pytest.mark.parametrize("table, family, row, column, expected", MALFORMED_ROWS)
def test_malformed_row(tmp_path, default_table, table, family, row, column, expected):
    status, fields = compile_with(tmp_path, default_table, override=table)
    assert status == CONFIGURATION
    assert messages(fields) == [f"{tmp_path}/override.json: {expected}"]
    assert fields["diagnostics"][0]["details"] == {"source": f"{tmp_path}/override.json", "family": family, "row": row, "column": column}


def test_every_error_of_a_file_is_listed(tmp_path):
    status, fields = compile_with(tmp_path, {"triton": {"pointwise": [[1], changed(0, 0)], "nope": [], "squeeze": [ROW]}, "cuda": 1})
    assert status == CONFIGURATION
    assert [m.split("table.json: ")[1].split(":")[0] for m in messages(fields)] == [
        "unknown provider 'cuda'", "family 'nope'", "family 'pointwise', row 0", "family 'pointwise', row 1, column 'ownership_m'", "family 'squeeze'"]


@pytest.mark.parametrize("path, expected", [
    ("missing.json", "cannot be read: no such file or directory"),
    (".", "cannot be read: expected a regular file"),
    ("/dev/zero", "cannot be read: expected a regular file"),
])
def test_unreadable_file(tmp_path, path, expected):
    status, fields = compile_request(text=kernel_text(), tuning_config=str(tmp_path / path))
    assert status == CONFIGURATION
    assert messages(fields) == [f"{tmp_path / path}: {expected}"]


def test_huge_file(tmp_path):
    status, fields = compile_with(tmp_path, " " * (1 << 20) + "{}")
    assert status == CONFIGURATION
    assert messages(fields) == [f"{tmp_path}/table.json: expected at most 1048576 bytes, got 1048578"]


@pytest.fixture
def default_table():
    from compilation import REPOSITORY

    return (REPOSITORY / "lib" / "Target" / "Triton" / "tuning.json").read_text()


@pytest.mark.parametrize("provider, columns", [("Triton", 11), ("Host", 7)])
def test_default_tables_are_small_and_whole(provider, columns):
    from compilation import REPOSITORY

    table = json.loads((REPOSITORY / "lib" / "Target" / provider / "tuning.json").read_text())[provider.lower()]
    assert ", ".join(table) == FAMILIES
    for rows in table.values():
        assert 1 <= len(rows) <= 8 and all(len(row) == columns for row in rows)


# One reduced axis of 16 to 4096 lanes under rows; the block program names the columns it takes.
ROWS_PROGRAM = """
module attributes {block.target = #block.target<"triton", "sm_90", {fragment_elements = 65536 : i64, max_warps = 32 : i64, max_ctas = 8 : i64}>} {
block.kernel @k interface [#block.view_argument<"x", f32, ["M", "N"], in>, #block.view_argument<"y", f32, ["M"], out>] checks [] overlaps [] {
  block.program @main privates ["M", "N"] parameters [
      #block.parameter<"BM", ownership, int domain = [1, 2, 4, 8, 16] column = "ownership_m">,
      #block.parameter<"BN", reduction, int domain = [16, 64, 256, 1024, 4096] column = "reduction">,
      #block.parameter<"F", group, int domain = [3]>]
      (%x: !block.view<f32, 2>, %y: !block.view<f32, 1>, %M: index, %N: index) {
    block.group size(ceil_div("M", BM)) {
    ^bb0(%p: index):
      %c0 = block.constant 0 : index : index
      %c1 = block.constant 1 : index : index
      %true = block.constant true : i1
      %zero = block.constant 0.0 : f32 : f32
      %bn = block.param BN
      %m = block.lanes %p step %c1 : !block.fragment<index, [BM]>
      %init = block.broadcast %zero [] : f32 to !block.fragment<f32, [BM]>
      %sum = scf.for %n0 = %c0 to %N step %bn iter_args(%acc = %init) -> (!block.fragment<f32, [BM]>) {
        %n = block.lanes %n0 step %c1 : !block.fragment<index, [BN]>
        %v = block.load %x[%m, %n] valid(%true) fill %zero coordinate_axes [[0], [1]] valid_axes [[]] : !block.view<f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BN]>) valid (i1) fill f32 -> !block.fragment<f32, [BM, BN]>
        %r = block.reduce(%v) identity(%zero) axis 1 {
        ^bb0(%a: f32, %b: f32):
          %t = block.binary add %a, %b : f32
          block.yield %t : f32
        } : (!block.fragment<f32, [BM, BN]>) -> (!block.fragment<f32, [BM]>) identities (f32)
        %s = block.binary add %acc, %r : !block.fragment<f32, [BM]>
        scf.yield %s : !block.fragment<f32, [BM]>
      }
      block.store %sum to %y[%m] valid(%true) coordinate_axes [[0]] valid_axes [[]] : !block.fragment<f32, [BM]>, !block.view<f32, 1>, (!block.fragment<index, [BM]>) valid (i1)
    }
  }
}
}
"""


def candidates(tmp_path, rows, text=ROWS_PROGRAM, family="reduction", **request):
    """(candidate tuples, row fates) of a program under rows of one family."""
    path = tmp_path / "override.json"
    path.write_text(json.dumps({"triton": {family: rows}}))
    status, fields = compile_request(text=text, tuning_config=str(path), **{"target": None, **request})
    assert status == SUCCESS, fields["diagnostics"]
    metadata = json.loads(fields["metadata"])
    fates = [(r["fate"], r["candidate"], r["rule"]) for r in metadata["rows"]]
    return [c["values"] for c in metadata["candidates"]], fates


def test_projection_takes_the_largest_legal_value_below(tmp_path):
    values, fates = candidates(tmp_path, [
        [3, 9, 1024, 9, 9, 9, 9, 4, 2, 1, 0],    # 3 -> 2
        [100, 9, 5000, 9, 9, 9, 9, 8, 2, 1, 0],  # above the domain: its largest
        [1, 9, 2, 9, 9, 9, 9, 8, 3, 1, 0],       # below the domain: its smallest
    ])
    assert values == [
        {"BM": 2, "BN": 1024, "F": 3, "NUM_WARPS": 4, "NUM_STAGES": 2},
        {"BM": 16, "BN": 4096, "F": 3, "NUM_WARPS": 8, "NUM_STAGES": 2},
        {"BM": 1, "BN": 16, "F": 3, "NUM_WARPS": 8, "NUM_STAGES": 3},
    ]
    assert fates == [("kept", 0, None), ("kept", 1, None), ("kept", 2, None)]


def test_equal_rows_merge_in_order(tmp_path):
    values, fates = candidates(tmp_path, [
        [2, 1, 1024, 1, 1, 1, 1, 4, 2, 1, 0],
        [4, 1, 1024, 1, 1, 1, 1, 4, 2, 1, 0],
        [3, 7, 1500, 7, 7, 7, 7, 4, 2, 1, 0],
    ])
    assert [v["BM"] for v in values] == [2, 4]
    assert fates == [("kept", 0, None), ("kept", 1, None), ("merged", 0, None)]


def test_rejected_rows_name_their_rule(tmp_path):
    values, fates = candidates(tmp_path, [
        [1, 1, 64, 1, 1, 1, 1, 3, 2, 1, 0],
        [1, 1, 64, 1, 1, 1, 1, 4, 2, 16, 0],
        [1, 1, 64, 1, 1, 1, 1, 4, 2, 2, 0],
        [1, 1, 64, 1, 1, 1, 1, 4, 2, 1, 1],
        [1, 1, 64, 1, 1, 1, 1, 4, 2, 1, 0],
    ])
    assert values == [{"BM": 1, "BN": 64, "F": 3, "NUM_WARPS": 4, "NUM_STAGES": 2}]
    assert fates == [("rejected", None, "provider_option"), ("rejected", None, "provider_option"), ("rejected", None, "multi_cta_reduction"),
                     ("rejected", None, "descriptor_form"), ("kept", 0, None)]


def test_no_legal_candidate_never_falls_back(tmp_path):
    path = tmp_path / "override.json"
    path.write_text(json.dumps({"triton": {"reduction": [[1, 1, 64, 1, 1, 1, 1, 4, 2, 1, 1], [1, 1, 64, 1, 1, 1, 1, 5, 2, 1, 0]]}}))
    status, fields = compile_request(text=ROWS_PROGRAM, target=None, tuning_config=str(path))
    assert status == CONFIGURATION
    [entry] = fields["diagnostics"]
    assert entry["message"] == f"no legal candidate for program 'main': every row of family 'reduction' in {path} is rejected"
    assert entry["details"] == {"source": str(path), "family": "reduction"}
    assert [note["message"] for note in entry["notes"]] == [
        "row 0: rule 'descriptor_form': expected USE_TENSOR_DESCRIPTOR 0, got 1: the program's accesses have no descriptor form",
        "row 1: rule 'provider_option': expected NUM_WARPS in [1, 2, 4, 8, 16, 32], got 5",
    ]
    assert "block.kernel" in fields["failed_input"]


def test_an_override_replaces_whole_families_of_its_provider_only(tmp_path):
    override = {"triton": {"pointwise": [ROW]}, "host": {"reduction": [[1, 1, 16, 1, 1, 1, 1]]}}
    path = tmp_path / "override.json"
    path.write_text(json.dumps(override))
    status, fields = compile_request(text=ROWS_PROGRAM, target=None, tuning_config=str(path))
    assert status == SUCCESS
    assert len(json.loads(fields["metadata"])["rows"]) == 8  # the default rows of `reduction`
    host = ROWS_PROGRAM.replace('"triton", "sm_90"', '"host", "native"')
    status, fields = compile_request(text=host, target=None, tuning_config=str(path))
    assert status == SUCCESS
    assert [c["values"] for c in json.loads(fields["metadata"])["candidates"]] == [{"BM": 1, "BN": 16, "F": 3}]


def test_a_row_that_the_call_can_make_too_large_says_when(tmp_path):
    status, fields = compile_request(text=kernel_text())
    assert status == SUCCESS, fields["diagnostics"]
    conditions = {(c["values"]["BM"], c["where"]) for c in json.loads(fields["metadata"])["candidates"] if c["variant"] == "resident"}
    assert {(1, None), (4, 'le("N", 16384)'), (8, 'le("N", 8192)')} <= conditions


def test_host_and_triton_defaults_leave_candidates_for_every_target():
    for arch in ("sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"):
        status, fields = compile_request(text=kernel_text(), target={"provider": "triton", "arch": arch})
        assert status == SUCCESS, (arch, fields["diagnostics"])
        assert len(json.loads(fields["metadata"])["candidates"]) >= 4
    status, fields = compile_request(text=kernel_text(), target=HOST)
    assert status == SUCCESS
    assert TRITON["provider"] != json.loads(fields["metadata"])["target"]["provider"] == "host"


def test_rows_give_way_where_none_fits(tmp_path):
    """Rows whose fragments are too large for the target narrow, the widest parameter first; rows illegal for another reason stay out."""
    small = ROWS_PROGRAM.replace("fragment_elements = 65536", "fragment_elements = 512")
    rows = [[16, 1, 4096, 1, 1, 1, 1, 4, 2, 1, 0], [16, 1, 4096, 1, 1, 1, 1, 5, 2, 1, 0], [8, 1, 4096, 1, 1, 1, 1, 8, 2, 1, 0]]
    path = tmp_path / "override.json"
    path.write_text(json.dumps({"triton": {"reduction": rows}}))
    status, fields = compile_request(text=small, target=None, tuning_config=str(path))
    assert status == SUCCESS, fields["diagnostics"]
    metadata = json.loads(fields["metadata"])
    assert [(c["values"]["BM"], c["values"]["BN"]) for c in metadata["candidates"]] == [(16, 16), (8, 64)]  # 16 * 64 is above 512, 8 * 64 is not
    assert [(r["fate"], r["rule"]) for r in metadata["rows"]] == [("kept", "adjusted"), ("rejected", "provider_option"), ("kept", "adjusted")]
    assert all("expected at most 512 words" in r["reason"] for r in metadata["rows"] if r["rule"] == "adjusted")
