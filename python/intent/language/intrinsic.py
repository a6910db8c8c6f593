"""How a public name says what it is."""
import contextvars
import functools
import linecache
import sys

from intent.errors import LanguageError

# The interpreter (intent.reference) that runs an author's function now; None where source is only compiled.
ACTIVE = contextvars.ContextVar("intent_interpreter", default=None)


def wrong(message, kind=LanguageError):
    """The error for what the language was given outside of a kernel's body: at the author's expression, if that is what asks."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("intent.language"):
        frame = frame.f_back
    if frame is None or frame.f_globals.get("__name__", "").partition(".")[0] == "intent":
        return kind(message)
    code, line = frame.f_code, frame.f_lineno
    text = linecache.getline(code.co_filename, line).rstrip("\n") or None
    column = end = None
    if text is not None and hasattr(code, "co_positions"):
        first, last, begin, stop = list(code.co_positions())[frame.f_lasti // 2]
        if first == line and begin is not None:
            line_bytes = text.encode()
            column = len(line_bytes[:begin].decode(errors="replace")) + 1
            end = len(line_bytes[:stop].decode(errors="replace")) + 1 if last == line else len(text) + 1
    return kind(message, filename=code.co_filename, line=line, column=column, end_column=end, source_line=text)


def intrinsic(name):
    """Marks a documented signature as the operation `name`; calling it outside a kernel is an error."""

    def mark(function):
        @functools.wraps(function)
        def operation(*args, **kwargs):
            interpreter = ACTIVE.get()
            if interpreter is not None:
                return interpreter.operate(name, function, args, kwargs)
            raise wrong(f"I.{name} is an operation of the author language: it works only inside @intent.kernel and "
                        "@intent.fn, whose source is compiled or interpreted")

        operation.__intent_intrinsic__ = name
        return operation

    return mark


class Token:
    """A named compile-time choice, such as a storage format, or a group of operations."""

    def __init__(self, name, doc, **members):
        self.__intent_intrinsic__ = name
        self.__doc__ = doc
        self.__dict__.update(members)

    def __repr__(self):
        return f"I.{self.__intent_intrinsic__}"
