// The structural families: one predicate each over facts of the current program, first match wins. Names, sources and
// logical programs play no part.
#include "Families.h"
#include "intent/Tuning/Tuning.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace intent;
using namespace intent::block;

namespace {

// An axis of lanes is known by its extent: each class of axes has its own parameter or constant.
using Axes = llvm::SmallSetVector<Attribute, 4>;

struct Facts {
  bool contracts = false, regionContracts = false, persistent = false, narrowOperands = true;
  bool scans = false, reduces = false, stateful = false, storesReduced = false;
  unsigned reductions = 0; // over different sets of axes
  bool lanes = false, transposes = false, narrowAccesses = true;
  Axes dense; // axes that some access of two or more lane axes walks in memory order
};

bool isUnit(ExprAttr extent) { return extent.getConstant() == 1; }

class Collector {
public:
  explicit Collector(ProgramOp program) : program(program) {}

  Facts collect() {
    // Reductions first: stores ask which axes they reduce.
    program.walk([&](ReduceOp op) { reduce(op); });
    program.walk([&](Operation *op) {
      facts.scans |= isa<ScanOp>(op) && !isControl(op);
      if (auto contract = dyn_cast<ContractOp>(op)) this->contract(contract);
      else if (auto load = dyn_cast<LoadOp>(op)) access(load.getView(), load.getCoordinates(), load.getResult().getType());
      else if (auto store = dyn_cast<StoreOp>(op)) this->store(store);
      else if (auto transpose = dyn_cast<TransposeOp>(op)) facts.transposes |= !elementType(transpose.getResult().getType()).isInteger(1);
      for (Type type : op->getResultTypes())
        facts.lanes |= isa<FragmentType>(type);
    });
    llvm::SmallVector<Axes> different;
    for (auto &entry : axesOf) {
      if (llvm::none_of(different, [&](const Axes &seen) {
            return seen.size() == entry.second.size() && llvm::all_of(entry.second, [&](Attribute a) { return seen.contains(a); });
          }))
        different.push_back(entry.second);
    }
    facts.reductions = different.size();
    return facts;
  }

private:
  // Where an instance works and how long, which indices and conditions say: no work of the author's, who stores what he wants.
  static bool isControl(Operation *op) {
    if (op->getNumResults() != 1) return false;
    llvm::SmallPtrSet<Value, 8> seen;
    return elementType(op->getResult(0).getType()).isIndex() ? !isStored(op->getResult(0), seen) : decidesLoop(op->getResult(0));
  }
  static bool isStored(Value value, llvm::SmallPtrSetImpl<Value> &seen) {
    if (!seen.insert(value).second) return false;
    return llvm::any_of(value.getUses(), [&](OpOperand &use) {
      Operation *user = use.getOwner();
      if (auto store = dyn_cast<StoreOp>(user)) return store.getValue() == value;
      if (isa<LoadOp, LanesOp, CompareOp>(user)) return false; // a place
      if (auto loop = dyn_cast<scf::ForOp>(user)) {
        unsigned number = use.getOperandNumber(), bounds = loop.getNumControlOperands();
        return number >= bounds && isStored(loop.getResult(number - bounds), seen);
      }
      if (auto yield = dyn_cast<scf::YieldOp>(user)) {
        Operation *around = yield->getParentOp();
        if (isa<scf::WhileOp>(around)) return false; // what a search ends with says where
        if (auto loop = dyn_cast<scf::ForOp>(around); loop && isStored(loop.getRegionIterArg(use.getOperandNumber()), seen)) return true;
        return isStored(around->getResult(use.getOperandNumber()), seen);
      }
      return llvm::any_of(user->getResults(), [&](Value result) { return isStored(result, seen); });
    });
  }
  static bool decidesLoop(Value value) {
    return llvm::any_of(value.getUsers(), [](Operation *user) {
      return isa<scf::ConditionOp>(user) || (isa<BinaryOp, ReduceOp>(user) && decidesLoop(user->getResult(0)));
    });
  }

  // A reduce of nothing but another reduce's result is the same reduction over one more axis.
  void reduce(ReduceOp op) {
    if (isControl(op)) return;
    facts.reduces = true;
    facts.stateful |= op.getValues().size() > 1;
    auto inner = op.getValues().front().getDefiningOp<ReduceOp>();
    Operation *root = op;
    if (inner) {
      auto found = rootOf.find(inner);
      root = found != rootOf.end() ? found->second : inner.getOperation();
    }
    rootOf[op] = root;
    ExprAttr axis = extentsOf(op.getValues().front().getType())[op.getAxis()];
    axesOf[root].insert(axis);
    if (!isUnit(axis)) reduced.insert(axis);
  }

  void contract(ContractOp op) {
    facts.contracts = true;
    facts.narrowOperands &= storageBytes(elementType(op.getLhs().getType())) <= 2;
    for (Operation *parent = op->getParentOp(); parent && parent != program; parent = parent->getParentOp())
      if (auto loop = dyn_cast<scf::ForOp>(parent)) {
        facts.persistent |= stepsBy(loop, Role::Workers);
        facts.regionContracts |= stepsBy(loop, Role::Scan);
      }
  }

  bool stepsBy(scf::ForOp loop, Role role) {
    auto step = loop.getStep().getDefiningOp<ParamOp>();
    if (!step) return false;
    bool found = false;
    step.getValue().walkExpr([&](ExprAttr leaf) {
      if (leaf.getKind() != ExprKind::Parameter) return;
      ParameterAttr parameter = program.lookupParameter(leaf.getSymbol());
      found |= parameter && parameter.getRole() == role;
    });
    return found;
  }

  void store(StoreOp op) {
    access(op.getView(), op.getCoordinates(), op.getValue().getType());
    for (Value coordinate : op.getCoordinates())
      for (ExprAttr extent : extentsOf(coordinate.getType()))
        facts.storesReduced |= reduced.contains(extent);
  }

  void access(Value view, OperandRange coordinates, Type value) {
    facts.narrowAccesses &= storageBytes(elementType(view.getType())) <= 2;
    if (llvm::count_if(extentsOf(value), [](ExprAttr e) { return !isUnit(e); }) < 2) return;
    std::optional<unsigned> axis = unitStrideAxis(view, coordinates.size());
    if (!axis) return;
    ArrayRef<ExprAttr> extents = extentsOf(coordinates[*axis].getType());
    if (extents.size() == 1 && !isUnit(extents[0])) facts.dense.insert(extents[0]);
  }

  // The view axis whose neighbours are neighbours in memory: the one declared with stride one, else the last.
  std::optional<unsigned> unitStrideAxis(Value view, unsigned rank) {
    if (!rank) return std::nullopt;
    auto argument = dyn_cast<BlockArgument>(view);
    if (argument && argument.getOwner()->getParentOp() == program && argument.getArgNumber() < program.getNumPublicArguments())
      if (auto declared = dyn_cast<ViewArgumentAttr>(program.getInterfaceOf(argument.getArgNumber())); declared && declared.getStrides())
        for (auto [axis, stride] : llvm::enumerate(declared.getStrides()))
          if (auto integer = dyn_cast<IntegerAttr>(stride); integer && integer.getInt() == 1 && axis < rank) return axis;
    return rank - 1;
  }

  ProgramOp program;
  Facts facts;
  llvm::DenseMap<Operation *, Operation *> rootOf;
  llvm::MapVector<Operation *, Axes> axesOf;
  Axes reduced;
};

struct Family {
  llvm::StringLiteral name;
  llvm::StringLiteral predicate; // for people: what `matches` asks, given that no family above matches
  bool (*matches)(const Facts &);
};

const Family families[] = {
    {"region_contraction_narrow", "a contraction in a loop over the chunks of a fold or region scan, operands of 16 bits or fewer",
     [](const Facts &f) { return f.regionContracts && f.narrowOperands; }},
    {"region_contraction", "a contraction in a loop over the chunks of a fold or region scan",
     [](const Facts &f) { return f.regionContracts; }},
    {"persistent_contraction_narrow",
     "a contraction in a loop over tiles that strides by the number of workers, operands of 16 bits or fewer",
     [](const Facts &f) { return f.contracts && f.persistent && f.narrowOperands; }},
    {"persistent_contraction", "a contraction in a loop over tiles that strides by the number of workers",
     [](const Facts &f) { return f.contracts && f.persistent; }},
    {"contraction_narrow", "a contraction, all operands of 16 bits or fewer",
     [](const Facts &f) { return f.contracts && f.narrowOperands; }},
    {"contraction", "a contraction", [](const Facts &f) { return f.contracts; }},
    {"scan", "a scan outside of a contraction's program", [](const Facts &f) { return f.scans; }},
    {"stateful_reduction", "a reduction that carries two or more components", [](const Facts &f) { return f.stateful; }},
    {"multi_axis_reduction", "reductions over two or more different axes", [](const Facts &f) { return f.reductions > 1; }},
    {"pointwise_reduction", "reductions, and a store along a reduced axis", [](const Facts &f) { return f.reduces && f.storesReduced; }},
    {"reduction", "a reduction", [](const Facts &f) { return f.reduces; }},
    {"pointwise_two_axis_narrow", "a transpose, or two axes that accesses walk in memory order; no access wider than 16 bits",
     [](const Facts &f) { return (f.transposes || f.dense.size() > 1) && f.narrowAccesses; }},
    {"pointwise_two_axis", "a transpose, or two axes that accesses walk in memory order",
     [](const Facts &f) { return f.transposes || f.dense.size() > 1; }},
    {"pointwise_narrow", "element-wise work on lanes, no access wider than 16 bits",
     [](const Facts &f) { return f.lanes && f.narrowAccesses; }},
    {"pointwise", "element-wise work on lanes", [](const Facts &f) { return f.lanes; }},
    {"execution", "no lanes: ordered scalar work", [](const Facts &) { return true; }},
};

} // namespace

ArrayRef<llvm::StringLiteral> intent::structuralFamilies() {
  static const auto names = [] {
    llvm::SmallVector<llvm::StringLiteral> list;
    for (const Family &family : families)
      list.push_back(family.name);
    return list;
  }();
  return names;
}

StringRef intent::selectFamily(ProgramOp program) {
  Facts facts = Collector(program).collect();
  for (const Family &family : families)
    if (family.matches(facts)) return family.name;
  return "execution";
}

StringRef intent::familyPredicate(StringRef name) {
  const Family *family = llvm::find_if(families, [&](const Family &f) { return f.name == name; });
  return family == std::end(families) ? StringRef() : StringRef(family->predicate);
}
