// Values at one position of a nest: affine forms of indices, masks, element-wise work, buffers.
#include "Nest.h"

#include "intent/IR/Language.h"

using namespace mlir;
using namespace intent;

namespace intent::block::host {

//===- indices as affine functions of the lane ---------------------------------------------------------===//

static bool isZero(LV value) {
  auto *constant = llvm::dyn_cast_or_null<llvm::ConstantInt>(value);
  return constant && constant->isZero();
}

std::optional<Affine> Nest::affine(Value value, Axes axes, unsigned lane) {
  AffineForms forms;
  return affine(value, axes, lane, forms);
}

std::optional<Affine> Nest::affine(Value value, Axes axes, unsigned lane, AffineForms &forms) {
  auto &known = forms[value];
  for (const auto &[own, form] : known)
    if (Axes(own) == axes) return form;
  std::optional<Affine> form = computeAffine(value, axes, lane, forms);
  forms[value].push_back({SmallVector<unsigned, 4>(axes.begin(), axes.end()), form});
  return form;
}

std::optional<Affine> Nest::computeAffine(Value value, Axes axes, unsigned lane, AffineForms &forms) {
  for (unsigned axis : axes)
    if (axis != lane && !isOpen(axis)) return std::nullopt;
  if (!llvm::is_contained(axes, lane)) return Affine{evaluate(value, axes), nullptr};
  Operation *op = value.getDefiningOp();
  if (!op || cg.bufferOf(value)) return std::nullopt;
  if (auto lanes = dyn_cast<LanesOp>(op)) {
    LV base = cg.scalar(lanes.getBase()), step = cg.scalar(lanes.getStep());
    LV at = isOpen(lane) ? index(lane) : cg.index(0);
    return Affine{b.CreateAdd(base, b.CreateMul(step, at)), isZero(step) ? nullptr : step};
  }
  if (isa<BroadcastOp, TransposeOp>(op)) {
    std::optional<Affine> inner;
    forEachOperand(op, axes, [&](Value operand, Axes own) { inner = affine(operand, own, lane, forms); });
    return inner;
  }
  auto binary = dyn_cast<BinaryOp>(op);
  if (!binary || !elementType(binary.getType()).isIndex()) return std::nullopt;
  BinaryKind kind = binary.getKind();
  if (kind != BinaryKind::Add && kind != BinaryKind::Sub && kind != BinaryKind::Mul) return std::nullopt;
  std::optional<Affine> x = affine(binary.getLhs(), axes, lane, forms);
  if (!x) return std::nullopt;
  std::optional<Affine> y = affine(binary.getRhs(), axes, lane, forms);
  if (!y) return std::nullopt;
  if (kind == BinaryKind::Mul) {
    if (x->step && y->step) return std::nullopt;
    if (y->step) std::swap(x, y);
    LV step = x->step ? b.CreateMul(x->step, y->base) : nullptr;
    return Affine{b.CreateMul(x->base, y->base), isZero(step) ? nullptr : step};
  }
  bool add = kind == BinaryKind::Add;
  LV step = !y->step   ? x->step
            : !x->step ? (add ? y->step : b.CreateNeg(y->step))
            : add      ? b.CreateAdd(x->step, y->step)
                       : b.CreateSub(x->step, y->step);
  return Affine{add ? b.CreateAdd(x->base, y->base) : b.CreateSub(x->base, y->base), isZero(step) ? nullptr : step};
}

LV Nest::laneNumbers(unsigned bits) {
  SmallVector<llvm::Constant *, 16> numbers;
  for (unsigned lane = 0; lane < width; ++lane)
    numbers.push_back(b.getIntN(bits, lane));
  return llvm::ConstantVector::get(numbers);
}

LV Nest::spread(Affine value) {
  if (!value.step || width == 1) return value.base;
  LV steps = b.CreateMul(laneNumbers(64), b.CreateVectorSplat(width, value.step));
  return b.CreateAdd(b.CreateVectorSplat(width, value.base), steps);
}

//===- comparisons of indices as intervals of lanes ----------------------------------------------------===//

std::optional<Nest::Bound> Nest::bound(CompareOp compare, Axes axes, unsigned lane) {
  if (!elementType(compare.getLhs().getType()).isIndex() || !llvm::is_contained(axes, lane)) return std::nullopt;
  std::optional<Affine> x = affine(compare.getLhs(), axes, lane);
  if (!x) return std::nullopt;
  std::optional<Affine> y = affine(compare.getRhs(), axes, lane);
  if (!y) return std::nullopt;
  auto constant = [](LV step) -> std::optional<int64_t> {
    if (!step) return 0;
    auto *c = llvm::dyn_cast<llvm::ConstantInt>(step);
    return c ? std::optional(c->getSExtValue()) : std::nullopt;
  };
  std::optional<int64_t> xs = constant(x->step), ys = constant(y->step);
  int64_t pace = 0;
  if (!xs || !ys || llvm::SubOverflow(*xs, *ys, pace) || (pace != 1 && pace != -1)) return std::nullopt;
  // With x - y = base + i: i against y.base - x.base; with base - i, the mirror image.
  bool rising = pace == 1;
  LV limit = rising ? b.CreateSub(y->base, x->base) : b.CreateSub(x->base, y->base);
  LV after = b.CreateAdd(limit, cg.index(1));
  switch (compare.getPredicate()) {
  case ComparePredicate::Lt: return rising ? Bound{limit, true} : Bound{after, false};
  case ComparePredicate::Le: return rising ? Bound{after, true} : Bound{limit, false};
  case ComparePredicate::Gt: return rising ? Bound{after, false} : Bound{limit, true};
  case ComparePredicate::Ge: return rising ? Bound{limit, false} : Bound{after, true};
  default: return std::nullopt;
  }
}

std::optional<Interval> Nest::interval(const Conjunct &conjunct, unsigned axis) {
  auto compare = conjunct.base.getDefiningOp<CompareOp>();
  if (!compare || cg.bufferOf(conjunct.base) || isOpen(axis)) return std::nullopt;
  if (axis != inner && llvm::is_contained(conjunct.axes, inner)) return std::nullopt; // one interval for each lane
  std::optional<Bound> limit = bound(compare, conjunct.axes, axis);
  if (!limit) return std::nullopt;
  LV zero = cg.index(0), end = cg.index(extents[axis]);
  LV clamped = maximum(minimum(limit->limit, end), zero);
  return limit->isHigh ? Interval{zero, clamped} : Interval{clamped, end};
}

LV Nest::computeCompare(CompareOp compare, Axes axes) {
  if (isVector(axes)) {
    if (std::optional<Bound> limit = bound(compare, axes, inner)) {
      LV clamped = maximum(minimum(limit->limit, cg.index(width)), cg.index(0));
      LV lanes = laneNumbers(32), splat = b.CreateVectorSplat(width, b.CreateTrunc(clamped, b.getInt32Ty()));
      return limit->isHigh ? b.CreateICmpSLT(lanes, splat) : b.CreateICmpSGE(lanes, splat);
    }
  }
  LV operands[] = {evaluate(compare.getLhs(), axes), evaluate(compare.getRhs(), axes)};
  return cg.scalars.apply(compare, operands);
}

LV Nest::condition(const Conjuncts &conjuncts) {
  LV all = nullptr;
  for (const Conjunct &c : conjuncts) {
    if (isKnown(c)) continue;
    LV own = evaluate(c.base, c.axes);
    if (!all) all = own;
    else {
      llvm::Type *shape = all->getType()->isVectorTy() ? all->getType() : own->getType();
      all = b.CreateAnd(cg.scalars.splatLike(all, shape), cg.scalars.splatLike(own, shape));
    }
  }
  return all;
}

//===- values ------------------------------------------------------------------------------------------===//

LV Nest::evaluate(Value value, Axes axes) {
  if (!isa<FragmentType>(value.getType())) return cg.scalar(value);
  unsigned slot = variesByCopy(axes) ? copy : 0;
  for (const Cached &c : cache[value])
    if (c.copy == slot && Axes(c.axes) == axes) return c.value;
  unsigned at = depthOf(axes);
  llvm::IRBuilder<>::InsertPointGuard guard(b);
  unsigned outer = evaluating;
  if (at < depth) b.SetInsertPoint(anchors[at]);
  evaluating = at;
  LV result = compute(value, axes);
  evaluating = outer;
  cache[value].push_back({SmallVector<unsigned, 4>(axes.begin(), axes.end()), slot, at, result});
  return result;
}

LV Nest::compute(Value value, Axes axes) {
  if (const Buffer *buffer = cg.bufferOf(value)) return readBuffer(*buffer, axes);
  Operation *op = value.getDefiningOp();
  cg.locate(op);
  if (auto load = dyn_cast<LoadOp>(op)) return computeLoad(load, axes);
  if (auto compare = dyn_cast<CompareOp>(op)) return computeCompare(compare, axes);
  if (isa<LanesOp>(op)) {
    Affine form = *affine(value, axes, axes[0]);
    return axes[0] == inner ? spread(form) : form.base;
  }
  if (isa<BroadcastOp, TransposeOp>(op)) {
    LV result = nullptr;
    forEachOperand(op, axes, [&](Value operand, Axes own) { result = evaluate(operand, own); });
    return result;
  }
  if (auto select = dyn_cast<SelectOp>(op)) {
    LV choice = condition(conjunctsOf(select.getCondition(), axes));
    if (!choice) return evaluate(select.getTrueValue(), axes);
    LV yes = evaluate(select.getTrueValue(), axes), no = evaluate(select.getFalseValue(), axes);
    llvm::Type *shape = choice->getType()->isVectorTy() ? choice->getType() : yes->getType()->isVectorTy() ? yes->getType() : no->getType();
    return b.CreateSelect(choice, cg.scalars.splatLike(yes, shape), cg.scalars.splatLike(no, shape));
  }
  if (elementType(value.getType()).isIndex() && llvm::is_contained(axes, inner))
    if (std::optional<Affine> form = affine(value, axes, inner)) return spread(*form);
  SmallVector<LV, 3> operands;
  forEachOperand(op, axes, [&](Value operand, Axes own) { operands.push_back(evaluate(operand, own)); });
  return cg.scalars.apply(op, operands);
}

//===- buffers -----------------------------------------------------------------------------------------===//

static LV bufferAddress(Codegen &cg, const Nest &nest, const Buffer &buffer, Axes axes) {
  LV offset = cg.index(0);
  for (auto [i, axis] : llvm::enumerate(axes))
    offset = cg.b.CreateAdd(offset, cg.b.CreateMul(nest.index(axis), cg.index(buffer.strides[i])));
  return cg.b.CreateInBoundsGEP(cg.scalars.memoryType(buffer.element), buffer.pointer, offset);
}

static int64_t strideAlong(const Buffer &buffer, Axes axes, unsigned axis) { return buffer.strides[llvm::find(axes, axis) - axes.begin()]; }

LV Nest::readBuffer(const Buffer &buffer, Axes axes) {
  llvm::Type *memory = cg.scalars.memoryType(buffer.element);
  llvm::Align align(storageBytes(buffer.element));
  LV pointer = bufferAddress(cg, *this, buffer, axes);
  if (!isVector(axes)) return cg.scalars.fromMemory(buffer.element, b.CreateAlignedLoad(memory, pointer, align));
  auto *vector = llvm::FixedVectorType::get(memory, width);
  int64_t stride = strideAlong(buffer, axes, inner);
  if (stride == 1) return cg.scalars.fromMemory(buffer.element, b.CreateAlignedLoad(vector, pointer, align));
  return cg.scalars.fromMemory(buffer.element,
                               b.CreateMaskedGather(vector, lanePointers({pointer, cg.index(stride)}, buffer.element), align));
}

void Nest::writeBuffer(const Buffer &buffer, Axes axes, LV value) {
  LV offset = cg.index(0);
  for (auto [i, axis] : llvm::enumerate(axes))
    offset = b.CreateAdd(offset, b.CreateMul(index(axis), cg.index(buffer.strides[i])));
  writeAt(buffer, offset, isVector(axes) ? strideAlong(buffer, axes, inner) : 0, value);
}

void Nest::writeAt(const Buffer &buffer, LV offset, int64_t stride, LV value) {
  llvm::Type *memory = cg.scalars.memoryType(buffer.element);
  llvm::Align align(storageBytes(buffer.element));
  LV pointer = b.CreateInBoundsGEP(memory, buffer.pointer, offset);
  if (!stride || width == 1) {
    b.CreateAlignedStore(cg.scalars.toMemory(buffer.element, value), pointer, align);
    return;
  }
  value = cg.scalars.toMemory(buffer.element, cg.scalars.splatLike(value, llvm::FixedVectorType::get(b.getInt1Ty(), width)));
  if (stride == 1) b.CreateAlignedStore(value, pointer, align);
  else b.CreateMaskedScatter(value, lanePointers({pointer, cg.index(stride)}, buffer.element), align);
}

LV Nest::lanePointers(const Address &address, Type element) {
  if (address.pointer->getType()->isVectorTy()) return address.pointer;
  if (!address.step) return b.CreateVectorSplat(width, address.pointer);
  LV offsets = b.CreateMul(laneNumbers(64), b.CreateVectorSplat(width, address.step));
  return b.CreateGEP(cg.scalars.memoryType(element), address.pointer, offsets);
}

} // namespace intent::block::host
