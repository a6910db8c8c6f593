// What a Python name or expression denotes while a kernel is lowered.
#ifndef INTENT_FRONTEND_ENTITY_H
#define INTENT_FRONTEND_ENTITY_H

#include "Request.h"
#include "intent/Dialect/Kir/IR/Kir.h"
#include <memory>

namespace intent::frontend {

struct Entity;

/// Items of a tuple or record; `names` is empty for a tuple.
struct Product {
  std::vector<Entity> items;
  std::vector<std::string> names;
};

/// A domain or subregion: `begin`, `begin + step`, ... below `end`; all `index` scalars.
struct Bounds {
  mlir::Value begin, end, step;
};

struct Entity {
  enum Kind {
    Unbound, // a name that cannot be used; `text` says why
    Literal, // a compile-time value, without a dtype yet
    Value,   // a scalar or tensor
    View,    // `value` has a view type, `text` is the name of the parameter or buffer
    Domain,  // `value` has a domain type
    Tuple,
    Record,
    Function,  // an @intent.fn
    Intrinsic, // an operation or namespace of the language, `text` is its path
    Module,    // `text` is its path in Python
    EnumClass, // `text` is its name
    Builtin,   // `text` is its name
    Foreign,   // an object of no meaning here, `text` is its Python type
    Ragged,    // what I.ragged gives: `product` holds outer, members, offsets and, if given, indices
    Parallel,  // what I.parallel gives: `product` holds domains
    Open,      // during a trial of a loop, a scalar number whose value and dtype are not known; `constant` has its kind
    Choice,    // by the bool `value`, one of two untyped numbers in `product`: it takes its dtype where it is used
    Length,    // `extent` of an axis, which shapes may use and no value may
    Format,    // of packed elements; `text` is its path, `product` its arguments
  };
  Kind kind = Unbound;
  std::string text;
  std::shared_ptr<const Constant> constant;
  mlir::Value value;
  std::shared_ptr<const Product> product;
  std::shared_ptr<const Bounds> region;
  const frontend::Function *function = nullptr;
  const Meaning *meaning = nullptr;                                         // EnumClass
  kir::ExtentAttr extent;                                                   // Length
  bool readOnly = false;                                                    // View: a helper's I.In parameter
  std::shared_ptr<const std::vector<std::shared_ptr<mlir::Type>>> contexts; // Open: each keeps the first dtype that it meets

  static Entity ofConstant(Constant c) {
    Entity e;
    e.kind = Literal;
    e.constant = std::make_shared<const Constant>(std::move(c));
    return e;
  }
  static Entity ofInt(WideInt v) { return ofConstant(Constant::ofInt(v)); }
  static Entity ofBool(bool v) { return ofConstant(Constant::ofBool(v)); }
  static Entity ofValue(mlir::Value v) {
    Entity e;
    e.kind = Value;
    e.value = v;
    return e;
  }
  static Entity ofText(Kind kind, llvm::StringRef text) {
    Entity e;
    e.kind = kind;
    e.text = text.str();
    return e;
  }
  static Entity ofTuple(std::vector<Entity> items) {
    Entity e;
    e.kind = Tuple;
    e.product = std::make_shared<const Product>(Product{std::move(items), {}});
    return e;
  }
  static Entity none() { return ofConstant(Constant()); }

  bool isLiteral() const { return kind == Literal; }
  bool isLiteral(Constant::Kind k) const { return kind == Literal && constant->kind == k; }
  bool isNumber() const { return kind == Literal && constant->isNumber(); }
  static Entity ofChoice(mlir::Value condition, Entity a, Entity b) {
    Entity e = ofTuple({std::move(a), std::move(b)});
    e.kind = Choice;
    e.value = condition;
    return e;
  }
  /// A number that takes its dtype from its context.
  bool isUntyped() const { return isNumber() || kind == Choice || kind == Open; }
  bool isProduct() const { return kind == Tuple || kind == Record; }
  bool isTensor() const { return kind == Value && llvm::isa<kir::KirTensorType>(value.getType()); }
  bool isScalar() const { return kind == Value && !isTensor(); }
  const std::vector<Entity> &items() const { return product->items; }
};

} // namespace intent::frontend

#endif
