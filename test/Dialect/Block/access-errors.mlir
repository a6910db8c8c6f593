// RUN: intent-opt %s --split-input-file --verify-diagnostics

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      // expected-error @below {{C1: expected a rank-one fragment of index}}
      %0 = block.lanes %p step %p : !block.fragment<i32, [4]>
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      // expected-error @below {{C1: expected a rank-one fragment of index}}
      %0 = block.lanes %p step %p : !block.fragment<index, [4, 4]>
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %l = block.lanes %p step %p : !block.fragment<index, [4]>
      // expected-error @below {{C1: expected one axis list per coordinate}}
      %v = block.load %x[%l] valid() fill %f coordinate_axes [] valid_axes [] : !block.view<f32, 1>, (!block.fragment<index, [4]>) valid () fill f32 -> !block.fragment<f32, [4]>
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %l = block.lanes %p step %p : !block.fragment<index, [4]>
      %t = block.constant true : i1
      // expected-error @below {{C1: expected one axis list per validity}}
      %v = block.load %x[%l] valid(%t) fill %f coordinate_axes [[0]] valid_axes [] : !block.view<f32, 1>, (!block.fragment<index, [4]>) valid (i1) fill f32 -> !block.fragment<f32, [4]>
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %l = block.lanes %p step %p : !block.fragment<index, [4]>
      // expected-error @below {{C2: coordinate 0 is not of 'index'}}
      %v = block.load %x[%f] valid() fill %f coordinate_axes [[]] valid_axes [] : !block.view<f32, 1>, (f32) valid () fill f32 -> f32
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %l = block.lanes %p step %p : !block.fragment<index, [4]>
      // expected-error @below {{C2: validity 0 is not of 'i1'}}
      %v = block.load %x[%l] valid(%l) fill %f coordinate_axes [[0]] valid_axes [[0]] : !block.view<f32, 1>, (!block.fragment<index, [4]>) valid (!block.fragment<index, [4]>) fill f32 -> !block.fragment<f32, [4]>
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %l = block.lanes %p step %p : !block.fragment<index, [4]>
      // expected-error @below {{C3: axis lists hold integers}}
      %v = block.load %x[%l] valid() fill %f coordinate_axes [["0"]] valid_axes [] : !block.view<f32, 1>, (!block.fragment<index, [4]>) valid () fill f32 -> !block.fragment<f32, [4]>
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %l = block.lanes %p step %p : !block.fragment<index, [4]>
      // expected-error @below {{C3: axis lists hold integers}}
      %v = block.load %x[%l] valid() fill %f coordinate_axes [0] valid_axes [] : !block.view<f32, 1>, (!block.fragment<index, [4]>) valid () fill f32 -> !block.fragment<f32, [4]>
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %l = block.lanes %p step %p : !block.fragment<index, [4]>
      // expected-error @below {{C4: coordinate 0 has rank 1 and 0 axes}}
      %v = block.load %x[%l] valid() fill %f coordinate_axes [[]] valid_axes [] : !block.view<f32, 1>, (!block.fragment<index, [4]>) valid () fill f32 -> !block.fragment<f32, [4]>
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %l = block.lanes %p step %p : !block.fragment<index, [4]>
      // expected-error @below {{C5: coordinate 0 does not lie on result axis 1}}
      %v = block.load %x[%l] valid() fill %f coordinate_axes [[1]] valid_axes [] : !block.view<f32, 1>, (!block.fragment<index, [4]>) valid () fill f32 -> !block.fragment<f32, [4]>
    }
  }
}

// -----

// The extent is that of the axis.
block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %l = block.lanes %p step %p : !block.fragment<index, [4]>
      // expected-error @below {{C5: coordinate 0 does not lie on result axis 0}}
      %v = block.load %x[%l] valid() fill %f coordinate_axes [[0]] valid_axes [] : !block.view<f32, 1>, (!block.fragment<index, [4]>) valid () fill f32 -> !block.fragment<f32, [8]>
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %l = block.lanes %p step %p : !block.fragment<index, [4]>
      // expected-error @below {{C5: coordinate 0 does not lie on result axis -1}}
      %v = block.load %x[%l] valid() fill %f coordinate_axes [[-1]] valid_axes [] : !block.view<f32, 1>, (!block.fragment<index, [4]>) valid () fill f32 -> !block.fragment<f32, [4]>
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M", "N"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 2>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %l = block.lanes %p step %p : !block.fragment<index, [4]>
      // expected-error @below {{C6: expected 2 coordinates, got 1}}
      %v = block.load %x[%l] valid() fill %f coordinate_axes [[0]] valid_axes [] : !block.view<f32, 2>, (!block.fragment<index, [4]>) valid () fill f32 -> !block.fragment<f32, [4]>
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %l = block.lanes %p step %p : !block.fragment<index, [4]>
      // expected-error @below {{C7: value '!block.fragment<index, [4]>' does not have the view's element 'f32'}}
      block.store %l to %x[%l] valid() coordinate_axes [[0]] valid_axes [] : !block.fragment<index, [4]>, !block.view<f32, 1>, (!block.fragment<index, [4]>) valid ()
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %l = block.lanes %p step %p : !block.fragment<index, [4]>
      // expected-error @below {{C8: fill has type 'index'}}
      %v = block.load %x[%l] valid() fill %p coordinate_axes [[0]] valid_axes [] : !block.view<f32, 1>, (!block.fragment<index, [4]>) valid () fill index -> !block.fragment<f32, [4]>
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      %l = block.lanes %p step %p : !block.fragment<index, [4]>
      // expected-error @below {{C5: coordinate 0 does not lie on result axis 0}}
      block.store %f to %x[%l] valid() coordinate_axes [[0]] valid_axes [] : f32, !block.view<f32, 1>, (!block.fragment<index, [4]>) valid ()
    }
  }
}

// -----

block.kernel @k interface [] checks [] overlaps [] {
  block.program @p privates [] parameters [] () {
    block.group size(1) {
    ^bb0(%p: index):
      %f = block.constant 0.0 : f32 : f32
      // expected-error @below {{C8: value has type 'f32'}}
      block.require %f in %f to %f "value" valid() valid_axes [] : f32 valid ()
    }
  }
}
