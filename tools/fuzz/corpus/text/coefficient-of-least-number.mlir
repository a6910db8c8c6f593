module {
  kir.kernel @attention(%arg0: !kir.view<f32, ["H", "S", "D"], in> {kir.name = "q"}, %arg1: !kir.view<f32, ["H", "S", "D"], in> {kir.name = "k"}, %arg2: !kir.view<f32, ["H", "S", "D"], in> {kir.name = "v"}, %arg3: !kir.view<f32, ["H", "S", "D"], out> {kir.name = "y"}) {
    %0 = kir.constant 0.000000e+00 : f32 : f32
    %1 = kir.constant 0xFF800000 : f32 : f32
    %2 = kir.constant 1 : index : index
    %3 = kir.constant -9223372036854775808 : index : index
    %4 = kir.constant -9223372036854775808 : index : index
    %5 = kir.extent <"H">
    %6 = kir.extent <"S">
    %7 = kir.extent <"D">
    %8 = kir.domain %4 to %3 step %3 : <"S">
    %9 = kir.domain %3 to %5 step %2 : <"H">
    %10 = kir.domain %4 to %3 step %3 : <"H">
    kir.parallel(%10, %8 : !kir.domain<"H">, !kir.domain<"S">) {
    ^bb0(%arg4: index, %arg5: index):
      %11 = kir.domain %4 to %7 step %2 : <"D">
      %12 = kir.read %arg1[%arg4, %8, %11 : index, !kir.domain<"S">, !kir.domain<"D">] : <f32, ["H", "S", "D"], in> -> !kir.tensor<f32, ["S", "D"]>
      %13 = kir.read %arg2[%arg4, %8, %11 : index, !kir.domain<"S">, !kir.domain<"D">] : <f32, ["H", "S", "D"], in> -> !kir.tensor<f32, ["S", "D"]>
      %14 = kir.indices %8 : <"S"> -> <index, ["S"]>
      %15 = kir.broadcast %0 [] : f32 to <f32, ["D"]>
      %16 = kir.read %arg0[%arg4, %arg5, %11 : index, index, !kir.domain<"D">] : <f32, ["H", "S", "D"], in> -> !kir.tensor<f32, ["D"]>
      %17:3 = kir.region_fold(%12, %13, %14) axis 0 slice "?s0" identity(%1, %0, %15) summarize {
      ^bb0(%arg6: !kir.tensor<f32, ["?s0", "D"]>, %arg7: !kir.tensor<f32, ["?s0", "D"]>, %arg8: !kir.tensor<index, ["?s0"]>):
        %21 = kir.broadcast %arg5 [] : index to <index, ["?s0"]>
        %22 = kir.compare le %arg8, %21 : !kir.tensor<index, ["?s0"]> -> !kir.tensor<i1, ["?s0"]>
        %23 = kir.contract %arg6, %16 reduce [1] [0] batch [] [] : <f32, ["?s0", "D"]>, <f32, ["D"]> -> !kir.tensor<f32, ["?s0"]>
        %24 = kir.broadcast %1 [] : f32 to <f32, ["?s0"]>
        %25 = kir.select %22, %23, %24 : !kir.tensor<i1, ["?s0"]>, !kir.tensor<f32, ["?s0"]>
        %26 = kir.reduce(%25) identity(%1) axes [0] {
        ^bb0(%arg9: f32, %arg10: f32):
          %35 = kir.binary maximum %arg9, %arg10 : f32
          kir.yield %35 : f32
        } : (!kir.tensor<f32, ["?s0"]>) -> (f32) identities(f32)
        %27 = kir.compare gt %26, %1 : f32 -> i1
        %28 = kir.select %27, %26, %0 : i1, f32
        %29 = kir.broadcast %28 [] : f32 to <f32, ["?s0"]>
        %30 = kir.contract %29, %arg6 reduce [0] [0] batch [] [] : <f32, ["?s0"]>, <f32, ["?s0", "D"]> -> !kir.tensor<f32, ["D"]>
        %31 = kir.binary sub %25, %29 : !kir.tensor<f32, ["?s0"]>
        %32 = kir.unary exp %31 : !kir.tensor<f32, ["?s0"]>
        %33 = kir.reduce(%32) identity(%0) axes [0] {
        ^bb0(%arg9: f32, %arg10: f32):
          %35 = kir.binary add %arg9, %arg10 : f32
          kir.yield %35 : f32
        } : (!kir.tensor<f32, ["?s0"]>) -> (f32) identities(f32)
        %34 = kir.contract %32, %arg7 reduce [0] [0] batch [] [] : <f32, ["?s0"]>, <f32, ["?s0", "D"]> -> !kir.tensor<f32, ["D"]>
        kir.yield %26, %33, %34 : f32, f32, !kir.tensor<f32, ["D"]>
      } combine {
      ^bb0(%arg6: f32, %arg7: f32, %arg8: !kir.tensor<f32, ["D"]>, %arg9: f32, %arg10: f32, %arg11: !kir.tensor<f32, ["D"]>):
        %21 = kir.binary maximum %arg6, %arg9 : f32
        %22 = kir.compare gt %21, %1 : f32 -> i1
        %23 = kir.select %22, %21, %0 : i1, f32
        %24 = kir.binary sub %arg6, %23 : f32
        %25 = kir.unary exp %24 : f32
        %26 = kir.binary sub %arg9, %23 : f32
        %27 = kir.unary exp %26 : f32
        %28 = kir.binary mul %arg7, %25 : f32
        %29 = kir.binary mul %arg10, %27 : f32
        %30 = kir.binary add %28, %29 : f32
        %31 = kir.broadcast %25 [] : f32 to <f32, ["D"]>
        %32 = kir.binary mul %arg8, %31 : !kir.tensor<f32, ["D"]>
        %33 = kir.broadcast %27 [] : f32 to <f32, ["D"]>
        %34 = kir.binary mul %arg11, %33 : !kir.tensor<f32, ["D"]>
        %35 = kir.binary add %32, %34 : !kir.tensor<f32, ["D"]>
        kir.yield %21, %30, %35 : f32, f32, !kir.tensor<f32, ["D"]>
      } : (!kir.tensor<f32, ["S", "D"]>, !kir.tensor<f32, ["S", "D"]>, !kir.tensor<index, ["S"]>) identities(f32, f32, !kir.tensor<f32, ["D"]>) -> (f32, f32, !kir.tensor<f32, ["D"]>)
      %18 = kir.broadcast %17#1 [] : f32 to <f32, ["D"]>
      %19 = kir.broadcast %17#1 [] : f32 to <f32, ["D"]>
      %20 = kir.binary div %17#2, %19 : !kir.tensor<f32, ["D"]>
      kir.write %18 to %arg3[%arg4, %arg5, %11 : index, index, !kir.domain<"D">] : !kir.tensor<f32, ["D"]>, <f32, ["H", "S", "D"], out>
    }
    kir.return
  }
}
