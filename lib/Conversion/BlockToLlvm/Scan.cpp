// Scans and picks. A scan walks its axis in order: one running value per vector of other lanes, or, where memory runs
// along the axis, whole vectors of it, scanned in registers in a logarithm of steps and then combined with what came before.
#include "Nest.h"

using namespace mlir;
using namespace intent;

namespace intent::block::host {

// Where another axis is in vectors, this many side by side are what one line of memory brings in.
static constexpr unsigned columnVectors = 8;

namespace {
/// The in-register form of one scan.
class LaneScan {
public:
  LaneScan(Codegen &cg, ScanOp op, unsigned width)
      : cg(cg), b(cg.b), op(op), width(width), descending(op.getReverse()), builtin(builtinCombine(op.getCombine())) {}

  /// Neutral elements, in all lanes of as many vectors as `copies` holds.
  SmallVector<LV, 8> neutral(unsigned copies) {
    SmallVector<LV, 8> result;
    for (unsigned copy = 0; copy < copies; ++copy)
      for (Value identity : op.getIdentities()) {
        LV value = cg.scalar(identity);
        // -0 + x is x for every x; +0 would lose the sign of a leading -0.
        if (builtin == BinaryKind::Add && value->getType()->isFloatingPointTy())
          value = llvm::ConstantFP::getNegativeZero(value->getType());
        result.push_back(width > 1 ? b.CreateVectorSplat(width, value) : value);
      }
    return result;
  }

  /// Each lane combined with all before it in the vector.
  void within(MutableArrayRef<LV> values) {
    SmallVector<LV, 8> fill = neutral(1);
    for (unsigned distance = 1; distance < width; distance *= 2) {
      SmallVector<int, 32> from;
      SmallVector<llvm::Constant *, 32> moved;
      for (unsigned lane = 0; lane < width; ++lane) {
        bool inside = descending ? lane + distance < width : lane >= distance;
        from.push_back(inside ? width + (descending ? lane + distance : lane - distance) : lane);
        moved.push_back(b.getInt1(inside));
      }
      SmallVector<LV, 4> earlier;
      for (auto [value, neutral] : llvm::zip_first(values, fill))
        earlier.push_back(b.CreateShuffleVector(neutral, value, from));
      cg.combine(op.getCombine(), earlier, values);
      // A built-in operation's neutral element changes no bit; an author's may, and the first lanes keep theirs.
      for (auto [value, combined] : llvm::zip_equal(values, earlier))
        value = builtin ? combined : b.CreateSelect(llvm::ConstantVector::get(moved), combined, value);
    }
  }

  /// One step along the axis: `values` become the scan's, `carry` what the next step starts from.
  void step(MutableArrayRef<LV> carry, MutableArrayRef<LV> values) {
    within(values);
    auto last = [&](ArrayRef<LV> of) {
      SmallVector<LV, 4> ends;
      for (LV value : of)
        ends.push_back(width > 1 ? b.CreateVectorSplat(width, b.CreateExtractElement(value, uint64_t(descending ? 0 : width - 1))) : value);
      return ends;
    };
    SmallVector<LV, 4> total = last(values), results(carry.begin(), carry.end());
    cg.combine(op.getCombine(), results, values);
    // The same value either way; through the total, only one operation lies between one step's carry and the next.
    if (builtin && width > 1) cg.combine(op.getCombine(), carry, total);
    else llvm::copy(last(results), carry.begin());
    llvm::copy(results, values.begin());
  }

private:
  Codegen &cg;
  llvm::IRBuilder<> &b;
  ScanOp op;
  unsigned width;
  bool descending;
  std::optional<BinaryKind> builtin;
};
} // namespace

// What a scan need not visit: what nobody observes, if it lies beside the scanned axis or adds nothing.
static Conjuncts skippableIn(Plan &plan, ScanOp op) {
  std::optional<Conjuncts> neutral, observed;
  for (auto [value, identity, result] : llvm::zip_equal(op.getValues(), op.getIdentities(), op.getResults())) {
    std::optional<MaskedConstant> masked = plan.maskedConstant(value);
    auto constant = identity.getDefiningOp<ConstantOp>();
    Conjuncts own = masked && constant && masked->value == constant.getValue() ? masked->when : Conjuncts();
    neutral = neutral ? intersection(*neutral, own) : own;
    Conjuncts guard = plan.availableAt(plan.guard(result), op);
    observed = observed ? intersection(*observed, guard) : guard;
  }
  Conjuncts all;
  for (const Conjunct &c : *observed)
    if (!llvm::is_contained(c.axes, op.getAxis()) || llvm::is_contained(*neutral, c)) all.push_back(c);
  return all;
}

void Codegen::emitScan(ScanOp op) {
  SmallVector<int64_t, 4> extents = constantExtents(op.getValues()[0].getType());
  SmallVector<unsigned, 4> all = identityAxes(extents.size()), outer;
  unsigned scanned = op.getAxis(), count = op.getValues().size();
  bool descending = op.getReverse();
  SmallVector<Root, 4> roots;
  for (Value value : op.getValues())
    roots.push_back({value, all});
  Nest nest(*this, extents, roots, {}, /*bytes=*/4); // shifts across wider vectors are long code
  nest.setSkippable(skippableIn(*plan, op));
  LaneScan lanes(*this, op, nest.lanes());
  SmallVector<Buffer, 2> results;
  for (Value result : op.getResults())
    results.push_back(allocateFor(result));
  auto vectors = [&] {
    SmallVector<LV, 4> values;
    for (Value value : op.getValues())
      values.push_back(scalars.splatLike(nest.evaluate(value, all), scalars.vectorOf(b.getInt1Ty(), nest.lanes())));
    return values;
  };
  auto write = [&](ArrayRef<LV> values) {
    for (auto [buffer, value] : llvm::zip_equal(results, values))
      nest.writeBuffer(buffer, all, value);
  };
  for (unsigned axis : all)
    if (axis != nest.innerAxis() && axis != scanned) outer.push_back(axis);
  nest.outerLoops(outer, [&] {
    if (nest.innerAxis() == scanned) {
      SmallVector<LV, 8> carry = lanes.neutral(1);
      auto step = [&] {
        SmallVector<LV, 4> values = vectors();
        lanes.step(carry, values);
        write(values);
      };
      nest.orderedLoop(carry, step, descending);
      return;
    }
    SmallVector<LV, 1> none;
    nest.innerLoop(columnVectors, none, [&](unsigned copies) {
      SmallVector<LV, 8> running = lanes.neutral(copies);
      auto step = [&] {
        for (unsigned copy = 0; copy < copies; ++copy) {
          nest.setCopy(copy);
          auto own = MutableArrayRef<LV>(running).slice(copy * count, count);
          combine(op.getCombine(), own, vectors());
          write(own);
        }
      };
      nest.axisLoop(scanned, running, step, descending);
    });
  });
  for (auto [result, buffer] : llvm::zip_equal(op.getResults(), results))
    define(result, buffer);
}

void Codegen::emitPick(PickOp op) {
  SmallVector<int64_t, 4> extents = constantExtents(op.getValue().getType());
  SmallVector<unsigned, 4> all = identityAxes(extents.size()), kept, outer;
  unsigned axis = op.getAxis();
  Nest nest(*this, extents, {Root{op.getValue(), all}});
  // A lane outside the fragment must not read outside the arena.
  LV limit = index(extents[axis] - 1), lane = scalar(op.getLane());
  lane = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, lane, limit), index(0));
  nest.pin(axis, lane);
  if (extents.size() == 1) return define(op.getResult(), nest.evaluate(op.getValue(), all));
  for (unsigned other : all) {
    if (other == axis) continue;
    kept.push_back(other);
    if (other != nest.innerAxis()) outer.push_back(other);
  }
  nest.setSkippable(mapped(plan->availableAt(plan->guard(op.getResult()), op), kept));
  Buffer result = allocateFor(op.getResult());
  nest.forEach(outer, [&] { nest.writeBuffer(result, kept, nest.evaluate(op.getValue(), all)); });
  define(op.getResult(), result);
}

} // namespace intent::block::host
