// Demands: how a value at coordinates follows from other values at composed coordinates.
#include "Facts.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace intent::kir;

namespace intent::conversion {

const Index *Facts::coordinate(AxisId id) { return index.add(axes[id].start, index.mul(axes[id].step, position(id))); }

Facts::DomainInfo Facts::domainOf(Value domain) {
  if (auto op = domain.getDefiningOp<DomainOp>()) return {indexOf(op.getStart()), indexOf(op.getStep())};
  auto sub = domain.getDefiningOp<SubregionOp>();
  return {indexOf(sub.getBegin()), domainOf(sub.getSource()).step};
}

static Coordinates operandCoordinates(Value operand, ArrayRef<const Index *> coordinates) {
  return isa<KirTensorType>(operand.getType()) ? Coordinates(coordinates.begin(), coordinates.end()) : Coordinates();
}

// The coordinates at which a broadcast's operand is demanded.
static Coordinates throughBroadcast(BroadcastOp op, ArrayRef<const Index *> coordinates, IndexContext &index) {
  Coordinates result;
  for (auto [extent, axis] : llvm::zip_equal(shapeOf(op.getValue().getType()), op.getAxes()))
    result.push_back(extent.getConstant() == 1 ? index.constant(0) : coordinates[axis]);
  return result;
}

static Coordinates throughTranspose(TransposeOp op, ArrayRef<const Index *> coordinates) {
  Coordinates result(coordinates.size());
  for (auto [i, axis] : llvm::enumerate(op.getPermutation()))
    result[axis] = coordinates[i];
  return result;
}

// Row-major position in the result's shape, taken apart again in the operand's shape.
static Coordinates throughReshape(ReshapeOp op, ArrayRef<const Index *> coordinates, IndexContext &index) {
  ArrayRef<ExtentAttr> to = op.getResult().getType().getShape(), from = op.getValue().getType().getShape();
  // Equal leading and trailing axes need no arithmetic.
  size_t head = 0, tail = 0;
  while (head < to.size() && head < from.size() && to[head] == from[head])
    ++head;
  while (tail < to.size() - head && tail < from.size() - head && to[to.size() - 1 - tail] == from[from.size() - 1 - tail])
    ++tail;
  const Index *flat = index.constant(0);
  for (size_t i = head; i < to.size() - tail; ++i)
    flat = index.add(index.mul(flat, index.extent(to[i])), coordinates[i]);
  Coordinates result(from.size());
  for (size_t i = 0; i < head; ++i)
    result[i] = coordinates[i];
  for (size_t i = 0; i < tail; ++i)
    result[from.size() - 1 - i] = coordinates[to.size() - 1 - i];
  for (size_t i = from.size() - tail; i-- > head;) {
    const Index *extent = index.extent(from[i]);
    result[i] = i == head ? flat : index.mod(flat, extent);
    if (i != head) flat = index.floorDiv(flat, extent);
  }
  return result;
}

const Index *Facts::indexOf(Value value, ArrayRef<const Index *> coordinates) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (isa<ParallelOp>(parent)) return coordinate(axesOf(parent)[argument.getArgNumber()]);
    if (isa<ForOp>(parent) && argument.getArgNumber() == 0) return coordinate(axesOf(parent)[0]);
    if (std::optional<Demand> source = argumentDemand(argument, coordinates)) return indexOf(source->first, source->second);
    return index.leaf(value, coordinates);
  }
  Operation *op = value.getDefiningOp();
  auto operand = [&](Value v) { return indexOf(v, operandCoordinates(v, coordinates)); };
  if (auto constant = dyn_cast<ConstantOp>(op)) return index.constant(cast<IntegerAttr>(constant.getValue()).getInt());
  if (auto extent = dyn_cast<ExtentOp>(op)) return index.extent(extent.getExtent());
  if (auto indices = dyn_cast<IndicesOp>(op)) {
    DomainInfo domain = domainOf(indices.getDomain());
    return index.add(domain.start, index.mul(domain.step, coordinates[0]));
  }
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) return indexOf(broadcast.getValue(), throughBroadcast(broadcast, coordinates, index));
  if (auto transpose = dyn_cast<TransposeOp>(op)) return indexOf(transpose.getValue(), throughTranspose(transpose, coordinates));
  if (auto reshape = dyn_cast<ReshapeOp>(op)) return indexOf(reshape.getValue(), throughReshape(reshape, coordinates, index));
  if (auto extract = dyn_cast<ExtractOp>(op)) return indexOf(extract.getSource(), viewCoordinates(extract.getIndices(), coordinates));
  if (auto unary = dyn_cast<UnaryOp>(op); unary && unary.getKind() == UnaryKind::Neg)
    return index.sub(index.constant(0), operand(unary.getValue()));
  if (auto binary = dyn_cast<BinaryOp>(op)) {
    switch (binary.getKind()) {
    case BinaryKind::Add: return index.add(operand(binary.getLhs()), operand(binary.getRhs()));
    case BinaryKind::Sub: return index.sub(operand(binary.getLhs()), operand(binary.getRhs()));
    case BinaryKind::Mul: return index.mul(operand(binary.getLhs()), operand(binary.getRhs()));
    case BinaryKind::FloorDiv: return index.floorDiv(operand(binary.getLhs()), operand(binary.getRhs()));
    case BinaryKind::Mod: return index.mod(operand(binary.getLhs()), operand(binary.getRhs()));
    default: break;
    }
  }
  if (auto castOp = dyn_cast<CastOp>(op); castOp && elementType(castOp.getValue().getType()).isIndex()) return operand(castOp.getValue());
  return index.leaf(value, coordinates);
}

Coordinates Facts::viewCoordinates(ValueRange indices, ArrayRef<const Index *> coordinates) {
  Coordinates result;
  size_t next = 0;
  std::optional<size_t> joint;
  for (Value item : indices) {
    if (isa<DomainType>(item.getType())) {
      DomainInfo domain = domainOf(item);
      result.push_back(index.add(domain.start, index.mul(domain.step, coordinates[next++])));
      continue;
    }
    Coordinates at;
    if (auto tensor = dyn_cast<KirTensorType>(item.getType())) {
      size_t rank = tensor.getShape().size();
      if (!joint) {
        joint = next;
        next += rank;
      }
      at.assign(coordinates.begin() + *joint, coordinates.begin() + *joint + rank);
    }
    result.push_back(elementType(item.getType()).isIndex() ? indexOf(item, at) : index.leaf(item, at));
  }
  return result;
}

Coordinates Facts::effectCoordinates(Operation *op) { return effectCoordinates(op, ownCoordinates(op)); }

Coordinates Facts::effectCoordinates(Operation *op, ArrayRef<const Index *> positions) { return viewCoordinates(indicesOf(op), positions); }

Access Facts::accessOf(const Demand &demand, Effect *effect) {
  auto read = demand.first.getDefiningOp<ReadOp>();
  return {read, read.getView(), viewCoordinates(read.getIndices(), demand.second), false, effect};
}

std::optional<Demand> Facts::argumentDemand(BlockArgument argument, ArrayRef<const Index *> coordinates) {
  Operation *parent = argument.getOwner()->getParentOp();
  Region *region = argument.getOwner()->getParent();
  unsigned i = argument.getArgNumber();
  auto whole = [&](Value v) { return Demand(v, operandCoordinates(v, coordinates)); };
  auto slice = [&](Value source, uint64_t axis) {
    Coordinates at(coordinates.begin(), coordinates.end());
    at[axis] = index.add(at[axis], position(axesOf(parent)[1]));
    return Demand(source, at);
  };
  auto yielded = [&](Region &from, unsigned number) { return whole(from.front().getTerminator()->getOperand(number)); };
  if (auto loop = dyn_cast<WhileOp>(parent))
    return region == &loop.getCondition() ? std::optional(whole(loop.getBody().getArgument(i))) : std::nullopt;
  if (auto fold = dyn_cast<RegionFoldOp>(parent)) {
    if (region == &fold.getSummarize()) return slice(fold.getSources()[i], fold.getAxis());
    unsigned count = fold.getIdentities().size();
    if (i < count) return std::nullopt;
    return region == &fold.getStep() ? slice(fold.getSources()[i - count], fold.getAxis()) : yielded(fold.getSummarize(), i - count);
  }
  if (auto scan = dyn_cast<RegionScanOp>(parent)) {
    unsigned sources = scan.getSources().size(), count = scan.getIdentities().size();
    if (region == &scan.getSummarize() || (region == &scan.getEmit() && i < sources)) return slice(scan.getSources()[i], scan.getAxis());
    if (region == &scan.getEmit()) return whole(Carries(parent).argument(i - sources));
    if (region == &scan.getApply() && i < count) return yielded(scan.getSummarize(), i);
  }
  return std::nullopt;
}

// An exclusive scan is the inclusive one of its operand one member back.
Coordinates Facts::scannedCoordinates(ScanOp op, ArrayRef<const Index *> result) {
  Coordinates at(result.begin(), result.end());
  at[op.getAxis()] = position(axesOf(op)[0]);
  if (op.getExclusive()) at[op.getAxis()] = index.add(at[op.getAxis()], index.constant(op.getReverse() ? 1 : -1));
  return at;
}

ArrayRef<AxisId> Facts::privateAxes(Value view) {
  Operation *buffer = view ? view.getDefiningOp() : nullptr;
  return buffer ? axesOf(buffer) : ArrayRef<AxisId>();
}

void Facts::forEachSlice(const Index *node, llvm::function_ref<void(Operation *)> visit) {
  if (node->kind == Index::Extent)
    if (Operation *owner = sliceOwner(cast<StringAttr>(node->extent).getValue())) visit(owner);
  for (const Index *operand : node->operands)
    forEachSlice(operand, visit);
}

void Facts::addLeaves(const Index *node, SmallVectorImpl<Demand> &out) {
  if (node->kind == Index::Leaf) {
    out.emplace_back(node->value, node->operands);
    return;
  }
  if (node->kind == Index::Extent) {
    if (Value atom = atomValue(cast<StringAttr>(node->extent).getValue())) out.emplace_back(atom, Coordinates());
    return;
  }
  for (const Index *operand : node->operands)
    addLeaves(operand, out);
}

SmallVector<Demand> Facts::expand(const Demand &demand) {
  auto [value, coordinates] = demand;
  SmallVector<Demand> out;
  auto pull = [&](Value v, ArrayRef<const Index *> at) { out.emplace_back(v, operandCoordinates(v, at)); };
  auto extents = [&](AxisId id) { // a structured operation's trip counts are values too
    addLeaves(index.extent(axes[id].extent), out);
    addLeaves(axes[id].start, out);
    addLeaves(axes[id].step, out);
  };
  if (elementType(value.getType()).isIndex()) {
    const Index *node = indexOf(value, coordinates);
    if (node->kind != Index::Leaf || node->value != value) {
      addLeaves(node, out);
      return out;
    }
  }
  if (auto argument = dyn_cast<BlockArgument>(value)) { // below parameters and carries there is nothing
    if (std::optional<Demand> source = argumentDemand(argument, coordinates)) out.push_back(*source);
    return out;
  }
  auto combineOperands = [&](Region &combine, ValueRange captures, ArrayRef<const Index *> kept) {
    for (Value v : captures)
      pull(v, kept);
    forEachCaptured(combine, [&](Value scalar) { pull(scalar, {}); });
  };
  Operation *op = value.getDefiningOp();
  llvm::TypeSwitch<Operation *>(op)
      .Case<ReadOp>([&](ReadOp read) {
        if (read.getValid()) pull(read.getValid(), coordinates);
        if (std::optional<Demand> stored = forwarded(read, coordinates)) {
          out.push_back(*stored);
          for (auto [at, extent] : unproven(read, coordinates))
            for (const Index *node : {at, index.extent(extent)})
              addLeaves(node, out);
        } else
          for (const Index *at : viewCoordinates(read.getIndices(), coordinates))
            addLeaves(at, out);
        if (!checked) return;
        for (const Condition &condition : conditionsAround(read))
          pull(condition.value, {});
        for (AxisId id : loopsAround(read))
          if (!isPass(id)) extents(id);
      })
      .Case<ExtractOp>([&](ExtractOp extract) {
        Coordinates at = viewCoordinates(extract.getIndices(), coordinates);
        for (const Index *c : at)
          addLeaves(c, out);
        pull(extract.getSource(), at);
      })
      .Case<UnaryOp, BinaryOp, CompareOp, FmaOp, SelectOp, CastOp, BitcastOp>([&](Operation *o) {
        for (Value operand : o->getOperands())
          pull(operand, coordinates);
      })
      .Case<BroadcastOp>([&](BroadcastOp o) { pull(o.getValue(), throughBroadcast(o, coordinates, index)); })
      .Case<TransposeOp>([&](TransposeOp o) { pull(o.getValue(), throughTranspose(o, coordinates)); })
      .Case<ReshapeOp>([&](ReshapeOp o) { pull(o.getValue(), throughReshape(o, coordinates, index)); })
      .Case<JoinOp>([&](JoinOp o) {
        pull(o.getLhs(), ArrayRef(coordinates).drop_back());
        pull(o.getRhs(), ArrayRef(coordinates).drop_back());
        addLeaves(coordinates.back(), out);
      })
      .Case<ReduceOp>([&](ReduceOp o) {
        Coordinates at = reducedCoordinates(o, coordinates);
        for (Value v : o.getValues())
          pull(v, at);
        for (Value v : o.getIdentities())
          pull(v, {});
        for (AxisId id : axesOf(o))
          extents(id);
        combineOperands(o.getCombine(), o.getCaptures(), coordinates);
      })
      .Case<ScanOp>([&](ScanOp o) {
        Coordinates at = scannedCoordinates(o, coordinates), kept(coordinates.begin(), coordinates.end());
        kept.erase(kept.begin() + o.getAxis());
        for (Value v : o.getValues())
          pull(v, at);
        for (Value v : o.getIdentities())
          pull(v, {});
        for (const Index *c : coordinates)
          addLeaves(c, out);
        extents(axesOf(o)[0]);
        combineOperands(o.getCombine(), o.getCaptures(), kept);
      })
      .Case<ContractOp>([&](ContractOp o) {
        auto [lhs, rhs] = contractCoordinates(o, coordinates);
        pull(o.getLhs(), lhs);
        pull(o.getRhs(), rhs);
        for (AxisId id : axesOf(o))
          extents(id);
      })
      .Case<ForOp, WhileOp, RegionFoldOp, RegionScanOp>([&](Operation *o) {
        if (isEffect(o)) return; // the effect pulls what it needs
        Carries loop(o);
        for (auto [i, init] : llvm::enumerate(loop.inits())) {
          pull(init, carryCoordinates(o, i));
          pull(loop.next(i), carryCoordinates(o, i));
        }
        if (auto repeat = dyn_cast<WhileOp>(o)) pull(repeat.getCondition().front().getTerminator()->getOperand(0), {});
        else extents(axesOf(o)[0]);
        if (isa<WhileOp>(o)) // one that is not reached must not run on
          for (const Condition &condition : conditionsAround(o))
            out.emplace_back(condition.value, Coordinates());
        for (const Index *c : coordinates)
          addLeaves(c, out);
        auto scan = dyn_cast<RegionScanOp>(o);
        if (!scan || loop.numberOf(value)) return;
        unsigned output = cast<OpResult>(value).getResultNumber();
        Coordinates at(coordinates);
        at[scan.getAxis()] = position(axesOf(o)[2 + output]);
        pull(scan.getEmit().front().getTerminator()->getOperand(output), at);
      })
      .Case<IfOp>([&](IfOp branch) {
        unsigned i = cast<OpResult>(value).getResultNumber();
        pull(branch.getCondition(), {});
        pull(branch.getThenRegion().front().getTerminator()->getOperand(i), coordinates);
        pull(branch.getElseRegion().front().getTerminator()->getOperand(i), coordinates);
      })
      .Default([](Operation *) {});
  return out;
}

SmallVector<AxisId> Facts::axesOf(const Effect *effect) const {
  SmallVector<AxisId> own(effect->parallel);
  llvm::append_range(own, axesOf(effect->op));
  for (AxisId &id : own)
    id = find(id);
  return own;
}

Coordinates Facts::reducedCoordinates(ReduceOp op, ArrayRef<const Index *> kept) {
  size_t rank = cast<KirTensorType>(op.getValues()[0].getType()).getShape().size();
  Coordinates at(rank, nullptr);
  for (auto [axis, id] : llvm::zip_equal(op.getAxes(), axesOf(op)))
    at[axis] = position(id);
  size_t next = 0;
  for (const Index *&slot : at)
    if (!slot) slot = kept[next++];
  return at;
}

std::pair<Coordinates, Coordinates> Facts::contractCoordinates(ContractOp op, ArrayRef<const Index *> result) {
  Coordinates lhs(op.getLhs().getType().getShape().size(), nullptr), rhs(op.getRhs().getType().getShape().size(), nullptr);
  for (auto [a, b, id] : llvm::zip_equal(op.getLhsReduce(), op.getRhsReduce(), axesOf(op)))
    lhs[a] = rhs[b] = position(id);
  size_t next = 0;
  for (const Index *&slot : lhs)
    if (!slot) slot = result[next++];
  for (auto [a, b] : llvm::zip_equal(op.getLhsBatch(), op.getRhsBatch()))
    rhs[b] = lhs[a];
  for (const Index *&slot : rhs)
    if (!slot) slot = result[next++];
  return {lhs, rhs};
}

ArrayRef<Demand> Facts::children(const Demand &demand) {
  auto it = childrenOf.find(demand);
  if (it == childrenOf.end()) it = childrenOf.emplace(demand, expand(demand)).first;
  return it->second;
}

const AxisSet &Facts::freeAxes(const Demand &demand) {
  auto it = freeOf.find(demand);
  if (it != freeOf.end()) return it->second;
  AxisSet free;
  auto own = [&](const Index *node) {
    forEachAxis(node, [&](AxisId id) { merge(free, find(id)); });
    forEachSlice(node, [&](Operation *owner) { merge(free, passClass(owner)); });
  };
  const auto &[value, coordinates] = demand;
  for (const Demand &child : children(demand))
    for (AxisId id : freeAxes(child))
      merge(free, id);
  Operation *op = value.getDefiningOp();
  if (elementType(value.getType()).isIndex()) own(indexOf(value, coordinates));
  auto forgetCarries = [&](Operation *loop) { // what carries vary over is what the result is read at
    for (unsigned i = 0; i < Carries(loop).size(); ++i)
      for (AxisId id : carryAxes(loop, i))
        llvm::erase(free, find(id));
  };
  auto ownAll = [&] { // what index values in the coordinates vary over too: a reduced or carried axis may be of the same class
    for (const Index *c : coordinates)
      for (AxisId id : freeAxes(c))
        merge(free, id);
  };
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (auto carry = Carries::of(argument)) {
      for (AxisId id : carriedOf[carry->first][carry->second])
        merge(free, id);
      merge(free, passClass(carry->first));
      ownAll();
    }
  } else if (auto read = dyn_cast<ReadOp>(op)) {
    if (forwarded(read, coordinates)) {
      for (auto [at, extent] : unproven(read, coordinates))
        for (const Index *node : {at, index.extent(extent)})
          own(node);
    } else {
      for (const Index *c : viewCoordinates(read.getIndices(), coordinates))
        own(c);
      if (auto it = versionLoops.find(read); it != versionLoops.end())
        for (Operation *loop : it->second)
          merge(free, passClass(loop));
      for (AxisId id : privateAxes(read.getView()))
        merge(free, find(id));
      for (Operation *loop : watched &&isVolatile(read) ? loopsOver(read) : SmallVector<Operation *>())
        if (isa<ParallelOp>(loop)) // each iteration reads for itself
          for (AxisId id : axesOf(loop))
            merge(free, find(id));
    }
    for (Operation *loop = read->getParentOp(); checked && loop; loop = loop->getParentOp())
      if (isa<WhileOp>(loop)) { // it happens in the lanes that run on, each of which stops for itself
        merge(free, passClass(loop));
        for (const AxisSet &lanes : carriedOf[loop])
          for (AxisId id : lanes)
            merge(free, id);
      }
  } else if (isa<ExtractOp, JoinOp>(op)) {
    ownAll();
  } else if (isEffect(op)) { // its result is there once per point of the loops around it
    for (AxisId id : loopsAround(op))
      merge(free, id);
    ownAll();
  } else if (isReduction(op) || Carries::has(op) || isa<ScanOp>(op)) {
    for (AxisId id : axesOf(op)) {
      own(axes[id].start);
      own(axes[id].step);
      own(index.extent(axes[id].extent));
    }
    for (AxisId id : axesOf(op))
      llvm::erase(free, find(id));
    if (Carries::has(op)) forgetCarries(op);
    ownAll();
  }
  return freeOf.emplace(demand, std::move(free)).first->second;
}

AxisSet Facts::freeAxes(const Index *node) {
  AxisSet free;
  SmallVector<Demand> leaves;
  addLeaves(node, leaves);
  forEachAxis(node, [&](AxisId id) { merge(free, find(id)); });
  forEachSlice(node, [&](Operation *owner) { merge(free, passClass(owner)); });
  for (const Demand &leaf : leaves)
    for (AxisId id : freeAxes(leaf))
      merge(free, id);
  return free;
}

unsigned Facts::depth(const Demand &demand, AxisId id) {
  auto &known = depthOf[demand];
  if (auto it = known.find(id); it != known.end()) return it->second;
  unsigned result = 0;
  for (const Demand &child : children(demand))
    result = std::max(result, depth(child, id));
  Operation *op = demand.first.getDefiningOp();
  bool finished = op && (isReduction(op) || isa<RegionFoldOp>(op) || (isa<RegionScanOp>(op) && Carries(op).numberOf(demand.first)) ||
                         (isRunning(demand) && !isInStep(demand)));
  if (finished && llvm::any_of(axesOf(op), [&](AxisId a) { return find(a) == id; })) ++result;
  return depthOf[demand][id] = result;
}

void Facts::reach(const Demand &root, DemandSet &seen) {
  SmallVector<Demand> stack{root};
  while (!stack.empty()) {
    Demand demand = stack.pop_back_val();
    if (!seen.insert(demand)) continue;
    for (const Demand &child : llvm::reverse(children(demand)))
      stack.push_back(child);
  }
}

SmallVector<std::pair<const Index *, ExtentAttr>> Facts::unproven(ReadOp read, ArrayRef<const Index *> coordinates) {
  SmallVector<std::pair<const Index *, ExtentAttr>> found;
  for (auto [at, extent] : llvm::zip_equal(viewCoordinates(read.getIndices(), coordinates), shapeOf(read.getView().getType())))
    if (!isWithin(at, extent)) found.emplace_back(at, extent);
  return found;
}

std::optional<Demand> Facts::forwarded(ReadOp read, ArrayRef<const Index *> coordinates) {
  WriteOp write = forwards.lookup(read);
  if (!write) return std::nullopt;
  Coordinates at = viewCoordinates(read.getIndices(), coordinates), stored;
  for (auto [item, c] : llvm::zip_equal(write.getIndices(), at))
    if (isa<DomainType>(item.getType())) stored.push_back(c);
  return Demand(write.getValue(), isa<KirTensorType>(write.getValue().getType()) ? stored : Coordinates());
}

} // namespace intent::conversion
