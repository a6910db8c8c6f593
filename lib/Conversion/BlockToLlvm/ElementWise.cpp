// Element-wise operations of the dialect (numerics.md sections 1 and 2). Everything is total: no operand value is
// undefined behaviour in the generated code.
#include "Scalars.h"

#include "intent/IR/Language.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/Intrinsics.h"

using namespace mlir;
using namespace intent;

namespace intent::block::host {

LV Scalars::intrinsic(llvm::Intrinsic::ID id, ArrayRef<LV> operands) { return b.CreateIntrinsic(id, {operands[0]->getType()}, operands); }

LV Scalars::exactFma(LV x, LV y, LV z) { return intrinsic(llvm::Intrinsic::fma, {x, y, z}); }

LV Scalars::flushed(LV x) {
  LV tiny = b.CreateFCmpOLT(intrinsic(llvm::Intrinsic::fabs, {x}), number(x->getType(), 0x1p-126));
  return b.CreateSelect(tiny, intrinsic(llvm::Intrinsic::copysign, {llvm::Constant::getNullValue(x->getType()), x}), x);
}

LV Scalars::apply(Operation *op, ArrayRef<LV> given) {
  SmallVector<LV, 3> x(given.begin(), given.end());
  for (LV value : given)
    if (value->getType()->isVectorTy()) {
      for (LV &operand : x)
        operand = splatLike(operand, value->getType());
      break;
    }
  Type element = elementType(op->getOperand(0).getType());
  auto flush = [&](bool on, LV value) { return on && element.isF32() ? flushed(value) : value; };
  if (auto o = dyn_cast<UnaryOp>(op)) return flush(o.getFlushToZero(), unary(o.getKind(), element, flush(o.getFlushToZero(), x[0])));
  if (auto o = dyn_cast<BinaryOp>(op))
    return flush(o.getFlushToZero(), binary(o.getKind(), element, flush(o.getFlushToZero(), x[0]), flush(o.getFlushToZero(), x[1])));
  if (auto o = dyn_cast<CompareOp>(op)) return compare(o.getPredicate(), element, x[0], x[1]);
  if (isa<FmaOp>(op)) return fma(element, x[0], x[1], x[2]);
  if (isa<SelectOp>(op)) return b.CreateSelect(x[0], x[1], x[2]);
  if (isa<CastOp>(op)) return cast(element, elementType(op->getResult(0).getType()), x[0]);
  return bitcast(element, elementType(op->getResult(0).getType()), x[0]);
}

LV Scalars::unary(UnaryKind kind, Type element, LV x) {
  llvm::Type *t = x->getType();
  if (!isa<FloatType>(element)) {
    switch (kind) {
    case UnaryKind::Neg: return b.CreateNeg(x);
    case UnaryKind::Not: return b.CreateNot(x);
    case UnaryKind::Abs: return isUnsignedInteger(element) ? x : b.CreateIntrinsic(llvm::Intrinsic::abs, {t}, {x, b.getFalse()});
    default: return x; // floor and ceil of an integer
    }
  }
  switch (kind) {
  case UnaryKind::Neg: return b.CreateFNeg(x);
  case UnaryKind::Abs: return intrinsic(llvm::Intrinsic::fabs, {x});
  case UnaryKind::Floor: return intrinsic(llvm::Intrinsic::floor, {x});
  case UnaryKind::Ceil: return intrinsic(llvm::Intrinsic::ceil, {x});
  case UnaryKind::Sqrt: return round(element, intrinsic(llvm::Intrinsic::sqrt, {x}));
  case UnaryKind::Rsqrt: return round(element, b.CreateFDiv(number(t, 1), intrinsic(llvm::Intrinsic::sqrt, {x})));
  default: return round(element, elementary(kind, x));
  }
}

LV Scalars::binary(BinaryKind kind, Type element, LV x, LV y) {
  return isa<FloatType>(element) ? binaryFloat(kind, element, x, y) : binaryInteger(kind, element, x, y);
}

// floor(x / y) through a floating format that holds both exactly: the quotient of two integers below 2^(p-1) is at least
// 1/y away from any integer that it is not, which is more than its rounding. `y` has no zero lane.
LV Scalars::floorQuotient(bool isSigned, LV x, LV y, llvm::Type *format) {
  llvm::Type *f = shapedLike(format, x->getType());
  auto convert = [&](LV value) { return isSigned ? b.CreateSIToFP(value, f) : b.CreateUIToFP(value, f); };
  LV quotient = intrinsic(llvm::Intrinsic::floor, {b.CreateFDiv(convert(x), convert(y))});
  return isSigned ? b.CreateFPToSI(quotient, x->getType()) : b.CreateFPToUI(quotient, x->getType());
}

// There is no vector division of integers: narrow ones go through f32 or f64; 64-bit ones too, in a function of their
// own that looks for operands of 2^51 and more and takes those lane by lane.
LV Scalars::divideVectors(bool isSigned, LV x, LV y) {
  llvm::Type *t = x->getType();
  unsigned width = t->getScalarSizeInBits();
  if (width < 64) return floorQuotient(isSigned, x, y, width <= 16 ? b.getFloatTy() : b.getDoubleTy());
  std::string name =
      ("floor_quotient_" + Twine(isSigned ? "s" : "u") + Twine(llvm::cast<llvm::FixedVectorType>(t)->getNumElements())).str();
  llvm::Function *function = module.getFunction(name);
  if (!function) {
    function = llvm::Function::Create(llvm::FunctionType::get(t, {t, t}, false), llvm::Function::InternalLinkage, name, module);
    function->setDoesNotAccessMemory();
    function->setDoesNotThrow();
    function->setWillReturn();
    llvm::IRBuilder<>::InsertPointGuard guard(b);
    auto block = [&](const char *label) { return llvm::BasicBlock::Create(b.getContext(), label, function); };
    llvm::BasicBlock *entry = block("entry"), *fast = block("fast"), *slow = block("slow");
    LV n = function->getArg(0), d = function->getArg(1);
    b.SetInsertPoint(entry);
    LV bound = llvm::ConstantInt::get(t, uint64_t(1) << 51);
    auto size = [&](LV value) { return isSigned ? b.CreateIntrinsic(llvm::Intrinsic::abs, {t}, {value, b.getFalse()}) : value; };
    LV large = b.CreateOr(b.CreateICmpUGE(size(n), bound), b.CreateICmpUGE(size(d), bound));
    b.CreateCondBr(b.CreateOrReduce(large), slow, fast);
    b.SetInsertPoint(fast);
    b.CreateRet(floorQuotient(isSigned, n, d, b.getDoubleTy()));
    b.SetInsertPoint(slow);
    LV q = isSigned ? b.CreateSDiv(n, d) : b.CreateUDiv(n, d);
    if (isSigned) {
      LV r = b.CreateSub(n, b.CreateMul(q, d)), zero = llvm::Constant::getNullValue(t);
      q = b.CreateSub(q, b.CreateZExt(b.CreateAnd(b.CreateICmpNE(r, zero), b.CreateICmpSLT(b.CreateXor(r, d), zero)), t));
    }
    b.CreateRet(q);
  }
  return b.CreateCall(function, {x, y});
}

// Floor semantics when signed; x // 0 = x % 0 = 0 and MIN // -1 = MIN.
LV Scalars::divideInteger(bool isSigned, bool remainder, LV x, LV y) {
  llvm::Type *t = x->getType();
  LV zero = llvm::Constant::getNullValue(t), one = llvm::ConstantInt::get(t, 1);
  LV common = y->getType()->isVectorTy() ? llvm::getSplatValue(y) : y;
  if (auto *constant = llvm::dyn_cast_or_null<llvm::ConstantInt>(common); constant && constant->getValue().isStrictlyPositive()) {
    // The common case of a positive constant: nothing to guard, and a power of two becomes a shift or mask.
    if (constant->getValue().isPowerOf2()) {
      unsigned shift = constant->getValue().logBase2();
      if (remainder) return b.CreateAnd(x, llvm::ConstantInt::get(t, constant->getValue() - 1));
      return isSigned ? b.CreateAShr(x, shift) : b.CreateLShr(x, shift);
    }
    if (!isSigned && !t->isVectorTy()) return remainder ? b.CreateURem(x, y) : b.CreateUDiv(x, y);
    if (t->isVectorTy()) {
      LV q = divideVectors(isSigned, x, y);
      return remainder ? b.CreateSub(x, b.CreateMul(q, y)) : q;
    }
    LV r = b.CreateSRem(x, y);
    LV below = b.CreateICmpSLT(r, zero);
    if (remainder) return b.CreateSelect(below, b.CreateAdd(r, y), r);
    return b.CreateSub(b.CreateSDiv(x, y), b.CreateZExt(below, t));
  }
  LV byZero = b.CreateICmpEQ(y, zero);
  LV divisor = b.CreateSelect(byZero, one, y);
  if (t->isVectorTy()) {
    LV negates = isSigned ? b.CreateICmpEQ(y, llvm::Constant::getAllOnesValue(t)) : nullptr;
    if (negates) divisor = b.CreateSelect(negates, one, divisor); // MIN // -1 does not fit
    LV value = divideVectors(isSigned, x, divisor);
    if (remainder) value = b.CreateSub(x, b.CreateMul(value, divisor));
    if (negates) value = b.CreateSelect(negates, remainder ? zero : b.CreateNeg(x), value);
    return b.CreateSelect(byZero, zero, value);
  }
  if (!isSigned) {
    LV value = remainder ? b.CreateURem(x, divisor) : b.CreateUDiv(x, divisor);
    return b.CreateSelect(byZero, zero, value);
  }
  LV minusOne = llvm::Constant::getAllOnesValue(t);
  LV negates = b.CreateICmpEQ(y, minusOne);
  divisor = b.CreateSelect(negates, one, divisor);
  LV q = b.CreateSDiv(x, divisor);
  LV r = b.CreateSub(x, b.CreateMul(q, divisor));
  LV inexact = b.CreateAnd(b.CreateICmpNE(r, zero), b.CreateICmpSLT(b.CreateXor(r, divisor), zero));
  LV value = remainder ? b.CreateSelect(inexact, b.CreateAdd(r, divisor), r) : b.CreateSub(q, b.CreateZExt(inexact, t));
  value = b.CreateSelect(negates, remainder ? zero : b.CreateNeg(x), value);
  return b.CreateSelect(byZero, zero, value);
}

LV Scalars::binaryInteger(BinaryKind kind, Type element, LV x, LV y) {
  llvm::Type *t = x->getType();
  bool isSigned = !isUnsignedInteger(element);
  unsigned width = t->getScalarSizeInBits();
  auto shift = [&] { return b.CreateAnd(y, llvm::ConstantInt::get(t, width - 1)); };
  switch (kind) {
  case BinaryKind::Add: return b.CreateAdd(x, y);
  case BinaryKind::Sub: return b.CreateSub(x, y);
  case BinaryKind::Mul: return b.CreateMul(x, y);
  case BinaryKind::Div:
  case BinaryKind::FloorDiv: return divideInteger(isSigned, false, x, y);
  case BinaryKind::Mod: return divideInteger(isSigned, true, x, y);
  case BinaryKind::Maximum:
  case BinaryKind::MaximumNum: return intrinsic(isSigned ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, {x, y});
  case BinaryKind::Minimum:
  case BinaryKind::MinimumNum: return intrinsic(isSigned ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, {x, y});
  case BinaryKind::And: return b.CreateAnd(x, y);
  case BinaryKind::Or: return b.CreateOr(x, y);
  case BinaryKind::Xor: return b.CreateXor(x, y);
  case BinaryKind::Shl: return b.CreateShl(x, shift());
  case BinaryKind::Shr: return isSigned ? b.CreateAShr(x, shift()) : b.CreateLShr(x, shift());
  case BinaryKind::Pow: return x; // rejected before code generation
  }
  return x;
}

// `maximum` as two instructions on x86: max(a, b) gives b when either is NaN, so NaN in `x` is put back.
LV Scalars::extremum(bool maximum, bool isNum, LV x, LV y) {
  LV first = maximum ? b.CreateFCmpOGT(x, y) : b.CreateFCmpOLT(x, y);
  LV value = b.CreateSelect(first, x, y);
  LV nan = b.CreateFCmpUNO(isNum ? y : x, isNum ? y : x);
  return b.CreateSelect(nan, x, value);
}

// As Python divides: the quotient follows from the truncated remainder, so that an infinite divisor gives 0 or -1.
LV Scalars::floorDivideFloat(bool remainder, LV x, LV y) {
  llvm::Type *t = x->getType();
  LV zero = llvm::Constant::getNullValue(t);
  LV r = b.CreateFRem(x, y);
  LV nonZero = b.CreateFCmpUNE(r, zero);
  LV differs = b.CreateXor(b.CreateFCmpOLT(r, zero), b.CreateFCmpOLT(y, zero));
  LV moved = b.CreateAnd(nonZero, differs);
  if (remainder) {
    LV modulus = b.CreateSelect(moved, b.CreateFAdd(r, y), r);
    return b.CreateSelect(nonZero, modulus, intrinsic(llvm::Intrinsic::copysign, {zero, y}));
  }
  LV quotient = b.CreateFDiv(b.CreateFSub(x, r), y);
  quotient = b.CreateSelect(moved, b.CreateFSub(quotient, number(t, 1)), quotient);
  LV floor = intrinsic(llvm::Intrinsic::floor, {quotient});
  LV up = b.CreateFCmpOGT(b.CreateFSub(quotient, floor), number(t, 0.5));
  LV exact = b.CreateSelect(up, b.CreateFAdd(floor, number(t, 1)), floor);
  LV ratio = b.CreateFDiv(x, y);
  exact = b.CreateSelect(b.CreateFCmpUNE(quotient, zero), exact, intrinsic(llvm::Intrinsic::copysign, {zero, ratio}));
  return b.CreateSelect(b.CreateFCmpOEQ(y, zero), ratio, exact);
}

LV Scalars::binaryFloat(BinaryKind kind, Type element, LV x, LV y) {
  switch (kind) {
  case BinaryKind::Add:
  case BinaryKind::Sub:
  case BinaryKind::Mul: {
    LV value = kind == BinaryKind::Add ? b.CreateFAdd(x, y) : kind == BinaryKind::Sub ? b.CreateFSub(x, y) : b.CreateFMul(x, y);
    // Same-dtype a*b+c may round once; in narrow formats the product has been rounded already.
    if (auto *i = llvm::dyn_cast<llvm::Instruction>(value); i && (element.isF32() || element.isF64())) i->setHasAllowContract(true);
    return round(element, value);
  }
  case BinaryKind::Div: return round(element, b.CreateFDiv(x, y));
  case BinaryKind::FloorDiv: return round(element, floorDivideFloat(false, x, y));
  case BinaryKind::Mod: return round(element, floorDivideFloat(true, x, y));
  case BinaryKind::Pow: return round(element, power(x, y));
  case BinaryKind::Maximum: return extremum(true, false, x, y);
  case BinaryKind::Minimum: return extremum(false, false, x, y);
  case BinaryKind::MaximumNum: return extremum(true, true, x, y);
  case BinaryKind::MinimumNum: return extremum(false, true, x, y);
  default: return x; // bitwise operations on floats are rejected before code generation
  }
}

LV Scalars::compare(ComparePredicate predicate, Type element, LV x, LV y) {
  using P = llvm::CmpInst::Predicate;
  struct Row {
    P floating, isSigned, isUnsigned;
  };
  static const Row rows[] = {{P::FCMP_OEQ, P::ICMP_EQ, P::ICMP_EQ},   {P::FCMP_UNE, P::ICMP_NE, P::ICMP_NE},
                             {P::FCMP_OLT, P::ICMP_SLT, P::ICMP_ULT}, {P::FCMP_OLE, P::ICMP_SLE, P::ICMP_ULE},
                             {P::FCMP_OGT, P::ICMP_SGT, P::ICMP_UGT}, {P::FCMP_OGE, P::ICMP_SGE, P::ICMP_UGE}};
  const Row &row = rows[static_cast<unsigned>(predicate)];
  return b.CreateCmp(isa<FloatType>(element) ? row.floating : isUnsignedInteger(element) ? row.isUnsigned : row.isSigned, x, y);
}

LV Scalars::multiplyAccumulate(Type element, LV x, LV y, LV z) {
  return isa<FloatType>(element) ? multiplyAdd(x, y, z) : b.CreateAdd(b.CreateMul(x, y), z);
}

LV Scalars::fma(Type element, LV x, LV y, LV z) {
  if (!isa<FloatType>(element)) return b.CreateAdd(b.CreateMul(x, y), z);
  if (element.isF32() || element.isF64()) return exactFma(x, y, z);
  // The product of narrow values is exact in f64; where the sum is not, its last bit keeps what was lost, so that the
  // rounding to the narrow format sees it.
  llvm::Type *d = shapedLike(b.getDoubleTy(), x->getType()), *i = shapedLike(b.getInt64Ty(), x->getType());
  LV product = b.CreateFMul(b.CreateFPExt(x, d), b.CreateFPExt(y, d)), addend = b.CreateFPExt(z, d);
  LV nearest = b.CreateFAdd(product, addend), shift = b.CreateFSub(nearest, product);
  LV lost = b.CreateFAdd(b.CreateFSub(product, b.CreateFSub(nearest, shift)), b.CreateFSub(addend, shift));
  LV bits = b.CreateBitCast(nearest, i), one = llvm::ConstantInt::get(i, 1);
  LV outward = b.CreateFCmpOGT(b.CreateFMul(lost, intrinsic(llvm::Intrinsic::copysign, {number(d, 1), nearest})), number(d, 0));
  LV odd = b.CreateSelect(outward, b.CreateAdd(bits, one), b.CreateSub(bits, one));
  LV even = b.CreateICmpEQ(b.CreateAnd(bits, one), llvm::ConstantInt::get(i, 0));
  LV sum = b.CreateBitCast(b.CreateSelect(b.CreateAnd(even, b.CreateFCmpONE(lost, number(d, 0))), odd, bits), d);
  return round(element, truncateToOdd(sum));
}

} // namespace intent::block::host
