// RUN: intent-opt %s --split-input-file --verify-diagnostics

kir.kernel @constant() {
  // expected-error @below {{C1: value has type 'i32', result 'f32'}}
  %0 = kir.constant 0 : i32 : f32
  kir.return
}

// -----

kir.kernel @unary(%i: i32 {kir.name = "i"}) {
  // expected-error @below {{C1: exp does not take i32}}
  %0 = kir.unary exp %i : i32
  kir.return
}

// -----

kir.kernel @unary(%s: f32 {kir.name = "s"}) {
  // expected-error @below {{C1: not does not take f32}}
  %0 = kir.unary not %s : f32
  kir.return
}

// -----

kir.kernel @unary(%s: f32 {kir.name = "s"}) {
  // expected-error @below {{C2: ftz needs approximate}}
  %0 = kir.unary exp2 %s ftz : f32
  kir.return
}

// -----

kir.kernel @unary(%s: f32 {kir.name = "s"}) {
  // expected-error @below {{C3: only f32 exp2 and tanh may be approximate}}
  %0 = kir.unary exp %s approximate : f32
  kir.return
}

// -----

kir.kernel @unary(%s: f64 {kir.name = "s"}) {
  // expected-error @below {{C3: only f32 exp2 and tanh may be approximate}}
  %0 = kir.unary tanh %s approximate : f64
  kir.return
}

// -----

kir.kernel @binary(%i: index {kir.name = "i"}) {
  // expected-error @below {{C1: div does not take index}}
  %0 = kir.binary div %i, %i : index
  kir.return
}

// -----

kir.kernel @binary(%s: bf16 {kir.name = "s"}) {
  // expected-error @below {{C1: xor does not take bf16}}
  %0 = kir.binary xor %s, %s : bf16
  kir.return
}

// -----

kir.kernel @binary(%s: f32 {kir.name = "s"}) {
  // expected-error @below {{C2: ftz needs approximate}}
  %0 = kir.binary div %s, %s ftz : f32
  kir.return
}

// -----

kir.kernel @binary(%s: f32 {kir.name = "s"}) {
  // expected-error @below {{C3: only f32 div may be approximate}}
  %0 = kir.binary add %s, %s approximate : f32
  kir.return
}

// -----

kir.kernel @binary(%s: f16 {kir.name = "s"}) {
  // expected-error @below {{C3: only f32 div may be approximate}}
  %0 = kir.binary div %s, %s approximate : f16
  kir.return
}

// -----

kir.kernel @compare(%s: f32 {kir.name = "s"}) {
  // expected-error @below {{C1: expected a result of type 'i1'}}
  %0 = kir.compare lt %s, %s : f32 -> i8
  kir.return
}

// -----

kir.kernel @select(%s: f32 {kir.name = "s"}) {
  // expected-error @below {{C1: expected a bool condition, got 'f32'}}
  %0 = kir.select %s, %s, %s : f32, f32
  kir.return
}

// -----

kir.kernel @select(%c: i1 {kir.name = "c"}, %s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4]>
  %d = kir.broadcast %c [] : i1 to !kir.tensor<i1, [5]>
  // expected-error @below {{C2: condition '!kir.tensor<i1, [5]>' and result '!kir.tensor<f32, [4]>' differ in shape}}
  %0 = kir.select %d, %t, %t : !kir.tensor<i1, [5]>, !kir.tensor<f32, [4]>
  kir.return
}

// -----

// A rank-zero tensor is no scalar.
kir.kernel @select(%c: i1 {kir.name = "c"}, %s: f32 {kir.name = "s"}) {
  %d = kir.broadcast %c [] : i1 to !kir.tensor<i1, []>
  // expected-error @below {{C2: condition '!kir.tensor<i1, []>' and result 'f32' differ in shape}}
  %0 = kir.select %d, %s, %s : !kir.tensor<i1, []>, f32
  kir.return
}

// -----

kir.kernel @cast(%s: f32 {kir.name = "s"}) {
  // expected-error @below {{C1: operand 'f32' and result '!kir.tensor<f16, []>' differ in shape}}
  %0 = kir.cast %s : f32 to !kir.tensor<f16, []>
  kir.return
}

// -----

kir.kernel @bitcast(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4]>
  // expected-error @below {{C1: operand '!kir.tensor<f32, [4]>' and result '!kir.tensor<i32, [2]>' differ in shape}}
  %0 = kir.bitcast %t : !kir.tensor<f32, [4]> to !kir.tensor<i32, [2]>
  kir.return
}

// -----

kir.kernel @bitcast(%s: f32 {kir.name = "s"}) {
  // expected-error @below {{C2: element widths differ}}
  %0 = kir.bitcast %s : f32 to i16
  kir.return
}

// -----

kir.kernel @broadcast(%s: f32 {kir.name = "s"}) {
  // expected-error @below {{C1: element types differ}}
  %0 = kir.broadcast %s [] : f32 to !kir.tensor<f16, [4]>
  kir.return
}

// -----

kir.kernel @broadcast(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4]>
  // expected-error @below {{C2: expected 1 axes, got 0}}
  %0 = kir.broadcast %t [] : !kir.tensor<f32, [4]> to !kir.tensor<f32, [4, 5]>
  kir.return
}

// -----

kir.kernel @broadcast(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 4]>
  // expected-error @below {{C3: axes are not ascending within the result's rank}}
  %0 = kir.broadcast %t [1, 0] : !kir.tensor<f32, [4, 4]> to !kir.tensor<f32, [4, 4]>
  kir.return
}

// -----

kir.kernel @broadcast(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4]>
  // expected-error @below {{C3: axes are not ascending within the result's rank}}
  %0 = kir.broadcast %t [1] : !kir.tensor<f32, [4]> to !kir.tensor<f32, [4]>
  kir.return
}

// -----

kir.kernel @broadcast(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4]>
  // expected-error @below {{C4: operand axis 0 has neither the extent of result axis 1 nor 1}}
  %0 = kir.broadcast %t [1] : !kir.tensor<f32, [4]> to !kir.tensor<f32, [4, 5]>
  kir.return
}

// -----

kir.kernel @reshape(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4]>
  // expected-error @below {{C1: element types differ}}
  %0 = kir.reshape %t : !kir.tensor<f32, [4]> to !kir.tensor<i32, [4]>
  kir.return
}

// -----

// Only a count that is proven different is an error; one that may be equal is checked at the call.
kir.kernel @reshape(%x: !kir.view<f32, ["M", "N"], in> {kir.name = "x"}, %s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, ["M", 4]>
  %0 = kir.reshape %t : !kir.tensor<f32, ["M", 4]> to !kir.tensor<f32, ["N"]>
  // expected-error @below {{C2: expected as many elements as the operand has: #kir.extent<4 * "M">, got #kir.extent<4 * "M" + 2>}}
  %1 = kir.reshape %t : !kir.tensor<f32, ["M", 4]> to !kir.tensor<f32, [2 * "M" + 1, 2]>
  kir.return
}

// -----

kir.kernel @transpose(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  // expected-error @below {{C1: expected a permutation of 2 axes}}
  %0 = kir.transpose %t [0, 0] : !kir.tensor<f32, [4, 5]> to !kir.tensor<f32, [4, 4]>
  kir.return
}

// -----

kir.kernel @transpose(%s: f32 {kir.name = "s"}) {
  %t = kir.broadcast %s [] : f32 to !kir.tensor<f32, [4, 5]>
  // expected-error @below {{C2: result axis 0 does not have the extent of operand axis 1}}
  %0 = kir.transpose %t [1, 0] : !kir.tensor<f32, [4, 5]> to !kir.tensor<f32, [4, 5]>
  kir.return
}

// -----

kir.kernel @join(%s: f32 {kir.name = "s"}) {
  // expected-error @below {{C1: expected a result of type '!kir.tensor<f32, [2]>'}}
  %0 = kir.join %s, %s : f32 -> !kir.tensor<f32, [3]>
  kir.return
}
