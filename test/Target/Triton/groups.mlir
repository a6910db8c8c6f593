// RUN: intent-translate --block-to-triton %s | FileCheck %s
// Two execution groups are segments of one launch; the second one's names stay apart.
// CHECK:      def halves_kernel(
// CHECK-NEXT:         x, y, z, N, M, x_stride_n, y_stride_n, z_stride_m, start_1, BN: tl.constexpr, BM: tl.constexpr,
// CHECK-NEXT:         INDEX: tl.constexpr):
// CHECK-NEXT:     pid = tl.program_id(0).to(INDEX)
// CHECK-NEXT:     if pid < start_1:
// CHECK-NEXT:         # halves.py:10
// CHECK-NEXT:         i = pid * BN + tl.arange(0, BN)
// CHECK-NEXT:         value = tl.load(x + i * x_stride_n, mask=i < N, other=0.0)
// CHECK-NEXT:         tl.store(y + i * y_stride_n, value * 2.0, mask=i < N)
// CHECK-NEXT:     else:
// CHECK-NEXT:         pid_1 = pid - start_1
// CHECK-NEXT:         # halves.py:20
// CHECK-NEXT:         i_1 = pid_1 * BM + tl.arange(0, BM)
// CHECK-NEXT:         value_1 = (i_1 * 3).to(tl.int32)
// CHECK-NEXT:         tl.store(z + i_1 * z_stride_m, value_1, mask=i_1 < M)
// CHECK:      def symbols(x, y, z):
// CHECK-NEXT:     return dict(N=x.shape[0], M=z.shape[0])
// CHECK:      OPTIONS = dict(enable_fp_fusion=True, enable_reflect_ftz=False)
// CHECK:      VARIANTS = [
// CHECK-NEXT:     dict(
// CHECK-NEXT:         name="main",
// CHECK-NEXT:         kernel=halves_kernel,
// CHECK-NEXT:         guard=lambda **_: True,
// CHECK-NEXT:         coverage=lambda **_: dict(),
// CHECK-NEXT:         grid=lambda N, BN, M, BM, **_: triton.cdiv(N, BN) + triton.cdiv(M, BM),
// CHECK-NEXT:         index32=lambda N, BN, M, BM, **_: max(
// CHECK-NEXT:             triton.cdiv(N, BN) * BN + BN,
// CHECK-NEXT:             triton.cdiv(M, BM) * BM + BM,
// CHECK-NEXT:             (triton.cdiv(M, BM) * BM + BM) * 3,
// CHECK-NEXT:         ) < 2**31,
// CHECK-NEXT:         arguments=lambda x, y, z, N, M, BN, **_: (
// CHECK-NEXT:             x, y, z, N, M, x.stride(0), y.stride(0), z.stride(0), triton.cdiv(N, BN),
// CHECK-NEXT:         ),
// CHECK-NEXT:         signature=("*fp32", "*fp32", "*i32", "extent/16", "extent/16", "stride", "stride", "stride", "extent"),
// CHECK-NEXT:         configs=[
// CHECK-NEXT:             triton.Config({"BN": 32, "BM": 16}),
// CHECK-NEXT:         ],
// CHECK-NEXT:     ),
// CHECK-NEXT: ]

module attributes {block.target = #block.target<"triton", "sm_90", {}>} {
block.kernel @halves interface [#block.view_argument<"x", f32, ["N"], in>, #block.view_argument<"y", f32, ["N"], out>, #block.view_argument<"z", i32, ["M"], out>] checks [] overlaps [] {
  block.program @main privates ["N", "M"]
      parameters [#block.parameter<"BN", ownership, int domain = [32] column = "BN">, #block.parameter<"BM", ownership, int domain = [16] column = "BM">] configurations #block.configurations<["BN", "BM"], [array<i64: 32, 16>]>
      (%x: !block.view<f32, 1>, %y: !block.view<f32, 1>, %z: !block.view<i32, 1>, %p0: index, %p1: index) {
    block.group size(ceil_div("N", BN)) {
    ^bb0(%pid1: index):
      %v1 = block.param BN loc("halves.py":10:5)
      %v2 = block.binary mul %pid1, %v1 : index loc("halves.py":10:5)
      %v3 = block.constant 1 : index : index loc("halves.py":10:5)
      %v4 = block.lanes %v2 step %v3 : !block.fragment<index, [BN]> loc("i"("halves.py":10:5))
      %v5 = block.broadcast %p0 [] : index to !block.fragment<index, [BN]> loc("halves.py":10:5)
      %v6 = block.compare lt %v4, %v5 : !block.fragment<index, [BN]> -> !block.fragment<i1, [BN]> loc("halves.py":10:5)
      %v7 = block.constant 0.0 : f32 : f32 loc("halves.py":10:5)
      %v8 = block.load %x[%v4] valid(%v6) fill %v7 coordinate_axes [[0]] valid_axes [[0]] : !block.view<f32, 1>, (!block.fragment<index, [BN]>) valid (!block.fragment<i1, [BN]>) fill f32 -> !block.fragment<f32, [BN]> loc("value"("halves.py":10:5))
      %v9 = block.constant 2.0 : f32 : f32 loc("halves.py":10:5)
      %v10 = block.broadcast %v9 [] : f32 to !block.fragment<f32, [BN]> loc("halves.py":10:5)
      %v11 = block.binary mul %v8, %v10 : !block.fragment<f32, [BN]> loc("halves.py":10:5)
      block.store %v11 to %y[%v4] valid(%v6) coordinate_axes [[0]] valid_axes [[0]] : !block.fragment<f32, [BN]>, !block.view<f32, 1>, (!block.fragment<index, [BN]>) valid (!block.fragment<i1, [BN]>) loc("halves.py":10:5)
    }
    block.group size(ceil_div("M", BM)) {
    ^bb0(%pid2: index):
      %v12 = block.param BM loc("halves.py":20:5)
      %v13 = block.binary mul %pid2, %v12 : index loc("halves.py":20:5)
      %v14 = block.constant 1 : index : index loc("halves.py":20:5)
      %v15 = block.lanes %v13 step %v14 : !block.fragment<index, [BM]> loc("i"("halves.py":20:5))
      %v16 = block.broadcast %p1 [] : index to !block.fragment<index, [BM]> loc("halves.py":20:5)
      %v17 = block.compare lt %v15, %v16 : !block.fragment<index, [BM]> -> !block.fragment<i1, [BM]> loc("halves.py":20:5)
      %v18 = block.constant 3 : index : index loc("halves.py":20:5)
      %v19 = block.broadcast %v18 [] : index to !block.fragment<index, [BM]> loc("halves.py":20:5)
      %v20 = block.binary mul %v15, %v19 : !block.fragment<index, [BM]> loc("halves.py":20:5)
      %v21 = block.cast %v20 : !block.fragment<index, [BM]> to !block.fragment<i32, [BM]> loc("value"("halves.py":20:5))
      block.store %v21 to %z[%v15] valid(%v17) coordinate_axes [[0]] valid_axes [[0]] : !block.fragment<i32, [BM]>, !block.view<i32, 1>, (!block.fragment<index, [BM]>) valid (!block.fragment<i1, [BM]>) loc("halves.py":20:5)
    }
  }
}
}
