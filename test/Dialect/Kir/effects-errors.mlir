// RUN: intent-opt %s --split-input-file --verify-diagnostics

kir.kernel @buffer(%x: !kir.view<f32, ["M"], inout> {kir.name = "x"}, %r: !kir.view<f32, ["M"], in> {kir.name = "r"}, %w: !kir.view<f32, ["M"], out> {kir.name = "w"}, %s: f32 {kir.name = "s"}, %i: index {kir.name = "i"}, %c: i1 {kir.name = "c"}, %n: i32 {kir.name = "n"}) {
  // expected-error @below {{C1: a buffer is an inout view}}
  %b = kir.buffer : !kir.view<f32, ["M"], out>
  kir.return
}

// -----

kir.kernel @read(%x: !kir.view<f32, ["M"], inout> {kir.name = "x"}, %r: !kir.view<f32, ["M"], in> {kir.name = "r"}, %w: !kir.view<f32, ["M"], out> {kir.name = "w"}, %s: f32 {kir.name = "s"}, %i: index {kir.name = "i"}, %c: i1 {kir.name = "c"}, %n: i32 {kir.name = "n"}) {
  // expected-error @below {{C4: validity 'i32' does not have the shape of the result 'f32'}}
  %v = kir.read %r[%i : index] valid %n : i32 : !kir.view<f32, ["M"], in> -> f32
  kir.return
}

// -----

kir.kernel @scatter(%x: !kir.view<f32, ["M"], inout> {kir.name = "x"}, %r: !kir.view<f32, ["M"], in> {kir.name = "r"}, %w: !kir.view<f32, ["M"], out> {kir.name = "w"}, %s: f32 {kir.name = "s"}, %i: index {kir.name = "i"}, %c: i1 {kir.name = "c"}, %n: i32 {kir.name = "n"}) {
  // expected-error @below {{C4: writes an input view}}
  kir.scatter_reduce %s to %r[%i : index] {
  ^bb0(%a: f32, %b: f32):
    kir.yield %a : f32
  } : f32, !kir.view<f32, ["M"], in>
  kir.return
}

// -----

kir.kernel @scatter(%x: !kir.view<f32, ["M"], inout> {kir.name = "x"}, %r: !kir.view<f32, ["M"], in> {kir.name = "r"}, %w: !kir.view<f32, ["M"], out> {kir.name = "w"}, %s: f32 {kir.name = "s"}, %i: index {kir.name = "i"}, %c: i1 {kir.name = "c"}, %n: i32 {kir.name = "n"}) {
  // expected-error @below {{C6: combine takes 2 scalars: both sides' components, then the captures}}
  kir.scatter_reduce %s to %x[%i : index] {
  ^bb0(%a: f32):
    kir.yield %a : f32
  } : f32, !kir.view<f32, ["M"], inout>
  kir.return
}

// -----

kir.kernel @scatter(%x: !kir.view<f32, ["M"], inout> {kir.name = "x"}, %r: !kir.view<f32, ["M"], in> {kir.name = "r"}, %w: !kir.view<f32, ["M"], out> {kir.name = "w"}, %s: f32 {kir.name = "s"}, %i: index {kir.name = "i"}, %c: i1 {kir.name = "c"}, %n: i32 {kir.name = "n"}) {
  // expected-error @below {{C7: combine yields other types than the identities'}}
  kir.scatter_reduce %s to %x[%i : index] {
  ^bb0(%a: f32, %b: f32):
    kir.yield %c : i1
  } : f32, !kir.view<f32, ["M"], inout>
  kir.return
}

// -----

kir.kernel @scatter(%x: !kir.view<f32, ["M"], inout> {kir.name = "x"}, %r: !kir.view<f32, ["M"], in> {kir.name = "r"}, %w: !kir.view<f32, ["M"], out> {kir.name = "w"}, %s: f32 {kir.name = "s"}, %i: index {kir.name = "i"}, %c: i1 {kir.name = "c"}, %n: i32 {kir.name = "n"}) {
  // expected-error @below {{C3: expected a value of type 'f32', got 'i1'}}
  kir.scatter_reduce %c to %x[%i : index] {
  ^bb0(%a: i1, %b: i1):
    kir.yield %a : i1
  } : i1, !kir.view<f32, ["M"], inout>
  kir.return
}

// -----

kir.kernel @atomic(%x: !kir.view<f32, ["M"], inout> {kir.name = "x"}, %r: !kir.view<f32, ["M"], in> {kir.name = "r"}, %w: !kir.view<f32, ["M"], out> {kir.name = "w"}, %s: f32 {kir.name = "s"}, %i: index {kir.name = "i"}, %c: i1 {kir.name = "c"}, %n: i32 {kir.name = "n"}) {
  // expected-error @below {{C4: an atomic access needs an inout view}}
  %v = kir.atomic load relaxed %r[%i : index] : !kir.view<f32, ["M"], in> -> f32
  kir.return
}

// -----

kir.kernel @atomic(%x: !kir.view<f32, ["M"], inout> {kir.name = "x"}, %r: !kir.view<f32, ["M"], in> {kir.name = "r"}, %w: !kir.view<f32, ["M"], out> {kir.name = "w"}, %s: f32 {kir.name = "s"}, %i: index {kir.name = "i"}, %c: i1 {kir.name = "c"}, %n: i32 {kir.name = "n"}) {
  // expected-error @below {{C4: an atomic access needs an inout view}}
  kir.atomic store relaxed %w[%i : index] value %s : f32 : !kir.view<f32, ["M"], out>
  kir.return
}

// -----

kir.kernel @atomic(%x: !kir.view<f32, ["M"], inout> {kir.name = "x"}, %r: !kir.view<f32, ["M"], in> {kir.name = "r"}, %w: !kir.view<f32, ["M"], out> {kir.name = "w"}, %s: f32 {kir.name = "s"}, %i: index {kir.name = "i"}, %c: i1 {kir.name = "c"}, %n: i32 {kir.name = "n"}) {
  // expected-error @below {{C5: every atomic access but load takes a value}}
  %v = kir.atomic load relaxed %x[%i : index] value %s : f32 : !kir.view<f32, ["M"], inout> -> f32
  kir.return
}

// -----

kir.kernel @atomic(%x: !kir.view<f32, ["M"], inout> {kir.name = "x"}, %r: !kir.view<f32, ["M"], in> {kir.name = "r"}, %w: !kir.view<f32, ["M"], out> {kir.name = "w"}, %s: f32 {kir.name = "s"}, %i: index {kir.name = "i"}, %c: i1 {kir.name = "c"}, %n: i32 {kir.name = "n"}) {
  // expected-error @below {{C5: every atomic access but load takes a value}}
  %v = kir.atomic add relaxed %x[%i : index] : !kir.view<f32, ["M"], inout> -> f32
  kir.return
}

// -----

kir.kernel @atomic(%x: !kir.view<f32, ["M"], inout> {kir.name = "x"}, %r: !kir.view<f32, ["M"], in> {kir.name = "r"}, %w: !kir.view<f32, ["M"], out> {kir.name = "w"}, %s: f32 {kir.name = "s"}, %i: index {kir.name = "i"}, %c: i1 {kir.name = "c"}, %n: i32 {kir.name = "n"}) {
  // expected-error @below {{C6: every atomic access but store has a result}}
  %v = kir.atomic store relaxed %x[%i : index] value %s : f32 : !kir.view<f32, ["M"], inout> -> f32
  kir.return
}

// -----

kir.kernel @atomic(%x: !kir.view<f32, ["M"], inout> {kir.name = "x"}, %r: !kir.view<f32, ["M"], in> {kir.name = "r"}, %w: !kir.view<f32, ["M"], out> {kir.name = "w"}, %s: f32 {kir.name = "s"}, %i: index {kir.name = "i"}, %c: i1 {kir.name = "c"}, %n: i32 {kir.name = "n"}) {
  // expected-error @below {{C6: every atomic access but store has a result}}
  kir.atomic add relaxed %x[%i : index] value %s : f32 : !kir.view<f32, ["M"], inout>
  kir.return
}

// -----

kir.kernel @atomic(%x: !kir.view<f32, ["M"], inout> {kir.name = "x"}, %r: !kir.view<f32, ["M"], in> {kir.name = "r"}, %w: !kir.view<f32, ["M"], out> {kir.name = "w"}, %s: f32 {kir.name = "s"}, %i: index {kir.name = "i"}, %c: i1 {kir.name = "c"}, %n: i32 {kir.name = "n"}) {
  // expected-error @below {{C7: an atomic load cannot be release}}
  %v = kir.atomic load release %x[%i : index] : !kir.view<f32, ["M"], inout> -> f32
  kir.return
}

// -----

kir.kernel @atomic(%x: !kir.view<f32, ["M"], inout> {kir.name = "x"}, %r: !kir.view<f32, ["M"], in> {kir.name = "r"}, %w: !kir.view<f32, ["M"], out> {kir.name = "w"}, %s: f32 {kir.name = "s"}, %i: index {kir.name = "i"}, %c: i1 {kir.name = "c"}, %n: i32 {kir.name = "n"}) {
  // expected-error @below {{C7: an atomic store cannot be acq_rel}}
  kir.atomic store acq_rel %x[%i : index] value %s : f32 : !kir.view<f32, ["M"], inout>
  kir.return
}

// -----

kir.kernel @atomic(%x: !kir.view<f32, ["M"], inout> {kir.name = "x"}, %r: !kir.view<f32, ["M"], in> {kir.name = "r"}, %w: !kir.view<f32, ["M"], out> {kir.name = "w"}, %s: f32 {kir.name = "s"}, %i: index {kir.name = "i"}, %c: i1 {kir.name = "c"}, %n: i32 {kir.name = "n"}) {
  // expected-error @below {{C8: value and result differ in type}}
  %v = kir.atomic add relaxed %x[%i : index] value %c : i1 : !kir.view<f32, ["M"], inout> -> f32
  kir.return
}

// -----

kir.kernel @atomic(%x: !kir.view<f32, ["M"], inout> {kir.name = "x"}, %r: !kir.view<f32, ["M"], in> {kir.name = "r"}, %w: !kir.view<f32, ["M"], out> {kir.name = "w"}, %s: f32 {kir.name = "s"}, %i: index {kir.name = "i"}, %c: i1 {kir.name = "c"}, %n: i32 {kir.name = "n"}) {
  // expected-error @below {{C9: an atomic xor does not take f32}}
  %v = kir.atomic xor relaxed %x[%i : index] value %s : f32 : !kir.view<f32, ["M"], inout> -> f32
  kir.return
}

// -----

kir.kernel @atomic(%x: !kir.view<f32, ["M"], inout> {kir.name = "x"}, %r: !kir.view<f32, ["M"], in> {kir.name = "r"}, %w: !kir.view<f32, ["M"], out> {kir.name = "w"}, %s: f32 {kir.name = "s"}, %i: index {kir.name = "i"}, %c: i1 {kir.name = "c"}, %n: i32 {kir.name = "n"}) {
  // expected-error @below {{C3: expected a value of type 'f32', got 'i1'}}
  %v = kir.atomic exchange relaxed %x[%i : index] value %c : i1 : !kir.view<f32, ["M"], inout> -> i1
  kir.return
}

// -----

kir.kernel @exchange(%x: !kir.view<f32, ["M"], inout> {kir.name = "x"}, %r: !kir.view<f32, ["M"], in> {kir.name = "r"}, %w: !kir.view<f32, ["M"], out> {kir.name = "w"}, %s: f32 {kir.name = "s"}, %i: index {kir.name = "i"}, %c: i1 {kir.name = "c"}, %n: i32 {kir.name = "n"}) {
  // expected-error @below {{C4: an atomic access needs an inout view}}
  %v, %ok = kir.compare_exchange relaxed %w[%i : index] expected %s desired %s : !kir.view<f32, ["M"], out>, f32 -> i1
  kir.return
}

// -----

kir.kernel @exchange(%x: !kir.view<f32, ["M"], inout> {kir.name = "x"}, %r: !kir.view<f32, ["M"], in> {kir.name = "r"}, %w: !kir.view<f32, ["M"], out> {kir.name = "w"}, %s: f32 {kir.name = "s"}, %i: index {kir.name = "i"}, %c: i1 {kir.name = "c"}, %n: i32 {kir.name = "n"}) {
  // expected-error @below {{C5: success is a bool of the result's shape}}
  %v, %ok = kir.compare_exchange relaxed %x[%i : index] expected %s desired %s : !kir.view<f32, ["M"], inout>, f32 -> f32
  kir.return
}

// -----

kir.kernel @exchange(%x: !kir.view<f32, ["M"], inout> {kir.name = "x"}, %r: !kir.view<f32, ["M"], in> {kir.name = "r"}, %w: !kir.view<f32, ["M"], out> {kir.name = "w"}, %s: f32 {kir.name = "s"}, %i: index {kir.name = "i"}, %c: i1 {kir.name = "c"}, %n: i32 {kir.name = "n"}) {
  // expected-error @below {{C3: expected a value of type 'f32', got 'i1'}}
  %v, %ok = kir.compare_exchange relaxed %x[%i : index] expected %c desired %c : !kir.view<f32, ["M"], inout>, i1 -> i1
  kir.return
}
