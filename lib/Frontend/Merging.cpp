// What two branches have in common: entities merged into results of one operation, and values that leave the region they are made in.
#include "Lowering.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace intent;
using namespace intent::frontend;

static bool sameConstant(const Constant &a, const Constant &b) {
  bool sameReal = a.real == b.real ? std::signbit(a.real) == std::signbit(b.real) : std::isnan(a.real) && std::isnan(b.real);
  return a.kind == b.kind && a.integer == b.integer && sameReal && a.text == b.text && a.member == b.member;
}

bool Lowering::same(const Entity &a, const Entity &b) {
  if (a.kind != b.kind || a.text != b.text || a.value != b.value || a.function != b.function || a.extent != b.extent) return false;
  if (a.kind == Entity::Literal) return sameConstant(*a.constant, *b.constant);
  if (!a.product) return true;
  if (a.product == b.product) return true;
  if (a.product->names != b.product->names || a.items().size() != b.items().size()) return false;
  return llvm::all_of(llvm::zip_equal(a.items(), b.items()), [&](auto pair) { return same(std::get<0>(pair), std::get<1>(pair)); });
}

/// Kernel IR text nests to 256 levels at most.
LogicalResult Lowering::enterRegion(NodeId at) {
  static constexpr unsigned maxRegions = 200;
  if (regionDepth < maxRegions) return success();
  return error(at) << "run-time control nests deeper than " << maxRegions << " levels here";
}

//===- merging -----------------------------------------------------------------------------------------===//

/// The common entity of two branches; its values are bound to results later. Nothing, with a problem, if there is none.
std::optional<Entity> Lowering::merge(const Entity &a, const Entity &b, Merging &merging) {
  if (same(a, b)) return a;
  auto differ = [&]() -> std::optional<Entity> {
    if (merging.problem.empty()) merging.problem = describeBoth(a, b);
    return std::nullopt;
  };
  if (a.isProduct()) {
    if (b.kind != a.kind || a.product->names != b.product->names || a.items().size() != b.items().size() || merging.values[0].size() > 1024)
      return differ();
    Product product;
    product.names = a.product->names;
    for (auto [x, y] : llvm::zip_equal(a.items(), b.items())) {
      std::optional<Entity> item = merge(x, y, merging);
      if (!item) return std::nullopt;
      product.items.push_back(*item);
    }
    Entity result = a;
    result.product = std::make_shared<const Product>(std::move(product));
    return result;
  }
  if ((a.kind != Entity::Value && !a.isUntyped()) || (b.kind != Entity::Value && !b.isUntyped())) return differ();
  if (std::optional<Entity> open = joinOpen({a, b}, false)) return open;
  if (a.isUntyped() && b.isUntyped()) {
    Entity choice = Entity::ofChoice(merging.condition, a, b);
    if (!defaultElement(choice).isInteger(1)) { // its dtype comes from where it is used
      std::optional<Entity> first = fill(a, 0, merging), second = first ? fill(b, 1, merging) : std::nullopt;
      if (!second) return differ();
      return Entity::ofChoice(merging.condition, *first, *second);
    }
  }
  Type element = a.kind == Entity::Value   ? kir::elementType(a.value.getType())
                 : b.kind == Entity::Value ? kir::elementType(b.value.getType())
                                           : defaultElement(Entity::ofChoice(merging.condition, a, b));
  const Entity *sides[] = {&a, &b};
  Value values[2];
  for (int side = 0; side < 2; ++side) {
    values[side] = sides[side]->value;
    if (sides[side]->kind == Entity::Value) continue;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(merging.blocks[side]);
    ScopedDiagnosticHandler quiet(context, [](Diagnostic &) { return success(); });
    meet(*sides[side], element);
    FailureOr<Value> value = asValue(*sides[side], merging.at, element);
    if (failed(value)) return differ();
    values[side] = *value;
  }
  if (values[0].getType() != values[1].getType()) return differ();
  for (int side = 0; side < 2; ++side)
    merging.values[side].push_back(values[side]);
  return Entity::ofValue(Value());
}

/// Values that `merge` left open take results in order.
void Lowering::bindMerged(Entity &entity, ValueRange results, size_t &next) {
  if ((entity.kind == Entity::Value || entity.kind == Entity::Choice) && !entity.value) entity.value = results[next++];
  if (!entity.isProduct() && entity.kind != Entity::Choice) return;
  Product product;
  product.names = entity.product->names;
  product.items = entity.items();
  for (Entity &item : product.items)
    bindMerged(item, results, next);
  entity.product = std::make_shared<const Product>(std::move(product));
}

//===- values that leave a region ----------------------------------------------------------------------===//

Value Lowering::zeroOf(Type type, NodeId at) {
  Value zero = *literalValue(Constant::ofInt(0), kir::elementType(type), at);
  return isa<KirTensorType>(type) ? broadcastTo(zero, kir::shapeOf(type), at) : zero;
}

/// The entity as it is behind the region of `from`; what only exists inside is appended to `values` and left open for results.
/// Nothing, if it has no meaning outside.
std::optional<Entity> Lowering::escape(const Entity &entity, Block &from, SmallVector<Value> &values, NodeId at) {
  Region *region = from.getParent();
  auto outside = [&](Value value) { return value.getParentRegion()->isProperAncestor(region); };
  switch (entity.kind) {
  case Entity::Tuple:
  case Entity::Record:
  case Entity::Parallel: {
    Product product;
    product.names = entity.product->names;
    for (const Entity &item : entity.items()) {
      std::optional<Entity> kept = values.size() > 1024 ? std::nullopt : escape(item, from, values, at);
      if (!kept) return std::nullopt;
      product.items.push_back(*kept);
    }
    Entity result = entity;
    result.product = std::make_shared<const Product>(std::move(product));
    return result;
  }
  case Entity::Value:
    if (outside(entity.value)) return entity;
    if (!isVisibleOutside(entity.value.getType(), region)) return std::nullopt;
    values.push_back(entity.value);
    return Entity::ofValue(Value());
  case Entity::Choice: {
    std::optional<Entity> condition = escape(Entity::ofValue(entity.value), from, values, at);
    if (!condition) return std::nullopt;
    std::optional<Entity> first = escape(entity.items()[0], from, values, at), second = escape(entity.items()[1], from, values, at);
    return first && second ? std::optional(Entity::ofChoice(condition->value, *first, *second)) : std::nullopt;
  }
  case Entity::View: return outside(entity.value) ? std::optional<Entity>(entity) : std::nullopt;
  case Entity::Domain: {
    const Bounds &bounds = *entity.region;
    bool all = llvm::all_of(ArrayRef({entity.value, bounds.begin, bounds.end, bounds.step}), outside);
    return all ? std::optional<Entity>(entity) : std::nullopt;
  }
  default: return entity;
  }
}

/// The entity of the side that goes on. Where the other side leaves, nothing sees its values: they are zero there.
std::optional<Entity> Lowering::fill(const Entity &entity, unsigned side, Merging &merging) {
  SmallVector<Value> values;
  std::optional<Entity> kept = escape(entity, *merging.blocks[side], values, merging.at);
  if (!kept) return std::nullopt;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(merging.blocks[1 - side]);
  for (Value value : values) {
    merging.values[side].push_back(value);
    merging.values[1 - side].push_back(zeroOf(value.getType(), merging.at));
  }
  return kept;
}

/// What a name is behind two sides. A side that leaves has a say only where what it held is `carried` to the next iteration or out of the
/// loop.
std::optional<Entity> Lowering::mergeName(const Entity *a, const Entity *b, ArrayRef<Flow> flows, bool carried, Merging &merging) {
  const Entity *entities[] = {a, b};
  auto matters = [&](unsigned side) { return flows[side].next || (carried && flows[side].leavesLoopBody()); };
  auto isBound = [&](unsigned side) { return entities[side] && entities[side]->kind != Entity::Unbound; };
  size_t count = merging.values[0].size();
  auto undo = [&] {
    for (auto &values : merging.values)
      values.resize(std::min(count, values.size()));
  };
  merging.problem.clear();
  if (isBound(0) && isBound(1)) {
    if (std::optional<Entity> merged = merge(*a, *b, merging)) return merged;
    undo();
  }
  for (unsigned side = 0; side < 2; ++side) {
    if (!isBound(side) || !matters(side) || matters(1 - side)) continue;
    if (std::optional<Entity> filled = fill(*entities[side], side, merging)) return filled;
    undo();
  }
  return std::nullopt;
}

//===- choices -----------------------------------------------------------------------------------------===//

kir::IfOp Lowering::openIf(Value condition, NodeId at) {
  auto op = make<kir::IfOp>(at, TypeRange(), condition);
  op.getThenRegion().emplaceBlock();
  op.getElseRegion().emplaceBlock();
  return op;
}

/// Result types are known only when both branches are lowered: the final operation takes over the blocks.
kir::IfOp Lowering::closeIf(kir::IfOp open, Merging &merging, NodeId at) {
  OpBuilder::InsertionGuard guard(builder);
  for (int side = 0; side < 2; ++side) {
    builder.setInsertionPointToEnd(merging.blocks[side]);
    make<kir::YieldOp>(at, merging.values[side]);
  }
  builder.setInsertionPoint(open);
  auto op = make<kir::IfOp>(at, ValueRange(merging.values[0]).getTypes(), open.getCondition());
  op.getThenRegion().takeBody(open.getThenRegion());
  op.getElseRegion().takeBody(open.getElseRegion());
  open.erase();
  return op;
}

/// A choice between scalars that nothing but scalar arithmetic computes is a select.
static bool isPlainChoice(kir::IfOp op) {
  for (Region *region : {&op.getThenRegion(), &op.getElseRegion()})
    for (Operation &inner : region->front().without_terminator()) {
      bool scalar = llvm::all_of(inner.getResultTypes(), isScalarType);
      if (!scalar || inner.getNumRegions() || !isMemoryEffectFree(&inner)) return false;
    }
  return llvm::all_of(op.getResultTypes(), isScalarType);
}

FailureOr<Entity> Lowering::runtimeChoice(Value condition, NodeId at, llvm::function_ref<FailureOr<Entity>()> makeThen,
                                          llvm::function_ref<FailureOr<Entity>()> makeElse) {
  if (failed(enterRegion(at))) return failure();
  llvm::SaveAndRestore<unsigned> nesting(regionDepth, regionDepth + 1);
  kir::IfOp open = openIf(condition, at);
  Merging merging;
  merging.condition = condition;
  merging.at = at;
  Entity entities[2];
  for (int side = 0; side < 2; ++side) {
    OpBuilder::InsertionGuard guard(builder);
    merging.blocks[side] = side == 0 ? &open.getThenRegion().front() : &open.getElseRegion().front();
    builder.setInsertionPointToStart(merging.blocks[side]);
    FailureOr<Entity> entity = side == 0 ? makeThen() : makeElse();
    if (failed(entity)) return failure();
    entities[side] = *entity;
  }
  std::optional<Entity> merged = merge(entities[0], entities[1], merging);
  if (!merged) return error(at) << "both sides of a conditional expression have one type, got " << merging.problem;
  kir::IfOp op = closeIf(open, merging, at);
  SmallVector<Value> results(op.getResults());
  if (isPlainChoice(op)) {
    SmallVector<Value> sides[2];
    for (int side = 0; side < 2; ++side) {
      Block &block = side == 0 ? op.getThenRegion().front() : op.getElseRegion().front();
      sides[side].assign(block.getTerminator()->operand_begin(), block.getTerminator()->operand_end());
      for (Operation &inner : llvm::make_early_inc_range(block.without_terminator()))
        inner.moveBefore(op);
    }
    results.clear();
    for (auto [a, b] : llvm::zip_equal(sides[0], sides[1]))
      results.push_back(make<kir::SelectOp>(at, a.getType(), condition, a, b));
    op.erase();
  }
  size_t next = 0;
  bindMerged(*merged, results, next);
  return *merged;
}
