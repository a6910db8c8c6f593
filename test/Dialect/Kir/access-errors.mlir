// RUN: intent-opt %s --split-input-file --verify-diagnostics

kir.kernel @indices(%x: !kir.view<f32, ["M"], in> {kir.name = "x"}, %n: index {kir.name = "n"}) {
  %d = kir.domain %n to %n step %n : !kir.domain<"M">
  // expected-error @below {{C1: expected an index tensor of the domain's extent, got '!kir.tensor<i32, ["M"]>'}}
  %0 = kir.indices %d : !kir.domain<"M"> -> !kir.tensor<i32, ["M"]>
  kir.return
}

// -----

kir.kernel @indices(%x: !kir.view<f32, ["M"], in> {kir.name = "x"}, %n: index {kir.name = "n"}) {
  %d = kir.domain %n to %n step %n : !kir.domain<"M">
  // expected-error @below {{C1: expected an index tensor of the domain's extent}}
  %0 = kir.indices %d : !kir.domain<"M"> -> !kir.tensor<index, ["M" + 1]>
  kir.return
}

// -----

kir.kernel @read(%x: !kir.view<f32, ["M"], in> {kir.name = "x"}, %s: f32 {kir.name = "s"}) {
  // expected-error @below {{C1: index 0 is not an integer: 'f32'}}
  %0 = kir.read %x[%s : f32] : !kir.view<f32, ["M"], in> -> f32
  kir.return
}

// -----

kir.kernel @read(%x: !kir.view<f32, ["M", "N"], in> {kir.name = "x"}, %i: index {kir.name = "i"}) {
  // expected-error @below {{C2: expected 2 indices whose tensors have one shape, got 1}}
  %0 = kir.read %x[%i : index] : !kir.view<f32, ["M", "N"], in> -> f32
  kir.return
}

// -----

kir.kernel @read(%x: !kir.view<f32, ["M", "N"], in> {kir.name = "x"}, %i: index {kir.name = "i"}) {
  %a = kir.broadcast %i [] : index to !kir.tensor<index, [4]>
  %b = kir.broadcast %i [] : index to !kir.tensor<index, [5]>
  // expected-error @below {{C2: expected 2 indices whose tensors have one shape, got 2}}
  %0 = kir.read %x[%a, %b : !kir.tensor<index, [4]>, !kir.tensor<index, [5]>] : !kir.view<f32, ["M", "N"], in> -> !kir.tensor<f32, [4]>
  kir.return
}

// -----

kir.kernel @read(%x: !kir.view<f32, ["M", "N"], in> {kir.name = "x"}, %i: index {kir.name = "i"}) {
  // expected-error @below {{C3: expected a value of type 'f32', got 'f16'}}
  %0 = kir.read %x[%i, %i : index, index] : !kir.view<f32, ["M", "N"], in> -> f16
  kir.return
}

// -----

// The joint axes of index tensors stand where the first of them does.
kir.kernel @read(%x: !kir.view<f32, ["M", "N", "K"], in> {kir.name = "x"}, %i: index {kir.name = "i"}) {
  %d = kir.domain %i to %i step %i : !kir.domain<"N">
  %a = kir.broadcast %i [] : index to !kir.tensor<index, [4]>
  // expected-error @below {{C3: expected a value of type '!kir.tensor<f32, [4, "N"]>', got '!kir.tensor<f32, ["N", 4]>'}}
  %0 = kir.read %x[%a, %d, %a : !kir.tensor<index, [4]>, !kir.domain<"N">, !kir.tensor<index, [4]>] : !kir.view<f32, ["M", "N", "K"], in> -> !kir.tensor<f32, ["N", 4]>
  kir.return
}

// -----

kir.kernel @extract(%x: !kir.view<f32, ["M"], in> {kir.name = "x"}, %i: index {kir.name = "i"}) {
  %t = kir.broadcast %i [] : index to !kir.tensor<index, [4, 5]>
  // expected-error @below {{C3: expected a value of type '!kir.tensor<index, []>', got '!kir.tensor<index, [4]>'}}
  %0 = kir.extract %t[%i, %i : index, index] : !kir.tensor<index, [4, 5]> -> !kir.tensor<index, [4]>
  kir.return
}

// -----

kir.kernel @write(%x: !kir.view<f32, ["M"], in> {kir.name = "x"}, %s: f32 {kir.name = "s"}, %i: index {kir.name = "i"}) {
  // expected-error @below {{C4: writes an input view}}
  kir.write %s to %x[%i : index] : f32, !kir.view<f32, ["M"], in>
  kir.return
}

// -----

// A write does not broadcast: the frontend has made the value as large as the place.
kir.kernel @write(%y: !kir.view<f32, ["M"], out> {kir.name = "y"}, %s: f32 {kir.name = "s"}, %i: index {kir.name = "i"}) {
  %d = kir.domain %i to %i step %i : !kir.domain<"M">
  // expected-error @below {{C3: expected a value of type '!kir.tensor<f32, ["M"]>', got 'f32'}}
  kir.write %s to %y[%d : !kir.domain<"M">] : f32, !kir.view<f32, ["M"], out>
  kir.return
}

// -----

kir.kernel @require(%s: f32 {kir.name = "s"}, %i: index {kir.name = "i"}) {
  // expected-error @below {{C1: expected an index or a tensor of them, got 'f32'}}
  kir.require %s in %i to %i "step" : f32
  kir.return
}

// -----

kir.kernel @require(%c: i1 {kir.name = "c"}, %i: index {kir.name = "i"}) {
  %t = kir.broadcast %i [] : index to !kir.tensor<index, [4]>
  // expected-error @below {{C2: validity 'i1' does not have the shape of the value '!kir.tensor<index, [4]>'}}
  kir.require %t in %i to %i valid %c : i1 "value" : !kir.tensor<index, [4]>
  kir.return
}
