"""The sample programs as data for every backend: loading them, their types, and comparing what came out."""
import importlib.util
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent / "samples"


def load(name):
    spec = importlib.util.spec_from_file_location(f"sample_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def all_cases():
    """`(file, index, case name)` of every sample, for parametrised tests."""
    for path in sorted(FOLDER.glob("*.py")):
        for i, case in enumerate(load(path.stem).cases(np.random.default_rng(0))):
            yield path.stem, i, case[0]


def case(file, index):
    """A fresh `(name, kernel, constexprs, arguments, expected, tolerance)`."""
    return list(load(file).cases(np.random.default_rng(0)))[index]


def agrees(actual, wanted, tolerance):
    """True if an output holds what the sample expects (samples/README: relative to the largest finite magnitude)."""
    actual, wanted = np.asarray(actual), np.asarray(wanted)
    if actual.shape != wanted.shape:
        return False
    if tolerance == "99% equal":
        return bool(np.mean(actual == wanted) >= 0.99)
    if tolerance == "sorted":
        actual, wanted, tolerance = np.sort(actual.ravel()), np.sort(wanted.ravel()), 0.0
    actual, wanted = actual.astype(np.float64), wanted.astype(np.float64)
    finite = np.isfinite(wanted)
    if not np.array_equal(actual[~finite], wanted[~finite], equal_nan=True):
        return False
    scale = np.abs(wanted[finite]).max(initial=0.0)
    return bool(np.all(np.abs(actual[finite] - wanted[finite]) <= tolerance * scale + 1e-30))
