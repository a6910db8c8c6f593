"""Measure a kernel's candidates on random data, and move winners between machines."""
from __future__ import annotations

from .. import compiler, targets
from ..errors import ConfigurationError
from ..runtime import interface as interfaces
from ..tuning.progress import format_seconds
from .data import add_data_arguments, data_arguments
from .loading import add_kernel_arguments, compile_arguments


def add_arguments(parser) -> None:
    add_kernel_arguments(parser)
    add_data_arguments(parser)
    parser.add_argument("--import", dest="imported", metavar="F", help="take the winners of a pack; it is refused if it was made for another program, device or version")
    parser.add_argument("--export", dest="exported", metavar="F", help="write every known winner of this kernel to a pack")


def execute(options) -> int:
    kernel, arguments = compile_arguments(options)
    target = targets.resolve(options.target)
    compiled = compiler.compile(kernel, target, **arguments)
    if options.imported:
        print(f"{kernel.__name__} on {target}: {_count(compiled.import_winners(options.imported))} taken from {options.imported}")
    interface = interfaces.read(compiled.metadata)
    # Without extents there is nothing to measure, which is fine where winners only move.
    if options.shape or not (options.imported or options.exported):
        values = data_arguments(options, interface, target)
        compiled.tune(*values)
        _report(kernel, target, compiled.observation)
    elif options.scalar:
        raise ConfigurationError("a scalar is of use only with --shape", source="--scalar")
    if options.exported:
        print(f"{_count(compiled.export_winners(options.exported))} written to {options.exported}")
    return 0


def _count(number):
    return "1 winner" if number == 1 else f"{number} winners"


def _report(kernel, target, observation) -> None:
    winner = observation["winner"]
    print(f"{kernel.__name__} on {target}: " + ("measured" if winner["measured"] else "one candidate, nothing to measure"))
    for entry in observation["candidates"]:
        if entry["status"] == "other_variant":
            continue
        time = "" if entry["seconds"] is None else format_seconds(entry["seconds"])
        mark = "*" if (entry["variant"], entry["index"]) == (winner["variant"], winner["index"]) else " "
        values = ", ".join(f"{name} = {value}" for name, value in entry["values"].items())
        print(f"{mark} {entry['variant']} {entry['index']}  {time or entry['status']}  {values}" + (f"  ({entry['reason']})" if entry["reason"] else ""))
    for name in ("registers", "spills", "shared_memory"):
        if name in observation:
            print(f"{name.replace('_', ' ')}: {observation[name]}")
