// The public entry, the kernel's interface, and what every diagnostic shares.
#include "intent/Frontend/Frontend.h"

#include "Lowering.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace intent;
using namespace intent::frontend;
using kir::ViewType;

OwningOpRef<ModuleOp> frontend::lowerToKir(const llvm::json::Object &object, MLIRContext &context) {
  context.loadDialect<kir::KirDialect>();
  Request request;
  if (std::optional<std::string> problem = parseRequest(object, request)) {
    emitError(UnknownLoc::get(&context), "request: ") << *problem;
    return {};
  }
  return Lowering(request, &context).run();
}

//===- diagnostics -------------------------------------------------------------------------------------===//

Location Lowering::location(NodeId node) {
  if (node == noNode) return UnknownLoc::get(context);
  const Node &n = request.node(node);
  return FileLineColLoc::get(context, request.files[n.file], n.line, n.column + 1);
}

/// The whole expression, for the caret of a diagnostic.
Location Lowering::extentOfText(NodeId node) {
  if (node == noNode) return UnknownLoc::get(context);
  const Node &n = request.node(node);
  if (n.endLine != n.line || n.endColumn <= n.column) return location(node);
  return FileLineColRange::get(builder.getStringAttr(request.files[n.file]), n.line, n.column + 1, n.endColumn + 1);
}

void Lowering::note(InFlightDiagnostic &diagnostic, NodeId node, const Twine &message) {
  diagnostic.attachNote(extentOfText(node)) << message;
}

InFlightDiagnostic Lowering::error(NodeId node) {
  InFlightDiagnostic diagnostic = emitError(extentOfText(node));
  for (const Frame &frame : llvm::reverse(frames))
    if (frame.call != noNode) note(diagnostic, frame.call, "in '" + frame.function->name + "', called here");
  return diagnostic;
}

//===- interface ---------------------------------------------------------------------------------------===//

FailureOr<Constant> Lowering::checkConstexpr(const Parameter &p, const Constant &value, NodeId at) {
  if (!p.enumType.empty()) {
    if (value.kind == Constant::Enum && value.text == p.enumType) return value;
    return error(at) << "constexpr '" << p.name << "': expected a member of " << p.enumType << ", got " << value.spell();
  }
  if (value.tooWide) return error(at) << "constexpr '" << p.name << "': the integer does not fit 128 bits";
  if (p.type == "float" && value.kind == Constant::Int) return Constant::ofFloat(value.asReal());
  bool fits = p.type == "int"     ? value.kind == Constant::Int
              : p.type == "float" ? value.kind == Constant::Float
              : p.type == "bool"  ? value.kind == Constant::Bool
                                  : value.kind == Constant::Str;
  if (!fits) return error(at) << "constexpr '" << p.name << "': expected " << p.type << ", got " << value.spell();
  return value;
}

LogicalResult Lowering::bindConstexprs(const Function &function) {
  for (const auto &[name, value] : request.constexprs) {
    bool exists = llvm::any_of(function.parameters, [&](const Parameter &p) { return p.kind == Parameter::Constexpr && p.name == name; });
    if (!exists) return error(function.root) << "kernel '" << function.name << "' has no constexpr parameter '" << name << "'";
  }
  for (const auto &entry : request.types) {
    const std::string &name = entry.first;
    bool used = llvm::any_of(request.functions, [&](const Function &f) {
      return llvm::any_of(f.parameters, [&](const Parameter &p) { return p.typeVar == name; }) ||
             llvm::any_of(f.names, [&](const auto &n) { return n.second.kind == Meaning::TypeVar && n.second.text == name; });
    });
    if (!used) return error(function.root) << "kernel '" << function.name << "' has no type variable '" << name << "'";
  }
  for (const Parameter &p : function.parameters) {
    if (p.kind != Parameter::Constexpr) continue;
    auto given = request.constexprs.find(p.name);
    const Constant *value = given != request.constexprs.end() ? &given->second : p.fallback ? &*p.fallback : nullptr;
    if (!value) return error(p.node) << "constexpr '" << p.name << "' has no value: pass constexprs={\"" << p.name << "\": ...}";
    FailureOr<Constant> checkedValue = checkConstexpr(p, *value, p.node);
    if (failed(checkedValue)) return failure();
    constexprs[p.name] = *checkedValue;
    frames.back().names[p.name] = Entity::ofConstant(*checkedValue);
  }
  return success();
}

FailureOr<std::string> Lowering::boundDtype(StringRef typeVar, NodeId at) {
  auto found = request.types.find(typeVar.str());
  if (found == request.types.end())
    return error(at) << "type variable '" << typeVar << "' is not bound: pass types={\"" << typeVar << "\": ...}";
  for (const Function &function : request.functions) {
    for (const Parameter &p : function.parameters)
      if (p.typeVar == typeVar && !p.dtypes.empty() && !llvm::is_contained(p.dtypes, found->second))
        return error(at) << "type variable '" << typeVar << "': expected one of " << llvm::join(p.dtypes, ", ") << ", got "
                         << found->second;
    for (const auto &entry : function.names) {
      const Meaning &meaning = entry.second;
      if (meaning.kind == Meaning::TypeVar && meaning.text == typeVar && !meaning.names.empty() &&
          !llvm::is_contained(meaning.names, found->second))
        return error(at) << "type variable '" << typeVar << "': expected one of " << llvm::join(meaning.names, ", ") << ", got "
                         << found->second;
    }
  }
  return found->second;
}

FailureOr<Type> Lowering::parameterDtype(const Parameter &p) {
  std::string name = p.dtype;
  if (!p.typeVar.empty()) {
    FailureOr<std::string> bound = boundDtype(p.typeVar, p.node);
    if (failed(bound)) return failure();
    name = *bound;
  }
  if (Type type = parseDtype(context, name)) return type;
  return error(p.node) << "parameter '" << p.name << "': no dtype is named '" << name << "'";
}

FailureOr<Type> Lowering::viewType(const Parameter &p, NamedAttrList &attributes) {
  FailureOr<Type> element = parameterDtype(p);
  if (failed(element)) return failure();
  auto constantExtent = [&](const std::string &name) -> FailureOr<std::optional<int64_t>> {
    auto found = constexprs.find(name);
    if (found == constexprs.end()) {
      auto pin = request.extents.find(name);
      if (pin == request.extents.end()) return std::optional<int64_t>();
      pinned.insert(name);
      return std::optional<int64_t>(pin->second);
    }
    const Constant &value = found->second;
    if (value.kind != Constant::Int || value.integer < 0 || value.integer > INT64_MAX)
      return error(p.node) << "parameter '" << p.name << "': constexpr '" << name
                           << "' stands for an extent and must be a non-negative int, got " << value.spell();
    return std::optional<int64_t>(static_cast<int64_t>(value.integer));
  };
  Shape shape;
  for (const auto &item : p.shape) {
    if (const int64_t *extent = std::get_if<int64_t>(&item)) {
      shape.push_back(known(*extent));
      continue;
    }
    const std::string &name = std::get<std::string>(item);
    FailureOr<std::optional<int64_t>> extent = constantExtent(name);
    if (failed(extent)) return failure();
    if (!*extent) symbols.insert(name);
    shape.push_back(*extent ? known(**extent) : ExtentAttr::atom(context, name));
  }
  if (p.noalias) attributes.append("kir.noalias", builder.getUnitAttr());
  if (p.alias) attributes.append("kir.alias", builder.getStringAttr(*p.alias));
  if (p.strides) {
    SmallVector<Attribute> strides;
    for (const auto &item : *p.strides) {
      if (const int64_t *stride = std::get_if<int64_t>(&item)) {
        strides.push_back(builder.getI64IntegerAttr(*stride));
      } else if (const std::string *name = std::get_if<std::string>(&item)) {
        FailureOr<std::optional<int64_t>> stride = constantExtent(*name);
        if (failed(stride)) return failure();
        strides.push_back(*stride ? Attribute(builder.getI64IntegerAttr(**stride)) : Attribute(builder.getStringAttr(*name)));
      } else {
        strides.push_back(builder.getUnitAttr());
      }
    }
    attributes.append("kir.strides", builder.getArrayAttr(strides));
  }
  return Type(ViewType::get(context, *element, shape, *symbolizeAccess(p.access)));
}

LogicalResult Lowering::buildInterface(const Function &function, ModuleOp module) {
  SmallVector<Type> types;
  SmallVector<Attribute> argumentAttributes;
  SmallVector<Location> locations;
  std::vector<const Parameter *> runtime;
  for (const Parameter &p : function.parameters) {
    if (p.kind == Parameter::Constexpr) continue;
    NamedAttrList attributes;
    attributes.append("kir.name", builder.getStringAttr(p.name));
    FailureOr<Type> type = p.kind == Parameter::View ? viewType(p, attributes) : parameterDtype(p);
    if (failed(type)) return failure();
    if (p.kind == Parameter::Scalar && p.fallback && failed(literalAttr(*p.fallback, *type, p.node)))
      return failure(); // the launcher binds it
    types.push_back(*type);
    argumentAttributes.push_back(attributes.getDictionary(context));
    locations.push_back(NameLoc::get(builder.getStringAttr(p.name), location(p.node)));
    runtime.push_back(&p);
  }
  for (const auto &[name, extent] : request.extents)
    if (!pinned.contains(name))
      return error(function.root) << "no view of kernel '" << function.name << "' has the symbol '" << name << "'";
  builder.setInsertionPointToStart(module.getBody());
  kernel = kir::KernelOp::create(builder, location(function.root), builder.getStringAttr(function.name),
                                 TypeAttr::get(builder.getFunctionType(types, {})), builder.getArrayAttr(argumentAttributes), ArrayAttr());
  Block *body = &kernel.getBody().emplaceBlock();
  for (auto [p, type, loc] : llvm::zip_equal(runtime, types, locations)) {
    Value argument = body->addArgument(type, loc);
    Entity entity = Entity::ofValue(argument);
    if (p->kind == Parameter::View) {
      entity.kind = Entity::View;
      entity.text = p->name;
    } else if (type.isIndex() || type.isInteger(64)) {
      extents[argument] = ExtentAttr::atom(context, "%" + p->name);
    }
    frames.back().names[p->name] = entity;
  }
  builder.setInsertionPointToStart(body);
  return success();
}

//===- the whole ---------------------------------------------------------------------------------------===//

LogicalResult Lowering::finish(ModuleOp module) {
  renameAtoms(module);
  IRRewriter rewriter(context);
  DominanceInfo dominance(module);
  eliminateCommonSubExpressions(rewriter, dominance, module);
  std::string reason;
  {
    ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
      if (reason.empty()) reason = diagnostic.str();
      return success();
    });
    if (succeeded(verify(module))) return success();
  }
  return error(request.functions[request.entry].root) << "internal error: the frontend built kernel IR that does not verify: " << reason;
}

OwningOpRef<ModuleOp> Lowering::run() {
  const Function &function = request.functions[request.entry];
  frames.push_back({});
  frames.back().function = &function;
  OwningOpRef<ModuleOp> module = ModuleOp::create(location(function.root));
  if (failed(bindConstexprs(function)) || failed(buildInterface(function, *module))) return {};
  if (runBlock(request.node(function.root).fields[2].list).failed) return {};
  kir::ReturnOp::create(builder, location(function.root));
  if (failed(finish(*module))) return {};
  return module;
}
