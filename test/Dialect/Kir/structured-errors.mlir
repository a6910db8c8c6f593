// RUN: intent-opt %s --split-input-file --verify-diagnostics

kir.kernel @reduce(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4]>
  // expected-error @below {{C1: expected as many identities and results as operands, at least one}}
  %0 = kir.reduce(%t) identity(%s, %s) axes [0] {
  ^bb0(%a: f32, %b: f32):
    kir.yield %a : f32
  } : (!kir.tensor<f32, [4]>) -> (f32) identities (f32, f32)
  kir.return
}

// -----

kir.kernel @reduce(%s: f32 {kir.name = "s"}) {
  // expected-error @below {{C1: expected as many identities and results as operands, at least one}}
  "kir.reduce"() <{axes = array<i64>, operandSegmentSizes = array<i32: 0, 0, 0>}> ({
  ^bb0(%a: f32, %b: f32):
    kir.yield %a : f32
  }) : () -> ()
  kir.return
}

// -----

kir.kernel @reduce(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4]>
  // expected-error @below {{C2: axis 1 is repeated or outside rank 1}}
  %0 = kir.reduce(%t) identity(%s) axes [1] {
  ^bb0(%a: f32, %b: f32):
    kir.yield %a : f32
  } : (!kir.tensor<f32, [4]>) -> (f32) identities (f32)
  kir.return
}

// -----

kir.kernel @reduce(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  // expected-error @below {{C2: axis 0 is repeated or outside rank 2}}
  %0 = kir.reduce(%t) identity(%s) axes [0, 0] {
  ^bb0(%a: f32, %b: f32):
    kir.yield %a : f32
  } : (!kir.tensor<f32, [4, 5]>) -> (!kir.tensor<f32, [5]>) identities (f32)
  kir.return
}

// -----

kir.kernel @reduce(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4]>
  %u = kir.broadcast %s [] : f32 to !kir.tensor<f32, [5]>
  // expected-error @below {{C3: operands differ in shape}}
  %0:2 = kir.reduce(%t, %u) identity(%s, %s) axes [0] {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    kir.yield %a, %b : f32, f32
  } : (!kir.tensor<f32, [4]>, !kir.tensor<f32, [5]>) -> (f32, f32) identities (f32, f32)
  kir.return
}

// -----

kir.kernel @reduce(%s: f32 {kir.name = "s"}, %i: i32 {kir.name = "i"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4]>
  // expected-error @below {{C4: identity 0 has type 'i32'}}
  %0 = kir.reduce(%t) identity(%i) axes [0] {
  ^bb0(%a: f32, %b: f32):
    kir.yield %a : f32
  } : (!kir.tensor<f32, [4]>) -> (f32) identities (i32)
  kir.return
}

// -----

kir.kernel @reduce(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  // expected-error @below {{C5: expected result 0 of type '!kir.tensor<f32, [4]>', got '!kir.tensor<f32, [5]>'}}
  %0 = kir.reduce(%t) identity(%s) axes [1] {
  ^bb0(%a: f32, %b: f32):
    kir.yield %a : f32
  } : (!kir.tensor<f32, [4, 5]>) -> (!kir.tensor<f32, [5]>) identities (f32)
  kir.return
}

// -----

kir.kernel @reduce(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4]>
  // expected-error @below {{C6: combine takes 2 scalars}}
  %0 = kir.reduce(%t) identity(%s) axes [0] {
  ^bb0(%a: f32):
    kir.yield %a : f32
  } : (!kir.tensor<f32, [4]>) -> (f32) identities (f32)
  kir.return
}

// -----

kir.kernel @reduce(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4]>
  // expected-error @below {{C6: combine takes 2 scalars}}
  %0 = kir.reduce(%t) identity(%s) axes [0] {
  ^bb0(%a: f32, %b: f64):
    kir.yield %a : f32
  } : (!kir.tensor<f32, [4]>) -> (f32) identities (f32)
  kir.return
}

// -----

kir.kernel @reduce(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4]>
  // expected-error @below {{C7: combine yields other types than the identities'}}
  %0 = kir.reduce(%t) identity(%s) axes [0] {
  ^bb0(%a: f32, %b: f32):
    kir.yield %a, %b : f32, f32
  } : (!kir.tensor<f32, [4]>) -> (f32) identities (f32)
  kir.return
}

// -----

kir.kernel @contract(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  // expected-error @below {{C1: axis lists differ in length}}
  %0 = kir.contract %t, %t reduce [1] [] batch [] [] : !kir.tensor<f32, [4, 5]>, !kir.tensor<f32, [4, 5]> -> !kir.tensor<f32, [4]>
  kir.return
}

// -----

kir.kernel @contract(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  // expected-error @below {{C2: axes (1, 1) are repeated or out of range}}
  %0 = kir.contract %t, %t reduce [1, 1] [1, 1] batch [] [] : !kir.tensor<f32, [4, 5]>, !kir.tensor<f32, [4, 5]> -> !kir.tensor<f32, [4, 4]>
  kir.return
}

// -----

kir.kernel @contract(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  // expected-error @below {{C2: axes (0, 2) are repeated or out of range}}
  %0 = kir.contract %t, %t reduce [1] [1] batch [0] [2] : !kir.tensor<f32, [4, 5]>, !kir.tensor<f32, [4, 5]> -> !kir.tensor<f32, [4]>
  kir.return
}

// -----

kir.kernel @contract(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  // expected-error @below {{C3: axes (1, 0) differ in extent}}
  %0 = kir.contract %t, %t reduce [1] [0] batch [] [] : !kir.tensor<f32, [4, 5]>, !kir.tensor<f32, [4, 5]> -> !kir.tensor<f32, [4, 5]>
  kir.return
}

// -----

kir.kernel @contract(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  // expected-error @below {{C4: result shape is not the free axes of both operands: '!kir.tensor<f32, [4, 5]>'}}
  %0 = kir.contract %t, %t reduce [1] [1] batch [] [] : !kir.tensor<f32, [4, 5]>, !kir.tensor<f32, [4, 5]> -> !kir.tensor<f32, [4, 5]>
  kir.return
}

// -----

// Contracting everything gives a rank-zero tensor, not a scalar.
kir.kernel @contract(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4]>
  // expected-error @below {{C4: result shape is not the free axes of both operands: 'f32'}}
  %0 = kir.contract %t, %t reduce [0] [0] batch [] [] : !kir.tensor<f32, [4]>, !kir.tensor<f32, [4]> -> f32
  kir.return
}
