"""Conflicts between iterations of I.parallel loops: those that index arithmetic proves are errors, nothing else is."""
import pytest
from programs import diagnostic, kernel, kir

VIEWS = 'x: I.In[I.f32, ("M", "N")], y: I.InOut[I.f32, ("M", "N")], v: I.InOut[I.f32, ("M",)], s: I.InOut[I.f32, ()], k: I.In[I.i32, ("M",)], n: I.i32, t: I.InOut[I.f32, (8,)]'
ROWS, BOTH = "M, N = x.shape\nfor i in I.parallel(I.domain(M)):\n", "M, N = x.shape\nfor i, j in I.parallel((I.domain(M), I.domain(N))):\n"
SAME = "every iteration of the I.parallel loop at line 4 writes the same elements of '{}'; index them by its coordinates, or use I.scatter_reduce, I.atomic or an ordered loop"
READS = "iterations of the I.parallel loop at line 4 conflict: one writes elements of '{}' that another reads; use an ordered loop or another view"
WRITES = READS.replace("another reads", "another writes")

# (body, message, the view)
CONFLICTS = [
    (ROWS + "    v[0] = x[i, 0]", SAME, "v"), (ROWS + "    s[()] = x[i, 0]", SAME, "s"), (ROWS + "    s[()] += x[i, 0]", SAME, "s"), (ROWS + "    v[n] = x[i, 0]", SAME, "v"),
    (ROWS + "    v[:] = x[:, 0]", SAME, "v"), (ROWS + "    y[n, I.domain(3)] = 1", SAME, "y"), (BOTH + "    v[i] = x[i, j]", SAME, "v"), (BOTH + "    v[j - j + 1] = x[i, j]", SAME, "v"),
    (ROWS + "    for c in range(N):\n        v[c] = x[i, c]", SAME, "v"), 
    (ROWS + "    v[i] = v[i + 1]", READS, "v"), (ROWS + "    v[i + 2] = v[i - 1] + 1", READS, "v"), (ROWS + "    v[i] = x[i, 0]\n    v[i + 1] = x[i, 1]", WRITES, "v"),
    (ROWS + "    y[i, :] = y[i + 1, :]", READS, "y"), (BOTH + "    y[i, j] = y[i, j + 1]", READS, "y"), (BOTH + "    y[i, j] = y[i + 1, j - 1]", READS, "y"),
    (ROWS + "    v[i] = v[i] / v[0]", READS, "v"), (BOTH + "    y[i, j] = y[i, j] / y[0, j]", READS, "y"), (ROWS + "    v[i] = I.reduce.sum(v[:], axis=0)", READS, "v"),
    (BOTH + "    y[i, j] = I.reduce.sum(y[i, :], axis=0)", READS, "y"), (ROWS + "    for c in range(N):\n        y[i, c] = y[i + 1, c]", READS, "y"),
    ("for i in I.parallel(I.domain(0, 8, 2)):\n    t[i] = t[i + 4]", READS.replace("line 4", "line 3"), "t"), ("for i in I.parallel(I.domain(8)):\n    t[7 - i] = t[6 - i]", READS.replace("line 4", "line 3"), "t"),
    ("b = I.buffer(8, I.f32, init=0)\nfor i in I.parallel(I.domain(8)):\n    b[0] = x[i, 0]", SAME, "b"),
]
LEGAL = [
    ROWS + "    v[i] = v[i] + 1", ROWS + "    y[i, :] = y[i, :] * 2", BOTH + "    y[i, j] = y[i, j] + v[i]", ROWS + "    if i == 0:\n        v[0] = x[i, 0]", ROWS + "    if i > 3:\n        continue\n    v[0] = 1",
    ROWS + "    v[I.cast(k[i], I.index)] = x[i, 0]", ROWS + "    b = I.buffer(3, I.f32)\n    b[0] = x[i, 0]\n    v[i] = b[0] + b[1]", ROWS + "    for c in range(1, N):\n        y[i, c] = y[i, c - 1]",
    "for i in I.parallel(I.domain(0, 8, 2)):\n    t[i] = t[i + 1]", "for i in I.parallel(I.domain(4)):\n    t[i] = t[i + 4]", "for i in I.parallel(I.domain(1)):\n    t[0] = x[i, 0]\n    s[()] = 1",
    "for i in I.parallel(I.domain(1, 8)):\n    t[i] = t[0]", ROWS + "    y[i, i] = y[0, i]", ROWS + "    y[i, i] = I.reduce.sum(y[:, i], axis=0)", BOTH + "    y[i, j] = x[j, i]", ROWS + "    y[i, 0] = y[i, 1]",
    ROWS + "    v[M - 1 - i] = v[M - 1 - i] * 2", ROWS + "    I.scatter_reduce(v, 0, x[i, 0], I.add)\n    I.atomic.add(v, 0, 1)", ROWS + "    for c in I.domain(N)[i:N]:\n        v[c] = 1", ROWS + "    v[i] = I.gather(v, i + 1, valid=i + 1 < M)",
    "M, N = x.shape\nfor i in I.parallel(I.domain(M)):\n    for j in I.parallel(I.domain(N)):\n        y[i, j] = y[i, j] + 1", "for i in range(4):\n    v[0] = x[i, 0]", ROWS + "    while v[i] > 0:\n        v[i] -= 1\n        s[()] = 1",
    ROWS + "    I.scatter_unique(v, k[:], 1)", ROWS + "    v[i // 2] = x[i, 0]", ROWS + "    v[i * 2] = v[i * 2 + 1]",
]


@pytest.mark.parametrize("case", CONFLICTS, ids=[case[0].splitlines()[-1] + str(i) for i, case in enumerate(CONFLICTS)])
def test_conflict(case):
    body, message, view = case
    found = diagnostic(kernel(VIEWS, body))
    assert found["message"] == message.format(view) and found["error"] == "LanguageError"
    assert found["line"] == body.count("\n") + (2 if message == WRITES else 3)
    assert bool(found["notes"]) == (message != SAME)


@pytest.mark.parametrize("body", LEGAL, ids=range(len(LEGAL)))
def test_what_is_not_proven_is_legal(body):
    kir(kernel(VIEWS, body))
