#ifndef INTENT_DIALECT_KIR_IR_KIROPS_TD
#define INTENT_DIALECT_KIR_IR_KIROPS_TD

include "intent/Dialect/Kir/IR/KirBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===- interface ---------------------------------------------------------------------------------------===//

def Kir_KernelOp : Kir_Op<"kernel", [IsolatedFromAbove, FunctionOpInterface]> {
  let summary = "one logical computation: public parameters in author order";
  let description = [{
    Argument attributes: `kir.name` (the author's name, required), and for views `kir.noalias` (unit),
    `kir.alias` (group name), `kir.strides` (array of integer, symbol string or unit for unconstrained).
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    /// The author's name of parameter `i`.
    ::llvm::StringRef getParameterName(unsigned i);
  }];
}
def Kir_ReturnOp : Kir_Op<"return", [Terminator, HasParent<"KernelOp">]> {
  let summary = "end of a kernel";
  let assemblyFormat = "attr-dict";
}
def Kir_YieldOp : Kir_Op<"yield", [Pure, Terminator]> {
  let summary = "values leaving a region";
  let arguments = (ins Variadic<Kir_Value>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{ /* no values */ }]>];
}

//===- extents and domains -----------------------------------------------------------------------------===//

def Kir_SymbolOp : Kir_Op<"symbol"> {
  let summary = "gives a run-time index value a name that extents may use";
  let description = "`kir.symbol \"?0\" = %n`: later extents may name the atom `?0`; its value is `%n`.";
  let arguments = (ins StrAttr:$name, Index:$value);
  let assemblyFormat = "$name `=` $value attr-dict";
}
def Kir_ExtentOp : Kir_Op<"extent", [Pure]> {
  let summary = "the value of an extent";
  let arguments = (ins Kir_ExtentAttr:$extent);
  let results = (outs Index:$result);
  let assemblyFormat = "$extent attr-dict";
}
def Kir_CheckExtentOp : Kir_Op<"check_extent"> {
  let summary = "two extents that could not be proven equal, required equal where this stands";
  let description = "Launch-visible ones are checked at each call; the message names what the author wrote.";
  let arguments = (ins Kir_ExtentAttr:$lhs, Kir_ExtentAttr:$rhs, StrAttr:$message);
  let assemblyFormat = "$lhs `equals` $rhs $message attr-dict";
}
def Kir_RequireOp : Kir_Op<"require"> {
  let summary = "in checked programs: what the author's call needs, each element of a value in [low, high)";
  let description = [{
    `kir.require %b in %begin to %behind "subregion begin" : index`, only where `request.options.check` asks for it. An effect
    without memory: it is asked once for each element where this stands, under the control around it, and a message
    names what the author wrote. With `valid` (i1 of the value's shape) lanes where it is false are not asked about. The largest
    index as `high` stands for no bound.
  }];
  let arguments = (ins Kir_Value:$value, Index:$low, Index:$high, Optional<Kir_Value>:$valid, StrAttr:$what);
  let assemblyFormat = "$value `in` $low `to` $high (`valid` $valid^ `:` type($valid))? $what attr-dict `:` type($value)";
  let hasVerifier = 1;
}
def Kir_DomainOp : Kir_Op<"domain", [Pure]> {
  let summary = "the coordinates start, start + step, ... below stop";
  let arguments = (ins Index:$start, Index:$stop, Index:$step);
  let results = (outs Kir_DomainType:$result);
  let assemblyFormat = "$start `to` $stop `step` $step attr-dict `:` type($result)";
}
def Kir_SubregionOp : Kir_Op<"subregion", [Pure]> {
  let summary = "members of a domain whose coordinates lie in [begin, end); coordinates stay absolute";
  let arguments = (ins Kir_DomainType:$source, Index:$begin, Index:$end);
  let results = (outs Kir_DomainType:$result);
  let assemblyFormat = "$source `[` $begin `:` $end `]` attr-dict `:` type($source) `->` type($result)";
}
def Kir_IndicesOp : Kir_Op<"indices", [Pure]> {
  let summary = "the coordinates of a domain as an index tensor";
  let arguments = (ins Kir_DomainType:$domain);
  let results = (outs Kir_TensorType:$result);
  let assemblyFormat = "$domain attr-dict `:` type($domain) `->` type($result)";
  let hasVerifier = 1;
}

//===- accesses ----------------------------------------------------------------------------------------===//

def Kir_BufferOp : Kir_Op<"buffer", [MemoryEffects<[MemAlloc]>]> {
  let summary = "kernel-local mutable state: one view for each run of this operation, undefined until written";
  let description = [{
    `%b = kir.buffer : !kir.view<f32, ["N", 4], inout>` inside a `kir.parallel` is private to the iteration. An initial
    value is a `kir.write` behind it.
  }];
  let results = (outs Kir_ViewType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def Kir_ReadOp : Kir_Op<"read", [AttrSizedOperandSegments, Intent_SingleOperands<[0]>, MemoryEffects<[MemRead]>]> {
  let summary = "elements of a view selected by one index per view axis";
  let description = [{
    An index is an integer scalar, a domain or an integer tensor. Domains add one result axis each in
    view order; tensors broadcast together (the frontend has made their types equal) and add their joint
    axes once, where the first of them stands. All scalars: the result is a scalar. A lane out of range
    reads a typed zero. With `valid` (i1 of the result's shape) a lane where it is false touches no memory and reads a
    typed zero.
  }];
  let arguments = (ins Kir_ViewType:$view, Variadic<Kir_IndexItem>:$indices, Optional<Kir_Value>:$valid);
  let results = (outs Kir_Value:$result);
  let assemblyFormat = "$view `[` ($indices^ `:` type($indices))? `]` (`valid` $valid^ `:` type($valid))? attr-dict `:` type($view) `->` type($result)";
  let hasVerifier = 1;
}
def Kir_WriteOp : Kir_Op<"write", [MemoryEffects<[MemWrite]>]> {
  let summary = "stores a value of exactly the index result's shape";
  let description = "`unique`: the author promises that no element is stored twice (`I.scatter_unique`).";
  let arguments = (ins Kir_Value:$value, Kir_ViewType:$view, Variadic<Kir_IndexItem>:$indices, UnitAttr:$unique);
  let assemblyFormat = "$value `to` $view `[` ($indices^ `:` type($indices))? `]` (`unique` $unique^)? attr-dict `:` type($value) `,` type($view)";
  let hasVerifier = 1;
}
def Kir_ScatterReduceOp : Kir_Op<"scatter_reduce", [SingleBlockImplicitTerminator<"YieldOp">, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "combines each element of a value into its destination; collisions combine too, in any order";
  let description = "The region is associative and commutative and combines scalars: what the destination holds, then the element.";
  let arguments = (ins Kir_Value:$value, Kir_ViewType:$view, Variadic<Kir_IndexItem>:$indices);
  let regions = (region SizedRegion<1>:$combine);
  let assemblyFormat = "$value `to` $view `[` ($indices^ `:` type($indices))? `]` custom<Body>($combine) attr-dict `:` type($value) `,` type($view)";
  let hasVerifier = 1;
}
def Kir_AtomicOp : Kir_Op<"atomic", [AttrSizedOperandSegments, Intent_SingleOperands<[0]>, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "atomic access of every selected element; the result is what each held before";
  let description = [{
    Indices as in `kir.read`; `value` has the index result's shape and is absent for `load`; `store` has no result. Float
    `max` and `min` follow `maximum_num` and `minimum_num`.
  }];
  let arguments = (ins Intent_AtomicKind:$kind, Intent_MemoryOrder:$order, Kir_ViewType:$view, Variadic<Kir_IndexItem>:$indices, Optional<Kir_Value>:$value);
  let results = (outs Optional<Kir_Value>:$old);
  let assemblyFormat = "$kind $order $view `[` ($indices^ `:` type($indices))? `]` (`value` $value^ `:` type($value))? attr-dict `:` type($view) (`->` type($old)^)?";
  let hasVerifier = 1;
}
def Kir_CompareExchangeOp : Kir_Op<"compare_exchange", [AllTypesMatch<["expected", "desired", "old"]>, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "stores `desired` where the element holds the bits of `expected`; gives what it held and whether it stored";
  let arguments = (ins Intent_MemoryOrder:$order, Kir_ViewType:$view, Variadic<Kir_IndexItem>:$indices, Kir_Value:$expected, Kir_Value:$desired);
  let results = (outs Kir_Value:$old, Kir_Value:$success);
  let assemblyFormat = "$order $view `[` ($indices^ `:` type($indices))? `]` `expected` $expected `desired` $desired attr-dict `:` type($view) `,` type($expected) `->` type($success)";
  let hasVerifier = 1;
}
def Kir_ExtractOp : Kir_Op<"extract", [Pure]> {
  let summary = "elements of a tensor value, indexed as `kir.read` indexes a view, positions from 0";
  let arguments = (ins Kir_TensorType:$source, Variadic<Kir_IndexItem>:$indices);
  let results = (outs Kir_Value:$result);
  let assemblyFormat = "$source `[` ($indices^ `:` type($indices))? `]` attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

//===- values ------------------------------------------------------------------------------------------===//

def Kir_ConstantOp : Kir_Op<"constant", [Pure, ConstantLike]> {
  let summary = "a scalar constant";
  let arguments = (ins TypedAttrInterface:$value);
  let results = (outs Intent_Scalar:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def Kir_UnaryOp : Kir_Op<"unary", [Pure, SameOperandsAndResultType]> {
  let arguments = (ins Intent_UnaryKind:$kind, Kir_Value:$value, UnitAttr:$approximate, UnitAttr:$flush_to_zero);
  let results = (outs Kir_Value:$result);
  let summary = "element-wise function of one operand";
  let assemblyFormat = "$kind $value (`approximate` $approximate^)? (`ftz` $flush_to_zero^)? attr-dict `:` type($value)";
  let hasVerifier = 1;
}
def Kir_BinaryOp : Kir_Op<"binary", [Pure, SameOperandsAndResultType]> {
  let summary = "element-wise function of two operands of one type";
  let description = "`div` is float only; with `approximate` it is `I.fdiv(approximate=True)`.";
  let arguments = (ins Intent_BinaryKind:$kind, Kir_Value:$lhs, Kir_Value:$rhs, UnitAttr:$approximate, UnitAttr:$flush_to_zero);
  let results = (outs Kir_Value:$result);
  let assemblyFormat = "$kind $lhs `,` $rhs (`approximate` $approximate^)? (`ftz` $flush_to_zero^)? attr-dict `:` type($lhs)";
  let hasVerifier = 1;
}
def Kir_CompareOp : Kir_Op<"compare", [Pure, SameTypeOperands]> {
  let summary = "element-wise comparison";
  let arguments = (ins Intent_ComparePredicate:$predicate, Kir_Value:$lhs, Kir_Value:$rhs);
  let results = (outs Kir_Value:$result);
  let assemblyFormat = "$predicate $lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
  let hasVerifier = 1;
}
def Kir_FmaOp : Kir_Op<"fma", [Pure, SameOperandsAndResultType]> {
  let summary = "a * b + c rounded once";
  let arguments = (ins Kir_Value:$a, Kir_Value:$b, Kir_Value:$c);
  let results = (outs Kir_Value:$result);
  let assemblyFormat = "$a `,` $b `,` $c attr-dict `:` type($a)";
}
def Kir_SelectOp : Kir_Op<"select", [Pure, AllTypesMatch<["trueValue", "falseValue", "result"]>]> {
  let summary = "element-wise choice; condition has the result's shape or is a scalar";
  let arguments = (ins Kir_Value:$condition, Kir_Value:$trueValue, Kir_Value:$falseValue);
  let results = (outs Kir_Value:$result);
  let assemblyFormat = "$condition `,` $trueValue `,` $falseValue attr-dict `:` type($condition) `,` type($result)";
  let hasVerifier = 1;
}
def Kir_CastOp : Kir_Op<"cast", [Pure]> {
  let summary = "conversion between element types, shape kept";
  let arguments = (ins Kir_Value:$value);
  let results = (outs Kir_Value:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `to` type($result)";
  let hasVerifier = 1;
}
def Kir_BitcastOp : Kir_Op<"bitcast", [Pure]> {
  let summary = "same bits, another element type of equal width";
  let arguments = (ins Kir_Value:$value);
  let results = (outs Kir_Value:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `to` type($result)";
  let hasVerifier = 1;
}
def Kir_BroadcastOp : Kir_Op<"broadcast", [Pure]> {
  let summary = "operand axis i becomes result axis axes[i]; the others repeat";
  let description = [{
    Operand axes keep their order. An operand axis has its result axis's extent or is constant 1. A scalar
    or rank-zero operand has `[]`: this is also `I.full`, and inserting size-one axes is a broadcast whose
    new extents are 1.
  }];
  let arguments = (ins Kir_Value:$value, DenseI64ArrayAttr:$axes);
  let results = (outs Kir_TensorType:$result);
  let assemblyFormat = "$value $axes attr-dict `:` type($value) `to` type($result)";
  let hasVerifier = 1;
}
def Kir_ReshapeOp : Kir_Op<"reshape", [Pure]> {
  let summary = "same elements in row-major order, another shape";
  let arguments = (ins Kir_TensorType:$value);
  let results = (outs Kir_TensorType:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `to` type($result)";
  let hasVerifier = 1;
}
def Kir_TransposeOp : Kir_Op<"transpose", [Pure]> {
  let summary = "result axis i is operand axis permutation[i]";
  let arguments = (ins Kir_TensorType:$value, DenseI64ArrayAttr:$permutation);
  let results = (outs Kir_TensorType:$result);
  let assemblyFormat = "$value $permutation attr-dict `:` type($value) `to` type($result)";
  let hasVerifier = 1;
}
def Kir_JoinOp : Kir_Op<"join", [Pure, SameTypeOperands]> {
  let summary = "a new trailing axis of 2";
  let arguments = (ins Kir_Value:$lhs, Kir_Value:$rhs);
  let results = (outs Kir_TensorType:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
  let hasVerifier = 1;
}

//===- structured operations ---------------------------------------------------------------------------===//

def Kir_ReduceOp : Kir_Op<"reduce", [RecursiveMemoryEffects, AttrSizedOperandSegments, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "associative and commutative reduction over axes; empty gives the identity";
  let description = [{
    ```
    %m = kir.reduce(%x) identity(%ninf) axes [1] {
    ^bb0(%a: f32, %b: f32):
      %t = kir.binary maximum %a, %b : f32
      kir.yield %t : f32
    } : (!kir.tensor<f32, ["M", "N"]>) -> (!kir.tensor<f32, ["M"]>)
    ```
    All operands have one shape. The region combines scalars: first the left components, then the right.
    A full reduction gives scalars. `keepdims` is a broadcast behind it. `captures` are further values that the region
    takes, one argument each behind the components: scalars, or tensors of the kept axes, which it sees element by
    element. Scalars from around the operation may be used directly.
  }];
  let arguments = (ins Variadic<Kir_TensorType>:$values, Variadic<Intent_Scalar>:$identities, Variadic<Kir_Value>:$captures, DenseI64ArrayAttr:$axes);
  let results = (outs Variadic<Kir_Value>:$results);
  let regions = (region SizedRegion<1>:$combine);
  let assemblyFormat = "`(` $values `)` `identity` `(` $identities `)` (`captures` `(` $captures^ `:` type($captures) `)`)? `axes` $axes custom<Body>($combine) attr-dict `:` `(` type($values) `)` `->` `(` type($results) `)` `identities` `(` type($identities) `)`";
  let hasVerifier = 1;
}
def Kir_ScanOp : Kir_Op<"scan", [RecursiveMemoryEffects, AttrSizedOperandSegments, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "associative prefix combination along one axis, member order kept";
  let description = [{
    Operands, identities and region as in `kir.reduce`; each result has its operand's type. Element i is the combination
    of the elements up to i, with `exclusive` of those before i (the identity first). With `reverse` the scan runs from
    the end; the left operand of the region is what came earlier in the scan's direction.
  }];
  let arguments = (ins Variadic<Kir_TensorType>:$values, Variadic<Intent_Scalar>:$identities, Variadic<Kir_Value>:$captures, I64Attr:$axis, UnitAttr:$exclusive, UnitAttr:$reverse);
  let results = (outs Variadic<Kir_TensorType>:$results);
  let regions = (region SizedRegion<1>:$combine);
  let assemblyFormat = "`(` $values `)` `identity` `(` $identities `)` (`captures` `(` $captures^ `:` type($captures) `)`)? `axis` $axis (`exclusive` $exclusive^)? (`reverse` $reverse^)? custom<Body>($combine) attr-dict `:` `(` type($values) `)` `identities` `(` type($identities) `)` `->` `(` type($results) `)`";
  let hasVerifier = 1;
}
def Kir_RegionFoldOp : Kir_Op<"region_fold", [RecursiveMemoryEffects, AttrSizedOperandSegments, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "list homomorphism over one ordered axis: the source may be cut into any contiguous non-empty slices";
  let description = [{
    ```
    %peak, %mass = kir.region_fold(%x) axis 0 slice "?s0" identity(%ninf, %zero) summarize {
    ^bb0(%part: !kir.tensor<f32, ["?s0"]>):
      ...
      kir.yield %m, %l : f32, f32
    } combine {
    ^bb0(%m1: f32, %l1: f32, %m2: f32, %l2: f32):
      ...
      kir.yield %m, %l : f32, f32
    } : (!kir.tensor<f32, ["N"]>) identities (f32, f32) -> (f32, f32)
    ```
    All sources have one extent along `axis`; a slice has the extent named by `slice` there, which only this operation's
    regions mention. `summarize` gives the components of a slice's summary, `combine` joins two adjacent ones, left
    first. An empty source gives the identity. Regions may use values from around them.

    `step`, which the compiler may add, takes the components so far and a slice. It yields `combine` of these components and the
    slice's summary in a form of its own, then that summary.
  }];
  let arguments = (ins Variadic<Kir_TensorType>:$sources, I64Attr:$axis, StrAttr:$slice, Variadic<Kir_Value>:$identities);
  let results = (outs Variadic<Kir_Value>:$results);
  let regions = (region SizedRegion<1>:$summarize, SizedRegion<1>:$combine, MaxSizedRegion<1>:$step);
  let extraClassDeclaration = [{
    /// The region whose first arguments and results are the components before and after a slice.
    mlir::Region &getNext() { return getStep().empty() ? getCombine() : getStep(); }
    /// The region that summarises a slice: `summarize`, or a step, which yields the summary last.
    mlir::Region &getSummary() { return getStep().empty() ? getSummarize() : getStep(); }
  }];
  let assemblyFormat = "`(` $sources `)` `axis` $axis `slice` $slice `identity` `(` $identities `)` `summarize` custom<Body>($summarize) `combine` custom<Body>($combine) (`step` custom<Body>($step)^)? attr-dict `:` `(` type($sources) `)` `identities` `(` type($identities) `)` `->` `(` type($results) `)`";
  let hasVerifier = 1;
}
def Kir_RegionScanOp : Kir_Op<"region_scan", [RecursiveMemoryEffects, AttrSizedOperandSegments, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "region fold whose summaries act on a state; emits outputs in source order";
  let description = [{
    `summarize(slices)` gives a transition, `combine` joins two adjacent ones, `apply(transition, state)` the next state,
    `emit(slices, state)` the outputs of a slice, whose axis `axis` has the slice's extent. Results: the outputs, with
    the sources' extent there, then the final state. An empty source gives empty outputs and the initial state.
  }];
  let arguments = (ins Variadic<Kir_TensorType>:$sources, I64Attr:$axis, StrAttr:$slice, Variadic<Kir_Value>:$identities, Variadic<Kir_Value>:$states);
  let results = (outs Variadic<Kir_Value>:$results);
  let regions = (region SizedRegion<1>:$summarize, SizedRegion<1>:$combine, SizedRegion<1>:$apply, SizedRegion<1>:$emit);
  let assemblyFormat = "`(` $sources `)` `axis` $axis `slice` $slice `identity` `(` $identities `)` `state` `(` $states `)` `summarize` custom<Body>($summarize) `combine` custom<Body>($combine) `apply` custom<Body>($apply) `emit` custom<Body>($emit) attr-dict `:` `(` type($sources) `)` `identities` `(` type($identities) `)` `states` `(` type($states) `)` `->` `(` type($results) `)`";
  let hasVerifier = 1;
}
def Kir_ContractOp : Kir_Op<"contract", [Pure]> {
  let summary = "multiply-add contraction; products exact, sums in the result's element type";
  let description = [{
    `lhs_reduce[i]` and `rhs_reduce[i]` are contracted together, `lhs_batch[i]` and `rhs_batch[i]` run
    together. Result axes: the left operand's axes that are not reduced, in order (batch axes once), then
    the right operand's free axes. An empty reduction gives zero.
  }];
  let arguments = (ins Kir_TensorType:$lhs, Kir_TensorType:$rhs, DenseI64ArrayAttr:$lhs_reduce, DenseI64ArrayAttr:$rhs_reduce,
                       DenseI64ArrayAttr:$lhs_batch, DenseI64ArrayAttr:$rhs_batch);
  let results = (outs Kir_Value:$result);
  let assemblyFormat = "$lhs `,` $rhs `reduce` $lhs_reduce $rhs_reduce `batch` $lhs_batch $rhs_batch attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let hasVerifier = 1;
}

//===- control -----------------------------------------------------------------------------------------===//

def Kir_ParallelOp : Kir_Op<"parallel", [SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects]> {
  let summary = "unordered forall over the product of domains, each point once";
  let arguments = (ins Variadic<Kir_DomainType>:$domains);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $domains `:` type($domains) `)` custom<Body>($body) attr-dict";
  let hasVerifier = 1;
}
def Kir_ForOp : Kir_Op<"for", [SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects]> {
  let summary = "ordered loop over a domain with carries of fixed type";
  let arguments = (ins Kir_DomainType:$domain, Variadic<Kir_Value>:$inits);
  let results = (outs Variadic<Kir_Value>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$domain (`carry` `(` $inits^ `:` type($inits) `)`)? custom<Body>($body) attr-dict `:` type($domain) (`->` type($results)^)?";
  let hasVerifier = 1;
}
def Kir_WhileOp : Kir_Op<"while", [SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects]> {
  let summary = "ordered loop with carries of fixed type that runs while its condition region yields true";
  let description = [{
    ```
    %n = kir.while carry(%zero : i32) {
    ^bb0(%i: i32):
      ...
      kir.yield %more : i1
    } do {
    ^bb0(%i: i32):
      ...
      kir.yield %next : i32
    } -> i32
    ```
    `for` with `break` is this loop with the coordinate as a carry.
  }];
  let arguments = (ins Variadic<Kir_Value>:$inits);
  let results = (outs Variadic<Kir_Value>:$results);
  let regions = (region SizedRegion<1>:$condition, SizedRegion<1>:$body);
  let assemblyFormat = "(`carry` `(` $inits^ `:` type($inits) `)`)? custom<Body>($condition) `do` custom<Body>($body) attr-dict (`->` type($results)^)?";
  let hasVerifier = 1;
}
def Kir_IfOp : Kir_Op<"if", [SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects]> {
  let summary = "scalar condition; both branches yield the same types";
  let arguments = (ins I1:$condition);
  let results = (outs Variadic<Kir_Value>:$results);
  let regions = (region SizedRegion<1>:$thenRegion, SizedRegion<1>:$elseRegion);
  let assemblyFormat = "$condition custom<Body>($thenRegion) `else` custom<Body>($elseRegion) attr-dict (`->` type($results)^)?";
  let hasVerifier = 1;
}

#endif
