// RUN: intent-opt %s --convert-kir-to-block | FileCheck %s
// Rows of a sparse matrix share an instance: the loop runs to the longest, and each row's members mask it.
// CHECK-LABEL: block.program @tiled
// CHECK: block.group size(ceil_div("R", BR)) covers [#block.cover<"R" = program, lanes of <BR>>, #block.cover<"-?0 + ?1" = loop, lanes of <BX>>]
// CHECK: %[[LENGTH:.*]] = block.binary sub {{.*}} : !block.fragment<index, [BR]>
// CHECK: block.select {{.*}}, %[[LENGTH]], {{.*}} : !block.fragment<i1, [BR]>
// CHECK: %[[LONGEST:.*]] = block.reduce
// CHECK-NEXT: ^bb0
// CHECK-NEXT: block.binary maximum
// CHECK: scf.for {{.*}} to %[[LONGEST]] step
// CHECK: block.broadcast %[[LENGTH]] [0] : !block.fragment<index, [BR]> to <index, [BR, BX]>
// CHECK: block.load %arg0[
// CHECK: block.load %arg3[
module attributes {block.target = #block.target<"triton", "sm_90", {fragment_elements = 65536 : i64, serial_elements = 65536 : i64, warp_size = 32 : i64}>} {
  kir.kernel @spmv(%val: !kir.view<f32, ["E"], in> {kir.name = "val"}, %col: !kir.view<i32, ["E"], in> {kir.name = "col"}, %off: !kir.view<i32, ["R1"], in> {kir.name = "off"}, %x: !kir.view<f32, ["N"], in> {kir.name = "x"}, %y: !kir.view<f32, ["R"], out> {kir.name = "y"}) {
    %0 = kir.constant 0.000000e+00 : f32 : f32
    %1 = kir.constant 1 : index : index
    %2 = kir.constant 0 : index : index
    %R = kir.extent <"R">
    %3 = kir.domain %2 to %R step %1 : <"R">
    %4 = kir.extent <"E">
    %5 = kir.domain %2 to %4 step %1 : <"E">
    kir.parallel(%3 : !kir.domain<"R">) {
    ^bb0(%r: index):
      %6 = kir.read %off[%r : index] : <i32, ["R1"], in> -> i32
      %7 = kir.binary add %r, %1 : index
      %8 = kir.read %off[%7 : index] : <i32, ["R1"], in> -> i32
      %9 = kir.cast %6 : i32 to index
      kir.symbol "?0" = %9
      %10 = kir.cast %8 : i32 to index
      kir.symbol "?1" = %10
      %e = kir.subregion %5[%9 : %10] : <"E"> -> <-"?0" + "?1">
      %11 = kir.read %val[%e : !kir.domain<-"?0" + "?1">] : <f32, ["E"], in> -> !kir.tensor<f32, [-"?0" + "?1"]>
      %12 = kir.read %col[%e : !kir.domain<-"?0" + "?1">] : <i32, ["E"], in> -> !kir.tensor<i32, [-"?0" + "?1"]>
      %13 = kir.read %x[%12 : !kir.tensor<i32, [-"?0" + "?1"]>] : <f32, ["N"], in> -> !kir.tensor<f32, [-"?0" + "?1"]>
      %14 = kir.binary mul %11, %13 : !kir.tensor<f32, [-"?0" + "?1"]>
      %15 = kir.reduce(%14) identity(%0) axes [0] {
      ^bb0(%arg6: f32, %arg7: f32):
        %16 = kir.binary add %arg6, %arg7 : f32
        kir.yield %16 : f32
      } : (!kir.tensor<f32, [-"?0" + "?1"]>) -> (f32) identities(f32)
      kir.write %15 to %y[%r : index] : f32, <f32, ["R"], out>
    }
    kir.return
  }
}
