#include "intent/IR/Body.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

// Enclosing regions are still being parsed: they belong to no operation yet, and their last block to no region.
static bool isInside(Operation *op, Region &region) {
  for (Block *block = op->getBlock(); block;) {
    Region *parent = block->getParent();
    if (parent == &region) return true;
    Operation *holder = parent ? parent->getParentOp() : nullptr;
    block = holder ? holder->getBlock() : nullptr;
  }
  return false;
}

// The user outside `region` of a value that is defined in it, and the value; null if there is none.
static std::pair<Operation *, Value> outsideUser(Region &region) {
  std::pair<Operation *, Value> found;
  auto check = [&](Value value) {
    for (Operation *user : value.getUsers())
      if (!isInside(user, region)) {
        found = {user, value};
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  };
  auto checkBlock = [&](Block *block) {
    for (BlockArgument argument : block->getArguments())
      if (check(argument).wasInterrupted()) return WalkResult::interrupt();
    for (Operation &op : *block)
      for (Value result : op.getResults())
        if (check(result).wasInterrupted()) return WalkResult::interrupt();
    return WalkResult::advance();
  };
  for (Block &block : region) {
    if (checkBlock(&block).wasInterrupted()) break;
    if (block.walk([&](Block *nested) { return checkBlock(nested); }).wasInterrupted()) break;
  }
  return found;
}

ParseResult intent::parseRegionBody(OpAsmParser &parser, Region &region, StringRef terminator) {
  SMLoc location = parser.getCurrentLocation();
  ParseResult parsed = parser.parseRegion(region);
  if (succeeded(parsed)) {
    if (auto [user, value] = outsideUser(region); user) {
      InFlightDiagnostic error = emitError(value.getLoc(), "a value of a region is used before the region begins");
      error.attachNote(user->getLoc()) << "the use";
      parsed = error;
    }
  }
  if (failed(parsed)) {
    for (Block &block : region)
      block.dropAllDefinedValueUses();
    return failure();
  }
  if (region.empty()) region.emplaceBlock();
  if (terminator.empty()) return success();
  Block &last = region.back();
  if (last.empty() || !last.back().hasTrait<OpTrait::IsTerminator>()) {
    OperationState state(parser.getEncodedSourceLoc(location), terminator);
    last.push_back(Operation::create(state));
  }
  return success();
}

void intent::printRegionBody(OpAsmPrinter &printer, Region &region, bool implicitTerminator) {
  bool printTerminator = true;
  if (implicitTerminator && !region.empty() && !region.front().empty()) {
    Operation &last = region.front().back();
    printTerminator = !last.getAttrDictionary().empty() || last.getNumOperands() || last.getNumResults();
  }
  printer.printRegion(region, /*printEntryBlockArgs=*/true, printTerminator);
}
