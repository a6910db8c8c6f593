#ifndef INTENT_LIB_CONVERSION_KIRTOBLOCK_GROUPS_H
#define INTENT_LIB_CONVERSION_KIRTOBLOCK_GROUPS_H

#include "Facts.h"

namespace intent::conversion {

/// True if a write of one may touch an element that the other accesses.
bool haveEdge(Facts &facts, llvm::ArrayRef<Access> a, llvm::ArrayRef<Access> b);

/// True if two accesses touch a common element only where the class has one position for both. `isFixed`: classes that have
/// one position while the accesses are looked at.
bool meetOnlyAtOnePosition(
    Facts &facts, const Access &a, const Access &b, AxisId id, llvm::function_ref<bool(AxisId)> isFixed = [](AxisId) { return false; });
/// True for two accesses of one effect that are both at its own elements or at those it swaps them with (`Effect::image`): what
/// they have in common one point of its axes does.
bool meetOnlyInOnePair(Facts &facts, const Access &a, const Access &b);
/// No two passes of an author's loop around `op` meet in these accesses.
bool meetOnlyInOnePass(Facts &facts, const Access &a, const Access &b, mlir::Operation *op);

/// True if the class is an axis of an `I.parallel` around both: its iterations touch nothing in common by contract.
bool areIterations(Facts &facts, mlir::Operation *a, mlir::Operation *b, AxisId id);

/// Effects by what they share, both in program order.
llvm::SmallVector<llvm::SmallVector<Effect *>> formGroups(Facts &facts, llvm::ArrayRef<Effect *> effects);

/// True if an effect uses what an earlier one, or something inside it, gives.
bool dependsOn(Facts &facts, Effect *effect, Effect *earlier);

/// Calls `visit` on each leaf of an effect.
void forEachLeaf(Effect *effect, llvm::function_ref<void(Effect *)> visit);

/// True if every effect has the class, and no edge crosses instances along it.
bool isFreeIn(Facts &facts, llvm::ArrayRef<Effect *> effects, AxisId id);

/// The classes that may have a program level: launch-visible, free in every effect, not combined along, and crossed by no edge.
llvm::SmallVector<AxisId> programAxes(Facts &facts, llvm::ArrayRef<Effect *> effects, const llvm::SetVector<AxisId> &combined);

} // namespace intent::conversion

#endif
