// RUN: intent-opt %s > %t.first
// RUN: intent-opt %t.first > %t.second
// RUN: diff %t.first %t.second
// RUN: FileCheck %s < %t.first

// CHECK-LABEL: kir.kernel @while
kir.kernel @while(%x: !kir.view<f32, ["M"], inout> {kir.name = "x"}, %n: index {kir.name = "n"}, %s: f32 {kir.name = "s"}) {
  %c0 = kir.constant 0 : index : index
  %c1 = kir.constant 1 : index : index
  // CHECK: kir.while carry(%{{.*}}, %{{.*}} : index, f32) {
  // CHECK-NEXT: ^bb0(%{{.*}}: index, %{{.*}}: f32):
  // CHECK: kir.yield %{{.*}} : i1
  // CHECK-NEXT: } do {
  // CHECK-NEXT: ^bb0(%{{.*}}: index, %{{.*}}: f32):
  // CHECK: kir.yield %{{.*}}, %{{.*}} : index, f32
  // CHECK-NEXT: } -> index, f32
  %r:2 = kir.while carry(%c0, %s : index, f32) {
  ^bb0(%i: index, %a: f32):
    %more = kir.compare lt %i, %n : index -> i1
    kir.yield %more : i1
  } do {
  ^bb0(%i: index, %a: f32):
    %v = kir.read %x[%i : index] : !kir.view<f32, ["M"], inout> -> f32
    %sum = kir.binary add %a, %v : f32
    %next = kir.binary add %i, %c1 : index
    kir.yield %next, %sum : index, f32
  } -> index, f32
  // Without carries, state lives in a view.
  // CHECK: kir.while {
  // CHECK: } do {
  kir.while {
    %v = kir.read %x[%c0 : index] : !kir.view<f32, ["M"], inout> -> f32
    %more = kir.compare gt %v, %r#1 : f32 -> i1
    kir.yield %more : i1
  } do {
    kir.write %r#1 to %x[%c0 : index] : f32, !kir.view<f32, ["M"], inout>
  }
  kir.return
}
