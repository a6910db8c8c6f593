"""`CompileOptions(check=True)`: authors' mistakes on the host, with the place in the author's file."""

import linecache
import os

import numpy as np
import pytest

import intent
import intent.language as I

CHECK = intent.CompileOptions(check=True)


def line_of(text):
    """The line of this file that ends in the comment `# text`."""
    lines = linecache.getlines(__file__)
    (at,) = [i for i, line in enumerate(lines, 1) if line.rstrip().endswith("# " + text)]
    return at


@intent.fn
def plus(a, b):
    return a + b


@intent.kernel
def gather(x: I.In[I.f32, ("K",)], i: I.In[I.i32, ("N",)], y: I.Out[I.f32, ("N",)]):
    y[:] = x[i[:]]  # gathers


@intent.kernel
def scatter(x: I.In[I.f32, ("N",)], i: I.In[I.i32, ("N",)], y: I.InOut[I.f32, ("K",)]):
    I.scatter_reduce(y, index=(i[:],), value=x[:], combine=plus)  # scatters


def test_a_gather_outside():
    k = intent.compile(gather, options=CHECK)
    x, i = np.arange(9, dtype=np.float32), np.array([0, 8, 3, 3], np.int32)
    assert np.array_equal(k.run(x, i), x[i])
    for index in (9, -1):
        i[2] = index
        with pytest.raises(intent.LanguageError, match=rf"access outside 'x': expected an index in \[0, 9\) on axis 0, got {index}") as error:
            k.run(x, i)
        assert error.value.filename == os.path.basename(__file__) and error.value.line == line_of("gathers") and error.value.column
    assert (intent.compile(gather).run(x, i) == np.where(i < 0, 0, x[i])).all()  # unchecked: a zero, and nothing outside is touched


def test_a_scatter_outside():
    k = intent.compile(scatter, options=CHECK)
    x, y = np.ones(50, np.float32), np.zeros(7, np.float32)
    k(x, (np.arange(50) % 7).astype(np.int32), y)
    assert np.array_equal(y, np.bincount(np.arange(50) % 7))
    with pytest.raises(intent.LanguageError, match="access outside 'y'.*got 7") as error:
        k(x, (np.arange(50) % 8).astype(np.int32), y)
    assert error.value.line == line_of("scatters")


def test_the_variable_asks_for_it_too(monkeypatch):
    monkeypatch.setenv("INTENT_CHECK", "1")
    with pytest.raises(intent.LanguageError, match="access outside 'x'"):
        intent.compile(gather).run(np.zeros(3, np.float32), np.array([3], np.int32))


@intent.kernel
def softmax(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M", "N")]):
    v = x[:, :]
    e = I.exp(v - I.reduce.max(v, axis=1)[:, None])
    y[:, :] = e / I.reduce.sum(e, axis=1)[:, None]


def test_a_correct_program():
    x = np.random.default_rng(0).standard_normal((7, 300)).astype(np.float32)
    assert np.allclose(intent.compile(softmax, options=CHECK).run(x), intent.compile(softmax).run(x), atol=1e-6)
