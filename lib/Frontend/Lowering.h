// Lowers one captured kernel to kernel IR: names, types, shape identity, broadcasting and compile-time evaluation.
#ifndef INTENT_FRONTEND_LOWERING_H
#define INTENT_FRONTEND_LOWERING_H

#include "Entity.h"
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

/// How a statement ends.
enum class Flow { Next, Returned, Failed };

/// One function being inlined.
struct Frame {
  const Function *function = nullptr;
  NodeId call = noNode; // where it was called, noNode for the kernel
  std::map<std::string, Entity> names;
  Entity result;
  unsigned loops = 0, parallels = 0; // that the statement stands in
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

/// Two branches being merged: what each yields, in one order.
struct Merging {
  Value condition;
  mlir::Block *blocks[2];
  llvm::SmallVector<Value> values[2];
  NodeId at = noNode;
  std::string problem; // why two entities have no common schema
};

class Lowering {
public:
  Lowering(const Request &request, mlir::MLIRContext *context) : request(request), context(context), builder(context) {}
  mlir::OwningOpRef<mlir::ModuleOp> run();

  using Handler = FailureOr<Entity> (Lowering::*)(Call &);

  // -- Frontend.cpp: the kernel's interface and diagnostics
private:
  mlir::Location location(NodeId node);
  mlir::Location extentOfText(NodeId node);
  mlir::InFlightDiagnostic error(NodeId node);
  mlir::InFlightDiagnostic unsupported(NodeId node);
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
  FailureOr<Shape> broadcastShapes(llvm::ArrayRef<Operand> operands, llvm::ArrayRef<Value> values, NodeId at);
  Value repeat(Value value, llvm::ArrayRef<ExtentAttr> shape, llvm::ArrayRef<int64_t> axes, NodeId at);
  Value broadcastTo(Value value, llvm::ArrayRef<ExtentAttr> shape, NodeId at);
  Value relabel(Value tensor, llvm::ArrayRef<ExtentAttr> shape, NodeId at);
  void renameAtoms(mlir::ModuleOp module);

  // -- Expressions.cpp
  FailureOr<Entity> evaluate(NodeId node);
  FailureOr<Entity> evaluateNode(NodeId node);
  FailureOr<Entity> lookUp(llvm::StringRef name, NodeId at);
  FailureOr<Entity> meaningOf(const Meaning &meaning, NodeId at);
  FailureOr<Entity> evaluateAttribute(NodeId node);
  FailureOr<Entity> evaluateIfExp(NodeId node);
  FailureOr<Entity> evaluateBoolOp(NodeId node);
  FailureOr<Entity> evaluateTuple(NodeId node);
  FailureOr<Entity> constantEntity(const Constant &constant);
  std::string describe(const Entity &entity);
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
  FailureOr<llvm::SmallVector<Value>> resolveIndices(llvm::ArrayRef<ExtentAttr> shape, const Entity &base, llvm::ArrayRef<IndexItem> items,
                                                     NodeId at);
  FailureOr<Value> indexValue(const IndexItem &item, ExtentAttr extent, unsigned axis);
  FailureOr<Entity> readItems(const Entity &base, llvm::ArrayRef<IndexItem> items, NodeId at);
  LogicalResult writeItems(const Entity &base, llvm::ArrayRef<IndexItem> items, const Entity &value, NodeId at, NodeId valueNode);
  FailureOr<Entity> subregion(const Entity &base, const IndexItem &item, NodeId at);
  FailureOr<Entity> productItem(const Entity &base, llvm::ArrayRef<IndexItem> items, NodeId at);

  // -- Calls.cpp
  FailureOr<Entity> evaluateCall(NodeId node);
  FailureOr<Entity> apply(const Entity &callee, llvm::ArrayRef<Entity> arguments, llvm::ArrayRef<NodeId> nodes, NodeId at);
  FailureOr<Entity> callIntrinsic(const Entity &callee, llvm::ArrayRef<Argument> arguments, NodeId at);
  FailureOr<Entity> callFunction(const Entity &callee, llvm::ArrayRef<Argument> arguments, NodeId at);
  FailureOr<Entity> callRange(llvm::ArrayRef<Argument> arguments, NodeId at);
  FailureOr<Entity> bindParameter(const Parameter &parameter, const Entity &argument, NodeId at);
  LogicalResult bindArguments(const Intrinsic &intrinsic, llvm::ArrayRef<Argument> arguments, Call &call);

public:
  // -- handlers of intrinsics: Regions.cpp
  FailureOr<Entity> lowerDomain(Call &call);
  FailureOr<Entity> lowerParallel(Call &call);
  FailureOr<Entity> lowerIndices(Call &call);
  FailureOr<Entity> lowerEnd(Call &call);
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
  // -- Contractions.cpp
  FailureOr<Entity> lowerContract(Call &call);
  FailureOr<Entity> lowerMatmul(Call &call);
  FailureOr<Entity> lowerMatvec(Call &call);
  FailureOr<Entity> lowerVecmat(Call &call);
  FailureOr<Entity> lowerDot(Call &call);
  FailureOr<Entity> lowerOuter(Call &call);

private:
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
  Entity rebuild(const Entity &like, llvm::ArrayRef<Value> leaves, size_t &next);
  LogicalResult matchStructure(const Entity &like, const Entity &entity, NodeId at, const llvm::Twine &what);
  struct Axes {
    llvm::SmallVector<int64_t> lhs, rhs;
  };
  FailureOr<Axes> axisPairs(const Entity &entity, size_t lhsRank, size_t rhsRank, NodeId at, llvm::StringRef what);
  FailureOr<Entity> contract(Value lhs, Value rhs, Axes reduce, Axes batch, Type acc, NodeId at);
  LogicalResult contractOperands(Call &call, Value &lhs, Value &rhs, Type &acc);
  FailureOr<Entity> batched(Call &call, unsigned lhsRank, unsigned rhsRank, bool lhsTransposed, bool rhsTransposed);

  // -- Statements.cpp and Control.cpp
  Flow runBlock(llvm::ArrayRef<NodeId> statements);
  Flow runStatement(NodeId node);
  Flow assign(NodeId target, const Entity &value, NodeId valueNode);
  Flow runAugAssign(NodeId node);
  Flow runReturn(NodeId node);
  void nameValue(const Entity &entity, llvm::StringRef name);
  Flow runIf(NodeId node);
  Flow runRuntimeIf(NodeId node, Value condition);
  Flow runFor(NodeId node);
  Flow runOrdered(NodeId node, const Entity &domain);
  Flow runParallel(NodeId node, const Entity &parallel);
  std::vector<std::string> assignedNames(llvm::ArrayRef<NodeId> statements);
  FailureOr<Entity> runtimeChoice(Value condition, NodeId at, llvm::function_ref<FailureOr<Entity>()> makeThen,
                                  llvm::function_ref<FailureOr<Entity>()> makeElse);
  std::optional<Entity> merge(const Entity &a, const Entity &b, Merging &merging);
  void bindMerged(Entity &entity, mlir::ValueRange results, size_t &next);
  bool same(const Entity &a, const Entity &b);
  LogicalResult enterRegion(NodeId at);
  kir::IfOp openIf(Value condition, NodeId at);
  kir::IfOp closeIf(kir::IfOp open, Merging &merging, NodeId at);
  FailureOr<llvm::SmallVector<Type>> carryElements(NodeId node, const Entity &domain, llvm::ArrayRef<std::string> carried);
  LogicalResult loopBody(NodeId node, mlir::Block &body, llvm::ArrayRef<std::string> assigned, llvm::ArrayRef<std::string> carried,
                         const llvm::Twine &loop);
  FailureOr<Value> carriedValue(llvm::StringRef name, const Entity &entity, Type type, NodeId at);
  std::string placed(llvm::StringRef what, NodeId node);

  struct Leaf {
    Value value;
    bool published = false;
  };
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
  llvm::StringSet<> symbols; // view symbols
  llvm::StringSet<> pinned;  // view symbols that the request gives a value
  unsigned depth = 0, regionDepth = 0, pureRegions = 0;
  uint64_t writes = 0; // lowered so far: reads between two are equal
  uint64_t work = 0;   // evaluated nodes
};

} // namespace intent::frontend

#endif
