// RUN: intent-opt %s --split-input-file --verify-diagnostics
// Launch arithmetic: what a call knows before any parameter has a value, and symbols that no argument defines.

// expected-error @below {{C5: an extent of 'x' uses parameter BM, which no call knows: #block.expr<BM>}}
block.kernel @k interface [#block.view_argument<"x", f32, [BM], in>] checks [] overlaps [] {
  block.program @p privates [] parameters [#block.parameter<"BM", ownership, int domain = [1]>] (%x: !block.view<f32, 1>) {}
}

// -----

// expected-error @below {{C5: a check uses parameter BM, which no call knows: #block.expr<le("M", BM)>}}
block.kernel @k interface [#block.view_argument<"x", f32, ["M"], in>] checks [#block.check<#block.expr<le("M", BM)>, "m">] overlaps [] {
  block.program @p privates [] parameters [#block.parameter<"BM", ownership, int domain = [1]>] (%x: !block.view<f32, 1>) {}
}

// -----

// expected-error @below {{C6: an extent of 'x' uses launch symbol "N", which the interface does not define: #block.expr<add("N", 1)>}}
block.kernel @k interface [#block.view_argument<"x", f32, ["M", add("N", 1)], in>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 2>) {}
}

// -----

// A float scalar is no launch symbol.
// expected-error @below {{C6: a check uses launch symbol "%s", which the interface does not define: #block.expr<le("%s", 1)>}}
block.kernel @k interface [#block.scalar_argument<"s", f32>] checks [#block.check<#block.expr<le("%s", 1)>, "m">] overlaps [] {
  block.program @p privates [] parameters [] (%s: f32) {}
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], in>] checks [] overlaps [] {
  // expected-error @below {{C12: the guard uses parameter BM, which has no value yet: #block.expr<le("M", BM)>}}
  block.program @p guard(le("M", BM)) privates [] parameters [#block.parameter<"BM", ownership, int domain = [1]>] (%x: !block.view<f32, 1>) {}
}

// -----

// A parameter that is not declared has no value either.
block.kernel @k interface [#block.view_argument<"x", f32, ["M"], in>] checks [] overlaps [] {
  // expected-error @below {{C12: the guard uses parameter BM, which has no value yet}}
  block.program @p guard(le("M", BM)) privates [] parameters [] (%x: !block.view<f32, 1>) {}
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], in>] checks [] overlaps [] {
  // expected-error @below {{C9: parameter 'BM' is not declared by the program}}
  block.program @p privates ["M", ceil_div("M", BM)] parameters [] (%x: !block.view<f32, 1>, %m: index, %t: index) {}
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], in>] checks [] overlaps [] {
  // expected-error @below {{C12: the binding of 'CM' uses parameter BM, which has no value yet: #block.expr<max("M", BM)>}}
  block.program @p privates [] parameters [#block.parameter<"BM", ownership, int domain = [1]>, #block.parameter<"CM", coverage, int domain = [] binding = <max("M", BM)>>] (%x: !block.view<f32, 1>) {}
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], in>] checks [] overlaps [] {
  // expected-error @below {{C13: the guard uses launch symbol "N", which the interface does not define: #block.expr<le("N", 4)>}}
  block.program @p guard(le("N", 4)) privates [] parameters [] (%x: !block.view<f32, 1>) {}
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], in>] checks [] overlaps [] {
  // expected-error @below {{C13: private argument 0 uses launch symbol "x.stride.1", which the interface does not define}}
  block.program @p privates ["x.stride.1"] parameters [] (%x: !block.view<f32, 1>, %s: index) {}
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], in>] checks [] overlaps [] {
  // expected-error @below {{C13: the binding of 'CN' uses launch symbol "N", which the interface does not define}}
  block.program @p privates [] parameters [#block.parameter<"CN", coverage, int domain = [] binding = <pow2_ceil("N")>>] (%x: !block.view<f32, 1>) {}
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], in>] checks [] overlaps [] {
  // expected-error @below {{C13: an extent of workspace 'w' uses launch symbol "N", which the interface does not define}}
  block.program @p privates [] workspaces [#block.workspace<"w", f32, ["N"]>] parameters [] (%x: !block.view<f32, 1>, %w: !block.view<f32, 1>) {}
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], in>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    // expected-error @below {{C13: the size uses launch symbol "N", which the interface does not define}}
    block.group size("N") {
    ^bb0(%i: index):
    }
  }
}

// -----

// What may be used: bare extents, named strides, the strides of every axis, integer scalars; private arguments, sizes and workspaces take parameters too.
block.kernel @k interface [#block.view_argument<"x", f32, ["M", mul("M", 2)], in strides = ["S", 1]>, #block.scalar_argument<"n", i32>] checks [#block.check<#block.expr<le("%n", "M")>, "m">] overlaps [] {
  block.program @p guard(lt("S", "%n")) privates ["x.stride.1", mul("S", BM), "%n"] workspaces [#block.workspace<"w", f32, [mul("M", BM)]>] parameters [#block.parameter<"BM", ownership, int domain = [1]>, #block.parameter<"CM", coverage, int domain = [] binding = <pow2_ceil("M")>>] (%x: !block.view<f32, 2>, %n: i32, %a: index, %b: index, %c: index, %w: !block.view<f32, 1>) {
    block.group size(ceil_div("M", BM)) {
    ^bb0(%i: index):
    }
  }
}
