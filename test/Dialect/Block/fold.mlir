// RUN: intent-opt %s --canonicalize | FileCheck %s
// Index arithmetic folds on constants and neutral elements; other element types keep the author's operation.

// CHECK-LABEL: block.kernel @fold
block.kernel @fold interface [#block.view_argument<"i", index, ["M"], inout>, #block.view_argument<"f", f32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%i: !block.view<index, 1>, %f: !block.view<f32, 1>) {
    // CHECK-DAG: %[[C42:.*]] = block.constant 42 : index : index
    // CHECK-DAG: %[[C0:.*]] = block.constant 0 : index : index
    // CHECK-DAG: %[[Z:.*]] = block.constant 0.000000e+00 : f32 : f32
    // CHECK: block.group
    block.group size("M") {
    // CHECK-NEXT: ^bb0(%[[P:.*]]: index):
    ^bb0(%p: index):
      %c0 = block.constant 0 : index : index
      %c1 = block.constant 1 : index : index
      %c6 = block.constant 6 : index : index
      %c7 = block.constant 7 : index : index
      // CHECK-NOT: block.binary
      %0 = block.binary mul %c6, %c7 : index
      // CHECK: block.store %[[C42]] to
      block.store %0 to %i[%p] valid() coordinate_axes [[]] valid_axes [] : index, !block.view<index, 1>, (index) valid ()
      // CHECK-NOT: block.binary
      %1 = block.binary add %p, %c0 : index
      %2 = block.binary mul %1, %c1 : index
      %3 = block.binary sub %2, %c0 : index
      %4 = block.binary floordiv %3, %c1 : index
      // CHECK: block.store %[[P]] to
      block.store %4 to %i[%p] valid() coordinate_axes [[]] valid_axes [] : index, !block.view<index, 1>, (index) valid ()
      %5 = block.binary mod %p, %c1 : index
      // CHECK: block.store %[[C0]] to
      block.store %5 to %i[%p] valid() coordinate_axes [[]] valid_axes [] : index, !block.view<index, 1>, (index) valid ()
      // x + 0.0 is not x for x = -0.0.
      %z = block.constant 0.0 : f32 : f32
      %v = block.load %f[%p] valid() fill %z coordinate_axes [[]] valid_axes [] : !block.view<f32, 1>, (index) valid () fill f32 -> f32
      // CHECK: %[[S:.*]] = block.binary add %{{.*}}, %[[Z]] : f32
      %s = block.binary add %v, %z : f32
      // CHECK: block.store %[[S]] to
      block.store %s to %f[%p] valid() coordinate_axes [[]] valid_axes [] : f32, !block.view<f32, 1>, (index) valid ()
    }
  }
}

// A loop that constants refuse at once has no pass; what its condition computes remains.
// CHECK-LABEL: block.kernel @without_pass
block.kernel @without_pass interface [#block.view_argument<"i", i32, ["M"], inout>] checks [] overlaps [] {
  block.program @p privates [] parameters [] (%i: !block.view<i32, 1>) {
    block.group size("M") {
    ^bb0(%p: index):
      %n = block.constant 0 : i32 : i32
      %yes = block.constant true : i1
      %v = block.load %i[%p] valid() fill %n coordinate_axes [[]] valid_axes [] : !block.view<i32, 1>, (index) valid () fill i32 -> i32
      // CHECK: %[[V:.*]] = block.load
      // CHECK-NOT: scf.while
      // CHECK: %[[S:.*]] = block.binary add %[[V]], %[[V]]
      // CHECK: block.store %[[S]] to
      %r:2 = scf.while (%a = %n, %b = %v, %go = %yes) : (i32, i32, i1) -> (i32, i32) {
        %more = block.compare gt %a, %n : i32 -> i1
        %both = block.binary and %go, %more : i1
        %s = block.binary add %b, %b : i32
        scf.condition(%both) %a, %s : i32, i32
      } do {
      ^bb0(%a: i32, %b: i32):
        block.store %b to %i[%p] valid() coordinate_axes [[]] valid_axes [] : i32, !block.view<i32, 1>, (index) valid ()
        scf.yield %a, %b, %yes : i32, i32, i1
      }
      block.store %r#1 to %i[%p] valid() coordinate_axes [[]] valid_axes [] : i32, !block.view<i32, 1>, (index) valid ()
    }
  }
}

// A choice that is known, or that makes no difference, of fragments too; a sum of a negated term is a difference.
// CHECK-LABEL: block.kernel @choices
block.kernel @choices interface [#block.view_argument<"i", index, ["M"], inout>, #block.scalar_argument<"c", i1>] checks [] overlaps [] {
  block.program @p privates ["M"] parameters [] (%i: !block.view<index, 1>, %c: i1, %M: index) {
    block.group size("M") {
    // CHECK: ^bb0(%[[P:.*]]: index):
    ^bb0(%p: index):
      %no = block.constant false : i1
      %zero = block.constant 0 : index : index
      %one = block.constant 1 : index : index
      %minus = block.constant -1 : index : index
      // CHECK-NOT: block.select
      %lanes = block.lanes %p step %one : !block.fragment<index, [8]>
      %never = block.broadcast %no [] : i1 to !block.fragment<i1, [8]>
      %zeros = block.broadcast %zero [] : index to !block.fragment<index, [8]>
      %a = block.select %never, %zeros, %lanes : !block.fragment<i1, [8]>, !block.fragment<index, [8]>
      %b = block.select %c, %a, %a : i1, !block.fragment<index, [8]>
      // CHECK: %[[N:.*]] = block.lanes
      // CHECK-NOT: mul
      // CHECK: %[[D:.*]] = block.binary sub %{{.*}}, %[[N]] : !block.fragment<index, [8]>
      %turn = block.broadcast %minus [] : index to !block.fragment<index, [8]>
      %back = block.binary mul %b, %turn : !block.fragment<index, [8]>
      %ends = block.broadcast %M [] : index to !block.fragment<index, [8]>
      %d = block.binary add %back, %ends : !block.fragment<index, [8]>
      // CHECK: %[[S:.*]] = block.binary add %[[D]], %[[N]]
      %e = block.binary sub %d, %back : !block.fragment<index, [8]>
      // CHECK: block.store %[[S]] to
      block.store %e to %i[%lanes] valid() coordinate_axes [[0]] valid_axes [] : !block.fragment<index, [8]>, !block.view<index, 1>, (!block.fragment<index, [8]>) valid ()
    }
  }
}
