// One loop nest over the axes of a sink: an innermost axis in vectors, the others in scalar loops.
#ifndef INTENT_CONVERSION_BLOCKTOLLVM_NEST_H
#define INTENT_CONVERSION_BLOCKTOLLVM_NEST_H

#include "Codegen.h"

namespace intent::block::host {

/// base + step * lane; no step: the same in every lane.
struct Affine {
  LV base = nullptr, step = nullptr;
};

/// The lanes [low, high) of an axis.
struct Interval {
  LV low = nullptr, high = nullptr;
};

using Axes = llvm::ArrayRef<unsigned>;

/// A fragment and the nest axes that its own axes lie on.
struct Root {
  Value value;
  llvm::SmallVector<unsigned, 4> axes;
};

class Nest {
public:
  /// `roots` are all that the nest evaluates; they decide the inner axis and the vector width. `stored` has more say
  /// where accesses along the candidate axes differ. `bytes` is the width of an element that the nest makes of them.
  Nest(Codegen &cg, llvm::ArrayRef<int64_t> extents, llvm::ArrayRef<Root> roots, StoreOp stored = {}, unsigned bytes = 0);

  unsigned innerAxis() const { return inner; }
  unsigned lanes() const { return width; }
  unsigned rank() const { return extents.size(); }
  int64_t extent(unsigned axis) const { return extents[axis]; }

  /// The nest leaves out lanes where one of these conjuncts is false: nothing observes them. `others` are further masks
  /// that it evaluates.
  void setSkippable(Conjuncts conjuncts, const Conjuncts &others = {});
  /// Visits every position; `body` runs at one vector (or scalar) of the inner axis. Loops over `outer` come first, in
  /// order.
  void forEach(Axes outer, llvm::function_ref<void()> body);
  /// Loops over scalar positions of axes, cut to the skippable intervals.
  void outerLoops(Axes axes, llvm::function_ref<void()> body);
  /// Steps along the inner axis with loop-carried values. The main loop takes `copies` whole vectors a step, where every
  /// mask is known to hold; what is left goes one vector a step. `body` gets the number of vectors and selects each by
  /// `setCopy`.
  void innerLoop(unsigned copies, llvm::SmallVectorImpl<LV> &carried, llvm::function_ref<void(unsigned)> body);
  void setCopy(unsigned number) { copy = number; }
  /// Steps over `axis`, which is not the inner one, `copies` positions at a time; `copies` divides its extent.
  void blockLoop(unsigned axis, unsigned copies, llvm::function_ref<void()> body);
  /// The part of an axis where the skippable conjuncts on it hold.
  Interval wanted(unsigned axis) {
    Conjuncts used;
    return cutTo(axis, used);
  }
  /// One scalar loop over `axis`, cut to the skippable intervals, with loop-carried values.
  void axisLoop(unsigned axis, llvm::SmallVectorImpl<LV> &carried, llvm::function_ref<void()> body, bool descending = false);
  /// As `innerLoop` with one vector a step, but strictly along the axis or against it.
  void orderedLoop(llvm::SmallVectorImpl<LV> &carried, llvm::function_ref<void()> body, bool descending = false);
  /// Visits single positions, the last axis innermost. Before any loop.
  void serialise();
  /// Stays at one position of an axis, which no loop then opens. Before any loop.
  void pin(unsigned axis, LV index);

  /// The value at the current position: a vector if `axes` has the inner one and the nest has lanes, else a scalar.
  LV evaluate(Value value, Axes axes);
  /// Conjunction of those that are not known to hold; null if all are.
  LV condition(const Conjuncts &conjuncts);
  LV readBuffer(const Buffer &buffer, Axes axes);
  void writeBuffer(const Buffer &buffer, Axes axes, LV value);
  /// Writes at an element offset; lanes are `stride` elements apart.
  void writeAt(const Buffer &buffer, LV offset, int64_t stride, LV value);
  void writeView(StoreOp store, LV value);
  /// Stores a square: the vectors of `lanes()` copies along another axis, on which the view is contiguous.
  void writeViewAcross(StoreOp store, llvm::MutableArrayRef<LV> square);
  LV index(unsigned axis) const;
  /// Visits the lanes of each axis in that order. Before any loop.
  void shuffle(Codegen::LaneOrder order) { laneOrder = std::move(order); }
  /// The number of the current single position, in row-major order.
  LV lane() const {
    LV lane = cg.index(0);
    for (unsigned axis = 0; axis < rank(); ++axis)
      lane = b.CreateAdd(b.CreateMul(lane, cg.index(extents[axis])), index(axis));
    return lane;
  }
  /// In checked code: `active` (null: yes) and whether the lane at the current single position may act; `stored`: the bits that a
  /// store stores.
  template <typename Access>
  LV mayAccess(Access op, LV active, LV stored = nullptr) {
    llvm::SmallVector<LV, 4> coordinates;
    llvm::SmallVector<unsigned, 4> all = identityAxes(rank());
    for (auto [i, coordinate] : llvm::enumerate(op.getCoordinates()))
      coordinates.push_back(evaluate(coordinate, compose(axisList(op.getCoordinateAxes(), i), all)));
    if (stored) coordinates.push_back(stored);
    return cg.mayAccess(cg.accessOf(op), active, lane(), coordinates);
  }
  /// The address of the element at the current single position.
  LV pointer(Value view, mlir::ValueRange coordinates, mlir::ArrayAttr coordinateAxes) {
    return address(view, coordinates, coordinateAxes, identityAxes(rank())).pointer;
  }
  bool isVector(Axes axes) const { return width > 1 && llvm::is_contained(axes, inner); }

private:
  struct Address {
    LV pointer = nullptr; ///< of lane 0, or a vector of pointers
    LV step = nullptr;    ///< elements from lane to lane; null: one address for all lanes
  };
  struct Known {
    Conjunct conjunct;
    unsigned depth;
  };
  struct Cached {
    llvm::SmallVector<unsigned, 4> axes;
    unsigned copy, depth;
    LV value;
  };

  /// What the walk over everything that the nest evaluates gathers.
  struct Survey {
    llvm::SmallVector<int, 4> scores; ///< per axis: how well accesses run along it
    unsigned bytes = 0;               ///< widest element in registers, index arithmetic aside
    llvm::DenseSet<Value> seen;
  };
  void survey(Value value, Axes axes, Survey &result);
  void score(Survey &result, Axes axes, llvm::function_ref<std::optional<int64_t>(unsigned)> stepAlong, int weight);
  void chooseInner(const Survey &survey);
  void loop(unsigned axis, LV low, LV high, int64_t step, llvm::SmallVectorImpl<LV> &carried, llvm::function_ref<void()> body,
            LV jumpFrom = nullptr, LV jumpTo = nullptr, bool descending = false);
  /// The inner axis in parts: from `start`, vector by vector, to `from`; to `to`, where every conjunct of `holds` holds;
  /// to `end`. All but `end` are multiples of the width.
  struct Split {
    LV from, to, start, end;
    Conjuncts holds;
  };
  Split splitInner(int64_t stride);
  LV down(LV value, int64_t to);
  unsigned depthOf(Axes axes) const;
  bool isOpen(unsigned axis) const { return indices[axis] != nullptr; }
  bool variesByCopy(Axes axes) const { return !copyIndices.empty() && llvm::is_contained(axes, copyAxis); }
  LV holdsForAllCopies(const Conjunct &conjunct);
  bool isKnown(const Conjunct &conjunct) const;
  /// Lane i satisfies the comparison if i < limit (isHigh) or i >= limit.
  struct Bound {
    LV limit;
    bool isHigh;
  };
  std::optional<Bound> bound(CompareOp compare, Axes axes, unsigned lane);
  Interval cutTo(unsigned axis, Conjuncts &used);
  std::optional<Interval> interval(const Conjunct &conjunct, unsigned axis);
  /// Forms found within one question, by value and axes: a value used twice is looked into once.
  using AffineForms = llvm::DenseMap<Value, llvm::SmallVector<std::pair<llvm::SmallVector<unsigned, 4>, std::optional<Affine>>, 1>>;
  std::optional<Affine> affine(Value value, Axes axes, unsigned lane);
  std::optional<Affine> affine(Value value, Axes axes, unsigned lane, AffineForms &forms);
  std::optional<Affine> computeAffine(Value value, Axes axes, unsigned lane, AffineForms &forms);
  LV compute(Value value, Axes axes);
  LV computeLoad(LoadOp load, Axes axes);
  LV computeCompare(CompareOp compare, Axes axes);
  Address address(Value view, mlir::ValueRange coordinates, mlir::ArrayAttr coordinateAxes, Axes axes);
  LV laneNumbers(unsigned bits);
  LV lanePointers(const Address &address, mlir::Type element);
  LV spread(Affine value);
  LV minimum(LV a, LV b);
  LV maximum(LV a, LV b);

  Codegen &cg;
  llvm::IRBuilder<> &b;
  Plan &plan;
  llvm::SmallVector<int64_t, 4> extents;
  unsigned inner = 0, width = 1, preferred = 1;      // vectors of `preferred` lanes where the extent allows
  Codegen::LaneOrder laneOrder;                      // none: in order
  llvm::SmallVector<LV, 4> indices;                  // null: not open
  llvm::SmallVector<unsigned, 4> depths;             // loop depth at which the axis opened
  llvm::SmallVector<llvm::Instruction *, 4> anchors; // anchors[d]: where code of depth d goes while deeper loops are open
  unsigned depth = 0, copy = 0;
  unsigned evaluating = 0;               // depth whose knowledge may be used
  llvm::SmallVector<LV, 16> copyIndices; // the index of each copy along `copyAxis`; empty: no copies
  unsigned copyAxis = 0;
  llvm::SmallVector<Known, 8> known;
  Conjuncts masks, skippable;
  llvm::DenseMap<Value, llvm::SmallVector<Cached, 2>> cache;
};

/// As many vectors as each has lanes: lane j of vector i and lane i of vector j change places.
void transposeSquare(llvm::IRBuilder<> &b, llvm::MutableArrayRef<LV> square);

} // namespace intent::block::host

#endif
