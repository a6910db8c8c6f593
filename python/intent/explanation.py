"""What the compiler decided about a kernel, for a person: families, what became of each table row, candidates, launch arithmetic.

Everything comes from the interface of the compiled kernel (docs/interface.md); nothing is decided here.
"""
from __future__ import annotations

from .runtime.expressions import infix


def describe(interface: dict, target) -> str:
    """The report for one interface. Lines end without spaces; the text ends with a line end."""
    lines = [f"kernel {interface['name']} for {target}", ""]
    lines += _section("parameters", _table([(p["name"], _type(p)) for p in interface["params"]]))
    lines += _section("launch symbols", _table([(s["name"], _place(s)) for s in interface["symbols"]]))
    lines += _section("every call must satisfy", [f"{infix(c['condition'])}: {c['message']}" for c in interface["checks"]])
    lines += _section("arguments may overlap", [_overlap(o) for o in interface["overlaps"]])
    for at, variant in enumerate(interface["variants"]):
        lines += _variant(interface, variant, at)
    return "\n".join(line.rstrip() for line in lines).rstrip() + "\n"


def _section(title, lines, indent="  ") -> list:
    return [f"{title}:", *(indent + line for line in lines), ""] if lines else []


def _table(rows) -> list:
    """Rows of equal length with columns aligned to the left."""
    if not rows:
        return []
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]


def _type(parameter) -> str:
    if parameter["kind"] == "scalar":
        return f"{parameter['dtype']} scalar"
    shape = ", ".join(map(infix, parameter["shape"]))
    text = f"{parameter['access']} {parameter['dtype']} [{shape}]"
    if parameter["strides"] is not None:
        text += f" strides [{', '.join('any' if s is None else infix(s) for s in parameter['strides'])}]"
    return text + (" noalias" if parameter["noalias"] else "")


def _place(symbol) -> str:
    if "stride" in symbol:
        return f"stride {symbol['stride']} of {symbol['param']}"
    return f"extent {symbol['axis']} of {symbol['param']}" if "axis" in symbol else f"scalar {symbol['param']}"


def _overlap(overlap) -> str:
    how = {"any": "in any way", "identical_or_disjoint": "as the same elements, or not at all", "disjoint": "not at all"}[overlap["permission"]]
    return f"{overlap['lhs']} and {overlap['rhs']}: {how}"


def _variant(interface, variant, at) -> list:
    count = len(interface["variants"])
    lines = [f"variant {variant['name']}" + (f" ({at + 1} of {count})" if count > 1 else "")]
    family = variant["family"] or "none"
    facts = [("runs where", "always" if variant["guard"] is None else infix(variant["guard"])),
             ("family", family + (f": {variant['predicate']}" if variant.get("predicate") else "")),
             ("grid", infix(variant["grid"]) + (" = " + " + ".join(_grouped(g) for g in variant["groups"]) if len(variant["groups"]) > 1 else ""))]
    facts += [("coverage", f"{name} = {infix(value)}") for name, value in variant["coverage"].items()]
    facts += [("private arguments", ", ".join(map(infix, variant["privates"])))] if variant["privates"] else []
    lines += ["  " + line for line in _table(facts)] + [""]
    mine = {key: [item for item in interface[key] if item["variant"] == variant["name"]] for key in ("parameters", "candidates", "rows")}
    lines += ["  " + line for line in _section("physical parameters", _table([_parameter(p) for p in mine["parameters"]]))]
    lines += ["  " + line for line in _section(_rows_title(mine), _rows(mine, interface.get("columns") or []))]
    lines += ["  " + line for line in _section("candidates", _candidates(mine))]
    return lines


def _grouped(group) -> str:
    return f"({infix(group)})"


def _parameter(parameter) -> tuple:
    if parameter["binding"] is not None:
        source = f"= {infix(parameter['binding'])}"
    else:
        source = f"from column {parameter['column']}" if parameter["column"] else "fixed"
        source += f", one of {' '.join(map(str, parameter['domain']))}"
    affects = f"affects {', '.join(parameter['affects'])}" if parameter["affects"] else ""
    needs = f"needs {parameter['need']}" if parameter["need"] else ""
    return parameter["symbol"], parameter["role"], parameter["kind"], source, "; ".join(filter(None, (affects, needs)))


def _rows_title(mine) -> str:
    if not mine["rows"]:
        return "table rows"
    rows = mine["rows"]
    return f"rows of family {rows[0]['family']} in {rows[0]['source']} ({len(rows)} rows, {len(mine['candidates'])} candidates)"


def _rows(mine, columns) -> list:
    """The request of each row under its column names, and its fate. A merged row names the row whose candidate it equals."""
    if not mine["rows"]:
        return ["none were read: the text came with its configurations"]
    first = {row["candidate"]: row["row"] for row in reversed(mine["rows"]) if row["fate"] == "kept"}
    lines = [("row", *columns, "fate")]
    for row in mine["rows"]:
        if row["fate"] == "kept":
            fate = f"kept: candidate {row['candidate']}"
        elif row["fate"] == "merged":
            fate = f"merged with row {first[row['candidate']]}: candidate {row['candidate']}"
        else:
            fate = f"rejected by {row['rule']}: {row['reason']}"
        if row["fate"] != "rejected" and row["rule"] is not None:
            fate += f"; {row['rule']}: {row['reason']}"
        lines.append((str(row["row"]), *map(str, row["request"]), fate))
    return _table(lines)


def _candidates(mine) -> list:
    """The final tuples: values that the program and the provider get, in order of declaration, and where they depend on the call."""
    if not mine["candidates"]:
        return []
    names = [p["symbol"] for p in mine["parameters"] if p["symbol"] in mine["candidates"][0]["values"]]
    lines = [("", *names, "legal where")]
    for candidate in mine["candidates"]:
        where = "always" if candidate["where"] is None else infix(candidate["where"])
        lines.append((str(candidate["index"]), *(str(candidate["values"][name]) for name in names), where))
    return _table(lines)
