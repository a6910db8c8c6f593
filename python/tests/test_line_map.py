"""`line_map` of interface.json: which author's line a line of Triton text comes from."""
import pytest

import intent
import intent.language as I
from intent import native

pytestmark = pytest.mark.skipif(native.find_library("libintent.so") is None, reason="the libraries are not built")


@intent.kernel
def mapped(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]):
    v = I.exp(x[:])
    y[:] = v * 2.0


def test_line_map():
    """Each entry stands behind a comment that names the same line, and the author's lines are those of the statements."""
    program = intent.generate(mapped, "triton:sm_90")
    text = program.source.splitlines()
    first = mapped.function.__code__.co_firstlineno
    entries = program.metadata["line_map"]
    assert [e["line"] for e in entries] == sorted(e["line"] for e in entries)
    for entry in entries:
        assert text[entry["line"] - 2].strip() == f"# {entry['file']}:{entry['author_line']}"
    assert {2, 3} <= {e["author_line"] - first for e in entries} <= {1, 2, 3}  # 1: the signature, whose extents masks use
