// How statements come about: what is written in place, what gets a name and which, comments, line breaks.
#include "Serializer.h"

using namespace mlir;
using namespace intent;
using namespace intent::block;
using namespace intent::emission;

namespace intent::triton {

static constexpr unsigned lineWidth = 120;

InFlightDiagnostic KernelSerializer::unsupported(Operation *op) {
  module.failed = true;
  return op->emitError("provider surface: ");
}

// Always written where they are used: what costs nothing and reads better in place.
bool KernelSerializer::isTransparent(Operation *op) {
  if (isa<ConstantOp, ParamOp, BroadcastOp>(op)) return true;
  auto compare = dyn_cast<CompareOp>(op);
  if (!compare || !elementType(compare.getLhs().getType()).isIndex() || !authorName(op->getLoc()).empty()) return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    if (auto broadcast = operand.getDefiningOp<BroadcastOp>()) operand = broadcast.getValue();
    return variables.contains(operand) || isa_and_nonnull<ConstantOp, ParamOp>(operand.getDefiningOp());
  });
}

bool KernelSerializer::mayInline(Operation *op) {
  if (!isa<UnaryOp, BinaryOp, CompareOp, SelectOp, CastOp, BitcastOp, FmaOp, TransposeOp>(op) || !op->hasOneUse()) return false;
  Operation *user = *op->user_begin();
  if (user->getBlock() != op->getBlock()) return false;
  return authorName(op->getLoc()).empty() || isa<scf::YieldOp>(user);
}

// Whether no text after `point` mentions the value. Text of an inlined operation stands where that is used.
bool KernelSerializer::usedUpBy(Value value, Operation *point) {
  for (Operation *user : value.getUsers()) {
    Operation *ancestor = point->getBlock()->findAncestorOpInBlock(*user);
    if (!ancestor) return false;
    // A descriptor's access writes the base of its lanes again.
    if (isa<LanesOp>(user) && !descriptorNames.empty() && !usedUpBy(user->getResult(0), point)) return false;
    if (ancestor == point) continue;
    if (ancestor == user && (inlined.contains(user) || isTransparent(user))) {
      for (Value result : user->getResults())
        if (!usedUpBy(result, point)) return false;
      continue;
    }
    if (!ancestor->isBeforeInBlock(point)) return false;
  }
  return true;
}

// `x_tile` for an unnamed load of x, and so on.
static StringRef defaultName(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op) return "carry";
  if (isa<ContractOp>(op)) return "acc";
  if (isa<CompareOp>(op) || elementType(value.getType()).isInteger(1)) return "holds";
  if (elementType(value.getType()).isIndex()) return "index";
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    std::optional<BinaryKind> kind = builtinCombine(reduce.getCombine());
    if (kind == BinaryKind::Add) return "total";
    if (kind == BinaryKind::Maximum) return "largest";
    if (kind == BinaryKind::Minimum) return "smallest";
    return "reduced";
  }
  if (isa<AtomicOp, CompareExchangeOp>(op)) return "held";
  if (isa<ScanOp>(op)) return "running";
  if (auto unary = dyn_cast<UnaryOp>(op)) return stringifyUnaryKind(unary.getKind());
  return "value";
}

// Near the lanes of a tile of BM, m; else what the operation gives.
static std::string stemFor(Value value, StringRef view) {
  if (StringRef name = authorName(value.getLoc()); !name.empty()) return name.str();
  if (value.getDefiningOp<LoadOp>()) return (view + (isa<FragmentType>(value.getType()) ? "_tile" : "_value")).str();
  if (auto lanes = value.getDefiningOp<LanesOp>()) {
    ExprAttr extent = lanes.getType().getExtents()[0];
    StringRef symbol = extent.getKind() == ExprKind::Parameter ? extent.getSymbol().getValue() : StringRef();
    if (symbol.size() > 1 && (symbol.front() == 'B' || symbol.front() == 'C')) return symbol.drop_front().lower();
    return "lanes";
  }
  return defaultName(value).str();
}

// A name returns to its next value once nothing mentions the one before, as the author assigns a name again.
std::string KernelSerializer::nameFor(Value value) {
  // The condition of a while prints twice, with the same names.
  if (auto found = variables.find(value); found != variables.end()) return found->second.name;
  auto load = value.getDefiningOp<LoadOp>();
  std::string stem = identifierFrom(stemFor(value, load ? StringRef(variables[load.getView()].name) : StringRef()));
  bool named = load || !authorName(value.getLoc()).empty();
  if (auto holder = holders.find(stem); named && holder != holders.end() && names.innermost().contains(stem)) {
    Value before = holder->second;
    if (before.getDefiningOp() && before.getParentBlock() == value.getParentBlock() && usedUpBy(before, value.getDefiningOp())) {
      for (auto &scope : masks)
        for (StringRef text : llvm::to_vector(scope.keys()))
          if (mentions(text, stem)) scope.erase(text);
      holder->second = value;
      return stem;
    }
  }
  std::string name = names.declare(stem);
  holders[name] = value;
  return name;
}

// The variable of the loop carry that `value` becomes, when nothing still needs the carry's old value.
std::string KernelSerializer::carryTarget(Value value) {
  for (OpOperand &use : value.getUses()) {
    auto yield = dyn_cast<scf::YieldOp>(use.getOwner());
    if (!yield || yield->getBlock() != value.getParentBlock()) continue;
    auto loop = dyn_cast<scf::ForOp>(yield->getParentOp());
    if (!loop) continue;
    Value carry = loop.getRegionIterArg(use.getOperandNumber());
    auto found = loopCarries.find(carry);
    bool index = elementType(value.getType()).isIndex();
    if (found != loopCarries.end() && !index && value.getDefiningOp() && usedUpBy(carry, value.getDefiningOp())) {
      // Another carry that yields the old value would see the new one.
      if (llvm::count(yield.getOperands(), carry) == 0) return found->second;
    }
  }
  return {};
}

// One comment an author's line.
void KernelSerializer::comment(Operation *op) {
  std::optional<FileLineColLoc> position = authorPosition(op->getLoc());
  if (!position || !position->getFilename().getValue().ends_with(".py")) return;
  std::pair<std::string, unsigned> line{position->getFilename().getValue().rsplit('/').second.str(), position->getLine()};
  if (line.first.empty()) line.first = position->getFilename().getValue().str();
  if (lastPosition == line) return;
  lastPosition = line;
  out.line("# " + line.first + ":" + Twine(line.second));
  StringRef fresh = StringRef(out.str()).drop_front(counted);
  counted = out.str().size();
  lineBreaks += fresh.count('\n');
  lines.push_back({lineBreaks + 1, line.first, line.second});
}

// `prefix callee(arguments) suffix`, one argument a line where it is long.
void KernelSerializer::statement(const std::string &prefix, const std::string &callee, ArrayRef<std::string> arguments, StringRef suffix) {
  std::string flat = prefix + callee + "(" + llvm::join(arguments, ", ") + ")" + suffix.str();
  if (out.column() + flat.size() <= lineWidth) return out.line(flat);
  out.line(prefix + callee + "(");
  {
    TextStream::Indent indent(out);
    for (const std::string &argument : arguments)
      out.line(argument + ",");
  }
  out.line(")" + suffix);
}

void KernelSerializer::define(Value value, Rendered text) {
  std::string name = carryTarget(value);
  bool carried = !name.empty();
  if (!carried) name = nameFor(value);
  bool full = carried;
  out.line(name + " = " + (full ? fullText(text, value.getType()) : text.expression.text));
  if (full)
    variables[value] = {name, isa<FragmentType>(value.getType()) ? Form::Block : Form::Scalar, SmallBitVector(text.dense.size(), true)};
  else
    variables[value] = {name, text.form == Form::Literal && !elementType(value.getType()).isIndex() ? Form::Literal : text.form,
                        text.dense};
}

void KernelSerializer::define(Value value, const std::string &callee, ArrayRef<std::string> arguments, Rendered text, StringRef suffix) {
  std::string name = carryTarget(value);
  bool carried = !name.empty();
  // A carry keeps its full shape.
  if (carried && text.form == Form::Block && !text.dense.all()) {
    carried = false;
    name.clear();
  }
  if (name.empty()) name = nameFor(value);
  statement(name + " = ", callee, arguments, suffix);
  variables[value] = {name, text.form, text.dense};
}

} // namespace intent::triton
