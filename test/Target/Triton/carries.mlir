// RUN: intent-translate --block-to-triton %s | FileCheck %s
// Carries that exchange old and new values are assigned together; sibling loops share names.
// CHECK:      def online_kernel(
// CHECK-NEXT:         x, y, M, N, x_stride_m, x_stride_n, y_stride_m, y_stride_n, BM: tl.constexpr, BN: tl.constexpr,
// CHECK-NEXT:         INDEX: tl.constexpr):
// CHECK-NEXT:     pid = tl.program_id(0).to(INDEX)
// CHECK-NEXT:     # online.py:10
// CHECK-NEXT:     m = pid * BM + tl.arange(0, BM)
// CHECK-NEXT:     new_max = tl.full((BM,), -1e+30, tl.float32)
// CHECK-NEXT:     total = tl.zeros((BM,), tl.float32)
// CHECK-NEXT:     for n0 in range(0, N, BN):
// CHECK-NEXT:         n = n0 + tl.arange(0, BN).to(INDEX)
// CHECK-NEXT:         x_tile = tl.load(
// CHECK-NEXT:             x + m[:, None] * x_stride_m + n[None, :] * x_stride_n,
// CHECK-NEXT:             mask=(m[:, None] < M) & (n[None, :] < N),
// CHECK-NEXT:             other=-1e+30,
// CHECK-NEXT:         )
// CHECK-NEXT:         largest = tl.reduce(x_tile, 1, _maximum)
// CHECK-NEXT:         new_max_1 = tl.maximum(new_max, largest, propagate_nan=tl.PropagateNan.ALL)
// CHECK-NEXT:         value = tl.where(n[None, :] < N, libdevice.exp(x_tile - new_max_1[:, None]), 0.0)
// CHECK-NEXT:         total_1 = tl.sum(value, axis=1)
// CHECK-NEXT:         new_max, total = new_max_1, total * libdevice.exp(new_max - new_max_1) + total_1
// CHECK-NEXT:     # online.py:14
// CHECK-NEXT:     for n0 in range(0, N, BN):
// CHECK-NEXT:         n = n0 + tl.arange(0, BN).to(INDEX)
// CHECK-NEXT:         mask = (m[:, None] < M) & (n[None, :] < N)
// CHECK-NEXT:         x_tile = tl.load(x + m[:, None] * x_stride_m + n[None, :] * x_stride_n, mask=mask, other=-1e+30)
// CHECK-NEXT:         tl.store(
// CHECK-NEXT:             y + m[:, None] * y_stride_m + n[None, :] * y_stride_n,
// CHECK-NEXT:             tl.div_rn(libdevice.exp(x_tile - new_max[:, None]), total[:, None]),
// CHECK-NEXT:             mask=mask,
// CHECK-NEXT:         )

module attributes {block.target = #block.target<"triton", "sm_90", {}>} {
block.kernel @online interface [#block.view_argument<"x", f32, ["M", "N"], in>, #block.view_argument<"y", f32, ["M", "N"], out>] checks [] overlaps [] {
  block.program @main privates ["M", "N"]
      parameters [#block.parameter<"BM", ownership, int domain = [2] column = "BM">, #block.parameter<"BN", ownership, int domain = [16] column = "BN">] configurations #block.configurations<["BM", "BN"], [array<i64: 2, 16>]>
      (%x: !block.view<f32, 2>, %y: !block.view<f32, 2>, %p0: index, %p1: index) {
    block.group size(ceil_div("M", BM)) {
    ^bb0(%pid1: index):
      %v1 = block.param BM loc("online.py":10:5)
      %v2 = block.binary mul %pid1, %v1 : index loc("online.py":10:5)
      %v3 = block.constant 1 : index : index loc("online.py":10:5)
      %v4 = block.lanes %v2 step %v3 : !block.fragment<index, [BM]> loc("m"("online.py":10:5))
      %v5 = block.broadcast %p0 [] : index to !block.fragment<index, [BM]> loc("online.py":10:5)
      %v6 = block.compare lt %v4, %v5 : !block.fragment<index, [BM]> -> !block.fragment<i1, [BM]> loc("online.py":10:5)
      %v7 = block.constant -1.000000e+30 : f32 : f32 loc("online.py":10:5)
      %v8 = block.broadcast %v7 [] : f32 to !block.fragment<f32, [BM]> loc("online.py":10:5)
      %v9 = block.constant 0.0 : f32 : f32 loc("online.py":10:5)
      %v10 = block.broadcast %v9 [] : f32 to !block.fragment<f32, [BM]> loc("online.py":10:5)
      %v11 = block.constant 0 : index : index loc("online.py":10:5)
      %v12 = block.param BN loc("online.py":10:5)
      %r13:2 = scf.for %i13 = %v11 to %p1 step %v12 iter_args(%c13_0 = %v8, %c13_1 = %v10) -> (!block.fragment<f32, [BM]>, !block.fragment<f32, [BM]>) {
        %v14 = block.constant 1 : index : index loc("online.py":10:5)
        %v15 = block.lanes %i13 step %v14 : !block.fragment<index, [BN]> loc("n"("online.py":10:5))
        %v16 = block.broadcast %p1 [] : index to !block.fragment<index, [BN]> loc("online.py":10:5)
        %v17 = block.compare lt %v15, %v16 : !block.fragment<index, [BN]> -> !block.fragment<i1, [BN]> loc("online.py":10:5)
        %v18 = block.constant -1.000000e+30 : f32 : f32 loc("online.py":10:5)
        %v19 = block.load %x[%v4, %v15] valid(%v6, %v17) fill %v18 coordinate_axes [[0], [1]] valid_axes [[0], [1]] : !block.view<f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BN]>) valid (!block.fragment<i1, [BM]>, !block.fragment<i1, [BN]>) fill f32 -> !block.fragment<f32, [BM, BN]> loc("x_tile"("online.py":10:5))
        %v20 = block.constant -1.000000e+30 : f32 : f32 loc("online.py":10:5)
        %v21 = block.reduce(%v19) identity(%v20) axis 1 {
        ^bb0(%a21_0: f32, %b21_0: f32):
          %v22 = block.binary maximum %a21_0, %b21_0 : f32 loc("online.py":10:5)
          block.yield %v22 : f32 loc("online.py":10:5)
        } : (!block.fragment<f32, [BM, BN]>) -> (!block.fragment<f32, [BM]>) identities (f32) loc("online.py":10:5)
        %v23 = block.binary maximum %c13_0, %v21 : !block.fragment<f32, [BM]> loc("new_max"("online.py":10:5))
        %v24 = block.broadcast %v23 [0] : !block.fragment<f32, [BM]> to !block.fragment<f32, [BM, BN]> loc("online.py":10:5)
        %v25 = block.binary sub %v19, %v24 : !block.fragment<f32, [BM, BN]> loc("online.py":10:5)
        %v26 = block.unary exp %v25 : !block.fragment<f32, [BM, BN]> loc("online.py":10:5)
        %v27 = block.broadcast %v17 [1] : !block.fragment<i1, [BN]> to !block.fragment<i1, [BM, BN]> loc("online.py":10:5)
        %v28 = block.constant 0.0 : f32 : f32 loc("online.py":10:5)
        %v29 = block.broadcast %v28 [] : f32 to !block.fragment<f32, [BM, BN]> loc("online.py":10:5)
        %v30 = block.select %v27, %v26, %v29 : !block.fragment<i1, [BM, BN]>, !block.fragment<f32, [BM, BN]> loc("online.py":10:5)
        %v31 = block.binary sub %c13_0, %v23 : !block.fragment<f32, [BM]> loc("online.py":10:5)
        %v32 = block.unary exp %v31 : !block.fragment<f32, [BM]> loc("online.py":10:5)
        %v33 = block.binary mul %c13_1, %v32 : !block.fragment<f32, [BM]> loc("online.py":10:5)
        %v34 = block.constant 0.0 : f32 : f32 loc("online.py":10:5)
        %v35 = block.reduce(%v30) identity(%v34) axis 1 {
        ^bb0(%a35_0: f32, %b35_0: f32):
          %v36 = block.binary add %a35_0, %b35_0 : f32 loc("online.py":10:5)
          block.yield %v36 : f32 loc("online.py":10:5)
        } : (!block.fragment<f32, [BM, BN]>) -> (!block.fragment<f32, [BM]>) identities (f32) loc("online.py":10:5)
        %v37 = block.binary add %v33, %v35 : !block.fragment<f32, [BM]> loc("total"("online.py":10:5))
        scf.yield %v23, %v37 : !block.fragment<f32, [BM]>, !block.fragment<f32, [BM]> loc("online.py":10:5)
      } loc("online.py":10:5)
      %v38 = block.constant 0 : index : index loc("online.py":14:5)
      %v39 = block.param BN loc("online.py":14:5)
      scf.for %i40 = %v38 to %p1 step %v39 {
        %v41 = block.constant 1 : index : index loc("online.py":14:5)
        %v42 = block.lanes %i40 step %v41 : !block.fragment<index, [BN]> loc("n"("online.py":14:5))
        %v43 = block.broadcast %p1 [] : index to !block.fragment<index, [BN]> loc("online.py":14:5)
        %v44 = block.compare lt %v42, %v43 : !block.fragment<index, [BN]> -> !block.fragment<i1, [BN]> loc("online.py":14:5)
        %v45 = block.constant -1.000000e+30 : f32 : f32 loc("online.py":14:5)
        %v46 = block.load %x[%v4, %v42] valid(%v6, %v44) fill %v45 coordinate_axes [[0], [1]] valid_axes [[0], [1]] : !block.view<f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BN]>) valid (!block.fragment<i1, [BM]>, !block.fragment<i1, [BN]>) fill f32 -> !block.fragment<f32, [BM, BN]> loc("x_tile"("online.py":14:5))
        %v47 = block.broadcast %r13#0 [0] : !block.fragment<f32, [BM]> to !block.fragment<f32, [BM, BN]> loc("online.py":14:5)
        %v48 = block.binary sub %v46, %v47 : !block.fragment<f32, [BM, BN]> loc("online.py":14:5)
        %v49 = block.unary exp %v48 : !block.fragment<f32, [BM, BN]> loc("online.py":14:5)
        %v50 = block.broadcast %r13#1 [0] : !block.fragment<f32, [BM]> to !block.fragment<f32, [BM, BN]> loc("online.py":14:5)
        %v51 = block.binary div %v49, %v50 : !block.fragment<f32, [BM, BN]> loc("online.py":14:5)
        block.store %v51 to %y[%v4, %v42] valid(%v6, %v44) coordinate_axes [[0], [1]] valid_axes [[0], [1]] : !block.fragment<f32, [BM, BN]>, !block.view<f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BN]>) valid (!block.fragment<i1, [BM]>, !block.fragment<i1, [BN]>) loc("online.py":14:5)
      } loc("online.py":14:5)
    }
  }
}
}
