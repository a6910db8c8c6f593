// Lowers one captured kernel to kernel IR: names, types, shape identity, broadcasting and compile-time evaluation.
#ifndef INTENT_FRONTEND_LOWERING_H
#define INTENT_FRONTEND_LOWERING_H

#include "Flow.h"
#include "Intrinsics.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringSet.h"
#include <deque>

namespace intent::frontend {

using kir::ExtentAttr;
using kir::KirTensorType;
using mlir::FailureOr;
using mlir::LogicalResult;
using mlir::Type;
using mlir::Value;
using Shape = llvm::SmallVector<ExtentAttr>;

/// A loop that statements stand in.
struct LoopScope {
  bool parallel = false;
  size_t pending = 0; // of its frame: what is deeper belongs to the body
  llvm::ArrayRef<std::string> carried;
};

/// One function being inlined.
struct Frame {
  const Function *function = nullptr;
  NodeId call = noNode; // where it was called, noNode for the kernel
  std::map<std::string, Entity> names;
  std::vector<LoopScope> loops;
  std::vector<llvm::ArrayRef<NodeId>> pending; // for each block being lowered, the statements behind the current one
};

/// An operand with the node that errors point at.
struct Operand {
  Entity entity;
  NodeId node = noNode;
  llvm::StringRef role; // "left operand"; empty: "operand"
};

/// One item of a subscript.
struct IndexItem {
  enum Kind { All, Slice, NewAxis, Item } kind = Item;
  NodeId node = noNode;
  Entity entity;       // Item
  Entity lower, upper; // Slice; Unbound where omitted
};

llvm::StringRef syntaxName(llvm::StringRef form);

class Lowering {
  friend class ConflictFinder;

public:
  Lowering(const Request &request, mlir::MLIRContext *context) : request(request), context(context), builder(context) {}
  mlir::OwningOpRef<mlir::ModuleOp> run();

  using Handler = FailureOr<Entity> (Lowering::*)(Call &);

  // -- Frontend.cpp: the kernel's interface and diagnostics
private:
  mlir::Location location(NodeId node);
  mlir::Location extentOfText(NodeId node);
  mlir::InFlightDiagnostic error(NodeId node);
  void note(mlir::InFlightDiagnostic &diagnostic, NodeId node, const llvm::Twine &message);
  LogicalResult bindConstexprs(const Function &kernel);
  FailureOr<Constant> checkConstexpr(const Parameter &parameter, const Constant &value, NodeId at);
  FailureOr<Type> parameterDtype(const Parameter &parameter);
  FailureOr<std::string> boundDtype(llvm::StringRef typeVar, NodeId at);
  LogicalResult buildInterface(const Function &kernel, mlir::ModuleOp module);
  FailureOr<Type> viewType(const Parameter &parameter, mlir::NamedAttrList &attributes);
  LogicalResult finish(mlir::ModuleOp module);

  // -- Literals.cpp: compile-time values
  FailureOr<mlir::TypedAttr> literalAttr(const Constant &literal, Type element, NodeId at);
  FailureOr<Value> literalValue(const Constant &literal, Type element, NodeId at);
  Type defaultElement(const Constant &literal);
  Type defaultElement(const Entity &untyped);
  FailureOr<Entity> foldBinary(llvm::StringRef op, const Constant &l, const Constant &r, NodeId at);
  FailureOr<Entity> foldUnary(llvm::StringRef op, const Constant &v, NodeId at);
  FailureOr<bool> foldCompare(llvm::StringRef op, const Constant &l, const Constant &r, NodeId at);
  FailureOr<int64_t> constantInt(const Entity &entity, NodeId at, const llvm::Twine &what);
  FailureOr<bool> constantBool(const Entity &entity, NodeId at, const llvm::Twine &what);
  FailureOr<Type> constantDtype(const Entity &entity, NodeId at);
  std::optional<bool> truth(const Entity &entity);
  /// A scalar number of the kind of `kind`: bool, i64 or f64.
  Entity openNumber(Type kind, std::vector<std::shared_ptr<Type>> contexts);
  /// What an operation on scalar numbers without a dtype gives where one of them is open: another open number; nothing otherwise.
  std::optional<Entity> joinOpen(llvm::ArrayRef<Entity> operands, bool isFloat);
  /// An open number stands where a value of this dtype is expected.
  void meet(const Entity &entity, Type element);

  // -- Extents.cpp: shape identity
  template <typename Op, typename... Args>
  Op make(NodeId at, Args &&...args) {
    return makeAt<Op>(location(at), std::forward<Args>(args)...);
  }
  template <typename Op, typename... Args>
  Op makeAt(mlir::Location loc, Args &&...args) {
    Op op = Op::create(builder, loc, std::forward<Args>(args)...);
    record(op);
    return op;
  }
  void record(mlir::Operation *op);
  Value unique(mlir::Operation *op, bool reads = false);
  uint64_t &writesTo(Type view);
  bool isNeverWritten(Value view);
  Value indexOp(BinaryKind kind, Value l, Value r, NodeId at);
  Value representative(Value scalar);
  ExtentAttr extentOf(Value scalar);
  ExtentAttr publish(ExtentAttr extent);
  KirTensorType tensorType(Type element, llvm::ArrayRef<ExtentAttr> shape);
  ExtentAttr known(int64_t value) { return ExtentAttr::constant(context, value); }
  Value extentValue(ExtentAttr extent, NodeId at);
  Value indexConstant(int64_t value, NodeId at);
  std::string spell(ExtentAttr extent);
  std::string spell(llvm::ArrayRef<ExtentAttr> shape);
  enum class Relation { Equal, Checkable, Different };
  Relation relate(ExtentAttr a, ExtentAttr b);
  FailureOr<ExtentAttr> requireEqual(ExtentAttr a, ExtentAttr b, NodeId at, const llvm::Twine &what);
  void checkEqual(ExtentAttr a, ExtentAttr b, NodeId at, const llvm::Twine &what);
  bool isAtLeast(ExtentAttr extent, int64_t least);
  void require(Value value, Value low, Value high, NodeId at, const llvm::Twine &what, Value valid = {});
  FailureOr<Shape> broadcastShapes(llvm::ArrayRef<Operand> operands, llvm::ArrayRef<Value> values, NodeId at);
  Value repeat(Value value, llvm::ArrayRef<ExtentAttr> shape, llvm::ArrayRef<int64_t> axes, NodeId at);
  Value broadcastTo(Value value, llvm::ArrayRef<ExtentAttr> shape, NodeId at);
  Value relabel(Value tensor, llvm::ArrayRef<ExtentAttr> shape, NodeId at);
  Value leafOf(llvm::StringRef atom);
  bool isVisibleOutside(Type type, mlir::Region *region);
  void renameAtoms(mlir::ModuleOp module);

  // -- Expressions.cpp
  FailureOr<Entity> evaluate(NodeId node);
  FailureOr<Entity> evaluateNode(NodeId node);
  FailureOr<Entity> lookUp(llvm::StringRef name, NodeId at);
  FailureOr<Entity> meaningOf(const Meaning &meaning, NodeId at);
  FailureOr<Entity> evaluateAttribute(NodeId node);
  FailureOr<Entity> evaluateIfExp(NodeId node);
  FailureOr<Entity> evaluateBoolOp(NodeId node);
  FailureOr<Entity> evaluateLater(Value before, bool isAnd, NodeId child, NodeId at);
  FailureOr<Entity> evaluateTuple(NodeId node);
  FailureOr<Entity> constantEntity(const Constant &constant);
  std::string describe(const Entity &entity);
  std::string describeElements(const Entity &entity);
  std::string describeBoth(const Entity &a, const Entity &b);
  FailureOr<Value> asValue(const Entity &entity, NodeId at, Type element = {});
  FailureOr<Value> asTensor(const Entity &entity, NodeId at, const llvm::Twine &what);
  FailureOr<Value> asIndex(const Entity &entity, NodeId at, const llvm::Twine &what);
  FailureOr<Value> asCondition(const Entity &entity, NodeId at, llvm::StringRef where);
  Entity shapeEntity(llvm::ArrayRef<ExtentAttr> shape, NodeId at);

  // -- Operators.cpp
  FailureOr<llvm::SmallVector<Value>> sameDtype(llvm::ArrayRef<Operand> operands, NodeId at, llvm::StringRef operation);
  FailureOr<llvm::SmallVector<Value>> alike(llvm::ArrayRef<Operand> operands, NodeId at, llvm::StringRef operation);
  FailureOr<Entity> evaluateBinOp(NodeId node);
  FailureOr<Entity> evaluateUnaryOp(NodeId node);
  FailureOr<Entity> evaluateCompare(NodeId node);
  FailureOr<Entity> operate(llvm::StringRef node, Operand l, Operand r, NodeId at);
  FailureOr<Entity> binary(llvm::StringRef op, Operand l, Operand r, NodeId at);
  FailureOr<Entity> arithmetic(BinaryKind kind, llvm::StringRef spelling, Operand l, Operand r, NodeId at);
  FailureOr<Entity> power(Operand base, Operand exponent, NodeId at);
  FailureOr<Entity> compare(llvm::StringRef op, Operand l, Operand r, NodeId at);
  LogicalResult requireArithmetic(Type element, NodeId at, llvm::StringRef operation);
  LogicalResult requireFloat(Type element, NodeId at, llvm::StringRef operation);

  // -- Subscripts.cpp
  FailureOr<Entity> evaluateSubscript(NodeId node);
  FailureOr<std::vector<IndexItem>> evaluateIndices(NodeId slice);
  FailureOr<Entity> subscript(const Entity &base, llvm::ArrayRef<IndexItem> items, NodeId at);
  FailureOr<Entity> subregion(const Entity &base, const IndexItem &item, NodeId at);
  FailureOr<Entity> productItem(const Entity &base, llvm::ArrayRef<IndexItem> items, NodeId at);

  // -- Accesses.cpp
  FailureOr<llvm::SmallVector<Value>> resolveIndices(llvm::ArrayRef<ExtentAttr> shape, const Entity &base, llvm::ArrayRef<IndexItem> items,
                                                     NodeId at);
  FailureOr<Value> indexValue(const IndexItem &item, ExtentAttr extent, unsigned axis);
  Value readAt(const Entity &base, llvm::ArrayRef<Value> indices, bool asTensor, NodeId at, Value valid = {});
  FailureOr<Entity> readItems(const Entity &base, llvm::ArrayRef<IndexItem> items, NodeId at);
  LogicalResult requireWritable(const Entity &base, NodeId at, bool atomic = false);
  FailureOr<Value> valueAt(const Entity &base, llvm::ArrayRef<Value> indices, const Entity &value, NodeId at, NodeId valueNode);
  FailureOr<Value> spread(Value value, const llvm::SmallVector<ExtentAttr> *shape, const llvm::Twine &place, NodeId at, NodeId valueNode);
  FailureOr<llvm::SmallVector<Value>> placeIndices(const Entity &base, llvm::ArrayRef<IndexItem> items, NodeId at);
  LogicalResult writeItems(const Entity &base, llvm::ArrayRef<IndexItem> items, const Entity &value, NodeId at, NodeId valueNode,
                           bool isUnique = false);
  FailureOr<std::vector<IndexItem>> indexItems(const Entity &index, NodeId at);
  FailureOr<Value> validAt(const Entity &valid, Type result, const Entity &base, NodeId at, NodeId node);

  // -- Calls.cpp
  FailureOr<Entity> evaluateCall(NodeId node);
  FailureOr<Entity> apply(const Entity &callee, llvm::ArrayRef<Entity> arguments, llvm::ArrayRef<NodeId> nodes, NodeId at);
  FailureOr<Entity> callIntrinsic(const Entity &callee, llvm::ArrayRef<Argument> arguments, NodeId at);
  FailureOr<Entity> callFunction(const Entity &callee, llvm::ArrayRef<Argument> arguments, NodeId at);
  FailureOr<Entity> callRange(llvm::ArrayRef<Argument> arguments, NodeId at);
  FailureOr<Entity> bindParameter(const Parameter &parameter, const Entity &argument, NodeId at,
                                  std::map<std::string, ExtentAttr> &symbols);
  LogicalResult bindArguments(const Intrinsic &intrinsic, llvm::ArrayRef<Argument> arguments, Call &call);

public:
  // -- handlers of intrinsics: Regions.cpp
  FailureOr<Entity> lowerDomain(Call &call);
  FailureOr<Entity> lowerParallel(Call &call);
  FailureOr<Entity> lowerIndices(Call &call);
  FailureOr<Entity> lowerEnd(Call &call);
  // -- Ragged.cpp
  FailureOr<Entity> lowerRagged(Call &call);
  FailureOr<Entity> lowerMembers(Call &call);
  // -- Buffers.cpp
  FailureOr<Entity> lowerBuffer(Call &call);
  FailureOr<Entity> lowerAssumeInBounds(Call &call);
  FailureOr<Entity> lowerGather(Call &call);
  FailureOr<Entity> lowerStore(Call &call);
  FailureOr<Entity> lowerMutableLoad(Call &call);
  FailureOr<Entity> lowerScatterReduce(Call &call);
  // -- Atomics.cpp
  FailureOr<Entity> lowerAtomic(Call &call);
  FailureOr<Entity> lowerCompareExchange(Call &call);
  // -- Construction.cpp
  FailureOr<Entity> lowerFull(Call &call);
  FailureOr<Entity> lowerZeros(Call &call);
  FailureOr<Entity> lowerCast(Call &call);
  FailureOr<Entity> lowerBitcast(Call &call);
  FailureOr<Entity> lowerReshape(Call &call);
  FailureOr<Entity> lowerTranspose(Call &call);
  FailureOr<Entity> lowerJoin(Call &call);
  FailureOr<Entity> lowerRecord(Call &call);
  FailureOr<Entity> lowerSelect(Call &call);
  FailureOr<Entity> lowerMask(Call &call);
  // -- ElementWise.cpp
  FailureOr<Entity> lowerUnary(Call &call);
  FailureOr<Entity> lowerBinary(Call &call);
  FailureOr<Entity> lowerFdiv(Call &call);
  FailureOr<Entity> lowerFma(Call &call);
  // -- Reductions.cpp
  FailureOr<Entity> lowerNamedReduce(Call &call);
  FailureOr<Entity> lowerReduce(Call &call);
  FailureOr<Entity> lowerArgReduce(Call &call);
  // -- Scans.cpp
  FailureOr<Entity> lowerScan(Call &call);
  FailureOr<Entity> lowerCumulative(Call &call);
  // -- Folds.cpp
  FailureOr<Entity> lowerRegionFold(Call &call);
  FailureOr<Entity> lowerRegionScan(Call &call);
  // -- Histogram.cpp
  FailureOr<Entity> lowerHistogram(Call &call);
  // -- Packed.cpp, Quantized.cpp and Sparse.cpp
  FailureOr<Entity> lowerScaledContract(Call &call);
  FailureOr<Entity> lowerQuantize(Call &call);
  FailureOr<Entity> lowerQuantizedDot(Call &call);
  FailureOr<Entity> lowerSparseFormat(Call &call);
  FailureOr<Entity> lowerSparseContract(Call &call);
  FailureOr<Entity> lowerSparseMatmul(Call &call);
  // -- Random.cpp
  FailureOr<Entity> lowerRandomBits(Call &call);
  FailureOr<Entity> lowerRandomUniform(Call &call);
  // -- Contractions.cpp
  FailureOr<Entity> lowerContract(Call &call);
  FailureOr<Entity> lowerMatmul(Call &call);
  FailureOr<Entity> lowerMatvec(Call &call);
  FailureOr<Entity> lowerVecmat(Call &call);
  FailureOr<Entity> lowerDot(Call &call);
  FailureOr<Entity> lowerOuter(Call &call);

private:
  FailureOr<MemoryOrder> orderArgument(Call &call, unsigned position, std::optional<AtomicKind> kind);
  FailureOr<Entity> ragged(const Entity &base, llvm::ArrayRef<IndexItem> items, NodeId at);
  FailureOr<Entity> makeDomain(const Entity &start, const Entity *stop, const Entity *step, llvm::ArrayRef<NodeId> nodes, NodeId at);
  Entity regionEntity(Value domain, Value begin, Value end, Value step);
  Value wholeAxis(ExtentAttr extent, NodeId at);
  FailureOr<Shape> shapeArgument(const Entity &entity, NodeId at, int *inferred = nullptr);
  FailureOr<Value> castValue(Value value, Type element, NodeId at);
  FailureOr<Entity> castEntity(const Entity &entity, Type element, NodeId at);
  FailureOr<Entity> selectEntities(Operand condition, Operand a, Operand b, NodeId at);
  Value scalarOf(Value rankZero, NodeId at);
  FailureOr<llvm::SmallVector<int64_t>> axesArgument(const Entity &entity, size_t rank, NodeId at);
  Value reduceValue(llvm::StringRef kind, Value tensor, llvm::ArrayRef<int64_t> axes, NodeId at);
  Value keepAxes(Value reduced, llvm::ArrayRef<ExtentAttr> shape, llvm::ArrayRef<int64_t> axes, NodeId at);
  LogicalResult flatten(const Entity &entity, NodeId at, std::vector<Entity> &leaves, const llvm::Twine &what);
  /// The entity with `leaf` of each of its components.
  static Entity mapLeaves(const Entity &entity, llvm::function_ref<Entity(const Entity &)> leaf);
  Entity rebuild(const Entity &like, llvm::ArrayRef<Value> leaves, size_t &next);
  LogicalResult matchStructure(const Entity &like, const Entity &entity, NodeId at, const llvm::Twine &what);
  FailureOr<Type> accDtype(Call &call, unsigned position, Type otherwise);
  FailureOr<int64_t> axisArgument(const Entity &entity, size_t rank, NodeId at);

  /// What a generic reduction or scan combines: tensors of one shape, each with a scalar identity.
  struct Components {
    Shape shape;
    llvm::SmallVector<Value> tensors, identities;
    llvm::SmallVector<Type> elements;
    llvm::SmallVector<bool> rankZero; // whether the identity was a rank-zero tensor
  };
  /// Further arguments of a combine function, which sees those in `tensors` element by element.
  struct Captures {
    std::vector<Entity> arguments;
    llvm::SmallVector<Value> tensors;
  };
  FailureOr<Components> components(Call &call, unsigned identity, unsigned acc);
  FailureOr<Captures> captures(Call &call, unsigned position, llvm::ArrayRef<ExtentAttr> kept);
  FailureOr<Entity> capture(const Entity &entity, NodeId at, llvm::ArrayRef<ExtentAttr> kept, Captures &captures);
  LogicalResult requireCombine(const Entity &combine, NodeId at);
  LogicalResult fillCombine(mlir::Region &region, const Entity &like, llvm::ArrayRef<Type> elements, const Captures &captures,
                            const Entity &combine, NodeId at);
  void fillCombine(mlir::Region &region, BinaryKind kind, Type element, NodeId at);

  struct Slices;
  FailureOr<Slices> slicedSources(Call &call);
  std::vector<Entity> sliceArguments(const Slices &slices, mlir::Block &body, NodeId at);
  FailureOr<std::vector<Entity>> foldOperands(Call &call, unsigned position);
  FailureOr<Entity> callPure(const Entity &callee, llvm::ArrayRef<Entity> arguments, NodeId at, llvm::StringRef role);
  FailureOr<llvm::SmallVector<Value>> modelValues(const Entity &model, const Entity *filled, NodeId at, const llvm::Twine &what);
  LogicalResult yieldFitted(const Entity &entity, const Entity &model, mlir::TypeRange types, NodeId at, const llvm::Twine &what);
  FailureOr<llvm::SmallVector<Value>> fillSummary(mlir::Operation *open, mlir::Region &region, Call &call, const Slices &slices,
                                                  llvm::ArrayRef<Entity> operands);
  FailureOr<Entity> fillTransition(mlir::Region &region, const Entity &callee, const Entity &first, mlir::TypeRange firstTypes,
                                   const Entity &second, mlir::TypeRange secondTypes, NodeId at, llvm::StringRef role);
  FailureOr<llvm::SmallVector<Value>> emitted(const Entity &outputs, const Slices &slices, mlir::Region &region, NodeId at,
                                              llvm::SmallVectorImpl<int64_t> &positions);
  struct Expansion;
  FailureOr<Value> philox(Call &call);
  Value moveAxis(Value tensor, int64_t from, int64_t to, NodeId at);
  Value moveAxisBack(Value tensor, int64_t from, int64_t to, NodeId at);
  struct Axes {
    llvm::SmallVector<int64_t> lhs, rhs;
  };
  FailureOr<Axes> axisPairs(const Entity &entity, size_t lhsRank, size_t rhsRank, NodeId at, llvm::StringRef what);
  FailureOr<Entity> contract(Value lhs, Value rhs, Axes reduce, Axes batch, Type acc, NodeId at);
  LogicalResult contractOperands(Call &call, unsigned rhsAt, unsigned accAt, Value &lhs, Value &rhs, Type &acc);
  FailureOr<Entity> batched(Call &call, unsigned lhsRank, unsigned rhsRank, bool lhsTransposed, bool rhsTransposed);
  FailureOr<Entity> batched(Operand lhs, Operand rhs, Type acc, unsigned lhsRank, unsigned rhsRank, bool lhsTransposed, bool rhsTransposed,
                            llvm::StringRef operation, NodeId at);
  FailureOr<std::string> formatArgument(const Entity &entity, NodeId at, llvm::StringRef role, llvm::ArrayRef<llvm::StringRef> choices);
  LogicalResult requireMultiple(ExtentAttr extent, int64_t factor, ExtentAttr total, NodeId at, const llvm::Twine &what);
  struct Scaled;
  Value decodeScaled(const Scaled &operand, Type element, NodeId at);
  struct Sparsity;
  FailureOr<Sparsity> sparsityArgument(const Entity &entity, NodeId at, size_t rank);
  FailureOr<Value> densify(Call &call, Value compressed, const Sparsity &sparsity);
  FailureOr<Value> recordBytes(const Entity &entity, NodeId at, const llvm::Twine &what, int64_t bytes);

  // -- Statements.cpp
  Flow runBlock(llvm::ArrayRef<NodeId> statements);
  Flow runStatement(NodeId node);
  LogicalResult assign(NodeId target, const Entity &value, NodeId valueNode);
  LogicalResult augment(NodeId node);
  Flow runReturn(NodeId node);
  FailureOr<Entity> resultOf(const Flow &flow, const Function &function);
  void nameValue(const Entity &entity, llvm::StringRef name);
  // -- Merging.cpp
  std::optional<Entity> merge(const Entity &a, const Entity &b, Merging &merging);
  Value zeroOf(Type type, NodeId at);
  std::optional<Entity> escape(const Entity &entity, mlir::Block &from, llvm::SmallVector<Value> &values, NodeId at);
  std::optional<Entity> fill(const Entity &entity, unsigned side, Merging &merging);
  std::optional<Entity> mergeName(const Entity *a, const Entity *b, llvm::ArrayRef<Flow> flows, bool carried, Merging &merging);
  void bindMerged(Entity &entity, mlir::ValueRange results, size_t &next);
  bool same(const Entity &a, const Entity &b);
  FailureOr<Entity> runtimeChoice(Value condition, NodeId at, llvm::function_ref<FailureOr<Entity>()> makeThen,
                                  llvm::function_ref<FailureOr<Entity>()> makeElse);
  kir::IfOp openIf(Value condition, NodeId at);
  kir::IfOp closeIf(kir::IfOp open, Merging &merging, NodeId at);
  LogicalResult enterRegion(NodeId at);
  // -- Control.cpp
  std::vector<std::string> assignedNames(llvm::ArrayRef<NodeId> statements);
  void collectNames(llvm::ArrayRef<NodeId> statements, llvm::StringSet<> &names);
  Flow runIf(NodeId node);
  Flow branch(Value condition, NodeId at, llvm::ArrayRef<NodeId> statements, llvm::function_ref<Flow(unsigned)> lower);
  Flow runGuarded(const Flow &flow, llvm::ArrayRef<NodeId> rest, NodeId at);
  bool isPending(size_t from);
  bool needsFlag(Exit exit);
  Leave mergeLeaves(Exit exit, llvm::ArrayRef<Flow> flows, Merging &merging);
  Value leftBy(const Flow &flow, llvm::ArrayRef<Exit> exits, NodeId at);
  // -- Loops.cpp
  Flow runFor(NodeId node);
  Flow runWhile(NodeId node);
  Flow runOrdered(NodeId node, const Entity *domain);
  Flow closeOrdered(OrderedLoop &loop, const Flow &flow);
  void bindAfter(const OrderedLoop &loop, llvm::ArrayRef<Value> results);
  void stopCondition(OrderedLoop &loop, Value left);
  Flow runParallel(NodeId node, const Entity &parallel);
  LogicalResult checkConflicts(kir::ParallelOp loop, llvm::StringRef place); // Conflicts.cpp
  FailureOr<llvm::SmallVector<Type>> carryElements(OrderedLoop &loop);
  Flow loopBody(NodeId node, llvm::ArrayRef<std::string> assigned, llvm::ArrayRef<std::string> carried, bool parallel,
                const llvm::Twine &loop);
  FailureOr<Value> carriedValue(llvm::StringRef name, const Entity &entity, Type type, NodeId at);
  std::string placed(llvm::StringRef what, NodeId node);

  struct Leaf {
    Value value;
    bool published = false;
  };
  /// What a trial lowering put into a table.
  struct Entry {
    enum Table { Extent, Representative, Expression, Symbol } table;
    Value value;
    std::string key;                   // Expression
    mlir::Operation *symbol = nullptr; // Symbol
  };
  void enter(Entry entry) {
    if (trials) entered.push_back(std::move(entry));
  }
  void takeBack(size_t kept, size_t knownLeaves, mlir::Operation *trial);
  struct Checked {
    ExtentAttr a, b;
    mlir::Block *block;
  };
  const Request &request;
  mlir::MLIRContext *context;
  mlir::OpBuilder builder;
  kir::KernelOp kernel;
  std::deque<Frame> frames; // a call pushes one; references to the others stay
  std::map<std::string, Constant> constexprs;
  llvm::DenseMap<Value, ExtentAttr> extents;    // of index and i64 scalars
  llvm::DenseMap<Value, Value> representatives; // of equal scalar expressions
  std::map<std::string, llvm::SmallVector<Value, 1>> expressions;
  std::vector<Leaf> leaves; // atom "#k" is leaves[k] until `renameAtoms`
  std::vector<Checked> checked;
  std::vector<Entry> entered; // into the tables above, while a trial goes on
  unsigned trials = 0;
  llvm::StringSet<> symbols; // view symbols
  llvm::StringSet<> pinned;  // view symbols that the request gives a value
  unsigned depth = 0, regionDepth = 0, pureRegions = 0;
  unsigned folds = 0;                              // region folds and scans lowered so far: slice extents are "?s0", "?s1", ...
  llvm::StringRef pureRole = "a combine function"; // what has no effects while pureRegions is not zero
  llvm::DenseMap<Type, uint64_t> writes;           // lowered so far, by contents of the view: reads between two are equal
  uint64_t goneBlocks = 0;                         // whose addresses may be used again
  uint64_t work = 0;                               // evaluated nodes
};

/// The dtype that a sum has unless `acc_dtype` says otherwise.
Type widenedBySums(Type element);
/// The identity of a named reduction or scan.
mlir::TypedAttr identityOf(BinaryKind kind, Type element);
/// Whether an extent depends on how a region fold cuts its source.
bool dependsOnSlice(ExtentAttr extent);

} // namespace intent::frontend

#endif
