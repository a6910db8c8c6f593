// RUN: intent-opt %s --block-materialize-configurations="table=%S/../../lib/Target/Triton/tuning.json" | FileCheck %s
// One program of each structural family, and the near misses that its predicate must tell apart.
module attributes {block.target = #block.target<"triton", "sm_90", {}>} {

// read along n, written along m
// CHECK-LABEL: block.program @transpose16
// CHECK-SAME: family "pointwise_two_axis_narrow"
block.kernel @transpose16_kernel interface [#block.view_argument<"x", f16, ["M", "N"], in>, #block.view_argument<"y", f16, ["N", "M"], out>] checks [] overlaps [] {
  block.program @transpose16 privates [] parameters [#block.parameter<"BM", ownership, int domain = [16, 32, 64] column = "ownership_m">, #block.parameter<"BN", ownership, int domain = [16, 32, 64] column = "ownership_n">] (%x: !block.view<f16, 2>, %y: !block.view<f16, 2>) {
    block.group size(1) {
    ^bb0(%p: index):
      %c0 = block.constant 0 : index : index
      %c1 = block.constant 1 : index : index
      %true = block.constant true : i1
      %zf16 = block.constant 0.0 : f16 : f16
      %m = block.lanes %p step %c1 : !block.fragment<index, [BM]>
      %n = block.lanes %p step %c1 : !block.fragment<index, [BN]>
      %v = block.load %x[%m, %n] valid(%true) fill %zf16 coordinate_axes [[0], [1]] valid_axes [[]] : !block.view<f16, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BN]>) valid (i1) fill f16 -> !block.fragment<f16, [BM, BN]>
      block.store %v to %y[%n, %m] valid(%true) coordinate_axes [[1], [0]] valid_axes [[]] : !block.fragment<f16, [BM, BN]>, !block.view<f16, 2>, (!block.fragment<index, [BN]>, !block.fragment<index, [BM]>) valid (i1)
    }
  }
}

// the same in 32 bits
// CHECK-LABEL: block.program @transpose32
// CHECK-SAME: family "pointwise_two_axis"
block.kernel @transpose32_kernel interface [#block.view_argument<"x", f32, ["M", "N"], in>, #block.view_argument<"y", f32, ["N", "M"], out>] checks [] overlaps [] {
  block.program @transpose32 privates [] parameters [#block.parameter<"BM", ownership, int domain = [16, 32, 64] column = "ownership_m">, #block.parameter<"BN", ownership, int domain = [16, 32, 64] column = "ownership_n">] (%x: !block.view<f32, 2>, %y: !block.view<f32, 2>) {
    block.group size(1) {
    ^bb0(%p: index):
      %c0 = block.constant 0 : index : index
      %c1 = block.constant 1 : index : index
      %true = block.constant true : i1
      %zf32 = block.constant 0.0 : f32 : f32
      %m = block.lanes %p step %c1 : !block.fragment<index, [BM]>
      %n = block.lanes %p step %c1 : !block.fragment<index, [BN]>
      %v = block.load %x[%m, %n] valid(%true) fill %zf32 coordinate_axes [[0], [1]] valid_axes [[]] : !block.view<f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BN]>) valid (i1) fill f32 -> !block.fragment<f32, [BM, BN]>
      block.store %v to %y[%n, %m] valid(%true) coordinate_axes [[1], [0]] valid_axes [[]] : !block.fragment<f32, [BM, BN]>, !block.view<f32, 2>, (!block.fragment<index, [BN]>, !block.fragment<index, [BM]>) valid (i1)
    }
  }
}

// a vector along m beside matrices along n: one dense axis
// CHECK-LABEL: block.program @scale_rows
// CHECK-SAME: family "pointwise_narrow"
block.kernel @scale_rows_kernel interface [#block.view_argument<"x", f16, ["M", "N"], in>, #block.view_argument<"s", f16, ["M"], in>, #block.view_argument<"y", f16, ["M", "N"], out>] checks [] overlaps [] {
  block.program @scale_rows privates [] parameters [#block.parameter<"BM", ownership, int domain = [16, 32, 64] column = "ownership_m">, #block.parameter<"BN", ownership, int domain = [16, 32, 64] column = "ownership_n">] (%x: !block.view<f16, 2>, %s: !block.view<f16, 1>, %y: !block.view<f16, 2>) {
    block.group size(1) {
    ^bb0(%p: index):
      %c0 = block.constant 0 : index : index
      %c1 = block.constant 1 : index : index
      %true = block.constant true : i1
      %zf16 = block.constant 0.0 : f16 : f16
      %m = block.lanes %p step %c1 : !block.fragment<index, [BM]>
      %n = block.lanes %p step %c1 : !block.fragment<index, [BN]>
      %v = block.load %x[%m, %n] valid(%true) fill %zf16 coordinate_axes [[0], [1]] valid_axes [[]] : !block.view<f16, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BN]>) valid (i1) fill f16 -> !block.fragment<f16, [BM, BN]>
      %w = block.load %s[%m] valid(%true) fill %zf16 coordinate_axes [[0]] valid_axes [[]] : !block.view<f16, 1>, (!block.fragment<index, [BM]>) valid (i1) fill f16 -> !block.fragment<f16, [BM]>
      %wb = block.broadcast %w [0] : !block.fragment<f16, [BM]> to !block.fragment<f16, [BM, BN]>
      %r = block.binary mul %v, %wb : !block.fragment<f16, [BM, BN]>
      block.store %r to %y[%m, %n] valid(%true) coordinate_axes [[0], [1]] valid_axes [[]] : !block.fragment<f16, [BM, BN]>, !block.view<f16, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BN]>) valid (i1)
    }
  }
}

// one access is wider than 16 bits
// CHECK-LABEL: block.program @copy32
// CHECK-SAME: family "pointwise"
block.kernel @copy32_kernel interface [#block.view_argument<"x", f32, ["N"], in>, #block.view_argument<"y", f16, ["N"], out>] checks [] overlaps [] {
  block.program @copy32 privates [] parameters [#block.parameter<"BN", ownership, int domain = [16, 32, 64] column = "ownership_n">] (%x: !block.view<f32, 1>, %y: !block.view<f16, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %c0 = block.constant 0 : index : index
      %c1 = block.constant 1 : index : index
      %true = block.constant true : i1
      %zf32 = block.constant 0.0 : f32 : f32
      %n = block.lanes %p step %c1 : !block.fragment<index, [BN]>
      %v = block.load %x[%n] valid(%true) fill %zf32 coordinate_axes [[0]] valid_axes [[]] : !block.view<f32, 1>, (!block.fragment<index, [BN]>) valid (i1) fill f32 -> !block.fragment<f32, [BN]>
      %h = block.cast %v : !block.fragment<f32, [BN]> to !block.fragment<f16, [BN]>
      block.store %h to %y[%n] valid(%true) coordinate_axes [[0]] valid_axes [[]] : !block.fragment<f16, [BN]>, !block.view<f16, 1>, (!block.fragment<index, [BN]>) valid (i1)
    }
  }
}

// the reduced axis is gone in the store
// CHECK-LABEL: block.program @row_sum
// CHECK-SAME: family "reduction"
block.kernel @row_sum_kernel interface [#block.view_argument<"x", f32, ["M", "N"], in>, #block.view_argument<"y", f32, ["M"], out>] checks [] overlaps [] {
  block.program @row_sum privates [] parameters [#block.parameter<"BM", ownership, int domain = [16, 32, 64] column = "ownership_m">, #block.parameter<"BN", reduction, int domain = [16, 32, 64] column = "reduction">] (%x: !block.view<f32, 2>, %y: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %c0 = block.constant 0 : index : index
      %c1 = block.constant 1 : index : index
      %true = block.constant true : i1
      %zf32 = block.constant 0.0 : f32 : f32
      %m = block.lanes %p step %c1 : !block.fragment<index, [BM]>
      %n = block.lanes %p step %c1 : !block.fragment<index, [BN]>
      %v = block.load %x[%m, %n] valid(%true) fill %zf32 coordinate_axes [[0], [1]] valid_axes [[]] : !block.view<f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BN]>) valid (i1) fill f32 -> !block.fragment<f32, [BM, BN]>
      %r = block.reduce(%v) identity(%zf32) axis 1 {
      ^bb0(%a: f32, %b: f32):
        %t = block.binary add %a, %b : f32
        block.yield %t : f32
      } : (!block.fragment<f32, [BM, BN]>) -> (!block.fragment<f32, [BM]>) identities (f32)
      block.store %r to %y[%m] valid(%true) coordinate_axes [[0]] valid_axes [[]] : !block.fragment<f32, [BM]>, !block.view<f32, 1>, (!block.fragment<index, [BM]>) valid (i1)
    }
  }
}

// a store along the reduced axis
// CHECK-LABEL: block.program @normalise
// CHECK-SAME: family "pointwise_reduction"
block.kernel @normalise_kernel interface [#block.view_argument<"x", f32, ["M", "N"], in>, #block.view_argument<"y", f32, ["M", "N"], out>] checks [] overlaps [] {
  block.program @normalise privates [] parameters [#block.parameter<"BM", ownership, int domain = [16, 32, 64] column = "ownership_m">, #block.parameter<"BN", reduction, int domain = [16, 32, 64] column = "reduction">] (%x: !block.view<f32, 2>, %y: !block.view<f32, 2>) {
    block.group size(1) {
    ^bb0(%p: index):
      %c0 = block.constant 0 : index : index
      %c1 = block.constant 1 : index : index
      %true = block.constant true : i1
      %zf32 = block.constant 0.0 : f32 : f32
      %m = block.lanes %p step %c1 : !block.fragment<index, [BM]>
      %n = block.lanes %p step %c1 : !block.fragment<index, [BN]>
      %v = block.load %x[%m, %n] valid(%true) fill %zf32 coordinate_axes [[0], [1]] valid_axes [[]] : !block.view<f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BN]>) valid (i1) fill f32 -> !block.fragment<f32, [BM, BN]>
      %r = block.reduce(%v) identity(%zf32) axis 1 {
      ^bb0(%a: f32, %b: f32):
        %t = block.binary add %a, %b : f32
        block.yield %t : f32
      } : (!block.fragment<f32, [BM, BN]>) -> (!block.fragment<f32, [BM]>) identities (f32)
      %rb = block.broadcast %r [0] : !block.fragment<f32, [BM]> to !block.fragment<f32, [BM, BN]>
      %o = block.binary sub %v, %rb : !block.fragment<f32, [BM, BN]>
      block.store %o to %y[%m, %n] valid(%true) coordinate_axes [[0], [1]] valid_axes [[]] : !block.fragment<f32, [BM, BN]>, !block.view<f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BN]>) valid (i1)
    }
  }
}

// one reduction over two axes
// CHECK-LABEL: block.program @total
// CHECK-SAME: family "reduction"
block.kernel @total_kernel interface [#block.view_argument<"x", f32, ["M", "N"], in>, #block.view_argument<"y", f32, [1], out>] checks [] overlaps [] {
  block.program @total privates [] parameters [#block.parameter<"BM", ownership, int domain = [16, 32, 64] column = "ownership_m">, #block.parameter<"BN", reduction, int domain = [16, 32, 64] column = "reduction">] (%x: !block.view<f32, 2>, %y: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %c0 = block.constant 0 : index : index
      %c1 = block.constant 1 : index : index
      %true = block.constant true : i1
      %zf32 = block.constant 0.0 : f32 : f32
      %m = block.lanes %p step %c1 : !block.fragment<index, [BM]>
      %n = block.lanes %p step %c1 : !block.fragment<index, [BN]>
      %v = block.load %x[%m, %n] valid(%true) fill %zf32 coordinate_axes [[0], [1]] valid_axes [[]] : !block.view<f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BN]>) valid (i1) fill f32 -> !block.fragment<f32, [BM, BN]>
      %r = block.reduce(%v) identity(%zf32) axis 1 {
      ^bb0(%a: f32, %b: f32):
        %t = block.binary add %a, %b : f32
        block.yield %t : f32
      } : (!block.fragment<f32, [BM, BN]>) -> (!block.fragment<f32, [BM]>) identities (f32)
      %s = block.reduce(%r) identity(%zf32) axis 0 {
      ^bb0(%a: f32, %b: f32):
        %t = block.binary add %a, %b : f32
        block.yield %t : f32
      } : (!block.fragment<f32, [BM]>) -> (f32) identities (f32)
      block.store %s to %y[%c0] valid(%true) coordinate_axes [[]] valid_axes [[]] : f32, !block.view<f32, 1>, (index) valid (i1)
    }
  }
}

// two reductions over different axes
// CHECK-LABEL: block.program @both_sums
// CHECK-SAME: family "multi_axis_reduction"
block.kernel @both_sums_kernel interface [#block.view_argument<"x", f32, ["M", "N"], in>, #block.view_argument<"y", f32, ["M"], out>, #block.view_argument<"w", f32, ["N"], out>] checks [] overlaps [] {
  block.program @both_sums privates [] parameters [#block.parameter<"BM", ownership, int domain = [16, 32, 64] column = "ownership_m">, #block.parameter<"BN", ownership, int domain = [16, 32, 64] column = "ownership_n">] (%x: !block.view<f32, 2>, %y: !block.view<f32, 1>, %w: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %c0 = block.constant 0 : index : index
      %c1 = block.constant 1 : index : index
      %true = block.constant true : i1
      %zf32 = block.constant 0.0 : f32 : f32
      %m = block.lanes %p step %c1 : !block.fragment<index, [BM]>
      %n = block.lanes %p step %c1 : !block.fragment<index, [BN]>
      %v = block.load %x[%m, %n] valid(%true) fill %zf32 coordinate_axes [[0], [1]] valid_axes [[]] : !block.view<f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BN]>) valid (i1) fill f32 -> !block.fragment<f32, [BM, BN]>
      %r = block.reduce(%v) identity(%zf32) axis 1 {
      ^bb0(%a: f32, %b: f32):
        %t = block.binary add %a, %b : f32
        block.yield %t : f32
      } : (!block.fragment<f32, [BM, BN]>) -> (!block.fragment<f32, [BM]>) identities (f32)
      %s = block.reduce(%v) identity(%zf32) axis 0 {
      ^bb0(%a: f32, %b: f32):
        %t = block.binary add %a, %b : f32
        block.yield %t : f32
      } : (!block.fragment<f32, [BM, BN]>) -> (!block.fragment<f32, [BN]>) identities (f32)
      block.store %r to %y[%m] valid(%true) coordinate_axes [[0]] valid_axes [[]] : !block.fragment<f32, [BM]>, !block.view<f32, 1>, (!block.fragment<index, [BM]>) valid (i1)
      block.store %s to %w[%n] valid(%true) coordinate_axes [[0]] valid_axes [[]] : !block.fragment<f32, [BN]>, !block.view<f32, 1>, (!block.fragment<index, [BN]>) valid (i1)
    }
  }
}

// a reduction of two components
// CHECK-LABEL: block.program @two_components
// CHECK-SAME: family "stateful_reduction"
block.kernel @two_components_kernel interface [#block.view_argument<"x", f32, ["M", "N"], in>, #block.view_argument<"y", f32, ["M"], out>] checks [] overlaps [] {
  block.program @two_components privates [] parameters [#block.parameter<"BM", ownership, int domain = [16, 32, 64] column = "ownership_m">, #block.parameter<"BN", reduction, int domain = [16, 32, 64] column = "reduction">] (%x: !block.view<f32, 2>, %y: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %c0 = block.constant 0 : index : index
      %c1 = block.constant 1 : index : index
      %true = block.constant true : i1
      %zf32 = block.constant 0.0 : f32 : f32
      %m = block.lanes %p step %c1 : !block.fragment<index, [BM]>
      %n = block.lanes %p step %c1 : !block.fragment<index, [BN]>
      %v = block.load %x[%m, %n] valid(%true) fill %zf32 coordinate_axes [[0], [1]] valid_axes [[]] : !block.view<f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BN]>) valid (i1) fill f32 -> !block.fragment<f32, [BM, BN]>
      %ib = block.broadcast %c0 [] : index to !block.fragment<index, [BM, BN]>
      %r:2 = block.reduce(%v, %ib) identity(%zf32, %c0) axis 1 {
      ^bb0(%a: f32, %i: index, %b: f32, %j: index):
        %t = block.binary add %a, %b : f32
        %u = block.binary add %i, %j : index
        block.yield %t, %u : f32, index
      } : (!block.fragment<f32, [BM, BN]>, !block.fragment<index, [BM, BN]>) -> (!block.fragment<f32, [BM]>, !block.fragment<index, [BM]>) identities (f32, index)
      block.store %r#0 to %y[%m] valid(%true) coordinate_axes [[0]] valid_axes [[]] : !block.fragment<f32, [BM]>, !block.view<f32, 1>, (!block.fragment<index, [BM]>) valid (i1)
    }
  }
}

// operands of 16 bits
// CHECK-LABEL: block.program @matmul16
// CHECK-SAME: family "contraction_narrow"
block.kernel @matmul16_kernel interface [#block.view_argument<"x", f16, ["M", "K"], in>, #block.view_argument<"w", f16, ["K", "N"], in>, #block.view_argument<"y", f32, ["M", "N"], out>] checks [] overlaps [] {
  block.program @matmul16 privates [] parameters [#block.parameter<"BM", ownership, int domain = [16, 32, 64] column = "ownership_m">, #block.parameter<"BN", ownership, int domain = [16, 32, 64] column = "ownership_n">, #block.parameter<"BK", reduction, int domain = [16, 32] column = "reduction">] (%x: !block.view<f16, 2>, %w: !block.view<f16, 2>, %y: !block.view<f32, 2>) {
    block.group size(1) {
    ^bb0(%p: index):
      %c0 = block.constant 0 : index : index
      %c1 = block.constant 1 : index : index
      %true = block.constant true : i1
      %zf32 = block.constant 0.0 : f32 : f32
      %zf16 = block.constant 0.0 : f16 : f16
      %m = block.lanes %p step %c1 : !block.fragment<index, [BM]>
      %n = block.lanes %p step %c1 : !block.fragment<index, [BN]>
      %k = block.lanes %p step %c1 : !block.fragment<index, [BK]>
      %a = block.load %x[%m, %k] valid(%true) fill %zf16 coordinate_axes [[0], [1]] valid_axes [[]] : !block.view<f16, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BK]>) valid (i1) fill f16 -> !block.fragment<f16, [BM, BK]>
      %b = block.load %w[%k, %n] valid(%true) fill %zf16 coordinate_axes [[0], [1]] valid_axes [[]] : !block.view<f16, 2>, (!block.fragment<index, [BK]>, !block.fragment<index, [BN]>) valid (i1) fill f16 -> !block.fragment<f16, [BK, BN]>
      %acc = block.broadcast %zf32 [] : f32 to !block.fragment<f32, [BM, BN]>
      %o = block.contract %a, %b, %acc : !block.fragment<f16, [BM, BK]>, !block.fragment<f16, [BK, BN]> -> !block.fragment<f32, [BM, BN]>
      block.store %o to %y[%m, %n] valid(%true) coordinate_axes [[0], [1]] valid_axes [[]] : !block.fragment<f32, [BM, BN]>, !block.view<f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BN]>) valid (i1)
    }
  }
}

// operands of 32 bits
// CHECK-LABEL: block.program @matmul32
// CHECK-SAME: family "contraction"
block.kernel @matmul32_kernel interface [#block.view_argument<"x", f32, ["M", "K"], in>, #block.view_argument<"w", f32, ["K", "N"], in>, #block.view_argument<"y", f32, ["M", "N"], out>] checks [] overlaps [] {
  block.program @matmul32 privates [] parameters [#block.parameter<"BM", ownership, int domain = [16, 32, 64] column = "ownership_m">, #block.parameter<"BN", ownership, int domain = [16, 32, 64] column = "ownership_n">, #block.parameter<"BK", reduction, int domain = [16, 32] column = "reduction">] (%x: !block.view<f32, 2>, %w: !block.view<f32, 2>, %y: !block.view<f32, 2>) {
    block.group size(1) {
    ^bb0(%p: index):
      %c0 = block.constant 0 : index : index
      %c1 = block.constant 1 : index : index
      %true = block.constant true : i1
      %zf32 = block.constant 0.0 : f32 : f32
      %m = block.lanes %p step %c1 : !block.fragment<index, [BM]>
      %n = block.lanes %p step %c1 : !block.fragment<index, [BN]>
      %k = block.lanes %p step %c1 : !block.fragment<index, [BK]>
      %a = block.load %x[%m, %k] valid(%true) fill %zf32 coordinate_axes [[0], [1]] valid_axes [[]] : !block.view<f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BK]>) valid (i1) fill f32 -> !block.fragment<f32, [BM, BK]>
      %b = block.load %w[%k, %n] valid(%true) fill %zf32 coordinate_axes [[0], [1]] valid_axes [[]] : !block.view<f32, 2>, (!block.fragment<index, [BK]>, !block.fragment<index, [BN]>) valid (i1) fill f32 -> !block.fragment<f32, [BK, BN]>
      %acc = block.broadcast %zf32 [] : f32 to !block.fragment<f32, [BM, BN]>
      %o = block.contract %a, %b, %acc : !block.fragment<f32, [BM, BK]>, !block.fragment<f32, [BK, BN]> -> !block.fragment<f32, [BM, BN]>
      block.store %o to %y[%m, %n] valid(%true) coordinate_axes [[0], [1]] valid_axes [[]] : !block.fragment<f32, [BM, BN]>, !block.view<f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BN]>) valid (i1)
    }
  }
}

// tiles in a loop that strides by the workers
// CHECK-LABEL: block.program @persistent16
// CHECK-SAME: family "persistent_contraction_narrow"
block.kernel @persistent16_kernel interface [#block.view_argument<"x", f16, ["M", "K"], in>, #block.view_argument<"w", f16, ["K", "N"], in>, #block.view_argument<"y", f32, ["M", "N"], out>] checks [] overlaps [] {
  block.program @persistent16 privates ["M"] parameters [#block.parameter<"BM", ownership, int domain = [16, 32, 64] column = "ownership_m">, #block.parameter<"BN", ownership, int domain = [16, 32, 64] column = "ownership_n">, #block.parameter<"BK", reduction, int domain = [16, 32] column = "reduction">, #block.parameter<"W", workers, int domain = [132, 264] column = "traversal_workers">] (%x: !block.view<f16, 2>, %w: !block.view<f16, 2>, %y: !block.view<f32, 2>, %M: index) {
    block.group size(1) {
    ^bb0(%p: index):
      %c0 = block.constant 0 : index : index
      %c1 = block.constant 1 : index : index
      %true = block.constant true : i1
      %zf32 = block.constant 0.0 : f32 : f32
      %zf16 = block.constant 0.0 : f16 : f16
      %m = block.lanes %p step %c1 : !block.fragment<index, [BM]>
      %n = block.lanes %p step %c1 : !block.fragment<index, [BN]>
      %k = block.lanes %p step %c1 : !block.fragment<index, [BK]>
      %workers = block.param W
      scf.for %t = %p to %M step %workers {
        %a = block.load %x[%m, %k] valid(%true) fill %zf16 coordinate_axes [[0], [1]] valid_axes [[]] : !block.view<f16, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BK]>) valid (i1) fill f16 -> !block.fragment<f16, [BM, BK]>
        %b = block.load %w[%k, %n] valid(%true) fill %zf16 coordinate_axes [[0], [1]] valid_axes [[]] : !block.view<f16, 2>, (!block.fragment<index, [BK]>, !block.fragment<index, [BN]>) valid (i1) fill f16 -> !block.fragment<f16, [BK, BN]>
        %acc = block.broadcast %zf32 [] : f32 to !block.fragment<f32, [BM, BN]>
        %o = block.contract %a, %b, %acc : !block.fragment<f16, [BM, BK]>, !block.fragment<f16, [BK, BN]> -> !block.fragment<f32, [BM, BN]>
        block.store %o to %y[%m, %n] valid(%true) coordinate_axes [[0], [1]] valid_axes [[]] : !block.fragment<f32, [BM, BN]>, !block.view<f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BN]>) valid (i1)
      }
    }
  }
}

// the same in 32 bits
// CHECK-LABEL: block.program @persistent32
// CHECK-SAME: family "persistent_contraction"
block.kernel @persistent32_kernel interface [#block.view_argument<"x", f32, ["M", "K"], in>, #block.view_argument<"w", f32, ["K", "N"], in>, #block.view_argument<"y", f32, ["M", "N"], out>] checks [] overlaps [] {
  block.program @persistent32 privates ["M"] parameters [#block.parameter<"BM", ownership, int domain = [16, 32, 64] column = "ownership_m">, #block.parameter<"BN", ownership, int domain = [16, 32, 64] column = "ownership_n">, #block.parameter<"BK", reduction, int domain = [16, 32] column = "reduction">, #block.parameter<"W", workers, int domain = [132, 264] column = "traversal_workers">] (%x: !block.view<f32, 2>, %w: !block.view<f32, 2>, %y: !block.view<f32, 2>, %M: index) {
    block.group size(1) {
    ^bb0(%p: index):
      %c0 = block.constant 0 : index : index
      %c1 = block.constant 1 : index : index
      %true = block.constant true : i1
      %zf32 = block.constant 0.0 : f32 : f32
      %m = block.lanes %p step %c1 : !block.fragment<index, [BM]>
      %n = block.lanes %p step %c1 : !block.fragment<index, [BN]>
      %k = block.lanes %p step %c1 : !block.fragment<index, [BK]>
      %workers = block.param W
      scf.for %t = %p to %M step %workers {
        %a = block.load %x[%m, %k] valid(%true) fill %zf32 coordinate_axes [[0], [1]] valid_axes [[]] : !block.view<f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BK]>) valid (i1) fill f32 -> !block.fragment<f32, [BM, BK]>
        %b = block.load %w[%k, %n] valid(%true) fill %zf32 coordinate_axes [[0], [1]] valid_axes [[]] : !block.view<f32, 2>, (!block.fragment<index, [BK]>, !block.fragment<index, [BN]>) valid (i1) fill f32 -> !block.fragment<f32, [BK, BN]>
        %acc = block.broadcast %zf32 [] : f32 to !block.fragment<f32, [BM, BN]>
        %o = block.contract %a, %b, %acc : !block.fragment<f32, [BM, BK]>, !block.fragment<f32, [BK, BN]> -> !block.fragment<f32, [BM, BN]>
        block.store %o to %y[%m, %n] valid(%true) coordinate_axes [[0], [1]] valid_axes [[]] : !block.fragment<f32, [BM, BN]>, !block.view<f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BN]>) valid (i1)
      }
    }
  }
}

// no lanes
// CHECK-LABEL: block.program @scalar
// CHECK-SAME: family "execution"
block.kernel @scalar_kernel interface [#block.view_argument<"y", f32, ["N"], out>] checks [] overlaps [] {
  block.program @scalar privates [] parameters [] (%y: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %c0 = block.constant 0 : index : index
      %c1 = block.constant 1 : index : index
      %true = block.constant true : i1
      %one = block.constant 1.0 : f32 : f32
      block.store %one to %y[%p] valid(%true) coordinate_axes [[]] valid_axes [[]] : f32, !block.view<f32, 1>, (index) valid (i1)
    }
  }
}

// a scan
// CHECK-LABEL: block.program @cumsum
// CHECK-SAME: family "scan"
block.kernel @cumsum_kernel interface [#block.view_argument<"x", f32, ["M", "N"], in>, #block.view_argument<"y", f32, ["M", "N"], out>] checks [] overlaps [] {
  block.program @cumsum privates [] parameters [#block.parameter<"BM", ownership, int domain = [16, 32, 64] column = "ownership_m">, #block.parameter<"BN", scan, int domain = [16, 32, 64] column = "scan">] (%x: !block.view<f32, 2>, %y: !block.view<f32, 2>) {
    block.group size(1) {
    ^bb0(%p: index):
      %c1 = block.constant 1 : index : index
      %zero = block.constant 0.0 : f32 : f32
      %m = block.lanes %p step %c1 : !block.fragment<index, [BM]>
      %n = block.lanes %p step %c1 : !block.fragment<index, [BN]>
      %v = block.load %x[%m, %n] valid() fill %zero coordinate_axes [[0], [1]] valid_axes [] : !block.view<f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BN]>) valid () fill f32 -> !block.fragment<f32, [BM, BN]>
      %s = block.scan(%v) identity(%zero) axis 1 {
      ^bb0(%a: f32, %b: f32):
        %t = block.binary add %a, %b : f32
        block.yield %t : f32
      } : (!block.fragment<f32, [BM, BN]>) identities (f32) -> (!block.fragment<f32, [BM, BN]>)
      block.store %s to %y[%m, %n] valid() coordinate_axes [[0], [1]] valid_axes [] : !block.fragment<f32, [BM, BN]>, !block.view<f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BN]>) valid ()
    }
  }
}

// a scan beside a reduction
// CHECK-LABEL: block.program @scan_and_reduce
// CHECK-SAME: family "scan"
block.kernel @scan_and_reduce_kernel interface [#block.view_argument<"x", f32, ["M", "N"], in>, #block.view_argument<"y", f32, ["M", "N"], out>] checks [] overlaps [] {
  block.program @scan_and_reduce privates [] parameters [#block.parameter<"BM", ownership, int domain = [16, 32, 64] column = "ownership_m">, #block.parameter<"BN", scan, int domain = [16, 32, 64] column = "scan">] (%x: !block.view<f32, 2>, %y: !block.view<f32, 2>) {
    block.group size(1) {
    ^bb0(%p: index):
      %c1 = block.constant 1 : index : index
      %zero = block.constant 0.0 : f32 : f32
      %m = block.lanes %p step %c1 : !block.fragment<index, [BM]>
      %n = block.lanes %p step %c1 : !block.fragment<index, [BN]>
      %v = block.load %x[%m, %n] valid() fill %zero coordinate_axes [[0], [1]] valid_axes [] : !block.view<f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BN]>) valid () fill f32 -> !block.fragment<f32, [BM, BN]>
      %s = block.scan(%v) identity(%zero) axis 1 {
      ^bb0(%a: f32, %b: f32):
        %t = block.binary add %a, %b : f32
        block.yield %t : f32
      } : (!block.fragment<f32, [BM, BN]>) identities (f32) -> (!block.fragment<f32, [BM, BN]>)
      %r = block.reduce(%s) identity(%zero) axis 1 {
      ^bb0(%e: f32, %f: f32):
        %u = block.binary maximum %e, %f : f32
        block.yield %u : f32
      } : (!block.fragment<f32, [BM, BN]>) -> (!block.fragment<f32, [BM]>) identities (f32)
      block.store %s to %y[%m, %n] valid() coordinate_axes [[0], [1]] valid_axes [] : !block.fragment<f32, [BM, BN]>, !block.view<f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BN]>) valid ()
    }
  }
}

// a scan of what is contracted
// CHECK-LABEL: block.program @scan_in_contraction
// CHECK-SAME: family "contraction"
block.kernel @scan_in_contraction_kernel interface [#block.view_argument<"x", f32, ["M", "N"], in>, #block.view_argument<"y", f32, ["M", "N"], out>] checks [] overlaps [] {
  block.program @scan_in_contraction privates [] parameters [#block.parameter<"BM", ownership, int domain = [16, 32, 64] column = "ownership_m">, #block.parameter<"BN", scan, int domain = [16, 32, 64] column = "scan">] (%x: !block.view<f32, 2>, %y: !block.view<f32, 2>) {
    block.group size(1) {
    ^bb0(%p: index):
      %c1 = block.constant 1 : index : index
      %zero = block.constant 0.0 : f32 : f32
      %m = block.lanes %p step %c1 : !block.fragment<index, [BM]>
      %n = block.lanes %p step %c1 : !block.fragment<index, [BN]>
      %v = block.load %x[%m, %n] valid() fill %zero coordinate_axes [[0], [1]] valid_axes [] : !block.view<f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BN]>) valid () fill f32 -> !block.fragment<f32, [BM, BN]>
      %s = block.scan(%v) identity(%zero) axis 1 {
      ^bb0(%a: f32, %b: f32):
        %t = block.binary add %a, %b : f32
        block.yield %t : f32
      } : (!block.fragment<f32, [BM, BN]>) identities (f32) -> (!block.fragment<f32, [BM, BN]>)
      %w = block.transpose %s [1, 0] : !block.fragment<f32, [BM, BN]> to !block.fragment<f32, [BN, BM]>
      %acc = block.broadcast %zero [] : f32 to !block.fragment<f32, [BM, BM]>
      %d = block.contract %s, %w, %acc : !block.fragment<f32, [BM, BN]>, !block.fragment<f32, [BN, BM]> -> !block.fragment<f32, [BM, BM]>
      block.store %s to %y[%m, %n] valid() coordinate_axes [[0], [1]] valid_axes [] : !block.fragment<f32, [BM, BN]>, !block.view<f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BN]>) valid ()
    }
  }
}
}
