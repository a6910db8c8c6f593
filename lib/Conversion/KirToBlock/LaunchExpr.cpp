// Extents of the kernel IR as launch expressions and as names.
#include "Covers.h"

using namespace mlir;
using namespace intent::block;
using intent::kir::ExtentAttr;

namespace intent::conversion {

ExprAttr launchExpr(ExtentAttr extent) {
  MLIRContext *context = extent.getContext();
  ExprAttr sum = ExprAttr::constant(context, 0);
  for (auto [coefficient, monomial] : llvm::zip_equal(extent.getCoefficients(), extent.getMonomials())) {
    ExprAttr product;
    for (Attribute atom : monomial) {
      ExprAttr symbol = ExprAttr::symbol(context, cast<StringAttr>(atom).getValue());
      product = product ? ExprAttr::apply(ExprKind::Mul, {product, symbol}) : symbol;
    }
    int64_t magnitude = coefficient < 0 ? -coefficient : coefficient;
    if (!product) product = ExprAttr::constant(context, magnitude);
    else product = ExprAttr::apply(ExprKind::Mul, {ExprAttr::constant(context, magnitude), product});
    sum = ExprAttr::apply(coefficient < 0 ? ExprKind::Sub : ExprKind::Add, {sum, product});
  }
  return sum;
}

std::string extentName(ExtentAttr extent) {
  std::string text;
  llvm::raw_string_ostream os(text);
  extent.printInline(os);
  llvm::erase(text, '"');
  return text;
}

} // namespace intent::conversion
