"""Launch expressions: values, and refusals of text that is none."""
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
