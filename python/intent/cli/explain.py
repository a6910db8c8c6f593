"""Say what the compiler decided about a kernel: families, table rows, candidates, launch arithmetic; needs no device."""
from __future__ import annotations

import sys

from .. import compiler
from .loading import add_kernel_arguments, compile_arguments


def add_arguments(parser) -> None:
    add_kernel_arguments(parser)


def execute(options) -> int:
    kernel, arguments = compile_arguments(options)
    sys.stdout.write(compiler.explain(kernel, options.target, **arguments))
    return 0
