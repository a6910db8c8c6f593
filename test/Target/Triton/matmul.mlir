// RUN: intent-translate --block-to-triton %s | FileCheck %s
// A tiled matrix product with grouped order, bias and epilogue: plain index arithmetic, one accumulator.
// CHECK:      @triton.jit
// CHECK-NEXT: def matmul_kernel(
// CHECK-NEXT:         a, b, bias, y, M, N, K, a_stride_m, a_stride_k, b_stride_k, b_stride_n, bias_stride_n, y_stride_m, y_stride_n,
// CHECK-NEXT:         BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GM: tl.constexpr, INDEX: tl.constexpr):
// CHECK-NEXT:     pid = tl.program_id(0).to(INDEX)
// CHECK-NEXT:     # matmul.py:10
// CHECK-NEXT:     tiles_m = (M + BM - 1) // BM
// CHECK-NEXT:     tiles_n = (N + BN - 1) // BN
// CHECK-NEXT:     per_group = GM * tiles_n
// CHECK-NEXT:     first_m = pid // per_group * GM
// CHECK-NEXT:     group_m = tl.maximum(tl.minimum(tiles_m - first_m, GM), 1)
// CHECK-NEXT:     inside = pid % per_group
// CHECK-NEXT:     tile_m = first_m + inside % group_m
// CHECK-NEXT:     tile_n = inside // group_m
// CHECK-NEXT:     # matmul.py:12
// CHECK-NEXT:     m = tile_m * BM + tl.arange(0, BM)
// CHECK-NEXT:     n = tile_n * BN + tl.arange(0, BN)
// CHECK-NEXT:     # matmul.py:13
// CHECK-NEXT:     acc = tl.zeros((BM, BN), tl.float32)
// CHECK-NEXT:     for k0 in range(0, K, BK):
// CHECK-NEXT:         k = k0 + tl.arange(0, BK).to(INDEX)
// CHECK-NEXT:         a_tile = tl.load(
// CHECK-NEXT:             a + m[:, None] * a_stride_m + k[None, :] * a_stride_k,
// CHECK-NEXT:             mask=(m[:, None] < M) & (k[None, :] < K),
// CHECK-NEXT:             other=0.0,
// CHECK-NEXT:         )
// CHECK-NEXT:         b_tile = tl.load(
// CHECK-NEXT:             b + k[:, None] * b_stride_k + n[None, :] * b_stride_n,
// CHECK-NEXT:             mask=(k[:, None] < K) & (n[None, :] < N),
// CHECK-NEXT:             other=0.0,
// CHECK-NEXT:         )
// CHECK-NEXT:         acc = tl.dot(a_tile, b_tile, acc)
// CHECK-NEXT:     # matmul.py:14
// CHECK-NEXT:     bias_tile = tl.load(bias + n * bias_stride_n, mask=n < N, other=0.0)
// CHECK-NEXT:     value = acc + bias_tile[None, :].to(tl.float32)
// CHECK-NEXT:     # matmul.py:15
// CHECK-NEXT:     gelu = value * 0.5 * (tl.erf(value * 0.70710677) + 1.0)
// CHECK-NEXT:     # matmul.py:16
// CHECK-NEXT:     tl.store(
// CHECK-NEXT:         y + m[:, None] * y_stride_m + n[None, :] * y_stride_n,
// CHECK-NEXT:         gelu.to(tl.float16),
// CHECK-NEXT:         mask=(m[:, None] < M) & (n[None, :] < N),
// CHECK-NEXT:     )

module attributes {block.target = #block.target<"triton", "sm_90", {}>} {
block.kernel @matmul interface [#block.view_argument<"a", f16, ["M", "K"], in>, #block.view_argument<"b", f16, ["K", "N"], in>, #block.view_argument<"bias", f16, ["N"], in>, #block.view_argument<"y", f16, ["M", "N"], out>] checks [] overlaps [] {
  block.program @main privates ["M", "N", "K"]
      parameters [#block.parameter<"BM", ownership, int domain = [16, 128] column = "BM">, #block.parameter<"BN", ownership, int domain = [16, 256] column = "BN">, #block.parameter<"BK", ownership, int domain = [32, 64] column = "BK">, #block.parameter<"GM", ownership, int domain = [2, 8] column = "GM">, #block.parameter<"NUM_WARPS", provider, int domain = [4, 8] column = "NUM_WARPS">, #block.parameter<"NUM_STAGES", provider, int domain = [3, 4] column = "NUM_STAGES">] configurations #block.configurations<["BM", "BN", "BK", "GM", "NUM_WARPS", "NUM_STAGES"], [array<i64: 16, 16, 32, 2, 4, 3>]>
      (%a: !block.view<f16, 2>, %b: !block.view<f16, 2>, %bias: !block.view<f16, 1>, %y: !block.view<f16, 2>, %p0: index, %p1: index, %p2: index) {
    block.group size(mul(ceil_div("M", BM), ceil_div("N", BN))) {
    ^bb0(%pid1: index):
      %v1 = block.param BM loc("matmul.py":10:5)
      %v2 = block.constant 1 : index : index loc("matmul.py":10:5)
      %v3 = block.binary sub %v1, %v2 : index loc("matmul.py":10:5)
      %v4 = block.binary add %p0, %v3 : index loc("matmul.py":10:5)
      %v5 = block.param BM loc("matmul.py":10:5)
      %v6 = block.binary floordiv %v4, %v5 : index loc("tiles_m"("matmul.py":10:5))
      %v7 = block.param BN loc("matmul.py":10:5)
      %v8 = block.constant 1 : index : index loc("matmul.py":10:5)
      %v9 = block.binary sub %v7, %v8 : index loc("matmul.py":10:5)
      %v10 = block.binary add %p1, %v9 : index loc("matmul.py":10:5)
      %v11 = block.param BN loc("matmul.py":10:5)
      %v12 = block.binary floordiv %v10, %v11 : index loc("tiles_n"("matmul.py":10:5))
      %v13 = block.param GM loc("matmul.py":10:5)
      %v14 = block.binary mul %v13, %v12 : index loc("per_group"("matmul.py":10:5))
      %v15 = block.binary floordiv %pid1, %v14 : index loc("matmul.py":10:5)
      %v16 = block.param GM loc("matmul.py":10:5)
      %v17 = block.binary mul %v15, %v16 : index loc("first_m"("matmul.py":10:5))
      %v18 = block.binary sub %v6, %v17 : index loc("matmul.py":10:5)
      %v19 = block.param GM loc("matmul.py":10:5)
      %v20 = block.binary minimum %v18, %v19 : index loc("matmul.py":10:5)
      %v21 = block.constant 1 : index : index loc("matmul.py":10:5)
      %v22 = block.binary maximum %v20, %v21 : index loc("group_m"("matmul.py":10:5))
      %v23 = block.binary mod %pid1, %v14 : index loc("inside"("matmul.py":10:5))
      %v24 = block.binary mod %v23, %v22 : index loc("matmul.py":10:5)
      %v25 = block.binary add %v17, %v24 : index loc("tile_m"("matmul.py":10:5))
      %v26 = block.binary floordiv %v23, %v22 : index loc("tile_n"("matmul.py":10:5))
      %v27 = block.param BM loc("matmul.py":12:5)
      %v28 = block.binary mul %v25, %v27 : index loc("matmul.py":12:5)
      %v29 = block.constant 1 : index : index loc("matmul.py":12:5)
      %v30 = block.lanes %v28 step %v29 : !block.fragment<index, [BM]> loc("m"("matmul.py":12:5))
      %v31 = block.param BN loc("matmul.py":12:5)
      %v32 = block.binary mul %v26, %v31 : index loc("matmul.py":12:5)
      %v33 = block.constant 1 : index : index loc("matmul.py":12:5)
      %v34 = block.lanes %v32 step %v33 : !block.fragment<index, [BN]> loc("n"("matmul.py":12:5))
      %v35 = block.broadcast %p0 [] : index to !block.fragment<index, [BM]> loc("matmul.py":12:5)
      %v36 = block.compare lt %v30, %v35 : !block.fragment<index, [BM]> -> !block.fragment<i1, [BM]> loc("matmul.py":12:5)
      %v37 = block.broadcast %p1 [] : index to !block.fragment<index, [BN]> loc("matmul.py":12:5)
      %v38 = block.compare lt %v34, %v37 : !block.fragment<index, [BN]> -> !block.fragment<i1, [BN]> loc("matmul.py":12:5)
      %v39 = block.constant 0.0 : f32 : f32 loc("matmul.py":12:5)
      %v40 = block.broadcast %v39 [] : f32 to !block.fragment<f32, [BM, BN]> loc("matmul.py":12:5)
      %v41 = block.constant 0 : index : index loc("matmul.py":13:5)
      %v42 = block.param BK loc("matmul.py":13:5)
      %r43:1 = scf.for %i43 = %v41 to %p2 step %v42 iter_args(%c43_0 = %v40) -> (!block.fragment<f32, [BM, BN]>) {
        %v44 = block.constant 1 : index : index loc("matmul.py":13:5)
        %v45 = block.lanes %i43 step %v44 : !block.fragment<index, [BK]> loc("k"("matmul.py":13:5))
        %v46 = block.broadcast %p2 [] : index to !block.fragment<index, [BK]> loc("matmul.py":13:5)
        %v47 = block.compare lt %v45, %v46 : !block.fragment<index, [BK]> -> !block.fragment<i1, [BK]> loc("matmul.py":13:5)
        %v48 = block.constant 0.0 : f16 : f16 loc("matmul.py":13:5)
        %v49 = block.load %a[%v30, %v45] valid(%v36, %v47) fill %v48 coordinate_axes [[0], [1]] valid_axes [[0], [1]] : !block.view<f16, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BK]>) valid (!block.fragment<i1, [BM]>, !block.fragment<i1, [BK]>) fill f16 -> !block.fragment<f16, [BM, BK]> loc("a_tile"("matmul.py":13:5))
        %v50 = block.constant 0.0 : f16 : f16 loc("matmul.py":13:5)
        %v51 = block.load %b[%v45, %v34] valid(%v47, %v38) fill %v50 coordinate_axes [[0], [1]] valid_axes [[0], [1]] : !block.view<f16, 2>, (!block.fragment<index, [BK]>, !block.fragment<index, [BN]>) valid (!block.fragment<i1, [BK]>, !block.fragment<i1, [BN]>) fill f16 -> !block.fragment<f16, [BK, BN]> loc("b_tile"("matmul.py":13:5))
        %v52 = block.contract %v49, %v51, %c43_0 : !block.fragment<f16, [BM, BK]>, !block.fragment<f16, [BK, BN]> -> !block.fragment<f32, [BM, BN]> loc("acc"("matmul.py":13:5))
        scf.yield %v52 : !block.fragment<f32, [BM, BN]> loc("matmul.py":13:5)
      } loc("matmul.py":13:5)
      %v53 = block.constant 0.0 : f16 : f16 loc("matmul.py":14:5)
      %v54 = block.load %bias[%v34] valid(%v38) fill %v53 coordinate_axes [[0]] valid_axes [[0]] : !block.view<f16, 1>, (!block.fragment<index, [BN]>) valid (!block.fragment<i1, [BN]>) fill f16 -> !block.fragment<f16, [BN]> loc("bias_tile"("matmul.py":14:5))
      %v55 = block.cast %v54 : !block.fragment<f16, [BN]> to !block.fragment<f32, [BN]> loc("matmul.py":14:5)
      %v56 = block.broadcast %v55 [1] : !block.fragment<f32, [BN]> to !block.fragment<f32, [BM, BN]> loc("matmul.py":14:5)
      %v57 = block.binary add %r43#0, %v56 : !block.fragment<f32, [BM, BN]> loc("value"("matmul.py":14:5))
      %v58 = block.constant 0.7071067811865476 : f32 : f32 loc("matmul.py":14:5)
      %v59 = block.broadcast %v58 [] : f32 to !block.fragment<f32, [BM, BN]> loc("matmul.py":14:5)
      %v60 = block.binary mul %v57, %v59 : !block.fragment<f32, [BM, BN]> loc("matmul.py":14:5)
      %v61 = block.unary erf %v60 : !block.fragment<f32, [BM, BN]> loc("matmul.py":14:5)
      %v62 = block.constant 0.5 : f32 : f32 loc("matmul.py":15:5)
      %v63 = block.broadcast %v62 [] : f32 to !block.fragment<f32, [BM, BN]> loc("matmul.py":15:5)
      %v64 = block.binary mul %v57, %v63 : !block.fragment<f32, [BM, BN]> loc("matmul.py":15:5)
      %v65 = block.constant 1.0 : f32 : f32 loc("matmul.py":15:5)
      %v66 = block.broadcast %v65 [] : f32 to !block.fragment<f32, [BM, BN]> loc("matmul.py":15:5)
      %v67 = block.binary add %v61, %v66 : !block.fragment<f32, [BM, BN]> loc("matmul.py":15:5)
      %v68 = block.binary mul %v64, %v67 : !block.fragment<f32, [BM, BN]> loc("gelu"("matmul.py":15:5))
      %v69 = block.cast %v68 : !block.fragment<f32, [BM, BN]> to !block.fragment<f16, [BM, BN]> loc("matmul.py":16:5)
      block.store %v69 to %y[%v30, %v34] valid(%v36, %v38) coordinate_axes [[0], [1]] valid_axes [[0], [1]] : !block.fragment<f16, [BM, BN]>, !block.view<f16, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BN]>) valid (!block.fragment<i1, [BM]>, !block.fragment<i1, [BN]>) loc("matmul.py":16:5)
    }
  }
}
}
