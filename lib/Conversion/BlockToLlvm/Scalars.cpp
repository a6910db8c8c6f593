// Representation of scalar types in registers and memory, rounding to narrow formats, conversions.
#include "Scalars.h"

#include "intent/IR/Language.h"
#include "llvm/IR/Intrinsics.h"

using namespace mlir;
using namespace intent;

namespace intent::block::host {

static bool isNarrowFloat(Type type) {
  auto f = dyn_cast<FloatType>(type);
  return f && f.getWidth() < 32;
}

llvm::Type *Scalars::registerType(Type element) const {
  if (element.isF64()) return b.getDoubleTy();
  if (isa<FloatType>(element)) return b.getFloatTy();
  if (element.isIndex()) return b.getInt64Ty();
  return b.getIntNTy(element.getIntOrFloatBitWidth());
}

llvm::Type *Scalars::memoryType(Type element) const {
  if (element.isF16()) return b.getHalfTy();
  if (isNarrowFloat(element)) return b.getIntNTy(element.getIntOrFloatBitWidth());
  if (element.isInteger(1)) return b.getInt8Ty();
  return registerType(element);
}

llvm::Type *Scalars::shapedLike(llvm::Type *type, llvm::Type *like) {
  auto vector = llvm::dyn_cast<llvm::FixedVectorType>(like);
  return vector ? llvm::FixedVectorType::get(type, vector->getNumElements()) : type;
}

LV Scalars::splatLike(LV value, llvm::Type *like) {
  auto vector = llvm::dyn_cast<llvm::FixedVectorType>(like);
  if (!vector || value->getType()->isVectorTy()) return value;
  return b.CreateVectorSplat(vector->getNumElements(), value);
}

// f8e4m3fn bits sit in an f32 exponent whose bias is 120 too large: one multiplication settles normals and subnormals.
static constexpr double e4m3Scale = 0x1p120;

LV Scalars::fromMemory(Type element, LV value) {
  llvm::Type *t = value->getType();
  if (element.isInteger(1)) return b.CreateICmpNE(value, llvm::Constant::getNullValue(t));
  llvm::Type *f = shapedLike(b.getFloatTy(), t), *i = shapedLike(b.getInt32Ty(), t);
  if (element.isF16()) return b.CreateFPExt(value, f);
  if (element.isBF16()) return b.CreateBitCast(b.CreateShl(b.CreateZExt(value, i), 16), f);
  if (isa<Float8E5M2Type>(element)) {
    llvm::Type *wide = shapedLike(b.getInt16Ty(), t);
    LV half = b.CreateBitCast(b.CreateShl(b.CreateZExt(value, wide), 8), shapedLike(b.getHalfTy(), t));
    return b.CreateFPExt(half, f);
  }
  if (isa<Float8E4M3FNType>(element)) {
    LV bits = b.CreateZExt(value, i);
    LV magnitude = b.CreateAnd(bits, llvm::ConstantInt::get(i, 0x7f));
    LV scaled = b.CreateFMul(b.CreateBitCast(b.CreateShl(magnitude, 20), f), number(f, e4m3Scale));
    LV sign = b.CreateShl(b.CreateAnd(bits, llvm::ConstantInt::get(i, 0x80)), 24);
    LV result = b.CreateBitCast(b.CreateOr(b.CreateBitCast(scaled, i), sign), f);
    return b.CreateSelect(b.CreateICmpEQ(magnitude, llvm::ConstantInt::get(i, 0x7f)), llvm::ConstantFP::getQNaN(f), result);
  }
  return value;
}

LV Scalars::toMemory(Type element, LV value) {
  llvm::Type *t = value->getType();
  if (element.isInteger(1)) return b.CreateZExt(value, shapedLike(b.getInt8Ty(), t));
  llvm::Type *i = shapedLike(b.getInt32Ty(), t), *byte = shapedLike(b.getInt8Ty(), t);
  if (element.isF16()) return b.CreateFPTrunc(value, shapedLike(b.getHalfTy(), t));
  if (element.isBF16()) return b.CreateTrunc(b.CreateLShr(b.CreateBitCast(value, i), 16), shapedLike(b.getInt16Ty(), t));
  if (isa<Float8E5M2Type>(element)) {
    LV half = b.CreateFPTrunc(value, shapedLike(b.getHalfTy(), t));
    return b.CreateTrunc(b.CreateLShr(b.CreateBitCast(half, shapedLike(b.getInt16Ty(), t)), 8), byte);
  }
  if (isa<Float8E4M3FNType>(element)) {
    LV magnitude = intrinsic(llvm::Intrinsic::fabs, {value});
    LV bits = b.CreateLShr(b.CreateBitCast(b.CreateFMul(magnitude, number(t, 1 / e4m3Scale)), i), 20);
    bits = b.CreateSelect(b.CreateFCmpUNO(value, value), llvm::ConstantInt::get(i, 0x7f), bits);
    LV sign = b.CreateAnd(b.CreateLShr(b.CreateBitCast(value, i), 24), llvm::ConstantInt::get(i, 0x80));
    return b.CreateTrunc(b.CreateOr(bits, sign), byte);
  }
  return value;
}

LV Scalars::constant(TypedAttr value) {
  llvm::Type *type = registerType(value.getType());
  if (auto integer = dyn_cast<IntegerAttr>(value))
    return llvm::ConstantInt::get(type, integer.getValue().zextOrTrunc(type->getIntegerBitWidth()));
  APFloat number = mlir::cast<FloatAttr>(value).getValue();
  bool inexact;
  number.convert(type->isDoubleTy() ? APFloat::IEEEdouble() : APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &inexact);
  return llvm::ConstantFP::get(b.getContext(), number);
}

//===- rounding ----------------------------------------------------------------------------------------===//

// Nearest even to `mantissaBits` by carrying in the integer; right wherever the narrow format is normal, and for bf16
// everywhere, since it shares f32's exponent range. Infinity and overflow come out as infinity.
LV Scalars::roundBits(LV x, unsigned mantissaBits) {
  llvm::Type *i = shapedLike(b.getInt32Ty(), x->getType());
  unsigned drop = 23 - mantissaBits;
  LV bits = b.CreateBitCast(x, i);
  LV odd = b.CreateAnd(b.CreateLShr(bits, drop), llvm::ConstantInt::get(i, 1));
  LV up = b.CreateAdd(bits, b.CreateAdd(odd, llvm::ConstantInt::get(i, (1u << (drop - 1)) - 1)));
  LV kept = b.CreateAnd(up, llvm::ConstantInt::get(i, ~((1u << drop) - 1)));
  return b.CreateSelect(b.CreateFCmpUNO(x, x), llvm::ConstantFP::getQNaN(x->getType()), b.CreateBitCast(kept, x->getType()));
}

LV Scalars::roundSmall(LV x, unsigned mantissaBits, int minExponent, double largest, bool infinities) {
  llvm::Type *t = x->getType();
  LV magnitude = intrinsic(llvm::Intrinsic::fabs, {x});
  LV normal = roundBits(magnitude, mantissaBits);
  // Adding a number whose last bit is the least subnormal rounds to a multiple of that.
  LV magic = number(t, std::ldexp(1.0, minExponent - static_cast<int>(mantissaBits) + 23));
  LV subnormal = b.CreateFSub(b.CreateFAdd(magnitude, magic), magic);
  LV rounded = b.CreateSelect(b.CreateFCmpOLT(magnitude, number(t, std::ldexp(1.0, minExponent))), subnormal, normal);
  LV beyond = infinities ? static_cast<LV>(llvm::ConstantFP::getInfinity(t)) : llvm::ConstantFP::getQNaN(t);
  rounded = b.CreateSelect(b.CreateFCmpOGT(rounded, number(t, largest)), beyond, rounded);
  return intrinsic(llvm::Intrinsic::copysign, {rounded, x});
}

LV Scalars::round(Type element, LV x) {
  if (element.isF16()) return b.CreateFPExt(b.CreateFPTrunc(x, shapedLike(b.getHalfTy(), x->getType())), x->getType());
  if (element.isBF16()) return roundBits(x, 7);
  if (isa<Float8E5M2Type>(element)) return roundSmall(x, 2, -14, 57344, true);
  if (isa<Float8E4M3FNType>(element)) return roundSmall(x, 3, -6, 448, false);
  return x;
}

//===- conversions -------------------------------------------------------------------------------------===//

LV Scalars::cast(Type from, Type to, LV x) {
  if (from == to) return x;
  llvm::Type *type = shapedLike(registerType(to), x->getType());
  bool fromFloat = isa<FloatType>(from), toFloat = isa<FloatType>(to);
  if (!fromFloat && to.isInteger(1)) return b.CreateICmpNE(x, llvm::Constant::getNullValue(x->getType()));
  if (fromFloat && to.isInteger(1)) return b.CreateFCmpUNE(x, llvm::Constant::getNullValue(x->getType()));
  if (!fromFloat && !toFloat) return isUnsignedInteger(from) ? b.CreateZExtOrTrunc(x, type) : b.CreateSExtOrTrunc(x, type);
  if (fromFloat && !toFloat) {
    auto id = isUnsignedInteger(to) ? llvm::Intrinsic::fptoui_sat : llvm::Intrinsic::fptosi_sat;
    return b.CreateIntrinsic(id, {type, x->getType()}, {x});
  }
  if (fromFloat) {
    if (from.isF64() && !to.isF64()) {
      if (to.isF32()) return b.CreateFPTrunc(x, type);
      // One rounding: f32 with the last bit sticky ("round to odd") keeps what the narrow rounding has to see.
      return round(to, truncateToOdd(x));
    }
    if (to.isF64()) return b.CreateFPExt(x, type);
    return round(to, x);
  }
  bool isUnsigned = isUnsignedInteger(from);
  auto convert = [&](llvm::Type *t) { return isUnsigned ? b.CreateUIToFP(x, t) : b.CreateSIToFP(x, t); };
  unsigned width = from.isIndex() ? 64 : from.getIntOrFloatBitWidth();
  if (to.isF64() || to.isF32()) return convert(type);
  if (width <= 16) return round(to, convert(type));
  LV wide = x;
  if (width == 64) {
    // Beyond 2^53 an f64 would round first; those magnitudes are far outside f16 and f8, and for bf16 a sticky low bit
    // keeps the direction.
    llvm::Type *i = x->getType();
    LV low = b.CreateAnd(x, llvm::ConstantInt::get(i, 0x7ff));
    LV sticky = b.CreateOr(b.CreateAnd(x, llvm::ConstantInt::get(i, ~uint64_t(0x7ff))),
                           b.CreateSelect(b.CreateICmpNE(low, llvm::Constant::getNullValue(i)), llvm::ConstantInt::get(i, 0x400),
                                          llvm::Constant::getNullValue(i)));
    LV magnitude = isUnsigned ? x : intrinsic(llvm::Intrinsic::abs, {x, b.getFalse()});
    LV large = b.CreateICmpUGT(magnitude, llvm::ConstantInt::get(i, uint64_t(1) << 52));
    wide = b.CreateSelect(large, sticky, x);
  }
  llvm::Type *d = shapedLike(b.getDoubleTy(), x->getType());
  return round(to, truncateToOdd(isUnsigned ? b.CreateUIToFP(wide, d) : b.CreateSIToFP(wide, d)));
}

// f64 to f32 where an inexact result has its last mantissa bit set.
LV Scalars::truncateToOdd(LV x) {
  llvm::Type *f = shapedLike(b.getFloatTy(), x->getType()), *i = shapedLike(b.getInt32Ty(), x->getType());
  LV nearest = b.CreateFPTrunc(x, f);
  LV back = b.CreateFPExt(nearest, x->getType());
  LV bits = b.CreateBitCast(nearest, i);
  LV one = llvm::ConstantInt::get(i, 1);
  // Toward zero first: step back where rounding went away from zero.
  LV away = b.CreateFCmpOGT(intrinsic(llvm::Intrinsic::fabs, {back}), intrinsic(llvm::Intrinsic::fabs, {x}));
  LV truncated = b.CreateSelect(away, b.CreateSub(bits, one), bits);
  LV odd = b.CreateOr(truncated, one);
  return b.CreateBitCast(b.CreateSelect(b.CreateFCmpONE(back, x), odd, bits), f);
}

LV Scalars::bitcast(Type from, Type to, LV x) {
  if (from == to || registerType(from) == registerType(to)) {
    if (!isNarrowFloat(from) && !isNarrowFloat(to)) return x;
  }
  LV memory = toMemory(from, x);
  return fromMemory(to, b.CreateBitCast(memory, shapedLike(memoryType(to), x->getType())));
}

} // namespace intent::block::host
