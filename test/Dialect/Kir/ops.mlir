// RUN: intent-opt %s > %t.first
// RUN: intent-opt %t.first > %t.second
// RUN: diff %t.first %t.second
// RUN: FileCheck %s < %t.first
// Every operation prints and parses to the same bytes.

// CHECK-LABEL: kir.kernel @accesses
// CHECK-SAME: {kir.name = "x", kir.noalias}
// CHECK-SAME: {kir.alias = "state", kir.name = "y", kir.strides = [unit, 1]}
kir.kernel @accesses(%x: !kir.view<f16, ["M", "N", 4], in> {kir.name = "x", kir.noalias},
                     %y: !kir.view<f16, ["M", "N"], inout> {kir.name = "y", kir.alias = "state", kir.strides = [unit, 1]},
                     %z: !kir.view<ui8, [], out> {kir.name = "z"}, %b: index {kir.name = "b"}) {
  %c0 = kir.constant 0 : index : index
  %c1 = kir.constant 1 : index : index
  %M = kir.extent <"M">
  %N = kir.extent <"N">
  // CHECK: kir.domain %{{.*}} to %{{.*}} step %{{.*}} : <"M">
  %rows = kir.domain %c0 to %M step %c1 : !kir.domain<"M">
  %cols = kir.domain %c0 to %N step %c1 : !kir.domain<"N">
  // CHECK: kir.subregion %{{.*}}[%{{.*}} : %{{.*}}] : <"M"> -> <4>
  %part = kir.subregion %rows[%b : %b] : !kir.domain<"M"> -> !kir.domain<4>
  // CHECK: kir.indices %{{.*}} : <4> -> <index, [4]>
  %at = kir.indices %part : !kir.domain<4> -> !kir.tensor<index, [4]>
  // CHECK: kir.read %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}} : !kir.tensor<index, [4]>, !kir.domain<"N">, index] : {{.*}} -> !kir.tensor<f16, [4, "N"]>
  %v = kir.read %x[%at, %cols, %b : !kir.tensor<index, [4]>, !kir.domain<"N">, index] : !kir.view<f16, ["M", "N", 4], in> -> !kir.tensor<f16, [4, "N"]>
  // CHECK: kir.read %{{.*}}[%{{.*}}, %{{.*}} : index, index] : {{.*}} -> f16
  %s = kir.read %y[%b, %b : index, index] : !kir.view<f16, ["M", "N"], inout> -> f16
  // CHECK: kir.read %{{.*}}[] : <ui8, [], out> -> ui8
  %e = kir.read %z[] : !kir.view<ui8, [], out> -> ui8
  // CHECK: kir.read %{{.*}}[] : <ui8, [], out> -> !kir.tensor<ui8, []>
  %e0 = kir.read %z[] : !kir.view<ui8, [], out> -> !kir.tensor<ui8, []>
  // CHECK: kir.extract %{{.*}}[] : <ui8, []> -> ui8
  %e1 = kir.extract %e0[] : !kir.tensor<ui8, []> -> ui8
  // CHECK: kir.write %{{.*}} to %{{.*}}[%{{.*}}, %{{.*}} : !kir.domain<4>, !kir.domain<"N">]
  kir.write %v to %y[%part, %cols : !kir.domain<4>, !kir.domain<"N">] : !kir.tensor<f16, [4, "N"]>, !kir.view<f16, ["M", "N"], inout>
  // CHECK: kir.write %{{.*}} to %{{.*}}[] : ui8, <ui8, [], out>
  kir.write %e to %z[] : ui8, !kir.view<ui8, [], out>
  kir.return
}

// CHECK-LABEL: kir.kernel @values
kir.kernel @values(%x: !kir.view<f32, ["M"], in> {kir.name = "x"}, %s: f32 {kir.name = "s"}, %i: i32 {kir.name = "i"}) {
  // CHECK: kir.constant true : i1
  %true = kir.constant true : i1
  // CHECK: kir.constant 255 : ui8 : ui8
  %u = kir.constant 255 : ui8 : ui8
  // CHECK: kir.constant -9223372036854775808 : i64 : i64
  %l = kir.constant -9223372036854775808 : i64 : i64
  // CHECK: kir.constant 0x7FF0000000000000 : f64 : f64
  %inf = kir.constant 0x7FF0000000000000 : f64 : f64
  // CHECK: kir.constant -0.000000e+00 : f32 : f32
  %nz = kir.constant -0.0 : f32 : f32
  // CHECK: kir.constant 4.480000e+02 : f8E4M3FN : f8E4M3FN
  %f8 = kir.constant 448.0 : f8E4M3FN : f8E4M3FN
  // CHECK: kir.unary exp2 %{{.*}} approximate ftz : f32
  %0 = kir.unary exp2 %s approximate ftz : f32
  // CHECK: kir.unary neg %{{.*}} : ui8
  %1 = kir.unary neg %u : ui8
  // CHECK: kir.binary div %{{.*}}, %{{.*}} approximate : f32
  %2 = kir.binary div %s, %s approximate : f32
  // CHECK: kir.binary floordiv %{{.*}}, %{{.*}} : i32
  %3 = kir.binary floordiv %i, %i : i32
  // CHECK: kir.compare ne %{{.*}}, %{{.*}} : f32 -> i1
  %4 = kir.compare ne %s, %s : f32 -> i1
  // CHECK: kir.fma %{{.*}}, %{{.*}}, %{{.*}} : f32
  %5 = kir.fma %s, %s, %s : f32
  // CHECK: kir.broadcast %{{.*}} [] : f32 to <f32, ["M", 4]>
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, ["M", 4]>
  // CHECK: kir.select %{{.*}}, %{{.*}}, %{{.*}} : i1, !kir.tensor<f32, ["M", 4]>
  %6 = kir.select %4, %t, %t : i1, !kir.tensor<f32, ["M", 4]>
  // CHECK: kir.cast %{{.*}} : !kir.tensor<f32, ["M", 4]> to !kir.tensor<bf16, ["M", 4]>
  %7 = kir.cast %t : !kir.tensor<f32, ["M", 4]> to !kir.tensor<bf16, ["M", 4]>
  // CHECK: kir.bitcast %{{.*}} : f32 to ui32
  %8 = kir.bitcast %s : f32 to ui32
  // CHECK: kir.reshape %{{.*}} : <f32, ["M", 4]> to <f32, [2 * "M", 2]>
  %9 = kir.reshape %t : !kir.tensor<f32, ["M", 4]> to !kir.tensor<f32, ["M" + "M", 2]>
  // CHECK: kir.transpose %{{.*}} [1, 0] : <f32, ["M", 4]> to <f32, [4, "M"]>
  %10 = kir.transpose %t [1, 0] : !kir.tensor<f32, ["M", 4]> to !kir.tensor<f32, [4, "M"]>
  // CHECK: kir.join %{{.*}}, %{{.*}} : f32 -> <f32, [2]>
  %11 = kir.join %s, %s : f32 -> !kir.tensor<f32, [2]>
  // A size-one axis repeats.
  // CHECK: kir.broadcast %{{.*}} [0, 1] : !kir.tensor<f32, [1, 4]> to <f32, ["M", 4]>
  %one = kir.broadcast %s [] : f32 to !kir.tensor<f32, [1, 4]>
  %12 = kir.broadcast %one [0, 1] : !kir.tensor<f32, [1, 4]> to !kir.tensor<f32, ["M", 4]>
  kir.return
}

// CHECK-LABEL: kir.kernel @structured
kir.kernel @structured(%x: !kir.view<f32, ["B", "M", "K"], in> {kir.name = "x"}, %s: f32 {kir.name = "s"}, %n: i32 {kir.name = "n"}) {
  %a = kir.broadcast %s [] : f32 to !kir.tensor<f32, ["B", "M", "K"]>
  %i = kir.broadcast %n [] : i32 to !kir.tensor<i32, ["B", "M", "K"]>
  // CHECK: kir.reduce(%{{.*}}, %{{.*}}) identity(%{{.*}}, %{{.*}}) axes [0, 2] {
  // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: i32, %{{.*}}: f32, %{{.*}}: i32):
  // CHECK: kir.yield %{{.*}}, %{{.*}} : f32, i32
  // CHECK: } : ({{.*}}) -> (!kir.tensor<f32, ["M"]>, !kir.tensor<i32, ["M"]>) identities(f32, i32)
  %r:2 = kir.reduce(%a, %i) identity(%s, %n) axes [0, 2] {
  ^bb0(%p: f32, %q: i32, %u: f32, %v: i32):
    %m = kir.binary add %p, %u : f32
    %o = kir.binary add %q, %v : i32
    kir.yield %m, %o : f32, i32
  } : (!kir.tensor<f32, ["B", "M", "K"]>, !kir.tensor<i32, ["B", "M", "K"]>) -> (!kir.tensor<f32, ["M"]>, !kir.tensor<i32, ["M"]>) identities (f32, i32)
  // CHECK: kir.contract %{{.*}}, %{{.*}} reduce [2] [2] batch [0] [0] : {{.*}} -> !kir.tensor<f32, ["B", "M", "M"]>
  %c = kir.contract %a, %a reduce [2] [2] batch [0] [0] : !kir.tensor<f32, ["B", "M", "K"]>, !kir.tensor<f32, ["B", "M", "K"]> -> !kir.tensor<f32, ["B", "M", "M"]>
  // CHECK: kir.contract %{{.*}}, %{{.*}} reduce [0, 1, 2] [0, 1, 2] batch [] [] : {{.*}} -> !kir.tensor<f32, []>
  %d = kir.contract %a, %a reduce [0, 1, 2] [0, 1, 2] batch [] [] : !kir.tensor<f32, ["B", "M", "K"]>, !kir.tensor<f32, ["B", "M", "K"]> -> !kir.tensor<f32, []>
  kir.return
}

// CHECK-LABEL: kir.kernel @control
kir.kernel @control(%x: !kir.view<f32, ["M"], inout> {kir.name = "x"}, %s: f32 {kir.name = "s"}, %c: i1 {kir.name = "c"}) {
  %c0 = kir.constant 0 : index : index
  %c1 = kir.constant 1 : index : index
  %M = kir.extent <"M">
  %rows = kir.domain %c0 to %M step %c1 : !kir.domain<"M">
  // CHECK: kir.parallel(%{{.*}}, %{{.*}} : !kir.domain<"M">, !kir.domain<"M">) {
  // CHECK-NEXT: ^bb0(%{{.*}}: index, %{{.*}}: index):
  kir.parallel (%rows, %rows : !kir.domain<"M">, !kir.domain<"M">) {
  ^bb0(%i: index, %j: index):
    kir.write %s to %x[%i : index] : f32, !kir.view<f32, ["M"], inout>
  }
  // CHECK: kir.for %{{.*}} carry(%{{.*}}, %{{.*}} : f32, index) {
  %r:2 = kir.for %rows carry(%s, %c0 : f32, index) {
  ^bb0(%i: index, %a: f32, %k: index):
    // CHECK: kir.if %{{.*}} {
    // CHECK: } else {
    // CHECK: } -> f32
    %t = kir.if %c {
      kir.yield %a : f32
    } else {
      %u = kir.binary add %a, %s : f32
      kir.yield %u : f32
    } -> f32
    kir.yield %t, %i : f32, index
    // CHECK: } : <"M"> -> f32, index
  } : !kir.domain<"M"> -> f32, index
  // CHECK: kir.for %{{.*}} {
  // CHECK: } : <"M">
  kir.for %rows {
  ^bb0(%i: index):
    kir.write %r#0 to %x[%i : index] : f32, !kir.view<f32, ["M"], inout>
  } : !kir.domain<"M">
  kir.return
}
