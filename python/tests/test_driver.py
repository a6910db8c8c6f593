"""The compiler library's own contract: requests, targets, stages, error classes; and that no input ends the process."""
import json
import random
import subprocess
import threading

import pytest
from compilation import (CONFIGURATION, HOST, INTERNAL, LANGUAGE, REPOSITORY, SUCCESS, TARGET, TRITON, build_directory, compile_bytes, compile_request, kernel_text,
                         messages)


def test_kir_is_canonical_and_replays():
    status, fields = compile_request(emit="kir", text=kernel_text(), target=None)
    assert status == SUCCESS and fields["diagnostics"] == []
    again = compile_request(emit="kir", text=fields["kir"], target=None)[1]["kir"]
    assert again.count("kir.reduce") == fields["kir"].count("kir.reduce") == 2
    assert compile_request(emit="kir", text=again, target=None)[1]["kir"] == again


def test_source_and_metadata():
    status, fields = compile_request(emit="source", text=kernel_text())
    assert status == SUCCESS, fields["diagnostics"]
    assert "@triton.jit" in fields["source"] and "kir.kernel" in fields["kir"] and "block.kernel" in fields["mlir"]
    metadata = json.loads(fields["metadata"])
    assert metadata["name"] == "softmax" and metadata["target"]["arch"] == "sm_90"
    assert metadata["params"][0] == {"kind": "view", "name": "x", "access": "in", "dtype": "f16", "shape": ['"M"', '"N"'], "strides": None, "alias": None, "noalias": False}
    assert metadata["symbols"] == [{"name": "M", "param": "x", "axis": 0}, {"name": "N", "param": "x", "axis": 1}]
    assert metadata["overlaps"] == [{"lhs": "x", "rhs": "y", "permission": "identical_or_disjoint"}]
    assert {v["family"] for v in metadata["variants"]} == {"pointwise_reduction"}


def test_the_host_product_is_the_block_program():
    status, fields = compile_request(emit="source", text=kernel_text(), target=HOST)
    assert status == SUCCESS, fields["diagnostics"]
    assert fields["source"] == fields["mlir"] and "configurations" in fields["mlir"]


def test_a_block_program_is_compiled_from_its_text():
    first = compile_request(emit="block", text=kernel_text())[1]
    status, fields = compile_request(emit="source", text=first["mlir"], target=None)
    assert status == SUCCESS, fields["diagnostics"]
    direct = compile_request(emit="source", text=kernel_text())[1]["source"]
    assert fields["source"].count("\n") == direct.count("\n")  # only names that the text does not carry may differ
    status, fields = compile_request(emit="source", text=first["mlir"], target=HOST)
    assert status == CONFIGURATION and messages(fields) == ["the text is for target 'triton:sm_90', the request for 'host:native'"]


def test_stages_are_dumped_and_replayed():
    status, fields = compile_request(text=kernel_text(), dump=["kir-to-block"], extra_fields=["stage:kir-to-block"])
    assert status == SUCCESS
    dumped = fields["stage:kir-to-block"]
    assert "block.program" in dumped and "configurations" not in dumped
    status, replayed = compile_request(emit="stage", stage="block-materialize-configurations", text=dumped, target=None)
    assert status == SUCCESS, replayed["diagnostics"]
    assert "configurations #block.configurations" in replayed["mlir"]
    status, fields = compile_request(emit="stage", stage="polish", text=dumped, target=None)
    assert status == LANGUAGE and messages(fields) == ["request: field 'stage': unknown stage 'polish'"]


# --- targets ------------------------------------------------------------------------------------------------------------------------

BAD_TARGETS = [
    ({"provider": "cuda", "arch": "sm_90"}, "unknown provider 'cuda' of the target: expected triton, cutile, bangc or host"),
    ({"provider": "triton", "arch": "sm_91"}, "unknown architecture 'sm_91' of target 'triton': expected one of sm_80, sm_86, sm_89, sm_90, sm_100, sm_103, sm_120, gfx90a, gfx942, gfx950, gfx1100, gfx1201"),
    ({"provider": "cutile", "arch": "gfx942"}, "unknown architecture 'gfx942' of target 'cutile': expected one of sm_80, sm_86, sm_89, sm_90, sm_100, sm_103, sm_120"),
    ({"provider": "bangc", "arch": ""}, "unknown architecture '' of target 'bangc': expected one of mtp_372, mtp_592"),
    ({"provider": "host", "arch": "avx"}, "unknown architecture 'avx' of target 'host': expected one of native"),
    ({"provider": "triton", "arch": "sm_90", "features": {"tma": 1}}, "unknown feature 'tma' of target 'triton'"),
    ({"provider": "triton", "arch": "sm_90", "features": {"max_warps": "8"}}, "feature 'max_warps' of target 'triton': expected an integer from 0 to 2^62"),
    ({"provider": "triton", "arch": "sm_90", "features": {"max_warps": -1}}, "feature 'max_warps' of target 'triton': expected an integer from 0 to 2^62"),
    ({"provider": "triton", "arch": "sm_90", "features": {"descriptors": 1}}, "feature 'descriptors' of target 'triton': expected true or false"),
    ({"provider": "triton", "arch": "sm_90", "features": {"atomic_add": [1]}}, "feature 'atomic_add' of target 'triton': expected a list of strings, or one string with commas"),
    (None, "the request names no target"),
]


@pytest.mark.parametrize("target, expected", BAD_TARGETS)
def test_bad_target(target, expected):
    status, fields = compile_request(text=kernel_text(), target=target)
    assert status == CONFIGURATION
    assert messages(fields) == [expected]


def test_features_override_single_facts_and_are_part_of_the_program():
    status, fields = compile_request(text=kernel_text(), target={**TRITON, "features": {"max_warps": 4, "atomic_add": "f32, i32", "descriptors": False}})
    assert status == SUCCESS, fields["diagnostics"]
    metadata = json.loads(fields["metadata"])
    assert metadata["target"]["features"]["atomic_add"] == ["f32", "i32"] and metadata["target"]["features"]["descriptors"] is False
    assert all(c["values"]["NUM_WARPS"] <= 4 for c in metadata["candidates"])
    assert "max_warps = 4 : i64" in fields["mlir"]


# --- requests -----------------------------------------------------------------------------------------------------------------------

GOOD = {"schema": 1, "emit": "kir", "text": "module {}"}
BAD_REQUESTS = [
    (b"", "request: not JSON: unexpected EOF at line 1, column 1"),
    (b"[]", "request: expected an object, got a list"),
    (b'{"schema": 1, "schema": 1}', "request: duplicate key 'schema' at line 1, column 15"),
    (b"\xff\xfe", "request: not JSON: invalid UTF-8 sequence at line 1, column 1"),
    (b"[" * 1_000_000, "request: nested deeper than 64 levels at line 1, column 65"),
    ({**GOOD, "schema": 2}, "request: field 'schema': expected 1, got 2"),
    ({"emit": "kir", "text": "module {}"}, "request: field 'schema': expected 1, but it is missing"),
    ({**GOOD, "emit": "ptx"}, "request: field 'emit': expected \"kir\", \"block\", \"source\" or \"stage\", got \"ptx\""),
    ({**GOOD, "colour": 1}, "request: unknown field 'colour' of the request"),
    ({**GOOD, "target": []}, "request: field 'target': expected an object or null, got a list"),
    ({**GOOD, "target": {"provider": 1}}, "request: field 'target.provider': expected a string, got 1"),
    ({**GOOD, "target": {"provider": "host", "os": "x"}}, "request: unknown field 'os' of the target"),
    ({**GOOD, "options": {"numerics": "fast"}}, "request: field 'options.numerics': expected \"source\" or \"relaxed_normalization\", got \"fast\""),
    ({**GOOD, "options": {"check": 1}}, "request: field 'options.check': expected true or false, got 1"),
    ({**GOOD, "options": {"speed": 1}}, "request: unknown field 'speed' of the options"),
    ({**GOOD, "tables": {"cuda": "x"}}, "request: unknown provider 'cuda' in field 'tables'"),
    ({**GOOD, "tables": {"host": 1}}, "request: field 'tables.host': expected a path, got 1"),
    ({**GOOD, "tuning_config": 4}, "request: field 'tuning_config': expected a string or null, got 4"),
    ({**GOOD, "text": 4}, "request: field 'text': expected a string or null, got 4"),
    ({**GOOD, "stage": "x"}, "request: field 'stage' needs emit \"stage\""),
    ({**GOOD, "emit": "stage"}, "request: emit \"stage\" needs field 'stage'"),
    ({**GOOD, "dump": [1]}, "request: field 'dump': expected a list of stage names, got 1"),
    ({**GOOD, "text": "(" * 300}, "request: field 'text': nested deeper than 256 levels at line 1"),
    ({**GOOD, "text": "module {\n#m = affine_map<(d0) -> (d0)>}"}, "request: field 'text': 'affine_map' has no place in this IR at line 2"),
    ({**GOOD, "text": "ML\u00efR"}, None),
]


@pytest.mark.parametrize("request_, expected", BAD_REQUESTS)
def test_bad_request(request_, expected):
    data = request_ if isinstance(request_, bytes) else json.dumps(request_).encode()
    status, fields = compile_bytes(data)
    assert status == LANGUAGE
    assert fields["diagnostics"][0]["error"] == "LanguageError"
    if expected is not None:
        assert messages(fields)[0] == expected


def test_errors_in_text_have_their_place():
    text = 'module {\n  kir.kernel @k(%x: !kir.view<f16, ["N"], in> {kir.name = "x"}) {\n    kir.nothing\n  }\n}\n'
    status, fields = compile_request(emit="kir", text=text, target=None)
    assert status == LANGUAGE
    [entry] = fields["diagnostics"]
    assert (entry["file"], entry["line"], entry["column"], entry["category"]) == ("<text>", 3, 5, None)


def test_an_illegal_program_is_a_target_error_with_its_category():
    # An in-place shift: each instance would read what another writes, and one alone may not do so much.
    text = """
    module {
      kir.kernel @shift(%x: !kir.view<f32, [1000000], inout> {kir.name = "x"}) {
        %c0 = kir.constant 0 : index : index
        %c1 = kir.constant 1 : index : index
        %n = kir.constant 1000000 : index : index
        %d = kir.domain %c0 to %n step %c1 : !kir.domain<1000000>
        %i = kir.indices %d : !kir.domain<1000000> -> !kir.tensor<index, [1000000]>
        %ones = kir.broadcast %c1 [] : index to !kir.tensor<index, [1000000]>
        %j = kir.binary add %i, %ones : !kir.tensor<index, [1000000]>
        %v = kir.read %x[%j : !kir.tensor<index, [1000000]>] : !kir.view<f32, [1000000], inout> -> !kir.tensor<f32, [1000000]>
        kir.write %v to %x[%d : !kir.domain<1000000>] : !kir.tensor<f32, [1000000]>, !kir.view<f32, [1000000], inout>
        kir.return
      }
    }
    """
    status, fields = compile_request(text=text)
    assert status == TARGET, fields["diagnostics"]
    assert fields["diagnostics"][0]["category"] == "shared_gpu" and fields["diagnostics"][0]["line"]
    assert "kir.kernel" in fields["failed_input"]


F8_COPY = """
module {
  kir.kernel @copy(%x: !kir.view<f8E4M3FN, ["N"], in> {kir.name = "x"}, %y: !kir.view<f32, ["N"], out> {kir.name = "y"}) {
    %c0 = kir.constant 0 : index : index
    %c1 = kir.constant 1 : index : index
    %n = kir.extent <"N">
    %d = kir.domain %c0 to %n step %c1 : !kir.domain<"N">
    %v = kir.read %x[%d : !kir.domain<"N">] : !kir.view<f8E4M3FN, ["N"], in> -> !kir.tensor<f8E4M3FN, ["N"]>
    %w = kir.cast %v : !kir.tensor<f8E4M3FN, ["N"]> to !kir.tensor<f32, ["N"]>
    kir.write %w to %y[%d : !kir.domain<"N">] : !kir.tensor<f32, ["N"]>, !kir.view<f32, ["N"], out>
    kir.return
  }
}
"""


def test_a_missing_hardware_dtype_is_named_with_the_targets_that_have_it():
    status, fields = compile_request(emit="source", text=F8_COPY, target={"provider": "triton", "arch": "sm_80"})
    assert status == TARGET
    [entry] = fields["diagnostics"]
    assert entry["category"] == "hardware_capability" and "f8e4m3fn" in entry["message"] and "sm_89" in entry["message"]
    assert compile_request(emit="source", text=F8_COPY, target={"provider": "triton", "arch": "sm_89"})[0] == SUCCESS


# --- robustness ---------------------------------------------------------------------------------------------------------------------


def mutate(data: bytes, rng: random.Random, pieces) -> bytes:
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) + 1)
        choice = rng.randrange(5)
        if choice == 0 and data:
            del data[at:at + rng.randint(1, 20)]
        elif choice == 1:
            data[at:at] = rng.choice(pieces)
        elif choice == 2 and data:
            data[min(at, len(data) - 1)] = rng.randrange(256)
        elif choice == 3:
            other = rng.randrange(len(data) + 1)
            data[at:at] = data[other:other + rng.randint(1, 60)]
        else:
            data[at:at] = str(rng.choice([0, -1, 2**31, 2**63, 2**64, 10**400])).encode()
    return bytes(data)


PIECES = [b"[", b"{", b"(", b"<", b"\"", b"-", b"%", b"null", b"block.program", b"kir.reduce", b"\\u0000", b"f32", b"index", b"->", b"loc(", b": ", b"#block.expr<", b"scf.for"]


def report(data):
    status, fields = compile_bytes(data)
    assert (status == SUCCESS) == (fields["diagnostics"] == [])
    for entry in fields["diagnostics"]:
        assert entry["error"] in ("LanguageError", "ConfigurationError", "TargetError", "InternalError") and entry["message"]
    return status


@pytest.mark.parametrize("seed", range(4))
def test_mutated_kernel_text_is_diagnosed(seed):
    rng = random.Random(seed)
    texts = [kernel_text(), (REPOSITORY / "test" / "Dialect" / "Block" / "softmax.mlir").read_text()]
    for _ in range(150):
        text = mutate(rng.choice(texts).encode(), rng, PIECES).decode("utf-8", "replace")
        target = rng.choice([TRITON, HOST])
        report(json.dumps({"schema": 1, "emit": "source", "text": text, "target": target if "block.kernel" not in text else None}).encode())


@pytest.mark.parametrize("seed", range(4))
def test_mutated_requests_are_diagnosed(seed):
    rng = random.Random(100 + seed)
    request = json.dumps({"schema": 1, "emit": "block", "text": "module {}", "target": TRITON, "options": {"numerics": "source", "cover": None},
                          "tables": {"triton": "/nonexistent"}, "dump": ["kir-to-block"], "files": [], "nodes": [["Name", 0, 1, 0, 1, 1, {"id": "x"}]],
                          "functions": [], "entry": 0, "constexprs": {}, "types": {}}).encode()
    for _ in range(300):
        report(mutate(request, rng, PIECES))


@pytest.mark.parametrize("seed", range(2))
def test_mutated_tables_are_diagnosed(tmp_path, seed):
    rng = random.Random(200 + seed)
    table = (REPOSITORY / "lib" / "Target" / "Triton" / "tuning.json").read_bytes()
    path = tmp_path / "table.json"
    for _ in range(60):
        path.write_bytes(mutate(table, rng, PIECES))
        status = report(json.dumps({"schema": 1, "emit": "block", "text": kernel_text(), "target": TRITON, "tables": {"triton": str(path)}}).encode())
        assert status in (SUCCESS, CONFIGURATION)


def test_calls_are_independent():
    expected = compile_request(emit="source", text=kernel_text())[1]["source"]
    results = []
    threads = [threading.Thread(target=lambda: results.extend(compile_request(emit="source", text=kernel_text())[1].get("source") for _ in range(5))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 20


def test_long_programs_need_no_deep_stack():
    lines = ["%v0 = kir.read %x[%d : !kir.domain<\"N\">] : !kir.view<f32, [\"N\"], in> -> !kir.tensor<f32, [\"N\"]>"]
    lines += [f'%v{i + 1} = kir.binary add %v{i}, %v0 : !kir.tensor<f32, ["N"]>' for i in range(5000)]
    body = "\n".join(lines)
    text = f"""module {{ kir.kernel @sum(%x: !kir.view<f32, ["N"], in> {{kir.name = "x"}}, %y: !kir.view<f32, ["N"], out> {{kir.name = "y"}}) {{
        %c0 = kir.constant 0 : index : index
        %c1 = kir.constant 1 : index : index
        %n = kir.extent <"N">
        %d = kir.domain %c0 to %n step %c1 : !kir.domain<"N">
        {body}
        kir.write %v5000 to %y[%d : !kir.domain<"N">] : !kir.tensor<f32, ["N"]>, !kir.view<f32, ["N"], out>
        kir.return }} }}"""
    status, fields = compile_request(emit="block", text=text)
    assert status == SUCCESS, fields["diagnostics"]
    assert fields["mlir"].count("block.binary add") >= 5000


# --- the command line ---------------------------------------------------------------------------------------------------------------


def tool(*arguments, input=None):
    path = build_directory() / "bin" / "intent-compile"
    return subprocess.run([path, *arguments], input=input, capture_output=True, text=True, timeout=60)


def test_intent_compile(tmp_path):
    kernel = tmp_path / "softmax.mlir"
    kernel.write_text(kernel_text())
    assert "kir.kernel @softmax" in tool(str(kernel), "--emit=kir").stdout
    assert "block.program" in tool(str(kernel), "--target", "host", "--emit=block").stdout
    assert json.loads(tool(str(kernel), "--target", "triton:sm_90", "--emit=metadata").stdout)["name"] == "softmax"
    out = tmp_path / "softmax.py"
    assert tool(str(kernel), "--target", "triton:gfx942", "--emit=source", "-o", str(out)).returncode == 0
    assert "@triton.jit" in out.read_text()
    request = tmp_path / "request.json"
    request.write_text(json.dumps({"schema": 1, "emit": "kir", "text": kernel_text()}))
    assert "kir.kernel @softmax" in tool(str(request)).stdout
    failed = tool(str(kernel), "--target", "triton:sm_1", "--emit=source")
    assert failed.returncode == CONFIGURATION and failed.stderr.startswith("ConfigurationError: unknown architecture 'sm_1'")
    failed = tool("--emit=kir", input="kir.kernel\n")
    assert failed.returncode == LANGUAGE and failed.stderr.startswith("<text>:2:1: LanguageError: ")
    failed = tool(str(tmp_path / "none.mlir"))
    assert failed.returncode == 1 and "cannot read" in failed.stderr
    assert INTERNAL not in (failed.returncode,)
