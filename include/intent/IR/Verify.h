#ifndef INTENT_IR_VERIFY_H
#define INTENT_IR_VERIFY_H

#include "intent/IR/Language.h"
#include "mlir/IR/OpDefinition.h"

namespace intent {

/// Verifies what element-wise functions of KIR and of block programs share: the function is defined on `element` (C1), only an
/// approximate one flushes to zero (C2), and only a function that has an approximate form is approximate (C3). Errors are
/// emitted at `op`.
llvm::LogicalResult verifyFunction(mlir::Operation *op, UnaryKind kind, mlir::Type element, bool approximate, bool flushToZero);
llvm::LogicalResult verifyFunction(mlir::Operation *op, BinaryKind kind, mlir::Type element, bool approximate, bool flushToZero);

/// Verifies that these operand segments, of all the sizes `sizes`, hold one value each.
llvm::LogicalResult verifySingleOperands(mlir::Operation *op, llvm::ArrayRef<unsigned> segments, llvm::ArrayRef<int32_t> sizes);

/// Intent_SingleOperands of Language.td.
template <unsigned... segments>
struct SingleOperands {
  template <typename Op>
  struct Impl : mlir::OpTrait::TraitBase<Op, Impl> {
    static llvm::LogicalResult verifyTrait(mlir::Operation *op) {
      return verifySingleOperands(op, {segments...}, llvm::cast<Op>(op).getProperties().operandSegmentSizes);
    }
  };
};

} // namespace intent

#endif
