// RUN: intent-translate --block-to-triton %s | FileCheck %s
// A scalar access with release and acquire stands between fences.
// CHECK:      def draw_kernel(x, y, o, N, x_stride_n, y_stride_0, o_stride_n, sink, INDEX: tl.constexpr):
// CHECK-NEXT:     pid = tl.program_id(0).to(INDEX)
// CHECK-NEXT:     # draw.py:10
// CHECK-NEXT:     value = tl.load(x + pid * x_stride_n, mask=pid < N, other=0.0)
// CHECK-NEXT:     tl.debug_barrier()
// CHECK-NEXT:     held = tl.full((), 0.0, tl.float32)
// CHECK-NEXT:     pending = pid < N
// CHECK-NEXT:     go = pending
// CHECK-NEXT:     while go:
// CHECK-NEXT:         found = tl.atomic_cas(
// CHECK-NEXT:             tl.where(pending, y.to(tl.pointer_type(tl.int32), bitcast=True), sink.to(tl.pointer_type(tl.int32), bitcast=True)),
// CHECK-NEXT:             held.to(tl.int32, bitcast=True),
// CHECK-NEXT:             tl.maximum(held, value).to(tl.int32, bitcast=True),
// CHECK-NEXT:             sem="acq_rel",
// CHECK-NEXT:         ).to(tl.float32, bitcast=True)
// CHECK-NEXT:         held, pending = tl.where(pending, found, held), pending & (found.to(tl.int32, bitcast=True) != held.to(tl.int32, bitcast=True))
// CHECK-NEXT:         go = pending
// CHECK-NEXT:     tl.debug_barrier()
// CHECK-NEXT:     tl.store(o + pid * o_stride_n, held, mask=pid < N)

module attributes {block.target = #block.target<"triton", "sm_90", {}>} {
block.kernel @draw interface [#block.view_argument<"x", f32, ["N"], in>, #block.view_argument<"y", f32, [1], inout>, #block.view_argument<"o", f32, ["N"], out>] checks [] overlaps [] {
  block.program @main privates ["N"]
      parameters []
      (%x: !block.view<f32, 1>, %y: !block.view<f32, 1>, %o: !block.view<f32, 1>, %p0: index) {
    block.group size(add("N", 3)) {
    ^bb0(%pid1: index):
      %v1 = block.constant 0 : index : index loc("draw.py":10:5)
      %v2 = block.compare lt %pid1, %p0 : index -> i1 loc("draw.py":10:5)
      %v3 = block.constant 0.0 : f32 : f32 loc("draw.py":10:5)
      %v4 = block.load %x[%pid1] valid(%v2) fill %v3 coordinate_axes [[]] valid_axes [[]] : !block.view<f32, 1>, (index) valid (i1) fill f32 -> f32 loc("value"("draw.py":10:5))
      %v5 = block.atomic max acq_rel %v4 to %y[%v1] valid(%v2) coordinate_axes [[]] valid_axes [[]] : f32, !block.view<f32, 1>, (index) valid (i1) -> f32 loc("draw.py":10:5)
      block.store %v5 to %o[%pid1] valid(%v2) coordinate_axes [[]] valid_axes [[]] : f32, !block.view<f32, 1>, (index) valid (i1) loc("draw.py":10:5)
    }
  }
}
}
