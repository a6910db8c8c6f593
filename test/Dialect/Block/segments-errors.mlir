// RUN: intent-opt %s --split-input-file --verify-diagnostics

// The generic form may spell any sizes whose sum fits; an operand that is one value has one.

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      // expected-error @below {{expected one value in operand segment 3, got 0}}
      %v = "block.load"(%x, %p, %p) <{coordinate_axes = [[]], valid_axes = [[]], operandSegmentSizes = array<i32: 1, 1, 1, 0>}> : (!block.view<f32, 1>, index, index) -> f32
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      // expected-error @below {{expected one value in operand segment 0, got 2}}
      "block.store"(%f, %f, %x, %p) <{coordinate_axes = [[]], valid_axes = [], operandSegmentSizes = array<i32: 2, 1, 1, 0>}> : (f32, f32, !block.view<f32, 1>, index) -> ()
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      // expected-error @below {{expected one value in operand segment 1, got 0}}
      "block.scatter_reduce"(%f, %p, %p) <{coordinate_axes = [[]], valid_axes = [[]], operandSegmentSizes = array<i32: 1, 0, 2, 0>}> ({
      ^bb0(%a: f32, %b: f32):
        block.yield %a : f32
      }) : (f32, index, index) -> ()
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", i32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<i32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %c = block.constant 0 : i32 : i32
      // expected-error @below {{expected one value in operand segment 1, got 0}}
      %0 = "block.atomic"(%c, %p) <{kind = 3 : i32, order = 0 : i32, coordinate_axes = [[]], valid_axes = [], operandSegmentSizes = array<i32: 1, 0, 1, 0>}> : (i32, index) -> i32
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", i32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<i32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %c = block.constant 0 : i32 : i32
      // expected-error @below {{expected one value in operand segment 0, got 0}}
      %0 = "block.compare_exchange"(%c, %x, %p) <{order = 0 : i32, coordinate_axes = [[]], valid_axes = [], operandSegmentSizes = array<i32: 0, 1, 1, 1, 0>}> : (i32, !block.view<i32, 1>, index) -> i32
    }
  }
}
