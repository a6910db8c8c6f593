// The kernel IR: the author's algorithm, canonical and frozen, with no physical fact in it.
#ifndef INTENT_DIALECT_KIR_IR_KIRBASE_TD
#define INTENT_DIALECT_KIR_IR_KIRBASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "intent/IR/Language.td"

def Kir_Dialect : Dialect {
  let name = "kir";
  let cppNamespace = "::intent::kir";
  let summary = "canonical kernel IR: the author's algorithm, no physical fact";
  let description = [{
    One `kir.kernel` is one logical computation. Tensors are immutable SSA values whose type carries an
    element type and one *extent* per axis; an extent is a polynomial in normal form over named atoms, so
    that two extents are equal exactly when their attributes are. Signed integers are signless `iN`,
    unsigned ones `uiN`, `bool` is `i1`, `index` is 64-bit logical arithmetic. Tuples and records are
    products that the frontend takes apart: KIR has only scalars, tensors, views and domains.

    Every element-wise operation is total: `x // 0`, `x % 0` and shifts past the width have the values
    that the numerics contract gives.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
}

class Kir_Op<string m, list<Trait> traits = []> : Op<Kir_Dialect, m, traits>;
class Kir_Type<string name, string m> : TypeDef<Kir_Dialect, name> { let mnemonic = m; }
def Kir_ExtentAttr : AttrDef<Kir_Dialect, "Extent"> {
  let mnemonic = "extent";
  let summary = "an axis length: a polynomial in normal form over named atoms";
  let description = [{
    Atoms are view symbols (`"M"`), integer scalar parameters (`"%H"`) and values named by `kir.symbol`
    (`"?0"`). Monomials are sorted products of atoms, terms are sorted by monomial and have non-zero
    coefficients, so attribute equality is equality of extents.

    `["M", 4, "M" * "N" + 3 * "?0" - 1]` prints three extents inside a shape.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$coefficients, ArrayRefParameter<"::mlir::ArrayAttr">:$monomials);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    static ExtentAttr constant(::mlir::MLIRContext *context, int64_t value);
    static ExtentAttr atom(::mlir::MLIRContext *context, ::llvm::StringRef name);
    ExtentAttr operator+(ExtentAttr other) const;
    ExtentAttr operator-(ExtentAttr other) const;
    ExtentAttr operator*(ExtentAttr other) const;
    /// The value of a constant extent.
    std::optional<int64_t> getConstant() const;
    /// The distinct atoms, in order of appearance.
    ::llvm::SmallVector<::mlir::StringAttr> getAtoms() const;
    /// The inline form inside a shape.
    void printInline(::llvm::raw_ostream &os) const;
    static ::mlir::FailureOr<ExtentAttr> parseInline(::mlir::AsmParser &parser);
  }];
}

def Kir_ViewType : Kir_Type<"View", "view"> {
  let summary = "external tensor with symbolic extents";
  let parameters = (ins "::mlir::Type":$element, ArrayRefParameter<"::intent::kir::ExtentAttr">:$shape, "::intent::Access":$access);
  let hasCustomAssemblyFormat = 1;
}
def Kir_TensorType : Kir_Type<"KirTensor", "tensor"> {
  let summary = "immutable value with an element type and extents; rank zero allowed";
  let parameters = (ins "::mlir::Type":$element, ArrayRefParameter<"::intent::kir::ExtentAttr">:$shape);
  let hasCustomAssemblyFormat = 1;
}
def Kir_DomainType : Kir_Type<"Domain", "domain"> {
  let summary = "half-open ordered coordinate set with so many members";
  let parameters = (ins "::intent::kir::ExtentAttr":$extent);
  let hasCustomAssemblyFormat = 1;
}

def Kir_Value : AnyTypeOf<[Kir_TensorType, Intent_Scalar], "a tensor or scalar">;
def Kir_IndexItem : AnyTypeOf<[Kir_DomainType, Kir_TensorType, Intent_Scalar], "an index: a scalar, a domain or an integer tensor">;

#endif
