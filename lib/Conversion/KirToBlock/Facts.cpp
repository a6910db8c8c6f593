// Axes, effects, versions and classes of a kernel.
#include "Facts.h"

using namespace mlir;
using namespace intent::kir;

namespace intent::conversion {

//===- axes --------------------------------------------------------------------------------------------===//

AxisId Facts::newAxis(Axis::Kind kind, Operation *op, const Index *start, const Index *step, ExtentAttr extent) {
  AxisId id = axes.size();
  axes.push_back({kind, op, start, step, extent});
  parentOf.push_back(id);
  conflicts.emplace_back();
  return id;
}

AxisId Facts::find(AxisId id) const {
  while (parentOf[id] != id)
    id = parentOf[id];
  return id;
}

SmallVector<AxisId> Facts::members(AxisId representative) const {
  SmallVector<AxisId> result;
  for (AxisId id = 0; id < axes.size(); ++id)
    if (find(id) == representative) result.push_back(id);
  return result;
}

ArrayRef<AxisId> Facts::axesOf(Operation *op) const {
  auto it = opAxes.find(op);
  return it == opAxes.end() ? ArrayRef<AxisId>() : ArrayRef<AxisId>(it->second);
}

ArrayRef<AxisId> Facts::carryAxes(ForOp loop, unsigned i) const {
  auto it = carries.find({loop, i});
  return it == carries.end() ? ArrayRef<AxisId>() : ArrayRef<AxisId>(it->second);
}

void Facts::createAxes() {
  const Index *zero = index.constant(0), *one = index.constant(1);
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto symbol = dyn_cast<SymbolOp>(op)) atoms[symbol.getName()] = symbol.getValue();
    SmallVector<AxisId> &own = opAxes[op];
    auto overDomain = [&](Axis::Kind kind, Value domain) {
      DomainInfo info = domainOf(domain);
      own.push_back(newAxis(kind, op, info.start, info.step, cast<DomainType>(domain.getType()).getExtent()));
    };
    if (auto parallel = dyn_cast<ParallelOp>(op)) {
      for (Value domain : parallel.getDomains())
        overDomain(Axis::Parallel, domain);
    } else if (auto loop = dyn_cast<ForOp>(op)) {
      overDomain(Axis::Ordered, loop.getDomain());
      for (auto [i, init] : llvm::enumerate(loop.getInits()))
        for (ExtentAttr extent : shapeOf(init.getType()))
          carries[{op, unsigned(i)}].push_back(newAxis(Axis::Carry, op, zero, one, extent));
    } else if (auto write = dyn_cast<WriteOp>(op)) {
      for (ExtentAttr extent : shapeOf(write.getValue().getType()))
        opAxes[op].push_back(newAxis(Axis::Effect, op, zero, one, extent));
    } else if (auto reduce = dyn_cast<ReduceOp>(op)) {
      auto type = cast<KirTensorType>(reduce.getValues()[0].getType());
      for (int64_t axis : reduce.getAxes())
        opAxes[op].push_back(newAxis(Axis::Reduced, op, zero, one, type.getShape()[axis]));
    } else if (auto contract = dyn_cast<ContractOp>(op)) {
      for (int64_t axis : contract.getLhsReduce())
        opAxes[op].push_back(newAxis(Axis::Reduced, op, zero, one, contract.getLhs().getType().getShape()[axis]));
    }
  });
}

//===- effects -----------------------------------------------------------------------------------------===//

static bool holdsWrites(Operation *op) {
  return op->walk([](WriteOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

LogicalResult Facts::collectEffects(::mlir::Block &block, SmallVector<Condition> conditions, SmallVector<AxisId> parallel, Effect *parent) {
  for (Operation &op : block) {
    if (op.getNumRegions() == 0 && !isa<WriteOp>(op)) continue;
    if (!holdsWrites(&op)) continue;
    if (auto forall = dyn_cast<ParallelOp>(op)) {
      SmallVector<AxisId> inner(parallel);
      llvm::append_range(inner, axesOf(&op));
      if (failed(collectEffects(forall.getBody().front(), conditions, inner, parent))) return failure();
      continue;
    }
    if (auto branch = dyn_cast<IfOp>(op)) {
      for (bool negated : {false, true}) {
        SmallVector<Condition> inner(conditions);
        inner.push_back({branch.getCondition(), negated});
        Region &region = negated ? branch.getElseRegion() : branch.getThenRegion();
        if (failed(collectEffects(region.front(), inner, parallel, parent))) return failure();
      }
      continue;
    }
    effects.push_back(std::make_unique<Effect>());
    Effect *effect = effects.back().get();
    effect->op = &op;
    effect->parent = parent;
    effect->conditions = conditions;
    effect->parallel = parallel;
    if (parent) parent->children.push_back(effect);
    else roots.push_back(effect);
    if (auto loop = dyn_cast<ForOp>(op))
      if (failed(collectEffects(loop.getBody().front(), {}, parallel, effect))) return failure();
  }
  return success();
}

void Facts::collectRoots(Effect &effect) {
  effect.roots.clear();
  auto leaves = [&](const Index *node) { addLeaves(node, effect.roots); };
  for (const Condition &condition : effect.conditions)
    effect.roots.emplace_back(condition.value, Coordinates());
  for (AxisId id : effect.parallel)
    for (const Index *node : {axes[id].start, axes[id].step, index.extent(axes[id].extent)})
      leaves(node);
  if (WriteOp write = effect.write()) {
    Coordinates at;
    for (AxisId id : axesOf(write)) {
      at.push_back(position(id));
      leaves(index.extent(axes[id].extent));
    }
    for (const Index *node : viewCoordinates(write.getIndices(), at))
      leaves(node);
    effect.roots.emplace_back(write.getValue(), isa<KirTensorType>(write.getValue().getType()) ? at : Coordinates());
    return;
  }
  auto loop = cast<ForOp>(effect.op);
  for (auto [i, init] : llvm::enumerate(loop.getInits())) {
    Coordinates at;
    for (AxisId id : carryAxes(loop, i))
      at.push_back(position(id));
    effect.roots.emplace_back(init, at);
    effect.roots.emplace_back(loop.getBody().front().getTerminator()->getOperand(i), at);
  }
  AxisId id = axesOf(loop)[0];
  for (const Index *node : {axes[id].start, axes[id].step, index.extent(axes[id].extent)})
    leaves(node);
}

const DemandSet &Facts::demandsOf(Effect *effect) {
  auto [it, fresh] = demands.try_emplace(effect);
  if (!fresh) return it->second;
  DemandSet all;
  for (const Demand &root : effect->roots)
    reach(root, all);
  for (Effect *child : effect->children)
    for (const Demand &demand : demandsOf(child).order)
      all.insert(demand);
  return demands[effect] = std::move(all);
}

ArrayRef<Access> Facts::accessesOf(Effect *effect) {
  auto [it, fresh] = accesses.try_emplace(effect);
  if (!fresh) return it->second;
  SmallVector<Access> all;
  if (WriteOp write = effect->write()) all.push_back({write, write.getView(), writeCoordinates(write), true});
  for (Effect *child : effect->children)
    llvm::append_range(all, accessesOf(child));
  for (const Demand &demand : demandsOf(effect).order)
    if (auto read = demand.first.getDefiningOp<ReadOp>(); read && !forwarded(read, demand.second))
      all.push_back({read, read.getView(), viewCoordinates(read.getIndices(), demand.second), false});
  return accesses[effect] = std::move(all);
}

//===- versions ----------------------------------------------------------------------------------------===//

// A write of every element: each index the whole axis, nothing conditional between it and the block of the reader.
bool Facts::isWholeWrite(WriteOp write, ReadOp read) {
  for (auto [item, other, extent] : llvm::zip(write.getIndices(), read.getIndices(), shapeOf(write.getView().getType()))) {
    if (isScalarType(item.getType()) && item == other) continue;
    auto domain = dyn_cast<DomainType>(item.getType());
    if (!domain || domain.getExtent() != extent) return false;
    DomainInfo info = domainOf(item);
    if (info.start->getConstant() != 0 || info.step->getConstant() != 1) return false;
  }
  return true;
}

// Both select the loop's coordinate on one view axis, so that no two iterations meet.
static bool touchOwnIteration(WriteOp write, ReadOp read, ForOp loop) {
  Value coordinate = loop.getBody().front().getArgument(0);
  for (auto [a, b] : llvm::zip(write.getIndices(), read.getIndices()))
    if (a == coordinate && b == coordinate) return true;
  return false;
}

LogicalResult Facts::findVersions() {
  SmallVector<WriteOp> writes;
  SmallVector<ReadOp> reads;
  kernel.walk([&](Operation *op) {
    if (auto write = dyn_cast<WriteOp>(op)) writes.push_back(write);
    if (auto read = dyn_cast<ReadOp>(op)) reads.push_back(read);
  });
  for (ReadOp read : reads) {
    WriteOp last;
    for (WriteOp write : writes) {
      if (write.getView() != read.getView()) continue;
      Operation *loop = write->getParentOfType<ForOp>();
      while (loop && !loop->isProperAncestor(read))
        loop = loop->getParentOfType<ForOp>();
      bool before = false;
      Operation *ancestor = read->getBlock()->findAncestorOpInBlock(*write);
      if (ancestor) before = ancestor->isBeforeInBlock(read);
      else if (Operation *other = write->getBlock()->findAncestorOpInBlock(*read)) before = write->isBeforeInBlock(other);
      else { // neither encloses the other: order of their ancestors in the common block
        ::mlir::Block *common = read->getBlock();
        Operation *a = nullptr, *b = nullptr;
        while (common && !(a = common->findAncestorOpInBlock(*write)))
          common = common->getParentOp()->getBlock();
        b = common ? common->findAncestorOpInBlock(*read) : nullptr;
        before = a && b && a->isBeforeInBlock(b);
      }
      if (!before && !loop) continue;
      if (!before && touchOwnIteration(write, read, cast<ForOp>(loop))) continue;
      bool seen = before && write->getBlock()->findAncestorOpInBlock(*read) && isWholeWrite(write, read);
      if (seen && !loop) {
        last = write;
        continue;
      }
      // An ordered loop around both: the read must see this iteration's whole write.
      if (seen && write->getBlock()->getParentOp() == loop && before) {
        last = write;
        continue;
      }
      InFlightDiagnostic error =
          read.emitError("shared gpu: this read depends on an earlier write of the same view, part by part: instances cannot exchange it");
      error.attachNote(write.getLoc()) << "the write";
      return error;
    }
    if (last) forwards[read] = last;
  }
  return success();
}

//===- classes -----------------------------------------------------------------------------------------===//

void Facts::addConflicts(ArrayRef<AxisId> together) {
  for (AxisId a : together)
    for (AxisId b : together)
      if (a != b) conflicts[a].insert(b);
}

bool Facts::unify(ArrayRef<std::pair<AxisId, AxisId>> pairs) {
  for (auto [x, y] : pairs) {
    AxisId a = find(x), b = find(y);
    if (a == b) continue;
    if (axes[x].extent != axes[y].extent || axes[x].start != axes[y].start || axes[x].step != axes[y].step) return false;
    if (axes[x].kind == Axis::Ordered || axes[y].kind == Axis::Ordered) return false;
    for (AxisId c : conflicts[a])
      if (find(c) == b) return false;
    for (AxisId c : conflicts[b])
      if (find(c) == a) return false;
  }
  for (auto [x, y] : pairs) {
    AxisId a = find(x), b = find(y);
    if (a == b) continue;
    if (b < a) std::swap(a, b);
    parentOf[b] = a;
    conflicts[a].insert(conflicts[b].begin(), conflicts[b].end());
  }
  return true;
}

void Facts::forget() {
  childrenOf.clear();
  freeOf.clear();
  depthOf.clear();
  demands.clear();
  accesses.clear();
}

// The axes of two coordinates that are each one axis plus something without axes, walked at one pace.
std::optional<std::pair<AxisId, AxisId>> Facts::samePace(const Index *a, const Index *b) {
  auto only = [](const Index *node) {
    std::optional<AxisId> found;
    bool several = false;
    forEachAxis(node, [&](AxisId id) {
      several |= found && *found != id;
      found = id;
    });
    return several ? std::nullopt : found;
  };
  std::optional<AxisId> x = only(a), y = only(b);
  if (!x || !y) return std::nullopt;
  std::optional<int64_t> paceX = index.coefficientOf(a, *x), paceY = index.coefficientOf(b, *y);
  return paceX && paceX == paceY ? std::optional(std::pair(*x, *y)) : std::nullopt;
}

void Facts::formClasses() {
  struct Touch {
    Value view;
    Coordinates at;
  };
  SmallVector<Touch> touches;
  SmallVector<std::pair<AxisId, AxisId>> carried;
  for (auto &effect : effects) {
    SmallVector<AxisId> together(effect->parallel);
    llvm::append_range(together, axesOf(effect->op));
    addConflicts(together);
    if (WriteOp write = effect->write()) touches.push_back({write.getView(), writeCoordinates(write)});
  }
  DemandSet seen;
  for (Effect *root : roots)
    for (const Demand &demand : demandsOf(root).order) {
      if (!seen.insert(demand)) continue;
      SmallVector<AxisId> together(llvm::to_vector(freeAxes(demand)));
      Operation *op = demand.first.getDefiningOp();
      if (op && isa<ReduceOp, ContractOp>(op)) llvm::append_range(together, axesOf(op));
      addConflicts(together);
      if (auto read = dyn_cast_or_null<ReadOp>(op); read && !forwarded(read, demand.second))
        touches.push_back({read.getView(), viewCoordinates(read.getIndices(), demand.second)});
      if (auto loop = dyn_cast_or_null<ForOp>(op)) {
        auto result = cast<OpResult>(demand.first).getResultNumber();
        for (auto [id, at] : llvm::zip(carryAxes(loop, result), demand.second))
          if (at->kind == Index::Axis) carried.emplace_back(id, at->axis);
      }
      if (auto argument = dyn_cast<BlockArgument>(demand.first); argument && argument.getArgNumber() > 0)
        if (auto loop = dyn_cast<ForOp>(argument.getOwner()->getParentOp()))
          for (auto [id, at] : llvm::zip(carryAxes(loop, argument.getArgNumber() - 1), demand.second))
            if (at->kind == Index::Axis) carried.emplace_back(id, at->axis);
    }
  for (auto pair : carried)
    unify(pair);
  for (size_t i = 0; i < touches.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      if (touches[i].view != touches[j].view) continue;
      SmallVector<std::pair<AxisId, AxisId>> pairs;
      bool same = true;
      for (auto [a, b] : llvm::zip_equal(touches[i].at, touches[j].at)) {
        if (a == b) continue;
        if (std::optional<std::pair<AxisId, AxisId>> pair = samePace(a, b)) pairs.push_back(*pair);
        else same = false;
      }
      if (same) unify(pairs);
    }
}

LogicalResult Facts::analyse() {
  createAxes();
  if (failed(collectEffects(kernel.getBody().front(), {}, {}, nullptr)) || failed(findVersions())) return failure();
  for (auto &effect : effects)
    collectRoots(*effect);
  formClasses();
  forget(); // demands speak of classes from here on
  for (auto &effect : effects)
    collectRoots(*effect);
  return success();
}

//===- bounds ------------------------------------------------------------------------------------------===//

bool Facts::isLaunchVisible(ExtentAttr extent) const {
  return llvm::none_of(extent.getAtoms(), [](StringAttr atom) { return atom.getValue().starts_with("?"); });
}

// Extents are never negative, so a polynomial of them with no negative coefficient is not either.
static bool nonNegative(ExtentAttr extent) {
  for (auto [coefficient, monomial] : llvm::zip_equal(extent.getCoefficients(), extent.getMonomials())) {
    if (coefficient < 0) return false;
    for (Attribute atom : monomial)
      if (!cast<StringAttr>(atom).getValue().starts_with("?") && !cast<StringAttr>(atom).getValue().starts_with("%")) continue;
      else return false;
  }
  return true;
}

// Exact bounds (inclusive) of an index as polynomials, where its form gives them; assumes non-empty axes.
std::optional<std::pair<ExtentAttr, ExtentAttr>> Facts::bounds(const Index *node) {
  MLIRContext *context = index.context;
  auto constant = [&](int64_t value) { return ExtentAttr::constant(context, value); };
  switch (node->kind) {
  case Index::Constant: return std::pair(constant(node->constant), constant(node->constant));
  case Index::Extent: {
    ExtentAttr atom = ExtentAttr::atom(context, cast<StringAttr>(node->extent).getValue());
    return std::pair(atom, atom);
  }
  case Index::Axis: return std::pair(constant(0), axes[node->axis].extent - constant(1));
  case Index::Product: {
    ExtentAttr low = constant(1), high = low;
    for (const Index *factor : node->operands) {
      auto b = bounds(factor);
      if (!b || !nonNegative(b->first)) return std::nullopt;
      low = low * b->first;
      high = high * b->second;
    }
    return std::pair(low, high);
  }
  case Index::Mod: {
    auto divisor = bounds(node->operands[1]);
    if (!divisor || divisor->first != divisor->second) return std::nullopt;
    return std::pair(constant(0), divisor->first - constant(1));
  }
  case Index::Linear: {
    ExtentAttr low = constant(node->constant), high = low;
    for (auto [term, coefficient] : llvm::zip_equal(node->operands, node->coefficients)) {
      auto b = bounds(term);
      if (!b) return std::nullopt;
      low = low + (coefficient > 0 ? b->first : b->second) * constant(coefficient);
      high = high + (coefficient > 0 ? b->second : b->first) * constant(coefficient);
    }
    return std::pair(low, high);
  }
  default: return std::nullopt;
  }
}

bool Facts::isNonNegative(const Index *node) {
  auto b = bounds(node);
  return b && nonNegative(b->first);
}

bool Facts::areDisjoint(ArrayRef<const Index *> a, ArrayRef<const Index *> b) {
  ExtentAttr one = ExtentAttr::constant(index.context, 1);
  for (auto [x, y] : llvm::zip_equal(a, b)) {
    auto first = bounds(x), second = bounds(y);
    if (first && second && (nonNegative(second->first - first->second - one) || nonNegative(first->first - second->second - one)))
      return true;
  }
  return false;
}

bool Facts::isWithin(const Index *coordinate, ExtentAttr extent) {
  auto b = bounds(coordinate);
  return b && nonNegative(b->first) && nonNegative(extent - ExtentAttr::constant(index.context, 1) - b->second);
}

} // namespace intent::conversion
