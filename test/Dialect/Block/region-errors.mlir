// RUN: intent-opt %s --split-input-file --verify-diagnostics
// A value of a region belongs to it: a name used before the region begins is refused while parsing, whatever follows.

block.kernel @k interface [#block.scalar_argument<"s", f32>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%s: f32) {
    block.group size(1) {
    ^bb0(%p: index):
      // expected-note @below {{the use}}
      %u = block.binary add %t, %t : f32
      %a = block.broadcast %s [] : f32 to !block.fragment<f32, [32]>
      %r = block.reduce(%a) identity(%s) axis 0 {
      ^bb0(%x: f32, %y: f32):
        // expected-error @below {{a value of a region is used before the region begins}}
        %t = block.binary mul %x, %s : f32
        block.yield %t : f32
      } : (!block.fragment<f32, [32]>) -> (f32) identities (f32)
    }
  }
}

// -----

// A block argument, in a region of a region.
block.kernel @k interface [#block.scalar_argument<"s", f32>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%s: f32) {
    block.group size(1) {
    ^bb0(%p: index):
      // expected-note @below {{the use}}
      %u = block.binary add %x, %s : f32
      %c = block.constant 1 : index : index
      scf.for %i = %c to %c step %c {
        %a = block.broadcast %s [] : f32 to !block.fragment<f32, [32]>
        %r = block.reduce(%a) identity(%s) axis 0 {
        // expected-error @below {{a value of a region is used before the region begins}}
        ^bb0(%x: f32, %y: f32):
          block.yield %x : f32
        } : (!block.fragment<f32, [32]>) -> (f32) identities (f32)
      }
    }
  }
}

// -----

// A value of a loop inside the region.
kir.kernel @f(%s: f32 {kir.name = "s"}) {
  %c0 = kir.constant 0 : index : index
  %c4 = kir.constant 4 : index : index
  %d = kir.domain %c0 to %c4 step %c0 : !kir.domain<4>
  // expected-note @below {{the use}}
  %u = kir.binary add %t, %t : f32
  kir.parallel(%d : !kir.domain<4>) {
  ^bb0(%i: index):
    // expected-error @below {{a value of a region is used before the region begins}}
    %t = kir.binary mul %s, %s : f32
  }
  kir.return
}
