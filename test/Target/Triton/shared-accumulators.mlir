// RUN: intent-opt --block-legalize-for-triton %s | FileCheck %s
// A loop's accumulated reduction of a load, read twice, keeps a select before it; one that is read once does not.
module attributes {block.target = #block.target<"triton", "sm_90", {}>} {
block.kernel @sums interface [#block.view_argument<"x", f32, ["M", "N"], in>, #block.view_argument<"y", f32, ["M"], out>, #block.view_argument<"z", f32, ["M"], out>] checks [] overlaps [] {
  block.program @main privates ["N"] parameters [] (%x: !block.view<f32, 2>, %y: !block.view<f32, 1>, %z: !block.view<f32, 1>, %N: index) {
    block.group size("M") {
    ^bb0(%p: index):
      %c0 = block.constant 0 : index : index
      %c1 = block.constant 1 : index : index
      %c64 = block.constant 64 : index : index
      %zero = block.constant 0.0 : f32 : f32
      %m = block.lanes %p step %c1 : !block.fragment<index, [1]>
      %start = block.broadcast %zero [] : f32 to !block.fragment<f32, [1]>
      // CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[N:.*]] step
      %twice = scf.for %i = %c0 to %N step %c64 iter_args(%s = %start) -> (!block.fragment<f32, [1]>) {
        %n = block.lanes %i step %c1 : !block.fragment<index, [64]>
        // CHECK: %[[X:.*]] = block.load
        %v = block.load %x[%m, %n] valid() fill %zero coordinate_axes [[0], [1]] valid_axes [] : !block.view<f32, 2>, (!block.fragment<index, [1]>, !block.fragment<index, [64]>) valid () fill f32 -> !block.fragment<f32, [1, 64]>
        // CHECK: %[[RUNS:.*]] = block.compare lt %[[I]], %[[N]] : index -> i1
        // CHECK: %[[KEPT:.*]] = block.select %[[RUNS]], %[[X]]
        // CHECK: block.reduce(%[[KEPT]])
        %r = block.reduce(%v) identity(%zero) axis 1 {
        ^bb0(%a: f32, %b: f32):
          %t = block.binary add %a, %b : f32
          block.yield %t : f32
        } : (!block.fragment<f32, [1, 64]>) -> (!block.fragment<f32, [1]>) identities (f32)
        %u = block.binary add %s, %r : !block.fragment<f32, [1]>
        scf.yield %u : !block.fragment<f32, [1]>
      }
      // CHECK: scf.for
      %once = scf.for %i = %c0 to %N step %c64 iter_args(%s = %start) -> (!block.fragment<f32, [1]>) {
        %n = block.lanes %i step %c1 : !block.fragment<index, [64]>
        // CHECK: %[[Y:.*]] = block.load
        // CHECK-NEXT: block.reduce(%[[Y]])
        %v = block.load %x[%m, %n] valid() fill %zero coordinate_axes [[0], [1]] valid_axes [] : !block.view<f32, 2>, (!block.fragment<index, [1]>, !block.fragment<index, [64]>) valid () fill f32 -> !block.fragment<f32, [1, 64]>
        %r = block.reduce(%v) identity(%zero) axis 1 {
        ^bb0(%a: f32, %b: f32):
          %t = block.binary add %a, %b : f32
          block.yield %t : f32
        } : (!block.fragment<f32, [1, 64]>) -> (!block.fragment<f32, [1]>) identities (f32)
        %u = block.binary add %s, %r : !block.fragment<f32, [1]>
        scf.yield %u : !block.fragment<f32, [1]>
      }
      %square = block.binary mul %twice, %twice : !block.fragment<f32, [1]>
      %sum = block.binary add %square, %once : !block.fragment<f32, [1]>
      block.store %sum to %y[%m] valid() coordinate_axes [[0]] valid_axes [] : !block.fragment<f32, [1]>, !block.view<f32, 1>, (!block.fragment<index, [1]>) valid ()
      block.store %twice to %z[%m] valid() coordinate_axes [[0]] valid_axes [] : !block.fragment<f32, [1]>, !block.view<f32, 1>, (!block.fragment<index, [1]>) valid ()
    }
  }
}
}
