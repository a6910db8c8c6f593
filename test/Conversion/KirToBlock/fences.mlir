// RUN: intent-opt %s --split-input-file --convert-kir-to-block | FileCheck %s
// Accesses of one instance that may meet keep their order behind a fence, or where the later needs what the earlier read.

// A row's element is read by the threads of all its columns, for each of which it is needed: none may come after the store.
// CHECK-LABEL: block.kernel @handed
// CHECK: block.load %arg0
// CHECK: scf.for
// CHECK: block.broadcast {{.*}} [0] :
// CHECK: block.fence
// CHECK-NEXT: block.store {{.*}} to %arg0
module attributes {block.target = #block.target<"triton", "sm_90", {fragment_elements = 65536 : i64, serial_elements = 65536 : i64}>} {
  kir.kernel @handed(%x: !kir.view<f32, ["M"], inout> {kir.name = "x"}, %w: !kir.view<f32, ["M", "N"], in> {kir.name = "w"}, %y: !kir.view<f32, ["M", "N"], out> {kir.name = "y"}) {
    %0 = kir.constant 1.000000e+00 : f32 : f32
    %1 = kir.constant 1 : index : index
    %2 = kir.constant 0 : index : index
    %3 = kir.extent <"M">
    %4 = kir.domain %2 to %3 step %1 : <"M">
    kir.parallel(%4 : !kir.domain<"M">) {
    ^bb0(%r: index):
      %v = kir.read %x[%r : index] : <f32, ["M"], inout> -> f32
      %5 = kir.binary add %v, %0 : f32
      kir.write %5 to %x[%r : index] : f32, <f32, ["M"], inout>
      %6 = kir.extent <"N">
      %7 = kir.domain %2 to %6 step %1 : <"N">
      %8 = kir.read %w[%r, %7 : index, !kir.domain<"N">] : <f32, ["M", "N"], in> -> !kir.tensor<f32, ["N"]>
      %9 = kir.broadcast %v [] : f32 to <f32, ["N"]>
      %10 = kir.binary mul %8, %9 : !kir.tensor<f32, ["N"]>
      kir.write %10 to %y[%r, %7 : index, !kir.domain<"N">] : !kir.tensor<f32, ["N"]>, <f32, ["M", "N"], out>
    }
    kir.return
  }
}

// -----

// A pass may store what another lane, or another instance, has stored in an earlier one: one instance, a fence in each pass.
// CHECK-LABEL: block.kernel @replaced
// CHECK: block.group size(1)
// CHECK: scf.for
// CHECK: block.fence
// CHECK: block.store {{.*}} to %arg2
module attributes {block.target = #block.target<"triton", "sm_90", {fragment_elements = 65536 : i64, serial_elements = 65536 : i64}>} {
  kir.kernel @replaced(%i: !kir.view<i32, ["T", "N"], in> {kir.name = "i"}, %x: !kir.view<f32, ["T", "N"], in> {kir.name = "x"}, %y: !kir.view<f32, ["K"], inout> {kir.name = "y"}) {
    %0 = kir.constant 1 : index : index
    %1 = kir.constant 0 : index : index
    %2 = kir.extent <"T">
    %3 = kir.extent <"N">
    %4 = kir.domain %1 to %2 step %0 : <"T">
    kir.for %4 {
    ^bb0(%t: index):
      %5 = kir.domain %1 to %3 step %0 : <"N">
      %6 = kir.read %i[%t, %5 : index, !kir.domain<"N">] : <i32, ["T", "N"], in> -> !kir.tensor<i32, ["N"]>
      %7 = kir.read %x[%t, %5 : index, !kir.domain<"N">] : <f32, ["T", "N"], in> -> !kir.tensor<f32, ["N"]>
      kir.write %7 to %y[%6 : !kir.tensor<i32, ["N"]>] unique : !kir.tensor<f32, ["N"]>, <f32, ["K"], inout>
    } : <"T">
    kir.return
  }
}

// -----

// The sum's traversal has to be done, in all lanes, when the store's begins. Within that, each lane stores what it has read.
// CHECK-LABEL: block.kernel @added
// CHECK: scf.for
// CHECK: block.load %arg0
// CHECK: block.reduce
// CHECK: block.fence
// CHECK-NEXT: scf.for
// CHECK: block.load %arg0
// CHECK-NOT: block.fence
// CHECK: block.store {{.*}} to %arg0
// CHECK-NOT: block.fence
module attributes {block.target = #block.target<"triton", "sm_90", {fragment_elements = 65536 : i64, serial_elements = 65536 : i64}>} {
  kir.kernel @added(%x: !kir.view<f32, ["M", "N"], inout> {kir.name = "x"}, %y: !kir.view<f32, ["M"], out> {kir.name = "y"}) {
    %0 = kir.constant 0.000000e+00 : f32 : f32
    %1 = kir.constant 1.000000e+00 : f32 : f32
    %2 = kir.constant 1 : index : index
    %3 = kir.constant 0 : index : index
    %4 = kir.extent <"M">
    %5 = kir.extent <"N">
    %6 = kir.domain %3 to %4 step %2 : <"M">
    kir.parallel(%6 : !kir.domain<"M">) {
    ^bb0(%m: index):
      %7 = kir.domain %3 to %5 step %2 : <"N">
      %8 = kir.read %x[%m, %7 : index, !kir.domain<"N">] : <f32, ["M", "N"], inout> -> !kir.tensor<f32, ["N"]>
      %9 = kir.broadcast %1 [] : f32 to <f32, ["N"]>
      %h = kir.binary add %8, %9 : !kir.tensor<f32, ["N"]>
      kir.write %h to %x[%m, %7 : index, !kir.domain<"N">] : !kir.tensor<f32, ["N"]>, <f32, ["M", "N"], inout>
      %10 = kir.binary mul %h, %h : !kir.tensor<f32, ["N"]>
      %11 = kir.reduce(%10) identity(%0) axes [0] {
      ^bb0(%arg3: f32, %arg4: f32):
        %12 = kir.binary add %arg3, %arg4 : f32
        kir.yield %12 : f32
      } : (!kir.tensor<f32, ["N"]>) -> (f32) identities(f32)
      kir.write %11 to %y[%m : index] : f32, <f32, ["M"], out>
    }
    kir.return
  }
}

// -----

// What is stored needs all that was read before: nothing to wait for.
// CHECK-LABEL: block.kernel @normalised
// CHECK-NOT: block.fence
// CHECK: block.store
// CHECK-NOT: block.fence
// CHECK: block.store
// CHECK-NOT: block.fence
module attributes {block.target = #block.target<"triton", "sm_90", {fragment_elements = 65536 : i64, serial_elements = 65536 : i64}>} {
  kir.kernel @normalised(%x: !kir.view<f32, ["M", "N"], inout> {kir.name = "x"}) {
    %0 = kir.constant 0.000000e+00 : f32 : f32
    %1 = kir.constant 1 : index : index
    %2 = kir.constant 0 : index : index
    %3 = kir.extent <"M">
    %4 = kir.extent <"N">
    %5 = kir.domain %2 to %3 step %1 : <"M">
    kir.parallel(%5 : !kir.domain<"M">) {
    ^bb0(%m: index):
      %6 = kir.domain %2 to %4 step %1 : <"N">
      %h = kir.read %x[%m, %6 : index, !kir.domain<"N">] : <f32, ["M", "N"], inout> -> !kir.tensor<f32, ["N"]>
      %7 = kir.binary mul %h, %h : !kir.tensor<f32, ["N"]>
      %8 = kir.reduce(%7) identity(%0) axes [0] {
      ^bb0(%arg2: f32, %arg3: f32):
        %11 = kir.binary add %arg2, %arg3 : f32
        kir.yield %11 : f32
      } : (!kir.tensor<f32, ["N"]>) -> (f32) identities(f32)
      %9 = kir.broadcast %8 [] : f32 to <f32, ["N"]>
      %10 = kir.binary div %h, %9 : !kir.tensor<f32, ["N"]>
      kir.write %10 to %x[%m, %6 : index, !kir.domain<"N">] : !kir.tensor<f32, ["N"]>, <f32, ["M", "N"], inout>
    }
    kir.return
  }
}
