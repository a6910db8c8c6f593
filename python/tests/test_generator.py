"""The program generator itself: seeds are reproducible, programs are of the language, failures are found, kept apart and made smaller."""
import time
from dataclasses import replace

import numpy as np
import pytest

from generator import coverage, execution, families, grammar, layouts, pool, shrinking, statements
from generator.tree import Node, Program, Statement, View
from intent.native import find_library


def test_seeds_are_reproducible():
    texts = [statements.source(grammar.program(seed)) for seed in range(12)]
    assert texts == [statements.source(grammar.program(seed)) for seed in range(12)]
    assert len(set(texts)) == 12


def test_programs_are_of_the_language(tmp_path):
    """Each runs in the reference, within the bounds that its facts claim."""
    import intent

    for seed in range(500, 515):
        program = grammar.program(seed)
        module = execution.load(statements.source(program), tmp_path)
        limits = statements.check(program)
        for number, known in enumerate(limits):
            values = layouts.arguments(program, number)
            intent.interpret(module.k, **execution.bindings(program, module))(*values)
            for view, array in zip(program.views, values):
                if view.access != "in" and view.dtype in ("f16", "bf16", "f32", "f64"):
                    finite = np.abs(array.astype(np.float64)[np.isfinite(array.astype(np.float64))])
                    assert finite.max(initial=0.0) <= known[view.name].bound + known[view.name].error


@pytest.mark.skipif(find_library("libintent-host.so") is None, reason="the libraries are not built")
@pytest.mark.parametrize("block", range(6))
def test_checked_runs_find_nothing(block, tmp_path):
    """No false report, and the values of the reference, whatever the order of instances and lanes."""
    import intent

    for seed in range(block * 10, block * 10 + 10):
        program = grammar.program(seed)
        module = execution.load(statements.source(program), tmp_path)
        kernel, bound = module.k, execution.bindings(program, module)
        try:
            compiled = intent.compile(kernel, **bound, options=intent.CompileOptions(check=True))
        except intent.TargetError:
            with pytest.raises(intent.TargetError):
                intent.compile(kernel, **bound)
            continue
        for number, known in enumerate(statements.check(program)):
            actual, wanted = execution.arguments(program, number), execution.arguments(program, number)
            compiled(*actual)
            intent.interpret(kernel, seed=program.data_seed, **bound)(*wanted)
            assert execution.difference(program, actual, wanted, known) is None, f"seed {seed}, arguments {number}"


def test_kinds_of_statement_and_expression_occur():
    kinds = set()
    for seed in range(400):
        program = grammar.program(seed)
        for body, at in program.statements():
            kinds.add(body[at].kind)
            kinds |= {node.kind for e in body[at].expressions for node in e.walk()}
    wanted = {"let", "write", "parallel", "for", "while", "if", "skip", "buffer", "put", "scatter", "atomic", "read", "gather", "coordinate", "reduce", "generic_reduce", "scan",
              "cumulative", "arg_reduce", "contract", "fold", "transpose", "expand", "select", "compare", "cast", "call", "fma", "ternary", "field", "item", "function", "binary",
              "region", "ragged", "assume", "static_if", "branch", "return_if", "unique", "old", "swap", "unpack", "tick", "steps", "invert", "logic", "chain", "lookup", "at", "guarded",
              "counted", "outer", "bitcast", "reshape", "pair_reduce", "pair_scan", "affine", "with_operands", "scaled", "sparse", "records"}
    assert wanted <= kinds, wanted - kinds


def test_rare_parameters_occur():
    programs = [grammar.program(seed) for seed in range(200)]
    views = [v for p in programs for v in p.views]
    assert {"plain", "reversed", "mirrored", "spread", "columns", "broadcast"} <= {v.layout for v in views}
    assert {"f8e4m3fn", "f8e5m2", "u64", "bf16"} <= {v.dtype for v in views} and any(v.generic for v in views) and any(v.constraint for v in views)
    assert {int, bool, str} <= {type(c.value) for p in programs for c in p.constants} and any(p.alias for p in programs)


def test_coverage_counts_programs():
    lines = dict(reversed(line.split(" %  ")) for line in coverage.table(map(grammar.program, range(20))).splitlines())
    assert float(lines["I.cast"]) > 50 and float(lines["I.dtype"]) == 0 and "break" in lines


@pytest.mark.parametrize("layout", [*layouts.ANYWHERE, "plain"])
def test_layouts_keep_values(layout):
    values = np.arange(12, dtype=np.int32).reshape(3, 4)
    found = layouts.laid_out(values, layout)
    np.testing.assert_array_equal(found, values)
    assert (found.strides == values.strides) == (layout == "plain")
    assert layouts.laid_out(values[:0], layout).shape == (0, 4)


@pytest.mark.parametrize("how, second", [("same", [0, 1, 2, 3]), ("shifted", [1, 2, 3, 9]), ("mirrored", [3, 2, 1, 0]), ("meeting", [2, 3, 9, 9])])
def test_arrays_that_share_memory(how, second):
    a, b = layouts.sharing(np.arange(4, dtype=np.int32), np.full(4, 9, np.int32), how)
    np.testing.assert_array_equal(a, range(4))
    np.testing.assert_array_equal(b, second)
    a[3] = 7
    assert (b == 7).sum() == 1


def test_groups_may_be_empty_or_long():
    """Offsets ascend from 0 to the number of members, whatever their number."""
    rng = np.random.default_rng(0)
    for groups, total in ((0, 0), (1, 5), (4, 0), (6, 1), (5, 40)):
        found = layouts.offsets((groups + 1,), rng, {"L": total})
        assert len(found) == groups + 1 and found[0] == 0 and found[-1] == total and (np.diff(found) >= 0).all()


def small(expression, dtype="f32", **view):
    views = [View("x1", "in", dtype, ("M",), "exact"), View("y1", "out", dtype, ("M",))]
    return Program(views, [], {}, [Statement("write", [expression], [], {"view": "y1", "axes": [":"]})], [{"M": 3}], 1)


def read():
    return Node("read", [], {"view": "x1", "axes": [":"]})


def test_differences_are_found():
    program = small(Node("function", [read()], {"name": "neg"}))
    limits = statements.check(program)[0]
    x, y = layouts.arguments(program, 0)
    assert execution.difference(program, [x, -x], [x, -x], limits) is None
    wrong = -x
    wrong[1] += 1
    assert execution.difference(program, [x, wrong], [x, -x], limits).startswith("y1[1] is ")
    assert execution.difference(program, [x + 1, -x], [x, -x], limits) == "input x1 was changed"
    assert execution.difference(program, [x, np.where(x == x[0], np.nan, -x).astype(np.float32)], [x, -x], limits)
    inexact = small(Node("function", [read()], {"name": "exp"}))
    limits = statements.check(inexact)[0]
    near = np.exp(np.minimum(x, 2))
    assert execution.difference(inexact, [x, near * np.float32(1 + 1e-7)], [x, near], limits) is None
    assert execution.difference(inexact, [x, near * np.float32(1.001)], [x, near], limits)


def test_a_program_is_made_smaller():
    """A failure that hangs on one node keeps that node and little else."""
    program = grammar.program(3)

    def has_reduce(candidate):
        return any(n.kind == "reduce" for body, at in candidate.statements() for e in body[at].expressions for n in e.walk())

    for seed in range(3, 60):
        program = grammar.program(seed)
        if has_reduce(program):
            break
    made = shrinking.shrink(program, has_reduce, 20)
    assert has_reduce(made) and shrinking.weight(made) < shrinking.weight(program) / 2
    statements.check(made)


@pytest.mark.parametrize("body, category", [("import os; os.kill(os.getpid(), 9)", "crash"), ("import time; time.sleep(60)", "timeout")])
def test_a_worker_may_crash_or_hang(monkeypatch, body, category):
    monkeypatch.setattr(pool, "PATIENCE", 3.0)
    started = time.monotonic()
    with pool.Pool(1, replace(families.VALUES, run=lambda program, folder: exec(body))) as workers:
        outcome = workers.outcome(small(read()))
    assert (outcome.status, outcome.category) == ("failed", category) and time.monotonic() - started < 50
