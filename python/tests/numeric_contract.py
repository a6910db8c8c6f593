"""What each builtin promises: error bounds and special values. Tests hold the host, the reference and devices to it, and
`scripts/generate_reference.py` prints it as docs/reference/numerics.md."""
import math
from typing import NamedTuple

inf, nan = math.inf, math.nan


class Function(NamedTuple):
    """Largest errors in ulp of the result's format, for f32 and f64, and the values at 0, -0, inf, -inf. NaN gives NaN. Narrower
    formats evaluate in f32 and round once more."""
    f32: float
    f64: float
    zero: float
    minus_zero: float
    infinity: float
    minus_infinity: float
    note: str = ""

    @property
    def specials(self):
        return self.zero, self.minus_zero, self.infinity, self.minus_infinity


FUNCTIONS = {
    "exp": Function(4, 4, 1, 1, inf, 0.0), "exp2": Function(4, 4, 1, 1, inf, 0.0, "`approximate`: 2 ulp"),
    "log": Function(4, 4, -inf, -inf, inf, nan, "NaN below zero"), "log2": Function(4, 4, -inf, -inf, inf, nan, "NaN below zero"),
    "log1p": Function(4, 4, 0.0, -0.0, inf, nan, "-inf at -1, NaN below"), "sin": Function(4, 4, 0.0, -0.0, nan, nan, "for magnitudes up to 2^15"),
    "cos": Function(4, 4, 1, 1, nan, nan, "for magnitudes up to 2^15"), "tan": Function(5, 8, 0.0, -0.0, nan, nan, "for magnitudes up to 2^15"),
    "asin": Function(4, 4, 0.0, -0.0, nan, nan, "NaN outside [-1, 1]"), "erf": Function(4, 4, 0.0, -0.0, 1, -1), "erfc": Function(5, 8, 1, 1, 0.0, 2),
    "lgamma": Function(6, 6, inf, inf, inf, inf, "+0 at 1 and 2, inf at negative integers; below zero the error is 2^-20, absolute"),
    "i0": Function(6, 6, 1, 1, inf, inf, "even"), "rsqrt": Function(4, 4, inf, -inf, 0.0, nan, "NaN below zero"),
    "sqrt": Function(0.5, 0.5, 0.0, -0.0, inf, nan, "NaN below zero"), "sigmoid": Function(4, 4, 0.5, 0.5, 1, 0.0),
    "tanh": Function(4, 4, 0.0, -0.0, 1, -1, "`approximate`: relative 2^-11"),
}

# Builtins of several operands or elements: what their rows in the page say.
OTHERS = {
    "+ - * /": "0.5 ulp; IEEE-754. Integers wrap; `/` is float only", "fma": "rounded once", "fdiv": "0.5 ulp; `approximate`: 2 ulp for divisors of magnitude 2^-126 to 2^126",
    "//, %": "floored quotient, remainder with the divisor's sign; by zero the caller's error (0 on the host)", "**": "4 ulp; an integer literal is repeated multiplication",
    "abs, unary -": "exact; the least integer stays", "floor, ceil": "exact; -0 and infinities stay",
    "maximum, minimum": "NaN if either is; of +0 and -0 either", "maximum_num, minimum_num": "the other operand where one is NaN",
    "reduce.sum, cumsum": "n * 2^-24 relative to the sum of magnitudes (f32); of nothing 0", "reduce.prod, cumprod": "of nothing 1",
    "reduce.max, reduce.min, cummax": "NaN if a member is; of nothing -inf or inf, for integers the least or greatest", "reduce.mean": "sum / count; of nothing NaN",
    "reduce.any, reduce.all": "of nothing False, True", "arg_reduce.max, arg_reduce.min": "the first of equal members, the first NaN before all; of nothing the identity at 0",
    "contract, matmul, dot, matvec, vecmat": "exact products, sums in `acc_dtype`; of nothing 0; no TF32", "histogram": "exact, modulo 2^width; of nothing 0",
    "cast": "float to narrower float: nearest even, overflow to infinity; float to integer: truncates, out of range the caller's error", "random.bits": "Philox4x32-10, the same bits everywhere",
}


def spell(value):
    return "NaN" if math.isnan(value) else f"{value:g}"


def page():
    """The table as a page of the reference."""
    lines = ["# Error bounds and special values", "", "Bounds are in ulp of the result's format. NaN gives NaN except where a row says otherwise.", "",
             "| function | f32 | f64 | 0 | -0 | inf | -inf | |", "|---|---|---|---|---|---|---|---|"]
    for name, f in sorted(FUNCTIONS.items()):
        lines.append(f"| `I.{name}` | {f.f32:g} | {f.f64:g} | {' | '.join(map(spell, f.specials))} | {f.note} |")
    lines += ["", "| builtin | |", "|---|---|"]
    lines += [f"| `{name}` | {text} |" for name, text in OTHERS.items()]
    return "\n".join(lines) + "\n"
