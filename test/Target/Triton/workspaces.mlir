// RUN: intent-translate --block-to-triton %s | FileCheck %s
// A workspace is an argument behind the private ones; the launch allocates it, row-major, with the strides of its extents.
// CHECK:      def turned_kernel(
// CHECK-NEXT:         x, y, M, N, x_stride_m, x_stride_n, y_stride_m, y_stride_n, space, BM: tl.constexpr, CN: tl.constexpr,
// CHECK-NEXT:         INDEX: tl.constexpr):
// CHECK-NEXT:     pid = tl.program_id(0).to(INDEX)
// CHECK-NEXT:     # turned.py:10
// CHECK-NEXT:     m = pid * BM + tl.arange(0, BM)
// CHECK-NEXT:     n = tl.arange(0, CN).to(INDEX)
// CHECK-NEXT:     mask = (m[:, None] < M) & (n[None, :] < N)
// CHECK-NEXT:     x_tile = tl.load(x + m[:, None] * x_stride_m + n[None, :] * x_stride_n, mask=mask, other=0.0)
// CHECK-NEXT:     tl.store(space + m[:, None] * N + n[None, :], x_tile, mask=mask)
// CHECK-NEXT:     tl.debug_barrier()
// CHECK-NEXT:     back = N - 1 - n
// CHECK-NEXT:     # turned.py:14
// CHECK-NEXT:     turned = tl.load(space + m[:, None] * N + back[None, :], mask=mask, other=0.0)
// CHECK-NEXT:     tl.store(y + m[:, None] * y_stride_m + n[None, :] * y_stride_n, turned, mask=mask)
// CHECK:      def symbols(x, y):
// CHECK-NEXT:     return dict(M=x.shape[0], N=x.shape[1])
// CHECK:      OPTIONS = dict(enable_fp_fusion=True, enable_reflect_ftz=False)
// CHECK:      VARIANTS = [
// CHECK-NEXT:     dict(
// CHECK-NEXT:         name="main",
// CHECK-NEXT:         kernel=turned_kernel,
// CHECK-NEXT:         guard=lambda **_: True,
// CHECK-NEXT:         coverage=lambda N, **_: dict(CN=triton.next_power_of_2(max(N, 1))),
// CHECK-NEXT:         grid=lambda M, BM, **_: triton.cdiv(M, BM),
// CHECK-NEXT:         index32=lambda M, BM, N, CN, **_: max(triton.cdiv(M, BM) * BM + BM, N + 1 + CN, M * N) < 2**31,
// CHECK-NEXT:         arguments=lambda x, y, M, N, **_: (x, y, M, N, x.stride(0), x.stride(1), y.stride(0), y.stride(1)),
// CHECK-NEXT:         signature=("*fp32", "*fp32", "extent", "extent/16", "stride", "stride", "stride", "stride", "*fp32"),
// CHECK-NEXT:         workspaces=lambda M, N, **_: [("float32", (M, N), False)],
// CHECK-NEXT:         configs=[
// CHECK-NEXT:             triton.Config({"BM": 4}),
// CHECK-NEXT:         ],
// CHECK-NEXT:     ),
// CHECK-NEXT: ]
// CHECK:      def turned(x, y, row=0):
// CHECK-NEXT:     """One launch on torch tensors with configuration `row` of the variant that the extents choose."""
// CHECK-NEXT:     values = dict(x=x, y=y) | symbols(x, y)
// CHECK-NEXT:     variant = next(v for v in VARIANTS if v["guard"](**values))
// CHECK-NEXT:     config = variant["configs"][row]
// CHECK-NEXT:     constants = config.kwargs | variant["coverage"](**values)
// CHECK-NEXT:     grid = variant["grid"](**values, **constants)
// CHECK-NEXT:     arguments = variant["arguments"](**values, **constants)
// CHECK-NEXT:     for dtype, shape, zeroed in variant["workspaces"](**values, **constants) if "workspaces" in variant else ():
// CHECK-NEXT:         make = torch.zeros if zeroed else torch.empty
// CHECK-NEXT:         arguments += (make(shape, dtype=getattr(torch, dtype), device=x.device),)
// CHECK-NEXT:     if grid:
// CHECK-NEXT:         index = tl.int64
// CHECK-NEXT:         variant["kernel"][(grid,)](*arguments, **constants, INDEX=index, num_warps=config.num_warps,
// CHECK-NEXT:                                 num_stages=config.num_stages, num_ctas=config.num_ctas, **OPTIONS)

module attributes {block.target = #block.target<"triton", "sm_90", {}>} {
block.kernel @turned interface [#block.view_argument<"x", f32, ["M", "N"], in>, #block.view_argument<"y", f32, ["M", "N"], out>] checks [] overlaps [] {
  block.program @main privates ["M", "N"] workspaces [#block.workspace<"space", f32, ["M", "N"]>]
      parameters [#block.parameter<"BM", ownership, int domain = [4] column = "BM">, #block.parameter<"CN", coverage, int domain = [] binding = <pow2_ceil("N")>>] configurations #block.configurations<["BM"], [array<i64: 4>]>
      (%x: !block.view<f32, 2>, %y: !block.view<f32, 2>, %p0: index, %p1: index, %space: !block.view<f32, 2>) {
    block.group size(ceil_div("M", BM)) {
    ^bb0(%pid1: index):
      %v1 = block.param BM loc("turned.py":10:5)
      %v2 = block.binary mul %pid1, %v1 : index loc("turned.py":10:5)
      %v3 = block.constant 1 : index : index loc("turned.py":10:5)
      %v4 = block.lanes %v2 step %v3 : !block.fragment<index, [BM]> loc("m"("turned.py":10:5))
      %v5 = block.broadcast %p0 [] : index to !block.fragment<index, [BM]> loc("turned.py":10:5)
      %v6 = block.compare lt %v4, %v5 : !block.fragment<index, [BM]> -> !block.fragment<i1, [BM]> loc("turned.py":10:5)
      %v7 = block.constant 0 : index : index loc("turned.py":10:5)
      %v8 = block.constant 1 : index : index loc("turned.py":10:5)
      %v9 = block.lanes %v7 step %v8 : !block.fragment<index, [CN]> loc("n"("turned.py":10:5))
      %v10 = block.broadcast %p1 [] : index to !block.fragment<index, [CN]> loc("turned.py":10:5)
      %v11 = block.compare lt %v9, %v10 : !block.fragment<index, [CN]> -> !block.fragment<i1, [CN]> loc("turned.py":10:5)
      %v12 = block.constant 0.0 : f32 : f32 loc("turned.py":10:5)
      %v13 = block.load %x[%v4, %v9] valid(%v6, %v11) fill %v12 coordinate_axes [[0], [1]] valid_axes [[0], [1]] : !block.view<f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [CN]>) valid (!block.fragment<i1, [BM]>, !block.fragment<i1, [CN]>) fill f32 -> !block.fragment<f32, [BM, CN]> loc("x_tile"("turned.py":10:5))
      block.store %v13 to %space[%v4, %v9] valid(%v6, %v11) coordinate_axes [[0], [1]] valid_axes [[0], [1]] : !block.fragment<f32, [BM, CN]>, !block.view<f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [CN]>) valid (!block.fragment<i1, [BM]>, !block.fragment<i1, [CN]>) loc("turned.py":10:5)
      block.fence loc("turned.py":10:5)
      %v14 = block.broadcast %p1 [] : index to !block.fragment<index, [CN]> loc("turned.py":10:5)
      %v15 = block.constant 1 : index : index loc("turned.py":10:5)
      %v16 = block.broadcast %v15 [] : index to !block.fragment<index, [CN]> loc("turned.py":10:5)
      %v17 = block.binary sub %v14, %v16 : !block.fragment<index, [CN]> loc("turned.py":10:5)
      %v18 = block.binary sub %v17, %v9 : !block.fragment<index, [CN]> loc("back"("turned.py":10:5))
      %v19 = block.constant 0.0 : f32 : f32 loc("turned.py":14:5)
      %v20 = block.load %space[%v4, %v18] valid(%v6, %v11) fill %v19 coordinate_axes [[0], [1]] valid_axes [[0], [1]] : !block.view<f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [CN]>) valid (!block.fragment<i1, [BM]>, !block.fragment<i1, [CN]>) fill f32 -> !block.fragment<f32, [BM, CN]> loc("turned"("turned.py":14:5))
      block.store %v20 to %y[%v4, %v9] valid(%v6, %v11) coordinate_axes [[0], [1]] valid_axes [[0], [1]] : !block.fragment<f32, [BM, CN]>, !block.view<f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [CN]>) valid (!block.fragment<i1, [BM]>, !block.fragment<i1, [CN]>) loc("turned.py":14:5)
    }
  }
}
}
