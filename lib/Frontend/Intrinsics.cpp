#include "Intrinsics.h"

#include "Lowering.h"
#include "llvm/ADT/StringMap.h"
#include <cmath>

using namespace intent;
using namespace intent::frontend;
using llvm::StringRef;

namespace {
using L = Lowering;
constexpr int unary(UnaryKind kind) { return static_cast<int>(kind); }
constexpr int atomic(AtomicKind kind) { return static_cast<int>(kind); }
constexpr int binary(BinaryKind kind) { return static_cast<int>(kind); }

const Intrinsic intrinsics[] = {
    // coordinates
    {"domain", "start, stop=, step=", &L::lowerDomain},
    {"parallel", "source", &L::lowerParallel},
    {"indices", "region", &L::lowerIndices},
    {"end", "region", &L::lowerEnd},
    {"ragged", "outer, members, offsets, indices=", &L::lowerRagged},
    {"members", "region", &L::lowerMembers},
    {"assume_in_bounds", "index, view, axis", &L::lowerAssumeInBounds},
    // values
    {"full", "shape, fill, dtype", &L::lowerFull},
    {"zeros", "shape, dtype", &L::lowerZeros},
    {"cast", "value, dtype", &L::lowerCast},
    {"bitcast", "value, dtype", &L::lowerBitcast},
    {"reshape", "value, shape", &L::lowerReshape},
    {"transpose", "value, permutation=", &L::lowerTranspose},
    {"join", "lhs, rhs", &L::lowerJoin},
    {"record", "**fields", &L::lowerRecord},
    {"select", "condition, true_value, false_value", &L::lowerSelect},
    {"mask", "value, valid, fill", &L::lowerMask},
    // element-wise
    {"exp", "value", &L::lowerUnary, unary(UnaryKind::Exp)},
    {"exp2", "value, *, approximate=, flush_to_zero=", &L::lowerUnary, unary(UnaryKind::Exp2)},
    {"log", "value", &L::lowerUnary, unary(UnaryKind::Log)},
    {"log2", "value", &L::lowerUnary, unary(UnaryKind::Log2)},
    {"log1p", "value", &L::lowerUnary, unary(UnaryKind::Log1p)},
    {"lgamma", "value", &L::lowerUnary, unary(UnaryKind::Lgamma)},
    {"sin", "value", &L::lowerUnary, unary(UnaryKind::Sin)},
    {"cos", "value", &L::lowerUnary, unary(UnaryKind::Cos)},
    {"tan", "value", &L::lowerUnary, unary(UnaryKind::Tan)},
    {"asin", "value", &L::lowerUnary, unary(UnaryKind::Asin)},
    {"floor", "value", &L::lowerUnary, unary(UnaryKind::Floor)},
    {"ceil", "value", &L::lowerUnary, unary(UnaryKind::Ceil)},
    {"erf", "value", &L::lowerUnary, unary(UnaryKind::Erf)},
    {"erfc", "value", &L::lowerUnary, unary(UnaryKind::Erfc)},
    {"i0", "value", &L::lowerUnary, unary(UnaryKind::I0)},
    {"rsqrt", "value", &L::lowerUnary, unary(UnaryKind::Rsqrt)},
    {"sqrt", "value", &L::lowerUnary, unary(UnaryKind::Sqrt)},
    {"sigmoid", "value", &L::lowerUnary, unary(UnaryKind::Sigmoid)},
    {"tanh", "value, *, approximate=", &L::lowerUnary, unary(UnaryKind::Tanh)},
    {"abs", "value", &L::lowerUnary, unary(UnaryKind::Abs)},
    {"fdiv", "lhs, rhs, *, approximate=, flush_to_zero=", &L::lowerFdiv},
    {"add", "lhs, rhs", &L::lowerBinary, binary(BinaryKind::Add)},
    {"sub", "lhs, rhs", &L::lowerBinary, binary(BinaryKind::Sub)},
    {"mul", "lhs, rhs", &L::lowerBinary, binary(BinaryKind::Mul)},
    {"maximum", "lhs, rhs", &L::lowerBinary, binary(BinaryKind::Maximum)},
    {"minimum", "lhs, rhs", &L::lowerBinary, binary(BinaryKind::Minimum)},
    {"maximum_num", "lhs, rhs", &L::lowerBinary, binary(BinaryKind::MaximumNum)},
    {"minimum_num", "lhs, rhs", &L::lowerBinary, binary(BinaryKind::MinimumNum)},
    {"fma", "a, b, c", &L::lowerFma},
    // structured
    {"reduce", "value, axis, identity, combine, combine_operands=, acc_dtype=", &L::lowerReduce},
    {"reduce.sum", "value, *, axis, acc_dtype=, keepdims=", &L::lowerNamedReduce},
    {"reduce.prod", "value, *, axis, acc_dtype=, keepdims=", &L::lowerNamedReduce},
    {"reduce.max", "value, *, axis, acc_dtype=, keepdims=", &L::lowerNamedReduce},
    {"reduce.min", "value, *, axis, acc_dtype=, keepdims=", &L::lowerNamedReduce},
    {"reduce.mean", "value, *, axis, acc_dtype=, keepdims=", &L::lowerNamedReduce},
    {"reduce.any", "value, *, axis, keepdims=", &L::lowerNamedReduce},
    {"reduce.all", "value, *, axis, keepdims=", &L::lowerNamedReduce},
    {"arg_reduce.max", "value, axis, acc_dtype=", &L::lowerArgReduce},
    {"arg_reduce.min", "value, axis, acc_dtype=", &L::lowerArgReduce},
    {"scan", "value, axis, identity, combine, combine_operands=, inclusive=, reverse=, acc_dtype=", &L::lowerScan},
    {"cumsum", "value, *, axis, inclusive=, reverse=, acc_dtype=", &L::lowerCumulative},
    {"cummax", "value, *, axis, inclusive=, reverse=, acc_dtype=", &L::lowerCumulative},
    {"cumprod", "value, *, axis, inclusive=, reverse=, acc_dtype=", &L::lowerCumulative},
    {"region_fold", "source, axis, summarize, combine, identity, operands=", &L::lowerRegionFold},
    {"region_scan", "source, axis, summarize, combine, identity, initial_state, apply, emit, operands=", &L::lowerRegionScan},
    {"contract", "lhs, rhs, reduce, acc_dtype, batch=", &L::lowerContract},
    {"dot", "lhs, rhs, *, acc_dtype", &L::lowerDot},
    {"matvec", "matrix, vector, *, acc_dtype, transpose=", &L::lowerMatvec},
    {"vecmat", "vector, matrix, *, acc_dtype, transpose=", &L::lowerVecmat},
    {"matmul", "lhs, rhs, *, acc_dtype, transpose_lhs=, transpose_rhs=", &L::lowerMatmul},
    {"outer", "lhs, rhs", &L::lowerOuter},
    {"scaled_contract",
     "lhs, lhs_scale, rhs, rhs_scale, *, lhs_format, rhs_format, lhs_group_size, rhs_group_size, reduce, batch=, acc_dtype",
     &L::lowerScaledContract},
    {"scaled_matmul", "lhs, lhs_scale, rhs, rhs_scale, *, lhs_format, rhs_format, group_size, acc_dtype", &L::lowerScaledContract},
    {"sparse_contract", "compressed, metadata, dense_rhs, *, format, reduce, batch=, acc_dtype", &L::lowerSparseContract},
    {"sparse_matmul", "compressed, metadata, rhs, *, format, acc_dtype", &L::lowerSparseMatmul},
    {"sparse_contract_2to4", "compressed_lhs, metadata, rhs, acc_dtype", &L::lowerSparseMatmul},
    {"sparse.two_of_four", "compression_axis, logical_extent", &L::lowerSparseFormat},
    {"sparse.one_of_two", "compression_axis, logical_extent", &L::lowerSparseFormat},
    {"quantize", "values, *, format", &L::lowerQuantize},
    {"quantized_dot", "lhs, rhs, *, lhs_format, rhs_format, acc_dtype", &L::lowerQuantizedDot},
    {"histogram", "values, bins, valid=, count_dtype=", &L::lowerHistogram},
    // memory and effects
    {"gather", "source, index, valid=, fill=", &L::lowerGather},
    {"store", "target, index, value", &L::lowerStore},
    {"mutable_load", "target, index", &L::lowerMutableLoad},
    {"scatter_unique", "destination, index, value", &L::lowerStore},
    {"scatter_reduce", "destination, index, value, combine", &L::lowerScatterReduce},
    {"buffer", "shape, dtype, init=", &L::lowerBuffer},
    {"atomic.load", "target, index, order=", &L::lowerAtomic, atomic(AtomicKind::Load)},
    {"atomic.store", "target, index, value, order=", &L::lowerAtomic, atomic(AtomicKind::Store)},
    {"atomic.exchange", "target, index, value, order=", &L::lowerAtomic, atomic(AtomicKind::Exchange)},
    {"atomic.add", "target, index, value, order=", &L::lowerAtomic, atomic(AtomicKind::Add)},
    {"atomic.max", "target, index, value, order=", &L::lowerAtomic, atomic(AtomicKind::Max)},
    {"atomic.min", "target, index, value, order=", &L::lowerAtomic, atomic(AtomicKind::Min)},
    {"atomic.and_", "target, index, value, order=", &L::lowerAtomic, atomic(AtomicKind::And)},
    {"atomic.or_", "target, index, value, order=", &L::lowerAtomic, atomic(AtomicKind::Or)},
    {"atomic.xor", "target, index, value, order=", &L::lowerAtomic, atomic(AtomicKind::Xor)},
    {"atomic.compare_exchange", "target, index, expected, desired, order=", &L::lowerCompareExchange},
    {"random.bits", "seed, logical_counter", &L::lowerRandomBits},
    {"random.uniform", "seed, logical_counter, dtype=", &L::lowerRandomUniform},
};
} // namespace

namespace intent::frontend {

const Intrinsic *findIntrinsic(StringRef path) {
  static const llvm::StringMap<const Intrinsic *> table = [] {
    llvm::StringMap<const Intrinsic *> map;
    for (const Intrinsic &intrinsic : intrinsics)
      map[intrinsic.path] = &intrinsic;
    return map;
  }();
  return table.lookup(path);
}

bool isFormat(StringRef path) { return llvm::is_contained({"e2m1", "e4m3", "e5m2", "e8m0", "quant.q4_k", "quant.q8_k"}, path); }

bool isNamespace(StringRef path) {
  if (path == "quant") return true;
  return llvm::any_of(intrinsics, [&](const Intrinsic &i) { return i.path.starts_with((path + ".").str()); });
}

std::optional<Constant> languageConstant(StringRef path) {
  if (path == "inf") return Constant::ofFloat(std::numeric_limits<double>::infinity());
  if (path == "pi") return Constant::ofFloat(0x1.921fb54442d18p+1);
  if (path == "LOG2E") return Constant::ofFloat(0x1.71547652b82fep+0);
  static const StringRef dtypes[] = {"bool", "index", "i8",  "i16",  "i32", "i64", "u8",       "u16",
                                     "u32",  "u64",   "f16", "bf16", "f32", "f64", "f8e4m3fn", "f8e5m2"};
  if (llvm::is_contained(dtypes, path)) return Constant::ofDtype(path);
  return std::nullopt;
}

} // namespace intent::frontend
