// The resource rules that reject a bound row: what is provably illegal, and no more. Registers, layouts and exact
// shared memory are the provider compiler's.
#ifndef INTENT_LIB_TUNING_RESOURCES_H
#define INTENT_LIB_TUNING_RESOURCES_H

#include "intent/Dialect/Block/IR/Block.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace intent {

/// What of a program the rules look at.
struct ProgramFacts {
  mlir::Operation *program;
  llvm::SetVector<mlir::Type> fragments; // distinct types that hold data: no coordinates, no masks
  llvm::SmallVector<block::ContractOp> contracts;
  llvm::SmallVector<block::ContractOp> streamed; // contractions in a loop that loads
  bool pipelines = false;                        // some loop loads
  bool reduces = false;
  bool shares = false; // memory between lanes or instances

  mlir::MLIRContext *context() const { return program->getContext(); }
};
ProgramFacts collectFacts(block::ProgramOp program);

/// The values of one row by parameter symbol.
struct RowBinding {
  llvm::DenseMap<mlir::StringAttr, int64_t> values;
};

struct Violation {
  llvm::StringRef rule;
  std::string reason;           // expected and actual
  block::FragmentType fragment; // that is too large; null where the rule is about something else
};

/// The first rule that a bound row breaks for every call.
std::optional<Violation> checkResources(const ProgramFacts &facts, const RowBinding &row, block::TargetAttr target);

} // namespace intent

#endif
