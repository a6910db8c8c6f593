// RUN: intent-opt %s | intent-opt > /dev/null
// Softmax over rows, run by python/tests/test_host_backend.py: a resident variant for short rows, a chunked one for the
// rest, which keeps a running maximum and sum of each row.
module attributes {block.target = #block.target<"host", "x86-64", {}>} {
block.kernel @softmax interface [#block.view_argument<"x", f16, ["M", "N"], in>, #block.view_argument<"y", f16, ["M", "N"], out>]
    checks [] overlaps [#block.overlap<"x", "y", identical_or_disjoint>] {
  block.program @resident guard(le("N", 256)) privates ["M", "N"]
      parameters [#block.parameter<"BM", ownership, int domain = [1, 2, 4, 8] column = "ownership_m" affects = ["extent", "grid"]>,
                  #block.parameter<"CN", coverage, int domain = [] binding = <pow2_ceil("N")> affects = ["extent"]>,
                  #block.parameter<"NUM_WARPS", provider, int domain = [1, 2, 4, 8, 16, 32] column = "NUM_WARPS" affects = ["launch"]>]
      configurations #block.configurations<["BM", "NUM_WARPS"], [array<i64: 1, 8>, array<i64: 4, 8>]> family "pointwise_reduction"
      (%x: !block.view<f16, 2>, %y: !block.view<f16, 2>, %M: index, %N: index) {
    block.group size(ceil_div("M", BM)) {
    ^bb0(%p: index):
      %c0 = block.constant 0 : index : index
      %c1 = block.constant 1 : index : index
      %zero = block.constant 0.0 : f32 : f32
      %ninf = block.constant 0xFF800000 : f32 : f32
      %ninfh = block.constant 0xFC00 : f16 : f16
      %bm = block.param BM
      %base = block.binary mul %p, %bm : index
      %m = block.lanes %base step %c1 : !block.fragment<index, [BM]>
      %Ms = block.broadcast %M [] : index to !block.fragment<index, [BM]>
      %vm = block.compare lt %m, %Ms : !block.fragment<index, [BM]> -> !block.fragment<i1, [BM]>
      %n = block.lanes %c0 step %c1 : !block.fragment<index, [CN]>
      %Ns = block.broadcast %N [] : index to !block.fragment<index, [CN]>
      %vn = block.compare lt %n, %Ns : !block.fragment<index, [CN]> -> !block.fragment<i1, [CN]>
      %v = block.load %x[%m, %n] valid(%vm, %vn) fill %ninfh coordinate_axes [[0], [1]] valid_axes [[0], [1]]
          : !block.view<f16, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [CN]>) valid (!block.fragment<i1, [BM]>, !block.fragment<i1, [CN]>) fill f16 -> !block.fragment<f16, [BM, CN]>
      %w = block.cast %v : !block.fragment<f16, [BM, CN]> to !block.fragment<f32, [BM, CN]>
      %mx = block.reduce(%w) identity(%ninf) axis 1 {
      ^bb0(%a: f32, %b: f32):
        %t = block.binary maximum %a, %b : f32
        block.yield %t : f32
      } : (!block.fragment<f32, [BM, CN]>) -> (!block.fragment<f32, [BM]>) identities (f32)
      %mb = block.broadcast %mx [0] : !block.fragment<f32, [BM]> to !block.fragment<f32, [BM, CN]>
      %d = block.binary sub %w, %mb : !block.fragment<f32, [BM, CN]>
      %e = block.unary exp %d : !block.fragment<f32, [BM, CN]>
      %vb = block.broadcast %vn [1] : !block.fragment<i1, [CN]> to !block.fragment<i1, [BM, CN]>
      %zb = block.broadcast %zero [] : f32 to !block.fragment<f32, [BM, CN]>
      %k = block.select %vb, %e, %zb : !block.fragment<i1, [BM, CN]>, !block.fragment<f32, [BM, CN]>
      %s = block.reduce(%k) identity(%zero) axis 1 {
      ^bb0(%a: f32, %b: f32):
        %t = block.binary add %a, %b : f32
        block.yield %t : f32
      } : (!block.fragment<f32, [BM, CN]>) -> (!block.fragment<f32, [BM]>) identities (f32)
      %sb = block.broadcast %s [0] : !block.fragment<f32, [BM]> to !block.fragment<f32, [BM, CN]>
      %o = block.binary div %e, %sb : !block.fragment<f32, [BM, CN]>
      %h = block.cast %o : !block.fragment<f32, [BM, CN]> to !block.fragment<f16, [BM, CN]>
      block.store %h to %y[%m, %n] valid(%vm, %vn) coordinate_axes [[0], [1]] valid_axes [[0], [1]]
          : !block.fragment<f16, [BM, CN]>, !block.view<f16, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [CN]>) valid (!block.fragment<i1, [BM]>, !block.fragment<i1, [CN]>)
    }
  }
  block.program @chunked guard(not(le("N", 256))) privates ["M", "N"]
      parameters [#block.parameter<"BM", ownership, int domain = [1, 2, 4, 8] column = "ownership_m" affects = ["extent", "grid"]>,
                  #block.parameter<"BN", reduction, int domain = [64, 128, 512] column = "reduction" affects = ["extent", "loop"]>]
      configurations #block.configurations<["BM", "BN"], [array<i64: 1, 512>, array<i64: 4, 64>]> family "pointwise_reduction"
      (%x: !block.view<f16, 2>, %y: !block.view<f16, 2>, %M: index, %N: index) {
    block.group size(ceil_div("M", BM)) {
    ^bb0(%p: index):
      %c0 = block.constant 0 : index : index
      %c1 = block.constant 1 : index : index
      %ninf = block.constant 0xFF800000 : f32 : f32
      %ninfh = block.constant 0xFC00 : f16 : f16
      %bm = block.param BM
      %bn = block.param BN
      %base = block.binary mul %p, %bm : index
      %m = block.lanes %base step %c1 : !block.fragment<index, [BM]>
      %Ms = block.broadcast %M [] : index to !block.fragment<index, [BM]>
      %vm = block.compare lt %m, %Ms : !block.fragment<index, [BM]> -> !block.fragment<i1, [BM]>
      %zero = block.constant 0.0 : f32 : f32
      %init = block.broadcast %ninf [] : f32 to !block.fragment<f32, [BM]>
      %none = block.broadcast %zero [] : f32 to !block.fragment<f32, [BM]>
      %mx, %sum = scf.for %n0 = %c0 to %N step %bn iter_args(%top = %init, %total = %none) -> (!block.fragment<f32, [BM]>, !block.fragment<f32, [BM]>) {
        %n = block.lanes %n0 step %c1 : !block.fragment<index, [BN]>
        %Ns = block.broadcast %N [] : index to !block.fragment<index, [BN]>
        %vn = block.compare lt %n, %Ns : !block.fragment<index, [BN]> -> !block.fragment<i1, [BN]>
        %v = block.load %x[%m, %n] valid(%vm, %vn) fill %ninfh coordinate_axes [[0], [1]] valid_axes [[0], [1]]
            : !block.view<f16, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BN]>) valid (!block.fragment<i1, [BM]>, !block.fragment<i1, [BN]>) fill f16 -> !block.fragment<f16, [BM, BN]>
        %w = block.cast %v : !block.fragment<f16, [BM, BN]> to !block.fragment<f32, [BM, BN]>
        %r = block.reduce(%w) identity(%ninf) axis 1 {
        ^bb0(%a: f32, %b: f32):
          %t = block.binary maximum %a, %b : f32
          block.yield %t : f32
        } : (!block.fragment<f32, [BM, BN]>) -> (!block.fragment<f32, [BM]>) identities (f32)
        %next = block.binary maximum %top, %r : !block.fragment<f32, [BM]>
        %change = block.binary sub %top, %next : !block.fragment<f32, [BM]>
        %factor = block.unary exp %change : !block.fragment<f32, [BM]>
        %nb = block.broadcast %next [0] : !block.fragment<f32, [BM]> to !block.fragment<f32, [BM, BN]>
        %d = block.binary sub %w, %nb : !block.fragment<f32, [BM, BN]>
        %e = block.unary exp %d : !block.fragment<f32, [BM, BN]>
        %vb = block.broadcast %vn [1] : !block.fragment<i1, [BN]> to !block.fragment<i1, [BM, BN]>
        %zb = block.broadcast %zero [] : f32 to !block.fragment<f32, [BM, BN]>
        %k = block.select %vb, %e, %zb : !block.fragment<i1, [BM, BN]>, !block.fragment<f32, [BM, BN]>
        %s = block.reduce(%k) identity(%zero) axis 1 {
        ^bb0(%a: f32, %b: f32):
          %t = block.binary add %a, %b : f32
          block.yield %t : f32
        } : (!block.fragment<f32, [BM, BN]>) -> (!block.fragment<f32, [BM]>) identities (f32)
        %scaled = block.binary mul %total, %factor : !block.fragment<f32, [BM]>
        %together = block.binary add %scaled, %s : !block.fragment<f32, [BM]>
        scf.yield %next, %together : !block.fragment<f32, [BM]>, !block.fragment<f32, [BM]>
      }
      scf.for %n0 = %c0 to %N step %bn {
        %n = block.lanes %n0 step %c1 : !block.fragment<index, [BN]>
        %Ns = block.broadcast %N [] : index to !block.fragment<index, [BN]>
        %vn = block.compare lt %n, %Ns : !block.fragment<index, [BN]> -> !block.fragment<i1, [BN]>
        %v = block.load %x[%m, %n] valid(%vm, %vn) fill %ninfh coordinate_axes [[0], [1]] valid_axes [[0], [1]]
            : !block.view<f16, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BN]>) valid (!block.fragment<i1, [BM]>, !block.fragment<i1, [BN]>) fill f16 -> !block.fragment<f16, [BM, BN]>
        %w = block.cast %v : !block.fragment<f16, [BM, BN]> to !block.fragment<f32, [BM, BN]>
        %mb = block.broadcast %mx [0] : !block.fragment<f32, [BM]> to !block.fragment<f32, [BM, BN]>
        %d = block.binary sub %w, %mb : !block.fragment<f32, [BM, BN]>
        %e = block.unary exp %d : !block.fragment<f32, [BM, BN]>
        %sb = block.broadcast %sum [0] : !block.fragment<f32, [BM]> to !block.fragment<f32, [BM, BN]>
        %o = block.binary div %e, %sb : !block.fragment<f32, [BM, BN]>
        %h = block.cast %o : !block.fragment<f32, [BM, BN]> to !block.fragment<f16, [BM, BN]>
        block.store %h to %y[%m, %n] valid(%vm, %vn) coordinate_axes [[0], [1]] valid_axes [[0], [1]]
            : !block.fragment<f16, [BM, BN]>, !block.view<f16, 2>, (!block.fragment<index, [BM]>, !block.fragment<index, [BN]>) valid (!block.fragment<i1, [BM]>, !block.fragment<i1, [BN]>)
      }
    }
  }
}
}
