"""The definition of a decorated function in its file, and whether Python makes of it what its text says."""
from __future__ import annotations

import ast
import inspect

from intent.errors import LanguageError, character_column

_FILES = {}  # path -> (lines, {(name, first line): definition})


def located(file, lines, node, message):
    line = node.lineno
    text = lines[line - 1] if 0 < line <= len(lines) else None
    return LanguageError(message, filename=file, line=line, column=character_column(text, node.col_offset + 1), source_line=text)


def find(source, function):
    """The node of a function in the text of its file. LanguageError."""
    if source.code.co_name == "<lambda>":
        line = source.code.co_firstlineno
        raise LanguageError("expected a function written with def, got a lambda", filename=source.file, line=line,
                            source_line=source.lines[line - 1] if line <= len(source.lines) else None)
    known = _FILES.get(source.path)
    if known is None or known[0] != source.lines:
        try:
            tree = ast.parse("\n".join(source.lines) + "\n")
        except SyntaxError as error:
            raise LanguageError(f"the source of '{function.__name__}' no longer parses: {error.msg}", filename=source.file,
                                line=error.lineno, column=error.offset) from None
        except (RecursionError, MemoryError, ValueError):
            raise LanguageError(f"the source around '{function.__name__}' nests too deeply for the Python parser",
                                filename=source.file, line=source.code.co_firstlineno) from None
        found = {}
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                found[node.name, min([node.lineno, *(d.lineno for d in node.decorator_list)])] = node
        known = _FILES[source.path] = (source.lines, found)
    definition = known[1].get((source.code.co_name, source.code.co_firstlineno))
    if definition is None:
        raise LanguageError(f"the source of '{function.__name__}' changed since it was loaded: import the module again",
                            filename=source.file, line=source.code.co_firstlineno)
    return definition


def check(source, function):
    """LanguageError for a coroutine, a generator, a starred target, and a name that a class changes."""
    definition, code = source.definition, source.code
    if isinstance(definition, ast.AsyncFunctionDef):
        raise source.error(definition, f"'{function.__name__}' is written with async def; expected a function written with def")
    for argument in [*definition.args.posonlyargs, *definition.args.args, *definition.args.kwonlyargs]:
        _check_name(source, argument, argument.arg, code.co_varnames)
    local = (*code.co_varnames, *code.co_cellvars)
    for node in _body(definition):
        if isinstance(node, (ast.Yield, ast.YieldFrom)) and code.co_flags & inspect.CO_GENERATOR:
            raise source.error(node, "yield is not part of the language")
        if isinstance(node, ast.Starred) and isinstance(node.ctx, ast.Store):
            raise source.error(node, "a starred item is not a target of the language; name each item")
        if isinstance(node, ast.Attribute):
            _check_name(source, node, node.attr, code.co_names)
        elif isinstance(node, ast.Name) and not _changed(node.id, local):
            _check_name(source, node, node.id, (*code.co_names, *code.co_freevars))


def _body(definition):
    return [node for statement in definition.body for node in ast.walk(statement)]


def _changed(name, names):
    """What Python made of a private name inside a class, or None."""
    if not name.startswith("__") or name.endswith("__") or name in names:
        return None
    return next((other for other in names if other.startswith("_") and other.endswith(name)), None)


def _check_name(source, node, name, names):
    changed = _changed(name, names)
    if changed is not None:
        raise source.error(node, f"inside a class Python changes the name '{name}' to '{changed}'; expected a name that does not begin with two underscores")
