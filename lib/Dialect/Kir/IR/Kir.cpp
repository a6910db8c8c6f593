#include "intent/Dialect/Kir/IR/Kir.h"

#include "intent/IR/Body.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace intent;
using namespace intent::kir;

// The `custom<Body>` directive: a region that ends with `kir.yield`.
static ParseResult parseBody(OpAsmParser &parser, Region &region) { return parseRegionBody(parser, region, YieldOp::getOperationName()); }
static void printBody(OpAsmPrinter &p, Operation *, Region &region) { printRegionBody(p, region, true); }

#include "intent/Dialect/Kir/IR/KirDialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "intent/Dialect/Kir/IR/KirAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "intent/Dialect/Kir/IR/KirTypes.cpp.inc"
#define GET_OP_CLASSES
#include "intent/Dialect/Kir/IR/KirOps.cpp.inc"

void KirDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "intent/Dialect/Kir/IR/KirAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "intent/Dialect/Kir/IR/KirTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "intent/Dialect/Kir/IR/KirOps.cpp.inc"
      >();
}

Operation *KirDialect::materializeConstant(OpBuilder &b, Attribute value, Type type, Location loc) {
  auto typed = dyn_cast<TypedAttr>(value);
  if (!typed || typed.getType() != type || !isScalarType(type)) return nullptr;
  return ConstantOp::create(b, loc, type, typed);
}

//===- types -------------------------------------------------------------------------------------------===//

static ParseResult parseShape(AsmParser &parser, SmallVectorImpl<ExtentAttr> &shape) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
    FailureOr<ExtentAttr> extent = ExtentAttr::parseInline(parser);
    if (failed(extent)) return failure();
    shape.push_back(*extent);
    return success();
  });
}

static void printShape(AsmPrinter &p, ArrayRef<ExtentAttr> shape) {
  p << "[";
  llvm::interleaveComma(shape, p, [&](ExtentAttr e) { e.printInline(p.getStream()); });
  p << "]";
}

static ParseResult parseElement(AsmParser &parser, Type &element) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseType(element)) return failure();
  if (!isScalarType(element)) return parser.emitError(loc, "expected an element type of the language, got ") << element;
  return success();
}

Type KirTensorType::parse(AsmParser &parser) {
  Type element;
  SmallVector<ExtentAttr> shape;
  if (parser.parseLess() || parseElement(parser, element) || parser.parseComma() || parseShape(parser, shape) || parser.parseGreater())
    return {};
  return get(parser.getContext(), element, shape);
}

void KirTensorType::print(AsmPrinter &p) const {
  p << "<" << getElement() << ", ";
  printShape(p, getShape());
  p << ">";
}

Type ViewType::parse(AsmParser &parser) {
  Type element;
  SmallVector<ExtentAttr> shape;
  StringRef keyword;
  SMLoc loc;
  if (parser.parseLess() || parseElement(parser, element) || parser.parseComma() || parseShape(parser, shape) || parser.parseComma() ||
      parser.getCurrentLocation(&loc) || parser.parseKeyword(&keyword) || parser.parseGreater())
    return {};
  std::optional<Access> access = symbolizeAccess(keyword);
  if (!access) {
    parser.emitError(loc, "expected in, out or inout, got ") << keyword;
    return {};
  }
  return get(parser.getContext(), element, shape, *access);
}

void ViewType::print(AsmPrinter &p) const {
  p << "<" << getElement() << ", ";
  printShape(p, getShape());
  p << ", " << stringifyAccess(getAccess()) << ">";
}

Type DomainType::parse(AsmParser &parser) {
  if (parser.parseLess()) return {};
  FailureOr<ExtentAttr> extent = ExtentAttr::parseInline(parser);
  if (failed(extent) || parser.parseGreater()) return {};
  return get(parser.getContext(), *extent);
}

void DomainType::print(AsmPrinter &p) const {
  p << "<";
  getExtent().printInline(p.getStream());
  p << ">";
}

//===- kernel ------------------------------------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  auto build = [](Builder &b, ArrayRef<Type> arguments, ArrayRef<Type> results, function_interface_impl::VariadicFlag, std::string &) {
    return b.getFunctionType(arguments, results);
  };
  return function_interface_impl::parseFunctionOp(parser, result, false, getFunctionTypeAttrName(result.name), build,
                                                  getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void KernelOp::print(OpAsmPrinter &p) {
  function_interface_impl::printFunctionOp(p, *this, false, getFunctionTypeAttrName(), getArgAttrsAttrName(), getResAttrsAttrName());
}

StringRef KernelOp::getParameterName(unsigned i) {
  auto name = getArgAttrOfType<StringAttr>(i, "kir.name");
  return name ? name.getValue() : StringRef();
}

//===- types of values ---------------------------------------------------------------------------------===//

namespace intent::kir {

Type elementType(Type type) {
  return llvm::TypeSwitch<Type, Type>(type).Case<KirTensorType, ViewType>([](auto t) { return t.getElement(); }).Default([](Type t) {
    return t;
  });
}

void replaceAtoms(Operation *root, llvm::function_ref<StringRef(StringRef)> nameOf) {
  MLIRContext *context = root->getContext();
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](ExtentAttr extent) -> std::optional<std::pair<Attribute, WalkResult>> {
    ExtentAttr sum = ExtentAttr::constant(context, 0);
    for (auto [coefficient, monomial] : llvm::zip_equal(extent.getCoefficients(), extent.getMonomials())) {
      ExtentAttr product = ExtentAttr::constant(context, coefficient);
      for (Attribute atom : monomial)
        product = product * ExtentAttr::atom(context, nameOf(cast<StringAttr>(atom).getValue()));
      sum = sum + product;
    }
    return std::make_pair(Attribute(sum), WalkResult::skip());
  });
  replacer.recursivelyReplaceElementsIn(root, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/true);
}

ArrayRef<ExtentAttr> shapeOf(Type type) {
  return llvm::TypeSwitch<Type, ArrayRef<ExtentAttr>>(type)
      .Case<KirTensorType, ViewType>([](auto t) { return t.getShape(); })
      .Default([](Type) { return ArrayRef<ExtentAttr>(); });
}

Type withElement(Type type, Type element) {
  if (auto tensor = dyn_cast<KirTensorType>(type)) return KirTensorType::get(type.getContext(), element, tensor.getShape());
  return element;
}

FailureOr<SmallVector<ExtentAttr>> indexedShape(size_t rank, ValueRange indices) {
  if (indices.size() != rank) return failure();
  SmallVector<ExtentAttr> shape;
  KirTensorType joint;
  for (Value index : indices) {
    if (auto domain = dyn_cast<DomainType>(index.getType())) {
      shape.push_back(domain.getExtent());
      continue;
    }
    auto tensor = dyn_cast<KirTensorType>(index.getType());
    if (!tensor) continue;
    if (!joint) llvm::append_range(shape, tensor.getShape());
    else if (joint.getShape() != tensor.getShape()) return failure();
    joint = tensor;
  }
  return shape;
}

} // namespace intent::kir
