"""Random programs of the host backend against a NumPy shadow of the same steps.

Integers wrap, so that every order of evaluation gives the same bits. The steps mix values that are used once and often,
cheap and expensive ones, masks, broadcasts, reductions, transposes, loops that carry fragments, loads that must come
before later stores, and in-place stores: what decides where a fragment is evaluated.
"""

import random

import numpy as np
import pytest

from host_native import LIBRARY, Kernel, kernel

pytestmark = pytest.mark.skipif(LIBRARY is None, reason="libintent-host.so is not built")
VIEWS = ["a", "b", "c"]
KINDS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "maximum": np.maximum, "minimum": np.minimum, "xor": np.bitwise_xor,
         "floordiv": lambda x, y: np.where(y == 0, 0, x // np.where(y == 0, 1, y)), "mod": lambda x, y: np.where(y == 0, 0, x % np.where(y == 0, 1, y))}
REDUCTIONS = {"add": (lambda x, a: x.sum(a, dtype=np.int32), 0), "maximum": (lambda x, a: x.max(a), -(2**31)), "xor": (lambda x, a: np.bitwise_xor.reduce(x, a), 0)}


def random_steps(rng, length, shapes, depth, square):
    """Steps over an environment that starts with values of `shapes` ('m' matrix, 'r' row vector, 'c' column vector)."""
    shapes, steps = list(shapes), []
    pick = lambda shape: rng.choice([i for i, s in enumerate(shapes) if s == shape])
    have = lambda shape: shape in shapes
    for _ in range(length):
        shape = rng.choice([s for s in "mmmrc" if have(s)])
        kind = rng.choice(["binary"] * 6 + ["unary", "select", "masked", "masked", "reduce", "reduce", "broadcast", "broadcast", "load", "load", "store", "store", "causal", "loop", "transpose", "fence"])
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

    def run(self, steps, env):
        p, e = self.p, list(self.extents)
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
        writer.run(steps, [p.load("%a", "i32", writer.at, writer.valid, p.constant(3, "i32"), list(extents))])

    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    overlaps = [f'#block.overlap<"{x}", "{y}", {rng.choice(["disjoint", "identical_or_disjoint"])}>' for x, y in pairs]
    k = Kernel(kernel([(v, "i32", ['"M"', '"N"'], "inout") for v in VIEWS], [("1", body)], privates=['"M"', '"N"'], overlaps=overlaps if rng.random() < 0.8 else ()))
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
