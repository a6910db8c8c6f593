// RUN: intent-opt %s --split-input-file --verify-diagnostics
// Functions on element types where they have no meaning.

block.kernel @k interface [#block.scalar_argument<"a", i32>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%a: i32) {
    block.group size(1) {
    ^bb0(%i: index):
      // expected-error @below {{C1: exp does not take i32}}
      %0 = block.unary exp %a : i32
    }
  }
}

// -----

block.kernel @k interface [#block.scalar_argument<"a", bf16>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%a: bf16) {
    block.group size(1) {
    ^bb0(%i: index):
      %v = block.broadcast %a [] : bf16 to !block.fragment<bf16, [4]>
      // expected-error @below {{C1: not does not take bf16}}
      %0 = block.unary not %v : !block.fragment<bf16, [4]>
    }
  }
}

// -----

block.kernel @k interface [#block.scalar_argument<"a", f64>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%a: f64) {
    block.group size(1) {
    ^bb0(%i: index):
      // expected-error @below {{C3: only f32 exp2 and tanh may be approximate}}
      %0 = block.unary exp2 %a approximate : f64
    }
  }
}

// -----

block.kernel @k interface [#block.scalar_argument<"a", f32>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%a: f32) {
    block.group size(1) {
    ^bb0(%i: index):
      // expected-error @below {{C2: ftz needs approximate}}
      %0 = block.unary exp2 %a ftz : f32
    }
  }
}

// -----

block.kernel @k interface [#block.scalar_argument<"a", ui8>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%a: ui8) {
    block.group size(1) {
    ^bb0(%i: index):
      // expected-error @below {{C1: div does not take u8}}
      %0 = block.binary div %a, %a : ui8
    }
  }
}

// -----

block.kernel @k interface [#block.scalar_argument<"a", f16>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%a: f16) {
    block.group size(1) {
    ^bb0(%i: index):
      // expected-error @below {{C1: shl does not take f16}}
      %0 = block.binary shl %a, %a : f16
    }
  }
}

// -----

block.kernel @k interface [#block.scalar_argument<"a", f32>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%a: f32) {
    block.group size(1) {
    ^bb0(%i: index):
      // expected-error @below {{C3: only f32 div may be approximate}}
      %0 = block.binary mul %a, %a approximate : f32
    }
  }
}

// -----

block.kernel @k interface [#block.scalar_argument<"a", i64>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%a: i64) {
    block.group size(1) {
    ^bb0(%i: index):
      // expected-error @below {{C1: fma does not take i64}}
      %0 = block.fma %a, %a, %a : i64
    }
  }
}

// -----

// Functions of every element type, and of f32 with both forms.
block.kernel @k interface [#block.scalar_argument<"b", i1>, #block.scalar_argument<"n", i32>, #block.scalar_argument<"a", f32>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%b: i1, %n: i32, %a: f32) {
    block.group size(1) {
    ^bb0(%i: index):
      %0 = block.unary not %b : i1
      %1 = block.unary neg %n : i32
      %2 = block.binary shr %n, %n : i32
      %3 = block.unary tanh %a approximate ftz : f32
      %4 = block.binary div %a, %a approximate ftz : f32
      %5 = block.binary floordiv %n, %n : i32
      %6 = block.binary pow %a, %a : f32
    }
  }
}
