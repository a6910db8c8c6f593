"""Random programs of the host backend against a NumPy shadow of the same steps.

Integers wrap, so that every order of evaluation gives the same bits. The steps mix values that are used once and often,
cheap and expensive ones, masks, broadcasts, reductions, scans, picks, transposes, loops, branches and whiles that carry
fragments, atomic accesses, a workspace, loads that must come before later stores, masks that are computed after what
they guard, and in-place stores: what decides where a fragment is evaluated.
"""

import random

import numpy as np
import pytest

from host_native import LIBRARY, Kernel, kernel

pytestmark = pytest.mark.skipif(LIBRARY is None, reason="libintent-host.so is not built")
VIEWS = ["a", "b", "c"]
WORKSPACE = "w"  # as large as a fragment, so that every lane is stored and loaded
KINDS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "maximum": np.maximum, "minimum": np.minimum, "xor": np.bitwise_xor,
         "floordiv": lambda x, y: np.where(y == 0, 0, x // np.where(y == 0, 1, y)), "mod": lambda x, y: np.where(y == 0, 0, x % np.where(y == 0, 1, y))}
SCANS = {"add": 0, "maximum": -(2**31), "xor": 0, "mul": 1}
REDUCTIONS = {"add": (lambda x, a: x.sum(a, dtype=np.int32), 0), "maximum": (lambda x, a: x.max(a), -(2**31)), "xor": (lambda x, a: np.bitwise_xor.reduce(x, a), 0)}


EXTRA = ["scan", "scan", "pick", "atomic", "row atomic", "scatter", "limited store", "data store", "keep", "keep", "recall", "recall", "while", "if"]


def random_steps(rng, length, shapes, depth, square):
    """Steps over an environment that starts with values of `shapes` ('m' matrix, 'r' row vector, 'c' column vector)."""
    shapes, steps = list(shapes), []
    pick = lambda shape: rng.choice([i for i, s in enumerate(shapes) if s == shape])
    have = lambda shape: shape in shapes
    for _ in range(length):
        shape = rng.choice([s for s in "mmmrc" if have(s)])
        kind = rng.choice(["binary"] * 6 + ["unary", "select", "masked", "masked", "reduce", "reduce", "broadcast", "broadcast", "load", "load", "store", "store", "causal", "loop", "transpose", "fence", *EXTRA])
        if kind == "binary":
            steps.append(("binary", rng.choice(list(KINDS)), pick(shape), pick(shape)))
            shapes.append(shape)
        elif kind == "unary":
            steps.append(("unary", rng.choice(["neg", "not", "abs"]), pick(shape)))
            shapes.append(shape)
        elif kind == "select":
            steps.append(("select", rng.choice(["lt", "eq", "ge"]), pick(shape), pick(shape), pick(shape)))
            shapes.append(shape)
        elif kind in ("masked", "causal"):
            steps.append((kind, pick("m"), rng.choice([0, -(2**31), 5])))
            shapes.append("m")
        elif kind == "reduce":
            axis = rng.randrange(2)
            steps.append(("reduce", rng.choice(list(REDUCTIONS)), pick("m"), axis))
            shapes.append("r" if axis == 1 else "c")
        elif kind == "broadcast":
            if not (have("r") or have("c")):
                continue
            source = rng.choice([s for s in "rc" if have(s)])
            steps.append(("broadcast", pick(source), source))
            shapes.append("m")
        elif kind == "load":
            steps.append(("load", rng.choice(VIEWS), rng.choice([0, -(2**31), 7])))
            shapes.append("m")
        elif kind == "store":
            steps.append(("store", rng.choice(VIEWS), pick("m")))
        elif kind == "transpose" and square:
            steps.append(("transpose", pick("m")))
            shapes.append("m")
        elif kind == "fence":
            steps.append(("fence",))
        elif kind == "scan":
            steps.append(("scan", rng.choice(list(SCANS)), pick("m"), rng.randrange(2), rng.random() < 0.5))
            shapes.append("m")
        elif kind == "pick":
            axis = rng.randrange(2)
            steps.append(("pick", pick("m"), axis, rng.random()))
            shapes.append("r" if axis == 1 else "c")
        elif kind in ("atomic", "row atomic"):
            steps.append((kind, rng.choice(["add", "max", "xor", "exchange"]) if kind == "atomic" else "add", rng.choice(VIEWS), pick("m")))
            shapes.append("m")
        elif kind == "scatter":
            steps.append(("scatter", rng.choice(VIEWS), pick("m")))
        elif kind in ("limited store", "data store"):
            steps.append((kind, rng.choice(VIEWS), pick("m"), pick("m")))
        elif kind == "keep":
            steps.append(("keep", pick("m")))
        elif kind == "recall":
            steps.append(("recall", rng.random() < 0.3))
            shapes.append("m")
        elif kind == "while" and depth < 2:
            carried = [pick("m")] + [pick(rng.choice([s for s in "mmrc" if have(s)])) for _ in range(rng.randrange(0, 3))]
            inner, end = random_steps(rng, rng.randrange(2, 8), shapes + [shapes[i] for i in carried], depth + 1, square)
            test, tested = random_steps(rng, rng.randrange(0, 3), shapes + [shapes[i] for i in carried], depth + 2, square)
            results = [rng.choice([i for i, s in enumerate(end) if s == shapes[c]]) for c in carried]
            passed = [rng.choice([i for i, s in enumerate(tested) if s == shapes[c]]) for c in carried]
            steps.append(("while", rng.randrange(0, 4), carried, test, rng.choice([i for i, s in enumerate(tested) if s == "m"]), passed, inner, results))
            shapes += [shapes[i] for i in carried]
        elif kind == "if" and depth < 2:
            branches = []
            kinds = [rng.choice([s for s in "mmrc" if have(s)]) for _ in range(rng.randrange(1, 3))]
            for _ in range(2):
                inner, end = random_steps(rng, rng.randrange(0, 5), shapes, depth + 1, square)
                branches.append((inner, [rng.choice([i for i, s in enumerate(end) if s == k]) for k in kinds]))
            steps.append(("if", pick("m"), branches))
            shapes += kinds
        elif kind == "loop" and depth < 2:
            carried = [pick(rng.choice([s for s in "mmrc" if have(s)])) for _ in range(rng.randrange(1, 4))]
            inner, end = random_steps(rng, rng.randrange(2, 8), shapes + [shapes[i] for i in carried], depth + 1, square)
            results = [rng.choice([i for i, s in enumerate(end) if s == shapes[c]]) for c in carried]
            steps.append(("loop", rng.randrange(0, 4), carried, inner, results))
            shapes += [shapes[i] for i in carried]
    return steps, shapes


class Writer:
    def __init__(self, p, extents, bounds):
        self.p, self.extents, (bm, bn) = p, extents, extents
        m, n = p.lanes(p.constant(0), bm), p.lanes(p.constant(0), bn)
        vm, vn = p.below(m, bounds[0]), p.below(n, bounds[1])
        self.at, self.valid = [(m, [0]), (n, [1])], [(vm, [0]), (vn, [1])]
        self.m, self.n, self.vm, self.vn = m, n, vm, vn

    def number(self, value, extents):
        return self.p.broadcast(self.p.constant(value, "i32"), [], extents)

    def corner(self, x):
        return self.p.pick(self.p.pick(x, self.p.constant(0), 0), self.p.constant(0), 0)

    def run(self, steps, env):
        p, e = self.p, list(self.extents)
        everywhere = [(self.m, [0]), (self.n, [1])]
        env = list(env)
        for step in steps:
            kind = step[0]
            if kind == "binary":
                env.append(p.binary(step[1], env[step[2]], env[step[3]]))
            elif kind == "unary":
                env.append(p.unary(step[1], env[step[2]]))
            elif kind == "select":
                env.append(p.select(p.compare(step[1], env[step[2]], env[step[3]]), env[step[2]], env[step[4]]))
            elif kind == "masked":
                mask = p.binary("and", p.broadcast(self.vn, [1], e), p.broadcast(self.vm, [0], e))
                env.append(p.select(mask, env[step[1]], self.number(step[2], e)))
            elif kind == "causal":
                mask = p.compare("le", p.broadcast(self.n, [1], e), p.broadcast(self.m, [0], e))
                env.append(p.select(mask, env[step[1]], self.number(step[2], e)))
            elif kind == "reduce":
                env.append(p.fold(step[1], env[step[2]], p.constant(REDUCTIONS[step[1]][1], "i32"), step[3]))
            elif kind == "broadcast":
                env.append(p.broadcast(env[step[1]], [0] if step[2] == "r" else [1], e))
            elif kind == "load":
                env.append(p.load("%" + step[1], "i32", self.at, self.valid, p.constant(step[2], "i32"), e))
            elif kind == "store":
                p.store(env[step[2]], "%" + step[1], self.at, self.valid)
            elif kind == "transpose":
                env.append(p.transpose(env[step[1]], [1, 0]))
            elif kind == "fence":
                p.line("block.fence")
            elif kind == "scan":
                env.append(p.running(step[1], env[step[2]], p.constant(SCANS[step[1]], "i32"), step[3], step[4]))
            elif kind == "pick":
                env.append(p.pick(env[step[1]], p.constant(int(step[3] * self.extents[step[2]])), step[2]))
            elif kind == "atomic":
                env.append(p.atomic(step[1], env[step[3]], "%" + step[2], self.at, self.valid))
            elif kind == "row atomic":
                env.append(p.atomic("add", env[step[3]], "%" + step[2], [self.at[0], (p.constant(0), [])], self.valid))
            elif kind == "scatter":
                p.scatter_reduce(env[step[2]], "%" + step[1], self.at, self.valid, lambda a, b: p.binary("add", a, b))
            elif kind == "limited store":
                limit = p.binary("mod", p.cast(self.corner(env[step[3]]), "index"), p.constant(self.extents[1] + 1))
                p.store(env[step[2]], "%" + step[1], self.at, self.valid + [(p.below(self.n, limit), [1])])
            elif kind == "data store":
                p.store(env[step[2]], "%" + step[1], self.at, self.valid + [(p.compare("lt", env[step[3]], self.number(3, e)), [0, 1])])
            elif kind == "keep":
                p.store(env[step[1]], "%" + WORKSPACE, everywhere, [])
            elif kind == "recall":
                m, n = everywhere
                if step[1]:  # rows in reverse
                    m = (p.binary("sub", p.broadcast(p.constant(self.extents[0] - 1), [], [e[0]]), self.m), [0])
                env.append(p.load("%" + WORKSPACE, "i32", [m, n], [], p.constant(0, "i32"), e))
            elif kind == "while":
                _, limit, carried, test, tested, passed, inner, results = step

                def condition(state, env=env, step=step):
                    _, limit, _, test, tested, passed, _, _ = step
                    end = self.run(test, env + state[1:])
                    below = p.compare("lt", end[tested], self.number(40, e))
                    any_row = p.reduce([below], [self.false], 1, lambda a, b: [p.binary("or", a[0], b[0])])
                    any_lane = p.reduce(any_row, [self.false], 0, lambda a, b: [p.binary("or", a[0], b[0])])[0]
                    return p.binary("and", any_lane, p.compare("lt", state[0], p.constant(limit))), [state[0]] + [end[i] for i in passed]

                def body(state, env=env, inner=inner, results=results):
                    end = self.run(inner, env + state[1:])
                    return [p.binary("add", state[0], p.constant(1))] + [end[r] for r in results]

                env += p.repeat([p.constant(0)] + [env[c] for c in carried], condition, body)[1:]
            elif kind == "if":
                odd = p.compare("eq", p.binary("and", self.corner(env[step[1]]), p.constant(1, "i32")), p.constant(1, "i32"))

                def branch(which, env=env, step=step):
                    inner, results = step[2][which]
                    end = self.run(inner, env)
                    return [end[r] for r in results]

                env += p.choose(odd, lambda: branch(0), lambda: branch(1))
            elif kind == "loop":
                _, trips, carried, inner, results = step

                def body(_, values, env=env, inner=inner, results=results):
                    end = self.run(inner, env + values)
                    return [end[r] for r in results]

                env += p.loop(p.constant(0), p.constant(trips), p.constant(1), [env[c] for c in carried], body)
        return env


class Shadow:
    def __init__(self, views, extents):
        self.views, self.extents = views, extents
        self.kept = np.zeros(extents, np.int32)

    def run(self, steps, env):
        bm, bn = self.extents
        M, N = self.views["a"].shape
        env = list(env)
        for step in steps:
            kind = step[0]
            if kind == "binary":
                env.append(KINDS[step[1]](env[step[2]], env[step[3]]).astype(np.int32))
            elif kind == "unary":
                env.append({"neg": np.negative, "not": np.invert, "abs": np.abs}[step[1]](env[step[2]]))
            elif kind == "select":
                x, y = env[step[2]], env[step[3]]
                env.append(np.where({"lt": x < y, "eq": x == y, "ge": x >= y}[step[1]], x, env[step[4]]))
            elif kind == "masked":
                mask = (np.arange(bm) < M)[:, None] & (np.arange(bn) < N)
                env.append(np.where(mask, env[step[1]], np.int32(step[2])))
            elif kind == "causal":
                env.append(np.where(np.arange(bn) <= np.arange(bm)[:, None], env[step[1]], np.int32(step[2])))
            elif kind == "reduce":
                env.append(REDUCTIONS[step[1]][0](env[step[2]], step[3]))
            elif kind == "broadcast":
                env.append(np.broadcast_to(env[step[1]][:, None] if step[2] == "r" else env[step[1]], self.extents).copy())
            elif kind == "load":
                value = np.full(self.extents, step[2], np.int32)
                value[:M, :N] = self.views[step[1]]
                env.append(value)
            elif kind == "store":
                self.views[step[1]][...] = env[step[2]][:M, :N]
            elif kind == "transpose":
                env.append(env[step[1]].T.copy())
            elif kind == "scan":
                x = np.flip(env[step[2]], step[3]) if step[4] else env[step[2]]
                function = {"maximum": np.maximum, "xor": np.bitwise_xor, "add": np.add, "mul": np.multiply}[step[1]]
                out = function.accumulate(x, axis=step[3], dtype=np.int32)
                env.append(np.flip(out, step[3]) if step[4] else out)
            elif kind == "pick":
                env.append(env[step[1]].take(int(step[3] * self.extents[step[2]]), step[2]))
            elif kind == "atomic":
                view, x, old = self.views[step[2]], env[step[3]][:M, :N], np.zeros(self.extents, np.int32)
                old[:M, :N] = view
                view[...] = {"add": view + x, "max": np.maximum(view, x), "xor": view ^ x, "exchange": x}[step[1]]
                env.append(old)
            elif kind == "row atomic":
                view, x, old = self.views[step[2]], env[step[3]][:M, :N], np.zeros(self.extents, np.int32)
                sums = x.cumsum(1, dtype=np.int32)
                old[:M, :N] = view[:, :1] + sums - x
                view[:, 0] += sums[:, -1]
                env.append(old)
            elif kind == "scatter":
                self.views[step[1]][...] += env[step[2]][:M, :N]
            elif kind == "limited store":
                limit = int(env[step[3]][0, 0]) % (bn + 1)
                self.views[step[1]][:, :limit] = env[step[2]][:M, : min(N, limit)]
            elif kind == "data store":
                np.copyto(self.views[step[1]], env[step[2]][:M, :N], where=env[step[3]][:M, :N] < 3)
            elif kind == "keep":
                self.kept = env[step[1]].copy()
            elif kind == "recall":
                env.append((self.kept[::-1] if step[1] else self.kept).copy())
            elif kind == "while":
                _, limit, carried, test, tested, passed, inner, results = step
                values, count = [env[c] for c in carried], 0
                while True:
                    end = self.run(test, env + values)
                    more = (end[tested] < 40).any() and count < limit
                    values = [end[i] for i in passed]
                    if not more:
                        break
                    end = self.run(inner, env + values)
                    values, count = [end[r] for r in results], count + 1
                env += values
            elif kind == "if":
                inner, results = step[2][0 if env[step[1]][0, 0] & 1 else 1]
                end = self.run(inner, env)
                env += [end[r] for r in results]
            elif kind == "loop":
                _, trips, carried, inner, results = step
                values = [env[c] for c in carried]
                for _ in range(trips):
                    end = self.run(inner, env + values)
                    values = [end[r] for r in results]
                env += values
        return env


def check(seed):
    rng = random.Random(seed)
    extents = rng.choice([(4, 16), (16, 16), (8, 64), (1, 32), (32, 4), (16, 1), (3, 24), (64, 64)])
    M, N = rng.randrange(1, extents[0] + 1), rng.randrange(1, extents[1] + 1)
    if rng.random() < 0.3:
        M, N = extents
    steps, shapes = random_steps(rng, rng.randrange(5, 30), "m", 0, extents[0] == extents[1])
    steps.append(("store", "c", rng.choice([i for i, s in enumerate(shapes) if s == "m"])))

    def body(p):
        writer = Writer(p, extents, ("%M", "%N"))
        writer.false = p.op("block.constant false : i1", "i1")
        p.store(writer.number(0, list(extents)), "%" + WORKSPACE, [(writer.m, [0]), (writer.n, [1])], [])
        writer.run(steps, [p.load("%a", "i32", writer.at, writer.valid, p.constant(3, "i32"), list(extents))])

    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    overlaps = [f'#block.overlap<"{x}", "{y}", {rng.choice(["disjoint", "identical_or_disjoint"])}>' for x, y in pairs]
    k = Kernel(kernel([(v, "i32", ['"M"', '"N"'], "inout") for v in VIEWS], [("1", body)], privates=['"M"', '"N"'], overlaps=overlaps if rng.random() < 0.8 else (),
                      workspaces=[(WORKSPACE, "i32", list(map(str, extents)), False)]))
    data = np.random.default_rng(seed)
    arrays = {v: data.integers(-20, 20, (M, N)).astype(np.int32) for v in VIEWS}
    if rng.random() < 0.3:
        arrays = {v: np.asfortranarray(x) for v, x in arrays.items()}
    views = {v: x.copy() for v, x in arrays.items()}
    shadow = Shadow(views, extents)
    with np.errstate(all="ignore"):
        start = np.full(extents, 3, np.int32)
        start[:M, :N] = views["a"]
        shadow.run(steps, [start])
    k(*arrays.values())
    for v in VIEWS:
        assert np.array_equal(arrays[v], views[v]), f"seed {seed}, view {v}, {extents}, {(M, N)}: {steps}"


@pytest.mark.parametrize("block", range(10))
def test_random_programs(block):
    for seed in range(block * 8, block * 8 + 8):
        check(seed)
