"""Author programs through the whole compiler to Triton: every variant and row compiles offline, and gives right values in Triton's interpreter."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("triton")
import intent
import intent.language as I
from intent import native

if native.find_library("libintent.so") is None:
    pytest.skip("libintent.so is not built", allow_module_level=True)


@intent.kernel
def softmax(x: I.In[I.f16, ("M", "N")], y: I.Out[I.f16, ("M", "N")]):
    row = I.cast(x[:, :], I.f32)
    e = I.exp(row - I.reduce.max(row, axis=1)[:, None])
    y[:, :] = I.cast(e / I.reduce.sum(e, axis=1)[:, None], I.f16)


@intent.kernel
def layer_norm(x: I.In[I.f32, ("M", "N")], w: I.In[I.f32, ("N",)], b: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("M", "N")], eps: I.f32):
    d = x[:, :] - I.reduce.mean(x[:, :], axis=1)[:, None]
    y[:, :] = d * I.rsqrt(I.reduce.mean(d * d, axis=1) + eps)[:, None] * w[:] + b[:]


@intent.kernel
def no_pass(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)], STEPS: I.Constexpr[int] = 0):
    """Triton 3.6 fails on code that its analyses find dead."""
    for i in I.parallel(I.domain(x.shape[0])):
        n, v = STEPS, x[i]
        while n > 0:
            y[i] = v
            v = v + y[i]
            n -= 1
        y[i] = v


@intent.kernel
def carried_divisors(x: I.In[I.i32, ("N",)], y: I.Out[I.i32, ("N",)]):
    """Triton 3.6 divides the constants that carries start with."""
    for i in I.parallel(I.domain(x.shape[0])):
        a = I.cast(0, I.i32)
        b = I.cast(0, I.i32)
        for t in range(3):
            while b != 0:
                a, b = b, a % b
            b = x[i] + I.cast(t, I.i32)
        y[i] = 100 * a + b


@intent.kernel
def linear(a: I.In[I.f16, ("M", "K")], b: I.In[I.f16, ("K", "N")], bias: I.In[I.f16, ("N",)], y: I.Out[I.f16, ("M", "N")]):
    z = I.matmul(a[:, :], b[:, :], acc_dtype=I.f32) + I.cast(bias[:], I.f32)
    y[:, :] = I.cast(I.maximum(z, 0.0), I.f16)


@intent.kernel
def row_sum(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M",)]):
    y[:] = I.reduce.sum(x[:, :], axis=1)


@intent.kernel
def column_max(x: I.In[I.i32, ("M", "N")], y: I.Out[I.i32, ("N",)]):
    y[:] = I.reduce.max(x[:, :], axis=0)


@intent.kernel
def transpose(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("N", "M")]):
    y[:, :] = I.transpose(x[:, :])


@intent.kernel
def integers(x: I.In[I.i32, ("N",)], q: I.Out[I.i32, ("N",)], s: I.Out[I.u8, ("N",)]):
    q[:] = x[:] // 7 - x[:] % 5 + ((x[:] - 1) // 4 ^ (x[:] + 1) % 8)
    s[:] = I.cast(x[:] >> 3, I.u8)


@intent.kernel
def routing(x: I.In[I.f32, ("T", 64)], chosen: I.Out[I.i32, ("T",)], place: I.Out[I.i32, ("T", 64)]):
    """Tokens to experts: the best of each token, and how many before it an expert has."""
    T, E = x.shape
    _, best = I.arg_reduce.max(x[:, :], 1)
    hot = best[:, None] == I.indices(I.domain(0, E))[None, :]
    chosen[:] = I.cast(best, I.i32)
    place[:, :] = I.cumsum(I.cast(hot, I.i32), axis=0, inclusive=False)


@intent.kernel
def by_zero(x: I.In[I.i32, ("N",)], y: I.Out[I.i32, ("N",)], z: I.Out[I.i32, ("N",)]):
    """Triton evaluates what is constant itself, and divides."""
    y[:] = x[:] // 0 + x[:] % 0
    z[:] = I.cast(0, I.i32) // I.cast(0, I.i32) + I.cast(7, I.i32) % I.cast(0, I.i32) + I.cast(7, I.i32) // I.cast(2, I.i32)


@intent.kernel
def mirrored(x: I.In[I.i32, ("N",)], y: I.Out[I.i32, ("N",)], z: I.Out[I.i32, ("N", 2)]):
    N, = x.shape
    y[:] = x[N - 1 - I.indices(I.domain(0, N))]
    z[:, 1] = I.select(I.cast(False, I.bool), x[:], 5)
    for j in I.parallel(I.domain(0, N)):
        z[N - 1 - j, 0] = x[j]


def test_texts_of_constants_and_mirrored_coordinates():
    text = intent.generate(mirrored, target="triton:sm_90").source
    assert "* -1" not in text and " 1 * " not in text and "tl.where(" not in text
    assert "N - 1 - n0 - tl.arange(0, BN)" in text and "tl.store(z + j * z_stride_n + z_stride_1, 5," in text


def cases(rng):
    """name -> (kernel, arguments, {position: wanted}, tolerance)"""
    x = rng.standard_normal((5, 70)).astype(np.float16)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    yield "softmax", softmax, [x, np.zeros_like(x)], {1: e / e.sum(1, keepdims=True)}, 2e-3
    x, w, b = rng.standard_normal((6, 50), np.float32), rng.standard_normal(50, np.float32), rng.standard_normal(50, np.float32)
    d = x.astype(np.float64) - x.mean(1, keepdims=True)
    yield "layer_norm", layer_norm, [x, w, b, np.zeros_like(x), 1e-5], {3: d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-5) * w + b}, 1e-4
    a, c, bias = rng.standard_normal((20, 70)).astype(np.float16), rng.standard_normal((70, 33)).astype(np.float16), rng.standard_normal(33).astype(np.float16)
    yield "linear", linear, [a, c, bias, np.zeros((20, 33), np.float16)], {3: np.maximum(a.astype(np.float64) @ c.astype(np.float64) + bias, 0)}, 1e-2
    yield "row_sum", row_sum, [x, np.zeros(6, np.float32)], {1: x.astype(np.float64).sum(1)}, 1e-5
    n = rng.integers(-(2**31), 2**31 - 1, (9, 40)).astype(np.int32)
    yield "column_max", column_max, [n, np.zeros(40, np.int32)], {1: n.max(0)}, 0
    yield "transpose", transpose, [x, np.zeros((50, 6), np.float32)], {1: x.T}, 0
    yield "no_pass", no_pass, [x[0], np.zeros(50, np.float32)], {1: x[0]}, 0
    v = n.reshape(-1)
    yield "integers", integers, [v, np.zeros_like(v), np.zeros(v.size, np.uint8)], {1: v // 7 - v % 5 + ((v - 1) // 4 ^ (v + 1) % 8), 2: (v >> 3).astype(np.uint8)}, 0
    yield "by_zero", by_zero, [v, np.zeros_like(v), np.zeros_like(v)], {1: v * 0, 2: v * 0 + 3}, 0
    yield "mirrored", mirrored, [v, np.zeros_like(v), np.zeros((v.size, 2), np.int32)], {1: v[::-1], 2: np.stack([v[::-1], v * 0 + 5], 1)}, 0
    positive = np.abs(v) + 1
    yield "carried_divisors", carried_divisors, [positive, np.zeros_like(v)], {1: 102 + positive}, 0


NAMES = ["softmax", "layer_norm", "linear", "row_sum", "column_max", "transpose", "no_pass", "integers", "carried_divisors", "by_zero", "mirrored"]


@intent.kernel
def losses(x: I.In[I.f32, ("N", "V")], w: I.In[I.f32, ("N",)], loss: I.Out[I.f32, (1,)]):
    """Rows that are walked beside weights of their own, each held whole."""
    e = I.exp(x[:, :] - I.reduce.max(x[:, :], axis=1)[:, None])
    loss[0] = I.reduce.sum(I.log(I.reduce.sum(e, axis=1)) * w[:], axis=0)


@pytest.mark.parametrize("shape", [(9, 77), (1, 30000)], ids=["short", "long"])
def test_rows_beside_what_is_held_whole_fit(shape, tmp_path):
    from intent.providers.triton import compile_offline

    path = tmp_path / "printed.py"
    path.write_text(intent.generate(losses, "triton:sm_90").source)
    assert compile_offline(path, "sm_90", [shape, shape[:1], (1,)]).asm["ptx"]


@pytest.mark.parametrize("arch", ["sm_90", "sm_80", "gfx942"])
@pytest.mark.parametrize("name", NAMES)
def test_every_variant_and_row_compiles(name, arch):
    from intent.providers.triton import _Shape, compile_plan, gpu_target, load_module, plan

    _, kernel, arguments, _, _ = next(case for case in cases(np.random.default_rng(0)) if case[0] == name)
    module = load_module(intent.generate(kernel, target=f"triton:{arch}").source_path)
    compiled = set()
    for width in (64, 16384, 200000):
        stands = [_Shape([width if extent == arguments[0].shape[-1] else extent for extent in a.shape], itemsize=a.itemsize) if isinstance(a, np.ndarray) else a for a in arguments]
        first = plan(module, stands)
        rows = range(len(first.variant["configs"]))
        # The first variant in all its rows; of others one is enough to know the text.
        for row in rows if not compiled else [rows[0]]:
            planned = plan(module, stands, row)
            if planned.key not in compiled:
                compiled.add(planned.key)
                assert compile_plan(planned, gpu_target(arch)).asm


def test_scans_beside_one_lane_compile():
    """Triton asserts on them: one row of a routing kernel gives each expert an instance of its own."""
    from intent.providers.triton import compile_offline, load_module

    module = load_module(intent.generate(routing, target="triton:sm_90").source_path)
    rows = module.VARIANTS[0]["configs"]
    assert any(1 in config.kwargs.values() for config in rows)
    for row in range(len(rows)):
        assert compile_offline(module, "sm_90", [(1000, 64), (1000,), (1000, 64)], row).asm["ptx"]


class _Recorder:
    """Stands for a kernel: what it is launched with."""

    def __getitem__(self, grid):
        return lambda *arguments, **constants: setattr(self, "constants", constants)


@pytest.mark.parametrize("columns, row", [(500, 0), (512, 0), (513, 2), (1024, 2), (2000, 4), (3000, 0)])
def test_the_printed_launcher_takes_the_first_row_that_is_meant_for_the_call(columns, row):
    """What an instance holds of a row's columns is bounded; where no row bounds it, the first one does what the tuner does."""
    from intent.providers.triton import _Shape, load_module, plan
    from test_algorithms import mixed

    module = load_module(intent.generate(mixed, target="triton:sm_90").source_path)
    stands = [_Shape(shape, itemsize=4) for shape in ((100, 30), (30, columns), (100,), (100, columns), (columns,))]
    for stand in stands:
        stand.device = "meta"
    variant = plan(module, stands).variant
    wanted = variant["configs"][row]
    assert plan(module, stands).configuration == plan(module, stands, row).configuration
    kernel, recorder = variant["kernel"], _Recorder()
    try:
        variant["kernel"] = recorder
        module.mixed(*stands)
        launched = recorder.constants
        assert {name: launched[name] for name in wanted.kwargs} == wanted.kwargs and launched["num_warps"] == wanted.num_warps
        module.mixed(*stands, row=1)
        assert recorder.constants["num_warps"] == variant["configs"][1].num_warps
    finally:
        variant["kernel"] = kernel


_RUN = r"""
import sys
sys.path[:0] = sys.argv[1:3]
import numpy as np, torch, types
import triton.language as tl
import intent
import test_triton_kernels as kernels
from test_triton_provider import patch_interpreter
from intent.providers.triton import TritonProgram
patch_interpreter()
failures = []
for name, kernel, arguments, expected, tolerance in kernels.cases(np.random.default_rng(3)):
    program = TritonProgram(intent.generate(kernel, target="triton:sm_90").source_path)
    if hasattr(program.module, "libdevice"):
        program.module.libdevice = types.SimpleNamespace(exp=lambda x: tl.exp(x))
    for variant in program.module.VARIANTS:
        for row in range(len(variant["configs"])):
            variants, program.module.VARIANTS = program.module.VARIANTS, [{**variant, "guard": lambda **_: True}]
            tensors = [torch.from_numpy(a.copy()) if isinstance(a, np.ndarray) else a for a in arguments]
            try:
                program._launches.clear()
                if program.plan(tensors, row).configuration.get("USE_TENSOR_DESCRIPTOR"):
                    continue
                program.launch(tensors, row)
                for at, want in expected.items():
                    got = tensors[at].numpy()
                    np.testing.assert_allclose(got.astype(np.float64) if got.dtype.kind == "f" else got, want, rtol=tolerance, atol=tolerance)
            except Exception as error:
                failures.append(f"{name} {variant['name']} row {row}: {str(error)[-800:]}")
            finally:
                program.module.VARIANTS = variants
print("\n".join(failures))
sys.exit(bool(failures))
"""


def test_values_in_the_interpreter(tmp_path):
    pytest.importorskip("torch")
    script = tmp_path / "run.py"
    script.write_text(_RUN)
    package, tests = pathlib.Path(intent.__file__).parents[1], pathlib.Path(__file__).parent
    done = subprocess.run([sys.executable, str(script), str(package), str(tests)], capture_output=True, text=True, env={**os.environ, "TRITON_INTERPRET": "1"})
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
