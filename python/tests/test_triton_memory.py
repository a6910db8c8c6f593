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
    if arch.startswith("gfx") and case in ("crowded_max", "crowded_product"):
        text.features = "exchange_lanes_per_thread = 1 : i64, warp_size = 64 : i64"
        text.parameters.append(("NUM_WARPS", [1, 8]))
        text.rows = [[text.parameters[0][1][0], 1], [text.parameters[0][1][0], 8]]
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


@pytest.mark.parametrize("element", [e for e in _ELEMENTS if e not in ("i8", "ui8")])
@pytest.mark.parametrize("arch", ["sm_90", "sm_80", "gfx942", "gfx1100"])
def test_atomic_dtypes_compile(element, arch, tmp_path):
    from intent.providers.triton import compile_offline

    assert compile_offline(generate(programs.every_atomic(element, arch), tmp_path), arch, [(64,), (64,), (32,), (64,)])


@pytest.mark.parametrize("element", ["i1", "i8", "ui8", "f8E4M3FN", "f8E5M2"])
def test_elements_of_one_byte_have_no_atomics(element, tmp_path):
    source = tmp_path / "bytes.mlir"
    combine = lambda t, a, b: t.select(t.compare("lt", a, b), b, a)
    name = {"i1": "bool", "ui8": "u8"}.get(element, element.lower())
    for text, what in [(programs.atomics("exchange", element), "exchange"), (programs.exchanges(element), "compare_exchange"), (programs.scatters(element, combine), "scatter_reduce")]:
        source.write_text(str(text))
        done = subprocess.run([_translate(), "--block-to-triton", str(source)], capture_output=True, text=True)
        assert done.returncode != 0
        assert f"py:10:5: error: provider surface: no atomic {what} of {name}: expected elements of 16 bits or more" in done.stderr


def test_ordered_accesses_are_fenced(tmp_path):
    relaxed = generate(programs.atomics("add", "i32"), tmp_path, "relaxed").read_text()
    release = generate(programs.atomics("add", "i32", order="release"), tmp_path, "release").read_text()
    both = generate(programs.atomics("max", "f32", order="acq_rel"), tmp_path, "both").read_text()
    assert "debug_barrier" not in relaxed
    assert release.index("tl.debug_barrier()") < release.index("tl.atomic_add") and release.count("debug_barrier") == 1
    assert both.index("tl.debug_barrier()") < both.index("while go") < both.rindex("tl.debug_barrier()")


def test_exchanges_of_several_lanes_a_thread_need_their_feature(tmp_path):
    text, _, _, _ = programs.CASES["crowded_max"](np.random.default_rng(0))
    text.target, text.features = "gfx942", "exchange_lanes_per_thread = 1 : i64, warp_size = 64 : i64"
    text.parameters.append(("NUM_WARPS", [4, 8]))
    text.rows = [[512, 4], [512, 8]]
    source = generate(text, tmp_path).read_text()
    assert "num_warps=8" in source and "num_warps=4" not in source
    text.rows = [[512, 4]]
    (tmp_path / "none.mlir").write_text(str(text))
    done = subprocess.run([_translate(), "--block-to-triton", str(tmp_path / "none.mlir")], capture_output=True, text=True)
    assert "no configuration row is legal: an exchange of 512 lanes by 256 threads: the target takes 1 a thread" in done.stderr


@pytest.mark.parametrize("arch", ["sm_90", "gfx942", "gfx90a", "gfx1100"])
def test_a_ticket_follows_every_store(arch, tmp_path):
    """Read off the assembly: stores, a wait for them where the barrier has none, the barrier, the ticket, a barrier, the reads."""
    from intent.providers.triton import compile_offline

    text = programs.hand_over("release_needs_drain = true" if arch.startswith("gfx9") else "")
    text.target = arch
    source = generate(text, tmp_path)
    compiled = compile_offline(source, arch, [(5000,), (1,)])
    patterns = ("st.global", "bar.sync", "atom.") if arch == "sm_90" else ("_store_", "s_waitcnt", "s_barrier", "_atomic_add")
    lines = [line.split(";")[0].split("//")[0].strip() for line in compiled.asm["ptx" if arch == "sm_90" else "amdgcn"].splitlines()]
    lines = [line for line in lines if any(pattern in line for pattern in patterns)]
    ticket = next(i for i, line in enumerate(lines) if "atom.global" in line or "_atomic_add" in line)
    stored = max(i for i, line in enumerate(lines[:ticket]) if "st.global" in line or "buffer_store" in line or "global_store" in line)
    between, after = lines[stored + 1:ticket], lines[ticket + 1:]
    barrier = next(i for i, line in enumerate(between) if "bar.sync" in line or line.startswith("s_barrier"))
    drained = ["vmcnt(0)" in line or "s_waitcnt_vscnt null, 0x0" in line for line in between[:barrier]]
    assert arch == "sm_90" or any(drained)
    assert any("bar.sync" in line or line.startswith("s_barrier") for line in after)
    assert ("_drain()" in source.read_text()) == arch.startswith("gfx9")


@pytest.mark.parametrize("arch", ["sm_90", "sm_80"])
def test_loads_do_not_pass_the_fence_of_a_loop(arch, tmp_path):
    """Triton fetches operands of contractions iterations ahead, whatever the loop stores; not in a loop with a barrier."""
    from intent.providers.triton import compile_offline

    def source(fenced):
        t = programs.MemoryText("powers", [("w", "f32", ["M", "N"], "inout")], ['"M"'], [("BK", [32])], target=arch)
        k, n = t.lanes(t.const(0), "BK", "k"), t.lanes(t.const(0), "BK", "n")
        with t.loop(t.param("BK"), t.extent('"M"'), t.param("BK"), [t.broadcast(t.const(0.0, "f32"), ["BK", "BK"])]) as (m0, (acc,), finish):
            before, now = t.lanes(t.binary("sub", m0, t.param("BK")), "BK", "before"), t.lanes(m0, "BK", "now")
            operand = lambda rows, name: t.load("w", [(rows, [0]), (n, [1])], [(t.compare("lt", rows, t.extent('"M"')), [0])], 0, name)
            acc = t.contract(operand(before, "last"), operand(now, "next"), acc, "acc")
            t.store(acc, "w", [(now, [0]), (n, [1])], [(t.compare("lt", now, t.extent('"M"')), [0])])
            if fenced:
                t.fence()
            finish(acc)
        t.store(finish.results[0], "w", [(k, [0]), (n, [1])])
        return generate(t, tmp_path, f"fenced{fenced}")

    fetched = ["cp.async" in compile_offline(source(fenced), arch, [(320, 32)]).asm["ptx"] for fenced in (False, True)]
    assert fetched == [True, False]


_INTERPRETED = r"""
import pathlib, sys, traceback
sys.path[:0] = sys.argv[1:3]
import numpy as np, torch
from block_memory_programs import CASES
from test_triton_provider import generate, patch_interpreter
from intent.providers.triton import TritonProgram
patch_interpreter()
# On a device tl.maximum without propagation drops a NaN; the interpreter keeps it.
from triton.runtime.interpreter import InterpreterBuilder
InterpreterBuilder.create_maxnumf = lambda self, a, b: self.binary_op(a, b, np.fmax)
InterpreterBuilder.create_minnumf = lambda self, a, b: self.binary_op(a, b, np.fmin)
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
    import triton

    # 3.9's interpreter takes no mask that starts from a scalar.
    skipped = ["recurrence_through_memory"] if triton.__version__.startswith("3.9") else []
    package, tests = pathlib.Path(intent.__file__).parents[1], pathlib.Path(__file__).parent
    script = tmp_path / "run.py"
    script.write_text(_INTERPRETED)
    environment = {**os.environ, "TRITON_INTERPRET": "1", "INTENT_TRANSLATE": _translate()}
    done = subprocess.run([sys.executable, str(script), str(package), str(tests), str(tmp_path), *(case for case in programs.CASES if case not in skipped)], capture_output=True, text=True, env=environment)
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


def test_launches_pass_their_workspaces(tmp_path, monkeypatch):
    """The arguments of direct and prepared launches, with a driver that only records them."""
    torch = pytest.importorskip("torch")
    import triton
    from types import SimpleNamespace

    from intent.errors import ProviderError
    from intent.providers import triton as provider
    from intent.providers.triton_workspaces import Workspace

    calls, stream, broken = [], [11], [False]

    def run(*arguments):
        if broken[0]:
            raise RuntimeError("no")
        calls.append(arguments)

    monkeypatch.setattr(triton.runtime.driver, "_active", SimpleNamespace(get_current_device=lambda: 0, get_current_stream=lambda _: stream[0]), raising=False)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    monkeypatch.setattr(Workspace, "allocate", lambda self, device: torch.zeros(self.shape, dtype=getattr(torch, self.dtype)))
    text = programs.hand_over("")
    module = provider.load_module(generate(text, tmp_path))
    tensors = [torch.zeros(5000), torch.zeros(1)]
    planned = provider.plan(module, tensors)
    assert [a for a in planned.arguments if isinstance(a, Workspace)] == [Workspace("float32", (5, 1024), False), Workspace("int32", (1,), True)]
    launch = provider._Launch(planned, SimpleNamespace(run=run, function="f", packed_metadata="m"))
    names = list(planned.signature)
    launch(tensors, None)
    launch(tensors, None)
    direct = calls[:2]
    assert all(len(call) == 9 + len(names) and call[3] == 11 for call in direct)
    kept = [call[9 + names.index("ticket")] for call in direct]
    fresh = [call[9 + names.index("slot")] for call in direct]
    assert kept[0] is kept[1] and fresh[0] is not fresh[1] and fresh[0].shape == (5, 1024)
    stream[0] = 12
    launch(tensors, None)
    assert calls[-1][9 + names.index("ticket")] is not kept[0]
    prepared = launch.bind(tensors, None)
    prepared()
    prepared()
    mine = [call[9 + names.index(name)] for call in calls[-2:] for name in ("slot", "ticket")]
    assert mine[0] is mine[2] and mine[1] is mine[3] and mine[1] is not kept[0]
    broken[0] = True
    with pytest.raises(ProviderError, match="the launch failed"):
        prepared()
    broken[0] = False
    prepared()
    assert calls[-1][9 + names.index("ticket")] is not mine[1]
