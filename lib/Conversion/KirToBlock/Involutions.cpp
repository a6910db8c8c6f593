// Writes in place under an involution (a reversal, a square transpose): two positions swap what they hold, so that one of
// them can do both, and instances own whole pairs.
#include "Construct.h"
#include "Groups.h"

using namespace mlir;
using namespace intent::block;
using intent::kir::ReadOp;
using intent::kir::WriteOp;

namespace intent::conversion {

// The positions from which a write takes what it replaces; none where that is not an involution of its axes, or where it is
// all at its own positions.
static Coordinates imageOf(Facts &facts, Effect *effect) {
  auto write = dyn_cast<WriteOp>(effect->op);
  if (!write || !effect->parallel.empty()) return {};
  Coordinates own = facts.ownCoordinates(write), written = facts.effectCoordinates(write), read;
  for (const Access &access : facts.accessesOf(effect)) {
    if (access.view != write.getView() || access.coordinates == written) continue;
    if (!read.empty() && access.coordinates != read) return {};
    read = access.coordinates;
  }
  if (read.empty()) return {};
  Coordinates image(own);
  for (auto [to, from] : llvm::zip_equal(written, read)) { // written: a start + the position
    for (auto [position, swapped] : llvm::zip_equal(own, image))
      if (facts.index.coefficientOf(to, position->axis) == 1) swapped = facts.index.add(position, facts.index.sub(from, to));
  }
  auto swap = [&](const Index *at) {
    return facts.index.substitute(at, [&](AxisId id) -> const Index * {
      for (auto [position, swapped] : llvm::zip_equal(own, image))
        if (position->axis == id) return swapped;
      return nullptr;
    });
  };
  for (auto [position, swapped, axis] : llvm::zip_equal(own, image, facts.axesOf(write)))
    if (swap(swapped) != position || !facts.isWithin(swapped, facts.axis(axis).extent)) return {};
  if (facts.effectCoordinates(write, image) != read) return {};
  // What walks a swapped axis, such as a scan, needs more of it than the two positions of a pair.
  auto isSwapped = [&](AxisId axis) {
    return llvm::any_of(llvm::zip_equal(own, image), [&](auto pair) {
      auto [position, swapped] = pair;
      return position != swapped && position->axis == facts.find(axis);
    });
  };
  for (const Demand &demand : facts.demandsOf(effect).order) {
    Operation *op = demand.first.getDefiningOp();
    if (!op || isa<WriteOp>(op)) continue;
    if (llvm::any_of(facts.axesOf(op), isSwapped)) return {};
    for (unsigned i = 0; Carries::has(op) && i < Carries(op).size(); ++i)
      if (llvm::any_of(facts.carryAxes(op, i), isSwapped)) return {};
  }
  return image;
}

void Facts::findImages() {
  for (Effect *effect : roots) {
    bool alone = effect->isLeaf() && llvm::none_of(roots, [&](Effect *other) {
                   return other != effect &&
                          llvm::any_of(accessesOf(other), [&](const Access &access) { return access.view == viewOf(effect->op); });
                 });
    if (!alone) continue;
    effect->image = imageOf(*this, effect);
    if (effect->image.empty()) continue;
    collectRoots(*effect);
    demands.erase(effect);
    accesses.erase(effect);
  }
}

SmallVector<Coordinates, 2> Facts::placesOf(const Effect *effect) {
  SmallVector<Coordinates, 2> places{ownCoordinates(effect->op)};
  if (!effect->image.empty()) places.push_back(effect->image);
  return places;
}

bool meetOnlyInOnePair(Facts &facts, const Access &a, const Access &b) {
  if (a.effect != b.effect || !a.effect || a.effect->image.empty()) return false;
  auto isPlace = [&](const Access &access) {
    return llvm::any_of(facts.placesOf(a.effect),
                        [&](const Coordinates &place) { return facts.effectCoordinates(a.effect->op, place) == access.coordinates; });
  };
  return isPlace(a) && isPlace(b);
}

// The first axis that differs decides. Of later ones, those that differ just as an earlier one does say nothing more.
FailureOr<Real> Construction::comesFirst(Effect *effect, bool orIsItsImage, Location loc) {
  SmallVector<std::pair<const Index *, const Index *>> pairs;
  SmallVector<const Index *> differences;
  for (auto [own, image] : llvm::zip_equal(facts.ownCoordinates(effect->op), effect->image)) {
    const Index *difference = facts.index.sub(image, own), *opposite = facts.index.sub(own, image);
    if (own == image || llvm::is_contained(differences, difference) || llvm::is_contained(differences, opposite)) continue;
    differences.push_back(difference);
    pairs.emplace_back(own, image);
  }
  std::optional<Real> first;
  for (auto [own, image] : llvm::reverse(pairs)) {
    FailureOr<Real> at = realiseIndex(own, loc), other = realiseIndex(image, loc);
    if (failed(at) || failed(other)) return failure();
    Real less = compare(!first && orIsItsImage ? ComparePredicate::Le : ComparePredicate::Lt, *at, *other, loc);
    if (first)
      less = binary(BinaryKind::Or, less, binary(BinaryKind::And, compare(ComparePredicate::Eq, *at, *other, loc), *first, loc), loc);
    first = less;
  }
  return *first;
}

// What a pair's other position would read is left alone: its owner may have replaced it.
LogicalResult Construction::whereFirst(ReadOp read, ArrayRef<const Index *> coordinates, Reals &valid) {
  for (Effect *effect : group.effects) {
    if (effect->image.empty() || (viewOf(effect->op) != read.getView() && group.effects.size() > 1)) continue;
    AxisSet along = facts.freeAxes({read.getResult(), Coordinates(coordinates)});
    if (!llvm::all_of(effect->image, [&](const Index *at) {
          return llvm::all_of(facts.freeAxes(at), [&](AxisId id) { return llvm::is_contained(along, id); });
        }))
      continue;
    FailureOr<Real> first = comesFirst(effect, true, read.getLoc());
    if (failed(first)) return failure();
    valid.push_back(*first);
  }
  return success();
}

} // namespace intent::conversion
