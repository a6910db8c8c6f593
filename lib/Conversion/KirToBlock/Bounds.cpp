// Bounds of indices: what lies within an extent, and which accesses touch nothing in common.
#include "Facts.h"

using namespace mlir;
using namespace intent::kir;

namespace intent::conversion {

// Extents are never negative, so a polynomial of them with no negative coefficient is not either.
static bool nonNegative(ExtentAttr extent) {
  for (auto [coefficient, monomial] : llvm::zip_equal(extent.getCoefficients(), extent.getMonomials())) {
    if (coefficient < 0) return false;
    for (Attribute atom : monomial)
      if (!cast<StringAttr>(atom).getValue().starts_with("?") && !cast<StringAttr>(atom).getValue().starts_with("%")) continue;
      else return false;
  }
  return true;
}

// Exact bounds (inclusive) of an index as polynomials, where its form gives them; assumes non-empty axes.
std::optional<std::pair<ExtentAttr, ExtentAttr>> Facts::bounds(const Index *node) {
  MLIRContext *context = index.context;
  auto constant = [&](int64_t value) { return ExtentAttr::constant(context, value); };
  switch (node->kind) {
  case Index::Constant: return std::pair(constant(node->constant), constant(node->constant));
  case Index::Extent: {
    ExtentAttr atom = ExtentAttr::atom(context, cast<StringAttr>(node->extent).getValue());
    return std::pair(atom, atom);
  }
  case Index::Axis: return std::pair(constant(0), axes[node->axis].extent - constant(1));
  case Index::Product: {
    ExtentAttr low = constant(1), high = low;
    for (const Index *factor : node->operands) {
      auto b = bounds(factor);
      if (!b || !nonNegative(b->first)) return std::nullopt;
      low = low * b->first;
      high = high * b->second;
    }
    return std::pair(low, high);
  }
  case Index::Mod: {
    auto divisor = bounds(node->operands[1]);
    if (!divisor || divisor->first != divisor->second) return std::nullopt;
    return std::pair(constant(0), divisor->first - constant(1));
  }
  case Index::Linear: {
    ExtentAttr low = constant(node->constant), high = low;
    for (auto [term, coefficient] : llvm::zip_equal(node->operands, node->coefficients)) {
      auto b = bounds(term);
      if (term->kind == Index::Axis) // a position in a slice behind the slice's start is one in the source
        if (Operation *owner = sliceOwner(term->axis))
          for (auto [other, factor] : llvm::zip_equal(node->operands, node->coefficients))
            if (other->kind == Index::Axis && other->axis == passClass(owner) && factor == coefficient)
              b = std::pair(constant(0), constant(0));
      if (!b) return std::nullopt;
      low = low + (coefficient > 0 ? b->first : b->second) * constant(coefficient);
      high = high + (coefficient > 0 ? b->second : b->first) * constant(coefficient);
    }
    return std::pair(low, high);
  }
  default: return std::nullopt;
  }
}

bool Facts::isNonNegative(const Index *node) {
  auto b = bounds(node);
  return b && nonNegative(b->first);
}

// Terms that are fixed cancel; what moves is bounded on each side for itself.
bool Facts::areDisjoint(ArrayRef<const Index *> a, ArrayRef<const Index *> b, llvm::function_ref<bool(AxisId)> isFixed) {
  auto split = [&](const Index *node) -> std::pair<const Index *, const Index *> {
    if (!isFixed) return {index.constant(0), node};
    const Index *moving = index.constant(0);
    auto add = [&](const Index *term, int64_t coefficient) {
      bool fixed = term->kind == Index::Axis && isFixed(term->axis);
      if (!fixed) moving = index.add(moving, index.mul(index.constant(coefficient), term));
    };
    if (node->kind != Index::Linear) add(node, 1);
    else
      for (auto [term, coefficient] : llvm::zip_equal(node->operands, node->coefficients))
        add(term, coefficient);
    return {index.sub(node, moving), moving};
  };
  ExtentAttr one = ExtentAttr::constant(index.context, 1);
  for (auto [x, y] : llvm::zip_equal(a, b)) {
    auto [fixedX, movingX] = split(x);
    auto [fixedY, movingY] = split(y);
    auto apart = bounds(index.sub(fixedX, fixedY)), first = bounds(movingX), second = bounds(movingY);
    if (!apart || !first || !second) continue;
    if (nonNegative(second->first - first->second - apart->second - one) || nonNegative(apart->first + first->first - second->second - one))
      return true;
  }
  return false;
}

bool Facts::isWithin(const Index *coordinate, ExtentAttr extent) {
  auto b = bounds(coordinate);
  return b && nonNegative(b->first) && nonNegative(extent - ExtentAttr::constant(index.context, 1) - b->second);
}

} // namespace intent::conversion
