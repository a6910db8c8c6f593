// The built-in target descriptions: one table of hardware, one of providers, one of features.
#include "intent/Target/Capabilities.h"

#include "intent/IR/Language.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace intent;

namespace {

using Names = ArrayRef<StringLiteral>;
constexpr int64_t unbounded = int64_t(1) << 62;

//===- hardware ----------------------------------------------------------------------------------------===//

constexpr StringLiteral dtypesF8[] = {"bool", "index", "i8",       "i16",    "i32", "i64",  "u8",  "u16",
                                      "u32",  "u64",   "f8e4m3fn", "f8e5m2", "f16", "bf16", "f32", "f64"};
constexpr StringLiteral dtypesE5m2[] = {"bool", "index", "i8",     "i16", "i32",  "i64", "u8", "u16",
                                        "u32",  "u64",   "f8e5m2", "f16", "bf16", "f32", "f64"};
constexpr StringLiteral dtypesNoF8[] = {"bool", "index", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"};
constexpr StringLiteral dtypesMlu370[] = {"bool", "index", "i8", "i16", "i32", "u8", "u16", "u32", "f16", "f32"};
constexpr StringLiteral dtypesMlu590[] = {"bool", "index", "i8", "i16", "i32", "u8", "u16", "u32", "f16", "bf16", "f32"};

// Operands and accumulators with a matrix unit, or a loop of the provider's that it takes for one.
constexpr StringLiteral contractPlain[] = {"f16->f32", "f16->f16", "bf16->f32", "f32->f32", "f64->f64", "i8->i32"};
constexpr StringLiteral contractF8[] = {"f16->f32", "f16->f16",      "bf16->f32",     "f32->f32",    "f64->f64",
                                        "i8->i32",  "f8e4m3fn->f32", "f8e4m3fn->f16", "f8e5m2->f32", "f8e5m2->f16"};
constexpr StringLiteral contractNoF64[] = {"f16->f32", "f16->f16", "bf16->f32", "f32->f32", "i8->i32"};
constexpr StringLiteral contractRdna4[] = {"f16->f32",      "f16->f16",      "bf16->f32",   "f32->f32",   "i8->i32",
                                           "f8e4m3fn->f32", "f8e4m3fn->f16", "f8e5m2->f32", "f8e5m2->f16"};
constexpr StringLiteral contractMlu370[] = {"f16->f32", "f16->f16", "f32->f32"};
constexpr StringLiteral contractMlu590[] = {"f16->f32", "f16->f16", "bf16->f32", "f32->f32"};
constexpr StringLiteral contractAny[] = {"any"};

// Formats that a scaled contraction takes; where the unit is missing the provider widens to bf16.
constexpr StringLiteral formatsAll[] = {"e2m1", "e4m3", "e5m2", "bf16", "fp16"};
constexpr StringLiteral formatsWide[] = {"e4m3", "e5m2", "bf16", "fp16"};

struct Hardware {
  StringLiteral arch;
  int64_t warpSize, maxWarps, sharedMemory, registers, maxCtas;
  bool descriptors;
  Names elements, contract, formats;
};

const Hardware hardware[] = {
    // NVIDIA: shared memory is what one block may opt in to; clusters and tensor descriptors exist from sm_90.
    {"sm_80", 32, 32, 166912, 65536, 1, false, dtypesE5m2, contractPlain, formatsWide},
    {"sm_86", 32, 32, 101376, 65536, 1, false, dtypesE5m2, contractPlain, formatsWide},
    {"sm_89", 32, 32, 101376, 65536, 1, false, dtypesF8, contractF8, formatsWide},
    {"sm_90", 32, 32, 232448, 65536, 8, true, dtypesF8, contractF8, formatsWide},
    {"sm_100", 32, 32, 232448, 65536, 8, true, dtypesF8, contractF8, formatsAll},
    {"sm_103", 32, 32, 232448, 65536, 8, true, dtypesF8, contractF8, formatsAll},
    {"sm_120", 32, 32, 101376, 65536, 1, true, dtypesF8, contractF8, formatsAll},
    // AMD: OCP f8 values are emulated before gfx950, f8 matrix units exist from gfx950 and gfx1201. Triton 3.6 has no form for the f64 unit
    // of gfx942.
    {"gfx90a", 64, 16, 65536, 131072, 1, false, dtypesF8, contractPlain, formatsWide},
    {"gfx942", 64, 16, 65536, 131072, 1, false, dtypesF8, contractNoF64, formatsWide},
    {"gfx950", 64, 16, 163840, 131072, 1, false, dtypesF8, contractF8, formatsAll},
    {"gfx1100", 32, 32, 65536, 196608, 1, false, dtypesF8, contractNoF64, formatsWide},
    {"gfx1201", 32, 32, 65536, 196608, 1, false, dtypesF8, contractRdna4, formatsWide},
    // MLU370 and MLU590: the shared memory is the usable part of one core's NRAM.
    {"mtp_372", 1, 1, 655360, 0, 1, false, dtypesMlu370, contractMlu370, {}},
    {"mtp_592", 1, 1, 393216, 0, 1, false, dtypesMlu590, contractMlu590, {}},
    // The host: any dtype, fragments in cache.
    {"native", 1, 1, unbounded, unbounded, 1, false, dtypesF8, contractAny, formatsAll},
};

//===- providers ---------------------------------------------------------------------------------------===//

constexpr StringLiteral nvidiaAndAmd[] = {"sm_80",  "sm_86",  "sm_89",  "sm_90",  "sm_100",  "sm_103",
                                          "sm_120", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"};
constexpr StringLiteral nvidia[] = {"sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120"};
constexpr StringLiteral mlu[] = {"mtp_372", "mtp_592"};
constexpr StringLiteral native[] = {"native"};

constexpr StringLiteral allPrimitives[] = {"reduce", "scan", "contract", "scaled_contract", "histogram", "gather", "atomic"};
constexpr StringLiteral cutilePrimitives[] = {"reduce", "scan", "contract", "scaled_contract", "gather", "atomic"};
constexpr StringLiteral bangPrimitives[] = {"reduce", "contract", "atomic"};

constexpr StringLiteral tritonForms[] = {"pointer", "descriptor"};
constexpr StringLiteral cutileForms[] = {"tile", "gather"};
constexpr StringLiteral arrayForms[] = {"array"};

// Dtypes of the atomic operations, in the order of the feature names.
struct Atomics {
  Names add, maximum, bitwise, exchange, cas;
};
constexpr StringLiteral tritonAdd[] = {"f16", "bf16", "f32", "f64", "i32", "i64", "u32", "u64"};
constexpr StringLiteral tritonMax[] = {"f32", "f64", "i32", "i64", "u32", "u64"};
constexpr StringLiteral wideIntegers[] = {"i32", "i64", "u32", "u64"};
constexpr StringLiteral wideNumbers[] = {"i32", "i64", "u32", "u64", "f32", "f64"};
constexpr StringLiteral tritonCas[] = {"i16", "i32", "i64", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"};
constexpr StringLiteral hostNumbers[] = {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"};
constexpr StringLiteral hostIntegers[] = {"bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"};
constexpr StringLiteral bangNumbers[] = {"f16", "f32"};

struct ProviderSurface {
  StringLiteral name;
  Names architectures;
  int64_t gridX, gridYZ, fragmentElements, fragmentLimit, serialElements, finishElements;
  int64_t minimumK, minimumK8;
  bool powerOfTwo, orderedLanes;
  Names primitives, forms;
  Atomics atomics;
};

const ProviderSurface providers[] = {
    {"triton",
     nvidiaAndAmd,
     2147483647,
     65535,
     65536,
     1048576,
     65536,
     1048576,
     16,
     32,
     true,
     false,
     allPrimitives,
     tritonForms,
     {tritonAdd, tritonMax, wideIntegers, wideNumbers, tritonCas}},
    {"cutile",
     nvidia,
     16777215,
     16777215,
     65536,
     16777216,
     65536,
     1048576,
     1,
     1,
     true,
     false,
     cutilePrimitives,
     cutileForms,
     {tritonAdd, wideIntegers, wideIntegers, wideNumbers, wideNumbers}},
    {"bangc",
     mlu,
     2147483647,
     65535,
     65536,
     1048576,
     65536,
     1048576,
     1,
     1,
     false,
     true,
     bangPrimitives,
     arrayForms,
     {bangNumbers, bangNumbers, {}, {}, {}}},
    // Fragments of the host are arrays in cache, its instances run whole ranges, and one instance may do any work.
    {"host",
     native,
     unbounded,
     1,
     65536,
     unbounded,
     unbounded,
     unbounded,
     1,
     1,
     true,
     true,
     allPrimitives,
     arrayForms,
     {hostNumbers, hostNumbers, hostIntegers, hostNumbers, hostNumbers}},
};

//===- features ----------------------------------------------------------------------------------------===//

// What one feature of a (provider, hardware) pair is; exactly one accessor is set.
struct Feature {
  StringLiteral name;
  int64_t (*integer)(const ProviderSurface &, const Hardware &);
  bool (*boolean)(const ProviderSurface &, const Hardware &);
  Names (*list)(const ProviderSurface &, const Hardware &);
};

// cuTile takes f8 only from sm_90, where tensor descriptors begin too.
bool lacksF8(const ProviderSurface &p, const Hardware &h) { return p.name == "cutile" && !h.descriptors; }

#define INTEGER(name, value) {name, [](const ProviderSurface &p, const Hardware &h) -> int64_t { return value; }, nullptr, nullptr}
#define BOOLEAN(name, value) {name, nullptr, [](const ProviderSurface &p, const Hardware &h) -> bool { return value; }, nullptr}
#define LIST(name, value) {name, nullptr, nullptr, [](const ProviderSurface &p, const Hardware &h) -> Names { return value; }}
const Feature features[] = {
    INTEGER("grid_x_limit", p.gridX),
    INTEGER("grid_y_limit", p.gridYZ),
    INTEGER("grid_z_limit", p.gridYZ),
    INTEGER("fragment_elements", p.fragmentElements),
    INTEGER("fragment_limit", p.fragmentLimit),
    INTEGER("serial_elements", p.serialElements),
    INTEGER("finish_elements", p.finishElements),
    INTEGER("warp_size", h.warpSize),
    INTEGER("max_warps", h.maxWarps),
    INTEGER("max_ctas", h.maxCtas),
    INTEGER("shared_memory_per_block", h.sharedMemory),
    INTEGER("registers_per_block", h.registers),
    INTEGER("contract_minimum_k", StringRef(h.arch).starts_with("gfx") ? 1 : p.minimumK),
    INTEGER("contract_minimum_k_8bit", StringRef(h.arch).starts_with("gfx") ? 1 : p.minimumK8),
    // Triton 3.6 compiles an exchange of several lanes a thread for NVIDIA only.
    INTEGER("exchange_lanes_per_thread", p.name == "triton" && StringRef(h.arch).starts_with("gfx") ? 1 : unbounded),
    // A barrier of gfx9 waits for waves and not for their stores.
    BOOLEAN("release_needs_drain", p.name == "triton" && StringRef(h.arch).starts_with("gfx9")),
    BOOLEAN("descriptors", h.descriptors),
    BOOLEAN("power_of_two_fragments", p.powerOfTwo),
    BOOLEAN("ordered_lanes", p.orderedLanes),
    LIST("element_dtypes", lacksF8(p, h) ? Names(dtypesNoF8) : h.elements),
    LIST("contractions", lacksF8(p, h) ? Names(contractPlain) : h.contract),
    LIST("matrix_formats", h.formats),
    LIST("atomic_add", p.atomics.add),
    LIST("atomic_max", p.atomics.maximum),
    LIST("atomic_bitwise", p.atomics.bitwise),
    LIST("atomic_exchange", p.atomics.exchange),
    LIST("atomic_cas", p.atomics.cas),
    LIST("primitives", p.primitives),
    LIST("provider_forms", p.forms),
};
#undef INTEGER
#undef BOOLEAN
#undef LIST

const Feature *findFeature(StringRef name) {
  const auto *it = llvm::find_if(features, [&](const Feature &f) { return f.name == name; });
  return it == std::end(features) ? nullptr : it;
}
const ProviderSurface *findProvider(StringRef name) {
  const auto *it = llvm::find_if(providers, [&](const ProviderSurface &p) { return p.name == name; });
  return it == std::end(providers) ? nullptr : it;
}
const Hardware *findHardware(StringRef arch) {
  const auto *it = llvm::find_if(hardware, [&](const Hardware &h) { return h.arch == arch; });
  return it == std::end(hardware) ? nullptr : it;
}

Attribute builtinValue(Builder &b, const Feature &feature, const ProviderSurface &p, const Hardware &h) {
  if (feature.integer) return b.getI64IntegerAttr(feature.integer(p, h));
  if (feature.boolean) return b.getBoolAttr(feature.boolean(p, h));
  SmallVector<Attribute> items;
  for (StringRef item : feature.list(p, h))
    items.push_back(b.getStringAttr(item));
  return b.getArrayAttr(items);
}

// The attribute of an override, or null if it has another type than the feature.
Attribute overrideValue(Builder &b, const Feature &feature, const llvm::json::Value &value) {
  if (feature.integer) {
    std::optional<int64_t> integer = value.getAsInteger();
    return integer && *integer >= 0 && *integer <= unbounded ? b.getI64IntegerAttr(*integer) : Attribute();
  }
  if (feature.boolean) {
    std::optional<bool> boolean = value.getAsBoolean();
    return boolean ? b.getBoolAttr(*boolean) : Attribute();
  }
  SmallVector<Attribute> items;
  if (std::optional<StringRef> text = value.getAsString()) {
    for (StringRef item : llvm::split(*text, ','))
      if (!item.trim().empty()) items.push_back(b.getStringAttr(item.trim()));
    return b.getArrayAttr(items);
  }
  const llvm::json::Array *list = value.getAsArray();
  if (!list) return {};
  for (const llvm::json::Value &item : *list) {
    std::optional<StringRef> text = item.getAsString();
    if (!text) return {};
    items.push_back(b.getStringAttr(*text));
  }
  return b.getArrayAttr(items);
}

StringRef kindName(const Feature &feature) {
  return feature.integer ? "an integer from 0 to 2^62" : feature.boolean ? "true or false" : "a list of strings, or one string with commas";
}

} // namespace

FailureOr<block::TargetAttr> intent::resolveTarget(Location location, StringRef provider, StringRef arch,
                                                   const llvm::json::Object &overrides) {
  const ProviderSurface *p = findProvider(provider);
  if (!p)
    return emitError(location) << "configuration: unknown provider '" << provider
                               << "' of the target: expected triton, cutile, bangc or host";
  if (arch.empty() && p->architectures.size() == 1) arch = p->architectures.front();
  if (!llvm::is_contained(p->architectures, arch))
    return emitError(location) << "configuration: unknown architecture '" << arch << "' of target '" << provider << "': expected one of "
                               << llvm::join(p->architectures, ", ");
  Builder b(location.getContext());
  NamedAttrList list;
  for (const Feature &feature : features)
    list.append(feature.name, builtinValue(b, feature, *p, *findHardware(arch)));
  for (const auto &entry : overrides) {
    StringRef name(entry.first);
    const Feature *feature = findFeature(name);
    if (!feature) return emitError(location) << "configuration: unknown feature '" << name << "' of target '" << provider << "'";
    Attribute value = overrideValue(b, *feature, entry.second);
    if (!value)
      return emitError(location) << "configuration: feature '" << name << "' of target '" << provider << "': expected "
                                 << kindName(*feature);
    list.set(feature->name, value);
  }
  return block::TargetAttr::get(location.getContext(), b.getStringAttr(provider), b.getStringAttr(arch),
                                list.getDictionary(location.getContext()));
}

FailureOr<block::TargetAttr> intent::resolveTarget(Location location, StringRef spelling) {
  auto [provider, arch] = spelling.split(':');
  return resolveTarget(location, provider, arch);
}

int64_t intent::getIntFeature(block::TargetAttr target, StringRef feature) {
  auto value = dyn_cast_or_null<IntegerAttr>(target.getFeatures().get(feature));
  if (value && !isa<IndexType>(value.getType()) && value.getValue().getSignificantBits() <= 64) return value.getValue().getSExtValue();
  return feature.starts_with("contract_minimum") ? 1 : unbounded;
}

bool intent::hasFeature(block::TargetAttr target, StringRef feature) {
  auto value = dyn_cast_or_null<BoolAttr>(target.getFeatures().get(feature));
  return value && value.getValue();
}

bool intent::featureAllows(block::TargetAttr target, StringRef feature, StringRef item) {
  auto list = dyn_cast_or_null<ArrayAttr>(target.getFeatures().get(feature));
  if (!list) return true;
  return llvm::any_of(list, [&](Attribute a) {
    auto text = dyn_cast<StringAttr>(a);
    return text && text.getValue() == item;
  });
}

std::string intent::contractionName(Type operands, Type accumulator) { return (dtypeName(operands) + "->" + dtypeName(accumulator)).str(); }

bool intent::hasContraction(block::TargetAttr target, Type operands, Type accumulator) {
  return featureAllows(target, "contractions", "any") || featureAllows(target, "contractions", contractionName(operands, accumulator));
}

SmallVector<StringRef> intent::architecturesWith(StringRef provider, StringRef name, StringRef item) {
  SmallVector<StringRef> result;
  const ProviderSurface *p = findProvider(provider);
  const Feature *feature = findFeature(name);
  if (!p || !feature || !feature->list) return result;
  for (StringRef arch : p->architectures)
    if (llvm::is_contained(feature->list(*p, *findHardware(arch)), item)) result.push_back(arch);
  return result;
}

void intent::nameFeature(InFlightDiagnostic &error, StringRef feature) {
  if (Diagnostic *diagnostic = error.getUnderlyingDiagnostic())
    diagnostic->getMetadata().emplace_back(StringAttr::get(diagnostic->getLocation().getContext(), feature));
}

block::TargetAttr intent::targetOf(Operation *op) {
  for (; op; op = op->getParentOp())
    if (auto target = op->getAttrOfType<block::TargetAttr>(targetAttributeName)) return target;
  return {};
}
