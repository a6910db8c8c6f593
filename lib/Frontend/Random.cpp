// Counter-based random numbers: Philox4x32-10 as integer arithmetic (numerics.md section 5).
#include "Expansion.h"

using namespace mlir;
using namespace intent;
using namespace intent::frontend;

/// Word `counter % 4` of block `counter / 4` under the key that the seed's halves are.
FailureOr<Value> Lowering::philox(Call &call) {
  std::string operation = ("I." + call.intrinsic->path).str();
  Expansion e{*this, call.node};
  Type u32 = e.type("u32"), u64 = e.type("u64");
  Value words[2];
  for (unsigned i = 0; i < 2; ++i) {
    StringRef role = i == 0 ? "seed" : "logical_counter";
    FailureOr<Value> value = asValue(call[i], call.nodes[i], call[i].isNumber() ? u64 : Type());
    if (failed(value)) return failure();
    Type element = kir::elementType(value->getType());
    if (!isa<IntegerType, IndexType>(element) || element.isInteger(1))
      return error(call.nodes[i]) << operation << ": " << role << ": expected an integer, got " << describe(call[i]);
    if (i == 0) {
      if (!kir::shapeOf(value->getType()).empty())
        return error(call.nodes[i]) << operation << ": seed: expected an integer scalar, got " << describe(call[i]);
      value = scalarOf(*value, call.nodes[i]);
    } else if (request.check && !isUnsignedInteger(element))
      require(*value, indexConstant(0, call.node), {}, call.nodes[i], "random counter");
    words[i] = e.cast(*value, u64);
  }
  Value seed = words[0], counter = words[1];
  Value key[2] = {e.cast(seed, u32), e.cast(e.shr(seed, 32), u32)};
  Value block = e.shr(counter, 2), zero = e.as(e.constant(u32, 0), counter);
  Value c[4] = {e.cast(block, u32), e.cast(e.shr(block, 32), u32), zero, zero};
  for (unsigned round = 0; round < 10; ++round) {
    Value first = e.mul(e.cast(c[0], u64), 0xD2511F53), second = e.mul(e.cast(c[2], u64), 0xCD9E8D57);
    auto high = [&](Value product) { return e.cast(e.shr(product, 32), u32); };
    Value next[4] = {e.exclusive(e.exclusive(high(second), c[1]), key[0]), e.cast(second, u32),
                     e.exclusive(e.exclusive(high(first), c[3]), key[1]), e.cast(first, u32)};
    std::copy(std::begin(next), std::end(next), std::begin(c));
    if (round == 9) break;
    key[0] = e.add(key[0], 0x9E3779B9);
    key[1] = e.add(key[1], 0xBB67AE85);
  }
  Value word = e.bits(counter, 3);
  auto is = [&](int64_t number) { return e.compare(ComparePredicate::Eq, word, number); };
  return e.select(is(0), c[0], e.select(is(1), c[1], e.select(is(2), c[2], c[3])));
}

FailureOr<Entity> Lowering::lowerRandomBits(Call &call) {
  FailureOr<Value> bits = philox(call);
  if (failed(bits)) return failure();
  return Entity::ofValue(*bits);
}

/// `f32(bits >> 8) * 2^-24`: both steps are exact.
FailureOr<Entity> Lowering::lowerRandomUniform(Call &call) {
  FailureOr<Type> dtype = accDtype(call, 2, builder.getF32Type());
  if (failed(dtype)) return failure();
  if (!dtype->isF32()) return error(call.nodes[2]) << "I.random.uniform: dtype: expected f32, got " << dtypeName(*dtype);
  FailureOr<Value> bits = philox(call);
  if (failed(bits)) return failure();
  Expansion e{*this, call.node};
  return Entity::ofValue(e.mul(e.cast(e.shr(*bits, 8), "f32"), e.real(*dtype, 0x1p-24)));
}
