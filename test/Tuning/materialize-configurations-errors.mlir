// RUN: intent-opt %s -split-input-file -verify-diagnostics --block-materialize-configurations="table=%S/Inputs/illegal.json"
module attributes {block.target = #block.target<"triton", "sm_90", {fragment_elements = 65536 : i64, max_warps = 32 : i64}>} {
block.kernel @k interface [#block.view_argument<"y", f16, ["N"], out>] checks [] overlaps [] {
  // expected-error @+6 {{configuration: no legal candidate for program 'fill': every row of family 'pointwise_narrow' in}}
  // expected-note @+5 {{row 0: rule 'descriptor_form': expected USE_TENSOR_DESCRIPTOR 0, got 1}}
  // expected-note @+4 {{row 1: rule 'provider_option': expected NUM_WARPS in [1, 2, 4, 8, 16, 32], got 64}}
  // expected-note @+3 {{row 2: rule 'fragment_elements': expected at most 65536 words of 4 bytes in !block.fragment<f16, [BN]>, got 524288}}
  // expected-note @+2 {{detail source:}}
  // expected-note @+1 {{detail family: pointwise_narrow}}
  block.program @fill privates [] parameters [#block.parameter<"BN", ownership, int domain = [1048576] column = "ownership_n">] (%y: !block.view<f16, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %c1 = block.constant 1 : index : index
      %true = block.constant true : i1
      %zero = block.constant 0.0 : f16 : f16
      %n = block.lanes %p step %c1 : !block.fragment<index, [BN]>
      %z = block.broadcast %zero [] : f16 to !block.fragment<f16, [BN]>
      block.store %z to %y[%n] valid(%true) coordinate_axes [[0]] valid_axes [[]] : !block.fragment<f16, [BN]>, !block.view<f16, 1>, (!block.fragment<index, [BN]>) valid (i1)
    }
  }
}
}

// -----

module attributes {block.target = #block.target<"triton", "sm_90", {fragment_elements = 65536 : i64, max_warps = 32 : i64}>} {
block.kernel @k interface [#block.view_argument<"y", f32, ["N"], out>] checks [] overlaps [] {
  // expected-error @+1 {{configuration: the table of provider 'triton' has no rows of family 'pointwise', which program 'fill' needs}}
  block.program @fill privates [] parameters [#block.parameter<"BN", ownership, int domain = [64, 1048576] column = "ownership_n">] (%y: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %c1 = block.constant 1 : index : index
      %true = block.constant true : i1
      %zero = block.constant 0.0 : f32 : f32
      %n = block.lanes %p step %c1 : !block.fragment<index, [BN]>
      %z = block.broadcast %zero [] : f32 to !block.fragment<f32, [BN]>
      block.store %z to %y[%n] valid(%true) coordinate_axes [[0]] valid_axes [[]] : !block.fragment<f32, [BN]>, !block.view<f32, 1>, (!block.fragment<index, [BN]>) valid (i1)
    }
  }
}
}

// -----

module attributes {block.target = #block.target<"triton", "sm_90", {fragment_elements = 65536 : i64, max_warps = 32 : i64}>} {
block.kernel @k interface [#block.view_argument<"y", f16, ["N"], out>] checks [] overlaps [] {
  // expected-error @+1 {{parameter 'BN' takes column "tile", which the table of provider 'triton' does not have}}
  block.program @fill privates [] parameters [#block.parameter<"BN", ownership, int domain = [64] column = "tile">] (%y: !block.view<f16, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %c1 = block.constant 1 : index : index
      %true = block.constant true : i1
      %zero = block.constant 0.0 : f16 : f16
      %n = block.lanes %p step %c1 : !block.fragment<index, [BN]>
      %z = block.broadcast %zero [] : f16 to !block.fragment<f16, [BN]>
      block.store %z to %y[%n] valid(%true) coordinate_axes [[0]] valid_axes [[]] : !block.fragment<f16, [BN]>, !block.view<f16, 1>, (!block.fragment<index, [BN]>) valid (i1)
    }
  }
}
}

// -----

module attributes {block.target = #block.target<"triton", "sm_90", {fragment_elements = 65536 : i64, max_warps = 32 : i64}>} {
block.kernel @k interface [#block.view_argument<"y", f16, ["N"], out>] checks [] overlaps [] {
  // expected-error @+1 {{parameter 'BN' has neither a column nor a single value}}
  block.program @fill privates [] parameters [#block.parameter<"BN", ownership, int domain = [64, 128]>] (%y: !block.view<f16, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %c1 = block.constant 1 : index : index
      %true = block.constant true : i1
      %zero = block.constant 0.0 : f16 : f16
      %n = block.lanes %p step %c1 : !block.fragment<index, [BN]>
      %z = block.broadcast %zero [] : f16 to !block.fragment<f16, [BN]>
      block.store %z to %y[%n] valid(%true) coordinate_axes [[0]] valid_axes [[]] : !block.fragment<f16, [BN]>, !block.view<f16, 1>, (!block.fragment<index, [BN]>) valid (i1)
    }
  }
}
}

// -----

module attributes {block.target = #block.target<"triton", "sm_90", {fragment_elements = 65536 : i64, max_warps = 32 : i64}>} {
block.kernel @k interface [#block.view_argument<"y", f16, ["N"], out>] checks [] overlaps [] {
  // expected-error @+1 {{parameter 'BN' has an empty domain}}
  block.program @fill privates [] parameters [#block.parameter<"BN", ownership, int domain = [] column = "ownership_n">] (%y: !block.view<f16, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %c1 = block.constant 1 : index : index
      %true = block.constant true : i1
      %zero = block.constant 0.0 : f16 : f16
      %n = block.lanes %p step %c1 : !block.fragment<index, [BN]>
      %z = block.broadcast %zero [] : f16 to !block.fragment<f16, [BN]>
      block.store %z to %y[%n] valid(%true) coordinate_axes [[0]] valid_axes [[]] : !block.fragment<f16, [BN]>, !block.view<f16, 1>, (!block.fragment<index, [BN]>) valid (i1)
    }
  }
}
}

// -----

// expected-error @+1 {{configuration: expected a module with attribute 'block.target'}}
module {
}

// -----

// expected-error @+1 {{illegal.json: expected rows of provider 'host', got none}}
module attributes {block.target = #block.target<"host", "native", {}>} {
}
