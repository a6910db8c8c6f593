"""Control flow: what the kernel IR of loops, branches and early exits computes, against Python running the same source."""
import random
import re

import pytest
from kir_scalars import Machine
from programs import diagnostic, kernel, kir

ELEMENTS = 7
VIEW = 'x: I.InOut[I.index, ("N",)]'


def ops(text, name):
    return re.findall(rf"kir\.{name}\b.*", text)


def ran(body, values, before=""):
    """The elements of `x` after kernel IR and after Python ran a body."""
    text = kir(kernel(VIEW, body, before))
    by_kernel, by_python = list(values), list(values)
    Machine(text, {"x": by_kernel}, {"N": len(values)})
    plain = before.replace("@intent.fn\n", "") + "def k(x):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    namespace = {}
    exec(plain, namespace)
    namespace["k"](by_python)
    return by_kernel, by_python


class Generator:
    """A random program of three numbers and a view: every kind of statement, at most a few levels deep."""

    def __init__(self, seed, returns):
        self.rng, self.returns, self.fresh = random.Random(seed), returns, 0
        self.names = ["a", "b", "c"]

    def value(self):
        pick = self.rng.randrange
        name = self.rng.choice(self.names)
        return [name, f"{name} - {name} + {pick(-3, 9)}", f"{name} + {pick(5)}", f"{name} - {self.rng.choice(self.names)}", f"x[{name} % {ELEMENTS}]",
                f"({name} if {self.condition()} else {pick(4)})", f"{name} * 3 % 11"][pick(7)]

    def condition(self):
        name, other = self.rng.choice(self.names), self.rng.choice(self.names)
        return [f"{name} > {self.rng.randrange(6)}", f"{name} % 2 == 0", f"{name} < {other} and {other} != 3", f"not {name} > {other}",
                f"x[{name} % {ELEMENTS}] > {other} or {name} == 1"][self.rng.randrange(5)]

    def block(self, depth, loop, parallel=False):
        known = list(self.names)
        lines = []
        for _ in range(self.rng.randrange(1, 4)):
            lines += self.statement(depth, loop, parallel)
        self.names = known
        return ["    " + line for line in lines]

    def statement(self, depth, loop, parallel):
        kinds = ["assign", "assign", "write", "fresh", "if", "if"] + (["for", "while", "for"] if depth < 3 else [])
        kinds += ["break", "continue", "continue"] if loop and not parallel else ["continue"] if loop else []
        kinds += ["return"] if self.returns and not parallel else []
        kind = self.rng.choice(kinds) if depth < 4 else self.rng.choice(["assign", "write"])
        if kind == "assign":
            return [f"{self.rng.choice('abc')} = ({self.value()}) % 13"]
        if kind == "write":
            return [f"x[{self.rng.choice(self.names)} % {ELEMENTS}] {self.rng.choice(['=', '+='])} ({self.value()}) % 17"]
        if kind == "fresh":  # first assigned in each branch that goes on
            self.fresh += 1
            name = f"t{self.fresh}"
            leave = self.leave(loop, parallel)
            first = self.block(depth + 1, loop, parallel)
            lines = [f"if {self.condition()}:", *first, *([f"    if {self.condition()}:", f"        {leave}"] if leave else []),
                     f"    {name} = {self.rng.choice(['a + 1', 'b - b + 5'])}", "else:", f"    {name} = b" if self.rng.random() < 0.7 or not leave else f"    {leave}"]
            self.names.append(name)
            return lines
        if kind == "if":
            lines = [f"if {self.condition()}:", *self.block(depth + 1, loop, parallel)]
            if self.rng.random() < 0.4:
                lines += [f"elif {self.condition()}:", *self.block(depth + 1, loop, parallel)]
            if self.rng.random() < 0.5:
                lines += ["else:", *self.block(depth + 1, loop, parallel)]
            return lines
        if kind == "for":
            self.fresh += 1
            name = f"i{self.fresh}"
            bounds = self.rng.choice(["4", "1, 9, 3", "a % 4", "b % 3, 5"])
            self.names.append(name)
            lines = [f"for {name} in range({bounds}):", *self.block(depth + 1, True)]
            self.names.remove(name)
            return lines
        if kind == "while":
            self.fresh += 1
            name = f"w{self.fresh}"
            return [f"{name} = a - a", f"while {name} < 4 and ({self.condition()}):", f"    {name} = {name} + 1", *self.block(depth + 1, True)]
        return [kind if kind != "return" else self.leave(False, False)]

    def leave(self, loop, parallel):
        return self.rng.choice(["break", "continue"] if loop and not parallel else ["return a, b + 1", "return c, a"] if self.returns else [None])


@pytest.mark.parametrize("seed", range(150))
def test_random_programs_do_what_python_does(seed):
    returns = seed % 2 == 1
    lines = ["a = x[0]", "b = x[1]", "c = x[2]", *(line[4:] for line in Generator(seed, returns).block(0, False))]
    values = [random.Random(seed).randrange(-4, 12) for _ in range(ELEMENTS)]
    if returns:
        helper = "@intent.fn\ndef f(x):\n" + "".join(f"    {line}\n" for line in lines) + "    return c, b\n"
        got, expected = ran("p, q = f(x)\nx[3] = p\nx[4] = q", values, helper)
    else:
        got, expected = ran("\n".join([*lines, "x[3] = a", "x[4] = b", "x[5] = c"]), values)
    assert got == expected


# -- which operation ------------------------------------------------------------------------------------------------------------------

def lowered(body, before=""):
    return kir(kernel(VIEW, body, before))


def test_a_loop_without_break_is_a_for():
    text = lowered("for i in range(1, x.shape[0], 2):\n    if x[i] > 3:\n        continue\n    x[i] += 1\n    if x[i] == 2:\n        pass\n    else:\n        continue\n    x[i] = 9")
    assert len(ops(text, "for")) == 1 and not ops(text, "while")


def test_a_loop_with_break_carries_coordinate_and_flag():
    text = lowered("n = x[0]\nfor i in I.domain(2, x.shape[0], 3):\n    if x[i] > n:\n        break\n    n = n + x[i]\nx[1] = n")
    assert len(ops(text, "while")) == 1 and not ops(text, "for") and ": index, i1, index)" in ops(text, "while")[0]


def test_an_untaken_break_leaves_a_for():
    assert ops(kir(kernel(VIEW + ", STOP: I.Constexpr[bool] = False", "for i in range(4):\n    if STOP:\n        break\n    x[i] = 1")), "for")


def test_a_condition_with_effects_is_not_evaluated_after_break():
    text = lowered("while I.atomic.add(x, 0, 1) < 5:\n    if x[1] > 2:\n        break")
    condition = text[text.index("kir.while"):text.index("} do {")]
    assert condition.index("kir.if") < condition.index("kir.atomic")


def test_an_operand_with_effects_runs_only_where_it_decides():
    text = lowered("if x[0] > 3 and I.atomic.add(x, 0, 1) < 5 and x[1] > 0:\n    x[1] = 1\nif x[0] > 3 or I.atomic.add(x, 2, 1) == 0:\n    x[2] = 1")
    assert len(ops(text, "if")) == 5 and len(ops(text, "atomic")) == 2
    first, second = text.index("kir.atomic"), text.rindex("kir.atomic")
    assert "else" not in text[text.index("kir.if"):first] and "else" in text[text.rindex("kir.if", 0, second):second]
    assert len(ops(lowered("if x[0] > 3 and x[1] < 5 or not x[2] == 1:\n    x[1] = 1"), "if")) == 3


def test_a_flag_that_starts_as_a_literal():
    text = kir(kernel('x: I.InOut[I.i32, (7,)]', "found = -1\nopen_ = True\nwhile open_:\n    for i in range(7):\n        if x[i] > 3:\n            found = i\n            break\n    open_ = x[0] > 3\nif found >= 0:\n    x[found] = 0"))
    assert [line.split("carry")[1].split(" : ")[1] for line in ops(text, "while")] == ["index, i1) {", "index, i1, index) {"]


@pytest.mark.parametrize("body, dtypes", [
    ("r = 0\nwhile r + 1 < x.shape[0]:\n    r = r + 1", "index"), ("r = 0\nwhile not 2 * r + 1 >= x.shape[0]:\n    r = r + 1 if x[0] > 2 else r + 2", "index"),
    ("r = 0\nfor i in range(7):\n    if -(r + 1) < x[i]:\n        r = r + 1", "i32"), ("r = 3\nfor i in range(7):\n    if I.maximum(r, 2) > 2:\n        x[i] = r\n    r = I.abs(r) + 1", "i32"),
    ("r = 0\nfor i in range(7):\n    for j in range(2):\n        r = r + 1\n    if r < i:\n        r = 0", "index"), ("r = 0\nfor i in range(7):\n    r = r + 1", "i64"),
    ("r = 0.0\nfor i in range(7):\n    if 2.0 * r + 1 < I.cast(x[i], I.f32):\n        r = r / 2", "f32"), ("r = 1\nfor i in range(7):\n    r = I.exp(r) * I.cast(x[i], I.f32)", "f32"),
    ("r, more = 0, True\nwhile more and r * 2 < x.shape[0]:\n    r, more = r + 1, x[0] > 3", "index, i1")])
def test_a_literal_takes_the_dtype_that_it_meets_in_the_loop(body, dtypes):
    """Through arithmetic with literals, branches and inner loops, too."""
    text = kir(kernel("x: I.InOut[I.i32, (7,)]", body + "\nx[0] = I.cast(r, I.i32)"))
    loop = re.search(r"kir\.(?:for|while).*carry.*", text)[0]
    assert re.search(rf" : {dtypes}\)", loop), loop


@pytest.mark.parametrize("body, line, what", [
    ("lo = 0\nwhile lo < x.shape[0]:\n    if x[lo] < lo:\n        lo = lo + 1", 2, "'<': operands share a dtype, got i32 and index"),
    ("s = 0\nfor i in range(7):\n    s = I.maximum(s, x[i])\n    t = I.no_such(s)", 3, "no name 'no_such'")])
def test_an_error_in_a_loop_with_literals_is_the_error(body, line, what):
    found = diagnostic(kernel("x: I.InOut[I.i32, (7,)]", body))
    first = diagnostic(kernel("x: I.InOut[I.i32, (7,)]", "I.no_such(x)"))["line"]
    assert found["line"] == first + line and what in found["message"]


def test_flags_exist_only_where_something_asks():
    text = lowered("for i in I.parallel(I.domain(x.shape[0])):\n    if x[i] > 3:\n        continue\n    x[i] = 5")
    assert ops(text, "if")[0].endswith("{") and "->" not in ops(text, "if")[0] and "kir.constant true" not in text


def test_early_returns_of_helpers_and_kernels():
    text = lowered("if x[0] > 3:\n    return\nx[1] = clip(x[0])", "@intent.fn\ndef clip(v):\n    if v > 9:\n        return v - v\n    if v < 0:\n        return v\n    return v * 2\n")
    assert len(ops(text, "if")) == 3 and len(ops(text, "write")) == 1


def test_a_return_from_a_loop_carries_records():
    text = lowered("r = find(x)\nx[0] = r.at + r.pair[1]",
                   "@intent.fn\ndef find(x):\n    for i in range(4):\n        if x[i] > 3:\n            return I.record(at=i, pair=(1, x[i]))\n    return I.record(at=x[0], pair=(1, x[1]))\n")
    assert ": index, i1, index, index)" in ops(text, "while")[0]


@pytest.mark.parametrize("body", [
    "while True:\n    x[0] += 1\n    if x[0] > 9:\n        break", "while x[0] < 0:\n    x[0] += 1", "for i in range(3, 3):\n    break", "for i in range(5, 2):\n    x[i] = 1",
    "for i in range(0):\n    x[0] = 7", "for i in range(7):\n    if i == 3:\n        break\n    for j in range(i):\n        if j == 1:\n            continue\n        if x[j] == 5:\n            break\n        x[j] += i",
    "n = x[0]\nwhile n != 0 and (x[1] > 0 or n > 3) and not n == 2:\n    n = n - 1\nx[1] = n", "for i in range(7):\n    break\nx[0] = 1", "while True:\n    break",
    "s = (x[0], (x[1], x[2]))\nwhile s[0] < 20:\n    s = (s[0] + 3, (s[1][1], s[0]))\n    if s[1][0] > 9:\n        break\nx[3] = s[0]\nx[4] = s[1][0]\nx[5] = s[1][1]",
    "for i in range(5):\n    i = i + 1\n    if x[i] > 6:\n        break\n    x[i] += 1", "for i in range(5):\n    i = i + 1\n    x[i] += i",
    "for i in range(7):\n    if x[i] < 9:\n        x[i] = 0\n    else:\n        break", "n = x[0]\nfor i in range(7):\n    if x[i] < 5:\n        n = n + 1\n    else:\n        continue\n    x[i] = n",
    "for i in range(2):\n    for j in range(3):\n        if x[j] > 4:\n            return\n        x[j] += 2", "n = x[1]\nfor i in range(1, 7, 2):\n    x[i] = n\n    n = x[i] if i > 2 else x[0]\nx[0] = n"])
def test_programs_do_what_python_does(body):
    by_kernel, by_python = ran(body, [3, 1, 4, 1, 5, 9, 2])
    assert by_kernel == by_python


def test_results_of_endless_loops_need_no_end():
    helper = "@intent.fn\ndef f(x):\n    n = x[0] - x[0]\n    while True:\n        n = n + 1\n        if n * n > x[0]:\n            return n\n"
    by_kernel, by_python = ran("x[1] = f(x)", [50, 0, 0], helper)
    assert by_kernel == by_python == [50, 8, 0]


CASES = [
    ("while True:\n    x[0] = 1", "the loop does not end: its condition is always true, and it has no break and no return", 11),
    ("while x[0]:\n    pass", "while takes a bool condition, got index scalar; compare it", 11),
    ("while x[:] > 0:\n    pass", 'while takes a scalar condition, got bool tensor ["N"]; use I.select, and & | ~ on tensors', 11),
    ("while x[0] > 0:\n    pass\nelse:\n    pass", "a loop has no else in the language", 9),
    ("for i in range(3):\n    for j in I.parallel(I.domain(2)):\n        break", "an I.parallel loop has no break", 13),
    ("for j in I.parallel(I.domain(2)):\n    for i in range(3):\n        return", "return inside I.parallel; continue ends one iteration", 13),
    ("n = x[0]\nwhile n > 0:\n    n = x[:]", "carry 'n' of the loop at line 4 keeps its dtype and shape: expected index scalar, got index tensor [\"N\"] after the body", 5),
    ("n = x[0]\nwhile n > 0:\n    if n > 3:\n        n = I.cast(n, I.f32)\n        break\n    n = n - 1", "carry 'n' of the loop at line 4 differs after the branches of the 'if' at line 5: f32 scalar and index scalar", 5),
    ("for i in range(3):\n    if i > 1:\n        continue\n    else:\n        t = x[i]\nx[0] = t", "name 't' is assigned only inside the loop at line 3", 12),
    ("for i in range(0, 3, -1):\n    pass", "domain step: expected a positive step, got -1", 26),
    ("for i in range(0, 3, 0):\n    break", "domain step: expected a positive step, got 0", 26),
    ("x[0] = part(x)", "'part' returns index scalar where control leaves early and nothing at its end; return a value there too", (4, 9)),
    ("x[0] = part_loop(x)", "'part_loop' returns index scalar where control leaves early and nothing at its end; return a value there too", (9, 13)),
    ("x[0] = split(x)", "both branches of the if return one type, got f32 scalar and index scalar", None),
    ("t = grown(x)", "a function returns index tensor [n] from the loop at line {}, where it is made", (20, 13)),
    ("d = chosen(x)", "a function returns a domain from a branch of the 'if' at line {}, where it is made", (27, 17)),
]
HELPERS = """@intent.fn
def part(x):
    if x[0] > 3:
        return x[0]
@intent.fn
def part_loop(x):
    for i in range(4):
        if x[i] > 3:
            return x[i]
@intent.fn
def split(x):
    if x[0] > 3:
        return I.cast(1, I.f32)
    return x[0]
@intent.fn
def grown(x):
    for i in range(4):
        n = x[i]
        if n > 3:
            return I.zeros(n, I.index)
    return x[:]
@intent.fn
def chosen(x):
    for i in range(3):
        if x[0] > 3:
            if x[0] > 4:
                return I.domain(x[1])
        x[i] = 1
    return I.domain(2)
"""


@pytest.mark.parametrize("case", CASES, ids=[case[0].splitlines()[-1] for case in CASES])
def test_rule(case):
    text, message, column = case
    helped = not text.startswith(("x[0] = ", "t = ", "d = "))
    found = diagnostic(kernel(VIEW, text, "" if helped else HELPERS))
    assert re.sub(r"at line \d\d", "at line {}", found["message"]) == message and found["error"] == "LanguageError"
    if isinstance(column, tuple): # in a helper
        assert (found["line"], found["column"]) == (column[0], column[1])
    elif column:
        assert found["column"] == column
