// RUN: intent-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{C1: interface entry is neither a view_argument nor a scalar_argument: 1 : i64}}
block.kernel @k interface [1] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: index) {}
}

// -----

// expected-error @below {{C2: interface name 'x' is empty or repeated}}
block.kernel @k interface [#block.view_argument<"x", f32, ["M"], in>, #block.scalar_argument<"x", f32>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>, %y: f32) {}
}

// -----

// expected-error @below {{C2: interface name '' is empty or repeated}}
block.kernel @k interface [#block.scalar_argument<"", f32>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%y: f32) {}
}

// -----

block.kernel @k interface [] checks [] overlaps [] {
  // expected-error @below {{C3: only programs stand in a kernel}}
  %0 = block.constant 0 : index : index
}

// -----

// expected-error @below {{C4: expected one to three variants, got 0}}
block.kernel @k interface [] checks [] overlaps [] {
}

// -----

// expected-error @below {{C4: expected one to three variants, got 4}}
block.kernel @k interface [] checks [] overlaps [] {
  block.program @a privates [] parameters [] () {}
  block.program @b privates [] parameters [] () {}
  block.program @c privates [] parameters [] () {}
  block.program @d privates [] parameters [] () {}
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  // expected-error @below {{C1: expected 2 arguments, got 1}}
  block.program @p privates ["M"] parameters [] (%x: !block.view<f32, 1>) {}
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  // expected-error @below {{C2: argument 0 has type '!block.view<f32, 2>', expected '!block.view<f32, 1>'}}
  block.program @p privates [] parameters [] (%x: !block.view<f32, 2>) {}
}

// -----

// A private argument is an index.
block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  // expected-error @below {{C2: argument 1 has type 'i32', expected 'index'}}
  block.program @p privates ["M"] parameters [] (%x: !block.view<f32, 1>, %m: i32) {}
}

// -----

block.kernel @k interface [#block.scalar_argument<"s", f32>] checks [] overlaps [] {
  // expected-error @below {{C2: argument 0 has type 'f64', expected 'f32'}}
  block.program @p privates [] parameters [] (%s: f64) {}
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  // expected-error @below {{C3: parameter 'BM' is declared twice}}
  block.program @p privates [] parameters [#block.parameter<"BM", ownership, int domain = [1, 2, 4]>, #block.parameter<"BM", ownership, int domain = [1, 2, 4]>] (%x: !block.view<f32, 1>) {}
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  // expected-error @below {{C4: the domain of 'BM' is not ascending}}
  block.program @p privates [] parameters [#block.parameter<"BM", ownership, int domain = [4, 2]>] (%x: !block.view<f32, 1>) {}
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  // expected-error @below {{C5: a coverage parameter, and only that, has a launch binding: 'CN'}}
  block.program @p privates [] parameters [#block.parameter<"CN", coverage, int domain = []>] (%x: !block.view<f32, 1>) {}
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  // expected-error @below {{C5: a coverage parameter, and only that, has a launch binding: 'BM'}}
  block.program @p privates [] parameters [#block.parameter<"BM", ownership, int domain = [1] binding = <"M">>] (%x: !block.view<f32, 1>) {}
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  // expected-error @below {{C6: configuration column "BN" is no declared parameter}}
  block.program @p privates [] parameters [#block.parameter<"BM", ownership, int domain = [1, 2, 4]>] configurations #block.configurations<["BN"], [array<i64: 1>]> (%x: !block.view<f32, 1>) {}
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  // expected-error @below {{C7: expected 1 values in a configuration row, got array<i64: 1, 2>}}
  block.program @p privates [] parameters [#block.parameter<"BM", ownership, int domain = [1, 2, 4]>] configurations #block.configurations<["BM"], [array<i64: 1, 2>]> (%x: !block.view<f32, 1>) {}
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  // expected-error @below {{C8: "BM" = 8 lies outside its domain}}
  block.program @p privates [] parameters [#block.parameter<"BM", ownership, int domain = [1, 2, 4]>] configurations #block.configurations<["BM"], [array<i64: 2>, array<i64: 8>]> (%x: !block.view<f32, 1>) {}
}

// -----

block.kernel @k interface [] checks [] overlaps [] {
  block.program @p privates [] parameters [] () {
    // expected-error @below {{C9: parameter 'BM' is not declared by the program}}
    block.group size(ceil_div(8, BM)) {
    ^bb0(%p: index):
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      // expected-error @below {{C9: parameter 'BM' is not declared by the program}}
      %0 = block.lanes %p step %p : !block.fragment<index, [mul(BM, 2)]>
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      // expected-error @below {{C9: parameter 'BM' is not declared by the program}}
      %0 = block.param BM
    }
  }
}

// -----

block.kernel @k interface [#block.view_argument<"x", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [#block.parameter<"BM", ownership, int domain = [1, 2, 4]>] (%x: !block.view<f32, 1>) {
    block.group size(1) {
    ^bb0(%p: index):
      scf.execute_region {
      ^bb0:
        // expected-error @below {{C9: parameter 'BN' is not declared by the program}}
        %f = block.lanes %p step %p : !block.fragment<index, [BN]>
        scf.yield
      }
    }
  }
}

// -----

block.kernel @k interface [] checks [] overlaps [] {
  block.program @p privates [] parameters [#block.parameter<"BM", ownership, int domain = [1]>] () {
    // expected-error @below {{C10: only constants and groups stand in a program}}
    %0 = block.param BM
  }
}

// -----

block.kernel @k interface [] checks [] overlaps [] {
  block.program @p privates [] parameters [] () {
    // expected-error @below {{C1: expected one index argument}}
    block.group size(1) {
    ^bb0(%p: i32):
    }
  }
}

// -----

block.kernel @k interface [] checks [] overlaps [] {
  block.program @p privates [] parameters [] () {
    // expected-error @below {{C1: expected one index argument}}
    block.group size(1) {
    }
  }
}

// -----

block.kernel @k interface [] checks [] overlaps [] {
  // expected-error @below {{C11: workspace 'w' has no element type of the language}}
  block.program @p privates [] workspaces [#block.workspace<"w", i7, [4]>] parameters [] (%w: !block.view<i7, 1>) {}
}

// -----

// Workspaces follow the private values.
block.kernel @k interface [] checks [] overlaps [] {
  // expected-error @below {{C2: argument 0 has type '!block.view<f32, 1>', expected 'index'}}
  block.program @p privates [8] workspaces [#block.workspace<"w", f32, [4]>] parameters [] (%w: !block.view<f32, 1>, %M: index) {}
}

// -----

block.kernel @k interface [] checks [] overlaps [] {
  // expected-error @below {{C2: argument 0 has type '!block.view<f32, 1>', expected '!block.view<f32, 2>'}}
  block.program @p privates [] workspaces [#block.workspace<"w", f32, [4, 8]>] parameters [] (%w: !block.view<f32, 1>) {}
}

// -----

block.kernel @k interface [] checks [] overlaps [] {
  // expected-error @below {{C1: expected 1 arguments, got 0}}
  block.program @p privates [] workspaces [#block.workspace<"w", f32, [4]>] parameters [] () {}
}

// -----

block.kernel @k interface [] checks [] overlaps [] {
  // expected-error @below {{C9: parameter 'BM' is not declared by the program}}
  block.program @p privates [] workspaces [#block.workspace<"w", f32, [BM]>] parameters [] (%w: !block.view<f32, 1>) {}
}

// -----

block.kernel @k interface [] checks [] overlaps [] {
  block.program @p privates [] parameters [] () {
    block.group size(1) {
    ^bb0(%p: index):
      // expected-error @below {{C13: only operations of the block and scf dialects stand in a program}}
      %0 = kir.constant 0 : index : index
    }
  }
}
