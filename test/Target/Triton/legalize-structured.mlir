// RUN: intent-opt --block-legalize-for-triton %s | FileCheck %s
// A pick keeps the bits of one lane; f8 goes through a scan as f32.
module attributes {block.target = #block.target<"triton", "sm_90", {}>} {
// CHECK-LABEL: block.kernel @structured
block.kernel @structured interface [#block.scalar_argument<"s", f32>, #block.scalar_argument<"q", f8E4M3FN>, #block.scalar_argument<"lane", index>] checks [] overlaps [] {
  block.program @main privates [] parameters [] (%s: f32, %q: f8E4M3FN, %lane: index) {
    block.group size(1) {
    ^bb0(%p: index):
      // CHECK: %[[X:.*]] = block.broadcast %{{.*}} [] : f32 to <f32, [4, 8]>
      %x = block.broadcast %s [] : f32 to !block.fragment<f32, [4, 8]>
      // CHECK: %[[BITS:.*]] = block.bitcast %[[X]] : !block.fragment<f32, [4, 8]> to !block.fragment<i32, [4, 8]>
      // CHECK: %[[LANES:.*]] = block.lanes
      // CHECK: %[[IS:.*]] = block.compare eq %[[LANES]]
      // CHECK: %[[MASK:.*]] = block.broadcast %[[IS]] [1] : !block.fragment<i1, [8]> to <i1, [4, 8]>
      // CHECK: %[[ALONE:.*]] = block.select %[[MASK]], %[[BITS]]
      // CHECK: %[[OR:.*]] = block.reduce(%[[ALONE]])
      // CHECK: block.binary or
      // CHECK: %[[PICKED:.*]] = block.bitcast %[[OR]] : !block.fragment<i32, [4]> to !block.fragment<f32, [4]>
      %a = block.pick %x at %lane axis 1 : !block.fragment<f32, [4, 8]> -> !block.fragment<f32, [4]>
      // A scalar result, of an index: no bits to take.
      // CHECK: block.reduce
      // CHECK: -> (index)
      // CHECK-NOT: block.bitcast
      %l = block.broadcast %lane [] : index to !block.fragment<index, [8]>
      %b = block.pick %l at %lane axis 0 : !block.fragment<index, [8]> -> index
      %zero = block.constant 0.0 : f8E4M3FN : f8E4M3FN
      %y = block.broadcast %q [] : f8E4M3FN to !block.fragment<f8E4M3FN, [16]>
      // CHECK: %[[WIDE:.*]] = block.cast %{{.*}} : !block.fragment<f8E4M3FN, [16]> to !block.fragment<f32, [16]>
      // CHECK: %[[SCAN:.*]] = block.scan(%[[WIDE]])
      // CHECK: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32):
      // CHECK: block.cast %{{.*}} : f32 to f8E4M3FN
      // CHECK: block.yield %{{.*}} : f32
      // CHECK: block.cast %[[SCAN]] : !block.fragment<f32, [16]> to !block.fragment<f8E4M3FN, [16]>
      %r = block.scan(%y) identity(%zero) axis 0 reverse {
      ^bb0(%e: f8E4M3FN, %f: f8E4M3FN):
        %c = block.compare lt %e, %f : f8E4M3FN -> i1
        %t = block.select %c, %f, %e : i1, f8E4M3FN
        block.yield %t : f8E4M3FN
      } : (!block.fragment<f8E4M3FN, [16]>) identities (f8E4M3FN) -> (!block.fragment<f8E4M3FN, [16]>)
    }
  }
}
}
