// RUN: intent-opt %s --split-input-file --verify-diagnostics

kir.kernel @reduce(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  %c = kir.broadcast %s [] : f32 to !kir.tensor<f32, [5]>
  // expected-error @below {{C8: a captured tensor has the kept axes, got '!kir.tensor<f32, [5]>'}}
  %0 = kir.reduce(%t) identity(%s) captures(%c : !kir.tensor<f32, [5]>) axes [1] {
  ^bb0(%a: f32, %b: f32, %d: f32):
    kir.yield %a : f32
  } : (!kir.tensor<f32, [4, 5]>) -> (!kir.tensor<f32, [4]>) identities (f32)
  kir.return
}

// -----

kir.kernel @reduce(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  // expected-error @below {{C6: combine takes 3 scalars: both sides' components, then the captures}}
  %0 = kir.reduce(%t) identity(%s) captures(%s : f32) axes [1] {
  ^bb0(%a: f32, %b: f32):
    kir.yield %a : f32
  } : (!kir.tensor<f32, [4, 5]>) -> (!kir.tensor<f32, [4]>) identities (f32)
  kir.return
}

// -----

kir.kernel @scan(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  // expected-error @below {{C1: expected as many identities and results as operands, at least one}}
  %0 = kir.scan(%t) identity(%s, %s) axis 0 {
  ^bb0(%a: f32, %b: f32):
    kir.yield %a : f32
  } : (!kir.tensor<f32, [4, 5]>) identities (f32, f32) -> (!kir.tensor<f32, [4, 5]>)
  kir.return
}

// -----

kir.kernel @scan(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  // expected-error @below {{C2: axis 2 is outside rank 2}}
  %0 = kir.scan(%t) identity(%s) axis 2 {
  ^bb0(%a: f32, %b: f32):
    kir.yield %a : f32
  } : (!kir.tensor<f32, [4, 5]>) identities (f32) -> (!kir.tensor<f32, [4, 5]>)
  kir.return
}

// -----

kir.kernel @scan(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  %u = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4]>
  // expected-error @below {{C3: operands differ in shape}}
  %0:2 = kir.scan(%t, %u) identity(%s, %s) axis 0 {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    kir.yield %a, %b : f32, f32
  } : (!kir.tensor<f32, [4, 5]>, !kir.tensor<f32, [4]>) identities (f32, f32) -> (!kir.tensor<f32, [4, 5]>, !kir.tensor<f32, [4]>)
  kir.return
}

// -----

kir.kernel @scan(%s: f32 {kir.name = "s"}, %i: i32 {kir.name = "i"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  // expected-error @below {{C4: identity 0 has type 'i32'}}
  %0 = kir.scan(%t) identity(%i) axis 0 {
  ^bb0(%a: f32, %b: f32):
    kir.yield %a : f32
  } : (!kir.tensor<f32, [4, 5]>) identities (i32) -> (!kir.tensor<f32, [4, 5]>)
  kir.return
}

// -----

kir.kernel @scan(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  // expected-error @below {{C5: result 0 differs from its operand in type}}
  %0 = kir.scan(%t) identity(%s) axis 0 {
  ^bb0(%a: f32, %b: f32):
    kir.yield %a : f32
  } : (!kir.tensor<f32, [4, 5]>) identities (f32) -> (!kir.tensor<f32, [4]>)
  kir.return
}

// -----

kir.kernel @scan(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  // expected-error @below {{C6: combine takes 2 scalars: both sides' components, then the captures}}
  %0 = kir.scan(%t) identity(%s) axis 0 {
  ^bb0(%a: f32):
    kir.yield %a : f32
  } : (!kir.tensor<f32, [4, 5]>) identities (f32) -> (!kir.tensor<f32, [4, 5]>)
  kir.return
}

// -----

kir.kernel @scan(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  // expected-error @below {{C7: combine yields other types than the identities'}}
  %0 = kir.scan(%t) identity(%s) axis 0 {
  ^bb0(%a: f32, %b: f32):
    kir.yield %a, %b : f32, f32
  } : (!kir.tensor<f32, [4, 5]>) identities (f32) -> (!kir.tensor<f32, [4, 5]>)
  kir.return
}

// -----

kir.kernel @scan(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  // expected-error @below {{C8: a captured tensor has the kept axes, got '!kir.tensor<f32, [4, 5]>'}}
  %0 = kir.scan(%t) identity(%s) captures(%t : !kir.tensor<f32, [4, 5]>) axis 0 {
  ^bb0(%a: f32, %b: f32, %c: f32):
    kir.yield %a : f32
  } : (!kir.tensor<f32, [4, 5]>) identities (f32) -> (!kir.tensor<f32, [4, 5]>)
  kir.return
}

// -----

kir.kernel @fold(%s: f32 {kir.name = "s"}) {
  // expected-error @below {{C1: expected a source}}
  %0 = "kir.region_fold"(%s) <{axis = 0 : i64, operandSegmentSizes = array<i32: 0, 1>, slice = "?s0"}> ({
    kir.yield %s : f32
  }, {
  ^bb0(%a: f32, %b: f32):
    kir.yield %a : f32
  }, {}) : (f32) -> f32
  kir.return
}

// -----

kir.kernel @fold(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  // expected-error @below {{C4: step takes other arguments}}
  %0 = kir.region_fold(%t) axis 0 slice "?s0" identity(%s) summarize {
  ^bb0(%part: !kir.tensor<f32, ["?s0", 5]>):
    kir.yield %s : f32
  } combine {
  ^bb0(%a: f32, %b: f32):
    kir.yield %a : f32
  } step {
  ^bb0(%a: f32, %b: f32):
    kir.yield %a, %b : f32, f32
  } : (!kir.tensor<f32, [4, 5]>) identities (f32) -> (f32)
  kir.return
}

// -----

kir.kernel @fold(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  // expected-error @below {{C5: step yields other types}}
  %0 = kir.region_fold(%t) axis 0 slice "?s0" identity(%s) summarize {
  ^bb0(%part: !kir.tensor<f32, ["?s0", 5]>):
    kir.yield %s : f32
  } combine {
  ^bb0(%a: f32, %b: f32):
    kir.yield %a : f32
  } step {
  ^bb0(%a: f32, %part: !kir.tensor<f32, ["?s0", 5]>):
    kir.yield %a : f32
  } : (!kir.tensor<f32, [4, 5]>) identities (f32) -> (f32)
  kir.return
}

// -----

kir.kernel @fold(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  // expected-error @below {{C2: axis 2 is outside rank 2}}
  %0 = kir.region_fold(%t) axis 2 slice "?s0" identity(%s) summarize {
  ^bb0(%p: !kir.tensor<f32, ["?s0", 5]>):
    kir.yield %s : f32
  } combine {
  ^bb0(%a: f32, %b: f32):
    kir.yield %a : f32
  } : (!kir.tensor<f32, [4, 5]>) identities (f32) -> (f32)
  kir.return
}

// -----

kir.kernel @fold(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  %u = kir.broadcast %s [] : f32 to !kir.tensor<f32, [5]>
  // expected-error @below {{C3: sources differ in extent along the axis}}
  %0 = kir.region_fold(%t, %u) axis 0 slice "?s0" identity(%s) summarize {
  ^bb0(%p: !kir.tensor<f32, ["?s0", 5]>):
    kir.yield %s : f32
  } combine {
  ^bb0(%a: f32, %b: f32):
    kir.yield %a : f32
  } : (!kir.tensor<f32, [4, 5]>, !kir.tensor<f32, [5]>) identities (f32) -> (f32)
  kir.return
}

// -----

kir.kernel @fold(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  // expected-error @below {{C4: summarize takes other arguments than its sources and states give}}
  %0 = kir.region_fold(%t) axis 0 slice "?s0" identity(%s) summarize {
  ^bb0(%p: !kir.tensor<f32, [4, 5]>):
    kir.yield %s : f32
  } combine {
  ^bb0(%a: f32, %b: f32):
    kir.yield %a : f32
  } : (!kir.tensor<f32, [4, 5]>) identities (f32) -> (f32)
  kir.return
}

// -----

kir.kernel @fold(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  // expected-error @below {{C4: combine takes other arguments than its sources and states give}}
  %0 = kir.region_fold(%t) axis 0 slice "?s0" identity(%s) summarize {
  ^bb0(%p: !kir.tensor<f32, ["?s0", 5]>):
    kir.yield %s : f32
  } combine {
  ^bb0(%a: f32):
    kir.yield %a : f32
  } : (!kir.tensor<f32, [4, 5]>) identities (f32) -> (f32)
  kir.return
}

// -----

kir.kernel @fold(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  // expected-error @below {{C5: summarize yields other types}}
  %0 = kir.region_fold(%t) axis 0 slice "?s0" identity(%s) summarize {
  ^bb0(%p: !kir.tensor<f32, ["?s0", 5]>):
    kir.yield %s, %s : f32, f32
  } combine {
  ^bb0(%a: f32, %b: f32):
    kir.yield %a : f32
  } : (!kir.tensor<f32, [4, 5]>) identities (f32) -> (f32)
  kir.return
}

// -----

kir.kernel @fold(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  // expected-error @below {{C5: combine yields other types}}
  %0 = kir.region_fold(%t) axis 0 slice "?s0" identity(%s) summarize {
  ^bb0(%p: !kir.tensor<f32, ["?s0", 5]>):
    kir.yield %s : f32
  } combine {
  ^bb0(%a: f32, %b: f32):
    kir.yield %a, %b : f32, f32
  } : (!kir.tensor<f32, [4, 5]>) identities (f32) -> (f32)
  kir.return
}

// -----

kir.kernel @fold(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  // expected-error @below {{C6: results and identities differ in type}}
  %0 = kir.region_fold(%t) axis 0 slice "?s0" identity(%s) summarize {
  ^bb0(%p: !kir.tensor<f32, ["?s0", 5]>):
    kir.yield %s : f32
  } combine {
  ^bb0(%a: f32, %b: f32):
    kir.yield %a : f32
  } : (!kir.tensor<f32, [4, 5]>) identities (f32) -> (f64)
  kir.return
}

// -----

kir.kernel @fold(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  %0 = kir.region_fold(%t) axis 0 slice "?s0" identity(%s) summarize {
  ^bb0(%p: !kir.tensor<f32, ["?s0", 5]>):
    kir.yield %s : f32
  } combine {
  ^bb0(%a: f32, %b: f32):
    kir.yield %a : f32
  } : (!kir.tensor<f32, [4, 5]>) identities (f32) -> (f32)
  // expected-error @below {{C5: extent uses '?s0', which nothing before it defines}}
  %1 = kir.extent <"?s0">
  kir.return
}

// -----

kir.kernel @fold(%x: !kir.view<f32, ["N"], in> {kir.name = "x"}, %s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  // expected-error @below {{C1: 'N' is already an atom}}
  %0 = kir.region_fold(%t) axis 0 slice "N" identity(%s) summarize {
  ^bb0(%p: !kir.tensor<f32, ["N", 5]>):
    kir.yield %s : f32
  } combine {
  ^bb0(%a: f32, %b: f32):
    kir.yield %a : f32
  } : (!kir.tensor<f32, [4, 5]>) identities (f32) -> (f32)
  kir.return
}

// -----

kir.kernel @scan(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  // expected-error @below {{C4: apply takes other arguments than its sources and states give}}
  %0:2 = kir.region_scan(%t) axis 0 slice "?s0" identity(%s) state(%s) summarize {
  ^bb0(%p: !kir.tensor<f32, ["?s0", 5]>):
    kir.yield %s : f32
  } combine {
  ^bb0(%a: f32, %b: f32):
    kir.yield %a : f32
  } apply {
  ^bb0(%b: f32):
    kir.yield %b : f32
  } emit {
  ^bb0(%p: !kir.tensor<f32, ["?s0", 5]>, %b: f32):
    kir.yield %p : !kir.tensor<f32, ["?s0", 5]>
  } : (!kir.tensor<f32, [4, 5]>) identities (f32) states (f32) -> (!kir.tensor<f32, [4, 5]>, f32)
  kir.return
}

// -----

kir.kernel @scan(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  // expected-error @below {{C5: apply yields other types}}
  %0:2 = kir.region_scan(%t) axis 0 slice "?s0" identity(%s) state(%s) summarize {
  ^bb0(%p: !kir.tensor<f32, ["?s0", 5]>):
    kir.yield %s : f32
  } combine {
  ^bb0(%a: f32, %b: f32):
    kir.yield %a : f32
  } apply {
  ^bb0(%a: f32, %b: f32):
    kir.yield %a, %b : f32, f32
  } emit {
  ^bb0(%p: !kir.tensor<f32, ["?s0", 5]>, %b: f32):
    kir.yield %p : !kir.tensor<f32, ["?s0", 5]>
  } : (!kir.tensor<f32, [4, 5]>) identities (f32) states (f32) -> (!kir.tensor<f32, [4, 5]>, f32)
  kir.return
}

// -----

kir.kernel @scan(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  // expected-error @below {{C4: emit takes other arguments than its sources and states give}}
  %0:2 = kir.region_scan(%t) axis 0 slice "?s0" identity(%s) state(%s) summarize {
  ^bb0(%p: !kir.tensor<f32, ["?s0", 5]>):
    kir.yield %s : f32
  } combine {
  ^bb0(%a: f32, %b: f32):
    kir.yield %a : f32
  } apply {
  ^bb0(%a: f32, %b: f32):
    kir.yield %b : f32
  } emit {
  ^bb0(%p: !kir.tensor<f32, ["?s0", 5]>):
    kir.yield %p : !kir.tensor<f32, ["?s0", 5]>
  } : (!kir.tensor<f32, [4, 5]>) identities (f32) states (f32) -> (!kir.tensor<f32, [4, 5]>, f32)
  kir.return
}

// -----

kir.kernel @scan(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  // expected-error @below {{C5: emit yields other types}}
  %0:2 = kir.region_scan(%t) axis 0 slice "?s0" identity(%s) state(%s) summarize {
  ^bb0(%p: !kir.tensor<f32, ["?s0", 5]>):
    kir.yield %s : f32
  } combine {
  ^bb0(%a: f32, %b: f32):
    kir.yield %a : f32
  } apply {
  ^bb0(%a: f32, %b: f32):
    kir.yield %b : f32
  } emit {
  ^bb0(%p: !kir.tensor<f32, ["?s0", 5]>, %b: f32):
    kir.yield %b : f32
  } : (!kir.tensor<f32, [4, 5]>) identities (f32) states (f32) -> (!kir.tensor<f32, [4, 5]>, f32)
  kir.return
}

// -----

kir.kernel @scan(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  // expected-error @below {{C6: expected the outputs, then the states, as results}}
  %0:2 = kir.region_scan(%t) axis 0 slice "?s0" identity(%s) state(%s) summarize {
  ^bb0(%p: !kir.tensor<f32, ["?s0", 5]>):
    kir.yield %s : f32
  } combine {
  ^bb0(%a: f32, %b: f32):
    kir.yield %a : f32
  } apply {
  ^bb0(%a: f32, %b: f32):
    kir.yield %b : f32
  } emit {
  ^bb0(%p: !kir.tensor<f32, ["?s0", 5]>, %b: f32):
    kir.yield %p : !kir.tensor<f32, ["?s0", 5]>
  } : (!kir.tensor<f32, [4, 5]>) identities (f32) states (f32) -> (!kir.tensor<f32, [4, 5]>, f64)
  kir.return
}

// -----

kir.kernel @scan(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  // expected-error @below {{C7: an output does not have the sources' extent along the axis}}
  %0:2 = kir.region_scan(%t) axis 0 slice "?s0" identity(%s) state(%s) summarize {
  ^bb0(%p: !kir.tensor<f32, ["?s0", 5]>):
    kir.yield %s : f32
  } combine {
  ^bb0(%a: f32, %b: f32):
    kir.yield %a : f32
  } apply {
  ^bb0(%a: f32, %b: f32):
    kir.yield %b : f32
  } emit {
  ^bb0(%p: !kir.tensor<f32, ["?s0", 5]>, %b: f32):
    kir.yield %p : !kir.tensor<f32, ["?s0", 5]>
  } : (!kir.tensor<f32, [4, 5]>) identities (f32) states (f32) -> (!kir.tensor<f32, [5, 5]>, f32)
  kir.return
}

// -----

kir.kernel @reduce(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [5]>
  // expected-error @below {{C10: combine uses a tensor from around it, which it only takes as a capture}}
  %0 = kir.reduce(%t) identity(%s) axes [0] {
  ^bb0(%a: f32, %b: f32):
    %u = kir.unary exp %t : !kir.tensor<f32, [5]>
    kir.yield %a : f32
  } : (!kir.tensor<f32, [5]>) -> (f32) identities (f32)
  kir.return
}
