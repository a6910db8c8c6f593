// The loops of a nest: choice of the inner axis, trimming by masks, main and edge versions.
#include "Nest.h"

#include "intent/IR/Language.h"

using namespace mlir;
using namespace intent;

namespace intent::block::host {

Nest::Nest(Codegen &cg, ArrayRef<int64_t> extents, ArrayRef<Root> roots, StoreOp stored, unsigned bytes)
    : cg(cg), b(cg.b), plan(*cg.plan), extents(extents.begin(), extents.end()), indices(extents.size()), depths(extents.size()) {
  Survey found;
  found.bytes = bytes;
  found.scores.assign(extents.size(), 0);
  for (const Root &root : roots) {
    survey(root.value, root.axes, found);
    if (elementType(root.value.getType()).isIndex()) found.bytes = 8;
  }
  if (stored) {
    auto along = [&](unsigned axis) {
      return plan.accessStep(stored.getView(), stored.getCoordinates(), stored.getCoordinateAxes(), axis);
    };
    // Loads that run across the direction of the store keep their own: the store turns squares of vectors.
    bool across = false, elsewhere = false;
    for (unsigned axis = 0; axis < rank(); ++axis) {
      across |= along(axis) == 1 && extents[axis] >= 8 && found.scores[axis] < 0;
      elsewhere |= found.scores[axis] > 0 && this->extents[axis] >= 8;
    }
    if (!across || !elsewhere) score(found, identityAxes(rank()), along, 2);
  }
  chooseInner(found);
}

void Nest::score(Survey &result, Axes axes, llvm::function_ref<std::optional<int64_t>(unsigned)> stepAlong, int weight) {
  for (auto [i, axis] : llvm::enumerate(axes)) {
    std::optional<int64_t> step = stepAlong(i);
    result.scores[axis] += weight * (step == 1 || step == -1 ? 4 : step == 0 ? 1 : -4);
  }
}

// Masks, element widths and access directions of everything under a value.
void Nest::survey(Value value, Axes axes, Survey &result) {
  Type element = elementType(value.getType());
  if (!element.isIndex() && !element.isInteger(1)) {
    unsigned bytes = isa<FloatType>(element) ? std::max(4u, storageBytes(element)) : storageBytes(element);
    result.bytes = std::max(result.bytes, bytes);
  }
  if (!isa<FragmentType>(value.getType()) || !result.seen.insert(value).second) return;
  if (const Buffer *buffer = cg.bufferOf(value)) {
    score(result, axes, [&](unsigned i) -> std::optional<int64_t> { return buffer->strides[i]; }, 1);
    return;
  }
  Operation *op = value.getDefiningOp();
  if (auto load = dyn_cast<LoadOp>(op)) {
    score(result, axes, [&](unsigned i) { return plan.accessStep(load.getView(), load.getCoordinates(), load.getCoordinateAxes(), i); }, 1);
    unite(masks, conjunctsOf(load.getValidity(), load.getValidAxes(), axes));
  } else if (auto select = dyn_cast<SelectOp>(op)) unite(masks, conjunctsOf(select.getCondition(), axes));
  // Divisions have no vector instruction: wide ones become long code, and the generator takes minutes over them.
  if (auto binary = dyn_cast<BinaryOp>(op); binary && llvm::is_contained({BinaryKind::FloorDiv, BinaryKind::Mod}, binary.getKind()))
    result.bytes = std::max(result.bytes, std::max(4u, storageBytes(element)));
  forEachOperand(op, axes, [&](Value operand, Axes own) { survey(operand, own, result); });
}

void Nest::chooseInner(const Survey &survey) {
  preferred = cg.cpu.vectorBytes / (survey.bytes ? survey.bytes : 4);
  std::optional<int> best;
  for (unsigned axis = 0; axis < rank(); ++axis) {
    if (extents[axis] == 1 && rank() > 1 && best) continue;
    int value = survey.scores[axis];
    if (extents[axis] < std::min<int64_t>(preferred, 8)) value -= extents[axis] == 1 ? 1000 : 8;
    if (!best || value >= *best) { // ties go to the last axis
      best = value;
      inner = axis;
    }
  }
  width = preferred;
  if (cg.checked) preferred = width = 1;
  while (width > 1 && (width > extents[inner] || extents[inner] % width))
    width /= 2;
}

void Nest::setSkippable(Conjuncts conjuncts, const Conjuncts &others) {
  skippable = std::move(conjuncts);
  unite(masks, skippable);
  unite(masks, others);
}

LV Nest::index(unsigned axis) const { return axis == copyAxis && !copyIndices.empty() ? copyIndices[copy] : indices[axis]; }

unsigned Nest::depthOf(Axes axes) const {
  unsigned deepest = 0;
  for (unsigned axis : axes)
    deepest = std::max(deepest, depths[axis]);
  return deepest;
}

bool Nest::isKnown(const Conjunct &conjunct) const {
  return llvm::any_of(known, [&](const Known &k) { return k.depth <= evaluating && k.conjunct == conjunct; });
}

LV Nest::minimum(LV x, LV y) { return b.CreateSelect(b.CreateICmpSLT(x, y), x, y); }
LV Nest::maximum(LV x, LV y) { return b.CreateSelect(b.CreateICmpSGT(x, y), x, y); }

void Nest::loop(unsigned axis, LV low, LV high, int64_t step, SmallVectorImpl<LV> &carried, llvm::function_ref<void()> body, LV jumpFrom,
                LV jumpTo, bool descending) {
  // The last position of a step, from which a descending loop counts down.
  LV top = descending ? b.CreateAdd(low, down(b.CreateSub(b.CreateSub(high, cg.index(1)), low), step)) : nullptr;
  auto *constantLow = llvm::dyn_cast<llvm::ConstantInt>(low), *constantHigh = llvm::dyn_cast<llvm::ConstantInt>(high);
  bool once = constantLow && constantHigh && !jumpFrom && constantLow->getSExtValue() < constantHigh->getSExtValue() &&
              constantLow->getSExtValue() + step >= constantHigh->getSExtValue();
  auto block = [&](const char *name) { return llvm::BasicBlock::Create(cg.context, name, cg.function); };
  llvm::BasicBlock *before = b.GetInsertBlock(), *header = once ? nullptr : block("header"), *bodyBlock = block("body"),
                   *exit = block("exit");
  anchors.push_back(b.CreateBr(once ? bodyBlock : header));
  ++depth;
  evaluating = depth;
  llvm::PHINode *phi = nullptr;
  SmallVector<llvm::PHINode *, 8> phis;
  if (!once) {
    b.SetInsertPoint(header);
    phi = b.CreatePHI(b.getInt64Ty(), 2);
    phi->addIncoming(low, before);
    for (LV &value : carried) {
      phis.push_back(b.CreatePHI(value->getType(), 2));
      phis.back()->addIncoming(value, before);
      value = phis.back();
    }
    b.CreateCondBr(b.CreateICmpSLT(phi, high), bodyBlock, exit);
  }
  b.SetInsertPoint(bodyBlock);
  indices[axis] = once ? low : descending ? b.CreateSub(b.CreateAdd(top, low), phi) : phi;
  if (!laneOrder.empty() && !once) {
    auto [factor, offset] = laneOrder[axis];
    indices[axis] = b.CreateURem(b.CreateAdd(b.CreateMul(indices[axis], factor), offset), cg.index(extents[axis]));
  }
  depths[axis] = depth;
  body();
  if (once) b.CreateBr(exit);
  else {
    LV next = b.CreateNSWAdd(phi, cg.index(step));
    if (jumpFrom) next = b.CreateSelect(b.CreateICmpEQ(next, jumpFrom), jumpTo, next);
    phi->addIncoming(next, b.GetInsertBlock());
    for (auto [node, value] : llvm::zip_equal(phis, carried))
      node->addIncoming(value, b.GetInsertBlock());
    b.CreateBr(header);
    for (auto [node, value] : llvm::zip_equal(phis, carried))
      value = node;
  }
  for (auto &entry : cache)
    llvm::erase_if(entry.second, [&](const Cached &c) { return c.depth >= depth; });
  llvm::erase_if(known, [&](const Known &k) { return k.depth >= depth; });
  indices[axis] = nullptr;
  depths[axis] = 0;
  --depth;
  evaluating = depth;
  anchors.pop_back();
  b.SetInsertPoint(exit);
}

// The part of an axis where the skippable conjuncts on it hold; those that the cut makes true are put into `used`.
Interval Nest::cutTo(unsigned axis, Conjuncts &used) {
  Interval cut{cg.index(0), cg.index(extents[axis])};
  for (const Conjunct &c : skippable) {
    std::optional<Interval> own = interval(c, axis);
    if (!own) continue;
    cut.low = maximum(cut.low, own->low);
    cut.high = minimum(cut.high, own->high);
    used.push_back(c);
  }
  return cut;
}

void Nest::axisLoop(unsigned axis, SmallVectorImpl<LV> &carried, llvm::function_ref<void()> body, bool descending) {
  Conjuncts used;
  Interval cut = cg.checked ? Interval{cg.index(0), cg.index(extents[axis])} : cutTo(axis, used);
  for (const Conjunct &c : used)
    known.push_back({c, depth + 1});
  loop(axis, cut.low, cut.high, 1, carried, body, nullptr, nullptr, descending);
}

void Nest::outerLoops(Axes axes, llvm::function_ref<void()> body) {
  if (axes.empty()) return body();
  SmallVector<LV, 1> none;
  axisLoop(axes.front(), none, [&] { outerLoops(axes.drop_front(), body); });
}

void Nest::blockLoop(unsigned axis, unsigned copies, llvm::function_ref<void()> body) {
  SmallVector<LV, 1> none;
  Conjuncts used;
  Interval cut = cutTo(axis, used); // what the cut leaves of a block need not be valid as a whole
  LV low = b.CreateMul(b.CreateUDiv(cut.low, cg.index(copies)), cg.index(copies));
  loop(axis, low, cut.high, copies, none, [&] {
    copyAxis = axis;
    for (unsigned i = 0; i < copies; ++i)
      copyIndices.push_back(b.CreateNUWAdd(indices[axis], cg.index(i)));
    body();
    copy = 0;
    copyIndices.clear();
  });
}

// A conjunct that does not vary along the inner axis, over all copies of a block.
LV Nest::holdsForAllCopies(const Conjunct &conjunct) {
  if (!variesByCopy(conjunct.axes)) return evaluate(conjunct.base, conjunct.axes);
  LV all = nullptr;
  for (unsigned i = 0; i < copyIndices.size(); ++i) {
    copy = i;
    LV one = evaluate(conjunct.base, conjunct.axes);
    all = all ? b.CreateAnd(all, one) : one;
  }
  copy = 0;
  return all;
}

// `value` rounded down to a multiple of `to`.
LV Nest::down(LV value, int64_t to) {
  if (llvm::isPowerOf2_64(to)) return b.CreateAnd(value, cg.index(-to));
  return b.CreateSub(value, b.CreateSRem(value, cg.index(to)));
}

Nest::Split Nest::splitInner(int64_t stride) {
  LV zero = cg.index(0), end = cg.index(extents[inner]);
  Interval interior{zero, end}, wanted{zero, end};
  Split split;
  LV gate = nullptr;
  for (const Conjunct &c : masks) {
    if (isKnown(c)) continue;
    bool perCopy = variesByCopy(c.axes), skip = llvm::is_contained(skippable, c) && !perCopy;
    if (perCopy && llvm::is_contained(c.axes, inner)) continue; // an interval of its own for each copy
    if (std::optional<Interval> own = interval(c, inner)) {
      interior.low = maximum(interior.low, own->low);
      interior.high = minimum(interior.high, own->high);
      if (skip) {
        wanted.low = maximum(wanted.low, own->low);
        wanted.high = minimum(wanted.high, own->high);
      }
    } else if (!llvm::is_contained(c.axes, inner) && llvm::all_of(c.axes, [&](unsigned axis) { return isOpen(axis); })) {
      LV holdsHere = holdsForAllCopies(c);
      gate = gate ? b.CreateAnd(gate, holdsHere) : holdsHere;
      if (skip) wanted.high = b.CreateSelect(holdsHere, wanted.high, zero);
    } else continue;
    split.holds.push_back(c);
  }
  split.from = down(b.CreateAdd(interior.low, cg.index(width - 1)), width);
  LV length = down(maximum(b.CreateSub(interior.high, split.from), zero), stride);
  if (gate) length = b.CreateSelect(gate, length, zero);
  split.to = b.CreateAdd(split.from, length);
  split.start = down(wanted.low, width);
  split.end = wanted.high;
  return split;
}

static bool isConstant(LV value, int64_t number) {
  auto *c = llvm::dyn_cast<llvm::ConstantInt>(value);
  return c && c->getSExtValue() == number;
}

void Nest::innerLoop(unsigned copies, SmallVectorImpl<LV> &carried, llvm::function_ref<void(unsigned)> body) {
  int64_t extent = extents[inner];
  if (cg.checked) return loop(inner, cg.index(0), cg.index(extent), 1, carried, [&] { body(1); });
  copies = std::max<int64_t>(1, std::min<int64_t>(copies, extent / width));
  auto [from, to, start, end, holds] = splitInner(int64_t(width) * copies);
  auto run = [&](LV low, LV high, unsigned vectors, LV jumpFrom, LV jumpTo) {
    loop(
        inner, low, high, int64_t(width) * vectors, carried,
        [&] {
          if (vectors == 1) return body(1);
          copyAxis = inner;
          for (unsigned i = 0; i < vectors; ++i)
            copyIndices.push_back(i ? b.CreateNUWAdd(indices[inner], cg.index(int64_t(i) * width)) : indices[inner]);
          body(vectors);
          copy = 0;
          copyIndices.clear();
        },
        jumpFrom, jumpTo);
  };
  for (const Conjunct &c : holds)
    known.push_back({c, depth + 1});
  run(from, to, copies, nullptr, nullptr);
  if (isConstant(from, 0) && isConstant(to, extent)) return; // nothing is left
  if (isConstant(start, 0) && isConstant(from, 0)) run(to, end, 1, nullptr, nullptr);
  else run(b.CreateSelect(b.CreateICmpEQ(start, from), to, start), end, 1, from, to);
}

void Nest::orderedLoop(SmallVectorImpl<LV> &carried, llvm::function_ref<void()> body, bool descending) {
  if (cg.checked) return loop(inner, cg.index(0), cg.index(extents[inner]), 1, carried, body, nullptr, nullptr, descending);
  Split split = splitInner(width);
  auto before = [&] { loop(inner, split.start, minimum(split.from, split.end), width, carried, body, nullptr, nullptr, descending); };
  auto after = [&] { loop(inner, split.to, split.end, width, carried, body, nullptr, nullptr, descending); };
  bool whole = isConstant(split.from, 0) && isConstant(split.to, extents[inner]);
  bool fromStart = whole || (isConstant(split.from, 0) && isConstant(split.start, 0));
  if (descending ? !whole : !fromStart) descending ? after() : before();
  for (const Conjunct &c : split.holds)
    known.push_back({c, depth + 1});
  loop(inner, split.from, split.to, width, carried, body, nullptr, nullptr, descending);
  if (descending ? !fromStart : !whole) descending ? before() : after();
}

void Nest::serialise() {
  inner = rank() - 1;
  width = 1;
}

void Nest::pin(unsigned axis, LV index) {
  if (inner == axis) {
    if (rank() > 1) inner = axis == rank() - 1 ? rank() - 2 : rank() - 1;
    for (width = 1; inner != axis && 2 * width <= preferred && extents[inner] % (2 * width) == 0;)
      width *= 2;
  }
  indices[axis] = index;
}

void Nest::forEach(Axes outer, llvm::function_ref<void()> body) {
  outerLoops(outer, [&] {
    SmallVector<LV, 1> none;
    innerLoop(1, none, [&](unsigned) { body(); });
  });
}

} // namespace intent::block::host
