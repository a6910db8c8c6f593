// The block program: the one executable form that every provider prints or runs.
#ifndef INTENT_DIALECT_BLOCK_IR_BLOCKBASE_TD
#define INTENT_DIALECT_BLOCK_IR_BLOCKBASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "intent/Dialect/Block/IR/BlockEnums.td"
include "intent/IR/Language.td"

def Block_Dialect : Dialect {
  let name = "block";
  let cppNamespace = "::intent::block";
  let summary = "the shared block program with typed physical parameters";
  let description = [{
    A `block.kernel` holds one to three `block.program` variants with disjoint, exhaustive launch guards.
    A program holds execution groups; each instance of a group runs the group's body once. Fragments are
    blocks of elements whose extents are constants or expressions over declared parameters. Control is
    `scf`. Scalars and fragments share the element-wise operations, which are total. There is no layout,
    warp or memory space here.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasCanonicalizer = 1;
}

class Block_Op<string m, list<Trait> traits = []> : Op<Block_Dialect, m, traits>;
class Block_Type<string name, string m> : TypeDef<Block_Dialect, name> { let mnemonic = m; }
class Block_Attr<string name, string m> : AttrDef<Block_Dialect, name> { let mnemonic = m; }

//===- launch and extent expressions -------------------------------------------------------------------===//


def Block_ExprAttr : Block_Attr<"Expr", "expr"> {
  let summary = "integer expression over launch symbols and declared parameters";
  let description = [{
    Printed inline as `128`, `BM` (a declared parameter), `"M"` (a launch symbol: a view extent `"M"`, an
    integer scalar argument `"%H"`), or a function of these: `ceil_div("M", BM)`. `pow2_ceil` is the least power of two
    that is not below its operand (1 for operands below 1). Divisors are positive. Comparisons give 0 or 1.
    The builders fold constants and neutral elements.
  }];
  let parameters = (ins EnumParameter<Block_ExprKind>:$kind, "int64_t":$value, "::mlir::StringAttr":$symbol,
                        ArrayRefParameter<"::intent::block::ExprAttr">:$operands);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    static ExprAttr constant(::mlir::MLIRContext *context, int64_t value);
    static ExprAttr symbol(::mlir::MLIRContext *context, ::llvm::StringRef name);
    static ExprAttr parameter(::mlir::MLIRContext *context, ::llvm::StringRef name);
    /// A folded application of `kind` to operands.
    static ExprAttr apply(ExprKind kind, ::llvm::ArrayRef<ExprAttr> operands);
    std::optional<int64_t> getConstant() const;
    /// Calls `visit` on this and every sub-expression.
    void walkExpr(::llvm::function_ref<void(ExprAttr)> visit) const;
    /// The value with every leaf looked up by `leaf`; nullopt if a leaf has none or a divisor is not positive.
    std::optional<int64_t> evaluate(::llvm::function_ref<std::optional<int64_t>(ExprAttr)> leaf) const;
    /// This expression with each leaf replaced where `leaf` gives one, folded again.
    ExprAttr substitute(::llvm::function_ref<ExprAttr(ExprAttr)> leaf) const;
    /// The inline form.
    void printInline(::llvm::raw_ostream &os) const;
    static ::mlir::FailureOr<ExprAttr> parseInline(::mlir::AsmParser &parser);
  }];
}

//===- parameters and configurations -------------------------------------------------------------------===//


def Block_ParameterAttr : Block_Attr<"Parameter", "parameter"> {
  let summary = "a typed physical parameter of a program";
  let description = [{
    `#block.parameter<"BM", ownership, int domain = [1, 2, 4, 8] column = "ownership_m">` takes its value
    from the named column of a table row, projected into the domain. A `coverage` parameter has no column:
    `#block.parameter<"CN", coverage, int domain = [] binding = <pow2_ceil("N")>>` is bound by that launch
    expression at specialisation. A domain lists the legal values in ascending order. `affects` names what
    consumes it (`extent`, `loop`, `grid`, `launch`), `need` a target feature that its use requires (empty
    for none).
  }];
  let parameters = (ins "::mlir::StringAttr":$symbol, EnumParameter<Block_Role>:$role, EnumParameter<Block_ParameterKind>:$kind,
                        OptionalArrayRefParameter<"int64_t">:$domain, OptionalParameter<"::mlir::StringAttr">:$column,
                        OptionalParameter<"::intent::block::ExprAttr">:$binding,
                        OptionalParameter<"::mlir::ArrayAttr">:$affects, OptionalParameter<"::mlir::StringAttr">:$need);
  let assemblyFormat = "`<` $symbol `,` $role `,` $kind `domain` `=` custom<IntegerList>($domain) (`column` `=` $column^)? (`binding` `=` $binding^)? (`affects` `=` $affects^)? (`need` `=` $need^)? `>`";
}
def Block_ConfigurationSetAttr : Block_Attr<"ConfigurationSet", "configurations"> {
  let summary = "complete correlated rows over declared parameters";
  let description = "`#block.configurations<[\"BM\", \"BN\", \"NUM_WARPS\"], [array<i64: 1, 4096, 8>]>`: each row binds every column.";
  let parameters = (ins "::mlir::ArrayAttr":$columns, "::mlir::ArrayAttr":$rows);
  let assemblyFormat = "`<` $columns `,` $rows `>`";
}

//===- assignment --------------------------------------------------------------------------------------===//

def Block_CoverAttr : Block_Attr<"Cover", "cover"> {
  let summary = "how a group covers one class of axes: levels, outer to inner, whose product is the domain";
  let description = [{
    `#block.cover<"N" = loop, lanes of <BN>>`: the class of axes of extent N is walked in chunks of BN lanes. A group
    records one per class; construction has carried it out.
  }];
  let parameters = (ins "::mlir::StringAttr":$axis, ArrayRefParameter<"::intent::block::Level">:$levels, OptionalParameter<"::intent::block::ExprAttr">:$lanes);
  let assemblyFormat = "`<` $axis `=` $levels (`of` $lanes^)? `>`";
}

//===- interface ---------------------------------------------------------------------------------------===//

def Block_ViewArgumentAttr : Block_Attr<"ViewArgument", "view_argument"> {
  let summary = "a public view parameter: name, element, extents as launch expressions, access, constraints";
  let description = [{
    `strides` is empty or has one item per axis: an integer, a symbol string, or unit for unconstrained.
    `alias` is the group name or empty.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "::mlir::Type":$element, OptionalArrayRefParameter<"::intent::block::ExprAttr">:$shape,
                        EnumParameter<Intent_Access>:$access, DefaultValuedParameter<"bool", "false">:$noalias, OptionalParameter<"::mlir::StringAttr">:$alias,
                        OptionalParameter<"::mlir::ArrayAttr">:$strides);
  let assemblyFormat = "`<` $name `,` $element `,` custom<ExprList>($shape) `,` $access (`noalias` `=` $noalias^)? (`alias` `=` $alias^)? (`strides` `=` $strides^)? `>`";
}
def Block_ScalarArgumentAttr : Block_Attr<"ScalarArgument", "scalar_argument"> {
  let summary = "a public scalar parameter";
  let parameters = (ins "::mlir::StringAttr":$name, "::mlir::Type":$element);
  let assemblyFormat = "`<` $name `,` $element `>`";
}
def Block_WorkspaceAttr : Block_Attr<"Workspace", "workspace"> {
  let summary = "private memory of one launch: name, element, extents; dense, row-major";
  let description = [{
    `#block.workspace<"done", f32, ["N", "R"]>`: undefined at entry, or `zeroed`: zero at allocation and left zero by every
    launch. One launch in flight owns it. Extents use launch symbols and declared parameters.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "::mlir::Type":$element, OptionalArrayRefParameter<"::intent::block::ExprAttr">:$shape,
                        DefaultValuedParameter<"bool", "false">:$zeroed);
  let assemblyFormat = "`<` $name `,` $element `,` custom<ExprList>($shape) (`zeroed` `=` $zeroed^)? `>`";
}
def Block_CheckAttr : Block_Attr<"Check", "check"> {
  let summary = "a condition on launch-visible values that every call must satisfy";
  let parameters = (ins "::intent::block::ExprAttr":$condition, "::mlir::StringAttr":$message);
  let assemblyFormat = "`<` $condition `,` $message `>`";
}
def Block_OverlapAttr : Block_Attr<"OverlapPermission", "overlap"> {
  let summary = "the overlap that one pair of view parameters may have, checked at each call";
  let parameters = (ins "::mlir::StringAttr":$lhs, "::mlir::StringAttr":$rhs, EnumParameter<Block_Overlap>:$permission);
  let assemblyFormat = "`<` $lhs `,` $rhs `,` $permission `>`";
}

//===- checked code --------------------------------------------------------------------------------------===//

def Block_WalkAttr : Block_Attr<"Walk", "walk"> {
  let summary = "a loop of the author around an access, in checked code";
  let description = [{
    `#block.walk<7 unordered = true, [3, 4]>`: loop 7 of the kernel is an `I.parallel` over two domains, whose coordinates `block.walk` tells
    for the numbers 3 and 4. An access lists the loops around it, outer to inner, in `block.walks`; those around the
    making of a buffer that it touches are not among them.
  }];
  let parameters = (ins "int64_t":$loop, DefaultValuedParameter<"bool", "false">:$unordered, ArrayRefParameter<"int64_t">:$numbers);
  let assemblyFormat = "`<` $loop (`unordered` `=` $unordered^)? `,` `[` $numbers `]` `>`";
}

//===- target ------------------------------------------------------------------------------------------===//

def Block_TargetAttr : Block_Attr<"Target", "target"> {
  let summary = "the compilation target: provider, architecture and typed features";
  let description = "`#block.target<\"triton\", \"sm_90\", {fragment_elements = 65536 : i64}>` on the module, so that every stage replays from text. Passes ask features, never names.";
  let parameters = (ins "::mlir::StringAttr":$provider, "::mlir::StringAttr":$arch, "::mlir::DictionaryAttr":$features);
  let assemblyFormat = "`<` $provider `,` $arch `,` $features `>`";
}

//===- types -------------------------------------------------------------------------------------------===//

def Block_FragmentType : Block_Type<"Fragment", "fragment"> {
  let summary = "a block of elements; each extent a constant or an expression of declared parameters";
  let description = "`!block.fragment<f16, [BM, 64]>`. Rank is at least one: a scalar is not a fragment.";
  let parameters = (ins "::mlir::Type":$element, ArrayRefParameter<"::intent::block::ExprAttr">:$extents);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}
def Block_ViewType : Block_Type<"View", "view"> {
  let summary = "a tensor in memory: element type and rank; extents and strides belong to the interface or the workspace";
  let parameters = (ins "::mlir::Type":$element, "int64_t":$rank);
  let assemblyFormat = "`<` $element `,` $rank `>`";
}

def Block_Value : AnyTypeOf<[Block_FragmentType, Intent_Scalar], "a fragment or scalar">;

#endif
