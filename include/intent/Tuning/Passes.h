#ifndef INTENT_TUNING_PASSES_H
#define INTENT_TUNING_PASSES_H

#include "intent/Dialect/Block/IR/Block.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace intent {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "intent/Tuning/Passes.h.inc"
} // namespace intent

#endif
