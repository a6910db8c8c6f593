// The one table of the language's operations: path, signature, handler.
#ifndef INTENT_FRONTEND_INTRINSICS_H
#define INTENT_FRONTEND_INTRINSICS_H

#include "Entity.h"

namespace intent::frontend {

class Lowering;
struct Call;

struct Intrinsic {
  using Handler = mlir::FailureOr<Entity> (Lowering::*)(Call &);
  llvm::StringRef path;      // "reduce.sum"
  llvm::StringRef signature; // "value, *, axis, keepdims=": names in order; "=" marks an optional one; after "*" keyword-only
  Handler handler;
  int kind = -1; // UnaryKind or BinaryKind of element-wise functions, AtomicKind
};

/// The operation of that path; null if there is none.
const Intrinsic *findIntrinsic(llvm::StringRef path);

/// True if some operation lives below that path ("reduce", "random").
bool isNamespace(llvm::StringRef path);

/// True if a storage format without arguments has that path ("e2m1", "quant.q8_k").
bool isFormat(llvm::StringRef path);

/// The value of a constant of the language (`inf`, a dtype token); nothing if there is none.
std::optional<Constant> languageConstant(llvm::StringRef path);

/// A written argument.
struct Argument {
  std::string keyword; // empty: positional
  Entity entity;
  NodeId node = noNode;
};

/// A call with its arguments in the signature's order.
struct Call {
  const Intrinsic *intrinsic = nullptr;
  NodeId node = noNode;
  std::vector<std::optional<Entity>> arguments;
  llvm::SmallVector<NodeId> nodes;         // the call itself where an argument is omitted
  llvm::SmallVector<std::string> keywords; // of `I.record`

  const Entity &operator[](unsigned i) const { return *arguments[i]; }
  bool has(unsigned i) const { return arguments[i].has_value(); }
};

} // namespace intent::frontend

#endif
