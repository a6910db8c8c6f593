// Calls: binding arguments to a signature, operations of the language, helpers inlined.
#include "Lowering.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace intent;
using namespace intent::frontend;

/// What the language has in the place of a Python builtin.
static StringRef insteadOf(StringRef builtin) {
  return llvm::StringSwitch<StringRef>(builtin)
      .Case("len", "; use x.shape")
      .Case("min", "; use I.minimum or I.reduce.min")
      .Case("max", "; use I.maximum or I.reduce.max")
      .Case("abs", "; use I.abs")
      .Case("sum", "; use I.reduce.sum")
      .Case("any", "; use I.reduce.any")
      .Case("all", "; use I.reduce.all")
      .Case("pow", "; use **")
      .Case("divmod", "; use // and %")
      .Cases({"int", "float", "bool"}, "; use I.cast")
      .Default("");
}

FailureOr<Entity> Lowering::evaluateCall(NodeId id) {
  const Node &node = request.node(id);
  FailureOr<Entity> callee = evaluate(node.fields[0].id);
  if (failed(callee)) return failure();
  std::vector<Argument> arguments;
  for (NodeId child : node.fields[1].list) {
    if (request.node(child).name == "Starred") return error(child) << "unpacked arguments are not part of the language";
    FailureOr<Entity> entity = evaluate(child);
    if (failed(entity)) return failure();
    arguments.push_back({"", *entity, child});
  }
  for (NodeId child : node.fields[2].list) {
    const Node &keyword = request.node(child);
    if (keyword.fields[0].text.empty()) return error(child) << "unpacked arguments are not part of the language";
    FailureOr<Entity> entity = evaluate(keyword.fields[1].id);
    if (failed(entity)) return failure();
    arguments.push_back({keyword.fields[0].text, *entity, keyword.fields[1].id});
  }
  if (callee->kind == Entity::Intrinsic) return callIntrinsic(*callee, arguments, id);
  if (callee->kind == Entity::Function) return callFunction(*callee, arguments, id);
  if (callee->kind == Entity::Builtin && callee->text == "range") return callRange(arguments, id);
  if (callee->kind == Entity::Builtin)
    return error(id) << "Python builtin '" << callee->text << "' is not part of the language" << insteadOf(callee->text);
  if (callee->kind == Entity::Foreign && callee->text == "function")
    return error(id) << "a plain Python function is not called from a kernel; decorate it with @intent.fn";
  if (callee->isLiteral(Constant::Dtype))
    return error(id) << "a dtype is not called; convert with I.cast(value, " << callee->constant->spell() << ")";
  return error(id) << describe(*callee) << " is not called";
}

FailureOr<Entity> Lowering::apply(const Entity &callee, ArrayRef<Entity> arguments, ArrayRef<NodeId> nodes, NodeId at) {
  std::vector<Argument> written;
  for (auto [entity, node] : llvm::zip_equal(arguments, nodes))
    written.push_back({"", entity, node});
  if (callee.kind == Entity::Intrinsic) return callIntrinsic(callee, written, at);
  if (callee.kind == Entity::Function) return callFunction(callee, written, at);
  return error(at) << "expected an @intent.fn or an operation of the language, got " << describe(callee);
}

FailureOr<Entity> Lowering::callRange(ArrayRef<Argument> arguments, NodeId at) {
  SmallVector<NodeId> nodes(3, at);
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    if (!argument.keyword.empty() || i == 3) return error(argument.node) << "range takes one to three positional arguments";
    nodes[i] = argument.node;
  }
  if (arguments.empty()) return error(at) << "range takes one to three positional arguments";
  return makeDomain(arguments[0].entity, arguments.size() > 1 ? &arguments[1].entity : nullptr,
                    arguments.size() > 2 ? &arguments[2].entity : nullptr, nodes, at);
}

//===- operations of the language ----------------------------------------------------------------------===//

LogicalResult Lowering::bindArguments(const Intrinsic &intrinsic, ArrayRef<Argument> arguments, Call &call) {
  auto name = [&] { return "I." + intrinsic.path; };
  if (intrinsic.signature == "**fields") {
    for (const Argument &argument : arguments) {
      if (argument.keyword.empty()) return error(argument.node) << name() << " takes named fields only";
      if (llvm::is_contained(call.keywords, argument.keyword))
        return error(argument.node) << name() << ": field '" << argument.keyword << "' is repeated";
      call.keywords.push_back(argument.keyword);
      call.arguments.push_back(argument.entity);
      call.nodes.push_back(argument.node);
    }
    return success();
  }
  SmallVector<StringRef> items, names;
  intrinsic.signature.split(items, ", ");
  size_t positional = 0;
  SmallVector<bool> optional;
  bool keywordOnly = false;
  for (StringRef item : items) {
    if (item == "*") {
      keywordOnly = true;
      continue;
    }
    optional.push_back(item.consume_back("="));
    names.push_back(item);
    positional += !keywordOnly;
  }
  call.arguments.resize(names.size());
  call.nodes.assign(names.size(), call.node);
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    size_t slot = i;
    if (!argument.keyword.empty()) {
      slot = llvm::find(names, argument.keyword) - names.begin();
      if (slot == names.size())
        return error(argument.node) << name() << " has no parameter '" << argument.keyword << "'; it takes " << llvm::join(names, ", ");
    } else if (slot >= positional) {
      InFlightDiagnostic diagnostic = error(argument.node);
      diagnostic << name() << " takes " << static_cast<unsigned>(positional) << " positional argument" << (positional == 1 ? "" : "s")
                 << ", got one too many";
      if (positional < names.size()) diagnostic << "; " << llvm::join(ArrayRef(names).drop_front(positional), ", ") << " are given by name";
      return diagnostic;
    }
    if (call.arguments[slot]) return error(argument.node) << name() << ": argument '" << names[slot] << "' is given twice";
    call.arguments[slot] = argument.entity;
    call.nodes[slot] = argument.node;
  }
  for (auto [i, parameter] : llvm::enumerate(names))
    if (!call.arguments[i] && !optional[i]) return error(call.node) << name() << " lacks the argument '" << parameter << "'";
  return success();
}

FailureOr<Entity> Lowering::callIntrinsic(const Entity &callee, ArrayRef<Argument> arguments, NodeId at) {
  const Intrinsic *intrinsic = findIntrinsic(callee.text);
  if (!intrinsic) return error(at) << "I." << callee.text << " is not called";
  Call call;
  call.intrinsic = intrinsic;
  call.node = at;
  if (failed(bindArguments(*intrinsic, arguments, call))) return failure();
  return (this->*intrinsic->handler)(call);
}

//===- helpers -----------------------------------------------------------------------------------------===//

/// `symbols`: what the shape symbols of the helper stand for.
FailureOr<Entity> Lowering::bindParameter(const Parameter &p, const Entity &argument, NodeId at,
                                          std::map<std::string, ExtentAttr> &symbols) {
  switch (p.kind) {
  case Parameter::Value: return argument;
  case Parameter::Constexpr: {
    if (argument.isLiteral()) {
      FailureOr<Constant> value = checkConstexpr(p, *argument.constant, at);
      if (failed(value)) return failure();
      return Entity::ofConstant(*value);
    }
    if (argument.isScalar() && p.type == "int" && (argument.value.getType().isIndex() || argument.value.getType().isInteger(64)))
      if (std::optional<int64_t> value = extentOf(argument.value).getConstant()) return Entity::ofInt(*value);
    return error(at) << "constexpr '" << p.name << "': expected a compile-time value, got " << describe(argument);
  }
  case Parameter::Scalar: {
    FailureOr<Type> element = parameterDtype(p);
    if (failed(element)) return failure();
    meet(argument, *element);
    FailureOr<Value> value = asValue(argument, at, *element);
    if (failed(value)) return failure();
    if (value->getType() != *element)
      return error(at) << "parameter '" << p.name << "': expected " << dtypeName(*element) << " scalar, got " << describe(argument);
    return Entity::ofValue(*value);
  }
  case Parameter::View: {
    FailureOr<Type> element = parameterDtype(p);
    if (failed(element)) return failure();
    if (argument.kind != Entity::View) return error(at) << "parameter '" << p.name << "': expected a view, got " << describe(argument);
    auto type = cast<kir::ViewType>(argument.value.getType());
    if (type.getElement() != *element || type.getShape().size() != p.shape.size())
      return error(at) << "parameter '" << p.name << "': expected a view of dtype " << dtypeName(*element) << " and rank "
                       << static_cast<unsigned>(p.shape.size()) << ", got dtype " << dtypeName(type.getElement()) << " and rank "
                       << static_cast<unsigned>(type.getShape().size());
    bool isInput = argument.readOnly || type.getAccess() == Access::In;
    if (isInput && p.access != "in")
      return error(at) << "parameter '" << p.name << "': expected a view to write, got '" << argument.text << "', an input (I.In)";
    for (auto [axis, declared, own] : llvm::enumerate(p.shape, type.getShape())) {
      const std::string *symbol = std::get_if<std::string>(&declared);
      ExtentAttr wanted = symbol ? symbols.try_emplace(*symbol, own).first->second : known(std::get<int64_t>(declared));
      if (relate(wanted, own) == Relation::Equal) continue;
      std::string what = "parameter '" + p.name + "': axis " + std::to_string(axis) + " has extent " + spell(own) + ", expected " +
                         (symbol ? *symbol + " = " : "") + spell(wanted);
      if (wanted.getConstant() && own.getConstant()) return error(at) << what;
      checkEqual(wanted, own, at, what);
    }
    Entity view = argument;
    if (p.access == "in" && !isInput) {
      view.readOnly = true;
      view.text = p.name;
    }
    return view;
  }
  }
  return failure();
}

FailureOr<Entity> Lowering::callFunction(const Entity &callee, ArrayRef<Argument> arguments, NodeId at) {
  const Function &function = *callee.function;
  if (function.kernel)
    return error(at) << "'" << function.name << "' is a kernel; a kernel calls @intent.fn helpers, and host code launches kernels";
  for (const Frame &frame : frames) {
    if (frame.function != &function) continue;
    InFlightDiagnostic diagnostic = error(at);
    diagnostic << "'" << function.name << "' calls itself; the language has no recursion";
    return diagnostic;
  }
  const std::vector<Parameter> &parameters = function.parameters;
  SmallVector<const Argument *> bound(parameters.size(), nullptr);
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    size_t slot = i;
    if (!argument.keyword.empty())
      slot = llvm::find_if(parameters, [&](const Parameter &p) { return p.name == argument.keyword; }) - parameters.begin();
    if (slot >= parameters.size()) {
      InFlightDiagnostic diagnostic = error(argument.node);
      if (argument.keyword.empty())
        diagnostic << "'" << function.name << "' takes " << static_cast<unsigned>(parameters.size()) << " arguments, got "
                   << static_cast<unsigned>(arguments.size());
      else diagnostic << "'" << function.name << "' has no parameter '" << argument.keyword << "'";
      note(diagnostic, function.root, "'" + function.name + "' is defined here");
      return diagnostic;
    }
    if (bound[slot]) return error(argument.node) << "'" << function.name << "': argument '" << parameters[slot].name << "' is given twice";
    bound[slot] = &argument;
  }
  Frame frame;
  frame.function = &function;
  frame.call = at;
  std::map<std::string, ExtentAttr> symbols;
  for (auto [p, argument] : llvm::zip_equal(parameters, bound))
    if (p.kind == Parameter::Constexpr && p.type == "int" && argument && argument->entity.isLiteral(Constant::Int))
      symbols[p.name] = known(static_cast<int64_t>(argument->entity.constant->integer));
  for (auto [p, argument] : llvm::zip_equal(parameters, bound)) {
    if (!argument && !p.fallback) {
      InFlightDiagnostic diagnostic = error(at);
      diagnostic << "'" << function.name << "' lacks the argument '" << p.name << "'";
      note(diagnostic, p.node, "parameter '" + p.name + "' is here");
      return diagnostic;
    }
    FailureOr<Entity> given = argument ? FailureOr<Entity>(argument->entity) : constantEntity(*p.fallback);
    if (failed(given)) return failure();
    FailureOr<Entity> entity = bindParameter(p, *given, argument ? argument->node : at, symbols);
    if (failed(entity)) return failure();
    frame.names[p.name] = *entity;
  }
  frames.push_back(std::move(frame));
  FailureOr<Entity> result = resultOf(runBlock(request.node(function.root).fields[2].list), function);
  frames.pop_back();
  return result;
}
