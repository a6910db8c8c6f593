// The assignment under way: facts of the groups in, one cover per group and class in each variant out.
#ifndef INTENT_LIB_CONVERSION_KIRTOBLOCK_ASSIGNMENT_H
#define INTENT_LIB_CONVERSION_KIRTOBLOCK_ASSIGNMENT_H

#include "GroupFacts.h"

#include "llvm/ADT/StringSet.h"

namespace intent::conversion {

class Assignment {
public:
  Assignment(Facts &facts, block::TargetAttr target, const KirToBlockOptions &options)
      : facts(facts), target(target), options(options), context(facts.kernel.getContext()) {}
  mlir::FailureOr<std::vector<Variant>> run();

private:
  // Variants.cpp
  std::vector<GroupFacts> findGroups();
  void placeTogether(llvm::ArrayRef<Effect *> effects, std::vector<GroupFacts> &found);
  std::vector<Variant> chooseVariants();
  mlir::Operation *unfitting();
  mlir::LogicalResult refuse();
  bool splitWide(std::vector<GroupFacts> &wide);
  block::ExprAttr tileRagged(std::vector<GroupFacts> &ragged);
  block::ExprAttr serialGuard(const GroupFacts &group);
  block::ExprAttr finishGuard(const GroupFacts &group);
  block::ExprAttr residentGuard(bool needed);
  Variant makeVariant(llvm::StringRef name, llvm::ArrayRef<GroupFacts> groups, bool resident);
  block::ExprAttr splitGuard(llvm::ArrayRef<GroupFacts> wide, const Variant &variant);
  // Covers.cpp
  Group makeGroup(const GroupFacts &g, bool resident, Variant &variant);
  void coverProgram(const GroupFacts &g, Group &group, Variant &variant);
  void coverInner(const GroupFacts &g, Group &group, bool resident, Variant &variant);
  void giveLanes(Cover &cover, AxisId id, llvm::StringRef column, block::Role role, int64_t low, int64_t high, Variant &variant);
  void giveCoverage(const GroupFacts &g, Cover &cover, AxisId id, Variant &variant);
  int64_t leastLanes(const GroupFacts &g, AxisId id);
  void giveSegment(const GroupFacts &g, Cover &cover, AxisId folded, Variant &variant);
  bool canShare(const GroupFacts &g, AxisId id);
  bool isWatched(AxisId id);
  bool isSliced(const GroupFacts &g, AxisId id);
  bool isResident(const GroupFacts &g, AxisId id);
  block::ExprAttr instances(const Group &group);
  void shareOut(const GroupFacts &g, AxisId id, Group &group, Variant &variant);
  std::string parameterName(llvm::StringRef prefix, llvm::StringRef column, AxisId id);
  void declare(Variant &variant, block::ParameterAttr parameter);
  mlir::LogicalResult readForced();
  mlir::LogicalResult applyForced(const GroupFacts &g, Group &group, Variant &variant);
  int64_t feature(llvm::StringRef name, int64_t otherwise);

  Facts &facts;
  block::TargetAttr target;
  const KirToBlockOptions &options;
  mlir::MLIRContext *context;
  std::vector<GroupFacts> groups;
  std::map<std::pair<std::string, AxisId>, std::string> names;
  llvm::StringSet<> used;
  llvm::StringMap<llvm::SmallVector<llvm::StringRef>> forced; // by extent name: the levels that the options ask for
};

} // namespace intent::conversion

#endif
