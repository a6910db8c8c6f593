#ifndef INTENT_DIALECT_BLOCK_IR_BLOCKENUMS_TD
#define INTENT_DIALECT_BLOCK_IR_BLOCKENUMS_TD

include "mlir/IR/EnumAttr.td"

class Block_Enum<string name, string what, list<I32EnumAttrCase> cases> : I32EnumAttr<name, what, cases> {
  let cppNamespace = "::intent::block";
}

def Block_ExprKind : Block_Enum<"ExprKind", "operation of a launch or extent expression", [
    I32EnumAttrCase<"Constant", 0, "constant">, I32EnumAttrCase<"Symbol", 1, "symbol">, I32EnumAttrCase<"Parameter", 2, "parameter">,
    I32EnumAttrCase<"Add", 3, "add">, I32EnumAttrCase<"Sub", 4, "sub">, I32EnumAttrCase<"Mul", 5, "mul">,
    I32EnumAttrCase<"FloorDiv", 6, "floor_div">, I32EnumAttrCase<"CeilDiv", 7, "ceil_div">, I32EnumAttrCase<"Mod", 8, "mod">,
    I32EnumAttrCase<"Min", 9, "min">, I32EnumAttrCase<"Max", 10, "max">, I32EnumAttrCase<"Pow2Ceil", 11, "pow2_ceil">,
    I32EnumAttrCase<"Lt", 12, "lt">, I32EnumAttrCase<"Le", 13, "le">, I32EnumAttrCase<"Eq", 14, "eq">,
    I32EnumAttrCase<"And", 15, "and">, I32EnumAttrCase<"Or", 16, "or">, I32EnumAttrCase<"Not", 17, "not">,
    I32EnumAttrCase<"Select", 18, "select">]>;

def Block_Role : Block_Enum<"Role", "what a parameter sizes", [
    I32EnumAttrCase<"Ownership", 0, "ownership">, I32EnumAttrCase<"Reduction", 1, "reduction">,
    I32EnumAttrCase<"Scan", 2, "scan">, I32EnumAttrCase<"Group", 3, "group">, I32EnumAttrCase<"Workers", 4, "workers">,
    I32EnumAttrCase<"Coverage", 5, "coverage">, I32EnumAttrCase<"Provider", 6, "provider">]>;

def Block_ParameterKind : Block_Enum<"ParameterKind", "value kind of a parameter", [
    I32EnumAttrCase<"Int", 0, "int">, I32EnumAttrCase<"Bool", 1, "bool">, I32EnumAttrCase<"Enum", 2, "enum">]>;

def Block_Overlap : Block_Enum<"Overlap", "which overlap of two views a program bears", [
    I32EnumAttrCase<"Any", 0, "any">, I32EnumAttrCase<"Identical", 1, "identical_or_disjoint">, I32EnumAttrCase<"Disjoint", 2, "disjoint">]>;

def Block_Level : Block_Enum<"Level", "one level of a cover", [
    I32EnumAttrCase<"Program", 0, "program">, I32EnumAttrCase<"Loop", 1, "loop">, I32EnumAttrCase<"Point", 2, "point">,
    I32EnumAttrCase<"Lanes", 3, "lanes">]>;

#endif
