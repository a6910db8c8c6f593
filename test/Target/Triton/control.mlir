// RUN: intent-translate --block-to-triton %s | FileCheck %s
// Scalars, while and if over variables that keep their type.
// CHECK:      @triton.jit
// CHECK-NEXT: def scalars_kernel(x, y, z, a, k: tl.int64, c: tl.int64, x_stride_n, y_stride_0, z_stride_0, INDEX: tl.constexpr):
// CHECK-NEXT:     pid = tl.program_id(0).to(INDEX)
// CHECK-NEXT:     # scalars.py:10
// CHECK-NEXT:     value = tl.load(x + k * x_stride_n)
// CHECK-NEXT:     tl.store(y, a * value + tl.cast(k, tl.float32))
// CHECK-NEXT:     carry = tl.cast(c, tl.int64)
// CHECK-NEXT:     steps = tl.full((), 0, tl.int64)
// CHECK-NEXT:     go = carry > 1
// CHECK-NEXT:     while go:
// CHECK-NEXT:         # scalars.py:20
// CHECK-NEXT:         odd = (carry & 1) == 1
// CHECK-NEXT:         if odd:
// CHECK-NEXT:             carry_1 = carry * 3 + 1
// CHECK-NEXT:         else:
// CHECK-NEXT:             carry_1 = carry >> 1
// CHECK-NEXT:         carry = carry_1
// CHECK-NEXT:         steps = steps + 1
// CHECK-NEXT:         go = carry > 1
// CHECK-NEXT:     # scalars.py:22
// CHECK-NEXT:     tl.store(z, steps)

module attributes {block.target = #block.target<"triton", "sm_90", {}>} {
block.kernel @scalars interface [#block.view_argument<"x", f32, ["N"], in>, #block.view_argument<"y", f32, [1], out>, #block.view_argument<"z", i64, [1], out>, #block.scalar_argument<"a", f32>, #block.scalar_argument<"k", index>, #block.scalar_argument<"c", i64>] checks [] overlaps [] {
  block.program @main privates []
      parameters []
      (%x: !block.view<f32, 1>, %y: !block.view<f32, 1>, %z: !block.view<i64, 1>, %a: f32, %k: index, %c: i64) {
    block.group size(1) {
    ^bb0(%pid1: index):
      %v1 = block.constant 0 : index : index loc("scalars.py":10:5)
      %v2 = block.constant 0.0 : f32 : f32 loc("scalars.py":10:5)
      %v3 = block.load %x[%k] valid() fill %v2 coordinate_axes [[]] valid_axes [] : !block.view<f32, 1>, (index) valid () fill f32 -> f32 loc("value"("scalars.py":10:5))
      %v4 = block.binary mul %a, %v3 : f32 loc("scalars.py":10:5)
      %v5 = block.cast %k : index to f32 loc("scalars.py":10:5)
      %v6 = block.binary add %v4, %v5 : f32 loc("scalars.py":10:5)
      block.store %v6 to %y[%v1] valid() coordinate_axes [[]] valid_axes [] : f32, !block.view<f32, 1>, (index) valid () loc("scalars.py":10:5)
      %v7 = block.constant 0 : i64 : i64 loc("scalars.py":20:5)
      %r8:2 = scf.while (%s8_0 = %c, %s8_1 = %v7) : (i64, i64) -> (i64, i64) {
        %v9 = block.constant 1 : i64 : i64 loc("scalars.py":20:5)
        %v10 = block.compare gt %s8_0, %v9 : i64 -> i1 loc("scalars.py":20:5)
        scf.condition(%v10) %s8_0, %s8_1 : i64, i64 loc("scalars.py":20:5)
      } do {
      ^bb0(%t8_0: i64, %t8_1: i64):
        %v11 = block.constant 2 : i64 : i64 loc("scalars.py":20:5)
        %v12 = block.binary mod %t8_0, %v11 : i64 loc("scalars.py":20:5)
        %v13 = block.constant 1 : i64 : i64 loc("scalars.py":20:5)
        %v14 = block.compare eq %v12, %v13 : i64 -> i1 loc("odd"("scalars.py":20:5))
        %r15:1 = scf.if %v14 -> (i64) {
          %v16 = block.constant 3 : i64 : i64 loc("scalars.py":20:5)
          %v17 = block.binary mul %t8_0, %v16 : i64 loc("scalars.py":20:5)
          %v18 = block.constant 1 : i64 : i64 loc("scalars.py":20:5)
          %v19 = block.binary add %v17, %v18 : i64 loc("scalars.py":20:5)
          scf.yield %v19 : i64 loc("scalars.py":20:5)
        } else {
          %v20 = block.constant 2 : i64 : i64 loc("scalars.py":20:5)
          %v21 = block.binary floordiv %t8_0, %v20 : i64 loc("scalars.py":20:5)
          scf.yield %v21 : i64 loc("scalars.py":20:5)
        } loc("scalars.py":20:5)
        %v22 = block.constant 1 : i64 : i64 loc("scalars.py":20:5)
        %v23 = block.binary add %t8_1, %v22 : i64 loc("steps"("scalars.py":20:5))
        scf.yield %r15#0, %v23 : i64, i64 loc("scalars.py":20:5)
      }
      block.store %r8#1 to %z[%v1] valid() coordinate_axes [[]] valid_axes [] : i64, !block.view<i64, 1>, (index) valid () loc("scalars.py":22:5)
    }
  }
}
}
