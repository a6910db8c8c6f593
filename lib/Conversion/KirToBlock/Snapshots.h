// Reads whose elements are replaced before they are used, and buffers that keep them.
#ifndef INTENT_LIB_CONVERSION_KIRTOBLOCK_SNAPSHOTS_H
#define INTENT_LIB_CONVERSION_KIRTOBLOCK_SNAPSHOTS_H

#include "Facts.h"

namespace intent::conversion {

/// Tensor reads that a walk of an effect uses again and again while the steps of the walk replace other elements than each
/// step's own.
llvm::SetVector<mlir::Operation *> findReplaced(Facts &facts);

/// True if a buffer can hold what the read gives and does not yet: it stands in control, and the launch bounds its extents.
bool canKeep(Facts &facts, kir::ReadOp read);

/// Copies what the read gives to a buffer of its own where it stands, which its users read instead.
void keepInBuffer(kir::ReadOp read);

} // namespace intent::conversion

#endif
