"""The author programs of samples/ in the reference, against their own expected values, under several free orders."""
import pytest

import intent
from sample_cases import agrees, all_cases, case

CASES = list(all_cases())


@pytest.mark.parametrize("file, index, name", CASES, ids=[f"{f}-{n}" for f, _, n in CASES])
def test_sample(file, index, name):
    for seed in (0, 7) if "4096" not in name and name != "escape_time" else (0,):
        _, kernel, constexprs, arguments, expected, tolerance = case(file, index)
        interpreted = intent.interpret(kernel, constexprs=constexprs, seed=seed)
        result = interpreted.run(*arguments)
        if result is None:
            views = [p for p in kernel.source().arguments if p.arg not in constexprs]
            result = [a for a, p in zip(arguments, views) if kernel.function.__annotations__[p.arg].__class__.__name__ == "View"
                      and kernel.function.__annotations__[p.arg].access == "inout"]
        results = list(result) if isinstance(result, (tuple, list)) else [result]
        assert len(results) == len(expected)
        for actual, wanted in zip(results, expected):
            assert agrees(actual, wanted, tolerance)
