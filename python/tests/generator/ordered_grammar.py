"""Drawing programs of ordered effects (`ordered`): what may be read and written at each place, and steps over that."""
from __future__ import annotations

import random
from contextlib import contextmanager
from dataclasses import dataclass

from .ordered import COMBINES, REGIONS, Ordered, Step, Term, axis_of, tidied
from .tree import View

# Terms are this deep, about.
DEEPEST = 3
SIZES = {1: [{"N": 1}, {"N": 5}, {"N": 70}], 2: [{"M": 3, "N": 5}, {"M": 4, "N": 1}, {"M": 37, "N": 70}]}


@dataclass
class Holder:
    """A view, buffer or tensor that has elements. `level` counts the parallel loops around its beginning."""

    name: str
    axes: tuple
    access: str  # in, out, inout, buffer, value
    level: int = 0


@dataclass
class Loop:
    name: str
    axis: str
    parallel: bool


class Draw:
    """One program from one seed."""

    def __init__(self, seed):
        self.rng = random.Random(f"ordered/{seed}")
        self.rank = self.rng.choice((1, 1, 2))
        self.axes = ("M", "N")[-self.rank:]
        every = self.axes
        views = [("x", "in", every), ("a", "inout", every), ("b", "inout", every), ("d", "out", every)]
        views += [("r", "inout", ("M",)), ("c", "inout", ("N",))] if self.rank == 2 else [("h", "inout", ("N",))]
        places = [View(f"p_{axis}", "in", "i64", (axis,), "permutation") for axis in self.axes]
        self.views = [View(name, access, "i64", shape, "ints", 99.0) for name, access, shape in views] + places + [View("o", "out", "i64", (8,))]
        self.holders = [Holder(name, shape, access) for name, access, shape in views] + [Holder("w", every, "buffer")]
        self.opening = {"lo": "", "hi": "", "ev": "", "few": "", **({"top": "", "low": ""} if self.rank == 2 else {})}
        self.opening = {name: f"{name} = {REGIONS[name][1]}" for name in self.opening}
        for axis in self.axes:
            self.opening[f"rev_{axis}"] = f"rev_{axis} = {axis} - 1 - I.indices(I.domain({axis}))"
            self.opening[f"up_{axis}"] = f"up_{axis} = I.maximum(I.indices(I.domain({axis})) - 1, 0)"
        colons = ", ".join(":" * self.rank)
        self.opening.update(w=f"w = I.buffer(({', '.join(every)},), I.i64, init=x[{colons}])", d=f"d[{colons}] = 5", o="o[:] = 0")
        # Most steps meet in these.
        self.hot = set(self.rng.sample([h.name for h in self.holders if h.access in ("inout", "buffer")], 2))
        # What is around the next step: values of no axis, loops, and what their points own.
        self.scalars, self.loops, self.level = [], [], 0
        self.owned, self.readonly, self.counted = {}, set(), {}
        self.fresh_names = 0

    def chance(self, probability):
        return self.rng.random() < probability

    def fresh(self, prefix):
        self.fresh_names += 1
        return f"{prefix}{self.fresh_names}"

    # -- places -------------------------------------------------------------------------------------------------

    def place(self, axis, depth=2):
        """A scalar below the extent of an axis."""
        sort, loops = f"place {axis}", [loop.name for loop in self.loops if loop.axis == axis]
        if loops and self.chance(0.85):
            name = self.rng.choice(loops)
            return Term(self.rng.choice((name, name, f"{axis} - 1 - {name}", f"I.maximum({name} - 1, 0)", f"({name} + 1) % {axis}", f"p_{axis}[{name}]")), sort)
        if depth < DEEPEST and self.chance(0.4):
            return Term(f"I.cast({{}}, I.index) % {axis}", sort, [self.scalar(depth + 1)])
        return Term(self.rng.choice(("0", f"{axis} - 1", f"p_{axis}[0]")), sort)

    def index(self, extent, depth):
        """A tensor of places, one for each member of an extent."""
        axis, sort = axis_of(extent), f"index {extent}"
        if self.chance(0.2):
            return Term(f"I.cast({{}}, I.index) % {axis}", sort, [self.tensor((extent,), depth + 1)])
        if extent in REGIONS:
            mirrored = f"{axis} - 1 - I.indices({extent})"
            # A view bounds a length that only data knows where places move along it.
            return Term(mirrored if extent == "few" else self.rng.choice((mirrored, f"I.maximum(I.indices({extent}) - 1, 0)")), sort)
        return Term(self.rng.choice((f"rev_{axis}", f"up_{axis}", f"p_{axis}[:]")), sort)

    def element(self, holder, shape, items, what=""):
        """`holder[items]`, from a text or term an axis."""
        terms = [item for item in items if isinstance(item, Term)]
        text = ", ".join("{}" if isinstance(item, Term) else item for item in items)
        # Two index tensors stand for all pairs.
        if sum(isinstance(t.sort, str) and t.sort.startswith("index") for t in terms) == 2:
            text = "({})[:, None], {}"
        return Term(f"{holder.name}[{text}]{what}", shape, terms)

    def access(self, holder, shape, depth, indexed=0.3):
        """`holder[...]` with a shape, or None. An axis that the points of a parallel loop own is theirs. `indexed` axes have tensors of places."""
        kept = {axis_of(extent): extent for extent in shape}
        own = self.owned.get(holder.name, {})
        if tuple(axis for axis in holder.axes if axis in kept) != tuple(kept) or any(axis in kept for axis in own):
            return None
        items = []
        for axis in holder.axes:
            if axis in own:
                items.append(Term(own[axis], "own"))
            elif axis not in kept:
                items.append(self.place(axis, depth))
            elif self.chance(indexed) and depth < DEEPEST:
                items.append(self.index(kept[axis], depth))
            else:
                items.append(kept[axis] if kept[axis] in REGIONS else ":")
        if holder.access == "value" and all(item == ":" for item in items):
            return Term(holder.name, shape)
        return self.element(holder, shape, items)

    def read(self, shape, depth):
        holders = [h for h in self.holders if h.access != "out" and h.name not in self.counted]
        self.rng.shuffle(holders)
        # Values that stand for what a view held are what this kind of program is about.
        holders.sort(key=lambda h: (h.access != "value" and h.name not in self.hot) or self.chance(0.4))
        return next(found for h in holders if (found := self.access(h, shape, depth)) is not None)

    # -- terms --------------------------------------------------------------------------------------------------

    def tensor(self, shape, depth=0):
        """An expression of a shape; `()` is a scalar."""
        if not shape:
            return self.scalar(depth)
        if depth >= DEEPEST or self.chance(0.35):
            return self.read(shape, depth)
        kind = self.rng.choice(("binary",) * 4 + ("masked", "spread", "scan", "reduced", "select", "gather", "place", "scalar"))
        if kind == "spread" and len(shape) == 2:
            part = self.rng.choice((0, 1))
            row = Term("{}[:, None]", "broadcast", [self.tensor(shape[:1], depth + 1)]) if part == 0 else self.tensor(shape[1:], depth + 1)
            return Term(f"({{}} {self.rng.choice('+-')} {{}})", shape, [self.tensor(shape, depth + 1), row])
        if kind == "masked":
            return Term("({} & 1023)", shape, [self.tensor(shape, depth + 1)])
        if kind == "scan":
            axis, inner = self.rng.randrange(len(shape)), self.tensor(shape, depth + 1)
            return Term(self.rng.choice((f"I.cumsum({{}}, axis={axis})", f"I.cummax({{}}, axis={axis})",
                                         f"I.scan({{}}, axis={axis}, identity=0, combine=plus, reverse=True)")), shape, [inner])
        if kind == "reduced" and len(shape) < self.rank:
            other = self.rng.choice([axis for axis in self.axes if axis != axis_of(shape[0])])
            wide = (other, *shape) if other == "M" else (*shape, other)
            return self.reduction(shape, wide, wide.index(other), depth)
        if kind == "select":
            return Term("I.select({} > {}, {}, {})", shape, [self.tensor(shape, depth + 1) for _ in range(4)])
        if kind == "gather" and len(shape) == 1:
            holder = self.rng.choice([h for h in self.holders if h.access in ("in", "inout") and h.name not in self.owned and h.name not in self.counted])
            axis = axis_of(shape[0])
            if holder.axes == (axis,):
                members = f"I.indices({shape[0] if shape[0] in REGIONS else f'I.domain({axis})'})"
                return Term(f"I.gather({holder.name}, index=({members} - 1,), valid={members} > 0, fill=3)", shape)
        if kind == "place" and shape == (axis_of(shape[0]),):
            return Term(f"I.cast(I.indices(I.domain({shape[0]})), I.i64)", shape)
        if kind == "scalar":
            return Term(f"({{}} {self.rng.choice('+-*')} {{}})", shape, [self.tensor(shape, depth + 1), self.scalar(depth + 1)])
        return self.binary(shape, depth)

    def binary(self, shape, depth):
        form = self.rng.choice(("({} + {})", "({} - {})", "({} * {})", "({} & {})", "({} ^ {})", "I.maximum({}, {})", "I.minimum({}, {})"))
        return Term(form, shape, [self.tensor(shape, depth + 1), self.tensor(shape, depth + 1)])

    def reduction(self, shape, wide, axis, depth):
        return Term(f"I.reduce.{self.rng.choice(('sum', 'max', 'min'))}({{}}, axis={axis})", shape, [self.tensor(wide, depth + 1)])

    def shape(self, axes=None):
        return tuple(self.rng.choice([name for name, (of, _) in REGIONS.items() if of == axis]) if self.chance(0.2) else axis for axis in axes or self.axes)

    def scalar(self, depth=0):
        kind = self.rng.choice(("name", "name", "element", "element", "reduce", "reduce", "binary", "loop", "literal"))
        if kind == "name" and self.scalars:
            return Term(self.rng.choice(self.scalars)[0], ())
        if kind == "loop" and self.loops:
            return Term(f"I.cast({self.rng.choice(self.loops).name}, I.i64)", ())
        if depth < DEEPEST and kind == "reduce":
            wide = self.shape(self.rng.choice((self.axes, self.axes[-1:])))
            return self.reduction((), wide, "(0, 1)" if len(wide) == 2 else 0, depth)
        if depth < DEEPEST and kind == "binary":
            return self.binary((), depth)
        if kind == "literal":
            return Term(str(self.rng.randint(0, 99)), ())
        return self.read((), depth)

    def test(self):
        form = self.rng.choice(("{} > 50", "({} & 1) == 0", "{} < {}", "({} & 255) > 128 and {} > 3"))
        return Term(form, "test", [self.scalar(1) for _ in range(form.count("{}"))])

    def value(self, shape):
        """What a step writes or names."""
        return Term("({} & 4095)", shape, [self.tensor(shape)])

    # -- steps --------------------------------------------------------------------------------------------------

    def writable(self):
        return [h for h in self.holders if h.access not in ("in", "value") and h.name not in self.readonly and h.name not in self.counted]

    def target(self, holders):
        hot = [h for h in holders if h.name in self.hot]
        return self.rng.choice(hot if hot and self.chance(0.6) else holders)

    def target_shape(self, holder):
        """The axes of a holder that a write covers; others have a place, most often that of a loop."""
        free = [axis for axis in holder.axes if axis not in self.owned.get(holder.name, {})]
        looped = {loop.axis for loop in self.loops}
        return self.shape(axes) if (axes := tuple(axis for axis in free if not self.chance(0.75 if axis in looped else 0.2))) else ()

    def name(self):
        shape = self.rng.choice(((), self.axes, self.axes, self.axes[-1:], self.axes[:1]))
        step, name = Step("", [self.value(shape)]), self.fresh("t" if shape else "s")
        step.form = name + " = {}"
        self.bind(name, shape)
        return step

    def bind(self, name, shape):
        if shape:
            self.holders.append(Holder(name, shape, "value", self.level))
        else:
            self.scalars.append((name, self.level))

    def rename(self):
        """Another value for a name: a carry of the loops around, where it began before them."""
        names = [(h.name, h.axes) for h in self.holders if h.access == "value" and h.level == self.level] + [(n, ()) for n, level in self.scalars if level == self.level]
        if not names:
            return None
        name, shape = self.rng.choice(names)
        value = self.value(shape)
        if self.chance(0.5):
            value.parts = [Term(self.rng.choice(("({} + {})", "({} - {})", "I.maximum({}, {})")), shape, [Term(name, shape), *value.parts])]
        return Step(name + " = {}", [value])

    def write(self):
        targets = self.writable()
        if not targets:
            return None
        holder = self.target(targets)
        shape = self.target_shape(holder)
        target = self.access(holder, shape, 2, indexed=0)
        target.sort = "target"
        own = self.value(self.rng.choice((shape, shape, shape, shape[-1:], ())))
        return Step("{} = {}" if holder.access == "out" or self.chance(0.85) else "{} += {}", [target, own])

    def permuted(self):
        """Every element of an axis, somewhere else."""
        targets = [h for h in self.writable() if h.axes[0] not in self.owned.get(h.name, {}) and not self.owned.get(h.name)]
        if not targets:
            return None
        holder = self.target(targets)
        axis, value = holder.axes[0], self.value(holder.axes)
        if len(holder.axes) == 1 and self.chance(0.5):
            return Step(f"I.scatter_unique({holder.name}, index=(p_{axis}[:],), value={{}})", [value])
        return Step(f"{holder.name}[{self.rng.choice((f'rev_{axis}', f'p_{axis}[:]'))}{', :' * (len(holder.axes) - 1)}] = {{}}", [value])

    def output(self):
        return Step(f"o[{self.rng.randrange(8)}] = {{}}", [self.value(())]) if not self.level else None

    def buffer(self):
        axes = self.rng.choice((self.axes, self.axes[-1:]))
        step = Step(f"{(name := self.fresh('w'))} = I.buffer(({', '.join(axes)},), I.i64, init={{}})", [self.value(axes)])
        self.holders.append(Holder(name, axes, "buffer", self.level))
        return step

    def atomic(self):
        """One element; among the points of a parallel loop always by the same operation, and its old value is nobody's."""
        if self.level and not self.counted:
            return None
        holders = [h for h in self.holders if h.name in self.counted] if self.level else [h for h in self.writable() if h.access == "inout"]
        if not holders:
            return None
        holder = self.target(holders)
        op = self.counted.get(holder.name) or self.rng.choice(("add", "max", "min", "xor"))
        places = [self.place(axis) for axis in holder.axes]
        text = f"I.atomic.{op}({holder.name}, ({'{}, ' * len(places)}), {{}})"
        terms = [*places, self.value(())]
        if self.level or self.chance(0.5):
            return Step(text, terms)
        name = self.fresh("s")
        self.bind(name, ())
        return Step(f"{name} = {text}", terms)

    def atomics(self):
        """Every element of an axis, each once, and what they held."""
        holders = [h for h in self.writable() if h.access == "inout"]
        if self.level or not holders:
            return None
        holder = self.target(holders)
        axis = self.rng.choice(holder.axes)
        members = self.rng.choice((f"I.indices(I.domain({axis}))", f"rev_{axis}", f"p_{axis}[:]"))
        places = [self.place(other) for other in holder.axes if other != axis]
        indices = "".join(f"{members}, " if other == axis else "{}, " for other in holder.axes)
        step = Step("", [*places, self.value((axis,))])
        name = self.fresh("t")
        step.form = f"{name} = I.atomic.{self.rng.choice(('add', 'max', 'min', 'xor', 'exchange'))}({holder.name}, ({indices}), {{}})"
        self.bind(name, (axis,))
        return step

    def scatter(self):
        holders = [h for h in self.writable() if h.access == "inout" and len(h.axes) == 1]
        if self.level or not holders:
            return None
        holder = self.target(holders)
        extent = self.shape(holder.axes)[0]
        return Step(f"I.scatter_reduce({holder.name}, index=({{}},), value={{}}, combine={self.rng.choice(list(COMBINES))})",
                    [self.index(extent, 1), self.value((extent,))])

    @contextmanager
    def inside(self, *loops):
        """What a block binds ends with it."""
        before = len(self.holders), len(self.scalars), dict(self.owned), set(self.readonly), dict(self.counted), self.level
        self.loops += loops
        yield
        if loops:
            del self.loops[-len(loops):]
        holders, scalars, self.owned, self.readonly, self.counted, self.level = before
        del self.holders[holders:], self.scalars[scalars:]

    def repeat(self):
        axis = self.rng.choice((None, *self.axes, *self.axes))
        if axis and sum(loop.axis is not None for loop in self.loops) >= 2:
            return None
        name = self.fresh("i")
        with self.inside(Loop(name, axis, False)):
            before = [f"range({loop.name})" for loop in self.loops[:-1] if axis and loop.axis == axis]
            over = self.rng.choice((f"range({axis})", f"I.domain({axis})", *before * 2)) if axis else "range(2)"
            body = self.block(1, 3)
        if self.chance(0.1):
            body.append(Step("if {}:", [self.test()], [[Step(self.rng.choice(("break", "continue")))]]))
            body.append(self.write() or body[0].clone())
        return Step(f"for {name} in {over}:", [], [body])

    def count(self):
        """A loop that its own counter ends."""
        name = self.fresh("n")
        step = Step(f"{name} = {{}} & 3\nwhile {name} > 0:", [self.scalar()], [[]], f"{name} = {name} - 1")
        with self.inside():
            # Of no level, so that nothing gives it another value.
            self.scalars.append((name, -1))
            step.blocks = [self.block(1, 2)]
        return step

    def branch(self):
        blocks = []
        test = self.test()
        for _ in range(self.rng.choice((1, 1, 2))):
            with self.inside():
                blocks.append(self.block(1, 2))
        return Step("if {}:", [test], blocks)

    def parallel(self):
        """Points that write what they own of some holders, and count in another one."""
        axes = self.axes if self.rank == 2 and self.chance(0.3) else (self.rng.choice(self.axes),)
        fit = [h for h in self.writable() if set(axes) <= set(h.axes) and not set(axes) & set(self.owned.get(h.name, {}))]
        if not fit or len(self.loops) >= 3 or sum(loop.axis is not None for loop in self.loops) + len(axes) > 2:
            return None
        names = {axis: self.fresh("v") for axis in axes}
        targets = self.rng.sample(fit, min(len(fit), self.rng.choice((1, 1, 2))))
        free = [h for h in self.writable() if h.access == "inout" and h not in targets and not self.owned.get(h.name)]
        with self.inside(*(Loop(name, axis, True) for axis, name in names.items())):
            self.level += 1
            self.readonly |= {h.name for h in self.holders if h not in targets}
            for holder in targets:
                self.owned[holder.name] = {**self.owned.get(holder.name, {}), **names}
            if free and self.chance(0.25):
                self.counted[self.rng.choice(free).name] = self.rng.choice(("add", "max", "min", "xor"))
            body = self.block(1, 3, (self.write,))
        domains = ", ".join(f"I.domain({axis})" for axis in axes)
        return Step(f"for {', '.join(names.values())} in I.parallel({domains if len(axes) == 1 else f'({domains})'}):", [], [body])

    def block(self, least, most, always=()):
        """Steps, the last of them one that writes where `always` says so."""
        plain = (self.name, self.name, self.rename, self.write, self.write, self.write, self.write, self.permuted, self.output, self.atomic, self.atomics, self.scatter)
        nested = (self.repeat, self.repeat, self.parallel, self.parallel, self.branch, self.count, self.buffer)
        steps = []
        for _ in range(self.rng.randint(least, most)):
            kinds = plain + nested * 2 if not self.depth else plain * 2 + nested if self.depth < 3 else plain
            self.depth += 1
            steps.append(self.rng.choice(kinds)())
            self.depth -= 1
        steps = [s for s in steps if s is not None] + [s for make in always if (s := make()) is not None]
        return steps or [self.write() or self.name()]

    depth = 0

    def closing(self, body):
        """What was named before all that, after it."""
        held = [h for h in self.holders if h.access in ("value", "buffer")]
        whole = [h for h in held if h.axes == self.axes]
        colons = ", ".join(":" * self.rank)
        target = f"b[{colons}] +=" if any(line.lstrip().startswith("d[") for step in body for line in step.lines()) else f"d[{colons}] ="
        steps = [Step(target + " {}", [self.access(self.rng.choice(whole), self.axes, 0, indexed=0)])]
        for number, holder in enumerate(self.rng.sample(held, min(2, len(held)))):
            inner = Term("({} * {})", holder.axes, [self.access(holder, holder.axes, 0, indexed=0), self.read(holder.axes, DEEPEST)])
            steps.append(Step(f"o[{number}] = {{}}", [Term("I.reduce.sum({}, axis=" + ("(0, 1))" if len(holder.axes) == 2 else "0)"), (), [inner])]))
        for number, (name, _) in enumerate(self.rng.sample(self.scalars, min(2, len(self.scalars))), len(steps)):
            steps.append(Step(f"o[{number}] = {{}}", [Term(name, ())]))
        return steps

    def draw(self):
        body = self.block(4, 8)
        body += self.closing(body)
        return Ordered(self.views, self.opening, body, [dict(s) for s in SIZES[self.rank]], self.rng.randrange(2**31))


def program(seed):
    """The program of a seed, with the views that it uses."""
    return tidied(Draw(seed).draw())
