"""The host surface on the real libraries: every way to call, errors with carets, caching between processes, threads, the command line."""
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import intent
import intent.language as I
from intent import cli
from support import build

PYTHON = Path(__file__).resolve().parents[2]
SAMPLES = PYTHON / "tests" / "samples"
T = I.TypeVar("T", I.f16, I.f32)


@intent.kernel
def scale(x: I.In[T, ("M", "N")], y: I.Out[T, ("M", "N")], a: I.f32 = 2.0, SHIFT: I.Constexpr[float] = 0.0):
    y[:, :] = I.cast(I.cast(x[:, :], I.f32) * a + SHIFT, x.dtype)


def test_direct_calls_specialise(rng):
    for dtype in (np.float16, np.float32):
        x = rng.standard_normal((3, 70)).astype(dtype)
        y = np.empty_like(x)
        scale(x, y)
        np.testing.assert_array_equal(y, x * dtype(2))
        scale(x, y, a=4, SHIFT=1.0)  # the product is exact, so that a fused addition rounds the same
        np.testing.assert_array_equal(y, (x.astype(np.float32) * 4 + 1).astype(dtype))
        scale(x, y, 4.0)
        np.testing.assert_array_equal(y, x * dtype(4))


def test_every_way_to_call(rng):
    k = build(scale, types={"T": I.f32})
    x = rng.standard_normal((5, 9)).astype(np.float32)
    y = np.empty_like(x)
    k(x, y, 3.0)
    np.testing.assert_array_equal(y, x * 3)
    np.testing.assert_array_equal(k.run(x), x * 2)
    np.testing.assert_array_equal(k.run(x, a=5), x * 5)
    prepared = k.prepare(x, outputs=(y,))
    x[:] = 1
    prepared.launch()
    assert prepared.result() is y and (y == 2).all()
    assert [p["name"] for p in k.metadata["params"]] == ["x", "y", "a"]


def test_torch_and_numpy_arguments_mix(rng):
    torch = pytest.importorskip("torch")
    k = build(scale, types={"T": I.f16})
    x = torch.randn(4, 6).half()
    result = k.run(x.T)
    assert isinstance(result, torch.Tensor) and torch.equal(result, x.T * 2)
    y = np.empty((4, 6), np.float16)
    k(x, y)
    np.testing.assert_array_equal(y, (x * 2).numpy())
    scale(x, x)  # in place
    np.testing.assert_array_equal(x.numpy(), y)


def test_call_errors_leave_arguments_alone():
    k = build(scale, types={"T": I.f32})
    x, y = np.ones((2, 3), np.float32), np.full((2, 3), 7, np.float32)
    for arguments in [(x, y.T), (x, y[:1]), (x.astype(np.float64), y), (x, y, "2"), (x,), (y[:, :2], y[:, 1:]), (x[0], y)]:
        with pytest.raises(intent.CallError):
            k(*arguments)
        assert (y == 7).all()


@intent.kernel
def mixed_up(x: I.In[I.f16, ("N",)], y: I.Out[I.f32, ("N",)]):
    y[:] = x[:] + y[:]


def test_language_errors_point_at_the_line():
    with pytest.raises(intent.LanguageError) as caught:
        intent.compile(mixed_up)
    error = caught.value
    assert error.filename == "test_host_surface.py"
    assert error.line == mixed_up.function.__code__.co_firstlineno + 2
    assert "y[:] = x[:] + y[:]" in str(error) and "^" in str(error)


def test_a_call_that_breaks_a_launch_check():
    @intent.kernel
    def flatten(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("P",)]):
        y[:] = I.reshape(x[:, :], y.shape)

    k = build(flatten)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(k.run(x, shapes={"P": 6}), np.arange(6))
    with pytest.raises(intent.CallError, match="P = 7"):
        k.run(x, shapes={"P": 7})


def test_threads(rng):
    k, wrong = build(scale, types={"T": I.f32}), []

    def work(seed):
        mine = np.random.default_rng(seed)
        for _ in range(50):
            x = mine.standard_normal(mine.integers(0, 40, 2)).astype(np.float32)
            if not np.array_equal(k.run(x, a=seed), x * np.float32(seed)):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 5)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


PROGRAM = """
import sys; sys.path.insert(0, {folder!r})
import numpy as np, intent
from intent import native
from pointwise_and_rows import adamw
compiled = []
inner = native.CompilerLibrary.compile
native.CompilerLibrary.compile = lambda self, data: compiled.append(1) or inner(self, data)
k = intent.compile(adamw)
print(len(compiled), k.cache_directory)
"""


def test_a_second_process_compiles_nothing(own_cache):
    environment = {**os.environ, "PYTHONPATH": str(PYTHON)}
    outputs = [subprocess.run([sys.executable, "-c", PROGRAM.format(folder=str(SAMPLES))], env=environment, capture_output=True, text=True, check=True).stdout.split() for _ in range(2)]
    assert [out[0] for out in outputs] == ["1", "0"] and outputs[0][1] == outputs[1][1]
    assert outputs[0][1].startswith(str(own_cache))


def test_saved_program_replays(rng, tmp_path):
    program = intent.generate(scale, "host", types={"T": "f32"})
    program.save(tmp_path / "p")
    x = rng.standard_normal((2, 5)).astype(np.float32)
    np.testing.assert_array_equal(intent.GeneratedProgram.load(tmp_path / "p").materialize().run(x), x * 2)


def test_text_replays(rng):
    kir = intent.compile_ir(scale, types={"T": "f32"}).mlir
    program = intent.generate_from_ir(kir, "host")
    x = rng.standard_normal((2, 5)).astype(np.float32)
    np.testing.assert_array_equal(program.materialize().run(x, 2.0), x * 2)
    assert "block.kernel" in intent.compile_shared_gpu(scale, "triton:sm_90", types={"T": "f32"}).mlir


def test_generation_needs_no_device():
    source = intent.generate(scale, "triton:gfx942", types={"T": "f16"}).source
    compile(source, "source.py", "exec")
    assert "@triton.jit" in source
    assert intent.compile(scale, "triton:sm_90", types={"T": "f16"}).source != ""


def test_command_line(capsys):
    gated = f"{SAMPLES / 'pointwise_and_rows.py'}:gated"
    assert cli.main(["run", gated, "--shape", "M=4", "--shape", "N=300", "--constexpr", "KIND=RELU", "--repeat", "2"]) == 0
    assert "gated on host" in capsys.readouterr().out
    for emit, text in [("kir", "kir.kernel @gated"), ("block", "block.kernel @gated"), ("source", "@triton.jit"), ("metadata", '"params"'), ("request", '"schema"')]:
        assert cli.main(["generate", gated, "--target", "triton:sm_90", "--constexpr", "KIND=SILU", "--emit", emit]) == 0
        out = capsys.readouterr().out
        assert text in out
        if emit in ("metadata", "request"):
            json.loads(out)
    assert cli.main(["generate", gated]) == 1
    assert "KIND" in capsys.readouterr().err
    assert cli.main(["doctor", "--no-devices"]) == 0


class Hostile:
    """An object that bears no question."""

    __hash__ = None

    def __getattr__(self, name):
        raise RuntimeError("no")


X = np.zeros((2, 3), np.float32)


@pytest.mark.parametrize("wrong", [
    lambda: intent.compile(None), lambda: intent.compile(scale.function), lambda: intent.compile(scale, object()), lambda: intent.compile(scale, b"host"), lambda: intent.compile(scale, "cuda"),
    lambda: intent.compile(scale, constexprs={"Q": 1}), lambda: intent.compile(scale, constexprs={"SHIFT": Hostile()}), lambda: intent.compile(scale, constexprs={"SHIFT": "\udc80"}), lambda: intent.compile(scale, types={"T": Hostile()}),
    lambda: intent.compile(scale, types={"T": "f64"}), lambda: intent.compile(scale), lambda: intent.compile(scale, types={"T": I.f32}, options=3), lambda: intent.compile(scale, types={"T": I.f32}, tuning_config=Hostile()),
    lambda: intent.compile(scale, types={"T": I.f32}, tuning_config="a\0b"), lambda: intent.compile(scale, types={"T": I.f32}, tuning_config="/"), lambda: intent.generate(scale, "triton:sm_10", types={"T": I.f32}),
    lambda: intent.generate(scale, intent.Target("triton", "sm_90", nope=1), types={"T": I.f32}), lambda: intent.generate_from_ir("", "host"), lambda: intent.generate_from_ir("\0", "host"), lambda: intent.generate_from_ir("}{" * 500, "host"),
    lambda: intent.generate_from_ir("\udc80", "host"), lambda: intent.optimize_ir("module {}", stage="nope"), lambda: intent.GeneratedProgram.load(3), lambda: intent.GeneratedProgram.load("/"),
    lambda: scale(Hostile(), X), lambda: scale(X, Hostile()), lambda: scale(X, X.copy(), Hostile()), lambda: scale(None, None), lambda: scale(np.array(["a"]), X), lambda: scale(X, X.copy(), SHIFT=Hostile()), lambda: scale(X, X.copy(), q=1),
    lambda: scale(), lambda: intent.compile(scale, types={"T": I.f32}).run(X, shapes=[1]), lambda: intent.compile(scale, types={"T": I.f32}).run(X, shapes={"M": 10**30}), lambda: intent.compile(scale, types={"T": I.f32}).prepare(X, outputs=3),
    lambda: intent.compile(scale, types={"T": I.f32}).save("/proc/nope"), lambda: intent.compile(scale, "triton:sm_90", types={"T": I.f32}).run(X)])
def test_no_other_exception_reaches_a_caller(wrong):
    with pytest.raises(intent.IntentError) as caught:
        wrong()
    assert not isinstance(caught.value, intent.InternalError)
    assert str(caught.value)
