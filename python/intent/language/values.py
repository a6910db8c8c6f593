"""Coordinates, construction of values and element-wise functions.

`tensor` stands for a tensor or a scalar. Operands of one operation share a dtype; broadcasting aligns trailing axes.
"""
import math

from intent.language.intrinsic import intrinsic

inf = math.inf
pi = math.pi
LOG2E = 1.4426950408889634


# -- coordinates --------------------------------------------------------------------------------------------

@intrinsic("domain")
def domain(start, stop=None, step=1):
    """The half-open ordered coordinates `start, start + step, ...` below `stop`; `I.domain(n)` is `0..n`.

    Bounds and step are integers or run-time integer scalars; `step > 0`. It may be empty.
    """


@intrinsic("parallel")
def parallel(source):
    """`for i in I.parallel(domain)`: every point once, in no order. A tuple of domains gives `for i, j in ...`.

    No carries and no `break`; `return` is an error (write `continue`). Conflicting non-atomic effects are illegal.
    """


@intrinsic("indices")
def indices(region):
    """The coordinates of a domain or subregion as an `index` tensor `[extent]`; of a tuple: a tuple."""


@intrinsic("end")
def end(region):
    """The exclusive end of a domain or subregion, an `index` scalar."""


@intrinsic("ragged")
def ragged(outer, members, offsets, indices=None):
    """Groups over `members`: `r[g]` is the subregion `offsets[g]..offsets[g + 1]`, or with `indices` the mapped members; `r.outer`."""


@intrinsic("members")
def members(region):
    """The members of one ragged group."""


@intrinsic("assume_in_bounds")
def assume_in_bounds(index, view, axis):
    """A statement: `index` lies within `view`'s axis. Violating it is the caller's error."""


# -- values -------------------------------------------------------------------------------------------------

@intrinsic("full")
def full(shape, fill, dtype):
    """A tensor `shape` of `dtype`, every element `fill`. Shape items: ints, extents, index scalars, symbols; an int alone is rank 1."""


@intrinsic("zeros")
def zeros(shape, dtype):
    """`I.full(shape, 0, dtype)`."""


@intrinsic("cast")
def cast(value, dtype):
    """`value` converted to `dtype`: ints wrap, floats round to nearest even, float to int truncates (NaN, out of range: caller's error)."""


@intrinsic("bitcast")
def bitcast(value, dtype):
    """The same bits as another dtype of equal width; another width is an error."""


@intrinsic("reshape")
def reshape(value, shape):
    """The same elements in row-major order; one extent may be `...`. A count that cannot be proven equal is checked at launch."""


@intrinsic("transpose")
def transpose(value, permutation=None):
    """Result axis `i` is operand axis `permutation[i]`; omitted: axes reversed."""


@intrinsic("join")
def join(lhs, rhs):
    """`[..., 2]`: `lhs` and `rhs` along a new trailing axis."""


@intrinsic("record")
def record(**fields):
    """A product of named values, read as attributes; never a view element or kernel result."""


@intrinsic("select")
def select(condition, true_value, false_value):
    """Element-wise choice by a bool. Two literal branches take no dtype from the condition."""


@intrinsic("mask")
def mask(value, valid, fill):
    """`I.select(valid, value, fill)`."""


# -- element-wise -------------------------------------------------------------------------------------------

@intrinsic("exp")
def exp(value):
    """e to the power of each element; floats; 4 ulp. exp(-inf) is 0."""


@intrinsic("exp2")
def exp2(value, *, approximate=False, flush_to_zero=False):
    """2 to the power of each element; floats; 4 ulp. `approximate` (f32 only): 2 ulp; `flush_to_zero` needs it."""


@intrinsic("log")
def log(value):
    """Natural logarithm; floats; 4 ulp. NaN below zero, -inf at zero."""


@intrinsic("log2")
def log2(value):
    """Logarithm to base 2; floats; 4 ulp. NaN below zero, -inf at zero."""


@intrinsic("log1p")
def log1p(value):
    """log(1 + x); floats; 4 ulp. -inf at -1, NaN below."""


@intrinsic("lgamma")
def lgamma(value):
    """log of the absolute gamma function; floats. +0 at 1 and 2, +inf at 0, negative integers and both infinities."""


@intrinsic("sin")
def sin(value):
    """Sine; floats; 4 ulp for |x| <= 2**15. -0 is kept."""


@intrinsic("cos")
def cos(value):
    """Cosine; floats; 4 ulp for |x| <= 2**15."""


@intrinsic("tan")
def tan(value):
    """Tangent; floats; 5 ulp (f64: 8) for |x| <= 2**15. -0 is kept."""


@intrinsic("asin")
def asin(value):
    """Arc sine; floats; 4 ulp. NaN outside [-1, 1]; -0 is kept."""


@intrinsic("floor")
def floor(value):
    """The largest integer not above, as a float; exact."""


@intrinsic("ceil")
def ceil(value):
    """The smallest integer not below, as a float; exact."""


@intrinsic("erf")
def erf(value):
    """Error function; floats; 4 ulp. -0 is kept."""


@intrinsic("erfc")
def erfc(value):
    """1 - erf(x) without cancellation; floats; 5 ulp (f64: 8). 2 at -inf."""


@intrinsic("i0")
def i0(value):
    """Modified Bessel function of order zero; floats; 6 ulp; even, inf at both infinities."""


@intrinsic("rsqrt")
def rsqrt(value):
    """1 / sqrt(x); floats; 4 ulp. Infinity of the sign at +-0, NaN below."""


@intrinsic("sqrt")
def sqrt(value):
    """Square root; floats; correctly rounded. NaN below zero; -0 is kept."""


@intrinsic("sigmoid")
def sigmoid(value):
    """1 / (1 + exp(-x)); floats; 4 ulp."""


@intrinsic("tanh")
def tanh(value, *, approximate=False):
    """Hyperbolic tangent; floats; 4 ulp. `approximate` (f32 only): relative 2**-11. -0 is kept."""


@intrinsic("abs")
def abs(value):
    """Absolute value; of the smallest signed integer: itself; of unsigned: the value."""


@intrinsic("fdiv")
def fdiv(lhs, rhs, *, approximate=False, flush_to_zero=False):
    """`lhs / rhs` on floats. `approximate` (f32 only): 2 ulp for 2**-126 <= |rhs| <= 2**126; `flush_to_zero` needs it."""


@intrinsic("add")
def add(lhs, rhs):
    """`lhs + rhs`; may be passed as `combine=`."""


@intrinsic("sub")
def sub(lhs, rhs):
    """`lhs - rhs`."""


@intrinsic("mul")
def mul(lhs, rhs):
    """`lhs * rhs`; may be passed as `combine=`."""


@intrinsic("maximum")
def maximum(lhs, rhs):
    """The larger element; NaN if either is. May be passed as `combine=`."""


@intrinsic("minimum")
def minimum(lhs, rhs):
    """The smaller element; NaN if either is. May be passed as `combine=`."""


@intrinsic("maximum_num")
def maximum_num(lhs, rhs):
    """The larger element; the other operand where one is NaN. May be passed as `combine=`."""


@intrinsic("minimum_num")
def minimum_num(lhs, rhs):
    """The smaller element; the other operand where one is NaN. May be passed as `combine=`."""


@intrinsic("fma")
def fma(a, b, c):
    """`a * b + c` rounded once; floats."""
