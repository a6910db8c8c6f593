// Contractions: operands packed in the accumulation format, then a register-tiled kernel of fused multiply-adds.
#include "Nest.h"

#include "intent/IR/Language.h"

using namespace mlir;
using namespace intent;

namespace intent::block::host {

namespace {
/// Packed operands of one contraction and the kernel's tile.
struct Contraction {
  int64_t batch, rows, depth, columns;
  Type compute;             ///< element of packed operands and accumulator: f32, f64 or an integer
  Buffer lhs, rhs, sum;     ///< strides of lhs and sum: [batch, row, depth or column]
  unsigned vector, vectors; ///< lanes of a vector, vectors of a column panel
  unsigned tileRows;
};
} // namespace

static Type computeType(Type accumulator) {
  bool narrow = isa<FloatType>(accumulator) && accumulator.getIntOrFloatBitWidth() < 32;
  return narrow ? Type(Float32Type::get(accumulator.getContext())) : accumulator;
}

// Rows of `depth` elements, or columns of `rows` elements if the operand's own memory runs that way: the kernel
// broadcasts single elements and takes any strides.
static Buffer packLhs(Codegen &cg, Value lhs, const Contraction &c) {
  Type element = elementType(lhs.getType());
  SmallVector<int64_t, 4> extents = constantExtents(lhs.getType());
  unsigned rank = extents.size();
  SmallVector<unsigned, 4> all = identityAxes(rank), outer;
  if (const Buffer *own = cg.bufferOf(lhs); own && element == c.compute) {
    Buffer buffer = *own;
    if (rank == 2) buffer.strides.insert(buffer.strides.begin(), 0);
    return buffer;
  }
  Nest nest(cg, extents, {Root{lhs, all}}, {}, storageBytes(c.compute));
  Buffer buffer = cg.allocate(c.compute, extents);
  if (nest.innerAxis() == rank - 2 && nest.lanes() > 1) {
    buffer.strides[rank - 2] = 1;
    buffer.strides[rank - 1] = c.rows;
  }
  nest.setSkippable(cg.plan->guard(lhs));
  for (unsigned axis : all)
    if (axis != nest.innerAxis()) outer.push_back(axis);
  nest.forEach(outer, [&] { nest.writeBuffer(buffer, all, cg.scalars.cast(element, c.compute, nest.evaluate(lhs, all))); });
  if (rank == 2) buffer.strides.insert(buffer.strides.begin(), 0);
  return buffer;
}

// Panels of `vectors * vector` columns, each with its rows one after the other.
static Buffer packRhs(Codegen &cg, Value rhs, const Contraction &c) {
  Type element = elementType(rhs.getType());
  SmallVector<int64_t, 4> extents = constantExtents(rhs.getType());
  unsigned rank = extents.size();
  SmallVector<unsigned, 4> all = identityAxes(rank), outer;
  Nest nest(cg, extents, {Root{rhs, all}}, {}, storageBytes(c.compute));
  Buffer buffer = cg.allocate(c.compute, extents);
  nest.setSkippable(cg.plan->guard(rhs));
  for (unsigned axis : all)
    if (axis != nest.innerAxis()) outer.push_back(axis);
  int64_t panel = int64_t(c.vector) * c.vectors;
  llvm::IRBuilder<> &b = cg.b;
  nest.forEach(outer, [&] {
    LV value = cg.scalars.cast(element, c.compute, nest.evaluate(rhs, all));
    LV k = nest.index(rank - 2), n = nest.index(rank - 1);
    LV offset = b.CreateAdd(b.CreateMul(b.CreateUDiv(n, cg.index(panel)), cg.index(panel * c.depth)), b.CreateURem(n, cg.index(panel)));
    offset = b.CreateAdd(offset, b.CreateMul(k, cg.index(panel)));
    if (rank == 3) offset = b.CreateAdd(offset, b.CreateMul(nest.index(0), cg.index(c.depth * c.columns)));
    nest.writeAt(buffer, offset, nest.innerAxis() == rank - 1 ? 1 : nest.innerAxis() == rank - 2 ? panel : c.depth * c.columns, value);
  });
  return buffer;
}

// One tile: `rows` rows by one panel, all in registers over the whole depth.
static void emitTile(Codegen &cg, const Contraction &c, unsigned rows, LV batch, LV row, LV panelNumber) {
  llvm::IRBuilder<> &b = cg.b;
  llvm::Type *scalar = cg.scalars.memoryType(c.compute);
  llvm::Type *vector = c.vector == 1 ? scalar : llvm::FixedVectorType::get(scalar, c.vector);
  llvm::Align align(storageBytes(c.compute));
  int64_t panel = int64_t(c.vector) * c.vectors;
  auto sumAddress = [&](unsigned r, unsigned v) {
    LV offset = b.CreateAdd(b.CreateMul(batch, cg.index(c.rows * c.columns)), b.CreateMul(b.CreateAdd(row, cg.index(r)), cg.index(c.columns)));
    offset = b.CreateAdd(offset, b.CreateAdd(b.CreateMul(panelNumber, cg.index(panel)), cg.index(int64_t(v) * c.vector)));
    return b.CreateInBoundsGEP(scalar, c.sum.pointer, offset);
  };
  SmallVector<LV, 32> sums;
  for (unsigned r = 0; r < rows; ++r)
    for (unsigned v = 0; v < c.vectors; ++v) sums.push_back(b.CreateAlignedLoad(vector, sumAddress(r, v), align));
  LV lhs = b.CreateInBoundsGEP(scalar, c.lhs.pointer, b.CreateAdd(b.CreateMul(batch, cg.index(c.lhs.strides[0])), b.CreateMul(row, cg.index(c.lhs.strides[1]))));
  LV rhs = b.CreateInBoundsGEP(scalar, c.rhs.pointer, b.CreateAdd(b.CreateMul(batch, cg.index(c.depth * c.columns)), b.CreateMul(panelNumber, cg.index(panel * c.depth))));
  llvm::BasicBlock *before = b.GetInsertBlock(), *body = llvm::BasicBlock::Create(cg.context, "depth", cg.function), *exit = llvm::BasicBlock::Create(cg.context, "depth.exit", cg.function);
  b.CreateBr(body);
  b.SetInsertPoint(body);
  auto *k = b.CreatePHI(b.getInt64Ty(), 2);
  k->addIncoming(cg.index(0), before);
  SmallVector<llvm::PHINode *, 32> phis;
  for (LV sum : sums) {
    phis.push_back(b.CreatePHI(vector, 2));
    phis.back()->addIncoming(sum, before);
  }
  SmallVector<LV, 4> columns;
  LV line = b.CreateInBoundsGEP(scalar, rhs, b.CreateMul(k, cg.index(panel)));
  for (unsigned v = 0; v < c.vectors; ++v) columns.push_back(b.CreateAlignedLoad(vector, b.CreateConstInBoundsGEP1_64(scalar, line, int64_t(v) * c.vector), align));
  LV column = b.CreateInBoundsGEP(scalar, lhs, b.CreateMul(k, cg.index(c.lhs.strides[2])));
  for (unsigned r = 0; r < rows; ++r) {
    LV factor = b.CreateAlignedLoad(scalar, b.CreateConstInBoundsGEP1_64(scalar, column, int64_t(r) * c.lhs.strides[1]), align);
    if (c.vector > 1) factor = b.CreateVectorSplat(c.vector, factor);
    for (unsigned v = 0; v < c.vectors; ++v) {
      LV &sum = sums[r * c.vectors + v];
      sum = cg.scalars.multiplyAccumulate(c.compute, factor, columns[v], phis[r * c.vectors + v]);
    }
  }
  LV next = b.CreateNUWAdd(k, cg.index(1));
  k->addIncoming(next, body);
  for (auto [phi, sum] : llvm::zip_equal(phis, sums)) phi->addIncoming(sum, body);
  b.CreateCondBr(b.CreateICmpSLT(next, cg.index(c.depth)), body, exit);
  b.SetInsertPoint(exit);
  for (unsigned r = 0; r < rows; ++r)
    for (unsigned v = 0; v < c.vectors; ++v) b.CreateAlignedStore(sums[r * c.vectors + v], sumAddress(r, v), align);
}

// for (index = low; index < high; index += step) body(index), where low < high are constants.
static void emitLoop(Codegen &cg, int64_t low, int64_t high, int64_t step, llvm::function_ref<void(LV)> body) {
  if (low >= high) return;
  if (low + step >= high) return body(cg.index(low));
  llvm::IRBuilder<> &b = cg.b;
  llvm::BasicBlock *before = b.GetInsertBlock(), *block = llvm::BasicBlock::Create(cg.context, "tiles", cg.function), *exit = llvm::BasicBlock::Create(cg.context, "tiles.exit", cg.function);
  b.CreateBr(block);
  b.SetInsertPoint(block);
  auto *index = b.CreatePHI(b.getInt64Ty(), 2);
  index->addIncoming(cg.index(low), before);
  body(index);
  LV next = b.CreateNUWAdd(index, cg.index(step));
  index->addIncoming(next, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpSLT(next, cg.index(high)), block, exit);
  b.SetInsertPoint(exit);
}

static void emitTiles(Codegen &cg, const Contraction &c) {
  int64_t panels = c.columns / (int64_t(c.vector) * c.vectors), whole = c.rows / c.tileRows * c.tileRows;
  emitLoop(cg, 0, c.batch, 1, [&](LV batch) {
    emitLoop(cg, 0, panels, 1, [&](LV panel) {
      emitLoop(cg, 0, whole, c.tileRows, [&](LV row) { emitTile(cg, c, c.tileRows, batch, row, panel); });
      if (whole < c.rows) emitTile(cg, c, c.rows - whole, batch, cg.index(whole), panel);
    });
  });
}

void Codegen::emitContract(ContractOp op, const Buffer *into) {
  SmallVector<int64_t, 4> sum = constantExtents(op.getType()), left = constantExtents(op.getLhs().getType());
  unsigned rank = sum.size();
  Contraction c;
  c.batch = rank == 3 ? sum[0] : 1;
  c.rows = sum[rank - 2];
  c.columns = sum[rank - 1];
  c.depth = left[rank - 1];
  Type accumulator = elementType(op.getType());
  c.compute = computeType(accumulator);
  c.vector = cpu.vectorBytes / storageBytes(c.compute);
  while (c.vector > 1 && c.columns % c.vector) c.vector /= 2;
  c.vectors = c.columns % (2 * c.vector) == 0 ? 2 : 1;
  // Enough independent sums to hide the latency of a multiply-add; 16 registers hold half as many rows.
  c.tileRows = std::min<int64_t>(c.rows, cpu.vectorBytes == 64 ? (c.vectors == 2 ? 8 : 16) : (c.vectors == 2 ? 4 : 8));

  Buffer result = into ? *into : allocate(accumulator, sum);
  c.sum = c.compute == accumulator ? result : allocate(c.compute, sum);
  if (c.compute == accumulator) {
    if (const Buffer *own = bufferOf(op.getAccumulator()); !own || own->pointer != result.pointer) evaluateInto(op.getAccumulator(), result, plan->guard(op.getResult()));
  } else evaluateInto(op.getAccumulator(), c.sum, plan->guard(op.getResult()));
  c.lhs = packLhs(*this, op.getLhs(), c);
  c.rhs = packRhs(*this, op.getRhs(), c);
  emitTiles(*this, c);
  if (c.compute != accumulator) {
    // One rounding to the narrow accumulation format at the end.
    SmallVector<unsigned, 4> all = identityAxes(rank), outer;
    define(op.getResult(), c.sum);
    Nest nest(*this, sum, {Root{op.getResult(), all}});
    for (unsigned axis : all)
      if (axis != nest.innerAxis()) outer.push_back(axis);
    nest.forEach(outer, [&] { nest.writeBuffer(result, all, scalars.round(accumulator, nest.evaluate(op.getResult(), all))); });
  }
  define(op.getResult(), result);
}

} // namespace intent::block::host
