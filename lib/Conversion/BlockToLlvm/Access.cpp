// Loads from and stores to views: unit stride becomes vector accesses, other strides gathers and scatters. Inactive
// lanes touch no memory; an inactive scalar access goes to scratch instead of branching, so that it can be hoisted.
#include "Nest.h"

#include "intent/IR/Language.h"

using namespace mlir;
using namespace intent;

namespace intent::block::host {

Nest::Address Nest::address(Value view, ValueRange coordinates, ArrayAttr coordinateAxes, Axes axes) {
  const View &source = cg.views[view];
  Type element = elementType(view.getType());
  LV base = nullptr, step = nullptr, offsets = nullptr;
  auto sum = [&](LV into, LV term) { return into ? b.CreateAdd(into, term) : term; };
  for (auto [i, coordinate] : llvm::enumerate(coordinates)) {
    SmallVector<unsigned, 4> own = compose(axisList(coordinateAxes, i), axes);
    LV stride = source.strides[i];
    std::optional<Affine> form = affine(coordinate, own, inner);
    if (!form) {
      LV at = evaluate(coordinate, own);
      if (!at->getType()->isVectorTy()) base = sum(base, b.CreateMul(at, stride));
      else offsets = sum(offsets, b.CreateMul(at, b.CreateVectorSplat(width, stride)));
      continue;
    }
    base = sum(base, b.CreateMul(form->base, stride));
    if (!form->step || width == 1) continue;
    LV change = b.CreateMul(form->step, stride);
    if (auto *c = llvm::dyn_cast<llvm::ConstantInt>(change); !c || !c->isZero()) step = sum(step, change);
  }
  Address result;
  result.pointer = base ? b.CreateGEP(cg.scalars.memoryType(element), source.data, base) : source.data;
  result.step = step;
  if (!offsets) return result;
  if (step) offsets = b.CreateAdd(offsets, b.CreateMul(laneNumbers(64), b.CreateVectorSplat(width, step)));
  return {b.CreateGEP(cg.scalars.memoryType(element), result.pointer, offsets), cg.index(0)};
}

static std::optional<int64_t> constantStep(LV step) {
  auto *c = llvm::dyn_cast_or_null<llvm::ConstantInt>(step);
  return c ? std::optional(c->getSExtValue()) : std::nullopt;
}

static SmallVector<int, 16> reversedLanes(unsigned width) {
  SmallVector<int, 16> lanes;
  for (unsigned lane = 0; lane < width; ++lane)
    lanes.push_back(width - 1 - lane);
  return lanes;
}

LV Nest::computeLoad(LoadOp load, Axes axes) {
  Type element = load.getView().getType().getElement();
  llvm::Type *memory = cg.scalars.memoryType(element);
  llvm::Align align(storageBytes(element));
  LV active = condition(conjunctsOf(load.getValidity(), load.getValidAxes(), axes));
  if (cg.checked) active = mayAccess(load, active);
  Address at = address(load.getView(), load.getCoordinates(), load.getCoordinateAxes(), axes);
  LV fill = cg.scalar(load.getFill());
  bool oneAddress = !isVector(axes) || (!at.step && !at.pointer->getType()->isVectorTy());
  LV value;
  if (oneAddress) {
    LV any = active && active->getType()->isVectorTy() ? b.CreateOrReduce(active) : active;
    LV pointer = any ? b.CreateSelect(any, at.pointer, cg.dummy()) : at.pointer;
    value = cg.scalars.fromMemory(element, b.CreateAlignedLoad(memory, pointer, align));
  } else {
    auto *vector = llvm::FixedVectorType::get(memory, width);
    LV mask = active ? cg.scalars.splatLike(active, vector) : nullptr;
    std::optional<int64_t> step = at.pointer->getType()->isVectorTy() ? std::nullopt : constantStep(at.step);
    bool backward = step == -1;
    if (backward) {
      at.pointer = b.CreateGEP(memory, at.pointer, cg.index(1 - static_cast<int64_t>(width)));
      if (mask) mask = b.CreateShuffleVector(mask, reversedLanes(width));
    }
    LV raw;
    if (step == 1 || backward)
      raw = mask ? static_cast<LV>(b.CreateMaskedLoad(vector, at.pointer, align, mask, llvm::Constant::getNullValue(vector)))
                 : b.CreateAlignedLoad(vector, at.pointer, align);
    else raw = b.CreateMaskedGather(vector, lanePointers(at, element), align, mask, llvm::Constant::getNullValue(vector));
    if (backward) raw = b.CreateShuffleVector(raw, reversedLanes(width));
    value = cg.scalars.fromMemory(element, raw);
  }
  if (!active) return value;
  llvm::Type *shape = active->getType()->isVectorTy() ? active->getType() : value->getType();
  return b.CreateSelect(active, cg.scalars.splatLike(value, shape), cg.scalars.splatLike(fill, shape));
}

void Nest::writeView(StoreOp store, LV value) {
  SmallVector<unsigned, 4> axes = identityAxes(rank());
  Type element = store.getView().getType().getElement();
  llvm::Type *memory = cg.scalars.memoryType(element);
  llvm::Align align(storageBytes(element));
  LV active = condition(conjunctsOf(store.getValidity(), store.getValidAxes(), axes));
  if (cg.checked) active = mayAccess(store, active, cg.bitsOf(element, value));
  Address at = address(store.getView(), store.getCoordinates(), store.getCoordinateAxes(), axes);
  if (width == 1) {
    LV pointer = active ? b.CreateSelect(active, at.pointer, cg.dummy()) : at.pointer;
    b.CreateAlignedStore(cg.scalars.toMemory(element, value), pointer, align);
    return;
  }
  auto *vector = llvm::FixedVectorType::get(memory, width);
  LV lanes = cg.scalars.toMemory(element, cg.scalars.splatLike(value, vector));
  LV mask = active ? cg.scalars.splatLike(active, vector) : nullptr;
  std::optional<int64_t> step = at.pointer->getType()->isVectorTy() ? std::nullopt : constantStep(at.step);
  if (step == -1) {
    at.pointer = b.CreateGEP(memory, at.pointer, cg.index(1 - static_cast<int64_t>(width)));
    lanes = b.CreateShuffleVector(lanes, reversedLanes(width));
    if (mask) mask = b.CreateShuffleVector(mask, reversedLanes(width));
  }
  if (step != 1 && step != -1) b.CreateMaskedScatter(lanes, lanePointers(at, element), align, mask);
  else if (mask) b.CreateMaskedStore(lanes, at.pointer, align, mask);
  else b.CreateAlignedStore(lanes, at.pointer, align);
}

// By exchanging single lanes of neighbours, pairs, fours and so on.
void transposeSquare(llvm::IRBuilder<> &b, MutableArrayRef<LV> square) {
  unsigned lanes = square.size();
  for (unsigned distance = 1; distance < lanes; distance *= 2) {
    SmallVector<int, 16> low, high;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      low.push_back(lane & distance ? lanes + lane - distance : lane);
      high.push_back(lane & distance ? lanes + lane : lane + distance);
    }
    for (unsigned i = 0; i < lanes; ++i) {
      if (i & distance) continue;
      LV x = square[i], y = square[i + distance];
      square[i] = b.CreateShuffleVector(x, y, low);
      square[i + distance] = b.CreateShuffleVector(x, y, high);
    }
  }
}

void Nest::writeViewAcross(StoreOp store, MutableArrayRef<LV> square) {
  SmallVector<unsigned, 4> axes = identityAxes(rank());
  Type element = store.getView().getType().getElement();
  llvm::Type *memory = cg.scalars.memoryType(element);
  auto *vector = llvm::FixedVectorType::get(memory, width);
  Conjuncts conjuncts = conjunctsOf(store.getValidity(), store.getValidAxes(), axes);
  SmallVector<LV, 16> masks;
  for (unsigned i = 0; i < width; ++i) {
    setCopy(i);
    square[i] = cg.scalars.toMemory(element, cg.scalars.splatLike(square[i], vector));
    LV active = condition(conjuncts);
    if (active) masks.push_back(b.CreateZExt(cg.scalars.splatLike(active, vector), llvm::FixedVectorType::get(b.getInt8Ty(), width)));
  }
  setCopy(0);
  transposeSquare(b, square);
  if (!masks.empty()) transposeSquare(b, masks);
  Address at = address(store.getView(), store.getCoordinates(), store.getCoordinateAxes(), axes);
  llvm::Align align(storageBytes(element));
  for (unsigned i = 0; i < width; ++i) {
    LV pointer = i ? b.CreateGEP(memory, at.pointer, b.CreateMul(at.step ? at.step : cg.index(0), cg.index(i))) : at.pointer;
    if (masks.empty()) b.CreateAlignedStore(square[i], pointer, align);
    else b.CreateMaskedStore(square[i], pointer, align, b.CreateIsNotNull(masks[i]));
  }
}

void Codegen::emitScalarLoad(LoadOp op) {
  Type element = op.getView().getType().getElement();
  auto [pointer, active] = scalarAddress(op);
  LV value = scalars.fromMemory(element, b.CreateAlignedLoad(scalars.memoryType(element), pointer, llvm::Align(storageBytes(element))));
  define(op.getResult(), active ? b.CreateSelect(active, value, scalar(op.getFill())) : value);
}

// The axis along which the store is contiguous, if the nest's inner one is another and whole squares fit.
static std::optional<unsigned> axisAcross(Codegen &cg, const Nest &nest, StoreOp op) {
  auto along = [&](unsigned axis) { return cg.plan->accessStep(op.getView(), op.getCoordinates(), op.getCoordinateAxes(), axis); };
  std::optional<int64_t> own = along(nest.innerAxis());
  if (nest.lanes() < 4 || nest.lanes() > 16 || own == 1 || own == -1) return std::nullopt;
  for (unsigned i = 0; i < op.getCoordinates().size(); ++i) {
    SmallVector<unsigned, 4> axes = axisList(op.getCoordinateAxes(), i);
    auto at = llvm::find(axes, nest.innerAxis());
    if (at != axes.end() && !cg.plan->step(op.getCoordinates()[i], at - axes.begin())) return std::nullopt; // not one pointer a vector
  }
  for (unsigned axis = 0; axis < nest.rank(); ++axis)
    if (axis != nest.innerAxis() && along(axis) == 1 && nest.extent(axis) % nest.lanes() == 0) return axis;
  return std::nullopt;
}

void Codegen::emitStore(StoreOp op) {
  if (!isa<FragmentType>(op.getValue().getType())) {
    Type element = op.getView().getType().getElement();
    LV pointer = scalarAddress(op).first;
    b.CreateAlignedStore(scalars.toMemory(element, scalar(op.getValue())), pointer, llvm::Align(storageBytes(element)));
    return;
  }
  SmallVector<int64_t, 4> extents = constantExtents(op.getValue().getType());
  SmallVector<unsigned, 4> all = identityAxes(extents.size());
  ArrayRef<Value> filled = plan->filledIn(op);
  SmallVector<Root, 4> roots{{op.getValue(), all}};
  Conjuncts skippable = conjunctsOf(op.getValidity(), op.getValidAxes(), all);
  SmallVector<Buffer, 2> buffers;
  for (Value value : filled) {
    roots.push_back({value, all});
    skippable = intersection(skippable, plan->guard(value));
    buffers.push_back(allocateFor(value));
  }
  Nest nest(*this, extents, roots, op);
  if (checked) nest.shuffle(beginAccess(op, extents));
  nest.setSkippable(skippable, conjunctsOf(op.getValidity(), op.getValidAxes(), all));
  SmallVector<unsigned, 4> outer;
  for (unsigned axis : all)
    if (axis != nest.innerAxis()) outer.push_back(axis);
  if (std::optional<unsigned> across = filled.empty() ? axisAcross(*this, nest, op) : std::nullopt) {
    llvm::erase(outer, *across);
    nest.outerLoops(outer, [&] {
      nest.blockLoop(*across, nest.lanes(), [&] {
        SmallVector<LV, 1> none;
        nest.innerLoop(1, none, [&](unsigned) {
          SmallVector<LV, 16> square;
          for (unsigned i = 0; i < nest.lanes(); ++i) {
            nest.setCopy(i);
            square.push_back(nest.evaluate(op.getValue(), all));
          }
          nest.writeViewAcross(op, square);
        });
      });
    });
    return;
  }
  nest.forEach(outer, [&] {
    LV value = nest.evaluate(op.getValue(), all);
    for (auto [source, buffer] : llvm::zip_equal(filled, buffers))
      nest.writeBuffer(buffer, all, nest.evaluate(source, all));
    nest.writeView(op, value);
  });
  for (auto [source, buffer] : llvm::zip_equal(filled, buffers))
    define(source, buffer);
}

} // namespace intent::block::host
