"""The table schema of each provider, column by column, and the public API's errors about tables."""
import json

import pytest

import intent
import programs
from compilation import CONFIGURATION, HOST, SUCCESS, TRITON, compile_request, kernel_text, messages
from intent import native

GRANULARITY = (1, 2**30)
SHARED = {name: GRANULARITY for name in ("ownership_m", "ownership_n", "reduction", "reduction_outer", "scan", "traversal_workers", "traversal_group")}
# provider -> (a family, {column: (least, greatest)} in order), as docs/tuning.md and the owner's text have them
SCHEMAS = {
    "triton": ("pointwise", {**SHARED, "NUM_WARPS": (1, 64), "NUM_STAGES": (1, 16), "NUM_CTAS": (1, 16), "USE_TENSOR_DESCRIPTOR": (0, 1)}),
    "cutile": ("pointwise", {**SHARED, "CUTILE_CTAS": (1, 16), "CUTILE_WORKER_WARPS": (1, 8), "CUTILE_OCCUPANCY": (1, 32), "CUTILE_ACCESS_FORM": (1, 2),
                             "CUTILE_LOAD_POLICY": (1, 3)}),
    "host": ("pointwise", SHARED),
    "bangc": ("block", {name: GRANULARITY for name in ("tile", "tile_m", "tile_n", "tile_k", "region_tile", "tasks", "local_bytes")}),
}
COLUMNS = [(provider, column) for provider, (_, columns) in SCHEMAS.items() for column in columns]
EITHER_TARGET = pytest.mark.parametrize("target", [TRITON, HOST], ids=["triton", "host"])


def least(provider) -> list:
    return [low for low, _ in SCHEMAS[provider][1].values()]


def read(tmp_path, provider, rows, target=TRITON):
    """The result of a compilation with these rows as an override. Providers other than the target's are checked and unused."""
    path = tmp_path / "override.json"
    path.write_text(json.dumps({provider: {SCHEMAS[provider][0]: rows}}))
    return compile_request(text=kernel_text(), target=target, tuning_config=str(path))


def expected_range(low, high) -> str:
    return "0 or 1" if (low, high) == (0, 1) else f"an integer from {low} to {high}"


@pytest.mark.parametrize("provider, column", COLUMNS)
def test_each_column_takes_its_range(tmp_path, provider, column):
    names = list(SCHEMAS[provider][1])
    low, high = SCHEMAS[provider][1][column]
    at = names.index(column)
    for value in (low, high):
        row = least(provider)
        row[at] = value
        status, fields = read(tmp_path, provider, [row])
        assert status == SUCCESS, (value, fields["diagnostics"])
    for value, shown in ((low - 1, low - 1), (high + 1, high + 1), (2**63, "9.2233720368547758e+18"), (-2**63, -2**63), ("1", '"1"'), (True, "true"), (None, "null"), (1.5, 1.5),
                         ([1], "a list"), ({}, "an object")):
        row = least(provider)
        row[at] = value
        status, fields = read(tmp_path, provider, [least(provider)[:at] + [high] + least(provider)[at + 1:], row])
        assert status == CONFIGURATION
        family = SCHEMAS[provider][0]
        [entry] = fields["diagnostics"]
        assert entry["details"] == {"source": f"{tmp_path}/override.json", "family": family, "row": 1, "column": column}
        assert entry["message"].startswith(f"{tmp_path}/override.json: family '{family}', row 1, column '{column}': expected {expected_range(low, high)}, got ")
        if isinstance(value, int) and abs(value) >= 2**63:
            continue  # how a number that no integer type holds is shown is not fixed
        assert entry["message"].endswith(f"got {shown}"), entry["message"]


@EITHER_TARGET
@pytest.mark.parametrize("provider", SCHEMAS)
def test_row_shapes(tmp_path, provider, target):
    family, columns = SCHEMAS[provider]
    good = least(provider)
    for rows, row, message in (([good, good[:-1]], 1, f"expected {len(columns)} values, got {len(columns) - 1}"), ([good + [1]], 0, f"expected {len(columns)} values, got {len(columns) + 1}"),
                               ([[]], 0, f"expected {len(columns)} values, got 0"), ([good, good], 1, "repeats row 0"), ([good, {"a": 1}], 1, f"expected a list of {len(columns)} integers, got an object"),
                               ([], None, "expected at least one row, got none"), ({"row": good}, None, "expected a list of rows, got an object")):
        status, fields = read(tmp_path, provider, rows, target)
        assert status == CONFIGURATION
        place = f"family '{family}'" + (f", row {row}" if row is not None else "")
        assert messages(fields) == [f"{tmp_path}/override.json: {place}: {message}"]


@EITHER_TARGET
@pytest.mark.parametrize("provider", SCHEMAS)
def test_families_of_another_execution_model_are_unknown(tmp_path, provider, target):
    path = tmp_path / "override.json"
    wrong = "pointwise" if provider == "bangc" else "block"
    path.write_text(json.dumps({provider: {wrong: [least(provider)]}}))
    status, fields = compile_request(text=kernel_text(), target=target, tuning_config=str(path))
    assert status == CONFIGURATION
    assert messages(fields)[0].startswith(f"{path}: family '{wrong}': unknown family of provider '{provider}': expected one of ")


def test_interface_lists_the_columns():
    for provider, target in (("triton", TRITON), ("host", HOST)):
        status, fields = compile_request(text=kernel_text(), target=target)
        assert status == SUCCESS and json.loads(fields["metadata"])["columns"] == list(SCHEMAS[provider][1])


SCALE = 'x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]', "y[:] = 2.0 * x[:]"


@pytest.mark.parametrize("compile_", [intent.compile, intent.generate, intent.compile_shared_gpu, intent.explain], ids=lambda f: f.__name__)
def test_public_errors_carry_the_place(tmp_path, compile_):
    path = tmp_path / "rows.json"
    path.write_text(json.dumps({"triton": {"pointwise": [least("triton"), [1] * 7 + [3, 1, 1, 2]]}}))
    with pytest.raises(intent.ConfigurationError) as caught:
        compile_(programs.kernel(*SCALE), "triton:sm_90", tuning_config=path)
    error = caught.value
    assert (error.source, error.family, error.row, error.column) == (str(path), "pointwise", 1, "USE_TENSOR_DESCRIPTOR")
    assert str(error) == f"{path}: family 'pointwise', row 1, column 'USE_TENSOR_DESCRIPTOR': expected 0 or 1, got 2"


@pytest.mark.parametrize("content, message", [(None, "cannot be read: No such file"), ("", "not JSON"), ("[" * 100000, "nested deeper"), ('{"triton": {"pointwise": [[1, 1]], "pointwise": []}}', "duplicate key")])
def test_files_that_are_no_tables(tmp_path, content, message):
    path = tmp_path / "rows.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(intent.ConfigurationError, match=message) as caught:
        intent.generate(programs.kernel(*SCALE), "triton:sm_90", tuning_config=path)
    assert caught.value.source == str(path)


def test_paths_that_are_no_files(tmp_path):
    for path in (tmp_path, "/dev/zero", "a\0b", tmp_path / ("x" * 300)):
        with pytest.raises(intent.ConfigurationError):
            intent.generate(programs.kernel(*SCALE), "triton:sm_90", tuning_config=path)
    with pytest.raises(intent.ConfigurationError, match="tuning_config is a path, not int"):
        intent.generate(programs.kernel(*SCALE), "triton:sm_90", tuning_config=3)


def test_a_broken_default_table_is_an_error(monkeypatch, tmp_path):
    """Nothing falls back to another table."""
    path = tmp_path / "triton.json"
    monkeypatch.setattr(native, "table_paths", lambda: {"triton": str(path)})
    for content in ("{}", '{"host": {"pointwise": [[1, 1, 1, 1, 1, 1, 1]]}}', '{"triton": {"execution": [[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0]]}}'):
        path.write_text(content)
        with pytest.raises(intent.ConfigurationError) as caught:
            intent.generate(programs.kernel(*SCALE), "triton:sm_90")
        assert str(path) in str(caught.value) or "has no rows of family 'pointwise'" in str(caught.value)


def test_tables_in_the_build_tree_are_those_of_the_sources():
    """An edit of lib/Target/<Provider>/tuning.json takes effect without a build."""
    from compilation import REPOSITORY, build_directory

    for provider, room in (("triton", "Triton"), ("host", "Host")):
        assert (build_directory() / "tables" / f"{provider}.json").resolve() == REPOSITORY / "lib" / "Target" / room / "tuning.json"
