// RUN: intent-opt %s --split-input-file --verify-diagnostics

// The generic form may spell any sizes whose sum fits; an operand that is one value has one.

kir.kernel @read(%x: !kir.view<f32, ["M"], in> {kir.name = "x"}, %i: index {kir.name = "i"}) {
  // expected-error @below {{expected one value in operand segment 0, got 0}}
  %0 = "kir.read"(%i) <{operandSegmentSizes = array<i32: 0, 1, 0>}> : (index) -> f32
  kir.return
}

// -----

kir.kernel @atomic(%x: !kir.view<i32, ["M"], inout> {kir.name = "x"}, %i: index {kir.name = "i"}) {
  // expected-error @below {{expected one value in operand segment 0, got 2}}
  %0 = "kir.atomic"(%x, %x, %i) <{kind = 0 : i32, order = 0 : i32, operandSegmentSizes = array<i32: 2, 1, 0>}> : (!kir.view<i32, ["M"], inout>, !kir.view<i32, ["M"], inout>, index) -> i32
  kir.return
}
