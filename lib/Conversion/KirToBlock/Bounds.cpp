// Bounds of indices: what lies within an extent, and which accesses touch nothing in common.
#include "Facts.h"

#include <numeric>

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

// An index value of the kernel, of which nothing is known but that it is the same wherever it stands.
static ExtentAttr unknown(MLIRContext *context, const Index *leaf) {
  return ExtentAttr::atom(context, "?value" + std::to_string(leaf->id));
}

// An extent in terms of the index values that its atoms stand for, where these are polynomials.
std::optional<ExtentAttr> Facts::expanded(ExtentAttr extent, llvm::function_ref<bool(const Index *)> isSame) {
  MLIRContext *context = index.context;
  ExtentAttr sum = ExtentAttr::constant(context, 0);
  for (auto [coefficient, monomial] : llvm::zip_equal(extent.getCoefficients(), extent.getMonomials())) {
    ExtentAttr product = ExtentAttr::constant(context, coefficient);
    for (Attribute atom : monomial) {
      StringRef name = cast<StringAttr>(atom).getValue();
      ExtentAttr factor = ExtentAttr::atom(context, name);
      if (Value value = atomValue(name)) {
        const Index *node = indexOf(value);
        if (!isSame(node)) return std::nullopt;
        if (auto known = bounds(node, isSame); known && known->first == known->second) factor = known->first;
      }
      product = product * factor;
    }
    sum = sum + product;
  }
  return sum;
}

// Bounds (inclusive) of an index as polynomials, where its form gives them; assumes non-empty axes. Index values that are the
// same wherever the bounds are compared may cancel out.
std::optional<std::pair<ExtentAttr, ExtentAttr>> Facts::bounds(const Index *node, llvm::function_ref<bool(const Index *)> isSame) {
  MLIRContext *context = index.context;
  auto constant = [&](int64_t value) { return ExtentAttr::constant(context, value); };
  auto exactly = [](ExtentAttr value) { return std::pair(value, value); };
  switch (node->kind) {
  case Index::Constant: return exactly(constant(node->constant));
  case Index::Extent: {
    auto known = expanded(ExtentAttr::atom(context, cast<StringAttr>(node->extent).getValue()), isSame);
    return known ? std::optional(exactly(*known)) : std::nullopt;
  }
  case Index::FloorDiv:
  case Index::Leaf: return isSame(node) ? std::optional(exactly(unknown(context, node))) : std::nullopt;
  case Index::Axis: {
    auto extent = expanded(axes[node->axis].extent, isSame);
    return extent ? std::optional(std::pair(constant(0), *extent - constant(1))) : std::nullopt;
  }
  case Index::Product: {
    ExtentAttr low = constant(1), high = low;
    bool exact = true, positive = true;
    for (const Index *factor : node->operands) {
      auto b = bounds(factor, isSame);
      if (!b) return std::nullopt;
      exact &= b->first == b->second;
      positive &= nonNegative(b->first);
      low = low * b->first;
      high = high * b->second;
    }
    return exact || positive ? std::optional(std::pair(low, high)) : std::nullopt;
  }
  case Index::Mod: {
    auto divisor = bounds(node->operands[1], isSame);
    if (!divisor || divisor->first != divisor->second) return std::nullopt;
    if (node->operands[1]->kind != Index::Extent && !nonNegative(divisor->first)) return std::nullopt;
    return std::pair(constant(0), divisor->first - constant(1));
  }
  case Index::Linear: {
    ExtentAttr low = constant(node->constant), high = low;
    for (auto [term, coefficient] : llvm::zip_equal(node->operands, node->coefficients)) {
      auto b = bounds(term, isSame);
      if (term->kind == Index::Axis) // a position in a slice behind the slice's start is one in the source
        if (Operation *owner = sliceOwner(term->axis))
          for (auto [other, factor] : llvm::zip_equal(node->operands, node->coefficients))
            if (other->kind == Index::Axis && other->axis == passClass(owner) && factor == coefficient) b = exactly(constant(0));
      if (!b) return std::nullopt;
      low = low + (coefficient > 0 ? b->first : b->second) * constant(coefficient);
      high = high + (coefficient > 0 ? b->second : b->first) * constant(coefficient);
    }
    return std::pair(low, high);
  }
  }
  return std::nullopt;
}

// At one point of the program every index value is the same.
static bool atOnePoint(const Index *) { return true; }

bool Facts::isNonNegative(const Index *node) {
  auto b = bounds(node, atOnePoint);
  return b && nonNegative(b->first);
}

// Terms that are fixed cancel; what moves is bounded on each side for itself.
bool Facts::areDisjoint(ArrayRef<const Index *> a, ArrayRef<const Index *> b, llvm::function_ref<bool(AxisId)> isFixed) {
  auto isSame = [&](const Index *node) { return llvm::all_of(freeAxes(node), [&](AxisId id) { return isFixed && isFixed(id); }); };
  auto split = [&](const Index *node) -> std::pair<const Index *, const Index *> {
    const Index *moving = index.constant(0);
    auto add = [&](const Index *term, int64_t coefficient) {
      if (!isSame(term)) moving = index.add(moving, index.mul(index.constant(coefficient), term));
    };
    if (node->kind != Index::Linear) add(node, 1);
    else
      for (auto [term, coefficient] : llvm::zip_equal(node->operands, node->coefficients))
        add(term, coefficient);
    return {index.sub(node, moving), moving};
  };
  // What moves moves in steps of some number on both sides, and what is fixed is apart by none of its multiples.
  auto interleave = [&](const Index *apart, const Index *first, const Index *second) {
    auto magnitude = [](int64_t v) { return v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v); };
    uint64_t step = 0;
    for (const Index *moving : {first, second}) {
      ArrayRef<int64_t> paces = moving->kind == Index::Linear ? ArrayRef(moving->coefficients) : ArrayRef<int64_t>();
      if (moving->kind != Index::Linear && moving->kind != Index::Constant) return false;
      for (int64_t pace : paces)
        step = std::gcd(step, magnitude(pace));
    }
    if (step < 2 || (apart->kind != Index::Linear && apart->kind != Index::Constant)) return false;
    bool whole = llvm::all_of(apart->coefficients, [&](int64_t pace) { return magnitude(pace) % step == 0; });
    return whole && magnitude(apart->constant) % step != 0;
  };
  ExtentAttr one = ExtentAttr::constant(index.context, 1);
  for (auto [x, y] : llvm::zip_equal(a, b)) {
    auto [fixedX, movingX] = split(x);
    auto [fixedY, movingY] = split(y);
    if (interleave(index.sub(fixedX, fixedY), movingX, movingY)) return true;
    auto apart = bounds(index.sub(fixedX, fixedY), isSame), first = bounds(movingX, isSame), second = bounds(movingY, isSame);
    if (!apart || !first || !second) continue;
    if (nonNegative(second->first - first->second - apart->second - one) || nonNegative(apart->first + first->first - second->second - one))
      return true;
  }
  return false;
}

bool Facts::isWithin(const Index *coordinate, ExtentAttr extent) {
  auto b = bounds(coordinate, atOnePoint);
  std::optional<ExtentAttr> size = expanded(extent, atOnePoint);
  return b && size && nonNegative(b->first) && nonNegative(*size - ExtentAttr::constant(index.context, 1) - b->second);
}

//===- extents at launch -------------------------------------------------------------------------------===//

// How many members an axis can have if the coordinate, which varies along it, lies within the extent for each of them.
static std::optional<ExtentAttr> membersWithin(IndexContext &index, const Index *coordinate, AxisId axis, ExtentAttr extent) {
  if (index.coefficientOf(coordinate, axis).value_or(0) != 0) return extent; // another element for each
  auto varies = [&](const Index *node) {
    bool found = false;
    forEachAxis(node, [&](AxisId id) { found |= id == axis; });
    return found;
  };
  if (coordinate->kind == Index::Linear) {
    SmallVector<const Index *> terms(llvm::make_filter_range(coordinate->operands, varies));
    return terms.size() == 1 ? membersWithin(index, terms[0], axis, extent) : std::nullopt;
  }
  if (coordinate->kind != Index::FloorDiv || varies(coordinate->operands[1])) return std::nullopt;
  const Index *divisor = coordinate->operands[1];
  std::optional<ExtentAttr> size;
  if (divisor->kind == Index::Constant && divisor->constant > 0) size = ExtentAttr::constant(index.context, divisor->constant);
  if (divisor->kind == Index::Extent) size = ExtentAttr::atom(index.context, cast<StringAttr>(divisor->extent).getValue());
  return size ? membersWithin(index, coordinate->operands[0], axis, extent * *size) : std::nullopt;
}

// To access an element outside its view or tensor is the author's error, so the members of an axis along which accesses move are
// no more than there are elements.
void Facts::findMembersInViews() {
  DenseMap<Attribute, AxisId> unsized; // an axis of each extent that the launch does not know
  for (AxisId id = 0; id < axes.size(); ++id)
    if (!isLaunchVisible(axes[id].extent)) unsized.try_emplace(axes[id].extent, id);
  if (unsized.empty()) return;
  kernel.walk([&](Operation *op) {
    auto read = dyn_cast<ReadOp>(op);
    auto extract = dyn_cast<ExtractOp>(op);
    // A gather of a tensor selects what is valid of its elements.
    if (extract && llvm::any_of(op->getUsers(), [](Operation *user) { return isa<SelectOp>(user); })) return;
    if (!extract && !(read && !read.getValid()) && (!isLeafEffect(op) || !viewOf(op))) return;
    ValueRange items = extract ? ValueRange(extract.getIndices()) : indicesOf(op);
    for (auto [item, extent] : llvm::zip_equal(items, shapeOf((extract ? extract.getSource() : viewOf(op)).getType()))) {
      if (!isLaunchVisible(extent)) continue;
      auto note = [&](ExtentAttr members, ExtentAttr bound) {
        if (!isLaunchVisible(members) && isLaunchVisible(bound)) inViews[members].push_back({bound, op});
      };
      if (auto domain = dyn_cast<DomainType>(item.getType())) {
        note(domain.getExtent(), extent);
        continue;
      }
      Coordinates at; // the first members of what the launch knows
      for (ExtentAttr own : shapeOf(item.getType())) {
        auto axis = unsized.find(own);
        at.push_back(axis == unsized.end() ? index.constant(0) : index.axis(axis->second));
      }
      const Index *coordinate = elementType(item.getType()).isIndex() ? indexOf(item, at) : index.leaf(item, at);
      llvm::SetVector<AxisId> along;
      forEachAxis(coordinate, [&](AxisId id) { along.insert(id); });
      for (AxisId id : along)
        if (std::optional<ExtentAttr> bound = membersWithin(index, coordinate, id, extent)) note(axes[id].extent, *bound);
    }
  });
}

std::optional<ExtentAttr> Facts::launchBound(ExtentAttr extent, Operation *place) {
  if (isLaunchVisible(extent)) return extent;
  if (ExtentAttr source = cutFrom.lookup(extent)) return launchBound(source, place);
  for (const InView &in : inViews.lookup(extent)) { // that is reached where the place is
    Operation *scope = in.access->getParentOp();
    while (scope != kernel && scope->isProperAncestor(place))
      scope = scope->getParentOp();
    if (scope == kernel) return in.bound;
  }
  // A polynomial of loop coordinates, whose ranges are known.
  const Index *value = index.constant(0);
  for (auto [coefficient, monomial] : llvm::zip_equal(extent.getCoefficients(), extent.getMonomials())) {
    const Index *product = index.constant(coefficient);
    for (Attribute atom : monomial) {
      StringRef name = cast<StringAttr>(atom).getValue();
      ExtentAttr own = ExtentAttr::atom(index.context, name);
      std::optional<ExtentAttr> bound = own != extent && coefficient > 0 && monomial.size() == 1 ? launchBound(own, place) : std::nullopt;
      Value known = bound ? nullptr : atomValue(name);
      product = index.mul(product, known ? indexOf(known) : index.extent(bound.value_or(own)));
    }
    value = index.add(value, product);
  }
  auto range = bounds(value, atOnePoint);
  return range && isLaunchVisible(range->second) ? std::optional(range->second) : std::nullopt;
}

} // namespace intent::conversion
