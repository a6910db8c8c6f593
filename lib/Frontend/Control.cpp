// Run-time control: branches with merged names, ordered loops with carries, parallel loops.
#include "Lowering.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace intent;
using namespace intent::frontend;

std::string Lowering::placed(StringRef what, NodeId node) { return ("the " + what + " at line " + Twine(request.node(node).line)).str(); }

/// Names that statements bind, in order of appearance.
std::vector<std::string> Lowering::assignedNames(ArrayRef<NodeId> statements) {
  llvm::SetVector<StringRef> names;
  SmallVector<NodeId> stack(llvm::reverse(statements));
  auto push = [&](ArrayRef<NodeId> nodes) { stack.append(nodes.rbegin(), nodes.rend()); };
  while (!stack.empty()) {
    const Node &node = request.node(stack.pop_back_val());
    switch (node.kind) {
    case NodeKind::Name: names.insert(node.fields[0].text); break;
    case NodeKind::Tuple: push(node.fields[0].list); break;
    case NodeKind::Assign: push(node.fields[0].list); break;
    case NodeKind::AugAssign: push(node.fields[0].id); break;
    case NodeKind::If:
    case NodeKind::While: push(node.fields[2].list), push(node.fields[1].list); break;
    case NodeKind::For: push(node.fields[3].list), push(node.fields[2].list), push(node.fields[0].id); break;
    default: break;
    }
  }
  return std::vector<std::string>(names.begin(), names.end());
}

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
    if (merging.problem.empty()) merging.problem = describe(a) + " and " + describe(b);
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
  if (a.isUntyped() && b.isUntyped()) {
    // A condition of one of the branches does not reach behind the if.
    Value first = a.value, second = b.value;
    bool local = (a.kind == Entity::Choice && merging.blocks[0]->getParent()->isAncestor(first.getParentRegion())) ||
                 (b.kind == Entity::Choice && merging.blocks[1]->getParent()->isAncestor(second.getParentRegion()));
    Entity choice = Entity::ofChoice(merging.condition, a, b);
    if (!local && !defaultElement(choice).isInteger(1)) return choice;
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
  if (entity.kind == Entity::Value && !entity.value) entity.value = results[next++];
  if (!entity.isProduct()) return;
  Product product;
  product.names = entity.product->names;
  product.items = entity.items();
  for (Entity &item : product.items)
    bindMerged(item, results, next);
  entity.product = std::make_shared<const Product>(std::move(product));
}

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

//===- if ----------------------------------------------------------------------------------------------===//

Flow Lowering::runIf(NodeId id) {
  while (true) {
    const Node &node = request.node(id);
    FailureOr<Entity> test = evaluate(node.fields[0].id);
    if (failed(test)) return Flow::Failed;
    if (std::optional<bool> taken = truth(*test)) {
      ArrayRef<NodeId> block = node.fields[*taken ? 1 : 2].list;
      bool chained = !*taken && block.size() == 1 && request.node(block[0]).kind == NodeKind::If; // elif
      if (!chained) return runBlock(block);
      id = block[0];
      continue;
    }
    FailureOr<Value> condition = asCondition(*test, node.fields[0].id, "if");
    return failed(condition) ? Flow::Failed : runRuntimeIf(id, *condition);
  }
}

Flow Lowering::runRuntimeIf(NodeId id, Value condition) {
  const Node &node = request.node(id);
  if (failed(enterRegion(id))) return Flow::Failed;
  llvm::SaveAndRestore<unsigned> nesting(regionDepth, regionDepth + 1);
  kir::IfOp open = openIf(condition, id);
  Merging merging;
  merging.condition = condition;
  merging.at = id;
  const std::map<std::string, Entity> before = frames.back().names;
  std::map<std::string, Entity> after[2];
  Entity returned[2];
  Flow flows[2];
  for (int side = 0; side < 2; ++side) {
    OpBuilder::InsertionGuard guard(builder);
    merging.blocks[side] = side == 0 ? &open.getThenRegion().front() : &open.getElseRegion().front();
    builder.setInsertionPointToStart(merging.blocks[side]);
    frames.back().names = before;
    flows[side] = runBlock(node.fields[1 + side].list);
    if (flows[side] == Flow::Failed) return Flow::Failed;
    after[side] = frames.back().names;
    returned[side] = frames.back().result;
  }
  frames.back().names = before;
  if (flows[0] != flows[1]) {
    unsupported(id) << "early return from one branch of an if";
    return Flow::Failed;
  }
  std::string place = placed("'if'", id);
  if (flows[0] == Flow::Returned) {
    std::optional<Entity> result = merge(returned[0], returned[1], merging);
    if (!result) {
      error(id) << "both branches of the if return one type, got " << merging.problem;
      return Flow::Failed;
    }
    size_t next = 0;
    bindMerged(*result, closeIf(open, merging, id).getResults(), next);
    frames.back().result = *result;
    return Flow::Returned;
  }
  std::vector<std::pair<std::string, Entity>> merged;
  SmallVector<NodeId> both(node.fields[1].list.begin(), node.fields[1].list.end());
  llvm::append_range(both, node.fields[2].list);
  for (const std::string &name : assignedNames(both)) {
    auto a = after[0].find(name), b = after[1].find(name);
    if (a == after[0].end() || b == after[1].end()) {
      if (a != after[0].end() || b != after[1].end())
        merged.emplace_back(name, Entity::ofText(Entity::Unbound, "is assigned in only one branch of " + place));
      continue;
    }
    if (a->second.kind == Entity::Unbound || b->second.kind == Entity::Unbound) {
      merged.emplace_back(name, a->second.kind == Entity::Unbound ? a->second : b->second);
      continue;
    }
    size_t count = merging.values[0].size();
    merging.problem.clear();
    std::optional<Entity> entity = merge(a->second, b->second, merging);
    if (!entity) { // an error where the name is used
      for (auto &values : merging.values)
        values.resize(std::min(count, values.size()));
      entity = Entity::ofText(Entity::Unbound, "differs after the branches of " + place + ": " + merging.problem);
    }
    merged.emplace_back(name, *entity);
  }
  kir::IfOp op = closeIf(open, merging, id);
  size_t next = 0;
  for (auto &[name, entity] : merged) {
    bindMerged(entity, op.getResults(), next);
    frames.back().names[name] = entity;
  }
  return Flow::Next;
}

//===- for ---------------------------------------------------------------------------------------------===//

Flow Lowering::runFor(NodeId id) {
  const Node &node = request.node(id);
  if (!node.fields[3].list.empty()) {
    error(node.fields[3].list.front()) << "a loop has no else in the language";
    return Flow::Failed;
  }
  FailureOr<Entity> source = evaluate(node.fields[1].id);
  if (failed(source) || failed(enterRegion(id))) return Flow::Failed;
  llvm::SaveAndRestore<unsigned> nesting(regionDepth, regionDepth + 1);
  if (source->kind == Entity::Parallel) return runParallel(id, *source);
  if (source->kind == Entity::Domain) return runOrdered(id, *source);
  error(node.fields[1].id) << "a loop runs over a domain, range(...) or I.parallel(...), got " << describe(*source);
  return Flow::Failed;
}

static bool isCarriable(const Entity &entity) {
  if (entity.isProduct()) return llvm::all_of(entity.items(), isCarriable);
  return entity.kind == Entity::Value || entity.isUntyped();
}

/// Lowers the statements of a loop whose block is ready. Names that it binds and does not carry have no value at its start
/// or after it.
LogicalResult Lowering::loopBody(NodeId id, Block &body, ArrayRef<std::string> assigned, ArrayRef<std::string> carried, const Twine &loop) {
  auto &names = frames.back().names;
  for (const std::string &name : assigned) {
    auto found = names.find(name);
    if (found == names.end() || llvm::is_contained(carried, name)) continue;
    if (found->second.kind != Entity::Unbound)
      found->second =
          Entity::ofText(Entity::Unbound, ("is updated in " + loop + " and is not carried from one iteration to the next").str());
  }
  llvm::SaveAndRestore<unsigned> inLoop(frames.back().loops, frames.back().loops + 1);
  Flow flow = runBlock(request.node(id).fields[2].list);
  return failure(flow != Flow::Next);
}

/// A value of exactly the carry's type.
FailureOr<Value> Lowering::carriedValue(StringRef name, const Entity &entity, Type type, NodeId at) {
  if (entity.kind != Entity::Value && !entity.isUntyped())
    return error(at) << "carry '" << name << "' of " << placed("loop", at) << ": expected a " << dtypeName(kir::elementType(type))
                     << " value, got " << describe(entity);
  FailureOr<Value> value = asValue(entity, at, kir::elementType(type));
  if (failed(value)) return failure();
  ArrayRef<ExtentAttr> own = kir::shapeOf(value->getType()), wanted = kir::shapeOf(type);
  bool compatible = kir::elementType(value->getType()) == kir::elementType(type) &&
                    isa<KirTensorType>(type) == isa<KirTensorType>(value->getType()) && own.size() == wanted.size() &&
                    llvm::all_of(llvm::zip_equal(own, wanted),
                                 [&](auto pair) { return relate(std::get<0>(pair), std::get<1>(pair)) != Relation::Different; });
  if (!compatible) {
    std::string expected = dtypeName(kir::elementType(type)).str() + (isa<KirTensorType>(type) ? " tensor " + spell(wanted) : " scalar");
    return error(at) << "carry '" << name << "' of " << placed("loop", at) << " keeps its dtype and shape: expected " << expected
                     << ", got " << describe(Entity::ofValue(*value)) << " after the body";
  }
  if (own == wanted) return *value;
  for (auto [a, b] : llvm::zip_equal(wanted, own))
    if (a != b) checkEqual(a, b, at, "carry '" + name + "': extents " + spell(a) + " and " + spell(b));
  return relabel(*value, wanted, at);
}

/// The element types of the carries' components. A literal that starts a carry takes the dtype that the body gives it, which
/// one trial of the body finds.
FailureOr<SmallVector<Type>> Lowering::carryElements(NodeId id, const Entity &domain, ArrayRef<std::string> carried) {
  SmallVector<Type> elements;
  bool literal = false;
  for (const std::string &name : carried) {
    std::vector<Entity> parts;
    if (failed(flatten(frames.back().names[name], id, parts, "carry '" + Twine(name) + "'"))) return failure();
    for (const Entity &part : parts) {
      literal |= part.isUntyped();
      elements.push_back(part.isUntyped() ? Type() : kir::elementType(part.value.getType()));
    }
  }
  if (!literal) return elements;
  // The trial leaves nothing behind but names of outer values.
  auto savedNames = frames.back().names;
  Entity savedResult = frames.back().result;
  auto savedExtents = extents;
  auto savedRepresentatives = representatives;
  auto savedExpressions = expressions;
  auto savedChecked = checked;
  size_t savedLeaves = leaves.size();
  SmallVector<Type> found(elements.size());
  {
    ScopedDiagnosticHandler quiet(context, [](Diagnostic &) { return success(); });
    OpBuilder::InsertionGuard guard(builder);
    auto loop = make<kir::ForOp>(id, TypeRange(), domain.value, ValueRange());
    Block &body = loop.getBody().emplaceBlock();
    builder.setInsertionPointToStart(&body);
    Value coordinate = body.addArgument(builder.getIndexType(), location(id));
    std::vector<std::string> assigned = assignedNames(request.node(id).fields[2].list);
    bool done = assign(request.node(id).fields[0].id, Entity::ofValue(coordinate), id) == Flow::Next &&
                succeeded(loopBody(id, body, assigned, carried, placed("loop", id)));
    size_t at = 0;
    for (const std::string &name : carried) {
      std::vector<Entity> parts;
      if (!done || failed(flatten(frames.back().names[name], id, parts, name))) break;
      for (const Entity &part : parts) {
        if (at == found.size()) break;
        if (part.kind == Entity::Value) found[at] = kir::elementType(part.value.getType());
        else if (part.isUntyped()) found[at] = defaultElement(part);
        ++at;
      }
    }
    loop.erase();
  }
  frames.back().names = savedNames;
  frames.back().result = savedResult;
  extents = savedExtents;
  representatives = savedRepresentatives;
  expressions = savedExpressions;
  checked = savedChecked;
  kernel.walk([&](kir::SymbolOp symbol) { // names that only the trial gave
    unsigned number = 0;
    if (!symbol.getName().drop_front().getAsInteger(10, number) && number >= savedLeaves) symbol.erase();
  });
  size_t at = 0;
  for (const std::string &name : carried) {
    std::vector<Entity> parts;
    (void)flatten(frames.back().names[name], id, parts, name);
    for (const Entity &part : parts) {
      Type &element = elements[at];
      if (!element) element = found[at] ? found[at] : defaultElement(part);
      ++at;
    }
  }
  return elements;
}

Flow Lowering::runOrdered(NodeId id, const Entity &domain) {
  const Node &node = request.node(id);
  NodeId target = node.fields[0].id;
  if (request.node(target).kind != NodeKind::Name) {
    error(target) << "the variable of a loop over one domain is a name";
    return Flow::Failed;
  }
  std::string variable = request.node(target).fields[0].text, place = placed("loop", id);
  std::vector<std::string> assigned = assignedNames(node.fields[2].list), carried;
  for (const std::string &name : assigned) {
    auto found = frames.back().names.find(name);
    if (name != variable && found != frames.back().names.end() && isCarriable(found->second)) carried.push_back(name);
  }
  FailureOr<SmallVector<Type>> elements = carryElements(id, domain, carried);
  if (failed(elements)) return Flow::Failed;
  auto &names = frames.back().names;
  SmallVector<Value> inits;
  std::vector<Entity> schema;
  for (const std::string &name : carried) {
    std::vector<Entity> parts;
    if (failed(flatten(names[name], id, parts, name))) return Flow::Failed;
    schema.push_back(names[name]);
    for (const Entity &part : parts) {
      FailureOr<Value> init = asValue(part, id, (*elements)[inits.size()]);
      if (failed(init)) return Flow::Failed;
      inits.push_back(*init);
    }
  }
  auto loop = make<kir::ForOp>(id, ValueRange(inits).getTypes(), domain.value, inits);
  {
    OpBuilder::InsertionGuard guard(builder);
    Block &body = loop.getBody().emplaceBlock();
    Value coordinate = body.addArgument(builder.getIndexType(), NameLoc::get(builder.getStringAttr(variable), location(target)));
    for (Value init : inits)
      body.addArgument(init.getType(), init.getLoc());
    builder.setInsertionPointToStart(&body);
    SmallVector<Value> arguments(body.getArguments().drop_front());
    size_t next = 0;
    for (auto [name, entity] : llvm::zip_equal(carried, schema))
      names[name] = rebuild(entity, arguments, next);
    names[variable] = Entity::ofValue(coordinate);
    if (failed(loopBody(id, body, assigned, carried, place))) return Flow::Failed;
    SmallVector<Value> yielded;
    for (auto [name, entity] : llvm::zip_equal(carried, schema)) {
      std::vector<Entity> parts;
      const Entity &now = frames.back().names[name];
      if (now.kind == Entity::Unbound) {
        error(id) << "carry '" << name << "' of " << place << " " << now.text;
        return Flow::Failed;
      }
      if (failed(matchStructure(entity, now, id, "carry '" + Twine(name) + "'")) || failed(flatten(now, id, parts, name)))
        return Flow::Failed;
      for (const Entity &part : parts) {
        FailureOr<Value> value = carriedValue(name, part, inits[yielded.size()].getType(), id);
        if (failed(value)) return Flow::Failed;
        yielded.push_back(*value);
      }
    }
    make<kir::YieldOp>(id, yielded);
  }
  SmallVector<Value> results(loop.getResults());
  size_t next = 0;
  auto &after = frames.back().names;
  for (const std::string &name : assigned)
    after[name] = Entity::ofText(Entity::Unbound, "is assigned only inside " + place);
  after[variable] = Entity::ofText(Entity::Unbound, "is the variable of " + place + " and has no value after it");
  for (auto [name, entity] : llvm::zip_equal(carried, schema))
    after[name] = rebuild(entity, results, next);
  return Flow::Next;
}

Flow Lowering::runParallel(NodeId id, const Entity &parallel) {
  const Node &node = request.node(id);
  NodeId target = node.fields[0].id;
  bool tuple = parallel.text == "tuple";
  std::string place = placed("I.parallel loop", id);
  std::vector<std::string> assigned = assignedNames(node.fields[2].list), variables = assignedNames(target);
  SmallVector<Value> domains;
  for (const Entity &item : parallel.items())
    domains.push_back(item.value);
  auto loop = make<kir::ParallelOp>(id, domains);
  {
    OpBuilder::InsertionGuard guard(builder);
    Block &body = loop.getBody().emplaceBlock();
    std::vector<Entity> coordinates;
    for (size_t i = 0; i < domains.size(); ++i) {
      Location loc = location(target);
      if (variables.size() == domains.size()) loc = NameLoc::get(builder.getStringAttr(variables[i]), loc);
      coordinates.push_back(Entity::ofValue(body.addArgument(builder.getIndexType(), loc)));
    }
    builder.setInsertionPointToStart(&body);
    if (assign(target, tuple ? Entity::ofTuple(coordinates) : coordinates[0], target) == Flow::Failed) return Flow::Failed;
    for (const std::string &name : variables)
      llvm::erase(assigned, name);
    llvm::SaveAndRestore<unsigned> inParallel(frames.back().parallels, frames.back().parallels + 1);
    if (failed(loopBody(id, body, assigned, {}, place))) return Flow::Failed;
    make<kir::YieldOp>(id);
  }
  auto &after = frames.back().names;
  for (const std::string &name : assigned)
    after[name] = Entity::ofText(Entity::Unbound, "is assigned only inside " + place);
  for (const std::string &name : variables)
    after[name] = Entity::ofText(Entity::Unbound, "is the variable of " + place + " and has no value after it");
  return Flow::Next;
}
