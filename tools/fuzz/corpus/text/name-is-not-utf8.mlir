module {
  kir.kernel @int4_linear(%arg0: !kir.view<f16, ["M", "K"], in> {kir.name = "x"}, %arg1: !kir.view<ui8, ["N", "HALF"], in> {kir.name = "packed"}, %arg2: !kir.view<f16, ["N"], in> {kir.name = "\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4\F4scale"}, %arg3: !kir.view<f16, ["M", "N"], out> {kir.name = "y"}) {
    %0 = kir.constant 16 : i32 : i32
    %1 = kir.constant 31 : i32 : i32
    %2 = kir.constant 4 : ui8 : ui8
    %3 = kir.constant 15 : ui8 : ui8
    %4 = kir.constant 1 : index : index
    %5 = kir.constant 0 : index : index
    %6 = kir.extent <"M">
    %7 = kir.extent <"K">
    %8 = kir.extent <"N">
    %9 = kir.extent <"HALF">
    %10 = kir.domain %5 to %8 step %4 : <"N">
    %11 = kir.domain %5 to %9 step %4 : <"HALF">
    %12 = kir.read %arg1[%10, %11 : !kir.domain<"N">, !kir.domain<"HALF">] : <ui8, ["N", "HALF"], in> -> !kir.tensor<ui8, ["N", "HALF"]>
    %13 = kir.broadcast %3 [] : ui8 to <ui8, ["N", "HALF"]>
    %14 = kir.binary and %12, %13 : !kir.tensor<ui8, ["N", "HALF"]>
    %15 = kir.cast %14 : !kir.tensor<ui8, ["N", "HALF"]> to !kir.tensor<i32, ["N", "HALF"]>
    %16 = kir.broadcast %2 [] : ui8 to <ui8, ["N", "HALF"]>
    %17 = kir.binary shr %12, %16 : !kir.tensor<ui8, ["N", "HALF"]>
    %18 = kir.cast %17 : !kir.tensor<ui8, ["N", "HALF"]> to !kir.tensor<i32, ["N", "HALF"]>
    %19 = kir.join %15, %18 : !kir.tensor<i32, ["N", "HALF"]> -> <i32, ["N", "HALF", 2]>
    kir.check_extent <2 * "HALF"> equals <"K"> "reshape: [\22N\22, \22HALF\22, 2] and [\22N\22, \22K\22] hold equally many elements"
    %20 = kir.reshape %19 : <i32, ["N", "HALF", 2]> to <i32, ["N", "K"]>
    %21 = kir.broadcast %1 [] : i32 to <i32, ["N", "K"]>
    %22 = kir.compare ge %20, %21 : !kir.tensor<i32, ["N", "K"]> -> !kir.tensor<i1, ["N", "K"]>
    %23 = kir.broadcast %0 [] : i32 to <i32, ["N", "K"]>
    %24 = kir.binary mul %20, %23 : !kir.tensor<i32, ["N", "K"]>
    %25 = kir.select %22, %24, %20 : !kir.tensor<i1, ["N", "K"]>, !kir.tensor<i32, ["N", "K"]>
    %26 = kir.domain %5 to %6 step %4 : <"M">
    %27 = kir.domain %5 to %7 step %4 : <"K">
    %28 = kir.read %arg0[%26, %27 : !kir.domain<"M">, !kir.domain<"K">] : <f16, ["M", "K"], in> -> !kir.tensor<f16, ["M", "K"]>
    %29 = kir.cast %25 : !kir.tensor<i32, ["N", "K"]> to !kir.tensor<f16, ["N", "K"]>
    %30 = kir.contract %28, %29 reduce [1] [1] batch [] [] : <f16, ["M", "K"]>, <f16, ["N", "K"]> -> !kir.tensor<f32, ["M", "N"]>
    %31 = kir.read %arg2[%10 : !kir.domain<"N">] : <f16, ["N"], in> -> !kir.tensor<f16, ["N"]>
    %32 = kir.cast %31 : !kir.tensor<f16, ["N"]> to !kir.tensor<f32, ["N"]>
    %33 = kir.broadcast %32 [1] : !kir.tensor<f32, ["N"]> to <f32, ["M", "N"]>
    %34 = kir.binary mul %30, %33 : !kir.tensor<f32, ["M", "N"]>
    %35 = kir.cast %34 : !kir.tensor<f32, ["M", "N"]> to !kir.tensor<f16, ["M", "N"]>
    kir.write %35 to %arg3[%26, %10 : !kir.domain<"M">, !kir.domain<"N">] : !kir.tensor<f16, ["M", "N"]>, <f16, ["M", "N"], out>
    kir.return
  }
}
