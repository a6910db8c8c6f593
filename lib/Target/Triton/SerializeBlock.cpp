// Statements of the block dialect: one pattern an operation, each with its text.
#include "Serializer.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace intent;
using namespace intent::block;
using namespace intent::emission;

namespace intent::triton {

static constexpr unsigned inlineWidth = 72;

// Each wave waits until its stores have reached memory that other waves see.
static constexpr StringLiteral drainText = R"(@triton.jit
def _drain():
    tl.inline_asm_elementwise(
        "s_waitcnt vmcnt(0)\n\tv_mov_b32 $0, $1", "=v,v,~{memory}", [tl.full((), 0, tl.int32)], dtype=tl.int32, is_pure=False, pack=1
    )
)";

//===- operations --------------------------------------------------------------------------------------===//

LogicalResult KernelSerializer::emitBlock(::mlir::Block &body) {
  for (Operation &op : body) {
    if (op.hasTrait<OpTrait::IsTerminator>()) continue;
    if (failed(emit(&op)) || module.failed) return failure();
  }
  return success();
}

LogicalResult KernelSerializer::emit(Operation *op) {
  if (op->use_empty() && isPure(op)) return success();
  if (isTransparent(op)) return success();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](LoadOp op) { return emitLoad(op); })
      .Case([&](StoreOp op) { return emitStore(op); })
      .Case([&](ReduceOp op) { return emitReduce(op); })
      .Case([&](ScanOp op) { return emitScan(op); })
      .Case([&](ContractOp op) { return emitContract(op); })
      .Case([&](AtomicOp op) { return emitAtomic(op); })
      .Case([&](CompareExchangeOp op) { return emitCompareExchange(op); })
      .Case([&](LanesOp op) { return emitLanes(op); })
      // block.fence -> tl.debug_barrier()
      .Case([&](FenceOp op) {
        comment(op);
        if (op->hasAttr(drainAttributeName)) out.line(helper("_drain", drainText) + "()");
        out.line("tl.debug_barrier()");
        return success();
      })
      .Case([&](scf::ForOp op) { return emitFor(op); })
      .Case([&](scf::IfOp op) { return emitIf(op); })
      .Case([&](scf::WhileOp op) { return emitWhile(op); })
      .Default([&](Operation *op) { return emitValue(op); });
}

// Element-wise: `name = expression`, or nothing where the sole use takes the expression.
LogicalResult KernelSerializer::emitValue(Operation *op) {
  if (op->getNumResults() != 1) return unsupported(op) << "no text for '" << op->getName() << "'";
  Value result = op->getResult(0);
  unsigned rank = extentsOf(result.getType()).size();
  Rendered text = renderDefinition(op, llvm::to_vector(llvm::seq<int64_t>(0, rank)), rank);
  if (module.failed) return failure();
  if (mayInline(op) && (text.expression.text.size() <= inlineWidth || isa<scf::YieldOp>(*op->user_begin()))) {
    inlined.insert(op);
    return success();
  }
  comment(op);
  define(result, text);
  return success();
}

// block.lanes %base step %one : fragment<index, [BM]> -> m = base + tl.arange(0, BM); of step -1: base - tl.arange(0, BM)
LogicalResult KernelSerializer::emitLanes(LanesOp op) {
  comment(op);
  Rendered base = render(op.getBase()), step = render(op.getStep());
  IndexKind baseKind = widths.kind(op.getBase());
  bool zero = base.form == Form::Literal && base.expression.text == "0", one = step.form == Form::Literal && step.expression.text == "1";
  std::string range = "tl.arange(0, " + extentText(op.getType().getExtents()[0]) + ")";
  if (baseKind < IndexKind::Index || !one) range += widths.kind(op) == IndexKind::Wide ? ".to(tl.int64)" : ".to(INDEX)";
  Expression lanes{range, Precedence::Atom};
  bool backward = !zero && step.form == Form::Literal && step.expression.text == "-1";
  if (!one && !backward) lanes = infix(lanes, "*", step.expression, Precedence::Multiply);
  Rendered text{zero ? lanes : infix(base.expression, backward ? "-" : "+", lanes, Precedence::Add), Form::Block, SmallBitVector(1, true)};
  define(op, text);
  return success();
}

// The stride of a view's axis: a declared number, or the private argument that holds it.
std::optional<Expression> KernelSerializer::strideText(Operation *op, BlockArgument view, unsigned axis) {
  ExprAttr stride = strideOf(program, view.getArgNumber(), axis);
  if (std::optional<int64_t> constant = stride.getConstant())
    return Expression{std::to_string(*constant), *constant < 0 ? Precedence::Unary : Precedence::Atom};
  for (auto [i, expr] : llvm::enumerate(program.getPrivates()))
    if (expr == stride)
      return Expression{variables[program.getBody().getArgument(program.getNumPublicArguments() + i)].name, Precedence::Atom};
  bool launched = false;
  stride.walkExpr([&](ExprAttr leaf) { launched |= leaf.getKind() == ExprKind::Symbol; });
  if (!launched)
    return spellExpr(stride, [](ExprAttr leaf) { return leaf.getSymbol().getValue().str(); }, {"tl.cdiv", "triton.next_power_of_2"});
  unsupported(op) << "stride " << axis << " of '" << variables[view].name << "' is no private argument; run legalisation first";
  return std::nullopt;
}

// x[m, n] -> x + m[:, None] * x_stride_m + n[None, :] * x_stride_n
Rendered KernelSerializer::pointer(Operation *op, Value view, ValueRange coordinates, ArrayAttr axes, unsigned rank, bool wide) {
  Rendered result{{variables[view].name, Precedence::Atom}, Form::Scalar, SmallBitVector(rank)};
  for (auto [i, coordinate] : llvm::enumerate(coordinates)) {
    Placement placement;
    for (Attribute axis : cast<ArrayAttr>(axes[i]))
      placement.push_back(cast<IntegerAttr>(axis).getInt());
    Rendered at = render(coordinate, placement, rank);
    if (at.form == Form::Literal && at.expression.text == "0") continue;
    std::optional<Expression> stride = strideText(op, cast<BlockArgument>(view), i);
    if (!stride) return result;
    bool unit = stride->text == "1";
    IndexKind kind = widths.kind(coordinate);
    bool first = at.form == Form::Literal && at.expression.text == "1"; // one stride further
    if (wide && kind != IndexKind::Wide && kind != IndexKind::Literal) at = convert(at, "tl.int64");
    else if (kind == IndexKind::Raw && !unit) at = convert(at, "INDEX");
    Expression term = unit ? at.expression : first ? *stride : infix(at.expression, "*", *stride, Precedence::Multiply);
    result.expression = infix(result.expression, "+", term, Precedence::Add);
    result.dense |= at.dense;
    if (at.form == Form::Block) result.form = Form::Block;
  }
  return result;
}

// valid(%vm, %vn) -> (m[:, None] < M) & (n[None, :] < N); named where several accesses share it.
std::optional<Rendered> KernelSerializer::mask(Operation *op, ValueRange validity, ArrayAttr axes, unsigned rank) {
  std::optional<Rendered> result;
  for (auto [i, valid] : llvm::enumerate(validity)) {
    Placement placement;
    for (Attribute axis : cast<ArrayAttr>(axes[i]))
      placement.push_back(cast<IntegerAttr>(axis).getInt());
    Rendered part = render(valid, placement, rank);
    if (part.form == Form::Literal && part.expression.text == "True") continue;
    if (!result) {
      result = part;
      continue;
    }
    result->expression = infix(result->expression, "&", part.expression, Precedence::BitAnd);
    result->form = std::max(result->form, part.form);
    result->dense |= part.dense;
  }
  return result;
}

// Whether a later access in the same block has the same validity.
static bool sharesValidity(Operation *op, ValueRange validity, ArrayAttr axes) {
  for (Operation *next = op->getNextNode(); next; next = next->getNextNode()) {
    bool shared = false;
    next->walk([&](Operation *inner) {
      if (auto load = dyn_cast<LoadOp>(inner)) shared |= load.getValidity() == validity && load.getValidAxes() == axes;
      if (auto store = dyn_cast<StoreOp>(inner)) shared |= store.getValidity() == validity && store.getValidAxes() == axes;
      if (auto atomic = dyn_cast<AtomicOp>(inner)) shared |= atomic.getValidity() == validity && atomic.getValidAxes() == axes;
    });
    if (shared) return true;
  }
  return false;
}

// if USE_TENSOR_DESCRIPTOR: one form; else: the other. The condition is constexpr: one of them is compiled.
void KernelSerializer::emitForms(ArrayRef<std::string> descriptorForm, llvm::function_ref<void()> pointerForm) {
  out.line("if USE_TENSOR_DESCRIPTOR:");
  {
    TextStream::Indent indent(out);
    for (const std::string &line : descriptorForm)
      out.line(line);
  }
  out.line("else:");
  TextStream::Indent indent(out);
  names.push();
  masks.emplace_back();
  pointerForm();
  masks.pop_back();
  names.pop();
}

// a_desc.load([tile_m * BM, k0])
std::string KernelSerializer::descriptorCall(Operation *op, ValueRange coordinates, StringRef method, StringRef value) {
  SmallVector<std::string> offsets;
  for (Value coordinate : coordinates)
    offsets.push_back(render(coordinate.getDefiningOp<LanesOp>().getBase()).expression.text);
  std::string text = descriptorNames[op->getAttr("triton.descriptor")] + "." + method.str() + "([" + llvm::join(offsets, ", ") + "]";
  return text + (value.empty() ? "" : ", " + value.str()) + ")";
}

// The arguments of `tl.load`; `dense` tells which axes the result has.
SmallVector<std::string> KernelSerializer::loadArguments(LoadOp op, SmallBitVector &dense) {
  unsigned rank = extentsOf(op.getType()).size();
  Rendered address = pointer(op, op.getView(), op.getCoordinates(), op.getCoordinateAxes(), rank);
  std::optional<Rendered> valid = accessMask(op, op.getValidity(), op.getValidAxes(), rank);
  dense = address.dense;
  SmallVector<std::string> arguments{accessPointer(address, valid, op.getType())};
  if (valid) {
    dense |= valid->dense;
    arguments.push_back("mask=" + valid->expression.text);
    arguments.push_back("other=" + render(op.getFill()).expression.text);
  }
  return arguments;
}

// block.load %x[%m, %n] valid(%vm, %vn) fill %zero -> x_tile = tl.load(x + ..., mask=..., other=0.0)
LogicalResult KernelSerializer::emitLoad(LoadOp op) {
  if (joinedLoads.contains(op)) return success();
  comment(op);
  if (!op->hasAttr("triton.descriptor")) {
    SmallBitVector dense;
    SmallVector<std::string> arguments = loadArguments(op, dense);
    if (module.failed) return failure();
    define(op, "tl.load", arguments, {{"", Precedence::Atom}, dense.any() ? Form::Block : Form::Scalar, dense});
    return success();
  }
  // Loads that follow each other share the branch.
  SmallVector<LoadOp> loads;
  SmallVector<std::string> lines;
  for (Operation *next = op; next; next = next->getNextNode()) {
    if (isTransparent(next)) continue;
    auto load = dyn_cast<LoadOp>(next);
    if (!load || !load->hasAttr("triton.descriptor")) break;
    unsigned rank = extentsOf(load.getType()).size();
    std::string name = nameFor(load);
    variables[load] = {name, Form::Block, SmallBitVector(rank, true)};
    loads.push_back(load);
    if (load != op) joinedLoads.insert(load);
    lines.push_back(name + " = " + descriptorCall(load, load.getCoordinates(), "load"));
  }
  emitForms(lines, [&] {
    for (LoadOp load : loads) {
      SmallBitVector dense;
      SmallVector<std::string> arguments = loadArguments(load, dense);
      statement(variables[load].name + " = ", "tl.load", arguments);
    }
  });
  return failure(module.failed);
}

// block.store %v to %y[%m, %n] valid(...) -> tl.store(y + ..., v, mask=...)
LogicalResult KernelSerializer::emitStore(StoreOp op) {
  comment(op);
  unsigned rank = extentsOf(op.getValue().getType()).size();
  Rendered value = typedAt(op.getValue(), render(op.getValue()), /*keepsType=*/false);
  auto form = [&] {
    Rendered address = pointer(op, op.getView(), op.getCoordinates(), op.getCoordinateAxes(), rank);
    std::optional<Rendered> valid = accessMask(op, op.getValidity(), op.getValidAxes(), rank);
    Rendered all = address;
    all.dense |= value.dense;
    if (valid) all.dense |= valid->dense;
    SmallVector<std::string> arguments{accessPointer(address, all, op.getValue().getType()), value.expression.text};
    if (valid) arguments.push_back("mask=" + valid->expression.text);
    statement("", "tl.store", arguments);
  };
  if (!op->hasAttr("triton.descriptor")) form();
  else emitForms({descriptorCall(op, op.getCoordinates(), "store", fullText(value, op.getValue().getType()))}, form);
  return failure(module.failed);
}

// The pointer has every axis that the mask or the value has.
std::string KernelSerializer::accessPointer(Rendered address, const std::optional<Rendered> &with, Type type) {
  if (!with || !with->dense.any() || !with->dense.test(address.dense)) return address.expression.text;
  SmallBitVector dense = address.dense | with->dense;
  std::string shape = "(";
  for (auto [axis, extent] : llvm::enumerate(extentsOf(type)))
    shape += (axis ? ", " : "") + (dense[axis] ? extentText(extent) : std::string("1"));
  if (dense.size() == 1) shape += ",";
  return "tl.broadcast_to(" + address.expression.text + ", " + shape + "))";
}

std::optional<Rendered> KernelSerializer::accessMask(Operation *op, ValueRange validity, ArrayAttr axes, unsigned rank) {
  std::optional<Rendered> valid = mask(op, validity, axes, rank);
  if (!valid) return valid;
  for (auto &scope : llvm::reverse(masks))
    if (auto found = scope.find(valid->expression.text); found != scope.end()) {
      valid->expression = {found->second, Precedence::Atom};
      return valid;
    }
  if (validity.size() > 1 && valid->expression.precedence != Precedence::Atom && sharesValidity(op, validity, axes)) {
    std::string name = names.declare("mask");
    out.line(name + " = " + valid->expression.text);
    masks.back()[valid->expression.text] = name;
    valid->expression = {name, Precedence::Atom};
  }
  return valid;
}

} // namespace intent::triton
