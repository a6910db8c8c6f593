// Construction of one variant: effects push, values pull. It carries the assignment out and chooses nothing.
#ifndef INTENT_LIB_CONVERSION_KIRTOBLOCK_CONSTRUCT_H
#define INTENT_LIB_CONVERSION_KIRTOBLOCK_CONSTRUCT_H

#include "Covers.h"
#include "Narrow.h"

namespace intent::conversion {

/// A realised value: a scalar, or a fragment whose axes are classes in the group's order.
struct Real {
  mlir::Value value;
  llvm::SmallVector<AxisId, 4> axes;
  /// Classes along which invalid lanes are known to hold zero; `allZero` for values that are zero everywhere.
  std::set<AxisId> zero;
  bool allZero = false;
  bool isZeroAlong(AxisId id) const { return allZero || zero.count(id); }
};

/// A value without lanes.
inline Real scalar(mlir::Value value) {
  Real real;
  real.value = value;
  return real;
}

/// A value over axes.
inline Real over(mlir::Value value, llvm::ArrayRef<AxisId> axes) {
  Real real = scalar(value);
  real.axes.assign(axes.begin(), axes.end());
  return real;
}

inline llvm::SmallVector<mlir::Value> valuesOf(llvm::ArrayRef<Real> reals) {
  return llvm::map_to_vector(reals, [](const Real &real) { return real.value; });
}

/// A scan or region scan that a loop carries: its prefixes or states before and after the loop's members.
struct Running {
  Demand demand; // of the scan's first result, or the region scan's first output
  llvm::SmallVector<Real, 4> before, after;
};

/// How a class is bound in a scope: positions base, base + 1, ... (lanes), or the one position base.
struct Binding {
  mlir::Value base;
  block::ExprAttr lanes;      // null: a single position
  std::optional<Real> extent; // the class's extent where positions may pass it, by lanes of others that it varies over
  mlir::Value most;           // the largest of it, where it varies
  bool complete = false;      // all members are lanes here: a reduction may take them as they stand
  /// Which positions are members is not for the lanes of the class alone to say.
  bool isConditional() const { return extent && (!lanes || !extent->axes.empty()); }
};

/// A region of the program in which some classes are bound; values are memoised where exactly their classes are.
struct Scope {
  Scope *parent = nullptr;
  mlir::Block *block = nullptr;
  mlir::Operation *owner = nullptr; // the operation in the parent's block that holds this scope
  std::map<AxisId, Binding> bindings;
  std::map<Demand, Real, DemandLess> memo;
  llvm::DenseMap<const Index *, Real> indices;
  std::vector<Running> running;                                     // carried by the loop that this scope is the body of
  std::map<Demand, llvm::SmallVector<AxisId>, DemandLess> kept;     // in instance workspace, over these classes
  std::map<Demand, llvm::SmallVector<AxisId>, DemandLess> keptOver; // of these, all members
  std::map<Demand, mlir::Value, DemandLess> keptIn;
  std::optional<Real> active;                 // lanes of a loop that are still running
  mlir::Operation *loop = nullptr;            // the kernel's loop that they are of
  bool isRoot = false;                        // values go no further out
  llvm::SmallVector<mlir::Operation *> holds; // comparisons that are true in it
};

class Construction {
public:
  Construction(Facts &facts, const Group &group, block::ProgramOp program, llvm::ArrayRef<mlir::Attribute> privates)
      : facts(facts), group(group), program(program), privates(privates), builder(program.getContext()) {}

  /// Builds the group's body; failure has emitted a diagnostic.
  mlir::LogicalResult build();

private:
  using Reals = llvm::SmallVector<Real, 4>;

  //===- scopes ---------------------------------------------------------------------------------------===//
  Scope *scopeOf(const AxisSet &axes);
  const Binding *lookup(AxisId id);
  bool allBound(const AxisSet &axes);
  /// True if all members of the class are lanes here; a chunk or a tile of it is not enough for a reduction.
  bool isComplete(AxisId id);
  /// Those of the classes that a traversal has loops over, outer to inner.
  llvm::SmallVector<AxisId> loopsOver(llvm::ArrayRef<AxisId> classes);
  bool hasOnePosition(AxisId id);
  /// Runs `body` with values going to `scope`.
  template <typename Body>
  auto inScope(Scope *scope, Body body) {
    Scope *saved = current, *inside = innermost;
    current = scope;
    setInsertionPoint();
    auto result = body();
    current = saved;
    innermost = inside; // a failure leaves scopes open, and who asks may ask for more
    setInsertionPoint();
    return result;
  }
  void setInsertionPoint();

  //===- values ---------------------------------------------------------------------------------------===//
  mlir::FailureOr<Real> realise(const Demand &demand);
  mlir::FailureOr<Real> compute(const Demand &demand);
  mlir::FailureOr<Real> realiseIndex(const Index *index, mlir::Location loc);
  mlir::FailureOr<Real> computeIndex(const Index *index, mlir::Location loc);
  mlir::FailureOr<Real> load(kir::ReadOp read, llvm::ArrayRef<const Index *> coordinates);
  mlir::FailureOr<Real> elementWise(mlir::Operation *op, Reals operands);
  Real binary(BinaryKind kind, const Real &a, const Real &b, mlir::Location loc);
  Real compare(ComparePredicate predicate, const Real &a, const Real &b, mlir::Location loc);
  Real select(const Real &condition, const Real &a, const Real &b, mlir::Location loc);
  Real constant(mlir::TypedAttr value, mlir::Location loc);
  Real indexConstant(int64_t value, mlir::Location loc);
  mlir::FailureOr<Real> position(AxisId id, mlir::Location loc);
  /// Which positions of a class are members; none where all are.
  std::optional<Real> validity(AxisId id, mlir::Location loc);
  /// The lanes for which the chunk at hand has members; none where it is the same for all.
  std::optional<Real> reached(AxisId id, mlir::Location loc);
  /// The axes of all, in the group's order, and one more.
  llvm::SmallVector<AxisId, 4> unite(llvm::ArrayRef<Real> reals, std::optional<AxisId> with = {});
  mlir::Value align(const Real &real, llvm::ArrayRef<AxisId> axes, mlir::Location loc);
  llvm::SmallVector<block::ExprAttr> extents(llvm::ArrayRef<AxisId> axes);
  mlir::ArrayAttr alignment(llvm::ArrayRef<Real> reals, llvm::ArrayRef<AxisId> axes);
  llvm::SmallVector<AxisId, 4> laneAxes(const AxisSet &axes);

  mlir::Value memoryOf(mlir::Value view);
  /// In checked code: an access of the author's stands in these loops, and the instance is at a position of one.
  void placeIn(mlir::Operation *access, mlir::Operation *op);
  mlir::LogicalResult announce(AxisId id, mlir::Location loc);
  mlir::Value workspace(const llvm::Twine &name, mlir::Type element, llvm::ArrayRef<block::ExprAttr> shape, bool zeroed);
  std::optional<block::ExprAttr> workspaceExtent(AxisId id, const Demand &demand);
  mlir::FailureOr<Real> conjunction(llvm::ArrayRef<Condition> conditions, mlir::Location loc);

  /// An access's coordinates and active set over the result's axes.
  struct Accessed {
    Reals coordinates, valid;
    llvm::SmallVector<AxisId, 4> axes;
    llvm::SmallVector<AxisId> conditional; // classes that it depends on, whose members vary over lanes of others
    bool once = false;                     // it happens for members only, where a load may as well read what another lane has
    std::set<AxisId> wider;                // classes along which more than the members are active
  };
  /// Of an effect with these axes, or of a load; guarded against coordinates outside, which in checked code the backend
  /// reports.
  mlir::FailureOr<Accessed> access(mlir::Value view, llvm::ArrayRef<const Index *> coordinates, const AxisSet *effectAxes,
                                   llvm::ArrayRef<Real> others, mlir::Location loc);
  mlir::LogicalResult guard(const Index *at, const Real &real, kir::ExtentAttr extent, Reals &valid, mlir::Location loc);
  mlir::LogicalResult whereMade(kir::ReadOp read, llvm::ArrayRef<const Index *> coordinates, Reals &valid);
  /// Of an effect with an image: the points of its axes that come before theirs.
  mlir::FailureOr<Real> comesFirst(Effect *effect, bool orIsItsImage, mlir::Location loc);
  mlir::LogicalResult whereFirst(kir::ReadOp read, llvm::ArrayRef<const Index *> coordinates, Reals &valid);
  void finish(Accessed &access, llvm::ArrayRef<Real> others, mlir::Location loc);
  mlir::FailureOr<Real> loadAt(mlir::Value memory, mlir::Type element, const Accessed &at, mlir::Location loc);
  block::StoreOp storeAt(mlir::Value memory, const Real &value, const Accessed &at, mlir::Location loc);

  //===- values at other coordinates ------------------------------------------------------------------===//
  /// What `own` holds at its own axes, read where `asked` asks.
  mlir::FailureOr<Real> elsewhere(const Demand &own, const Demand &asked);
  Real relabelled(const Real &real, AxisId from, AxisId to, mlir::Location loc);
  Real picked(const Real &real, AxisId id, mlir::Value lane, mlir::Location loc);
  mlir::Value inRange(mlir::Value lane, AxisId id, mlir::Location loc);
  /// Numbers of this instance along the program axes that a value does not vary over, and how many there are: what keeps
  /// its memory apart from that of others.
  llvm::SmallVector<std::pair<Real, block::ExprAttr>> instanceOf(const Demand &own);
  bool leaveInMemory(const Demand &own);
  mlir::FailureOr<mlir::Value> keep(const Demand &own, const AxisSet &moved, llvm::SmallVector<AxisId> &classes);

  /// The part of an axis that a loop walks: from the chunk of `first`, below `end`; null: all.
  struct Range {
    mlir::Value first, end;
    mlir::Value full;                           // below it every member of a chunk counts, for every lane; null: not known
    llvm::SmallVector<mlir::Operation *> holds; // the comparisons that are true there
  };
  bool isKnownToHold(mlir::Value condition);
  mlir::FailureOr<Range> narrowed(kir::RegionFoldOp fold);
  mlir::FailureOr<Real> extremeOf(const Index *node, bool largest, mlir::Location loc);
  Real overLanes(BinaryKind kind, Real value, mlir::Location loc);

  //===- structured operations and traversals ---------------------------------------------------------===//
  mlir::FailureOr<Real> structured(const Demand &demand);
  /// One shared loop nest over the classes that are not bound, for reductions of one home and for what `body` does with
  /// `roots` in it.
  mlir::LogicalResult traverse(llvm::ArrayRef<Demand> reductions, llvm::ArrayRef<AxisId> classes, llvm::ArrayRef<Demand> roots,
                               llvm::function_ref<mlir::LogicalResult()> body, mlir::Location loc);
  /// Scans and region scans that `roots` need in step with one of the loops, which becomes the innermost one.
  std::vector<Running> findRunning(llvm::ArrayRef<Demand> roots, llvm::SmallVectorImpl<AxisId> &loops, bool &descending);
  /// Their starts go behind `carries`; a loop around the innermost one starts them again.
  mlir::LogicalResult startRunning(std::vector<Running> &running, llvm::SmallVectorImpl<mlir::Value> &carries, mlir::Location loc);
  void bindRunning(std::vector<Running> &running, llvm::ArrayRef<mlir::Value> carries);
  mlir::LogicalResult stepRunning(llvm::SmallVectorImpl<mlir::Value> &yields, mlir::Location loc);
  void finishRunning(Scope *scope, llvm::ArrayRef<mlir::Value> values);
  mlir::FailureOr<Reals> scanned(kir::ScanOp op, const Demand &demand);
  mlir::FailureOr<Real> runningScan(const Demand &demand);
  mlir::FailureOr<Real> emitted(const Demand &demand);
  Running *findCarried(const Demand &demand);
  bool canJoin(const Demand &demand, llvm::ArrayRef<AxisId> classes, llvm::ArrayRef<Demand> chosen);
  bool awaitsUnderway(const Demand &demand);
  std::optional<llvm::SmallVector<Demand>> readBefore(Effect *effect, llvm::ArrayRef<Effect *> batch);
  bool awaitsEffects(const Demand &demand);
  bool readsReplaced(const DemandSet &demands, llvm::ArrayRef<Effect *> effects);
  bool needsGiven(const DemandSet &demands, llvm::ArrayRef<Effect *> effects);
  bool isWritten(const Demand &demand, llvm::ArrayRef<Effect *> effects, bool later);
  kir::ReadOp replacedBelow(const Demand &demand, llvm::ArrayRef<Effect *> batch);
  bool canWalk(const Demand &demand);
  mlir::LogicalResult keepWholeRead(kir::ReadOp read, Effect *by);
  bool readsView(const Demand &demand, mlir::Value view);
  bool isFirstTraversal(const Demand &demand, llvm::ArrayRef<AxisId> classes);
  mlir::FailureOr<Reals> identities(const Demand &demand);
  /// The accumulators after this scope's members of the reduced classes; none given: the members' own reduction.
  mlir::FailureOr<Reals> accumulate(const Demand &demand, const Reals &accumulators);
  /// Values that a combine region uses: its captures, in order, and scalars from around it.
  struct Captured {
    Reals arguments;
    llvm::DenseMap<mlir::Value, Real> around;
  };
  mlir::FailureOr<Captured> capturedBy(mlir::Region &region, mlir::ValueRange captures, llvm::ArrayRef<const Index *> kept);
  /// `taking`: the lanes that take part, where these are not all members.
  mlir::FailureOr<Reals> combine(mlir::Region &region, Reals arguments, const Captured &captured, std::optional<Real> taking = {});
  /// A combine under way: its values, and the lanes that take part where it holds loops.
  struct Combining {
    llvm::DenseMap<mlir::Value, Real> values;
    std::optional<Real> active;
    Reals lookup(mlir::ValueRange asked) const {
      return llvm::map_to_vector<4>(asked, [&](mlir::Value value) { return values.lookup(value); });
    }
  };
  mlir::LogicalResult combineBlock(mlir::Block &body, Combining &combining);
  mlir::LogicalResult combineFor(kir::ForOp op, Combining &combining);
  mlir::LogicalResult combineWhile(kir::WhileOp op, Combining &combining);
  std::array<Real, 3> combineDomain(mlir::Value domain, Combining &combining);
  mlir::LogicalResult combineLoop(llvm::ArrayRef<Real> inits, Combining &combining,
                                  llvm::function_ref<mlir::FailureOr<Real>(llvm::ArrayRef<Real>)> goesOn,
                                  llvm::function_ref<mlir::FailureOr<Reals>(llvm::ArrayRef<Real>)> next, Reals &results,
                                  mlir::Location loc);
  enum class LaneOrder { Any, Ascending, Descending };
  /// All lanes of a class: one value of them, or the prefixes in an order.
  mlir::FailureOr<Reals> combineLanes(mlir::Region &region, llvm::ArrayRef<Real> values, llvm::ArrayRef<Real> identities, AxisId id,
                                      const Captured &captured, LaneOrder order, mlir::Location loc);
  /// Fills the combine region of a block operation over scalars.
  mlir::LogicalResult fillCombine(mlir::Region &into, mlir::Region &from, llvm::ArrayRef<Real> identities, const Captured &captured,
                                  mlir::Location loc);
  void fillCombine(mlir::Region &into, BinaryKind kind, mlir::Type element, mlir::Location loc);
  mlir::FailureOr<Reals> identityReals(mlir::ValueRange identities, mlir::Location loc);
  mlir::FailureOr<Reals> reduceLanes(kir::ReduceOp op, Reals values, llvm::ArrayRef<Real> identities, AxisId id, const Captured &captured);
  mlir::FailureOr<Real> multiply(kir::ContractOp op, Real lhs, Real rhs, const Real &accumulator);
  Real sumLanes(Real value, AxisId id, mlir::Location loc);
  mlir::FailureOr<Real> masked(const Real &value, const Real &neutral, AxisId id, mlir::Location loc);
  Real transposed(const Real &value, llvm::ArrayRef<AxisId> axes, mlir::Location loc);
  llvm::SmallVector<AxisId> reducedClasses(mlir::Operation *op);
  /// Opens a loop over a class; `carries` become its arguments. Its scope is the one under construction after.
  mlir::FailureOr<Scope *> open(AxisId id, llvm::SmallVectorImpl<mlir::Value> &carries, mlir::Location loc, bool descending = false,
                                Range range = {});
  Scope *addScope(mlir::Block *block, mlir::Operation *owner);
  /// Ends a loop: `values` leave it and become its results.
  void close(Scope *scope, llvm::SmallVectorImpl<mlir::Value> &values, mlir::Location loc);
  mlir::LogicalResult runLoop(mlir::Operation *op, Effect *effect);
  mlir::LogicalResult runWhile(kir::WhileOp op, Effect *effect, llvm::ArrayRef<llvm::SmallVector<AxisId, 4>> lanes,
                               llvm::SmallVectorImpl<mlir::Value> &carries,
                               llvm::function_ref<void(Scope *, llvm::ArrayRef<mlir::Value>)> bind);
  /// Loops while any lane is active; what is carried becomes the results. `enter` is told what a region is given and which lanes
  /// are active there, `goesOn` says which stay so, `next` gives what is carried on.
  mlir::LogicalResult whileAny(llvm::SmallVectorImpl<mlir::Value> &carries, const Real &active, mlir::Location loc,
                               llvm::function_ref<void(llvm::ArrayRef<mlir::Value>, const Real &)> enter,
                               llvm::function_ref<mlir::FailureOr<Real>()> goesOn,
                               llvm::function_ref<mlir::FailureOr<llvm::SmallVector<mlir::Value>>(llvm::ArrayRef<mlir::Value>)> next);
  llvm::SmallVector<llvm::SmallVector<AxisId, 4>> carryLanes(mlir::Operation *loop);
  /// The lanes for which the loops around are still running: all loops, or those that stand around an operation of the kernel.
  std::optional<Real> activity(mlir::Operation *inside = nullptr);
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> nextValues(mlir::Operation *op, llvm::ArrayRef<llvm::SmallVector<AxisId, 4>> lanes,
                                                             const std::optional<Real> &active, llvm::ArrayRef<mlir::Value> before);

  //===- hand-over ------------------------------------------------------------------------------------===//
  /// A value that every instance has a part of: [instances, classes...].
  struct Slots {
    mlir::Value memory;
    llvm::SmallVector<AxisId> classes;
  };
  using AllSlots = std::map<Demand, Slots, DemandLess>;
  /// What the last of a cell's instances combines: the slots from `first` to `end` of each value.
  struct Handed {
    AllSlots slots;
    mlir::Value first, end;
  };
  mlir::LogicalResult handOver();
  mlir::FailureOr<Real> takeSum(mlir::Value memory, BinaryKind kind, const Real &start, const Accessed &at, mlir::Location loc);
  mlir::FailureOr<AllSlots> storePartials(llvm::ArrayRef<Demand> partial, const Real &number, block::ExprAttr count);
  mlir::FailureOr<Slots> storePartial(const Demand &demand, const Real &number, block::ExprAttr count);
  mlir::FailureOr<Real> finished(const Demand &demand);

  //===- effects --------------------------------------------------------------------------------------===//
  /// Effects of one scope, in an order that keeps every version; `pending` are needed afterwards.
  mlir::LogicalResult emit(llvm::ArrayRef<Effect *> effects, llvm::ArrayRef<Demand> pending);
  mlir::LogicalResult secure(const Demand &demand, llvm::ArrayRef<Effect *> batch, llvm::ArrayRef<Effect *> remaining);
  mlir::LogicalResult perform(llvm::ArrayRef<Effect *> batch);
  mlir::LogicalResult performAtomic(Effect *effect);
  mlir::FailureOr<mlir::Operation *> exchangeCombined(kir::ScatterReduceOp op, mlir::Value value, const Accessed &at);
  /// Lanes whose values have the same bits, floats too.
  mlir::Value sameBits(mlir::Value a, mlir::Value b, mlir::Location loc);
  mlir::LogicalResult performRequire(Effect *effect);
  mlir::FailureOr<Reals> operandsOf(Effect *effect, llvm::ArrayRef<const Index *> place);
  mlir::FailureOr<Accessed> activeAccess(Effect *effect, llvm::ArrayRef<const Index *> place, llvm::ArrayRef<Real> values);
  mlir::LogicalResult makeBuffers();
  mlir::LogicalResult keepReplaced(llvm::ArrayRef<Effect *> batch, llvm::ArrayRef<AxisId> unbound);
  mlir::LogicalResult keepReplayed(llvm::ArrayRef<Effect *> batch, llvm::ArrayRef<AxisId> unbound);
  llvm::SmallVector<Effect *> iterationOf(Effect *first, llvm::ArrayRef<Effect *> remaining, llvm::SmallVector<AxisId> &walked);
  /// The class has one position for both: here, or because only one iteration of an `I.parallel` around both is looked at.
  bool shareOnePosition(mlir::Operation *a, mlir::Operation *b, AxisId id);
  bool touchSame(const Access &a, const Access &b);
  bool mustFollow(Effect *later, Effect *earlier);
  bool readsOld(Effect *reader, llvm::ArrayRef<Effect *> writers);
  bool inStepWith(Effect *later, Effect *earlier, llvm::ArrayRef<AxisId> unbound);
  bool walkApart(Effect *a, Effect *b, llvm::ArrayRef<AxisId> unbound);
  llvm::SmallVector<Demand> rootsOf(Effect *effect);
  mlir::LogicalResult storeAll(llvm::ArrayRef<Effect *> batch, llvm::ArrayRef<AxisId> unbound);
  llvm::SmallVector<AxisId> unboundAxes(Effect *effect);
  mlir::LogicalResult bindProgram(mlir::Value linear);
  bool walksLonger(AxisId id, llvm::ArrayRef<Bound> bounds);
  mlir::LogicalResult bindRagged(const Real &tile);
  mlir::Value sumUpTo(const Real &value, mlir::Location loc);
  mlir::ArrayAttr recordedCovers();
  bool needsFence(Effect *effect, llvm::SmallVectorImpl<mlir::Operation *> &reads);
  bool isReadLater(Effect *effect);
  void placeFences();
  /// A location that names a class after the author's variable or extent.
  mlir::Location named(AxisId id, llvm::StringRef suffix, mlir::Location loc);
  mlir::FailureOr<Real> extentOf(AxisId id, mlir::Location loc);
  /// The same as one value for all lanes: the largest, or the least.
  mlir::FailureOr<mlir::Value> extentValue(AxisId id, mlir::Location loc, bool largest = true);

  /// Accesses before whose first one there may have to be a fence: each with the kernel's reads that it follows without one
  /// only if it needs what they load.
  struct FenceSite {
    llvm::SmallVector<std::pair<mlir::Operation *, llvm::SmallVector<mlir::Operation *, 2>>, 2> accesses;
  };

  Facts &facts;
  const Group &group;
  block::ProgramOp program;
  llvm::ArrayRef<mlir::Attribute> privates;
  mlir::OpBuilder builder;
  std::vector<std::unique_ptr<Scope>> scopes;
  Scope *current = nullptr;                         // where values go
  Scope *innermost = nullptr;                       // the scope under construction; `current` is it or an ancestor
  DemandSet needed;                                 // every demand of the group
  llvm::SmallVector<Demand> underway;               // reductions of the traversals around
  llvm::SmallVector<Effect *> ahead;                // effects of the scopes around that are not performed yet
  llvm::DenseMap<Effect *, Scope *> entered;        // loops among them, with the scope that holds each
  llvm::DenseMap<mlir::Value, mlir::Value> buffers; // of the kernel -> their workspace
  std::vector<FenceSite> fenceSites;
  llvm::SmallVector<Demand> beingKept;                                            // values that traversals under way store to memory
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<block::LoadOp, 2>> loadsOf; // of the kernel's reads
  std::map<AxisId, mlir::Value> tileOf;                                           // program axis -> which of its tiles this instance has
  llvm::ArrayRef<Effect *> phase;                                                 // those that instances perform side by side
  llvm::DenseMap<mlir::Value, mlir::Value> standIns;                              // views -> what is added to in their place
  std::map<Effect *, std::pair<mlir::Value, BinaryKind>> sums; // what has been added to a view before the effect starts it
  mlir::Value worker;                                          // which of the instances that share an axis out
  Real workers;                                                // how many
  const Handed *handed = nullptr;                              // what the last of them finishes
};

} // namespace intent::conversion

#endif
