#ifndef INTENT_LIB_CONVERSION_KIRTOBLOCK_GROUPFACTS_H
#define INTENT_LIB_CONVERSION_KIRTOBLOCK_GROUPFACTS_H

#include "Covers.h"

namespace intent::conversion {

/// Facts about one group that every variant shares.
struct GroupFacts {
  llvm::SmallVector<Effect *> effects;
  DemandSet demands;
  llvm::SetVector<AxisId> classes, reduced, contracted, ordered, complete, revisited;
  llvm::SetVector<AxisId> uniform; // control or a combine depends on the position: an instance has one at a time
  llvm::SetVector<AxisId> lengths; // trip counts vary over them; their lanes run as long as the longest of them
  llvm::SetVector<AxisId> running; // classes that scans, folds and region scans walk in order
  llvm::SmallVector<AxisId> program;
  std::optional<AxisId> split;         // the reduced class that instances share out
  std::optional<RaggedAxis> ragged;    // members that may have a program level, or have one
  AxisId lhsFree = ~0u, rhsFree = ~0u; // the lane axes of the group's contractions
  llvm::SetVector<AxisId> matrices;    // contractions have a matrix for each position
  llvm::SetVector<AxisId> bytes;       // reduced by contractions of 8-bit operands
  llvm::SetVector<AxisId> outer;       // reduced by contractions that are sums of outer products
  llvm::SetVector<AxisId> dense;       // classes on the last axis of some load or store
  llvm::SetVector<AxisId> rows;        // classes on another axis of one whose last axis has classes, too
  bool isUniform(AxisId id) const { return uniform.contains(id) || lengths.contains(id); }
};

/// Classes, reductions, control and contractions of the effects of one group.
GroupFacts factsOf(Facts &facts, llvm::ArrayRef<Effect *> effects);

/// Fragment axes in one order that contractions like (m < k < n), then accesses, then the program.
llvm::SmallVector<AxisId> fragmentOrder(Facts &facts, const GroupFacts &group);

/// True for a constant extent that is walked point by point.
bool isPointExtent(Facts &facts, AxisId id);

} // namespace intent::conversion

#endif
