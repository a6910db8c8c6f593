// Accesses: workspace, coordinates and active sets, loads, and the conditions around an effect.
#include "Construct.h"

#include "intent/Target/Capabilities.h"

using namespace mlir;
using namespace intent::block;
using intent::kir::KirTensorType;

namespace intent::conversion {

Value Construction::memoryOf(Value view) {
  if (Value other = standIns.lookup(view)) return other;
  if (auto argument = dyn_cast<BlockArgument>(view)) return program.getBody().getArgument(argument.getArgNumber());
  return buffers.lookup(view);
}

void Construction::placeIn(Operation *access, Operation *op) {
  if (!facts.watched) return;
  SmallVector<Operation *> loops = facts.loopsOver(op);
  SmallVector<Attribute> walks;
  for (Operation *loop : llvm::reverse(loops)) {
    SmallVector<int64_t> numbers = llvm::map_to_vector(facts.axesOf(loop), [&](AxisId id) { return int64_t(facts.find(id)); });
    walks.push_back(WalkAttr::get(builder.getContext(), facts.order(loop), isUnordered(loop), numbers));
  }
  if (llvm::any_of(loops, isUnordered)) access->setAttr(walksAttributeName, builder.getArrayAttr(walks));
}

LogicalResult Construction::announce(AxisId id, Location loc) {
  if (!facts.watched || lookup(id)->lanes) return success();
  std::optional<Real> at;
  for (AxisId member : facts.members(id)) {
    const Axis &axis = facts.axis(member);
    if (axis.kind != Axis::Parallel && axis.kind != Axis::Ordered) continue;
    FailureOr<Real> coordinate = realiseIndex(isUnordered(axis.op) ? facts.coordinate(member) : facts.position(member), loc);
    if (failed(coordinate)) return failure();
    if (coordinate->axes.empty()) at = *coordinate;
  }
  if (at) WalkOp::create(builder, loc, id, at->value);
  return success();
}

Value Construction::workspace(const Twine &name, Type element, ArrayRef<ExprAttr> shape, bool zeroed) {
  SmallVector<Attribute> all;
  if (ArrayAttr known = program.getWorkspacesAttr()) all.assign(known.begin(), known.end());
  auto taken = [&](StringRef candidate) {
    return llvm::any_of(all, [&](Attribute space) { return cast<WorkspaceAttr>(space).getName() == candidate; });
  };
  std::string unique = name.str();
  for (unsigned i = 2; taken(unique); ++i)
    unique = (name + std::to_string(i)).str();
  all.push_back(WorkspaceAttr::get(builder.getContext(), builder.getStringAttr(unique), element, shape, zeroed));
  program.setWorkspacesAttr(builder.getArrayAttr(all));
  return program.getBody().addArgument(block::ViewType::get(builder.getContext(), element, shape.size()),
                                       NameLoc::get(builder.getStringAttr(unique), facts.kernel.getLoc()));
}

FailureOr<Construction::Accessed> Construction::access(Value view, ArrayRef<const Index *> coordinates, const AxisSet *effectAxes,
                                                       ArrayRef<Real> others, Location loc) {
  Accessed result;
  result.once = effectAxes;
  AxisSet dependent;
  if (effectAxes) dependent = *effectAxes;
  else
    for (const Index *at : coordinates)
      llvm::append_range(dependent, facts.freeAxes(at));
  for (AxisId id : dependent)
    if (const Binding *binding = lookup(id); binding && binding->isConditional()) result.conditional.push_back(id);
  for (AxisId id : facts.privateAxes(view)) { // each iteration has a buffer of its own
    FailureOr<Real> at = realiseIndex(facts.position(id), loc);
    if (failed(at)) return failure();
    result.coordinates.push_back(*at);
  }
  for (auto [at, extent] : llvm::zip_equal(coordinates, view ? kir::shapeOf(view.getType()) : ArrayRef<kir::ExtentAttr>())) {
    FailureOr<Real> real = realiseIndex(at, loc);
    if (failed(real)) return failure();
    result.coordinates.push_back(*real);
    if (!facts.checked && failed(guard(at, *real, extent, result.valid, loc))) return failure(); // else the backend reports it
    if (!view.getDefiningOp() || facts.isLaunchVisible(extent)) continue;
    FailureOr<Real> bound =
        realiseIndex(facts.index.extent(*facts.launchBound(extent, view.getDefiningOp())), loc); // of the memory that the launch gave
    if (failed(bound)) return failure();
    result.valid.push_back(compare(ComparePredicate::Lt, *real, *bound, loc));
  }
  finish(result, others, loc);
  return result;
}

// The coordinate lies in [0, extent), where that is not proven.
LogicalResult Construction::guard(const Index *at, const Real &real, kir::ExtentAttr extent, Reals &valid, Location loc) {
  if (facts.isWithin(at, extent)) return success();
  if (!facts.isNonNegative(at)) valid.push_back(compare(ComparePredicate::Ge, real, indexConstant(0, loc), loc));
  FailureOr<Real> size = realiseIndex(facts.index.extent(extent), loc);
  if (failed(size)) return failure();
  valid.push_back(compare(ComparePredicate::Lt, real, *size, loc));
  return success();
}

// Where the author's program makes a read: under its `if`s, in lanes whose `while`s run, if no loop around it is empty, and
// at elements of the read's own tensor, beyond whose ends a scan may look one member.
LogicalResult Construction::whereMade(kir::ReadOp read, ArrayRef<const Index *> coordinates, Reals &valid) {
  Location loc = read.getLoc();
  SmallVector<Condition> conditions = conditionsAround(read);
  if (!conditions.empty()) {
    FailureOr<Real> holds = conjunction(conditions, loc);
    if (failed(holds)) return failure();
    valid.push_back(*holds);
  }
  for (AxisId id : facts.loopsAround(read)) {
    const Binding *binding = lookup(id);
    bool walked = binding && !binding->complete && !binding->isConditional();
    if (facts.isPass(id) || walked || facts.axis(id).extent.getConstant().value_or(0) > 0) continue;
    FailureOr<Real> extent = realiseIndex(facts.index.extent(facts.axis(id).extent), loc);
    if (failed(extent)) return failure();
    valid.push_back(compare(ComparePredicate::Gt, *extent, indexConstant(0, loc), loc));
  }
  if (std::optional<Real> running = activity(read)) valid.push_back(*running);
  if (!isa<KirTensorType>(read.getType())) return success();
  for (auto [at, extent] : llvm::zip_equal(coordinates, kir::shapeOf(read.getType()))) {
    if (facts.isWithin(at, extent)) continue;
    FailureOr<Real> real = realiseIndex(at, loc);
    if (failed(real) || failed(guard(at, *real, extent, valid, loc))) return failure();
  }
  return success();
}

// The axes of an access follow from everything that takes part in it; their padding is not active. Whether a position is a
// member may depend on a lane that the access does not: a load then happens if it is one for any lane.
void Construction::finish(Accessed &access, ArrayRef<Real> others, Location loc) {
  Reals all(access.coordinates);
  llvm::append_range(all, access.valid);
  llvm::append_range(all, others);
  SmallVector<AxisId, 4> own = unite(all);
  for (AxisId id : access.conditional)
    if (!llvm::is_contained(own, id)) own.push_back(id);
  for (size_t i = 0; access.once && i < own.size(); ++i)
    if (std::optional<Real> valid = validity(own[i], loc))
      for (AxisId id : valid->axes)
        if (!llvm::is_contained(own, id)) own.push_back(id);
  for (AxisId id : own) {
    std::optional<Real> valid = validity(id, loc);
    if (!valid) continue;
    if (llvm::any_of(valid->axes, [&](AxisId lane) { return !llvm::is_contained(own, lane); })) {
      access.wider.insert(id);
      Real most;
      most.value = lookup(id)->most;
      FailureOr<Real> at = realiseIndex(facts.index.axis(id), loc);
      valid = compare(ComparePredicate::Lt, *at, most, loc);
    }
    access.valid.push_back(*valid);
    all.push_back(*valid);
  }
  access.axes = unite(all);
}

FailureOr<Real> Construction::loadAt(Value memory, Type element, const Accessed &at, Location loc) {
  TypedAttr zero = zeroConstant(element);
  Real fill = constant(zero, loc), result;
  result.axes = at.axes;
  result.value = LoadOp::create(builder, loc, fragmentOrScalar(element, extents(at.axes)), memory, valuesOf(at.coordinates),
                                valuesOf(at.valid), fill.value, alignment(at.coordinates, at.axes), alignment(at.valid, at.axes));
  for (AxisId id : at.axes)
    if (!at.wider.count(id)) result.zero.insert(id);
  return result;
}

StoreOp Construction::storeAt(Value memory, const Real &value, const Accessed &at, Location loc) {
  return StoreOp::create(builder, loc, align(value, at.axes, loc), memory, valuesOf(at.coordinates), valuesOf(at.valid),
                         alignment(at.coordinates, at.axes), alignment(at.valid, at.axes));
}

FailureOr<Real> Construction::load(kir::ReadOp read, ArrayRef<const Index *> coordinates) {
  Location loc = read.getLoc();
  Reals valid;
  if (Value condition = read.getValid()) {
    FailureOr<Real> real = realise({condition, isa<KirTensorType>(condition.getType()) ? Coordinates(coordinates) : Coordinates()});
    if (failed(real)) return failure();
    valid.push_back(*real);
  }
  if (facts.checked && failed(whereMade(read, coordinates, valid))) return failure();
  if (failed(whereFirst(read, coordinates, valid))) return failure();
  FailureOr<Accessed> at = access(read.getView(), facts.viewCoordinates(read.getIndices(), coordinates), nullptr, valid, loc);
  if (failed(at)) return failure();
  llvm::append_range(at->valid, valid);
  FailureOr<Real> loaded = loadAt(memoryOf(read.getView()), elementType(read.getView().getType().getElement()), *at, loc);
  if (failed(loaded)) return failure();
  loadsOf[read].push_back(loaded->value.getDefiningOp<LoadOp>());
  if (facts.isVolatile(read)) placeIn(loadsOf[read].back(), read);
  return loaded;
}

// All of the conditions, outermost first; a scalar true for none.
FailureOr<Real> Construction::conjunction(ArrayRef<Condition> conditions, Location loc) {
  std::optional<Real> all;
  for (const Condition &condition : conditions) {
    FailureOr<Real> real = realise({condition.value, {}});
    if (failed(real)) return failure();
    Real holds = *real;
    if (condition.negated) holds.value = UnaryOp::create(builder, loc, real->value.getType(), UnaryKind::Not, real->value, false, false);
    all = all ? binary(BinaryKind::And, *all, holds, loc) : holds;
  }
  return all ? *all : constant(builder.getBoolAttr(true), loc);
}

} // namespace intent::conversion
