#ifndef INTENT_LIB_CONVERSION_KIRTOBLOCK_GROUPS_H
#define INTENT_LIB_CONVERSION_KIRTOBLOCK_GROUPS_H

#include "Facts.h"

namespace intent::conversion {

/// True if a write of one may touch an element that the other accesses.
bool haveEdge(Facts &facts, llvm::ArrayRef<Access> a, llvm::ArrayRef<Access> b);

/// Outermost effects by group, both in program order.
llvm::SmallVector<llvm::SmallVector<Effect *>> formGroups(Facts &facts);

/// Calls `visit` on each write of an effect.
void forEachWrite(Effect *effect, llvm::function_ref<void(Effect *)> visit);

/// The classes that may have a program level: launch-visible, free in every write, not reduced, and crossed by no edge.
llvm::SmallVector<AxisId> programAxes(Facts &facts, llvm::ArrayRef<Effect *> effects, const llvm::SetVector<AxisId> &reduced);

} // namespace intent::conversion

#endif
