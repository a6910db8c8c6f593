"""Every sample program that this version builds also compiles for Triton, with no GPU at hand."""
import os

import numpy as np
import pytest

import intent
from intent import native
from sample_cases import all_cases, case

pytest.importorskip("triton")
CASES = list(all_cases())


def call_values(compiled, arguments):
    """Shapes of every view and values of every scalar, in declaration order, for a call with these arguments."""
    remaining, values = list(arguments), []
    results = compiled.run(*[a.copy() if isinstance(a, np.ndarray) else a for a in arguments])
    results = list(results) if isinstance(results, tuple) else [results]
    outs = sum(p.get("access") == "out" for p in compiled.metadata["params"])
    given = len(arguments) == len(compiled.metadata["params"])
    for parameter in compiled.metadata["params"]:
        if parameter.get("access") == "out" and outs:
            values.append(results.pop(0).shape)
            if given:
                remaining.pop(0)
            continue
        value = remaining.pop(0)
        values.append(value.shape if isinstance(value, np.ndarray) else value)
    return values


@pytest.mark.skipif(native.find_library("libintent.so") is None, reason="the libraries are not built")
@pytest.mark.parametrize("file, index, name", CASES, ids=[f"{f}-{n}" for f, _, n in CASES])
def test_compiles(file, index, name):
    from intent.providers.triton import compile_offline, load_module, plan

    _, kernel, constexprs, arguments, _, _ = case(file, index)
    values = call_values(intent.compile(kernel, constexprs=constexprs), arguments)
    generated = intent.generate(kernel, "triton:sm_90", constexprs=constexprs)
    path = os.path.join(generated.cache_directory, "source.py")
    if any(v == 0 for shape in values if isinstance(shape, tuple) for v in shape):
        return  # nothing would be launched
    assert compile_offline(path, "sm_90", values).asm["ptx"]
