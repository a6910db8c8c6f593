// RUN: intent-translate --block-to-triton %s | FileCheck %s
// An atomic load is an or of no bits; pointer and mask have every lane.
// CHECK:      def meet_kernel(x, p, y, o0, N, x_stride_n, p_stride_n, y_stride_m, o0_stride_n, BN: tl.constexpr, INDEX: tl.constexpr):
// CHECK-NEXT:     pid = tl.program_id(0).to(INDEX)
// CHECK-NEXT:     # meet.py:10
// CHECK-NEXT:     n = pid * BN + tl.arange(0, BN)
// CHECK-NEXT:     x_tile = tl.load(x + n * x_stride_n, mask=n < N, other=0.0)
// CHECK-NEXT:     p_tile = tl.load(p + n * p_stride_n, mask=n < N, other=0)
// CHECK-NEXT:     at = p_tile.to(tl.int64)
// CHECK-NEXT:     held = tl.atomic_or(
// CHECK-NEXT:         (y + at * y_stride_m).to(tl.pointer_type(tl.int32), bitcast=True),
// CHECK-NEXT:         0,
// CHECK-NEXT:         mask=n < N,
// CHECK-NEXT:         sem="relaxed",
// CHECK-NEXT:     ).to(tl.float32, bitcast=True)
// CHECK-NEXT:     tl.store(o0 + n * o0_stride_n, held, mask=n < N)

module attributes {block.target = #block.target<"triton", "sm_90", {}>} {
block.kernel @meet interface [#block.view_argument<"x", f32, ["N"], in>, #block.view_argument<"p", i32, ["N"], in>, #block.view_argument<"y", f32, ["M"], inout>, #block.view_argument<"o0", f32, ["N"], out>] checks [] overlaps [] {
  block.program @main privates ["N"]
      parameters [#block.parameter<"BN", ownership, int domain = [16] column = "BN">] configurations #block.configurations<["BN"], [array<i64: 16>]>
      (%x: !block.view<f32, 1>, %p: !block.view<i32, 1>, %y: !block.view<f32, 1>, %o0: !block.view<f32, 1>, %p0: index) {
    block.group size(ceil_div("N", BN)) {
    ^bb0(%pid1: index):
      %v1 = block.param BN loc("meet.py":10:5)
      %v2 = block.binary mul %pid1, %v1 : index loc("meet.py":10:5)
      %v3 = block.constant 1 : index : index loc("meet.py":10:5)
      %v4 = block.lanes %v2 step %v3 : !block.fragment<index, [BN]> loc("n"("meet.py":10:5))
      %v5 = block.broadcast %p0 [] : index to !block.fragment<index, [BN]> loc("meet.py":10:5)
      %v6 = block.compare lt %v4, %v5 : !block.fragment<index, [BN]> -> !block.fragment<i1, [BN]> loc("meet.py":10:5)
      %v7 = block.constant 0.0 : f32 : f32 loc("meet.py":10:5)
      %v8 = block.load %x[%v4] valid(%v6) fill %v7 coordinate_axes [[0]] valid_axes [[0]] : !block.view<f32, 1>, (!block.fragment<index, [BN]>) valid (!block.fragment<i1, [BN]>) fill f32 -> !block.fragment<f32, [BN]> loc("x_tile"("meet.py":10:5))
      %v9 = block.constant 0 : i32 : i32 loc("meet.py":10:5)
      %v10 = block.load %p[%v4] valid(%v6) fill %v9 coordinate_axes [[0]] valid_axes [[0]] : !block.view<i32, 1>, (!block.fragment<index, [BN]>) valid (!block.fragment<i1, [BN]>) fill i32 -> !block.fragment<i32, [BN]> loc("p_tile"("meet.py":10:5))
      %v11 = block.cast %v10 : !block.fragment<i32, [BN]> to !block.fragment<index, [BN]> loc("at"("meet.py":10:5))
      %v12 = block.atomic load relaxed %v8 to %y[%v11] valid(%v6) coordinate_axes [[0]] valid_axes [[0]] : !block.fragment<f32, [BN]>, !block.view<f32, 1>, (!block.fragment<index, [BN]>) valid (!block.fragment<i1, [BN]>) -> !block.fragment<f32, [BN]> loc("meet.py":10:5)
      block.store %v12 to %o0[%v4] valid(%v6) coordinate_axes [[0]] valid_axes [[0]] : !block.fragment<f32, [BN]>, !block.view<f32, 1>, (!block.fragment<index, [BN]>) valid (!block.fragment<i1, [BN]>) loc("meet.py":10:5)
    }
  }
}
}
