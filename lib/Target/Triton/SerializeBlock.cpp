// Statements of the block dialect: one pattern an operation, each with its text.
#include "Serializer.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace intent;
using namespace intent::block;
using namespace intent::emission;

namespace intent::triton {

static constexpr unsigned inlineWidth = 72;

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
      .Case([&](ContractOp op) { return emitContract(op); })
      .Case([&](LanesOp op) { return emitLanes(op); })
      // block.fence -> tl.debug_barrier()
      .Case([&](FenceOp op) {
        comment(op);
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

// block.lanes %base step %one : fragment<index, [BM]> -> m = base + tl.arange(0, BM)
LogicalResult KernelSerializer::emitLanes(LanesOp op) {
  comment(op);
  Rendered base = render(op.getBase()), step = render(op.getStep());
  IndexKind baseKind = widths.kind(op.getBase());
  bool zero = base.form == Form::Literal && base.expression.text == "0", one = step.form == Form::Literal && step.expression.text == "1";
  std::string range = "tl.arange(0, " + extentText(op.getType().getExtents()[0]) + ")";
  if (baseKind < IndexKind::Index || !one) range += widths.kind(op) == IndexKind::Wide ? ".to(tl.int64)" : ".to(INDEX)";
  Expression lanes{range, Precedence::Atom};
  if (!one) lanes = infix(lanes, "*", step.expression, Precedence::Multiply);
  Rendered text{zero ? lanes : infix(base.expression, "+", lanes, Precedence::Add), Form::Block, SmallBitVector(1, true)};
  define(op, text);
  return success();
}

// x[m, n] -> x + m[:, None] * x_stride_m + n[None, :] * x_stride_n
Rendered KernelSerializer::pointer(Operation *op, Value view, ValueRange coordinates, ArrayAttr axes, unsigned rank) {
  Rendered result{{variables[view].name, Precedence::Atom}, Form::Scalar, SmallBitVector(rank)};
  unsigned publicIndex = cast<BlockArgument>(view).getArgNumber();
  auto argument = cast<ViewArgumentAttr>(program.getInterfaceOf(publicIndex));
  for (auto [i, coordinate] : llvm::enumerate(coordinates)) {
    Placement placement;
    for (Attribute axis : cast<ArrayAttr>(axes[i]))
      placement.push_back(cast<IntegerAttr>(axis).getInt());
    Rendered at = render(coordinate, placement, rank);
    if (at.form == Form::Literal && at.expression.text == "0") continue;
    std::optional<int64_t> constant;
    if (ArrayAttr strides = argument.getStrides(); strides && i < strides.size())
      if (auto integer = dyn_cast<IntegerAttr>(strides[i])) constant = integer.getInt();
    if (widths.kind(coordinate) == IndexKind::Raw && constant != 1) at = convert(at, "INDEX");
    Expression term = at.expression;
    if (constant != 1) {
      Expression stride{constant ? std::to_string(*constant) : "", Precedence::Atom};
      if (!constant) {
        std::string symbol = (argument.getName().getValue() + ".stride." + Twine(i)).str();
        for (auto [k, expr] : llvm::enumerate(program.getPrivates().getAsRange<ExprAttr>()))
          if (expr.getKind() == ExprKind::Symbol && expr.getSymbol().getValue() == symbol)
            stride.text = variables[program.getBody().getArgument(program.getNumPublicArguments() + k)].name;
        if (stride.text.empty()) {
          unsupported(op) << "stride " << i << " of '" << argument.getName().getValue()
                          << "' is no private argument; run legalisation first";
          return result;
        }
      }
      term = infix(term, "*", stride, Precedence::Multiply);
    }
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
  Rendered value = render(op.getValue());
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

// A scalar function over a combine's values: `def _combine(a, b): ... return ...`.
std::string KernelSerializer::combineFunction(ReduceOp op) {
  ::mlir::Block &body = op.getCombine().front();
  KernelSerializer scalar(program, "", module);
  unsigned count = op.getValues().size();
  std::string parameters;
  for (auto [i, argument] : llvm::enumerate(body.getArguments())) {
    std::string base = authorName(argument.getLoc()).str();
    if (base.empty()) base = std::string(i < count ? "a" : "b") + (count > 1 ? std::to_string(i % count) : "");
    std::string name = scalar.names.declare(base);
    scalar.variables[argument] = {name, Form::Scalar, {}};
    parameters += (i ? ", " : "") + name;
  }
  {
    TextStream::Indent indent(scalar.out);
    scalar.masks.emplace_back();
    WalkResult captured = body.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (operand.getParentRegion()->isProperAncestor(&op.getCombine()) && !operand.getDefiningOp<ConstantOp>()) {
          unsupported(inner) << "a combine function uses a value from outside";
          return WalkResult::interrupt();
        }
      return WalkResult::advance();
    });
    if (captured.wasInterrupted() || failed(scalar.emitBlock(body))) return "";
    std::string results;
    for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
      results += (i ? ", " : "") + scalar.typed(scalar.render(value), elementType(value.getType())).expression.text;
    scalar.out.line("return " + results);
  }
  std::string text = "(" + parameters + "):\n" + scalar.out.take();
  std::string stem = "_combine";
  if (std::optional<BinaryKind> kind = builtinCombine(op.getCombine())) stem = "_" + stringifyBinaryKind(*kind).str();
  for (unsigned i = 0;; ++i) {
    StringAttr name = StringAttr::get(program.getContext(), stem + (i ? "_" + std::to_string(i) : ""));
    std::string whole = "@triton.jit\ndef " + name.str() + text;
    auto [entry, inserted] = module.functions.insert({name, whole});
    if (inserted || entry->second == whole) return name.str();
  }
}

// block.reduce(%x) axis 1 { add } -> tl.sum(x, axis=1); any other combine -> tl.reduce(x, 1, _maximum)
LogicalResult KernelSerializer::emitReduce(ReduceOp op) {
  comment(op);
  SmallVector<std::string> operands;
  for (Value value : op.getValues()) {
    Rendered text = render(value);
    if (elementType(value.getType()).isIndex() && widths.kind(value) != IndexKind::Wide) text = convert(text, "tl.int64");
    operands.push_back(fullText(text, value.getType()));
  }
  if (module.failed) return failure();
  auto form = [&](Value result) {
    unsigned rank = extentsOf(result.getType()).size();
    return Rendered{{"", Precedence::Atom}, rank ? Form::Block : Form::Scalar, SmallBitVector(rank, true)};
  };
  std::string axis = std::to_string(op.getAxis());
  if (op.getValues().size() == 1) {
    Value result = op.getResult(0);
    Type element = elementType(result.getType());
    std::optional<BinaryKind> kind = builtinCombine(op.getCombine());
    bool isInteger = isa<IntegerType, IndexType>(element) && !element.isInteger(1);
    std::string native;
    if (kind == BinaryKind::Add && !element.isInteger(1)) native = "tl.sum";
    if (isInteger && (kind == BinaryKind::Maximum || kind == BinaryKind::MaximumNum)) native = "tl.max";
    if (isInteger && (kind == BinaryKind::Minimum || kind == BinaryKind::MinimumNum)) native = "tl.min";
    if (isa<FloatType>(element) && kind == BinaryKind::MaximumNum) native = "tl.max";
    if (isa<FloatType>(element) && kind == BinaryKind::MinimumNum) native = "tl.min";
    if (!native.empty()) {
      // Triton widens these operands and keeps the wider dtype.
      bool widens = element.isBF16() || (isInteger && !element.isIndex() && element.getIntOrFloatBitWidth() < 32);
      if (!widens) {
        define(result, native, {operands[0], "axis=" + axis}, form(result));
        return success();
      }
      Rendered text = form(result);
      text.expression.text = native + "(" + operands[0] + ", axis=" + axis + ").to(" + dtypeText(element) + ")";
      define(result, text);
      return success();
    }
    std::string function = combineFunction(op);
    if (function.empty()) return failure();
    define(result, "tl.reduce", {operands[0], axis, function}, form(result));
    return success();
  }
  std::string function = combineFunction(op);
  if (function.empty()) return failure();
  std::string targets;
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    std::string name = nameFor(result);
    targets += (i ? ", " : "") + name;
    Rendered text = form(result);
    variables[result] = {name, text.form, text.dense};
  }
  statement(targets + " = ", "tl.reduce", {"(" + llvm::join(operands, ", ") + ")", axis, function});
  return success();
}

static bool isZero(Value value) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  auto constant = broadcast ? broadcast.getValue().getDefiningOp<ConstantOp>() : ConstantOp();
  if (!constant) return false;
  if (auto real = dyn_cast<FloatAttr>(constant.getValue())) return real.getValue().isPosZero();
  return cast<IntegerAttr>(constant.getValue()).getValue().isZero();
}

// block.contract %a, %b, %acc -> acc = tl.dot(a, b, acc)
LogicalResult KernelSerializer::emitContract(ContractOp op) {
  comment(op);
  Type element = elementType(op.getLhs().getType()), accumulator = elementType(op.getType());
  SmallVector<std::string> arguments{fullText(op.getLhs()), fullText(op.getRhs())};
  if (!isZero(op.getAccumulator())) arguments.push_back(fullText(op.getAccumulator()));
  if (element.isF32()) arguments.push_back("input_precision=\"ieee\"");
  if (isa<Float8E4M3FNType, Float8E5M2Type>(element)) arguments.push_back("max_num_imprecise_acc=0");
  if (!accumulator.isF32()) arguments.push_back("out_dtype=" + dtypeText(accumulator));
  if (module.failed) return failure();
  unsigned rank = extentsOf(op.getType()).size();
  define(op, "tl.dot", arguments, {{"", Precedence::Atom}, Form::Block, SmallBitVector(rank, true)});
  return success();
}

} // namespace intent::triton
