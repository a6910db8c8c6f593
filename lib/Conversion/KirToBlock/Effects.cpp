// Effects: the stores and atomic accesses of a group, in traversals of what they leave unbound.
#include "Construct.h"

#include "GroupFacts.h"
#include "Groups.h"
#include "Snapshots.h"

using namespace mlir;
using namespace intent::block;

namespace intent::conversion {

//===- stores ------------------------------------------------------------------------------------------===//

SmallVector<AxisId> Construction::unboundAxes(Effect *effect) {
  SmallVector<AxisId> unbound;
  auto add = [&](AxisId id) {
    id = facts.find(id);
    if (!lookup(id) && !llvm::is_contained(unbound, id)) unbound.push_back(id);
  };
  for (AxisId id : effect->parallel)
    add(id);
  if (!effect->isLeaf()) return unbound; // a loop's leaves open their own
  for (AxisId id : facts.axesOf(effect->op))
    add(id);
  return unbound;
}

// Leaves of one traversal. All values come first: a store may overwrite what another reads. An atomic access happens in
// between, since values may depend on its result.
LogicalResult Construction::perform(ArrayRef<Effect *> batch) {
  struct Pending {
    Effect *effect;
    Real value;
    Accessed at;
  };
  SmallVector<Pending, 0> stores;
  auto flush = [&]() -> LogicalResult {
    FenceSite site;
    bool fenced = false;
    for (Pending &p : stores)
      fenced |= needsFence(p.effect, site.accesses.emplace_back().second);
    if (fenced) FenceOp::create(builder, batch[0]->op->getLoc());
    auto meet = [&](const Pending &a, const Pending &b) {
      return a.effect != b.effect && viewOf(a.effect->op) == viewOf(b.effect->op) && !commute(a.effect->op, b.effect->op) &&
             !facts.areDisjoint(facts.effectCoordinates(a.effect->op), facts.effectCoordinates(b.effect->op));
    };
    for (auto [i, p] : llvm::enumerate(stores)) {
      Operation *op = p.effect->op;
      auto &place = site.accesses[i];
      if (llvm::any_of(ArrayRef(stores).take_front(i), [&](const Pending &earlier) { return meet(earlier, p); }))
        FenceOp::create(builder, op->getLoc()); // what it replaces, other lanes have stored
      Value value = align(p.value, p.at.axes, op->getLoc()), memory = memoryOf(viewOf(op));
      ArrayAttr coordinateAxes = alignment(p.at.coordinates, p.at.axes), validAxes = alignment(p.at.valid, p.at.axes);
      auto scatter = dyn_cast<kir::ScatterReduceOp>(op);
      if (scatter && holdsLoops(scatter.getCombine())) {
        FailureOr<Operation *> exchanged = exchangeCombined(scatter, value, p.at);
        if (failed(exchanged)) return failure();
        place.first = *exchanged;
        continue;
      }
      if (scatter) {
        auto combined = ScatterReduceOp::create(builder, op->getLoc(), value, memory, valuesOf(p.at.coordinates), valuesOf(p.at.valid),
                                                coordinateAxes, validAxes);
        place.first = combined;
        placeIn(combined, op);
        FailureOr<Captured> captured = capturedBy(scatter.getCombine(), {}, {});
        if (failed(captured)) return failure();
        Type type = elementType(value.getType());
        Real element = constant(zeroConstant(type), op->getLoc());
        if (failed(fillCombine(combined.getCombine(), scatter.getCombine(), {element}, *captured, op->getLoc()))) return failure();
        continue;
      }
      place.first = StoreOp::create(builder, op->getLoc(), value, memory, valuesOf(p.at.coordinates), valuesOf(p.at.valid), coordinateAxes,
                                    validAxes);
      placeIn(place.first, op);
      if (op->hasAttr(unwritesAttributeName)) place.first->setAttr(unwritesAttributeName, builder.getUnitAttr());
      if (facts.checked && cast<kir::WriteOp>(op).getUnique()) place.first->setAttr(uniqueAttributeName, builder.getUnitAttr());
    }
    if (!fenced && !stores.empty()) fenceSites.push_back(site);
    if (llvm::any_of(stores, [&](Pending &p) { return isReadLater(p.effect); })) FenceOp::create(builder, batch[0]->op->getLoc());
    stores.clear();
    return success();
  };
  for (Effect *effect : batch) {
    if (isa<kir::RequireOp>(effect->op)) {
      if (failed(performRequire(effect))) return failure();
      continue;
    }
    if (!isa<kir::WriteOp, kir::ScatterReduceOp>(effect->op)) {
      if (failed(flush()) || failed(performAtomic(effect))) return failure();
      continue;
    }
    for (const Coordinates &place : facts.placesOf(effect)) {
      FailureOr<Reals> values = operandsOf(effect, place);
      if (failed(values)) return failure();
      FailureOr<Accessed> accessed = activeAccess(effect, place, *values);
      if (failed(accessed)) return failure();
      Real value = values->front();
      if (auto added = sums.find(effect); added != sums.end()) {
        FailureOr<Real> total = takeSum(added->second.first, added->second.second, value, *accessed, effect->op->getLoc());
        if (failed(total)) return failure();
        value = *total;
      }
      stores.push_back({effect, value, *accessed});
    }
  }
  return flush();
}

FailureOr<Construction::Reals> Construction::operandsOf(Effect *effect, ArrayRef<const Index *> place) {
  Reals reals;
  for (Value value : valuesOf(effect->op)) {
    FailureOr<Real> real = realise({value, isa<kir::KirTensorType>(value.getType()) ? Coordinates(place) : Coordinates()});
    if (failed(real)) return failure();
    reals.push_back(*real);
  }
  return reals;
}

// An effect's access at one of its places, where the `if`s and loops around it let it happen. It happens once for each point of
// its axes.
FailureOr<Construction::Accessed> Construction::activeAccess(Effect *effect, ArrayRef<const Index *> place, ArrayRef<Real> values) {
  Location loc = effect->op->getLoc();
  Reals others(values);
  FailureOr<Real> holds = conjunction(effect->conditions, loc);
  if (failed(holds)) return failure();
  Reals active;
  if (!effect->conditions.empty()) active.push_back(*holds);
  if (std::optional<Real> running = activity()) active.push_back(*running);
  if (!effect->image.empty()) {
    FailureOr<Real> first = comesFirst(effect, place == ArrayRef(facts.ownCoordinates(effect->op)), loc);
    if (failed(first)) return failure();
    active.push_back(*first);
  }
  llvm::append_range(others, active);
  AxisSet axes(facts.axesOf(effect));
  for (AxisId id : axes) { // even where nothing about it varies
    FailureOr<Real> at = realiseIndex(facts.position(id), loc);
    if (failed(at)) return failure();
    if (isa<kir::WriteOp, kir::RequireOp>(effect->op)) continue;
    others.push_back(*at);
  }
  FailureOr<Accessed> accessed = access(viewOf(effect->op), facts.effectCoordinates(effect->op, place), &axes, others, loc);
  if (failed(accessed)) return failure();
  llvm::append_range(accessed->valid, active);
  return accessed;
}

Value Construction::sameBits(Value a, Value b, Location loc) {
  auto bits = [&](Value v) -> Value {
    auto number = dyn_cast<FloatType>(elementType(v.getType()));
    if (!number) return v;
    return BitcastOp::create(builder, loc, withElement(v.getType(), builder.getIntegerType(number.getWidth())), v);
  };
  Type flags = withElement(a.getType(), builder.getI1Type());
  return CompareOp::create(builder, loc, flags, ComparePredicate::Eq, bits(a), bits(b));
}

// Each lane exchanges what its element holds for the combination with its value, until nobody came in between. What that is an
// exchange finds, too: threads that share a lane might load different values, and part in the loop.
FailureOr<Operation *> Construction::exchangeCombined(kir::ScatterReduceOp op, Value value, const Accessed &at) {
  Location loc = op.getLoc();
  FailureOr<Captured> captured = capturedBy(op.getCombine(), {}, {});
  if (failed(captured)) return failure();
  auto whole = [&](Value v) { return over(v, at.axes); };
  auto exchange = [&](Value expected, Value desired, ArrayRef<Real> valid) -> Value {
    auto made =
        CompareExchangeOp::create(builder, loc, MemoryOrder::Relaxed, expected, desired, memoryOf(op.getView()), valuesOf(at.coordinates),
                                  valuesOf(valid), alignment(at.coordinates, at.axes), alignment(valid, at.axes));
    placeIn(made, op);
    return made;
  };
  Real active = constant(builder.getBoolAttr(true), loc);
  for (const Real &valid : at.valid)
    active = binary(BinaryKind::And, active, valid, loc);
  Value zero = align(constant(zeroConstant(elementType(value.getType())), loc), at.axes, loc);
  Real held = whole(exchange(zero, zero, at.valid));
  Operation *first = held.value.getDefiningOp();
  Combining combining;
  combining.active = active;
  auto goesOn = [&](ArrayRef<Real> carried) -> FailureOr<Real> {
    return whole(UnaryOp::create(builder, loc, carried[1].value.getType(), UnaryKind::Not, carried[1].value, false, false));
  };
  auto next = [&](ArrayRef<Real> carried) -> FailureOr<Reals> {
    Real storing = *combining.active;
    FailureOr<Reals> combined = combine(op.getCombine(), {carried[0], whole(value)}, *captured, storing);
    if (failed(combined)) return failure();
    Value found = exchange(carried[0].value, align(combined->front(), at.axes, loc), {storing});
    return Reals{whole(found), whole(sameBits(found, carried[0].value, loc))};
  };
  Reals results;
  if (failed(combineLoop({held, whole(align(constant(builder.getBoolAttr(false), loc), at.axes, loc))}, combining, goesOn, next, results,
                         loc)))
    return failure();
  return first;
}

LogicalResult Construction::performRequire(Effect *effect) {
  auto require = cast<kir::RequireOp>(effect->op);
  Location loc = require.getLoc();
  Coordinates place = facts.ownCoordinates(require);
  FailureOr<Reals> values = operandsOf(effect, place);
  if (failed(values)) return failure();
  FailureOr<Accessed> at = activeAccess(effect, place, *values);
  if (failed(at)) return failure();
  if (require.getValid()) at->valid.push_back(values->back());
  auto aligned = [&](unsigned i) { return align((*values)[i], at->axes, loc); };
  RequireOp::create(builder, loc, aligned(0), aligned(1), aligned(2), valuesOf(at->valid), require.getWhat(),
                    alignment(at->valid, at->axes));
  return success();
}

LogicalResult Construction::performAtomic(Effect *effect) {
  Operation *op = effect->op;
  Location loc = op->getLoc();
  Coordinates place = facts.ownCoordinates(op);
  FailureOr<Reals> values = operandsOf(effect, place);
  if (failed(values)) return failure();
  FailureOr<Accessed> at = activeAccess(effect, place, *values);
  if (failed(at)) return failure();
  Value memory = memoryOf(viewOf(op));
  ArrayAttr coordinateAxes = alignment(at->coordinates, at->axes), validAxes = alignment(at->valid, at->axes);
  FenceSite site;
  bool fenced = needsFence(effect, site.accesses.emplace_back().second);
  if (fenced) FenceOp::create(builder, loc);
  auto finish = [&](Operation *access) {
    site.accesses.front().first = access;
    placeIn(access, op);
    if (!fenced) fenceSites.push_back(site);
    if (isReadLater(effect)) FenceOp::create(builder, loc);
    return success();
  };
  auto know = [&](Value result, Value value) {
    Demand demand(result, place);
    scopeOf(facts.freeAxes(demand))->memo[demand] = over(value, at->axes);
  };
  if (auto exchange = dyn_cast<kir::CompareExchangeOp>(op)) {
    Value expected = align((*values)[0], at->axes, loc), desired = align((*values)[1], at->axes, loc);
    Value old = CompareExchangeOp::create(builder, loc, exchange.getOrder(), expected, desired, memory, valuesOf(at->coordinates),
                                          valuesOf(at->valid), coordinateAxes, validAxes);
    know(exchange.getOld(), old);
    know(exchange.getSuccess(), sameBits(old, expected, loc));
    return finish(old.getDefiningOp());
  }
  auto atomic = cast<kir::AtomicOp>(op);
  Real value;
  Type element = kir::elementType(viewOf(op).getType());
  value = values->empty() ? constant(zeroConstant(element), loc) : values->front();
  Value operand = align(value, at->axes, loc);
  Value old = AtomicOp::create(builder, loc, operand.getType(), atomic.getKind(), atomic.getOrder(), operand, memory,
                               valuesOf(at->coordinates), valuesOf(at->valid), coordinateAxes, validAxes);
  if (atomic.getOld()) know(atomic.getOld(), old);
  return finish(old.getDefiningOp());
}

// Leaves of one traversal, and the reductions that walk the same classes without being needed by them.
LogicalResult Construction::storeAll(ArrayRef<Effect *> batch, ArrayRef<AxisId> unbound) {
  SmallVector<Demand> reductions, roots;
  for (const Demand &demand : needed.order) {
    if (unbound.empty() || !canJoin(demand, unbound, reductions)) continue;
    auto precedes = [&](Effect *effect) { return facts.demandsOf(effect).seen.count(demand) != 0; };
    bool afterStore = llvm::any_of(batch, [&](Effect *effect) { return readsView(demand, viewOf(effect->op)); });
    if (llvm::none_of(batch, precedes) && !afterStore && isFirstTraversal(demand, unbound)) reductions.push_back(demand);
  }
  for (Effect *effect : batch)
    llvm::append_range(roots, effect->roots);
  if (failed(keepReplaced(batch, unbound)) || failed(keepReplayed(batch, unbound))) return failure();
  return traverse(reductions, unbound, roots, [&] { return perform(batch); }, batch[0]->op->getLoc());
}

// What one chunk of a traversal stores, a later chunk may still have to read: that is read before the traversal.
LogicalResult Construction::keepReplaced(ArrayRef<Effect *> batch, ArrayRef<AxisId> unbound) {
  SmallVector<AxisId> loops = loopsOver(unbound);
  if (loops.empty()) return success();
  for (Effect *reader : batch) {
    DemandSet seen;
    SmallVector<Demand> stack(llvm::reverse(reader->roots));
    while (!stack.empty()) {
      Demand demand = stack.pop_back_val();
      const AxisSet &free = facts.freeAxes(demand);
      if (allBound(free) || !seen.insert(demand)) continue; // it is there before
      llvm::append_range(stack, llvm::reverse(facts.children(demand)));
      auto read = demand.first.getDefiningOp<kir::ReadOp>();
      if (!read || !facts.isVolatile(read) || facts.forwarded(read, demand.second)) continue;
      Access access = facts.accessOf(demand, reader);
      AxisSet whole; // the chunks that the read's members may meet in; none where each chunk reads all of them
      for (AxisId id : free)
        if (llvm::is_contained(loops, id)) whole.push_back(id);
      bool replaced = llvm::any_of(batch, [&](Effect *writer) {
        Access write{writer->op, viewOf(writer->op), facts.effectCoordinates(writer->op), true, writer};
        auto isOne = [&](AxisId id) { return shareOnePosition(read, writer->op, id); };
        if (write.view != access.view || facts.order(read) > facts.order(writer->op) ||
            facts.areDisjoint(write.coordinates, access.coordinates, isOne))
          return false;
        return llvm::any_of(loops, [&](AxisId id) {
          return !areIterations(facts, reader->op, writer->op, id) && !meetOnlyInOnePair(facts, access, write) &&
                 !meetOnlyAtOnePosition(facts, access, write, id, isOne);
        });
      });
      if (!replaced) continue;
      if (!canWalk(demand)) return keepWholeRead(read, batch[0]);
      SmallVector<AxisId> classes;
      if (failed(keep(demand, whole, classes))) return failure();
    }
  }
  return success();
}

// A value can be there before a traversal: none of the classes that it varies over belongs to passes that are still to come, or is as
// long as a position says that is still to come.
bool Construction::canWalk(const Demand &demand) {
  const AxisSet &classes = facts.freeAxes(demand);
  return llvm::all_of(classes, [&](AxisId id) {
    if (lookup(id)) return true;
    auto isThere = [&](AxisId other) { return lookup(other) || llvm::is_contained(classes, other); };
    if (!llvm::all_of(facts.freeAxes(facts.index.extent(facts.axis(id).extent)), isThere)) return false;
    auto cover = group.covers.find(id);
    bool walked = cover != group.covers.end() && !cover->second.slice && facts.axis(id).kind != Axis::Ordered && !facts.isPass(id);
    return walked && workspaceExtent(id, demand);
  });
}

// All that is read goes to a buffer where it is read, in another formation.
LogicalResult Construction::keepWholeRead(kir::ReadOp read, Effect *by) {
  if (!canKeep(facts, read.getResult())) return emitReplaced(read, by->op);
  facts.late.insert(read.getResult());
  return failure();
}

// The first read below a value whose elements the batch replaces.
kir::ReadOp Construction::replacedBelow(const Demand &demand, ArrayRef<Effect *> batch) {
  DemandSet seen;
  facts.reach(demand, seen);
  for (const Demand &d : seen.order)
    if (isWritten(d, batch, /*later=*/true)) return d.first.getDefiningOp<kir::ReadOp>();
  return nullptr;
}

// A reduction is done once, not again in each pass of a loop that it does not vary over: where it needs a loop inside that one,
// it is done before both. It has to be where it reads what earlier passes would have replaced.
LogicalResult Construction::keepReplayed(ArrayRef<Effect *> batch, ArrayRef<AxisId> unbound) {
  SmallVector<AxisId> loops = loopsOver(unbound);
  if (loops.empty() || handed) return success();
  DemandSet seen;
  SmallVector<Demand> stack;
  for (Effect *effect : batch)
    llvm::append_range(stack, effect->roots);
  while (!stack.empty()) {
    Demand demand = stack.pop_back_val();
    if (!seen.insert(demand)) continue;
    Operation *op = demand.first.getDefiningOp();
    bool reduction = op && isReduction(op), finished = reduction || (op && Carries::has(op) && !isEffect(op) && !facts.isRunning(demand));
    const AxisSet &free = facts.freeAxes(demand);
    auto place = [&](AxisId id) { return llvm::find(loops, id) - loops.begin(); }; // behind all for what is walked inside
    auto again = [&](AxisId loop) {
      return !llvm::is_contained(free, loop) && llvm::any_of(free, [&](AxisId id) { return !lookup(id) && place(id) > place(loop); });
    };
    bool replayed = finished && llvm::any_of(loops, again);
    kir::ReadOp replaced = replayed ? replacedBelow(demand, batch) : nullptr;
    bool keepable = reduction && canWalk(demand);
    if (replaced && !keepable) return keepWholeRead(replaced, batch[0]);
    bool cheap = llvm::none_of(loops, [&](AxisId id) { return again(id) && !isPointExtent(facts, id); });
    if (!keepable || !replayed || (!replaced && (cheap || awaitsEffects(demand)))) {
      llvm::append_range(stack, facts.children(demand));
      continue;
    }
    AxisSet whole;
    llvm::copy_if(free, std::back_inserter(whole), [&](AxisId id) { return !lookup(id); });
    SmallVector<AxisId> classes;
    if (failed(keep(demand, whole, classes))) return failure();
  }
  return success();
}

bool Construction::readsView(const Demand &demand, Value view) {
  DemandSet seen;
  facts.reach(demand, seen);
  return llvm::any_of(seen.order, [&](const Demand &d) {
    auto read = d.first.getDefiningOp<kir::ReadOp>();
    return read && read.getView() == view;
  });
}

// Nothing below the reduction waits for another traversal of these classes.
bool Construction::isFirstTraversal(const Demand &demand, ArrayRef<AxisId> classes) {
  return llvm::all_of(classes, [&](AxisId id) { return facts.depth(demand, id) == 1; });
}

} // namespace intent::conversion
