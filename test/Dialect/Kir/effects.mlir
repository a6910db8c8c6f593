// RUN: intent-opt %s > %t.first
// RUN: intent-opt %t.first > %t.second
// RUN: diff %t.first %t.second
// RUN: FileCheck %s < %t.first
// Buffers, validity, unique writes, scatters and atomic accesses print and parse to the same bytes.

// CHECK-LABEL: kir.kernel @effects
kir.kernel @effects(%x: !kir.view<f32, ["M", "N"], inout> {kir.name = "x"}, %t: !kir.view<i32, ["K"], in> {kir.name = "t"}, %s: f32 {kir.name = "s"},
                    %i: index {kir.name = "i"}, %c: i1 {kir.name = "c"}) {
  %c0 = kir.constant 0 : index : index
  %c1 = kir.constant 1 : index : index
  %K = kir.extent <"K">
  %N = kir.extent <"N">
  %members = kir.domain %c0 to %K step %c1 : !kir.domain<"K">
  %cols = kir.domain %c0 to %N step %c1 : !kir.domain<"N">
  %at = kir.read %t[%members : !kir.domain<"K">] : !kir.view<i32, ["K"], in> -> !kir.tensor<i32, ["K"]>
  // CHECK: %[[B:.*]] = kir.buffer : <f32, ["N", 4], inout>
  %b = kir.buffer : !kir.view<f32, ["N", 4], inout>
  // CHECK: kir.buffer : <i64, [], inout>
  %z = kir.buffer : !kir.view<i64, [], inout>
  %live = kir.broadcast %c [] : i1 to !kir.tensor<i1, ["K", "N"]>
  // CHECK: kir.read %{{.*}}[%{{.*}}, %{{.*}} : !kir.tensor<i32, ["K"]>, !kir.domain<"N">] valid %{{.*}} : !kir.tensor<i1, ["K", "N"]> : <f32, ["M", "N"], inout> -> !kir.tensor<f32, ["K", "N"]>
  %v = kir.read %x[%at, %cols : !kir.tensor<i32, ["K"]>, !kir.domain<"N">] valid %live : !kir.tensor<i1, ["K", "N"]> : !kir.view<f32, ["M", "N"], inout> -> !kir.tensor<f32, ["K", "N"]>
  // CHECK: kir.read %[[B]][%{{.*}}, %{{.*}} : index, index] valid %{{.*}} : i1 : <f32, ["N", 4], inout> -> f32
  %e = kir.read %b[%i, %i : index, index] valid %c : i1 : !kir.view<f32, ["N", 4], inout> -> f32
  // CHECK: kir.write %{{.*}} to %{{.*}}[%{{.*}}, %{{.*}} : !kir.tensor<i32, ["K"]>, !kir.domain<"N">] unique : !kir.tensor<f32, ["K", "N"]>, <f32, ["M", "N"], inout>
  kir.write %v to %x[%at, %cols : !kir.tensor<i32, ["K"]>, !kir.domain<"N">] unique : !kir.tensor<f32, ["K", "N"]>, !kir.view<f32, ["M", "N"], inout>
  // CHECK: kir.require %{{.*}} in %{{.*}} to %{{.*}} "subregion begin" : index
  kir.require %i in %c0 to %K "subregion begin" : index
  // CHECK: kir.require %{{.*}} in %{{.*}} to %{{.*}} valid %{{.*}} : i1 "value" : index
  kir.require %i in %c0 to %K valid %c : i1 "value" : index
  // CHECK: kir.scatter_reduce %{{.*}} to %{{.*}}[%{{.*}}, %{{.*}} : !kir.tensor<i32, ["K"]>, !kir.domain<"N">] {
  // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32):
  // CHECK: kir.yield %{{.*}} : f32
  // CHECK-NEXT: } : !kir.tensor<f32, ["K", "N"]>, <f32, ["M", "N"], inout>
  kir.scatter_reduce %v to %x[%at, %cols : !kir.tensor<i32, ["K"]>, !kir.domain<"N">] {
  ^bb0(%a: f32, %d: f32):
    %sum = kir.binary add %a, %d : f32
    kir.yield %sum : f32
  } : !kir.tensor<f32, ["K", "N"]>, !kir.view<f32, ["M", "N"], inout>
  // CHECK: kir.atomic load acquire %{{.*}}[%{{.*}}, %{{.*}} : index, index] : <f32, ["M", "N"], inout> -> f32
  %l = kir.atomic load acquire %x[%i, %i : index, index] : !kir.view<f32, ["M", "N"], inout> -> f32
  // CHECK: kir.atomic store release %{{.*}}[%{{.*}}, %{{.*}} : index, index] value %{{.*}} : f32 : <f32, ["M", "N"], inout>
  kir.atomic store release %x[%i, %i : index, index] value %s : f32 : !kir.view<f32, ["M", "N"], inout>
  // CHECK: kir.atomic add acq_rel %{{.*}}[%{{.*}}, %{{.*}} : !kir.tensor<i32, ["K"]>, !kir.domain<"N">] value %{{.*}} : !kir.tensor<f32, ["K", "N"]> : {{.*}} -> !kir.tensor<f32, ["K", "N"]>
  %old = kir.atomic add acq_rel %x[%at, %cols : !kir.tensor<i32, ["K"]>, !kir.domain<"N">] value %v : !kir.tensor<f32, ["K", "N"]> : !kir.view<f32, ["M", "N"], inout> -> !kir.tensor<f32, ["K", "N"]>
  // CHECK: kir.compare_exchange relaxed %{{.*}}[%{{.*}}, %{{.*}} : index, index] expected %{{.*}} desired %{{.*}} : <f32, ["M", "N"], inout>, f32 -> i1
  %o, %ok = kir.compare_exchange relaxed %x[%i, %i : index, index] expected %l desired %s : !kir.view<f32, ["M", "N"], inout>, f32 -> i1
  // CHECK: kir.compare_exchange release %{{.*}} : <f32, ["M", "N"], inout>, !kir.tensor<f32, ["K", "N"]> -> !kir.tensor<i1, ["K", "N"]>
  %p, %done = kir.compare_exchange release %x[%at, %cols : !kir.tensor<i32, ["K"]>, !kir.domain<"N">] expected %v desired %old : !kir.view<f32, ["M", "N"], inout>, !kir.tensor<f32, ["K", "N"]> -> !kir.tensor<i1, ["K", "N"]>
  kir.return
}
