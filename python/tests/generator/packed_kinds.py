"""Contractions of packed operands, which are views drawn for them: microscaled, sparse, block records."""
from __future__ import annotations

from .kinds import made, register, require
from .tree import EPS, View

ELEMENT = {"e2m1": 6.0, "e4m3": 448.0, "e5m2": 57344.0}


def _operands(node, context):
    views = [context.views.get(name) for name in node.params["views"]]
    require(all(view is not None and view.access == "in" for view in views))
    return views


def scaled_views(fresh, rng, m, n):
    """lhs [M, 3, C], its scales [M, 3], rhs [3, C, N], its scales [N, 3]."""
    format = rng.choice(("e2m1", "e2m1", "e4m3", "e5m2"))
    carrier = rng.choice(("u8", {"e2m1": "u8", "e4m3": "f8e4m3fn", "e5m2": "f8e5m2"}[format]))
    values = format if carrier == "u8" else "smooth"
    views = [View(fresh("w"), "in", carrier, (m, 3, 4), values), View(fresh("w"), "in", "u8", (m, 3), "scales"),
             View(fresh("w"), "in", carrier, (3, 4, n), values), View(fresh("w"), "in", "u8", (n, 3), "scales")]
    return views, {"format": format, "group": 8 if format == "e2m1" else 4}


def _scaled(node, parts, context):
    a, _, b, _ = _operands(node, context)
    count, largest = 3 * node.params["group"], ELEMENT[node.params["format"]] * 4
    bound = count * largest * largest
    return made("f32", (a.shape[0], b.shape[2]), bound, 2 * count * EPS["f32"] * bound, False)


def _scaled_text(node, t):
    p = node.params
    lhs, lhs_scale, rhs, rhs_scale = (f"{name}[{', '.join(':' * rank)}]" for name, rank in zip(p["views"], (3, 2, 3, 2)))
    head = f"{lhs}, {lhs_scale}, {rhs}, {rhs_scale}, lhs_format=I.{p['format']}, rhs_format=I.{p['format']}"
    if p["short"]:
        return f"I.scaled_matmul({head}, group_size={p['group']}, acc_dtype=I.f32)"
    return f"I.scaled_contract({head}, lhs_group_size={p['group']}, rhs_group_size={p['group']}, reduce=((1, 0), (2, 1)), acc_dtype=I.f32)"


def sparse_views(fresh, rng, m, n):
    """Stored values [M, 6] of 12 (or 4 of 8), their places, a dense right operand."""
    dtype = rng.choice(("f32", "f16", "i8"))
    values = "ints" if dtype == "i8" else "exact"
    place = rng.choice(("u8", "i32", "index", "i64"))
    if rng.random() < 0.6:
        views = [View(fresh("w"), "in", dtype, (m, 6), values), View(fresh("w"), "in", place, (m, 3), "early"), View(fresh("w"), "in", place, (m, 3), "late"),
                 View(fresh("w"), "in", dtype, (12, n), values)]
        return views, {"format": "two_of_four"}
    views = [View(fresh("w"), "in", dtype, (m, 6), values), View(fresh("w"), "in", place, (m, 6), "early"), View(fresh("w"), "in", dtype, (12, n), values)]
    return views, {"format": "one_of_two"}


def _sparse(node, parts, context):
    views = _operands(node, context)
    a, b = views[0], views[-1]
    require(node.params["acc"] == ("i32" if a.dtype == "i8" else "f32"))
    return made(node.params["acc"], (a.shape[0], b.shape[1]), 12 * a.bound * b.bound, 0, True)


def _sparse_text(node, t):
    p = node.params
    compressed, *places, rhs = (f"{name}[:, :]" for name in p["views"])
    metadata = f"I.record(first={places[0]}, second={places[1]})" if len(places) == 2 else f"I.record(index={places[0]})"
    if p["short"] and len(places) == 2 and p["older"]:
        return f"I.sparse_contract_2to4({compressed}, {metadata}, {rhs}, I.{p['acc']})"
    if p["short"]:
        return f"I.sparse_matmul({compressed}, {metadata}, {rhs}, format=I.sparse.{p['format']}(1, 12), acc_dtype=I.{p['acc']})"
    return f"I.sparse_contract({compressed}, {metadata}, {rhs}, format=I.sparse.{p['format']}(-1, 12), reduce=((1, 0),), acc_dtype=I.{p['acc']})"


def _quantized(node, parts, context):
    a, _ = _operands(node, context)
    count = context.size(a.shape[0])
    bound = max(1, count) * 0.01 * 0.01 * (63 * 15 * 128 * 256 + 63 * 128 * 256)
    return made("f32", None, bound, 4 * (count + 1) * EPS["f32"] * bound, False)


def _quantized_text(node, t):
    a, b = node.params["views"]
    return f"I.quantized_dot({a}[:, :], {b}[:, :], lhs_format=I.quant.q4_k, rhs_format=I.quant.q8_k, acc_dtype=I.f32)[()]"


def _records(node, parts, context):
    (a,) = _operands(node, context)
    return made("u8", (a.shape[0], 292), 255, 0, True)


register("scaled", _scaled_text, _scaled)
register("sparse", _sparse_text, _sparse)
register("quantized", _quantized_text, _quantized)
register("records", lambda n, t: f"I.quantize({n.params['views'][0]}[:, :], format=I.quant.q8_k)", _records)
