// The captured program of a request, validated: what docs/request.md describes, as C++ values.
#ifndef INTENT_FRONTEND_REQUEST_H
#define INTENT_FRONTEND_REQUEST_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace intent::frontend {

__extension__ typedef __int128 WideInt; // the range of compile-time integers

/// A compile-time value of the author's program.
struct Constant {
  enum Kind { None, Ellipsis, Bool, Int, Float, Str, Tuple, Enum, Dtype };
  Kind kind = None;
  bool tooWide = false; // an integer beyond 128 bits
  WideInt integer = 0;  // Int and Bool
  double real = 0;
  std::string text;   // Str, Dtype name, Enum type
  std::string member; // Enum member
  std::vector<Constant> items;

  static Constant ofInt(WideInt value);
  static Constant ofBool(bool value);
  static Constant ofFloat(double value);
  static Constant ofDtype(llvm::StringRef name);
  bool isNumber() const { return kind == Bool || kind == Int || kind == Float; }
  /// The value of a number as a double.
  double asReal() const { return kind == Float ? real : static_cast<double>(integer); }
  /// How an author would write it.
  std::string spell() const;
};

using NodeId = int32_t;
constexpr NodeId noNode = -1;

/// The node kinds that the compiler reads; anything else is `Foreign`, a leaf.
enum class NodeKind {
  FunctionDef,
  Arguments,
  Arg,
  Return,
  Assign,
  AugAssign,
  Expr,
  For,
  While,
  If,
  Pass,
  Break,
  Continue,
  BoolOp,
  BinOp,
  UnaryOp,
  IfExp,
  Compare,
  Call,
  Keyword,
  Attribute,
  Subscript,
  Slice,
  Name,
  Tuple,
  Constant,
  Foreign
};

/// One syntax node. Fields are in the order of the table in Request.cpp.
struct Node {
  struct Field {
    NodeId id = noNode;
    std::vector<NodeId> list;
    std::string text;
    std::vector<std::string> texts;
  };
  NodeKind kind = NodeKind::Foreign;
  std::string name; // the Python class name
  unsigned file = 0, line = 1, column = 0, endLine = 1, endColumn = 0;
  std::vector<Field> fields;
  Constant constant;
};

/// What a free name stands for.
struct Meaning {
  enum Kind { Module, Intrinsic, Function, Enum, Value, TypeVar, Builtin, Unsupported };
  Kind kind = Unsupported;
  std::string text; // module, intrinsic, enum, type variable, builtin or Python type name
  unsigned function = 0;
  Constant constant;
  std::vector<std::string> names; // enum members, type variable dtypes
};

struct Parameter {
  enum Kind { View, Scalar, Constexpr, Value };
  Kind kind = Value;
  std::string name;
  NodeId node = noNode;
  std::string access;                                    // views
  std::string dtype, typeVar;                            // views and scalars: one of them
  std::vector<std::string> dtypes;                       // that the type variable allows; empty: any
  std::vector<std::variant<int64_t, std::string>> shape; // views
  bool noalias = false;
  std::optional<std::string> alias;
  std::optional<std::vector<std::variant<std::monostate, int64_t, std::string>>> strides;
  std::string type, enumType;       // constexprs: one of them
  std::optional<Constant> fallback; // the default
};

struct Function {
  std::string name;
  unsigned file = 0;
  NodeId root = noNode;
  bool kernel = false;
  std::vector<Parameter> parameters;
  llvm::StringMap<Meaning> names;
};

struct Request {
  std::vector<std::string> files; // base names
  std::vector<Node> nodes;
  std::vector<Function> functions;
  unsigned entry = 0;
  std::map<std::string, Constant> constexprs;
  std::map<std::string, std::string> types;
  bool check = false;                     ///< the program asks for what calls need (`kir.require`)
  std::map<std::string, int64_t> extents; ///< shape symbols that stand for a constant

  const Node &node(NodeId id) const { return nodes[id]; }
};

/// Reads and validates the captured part of a request. Every node is referenced at most once and by a later node, so that
/// walking from a root terminates. Returns the message of the first problem.
std::optional<std::string> parseRequest(const llvm::json::Object &object, Request &request);

} // namespace intent::frontend

#endif
