// What is decided about a group before any code is generated: where fragments are evaluated, which are kept in
// memory, and which lanes matter.
//
// Fragment operations generate nothing where they stand. Each is evaluated, vector by vector, inside the loop nests of
// the *sinks* that need it: stores, reductions, contractions, loop-carried values and materialised fragments.
#ifndef INTENT_CONVERSION_BLOCKTOLLVM_PLAN_H
#define INTENT_CONVERSION_BLOCKTOLLVM_PLAN_H

#include "intent/Conversion/BlockToLlvm/BlockToLlvm.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace intent::block::host {

using mlir::Operation;
using mlir::Type;
using mlir::Value;

/// One conjunct of a mask: a bool fragment or scalar; its axis i lies on axis `axes[i]` of the value or nest that the
/// mask is about.
struct Conjunct {
  Value base;
  llvm::SmallVector<unsigned, 2> axes;
  bool operator==(const Conjunct &other) const { return base == other.base && axes == other.axes; }
};
using Conjuncts = llvm::SmallVector<Conjunct, 4>;

/// `axes[i]` looked up in `outer` for every i.
llvm::SmallVector<unsigned, 4> compose(llvm::ArrayRef<unsigned> axes, llvm::ArrayRef<unsigned> outer);
Conjuncts mapped(const Conjuncts &conjuncts, llvm::ArrayRef<unsigned> outer);
Conjuncts intersection(const Conjuncts &a, const Conjuncts &b);
void unite(Conjuncts &into, const Conjuncts &from);
llvm::SmallVector<unsigned, 4> identityAxes(unsigned rank);

/// True for an `and` or a broadcast of masks, whose operands are evaluated wherever it is used as a mask: it has no memory.
bool isTransparent(Operation *op);

/// The conjuncts of a mask that lies on `axes`: transparent operations are looked through.
Conjuncts conjunctsOf(Value mask, llvm::ArrayRef<unsigned> axes);
Conjuncts conjunctsOf(mlir::ValueRange validity, mlir::ArrayAttr axes, llvm::ArrayRef<unsigned> outer);

/// Constant extents of a bound fragment; none for a scalar.
llvm::SmallVector<int64_t, 4> constantExtents(Type type);

/// Operands of an element-wise or shape operation with the axes they are evaluated on, given the result's.
using Visit = llvm::function_ref<void(Value operand, llvm::ArrayRef<unsigned> axes)>;
void forEachOperand(Operation *op, llvm::ArrayRef<unsigned> axes, Visit visit);

/// The constant that a value holds in lanes where any of the conjuncts is false.
struct MaskedConstant {
  mlir::Attribute value;
  Conjuncts when;
};

class Plan {
public:
  Plan(ProgramOp program, GroupOp group, llvm::ArrayRef<ViewFacts> views, bool checked);

  /// The fragment gets memory of its own and is evaluated once.
  bool isMaterialised(Value value) const { return kept.contains(value); }
  /// The sink whose nest fills the memory of a materialised fragment; null: a nest where the operation stands.
  Operation *filledBy(Value value) const { return fused.lookup(value); }
  llvm::ArrayRef<Value> filledIn(Operation *sink) const;

  /// The operations whose code reads a fragment, directly or through fragments that are evaluated there.
  llvm::SmallVector<Operation *, 4> sinksOf(Value value) const;

  /// Conjuncts without which nothing observes the value's lane.
  const Conjuncts &guard(Value value);
  std::optional<MaskedConstant> maskedConstant(Value value);

  /// The change of an index value from one lane of `axis` to the next, where that is a constant.
  std::optional<int64_t> step(Value value, unsigned axis) const;
  /// The distance in elements between neighbouring lanes of an access along `axis`, where that is a constant.
  std::optional<int64_t> accessStep(Value view, mlir::ValueRange coordinates, mlir::ArrayAttr coordinateAxes, unsigned axis) const;
  const ViewFacts &factsOf(Value view) const;
  /// The conjuncts that can be evaluated at `op` with the values that they have where they stand.
  Conjuncts availableAt(const Conjuncts &conjuncts, Operation *op);

private:
  void findSinks(Operation *op);
  void decide(Value value);
  void breakChain(Value value);
  void fuse(Value value);
  bool repeatedByBroadcast(Value value) const;
  int cost(Value value);
  bool isClobbered(LoadOp load, Operation *sink);
  bool clobbersIn(LoadOp load, Operation *op);
  bool mayAlias(Value a, Value b, bool &identical) const;
  bool isAvailableAt(Value mask, Operation *op);
  Conjuncts computeGuard(Value value);
  std::optional<int64_t> computeStep(Value value, unsigned axis) const;

  ProgramOp program;
  llvm::ArrayRef<ViewFacts> views;
  bool checked; ///< every load stays where it stands
  llvm::DenseMap<Value, llvm::SmallPtrSet<Operation *, 4>> sinks;
  llvm::DenseSet<Value> kept;
  llvm::DenseMap<Value, Operation *> fused;
  llvm::DenseMap<Operation *, llvm::SmallVector<Value, 2>> filling;
  llvm::DenseMap<Value, int> costs;
  llvm::DenseMap<Value, unsigned> lengths; // from a value to where it is evaluated, in operations
  mutable llvm::DenseMap<std::pair<Value, unsigned>, std::optional<int64_t>> steps;
  llvm::DenseMap<Value, Conjuncts> guards;
};

/// True for fragment operations that are evaluated where they are used.
bool isLazy(Operation *op);

} // namespace intent::block::host

#endif
