// RUN: intent-opt %s > %t.first
// RUN: intent-opt %t.first > %t.second
// RUN: diff %t.first %t.second
// RUN: FileCheck %s < %t.first
// Every operation prints and parses to the same bytes.

// CHECK: module attributes {block.target = #block.target<"host", "x86_64", {fragment_elements = 65536 : i64}>}
module attributes {block.target = #block.target<"host", "x86_64", {fragment_elements = 65536 : i64}>} {
// CHECK: block.kernel @all interface [#block.view_argument<"x", f32, ["M", 4], in noalias = true strides = [unit, 1]>, #block.view_argument<"s", f32, [], inout alias = "g">, #block.scalar_argument<"H", i32>]
// CHECK-SAME: checks [#block.check<<le(1, "M")>, "x has a row">] overlaps [#block.overlap<"x", "s", disjoint>]
block.kernel @all interface [#block.view_argument<"x", f32, ["M", 4], in noalias = true strides = [unit, 1]>, #block.view_argument<"s", f32, [], inout alias = "g">, #block.scalar_argument<"H", i32>]
    checks [#block.check<<le(1, "M")>, "x has a row">] overlaps [#block.overlap<"x", "s", disjoint>] {
  // CHECK: block.program @p guard(and(le("M", 128), lt("%H", 3))) privates ["M", ceil_div("M", BM)]
  // CHECK-SAME: #block.parameter<"BM", ownership, int domain = [4, 8] column = "ownership_m" affects = ["extent", "grid"]>
  // CHECK-SAME: #block.parameter<"TMA", provider, bool domain = [0, 1] column = "USE_TENSOR_DESCRIPTOR" need = "tensor_descriptor">
  // CHECK-SAME: configurations #block.configurations<["BM"], [array<i64: 4>]> family "reduction"
  // CHECK-SAME: (%{{.*}}: !block.view<f32, 2>, %{{.*}}: !block.view<f32, 0>, %{{.*}}: i32, %{{.*}}: index, %{{.*}}: index)
  block.program @p guard(and(le("M", 128), lt("%H", 3))) privates ["M", ceil_div("M", BM)]
      parameters [#block.parameter<"BM", ownership, int domain = [4, 8] column = "ownership_m" affects = ["extent", "grid"]>,
                  #block.parameter<"TMA", provider, bool domain = [0, 1] column = "USE_TENSOR_DESCRIPTOR" need = "tensor_descriptor">]
      configurations #block.configurations<["BM"], [array<i64: 4>]> family "reduction"
      (%x: !block.view<f32, 2>, %s: !block.view<f32, 0>, %h: i32, %M: index, %n: index) {
    // CHECK: block.constant 0.000000e+00 : f32 : f32
    %zero = block.constant 0.0 : f32 : f32
    // CHECK: block.group size(ceil_div("M", BM)) {
    block.group size(ceil_div("M", BM)) {
    ^bb0(%p: index):
      %c0 = block.constant 0 : index : index
      %c1 = block.constant 1 : index : index
      %i0 = block.constant 0 : i32 : i32
      // CHECK: block.param mul(BM, 2)
      %two = block.param mul(BM, 2)
      // CHECK: block.lanes %{{.*}} step %{{.*}} : <index, [BM]>
      %m = block.lanes %p step %c1 : !block.fragment<index, [BM]>
      %k = block.lanes %c0 step %c1 : !block.fragment<index, [4]>
      // CHECK: block.load %{{.*}}[%{{.*}}, %{{.*}}] valid() fill %{{.*}} coordinate_axes {{\[\[0], \[1]]}} valid_axes [] : <f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [4]>) valid () fill f32 -> !block.fragment<f32, [BM, 4]>
      %v = block.load %x[%m, %k] valid() fill %zero coordinate_axes [[0], [1]] valid_axes []
          : !block.view<f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [4]>) valid () fill f32 -> !block.fragment<f32, [BM, 4]>
      // CHECK: block.load %{{.*}}[] valid() fill %{{.*}} coordinate_axes [] valid_axes [] : <f32, 0>, () valid () fill f32 -> f32
      %w = block.load %s[] valid() fill %zero coordinate_axes [] valid_axes [] : !block.view<f32, 0>, () valid () fill f32 -> f32
      // A scalar coordinate beside a fragment; validity over the whole result.
      %t = block.constant true : i1
      %all = block.broadcast %t [] : i1 to !block.fragment<i1, [BM]>
      // CHECK: block.load %{{.*}}[%{{.*}}, %{{.*}}] valid(%{{.*}}, %{{.*}}) fill %{{.*}} coordinate_axes {{\[\[0], \[]]}} valid_axes {{\[\[], \[0]]}}
      %q = block.load %x[%m, %c0] valid(%t, %all) fill %zero coordinate_axes [[0], []] valid_axes [[], [0]]
          : !block.view<f32, 2>, (!block.fragment<index, [BM]>, index) valid (i1, !block.fragment<i1, [BM]>) fill f32 -> !block.fragment<f32, [BM]>
      // CHECK: block.unary exp2 %{{.*}} approximate ftz : !block.fragment<f32, [BM, 4]>
      %e = block.unary exp2 %v approximate ftz : !block.fragment<f32, [BM, 4]>
      // CHECK: block.binary div %{{.*}}, %{{.*}} approximate : !block.fragment<f32, [BM, 4]>
      %d = block.binary div %e, %v approximate : !block.fragment<f32, [BM, 4]>
      // CHECK: block.fma %{{.*}}, %{{.*}}, %{{.*}} : !block.fragment<f32, [BM, 4]>
      %f = block.fma %d, %e, %v : !block.fragment<f32, [BM, 4]>
      // CHECK: block.compare ge %{{.*}}, %{{.*}} : !block.fragment<f32, [BM, 4]> -> !block.fragment<i1, [BM, 4]>
      %g = block.compare ge %f, %v : !block.fragment<f32, [BM, 4]> -> !block.fragment<i1, [BM, 4]>
      // CHECK: block.select %{{.*}}, %{{.*}}, %{{.*}} : !block.fragment<i1, [BM, 4]>, !block.fragment<f32, [BM, 4]>
      %h2 = block.select %g, %f, %v : !block.fragment<i1, [BM, 4]>, !block.fragment<f32, [BM, 4]>
      // CHECK: block.cast %{{.*}} : f32 to bf16
      %c = block.cast %w : f32 to bf16
      // CHECK: block.bitcast %{{.*}} : !block.fragment<f32, [BM, 4]> to !block.fragment<ui32, [BM, 4]>
      %b = block.bitcast %h2 : !block.fragment<f32, [BM, 4]> to !block.fragment<ui32, [BM, 4]>
      // CHECK: block.transpose %{{.*}} [1, 0] : <f32, [BM, 4]> to <f32, [4, BM]>
      %tr = block.transpose %h2 [1, 0] : !block.fragment<f32, [BM, 4]> to !block.fragment<f32, [4, BM]>
      %acc = block.broadcast %zero [] : f32 to !block.fragment<f32, [BM, BM]>
      // CHECK: block.contract %{{.*}}, %{{.*}}, %{{.*}} : <f32, [BM, 4]>, <f32, [4, BM]> -> <f32, [BM, BM]>
      %con = block.contract %v, %tr, %acc : !block.fragment<f32, [BM, 4]>, !block.fragment<f32, [4, BM]> -> !block.fragment<f32, [BM, BM]>
      // CHECK: block.reduce(%{{.*}}, %{{.*}}) identity(%{{.*}}, %{{.*}}) axis 0 {
      // CHECK: block.yield %{{.*}}, %{{.*}} : f32, index
      // CHECK: } : (!block.fragment<f32, [BM]>, !block.fragment<index, [BM]>) -> (f32, index) identities(f32, index)
      %r:2 = block.reduce(%q, %m) identity(%zero, %c0) axis 0 {
      ^bb0(%a0: f32, %i: index, %a1: f32, %j: index):
        %first = block.compare ge %a0, %a1 : f32 -> i1
        %va = block.select %first, %a0, %a1 : i1, f32
        %vi = block.select %first, %i, %j : i1, index
        block.yield %va, %vi : f32, index
      } : (!block.fragment<f32, [BM]>, !block.fragment<index, [BM]>) -> (f32, index) identities (f32, index)
      // CHECK: block.fence
      block.fence
      // CHECK: block.store %{{.*}} to %{{.*}}[] valid() coordinate_axes [] valid_axes [] : f32, <f32, 0>, () valid ()
      block.store %r#0 to %s[] valid() coordinate_axes [] valid_axes [] : f32, !block.view<f32, 0>, () valid ()
    }
  }
}
}
