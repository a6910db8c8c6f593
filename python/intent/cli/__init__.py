"""The `intent` command: run, generate, explain, tune, doctor. Errors go to stderr as one message; the exit status is 1 for them, 2 for a wrong command line."""
from __future__ import annotations

import argparse
import sys
import traceback

from ..errors import IntentError
from . import doctor, explain, generate, run, tune
from .loading import UserCodeError

_COMMANDS = {"run": run, "generate": generate, "explain": explain, "tune": tune, "doctor": doctor}


def main(arguments=None) -> int:
    """Runs one command line (default: that of this process) and returns the exit status."""
    parser = argparse.ArgumentParser(prog="intent", description="Compile and run kernels of the Intent language.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, module in _COMMANDS.items():
        summary = module.__doc__.splitlines()[0]
        module.add_arguments(commands.add_parser(name, help=summary, description=summary))
    options = parser.parse_args(arguments)
    try:
        return _COMMANDS[options.command].execute(options)
    except IntentError as error:
        print(f"intent: {type(error).__name__}\n{error}", file=sys.stderr)
    except UserCodeError as error:
        # The file's own exception, from its own first frame on.
        shown = error.__cause__.__traceback__
        while shown is not None and shown.tb_next is not None and shown.tb_frame.f_code.co_filename != error.filename:
            shown = shown.tb_next
        traceback.print_exception(type(error.__cause__), error.__cause__, shown)
        print(f"intent: {error}", file=sys.stderr)
    except BrokenPipeError:  # the reader of a pipe has seen enough
        sys.stderr.close()
    return 1
