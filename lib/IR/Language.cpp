#include "intent/IR/Verify.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

#include "intent/IR/LanguageEnums.cpp.inc"

namespace intent {

// One table for the language's element types: spelling, type, bytes in memory.
namespace {
struct Dtype {
  StringRef name;
  Type (*make)(MLIRContext *);
  unsigned bytes;
};
template <unsigned width, IntegerType::SignednessSemantics sign>
Type makeInteger(MLIRContext *context) {
  return IntegerType::get(context, width, sign);
}
template <typename T>
Type makeType(MLIRContext *context) {
  return T::get(context);
}

constexpr auto signless = IntegerType::Signless;
constexpr auto unsignedInteger = IntegerType::Unsigned;
const Dtype dtypes[] = {
    {"bool", makeInteger<1, signless>, 1},
    {"index", makeType<IndexType>, 8},
    {"i8", makeInteger<8, signless>, 1},
    {"i16", makeInteger<16, signless>, 2},
    {"i32", makeInteger<32, signless>, 4},
    {"i64", makeInteger<64, signless>, 8},
    {"u8", makeInteger<8, unsignedInteger>, 1},
    {"u16", makeInteger<16, unsignedInteger>, 2},
    {"u32", makeInteger<32, unsignedInteger>, 4},
    {"u64", makeInteger<64, unsignedInteger>, 8},
    {"f8e4m3fn", makeType<Float8E4M3FNType>, 1},
    {"f8e5m2", makeType<Float8E5M2Type>, 1},
    {"f16", makeType<Float16Type>, 2},
    {"bf16", makeType<BFloat16Type>, 2},
    {"f32", makeType<Float32Type>, 4},
    {"f64", makeType<Float64Type>, 8},
};
const Dtype *findDtype(Type type) {
  for (const Dtype &d : dtypes)
    if (d.make(type.getContext()) == type) return &d;
  return nullptr;
}
} // namespace

bool isScalarType(Type type) { return findDtype(type) != nullptr; }

bool isDefinedOn(UnaryKind kind, Type element) {
  if (kind == UnaryKind::Not) return !isa<FloatType>(element);
  return isa<FloatType>(element) || kind == UnaryKind::Neg || kind == UnaryKind::Abs;
}
bool isDefinedOn(BinaryKind kind, Type element) {
  if (llvm::is_contained({BinaryKind::Div, BinaryKind::Pow}, kind)) return isa<FloatType>(element);
  bool bitwise = llvm::is_contained({BinaryKind::And, BinaryKind::Or, BinaryKind::Xor, BinaryKind::Shl, BinaryKind::Shr}, kind);
  return !bitwise || !isa<FloatType>(element);
}
bool isDefinedOn(AtomicKind kind, Type element) {
  if (llvm::is_contained({AtomicKind::And, AtomicKind::Or, AtomicKind::Xor}, kind)) return !isa<FloatType>(element);
  return kind != AtomicKind::Add || !element.isInteger(1);
}

bool mayApproximate(UnaryKind kind, Type element) {
  return element.isF32() && llvm::is_contained({UnaryKind::Exp2, UnaryKind::Tanh}, kind);
}
bool mayApproximate(BinaryKind kind, Type element) { return element.isF32() && kind == BinaryKind::Div; }

template <typename Kind>
static LogicalResult verifyKind(Operation *op, Kind kind, StringRef name, Type element, bool approximate, bool flushToZero,
                                StringRef approximable) {
  if (!isDefinedOn(kind, element)) return op->emitOpError("C1: ") << name << " does not take " << dtypeName(element);
  if (flushToZero && !approximate) return op->emitOpError("C2: ftz needs approximate");
  if (approximate && !mayApproximate(kind, element)) return op->emitOpError("C3: only ") << approximable << " may be approximate";
  return success();
}
LogicalResult verifyFunction(Operation *op, UnaryKind kind, Type element, bool approximate, bool flushToZero) {
  return verifyKind(op, kind, stringifyUnaryKind(kind), element, approximate, flushToZero, "f32 exp2 and tanh");
}
LogicalResult verifyFunction(Operation *op, BinaryKind kind, Type element, bool approximate, bool flushToZero) {
  return verifyKind(op, kind, stringifyBinaryKind(kind), element, approximate, flushToZero, "f32 div");
}

LogicalResult verifySingleOperands(Operation *op, ArrayRef<unsigned> segments, ArrayRef<int32_t> sizes) {
  for (unsigned segment : segments)
    if (sizes[segment] != 1) return op->emitOpError("expected one value in operand segment ") << segment << ", got " << sizes[segment];
  return success();
}

bool isUnsignedInteger(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  return integer && (integer.isUnsigned() || integer.getWidth() == 1);
}

StringRef dtypeName(Type type) {
  const Dtype *d = findDtype(type);
  return d ? d->name : StringRef("?");
}

Type parseDtype(MLIRContext *context, StringRef name) {
  for (const Dtype &d : dtypes)
    if (d.name == name) return d.make(context);
  return {};
}

unsigned storageBytes(Type type) {
  const Dtype *d = findDtype(type);
  return d ? d->bytes : 0;
}

TypedAttr integerConstant(Type type, int64_t value) {
  if (isa<IndexType>(type)) return IntegerAttr::get(type, value);
  unsigned width = cast<IntegerType>(type).getWidth();
  return IntegerAttr::get(type, APInt(width, static_cast<uint64_t>(value), /*isSigned=*/false, /*implicitTrunc=*/true));
}

TypedAttr floatConstant(Type type, double value) { return FloatAttr::get(type, value); }

TypedAttr zeroConstant(Type type) { return isa<FloatType>(type) ? floatConstant(type, 0.0) : integerConstant(type, 0); }

bool keepsZero(BinaryKind kind) {
  return llvm::is_contained({BinaryKind::Add, BinaryKind::Sub, BinaryKind::Mul, BinaryKind::And, BinaryKind::Or, BinaryKind::Xor}, kind);
}

} // namespace intent
