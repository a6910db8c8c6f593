module attributes {block.target = #block.target<"triton", "sm_90", {}>} {
  %0 = block.constant 0.000000e+00 : f32 : f32
  block.kernel @draw interface [#block.view_argument<"x", f32, ["N"], in>, #block.view_argument<"y", f32, [1], inout>, #block.view_argument<"o", f32, ["N"], out>] checks [] overlaps [] {
    block.program @main privates ["N"] parameters [] (%arg0: !block.view<f32, 1>, %arg1: !block.view<f32, 1>, %arg2: !block.view<f32, 1>, %arg3: index) {
      block.group size(add("N", 3)) {
      ^bb0(%arg4: index):
        %1 = kir.constant 0.000000e+00 : f32 : f32
        %2 = block.constant 0 : index : index
        %3 = block.compare lt %arg4, %arg3 : index -> i1
        %4 = block.constant 0.000000e+00 : f32 : f32
        %5 = block.load %arg0[%arg4] valid(%3) fill %4 coordinate_axes [[]] valid_axes [[]] : <f32, 1>, (index) valid (i1) fill f32 -> f32
        %6 = block.atomic max acq_rel %5 to %arg1[%2] valid(%3) coordinate_axes [[]] valid_axes [[]] : f32, <f32, 1>, (index) valid (i1) -> f32
        block.store %1 to %arg2[%arg4] valid(%3) coordinate_axes [[]] valid_axes [[]] : f32, <f32, 1>, (index) valid (i1)
      }
    }
  }
}
