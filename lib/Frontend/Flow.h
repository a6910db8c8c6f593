// How control leaves statements, and what lowering a run-time branch or an ordered loop keeps at hand.
#ifndef INTENT_FRONTEND_FLOW_H
#define INTENT_FRONTEND_FLOW_H

#include "Entity.h"

namespace intent::frontend {

enum class Exit { Break, Continue, Return };

/// Whether control leaves in one of these ways.
struct Leave {
  enum State { Never, Maybe, Always } state = Never;
  mlir::Value flag; // of Maybe: true where it does; null where nothing behind asks
};

/// What statements do with control.
struct Flow {
  bool failed = false;
  bool next = true; // what stands behind them may run
  Leave leaves[3];  // by Exit
  Entity result;    // of Return
  NodeId returned = noNode; // the first statement that does so

  static Flow failure() {
    Flow flow;
    flow.failed = true;
    flow.next = false;
    return flow;
  }
  static Flow of(mlir::LogicalResult result) { return mlir::succeeded(result) ? Flow() : failure(); }
  static Flow leave(Exit exit) {
    Flow flow;
    flow.next = false;
    flow[exit].state = Leave::Always;
    return flow;
  }
  static Flow giveBack(Entity result, NodeId statement) {
    Flow flow = leave(Exit::Return);
    flow.result = std::move(result);
    flow.returned = statement;
    return flow;
  }
  Leave &operator[](Exit exit) { return leaves[static_cast<int>(exit)]; }
  const Leave &operator[](Exit exit) const { return leaves[static_cast<int>(exit)]; }
  bool leavesBy(Exit exit) const { return (*this)[exit].state != Leave::Never; }
  bool leavesLoopBody() const { return leavesBy(Exit::Break) || leavesBy(Exit::Continue); }
  bool leavesAtAll() const { return leavesLoopBody() || leavesBy(Exit::Return); }
};

/// Two branches being merged: what each yields, in one order.
struct Merging {
  mlir::Value condition;
  mlir::Block *blocks[2];
  llvm::SmallVector<mlir::Value> values[2];
  NodeId at = noNode;
  std::string problem; // why two entities have no common schema
};

/// An ordered loop being lowered. `open` holds its blocks until the body has shown which operation it is.
struct OrderedLoop {
  NodeId node = noNode;
  const Entity *domain = nullptr; // of a `for`
  std::string variable, place;
  std::vector<std::string> assigned, carried;
  std::vector<Entity> schema; // of the carried names
  std::optional<Flow> tried;  // how a trial of the body ended, if literals made one necessary
  llvm::SmallVector<mlir::Value> inits, yielded;
  kir::WhileOp open;
  mlir::Block *condition = nullptr, *body = nullptr;
  Entity test; // of a `while`: its condition, in the condition block
};

} // namespace intent::frontend

#endif
