"""Scans, picks, workspaces, atomics and loops in generated Triton: compiled offline for several targets, and run by Triton's interpreter."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("triton")
import block_memory_programs as programs
from test_triton_provider import _TARGETS, _translate, generate, stand_ins


@pytest.mark.parametrize("case", programs.CASES)
@pytest.mark.parametrize("arch", _TARGETS)
def test_compiles_offline(case, arch, tmp_path):
    from intent.providers.triton import compile_offline

    text, arguments, _, _ = programs.CASES[case](np.random.default_rng(1))
    text.target = arch
    assert compile_offline(generate(text, tmp_path), arch, stand_ins(arguments)).asm["ptx" if arch.startswith("sm_") else "amdgcn"]


_ELEMENTS = ["i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64", "f16", "bf16", "f32", "f64", "index"]


@pytest.mark.parametrize("element", _ELEMENTS)
@pytest.mark.parametrize("arch", ["sm_90", "gfx942"])
def test_scan_and_pick_dtypes_compile(element, arch, tmp_path):
    from intent.providers.triton import compile_offline

    for name, text, shapes in [("scan", programs.scan_rows(element, target=arch), [(5, 64)] * 2), ("back", programs.scan_rows(element, "maximum", reverse=True, target=arch), [(5, 64)] * 2),
                               ("pick", programs.picks(element, arch), [(5, 64), 3, (5,), (1,)])]:
        assert compile_offline(generate(text, tmp_path, name), arch, shapes)


@pytest.mark.parametrize("element", ["f8E4M3FN", "f8E5M2"])
def test_f8_travels_as_f32(element, tmp_path):
    from intent.providers.triton import compile_offline

    larger = lambda t, a, b: t.select(t.compare("lt", a, b), b, a)
    path = generate(programs.scan_rows(element, identity=0, combine=larger), tmp_path)
    assert "associative_scan(x_tile.to(tl.float32), 1" in path.read_text()
    assert compile_offline(path, "sm_90", [(5, 64)] * 2)
    assert compile_offline(generate(programs.picks(element), tmp_path, "pick"), "sm_90", [(5, 64), 3, (5,), (1,)])


_INTERPRETED = r"""
import pathlib, sys, traceback
sys.path[:0] = sys.argv[1:3]
import numpy as np, torch
from block_memory_programs import CASES
from test_triton_provider import generate, patch_interpreter
from intent.providers.triton import TritonProgram
patch_interpreter()
failures = []
for name in sys.argv[4:]:
    text, arguments, expected, tolerance = CASES[name](np.random.default_rng(7))
    program = TritonProgram(generate(text, pathlib.Path(sys.argv[3]), name))
    tensors = [torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in arguments]
    try:
        program.launch(tensors)
        for at, want in expected.items():
            got = arguments[at].astype(np.float64) if arguments[at].dtype.kind == "f" else arguments[at]
            np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance, err_msg=f"argument {at}")
            if arguments[at].dtype.kind == "f" and tolerance == 0:
                np.testing.assert_array_equal(np.signbit(got), np.signbit(want), err_msg=f"signs of argument {at}")
    except Exception:
        failures.append(f"{name}: {traceback.format_exc()[-1500:]}")
print("\n".join(failures))
sys.exit(bool(failures))
"""


def test_values_in_the_interpreter(tmp_path):
    pytest.importorskip("torch")
    import intent

    package, tests = pathlib.Path(intent.__file__).parents[1], pathlib.Path(__file__).parent
    script = tmp_path / "run.py"
    script.write_text(_INTERPRETED)
    environment = {**os.environ, "TRITON_INTERPRET": "1", "INTENT_TRANSLATE": _translate()}
    done = subprocess.run([sys.executable, str(script), str(package), str(tests), str(tmp_path), *programs.CASES], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]


def test_workspaces_of_one_stream_are_reused_and_a_graph_owns_its_own(monkeypatch):
    torch = pytest.importorskip("torch")
    from types import SimpleNamespace

    from intent.providers.triton_workspaces import Workspace, Workspaces

    made = []
    monkeypatch.setattr(Workspace, "allocate", lambda self, device: made.append(self) or object())
    capturing = [False]
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: capturing[0])
    counters, scratch = Workspace("int32", (8,), True), Workspace("float32", (4, 4), False)
    device = SimpleNamespace(type="cuda")

    def fill(spaces, stream):
        arguments = [1, counters, scratch]
        spaces.fill(arguments, stream)
        return arguments[1:]

    direct, prepared = Workspaces([1, counters, scratch], device), Workspaces([1, counters, scratch], device, retain=True)
    first, second, other = fill(direct, 1), fill(direct, 1), fill(direct, 2)
    assert first[0] is second[0] and first[1] is not second[1] and other[0] is not first[0]
    assert fill(prepared, 1) == fill(prepared, 1)
    capturing[0] = True
    captured = fill(prepared, 1)
    capturing[0] = False
    assert captured[0] is not fill(prepared, 1)[0] and captured[1] is not fill(prepared, 1)[1]
    direct.drop(1)
    assert fill(direct, 1)[0] is not first[0]
    assert not Workspaces([1], device)


def test_a_workspace_that_fits_nowhere_is_an_error():
    pytest.importorskip("torch")
    from intent.errors import ProviderError
    from intent.providers.triton_workspaces import Workspace

    with pytest.raises(ProviderError, match="cannot allocate a workspace of float32"):
        Workspace("float32", (2**40, 2**30), False).allocate("cpu")


def test_workspace_facts(tmp_path):
    from intent.providers.triton import _Shape, load_module, plan
    from intent.providers.triton_workspaces import Workspace

    text, _, _, _ = programs.CASES["workspace_between_lanes"](np.random.default_rng(0))
    module = load_module(generate(text, tmp_path))
    small = plan(module, [_Shape((7, 32)), _Shape((7, 32))])
    assert small.arguments[-1] == Workspace("float32", (7, 32), False) and small.signature["space"] == "*fp32"
    assert (list(small.signature).index("space"),) in small.attributes and (list(small.signature).index("N"),) in small.attributes
    # Offsets of the workspace alone decide the index width here.
    wide = plan(module, [_Shape((70000, 70000), (1, 0)), _Shape((70000, 70000), (1, 0))])
    assert wide.signature["M"] == "i64"
