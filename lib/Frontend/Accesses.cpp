// Reads and writes of views, buffers and tensors by index.
#include "Lowering.h"

using namespace mlir;
using namespace intent;
using namespace intent::frontend;
using kir::DomainType;

Value Lowering::wholeAxis(ExtentAttr extent, NodeId at) {
  Value begin = indexConstant(0, at), end = extentValue(extent, at), step = indexConstant(1, at);
  return unique(make<kir::DomainOp>(at, DomainType::get(context, publish(extent)), begin, end, step));
}

FailureOr<Value> Lowering::indexValue(const IndexItem &item, ExtentAttr extent, unsigned axis) {
  if (item.kind == IndexItem::All) return wholeAxis(extent, item.node);
  if (item.kind == IndexItem::Slice)
    return error(item.node) << "index " << axis
                            << " is a slice with bounds; an axis takes ':' or a subregion, as in rows[b:e] of rows = I.domain(...)";
  const Entity &entity = item.entity;
  if (entity.kind == Entity::Domain) return entity.value;
  if (entity.isLiteral(Constant::Int)) {
    std::optional<int64_t> size = extent.getConstant();
    if (entity.constant->integer < 0)
      return error(item.node) << "index " << axis << " is negative (" << entity.constant->spell() << "); indices count from 0";
    if (size && entity.constant->integer >= *size)
      return error(item.node) << "index " << axis << " is " << entity.constant->spell() << ", out of range for extent " << *size;
    return literalValue(*entity.constant, builder.getIndexType(), item.node);
  }
  if (entity.isUntyped() && defaultElement(entity).isInteger(64)) return asValue(entity, item.node, builder.getIndexType());
  if (entity.kind == Entity::Value) {
    Type element = kir::elementType(entity.value.getType());
    if (isa<IntegerType, IndexType>(element) && !element.isInteger(1)) return entity.value;
  }
  InFlightDiagnostic diagnostic = error(item.node);
  diagnostic << "index " << axis << ": expected an integer scalar, ':', a domain or an integer tensor, got " << describe(entity);
  if (entity.kind == Entity::Value && kir::elementType(entity.value.getType()).isInteger(1))
    diagnostic << "; select by a bool with I.select or I.mask";
  return diagnostic;
}

/// One index per axis of `shape`; tensors already have one joint shape.
FailureOr<SmallVector<Value>> Lowering::resolveIndices(ArrayRef<ExtentAttr> shape, const Entity &base, ArrayRef<IndexItem> items,
                                                       NodeId at) {
  SmallVector<Value> indices;
  std::vector<Operand> tensors;
  SmallVector<Value> tensorValues;
  for (const IndexItem &item : items) {
    if (item.kind == IndexItem::NewAxis) continue;
    if (indices.size() == shape.size())
      return error(item.node) << describe(base) << " has rank " << static_cast<unsigned>(shape.size()) << "; this index is one too many";
    FailureOr<Value> value = indexValue(item, shape[indices.size()], indices.size());
    if (failed(value)) return failure();
    if (isa<KirTensorType>(value->getType())) {
      tensors.push_back({item.entity, item.node, "index"});
      tensorValues.push_back(*value);
    }
    indices.push_back(*value);
  }
  while (indices.size() < shape.size())
    indices.push_back(wholeAxis(shape[indices.size()], at));
  if (tensors.empty()) return indices;
  FailureOr<Shape> joint = broadcastShapes(tensors, tensorValues, at);
  if (failed(joint)) return failure();
  for (Value &index : indices)
    if (isa<KirTensorType>(index.getType())) index = broadcastTo(index, *joint, at);
  return indices;
}

/// The elements that indices select, as far as they are `valid`. A rank-zero result stays a tensor where `asTensor` or where a rank-zero
/// view is read.
Value Lowering::readAt(const Entity &base, ArrayRef<Value> indices, bool asTensor, NodeId at, Value valid) {
  Type element = kir::elementType(base.value.getType());
  ArrayRef<ExtentAttr> source = kir::shapeOf(base.value.getType());
  SmallVector<ExtentAttr> shape = *kir::indexedShape(source.size(), indices);
  bool isView = base.kind == Entity::View;
  bool scalar = llvm::all_of(indices, [](Value v) { return isScalarType(v.getType()); });
  // x[()] of a rank-zero view is a rank-zero tensor; t[()] of such a tensor is its scalar.
  bool asScalar = scalar && !(source.empty() && (isView || asTensor));
  Type type = asScalar ? element : Type(tensorType(element, shape));
  if (isView) return unique(make<kir::ReadOp>(at, type, base.value, indices, valid), /*reads=*/true);
  if (source.empty() && !asScalar) return base.value;
  return make<kir::ExtractOp>(at, type, base.value, indices);
}

FailureOr<Entity> Lowering::readItems(const Entity &base, ArrayRef<IndexItem> items, NodeId at) {
  ArrayRef<ExtentAttr> source = kir::shapeOf(base.value.getType());
  FailureOr<SmallVector<Value>> indices = resolveIndices(source, base, items, at);
  if (failed(indices)) return failure();
  bool whole = llvm::all_of(items, [](const IndexItem &item) { return item.kind == IndexItem::All || item.kind == IndexItem::NewAxis; });
  bool newAxes = llvm::any_of(items, [](const IndexItem &item) { return item.kind == IndexItem::NewAxis; });
  SmallVector<ExtentAttr> shape = *kir::indexedShape(source.size(), *indices);
  bool asIs = whole && base.kind != Entity::View && !source.empty();
  Value value = asIs ? base.value : readAt(base, *indices, newAxes, at);
  if (!newAxes) return Entity::ofValue(value);
  // Size-one axes stand where None was written among the result's axes.
  Shape result;
  SmallVector<int64_t> axes;
  size_t next = 0, axis = 0;
  bool jointDone = false;
  auto keep = [&](size_t count) {
    for (size_t i = 0; i < count; ++i, ++next) {
      axes.push_back(result.size());
      result.push_back(shape[next]);
    }
  };
  for (const IndexItem &item : items) {
    if (item.kind == IndexItem::NewAxis) {
      result.push_back(known(1));
      continue;
    }
    Value index = (*indices)[axis++];
    if (isa<DomainType>(index.getType())) keep(1);
    auto tensor = dyn_cast<KirTensorType>(index.getType());
    if (tensor && !jointDone) {
      keep(tensor.getShape().size());
      jointDone = true;
    }
  }
  keep(shape.size() - next);
  return Entity::ofValue(repeat(value, result, axes, at));
}

/// The scalar of a rank-zero tensor; a scalar itself.
Value Lowering::scalarOf(Value value, NodeId at) {
  if (!isa<KirTensorType>(value.getType())) return value;
  auto repeated = value.getDefiningOp<kir::BroadcastOp>();
  if (repeated && !isa<KirTensorType>(repeated.getValue().getType())) return repeated.getValue();
  return make<kir::ExtractOp>(at, kir::elementType(value.getType()), value, ValueRange());
}

/// Refuses what cannot be changed. `atomic` accesses read too, so that an Out view does not do.
LogicalResult Lowering::requireWritable(const Entity &base, NodeId at, bool atomic) {
  if (base.kind != Entity::View)
    return error(at) << describe(base)
                     << " is not written by index; values are immutable, and only Out and InOut views and buffers are written";
  Access access = base.readOnly ? Access::In : cast<kir::ViewType>(base.value.getType()).getAccess();
  if (atomic && access != Access::InOut)
    return error(at) << "an atomic access takes an InOut view or a buffer, got parameter '" << base.text << "', an "
                     << (access == Access::In ? "input (I.In)" : "output (I.Out)");
  if (access == Access::In) return error(at) << "parameter '" << base.text << "' is an input (I.In) and is not written";
  if (pureRegions) return error(at) << pureRole << " has no effects; it writes '" << base.text << "'";
  return success();
}

/// A value of exactly the dtype and shape of what indices select from a view: it broadcasts to them, never the other way.
FailureOr<Value> Lowering::valueAt(const Entity &base, ArrayRef<Value> indices, const Entity &value, NodeId at, NodeId valueNode) {
  Type element = kir::elementType(base.value.getType());
  meet(value, element);
  FailureOr<Value> written = asValue(value, valueNode, element);
  if (failed(written)) return failure();
  Type own = kir::elementType(written->getType());
  if (own != element)
    return error(valueNode) << describe(base) << " has dtype " << dtypeName(element) << ", the value " << dtypeName(own)
                            << "; convert it with I.cast";
  SmallVector<ExtentAttr> shape = *kir::indexedShape(kir::shapeOf(base.value.getType()).size(), indices);
  bool scalar = llvm::all_of(indices, [](Value v) { return isScalarType(v.getType()); });
  return spread(*written, scalar ? nullptr : &shape, describe(base), at, valueNode);
}

/// Broadcasts a value to the part of `place` that has that shape; no shape: one element.
FailureOr<Value> Lowering::spread(Value value, const SmallVector<ExtentAttr> *shape, const Twine &place, NodeId at, NodeId valueNode) {
  ArrayRef<ExtentAttr> own = kir::shapeOf(value.getType());
  if (!shape) {
    if (!own.empty()) return error(valueNode) << place << " takes one element here, got a value of shape " << spell(own);
    return scalarOf(value, at);
  }
  if (own.size() > shape->size())
    return error(valueNode) << "value of shape " << spell(own) << " has more axes than the selected part of " << place << ", "
                            << spell(*shape);
  for (size_t i = 0; i < own.size(); ++i) {
    size_t axis = shape->size() - own.size() + i;
    ExtentAttr wanted = (*shape)[axis];
    if (own[i].getConstant() == 1 || own[i] == wanted) continue;
    if (relate(own[i], wanted) == Relation::Different || wanted.getConstant() == 1)
      return error(valueNode) << "value of shape " << spell(own) << " does not broadcast to the selected part of " << place << ", "
                              << spell(*shape) << ": extents " << spell(own[i]) << " and " << spell(wanted) << " of axis "
                              << static_cast<unsigned>(axis);
    checkEqual(wanted, own[i], at, "access to " + place + ": extents " + spell(wanted) + " and " + spell(own[i]));
  }
  return broadcastTo(value, *shape, valueNode);
}

/// The indices of a changing access.
FailureOr<SmallVector<Value>> Lowering::placeIndices(const Entity &base, ArrayRef<IndexItem> items, NodeId at) {
  for (const IndexItem &item : items)
    if (item.kind == IndexItem::NewAxis) return error(item.node) << "None inserts an axis into a value that is read; a write has none";
  return resolveIndices(kir::shapeOf(base.value.getType()), base, items, at);
}

LogicalResult Lowering::writeItems(const Entity &base, ArrayRef<IndexItem> items, const Entity &value, NodeId at, NodeId valueNode,
                                   bool isUnique) {
  if (failed(requireWritable(base, at))) return failure();
  FailureOr<SmallVector<Value>> indices = placeIndices(base, items, at);
  if (failed(indices)) return failure();
  FailureOr<Value> written = valueAt(base, *indices, value, at, valueNode);
  if (failed(written)) return failure();
  make<kir::WriteOp>(at, *written, base.value, *indices, isUnique);
  ++writesTo(base.value.getType());
  return success();
}
