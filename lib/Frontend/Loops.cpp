// Ordered loops with carries, while loops, and parallel loops.
#include "Lowering.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace intent;
using namespace intent::frontend;

std::string Lowering::placed(StringRef what, NodeId node) { return ("the " + what + " at line " + Twine(request.node(node).line)).str(); }

Flow Lowering::runFor(NodeId id) {
  const Node &node = request.node(id);
  if (!node.fields[3].list.empty()) {
    error(node.fields[3].list.front()) << "a loop has no else in the language";
    return Flow::failure();
  }
  FailureOr<Entity> source = evaluate(node.fields[1].id);
  if (failed(source) || failed(enterRegion(id))) return Flow::failure();
  llvm::SaveAndRestore<unsigned> nesting(regionDepth, regionDepth + 1);
  if (source->kind == Entity::Parallel) return runParallel(id, *source);
  if (source->kind == Entity::Domain) return runOrdered(id, &*source);
  error(node.fields[1].id) << "a loop runs over a domain, range(...) or I.parallel(...), got " << describe(*source);
  return Flow::failure();
}

Flow Lowering::runWhile(NodeId id) {
  const Node &node = request.node(id);
  if (!node.fields[2].list.empty()) {
    error(node.fields[2].list.front()) << "a loop has no else in the language";
    return Flow::failure();
  }
  if (failed(enterRegion(id))) return Flow::failure();
  llvm::SaveAndRestore<unsigned> nesting(regionDepth, regionDepth + 1);
  return runOrdered(id, nullptr);
}

static bool isCarriable(const Entity &entity) {
  if (entity.isProduct()) return llvm::all_of(entity.items(), isCarriable);
  return entity.kind == Entity::Value || entity.isUntyped();
}

static ArrayRef<NodeId> bodyOf(const Node &loop) { return loop.fields[loop.kind == NodeKind::While ? 1 : 2].list; }

/// Lowers the statements of a loop whose block is ready. Names that it binds and does not carry have no value at its start
/// or after it.
Flow Lowering::loopBody(NodeId id, ArrayRef<std::string> assigned, ArrayRef<std::string> carried, bool parallel, const Twine &loop) {
  Frame &frame = frames.back();
  for (const std::string &name : assigned) {
    auto found = frame.names.find(name);
    if (found == frame.names.end() || llvm::is_contained(carried, name)) continue;
    if (found->second.kind != Entity::Unbound)
      found->second =
          Entity::ofText(Entity::Unbound, ("is updated in " + loop + " and is not carried from one iteration to the next").str());
  }
  frame.loops.push_back({parallel, frame.pending.size(), carried});
  Flow flow = runBlock(bodyOf(request.node(id)));
  frame.loops.pop_back();
  return flow;
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

/// Removes the entries behind the first `kept` ones from the tables. Names of values outside of the trial go if only it knew
/// them.
void Lowering::takeBack(size_t kept, size_t knownLeaves, Operation *trial) {
  std::vector<Entry> remaining;
  for (; entered.size() > kept; entered.pop_back()) {
    Entry &entry = entered.back();
    switch (entry.table) {
    case Entry::Extent: extents.erase(entry.value); break;
    case Entry::Representative: representatives.erase(entry.value); break;
    case Entry::Expression: expressions[entry.key].pop_back(); break;
    case Entry::Symbol: {
      if (trial->isAncestor(entry.symbol)) break;
      unsigned number = 0;
      StringRef name = cast<kir::SymbolOp>(entry.symbol).getName();
      if (!name.drop_front().getAsInteger(10, number) && number >= knownLeaves) entry.symbol->erase();
      else remaining.push_back(entry);
      break;
    }
    }
  }
  entered.insert(entered.end(), remaining.begin(), remaining.end());
}

/// The element types of the carries' components. A literal that starts a carry takes the dtype that the body gives it, or else
/// the first that it meets in the condition and the body; one trial of them finds it. Null for a number that is open in the
/// trial of an outer loop and stays so.
FailureOr<SmallVector<Type>> Lowering::carryElements(OrderedLoop &loop) {
  NodeId id = loop.node;
  std::vector<Entity> parts;
  bool literal = false;
  for (const std::string &name : loop.carried)
    if (failed(flatten(frames.back().names[name], id, parts, "carry '" + Twine(name) + "'"))) return failure();
  SmallVector<Type> elements;
  for (const Entity &part : parts) {
    literal |= part.isUntyped();
    elements.push_back(part.isUntyped() ? Type() : kir::elementType(part.value.getType()));
  }
  if (!literal) return elements;
  // The trial leaves nothing behind but names of outer values. What it changes is taken back one by one, since copies of all
  // that is known would make long kernels quadratic.
  std::map<std::string, std::optional<Entity>> savedNames;
  auto &names = frames.back().names;
  auto save = [&](const std::string &name) {
    auto before = names.find(name);
    savedNames[name] = before == names.end() ? std::nullopt : std::optional<Entity>(before->second);
  };
  llvm::for_each(loop.assigned, save);
  if (loop.domain) save(loop.variable);
  size_t savedChecked = checked.size(), savedLeaves = leaves.size(), savedEntries = entered.size();
  ++trials;
  std::vector<std::shared_ptr<Type>> contexts;
  SmallVector<Type> given; // by the body: null for a number without a dtype
  SmallVector<Type> kinds;
  {
    ScopedDiagnosticHandler quiet(context, [](Diagnostic &) { return success(); });
    OpBuilder::InsertionGuard guard(builder);
    auto trial = make<kir::WhileOp>(id, TypeRange(), ValueRange());
    trial.getCondition().emplaceBlock();
    Block &body = trial.getBody().emplaceBlock();
    builder.setInsertionPointToStart(&body);
    if (loop.domain) frames.back().names[loop.variable] = Entity::ofValue(body.addArgument(builder.getIndexType(), location(id)));
    for (const std::string &name : loop.carried)
      names[name] = mapLeaves(names[name], [&](const Entity &part) {
        contexts.push_back(std::make_shared<Type>());
        return part.isUntyped() ? openNumber(defaultElement(part), {contexts.back()}) : part;
      });
    if (!loop.domain) (void)evaluate(request.node(id).fields[0].id);
    loop.tried = loopBody(id, loop.assigned, loop.carried, false, loop.place);
    std::vector<Entity> after;
    for (const std::string &name : loop.carried)
      if (loop.tried->failed || failed(flatten(frames.back().names[name], id, after, name))) break;
    for (const Entity &part : after) {
      given.push_back(part.kind == Entity::Value ? kir::elementType(part.value.getType()) : Type());
      kinds.push_back(part.isUntyped() ? defaultElement(part) : Type());
    }
    takeBack(savedEntries, savedLeaves, trial);
    trial.erase();
  }
  --trials;
  checked.resize(savedChecked);
  for (const auto &[name, entity] : savedNames) {
    if (entity) names[name] = *entity;
    else names.erase(name);
  }
  for (auto [i, part] : llvm::enumerate(parts)) {
    if (elements[i]) continue;
    bool known = given.size() == parts.size();
    elements[i] = known && given[i] ? given[i] : *contexts[i];
    if (elements[i]) meet(part, elements[i]);
    else if (part.kind != Entity::Open) elements[i] = known && kinds[i] ? kinds[i] : defaultElement(part);
  }
  return elements;
}

/// A `for` without `break` and `return` is a `kir.for`; any other ordered loop is a `kir.while`.
Flow Lowering::runOrdered(NodeId id, const Entity *domain) {
  const Node &node = request.node(id);
  Frame &frame = frames.back();
  OrderedLoop loop;
  loop.node = id;
  loop.domain = domain;
  loop.place = placed("loop", id);
  NodeId target = domain ? node.fields[0].id : noNode;
  if (domain && request.node(target).kind != NodeKind::Name) {
    error(target) << "the variable of a loop over one domain is a name";
    return Flow::failure();
  }
  if (domain) loop.variable = request.node(target).fields[0].text;
  loop.assigned = assignedNames(bodyOf(node));
  llvm::erase(loop.assigned, loop.variable); // the body may rebind it, for the rest of the iteration
  for (const std::string &name : loop.assigned) {
    auto found = frame.names.find(name);
    if (found != frame.names.end() && isCarriable(found->second)) loop.carried.push_back(name);
  }
  FailureOr<SmallVector<Type>> elements = carryElements(loop);
  if (failed(elements)) return Flow::failure();
  for (const std::string &name : loop.carried) {
    std::vector<Entity> parts;
    if (failed(flatten(frame.names[name], id, parts, name))) return Flow::failure();
    loop.schema.push_back(frame.names[name]);
    for (const Entity &part : parts) {
      FailureOr<Value> init = asValue(part, id, (*elements)[loop.inits.size()]);
      if (failed(init)) return Flow::failure();
      loop.inits.push_back(*init);
    }
  }
  // A trial of the loop around it asks for types alone, which this loop's own trial has found.
  if (trials && loop.tried && !loop.tried->failed && !loop.tried->leavesBy(Exit::Return)) {
    std::vector<Entity> before = loop.schema;
    bindAfter(loop, loop.inits);
    size_t at = 0;
    for (auto [name, entity] : llvm::zip_equal(loop.carried, before))
      frame.names[name] = mapLeaves(entity, [&](const Entity &part) {
        size_t i = at++;
        return (*elements)[i] ? Entity::ofValue(loop.inits[i]) : part;
      });
    return Flow();
  }
  if (trials > 1 && loop.tried && loop.tried->failed) return Flow::failure();
  const std::map<std::string, Entity> before = frame.names;
  loop.open = make<kir::WhileOp>(id, TypeRange(), ValueRange());
  OpBuilder::InsertionGuard guard(builder);
  loop.condition = &loop.open.getCondition().emplaceBlock();
  loop.body = &loop.open.getBody().emplaceBlock();
  auto enter = [&](Block *block) {
    size_t first = block->getNumArguments(), next = 0;
    for (Value init : loop.inits)
      block->addArgument(init.getType(), init.getLoc());
    SmallVector<Value> arguments(block->getArguments().drop_front(first));
    for (auto [name, entity] : llvm::zip_equal(loop.carried, loop.schema))
      frame.names[name] = rebuild(entity, arguments, next);
    builder.setInsertionPointToStart(block);
  };
  if (domain) {
    Location loc = NameLoc::get(builder.getStringAttr(loop.variable), location(target));
    frame.names[loop.variable] = Entity::ofValue(loop.body->addArgument(builder.getIndexType(), loc));
  } else {
    NodeId at = node.fields[0].id;
    enter(loop.condition);
    FailureOr<Entity> test = evaluate(at);
    if (failed(test)) return Flow::failure();
    loop.test = *test;
    std::optional<bool> known = truth(*test);
    if (known == false) {
      frame.names = before;
      builder.setInsertionPointAfter(loop.open);
      loop.open.erase();
      return Flow();
    }
    if (!known && failed(asCondition(*test, at, "while"))) return Flow::failure();
  }
  enter(loop.body);
  Flow flow = loopBody(id, loop.assigned, loop.carried, false, loop.place);
  if (flow.failed) return flow;
  if (loop.test.kind == Entity::Literal && !flow.leavesBy(Exit::Break) && !flow.leavesBy(Exit::Return)) {
    error(node.fields[0].id) << "the loop does not end: its condition is always true, and it has no break and no return";
    return Flow::failure();
  }
  for (auto [name, entity] : llvm::zip_equal(loop.carried, loop.schema)) {
    std::vector<Entity> parts;
    const Entity &now = frame.names[name];
    if (now.kind == Entity::Unbound) {
      error(id) << "carry '" << name << "' of " << loop.place << " " << now.text;
      return Flow::failure();
    }
    if (failed(matchStructure(entity, now, id, "carry '" + Twine(name) + "'")) || failed(flatten(now, id, parts, name)))
      return Flow::failure();
    for (const Entity &part : parts) {
      FailureOr<Value> value = carriedValue(name, part, loop.inits[loop.yielded.size()].getType(), id);
      if (failed(value)) return Flow::failure();
      loop.yielded.push_back(*value);
    }
  }
  return closeOrdered(loop, flow);
}

/// The loop operation takes over the blocks. Carries of a `kir.while`: the coordinate of a `for`, whether the loop was left, whether by
/// return where break does too, what it returns, then the carried names.
Flow Lowering::closeOrdered(OrderedLoop &loop, const Flow &flow) {
  NodeId id = loop.node;
  bool breaks = flow.leavesBy(Exit::Break), returns = flow.leavesBy(Exit::Return);
  SmallVector<Value> results; // of the carried names
  Flow after;
  if (loop.domain && !breaks && !returns) {
    make<kir::YieldOp>(id, loop.yielded);
    builder.setInsertionPoint(loop.open);
    auto op = make<kir::ForOp>(id, ValueRange(loop.inits).getTypes(), loop.domain->value, loop.inits);
    op.getBody().takeBody(loop.open.getBody());
    results.assign(op.result_begin(), op.result_end());
  } else {
    SmallVector<Value> inits, yields;
    auto carry = [&](Value yield, llvm::function_ref<Value()> init) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(loop.open);
      inits.push_back(init());
      yields.push_back(yield);
      unsigned position = inits.size() - 1;
      bool isCoordinate = loop.domain && position == 0;
      Location at = isCoordinate ? loop.body->getArgument(0).getLoc() : location(id);
      loop.condition->insertArgument(position, yield.getType(), at);
      if (!isCoordinate) loop.body->insertArgument(position, yield.getType(), at);
    };
    auto carryZero = [&](Value yield) { carry(yield, [&] { return zeroOf(yield.getType(), id); }); };
    if (loop.domain) {
      Value next = indexOp(BinaryKind::Add, loop.body->getArgument(0), loop.domain->region->step, id);
      carry(next, [&] { return loop.domain->region->begin; });
    }
    std::optional<unsigned> left, returned;
    if (breaks || returns) {
      left = inits.size();
      carryZero(leftBy(flow, {Exit::Break, Exit::Return}, id));
    }
    if (returns) returned = left;
    if (breaks && returns) {
      returned = inits.size();
      carryZero(leftBy(flow, Exit::Return, id));
    }
    SmallVector<Value> values;
    unsigned firstValue = inits.size();
    if (returns) {
      std::optional<Entity> result = escape(flow.result, *loop.body, values, id);
      if (!result) {
        error(flow.returned) << "a function returns " << describe(flow.result) << " from " << loop.place << ", where it is made";
        return Flow::failure();
      }
      after.result = *result;
      after.returned = flow.returned;
      for (Value value : values)
        carryZero(value);
    }
    if (loop.domain)
      for (Value init : loop.inits)
        loop.condition->addArgument(init.getType(), init.getLoc());
    unsigned firstCarried = inits.size();
    llvm::append_range(inits, loop.inits);
    llvm::append_range(yields, loop.yielded);
    make<kir::YieldOp>(id, yields);
    stopCondition(loop, left ? loop.condition->getArgument(*left) : Value());
    builder.setInsertionPoint(loop.open);
    auto op = make<kir::WhileOp>(id, ValueRange(inits).getTypes(), inits);
    op.getCondition().takeBody(loop.open.getCondition());
    op.getBody().takeBody(loop.open.getBody());
    results.assign(op.result_begin() + firstCarried, op.result_end());
    if (returns) {
      bool endless = loop.test.kind == Entity::Literal && !breaks;
      after.next = !endless;
      after[Exit::Return] = {endless ? Leave::Always : Leave::Maybe, op.getResult(*returned)};
      size_t next = firstValue;
      bindMerged(after.result, op.getResults(), next);
    }
  }
  loop.open.erase();
  bindAfter(loop, results);
  return after;
}

/// What names are behind the loop; `results`: the components of its carries.
void Lowering::bindAfter(const OrderedLoop &loop, ArrayRef<Value> results) {
  size_t next = 0;
  auto &names = frames.back().names;
  for (const std::string &name : loop.assigned)
    names[name] = Entity::ofText(Entity::Unbound, "is assigned only inside " + loop.place);
  if (loop.domain)
    names[loop.variable] = Entity::ofText(Entity::Unbound, "is the variable of " + loop.place + " and has no value after it");
  for (auto [name, entity] : llvm::zip_equal(loop.carried, loop.schema))
    names[name] = rebuild(entity, results, next);
}

/// Ends the condition block. `left`, where there is one, says that the loop was left: its condition is not evaluated then.
void Lowering::stopCondition(OrderedLoop &loop, Value left) {
  OpBuilder::InsertionGuard guard(builder);
  Block &block = *loop.condition;
  NodeId id = loop.node;
  Type boolean = builder.getI1Type();
  builder.setInsertionPointToEnd(&block);
  Value more;
  if (loop.domain) more = make<kir::CompareOp>(id, boolean, ComparePredicate::Lt, block.getArgument(0), loop.domain->region->end);
  else if (loop.test.kind != Entity::Literal) more = *asCondition(loop.test, request.node(id).fields[0].id, "while");
  if (left && more && !llvm::all_of(block, [](Operation &op) { return isMemoryEffectFree(&op); })) {
    auto op = kir::IfOp::create(builder, location(id), TypeRange(boolean), left);
    Block &then = op.getThenRegion().emplaceBlock(), &otherwise = op.getElseRegion().emplaceBlock();
    otherwise.getOperations().splice(otherwise.end(), block.getOperations(), block.begin(), Block::iterator(op));
    builder.setInsertionPointToEnd(&otherwise);
    make<kir::YieldOp>(id, more);
    builder.setInsertionPointToEnd(&then);
    Value no = *literalValue(Constant::ofBool(false), boolean, id);
    make<kir::YieldOp>(id, no);
    more = op.getResult(0);
  } else if (left) {
    Value stays = make<kir::UnaryOp>(id, boolean, UnaryKind::Not, left, false, false);
    more = more ? make<kir::BinaryOp>(id, boolean, BinaryKind::And, stays, more, false, false).getResult() : stays;
  }
  builder.setInsertionPointToEnd(&block);
  make<kir::YieldOp>(id, more);
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
    if (failed(assign(target, tuple ? Entity::ofTuple(coordinates) : coordinates[0], target))) return Flow::failure();
    for (const std::string &name : variables)
      llvm::erase(assigned, name);
    if (loopBody(id, assigned, {}, true, place).failed) return Flow::failure();
    make<kir::YieldOp>(id);
  }
  if (failed(checkConflicts(loop, place))) return Flow::failure();
  auto &after = frames.back().names;
  for (const std::string &name : assigned)
    after[name] = Entity::ofText(Entity::Unbound, "is assigned only inside " + place);
  for (const std::string &name : variables)
    after[name] = Entity::ofText(Entity::Unbound, "is the variable of " + place + " and has no value after it");
  return Flow();
}
