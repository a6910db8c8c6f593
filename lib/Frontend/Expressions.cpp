// Evaluation of expressions: names, attributes, tuples, choices, and what an entity is as a value.
#include "Lowering.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace intent;
using namespace intent::frontend;

// The stack that a nesting level takes is bounded, and so is what inlining multiplies.
static constexpr unsigned maxDepth = 400;
static constexpr uint64_t maxWork = 1000000;

/// What an author calls Python's forms of expressions.
StringRef intent::frontend::syntaxName(StringRef form) {
  return llvm::StringSwitch<StringRef>(form)
      .Case("List", "a list")
      .Case("Dict", "a dictionary")
      .Case("Set", "a set")
      .Case("ListComp", "a list comprehension")
      .Case("DictComp", "a dictionary comprehension")
      .Case("SetComp", "a set comprehension")
      .Case("GeneratorExp", "a generator expression")
      .Case("Starred", "a starred item")
      .Case("Lambda", "a lambda")
      .Case("JoinedStr", "an f-string")
      .Case("NamedExpr", "an assignment inside an expression")
      .Cases({"Yield", "YieldFrom"}, "yield")
      .Case("Await", "await")
      .Default(form);
}

FailureOr<Entity> Lowering::evaluate(NodeId node) {
  if (++work > maxWork) return error(node) << "the program expands to more than " << maxWork << " expressions";
  if (depth >= maxDepth) return error(node) << "the program nests deeper than " << maxDepth << " levels here; name intermediate values";
  llvm::SaveAndRestore<unsigned> nesting(depth, depth + 1);
  return evaluateNode(node);
}

FailureOr<Entity> Lowering::evaluateNode(NodeId id) {
  const Node &node = request.node(id);
  switch (node.kind) {
  case NodeKind::Constant:
    if (node.constant.tooWide) return error(id) << "the integer does not fit 128 bits";
    return constantEntity(node.constant);
  case NodeKind::Name: return lookUp(node.fields[0].text, id);
  case NodeKind::Tuple: return evaluateTuple(id);
  case NodeKind::Attribute: return evaluateAttribute(id);
  case NodeKind::Subscript: return evaluateSubscript(id);
  case NodeKind::BinOp: return evaluateBinOp(id);
  case NodeKind::UnaryOp: return evaluateUnaryOp(id);
  case NodeKind::Compare: return evaluateCompare(id);
  case NodeKind::BoolOp: return evaluateBoolOp(id);
  case NodeKind::IfExp: return evaluateIfExp(id);
  case NodeKind::Call: return evaluateCall(id);
  case NodeKind::Slice: return error(id) << "a slice stands only inside an index";
  default:
    return error(id) << syntaxName(node.name) << " is not part of the language" << (node.name == "List" ? "; a tuple (a, b) is" : "");
  }
}

FailureOr<Entity> Lowering::constantEntity(const Constant &constant) {
  if (constant.kind != Constant::Tuple) return Entity::ofConstant(constant);
  std::vector<Entity> items;
  for (const Constant &item : constant.items) {
    FailureOr<Entity> entity = constantEntity(item); // at most 16 levels, as parsed
    if (failed(entity)) return failure();
    items.push_back(*entity);
  }
  return Entity::ofTuple(std::move(items));
}

//===- names -------------------------------------------------------------------------------------------===//

FailureOr<Entity> Lowering::lookUp(StringRef name, NodeId at) {
  Frame &frame = frames.back();
  auto local = frame.names.find(name.str());
  if (local != frame.names.end()) {
    if (local->second.kind == Entity::Unbound) return error(at) << "name '" << name << "' " << local->second.text;
    return local->second;
  }
  auto global = frame.function->names.find(name);
  if (global == frame.function->names.end()) return error(at) << "name '" << name << "' is not defined";
  FailureOr<Entity> entity = meaningOf(global->second, at);
  if (succeeded(entity) && entity->kind == Entity::Module && global->second.text != "intent" && global->second.text != "intent.language")
    entity->text = name.str(); // attributes of other modules are recorded as dotted names
  return entity;
}

FailureOr<Entity> Lowering::meaningOf(const Meaning &meaning, NodeId at) {
  switch (meaning.kind) {
  case Meaning::Module: return Entity::ofText(Entity::Module, meaning.text);
  case Meaning::Builtin: return Entity::ofText(Entity::Builtin, meaning.text);
  case Meaning::Unsupported: return Entity::ofText(Entity::Foreign, meaning.text);
  case Meaning::Value: return constantEntity(meaning.constant);
  case Meaning::Function: {
    Entity entity = Entity::ofText(Entity::Function, request.functions[meaning.function].name);
    entity.function = &request.functions[meaning.function];
    return entity;
  }
  case Meaning::Enum: {
    Entity entity = Entity::ofText(Entity::EnumClass, meaning.text);
    entity.meaning = &meaning;
    return entity;
  }
  case Meaning::TypeVar: {
    FailureOr<std::string> dtype = boundDtype(meaning.text, at);
    if (failed(dtype)) return failure();
    return Entity::ofConstant(Constant::ofDtype(*dtype));
  }
  case Meaning::Intrinsic:
    if (std::optional<Constant> constant = languageConstant(meaning.text)) return Entity::ofConstant(*constant);
    if (isFormat(meaning.text)) return Entity::ofText(Entity::Format, meaning.text);
    if (!findIntrinsic(meaning.text) && !isNamespace(meaning.text)) return error(at) << "the language has no name '" << meaning.text << "'";
    return Entity::ofText(Entity::Intrinsic, meaning.text);
  }
  return failure();
}

FailureOr<Entity> Lowering::evaluateAttribute(NodeId id) {
  const Node &node = request.node(id);
  StringRef attribute = node.fields[1].text;
  FailureOr<Entity> evaluated = evaluate(node.fields[0].id);
  if (failed(evaluated)) return failure();
  Entity &base = *evaluated;
  if (base.kind == Entity::Choice) {
    FailureOr<Value> value = asValue(base, id);
    if (failed(value)) return failure();
    base = Entity::ofValue(*value);
  }
  switch (base.kind) {
  case Entity::Module: {
    if (base.text == "intent") {
      if (attribute == "language") return Entity::ofText(Entity::Module, "intent.language");
      return error(id) << "'intent." << attribute << "' is a host name; it has no meaning inside a kernel";
    }
    if (base.text != "intent.language") {
      std::string path = base.text + "." + attribute.str();
      auto found = frames.back().function->names.find(path);
      if (found == frames.back().function->names.end()) return error(id) << "'" << path << "' is not defined";
      FailureOr<Entity> entity = meaningOf(found->second, id);
      if (succeeded(entity) && entity->kind == Entity::Module && entity->text != "intent" && entity->text != "intent.language")
        entity->text = path;
      return entity;
    }
    Meaning meaning;
    meaning.kind = Meaning::Intrinsic;
    meaning.text = attribute.str();
    return meaningOf(meaning, id);
  }
  case Entity::Intrinsic: {
    Meaning meaning;
    meaning.kind = Meaning::Intrinsic;
    meaning.text = base.text + "." + attribute.str();
    return meaningOf(meaning, id);
  }
  case Entity::EnumClass: {
    if (!llvm::is_contained(base.meaning->names, attribute))
      return error(id) << "enum " << base.text << " has no member '" << attribute << "'";
    Constant member;
    member.kind = Constant::Enum;
    member.text = base.text;
    member.member = attribute.str();
    return Entity::ofConstant(member);
  }
  case Entity::Record:
    for (auto [name, item] : llvm::zip_equal(base.product->names, base.product->items))
      if (name == attribute) return item;
    return error(id) << "the record has no field '" << attribute << "'; it has " << llvm::join(base.product->names, ", ");
  case Entity::Ragged:
    if (attribute == "outer") return base.items()[0];
    break;
  case Entity::View:
  case Entity::Value:
    if (attribute == "dtype") return Entity::ofConstant(Constant::ofDtype(dtypeName(kir::elementType(base.value.getType()))));
    if (attribute == "shape" && !base.isScalar()) return shapeEntity(kir::shapeOf(base.value.getType()), id);
    break;
  default: break;
  }
  return error(id) << describe(base) << " has no attribute '" << attribute << "'";
}

Entity Lowering::shapeEntity(ArrayRef<ExtentAttr> shape, NodeId at) {
  std::vector<Entity> items;
  for (ExtentAttr extent : shape) {
    if (!dependsOnSlice(extent)) {
      items.push_back(Entity::ofValue(extentValue(extent, at)));
      continue;
    }
    Entity length;
    length.kind = Entity::Length;
    length.extent = extent;
    items.push_back(length);
  }
  return Entity::ofTuple(std::move(items));
}

FailureOr<Entity> Lowering::evaluateTuple(NodeId id) {
  std::vector<Entity> items;
  for (NodeId child : request.node(id).fields[0].list) {
    FailureOr<Entity> item = evaluate(child);
    if (failed(item)) return failure();
    items.push_back(*item);
  }
  return Entity::ofTuple(std::move(items));
}

//===- entities as values ------------------------------------------------------------------------------===//

std::string Lowering::describe(const Entity &entity) {
  switch (entity.kind) {
  case Entity::Unbound: return "nothing";
  case Entity::Literal:
    switch (entity.constant->kind) {
    case Constant::None:
    case Constant::Ellipsis: return entity.constant->spell();
    case Constant::Dtype: return "dtype " + entity.constant->spell();
    case Constant::Enum: return "enum member " + entity.constant->spell();
    case Constant::Str: return "string " + entity.constant->spell();
    default: return "literal " + entity.constant->spell();
    }
  case Entity::Value: {
    std::string element = dtypeName(kir::elementType(entity.value.getType())).str();
    return entity.isScalar() ? element + " scalar" : element + " tensor " + spell(kir::shapeOf(entity.value.getType()));
  }
  case Entity::View:
    if (entity.text.empty()) return "a buffer";
    return (isa<OpResult>(entity.value) ? "buffer '" : "view '") + entity.text + "'";
  case Entity::Domain: return "a domain";
  case Entity::Tuple: return "a tuple of " + std::to_string(entity.items().size());
  case Entity::Record: return "a record of " + llvm::join(entity.product->names, ", ");
  case Entity::Function: return "function '" + entity.text + "'";
  case Entity::Intrinsic: return "operation I." + entity.text;
  case Entity::Module: return "module '" + entity.text + "'";
  case Entity::EnumClass: return "enum " + entity.text;
  case Entity::Builtin: return "Python builtin '" + entity.text + "'";
  case Entity::Foreign: return "a Python object ('" + entity.text + "')";
  case Entity::Parallel: return "I.parallel(...)";
  case Entity::Ragged: return "I.ragged(...)";
  case Entity::Open: return "a number without a dtype";
  case Entity::Choice: return "a choice of literals";
  case Entity::Format: return "format I." + entity.text;
  case Entity::Length: return "the extent of a slice, which is not observable";
  }
  return "?";
}

/// With the dtype and shape of a view, where it is these that do not fit.
std::string Lowering::describeElements(const Entity &entity) {
  if (entity.kind != Entity::View) return describe(entity);
  Type type = entity.value.getType();
  return describe(entity) + ", " + dtypeName(kir::elementType(type)).str() + " " + spell(kir::shapeOf(type));
}

/// Two entities that differ, also where one word describes both.
std::string Lowering::describeBoth(const Entity &a, const Entity &b) {
  std::string texts[] = {describe(a), describe(b)};
  auto spellDomain = [&](const Bounds &bounds) {
    ExtentAttr step = extentOf(bounds.step);
    return "I.domain(" + spell(extentOf(bounds.begin)) + ", " + spell(extentOf(bounds.end)) +
           (step.getConstant() == 1 ? "" : ", " + spell(step)) + ")";
  };
  if (a.kind == Entity::Domain && b.kind == Entity::Domain) {
    texts[0] = spellDomain(*a.region);
    texts[1] = spellDomain(*b.region);
  }
  return texts[0] + " and " + (texts[0] == texts[1] ? "another " : "") + texts[1];
}

FailureOr<Value> Lowering::asValue(const Entity &entity, NodeId at, Type element) {
  if (entity.kind == Entity::Value) return entity.value;
  if (entity.isNumber() || entity.kind == Entity::Open) return literalValue(*entity.constant, element, at);
  if (entity.kind == Entity::Choice) {
    if (!element) element = defaultElement(entity);
    Value sides[2];
    for (int side = 0; side < 2; ++side) {
      FailureOr<Value> value = asValue(entity.items()[side], at, element);
      if (failed(value)) return failure();
      sides[side] = *value;
    }
    FailureOr<Entity> chosen =
        selectEntities({Entity::ofValue(entity.value), at, "condition"}, {Entity::ofValue(sides[0]), at, "true value"},
                       {Entity::ofValue(sides[1]), at, "false value"}, at);
    if (failed(chosen)) return failure();
    return chosen->value;
  }
  InFlightDiagnostic diagnostic = error(at);
  diagnostic << "expected a tensor or scalar, got " << describe(entity);
  if (entity.kind == Entity::View) {
    size_t rank = kir::shapeOf(entity.value.getType()).size();
    SmallVector<StringRef> all(rank, ":");
    diagnostic << "; read its elements with " << (entity.text.empty() ? "buffer" : entity.text) << "["
               << (rank ? llvm::join(all, ", ") : "()") << "]";
  }
  if (entity.kind == Entity::Domain) diagnostic << "; its coordinates are I.indices(...)";
  return diagnostic;
}

FailureOr<Value> Lowering::asTensor(const Entity &entity, NodeId at, const Twine &what) {
  if (entity.isTensor()) return entity.value;
  if (entity.kind == Entity::Choice && isa<KirTensorType>(entity.value.getType())) return asValue(entity, at);
  if (entity.isScalar() || entity.isUntyped()) return error(at) << what << ": expected a tensor, got " << describe(entity);
  return asValue(entity, at);
}

FailureOr<Value> Lowering::asIndex(const Entity &entity, NodeId at, const Twine &what) {
  if (entity.isLiteral(Constant::Int) || (entity.kind == Entity::Choice && !isa<KirTensorType>(entity.value.getType())) ||
      (entity.kind == Entity::Open && entity.constant->kind == Constant::Int))
    return asValue(entity, at, builder.getIndexType());
  Type type = entity.isScalar() ? entity.value.getType() : Type();
  if (!type || !isa<IntegerType, IndexType>(type) || type.isInteger(1))
    return error(at) << what << ": expected an integer scalar, got " << describe(entity);
  if (type.isIndex()) return entity.value;
  return make<kir::CastOp>(at, builder.getIndexType(), entity.value).getResult();
}

FailureOr<Value> Lowering::asCondition(const Entity &entity, NodeId at, StringRef where) {
  if (entity.isScalar() && entity.value.getType().isInteger(1)) return entity.value;
  if (entity.kind == Entity::Open && entity.constant->kind == Constant::Bool) return asValue(entity, at);
  if (entity.isTensor())
    return error(at) << where << " takes a scalar condition, got " << describe(entity) << "; use I.select, and & | ~ on tensors";
  return error(at) << where << " takes a bool condition, got " << describe(entity) << "; compare it";
}

//===- choices -----------------------------------------------------------------------------------------===//

FailureOr<Entity> Lowering::evaluateIfExp(NodeId id) {
  const Node &node = request.node(id);
  FailureOr<Entity> test = evaluate(node.fields[0].id);
  if (failed(test)) return failure();
  if (std::optional<bool> taken = truth(*test)) return evaluate(node.fields[*taken ? 1 : 2].id);
  FailureOr<Value> condition = asCondition(*test, node.fields[0].id, "a conditional expression");
  if (failed(condition)) return failure();
  return runtimeChoice(*condition, id, [&] { return evaluate(node.fields[1].id); }, [&] { return evaluate(node.fields[2].id); });
}

FailureOr<Entity> Lowering::evaluateBoolOp(NodeId id) {
  const Node &node = request.node(id);
  bool isAnd = node.fields[0].text == "And";
  StringRef spelling = isAnd ? "and" : "or";
  if (!isAnd && node.fields[0].text != "Or") return error(id) << "operator '" << node.fields[0].text << "' is not part of the language";
  Entity result;
  for (NodeId child : node.fields[1].list) {
    // A compile-time operand that decides leaves the rest untyped.
    std::optional<bool> before = truth(result);
    if (before && *before != isAnd) return result;
    bool decided = result.kind == Entity::Unbound || before;
    FailureOr<Entity> next = decided ? evaluate(child) : evaluateLater(result.value, isAnd, child, id);
    if (failed(next)) return failure();
    if (next->kind != Entity::Tuple && !truth(*next)) {
      FailureOr<Value> condition = asCondition(*next, child, Twine("'" + spelling + "'").str());
      if (failed(condition)) return failure();
      next = Entity::ofValue(*condition);
    }
    if (decided) {
      result = *next;
      continue;
    }
    if (std::optional<bool> after = truth(*next)) {
      if (*after != isAnd) result = Entity::ofBool(*after);
      continue;
    }
    result = Entity::ofValue(
        make<kir::BinaryOp>(id, result.value.getType(), isAnd ? BinaryKind::And : BinaryKind::Or, result.value, next->value, false, false));
  }
  if (result.kind == Entity::Unbound) return error(id) << "'" << spelling << "' has no operands";
  return result;
}

/// A later operand of `and` and `or`. One with effects, or that reads where the operands before it may guard against it, runs only where
/// those do not decide; any other is evaluated in place.
FailureOr<Entity> Lowering::evaluateLater(Value before, bool isAnd, NodeId child, NodeId at) {
  if (failed(enterRegion(at))) return failure();
  llvm::SaveAndRestore<unsigned> nesting(regionDepth, regionDepth + 1);
  kir::IfOp open = openIf(before, at);
  Merging merging;
  merging.at = at;
  merging.blocks[0] = &open.getThenRegion().front();
  merging.blocks[1] = &open.getElseRegion().front();
  unsigned side = isAnd ? 0 : 1;
  Block &block = *merging.blocks[side];
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&block);
  FailureOr<Entity> next = evaluate(child);
  if (failed(next)) return failure();
  if (llvm::all_of(block, [](Operation &op) { return isMemoryEffectFree(&op) || isa<kir::SymbolOp>(op); })) {
    for (Operation &op : llvm::make_early_inc_range(block))
      op.moveBefore(open);
    open.erase();
    ++goneBlocks; // reads are known by their block
    return next;
  }
  Value taken;
  if (std::optional<bool> known = truth(*next)) taken = *literalValue(Constant::ofBool(*known), builder.getI1Type(), at);
  else if (FailureOr<Value> condition = asCondition(*next, child, isAnd ? "'and'" : "'or'"); succeeded(condition)) taken = *condition;
  else return failure();
  merging.values[side].push_back(taken);
  builder.setInsertionPointToEnd(merging.blocks[1 - side]);
  merging.values[1 - side].push_back(*literalValue(Constant::ofBool(!isAnd), builder.getI1Type(), at));
  builder.setInsertionPointAfter(open);
  return Entity::ofValue(closeIf(open, merging, at).getResult(0));
}
