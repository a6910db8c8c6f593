"""Expressions over values: tensors indexed as values, logic of scalars, products of values combined, changes of representation."""
from __future__ import annotations

import math

from .kinds import arithmetic, joined, made, natural, register, require
from .region_kinds import FIXED, WIDE
from .tensor_kinds import accumulate, held_facts, view_facts
from .tree import INTS, is_float

FIXED.update({
    "both_better": ("a, b", ["first = a[0] >= b[0]", "return (I.select(first, a[0], b[0]), I.select(first, a[1], b[1]))"]),
    "both_added": ("a, b", ["return (a[0] + b[0], I.maximum(a[1], b[1]))"]),
    "composed": ("a, b", ["return I.record(gain=a.gain * b.gain, add=a.add * b.gain + b.add)"]),
    "step_of": ("g, v", ["later = I.cumprod(g, axis=0, inclusive=False, reverse=True)",
                         "return I.record(gain=I.reduce.prod(g, axis=0), add=I.reduce.sum(v * later, axis=0))"]),
    "stepped": ("a, s", ["return a.gain * s + a.add"]),
    "steps_of": ("g, v, s", ["r = I.scan(I.record(gain=g, add=v), axis=0, identity=I.record(gain=1, add=0), combine=composed)", "return r.gain * s + r.add"]),
    "scaled_sum": ("a, b, r", ["return a + b * r.one"]),
})


def _lookup(node, parts, context):
    """A tensor value at an index tensor of its only axis."""
    value, index = parts
    require(value.shape is not None and len(value.shape) == 1 and index.shape is not None and index.natural and index.bound <= context.size(value.shape[0]))
    require(isinstance(value.shape[0], int) or value.shape[0].isupper())
    return held_facts(value, index.shape)


def _at(node, parts, context):
    """An element, or a row, of a tensor value."""
    value, index = parts
    require(value.shape and index.shape is None and index.natural and index.bound <= context.size(value.shape[0]))
    require(isinstance(value.shape[0], int) or value.shape[0].isupper())
    return held_facts(value, value.shape[1:] or None)


def _at_text(node, t):
    return f"{t[0]}[{t[1]}{', :' * (node.params['rank'] - 1)}]"


def _guarded(node, parts, context):
    """A gather whose lanes out of range are not valid."""
    index = parts[0]
    fill = parts[-1]
    view = context.views.get(node.params["view"])
    require(view is not None and view.access == "in" and index.shape is not None and index.dtype in ("i32", "index", "i64") and view.dtype == fill.dtype)
    require(fill.shape is None and all(p.dtype == "index" and p.natural and p.bound <= context.size(e) for p, e in zip(parts[1:-1], view.shape[1:])))
    require(len(parts) == len(view.shape) + 1)
    base = view_facts(view, joined(parts[:-1], context))
    return made(view.dtype, base.shape, max(base.bound, fill.bound), fill.error, base.exact and fill.exact, base.special or fill.special)


def _guarded_text(node, t):
    index, *others, fill = t
    view = node.params["view"]
    return f"I.gather({view}, index=({', '.join([index, *others])},), valid=({index} >= 0) & ({index} < I.cast({view}.shape[0], I.{node.params['of']})), fill={fill})"


def _logic(node, parts, context):
    require(all(p.dtype == "bool" and p.shape is None for p in parts))
    return made("bool", None, 1, 0, True)


def _chain(node, parts, context):
    require(all(p.shape is None and p.exact and p.dtype == parts[0].dtype != "bool" for p in parts))
    return made("bool", None, 1, 0, True)


def _outer(node, parts, context):
    a, b = parts
    require(a.dtype == b.dtype != "bool" and a.shape is not None and b.shape is not None and len(a.shape) == len(b.shape) == 1)
    arithmetic(a.dtype)
    bound, exact = a.bound * b.bound, a.exact and b.exact
    error = 0 if not is_float(a.dtype) else a.error * b.bound + b.error * a.bound + a.error * b.error + (0 if exact else 2.0**-8 * bound)
    return made(a.dtype, (a.shape[0], b.shape[0]), bound, error, exact, a.special or b.special)


_SAME_BITS = {("i32", "u32"), ("u32", "i32"), ("i8", "u8"), ("u8", "i8"), ("i16", "u16"), ("u16", "i16"), ("i64", "u64"), ("u64", "i64"), ("f32", "f32"), ("f64", "f64"), ("f16", "f16")}
_CARRIER = {"f32": "i32", "f64": "u64", "f16": "i16"}


def _bitcast(node, parts, context):
    """Of integers; of floats there and back."""
    (a,), dtype = parts, node.params["dtype"]
    require((a.dtype, dtype) in _SAME_BITS)
    return made(dtype, a.shape, math.inf if dtype in INTS else a.bound, a.error, a.exact, a.special)


def _bitcast_text(node, t):
    dtype = node.params["dtype"]
    inner = f"I.bitcast({t[0]}, I.{_CARRIER[dtype]})" if is_float(dtype) else t[0]
    return f"I.bitcast({inner}, I.{dtype})"


def _uniform(node, parts, context):
    (a,) = parts
    require(a.dtype == "index" and a.natural)
    return made("f32", a.shape, 1.0, 0, False)


def _same_tensors(parts):
    a, b = parts
    require(a.shape is not None and a.shape == b.shape and a.dtype != "bool" and not a.special and a.exact)
    arithmetic(a.dtype, b.dtype)


def _pair_reduce(node, parts, context):
    """The largest value, as the first of a pair; which second comes with it is not told."""
    _same_tensors(parts)
    a, b = parts
    axis = node.params["axis"]
    require(axis < len(a.shape) and a.bound <= 100 and is_float(a.dtype) == isinstance(node.params["least"], float))
    kept = tuple(e for i, e in enumerate(a.shape) if i != axis)
    return made(a.dtype, kept or None, 100.0, 0, True)


def _pair_reduce_text(node, t):
    p = node.params
    return f"I.reduce(({t[0]}, {t[1]}), axis={p['axis']}, identity=({p['least']}, {p['other']}), combine=both_better)[0]"


def _pair_scan(node, parts, context):
    _same_tensors(parts)
    a, b = parts
    axis = node.params["axis"]
    require(axis < len(a.shape) and b.bound <= 100 and b.dtype != "bool" and not b.special and is_float(b.dtype) == isinstance(node.params["least"], float))
    require(is_float(a.dtype) == isinstance(node.params["zero"], float))
    if node.params["part"]:
        return made(b.dtype, b.shape, 100.0, b.error, b.exact)
    bound, error, exact = accumulate("sum", a, context.size(a.shape[axis]), a.dtype)
    return made(a.dtype, a.shape, bound, error, exact)


def _pair_scan_text(node, t):
    p = node.params
    return (f"I.scan(({t[0]}, {t[1]}), axis={p['axis']}, identity=({p['zero']}, {p['least']}), combine=both_added, inclusive={p['inclusive']}, "
            f"reverse={p['reverse']})[{p['part']}]")


def _affine(node, parts, context):
    """States that transitions `gain * s + add` act on, in integers, which wrap."""
    a, b = parts
    require(a.shape is not None and a.shape == b.shape and len(a.shape) == 1 and a.dtype == b.dtype == node.params["dtype"] and a.dtype in ("i32", "i64", "u32"))
    return made(a.dtype, None if node.params["part"] else a.shape, math.inf, 0, True)


def _affine_text(node, t):
    p = node.params
    one, zero = (f"I.cast({v}, I.{p['dtype']})" for v in (1, 0))
    return (f"I.region_scan(source=({t[0]}, {t[1]}), axis=0, summarize=step_of, combine=composed, identity=I.record(gain={one}, add={zero}), "
            f"initial_state=I.cast({p['start']}, I.{p['dtype']}), apply=stepped, emit=steps_of)[{p['part']}]")


def _with_operands(node, parts, context):
    """A sum whose combine function takes a captured record of one."""
    (a,), axis = parts, node.params["axis"]
    require(a.shape is not None and axis < len(a.shape) and a.dtype in WIDE and a.dtype == node.params["dtype"])
    bound, error, exact = accumulate("sum", a, context.size(a.shape[axis]), a.dtype)
    return made(a.dtype, tuple(e for i, e in enumerate(a.shape) if i != axis) or None, bound, error, exact, a.special)


def _with_operands_text(node, t):
    p = node.params
    one, zero = ("1.0", "0.0") if is_float(p["dtype"]) else ("1", "0")
    return f"I.reduce({t[0]}, axis={p['axis']}, identity={zero}, combine=scaled_sum, combine_operands=(I.record(one=I.cast({one}, I.{p['dtype']})),))"


def _counted(node, parts, context):
    """A histogram of the lanes that a mask chooses; the others may hold anything."""
    a, valid = parts
    require(a.shape is not None and a.dtype in ("i32", "index", "u8") and valid.shape == a.shape and valid.dtype == "bool")
    return made(node.params["dtype"], (node.params["bins"],), context.count(a.shape), 0, True)


def _counted_text(node, t):
    p = node.params
    return f"I.histogram({t[0]}, {p['bins']}, valid={t[1]} & ({t[0]} >= 0) & ({t[0]} < {p['bins']}), count_dtype=I.{p['dtype']})"


def _rank_zero(node, parts, context):
    require(parts[0].shape is None)
    return held_facts(parts[0], ())


def _end(node, parts, context):
    return natural(made("index", None, context.size(context.region(node.params["region"]).source) + 1, 0, True))


register("lookup", lambda n, t: f"I.gather({t[0]}, index=({t[1]},))" if n.params["spelled"] else f"{t[0]}[{t[1]}]", _lookup)
register("at", _at_text, _at)
register("guarded", _guarded_text, _guarded)
register("logic", lambda n, t: f"(not {t[0]})" if len(t) == 1 else f"({t[0]} {n.params['op']} {t[1]})", _logic)
register("chain", lambda n, t: f"({t[0]} <= {t[1]} < {t[2]})", _chain)
register("outer", lambda n, t: f"I.outer({t[0]}, {t[1]})", _outer)
register("bitcast", _bitcast_text, _bitcast)
register("uniform", lambda n, t: f"I.random.uniform({n.params['seed']}, {t[0]})", _uniform)
register("pair_reduce", _pair_reduce_text, _pair_reduce)
register("pair_scan", _pair_scan_text, _pair_scan)
register("affine", _affine_text, _affine)
register("with_operands", _with_operands_text, _with_operands)
register("counted", _counted_text, _counted)
register("rank_zero", lambda n, t: f"I.full((), {t[0]}, I.{n.params['dtype']})", _rank_zero)
register("end", lambda n, t: f"I.end({n.params['region']})", _end)
