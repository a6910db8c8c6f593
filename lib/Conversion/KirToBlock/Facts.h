// What analysis finds in a kernel: axes and their classes, demands, effects, versions.
#ifndef INTENT_LIB_CONVERSION_KIRTOBLOCK_FACTS_H
#define INTENT_LIB_CONVERSION_KIRTOBLOCK_FACTS_H

#include "Carries.h"
#include "Index.h"

#include "intent/Dialect/Block/IR/Block.h"
#include "intent/Target/Capabilities.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include <map>
#include <set>

namespace intent::conversion {

/// A `serial_elements` from which on the target bounds nothing.
constexpr int64_t unboundedSerial = int64_t(1) << 40;

/// An iteration variable: one per axis of an effect, per parallel or ordered loop variable, per reduced, contracted,
/// scanned or folded axis of a structured operation, per axis of a loop carry, per output of a region scan (a position in
/// a slice). The passes of a `while` and the chunks of a folded axis are axes too, of which no value has members: a chunk's
/// position is its first member.
struct Axis {
  enum Kind { Parallel, Ordered, While, Effect, Reduced, Scanned, Folded, Chunk, Slice, Carry, Slot };
  Kind kind;
  mlir::Operation *op;
  const Index *start, *step; // coordinate = start + step * position
  kir::ExtentAttr extent;
};

/// A value at coordinates: the unit of realisation.
using Demand = std::pair<mlir::Value, Coordinates>;

struct DemandLess {
  bool operator()(const Demand &a, const Demand &b) const {
    if (a.first != b.first) return a.first.getAsOpaquePointer() < b.first.getAsOpaquePointer();
    return std::lexicographical_compare(a.second.begin(), a.second.end(), b.second.begin(), b.second.end(),
                                        [](const Index *x, const Index *y) { return x->id < y->id; });
  }
};

/// Demands in order of discovery.
struct DemandSet {
  std::vector<Demand> order;
  std::set<Demand, DemandLess> seen;
  bool insert(const Demand &demand) {
    if (!seen.insert(demand).second) return false;
    order.push_back(demand);
    return true;
  }
};

/// A condition that guards an effect: an `if` of the author, taken or not.
struct Condition {
  mlir::Value value;
  bool negated;
};
/// Those of all `if`s around an operation, outer to inner.
llvm::SmallVector<Condition> conditionsAround(mlir::Operation *op);

/// An operation that acts on memory, or an ordered loop that holds such.
struct Effect {
  mlir::Operation *op;
  Effect *parent = nullptr;                // the ordered loop around it
  llvm::SmallVector<Condition> conditions; // all `if`s of the author around it
  bool inCondition = false;                // it stands in the condition of a `while`
  llvm::SmallVector<AxisId> parallel;      // enclosing parallel axes, outer to inner, parents' included
  llvm::SmallVector<Effect *> children;    // of a loop
  llvm::SmallVector<Demand> roots;         // what it pulls directly, its children's excluded
  /// Of a write in place under an involution of its axes (a reversal, a transpose): the positions that its own ones are swapped
  /// with. One point of its axes then does both, and of the two the one that comes first. Empty for other effects.
  Coordinates image;

  bool isLeaf() const { return isLeafEffect(op); }
};

/// Classes in order.
using AxisSet = llvm::SmallVector<AxisId, 6>;
inline void merge(AxisSet &into, AxisId id) {
  auto *at = llvm::lower_bound(into, id);
  if (at == into.end() || *at != id) into.insert(at, id);
}

/// One access of a view, with its coordinates in terms of classes.
struct Access {
  mlir::Operation *op;
  mlir::Value view;
  Coordinates coordinates;
  bool write;
  Effect *effect; // on whose behalf
};

class Facts {
public:
  explicit Facts(kir::KernelOp kernel);

  /// Runs all analyses; failure has emitted a diagnostic.
  mlir::LogicalResult analyse();

  //===- axes -----------------------------------------------------------------------------------------===//

  /// The instances of a split axis as an axis: no value has members along it but what they hand over.
  AxisId slotAxis() const { return slot; }
  size_t axisCount() const { return axes.size(); }
  const Axis &axis(AxisId id) const { return axes[id]; }
  /// The class of an axis, named by its first member.
  AxisId find(AxisId id) const;
  /// Members of a class.
  llvm::SmallVector<AxisId> members(AxisId representative) const;
  /// Axes of `op`: an effect's index axes, reduced axes, parallel axes, the scanned axis, the one axis of a loop; of
  /// a fold its axis and that of its chunks, of a region scan behind them one position in a slice per output.
  llvm::ArrayRef<AxisId> axesOf(mlir::Operation *op) const;
  /// The classes that an effect is done along: those of the parallel loops around it, then its own.
  llvm::SmallVector<AxisId> axesOf(const Effect *effect) const;
  /// Axes of carry `i`.
  llvm::ArrayRef<AxisId> carryAxes(mlir::Operation *loop, unsigned i) const;
  /// The positions of a carry's axes.
  Coordinates carryCoordinates(mlir::Operation *loop, unsigned i);
  /// The fold or region scan whose slices have that extent; null for other atoms.
  mlir::Operation *sliceOwner(llvm::StringRef atom) const { return slices.lookup(atom); }
  /// The same for an axis: its extent is exactly a slice's.
  mlir::Operation *sliceOwner(AxisId id) const;
  /// True for axes that no value has members along: they have no cover.
  bool isPass(AxisId id) const { return axes[id].kind == Axis::While || axes[id].kind == Axis::Chunk; }
  /// The position of an axis's class as an index.
  const Index *position(AxisId id) { return index.axis(find(id)); }
  /// The coordinate of an axis: start + step * position.
  const Index *coordinate(AxisId id);

  /// The classes of the parallel and ordered loops around an operation, inner to outer.
  llvm::SmallVector<AxisId> loopsAround(mlir::Operation *op) const;
  /// Those loops around an access or an effect, inner to outer, whose iterations see one and the same memory.
  llvm::SmallVector<mlir::Operation *> loopsOver(mlir::Operation *access) const;

  //===- demands --------------------------------------------------------------------------------------===//

  /// The index expression of an `index` value at coordinates.
  const Index *indexOf(mlir::Value value, llvm::ArrayRef<const Index *> coordinates = {});
  /// Coordinates in the view of element `coordinates` of the read.
  Coordinates viewCoordinates(mlir::ValueRange indices, llvm::ArrayRef<const Index *> coordinates);
  /// Coordinates in the view that an effect touches at its own axes.
  Coordinates effectCoordinates(mlir::Operation *op);
  /// The same at given positions of its axes.
  Coordinates effectCoordinates(mlir::Operation *op, llvm::ArrayRef<const Index *> positions);
  /// The positions of its axes at which an effect acts for one point of them: their own, and their image.
  llvm::SmallVector<Coordinates, 2> placesOf(const Effect *effect);
  /// The positions of an operation's own axes.
  Coordinates ownCoordinates(mlir::Operation *op);
  /// The demand that a region argument of a fold, scan or `while` stands for; none for carries and coordinates.
  std::optional<Demand> argumentDemand(mlir::BlockArgument argument, llvm::ArrayRef<const Index *> coordinates);
  /// Where a scan pulls its operands, given the coordinates of its result.
  Coordinates scannedCoordinates(kir::ScanOp op, llvm::ArrayRef<const Index *> result);
  /// True for a scan's result and a region scan's output, which are there while their axis is walked.
  bool isRunning(const Demand &demand);
  /// True if such a value is read at the very member that is being scanned.
  bool isInStep(const Demand &demand);
  /// Such a value at the member that is being scanned, wherever it is read.
  Demand whereScanned(const Demand &demand);
  /// What changes from pass to pass of a loop, fold or region scan.
  AxisId passClass(mlir::Operation *op) { return find(axesOf(op)[mlir::isa<kir::ForOp, kir::WhileOp>(op) ? 0 : 1]); }
  /// The class that a scan, fold or region scan runs along.
  AxisId runningClass(mlir::Operation *op) { return find(axesOf(op)[0]); }
  /// Where a reduce pulls its operands, given the coordinates of its result.
  Coordinates reducedCoordinates(kir::ReduceOp op, llvm::ArrayRef<const Index *> kept);
  /// Where a contraction pulls its operands, given the coordinates of its result.
  std::pair<Coordinates, Coordinates> contractCoordinates(kir::ContractOp op, llvm::ArrayRef<const Index *> result);
  /// The demands that computing this one needs.
  llvm::ArrayRef<Demand> children(const Demand &demand);
  /// Free classes: what the demand's value varies over, ordered loops included.
  const AxisSet &freeAxes(const Demand &demand);
  /// The same of an index: its axes and what its leaves and extents vary over.
  AxisSet freeAxes(const Index *node);
  /// Traversals of class `axis` that come before the demand's value is known.
  unsigned depth(const Demand &demand, AxisId axis);
  /// The demand and everything below it, structured operations entered.
  void reach(const Demand &root, DemandSet &seen);
  /// The value that a read sees when nothing but a whole write comes before it, at those coordinates.
  std::optional<Demand> forwarded(kir::ReadOp read, llvm::ArrayRef<const Index *> coordinates);
  /// Places of a read, with the extents that they are not known to lie in.
  llvm::SmallVector<std::pair<const Index *, kir::ExtentAttr>> unproven(kir::ReadOp read, llvm::ArrayRef<const Index *> coordinates);
  /// True if something in the kernel replaces what the read sees, so that it must happen in time.
  bool isVolatile(kir::ReadOp read) const { return versionLoops.count(read) != 0; }
  /// Place in program order.
  unsigned order(mlir::Operation *op) const { return places.lookup(op); }
  /// Where an atom "?n" gets its value.
  mlir::Value atomValue(llvm::StringRef atom) const { return atoms.lookup(atom); }
  /// The parallel axes that a buffer is private to; none for other views.
  llvm::ArrayRef<AxisId> privateAxes(mlir::Value view);
  /// An extent as the launch computes it, from constants, shapes and scalar arguments; null if it depends on data.
  block::ExprAttr launchExpr(kir::ExtentAttr extent);
  block::ExprAttr launchExpr(const Index *node);
  block::ExprAttr launchExpr(mlir::Value scalar);
  bool isLaunchVisible(kir::ExtentAttr extent) { return static_cast<bool>(launchExpr(extent)); }
  /// A launch-visible extent that is no smaller wherever `place` is reached: of what a subregion is cut from, of the loops that
  /// it depends on, or of a view that has an element for each member.
  std::optional<kir::ExtentAttr> launchBound(kir::ExtentAttr extent, mlir::Operation *place);
  /// True if the coordinate provably lies in [0, extent).
  bool isWithin(const Index *coordinate, kir::ExtentAttr extent);
  /// True if two accesses of one view provably touch no common element: some axis has separate ranges. `isFixed`: axes that
  /// have one position while the accesses are looked at.
  bool areDisjoint(llvm::ArrayRef<const Index *> a, llvm::ArrayRef<const Index *> b, llvm::function_ref<bool(AxisId)> isFixed = {});
  /// True if the index is provably non-negative.
  bool isNonNegative(const Index *index);

  //===- effects --------------------------------------------------------------------------------------===//

  llvm::SmallVector<std::unique_ptr<Effect>> effects; // all, in program order
  llvm::SmallVector<Effect *> roots;                  // those outside ordered loops with effects
  /// Every demand of an effect, children's included.
  const DemandSet &demandsOf(Effect *effect);
  /// Every access of an effect and of the loops and values inside it.
  llvm::ArrayRef<Access> accessesOf(Effect *effect);
  /// What a demand of a read accesses.
  Access accessOf(const Demand &read, Effect *effect = nullptr);

  /// True if the target has the contraction; others are products and sums, for which one member of the reduced axis is enough.
  bool isNative(kir::ContractOp op) const;

  kir::KernelOp kernel;
  IndexContext index;
  /// What construction found gone before it could be used: reads that are replaced, results of effects that other work needs than
  /// what is done in step with them, and values that no walk has all members of. Buffers can keep it.
  llvm::SetVector<mlir::Value> late;
  /// Ordered loops with a carry that is needed whole, or at other members than those at hand, on an axis which an instance does
  /// not hold whole. Buffers can keep these, too.
  llvm::SetVector<mlir::Operation *> unheld;
  /// In checked code a read happens exactly where the author's program makes it: it needs what decides about that.
  const bool checked;
  /// Checked code tells apart the iterations of unordered loops.
  bool watched = false;

private:
  AxisId newAxis(Axis::Kind kind, mlir::Operation *op, const Index *start, const Index *step, kir::ExtentAttr extent);
  void createAxes();
  void collectEffects(mlir::Block &block, llvm::ArrayRef<Condition> conditions, llvm::ArrayRef<AxisId> parallel, Effect *parent,
                      bool inCondition);
  void collectRoots(Effect &effect);
  void findVersions();
  void findCarriedAxes();
  void findImages();
  bool isWholeWrite(kir::WriteOp write, kir::ReadOp read);
  void addConflicts(llvm::ArrayRef<AxisId> together);
  bool areAlike(AxisId x, AxisId y) const;
  bool unify(llvm::ArrayRef<std::pair<AxisId, AxisId>> pairs);
  std::optional<std::pair<AxisId, AxisId>> samePace(const Index *a, const Index *b);
  void formClasses(llvm::ArrayRef<Effect *> of);
  void keepProgramsApart();
  void forget();
  void findMembersInViews();
  std::optional<kir::ExtentAttr> expanded(kir::ExtentAttr extent, llvm::function_ref<bool(const Index *)> isSame);
  std::optional<std::pair<kir::ExtentAttr, kir::ExtentAttr>> bounds(const Index *index, llvm::function_ref<bool(const Index *)> isSame);

  struct DomainInfo {
    const Index *start, *step;
  };
  DomainInfo domainOf(mlir::Value domain);
  llvm::SmallVector<Demand> expand(const Demand &demand);
  void addLeaves(const Index *index, llvm::SmallVectorImpl<Demand> &out);
  void forEachSlice(const Index *node, llvm::function_ref<void(mlir::Operation *)> visit);

  std::vector<Axis> axes;
  std::vector<AxisId> parentOf; // union-find; roots name classes
  std::vector<std::set<AxisId>> conflicts;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<AxisId>> opAxes;
  llvm::DenseMap<std::pair<mlir::Operation *, unsigned>, llvm::SmallVector<AxisId>> carries;
  llvm::StringMap<mlir::Value> atoms;
  llvm::StringMap<mlir::Operation *> slices;
  llvm::DenseMap<mlir::Attribute, kir::ExtentAttr> cutFrom; // the extent of a subregion -> that of its source
  struct InView {
    kir::ExtentAttr bound;
    mlir::Operation *access;
  };
  llvm::DenseMap<mlir::Attribute, llvm::SmallVector<InView>> inViews; // an extent that only data knows -> accesses that bound it
  AxisId slot = 0;
  llvm::DenseMap<mlir::Operation *, kir::WriteOp> forwards;                             // read -> the whole write it sees
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Operation *>> versionLoops; // read -> loops that change its view
  llvm::DenseMap<mlir::Operation *, unsigned> places;
  llvm::DenseMap<kir::ExtentAttr, block::ExprAttr> launchExprs;
  std::map<Demand, llvm::SmallVector<Demand>, DemandLess> childrenOf;
  std::map<Demand, AxisSet, DemandLess> freeOf;
  /// What each carry varies over beside its own axes and the passes.
  llvm::DenseMap<mlir::Operation *, std::vector<AxisSet>> carriedOf;
  std::map<Demand, llvm::SmallDenseMap<AxisId, unsigned>, DemandLess> depthOf;
  std::map<Effect *, DemandSet> demands;
  std::map<Effect *, llvm::SmallVector<Access>> accesses;
};

} // namespace intent::conversion

#endif
