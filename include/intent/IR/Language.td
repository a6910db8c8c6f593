// What kernel IR and block programs share of the language: access directions, element-wise kinds, scalar types.
#ifndef INTENT_IR_LANGUAGE_TD
#define INTENT_IR_LANGUAGE_TD

include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

class Intent_Enum<string name, string what, list<I32EnumAttrCase> cases> : I32EnumAttr<name, what, cases> {
  let cppNamespace = "::intent";
}

def Intent_Access : Intent_Enum<"Access", "direction of a view", [
    I32EnumAttrCase<"In", 0, "in">, I32EnumAttrCase<"Out", 1, "out">, I32EnumAttrCase<"InOut", 2, "inout">]>;

def Intent_UnaryKind : Intent_Enum<"UnaryKind", "element-wise function of one operand", [
    I32EnumAttrCase<"Neg", 0, "neg">, I32EnumAttrCase<"Not", 1, "not">, I32EnumAttrCase<"Abs", 2, "abs">,
    I32EnumAttrCase<"Exp", 3, "exp">, I32EnumAttrCase<"Exp2", 4, "exp2">, I32EnumAttrCase<"Log", 5, "log">,
    I32EnumAttrCase<"Log2", 6, "log2">, I32EnumAttrCase<"Log1p", 7, "log1p">, I32EnumAttrCase<"Sin", 8, "sin">,
    I32EnumAttrCase<"Cos", 9, "cos">, I32EnumAttrCase<"Tan", 10, "tan">, I32EnumAttrCase<"Asin", 11, "asin">,
    I32EnumAttrCase<"Floor", 12, "floor">, I32EnumAttrCase<"Ceil", 13, "ceil">, I32EnumAttrCase<"Erf", 14, "erf">,
    I32EnumAttrCase<"Erfc", 15, "erfc">, I32EnumAttrCase<"Lgamma", 16, "lgamma">, I32EnumAttrCase<"I0", 17, "i0">,
    I32EnumAttrCase<"Rsqrt", 18, "rsqrt">, I32EnumAttrCase<"Sqrt", 19, "sqrt">, I32EnumAttrCase<"Sigmoid", 20, "sigmoid">,
    I32EnumAttrCase<"Tanh", 21, "tanh">]>;

// Shr is arithmetic on signed and logical on unsigned elements; FloorDiv and Mod follow Python.
def Intent_BinaryKind : Intent_Enum<"BinaryKind", "element-wise function of two operands of one type", [
    I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Sub", 1, "sub">, I32EnumAttrCase<"Mul", 2, "mul">,
    I32EnumAttrCase<"Div", 3, "div">, I32EnumAttrCase<"FloorDiv", 4, "floordiv">, I32EnumAttrCase<"Mod", 5, "mod">,
    I32EnumAttrCase<"Pow", 6, "pow">, I32EnumAttrCase<"Maximum", 7, "maximum">, I32EnumAttrCase<"Minimum", 8, "minimum">,
    I32EnumAttrCase<"MaximumNum", 9, "maximum_num">, I32EnumAttrCase<"MinimumNum", 10, "minimum_num">,
    I32EnumAttrCase<"And", 11, "and">, I32EnumAttrCase<"Or", 12, "or">, I32EnumAttrCase<"Xor", 13, "xor">,
    I32EnumAttrCase<"Shl", 14, "shl">, I32EnumAttrCase<"Shr", 15, "shr">]>;

def Intent_ComparePredicate : Intent_Enum<"ComparePredicate", "ordered comparison; ne is true on NaN, the others false", [
    I32EnumAttrCase<"Eq", 0, "eq">, I32EnumAttrCase<"Ne", 1, "ne">, I32EnumAttrCase<"Lt", 2, "lt">,
    I32EnumAttrCase<"Le", 3, "le">, I32EnumAttrCase<"Gt", 4, "gt">, I32EnumAttrCase<"Ge", 5, "ge">]>;

// Load takes no value and Store gives no result; the others give what the element held before.
def Intent_AtomicKind : Intent_Enum<"AtomicKind", "atomic access of one element", [
    I32EnumAttrCase<"Load", 0, "load">, I32EnumAttrCase<"Store", 1, "store">, I32EnumAttrCase<"Exchange", 2, "exchange">,
    I32EnumAttrCase<"Add", 3, "add">, I32EnumAttrCase<"Max", 4, "max">, I32EnumAttrCase<"Min", 5, "min">,
    I32EnumAttrCase<"And", 6, "and">, I32EnumAttrCase<"Or", 7, "or">, I32EnumAttrCase<"Xor", 8, "xor">]>;

def Intent_MemoryOrder : Intent_Enum<"MemoryOrder", "order of an atomic access", [
    I32EnumAttrCase<"Relaxed", 0, "relaxed">, I32EnumAttrCase<"Acquire", 1, "acquire">, I32EnumAttrCase<"Release", 2, "release">,
    I32EnumAttrCase<"AcqRel", 3, "acq_rel">]>;

// Beside AttrSizedOperandSegments: the segments of operands that are one value each. MLIR checks only the sum of all segments.
class Intent_SingleOperands<list<int> segments>
    : ParamNativeOpTrait<"SingleOperands", !interleave(segments, ", ")>, StructuralOpTrait {
  let cppNamespace = "::intent";
}

def Intent_Scalar : Type<CPred<"::intent::isScalarType($_self)">,
    "a scalar: i1, index, i8..i64, ui8..ui64, f8E4M3FN, f8E5M2, f16, bf16, f32 or f64">;

#endif
