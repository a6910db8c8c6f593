"""Every exception that reaches a user. All are `IntentError`; each class says whose mistake it reports.

A message carries the place in the author's program when it is known: `file:line:column`, the source line and a
caret under it, then the notes with places of their own. Lines and columns count from 1.
"""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Note:
    """A second place that explains a diagnostic. `filename`, `line`, `column` are None where unknown."""

    message: str
    filename: str | None = None
    line: int | None = None
    column: int | None = None
    source_line: str | None = None
    end_column: int | None = None

    def __str__(self) -> str:
        return _located("note", self.message, self.filename, self.line, self.column, self.end_column, self.source_line)


def _located(severity, message, filename, line, column, end_column, source_line) -> str:
    """The compiler-style text of one message: `file:line:column: severity: message`, then the line and a caret."""
    if filename is None and line is None:
        return message if severity == "error" else f"{severity}: {message}"
    place = filename or "<unknown>"
    if line is not None:
        place += f":{line}"
        if column is not None:
            place += f":{column}"
    text = f"{place}: {severity}: {message}"
    if source_line is not None and line is not None:
        shown = source_line.rstrip("\n")
        text += f"\n  {shown}"
        if column is not None and 1 <= column <= len(shown) + 1:
            width = 1 if end_column is None else max(1, min(end_column, len(shown) + 1) - column)
            # Tabs are kept, so that the caret stands under the character on any terminal.
            lead = "".join("\t" if c == "\t" else " " for c in shown[: column - 1])
            text += f"\n  {lead}^{'~' * (width - 1)}"
    return text


def character_column(text, column):
    """A column that counts UTF-8 bytes of the line, as Python's and the compiler's do, in characters."""
    return len(text.encode()[:column - 1].decode(errors="ignore")) + 1 if text and isinstance(column, int) and not text.isascii() else column


class IntentError(Exception):
    """Base of all errors. `message` is the bare sentence; `str()` adds place, source line, caret and notes.

    `filename`, `line`, `column`, `end_column`, `source_line` are None where the place is unknown. `notes` is a tuple of `Note`.
    """

    def __init__(self, message, *, filename=None, line=None, column=None, end_column=None, source_line=None, notes=()):
        super().__init__(message)
        self.message = message
        self.filename = filename
        self.line = line
        self.column = column
        self.end_column = end_column
        self.source_line = source_line
        self.notes = tuple(notes)

    def _head(self) -> str:
        return self.message

    def __str__(self) -> str:
        text = _located("error", self._head(), self.filename, self.line, self.column, self.end_column, self.source_line)
        return "\n".join([text, *map(str, self.notes)])

    def __reduce__(self):
        return _rebuild, (type(self), self.message, self.__dict__)


def _rebuild(cls, message, state):
    error = cls.__new__(cls)
    Exception.__init__(error, message)
    error.__dict__.update(state)
    return error


class LanguageError(IntentError):
    """The author's program, kernel IR text or request is wrong."""


class ConfigurationError(IntentError):
    """A table, override, option, pack or target string is wrong, or no candidate is legal.

    `source` is the file or argument, `family` the table family, `row` its index from 0, `column` the column's name in
    that row; each None where it does not apply.
    """

    def __init__(self, message, *, source=None, family=None, row=None, column=None, **place):
        super().__init__(message, **place)
        self.source = source
        self.family = family
        self.row = row
        self.column = column

    def _head(self) -> str:
        if self.source is not None and self.message.startswith(str(self.source)):
            return self.message  # the compiler's sentences about tables begin with the place
        where = [str(self.source)] if self.source is not None else []
        where += [f"{name} {value}" for name, value in (("family", self.family), ("row", self.row), ("column", self.column)) if value is not None]
        where = ", ".join(where)
        return f"{where}: {self.message}" if where else self.message

    def __str__(self) -> str:
        # `column` is a table column here, never a caret position.
        text = _located("error", self._head(), self.filename, self.line, None, None, self.source_line)
        return "\n".join([text, *map(str, self.notes)])


class TargetError(IntentError):
    """A legal program that this target, or this version for it, cannot build or run.

    `category` is one of `shared_gpu`, `provider_surface`, `hardware_capability`, `lower_compilation_cost`;
    `operation` and `feature` name what asked and what is missing, or are None.
    """

    CATEGORIES = ("shared_gpu", "provider_surface", "hardware_capability", "lower_compilation_cost")

    def __init__(self, message, *, category, operation=None, feature=None, **place):
        super().__init__(message, **place)
        self.category = category
        self.operation = operation
        self.feature = feature

    def _head(self) -> str:
        return f"{self.message} [{self.category}]"


class CallError(IntentError):
    """An argument of one call does not fit. `parameter` names it; `expected` and `actual` are texts, or None."""

    def __init__(self, message, *, parameter=None, expected=None, actual=None, **place):
        super().__init__(message, **place)
        self.parameter = parameter
        self.expected = expected
        self.actual = actual

    def _head(self) -> str:
        text = self.message
        if self.expected is not None:
            text += f": expected {self.expected}"
            if self.actual is not None:
                text += f", got {self.actual}"
        return text


class ProviderError(IntentError):
    """An external compiler or a launch failed.

    `original` is that exception (also `__cause__`), or None; `candidates` lists `(candidate, reason)` of those that failed.
    """

    def __init__(self, message, *, original=None, candidates=(), **place):
        super().__init__(message, **place)
        self.original = original
        self.candidates = tuple(candidates)
        if original is not None:
            self.__cause__ = original

    def _head(self) -> str:
        text = self.message
        if self.original is not None:
            text += f": {type(self.original).__name__}: {self.original}"
        return text + "".join(f"\n  candidate {candidate}: {reason}" for candidate, reason in self.candidates)


class InternalError(IntentError):
    """A defect of this compiler. `input_path` is the folder or file where the input was kept, or None."""

    def __init__(self, message, *, input_path=None, **place):
        super().__init__(message, **place)
        self.input_path = input_path

    def _head(self) -> str:
        text = f"internal error: {self.message}"
        return f"{text}\nthis is a defect of the compiler; its input is kept in {self.input_path}" if self.input_path else text
