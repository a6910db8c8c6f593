"""Author functions inside the interpreter: Python names with the language's meaning, and places in the author's files."""
from __future__ import annotations

import builtins
import inspect
import linecache
import os
import sys

from intent.errors import LanguageError, Note

from .literals import literal, with_literals
from .regions import range_

# Builtins that compute have no meaning in the language; those that serve a debugger or a print keep theirs.
_FOREIGN = ("abs", "all", "any", "bytes", "complex", "dict", "divmod", "enumerate", "filter", "float", "frozenset", "int", "len", "list", "map",
            "max", "min", "pow", "reversed", "round", "set", "sorted", "sum", "tuple", "zip")


def _foreign(name):
    def refuse(*arguments, **keywords):
        raise LanguageError(f"Python builtin '{name}' is not part of the language")

    return refuse


BUILTINS = {**vars(builtins), "range": range_, **{name: _foreign(name) for name in _FOREIGN}}


def inside(function):
    """The author's function with the builtins and the integers of the language."""
    return with_literals(function, BUILTINS)


def call(function, arguments):
    """Calls a function with arguments by name, those that Python takes by position alone included."""
    code, named = function.__code__, {name: literal(value) for name, value in arguments.items()}
    return function(*[named.pop(name) for name in code.co_varnames[:code.co_posonlyargcount]], **named)


def signature(function):
    """The signature as the language has it: each argument goes by position or by name. As Python has it where defaults do not allow that."""
    found = inspect.signature(function)
    try:
        return found.replace(parameters=[p.replace(kind=p.POSITIONAL_OR_KEYWORD) for p in found.parameters.values()])
    except ValueError:
        return found


def _columns(code, instruction):
    positions = getattr(code, "co_positions", None)
    if positions is None or instruction < 0:
        return None, None
    for at, (_, _, begin, end) in enumerate(positions()):
        if at == instruction // 2:
            return begin, end
    return None, None


def _column(line, offset):
    """A column from 1 in characters, from an offset in UTF-8 bytes."""
    return None if offset is None else len(line.encode()[:offset].decode(errors="replace")) + 1


def _place(code, line, instruction):
    text = linecache.getline(code.co_filename, line).rstrip("\n") or None
    begin, end = _columns(code, instruction) if text is not None else (None, None)
    column, end_column = (_column(text, begin), _column(text, end)) if text is not None else (None, None)
    if end_column is not None and column is not None and end_column <= column:
        end_column = None
    return {"filename": os.path.basename(code.co_filename), "line": line, "column": column, "end_column": end_column, "source_line": text}


def places(traceback, codes):
    """Places of the author's frames in a traceback, innermost first, each with its function's name."""
    found = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code in codes:
            found.append((code.co_name, _place(code, traceback.tb_lineno, traceback.tb_lasti)))
        traceback = traceback.tb_next
    return found[::-1]


def raised_below(traceback, codes, folder):
    """Whether a file of the folder has a frame below the innermost frame of the author's."""
    files = {code.co_filename for code in codes}
    below = True
    while traceback is not None:
        filename = traceback.tb_frame.f_code.co_filename
        if filename in files:
            below = False
        elif os.path.dirname(filename) == folder:
            below = True
        traceback = traceback.tb_next
    return below


def current_place(codes):
    """The place of the innermost author frame that runs now, or None."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code in codes:
            return _place(frame.f_code, frame.f_lineno, frame.f_lasti)
        frame = frame.f_back
    return None


def attach(error, found):
    """Gives an error without a place the innermost one, and a note for each call that led there."""
    if error.line is not None or not found:
        return
    for field, value in found[0][1].items():
        setattr(error, field, value)
    notes = [Note(f"in '{found[at - 1][0]}', called here", place["filename"], place["line"], place["column"], place["source_line"], place["end_column"])
             for at, (_, place) in enumerate(found) if at > 0]
    error.notes = (*error.notes, *notes)
