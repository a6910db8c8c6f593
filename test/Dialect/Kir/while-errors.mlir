// RUN: intent-opt %s --split-input-file --verify-diagnostics

kir.kernel @arguments(%n: index {kir.name = "n"}, %c: i1 {kir.name = "c"}) {
  // expected-error @below {{C1: inits, arguments, yields and results have different types}}
  %0 = kir.while carry(%n : index) {
    kir.yield %c : i1
  } do {
  ^bb0(%i: index):
    kir.yield %i : index
  } -> index
  kir.return
}

// -----

kir.kernel @yields(%n: index {kir.name = "n"}, %c: i1 {kir.name = "c"}) {
  // expected-error @below {{C1: inits, arguments, yields and results have different types}}
  %0 = kir.while carry(%n : index) {
  ^bb0(%i: index):
    kir.yield %c : i1
  } do {
  ^bb0(%i: index):
    kir.yield %c : i1
  } -> index
  kir.return
}

// -----

kir.kernel @results(%n: index {kir.name = "n"}, %c: i1 {kir.name = "c"}) {
  // expected-error @below {{C1: inits, arguments, yields and results have different types}}
  kir.while carry(%n : index) {
  ^bb0(%i: index):
    kir.yield %c : i1
  } do {
  ^bb0(%i: index):
    kir.yield %i : index
  }
  kir.return
}

// -----

kir.kernel @condition(%n: index {kir.name = "n"}) {
  // expected-error @below {{C2: the condition yields one bool}}
  %0 = kir.while carry(%n : index) {
  ^bb0(%i: index):
    kir.yield %i : index
  } do {
  ^bb0(%i: index):
    kir.yield %i : index
  } -> index
  kir.return
}

// -----

kir.kernel @condition(%n: index {kir.name = "n"}) {
  // expected-error @below {{C2: the condition yields one bool}}
  kir.while {
  } do {
  }
  kir.return
}
