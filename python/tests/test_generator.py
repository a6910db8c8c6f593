"""The program generator itself: seeds are reproducible, programs are of the language, failures are found, kept apart and made smaller."""
import time

import numpy as np
import pytest

from generator import execution, grammar, pool, shrinking, statements
from generator.tree import Node, Program, Statement, View


def test_seeds_are_reproducible():
    texts = [statements.source(grammar.program(seed)) for seed in range(12)]
    assert texts == [statements.source(grammar.program(seed)) for seed in range(12)]
    assert len(set(texts)) == 12


def test_programs_are_of_the_language(tmp_path):
    """Each runs in the reference, within the bounds that its facts claim."""
    import intent

    for seed in range(500, 515):
        program = grammar.program(seed)
        kernel = execution.load(statements.source(program), tmp_path)
        limits = statements.check(program)
        for number, known in enumerate(limits):
            values = execution.arguments(program, number)
            intent.interpret(kernel)(*values)
            for view, array in zip(program.views, values):
                if view.access != "in" and view.dtype in ("f16", "bf16", "f32", "f64"):
                    finite = np.abs(array.astype(np.float64)[np.isfinite(array.astype(np.float64))])
                    assert finite.max(initial=0.0) <= known[view.name].bound + known[view.name].error


def test_kinds_of_statement_and_expression_occur():
    kinds = set()
    for seed in range(150):
        program = grammar.program(seed)
        for body, at in program.statements():
            kinds.add(body[at].kind)
            kinds |= {node.kind for e in body[at].expressions for node in e.walk()}
    wanted = {"let", "write", "parallel", "for", "while", "if", "skip", "buffer", "put", "scatter", "atomic", "read", "gather", "coordinate", "reduce", "generic_reduce", "scan",
              "cumulative", "arg_reduce", "contract", "fold", "transpose", "expand", "select", "compare", "cast", "call", "fma", "ternary", "field", "item", "function", "binary"}
    assert wanted <= kinds, wanted - kinds


def small(expression, dtype="f32", **view):
    views = [View("x1", "in", dtype, ("M",), "exact"), View("y1", "out", dtype, ("M",))]
    return Program(views, [], {}, [Statement("write", [expression], [], {"view": "y1", "axes": [":"]})], [{"M": 3}], 1)


def read():
    return Node("read", [], {"view": "x1", "axes": [":"]})


def test_differences_are_found():
    program = small(Node("function", [read()], {"name": "neg"}))
    limits = statements.check(program)[0]
    x, y = execution.arguments(program, 0)
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
    monkeypatch.setattr(pool, "run", lambda program, folder: exec(body))
    started = time.monotonic()
    with pool.Pool(1) as workers:
        outcome = workers.outcome(small(read()))
    assert (outcome.status, outcome.category) == ("failed", category) and time.monotonic() - started < 50
