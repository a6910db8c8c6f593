"""Random changes to program text and to JSON values: what a broken tool, a bad merge or an attacker would send."""
from __future__ import annotations

import json
import re

TOKEN = re.compile(r'\s+|"(?:[^"\\\n]|\\.)*"|[\w.$%#@!^]+|->|::|.', re.DOTALL)
# Sizes and counts at the edges of 8, 32 and 64 bits.
INTEGERS = (0, 1, -1, 2, 3, 7, 16, 64, 127, 128, 255, 256, 65535, 65536, 2**31 - 1, 2**31, -2**31, 2**32, 2**53, 2**62, 2**63 - 1, -2**63, 2**63, 2**64, 10**30)
FLOATS = ("0.0", "-0.0", "1e-45", "3.4e38", "1e308", "1e309", "0x7FC00000", "0x7F800000", "0xFFFFFFFFFFFFFFFF")
STRINGS = ("", " ", "x", "a" * 300, "\\00", "\u00e4\u2028", "%s%n", "../..", "M", "N", "triton", "host")
VALUES = (None, True, False, 0, -1, 1, 2**31, 2**63, -2**63, 1.5, 1e308, "", "x", "M", [], {}, [[]], {"a": 1}, [0, 0], ["x"])


def text(rng, source: str, donors: list) -> str:
    """One to four changes of tokens, lines or bytes. `donors` are other texts, from which pieces are taken."""
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        source = rng.choice(_TEXT)(rng, source, donors)
    return source


def _tokens(source) -> list:
    return TOKEN.findall(source)


def _words(tokens) -> list:
    """Indices of tokens that are no white space."""
    return [i for i, token in enumerate(tokens) if not token.isspace()]


def _on_token(change):
    def apply(rng, source, donors):
        tokens = _tokens(source)
        words = _words(tokens)
        if not words:
            return source
        change(rng, tokens, rng.choice(words), words, donors)
        return "".join(tokens)

    return apply


@_on_token
def _delete_token(rng, tokens, at, words, donors):
    tokens[at] = ""


@_on_token
def _repeat_token(rng, tokens, at, words, donors):
    tokens[at] = (tokens[at] + rng.choice((" ", "", ", "))) * rng.choice((2, 2, 3, 50))


@_on_token
def _swap_tokens(rng, tokens, at, words, donors):
    other = rng.choice(words)
    tokens[at], tokens[other] = tokens[other], tokens[at]


@_on_token
def _borrow_token(rng, tokens, at, words, donors):
    """A token from here or from another text, of the same shape where there is one."""
    pool = _tokens(rng.choice(donors)) if donors and rng.random() < 0.5 else tokens
    same = [token for token in pool if not token.isspace() and token[:1].isalnum() == tokens[at][:1].isalnum() and token[:1] in (tokens[at][:1], token[:1])]
    alike = [token for token in same if token[:1] == tokens[at][:1]]
    if same:
        tokens[at] = rng.choice(alike if alike and rng.random() < 0.7 else same)


@_on_token
def _change_number(rng, tokens, at, words, donors):
    numbers = [i for i in words if re.fullmatch(r"-?\d+(\.\d*)?([eE][-+]?\d+)?", tokens[i])]
    if numbers:
        chosen = rng.choice(numbers)
        tokens[chosen] = rng.choice(FLOATS) if "." in tokens[chosen] else str(rng.choice(INTEGERS))


@_on_token
def _change_string(rng, tokens, at, words, donors):
    strings = [i for i in words if tokens[i].startswith('"')]
    if strings:
        tokens[rng.choice(strings)] = json.dumps(rng.choice(STRINGS), ensure_ascii=rng.random() < 0.5)


@_on_token
def _move_span(rng, tokens, at, words, donors):
    """A bracketed span, or a few tokens, to another place, or away."""
    end = _closing(tokens, at) if tokens[at] in "([{<" else min(len(tokens), at + rng.randint(1, 12))
    span = tokens[at:end]
    if rng.random() < 0.5:
        tokens[at:end] = []
    to = rng.randint(0, len(tokens))
    if rng.random() < 0.7:
        tokens[to:to] = span


def _closing(tokens, at) -> int:
    pairs = {"(": ")", "[": "]", "{": "}", "<": ">"}
    opened, closed, depth = tokens[at], pairs[tokens[at]], 0
    for i in range(at, len(tokens)):
        depth += (tokens[i] == opened) - (tokens[i] == closed)
        if depth == 0:
            return i + 1
    return len(tokens)


def _lines(rng, source, donors):
    """Lines deleted, repeated, exchanged, or taken from another text."""
    lines = source.splitlines(True)
    if not lines:
        return source
    at, how = rng.randrange(len(lines)), rng.randrange(4)
    if how == 0:
        del lines[at]
    elif how == 1:
        lines[at:at] = [lines[at]] * rng.choice((1, 1, 2, 20))
    elif how == 2:
        other = rng.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    elif donors:
        foreign = rng.choice(donors).splitlines(True)
        if foreign:
            start = rng.randrange(len(foreign))
            lines[at:at] = foreign[start:start + rng.choice((1, 1, 2, 5))]
    return "".join(lines)


def _bytes(rng, source, donors):
    data = bytearray(source.encode("utf-8", "surrogatepass"))
    for _ in range(rng.choice((1, 1, 3, 10))):
        at, how = rng.randint(0, len(data)), rng.randrange(4)
        if how == 0:
            data[at:at + 1] = bytes([rng.randrange(256)])
        elif how == 1:
            del data[at:at + rng.choice((1, 4, 100))]
        elif how == 2:
            data[at:at] = bytes([rng.randrange(256)]) * rng.choice((1, 2, 1000))
        else:
            del data[at:]
    return data.decode("utf-8", "replace")


def _nest(rng, source, donors):
    """Deep nesting at one place."""
    at, (opened, closed) = rng.randint(0, len(source)), rng.choice((("(", ")"), ("[", "]"), ("{", "}"), ("<", ">"), ("add(", ")"), ("not(", ")")))
    depth = rng.choice((3, 60, 70, 300, 5000))
    return source[:at] + opened * depth + closed * rng.choice((0, depth)) + source[at:]


_TEXT = (_delete_token, _delete_token, _repeat_token, _swap_tokens, _swap_tokens, _borrow_token, _borrow_token, _borrow_token, _borrow_token, _change_number, _change_number,
         _change_string, _move_span, _move_span, _lines, _lines, _lines, _bytes, _nest)


def value(rng, root, donors):
    """A JSON value with one to four nodes changed: another value, another kind, a missing or additional entry. `root` is changed in place."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        places = list(_places(root))
        if not places:
            return root
        container, key = rng.choice(places)
        how = rng.randrange(7)
        if how == 0:
            container[key] = rng.choice(VALUES)
        elif how == 1:
            del container[key]
        elif how == 2:
            other, other_key = rng.choice(places)
            container[key] = json.loads(json.dumps(other[other_key]))
        elif how == 3 and donors:
            foreign = list(_places(rng.choice(donors)))
            if foreign:
                other, other_key = rng.choice(foreign)
                container[key] = json.loads(json.dumps(other[other_key]))
        elif how == 4 and isinstance(container[key], bool | int):
            container[key] = rng.choice((container[key] + 1, container[key] - 1, *INTEGERS))
        elif how == 5 and isinstance(container, list):
            container.insert(key, container[key])
        elif how == 6 and isinstance(container, dict):
            container[rng.choice(STRINGS)] = container[key]
        elif isinstance(container[key], str):
            container[key] = rng.choice((*STRINGS, container[key] + "x", container[key][:-1], container[key].upper()))
    return root


def _places(root):
    """`(container, key)` of every node below the root."""
    pending = [root]
    while pending:
        container = pending.pop()
        items = container.items() if isinstance(container, dict) else enumerate(container) if isinstance(container, list) else ()
        for key, item in list(items):
            yield container, key
            if isinstance(item, (dict, list)):
                pending.append(item)
