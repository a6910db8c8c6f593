// RUN: intent-opt %s | FileCheck %s
// RUN: intent-opt %s | intent-opt | FileCheck %s
// Extents are polynomials in normal form: equal lengths have one spelling, however the text writes them.

// CHECK-LABEL: kir.kernel @normal_form
kir.kernel @normal_form(%x: !kir.view<f32, ["M", "N"], in> {kir.name = "x"}, %h: i32 {kir.name = "H"}) {
  // Terms merge, cancel and sort: products before single atoms before the constant.
  // CHECK: kir.extent <2 * "M">
  %0 = kir.extent <"M" + "M">
  // CHECK: kir.extent <0>
  %1 = kir.extent <"M" - "M">
  // CHECK: kir.extent <"M" * "N" + "M" + "N" + 1>
  %2 = kir.extent <1 + "N" + "M" + "N" * "M">
  // CHECK: kir.extent <"N" + 3>
  %3 = kir.extent <"M" + "N" + 5 - "M" - 2>
  // CHECK: kir.extent <-"M" + 4>
  %4 = kir.extent <4 - "M">
  // CHECK: kir.extent <"M" * "M">
  %5 = kir.extent <"M" * "M">
  // CHECK: kir.extent <12 * "M" * "N">
  %6 = kir.extent <3 * "N" * 4 * "M">
  // CHECK: kir.extent <0>
  %7 = kir.extent <0 * "M">
  // CHECK: kir.extent <-7>
  %8 = kir.extent <-7>
  // CHECK: kir.extent <-6 * "M">
  %9 = kir.extent <2 * -3 * "M">
  // An integer scalar parameter is an atom.
  // CHECK: kir.extent <"%H" - 1>
  %10 = kir.extent <-1 + "%H">
  // Coefficients wrap like 64-bit integers.
  // CHECK: kir.extent <-2>
  %11 = kir.extent <9223372036854775807 + 9223372036854775807>
  kir.return
}

// Equality of types is equality of extents: this cast would be rejected otherwise.
// CHECK-LABEL: kir.kernel @equal_types
kir.kernel @equal_types(%x: !kir.view<f32, ["M", "N"], in> {kir.name = "x"}) {
  %zero = kir.constant 0.0 : f32 : f32
  %t = kir.broadcast %zero [] : f32 to !kir.tensor<f32, ["M" + 2, "N" * 3]>
  // CHECK: kir.cast %{{.*}} : !kir.tensor<f32, ["M" + 2, 3 * "N"]> to !kir.tensor<f64, ["M" + 2, 3 * "N"]>
  %u = kir.cast %t : !kir.tensor<f32, [1 + "M" + 1, "N" + "N" + "N"]> to !kir.tensor<f64, [2 + "M", 3 * "N"]>
  kir.return
}

// A symbol names a run-time value for the rest of its region.
// CHECK-LABEL: kir.kernel @symbols
kir.kernel @symbols(%x: !kir.view<f32, ["M"], in> {kir.name = "x"}, %n: index {kir.name = "n"}) {
  // CHECK: kir.symbol "?0" = %{{.*}}
  kir.symbol "?0" = %n
  // CHECK: kir.extent <"?0" + "M">
  %0 = kir.extent <"M" + "?0">
  // CHECK: kir.check_extent <"?0"> equals <"M"> "x has as many rows as n says"
  kir.check_extent <"?0"> equals <"M"> "x has as many rows as n says"
  kir.return
}
