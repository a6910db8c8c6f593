#include "Index.h"

#include "llvm/Support/MathExtras.h"
#include <map>

using namespace mlir;

namespace intent::conversion {

void Index::Profile(llvm::FoldingSetNodeID &id) const {
  id.AddInteger(kind);
  id.AddInteger(constant);
  id.AddInteger(axis);
  id.AddPointer(value.getAsOpaquePointer());
  id.AddPointer(extent.getAsOpaquePointer());
  for (const Index *operand : operands)
    id.AddPointer(operand);
  for (int64_t coefficient : coefficients)
    id.AddInteger(coefficient);
}

const Index *IndexContext::unique(Index proto) {
  llvm::FoldingSetNodeID id;
  proto.Profile(id);
  void *position = nullptr;
  if (Index *existing = nodes.FindNodeOrInsertPos(id, position)) return existing;
  owned.push_back(std::make_unique<Index>(std::move(proto)));
  owned.back()->id = nextId++;
  nodes.InsertNode(owned.back().get(), position);
  return owned.back().get();
}

const Index *IndexContext::constant(int64_t value) {
  Index node;
  node.kind = Index::Constant;
  node.constant = value;
  return unique(node);
}

const Index *IndexContext::axis(AxisId axis) {
  Index node;
  node.kind = Index::Axis;
  node.axis = axis;
  return unique(node);
}

const Index *IndexContext::start(AxisId axis) {
  Index node;
  node.kind = Index::Start;
  node.axis = axis;
  return unique(node);
}

const Index *IndexContext::leaf(Value value, ArrayRef<const Index *> coordinates) {
  Index node;
  node.kind = Index::Leaf;
  node.value = value;
  node.operands.assign(coordinates.begin(), coordinates.end());
  return unique(node);
}

const Index *IndexContext::extent(kir::ExtentAttr extent) {
  const Index *sum = constant(0);
  for (auto [coefficient, monomial] : llvm::zip_equal(extent.getCoefficients(), extent.getMonomials())) {
    const Index *product = constant(coefficient);
    for (Attribute atom : monomial) {
      Index node;
      node.kind = Index::Extent;
      node.extent = atom;
      product = mul(product, unique(node));
    }
    sum = add(sum, product);
  }
  return sum;
}

static int64_t wrap(uint64_t value) { return static_cast<int64_t>(value); }

const Index *IndexContext::combine(const Index *a, int64_t ca, const Index *b, int64_t cb) {
  uint64_t constantPart = 0;
  SmallVector<std::pair<const Index *, int64_t>> terms;
  auto accumulate = [&](const Index *term, int64_t coefficient) {
    for (auto &[t, c] : terms)
      if (t == term) {
        c = wrap(uint64_t(c) + uint64_t(coefficient));
        return;
      }
    terms.emplace_back(term, coefficient);
  };
  for (auto [index, factor] : {std::pair(a, ca), std::pair(b, cb)}) {
    if (index->kind == Index::Constant || index->kind == Index::Linear) constantPart += uint64_t(index->constant) * uint64_t(factor);
    if (index->kind == Index::Linear)
      for (auto [term, coefficient] : llvm::zip_equal(index->operands, index->coefficients))
        accumulate(term, wrap(uint64_t(coefficient) * uint64_t(factor)));
    else if (index->kind != Index::Constant) accumulate(index, factor);
  }
  llvm::erase_if(terms, [](auto &t) { return t.second == 0; });
  if (terms.empty()) return constant(wrap(constantPart));
  if (terms.size() == 1 && terms[0].second == 1 && constantPart == 0) return terms[0].first;
  llvm::sort(terms, [](auto &x, auto &y) { return x.first->id < y.first->id; });
  Index node;
  node.kind = Index::Linear;
  node.constant = wrap(constantPart);
  for (auto &[term, coefficient] : terms) {
    node.operands.push_back(term);
    node.coefficients.push_back(coefficient);
  }
  return unique(node);
}

const Index *IndexContext::mul(const Index *a, const Index *b) {
  if (b->kind == Index::Constant) std::swap(a, b);
  if (a->kind == Index::Constant) return combine(b, a->constant, constant(0), 1);
  if (a->kind == Index::Linear || b->kind == Index::Linear) { // distribute, so that sums stay in normal form
    if (a->kind != Index::Linear) std::swap(a, b);
    const Index *sum = mul(constant(a->constant), b);
    for (auto [term, coefficient] : llvm::zip_equal(a->operands, a->coefficients))
      sum = add(sum, mul(constant(coefficient), mul(term, b)));
    return sum;
  }
  Index node;
  node.kind = Index::Product;
  for (const Index *factor : {a, b}) {
    if (factor->kind == Index::Product) node.operands.append(factor->operands.begin(), factor->operands.end());
    else node.operands.push_back(factor);
  }
  llvm::sort(node.operands, [](const Index *x, const Index *y) { return x->id < y->id; });
  return unique(node);
}

const Index *IndexContext::floorDiv(const Index *a, const Index *b) {
  if (b->getConstant() == 1) return a;
  if (a->kind == Index::Constant && b->kind == Index::Constant && b->constant > 0)
    return constant(llvm::divideFloorSigned(a->constant, b->constant));
  Index node;
  node.kind = Index::FloorDiv;
  node.operands = {a, b};
  return unique(node);
}

const Index *IndexContext::mod(const Index *a, const Index *b) {
  if (b->getConstant() == 1) return constant(0);
  if (a->kind == Index::Constant && b->kind == Index::Constant && b->constant > 0) return constant(llvm::mod(a->constant, b->constant));
  Index node;
  node.kind = Index::Mod;
  node.operands = {a, b};
  return unique(node);
}

const Index *IndexContext::substitute(const Index *index, llvm::function_ref<const Index *(AxisId)> axisOf) {
  auto all = [&] {
    Coordinates replaced;
    for (const Index *operand : index->operands)
      replaced.push_back(substitute(operand, axisOf));
    return replaced;
  };
  switch (index->kind) {
  case Index::Constant:
  case Index::Start:
  case Index::Extent: return index;
  case Index::Axis: {
    const Index *replacement = axisOf(index->axis);
    return replacement ? replacement : index;
  }
  case Index::Leaf: return leaf(index->value, all());
  case Index::FloorDiv: {
    Coordinates o = all();
    return floorDiv(o[0], o[1]);
  }
  case Index::Mod: {
    Coordinates o = all();
    return mod(o[0], o[1]);
  }
  case Index::Product: {
    const Index *product = constant(1);
    for (const Index *factor : all())
      product = mul(product, factor);
    return product;
  }
  case Index::Linear: {
    const Index *sum = constant(index->constant);
    for (auto [term, coefficient] : llvm::zip_equal(all(), index->coefficients))
      sum = add(sum, mul(constant(coefficient), term));
    return sum;
  }
  }
  return index;
}

std::optional<int64_t> IndexContext::coefficientOf(const Index *index, AxisId axis) {
  if (index->kind == Index::Axis && index->axis == axis) return 1;
  if (index->kind != Index::Linear) return std::nullopt;
  std::optional<int64_t> found;
  for (auto [term, coefficient] : llvm::zip_equal(index->operands, index->coefficients)) {
    if (term->kind == Index::Axis && term->axis == axis) {
      found = coefficient;
      continue;
    }
    bool uses = false;
    forEachAxis(term, [&](AxisId a) { uses |= a == axis; });
    if (uses) return std::nullopt;
  }
  return found;
}

void forEachAxis(const Index *index, llvm::function_ref<void(AxisId)> visit) {
  if (index->kind == Index::Axis || index->kind == Index::Start) visit(index->axis);
  for (const Index *operand : index->operands)
    forEachAxis(operand, visit);
}

} // namespace intent::conversion
