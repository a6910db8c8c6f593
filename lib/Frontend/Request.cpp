#include "Request.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace intent::frontend;

/// Names stand in kernel IR text: letters, digits, underscores and what is not ASCII.
static bool isIdentifier(StringRef name) {
  auto fits = [](unsigned char c) { return isAlnum(c) || c == '_' || c >= 0x80; };
  return !name.empty() && !isDigit(name[0]) && all_of(name, fits);
}

//===- the node table ----------------------------------------------------------------------------------===//

namespace {
// Field types: s statements, e expression, e? optional, e* list, t text, t? optional, t* list, A arguments, a* parameters,
// k* keywords, c constant.
struct NodeSpec {
  StringRef name;
  NodeKind kind;
  std::vector<std::pair<StringRef, StringRef>> fields;
};
const NodeSpec nodeSpecs[] = {
    {"FunctionDef", NodeKind::FunctionDef, {{"name", "t"}, {"args", "A"}, {"body", "s"}}},
    {"arguments", NodeKind::Arguments, {{"args", "a*"}}},
    {"arg", NodeKind::Arg, {{"arg", "t"}}},
    {"Return", NodeKind::Return, {{"value", "e?"}}},
    {"Assign", NodeKind::Assign, {{"targets", "e*"}, {"value", "e"}}},
    {"AugAssign", NodeKind::AugAssign, {{"target", "e"}, {"op", "t"}, {"value", "e"}}},
    {"Expr", NodeKind::Expr, {{"value", "e"}}},
    {"For", NodeKind::For, {{"target", "e"}, {"iter", "e"}, {"body", "s"}, {"orelse", "s"}}},
    {"While", NodeKind::While, {{"test", "e"}, {"body", "s"}, {"orelse", "s"}}},
    {"If", NodeKind::If, {{"test", "e"}, {"body", "s"}, {"orelse", "s"}}},
    {"Pass", NodeKind::Pass, {}},
    {"Break", NodeKind::Break, {}},
    {"Continue", NodeKind::Continue, {}},
    {"BoolOp", NodeKind::BoolOp, {{"op", "t"}, {"values", "e*"}}},
    {"BinOp", NodeKind::BinOp, {{"left", "e"}, {"op", "t"}, {"right", "e"}}},
    {"UnaryOp", NodeKind::UnaryOp, {{"op", "t"}, {"operand", "e"}}},
    {"IfExp", NodeKind::IfExp, {{"test", "e"}, {"body", "e"}, {"orelse", "e"}}},
    {"Compare", NodeKind::Compare, {{"left", "e"}, {"ops", "t*"}, {"comparators", "e*"}}},
    {"Call", NodeKind::Call, {{"func", "e"}, {"args", "e*"}, {"keywords", "k*"}}},
    {"keyword", NodeKind::Keyword, {{"arg", "t?"}, {"value", "e"}}},
    {"Attribute", NodeKind::Attribute, {{"value", "e"}, {"attr", "t"}}},
    {"Subscript", NodeKind::Subscript, {{"value", "e"}, {"slice", "e"}}},
    {"Slice", NodeKind::Slice, {{"lower", "e?"}, {"upper", "e?"}, {"step", "e?"}}},
    {"Name", NodeKind::Name, {{"id", "t"}}},
    {"Tuple", NodeKind::Tuple, {{"elts", "e*"}}},
    {"Constant", NodeKind::Constant, {{"value", "c"}}},
};

bool isStatement(NodeKind kind) { return (kind >= NodeKind::Return && kind <= NodeKind::Continue) || kind == NodeKind::Foreign; }
bool isExpression(NodeKind kind) { return (kind >= NodeKind::BoolOp && kind != NodeKind::Keyword); }

/// Reads one request; the first problem is kept in `problem`.
class Parser {
public:
  Parser(const json::Object &object, Request &request) : object(object), request(request) {}
  std::optional<std::string> run() {
    if (files() && nodes() && functions() && bindings()) return std::nullopt;
    return problem.empty() ? "malformed" : problem;
  }

private:
  template <typename... Args>
  bool fail(const char *format, Args &&...args) {
    if (problem.empty()) problem = formatv(format, std::forward<Args>(args)...).str();
    return false;
  }
  bool files();
  bool nodes();
  bool node(const json::Value &value, size_t number);
  bool field(const json::Value &value, StringRef type, size_t number, Node &node);
  bool reference(const json::Value &value, StringRef type, size_t number, NodeId &id);
  bool functions();
  bool function(const json::Value &value, size_t number);
  bool parameter(const json::Value &value, const std::string &where, Parameter &parameter);
  bool shape(const json::Value *value, const std::string &where, Parameter &parameter);
  bool strides(const json::Value *value, const std::string &where, Parameter &parameter);
  bool dtype(const json::Value *value, const std::string &where, Parameter &parameter);
  bool meaning(const json::Value &value, const std::string &where, Meaning &meaning);
  bool bindings();
  bool constant(const json::Value *value, const std::string &where, Constant &constant, unsigned depth = 0);
  bool strings(const json::Value *value, const std::string &where, std::vector<std::string> &out);
  bool onlyKeys(const json::Object &o, const std::string &where, ArrayRef<StringRef> keys);
  bool text(const json::Object &o, StringRef key, const std::string &where, std::string &out);
  bool nodeNumber(const json::Object &o, StringRef key, const std::string &where, NodeKind kind, NodeId &out);

  const json::Object &object;
  Request &request;
  std::string problem;
  std::vector<bool> used;
};
} // namespace

bool Parser::onlyKeys(const json::Object &o, const std::string &where, ArrayRef<StringRef> keys) {
  for (const auto &[key, value] : o)
    if (!is_contained(keys, StringRef(key))) return fail("{0}: unknown field '{1}'", where, StringRef(key));
  return true;
}

bool Parser::text(const json::Object &o, StringRef key, const std::string &where, std::string &out) {
  std::optional<StringRef> value = o.getString(key);
  if (!value) return fail("{0}: expected a string in '{1}'", where, key);
  out = value->str();
  return true;
}

bool Parser::strings(const json::Value *value, const std::string &where, std::vector<std::string> &out) {
  const json::Array *array = value ? value->getAsArray() : nullptr;
  if (!array) return fail("{0}: expected a list of strings", where);
  for (const json::Value &item : *array) {
    std::optional<StringRef> s = item.getAsString();
    if (!s) return fail("{0}: expected a list of strings", where);
    out.push_back(s->str());
  }
  return true;
}

bool Parser::files() {
  const json::Array *array = object.getArray("files");
  if (!array) return fail("files: expected a list");
  for (size_t i = 0; i < array->size(); ++i) {
    const json::Object *file = (*array)[i].getAsObject();
    std::string where = formatv("files[{0}]", i), name;
    if (!file) return fail("{0}: expected an object", where);
    if (!onlyKeys(*file, where, {"name", "lines"}) || !text(*file, "name", where, name)) return false;
    request.files.push_back(name);
  }
  return true;
}

bool Parser::nodes() {
  const json::Array *array = object.getArray("nodes");
  if (!array) return fail("nodes: expected a list");
  if (array->size() > 4000000) return fail("nodes: {0} nodes are too many", array->size());
  request.nodes.reserve(array->size());
  used.assign(array->size(), false);
  for (size_t i = 0; i < array->size(); ++i)
    if (!node((*array)[i], i)) return false;
  return true;
}

bool Parser::node(const json::Value &value, size_t number) {
  const json::Array *row = value.getAsArray();
  if (!row || row->size() != 7) return fail("nodes[{0}]: expected [kind, file, line, column, end_line, end_column, fields]", number);
  Node node;
  std::optional<StringRef> name = (*row)[0].getAsString();
  const json::Object *fields = (*row)[6].getAsObject();
  if (!name || !fields) return fail("nodes[{0}]: expected a kind string first and a field object last", number);
  int64_t place[5];
  for (int i = 0; i < 5; ++i) {
    std::optional<int64_t> at = (*row)[i + 1].getAsInteger();
    if (!at || *at < 0 || *at > 1000000000) return fail("nodes[{0}]: expected non-negative integers for file, line and columns", number);
    place[i] = *at;
  }
  if (place[0] >= static_cast<int64_t>(request.files.size())) return fail("nodes[{0}]: file {1} does not exist", number, place[0]);
  node.name = name->str();
  node.file = place[0];
  node.line = place[1];
  node.column = place[2];
  node.endLine = place[3];
  node.endColumn = place[4];
  const NodeSpec *spec = find_if(nodeSpecs, [&](const NodeSpec &s) { return s.name == *name; });
  if (spec == std::end(nodeSpecs)) {
    if (!fields->empty()) return fail("nodes[{0}]: kind '{1}' has no fields", number, *name);
    request.nodes.push_back(std::move(node));
    return true;
  }
  node.kind = spec->kind;
  if (fields->size() > spec->fields.size()) return fail("nodes[{0}]: {1} has unknown fields", number, *name);
  for (const auto &[key, type] : spec->fields) {
    const json::Value *v = fields->get(key);
    if (!v) return fail("nodes[{0}]: {1} lacks '{2}'", number, *name, key);
    if (!field(*v, type, number, node)) return fail("nodes[{0}]: {1}: field '{2}' is malformed", number, *name, key);
  }
  request.nodes.push_back(std::move(node));
  return true;
}

bool Parser::field(const json::Value &value, StringRef type, size_t number, Node &node) {
  Node::Field field;
  bool optional = type.consume_back("?"), list = type.consume_back("*");
  if (type == "c") {
    node.fields.push_back(field);
    return constant(&value, formatv("nodes[{0}]", number), node.constant);
  }
  if (optional && value.kind() == json::Value::Null) {
    node.fields.push_back(field);
    return true;
  }
  if (type == "t") {
    if (list) {
      if (!strings(&value, formatv("nodes[{0}]", number), field.texts)) return false;
    } else {
      std::optional<StringRef> s = value.getAsString();
      if (!s) return false;
      field.text = s->str();
      if (!isIdentifier(field.text)) return fail("nodes[{0}]: '{1}' is not an identifier", number, field.text);
    }
  } else if (list || type == "s") {
    const json::Array *array = value.getAsArray();
    if (!array) return false;
    for (const json::Value &item : *array) {
      NodeId id;
      if (!reference(item, type, number, id)) return false;
      field.list.push_back(id);
    }
  } else if (!reference(value, type, number, field.id)) {
    return false;
  }
  node.fields.push_back(std::move(field));
  return true;
}

bool Parser::reference(const json::Value &value, StringRef type, size_t number, NodeId &id) {
  std::optional<int64_t> at = value.getAsInteger();
  if (!at) return false;
  if (*at < 0 || *at >= static_cast<int64_t>(number)) return fail("nodes[{0}]: child {1} does not come before it", number, *at);
  if (used[*at]) return fail("nodes[{0}]: child {1} has a parent already", number, *at);
  used[*at] = true;
  id = static_cast<NodeId>(*at);
  NodeKind kind = request.nodes[id].kind;
  bool fits = type == "s"   ? isStatement(kind)
              : type == "e" ? isExpression(kind)
              : type == "A" ? kind == NodeKind::Arguments
              : type == "a" ? kind == NodeKind::Arg
                            : kind == NodeKind::Keyword;
  return fits || fail("nodes[{0}]: child {1} is a {2}, which does not fit there", number, *at, request.nodes[id].name);
}

bool Parser::constant(const json::Value *value, const std::string &where, Constant &c, unsigned depth) {
  const json::Object *o = value ? value->getAsObject() : nullptr;
  if (!o || o->size() != 1 || depth > 16) return fail("{0}: expected a constant", where);
  StringRef key = o->begin()->first;
  const json::Value &v = o->begin()->second;
  if (key == "none" || key == "ellipsis") {
    c.kind = key == "none" ? Constant::None : Constant::Ellipsis;
    return v.getAsBoolean() == true || fail("{0}: expected true in '{1}'", where, key);
  }
  if (key == "bool") {
    std::optional<bool> b = v.getAsBoolean();
    if (!b) return fail("{0}: expected a boolean", where);
    c = Constant::ofBool(*b);
    return true;
  }
  if (key == "tuple") {
    const json::Array *items = v.getAsArray();
    if (!items) return fail("{0}: expected a list of constants", where);
    c.kind = Constant::Tuple;
    c.items.resize(items->size());
    for (size_t i = 0; i < items->size(); ++i)
      if (!constant(&(*items)[i], where, c.items[i], depth + 1)) return false;
    return true;
  }
  if (key == "enum") {
    const json::Object *e = v.getAsObject();
    c.kind = Constant::Enum;
    if (!e) return fail("{0}: expected an enum object", where);
    return onlyKeys(*e, where, {"type", "member"}) && text(*e, "type", where, c.text) && text(*e, "member", where, c.member);
  }
  std::optional<StringRef> s = v.getAsString();
  if (!s) return fail("{0}: expected a string in '{1}'", where, key);
  if (key == "str" || key == "dtype") {
    c.kind = key == "str" ? Constant::Str : Constant::Dtype;
    c.text = s->str();
    return true;
  }
  if (key == "int") {
    StringRef digits = *s;
    bool negative = digits.consume_front("-");
    if (digits.empty() || !all_of(digits, isDigit)) return fail("{0}: expected decimal digits, got '{1}'", where, *s);
    c.kind = Constant::Int;
    digits = digits.ltrim('0');
    c.tooWide = digits.size() > 38; // 10^38 < 2^127
    if (!c.tooWide)
      for (char digit : digits)
        c.integer = c.integer * 10 + (digit - '0');
    if (negative) c.integer = -c.integer;
    return true;
  }
  if (key == "float") {
    c.kind = Constant::Float;
    std::string copy = s->str();
    char *end = nullptr;
    c.real = strtod(copy.c_str(), &end);
    bool known = copy == "inf" || copy == "-inf" || copy == "nan" || StringRef(copy).ltrim('-').starts_with("0x");
    return (known && end && *end == 0) || fail("{0}: expected a hexadecimal float, inf, -inf or nan, got '{1}'", where, copy);
  }
  return fail("{0}: unknown constant '{1}'", where, key);
}

//===- functions ---------------------------------------------------------------------------------------===//

bool Parser::nodeNumber(const json::Object &o, StringRef key, const std::string &where, NodeKind kind, NodeId &out) {
  std::optional<int64_t> at = o.getInteger(key);
  if (!at || *at < 0 || *at >= static_cast<int64_t>(request.nodes.size()) || request.nodes[*at].kind != kind)
    return fail("{0}: '{1}' is not the number of a fitting node", where, key);
  out = static_cast<NodeId>(*at);
  return true;
}

bool Parser::functions() {
  const json::Array *array = object.getArray("functions");
  std::optional<int64_t> entry = object.getInteger("entry");
  if (!array) return fail("functions: expected a list");
  request.functions.resize(array->size());
  for (size_t i = 0; i < array->size(); ++i)
    if (!function((*array)[i], i)) return false;
  if (!entry || *entry < 0 || *entry >= static_cast<int64_t>(array->size())) return fail("entry: expected the number of a function");
  request.entry = *entry;
  if (!request.functions[*entry].kernel) return fail("entry: '{0}' is not a kernel", request.functions[*entry].name);
  return true;
}

bool Parser::function(const json::Value &value, size_t number) {
  std::string where = formatv("functions[{0}]", number);
  const json::Object *o = value.getAsObject();
  Function &f = request.functions[number];
  if (!o) return fail("{0}: expected an object", where);
  if (!onlyKeys(*o, where, {"name", "file", "root", "kernel", "params", "names"}) || !text(*o, "name", where, f.name)) return false;
  if (!isIdentifier(f.name)) return fail("{0}: '{1}' is not an identifier", where, f.name);
  std::optional<bool> kernel = o->getBoolean("kernel");
  std::optional<int64_t> file = o->getInteger("file");
  if (!kernel || !file || *file < 0 || *file >= static_cast<int64_t>(request.files.size()))
    return fail("{0}: expected 'kernel' and an existing 'file'", where);
  f.kernel = *kernel;
  f.file = *file;
  if (!nodeNumber(*o, "root", where, NodeKind::FunctionDef, f.root)) return false;
  const json::Array *params = o->getArray("params");
  const json::Object *names = o->getObject("names");
  if (!params || !names) return fail("{0}: expected 'params' and 'names'", where);
  StringSet<> seen;
  for (size_t i = 0; i < params->size(); ++i) {
    Parameter p;
    if (!parameter((*params)[i], formatv("{0}.params[{1}]", where, i), p)) return false;
    if (!seen.insert(p.name).second) return fail("{0}: two parameters are named '{1}'", where, p.name);
    if (f.kernel && p.kind == Parameter::Value) return fail("{0}: kernel parameter '{1}' has no type", where, p.name);
    f.parameters.push_back(std::move(p));
  }
  for (const auto &[key, v] : *names) {
    Meaning m;
    if (!meaning(v, formatv("{0}.names['{1}']", where, StringRef(key)), m)) return false;
    f.names[StringRef(key)] = std::move(m);
  }
  return true;
}

bool Parser::dtype(const json::Value *value, const std::string &where, Parameter &p) {
  if (value)
    if (std::optional<StringRef> s = value->getAsString()) {
      p.dtype = s->str();
      return true;
    }
  const json::Object *o = value ? value->getAsObject() : nullptr;
  if (!o) return fail("{0}: expected a dtype or a type variable", where);
  if (!onlyKeys(*o, where, {"typevar", "dtypes"}) || !text(*o, "typevar", where, p.typeVar)) return false;
  return !o->get("dtypes") || strings(o->get("dtypes"), where, p.dtypes);
}

bool Parser::shape(const json::Value *value, const std::string &where, Parameter &p) {
  const json::Array *items = value ? value->getAsArray() : nullptr;
  if (!items) return fail("{0}: expected a shape list", where);
  for (const json::Value &item : *items) {
    std::optional<int64_t> extent = item.getAsInteger();
    std::optional<StringRef> symbol = item.getAsString();
    bool bad = symbol ? symbol->empty() || symbol->find_first_of("\"\\\n?%#") != StringRef::npos : !extent || *extent < 0;
    if (bad) return fail("{0}: a shape item is a non-negative integer or a symbol name", where);
    if (symbol) p.shape.push_back(symbol->str());
    else p.shape.push_back(*extent);
  }
  return true;
}

bool Parser::strides(const json::Value *value, const std::string &where, Parameter &p) {
  if (!value || value->kind() == json::Value::Null) return true;
  const json::Array *items = value->getAsArray();
  if (!items || items->size() != p.shape.size()) return fail("{0}: expected one stride per axis", where);
  p.strides.emplace();
  for (const json::Value &item : *items) {
    if (item.kind() == json::Value::Null) p.strides->push_back(std::monostate());
    else if (std::optional<int64_t> stride = item.getAsInteger()) p.strides->push_back(*stride);
    else if (std::optional<StringRef> symbol = item.getAsString()) p.strides->push_back(symbol->str());
    else return fail("{0}: a stride is an integer, a symbol or null", where);
  }
  return true;
}

bool Parser::parameter(const json::Value &value, const std::string &where, Parameter &p) {
  const json::Object *o = value.getAsObject();
  std::string kind;
  if (!o) return fail("{0}: expected an object", where);
  if (!text(*o, "kind", where, kind) || !text(*o, "name", where, p.name) || !nodeNumber(*o, "node", where, NodeKind::Arg, p.node))
    return false;
  if (!isIdentifier(p.name)) return fail("{0}: '{1}' is not an identifier", where, p.name);
  if (kind == "view") {
    p.kind = Parameter::View;
    if (!onlyKeys(*o, where, {"kind", "name", "node", "access", "dtype", "shape", "noalias", "alias", "strides"}) ||
        !text(*o, "access", where, p.access) || !dtype(o->get("dtype"), where, p) || !shape(o->get("shape"), where, p) ||
        !strides(o->get("strides"), where, p))
      return false;
    if (p.access != "in" && p.access != "out" && p.access != "inout")
      return fail("{0}: access is in, out or inout, got '{1}'", where, p.access);
    p.noalias = o->getBoolean("noalias").value_or(false);
    if (std::optional<StringRef> alias = o->getString("alias")) p.alias = alias->str();
    return true;
  }
  if (const json::Value *fallback = o->get("default"); fallback && fallback->kind() != json::Value::Null)
    if (!constant(fallback, where, p.fallback.emplace())) return false;
  if (kind == "scalar") {
    p.kind = Parameter::Scalar;
    return onlyKeys(*o, where, {"kind", "name", "node", "dtype", "default"}) && dtype(o->get("dtype"), where, p);
  }
  if (kind == "value") return onlyKeys(*o, where, {"kind", "name", "node", "default"});
  if (kind != "constexpr") return fail("{0}: unknown parameter kind '{1}'", where, kind);
  p.kind = Parameter::Constexpr;
  if (!onlyKeys(*o, where, {"kind", "name", "node", "type", "default"})) return false;
  if (const json::Object *e = o->getObject("type")) return onlyKeys(*e, where, {"enum"}) && text(*e, "enum", where, p.enumType);
  if (!text(*o, "type", where, p.type)) return false;
  return is_contained({"int", "float", "bool", "str"}, p.type) || fail("{0}: unknown constexpr type '{1}'", where, p.type);
}

bool Parser::meaning(const json::Value &value, const std::string &where, Meaning &m) {
  const json::Object *o = value.getAsObject();
  if (!o || o->size() != 1) return fail("{0}: expected an object of one field", where);
  StringRef key = o->begin()->first;
  const json::Value &v = o->begin()->second;
  if (key == "function") {
    std::optional<int64_t> at = v.getAsInteger();
    if (!at || *at < 0 || *at >= static_cast<int64_t>(request.functions.size()))
      return fail("{0}: expected the number of a function", where);
    m.kind = Meaning::Function;
    m.function = *at;
    return true;
  }
  if (key == "constant") {
    m.kind = Meaning::Value;
    return constant(&v, where, m.constant);
  }
  if (key == "enum" || key == "typevar") {
    const json::Object *e = v.getAsObject();
    StringRef list = key == "enum" ? "members" : "dtypes";
    m.kind = key == "enum" ? Meaning::Enum : Meaning::TypeVar;
    if (!e) return fail("{0}: expected an object", where);
    return onlyKeys(*e, where, {"name", list}) && text(*e, "name", where, m.text) && strings(e->get(list), where, m.names);
  }
  std::optional<StringRef> s = v.getAsString();
  std::optional<Meaning::Kind> kind;
  if (key == "module") kind = Meaning::Module;
  if (key == "intrinsic") kind = Meaning::Intrinsic;
  if (key == "builtin") kind = Meaning::Builtin;
  if (key == "unsupported") kind = Meaning::Unsupported;
  if (!kind || !s) return fail("{0}: unknown meaning '{1}'", where, key);
  m.kind = *kind;
  m.text = s->str();
  return true;
}

bool Parser::bindings() {
  if (const json::Value *constexprs = object.get("constexprs")) {
    const json::Object *o = constexprs->getAsObject();
    if (!o) return fail("constexprs: expected an object");
    for (const auto &[key, value] : *o)
      if (!constant(&value, formatv("constexprs['{0}']", StringRef(key)), request.constexprs[StringRef(key).str()])) return false;
  }
  if (const json::Value *types = object.get("types")) {
    const json::Object *o = types->getAsObject();
    if (!o) return fail("types: expected an object");
    for (const auto &[key, value] : *o) {
      std::optional<StringRef> dtype = value.getAsString();
      if (!dtype) return fail("types['{0}']: expected a dtype name", StringRef(key));
      request.types[StringRef(key).str()] = dtype->str();
    }
  }
  if (const json::Value *extents = object.get("extents")) {
    const json::Object *o = extents->getAsObject();
    if (!o) return fail("extents: expected an object");
    for (const auto &[key, value] : *o) {
      std::optional<int64_t> extent = value.getAsInteger();
      if (!extent || *extent < 0) return fail("extents['{0}']: expected a non-negative integer", StringRef(key));
      request.extents[StringRef(key).str()] = *extent;
    }
  }
  if (const json::Object *options = object.getObject("options")) request.check = options->getBoolean("check").value_or(false);
  return true;
}

namespace intent::frontend {
std::optional<std::string> parseRequest(const json::Object &object, Request &request) { return Parser(object, request).run(); }
} // namespace intent::frontend
