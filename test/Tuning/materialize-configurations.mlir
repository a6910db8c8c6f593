// RUN: intent-opt %s -split-input-file --block-materialize-configurations="table=%S/Inputs/rows.json explain" 2>%t | FileCheck %s
// RUN: FileCheck --check-prefix=ROWS %s < %t

// No loop loads, so NUM_STAGES has no consumer; NUM_CTAS stays because one row sets it.
// CHECK-LABEL: block.program @relu
// CHECK-SAME: #block.parameter<"BN", ownership, int domain = [64, 128, 256, 512, 1024] column = "ownership_n">
// CHECK-SAME: #block.parameter<"NUM_WARPS", provider, int domain = [1, 2, 4, 8, 16, 32] column = "NUM_WARPS" affects = ["launch"]>
// CHECK-SAME: #block.parameter<"NUM_CTAS", provider, int domain = [1, 2, 4, 8] column = "NUM_CTAS" affects = ["launch"]>
// CHECK-SAME: configurations #block.configurations<["BN", "NUM_WARPS", "NUM_CTAS"], [array<i64: 1024, 8, 1>, array<i64: 512, 4, 1>, array<i64: 64, 4, 1>, array<i64: 1024, 8, 2>]>
// CHECK-SAME: family "pointwise_narrow"
// ROWS: relu: family 'pointwise_narrow', row 0: candidate 0
// ROWS: relu: family 'pointwise_narrow', row 1: merged with candidate 0
// ROWS: relu: family 'pointwise_narrow', row 2: candidate 1
// ROWS: relu: family 'pointwise_narrow', row 3: candidate 2
// ROWS: relu: family 'pointwise_narrow', row 4: rejected by rule 'provider_option': expected NUM_WARPS in [1, 2, 4, 8, 16, 32], got 6
// ROWS: relu: family 'pointwise_narrow', row 5: rejected by rule 'descriptor_form': expected USE_TENSOR_DESCRIPTOR 0, got 1: the program's accesses have no descriptor form
// ROWS: relu: family 'pointwise_narrow', row 6: candidate 3
module attributes {block.target = #block.target<"triton", "sm_90", {fragment_elements = 65536 : i64, max_ctas = 8 : i64, max_warps = 32 : i64}>} {
block.kernel @k interface [#block.view_argument<"x", f16, ["N"], in>, #block.view_argument<"y", f16, ["N"], out>] checks [] overlaps [] {
  block.program @relu privates ["N"] parameters [#block.parameter<"BN", ownership, int domain = [64, 128, 256, 512, 1024] column = "ownership_n">]
      (%x: !block.view<f16, 1>, %y: !block.view<f16, 1>, %N: index) {
    block.group size(ceil_div("N", BN)) {
    ^bb0(%p: index):
      %c1 = block.constant 1 : index : index
      %zero = block.constant 0.0 : f16 : f16
      %true = block.constant true : i1
      %bn = block.param BN
      %base = block.binary mul %p, %bn : index
      %n = block.lanes %base step %c1 : !block.fragment<index, [BN]>
      %Ns = block.broadcast %N [] : index to !block.fragment<index, [BN]>
      %v = block.compare lt %n, %Ns : !block.fragment<index, [BN]> -> !block.fragment<i1, [BN]>
      %a = block.load %x[%n] valid(%v) fill %zero coordinate_axes [[0]] valid_axes [[0]] : !block.view<f16, 1>, (!block.fragment<index, [BN]>) valid (!block.fragment<i1, [BN]>) fill f16 -> !block.fragment<f16, [BN]>
      %z = block.broadcast %zero [] : f16 to !block.fragment<f16, [BN]>
      %r = block.binary maximum %a, %z : !block.fragment<f16, [BN]>
      block.store %r to %y[%n] valid(%v) coordinate_axes [[0]] valid_axes [[0]] : !block.fragment<f16, [BN]>, !block.view<f16, 1>, (!block.fragment<index, [BN]>) valid (!block.fragment<i1, [BN]>)
    }
  }
}
}

// -----

// A loop that loads keeps the row's stages; what provably exceeds the target goes.
// CHECK-LABEL: block.program @matmul
// CHECK-SAME: configurations #block.configurations<["BM", "BN", "BK", "NUM_WARPS", "NUM_STAGES"], [array<i64: 128, 256, 64, 8, 3>, array<i64: 128, 256, 64, 8, 4>]>
// CHECK-SAME: family "contraction_narrow"
// ROWS: matmul: family 'contraction_narrow', row 0: candidate 0
// ROWS: matmul: family 'contraction_narrow', row 1: candidate 1
// ROWS: matmul: family 'contraction_narrow', row 2: rejected by rule 'shared_memory': expected at most 232448 bytes of shared memory for the operands of a contraction, got 458752
// ROWS: matmul: family 'contraction_narrow', row 3: rejected by rule 'fragment_elements': expected at most 65536 words of 4 bytes in !block.fragment<f32, [BM, BN]>, got 131072
// ROWS: matmul: family 'contraction_narrow', row 4: rejected by rule 'contract_inner_extent': expected an inner extent of at least 16 in !block.fragment<f16, [BM, BK]>, got 8
module attributes {block.target = #block.target<"triton", "sm_90", {contract_minimum_k = 16 : i64, fragment_elements = 65536 : i64, shared_memory_per_block = 232448 : i64, max_ctas = 1 : i64, max_warps = 32 : i64}>} {
block.kernel @k interface [#block.view_argument<"a", f16, ["M", "K"], in>, #block.view_argument<"b", f16, ["K", "N"], in>, #block.view_argument<"c", f32, ["M", "N"], out>] checks [] overlaps [] {
  block.program @matmul privates ["M", "N", "K"] parameters [
      #block.parameter<"BM", ownership, int domain = [16, 32, 64, 128, 256, 512] column = "ownership_m">,
      #block.parameter<"BN", ownership, int domain = [16, 32, 64, 128, 256] column = "ownership_n">,
      #block.parameter<"BK", reduction, int domain = [8, 16, 32, 64] column = "reduction">]
      (%A: !block.view<f16, 2>, %B: !block.view<f16, 2>, %C: !block.view<f32, 2>, %M: index, %N: index, %K: index) {
    block.group size(mul(ceil_div("M", BM), ceil_div("N", BN))) {
    ^bb0(%p: index):
      %c0 = block.constant 0 : index : index
      %c1 = block.constant 1 : index : index
      %zero = block.constant 0.0 : f16 : f16
      %true = block.constant true : i1
      %zerof = block.constant 0.0 : f32 : f32
      %bk = block.param BK
      %m = block.lanes %p step %c1 : !block.fragment<index, [BM]>
      %n = block.lanes %p step %c1 : !block.fragment<index, [BN]>
      %init = block.broadcast %zerof [] : f32 to !block.fragment<f32, [BM, BN]>
      %acc = scf.for %k0 = %c0 to %K step %bk iter_args(%acc = %init) -> (!block.fragment<f32, [BM, BN]>) {
        %k = block.lanes %k0 step %c1 : !block.fragment<index, [BK]>
        %a = block.load %A[%m, %k] valid(%true) fill %zero coordinate_axes [[0], [1]] valid_axes [[]] : !block.view<f16, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BK]>) valid (i1) fill f16 -> !block.fragment<f16, [BM, BK]>
        %b = block.load %B[%k, %n] valid(%true) fill %zero coordinate_axes [[0], [1]] valid_axes [[]] : !block.view<f16, 2>, (!block.fragment<index, [BK]>, !block.fragment<index, [BN]>) valid (i1) fill f16 -> !block.fragment<f16, [BK, BN]>
        %t = block.contract %a, %b, %acc : !block.fragment<f16, [BM, BK]>, !block.fragment<f16, [BK, BN]> -> !block.fragment<f32, [BM, BN]>
        scf.yield %t : !block.fragment<f32, [BM, BN]>
      }
      block.store %acc to %C[%m, %n] valid(%true) coordinate_axes [[0], [1]] valid_axes [[]] : !block.fragment<f32, [BM, BN]>, !block.view<f32, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BN]>) valid (i1)
    }
  }
}
}

// -----

// The host has no options of its own: projection and deduplication only. A program with configurations keeps them.
// CHECK-LABEL: block.program @short
// CHECK-SAME: configurations #block.configurations<["BN"], [array<i64: 256>]> family "pointwise_narrow"
// ROWS: short: family 'pointwise_narrow', row 0: candidate 0
// ROWS: short: family 'pointwise_narrow', row 1: merged with candidate 0
// CHECK-LABEL: block.program @long
// CHECK-SAME: configurations #block.configurations<["BN"], [array<i64: 64>]> family "pointwise"
// ROWS-NOT: long:
module attributes {block.target = #block.target<"host", "native", {}>} {
block.kernel @k interface [#block.view_argument<"y", f16, ["N"], out>] checks [] overlaps [] {
  block.program @short guard(le("N", 256)) privates [] parameters [#block.parameter<"BN", ownership, int domain = [64, 128, 256] column = "ownership_n">]
      (%y: !block.view<f16, 1>) {
    block.group size(ceil_div("N", BN)) {
    ^bb0(%p: index):
      %c1 = block.constant 1 : index : index
      %zero = block.constant 0.0 : f16 : f16
      %true = block.constant true : i1
      %n = block.lanes %p step %c1 : !block.fragment<index, [BN]>
      %z = block.broadcast %zero [] : f16 to !block.fragment<f16, [BN]>
      block.store %z to %y[%n] valid(%true) coordinate_axes [[0]] valid_axes [[]] : !block.fragment<f16, [BN]>, !block.view<f16, 1>, (!block.fragment<index, [BN]>) valid (i1)
    }
  }
  block.program @long guard(not(le("N", 256))) privates [] parameters [#block.parameter<"BN", ownership, int domain = [64] column = "ownership_n">]
      configurations #block.configurations<["BN"], [array<i64: 64>]> family "pointwise" (%y: !block.view<f16, 1>) {
  }
}
}
