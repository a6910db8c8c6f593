"""Clauses of the owner's texts that no other test shows, and the table that says where each clause is implemented and tested."""
import ast
import json
import re

import numpy as np
import pytest

import intent
import programs
import test_triton_kernels
from compilation import REPOSITORY
from intent import native

PLACES = sorted(set(re.findall(r"`((?:[\w.-]+/)+[\w.-]+)(?:::(\w+))?`", (REPOSITORY / "docs/requirements.md").read_text())))
KERNELS = {case[0]: case[1] for case in test_triton_kernels.cases(np.random.default_rng(0))}


@pytest.mark.parametrize("place", PLACES, ids=[f"{path}::{name}" if name else path for path, name in PLACES])
def test_named_places_exist(place):
    path, name = place
    assert (REPOSITORY / path).exists()
    if name:
        defined = {node.name for node in ast.walk(ast.parse((REPOSITORY / path).read_text())) if isinstance(node, ast.FunctionDef)}
        assert name in defined


def test_every_clause_has_a_test_or_is_open():
    rows = [line for line in (REPOSITORY / "docs/requirements.md").read_text().splitlines() if line.startswith("| ")]
    for row in rows:
        clause, where, test = (cell.strip() for cell in row.strip("|").split("|"))
        assert clause == "clause" or "**open**" in row or (where and test), row


@pytest.mark.parametrize("name", KERNELS)
def test_kernel_ir_holds_nothing_physical(name):
    """Neither parameters nor a target: the kernel IR of a program is one text for every provider and architecture."""
    text = intent.compile_ir(KERNELS[name]).mlir
    assert text == intent.generate(KERNELS[name], "triton:sm_90").kir == intent.generate(KERNELS[name], "triton:gfx942").kir == intent.generate(KERNELS[name], "host").kir
    text = re.sub(r'"[^"]*\.py"', "", text)  # locations name the author's file
    assert "block." not in text and "param" not in text.replace("parameter", "")
    assert not re.search(r"sm_\d|gfx|triton|warp|stage", text)


ROW_SUM = """
@intent.kernel
def {kernel}({x}: I.In[I.f32, ("{M}", "N")], {y}: I.Out[I.f32, ("{M}",)]):
    {y}[:] = I.reduce.sum({x}[:, :], axis=1)
"""


def test_names_choose_no_family():
    """Two kernels that differ in names alone, some of which are those of other families, have the same configurations."""
    plain = dict(kernel="row_sum", x="x", y="y", M="M")
    other = dict(kernel="softmax_matmul_contraction", x="pointwise", y="scan", M="execution")
    found = []
    for names in (plain, other):
        metadata = intent.generate(programs.define(ROW_SUM.format(**names), names["kernel"]), "triton:sm_90").metadata
        found.append(([v["family"] for v in metadata["variants"]], [sorted(c["values"].values()) for c in metadata["candidates"]], [r["fate"] for r in metadata["rows"]]))
    assert found[0] == found[1]


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "gfx942"])
@pytest.mark.parametrize("name", KERNELS)
def test_candidates_come_from_rows(name, arch):
    """Every candidate is one row's values, projected; options are those of the row as they stand. No combination of two rows occurs."""
    metadata = intent.generate(KERNELS[name], f"triton:{arch}").metadata
    columns = metadata["columns"]
    parameters = {(p["variant"], p["symbol"]): p for p in metadata["parameters"]}
    assert len(metadata["candidates"]) == sum(row["fate"] == "kept" for row in metadata["rows"]) > 0
    for row in metadata["rows"]:
        if row["fate"] == "rejected":
            assert row["rule"] and row["reason"] and row["candidate"] is None
            continue
        [candidate] = [c for c in metadata["candidates"] if (c["variant"], c["index"]) == (row["variant"], row["candidate"])]
        request = dict(zip(columns, row["request"]))
        for symbol, value in candidate["values"].items():
            parameter = parameters[row["variant"], symbol]
            if parameter["column"] is None:
                assert [value] == parameter["domain"]
                continue
            wanted = request[parameter["column"]]
            if parameter["role"] == "provider":
                assert value == wanted
            else:
                assert value == max([v for v in parameter["domain"] if v <= wanted], default=parameter["domain"][0])


def test_rows_are_those_of_the_table():
    table = json.loads(open(native.table_paths()["triton"]).read())["triton"]
    metadata = intent.generate(KERNELS["softmax"], "triton:sm_90").metadata
    for variant in metadata["variants"]:
        assert [r["request"] for r in metadata["rows"] if r["variant"] == variant["name"]] == table[variant["family"]]


def test_compile_options_of_the_generated_module():
    """Fused multiply-add is the one permission that every kernel has; nothing flushes denormals."""
    source = intent.generate(KERNELS["softmax"], "triton:sm_90").source
    [options] = re.findall(r"^OPTIONS = (.*)$", source, re.MULTILINE)
    assert options == "dict(enable_fp_fusion=True, enable_reflect_ftz=False)"
