// The C interface of libintent-host.so.
#include "BuildId.h"
#include "Kernel.h"
#include "ThreadPool.h"
#include "llvm/Config/llvm-config.h"

using namespace intent::host;

struct intent_host_kernel {
  std::unique_ptr<Kernel> kernel;
};

static void report(llvm::Error error, char *text, size_t size) {
  std::string reason = llvm::toString(std::move(error));
  if (text && size) snprintf(text, size, "%s", reason.c_str());
}

extern "C" {

const char *intent_host_build_info(void) {
  static const std::string info = "intent " INTENT_VERSION ", LLVM " LLVM_VERSION_STRING ", " + intent::libraryBuildId();
  return info.c_str();
}

intent_host_kernel *intent_host_load(const char *mlir, size_t size, uint32_t row, char *error, size_t error_size) {
  if (!mlir) {
    report(llvm::createStringError("no block program was given"), error, error_size);
    return nullptr;
  }
  llvm::Expected<std::unique_ptr<Kernel>> kernel = Kernel::load(llvm::StringRef(mlir, size), row);
  if (!kernel) {
    report(kernel.takeError(), error, error_size);
    return nullptr;
  }
  return new intent_host_kernel{std::move(*kernel)};
}

int32_t intent_host_tell(const char *listeners) {
  std::optional<Listeners> parsed = Listeners::parse(listeners ? listeners : "");
  if (!parsed) return -1;
  Jit::tell(*parsed);
  return 0;
}

void intent_host_keep_objects(intent_host_kernel *kernel, const char *folder) { kernel->kernel->objects = folder; }

int32_t intent_host_prepare(intent_host_kernel *kernel, const intent_host_argument *arguments, size_t count, char *error,
                            size_t error_size) {
  llvm::Expected<bool> fresh = kernel->kernel->generate(llvm::ArrayRef<intent_host_argument>(arguments, count));
  if (!fresh) {
    report(fresh.takeError(), error, error_size);
    return -1;
  }
  return *fresh;
}

int32_t intent_host_launch(intent_host_kernel *kernel, const intent_host_argument *arguments, size_t count, char *error,
                           size_t error_size) {
  Kernel::Fault fault;
  if (llvm::Error failure = kernel->kernel->launch(llvm::ArrayRef<intent_host_argument>(arguments, count), fault)) {
    report(std::move(failure), error, error_size);
    return fault == Kernel::Fault::Library ? 1 : fault == Kernel::Fault::Call ? 2 : fault == Kernel::Fault::Program ? 3 : 4;
  }
  return 0;
}

const char *intent_host_emit(intent_host_kernel *kernel, const char *form, const intent_host_argument *arguments, size_t count) {
  llvm::StringRef name = form ? form : "";
  if (name != "llvm" && name != "asm") return nullptr;
  llvm::Expected<std::string> text =
      kernel->kernel->emit(name == "llvm" ? Form::Llvm : Form::Assembly, llvm::ArrayRef<intent_host_argument>(arguments, count));
  if (!text) {
    llvm::consumeError(text.takeError());
    return nullptr;
  }
  kernel->kernel->emitted = std::move(*text);
  return kernel->kernel->emitted.c_str();
}

void intent_host_set_threads(uint32_t threads) { setThreads(threads); }

void intent_host_destroy(intent_host_kernel *kernel) { delete kernel; }
}
