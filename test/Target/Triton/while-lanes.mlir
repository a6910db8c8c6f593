// RUN: intent-translate --block-to-triton %s | FileCheck %s
// A loop while any lane is active: the condition is one number for the instance.
// CHECK:      def collatz_kernel(x, y, N, x_stride_n, y_stride_n, BN: tl.constexpr, INDEX: tl.constexpr):
// CHECK-NEXT:     pid = tl.program_id(0).to(INDEX)
// CHECK-NEXT:     # collatz.py:10
// CHECK-NEXT:     n = pid * BN + tl.arange(0, BN)
// CHECK-NEXT:     x_tile = tl.load(x + n * x_stride_n, mask=n < N, other=1)
// CHECK-NEXT:     x_tile_1 = x_tile
// CHECK-NEXT:     carry = tl.zeros((BN,), tl.int64)
// CHECK-NEXT:     holds = tl.reduce(x_tile_1 > 1, 0, _or)
// CHECK-NEXT:     go = holds
// CHECK-NEXT:     while go:
// CHECK-NEXT:         active = x_tile_1 > 1
// CHECK-NEXT:         x_tile_1 = tl.where(active, tl.where((x_tile_1 & 1) == 1, x_tile_1 * 3 + 1, x_tile_1 >> 1), x_tile_1)
// CHECK-NEXT:         carry = tl.where(active, carry + 1, carry)
// CHECK-NEXT:         holds = tl.reduce(x_tile_1 > 1, 0, _or)
// CHECK-NEXT:         go = holds
// CHECK-NEXT:     tl.store(y + n * y_stride_n, carry, mask=n < N)

module attributes {block.target = #block.target<"triton", "sm_90", {}>} {
block.kernel @collatz interface [#block.view_argument<"x", i64, ["N"], in>, #block.view_argument<"y", i64, ["N"], out>] checks [] overlaps [] {
  block.program @main privates ["N"]
      parameters [#block.parameter<"BN", ownership, int domain = [16] column = "BN">] configurations #block.configurations<["BN"], [array<i64: 16>]>
      (%x: !block.view<i64, 1>, %y: !block.view<i64, 1>, %p0: index) {
    block.group size(ceil_div("N", BN)) {
    ^bb0(%pid1: index):
      %v1 = block.param BN loc("collatz.py":10:5)
      %v2 = block.binary mul %pid1, %v1 : index loc("collatz.py":10:5)
      %v3 = block.constant 1 : index : index loc("collatz.py":10:5)
      %v4 = block.lanes %v2 step %v3 : !block.fragment<index, [BN]> loc("n"("collatz.py":10:5))
      %v5 = block.broadcast %p0 [] : index to !block.fragment<index, [BN]> loc("collatz.py":10:5)
      %v6 = block.compare lt %v4, %v5 : !block.fragment<index, [BN]> -> !block.fragment<i1, [BN]> loc("collatz.py":10:5)
      %v7 = block.constant 1 : i64 : i64 loc("collatz.py":10:5)
      %v8 = block.load %x[%v4] valid(%v6) fill %v7 coordinate_axes [[0]] valid_axes [[0]] : !block.view<i64, 1>, (!block.fragment<index, [BN]>) valid (!block.fragment<i1, [BN]>) fill i64 -> !block.fragment<i64, [BN]> loc("x_tile"("collatz.py":10:5))
      %v9 = block.constant 0 : i64 : i64 loc("collatz.py":10:5)
      %v10 = block.broadcast %v9 [] : i64 to !block.fragment<i64, [BN]> loc("collatz.py":10:5)
      %r11:2 = scf.while (%s11_0 = %v8, %s11_1 = %v10) : (!block.fragment<i64, [BN]>, !block.fragment<i64, [BN]>) -> (!block.fragment<i64, [BN]>, !block.fragment<i64, [BN]>) {
        %v12 = block.constant 1 : i64 : i64 loc("collatz.py":10:5)
        %v13 = block.broadcast %v12 [] : i64 to !block.fragment<i64, [BN]> loc("collatz.py":10:5)
        %v14 = block.compare gt %s11_0, %v13 : !block.fragment<i64, [BN]> -> !block.fragment<i1, [BN]> loc("collatz.py":10:5)
        %v15 = block.constant false : i1 loc("collatz.py":10:5)
        %v16 = block.reduce(%v14) identity(%v15) axis 0 {
        ^bb0(%a16_0: i1, %b16_0: i1):
          %v17 = block.binary or %a16_0, %b16_0 : i1 loc("collatz.py":10:5)
          block.yield %v17 : i1 loc("collatz.py":10:5)
        } : (!block.fragment<i1, [BN]>) -> (i1) identities (i1) loc("collatz.py":10:5)
        scf.condition(%v16) %s11_0, %s11_1 : !block.fragment<i64, [BN]>, !block.fragment<i64, [BN]> loc("collatz.py":10:5)
      } do {
      ^bb0(%t11_0: !block.fragment<i64, [BN]>, %t11_1: !block.fragment<i64, [BN]>):
        %v18 = block.constant 1 : i64 : i64 loc("collatz.py":10:5)
        %v19 = block.broadcast %v18 [] : i64 to !block.fragment<i64, [BN]> loc("collatz.py":10:5)
        %v20 = block.compare gt %t11_0, %v19 : !block.fragment<i64, [BN]> -> !block.fragment<i1, [BN]> loc("active"("collatz.py":10:5))
        %v21 = block.constant 2 : i64 : i64 loc("collatz.py":10:5)
        %v22 = block.broadcast %v21 [] : i64 to !block.fragment<i64, [BN]> loc("collatz.py":10:5)
        %v23 = block.binary mod %t11_0, %v22 : !block.fragment<i64, [BN]> loc("collatz.py":10:5)
        %v24 = block.constant 1 : i64 : i64 loc("collatz.py":10:5)
        %v25 = block.broadcast %v24 [] : i64 to !block.fragment<i64, [BN]> loc("collatz.py":10:5)
        %v26 = block.compare eq %v23, %v25 : !block.fragment<i64, [BN]> -> !block.fragment<i1, [BN]> loc("collatz.py":10:5)
        %v27 = block.constant 3 : i64 : i64 loc("collatz.py":10:5)
        %v28 = block.broadcast %v27 [] : i64 to !block.fragment<i64, [BN]> loc("collatz.py":10:5)
        %v29 = block.binary mul %t11_0, %v28 : !block.fragment<i64, [BN]> loc("collatz.py":10:5)
        %v30 = block.constant 1 : i64 : i64 loc("collatz.py":10:5)
        %v31 = block.broadcast %v30 [] : i64 to !block.fragment<i64, [BN]> loc("collatz.py":10:5)
        %v32 = block.binary add %v29, %v31 : !block.fragment<i64, [BN]> loc("collatz.py":10:5)
        %v33 = block.constant 2 : i64 : i64 loc("collatz.py":10:5)
        %v34 = block.broadcast %v33 [] : i64 to !block.fragment<i64, [BN]> loc("collatz.py":10:5)
        %v35 = block.binary floordiv %t11_0, %v34 : !block.fragment<i64, [BN]> loc("collatz.py":10:5)
        %v36 = block.select %v26, %v32, %v35 : !block.fragment<i1, [BN]>, !block.fragment<i64, [BN]> loc("collatz.py":10:5)
        %v37 = block.select %v20, %v36, %t11_0 : !block.fragment<i1, [BN]>, !block.fragment<i64, [BN]> loc("collatz.py":10:5)
        %v38 = block.constant 1 : i64 : i64 loc("collatz.py":10:5)
        %v39 = block.broadcast %v38 [] : i64 to !block.fragment<i64, [BN]> loc("collatz.py":10:5)
        %v40 = block.binary add %t11_1, %v39 : !block.fragment<i64, [BN]> loc("collatz.py":10:5)
        %v41 = block.select %v20, %v40, %t11_1 : !block.fragment<i1, [BN]>, !block.fragment<i64, [BN]> loc("collatz.py":10:5)
        scf.yield %v37, %v41 : !block.fragment<i64, [BN]>, !block.fragment<i64, [BN]> loc("collatz.py":10:5)
      }
      block.store %r11#1 to %y[%v4] valid(%v6) coordinate_axes [[0]] valid_axes [[0]] : !block.fragment<i64, [BN]>, !block.view<i64, 1>, (!block.fragment<index, [BN]>) valid (!block.fragment<i1, [BN]>) loc("collatz.py":10:5)
    }
  }
}
}
