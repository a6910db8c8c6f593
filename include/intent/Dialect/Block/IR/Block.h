#ifndef INTENT_DIALECT_BLOCK_IR_BLOCK_H
#define INTENT_DIALECT_BLOCK_IR_BLOCK_H

#include "intent/IR/Language.h"
#include "intent/IR/Verify.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "intent/Dialect/Block/IR/BlockDialect.h.inc"
#include "intent/Dialect/Block/IR/BlockEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "intent/Dialect/Block/IR/BlockAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "intent/Dialect/Block/IR/BlockTypes.h.inc"
#define GET_OP_CLASSES
#include "intent/Dialect/Block/IR/BlockOps.h.inc"

namespace intent::block {

/// The element type of a fragment or view, or the scalar type itself.
mlir::Type elementType(mlir::Type type);

/// The extents of a fragment; none for a scalar.
llvm::ArrayRef<ExprAttr> extentsOf(mlir::Type type);

/// A fragment of those extents with another element type; a scalar gives the element itself.
mlir::Type withElement(mlir::Type type, mlir::Type element);

/// A fragment type, or the element itself when there are no extents.
mlir::Type fragmentOrScalar(mlir::Type element, llvm::ArrayRef<ExprAttr> extents);

/// The i-th list of an access's alignment: the axes on which that coordinate or mask lies.
llvm::SmallVector<unsigned, 4> axisList(mlir::ArrayAttr lists, unsigned i);

/// Canonicalisation of control leaves constants and choices of the arith dialect: they become operations of this one.
void adoptArithmetic(mlir::Operation *root);

/// The constant that a value is in every lane; null if it is none.
mlir::TypedAttr constantEverywhere(mlir::Value value);

/// The combine of a one-component reduce if its region is a single element-wise operation on both
/// arguments in order: what a provider may print as its native sum, product, maximum...
std::optional<BinaryKind> builtinCombine(mlir::Region &combine);

} // namespace intent::block

#endif
