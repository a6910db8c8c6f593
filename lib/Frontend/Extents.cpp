// Shape identity: the polynomial of every index scalar, the names of opaque ones, and what broadcasting requires.
#include "Lowering.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace intent;
using namespace intent::frontend;

static bool isLogicalIndex(Type type) { return type.isIndex() || type.isInteger(64); }

/// Polynomials stay small: beyond this a value is opaque.
static bool isSmall(ExtentAttr extent) {
  if (extent.getCoefficients().size() > 16) return false;
  return llvm::all_of(extent.getMonomials(), [](ArrayAttr m) { return m.size() <= 6; });
}

void Lowering::record(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumRegions()) return;
  Value result = op->getResult(0);
  if (!isa<IntegerType, IndexType>(result.getType())) return;
  representative(result);
  if (!isLogicalIndex(result.getType())) return;
  std::optional<ExtentAttr> extent;
  if (auto constant = dyn_cast<kir::ConstantOp>(op)) {
    extent = known(cast<IntegerAttr>(constant.getValue()).getValue().getSExtValue());
  } else if (auto value = dyn_cast<kir::ExtentOp>(op)) {
    extent = value.getExtent();
  } else if (auto cast = dyn_cast<kir::CastOp>(op)) {
    Value from = cast.getValue();
    auto argument = dyn_cast<BlockArgument>(from);
    if (isLogicalIndex(from.getType())) extent = extentOf(from);
    else if (argument && argument.getOwner() == &kernel.getBody().front() && isa<IntegerType>(from.getType()))
      extent = ExtentAttr::atom(context, ("%" + kernel.getParameterName(argument.getArgNumber())).str());
  } else if (auto unary = dyn_cast<kir::UnaryOp>(op)) {
    if (unary.getKind() == UnaryKind::Neg) extent = known(0) - extentOf(unary.getValue());
  } else if (auto binary = dyn_cast<kir::BinaryOp>(op)) {
    BinaryKind kind = binary.getKind();
    if (llvm::is_contained({BinaryKind::Add, BinaryKind::Sub, BinaryKind::Mul}, kind)) {
      ExtentAttr l = extentOf(binary.getLhs()), r = extentOf(binary.getRhs());
      extent = kind == BinaryKind::Add ? l + r : kind == BinaryKind::Sub ? l - r : l * r;
    }
  }
  if (extent && isSmall(*extent)) {
    extents[result] = *extent;
    enter({Entry::Extent, result});
  }
}

/// One value for equal pure expressions, as far as it is visible at the insertion point.
Value Lowering::representative(Value scalar) {
  auto known = representatives.find(scalar);
  if (known != representatives.end()) return known->second;
  Operation *op = scalar.getDefiningOp();
  Value chosen = scalar;
  if (op && op->getNumRegions() == 0 && isMemoryEffectFree(op)) {
    std::string key;
    llvm::raw_string_ostream os(key);
    os << op->getName().getStringRef() << ' ' << op->getAttrDictionary().getAsOpaquePointer() << ' '
       << scalar.getType().getAsOpaquePointer();
    for (Value operand : op->getOperands()) {
      auto operandKnown = representatives.find(operand);
      os << ' ' << (operandKnown == representatives.end() ? operand : operandKnown->second).getAsOpaquePointer();
    }
    SmallVector<Value, 1> &equal = expressions[key];
    auto visible = llvm::find_if(equal, [&](Value v) { return v.getParentRegion()->isAncestor(scalar.getParentRegion()); });
    if (visible != equal.end()) chosen = *visible;
    else {
      equal.push_back(scalar);
      enter({Entry::Expression, scalar, key});
    }
  }
  representatives[scalar] = chosen;
  enter({Entry::Representative, scalar});
  return chosen;
}

uint64_t &Lowering::writesTo(Type view) { return writes[KirTensorType::get(context, kir::elementType(view), kir::shapeOf(view))]; }

/// True for an input that no write of the kernel can reach: views that coincide have one dtype and shape.
bool Lowering::isNeverWritten(Value view) {
  auto argument = dyn_cast<BlockArgument>(view);
  auto own = dyn_cast<kir::ViewType>(view.getType());
  if (!argument || argument.getOwner() != &kernel.getBody().front() || own.getAccess() != Access::In) return false;
  return llvm::none_of(kernel.getArgumentTypes(), [&](Type type) {
    auto other = dyn_cast<kir::ViewType>(type);
    return other && other.getAccess() != Access::In && other.getElement() == own.getElement() && other.getShape() == own.getShape();
  });
}

/// The visible equal of an operation just made, which then goes; names of the author's stay on one operation. Reads are equal
/// within a block that writes no view of their element type and shape between them: others never share memory with it. Those of
/// an input that nothing writes are equal everywhere.
Value Lowering::unique(Operation *op, bool reads) {
  Value own = op->getResult(0), chosen;
  if (reads) {
    std::string key;
    llvm::raw_string_ostream os(key);
    os << "read ";
    if (!isNeverWritten(cast<kir::ReadOp>(op).getView()))
      os << writesTo(op->getOperand(0).getType()) << ' ' << goneBlocks << ' ' << op->getBlock();
    for (Value operand : op->getOperands()) {
      auto operandKnown = representatives.find(operand);
      os << ' ' << (operandKnown == representatives.end() ? operand : operandKnown->second).getAsOpaquePointer();
    }
    os << ' ' << own.getType().getAsOpaquePointer();
    SmallVector<Value, 1> &equal = expressions[key];
    auto visible = llvm::find_if(equal, [&](Value v) { return v.getParentRegion()->isAncestor(own.getParentRegion()); });
    chosen = visible == equal.end() ? own : *visible;
    if (chosen == own) {
      equal.push_back(own);
      enter({Entry::Expression, own, key});
    }
  } else {
    chosen = representative(own);
  }
  if (chosen == own) return own;
  representatives.erase(own);
  extents.erase(own);
  op->erase();
  return chosen;
}

/// Index arithmetic of the frontend's own, folded where operands are known.
Value Lowering::indexOp(BinaryKind kind, Value l, Value r, NodeId at) {
  std::optional<int64_t> a = extentOf(l).getConstant(), b = extentOf(r).getConstant();
  bool additive = kind == BinaryKind::Add || kind == BinaryKind::Sub;
  if (additive && a && b && std::abs(*a) < (1LL << 62) && std::abs(*b) < (1LL << 62))
    return indexConstant(kind == BinaryKind::Add ? *a + *b : *a - *b, at);
  if (additive && b == 0) return l;
  if (kind == BinaryKind::Add && a == 0) return r;
  return make<kir::BinaryOp>(at, l.getType(), kind, l, r, false, false);
}

ExtentAttr Lowering::extentOf(Value scalar) {
  auto found = extents.find(scalar);
  if (found != extents.end()) return found->second;
  Value chosen = representative(scalar);
  found = extents.find(chosen);
  if (found == extents.end()) {
    ExtentAttr atom = ExtentAttr::atom(context, "#" + std::to_string(leaves.size()));
    leaves.push_back({chosen, false});
    found = extents.insert({chosen, atom}).first;
    enter({Entry::Extent, chosen});
  }
  ExtentAttr extent = found->second;
  extents[scalar] = extent;
  enter({Entry::Extent, scalar});
  return extent;
}

static std::optional<unsigned> leafNumber(StringRef atom) {
  unsigned number = 0;
  if (!atom.consume_front("#") || atom.getAsInteger(10, number)) return std::nullopt;
  return number;
}

/// The value that an atom of the frontend's own stands for; null for what the interface names.
Value Lowering::leafOf(StringRef atom) {
  std::optional<unsigned> number = leafNumber(atom);
  return number ? leaves[*number].value : Value();
}

ExtentAttr Lowering::publish(ExtentAttr extent) {
  for (StringAttr atom : extent.getAtoms()) {
    std::optional<unsigned> number = leafNumber(atom.getValue());
    if (!number || leaves[*number].published) continue;
    leaves[*number].published = true;
    Value value = leaves[*number].value;
    OpBuilder::InsertionGuard guard(builder);
    if (Operation *op = value.getDefiningOp()) builder.setInsertionPointAfter(op);
    else builder.setInsertionPointToStart(cast<BlockArgument>(value).getOwner());
    if (!value.getType().isIndex()) value = kir::CastOp::create(builder, value.getLoc(), builder.getIndexType(), value);
    auto symbol = kir::SymbolOp::create(builder, value.getLoc(), builder.getStringAttr(atom.getValue()), value);
    enter({Entry::Symbol, {}, {}, symbol});
  }
  return extent;
}

/// Whether the shape names only what is visible around that region.
bool Lowering::isVisibleOutside(Type type, Region *region) {
  return llvm::all_of(kir::shapeOf(type), [&](ExtentAttr extent) {
    return llvm::all_of(extent.getAtoms(), [&](StringAttr atom) {
      Value leaf = leafOf(atom.getValue());
      return !leaf || leaf.getParentRegion()->isProperAncestor(region);
    });
  });
}

KirTensorType Lowering::tensorType(Type element, ArrayRef<ExtentAttr> shape) {
  for (ExtentAttr extent : shape)
    publish(extent);
  return KirTensorType::get(context, element, shape);
}

Value Lowering::indexConstant(int64_t value, NodeId at) {
  return unique(make<kir::ConstantOp>(at, builder.getIndexType(), builder.getIndexAttr(value)));
}

Value Lowering::extentValue(ExtentAttr extent, NodeId at) {
  if (std::optional<int64_t> value = extent.getConstant()) return indexConstant(*value, at);
  return unique(make<kir::ExtentOp>(at, builder.getIndexType(), publish(extent)));
}

bool frontend::dependsOnSlice(ExtentAttr extent) {
  return llvm::any_of(extent.getAtoms(), [](StringAttr atom) { return atom.getValue().starts_with("?s"); });
}

/// Atoms that the author never named show the name their value was assigned to, else "?".
std::string Lowering::spell(ExtentAttr extent) {
  std::string text;
  llvm::raw_string_ostream os(text);
  extent.printInline(os);
  for (size_t at = text.find("\"#"); at != std::string::npos; at = text.find("\"#", at + 1)) {
    size_t end = text.find('"', at + 1);
    std::optional<unsigned> number = leafNumber(StringRef(text).slice(at + 1, end));
    std::string name = "?";
    if (number)
      if (auto named = dyn_cast<NameLoc>(leaves[*number].value.getLoc())) name = named.getName().str();
    text.replace(at, end + 1 - at, name);
  }
  for (size_t at = text.find("\"?s"); at != std::string::npos; at = text.find("\"?s", at + 1))
    text.replace(at, text.find('"', at + 1) + 1 - at, "slice");
  return text;
}

std::string Lowering::spell(ArrayRef<ExtentAttr> shape) {
  return "[" + llvm::join(llvm::map_range(shape, [&](ExtentAttr e) { return spell(e); }), ", ") + "]";
}

//===- equality of extents -----------------------------------------------------------------------------===//

Lowering::Relation Lowering::relate(ExtentAttr a, ExtentAttr b) {
  if (a == b) return Relation::Equal;
  // An unknown extent may turn out to be a known one; two unknown extents are equal by identity only. A slice has any extent.
  if (dependsOnSlice(a) || dependsOnSlice(b)) return Relation::Different;
  return a.getConstant().has_value() != b.getConstant().has_value() ? Relation::Checkable : Relation::Different;
}

void Lowering::checkEqual(ExtentAttr a, ExtentAttr b, NodeId at, const Twine &what) {
  Block *block = builder.getInsertionBlock();
  for (const Checked &done : checked)
    if (done.a == a && done.b == b && (done.block == block || done.block->getParent()->isProperAncestor(block->getParent()))) return;
  make<kir::CheckExtentOp>(at, publish(a), publish(b), builder.getStringAttr(what.str()));
  checked.push_back({a, b, block});
}

/// Whatever the extents of views are.
bool Lowering::isAtLeast(ExtentAttr extent, int64_t least) {
  auto isOfView = [&](Attribute atom) { return symbols.contains(cast<StringAttr>(atom).getValue()); };
  int64_t constant = 0;
  for (auto [coefficient, monomial] : llvm::zip_equal(extent.getCoefficients(), extent.getMonomials())) {
    if (monomial.empty()) constant = coefficient;
    else if (coefficient < 0 || !llvm::all_of(monomial, isOfView)) return false;
  }
  return constant >= least;
}

/// For checked programs: each element of an integer value, as far as it is `valid`, lies in [low, high); none `high`: is at least
/// `low`. What is known to hold is not asked, and neither is anything in functions without effects.
void Lowering::require(Value value, Value low, Value high, NodeId at, const Twine &what, Value valid) {
  if (pureRegions) return;
  auto exceeds = [&](Value small, Value large, int64_t least) { return isAtLeast(extentOf(large) - extentOf(small), least); };
  Value index = *castValue(value, builder.getIndexType(), at);
  if (isScalarType(index.getType()) && exceeds(low, index, 0) && (!high || exceeds(index, high, 1))) return;
  if (!high) high = indexConstant(std::numeric_limits<int64_t>::max(), at);
  make<kir::RequireOp>(at, index, low, high, valid, builder.getStringAttr(what.str()));
}

FailureOr<ExtentAttr> Lowering::requireEqual(ExtentAttr a, ExtentAttr b, NodeId at, const Twine &what) {
  switch (relate(a, b)) {
  case Relation::Equal: return a;
  case Relation::Different:
    return error(at) << what << ": expected equal extents, got " << spell(a) << " and " << spell(b)
                     << (a.getConstant() ? "" : "; unknown extents are equal only where they are the same symbol");
  case Relation::Checkable: checkEqual(a, b, at, what + ": extents " + spell(a) + " and " + spell(b)); break;
  }
  return a.getConstant() ? a : b;
}

FailureOr<Shape> Lowering::broadcastShapes(ArrayRef<Operand> operands, ArrayRef<Value> values, NodeId at) {
  size_t rank = 0;
  for (Value value : values)
    rank = std::max(rank, kir::shapeOf(value.getType()).size());
  Shape shape(rank, known(1));
  SmallVector<unsigned> owner(rank, 0);
  for (auto [i, value] : llvm::enumerate(values)) {
    ArrayRef<ExtentAttr> own = kir::shapeOf(value.getType());
    for (auto [k, extent] : llvm::enumerate(own)) {
      size_t axis = rank - own.size() + k;
      if (extent == shape[axis] || extent.getConstant() == 1) continue;
      if (shape[axis].getConstant() == 1) {
        shape[axis] = extent;
        owner[axis] = i;
        continue;
      }
      if (relate(extent, shape[axis]) == Relation::Different) {
        const Operand &first = operands[owner[axis]], &second = operands[i];
        ArrayRef<ExtentAttr> other = kir::shapeOf(values[owner[axis]].getType());
        InFlightDiagnostic diagnostic = error(at);
        diagnostic << "shapes " << spell(other) << " and " << spell(own) << " do not broadcast: extents " << spell(shape[axis]) << " and "
                   << spell(extent) << " of axis " << static_cast<unsigned>(axis) << " are neither equal nor 1";
        note(diagnostic, first.node, Twine(first.role.empty() ? "operand" : first.role) + " has shape " + spell(other));
        note(diagnostic, second.node, Twine(second.role.empty() ? "operand" : second.role) + " has shape " + spell(own));
        return diagnostic;
      }
      checkEqual(shape[axis], extent, at, "broadcast: extents " + spell(shape[axis]) + " and " + spell(extent));
      if (extent.getConstant()) {
        shape[axis] = extent;
        owner[axis] = i;
      }
    }
  }
  return shape;
}

Value Lowering::relabel(Value tensor, ArrayRef<ExtentAttr> shape, NodeId at) {
  if (kir::shapeOf(tensor.getType()) == shape) return tensor;
  return make<kir::ReshapeOp>(at, tensorType(kir::elementType(tensor.getType()), shape), tensor);
}

/// `kir.broadcast`; a broadcast of a broadcast is one.
Value Lowering::repeat(Value value, ArrayRef<ExtentAttr> shape, ArrayRef<int64_t> axes, NodeId at) {
  SmallVector<int64_t> composed(axes);
  while (auto inner = value.getDefiningOp<kir::BroadcastOp>()) {
    SmallVector<int64_t> through;
    for (int64_t axis : inner.getAxes())
      through.push_back(composed[axis]);
    composed = std::move(through);
    value = inner.getValue();
  }
  return make<kir::BroadcastOp>(at, tensorType(kir::elementType(value.getType()), shape), value, builder.getDenseI64ArrayAttr(composed));
}

/// Trailing-aligned broadcast; extents that a check made equal are renamed first.
Value Lowering::broadcastTo(Value value, ArrayRef<ExtentAttr> shape, NodeId at) {
  ArrayRef<ExtentAttr> own = kir::shapeOf(value.getType());
  if (isa<KirTensorType>(value.getType()) && own == shape) return value;
  Shape renamed(own);
  SmallVector<int64_t> axes;
  for (size_t i = 0; i < own.size(); ++i) {
    size_t axis = shape.size() - own.size() + i;
    axes.push_back(axis);
    if (own[i].getConstant() != 1) renamed[i] = shape[axis];
  }
  if (!own.empty()) value = relabel(value, renamed, at);
  if (isa<KirTensorType>(value.getType()) && ArrayRef(renamed) == shape) return value;
  return repeat(value, shape, axes, at);
}

//===- final names -------------------------------------------------------------------------------------===//

/// Atoms become "?0", "?1", ... in the order in which `kir.symbol` defines them.
void Lowering::renameAtoms(ModuleOp module) {
  llvm::StringMap<std::string> names;
  module.walk<WalkOrder::PreOrder>([&](kir::SymbolOp op) {
    std::string name = "?" + std::to_string(names.size());
    names[op.getName()] = name;
    op.setName(name);
  });
  if (names.empty()) return;
  kir::replaceAtoms(module, [&](StringRef atom) {
    auto found = names.find(atom);
    return found == names.end() ? atom : StringRef(found->second);
  });
}
