#ifndef INTENT_DIALECT_KIR_IR_KIR_H
#define INTENT_DIALECT_KIR_IR_KIR_H

#include "intent/IR/Language.h"
#include "intent/IR/Verify.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "intent/Dialect/Kir/IR/KirDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "intent/Dialect/Kir/IR/KirAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "intent/Dialect/Kir/IR/KirTypes.h.inc"
#define GET_OP_CLASSES
#include "intent/Dialect/Kir/IR/KirOps.h.inc"

namespace intent::kir {

/// The element type of a tensor or view, or the scalar type itself.
mlir::Type elementType(mlir::Type type);

/// The extents of a tensor or view; none for a scalar.
llvm::ArrayRef<ExtentAttr> shapeOf(mlir::Type type);
/// Gives the atoms of all extents in `root` other names; definitions keep theirs.
void replaceAtoms(mlir::Operation *root, llvm::function_ref<llvm::StringRef(llvm::StringRef)> nameOf);

/// A tensor of that shape with another element type; a scalar gives the element itself.
mlir::Type withElement(mlir::Type type, mlir::Type element);

/// The result shape of indexing axes of extents `source` (fewer indices leave an error) with `indices`:
/// domains add one axis each, tensors their joint axes where the first of them stands.
/// Returns failure if the index count differs from the rank or tensor shapes differ.
mlir::FailureOr<llvm::SmallVector<ExtentAttr>> indexedShape(size_t rank, mlir::ValueRange indices);

} // namespace intent::kir

#endif
