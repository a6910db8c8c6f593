// RUN: intent-opt %s --split-input-file --convert-kir-to-block | FileCheck %s
// Checked programs: requirements of a loop that only computes are asked in a copy of what they need, and accesses tell their iterations.

module attributes {block.checked} {
// The sum keeps its form: rows are tiles. The requirement has an instance of its own, without the sum.
// CHECK-LABEL: block.kernel @pieces
// CHECK: block.group size(1)
// CHECK: scf.for %[[T:[a-z_0-9]*]] = %{{.*}} to %{{.*}} step %{{[a-z_0-9]*}} {
// CHECK-NEXT: %[[B:.*]] = block.binary mul %{{.*}}, %{{.*}} : index
// CHECK-NEXT: block.require %[[B]] in %{{.*}} to %{{.*}} "subregion begin" valid() valid_axes [] : index valid ()
// CHECK-NEXT: }
// CHECK: block.group size(ceil_div("M", BM))
// CHECK-NOT: block.require
// CHECK: block.store
kir.kernel @pieces(%x: !kir.view<f32, ["M", "N"], in> {kir.name = "x"}, %n: index {kir.name = "n"}, %y: !kir.view<f32, ["M"], out> {kir.name = "y"}) {
  %c0 = kir.constant 0 : index : index
  %c1 = kir.constant 1 : index : index
  %c4 = kir.constant 4 : index : index
  %zero = kir.constant 0.0 : f32 : f32
  %M = kir.extent <"M">
  %N = kir.extent <"N">
  %rows = kir.domain %c0 to %M step %c1 : !kir.domain<"M">
  %columns = kir.domain %c0 to %N step %c1 : !kir.domain<"N">
  %times = kir.domain %c0 to %n step %c1 : !kir.domain<"%n">
  %none = kir.broadcast %zero [] : f32 to !kir.tensor<f32, ["M"]>
  %sum = kir.for %times carry(%none : !kir.tensor<f32, ["M"]>) {
  ^bb0(%t: index, %total: !kir.tensor<f32, ["M"]>):
    %b = kir.binary mul %t, %c4 : index
    %e = kir.binary add %b, %c4 : index
    kir.require %b in %c0 to %N "subregion begin" : index
    %part = kir.subregion %columns[%b : %e] : !kir.domain<"N"> -> !kir.domain<4>
    %v = kir.read %x[%rows, %part : !kir.domain<"M">, !kir.domain<4>] : !kir.view<f32, ["M", "N"], in> -> !kir.tensor<f32, ["M", 4]>
    %s = kir.reduce(%v) identity(%zero) axes [1] {
    ^bb0(%l: f32, %r: f32):
      %a = kir.binary add %l, %r : f32
      kir.yield %a : f32
    } : (!kir.tensor<f32, ["M", 4]>) -> (!kir.tensor<f32, ["M"]>) identities (f32)
    %next = kir.binary add %total, %s : !kir.tensor<f32, ["M"]>
    kir.yield %next : !kir.tensor<f32, ["M"]>
  } : !kir.domain<"%n"> -> !kir.tensor<f32, ["M"]>
  kir.write %sum to %y[%rows : !kir.domain<"M">] : !kir.tensor<f32, ["M"]>, !kir.view<f32, ["M"], out>
  kir.return
}
}

// -----

module attributes {block.checked} {
// One instance walks the iterations: what is stored first lies in all of them.
// CHECK-LABEL: block.kernel @iterations
// CHECK: block.store %{{.*}} valid_axes {{[^{]*}} : f32, <f32, 1>
// CHECK: scf.for %[[P:[a-z_0-9]*]] =
// CHECK: block.walk [[N:[0-9]+]] at %[[P]]
// CHECK: block.store %{{.*}} {block.unique, block.walks = [#block.walk<{{[0-9]+}} unordered = true, {{\[}}[[N]]]>]}
kir.kernel @iterations(%k: !kir.view<i32, ["N"], in> {kir.name = "k"}, %y: !kir.view<f32, [1], inout> {kir.name = "y"}) {
  %c0 = kir.constant 0 : index : index
  %c1 = kir.constant 1 : index : index
  %zero = kir.constant 0.0 : f32 : f32
  %N = kir.extent <"N">
  %all = kir.domain %c0 to %N step %c1 : !kir.domain<"N">
  kir.write %zero to %y[%c0 : index] : f32, !kir.view<f32, [1], inout>
  kir.parallel(%all : !kir.domain<"N">) {
  ^bb0(%p: index):
    %i = kir.read %k[%p : index] : !kir.view<i32, ["N"], in> -> i32
    kir.write %zero to %y[%i : i32] unique : f32, !kir.view<f32, [1], inout>
    kir.yield
  }
  kir.return
}
}
