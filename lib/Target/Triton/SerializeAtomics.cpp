// Atomic accesses. Pointer, value and mask have the full shape: every active lane acts, whether or not its operands vary.
#include "Serializer.h"
#include "intent/IR/Language.h"

using namespace mlir;
using namespace intent;
using namespace intent::block;
using namespace intent::emission;

namespace intent::triton {

// x[n] -> x + n.to(tl.int64) * x_stride_n with every axis of the access.
//
// Offsets of 32 bits become buffer instructions on gfx942, whose results reach only one of the threads that share a lane;
// there is none for an exchange.
template <typename Op>
std::string KernelSerializer::atomicPointer(Op op, Type value) {
  ArrayRef<ExprAttr> extents = extentsOf(value);
  Rendered address = pointer(op, op.getView(), op.getCoordinates(), op.getCoordinateAxes(), extents.size(), !extents.empty());
  if (extents.empty() || address.dense.all()) return address.expression.text;
  return "tl.broadcast_to(" + address.expression.text + ", " + shapeText(extents) + ")";
}

static std::string bitsText(Type element) { return "tl.int" + std::to_string(storageBytes(element) * 8); }

// (x + n).to(tl.pointer_type(tl.int32), bitcast=True)
static std::string asBits(StringRef pointer, StringRef slot) {
  std::string text = pointer.contains(' ') ? "(" + pointer.str() + ")" : pointer.str();
  return text + ".to(tl.pointer_type(" + slot.str() + "), bitcast=True)";
}

// block.atomic add relaxed %v to %x[%n] valid(%vn) -> old = tl.atomic_add(x + n, v, mask=..., sem="relaxed")
// block.atomic load acquire                        -> tl.atomic_or of no bits: a plain load is done by every thread
LogicalResult KernelSerializer::emitAtomic(AtomicOp op) {
  static constexpr StringLiteral names[] = {"or", "xchg", "xchg", "add", "max", "min", "and", "or", "xor"};
  comment(op);
  Type type = op.getValue().getType(), element = elementType(type);
  if (!hasNativeAtomic(op.getKind(), element))
    return unsupported(op) << "no atomic " << stringifyAtomicKind(op.getKind()) << " of " << dtypeName(element)
                           << "; run legalisation first";
  bool load = op.getKind() == AtomicKind::Load, exchange = op.getKind() == AtomicKind::Exchange || op.getKind() == AtomicKind::Store;
  bool real = isa<FloatType>(element), cast = real && (load || exchange); // what only moves bits
  unsigned rank = extentsOf(type).size();
  std::string address = atomicPointer(op, type);
  if (cast) address = asBits(address, bitsText(element));
  Rendered value = render(op.getValue());
  // A literal float would be f32 on its way.
  if (real) value = typed(value, element);
  if (cast && !load)
    value.expression = {value.expression.in(Precedence::Atom) + ".to(" + bitsText(element) + ", bitcast=True)", Precedence::Atom};
  SmallVector<std::string> arguments{address, load ? "0" : value.expression.text};
  if (std::optional<Rendered> valid = accessMask(op, op.getValidity(), op.getValidAxes(), rank))
    arguments.push_back("mask=" + valid->expression.text);
  arguments.push_back("sem=" + pythonString(stringifyMemoryOrder(op.getOrder())));
  std::string callee = "tl.atomic_" + names[static_cast<unsigned>(op.getKind())].str();
  return defineAtomic(op, op.getOld(), callee, arguments, cast);
}

// Result of an access that gives bits if `cast`; nothing is named where nothing reads it.
LogicalResult KernelSerializer::defineAtomic(Operation *op, Value old, const std::string &callee, ArrayRef<std::string> arguments,
                                             bool cast) {
  if (module.failed) return failure();
  if (old.use_empty()) {
    statement("", callee, arguments);
    return success();
  }
  unsigned rank = extentsOf(old.getType()).size();
  Rendered text{{"", Precedence::Atom}, rank ? Form::Block : Form::Scalar, SmallBitVector(rank, true)};
  std::string back = cast ? ".to(" + dtypeText(elementType(old.getType())) + ", bitcast=True)" : "";
  define(old, callee, arguments, text, back);
  return success();
}

// The slots of inactive lanes, of dtype `slot`.
std::string KernelSerializer::sinkPointer(Operation *op, Type type, StringRef slot) {
  auto position = program->getAttrOfType<IntegerAttr>(sinkAttributeName);
  if (!position) {
    unsupported(op) << "inactive lanes have no place to exchange; run legalisation first";
    return "";
  }
  unsigned first = program.getNumPublicArguments() + program.getPrivates().size();
  std::string sink = variables[program.getBody().getArgument(first + position.getInt())].name;
  if (slot != "tl.int64") sink += ".to(tl.pointer_type(" + slot.str() + "), bitcast=True)";
  ArrayRef<ExprAttr> extents = extentsOf(type);
  std::string lanes;
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    std::string at = "tl.arange(0, " + extentText(extents[axis]) + ")";
    if (extents.size() > 1) {
      std::string index;
      for (size_t other = 0; other < extents.size(); ++other)
        index += (other ? ", " : "") + std::string(other == axis ? ":" : "None");
      at += "[" + index + "]";
    }
    for (ExprAttr inner : extents.drop_front(axis + 1))
      at += " * " + spellExpr(inner, [](ExprAttr leaf) { return leaf.getSymbol().getValue().str(); }, {"tl.cdiv", "triton.next_power_of_2"})
                        .in(Precedence::Multiply);
    lanes += " + " + at;
  }
  return sink + lanes;
}

// block.compare_exchange relaxed %e, %d to %x[%n] valid(%vn)
//   -> tl.atomic_cas(tl.where(mask, x + n, sink + tl.arange(0, BN)), e, d, sem="relaxed")
//
// On bits: floats that are equal may differ in them. There is no mask, so inactive lanes act in the sink.
LogicalResult KernelSerializer::emitCompareExchange(CompareExchangeOp op) {
  comment(op);
  Type type = op.getExpected().getType(), element = elementType(type);
  bool real = isa<FloatType>(element);
  std::string slot = real ? bitsText(element) : dtypeText(element);
  std::optional<Rendered> valid = accessMask(op, op.getValidity(), op.getValidAxes(), extentsOf(type).size());
  std::string address = atomicPointer(op, type);
  if (real) address = asBits(address, slot);
  if (valid) address = "tl.where(" + valid->expression.text + ", " + address + ", " + sinkPointer(op, type, slot) + ")";
  auto operand = [&](Value value) -> std::string {
    Rendered text = render(value);
    if (element.isIndex() && widths.kind(value) != IndexKind::Wide && text.form != Form::Literal) text = convert(text, "tl.int64");
    bool dense = text.form == Form::Block && text.dense.all();
    Expression whole = isa<FragmentType>(type) ? dense ? text.expression : Expression{fullText(text, type), Precedence::Atom}
                                               : typed(text, element).expression;
    return real ? whole.in(Precedence::Atom) + ".to(" + slot + ", bitcast=True)" : whole.text;
  };
  SmallVector<std::string> arguments{address, operand(op.getExpected()), operand(op.getDesired()),
                                     "sem=" + pythonString(stringifyMemoryOrder(op.getOrder()))};
  return defineAtomic(op, op.getOld(), "tl.atomic_cas", arguments, real);
}

} // namespace intent::triton
