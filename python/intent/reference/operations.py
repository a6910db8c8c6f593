"""Which function carries out each operation of the language; the documented signature binds the arguments."""
from __future__ import annotations

from . import construction, contractions, elementwise, folds, memory, packed, regions, structured


def _two(op, name):
    return lambda lhs, rhs: elementwise.binary(op, lhs, rhs, f"I.{name}")


OPERATIONS = {
    # coordinates
    "domain": regions.domain, "parallel": regions.parallel, "indices": regions.indices, "end": regions.end, "ragged": regions.ragged,
    "members": regions.members, "assume_in_bounds": memory.assume_in_bounds,
    # values
    "full": construction.full, "zeros": construction.zeros, "cast": elementwise.cast, "bitcast": elementwise.bitcast,
    "reshape": construction.reshape, "transpose": construction.transpose, "join": construction.join,
    "record": construction.record, "select": elementwise.select, "mask": elementwise.mask,
    # element-wise
    **{name: elementwise.unary_function(name) for name in
       ("exp", "log", "log2", "log1p", "lgamma", "sin", "cos", "tan", "asin", "floor", "ceil", "erf", "erfc", "i0", "rsqrt", "sqrt", "sigmoid")},
    "exp2": elementwise.exp2, "tanh": elementwise.tanh, "fdiv": elementwise.fdiv, "abs": elementwise.absolute, "fma": elementwise.fma,
    "add": _two("+", "add"), "sub": _two("-", "sub"), "mul": _two("*", "mul"),
    **{name: _two(name, name) for name in ("maximum", "minimum", "maximum_num", "minimum_num")},
    # structured
    "reduce": structured.reduce, **{f"reduce.{kind}": structured.reduce_named(kind) for kind in ("sum", "prod", "max", "min", "mean", "any", "all")},
    "arg_reduce.max": structured.arg_reduce("max"), "arg_reduce.min": structured.arg_reduce("min"), "scan": structured.scan,
    **{f"cum{kind}": structured.cumulative(kind) for kind in ("sum", "max", "prod")}, "histogram": structured.histogram,
    "region_fold": folds.region_fold, "region_scan": folds.region_scan,
    # contractions
    "contract": contractions.contract, "dot": contractions.dot, "matvec": contractions.matvec, "vecmat": contractions.vecmat,
    "matmul": contractions.matmul, "outer": construction.outer, "scaled_contract": contractions.scaled_contract,
    "scaled_matmul": contractions.scaled_matmul, "sparse_contract": contractions.sparse_contract, "sparse_matmul": contractions.sparse_matmul,
    "sparse_contract_2to4": contractions.sparse_contract_2to4, "sparse.two_of_four": contractions.two_of_four,
    "sparse.one_of_two": contractions.one_of_two, "quantize": packed.quantize, "quantized_dot": packed.quantized_dot,
    # memory
    "gather": memory.gather, "store": memory.store, "mutable_load": memory.mutable_load, "scatter_unique": memory.scatter_unique,
    "scatter_reduce": memory.scatter_reduce, "buffer": memory.buffer, "atomic.load": memory.atomic_load, "atomic.store": memory.atomic_store,
    "atomic.exchange": memory.atomic_update("exchange", None), "atomic.add": memory.atomic_update("add", "+"),
    "atomic.max": memory.atomic_update("max", "maximum_num"), "atomic.min": memory.atomic_update("min", "minimum_num"),
    "atomic.and_": memory.atomic_update("and_", "&"), "atomic.or_": memory.atomic_update("or_", "|"),
    "atomic.xor": memory.atomic_update("xor", "^"), "atomic.compare_exchange": memory.compare_exchange,
    "random.bits": packed.random_bits, "random.uniform": packed.random_uniform,
}
