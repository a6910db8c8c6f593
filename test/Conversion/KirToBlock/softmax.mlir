// RUN: intent-opt %s --convert-kir-to-block | FileCheck %s
// A row that may be short or long: a resident variant reads it once, a chunked one in three traversals.
// CHECK-LABEL: block.program @resident guard(le("N", 32768)) privates ["M", "N"]
// CHECK-COUNT-1: block.load
// CHECK-NOT: block.load
// CHECK-LABEL: block.program @chunked guard(not(le("N", 32768)))
// CHECK: scf.for
// CHECK: block.load
// CHECK: block.reduce
// CHECK: scf.for
// CHECK: block.load
// CHECK: block.reduce
// CHECK: scf.for
// CHECK: block.load
// CHECK: block.store
// CHECK-NOT: scf.for
module attributes {block.target = #block.target<"triton", "sm_90", {fragment_elements = 65536 : i64, serial_elements = 65536 : i64}>} {
kir.kernel @softmax(%x: !kir.view<f16, ["M", "N"], in> {kir.name = "x"}, %y: !kir.view<f16, ["M", "N"], out> {kir.name = "y"}) {
  %c0 = kir.constant 0 : index : index
  %c1 = kir.constant 1 : index : index
  %M = kir.extent <"M">
  %N = kir.extent <"N">
  %rows = kir.domain %c0 to %M step %c1 : !kir.domain<"M">
  %cols = kir.domain %c0 to %N step %c1 : !kir.domain<"N">
  %v = kir.read %x[%rows, %cols : !kir.domain<"M">, !kir.domain<"N">] : !kir.view<f16, ["M", "N"], in> -> !kir.tensor<f16, ["M", "N"]>
  %w = kir.cast %v : !kir.tensor<f16, ["M", "N"]> to !kir.tensor<f32, ["M", "N"]>
  %ninf = kir.constant 0xFF800000 : f32 : f32
  %m = kir.reduce(%w) identity(%ninf) axes [1] {
  ^bb0(%a: f32, %b: f32):
    %t = kir.binary maximum %a, %b : f32
    kir.yield %t : f32
  } : (!kir.tensor<f32, ["M", "N"]>) -> (!kir.tensor<f32, ["M"]>) identities (f32)
  %mb = kir.broadcast %m [0] : !kir.tensor<f32, ["M"]> to !kir.tensor<f32, ["M", "N"]>
  %d = kir.binary sub %w, %mb : !kir.tensor<f32, ["M", "N"]>
  %e = kir.unary exp %d : !kir.tensor<f32, ["M", "N"]>
  %zero = kir.constant 0.0 : f32 : f32
  %s = kir.reduce(%e) identity(%zero) axes [1] {
  ^bb0(%a: f32, %b: f32):
    %t = kir.binary add %a, %b : f32
    kir.yield %t : f32
  } : (!kir.tensor<f32, ["M", "N"]>) -> (!kir.tensor<f32, ["M"]>) identities (f32)
  %sb = kir.broadcast %s [0] : !kir.tensor<f32, ["M"]> to !kir.tensor<f32, ["M", "N"]>
  %o = kir.binary div %e, %sb : !kir.tensor<f32, ["M", "N"]>
  %h = kir.cast %o : !kir.tensor<f32, ["M", "N"]> to !kir.tensor<f16, ["M", "N"]>
  kir.write %h to %y[%rows, %cols : !kir.domain<"M">, !kir.domain<"N">] : !kir.tensor<f16, ["M", "N"]>, !kir.view<f16, ["M", "N"], out>
  kir.return
}
}
