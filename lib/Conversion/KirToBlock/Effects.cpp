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
    const Cover &cover = group.covers.at(id);
    if (!cover.complete()) continue;
    FailureOr<Value> extent = extentValue(id, loc);
    if (failed(extent)) return failure();
    bool whole = cover.lanes.getConstant() && facts.axis(id).extent.getConstant() == cover.lanes.getConstant();
    current->bindings[id] = {indexConstant(0, loc).value, cover.lanes, whole ? Value() : *extent, /*complete=*/true};
  }
  return emit(group.effects);
}

//===- stores ------------------------------------------------------------------------------------------===//

SmallVector<AxisId> Construction::unboundAxes(Effect *effect) {
  SmallVector<AxisId> unbound;
  auto add = [&](AxisId id) {
    id = facts.find(id);
    if (!lookup(id) && !llvm::is_contained(unbound, id)) unbound.push_back(id);
  };
  if (!effect->write()) return unbound; // a loop's writes open their own
  for (AxisId id : effect->parallel)
    add(id);
  for (AxisId id : facts.axesOf(effect->op))
    add(id);
  return unbound;
}

// A write that may touch what this instance's other lanes read or wrote, without its value depending on that access.
bool Construction::needsFence(Effect *effect) {
  kir::WriteOp write = effect->write();
  Coordinates at = facts.writeCoordinates(write);
  for (Effect *other : group.effects)
    for (const Access &access : facts.accessesOf(other)) {
      if (access.view != write.getView() || access.op == write || facts.areDisjoint(access.coordinates, at)) continue;
      if (access.write || access.coordinates != at) return true;
      bool depends = llvm::any_of(facts.demandsOf(effect).order, [&](const Demand &d) { return d.first.getDefiningOp() == access.op; });
      if (!depends) return true;
    }
  return false;
}

LogicalResult Construction::store(ArrayRef<Effect *> batch) {
  struct Pending {
    kir::WriteOp write;
    Real value;
    Accessed at;
  };
  SmallVector<Pending, 0> stores;
  bool fence = false;
  for (Effect *effect : batch) { // all values first: a store may overwrite what another reads
    kir::WriteOp write = effect->write();
    Coordinates at;
    for (AxisId id : facts.axesOf(write))
      at.push_back(facts.position(id));
    FailureOr<Real> value = realise({write.getValue(), isa<kir::KirTensorType>(write.getValue().getType()) ? at : Coordinates()});
    if (failed(value)) return failure();
    FailureOr<Accessed> accessed =
        access(write.getView().getType(), facts.writeCoordinates(write), {*value}, effect->conditions, write.getLoc());
    if (failed(accessed)) return failure();
    stores.push_back({write, *value, *accessed});
    fence |= needsFence(effect);
  }
  if (fence) FenceOp::create(builder, batch[0]->op->getLoc());
  auto valuesOf = [](ArrayRef<Real> reals) { return llvm::map_to_vector(reals, [](const Real &r) { return r.value; }); };
  for (Pending &p : stores) {
    Value view = program.getBody().getArgument(cast<BlockArgument>(p.write.getView()).getArgNumber());
    StoreOp::create(builder, p.write.getLoc(), align(p.value, p.at.axes, p.write.getLoc()), view, valuesOf(p.at.coordinates),
                    valuesOf(p.at.valid), alignment(p.at.coordinates, p.at.axes), alignment(p.at.valid, p.at.axes));
  }
  return success();
}

// Stores of one traversal, and the reductions that walk the same classes without being needed by them.
LogicalResult Construction::storeAll(ArrayRef<Effect *> batch, ArrayRef<AxisId> unbound) {
  SmallVector<Demand> reductions;
  for (const Demand &demand : needed.order) {
    if (unbound.empty() || !canJoin(demand, unbound, reductions)) continue;
    auto precedes = [&](Effect *effect) { return facts.demandsOf(effect).seen.count(demand) != 0; };
    bool afterStore = llvm::any_of(batch, [&](Effect *effect) { return readsView(demand, effect->write().getView()); });
    if (llvm::none_of(batch, precedes) && !afterStore && isFirstTraversal(demand, unbound)) reductions.push_back(demand);
  }
  return traverse(reductions, unbound, batch);
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

LogicalResult Construction::emit(ArrayRef<Effect *> effects) {
  SmallVector<Effect *> remaining(effects);
  auto readsOld = [&](Effect *reader, ArrayRef<Effect *> writers) { // reader needs a version that a writer replaces
    for (const Access &access : facts.accessesOf(reader))
      for (Effect *writer : writers)
        for (const Access &other : facts.accessesOf(writer))
          if (!access.write && other.write && access.view == other.view && !facts.areDisjoint(access.coordinates, other.coordinates))
            return true;
    return false;
  };
  while (!remaining.empty()) {
    SmallVector<Effect *> batch;
    SmallVector<AxisId> unbound;
    for (Effect *first : remaining) {
      batch = {first};
      unbound = unboundAxes(first);
      SmallVector<Effect *> skipped;
      if (first->write())
        for (Effect *other : remaining) {
          if (other == first) continue;
          bool blocked = llvm::any_of(skipped, [&](Effect *s) { return haveEdge(facts, facts.accessesOf(s), facts.accessesOf(other)); });
          if (!blocked && other->write() && unboundAxes(other) == unbound) batch.push_back(other);
          else skipped.push_back(other);
        }
      bool early = llvm::any_of(remaining, [&](Effect *other) { return !llvm::is_contained(batch, other) && readsOld(other, batch); });
      if (!early) break;
      batch.clear();
    }
    if (batch.empty()) {
      InFlightDiagnostic error = remaining[0]->op->emitError(
          "shared gpu: these writes replace what each other still reads, and no order of their traversals keeps both");
      error.attachNote(remaining.back()->op->getLoc()) << "the other write";
      return error;
    }
    llvm::sort(batch, [&](Effect *a, Effect *b) { return llvm::find(effects, a) < llvm::find(effects, b); });
    llvm::erase_if(remaining, [&](Effect *effect) { return llvm::is_contained(batch, effect); });
    if (batch[0]->write() ? failed(storeAll(batch, unbound)) : failed(orderedLoop(cast<kir::ForOp>(batch[0]->op), batch[0])))
      return failure();
  }
  return success();
}

} // namespace intent::conversion
