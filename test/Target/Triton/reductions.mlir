// RUN: intent-translate --block-to-triton %s | FileCheck %s
// Sums are native, other combines are functions; a reduction of several components returns a tuple.
// CHECK:      @triton.jit
// CHECK-NEXT: def _maximum(a, b):
// CHECK-NEXT:     return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)
// CHECK:      @triton.jit
// CHECK-NEXT: def _mul(a, b):
// CHECK-NEXT:     return a * b
// CHECK:      @triton.jit
// CHECK-NEXT: def _and(a, b):
// CHECK-NEXT:     return a & b
// CHECK:      @triton.jit
// CHECK-NEXT: def _combine(a0, a1, b0, b1):
// CHECK-NEXT:     # reductions.py:13
// CHECK-NEXT:     holds = b0 != b0
// CHECK-NEXT:     holds_1 = (a0 != a0) & ((a1 < b1) | ~holds) | ((a0 > b0) | (a0 == b0) & (a1 < b1)) & ~holds
// CHECK-NEXT:     return tl.where(holds_1, a0, b0), tl.where(holds_1, a1, b1)
// CHECK:      @triton.jit
// CHECK-NEXT: def reductions_kernel(
// CHECK-NEXT:         x, a, b, c, d, M, N, x_stride_m, x_stride_n, a_stride_m, b_stride_m, c_stride_m, d_stride_m, BM: tl.constexpr,
// CHECK-NEXT:         CN: tl.constexpr, INDEX: tl.constexpr):
// CHECK-NEXT:     pid = tl.program_id(0).to(INDEX)
// CHECK-NEXT:     # reductions.py:10
// CHECK-NEXT:     m = pid * BM + tl.arange(0, BM)
// CHECK-NEXT:     n = tl.arange(0, CN).to(INDEX)
// CHECK-NEXT:     x_tile = tl.load(
// CHECK-NEXT:         x + m[:, None] * x_stride_m + n[None, :] * x_stride_n,
// CHECK-NEXT:         mask=(m[:, None] < M) & (n[None, :] < N),
// CHECK-NEXT:         other=float("-inf"),
// CHECK-NEXT:     )
// CHECK-NEXT:     largest = tl.reduce(x_tile, 1, _maximum)
// CHECK-NEXT:     tl.store(a + m * a_stride_m, largest, mask=m < M)
// CHECK-NEXT:     # reductions.py:11
// CHECK-NEXT:     reduced = tl.reduce(tl.where(n[None, :] < N, x_tile, 1.0), 1, _mul)
// CHECK-NEXT:     tl.store(b + m * b_stride_m, reduced, mask=m < M)
// CHECK-NEXT:     holds = x_tile > -1.0
// CHECK-NEXT:     # reductions.py:12
// CHECK-NEXT:     holds_1 = tl.reduce(tl.where(n[None, :] < N, holds, True), 1, _and)
// CHECK-NEXT:     tl.store(c + m * c_stride_m, holds_1, mask=m < M)
// CHECK-NEXT:     # reductions.py:13
// CHECK-NEXT:     reduced_1, index = tl.reduce((x_tile, tl.broadcast_to(n[None, :].to(tl.int64), (BM, CN))), 1, _combine)
// CHECK-NEXT:     tl.store(d + m * d_stride_m, index.to(tl.int64), mask=m < M)

module attributes {block.target = #block.target<"triton", "sm_90", {}>} {
block.kernel @reductions interface [#block.view_argument<"x", f32, ["M", "N"], in>, #block.view_argument<"a", f32, ["M"], out>, #block.view_argument<"b", f32, ["M"], out>, #block.view_argument<"c", i1, ["M"], out>, #block.view_argument<"d", i64, ["M"], out>] checks [] overlaps [] {
  block.program @main privates ["M", "N"]
      parameters [#block.parameter<"BM", ownership, int domain = [4] column = "BM">, #block.parameter<"CN", coverage, int domain = [] binding = <pow2_ceil("N")>>] configurations #block.configurations<["BM"], [array<i64: 4>]>
      (%x: !block.view<f32, 2>, %a: !block.view<f32, 1>, %b: !block.view<f32, 1>, %c: !block.view<i1, 1>, %d: !block.view<i64, 1>, %p0: index, %p1: index) {
    block.group size(ceil_div("M", BM)) {
    ^bb0(%pid1: index):
      %v1 = block.param BM loc("reductions.py":10:5)
      %v2 = block.binary mul %pid1, %v1 : index loc("reductions.py":10:5)
      %v3 = block.constant 1 : index : index loc("reductions.py":10:5)
      %v4 = block.lanes %v2 step %v3 : !block.fragment<index, [BM]> loc("m"("reductions.py":10:5))
      %v5 = block.broadcast %p0 [] : index to !block.fragment<index, [BM]> loc("reductions.py":10:5)
      %v6 = block.compare lt %v4, %v5 : !block.fragment<index, [BM]> -> !block.fragment<i1, [BM]> loc("reductions.py":10:5)
      %v7 = block.constant 0 : index : index loc("reductions.py":10:5)
      %v8 = block.constant 1 : index : index loc("reductions.py":10:5)
      %v9 = block.lanes %v7 step %v8 : !block.fragment<index, [CN]> loc("n"("reductions.py":10:5))
      %v10 = block.broadcast %p1 [] : index to !block.fragment<index, [CN]> loc("reductions.py":10:5)
      %v11 = block.compare lt %v9, %v10 : !block.fragment<index, [CN]> -> !block.fragment<i1, [CN]> loc("reductions.py":10:5)
      %v12 = block.constant 0xFF800000 : f32 : f32 loc("reductions.py":10:5)
      %v13 = block.load %x[%v4, %v9] valid(%v6, %v11) fill %v12 coordinate_axes [[0], [1]] valid_axes [[0], [1]] : !block.view<f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [CN]>) valid (!block.fragment<i1, [BM]>, !block.fragment<i1, [CN]>) fill f32 -> !block.fragment<f32, [BM, CN]> loc("x_tile"("reductions.py":10:5))
      %v14 = block.constant 0xFF800000 : f32 : f32 loc("reductions.py":10:5)
      %v15 = block.reduce(%v13) identity(%v14) axis 1 {
      ^bb0(%a15_0: f32, %b15_0: f32):
        %v16 = block.binary maximum %a15_0, %b15_0 : f32 loc("reductions.py":10:5)
        block.yield %v16 : f32 loc("reductions.py":10:5)
      } : (!block.fragment<f32, [BM, CN]>) -> (!block.fragment<f32, [BM]>) identities (f32) loc("reductions.py":10:5)
      block.store %v15 to %a[%v4] valid(%v6) coordinate_axes [[0]] valid_axes [[0]] : !block.fragment<f32, [BM]>, !block.view<f32, 1>, (!block.fragment<index, [BM]>) valid (!block.fragment<i1, [BM]>) loc("reductions.py":10:5)
      %v17 = block.broadcast %v11 [1] : !block.fragment<i1, [CN]> to !block.fragment<i1, [BM, CN]> loc("reductions.py":10:5)
      %v18 = block.constant 1.0 : f32 : f32 loc("reductions.py":10:5)
      %v19 = block.broadcast %v18 [] : f32 to !block.fragment<f32, [BM, CN]> loc("reductions.py":10:5)
      %v20 = block.select %v17, %v13, %v19 : !block.fragment<i1, [BM, CN]>, !block.fragment<f32, [BM, CN]> loc("reductions.py":10:5)
      %v21 = block.constant 1.0 : f32 : f32 loc("reductions.py":11:5)
      %v22 = block.reduce(%v20) identity(%v21) axis 1 {
      ^bb0(%a22_0: f32, %b22_0: f32):
        %v23 = block.binary mul %a22_0, %b22_0 : f32 loc("reductions.py":11:5)
        block.yield %v23 : f32 loc("reductions.py":11:5)
      } : (!block.fragment<f32, [BM, CN]>) -> (!block.fragment<f32, [BM]>) identities (f32) loc("reductions.py":11:5)
      block.store %v22 to %b[%v4] valid(%v6) coordinate_axes [[0]] valid_axes [[0]] : !block.fragment<f32, [BM]>, !block.view<f32, 1>, (!block.fragment<index, [BM]>) valid (!block.fragment<i1, [BM]>) loc("reductions.py":11:5)
      %v24 = block.constant -1.0 : f32 : f32 loc("reductions.py":11:5)
      %v25 = block.broadcast %v24 [] : f32 to !block.fragment<f32, [BM, CN]> loc("reductions.py":11:5)
      %v26 = block.compare gt %v13, %v25 : !block.fragment<f32, [BM, CN]> -> !block.fragment<i1, [BM, CN]> loc("holds"("reductions.py":11:5))
      %v27 = block.broadcast %v11 [1] : !block.fragment<i1, [CN]> to !block.fragment<i1, [BM, CN]> loc("reductions.py":11:5)
      %v28 = block.constant true : i1 loc("reductions.py":11:5)
      %v29 = block.broadcast %v28 [] : i1 to !block.fragment<i1, [BM, CN]> loc("reductions.py":11:5)
      %v30 = block.select %v27, %v26, %v29 : !block.fragment<i1, [BM, CN]>, !block.fragment<i1, [BM, CN]> loc("reductions.py":11:5)
      %v31 = block.constant true : i1 loc("reductions.py":12:5)
      %v32 = block.reduce(%v30) identity(%v31) axis 1 {
      ^bb0(%a32_0: i1, %b32_0: i1):
        %v33 = block.binary and %a32_0, %b32_0 : i1 loc("reductions.py":12:5)
        block.yield %v33 : i1 loc("reductions.py":12:5)
      } : (!block.fragment<i1, [BM, CN]>) -> (!block.fragment<i1, [BM]>) identities (i1) loc("reductions.py":12:5)
      block.store %v32 to %c[%v4] valid(%v6) coordinate_axes [[0]] valid_axes [[0]] : !block.fragment<i1, [BM]>, !block.view<i1, 1>, (!block.fragment<index, [BM]>) valid (!block.fragment<i1, [BM]>) loc("reductions.py":12:5)
      %v34 = block.broadcast %v9 [1] : !block.fragment<index, [CN]> to !block.fragment<index, [BM, CN]> loc("reductions.py":12:5)
      %v35 = block.constant 0xFF800000 : f32 : f32 loc("reductions.py":13:5)
      %v36 = block.constant 0 : index : index loc("reductions.py":13:5)
      %v37:2 = block.reduce(%v13, %v34) identity(%v35, %v36) axis 1 {
      ^bb0(%a37_0: f32, %a37_1: index, %b37_0: f32, %b37_1: index):
        %v38 = block.compare ne %a37_0, %a37_0 : f32 -> i1 loc("reductions.py":13:5)
        %v39 = block.compare ne %b37_0, %b37_0 : f32 -> i1 loc("reductions.py":13:5)
        %v40 = block.compare lt %a37_1, %b37_1 : index -> i1 loc("reductions.py":13:5)
        %v41 = block.compare gt %a37_0, %b37_0 : f32 -> i1 loc("reductions.py":13:5)
        %v42 = block.compare eq %a37_0, %b37_0 : f32 -> i1 loc("reductions.py":13:5)
        %v43 = block.binary and %v42, %v40 : i1 loc("reductions.py":13:5)
        %v44 = block.binary or %v41, %v43 : i1 loc("reductions.py":13:5)
        %v45 = block.unary not %v39 : i1 loc("reductions.py":13:5)
        %v46 = block.binary or %v40, %v45 : i1 loc("reductions.py":13:5)
        %v47 = block.binary and %v38, %v46 : i1 loc("reductions.py":13:5)
        %v48 = block.unary not %v39 : i1 loc("reductions.py":13:5)
        %v49 = block.binary and %v44, %v48 : i1 loc("reductions.py":13:5)
        %v50 = block.binary or %v47, %v49 : i1 loc("reductions.py":13:5)
        %v51 = block.select %v50, %a37_0, %b37_0 : i1, f32 loc("reductions.py":13:5)
        %v52 = block.select %v50, %a37_1, %b37_1 : i1, index loc("reductions.py":13:5)
        block.yield %v51, %v52 : f32, index loc("reductions.py":13:5)
      } : (!block.fragment<f32, [BM, CN]>, !block.fragment<index, [BM, CN]>) -> (!block.fragment<f32, [BM]>, !block.fragment<index, [BM]>) identities (f32, index) loc("reductions.py":13:5)
      %v53 = block.cast %v37#1 : !block.fragment<index, [BM]> to !block.fragment<i64, [BM]> loc("reductions.py":13:5)
      block.store %v53 to %d[%v4] valid(%v6) coordinate_axes [[0]] valid_axes [[0]] : !block.fragment<i64, [BM]>, !block.view<i64, 1>, (!block.fragment<index, [BM]>) valid (!block.fragment<i1, [BM]>) loc("reductions.py":13:5)
    }
  }
}
}
