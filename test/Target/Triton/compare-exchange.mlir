// RUN: intent-translate --block-to-triton %s | FileCheck %s
// Each inactive lane of a tile has a slot of its own.
// CHECK:      def claimed_kernel(
// CHECK-NEXT:         x, z, y, M, N, x_stride_m, x_stride_n, z_stride_m, z_stride_n, y_stride_m, y_stride_n, sink, BM: tl.constexpr,
// CHECK-NEXT:         CN: tl.constexpr, INDEX: tl.constexpr):
// CHECK-NEXT:     pid = tl.program_id(0).to(INDEX)
// CHECK-NEXT:     # claimed.py:10
// CHECK-NEXT:     m = pid * BM + tl.arange(0, BM)
// CHECK-NEXT:     n = tl.arange(0, CN).to(INDEX)
// CHECK-NEXT:     mask = (m[:, None] < M) & (n[None, :] < N)
// CHECK-NEXT:     x_tile = tl.load(x + m[:, None] * x_stride_m + n[None, :] * x_stride_n, mask=mask, other=0)
// CHECK-NEXT:     held = tl.atomic_cas(
// CHECK-NEXT:         tl.where(mask, z + m[:, None].to(tl.int64) * z_stride_m + n[None, :].to(tl.int64) * z_stride_n, sink + tl.arange(0, BM)[:, None] * CN + tl.arange(0, CN)[None, :]),
// CHECK-NEXT:         tl.full((BM, CN), 1, tl.int64),
// CHECK-NEXT:         x_tile,
// CHECK-NEXT:         sem="relaxed",
// CHECK-NEXT:     )
// CHECK-NEXT:     tl.store(y + m[:, None] * y_stride_m + n[None, :] * y_stride_n, held, mask=mask)

module attributes {block.target = #block.target<"triton", "sm_90", {}>} {
block.kernel @claimed interface [#block.view_argument<"x", i64, ["M", "N"], in>, #block.view_argument<"z", i64, ["M", "N"], inout>, #block.view_argument<"y", i64, ["M", "N"], out>] checks [] overlaps [] {
  block.program @main privates ["M", "N"]
      parameters [#block.parameter<"BM", ownership, int domain = [4] column = "BM">, #block.parameter<"CN", coverage, int domain = [] binding = <pow2_ceil("N")>>] configurations #block.configurations<["BM"], [array<i64: 4>]>
      (%x: !block.view<i64, 2>, %z: !block.view<i64, 2>, %y: !block.view<i64, 2>, %p0: index, %p1: index) {
    block.group size(ceil_div("M", BM)) {
    ^bb0(%pid1: index):
      %v1 = block.param BM loc("claimed.py":10:5)
      %v2 = block.binary mul %pid1, %v1 : index loc("claimed.py":10:5)
      %v3 = block.constant 1 : index : index loc("claimed.py":10:5)
      %v4 = block.lanes %v2 step %v3 : !block.fragment<index, [BM]> loc("m"("claimed.py":10:5))
      %v5 = block.broadcast %p0 [] : index to !block.fragment<index, [BM]> loc("claimed.py":10:5)
      %v6 = block.compare lt %v4, %v5 : !block.fragment<index, [BM]> -> !block.fragment<i1, [BM]> loc("claimed.py":10:5)
      %v7 = block.constant 0 : index : index loc("claimed.py":10:5)
      %v8 = block.constant 1 : index : index loc("claimed.py":10:5)
      %v9 = block.lanes %v7 step %v8 : !block.fragment<index, [CN]> loc("n"("claimed.py":10:5))
      %v10 = block.broadcast %p1 [] : index to !block.fragment<index, [CN]> loc("claimed.py":10:5)
      %v11 = block.compare lt %v9, %v10 : !block.fragment<index, [CN]> -> !block.fragment<i1, [CN]> loc("claimed.py":10:5)
      %v12 = block.constant 0 : i64 : i64 loc("claimed.py":10:5)
      %v13 = block.load %x[%v4, %v9] valid(%v6, %v11) fill %v12 coordinate_axes [[0], [1]] valid_axes [[0], [1]] : !block.view<i64, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [CN]>) valid (!block.fragment<i1, [BM]>, !block.fragment<i1, [CN]>) fill i64 -> !block.fragment<i64, [BM, CN]> loc("x_tile"("claimed.py":10:5))
      %v14 = block.constant 1 : i64 : i64 loc("claimed.py":10:5)
      %v15 = block.broadcast %v14 [] : i64 to !block.fragment<i64, [BM, CN]> loc("claimed.py":10:5)
      %v16 = block.compare_exchange relaxed %v15, %v13 to %z[%v4, %v9] valid(%v6, %v11) coordinate_axes [[0], [1]] valid_axes [[0], [1]] : !block.fragment<i64, [BM, CN]>, !block.view<i64, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [CN]>) valid (!block.fragment<i1, [BM]>, !block.fragment<i1, [CN]>) loc("claimed.py":10:5)
      block.store %v16 to %y[%v4, %v9] valid(%v6, %v11) coordinate_axes [[0], [1]] valid_axes [[0], [1]] : !block.fragment<i64, [BM, CN]>, !block.view<i64, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [CN]>) valid (!block.fragment<i1, [BM]>, !block.fragment<i1, [CN]>) loc("claimed.py":10:5)
    }
  }
}
}
