#include "IrMutation.h"

#include "intent/Driver/Driver.h"
#include "intent/IR/Text.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace intent::fuzz;

namespace {

// What an operation at this place may use, and whether it is of the type wanted (any for null).
SmallVector<Value> visibleValues(Operation *at, Type type) {
  SmallVector<Value> found;
  auto add = [&](Value value) {
    if (!type || value.getType() == type) found.push_back(value);
  };
  for (Operation *op = at; op && op->getBlock(); op = op->getParentOp()) {
    for (Operation &earlier : *op->getBlock()) {
      if (&earlier == op) break;
      llvm::for_each(earlier.getResults(), add);
    }
    llvm::for_each(op->getBlock()->getArguments(), add);
  }
  return found;
}

class Mutation {
public:
  Mutation(ModuleOp module, ModuleOp donor, Random &random) : module(module), random(random) {
    module.walk([&](Operation *op) {
      if (op != module) own.push_back(op);
    });
    donor.walk([&](Operation *op) {
      if (op != donor) foreign.push_back(op);
    });
  }

  // False if nothing was changed.
  bool run() {
    static constexpr bool (Mutation::*changes[])(Operation *) = {&Mutation::exchangeOperand,
                                                                 &Mutation::exchangeOperand,
                                                                 &Mutation::exchangeAttribute,
                                                                 &Mutation::exchangeAttribute,
                                                                 &Mutation::changeNumber,
                                                                 &Mutation::remove,
                                                                 &Mutation::repeat,
                                                                 &Mutation::transplant,
                                                                 &Mutation::transplant,
                                                                 &Mutation::move};
    return !own.empty() && (this->*pick(random, changes))(pick(random, own));
  }

private:
  bool exchangeOperand(Operation *op) {
    if (op->getNumOperands() == 0) return false;
    OpOperand &operand = op->getOpOperand(below(random, op->getNumOperands()));
    SmallVector<Value> values = visibleValues(op, operand.get().getType());
    if (values.empty()) return false;
    operand.set(pick(random, values));
    return true;
  }

  // The attribute that an operation of the same name has elsewhere, or any that has this name.
  bool exchangeAttribute(Operation *op) {
    DictionaryAttr attributes = op->getAttrDictionary();
    if (attributes.empty()) return false;
    NamedAttribute attribute = attributes.getValue()[below(random, attributes.size())];
    SmallVector<Attribute> found;
    for (const auto &list : {own, foreign})
      for (Operation *other : list)
        if (Attribute value = other->getAttr(attribute.getName()); value && value != attribute.getValue()) found.push_back(value);
    if (found.empty()) return false;
    op->setAttr(attribute.getName(), pick(random, found));
    return true;
  }

  bool changeNumber(Operation *op) {
    static constexpr int64_t edges[] = {0,  1,   2,   3,   7,       8,       16,        31,        32, 33,
                                        64, 127, 128, 255, 1 << 16, 1 << 30, INT32_MAX, INT64_MAX, -1, INT64_MIN};
    SmallVector<NamedAttribute> found;
    for (NamedAttribute attribute : op->getAttrs())
      if (isa<IntegerAttr, DenseI64ArrayAttr>(attribute.getValue())) found.push_back(attribute);
    if (found.empty()) return false;
    NamedAttribute attribute = pick(random, found);
    int64_t number = pick(random, edges);
    if (auto integer = dyn_cast<IntegerAttr>(attribute.getValue())) {
      unsigned width = integer.getValue().getBitWidth();
      op->setAttr(attribute.getName(), IntegerAttr::get(integer.getType(), APInt(64, number).sextOrTrunc(width)));
      return true;
    }
    SmallVector<int64_t> numbers(cast<DenseI64ArrayAttr>(attribute.getValue()).asArrayRef());
    switch (below(random, 3)) {
    case 0:
      if (!numbers.empty()) numbers[below(random, numbers.size())] = below(random, 2) ? number : below(random, 4);
      break;
    case 1: numbers.push_back(below(random, 4)); break;
    case 2:
      if (numbers.size() > 1) std::swap(numbers.front(), numbers[below(random, numbers.size())]);
    }
    op->setAttr(attribute.getName(), DenseI64ArrayAttr::get(op->getContext(), numbers));
    return true;
  }

  // Without the operation; what used its results uses another value of their type.
  bool remove(Operation *op) {
    if (op->hasTrait<OpTrait::IsTerminator>()) return false;
    for (Value result : op->getResults()) {
      if (result.use_empty()) continue;
      SmallVector<Value> values = visibleValues(op, result.getType());
      if (values.empty()) return false;
      result.replaceAllUsesWith(pick(random, values));
    }
    op->erase();
    return true;
  }

  bool repeat(Operation *op) { return insert(op->clone(), op); }

  // An operation of the donor, on values of this program in place of all that are not its own.
  bool transplant(Operation *at) {
    if (foreign.empty()) return false;
    Operation *copy = pick(random, foreign)->clone();
    WalkResult walked = copy->walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands()) {
        Region *region = operand.get().getParentRegion();
        if (region && copy->isAncestor(region->getParentOp())) continue;
        SmallVector<Value> values = visibleValues(at, operand.get().getType());
        if (values.empty()) return WalkResult::interrupt();
        operand.set(pick(random, values));
      }
      return WalkResult::advance();
    });
    if (!walked.wasInterrupted()) return insert(copy, at);
    copy->dropAllReferences();
    copy->destroy();
    return false;
  }

  // Before `at`; some later operand of its type then uses its result, or it would be dead.
  bool insert(Operation *op, Operation *at) {
    at->getBlock()->getOperations().insert(at->getIterator(), op);
    for (Value result : op->getResults())
      for (Operation *user = at; user; user = user->getNextNode())
        for (OpOperand &operand : user->getOpOperands())
          if (operand.get().getType() == result.getType() && below(random, 2)) operand.set(result);
    return true;
  }

  bool move(Operation *op) {
    SmallVector<Operation *> others;
    for (Operation &other : *op->getBlock())
      others.push_back(&other);
    op->moveBefore(pick(random, others));
    return true;
  }

  ModuleOp module;
  Random &random;
  std::vector<Operation *> own, foreign;
};

} // namespace

std::optional<std::string> intent::fuzz::mutateIr(StringRef text, StringRef donorText, Random &random) {
  if (!refuseIrText(text).empty() || !refuseIrText(donorText).empty()) return std::nullopt;
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  ScopedDiagnosticHandler handler(&context, [](Diagnostic &) { return success(); });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text.str(), ParserConfig(&context));
  if (!module) return std::nullopt;
  OwningOpRef<ModuleOp> donor = parseSourceString<ModuleOp>(donorText.str(), ParserConfig(&context));
  bool changed = false;
  size_t wanted = 1 + below(random, below(random, 4) + 1);
  for (unsigned tries = 0; tries < 16 && wanted; ++tries) {
    OwningOpRef<ModuleOp> next = module->clone();
    if (!Mutation(*next, donor ? *donor : *module, random).run() || failed(verify(*next))) continue;
    module = std::move(next);
    changed = true;
    --wanted;
  }
  if (!changed) return std::nullopt;
  std::string printed;
  llvm::raw_string_ostream os(printed);
  module->print(os, OpPrintingFlags().printNameLocAsPrefix());
  return printed;
}
