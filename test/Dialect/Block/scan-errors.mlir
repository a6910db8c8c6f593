// RUN: intent-opt %s --split-input-file --verify-diagnostics

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %h = block.constant 0.0 : f16 : f16
      %i = block.constant 0 : index : index
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      %b = block.broadcast %f [] : f32 to !block.fragment<f32, [4, 8]>
      // expected-error @below {{C1: expected as many identities and results as operands, at least one}}
      %0 = block.scan(%a) identity(%f, %f) axis 0 {
      ^bb0(%l: f32, %r: f32):
        block.yield %l : f32
      } : (!block.fragment<f32, [4]>) identities (f32, f32) -> (!block.fragment<f32, [4]>)
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %h = block.constant 0.0 : f16 : f16
      %i = block.constant 0 : index : index
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      %b = block.broadcast %f [] : f32 to !block.fragment<f32, [4, 8]>
      // expected-error @below {{C2: axis 1 is outside rank 1}}
      %0 = block.scan(%a) identity(%f) axis 1 {
      ^bb0(%l: f32, %r: f32):
        block.yield %l : f32
      } : (!block.fragment<f32, [4]>) identities (f32) -> (!block.fragment<f32, [4]>)
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %h = block.constant 0.0 : f16 : f16
      %i = block.constant 0 : index : index
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      %b = block.broadcast %f [] : f32 to !block.fragment<f32, [4, 8]>
      // expected-error @below {{C2: axis 18446744073709551615 is outside rank 1}}
      %0 = block.scan(%a) identity(%f) axis -1 {
      ^bb0(%l: f32, %r: f32):
        block.yield %l : f32
      } : (!block.fragment<f32, [4]>) identities (f32) -> (!block.fragment<f32, [4]>)
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %h = block.constant 0.0 : f16 : f16
      %i = block.constant 0 : index : index
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      %b = block.broadcast %f [] : f32 to !block.fragment<f32, [4, 8]>
      // expected-error @below {{C3: combine takes 2 scalars, got 1}}
      %0 = block.scan(%a) identity(%f) axis 0 {
      ^bb0(%l: f32):
        block.yield %l : f32
      } : (!block.fragment<f32, [4]>) identities (f32) -> (!block.fragment<f32, [4]>)
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %h = block.constant 0.0 : f16 : f16
      %i = block.constant 0 : index : index
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      %b = block.broadcast %f [] : f32 to !block.fragment<f32, [4, 8]>
      // expected-error @below {{C3: combine arguments have the wrong types}}
      %0 = block.scan(%a) identity(%f) axis 0 {
      ^bb0(%l: f16, %r: f16):
        block.yield %f : f32
      } : (!block.fragment<f32, [4]>) identities (f32) -> (!block.fragment<f32, [4]>)
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %h = block.constant 0.0 : f16 : f16
      %i = block.constant 0 : index : index
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      %b = block.broadcast %f [] : f32 to !block.fragment<f32, [4, 8]>
      // expected-error @below {{C4: operands differ in extents}}
      %0:2 = block.scan(%a, %b) identity(%f, %f) axis 0 {
      ^bb0(%l: f32, %m: f32, %r: f32, %s: f32):
        block.yield %l, %m : f32, f32
      } : (!block.fragment<f32, [4]>, !block.fragment<f32, [4, 8]>) identities (f32, f32) -> (!block.fragment<f32, [4]>, !block.fragment<f32, [4, 8]>)
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %h = block.constant 0.0 : f16 : f16
      %i = block.constant 0 : index : index
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      %b = block.broadcast %f [] : f32 to !block.fragment<f32, [4, 8]>
      // expected-error @below {{C5: identity 0 has type 'f16'}}
      %0 = block.scan(%a) identity(%h) axis 0 {
      ^bb0(%l: f32, %r: f32):
        block.yield %l : f32
      } : (!block.fragment<f32, [4]>) identities (f16) -> (!block.fragment<f32, [4]>)
    }
  }
}

// -----

// A scan keeps the axis.
block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %h = block.constant 0.0 : f16 : f16
      %i = block.constant 0 : index : index
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      %b = block.broadcast %f [] : f32 to !block.fragment<f32, [4, 8]>
      // expected-error @below {{C6: result 0 has type '!block.fragment<f32, [8]>'}}
      %0 = block.scan(%a) identity(%f) axis 0 {
      ^bb0(%l: f32, %r: f32):
        block.yield %l : f32
      } : (!block.fragment<f32, [4]>) identities (f32) -> (!block.fragment<f32, [8]>)
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %h = block.constant 0.0 : f16 : f16
      %i = block.constant 0 : index : index
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      %b = block.broadcast %f [] : f32 to !block.fragment<f32, [4, 8]>
      // expected-error @below {{C7: combine yields other types than the identities'}}
      %0 = block.scan(%a) identity(%f) axis 0 {
      ^bb0(%l: f32, %r: f32):
        block.yield %h : f16
      } : (!block.fragment<f32, [4]>) identities (f32) -> (!block.fragment<f32, [4]>)
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %h = block.constant 0.0 : f16 : f16
      %i = block.constant 0 : index : index
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      %b = block.broadcast %f [] : f32 to !block.fragment<f32, [4, 8]>
      // expected-error @below {{C1: axis 2 is outside rank 2}}
      %0 = block.pick %b at %i axis 2 : !block.fragment<f32, [4, 8]> -> !block.fragment<f32, [4]>
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %h = block.constant 0.0 : f16 : f16
      %i = block.constant 0 : index : index
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      %b = block.broadcast %f [] : f32 to !block.fragment<f32, [4, 8]>
      // expected-error @below {{C2: expected a result of type '!block.fragment<f32, [8]>'}}
      %0 = block.pick %b at %i axis 0 : !block.fragment<f32, [4, 8]> -> !block.fragment<f32, [4]>
    }
  }
}

// -----

// One axis less leaves a scalar.
block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %h = block.constant 0.0 : f16 : f16
      %i = block.constant 0 : index : index
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      %b = block.broadcast %f [] : f32 to !block.fragment<f32, [4, 8]>
      // expected-error @below {{C2: expected a result of type 'f32'}}
      %0 = block.pick %a at %i axis 0 : !block.fragment<f32, [4]> -> !block.fragment<f32, [4]>
    }
  }
}
