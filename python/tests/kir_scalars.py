"""Runs kernel IR text of scalar programs: integer arithmetic, control and element accesses, each as the operation's definition says."""
import operator
import re

_BINARY = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv, "mod": operator.mod, "and": operator.and_,
           "or": operator.or_, "xor": operator.xor, "maximum": max, "minimum": min}
_COMPARE = {"eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge}
_LIMIT = 100_000


def lines_of(text):
    text = re.sub(r" loc\((?:[^()]|\([^()]*\))*\)", "", text)
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]


class Machine:
    """One run of the kernel `text` on views: lists, changed in place. `extents` gives shape symbols their values."""

    def __init__(self, text, views, extents):
        self.lines, self.extents, self.steps = lines_of(text), extents, 0
        start = next(i for i, line in enumerate(self.lines) if line.startswith("kir.kernel"))
        self.run(start + 1, {"%" + name: view for name, view in views.items()})

    def end_of(self, at):
        """The line that closes the region whose first line is `at`."""
        depth = 0
        while True:
            line = self.lines[at]
            if line.startswith("}"):
                if depth == 0:
                    return at
                depth -= 1
            if line.endswith("{"):
                depth += 1
            at += 1

    def region(self, at, env, arguments=()):
        """Yielded values of the region whose first line is `at`."""
        env = dict(env)
        if self.lines[at].startswith("^bb0"):
            env.update(zip(re.findall(r"(%[\w#]+):", self.lines[at]), arguments))
            at += 1
        return self.run(at, env)

    def run(self, at, env):
        while True:
            self.steps += 1
            assert self.steps < _LIMIT, "the program does not end"
            line = self.lines[at]
            if line.startswith(("kir.return", "}")):
                return []
            if line.startswith("kir.yield"):
                return [env[v] for v in re.findall(r"%[\w#]+", line)]
            results, _, op = line.rpartition(" = ") if line.startswith("%") else ("", "", line)
            at, values = self.step(at, op, env)
            if results:
                name, _, count = results.partition(":")
                env.update(zip([f"{name}#{i}" for i in range(int(count))] if count else [name], values))

    def step(self, at, op, env):
        kind, rest = re.match(r"kir\.(\w+) ?(.*)", op).groups()
        used = [env[v] for v in re.findall(r"%[\w#]+", rest) if v in env]
        word = rest.split(" ")[0]
        if kind == "constant":
            return at + 1, [{"true": 1, "false": 0}.get(word) if word in ("true", "false") else int(word)]
        if kind == "extent":
            return at + 1, [self.extents[re.search(r'"(\w+)"', rest)[1]]]
        if kind in ("symbol", "check_extent"):
            return at + 1, []
        if kind == "binary":
            return at + 1, [_BINARY[word](*used)]
        if kind == "compare":
            return at + 1, [int(_COMPARE[word](*used))]
        if kind == "unary":
            return at + 1, [-used[0] if word == "neg" else 1 - used[0]]
        if kind == "select":
            return at + 1, [used[1] if used[0] else used[2]]
        if kind == "cast":
            return at + 1, [used[0]]
        if kind == "domain":
            return at + 1, [range(*used)]
        if kind == "read":
            return at + 1, [used[0][used[1]]]
        if kind == "write":
            used[1][used[2]] = used[0]
            return at + 1, []
        end = self.end_of(at + 1)
        if kind == "if":
            otherwise, chosen = self.end_of(end + 1), at + 1 if used[0] else end + 1
            return otherwise + 1, self.region(chosen, env)
        if kind == "for":
            carries = used[1:]
            for coordinate in used[0]:
                carries = self.region(at + 1, env, [coordinate, *carries])
            return end + 1, carries
        if kind == "parallel":
            for coordinate in used[0]:
                self.region(at + 1, env, [coordinate])
            return end + 1, []
        assert kind == "while", op
        carries = used
        while self.region(at + 1, env, carries)[0]:
            carries = self.region(end + 1, env, carries)
        return self.end_of(end + 1) + 1, carries
