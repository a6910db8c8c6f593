// Code of the host backend without running it. The host library is loaded only here: it carries a code generator that
// no other form needs.
#include "HostEmit.h"

#include "intent-c/intent.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"
#include <cstdint>
#include <dlfcn.h>
#include <vector>

using namespace llvm;

namespace {

struct HostLibrary {
  decltype(&intent_host_load) load = nullptr;
  decltype(&intent_host_emit) emit = nullptr;
  decltype(&intent_host_destroy) destroy = nullptr;

  // The library lies beside the compiler library.
  bool open(std::string &error) {
    Dl_info info;
    if (!dladdr(reinterpret_cast<void *>(&intent_compile), &info) || !info.dli_fname)
      return error = "the compiler library has no path", false;
    SmallString<128> path(info.dli_fname);
    sys::path::remove_filename(path);
    sys::path::append(path, "libintent-host.so");
    void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) return error = dlerror(), false;
    load = reinterpret_cast<decltype(load)>(dlsym(handle, "intent_host_load"));
    emit = reinterpret_cast<decltype(emit)>(dlsym(handle, "intent_host_emit"));
    destroy = reinterpret_cast<decltype(destroy)>(dlsym(handle, "intent_host_destroy"));
    if (load && emit && destroy) return true;
    return error = path.str().str() + " lacks a function of intent.h", false;
  }
};

// Extents that are an integer or a bare symbol; composed ones cannot be inferred by anyone and stay what the symbols say.
int64_t extentOf(const json::Value &item, const std::map<std::string, int64_t> &symbols, int64_t otherwise) {
  if (std::optional<int64_t> number = item.getAsInteger()) return *number;
  StringRef text = item.getAsString().value_or("");
  if (text.consume_front("\"") && text.consume_back("\"")) {
    auto found = symbols.find(text.str());
    if (found != symbols.end()) return found->second;
  }
  return otherwise;
}

} // namespace

std::string emitHostCode(const std::string &mlir, const json::Object &metadata, const std::string &form, unsigned row,
                         const std::map<std::string, int64_t> &symbols, std::string &error) {
  HostLibrary library;
  if (!library.open(error)) return {};
  char reason[4096] = "";
  intent_host_kernel *kernel = library.load(mlir.data(), mlir.size(), row, reason, sizeof reason);
  if (!kernel) return error = reason, std::string();

  // Nothing is run: the addresses only have to be there.
  alignas(64) static char data[64];
  std::vector<std::vector<int64_t>> shapes, strides;
  std::vector<intent_host_argument> arguments;
  const json::Array *params = metadata.getArray("params");
  for (const json::Value &param : params ? *params : json::Array()) {
    std::vector<int64_t> &shape = shapes.emplace_back(), &stride = strides.emplace_back();
    const json::Array *extents = param.getAsObject() ? param.getAsObject()->getArray("shape") : nullptr;
    for (const json::Value &extent : extents ? *extents : json::Array())
      shape.push_back(extentOf(extent, symbols, 1024));
    stride.assign(shape.size(), 1);
    for (size_t i = shape.size(); i-- > 1;)
      stride[i - 1] = stride[i] * shape[i];
  }
  for (size_t i = 0; i < shapes.size(); ++i)
    arguments.push_back({data, shapes[i].data(), strides[i].data()});
  const char *text = library.emit(kernel, form.c_str(), arguments.data(), arguments.size());
  std::string result = text ? text : "";
  if (!text) error = "the host backend has no '" + form + "' form of this program";
  library.destroy(kernel);
  return result;
}
