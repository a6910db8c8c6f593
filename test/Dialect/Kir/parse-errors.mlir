// RUN: intent-opt %s --split-input-file --verify-diagnostics
// Text that is no KIR type or extent is refused where it stands.

kir.kernel @f(%x: !kir.view<f32, ["M", ], in> {kir.name = "x"}) { // expected-error {{expected an extent: an integer or an atom string}}
  kir.return
}

// -----

kir.kernel @f(%x: !kir.view<f32, [M], in> {kir.name = "x"}) { // expected-error {{expected an extent: an integer or an atom string}}
  kir.return
}

// -----

kir.kernel @f(%x: !kir.view<f32, ["M" +], in> {kir.name = "x"}) { // expected-error {{expected an extent: an integer or an atom string}}
  kir.return
}

// -----

kir.kernel @f(%x: !kir.view<f32, ["M" * ("N")], in> {kir.name = "x"}) { // expected-error {{expected an extent: an integer or an atom string}}
  kir.return
}

// -----

kir.kernel @f(%x: !kir.view<f32, [99999999999999999999], in> {kir.name = "x"}) { // expected-error {{extent does not fit 64 bits}}
  kir.return
}

// -----

kir.kernel @f(%x: !kir.view<f32, [""], in> {kir.name = "x"}) { // expected-error {{expected an atom name without quotes}}
  kir.return
}

// -----

kir.kernel @f(%x: !kir.view<f32, ["a\"b"], in> {kir.name = "x"}) { // expected-error {{expected an atom name without quotes}}
  kir.return
}

// -----

kir.kernel @f(%x: !kir.view<f32, ["M"], both> {kir.name = "x"}) { // expected-error {{expected in, out or inout, got both}}
  kir.return
}

// -----

kir.kernel @f(%x: !kir.view<i128, ["M"], in> {kir.name = "x"}) { // expected-error {{expected an element type of the language, got 'i128'}}
  kir.return
}

// -----

kir.kernel @f(%x: !kir.view<si32, ["M"], in> {kir.name = "x"}) { // expected-error {{expected an element type of the language, got 'si32'}}
  kir.return
}

// -----

kir.kernel @f(%x: !kir.tensor<complex<f32>, ["M"]> {kir.name = "x"}) { // expected-error {{expected an element type of the language, got 'complex<f32>'}}
  kir.return
}

// -----

kir.kernel @f(%x: !kir.domain<> {kir.name = "x"}) { // expected-error {{expected an extent: an integer or an atom string}}
  kir.return
}
