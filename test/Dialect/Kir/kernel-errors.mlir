// RUN: intent-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{C1: a kernel ends in kir.return}}
kir.kernel @f(%x: !kir.view<f32, ["M"], in> {kir.name = "x"}) {
  kir.yield
}

// -----

// expected-error @below {{C2: a kernel has no results}}
kir.kernel @f(%x: !kir.view<f32, ["M"], in> {kir.name = "x"}) -> index {
  kir.return
}

// -----

// expected-error @below {{C3: parameter 1 is neither a view nor a scalar: '!kir.tensor<f32, ["M"]>'}}
kir.kernel @f(%x: !kir.view<f32, ["M"], in> {kir.name = "x"}, %t: !kir.tensor<f32, ["M"]> {kir.name = "t"}) {
  kir.return
}

// -----

// expected-error @below {{C4: parameter 0 has no kir.name}}
kir.kernel @f(%x: !kir.view<f32, ["M"], in>) {
  kir.return
}

// -----

// expected-error @below {{C4: two parameters are named 'x'}}
kir.kernel @f(%x: !kir.view<f32, ["M"], in> {kir.name = "x"}, %y: f32 {kir.name = "x"}) {
  kir.return
}

// -----

kir.kernel @f(%x: !kir.view<f32, ["M"], in> {kir.name = "x"}) {
  // expected-error @below {{C5: extent uses 'K', which nothing before it defines}}
  %0 = kir.extent <"M" * "K">
  kir.return
}

// -----

kir.kernel @f(%x: !kir.view<f32, ["M"], in> {kir.name = "x"}, %n: index {kir.name = "n"}) {
  // expected-error @below {{C5: extent uses '?0', which nothing before it defines}}
  %d = kir.domain %n to %n step %n : !kir.domain<"?0">
  kir.symbol "?0" = %n
  kir.return
}

// -----

// A float parameter is no atom.
kir.kernel @f(%s: f32 {kir.name = "s"}) {
  %zero = kir.constant 0.0 : f32 : f32
  // expected-error @below {{C5: extent uses '%s', which nothing before it defines}}
  %t = kir.broadcast %zero [] : f32 to !kir.tensor<f32, ["%s"]>
  kir.return
}

// -----

kir.kernel @f(%x: !kir.view<f32, ["M"], in> {kir.name = "x"}) {
  // expected-error @below {{C5: extent uses 'K', which nothing before it defines}}
  kir.check_extent <"M"> equals <"K"> "equal"
  kir.return
}

// -----

// A symbol of an inner region means nothing outside it.
kir.kernel @f(%x: !kir.view<f32, ["M"], in> {kir.name = "x"}, %c: i1 {kir.name = "c"}, %n: index {kir.name = "n"}) {
  kir.if %c {
    kir.symbol "?0" = %n
    %0 = kir.extent <"?0">
    kir.yield
  } else {
    kir.yield
  }
  // expected-error @below {{C5: extent uses '?0', which nothing before it defines}}
  %1 = kir.extent <"?0">
  kir.return
}

// -----

kir.kernel @f(%x: !kir.view<f32, ["M"], in> {kir.name = "x"}, %n: index {kir.name = "n"}) {
  // expected-error @below {{C1: 'M' is already an atom}}
  kir.symbol "M" = %n
  kir.return
}

// -----

// expected-error @below {{region with 1 blocks}}
kir.kernel @f(%x: !kir.view<f32, ["M"], in> {kir.name = "x"})

// -----

kir.kernel @k() {
  // expected-error @below {{C7: only operations of the kir dialect stand in a kernel}}
  %0 = block.constant 0 : index : index
  kir.return
}

// -----

kir.kernel @k(%x: !kir.view<f32, ["N"], inout> {kir.name = "x"}, %t: i1 {kir.name = "t"}) {
  %c0 = kir.constant 0 : index : index
  %c1 = kir.constant 1 : index : index
  %zero = kir.constant 0.0 : f32 : f32
  %N = kir.extent <"N">
  %n = kir.domain %c0 to %N step %c1 : !kir.domain<"N">
  %v = kir.read %x[%n : !kir.domain<"N">] : !kir.view<f32, ["N"], inout> -> !kir.tensor<f32, ["N"]>
  %s = kir.reduce(%v) identity(%zero) axes [0] {
  ^bb0(%a: f32, %b: f32):
    kir.if %t {
      // expected-error @below {{C8: the regions of 'kir.reduce' have no effects}}
      kir.write %a to %x[%c0 : index] : f32, !kir.view<f32, ["N"], inout>
      kir.yield
    } else {
      kir.yield
    }
    kir.yield %a : f32
  } : (!kir.tensor<f32, ["N"]>) -> (f32) identities (f32)
  kir.return
}

// -----

// expected-error @below {{C9: parameter 0 has the extent '?n' of a value}}
kir.kernel @k(%x: !kir.view<f32, ["?n"], in> {kir.name = "x"}) {
  kir.return
}
