// From a provider's table of complete rows to the legal candidates of one program. A row is never split: all
// parameters of a program take their values from the same row, and a row gives at most one candidate.
#ifndef INTENT_TUNING_TUNING_H
#define INTENT_TUNING_TUNING_H

#include "intent/Dialect/Block/IR/Block.h"
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace intent {

//===- tables ------------------------------------------------------------------------------------------===//

/// One column of a provider's rows. Boolean columns hold 0 or 1, codes count from 1.
struct TableColumn {
  llvm::StringLiteral name;
  int64_t minimum, maximum;
};

/// The columns and families that a provider's tables may have.
struct TableSchema {
  llvm::StringLiteral provider;
  llvm::ArrayRef<TableColumn> columns;
  llvm::ArrayRef<llvm::StringLiteral> families;
  /// Index of a column, if there is one of that name.
  std::optional<unsigned> columnIndex(llvm::StringRef name) const;
};

/// The schema of "triton", "cutile", "bangc" or "host"; null for another name.
const TableSchema *findTableSchema(llvm::StringRef provider);

/// One thing wrong with a table file. Parts that do not apply are empty.
struct TableError {
  std::string message; // the whole sentence, with file, family, row and column
  std::string source, family, column;
  std::optional<unsigned> row;
};

/// The rows of one family and the file that they came from.
struct TableFamily {
  std::string source;
  std::vector<std::vector<int64_t>> rows;
};

/// The tables of one provider, after an override replaced whole families.
struct TuningTables {
  const TableSchema *schema = nullptr;
  std::map<std::string, TableFamily> families;
};

/// Reads the default table of `provider` and, where there is one, the override. Other providers in either file are
/// checked and unused. Every malformed input gives an error of its own.
std::variant<TuningTables, std::vector<TableError>> readTables(llvm::StringRef provider, const std::string &path,
                                                               const std::optional<std::string> &overridePath);

/// The same from texts; the names stand for the files in messages.
std::variant<TuningTables, std::vector<TableError>> parseTables(llvm::StringRef provider, llvm::StringRef text, llvm::StringRef name,
                                                                std::optional<llvm::StringRef> overrideText = std::nullopt,
                                                                llvm::StringRef overrideName = "");

//===- candidates --------------------------------------------------------------------------------------===//

/// The structural family of a program: a function of its current operations only (Families.cpp lists the predicates).
llvm::StringRef selectFamily(block::ProgramOp program);

/// The predicate of a structural family in words, given that those of higher families do not hold; empty for another name.
llvm::StringRef familyPredicate(llvm::StringRef family);

/// What became of one table row.
struct RowFate {
  enum Kind { Kept, Merged, Rejected } kind;
  unsigned candidate = 0; // the row's candidate, or the one it equals after projection
  std::string rule;       // rejected: the rule's name; `adjusted` where values are narrower than the row's
  std::string reason;     // rejected or adjusted: expected and actual
  std::vector<int64_t> request;
  bool narrowable = false; // rejected for a fragment that is too large
};

/// The configurations of one program and where they came from.
struct ProgramConfigurations {
  std::string program, family, source;
  std::vector<std::string> columns;
  std::vector<std::vector<int64_t>> candidates;
  std::vector<RowFate> rows;
};

/// Chooses a family for every program of a kernel, projects its rows onto the program's declared parameters, filters
/// and deduplicates them, and sets the attributes `family` and `configurations`. Provider options that something in
/// the program consumes are declared as parameters of role `provider`. Programs that have configurations keep them.
/// No legal candidate is an error that names the rule which removed each row.
mlir::FailureOr<std::vector<ProgramConfigurations>> materializeConfigurations(block::KernelOp kernel, const TuningTables &tables,
                                                                              block::TargetAttr target);

/// The condition on launch symbols under which a candidate's fragments fit the target's `fragment_elements`; null if
/// they always do. Extents that the call chooses (role `coverage`) make it depend on the call.
block::ExprAttr candidateCondition(block::ProgramOp program, llvm::ArrayRef<int64_t> row, block::TargetAttr target);

} // namespace intent

#endif
