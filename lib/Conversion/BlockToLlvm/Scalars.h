// Arithmetic on LLVM values with the meaning of numerics.md. Every function works on scalars and on vectors of any
// width alike.
//
// In registers f16, bf16 and both f8 formats are f32 values that the narrow format can represent: an operation
// evaluates in f32 and rounds once. In memory they have their own width, and bool is one byte.
#ifndef INTENT_CONVERSION_BLOCKTOLLVM_SCALARS_H
#define INTENT_CONVERSION_BLOCKTOLLVM_SCALARS_H

#include "intent/Conversion/BlockToLlvm/BlockToLlvm.h"
#include "llvm/IR/IRBuilder.h"

namespace intent::block::host {

using LV = llvm::Value *;

class Scalars {
public:
  Scalars(llvm::Module &module, llvm::IRBuilder<> &b, const CpuFacts &cpu) : module(module), b(b), cpu(cpu) {}

  //===- representation ---------------------------------------------------------------------------------===//
  llvm::Type *registerType(mlir::Type element) const;
  llvm::Type *memoryType(mlir::Type element) const;
  /// A value as read from memory to its register form, and back.
  LV fromMemory(mlir::Type element, LV value);
  LV toMemory(mlir::Type element, LV value);
  LV constant(mlir::TypedAttr value);
  /// `type` itself, or the vector of it with as many lanes as `like` has.
  static llvm::Type *shapedLike(llvm::Type *type, llvm::Type *like);
  /// The vector of `lanes` elements; `type` itself for one.
  static llvm::Type *vectorOf(llvm::Type *type, unsigned lanes) { return lanes > 1 ? llvm::FixedVectorType::get(type, lanes) : type; }
  /// `value` in every lane if `like` is a vector type and `value` is not one.
  LV splatLike(LV value, llvm::Type *like);
  LV number(llvm::Type *type, double value) { return llvm::ConstantFP::get(type, value); }

  //===- operations -------------------------------------------------------------------------------------===//
  /// An element-wise operation of the dialect on operands in register form; scalars among vectors are spread.
  LV apply(mlir::Operation *op, llvm::ArrayRef<LV> operands);
  LV unary(UnaryKind kind, mlir::Type element, LV x);
  LV binary(BinaryKind kind, mlir::Type element, LV x, LV y);
  LV compare(ComparePredicate predicate, mlir::Type element, LV x, LV y);
  LV fma(mlir::Type element, LV x, LV y, LV z);
  /// x * y + z for contractions: fused where the machine has it.
  LV multiplyAccumulate(mlir::Type element, LV x, LV y, LV z);
  LV cast(mlir::Type from, mlir::Type to, LV x);
  LV bitcast(mlir::Type from, mlir::Type to, LV x);
  /// An f32 value rounded to a narrow format, still as f32; f32 and f64 stay as they are.
  LV round(mlir::Type element, LV x);
  LV flushed(LV x);

private:
  LV binaryInteger(BinaryKind kind, mlir::Type element, LV x, LV y);
  LV binaryFloat(BinaryKind kind, mlir::Type element, LV x, LV y);
  LV divideInteger(bool isSigned, bool remainder, LV x, LV y);
  LV divideVectors(bool isSigned, LV x, LV y);
  LV floorQuotient(bool isSigned, LV x, LV y, llvm::Type *format);
  LV floorDivideFloat(bool remainder, LV x, LV y);
  LV extremum(bool maximum, bool number, LV x, LV y);
  LV truncateToOdd(LV x);
  LV roundBits(LV x, unsigned mantissaBits);
  LV roundSmall(LV x, unsigned mantissaBits, int minExponent, double largest, bool infinities);

  // Math.cpp: x is f32 or f64, scalar or vector.
  LV elementary(UnaryKind kind, LV x);
  LV power(LV x, LV y);
  LV exponential(LV x, bool base2);
  LV logarithm(LV x, bool base2);
  LV hyperbolicTangent(LV x);
  LV sigmoid(LV x);
  LV arcsine(LV x);
  LV bessel0(LV x);
  LV logGamma(LV x);
  LV libraryCall(llvm::StringRef name, llvm::ArrayRef<LV> operands);
  LV polynomial(LV x, llvm::ArrayRef<double> highestFirst);
  LV chebyshev(LV x, llvm::ArrayRef<double> highestFirst);
  LV exactFma(LV x, LV y, LV z);
  LV multiplyAdd(LV x, LV y, LV z);
  LV intrinsic(llvm::Intrinsic::ID id, llvm::ArrayRef<LV> operands);
  llvm::FunctionCallee pureFunction(llvm::StringRef name, llvm::FunctionType *type);

  llvm::Module &module;
  llvm::IRBuilder<> &b;
  const CpuFacts &cpu;
};

} // namespace intent::block::host

#endif
