"""Launch expressions: values, refusals of text that is none, and that the compiler's simpler conditions say the same."""
import itertools
import os
import pathlib
import random
import re
import subprocess

import pytest

from intent.runtime.expressions import ExpressionError, parse


@pytest.mark.parametrize("text, value", [
    ("7", 7), ("-3", -3), ('"M"', 10), ("BM", 4), ('ceil_div("M", BM)', 3), ("floor_div(-7, 2)", -4), ("ceil_div(-7, 2)", -3), ("mod(-7, 4)", 1), ("pow2_ceil(0)", 1),
    ("pow2_ceil(-5)", 1), ("pow2_ceil(8)", 8), ("pow2_ceil(9)", 16), ('le("M", 10)', 1), ('lt("M", 10)', 0), ('not(eq("%H", -2))', 0), ("and(1, 0)", 0), ("or(0, 2)", 1),
    ("select(0, 1, 2)", 2), ('min(max("M", BM), sub(20, 3))', 10), (' add ( 1 , mul(2,3) ) ', 7), (12, 12)])
def test_values(text, value):
    assert parse(text).evaluate({"M": 10, "%H": -2}, {"BM": 4}) == value


@pytest.mark.parametrize("text", ["", "add(1)", "add(1, 2", "add(1, 2))", "1 2", "frob(1)", "add(,1)", "add(1,)", '"M', "(1)", "1)", "add", "@", "add(1 2)"])
def test_refused(text):
    with pytest.raises(ExpressionError):
        parse(text).evaluate({}, {})


def test_names_and_constants():
    expression = parse('select(lt("M", BM), "%k", 1)')
    assert expression.symbols == {"M", "%k"} and expression.parameters == {"BM"} and expression.constant is None
    assert parse("mul(3, 4)").constant == 12
    with pytest.raises(ExpressionError, match="'M' has no value"):
        parse('"M"').evaluate({})
    with pytest.raises(ExpressionError, match="divisor 0"):
        parse('mod(1, "M")').evaluate({"M": 0})


def test_deep_text_does_not_exhaust_the_stack():
    assert parse("not(" * 20000 + "1" + ")" * 20000).constant == 1


def _condition(rng, depth):
    if depth == 0 or rng.random() < 0.2:
        bound = str(rng.randint(-1, 4))
        sides = [f'"{rng.choice("MN")}"', bound]
        rng.shuffle(sides)
        return f"{rng.choice(['le', 'lt', 'le', 'eq'])}({', '.join(sides)})"
    kind = rng.choice(["and", "or", "and", "or", "not"])
    return f"{kind}({', '.join(_condition(rng, depth - 1) for _ in range(1 if kind == 'not' else 2))})"


def test_simpler_conditions_hold_where_the_written_ones_do():
    library = pathlib.Path(os.environ.get("INTENT_LIBRARY_DIR") or pathlib.Path(__file__).resolve().parents[2] / "build" / "lib")
    tool = library.parent / "bin" / "intent-opt"
    if not tool.is_file():
        pytest.skip("intent-opt is not built")
    rng = random.Random(7)
    written = [_condition(rng, depth) for depth in (1, 2, 3, 4) for _ in range(150)]

    def simplified(conditions):
        text = ", ".join(f"block.c{number:04} = #block.expr<{condition}>" for number, condition in enumerate(conditions))
        done = subprocess.run([tool, "-"], input=f"module attributes {{{text}}} {{}}", capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return re.findall(r"#block\.expr<(.*?)>(?=[,}])", done.stdout)

    simpler = simplified(written)
    assert len(simpler) == len(written) and sum(map(len, simpler)) < 0.65 * sum(map(len, written)) and simplified(simpler) == simpler
    for before, after in zip(written, simpler):
        wanted, found = parse(before), parse(after)
        for m, n in itertools.product(range(-3, 7), repeat=2):
            assert found.evaluate({"M": m, "N": n}) == wanted.evaluate({"M": m, "N": n}), (before, after, m, n)
