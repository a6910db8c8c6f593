// Run-time branches: where control goes on, which names it takes along, and the flags that say how it left.
#include "Lowering.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace intent;
using namespace intent::frontend;

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

/// Every name that occurs in statements.
void Lowering::collectNames(ArrayRef<NodeId> statements, llvm::StringSet<> &names) {
  SmallVector<NodeId> stack(statements);
  while (!stack.empty()) {
    const Node &node = request.node(stack.pop_back_val());
    if (node.kind == NodeKind::Name) names.insert(node.fields[0].text);
    for (const Node::Field &field : node.fields) {
      if (field.id != noNode) stack.push_back(field.id);
      stack.append(field.list.begin(), field.list.end());
    }
  }
}

//===- flags -------------------------------------------------------------------------------------------===//

/// Whether statements wait behind the current ones, in blocks from that depth on.
bool Lowering::isPending(size_t from) {
  return llvm::any_of(ArrayRef(frames.back().pending).drop_front(from), [](ArrayRef<NodeId> rest) { return !rest.empty(); });
}

/// Whether something asks at run time if control left in that way: the loop, or statements that wait.
bool Lowering::needsFlag(Exit exit) {
  const Frame &frame = frames.back();
  if (exit == Exit::Break) return true;
  if (exit == Exit::Return) return !frame.loops.empty() || isPending(0);
  return isPending(frame.loops.back().pending);
}

/// How both sides together leave. A flag that only they know is appended to what they yield.
Leave Lowering::mergeLeaves(Exit exit, ArrayRef<Flow> flows, Merging &merging) {
  const Leave &a = flows[0][exit], &b = flows[1][exit];
  if (a.state == b.state && a.state != Leave::Maybe) return a;
  Leave leave;
  leave.state = Leave::Maybe;
  if (!needsFlag(exit)) return leave;
  if (a.state == Leave::Always && b.state == Leave::Never) {
    leave.flag = merging.condition;
    return leave;
  }
  if (a.state == Leave::Never && b.state == Leave::Always) {
    leave.flag = make<kir::UnaryOp>(merging.at, builder.getI1Type(), UnaryKind::Not, merging.condition, false, false);
    return leave;
  }
  for (unsigned side = 0; side < 2; ++side) {
    const Leave &own = flows[side][exit];
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(merging.blocks[side]);
    bool always = own.state == Leave::Always;
    merging.values[side].push_back(own.state == Leave::Maybe ? own.flag
                                                             : *literalValue(Constant::ofBool(always), builder.getI1Type(), merging.at));
  }
  return leave;
}

/// Whether control left in one of these ways, as a value at the insertion point.
Value Lowering::leftBy(const Flow &flow, ArrayRef<Exit> exits, NodeId at) {
  Value left;
  for (Exit exit : exits) {
    const Leave &leave = flow[exit];
    if (leave.state == Leave::Never) continue;
    if (leave.state == Leave::Always) return *literalValue(Constant::ofBool(true), builder.getI1Type(), at);
    left = left ? make<kir::BinaryOp>(at, left.getType(), BinaryKind::Or, left, leave.flag, false, false).getResult() : leave.flag;
  }
  return left ? left : *literalValue(Constant::ofBool(false), builder.getI1Type(), at);
}

//===- branches ----------------------------------------------------------------------------------------===//

Flow Lowering::runIf(NodeId id) {
  while (true) {
    const Node &node = request.node(id);
    FailureOr<Entity> test = evaluate(node.fields[0].id);
    if (failed(test)) return Flow::failure();
    if (std::optional<bool> taken = truth(*test)) {
      ArrayRef<NodeId> block = node.fields[*taken ? 1 : 2].list;
      bool chained = !*taken && block.size() == 1 && request.node(block[0]).kind == NodeKind::If; // elif
      if (!chained) return runBlock(block);
      id = block[0];
      continue;
    }
    FailureOr<Value> condition = asCondition(*test, node.fields[0].id, "if");
    if (failed(condition)) return Flow::failure();
    SmallVector<NodeId> both(node.fields[1].list.begin(), node.fields[1].list.end());
    llvm::append_range(both, node.fields[2].list);
    return branch(*condition, id, both, [&](unsigned side) { return runBlock(node.fields[1 + side].list); });
  }
}

/// Lowers the two sides of a run-time condition; `statements` are those that they lower. Where one side leaves, the statements behind the
/// branch go into the other one, and wait no longer.
Flow Lowering::branch(Value condition, NodeId at, ArrayRef<NodeId> statements, llvm::function_ref<Flow(unsigned)> lower) {
  if (failed(enterRegion(at))) return Flow::failure();
  llvm::SaveAndRestore<unsigned> nesting(regionDepth, regionDepth + 1);
  Frame &frame = frames.back();
  kir::IfOp open = openIf(condition, at);
  Merging merging;
  merging.condition = condition;
  merging.at = at;
  merging.blocks[0] = &open.getThenRegion().front();
  merging.blocks[1] = &open.getElseRegion().front();
  std::string place = placed("'if'", at);
  const std::map<std::string, Entity> before = frame.names;
  std::map<std::string, Entity> after[2] = {before, before};
  SmallVector<Flow> flows(2);
  SmallVector<NodeId> lowered(statements);
  auto enter = [&](unsigned side, llvm::function_ref<Flow()> run) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(merging.blocks[side]);
    frame.names = after[side];
    flows[side] = run();
    after[side] = frame.names;
    return !flows[side].failed;
  };
  for (unsigned side = 0; side < 2; ++side)
    if (!enter(side, [&] { return lower(side); })) return Flow::failure();
  ArrayRef<NodeId> &rest = frame.pending.back();
  if (!rest.empty() && flows[0].next != flows[1].next) {
    ArrayRef<NodeId> follows = rest;
    rest = {};
    unsigned side = flows[0].next ? 0 : 1;
    Flow first = flows[side];
    bool done = enter(side, [&] { return first.leavesAtAll() ? runGuarded(first, follows, at) : runBlock(follows); });
    if (!done) return Flow::failure();
    llvm::append_range(lowered, follows);
  }
  frame.names = before;
  Flow flow;
  flow.next = flows[0].next || flows[1].next;
  bool leaves = flows[0].leavesAtAll() || flows[1].leavesAtAll();
  llvm::StringSet<> asked; // names that waiting statements mention, where control may leave
  size_t body = frame.loops.empty() ? 0 : frame.loops.back().pending;
  if (leaves)
    for (ArrayRef<NodeId> waiting : ArrayRef(frame.pending).drop_front(body))
      collectNames(waiting, asked);
  std::vector<std::pair<std::string, Entity>> merged;
  for (const std::string &name : assignedNames(lowered)) {
    bool carried = !frame.loops.empty() && llvm::is_contained(frame.loops.back().carried, name);
    if (leaves && !carried && !asked.contains(name)) {
      merged.emplace_back(name, Entity::ofText(Entity::Unbound, "is assigned in only one branch of " + place));
      continue;
    }
    if (!flow.next && !flows[0].leavesLoopBody() && !flows[1].leavesLoopBody()) continue; // nothing sees it again
    auto a = after[0].find(name), b = after[1].find(name);
    const Entity *first = a == after[0].end() ? nullptr : &a->second, *second = b == after[1].end() ? nullptr : &b->second;
    if (!first && !second) continue;
    std::optional<Entity> entity = mergeName(first, second, flows, carried, merging);
    if (!entity) { // an error where the name is used
      if (!first || !second) entity = Entity::ofText(Entity::Unbound, "is assigned in only one branch of " + place);
      else if (first->kind == Entity::Unbound || second->kind == Entity::Unbound)
        entity = first->kind == Entity::Unbound ? *first : *second;
      else entity = Entity::ofText(Entity::Unbound, "differs after the branches of " + place + ": " + merging.problem);
    }
    merged.emplace_back(name, *entity);
  }
  bool returns[] = {flows[0].leavesBy(Exit::Return), flows[1].leavesBy(Exit::Return)};
  if (returns[0] || returns[1]) {
    merging.problem.clear();
    bool both = returns[0] && returns[1];
    unsigned side = returns[0] ? 0 : 1;
    std::optional<Entity> result = both ? merge(flows[0].result, flows[1].result, merging) : fill(flows[side].result, side, merging);
    if (!result) {
      if (both) {
        InFlightDiagnostic diagnostic = error(at);
        diagnostic << "both branches of the if return one type, got " << merging.problem;
        for (const Flow &own : flows)
          note(diagnostic, own.returned, describe(own.result) + " is returned here");
      } else {
        error(flows[side].returned) << "a function returns " << describe(flows[side].result) << " from a branch of " << place
                                    << ", where it is made";
      }
      return Flow::failure();
    }
    flow.result = *result;
    flow.returned = flows[side].returned;
  }
  constexpr Exit exits[] = {Exit::Break, Exit::Continue, Exit::Return};
  for (Exit exit : exits)
    if (flows[0].leavesBy(exit) || flows[1].leavesBy(exit)) flow[exit] = mergeLeaves(exit, flows, merging);
  kir::IfOp op = closeIf(open, merging, at);
  size_t next = 0;
  for (auto &[name, entity] : merged) {
    bindMerged(entity, op.getResults(), next);
    frame.names[name] = entity;
  }
  bindMerged(flow.result, op.getResults(), next);
  for (Exit exit : exits) {
    bool yielded = flow[exit].state == Leave::Maybe && !flow[exit].flag && needsFlag(exit);
    if (yielded) flow[exit].flag = op.getResult(next++);
  }
  auto isEmpty = [](Region &region) { return llvm::hasSingleElement(region.front()); };
  if (leaves && op->getNumResults() == 0 && isEmpty(op.getThenRegion()) && isEmpty(op.getElseRegion())) op.erase();
  return flow;
}

/// The statements behind others that may have left.
Flow Lowering::runGuarded(const Flow &flow, ArrayRef<NodeId> rest, NodeId at) {
  SmallVector<Exit> exits;
  for (Exit exit : {Exit::Break, Exit::Continue, Exit::Return})
    if (flow.leavesBy(exit)) exits.push_back(exit);
  Flow left = flow;
  left.next = false;
  if (exits.size() == 1) left[exits[0]].state = Leave::Always;
  frames.back().pending.push_back({});
  Flow whole = branch(leftBy(flow, exits, at), at, rest, [&](unsigned side) { return side == 0 ? left : runBlock(rest); });
  frames.back().pending.pop_back();
  return whole;
}
