// Which chunks of a fold's source matter: those where some predicate over its coordinates holds for a member.
#ifndef INTENT_LIB_CONVERSION_KIRTOBLOCK_NARROW_H
#define INTENT_LIB_CONVERSION_KIRTOBLOCK_NARROW_H

#include "Facts.h"

namespace intent::conversion {

/// A bound on the positions of a folded axis: where it does not hold, a slice's summary is the identity.
struct Bound {
  const Index *limit;          // over axes that do not change in the fold
  bool upper;                  // position <= limit, else position >= limit
  mlir::Operation *comparison; // which it is wherever it is asked; null: elsewhere it is something else
};

/// Bounds that follow from comparisons of coordinates in `summarize`, each proven by folding the region with the comparison
/// false: every component becomes the constant that its identity is. The law that the identity is neutral does the rest.
llvm::SmallVector<Bound> boundsOf(Facts &facts, kir::RegionFoldOp fold, const DemandSet &demands);

} // namespace intent::conversion

#endif
