"""The author programs of samples/, on the host, against their own expected values."""
import pytest

import intent
from intent import native
from sample_cases import agrees, all_cases, case

# Of the language's sample programs, those that this version builds; the others are refused with a located TargetError.
BUILT = {"gated", "adamw", "max_pool", "int4_linear", "layer_norm_grad", "jagged_mean"}
CASES = list(all_cases())


@pytest.mark.skipif(native.find_library("libintent-host.so") is None, reason="the libraries are not built")
@pytest.mark.parametrize("file, index, name", CASES, ids=[f"{f}-{n}" for f, _, n in CASES])
def test_sample(file, index, name):
    _, kernel, constexprs, arguments, expected, tolerance = case(file, index)
    if file != "kinds" and name.split()[0] not in BUILT:
        with pytest.raises(intent.TargetError) as error:
            intent.compile(kernel, constexprs=constexprs)
        assert error.value.line
        return
    compiled = intent.compile(kernel, constexprs=constexprs)
    inputs = [p for p in compiled.metadata["params"] if p.get("access") != "out"]
    result = compiled.run(*arguments)
    if result is None:
        result = [a for a, p in zip(arguments, inputs) if p.get("access") == "inout"]
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    assert len(results) == len(expected)
    for i, (actual, wanted) in enumerate(zip(results, expected)):
        assert agrees(actual, wanted, tolerance), f"output {i}"
