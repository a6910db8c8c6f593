"""ctypes access to libintent-host.so and a small writer of block programs, for the host backend's tests."""

import ctypes
import os
from pathlib import Path

import numpy as np


def _library():
    root = Path(__file__).resolve().parents[2]
    places = [os.environ.get("INTENT_LIBRARY_DIR"), root / "build/lib", root / "build/dev/lib"]
    for place in filter(None, places):
        path = Path(place) / "libintent-host.so"
        if path.exists():
            return path
    return None


LIBRARY = _library()


class Argument(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("extents", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64))]


if LIBRARY is not None:
    native = ctypes.CDLL(str(LIBRARY))
    native.intent_host_load.restype = ctypes.c_void_p
    native.intent_host_load.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint32, ctypes.c_char_p, ctypes.c_size_t]
    native.intent_host_launch.restype = ctypes.c_int32
    native.intent_host_launch.argtypes = [ctypes.c_void_p, ctypes.POINTER(Argument), ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    native.intent_host_emit.restype = ctypes.c_char_p
    native.intent_host_emit.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(Argument), ctypes.c_size_t]
    native.intent_host_set_threads.argtypes = [ctypes.c_uint32]
    native.intent_host_destroy.argtypes = [ctypes.c_void_p]


class HostError(Exception):
    pass


class Kernel:
    """A loaded block program; call it with arrays (views) and numpy scalars (scalar arguments)."""

    def __init__(self, text, row=0):
        self.handle = None
        self.error = ctypes.create_string_buffer(4096)
        data = text.encode()
        self.handle = native.intent_host_load(data, len(data), row, self.error, len(self.error))
        if not self.handle:
            raise HostError(self.error.value.decode())

    def __del__(self):
        if self.handle:
            native.intent_host_destroy(self.handle)

    @staticmethod
    def pack(arguments):
        packed = (Argument * max(1, len(arguments)))()
        alive = []
        for slot, value in zip(packed, arguments):
            if isinstance(value, np.ndarray):
                rank = value.ndim
                extents = (ctypes.c_int64 * max(1, rank))(*value.shape)
                strides = (ctypes.c_int64 * max(1, rank))(*[s // value.itemsize for s in value.strides])
                slot.data, slot.extents, slot.strides = value.ctypes.data, extents, strides
                alive.append((extents, strides))
            else:
                box = np.array([value])
                slot.data = box.ctypes.data
                alive.append(box)
        return packed, alive

    def __call__(self, *arguments):
        packed, alive = self.pack(arguments)
        if native.intent_host_launch(self.handle, packed, len(arguments), self.error, len(self.error)):
            raise HostError(self.error.value.decode())

    def prepared(self, *arguments):
        """A call without arguments, for measurements."""
        packed, alive = self.pack(arguments)

        def launch(packed=packed, alive=alive, n=len(arguments)):
            if native.intent_host_launch(self.handle, packed, n, self.error, len(self.error)):
                raise HostError(self.error.value.decode())

        return launch

    def emit(self, form, *arguments):
        packed, alive = self.pack(arguments)
        text = native.intent_host_emit(self.handle, form.encode(), packed, len(arguments))
        return None if text is None else text.decode()


class Program:
    """Writes one group of a block program. Methods give SSA names; types are tracked by name."""

    def __init__(self):
        self.lines = []
        self.types = {}
        self.count = 0
        self.indent = "      "

    def fresh(self, type):
        self.count += 1
        name = f"%v{self.count}"
        self.types[name] = type
        return name

    def line(self, text):
        self.lines.append(self.indent + text)

    def op(self, text, type):
        name = self.fresh(type)
        self.line(f"{name} = {text}")
        return name

    # types
    @staticmethod
    def fragment(element, extents):
        return f"!block.fragment<{element}, [{', '.join(map(str, extents))}]>" if extents else element

    def element(self, value):
        type = self.types[value]
        return type[len("!block.fragment<"):].split(",")[0] if type.startswith("!block.fragment") else type

    def extents(self, value):
        type = self.types[value]
        if not type.startswith("!block.fragment"):
            return []
        inner = type[type.index("[") + 1 : type.rindex("]")]
        out, depth, item = [], 0, ""
        for c in inner:
            depth += (c == "(") - (c == ")")
            if c == "," and depth == 0:
                out.append(item.strip())
                item = ""
            else:
                item += c
        return out + [item.strip()]

    # values
    def constant(self, value, type="index"):
        return self.op(f"block.constant {value} : {type} : {type}", type)

    def param(self, expr):
        return self.op(f"block.param {expr}", "index")

    def lanes(self, base, extent, step=None):
        step = step or self.constant(1)
        type = self.fragment("index", [extent])
        return self.op(f"block.lanes {base} step {step} : {type}", type)

    def unary(self, kind, x):
        return self.op(f"block.unary {kind} {x} : {self.types[x]}", self.types[x])

    def binary(self, kind, x, y):
        return self.op(f"block.binary {kind} {x}, {y} : {self.types[x]}", self.types[x])

    def compare(self, predicate, x, y):
        type = self.fragment("i1", self.extents(x))
        return self.op(f"block.compare {predicate} {x}, {y} : {self.types[x]} -> {type}", type)

    def select(self, c, x, y):
        return self.op(f"block.select {c}, {x}, {y} : {self.types[c]}, {self.types[x]}", self.types[x])

    def fma(self, x, y, z):
        return self.op(f"block.fma {x}, {y}, {z} : {self.types[x]}", self.types[x])

    def cast(self, x, element):
        type = self.fragment(element, self.extents(x))
        return self.op(f"block.cast {x} : {self.types[x]} to {type}", type)

    def bitcast(self, x, element):
        type = self.fragment(element, self.extents(x))
        return self.op(f"block.bitcast {x} : {self.types[x]} to {type}", type)

    def broadcast(self, x, axes, extents):
        type = self.fragment(self.element(x), extents)
        return self.op(f"block.broadcast {x} [{', '.join(map(str, axes))}] : {self.types[x]} to {type}".replace("[]", "[]"), type)

    def transpose(self, x, permutation):
        extents = self.extents(x)
        type = self.fragment(self.element(x), [extents[p] for p in permutation])
        return self.op(f"block.transpose {x} [{', '.join(map(str, permutation))}] : {self.types[x]} to {type}", type)

    def below(self, lanes, bound):
        """lanes < bound, where bound is a scalar index."""
        return self.compare("lt", lanes, self.broadcast(bound, [], self.extents(lanes)))

    def _access(self, coordinates, validity):
        axes = lambda items: "[" + ", ".join("[" + ", ".join(map(str, a)) + "]" for _, a in items) + "]"
        types = lambda items: ", ".join(self.types[v] for v, _ in items)
        names = lambda items: ", ".join(v for v, _ in items)
        return names(coordinates), names(validity), axes(coordinates), axes(validity), types(coordinates), types(validity)

    def load(self, view, element, coordinates, validity, fill, extents):
        """coordinates, validity: lists of (value, result axes)."""
        c, v, ca, va, ct, vt = self._access(coordinates, validity)
        type = self.fragment(element, extents)
        return self.op(
            f"block.load {view}[{c}] valid({v}) fill {fill} coordinate_axes {ca} valid_axes {va} : !block.view<{element}, {len(coordinates)}>, "
            f"({ct}) valid ({vt}) fill {element} -> {type}", type)

    def store(self, value, view, coordinates, validity):
        c, v, ca, va, ct, vt = self._access(coordinates, validity)
        element = self.element(value)
        self.line(f"block.store {value} to {view}[{c}] valid({v}) coordinate_axes {ca} valid_axes {va} : {self.types[value]}, "
                  f"!block.view<{element}, {len(coordinates)}>, ({ct}) valid ({vt})")

    def results(self, prefix, types):
        """(text before the equals sign, names) of an operation with several results."""
        self.count += 1
        base = f"%{prefix}{self.count}"
        names = [base] if len(types) == 1 else [f"{base}#{i}" for i in range(len(types))]
        self.types.update(zip(names, types))
        return base if len(types) == 1 else f"{base}:{len(types)}", names[: len(types)]

    def region(self, elements, combine):
        """A combine region's lines; `combine(a, b)` takes and gives as many scalars as there are elements."""
        a, b = [self.fresh(e) for e in elements], [self.fresh(e) for e in elements]
        self.line(f"^bb0({', '.join(f'{n}: {self.types[n]}' for n in a + b)}):")
        self.line(f"block.yield {', '.join(combine(a, b))} : {', '.join(elements)}")

    def reduce(self, values, identities, axis, combine):
        """combine(a, b) gives the combined values."""
        kept = self.extents(values[0])
        del kept[axis]
        elements = [self.element(v) for v in values]
        types = [self.fragment(e, kept) for e in elements]
        head, results = self.results("r", types)
        self.line(f"{head} = block.reduce({', '.join(values)}) identity({', '.join(identities)}) axis {axis} {{")
        self.region(elements, combine)
        self.line(f"}} : ({', '.join(self.types[v] for v in values)}) -> ({', '.join(types)}) identities ({', '.join(elements)})")
        return results

    def scan(self, values, identities, axis, combine, reverse=False):
        elements = [self.element(v) for v in values]
        types = [self.types[v] for v in values]
        head, results = self.results("s", types)
        self.line(f"{head} = block.scan({', '.join(values)}) identity({', '.join(identities)}) axis {axis} {'reverse ' if reverse else ''}{{")
        self.region(elements, combine)
        self.line(f"}} : ({', '.join(types)}) identities ({', '.join(elements)}) -> ({', '.join(types)})")
        return results

    def running(self, kind, x, identity, axis, reverse=False):
        return self.scan([x], [identity], axis, lambda a, b: [self.binary(kind, a[0], b[0])], reverse)[0]

    def pick(self, x, lane, axis):
        extents = self.extents(x)
        del extents[axis]
        type = self.fragment(self.element(x), extents)
        return self.op(f"block.pick {x} at {lane} axis {axis} : {self.types[x]} -> {type}", type)

    def _target(self, view, value, coordinates, validity):
        c, v, ca, va, ct, vt = self._access(coordinates, validity)
        return (f"{view}[{c}] valid({v}) coordinate_axes {ca} valid_axes {va}",
                f"{self.types[value]}, !block.view<{self.element(value)}, {len(coordinates)}>, ({ct}) valid ({vt})")

    def atomic(self, kind, value, view, coordinates, validity=(), order="relaxed"):
        where, types = self._target(view, value, coordinates, validity)
        return self.op(f"block.atomic {kind} {order} {value} to {where} : {types} -> {self.types[value]}", self.types[value])

    def compare_exchange(self, expected, desired, view, coordinates, validity=(), order="relaxed"):
        where, types = self._target(view, expected, coordinates, validity)
        return self.op(f"block.compare_exchange {order} {expected}, {desired} to {where} : {types}", self.types[expected])

    def scatter_reduce(self, value, view, coordinates, validity, combine):
        where, types = self._target(view, value, coordinates, validity)
        self.line(f"block.scatter_reduce {value} to {where} {{")
        self.region([self.element(value)], lambda a, b: [combine(a[0], b[0])])
        self.line(f"}} : {types}")

    def fence(self):
        self.line("block.fence")

    def choose(self, condition, then, otherwise):
        """scf.if with results: each branch gives its values."""
        at = len(self.lines)
        self.line("")
        first = then()
        types = ", ".join(self.types[v] for v in first)
        self.line(f"scf.yield {', '.join(first)} : {types}")
        self.line("} else {")
        second = otherwise()
        self.line(f"scf.yield {', '.join(second)} : {types}")
        self.line("}")
        head, results = self.results("c", [self.types[v] for v in first])
        self.lines[at] = f"{self.indent}{head} = scf.if {condition} -> ({types}) {{"
        return results

    def when(self, condition, then):
        self.line(f"scf.if {condition} {{")
        then()
        self.line("}")

    def repeat(self, init, test, body):
        """scf.while: `test(state)` gives (condition, passed values), `body(passed)` the next state. The results are what was passed last."""
        types = [self.types[v] for v in init]
        state = [self.fresh(t) for t in types]
        at = len(self.lines)
        self.line("")
        condition, passed = test(state)
        passed_types = [self.types[v] for v in passed]
        self.line(f"scf.condition({condition}) {', '.join(passed)} : {', '.join(passed_types)}")
        self.line("} do {")
        inner = [self.fresh(t) for t in passed_types]
        self.line(f"^bb0({', '.join(f'{n}: {t}' for n, t in zip(inner, passed_types))}):")
        self.line(f"scf.yield {', '.join(body(inner))} : {', '.join(types)}")
        self.line("}")
        head, results = self.results("w", passed_types)
        carried = ", ".join(f"{s} = {v}" for s, v in zip(state, init))
        self.lines[at] = f"{self.indent}{head} = scf.while ({carried}) : ({', '.join(types)}) -> ({', '.join(passed_types)}) {{"
        return results

    def fold(self, kind, x, identity, axis):
        return self.reduce([x], [identity], axis, lambda a, b: [self.binary(kind, a[0], b[0])])[0]

    def contract(self, lhs, rhs, accumulator):
        type = self.types[accumulator]
        return self.op(f"block.contract {lhs}, {rhs}, {accumulator} : {self.types[lhs]}, {self.types[rhs]} -> {type}", type)

    def loop(self, low, high, step, init, body):
        """body(i, carried) gives the next carried values."""
        self.count += 1
        base = f"%l{self.count}"
        i = self.fresh("index")
        args = []
        for value in init:
            args.append(self.fresh(self.types[value]))
        types = ", ".join(self.types[v] for v in init)
        if init:
            head = base if len(init) == 1 else f"{base}:{len(init)}"
            carried = ", ".join(f"{a} = {v}" for a, v in zip(args, init))
            self.line(f"{head} = scf.for {i} = {low} to {high} step {step} iter_args({carried}) -> ({types}) {{")
        else:
            self.line(f"scf.for {i} = {low} to {high} step {step} {{")
        out = body(i, args)
        if init:
            self.line(f"scf.yield {', '.join(out)} : {types}")
        self.line("}")
        results = [base] if len(init) == 1 else [f"{base}#{k}" for k in range(len(init))]
        for name, value in zip(results, init):
            self.types[name] = self.types[value]
        return results[: len(init)]


def kernel(views, groups, scalars=(), privates=(), parameters=(), rows=None, overlaps=(), checks=(), guard=None, workspaces=()):
    """The text of a one-program kernel.

    views: (name, element, shape expressions, access); groups: (size expression, body(p, instance)); parameters: text of
    `#block.parameter` attributes; rows: (columns, list of rows); workspaces: (name, element, shape expressions, zeroed).
    """
    interface = [f'#block.view_argument<"{n}", {e}, [{", ".join(shape)}], {access}>' for n, e, shape, access in views]
    interface += [f'#block.scalar_argument<"{n}", {e}>' for n, e in scalars]
    args = [f"%{n}: !block.view<{e}, {len(shape)}>" for n, e, shape, _ in views] + [f"%{n}: {e}" for n, e in scalars]
    args += [f"%{n.strip(chr(34))}: index" for n in privates] + [f"%{n}: !block.view<{e}, {len(shape)}>" for n, e, shape, _ in workspaces]
    spaces = [f'#block.workspace<"{n}", {e}, [{", ".join(map(str, shape))}]{" zeroed = true" if zeroed else ""}>' for n, e, shape, zeroed in workspaces]
    configurations = ""
    if rows:
        columns, table = rows
        configurations = f"configurations #block.configurations<[{', '.join(chr(34) + c + chr(34) for c in columns)}], [{', '.join('array<i64: ' + ', '.join(map(str, r)) + '>' for r in table)}]>"
    text = [f"block.kernel @k interface [{', '.join(interface)}] checks [{', '.join(checks)}] overlaps [{', '.join(overlaps)}] {{",
            f"  block.program @p {'guard(' + guard + ')' if guard else ''} privates [{', '.join(privates)}] {'workspaces [' + ', '.join(spaces) + ']' if spaces else ''} parameters [{', '.join(parameters)}] {configurations}",
            f"      ({', '.join(args)}) {{"]
    for size, body in groups:
        program = Program()
        for n, e, shape, _ in (*views, *workspaces):
            program.types[f"%{n}"] = f"!block.view<{e}, {len(shape)}>"
        for n, e in scalars:
            program.types[f"%{n}"] = e
        for n in privates:
            program.types["%" + n.strip('"')] = "index"
        program.types["%p"] = "index"
        body(program)
        text += [f"    block.group size({size}) {{", "    ^bb0(%p: index):"] + program.lines + ["    }"]
    text += ["  }", "}"]
    return "\n".join(text)
