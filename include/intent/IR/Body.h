// The syntax of regions: the `custom<Body>` and `custom<OpenBody>` directives of assembly formats.
#ifndef INTENT_IR_BODY_H
#define INTENT_IR_BODY_H

#include "mlir/IR/OpImplementation.h"

namespace intent {

/// Parses a region. Nothing outside may have named a value of it before: the parser resolves such a name, and a later error in the
/// operation would then free a value that something still uses. A terminator `terminator` without operands may be left out;
/// an empty name means that the region has none.
mlir::ParseResult parseRegionBody(mlir::OpAsmParser &parser, mlir::Region &region, llvm::StringRef terminator);

/// Prints a region. A terminator without operands, results and attributes is left out where `implicitTerminator` says so.
void printRegionBody(mlir::OpAsmPrinter &printer, mlir::Region &region, bool implicitTerminator);

} // namespace intent

#endif
