"""What messages look like, and that errors survive pickling."""
import pickle

import pytest

from intent import errors


def test_place_line_caret_and_notes():
    error = errors.LanguageError("expected f16, got f32", filename="softmax.py", line=7, column=5, end_column=8, source_line="\ty = x + 1",
                                 notes=[errors.Note("x is declared here", "softmax.py", 3, 1, "x = 1")])
    assert str(error) == ("softmax.py:7:5: error: expected f16, got f32\n  \ty = x + 1\n  \t   ^~~\n"
                          "softmax.py:3:1: note: x is declared here\n  x = 1\n  ^")
    assert (error.filename, error.line, error.column) == ("softmax.py", 7, 5)


def test_texts_of_each_class():
    assert str(errors.ConfigurationError("expected a positive integer, got 0", source="t.json", family="scan", row=2, column="scan")) == \
        "t.json, family scan, row 2, column scan: expected a positive integer, got 0"
    assert str(errors.TargetError("no f64 dot", category="hardware_capability")) == "no f64 dot [hardware_capability]"
    assert str(errors.CallError("argument 'x'", parameter="x", expected="rank 2", actual="rank 1")) == "argument 'x': expected rank 2, got rank 1"
    assert "kept in /tmp/k" in str(errors.InternalError("boom", input_path="/tmp/k"))
    provider = errors.ProviderError("compilation failed", original=ValueError("bad"), candidates=[(0, "too slow")])
    assert str(provider) == "compilation failed: ValueError: bad\n  candidate 0: too slow" and isinstance(provider.__cause__, ValueError)


@pytest.mark.parametrize("error", [errors.TargetError("m", category="shared_gpu", feature="f", line=3, filename="a.py"), errors.CallError("m", parameter="x"),
                                   errors.ConfigurationError("m", row=1), errors.InternalError("m", input_path="p")])
def test_pickle(error):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error) and copy.__dict__ == error.__dict__ and str(copy) == str(error)
