// Scans and region scans: in step with the loop that walks their axis, over complete lanes, or kept to be read elsewhere.
#include "Construct.h"

#include "Snapshots.h"

using namespace mlir;
using namespace intent::block;
using intent::kir::KirTensorType;
using intent::kir::RegionScanOp;

namespace intent::conversion {

//===- what a loop carries -----------------------------------------------------------------------------===//

// One prefix a scan and coordinates, one state a region scan.
static Demand runningKey(const Demand &demand) {
  Operation *op = demand.first.getDefiningOp();
  return {op->getResult(0), isa<kir::ScanOp>(op) ? demand.second : Coordinates()};
}

static bool isReverse(const Demand &demand) {
  auto scan = demand.first.getDefiningOp<kir::ScanOp>();
  return scan && scan.getReverse();
}

std::vector<Running> Construction::findRunning(ArrayRef<Demand> roots, SmallVectorImpl<AxisId> &loops, bool &descending) {
  std::vector<Running> running;
  if (loops.empty()) return running;
  // What varies over the loops is computed inside them, unless it is known here already.
  DemandSet reached, keys;
  SmallVector<Demand> stack(llvm::reverse(roots));
  while (!stack.empty()) {
    Demand demand = stack.pop_back_val();
    bool inside = llvm::any_of(facts.freeAxes(demand), [&](AxisId id) { return llvm::is_contained(loops, id); });
    bool known = false;
    for (Scope *scope = current; scope; scope = scope->parent)
      known |= scope->memo.count(demand) != 0;
    if (!inside || known || !reached.insert(demand)) continue;
    for (const Demand &child : llvm::reverse(facts.children(demand)))
      stack.push_back(child);
  }
  AxisId inner = ~0u;
  for (const Demand &demand : reached.order) {
    if (!facts.isRunning(demand) || !facts.isInStep(demand)) continue;
    AxisId id = facts.runningClass(demand.first.getDefiningOp());
    if (!llvm::is_contained(loops, id) || (inner != ~0u && id != inner)) continue;
    bool here = llvm::all_of(facts.freeAxes(demand), [&](AxisId a) { return lookup(a) || llvm::is_contained(loops, a); });
    if (!here || (inner != ~0u && isReverse(demand) != descending)) continue;
    inner = id;
    descending = isReverse(demand);
    if (keys.insert(runningKey(demand))) running.push_back({demand, {}, {}});
  }
  if (inner == ~0u) return running;
  llvm::erase(loops, inner);
  loops.push_back(inner);
  return running;
}

LogicalResult Construction::startRunning(std::vector<Running> &running, SmallVectorImpl<Value> &carries, Location loc) {
  for (Running &entry : running) {
    Operation *op = entry.demand.first.getDefiningOp();
    AxisId id = facts.runningClass(op);
    if (isa<kir::ScanOp>(op)) {
      FailureOr<Reals> identities = identityReals(cast<kir::ScanOp>(op).getIdentities(), loc);
      if (failed(identities)) return failure();
      AxisSet free(facts.freeAxes(entry.demand));
      llvm::erase(free, id);
      for (Real identity : *identities) {
        Real start;
        start.axes = laneAxes(free);
        start.value = align(identity, start.axes, loc);
        entry.before.push_back(start);
      }
    } else {
      Carries loop(op);
      SmallVector<SmallVector<AxisId, 4>> lanes = carryLanes(op);
      for (auto [i, init] : llvm::enumerate(loop.inits())) {
        FailureOr<Real> real = realise({init, isa<KirTensorType>(init.getType()) ? facts.carryCoordinates(op, i) : Coordinates()});
        if (failed(real)) return failure();
        Real start;
        start.axes = lanes[i];
        start.value = align(*real, start.axes, loc);
        entry.before.push_back(start);
      }
    }
    for (const Real &start : entry.before)
      carries.push_back(start.value);
  }
  return success();
}

void Construction::bindRunning(std::vector<Running> &running, ArrayRef<Value> carries) {
  for (Running &entry : running) {
    Operation *op = entry.demand.first.getDefiningOp();
    for (auto [i, real] : llvm::enumerate(entry.before)) {
      real.value = carries.front();
      carries = carries.drop_front();
      if (isa<RegionScanOp>(op)) current->memo[{Carries(op).argument(i), facts.carryCoordinates(op, i)}] = real;
    }
  }
  current->running = running;
}

LogicalResult Construction::stepRunning(SmallVectorImpl<Value> &yields, Location loc) {
  Scope *scope = current;
  for (size_t entry = 0; entry < scope->running.size(); ++entry) {
    Demand demand = scope->running[entry].demand;
    Operation *op = demand.first.getDefiningOp();
    if (isa<kir::ScanOp>(op)) {
      if (scope->running[entry].after.empty() && failed(realise(demand))) return failure();
    } else {
      Carries loop(op);
      for (unsigned i = 0; i < loop.size(); ++i) {
        FailureOr<Real> next =
            realise({loop.next(i), isa<KirTensorType>(loop.next(i).getType()) ? facts.carryCoordinates(op, i) : Coordinates()});
        if (failed(next)) return failure();
        if (std::optional<Real> on = reached(facts.runningClass(op), loc)) next = select(*on, *next, scope->running[entry].before[i], loc);
        scope->running[entry].after.push_back(*next);
      }
    }
    for (auto [next, carried] : llvm::zip_equal(scope->running[entry].after, scope->running[entry].before))
      yields.push_back(align(next, carried.axes, loc));
  }
  return success();
}

void Construction::finishRunning(Scope *scope, ArrayRef<Value> values) {
  for (Running &entry : scope->running)
    for (auto [i, carried] : llvm::enumerate(entry.before)) {
      Real real = carried;
      real.value = values.front();
      values = values.drop_front();
      Operation *op = entry.demand.first.getDefiningOp();
      if (isa<RegionScanOp>(op)) scope->parent->memo[{Carries(op).result(i), facts.carryCoordinates(op, i)}] = real;
    }
}

Running *Construction::findCarried(const Demand &demand) {
  Demand key = runningKey(demand);
  for (Scope *scope = current; scope; scope = scope->parent) {
    for (Running &entry : scope->running)
      if (runningKey(entry.demand) == key) return &entry;
    // A loop inside that walks what the scan varies over asks for other members than the one in step.
    if (llvm::any_of(facts.freeAxes(demand), [&](AxisId id) { return scope->bindings.count(id); })) return nullptr;
  }
  return nullptr;
}

//===- scans -------------------------------------------------------------------------------------------===//

// The members that a scan combines in this scope: an exclusive one looks one member back, and the identity comes first.
FailureOr<Construction::Reals> Construction::scanned(kir::ScanOp op, const Demand &demand) {
  Location loc = op.getLoc();
  Coordinates at = facts.scannedCoordinates(op, demand.second);
  FailureOr<Reals> identities = identityReals(op.getIdentities(), loc);
  if (failed(identities)) return failure();
  AxisId id = facts.runningClass(op);
  std::optional<Real> inside;
  if (op.getExclusive()) {
    FailureOr<Real> position = realiseIndex(at[op.getAxis()], loc);
    if (failed(position)) return failure();
    if (op.getReverse()) {
      FailureOr<Real> extent = realiseIndex(facts.index.extent(facts.axis(id).extent), loc);
      if (failed(extent)) return failure();
      inside = compare(ComparePredicate::Lt, *position, *extent, loc);
    } else inside = compare(ComparePredicate::Ge, *position, indexConstant(0, loc), loc);
  }
  Reals members;
  for (auto [value, identity] : llvm::zip_equal(op.getValues(), *identities)) {
    FailureOr<Real> real = realise({value, at});
    if (failed(real)) return failure();
    Real member = inside ? select(*inside, *real, identity, loc) : *real;
    FailureOr<Real> neutral = masked(member, identity, id, loc);
    if (failed(neutral)) return failure();
    members.push_back(*neutral);
  }
  return members;
}

FailureOr<Real> Construction::runningScan(const Demand &demand) {
  Operation *op = demand.first.getDefiningOp();
  Location loc = op->getLoc();
  AxisId id = facts.runningClass(op);
  unsigned number = cast<OpResult>(demand.first).getResultNumber();
  Demand own = facts.whereScanned(demand);
  if (own.second != demand.second) return elsewhere(own, demand);
  Running *carried = findCarried(demand);
  if (!carried && !isComplete(id)) return elsewhere(own, demand);
  if (isa<RegionScanOp>(op)) return emitted(demand);
  auto scan = cast<kir::ScanOp>(op);
  FailureOr<Reals> members = scanned(scan, demand), identities = identityReals(scan.getIdentities(), loc);
  if (failed(members) || failed(identities)) return failure();
  Coordinates kept(demand.second);
  kept.erase(kept.begin() + scan.getAxis());
  FailureOr<Captured> captured = capturedBy(scan.getCombine(), scan.getCaptures(), kept);
  if (failed(captured)) return failure();
  Reals results = *members;
  ExprAttr lanes = lookup(id)->lanes;
  if (lanes && holdsLoops(scan.getCombine())) {
    FailureOr<Reals> prefixes = combineLanes(scan.getCombine(), *members, *identities, id, *captured,
                                             scan.getReverse() ? LaneOrder::Descending : LaneOrder::Ascending, loc);
    if (failed(prefixes)) return failure();
    results = *prefixes;
  } else if (lanes) {
    SmallVector<AxisId, 4> axes = unite(*members, id);
    SmallVector<Value> operands, neutral;
    SmallVector<Type> types;
    for (auto [member, identity] : llvm::zip_equal(*members, *identities)) {
      operands.push_back(align(member, axes, loc));
      types.push_back(operands.back().getType());
      neutral.push_back(identity.value);
    }
    auto fragment =
        block::ScanOp::create(builder, loc, types, operands, neutral, uint64_t(llvm::find(axes, id) - axes.begin()), scan.getReverse());
    if (failed(fillCombine(fragment.getCombine(), scan.getCombine(), *identities, *captured, loc))) return failure();
    for (auto [result, value] : llvm::zip_equal(results, fragment.getResults()))
      result = over(value, axes);
  }
  if (carried) {
    Reals arguments(carried->before);
    llvm::append_range(arguments, results);
    FailureOr<Reals> combined = combine(scan.getCombine(), arguments, *captured);
    if (failed(combined)) return failure();
    results = *combined;
    carried->after.clear();
    for (const Real &result : results) { // padded lanes hold the identity, so the last one holds the total
      Real total = result;
      if (lanes) {
        Value last = indexConstant(0, loc).value;
        if (!scan.getReverse()) {
          Real count;
          count.value = ParamOp::create(builder, loc, builder.getIndexType(), lanes);
          last = binary(BinaryKind::Sub, count, indexConstant(1, loc), loc).value;
        }
        total = picked(result, id, last, loc);
      }
      carried->after.push_back(total);
    }
  }
  for (auto [i, result] : llvm::enumerate(results))
    current->memo[{op->getResult(i), demand.second}] = result;
  return results[number];
}

// An output of the slice under construction: its positions are the lanes of the chunk.
FailureOr<Real> Construction::emitted(const Demand &demand) {
  auto scan = demand.first.getDefiningOp<RegionScanOp>();
  unsigned output = cast<OpResult>(demand.first).getResultNumber();
  AxisId slice = facts.find(facts.axesOf(scan)[2 + output]), id = facts.runningClass(scan);
  Coordinates at(demand.second);
  at[scan.getAxis()] = facts.position(slice);
  FailureOr<Real> real = realise({scan.getEmit().front().getTerminator()->getOperand(output), at});
  if (failed(real)) return failure();
  return relabelled(*real, slice, id, scan.getLoc());
}

Real Construction::relabelled(const Real &real, AxisId from, AxisId to, Location loc) {
  if (!llvm::is_contained(real.axes, from)) return real;
  Real renamed = real;
  renamed.zero.clear();
  llvm::replace(renamed.axes, from, to);
  SmallVector<AxisId, 4> order(renamed.axes);
  llvm::sort(order, [&](AxisId a, AxisId b) { return group.rank(a) < group.rank(b); });
  return transposed(renamed, order, loc);
}

Real Construction::picked(const Real &real, AxisId id, Value lane, Location loc) {
  if (!llvm::is_contained(real.axes, id)) return real;
  Real result;
  result.axes = real.axes;
  llvm::erase(result.axes, id);
  result.value = PickOp::create(builder, loc, fragmentOrScalar(elementType(real.value.getType()), extents(result.axes)), real.value, lane,
                                uint64_t(llvm::find(real.axes, id) - real.axes.begin()));
  return result;
}

//===- values at other coordinates ---------------------------------------------------------------------===//

FailureOr<Real> Construction::elsewhere(const Demand &own, const Demand &asked) {
  Location loc = asked.first.getLoc();
  SmallVector<std::pair<AxisId, const Index *>> moved;
  AxisSet whole; // classes whose members must all be there
  for (auto [mine, other] : llvm::zip_equal(own.second, asked.second))
    if (mine != other) {
      moved.emplace_back(facts.find(mine->axis), other);
      whole.push_back(facts.find(mine->axis));
    }
  if (moved.empty() && facts.isRunning(own)) whole.push_back(facts.runningClass(own.first.getDefiningOp()));
  llvm::sort(whole);
  if (moved.size() == 1 && isComplete(moved[0].first)) {
    auto [from, at] = moved[0];
    if (at->kind == Index::Axis) { // the same lanes by another name
      AxisId to = facts.find(at->axis);
      const Binding *a = lookup(from), *b = lookup(to);
      if (b && b->complete && a->lanes == b->lanes) {
        FailureOr<Real> real = realise(own);
        if (failed(real)) return failure();
        if (!llvm::is_contained(real->axes, to)) return relabelled(*real, from, to, loc);
      }
    }
    FailureOr<Real> lane = realiseIndex(at, loc);
    if (failed(lane)) return failure();
    if (lane->axes.empty()) {
      FailureOr<Real> real = realise(own);
      if (failed(real)) return failure();
      return picked(*real, from, inRange(lane->value, from, loc), loc);
    }
  }
  SmallVector<AxisId> classes;
  FailureOr<Value> memory = keep(own, whole, classes);
  if (failed(memory)) return failure();
  Accessed at;
  for (auto &[number, count] : instanceOf(own))
    at.coordinates.push_back(number);
  for (AxisId id : classes) {
    auto *move = llvm::find_if(moved, [&](auto &m) { return m.first == id; });
    const Index *position = move == moved.end() ? facts.position(id) : move->second;
    FailureOr<Real> real = realiseIndex(position, loc);
    if (failed(real)) return failure();
    at.coordinates.push_back(*real);
    if (move == moved.end()) continue;
    FailureOr<Real> extent = realiseIndex(facts.index.extent(facts.axis(id).extent), loc);
    if (failed(extent)) return failure();
    if (!facts.isNonNegative(position)) at.valid.push_back(compare(ComparePredicate::Ge, *real, indexConstant(0, loc), loc));
    if (!facts.isWithin(position, facts.axis(id).extent)) at.valid.push_back(compare(ComparePredicate::Lt, *real, *extent, loc));
  }
  finish(at, {}, loc);
  return loadAt(*memory, kir::elementType(own.first.getType()), at, loc);
}

// A lane number that an author's mistake cannot take out of the fragment.
Value Construction::inRange(Value lane, AxisId id, Location loc) {
  Real at, last;
  at.value = lane;
  Real count;
  count.value = ParamOp::create(builder, loc, builder.getIndexType(), lookup(id)->lanes);
  last = binary(BinaryKind::Sub, count, indexConstant(1, loc), loc);
  return binary(BinaryKind::Maximum, binary(BinaryKind::Minimum, at, last, loc), indexConstant(0, loc), loc).value;
}

// Where the author's program has the value.
static Operation *placeOf(const Demand &demand) {
  Operation *op = demand.first.getDefiningOp();
  return op ? op : cast<BlockArgument>(demand.first).getOwner()->getParentOp();
}

std::optional<ExprAttr> Construction::workspaceExtent(AxisId id, const Demand &demand) {
  if (facts.isLaunchVisible(facts.axis(id).extent))
    return ExprAttr::apply(ExprKind::Max, {facts.launchExpr(facts.axis(id).extent), ExprAttr::constant(builder.getContext(), 0)});
  const Cover &cover = group.covers.at(id);
  if (cover.slice) return cover.lanes;
  std::optional<kir::ExtentAttr> bound = facts.launchBound(facts.axis(id).extent, placeOf(demand));
  return bound ? std::optional(ExprAttr::apply(ExprKind::Max, {facts.launchExpr(*bound), ExprAttr::constant(builder.getContext(), 0)}))
               : std::nullopt;
}

SmallVector<std::pair<Real, ExprAttr>> Construction::instanceOf(const Demand &own) {
  SmallVector<std::pair<Real, ExprAttr>> numbers;
  for (AxisId id : group.programAxes) {
    if (llvm::is_contained(facts.freeAxes(own), id)) continue;
    Real number;
    number.value = tileOf.at(id);
    numbers.emplace_back(number, id == group.split ? group.workers : tilesOf(facts, group, id));
  }
  return numbers;
}

// Has a buffer keep the value in another formation, or what the loop, fold or region scan around it takes; false if none can.
bool Construction::leaveInMemory(const Demand &own) {
  Operation *place = placeOf(own);
  if (Carries::has(place) && canCarry(facts, place)) {
    facts.unheld.insert(place);
    return true;
  }
  if (own.first.getDefiningOp() && canKeep(facts, own.first)) {
    facts.late.insert(own.first);
    return true;
  }
  bool any = false;
  for (Operation *scope = place; !isa<kir::KernelOp>(scope); scope = scope->getParentOp()) {
    auto fold = dyn_cast<kir::RegionFoldOp>(scope);
    auto scan = dyn_cast<kir::RegionScanOp>(scope);
    for (Value source : fold ? ValueRange(fold.getSources()) : scan ? ValueRange(scan.getSources()) : ValueRange())
      if (Operation *op = source.getDefiningOp(); op && !isa<kir::ReadOp>(op) && canKeep(facts, source)) {
        facts.late.insert(source);
        any = true;
      }
  }
  return any;
}

// Stores a value over all members of `whole` to instance workspace; `classes` are its axes.
FailureOr<Value> Construction::keep(const Demand &own, const AxisSet &moved, SmallVector<AxisId> &classes) {
  Location loc = own.first.getLoc();
  AxisSet whole(moved);
  auto misplaced = [&](Scope *scope) { // a chunk or tile of a class that is needed whole
    return llvm::any_of(whole, [&](AxisId id) {
      for (Scope *s = scope; s; s = s->parent)
        if (auto it = s->bindings.find(id); it != s->bindings.end()) return !it->second.complete;
      return false;
    });
  };
  AxisSet rest, inner; // inner: classes that scopes below the one looked at bind
  for (Scope *scope = current; scope; scope = scope->parent) {
    if (auto it = scope->keptIn.find(own);
        it != scope->keptIn.end() && llvm::all_of(inner, [&](AxisId id) { return llvm::is_contained(scope->keptOver[own], id); })) {
      classes = scope->kept[own];
      return it->second;
    }
    for (AxisId id : facts.freeAxes(own))
      if (scope->bindings.count(id)) inner.push_back(id);
  }
  Scope *home = nullptr;
  for (bool again = true; again;) {
    again = false;
    rest.clear();
    for (AxisId id : facts.freeAxes(own))
      if (!llvm::is_contained(whole, id)) rest.push_back(id);
    home = scopeOf(rest);
    while (home->parent && misplaced(home))
      home = home->parent;
    for (Scope *scope = current; scope != home; scope = scope->parent) // walked below and above: other members are asked for
      for (AxisId id : rest)
        for (Scope *above = home; scope->bindings.count(id) && above; above = above->parent)
          if (above->bindings.count(id) && !llvm::is_contained(whole, id)) {
            whole.push_back(id);
            again = true;
          }
  }
  auto boundAt = [&](AxisId id) {
    for (Scope *s = home; s; s = s->parent)
      if (s->bindings.count(id)) return true;
    return false;
  };
  SmallVector<AxisId> walked(whole.begin(), whole.end()); // what the instance has not bound there is kept for all its members
  bool walkable = !misplaced(home);
  for (AxisId id : rest)
    if (!boundAt(id)) {
      walked.push_back(id);
      walkable &= group.covers.count(id) && facts.axis(id).kind != Axis::Ordered;
    }
  bool underway = llvm::is_contained(beingKept, own); // no walk has it in step
  if ((!walkable || underway) && leaveInMemory(own)) return failure();
  if (!walkable || underway)
    return emitError(loc, "shared gpu: a value is needed at members of an axis that this instance does not walk before it");
  SmallVector<ExprAttr> shape;
  for (auto &[number, count] : instanceOf(own))
    shape.push_back(count);
  for (AxisId id : facts.freeAxes(own)) {
    if (facts.axis(id).kind == Axis::Ordered || facts.isPass(id)) continue; // a later pass may overwrite
    std::optional<ExprAttr> extent = workspaceExtent(id, own);
    if (!extent)
      return emitError(loc, "shared gpu: this would have to be kept, and neither the launch nor an access of a view bounds its extent");
    classes.push_back(id);
    shape.push_back(*extent);
  }
  return inScope(home, [&]() -> FailureOr<Value> {
    Value memory = workspace("kept", kir::elementType(own.first.getType()), shape, /*zeroed=*/false);
    SmallVector<AxisId> unbound;
    for (AxisId id : walked)
      if (!lookup(id)) unbound.push_back(id);
    FenceOp::create(builder, loc); // what a pass before this one kept has been read
    auto body = [&]() -> LogicalResult {
      FailureOr<Real> value = realise(own);
      if (failed(value)) return failure();
      Accessed at;
      for (auto &[number, count] : instanceOf(own))
        at.coordinates.push_back(number);
      for (AxisId id : classes) {
        FailureOr<Real> real = realiseIndex(facts.position(id), loc);
        if (failed(real)) return failure();
        at.coordinates.push_back(*real);
        std::optional<kir::ExtentAttr> bound = facts.launchBound(facts.axis(id).extent, placeOf(own));
        if (!bound || *bound == facts.axis(id).extent) continue; // a subregion outside its source must not write elsewhere
        FailureOr<Real> size = realiseIndex(facts.index.extent(*bound), loc);
        if (failed(size)) return failure();
        at.valid.push_back(compare(ComparePredicate::Lt, *real, *size, loc));
      }
      finish(at, {*value}, loc);
      storeAt(memory, *value, at, loc);
      return success();
    };
    beingKept.push_back(own);
    if (failed(traverse({}, unbound, {own}, body, loc))) return failure();
    beingKept.pop_back();
    FenceOp::create(builder, loc);
    home->kept[own] = classes;
    home->keptOver[own] = walked;
    home->keptIn[own] = memory;
    return memory;
  });
}

} // namespace intent::conversion
