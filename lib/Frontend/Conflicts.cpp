// Conflicts between iterations of an I.parallel loop, as far as index arithmetic proves them.
#include "Lowering.h"

#include <set>

using namespace mlir;
using namespace intent;
using namespace intent::frontend;
using kir::DomainType;

namespace {
/// A plain access that every iteration of the loop makes.
struct ElementAccess {
  Operation *op;
  Value view;
  SmallVector<Value> indices;
  bool writes;
};
/// c0 + factor * coordinate + what no iteration changes; no coordinate: -1.
struct Linear {
  int coordinate = -1;
  int64_t factor = 0;
};
} // namespace

static constexpr unsigned unknown = ~0u;

namespace intent::frontend {
class ConflictFinder {
public:
  ConflictFinder(Lowering &lowering, kir::ParallelOp loop) : lowering(lowering), loop(loop) {}

  /// The first conflict, reported; success if nothing is proven.
  LogicalResult run(StringRef place) {
    Block &body = loop.getBody().front();
    for (auto [i, coordinate] : llvm::enumerate(body.getArguments()))
      masks[coordinate] = i < 31 ? 1u << i : unknown;
    visit(body, true);
    for (const ElementAccess &access : accesses)
      if (access.writes && failed(alone(access, place))) return failure();
    if (accesses.size() > maxAccesses) return success();
    for (const ElementAccess &write : accesses)
      for (const ElementAccess &other : accesses)
        if (write.writes && &write != &other && write.view == other.view && meet(write, other)) return report(write, other, place);
    return success();
  }

private:
  static constexpr size_t maxAccesses = 200;

  /// The coordinates on which a value depends; all of them where that is not known.
  unsigned maskOf(Value value) { return masks.lookup(value); }
  bool isInside(Value value) { return loop.getBody().isAncestor(value.getParentRegion()); }

  unsigned shapeMask(Type type) {
    ArrayRef<ExtentAttr> shape = kir::shapeOf(type);
    SmallVector<ExtentAttr> extents(shape);
    if (auto domain = dyn_cast<DomainType>(type)) extents.push_back(domain.getExtent());
    return extentMask(extents);
  }
  unsigned extentMask(ArrayRef<ExtentAttr> extents) {
    for (ExtentAttr extent : extents)
      for (StringAttr atom : extent.getAtoms())
        if (Value leaf = lowering.leafOf(atom.getValue()); leaf && isInside(leaf)) return unknown;
    return 0;
  }

  /// Follows coordinates through operations in order; `always`: every iteration runs the block.
  void visit(Block &block, bool always) {
    for (Operation &op : block) {
      unsigned mask = 0;
      for (Value operand : op.getOperands())
        mask |= maskOf(operand);
      if (auto extent = dyn_cast<kir::ExtentOp>(op)) mask |= extentMask(extent.getExtent());
      for (Type type : op.getResultTypes())
        mask |= shapeMask(type);
      if (op.getNumRegions() || !isMemoryEffectFree(&op)) mask = unknown;
      for (Value result : op.getResults())
        if (mask) masks[result] = mask;
      if (always) record(op);
      bool isFor = isa<kir::ForOp>(op), isParallel = isa<kir::ParallelOp>(op);
      unsigned domainMask = 0;
      if (isFor || isParallel)
        for (Value operand : op.getOperands())
          if (isa<DomainType>(operand.getType())) domainMask |= maskOf(operand);
      for (Region &region : op.getRegions())
        for (Block &inner : region) {
          for (auto [i, argument] : llvm::enumerate(inner.getArguments())) {
            bool isCoordinate = isParallel || (isFor && i == 0);
            if (!isCoordinate || domainMask) masks[argument] = unknown;
          }
          visit(inner, always && (isFor || isParallel) && !domainMask);
        }
    }
  }
  void record(Operation &op) {
    auto add = [&](Value view, ValueRange indices, bool writes) {
      if (!isInside(view)) accesses.push_back({&op, view, SmallVector<Value>(indices), writes});
    };
    if (auto write = dyn_cast<kir::WriteOp>(op)) add(write.getView(), write.getIndices(), true);
    auto read = dyn_cast<kir::ReadOp>(op);
    if (read && !read.getValid()) add(read.getView(), read.getIndices(), false);
  }

  std::optional<int64_t> extentOf(unsigned coordinate) {
    return cast<DomainType>(loop.getDomains()[coordinate].getType()).getExtent().getConstant();
  }
  bool repeats(unsigned coordinate) { return extentOf(coordinate).value_or(2) > 1; }

  /// A write that does not depend on a coordinate happens once for each of its values.
  LogicalResult alone(const ElementAccess &write, StringRef place) {
    unsigned used = 0;
    for (Value index : write.indices)
      used |= maskOf(index);
    for (unsigned i = 0; i < loop.getDomains().size() && i < 31; ++i)
      if (!(used & (1u << i)) && repeats(i)) return report(write, write, place);
    return success();
  }

  /// How an index runs with the coordinates; nothing, if that is not linear in one of them.
  std::optional<Linear> linear(ExtentAttr extent) {
    Linear result;
    for (auto [factor, monomial] : llvm::zip_equal(extent.getCoefficients(), extent.getMonomials())) {
      for (Attribute atom : monomial) {
        Value leaf = lowering.leafOf(cast<StringAttr>(atom).getValue());
        unsigned mask = leaf ? maskOf(leaf) : 0;
        if (!mask) continue;
        auto argument = dyn_cast<BlockArgument>(leaf);
        bool own = argument && argument.getOwner() == &loop.getBody().front() && monomial.size() == 1 && result.coordinate < 0;
        if (!own || (factor != 1 && factor != -1)) return std::nullopt;
        result.coordinate = argument.getArgNumber();
        result.factor = factor;
      }
    }
    return result;
  }

  /// True if what one iteration writes is what another accesses.
  bool meet(const ElementAccess &write, const ElementAccess &other) {
    std::map<int, int64_t> shifts; // from the iteration that writes to the other one
    std::set<int> free, fixed;     // coordinates that the other access does not follow; those of one writing iteration
    for (auto [axis, pair] : llvm::enumerate(llvm::zip_equal(write.indices, other.indices))) {
      auto [a, b] = pair;
      if (!isScalarType(a.getType())) {
        if (a != b || maskOf(a)) return false;
        continue;
      }
      ExtentAttr at = lowering.extentOf(a);
      std::optional<Linear> runs = linear(at);
      if (!runs) return false;
      if (!isScalarType(b.getType())) { // the whole axis has every element
        if (!isWholeAxis(b, write.view, axis)) return false;
        if (runs->coordinate >= 0) free.insert(runs->coordinate);
        continue;
      }
      ExtentAttr there = lowering.extentOf(b);
      std::optional<int64_t> gap = (there - at).getConstant();
      if (runs->coordinate < 0) {
        if (gap != 0) return false;
        continue;
      }
      unsigned coordinate = runs->coordinate;
      auto domain = loop.getDomains()[coordinate].getDefiningOp<kir::DomainOp>();
      std::optional<int64_t> step = domain ? lowering.extentOf(domain.getStep()).getConstant() : std::nullopt;
      if (!step || *step <= 0) return false;
      if (gap) {
        int64_t shift = *gap * runs->factor, extent = extentOf(coordinate).value_or(INT64_MAX);
        if (shift % *step || std::abs(shift / *step) >= extent) return false;
        if (!shifts.insert({coordinate, shift}).second && shifts[coordinate] != shift) return false;
        continue;
      }
      // One fixed element that one of the iterations writes.
      ExtentAttr rest = at - lowering.extentOf(loop.getBody().getArgument(coordinate)) * lowering.known(runs->factor);
      std::optional<int64_t> begin = lowering.extentOf(domain.getStart()).getConstant(), offset = (there - rest).getConstant();
      if (!begin || !offset || !linear(there) || linear(there)->coordinate >= 0) return false;
      int64_t position = *offset * runs->factor - *begin;
      if (position < 0 || position % *step || position / *step >= extentOf(coordinate).value_or(INT64_MAX)) return false;
      if (!fixed.insert(coordinate).second) return false;
      free.insert(coordinate);
    }
    bool apart = llvm::any_of(shifts, [](auto &entry) { return entry.second != 0; });
    for (int coordinate : free) {
      if (shifts.count(coordinate) && fixed.count(coordinate)) return false;
      apart |= !shifts.count(coordinate) && repeats(coordinate);
    }
    return apart;
  }
  bool isWholeAxis(Value index, Value view, unsigned axis) {
    auto domain = index.getDefiningOp<kir::DomainOp>();
    if (!domain) return false;
    ExtentAttr zero = lowering.known(0), whole = kir::shapeOf(view.getType())[axis];
    return lowering.extentOf(domain.getStart()) == zero && lowering.extentOf(domain.getStop()) == whole &&
           lowering.extentOf(domain.getStep()).getConstant() == 1;
  }

  static Location placeOf(Operation *op) {
    Location location = op->getLoc();
    while (auto named = dyn_cast<NameLoc>(location))
      location = named.getChildLoc();
    return location;
  }
  LogicalResult report(const ElementAccess &write, const ElementAccess &other, StringRef place) {
    std::string name;
    if (auto named = dyn_cast<NameLoc>(write.view.getLoc())) name = named.getName().str();
    InFlightDiagnostic diagnostic = emitError(placeOf(write.op));
    if (&write == &other) {
      diagnostic << "every iteration of " << place << " writes the same elements of '" << name
                 << "'; index them by its coordinates, or use I.scatter_reduce, I.atomic or an ordered loop";
      return diagnostic;
    }
    diagnostic << "iterations of " << place << " conflict: one writes elements of '" << name << "' that another "
               << (other.writes ? "writes" : "reads") << "; use an ordered loop or another view";
    diagnostic.attachNote(placeOf(other.op)) << "the other iteration " << (other.writes ? "writes" : "reads") << " here";
    return diagnostic;
  }

  Lowering &lowering;
  kir::ParallelOp loop;
  llvm::DenseMap<Value, unsigned> masks;
  std::vector<ElementAccess> accesses;
};
} // namespace intent::frontend

/// Conflicting effects are illegal; this finds those that index arithmetic proves, given more than one iteration.
LogicalResult Lowering::checkConflicts(kir::ParallelOp loop, StringRef place) { return ConflictFinder(*this, loop).run(place); }
