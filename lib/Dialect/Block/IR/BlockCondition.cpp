// The algebra of conditions. Nothing here changes what a condition gives; it drops what the rest of it says already.
#include "BlockCondition.h"

using namespace mlir;

namespace intent::block {

using Conditions = SmallVector<ExprAttr>;

static ExprAttr make(ExprKind kind, ArrayRef<ExprAttr> operands) {
  MLIRContext *context = operands[0].getContext();
  return ExprAttr::get(context, kind, 0, StringAttr::get(context, ""), operands);
}

/// What `kind` joins, in order.
static void collect(ExprAttr condition, ExprKind kind, Conditions &parts) {
  if (condition.getKind() != kind) return parts.push_back(condition);
  for (ExprAttr operand : condition.getOperands())
    collect(operand, kind, parts);
}

static Conditions partsOf(ExprAttr condition, ExprKind kind) {
  Conditions parts;
  collect(condition, kind, parts);
  return parts;
}

static ExprAttr join(ExprKind kind, ArrayRef<ExprAttr> parts) {
  ExprAttr joined = parts.front();
  for (ExprAttr part : parts.drop_front())
    joined = make(kind, {joined, part});
  return joined;
}

namespace {
/// `expr <= limit` or `expr >= limit`.
struct Bound {
  ExprAttr expr;
  bool isUpper;
  int64_t limit;
};
} // namespace

/// A comparison with a constant, or its negation.
static std::optional<Bound> boundOf(ExprAttr condition) {
  bool negated = condition.getKind() == ExprKind::Not;
  if (negated) condition = condition.getOperands()[0];
  bool strict = condition.getKind() == ExprKind::Lt;
  if (!strict && condition.getKind() != ExprKind::Le) return std::nullopt;
  ExprAttr low = condition.getOperands()[0], high = condition.getOperands()[1];
  bool isUpper = high.getConstant().has_value();
  std::optional<int64_t> limit = isUpper ? high.getConstant() : low.getConstant();
  if (!limit) return std::nullopt;
  // a < 4 is a <= 3, and not (a <= 4) is a >= 5.
  int64_t within = strict == negated ? 0 : isUpper == strict ? -1 : 1, exact;
  if (llvm::AddOverflow(*limit, within, exact)) return std::nullopt;
  return Bound{isUpper ? low : high, isUpper != negated, exact};
}

static bool areOpposite(ExprAttr a, ExprAttr b) {
  return (a.getKind() == ExprKind::Not && a.getOperands()[0] == b) || (b.getKind() == ExprKind::Not && b.getOperands()[0] == a);
}

static bool implies(ExprAttr a, ExprAttr b);

/// Whether both cannot hold.
static bool exclude(ExprAttr a, ExprAttr b) {
  if (areOpposite(a, b)) return true;
  if (a.getKind() == ExprKind::Not && implies(b, a.getOperands()[0])) return true;
  if (b.getKind() == ExprKind::Not && implies(a, b.getOperands()[0])) return true;
  std::optional<Bound> x = boundOf(a), y = boundOf(b);
  if (!x || !y || x->expr != y->expr || x->isUpper == y->isUpper) return false;
  return x->isUpper ? x->limit < y->limit : y->limit < x->limit;
}

/// Whether b holds wherever a does; false where that does not show.
static bool implies(ExprAttr a, ExprAttr b) {
  if (a == b) return true;
  if (b.getKind() == ExprKind::And) return llvm::all_of(b.getOperands(), [&](ExprAttr part) { return implies(a, part); });
  if (a.getKind() == ExprKind::Or) return llvm::all_of(a.getOperands(), [&](ExprAttr part) { return implies(part, b); });
  if (a.getKind() == ExprKind::And && llvm::any_of(a.getOperands(), [&](ExprAttr part) { return implies(part, b); })) return true;
  if (b.getKind() == ExprKind::Or && llvm::any_of(b.getOperands(), [&](ExprAttr part) { return implies(a, part); })) return true;
  std::optional<Bound> x = boundOf(a), y = boundOf(b);
  if (x && y && x->expr == y->expr && x->isUpper == y->isUpper && (x->isUpper ? x->limit <= y->limit : x->limit >= y->limit)) return true;
  if (b.getKind() == ExprKind::Not && exclude(a, b.getOperands()[0])) return true;
  return false;
}

/// Whether it gives 0 or 1, so that its double negation is the same.
static bool isTruth(ExprAttr condition) {
  switch (condition.getKind()) {
  case ExprKind::Lt:
  case ExprKind::Le:
  case ExprKind::Eq:
  case ExprKind::And:
  case ExprKind::Or:
  case ExprKind::Not: return true;
  default: return false;
  }
}

ExprAttr simplifiedNot(ExprAttr condition) {
  bool undone = condition.getKind() == ExprKind::Not && isTruth(condition.getOperands()[0]);
  return undone ? condition.getOperands()[0] : make(ExprKind::Not, {condition});
}

/// The condition where `known` holds: a constant where that decides it.
static ExprAttr given(ExprAttr known, ExprAttr condition) {
  MLIRContext *context = known.getContext();
  if (implies(known, condition)) return ExprAttr::constant(context, 1);
  if (exclude(known, condition)) return ExprAttr::constant(context, 0);
  if (condition.getKind() == ExprKind::Not) {
    ExprAttr inner = given(known, condition.getOperands()[0]);
    return inner == condition.getOperands()[0] ? condition : ExprAttr::apply(ExprKind::Not, {inner});
  }
  if (condition.getKind() != ExprKind::And && condition.getKind() != ExprKind::Or) return condition;
  Conditions parts = partsOf(condition, condition.getKind());
  for (ExprAttr &part : parts)
    part = given(known, part);
  ExprAttr joined = parts[0];
  for (ExprAttr part : ArrayRef(parts).drop_front())
    joined = ExprAttr::apply(condition.getKind(), {joined, part});
  return joined;
}

/// What two conjunctions share that differ in one part only, which one of them negates: `a and b or a and not b` is `a`.
static std::optional<ExprAttr> merged(ExprAttr a, ExprAttr b) {
  Conditions left = partsOf(a, ExprKind::And), right = partsOf(b, ExprKind::And), shared, own, other;
  for (ExprAttr part : left)
    (llvm::is_contained(right, part) ? shared : own).push_back(part);
  for (ExprAttr part : right)
    if (!llvm::is_contained(left, part)) other.push_back(part);
  if (own.size() != 1 || other.size() != 1 || !areOpposite(own[0], other[0])) return std::nullopt;
  return shared.empty() ? ExprAttr::constant(a.getContext(), 1) : join(ExprKind::And, shared);
}

/// Parts joined by `kind`, each as the others leave it: where they hold for `and`, where they do not for `or`.
static ExprAttr simplified(ExprKind kind, Conditions parts) {
  MLIRContext *context = parts[0].getContext();
  bool isAnd = kind == ExprKind::And;
  for (size_t i = 0; i < parts.size();) {
    ExprAttr part = parts[i];
    for (size_t j = 0; j < parts.size(); ++j)
      if (j != i) part = given(isAnd ? parts[j] : simplifiedNot(parts[j]), part);
    if (part == parts[i]) {
      ++i;
      continue;
    }
    std::optional<int64_t> value = part.getConstant();
    if (value && (*value != 0) != isAnd) return ExprAttr::constant(context, !isAnd);
    parts.erase(parts.begin() + i);
    if (!value) {
      Conditions own = partsOf(part, kind);
      parts.insert(parts.begin() + i, own.begin(), own.end());
    }
    if (parts.empty()) return ExprAttr::constant(context, isAnd);
    i = 0; // what it was may have kept others as they are
  }
  return join(kind, parts);
}

/// Comparisons and what joins them, to a limit.
static unsigned sizeOf(ExprAttr condition, unsigned limit) {
  ExprKind kind = condition.getKind();
  if (kind != ExprKind::And && kind != ExprKind::Or && kind != ExprKind::Not) return 1;
  unsigned size = 1;
  for (ExprAttr operand : condition.getOperands())
    if (size < limit) size += sizeOf(operand, limit - size);
  return size;
}

ExprAttr simplifiedJoin(ExprKind kind, ExprAttr a, ExprAttr b) {
  static constexpr unsigned most = 40; // what compares every part with every other stops there
  if (sizeOf(a, most) + sizeOf(b, most) > most) return make(kind, {a, b});
  Conditions parts = partsOf(a, kind);
  collect(b, kind, parts);
  if (kind == ExprKind::Or)
    for (size_t i = 0; i < parts.size(); ++i)
      for (size_t j = i + 1; j < parts.size(); ++j)
        if (std::optional<ExprAttr> both = merged(parts[i], parts[j])) {
          if (both->getConstant()) return *both;
          parts[i] = *both;
          parts.erase(parts.begin() + j);
          j = i; // with what it is now
        }
  return simplified(kind, std::move(parts));
}

} // namespace intent::block
