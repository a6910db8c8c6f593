// Which reads an access is computed from: the only order of two accesses of one instance besides a fence.
#ifndef INTENT_DIALECT_BLOCK_ANALYSIS_DERIVATION_H
#define INTENT_DIALECT_BLOCK_ANALYSIS_DERIVATION_H

#include "intent/Dialect/Block/IR/Block.h"

namespace intent::block {

/// The lanes of a read along one of its axes that a lane of an access needs, whose lane along its own axis `axis` is k.
struct LaneRelation {
  /// All; lane k; lanes up to k; lanes from k; the first or last lane; one that is not known.
  enum Kind { Any, Same, UpTo, From, First, Last, Unknown } kind = Any;
  unsigned axis = 0;
  bool operator<(const LaneRelation &other) const { return std::pair(kind, axis) < std::pair(other.kind, other.axis); }
  bool operator==(const LaneRelation &other) const { return kind == other.kind && axis == other.axis; }
  /// Whether lane `lane` of `extent` is one of them. `own` is the access's lane on each of its axes.
  bool holds(int64_t lane, int64_t extent, llvm::ArrayRef<int64_t> own) const;
};

/// A load or atomic access whose result another access needs.
struct Derivation {
  mlir::Operation *source = nullptr;
  llvm::SmallVector<LaneRelation, 4> lanes; ///< of each axis of the source's result
  bool everyPass = false;                   ///< carried around a loop: its earlier executions, too
};

/// The reads behind which `access` stands because its value, coordinates, active set or control follow from them, lane by
/// lane. A load whose element goes to several lanes is none of them: the threads of all these lanes make it, each for
/// itself, and the access follows only one. Such are broadcast fragments, and scalars of which `access` is not the only use.
llvm::SmallVector<Derivation, 4> derivationsOf(mlir::Operation *access);

} // namespace intent::block

#endif
