#include "intent/Dialect/Block/IR/Block.h"

#include "intent/IR/Body.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace intent;
using namespace intent::block;

// The `custom<Expr>` directive of assembly formats.
static ParseResult parseExpr(OpAsmParser &parser, ExprAttr &expr) {
  FailureOr<ExprAttr> parsed = ExprAttr::parseInline(parser);
  if (failed(parsed)) return failure();
  expr = *parsed;
  return success();
}
static void printExpr(OpAsmPrinter &p, Operation *, ExprAttr expr) { expr.printInline(p.getStream()); }

// The `custom<Body>` directive: a region that ends with `block.yield`; `custom<OpenBody>`: one without a terminator.
static ParseResult parseBody(OpAsmParser &parser, Region &region) { return parseRegionBody(parser, region, YieldOp::getOperationName()); }
static void printBody(OpAsmPrinter &p, Operation *, Region &region) { printRegionBody(p, region, true); }
static ParseResult parseOpenBody(OpAsmParser &parser, Region &region) { return parseRegionBody(parser, region, ""); }
static void printOpenBody(OpAsmPrinter &p, Operation *, Region &region) { printRegionBody(p, region, false); }

// The list directives of attribute formats.
static ParseResult parseExprList(AsmParser &parser, SmallVector<ExprAttr> &list) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
    FailureOr<ExprAttr> parsed = ExprAttr::parseInline(parser);
    if (failed(parsed)) return failure();
    list.push_back(*parsed);
    return success();
  });
}
static void printExprList(AsmPrinter &p, ArrayRef<ExprAttr> list) {
  p << "[";
  llvm::interleaveComma(list, p, [&](ExprAttr e) { e.printInline(p.getStream()); });
  p << "]";
}
static ParseResult parseIntegerList(AsmParser &parser, SmallVector<int64_t> &list) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] { return parser.parseInteger(list.emplace_back()); });
}
static void printIntegerList(AsmPrinter &p, ArrayRef<int64_t> list) {
  p << "[";
  llvm::interleaveComma(list, p);
  p << "]";
}

// The `custom<TypeTuple>` directive: types in parentheses, possibly none (a rank-zero view, no validity).
static ParseResult parseTypeTuple(OpAsmParser &parser, SmallVectorImpl<Type> &types) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&] { return parser.parseType(types.emplace_back()); });
}
static void printTypeTuple(OpAsmPrinter &p, Operation *, TypeRange types) { p << "(" << types << ")"; }

#include "intent/Dialect/Block/IR/BlockDialect.cpp.inc"
#include "intent/Dialect/Block/IR/BlockEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "intent/Dialect/Block/IR/BlockAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "intent/Dialect/Block/IR/BlockTypes.cpp.inc"
#define GET_OP_CLASSES
#include "intent/Dialect/Block/IR/BlockOps.cpp.inc"

void BlockDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "intent/Dialect/Block/IR/BlockAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "intent/Dialect/Block/IR/BlockTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "intent/Dialect/Block/IR/BlockOps.cpp.inc"
      >();
}

Operation *BlockDialect::materializeConstant(OpBuilder &b, Attribute value, Type type, Location loc) {
  auto typed = dyn_cast<TypedAttr>(value);
  if (!typed || typed.getType() != type || !isScalarType(type)) return nullptr;
  return ConstantOp::create(b, loc, type, typed);
}

//===- types -------------------------------------------------------------------------------------------===//

// fragment<f16, [BM, 64, mul(BM, 2)]>
Type FragmentType::parse(AsmParser &parser) {
  Type element;
  SmallVector<ExprAttr> extents;
  SMLoc loc = parser.getCurrentLocation();
  auto item = [&]() -> ParseResult {
    FailureOr<ExprAttr> extent = ExprAttr::parseInline(parser);
    if (failed(extent)) return failure();
    extents.push_back(*extent);
    return success();
  };
  if (parser.parseLess() || parser.parseType(element) || parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, item) || parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), element, extents);
}

void FragmentType::print(AsmPrinter &p) const {
  p << "<" << getElement() << ", [";
  llvm::interleaveComma(getExtents(), p, [&](ExprAttr e) { e.printInline(p.getStream()); });
  p << "]>";
}

LogicalResult FragmentType::verify(llvm::function_ref<InFlightDiagnostic()> emitError, Type element, ArrayRef<ExprAttr> extents) {
  if (!isScalarType(element)) return emitError() << "C1: expected an element type of the language, got " << element;
  if (extents.empty()) return emitError() << "C2: a fragment has rank one or more";
  for (ExprAttr extent : extents) {
    bool launch = false;
    extent.walkExpr([&](ExprAttr e) { launch |= e.getKind() == ExprKind::Symbol; });
    if (launch) return emitError() << "C3: a fragment extent uses a launch symbol: " << extent;
    if (std::optional<int64_t> value = extent.getConstant(); value && *value <= 0)
      return emitError() << "C4: extent " << *value << " is not positive";
  }
  return success();
}

//===- programs ----------------------------------------------------------------------------------------===//

// block.program @name guard(expr) privates ["M", "N"] workspaces [...] parameters [...] configurations <...> family "..." {
ParseResult ProgramOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  Builder &b = parser.getBuilder();
  if (parser.parseSymbolName(name, getSymNameAttrName(result.name), result.attributes)) return failure();
  if (succeeded(parser.parseOptionalKeyword("guard"))) {
    ExprAttr guard;
    if (parser.parseLParen() || parseExpr(parser, guard) || parser.parseRParen()) return failure();
    result.addAttribute(getGuardAttrName(result.name), guard);
  }
  SmallVector<Attribute> privates;
  auto item = [&]() -> ParseResult {
    ExprAttr expr;
    if (parseExpr(parser, expr)) return failure();
    privates.push_back(expr);
    return success();
  };
  ArrayAttr parameters, workspaces;
  if (parser.parseKeyword("privates") || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, item)) return failure();
  if (succeeded(parser.parseOptionalKeyword("workspaces"))) {
    if (parser.parseAttribute(workspaces)) return failure();
    result.addAttribute(getWorkspacesAttrName(result.name), workspaces);
  }
  if (parser.parseKeyword("parameters") || parser.parseAttribute(parameters)) return failure();
  result.addAttribute(getPrivatesAttrName(result.name), b.getArrayAttr(privates));
  result.addAttribute(getParametersAttrName(result.name), parameters);
  if (succeeded(parser.parseOptionalKeyword("configurations"))) {
    ConfigurationSetAttr configurations;
    if (parser.parseAttribute(configurations)) return failure();
    result.addAttribute(getConfigurationsAttrName(result.name), configurations);
  }
  if (succeeded(parser.parseOptionalKeyword("family"))) {
    StringAttr family;
    if (parser.parseAttribute(family)) return failure();
    result.addAttribute(getFamilyAttrName(result.name), family);
  }
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes)) return failure();
  SmallVector<OpAsmParser::Argument> arguments;
  Region *body = result.addRegion();
  if (parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true)) return failure();
  if (parser.parseRegion(*body, arguments)) return failure();
  if (body->empty()) body->emplaceBlock();
  return success();
}

void ProgramOp::print(OpAsmPrinter &p) {
  p << ' ';
  p.printSymbolName(getSymName());
  if (ExprAttr guard = getGuardAttr()) {
    p << " guard(";
    guard.printInline(p.getStream());
    p << ")";
  }
  p << " privates [";
  llvm::interleaveComma(getPrivates(), p, [&](Attribute a) { cast<ExprAttr>(a).printInline(p.getStream()); });
  p << "]";
  if (ArrayAttr workspaces = getWorkspacesAttr()) p << " workspaces " << workspaces;
  p << " parameters " << getParameters();
  if (ConfigurationSetAttr configurations = getConfigurationsAttr()) p << " configurations " << configurations;
  if (StringAttr family = getFamilyAttr()) p << " family " << family;
  p.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                     {getSymNameAttrName(), getGuardAttrName(), getPrivatesAttrName(), getWorkspacesAttrName(),
                                      getParametersAttrName(), getConfigurationsAttrName(), getFamilyAttrName()});
  p << ' ';
  p << "(";
  llvm::interleaveComma(getBody().getArguments(), p, [&](BlockArgument a) { p.printRegionArgument(a); });
  p << ") ";
  p.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

ParameterAttr ProgramOp::lookupParameter(StringRef symbol) {
  for (auto parameter : getParameters().getAsRange<ParameterAttr>())
    if (parameter.getSymbol() == symbol) return parameter;
  return {};
}

unsigned ProgramOp::getNumPublicArguments() { return cast<KernelOp>((*this)->getParentOp()).getInterface().size(); }
Attribute ProgramOp::getInterfaceOf(unsigned i) { return cast<KernelOp>((*this)->getParentOp()).getInterface()[i]; }

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

// Integers that are constants.
OpFoldResult CompareOp::fold(FoldAdaptor adaptor) {
  auto lhs = dyn_cast_or_null<IntegerAttr>(adaptor.getLhs()), rhs = dyn_cast_or_null<IntegerAttr>(adaptor.getRhs());
  if (!lhs || !rhs) return {};
  APInt a = lhs.getValue(), b = rhs.getValue();
  bool isUnsigned = lhs.getType().isUnsignedInteger() || lhs.getType().isInteger(1);
  bool less = isUnsigned ? a.ult(b) : a.slt(b);
  auto result = [&](bool holds) { return BoolAttr::get(getContext(), holds); };
  switch (getPredicate()) {
  case ComparePredicate::Eq: return result(a == b);
  case ComparePredicate::Ne: return result(a != b);
  case ComparePredicate::Lt: return result(less);
  case ComparePredicate::Le: return result(less || a == b);
  case ComparePredicate::Gt: return result(!less && a != b);
  case ComparePredicate::Ge: return result(!less);
  }
  return {};
}

TypedAttr intent::block::constantEverywhere(Value value) {
  while (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getValue();
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant ? constant.getValue() : TypedAttr();
}

static IntegerAttr integerEverywhere(Value value) { return dyn_cast_or_null<IntegerAttr>(constantEverywhere(value)); }

// Index arithmetic on constants and neutral elements, and conditions; other types keep the author's operation.
OpFoldResult BinaryOp::fold(FoldAdaptor adaptor) {
  if (elementType(getResult().getType()).isInteger(1) && (getKind() == BinaryKind::And || getKind() == BinaryKind::Or))
    for (auto [given, side, other] : {std::tuple(adaptor.getLhs(), getLhs(), getRhs()), std::tuple(adaptor.getRhs(), getRhs(), getLhs())}) {
      auto known = dyn_cast_or_null<IntegerAttr>(given); // of a scalar
      IntegerAttr lanes = known ? known : integerEverywhere(side);
      if (!lanes) continue;
      if (lanes.getValue().isZero() != (getKind() == BinaryKind::And)) return other;
      return known ? OpFoldResult(known) : OpFoldResult(side);
    }
  if (!getResult().getType().isIndex()) return {};
  auto constant = [](Attribute a) -> std::optional<int64_t> {
    auto integer = dyn_cast_or_null<IntegerAttr>(a);
    return integer ? std::optional(integer.getInt()) : std::nullopt;
  };
  std::optional<int64_t> lhs = constant(adaptor.getLhs()), rhs = constant(adaptor.getRhs());
  auto value = [&](int64_t v) { return IntegerAttr::get(IndexType::get(getContext()), v); };
  uint64_t a = lhs.value_or(0), b = rhs.value_or(0);
  switch (getKind()) {
  case BinaryKind::Add:
    if (lhs && rhs) return value(static_cast<int64_t>(a + b));
    if (lhs == 0) return getRhs();
    if (rhs == 0) return getLhs();
    break;
  case BinaryKind::Sub:
    if (lhs && rhs) return value(static_cast<int64_t>(a - b));
    if (rhs == 0) return getLhs();
    break;
  case BinaryKind::Mul:
    if (lhs && rhs) return value(static_cast<int64_t>(a * b));
    if (lhs == 0 || rhs == 1) return getLhs();
    if (rhs == 0 || lhs == 1) return getRhs();
    break;
  case BinaryKind::FloorDiv:
    if (rhs == 1) return getLhs();
    break;
  case BinaryKind::Mod:
    if (rhs == 1) return value(0);
    break;
  default: break;
  }
  return {};
}

//===- control -----------------------------------------------------------------------------------------===//

namespace {
/// A loop whose condition constants refuse at once does what the condition does, once.
struct WithoutPass : OpRewritePattern<scf::WhileOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(scf::WhileOp loop, PatternRewriter &rewriter) const final {
    ::mlir::Block &before = *loop.getBeforeBody();
    DenseMap<Value, Attribute> known;
    auto constantOf = [&](Value value) {
      Attribute constant = known.lookup(value);
      if (!constant) matchPattern(value, m_Constant(&constant));
      return constant;
    };
    for (auto [argument, init] : llvm::zip_equal(before.getArguments(), loop.getInits()))
      known[argument] = constantOf(init);
    for (Operation &op : before.without_terminator()) {
      SmallVector<Attribute> operands = llvm::map_to_vector(op.getOperands(), constantOf);
      SmallVector<OpFoldResult> folded;
      if (op.getNumRegions() || failed(op.fold(operands, folded)) || folded.empty()) continue;
      for (auto [result, value] : llvm::zip_equal(op.getResults(), folded))
        known[result] = isa<Attribute>(value) ? cast<Attribute>(value) : constantOf(cast<Value>(value));
    }
    auto condition = dyn_cast_or_null<IntegerAttr>(constantOf(loop.getConditionOp().getCondition()));
    if (!condition || !condition.getValue().isZero()) return failure();
    IRMapping at;
    at.map(before.getArguments(), loop.getInits());
    for (Operation &op : before.without_terminator())
      rewriter.clone(op, at);
    rewriter.replaceOp(loop, llvm::map_to_vector(loop.getConditionOp().getArgs(), [&](Value v) { return at.lookupOrDefault(v); }));
    return success();
  }
};

/// A contraction that is added to a scaled sum starts with it.
struct ScaledAccumulator : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BinaryOp op, PatternRewriter &rewriter) const final {
    if (op.getKind() != BinaryKind::Add || op.getFlushToZero()) return failure();
    for (auto [value, scaled] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      auto contract = value.getDefiningOp<ContractOp>();
      auto product = scaled.getDefiningOp<BinaryOp>();
      if (!contract || !contract->hasOneUse() || !product || product.getKind() != BinaryKind::Mul) continue;
      auto start = contract.getAccumulator().getDefiningOp<BroadcastOp>();
      if (!start || !matchPattern(start.getValue(), m_AnyZeroFloat())) continue;
      rewriter.replaceOpWithNewOp<ContractOp>(op, op.getType(), contract.getLhs(), contract.getRhs(), scaled);
      rewriter.eraseOp(contract);
      return success();
    }
    return failure();
  }
};

/// A choice that is known, or that makes no difference.
struct KnownChoice : OpRewritePattern<SelectOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SelectOp op, PatternRewriter &rewriter) const final {
    IntegerAttr condition = integerEverywhere(op.getCondition());
    if (!condition && op.getTrueValue() != op.getFalseValue()) return failure();
    rewriter.replaceOp(op, condition && condition.getValue().isZero() ? op.getFalseValue() : op.getTrueValue());
    return success();
  }
};

/// A sum of what is negated is a difference: %n * -1 + %b is %b - %n, of index values, which wrap.
struct NegatedTerm : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BinaryOp op, PatternRewriter &rewriter) const final {
    bool isSum = op.getKind() == BinaryKind::Add;
    if (!elementType(op.getType()).isIndex() || (!isSum && op.getKind() != BinaryKind::Sub)) return failure();
    Value left = isSum ? negated(op.getLhs()) : Value(), right = negated(op.getRhs());
    if (!left && !right) return failure();
    BinaryKind kind = isSum ? BinaryKind::Sub : BinaryKind::Add;
    rewriter.replaceOpWithNewOp<BinaryOp>(op, op.getType(), kind, right ? op.getLhs() : op.getRhs(), right ? right : left, false, false);
    return success();
  }

private:
  static Value negated(Value value) {
    auto product = value.getDefiningOp<BinaryOp>();
    if (!product || product.getKind() != BinaryKind::Mul) return {};
    for (auto [side, other] : {std::pair(product.getLhs(), product.getRhs()), std::pair(product.getRhs(), product.getLhs())})
      if (IntegerAttr factor = integerEverywhere(side); factor && factor.getValue().isAllOnes()) return other;
    return {};
  }
};
} // namespace

void BlockDialect::getCanonicalizationPatterns(RewritePatternSet &patterns) const {
  patterns.add<WithoutPass, ScaledAccumulator, KnownChoice, NegatedTerm>(getContext());
}

//===- types of values ---------------------------------------------------------------------------------===//

namespace intent::block {

Type elementType(Type type) {
  return llvm::TypeSwitch<Type, Type>(type).Case<FragmentType, ViewType>([](auto t) { return t.getElement(); }).Default([](Type t) {
    return t;
  });
}

ArrayRef<ExprAttr> extentsOf(Type type) {
  auto fragment = dyn_cast<FragmentType>(type);
  return fragment ? fragment.getExtents() : ArrayRef<ExprAttr>();
}

Type fragmentOrScalar(Type element, ArrayRef<ExprAttr> extents) {
  return extents.empty() ? element : FragmentType::get(element.getContext(), element, extents);
}

Type withElement(Type type, Type element) { return fragmentOrScalar(element, extentsOf(type)); }

SmallVector<unsigned, 4> axisList(ArrayAttr lists, unsigned i) {
  return llvm::map_to_vector<4>(cast<ArrayAttr>(lists[i]), [](Attribute axis) { return unsigned(cast<IntegerAttr>(axis).getInt()); });
}

void adoptArithmetic(Operation *root) {
  root->walk([](Operation *op) {
    OpBuilder builder(op);
    Location loc = op->getLoc();
    auto both = [&](BinaryKind kind) -> Value {
      return BinaryOp::create(builder, loc, op->getResult(0).getType(), kind, op->getOperand(0), op->getOperand(1), false, false);
    };
    Value adopted;
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      adopted = ConstantOp::create(builder, loc, constant.getType(), constant.getValue());
    else if (auto select = dyn_cast<arith::SelectOp>(op))
      adopted = SelectOp::create(builder, loc, select.getType(), select.getCondition(), select.getTrueValue(), select.getFalseValue());
    else if (isa<arith::AndIOp>(op)) adopted = both(BinaryKind::And);
    else if (isa<arith::OrIOp>(op)) adopted = both(BinaryKind::Or);
    else if (isa<arith::XOrIOp>(op)) adopted = both(BinaryKind::Xor);
    if (!adopted) return;
    op->getResult(0).replaceAllUsesWith(adopted);
    op->erase();
  });
}

std::optional<BinaryKind> builtinCombine(Region &combine) {
  ::mlir::Block &body = combine.front();
  if (body.getNumArguments() != 2 || !llvm::hasNItems(body, 2)) return std::nullopt;
  auto op = dyn_cast<BinaryOp>(body.front());
  if (!op || op.getLhs() != body.getArgument(0) || op.getRhs() != body.getArgument(1) || body.back().getOperand(0) != op.getResult())
    return std::nullopt;
  return op.getKind();
}

} // namespace intent::block
