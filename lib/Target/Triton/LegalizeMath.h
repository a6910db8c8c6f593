#ifndef INTENT_LIB_TARGET_TRITON_LEGALIZEMATH_H
#define INTENT_LIB_TARGET_TRITON_LEGALIZEMATH_H

#include "intent/Dialect/Block/IR/Block.h"

namespace intent::triton {

/// Rewrites the arithmetic of a program whose Triton counterpart rounds, flushes or promotes differently.
void legalizeMath(block::ProgramOp program);

} // namespace intent::triton

#endif
