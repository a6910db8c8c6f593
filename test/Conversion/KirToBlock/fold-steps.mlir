// RUN: intent-opt %s --convert-kir-to-block | FileCheck %s
// A product of a factor exp(p - q) and a contraction of exp(x - g) contracts exp(x + ((p - g) - q)) into the scaled accumulator.

// CHECK-LABEL: block.kernel @scaled
// CHECK: scf.for
// CHECK: %[[BOTH:.*]] = block.binary maximum
// CHECK: %[[OLD:.*]] = block.unary exp
// CHECK: %[[BEYOND:.*]] = block.binary sub
// CHECK: %[[SHIFT:.*]] = block.binary sub %[[BEYOND]]
// CHECK: %[[EXPONENT:.*]] = block.binary add
// CHECK: %[[E:.*]] = block.unary exp %[[EXPONENT]]
// CHECK-NOT: block.unary exp
// CHECK: %[[START:.*]] = block.binary mul
// CHECK: block.contract %[[E]], %{{.*}}, %[[START]]

// What a slice contracts is contracted with its own shift where something else uses it.
// CHECK-LABEL: block.kernel @used
// CHECK: scf.for
// CHECK-COUNT-3: block.unary exp
module attributes {block.target = #block.target<"triton", "sm_90", {fragment_elements = 65536 : i64, serial_elements = 65536 : i64, contractions = ["f32->f32"]}>} {
  kir.kernel @scaled(%s: !kir.view<f32, ["M", "N"], in> {kir.name = "s"}, %v: !kir.view<f32, ["N", "D"], in> {kir.name = "v"}, %y: !kir.view<f32, ["M", "D"], out> {kir.name = "y"}, %mass: !kir.view<f32, ["M"], out> {kir.name = "mass"}) {
    %0 = kir.constant 0.000000e+00 : f32 : f32
    %1 = kir.constant 0xFF800000 : f32 : f32
    %2 = kir.constant 1 : index : index
    %3 = kir.constant 0 : index : index
    %4 = kir.extent <"M">
    %5 = kir.extent <"N">
    %6 = kir.domain %3 to %4 step %2 : <"M">
    kir.parallel(%6 : !kir.domain<"M">) {
    ^bb0(%r: index):
      %7 = kir.domain %3 to %5 step %2 : <"N">
      %8 = kir.read %s[%r, %7 : index, !kir.domain<"N">] : <f32, ["M", "N"], in> -> !kir.tensor<f32, ["N"]>
      %9 = kir.extent <"D">
      %10 = kir.domain %3 to %9 step %2 : <"D">
      %11 = kir.read %v[%7, %10 : !kir.domain<"N">, !kir.domain<"D">] : <f32, ["N", "D"], in> -> !kir.tensor<f32, ["N", "D"]>
      %12 = kir.broadcast %0 [] : f32 to <f32, ["D"]>
      %13:3 = kir.region_fold(%8, %11) axis 0 slice "?s0" identity(%1, %0, %12) summarize {
      ^bb0(%arg5: !kir.tensor<f32, ["?s0"]>, %arg6: !kir.tensor<f32, ["?s0", "D"]>):
        %top = kir.reduce(%arg5) identity(%1) axes [0] {
        ^bb0(%arg7: f32, %arg8: f32):
          %20 = kir.binary maximum %arg7, %arg8 : f32
          kir.yield %20 : f32
        } : (!kir.tensor<f32, ["?s0"]>) -> (f32) identities(f32)
        %14 = kir.compare gt %top, %1 : f32 -> i1
        %15 = kir.select %14, %top, %0 : i1, f32
        %16 = kir.broadcast %15 [] : f32 to <f32, ["?s0"]>
        %17 = kir.binary sub %arg5, %16 : !kir.tensor<f32, ["?s0"]>
        %e = kir.unary exp %17 : !kir.tensor<f32, ["?s0"]>
        %18 = kir.reduce(%e) identity(%0) axes [0] {
        ^bb0(%arg7: f32, %arg8: f32):
          %20 = kir.binary add %arg7, %arg8 : f32
          kir.yield %20 : f32
        } : (!kir.tensor<f32, ["?s0"]>) -> (f32) identities(f32)
        %19 = kir.contract %e, %arg6 reduce [0] [0] batch [] [] : <f32, ["?s0"]>, <f32, ["?s0", "D"]> -> !kir.tensor<f32, ["D"]>
        kir.yield %top, %18, %19 : f32, f32, !kir.tensor<f32, ["D"]>
      } combine {
      ^bb0(%arg5: f32, %arg6: f32, %arg7: !kir.tensor<f32, ["D"]>, %arg8: f32, %arg9: f32, %arg10: !kir.tensor<f32, ["D"]>):
        %top = kir.binary maximum %arg5, %arg8 : f32
        %14 = kir.compare gt %top, %1 : f32 -> i1
        %15 = kir.select %14, %top, %0 : i1, f32
        %16 = kir.binary sub %arg5, %15 : f32
        %x = kir.unary exp %16 : f32
        %17 = kir.binary sub %arg8, %15 : f32
        %y_0 = kir.unary exp %17 : f32
        %18 = kir.binary mul %arg6, %x : f32
        %19 = kir.binary mul %arg9, %y_0 : f32
        %20 = kir.binary add %18, %19 : f32
        %21 = kir.broadcast %x [] : f32 to <f32, ["D"]>
        %22 = kir.binary mul %arg7, %21 : !kir.tensor<f32, ["D"]>
        %23 = kir.broadcast %y_0 [] : f32 to <f32, ["D"]>
        %24 = kir.binary mul %arg10, %23 : !kir.tensor<f32, ["D"]>
        %25 = kir.binary add %22, %24 : !kir.tensor<f32, ["D"]>
        kir.yield %top, %20, %25 : f32, f32, !kir.tensor<f32, ["D"]>
      } : (!kir.tensor<f32, ["N"]>, !kir.tensor<f32, ["N", "D"]>) identities(f32, f32, !kir.tensor<f32, ["D"]>) -> (f32, f32, !kir.tensor<f32, ["D"]>)
      kir.write %13#2 to %y[%r, %10 : index, !kir.domain<"D">] : !kir.tensor<f32, ["D"]>, <f32, ["M", "D"], out>
      kir.write %13#1 to %mass[%r : index] : f32, <f32, ["M"], out>
    }
    kir.return
  }
  kir.kernel @used(%s: !kir.view<f32, ["M", "N"], in> {kir.name = "s"}, %v: !kir.view<f32, ["N", "D"], in> {kir.name = "v"}, %y: !kir.view<f32, ["M", "D"], out> {kir.name = "y"}, %mass: !kir.view<f32, ["M"], out> {kir.name = "mass"}) {
    %0 = kir.constant 0.000000e+00 : f32 : f32
    %1 = kir.constant 0xFF800000 : f32 : f32
    %2 = kir.constant 1 : index : index
    %3 = kir.constant 0 : index : index
    %4 = kir.extent <"M">
    %5 = kir.extent <"N">
    %6 = kir.domain %3 to %4 step %2 : <"M">
    kir.parallel(%6 : !kir.domain<"M">) {
    ^bb0(%r: index):
      %7 = kir.domain %3 to %5 step %2 : <"N">
      %8 = kir.read %s[%r, %7 : index, !kir.domain<"N">] : <f32, ["M", "N"], in> -> !kir.tensor<f32, ["N"]>
      %9 = kir.extent <"D">
      %10 = kir.domain %3 to %9 step %2 : <"D">
      %11 = kir.read %v[%7, %10 : !kir.domain<"N">, !kir.domain<"D">] : <f32, ["N", "D"], in> -> !kir.tensor<f32, ["N", "D"]>
      %12 = kir.broadcast %0 [] : f32 to <f32, ["D"]>
      %13:3 = kir.region_fold(%8, %11) axis 0 slice "?s0" identity(%1, %0, %12) summarize {
      ^bb0(%arg5: !kir.tensor<f32, ["?s0"]>, %arg6: !kir.tensor<f32, ["?s0", "D"]>):
        %top = kir.reduce(%arg5) identity(%1) axes [0] {
        ^bb0(%arg7: f32, %arg8: f32):
          %21 = kir.binary maximum %arg7, %arg8 : f32
          kir.yield %21 : f32
        } : (!kir.tensor<f32, ["?s0"]>) -> (f32) identities(f32)
        %14 = kir.compare gt %top, %1 : f32 -> i1
        %15 = kir.select %14, %top, %0 : i1, f32
        %16 = kir.broadcast %15 [] : f32 to <f32, ["?s0"]>
        %17 = kir.binary sub %arg5, %16 : !kir.tensor<f32, ["?s0"]>
        %e = kir.unary exp %17 : !kir.tensor<f32, ["?s0"]>
        %18 = kir.binary mul %e, %e : !kir.tensor<f32, ["?s0"]>
        %19 = kir.reduce(%18) identity(%0) axes [0] {
        ^bb0(%arg7: f32, %arg8: f32):
          %21 = kir.binary add %arg7, %arg8 : f32
          kir.yield %21 : f32
        } : (!kir.tensor<f32, ["?s0"]>) -> (f32) identities(f32)
        %20 = kir.contract %e, %arg6 reduce [0] [0] batch [] [] : <f32, ["?s0"]>, <f32, ["?s0", "D"]> -> !kir.tensor<f32, ["D"]>
        kir.yield %top, %19, %20 : f32, f32, !kir.tensor<f32, ["D"]>
      } combine {
      ^bb0(%arg5: f32, %arg6: f32, %arg7: !kir.tensor<f32, ["D"]>, %arg8: f32, %arg9: f32, %arg10: !kir.tensor<f32, ["D"]>):
        %top = kir.binary maximum %arg5, %arg8 : f32
        %14 = kir.compare gt %top, %1 : f32 -> i1
        %15 = kir.select %14, %top, %0 : i1, f32
        %16 = kir.binary sub %arg5, %15 : f32
        %x = kir.unary exp %16 : f32
        %17 = kir.binary sub %arg8, %15 : f32
        %y_0 = kir.unary exp %17 : f32
        %18 = kir.binary mul %arg6, %x : f32
        %19 = kir.binary mul %18, %x : f32
        %20 = kir.binary mul %arg9, %y_0 : f32
        %21 = kir.binary mul %20, %y_0 : f32
        %22 = kir.binary add %19, %21 : f32
        %23 = kir.broadcast %x [] : f32 to <f32, ["D"]>
        %24 = kir.binary mul %arg7, %23 : !kir.tensor<f32, ["D"]>
        %25 = kir.broadcast %y_0 [] : f32 to <f32, ["D"]>
        %26 = kir.binary mul %arg10, %25 : !kir.tensor<f32, ["D"]>
        %27 = kir.binary add %24, %26 : !kir.tensor<f32, ["D"]>
        kir.yield %top, %22, %27 : f32, f32, !kir.tensor<f32, ["D"]>
      } : (!kir.tensor<f32, ["N"]>, !kir.tensor<f32, ["N", "D"]>) identities(f32, f32, !kir.tensor<f32, ["D"]>) -> (f32, f32, !kir.tensor<f32, ["D"]>)
      kir.write %13#2 to %y[%r, %10 : index, !kir.domain<"D">] : !kir.tensor<f32, ["D"]>, <f32, ["M", "D"], out>
      kir.write %13#1 to %mass[%r : index] : f32, <f32, ["M"], out>
    }
    kir.return
  }
}
