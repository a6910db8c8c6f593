"""Drawing expressions for a dtype and shape, from parameters that are drawn first."""
from __future__ import annotations

import itertools
import random

from . import kinds
from .features import Features, is_value
from .kinds import Context, facts
from .tensor_kinds import COMBINES
from .tree import EIGHT_BITS, INTS, Facts, Invalid, Node, Program, ScalarParameter, View, is_float, is_region

MODES = {
    "ints": ("i32", "i64", "u8", "i8", "u32", "i16", "u16", "u64"), "exact": ("f32", "f64", "f32", "i32"), "smooth": ("f32", "f32", "f16", "f64", "bf16"),
    "special": ("f32", "f64", "f32", "f16", "bf16"),
}
EXTENTS = (0, 1, 2, 3, 5, 7, 8, 13, 16, 17, 31, 33)
LONG = (64, 129, 300)  # longer than what an instance holds, where such an axis is not a loop of the reference
SHAPES = (("M",), ("N",), ("M", "N"), ("M", "N"), ("N", "M"), ("M", 4), ("N", "K"), ("K",), ("M", "K"), ("M", "N", "K"), (),
          (4,), ("N", 2), ("M", 2, 2), ("M", 1))


class Expressions(Features):
    """Parameters, helpers and expressions of one program. `contexts` hold what is in scope, one for each set of extents."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.count = 0
        rng = self.rng
        self.mode = rng.choice(("ints", "ints", "exact", "exact", "smooth", "smooth", "smooth", "special"))
        sizes = []
        for run in range(2):
            sizes.append({s: rng.choice(EXTENTS if rng.random() < 0.5 else EXTENTS[2:]) for s in "MNK"})
            if rng.random() < 0.15:
                sizes[-1][rng.choice("MNK")] = rng.choice(LONG)
        # Programs whose views may share memory have few dtypes, so that views agree.
        self.sharing = self.mode == "ints" and rng.random() < 0.5
        self.dtypes = rng.sample(MODES["ints"], 2) if self.sharing else MODES[self.mode]
        self.program = Program([], [], {}, [], sizes, data_seed=rng.randrange(2**31))
        self._parameters()
        self._features()
        self._helpers()
        self.contexts = [Context(self.program, extents) for extents in sizes]
        self._enter_parameters()

    # -- parameters -----------------------------------------------------------------------------------------

    def dtype(self):
        return self.rng.choice(self.dtypes)

    def fresh(self, letter):
        self.count += 1
        return f"{letter}{self.count}"

    def _values(self, dtype):
        if not is_float(dtype):
            return "ints"
        return self.mode if self.mode in ("smooth", "special") else "exact"

    def _parameters(self):
        shapes = self.rng.sample(SHAPES, self.rng.randint(2, 4))
        if not any("M" in s for s in shapes) or not any("N" in s for s in shapes):
            shapes.append(("M", "N"))
        self.symbols = sorted({e for shape in shapes for e in shape if isinstance(e, str)})
        self.shapes = [s for s in SHAPES if all(isinstance(e, int) or e in self.symbols for e in s)]
        for shape in shapes:
            dtype = self.any_dtype()
            self.program.views.append(View(self.fresh("x"), "in", dtype, shape, self._values(dtype), self.rng.choice((1.0, 2.0, 4.0))))
        for _ in range(self.rng.randint(0, 2)):
            dtype = self.dtype()
            value = self.rng.randint(0, 4)
            self.program.scalars.append(ScalarParameter(self.fresh("s"), dtype, float(value) if is_float(dtype) else value, 4.0))

    def _helpers(self):
        for _ in range(self.rng.randint(0, 2)):
            dtype, parameters = self.dtype(), ["a", "b"][:self.rng.randint(1, 2)]
            exact = self.mode != "smooth"
            self.contexts = [Context(self.program, extents) for extents in self.program.sizes]
            for context in self.contexts:
                context.env = {p: Facts(dtype, None, 4.0, 0.0, exact) for p in parameters}
            self.leaves_only_variables = True
            self.program.helpers[self.fresh("h")] = (parameters, [self.expression(dtype, None, 2) for _ in range(self.rng.choice((1, 1, 2)))])
            self.leaves_only_variables = False

    leaves_only_variables = False
    within_coordinate = False  # coordinates of coordinates are literals

    def _enter_parameters(self):
        for context in self.contexts:
            for scalar in self.program.scalars:
                context.env[scalar.name] = kinds.made(scalar.dtype, None, scalar.bound, 0, True)

    # -- expressions ------------------------------------------------------------------------------------------

    def known(self, node):
        """The node's facts in each context, or None if one has none."""
        try:
            return [facts(node, context) for context in self.contexts]
        except Invalid:
            return None

    def fits(self, node, dtype, shape, exact=False):
        found = self.known(node)
        return found is not None and all(f.dtype == dtype and f.shape == shape and (f.exact or not exact) for f in found)

    def expression(self, dtype, shape, depth, exact=False):
        if depth > 0:
            for _ in range(6):
                makers = self._makers(dtype, shape)
                try:
                    node = self.rng.choice(makers)(dtype, shape, depth - 1, exact)
                except Invalid:
                    continue
                if node is not None and self.fits(node, dtype, shape, exact):
                    return node
        return self.leaf(dtype, shape, exact)

    def _makers(self, dtype, shape):
        makers = [self._binary, self._binary, self._function, self._select, self._cast, self._call, self._product]
        if self.leaves_only_variables:
            return makers
        if dtype in EIGHT_BITS or self.rng.random() < (0.6 if (dtype, shape) in self.packed_results else 0.15):
            rare = self._rare_makers(dtype, shape)
            if rare:
                return rare
        if is_float(dtype):
            makers.append(self._fused)
            if self.mode in ("exact", "smooth"):
                makers.append(self._small_float)
        if dtype == "bool":
            makers = [self._compare, self._compare, self._compare, self._binary, self._select]
        if shape is None:
            return makers + [self._ternary, self._full_reduction, self._full_reduction, self._fold, self._fold, self._dot, self._element, self._part]
        makers += [self._broadcast, self._reduction, self._reduction, self._generic_reduction]
        if len(shape) >= 1:
            makers += [self._scan, self._cumulative, self._arg]
        if len(shape) == 2:
            makers += [self._transposed, self._contraction, self._contraction, self._rows]
        if len(shape) == 1:
            makers += [self._contraction, self._gathered, self._window, self._region]
            if dtype == "index":
                makers.append(self._indices)
            if dtype == "u32":
                makers += [self._histogram, self._bits]
        if len(shape) == 3:
            makers += [self._batched, self._batched]
        if shape and shape[-1] == 2:
            makers.append(self._joined)
        if len(shape) == 3 and shape[1:] == (2, 2):
            makers.append(self._reshaped)
        return makers

    def leaf(self, dtype, shape, exact=False):
        found = []
        for name, known in self.contexts[0].env.items():
            if is_value(name, known) and known.dtype == dtype and known.shape == shape:
                found.append(Node("variable", [], {"name": name}))
        for name, known in self.contexts[0].env.items():
            if name.endswith("[]") and known.dtype == dtype and known.shape == shape:
                found.append(Node("buffer_read", [], {"buffer": name[:-2], "axes": [":"] * len(known.shape)}))
        if not self.leaves_only_variables:
            for view in self.program.views:
                if view.dtype == dtype:
                    found += self._reads(view, shape)
        self.rng.shuffle(found)
        if not self.leaves_only_variables and (not found or self.rng.random() < 0.15):
            found = itertools.chain(self._other_leaves(dtype, shape), found)
        for node in found:
            if node is not None and self.fits(node, dtype, shape, exact):
                return node
        value = self.literal(dtype)
        if any(map(is_region, shape or ())):
            raise Invalid
        return value if shape is None else Node("full", [value], {"shape": shape, "dtype": dtype})

    def _other_leaves(self, dtype, shape):
        """Reads of other dtypes, converted, and numbers that no view holds."""
        views = [view for view in self.program.views if view.dtype != dtype and view.values in ("ints", "exact", "smooth", "special")]
        for view in self.rng.sample(views, min(3, len(views))) if self.rng.random() < 0.75 else []:
            yield from (Node("cast", [read], {"dtype": dtype}) for read in self._reads(view, shape)[:1])
        yield self._numbered(dtype, shape)

    def _numbered(self, dtype, shape):
        """Small numbers that differ from element to element: the sum of the coordinates modulo 5."""
        if not shape or len(shape) > 3:
            return None
        total = None
        for axis, extent in enumerate(shape):
            part = self._indices(None, (extent,), 0, True)
            for at in range(axis + 1, len(shape)):
                part = Node("expand", [part], {"at": at - axis, "rank": at - axis})
            total = part if total is None else Node("binary", [total, part], {"op": "+"})
        total = Node("binary", [total, Node("literal", [], {"value": 5, "dtype": "index", "bare": True})], {"op": "%"})
        if dtype == "bool":
            return Node("compare", [total, Node("literal", [], {"value": 2, "dtype": "index", "bare": True})], {"op": "<"})
        return total if dtype == "index" else Node("cast", [total], {"dtype": dtype})

    def _reads(self, view, shape):
        """Reads of a view that may give the shape: some axes at coordinates in scope, the others whole."""
        rank = 0 if shape is None else len(shape)
        if len(view.shape) < rank or shape is None and not view.shape:
            return []
        found = []
        for _ in range(2):
            axes = ["i"] * (len(view.shape) - rank) + [":"] * rank
            self.rng.shuffle(axes)
            wanted = iter(shape or ())
            axes = ["i" if a == "i" else self._axis(next(wanted), e) for a, e in zip(axes, view.shape)]
            if None not in axes:
                form = self.rng.choice((None, None, None, "gather", "mutable_load"))
                found.append(Node("read", [self.coordinate(e) for a, e in zip(axes, view.shape) if a == "i"], {"view": view.name, "axes": axes, "form": form}))
        return found

    def _axis(self, wanted, extent):
        """How a view's axis is indexed to give an axis of the wanted extent; None if it cannot."""
        return ":" if wanted == extent else wanted if is_region(wanted) and self.contexts[0].region(wanted).source == extent else None

    def coordinate(self, extent):
        """A scalar index below an extent."""
        names = [n for n, f in self.contexts[0].env.items() if is_value(n, f) and f.natural and f.shape is None and f.dtype in INTS]
        self.rng.shuffle(names)
        for name in names:
            if all(c.env[name].bound <= c.size(extent) for c in self.contexts):
                return Node("variable", [], {"name": name})
        if self.within_coordinate:
            return Node("coordinate", [self.literal("i32")], {"extent": extent})
        self.within_coordinate = True
        try:
            return Node("coordinate", [self.expression("i32", None, self.rng.randint(0, 1))], {"extent": extent})
        finally:
            self.within_coordinate = False

    def literal(self, dtype, bare=False):
        if dtype == "bool":
            value = self.rng.random() < 0.5
        elif is_float(dtype):
            value = float(self.rng.randint(-2, 3)) if self.mode != "smooth" or self.rng.random() < 0.5 else self.rng.choice((0.5, 0.25, 1.5, -0.75))
        else:
            value = self.rng.randint(0 if dtype[0] == "u" else -3, 5)
            known = self.constant(int) if dtype != "index" and not self.leaves_only_variables else None
            if known and self.rng.random() < 0.3:
                return Node("literal", [], {"value": known.value, "dtype": dtype, "bare": bare, "constant": known.name})
        return Node("literal", [], {"value": value, "dtype": dtype, "bare": bare})

    def _binary(self, dtype, shape, depth, exact):
        if dtype == "bool":
            op = self.rng.choice("&|^")
        elif is_float(dtype):
            op = self.rng.choice(("+", "-", "*", "+", "*", "maximum", "minimum", "maximum_num", "minimum_num"))
        else:
            op = self.rng.choice(("+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>", "maximum", "minimum"))
        left = self.expression(dtype, shape, depth, exact)
        if self.rng.random() < 0.25 and dtype != "bool":
            right = self.literal(dtype, bare=True)
            if op == "%":
                right = Node("literal", [], {"value": self.rng.randint(1, 7), "dtype": dtype, "bare": True})
        else:
            right = self.expression(dtype, shape if self.rng.random() < 0.7 or shape is None else None, depth, exact)
        if right.kind != "literal" and self.rng.random() < 0.3:
            left, right = right, left
        return Node("binary", [left, right], {"op": op, "named": op in ("+", "-", "*") and self.rng.random() < 0.1})

    def _function(self, dtype, shape, depth, exact):
        names = ("neg", "abs", "square") if not is_float(dtype) else ("neg", "abs", "floor", "square") if exact or self.mode != "smooth" else kinds.FUNCTIONS
        return Node("function", [self.expression(dtype, shape, depth, exact)], {"name": self.rng.choice(names)})

    def condition(self, shape, depth):
        return self.expression("bool", shape, depth, True)

    def _select(self, dtype, shape, depth, exact):
        kind = self.rng.choice(("select", "select", "mask"))
        parts = [self.condition(shape if self.rng.random() < 0.8 else None, depth), self.expression(dtype, shape, depth, exact), self.expression(dtype, shape, 0, exact)]
        if self.rng.random() < 0.3:
            parts[2] = self.literal(dtype, bare=dtype != "bool")
        return Node(kind, parts, {})

    def _compare(self, dtype, shape, depth, exact):
        of = self.rng.choice([d for d in MODES[self.mode]] + ["i32"]) if self.mode != "smooth" else self.rng.choice(("i32", "f32", "index"))
        left = self.expression(of, shape, depth, True)
        right = self.literal(of, bare=True) if self.rng.random() < 0.4 else self.expression(of, shape, depth, True)
        return Node("compare", [left, right], {"op": self.rng.choice(("==", "!=", "<", "<=", ">", ">="))})

    def _cast(self, dtype, shape, depth, exact):
        source = self.rng.choice([d for d in ("i32", "f32", "bool", "index", self.any_dtype(), *MODES[self.mode]) if d != dtype])
        generic = any(v.generic and v.dtype == dtype for v in self.program.views)
        return Node("cast", [self.expression(source, shape, depth, exact or dtype in INTS)], {"dtype": dtype, "spelled": "T" if generic else None})

    def _call(self, dtype, shape, depth, exact):
        names = list(self.program.helpers)
        if not names:
            raise Invalid
        name = self.rng.choice(names)
        if self.leaves_only_variables:
            raise Invalid
        parameters, results = self.program.helpers[name]
        return Node("call", [self.expression(dtype, shape, depth, exact) for _ in parameters],
                    {"name": name, "keywords": self.rng.random() < 0.3, "several": len(results) > 1, "item": self.rng.randrange(len(results))})

    def _product(self, dtype, shape, depth, exact):
        other = self.leaf("i32", None)
        part = self.expression(dtype, shape, depth, exact)
        return Node("field", [part, other]) if self.rng.random() < 0.5 else Node("item", [other, part])

    def _fused(self, dtype, shape, depth, exact):
        return Node("fma", [self.expression(dtype, shape, depth, exact) for _ in range(3)])

    def _ternary(self, dtype, shape, depth, exact):
        return Node("ternary", [self.condition(None, depth), self.expression(dtype, None, depth, exact), self.expression(dtype, None, depth, exact)])

    def _element(self, dtype, shape, depth, exact):
        return self.leaf(dtype, None, exact)

    def _extra(self):
        return self.rng.choice((*self.symbols, *self.symbols, 4, 2, *self.regions() * 3))

    def _full_reduction(self, dtype, shape, depth, exact):
        inner = tuple(self._extra() for _ in range(self.rng.randint(1, 2)))
        return self._reduced(dtype, inner, tuple(range(len(inner))), depth, exact, False)

    def _reduction(self, dtype, shape, depth, exact):
        if len(shape) > 2:
            raise Invalid
        keep = 1 in shape and self.rng.random() < 0.5
        if keep:
            at = shape.index(1)
            inner = shape[:at] + (self._extra(),) + shape[at + 1:]
        else:
            at = self.rng.randint(0, len(shape))
            inner = shape[:at] + (self._extra(),) + shape[at:]
        return self._reduced(dtype, inner, (at,), depth, exact, keep)

    def _reduced(self, dtype, inner, axes, depth, exact, keep):
        op = self.rng.choice(("sum", "max", "min", "sum", "mean", "prod"))
        source = dtype
        if dtype == "bool":
            op = self.rng.choice(("any", "all"))
        elif op in ("sum", "mean"):
            source = self.rng.choice({"f32": ("f32", "f32", "f16"), "i32": ("i32", "i8", "bool"), "u32": ("u32", "u8")}.get(dtype, (dtype,)))
        return Node("reduce", [self.expression(source, inner, depth, exact)], {"op": op, "axes": axes, "keepdims": keep})

    def _generic_reduction(self, dtype, shape, depth, exact):
        if len(shape) > 2:
            raise Invalid
        at = self.rng.randint(0, len(shape))
        inner = shape[:at] + (self._extra(),) + shape[at:]
        return Node("generic_reduce", [self.expression(dtype, inner, depth, exact)], {"combine": self.rng.choice(list(COMBINES)), "axes": (at,), "dtype": dtype})

    def _scan(self, dtype, shape, depth, exact):
        params = {"combine": self.rng.choice(list(COMBINES)), "axis": self.rng.randrange(len(shape)), "dtype": dtype, "inclusive": self.rng.random() < 0.7,
                  "reverse": self.rng.random() < 0.3}
        return Node("scan", [self.expression(dtype, shape, depth, exact)], params)

    def _cumulative(self, dtype, shape, depth, exact):
        op = self.rng.choice(("sum", "max", "sum"))
        source = {"f32": ("f32", "f16"), "i32": ("i32", "i8")}.get(dtype, (dtype,)) if op == "sum" else (dtype,)
        params = {"op": op, "axis": self.rng.randrange(len(shape)), "inclusive": self.rng.random() < 0.7, "reverse": self.rng.random() < 0.3}
        return Node("cumulative", [self.expression(self.rng.choice(source), shape, depth, exact)], params)

    def _arg(self, dtype, shape, depth, exact):
        if len(shape) > 2:
            raise Invalid
        at = self.rng.randint(0, len(shape))
        inner = shape[:at] + (self._extra(),) + shape[at:]
        part = 1 if dtype == "index" else 0
        return Node("arg_reduce", [self.expression(self.dtype() if part else dtype, inner, depth, True)], {"op": self.rng.choice(("max", "min")), "axis": at, "part": part})

    def _broadcast(self, dtype, shape, depth, exact):
        if not shape:
            raise Invalid
        op = self.rng.choice(("+", "*", "maximum")) if dtype != "bool" else "&"
        full = self.expression(dtype, shape, depth, exact)
        if len(shape) > 1 and self.rng.random() < 0.5:
            other = Node("expand", [self.expression(dtype, shape[:-1], depth, exact)], {"at": len(shape) - 1, "rank": len(shape) - 1})
        else:
            other = self.expression(dtype, shape[1:], depth, exact) if len(shape) > 1 else self.expression(dtype, None, depth, exact)
        return Node("binary", [full, other], {"op": op})

    def _transposed(self, dtype, shape, depth, exact):
        return Node("transpose", [self.expression(dtype, (shape[1], shape[0]), depth, exact)], {"order": [1, 0]})

    def _contraction(self, dtype, shape, depth, exact):
        source = {"f32": ("f32", "f32", "f16", "bf16", self.rng.choice(EIGHT_BITS)), "f64": ("f64",), "i32": ("i32", "i8"), "i64": ("i64",)}.get(dtype)
        if source is None:
            raise Invalid
        of, inner = self.rng.choice(source), self._extra()
        if len(shape) == 2:
            transposed = self.rng.random() < 0.4
            return Node("contract", [self.expression(of, (shape[0], inner), depth, exact), self.expression(of, (shape[1], inner) if transposed else (inner, shape[1]), depth, exact)],
                        {"form": "matmul", "acc": dtype, "transposed": transposed})
        if self.rng.random() < 0.5:
            return Node("contract", [self.expression(of, (shape[0], inner), depth, exact), self.expression(of, (inner,), depth, exact)], {"form": "matvec", "acc": dtype})
        return Node("contract", [self.expression(of, (inner,), depth, exact), self.expression(of, (inner, shape[0]), depth, exact)], {"form": "vecmat", "acc": dtype})

    def _dot(self, dtype, shape, depth, exact):
        if dtype not in ("f32", "f64", "i32"):
            raise Invalid
        inner = self.rng.choice(("M", "N", 4))
        return Node("scalar_of", [Node("contract", [self.expression(dtype, (inner,), depth, exact) for _ in range(2)], {"form": "dot", "acc": dtype})])

    def _small_float(self, dtype, shape, depth, exact):
        return Node("small_float", [self.expression(dtype, shape, depth, True)], {"format": self.rng.choice(("f8e5m2", "f8e4m3fn")), "dtype": dtype})

    def _batched(self, dtype, shape, depth, exact):
        if dtype not in ("f32", "f64", "i32"):
            raise Invalid
        of, inner = self.rng.choice({"f32": ("f32", "f16"), "i32": ("i32", "i8")}.get(dtype, (dtype,))), self.rng.choice((*self.symbols, 4))
        return Node("batched", [self.expression(of, (shape[0], rows, inner), depth, exact) for rows in shape[1:]], {"acc": dtype})

    def _part(self, dtype, shape, depth, exact):
        views = [v for v in self.program.views if len(v.shape) == 1 and v.access == "in"]
        if not views:
            raise Invalid
        view = self.rng.choice(views)
        return Node("part", [self.coordinate(view.shape[0])], {"view": view.name, "op": self.rng.choice(("sum", "max", "sum")), "below": self.rng.random() < 0.5})

    def _region(self, dtype, shape, depth, exact):
        if self.rng.random() < 0.4:
            return Node("row_fold", [self.expression(dtype, (self.rng.choice((*self.symbols, *self.regions())), shape[0]), depth, exact)], {"dtype": dtype, "extent": shape[0]})
        return Node("region_scan", [self.expression(dtype, shape, depth, exact)], {"dtype": dtype, "start": self.rng.randint(-2, 2), "part": 0})

    def _fold(self, dtype, shape, depth, exact):
        source = self.expression(dtype, (self.rng.choice((*self.symbols, *self.regions())),), depth, exact)
        kind = self.rng.choice(("record_fold", "log_mass", "region_scan", "fold"))
        if kind == "record_fold":
            return Node(kind, [source], {"dtype": dtype, "part": self.rng.choice(("peak", "total"))})
        if kind == "log_mass":
            return Node(kind, [source], {"dtype": dtype})
        if kind == "region_scan":
            return Node(kind, [source], {"dtype": dtype, "start": self.rng.randint(-2, 2), "part": 1})
        return Node("fold", [self.expression(dtype, (self.rng.choice(("M", "N")),), depth, exact)], {"name": self.rng.choice(("total", "peak")), "dtype": dtype})

    def index_tensor(self, extent, shape, depth):
        return Node("coordinate", [self.expression(self.rng.choice(("i32", "index")), shape, depth, True)], {"extent": extent})

    def _rows(self, dtype, shape, depth, exact):
        views = [v for v in self.program.views if v.dtype == dtype and len(v.shape) == 2 and v.access == "in" and v.shape[1] == shape[1]]
        if not views:
            raise Invalid
        view = self.rng.choice(views)
        return Node("read", [self.index_tensor(view.shape[0], (shape[0],), depth)], {"view": view.name, "axes": ["i", ":"]})

    def _gathered(self, dtype, shape, depth, exact):
        views = [v for v in self.program.views if v.dtype == dtype and len(v.shape) == 1 and v.access == "in"]
        if not views:
            raise Invalid
        view = self.rng.choice(views)
        index = self.index_tensor(view.shape[0], shape, depth)
        if self.rng.random() < 0.5:
            return Node("read", [index], {"view": view.name, "axes": ["i"]})
        return Node("gather", [index, self.condition(shape, depth), self.literal(dtype, bare=dtype != "bool")], {"view": view.name})

    def _window(self, dtype, shape, depth, exact):
        views = [v for v in self.program.views if v.dtype == dtype and len(v.shape) == 1 and v.access == "in"]
        if not views or not isinstance(shape[0], int):
            raise Invalid
        return Node("window", [], {"view": self.rng.choice(views).name, "begin": self.rng.randint(0, 2), "length": shape[0]})

    def _indices(self, dtype, shape, depth, exact):
        return Node("indices", [], {"extent": shape[0], "mapped": is_region(shape[0]) and self.contexts[0].region(shape[0]).mapped})

    def _histogram(self, dtype, shape, depth, exact):
        if not isinstance(shape[0], int):
            raise Invalid
        return Node("histogram", [Node("binary", [self.expression("i32", (self._extra(),), depth, True), Node("literal", [], {"value": shape[0], "dtype": "i32", "bare": True})], {"op": "%"})],
                    {"bins": shape[0]})

    def _bits(self, dtype, shape, depth, exact):
        return Node("bits", [self._indices(None, shape, 0, True)], {"seed": self.rng.randrange(2**40)})

    def _joined(self, dtype, shape, depth, exact):
        return Node("join", [self.expression(dtype, shape[:-1], depth, exact) for _ in range(2)])

    def _reshaped(self, dtype, shape, depth, exact):
        return Node("reshape", [self.expression(dtype, (shape[0], 4), depth, exact)], {"before": (shape[0], 4), "after": shape})
