// The assignment: groups of effects, and one cover per group and class, in up to three variants.
#ifndef INTENT_LIB_CONVERSION_KIRTOBLOCK_COVERS_H
#define INTENT_LIB_CONVERSION_KIRTOBLOCK_COVERS_H

#include "Facts.h"
#include "intent/Conversion/KirToBlock/KirToBlock.h"

namespace intent::conversion {

/// Levels of a class, outer to inner; their product is the domain.
struct Cover {
  bool program = false;  // one coordinate (or tile) per instance
  bool loop = false;     // chunks, or single points when there are no lanes
  block::ExprAttr lanes; // extent of the fragment axis; null: no lanes
  std::string parameter; // the parameter that sizes the lanes; empty for a constant
  bool slice = false;    // positions in a slice: lanes that the walk along the sliced axis binds
  bool complete() const { return lanes && !program && !loop && !slice; }
};

/// Members of groups whose sizes only device data knows, of which no two are stored to one element: they are walked in tiles
/// of one linear sequence, each within a group.
struct RaggedAxis {
  AxisId groups, members;
  kir::ExtentAttr bound; // members of all groups together, at most
};

struct Group {
  llvm::SmallVector<Effect *> effects;   // outermost ones, in program order
  llvm::SmallVector<AxisId> programAxes; // classes with a program level, outer to inner
  std::map<AxisId, Cover> covers;
  llvm::SmallVector<AxisId> order; // all classes in fragment axis order
  AxisId split = ~0u;              // the class that instances share out and hand over, a program axis without a position
  block::ExprAttr workers;         // among how many: the parameter's, a share of them for each tile of the other axes
  block::ExprAttr workerParameter;
  std::optional<RaggedAxis> ragged; // its members are a program axis that stands for the groups too
  block::ExprAttr groupLanes;       // all groups at once, to find the one that a tile is of
  int64_t fanIn = 0;                // of a tree of hand-overs; 0: the last of all instances finishes
  std::string swizzle;              // parameter of the grouped swizzle over the last two program axes; or empty
  unsigned rank(AxisId id) const { return llvm::find(order, id) - order.begin(); }
};

struct Variant {
  std::string name;
  block::ExprAttr guard; // null: every launch
  std::vector<Group> groups;
  llvm::SmallVector<block::ParameterAttr> parameters;
};

/// How many instances walk a program axis that is not shared out.
block::ExprAttr tilesOf(Facts &facts, const Group &group, AxisId id);

/// How messages and options name an axis: its extent, `N`, `4` or `M + 1`.
std::string extentName(kir::ExtentAttr extent);

/// Assigns covers for the target; failure has emitted a diagnostic.
mlir::FailureOr<std::vector<Variant>> assignCovers(Facts &facts, block::TargetAttr target, const KirToBlockOptions &options);

} // namespace intent::conversion

#endif
