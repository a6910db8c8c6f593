// Statements other than control: assignment, augmented assignment, return.
#include "Lowering.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace intent;
using namespace intent::frontend;

static constexpr unsigned maxDepth = 400;

/// Statements behind one that may have left run where it did not.
Flow Lowering::runBlock(ArrayRef<NodeId> statements) {
  auto &pending = frames.back().pending;
  for (size_t i = 0; i < statements.size(); ++i) {
    pending.push_back(statements.drop_front(i + 1));
    Flow flow = runStatement(statements[i]);
    ArrayRef<NodeId> rest = pending.back(); // empty where the statement took what stands behind it
    pending.pop_back();
    if (!flow.next || (flow.leavesAtAll() && rest.empty())) return flow;
    if (flow.leavesAtAll()) return runGuarded(flow, rest, statements[i]);
  }
  return Flow();
}

Flow Lowering::runStatement(NodeId id) {
  if (depth >= maxDepth) {
    error(id) << "statements nest deeper than " << maxDepth << " levels here";
    return Flow::failure();
  }
  llvm::SaveAndRestore<unsigned> nesting(depth, depth + 1);
  const Node &node = request.node(id);
  const std::vector<LoopScope> &loops = frames.back().loops;
  switch (node.kind) {
  case NodeKind::Pass: return Flow();
  case NodeKind::Expr:
    if (request.node(node.fields[0].id).kind == NodeKind::Constant) return Flow();
    return Flow::of(evaluate(node.fields[0].id));
  case NodeKind::Assign: {
    FailureOr<Entity> value = evaluate(node.fields[1].id);
    if (failed(value)) return Flow::failure();
    for (NodeId target : node.fields[0].list)
      if (failed(assign(target, *value, node.fields[1].id))) return Flow::failure();
    return Flow();
  }
  case NodeKind::AugAssign: return Flow::of(augment(id));
  case NodeKind::Return: return runReturn(id);
  case NodeKind::If: return runIf(id);
  case NodeKind::For: return runFor(id);
  case NodeKind::While: return runWhile(id);
  case NodeKind::Break:
    if (!loops.empty() && !loops.back().parallel) return Flow::leave(Exit::Break);
    error(id) << (loops.empty() ? "break stands outside a loop" : "an I.parallel loop has no break");
    return Flow::failure();
  case NodeKind::Continue:
    if (!loops.empty()) return Flow::leave(Exit::Continue);
    error(id) << "continue stands outside a loop";
    return Flow::failure();
  default: error(id) << "statement " << node.name << " is not part of the language"; return Flow::failure();
  }
}

/// The author's name becomes part of the location of the operation that made the value.
void Lowering::nameValue(const Entity &entity, StringRef name) {
  if (entity.kind != Entity::Value && entity.kind != Entity::Domain && entity.kind != Entity::View) return;
  Operation *op = entity.value.getDefiningOp();
  if (!op || op->getNumResults() != 1 || isa<NameLoc>(op->getLoc())) return;
  op->setLoc(NameLoc::get(builder.getStringAttr(name), op->getLoc()));
  // A broadcast may be composed into the one behind it; what it repeats carries the name too.
  if (auto broadcast = dyn_cast<kir::BroadcastOp>(op)) nameValue(Entity::ofValue(broadcast.getValue()), name);
}

LogicalResult Lowering::assign(NodeId target, const Entity &value, NodeId valueNode) {
  const Node &node = request.node(target);
  switch (node.kind) {
  case NodeKind::Name: {
    StringRef name = node.fields[0].text;
    nameValue(value, name);
    Entity &named = frames.back().names[name.str()] = value;
    if (named.kind == Entity::View && named.text.empty()) named.text = name.str(); // a buffer
    return success();
  }
  case NodeKind::Tuple: {
    ArrayRef<NodeId> targets = node.fields[0].list;
    if (value.kind != Entity::Tuple) {
      error(valueNode) << "expected a tuple of " << static_cast<unsigned>(targets.size()) << " to unpack, got " << describe(value);
      return failure();
    }
    if (value.items().size() != targets.size()) {
      error(target) << "expected " << static_cast<unsigned>(value.items().size()) << " targets to unpack into, got "
                    << static_cast<unsigned>(targets.size());
      return failure();
    }
    if (depth >= maxDepth) {
      error(target) << "targets nest deeper than " << maxDepth << " levels here";
      return failure();
    }
    llvm::SaveAndRestore<unsigned> nesting(depth, depth + 1);
    for (auto [item, itemTarget] : llvm::zip_equal(value.items(), targets))
      if (failed(assign(itemTarget, item, valueNode))) return failure();
    return success();
  }
  case NodeKind::Subscript: {
    FailureOr<Entity> base = evaluate(node.fields[0].id);
    if (failed(base)) return failure();
    FailureOr<std::vector<IndexItem>> items = evaluateIndices(node.fields[1].id);
    if (failed(items) || failed(writeItems(*base, *items, value, target, valueNode))) return failure();
    return success();
  }
  case NodeKind::Attribute: error(target) << "values are immutable; make a new record"; return failure();
  default: error(target) << syntaxName(node.name) << " is not a target of the language"; return failure();
  }
}

LogicalResult Lowering::augment(NodeId id) {
  const Node &node = request.node(id);
  NodeId target = node.fields[0].id, operand = node.fields[2].id;
  const Node &place = request.node(target);
  Entity base;
  std::vector<IndexItem> items;
  FailureOr<Entity> before = failure();
  if (place.kind == NodeKind::Subscript) { // evaluated once
    FailureOr<Entity> evaluated = evaluate(place.fields[0].id);
    if (failed(evaluated)) return failure();
    base = *evaluated;
    FailureOr<std::vector<IndexItem>> indices = evaluateIndices(place.fields[1].id);
    if (failed(indices)) return failure();
    items = *indices;
    if (base.kind != Entity::View) {
      (void)writeItems(base, items, Entity(), target, operand); // says why
      return failure();
    }
    before = readItems(base, items, target);
  } else if (place.kind == NodeKind::Name) {
    before = lookUp(place.fields[0].text, target);
  } else {
    error(target) << syntaxName(place.name) << " is not a target of the language";
  }
  if (failed(before)) return failure();
  FailureOr<Entity> right = evaluate(operand);
  if (failed(right)) return failure();
  FailureOr<Entity> after = operate(node.fields[1].text, {*before, target, "left operand"}, {*right, operand, "right operand"}, id);
  if (failed(after)) return failure();
  if (place.kind == NodeKind::Name) return assign(target, *after, id);
  return writeItems(base, items, *after, target, operand);
}

Flow Lowering::runReturn(NodeId id) {
  if (llvm::any_of(frames.back().loops, [](const LoopScope &loop) { return loop.parallel; })) {
    error(id) << "return inside I.parallel; continue ends one iteration";
    return Flow::failure();
  }
  NodeId value = request.node(id).fields[0].id;
  FailureOr<Entity> result = value == noNode ? FailureOr<Entity>(Entity::none()) : evaluate(value);
  if (failed(result)) return Flow::failure();
  const Function &function = *frames.back().function;
  if (function.kernel && !result->isLiteral(Constant::None)) {
    error(id) << "kernel '" << function.name << "' returns a value; results go to Out views";
    return Flow::failure();
  }
  return Flow::giveBack(*result, id);
}

/// What a function gives whose statements did that.
FailureOr<Entity> Lowering::resultOf(const Flow &flow, const Function &function) {
  if (flow.failed) return failure();
  if (!flow.leavesBy(Exit::Return)) return Entity::none();
  if (flow.next && !flow.result.isLiteral(Constant::None))
    return error(flow.returned) << "'" << function.name << "' returns " << describe(flow.result)
                                << " where control leaves early and nothing at its end; return a value there too";
  return flow.result;
}
