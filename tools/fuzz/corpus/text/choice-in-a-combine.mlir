

module attributes {block.target = #block.target<"triton", "sm_90", {}>} {
block.kernel @control interface [#block.view_argument<"y", f32, [4], inout>] checks [] overlaps [] {
  block.program @main privates [] parameters [] (%y: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %one = block.constant 1.0 : f32 : f32
      block.scatter_reduce %one to %y[%p] valid() coordinate_axes [[]] valid_axes [] {
      ^bb0(%held: f32, %value: f32):
        %c = block.compare lt %held, %value : f32 -> i1
        %t = scf.if %c -> f32 {
          scf.yield %held : f32
        } else {
          scf.yield %value : f32
        }
        block.yield %t : f32
      } : f32, !block.view<f32, 1>, (index) valid ()
    }
  }
}
}
