"""Generated Triton: hand-written block programs compiled offline for several targets, and run by Triton's interpreter."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("triton")
import block_programs
from block_programs import CASES

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_TARGETS = ["sm_90", "sm_80", "sm_100", "gfx942"]


def _translate():
    named = os.environ.get("INTENT_TRANSLATE")
    places = [pathlib.Path(named)] if named else [_ROOT / "build" / "bin" / "intent-translate", _ROOT / "build" / "dev" / "bin" / "intent-translate"]
    found = [place for place in places if place.is_file()]
    if not found:
        pytest.skip("intent-translate is not built")
    return str(max(found, key=lambda place: place.stat().st_mtime))


def generate(text, folder, name="source"):
    """The generated module's path."""
    source = folder / f"{name}.mlir"
    source.write_text(str(text))
    done = subprocess.run([_translate(), "--block-to-triton", str(source)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    path = folder / f"{name}.py"
    path.write_text(done.stdout)
    return path


def stand_ins(arguments):
    return [a.shape if isinstance(a, np.ndarray) else a for a in arguments]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("arch", _TARGETS)
def test_compiles_offline(case, arch, tmp_path):
    from intent.providers.triton import compile_offline

    text, arguments, _, _ = CASES[case](np.random.default_rng(1))
    text.target = arch
    compiled = compile_offline(generate(text, tmp_path), arch, stand_ins(arguments))
    assert compiled.asm["ptx" if arch.startswith("sm_") else "amdgcn"]


@pytest.mark.parametrize("element, target", [("bf16", "sm_90"), ("f64", "sm_90"), ("f8E4M3FN", "sm_90"), ("f8E5M2", "sm_80"), ("bf16", "gfx942"), ("i64", "sm_80"), ("ui8", "sm_80")])
def test_pointwise_dtypes_compile(element, target, tmp_path):
    from intent.providers.triton import compile_offline

    assert compile_offline(generate(block_programs.pointwise(element, target), tmp_path), target, [(300,)] * 3)


@pytest.mark.parametrize("element, accumulator, out, target", [
    ("bf16", "f32", "bf16", "sm_90"), ("f32", "f32", "f32", "sm_80"), ("f64", "f64", "f64", "sm_90"), ("f8E4M3FN", "f32", "f16", "sm_90"),
    ("f8E5M2", "f32", "f16", "sm_100"), ("i8", "i32", "i32", "gfx942"), ("bf16", "bf16", "bf16", "sm_90")])
def test_contraction_dtypes_compile(element, accumulator, out, target, tmp_path):
    from intent.providers.triton import compile_offline

    if accumulator in ("f64", "bf16"):
        text = block_programs.plain_matmul(element, accumulator, target)
        shapes = [(64, 64), (64, 64), (64, 64)]
    else:
        text = block_programs.matmul(element, target=target, accumulator=accumulator, out=out)
        shapes = [(64, 64), (64, 64), (64,), (64, 64)]
    assert compile_offline(generate(text, tmp_path), target, shapes)


def test_large_views_use_wide_indices(tmp_path):
    from intent.providers.triton import load_module, plan, _Shape

    text, _, _, _ = CASES["row_sum"](np.random.default_rng(0))
    module = load_module(generate(text, tmp_path))
    small = plan(module, [_Shape((1000, 1000)), _Shape((1000,))])
    large = plan(module, [_Shape((70000, 70000)), _Shape((70000,))])
    assert str(small.constants["INDEX"]) == "int32" and small.signature["M"] == "i32"
    assert str(large.constants["INDEX"]) == "int64" and large.signature["M"] == "i64"
    from intent.providers.triton import compile_plan, gpu_target
    assert compile_plan(large, gpu_target("sm_90")).asm["ptx"]


def test_specialisation_follows_facts_not_values(tmp_path):
    from intent.providers.triton import load_module, plan, _Shape

    text, _, _, _ = CASES["row_sum"](np.random.default_rng(0))
    module = load_module(generate(text, tmp_path))
    keys = {plan(module, [_Shape((m, 64)), _Shape((m,))]).key for m in range(1, 200)}
    assert len(keys) == 1
    keys = {plan(module, [_Shape((8, n)), _Shape((8,))]).key for n in range(2, 200)}
    assert len(keys) == 2
    unaligned = plan(module, [_Shape((8, 64), aligned=False), _Shape((8,))])
    assert (0,) not in unaligned.attributes


def test_descriptor_rows_need_their_facts(tmp_path):
    from intent.errors import ProviderError
    from intent.providers.triton import load_module, plan, compile_plan, gpu_target, _Shape

    text = block_programs.matmul(rows=[[128, 256, 64, 8, 8, 3, 1], [128, 256, 64, 8, 8, 4, 0]], descriptors=True)
    text.features = "descriptors = true"
    module = load_module(generate(text, tmp_path))
    shapes = [(512, 512), (512, 512), (512,), (512, 512)]
    described = plan(module, [_Shape(s) for s in shapes])
    assert described.configuration["USE_TENSOR_DESCRIPTOR"] == 1 and described.signature["a_desc"] == "tensordesc<fp16[128, 64]>"
    assert "cp.async.bulk.tensor" in compile_plan(described, gpu_target("sm_90")).asm["ptx"]
    odd = [_Shape((512, 509), (509, 1)), _Shape((509, 512)), _Shape((512,)), _Shape((512, 512))]
    pointers = plan(module, odd)
    assert pointers.configuration["USE_TENSOR_DESCRIPTOR"] == 0 and pointers.signature["a_desc"] == "constexpr"
    assert compile_plan(pointers, gpu_target("sm_90")).asm["ptx"]
    with pytest.raises(ProviderError, match="no configuration row"):
        plan(module, odd, 0)


def test_descriptors_disappear_where_no_access_can_use_one(tmp_path):
    text, _, _, _ = CASES["row_sum"](np.random.default_rng(0))
    text.parameters.append(("USE_TENSOR_DESCRIPTOR", [0, 1]))
    text.rows = [[4, 64, 0], [4, 64, 1]]
    text.features = "descriptors = true"
    source = generate(text, tmp_path).read_text()
    assert "x_desc" in source
    text, _, _, _ = CASES["pointwise_f32"](np.random.default_rng(0))
    text.parameters.append(("USE_TENSOR_DESCRIPTOR", [0, 1]))
    text.rows = [[128, 0], [128, 1]]
    source = generate(text, tmp_path, "flat").read_text()
    assert "USE_TENSOR_DESCRIPTOR" not in source and source.count("triton.Config(") == 1


def test_grid_limit_and_missing_variant(tmp_path):
    from intent.errors import ProviderError
    from intent.providers.triton import load_module, plan, _Shape

    text, _, _, _ = CASES["pointwise_f32"](np.random.default_rng(0))
    module = load_module(generate(text, tmp_path))
    with pytest.raises(ProviderError, match="above the limit"):
        plan(module, [_Shape((2**40,))] * 3)
    assert plan(module, [_Shape((0,))] * 3).grid == 0


def patch_interpreter():
    """Triton 3.6 converts an array of one element to a number, which NumPy 2.4 refuses."""
    from triton.runtime import interpreter

    patch = interpreter._patch_lang_tensor

    def patch_tensor(tensor, scope):
        patch(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.reshape(-1)[0]))

    interpreter._patch_lang_tensor = patch_tensor


_INTERPRETED = r"""
import sys, types
import numpy as np, torch
sys.path[:0] = sys.argv[1:3]
import triton.language as tl
from block_programs import CASES
from test_triton_provider import generate
from intent.providers.triton import TritonProgram
import pathlib
from test_triton_provider import patch_interpreter
patch_interpreter()
failures = []
for name in sys.argv[4:]:
    text, arguments, expected, tolerance = CASES[name](np.random.default_rng(7))
    program = TritonProgram(generate(text, pathlib.Path(sys.argv[3]), name))
    if hasattr(program.module, "libdevice"):
        # The interpreter has no device library.
        program.module.libdevice = types.SimpleNamespace(exp=lambda x: tl.exp(x))
    tensors = [torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in arguments]
    try:
        program.launch(tensors)
        for at, want in expected.items():
            got = arguments[at].astype(np.float64) if arguments[at].dtype.kind == "f" else arguments[at]
            np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance, err_msg=f"argument {at}")
    except Exception as error:
        import traceback
        failures.append(f"{name}: {traceback.format_exc()[-1500:]}")
print("\n".join(failures))
sys.exit(bool(failures))
"""


def test_values_in_the_interpreter(tmp_path):
    pytest.importorskip("torch")
    import intent

    import triton

    # What an interpreter cannot do: 3.6 takes no bool argument, 3.9 no mask that starts from a scalar.
    skipped = {"3.6": ["casts"], "3.9": ["window"]}.get(triton.__version__[:3], [])
    package, tests = pathlib.Path(intent.__file__).parents[1], pathlib.Path(__file__).parent
    script = tmp_path / "run.py"
    script.write_text(_INTERPRETED)
    environment = {**os.environ, "TRITON_INTERPRET": "1", "INTENT_TRANSLATE": _translate()}
    done = subprocess.run([sys.executable, str(script), str(package), str(tests), str(tmp_path), *(case for case in CASES if case not in skipped)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]


def test_negative_zero_and_nan_survive(tmp_path):
    text, _, _, _ = CASES["unary_f16"](np.random.default_rng(0))
    source = generate(text, tmp_path).read_text()
    assert "* -1.0" in source and "0 -" not in source


_NAMED = '''
import intent, intent.language as I

@intent.kernel
def {kernel}(x: I.In[I.f32, ("{symbol}", "N")], {scalar}: I.f32, {count}: I.i32, y: I.InOut[I.f32, ("{symbol}",)]):
    for i in I.parallel(I.domain(0, {count})):
        y[i] = I.reduce.sum(x[i, :], axis=0) * {scalar}
'''

_NAMED_RUN = r"""
import importlib.util, inspect, itertools, pathlib, sys
import numpy as np, torch
sys.path[:0] = sys.argv[1:3]
import intent
from intent.providers.triton import TritonProgram
from test_triton_provider import _NAMED, patch_interpreter
patch_interpreter()
folder, failures = pathlib.Path(sys.argv[3]), []
for at, names in enumerate(line.split() for line in sys.argv[4].splitlines()):
    case = dict(zip(("kernel", "scalar", "count", "symbol"), names))
    try:
        author = folder / f"author_{at}.py"
        author.write_text(_NAMED.format(**case))
        spec = importlib.util.spec_from_file_location(author.stem, author)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        printed = folder / f"printed_{at}.py"
        printed.write_text(intent.generate(getattr(module, case["kernel"]), "triton:sm_90").source)
        program = TritonProgram(printed)
        by_hand = [f for f in vars(program.module).values() if inspect.isfunction(f)][-1]
        for launch in (program.launch, lambda values: by_hand(*values)):
            y = torch.full((3,), -1.0)
            launch([torch.arange(15.0).reshape(3, 5), 2.5, 2, y])
            assert y.tolist() == [25.0, 87.5, -1.0], y
    except Exception as error:
        failures.append(f"{case}: {type(error).__name__}: {error}")
print("\n".join(failures))
sys.exit(bool(failures))
"""


def test_authors_names_stand_apart_from_the_module(tmp_path):
    """A parameter, a symbol and a kernel may have any name that Python allows, whatever the printed module calls its own things."""
    pytest.importorskip("torch")
    import intent

    words = ("row values variant config constants grid arguments index device dict next getattr max min range len float symbols triton tl torch libdevice VARIANTS OPTIONS "
             "INDEX GROUP_M BN BM B2 CN WORKERS_N BX NUM_WARPS num_warps num_stages options params backend debug self pid v n x_stride_n x_extent y_value N_1 k k_kernel "
             "_ __ _floor_div _combine β λ").split()
    lines = [f"k {word} n2 M" for word in words] + [f"k s {word} M" for word in words] + [f"{word} s n2 M" for word in words]
    lines += [f"k s n2 {word}" for word in words] + ["k β λ μ", "k BN BN2 BM", "tl row triton max", "x x_extent M_1 M", "k M M_extent M"]
    script = tmp_path / "run.py"
    script.write_text(_NAMED_RUN)
    package, tests = pathlib.Path(intent.__file__).parents[1], pathlib.Path(__file__).parent
    done = subprocess.run([sys.executable, str(script), str(package), str(tests), str(tmp_path), "\n".join(lines)], capture_output=True, text=True,
                          env={**os.environ, "TRITON_INTERPRET": "1"})
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]


def f8_constants(element):
    """A kernel in which f8 constants stand wherever one can: stored, chosen, compared, filled in, combined and carried."""
    import math

    import intent
    import intent.language as I

    T = getattr(I, element)

    @intent.kernel
    def constants(x: I.In[T, ("M", "N")], q: I.In[I.i32, ("K",)], largest: I.Out[T, ("M",)], highest: I.Out[T, ("M", "N")], above: I.Out[I.bool, ("M", "N")],
                  chosen: I.Out[T, ("M", "N")], picked: I.Out[T, ("K",)], zero: I.Out[T, ("K",)], nan: I.Out[T, ("K",)], last: I.Out[T, ("M",)]):
        largest[:] = I.reduce.max(x[:, :], axis=1)
        highest[:, :] = I.cummax(x[:, :], axis=1)
        above[:, :] = x[:, :] > 1.5
        chosen[:, :] = I.select(x[:, :] < 0.0, I.cast(1.5, T), -0.0)
        picked[:] = I.gather(x[:, 0], q[:], valid=q[:] >= 0, fill=1.5)
        zero[:] = -0.0
        nan[:] = math.nan
        for i in I.parallel(I.domain(x.shape[0])):
            t = I.cast(-1.5, T)
            for j in range(x.shape[1]):
                t = x[i, j] if x[i, j] > t else t
            last[i] = t

    return constants


def f8_case(element):
    """Bits of the arguments: x, q, then what the kernel leaves; a NaN has any sign."""
    lowest, one, two, three_halves, nan = {"f8e4m3fn": (0xFE, 0x38, 0x40, 0x3C, 0x7F), "f8e5m2": (0xFC, 0x3C, 0x40, 0x3E, 0x7E)}[element]
    x = np.array([[lowest] * 3, [one, 0x80, two]], np.uint8)
    expected = [[lowest, two], [[lowest] * 3, [one, one, two]], [[0] * 3, [0, 0, 1]], [[three_halves] * 3, [0x80] * 3], [one, three_halves], [0x80] * 2, [nan] * 2, [three_halves | 0x80, two]]
    return [x, np.array([1, -1], np.int32)], [np.array(values, np.uint8) for values in expected]


@pytest.mark.parametrize("element, arch", [("f8e4m3fn", "sm_90"), ("f8e5m2", "sm_90"), ("f8e4m3fn", "gfx950")])
def test_f8_constants_compile(element, arch, tmp_path):
    import intent
    from intent.providers.triton import compile_offline

    path = tmp_path / "constants.py"
    path.write_text(intent.generate(f8_constants(element), f"triton:{arch}").source)
    inputs, outputs = f8_case(element)
    assert compile_offline(path, arch, stand_ins(inputs + outputs))


_F8_RUN = r"""
import pathlib, sys
import numpy as np, torch
sys.path[:0] = sys.argv[1:3]
import intent
from intent.providers.triton import TritonProgram
from test_triton_provider import f8_case, f8_constants, patch_interpreter
patch_interpreter()
for element, dtype in (("f8e4m3fn", torch.float8_e4m3fn), ("f8e5m2", torch.float8_e5m2)):
    path = pathlib.Path(sys.argv[3]) / f"{element}.py"
    path.write_text(intent.generate(f8_constants(element), "triton:sm_90").source)
    inputs, outputs = f8_case(element)
    x, q = (torch.from_numpy(a) for a in inputs)
    left = [torch.full(a.shape, 0x55, dtype=torch.uint8) for a in outputs]
    TritonProgram(path).launch([x.view(dtype), q, *(a.view(torch.bool) if at == 2 else a.view(dtype) for at, a in enumerate(left))])
    for at, (got, want) in enumerate(zip(left, outputs)):
        got = got.numpy() & 0x7F if at == 6 else got.numpy()
        np.testing.assert_array_equal(got, want, err_msg=f"{element}, output {at}")
"""


def test_f8_constants_keep_their_bits(tmp_path):
    pytest.importorskip("torch")
    import intent

    script = tmp_path / "run.py"
    script.write_text(_F8_RUN)
    package, tests = pathlib.Path(intent.__file__).parents[1], pathlib.Path(__file__).parent
    done = subprocess.run([sys.executable, str(script), str(package), str(tests), str(tmp_path)], capture_output=True, text=True, env={**os.environ, "TRITON_INTERPRET": "1"})
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]


def doubles_of_narrow_loads():
    """Contractions of f64 whose operands come from loads below 32 bits, with what they are called on."""
    import intent
    import intent.language as I

    @intent.kernel
    def cast(a: I.In[I.f16, ("M", "K")], b: I.In[I.f64, ("K", "N")], z: I.Out[I.f64, ("M", "N")]):
        z[:, :] = I.matmul(I.cast(a[:, :], I.f64), b[:, :], acc_dtype=I.f64)

    @intent.kernel
    def masked(a: I.In[I.f64, ("M", "K")], keep: I.In[I.bool, ("K",)], b: I.In[I.f64, ("K", "N")], z: I.Out[I.f64, ("M", "N")]):
        z[:, :] = I.matmul(I.mask(a[:, :], keep[:], 0.0), b[:, :], acc_dtype=I.f64)

    @intent.kernel
    def scaled(a: I.In[I.u8, ("M", "G", 16)], sa: I.In[I.u8, ("M", "G")], b: I.In[I.u8, ("G", 32, "N")], sb: I.In[I.u8, ("N", "G")], z: I.Out[I.f64, ("M", "N")]):
        z[:, :] = I.scaled_matmul(a[:, :, :], sa[:, :], b[:, :, :], sb[:, :], lhs_format=I.e2m1, rhs_format=I.e5m2, group_size=32, acc_dtype=I.f64)

    return [(cast, [(70, 90), (90, 50), (70, 50)]), (masked, [(70, 90), (90,), (90, 50), (70, 50)]), (scaled, [(3, 2, 16), (3, 2), (2, 32, 5), (5, 2), (3, 5)])]


@pytest.mark.parametrize("kernel, shapes", doubles_of_narrow_loads())
def test_f64_contractions_of_narrow_loads(kernel, shapes, tmp_path):
    import intent
    from intent.providers.triton import compile_offline

    path = tmp_path / "printed.py"
    for arch in ("sm_90", "gfx942"):
        path.write_text(intent.generate(kernel, f"triton:{arch}").source)
        assert compile_offline(path, arch, shapes)
