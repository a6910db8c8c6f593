// Contractions: operands packed in the accumulation format, then a register-tiled kernel of fused multiply-adds.
#include "Nest.h"

#include "intent/IR/Language.h"

using namespace mlir;
using namespace intent;

namespace intent::block::host {

namespace {
/// Packed operands of one contraction and the kernel's tile.
struct Contraction {
  ContractOp op;
  int64_t batch, rows, depth, columns;
  Type compute;             ///< element of packed operands and accumulator: f32, f64 or an integer
  Buffer lhs, rhs, sum;     ///< strides of lhs and sum: [batch, row, depth or column]
  unsigned vector, vectors; ///< lanes of a vector, vectors of a column panel
  unsigned tileRows;
  Interval wantedRows, wantedDepth, wantedColumns; ///< what is observed, and where neither operand is a masked zero
  Conjuncts depthOf;                               ///< conjuncts whose falsehood makes a term zero, on axis 0 = the contracted one
  int64_t panel() const { return int64_t(vector) * vectors; }
};
} // namespace

static Type computeType(Type accumulator) {
  bool narrow = isa<FloatType>(accumulator) && accumulator.getIntOrFloatBitWidth() < 32;
  return narrow ? Type(Float32Type::get(accumulator.getContext())) : accumulator;
}

// Lanes of an operand that need no packing: unobserved ones, and terms that are left out.
static Conjuncts skippableOf(Codegen &cg, Value operand, unsigned depthAxis, const Contraction &c) {
  Conjuncts all = cg.plan->availableAt(cg.plan->guard(operand), c.op);
  unite(all, mapped(c.depthOf, {depthAxis}));
  return all;
}

// Conjuncts on the contracted axis alone where an operand holds zero. Such a term is left out even if the other factor
// is not finite (numerics.md section 4).
static void findZeroTerms(Codegen &cg, Value operand, unsigned depthAxis, Contraction &c) {
  std::optional<MaskedConstant> masked = cg.plan->maskedConstant(operand);
  if (!masked) return;
  auto number = dyn_cast<FloatAttr>(masked->value);
  auto integer = dyn_cast<IntegerAttr>(masked->value);
  if (!(number && number.getValue().isZero()) && !(integer && integer.getValue().isZero())) return;
  for (const Conjunct &conjunct : masked->when)
    if (conjunct.axes.size() == 1 && conjunct.axes[0] == depthAxis) unite(c.depthOf, {Conjunct{conjunct.base, {0}}});
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
  nest.setSkippable(skippableOf(cg, lhs, rank - 1, c));
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
  nest.setSkippable(skippableOf(cg, rhs, rank - 2, c));
  for (unsigned axis : all)
    if (axis != nest.innerAxis()) outer.push_back(axis);
  llvm::IRBuilder<> &b = cg.b;
  int64_t panel = c.panel();
  auto offsetAt = [&](LV k, LV n) {
    LV offset = b.CreateAdd(b.CreateMul(b.CreateUDiv(n, cg.index(panel)), cg.index(panel * c.depth)), b.CreateURem(n, cg.index(panel)));
    offset = b.CreateAdd(offset, b.CreateMul(k, cg.index(panel)));
    return rank == 3 ? b.CreateAdd(offset, b.CreateMul(nest.index(0), cg.index(c.depth * c.columns))) : offset;
  };
  auto value = [&] { return cg.scalars.cast(element, c.compute, nest.evaluate(rhs, all)); };
  unsigned lanes = nest.lanes(), columnAxis = rank - 1, depthAxis = rank - 2;
  if (nest.innerAxis() == depthAxis && lanes > 1 && panel % lanes == 0) {
    // Memory runs down the columns: squares of vectors are turned in registers.
    llvm::erase(outer, columnAxis);
    nest.outerLoops(outer, [&] {
      nest.blockLoop(columnAxis, lanes, [&] {
        SmallVector<LV, 1> none;
        nest.innerLoop(1, none, [&](unsigned) {
          SmallVector<LV, 16> square;
          for (unsigned i = 0; i < lanes; ++i) {
            nest.setCopy(i);
            square.push_back(cg.scalars.splatLike(value(), llvm::FixedVectorType::get(b.getInt1Ty(), lanes)));
          }
          nest.setCopy(0);
          transposeSquare(b, square);
          for (unsigned i = 0; i < lanes; ++i)
            nest.writeAt(buffer, offsetAt(b.CreateAdd(nest.index(depthAxis), cg.index(i)), nest.index(columnAxis)), 1, square[i]);
        });
      });
    });
    return buffer;
  }
  nest.forEach(outer, [&] {
    LV packed = value();
    nest.writeAt(buffer, offsetAt(nest.index(depthAxis), nest.index(columnAxis)),
                 nest.innerAxis() == columnAxis  ? 1
                 : nest.innerAxis() == depthAxis ? panel
                                                 : c.depth * c.columns,
                 packed);
  });
  return buffer;
}

// One tile: `rows` rows by one panel, all in registers over the whole depth.
static void emitTile(Codegen &cg, const Contraction &c, unsigned rows, LV batch, LV row, LV panelNumber) {
  llvm::IRBuilder<> &b = cg.b;
  llvm::Type *scalar = cg.scalars.memoryType(c.compute);
  llvm::Type *vector = c.vector == 1 ? scalar : llvm::FixedVectorType::get(scalar, c.vector);
  llvm::Align align(storageBytes(c.compute));
  int64_t panel = c.panel();
  auto sumAddress = [&](unsigned r, unsigned v) {
    LV offset =
        b.CreateAdd(b.CreateMul(batch, cg.index(c.rows * c.columns)), b.CreateMul(b.CreateAdd(row, cg.index(r)), cg.index(c.columns)));
    offset = b.CreateAdd(offset, b.CreateAdd(b.CreateMul(panelNumber, cg.index(panel)), cg.index(int64_t(v) * c.vector)));
    return b.CreateInBoundsGEP(scalar, c.sum.pointer, offset);
  };
  SmallVector<LV, 32> sums;
  for (unsigned r = 0; r < rows; ++r)
    for (unsigned v = 0; v < c.vectors; ++v)
      sums.push_back(b.CreateAlignedLoad(vector, sumAddress(r, v), align));
  LV lhs = b.CreateInBoundsGEP(scalar, c.lhs.pointer,
                               b.CreateAdd(b.CreateMul(batch, cg.index(c.lhs.strides[0])), b.CreateMul(row, cg.index(c.lhs.strides[1]))));
  LV rhs = b.CreateInBoundsGEP(
      scalar, c.rhs.pointer,
      b.CreateAdd(b.CreateMul(batch, cg.index(c.depth * c.columns)), b.CreateMul(panelNumber, cg.index(panel * c.depth))));
  auto block = [&](const char *name) { return llvm::BasicBlock::Create(cg.context, name, cg.function); };
  llvm::BasicBlock *before = b.GetInsertBlock(), *header = block("depth"), *body = block("depth.body"), *exit = block("depth.exit");
  b.CreateBr(header);
  b.SetInsertPoint(header);
  auto *k = b.CreatePHI(b.getInt64Ty(), 2);
  k->addIncoming(c.wantedDepth.low, before);
  SmallVector<llvm::PHINode *, 32> phis;
  for (LV sum : sums) {
    phis.push_back(b.CreatePHI(vector, 2));
    phis.back()->addIncoming(sum, before);
  }
  b.CreateCondBr(b.CreateICmpSLT(k, c.wantedDepth.high), body, exit);
  b.SetInsertPoint(body);
  SmallVector<LV, 4> columns;
  LV line = b.CreateInBoundsGEP(scalar, rhs, b.CreateMul(k, cg.index(panel)));
  for (unsigned v = 0; v < c.vectors; ++v)
    columns.push_back(b.CreateAlignedLoad(vector, b.CreateConstInBoundsGEP1_64(scalar, line, int64_t(v) * c.vector), align));
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
  for (auto [phi, sum] : llvm::zip_equal(phis, sums))
    phi->addIncoming(sum, body);
  b.CreateBr(header);
  b.SetInsertPoint(exit);
  for (unsigned r = 0; r < rows; ++r)
    for (unsigned v = 0; v < c.vectors; ++v)
      b.CreateAlignedStore(phis[r * c.vectors + v], sumAddress(r, v), align);
}

// for (index = low; index < high; index += step) body(index)
static void emitLoop(Codegen &cg, LV low, LV high, int64_t step, llvm::function_ref<void(LV)> body) {
  auto *from = llvm::dyn_cast<llvm::ConstantInt>(low), *to = llvm::dyn_cast<llvm::ConstantInt>(high);
  if (from && to && from->getSExtValue() >= to->getSExtValue()) return;
  if (from && to && from->getSExtValue() + step >= to->getSExtValue()) return body(low);
  llvm::IRBuilder<> &b = cg.b;
  auto block = [&](const char *name) { return llvm::BasicBlock::Create(cg.context, name, cg.function); };
  llvm::BasicBlock *before = b.GetInsertBlock(), *header = block("tiles"), *inside = block("tile"), *exit = block("tiles.exit");
  b.CreateBr(header);
  b.SetInsertPoint(header);
  auto *index = b.CreatePHI(b.getInt64Ty(), 2);
  index->addIncoming(low, before);
  b.CreateCondBr(b.CreateICmpSLT(index, high), inside, exit);
  b.SetInsertPoint(inside);
  body(index);
  index->addIncoming(b.CreateNUWAdd(index, cg.index(step)), b.GetInsertBlock());
  b.CreateBr(header);
  b.SetInsertPoint(exit);
}

// Panels outside, so that one panel stays in the first cache while the rows go by.
static void emitTiles(Codegen &cg, const Contraction &c) {
  llvm::IRBuilder<> &b = cg.b;
  int64_t whole = c.rows / c.tileRows * c.tileRows;
  auto least = [&](LV x, LV y) { return b.CreateSelect(b.CreateICmpSLT(x, y), x, y); };
  LV firstRow = b.CreateMul(b.CreateUDiv(c.wantedRows.low, cg.index(c.tileRows)), cg.index(c.tileRows));
  LV firstPanel = b.CreateUDiv(c.wantedColumns.low, cg.index(c.panel())),
     endPanel = b.CreateUDiv(b.CreateAdd(c.wantedColumns.high, cg.index(c.panel() - 1)), cg.index(c.panel()));
  emitLoop(cg, cg.index(0), cg.index(c.batch), 1, [&](LV batch) {
    emitLoop(cg, firstPanel, endPanel, 1, [&](LV panel) {
      emitLoop(cg, firstRow, least(c.wantedRows.high, cg.index(whole)), c.tileRows,
               [&](LV row) { emitTile(cg, c, c.tileRows, batch, row, panel); });
      if (whole < c.rows) emitTile(cg, c, c.rows - whole, batch, cg.index(whole), panel);
    });
  });
}

// The carried fragment of a loop that receives the contraction, if nothing reads it afterwards: then the sums are
// formed in its memory.
static const Buffer *carriedReceiver(Codegen &cg, ContractOp op) {
  if (!op.getResult().hasOneUse()) return nullptr;
  OpOperand &use = *op.getResult().use_begin();
  auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
  if (!loop || use.getOwner() != loop.getBody()->getTerminator()) return nullptr;
  Value carried = loop.getRegionIterArgs()[use.getOperandNumber()];
  const Buffer *buffer = cg.bufferOf(carried);
  if (cg.readsOf(op.getAccumulator(), *buffer) == Reads::Elsewhere || cg.readsOf(op.getLhs(), *buffer) != Reads::Nothing ||
      cg.readsOf(op.getRhs(), *buffer) != Reads::Nothing)
    return nullptr;
  for (Operation *sink : cg.plan->sinksOf(carried)) {
    Operation *ancestor = op->getBlock()->findAncestorOpInBlock(*sink);
    if (ancestor != op && !(ancestor && ancestor->isBeforeInBlock(op))) return nullptr;
  }
  return buffer;
}

void Codegen::emitContract(ContractOp op) {
  SmallVector<int64_t, 4> sum = constantExtents(op.getType()), left = constantExtents(op.getLhs().getType());
  unsigned rank = sum.size();
  Contraction c;
  c.op = op;
  Conjuncts guard = plan->availableAt(plan->guard(op.getResult()), op);
  c.batch = rank == 3 ? sum[0] : 1;
  c.rows = sum[rank - 2];
  c.columns = sum[rank - 1];
  c.depth = left[rank - 1];
  Type accumulator = elementType(op.getType());
  c.compute = computeType(accumulator);
  c.vector = cpu.vectorBytes / storageBytes(c.compute);
  while (c.vector > 1 && c.columns % c.vector)
    c.vector /= 2;
  c.vectors = c.columns % (2 * c.vector) == 0 ? 2 : 1;
  // Enough independent sums to hide the latency of a multiply-add; 16 registers hold half as many rows.
  c.tileRows = std::min<int64_t>(c.rows, cpu.vectorBytes == 64 ? (c.vectors == 2 ? 8 : 16) : (c.vectors == 2 ? 4 : 8));

  findZeroTerms(*this, op.getLhs(), rank - 1, c);
  findZeroTerms(*this, op.getRhs(), rank - 2, c);
  {
    Nest observed(*this, sum, {});
    observed.setSkippable(guard);
    c.wantedRows = observed.wanted(rank - 2);
    c.wantedColumns = observed.wanted(rank - 1);
    Nest terms(*this, {c.depth}, {});
    terms.setSkippable(c.depthOf);
    c.wantedDepth = terms.wanted(0);
  }
  const Buffer *receiver = c.compute == accumulator ? carriedReceiver(*this, op) : nullptr;
  Buffer result = receiver ? *receiver : allocate(accumulator, sum);
  c.sum = c.compute == accumulator ? result : allocate(c.compute, sum);
  if (c.compute == accumulator) {
    if (const Buffer *own = bufferOf(op.getAccumulator()); !own || own->pointer != result.pointer)
      evaluateInto(op.getAccumulator(), result, guard);
  } else evaluateInto(op.getAccumulator(), c.sum, guard);
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
