// Snapshots: a read gives the elements as they are where it stands, and happens where they are used. What would be replaced
// in between goes to a buffer first.
#include "Snapshots.h"

#include "Groups.h"

using namespace mlir;
using namespace intent::kir;

namespace intent::conversion {

namespace {
/// An axis along which an effect, or a pass of a loop, is done step by step.
struct Walk {
  AxisId axis;
  Operation *loop;               // the author's; null: an axis of the effect itself
  SmallVector<AxisId> outer;     // classes with one position meanwhile
  SmallVector<Effect *> writers; // leaves that its steps perform
};
} // namespace

// What each point of an effect needs, or each pass of a loop.
static DemandSet usedBy(Facts &facts, Effect &effect) {
  DemandSet used;
  if (effect.isLeaf()) {
    for (const Demand &root : effect.roots)
      facts.reach(root, used);
    return used;
  }
  Carries loop(effect.op);
  for (unsigned i = 0; i < loop.size(); ++i)
    facts.reach({loop.next(i), facts.carryCoordinates(effect.op, i)}, used);
  if (auto repeat = dyn_cast<WhileOp>(effect.op)) facts.reach({repeat.getCondition().front().getTerminator()->getOperand(0), {}}, used);
  return used;
}

static SmallVector<Walk> walksOf(Facts &facts, Effect &effect) {
  SmallVector<Walk> walks;
  auto add = [&](AxisId axis, Operation *loop, Operation *place, llvm::function_ref<bool(Effect *)> belongs) {
    Walk &walk = walks.emplace_back(Walk{axis, loop, facts.loopsAround(place), {}});
    for (auto &other : facts.effects)
      if (other->isLeaf() && belongs(other.get())) walk.writers.push_back(other.get());
  };
  for (Operation *loop = effect.isLeaf() ? effect.op->getParentOp() : effect.op; loop; loop = loop->getParentOp()) {
    auto inside = [&](Effect *other) { return loop->isAncestor(other->op); };
    if (isa<ForOp, WhileOp>(loop)) add(facts.passClass(loop), loop, loop, inside);
    if (isa<ParallelOp>(loop))
      for (AxisId id : facts.axesOf(loop))
        add(facts.find(id), loop, loop, inside);
  }
  if (effect.isLeaf())
    for (AxisId id : facts.axesOf(effect.op))
      add(facts.find(id), nullptr, effect.op, [&](Effect *other) {
        return llvm::any_of(facts.axesOf(other->op), [&](AxisId axis) { return facts.find(axis) == facts.find(id); });
      });
  return walks;
}

// An effect in the walk that replaces what later steps of it read.
static Effect *replacedBy(Facts &facts, const Demand &demand, const Walk &walk) {
  auto read = demand.first.getDefiningOp<ReadOp>();
  if (!read || !isa<KirTensorType>(read.getType()) || !facts.isVolatile(read) || facts.forwarded(read, demand.second)) return nullptr;
  if (walk.loop && walk.loop->isAncestor(read)) return nullptr; // read anew by each step
  const AxisSet &free = facts.freeAxes(demand);
  if (!walk.loop && llvm::is_contained(free, walk.axis)) return nullptr; // a traversal's own members: `keepReplaced` sees to them
  auto isFixed = [&](AxisId id) { return llvm::is_contained(walk.outer, facts.find(id)); };
  if (llvm::all_of(free, isFixed)) return nullptr; // it is there before the walk
  Access access = facts.accessOf(demand);
  for (Effect *writer : walk.writers) {
    if (viewOf(writer->op) != access.view || facts.order(writer->op) < facts.order(read)) continue;
    Access write{writer->op, access.view, facts.effectCoordinates(writer->op), true, writer};
    if (!facts.areDisjoint(access.coordinates, write.coordinates, isFixed) &&
        !meetOnlyAtOnePosition(facts, access, write, walk.axis, isFixed))
      return writer;
  }
  return nullptr;
}

LogicalResult emitReplaced(ReadOp read, Operation *by) {
  InFlightDiagnostic error = emitError(read.getLoc(), "shared gpu: what this reads is replaced before it can be used");
  error.attachNote(by->getLoc()) << "by this effect";
  return error;
}

LogicalResult findReplaced(Facts &facts, llvm::SetVector<Value> &found) {
  for (auto &effect : facts.effects) {
    DemandSet used = usedBy(facts, *effect);
    for (const Walk &walk : walksOf(facts, *effect))
      for (const Demand &demand : used.order) {
        if (found.contains(demand.first)) continue;
        Effect *writer = replacedBy(facts, demand, walk);
        if (!writer) continue;
        auto read = demand.first.getDefiningOp<ReadOp>();
        if (!canKeep(facts, read.getResult())) return emitReplaced(read, writer->op);
        found.insert(read.getResult());
      }
  }
  return success();
}

//===- buffers -----------------------------------------------------------------------------------------===//

bool mayHoldEffects(Operation *place) {
  for (Operation *scope = place->getParentOp(); !isa<KernelOp>(scope); scope = scope->getParentOp())
    if (!isa<ParallelOp, ForOp, WhileOp, IfOp>(scope)) return false;
  return true;
}

// A buffer's memory is bounded at launch.
static bool canHold(Facts &facts, Type type, Operation *place) {
  return mayHoldEffects(place) &&
         llvm::all_of(shapeOf(type), [&](ExtentAttr extent) { return facts.launchBound(extent, place).has_value(); });
}

namespace {
/// A buffer for values of one type; what it selects whole is there from where it is made.
class Buffer {
public:
  Buffer(OpBuilder &builder, Location loc, StringRef name, Type type) : type(type) {
    select(builder, loc, shapeOf(type));
    MLIRContext *context = builder.getContext();
    SmallVector<ExtentAttr> shape(shapeOf(type));
    if (!isa<KirTensorType>(type)) { // a scalar is one element
      shape.push_back(ExtentAttr::constant(context, 1));
      items.push_back(ConstantOp::create(builder, loc, builder.getIndexType(), builder.getIndexAttr(0)));
    }
    view = BufferOp::create(builder, NameLoc::get(builder.getStringAttr(name), loc),
                            kir::ViewType::get(context, elementType(type), shape, intent::Access::InOut));
  }
  /// One of the author's.
  Buffer(OpBuilder &builder, BufferOp op) : view(op) {
    kir::ViewType whole = op.getType();
    type = whole.getShape().empty() ? whole.getElement() : KirTensorType::get(op.getContext(), whole.getElement(), whole.getShape());
    select(builder, op.getLoc(), whole.getShape());
  }
  Operation *write(OpBuilder &builder, Value value) const {
    return WriteOp::create(builder, value.getLoc(), value, view, items, /*unique=*/false);
  }
  Value read(OpBuilder &builder, Location loc) const { return read(builder, loc, type, items); }
  Value read(OpBuilder &builder, Location loc, Type some, ValueRange indices, Value valid = {}) const {
    return ReadOp::create(builder, loc, some, view, indices, valid);
  }

  Type type;

private:
  void select(OpBuilder &builder, Location loc, ArrayRef<ExtentAttr> shape) {
    auto constant = [&](int64_t value) -> Value {
      return ConstantOp::create(builder, loc, builder.getIndexType(), builder.getIndexAttr(value));
    };
    Value zero = constant(0), one = constant(1);
    for (ExtentAttr extent : shape)
      items.push_back(DomainOp::create(builder, loc, DomainType::get(builder.getContext(), extent), zero,
                                       ExtentOp::create(builder, loc, builder.getIndexType(), extent), one));
  }

  Value view;
  SmallVector<Value> items;
};
} // namespace

// It goes to a buffer as soon as it is there: another one would not be in time either.
static bool isKept(Value value) {
  if (!value.hasOneUse()) return false;
  Operation *op = value.getDefiningOp();
  auto write = dyn_cast<WriteOp>(*value.user_begin());
  if (!write || write->getBlock() != op->getBlock() || !write.getView().getDefiningOp()) return false;
  for (Operation *between = op->getNextNode(); between != write; between = between->getNextNode())
    if (isLeafEffect(between) || holdsEffects(between)) return false;
  return true;
}

bool canKeep(Facts &facts, Value value) { return !isKept(value) && canHold(facts, value.getType(), value.getDefiningOp()); }

void keepInBuffer(Value value) {
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  Buffer buffer(builder, value.getLoc(), "snapshot", value.getType());
  Operation *copy = buffer.write(builder, value);
  copy->setAttr(keepsAttributeName, builder.getUnitAttr());
  Value kept = buffer.read(builder, value.getLoc());
  value.replaceAllUsesExcept(kept, copy);
}

void unwriteBuffers(KernelOp kernel) {
  kernel.walk([](BufferOp op) {
    bool again = false;
    for (Operation *scope = op->getParentOp(); scope; scope = scope->getParentOp())
      again |= isa<ForOp, WhileOp>(scope);
    if (!again) return;
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    Buffer buffer(builder, op);
    Type element = op.getType().getElement();
    Value zero = ConstantOp::create(builder, op.getLoc(), element, zeroConstant(element));
    if (isa<KirTensorType>(buffer.type)) zero = BroadcastOp::create(builder, op.getLoc(), buffer.type, zero, ArrayRef<int64_t>());
    buffer.write(builder, zero)->setAttr(unwritesAttributeName, builder.getUnitAttr());
  });
}

void keepIndexed(Facts &facts) {
  llvm::MapVector<Value, SmallVector<ExtractOp>> indexed;
  facts.kernel.walk([&](ExtractOp extract) {
    bool whole = llvm::all_of(extract.getIndices(), [](Value item) { return isa<DomainType>(item.getType()); });
    Value source = extract.getSource();
    Operation *place = source.getDefiningOp() ? source.getDefiningOp() : &source.getParentBlock()->front();
    if (!whole && canHold(facts, source.getType(), place)) indexed[source].push_back(extract);
  });
  DenseMap<Value, Value> reads; // what stands for a tensor's elements that are a source themselves
  for (auto &[indexedSource, extracts] : indexed) {
    Value source = reads.lookup(indexedSource) ? reads.lookup(indexedSource) : indexedSource;
    OpBuilder builder(source.getContext());
    builder.setInsertionPointAfterValue(source);
    auto name = dyn_cast<NameLoc>(source.getLoc());
    Buffer buffer(builder, source.getLoc(), name ? name.getName().getValue() : "tensor", source.getType());
    buffer.write(builder, source);
    for (ExtractOp extract : extracts) {
      Location loc = extract.getLoc();
      for (OpOperand &use : llvm::make_early_inc_range(extract->getUses())) {
        auto choice = dyn_cast<SelectOp>(use.getOwner());
        if (!choice || use.get() != choice.getTrueValue() || use.get() == choice.getFalseValue()) continue;
        builder.setInsertionPoint(choice); // a gather with lanes that are not valid
        Value valid = choice.getCondition();
        if (auto type = dyn_cast<KirTensorType>(extract.getType()); type && !isa<KirTensorType>(valid.getType()))
          valid = BroadcastOp::create(builder, loc, withElement(type, builder.getI1Type()), valid, ArrayRef<int64_t>());
        use.set(buffer.read(builder, loc, extract.getType(), extract.getIndices(), valid));
      }
      if (!extract->use_empty()) {
        builder.setInsertionPoint(extract);
        Value read = reads[extract.getResult()] = buffer.read(builder, loc, extract.getType(), extract.getIndices());
        extract.getResult().replaceAllUsesWith(read);
      }
      extract.erase();
    }
  }
}

void walkInOrder(Operation *loop) {
  auto forall = cast<ParallelOp>(loop);
  OpBuilder builder(forall);
  ::mlir::Block &body = forall.getBody().front();
  for (auto [domain, coordinate] : llvm::zip_equal(forall.getDomains(), body.getArguments())) {
    auto ordered = ForOp::create(builder, forall.getLoc(), TypeRange(), domain, ValueRange());
    ordered->setAttr(unorderedAttributeName, builder.getUnitAttr());
    ::mlir::Block &inside = ordered.getBody().emplaceBlock();
    coordinate.replaceAllUsesWith(inside.addArgument(coordinate.getType(), coordinate.getLoc()));
    builder.setInsertionPointToEnd(&inside);
    YieldOp::create(builder, forall.getLoc(), ValueRange());
    builder.setInsertionPointToStart(&inside);
  }
  body.getTerminator()->erase();
  builder.getInsertionBlock()->getOperations().splice(builder.getInsertionPoint(), body.getOperations());
  forall.erase();
}

bool canCarry(Facts &facts, Operation *loop) {
  if (!isa<ForOp, WhileOp>(loop)) return false;
  bool any = false;
  for (Value init : Carries(loop).inits()) {
    if (!isa<KirTensorType>(init.getType())) continue;
    any = true;
    if (!canHold(facts, init.getType(), loop)) return false;
  }
  return any;
}

Operation *withoutCarries(Operation *loop, const llvm::BitVector &gone) {
  OpBuilder builder(loop);
  SmallVector<Value> inits;
  for (auto [i, init] : llvm::enumerate(Carries(loop).inits()))
    if (!gone[i]) inits.push_back(init);
  TypeRange types = ValueRange(inits).getTypes();
  Operation *other;
  if (auto repeat = dyn_cast<ForOp>(loop)) other = ForOp::create(builder, loop->getLoc(), types, repeat.getDomain(), inits);
  else other = WhileOp::create(builder, loop->getLoc(), types, inits);
  other->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  for (auto [region, old] : llvm::zip_equal(other->getRegions(), loop->getRegions())) {
    region.takeBody(old);
    ::mlir::Block &block = region.front();
    llvm::BitVector arguments(block.getNumArguments() - gone.size()); // a `for` has its coordinate
    for (unsigned i = 0; i < gone.size(); ++i)
      arguments.push_back(gone[i]);
    block.eraseArguments(arguments);
  }
  unsigned next = 0;
  for (auto [i, result] : llvm::enumerate(loop->getResults()))
    if (!gone[i]) result.replaceAllUsesWith(other->getResult(next++));
  loop->erase();
  return other;
}

void carryInBuffers(Operation *loop) {
  Location loc = loop->getLoc();
  OpBuilder builder(loop), after(loop->getContext());
  after.setInsertionPointAfter(loop);
  Operation *yield = loop->getRegions().back().front().getTerminator();
  llvm::BitVector gone(loop->getNumResults());
  SmallVector<OpBuilder, 2> inside; // each region
  for (Region &region : loop->getRegions())
    inside.push_back(OpBuilder::atBlockBegin(&region.front()));
  for (auto [i, init] : llvm::enumerate(Carries(loop).inits())) {
    if (!isa<KirTensorType>(init.getType())) continue;
    gone.set(i);
    Buffer buffer(builder, loc, "carried", init.getType());
    buffer.write(builder, init);
    for (auto [region, begin] : llvm::zip_equal(loop->getRegions(), inside)) {
      ::mlir::Block &block = region.front();
      block.getArgument(block.getNumArguments() - gone.size() + i).replaceAllUsesWith(buffer.read(begin, loc));
    }
    OpBuilder atEnd(yield);
    buffer.write(atEnd, yield->getOperand(i));
    loop->getResult(i).replaceAllUsesWith(buffer.read(after, loc));
  }
  yield->eraseOperands(gone);
  withoutCarries(loop, gone);
}

} // namespace intent::conversion
