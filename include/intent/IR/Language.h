#ifndef INTENT_IR_LANGUAGE_H
#define INTENT_IR_LANGUAGE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include <optional>

#include "intent/IR/LanguageEnums.h.inc"

namespace intent {

/// True for the element types of the language: i1, index, i8..i64 (signed), ui8..ui64, f8E4M3FN, f8E5M2,
/// f16, bf16, f32 and f64.
bool isScalarType(mlir::Type type);

/// True for the unsigned integers `uiN` and for `i1`.
bool isUnsignedInteger(mlir::Type type);

/// The author's spelling of a scalar type: `f16`, `f8e4m3fn`, `u8`, `bool`, `index`...
llvm::StringRef dtypeName(mlir::Type type);

/// The scalar type of an author's spelling; null if there is none.
mlir::Type parseDtype(mlir::MLIRContext *context, llvm::StringRef name);

/// True if the function has a meaning on elements of that scalar type.
bool isDefinedOn(UnaryKind kind, mlir::Type element);
bool isDefinedOn(BinaryKind kind, mlir::Type element);
bool isDefinedOn(AtomicKind kind, mlir::Type element);

/// True if the function has an approximate form on elements of that scalar type.
bool mayApproximate(UnaryKind kind, mlir::Type element);
bool mayApproximate(BinaryKind kind, mlir::Type element);

/// Bytes that one element takes in memory; `i1` takes one, `index` eight.
unsigned storageBytes(mlir::Type type);

/// The attribute of an integer or float constant of a scalar type. The value must be representable.
mlir::TypedAttr integerConstant(mlir::Type type, int64_t value);
mlir::TypedAttr floatConstant(mlir::Type type, double value);
mlir::TypedAttr zeroConstant(mlir::Type type);

/// True if the function makes zero of zeros.
bool keepsZero(BinaryKind kind);

} // namespace intent

#endif
