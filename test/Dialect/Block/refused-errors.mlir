// What MLIR's parser must not see: it reads the width of `index`, which has none. The comment stands between the tokens on purpose.
// RUN: not intent-opt %s 2>&1 | FileCheck %s
// RUN: not intent-translate --block-to-triton %s 2>&1 | FileCheck %s
// RUN: not intent-compile --target triton:sm_90 %s 2>&1 | FileCheck %s
// CHECK: this array has no place in this IR at line 7

module attributes {block.x = array
  // of
  <index: 64>} {
}
