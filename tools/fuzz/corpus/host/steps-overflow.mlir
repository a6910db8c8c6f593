module attributes {block.target = #block.target<"triton", "sm_90", {}>} {
  block.kernel @turned interface [#block.view_argument<"x", f32, ["M", "N"], in>, #block.view_argument<"y", f32, ["M", "N"], out>] checks [] overlaps [] {
    block.program @main privates ["M", "N"] workspaces [#block.workspace<"space", f32, ["M", "N"]>] parameters [#block.parameter<"BM", ownership, int domain = [4] column = "BM">, #block.parameter<"CN", coverage, int domain = [] binding = <pow2_ceil("N")>>] configurations #block.configurations<["BM"], [array<i64: 4>]> (%arg0: !block.view<f32, 2>, %arg1: !block.view<f32, 2>, %arg2: index, %arg3: index, %arg4: !block.view<f32, 2>) {
      block.group size(ceil_div("M", BM)) {
      ^bb0(%arg5: index):
        %0 = block.param BM
        %1 = block.binary mul %0, %0 : index
        %2 = block.constant 1 : index : index
        %3 = block.lanes %1 step %2 : <index, [BM]>
        %4 = block.broadcast %0 [] : index to <index, [BM]>
        %5 = block.broadcast %arg2 [] : index to <index, [BM]>
        %6 = block.compare lt %4, %4 : !block.fragment<index, [BM]> -> !block.fragment<i1, [BM]>
        %7 = block.constant -9223372036854775808 : index : index
        %8 = block.constant -9223372036854775808 : index : index
        %9 = block.lanes %7 step %8 : <index, [CN]>
        %10 = block.broadcast %arg3 [] : index to <index, [CN]>
        %11 = block.param BM
        %12 = block.compare lt %9, %10 : !block.fragment<index, [CN]> -> !block.fragment<i1, [CN]>
        %13 = block.constant 0.000000e+00 : f32 : f32
        %14 = block.load %arg0[%4, %9] valid(%6, %12) fill %13 coordinate_axes [[0], [1]] valid_axes [[0], [1]] : <f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [CN]>) valid (!block.fragment<i1, [BM]>, !block.fragment<i1, [CN]>) fill f32 -> !block.fragment<f32, [BM, CN]>
        %15 = block.constant 1 : index : index
        %16 = block.broadcast %7 [] : index to <index, [CN]>
        %17 = block.binary sub %9, %16 : !block.fragment<index, [CN]>
        %18 = block.binary sub %16, %17 : !block.fragment<index, [CN]>
        %19 = block.binary sub %18, %9 : !block.fragment<index, [CN]>
        %20 = block.constant 0.000000e+00 : f32 : f32
        %21 = block.load %arg4[%3, %19] valid(%6, %12) fill %20 coordinate_axes [[0], [1]] valid_axes [[0], [1]] : <f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [CN]>) valid (!block.fragment<i1, [BM]>, !block.fragment<i1, [CN]>) fill f32 -> !block.fragment<f32, [BM, CN]>
        block.store %14 to %arg4[%4, %18] valid(%6, %12) coordinate_axes [[0], [1]] valid_axes [[0], [1]] : !block.fragment<f32, [BM, CN]>, <f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [CN]>) valid (!block.fragment<i1, [BM]>, !block.fragment<i1, [CN]>)
        block.store %21 to %arg1[%4, %9] valid(%6, %12) coordinate_axes [[0], [1]] valid_axes [[0], [1]] : !block.fragment<f32, [BM, CN]>, <f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [CN]>) valid (!block.fragment<i1, [BM]>, !block.fragment<i1, [CN]>)
      }
      block.group size(ceil_div("M", BM)) {
      ^bb0(%arg5: index):
        %0 = block.param BM
        %1 = block.binary mul %arg5, %0 : index
        %2 = block.constant 1 : index : index
        %3 = block.lanes %1 step %2 : <index, [BM]>
        %4 = block.broadcast %0 [] : index to <index, [BM]>
        %5 = block.broadcast %arg2 [] : index to <index, [BM]>
        %6 = block.compare lt %4, %4 : !block.fragment<index, [BM]> -> !block.fragment<i1, [BM]>
        %7 = block.constant 0 : index : index
        %8 = block.constant 128 : index : index
        %9 = block.constant 128 : index : index
        %10 = block.lanes %8 step %1 : <index, [CN]>
        %11 = block.broadcast %8 [] : index to <index, [CN]>
        %12 = block.param BM
        %13 = block.compare lt %10, %11 : !block.fragment<index, [CN]> -> !block.fragment<i1, [CN]>
        %14 = block.constant 0.000000e+00 : f32 : f32
        %15 = block.load %arg0[%4, %10] valid(%6, %13) fill %14 coordinate_axes [[0], [1]] valid_axes [[0], [1]] : <f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [CN]>) valid (!block.fragment<i1, [BM]>, !block.fragment<i1, [CN]>) fill f32 -> !block.fragment<f32, [BM, CN]>
        %16 = block.constant 1 : index : index
        %17 = block.broadcast %12 [] : index to <index, [CN]>
        %18 = block.binary sub %10, %17 : !block.fragment<index, [CN]>
        %19 = block.binary sub %18, %10 : !block.fragment<index, [CN]>
        %20 = block.constant 0.000000e+00 : f32 : f32
        %21 = block.constant 0.000000e+00 : f32 : f32
        %22 = block.load %arg4[%3, %19] valid(%6, %13) fill %21 coordinate_axes [[0], [1]] valid_axes [[0], [1]] : <f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [CN]>) valid (!block.fragment<i1, [BM]>, !block.fragment<i1, [CN]>) fill f32 -> !block.fragment<f32, [BM, CN]>
        block.store %15 to %arg4[%4, %10] valid(%6, %13) coordinate_axes [[0], [1]] valid_axes [[0], [1]] : !block.fragment<f32, [BM, CN]>, <f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [CN]>) valid (!block.fragment<i1, [BM]>, !block.fragment<i1, [CN]>)
        block.store %22 to %arg1[%4, %10] valid(%6, %13) coordinate_axes [[0], [1]] valid_axes [[0], [1]] : !block.fragment<f32, [BM, CN]>, <f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [CN]>) valid (!block.fragment<i1, [BM]>, !block.fragment<i1, [CN]>)
      }
    }
  }
}
