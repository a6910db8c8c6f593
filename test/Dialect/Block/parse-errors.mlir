// RUN: intent-opt %s --split-input-file --verify-diagnostics
// Types, expressions and attributes that are refused while parsing.

// expected-error @below {{C1: expected an element type of the language, got 'i128'}}
module attributes {block.t = !block.fragment<i128, [4]>} {}

// -----

// expected-error @below {{C2: a fragment has rank one or more}}
module attributes {block.t = !block.fragment<f32, []>} {}

// -----

// expected-error @below {{C3: a fragment extent uses a launch symbol: #block.expr<"M">}}
module attributes {block.t = !block.fragment<f32, ["M"]>} {}

// -----

// expected-error @below {{C3: a fragment extent uses a launch symbol: #block.expr<min(BM, "M")>}}
module attributes {block.t = !block.fragment<f32, [min(BM, "M")]>} {}

// -----

// expected-error @below {{C4: extent 0 is not positive}}
module attributes {block.t = !block.fragment<f32, [0]>} {}

// -----

// expected-error @below {{C4: extent -1 is not positive}}
module attributes {block.t = !block.fragment<f32, [sub(2, 3)]>} {}

// -----

// expected-error @below {{unknown function 'twice' in an expression}}
module attributes {block.t = #block.expr<twice("M")>} {}

// -----

// expected-error @below {{unknown function 'constant' in an expression}}
module attributes {block.t = #block.expr<constant("M")>} {}

// -----

// expected-error @below {{'add' takes 2 operands, got 1}}
module attributes {block.t = #block.expr<add("M")>} {}

// -----

// expected-error @below {{'not' takes 1 operands, got 2}}
module attributes {block.t = #block.expr<not("M", "N")>} {}

// -----

// expected-error @below {{'select' takes 3 operands, got 2}}
module attributes {block.t = #block.expr<select(1, "M")>} {}

// -----

// expected-error @below {{integer does not fit 64 bits}}
module attributes {block.t = #block.expr<99999999999999999999>} {}

// -----

// expected-error @below {{expected valid keyword}}
module attributes {block.t = #block.expr<>} {}

// -----

// expected-error @below {{expected valid keyword}}
module attributes {block.t = #block.expr<add("M",)>} {}

// -----

// expected-error @below {{expected ')'}}
module attributes {block.t = #block.expr<add("M" "N")>} {}

// -----

// expected-error @below {{expected ::intent::block::Role to be one of}}
// expected-error @below {{parameter 'role' which is to be}}
module attributes {block.t = #block.parameter<"BM", tile, int domain = []>} {}

// -----

// expected-error @below {{expected ::intent::block::ParameterKind to be one of}}
// expected-error @below {{parameter 'kind' which is to be}}
module attributes {block.t = #block.parameter<"BM", ownership, float domain = []>} {}

// -----

// expected-error @below {{expected ::intent::block::Overlap to be one of}}
// expected-error @below {{parameter 'permission' which is to be}}
module attributes {block.t = #block.overlap<"x", "y", some>} {}
