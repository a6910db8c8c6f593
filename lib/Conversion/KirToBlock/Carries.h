// Operations that carry values from pass to pass: ordered loops, and folds and region scans walked in chunks.
#ifndef INTENT_LIB_CONVERSION_KIRTOBLOCK_CARRIES_H
#define INTENT_LIB_CONVERSION_KIRTOBLOCK_CARRIES_H

#include "intent/Dialect/Kir/IR/Kir.h"

namespace intent::conversion {

/// A loop of the author, or a structured operation that is realised as one: `for`, `while`, a region fold (its carry is
/// the summary so far) or a region scan (its carry is the state).
class Carries {
public:
  explicit Carries(mlir::Operation *op) : op(op) {}
  static bool has(mlir::Operation *op) { return mlir::isa<kir::ForOp, kir::WhileOp, kir::RegionFoldOp, kir::RegionScanOp>(op); }

  size_t size() const { return inits().size(); }
  mlir::ValueRange inits() const;
  /// The value inside the loop before a pass.
  mlir::BlockArgument argument(unsigned i) const;
  /// The value after a pass.
  mlir::Value next(unsigned i) const;
  /// The value after the last pass.
  mlir::Value result(unsigned i) const;
  /// The number of the carry whose last value this is; none for the outputs of a region scan.
  std::optional<unsigned> numberOf(mlir::Value result) const;

  /// The carry that a region argument stands for, with the loop.
  static std::optional<std::pair<mlir::Operation *, unsigned>> of(mlir::BlockArgument argument);

  mlir::Operation *op;
};

/// Operations that act on memory at their own axes, once each, or ask something.
inline bool isLeafEffect(mlir::Operation *op) {
  return mlir::isa<kir::WriteOp, kir::ScatterReduceOp, kir::AtomicOp, kir::CompareExchangeOp, kir::RequireOp>(op);
}
/// The name of the attribute of an ordered loop whose passes are iterations of an unordered one.
inline constexpr llvm::StringLiteral unorderedAttributeName = "block.unordered";
/// A loop whose iterations the author has left without an order.
inline bool isUnordered(mlir::Operation *op) { return mlir::isa<kir::ParallelOp>(op) || op->hasAttr(unorderedAttributeName); }
/// True if such an operation stands inside, or this is one.
bool holdsEffects(mlir::Operation *op);
/// An operation that is executed where the program says so: a leaf or an ordered loop around some.
inline bool isEffect(mlir::Operation *op) { return isLeafEffect(op) || (mlir::isa<kir::ForOp, kir::WhileOp>(op) && holdsEffects(op)); }
/// Of a leaf: the view (none of a requirement), the indices, the values that it takes (of one shape, or scalars) and that shape.
mlir::Value viewOf(mlir::Operation *op);
mlir::ValueRange indicesOf(mlir::Operation *op);
llvm::SmallVector<mlir::Value, 2> valuesOf(mlir::Operation *op);
llvm::ArrayRef<kir::ExtentAttr> effectShape(mlir::Operation *op);
/// True if any order of the two leaves the same in memory.
bool commute(mlir::Operation *a, mlir::Operation *b);
/// Atomic accesses of one `I.parallel`: whatever its iterations do to an element they do in any order.
bool raceByContract(mlir::Operation *a, mlir::Operation *b);

/// Calls `visit` on what a region uses of the values around it.
void forEachCaptured(mlir::Region &region, llvm::function_ref<void(mlir::Value)> visit);

/// True if a combine region is more than element-wise work.
bool holdsLoops(mlir::Region &combine);

/// Operations that combine the members of axes of their own.
inline bool isReduction(mlir::Operation *op) { return mlir::isa<kir::ReduceOp, kir::ContractOp>(op); }

} // namespace intent::conversion

#endif
