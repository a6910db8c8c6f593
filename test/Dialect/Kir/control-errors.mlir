// RUN: intent-opt %s --split-input-file --verify-diagnostics

kir.kernel @parallel(%x: !kir.view<f32, ["M"], in> {kir.name = "x"}, %n: index {kir.name = "n"}) {
  %d = kir.domain %n to %n step %n : !kir.domain<"M">
  // expected-error @below {{C1: expected one index per domain, at least one}}
  kir.parallel (%d, %d : !kir.domain<"M">, !kir.domain<"M">) {
  ^bb0(%i: index):
    kir.yield
  }
  kir.return
}

// -----

kir.kernel @parallel() {
  // expected-error @below {{C1: expected one index per domain, at least one}}
  "kir.parallel"() ({
    kir.yield
  }) : () -> ()
  kir.return
}

// -----

kir.kernel @parallel(%x: !kir.view<f32, ["M"], in> {kir.name = "x"}, %n: index {kir.name = "n"}) {
  %d = kir.domain %n to %n step %n : !kir.domain<"M">
  // expected-error @below {{C2: expected index coordinates}}
  kir.parallel (%d : !kir.domain<"M">) {
  ^bb0(%i: i32):
    kir.yield
  }
  kir.return
}

// -----

kir.kernel @parallel(%x: !kir.view<f32, ["M"], in> {kir.name = "x"}, %n: index {kir.name = "n"}) {
  %d = kir.domain %n to %n step %n : !kir.domain<"M">
  // expected-error @below {{C3: a parallel body yields nothing}}
  kir.parallel (%d : !kir.domain<"M">) {
  ^bb0(%i: index):
    kir.yield %i : index
  }
  kir.return
}

// -----

kir.kernel @for(%x: !kir.view<f32, ["M"], in> {kir.name = "x"}, %n: index {kir.name = "n"}) {
  %d = kir.domain %n to %n step %n : !kir.domain<"M">
  // expected-error @below {{C1: expected the coordinate and one argument per carry}}
  %0 = kir.for %d carry(%n : index) {
  ^bb0(%i: index):
    kir.yield %i : index
  } : !kir.domain<"M"> -> index
  kir.return
}

// -----

kir.kernel @for(%x: !kir.view<f32, ["M"], in> {kir.name = "x"}, %n: index {kir.name = "n"}, %s: f32 {kir.name = "s"}) {
  %d = kir.domain %n to %n step %n : !kir.domain<"M">
  // expected-error @below {{C2: inits, arguments, yields and results have different types}}
  %0 = kir.for %d carry(%s : f32) {
  ^bb0(%i: index, %c: f32):
    kir.yield %i : index
  } : !kir.domain<"M"> -> f32
  kir.return
}

// -----

kir.kernel @if(%c: i1 {kir.name = "c"}) {
  // expected-error @below {{C1: a branch takes no arguments}}
  kir.if %c {
  ^bb0(%i: index):
    kir.yield
  } else {
    kir.yield
  }
  kir.return
}

// -----

kir.kernel @if(%c: i1 {kir.name = "c"}, %s: f32 {kir.name = "s"}) {
  // expected-error @below {{C2: both branches yield the result types}}
  %0 = kir.if %c {
    kir.yield %s : f32
  } else {
    kir.yield %c : i1
  } -> f32
  kir.return
}

// -----

// An empty region does not reach the checks that look at its terminator.
kir.kernel @if(%c: i1 {kir.name = "c"}) {
  // expected-error @below {{region with 1 blocks}}
  "kir.if"(%c) ({}, {}) : (i1) -> ()
  kir.return
}
