#include "intent/Dialect/Block/IR/Block.h"
#include "intent/Target/Triton/Triton.h"

using namespace mlir;

namespace intent::triton {

LogicalResult verifyForTriton(ModuleOp module) { return success(); }

} // namespace intent::triton
