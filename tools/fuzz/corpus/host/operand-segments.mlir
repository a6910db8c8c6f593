block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32

      %v = "block.load"(%x, %p, %p) <{coordinate_axes = [[]], valid_axes = [[]], operandSegmentSizes = array<i32: 1, 1, 1, 0>}> : (!block.view<f32, 1>, index, index) -> f32
    }
  }
}

