module attributes {block.target = #block.target<"triton", "sm_90", {}>} {
  block.kernel @meet interface [#block.view_argument<"x", f32, ["N"], in>, #block.view_argument<"p", i32, ["N"], in>, #block.view_argument<"y", f32, ["M"], inout>, #block.view_argument<"o0", f32, ["N"], out>] checks [] overlaps [#block.overlap<"x1", "y8", disjoint>, #block.overlap<"x2", "y8", disjoint>, #block.overlap<"x3", "y8", disjoint>, #block.overlap<"x1", "y9", disjoint>, #block.overlap<"x2", "y9", disjoint>, #block.overlap<"x3", "y9", disjoint>, #block.overlap<"y8", "y9", disjoint>, #block.overlap<"x1", "y10", disjoint>, #block.overlap<"x2", "y10", disjoint>, #block.overlap<"x3", "y10", disjoint>, #block.overlap<"y8", "y10", disjoint>, #block.overlap<"y9", "y10", disjoint>] {
    block.program @main privates ["N"] parameters [#block.parameter<"BN", ownership, int domain = [16] column = "BN">] configurations #block.configurations<["BN"], [array<i64: 16>]> (%arg0: !block.view<f32, 1>, %arg1: !block.view<i32, 1>, %arg2: !block.view<f32, 1>, %arg3: !block.view<f32, 1>, %arg4: index) {
      block.group size(ceil_div("N", BN)) {
      ^bb0(%arg5: index):
        %0 = block.param BN
        %1 = block.binary mod %arg5, %arg5 : index
        %2 = block.constant -9223372036854775808 : index : index
        %3 = block.lanes %1 step %2 : <index, [BN]>
        %4 = block.broadcast %arg4 [] : index to <index, [BN]>
        %5 = block.lanes %2 step %0 : <index, [BN]>
        %6 = block.compare le %3, %5 : !block.fragment<index, [BN]> -> !block.fragment<i1, [BN]>
        %7 = block.constant 0.000000e+00 : f32 : f32
        %8 = block.constant 0.000000e+00 : f32 : f32
        %9 = block.load %arg0[%5] valid(%6) fill %7 coordinate_axes [[0]] valid_axes [[0]] : <f32, 1>, (!block.fragment<index, [BN]>) valid (!block.fragment<i1, [BN]>) fill f32 -> !block.fragment<f32, [BN]>
        %10 = block.constant 0 : i32 : i32
        %11 = block.load %arg1[%3] valid(%6) fill %10 coordinate_axes [[0]] valid_axes [[0]] : <i32, 1>, (!block.fragment<index, [BN]>) valid (!block.fragment<i1, [BN]>) fill i32 -> !block.fragment<i32, [BN]>
        %12 = block.cast %11 : !block.fragment<i32, [BN]> to !block.fragment<index, [BN]>
        %13 = block.atomic max relaxed %9 to %arg2[%5] valid(%6) coordinate_axes [[0]] valid_axes [[0]] : !block.fragment<f32, [BN]>, <f32, 1>, (!block.fragment<index, [BN]>) valid (!block.fragment<i1, [BN]>) -> !block.fragment<f32, [BN]>
        block.store %13 to %arg3[%3] valid(%6) coordinate_axes [[0]] valid_axes [[0]] : !block.fragment<f32, [BN]>, <f32, 1>, (!block.fragment<index, [BN]>) valid (!block.fragment<i1, [BN]>)
        block.store %13 to %arg3[%5] valid(%6) coordinate_axes [[0]] valid_axes [[0]] : !block.fragment<f32, [BN]>, <f32, 1>, (!block.fragment<index, [BN]>) valid (!block.fragment<i1, [BN]>)
      }
    }
  }
}
