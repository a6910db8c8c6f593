"""compile, generate, run, prepare and direct calls, on stand-ins for both libraries."""
import json
import threading
import time

import numpy as np
import pytest

import fake_native
from fake_native import FakeCompiler, FakeHost, metadata, scalar, view
import intent
import intent.language as I
from intent import native

SCALE = 3


@intent.kernel
def affine(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M", "N")], a: I.f32 = 0.5, K: I.Constexpr[int] = 1):
    y[:, :] = 2.0 * x[:, :] + a * SCALE


T = I.TypeVar("T", I.f16, I.f32)


@intent.kernel
def typed(x: I.In[T, ("M", "N")], y: I.Out[T, ("M", "N")], a: I.f32):
    y[:, :] = x[:, :]


INTERFACE = metadata(view("x", "f32", ("M", "N")), view("y", "f32", ("M", "N"), "out"), scalar("a", "f32", {"float": "0x1.0p-1"}),
                     overlaps=[("x", "y", "identical_or_disjoint")])


@pytest.fixture
def fake(monkeypatch):
    compiler, host = FakeCompiler(INTERFACE), FakeHost([2, 2, None])
    monkeypatch.setattr(native, "compiler", lambda: compiler)
    monkeypatch.setattr(native, "host_library", lambda: host)
    monkeypatch.setattr(native, "table_paths", lambda: {})
    compiler.host = host
    return compiler


def f32(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def test_call_run_and_prepare(fake):
    k = intent.compile(affine)
    x, y = f32(3, 4), np.empty((3, 4), np.float32)
    assert k(x, y, 1.0) is None
    np.testing.assert_array_equal(y, 2 * x + 1)
    k(x, y)  # the scalar's default
    np.testing.assert_array_equal(y, 2 * x + 0.5)
    result = k.run(x, a=2)
    assert type(result) is np.ndarray and result.dtype == np.float32
    np.testing.assert_array_equal(result, 2 * x + 2)
    assert k.run(x, y, 1.0) is y  # an array in the place of the Out
    prepared = k.prepare(x, outputs=(y,))
    for value in (1, 2):
        x[:] = value
        prepared.launch()
        np.testing.assert_array_equal(prepared.result(), 2 * x + 0.5)
    assert prepared.result() is y
    fresh = k.prepare(x)
    fresh.launch()
    assert fresh.result().shape == (3, 4) and fresh.result() is not y


def test_the_library_sees_offsets_and_any_stride(fake):
    k = intent.compile(affine)
    base, out = f32(6, 8), np.zeros((6, 8), np.float32)
    for x, y in [(base[::-1, ::2], out[:, 1::2]), (base.T[:, ::-1], out.reshape(8, 6)[::-1]), (np.broadcast_to(f32(4), (3, 4)), out[1:4, 2:6]), (base[:0], out[:0]), (base[:, 3:3], out[:, 3:3])]:
        k(x, y, 1)
        np.testing.assert_array_equal(y, 2 * x + 1)
    assert fake.host.launches[0] == ((6, 4), (-8, 2))
    k(base, base, 0)  # in place: identical views are permitted
    assert base[0, 1] == 2


def test_attributes_and_cache_entry(fake, own_cache):
    program = intent.generate(affine, "triton:sm_90")
    assert (program.source, program.kir, program.mlir) == ("// source\n", "// kir\n", "// block\n")
    assert program.metadata["params"][2]["name"] == "a" and str(program.target) == "triton:sm_90"
    assert program.cache_directory.startswith(str(own_cache / "v1"))
    assert (program.source_path.name, program.source_path.read_text()) == ("source.py", "// source\n")
    host = intent.compile(affine)
    assert host.cache_directory != program.cache_directory and host.observation["candidates"] == []
    manifest = json.loads((own_cache / "v1" / host.cache_directory[len(str(own_cache)) + 4:] / "manifest.json").read_text())
    assert manifest["target"] == "host" and sorted(manifest["files"]) == ["input.kir.mlir", "interface.json", "source.mlir", "target.mlir"]


def test_save_load_materialize(fake, tmp_path):
    program = intent.generate(affine, "host")
    program.save(tmp_path / "saved")
    loaded = intent.GeneratedProgram.load(tmp_path / "saved")
    x = f32(2, 2)
    np.testing.assert_array_equal(loaded.materialize().run(x, 1.0), 2 * x + 1)
    loaded.materialize(target="host")
    with pytest.raises(intent.ConfigurationError, match="made for host"):
        loaded.materialize(target="triton:sm_90")
    (tmp_path / "saved" / "source.mlir").write_text("changed")
    with pytest.raises(intent.ConfigurationError, match="checksum"):
        intent.GeneratedProgram.load(tmp_path / "saved")
    with pytest.raises(intent.ConfigurationError, match="no saved program"):
        intent.GeneratedProgram.load(tmp_path / "nowhere")


def test_compiled_once_and_again_when_inputs_change(fake, tmp_path):
    global SCALE
    k = intent.compile(affine)
    assert intent.compile(affine) is k and len(fake.requests) == 1
    assert intent.compile(affine, "host", constexprs={"K": 1}) is not k
    count = len(fake.requests)
    for different in (dict(constexprs={"K": 2}), dict(options=intent.CompileOptions(check=True)), dict(target="triton:sm_90"), dict(target="triton:sm_80")):
        intent.compile(affine, **different)
        count += 1
        assert len(fake.requests) == count
    table = tmp_path / "t.json"
    for content in ("{}", '{"host": {}}'):
        table.write_text(content)
        intent.compile(affine, tuning_config=table)
        count += 1
        assert len(fake.requests) == count and fake.requests[-1]["tuning_config"] == str(table)
    SCALE = 4  # a captured global: a new program
    try:
        intent.compile(affine)
        assert len(fake.requests) == count + 1
    finally:
        SCALE = 3
    fake.identity = "fake 2"  # another compiler
    intent.compile(affine)
    assert len(fake.requests) == count + 2


def test_disk_hit_in_another_process_and_damage(fake):
    k = intent.compile(affine)
    intent.compiler._memo.clear()  # what a new process knows
    assert intent.compile(affine).source == k.source and len(fake.requests) == 1
    with open(k.cache_directory + "/source.mlir", "a") as file:
        file.write("damage")
    assert intent.compile(affine).source == "// source\n" and len(fake.requests) == 2
    assert open(k.cache_directory + "/source.mlir").read() == "// source\n"


def test_threads_compile_one_entry_once(fake):
    plain = fake.answer = FakeCompiler(INTERFACE).compile

    def slow(request):
        time.sleep(0.05)
        return plain(json.dumps(request))

    fake.answer = slow
    threads = [threading.Thread(target=intent.compile, args=(affine,)) for _ in range(6)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert len(fake.requests) == 1


def diagnostic(error, **more):
    return json.dumps([{"error": error, "category": None, "message": "expected f16, got f32", "file": None, "line": None, "column": None, "end_column": None, "notes": [], "details": {}, **more}])


def test_diagnostics_become_exceptions(fake, own_cache):
    answer = {}
    fake.answer = lambda request: (answer["status"], {"diagnostics": answer["text"]})
    line = affine.function.__code__.co_firstlineno + 2
    answer.update(status=1, text=diagnostic("LanguageError", file="test_api.py", line=line, column=5, end_column=12, notes=[{"message": "here", "file": "test_api.py", "line": line, "column": 1}]))
    with pytest.raises(intent.LanguageError, match=f"test_api.py:{line}:5: error: expected f16") as caught:
        intent.compile(affine)
    assert (caught.value.filename, caught.value.line, caught.value.column) == ("test_api.py", line, 5)
    assert "y[:, :] = 2.0" in str(caught.value) and "^~~~~~~\n" in str(caught.value) and caught.value.notes[0].message == "here"
    answer.update(status=2, text=diagnostic("ConfigurationError", details={"source": "t.json", "family": "scan", "row": 0, "column": "scan"}))
    with pytest.raises(intent.ConfigurationError) as caught:
        intent.compile(affine)
    assert (caught.value.source, caught.value.family, caught.value.row, caught.value.column) == ("t.json", "scan", 0, "scan")
    answer.update(status=3, text=diagnostic("TargetError", category="shared_gpu", line=line, file="test_api.py", details={"operation": "scan", "feature": "waiting"}))
    with pytest.raises(intent.TargetError) as caught:
        intent.compile(affine)
    assert (caught.value.category, caught.value.operation, caught.value.feature, caught.value.line) == ("shared_gpu", "scan", "waiting", line)
    for text in (diagnostic("InternalError"), "", "[]", "nonsense", "{}"):
        answer.update(status=4, text=text)
        with pytest.raises(intent.InternalError) as caught:
            intent.compile(affine)
        kept = caught.value.input_path
        assert kept.parent == own_cache / "v1" / "failed" and json.loads((kept / "request.json").read_text())["schema"] == 1
    fake.answer = lambda request: (0, {"metadata": "{", "kir": ""})
    with pytest.raises(intent.InternalError, match="unreadable metadata"):
        intent.compile(affine)
    fake.answer = None
    assert intent.compile(affine)  # failures are never reused


def test_ir_functions(fake):
    assert intent.compile_ir(affine).mlir == "// kir\n" and fake.requests[-1]["emit"] == "kir" and fake.requests[-1]["target"] is None
    shared = intent.compile_shared_gpu(affine, "triton:sm_90")
    assert shared.mlir == "// block\n" and fake.requests[-1]["emit"] == "block" and shared.metadata["params"]
    replayed = intent.optimize_ir("module {}", stage="block-simplify")
    assert replayed.mlir == "// block\n" and fake.requests[-1]["stage"] == "block-simplify" and fake.requests[-1]["text"] == "module {}"
    assert intent.generate_from_ir("module {}", "triton:sm_90").source == "// source\n" and "nodes" not in fake.requests[-1]
    with pytest.raises(intent.ConfigurationError):
        intent.generate_from_ir(b"module {}", "host")
    with pytest.raises(intent.ConfigurationError):
        intent.optimize_ir("module {}", stage=3)


@pytest.mark.parametrize("options", [dict(numerics="fast"), dict(online_reduction=1), dict(check="yes"), dict(cover=3), dict(lower_compile_timeout=0), dict(lower_compile_timeout="9"), dict(lower_compile_timeout=True),
                                     dict(lower_compile_timeout=float("inf")), dict(lower_compile_timeout=float("nan"))])
def test_options_are_checked(options):
    with pytest.raises(intent.ConfigurationError):
        intent.CompileOptions(**options)


def test_wrong_compile_arguments(fake, tmp_path):
    with pytest.raises(intent.IntentError):
        intent.compile(lambda x: x)
    with pytest.raises(intent.IntentError):
        intent.compile(affine, constexprs={"K": [1]})
    for wrong in (3, [("K", 1)], {1: 2}):
        with pytest.raises(intent.ConfigurationError):
            intent.compile(affine, constexprs=wrong)
    with pytest.raises(intent.ConfigurationError):
        intent.compile(affine, "cuda")
    with pytest.raises(intent.ConfigurationError):
        intent.compile(affine, options={"numerics": "source"})
    with pytest.raises(intent.ConfigurationError, match="cannot be read"):
        intent.compile(affine, tuning_config=tmp_path / "nowhere.json")


def test_check_from_the_environment(fake, monkeypatch):
    monkeypatch.setenv("INTENT_CHECK", "1")
    intent.compile(affine)
    assert fake.requests[-1]["options"]["check"] is True


def test_direct_calls(fake):
    x, y = f32(3, 4), np.zeros((3, 4), np.float32)
    for k in (1, 2, 1, 2):
        affine(x, y, 1.5, K=k)
        np.testing.assert_array_equal(y, 2 * x + 1.5)
    affine(x, y)
    affine(x, y, a=1)
    assert [r["constexprs"] for r in fake.requests] == [{"K": {"int": "1"}}, {"K": {"int": "2"}}, {}]
    for arguments, keywords, parameter in [((x,), {}, "y"), ((x, y, 1, 2), {}, None), ((x, y), {"b": 1}, "b"), ((x, y.T), {}, "y"), ((3, y), {}, "x"), ((x, y), {"K": [1]}, None)]:
        with pytest.raises(intent.IntentError) as caught:
            affine(*arguments, **keywords)
        assert getattr(caught.value, "parameter", None) == parameter


def test_direct_calls_take_types_from_arguments(fake):
    half = json.loads(json.dumps(INTERFACE).replace("f32", "f16", 2))

    def answer(request):
        return 0, {"kir": "k", "mlir": "m", "metadata": json.dumps(half if request["types"] == {"T": "f16"} else INTERFACE)}

    fake.answer = answer
    x = f32(2, 2)
    typed(x, np.empty_like(x), 1.0)
    assert fake.requests[-1]["types"] == {"T": "f32"}
    with pytest.raises(intent.CallError) as caught:
        typed(x.astype(np.float16), np.empty_like(x), 1.0)
    assert caught.value.parameter == "y" and fake.requests[-1]["types"] == {"T": "f16"}
    with pytest.raises(intent.CallError, match="dtype f16 or f32, got f64"):
        typed(x.astype(np.float64), x.astype(np.float64), 1.0)


def test_missing_constexpr_in_a_direct_call(fake):
    @intent.kernel
    def needs(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M", "N")], a: I.f32, N: I.Constexpr[int]):
        y[:, :] = x[:, :]

    with pytest.raises(intent.CallError, match="missing constexpr 'N'"):
        needs(f32(1, 1), f32(1, 1), 1)


def test_outs_that_follow_from_nothing(fake):
    fake.interface = metadata(view("x", "f32", ("H", "N")), view("y", "f32", ("H", "W"), "out"), view("z", "f32", ("W",), "out"), view("w", "f32", ("N",), "out"))
    fake.host.intent_host_launch = lambda *a: 0
    k = intent.compile(affine)
    x = f32(2, 5)
    y, z, w = k.run(x, shapes={"W": 3})
    assert (y.shape, z.shape, w.shape) == ((2, 3), (3,), (5,))
    mine = np.empty((2, 7), np.float32)
    y, z, w = k.run(x, mine)
    assert y is mine and z.shape == (7,)
    y, z, w = k.run(x, z=np.empty(4, np.float32))
    assert y.shape == (2, 4)
    everything = [np.empty((2, 1), np.float32), np.empty(1, np.float32), np.empty(5, np.float32)]
    assert all(a is b for a, b in zip(k.run(x, *everything), everything))
    for arguments, keywords, match in [((x,), {}, "follow from no argument.*'W'"), ((), {}, "missing argument 'x'"), ((x,), {"shapes": {"Q": 1}}, "'Q'"), ((x,), {"shapes": {"W": -1}}, "at least 0"),
                                       ((x,), {"shapes": {"W": 1.5}}, "an int"), ((x,), {"shapes": {"W": 3, "N": 4}}, "disagree on 'N'"), ((x, mine, 3), {}, "too many"), ((x.T[0],), {"shapes": {"W": 1}}, "rank 2")]:
        with pytest.raises(intent.CallError, match=match):
            k.run(*arguments, **keywords)
    with pytest.raises(intent.CallError, match="outputs: expected 3"):
        k.prepare(x, outputs=(y,))


def test_kernels_without_out_return_none(fake):
    fake.interface = metadata(view("x", "f32", ("N",), "inout"))
    fake.host.ranks, fake.host.intent_host_launch = [1], lambda *a: 0
    assert intent.compile(affine).run(f32(3)) is None


def test_launch_failures(fake):
    k = intent.compile(affine)
    fake.host.fail = "load"
    with pytest.raises(intent.ProviderError, match="no such row"):
        k.run(f32(2, 2), 1.0)
    fake.host.fail = "launch"
    with pytest.raises(intent.ProviderError, match="no variant admits"):
        k.run(f32(2, 2), 1.0)
    fake.host.fail = (2, b"workspace 'w' is too large for this call")
    with pytest.raises(intent.CallError, match="^workspace 'w' is too large for this call$"):
        k.run(f32(2, 2), 1.0)
    with pytest.raises(intent.CallError, match="workspace"):
        k.prepare(f32(2, 2), 1.0).launch()
    fake.host.fail = (3, f"{__file__}:1:4: access outside 'x'\n{__file__}:2:1: the other access is here".encode())
    with pytest.raises(intent.LanguageError, match="access outside 'x'") as error:
        k.run(f32(2, 2), 1.0)
    assert (error.value.filename, error.value.line, error.value.column) == (__file__, 1, 4)
    assert [(note.message, note.line) for note in error.value.notes] == [("the other access is here", 2)]
    fake.host.fail = (3, b"-:0:0: race on 'y[3]'")
    with pytest.raises(intent.LanguageError, match=r"^race on 'y\[3\]'$"):
        k.run(f32(2, 2), 1.0)
    fake.host.fail = None
    k.run(f32(2, 2), 1.0)


def test_threads_share_a_kernel(fake):
    k, wrong = intent.compile(affine), []

    def work(n):
        for m in range(1, 30):
            x = f32(n, m)
            if not np.array_equal(k.run(x, float(n)), 2 * x + n):
                wrong.append((n, m))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


def test_missing_library_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("INTENT_LIBRARY_DIR", str(tmp_path))
    native.compiler.cache_clear()
    with pytest.raises(intent.ConfigurationError, match="libintent.so was not found"):
        native.compiler()


assert fake_native
