"""The author programs of samples/, on the host, against their own expected values; checked runs find nothing wrong with them."""
import pytest

import intent
from intent import native
from sample_cases import agrees, all_cases, case

CASES = list(all_cases())


@pytest.mark.skipif(native.find_library("libintent-host.so") is None, reason="the libraries are not built")
@pytest.mark.parametrize("check", [False, True], ids=["", "checked"])
@pytest.mark.parametrize("file, index, name", CASES, ids=[f"{f}-{n}" for f, _, n in CASES])
def test_sample(file, index, name, check):
    _, kernel, constexprs, arguments, expected, tolerance = case(file, index)
    compiled = intent.compile(kernel, constexprs=constexprs, options=intent.CompileOptions(check=check))
    inputs = [p for p in compiled.metadata["params"] if p.get("access") != "out"]
    result = compiled.run(*arguments)
    if result is None:
        result = [a for a, p in zip(arguments, inputs) if p.get("access") == "inout"]
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    assert len(results) == len(expected)
    for i, (actual, wanted) in enumerate(zip(results, expected)):
        assert agrees(actual, wanted, tolerance), f"output {i}"
