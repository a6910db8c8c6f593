// Region folds and scans: regions over slices of one ordered axis, whose extent and number nothing observes.
#include "Lowering.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace intent;
using namespace intent::frontend;

/// The sources of a fold. Kernel IR has one position of the axis for all of them: tensors of fewer axes get leading ones.
struct Lowering::Slices {
  std::vector<Entity> sources;    // one argument of summarize and emit each
  SmallVector<Value> tensors;     // their components
  SmallVector<int64_t> positions; // of the axis in each component as the author sees it
  int64_t axis = 0, written = 0;  // in kernel IR; as given by the author
  std::string atom;               // the slices' extent
  ExtentAttr extent;              // the sources' extent
};

/// Axis `from` comes to stand at `to`, behind new axes of one or before axes that follow it.
Value Lowering::moveAxis(Value tensor, int64_t from, int64_t to, NodeId at) {
  ArrayRef<ExtentAttr> shape = kir::shapeOf(tensor.getType());
  if (from < to) {
    Shape longer(to - from, known(1));
    SmallVector<int64_t> axes;
    for (ExtentAttr extent : shape) {
      axes.push_back(longer.size());
      longer.push_back(extent);
    }
    return repeat(tensor, longer, axes, at);
  }
  if (from == to) return tensor;
  SmallVector<int64_t> permutation;
  Shape moved;
  for (int64_t i = 0, e = shape.size(); i < e; ++i)
    permutation.push_back(i < to || i > from ? i : i == to ? from : i - 1);
  for (int64_t axis : permutation)
    moved.push_back(shape[axis]);
  return make<kir::TransposeOp>(at, tensorType(kir::elementType(tensor.getType()), moved), tensor,
                                builder.getDenseI64ArrayAttr(permutation));
}

/// Undoes `moveAxis(..., from, to)`.
Value Lowering::moveAxisBack(Value tensor, int64_t from, int64_t to, NodeId at) {
  ArrayRef<ExtentAttr> shape = kir::shapeOf(tensor.getType());
  if (from < to) return relabel(tensor, shape.drop_front(to - from), at);
  if (from == to) return tensor;
  SmallVector<int64_t> permutation;
  Shape moved;
  for (int64_t i = 0, e = shape.size(); i < e; ++i)
    permutation.push_back(i < to || i > from ? i : i == from ? to : i + 1);
  for (int64_t axis : permutation)
    moved.push_back(shape[axis]);
  return make<kir::TransposeOp>(at, tensorType(kir::elementType(tensor.getType()), moved), tensor,
                                builder.getDenseI64ArrayAttr(permutation));
}

FailureOr<Lowering::Slices> Lowering::slicedSources(Call &call) {
  std::string operation = ("I." + call.intrinsic->path).str();
  NodeId node = call.nodes[0];
  Slices slices;
  slices.sources = call[0].kind == Entity::Tuple ? call[0].items() : std::vector<Entity>{call[0]};
  FailureOr<int64_t> written = constantInt(call[1], call.nodes[1], "axis");
  if (failed(written)) return failure();
  slices.written = *written;
  for (auto [i, source] : llvm::enumerate(slices.sources)) {
    std::vector<Entity> parts;
    if (failed(flatten(source, node, parts, operation + ": source"))) return failure();
    for (const Entity &part : parts) {
      FailureOr<Value> tensor = asTensor(part, node, operation + ": source " + Twine(static_cast<unsigned>(i)));
      if (failed(tensor)) return failure();
      int64_t rank = kir::shapeOf(tensor->getType()).size();
      if (*written < -rank || *written >= rank)
        return error(call.nodes[1]) << "axis " << *written << " is out of range for source " << static_cast<unsigned>(i) << ", "
                                    << describe(part);
      slices.tensors.push_back(*tensor);
      slices.positions.push_back(*written < 0 ? *written + rank : *written);
      slices.axis = std::max(slices.axis, slices.positions.back());
    }
  }
  if (slices.tensors.empty()) return error(node) << operation << " takes at least one source tensor";
  for (auto [i, tensor] : llvm::enumerate(slices.tensors)) {
    ExtentAttr own = kir::shapeOf(tensor.getType())[slices.positions[i]];
    if (i == 0) slices.extent = own;
    FailureOr<ExtentAttr> common = requireEqual(slices.extent, own, node, operation + ": axis " + Twine(*written) + " of the sources");
    if (failed(common)) return failure();
    slices.extent = *common;
  }
  for (auto [tensor, position] : llvm::zip_equal(slices.tensors, slices.positions)) {
    Shape shape(kir::shapeOf(tensor.getType()));
    shape[position] = slices.extent;
    tensor = moveAxis(relabel(tensor, shape, node), position, slices.axis, node);
  }
  slices.atom = "?s" + std::to_string(folds++);
  return slices;
}

/// Adds the slices to a region's arguments; gives them in the sources' structure.
std::vector<Entity> Lowering::sliceArguments(const Slices &slices, Block &body, NodeId at) {
  SmallVector<Value> values;
  for (auto [tensor, position] : llvm::zip_equal(slices.tensors, slices.positions)) {
    Shape shape(kir::shapeOf(tensor.getType()));
    shape[slices.axis] = ExtentAttr::atom(context, slices.atom);
    Value argument = body.addArgument(tensorType(kir::elementType(tensor.getType()), shape), tensor.getLoc());
    values.push_back(argument);
  }
  for (auto [value, position] : llvm::zip_equal(values, slices.positions))
    value = moveAxisBack(value, position, slices.axis, at);
  std::vector<Entity> arguments;
  size_t next = 0;
  for (const Entity &source : slices.sources)
    arguments.push_back(rebuild(source, values, next));
  return arguments;
}

FailureOr<std::vector<Entity>> Lowering::foldOperands(Call &call, unsigned position) {
  if (!call.has(position)) return std::vector<Entity>();
  if (call[position].kind != Entity::Tuple)
    return error(call.nodes[position]) << "operands: expected a tuple, got " << describe(call[position]);
  return call[position].items();
}

//===- components of summaries and states --------------------------------------------------------------===//

/// How an author reaches the components of a product: "", ".peak", ".both[1]".
static void componentPaths(const Entity &like, const std::string &prefix, std::vector<std::string> &paths) {
  if (!like.isProduct()) paths.push_back(prefix);
  else
    for (size_t i = 0; i < like.items().size(); ++i)
      componentPaths(like.items()[i], prefix + (like.kind == Entity::Record ? "." + like.product->names[i] : "[" + std::to_string(i) + "]"),
                     paths);
}

/// The components of an identity or initial state; literals take the dtypes of `filled`, which has its structure, if given.
FailureOr<SmallVector<Value>> Lowering::modelValues(const Entity &model, const Entity *filled, NodeId at, const Twine &what) {
  std::vector<Entity> parts, others;
  if (failed(flatten(model, at, parts, what)) || (filled && failed(flatten(*filled, at, others, what)))) return failure();
  SmallVector<Value> values;
  for (auto [i, part] : llvm::enumerate(parts)) {
    Type element;
    if (part.isUntyped() && filled && others[i].kind == Entity::Value) {
      element = kir::elementType(others[i].value.getType());
      meet(part, element);
    }
    FailureOr<Value> value = asValue(part, at, element);
    if (failed(value)) return failure();
    values.push_back(*value);
  }
  return values;
}

/// Ends a region with the components of `entity`, which must have the structure of `model` and exactly these types. A scalar
/// stands for a rank-zero tensor and the reverse.
LogicalResult Lowering::yieldFitted(const Entity &entity, const Entity &model, TypeRange types, NodeId at, const Twine &what) {
  if (failed(matchStructure(model, entity, at, what))) return failure();
  std::vector<Entity> parts;
  std::vector<std::string> paths;
  if (failed(flatten(entity, at, parts, what))) return failure();
  componentPaths(model, "", paths);
  SmallVector<Value> values;
  for (auto [part, type, path] : llvm::zip_equal(parts, types, paths)) {
    Type element = kir::elementType(type);
    meet(part, element);
    FailureOr<Value> value = asValue(part, at, element);
    if (failed(value)) return failure();
    ArrayRef<ExtentAttr> own = kir::shapeOf(value->getType()), wanted = kir::shapeOf(type);
    bool fits = kir::elementType(value->getType()) == element && own.size() == wanted.size() &&
                llvm::all_of(llvm::zip_equal(own, wanted),
                             [&](auto pair) { return relate(std::get<0>(pair), std::get<1>(pair)) != Relation::Different; });
    if (!fits) {
      std::string expected = dtypeName(element).str() + (isa<KirTensorType>(type) ? " tensor " + spell(wanted) : " scalar");
      return error(at) << what << path << ": expected " << expected << ", got " << describe(Entity::ofValue(*value));
    }
    for (auto [a, b] : llvm::zip_equal(wanted, own))
      if (a != b) checkEqual(a, b, at, what + path + ": extents " + spell(a) + " and " + spell(b));
    if (!isa<KirTensorType>(type)) values.push_back(scalarOf(*value, at));
    else if (own.empty()) values.push_back(broadcastTo(*value, {}, at));
    else values.push_back(relabel(*value, wanted, at));
  }
  make<kir::YieldOp>(at, values);
  return success();
}

/// The region of `combine` or `apply`: two products of components in, one of the second's types out.
FailureOr<Entity> Lowering::fillTransition(Region &region, const Entity &callee, const Entity &first, TypeRange firstTypes,
                                           const Entity &second, TypeRange secondTypes, NodeId at, StringRef role) {
  OpBuilder::InsertionGuard guard(builder);
  Block &body = region.emplaceBlock();
  for (TypeRange types : {firstTypes, secondTypes})
    for (Type type : types)
      body.addArgument(type, location(at));
  builder.setInsertionPointToStart(&body);
  SmallVector<Value> values(body.getArguments());
  size_t next = 0;
  Entity arguments[2];
  arguments[0] = rebuild(first, values, next);
  arguments[1] = rebuild(second, values, next);
  FailureOr<Entity> result = callPure(callee, arguments, at, role);
  if (failed(result) || failed(yieldFitted(*result, second, secondTypes, at, role + " result"))) return failure();
  return result;
}

//===- folds -------------------------------------------------------------------------------------------===//

/// Fills the region of `open` that summarises slices and gives the identity's components. Literals of the identity take the
/// summary's dtypes, so that they are made behind the summary and stand before the operation, which the final one replaces.
FailureOr<SmallVector<Value>> Lowering::fillSummary(Operation *open, Region &region, Call &call, const Slices &slices,
                                                    ArrayRef<Entity> operands) {
  const Entity &identity = call[4];
  NodeId at = call.nodes[2];
  OpBuilder::InsertionGuard guard(builder);
  Block &body = region.emplaceBlock();
  builder.setInsertionPointToStart(&body);
  std::vector<Entity> arguments = sliceArguments(slices, body, call.node);
  llvm::append_range(arguments, operands);
  FailureOr<Entity> summary = callPure(call[2], arguments, at, "summarize");
  if (failed(summary) || failed(matchStructure(identity, *summary, at, "summarize result"))) return failure();
  builder.setInsertionPoint(open);
  FailureOr<SmallVector<Value>> values = modelValues(identity, &*summary, call.nodes[4], "identity");
  if (failed(values)) return failure();
  builder.setInsertionPointToEnd(&body);
  if (failed(yieldFitted(*summary, identity, ValueRange(*values).getTypes(), at, "summarize result"))) return failure();
  return values;
}

FailureOr<Entity> Lowering::lowerRegionFold(Call &call) {
  NodeId at = call.node;
  FailureOr<Slices> slices = slicedSources(call);
  if (failed(slices) || failed(requireCombine(call[3], call.nodes[3])) || failed(enterRegion(at))) return failure();
  FailureOr<std::vector<Entity>> operands = foldOperands(call, 5);
  if (failed(operands)) return failure();
  auto open = make<kir::RegionFoldOp>(at, TypeRange(), slices->tensors, slices->axis, slices->atom, ValueRange());
  FailureOr<SmallVector<Value>> identity = fillSummary(open, open.getSummarize(), call, *slices, *operands);
  if (failed(identity)) return failure();
  auto types = ValueRange(*identity).getTypes();
  auto fold = make<kir::RegionFoldOp>(at, types, slices->tensors, slices->axis, slices->atom, *identity);
  fold.getSummarize().takeBody(open.getSummarize());
  open.erase();
  if (failed(fillTransition(fold.getCombine(), call[3], call[4], types, call[4], types, call.nodes[3], "combine"))) return failure();
  SmallVector<Value> results(fold.getResults());
  size_t next = 0;
  return rebuild(call[4], results, next);
}

/// The components that emit gives, with the slices' extent where kernel IR has the axis. `positions` receives where the author
/// sees it.
FailureOr<SmallVector<Value>> Lowering::emitted(const Entity &outputs, const Slices &slices, Region &region, NodeId at,
                                                SmallVectorImpl<int64_t> &positions) {
  std::vector<Entity> parts;
  std::vector<std::string> paths;
  if (failed(flatten(outputs, at, parts, "emit result"))) return failure();
  componentPaths(outputs, "", paths);
  ExtentAttr slice = ExtentAttr::atom(context, slices.atom);
  SmallVector<Value> values;
  for (auto [part, path] : llvm::zip_equal(parts, paths)) {
    std::string what = "emit result" + path;
    FailureOr<Value> value = asTensor(part, at, what);
    if (failed(value)) return failure();
    ArrayRef<ExtentAttr> shape = kir::shapeOf(value->getType());
    int64_t rank = shape.size(), position = slices.written < 0 ? slices.written + rank : slices.written;
    if (position < 0 || position >= rank || shape[position] != slice)
      return error(at) << what << ": expected the slice's extent along axis " << slices.written << ", got " << describe(part);
    for (auto [i, extent] : llvm::enumerate(shape)) {
      if (static_cast<int64_t>(i) == position) continue;
      bool local = dependsOnSlice(extent) && llvm::is_contained(extent.getAtoms(), builder.getStringAttr(slices.atom));
      for (StringAttr atom : extent.getAtoms()) {
        unsigned number = 0;
        if (!atom.getValue().starts_with("#") || atom.getValue().drop_front().getAsInteger(10, number)) continue;
        local |= region.isAncestor(leaves[number].value.getParentRegion());
      }
      if (local)
        return error(at) << what << ": extent " << spell(extent) << " of axis " << static_cast<unsigned>(i)
                         << " is known only inside emit, got " << describe(part);
    }
    positions.push_back(position);
    values.push_back(moveAxis(*value, position, slices.axis, at));
  }
  return values;
}

FailureOr<Entity> Lowering::lowerRegionScan(Call &call) {
  NodeId at = call.node;
  FailureOr<Slices> slices = slicedSources(call);
  if (failed(slices) || failed(requireCombine(call[3], call.nodes[3])) || failed(enterRegion(at))) return failure();
  FailureOr<std::vector<Entity>> operands = foldOperands(call, 8);
  if (failed(operands)) return failure();
  FailureOr<SmallVector<Value>> states = modelValues(call[5], nullptr, call.nodes[5], "initial_state");
  if (failed(states)) return failure();
  auto stateTypes = ValueRange(*states).getTypes();
  // The outputs' types follow from emit: the final operation takes over the regions.
  auto open = make<kir::RegionScanOp>(at, TypeRange(), slices->tensors, slices->axis, slices->atom, ValueRange(), *states);
  FailureOr<SmallVector<Value>> identity = fillSummary(open, open.getSummarize(), call, *slices, *operands);
  if (failed(identity)) return failure();
  SmallVector<Type> results;
  SmallVector<int64_t> positions;
  Entity outputs;
  OpBuilder::InsertionGuard guard(builder);
  {
    Block &body = open.getEmit().emplaceBlock();
    builder.setInsertionPointToStart(&body);
    std::vector<Entity> arguments = sliceArguments(*slices, body, at);
    SmallVector<Value> arriving;
    for (Type type : stateTypes)
      arriving.push_back(body.addArgument(type, location(call.nodes[5])));
    size_t next = 0;
    arguments.push_back(rebuild(call[5], arriving, next));
    llvm::append_range(arguments, *operands);
    FailureOr<Entity> result = callPure(call[7], arguments, call.nodes[7], "emit");
    if (failed(result)) return failure();
    FailureOr<SmallVector<Value>> values = emitted(*result, *slices, open.getEmit(), call.nodes[7], positions);
    if (failed(values)) return failure();
    outputs = *result;
    make<kir::YieldOp>(call.nodes[7], *values);
    for (Value value : *values) {
      Shape shape(kir::shapeOf(value.getType()));
      shape[slices->axis] = slices->extent;
      results.push_back(tensorType(kir::elementType(value.getType()), shape));
    }
  }
  size_t outputCount = results.size();
  llvm::append_range(results, stateTypes);
  builder.setInsertionPoint(open);
  auto types = ValueRange(*identity).getTypes();
  auto scan = make<kir::RegionScanOp>(at, results, slices->tensors, slices->axis, slices->atom, *identity, *states);
  scan.getSummarize().takeBody(open.getSummarize());
  scan.getEmit().takeBody(open.getEmit());
  open.erase();
  builder.setInsertionPointAfter(scan);
  if (failed(fillTransition(scan.getCombine(), call[3], call[4], types, call[4], types, call.nodes[3], "combine")) ||
      failed(fillTransition(scan.getApply(), call[6], call[4], types, call[5], stateTypes, call.nodes[6], "apply")))
    return failure();
  SmallVector<Value> values(scan.getResults());
  for (size_t i = 0; i < outputCount; ++i)
    values[i] = moveAxisBack(values[i], positions[i], slices->axis, at);
  size_t next = 0;
  Entity emittedOutputs = rebuild(outputs, values, next);
  return Entity::ofTuple({emittedOutputs, rebuild(call[5], values, next)});
}
