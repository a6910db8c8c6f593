// Reductions: vector accumulators along the inner axis with a fixed tree at the end, or one accumulator per vector of
// kept lanes when another axis is reduced.
#include "Nest.h"

using namespace mlir;
using namespace intent;

namespace intent::block::host {

// Several independent accumulators hide the latency of the combining operation; they also shorten each chain, which is
// what bounds the error of a sum.
static constexpr unsigned accumulators = 4;
// Where another axis is reduced, this many vectors side by side are what one line of memory brings in.
static constexpr unsigned columnVectors = 8;

void Codegen::combine(Region &region, MutableArrayRef<LV> into, ArrayRef<LV> with) {
  ::mlir::Block &body = region.front();
  unsigned count = into.size();
  for (unsigned i = 0; i < count; ++i) {
    define(body.getArgument(i), into[i]);
    define(body.getArgument(count + i), scalars.splatLike(with[i], into[i]->getType()));
  }
  for (Operation &inner : body.without_terminator()) {
    locate(&inner);
    if (auto constant = dyn_cast<ConstantOp>(inner)) {
      define(constant.getResult(), scalars.constant(cast<TypedAttr>(constant.getValue())));
      continue;
    }
    SmallVector<LV, 3> operands;
    for (Value operand : inner.getOperands())
      operands.push_back(scalar(operand));
    define(inner.getResult(0), scalars.apply(&inner, operands));
  }
  for (unsigned i = 0; i < count; ++i)
    into[i] = scalars.splatLike(scalar(body.getTerminator()->getOperand(i)), into[i]->getType());
}

// Folds a vector's halves together until one lane is left.
static void foldLanes(Codegen &cg, ReduceOp op, MutableArrayRef<LV> values) {
  while (auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(values[0]->getType())) {
    unsigned half = vector->getNumElements() / 2;
    SmallVector<LV, 2> upper;
    for (LV &value : values) {
      if (half == 1) {
        upper.push_back(cg.b.CreateExtractElement(value, uint64_t(1)));
        value = cg.b.CreateExtractElement(value, uint64_t(0));
        continue;
      }
      SmallVector<int, 16> low, high;
      for (unsigned lane = 0; lane < half; ++lane) {
        low.push_back(lane);
        high.push_back(half + lane);
      }
      upper.push_back(cg.b.CreateShuffleVector(value, high));
      value = cg.b.CreateShuffleVector(value, low);
    }
    cg.combine(op.getCombine(), values, upper);
  }
}

// Conjuncts where every operand holds its identity, and those that no observer of the results sees past.
static Conjuncts skippableIn(Plan &plan, ReduceOp op, ArrayRef<unsigned> kept, ArrayRef<Value> filled) {
  std::optional<Conjuncts> all, results;
  for (auto [value, identity, result] : llvm::zip_equal(op.getValues(), op.getIdentities(), op.getResults())) {
    std::optional<MaskedConstant> masked = plan.maskedConstant(value);
    auto constant = identity.getDefiningOp<ConstantOp>();
    Conjuncts own = masked && constant && masked->value == constant.getValue() ? masked->when : Conjuncts();
    all = all ? intersection(*all, own) : own;
    Conjuncts observed = isa<FragmentType>(result.getType()) ? plan.availableAt(plan.guard(result), op) : Conjuncts();
    results = results ? intersection(*results, observed) : observed;
  }
  unite(*all, mapped(*results, kept));
  for (Value value : filled)
    all = intersection(*all, plan.guard(value));
  return *all;
}

void Codegen::emitReduce(ReduceOp op) {
  SmallVector<int64_t, 4> extents = constantExtents(op.getValues()[0].getType());
  SmallVector<unsigned, 4> all = identityAxes(extents.size()), kept;
  unsigned reduced = op.getAxis(), count = op.getValues().size();
  for (unsigned axis : all)
    if (axis != reduced) kept.push_back(axis);
  ArrayRef<Value> filled = plan->filledIn(op);
  SmallVector<Root, 4> roots;
  for (Value value : op.getValues())
    roots.push_back({value, all});
  for (Value value : filled)
    roots.push_back({value, all});
  Nest nest(*this, extents, roots);
  nest.setSkippable(skippableIn(*plan, op, kept, filled));
  SmallVector<Buffer, 2> memory, results;
  for (Value value : filled)
    memory.push_back(allocateFor(value));
  if (!kept.empty())
    for (Value result : op.getResults())
      results.push_back(allocateFor(result));
  bool vertical = nest.innerAxis() != reduced;

  auto start = [&](unsigned copies, bool vectors) {
    SmallVector<LV, 8> accumulator;
    for (unsigned copy = 0; copy < copies; ++copy)
      for (Value identity : op.getIdentities()) {
        LV value = scalar(identity);
        accumulator.push_back(vectors && nest.lanes() > 1 ? b.CreateVectorSplat(nest.lanes(), value) : value);
      }
    return accumulator;
  };
  auto step = [&](unsigned copies, SmallVectorImpl<LV> &accumulator) {
    for (unsigned copy = 0; copy < copies; ++copy) {
      nest.setCopy(copy);
      SmallVector<LV, 2> values;
      for (Value value : op.getValues())
        values.push_back(nest.evaluate(value, all));
      for (auto [value, buffer] : llvm::zip_equal(filled, memory))
        nest.writeBuffer(buffer, all, nest.evaluate(value, all));
      combine(op.getCombine(), MutableArrayRef<LV>(accumulator).slice(copy * count, count), values);
    }
  };
  auto finish = [&](ArrayRef<LV> values) {
    for (unsigned i = 0; i < count; ++i) {
      if (kept.empty()) define(op.getResult(i), values[i]);
      else nest.writeBuffer(results[i], kept, values[i]);
    }
  };

  SmallVector<unsigned, 4> outer;
  for (unsigned axis : kept)
    if (axis != nest.innerAxis()) outer.push_back(axis);
  nest.outerLoops(outer, [&] {
    if (vertical) {
      SmallVector<LV, 1> none;
      nest.innerLoop(columnVectors, none, [&](unsigned copies) {
        SmallVector<LV, 8> accumulator = start(copies, true);
        nest.axisLoop(reduced, accumulator, [&] { step(copies, accumulator); });
        for (unsigned copy = 0; copy < copies; ++copy) {
          nest.setCopy(copy);
          finish(ArrayRef<LV>(accumulator).slice(copy * count, count));
        }
      });
      return;
    }
    unsigned copies = std::max<int64_t>(1, std::min<int64_t>(accumulators, extents[reduced] / nest.lanes()));
    SmallVector<LV, 8> accumulator = start(copies, true);
    nest.innerLoop(copies, accumulator, [&](unsigned vectors) { step(vectors, accumulator); });
    for (unsigned distance = 1; distance < copies; distance *= 2)
      for (unsigned copy = 0; copy + distance < copies; copy += 2 * distance)
        combine(op.getCombine(), MutableArrayRef<LV>(accumulator).slice(copy * count, count),
                ArrayRef<LV>(accumulator).slice((copy + distance) * count, count));
    SmallVector<LV, 2> total(accumulator.begin(), accumulator.begin() + count);
    foldLanes(*this, op, total);
    finish(total);
  });
  for (auto [value, buffer] : llvm::zip_equal(filled, memory))
    define(value, buffer);
  if (!kept.empty())
    for (auto [result, buffer] : llvm::zip_equal(op.getResults(), results))
      define(result, buffer);
}

//===- fragments in memory -----------------------------------------------------------------------------===//

void Codegen::evaluateInto(Value value, const Buffer &buffer, const Conjuncts &skippable, const LaneOrder &order) {
  SmallVector<int64_t, 4> extents = constantExtents(value.getType());
  SmallVector<unsigned, 4> all = identityAxes(extents.size()), outer;
  Nest nest(*this, extents, {Root{value, all}});
  nest.setSkippable(skippable);
  nest.shuffle(order);
  for (unsigned axis : all)
    if (axis != nest.innerAxis()) outer.push_back(axis);
  nest.forEach(outer, [&] { nest.writeBuffer(buffer, all, nest.evaluate(value, all)); });
}

void Codegen::materialise(Value value) {
  Operation *op = value.getDefiningOp();
  LaneOrder order;
  if (checked && isa<LoadOp>(op)) order = beginAccess(op, constantExtents(value.getType()));
  Buffer buffer = allocateFor(value);
  evaluateInto(value, buffer, plan->availableAt(plan->guard(value), op), order);
  define(value, buffer);
}

} // namespace intent::block::host
