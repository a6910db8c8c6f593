"""Drawing what only some programs have: compile-time parameters, type variables, packed operands, unusual memory, tensors indexed as values."""
from __future__ import annotations

from . import kinds, packed_kinds
from .layouts import ANYWHERE, SHARING
from .tree import EIGHT_BITS, INTS, Constant, Facts, Invalid, Node, View, is_float, is_region

MODE = ("Mode.Plain", "Mode.Other", "Mode.Third")


class Features:
    """A part of `Expressions`: what it draws beside plain parameters, and kinds of expression that need it."""

    # -- parameters ---------------------------------------------------------------------------------------------

    def any_dtype(self):
        """An element type; 8-bit floats, too, which only some operations take."""
        if self.mode in ("exact", "smooth") and self.rng.random() < 0.08:
            return self.rng.choice(EIGHT_BITS)
        return self.dtype()

    def _features(self):
        """After the plain parameters: what they are beside that."""
        rng = self.rng
        if rng.random() < 0.25:
            for _ in range(rng.randint(1, 2)):
                value = rng.choice((rng.randint(0, 4), rng.random() < 0.5, rng.choice(("left", "right")), rng.choice(MODE), 0.5, rng.randint(1, 3)))
                self.program.constants.append(Constant(self.fresh("C"), value, rng.random() < 0.4))
        if rng.random() < 0.15:
            dtype = rng.choice(self.program.views).dtype
            for view in self.program.views:
                view.generic = "T" if view.dtype == dtype else None
        if rng.random() < 0.12:
            self._packed_operands()
        if rng.random() < 0.2:
            for view in rng.sample(self.program.views, rng.randint(1, len(self.program.views))):
                view.layout = rng.choice((*ANYWHERE, "broadcast") if view.values in ("ints", "exact", "smooth", "special") else ANYWHERE)
        elif rng.random() < 0.1:
            rng.choice(self.program.views).constraint = ", I.constraints(noalias=True)"
        if self.sharing:
            for view in self.program.views:
                view.wild = view.values == "ints" and view.dtype in INTS

    def _packed_operands(self):
        kind = self.rng.choice(("scaled", "sparse", "records"))
        rows, columns = self.rng.choice(self.symbols), self.rng.choice(self.symbols)
        if kind == "records":
            views = [View(self.fresh("w"), "in", "u8", (rows, 144), "weights"), View(self.fresh("w"), "in", "u8", (rows, 292), "activations"),
                     View(self.fresh("w"), "in", "f32", (rows, 256), "smooth")]
            params = {}
        else:
            views, params = getattr(packed_kinds, kind + "_views")(self.fresh, self.rng, rows, columns)
        self.program.views += views
        result = "i32" if views[0].dtype == "i8" else "f32"
        self.packed = kind, [v.name for v in views], params, (rows, columns)
        self.packed_results = [("f32", None), ("u8", (rows, 292))] if kind == "records" else [(result, (rows, columns))] * 2

    packed, packed_results = None, ()

    def _share(self):
        """Two views, one of them written, that one more run puts into the same memory."""
        if not self.sharing:
            return
        written = [v for v in self.program.views if v.access != "in" and v.wild]
        self.rng.shuffle(written)
        for b in written:
            others = [a for a in self.program.views if a is not b and a.wild and a.dtype == b.dtype and len(a.shape) > 0 and len(b.shape) > 0]
            if others:
                a = self.rng.choice(others)
                hows = SHARING if len(a.shape) == len(b.shape) else ("same", "shifted", "mirrored", "meeting")
                self.program.alias = (a.name, b.name, self.rng.choice(hows))
                for view in (a, b):
                    view.layout = "plain"
                return

    # -- expressions --------------------------------------------------------------------------------------------

    def _rare_makers(self, dtype, shape):
        """Kinds for a dtype and shape beside the common ones."""
        if dtype in EIGHT_BITS:
            return [self._select, self._cast, *([self._transposed] if shape and len(shape) == 2 else [])]
        makers = []
        if dtype == "bool" and shape is None:
            makers += [self._logic, self._chain]
        if dtype == "bool" or dtype in INTS:
            makers.append(self._invert)
        if dtype in ("i32", "u32", "i8", "u8", "i16", "u16", "i64", "u64") or is_float(dtype) and dtype in ("f32", "f64", "f16") and self.mode != "exact":
            makers.append(self._bitcast)
        if (dtype, shape) in self.packed_results:
            return [self._packed]
        if shape is None:
            return makers + [self._tensor_element, self._affine, *([self._end] if dtype == "index" and self.walked_regions() else [])]
        if shape and any(e == 1 or isinstance(e, int) and e % 2 == 0 for e in shape):
            makers.append(self._regrouped)
        if len(shape) == 1:
            makers += [self._lookup, self._guarded, self._affine, self._counted]
            if dtype == "f32" and self.mode == "smooth":
                makers.append(self._uniform)
        if len(shape) == 2:
            makers.append(self._outer)
        if shape == ():
            makers.append(self._rank_zero)
        if dtype != "bool":
            makers += [self._pair_reduce, self._with_operands]
            if shape:
                makers.append(self._pair_scan)
        return makers

    def _invert(self, dtype, shape, depth, exact):
        return Node("invert", [self.expression(dtype, shape, depth, exact)])

    def _logic(self, dtype, shape, depth, exact):
        count = self.rng.randint(1, 2)
        return Node("logic", [self.condition(None, depth) for _ in range(count)], {"op": self.rng.choice(("and", "or"))})

    def _chain(self, dtype, shape, depth, exact):
        return Node("chain", [self.expression("i32", None, depth, True) for _ in range(3)])

    def _bitcast(self, dtype, shape, depth, exact):
        source = {"i": "u", "u": "i"}.get(dtype[0], "f") + dtype[1:]
        return Node("bitcast", [self.expression(source, shape, depth, exact)], {"dtype": dtype})

    def _packed(self, dtype, shape, depth, exact):
        kind, views, params, (rows, columns) = self.packed
        if kind == "records":
            if dtype == "f32" and shape is None:
                return Node("quantized", [], {"views": views[:2]})
            if dtype == "u8" and shape == (rows, 292):
                return Node("records", [], {"views": views[2:]})
            raise Invalid
        if shape != (rows, columns):
            raise Invalid
        return Node(kind, [], {"views": views, "short": self.rng.random() < 0.5, "older": self.rng.random() < 0.3, "acc": dtype, **params})

    def _end(self, dtype, shape, depth, exact):
        return Node("end", [], {"region": self.rng.choice(self.walked_regions())})

    def _regrouped(self, dtype, shape, depth, exact):
        """From a tensor with an axis of known extent split in two, with two such axes as one, or with an axis of one more or less."""
        found = [shape[:at] + shape[at + 1:] for at, e in enumerate(shape) if e == 1 and len(shape) > 1]
        found += [shape[:at] + (e // 2, 2) + shape[at + 1:] for at, e in enumerate(shape) if isinstance(e, int) and e and e % 2 == 0 and len(shape) < 3]
        found += [shape[:at] + (a * b,) + shape[at + 2:] for at, (a, b) in enumerate(zip(shape, shape[1:])) if isinstance(a, int) and isinstance(b, int)]
        if not found or any(map(is_region, shape)):
            raise Invalid
        before = self.rng.choice(found)
        return Node("reshape", [self.expression(dtype, before, depth, exact)], {"before": before, "after": shape})

    def _plain_extent(self):
        return self.rng.choice((*self.symbols, 4, 2))

    def _tensor_element(self, dtype, shape, depth, exact):
        extent = self._plain_extent()
        return Node("at", [self.expression(dtype, (extent,), depth, exact), self.coordinate(extent)], {"rank": 1})

    def _lookup(self, dtype, shape, depth, exact):
        extent = self._plain_extent()
        return Node("lookup", [self.expression(dtype, (extent,), depth, exact), self.index_tensor(extent, shape, depth)], {"spelled": self.rng.random() < 0.5})

    def _guarded(self, dtype, shape, depth, exact):
        views = [v for v in self.program.views if v.dtype == dtype and 1 <= len(v.shape) <= 2 and v.access == "in" and v.values in ("ints", "exact", "smooth", "special")]
        if not views:
            raise Invalid
        view, of = self.rng.choice(views), self.rng.choice(("i32", "index", "i64"))
        others = [self.coordinate(e) for e in view.shape[1:]]
        return Node("guarded", [self.expression(of, shape, depth, True), *(Node("cast", [o], {"dtype": "index"}) for o in others), self.literal(dtype, bare=dtype != "bool")],
                    {"view": view.name, "of": of})

    def _counted(self, dtype, shape, depth, exact):
        if dtype not in ("u32", "i32", "i64", "u64") or not isinstance(shape[0], int):
            raise Invalid
        inner = tuple(self._extra() for _ in range(self.rng.randint(1, 2)))
        return Node("counted", [self.expression(self.rng.choice(("i32", "index")), inner, depth, True), self.condition(inner, depth)], {"bins": shape[0], "dtype": dtype})

    def _uniform(self, dtype, shape, depth, exact):
        return Node("uniform", [self._indices(None, shape, 0, True)], {"seed": self.rng.randrange(2**40)})

    def _outer(self, dtype, shape, depth, exact):
        return Node("outer", [self.expression(dtype, (e,), depth, exact) for e in shape])

    def _rank_zero(self, dtype, shape, depth, exact):
        return Node("rank_zero", [self.expression(dtype, None, depth, exact)], {"dtype": dtype})

    @staticmethod
    def _spelled(value, dtype):
        return float(value) if is_float(dtype) else 0 if dtype[0] == "u" and value < 0 else value

    def _pair_reduce(self, dtype, shape, depth, exact):
        inner, at = self._with_extra(shape)
        other = self.dtype()
        return Node("pair_reduce", [self.expression(dtype, inner, depth, True), self.expression(other, inner, 0)],
                    {"axis": at, "least": self._spelled(-100, dtype), "other": self._spelled(0, other)})

    def _pair_scan(self, dtype, shape, depth, exact):
        part, other = self.rng.randint(0, 1), self.dtype()
        dtypes = (other, dtype) if part else (dtype, other)
        return Node("pair_scan", [self.expression(d, shape, depth if d == dtype else 0, True) for d in dtypes],
                    {"axis": self.rng.randrange(len(shape)), "zero": self._spelled(0, dtypes[0]), "least": self._spelled(-100, dtypes[1]), "part": part,
                     "inclusive": self.rng.random() < 0.7, "reverse": self.rng.random() < 0.3})

    def _affine(self, dtype, shape, depth, exact):
        if dtype not in ("i32", "i64", "u32"):
            raise Invalid
        inner = shape or (self._extra(),)
        return Node("affine", [self.expression(dtype, inner, depth) for _ in range(2)], {"dtype": dtype, "start": self.rng.randint(0, 3), "part": int(shape is None)})

    def _with_operands(self, dtype, shape, depth, exact):
        inner, at = self._with_extra(shape)
        return Node("with_operands", [self.expression(dtype, inner, depth, exact)], {"axis": at, "dtype": dtype})

    def _with_extra(self, shape):
        if len(shape) > 2:
            raise Invalid
        at = self.rng.randint(0, len(shape))
        return shape[:at] + (self._extra(),) + shape[at:], at

    def regions(self):
        return [name[:-2] for name in self.contexts[0].env if name.endswith("<>")]

    def constant(self, kind):
        """A compile-time parameter of a Python type, or None."""
        found = [c for c in self.program.constants if type(c.value) is kind]
        return self.rng.choice(found) if found else None

    def walked_regions(self):
        """Those that loops may run over."""
        return [name for name in self.regions() if not self.contexts[0].region(name).mapped]

    def bind_region(self, name, region):
        for context in self.contexts:
            context.env[name + "<>"] = region

    def scalar(self, name, bound):
        """A name for a coordinate below what `bound` gives for each context."""
        for context in self.contexts:
            context.env[name] = kinds.natural(kinds.made("index", None, bound(context), 0, True))


def is_value(name, known):
    """Of an entry of a scope: a value that an expression may name."""
    return isinstance(known, Facts) and not name.startswith("view ") and not name.endswith("]")


