// Effects: the program coordinates of a group, and its stores in traversals of what they leave unbound.
#include "Construct.h"

#include "Groups.h"

using namespace mlir;
using namespace intent::block;

namespace intent::conversion {

//===- program coordinates -----------------------------------------------------------------------------===//

Location Construction::named(AxisId id, StringRef suffix, Location loc) {
  std::string name;
  for (AxisId member : facts.members(facts.find(id))) {
    const Axis &axis = facts.axis(member);
    if (axis.kind != Axis::Parallel && axis.kind != Axis::Ordered) continue;
    auto which = llvm::find(facts.axesOf(axis.op), member) - facts.axesOf(axis.op).begin();
    if (auto author = dyn_cast<NameLoc>(axis.op->getRegion(0).front().getArgument(which).getLoc())) name = author.getName().str();
    if (!name.empty()) break;
  }
  if (name.empty()) {
    SmallVector<StringAttr> atoms = facts.axis(id).extent.getAtoms();
    if (atoms.size() == 1) name = atoms[0].getValue().lower();
    if (name.empty() || !llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; })) name = "i";
  }
  return NameLoc::get(builder.getStringAttr(name + suffix.str()), loc);
}

// Decodes the linear instance number, the last program axis fastest; grouped swizzle over the last two where asked for.
LogicalResult Construction::bindProgram(Value linear) {
  Location loc = facts.kernel.getLoc();
  size_t count = group.programAxes.size();
  auto real = [](Value value) {
    Real r;
    r.value = value;
    return r;
  };
  SmallVector<Real> sizes;
  for (AxisId id : group.programAxes) {
    if (id == group.split) {
      sizes.push_back(real(ParamOp::create(builder, loc, builder.getIndexType(), group.workers)));
      continue;
    }
    FailureOr<Value> extent = extentValue(id, loc);
    if (failed(extent)) return failure();
    Real size = real(*extent);
    if (ExprAttr lanes = group.covers.at(id).lanes) {
      Real block = real(ParamOp::create(builder, loc, builder.getIndexType(), lanes));
      Real padded = binary(BinaryKind::Add, size, binary(BinaryKind::Sub, block, indexConstant(1, loc), loc), loc);
      size = binary(BinaryKind::FloorDiv, padded, block, named(id, "_tiles", loc));
    }
    sizes.push_back(size);
  }
  SmallVector<Real> tiles(count);
  Real rest = real(linear);
  size_t outer = count;
  if (!group.swizzle.empty()) {
    outer = count - 2;
    Real rows = sizes[count - 2], columns = sizes[count - 1];
    Real tile = rest;
    if (outer) {
      Real plane = binary(BinaryKind::Mul, rows, columns, loc);
      tile = binary(BinaryKind::Mod, rest, plane, loc);
      rest = binary(BinaryKind::FloorDiv, rest, plane, loc);
    }
    Real height = real(ParamOp::create(builder, loc, builder.getIndexType(), ExprAttr::parameter(builder.getContext(), group.swizzle)));
    Real perGroup = binary(BinaryKind::Mul, height, columns, loc);
    Real first = binary(BinaryKind::Mul, binary(BinaryKind::FloorDiv, tile, perGroup, loc), height,
                        named(group.programAxes[count - 2], "_first", loc));
    Real left = binary(BinaryKind::Sub, rows, first, loc);
    Real size = binary(BinaryKind::Minimum, left, height, named(group.programAxes[count - 2], "_group", loc));
    Real within = binary(BinaryKind::Mod, tile, perGroup, loc);
    tiles[count - 2] =
        binary(BinaryKind::Add, first, binary(BinaryKind::Mod, within, size, loc), named(group.programAxes[count - 2], "_tile", loc));
    tiles[count - 1] = binary(BinaryKind::FloorDiv, within, size, named(group.programAxes[count - 1], "_tile", loc));
  }
  for (size_t i = outer; i-- > 0;) {
    bool lanes = static_cast<bool>(group.covers.at(group.programAxes[i]).lanes);
    Location at = named(group.programAxes[i], lanes ? "_tile" : "", loc);
    tiles[i] = i == 0 ? rest : binary(BinaryKind::Mod, rest, sizes[i], at);
    if (i != 0) rest = binary(BinaryKind::FloorDiv, rest, sizes[i], loc);
  }
  for (auto [id, tile] : llvm::zip_equal(group.programAxes, tiles)) {
    tileOf[id] = tile.value;
    if (id == group.split) {
      worker = tile.value;
      continue;
    }
    ExprAttr lanes = group.covers.at(id).lanes;
    if (!lanes) {
      current->bindings[id] = {tile.value, {}, {}};
      continue;
    }
    FailureOr<Value> extent = extentValue(id, loc);
    if (failed(extent)) return failure();
    Real block = real(ParamOp::create(builder, loc, builder.getIndexType(), lanes));
    current->bindings[id] = {binary(BinaryKind::Mul, tile, block, named(id, "0", loc)).value, lanes, *extent};
  }
  return success();
}

ArrayAttr Construction::recordedCovers() {
  SmallVector<Attribute> covers;
  for (AxisId id : group.order) {
    if (id == facts.slotAxis()) continue;
    const Cover &cover = group.covers.at(id);
    SmallVector<Level> levels;
    if (cover.program) levels.push_back(Level::Program);
    if (cover.loop) levels.push_back(cover.lanes ? Level::Loop : Level::Point);
    if (cover.lanes) levels.push_back(Level::Lanes);
    covers.push_back(CoverAttr::get(builder.getContext(), builder.getStringAttr(extentName(facts.axis(id).extent)), levels, cover.lanes));
  }
  return builder.getArrayAttr(covers);
}

LogicalResult Construction::build() {
  MLIRContext *context = builder.getContext();
  ExprAttr size = ExprAttr::constant(context, 1);
  for (AxisId id : group.programAxes) {
    if (id == group.split) {
      size = ExprAttr::apply(ExprKind::Mul, {size, group.workers});
      continue;
    }
    ExprAttr extent = launchExpr(facts.axis(id).extent);
    if (!facts.isNonNegative(facts.index.extent(facts.axis(id).extent)))
      extent = ExprAttr::apply(ExprKind::Max, {extent, ExprAttr::constant(context, 0)}); // start past stop: empty
    if (ExprAttr lanes = group.covers.at(id).lanes) extent = ExprAttr::apply(ExprKind::CeilDiv, {extent, lanes});
    size = ExprAttr::apply(ExprKind::Mul, {size, extent});
  }
  Location loc = facts.kernel.getLoc();
  builder.setInsertionPointToEnd(&program.getBody().front());
  auto op = GroupOp::create(builder, loc, size, recordedCovers());
  ::mlir::Block &body = op.getBody().emplaceBlock();
  Value linear = body.addArgument(builder.getIndexType(), NameLoc::get(builder.getStringAttr("pid"), loc));
  scopes.push_back(std::make_unique<Scope>(Scope{nullptr, &body, nullptr, {}, {}, {}}));
  current = innermost = scopes.back().get();
  setInsertionPoint();
  for (Effect *effect : group.effects)
    for (const Demand &demand : facts.demandsOf(effect).order)
      needed.insert(demand);
  if (failed(bindProgram(linear))) return failure();
  for (AxisId id : group.order) { // resident classes are complete in the whole instance
    if (id == facts.slotAxis()) continue;
    const Cover &cover = group.covers.at(id);
    if (!cover.complete()) continue;
    FailureOr<Value> extent = extentValue(id, loc);
    if (failed(extent)) return failure();
    bool whole = cover.lanes.getConstant() && facts.axis(id).extent.getConstant() == cover.lanes.getConstant();
    current->bindings[id] = {indexConstant(0, loc).value, cover.lanes, whole ? Value() : *extent, /*complete=*/true};
  }
  if (failed(makeBuffers())) return failure();
  return group.split == ~0u ? emit(group.effects, {}) : handOver();
}

// Each buffer is workspace of the launch: the parallel axes that it is private to, then its own.
LogicalResult Construction::makeBuffers() {
  llvm::SetVector<Value> used;
  for (Effect *effect : group.effects)
    for (const Access &access : facts.accessesOf(effect))
      if (access.view.getDefiningOp()) used.insert(access.view);
  for (Value view : used) {
    SmallVector<ExprAttr> shape;
    ExprAttr zero = ExprAttr::constant(builder.getContext(), 0);
    auto add = [&](kir::ExtentAttr extent) {
      if (!facts.isLaunchVisible(extent)) return false;
      shape.push_back(ExprAttr::apply(ExprKind::Max, {launchExpr(extent), zero}));
      return true;
    };
    bool known = true;
    for (AxisId id : facts.privateAxes(view))
      known &= add(facts.axis(id).extent);
    for (kir::ExtentAttr extent : kir::shapeOf(view.getType()))
      known &= add(extent);
    if (!known)
      return emitError(view.getLoc(), "shared gpu: a buffer's extent, or that of a loop it is private to, is not known at launch");
    std::string name = "buffer";
    if (auto author = dyn_cast<NameLoc>(view.getLoc())) name = author.getName().str();
    buffers[view] = workspace(name, kir::elementType(view.getType()), shape, /*zeroed=*/false);
  }
  return success();
}

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

// An effect that may touch what this instance's other lanes read or wrote, without its value depending on that access.
bool Construction::needsFence(Effect *effect) {
  Coordinates at = facts.effectCoordinates(effect->op);
  for (Effect *other : group.effects)
    for (const Access &access : facts.accessesOf(other)) {
      if (access.view != viewOf(effect->op) || access.op == effect->op || commute(access.op, effect->op) ||
          facts.areDisjoint(access.coordinates, at))
        continue;
      if (access.write || access.coordinates != at) return true;
      bool depends = llvm::any_of(facts.demandsOf(effect).order, [&](const Demand &d) { return d.first.getDefiningOp() == access.op; });
      if (!depends) return true;
    }
  return false;
}

// Some read behind the effect, or in a later pass of a loop around it, may see what it stores.
bool Construction::isReadLater(Effect *effect) {
  Coordinates at = facts.effectCoordinates(effect->op);
  auto follows = [&](Operation *read) {
    if (facts.order(read) > facts.order(effect->op)) return true;
    for (Operation *loop = effect->op->getParentOp(); loop; loop = loop->getParentOp())
      if (isa<kir::ForOp, kir::WhileOp>(loop) && loop->isAncestor(read)) return true;
    return false;
  };
  for (Effect *other : group.effects)
    for (const Access &access : facts.accessesOf(other))
      if (!access.write && access.view == viewOf(effect->op) && follows(access.op) && !facts.areDisjoint(access.coordinates, at))
        return true;
  return false;
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
  auto valuesOf = [](ArrayRef<Real> reals) { return llvm::map_to_vector(reals, [](const Real &r) { return r.value; }); };
  auto flush = [&]() -> LogicalResult {
    if (llvm::any_of(stores, [&](Pending &p) { return needsFence(p.effect); })) FenceOp::create(builder, batch[0]->op->getLoc());
    for (Pending &p : stores) {
      Operation *op = p.effect->op;
      Value value = align(p.value, p.at.axes, op->getLoc()), memory = memoryOf(viewOf(op));
      ArrayAttr coordinateAxes = alignment(p.at.coordinates, p.at.axes), validAxes = alignment(p.at.valid, p.at.axes);
      if (auto scatter = dyn_cast<kir::ScatterReduceOp>(op)) {
        auto combined = ScatterReduceOp::create(builder, op->getLoc(), value, memory, valuesOf(p.at.coordinates), valuesOf(p.at.valid),
                                                coordinateAxes, validAxes);
        FailureOr<Captured> captured = capturedBy(scatter.getCombine(), {}, {});
        if (failed(captured)) return failure();
        Type type = elementType(value.getType());
        Real element = constant(isa<FloatType>(type) ? floatConstant(type, 0.0) : integerConstant(type, 0), op->getLoc());
        if (failed(fillCombine(combined.getCombine(), scatter.getCombine(), {element}, *captured, op->getLoc()))) return failure();
        continue;
      }
      StoreOp::create(builder, op->getLoc(), value, memory, valuesOf(p.at.coordinates), valuesOf(p.at.valid), coordinateAxes, validAxes);
    }
    if (llvm::any_of(stores, [&](Pending &p) { return isReadLater(p.effect); })) FenceOp::create(builder, batch[0]->op->getLoc());
    stores.clear();
    return success();
  };
  for (Effect *effect : batch) {
    if (!isa<kir::WriteOp, kir::ScatterReduceOp>(effect->op)) {
      if (failed(flush()) || failed(performAtomic(effect))) return failure();
      continue;
    }
    FailureOr<Reals> values = operandsOf(effect);
    if (failed(values)) return failure();
    FailureOr<Accessed> accessed = activeAccess(effect, *values);
    if (failed(accessed)) return failure();
    stores.push_back({effect, values->front(), *accessed});
  }
  return flush();
}

FailureOr<Construction::Reals> Construction::operandsOf(Effect *effect) {
  Reals reals;
  for (Value value : valuesOf(effect->op)) {
    FailureOr<Real> real = realise({value, isa<kir::KirTensorType>(value.getType()) ? facts.ownCoordinates(effect->op) : Coordinates()});
    if (failed(real)) return failure();
    reals.push_back(*real);
  }
  return reals;
}

// An effect's access, where the `if`s and loops around it let it happen. It happens once for each point of its axes.
FailureOr<Construction::Accessed> Construction::activeAccess(Effect *effect, ArrayRef<Real> values) {
  Location loc = effect->op->getLoc();
  Reals others(values);
  FailureOr<Real> holds = conjunction(effect->conditions, loc);
  if (failed(holds)) return failure();
  Reals active;
  if (!effect->conditions.empty()) active.push_back(*holds);
  if (std::optional<Real> running = activity(loc)) active.push_back(*running);
  llvm::append_range(others, active);
  for (ArrayRef<AxisId> own : {ArrayRef<AxisId>(effect->parallel), facts.axesOf(effect->op)})
    for (AxisId id : own) { // even where nothing about it varies
      FailureOr<Real> at = realiseIndex(facts.position(id), loc);
      if (failed(at)) return failure();
      if (isa<kir::WriteOp>(effect->op)) continue;
      others.push_back(*at);
    }
  FailureOr<Accessed> accessed = access(viewOf(effect->op), facts.effectCoordinates(effect->op), /*authored=*/true, others, loc);
  if (failed(accessed)) return failure();
  llvm::append_range(accessed->valid, active);
  return accessed;
}

LogicalResult Construction::performAtomic(Effect *effect) {
  Operation *op = effect->op;
  Location loc = op->getLoc();
  FailureOr<Reals> values = operandsOf(effect);
  if (failed(values)) return failure();
  FailureOr<Accessed> at = activeAccess(effect, *values);
  if (failed(at)) return failure();
  auto valuesOf = [](ArrayRef<Real> reals) { return llvm::map_to_vector(reals, [](const Real &r) { return r.value; }); };
  Value memory = memoryOf(viewOf(op));
  ArrayAttr coordinateAxes = alignment(at->coordinates, at->axes), validAxes = alignment(at->valid, at->axes);
  auto know = [&](Value result, Value value) {
    Demand demand(result, facts.ownCoordinates(op));
    Real real;
    real.value = value;
    real.axes = at->axes;
    scopeOf(facts.freeAxes(demand))->memo[demand] = real;
  };
  if (auto exchange = dyn_cast<kir::CompareExchangeOp>(op)) {
    Value expected = align((*values)[0], at->axes, loc), desired = align((*values)[1], at->axes, loc);
    Value old = CompareExchangeOp::create(builder, loc, exchange.getOrder(), expected, desired, memory, valuesOf(at->coordinates),
                                          valuesOf(at->valid), coordinateAxes, validAxes);
    know(exchange.getOld(), old);
    auto asBits = [&](Value v) -> Value { // floats compare as the bits they are
      auto number = dyn_cast<FloatType>(elementType(v.getType()));
      return number ? BitcastOp::create(builder, loc, withElement(v.getType(), builder.getIntegerType(number.getWidth())), v).getResult()
                    : v;
    };
    Type flags = withElement(old.getType(), builder.getI1Type());
    know(exchange.getSuccess(), CompareOp::create(builder, loc, flags, ComparePredicate::Eq, asBits(old), asBits(expected)));
    return success();
  }
  auto atomic = cast<kir::AtomicOp>(op);
  Real value;
  Type element = kir::elementType(viewOf(op).getType());
  value = values->empty() ? constant(isa<FloatType>(element) ? floatConstant(element, 0.0) : integerConstant(element, 0), loc)
                          : values->front();
  Value operand = align(value, at->axes, loc);
  Value old = AtomicOp::create(builder, loc, operand.getType(), atomic.getKind(), atomic.getOrder(), operand, memory,
                               valuesOf(at->coordinates), valuesOf(at->valid), coordinateAxes, validAxes);
  if (atomic.getOld()) know(atomic.getOld(), old);
  return success();
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
  if (failed(keepReplaced(batch, unbound))) return failure();
  return traverse(reductions, unbound, roots, [&] { return perform(batch); }, batch[0]->op->getLoc());
}

// What one chunk of a traversal stores, a later chunk may still have to read: that is read before the traversal.
LogicalResult Construction::keepReplaced(ArrayRef<Effect *> batch, ArrayRef<AxisId> unbound) {
  SmallVector<AxisId> loops;
  for (AxisId id : unbound)
    if (!isComplete(id)) loops.push_back(id);
  if (loops.empty()) return success();
  for (Effect *reader : batch)
    for (const Demand &demand : facts.demandsOf(reader).order) {
      auto read = demand.first.getDefiningOp<kir::ReadOp>();
      if (!read || !facts.isVolatile(read) || facts.forwarded(read, demand.second)) continue;
      Access access{read, read.getView(), facts.viewCoordinates(read.getIndices(), demand.second), false, reader};
      AxisSet whole; // the chunks that the read's members may meet in
      for (AxisId id : facts.freeAxes(demand))
        if (llvm::is_contained(loops, id)) whole.push_back(id);
      bool replaced = !whole.empty() && llvm::any_of(batch, [&](Effect *writer) {
        Access write{writer->op, viewOf(writer->op), facts.effectCoordinates(writer->op), true, writer};
        if (write.view != access.view || facts.order(read) > facts.order(writer->op) ||
            facts.areDisjoint(write.coordinates, access.coordinates))
          return false;
        return llvm::any_of(loops, [&](AxisId id) { return !meetOnlyAtOnePosition(facts, access, write, id); });
      });
      if (!replaced) continue;
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
