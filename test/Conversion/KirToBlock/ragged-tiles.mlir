// RUN: intent-opt %s --convert-kir-to-block | FileCheck %s
// Few ragged groups are one sequence of tiles, the group of each found by counting; many are walked group by group.
// CHECK-LABEL: block.program @ragged guard(le("G", 1024))
// CHECK: block.group size(add(floor_div("L", BX), "G")) covers [#block.cover<"G" = program>, #block.cover<"-?0 + ?1" = program, lanes of <BX>>]
// CHECK: block.scan
// CHECK: block.compare le {{.*}} : !block.fragment<index, [CG]>
// CHECK: block.reduce
// CHECK: block.store {{.*}} to %arg4[
// CHECK-NOT: scf.for
// CHECK-LABEL: block.program @tiled guard(not(le("G", 1024)))
// CHECK: scf.for
module attributes {block.target = #block.target<"triton", "sm_90", {fragment_elements = 65536 : i64, serial_elements = 65536 : i64, warp_size = 32 : i64}>} {
  kir.kernel @mapped(%x: !kir.view<f32, ["L"], in> {kir.name = "x"}, %off: !kir.view<i32, ["G1"], in> {kir.name = "off"}, %at: !kir.view<i32, ["L"], in> {kir.name = "at"}, %w: !kir.view<f32, ["G"], in> {kir.name = "w"}, %y: !kir.view<f32, ["L"], out> {kir.name = "y"}) {
    %0 = kir.constant 1 : index : index
    %1 = kir.constant 0 : index : index
    %G = kir.extent <"G">
    %2 = kir.domain %1 to %G step %0 : <"G">
    %3 = kir.extent <"L">
    %4 = kir.domain %1 to %3 step %0 : <"L">
    kir.parallel(%2 : !kir.domain<"G">) {
    ^bb0(%g: index):
      %5 = kir.read %off[%g : index] : <i32, ["G1"], in> -> i32
      %6 = kir.binary add %g, %0 : index
      %7 = kir.read %off[%6 : index] : <i32, ["G1"], in> -> i32
      %8 = kir.cast %5 : i32 to index
      kir.symbol "?0" = %8
      %9 = kir.cast %7 : i32 to index
      kir.symbol "?1" = %9
      %10 = kir.subregion %4[%8 : %9] : <"L"> -> <-"?0" + "?1">
      %11 = kir.read %at[%10 : !kir.domain<-"?0" + "?1">] : <i32, ["L"], in> -> !kir.tensor<i32, [-"?0" + "?1"]>
      %m = kir.cast %11 : !kir.tensor<i32, [-"?0" + "?1"]> to !kir.tensor<index, [-"?0" + "?1"]>
      %12 = kir.read %x[%m : !kir.tensor<index, [-"?0" + "?1"]>] : <f32, ["L"], in> -> !kir.tensor<f32, [-"?0" + "?1"]>
      %13 = kir.read %w[%g : index] : <f32, ["G"], in> -> f32
      %14 = kir.broadcast %13 [] : f32 to <f32, [-"?0" + "?1"]>
      %15 = kir.binary mul %12, %14 : !kir.tensor<f32, [-"?0" + "?1"]>
      kir.write %15 to %y[%m : !kir.tensor<index, [-"?0" + "?1"]>] unique : !kir.tensor<f32, [-"?0" + "?1"]>, <f32, ["L"], out>
    }
    kir.return
  }
}
