// Structured operations: reductions, scans and contractions with their combine functions.
#include "Serializer.h"

using namespace mlir;
using namespace intent;
using namespace intent::block;
using namespace intent::emission;

namespace intent::triton {

// A scalar function over a combine's values: `def _combine(a, b): ... return ...`.
std::string KernelSerializer::combineFunction(Region &combine) {
  ::mlir::Block &body = combine.front();
  KernelSerializer scalar(program, module);
  unsigned count = body.getNumArguments() / 2;
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
        if (operand.getParentRegion()->isProperAncestor(&combine) && !operand.getDefiningOp<ConstantOp>()) {
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
  if (std::optional<BinaryKind> kind = builtinCombine(combine)) stem = "_" + stringifyBinaryKind(*kind).str();
  for (unsigned i = 0;; ++i) {
    StringAttr name = StringAttr::get(program.getContext(), stem + (i ? "_" + std::to_string(i) : ""));
    std::string whole = "@triton.jit\ndef " + name.str() + text;
    auto [entry, inserted] = module.functions.insert({name, whole});
    if (inserted || entry->second == whole) return name.str();
  }
}

// Operands of a reduction or scan at their full shape; an index takes 64 bits, as its result does.
SmallVector<std::string> KernelSerializer::combinedOperands(ValueRange values) {
  SmallVector<std::string> operands;
  for (Value value : values) {
    Rendered text = render(value);
    if (elementType(value.getType()).isIndex() && widths.kind(value) != IndexKind::Wide) text = convert(text, "tl.int64");
    operands.push_back(fullText(text, value.getType()));
  }
  return operands;
}

// The names of several results, `a, b = `.
std::string KernelSerializer::defineAll(ValueRange results) {
  std::string targets;
  for (auto [i, result] : llvm::enumerate(results)) {
    std::string name = nameFor(result);
    targets += (i ? ", " : "") + name;
    unsigned rank = extentsOf(result.getType()).size();
    variables[result] = {name, rank ? Form::Block : Form::Scalar, SmallBitVector(rank, true)};
  }
  return targets + " = ";
}

// block.reduce(%x) axis 1 { add } -> tl.sum(x, axis=1); any other combine -> tl.reduce(x, 1, _maximum)
LogicalResult KernelSerializer::emitReduce(ReduceOp op) {
  comment(op);
  SmallVector<std::string> operands = combinedOperands(op.getValues());
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
    std::string function = combineFunction(op.getCombine());
    if (function.empty()) return failure();
    define(result, "tl.reduce", {operands[0], axis, function}, form(result));
    return success();
  }
  std::string function = combineFunction(op.getCombine());
  if (function.empty()) return failure();
  statement(defineAll(op.getResults()), "tl.reduce", {"(" + llvm::join(operands, ", ") + ")", axis, function});
  return success();
}

// block.scan(%x) axis 1 reverse { add } -> tl.associative_scan(x, 1, _add, reverse=True)
//
// Triton scans a reversed copy in order, so that its left operand too is what came earlier in the direction.
LogicalResult KernelSerializer::emitScan(ScanOp op) {
  comment(op);
  SmallVector<std::string> operands = combinedOperands(op.getValues());
  std::string function = combineFunction(op.getCombine());
  if (module.failed || function.empty()) return failure();
  bool single = operands.size() == 1;
  SmallVector<std::string> arguments{single ? operands[0] : "(" + llvm::join(operands, ", ") + ")", std::to_string(op.getAxis()), function};
  if (op.getReverse()) arguments.push_back("reverse=True");
  if (!single) {
    statement(defineAll(op.getResults()), "tl.associative_scan", arguments);
    return success();
  }
  unsigned rank = extentsOf(op.getResult(0).getType()).size();
  define(op.getResult(0), "tl.associative_scan", arguments, {{"", Precedence::Atom}, Form::Block, SmallBitVector(rank, true)});
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
