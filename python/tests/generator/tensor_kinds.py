"""Expressions that read views and rearrange or combine whole tensors."""
from __future__ import annotations

import math

from .kinds import Context, arithmetic, facts, joint, made, natural, register, require, shape_text
from .tree import EPS, EXACT, INTS, is_float, is_region

WIDENED = {"f8e4m3fn": "f32", "f8e5m2": "f32", "f16": "f32", "bf16": "f32", "i8": "i32", "i16": "i32", "u8": "u32", "u16": "u32", "bool": "i32"}


def view_facts(view, shape):
    bound = math.inf if view.wild else view.bound if view.dtype != "bool" else 1.0
    return made(view.dtype, shape, bound, 0.0, view.values != "smooth", view.values == "special")


def _read_items(node, texts):
    """Index texts of a read: children stand where `axes` says `i`, ':' elsewhere."""
    rest = iter(texts)
    return ", ".join(next(rest) if a == "i" else a for a in node.params["axes"])


def _read_text(node, t):
    """By brackets, or by a function where every axis has an index."""
    view, form = node.params["view"], node.params.get("form")
    if form and node.children and ":" not in node.params["axes"]:
        return f"I.{form}({view}, index=({_read_items(node, t)},))"
    return f"{view}[{_read_items(node, t) or '()'}]"


def _read(node, parts, context):
    view = context.views.get(node.params["view"])
    require(view is not None)
    held = context.env.get("view " + view.name)
    require(view.access == "in" or held is not None)
    axes = node.params["axes"]
    require(len(axes) == len(view.shape))
    shape, rest, joint_at, joints = [], iter(parts), None, []
    for axis, extent in zip(axes, view.shape):
        if axis != "i":
            require(axis == ":" or context.region(axis).source == extent)
            shape.append(extent if axis == ":" else axis)
            continue
        index = next(rest)
        require(index.dtype in INTS and index.natural and index.bound <= context.size(extent))
        if index.shape is not None:
            joints.append(index.shape)
            joint_at = len(shape) if joint_at is None else joint_at
    if joints:
        shape[joint_at:joint_at] = joint(joints, context)
    result = tuple(shape) if shape or joints or not axes else None
    return held_facts(held, result) if held is not None else view_facts(view, result)


def _buffer_read(node, parts, context):
    held = context.env.get(node.params["buffer"] + "[]")
    require(held is not None and len(node.params["axes"]) == len(held.shape))
    rest, left = iter(parts), []
    for axis, extent in zip(node.params["axes"], held.shape):
        if axis == "i":
            index = next(rest)
            require(index.shape is None and index.natural and index.bound <= context.size(extent))
        else:
            left.append(extent)
    return held_facts(held, tuple(left) if left else None)


def held_facts(held, shape):
    return made(held.dtype, shape, held.bound, held.error, held.exact, held.special)


def _coordinate(node, parts, context):
    """`e % extent`, below the extent; there must be an element."""
    (a,), extent = parts, node.params["extent"]
    require(a.dtype in INTS and context.size(extent) > 0)
    return natural(made("index", a.shape, context.size(extent), 0, True))


def _gather(node, parts, context):
    """An index tensor on the first axis, lanes chosen by a mask; lanes that are not valid may be anywhere."""
    index, valid, fill = parts
    view = context.views.get(node.params["view"])
    require(view is not None and view.access == "in" and len(view.shape) == 1 and index.shape is not None and valid.dtype == "bool" and valid.shape == index.shape)
    require(index.natural and fill.shape is None and fill.dtype == view.dtype)
    base = view_facts(view, index.shape)
    return made(view.dtype, index.shape, max(base.bound, fill.bound), fill.error, base.exact and fill.exact, base.special or fill.special)


def _window(node, parts, context):
    view = context.views.get(node.params["view"])
    begin, length = node.params["begin"], node.params["length"]
    require(view is not None and view.access == "in" and len(view.shape) == 1 and begin + length <= context.size(view.shape[0]))
    return view_facts(view, (length,))


def _window_text(node, t):
    begin, length = node.params["begin"], node.params["length"]
    return f"{node.params['view']}[I.domain(0, {node.params['view']}.shape[0])[{begin}:{begin + length}]]"


def _full(node, parts, context):
    (a,) = parts
    require(a.shape is None)
    return made(a.dtype, node.params["shape"], a.bound, a.error, a.exact, a.special)


def _indices(node, parts, context):
    return natural(made("index", (node.params["extent"],), context.size(node.params["extent"]), 0, True))


def _indices_text(node, t):
    extent = node.params["extent"]
    if is_region(extent):  # members through an index list are an index tensor themselves
        return extent if node.params["mapped"] else f"I.indices({extent})"
    return f"I.indices(I.domain(0, {extent}))"


def _tensor(part):
    require(part.shape is not None)
    return part.shape


def _expand(node, parts, context):
    shape, at = _tensor(parts[0]), node.params["at"]
    require(at <= len(shape))
    return made(parts[0].dtype, shape[:at] + (1,) + shape[at:], parts[0].bound, parts[0].error, parts[0].exact, parts[0].special)


def _expand_text(node, t):
    at, rank = node.params["at"], node.params["rank"]
    return f"{t[0]}[{', '.join([':'] * at + ['None'] + [':'] * (rank - at))}]"


def _transpose(node, parts, context):
    shape, order = _tensor(parts[0]), node.params["order"]
    require(len(order) == len(shape))
    return made(parts[0].dtype, tuple(shape[a] for a in order), parts[0].bound, parts[0].error, parts[0].exact, parts[0].special)


def _reshape(node, parts, context):
    shape = _tensor(parts[0])
    require(shape == node.params["before"])
    return made(parts[0].dtype, node.params["after"], parts[0].bound, parts[0].error, parts[0].exact, parts[0].special)


def _join(node, parts, context):
    a, b = parts
    require(a.dtype == b.dtype and a.shape is not None and a.shape == b.shape)
    return made(a.dtype, a.shape + (2,), max(a.bound, b.bound), max(a.error, b.error), a.exact and b.exact, a.special or b.special)


def accumulate(kind, a, count, dtype, may_be_empty=False):
    """(bound, error, exact) of up to `count` combined elements in an accumulator dtype."""
    arithmetic(dtype)
    if dtype in INTS or dtype == "bool":
        return {"sum": a.bound * count, "prod": math.inf}.get(kind, a.bound if count and not may_be_empty else math.inf), 0, True
    eps = EPS[dtype]
    if kind == "sum":
        bound = max(a.bound * count, a.bound)
        exact = a.exact and bound <= EXACT[dtype]
        return bound, 0 if exact else count * a.error + 2 * count * eps * bound, exact
    if kind == "prod":
        bound = max(1.0, a.bound) ** count
        exact = a.exact and bound <= EXACT[dtype]
        return bound, 0 if exact else count * max(1.0, a.bound) ** max(count - 1, 0) * a.error + 2 * count * eps * bound, exact
    if kind == "mean":
        return a.bound, a.error + 2 * (count + 2) * eps * a.bound, False
    return a.bound, a.error, a.exact


def _kept(shape, axes, keepdims):
    if keepdims:
        return tuple(1 if i in axes else e for i, e in enumerate(shape))
    rest = tuple(e for i, e in enumerate(shape) if i not in axes)
    return rest or None


def _reduce(node, parts, context):
    (a,), kind, axes = parts, node.params["op"], node.params["axes"]
    shape = _tensor(a)
    require(all(axis < len(shape) for axis in axes))
    count, may_be_empty = context.count([shape[i] for i in axes]), context.may_be_empty([shape[i] for i in axes])
    if kind in ("any", "all"):
        require(a.dtype == "bool")
        return made("bool", _kept(shape, axes, node.params["keepdims"]), 1, 0, True)
    require(a.dtype != "bool" or kind == "sum")
    require(kind != "mean" or is_float(a.dtype))
    dtype = WIDENED.get(a.dtype, a.dtype) if kind in ("sum", "mean") else a.dtype
    bound, error, exact = accumulate(kind, a, count, dtype, may_be_empty)
    special = a.special or (may_be_empty and kind in ("max", "min", "mean") and is_float(dtype))
    return made(dtype, _kept(shape, axes, node.params["keepdims"]), bound, error, exact, special)


def _axes_text(axes):
    return str(axes[0]) if len(axes) == 1 else str(tuple(axes))


def _reduce_text(node, t):
    keep = ", keepdims=True" if node.params["keepdims"] else ""
    return f"I.reduce.{node.params['op']}({t[0]}, axis={_axes_text(node.params['axes'])}{keep})"


COMBINES = {"plus": ("sum", "0"), "larger": ("max", None), "smaller": ("min", None), "climbed": ("max", None)}


def _generic(node, parts, context):
    (a,), axes = parts, node.params["axes"]
    shape, kind = _tensor(a), COMBINES[node.params["combine"]][0]
    require(a.dtype != "bool" and all(axis < len(shape) for axis in axes))
    count = context.count([shape[i] for i in axes])
    identity = 0 if kind == "sum" else 10**2
    bound, error, exact = accumulate(kind, a, count, a.dtype)
    if kind != "sum":
        require(a.bound <= identity and not a.special)  # else the identity would not be neutral
        bound = identity
    return made(a.dtype, _kept(shape, axes, False), bound, error, exact, a.special)


def identity_text(combine, dtype):
    value = {"sum": 0, "max": 0 if dtype.startswith("u") else -100, "min": 100}[COMBINES[combine][0]]
    return f"{float(value)!r}" if is_float(dtype) else str(value)


def _generic_text(node, t):
    return f"I.reduce({t[0]}, axis={_axes_text(node.params['axes'])}, identity={identity_text(node.params['combine'], node.params['dtype'])}, combine={node.params['combine']})"


def _scan(node, parts, context):
    (a,), axis = parts, node.params["axis"]
    shape, kind = _tensor(a), COMBINES[node.params["combine"]][0]
    require(axis < len(shape) and a.dtype != "bool" and a.dtype == node.params["dtype"])
    bound, error, exact = accumulate(kind, a, context.size(shape[axis]), a.dtype)
    if kind != "sum":
        require(a.bound <= 100 and not a.special)
        bound = 100.0
    return made(a.dtype, shape, bound, error, exact, a.special)


def _scan_text(node, t):
    p = node.params
    return (f"I.scan({t[0]}, axis={p['axis']}, identity={identity_text(p['combine'], p['dtype'])}, combine={p['combine']}, "
            f"inclusive={p['inclusive']}, reverse={p['reverse']})")


def _cumulative(node, parts, context):
    (a,), axis, kind = parts, node.params["axis"], node.params["op"]
    shape = _tensor(a)
    require(axis < len(shape) and (a.dtype != "bool" or kind == "sum"))
    dtype = WIDENED.get(a.dtype, a.dtype) if kind == "sum" else a.dtype
    bound, error, exact = accumulate(kind, a, context.size(shape[axis]), dtype)
    special = a.special or (kind == "max" and not node.params["inclusive"] and is_float(dtype))
    return made(dtype, shape, math.inf if kind == "max" and dtype in INTS else bound, error, exact, special)


def _cumulative_text(node, t):
    p = node.params
    return f"I.cum{p['op']}({t[0]}, axis={p['axis']}, inclusive={p['inclusive']}, reverse={p['reverse']})"


def _arg(node, parts, context):
    (a,), axis = parts, node.params["axis"]
    shape = _tensor(a)
    require(axis < len(shape) and a.dtype != "bool" and a.exact)
    arithmetic(a.dtype)
    count, may_be_empty = context.size(shape[axis]), context.may_be_empty([shape[axis]])
    kept = _kept(shape, (axis,), False)
    if node.params["part"] == 1:
        return natural(made("index", kept, max(count, 1), 0, True))
    return made(a.dtype, kept, math.inf if may_be_empty and a.dtype in INTS else a.bound, a.error, a.exact, a.special or may_be_empty and is_float(a.dtype))


def _contract(node, parts, context):
    a, b = parts
    require(a.dtype == b.dtype and a.dtype != "bool" and not a.special and not b.special and a.shape and b.shape)
    form = node.params["form"]
    if form == "matmul":
        require(len(a.shape) == 2 and len(b.shape) == 2)
        inner = (a.shape[1], b.shape[1 if node.params["transposed"] else 0])
        shape = (a.shape[0], b.shape[0 if node.params["transposed"] else 1])
    elif form == "matvec":
        require(len(a.shape) == 2 and len(b.shape) == 1)
        inner, shape = (a.shape[1], b.shape[0]), (a.shape[0],)
    elif form == "vecmat":
        require(len(a.shape) == 1 and len(b.shape) == 2)
        inner, shape = (a.shape[0], b.shape[0]), (b.shape[1],)
    else:
        require(len(a.shape) == 1 and len(b.shape) == 1)
        inner, shape = (a.shape[0], b.shape[0]), ()
    require(inner[0] == inner[1])
    dtype, count = node.params["acc"], context.size(inner[0])
    require(is_float(dtype) == is_float(a.dtype))
    if dtype in INTS:
        return made(dtype, shape, math.inf, 0, True)
    bound = max(count, 1) * a.bound * b.bound
    exact = a.exact and b.exact and bound <= EXACT[dtype]
    error = 0 if exact else count * (a.error * b.bound + b.error * a.bound + a.error * b.error) + 2 * count * EPS[dtype] * bound
    return made(dtype, shape, bound, error, exact)


def _contract_text(node, t):
    p = node.params
    extra = ", transpose_rhs=True" if p.get("transposed") else ""
    return f"I.{p['form']}({t[0]}, {t[1]}, acc_dtype=I.{p['acc']}{extra})"


def _scalar_of(node, parts, context):
    require(parts[0].shape == ())
    return made(parts[0].dtype, None, parts[0].bound, parts[0].error, parts[0].exact, parts[0].special)


FOLDS = {
    "total": ("sum", "0"), "peak": ("max", "-100"),
}


def _fold(node, parts, context):
    (a,) = parts
    shape = _tensor(a)
    require(len(shape) == 1 and a.dtype == node.params["dtype"] and a.dtype in ("f32", "f64", "i32", "i64") and a.bound <= 100)
    kind = FOLDS[node.params["name"]][0]
    require(kind == "sum" or not a.special)
    bound, error, exact = accumulate(kind, a, context.size(shape[0]), a.dtype)
    return made(a.dtype, None, bound if kind == "sum" else 100.0, error, exact, a.special)


def _fold_text(node, t):
    name = node.params["name"]
    identity = FOLDS[name][1] + (".0" if is_float(node.params["dtype"]) else "")
    combine = "plus" if name == "total" else "larger"
    return f"I.region_fold(source=({t[0]},), axis=0, summarize={name}_of, combine={combine}, identity={identity})"


def _histogram(node, parts, context):
    (a,) = parts
    require(a.shape is not None and a.natural and a.bound <= node.params["bins"])
    return made("u32", (node.params["bins"],), context.count(a.shape), 0, True)


def _bits(node, parts, context):
    (a,) = parts
    require(a.dtype == "index" and a.natural)
    return made("u32", a.shape, math.inf, 0, True)


register("read", _read_text, _read)
register("buffer_read", lambda n, t: f"{n.params['buffer']}[{_read_items(n, t) or '()'}]", _buffer_read)
register("coordinate", lambda n, t: f"(I.cast({t[0]}, I.index) % {n.params['extent']})", _coordinate)
register("gather", lambda n, t: f"I.gather({n.params['view']}, index=({t[0]},), valid={t[1]}, fill={t[2]})", _gather)
register("window", _window_text, _window)
register("full", lambda n, t: f"I.full({shape_text(n.params['shape'])}, {t[0]}, I.{n.params['dtype']})", _full)
register("indices", _indices_text, _indices)
register("expand", _expand_text, _expand)
register("transpose", lambda n, t: f"I.transpose({t[0]}, {tuple(n.params['order'])})", _transpose)
register("reshape", lambda n, t: f"I.reshape({t[0]}, {shape_text(n.params['after'])})", _reshape)
register("join", lambda n, t: f"I.join({t[0]}, {t[1]})", _join)
register("reduce", _reduce_text, _reduce)
register("generic_reduce", _generic_text, _generic)
register("scan", _scan_text, _scan)
register("cumulative", _cumulative_text, _cumulative)
register("arg_reduce", lambda n, t: f"I.arg_reduce.{n.params['op']}({t[0]}, axis={n.params['axis']})[{n.params['part']}]", _arg)
register("contract", _contract_text, _contract)
register("scalar_of", lambda n, t: f"{t[0]}[()]", _scalar_of)
register("fold", _fold_text, _fold)
register("histogram", lambda n, t: f"I.histogram({t[0]}, {n.params['bins']})", _histogram)
register("bits", lambda n, t: f"I.random.bits({n.params['seed']}, {t[0]})", _bits)

__all__ = ["Context", "facts", "view_facts"]
