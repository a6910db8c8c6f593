// A group's body: where an instance stands in the program space, its resident classes and its buffers.
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

// True if what an instance walks is longer for later members of a program axis: a fold that ends with them, a loop as long as
// their position.
bool Construction::walksLonger(AxisId id, ArrayRef<Bound> bounds) {
  auto grows = [&](const Index *index) { return facts.index.coefficientOf(index, id).value_or(0) > 0; };
  bool longer = false;
  for (AxisId other : group.order) {
    if (other == facts.slotAxis()) continue;
    SmallVector<StringAttr> atoms = facts.axis(other).extent.getAtoms();
    Value length = atoms.size() == 1 ? facts.atomValue(atoms[0]) : Value();
    longer |= group.covers.at(other).loop && length && grows(facts.indexOf(length));
  }
  for (const Bound &bound : bounds) {
    if (!bound.upper && grows(bound.limit)) return false; // it starts later, too
    longer |= bound.upper && grows(bound.limit);
  }
  return longer;
}

// Decodes the linear instance number, the last program axis fastest; grouped swizzle over the last two where asked for. Instances
// start in that order, so those with the most to do come first.
LogicalResult Construction::bindProgram(Value linear) {
  Location loc = facts.kernel.getLoc();
  size_t count = group.programAxes.size();
  SmallVector<Real> sizes;
  for (AxisId id : group.programAxes) {
    if (id == group.split) { // the outermost
      sizes.emplace_back();
      continue;
    }
    bool ragged = group.ragged && id == group.ragged->members;
    FailureOr<Value> extent = extentValue(ragged ? group.ragged->groups : id, loc);
    if (failed(extent)) return failure();
    Real size = scalar(*extent);
    if (ragged) {
      FailureOr<Real> bound = realiseIndex(facts.index.extent(group.ragged->bound), loc);
      if (failed(bound)) return failure();
      ExprAttr lanes = group.covers.at(id).lanes;
      size = *bound;
      if (lanes)
        size = binary(BinaryKind::Add, scalar(*extent),
                      binary(BinaryKind::FloorDiv, *bound, scalar(ParamOp::create(builder, loc, builder.getIndexType(), lanes)), loc), loc);
    } else if (ExprAttr lanes = group.covers.at(id).lanes) {
      Real block = scalar(ParamOp::create(builder, loc, builder.getIndexType(), lanes));
      Real padded = binary(BinaryKind::Add, size, binary(BinaryKind::Sub, block, indexConstant(1, loc), loc), loc);
      size = binary(BinaryKind::FloorDiv, padded, block, named(id, "_tiles", loc));
    }
    sizes.push_back(size);
  }
  if (group.split != ~0u) {
    std::optional<Real> others;
    for (const Real &size : ArrayRef(sizes).drop_front())
      others = others ? binary(BinaryKind::Mul, *others, size, loc) : size;
    Real all = scalar(ParamOp::create(builder, loc, builder.getIndexType(), group.workerParameter));
    if (others) {
      Real one = indexConstant(1, loc), least = binary(BinaryKind::Maximum, *others, one, loc);
      all = binary(BinaryKind::FloorDiv, binary(BinaryKind::Add, all, binary(BinaryKind::Sub, least, one, loc), loc), least, loc);
    }
    workers = all;
  }
  SmallVector<Real> tiles(count);
  Real rest = scalar(linear);
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
    Real height = scalar(ParamOp::create(builder, loc, builder.getIndexType(), ExprAttr::parameter(builder.getContext(), group.swizzle)));
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
  llvm::SetVector<Operation *> folds;
  for (const Demand &demand : needed.order)
    if (auto fold = demand.first.getDefiningOp<kir::RegionFoldOp>()) folds.insert(fold);
  SmallVector<Bound> bounds;
  for (Operation *fold : folds)
    llvm::append_range(bounds, boundsOf(facts, cast<kir::RegionFoldOp>(fold), needed));
  for (size_t i = outer; i-- > 0;) {
    AxisId id = group.programAxes[i];
    bool lanes = static_cast<bool>(group.covers.at(id).lanes), ragged = group.ragged && id == group.ragged->members;
    bool descending = id != group.split && !ragged && walksLonger(id, bounds);
    Location at = named(id, lanes ? "_tile" : "", loc);
    tiles[i] = i == 0 ? rest : binary(BinaryKind::Mod, rest, sizes[i], descending ? loc : at);
    if (i != 0) rest = binary(BinaryKind::FloorDiv, rest, sizes[i], loc);
    if (descending) tiles[i] = binary(BinaryKind::Sub, binary(BinaryKind::Sub, sizes[i], indexConstant(1, loc), loc), tiles[i], at);
  }
  for (auto [id, tile] : llvm::zip_equal(group.programAxes, tiles)) {
    tileOf[id] = tile.value;
    if (id == group.split) {
      worker = tile.value;
      continue;
    }
    if (group.ragged && id == group.ragged->members) {
      if (failed(bindRagged(tile))) return failure();
      continue;
    }
    ExprAttr lanes = group.covers.at(id).lanes;
    if (!lanes) {
      current->bindings[id].base = tile.value;
      continue;
    }
    FailureOr<Value> extent = extentValue(id, loc);
    if (failed(extent)) return failure();
    Real block = scalar(ParamOp::create(builder, loc, builder.getIndexType(), lanes));
    Binding &binding = current->bindings[id];
    binding.base = binary(BinaryKind::Mul, tile, block, named(id, "0", loc)).value;
    binding.lanes = lanes;
    binding.extent = scalar(*extent);
  }
  SmallVector<AxisId> bound(group.programAxes);
  if (group.ragged) bound.push_back(group.ragged->groups);
  for (AxisId id : bound)
    if (id != group.split && lookup(id) && failed(announce(id, loc))) return failure();
  return success();
}

// Which group a tile of the members of all groups is of, and which of the group's tiles: the groups whose tiles come before it
// are counted, all groups side by side.
LogicalResult Construction::bindRagged(const Real &tile) {
  Location loc = facts.kernel.getLoc();
  auto [groups, members, bound] = *group.ragged;
  ExprAttr lanes = group.covers.at(members).lanes;
  Real size = indexConstant(1, loc), zero = indexConstant(0, loc), one = indexConstant(1, loc);
  if (lanes) size.value = ParamOp::create(builder, loc, builder.getIndexType(), lanes);
  FailureOr<Real> count = extentOf(groups, loc);
  if (failed(count)) return failure();
  Scope *home = current, *all = addScope(current->block, nullptr);
  all->bindings[groups].base = zero.value;
  all->bindings[groups].lanes = group.groupLanes;
  all->bindings[groups].extent = *count;
  FailureOr<Real> length = extentOf(members, loc);
  if (failed(length)) return failure();
  Real tiles = binary(BinaryKind::FloorDiv, binary(BinaryKind::Add, *length, binary(BinaryKind::Sub, size, one, loc), loc), size, loc);
  tiles = select(*validity(groups, loc), binary(BinaryKind::Maximum, tiles, zero, loc), zero, loc);
  Real upTo = tiles; // tiles of the groups up to each
  upTo.value = sumUpTo(tiles, loc);
  Real earlier = compare(ComparePredicate::Le, upTo, tile, loc);
  Real number = overLanes(BinaryKind::Add, select(earlier, one, zero, loc), loc);
  Real first = overLanes(BinaryKind::Maximum, select(earlier, upTo, zero, loc), loc);
  Real total = overLanes(BinaryKind::Maximum, upTo, loc);
  current = innermost = home;
  setInsertionPoint();
  Real last = binary(BinaryKind::Maximum, binary(BinaryKind::Sub, *count, one, loc), zero, loc);
  current->bindings[groups].base = binary(BinaryKind::Minimum, number, last, named(groups, "", loc)).value;
  Binding &binding = current->bindings[members];
  binding.base = binary(BinaryKind::Mul, binary(BinaryKind::Sub, tile, first, loc), size, named(members, lanes ? "0" : "", loc)).value;
  binding.lanes = lanes;
  FailureOr<Real> own = extentOf(members, loc);
  if (failed(own)) return failure();
  binding.extent = select(compare(ComparePredicate::Lt, tile, total, loc), *own, zero, loc); // tiles behind the last group have none
  return success();
}

// Sums of one fragment axis of indices up to and with each lane.
Value Construction::sumUpTo(const Real &value, Location loc) {
  Real zero = indexConstant(0, loc);
  auto scan = block::ScanOp::create(builder, loc, TypeRange{value.value.getType()}, ValueRange{value.value}, ValueRange{zero.value},
                                    /*axis=*/uint64_t(0), /*reverse=*/false);
  fillCombine(scan.getCombine(), BinaryKind::Add, builder.getIndexType(), loc);
  return scan.getResult(0);
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
    size = ExprAttr::apply(ExprKind::Mul, {size, id == group.split ? group.workers : tilesOf(facts, group, id)});
  }
  Location loc = facts.kernel.getLoc();
  builder.setInsertionPointToEnd(&program.getBody().front());
  auto op = GroupOp::create(builder, loc, size, recordedCovers());
  ::mlir::Block &body = op.getBody().emplaceBlock();
  Value linear = body.addArgument(builder.getIndexType(), NameLoc::get(builder.getStringAttr("pid"), loc));
  addScope(&body, nullptr);
  for (Effect *effect : group.effects)
    for (const Demand &demand : facts.demandsOf(effect).order)
      needed.insert(demand);
  if (failed(bindProgram(linear))) return failure();
  for (AxisId id : group.order) { // resident classes are complete in the whole instance
    if (id == facts.slotAxis()) continue;
    const Cover &cover = group.covers.at(id);
    if (!cover.complete()) continue;
    FailureOr<Real> extent = extentOf(id, loc);
    if (failed(extent)) return failure();
    bool whole = cover.lanes.getConstant() && facts.axis(id).extent.getConstant() == cover.lanes.getConstant();
    Binding &binding = current->bindings[id];
    binding.base = indexConstant(0, loc).value;
    binding.lanes = cover.lanes;
    binding.complete = true;
    if (!whole) binding.extent = *extent;
  }
  if (failed(makeBuffers())) return failure();
  phase = group.effects;
  if (failed(group.split == ~0u ? emit(group.effects, {}) : handOver())) return failure();
  placeFences();
  return success();
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
    SmallVector<kir::ExtentAttr> extents = llvm::map_to_vector(facts.privateAxes(view), [&](AxisId id) { return facts.axis(id).extent; });
    llvm::append_range(extents, kir::shapeOf(view.getType()));
    for (kir::ExtentAttr extent : extents) {
      std::optional<kir::ExtentAttr> bound = facts.launchBound(extent, view.getDefiningOp());
      if (!bound)
        return emitError(view.getLoc(), "shared gpu: neither the launch nor an access of a view bounds the extent of this buffer");
      shape.push_back(ExprAttr::apply(ExprKind::Max, {facts.launchExpr(*bound), zero}));
    }
    std::string name = "buffer";
    if (auto author = dyn_cast<NameLoc>(view.getLoc())) name = author.getName().str();
    buffers[view] = workspace(name, kir::elementType(view.getType()), shape, /*zeroed=*/false);
  }
  return success();
}

} // namespace intent::conversion
