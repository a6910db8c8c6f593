"""Print what the compiler makes of a kernel; needs no device."""
from __future__ import annotations

import json
import sys

from .. import artifacts, compiler, requests
from ..errors import ConfigurationError
from .loading import add_kernel_arguments, compile_arguments

_FORMS = ("source", "kir", "block", "metadata", "request")


def add_arguments(parser) -> None:
    add_kernel_arguments(parser)
    parser.add_argument("--emit", choices=_FORMS, default="source", help="provider source (default), kernel IR, block program, interface metadata, or the request for intent-compile")
    parser.add_argument("-o", "--output", metavar="F", help="file to write instead of standard output")
    parser.add_argument("--save", metavar="DIR", help="also save the whole program for intent.GeneratedProgram.load")


def execute(options) -> int:
    kernel, arguments = compile_arguments(options)
    if options.save:
        _program(kernel, options.target, arguments).save(options.save)
    text = _text(options.emit, kernel, options.target, arguments)
    text = text if text.endswith("\n") else text + "\n"
    if options.output:
        try:
            with open(options.output, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise ConfigurationError(f"cannot be written: {error.strerror or error}", source=options.output) from error
    else:
        sys.stdout.write(text)
    return 0


def _program(kernel, target, arguments) -> artifacts.GeneratedProgram:
    return compiler.generate(kernel, target, **arguments)


def _text(emit, kernel, target, arguments) -> str:
    if emit == "request":
        return requests.dump(compiler.request_of(kernel, target, **arguments))
    if emit == "kir":
        return compiler.compile_ir(kernel, **{key: arguments[key] for key in ("constexprs", "types", "options")}).mlir
    if emit == "block":
        return compiler.compile_shared_gpu(kernel, target, **arguments).mlir
    program = _program(kernel, target, arguments)
    return json.dumps(program.metadata, indent=1) if emit == "metadata" else program.source
