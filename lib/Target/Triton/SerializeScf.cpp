// Structured control: Python loops and branches over variables that keep their type and shape.
#include "Serializer.h"

using namespace mlir;
using namespace intent;
using namespace intent::block;
using namespace intent::emission;

namespace intent::triton {

// The value at its exact type: full shape, own dtype, 64 bits for an index.
std::string KernelSerializer::carriedText(Value value) {
  Rendered text = render(value);
  Type type = value.getType(), element = elementType(type);
  if (element.isIndex() && (widths.kind(value) != IndexKind::Wide || text.form <= Form::Argument))
    text = text.form == Form::Literal
               ? Rendered{{"tl.full((), " + text.expression.text + ", tl.int64)", Precedence::Atom}, Form::Scalar, text.dense}
               : convert(text, "tl.int64");
  if (isa<FragmentType>(type)) return fullText(text, type);
  return typed(text, element).expression.text;
}

// The author's name of a carry: on the carry itself, on what it becomes, or on what it starts from.
std::string KernelSerializer::carryName(Value carried, Value yielded, Value init) {
  for (Value value : {carried, yielded, init})
    if (StringRef name = authorName(value.getLoc()); !name.empty()) return names.declare(name);
  return names.declare(yielded.getDefiningOp<ContractOp>() ? "acc" : "carry");
}

// `a, b = x, y` where an assignment would disturb a later one; else one line each.
void KernelSerializer::assignAll(ArrayRef<std::string> targets, ValueRange values) {
  SmallVector<std::pair<std::string, std::string>> assignments;
  for (auto [target, value] : llvm::zip_equal(targets, values)) {
    std::string text = carriedText(value);
    if (text != target) assignments.push_back({target, text});
  }
  bool disturbs = false;
  for (size_t i = 0; i < assignments.size(); ++i)
    for (size_t j = i + 1; j < assignments.size(); ++j)
      disturbs |= mentions(assignments[j].second, assignments[i].first);
  if (!disturbs) {
    for (auto &[target, text] : assignments)
      out.line(target + " = " + text);
    return;
  }
  std::string left, right;
  for (auto [i, assignment] : llvm::enumerate(assignments)) {
    left += (i ? ", " : "") + assignment.first;
    right += (i ? ", " : "") + assignment.second;
  }
  out.line(left + " = " + right);
}

// The author's name, or `n0` where the chunk's lanes are n.
static std::string inductionName(scf::ForOp op) {
  Value iv = op.getInductionVar();
  if (StringRef author = authorName(iv.getLoc()); !author.empty()) return author.str();
  for (Operation *user : iv.getUsers())
    if (auto lanes = dyn_cast<LanesOp>(user); lanes && lanes.getBase() == iv) {
      if (StringRef name = authorName(lanes.getLoc()); !name.empty()) return (name + "0").str();
      ExprAttr extent = lanes.getType().getExtents()[0];
      StringRef symbol = extent.getKind() == ExprKind::Parameter ? extent.getSymbol().getValue() : StringRef();
      if (symbol.size() > 1) return symbol.drop_front().lower() + "0";
    }
  return "i";
}

// The type that a loop's variable takes.
static StringRef rangeType(IndexKind kind) {
  switch (kind) {
  case IndexKind::Literal: return "int32";
  case IndexKind::Raw: return "argument";
  case IndexKind::Index: return "INDEX";
  case IndexKind::Wide: return "int64";
  }
}

// scf.for %n0 = %c0 to %N step %bn iter_args(...) -> for n0 in range(0, N, BN):
LogicalResult KernelSerializer::emitFor(scf::ForOp op) {
  comment(op);
  SmallVector<std::string> carries;
  auto yield = cast<scf::YieldOp>(op.getBody()->getTerminator());
  for (auto [argument, init, result, yielded] :
       llvm::zip_equal(op.getRegionIterArgs(), op.getInits(), op.getResults(), yield.getOperands())) {
    auto found = variables.find(init);
    unsigned rank = extentsOf(init.getType()).size();
    bool exact = found != variables.end() && found->second.dense.count() == rank && found->second.form >= Form::Scalar &&
                 !elementType(init.getType()).isIndex();
    // A variable that only this loop reads becomes the carry itself.
    bool local = init.getDefiningOp() || isa<scf::ForOp>(init.getParentBlock()->getParentOp());
    bool owned = exact && local && init.hasOneUse() && init.getParentBlock() == op->getBlock();
    std::string name = owned ? found->second.name : carryName(argument, yielded, init);
    if (!owned) out.line(name + " = " + carriedText(init));
    Variable variable{name, rank ? Form::Block : Form::Scalar, SmallBitVector(rank, true)};
    variables[argument] = variable;
    variables[result] = variable;
    holders[name] = result;
    loopCarries[argument] = name;
    carries.push_back(name);
  }
  if (module.failed) return failure();
  Rendered lower = render(op.getLowerBound()), upper = render(op.getUpperBound()), step = render(op.getStep());
  std::string range = upper.expression.text;
  bool unit = step.form == Form::Literal && step.expression.text == "1";
  if (!unit || lower.form != Form::Literal || lower.expression.text != "0") range = lower.expression.text + ", " + range;
  if (!unit) range += ", " + step.expression.text;
  names.push();
  masks.emplace_back();
  std::string iv = names.declareLoopVariable(inductionName(op), rangeType(widths.kind(op.getInductionVar())));
  variables[op.getInductionVar()] = {iv, Form::Argument, {}};
  out.line("for " + iv + " in range(" + range + "):");
  {
    TextStream::Indent indent(out);
    size_t before = out.str().size();
    if (failed(emitBlock(*op.getBody()))) return failure();
    assignAll(carries, yield.getOperands());
    if (out.str().size() == before) out.line("pass");
  }
  names.pop();
  masks.pop_back();
  return success();
}

// scf.if %c -> if c: ... else: ...; results are variables that both branches assign.
LogicalResult KernelSerializer::emitIf(scf::IfOp op) {
  comment(op);
  SmallVector<std::string> results;
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    Value thenValue = op.thenYield().getOperand(i);
    std::string name = carryName(result, thenValue, op.elseYield().getOperand(i));
    unsigned rank = extentsOf(result.getType()).size();
    variables[result] = {name, rank ? Form::Block : Form::Scalar, SmallBitVector(rank, true)};
    holders[name] = result;
    results.push_back(name);
  }
  out.line("if " + render(op.getCondition()).expression.text + ":");
  NameScope::Taken used;
  auto branch = [&](Region &region) -> LogicalResult {
    TextStream::Indent indent(out);
    names.push(used);
    masks.emplace_back();
    size_t before = out.str().size();
    if (failed(emitBlock(region.front()))) return failure();
    assignAll(results, region.front().getTerminator()->getOperands());
    if (out.str().size() == before) out.line("pass");
    names.pop(used);
    masks.pop_back();
    return success();
  };
  if (failed(branch(op.getThenRegion()))) return failure();
  if (op.getElseRegion().empty()) return success();
  if (op.getNumResults() == 0 && llvm::hasSingleElement(op.getElseRegion().front())) return success();
  out.line("else:");
  return branch(op.getElseRegion());
}

// scf.while -> go = condition; while go: body; go = condition
LogicalResult KernelSerializer::emitWhile(scf::WhileOp op) {
  comment(op);
  ::mlir::Block &before = op.getBefore().front(), &after = op.getAfter().front();
  auto condition = cast<scf::ConditionOp>(before.getTerminator());
  auto yield = cast<scf::YieldOp>(after.getTerminator());
  auto bind = [&](Value value, const std::string &name) {
    unsigned rank = extentsOf(value.getType()).size();
    variables[value] = {name, rank ? Form::Block : Form::Scalar, SmallBitVector(rank, true)};
  };
  // The state on entry of the condition, and what it passes on.
  SmallVector<std::string> state, passed;
  for (auto [argument, init, yielded] : llvm::zip_equal(before.getArguments(), op.getInits(), yield.getOperands())) {
    std::string name = carryName(argument, yielded, init);
    out.line(name + " = " + carriedText(init));
    bind(argument, name);
    state.push_back(name);
  }
  std::string go;
  for (auto [i, argument, result, value] : llvm::enumerate(after.getArguments(), op.getResults(), condition.getArgs())) {
    auto own = dyn_cast<BlockArgument>(value);
    bool same = own && own.getOwner() == &before;
    std::string name = same ? state[own.getArgNumber()] : carryName(argument, value, result);
    bind(argument, name);
    bind(result, name);
    holders[name] = result;
    passed.push_back(name);
  }
  go = names.declare("go");
  auto test = [&]() -> LogicalResult {
    // Masks that the condition names hold for the state of its own printing.
    masks.emplace_back();
    if (failed(emitBlock(before))) return failure();
    assignAll(passed, condition.getArgs());
    out.line(go + " = " + typed(render(condition.getCondition()), condition.getCondition().getType()).expression.text);
    masks.pop_back();
    return success();
  };
  if (failed(test())) return failure();
  out.line("while " + go + ":");
  TextStream::Indent indent(out);
  names.push();
  masks.emplace_back();
  if (failed(emitBlock(after))) return failure();
  assignAll(state, yield.getOperands());
  if (failed(test())) return failure();
  names.pop();
  masks.pop_back();
  return success();
}

} // namespace intent::triton
