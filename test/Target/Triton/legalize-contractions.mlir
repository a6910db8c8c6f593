// RUN: intent-opt --block-legalize-for-triton %s | FileCheck %s
// RUN: intent-translate --block-to-triton %s | FileCheck %s --check-prefix=TEXT
// An f64 operand that comes from narrow loads, whatever lies between, goes through a sum over an axis of one; others stay.
module attributes {block.target = #block.target<"triton", "sm_90", {}>} {
// CHECK-LABEL: block.kernel @wide
block.kernel @wide interface [#block.view_argument<"x", f16, [16, 16], in>, #block.view_argument<"keep", i1, [16, 16], in>, #block.view_argument<"y", f64, [16, 16], inout>] checks [] overlaps [] {
  block.program @main privates [] parameters [] (%x: !block.view<f16, 2>, %keep: !block.view<i1, 2>, %y: !block.view<f64, 2>) {
    block.group size(1) {
    ^bb0(%p: index):
      %one = block.constant 1 : index : index
      %m = block.lanes %p step %one : !block.fragment<index, [16]>
      %none = block.constant 0.0 : f16 : f16
      %false = block.constant false : i1
      %zero = block.constant 0.0 : f64 : f64
      %zeros = block.broadcast %zero [] : f64 to !block.fragment<f64, [16, 16]>
      %half = block.load %x[%m, %m] valid() fill %none coordinate_axes [[0], [1]] valid_axes [] : !block.view<f16, 2>, (!block.fragment<index, [16]>, !block.fragment<index, [16]>) valid () fill f16 -> !block.fragment<f16, [16, 16]>
      %double = block.load %y[%m, %m] valid() fill %zero coordinate_axes [[0], [1]] valid_axes [] : !block.view<f64, 2>, (!block.fragment<index, [16]>, !block.fragment<index, [16]>) valid () fill f64 -> !block.fragment<f64, [16, 16]>
      // CHECK: %[[WIDE:.*]] = block.cast
      // CHECK: %[[DEEP:.*]] = block.broadcast %[[WIDE]] [0, 1] : !block.fragment<f64, [16, 16]> to <f64, [16, 16, 1]>
      // CHECK: %[[SUM:.*]] = block.reduce(%[[DEEP]]) {{.*}} axis 2
      // CHECK: %[[FIRST:.*]] = block.contract %[[SUM]], %[[DOUBLE:[^,]*]],
      // TEXT: lhs = tl.sum(tl.broadcast_to(x_tile[:, :, None].to(tl.float64), (16, 16, 1)), axis=2)
      // TEXT: acc = tl.dot(lhs, y_tile, out_dtype=tl.float64)
      %wide = block.cast %half : !block.fragment<f16, [16, 16]> to !block.fragment<f64, [16, 16]>
      %first = block.contract %wide, %double, %zeros : !block.fragment<f64, [16, 16]>, !block.fragment<f64, [16, 16]> -> !block.fragment<f64, [16, 16]>
      // What a contraction gave is no load. A condition is one, in a branch as well.
      // CHECK: scf.if
      // CHECK: block.contract %[[FIRST]], %[[FIRST]],
      // CHECK: block.reduce({{.*}} axis 2
      // CHECK: block.contract %[[FIRST]], %{{.*}},
      %kept = block.load %keep[%m, %m] valid() fill %false coordinate_axes [[0], [1]] valid_axes [] : !block.view<i1, 2>, (!block.fragment<index, [16]>, !block.fragment<index, [16]>) valid () fill i1 -> !block.fragment<i1, [16, 16]>
      %c = block.compare eq %p, %one : index -> i1
      %chosen = scf.if %c -> (!block.fragment<f64, [16, 16]>) {
        %masked = block.select %kept, %double, %zeros : !block.fragment<i1, [16, 16]>, !block.fragment<f64, [16, 16]>
        scf.yield %masked : !block.fragment<f64, [16, 16]>
      } else {
        scf.yield %zeros : !block.fragment<f64, [16, 16]>
      }
      %second = block.contract %first, %first, %zeros : !block.fragment<f64, [16, 16]>, !block.fragment<f64, [16, 16]> -> !block.fragment<f64, [16, 16]>
      %third = block.contract %first, %chosen, %second : !block.fragment<f64, [16, 16]>, !block.fragment<f64, [16, 16]> -> !block.fragment<f64, [16, 16]>
      block.store %third to %y[%m, %m] valid() coordinate_axes [[0], [1]] valid_axes [] : !block.fragment<f64, [16, 16]>, !block.view<f64, 2>, (!block.fragment<index, [16]>, !block.fragment<index, [16]>) valid ()
    }
  }
}
}
