// RUN: intent-opt %s --convert-kir-to-block | FileCheck %s
// Few columns of many rows: workers share the rows out, hand their sums over in cells of 16, and these to the last of all.
// CHECK-LABEL: block.program @split guard(and(and(le(ceil_div("N", 128), 64), le(4096, "M")), le(1048576, mul("M", "N"))))
// CHECK-SAME: #block.workspace<"slots", f32, [ceil_div(WORKERS_M, max(ceil_div("N", BN), 1)), max("N", 0)]>
// CHECK-SAME: #block.workspace<"arrived", i32, [ceil_div("N", BN), ceil_div(ceil_div(WORKERS_M, max(ceil_div("N", BN), 1)), 16)] zeroed = true>
// CHECK: scf.for
// CHECK: block.store {{.*}} to %arg5[
// CHECK: block.fence
// CHECK: block.atomic add acq_rel {{.*}} %arg7[
// CHECK: scf.if
// CHECK: block.load %arg5[
// CHECK: block.store {{.*}} to %arg8[
// CHECK: block.fence
// CHECK: block.atomic add acq_rel {{.*}} %arg10[
// CHECK: scf.if
// CHECK: block.load %arg8[
// CHECK: block.store {{.*}} to %arg1[
// CHECK-LABEL: block.program @tiled
// CHECK-NOT: block.atomic
module attributes {block.target = #block.target<"triton", "sm_90", {fragment_elements = 65536 : i64, serial_elements = 65536 : i64, warp_size = 32 : i64}>} {
  kir.kernel @columns(%x: !kir.view<f32, ["M", "N"], in> {kir.name = "x"}, %y: !kir.view<f32, ["N"], out> {kir.name = "y"}, %z: !kir.view<f32, ["N"], out> {kir.name = "z"}) {
    %0 = kir.constant 0.000000e+00 : f32 : f32
    %1 = kir.constant 1 : index : index
    %2 = kir.constant 0 : index : index
    %3 = kir.extent <"M">
    %4 = kir.domain %2 to %3 step %1 : <"M">
    %5 = kir.extent <"N">
    %6 = kir.domain %2 to %5 step %1 : <"N">
    %7 = kir.read %x[%4, %6 : !kir.domain<"M">, !kir.domain<"N">] : <f32, ["M", "N"], in> -> !kir.tensor<f32, ["M", "N"]>
    %s = kir.reduce(%7) identity(%0) axes [0] {
    ^bb0(%arg3: f32, %arg4: f32):
      %12 = kir.binary add %arg3, %arg4 : f32
      kir.yield %12 : f32
    } : (!kir.tensor<f32, ["M", "N"]>) -> (!kir.tensor<f32, ["N"]>) identities(f32)
    kir.write %s to %y[%6 : !kir.domain<"N">] : !kir.tensor<f32, ["N"]>, <f32, ["N"], out>
    %8 = kir.binary mul %7, %7 : !kir.tensor<f32, ["M", "N"]>
    %9 = kir.reduce(%8) identity(%0) axes [0] {
    ^bb0(%arg3: f32, %arg4: f32):
      %12 = kir.binary add %arg3, %arg4 : f32
      kir.yield %12 : f32
    } : (!kir.tensor<f32, ["M", "N"]>) -> (!kir.tensor<f32, ["N"]>) identities(f32)
    %10 = kir.unary sqrt %9 : !kir.tensor<f32, ["N"]>
    %11 = kir.binary add %10, %s : !kir.tensor<f32, ["N"]>
    kir.write %11 to %z[%6 : !kir.domain<"N">] : !kir.tensor<f32, ["N"]>, <f32, ["N"], out>
    kir.return
  }
}
