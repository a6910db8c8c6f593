#include "Plan.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace intent;
using namespace intent::block;
using namespace intent::block::host;

namespace intent::block::host {

bool isLazy(Operation *op) {
  return op->getNumResults() == 1 && isa<FragmentType>(op->getResult(0).getType()) &&
         isa<LanesOp, LoadOp, UnaryOp, BinaryOp, CompareOp, FmaOp, SelectOp, CastOp, BitcastOp, BroadcastOp, TransposeOp>(op);
}

SmallVector<int64_t, 4> constantExtents(Type type) {
  SmallVector<int64_t, 4> extents;
  for (ExprAttr extent : extentsOf(type))
    extents.push_back(extent.getConstant().value_or(1));
  return extents;
}

void forEachOperand(Operation *op, ArrayRef<unsigned> axes, Visit visit) {
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    SmallVector<unsigned, 4> own;
    for (int64_t axis : broadcast.getAxes())
      own.push_back(axes[axis]);
    visit(broadcast.getValue(), own);
  } else if (auto transpose = dyn_cast<TransposeOp>(op)) {
    SmallVector<unsigned, 4> own(axes.size());
    for (auto [i, axis] : llvm::enumerate(transpose.getPermutation()))
      own[axis] = axes[i];
    visit(transpose.getValue(), own);
  } else if (auto load = dyn_cast<LoadOp>(op)) {
    for (auto [i, coordinate] : llvm::enumerate(load.getCoordinates()))
      visit(coordinate, compose(axisList(load.getCoordinateAxes(), i), axes));
    for (auto [i, mask] : llvm::enumerate(load.getValidity()))
      visit(mask, compose(axisList(load.getValidAxes(), i), axes));
  } else {
    for (Value operand : op->getOperands())
      visit(operand, isa<FragmentType>(operand.getType()) ? axes : ArrayRef<unsigned>());
  }
}

ArrayRef<Value> Plan::filledIn(Operation *sink) const {
  auto it = filling.find(sink);
  return it == filling.end() ? ArrayRef<Value>() : ArrayRef<Value>(it->second);
}

const ViewFacts &Plan::factsOf(Value view) const { return views[cast<BlockArgument>(view).getArgNumber()]; }

Plan::Plan(ProgramOp program, GroupOp group, ArrayRef<ViewFacts> views, bool checked) : program(program), views(views), checked(checked) {
  SmallVector<Operation *> ops;
  group.walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops) // operands first: no question goes deep
    if (isLazy(op)) cost(op->getResult(0));
  // Users follow definitions in this order, so that the sinks of a value are known when it is reached from the end.
  for (Operation *op : llvm::reverse(ops)) {
    // What is observed of a value follows from its users: asked from the end, no question goes deep.
    for (Value result : op->getResults())
      if (isa<FragmentType>(result.getType())) guard(result);
    if (!isLazy(op)) continue;
    findSinks(op);
    decide(op->getResult(0));
    breakChain(op->getResult(0));
  }
  for (Operation *op : ops)
    if (isLazy(op) && isMaterialised(op->getResult(0))) fuse(op->getResult(0));
}

void Plan::findSinks(Operation *op) {
  Value value = op->getResult(0);
  llvm::SmallPtrSet<Operation *, 4> found;
  for (Operation *user : value.getUsers()) {
    if (!isLazy(user) || isMaterialised(user->getResult(0))) found.insert(user);
    else found.insert_range(sinks[user->getResult(0)]);
  }
  sinks[value] = std::move(found);
}

SmallVector<Operation *, 4> Plan::sinksOf(Value value) const {
  llvm::SmallPtrSet<Operation *, 4> found;
  auto at = [&](Operation *user) {
    Operation *filler = filledBy(user->getResult(0));
    found.insert(filler ? filler : user);
  };
  for (Operation *user : value.getUsers()) {
    if (!isLazy(user)) found.insert(user);
    else if (isMaterialised(user->getResult(0))) at(user);
    else
      for (Operation *sink : sinks.lookup(user->getResult(0))) {
        if (isLazy(sink)) at(sink);
        else found.insert(sink);
      }
  }
  return SmallVector<Operation *, 4>(found.begin(), found.end());
}

// Work of one element, roughly in vector instructions. What varies only along outer axes is hoisted and counts nothing.
int Plan::cost(Value value) {
  auto it = costs.find(value);
  if (it != costs.end()) return it->second;
  Operation *op = value.getDefiningOp();
  if (!op || !isLazy(op)) return 0;
  int own = llvm::TypeSwitch<Operation *, int>(op)
                .Case<UnaryOp>([](UnaryOp unary) {
                  switch (unary.getKind()) {
                  case UnaryKind::Neg:
                  case UnaryKind::Not:
                  case UnaryKind::Abs:
                  case UnaryKind::Floor:
                  case UnaryKind::Ceil: return 1;
                  case UnaryKind::Sqrt:
                  case UnaryKind::Rsqrt: return 6;
                  default: return 12;
                  }
                })
                .Case<BinaryOp>([](BinaryOp binary) {
                  bool index = elementType(binary.getType()).isIndex();
                  switch (binary.getKind()) {
                  case BinaryKind::Div: return 6;
                  case BinaryKind::FloorDiv:
                  case BinaryKind::Mod: return index ? 4 : 12;
                  case BinaryKind::Pow: return 20;
                  default: return index ? 0 : 1;
                  }
                })
                .Case<LoadOp>([&](LoadOp load) {
                  unsigned rank = extentsOf(load.getType()).size();
                  std::optional<int64_t> stride = accessStep(load.getView(), load.getCoordinates(), load.getCoordinateAxes(), rank - 1);
                  return stride == 1 || stride == 0 ? 2 : 8;
                })
                .Case<LanesOp, BroadcastOp, TransposeOp>([](Operation *) { return 0; })
                .Default([](Operation *) { return 1; });
  int total = own;
  unsigned rank = extentsOf(value.getType()).size();
  forEachOperand(op, identityAxes(rank), [&](Value operand, ArrayRef<unsigned> axes) {
    if (llvm::is_contained(axes, rank - 1)) total += cost(operand);
  });
  return costs[value] = std::min(total, 1000);
}

static bool isInside(Operation *op, Operation *loop) { return loop->isProperAncestor(op); }

// The value is evaluated again for every step of a loop that does not change it.
static bool isRepeatedByLoop(Value value, Operation *sink) {
  ::mlir::Block *block = value.getParentBlock();
  for (Operation *parent = sink->getParentOp(); parent && parent != block->getParentOp(); parent = parent->getParentOp())
    if (isa<scf::ForOp, scf::WhileOp>(parent) && !isInside(value.getDefiningOp(), parent)) return true;
  return false;
}

// A broadcast puts a repeated axis outside one of the value's own.
bool Plan::repeatedByBroadcast(Value value) const {
  for (Operation *user : value.getUsers()) {
    auto broadcast = dyn_cast<BroadcastOp>(user);
    if (!broadcast) continue;
    SmallVector<int64_t, 4> extents = constantExtents(broadcast.getType());
    ArrayRef<int64_t> axes = broadcast.getAxes();
    if (axes.empty()) continue;
    for (int64_t axis = 0; axis < axes.back(); ++axis)
      if (extents[axis] > 1 && !llvm::is_contained(axes, axis)) return true;
  }
  return false;
}

void Plan::decide(Value value) {
  const auto &reached = sinks[value];
  if (reached.empty() || isTransparent(value.getDefiningOp())) return;
  if (checked && isa<LoadOp>(value.getDefiningOp())) {
    kept.insert(value);
    return;
  }
  if (auto load = value.getDefiningOp<LoadOp>())
    for (Operation *sink : reached)
      if (isClobbered(load, sink)) {
        kept.insert(value);
        return;
      }
  constexpr int expensive = 8;
  int work = cost(value);
  bool repeated = llvm::any_of(reached, [&](Operation *sink) { return isRepeatedByLoop(value, sink); });
  bool load = isa<LoadOp>(value.getDefiningOp());
  bool byLane = llvm::any_of(reached, [](Operation *sink) { return isa<AtomicOp, CompareExchangeOp, ScatterReduceOp>(sink); });
  if (work >= expensive && (reached.size() > 1 || repeated || byLane || repeatedByBroadcast(value))) kept.insert(value);
  else if (load && repeated && work > 2) kept.insert(value);
}

// Evaluation recurses from a sink to what is in memory.
void Plan::breakChain(Value value) {
  constexpr unsigned longest = 500;
  unsigned length = 0;
  for (Operation *user : value.getUsers())
    if (isLazy(user) && !isMaterialised(user->getResult(0))) length = std::max(length, lengths.lookup(user->getResult(0)) + 1);
  if (length >= longest && !sinks[value].empty() && !isTransparent(value.getDefiningOp())) kept.insert(value);
  else lengths[value] = length;
}

//===- who fills a materialised fragment ---------------------------------------------------------------===//

// Every path from `from` to `value` keeps positions, and there is one.
static bool reachesInPlace(Value from, Value value) {
  SmallVector<Value> work{from};
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value at = work.pop_back_val();
    if (at == value) return true;
    Operation *op = at.getDefiningOp();
    if (!op || !isLazy(op) || isa<BroadcastOp, TransposeOp, LanesOp, LoadOp>(op) || !seen.insert(at).second) continue;
    llvm::append_range(work, op->getOperands());
  }
  return false;
}

void Plan::fuse(Value value) {
  Operation *op = value.getDefiningOp();
  if (checked) return;
  // The first sink must come before every other one: its block is the value's own.
  Operation *first = nullptr;
  for (Operation *sink : sinks[value]) {
    Operation *ancestor = op->getBlock()->findAncestorOpInBlock(*sink);
    if (!ancestor) return;
    if (!first || ancestor->isBeforeInBlock(first)) first = ancestor;
  }
  if (!first || !sinks[value].contains(first)) return;
  bool same = false;
  if (auto reduce = dyn_cast<ReduceOp>(first))
    same = llvm::any_of(reduce.getValues(), [&](Value v) {
      return v.getType() == withElement(value.getType(), elementType(v.getType())) && reachesInPlace(v, value);
    });
  else if (auto store = dyn_cast<StoreOp>(first))
    same = extentsOf(store.getValue().getType()) == extentsOf(value.getType()) && reachesInPlace(store.getValue(), value);
  if (!same) return;
  // The loads under it move to the sink.
  SmallVector<Value> work{value};
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value v = work.pop_back_val();
    Operation *def = v.getDefiningOp();
    if (!def || !isLazy(def) || !seen.insert(v).second || (v != value && isMaterialised(v) && !fused.count(v))) continue;
    if (auto load = dyn_cast<LoadOp>(def); load && isClobbered(load, first)) return;
    llvm::append_range(work, def->getOperands());
  }
  fused[value] = first;
  filling[first].push_back(value);
}

//===- loads that cannot move to their sink -------------------------------------------------------------===//

bool Plan::mayAlias(Value a, Value b, bool &identical) const {
  identical = a == b;
  if (a == b) return true;
  // A workspace is nobody else's memory.
  for (Value view : {a, b})
    if (cast<BlockArgument>(view).getArgNumber() >= ProgramOp(program).getNumPublicArguments()) return false;
  auto name = [&](Value view) {
    auto kernel = cast<KernelOp>(program->getParentOp());
    auto argument = dyn_cast<ViewArgumentAttr>(kernel.getInterface()[cast<BlockArgument>(view).getArgNumber()]);
    return argument ? argument.getName() : StringAttr();
  };
  StringAttr left = name(a), right = name(b);
  auto kernel = cast<KernelOp>(program->getParentOp());
  for (auto overlap : kernel.getOverlaps().getAsRange<OverlapPermissionAttr>()) {
    bool match = (overlap.getLhs() == left && overlap.getRhs() == right) || (overlap.getLhs() == right && overlap.getRhs() == left);
    if (!match) continue;
    identical = overlap.getPermission() == Overlap::Identical;
    return overlap.getPermission() != Overlap::Disjoint;
  }
  return true;
}

// The view that an operation writes elements of; null for others.
static Value writtenView(Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<StoreOp, ScatterReduceOp, AtomicOp, CompareExchangeOp>([](auto access) { return access.getView(); })
      .Default(Value());
}

// Accesses of other instances are seen across it.
static bool isOrdering(Operation *op) {
  if (auto atomic = dyn_cast<AtomicOp>(op)) return atomic.getOrder() != MemoryOrder::Relaxed;
  if (auto exchange = dyn_cast<CompareExchangeOp>(op)) return exchange.getOrder() != MemoryOrder::Relaxed;
  return false;
}

bool Plan::clobbersIn(LoadOp load, Operation *op) {
  return op
      ->walk([&](Operation *inner) {
        bool identical;
        if (isa<FenceOp>(inner) || isOrdering(inner)) return WalkResult::interrupt();
        Value written = writtenView(inner);
        return written && mayAlias(load.getView(), written, identical) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

// A path from the store's value to the load that moves positions.
static bool movesPositions(Value from, Value load, bool moved) {
  using Step = std::pair<Value, char>; // a value, and whether positions have moved on the way to it
  SmallVector<Step> work{{from, moved}};
  llvm::DenseSet<Step> seen;
  while (!work.empty()) {
    Step at = work.pop_back_val();
    if (at.first == load && at.second) return true;
    Operation *op = at.first.getDefiningOp();
    if (at.first == load || !op || !isLazy(op) || !seen.insert(at).second) continue;
    for (Value operand : op->getOperands())
      work.push_back({operand, at.second || isa<BroadcastOp, TransposeOp, LoadOp>(op)});
  }
  return false;
}

bool Plan::isClobbered(LoadOp load, Operation *sink) {
  Operation *last = load->getBlock()->findAncestorOpInBlock(*sink);
  if (!last) return true;
  for (Operation *op = load->getNextNode(); op && op != last; op = op->getNextNode())
    if (clobbersIn(load, op)) return true;
  // Lanes of an atomic access may collide: the lanes before one may write what it reads.
  if (last != sink || (!isa<StoreOp>(sink) && writtenView(sink))) return clobbersIn(load, last);
  auto store = dyn_cast<StoreOp>(sink);
  bool identical;
  if (!store || !mayAlias(load.getView(), store.getView(), identical)) return false;
  // Reading and writing the same element at the same position of one nest is in order.
  bool same = identical && load.getCoordinates() == store.getCoordinates() && load.getCoordinateAxes() == store.getCoordinateAxes() &&
              extentsOf(load.getType()) == extentsOf(store.getValue().getType()) &&
              !movesPositions(store.getValue(), load.getResult(), false);
  if (same)
    for (Value mask : store.getValidity())
      same &= !movesPositions(mask, load.getResult(), true);
  return !same;
}

//===- masks that are not there yet ---------------------------------------------------------------------===//

static bool isDefinedBefore(Value value, Operation *op) {
  Operation *ancestor = value.getParentBlock()->findAncestorOpInBlock(*op);
  if (!ancestor) return false;
  Operation *def = value.getDefiningOp();
  return !def || (def != ancestor && def->isBeforeInBlock(ancestor));
}

bool Plan::isAvailableAt(Value mask, Operation *op) {
  SmallVector<Value> work{mask};
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (isa<ViewType>(value.getType()) || !seen.insert(value).second) continue;
    Operation *def = value.getDefiningOp();
    bool inMemory = !def || !isLazy(def) || (isMaterialised(value) && !filledBy(value));
    auto load = dyn_cast_or_null<LoadOp>(def);
    if ((inMemory || load) && !isDefinedBefore(value, op)) return false;
    if (inMemory) continue;
    if (load && isClobbered(load, op)) return false;
    llvm::append_range(work, def->getOperands());
  }
  return true;
}

// The mask of a later store guards what is evaluated before it, but its operands may be computed in between.
Conjuncts Plan::availableAt(const Conjuncts &conjuncts, Operation *op) {
  Conjuncts result;
  for (const Conjunct &c : conjuncts)
    if (isAvailableAt(c.base, op)) result.push_back(c);
  return result;
}

//===- strides known at compile time -------------------------------------------------------------------===//

static std::optional<int64_t> constantInt(Value value) {
  if (auto constant = value.getDefiningOp<ConstantOp>())
    if (auto integer = dyn_cast<IntegerAttr>(constant.getValue())) return integer.getValue().getSExtValue();
  if (auto broadcast = value.getDefiningOp<BroadcastOp>()) return constantInt(broadcast.getValue());
  return std::nullopt;
}

std::optional<int64_t> Plan::step(Value value, unsigned axis) const {
  auto known = steps.find({value, axis});
  if (known != steps.end()) return known->second;
  std::optional<int64_t> result = computeStep(value, axis);
  steps[{value, axis}] = result;
  return result;
}

std::optional<int64_t> Plan::computeStep(Value value, unsigned axis) const {
  if (!isa<FragmentType>(value.getType())) return 0;
  Operation *op = value.getDefiningOp();
  if (!op) return std::nullopt;
  if (auto lanes = dyn_cast<LanesOp>(op)) return constantInt(lanes.getStep());
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    for (auto [i, own] : llvm::enumerate(broadcast.getAxes()))
      if (own == axis) return step(broadcast.getValue(), i);
    return 0;
  }
  if (auto transpose = dyn_cast<TransposeOp>(op)) return step(transpose.getValue(), transpose.getPermutation()[axis]);
  if (auto binary = dyn_cast<BinaryOp>(op)) {
    std::optional<int64_t> lhs = step(binary.getLhs(), axis), rhs = step(binary.getRhs(), axis);
    if (!lhs || !rhs) return std::nullopt;
    if (*lhs == 0 && *rhs == 0) return 0;
    int64_t result = 0;
    auto unless = [&](bool overflow) { return overflow ? std::nullopt : std::optional(result); };
    switch (binary.getKind()) {
    case BinaryKind::Add: return unless(llvm::AddOverflow(*lhs, *rhs, result));
    case BinaryKind::Sub: return unless(llvm::SubOverflow(*lhs, *rhs, result));
    case BinaryKind::Mul:
      if (std::optional<int64_t> factor = constantInt(binary.getRhs())) return unless(llvm::MulOverflow(*lhs, *factor, result));
      if (std::optional<int64_t> factor = constantInt(binary.getLhs())) return unless(llvm::MulOverflow(*rhs, *factor, result));
      return std::nullopt;
    default: return std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<int64_t> Plan::accessStep(Value view, ValueRange coordinates, ArrayAttr coordinateAxes, unsigned axis) const {
  const ViewFacts &facts = factsOf(view);
  int64_t total = 0;
  for (auto [i, coordinate] : llvm::enumerate(coordinates)) {
    SmallVector<unsigned, 4> axes = axisList(coordinateAxes, i);
    auto own = llvm::find(axes, axis);
    if (own == axes.end()) continue;
    std::optional<int64_t> change = step(coordinate, own - axes.begin());
    if (!change) return std::nullopt;
    if (*change == 0) continue;
    if (!facts.strides[i]) return std::nullopt;
    int64_t distance = 0;
    if (llvm::MulOverflow(*change, *facts.strides[i], distance) || llvm::AddOverflow(total, distance, total)) return std::nullopt;
  }
  return total;
}

} // namespace intent::block::host
