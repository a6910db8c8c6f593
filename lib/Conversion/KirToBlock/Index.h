// Symbolic coordinates: what a demand binds to each axis of a value.
#ifndef INTENT_LIB_CONVERSION_KIRTOBLOCK_INDEX_H
#define INTENT_LIB_CONVERSION_KIRTOBLOCK_INDEX_H

#include "intent/Dialect/Kir/IR/Kir.h"
#include "llvm/ADT/FoldingSet.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/Support/Allocator.h"

namespace intent::conversion {

using AxisId = unsigned;
class Index;
using Coordinates = llvm::SmallVector<const Index *, 4>;

/// A hash-consed integer expression over axis positions and index values: equal expressions are the same pointer.
/// `Linear` is the normal form of sums: constant + sum of coefficient * term, terms neither sums nor constants. `Start` is
/// the first position of the chunk of an axis that a fold or region scan looks at.
class Index : public llvm::FoldingSetNode {
public:
  enum Kind { Constant, Axis, Start, Leaf, Extent, Product, FloorDiv, Mod, Linear };

  Kind kind;
  unsigned id = 0;                            // order of creation: makes normal forms deterministic
  int64_t constant = 0;                       // Constant, Linear
  AxisId axis = 0;                            // Axis: the position 0, 1, ... of an axis; Start
  mlir::Value value;                          // Leaf: an index value of the kernel ...
  Coordinates operands;                       // Leaf: ... at these coordinates; Product, FloorDiv, Mod: operands; Linear: terms
  llvm::SmallVector<int64_t, 4> coefficients; // Linear
  mlir::Attribute extent;                     // Extent: an atom (StringAttr)

  void Profile(llvm::FoldingSetNodeID &id) const;
  /// The value of a constant.
  std::optional<int64_t> getConstant() const { return kind == Constant ? std::optional(constant) : std::nullopt; }
};

/// Owns index expressions and builds them in normal form.
class IndexContext {
public:
  explicit IndexContext(mlir::MLIRContext *context) : context(context) {}

  const Index *constant(int64_t value);
  const Index *axis(AxisId axis);
  const Index *start(AxisId axis);
  const Index *leaf(mlir::Value value, llvm::ArrayRef<const Index *> coordinates);
  const Index *extent(kir::ExtentAttr extent);
  const Index *add(const Index *a, const Index *b) { return combine(a, 1, b, 1); }
  const Index *sub(const Index *a, const Index *b) { return combine(a, 1, b, -1); }
  const Index *mul(const Index *a, const Index *b);
  const Index *floorDiv(const Index *a, const Index *b);
  const Index *mod(const Index *a, const Index *b);

  /// Same expression with each axis replaced by what `axisOf` gives (null keeps it).
  const Index *substitute(const Index *index, llvm::function_ref<const Index *(AxisId)> axisOf);

  /// The constant coefficient of `axis` if the expression is `rest + coefficient * axis` and `rest` does not use the
  /// axis; nullopt otherwise.
  std::optional<int64_t> coefficientOf(const Index *index, AxisId axis);

  mlir::MLIRContext *context;

private:
  const Index *combine(const Index *a, int64_t ca, const Index *b, int64_t cb);
  const Index *unique(Index proto);

  unsigned nextId = 0;
  llvm::FoldingSet<Index> nodes;
  std::vector<std::unique_ptr<Index>> owned;
};

/// Calls `visit` on each axis that the expression mentions, those of leaf coordinates included.
void forEachAxis(const Index *index, llvm::function_ref<void(AxisId)> visit);

} // namespace intent::conversion

#endif
