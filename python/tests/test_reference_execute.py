"""Every program of execute/ in the reference: the literal values that compiled kernels are held to bind it as well."""
import importlib.util
import inspect
from pathlib import Path

import numpy as np
import pytest

import intent

FOLDER = Path(__file__).parent / "execute"
# Files about how compiled kernels are bound and launched, not about what programs mean.
COMPILED_ONLY = ("test_host_surface",)
# What compiled kernels guard, the reference reports.
REPORTED = ("test_out_of_range_reads_zero_and_touches_nothing", "test_out_of_range_writes_nothing")


@pytest.fixture
def rng():
    return np.random.default_rng(20261130)


def build(kernel, **constexprs):
    types = constexprs.pop("types", None)
    constexprs.pop("options", None)
    return intent.interpret(kernel, constexprs=constexprs, types=types)


def _collect():
    import sys

    sys.path.insert(0, str(FOLDER))
    try:
        for path in sorted(FOLDER.glob("test_*.py")):
            if path.stem in COMPILED_ONLY:
                continue
            spec = importlib.util.spec_from_file_location(f"reference_{path.stem}", path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            module.build = build
            for name, test in vars(module).items():
                if name.startswith("test_") and name not in REPORTED and inspect.isfunction(test) and test.__module__ == module.__name__:
                    yield f"{path.stem}_{name[5:]}", test
    finally:
        sys.path.remove(str(FOLDER))


globals().update(_collect())
