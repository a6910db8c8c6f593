// RUN: intent-opt --block-legalize-for-triton %s | FileCheck %s
// What means something else in Triton is rewritten in the IR.
module attributes {block.target = #block.target<"triton", "sm_90", {}>} {
// CHECK-LABEL: block.kernel @arithmetic
block.kernel @arithmetic interface [#block.view_argument<"x", f16, ["N"], in>, #block.view_argument<"y", f16, ["N"], out>, #block.scalar_argument<"s", bf16>, #block.scalar_argument<"f", f32>] checks [] overlaps [] {
  // Strides become private arguments, one an axis.
  // CHECK: privates ["N", "x.stride.0", "y.stride.0"]
  block.program @main privates ["N"] parameters [#block.parameter<"BN", ownership, int domain = [64] column = "ownership_n">]
      configurations #block.configurations<["BN"], [array<i64: 64>]>
      (%x: !block.view<f16, 1>, %y: !block.view<f16, 1>, %s: bf16, %f: f32, %N: index) {
    block.group size(ceil_div("N", BN)) {
    ^bb0(%p: index):
      %c1 = block.constant 1 : index : index
      %zero = block.constant 0.0 : f16 : f16
      %bn = block.param BN
      %base = block.binary mul %p, %bn : index
      %n = block.lanes %base step %c1 : !block.fragment<index, [BN]>
      %v = block.load %x[%n] valid() fill %zero coordinate_axes [[0]] valid_axes [] : !block.view<f16, 1>, (!block.fragment<index, [BN]>) valid () fill f16 -> !block.fragment<f16, [BN]>
      // Negation keeps the sign of zero.
      // CHECK: %[[MINUS:.*]] = block.broadcast {{.*}} : f16 to
      // CHECK: block.binary mul %{{.*}}, %[[MINUS]] : !block.fragment<f16, [BN]>
      %a = block.unary neg %v : !block.fragment<f16, [BN]>
      // f16 functions evaluate in f32 and round once.
      // CHECK: %[[WIDE:.*]] = block.cast %{{.*}} : !block.fragment<f16, [BN]> to !block.fragment<f32, [BN]>
      // CHECK: %[[EXP:.*]] = block.unary exp %[[WIDE]]
      // CHECK: block.cast %[[EXP]] : !block.fragment<f32, [BN]> to !block.fragment<f16, [BN]>
      %b = block.unary exp %a : !block.fragment<f16, [BN]>
      // CHECK: %[[QUOTIENT:.*]] = block.binary div %{{.*}}, %{{.*}} : !block.fragment<f32, [BN]>
      // CHECK: block.cast %[[QUOTIENT]]
      %c = block.binary div %b, %v : !block.fragment<f16, [BN]>
      // f16 has its own maximum, bf16 does not.
      // CHECK: block.binary maximum %{{.*}}, %{{.*}} : !block.fragment<f16, [BN]>
      %d = block.binary maximum %c, %v : !block.fragment<f16, [BN]>
      // CHECK: block.binary maximum %{{.*}}, %{{.*}} : f32
      %e = block.binary maximum %s, %s : bf16
      // 1 / (1 + exp(-x))
      // CHECK: block.unary exp %{{.*}} : f32
      // CHECK: block.binary add
      // CHECK: block.binary div %{{.*}}, %{{.*}} : f32
      %g = block.unary sigmoid %f : f32
      // Flushing is of one operation: its operand and its result.
      // CHECK: block.unary abs
      // CHECK: block.select
      // CHECK: block.unary exp2 %{{.*}} approximate : f32
      // CHECK: block.unary abs
      // CHECK: block.select
      %h = block.unary exp2 %g approximate ftz : f32
      %i = block.cast %h : f32 to f16
      %j = block.cast %e : bf16 to f16
      %k = block.binary add %i, %j : f16
      %kb = block.broadcast %k [] : f16 to !block.fragment<f16, [BN]>
      %l = block.binary add %d, %kb : !block.fragment<f16, [BN]>
      block.store %l to %y[%n] valid() coordinate_axes [[0]] valid_axes [] : !block.fragment<f16, [BN]>, !block.view<f16, 1>, (!block.fragment<index, [BN]>) valid ()
    }
  }
}
}
