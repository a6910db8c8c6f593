// Statements other than control: assignment, augmented assignment, return.
#include "Lowering.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace intent;
using namespace intent::frontend;

static constexpr unsigned maxDepth = 400;

Flow Lowering::runBlock(ArrayRef<NodeId> statements) {
  for (NodeId statement : statements) {
    Flow flow = runStatement(statement);
    if (flow != Flow::Next) return flow;
  }
  return Flow::Next;
}

Flow Lowering::runStatement(NodeId id) {
  if (depth >= maxDepth) {
    error(id) << "statements nest deeper than " << maxDepth << " levels here";
    return Flow::Failed;
  }
  llvm::SaveAndRestore<unsigned> nesting(depth, depth + 1);
  const Node &node = request.node(id);
  switch (node.kind) {
  case NodeKind::Pass: return Flow::Next;
  case NodeKind::Expr:
    if (request.node(node.fields[0].id).kind == NodeKind::Constant) return Flow::Next;
    return failed(evaluate(node.fields[0].id)) ? Flow::Failed : Flow::Next;
  case NodeKind::Assign: {
    FailureOr<Entity> value = evaluate(node.fields[1].id);
    if (failed(value)) return Flow::Failed;
    for (NodeId target : node.fields[0].list)
      if (assign(target, *value, node.fields[1].id) == Flow::Failed) return Flow::Failed;
    return Flow::Next;
  }
  case NodeKind::AugAssign: return runAugAssign(id);
  case NodeKind::Return: return runReturn(id);
  case NodeKind::If: return runIf(id);
  case NodeKind::For: return runFor(id);
  case NodeKind::While: unsupported(id) << "while"; return Flow::Failed;
  case NodeKind::Break:
    if (frames.back().parallels) error(id) << "an I.parallel loop has no break";
    else unsupported(id) << "break";
    return Flow::Failed;
  case NodeKind::Continue: unsupported(id) << "continue"; return Flow::Failed;
  default: error(id) << "statement " << node.name << " is not part of the language"; return Flow::Failed;
  }
}

/// The author's name becomes part of the location of the operation that made the value.
void Lowering::nameValue(const Entity &entity, StringRef name) {
  if (entity.kind != Entity::Value && entity.kind != Entity::Domain) return;
  Operation *op = entity.value.getDefiningOp();
  if (!op || op->getNumResults() != 1 || isa<NameLoc>(op->getLoc())) return;
  op->setLoc(NameLoc::get(builder.getStringAttr(name), op->getLoc()));
  // A broadcast may be composed into the one behind it; what it repeats carries the name too.
  if (auto broadcast = dyn_cast<kir::BroadcastOp>(op)) nameValue(Entity::ofValue(broadcast.getValue()), name);
}

Flow Lowering::assign(NodeId target, const Entity &value, NodeId valueNode) {
  const Node &node = request.node(target);
  switch (node.kind) {
  case NodeKind::Name:
    nameValue(value, node.fields[0].text);
    frames.back().names[node.fields[0].text] = value;
    return Flow::Next;
  case NodeKind::Tuple: {
    ArrayRef<NodeId> targets = node.fields[0].list;
    if (value.kind != Entity::Tuple) {
      error(valueNode) << "expected a tuple of " << static_cast<unsigned>(targets.size()) << " to unpack, got " << describe(value);
      return Flow::Failed;
    }
    if (value.items().size() != targets.size()) {
      error(target) << "expected " << static_cast<unsigned>(value.items().size()) << " targets to unpack into, got "
                    << static_cast<unsigned>(targets.size());
      return Flow::Failed;
    }
    if (depth >= maxDepth) {
      error(target) << "targets nest deeper than " << maxDepth << " levels here";
      return Flow::Failed;
    }
    llvm::SaveAndRestore<unsigned> nesting(depth, depth + 1);
    for (auto [item, itemTarget] : llvm::zip_equal(value.items(), targets))
      if (assign(itemTarget, item, valueNode) == Flow::Failed) return Flow::Failed;
    return Flow::Next;
  }
  case NodeKind::Subscript: {
    FailureOr<Entity> base = evaluate(node.fields[0].id);
    if (failed(base)) return Flow::Failed;
    FailureOr<std::vector<IndexItem>> items = evaluateIndices(node.fields[1].id);
    if (failed(items) || failed(writeItems(*base, *items, value, target, valueNode))) return Flow::Failed;
    return Flow::Next;
  }
  case NodeKind::Attribute: error(target) << "values are immutable; make a new record"; return Flow::Failed;
  default: error(target) << node.name << " is not a target of the language"; return Flow::Failed;
  }
}

Flow Lowering::runAugAssign(NodeId id) {
  const Node &node = request.node(id);
  NodeId target = node.fields[0].id, operand = node.fields[2].id;
  const Node &place = request.node(target);
  Entity base;
  std::vector<IndexItem> items;
  FailureOr<Entity> before = failure();
  if (place.kind == NodeKind::Subscript) { // evaluated once
    FailureOr<Entity> evaluated = evaluate(place.fields[0].id);
    if (failed(evaluated)) return Flow::Failed;
    base = *evaluated;
    FailureOr<std::vector<IndexItem>> indices = evaluateIndices(place.fields[1].id);
    if (failed(indices)) return Flow::Failed;
    items = *indices;
    if (base.kind != Entity::View) {
      (void)writeItems(base, items, Entity(), target, operand); // says why
      return Flow::Failed;
    }
    before = readItems(base, items, target);
  } else if (place.kind == NodeKind::Name) {
    before = lookUp(place.fields[0].text, target);
  } else {
    error(target) << place.name << " is not a target of the language";
  }
  if (failed(before)) return Flow::Failed;
  FailureOr<Entity> right = evaluate(operand);
  if (failed(right)) return Flow::Failed;
  FailureOr<Entity> after = operate(node.fields[1].text, {*before, target, "left operand"}, {*right, operand, "right operand"}, id);
  if (failed(after)) return Flow::Failed;
  if (place.kind == NodeKind::Name) return assign(target, *after, id);
  return failed(writeItems(base, items, *after, target, operand)) ? Flow::Failed : Flow::Next;
}

Flow Lowering::runReturn(NodeId id) {
  Frame &frame = frames.back();
  if (frame.parallels) {
    error(id) << "return inside I.parallel; continue ends one iteration";
    return Flow::Failed;
  }
  if (frame.loops) {
    unsupported(id) << "early return from a loop";
    return Flow::Failed;
  }
  NodeId value = request.node(id).fields[0].id;
  FailureOr<Entity> result = value == noNode ? FailureOr<Entity>(Entity::none()) : evaluate(value);
  if (failed(result)) return Flow::Failed;
  frames.back().result = *result;
  return Flow::Returned;
}
