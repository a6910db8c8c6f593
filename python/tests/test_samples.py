"""The author programs of samples/, on the host, against their own expected values."""
import importlib.util
from pathlib import Path

import numpy as np
import pytest

import intent
from intent import native

FOLDER = Path(__file__).parent / "samples"
# What this version builds. Others may be refused with a TargetError, never with wrong values.
BUILT = {"gated", "adamw", "max_pool", "int4_linear"}


def load(name):
    spec = importlib.util.spec_from_file_location(f"sample_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cases():
    for path in sorted(FOLDER.glob("*.py")):
        for i, case in enumerate(load(path.stem).cases(np.random.default_rng(0))):
            yield pytest.param(path.stem, i, case[0], id=f"{path.stem}-{case[0]}-{i}")


@pytest.mark.skipif(native.find_library("libintent-host.so") is None, reason="the libraries are not built")
@pytest.mark.parametrize("file, index, name", list(cases()))
def test_sample(file, index, name):
    _, kernel, constexprs, arguments, expected, tolerance = list(load(file).cases(np.random.default_rng(0)))[index]
    types = {"T": "f16" if arguments[0].dtype == np.float16 else "f32"} if constexprs.pop("types", None) is None and "T" in annotations(kernel) else {}
    try:
        k = intent.compile(kernel, constexprs=constexprs, types=types)
    except intent.TargetError as error:
        if name.split()[0] in BUILT:
            raise
        pytest.xfail(f"not built yet: {error.message}")
    inout = [a for a, p in zip(arguments, [p for p in k.metadata["params"] if p.get("access") != "out"]) if p.get("access") == "inout"]
    result = k.run(*arguments)
    results = inout if result is None else list(result) if isinstance(result, tuple) else [result]
    assert len(results) == len(expected)
    for actual, wanted in zip(results, expected):
        compare(actual, np.asarray(wanted), tolerance)


def annotations(kernel):
    from intent.capture import capture

    request = capture(kernel, {}, {})
    return {p["dtype"]["typevar"] for p in request["functions"][request["entry"]]["params"] if isinstance(p.get("dtype"), dict)}


def compare(actual, wanted, tolerance):
    assert actual.shape == wanted.shape
    if tolerance == "99% equal":
        assert np.mean(actual == wanted) >= 0.99
        return
    if tolerance == "sorted":
        np.testing.assert_array_equal(np.sort(actual), np.sort(wanted.astype(actual.dtype)))
        return
    a, w = actual.astype(np.float64), wanted.astype(np.float64)
    finite = np.isfinite(w)
    np.testing.assert_array_equal(a[~finite], w[~finite])
    if finite.any():
        assert np.abs(a - w)[finite].max() <= tolerance * np.abs(w[finite]).max()
