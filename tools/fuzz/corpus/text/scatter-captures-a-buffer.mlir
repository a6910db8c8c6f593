module {
  kir.kernel @effects(%arg0: !kir.view<f32, ["M", "N"], inout> {kir.name = "x"}, %arg1: !kir.view<i32, ["K"], in> {kir.name = "t"}, %arg2: f32 {kir.name = "s"}, %arg3: index {kir.name = "i"}, %arg4: i1 {kir.name = "c"}) {
    %0 = kir.broadcast %arg4 [] : i1 to <i1, ["K", "N"]>
    %1 = kir.constant -1 : index : index
    %2 = kir.constant 1 : index : index
    %3 = kir.extent <"K">
    %4 = kir.extent <"K">
    %5 = kir.extent <"N">
    %6 = kir.domain %1 to %4 step %2 : <"K">
    %7 = kir.domain %3 to %arg3 step %2 : <"N">
    %8 = kir.read %arg1[%6 : !kir.domain<"K">] : <i32, ["K"], in> -> !kir.tensor<i32, ["K"]>
    %9 = kir.buffer : <f32, ["N", 4], inout>
    %10 = kir.buffer : <i64, [], inout>
    %11 = kir.read %arg0[%8, %7 : !kir.tensor<i32, ["K"]>, !kir.domain<"N">] valid %0 : !kir.tensor<i1, ["K", "N"]> : <f32, ["M", "N"], inout> -> !kir.tensor<f32, ["K", "N"]>
    %12 = kir.read %9[%3, %arg3 : index, index] valid %arg4 : i1 : <f32, ["N", 4], inout> -> f32
    kir.write %11 to %arg0[%8, %7 : !kir.tensor<i32, ["K"]>, !kir.domain<"N">] unique : !kir.tensor<f32, ["K", "N"]>, <f32, ["M", "N"], inout>
    kir.scatter_reduce %11 to %arg0[%8, %7 : !kir.tensor<i32, ["K"]>, !kir.domain<"N">] {
    ^bb0(%arg5: f32, %arg6: f32):
      %15 = kir.binary add %arg5, %12 : f32
      %16 = kir.binary add %arg5, %15 : f32
      kir.yield %15 : f32
    } : !kir.tensor<f32, ["K", "N"]>, <f32, ["M", "N"], inout>
    %13 = kir.atomic load acquire %arg0[%arg3, %3 : index, index] : <f32, ["M", "N"], inout> -> f32
    kir.atomic store release %arg0[%3, %arg3 : index, index] value %arg2 : f32 : <f32, ["M", "N"], inout>
    %14 = kir.atomic add acq_rel %arg0[%8, %7 : !kir.tensor<i32, ["K"]>, !kir.domain<"N">] value %11 : !kir.tensor<f32, ["K", "N"]> : <f32, ["M", "N"], inout> -> !kir.tensor<f32, ["K", "N"]>
    %old, %success = kir.compare_exchange relaxed %arg0[%3, %3 : index, index] expected %13 desired %arg2 : <f32, ["M", "N"], inout>, f32 -> i1
    %old_0, %success_1 = kir.compare_exchange release %arg0[%8, %7 : !kir.tensor<i32, ["K"]>, !kir.domain<"N">] expected %11 desired %14 : <f32, ["M", "N"], inout>, !kir.tensor<f32, ["K", "N"]> -> !kir.tensor<i1, ["K", "N"]>
    kir.return
  }
}
