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
      %n = block.lanes %i step %i : !block.fragment<index, [4]>
      // expected-error @below {{C8: combine takes two scalars of the value's element type}}
      block.scatter_reduce %a to %x[%n] valid() coordinate_axes [[0]] valid_axes [] {
      ^bb0(%l: f32):
        block.yield %l : f32
      } : !block.fragment<f32, [4]>, !block.view<f32, 1>, (!block.fragment<index, [4]>) valid ()
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
      %n = block.lanes %i step %i : !block.fragment<index, [4]>
      // expected-error @below {{C8: combine takes two scalars of the value's element type}}
      block.scatter_reduce %a to %x[%n] valid() coordinate_axes [[0]] valid_axes [] {
      ^bb0(%l: f16, %r: f16):
        block.yield %f : f32
      } : !block.fragment<f32, [4]>, !block.view<f32, 1>, (!block.fragment<index, [4]>) valid ()
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
      %n = block.lanes %i step %i : !block.fragment<index, [4]>
      // expected-error @below {{C9: combine yields one scalar of the value's element type}}
      block.scatter_reduce %a to %x[%n] valid() coordinate_axes [[0]] valid_axes [] {
      ^bb0(%l: f32, %r: f32):
        block.yield %h : f16
      } : !block.fragment<f32, [4]>, !block.view<f32, 1>, (!block.fragment<index, [4]>) valid ()
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
      %n = block.lanes %i step %i : !block.fragment<index, [4]>
      // expected-error @below {{C9: combine yields one scalar of the value's element type}}
      block.scatter_reduce %a to %x[%n] valid() coordinate_axes [[0]] valid_axes [] {
      ^bb0(%l: f32, %r: f32):
        block.yield %l, %r : f32, f32
      } : !block.fragment<f32, [4]>, !block.view<f32, 1>, (!block.fragment<index, [4]>) valid ()
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
      %n = block.lanes %i step %i : !block.fragment<index, [4]>
      // expected-error @below {{C6: expected 1 coordinates, got 0}}
      block.scatter_reduce %a to %x[] valid() coordinate_axes [] valid_axes [] {
      ^bb0(%l: f32, %r: f32):
        block.yield %l : f32
      } : !block.fragment<f32, [4]>, !block.view<f32, 1>, () valid ()
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
      %n = block.lanes %i step %i : !block.fragment<index, [4]>
      // expected-error @below {{C7: value 'f16' does not have the view's element 'f32'}}
      block.scatter_reduce %h to %x[%i] valid() coordinate_axes [[]] valid_axes [] {
      ^bb0(%l: f16, %r: f16):
        block.yield %l : f16
      } : f16, !block.view<f32, 1>, (index) valid ()
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
      %n = block.lanes %i step %i : !block.fragment<index, [4]>
      // expected-error @below {{C8: value and result differ in type}}
      %0 = block.atomic add relaxed %a to %x[%n] valid() coordinate_axes [[0]] valid_axes [] : !block.fragment<f32, [4]>, !block.view<f32, 1>, (!block.fragment<index, [4]>) valid () -> f32
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
      %n = block.lanes %i step %i : !block.fragment<index, [4]>
      // expected-error @below {{C9: an atomic xor does not take f32}}
      %0 = block.atomic xor relaxed %a to %x[%n] valid() coordinate_axes [[0]] valid_axes [] : !block.fragment<f32, [4]>, !block.view<f32, 1>, (!block.fragment<index, [4]>) valid () -> !block.fragment<f32, [4]>
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
      %n = block.lanes %i step %i : !block.fragment<index, [4]>
      // expected-error @below {{C5: coordinate 0 does not lie on result axis 1}}
      %0 = block.atomic add relaxed %b to %x[%n] valid() coordinate_axes [[1]] valid_axes [] : !block.fragment<f32, [4, 8]>, !block.view<f32, 1>, (!block.fragment<index, [4]>) valid () -> !block.fragment<f32, [4, 8]>
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
      %n = block.lanes %i step %i : !block.fragment<index, [4]>
      // expected-error @below {{C2: validity 0 is not of 'i1'}}
      %0 = block.atomic add relaxed %a to %x[%n] valid(%i) coordinate_axes [[0]] valid_axes [[]] : !block.fragment<f32, [4]>, !block.view<f32, 1>, (!block.fragment<index, [4]>) valid (index) -> !block.fragment<f32, [4]>
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
      %n = block.lanes %i step %i : !block.fragment<index, [4]>
      // expected-error @below {{C6: expected 1 coordinates, got 2}}
      %0 = block.compare_exchange relaxed %f, %f to %x[%i, %i] valid() coordinate_axes [[], []] valid_axes [] : f32, !block.view<f32, 1>, (index, index) valid ()
    }
  }
}
