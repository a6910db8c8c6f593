// Extents: polynomials in normal form over named atoms.
#include "intent/Dialect/Kir/IR/Kir.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/MapVector.h"
#include <map>

using namespace mlir;
using namespace intent::kir;

namespace {
using Monomial = std::vector<std::string>;
using Terms = std::map<Monomial, int64_t>;

// Products of several atoms before single ones before the constant.
struct Longer {
  bool operator()(const std::pair<Monomial, int64_t> &a, const std::pair<Monomial, int64_t> &b) const {
    if (a.first.size() != b.first.size()) return a.first.size() > b.first.size();
    return a.first < b.first;
  }
};

int64_t wrapping(uint64_t value) { return static_cast<int64_t>(value); }

ExtentAttr build(MLIRContext *context, const Terms &terms) {
  std::vector<std::pair<Monomial, int64_t>> sorted;
  for (const auto &term : terms)
    if (term.second != 0) sorted.push_back(term);
  std::sort(sorted.begin(), sorted.end(), Longer());
  SmallVector<int64_t> coefficients;
  SmallVector<ArrayAttr> monomials;
  for (const auto &[monomial, coefficient] : sorted) {
    SmallVector<Attribute> atoms;
    for (const std::string &atom : monomial)
      atoms.push_back(StringAttr::get(context, atom));
    coefficients.push_back(coefficient);
    monomials.push_back(ArrayAttr::get(context, atoms));
  }
  return ExtentAttr::get(context, coefficients, monomials);
}

Terms termsOf(ExtentAttr extent) {
  Terms terms;
  for (auto [coefficient, monomial] : llvm::zip_equal(extent.getCoefficients(), extent.getMonomials())) {
    Monomial atoms;
    for (Attribute atom : monomial)
      atoms.push_back(cast<StringAttr>(atom).str());
    terms[atoms] = coefficient;
  }
  return terms;
}
} // namespace

ExtentAttr ExtentAttr::constant(MLIRContext *context, int64_t value) { return build(context, {{{}, value}}); }
ExtentAttr ExtentAttr::atom(MLIRContext *context, StringRef name) { return build(context, {{{name.str()}, 1}}); }

ExtentAttr ExtentAttr::operator+(ExtentAttr other) const {
  Terms sum = termsOf(*this);
  for (const auto &[monomial, coefficient] : termsOf(other))
    sum[monomial] = wrapping(static_cast<uint64_t>(sum[monomial]) + static_cast<uint64_t>(coefficient));
  return build(getContext(), sum);
}

ExtentAttr ExtentAttr::operator-(ExtentAttr other) const { return *this + other * constant(getContext(), -1); }

ExtentAttr ExtentAttr::operator*(ExtentAttr other) const {
  Terms product;
  for (const auto &[a, ca] : termsOf(*this))
    for (const auto &[b, cb] : termsOf(other)) {
      Monomial monomial = a;
      monomial.insert(monomial.end(), b.begin(), b.end());
      std::sort(monomial.begin(), monomial.end());
      int64_t &slot = product[monomial];
      slot = wrapping(static_cast<uint64_t>(slot) + static_cast<uint64_t>(ca) * static_cast<uint64_t>(cb));
    }
  return build(getContext(), product);
}

std::optional<int64_t> ExtentAttr::getConstant() const {
  if (getCoefficients().empty()) return 0;
  if (getCoefficients().size() == 1 && getMonomials()[0].empty()) return getCoefficients()[0];
  return std::nullopt;
}

SmallVector<StringAttr> ExtentAttr::getAtoms() const {
  SmallVector<StringAttr> atoms;
  for (ArrayAttr monomial : getMonomials())
    for (Attribute atom : monomial)
      if (!llvm::is_contained(atoms, cast<StringAttr>(atom))) atoms.push_back(cast<StringAttr>(atom));
  return atoms;
}

void ExtentAttr::printInline(raw_ostream &os) const {
  if (getCoefficients().empty()) {
    os << 0;
    return;
  }
  bool first = true;
  for (auto [coefficient, monomial] : llvm::zip_equal(getCoefficients(), getMonomials())) {
    bool negative = coefficient < 0;
    uint64_t magnitude = negative ? 0 - static_cast<uint64_t>(coefficient) : static_cast<uint64_t>(coefficient);
    if (first) os << (negative ? "-" : "");
    else os << (negative ? " - " : " + ");
    first = false;
    if (monomial.empty() || magnitude != 1) os << magnitude << (monomial.empty() ? "" : " * ");
    llvm::interleave(monomial, os, [&](Attribute atom) { os << '"' << cast<StringAttr>(atom).getValue() << '"'; }, " * ");
  }
}

// sum := ['-'] product (('+'|'-') product)*, product := factor ('*' factor)*, factor := integer | string.
FailureOr<ExtentAttr> ExtentAttr::parseInline(AsmParser &parser) {
  MLIRContext *context = parser.getContext();
  auto factor = [&]() -> FailureOr<ExtentAttr> {
    std::string name;
    APInt value;
    if (succeeded(parser.parseOptionalString(&name))) {
      if (name.empty() || name.find_first_of("\"\\\n") != std::string::npos)
        return parser.emitError(parser.getCurrentLocation(), "expected an atom name without quotes");
      return atom(context, name);
    }
    OptionalParseResult integer = parser.parseOptionalInteger(value);
    if (!integer.has_value() || failed(*integer))
      return parser.emitError(parser.getCurrentLocation(), "expected an extent: an integer or an atom string");
    if (value.getSignificantBits() > 64) return parser.emitError(parser.getCurrentLocation(), "extent does not fit 64 bits");
    return constant(context, value.getSExtValue());
  };
  auto product = [&]() -> FailureOr<ExtentAttr> {
    FailureOr<ExtentAttr> result = factor();
    while (succeeded(result) && succeeded(parser.parseOptionalStar())) {
      FailureOr<ExtentAttr> next = factor();
      if (failed(next)) return failure();
      result = *result * *next;
    }
    return result;
  };
  bool negative = succeeded(parser.parseOptionalMinus());
  FailureOr<ExtentAttr> sum = product();
  if (failed(sum)) return failure();
  if (negative) sum = constant(context, 0) - *sum;
  while (true) {
    bool plus = succeeded(parser.parseOptionalPlus());
    if (!plus && failed(parser.parseOptionalMinus())) return sum;
    FailureOr<ExtentAttr> next = product();
    if (failed(next)) return failure();
    sum = plus ? *sum + *next : *sum - *next;
  }
}

Attribute ExtentAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess()) return {};
  FailureOr<ExtentAttr> extent = parseInline(parser);
  if (failed(extent) || parser.parseGreater()) return {};
  return *extent;
}

void ExtentAttr::print(AsmPrinter &p) const {
  p << "<";
  printInline(p.getStream());
  p << ">";
}
