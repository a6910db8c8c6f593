"""One program for each rule of the frontend's: the message, and the line and column it points at."""
import json
import random

import intent
import intent.language as I
import numpy as np
import pytest
from compilation import INTERNAL, LANGUAGE, compile_request
from intent.capture import capture
from programs import diagnostic, kernel

VIEWS = 'x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M", "N")], h: I.In[I.f16, ("M", "N")], n: I.i32, b: I.In[I.bool, ("N",)], q: I.In[I.i32, ("K",)], e: I.In[I.f8e5m2, ("N",)], c: I.In[I.f32, (8,)]'


class Mode(I.Enum):
    A = 1
    B = 2


class Other(I.Enum):
    A = 1


HELPERS = """@intent.fn
def loop(v):
    return loop(v)
@intent.fn
def needs(v, w):
    return v
@intent.fn
def typed(v: I.f32, k: I.Constexpr[int] = 1):
    return v
@intent.fn
def pair(a, b):
    return a, b
@intent.fn
def early(v):
    if v > 0:
        return v
    return v + 1
@intent.fn
def mixed(v):
    if v > 0:
        return v
    else:
        return (v, v)
@intent.fn
def fills(v: I.InOut[I.f32, ("A", "B")]):
    v[0, 0] = 1
@intent.fn
def square(v: I.In[I.f32, ("A", "A")]):
    return v[0, 0]
@intent.kernel
def other(x: I.f32):
    pass
def plain(v):
    return v
"""
FIRST = HELPERS.count("\n") + 3  # line of the first statement

# (body, message, column, line of the body from 1)
CASES = [
    # names and objects
    ("y[0, 0] = nowhere", "name 'nowhere' is not defined", 15),
    ("if x[0, 0] > 0:\n    t = x[0, 0]\ny[0, 0] = t", "name 't' is assigned in only one branch of the 'if' at line {0}", 15, 3),
    ("if x[0, 0] > 0:\n    t = x[0, 0]\nelse:\n    t = x[0, :]\ny[0, 0] = t", 'name \'t\' differs after the branches of the \'if\' at line {0}: f32 scalar and f32 tensor ["N"]', 15, 5),
    ("for i in range(3):\n    t = x[0, 0]\ny[0, 0] = t", "name 't' is assigned only inside the loop at line {0}", 15, 3),
    ("for i in range(3):\n    pass\ny[i, 0] = 0", "name 'i' is the variable of the loop at line {0} and has no value after it", 7, 3),
    ("t = x[0, 0]\nfor i in I.parallel(I.domain(3)):\n    t = t + x[i, 0]", "name 't' is updated in the I.parallel loop at line {1} and is not carried from one iteration to the next", 13, 3),
    ("d = I.domain(3)\nfor i in range(3):\n    z = x[0, d]\n    d = I.domain(4)", "name 'd' is updated in the loop at line {1} and is not carried from one iteration to the next", 18, 3),
    ("I.nothing(x)", "the language has no name 'nothing'", 5),
    ("I.reduce.most(x[:, :], axis=0)", "the language has no name 'reduce.most'", 5),
    ("intent.compile(x)", "'intent.compile' is a host name; it has no meaning inside a kernel", 5),
    ("math.nothing", "'math.nothing' is not defined", 5),
    ("t = len(x)", "Python builtin 'len' is not part of the language; use x.shape", 9),
    ("t = min(n, 1)", "Python builtin 'min' is not part of the language; use I.minimum or I.reduce.min", 9),
    ("t = box(1)", "a Python object ('object') is not called", 9),
    ("t = plain(1)", "a plain Python function is not called from a kernel; decorate it with @intent.fn", 9),
    ("t = other(x[0, 0])", "'other' is a kernel; a kernel calls @intent.fn helpers, and host code launches kernels", 9),
    ("fills(x)", "parameter 'v': expected a view to write, got 'x', an input (I.In)", 11),
    ("t = square(I.buffer((3, 4), I.f32, init=0))", "parameter 'v': axis 1 has extent 4, expected A = 3", 16),
    ("t = x.size", "view 'x' has no attribute 'size'", 9),
    ("t = I.record(a=1).b", "the record has no field 'b'; it has a", 9),
    ("t = Mode.C", "enum Mode has no member 'C'", 9),
    ("t = Mode.A == Other.A", "an enum member is comparable within its own type only, got Mode.A and Other.A", 9),
    ("t = Mode.A < Mode.B", "enum members have no order; use == or !=", 9),
    ("t = I.f32(1)", "a dtype is not called; convert with I.cast(value, I.f32)", 9),
    ("t = x[0, 0](1)", "f32 scalar is not called", 9),
    ("t = I.random(1)", "I.random is not called", 9),
    # literals and folding
    ("y[0, 0] = 1e39", "literal 1e+39 cannot be held by f32; convert a value with I.cast", 15),
    ("t = n + 0.5", "literal 0.5 cannot be held by i32; convert a value with I.cast", 13),
    ("t = n + 3000000000", "literal 3000000000 cannot be held by i32; convert a value with I.cast", 13),
    ("t = h[0, 0] * 70000", "literal 70000 cannot be held by f16; convert a value with I.cast", 19),
    ("t = I.full((), 300, I.u8)", "literal 300 cannot be held by u8; convert a value with I.cast", 20),
    ("t = I.full((), -1, I.u8)", "literal -1 cannot be held by u8; convert a value with I.cast", 20),
    ("t = I.full((), I.inf, I.f8e4m3fn)", "literal inf cannot be held by f8e4m3fn; convert a value with I.cast", 20),
    ("t = I.full((), 2, I.bool)", "literal 2 cannot be held by bool; convert a value with I.cast", 20),
    ("t = n + 'a'", "expected a tensor or scalar, got string 'a'", 13),
    ("t = 1 // 0", "compile-time division by zero", 9),
    ("if ~True:\n    pass", "operator '~' of a compile-time bool is an integer in Python; use 'not'", 8),
    ("t = 2 ** 200", "the compile-time integer does not fit 128 bits", 9),
    ("t = 1" + "0" * 50, "the integer does not fit 128 bits", 9),
    ("t = 1.5 & 2", "operator '&' takes integers, got 1.5 and 2", 9),
    ("t = 1 << -1", "the shift amount is not negative, got -1", 9),
    ("t = 'a' + 1", "operator '+' does not take 'a' and 1", 9),
    ("t = 'a' < 1", "cannot compare 'a' with 1", 9),
    # operands
    ("t = x[:, :] + h[:, :]", "'+': operands share a dtype, got f32 and f16; convert one with I.cast", 9),
    ("t = I.maximum(x[:, :], n)", "I.maximum: operands share a dtype, got f32 and i32; convert one with I.cast", 9),
    ("t = x[:, :] + x[0, q[:]]", 'shapes ["M", "N"] and ["K"] do not broadcast: extents "N" and "K" of axis 1 are neither equal nor 1', 9),
    ("t = c[:] + c[:][None, :][0, I.domain(4)]", "shapes [8] and [4] do not broadcast: extents 8 and 4 of axis 0 are neither equal nor 1", 9),
    ("t = n / 2", "'/' takes floats, got i32; use // for integers, or convert with I.cast", 9),
    ("t = b[:] + b[:]", "'+' does not take bool; use & | ^ ~ or convert with I.cast", 9),
    ("t = e[:] * e[:]", "'*' does not take f8e5m2: 8-bit floats are stored, cast, compared, selected and contracted; convert with I.cast first", 9),
    ("t = -e[:]", "'-' does not take f8e5m2: 8-bit floats are stored, cast, compared, selected and contracted; convert with I.cast first", 9),
    ("t = x[:, :] & 1.0", "'&' takes integers and bools, got f32", 9),
    ("t = x[:, :] << 1.0", "'<<' takes integers, got f32", 9),
    ("t = ~x[0, 0]", "'~' takes integers and bools, got f32", 9),
    ("t = x[:, :] @ x[:, :]", "operator '@' is not part of the language; use I.matmul", 9),
    ("t = n ** n", "'**' takes a compile-time integer exponent or floats, got i32", 9),
    ("t = n ** -1", "'**' with a negative exponent takes floats, got i32", 14),
    ("t = x[0, 0] ** 99999999", "'**' takes an exponent of magnitude up to 1048576, got 99999999", 20),
    ("t = x + 1", "expected a tensor or scalar, got view 'x'; read its elements with x[:, :]", 9),
    ("t = I.domain(3) + 1", "expected a tensor or scalar, got a domain; its coordinates are I.indices(...)", 9),
    ("t = 0 < x[:, :] < 1", 'a chained comparison takes scalars, got bool tensor ["M", "N"]; join comparisons with &', 9),
    ("t = n in (1, 2)", "operator 'In' is not part of the language", 9),
    ("t = n is n", "'is' compares with None only; use ==", 9),
    ("t = n == Mode.A", "cannot compare i32 scalar with enum member Mode.A", 9),
    # conditions
    ("if x[:, :] > 0:\n    pass", 'if takes a scalar condition, got bool tensor ["M", "N"]; use I.select, and & | ~ on tensors', 8),
    ("if n:\n    pass", "if takes a bool condition, got i32 scalar; compare it", 8),
    ("t = b[:] and b[:]", "'and' takes a scalar condition, got bool tensor [\"N\"]; use I.select, and & | ~ on tensors", 9),
    ("t = not b[:]", "'not' takes a scalar condition, got bool tensor [\"N\"]; use I.select, and & | ~ on tensors", 9),
    ("t = 1 if b[:] else 2", "a conditional expression takes a scalar condition, got bool tensor [\"N\"]; use I.select, and & | ~ on tensors", 14),
    ("t = I.domain(3) if n > 0 else I.domain(1, x.shape[0], 2)", 'both sides of a conditional expression have one type, got I.domain(0, 3) and I.domain(1, "M", 2)', 9),
    ("t = I.domain(3) if n > 0 else I.domain(3)", "both sides of a conditional expression have one type, got I.domain(0, 3) and another I.domain(0, 3)", 9),
    ("t = x[0, 0] if n > 0 else n", "both sides of a conditional expression have one type, got f32 scalar and i32 scalar", 9),
    # indexing
    ("t = x[0, 0, 0]", "view 'x' has rank 2; this index is one too many", 17),
    ("t = x[-1, 0]", "index 0 is negative (-1); indices count from 0", 11),
    ("t = c[8]", "index 0 is 8, out of range for extent 8", 11),
    ("t = x[0.5, 0]", "index 0: expected an integer scalar, ':', a domain or an integer tensor, got literal 0.5", 11),
    ("t = x[0, b[:]]", "index 1: expected an integer scalar, ':', a domain or an integer tensor, got bool tensor [\"N\"]; select by a bool with I.select or I.mask", 14),
    ("t = x[1:3, 0]", "index 0 is a slice with bounds; an axis takes ':' or a subregion, as in rows[b:e] of rows = I.domain(...)", 11),
    ("t = x[::2, 0]", "a slice has no step in the language; use I.domain(start, stop, step)", 13),
    ("t = x[..., 0]", "'...' is not an index of the language; missing trailing indices are ':'", 11),
    ("t = x[q[:], I.indices(I.domain(0, n))]", 'shapes ["K"] and ["%n"] do not broadcast: extents "K" and "%n" of axis 0 are neither equal nor 1', 9),
    ("t = I.domain(3)[0]", "a domain is indexed by a slice b:e, got literal 0", 21),
    ("t = I.domain(3)[0:1, 0:1]", "a domain has one axis, got 2 indices", 9),
    ("t = I.domain(2, 8)[0:4]", "subregion [0:4] does not lie within its source [2:8]", 9),
    ("t = I.domain(8)[5:3]", "subregion [5:3] does not lie within its source [0:8]", 9),
    ("t = I.domain(8)[0.5:3]", "subregion begin: expected an integer scalar, got literal 0.5", 21),
    ("t = (1, 2)[5]", "tuple index 5 is out of range for 2 items", 16),
    ("t = (1, 2)[n]", "tuple index: expected a compile-time integer, got i32 scalar", 16),
    ("t = I.record(a=1)[0]", "a record is read by attribute, as in r.a", 9),
    ("t = n[0]", "i32 scalar is not indexed", 9),
    # writes and assignment
    ("x[0, 0] = 1", "parameter 'x' is an input (I.In) and is not written", 5),
    ("t = x[:, :]\nt[0, 0] = 1", 'f32 tensor ["M", "N"] is not written by index; values are immutable, and only Out and InOut views and buffers are written', 5, 2),
    ("y[:, :] = h[:, :]", "view 'y' has dtype f32, the value f16; convert it with I.cast", 15),
    ("y[0, 0] = x[0, :]", "view 'y' takes one element here, got a value of shape [\"N\"]", 15),
    ("y[0, :] = x[:, :]", "value of shape [\"M\", \"N\"] has more axes than the selected part of view 'y', [\"N\"]", 15),
    ("y[0, :] = x[:, 0]", "value of shape [\"M\"] does not broadcast to the selected part of view 'y', [\"N\"]: extents \"M\" and \"N\" of axis 0", 15),
    ("y[None, 0, 0] = 1", "None inserts an axis into a value that is read; a write has none", 7),
    ("t = I.record(a=1)\nt.a = 2", "values are immutable; make a new record", 5, 2),
    ("a, b2 = x[0, 0]", "expected a tuple of 2 to unpack, got f32 scalar", 13),
    ("a, b2 = (1, 2, 3)", "expected 3 targets to unpack into, got 2", 5),
    ("[a] = (1,)", "a list is not a target of the language", 5),
    # control
    ("for i in (1, 2):\n    pass", "a loop runs over a domain, range(...) or I.parallel(...), got a tuple of 2", 14),
    ("for i in range(3):\n    pass\nelse:\n    pass", "a loop has no else in the language", 9, 4),
    ("for i, j in range(3):\n    pass", "the variable of a loop over one domain is a name", 9),
    ("t = 0.5\nfor i in range(3):\n    t = (t, t)", "carry 't': expected the structure of literal 0.5, got a tuple of 2", 5, 2),
    ("t = x[0, 0]\nfor i in range(3):\n    t = n", "carry 't' of the loop at line {1} keeps its dtype and shape: expected f32 scalar, got i32 scalar after the body", 5, 2),
    ("t = x[0, 0]\nfor i in range(3):\n    t = x[0, :]", "carry 't' of the loop at line {1} keeps its dtype and shape: expected f32 scalar, got f32 tensor [\"N\"] after the body", 5, 2),
    ("t = x[:, 0]\nfor i in range(3):\n    t = x[0, :]", "carry 't' of the loop at line {1} keeps its dtype and shape: expected f32 tensor [\"M\"], got f32 tensor [\"N\"] after the body", 5, 2),
    ("for i in I.parallel(I.domain(3)):\n    return", "return inside I.parallel; continue ends one iteration", 9, 2),
    ("for i in I.parallel(I.domain(3)):\n    break", "an I.parallel loop has no break", 9, 2),
    ("for i in I.parallel(3):\n    pass", "I.parallel takes a domain or a tuple of domains, got literal 3", 25),
    ("for i in I.parallel((I.domain(2), 3)):\n    pass", "I.parallel takes domains, got literal 3", 25),
    ("for i in I.domain(0, 3, 0):\n    pass", "domain step: expected a positive step, got 0", 29),
    ("for i in range(n > 0):\n    pass", "domain stop: expected an integer scalar, got bool scalar", 20),
    ("for i in range():\n    pass", "range takes one to three positional arguments", 14),
    ("assert n > 0", "statement Assert is not part of the language", 5),
    ("t = [1, 2]", "a list is not part of the language; a tuple (a, b) is", 9),
    ("t = lambda v: v", "a lambda is not part of the language", 9),
    ("t = I.exp(v for v in (1, 2))", "a generator expression is not part of the language", 14),
    ("t = I.exp(*x)", "unpacked arguments are not part of the language", 15),
    ("import os", "statement Import is not part of the language", 5),
    ("t = f'{n}'", "an f-string is not part of the language", 9),
    # calls
    ("t = loop(n)", "'loop' calls itself; the language has no recursion", None),
    ("t = needs(n)", "'needs' lacks the argument 'w'", 9),
    ("t = needs(n, n, n)", "'needs' takes 2 arguments, got 3", 21),
    ("t = needs(n, u=n)", "'needs' has no parameter 'u'", 20),
    ("t = needs(n, v=n)", "'needs': argument 'v' is given twice", 20),
    ("t = typed(n)", "parameter 'v': expected f32 scalar, got i32 scalar", 15),
    ("t = typed(x[0, 0], k=n)", "constexpr 'k': expected a compile-time value, got i32 scalar", 26),
    ("t = typed(x[0, 0], k=0.5)", "constexpr 'k': expected int, got 0.5", 26),
    ("t = mixed(x[0, 0])", "both branches of the if return one type, got f32 scalar and a tuple of 2", None),
    ("t = I.exp()", "I.exp lacks the argument 'value'", 9),
    ("t = I.exp(x[0, 0], 1)", "I.exp takes 1 positional argument, got one too many", 24),
    ("t = I.exp2(x[0, 0], True)", "I.exp2 takes 1 positional argument, got one too many; approximate, flush_to_zero are given by name", 25),
    ("t = I.exp(v=1.0)", "I.exp has no parameter 'v'; it takes value", 17),
    ("t = I.add(1.0, lhs=n)", "I.add: argument 'lhs' is given twice", 24),
    ("t = I.exp(*x)", "unpacked arguments are not part of the language", 15),
    ("t = I.exp(**x)", "unpacked arguments are not part of the language", 15),
    ("t = I.record(1)", "I.record takes named fields only", 18),
    ("t = I.record()", "I.record takes at least one field", 9),
    ("t = I.record(a=x)", "a record holds values, got view 'x'", 20),
    # element-wise and construction
    ("t = I.exp(n)", "I.exp takes floats, got i32; convert with I.cast", 15),
    ("t = I.sqrt(e[:])", "I.sqrt does not take f8e5m2: 8-bit floats are stored, cast, compared, selected and contracted; convert with I.cast first", 16),
    ("t = I.abs(b[:])", "I.abs does not take bool; use & | ^ ~ or convert with I.cast", 15),
    ("t = I.tanh(h[:, :], approximate=True)", "I.tanh: approximate=True takes f32, got f16", 9),
    ("t = I.exp2(x[:, :], flush_to_zero=True)", "I.exp2: flush_to_zero=True needs approximate=True", 9),
    ("t = I.exp2(x[:, :], approximate=n)", "approximate: expected a compile-time bool, got i32 scalar", 37),
    ("t = I.fdiv(n, n)", "I.fdiv takes floats, got i32; convert with I.cast", 9),
    ("t = I.fdiv(h[:, :], 2.0, approximate=True)", "I.fdiv: approximate=True takes f32, got f16", 9),
    ("t = I.fma(n, n, n)", "I.fma takes floats, got i32; convert with I.cast", 9),
    ("t = I.full((2, -1), 0, I.f32)", "shape: an extent is not negative, got -1", 16),
    ("t = I.full((2, ...), 0, I.f32)", "'...' stands only in the shape of I.reshape", 16),
    ("t = I.full((\"Q\",), 0, I.f32)", "no view has the symbol \"Q\"", 16),
    ("t = I.full((2.5,), 0, I.f32)", "shape: expected an integer scalar, got literal 2.5", 16),
    ("t = I.full((2,), x[0, :], I.f32)", "I.full: expected a scalar fill, got f32 tensor [\"N\"]", 22),
    ("t = I.full((2,), n, I.f32)", "I.full: fill is i32 scalar and dtype f32; convert it with I.cast", 22),
    ("t = I.zeros((2,), 3)", "expected a dtype such as I.f32, got literal 3", 23),
    ("t = I.cast(x, I.f16)", "expected a tensor or scalar, got view 'x'; read its elements with x[:, :]", 16),
    ("t = I.bitcast(x[:, :], I.f16)", "I.bitcast: expected dtypes of equal width, got f32 and f16", 9),
    ("t = I.bitcast(b[:], I.u8)", "I.bitcast does not take bool; use I.cast", 9),
    ("t = I.reshape(c[:], (3, 3))", "I.reshape: [8] has 8 elements, [3, 3] has 9", 25),
    ("t = I.reshape(c[:], (3, ...))", "I.reshape: [8] has 8 elements, which do not divide into [3, 1] with one '...'", 25),
    ("t = I.reshape(c[:], (..., ...))", "a shape has one '...' at most", 25),
    ("t = I.reshape(n, (1,))", "I.reshape: expected a tensor, got i32 scalar", 19),
    ("t = I.transpose(x[:, :], (0, 0))", "I.transpose: expected a permutation of 2 axes, got axis 0 twice", 30),
    ("t = I.transpose(x[:, :], (0,))", "I.transpose: expected a permutation of 2 axes, got 1", 30),
    ("t = I.transpose(x[:, :], 0)", "I.transpose: expected a tuple of axes, got literal 0", 30),
    ("t = I.join(x[:, :], h[:, :])", "I.join: operands share a dtype, got f32 and f16; convert one with I.cast", 9),
    ("t = I.select(x[:, :], 1.0, 2.0)", "I.select: condition: expected bool, got f32 tensor [\"M\", \"N\"]", 18),
    ("t = I.indices(3)", "I.indices takes a domain or a tuple of domains, got literal 3", 19),
    ("t = I.indices((3,))", "I.indices takes domains, got literal 3", 19),
    ("t = I.end(3)", "I.end takes a domain or subregion, got literal 3", 15),
    # structured
    ("t = I.reduce.sum(x[0, 0], axis=0)", "I.reduce.sum: expected a tensor, got f32 scalar", 22),
    ("t = I.reduce.sum(x[:, :], axis=2)", "axis 2 is out of range for rank 2", 36),
    ("t = I.reduce.sum(x[:, :], axis=(0, -2))", "axis -2 is repeated", 36),
    ("t = I.reduce.sum(x[:, :], axis=n)", "axis: expected a compile-time integer, got i32 scalar", 36),
    ("t = I.reduce.mean(q[:], axis=0)", "I.reduce.mean takes floats, got i32; convert with I.cast", 23),
    ("t = I.reduce.mean(x[:, :], axis=0, acc_dtype=I.i32)", "I.reduce.mean: acc_dtype is a float, got i32", 50),
    ("t = I.reduce.any(x[:, :], axis=0)", "I.reduce.any takes bool, got f32; compare first", 22),
    ("t = I.reduce.max(b[:], axis=0)", "I.reduce.max does not take bool; use I.reduce.any or I.reduce.all", 22),
    ("t = I.reduce.prod(e[:], axis=0)", "I.reduce.prod does not take f8e5m2: 8-bit floats are stored, cast, compared, selected and contracted; convert with I.cast first", 23),
    ("t = I.reduce(x[:, :], 0, (0, 0), I.add)", "identity: expected the structure of f32 tensor [\"M\", \"N\"], got a tuple of 2", 30),
    ("t = I.reduce(x[:, :], 0, n, I.add)", "identity: expected f32 scalar, got i32 scalar", 30),
    ("t = I.reduce(x[:, :], 0, 0, pair)", "combine result: expected the structure of f32 tensor [\"M\", \"N\"], got a tuple of 2", 33),
    ("t = I.reduce(x[:, :], 0, 0, n)", "combine: expected an @intent.fn or one of I.add, I.mul, I.maximum, I.minimum, I.maximum_num, I.minimum_num, got i32 scalar", 33),
    ("t = I.reduce(x[:, :], 0, 0, I.add, n)", "combine_operands: expected a tuple, got i32 scalar", 40),
    ("t = I.reduce((), 0, (), I.add)", "I.reduce takes at least one tensor", 18),
    ("t = I.matmul(x[:, :], h[:, :], acc_dtype=I.f32)", "I.matmul: operands share a dtype, got f32 and f16; convert one with I.cast", 9),
    ("t = I.matmul(x[:, :], x[:, :], acc_dtype=I.f32)", 'reduction axes 1 of the left and 0 of the right operand: expected equal extents, got "N" and "M"; unknown extents are equal only where they are the same symbol', 9),
    ("t = I.matmul(x[:, 0], x[:, :], acc_dtype=I.f32)", 'I.matmul: expected a left operand of rank 2 or more, got shape ["M"]', 18),
    ("t = I.matmul(x[:, :], x[:, :], acc_dtype=I.i32)", "I.matmul: acc_dtype of f32 operands is a float, got i32", 46),
    ("t = I.matmul(x[:, :], x[:, :])", "I.matmul lacks the argument 'acc_dtype'", 9),
    ("t = I.matmul(b[:], b[:], acc_dtype=I.f32)", "I.matmul does not take bool; convert with I.cast", 9),
    ("t = I.dot(x[:, :], x[0, :], acc_dtype=I.f32)", 'I.dot: expected a rank-1 operand, got f32 tensor ["M", "N"]', 15),
    ("t = I.outer(x[:, :], x[0, :])", 'I.outer: expected a rank-1 operand, got f32 tensor ["M", "N"]', 17),
    ("t = I.contract(x[:, :], x[:, :], 0, I.f32)", "reduce: expected a tuple of axis pairs, got literal 0", 38),
    ("t = I.contract(x[:, :], x[:, :], (0,), I.f32)", "reduce: expected pairs (lhs axis, rhs axis), got literal 0", 38),
    ("t = I.contract(x[:, :], x[:, :], ((0, 2),), I.f32)", "reduce: axis 2 is out of range for the right operand of rank 2", 38),
    ("t = I.contract(x[:, :], x[:, :], ((0, 0), (0, 1)), I.f32)", "axis 0 of the left operand is used twice", 9),
    ("t = I.contract(x[:, :], x[:, :], ((0, 0),), I.f32, batch=((1, 0),))", "axis 0 of the right operand is used twice", 9),
]


def fails(body, **extra):
    return diagnostic(kernel(VIEWS, body, HELPERS, Mode=Mode, Other=Other, box=object(), math=__import__("math"), **extra))


@pytest.mark.parametrize("case", CASES, ids=[c[0].splitlines()[-1] for c in CASES])
def test_rule(case):
    body, message, column, *line = case
    found = fails(body)
    assert found["message"] == message.format(*range(FIRST, FIRST + 9)) and found["error"] == "LanguageError"
    if column:
        assert (found["line"], found["column"]) == (FIRST + (line[0] if line else 1) - 1, column)
    assert found["file"].startswith("case") and found["end_column"] is None or found["end_column"] > found["column"]


def test_notes_point_at_operands_and_callers():
    found = fails("t = x[:, :] + h[:, :]")
    assert [(n["message"], n["column"]) for n in found["notes"]] == [('left operand is f32 tensor ["M", "N"]', 9), ('right operand is f16 tensor ["M", "N"]', 19)]
    found = fails("t = loop(n)")
    assert found["notes"][0]["message"] == "in 'loop', called here" and found["notes"][0]["line"] == FIRST
    assert fails("t = needs(n)")["notes"][0]["message"] == "parameter 'w' is here"


def test_a_combine_function_has_no_effects():
    k = kernel(VIEWS, "t = I.reduce(x[:, :], 0, 0, put, (y,))", "@intent.fn\ndef put(a, b, view):\n    view[0, 0] = a\n    return a\n")
    assert diagnostic(k)["message"] == "a combine function has no effects; it writes 'y'"


@pytest.mark.parametrize("body, line, column", [
    ("return n", 0, 5), ("y[0, 0] = 1\nif n > 0:\n    return n\ny[0, 0] = 2", 2, 9), ("for i in range(3):\n    if n > 0:\n        return (n, n)", 2, 13),
    ("return typed(x[0, 0])", 0, 5)])
def test_a_kernel_returns_nothing(body, line, column):
    found = fails(body)
    assert (found["message"], found["line"], found["column"]) == ("kernel 'k' returns a value; results go to Out views", FIRST + line, column)


def test_returns_that_differ_are_named():
    found = fails("t = mixed(x[0, 0])")
    line = HELPERS.split("\n").index("def mixed(v):") + 1
    wanted = [("f32 scalar is returned here", line + 2), ("a tuple of 2 is returned here", line + 4)]
    assert found["line"] == line + 1 and [(n["message"], n["line"]) for n in found["notes"] if "returned" in n["message"]] == wanted


def test_constexprs():
    k = kernel("x: I.Out[I.f32, ('K',)], K: I.Constexpr[int], F: I.Constexpr[float] = 1.0, E: I.Constexpr[Mode] = Mode.A, e: I.u8 = 3", "x[:] = F", Mode=Mode)
    assert diagnostic(k)["message"] == "constexpr 'K' has no value: pass constexprs={\"K\": ...}"
    assert diagnostic(k, {"K": 1, "Q": 1})["message"] == "kernel 'k' has no constexpr parameter 'Q'"
    assert diagnostic(k, {"K": True})["message"] == "constexpr 'K': expected int, got True"
    assert diagnostic(k, {"K": 1, "E": Other.A})["message"] == "constexpr 'E': expected a member of Mode, got Other.A"
    assert diagnostic(k, {"K": -1})["message"] == "parameter 'x': constexpr 'K' stands for an extent and must be a non-negative int, got -1"
    assert diagnostic(kernel("e: I.u8 = 300", "pass"))["message"] == "literal 300 cannot be held by u8; convert a value with I.cast"


# -- requests that no capture makes -----------------------------------------------------------------------------------------------------

BODY = """M, N = x.shape
acc = 0
for i in range(n):
    acc = acc + x[i, 0] * (2 if i > 3 else 1)
    if acc > 1.0 and not b[0]:
        acc = helper(acc, scale=2)
y[:, :] = I.reduce.sum(x[:, :], axis=1, keepdims=True) + I.select(x[:, :] > acc, 1.0, 0.0)
for i, j in I.parallel((I.domain(M), I.domain(0, N, 2)[2:6])):
    y[i, j] += I.record(a=x[i, j], b=(1, 2)).b[1]
y[0, :] = I.reduce((x[:, :], x[:, :] ** 2), 0, (0.0, 0.0), both)[1]
y[0, 0] = I.matmul(x[:, :], I.transpose(x[:, :]), acc_dtype=I.f32)[0, 0]
"""
BEFORE = "@intent.fn\ndef helper(v, scale: I.Constexpr[int] = 3):\n    return v * scale\n@intent.fn\ndef both(a, b):\n    return (a[0] + b[0], a[1] + b[1])\n"


def request():
    return json.loads(json.dumps(capture(kernel(VIEWS, BODY, BEFORE))))


def containers(value, out):
    stack = [value]
    while stack:
        at = stack.pop()
        if isinstance(at, (dict, list)):
            out.append(at)
            stack.extend(at.values() if isinstance(at, dict) else at)
    return out


def mutate(value, rng):
    target = rng.choice([c for c in containers(value, []) if c])
    key = rng.choice(list(target)) if isinstance(target, dict) else rng.randrange(len(target))
    kind = rng.randrange(5)
    others = containers(value, [])
    if kind == 0:
        del target[key]
    elif kind == 1:
        target[key] = rng.choice([None, -1, 0, 3, 10**6, "", "x", "Add", "I", True, 2.5, [], {}, {"int": "7"}, {"none": True}, {"dtype": "f16"}, {"str": "M"}])
    elif kind == 2 and isinstance(target[key], int):
        target[key] += rng.choice([-2, -1, 1, 2])
    elif kind == 3:
        target[key] = json.loads(json.dumps(rng.choice(others)))
    else:
        other = rng.choice([c for c in others if c])
        target[key] = json.loads(json.dumps(rng.choice(list(other.values()) if isinstance(other, dict) else other)))


@pytest.mark.parametrize("seed", range(40))
def test_mutated_requests_end_in_a_diagnostic(seed):
    rng = random.Random(seed)
    for _ in range(10):
        mutated = request()
        for _ in range(rng.randrange(1, 4)):
            mutate({k: v for k, v in mutated.items() if k != "files"}, rng)
        status, fields = compile_request(emit="kir", target=None, **mutated)
        assert status != INTERNAL and (status == 0) == (not fields["diagnostics"]), fields["diagnostics"]


def test_malformed_requests():
    base = request()
    for change, message in [
        (lambda r: r["nodes"][0].__setitem__(0, 3), "request: nodes[0]: expected a kind string first and a field object last"),
        (lambda r: r["nodes"].__setitem__(0, []), "request: nodes[0]: expected [kind, file, line, column, end_line, end_column, fields]"),
        (lambda r: r["nodes"][0].__setitem__(1, 9), "request: nodes[0]: file 9 does not exist"),
        (lambda r: r["nodes"][0][6].__setitem__("arg", "a b"), "request: nodes[0]: 'a b' is not an identifier"),
        (lambda r: r.__setitem__("entry", 99), "request: entry: expected the number of a function"),
        (lambda r: r.__setitem__("entry", 1), "request: entry: 'helper' is not a kernel"),
        (lambda r: r["functions"][0]["params"][0].__setitem__("extra", 1), "request: functions[0].params[0]: unknown field 'extra'"),
        (lambda r: r["functions"][0]["names"].__setitem__("I", {"what": "x"}), "request: functions[0].names['I']: unknown meaning 'what'"),
        (lambda r: r["constexprs"].__setitem__("K", {"int": "x"}), "request: constexprs['K']: expected decimal digits, got 'x'"),
        (lambda r: r["constexprs"].__setitem__("K", {"float": "1.5"}), "request: constexprs['K']: expected a hexadecimal float, inf, -inf or nan, got '1.5'"),
    ]:
        changed = json.loads(json.dumps(base))
        change(changed)
        status, fields = compile_request(emit="kir", target=None, **changed)
        assert status == LANGUAGE and [d["message"] for d in fields["diagnostics"]] == [message]


def test_nodes_form_a_tree():
    base = request()
    number, node = next((i, n) for i, n in enumerate(base["nodes"]) if n[0] == "BinOp")
    for child, message in [(number, f"child {number} does not come before it"), (node[6]["left"], f"child {node[6]['left']} has a parent already")]:
        changed = json.loads(json.dumps(base))
        changed["nodes"][number][6]["right"] = child
        fields = compile_request(emit="kir", target=None, **changed)[1]
        assert fields["diagnostics"][0]["message"] == f"request: nodes[{number}]: {message}"


WRITER = """@intent.fn
def put(v: I.In[I.f32, ("N",)]):
    v[0] = 1.0
@intent.fn
def total(v: I.In[I.f32, ("K",)], w: I.In[I.f32, ("K",)]):
    return v[0] + w[0]
"""


def test_a_helper_does_not_write_its_input():
    wrong = kernel('x: I.InOut[I.f32, ("N",)]', "put(x)", WRITER)
    with pytest.raises(intent.LanguageError, match="parameter 'v' is an input") as error:
        intent.generate(wrong, "triton:sm_90")
    assert error.value.line == 3
    with pytest.raises(intent.LanguageError, match="parameter 'v' is an input"):
        intent.interpret(wrong)(np.zeros(3, np.float32))


def test_equal_symbols_of_a_helper_are_equal_extents():
    summed = kernel('x: I.InOut[I.f32, ("N",)], y: I.In[I.f32, ("M",)]', "x[0] = total(x, y)", WRITER)
    x = np.ones(3, np.float32)
    for run, error in ((intent.compile(summed), intent.CallError), (intent.interpret(summed), intent.LanguageError)):
        run(x.copy(), np.ones(3, np.float32))
        with pytest.raises(error, match="parameter 'w': axis 0 has extent"):
            run(x.copy(), np.ones(5, np.float32))
