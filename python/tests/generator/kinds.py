"""The kinds of expression: text and facts of each."""
from __future__ import annotations

import math
from dataclasses import replace

from .tree import EIGHT_BITS, EPS, EXACT, INTS, LARGEST, Facts, Invalid, Region, is_float, is_region


class Context:
    """What facts depend on: extents, variables, views, helpers. `extents` maps symbols to numbers."""

    def __init__(self, program, extents):
        self.program, self.extents = program, extents
        self.views = {v.name: v for v in program.views}
        self.env = {}
        self.read_only_written = set()  # Out views that hold values by now

    def size(self, extent):
        """Of an axis; the most that a subregion may have."""
        return extent if isinstance(extent, int) else self.size(self.region(extent).source) if is_region(extent) else self.extents[extent]

    def region(self, name) -> Region:
        require(name + "<>" in self.env)
        return self.env[name + "<>"]

    def may_be_empty(self, shape):
        return any(is_region(e) or self.size(e) == 0 for e in shape)

    def count(self, shape):
        return math.prod(self.size(e) for e in shape)


def text(node):
    return _KINDS[node.kind][0](node, [text(child) for child in node.children])


def facts(node, context):
    require(node.kind in _OF_REGIONS or not any(map(is_region, named_extents(node.params))))
    try:
        return _KINDS[node.kind][1](node, [facts(child, context) for child in node.children], context)
    except OverflowError:  # a bound beyond float64
        raise Invalid from None


def named_extents(params):
    """The extents that a node's text spells."""
    for key in ("extent", "extents", "shape", "before", "after"):
        found = params.get(key)
        if found is not None:
            yield from found if isinstance(found, (tuple, list)) else (found,)


def extent_text(extent):
    return str(extent)


def shape_text(shape):
    return "(" + "".join(f"{extent_text(e)}, " for e in shape).rstrip(" ") + ")" if len(shape) == 1 else "(" + ", ".join(map(extent_text, shape)) + ")"


# -- facts ----------------------------------------------------------------------------------------------------

def require(condition):
    if not condition:
        raise Invalid


def joint(shapes, context):
    """The broadcast shape of tensor shapes; equal symbols or ones only."""
    rank = max(len(s) for s in shapes)
    result = [1] * rank
    for shape in shapes:
        for axis, extent in enumerate(shape, rank - len(shape)):
            if result[axis] == 1:
                result[axis] = extent
            else:
                require(extent in (1, result[axis]))
    return tuple(result)


def joined(parts, context):
    shapes = [p.shape for p in parts if p.shape is not None]
    return joint(shapes, context) if shapes else None


def made(dtype, shape, bound, error, exact, special=False):
    """Facts within what the dtype holds: integers wrap, floats stay far from overflow."""
    if dtype == "bool":
        return Facts(dtype, shape, 1.0)
    if dtype in INTS:
        low, high = INTS[dtype]
        return Facts(dtype, shape, float(high + 1) if bound > high else bound)
    if exact and bound > EXACT[dtype]:
        exact, error = False, error + EPS[dtype] * bound
    require(bound <= LARGEST[dtype])
    return Facts(dtype, shape, bound, error, exact, special)


def arithmetic(*dtypes):
    require(not any(dtype in EIGHT_BITS for dtype in dtypes))


def natural(found):
    return replace(found, natural=True)


def _same_dtype(parts):
    require(all(p.dtype == parts[0].dtype for p in parts))
    return parts[0].dtype


def _binary(node, parts, context):
    op, (a, b) = node.params["op"], parts
    dtype, shape, special = _same_dtype(parts), joined(parts, context), a.special or b.special
    arithmetic(dtype)
    if dtype == "bool":
        require(op in "&|^")
        return made(dtype, shape, 1, 0, True)
    if dtype in INTS:
        require(op != "/")
        if op == "%" and b.exact and node.children[1].kind == "literal":
            return natural(made(dtype, shape, float(node.children[1].params["value"]), 0, True))
        bound = {"+": a.bound + b.bound, "-": a.bound + b.bound if INTS[dtype][0] < 0 else math.inf, "*": a.bound * b.bound}.get(op, math.inf)
        if op in ("maximum", "minimum"):
            bound = max(a.bound, b.bound)
        return made(dtype, shape, bound, 0, True)
    require(op in ("+", "-", "*", "maximum", "minimum", "maximum_num", "minimum_num"))
    exact, eps = a.exact and b.exact, EPS[dtype]
    if op in ("+", "-"):
        bound, error = a.bound + b.bound, a.error + b.error
    elif op == "*":
        bound, error = a.bound * b.bound, a.error * b.bound + b.error * a.bound + a.error * b.error
    else:
        return made(dtype, shape, max(a.bound, b.bound), max(a.error, b.error), exact, special)
    return made(dtype, shape, bound, error + (0 if exact else eps * bound), exact, special)


def _binary_text(node, t):
    op = node.params["op"]
    op = {"+": "add", "-": "sub", "*": "mul"}[op] if node.params.get("named") else op
    return f"I.{op}({t[0]}, {t[1]})" if op.isidentifier() else f"({t[0]} {op} {t[1]})"


def _literal(node, parts, context):
    value, dtype = node.params["value"], node.params["dtype"]
    exact = not is_float(dtype) or float(value).is_integer()
    return made(dtype, None, abs(float(value)), 0, exact)


def _literal_text(node, t):
    value = node.params["value"]
    spelled = node.params.get("constant") or (repr(float(value)) if is_float(node.params["dtype"]) else repr(value))
    return spelled if node.params.get("bare") else f"I.cast({spelled}, I.{node.params['dtype']})"


# (text, bound of the result from the operand's, Lipschitz constant on it, units of error)
_FUNCTIONS = {
    "neg": ("(-{0})", lambda b: b, 1, 0), "abs": ("I.abs({0})", lambda b: b, 1, 0), "floor": ("I.floor({0})", lambda b: b, None, 0),
    "exp": ("I.exp(I.minimum({0}, 2.0))", lambda b: math.exp(min(b, 2)), math.exp(2), 4), "exp2": ("I.exp2(I.minimum({0}, 3.0))", lambda b: 2 ** min(b, 3), 6, 4),
    "tanh": ("I.tanh({0})", lambda b: 1, 1, 4), "sigmoid": ("I.sigmoid({0})", lambda b: 1, 1, 4), "sin": ("I.sin({0})", lambda b: 1, 1, 4),
    "cos": ("I.cos({0})", lambda b: 1, 1, 4), "erf": ("I.erf({0})", lambda b: 1, 1.2, 4), "erfc": ("I.erfc({0})", lambda b: 2, 1.2, 8),
    "log": ("I.log(I.abs({0}) + 1.0)", lambda b: math.log(b + 1) + 1, 1, 8), "log2": ("I.log2(I.abs({0}) + 1.0)", lambda b: math.log2(b + 1) + 1, 1.5, 8),
    "log1p": ("I.log1p(I.abs({0}))", lambda b: math.log(b + 1) + 1, 1, 4), "sqrt": ("I.sqrt(I.abs({0}) + 1.0)", lambda b: math.sqrt(b + 1), 0.5, 2),
    "rsqrt": ("I.rsqrt(I.abs({0}) + 1.0)", lambda b: 1, 0.5, 8), "recip": ("(1.0 / (I.abs({0}) + 1.0))", lambda b: 1, 1, 2),
    "square": ("({0} ** 2)", lambda b: b * b, None, 1), "fdiv": ("I.fdiv({0}, 2.0)", lambda b: b, 1, 1),
    "i0": ("I.i0(I.minimum(I.abs({0}), 2.0))", lambda b: 2.3, 1.6, 6), "lgamma": ("I.lgamma(I.abs({0}) + 1.0)", lambda b: (b + 2) * math.log(b + 2), 12, 6),
    "asin": ("I.asin(I.sin({0}) * 0.5)", lambda b: 0.6, 0.6, 8), "tan": ("I.tan(I.sin({0}))", lambda b: 1.6, 3.5, 12), "ceil": ("I.ceil({0})", lambda b: b, None, 0),
}
FUNCTIONS = tuple(_FUNCTIONS)


def _function(node, parts, context):
    (a,), name = parts, node.params["name"]
    _, bound, slope, units = _FUNCTIONS[name]
    if a.dtype in INTS:
        require(name in ("neg", "abs", "square"))
        return made(a.dtype, a.shape, math.inf if name != "abs" else a.bound, 0, True)
    require(is_float(a.dtype))
    arithmetic(a.dtype)
    keeps = name in ("neg", "abs", "floor", "ceil", "square")
    if name in ("floor", "ceil"):
        require(a.exact)
    if name in ("sin", "cos", "asin", "tan"):
        require(a.bound <= 2.0**15)
    require(name != "lgamma" or a.bound <= 2.0**15)
    limit = bound(a.bound)
    spread = 2 * a.bound + a.error if name == "square" else slope or 1
    # The arguments that texts add (a sum, a limit) round once as well.
    inner = 0 if keeps else EPS[a.dtype] * (a.bound + 1)
    error = spread * (a.error + inner) + (0 if keeps and a.exact else 2 * units * EPS[a.dtype] * limit)
    return made(a.dtype, a.shape, limit, error, keeps and a.exact, a.special)


def _compare(node, parts, context):
    _same_dtype(parts)
    require(all(p.exact for p in parts))
    if parts[0].dtype == "bool":
        require(node.params["op"] in ("==", "!="))
    return made("bool", joined(parts, context), 1, 0, True)


def _choice(condition, a, b, context, shape):
    require(condition.dtype == "bool")
    return made(_same_dtype([a, b]), shape, max(a.bound, b.bound), max(a.error, b.error), a.exact and b.exact, a.special or b.special)


def _select(node, parts, context):
    return _choice(*parts, context, joined(parts, context))


def _ternary(node, parts, context):
    require(all(p.shape is None for p in parts))
    return _choice(*parts, context, None)


def _cast(node, parts, context):
    (a,), dtype = parts, node.params["dtype"]
    if a.dtype == "bool" or dtype == a.dtype:
        return made(dtype, a.shape, a.bound, a.error, a.exact, a.special)
    if dtype == "bool":
        require(a.exact and not a.special)
        return made(dtype, a.shape, 1, 0, True)
    if dtype in INTS:
        if is_float(a.dtype):
            require(a.exact and not a.special and INTS[dtype][0] < 0 and a.bound < INTS[dtype][1])
        low, high = INTS[dtype]
        narrow = a.bound > high or (low == 0 and a.dtype in INTS and INTS[a.dtype][0] < 0)
        found = made(dtype, a.shape, float(high + 1) if narrow else a.bound, 0, True)
        return natural(found) if a.natural and a.bound <= high else found
    exact = a.exact and a.bound <= EXACT[dtype]
    return made(dtype, a.shape, a.bound, a.error + (0 if exact else EPS[dtype] * a.bound), exact, a.special)


def _fused(node, parts, context):
    a, b, c = parts
    dtype = _same_dtype(parts)
    require(is_float(dtype))
    arithmetic(dtype)
    bound, exact = a.bound * b.bound + c.bound, all(p.exact for p in parts)
    error = a.error * b.bound + b.error * a.bound + a.error * b.error + c.error + (0 if exact else 2 * EPS[dtype] * bound)
    return made(dtype, joined(parts, context), bound, error, exact, any(p.special for p in parts))


# -- tables ---------------------------------------------------------------------------------------------------

def _variable(node, parts, context):
    require(node.params["name"] in context.env)
    return context.env[node.params["name"]]


def _call(node, parts, context):
    name = node.params["name"]
    require(name in context.program.helpers)
    parameters, body = context.program.helpers[name]
    require(len(parameters) == len(parts))
    outer, context.env = context.env, dict(zip(parameters, parts))
    try:
        return [facts(result, context) for result in body][node.params.get("item", 0)]
    finally:
        context.env = outer


def _call_text(node, t):
    """Positional or, last argument first, by keyword; of a helper of several results one."""
    p = node.params
    given = ", ".join(f"{name}={value}" for name, value in list(zip("ab", t))[::-1]) if p.get("keywords") else ", ".join(t)
    return f"{p['name']}({given})" + (f"[{p['item']}]" if p.get("several") else "")


def _first(node, parts, context):
    return parts[0]


def _second(node, parts, context):
    return parts[1]


def _invert(node, parts, context):
    (a,) = parts
    require(a.dtype == "bool" or a.dtype in INTS)
    require(node.children[0].kind not in ("logic", "ternary"))  # where `not` makes a Python bool, `~` makes that an int
    return made(a.dtype, a.shape, math.inf, 0, True)


_KINDS = {
    "literal": (_literal_text, _literal),
    "variable": (lambda n, t: n.params["name"], _variable),
    "binary": (_binary_text, _binary),
    "function": (lambda n, t: _FUNCTIONS[n.params["name"]][0].format(*t), _function),
    "compare": (_binary_text, _compare),
    "invert": (lambda n, t: f"(~{t[0]})", _invert),
    "select": (lambda n, t: f"I.select({t[0]}, {t[1]}, {t[2]})", _select),
    "mask": (lambda n, t: f"I.mask({t[1]}, {t[0]}, {t[2]})", _select),
    "ternary": (lambda n, t: f"({t[1]} if {t[0]} else {t[2]})", _ternary),
    "cast": (lambda n, t: f"I.cast({t[0]}, {n.params.get('spelled') or 'I.' + n.params['dtype']})", _cast),
    "fma": (lambda n, t: f"I.fma({t[0]}, {t[1]}, {t[2]})", _fused),
    "call": (_call_text, _call),
    "field": (lambda n, t: f"I.record(p={t[0]}, q={t[1]}).p", _first),
    "item": (lambda n, t: f"({t[0]}, {t[1]})[1]", _second),
}


# Kinds whose extents may be subregions.
_OF_REGIONS = {"indices"}


def register(name, render, compute):
    _KINDS[name] = render, compute
