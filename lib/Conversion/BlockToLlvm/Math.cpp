// Elementary functions in f32 and f64, on scalars and vectors.
//
// exp, exp2, log, log2, tanh, sigmoid and i0 are generated here: they stay in registers and have no slow lanes. The
// others call glibc's vector library (libmvec, at most 4 ulp) in native pieces, or libm for scalars.
#include "Scalars.h"

#include "llvm/IR/Intrinsics.h"

using namespace mlir;
using namespace intent;

namespace intent::block::host {

LV Scalars::polynomial(LV x, ArrayRef<double> highestFirst) {
  LV sum = number(x->getType(), highestFirst[0]);
  for (double c : highestFirst.drop_front())
    sum = multiplyAdd(sum, x, number(x->getType(), c));
  return sum;
}

// Clenshaw's recurrence; x in [-1, 1], the constant term counts half.
LV Scalars::chebyshev(LV x, ArrayRef<double> highestFirst) {
  llvm::Type *t = x->getType();
  LV twice = b.CreateFAdd(x, x), b0 = number(t, highestFirst[0]), b1 = number(t, 0), b2 = b1;
  for (double c : highestFirst.drop_front()) {
    b2 = b1;
    b1 = b0;
    b0 = multiplyAdd(twice, b1, b.CreateFSub(number(t, c), b2));
  }
  return b.CreateFMul(b.CreateFSub(b0, b2), number(t, 0.5));
}

LV Scalars::multiplyAdd(LV x, LV y, LV z) { return cpu.fma ? exactFma(x, y, z) : b.CreateFAdd(b.CreateFMul(x, y), z); }

// e^r for |r| <= ln 2 / 2 times 2^n, where n is taken from the low bits of x * log2(e) + magic. The two halves of the
// scale keep subnormal results right: the first product is exact, the second rounds once. Comparisons are arranged so
// that NaN passes the clamps.
LV Scalars::exponential(LV x, bool base2) {
  llvm::Type *t = x->getType();
  bool wide = t->getScalarType()->isDoubleTy();
  llvm::Type *i = shapedLike(wide ? b.getInt64Ty() : b.getInt32Ty(), t);
  double low = wide ? (base2 ? -1080 : -750) : (base2 ? -152 : -106), high = wide ? (base2 ? 1025 : 710) : (base2 ? 129 : 89.5);
  LV clamped = b.CreateSelect(b.CreateFCmpOGT(x, number(t, high)), number(t, high), x);
  clamped = b.CreateSelect(b.CreateFCmpOLT(clamped, number(t, low)), number(t, low), clamped);
  LV magic = number(t, wide ? 0x1.8p52 : 0x1.8p23);
  LV shifted = base2 ? b.CreateFAdd(clamped, magic) : multiplyAdd(clamped, number(t, 1.44269504088896340736), magic);
  LV n = b.CreateFSub(shifted, magic);
  LV r;
  if (base2) r = b.CreateFMul(b.CreateFSub(clamped, n), number(t, 0.693147180559945309417));
  else if (wide)
    r = multiplyAdd(n, number(t, -1.90821492927058770002e-10), multiplyAdd(n, number(t, -6.93147180369123816490e-01), clamped));
  else r = multiplyAdd(n, number(t, 2.12194440e-4), multiplyAdd(n, number(t, -0.693359375), clamped));
  static const double narrowTerms[] = {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3,
                                       4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1};
  // 1/k! for k = 13 down to 2.
  static const double wideTerms[] = {1.6059043836821613e-10, 2.08767569878681e-09,   2.505210838544172e-08,  2.755731922398589e-07,
                                     2.7557319223985893e-06, 2.48015873015873e-05,   1.984126984126984e-04,  1.388888888888889e-03,
                                     8.333333333333333e-03,  4.1666666666666664e-02, 1.6666666666666666e-01, 0.5};
  LV tail = polynomial(r, wide ? ArrayRef<double>(wideTerms) : ArrayRef<double>(narrowTerms));
  LV value = b.CreateFAdd(multiplyAdd(b.CreateFMul(r, r), tail, r), number(t, 1));
  unsigned mantissa = wide ? 52 : 23;
  LV count = b.CreateSub(b.CreateBitCast(shifted, i), b.CreateBitCast(magic, i));
  LV half = b.CreateAShr(count, 1);
  LV bias = llvm::ConstantInt::get(i, wide ? 1023 : 127);
  auto power = [&](LV exponent) { return b.CreateBitCast(b.CreateShl(b.CreateAdd(exponent, bias), mantissa), t); };
  return b.CreateFMul(b.CreateFMul(value, power(half)), power(b.CreateSub(count, half)));
}

// f32 only: x = m * 2^e with m in [sqrt(1/2), sqrt(2)), the polynomial of Cephes' logf in m - 1.
LV Scalars::logarithm(LV x, bool base2) {
  llvm::Type *t = x->getType(), *i = shapedLike(b.getInt32Ty(), t);
  LV subnormal = b.CreateFCmpOLT(x, number(t, 0x1p-126));
  LV scaled = b.CreateSelect(subnormal, b.CreateFMul(x, number(t, 0x1p23)), x);
  LV bits = b.CreateBitCast(scaled, i);
  // Counting exponents from sqrt(1/2) puts m into the wanted octave.
  LV offset = b.CreateSub(bits, llvm::ConstantInt::get(i, 0x3f3504f3));
  LV e = b.CreateSIToFP(b.CreateAShr(offset, 23), t);
  e = b.CreateFSub(e, b.CreateSelect(subnormal, number(t, 23), number(t, 0)));
  LV m = b.CreateBitCast(b.CreateAdd(b.CreateAnd(offset, llvm::ConstantInt::get(i, 0x7fffff)), llvm::ConstantInt::get(i, 0x3f3504f3)), t);
  LV f = b.CreateFSub(m, number(t, 1));
  LV z = b.CreateFMul(f, f);
  static const double terms[] = {7.0376836292e-2,  -1.1514610310e-1, 1.1676998740e-1,  -1.2420140846e-1, 1.4249322787e-1,
                                 -1.6668057665e-1, 2.0000714765e-1,  -2.4999993993e-1, 3.3333331174e-1};
  LV y = b.CreateFMul(b.CreateFMul(polynomial(f, terms), z), f);
  LV value;
  if (base2) {
    y = multiplyAdd(z, number(t, -0.5), y);
    // log2(e) in two parts: the large one leaves f * 1 exact.
    LV low = multiplyAdd(b.CreateFAdd(f, y), number(t, 0.44269504088896340736), y);
    value = b.CreateFAdd(e, b.CreateFAdd(f, low));
  } else {
    y = multiplyAdd(e, number(t, -2.12194440e-4), y);
    y = multiplyAdd(z, number(t, -0.5), y);
    value = multiplyAdd(e, number(t, 0.693359375), b.CreateFAdd(f, y));
  }
  LV infinity = llvm::ConstantFP::getInfinity(t);
  value = b.CreateSelect(b.CreateFCmpOEQ(x, infinity), infinity, value);
  value = b.CreateSelect(b.CreateFCmpOEQ(x, number(t, 0)), llvm::ConstantFP::getInfinity(t, true), value);
  return b.CreateSelect(b.CreateFCmpULT(x, number(t, 0)), llvm::ConstantFP::getQNaN(t), value);
}

// f32 only.
LV Scalars::hyperbolicTangent(LV x) {
  llvm::Type *t = x->getType();
  LV magnitude = intrinsic(llvm::Intrinsic::fabs, {x}), z = b.CreateFMul(x, x);
  static const double terms[] = {-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1};
  LV small = multiplyAdd(b.CreateFMul(polynomial(z, terms), z), x, x);
  LV e = exponential(b.CreateFAdd(magnitude, magnitude), false);
  LV large = b.CreateFSub(number(t, 1), b.CreateFDiv(number(t, 2), b.CreateFAdd(e, number(t, 1))));
  LV value = b.CreateSelect(b.CreateFCmpOLT(magnitude, number(t, 0.625)), small, large);
  return intrinsic(llvm::Intrinsic::copysign, {value, x}); // the small branch would lose -0
}

// e^-|x| never overflows, so that both tails keep their relative accuracy.
LV Scalars::sigmoid(LV x) {
  llvm::Type *t = x->getType();
  LV e = exponential(b.CreateFNeg(intrinsic(llvm::Intrinsic::fabs, {x})), false);
  LV numerator = b.CreateSelect(b.CreateFCmpOLT(x, number(t, 0)), e, number(t, 1));
  return b.CreateFDiv(numerator, b.CreateFAdd(e, number(t, 1)));
}

// Chebyshev series of e^-x I0(x) on [0, 8] and of e^-x sqrt(x) I0(x) beyond, from the functions' values at 40 digits.
static const double bessel0Small[] = {
    -4.415341646479339379e-18, 3.330794518822238098e-17,  -2.431279846547954694e-16, 1.715391285555133031e-15,   -1.168533287799345168e-14,
    7.676185498604935617e-14,  -4.856446783111929461e-13, 2.955052663129639835e-12,  -1.726826291441555707e-11,  9.675809035373236912e-11,
    -5.189795601635262907e-10, 2.65982372468238665e-9,    -1.300025009986248042e-8,  6.046995022541918949e-8,    -2.670793853940611734e-7,
    1.117387539120103718e-6,   -4.416738358458750564e-6,  0.00001644844807072889709, -0.00005754195010082103704, 0.0001885028850958416557,
    -0.0005763755745385823659, 0.001639475616941335798,   -0.004324309995050575944,  0.01054646039459499832,     -0.02373741480589946882,
    0.04930528423967070849,    -0.09490109704804764442,   0.1716209015222087753,     -0.3046826723431983987,     0.676795274409476085,
};
static const double bessel0Large[] = {
    -7.233180487874753955e-18, -4.830504485944182071e-18, 4.465621420296759999e-17,  3.461222867697461093e-17,  -2.827623980516583485e-16,
    -3.425485619677219135e-16, 1.772560133056526384e-15,  3.811680669352622421e-15,  -9.554846698828307649e-15, -4.150569347287222087e-14,
    1.540086217521409827e-14,  3.852778382742142701e-13,  7.180124451383666234e-13,  -1.794178531506806118e-12, -1.321581184044771312e-11,
    -3.149916527963241365e-11, 1.188914710784643834e-11,  4.940602388224969589e-10,  3.396232025708386345e-9,   2.266668990498178065e-8,
    2.048918589469063742e-7,   2.891370520834756483e-6,   0.00006889758346916823984, 0.00336911647825569409,    0.8044904110141088316,
};
LV Scalars::bessel0(LV given) {
  llvm::Type *narrow = given->getType(), *t = shapedLike(b.getDoubleTy(), narrow);
  // f32 evaluates in f64: the exponential would overflow before the result does.
  LV x = intrinsic(llvm::Intrinsic::fabs, {narrow == t ? given : b.CreateFPExt(given, t)});
  LV bounded = b.CreateSelect(b.CreateFCmpOGT(x, number(t, 720)), number(t, 720), x);
  LV small = chebyshev(b.CreateFSub(b.CreateFMul(bounded, number(t, 0.25)), number(t, 1)), bessel0Small);
  LV reciprocal = b.CreateFSub(b.CreateFDiv(number(t, 16), bounded), number(t, 1));
  LV large = b.CreateFDiv(chebyshev(reciprocal, bessel0Large), intrinsic(llvm::Intrinsic::sqrt, {bounded}));
  LV series = b.CreateSelect(b.CreateFCmpOLE(bounded, number(t, 8)), small, large);
  LV first = b.CreateSelect(b.CreateFCmpOGT(bounded, number(t, 700)), number(t, 700), bounded);
  LV value = b.CreateFMul(b.CreateFMul(series, exponential(first, false)), exponential(b.CreateFSub(bounded, first), false));
  return narrow == t ? value : b.CreateFPTrunc(value, narrow);
}

//===- library functions -------------------------------------------------------------------------------===//

llvm::FunctionCallee Scalars::pureFunction(StringRef name, llvm::FunctionType *type) {
  llvm::FunctionCallee callee = module.getOrInsertFunction(name, type);
  auto *function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotAccessMemory();
  function->setDoesNotThrow();
  function->setWillReturn();
  return callee;
}

// `name` is the C name of the f64 function. A vector goes through the native width in pieces, the last one padded with
// its own first lane; without a vector library, lane by lane.
LV Scalars::libraryCall(StringRef name, ArrayRef<LV> operands) {
  llvm::Type *t = operands[0]->getType(), *scalar = t->getScalarType();
  bool wide = scalar->isDoubleTy();
  std::string scalarName = (name + (wide ? "" : "f")).str();
  auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(t);
  SmallVector<llvm::Type *, 2> types(operands.size(), scalar);
  if (!vector) return b.CreateCall(pureFunction(scalarName, llvm::FunctionType::get(scalar, types, false)), operands);
  unsigned lanes = vector->getNumElements(), native = cpu.vectorBytes / (wide ? 8 : 4);
  LV result = llvm::PoisonValue::get(t);
  if (!cpu.libmvec) {
    auto callee = pureFunction(scalarName, llvm::FunctionType::get(scalar, types, false));
    for (unsigned lane = 0; lane < lanes; ++lane) {
      SmallVector<LV, 2> x;
      for (LV operand : operands)
        x.push_back(b.CreateExtractElement(operand, lane));
      result = b.CreateInsertElement(result, b.CreateCall(callee, x), lane);
    }
    return result;
  }
  std::string vectorName = ("_ZGV" +
                            Twine(cpu.vectorBytes == 64   ? "e"
                                  : cpu.vectorBytes == 32 ? "d"
                                                          : "b") +
                            "N" + Twine(native) + (operands.size() == 2 ? "vv_" : "v_") + scalarName)
                               .str();
  auto *piece = llvm::FixedVectorType::get(scalar, native);
  types.assign(operands.size(), piece);
  auto callee = pureFunction(vectorName, llvm::FunctionType::get(piece, types, false));
  SmallVector<LV, 4> results;
  for (unsigned first = 0; first < lanes; first += native) {
    SmallVector<int> take;
    for (unsigned lane = 0; lane < native; ++lane)
      take.push_back(first + lane < lanes ? first + lane : first);
    SmallVector<LV, 2> x;
    for (LV operand : operands)
      x.push_back(lanes == native ? operand : b.CreateShuffleVector(operand, take));
    results.push_back(b.CreateCall(callee, x));
  }
  if (lanes == native) return results[0];
  for (auto [p, value] : llvm::enumerate(results)) {
    SmallVector<int> widen, place;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      bool own = lane / native == p;
      widen.push_back(own ? static_cast<int>(lane % native) : -1);
      place.push_back(own ? static_cast<int>(lanes + lane) : static_cast<int>(lane));
    }
    result = b.CreateShuffleVector(result, b.CreateShuffleVector(value, widen), place);
  }
  return result;
}

// lgamma_r, since lgamma itself writes a global. The sign it gives is not wanted.
LV Scalars::logGamma(LV x) {
  llvm::Type *t = x->getType(), *scalar = t->getScalarType();
  llvm::Function *function = b.GetInsertBlock()->getParent();
  llvm::IRBuilder<> entry(&function->getEntryBlock(), function->getEntryBlock().begin());
  LV sign = entry.CreateAlloca(entry.getInt32Ty());
  auto type = llvm::FunctionType::get(scalar, {scalar, b.getPtrTy()}, false);
  llvm::FunctionCallee callee = module.getOrInsertFunction(scalar->isDoubleTy() ? "lgamma_r" : "lgammaf_r", type);
  llvm::cast<llvm::Function>(callee.getCallee())->setDoesNotThrow();
  auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(t);
  if (!vector) return b.CreateCall(callee, {x, sign});
  LV result = llvm::PoisonValue::get(t);
  for (unsigned lane = 0; lane < vector->getNumElements(); ++lane)
    result = b.CreateInsertElement(result, b.CreateCall(callee, {b.CreateExtractElement(x, lane), sign}), lane);
  return result;
}

// Lanes outside [-1, 1] would take the library's slow path.
LV Scalars::arcsine(LV x) {
  llvm::Type *t = x->getType();
  LV outside = b.CreateFCmpUGT(intrinsic(llvm::Intrinsic::fabs, {x}), number(t, 1));
  return b.CreateSelect(outside, llvm::ConstantFP::getQNaN(t), libraryCall("asin", {b.CreateSelect(outside, number(t, 0), x)}));
}

LV Scalars::power(LV x, LV y) { return libraryCall("pow", {x, y}); }

LV Scalars::elementary(UnaryKind kind, LV x) {
  bool wide = x->getType()->getScalarType()->isDoubleTy();
  switch (kind) {
  case UnaryKind::Exp: return exponential(x, false);
  case UnaryKind::Exp2: return exponential(x, true);
  case UnaryKind::Log: return wide ? libraryCall("log", {x}) : logarithm(x, false);
  case UnaryKind::Log2: return wide ? libraryCall("log2", {x}) : logarithm(x, true);
  case UnaryKind::Log1p: return libraryCall("log1p", {x});
  case UnaryKind::Sin: return libraryCall("sin", {x});
  case UnaryKind::Cos: return libraryCall("cos", {x});
  case UnaryKind::Tan: return libraryCall("tan", {x});
  case UnaryKind::Asin: return arcsine(x);
  case UnaryKind::Erf: return libraryCall("erf", {x});
  case UnaryKind::Erfc: return libraryCall("erfc", {x});
  case UnaryKind::Lgamma: return logGamma(x);
  case UnaryKind::I0: return bessel0(x);
  case UnaryKind::Sigmoid: return sigmoid(x);
  case UnaryKind::Tanh: return wide ? libraryCall("tanh", {x}) : hyperbolicTangent(x);
  default: return x; // the arithmetic kinds are handled by the caller
  }
}

} // namespace intent::block::host
