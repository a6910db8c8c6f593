// RUN: intent-opt %s > %t.first
// RUN: intent-opt %t.first > %t.second
// RUN: diff %t.first %t.second
// RUN: FileCheck %s < %t.first
// Scans, picks, atomic accesses and workspaces print and parse to the same bytes.

block.kernel @effects interface [#block.view_argument<"x", f32, ["M"], inout>, #block.view_argument<"s", i32, [], inout>] checks [] overlaps [] {
  // CHECK: block.program @p privates ["M"] workspaces [#block.workspace<"done", f32, [ceil_div("M", BM), 3]>, #block.workspace<"tickets", i32, [] zeroed = true>]
  // CHECK-SAME: (%{{.*}}: !block.view<f32, 1>, %{{.*}}: !block.view<i32, 0>, %{{.*}}: index, %{{.*}}: !block.view<f32, 2>, %{{.*}}: !block.view<i32, 0>)
  block.program @p privates ["M"] workspaces [#block.workspace<"done", f32, [ceil_div("M", BM), 3]>, #block.workspace<"tickets", i32, [] zeroed = true>]
      parameters [#block.parameter<"BM", ownership, int domain = [4, 8] column = "BM">]
      (%x: !block.view<f32, 1>, %s: !block.view<i32, 0>, %M: index, %done: !block.view<f32, 2>, %tickets: !block.view<i32, 0>) {
    %zero = block.constant 0.0 : f32 : f32
    block.group size(ceil_div("M", BM)) {
    ^bb0(%p: index):
      %c0 = block.constant 0 : index : index
      %c1 = block.constant 1 : index : index
      %i1 = block.constant 1 : i32 : i32
      %m = block.lanes %p step %c1 : !block.fragment<index, [BM]>
      %bound = block.broadcast %M [] : index to !block.fragment<index, [BM]>
      %v = block.compare lt %m, %bound : !block.fragment<index, [BM]> -> !block.fragment<i1, [BM]>
      %a = block.load %x[%m] valid(%v) fill %zero coordinate_axes [[0]] valid_axes [[0]]
          : !block.view<f32, 1>, (!block.fragment<index, [BM]>) valid (!block.fragment<i1, [BM]>) fill f32 -> !block.fragment<f32, [BM]>
      // CHECK: block.scan(%{{.*}}) identity(%{{.*}}) axis 0 {
      // CHECK: } : (!block.fragment<f32, [BM]>) identities(f32) -> (!block.fragment<f32, [BM]>)
      %sum = block.scan(%a) identity(%zero) axis 0 {
      ^bb0(%l: f32, %r: f32):
        %t = block.binary add %l, %r : f32
        block.yield %t : f32
      } : (!block.fragment<f32, [BM]>) identities (f32) -> (!block.fragment<f32, [BM]>)
      // CHECK: block.scan(%{{.*}}, %{{.*}}) identity(%{{.*}}, %{{.*}}) axis 0 reverse {
      // CHECK: } : (!block.fragment<f32, [BM]>, !block.fragment<index, [BM]>) identities(f32, index) -> (!block.fragment<f32, [BM]>, !block.fragment<index, [BM]>)
      %last:2 = block.scan(%a, %m) identity(%zero, %c0) axis 0 reverse {
      ^bb0(%l: f32, %i: index, %r: f32, %j: index):
        block.yield %r, %j : f32, index
      } : (!block.fragment<f32, [BM]>, !block.fragment<index, [BM]>) identities (f32, index) -> (!block.fragment<f32, [BM]>, !block.fragment<index, [BM]>)
      // CHECK: block.require %{{.*}} in %{{.*}} to %{{.*}} "histogram value" valid(%{{.*}}) valid_axes {{\[\[}}0]] : !block.fragment<index, [BM]> valid (!block.fragment<i1, [BM]>)
      block.require %m in %bound to %bound "histogram value" valid(%v) valid_axes [[0]] : !block.fragment<index, [BM]> valid (!block.fragment<i1, [BM]>)
      // CHECK: block.walk 3 at %{{.*}}
      block.walk 3 at %p
      // CHECK: block.walk 4{{$}}
      block.walk 4
      // CHECK: block.walks = [#block.walk<7, [4]>, #block.walk<9 unordered = true, [3, 5]>]
      block.store %zero to %x[%p] valid() coordinate_axes [[]] valid_axes [] {block.walks = [#block.walk<7, [4]>, #block.walk<9 unordered = true, [3, 5]>]} : f32, !block.view<f32, 1>, (index) valid ()
      // CHECK: block.pick %{{.*}} at %{{.*}} axis 0 : <f32, [BM]> -> f32
      %one = block.pick %sum at %c0 axis 0 : !block.fragment<f32, [BM]> -> f32
      // CHECK: block.store %{{.*}} to %{{.*}}[%{{.*}}, %{{.*}}] valid() coordinate_axes {{\[\[], \[]]}} valid_axes [] : f32, <f32, 2>, (index, index) valid ()
      block.store %one to %done[%p, %c1] valid() coordinate_axes [[], []] valid_axes [] : f32, !block.view<f32, 2>, (index, index) valid ()
      // CHECK: block.atomic add acq_rel %{{.*}} to %{{.*}}[] valid() coordinate_axes [] valid_axes [] : i32, <i32, 0>, () valid () -> i32
      %ticket = block.atomic add acq_rel %i1 to %tickets[] valid() coordinate_axes [] valid_axes [] : i32, !block.view<i32, 0>, () valid () -> i32
      // CHECK: block.atomic max relaxed %{{.*}} to %{{.*}}[%{{.*}}] valid(%{{.*}}) coordinate_axes {{\[\[0]]}} valid_axes {{\[\[0]]}} : !block.fragment<f32, [BM]>, <f32, 1>, (!block.fragment<index, [BM]>) valid (!block.fragment<i1, [BM]>) -> !block.fragment<f32, [BM]>
      %old = block.atomic max relaxed %sum to %x[%m] valid(%v) coordinate_axes [[0]] valid_axes [[0]]
          : !block.fragment<f32, [BM]>, !block.view<f32, 1>, (!block.fragment<index, [BM]>) valid (!block.fragment<i1, [BM]>) -> !block.fragment<f32, [BM]>
      // CHECK: block.compare_exchange release %{{.*}}, %{{.*}} to %{{.*}}[%{{.*}}] valid(%{{.*}}) coordinate_axes {{\[\[0]]}} valid_axes {{\[\[0]]}} : !block.fragment<f32, [BM]>, <f32, 1>, (!block.fragment<index, [BM]>) valid (!block.fragment<i1, [BM]>)
      %was = block.compare_exchange release %old, %sum to %x[%m] valid(%v) coordinate_axes [[0]] valid_axes [[0]]
          : !block.fragment<f32, [BM]>, !block.view<f32, 1>, (!block.fragment<index, [BM]>) valid (!block.fragment<i1, [BM]>)
      // CHECK: block.scatter_reduce %{{.*}} to %{{.*}}[%{{.*}}] valid(%{{.*}}) coordinate_axes {{\[\[0]]}} valid_axes {{\[\[0]]}} {
      // CHECK: } : !block.fragment<f32, [BM]>, <f32, 1>, (!block.fragment<index, [BM]>) valid (!block.fragment<i1, [BM]>)
      block.scatter_reduce %was to %x[%m] valid(%v) coordinate_axes [[0]] valid_axes [[0]] {
      ^bb0(%held: f32, %own: f32):
        %t = block.binary add %held, %own : f32
        block.yield %t : f32
      } : !block.fragment<f32, [BM]>, !block.view<f32, 1>, (!block.fragment<index, [BM]>) valid (!block.fragment<i1, [BM]>)
    }
  }
}
