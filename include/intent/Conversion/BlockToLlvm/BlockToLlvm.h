// Block programs to LLVM IR for the CPU: bind a configuration, then generate one native function.
#ifndef INTENT_CONVERSION_BLOCKTOLLVM_BLOCKTOLLVM_H
#define INTENT_CONVERSION_BLOCKTOLLVM_BLOCKTOLLVM_H

#include "intent/Dialect/Block/Analysis/Derivation.h"
#include "llvm/IR/Module.h"
#include <memory>

namespace intent::block {

/// The values of configuration row `row` over the program's non-coverage parameters, by symbol. A program without
/// configurations has only row 0. Failure is reported on the program.
mlir::FailureOr<llvm::StringMap<int64_t>> configurationRow(ProgramOp program, uint32_t row);

/// Replaces every parameter in the program by its value: fragment extents, group sizes and workspace extents become
/// constants over launch symbols, `block.param` becomes a constant. Fails (with a diagnostic) if a parameter has no value or an extent is
/// not positive or too large.
mlir::LogicalResult bindParameters(ProgramOp program, const llvm::StringMap<int64_t> &values);

/// What the generated code may assume of the machine.
struct CpuFacts {
  unsigned vectorBytes = 32; ///< width of a native vector register
  bool fma = true;           ///< fused multiply-add in hardware
  bool libmvec = true;       ///< `_ZGV[de]N..v_expf` and the others can be resolved
};

/// What the caller knows about a view at specialisation: a stride that is -1, 0 or 1 is a constant, others are read at
/// run time.
struct ViewFacts {
  llvm::SmallVector<std::optional<int64_t>, 4> strides;
};

/// An access or a requirement that checked code asks about before each lane.
struct CheckedAccess {
  /// Empty for an access; else what the requirement calls its value. It asks with three coordinates: the value, the least one
  /// that is allowed and the one behind the largest.
  std::string required;
  unsigned view; ///< argument number
  bool reads, writes, atomic;
  bool acquires, releases; ///< what other instances do
  bool unwrites;           ///< its elements count as never written then
  bool unique;             ///< no two lanes may store to one element
  mlir::Location location;
  /// A loop of the author around it, by its number and those of the coordinates that tell its iterations apart (`checkedWalk`).
  struct Walk {
    int64_t loop;
    bool unordered;
    llvm::SmallVector<int64_t, 2> numbers;
  };
  llvm::SmallVector<Walk, 2> walks;      ///< outer to inner; none if all are ordered
  llvm::SmallVector<int64_t, 4> extents; ///< of its lanes; none for a scalar
  /// A read whose result it needs (Derivation), by its number.
  struct Need {
    unsigned access;
    llvm::SmallVector<LaneRelation, 4> lanes;
    bool everyPass;
  };
  std::vector<Need> needs;
};

constexpr int64_t checkedFence = INT64_MIN, checkedWalk = INT64_MIN + 1;

/// The native function of one bound program:
///   void NAME(const int64_t *frame, int64_t begin, int64_t end, char *arena)
/// runs the instances [begin, end) of the linear program space. `frame` holds, in order: for each public argument the
/// address and then the strides of a view or the value bits of a scalar; the private values; for each workspace its
/// address and strides (of which only those that depend on the launch are read); the sizes of the groups.
/// `arena` is 64-byte aligned scratch of `arenaBytes`, private to the call.
///
/// Checked code visits single lanes, every load where it stands. The frame then ends with the address of a context and
/// that of a function
///   int8_t check(void *context, int64_t access, int8_t active, int64_t lane, int64_t *coordinates)
/// which it calls for each lane of each access, an index into `accesses`; `lane` numbers the lanes in row-major order, and
/// this one acts if the answer is 1. A negative `access` begins the execution of access -1 - `access` and writes to
/// `coordinates` two numbers for each axis of its lanes, a and b: visit i of that axis goes to lane (a * i + b) mod extent.
/// Behind the coordinates of a store there are the bits that it stores. `checkedFence` stands for a fence, `checkedWalk`
/// for another iteration: number `lane` has the coordinate `coordinates[0]` from here on, or one that it has never had if it
/// is not `active`.
struct HostFunction {
  std::vector<CheckedAccess> accesses; ///< none unless checked
  std::unique_ptr<llvm::Module> module;
  int64_t arenaBytes = 0;
};
/// `debug`: with the author's places.
mlir::FailureOr<HostFunction> translateToLlvm(ProgramOp program, llvm::ArrayRef<ViewFacts> views, const CpuFacts &cpu, llvm::StringRef name,
                                              llvm::LLVMContext &context, bool checked = false, bool debug = false);

/// The innermost place of the author in a location; null if it has none.
mlir::FileLineColLoc authorsPlace(mlir::Location location);

} // namespace intent::block

#endif
