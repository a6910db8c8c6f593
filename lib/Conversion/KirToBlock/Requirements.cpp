// What checked programs require where no access asks: extents that must be equal, and requirements in loops that only compute.
#include "Snapshots.h"

using namespace mlir;
using namespace intent::kir;

namespace intent::conversion {

static void requireEqualExtents(Facts &facts) {
  facts.kernel.walk([&](CheckExtentOp check) {
    if ((facts.isLaunchVisible(check.getLhs()) && facts.isLaunchVisible(check.getRhs())) || !mayHoldEffects(check)) return;
    OpBuilder builder(check);
    Location loc = check.getLoc();
    Type index = builder.getIndexType();
    Value one = ConstantOp::create(builder, loc, index, builder.getIndexAttr(1));
    Value other = ExtentOp::create(builder, loc, index, check.getRhs());
    Value behind = BinaryOp::create(builder, loc, index, BinaryKind::Add, other, one, false, false);
    RequireOp::create(builder, loc, ExtentOp::create(builder, loc, index, check.getLhs()), other, behind, Value(), check.getMessage());
  });
}

namespace {
/// What the requirements inside a loop are computed from: operations, and carries of that loop and of loops inside.
class Slice {
public:
  explicit Slice(Operation *loop) : loop(loop) {
    loop->walk([&](RequireOp require) { keep(require); });
    while (!work.empty())
      follow(work.pop_back_val());
  }
  bool holds(Operation *op) const { return ops.contains(op); }
  bool holdsCarry(Operation *op, unsigned i) const { return carries.contains({op, i}); }

private:
  // An operation with what decides whether it happens.
  void keep(Operation *op) {
    if (!loop->isAncestor(op) || !ops.insert(op).second) return;
    llvm::append_range(work, isa<ForOp, WhileOp>(op) ? op->getOperands().drop_back(Carries(op).size()) : op->getOperands());
    if (auto repeat = dyn_cast<WhileOp>(op)) work.push_back(repeat.getCondition().front().getTerminator()->getOperand(0));
    else if (auto branch = dyn_cast<IfOp>(op))
      for (Region &region : branch->getRegions())
        llvm::append_range(work, region.front().getTerminator()->getOperands());
    else if (!isa<ForOp>(op) && op->getNumRegions()) // a structured operation stays whole
      op->walk([&](Operation *inner) {
        keep(inner);
        for (unsigned i = 0; isa<ForOp, WhileOp>(inner) && i < Carries(inner).size(); ++i)
          keepCarry(inner, i);
      });
    for (Type type : op->getResultTypes())
      keepAtoms(type);
    if (auto extent = dyn_cast<ExtentOp>(op)) keepAtoms(extent.getExtent());
    if (op != loop) keep(op->getParentOp());
  }
  void keepCarry(Operation *op, unsigned i) {
    if (!carries.insert({op, i}).second) return;
    work.push_back(Carries(op).inits()[i]);
    work.push_back(Carries(op).next(i));
  }
  void keepAtoms(Type type) {
    for (ExtentAttr extent : shapeOf(type))
      keepAtoms(extent);
    if (auto domain = dyn_cast<DomainType>(type)) keepAtoms(domain.getExtent());
  }
  void keepAtoms(ExtentAttr extent) {
    for (StringAttr atom : extent.getAtoms())
      if (atoms.insert(atom).second)
        loop->walk([&](SymbolOp symbol) {
          if (symbol.getNameAttr() == atom) keep(symbol);
        });
  }
  void follow(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    Operation *op = argument ? argument.getOwner()->getParentOp() : value.getDefiningOp();
    if (!loop->isAncestor(op)) return;
    keep(op);
    if (!isa<ForOp, WhileOp>(op)) return;
    unsigned number = argument ? argument.getArgNumber() : cast<OpResult>(value).getResultNumber();
    unsigned first = argument && isa<ForOp>(op) ? 1 : 0; // a `for` has its coordinate
    if (number >= first) keepCarry(op, number - first);
  }

  Operation *loop;
  llvm::DenseSet<Operation *> ops;
  llvm::DenseSet<std::pair<Operation *, unsigned>> carries;
  llvm::DenseSet<StringAttr> atoms;
  SmallVector<Value> work;
};
} // namespace

// Leaves of a loop what its requirements need.
static void pruneToRequirements(Operation *loop) {
  Slice slice(loop);
  SmallVector<Operation *> dropped;
  SmallVector<std::pair<Operation *, llvm::BitVector>> loops; // with the carries that go, inner loops first
  loop->walk([&](Operation *op) {
    if (!op->hasTrait<OpTrait::IsTerminator>() && !slice.holds(op)) return dropped.push_back(op);
    if (!isa<ForOp, WhileOp>(op)) return;
    llvm::BitVector gone(Carries(op).size());
    for (unsigned i = 0; i < gone.size(); ++i)
      if (!slice.holdsCarry(op, i)) gone.set(i);
    op->getRegions().back().front().getTerminator()->eraseOperands(gone);
    loops.emplace_back(op, gone);
  });
  for (Operation *op : dropped)
    op->dropAllUses();
  for (Operation *op : llvm::reverse(dropped))
    op->walk([](Operation *inner) { inner->dropAllReferences(); });
  llvm::SmallPtrSet<Operation *, 8> all(dropped.begin(), dropped.end());
  for (Operation *op : dropped)
    if (!all.contains(op->getParentOp())) op->erase();
  for (auto &[op, gone] : loops)
    withoutCarries(op, gone);
}

// Atoms that a copy of a loop names are its own.
static void renameAtoms(Operation *loop, unsigned number) {
  llvm::StringMap<std::string> names;
  auto fresh = [&](StringAttr name) {
    return StringAttr::get(loop->getContext(), names[name] = (name.getValue() + "r" + Twine(number)).str());
  };
  loop->walk([&](Operation *op) {
    if (auto symbol = dyn_cast<SymbolOp>(op)) symbol.setNameAttr(fresh(symbol.getNameAttr()));
    if (auto fold = dyn_cast<RegionFoldOp>(op)) fold.setSliceAttr(fresh(fold.getSliceAttr()));
    if (auto scan = dyn_cast<RegionScanOp>(op)) scan.setSliceAttr(fresh(scan.getSliceAttr()));
  });
  if (!names.empty())
    replaceAtoms(loop, [&](StringRef atom) {
      auto found = names.find(atom);
      return found == names.end() ? atom : StringRef(found->second);
    });
}

void requireApart(Facts &facts) {
  requireEqualExtents(facts);
  SmallVector<Operation *> loops;
  facts.kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!isa<ForOp, WhileOp>(op)) return WalkResult::advance();
    bool asks = false, acts = false;
    op->walk([&](Operation *inner) { (isa<RequireOp>(inner) ? asks : acts) |= isLeafEffect(inner); });
    if (!asks || acts) return WalkResult::advance();
    loops.push_back(op);
    return WalkResult::skip();
  });
  for (auto [number, loop] : llvm::enumerate(loops)) {
    OpBuilder builder(loop);
    Operation *copy = builder.clone(*loop);
    loop->walk([](RequireOp require) { require.erase(); });
    renameAtoms(copy, number);
    pruneToRequirements(copy);
  }
}

} // namespace intent::conversion
