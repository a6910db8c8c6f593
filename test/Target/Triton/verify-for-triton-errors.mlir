// RUN: intent-opt --block-legalize-for-triton --block-verify-for-triton -split-input-file -verify-diagnostics %s

module attributes {block.target = #block.target<"triton", "sm_80", {contract_minimum_k = 16 : i64}>} {
block.kernel @short interface [] checks [] overlaps [] {
  block.program @main privates [] parameters [#block.parameter<"BK", reduction, int domain = [8, 16] column = "reduction">]
      configurations #block.configurations<["BK"], [array<i64: 8>]> () {
    block.group size(1) {
    ^bb0(%p: index):
      %zero = block.constant 0.0 : f16 : f16
      %sum = block.constant 0.0 : f32 : f32
      %a = block.broadcast %zero [] : f16 to !block.fragment<f16, [16, BK]>
      %b = block.broadcast %zero [] : f16 to !block.fragment<f16, [BK, 16]>
      %c = block.broadcast %sum [] : f32 to !block.fragment<f32, [16, 16]>
      // expected-error @below {{configuration: no configuration row is legal: the inner extent 8 of a contraction is below 16}}
      // expected-note @below {{BK = 8: the inner extent 8 of a contraction is below 16}}
      %d = block.contract %a, %b, %c : !block.fragment<f16, [16, BK]>, !block.fragment<f16, [BK, 16]> -> !block.fragment<f32, [16, 16]>
    }
  }
}
}

// -----

module attributes {block.target = #block.target<"triton", "sm_90", {}>} {
block.kernel @odd interface [] checks [] overlaps [] {
  block.program @main privates [] parameters [] () {
    block.group size(1) {
    ^bb0(%p: index):
      %zero = block.constant 0.0 : f32 : f32
      // expected-error @below {{provider surface: extent 48 of a fragment is not a power of two}}
      %a = block.broadcast %zero [] : f32 to !block.fragment<f32, [48]>
    }
  }
}
}

// -----

module attributes {block.target = #block.target<"triton", "sm_90", {}>} {
block.kernel @large interface [] checks [] overlaps [] {
  block.program @main privates [] parameters [] () {
    block.group size(1) {
    ^bb0(%p: index):
      %zero = block.constant 0.0 : f32 : f32
      // expected-error @below {{provider surface: a fragment of 2097152 elements is above the limit of 1048576}}
      %a = block.broadcast %zero [] : f32 to !block.fragment<f32, [2048, 1024]>
    }
  }
}
}

// -----

module attributes {block.target = #block.target<"triton", "sm_80", {element_dtypes = ["f16", "f32"]}>} {
block.kernel @dtype interface [] checks [] overlaps [] {
  block.program @main privates [] parameters [] () {
    block.group size(1) {
    ^bb0(%p: index):
      // expected-error @below {{hardware capability: the target sm_80 has no f8e4m3fn values}}
      %zero = block.constant 0.0 : f8E4M3FN : f8E4M3FN
    }
  }
}
}

// -----

module attributes {block.target = #block.target<"triton", "sm_90", {contractions = ["i8->i32"]}>} {
block.kernel @operands interface [] checks [] overlaps [] {
  block.program @main privates [] parameters [] () {
    block.group size(1) {
    ^bb0(%p: index):
      %zero = block.constant 0 : ui8 : ui8
      %sum = block.constant 0 : i32 : i32
      %a = block.broadcast %zero [] : ui8 to !block.fragment<ui8, [32, 32]>
      %c = block.broadcast %sum [] : i32 to !block.fragment<i32, [32, 32]>
      // expected-error @below {{hardware capability: the target sm_90 has no contraction of u8 operands into i32}}
      %d = block.contract %a, %a, %c : !block.fragment<ui8, [32, 32]>, !block.fragment<ui8, [32, 32]> -> !block.fragment<i32, [32, 32]>
    }
  }
}
}

// -----

module attributes {block.target = #block.target<"triton", "sm_80", {max_ctas = 1 : i64}>} {
block.kernel @clusters interface [] checks [] overlaps [] {
  // expected-error @below {{configuration: no configuration row is legal: NUM_CTAS = 2 is above the target's 1}}
  // expected-note @below {{NUM_CTAS = 2: NUM_CTAS = 2 is above the target's 1}}
  block.program @main privates [] parameters [#block.parameter<"NUM_CTAS", provider, int domain = [1, 2] column = "NUM_CTAS">]
      configurations #block.configurations<["NUM_CTAS"], [array<i64: 2>]> () {
    block.group size(1) {
    ^bb0(%p: index):
    }
  }
}
}

// -----

module attributes {block.target = #block.target<"triton", "sm_90", {}>} {
block.kernel @unbound interface [] checks [] overlaps [] {
  // expected-error @below {{provider surface: parameter 'BN' is bound by no configuration column}}
  block.program @main privates [] parameters [#block.parameter<"BN", ownership, int domain = [16] column = "ownership_n">] () {
    block.group size(1) {
    ^bb0(%p: index):
    }
  }
}
}

// -----

module attributes {block.target = #block.target<"triton", "sm_90", {}>} {
block.kernel @captured interface [#block.view_argument<"v", f32, [4], in>] checks [] overlaps [] {
  block.program @main privates [] parameters [] (%v: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %zero = block.constant 0.0 : f32 : f32
      %a = block.broadcast %zero [] : f32 to !block.fragment<f32, [32]>
      %at = block.constant 0 : index : index
      %r = block.reduce(%a) identity(%zero) axis 0 {
      ^bb0(%x: f32, %y: f32):
        // expected-error @below {{provider surface: a combine function uses a value from outside}}
        %s = block.load %v[%at] valid() fill %zero coordinate_axes [[]] valid_axes [] : !block.view<f32, 1>, (index) valid () fill f32 -> f32
        %t = block.binary mul %x, %s : f32
        %u = block.binary add %t, %y : f32
        block.yield %u : f32
      } : (!block.fragment<f32, [32]>) -> (f32) identities (f32)
    }
  }
}
}

// -----

module attributes {block.target = #block.target<"triton", "sm_90", {}>} {
block.kernel @branches interface [] checks [] overlaps [] {
  block.program @main privates [] parameters [] () {
    block.group size(1) {
    ^bb0(%p: index):
      %zero = block.constant 0.0 : f32 : f32
      %a = block.broadcast %zero [] : f32 to !block.fragment<f32, [32]>
      %r = block.scan(%a) identity(%zero) axis 0 {
      ^bb0(%x: f32, %y: f32):
        %c = block.compare lt %x, %y : f32 -> i1
        // expected-error @below {{provider surface: a combine function has control flow}}
        %t = scf.if %c -> f32 {
          scf.yield %y : f32
        } else {
          scf.yield %x : f32
        }
        block.yield %t : f32
      } : (!block.fragment<f32, [32]>) identities (f32) -> (!block.fragment<f32, [32]>)
    }
  }
}
}

// -----

module attributes {block.target = #block.target<"triton", "sm_90", {}>} {
block.kernel @bytes interface [#block.view_argument<"y", ui8, [4], inout>] checks [] overlaps [] {
  block.program @main privates [] parameters [] (%y: !block.view<ui8, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %one = block.constant 1 : ui8 : ui8
      // expected-error @below {{provider surface: no atomic add of u8: expected elements of 16 bits or more}}
      %old = block.atomic add relaxed %one to %y[%p] valid() coordinate_axes [[]] valid_axes [] : ui8, !block.view<ui8, 1>, (index) valid () -> ui8
    }
  }
}
}

// -----

module attributes {block.target = #block.target<"triton", "sm_90", {}>} {
block.kernel @control interface [#block.view_argument<"y", f32, [4], inout>] checks [] overlaps [] {
  block.program @main privates [] parameters [] (%y: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %one = block.constant 1.0 : f32 : f32
      block.scatter_reduce %one to %y[%p] valid() coordinate_axes [[]] valid_axes [] {
      ^bb0(%held: f32, %value: f32):
        %c = block.compare lt %held, %value : f32 -> i1
        // expected-error @below {{provider surface: a combine function has 'scf.if'}}
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

// -----

module attributes {block.target = #block.target<"triton", "sm_90", {}>} {
block.kernel @chosen interface [#block.view_argument<"v", f32, [4], in>, #block.view_argument<"w", f32, [4], out>] checks [] overlaps [] {
  block.program @main privates [] parameters [] (%v: !block.view<f32, 1>, %w: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %zero = block.constant 0.0 : f32 : f32
      %one = block.constant 1 : index : index
      %r = scf.for %i = %p to %one step %one iter_args(%c = %v) -> (!block.view<f32, 1>) {
        // expected-error @below {{provider surface: expected an argument of the program as the view, got one that control flow passes on}}
        block.store %zero to %c[%i] valid() coordinate_axes [[]] valid_axes [] : f32, !block.view<f32, 1>, (index) valid ()
        scf.yield %w : !block.view<f32, 1>
      }
    }
  }
}
}
