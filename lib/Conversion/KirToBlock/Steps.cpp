// Steps of folds. `combine(carry, summarize(slice))` scales what a slice contracts or sums by an exponential of how far its own
// shift lies from the shift of both, which costs an accumulator of its own. The laws of a fold permit to write the product of two
// exponentials as one, and to scale inside:
//
//   exp(p - q) * contract(exp(x - g), v)  ->  contract(exp(x + ((p - g) - q)), v)
//
// for scalars p, q and g. Where p is the shift that g comes from this is exp(x - q).
#include "Snapshots.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace intent;
using namespace intent::kir;

namespace intent::conversion {

namespace {

Value throughBroadcasts(Value value) {
  while (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getValue();
  return value;
}

bool isExponential(UnaryKind kind) { return kind == UnaryKind::Exp || kind == UnaryKind::Exp2; }

/// `exp(a - b)`, b a scalar.
struct Exponential {
  UnaryOp op;
  BinaryOp difference;

  static std::optional<Exponential> of(Value value) {
    auto op = value.getDefiningOp<UnaryOp>();
    auto difference = op && isExponential(op.getKind()) ? op.getValue().getDefiningOp<BinaryOp>() : BinaryOp();
    if (!difference || difference.getKind() != BinaryKind::Sub) return std::nullopt;
    return Exponential{op, difference};
  }
};

/// A product in a step: what a slice contracts or sums of exponentials, and the factor that it is scaled by.
struct Scaled {
  BinaryOp product;
  Operation *sum; // a contraction, or the sum of one value
  unsigned operand;
  Exponential inner, factor;
};

class StepFormer {
public:
  explicit StepFormer(RegionFoldOp fold) : fold(fold), builder(fold.getContext()) {}

  void run() {
    inlineBoth();
    SmallVector<Scaled> found;
    fold.getStep().walk([&](BinaryOp op) {
      if (std::optional<Scaled> scaled = match(op)) found.push_back(*scaled);
    });
    // What else uses the exponentials of a slice would compute them twice.
    llvm::erase_if(found, [&, all = found](const Scaled &scaled) { return !isUsedBy(scaled.inner.op, all, scaled.factor.op); });
    if (llvm::none_of(found, [](const Scaled &scaled) { return isa<ContractOp>(scaled.sum); })) {
      fold.getStep().getBlocks().clear();
      return;
    }
    for (const Scaled &scaled : found)
      scaleInside(scaled);
  }

private:
  void inlineBoth() {
    ::mlir::Block &summarize = fold.getSummarize().front(), &combine = fold.getCombine().front();
    ::mlir::Block &step = fold.getStep().emplaceBlock();
    IRMapping map;
    unsigned count = fold.getIdentities().size();
    for (BlockArgument carry : combine.getArguments().take_front(count))
      map.map(carry, step.addArgument(carry.getType(), carry.getLoc()));
    for (BlockArgument slice : summarize.getArguments())
      map.map(slice, step.addArgument(slice.getType(), slice.getLoc()));
    builder.setInsertionPointToEnd(&step);
    for (Operation &op : summarize.without_terminator())
      builder.clone(op, map);
    for (auto [argument, summary] : llvm::zip_equal(combine.getArguments().drop_front(count), summarize.getTerminator()->getOperands()))
      map.map(argument, map.lookupOrDefault(summary));
    for (Operation &op : combine.without_terminator())
      builder.clone(op, map);
    SmallVector<Value> yields;
    for (Value value : combine.getTerminator()->getOperands())
      yields.push_back(map.lookupOrDefault(value));
    for (Value value : summarize.getTerminator()->getOperands())
      summaries.push_back(map.lookupOrDefault(value));
    llvm::append_range(yields, summaries);
    YieldOp::create(builder, fold.getLoc(), yields);
  }

  std::optional<Scaled> match(BinaryOp op) {
    if (op.getKind() != BinaryKind::Mul || op.getFlushToZero()) return std::nullopt;
    for (auto [value, by] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      std::optional<Exponential> factor = Exponential::of(throughBroadcasts(by));
      Operation *sum = value.getDefiningOp();
      if (!factor || isa<KirTensorType>(factor->op.getType()) || !sum || !isSummaryAlone(value)) continue;
      for (unsigned operand : {0u, 1u}) {
        if (auto reduce = dyn_cast<ReduceOp>(sum)) {
          if (operand != 0 || reduce.getValues().size() != 1 || !reduce.getCaptures().empty() || !isSum(reduce)) continue;
        } else if (!isa<ContractOp>(sum)) continue;
        Value exponentials = sum->getOperand(operand);
        if (auto narrow = exponentials.getDefiningOp<CastOp>()) exponentials = narrow.getValue();
        std::optional<Exponential> inner = Exponential::of(exponentials);
        if (!inner || inner->op.getKind() != factor->op.getKind() || inner->op.getType() == factor->op.getType()) continue;
        Value shift = throughBroadcasts(inner->difference.getRhs());
        if (shift.getType() != factor->op.getType()) continue;
        return Scaled{op, sum, operand, *inner, *factor};
      }
    }
    return std::nullopt;
  }

  /// Nothing but the product and the summary itself uses the value.
  bool isSummaryAlone(Value value) {
    return llvm::is_contained(summaries, value) &&
           llvm::count_if(value.getUsers(), [](Operation *user) { return !isa<YieldOp>(user); }) == 1;
  }

  static bool isSum(ReduceOp reduce) {
    ::mlir::Block &body = reduce.getCombine().front();
    auto op = dyn_cast<BinaryOp>(body.front());
    return op && op.getKind() == BinaryKind::Add && body.getTerminator()->getOperand(0) == op.getResult() &&
           op.getLhs() == body.getArgument(0) && op.getRhs() == body.getArgument(1);
  }

  static bool isUsedBy(UnaryOp exponentials, ArrayRef<Scaled> found, UnaryOp factor) {
    auto scales = [&](Operation *user) {
      return llvm::any_of(found, [&](const Scaled &scaled) { return scaled.sum == user && scaled.factor.op == factor; });
    };
    return llvm::all_of(exponentials->getUsers(),
                        [&](Operation *user) { return isa<CastOp>(user) ? llvm::all_of(user->getUsers(), scales) : scales(user); });
  }

  void scaleInside(Scaled scaled) {
    builder.setInsertionPoint(scaled.product);
    IRMapping map;
    Value old = scaled.sum->getOperand(scaled.operand);
    auto narrow = old.getDefiningOp<CastOp>();
    Value &exponentials = shifted[{scaled.inner.op, scaled.factor.op}];
    if (!exponentials) exponentials = shift(scaled);
    map.map(scaled.inner.op.getResult(), exponentials);
    if (narrow) builder.clone(*narrow, map);
    scaled.product.replaceAllUsesWith(builder.clone(*scaled.sum, map)->getResult(0));
    scaled.product.erase();
  }

  Value shift(Scaled scaled) {
    BinaryOp inner = scaled.inner.difference, factor = scaled.factor.difference;
    Location loc = inner.getLoc();
    auto binary = [&](BinaryKind kind, Value a, Value b) -> Value {
      return BinaryOp::create(builder, loc, a.getType(), kind, a, b, false, false);
    };
    Value beyond = binary(BinaryKind::Sub, factor.getLhs(), throughBroadcasts(inner.getRhs()));
    Value shift = binary(BinaryKind::Sub, beyond, factor.getRhs());
    Value spread = BroadcastOp::create(builder, loc, inner.getType(), shift, builder.getDenseI64ArrayAttr({}));
    Value exponent = binary(BinaryKind::Add, inner.getLhs(), spread);
    UnaryOp old = scaled.inner.op;
    return UnaryOp::create(builder, old.getLoc(), exponent.getType(), old.getKind(), exponent, old.getApproximate(), old.getFlushToZero());
  }

  RegionFoldOp fold;
  OpBuilder builder;
  SmallVector<Value> summaries;
  llvm::DenseMap<std::pair<Operation *, Operation *>, Value> shifted;
};

} // namespace

void formSteps(KernelOp kernel) {
  kernel.walk([](RegionFoldOp fold) {
    if (fold.getStep().empty()) StepFormer(fold).run();
  });
}

} // namespace intent::conversion
