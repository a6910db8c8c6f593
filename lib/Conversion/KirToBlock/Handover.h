#ifndef INTENT_LIB_CONVERSION_KIRTOBLOCK_HANDOVER_H
#define INTENT_LIB_CONVERSION_KIRTOBLOCK_HANDOVER_H

#include "GroupFacts.h"

namespace intent::conversion {

/// A reduced class that a group's instances can share out among themselves, each combining its own members and the last
/// of them finishing; none where a partial value is needed before it is whole.
std::optional<AxisId> splitAxis(Facts &facts, const GroupFacts &group);

/// A view that one instance starts as a whole and all instances of a split class then add to: they add to workspace that
/// begins with zeros, and what starts the view comes last.
struct Started {
  mlir::Value view;
  Effect *start;
  BinaryKind kind; // which zero is neutral for
};
llvm::SmallVector<Started> startedViews(Facts &facts, llvm::ArrayRef<Effect *> effects, AxisId split);

/// True for a reduction over the split class.
bool isPartial(Facts &facts, const Demand &demand, AxisId split);

/// True if the class is one of an effect's own.
bool hasAxis(Facts &facts, Effect *effect, AxisId split);

} // namespace intent::conversion

#endif
