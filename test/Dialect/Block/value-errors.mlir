// RUN: intent-opt %s --split-input-file --verify-diagnostics

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      // expected-error @below {{C2: expected an integer or float, got}}
      %c = block.constant "x" : f32 : f32
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      // expected-error @below {{C1: value has type 'i64', result 'f32'}}
      %0 = block.constant 0 : i64 : f32
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %t = block.constant true : i1
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      // expected-error @below {{C1: expected a result of type '!block.fragment<i1, [4]>'}}
      %0 = block.compare lt %a, %a : !block.fragment<f32, [4]> -> !block.fragment<i1, [8]>
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %t = block.constant true : i1
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      // expected-error @below {{C1: expected a bool condition, got 'f32'}}
      %0 = block.select %f, %a, %a : f32, !block.fragment<f32, [4]>
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %t = block.constant true : i1
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      %c = block.broadcast %t [] : i1 to !block.fragment<i1, [8]>
      // expected-error @below {{C2: condition and result differ in extents}}
      %0 = block.select %c, %a, %a : !block.fragment<i1, [8]>, !block.fragment<f32, [4]>
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %t = block.constant true : i1
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      // expected-error @below {{C1: operand and result differ in extents}}
      %0 = block.cast %a : !block.fragment<f32, [4]> to !block.fragment<f16, [8]>
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %t = block.constant true : i1
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      // expected-error @below {{C1: operand and result differ in extents}}
      %0 = block.bitcast %a : !block.fragment<f32, [4]> to !block.fragment<i32, [8]>
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %t = block.constant true : i1
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      // expected-error @below {{C2: element widths differ}}
      %0 = block.bitcast %a : !block.fragment<f32, [4]> to !block.fragment<i16, [4]>
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %t = block.constant true : i1
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      // expected-error @below {{C1: element types differ}}
      %0 = block.broadcast %a [0] : !block.fragment<f32, [4]> to !block.fragment<f16, [4, 8]>
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %t = block.constant true : i1
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      // expected-error @below {{C2: expected 1 axes, got 0}}
      %0 = block.broadcast %a [] : !block.fragment<f32, [4]> to !block.fragment<f32, [4, 8]>
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %t = block.constant true : i1
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      // expected-error @below {{C3: operand axis does not lie on result axis 1}}
      %0 = block.broadcast %a [1] : !block.fragment<f32, [4]> to !block.fragment<f32, [4, 8]>
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %t = block.constant true : i1
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      // expected-error @below {{C3: operand axis does not lie on result axis 2}}
      %0 = block.broadcast %a [2] : !block.fragment<f32, [4]> to !block.fragment<f32, [4, 8]>
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %t = block.constant true : i1
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      %m = block.broadcast %f [] : f32 to !block.fragment<f32, [4, 8]>
      // expected-error @below {{C1: expected a permutation of 2 axes}}
      %0 = block.transpose %m [1, 0] : !block.fragment<f32, [4, 8]> to !block.fragment<f32, [4, 8]>
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %t = block.constant true : i1
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      %m = block.broadcast %f [] : f32 to !block.fragment<f32, [4, 8]>
      // expected-error @below {{C1: expected a permutation of 2 axes}}
      %0 = block.transpose %m [0, 0] : !block.fragment<f32, [4, 8]> to !block.fragment<f32, [4, 4]>
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %t = block.constant true : i1
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      // expected-error @below {{C1: expected as many identities and results as operands, at least one}}
      %0 = block.reduce(%a) identity(%f, %f) axis 0 {
      ^bb0(%u: f32, %v: f32):
        block.yield %u : f32
      } : (!block.fragment<f32, [4]>) -> (f32) identities (f32, f32)
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %t = block.constant true : i1
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      // expected-error @below {{C2: axis 1 is outside rank 1}}
      %0 = block.reduce(%a) identity(%f) axis 1 {
      ^bb0(%u: f32, %v: f32):
        block.yield %u : f32
      } : (!block.fragment<f32, [4]>) -> (f32) identities (f32)
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %t = block.constant true : i1
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      // expected-error @below {{C2: axis 18446744073709551615 is outside rank 1}}
      %0 = block.reduce(%a) identity(%f) axis -1 {
      ^bb0(%u: f32, %v: f32):
        block.yield %u : f32
      } : (!block.fragment<f32, [4]>) -> (f32) identities (f32)
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %t = block.constant true : i1
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      // expected-error @below {{C3: combine takes 2 scalars, got 1}}
      %0 = block.reduce(%a) identity(%f) axis 0 {
      ^bb0(%u: f32):
        block.yield %u : f32
      } : (!block.fragment<f32, [4]>) -> (f32) identities (f32)
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %t = block.constant true : i1
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      // expected-error @below {{C3: combine arguments have the wrong types}}
      %0 = block.reduce(%a) identity(%f) axis 0 {
      ^bb0(%u: f32, %v: f64):
        block.yield %u : f32
      } : (!block.fragment<f32, [4]>) -> (f32) identities (f32)
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %t = block.constant true : i1
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      %b = block.broadcast %f [] : f32 to !block.fragment<f32, [8]>
      // expected-error @below {{C4: operands differ in extents}}
      %0:2 = block.reduce(%a, %b) identity(%f, %f) axis 0 {
      ^bb0(%u: f32, %v: f32, %w: f32, %z: f32):
        block.yield %u, %v : f32, f32
      } : (!block.fragment<f32, [4]>, !block.fragment<f32, [8]>) -> (f32, f32) identities (f32, f32)
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %t = block.constant true : i1
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      // expected-error @below {{C5: identity 0 has type 'index'}}
      %0 = block.reduce(%a) identity(%p) axis 0 {
      ^bb0(%u: f32, %v: f32):
        block.yield %u : f32
      } : (!block.fragment<f32, [4]>) -> (f32) identities (index)
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %t = block.constant true : i1
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      %m = block.broadcast %f [] : f32 to !block.fragment<f32, [4, 8]>
      // expected-error @below {{C6: result 0 has type '!block.fragment<f32, [8]>'}}
      %0 = block.reduce(%m) identity(%f) axis 1 {
      ^bb0(%u: f32, %v: f32):
        block.yield %u : f32
      } : (!block.fragment<f32, [4, 8]>) -> (!block.fragment<f32, [8]>) identities (f32)
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %t = block.constant true : i1
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      // expected-error @below {{C7: combine yields other types than the identities'}}
      %0 = block.reduce(%a) identity(%f) axis 0 {
      ^bb0(%u: f32, %v: f32):
        block.yield
      } : (!block.fragment<f32, [4]>) -> (f32) identities (f32)
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %t = block.constant true : i1
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      // expected-error @below {{C1: operands and accumulator have rank 2, or all rank 3}}
      %0 = block.contract %a, %a, %a : !block.fragment<f32, [4]>, !block.fragment<f32, [4]> -> !block.fragment<f32, [4]>
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %t = block.constant true : i1
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      %m = block.broadcast %f [] : f32 to !block.fragment<f32, [4, 8]>
      // expected-error @below {{C2: extents do not match [(B,) M, K] x [(B,) K, N] -> [(B,) M, N]}}
      %0 = block.contract %m, %m, %m : !block.fragment<f32, [4, 8]>, !block.fragment<f32, [4, 8]> -> !block.fragment<f32, [4, 8]>
    }
  }
}

// -----

// Batch extents match, too.
block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %t = block.constant true : i1
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      %q = block.broadcast %f [] : f32 to !block.fragment<f32, [2, 4, 4]>
      %r = block.broadcast %f [] : f32 to !block.fragment<f32, [3, 4, 4]>
      // expected-error @below {{C2: extents do not match [(B,) M, K] x [(B,) K, N] -> [(B,) M, N]}}
      %0 = block.contract %q, %r, %q : !block.fragment<f32, [2, 4, 4]>, !block.fragment<f32, [3, 4, 4]> -> !block.fragment<f32, [2, 4, 4]>
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %t = block.constant true : i1
      %a = block.broadcast %f [] : f32 to !block.fragment<f32, [4]>
      %h = block.constant 0.0 : f16 : f16
      %q = block.broadcast %f [] : f32 to !block.fragment<f32, [4, 4]>
      %r = block.broadcast %h [] : f16 to !block.fragment<f16, [4, 4]>
      // expected-error @below {{C3: operands differ in element type}}
      %0 = block.contract %q, %r, %q : !block.fragment<f32, [4, 4]>, !block.fragment<f16, [4, 4]> -> !block.fragment<f32, [4, 4]>
    }
  }
}
