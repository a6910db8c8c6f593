#ifndef INTENT_DIALECT_BLOCK_IR_BLOCKOPS_TD
#define INTENT_DIALECT_BLOCK_IR_BLOCKOPS_TD

include "intent/Dialect/Block/IR/BlockBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===- program structure -------------------------------------------------------------------------------===//

def Block_KernelOp : Block_Op<"kernel", [IsolatedFromAbove, Symbol, SymbolTable, NoTerminator, SingleBlock]> {
  let summary = "the public interface and the variants that implement it";
  let description = [{
    `interface` lists `#block.view_argument` and `#block.scalar_argument` in author order; `checks` and
    `overlaps` are verified at each call.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, ArrayAttr:$interface, TypedArrayAttrBase<Block_CheckAttr, "checks">:$checks,
                       TypedArrayAttrBase<Block_OverlapAttr, "overlaps">:$overlaps);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `interface` $interface `checks` $checks `overlaps` $overlaps custom<OpenBody>($body) attr-dict";
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}
def Block_ProgramOp : Block_Op<"program", [IsolatedFromAbove, Symbol, NoTerminator, SingleBlock, HasParent<"KernelOp">]> {
  let summary = "one complete executable program for the launches that its guard admits";
  let description = [{
    Block arguments: the public parameters in author order (views as `!block.view`, scalars as their type),
    then one `index` per entry of `privates`: the value of that launch expression at the call, then one
    `!block.view` per entry of `workspaces`. Only
    constants and `block.group` stand in the body. `guard` absent admits every launch.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<Block_ExprAttr>:$guard, TypedArrayAttrBase<Block_ExprAttr, "launch expressions">:$privates,
                       OptionalAttr<TypedArrayAttrBase<Block_WorkspaceAttr, "workspaces">>:$workspaces,
                       TypedArrayAttrBase<Block_ParameterAttr, "parameters">:$parameters,
                       OptionalAttr<Block_ConfigurationSetAttr>:$configurations, OptionalAttr<StrAttr>:$family);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The declared parameter of that symbol, or null.
    ParameterAttr lookupParameter(::llvm::StringRef symbol);
    /// The interface entry (view_argument or scalar_argument) of public argument `i`.
    ::mlir::Attribute getInterfaceOf(unsigned i);
    unsigned getNumPublicArguments();
  }];
  let hasVerifier = 1;
}
def Block_GroupOp : Block_Op<"group", [NoTerminator, SingleBlock, HasParent<"ProgramOp">]> {
  let summary = "one execution group: a segment of the linear program space with one body";
  let description = [{
    ```
    block.group size(mul(ceil_div("M", BM), ceil_div("N", BN))) {
    ^bb0(%p: index):
    ```
    `%p` counts the group's instances from 0 below `size`; further coordinates are decoded explicitly.
    Segments follow each other in the order of the groups. `covers` records the assignment that formed the
    body, one per class of axes.
  }];
  let arguments = (ins Block_ExprAttr:$size, OptionalAttr<TypedArrayAttrBase<Block_CoverAttr, "covers">>:$covers);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`size` `` `(` custom<Expr>($size) `)` (`covers` $covers^)? custom<OpenBody>($body) attr-dict";
  let hasRegionVerifier = 1;
}
def Block_YieldOp : Block_Op<"yield", [Pure, Terminator]> {
  let summary = "values leaving a combine region";
  let arguments = (ins Variadic<Intent_Scalar>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{ /* no values */ }]>];
}
def Block_ParamOp : Block_Op<"param", [Pure]> {
  let summary = "the value of an expression over declared parameters";
  let arguments = (ins Block_ExprAttr:$value);
  let results = (outs Index:$result);
  let assemblyFormat = "custom<Expr>($value) attr-dict";
}

//===- coordinates and accesses ------------------------------------------------------------------------===//

def Block_LanesOp : Block_Op<"lanes", [Pure]> {
  let summary = "coordinates of a fragment axis: base + step * (0, 1, ...)";
  let description = "`%m = block.lanes %base step %one : !block.fragment<index, [BM]>`. Rank one.";
  let arguments = (ins Index:$base, Index:$step);
  let results = (outs Block_FragmentType:$result);
  let assemblyFormat = "$base `step` $step attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def Block_LoadOp : Block_Op<"load", [AttrSizedOperandSegments, Intent_SingleOperands<[0, 3]>, MemoryEffects<[MemRead]>]> {
  let summary = "elements of a view at coordinates, fill where not valid";
  let description = [{
    ```
    %x = block.load %X[%m, %n] valid(%vm, %vn) fill %zero coordinate_axes [[0], [1]] valid_axes [[0], [1]]
         : !block.view<f16, 2>, (coordinate types) valid (validity types) -> !block.fragment<f16, [BM, BN]>
    ```
    One coordinate per view axis, each a scalar or a fragment of `index`. Axis j of coordinate i lies on
    result axis `coordinate_axes[i][j]` and has its extent; the same for the `i1` validity operands, whose
    conjunction is the active set. Inactive lanes touch no memory. No validity operands: all lanes are active. The result is
    a scalar if all coordinates are.
  }];
  let arguments = (ins Block_ViewType:$view, Variadic<Block_Value>:$coordinates, Variadic<Block_Value>:$validity, Intent_Scalar:$fill,
                       ArrayAttr:$coordinate_axes, ArrayAttr:$valid_axes);
  let results = (outs Block_Value:$result);
  let assemblyFormat = "$view `[` ($coordinates^)? `]` `valid` `(` ($validity^)? `)` `fill` $fill `coordinate_axes` $coordinate_axes `valid_axes` $valid_axes attr-dict `:` type($view) `,` custom<TypeTuple>(type($coordinates)) `valid` custom<TypeTuple>(type($validity)) `fill` type($fill) `->` type($result)";
  let hasVerifier = 1;
}
def Block_StoreOp : Block_Op<"store", [AttrSizedOperandSegments, Intent_SingleOperands<[0, 1]>, MemoryEffects<[MemWrite]>]> {
  let summary = "stores the active lanes of a value; operands as in block.load";
  let arguments = (ins Block_Value:$value, Block_ViewType:$view, Variadic<Block_Value>:$coordinates, Variadic<Block_Value>:$validity,
                       ArrayAttr:$coordinate_axes, ArrayAttr:$valid_axes);
  let assemblyFormat = "$value `to` $view `[` ($coordinates^)? `]` `valid` `(` ($validity^)? `)` `coordinate_axes` $coordinate_axes `valid_axes` $valid_axes attr-dict `:` type($value) `,` type($view) `,` custom<TypeTuple>(type($coordinates)) `valid` custom<TypeTuple>(type($validity))";
  let hasVerifier = 1;
}
def Block_ScatterReduceOp : Block_Op<"scatter_reduce", [AttrSizedOperandSegments, Intent_SingleOperands<[0, 1]>, SingleBlockImplicitTerminator<"YieldOp">, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "combines the active lanes into their elements, each atomically; operands as in block.store";
  let description = "The region is associative and commutative: what the element holds, then the lane's value. Lanes may collide.";
  let arguments = (ins Block_Value:$value, Block_ViewType:$view, Variadic<Block_Value>:$coordinates, Variadic<Block_Value>:$validity,
                       ArrayAttr:$coordinate_axes, ArrayAttr:$valid_axes);
  let regions = (region SizedRegion<1>:$combine);
  let assemblyFormat = "$value `to` $view `[` ($coordinates^)? `]` `valid` `(` ($validity^)? `)` `coordinate_axes` $coordinate_axes `valid_axes` $valid_axes custom<Body>($combine) attr-dict `:` type($value) `,` type($view) `,` custom<TypeTuple>(type($coordinates)) `valid` custom<TypeTuple>(type($validity))";
  let hasVerifier = 1;
}
def Block_AtomicOp : Block_Op<"atomic", [AttrSizedOperandSegments, Intent_SingleOperands<[0, 1]>, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "atomic access of the active lanes' elements; the result is what each held before, anything on inactive lanes";
  let description = [{
    Operands as in `block.store`; `load` ignores `value`, which then only gives the shape. The logical sharing domain is
    all instances of the launch. Each active lane acts exactly once.
  }];
  let arguments = (ins Intent_AtomicKind:$kind, Intent_MemoryOrder:$order, Block_Value:$value, Block_ViewType:$view,
                       Variadic<Block_Value>:$coordinates, Variadic<Block_Value>:$validity, ArrayAttr:$coordinate_axes, ArrayAttr:$valid_axes);
  let results = (outs Block_Value:$old);
  let assemblyFormat = "$kind $order $value `to` $view `[` ($coordinates^)? `]` `valid` `(` ($validity^)? `)` `coordinate_axes` $coordinate_axes `valid_axes` $valid_axes attr-dict `:` type($value) `,` type($view) `,` custom<TypeTuple>(type($coordinates)) `valid` custom<TypeTuple>(type($validity)) `->` type($old)";
  let hasVerifier = 1;
}
def Block_CompareExchangeOp : Block_Op<"compare_exchange", [AttrSizedOperandSegments, Intent_SingleOperands<[0, 1, 2]>, AllTypesMatch<["expected", "desired", "old"]>, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "stores `desired` in the active lanes' elements that hold the bits of `expected`; gives what each held";
  let arguments = (ins Intent_MemoryOrder:$order, Block_Value:$expected, Block_Value:$desired, Block_ViewType:$view,
                       Variadic<Block_Value>:$coordinates, Variadic<Block_Value>:$validity, ArrayAttr:$coordinate_axes, ArrayAttr:$valid_axes);
  let results = (outs Block_Value:$old);
  let assemblyFormat = "$order $expected `,` $desired `to` $view `[` ($coordinates^)? `]` `valid` `(` ($validity^)? `)` `coordinate_axes` $coordinate_axes `valid_axes` $valid_axes attr-dict `:` type($expected) `,` type($view) `,` custom<TypeTuple>(type($coordinates)) `valid` custom<TypeTuple>(type($validity))";
  let hasVerifier = 1;
}
def Block_FenceOp : Block_Op<"fence", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "orders this instance's accesses before it and after it, over all lanes; only in uniform control";
  let assemblyFormat = "attr-dict";
}
def Block_RequireOp : Block_Op<"require", [AllTypesMatch<["value", "low", "high"]>]> {
  let summary = "in checked code: the active lanes of a value lie in [low, high), or the program has the author's error that `what` names";
  let description = "Validity as in block.load. The largest index as `high` stands for no bound.";
  let arguments = (ins Block_Value:$value, Block_Value:$low, Block_Value:$high, Variadic<Block_Value>:$validity, StrAttr:$what, ArrayAttr:$valid_axes);
  let assemblyFormat = "$value `in` $low `to` $high $what `valid` `(` ($validity^)? `)` `valid_axes` $valid_axes attr-dict `:` type($value) `valid` custom<TypeTuple>(type($validity))";
  let hasVerifier = 1;
}
def Block_WalkOp : Block_Op<"walk"> {
  let summary = "in checked code: the instance is now at a position of one of the author's loops";
  let description = [{
    `block.walk 3 at %p`: accesses whose `block.walks` name number 3 belong to the iteration with that coordinate, until this
    operation is executed again. Without a coordinate each execution begins another pass.
  }];
  let arguments = (ins I64Attr:$number, Optional<Index>:$position);
  let assemblyFormat = "$number (`at` $position^)? attr-dict";
}

//===- element-wise values -----------------------------------------------------------------------------===//

def Block_ConstantOp : Block_Op<"constant", [Pure, ConstantLike]> {
  let summary = "a scalar constant";
  let arguments = (ins TypedAttrInterface:$value);
  let results = (outs Intent_Scalar:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def Block_UnaryOp : Block_Op<"unary", [Pure, SameOperandsAndResultType]> {
  let summary = "element-wise function of one operand";
  let arguments = (ins Intent_UnaryKind:$kind, Block_Value:$value, UnitAttr:$approximate, UnitAttr:$flush_to_zero);
  let results = (outs Block_Value:$result);
  let assemblyFormat = "$kind $value (`approximate` $approximate^)? (`ftz` $flush_to_zero^)? attr-dict `:` type($value)";
  let hasVerifier = 1;
}
def Block_BinaryOp : Block_Op<"binary", [Pure, SameOperandsAndResultType]> {
  let summary = "element-wise function of two operands of one type";
  let arguments = (ins Intent_BinaryKind:$kind, Block_Value:$lhs, Block_Value:$rhs, UnitAttr:$approximate, UnitAttr:$flush_to_zero);
  let results = (outs Block_Value:$result);
  let assemblyFormat = "$kind $lhs `,` $rhs (`approximate` $approximate^)? (`ftz` $flush_to_zero^)? attr-dict `:` type($lhs)";
  let hasFolder = 1;
  let hasVerifier = 1;
}
def Block_CompareOp : Block_Op<"compare", [Pure, SameTypeOperands]> {
  let summary = "element-wise comparison";
  let arguments = (ins Intent_ComparePredicate:$predicate, Block_Value:$lhs, Block_Value:$rhs);
  let results = (outs Block_Value:$result);
  let assemblyFormat = "$predicate $lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}
def Block_FmaOp : Block_Op<"fma", [Pure, SameOperandsAndResultType]> {
  let summary = "a * b + c rounded once";
  let arguments = (ins Block_Value:$a, Block_Value:$b, Block_Value:$c);
  let results = (outs Block_Value:$result);
  let assemblyFormat = "$a `,` $b `,` $c attr-dict `:` type($a)";
  let hasVerifier = 1;
}
def Block_SelectOp : Block_Op<"select", [Pure, AllTypesMatch<["trueValue", "falseValue", "result"]>]> {
  let summary = "element-wise choice; condition is a scalar or has the result's extents";
  let arguments = (ins Block_Value:$condition, Block_Value:$trueValue, Block_Value:$falseValue);
  let results = (outs Block_Value:$result);
  let assemblyFormat = "$condition `,` $trueValue `,` $falseValue attr-dict `:` type($condition) `,` type($result)";
  let hasVerifier = 1;
}
def Block_CastOp : Block_Op<"cast", [Pure]> {
  let summary = "conversion between element types, extents kept";
  let arguments = (ins Block_Value:$value);
  let results = (outs Block_Value:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `to` type($result)";
  let hasVerifier = 1;
}
def Block_BitcastOp : Block_Op<"bitcast", [Pure]> {
  let summary = "same bits, another element type of equal width";
  let arguments = (ins Block_Value:$value);
  let results = (outs Block_Value:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `to` type($result)";
  let hasVerifier = 1;
}

//===- fragment shape ----------------------------------------------------------------------------------===//

def Block_BroadcastOp : Block_Op<"broadcast", [Pure]> {
  let summary = "operand axis i becomes result axis axes[i]; the others repeat; a scalar has []";
  let arguments = (ins Block_Value:$value, DenseI64ArrayAttr:$axes);
  let results = (outs Block_FragmentType:$result);
  let assemblyFormat = "$value $axes attr-dict `:` type($value) `to` type($result)";
  let hasVerifier = 1;
}
def Block_TransposeOp : Block_Op<"transpose", [Pure]> {
  let summary = "result axis i is operand axis permutation[i]";
  let arguments = (ins Block_FragmentType:$value, DenseI64ArrayAttr:$permutation);
  let results = (outs Block_FragmentType:$result);
  let assemblyFormat = "$value $permutation attr-dict `:` type($value) `to` type($result)";
  let hasVerifier = 1;
}

//===- structured operations ---------------------------------------------------------------------------===//

def Block_ReduceOp : Block_Op<"reduce", [Pure, AttrSizedOperandSegments, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "associative, commutative reduction of fragments over one axis";
  let description = [{
    ```
    %r = block.reduce(%x) identity(%zero) axis 1 {
    ^bb0(%a: f32, %b: f32):
      %t = block.binary add %a, %b : f32
      block.yield %t : f32
    } : (!block.fragment<f32, [BM, BN]>) -> (!block.fragment<f32, [BM]>) identities (f32)
    ```
    Lanes outside the logical range already hold the identity. Order and grouping are free. The result of
    a rank-one operand is a scalar.
  }];
  let arguments = (ins Variadic<Block_FragmentType>:$values, Variadic<Intent_Scalar>:$identities, I64Attr:$axis);
  let results = (outs Variadic<Block_Value>:$results);
  let regions = (region SizedRegion<1>:$combine);
  let assemblyFormat = "`(` $values `)` `identity` `(` $identities `)` `axis` $axis custom<Body>($combine) attr-dict `:` `(` type($values) `)` `->` `(` type($results) `)` `identities` `(` type($identities) `)`";
  let hasVerifier = 1;
}
def Block_ScanOp : Block_Op<"scan", [Pure, AttrSizedOperandSegments, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "inclusive associative scan of fragments along one axis, lane order kept";
  let description = [{
    Operands, identities and region as in `block.reduce`; each result has its operand's type. With `reverse` the scan runs
    from the last lane. The left operand of the region is what came earlier in the scan's direction.
  }];
  let arguments = (ins Variadic<Block_FragmentType>:$values, Variadic<Intent_Scalar>:$identities, I64Attr:$axis, UnitAttr:$reverse);
  let results = (outs Variadic<Block_FragmentType>:$results);
  let regions = (region SizedRegion<1>:$combine);
  let assemblyFormat = "`(` $values `)` `identity` `(` $identities `)` `axis` $axis (`reverse` $reverse^)? custom<Body>($combine) attr-dict `:` `(` type($values) `)` `identities` `(` type($identities) `)` `->` `(` type($results) `)`";
  let hasVerifier = 1;
}
def Block_PickOp : Block_Op<"pick", [Pure]> {
  let summary = "the elements of one lane of an axis: the only element extraction";
  let description = "`%t = block.pick %x at %lane axis 1 : !block.fragment<f32, [BM, BN]> -> !block.fragment<f32, [BM]>`; 0 <= lane < extent.";
  let arguments = (ins Block_FragmentType:$value, Index:$lane, I64Attr:$axis);
  let results = (outs Block_Value:$result);
  let assemblyFormat = "$value `at` $lane `axis` $axis attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}
def Block_ContractOp : Block_Op<"contract", [Pure, AllTypesMatch<["accumulator", "result"]>]> {
  let summary = "accumulator + lhs x rhs over the inner axis";
  let description = [{
    `lhs [(B,) M, K]`, `rhs [(B,) K, N]`, accumulator and result `[(B,) M, N]` in the accumulation type;
    products are exact, sums in that type, order free. Lanes of K outside the logical range hold zero in
    both operands. No precision below the operands' own.
  }];
  let arguments = (ins Block_FragmentType:$lhs, Block_FragmentType:$rhs, Block_FragmentType:$accumulator);
  let results = (outs Block_FragmentType:$result);
  let assemblyFormat = "$lhs `,` $rhs `,` $accumulator attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let hasVerifier = 1;
}

#endif
