// What a compilation target can do, as typed features of a `#block.target`. Passes ask features, never names.
//
//   integers (elements, bytes or counts)
//     grid_x_limit grid_y_limit grid_z_limit   instances along each launch axis
//     fragment_elements      f32 elements that one instance may hold at once (the bound of a resident row)
//     fragment_limit         elements of one fragment beyond which the provider refuses it
//     serial_elements        elements that one instance may serialise where instances cannot exchange values
//     finish_elements        elements that the finish of a hand-over may read
//     warp_size              lanes of a warp or wave (1: no such notion)
//     max_warps              warps of one instance
//     max_ctas               thread blocks that may run one instance together
//     shared_memory_per_block, registers_per_block
//     exchange_lanes_per_thread   lanes of one compare_exchange that a thread may hold
//     contract_minimum_k, contract_minimum_k_8bit   smallest inner extent of a contraction
//   booleans
//     descriptors            tensor descriptors are a hardware path
//     release_needs_drain    a barrier before a release does not order the stores of other waves
//     power_of_two_fragments fragment extents must be powers of two
//     ordered_lanes          one instance's accesses are ordered between its lanes without a fence
//   lists of strings
//     element_dtypes         dtypes that views and values may have
//     contractions           dtypes of contractions with a native form, operands->accumulator, or "any"
//     matrix_formats         element formats of a scaled contraction
//     atomic_add atomic_max atomic_bitwise atomic_exchange atomic_cas   dtypes of each atomic operation
//     primitives             structured operations with a native form
//     provider_forms         access forms of the provider's language: pointer, descriptor, tile, gather, array
#ifndef INTENT_TARGET_CAPABILITIES_H
#define INTENT_TARGET_CAPABILITIES_H

#include "intent/Dialect/Block/IR/Block.h"
#include "llvm/Support/JSON.h"

namespace intent {

/// The target of a provider ("triton", "cutile", "bangc", "host") and an architecture ("sm_90"; the host
/// has "native", or nothing) with every feature spelled out. `overrides` gives other values to some features: integers, booleans
/// or lists of strings (also as one string with commas). An unknown provider, architecture or feature, or a value of the wrong type, is
/// emitted at `location` as a "configuration: " error.
mlir::FailureOr<block::TargetAttr> resolveTarget(mlir::Location location, llvm::StringRef provider, llvm::StringRef arch,
                                                 const llvm::json::Object &overrides = {});

/// The same from the author's spelling: "host", "triton:sm_90", "cutile:sm_100", "bangc:mtp_372".
mlir::FailureOr<block::TargetAttr> resolveTarget(mlir::Location location, llvm::StringRef spelling);

/// The value of an integer feature. A target text that leaves the feature out gets the most permissive value.
int64_t getIntFeature(block::TargetAttr target, llvm::StringRef feature);

/// The value of a boolean feature; a feature left out is false.
bool hasFeature(block::TargetAttr target, llvm::StringRef feature);

/// Whether a list feature names `item`. A target text that leaves the feature out allows everything.
bool featureAllows(block::TargetAttr target, llvm::StringRef feature, llvm::StringRef item);

/// A contraction as the list feature `contractions` names it: "f16->f32".
std::string contractionName(mlir::Type operands, mlir::Type accumulator);

/// Whether contractions of these dtypes have a native form on the target; others are products and sums.
bool hasContraction(block::TargetAttr target, mlir::Type operands, mlir::Type accumulator);

/// The architectures of a provider whose built-in description has `item` in the list feature: the targets that an
/// error can offer instead.
llvm::SmallVector<llvm::StringRef> architecturesWith(llvm::StringRef provider, llvm::StringRef feature, llvm::StringRef item);

/// Names the feature that a "hardware capability: " error misses, for whoever reads the error as data.
void nameFeature(mlir::InFlightDiagnostic &error, llvm::StringRef feature);

/// The target of a module, or null.
block::TargetAttr targetOf(mlir::Operation *op);

/// The name of the module attribute that holds the target.
inline constexpr llvm::StringLiteral targetAttributeName = "block.target";

/// The name of the module attribute that asks for checked code: no access that the author wrote is guarded against
/// coordinates outside, and the host backend reports each that is.
inline constexpr llvm::StringLiteral checkedAttributeName = "block.checked";

/// The name of the attribute of a store in checked code after which its elements count as never written: those of a buffer
/// that is made again.
inline constexpr llvm::StringLiteral unwritesAttributeName = "block.unwrites";

/// That of a store in checked code whose lanes must have elements of their own, whatever they store.
inline constexpr llvm::StringLiteral uniqueAttributeName = "block.unique";

/// That of an access in checked code which lists the author's loops around it (#block.walk), where one of them is unordered.
inline constexpr llvm::StringLiteral walksAttributeName = "block.walks";

} // namespace intent

#endif
