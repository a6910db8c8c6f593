"""Expressions over ordered axes and parts of them: folds of records, scans of regions, subregions with bounds of their own, 8-bit floats."""
from __future__ import annotations

import math

from .kinds import made, register, require
from .tensor_kinds import accumulate, view_facts
from .tree import EPS, INTS, is_float

# Helper functions that texts may name: (parameters, lines of the body).
FIXED = {
    "plus": ("a, b", ["return a + b"]),
    "larger": ("a, b", ["return I.maximum(a, b)"]),
    "smaller": ("a, b", ["return I.minimum(a, b)"]),
    "climbed": ("a, b", ["while a < b:", "    a = b", "return a"]),
    "total_of": ("a", ["return I.reduce.sum(a, axis=0)"]),
    "peak_of": ("a", ["return I.reduce.max(a, axis=0)"]),
    "both_of": ("a", ["return I.record(peak=I.reduce.max(a, axis=0), total=I.reduce.sum(a, axis=0))"]),
    "both_joined": ("a, b", ["return I.record(peak=I.maximum(a.peak, b.peak), total=a.total + b.total)"]),
    "put_at": ("y, at, value", ["y[at] = value"]),
    "running": ("a, s", ["return I.cumsum(a, axis=0) + s"]),
    "mass_of": ("a", ["m = I.reduce.max(a, axis=0)", "f = I.select(m > -I.inf, m, 0.0)", "return I.record(peak=m, mass=I.reduce.sum(I.exp(a - f), axis=0))"]),
    "mass_joined": ("a, b", ["m = I.maximum(a.peak, b.peak)", "f = I.select(m > -I.inf, m, 0.0)",
                             "return I.record(peak=m, mass=a.mass * I.exp(a.peak - f) + b.mass * I.exp(b.peak - f))"]),
}
WIDE = ("f32", "f64", "i32", "i64")


def _vector(a, dtype):
    require(a.shape is not None and len(a.shape) == 1 and a.dtype == dtype and dtype in WIDE and a.bound <= 100)
    return a.shape[0]


def _number(value, dtype):
    return f"{float(value)!r}" if is_float(dtype) else str(value)


def _record_fold(node, parts, context):
    (a,) = parts
    extent = _vector(a, node.params["dtype"])
    require(not a.special)
    if node.params["part"] == "peak":
        return made(a.dtype, None, 100.0, a.error, a.exact, a.special)
    bound, error, exact = accumulate("sum", a, context.size(extent), a.dtype)
    return made(a.dtype, None, bound, error, exact, a.special)


def _record_fold_text(node, t):
    dtype = node.params["dtype"]
    identity = f"I.record(peak=I.cast({_number(-100, dtype)}, I.{dtype}), total=I.cast({_number(0, dtype)}, I.{dtype}))"
    return f"I.region_fold(source=({t[0]},), axis=0, summarize=both_of, combine=both_joined, identity={identity}).{node.params['part']}"


def _row_fold(node, parts, context):
    (a,) = parts
    require(a.shape is not None and len(a.shape) == 2 and a.dtype == node.params["dtype"] and a.dtype in WIDE and a.bound <= 100 and a.shape[1] == node.params["extent"])
    bound, error, exact = accumulate("sum", a, context.size(a.shape[0]), a.dtype)
    return made(a.dtype, (a.shape[1],), bound, error, exact, a.special)


def _row_fold_text(node, t):
    return (f"I.region_fold(source=({t[0]},), axis=0, summarize=total_of, combine=plus, "
            f"identity=I.zeros(({node.params['extent']},), I.{node.params['dtype']}))")


def _log_mass(node, parts, context):
    (a,) = parts
    extent = _vector(a, node.params["dtype"])
    require(is_float(a.dtype) and not a.special)
    count = context.size(extent)
    error = 2 * a.error + 8 * (count + 20) * EPS[a.dtype] * (a.bound + 10)
    return made(a.dtype, None, a.bound + math.log(count + 1) + 1, error, False, context.may_be_empty(a.shape))


def _log_mass_text(node, t):
    dtype = node.params["dtype"]
    fold = (f"I.region_fold(source=({t[0]},), axis=0, summarize=mass_of, combine=mass_joined, "
            f"identity=I.record(peak=I.cast(-I.inf, I.{dtype}), mass=I.cast(0.0, I.{dtype})))")
    return f"log_mass({fold})"


def _region_scan(node, parts, context):
    (a,) = parts
    extent = _vector(a, node.params["dtype"])
    bound, error, exact = accumulate("sum", a, context.size(extent), a.dtype)
    start = abs(node.params["start"])
    exact = exact and (not is_float(a.dtype) or bound + start <= 2.0**20)
    error += 0 if exact else 4 * (context.size(extent) + 2) * EPS[a.dtype] * (bound + start)
    return made(a.dtype, (extent,) if node.params["part"] == 0 else None, bound + start, error, exact, a.special)


def _region_scan_text(node, t):
    dtype = node.params["dtype"]
    return (f"I.region_scan(source=({t[0]},), axis=0, summarize=total_of, combine=plus, identity={_number(0, dtype)}, "
            f"initial_state=I.cast({_number(node.params['start'], dtype)}, I.{dtype}), apply=plus, emit=running)[{node.params['part']}]")


def _part(node, parts, context):
    """A reduction over the coordinates below a scalar, or from it on."""
    (bound_at,) = parts
    view = context.views.get(node.params["view"])
    require(view is not None and view.access == "in" and len(view.shape) == 1 and view.dtype != "bool")
    require(bound_at.shape is None and bound_at.natural and bound_at.dtype == "index" and bound_at.bound <= context.size(view.shape[0]))
    whole = view_facts(view, view.shape)
    kind, dtype = node.params["op"], view.dtype
    if kind == "sum":
        dtype = {"f16": "f32", "bf16": "f32", "i8": "i32", "i16": "i32", "u8": "u32", "u16": "u32"}.get(dtype, dtype)
    bound, error, exact = accumulate(kind, whole, context.size(view.shape[0]), dtype)
    if kind == "max":  # of nothing: the dtype's minimum
        bound = math.inf if dtype in INTS else bound
    return made(dtype, None, bound, error, exact, whole.special or kind == "max" and is_float(dtype))


def _part_text(node, t):
    view, extent = node.params["view"], f"{node.params['view']}.shape[0]"
    bounds = f"0:{t[0]}" if node.params["below"] else f"{t[0]}:{extent}"
    return f"I.reduce.{node.params['op']}({view}[I.domain(0, {extent})[{bounds}]], axis=0)"


def _small_float(node, parts, context):
    (a,), format = parts, node.params["format"]
    require(is_float(a.dtype) and a.exact and not a.special and a.bound <= {"f8e5m2": 8, "f8e4m3fn": 16}[format])
    return made(a.dtype, a.shape, a.bound, 0, True)


def _batched(node, parts, context):
    a, b = parts
    require(a.dtype == b.dtype and a.shape is not None and b.shape is not None and len(a.shape) == len(b.shape) == 3)
    require(a.shape[0] == b.shape[0] and a.shape[2] == b.shape[2] and not a.special and not b.special)
    dtype, count = node.params["acc"], context.size(a.shape[2])
    require(is_float(dtype) == is_float(a.dtype) and a.dtype != "bool")
    shape = (a.shape[0], a.shape[1], b.shape[1])
    if dtype in INTS:
        return made(dtype, shape, math.inf, 0, True)
    bound = max(count, 1) * a.bound * b.bound
    exact = a.exact and b.exact and bound <= 2.0**20
    error = 0 if exact else count * (a.error * b.bound + b.error * a.bound + a.error * b.error) + 2 * count * EPS[dtype] * bound
    return made(dtype, shape, bound, error, exact)


register("record_fold", _record_fold_text, _record_fold)
register("row_fold", _row_fold_text, _row_fold)
register("log_mass", _log_mass_text, _log_mass)
register("region_scan", _region_scan_text, _region_scan)
register("part", _part_text, _part)
register("small_float", lambda n, t: f"I.cast(I.cast({t[0]}, I.{n.params['format']}), I.{n.params['dtype']})", _small_float)
register("batched", lambda n, t: f"I.contract({t[0]}, {t[1]}, reduce=((2, 2),), batch=((0, 0),), acc_dtype=I.{n.params['acc']})", _batched)
FIXED["log_mass"] = ("a", ["return a.peak + I.log(a.mass)"])
