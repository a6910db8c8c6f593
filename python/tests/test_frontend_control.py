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
