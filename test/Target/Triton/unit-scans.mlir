// RUN: intent-opt --block-legalize-for-triton %s | FileCheck %s
// A scan down an axis beside which the others have one lane each is that of the lane; where a row decides, a branch on its parameters does.
module attributes {block.target = #block.target<"triton", "sm_90", {}>} {
// CHECK-LABEL: block.kernel @scans
block.kernel @scans interface [#block.scalar_argument<"s", f32>, #block.view_argument<"x", f32, ["N"], in>] checks [] overlaps [] {
  block.program @main privates ["N"]
      parameters [#block.parameter<"BT", reduction, int domain = [64] column = "BT">, #block.parameter<"BN", ownership, int domain = [1, 4] column = "BN">, #block.parameter<"CN", coverage, int domain = [] binding = <pow2_ceil("N")>>, #block.parameter<"DN", coverage, int domain = [] binding = <max(pow2_ceil("N"), 16)>>]
      configurations #block.configurations<["BT", "BN"], [array<i64: 64, 1>, array<i64: 64, 4>]> (%s: f32, %x: !block.view<f32, 1>, %n: index) {
    block.group size(1) {
    ^bb0(%p: index):
      %zero = block.constant 0.0 : f32 : f32
      // Always one lane.
      // CHECK: %[[A:.*]] = block.broadcast %{{.*}} [] : f32 to <f32, [1, BT, 1]>
      // CHECK-NOT: scf.if
      // CHECK: block.reduce{{.*}}axis 2
      // CHECK: block.reduce{{.*}}axis 0
      // CHECK: %[[RUNNING:.*]] = block.scan({{.*}} axis 0 reverse
      // CHECK: : (!block.fragment<f32, [BT]>)
      // CHECK: block.broadcast %[[RUNNING]] [1] : !block.fragment<f32, [BT]> to <f32, [1, BT, 1]>
      %a = block.broadcast %s [] : f32 to !block.fragment<f32, [1, BT, 1]>
      %ra = block.scan(%a) identity(%zero) axis 1 reverse {
      ^bb0(%l: f32, %r: f32):
        %f = block.binary add %l, %r : f32
        block.yield %f : f32
      } : (!block.fragment<f32, [1, BT, 1]>) identities(f32) -> (!block.fragment<f32, [1, BT, 1]>)
      // One lane in the first row.
      // CHECK: %[[BN:.*]] = block.param BN
      // CHECK: %[[UNIT:.*]] = block.compare eq %[[BN]]
      // CHECK: scf.if %[[UNIT]]
      // CHECK: block.scan({{.*}} axis 0 {
      // CHECK: : (!block.fragment<f32, [BT]>)
      // CHECK: } else {
      // CHECK: block.scan({{.*}} axis 0 {
      // CHECK: : (!block.fragment<f32, [BT, BN]>)
      %b = block.broadcast %s [] : f32 to !block.fragment<f32, [BT, BN]>
      %rb = block.scan(%b) identity(%zero) axis 0 {
      ^bb0(%l: f32, %r: f32):
        %f = block.binary add %l, %r : f32
        block.yield %f : f32
      } : (!block.fragment<f32, [BT, BN]>) identities(f32) -> (!block.fragment<f32, [BT, BN]>)
      // One lane in calls of one column.
      // CHECK: %[[CN:.*]] = block.param CN
      // CHECK: %[[CUNIT:.*]] = block.compare eq %[[CN]]
      // CHECK: scf.if %[[CUNIT]]
      %c = block.broadcast %s [] : f32 to !block.fragment<f32, [BT, CN]>
      %rc = block.scan(%c) identity(%zero) axis 0 {
      ^bb0(%l: f32, %r: f32):
        %f = block.binary add %l, %r : f32
        block.yield %f : f32
      } : (!block.fragment<f32, [BT, CN]>) identities(f32) -> (!block.fragment<f32, [BT, CN]>)
      // Never one lane.
      // CHECK: block.broadcast %{{.*}} [] : f32 to <f32, [BT, DN]>
      // CHECK-NOT: scf.if
      // CHECK: block.scan({{.*}} axis 0 {
      %d = block.broadcast %s [] : f32 to !block.fragment<f32, [BT, DN]>
      %rd = block.scan(%d) identity(%zero) axis 0 {
      ^bb0(%l: f32, %r: f32):
        %f = block.binary add %l, %r : f32
        block.yield %f : f32
      } : (!block.fragment<f32, [BT, DN]>) identities(f32) -> (!block.fragment<f32, [BT, DN]>)
      // Along the last axis.
      // CHECK: block.broadcast %{{.*}} [] : f32 to <f32, [BN, BT]>
      // CHECK-NOT: scf.if
      // CHECK: block.scan({{.*}} axis 1 {
      %e = block.broadcast %s [] : f32 to !block.fragment<f32, [BN, BT]>
      %re = block.scan(%e) identity(%zero) axis 1 {
      ^bb0(%l: f32, %r: f32):
        %f = block.binary add %l, %r : f32
        block.yield %f : f32
      } : (!block.fragment<f32, [BN, BT]>) identities(f32) -> (!block.fragment<f32, [BN, BT]>)
      block.yield
    }
  }
}
}
