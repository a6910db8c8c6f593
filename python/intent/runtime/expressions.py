"""Launch expressions in their text form: `ceil_div("M", BM)`. Integers, "symbols", bare parameters, functions of these.

The compiler writes them; this module only computes. Arithmetic is exact; a division by a divisor that is not positive has no value.
"""
from __future__ import annotations

import re
from functools import lru_cache

_TOKEN = re.compile(r'\s*(?:(-?\d+)|"((?:[^"\\]|\\.)*)"|([A-Za-z_%.$][\w%.$]*)|([(),]))')


class ExpressionError(ValueError):
    """Text that is no launch expression, a name without a value, or a division by a number that is not positive."""


def _positive(divisor):
    if divisor <= 0:
        raise ExpressionError(f"divisor {divisor} is not positive")
    return divisor


def _pow2_ceil(value):
    return 1 if value <= 1 else 1 << (value - 1).bit_length()


# name -> (operand count, function of the operands' values)
_FUNCTIONS = {
    "add": (2, lambda a, b: a + b), "sub": (2, lambda a, b: a - b), "mul": (2, lambda a, b: a * b),
    "floor_div": (2, lambda a, b: a // _positive(b)), "ceil_div": (2, lambda a, b: -(-a // _positive(b))),
    "mod": (2, lambda a, b: a % _positive(b)), "min": (2, min), "max": (2, max), "pow2_ceil": (1, _pow2_ceil),
    "lt": (2, lambda a, b: int(a < b)), "le": (2, lambda a, b: int(a <= b)), "eq": (2, lambda a, b: int(a == b)),
    "and": (2, lambda a, b: int(bool(a and b))), "or": (2, lambda a, b: int(bool(a or b))), "not": (1, lambda a: int(not a)),
    "select": (3, lambda c, a, b: a if c else b),
}


class Expression:
    """A parsed expression: `evaluate(symbols, parameters)`, and the `symbols` and `parameters` that it names."""

    __slots__ = ("text", "symbols", "parameters", "constant", "_program")

    def __init__(self, text, program):
        self.text = text
        self._program = program  # postfix: ("int", n), ("symbol", s), ("parameter", p), ("call", function, arity)
        self.symbols = frozenset(value for kind, value, _ in program if kind == "symbol")
        self.parameters = frozenset(value for kind, value, _ in program if kind == "parameter")
        self.constant = self.evaluate({}, {}) if not self.symbols and not self.parameters else None

    def evaluate(self, symbols, parameters=None, number=int) -> int:
        """The value under these bindings (name -> int). ExpressionError where a name has none. `number` converts each leaf."""
        stack = []
        for kind, value, arity in self._program:
            if kind == "int":
                stack.append(value)
            elif kind == "call":
                operands = stack[-arity:]
                del stack[-arity:]
                stack.append(value(*operands))
            else:
                bound = (symbols if kind == "symbol" else parameters or {}).get(value)
                if bound is None:
                    raise ExpressionError(f"{kind} {value!r} has no value in {self.text}")
                stack.append(number(bound))
        return stack[0]


@lru_cache(maxsize=4096)
def parse(text) -> Expression:
    """Parses one expression. `text` may also be a plain int. Raises ExpressionError."""
    if isinstance(text, int):
        return Expression(str(int(text)), (("int", int(text), 0),))
    tokens = _tokens(text)
    program: list = []
    # Calls whose closing parenthesis is still to come: (name, operands seen). A loop, so that deep text cannot exhaust the stack.
    open_calls: list = []
    expect_operand = True
    position = 0
    while position < len(tokens):
        kind, value = tokens[position]
        position += 1
        if expect_operand:
            following = tokens[position][1] if position < len(tokens) else None
            if kind == "name" and following == "(":
                if value not in _FUNCTIONS:
                    raise ExpressionError(f"unknown function {value!r} in {text!r}")
                open_calls.append([value, 1])
                position += 1
                continue
            if kind == "punctuation":
                raise ExpressionError(f"unexpected {value!r} in {text!r}")
            program.append(("int" if kind == "int" else "symbol" if kind == "symbol" else "parameter", value, 0))
            expect_operand = False
        elif value == "," and kind == "punctuation" and open_calls:
            open_calls[-1][1] += 1
            expect_operand = True
        elif value == ")" and kind == "punctuation" and open_calls:
            name, count = open_calls.pop()
            arity, function = _FUNCTIONS[name]
            if count != arity:
                raise ExpressionError(f"{name} takes {arity} operands, got {count} in {text!r}")
            program.append(("call", function, arity))
        else:
            raise ExpressionError(f"unexpected {value!r} in {text!r}")
    if expect_operand or open_calls:
        raise ExpressionError(f"incomplete expression {text!r}")
    return Expression(text, tuple(program))


def _tokens(text):
    tokens, at = [], 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ExpressionError(f"unexpected character {text[at:].lstrip()[:1]!r} in {text!r}")
        number, symbol, name, punctuation = match.groups()
        if number is not None:
            tokens.append(("int", int(number)))
        elif symbol is not None:
            tokens.append(("symbol", re.sub(r"\\(.)", r"\1", symbol)))
        elif name is not None:
            tokens.append(("name", name))
        else:
            tokens.append(("punctuation", punctuation))
        at = match.end()
    return tokens


_NAMES = {function: name for name, (_, function) in _FUNCTIONS.items()}
# name -> (sign, how strongly it binds); functions without a sign stay calls.
_SIGNS = {"or": ("or", 1), "and": ("and", 2), "lt": ("<", 4), "le": ("<=", 4), "eq": ("==", 4), "add": ("+", 5), "sub": ("-", 5), "mul": ("*", 6),
          "floor_div": ("//", 6), "mod": ("%", 6)}
_COMPARISON, _ATOM = 4, 7
_OPPOSITES = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!="}
_TURNED = {"<": ">", "<=": ">="}


def infix(text) -> str:
    """The expression as people write it: `le("N", mul(4, BM))` is `N <= 4 * BM`. ExpressionError as `parse`."""
    stack: list = []  # (text, how strongly its outermost sign binds, the text of its negation)
    for kind, value, arity in parse(text)._program:
        if kind != "call":
            stack.append((str(value), _ATOM, f"not {value}"))
            continue
        operands = stack[-arity:]
        del stack[-arity:]
        name = _NAMES[value]
        if name in _SIGNS:
            sign, strength = _SIGNS[name]
            if sign in _TURNED and _is_constant(operands[0]) and not _is_constant(operands[1]):
                operands.reverse()  # a constant stands behind what it bounds
                sign = _TURNED[sign]
            # Equal signs group to the left, except comparisons, which do not chain.
            left, right = _grouped(operands[0], strength + (strength == _COMPARISON)), _grouped(operands[1], strength + 1)
            whole = f"{left} {sign} {right}"
            stack.append((whole, strength, f"{left} {_OPPOSITES[sign]} {right}" if sign in _OPPOSITES else f"not ({whole})"))
        elif name == "not":
            inner, strength, negated = operands[0]
            stack.append((negated, _COMPARISON, inner if strength >= _COMPARISON else f"({inner})"))
        else:
            called = f"{name}({', '.join(operand for operand, _, _ in operands)})"
            stack.append((called, _ATOM, f"not {called}"))
    return stack[0][0]


def _is_constant(operand) -> bool:
    return operand[0].lstrip("-").isdigit()


def _grouped(operand, strength) -> str:
    text, binds, _ = operand
    return text if binds >= strength else f"({text})"
