// RUN: intent-translate --block-to-triton %s | FileCheck %s
// A scan with its combine as a function, carried between chunks by the pick of its last lane.
// CHECK:      @triton.jit
// CHECK-NEXT: def _or(a, b):
// CHECK-NEXT:     return a | b
// CHECK:      @triton.jit
// CHECK-NEXT: def seen_kernel(
// CHECK-NEXT:         x, y, M, N, x_stride_m, x_stride_n, y_stride_m, y_stride_n, BM: tl.constexpr, BN: tl.constexpr,
// CHECK-NEXT:         INDEX: tl.constexpr):
// CHECK-NEXT:     pid = tl.program_id(0).to(INDEX)
// CHECK-NEXT:     # seen.py:10
// CHECK-NEXT:     n = pid * BN + tl.arange(0, BN)
// CHECK-NEXT:     carry = tl.full((BN,), False, tl.int1)
// CHECK-NEXT:     for m0 in range(0, M, BM):
// CHECK-NEXT:         m = m0 + tl.arange(0, BM).to(INDEX)
// CHECK-NEXT:         mask = (m[:, None] < M) & (n[None, :] < N)
// CHECK-NEXT:         x_tile = tl.load(x + m[:, None] * x_stride_m + n[None, :] * x_stride_n, mask=mask, other=False)
// CHECK-NEXT:         holds = tl.associative_scan(x_tile, 0, _or)
// CHECK-NEXT:         seen = holds | carry[None, :]
// CHECK-NEXT:         tl.store(y + m[:, None] * y_stride_m + n[None, :] * y_stride_n, seen, mask=mask)
// CHECK-NEXT:         m_1 = tl.arange(0, BM).to(INDEX)
// CHECK-NEXT:         carry = tl.reduce(tl.where(m_1[:, None] == BM - 1, seen, False), 0, _or)

module attributes {block.target = #block.target<"triton", "sm_90", {}>} {
block.kernel @seen interface [#block.view_argument<"x", i1, ["M", "N"], in>, #block.view_argument<"y", i1, ["M", "N"], out>] checks [] overlaps [] {
  block.program @main privates ["M", "N"]
      parameters [#block.parameter<"BM", ownership, int domain = [4] column = "BM">, #block.parameter<"BN", ownership, int domain = [8] column = "BN">] configurations #block.configurations<["BM", "BN"], [array<i64: 4, 8>]>
      (%x: !block.view<i1, 2>, %y: !block.view<i1, 2>, %p0: index, %p1: index) {
    block.group size(ceil_div("N", BN)) {
    ^bb0(%pid1: index):
      %v1 = block.param BN loc("seen.py":10:5)
      %v2 = block.binary mul %pid1, %v1 : index loc("seen.py":10:5)
      %v3 = block.constant 1 : index : index loc("seen.py":10:5)
      %v4 = block.lanes %v2 step %v3 : !block.fragment<index, [BN]> loc("n"("seen.py":10:5))
      %v5 = block.broadcast %p1 [] : index to !block.fragment<index, [BN]> loc("seen.py":10:5)
      %v6 = block.compare lt %v4, %v5 : !block.fragment<index, [BN]> -> !block.fragment<i1, [BN]> loc("seen.py":10:5)
      %v7 = block.constant false : i1 loc("seen.py":10:5)
      %v8 = block.broadcast %v7 [] : i1 to !block.fragment<i1, [BN]> loc("seen.py":10:5)
      %v9 = block.constant 0 : index : index loc("seen.py":10:5)
      %v10 = block.param BM loc("seen.py":10:5)
      %r11:1 = scf.for %i11 = %v9 to %p0 step %v10 iter_args(%c11_0 = %v8) -> (!block.fragment<i1, [BN]>) {
        %v12 = block.constant 1 : index : index loc("seen.py":10:5)
        %v13 = block.lanes %i11 step %v12 : !block.fragment<index, [BM]> loc("m"("seen.py":10:5))
        %v14 = block.broadcast %p0 [] : index to !block.fragment<index, [BM]> loc("seen.py":10:5)
        %v15 = block.compare lt %v13, %v14 : !block.fragment<index, [BM]> -> !block.fragment<i1, [BM]> loc("seen.py":10:5)
        %v16 = block.constant false : i1 loc("seen.py":10:5)
        %v17 = block.load %x[%v13, %v4] valid(%v15, %v6) fill %v16 coordinate_axes [[0], [1]] valid_axes [[0], [1]] : !block.view<i1, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BN]>) valid (!block.fragment<i1, [BM]>, !block.fragment<i1, [BN]>) fill i1 -> !block.fragment<i1, [BM, BN]> loc("x_tile"("seen.py":10:5))
        %v18 = block.constant false : i1 loc("seen.py":10:5)
        %v19 = block.scan(%v17) identity(%v18) axis 0 {
        ^bb0(%a19_0: i1, %b19_0: i1):
          %v20 = block.binary or %a19_0, %b19_0 : i1 loc("seen.py":10:5)
          block.yield %v20 : i1 loc("seen.py":10:5)
        } : (!block.fragment<i1, [BM, BN]>) identities (i1) -> (!block.fragment<i1, [BM, BN]>) loc("seen.py":10:5)
        %v21 = block.broadcast %c11_0 [1] : !block.fragment<i1, [BN]> to !block.fragment<i1, [BM, BN]> loc("seen.py":10:5)
        %v22 = block.binary or %v19, %v21 : !block.fragment<i1, [BM, BN]> loc("seen"("seen.py":10:5))
        block.store %v22 to %y[%v13, %v4] valid(%v15, %v6) coordinate_axes [[0], [1]] valid_axes [[0], [1]] : !block.fragment<i1, [BM, BN]>, !block.view<i1, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BN]>) valid (!block.fragment<i1, [BM]>, !block.fragment<i1, [BN]>) loc("seen.py":10:5)
        %v23 = block.param BM loc("seen.py":10:5)
        %v24 = block.constant 1 : index : index loc("seen.py":10:5)
        %v25 = block.binary sub %v23, %v24 : index loc("seen.py":10:5)
        %v26 = block.pick %v22 at %v25 axis 0 : !block.fragment<i1, [BM, BN]> -> !block.fragment<i1, [BN]> loc("seen.py":10:5)
        scf.yield %v26 : !block.fragment<i1, [BN]> loc("seen.py":10:5)
      } loc("seen.py":10:5)
    }
  }
}
}
