// RUN: intent-opt %s | intent-opt | FileCheck %s

// CHECK-LABEL: kir.kernel @scans
kir.kernel @scans(%s: f32 {kir.name = "s"}, %n: i32 {kir.name = "n"}, %x: !kir.view<f32, ["M", "N"], in> {kir.name = "x"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, ["M", "N"]>
  %u = kir.broadcast %n [] : i32 to !kir.tensor<i32, ["M", "N"]>
  %row = kir.broadcast %s [] : f32 to !kir.tensor<f32, ["M"]>
  // CHECK: kir.reduce(%{{.*}}) identity(%{{.*}}) captures(%{{.*}}, %{{.*}} : !kir.tensor<f32, ["M"]>, i32) axes [1] {
  %0 = kir.reduce(%t) identity(%s) captures(%row, %n : !kir.tensor<f32, ["M"]>, i32) axes [1] {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: i32):
    %1 = kir.fma %a, %c, %b : f32
    kir.yield %1 : f32
  } : (!kir.tensor<f32, ["M", "N"]>) -> (!kir.tensor<f32, ["M"]>) identities (f32)
  // CHECK: kir.scan(%{{.*}}, %{{.*}}) identity(%{{.*}}, %{{.*}}) axis 1 exclusive reverse {
  // CHECK: } : (!kir.tensor<f32, ["M", "N"]>, !kir.tensor<i32, ["M", "N"]>) identities(f32, i32) -> (!kir.tensor<f32, ["M", "N"]>, !kir.tensor<i32, ["M", "N"]>)
  %2:2 = kir.scan(%t, %u) identity(%s, %n) axis 1 exclusive reverse {
  ^bb0(%a: f32, %i: i32, %b: f32, %j: i32):
    kir.yield %a, %j : f32, i32
  } : (!kir.tensor<f32, ["M", "N"]>, !kir.tensor<i32, ["M", "N"]>) identities (f32, i32) -> (!kir.tensor<f32, ["M", "N"]>, !kir.tensor<i32, ["M", "N"]>)
  // CHECK: kir.scan(%{{.*}}) identity(%{{.*}}) captures(%{{.*}} : !kir.tensor<f32, ["M"]>) axis 1 {
  %3 = kir.scan(%t) identity(%s) captures(%row : !kir.tensor<f32, ["M"]>) axis 1 {
  ^bb0(%a: f32, %b: f32, %c: f32):
    kir.yield %c : f32
  } : (!kir.tensor<f32, ["M", "N"]>) identities (f32) -> (!kir.tensor<f32, ["M", "N"]>)
  kir.return
}

// CHECK-LABEL: kir.kernel @folds
kir.kernel @folds(%s: f32 {kir.name = "s"}, %x: !kir.view<f32, ["M", "N"], in> {kir.name = "x"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, ["M", "N"]>
  %row = kir.broadcast %s [] : f32 to !kir.tensor<f32, ["N"]>
  // CHECK: kir.region_fold(%{{.*}}) axis 0 slice "?s0" identity(%{{.*}}, %{{.*}}) summarize {
  // CHECK: } combine {
  // CHECK: } : (!kir.tensor<f32, ["M", "N"]>) identities(f32, !kir.tensor<f32, ["N"]>) -> (f32, !kir.tensor<f32, ["N"]>)
  %0:2 = kir.region_fold(%t) axis 0 slice "?s0" identity(%s, %row) summarize {
  ^bb0(%part: !kir.tensor<f32, ["?s0", "N"]>):
    %1 = kir.reduce(%part) identity(%s) axes [0] {
    ^bb0(%a: f32, %b: f32):
      kir.yield %a : f32
    } : (!kir.tensor<f32, ["?s0", "N"]>) -> (!kir.tensor<f32, ["N"]>) identities (f32)
    kir.yield %s, %1 : f32, !kir.tensor<f32, ["N"]>
  } combine {
  ^bb0(%a: f32, %v: !kir.tensor<f32, ["N"]>, %b: f32, %w: !kir.tensor<f32, ["N"]>):
    kir.yield %a, %w : f32, !kir.tensor<f32, ["N"]>
  } : (!kir.tensor<f32, ["M", "N"]>) identities (f32, !kir.tensor<f32, ["N"]>) -> (f32, !kir.tensor<f32, ["N"]>)
  // CHECK: } combine {
  // CHECK: } step {
  // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: !kir.tensor<f32, ["?s2", "N"]>):
  // CHECK-NEXT: kir.yield %{{.*}}, %{{.*}} : f32, f32
  // CHECK-NEXT: } : (!kir.tensor<f32, ["M", "N"]>) identities(f32) -> (f32)
  %3 = kir.region_fold(%t) axis 0 slice "?s2" identity(%s) summarize {
  ^bb0(%part: !kir.tensor<f32, ["?s2", "N"]>):
    kir.yield %s : f32
  } combine {
  ^bb0(%a: f32, %b: f32):
    kir.yield %b : f32
  } step {
  ^bb0(%a: f32, %part: !kir.tensor<f32, ["?s2", "N"]>):
    kir.yield %s, %s : f32, f32
  } : (!kir.tensor<f32, ["M", "N"]>) identities (f32) -> (f32)
  // CHECK: kir.region_scan(%{{.*}}) axis 0 slice "?s1" identity(%{{.*}}) state(%{{.*}}) summarize {
  // CHECK: } combine {
  // CHECK: } apply {
  // CHECK: } emit {
  // CHECK: states(!kir.tensor<f32, ["N"]>) -> (!kir.tensor<f32, ["M", "N"]>, !kir.tensor<f32, ["N"]>)
  %2:2 = kir.region_scan(%t) axis 0 slice "?s1" identity(%s) state(%row) summarize {
  ^bb0(%part: !kir.tensor<f32, ["?s1", "N"]>):
    kir.yield %s : f32
  } combine {
  ^bb0(%a: f32, %b: f32):
    kir.yield %a : f32
  } apply {
  ^bb0(%a: f32, %v: !kir.tensor<f32, ["N"]>):
    kir.yield %v : !kir.tensor<f32, ["N"]>
  } emit {
  ^bb0(%part: !kir.tensor<f32, ["?s1", "N"]>, %v: !kir.tensor<f32, ["N"]>):
    kir.yield %part : !kir.tensor<f32, ["?s1", "N"]>
  } : (!kir.tensor<f32, ["M", "N"]>) identities (f32) states (!kir.tensor<f32, ["N"]>) -> (!kir.tensor<f32, ["M", "N"]>, !kir.tensor<f32, ["N"]>)
  kir.return
}
