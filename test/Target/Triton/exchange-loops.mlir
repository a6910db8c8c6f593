// RUN: intent-translate --block-to-triton %s | FileCheck %s
// A float maximum that drops NaN is a loop over the lanes that are pending; those that are done exchange in the sink.
// CHECK:      @triton.jit
// CHECK-NEXT: def _or(a, b):
// CHECK-NEXT:     return a | b
// CHECK:      @triton.jit
// CHECK-NEXT: def meet_kernel(
// CHECK-NEXT:         x, p, y, o0, N, x_stride_n, p_stride_n, y_stride_m, o0_stride_n, sink, BN: tl.constexpr, INDEX: tl.constexpr):
// CHECK-NEXT:     pid = tl.program_id(0).to(INDEX)
// CHECK-NEXT:     # meet.py:10
// CHECK-NEXT:     n = pid * BN + tl.arange(0, BN)
// CHECK-NEXT:     x_tile = tl.load(x + n * x_stride_n, mask=n < N, other=0.0)
// CHECK-NEXT:     p_tile = tl.load(p + n * p_stride_n, mask=n < N, other=0)
// CHECK-NEXT:     at = p_tile.to(tl.int64)
// CHECK-NEXT:     held = tl.zeros((BN,), tl.float32)
// CHECK-NEXT:     pending = n < N
// CHECK-NEXT:     holds = tl.reduce(pending, 0, _or)
// CHECK-NEXT:     go = holds
// CHECK-NEXT:     while go:
// CHECK-NEXT:         found = tl.atomic_cas(
// CHECK-NEXT:             tl.where(pending, (y + at * y_stride_m).to(tl.pointer_type(tl.int32), bitcast=True), sink.to(tl.pointer_type(tl.int32), bitcast=True) + tl.arange(0, BN)),
// CHECK-NEXT:             held.to(tl.int32, bitcast=True),
// CHECK-NEXT:             tl.maximum(held, x_tile).to(tl.int32, bitcast=True),
// CHECK-NEXT:             sem="relaxed",
// CHECK-NEXT:         ).to(tl.float32, bitcast=True)
// CHECK-NEXT:         holds_1 = pending & (found.to(tl.int32, bitcast=True) != held.to(tl.int32, bitcast=True))
// CHECK-NEXT:         holds_2 = tl.maximum(found, x_tile).to(tl.int32, bitcast=True) != found.to(tl.int32, bitcast=True)
// CHECK-NEXT:         held = tl.where(pending, found, held)
// CHECK-NEXT:         pending = holds_1 & holds_2
// CHECK-NEXT:         holds = tl.reduce(pending, 0, _or)
// CHECK-NEXT:         go = holds
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
      %v12 = block.atomic max relaxed %v8 to %y[%v11] valid(%v6) coordinate_axes [[0]] valid_axes [[0]] : !block.fragment<f32, [BN]>, !block.view<f32, 1>, (!block.fragment<index, [BN]>) valid (!block.fragment<i1, [BN]>) -> !block.fragment<f32, [BN]> loc("meet.py":10:5)
      block.store %v12 to %o0[%v4] valid(%v6) coordinate_axes [[0]] valid_axes [[0]] : !block.fragment<f32, [BN]>, !block.view<f32, 1>, (!block.fragment<index, [BN]>) valid (!block.fragment<i1, [BN]>) loc("meet.py":10:5)
    }
  }
}
}
