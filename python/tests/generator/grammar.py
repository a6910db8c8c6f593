"""Drawing programs: blocks of statements over drawn expressions."""
from __future__ import annotations

from . import kinds
from .blocks import Blocks
from .kinds import facts
from .layouts import ANYWHERE
from .statements import MOST_WORK, check, work
from .tensor_kinds import COMBINES
from .tree import EIGHT_BITS, INTS, Facts, Invalid, Node, Statement, View, is_float, is_region


class Draw(Blocks):
    """One program from one seed."""

    def bind(self, name, node):
        for context in self.contexts:
            context.env[name] = facts(node, context)

    def saved(self):
        return [dict(context.env) for context in self.contexts]

    def restore(self, saved):
        for context, env in zip(self.contexts, saved):
            context.env = env

    def let(self, shapes):
        dtype, shape = self.rng.choice((self.any_dtype(), self.dtype(), self.dtype(), "bool")), self.rng.choice(shapes)
        node = self.expression(dtype, shape, self.rng.randint(1, 3))
        name = self.fresh("v")
        self.bind(name, node)
        return Statement("let", [node], [], {"name": name})

    def output(self, dtype, shape, access="out"):
        view = View(self.fresh("y"), access, dtype, shape, self._values(dtype) if access == "inout" else "ints", 4.0)
        if access == "inout" and view.values in ("smooth", "special"):
            view.values = "exact"
        view.wild = self.sharing and dtype in INTS
        if dtype == self._generic_dtype():
            view.generic = "T"
        if self.rng.random() < 0.06:
            view.layout = self.rng.choice(ANYWHERE)
        self.program.views.append(view)
        return view

    def _generic_dtype(self):
        return next((v.dtype for v in self.program.views if v.generic), None)

    def whole(self):
        """Tensor statements, then writes of whole views."""
        shapes = [s for s in self.shapes if s and len(s) < 3] + [None]
        statements = self.region(shapes) if self.rng.random() < 0.2 else []
        statements += [self.let(shapes) for _ in range(self.rng.randint(0, 3))]
        for _ in range(self.rng.randint(1, 2)):
            shape, dtype = self.rng.choice(self.shapes), self.rng.choice((self.dtype(), self.any_dtype(), "bool"))
            if self.packed and self.rng.random() < 0.7:
                dtype, shape = self.rng.choice(self.packed_results)
                shape = shape or ()
                node = self._packed(dtype, shape or None, 1, False)
            else:
                node = self.expression(dtype, shape, self.rng.randint(2, 4))
            statements.append(Statement("write", [node], [], {"view": self.output(dtype, shape).name, "axes": [":"] * len(shape)}))
        return statements

    def control(self, shapes):
        """A let, a branch, an ordered loop or a while."""
        kind = self.rng.choice(("let", "let", "if", "for", "while", "buffer", "more", "more"))
        if kind == "let":
            return [self.let(shapes)]
        if kind == "more":
            return self.more_control(shapes)
        dtype, shape = self.dtype(), self.rng.choice(shapes)
        if kind == "if":
            name, parts = self.fresh("v"), [self.condition(None, 1), self.expression(dtype, shape, 1), self.expression(dtype, shape, 1)]
            known = [[facts(p, c) for p in parts[1:]] for c in self.contexts]
            for context, (a, b) in zip(self.contexts, known):
                context.env[name] = Facts(dtype, shape, max(a.bound, b.bound), max(a.error, b.error), a.exact and b.exact, a.special or b.special)
            return [Statement("if", parts, [], {"name": name})]
        if kind == "buffer":
            return self._buffer_loop(dtype)
        return [self._loop(kind, dtype, shape)]

    def _update(self, dtype, shape, carry, step):
        """The next value of a carry: bounded in floats whatever the number of steps."""
        held = Node("variable", [], {"name": carry})
        if not is_float(dtype):
            return Node("binary", [held, step], {"op": self.rng.choice(("+", "^", "-", "maximum"))})
        if self.mode == "smooth":
            half = Node("literal", [], {"value": 0.5, "dtype": dtype, "bare": True})
            return Node("binary", [Node("binary", [held, half], {"op": "*"}), step], {"op": "+"})
        return Node("binary", [held, step], {"op": self.rng.choice(("maximum", "minimum"))})

    def _loop(self, kind, dtype, shape):
        carry, name = self.fresh("c"), self.fresh("t")
        start = self.leaf(dtype, shape, exact=self.mode != "smooth")
        limit = Node("binary", [self.expression("i32", None, 1, True), Node("literal", [], {"value": 6, "dtype": "i32", "bare": True})], {"op": "%"})
        extent = self.rng.choice(("M", "N", 3, *self.walked_regions()))
        body = []
        saved = self.saved()
        if kind == "for":
            self.scalar(name, lambda context: context.size(extent))
            if self.depth < 2 and self.rng.random() < 0.35:
                self.depth += 1
                body = self.control([None, None, shape])
                self.depth -= 1
        else:
            for context in self.contexts:
                context.env[name] = kinds.natural(kinds.made("i32", None, 16, 0, True))
        parts = [start, self._update(dtype, shape, carry, self.expression(dtype, shape, 2 if kind == "for" else 1, self.mode != "smooth"))]
        if kind == "for":
            params = {"carry": carry, "name": name, "extent": extent, "range": self.rng.random() < 0.4 and not is_region(extent)}
            if not params["range"] and not is_region(extent) and self.rng.random() < 0.25:
                params.update(begin=self.rng.randint(0, 2), step=self.rng.randint(1, 3))
        else:
            params = {"carry": carry, "counter": name}
            parts.append(limit)
        self.restore(saved)
        leaves = self.rng.random() < 0.35
        if leaves:
            if kind == "for":
                self.scalar(name, lambda context: context.size(extent))
                params["leave"] = self.rng.choice(("break", "continue"))
            parts.append(self._asked(dtype, shape, carry))
            self.restore(saved)
        for context in self.contexts:
            # The check of the whole program has the exact bound; here a generous one decides what may follow.
            context.env[carry] = Facts(dtype, shape, float(INTS[dtype][1] + 1) if dtype in INTS else 64.0, 0.0, self.mode != "smooth", self.mode == "special")
        return Statement(kind, parts, [body], params)

    depth = 0  # of ordered loops around what is drawn

    def _asked(self, dtype, shape, carry):
        """A condition for leaving a loop: of data, or of what the loop carries."""
        if shape is None and self.mode != "smooth" and dtype not in EIGHT_BITS and self.rng.random() < 0.5:
            return Node("compare", [Node("variable", [], {"name": carry}), self.literal(dtype, bare=True)], {"op": self.rng.choice(("<", ">", "!=", "=="))})
        return self.condition(None, 2)

    def _buffer_loop(self, dtype):
        name, index = self.fresh("b"), self.fresh("t")
        extent = self.rng.choice(("N", 4))
        start = Node("literal", [], {"value": 9.0 if is_float(dtype) else 9, "dtype": dtype})
        carry = self.fresh("c")
        saved = self.saved()
        held = [Facts(dtype, (extent,), 9.0, 0.0, True) for _ in self.contexts]
        for context in self.contexts:
            context.env[index] = kinds.natural(kinds.made("index", None, context.size(extent), 0, True))
        put = self.small_leaf(dtype, None, True)
        read = Node("buffer_read", [Node("variable", [], {"name": index})], {"buffer": name, "axes": ["i"]})
        self.restore(saved)
        for context, known in zip(self.contexts, held):
            context.env[name + "[]"] = known
        loop = Statement("for", [Node("literal", [], {"value": 0.0 if is_float(dtype) else 0, "dtype": dtype}),
                                 Node("binary", [Node("variable", [], {"name": carry}), read], {"op": "maximum"})],
                         [[Statement("put", [Node("variable", [], {"name": index}), put], [], {"buffer": name, "axes": ["i"]})]],
                         {"carry": carry, "name": index, "extent": extent, "range": False})
        for context in self.contexts:
            context.env[carry] = Facts(dtype, None, 9.0, 0.0, True)
        return [Statement("buffer", [start], [], {"name": name, "shape": (extent,), "dtype": dtype}), loop]

    def rows(self, groups=None):
        """A parallel loop over one or two axes, or over groups; each point computes and writes its part of some views."""
        count = self.rng.choice((1, 1, 2)) if groups is None else 1
        extents = self.rng.sample(("M", "N"), count) if groups is None else ["G"]
        names = [self.fresh("i") for _ in extents]
        saved = self.saved()
        for name, extent in zip(names, extents):
            self.scalar(name, lambda context, extent=extent: context.size(extent))
        inner = [None, None, *([(s,) for s in (*self.symbols, 4)] if count == 1 else [])]
        body, group = [], None
        if groups is not None:
            group = self.group(groups, names[0])
            body.append(group)
            inner += [(group.params["name"],)] * 4
        elif self.rng.random() < 0.2:
            body += self.region(inner)
        skip = self.rng.random() < 0.15
        if skip:
            body.append(Statement("skip", [self.condition(None, 1)]))
        for _ in range(self.rng.randint(0, 2)):
            body += self.control(inner)
        for _ in range(self.rng.randint(1, 2)):
            shape, dtype = self.rng.choice(inner), self.any_dtype()
            if any(map(is_region, shape or ())):
                body += self.part_write(names, extents, shape[0], dtype, group)
                continue
            if shape is None and count == 1 and dtype in ("i32", "i64") and self.rng.random() < 0.15:
                body += self.old_value(names[0], extents[0], dtype)
                continue
            if shape is None and self.rng.random() < 0.3 and dtype in ("i32", "u32", "i64", "f32") and self.mode in ("ints", "exact"):
                view = self.output(dtype, (self.rng.choice((1, 4)),), "inout")
                op = self.rng.choice(("add", "max", "min")) if is_float(dtype) else self.rng.choice(("add", "max", "min", "and_", "or_", "xor"))
                body.append(Statement("atomic", [self.coordinate(view.shape[0]), self.expression(dtype, None, 1, True)], [], {"view": view.name, "op": op}))
                continue
            node = self.expression(dtype, shape, self.rng.randint(1, 3))
            update = self.rng.random() < 0.15 and dtype not in EIGHT_BITS or skip
            view = self.output(dtype, (*extents, *(shape or ())), "inout" if update else "out")
            params = {"view": view.name, "axes": ["i"] * count + [":"] * len(shape or ()), "form": self.rng.choice((None, None, "store", "put_at"))}
            if update and not skip:
                params["op"] = self.rng.choice("+-")
            body.append(Statement("write", [*(Node("variable", [], {"name": n}) for n in names), node], [], params))
        if count == 1 and not skip and self.rng.random() < 0.3:
            body.append(self._nested(names, extents))
        if not skip and self.rng.random() < 0.2:
            body.append(self.branch(names, extents))
        if group is not None and not groups.params["members"] and self.rng.random() < 0.4:
            body.append(self.member_loop(group))
        self.restore(saved)
        params = {"names": names, "extents": list(extents), "outer": f"{groups.params['name']}.outer" if groups is not None and self.rng.random() < 0.5 else None}
        only_updates = all(v.access == "inout" for v in self.program.views if v.name in {s.params.get("view") for s in body})
        if count == 1 and groups is None and only_updates and not any(s.kind == "old" for s in body) and self.rng.random() < 0.5:
            params.update(begin=self.rng.randint(0, 2), step=self.rng.randint(1, 3))
        return [Statement("parallel", [], [body], params)]

    def _nested(self, names, extents):
        """A parallel loop inside one, with a write of its own."""
        name, extent = self.fresh("i"), self.rng.choice(self.symbols)
        saved = self.saved()
        for context in self.contexts:
            context.env[name] = kinds.natural(kinds.made("index", None, context.size(extent), 0, True))
        dtype = self.dtype()
        node = self.expression(dtype, None, self.rng.randint(1, 2))
        view = self.output(dtype, (*extents, extent))
        self.restore(saved)
        write = Statement("write", [*(Node("variable", [], {"name": n}) for n in (*names, name)), node], [], {"view": view.name, "axes": ["i", "i"]})
        return Statement("parallel", [], [[write]], {"names": [name], "extents": [extent]})

    def scatter(self):
        dtype = self.rng.choice(("i32", "u32", "f32") if self.mode != "smooth" else ("i32",))
        view = self.output(dtype, tuple(self.rng.choice((1, 4, *self.symbols)) for _ in range(self.rng.choice((1, 1, 2)))), "inout")
        extent = self.rng.choice(("M", "N"))
        indices = [self.index_tensor(e, (extent,), 1) for e in view.shape]
        return [Statement("scatter", [*indices, self.expression(dtype, (extent,), 1, True)], [], {"view": view.name, "combine": self.rng.choice(list(COMBINES))})]

    def _written(self, views):
        """Views that later blocks may read; the check of the whole program has their exact bounds."""
        for view in views:
            for context in self.contexts:
                context.views[view.name] = view
                bound = float(INTS[view.dtype][1] + 1) if view.dtype in INTS else 64.0
                context.env["view " + view.name] = Facts(view.dtype, None, bound, 0.0, self.mode != "smooth", self.mode == "special")

    def draw(self):
        common = (self.whole, self.whole, self.rows, self.rows, self.rows, self.scatter, lambda: self.control([None, ("M",), ("N",)]))
        blocks = [self.rng.choice(common) if self.rng.random() < 0.75 else self.rng.choice(self.rare_blocks()) for _ in range(self.rng.randint(1, 3))]
        if self.rng.random() < 0.05:
            blocks.append(self.early_return)
        for block in blocks:
            before = len(self.program.views)
            self.program.body += block()
            self._written([v for v in self.program.views[before:] if v.access != "in"])
        self._share()
        return self.program


def program(seed):
    """The program of a seed: the first draw that is one, from numbers that the seed determines."""
    for attempt in range(200):
        try:
            drawn = Draw(f"{seed}/{attempt}").draw()
            if not any(v.access != "in" for v in drawn.views):
                continue
            for extents in drawn.sizes:
                while work(drawn, extents) > MOST_WORK and max(extents.values()) > 1:
                    largest = max(extents, key=extents.get)
                    extents[largest] //= 2
            check(drawn)
            return drawn
        except (Invalid, RecursionError):
            continue
    raise RuntimeError(f"seed {seed} draws no program")

