// Values that are not there any more when they are used, carries that an instance cannot hold, and the buffers that keep both.
#ifndef INTENT_LIB_CONVERSION_KIRTOBLOCK_SNAPSHOTS_H
#define INTENT_LIB_CONVERSION_KIRTOBLOCK_SNAPSHOTS_H

#include "Facts.h"

namespace intent::conversion {

/// The error about a read that comes too late, and the effect that is before it.
mlir::LogicalResult emitReplaced(kir::ReadOp read, mlir::Operation *by);

/// Finds tensor reads that a walk of an effect uses again and again while the steps of the walk replace other elements than
/// each step's own. Failure has emitted a diagnostic: no buffer can hold one of them.
mlir::LogicalResult findReplaced(Facts &facts, llvm::SetVector<mlir::Value> &found);

/// Keeps stages of tensors that are read at several members each, where computing them anew multiplies to too much.
void keepStages(kir::KernelOp kernel);

/// Gives folds steps of their own where these scale an accumulator less than `combine` and `summarize` do.
void formSteps(kir::KernelOp kernel);

/// True if only control is around: nothing else may hold effects, such as the write of a buffer.
bool mayHoldEffects(mlir::Operation *place);

/// True if a buffer can hold the value, what a read or another effect gives, and none does yet.
bool canKeep(Facts &facts, mlir::Value value);

/// The name of the attribute of a write whose value is not there any more when it is read back.
inline constexpr llvm::StringLiteral keepsAttributeName = "block.keeps";

/// Copies the value to a buffer of its own where it stands, which its users read instead.
void keepInBuffer(mlir::Value value);

/// Has each pass of a loop begin with buffers that nothing has been written to.
void unwriteBuffers(kir::KernelOp kernel);

/// Keeps tensors that are indexed by anything but whole axes, so that their elements are accesses, too.
void keepIndexed(Facts &facts);

/// Has requirements in loops that only compute asked in a loop of their own, which computes what they need, so that the others
/// form as they do unchecked; and has extents of data that must be equal required to be.
void requireApart(Facts &facts);

/// Has the iterations of an unordered loop done in order, each with the buffers of the one before: for loops whose number of
/// iterations is not known at launch, where each could not have buffers of its own.
void walkInOrder(mlir::Operation *loop);

/// True if buffers can hold the tensors that an ordered loop carries, and it carries some.
bool canCarry(Facts &facts, mlir::Operation *loop);

/// Has an ordered loop carry its tensors in buffers, which each pass reads and writes whole. The loop is another operation then.
void carryInBuffers(mlir::Operation *loop);

/// An ordered loop without those of its carries; of these only the starts may be in use. The loop is another operation then.
mlir::Operation *withoutCarries(mlir::Operation *loop, const llvm::BitVector &gone);

} // namespace intent::conversion

#endif
