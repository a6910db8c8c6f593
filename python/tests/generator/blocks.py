"""Drawing rarer statements: groups and subregions, branches, buffers in time steps, effects of one element, early returns."""
from __future__ import annotations

from . import kinds
from .expressions import Expressions
from .forms import FORMS  # noqa: F401 (registers the kinds of statement)
from .kinds import facts, require
from .statements import buffer_facts
from .tree import INTS, Facts, Invalid, Node, Region, Statement, View, is_float


def variable(name):
    return Node("variable", [], {"name": name})


class Blocks(Expressions):
    """A part of `Draw`; each method gives statements."""

    def rare_blocks(self):
        return self.groups, self.groups, self.static_branch, self.time_steps, self.time_steps, self.unique, self.sweep, self.read_part

    # -- coordinates ----------------------------------------------------------------------------------------------

    def region(self, shapes):
        """A subregion of an axis, and its extent among the shapes."""
        name, source = self.fresh("g"), self.rng.choice(self.symbols)
        form = self.rng.choice(("slice", "head", "tail", "between", "stepped"))
        parts = [self.coordinate(source) for _ in range(2 if form in ("slice", "between") else 1)]
        parts = [Node("cast", [p], {"dtype": "index"}) if self.known(p) and self.known(p)[0].dtype != "index" else p for p in parts]
        self.bind_region(name, Region(source))
        shapes += [(name,)] * 3
        if self.rng.random() < 0.3:
            shapes.append((name, self.rng.choice((*self.symbols, *self.walked_regions()))))
        return [Statement("region", parts, [], {"name": name, "source": source, "form": form, "step": self.rng.randint(1, 3)})]

    def groups(self):
        """A parallel loop over the groups of a ragged array, whose views it brings."""
        rng, dtype = self.rng, self.dtype()
        if not any("L" in v.shape for v in self.program.views):
            for sizes in self.program.sizes:
                sizes["G"] = rng.choice((0, 1, 2, 3, 5))
                sizes["R"], sizes["L"] = sizes["G"] + 1, rng.choice((0, 1, 4, 9, 20)) if sizes["G"] else 0
            for d, shape in ((dtype, ("L",)), (self.dtype(), ("L", rng.choice((4, *self.symbols))))):
                self.program.views.append(View(self.fresh("x"), "in", d, shape, self._values(d)))
            self.program.views.append(View(self.fresh("n"), "in", rng.choice(("i32", "i64", "index")), ("R",), "offsets"))
            self.program.views.append(View(self.fresh("n"), "in", "i32", ("G",), "ints"))
            if rng.random() < 0.3:
                self.program.views.append(View(self.fresh("n"), "in", rng.choice(("i32", "i64")), ("L",), "members"))
            for context in self.contexts:
                context.views = {v.name: v for v in self.program.views}
        offsets = next(v.name for v in self.program.views if v.values == "offsets")
        members = next((v.name for v in self.program.views if v.values == "members"), None)
        ragged = Statement("ragged", [], [], {"name": self.fresh("r"), "offsets": offsets, "members": members})
        for context in self.contexts:
            context.env[ragged.params["name"] + "{}"] = bool(members)
        return [ragged, *self.rows(ragged)]

    def group(self, ragged, index):
        """The members of the group of one point."""
        mapped = bool(ragged.params["members"])
        form = "members" if mapped or self.rng.random() < 0.3 else "group"
        name = self.fresh("g")
        self.bind_region(name, Region("L", mapped, None if mapped else index))
        return Statement("region", [variable(index)], [], {"name": name, "source": "L", "form": form, "ragged": ragged.params["name"]})

    def part_write(self, names, extents, region, dtype, group):
        """A tensor over a region: written where the region is, or reduced and written as an element."""
        known = self.contexts[0].region(region)
        if group is None or known.mapped or self.rng.random() < 0.3:
            node = self._full_reduction(dtype, None, 2, False)
            require(self.known(node) is not None)
            view = self.output(self.known(node)[0].dtype, tuple(extents), "inout")
            return [Statement("write", [*map(variable, names), node], [], {"view": view.name, "axes": ["i"] * len(names)})]
        view = self.output(dtype, ("L",), "inout")
        return [Statement("write", [self.expression(dtype, (region,), self.rng.randint(1, 3))], [], {"view": view.name, "axes": [region]})]

    def member_loop(self, group):
        """A parallel loop over the members of a group or region, each written on its own."""
        name, region, source = self.fresh("i"), group.params["name"], group.params["source"]
        saved = self.saved()
        self.scalar(name, lambda context: context.size(source))
        dtype = self.dtype()
        node = self.expression(dtype, None, self.rng.randint(1, 2))
        view = self.output(dtype, (source,), "inout")
        self.restore(saved)
        write = Statement("write", [variable(name), node], [], {"view": view.name, "axes": ["i"]})
        return Statement("parallel", [], [[write]], {"names": [name], "extents": [region]})

    def read_part(self):
        """A subregion outside of any loop: reduced, or written into the same part of a view."""
        shapes = []
        statements = self.region(shapes)
        region, dtype = shapes[0][0], self.dtype()
        statements += [self.let([(region,), None]) for _ in range(self.rng.randint(0, 2))]
        if self.rng.random() < 0.3:
            return statements + [self.member_loop(statements[0])]
        if self.rng.random() < 0.5:
            view = self.output(dtype, (statements[0].params["source"],), "inout")
            return statements + [Statement("write", [self.expression(dtype, (region,), 2)], [], {"view": view.name, "axes": [region]})]
        node = self._full_reduction(dtype, None, 2, False)
        require(self.known(node) is not None)
        view = self.output(self.known(node)[0].dtype, ())
        return statements + [Statement("write", [node], [], {"view": view.name, "axes": []})]

    # -- control --------------------------------------------------------------------------------------------------

    def more_control(self, shapes):
        return self.rng.choice((self.swapped, self.unpacked, self.assumed, self.static_let))(shapes)

    def swapped(self, shapes):
        """Two names that an ordered loop changes together."""
        dtype, shape = self.dtype(), self.rng.choice(shapes)
        if dtype not in INTS and self.mode == "smooth":
            return [self.let(shapes)]
        names = [self.fresh("c"), self.fresh("c")]
        parts = [self.leaf(dtype, shape, True) for _ in range(2)]
        saved = self.saved()
        both = Facts(dtype, shape, float(INTS[dtype][1] + 1) if dtype in INTS else 8.0, 0.0, True, self.mode == "special")
        for context in self.contexts:
            context.env.update({name: both for name in names})
        ops = ("+", "^", "-") if dtype in INTS else ("maximum", "minimum")
        held = self.rng.choice(names)
        parts.append(Node("binary", [variable(held), self.leaf(dtype, shape, True) if self.rng.random() < 0.5 else variable(names[0])], {"op": self.rng.choice(ops)}))
        self.restore(saved)
        statement = Statement("swap", parts, [], {"names": names, "index": self.fresh("t"), "count": self.rng.randint(0, 4)})
        for context in self.contexts:
            context.env.update({name: both for name in names})
        return [statement]

    def unpacked(self, shapes):
        """Both results of a helper."""
        names = [n for n, (_, results) in self.program.helpers.items() if len(results) > 1]
        if not names:
            return [self.let(shapes)]
        helper, shape = self.rng.choice(names), self.rng.choice(shapes)
        parameters, results = self.program.helpers[helper]
        dtype = self.dtype()
        given = [self.expression(dtype, shape, 1, True) for _ in parameters]
        calls = [Node("call", given, {"name": helper, "several": True, "item": item}) for item in range(2)]
        made = [self.fresh("v"), self.fresh("v")]
        for name, call in zip(made, calls):
            self.bind(name, call)
        return [Statement("unpack", calls, [], {"names": made})]

    def assumed(self, shapes):
        """A coordinate computed from data, said to be within a view."""
        views = [v for v in self.program.views if v.shape and isinstance(v.shape[0], str) and v.access == "in"]
        view, name = self.rng.choice(views), self.fresh("v")
        node = self.coordinate(view.shape[0])
        self.bind(name, node)
        return [Statement("let", [node], [], {"name": name}), Statement("assume", [variable(name)], [], {"view": view.name, "axis": 0})]

    def static_let(self, shapes):
        return self._static(lambda: [self.let(shapes)])

    def static_branch(self):
        return self._static(self.rng.choice((self.whole, self.rows)))

    WRONG = ("v0 = I.zeros((4,), I.f32) + I.zeros((5,), I.i8)", "v0 = I.cast(1, I.i32) + I.cast(1.0, I.f64)", "v0 = I.matmul(1.0, 2.0, acc_dtype=I.f32)")

    def _static(self, block):
        """A branch chosen at compile time; the other one has types that do not fit."""
        if not self.program.constants:
            return block()
        c = self.rng.choice(self.program.constants)
        taken = self.rng.random() < 0.5
        if isinstance(c.value, bool):
            test = c.name if c.value == taken else f"not {c.name}"
        elif isinstance(c.value, str):
            others = [m for m in ("Mode.Plain", "Mode.Other", "Mode.Third") if m != c.value] if "." in c.value else ["'neither'"]
            own = c.value if "." in c.value else repr(c.value)
            test = f"{c.name} == {own if taken else self.rng.choice(others)}"
        else:
            test = f"{c.name} {'<=' if taken else '>'} {c.value!r}"
        return [Statement("static_if", [], [block()], {"test": test, "taken": taken, "wrong": self.rng.choice(self.WRONG)})]

    def branch(self, names, extents):
        """if, elif and else in a parallel loop, each with a write of its own."""
        bodies = []
        for _ in range(self.rng.randint(2, 3)):
            saved = self.saved()
            dtype = self.dtype()
            body = [self.let([None])] if self.rng.random() < 0.4 else []
            node = self.expression(dtype, None, 1)
            view = self.output(dtype, tuple(extents), "inout")
            bodies.append([*body, Statement("write", [*map(variable, names), node], [], {"view": view.name, "axes": ["i"] * len(names)})])
            self.restore(saved)
        return Statement("branch", [self.condition(None, 2) for _ in bodies[1:]], bodies)

    def early_return(self):
        dtype, shape = self.dtype(), self.rng.choice(self.shapes)
        condition = self.condition(None, 2)
        node = self.expression(dtype, shape, 2)
        view = self.output(dtype, shape, "inout")
        return [Statement("return_if", [condition]), Statement("write", [node], [], {"view": view.name, "axes": [":"] * len(shape)})]

    # -- memory ---------------------------------------------------------------------------------------------------

    def time_steps(self):
        """A buffer that an ordered loop moves on, whole or element by element from another one, and a write of what it then holds."""
        dtype = self.dtype()
        shape = self.rng.choice((("N",), ("M",), (4,), ("M", "N"), ("N", 4)))
        if any(isinstance(e, str) and e not in self.symbols for e in shape):
            raise Invalid
        names = [self.fresh("b") for _ in range(2)]
        params = {"shape": shape, "dtype": dtype}
        if is_float(dtype) and self.mode == "smooth":
            params["slack"] = 128 * {"f16": 2.0**-11, "bf16": 2.0**-8, "f32": 2.0**-24, "f64": 2.0**-53}[dtype]
        start = Node("literal", [], {"value": 9.0 if is_float(dtype) else 9, "dtype": dtype})
        buffers = [Statement("buffer", [start.clone()], [], {"name": name, **params}) for name in names]
        for context in self.contexts:
            for name in names:
                context.env[name + "[]"] = buffer_facts(params, facts(start, context))
        saved, step = self.saved(), self.fresh("t")
        self.scalar(step, lambda context: 4)
        whole = [":"] * len(shape)
        if len(shape) == 1 and self.rng.random() < 0.6:
            body = self._stencil(dtype, shape[0], names)
        else:
            held = Node("buffer_read", [], {"buffer": names[0], "axes": whole})
            body = [Statement("tick", [self._next(dtype, held, self.small_leaf(dtype, shape))], [], {"buffer": names[0], "axes": whole})]
        self.restore(saved)
        loop = Statement("steps", [], [body], {"name": step, "count": self.rng.randint(1, 4)})
        view = self.output(dtype, shape)
        result = Node("buffer_read", [], {"buffer": names[0], "axes": whole})
        return [*buffers, loop, Statement("write", [result], [], {"view": view.name, "axes": whole})]

    def _stencil(self, dtype, extent, names):
        """Each element of the second buffer from two of the first; then they are copied back."""
        index = self.fresh("i")
        self.scalar(index, lambda context: context.size(extent))
        one = Node("literal", [], {"value": self.rng.randint(1, 2), "dtype": "index", "bare": True})
        beside = Node("coordinate", [Node("binary", [variable(index), one], {"op": "+"})], {"extent": extent})
        own, other = (Node("buffer_read", [at], {"buffer": names[0], "axes": ["i"]}) for at in (variable(index), beside))
        put = Statement("put", [variable(index), self._next(dtype, own, other)], [], {"buffer": names[1], "axes": ["i"]})
        back = Statement("tick", [Node("buffer_read", [], {"buffer": names[1], "axes": [":"]})], [], {"buffer": names[0], "axes": [":"]})
        return [Statement("parallel", [], [[put]], {"names": [index], "extents": [extent]}), back]

    def _next(self, dtype, held, other):
        """A value that does not leave the bounds of a buffer."""
        if dtype in INTS:
            return Node("binary", [held, other], {"op": self.rng.choice(("+", "-", "^", "maximum"))})
        if self.mode == "smooth":
            half = Node("literal", [], {"value": 0.5, "dtype": dtype, "bare": True})
            return Node("binary", [Node("binary", [part, half], {"op": "*"}) for part in (held, other)], {"op": "+"})
        return Node("binary", [held, other], {"op": self.rng.choice(("maximum", "minimum"))})

    def small_leaf(self, dtype, shape, exact=False):
        """A leaf within the bounds of a buffer, exact unless the program is smooth."""
        node = self.leaf(dtype, shape, exact or self.mode != "smooth")
        if dtype in INTS or all(f.bound <= 8 and not f.special and f.error <= 2.0**-40 for f in self.known(node) or [Facts(dtype, shape, 9.0)]):
            return node
        value = Node("literal", [], {"value": float(self.rng.randint(-2, 3)), "dtype": dtype})
        return value if shape is None else Node("full", [value], {"shape": shape, "dtype": dtype})

    def unique(self):
        """A scatter to places that a permutation gives."""
        dtype, extent = self.dtype(), self.rng.choice(self.symbols)
        order = View(self.fresh("n"), "in", self.rng.choice(("i32", "i64", "index", "u32")), (extent,), "permutation")
        self.program.views.append(order)
        for context in self.contexts:
            context.views = {v.name: v for v in self.program.views}
        view = self.output(dtype, (extent,), "inout")
        return [Statement("unique", [self.expression(dtype, (extent,), 2)], [], {"view": view.name, "order": order.name})]

    def old_value(self, index, extent, dtype):
        """An atomic update of a point's own element, and what the element held."""
        view, name = self.output(dtype, (extent,), "inout"), self.fresh("v")
        op = self.rng.choice(("add", "max", "min", "and_", "or_", "xor", "exchange", "compare_exchange"))
        values = [self.leaf(dtype, None) for _ in range(2 if op == "compare_exchange" else 1)]
        for context in self.contexts:
            context.env[name] = kinds.made(dtype, None, float("inf"), 0, True)
        written = self.output(dtype, (extent,))
        return [Statement("old", [variable(index), *values], [], {"view": view.name, "name": name, "op": op, "order": self.rng.choice((None, "relaxed", "acq_rel"))}),
                Statement("write", [variable(index), variable(name)], [], {"view": written.name, "axes": ["i"]})]

    def sweep(self):
        """An ordered loop over an axis that writes an element in each step, of a view that it may read as well."""
        dtype, extent = self.rng.choice([d for d in (self.dtype(), self.dtype(), "i32")]), self.rng.choice(self.symbols)
        index, carry = self.fresh("t"), self.fresh("c")
        inplace = dtype in INTS and self.rng.random() < 0.6
        view = self.output(dtype, (extent,), "inout" if inplace else "out")
        view.wild = view.wild or inplace
        zero = Node("literal", [], {"value": 0.0 if is_float(dtype) else 0, "dtype": dtype})
        saved = self.saved()
        self.scalar(index, lambda context: context.size(extent))
        value = self.expression(dtype, None, 2)
        if inplace:
            beside = Node("coordinate", [Node("binary", [variable(index), Node("literal", [], {"value": self.rng.choice((1, 2, -1)), "dtype": "index", "bare": True})], {"op": "+"})],
                          {"extent": extent})
            value = Node("binary", [value, Node("read", [beside], {"view": view.name, "axes": ["i"]})], {"op": self.rng.choice(("+", "-", "^"))})
        self.restore(saved)
        write = Statement("write", [variable(index), value], [], {"view": view.name, "axes": ["i"], "form": self.rng.choice((None, "store", "put_at"))})
        loop = Statement("for", [zero, Node("binary", [variable(carry), zero.clone()], {"op": "maximum"})], [[write]],
                         {"carry": carry, "name": index, "extent": extent, "range": self.rng.random() < 0.5})
        return [loop]
