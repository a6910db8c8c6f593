#ifndef INTENT_TARGET_EMISSION_NAMESCOPE_H
#define INTENT_TARGET_EMISSION_NAMESCOPE_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <optional>
#include <string>

namespace intent::emission {

/// The author's name in a location (the innermost `NameLoc`), or an empty string.
llvm::StringRef authorName(mlir::Location location);

/// The file position in a location, under names, call sites and fusions; nullopt if there is none.
std::optional<mlir::FileLineColLoc> authorPosition(mlir::Location location);

/// A valid identifier near `name`: other characters become underscores, and leading ones go, which are for the printed text's own names.
std::string identifierFrom(llvm::StringRef name);

/// Whether `text` has `name` as a word of its own.
bool mentions(llvm::StringRef text, llvm::StringRef name);

/// Names in nested scopes. A name may return in a sibling scope but never shadows an enclosing one, since
/// an inner assignment to an outer name means something else in the languages that are printed. The variable of a loop stays
/// behind the loop: its name may return for a variable of another loop and the same type only.
class NameScope {
public:
  /// `reserved` holds the keywords and the names that the printed text itself uses.
  explicit NameScope(const llvm::StringSet<> &reserved) : reserved(reserved) { push(); }

  void push() {
    scopes.emplace_back();
    counted.emplace_back();
  }
  void pop() {
    scopes.pop_back();
    counted.pop_back();
  }

  /// What the branches of one decision have named so far. A name that several of them give must have one type in them.
  struct Taken {
    llvm::StringSet<> names, loopVariables;
  };
  /// Enters a branch beside those before it.
  void push(const Taken &taken);
  /// Leaves it.
  void pop(Taken &taken);

  /// A name near `base` that no active scope holds, entered in the innermost one: `base`, `base_1`...
  std::string declare(llvm::StringRef base);
  /// The same for the variable of a loop that stands in the scope around the innermost one, its body's.
  std::string declareLoopVariable(llvm::StringRef base, llvm::StringRef type);
  bool isTaken(llvm::StringRef name) const;

  /// The names of the innermost scope.
  const llvm::StringSet<> &innermost() const { return scopes.back(); }

private:
  const llvm::StringSet<> &reserved;
  llvm::SmallVector<llvm::StringSet<>> scopes, counted; // counted: variables of loops in the scope
  llvm::StringMap<std::string> types;                   // of all variables of loops
};

/// Keywords and builtins of Python that a generated name must not hide.
const llvm::StringSet<> &pythonReservedNames();

} // namespace intent::emission

#endif
